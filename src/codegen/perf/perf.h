/* src/codegen/perf owns what profilers are told of code that was loaded into this process. Not here: the profile that
 * libraries print of themselves (src/codegen/profile).
 *
 * Functions that were loaded from memory are in no file that Linux's perf could read. Where the environment asks for
 * it, they are described:
 *
 *     TCTUNE_PERF=map       /tmp/perf-PID.map, which `perf report` reads
 *     TCTUNE_PERF=jitdump   jit-PID.dump in $JITDUMPDIR, else $TMPDIR, else /tmp, with the code itself, for `perf record -k 1`,
 *                           `perf inject --jit` and `perf annotate`
 *
 * These files are readable by this user alone, and are never written through a link or into another user's file.
 * Nothing here fails a command. */
#ifndef TC_CODEGEN_PERF_PERF_H
#define TC_CODEGEN_PERF_PERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/vec.h"

/* Of an object: where each of its functions is, from `exported` on, which others can look up. */
typedef struct tc_cg_function_at {
    const char *name;
    int64_t offset;
    uint64_t size;
} tc_cg_function_at;
typedef struct tc_cg_functions {
    char *exported;
    TC_VEC(tc_cg_function_at) list; /* names are owned */
} tc_cg_functions;
/* Those in the section of the first exported one. false: there is none, or it is no object of 64-bit little-endian ELF. */
bool tc_cg_perf_functions(const void *obj, size_t size, tc_cg_functions *out);
void tc_cg_perf_free(tc_cg_functions *f);

bool tc_cg_perf_wanted(void);
/* They were loaded, `exported` at that address. From any thread. */
void tc_cg_perf_tell(const tc_cg_functions *f, uintptr_t at);

#endif
