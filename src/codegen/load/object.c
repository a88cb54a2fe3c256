/* Reads an object: header, sections, symbols. Later reads rely on these checks. */
#include <stdlib.h>
#include <string.h>

#include "codegen/load/load_int.h"
#include "support/vec.h"

enum { MOST_SECTIONS = 4096, MOST_ALIGNMENT = 4096 };

static bool within(const tc_load_file *f, uint64_t at, uint64_t n) {
    return at <= f->size && n <= f->size - at;
}

static tc_status damaged(tc_error *err, const char *what) {
    return tc_fail(err, TC_BAD_INPUT, "the object is damaged: %s", what);
}

/* ---- the header ---- */

static tc_status check_kind(const Elf64_Ehdr *h, unsigned machine, tc_error *err) {
    if (memcmp(h->e_ident, ELFMAG, SELFMAG))
        return tc_fail(err, TC_BAD_INPUT, "it is no object: it does not begin like an ELF file");
    if (h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_ident[EI_DATA] != ELFDATA2LSB || h->e_ident[EI_VERSION] != EV_CURRENT)
        return tc_fail(err, TC_BAD_INPUT, "the object is not of 64-bit little-endian ELF, version 1");
    if (h->e_type != ET_REL)
        return tc_fail(err, TC_BAD_INPUT, "it is no relocatable object, but ELF of type %u", h->e_type);
    if (h->e_machine != machine)
        return tc_refuse(err, TC_ERROR_UNSUPPORTED, "the object is for ELF machine %u, but this machine is %u", h->e_machine,
                         machine);
    return TC_OK;
}

static tc_status read_sections(tc_load_file *f, const Elf64_Ehdr *h, tc_error *err) {
    if (h->e_shentsize != sizeof(Elf64_Shdr))
        return damaged(err, "the size of its section headers is not ELF's");
    if (h->e_shnum == 0 || h->e_shnum > MOST_SECTIONS)
        return tc_refuse(err, TC_ERROR_UNSUPPORTED, "the object has %u sections; expected 1 to %d", h->e_shnum, MOST_SECTIONS);
    if (!within(f, h->e_shoff, (uint64_t)h->e_shnum * sizeof(Elf64_Shdr)))
        return damaged(err, "the headers of its sections lie outside of it");
    f->nsection = h->e_shnum;
    f->sections = tc_xcalloc(f->nsection, sizeof *f->sections);
    for (size_t i = 0; i < f->nsection; i++) {
        tc_load_section *s = &f->sections[i];
        memcpy(&s->h, f->data + h->e_shoff + i * sizeof s->h, sizeof s->h);
        s->part = TC_LOAD_LEFT_OUT;
        if (i > 0 && s->h.sh_type != SHT_NOBITS && s->h.sh_type != SHT_NULL && !within(f, s->h.sh_offset, s->h.sh_size))
            return tc_fail(err, TC_BAD_INPUT, "the object is damaged: its section %zu lies outside of it", i);
    }
    return TC_OK;
}

/* A table of names ends with 0, so every name that begins in it ends in it. */
static bool is_names(const tc_load_file *f, uint64_t section) {
    const Elf64_Shdr *h = section < f->nsection ? &f->sections[section].h : NULL;
    return h && h->sh_type == SHT_STRTAB && h->sh_size > 0 && f->data[h->sh_offset + h->sh_size - 1] == 0;
}

static tc_status read_names(tc_load_file *f, const Elf64_Ehdr *h, tc_error *err) {
    if (!is_names(f, h->e_shstrndx))
        return damaged(err, "it has no table of its sections' names");
    f->names = (const char *)f->data + f->sections[h->e_shstrndx].h.sh_offset;
    f->names_size = f->sections[h->e_shstrndx].h.sh_size;
    for (size_t i = 0; i < f->nsection; i++)
        if (f->sections[i].h.sh_name >= f->names_size)
            return tc_fail(err, TC_BAD_INPUT, "the object is damaged: the name of its section %zu lies outside of their table",
                           i);
    return TC_OK;
}

const char *tc_load_section_name(const tc_load_file *f, size_t section) {
    return f->names + f->sections[section].h.sh_name;
}

/* ---- which sections are loaded ---- */

static bool is_for_unwinders(const tc_load_file *f, size_t i) {
    return (f->machine == EM_X86_64 && f->sections[i].h.sh_type == SHT_X86_64_UNWIND) ||
           !strcmp(tc_load_section_name(f, i), ".eh_frame");
}

static tc_status wants_more(const tc_load_file *f, size_t i, const char *what, tc_error *err) {
    return tc_refuse(err, TC_ERROR_UNSUPPORTED, "section %zu (%.60s) of the object %s", i, tc_load_section_name(f, i), what);
}

