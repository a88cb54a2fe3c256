/* src/tir_lower/program owns the one way from a trace to a program; programs changed for their place in a network
 * (results in place, values in bf16); and programs without a part (ablate.h), whose time shows what the part costs. Not
 * here: which trace is taken (src/tune, src/graph/model).
 *
 * replay -> schedule -> build -> annotated nest -> hash, lower. Whoever looks at, learns from or runs a stored or
 * proposed schedule goes this way, so that equal traces make equal programs everywhere. */
#ifndef TC_TIR_LOWER_PROGRAM_PROGRAM_H
#define TC_TIR_LOWER_PROGRAM_PROGRAM_H

#include "tir_lower/tir.h"

/* What the caller wants beside the schedule; nothing else is computed. */
enum tc_tir_want {
    TC_TIR_NEST = 1,    /* the annotated nest; each of the others includes it */
    TC_TIR_HASH = 2,    /* the hash of the nest */
    TC_TIR_LOWERED = 4, /* the program after all passes */
    /* The program after all passes, checked by the verifier (tc_tir_verify) even if this build does not verify each pass. For
     * traces from elsewhere. */
    TC_TIR_VERIFIED = 8
};

/* Where a program comes from. */
typedef struct tc_tir_origin {
    const tc_workload *workload;
    const tc_machine *machine; /* may be NULL where the schedule alone is wanted */
    const tc_trace *trace;     /* NULL: `text` is parsed */
    const char *text, *name;   /* a trace as text, and what messages call it */
    tc_rng *rng;               /* draws decisions that the trace leaves open; NULL: it leaves none */
    const char *dump;          /* of the lowering, as in tc_tir_lower */
    int64_t *work;             /* of TC_TIR_VERIFIED, as in tc_tir_verify_within; NULL: the budget of one program */
} tc_tir_origin;

/* What came of it, all in the context that it was made in; NULL or 0: not wanted, or not reached. */
typedef struct tc_tir_program {
    tc_sched *sched; /* sched->trace has all decisions */
    tc_func *nest;
    uint64_t hash;
    tc_func *lowered;
} tc_tir_program;

/* Makes of `from` what `want`, bits of tc_tir_want, asks for, in `ctx`, which is the workload's context or a child of it. The
 * status and message of the first stage that fails are returned; what was made until then is in *out. */
TC_NODISCARD tc_status tc_tir_program_make(tc_ctx *ctx, const tc_tir_origin *from, unsigned want, tc_tir_program *out,
                                           tc_error *err);
/* The same of a program that has its schedule already: makes what `want`, which is not nothing, asks for beside it. */
TC_NODISCARD tc_status tc_tir_program_more(tc_ctx *ctx, const tc_tir_origin *from, unsigned want, tc_tir_program *p,
                                           tc_error *err);

/* ---- results in place (in_place.c) ---- */
/* Whether f, which is lowered, computes the same when parameters `out` and `in` are one piece of memory: each element is read
 * where it is overwritten, and nowhere else, and overwritten once. False also where that is not plain to see. */
bool tc_tir_may_overwrite(const tc_func *f, int out, int in);
/* f for calls where `out` may be the memory of `in`, in context c: code that is made of it does not take them for distinct. */
tc_func *tc_tir_overwriting(tc_ctx *c, const tc_func *f, int out, int in);

/* ---- programs by size (variants.c) ---- */
/* n lowered programs of one workload with symbols, or of workloads with the same parameters and symbols, as one, in context c: a
 * run whose product of the symbols is at most upto[i], and more than upto[i - 1], is the i-th's; upto rises to INT64_MAX. A
 * program may be there several times, and then stands in the result once. TC_ILLEGAL where they read constants in different
 * layouts. */
TC_NODISCARD tc_status tc_tir_variants(tc_ctx *c, int n, const tc_func *const *funcs, const int64_t *upto, tc_func **out,
                                       tc_error *err);

/* ---- values in bf16 (narrow.c) ---- */
/* f, which is lowered, with parameter `param`, of f32, in bf16, in context c: an input of which f rounds every element before it
 * does anything else with it, or an output, whose elements are rounded as they are stored. NULL: it is none. */
tc_func *tc_tir_narrowed(tc_ctx *c, const tc_func *f, int param);

#endif
