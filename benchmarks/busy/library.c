/* Looks symbols up in the file's own table (.symtab): the runtime of a built library is a local symbol, which dlsym does not see. */
#define _GNU_SOURCE
#include "library.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn void fail(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s: ", program_invocation_short_name);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(1);
}

static unsigned char *contents(const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0)
        fail("%s cannot be read: %s", path, strerror(errno));
    long size = ftell(f);
    unsigned char *bytes = malloc((size_t)size);
    rewind(f);
    if (!bytes || fread(bytes, 1, (size_t)size, f) != (size_t)size)
        fail("%s cannot be read", path);
    fclose(f);
    return bytes;
}

/* The loader has opened the file: its headers make sense. */
library library_open(const char *path) {
    void *handle = dlopen(path, RTLD_NOW);
    struct link_map *map;
    if (!handle || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0)
        fail("%s", dlerror());
    return (library){.path = path, .file = contents(path), .base = (char *)map->l_addr};
}

static bool ends(const char *name, const char *ending) {
    size_t n = strlen(name), k = strlen(ending);
    return n >= k && strcmp(name + n - k, ending) == 0;
}

static bool defined(const ElfW(Sym) * s) {
    int kind = ELF64_ST_TYPE(s->st_info);
    return (kind == STT_FUNC || kind == STT_OBJECT) && s->st_shndx != SHN_UNDEF;
}

/* Counts the symbols of one table that are local, or those that are not. */
static int look(const library *l, const ElfW(Shdr) * table, bool local, const char *ending, void **found) {
    const ElfW(Shdr) *sections = (const void *)(l->file + ((const ElfW(Ehdr) *)(const void *)l->file)->e_shoff);
    const ElfW(Sym) *symbols = (const void *)(l->file + table->sh_offset);
    const char *names = (const char *)l->file + sections[table->sh_link].sh_offset;
    int n = 0;
    for (size_t i = 0; i < table->sh_size / sizeof *symbols; i++)
        if (defined(&symbols[i]) && (ELF64_ST_BIND(symbols[i].st_info) == STB_LOCAL) == local &&
            ends(names + symbols[i].st_name, ending)) {
            *found = l->base + symbols[i].st_value;
            n++;
        }
    return n;
}

void *library_symbol(const library *l, const char *ending) {
    const ElfW(Ehdr) *head = (const void *)l->file;
    const ElfW(Shdr) *sections = (const void *)(l->file + head->e_shoff);
    for (int local = 0; local < 2; local++)
        for (int s = 0; s < head->e_shnum; s++) {
            void *found = NULL;
            int n = sections[s].sh_type == SHT_SYMTAB ? look(l, &sections[s], local, ending, &found) : 0;
            if (n > 1)
                fail("%s has %d symbols that end in %s", l->path, n, ending);
            if (n == 1)
                return found;
        }
    fail("%s has no symbol that ends in %s: it is no library of tctune build, or was stripped", l->path, ending);
}
