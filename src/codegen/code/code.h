/* src/codegen/code owns the way from lowered TIR to an LLVM module to machine code: as an object, as text, or loaded
 * into the process. Not here: the driver of a whole model and the linker (src/codegen/artefacts).
 *
 * No type of LLVM shows in this header. Every function may be called from several threads at once: each call has an
 * LLVM context of its own. */
#ifndef TC_CODEGEN_CODE_CODE_H
#define TC_CODEGEN_CODE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codegen/target/target.h"
#include "support/status.h"
#include "support/strbuf.h"
#include "tctune/runtime.h"
#include "tir_lower/tir.h"

/* ---- emission (emit.c, and the lowering behind it) ---- */

/* Bytes of stack that a call of a kernel may take. The kernels that searches find take a tenth of it; a library that calls nothing
 * deeper runs in threads with stacks of 256 KiB. */
enum { TC_CG_MOST_STACK = 64 << 10 };

/* Where a debugger finds a function's text (tc_tir_print): what is compiled from a statement says that it is from the statement's
 * line there. */
typedef struct tc_cg_text {
    const char *file, *folder; /* its name, and where it lies: an absolute path */
    int line;                  /* of "func", from 1 */
} tc_cg_text;

typedef struct tc_cg_options {
    bool fast;   /* compile faster, run slower: for kernels of no weight, and for tests */
    bool verify; /* run LLVM's verifier on the module (always on in builds with TCTUNE_VERIFY) */
    /* Gets the bytes of stack that a call takes, spilled registers and bodies of parallel loops included; or NULL */
    int64_t *stack;
    const tc_cg_text *text; /* by function; NULL: code says nothing of lines. It is the same code either way */
} tc_cg_options;

typedef enum tc_cg_stage {
    TC_CG_IR,     /* LLVM IR as we generate it */
    TC_CG_OPT_IR, /* after our pass list */
    TC_CG_ASM     /* assembly */
} tc_cg_stage;

/* Opens the compiler's library, which a process that closes its sandbox could not do later. TC_ENV: it is not there. */
TC_NODISCARD tc_status tc_cg_prepare(tc_error *err);

/* Bytes of the workspace that a kernel of f needs with `nthreads` threads. */
int64_t tc_cg_workspace_bytes(const tc_func *f, int nthreads);

/* Compiles n functions, each lowered (tc_tir_lower), into one relocatable object; the symbol of funcs[i] is names[i], or
 * funcs[i]->name when names is NULL. *obj is malloc'ed. opts may be NULL. TC_ILLEGAL for TIR that is not in lowered form or
 * exceeds a limit, of the stack too. The object needs libm only when a kernel uses pow, sin, cos, ... (the rare functions); exp,
 * log, tanh, erf, sigmoid, rsqrt, sqrt are inlined for f32. Every function can be unwound. */
TC_NODISCARD tc_status tc_cg_emit_object(const tc_target *t, const tc_func *const *funcs, const char *const *names, int n,
                                         const tc_cg_options *opts, void **obj, size_t *size, tc_error *err);
/* The same functions as text, appended to b. */
TC_NODISCARD tc_status tc_cg_emit_text(const tc_target *t, const tc_func *const *funcs, const char *const *names, int n,
                                       const tc_cg_options *opts, tc_cg_stage stage, tc_strbuf *b, tc_error *err);

/* ---- running in this process (jit.c) ---- */

typedef struct tc_cg_module tc_cg_module;

/* Loads object bytes (this machine's format) by codegen/load, and by LLVM what that has no tables for. The bytes are copied. */
TC_NODISCARD tc_status tc_cg_load(const void *obj, size_t size, tc_cg_module **out, tc_error *err);
/* Address of an exported symbol, TC_BAD_INPUT when there is none. Valid until the module is freed. */
TC_NODISCARD tc_status tc_cg_lookup(tc_cg_module *m, const char *name, tc_kernel **out, tc_error *err);
void tc_cg_module_free(tc_cg_module *m); /* NULL is fine */

#endif
