/* What tuning gained: kernels with their records, in turns with the same kernels as they are untuned.
 *
 * A record replaces the default schedule only where it is faster beyond doubt, and by 2 %; a tie keeps what was there. The verdict
 * on a kernel is stored like that of a network's contest, as records of mode in-graph with one time stamp, so builds follow it as
 * long as no later search finds another record that ranks first (measure/records/choose.c). */
#ifndef TC_TUNE_GAIN_H
#define TC_TUNE_GAIN_H

#include "support/vec.h"
#include "tune/kernel/compare.h"

typedef struct tc_tune_gain {
    const char *why; /* nothing was compared, and why; NULL: it was */
    int nkernel;
    int nkept;               /* kernels that run the default schedule: no record was faster beyond doubt, or there is none */
    tc_tune_verdict verdict; /* of runs, a: as a build is now, b: untuned; rounds 0: all kernels kept the default schedule */
    double seconds;          /* what all of it took */
} tc_tune_gain;

/* When a comparison has to end that should end at tc_now() `until` and has not the fewest rounds of a verdict by then: as much later
 * as is left now, at least ten seconds. Without a verdict the records would be used, though they may be slower. Only a busy machine
 * needs that time. */
double tc_tune_gain_last(double until);

/* A kernel's best record in turns with its default schedule. */
typedef struct tc_tune_pair {
    const tc_record *record, *untuned; /* ids need not be of a database */
    const double *seconds, *before;    /* of each, by round: of one launch */
    int rounds;
    double least;   /* seconds that the record has to gain, at least; 0: any */
    double speedup; /* of the record */
    bool kept;      /* the default schedule is to be used */
} tc_tune_pair;

/* Fills speedup and kept from the times. Fewer rounds than TC_TUNE_MIN_ROUNDS keep the default schedule. */
void tc_tune_pair_judge(tc_tune_pair *x, uint64_t seed);

/* More rounds may tell: one seems to be faster, and it cannot be told yet. Cheap beside the verdict. */
bool tc_tune_pair_is_open(const tc_tune_pair *x, tc_arena *a);

typedef TC_VEC(tc_record) tc_tune_verdicts;
/* Adds the records that say so to `out`, with texts in `a`. keys[n]: the forms of the kernel. What the kernel was compared with
 * earlier takes part with the times that it had beside the record. now: one time stamp for all. */
TC_NODISCARD tc_status tc_tune_pair_put(const tc_tune_pair *x, tc_meas_db *db, const tc_meas_key *keys, int n, int64_t now,
                                        tc_arena *a, tc_tune_verdicts *out, tc_error *err);

#endif
