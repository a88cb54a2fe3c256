/* Code generation: targets, and lowered TIR -> LLVM -> machine code in memory, as an object file, or as a shared library.
 * Only this folder knows LLVM; nothing of it shows in this header. Every function here may be called from several threads at once
 * (each call has an LLVM context of its own). */
#ifndef TC_CODEGEN_CODEGEN_H
#define TC_CODEGEN_CODEGEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "support/status.h"
#include "support/strbuf.h"
#include "tctune/runtime.h"
#include "tir_lower/tir.h"

/* ---- target (target.c) ---- */

/* What code is made for. Its text is stable and part of every record: two targets with equal text get equal code. */
typedef struct tc_target {
    char *text;     /* "llvm -mtriple=x86_64-pc-linux-gnu -mcpu=znver4 -mattr=+avx512f,... -vector-bytes=64" */
    char *triple;   /* "x86_64-pc-linux-gnu" */
    char *cpu;      /* "znver4"; "generic" when none was named */
    char *features; /* "+avx512f,-amx-tile,..." or "" */
    bool native;    /* runs in this process: same architecture, and every feature used is present here */
    tc_machine machine;
} tc_target;

/* Reads a target: "native" (this machine, detected now), "llvm -mtriple=T [-mcpu=C] [-mattr=+a,-b] [-vector-bytes=N] [-cores=N]",
 * or the short name of a known CPU ("skylake-avx512", "znver4", "neoverse-n1", "rv64gcv", ...: tc_target_names). TC_BAD_INPUT for
 * what is none of them, for a feature that is not known, and for vectors wider than the target's, says how to name one. AArch64's
 * vectors are NEON's unless -vector-bytes names the width of SVE registers; RISC-V's come from +v and +zvl256b. `text` of a
 * parsed target parses to an equal target, except that caches and cores are not part of it: for a target that is not native they
 * are typical values. */
TC_NODISCARD tc_status tc_target_parse(const char *text, tc_target **out, tc_error *err);
void tc_target_free(tc_target *t);        /* NULL is fine */
const char *const *tc_target_names(void); /* short names, NULL-terminated */
const char *tc_cg_llvm_version(void);     /* "19.1.7" */

/* ---- emission (emit.c, and the lowering behind it) ---- */

typedef struct tc_cg_options {
    bool fast;   /* compile faster, run slower: for kernels of no weight, and for tests */
    bool verify; /* run LLVM's verifier on the module (always on in builds with TCTUNE_VERIFY) */
} tc_cg_options;

typedef enum tc_cg_stage {
    TC_CG_IR,     /* LLVM IR as we generate it */
    TC_CG_OPT_IR, /* after our pass list */
    TC_CG_ASM     /* assembly */
} tc_cg_stage;

/* Bytes of the workspace that a kernel of f needs with `nthreads` threads. */
int64_t tc_cg_workspace_bytes(const tc_func *f, int nthreads);

/* Compiles n functions, each lowered (tc_tir_lower), into one relocatable object; the symbol of funcs[i] is names[i], or
 * funcs[i]->name when names is NULL. *obj is malloc'ed. opts may be NULL. TC_ILLEGAL for TIR that is not in lowered form or
 * exceeds a limit. The object needs libm only when a kernel uses pow, sin, cos, ... (the rare functions); exp, log, tanh, erf,
 * sigmoid, rsqrt, sqrt are inlined for f32. */
TC_NODISCARD tc_status tc_cg_emit_object(const tc_target *t, const tc_func *const *funcs, const char *const *names, int n,
                                         const tc_cg_options *opts, void **obj, size_t *size, tc_error *err);
/* The same functions as text, appended to b. */
TC_NODISCARD tc_status tc_cg_emit_text(const tc_target *t, const tc_func *const *funcs, const char *const *names, int n,
                                       const tc_cg_options *opts, tc_cg_stage stage, tc_strbuf *b, tc_error *err);

/* ---- C source (emit_c.c) ---- */

