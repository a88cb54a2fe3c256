/* Seeded contents for inputs, of a scale at which neither overflow nor cancellation hides errors. */
#include "te/te_int.h"

void tc_te_random_fill(tc_dtype t, void *data, int64_t n, tc_rng *r, int64_t index_limit) {
    enum { SMALL = 8 }; /* integers in [-8, 8), or [0, 8) if unsigned: sums of products stay small */
    if (tc_dtype_is_float(t)) {
        for (int64_t i = 0; i < n; i++) {
            double v = tc_round_f(t, 2 * tc_rng_unit(r) - 1);
            tc_store_f(t, data, i, v < 1 ? v : -1); /* rounding may reach 1, which is not in [-1, 1) */
        }
        return;
    }
    int64_t low = index_limit > 0 || !tc_dtype_is_signed(t) ? 0 : -SMALL;
    int64_t high = t == TC_BOOL ? 2 : index_limit > 0 ? index_limit : SMALL;
    if (high - 1 > tc_int_max(t))
        high = tc_int_max(t);
    for (int64_t i = 0; i < n; i++)
        tc_store_i(t, data, i, low + tc_rng_below(r, high - low));
}
