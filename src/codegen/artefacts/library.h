/* src/codegen/artefacts owns what a library of a model holds besides its kernels (driver, entry point, constants, the
 * small runtime that generated code calls), the linker, and objects kept on disk (cache.h). Not here: which kernels a
 * model has (src/graph/model).
 *
 * This header: the driver, which runs the kernels in order; the entry point, which C programs call; and the constants.
 * Each becomes an object of its own. */
#ifndef TC_CODEGEN_ARTEFACTS_LIBRARY_H
#define TC_CODEGEN_ARTEFACTS_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "codegen/profile/profile.h"
#include "codegen/target/target.h"
#include "support/status.h"
#include "tctune/runtime.h"
#include "te/sizes/formula.h"

/* ---- the driver (driver.c) ---- */

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
    TC_CG_GO,          /* goes on at step `target` */
    /* Runs the branches behind it side by side, each on one thread, and goes on at step `target`, where the last of them ends. */
    TC_CG_FORK,
    TC_CG_BRANCH /* begins a branch, which ends before step `target` and consists of DO steps */
} tc_cg_step_kind;

typedef struct tc_cg_step {
    tc_cg_step_kind kind;
    const char *kernel; /* DO: symbol; NULL: copy `bytes` from args[0] to args[1], or to row args[2] (an i64) of args[1] */
    int nargs;
    const tc_cg_operand *args;
    int64_t bytes;
    int target; /* a step's number, or that of steps: the end */
} tc_cg_step;
/* It begins branches, or one of them: nothing that is told of, or timed. */
static inline bool tc_cg_step_forks(tc_cg_step_kind kind) {
    return kind == TC_CG_FORK || kind == TC_CG_BRANCH;
}
static inline bool tc_cg_step_decides(tc_cg_step_kind kind) {
    return kind != TC_CG_DO && !tc_cg_step_forks(kind);
}
/* How many operands a step of this kind has; DO: -1. */
static inline int tc_cg_step_operands(tc_cg_step_kind kind) {
    static const int n[] = {[TC_CG_DO] = -1, [TC_CG_UNLESS] = 1, [TC_CG_UNLESS_LESS] = 2, [TC_CG_AGAIN] = 1,
                            [TC_CG_GO] = 0,  [TC_CG_FORK] = 0,   [TC_CG_BRANCH] = 0};
    return n[kind];
}

/* What the context of a library begins with; the rest is its own. */
typedef struct tc_cg_context {
    void (*step)(void *user, int32_t step); /* called after each DO step that succeeded; NULL, as at first: nobody watches */
    void *user;
    int32_t threads; /* of its runs; more than the library was built for are not used */
    /* What runs its parallel loops, as a tc_rt has it; NULL, as at first: the library's own. Libraries whose
     * metadata do not say "watched" do not look at it. */
    int32_t (*parallel_for)(const tc_rt *rt, int64_t n, tc_rt_body *body, void *closure);
    void *impl;
} tc_cg_context;

/* A model's steps in order, those of a fork's branches also where somebody watches, so that one step ends before the next
 * begins: `int32_t NAME(const void *const *inputs, void *const *outputs, uint8_t *arena, const uint8_t
 * *constants, const tc_rt *rt, const tc_cg_context *context)`. It runs them, but where they say otherwise, with workspace at
 * arena + workspace_at, and returns the first non-zero status. */
typedef struct tc_cg_driver {
    const char *name;
    int nsteps;
    const tc_cg_step *steps;
    int64_t workspace_at, branch_bytes; /* branch k of a fork has its workspace k times branch_bytes behind that */
} tc_cg_driver;
TC_NODISCARD tc_status tc_cg_emit_driver(const tc_target *t, const tc_cg_driver *d, void **obj, size_t *size, int64_t *stack,
                                         tc_error *err);

/* ---- the entry points (entry.c) ---- */

/* What runs return beside 0: the header of a model says the same of them. Larger numbers are refusals of the model itself. */
enum {
    TC_CG_NO_MEMORY = -1,
    TC_CG_WRONG_SIZES = -2,
    TC_CG_OTHER_BUFFERS = -3,
    TC_CG_OTHER_CPU = -4, /* this CPU lacks a feature that the code uses */
    TC_CG_RIGHT_CPU = 1   /* inside of libraries */
};

/* What C programs call:
 *
 *   NAME_context *NAME_context_new(void)              NULL: there is no memory, or the CPU lacks a feature
 *   void NAME_context_free(NAME_context *)
 *   int32_t NAME_context_run(NAME_context *, const void *const *inputs, void *const *outputs)
 *   int32_t NAME_run(const void *const *inputs, void *const *outputs)
 *
 * A context is all that runs change; it runs the driver with a runtime of at most `nthreads` threads. Arrays need no alignment.
 * Runs return the driver's status, or with nothing written TC_CG_OTHER_CPU, TC_CG_WRONG_SIZES, TC_CG_OTHER_BUFFERS when an input
 * and an output that must be one array are not, or it is not aligned to TC_RT_ALIGN, and TC_CG_NO_MEMORY when the context is NULL.
 * NAME_run has a context of its own for one thread at a time and makes new ones for others. The object also defines `int32_t
 * NAME_threads`, which contexts take over when they are made. */

