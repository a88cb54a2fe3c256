/* Comparing two schedules of one workload: what each becomes, where they differ, how far from the machine's limit they are, and
 * which is faster.
 *
 * The verdict. Both run in turns (tc_meas_interleave): a round times one after the other under the same conditions, and slow drift
 * cancels in their ratio. The estimate is the median of the rounds' ratios, with the 95 % interval of its percentile bootstrap
 * (Efron 1979). One is faster only where the interval excludes equality and a two-sided sign test over the rounds agrees: with
 * p < 0.05 in a search, with TC_TUNE_SURE for people. The bootstrap alone is too sure of itself with few rounds. */
#ifndef TC_TUNE_COMPARE_H
#define TC_TUNE_COMPARE_H

#include "codegen/assembly/asm_facts.h"
#include "cost_model/cost.h"
#include "measure/machine/rates.h"
#include "measure/measure.h"
#include "measure/peer.h"
#include "tune/kernel/schedule.h"

/* What a schedule becomes. Zero-initialised is empty. */
typedef struct tc_tune_side {
    uint64_t program; /* tc_tir_hash: equal programs have equal hashes, whatever their traces */
    tc_strbuf nest;   /* annotated loop nest */
    tc_strbuf assembly;
    tc_cg_asm_facts facts;
    tc_cost_rows features; /* one row per store of the nest */
    double cycles;         /* that the analytic model behind the features expects */
} tc_tune_side;

/* Replays and lowers `trace` on `workload` (texts) for t, with t->machine.cores threads. */
TC_NODISCARD tc_status tc_tune_side_make(const tc_target *t, const char *workload, const char *trace, tc_tune_side *out,
                                         tc_error *err);
void tc_tune_side_free(tc_tune_side *s);

/* A cost-model feature that differs. */
typedef struct tc_tune_difference {
    int store;        /* number of the store in the nest, from 0 */
    const char *name; /* tc_cost_feature_name */
    double a, b;
} tc_tune_difference;
/* Malloc'ed, the largest differences of each store first; *n of them. Stores are paired as they come; *unpaired: how many one of
 * the two has more. */
tc_tune_difference *tc_tune_differences(const tc_tune_side *a, const tc_tune_side *b, int *n, int *unpaired);

/* Place on the roofline (Williams et al. 2009): traffic is what any kernel must move, the inputs' elements that it reads and the
 * outputs, once; bandwidth that of the level of the hierarchy in which as many bytes live. Timed cold, traffic is the constants,
 * and bandwidth that of memory. */
typedef struct tc_tune_roof {
    double flops, bytes, intensity; /* per call; flops per byte */
    const tc_intrinsic *unit;       /* whose peak it is; NULL: multiply-adds of f32 */
    double peak_gflops, bandwidth_gbs;
    double roof_gflops; /* the lower of the two at this intensity */
    bool memory_bound;
    double seconds; /* of a call at the roof */
} tc_tune_roof;
/* Of a machine that is elsewhere: by what it told of itself. What it did not is 0, and bounds nothing; where nothing is known
 * seconds are NAN. */
tc_tune_roof tc_tune_roof_by(const tc_workload *w, const tc_target *t, tc_meas_mode mode, const tc_meas_rates *told);
/* Measures peak and bandwidth on the cores of t, which is this machine, in about a second: the peak of the unit that the sums of w
 * can take (te/unit_gain.h), else that of f32. The machine drifts: `earlier` (may be NULL) is the roofline
 * of the same workload before what is compared with it was measured, and the larger rates count. */
tc_tune_roof tc_tune_roofline(const tc_workload *w, const tc_target *t, tc_meas_mode mode, const tc_tune_roof *earlier);

typedef struct tc_tune_verdict {
    int rounds;
    double a, b;             /* seconds: medians over the rounds */
    double ratio, low, high; /* time of b over time of a: above 1, a is faster. Median of the rounds and its 95 % interval */
    double sign_p;           /* of the two-sided sign test */
    int faster;              /* -1: a, 1: b, 0: not distinguishable */
} tc_tune_verdict;
enum { TC_TUNE_MIN_ROUNDS = 6 }; /* fewer can never satisfy the sign test */
/* What a person is told must be surer than what a search tries next: of 1,000 comparisons of equals one may name a faster one. */
#define TC_TUNE_SURE 1e-3
enum { TC_TUNE_SURE_ROUNDS = 11 }; /* fewer can never be so sure */
/* a[i] and b[i]: seconds in round i. */
tc_tune_verdict tc_tune_judge(const double *a, const double *b, int rounds, uint64_t seed);

/* ---- both, timed ---- */

/* One of the two: a schedule, which is in canonical names, or else another library. */
typedef struct tc_tune_duellist {
    const tc_tune_schedule *schedule;
    tc_meas_peer *peer;
} tc_tune_duellist;

typedef struct tc_tune_duel_options {
    const tc_workload *workload; /* for the roofline */
    const tc_target *target;     /* its cores are the threads of both */
    tc_meas_mode mode;
    int rounds; /* at least TC_TUNE_SURE_ROUNDS */
    uint64_t seed;
    const volatile sig_atomic_t *stop;     /* may be NULL */
    const struct tc_meas_carrier *carrier; /* as in tc_meas_options; where one is given, both are schedules */
    void *carried_by;
} tc_tune_duel_options;

typedef struct tc_tune_duel {
    int failed;              /* the rival whose kernel failed, which ends it; -1: none */
    tc_record record;        /* how that one failed */
    tc_meas_mode mode;       /* as they were timed */
    const char *host;        /* where, as records have it: all rounds are one machine's */
    tc_tune_roof roof;       /* zero where a carrier measured: whoever knows its machine tells (tc_tune_roof_by) */
    tc_meas_unrest unrest;   /* while they took turns */
    tc_tune_verdict verdict; /* names a faster one only where the sign test is as sure as TC_TUNE_SURE */
} tc_tune_duel;

/* Runs two rivals, at most one of which is a library, in turns in the isolated process, or as the carrier does. TC_ENV when it
 * was stopped too early for a verdict, or nobody could measure it. Texts of what it says are in `arena`. */
TC_NODISCARD tc_status tc_tune_duel_run(const tc_tune_duellist rival[2], const tc_tune_duel_options *o, tc_arena *arena,
                                        tc_tune_duel *out, tc_error *err);

#endif
