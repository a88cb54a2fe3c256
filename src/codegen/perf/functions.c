/* The functions of a relocatable object, read from its table of symbols. Only our own objects are read here, but an entry that
 * does not fit is skipped. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/perf/perf.h"

typedef struct object {
    const char *data;
    size_t size;
    Elf64_Ehdr head;
} object;

static bool within(const object *o, uint64_t at, uint64_t n) {
    return at <= o->size && n <= o->size - at;
}

static bool read_head(object *o) {
    if (o->size < sizeof o->head)
        return false;
    memcpy(&o->head, o->data, sizeof o->head);
    return !memcmp(o->head.e_ident, ELFMAG, SELFMAG) && o->head.e_ident[EI_CLASS] == ELFCLASS64 &&
           o->head.e_ident[EI_DATA] == ELFDATA2LSB && o->head.e_shentsize == sizeof(Elf64_Shdr);
}

static bool read_section(const object *o, uint64_t i, Elf64_Shdr *s) {
    if (i >= o->head.e_shnum || !within(o, o->head.e_shoff, (i + 1) * sizeof *s))
        return false;
    memcpy(s, o->data + o->head.e_shoff + i * sizeof *s, sizeof *s);
    return s->sh_type == SHT_NOBITS || within(o, s->sh_offset, s->sh_size);
}

typedef struct symbols {
    const object *o;
    Elf64_Shdr table, names;
    size_t n;
} symbols;

static bool find_symbols(const object *o, symbols *t) {
    t->o = o;
    for (uint64_t i = 0; i < o->head.e_shnum; i++)
        if (read_section(o, i, &t->table) && t->table.sh_type == SHT_SYMTAB) {
            t->n = t->table.sh_size / sizeof(Elf64_Sym);
            return read_section(o, t->table.sh_link, &t->names) && t->names.sh_type == SHT_STRTAB && t->names.sh_size > 0 &&
                   o->data[t->names.sh_offset + t->names.sh_size - 1] == 0;
        }
    return false;
}

/* Symbol i, if it is a function that the object defines; its name. */
static const char *function(const symbols *t, size_t i, Elf64_Sym *s) {
    memcpy(s, t->o->data + t->table.sh_offset + i * sizeof *s, sizeof *s);
    bool is = ELF64_ST_TYPE(s->st_info) == STT_FUNC && s->st_shndx != SHN_UNDEF && s->st_name < t->names.sh_size;
    return is ? t->o->data + t->names.sh_offset + s->st_name : NULL;
}

static const char *find_exported(const symbols *t, Elf64_Sym *s) {
    for (size_t i = 0; i < t->n; i++) {
        const char *name = function(t, i, s);
        if (name && ELF64_ST_BIND(s->st_info) == STB_GLOBAL)
            return name;
    }
    return NULL;
}

bool tc_cg_perf_functions(const void *obj, size_t size, tc_cg_functions *out) {
    object o = {.data = obj, .size = size};
    symbols t;
    Elf64_Sym first, s;
    *out = (tc_cg_functions){0};
    const char *exported = read_head(&o) && find_symbols(&o, &t) ? find_exported(&t, &first) : NULL;
    if (!exported)
        return false;
    out->exported = tc_xstrdup(exported);
    for (size_t i = 0; i < t.n; i++) {
        const char *name = function(&t, i, &s);
        if (!name || s.st_shndx != first.st_shndx)
            continue;
        tc_cg_function_at f = {
            .name = tc_xstrdup(name), .offset = (int64_t)s.st_value - (int64_t)first.st_value, .size = s.st_size};
        tc_push(&out->list, f);
    }
    return true;
}

void tc_cg_perf_free(tc_cg_functions *f) {
    for (size_t i = 0; i < f->list.len; i++)
        free((char *)(uintptr_t)f->list.data[i].name);
    tc_vec_free(&f->list);
    free(f->exported);
}
