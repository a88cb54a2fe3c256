/* The least that passes for an object of this machine: it defines a symbol, and has so many bytes of anything behind that. */
#ifndef TC_TESTS_FLEET_ELF_H
#define TC_TESTS_FLEET_ELF_H

#include <elf.h>
#include <stddef.h>
#include <string.h>

typedef struct test_object {
    Elf64_Ehdr head;
    Elf64_Shdr section[3]; /* none, symbols, their names */
    Elf64_Sym symbol[2];
    char names[64];
    unsigned char more[200000];
} test_object;

static inline void test_object_make(test_object *o, const char *symbol) {
    memset(o, 0, sizeof *o);
    memcpy(o->head.e_ident, ELFMAG, SELFMAG);
    o->head.e_ident[EI_CLASS] = ELFCLASS64;
    o->head.e_ident[EI_DATA] = ELFDATA2LSB;
    o->head.e_type = ET_REL;
#if defined(__x86_64__)
    o->head.e_machine = EM_X86_64;
#else
    o->head.e_machine = EM_AARCH64;
#endif
    o->head.e_shoff = offsetof(test_object, section);
    o->head.e_shentsize = sizeof(Elf64_Shdr);
    o->head.e_shnum = 3;
    o->section[1] = (Elf64_Shdr){
        .sh_type = SHT_SYMTAB, .sh_link = 2, .sh_offset = offsetof(test_object, symbol), .sh_size = sizeof o->symbol};
    o->section[2] = (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = offsetof(test_object, names), .sh_size = sizeof o->names};
    o->symbol[1].st_name = 1;
    o->symbol[1].st_shndx = 1;
    strncpy(o->names + 1, symbol, sizeof o->names - 2);
    for (size_t i = 0; i < sizeof o->more; i++)
        o->more[i] = (unsigned char)(i * 2654435761u >> 13);
}

#endif
