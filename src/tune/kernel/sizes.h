/* Sizes that stand for the range of a kernel with symbols: those that it is tuned at, those at which its programs are compared, and
 * how much each counts.
 *
 * Weights come from a file of lines `NAME=SIZE .. WEIGHT`, one run or kind of run each:
 *
 *     # how often a length comes
 *     batch=1 sequence=17 0.2
 *     batch=1 sequence=128 3
 *
 * Without one, sizes count by their logarithm: each octave as much as every other. */
#ifndef TC_TUNE_SIZES_H
#define TC_TUNE_SIZES_H

#include "te/te.h"

enum {
    TC_TUNE_TUNED = 3, /* sizes that a range is tuned at, at most */
    TC_TUNE_GRID = 11  /* points of the grid, at most */
};

/* What a file says, by name. */
typedef struct tc_tune_weights_file tc_tune_weights_file;
/* In `a`. TC_BAD_INPUT names file and line. */
TC_NODISCARD tc_status tc_tune_weights_load(tc_arena *a, const char *file, tc_tune_weights_file **out, tc_error *err);
/* Whether each symbol that it names is one of these workloads'. */
TC_NODISCARD tc_status tc_tune_weights_check(const tc_tune_weights_file *f, const tc_workload *const *w, int n, tc_error *err);

typedef struct tc_tune_weighted {
    const int64_t *sizes; /* of each symbol */
    double weight;        /* > 0 */
} tc_tune_weighted;

/* Of one workload. */
typedef struct tc_tune_weights {
    int n; /* at least 1 */
    const tc_tune_weighted *data;
} tc_tune_weights;

/* What the file says of w, by the names that its symbols have; other names in it are of other workloads. TC_BAD_INPUT for a line that
 * leaves one of them open, or has a size out of its range. In `a`. */
TC_NODISCARD tc_status tc_tune_weights_of(tc_arena *a, const tc_tune_weights_file *f, const tc_workload *w, tc_tune_weights *out,
                                          tc_error *err);

/* Places in the range of w's symbols, in `a`. `weights` may be NULL. */
typedef struct tc_tune_places {
    int n; /* at least 1, all different */
    const int64_t *const *sizes;
} tc_tune_places;

/* At most TC_TUNE_TUNED: in the middle of parts that count as much as each other. */
tc_tune_places tc_tune_tuned_sizes(tc_arena *a, const tc_workload *w, const tc_tune_weights *weights);
/* At most TC_TUNE_GRID, by their product: the least sizes but 0, the largest, and what lies between, of several symbols a sample. */
tc_tune_places tc_tune_grid(tc_arena *a, const tc_workload *w, const tc_tune_weights *weights);
/* How much each of n places, by their product, counts: > 0. In `a`. */
const double *tc_tune_place_weights(tc_arena *a, const tc_workload *w, const tc_tune_weights *weights, int n,
                                    const int64_t *const *sizes);

/* "layer N=17", in `a`: w, which is called `name`, at these sizes. */
const char *tc_tune_name_at(tc_arena *a, const char *name, const tc_workload *w, const int64_t *sizes);

/* Where a run stands in the range: the product of its n sizes, INT64_MAX where it would be more. A size of 0 counts as 1: where it is that of a
 * part of something, the other parts are there all the same. */
int64_t tc_tune_product(const int64_t *sizes, int n);

#endif