/* An array of a run: `each` bytes times the sizes that the i64 scalars size[] of the same list are, at most `most`. One that is
 * an input and an output is used where it lies. */
typedef struct tc_cg_array {
    int64_t most, each;
    int shared; /* one past the number in the other list of the array that is the same; 0: none is */
    int nsize;
    const int *size;
} tc_cg_array;
/* What the sizes of a run are checked for. */
typedef struct tc_cg_size_range {
    int64_t least, most, multiple;
} tc_cg_size_range;
/* The formula, of sizes that are divided by their multiples, is from least to most. It is sound for all sizes in their ranges. */
typedef struct tc_cg_size_check {
    tc_formula formula;
    int64_t least, most;
} tc_cg_size_check;
/* Sizes are i64 scalars. Their ranges are checked before anything is computed of them. */
typedef struct tc_cg_size_checks {
    int nsize, first; /* which input the first of them is */
    const tc_cg_size_range *range;
    int ncheck;
    const tc_cg_size_check *check;
} tc_cg_size_checks;

typedef struct tc_cg_entry {
    const char *name;
    const char *driver, *runtime; /* symbols of tc_cg_emit_driver's and tc_cg_emit_runtime's objects */
    const char *constants;        /* of the blob; NULL: there are none */
    int nthreads;
    int64_t arena_bytes;
    int nin, nout;
    const tc_cg_array *in, *out;
    tc_cg_size_checks sizes;
    const tc_cg_profile *profile; /* of libraries that tc_cg_profile_object is part of; NULL: none */
} tc_cg_entry;
/* Of a context; one of them lies in the library, among what its code reaches. */
int64_t tc_cg_context_bytes(const tc_cg_entry *e);
/* How many bytes that may be, with constants that are within reach: addresses differ by less than 2 GiB. */
#define TC_CG_REACH ((int64_t)1920 << 20)
TC_NODISCARD tc_status tc_cg_emit_entry(const tc_target *t, const tc_cg_entry *e, void **obj, size_t *size, int64_t *stack,
                                        tc_error *err);

/* ---- what a library says of itself (note.c) ---- */

#define TC_CG_NOTE_OWNER "tctune"
enum { TC_CG_NOTE_TYPE = 1 };
/* An object that defines `const char SYMBOL[]`, the text, which lies in a note of the file. */
TC_NODISCARD tc_status tc_cg_emit_metadata(const tc_target *t, const char *symbol, const char *text, void **obj, size_t *size,
                                           tc_error *err);
/* The metadata of a library's file, malloc'ed. Nothing of the file is run. TC_BAD_INPUT when it is cut short or not one that tctune
 * built. */
TC_NODISCARD tc_status tc_cg_read_metadata(const char *path, char **text, tc_error *err);
/* The message for a file that is something else. */
tc_status tc_cg_not_a_library(const char *path, const char *why, tc_error *err);

/* ---- constants (blob.c) ---- */

/* Whether so many bytes of constants lie apart from what code reaches, which then finds them through a table. */
bool tc_cg_blob_is_far(const tc_target *t, int64_t bytes);
/* `bytes` bytes, all written to a stream by `fill`, as read-only data under `symbol`, aligned to a page; symbol_size (u64) is
 * their number. Nothing is held in memory. */
typedef tc_status tc_cg_fill(void *user, FILE *f, tc_error *err);
typedef struct tc_cg_blob {
    const tc_target *target;
    const char *symbol;
    int64_t bytes;
    tc_cg_fill *fill;
    void *user;
} tc_cg_blob;

/* Writes an object that holds them; it is whole or absent. */
TC_NODISCARD tc_status tc_cg_write_blob(const tc_cg_blob *c, const char *out, tc_error *err);
/* Writes an object with a place for them that has no bytes in its file. */
TC_NODISCARD tc_status tc_cg_write_blob_place(const tc_cg_blob *c, const char *out, tc_error *err);
/* Whether a file may be as large as they are, by the limits of the process and the file system: linkers say it in words of their
 * own. Nothing is left of the file. */
TC_NODISCARD tc_status tc_cg_check_blob_fits(const tc_cg_blob *c, const char *library, tc_error *err);
/* Writes them to a library that was linked with that object; *filled is false, and nothing is written, where its linker gave the
 * place no bytes in the file either. */
TC_NODISCARD tc_status tc_cg_fill_blob_place(const tc_cg_blob *c, const char *library, bool *filled, tc_error *err);

#endif