/* What every file with such kernels begins with: headers, types, and helper functions. */
void tc_cg_c_prelude(tc_strbuf *b);
/* A lowered function as C17: `static void SYMBOL(const void *a0, ..., void *aN, uint8_t *workspace)`, the arguments in order. Its
 * workspace is that of tc_cg_workspace_bytes(f, nthreads), aligned to 64; arguments need the alignment of their elements only.
 * Parallel loops are OpenMP's where the compiler has it switched on, and serial otherwise. */
TC_NODISCARD tc_status tc_cg_emit_c(const tc_func *f, const char *symbol, int nthreads, tc_strbuf *b, tc_error *err);

/* ---- running in this process (jit.c) ---- */

typedef struct tc_cg_module tc_cg_module;

/* Loads object bytes (this machine's format). The bytes are copied. */
TC_NODISCARD tc_status tc_cg_load(const void *obj, size_t size, tc_cg_module **out, tc_error *err);
/* Compiles and loads; the target must be native. */
TC_NODISCARD tc_status tc_cg_jit(const tc_target *t, const tc_func *const *funcs, int n, const tc_cg_options *opts,
                                 tc_cg_module **out, tc_error *err);
/* Address of an exported symbol, TC_BAD_INPUT when there is none. Valid until the module is freed. */
TC_NODISCARD tc_status tc_cg_lookup(tc_cg_module *m, const char *name, tc_kernel **out, tc_error *err);
void tc_cg_module_free(tc_cg_module *m); /* NULL is fine */

/* ---- threads (runtime.c) ---- */

/* A runtime on OpenMP's team; nthreads >= 1, or 0 for every core of the machine. Holds no memory: a plain value, copied at will.
 */
tc_rt tc_cg_runtime(int nthreads);

/* ---- whole models: driver, constants, linking (driver.c, entry.c, rename.c, link.c) ---- */

/* Where an operand of a step of a model lives. */
typedef struct tc_cg_operand {
    enum { TC_CG_INPUT, TC_CG_OUTPUT, TC_CG_ARENA, TC_CG_CONST } where;
    int64_t at;   /* INPUT, OUTPUT: index; ARENA: byte offset; CONST: byte offset in the constants */
    int64_t skip; /* OUTPUT: bytes before it */
} tc_cg_operand;

typedef enum tc_cg_step_kind {
    TC_CG_DO,          /* a kernel or a copy */
    TC_CG_UNLESS,      /* goes on at step `target` unless args[0], a bool, holds */
    TC_CG_UNLESS_LESS, /* goes on at step `target` unless args[0] < args[1], two i64s */
    TC_CG_AGAIN,       /* adds 1 to args[0], an i64, and goes on at step `target` */
    TC_CG_GO           /* goes on at step `target` */
} tc_cg_step_kind;

typedef struct tc_cg_step {
    tc_cg_step_kind kind;
    const char *kernel; /* DO: symbol; NULL: copy `bytes` from args[0] to args[1], or to row args[2] (an i64) of args[1] */
    int nargs;
    const tc_cg_operand *args;
    int64_t bytes;
    int target; /* a step's number, or that of steps: the end */
} tc_cg_step;
/* How many operands a step of this kind has; DO: -1. */
static inline int tc_cg_step_operands(tc_cg_step_kind kind) {
    return kind == TC_CG_DO ? -1 : kind == TC_CG_GO ? 0 : kind == TC_CG_UNLESS_LESS ? 2 : 1;
}

/* A model's entry point: `int32_t NAME(const void *const *inputs, void *const *outputs, uint8_t *arena, const uint8_t *constants,
 * const tc_rt *rt)`. It runs the steps in order, but where they say otherwise, with workspace at arena + workspace_at, and
 * returns the first non-zero status. With `watch`, the object also exports a variable of that name, a tc_cg_watch, whose function
 * is called after each DO step that succeeded. */
