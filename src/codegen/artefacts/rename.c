/* One name in a relocatable object: the table of names is written again behind the object's end, with the new name at its end.
 * All targets have 64-bit little-endian ELF. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/artefacts/artefacts_int.h"

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

/* Where the number of the symbol's name is, or 0. */
static uint64_t find_name(const object *o, const Elf64_Shdr *symbols, const Elf64_Shdr *names, const char *symbol) {
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= symbols->sh_size; at += sizeof(Elf64_Sym)) {
        Elf64_Sym s;
        memcpy(&s, o->data + symbols->sh_offset + at, sizeof s);
        if (s.st_name < names->sh_size && !strcmp(o->data + names->sh_offset + s.st_name, symbol))
            return symbols->sh_offset + at + offsetof(Elf64_Sym, st_name);
    }
    return 0;
}

tc_status tc_cg_rename_symbol(void **obj, size_t *size, const char *from, const char *to, tc_error *err) {
    object o = {.data = *obj, .size = *size};
    Elf64_Shdr symbols, names;
    uint64_t at = read_head(&o) && find_symbols(&o, &symbols, &names) ? find_name(&o, &symbols, &names, from) : 0;
    if (!at)
        return tc_fail(err, TC_BAD_INPUT, "the object does not define '%s'", from);
    uint32_t number = (uint32_t)names.sh_size;
    size_t more = strlen(to) + 1, total = *size + number + more;
    char *data = tc_xmalloc(total + 1);
    memcpy(data, o.data, *size);
    memcpy(data + *size, o.data + names.sh_offset, number);
    memcpy(data + *size + number, to, more);
    data[total] = 0;
    memcpy(data + at, &number, sizeof number);
    names.sh_offset = *size;
    names.sh_size += more;
    memcpy(data + o.head.e_shoff + symbols.sh_link * sizeof names, &names, sizeof names);
    free(*obj);
    *obj = data;
    *size = total;
    return TC_OK;
}
