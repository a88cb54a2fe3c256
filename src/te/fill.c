/* Seeded contents for inputs. Their scale is chosen so that neither overflow nor cancellation hides errors. */
#include <math.h>

#include "te/te_int.h"

tc_te_range tc_te_random_range(tc_dtype t, int64_t index_limit) {
    enum { SMALL = 8 }; /* integers in [-8, 8), or [0, 8) if unsigned: sums of products stay small */
    if (tc_dtype_is_float(t))
        return (tc_te_range){0};
    int64_t low = index_limit > 0 || !tc_dtype_is_signed(t) ? 0 : -SMALL;
    int64_t high = t == TC_BOOL ? 2 : index_limit > 0 ? index_limit : SMALL;
    return (tc_te_range){low, high - 1 > tc_int_max(t) ? tc_int_max(t) : high};
}

/* Of a range that may be wider than the largest i64. */
static int64_t random_within(tc_rng *r, tc_te_range x) {
    uint64_t width = (uint64_t)x.high - (uint64_t)x.low, v;
    if (width <= INT64_MAX)
        return x.low + tc_rng_below(r, (int64_t)width);
    do
        v = tc_rng_next(r);
    while (v >= width);
    return (int64_t)((uint64_t)x.low + v);
}

void tc_te_random_within(tc_dtype t, void *data, int64_t n, tc_rng *r, tc_te_range x) {
    for (int64_t i = 0; i < n; i++)
        if (!tc_dtype_is_float(t)) {
            tc_store_i(t, data, i, random_within(r, x));
        } else if (x.low < x.high) {
            tc_store_f(t, data, i, (double)random_within(r, x));
        } else {
            double v = tc_round_f(t, 2 * tc_rng_unit(r) - 1);
            tc_store_f(t, data, i, v < 1 ? v : -1); /* rounding may reach 1, which is not in [-1, 1) */
        }
}

void tc_te_random_fill(tc_dtype t, void *data, int64_t n, tc_rng *r, int64_t index_limit) {
    tc_te_random_within(t, data, n, r, tc_te_random_range(t, index_limit));
}

/* ---- denormal numbers ---- */

/* The smallest number with a leading one; 0: no denormal number of this type costs more than another. */
static double least_normal(tc_dtype t) {
    int exponent = t == TC_F64 ? -1022 : t == TC_F32 || t == TC_BF16 ? -126 : t == TC_F16 ? -14 : 0;
    return exponent ? ldexp(1, exponent) : 0;
}

double tc_te_denormal_share(tc_dtype t, const void *data, int64_t n) {
    double least = least_normal(t);
    int64_t count = 0;
    for (int64_t i = 0; i < n && least > 0; i++) {
        double v = fabs(tc_load_f(t, data, i));
        count += v > 0 && v < least;
    }
    return n > 0 ? (double)count / (double)n : 0;
}

void tc_te_make_denormal(tc_dtype t, void *data, int64_t n, tc_rng *r, double share) {
    double least = least_normal(t);
    for (int64_t i = 0; i < n && least > 0 && share > 0; i++)
        if (tc_rng_unit(r) < share) {
            double part = 0.125 + 0.75 * tc_rng_unit(r); /* rounds neither to 0 nor to the least */
            tc_store_f(t, data, i, tc_rng_below(r, 2) ? part * least : -part * least);
        }
}
