/* The variants of a kernel with symbols: few programs, each for a span of sizes. They are chosen from the records of the last
 * contest over sizes alone (tune/contest_sizes.h), so equal databases give equal variants.
 *
 * A run's sizes become one number, their product. The cut between two points of the contest's grid is their geometric middle.
 * Constants are packed once, so all variants have every constant in the same layout: they are of one form of the kernel, or of
 * forms that compute with the same constants (tc_space_alternative.constants). */
#ifndef TC_TUNE_VARIANTS_H
#define TC_TUNE_VARIANTS_H

#include "tune/kernel/schedule.h"
#include "tune/kernel/sizes.h"

enum { TC_TUNE_VARIANTS = 8 };

/* ---- choosing, of numbers alone ---- */

/* Times of programs at the points of a grid, by product of the sizes from the smallest to the largest; `product` may have
 * equals. */
typedef struct tc_tune_times {
    int nprogram, npoint;
    const double *seconds;  /* [program * npoint + point]; INFINITY: it was not right there, or not timed */
    const int *group;       /* of each program: only those of one group can be variants of one kernel */
    const double *weight;   /* of each point, > 0 */
    const int64_t *product; /* of each point */
} tc_tune_times;

typedef struct tc_tune_choice {
    int n;                          /* 0: no program has a time at every point that has one */
    int program[TC_TUNE_VARIANTS];  /* of each span, in order; one may have several */
    int64_t upto[TC_TUNE_VARIANTS]; /* the largest product that it serves; of the last INT64_MAX */
    double loss;                    /* weighted mean of the logarithms of each point's time over the best of any program there */
} tc_tune_choice;

/* What a further span must gain of the weighted geometric mean. Times of one program scatter by about as much from one contest to
 * the next, so that less may be luck; and each program is code, which fifty of them may make longer by no more than a seventh. */
#define TC_TUNE_VARIANT_PAYS 0.01

/* The spans of one group that lose least, each counted as a loss of log(1 + TC_TUNE_VARIANT_PAYS); at most `most` of them. */
tc_tune_choice tc_tune_choose(const tc_tune_times *t, int most);

/* ---- of a database ---- */

typedef struct tc_tune_variant {
    const char *form;     /* which form of the kernel it is of: "direct", or the alternative's name */
    const char *workload; /* of that form: text that the trace applies to, canonical; and its hash */
    tc_digest hash;
    const char *trace; /* text */
    int64_t upto; /* serves runs whose product of sizes is at most that, and is not served by the variant before; the last: all */
    int64_t record;   /* a record of it */
    uint64_t program; /* tc_tir_hash, as its records have it */
} tc_tune_variant;

/* A point of the contest. */
typedef struct tc_tune_point {
    const int64_t *sizes; /* of each symbol */
    int64_t product;
    double weight;
    double best, chosen; /* seconds: of the fastest program here, and of the variant that serves it */
    int variant;
} tc_tune_point;

/* Texts and arrays live in the arena that it was made in. */
typedef struct tc_tune_variants {
    const char *form; /* for people: those of the variants, "winograd-f2-of-f4, winograd-f4"; of none "direct" */
    int n;            /* 0: no contest chose any */
    tc_tune_variant v[TC_TUNE_VARIANTS];
    const char *why; /* n == 0: why */
    /* Of the contest that they were chosen from. */
    int npoint, nprogram; /* nprogram: that took part and were right */
    const tc_tune_point *point;
    double loss; /* as tc_tune_choice has it */
    int64_t when_ms;
} tc_tune_variants;

/* Variants of q->workload, which has symbols, for q->target and as many threads as it has cores. `weights`: of sizes; NULL: by the
 * logarithm of the size. There are none where the query has a file, whose schedule is for all sizes. The query's accuracy says
 * which forms there are. */
TC_NODISCARD tc_status tc_tune_variants_find(const tc_tune_query *q, const tc_tune_weights *weights, tc_arena *a,
                                             tc_tune_variants *out, tc_error *err);
/* The schedule for a run of these sizes: that of the variant that serves them, where a contest chose some, else as
 * tc_tune_schedule_find. */
TC_NODISCARD tc_status tc_tune_schedule_at(const tc_tune_query *q, const tc_tune_weights *weights, const int64_t *sizes,
                                           tc_arena *a, tc_tune_schedule *out, tc_error *err);
/* Forms of n variants, at least one, for people: each once, in `a`. */
const char *tc_tune_forms_text(tc_arena *a, int n, const char *const *name);
/* The number of the variant that serves a run of these sizes. */
int tc_tune_variant_at(const tc_tune_variants *v, const int64_t *sizes, int n);
#endif