static tc_status place(const tc_load_file *f, size_t i, tc_error *err) {
    tc_load_section *s = &f->sections[i];
    const uint64_t align = s->h.sh_addralign, flags = s->h.sh_flags;
    if (!(flags & SHF_ALLOC) || s->h.sh_type == SHT_NULL || is_for_unwinders(f, i))
        return TC_OK;
    if (s->h.sh_type != SHT_PROGBITS && s->h.sh_type != SHT_NOBITS && s->h.sh_type != SHT_NOTE)
        return wants_more(f, i, "has a type that this loader does not support", err);
    if (flags & (SHF_TLS | SHF_COMPRESSED))
        return wants_more(f, i, flags & SHF_TLS ? "is thread-local memory, which this loader does not support" : "is compressed",
                          err);
    if ((flags & SHF_WRITE) && (flags & SHF_EXECINSTR))
        return tc_fail(err, TC_BAD_INPUT, "section %zu (%.60s) of the object is both writable and code", i,
                       tc_load_section_name(f, i));
    if (align & (align - 1))
        return damaged(err, "a section's alignment is no power of two");
    if (align > MOST_ALIGNMENT)
        return wants_more(f, i, "is aligned to more than 4096 bytes", err);
    s->part = flags & SHF_EXECINSTR ? TC_LOAD_CODE : flags & SHF_WRITE ? TC_LOAD_DATA : TC_LOAD_CONSTANTS;
    return TC_OK;
}

/* ---- symbols ---- */

static tc_status find_symbols(tc_load_file *f, tc_error *err) {
    for (size_t i = 1; i < f->nsection; i++) {
        if (f->sections[i].h.sh_type != SHT_SYMTAB)
            continue;
        if (f->table)
            return damaged(err, "it has two tables of symbols");
        f->table = i;
    }
    if (!f->table)
        return damaged(err, "it has no table of symbols");
    const Elf64_Shdr *h = &f->sections[f->table].h;
    if (h->sh_entsize != sizeof(Elf64_Sym) || h->sh_size % sizeof(Elf64_Sym))
        return damaged(err, "the size of the entries in its table of symbols is not ELF's");
    if (!is_names(f, h->sh_link))
        return damaged(err, "its symbols have no table of names");
    f->nsymbol = h->sh_size / sizeof(Elf64_Sym);
    return TC_OK;
}

static tc_status bad_symbol(size_t i, const char *what, tc_error *err) {
    return tc_fail(err, TC_BAD_INPUT, "the object is damaged: its symbol %zu %s", i, what);
}

/* Symbols of sections that are left out may say what they like: nothing of them is read, and relocations that want them are
 * refused. */
static tc_status check_place(const tc_load_file *f, size_t i, const Elf64_Sym *s, tc_error *err) {
    if (s->st_shndx == SHN_UNDEF || s->st_shndx == SHN_ABS)
        return TC_OK;
    if (s->st_shndx >= SHN_LORESERVE)
        return tc_refuse(err, TC_ERROR_UNSUPPORTED,
                         "symbol %zu of the object is in the special section %#x, which this loader does not support", i,
                         s->st_shndx);
    if (s->st_shndx >= f->nsection)
        return bad_symbol(i, "is in a section that does not exist", err);
    const tc_load_section *in = &f->sections[s->st_shndx];
    if (in->part != TC_LOAD_LEFT_OUT && (s->st_value > in->h.sh_size || s->st_size > in->h.sh_size - s->st_value))
        return bad_symbol(i, "lies outside of its section", err);
    if (ELF64_ST_TYPE(s->st_info) == STT_TLS || ELF64_ST_TYPE(s->st_info) == STT_GNU_IFUNC)
        return tc_refuse(err, TC_ERROR_UNSUPPORTED, "symbol %zu of the object has type %u, which this loader does not support", i,
                         ELF64_ST_TYPE(s->st_info));
    return TC_OK;
}

static tc_status read_symbols(tc_load_file *f, tc_error *err) {
    const Elf64_Shdr *h = &f->sections[f->table].h, *names = &f->sections[h->sh_link].h;
    f->symbols = tc_try_calloc(f->nsymbol + 1, sizeof *f->symbols);
    if (!f->symbols)
        return tc_fail(err, TC_ENV, "not enough memory for the %zu symbols of an object", f->nsymbol);
    for (size_t i = 0; i < f->nsymbol; i++) {
        tc_load_symbol *s = &f->symbols[i];
        memcpy(&s->s, f->data + h->sh_offset + i * sizeof s->s, sizeof s->s);
        if (s->s.st_name >= names->sh_size)
            return bad_symbol(i, "has a name outside of the table of names", err);
        s->name = (const char *)f->data + names->sh_offset + s->s.st_name;
        TC_TRY(check_place(f, i, &s->s, err));
    }
    return TC_OK;
}

bool tc_load_is_inside(const tc_load_file *f, const tc_load_symbol *s) {
    return s->s.st_shndx != SHN_UNDEF && s->s.st_shndx < SHN_LORESERVE && f->sections[s->s.st_shndx].part != TC_LOAD_LEFT_OUT;
}

/* ---- all of it ---- */

tc_status tc_load_open(tc_load_file *f, const void *object, size_t size, unsigned machine, tc_error *err) {
    Elf64_Ehdr h;
    *f = (tc_load_file){.data = object, .size = size, .machine = machine};
    if (size < sizeof h)
        return tc_fail(err, TC_BAD_INPUT, "it is no object: it has only %zu bytes", size);
    memcpy(&h, object, sizeof h);
    TC_TRY(check_kind(&h, machine, err));
    TC_TRY(read_sections(f, &h, err));
    TC_TRY(read_names(f, &h, err));
    for (size_t i = 1; i < f->nsection; i++)
        TC_TRY(place(f, i, err));
    TC_TRY(find_symbols(f, err));
    return read_symbols(f, err);
}

void tc_load_close(tc_load_file *f) {
    free(f->sections);
    free(f->symbols);
    *f = (tc_load_file){0};
}
