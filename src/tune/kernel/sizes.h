/* Sizes that stand for the range of a kernel with symbols: the sizes it is tuned at, and those at which its programs are
 * compared, with the weight of each. Weights come from a file (weights.h), else from the logarithm: each octave counts as much
 * as every other. */
#ifndef TC_TUNE_SIZES_H
#define TC_TUNE_SIZES_H

#include "te/te.h"

enum {
    TC_TUNE_TUNED = 3, /* sizes that a range is tuned at, at most */
    TC_TUNE_GRID = 11  /* points of the grid, at most */
};

typedef struct tc_tune_weighted {
    const int64_t *sizes; /* of each symbol */
    double weight;        /* > 0 */
} tc_tune_weighted;

/* Of one workload; sizes may come more than once. */
typedef struct tc_tune_weights {
    int n; /* at least 1 */
    const tc_tune_weighted *data;
} tc_tune_weights;

/* Places in the range of w's symbols, in `a`. `weights` may be NULL. */
typedef struct tc_tune_places {
    int n; /* at least 1, all different */
    const int64_t *const *sizes;
} tc_tune_places;

/* At most TC_TUNE_TUNED: in the middle of parts that count as much as each other. */
tc_tune_places tc_tune_tuned_sizes(tc_arena *a, const tc_workload *w, const tc_tune_weights *weights);
/* At most TC_TUNE_GRID, by their product: the least sizes but 0, the largest, and what lies between, of several symbols a
 * sample. */
tc_tune_places tc_tune_grid(tc_arena *a, const tc_workload *w, const tc_tune_weights *weights);
/* How much each of n places, by their product, counts: > 0. In `a`. */
const double *tc_tune_place_weights(tc_arena *a, const tc_workload *w, const tc_tune_weights *weights, int n,
                                    const int64_t *const *sizes);

/* "layer N=17", in `a`: w, which is called `name`, at these sizes. */
const char *tc_tune_name_at(tc_arena *a, const char *name, const tc_workload *w, const int64_t *sizes);

/* Where a run stands in the range: the product of its n sizes, INT64_MAX where it would be more. A size of 0 counts as 1: where
 * it is that of a part of something, the other parts are there all the same. */
int64_t tc_tune_product(const int64_t *sizes, int n);

#endif
