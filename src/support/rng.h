/* Small deterministic random numbers (xoshiro256**, Blackman & Vigna 2018), seeded through splitmix64. */
#ifndef TC_SUPPORT_RNG_H
#define TC_SUPPORT_RNG_H

#include <stddef.h>
#include <stdint.h>

typedef struct tc_rng {
    uint64_t s[4];
} tc_rng;

tc_rng tc_rng_seed(uint64_t seed);
/* An independent stream: the same (parent state, index) gives the same child; the parent is not changed. */
tc_rng tc_rng_fork(const tc_rng *parent, uint64_t index);
uint64_t tc_rng_next(tc_rng *r);
int64_t tc_rng_below(tc_rng *r, int64_t n); /* uniform in [0, n), n > 0, unbiased */
double tc_rng_unit(tc_rng *r);              /* uniform in [0, 1) */
double tc_rng_normal(tc_rng *r);            /* standard normal */
/* Index drawn with probability proportional to weights[i] >= 0 (uniform if all are 0). n > 0. */
size_t tc_rng_weighted(tc_rng *r, const double *weights, size_t n);

#endif