typedef struct tc_cg_watch {
    void (*step)(void *user, int32_t step); /* NULL, as at first: nobody watches */
    void *user;
} tc_cg_watch;
typedef struct tc_cg_driver {
    const char *name, *watch; /* watch may be NULL */
    int nsteps;
    const tc_cg_step *steps;
    int64_t workspace_at;
} tc_cg_driver;
TC_NODISCARD tc_status tc_cg_emit_driver(const tc_target *t, const tc_cg_driver *d, void **obj, size_t *size, tc_error *err);

/* Object that defines `int32_t NAME(const tc_rt *, int64_t n, tc_rt_body *, void *closure)`, a parallel_for over OpenMP's runtime
 * (GOMP_parallel), for libraries that must run without tctune. */
TC_NODISCARD tc_status tc_cg_emit_runtime(const tc_target *t, const char *name, void **obj, size_t *size, tc_error *err);

/* The entry point that C programs call, `int32_t NAME(const void *const *inputs, void *const *outputs)`: runs the driver with an
 * arena of its own and a runtime of `nthreads` threads. Arrays need no alignment; several threads may call it at once. It returns
 * the driver's status, or -1 when there is no memory. The object also defines `int32_t THREADS`, which callers may lower, and the
 * texts as `const char SYMBOL[]`. */
typedef struct tc_cg_entry {
    const char *name;
    const char *driver, *runtime; /* symbols of tc_cg_emit_driver's and tc_cg_emit_runtime's objects */
    const char *constants;        /* of tc_cg_write_blob's; NULL: there are none */
    const char *threads;          /* of the variable */
    int nthreads;
    int64_t arena_bytes;
    int nin, nout;
    const int64_t *in_bytes, *out_bytes;
    int ntexts;
    const struct tc_cg_text { const char *symbol, *text; } * texts;
} tc_cg_entry;
TC_NODISCARD tc_status tc_cg_emit_entry(const tc_target *t, const tc_cg_entry *e, void **obj, size_t *size, tc_error *err);

/* Writes to `out` an object that holds `bytes` bytes, all written to the stream by `fill`, as read-only data under `symbol`,
 * aligned to a page; symbol_size (u64) is their number. Nothing is held in memory. `out` is whole or absent. */
typedef tc_status tc_cg_fill(void *user, FILE *f, tc_error *err);
TC_NODISCARD tc_status tc_cg_write_blob(const tc_target *t, const char *symbol, int64_t bytes, tc_cg_fill *fill, void *user,
                                        const char *out, tc_error *err);

/* Gives the symbol `from` of a relocatable object the name `to`; *obj is malloced and replaced.
 * TC_BAD_INPUT, with nothing changed, when there is no such symbol. */
TC_NODISCARD tc_status tc_cg_rename_symbol(void **obj, size_t *size, const char *from, const char *to, tc_error *err);

typedef struct tc_cg_link {
    int nobjects;
    const char *const *objects; /* paths of object files */
    bool openmp;                /* needs GOMP_parallel */
    const char *const *exports; /* NULL-terminated: only these stay visible; NULL: all */
    bool relocatable;           /* set by tc_cg_link_object */
    const char *linker;         /* program to run; NULL: $TCTUNE_LINKER, else cc, gcc, clang, ld.lld, ld, whichever is there */
    const char *triple; /* of another architecture than this machine's: TRIPLE-gcc and TRIPLE-ld are looked for; or NULL */
} tc_cg_link;
/* Compiles C for the architecture of a triple that is not this machine's, to position-independent code of its baseline that needs
 * libc only; by $TCTUNE_LINKER where that is a compiler, else TRIPLE-gcc, else clang. `out` is an object file. TC_ENV when there
 * is no compiler, or with its words when it fails. */
TC_NODISCARD tc_status tc_cg_compile_c(const char *triple, const char *text, size_t size, const char *out, tc_error *err);
/* Links a shared library, written under another name and renamed: `out` is whole or absent. TC_ENV with the linker's words when
 * it fails. */
TC_NODISCARD tc_status tc_cg_link_object(const tc_cg_link *l, const char *out, tc_error *err); /* the same as one .o */
TC_NODISCARD tc_status tc_cg_link_shared(const tc_cg_link *l, const char *out, tc_error *err);

#endif
