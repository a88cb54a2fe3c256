/* Inside the loader: an object as it was read and checked (object.c), where its parts go (image.c), and what its relocations put
 * there (relocate.c). */
#ifndef TC_CODEGEN_LOAD_LOAD_INT_H
#define TC_CODEGEN_LOAD_LOAD_INT_H

#include <elf.h>
#include <stdint.h>

#include "codegen/load/load.h"

/* Parts of an image, in their order in memory. */
typedef enum tc_load_part { TC_LOAD_CODE, TC_LOAD_CONSTANTS, TC_LOAD_DATA, TC_LOAD_NPARTS, TC_LOAD_LEFT_OUT } tc_load_part;

typedef struct tc_load_section {
    Elf64_Shdr h;
    tc_load_part part;
    uint64_t at; /* from the image's beginning; image.c */
} tc_load_section;

typedef struct tc_load_symbol {
    Elf64_Sym s;
    const char *name;
    uint64_t address;    /* in this process, of those that are wanted; image.c */
    bool wanted;         /* by a relocation */
    uint32_t slot, stub; /* its number + 1 in the table of addresses, and among the stubs; 0: it has none */
} tc_load_symbol;

typedef struct tc_load_file {
    const unsigned char *data;
    size_t size;
    unsigned machine; /* EM_X86_64, EM_AARCH64 */
    tc_load_section *sections;
    tc_load_symbol *symbols;
    size_t nsection, nsymbol, table; /* table: the section of symbols */
    const char *names;               /* of sections, ended by 0; NULL: they have none */
    uint64_t names_size;
} tc_load_file;

/* ---- object.c ---- */

/* The object's sections and symbols, all of whose offsets, sizes, names and links are within the object. To be closed also on
 * failure. */
TC_NODISCARD tc_status tc_load_open(tc_load_file *f, const void *object, size_t size, unsigned machine, tc_error *err);
void tc_load_close(tc_load_file *f);
/* For messages. */
const char *tc_load_section_name(const tc_load_file *f, size_t section);
/* Whether the symbol is in a section that is part of the image. */
bool tc_load_is_inside(const tc_load_file *f, const tc_load_symbol *s);

/* ---- image.c ---- */

struct tc_load_image {
    unsigned char *base;
    size_t bytes;
    uint64_t begin[TC_LOAD_NPARTS + 1]; /* of each part, from base, and the end; multiples of the page */
    uint64_t stubs, slots;              /* where they begin */
    uint32_t nstub, nslot;
    struct tc_load_export {
        char *name;
        unsigned char *at;
    } * exports;
    size_t nexport;
};

/* tc_load_object for a machine that need not be this one: the image is whole, but its code may not run here. */
TC_NODISCARD tc_status tc_load_for(const void *object, size_t size, unsigned machine, tc_load_image **out, tc_error *err);

/* ---- relocate.c ---- */

enum { TC_LOAD_STUB_BYTES = 16 };

/* Checks every relocation of what is loaded, marks the symbols that they want, and counts slots and stubs. */
TC_NODISCARD tc_status tc_load_survey(tc_load_file *f, tc_load_image *m, tc_error *err);
/* Writes slots, stubs and what relocations say into the image, which is writable. */
TC_NODISCARD tc_status tc_load_relocate(const tc_load_file *f, tc_load_image *m, tc_error *err);

#endif
