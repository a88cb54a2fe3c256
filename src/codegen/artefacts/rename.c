/* The names of a kernel in a relocatable object: its own, and those of its parts (func.c). This file checks that the names are
 * there, and changes them: it writes a new table of names behind the object's end, with the new names at the end of the table. All
 * targets have 64-bit little-endian ELF. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/artefacts/artefacts_int.h"
#include "codegen/artefacts/object.h"
#include "support/strbuf.h"

typedef struct object {
    char *data;
    size_t size;
    Elf64_Ehdr head;
} object;

/* [at, at + n) lies in the object. */
static bool within(const object *o, uint64_t at, uint64_t n) {
    return at <= o->size && n <= o->size - at;
}

static bool read_section(const object *o, uint64_t i, Elf64_Shdr *s) {
    if (i >= o->head.e_shnum || !within(o, o->head.e_shoff + i * sizeof *s, sizeof *s))
        return false;
    memcpy(s, o->data + o->head.e_shoff + i * sizeof *s, sizeof *s);
    return s->sh_type == SHT_NOBITS || within(o, s->sh_offset, s->sh_size);
}

static bool read_head(object *o) {
    if (o->size < sizeof o->head)
        return false;
    memcpy(&o->head, o->data, sizeof o->head);
    return !memcmp(o->head.e_ident, ELFMAG, SELFMAG) && o->head.e_ident[EI_CLASS] == ELFCLASS64 &&
           o->head.e_ident[EI_DATA] == ELFDATA2LSB && o->head.e_shentsize == sizeof(Elf64_Shdr) && o->head.e_shoff <= o->size;
}

static bool find_symbols(const object *o, Elf64_Shdr *symbols, Elf64_Shdr *names) {
    for (uint64_t i = 0; i < o->head.e_shnum; i++)
        if (read_section(o, i, symbols) && symbols->sh_type == SHT_SYMTAB)
            return read_section(o, symbols->sh_link, names) && names->sh_type == SHT_STRTAB && names->sh_size > 0 &&
                   o->data[names->sh_offset + names->sh_size - 1] == 0;
    return false;
}

/* Of this program's. */
#if defined(__x86_64__)
enum { OWN_MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { OWN_MACHINE = EM_AARCH64 };
#else
#error "the kind of processor is not known here: add its number in ELF"
#endif

static bool defines(const object *o, const Elf64_Shdr *symbols, const Elf64_Shdr *names, const char *symbol) {
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= symbols->sh_size; at += sizeof(Elf64_Sym)) {
        Elf64_Sym s;
        memcpy(&s, o->data + symbols->sh_offset + at, sizeof s);
        bool named = s.st_name < names->sh_size && strcmp(o->data + names->sh_offset + s.st_name, symbol) == 0;
        if (named && s.st_shndx != SHN_UNDEF)
            return true;
    }
    return false;
}

bool tc_cg_object_defines(const void *obj, size_t size, const char *symbol) {
    object o = {.data = (char *)(uintptr_t)obj, .size = size};
    Elf64_Shdr symbols, names;
    return read_head(&o) && o.head.e_type == ET_REL && o.head.e_machine == OWN_MACHINE && find_symbols(&o, &symbols, &names) &&
           defines(&o, &symbols, &names, symbol);
}

/* How the symbol's name goes on behind `symbol`: "" where it is that name, ".body" where it is one of its parts; NULL: another. */
static const char *part_of(const object *o, const Elf64_Shdr *names, const Elf64_Sym *s, const char *symbol) {
    size_t n = strlen(symbol);
    const char *name = s->st_name < names->sh_size ? o->data + names->sh_offset + s->st_name : "";
    return !strncmp(name, symbol, n) && (!name[n] || name[n] == '.') ? name + n : NULL;
}

/* Puts the new names to `more`, and where they begin, behind names->sh_size, into the symbols. Whether `from` itself was among
 * them. */
static bool give_names(const object *o, const Elf64_Shdr *symbols, const Elf64_Shdr *names, const char *from, const char *to,
                       tc_strbuf *more) {
    bool found = false;
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= symbols->sh_size; at += sizeof(Elf64_Sym)) {
        Elf64_Sym s;
        char *place = o->data + symbols->sh_offset + at;
        memcpy(&s, place, sizeof s);
        const char *part = part_of(o, names, &s, from);
        if (!part)
            continue;
        found |= !*part;
        s.st_name = (Elf64_Word)(names->sh_size + more->len);
        tc_sb_printf(more, "%s%s", to, part);
        tc_sb_addc(more, 0);
        memcpy(place, &s, sizeof s);
    }
    return found;
}

/* The object with the table of names, and what is new in it, behind its end. */
static void append_names(const object *o, const Elf64_Shdr *symbols, Elf64_Shdr names, const tc_strbuf *more, void **obj,
                         size_t *size) {
    size_t total = o->size + names.sh_size + more->len;
    char *data = tc_xmalloc(total + 1);
    memcpy(data, o->data, o->size);
    memcpy(data + o->size, o->data + names.sh_offset, names.sh_size);
    memcpy(data + o->size + names.sh_size, more->data, more->len);
    data[total] = 0;
    names.sh_offset = o->size;
    names.sh_size += more->len;
    memcpy(data + o->head.e_shoff + symbols->sh_link * sizeof names, &names, sizeof names);
    *obj = data;
    *size = total;
}

tc_status tc_cg_rename_symbol(void **obj, size_t *size, const char *from, const char *to, tc_error *err) {
    object o = {.data = *obj, .size = *size};
    Elf64_Shdr symbols, names;
    tc_strbuf more = {0};
    bool found = read_head(&o) && find_symbols(&o, &symbols, &names) && give_names(&o, &symbols, &names, from, to, &more);
    if (found) {
        append_names(&o, &symbols, names, &more, obj, size);
        free(o.data);
    }
    tc_strbuf_free(&more);
    return found ? TC_OK : tc_fail(err, TC_BAD_INPUT, "the object does not define '%s'", from);
}
