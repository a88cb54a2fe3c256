/* Is a kernel's output right? Chosen points are compared with the reference interpreter. The whole output is compared with the
 * first output that passed, and where the two differ the interpreter decides which is wrong. So every element of every
 * candidate is checked, at the cost of a few hundred interpreted points per workload. */
#ifndef TC_MEASURE_WORKER_CHECK_H
#define TC_MEASURE_WORKER_CHECK_H

#include "te/te.h"

typedef struct tc_meas_check tc_meas_check;

/* Evaluates the reference points of w for the given inputs, which must stay as they are while the check lives. TC_ENV when even a
 * few points cost more than can be afforded. */
TC_NODISCARD tc_status tc_meas_check_new(const tc_workload *w, const void *const *in, uint64_t seed, tc_meas_check **out,
                                         tc_error *err);
void tc_meas_check_free(tc_meas_check *c);
/* Share of the reference points that are finite numbers: a check on NaN and infinity alone says little. */
double tc_meas_check_finite(const tc_meas_check *c);
/* Fills an output with a pattern that tells unwritten elements. pass 0 and 1 differ in every byte. */
void tc_meas_check_poison(void *data, size_t bytes, int pass);
/* Elements of output o that still hold the pattern of `pass`. */
int64_t tc_meas_check_poisoned(const tc_meas_check *c, int o, const void *data, int pass);
/* Elements that held the pattern of pass 0 after one call, and that of pass 1 after another: an element that is written is the same
 * after both. */
int64_t tc_meas_check_unwritten(const tc_meas_check *c, int o, const void *first, const void *second);
/* TC_OK: right. TC_ILLEGAL: wrong, err says where and by how much. *max_error: the largest deviation in units of the tolerance
 * (at most DBL_MAX). */
TC_NODISCARD tc_status tc_meas_check_compare(tc_meas_check *c, void *const *out, double *max_error, tc_error *err);

/* Relative tolerance for float results of w: grows with the longest reduction and the narrowest float type that is computed in. */
double tc_meas_tolerance(const tc_workload *w);

#endif
