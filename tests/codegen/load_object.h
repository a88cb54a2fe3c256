/* An object that tests of the loader write field by field: code, constants, data, memory without content, a few symbols,
 * relocations. */
#ifndef TC_TESTS_CODEGEN_LOAD_OBJECT_H
#define TC_TESTS_CODEGEN_LOAD_OBJECT_H

#include <elf.h>
#include <stddef.h>
#include <string.h>

enum { NONE, TEXT, RODATA, DATA, BSS, SYMBOLS, NAMES, RELA_TEXT, RELA_DATA, UNWIND, NSECTIONS };
enum {
    RODATA_START = 1, /* of the section */
    START,            /* "start", exported: text from its beginning */
    INNER,            /* text at INNER_AT: returns its argument + 1 */
    VALUE,            /* "value", exported: data at 16, i64 77 */
    MEMORY,           /* bss */
    LABS,             /* the C library's */
    SEVEN,            /* an absolute one */
    FRAMES,           /* in a section that is not loaded */
    NSYMBOLS
};
enum { INNER_AT = 96, RELOCATIONS = 3 };

typedef struct object {
    Elf64_Ehdr head;
    Elf64_Shdr section[NSECTIONS];
    unsigned char text[128], rodata[64], data[64], unwind[32];
    Elf64_Sym symbol[NSYMBOLS];
    Elf64_Rela rela[RELOCATIONS], data_rela[1]; /* of type 0, which says nothing */
    char names[160];
} object;

static inline unsigned object_name(object *o, const char *name) {
    unsigned at = 1;
    while (o->names[at])
        at += (unsigned)strlen(o->names + at) + 1;
    strcpy(o->names + at, name);
    return at;
}

static inline void object_section(object *o, int i, const char *name, unsigned type, uint64_t flags, size_t at, size_t size) {
    o->section[i] = (Elf64_Shdr){.sh_type = type, .sh_flags = flags, .sh_offset = at, .sh_size = size, .sh_addralign = 16};
    o->section[i].sh_name = object_name(o, name);
}

static inline void object_symbol(object *o, int i, const char *name, unsigned bind, unsigned type, unsigned section,
                                 uint64_t at) {
    o->symbol[i].st_name = *name ? object_name(o, name) : 0;
    o->symbol[i].st_info = (unsigned char)ELF64_ST_INFO(bind, type);
    o->symbol[i].st_shndx = (Elf64_Section)section;
    o->symbol[i].st_value = at;
}

static inline void object_list(object *o, int i, const char *name, size_t at, size_t size, unsigned of) {
    object_section(o, i, name, SHT_RELA, SHF_INFO_LINK, at, size);
    o->section[i].sh_entsize = sizeof(Elf64_Rela);
    o->section[i].sh_link = SYMBOLS;
    o->section[i].sh_info = of;
}

static inline void object_make(object *o, unsigned machine) {
    memset(o, 0, sizeof *o);
    memcpy(o->head.e_ident, ELFMAG, SELFMAG);
    o->head.e_ident[EI_CLASS] = ELFCLASS64;
    o->head.e_ident[EI_DATA] = ELFDATA2LSB;
    o->head.e_ident[EI_VERSION] = EV_CURRENT;
    o->head.e_type = ET_REL;
    o->head.e_machine = (Elf64_Half)machine;
    o->head.e_shoff = offsetof(object, section);
    o->head.e_shentsize = sizeof(Elf64_Shdr);
    o->head.e_shnum = NSECTIONS;
    o->head.e_shstrndx = NAMES;
    object_section(o, TEXT, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, offsetof(object, text), sizeof o->text);
    object_section(o, RODATA, ".rodata", SHT_PROGBITS, SHF_ALLOC, offsetof(object, rodata), sizeof o->rodata);
    object_section(o, DATA, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, offsetof(object, data), sizeof o->data);
    object_section(o, BSS, ".bss", SHT_NOBITS, SHF_ALLOC | SHF_WRITE, 0, 4096 + 64);
    object_section(o, SYMBOLS, ".symtab", SHT_SYMTAB, 0, offsetof(object, symbol), sizeof o->symbol);
    o->section[SYMBOLS].sh_entsize = sizeof(Elf64_Sym);
    o->section[SYMBOLS].sh_link = NAMES;
    object_section(o, NAMES, ".strtab", SHT_STRTAB, 0, offsetof(object, names), sizeof o->names);
    object_list(o, RELA_TEXT, ".rela.text", offsetof(object, rela), sizeof o->rela, TEXT);
    object_list(o, RELA_DATA, ".rela.data", offsetof(object, data_rela), sizeof o->data_rela, DATA);
    object_section(o, UNWIND, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, offsetof(object, unwind), sizeof o->unwind);
    object_symbol(o, RODATA_START, "", STB_LOCAL, STT_SECTION, RODATA, 0);
    object_symbol(o, START, "start", STB_GLOBAL, STT_FUNC, TEXT, 0);
    object_symbol(o, INNER, "inner", STB_LOCAL, STT_FUNC, TEXT, INNER_AT);
    object_symbol(o, VALUE, "value", STB_GLOBAL, STT_OBJECT, DATA, 16);
    object_symbol(o, MEMORY, "memory", STB_LOCAL, STT_OBJECT, BSS, 4096);
    object_symbol(o, LABS, "labs", STB_GLOBAL, STT_NOTYPE, SHN_UNDEF, 0);
    object_symbol(o, SEVEN, "seven", STB_LOCAL, STT_NOTYPE, SHN_ABS, 7);
    object_symbol(o, FRAMES, "frames", STB_LOCAL, STT_OBJECT, UNWIND, 0);
    o->data[16] = 77;
    o->rodata[8] = 0xd2; /* i32 1234 */
    o->rodata[9] = 0x04;
}

static inline void object_relocate(object *o, int i, uint64_t at, unsigned symbol, unsigned type, int64_t addend) {
    o->rela[i] = (Elf64_Rela){.r_offset = at, .r_info = ELF64_R_INFO((uint64_t)symbol, type), .r_addend = addend};
}

#endif
