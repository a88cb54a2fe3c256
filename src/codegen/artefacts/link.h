/* Objects joined by the system's linker, and C compiled for other architectures, by programs that run as processes. */
#ifndef TC_CODEGEN_ARTEFACTS_LINK_H
#define TC_CODEGEN_ARTEFACTS_LINK_H

#include <stdbool.h>
#include <stddef.h>

#include "support/system/fs.h"

struct tc_cg_blob; /* library.h */

typedef struct tc_cg_link {
    int nobjects;
    const char *const *objects;         /* paths of object files */
    const struct tc_cg_blob *constants; /* linked too, written once where the linker leaves a place for them; NULL: none */
    bool openmp;                        /* needs GOMP_parallel */
    const char *const *exports;         /* NULL-terminated: only these stay visible; NULL: all */
    bool relocatable;                   /* set by tc_cg_link_object */
    int nbeside;
    const tc_fs_new *beside; /* written with it, all or none */
    const char *linker;      /* program to run; NULL: $TCTUNE_LINKER, else cc, gcc, clang, ld.lld, ld, whichever is there */
    const char *triple;      /* of another architecture than this machine's: TRIPLE-gcc and TRIPLE-ld are looked for; or NULL */
} tc_cg_link;
/* Links a shared library, written under another name and renamed: `out` is whole or absent. TC_ENV with the linker's words when
 * it fails. */
TC_NODISCARD tc_status tc_cg_link_shared(const tc_cg_link *l, const char *out, tc_error *err);
/* The same as one relocatable object. */
TC_NODISCARD tc_status tc_cg_link_object(const tc_cg_link *l, const char *out, tc_error *err);

/* Compiles C for the architecture of a triple that is not this machine's, to position-independent code of its baseline that needs
 * libc only; by $TCTUNE_LINKER where that is a compiler, else TRIPLE-gcc, else clang. `out` is an object file. TC_ENV when there
 * is no compiler, or with its words when it fails. */
TC_NODISCARD tc_status tc_cg_compile_c(const char *triple, const char *text, size_t size, const char *out, tc_error *err);

#endif
