/* xoshiro256** 1.0 (Blackman & Vigna, "Scrambled linear pseudorandom number generators", 2018), seeded through splitmix64. */
#include "support/rng.h"

#include <assert.h>
#include <math.h>

#include "support/hash.h"

static uint64_t splitmix(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

tc_rng tc_rng_seed(uint64_t seed) {
    tc_rng r;
    for (int i = 0; i < 4; i++)
        r.s[i] = splitmix(&seed);
    return r;
}

tc_rng tc_rng_fork(const tc_rng *parent, uint64_t index) {
    uint64_t h = 0;
    for (int i = 0; i < 4; i++)
        h = tc_hash_mix(h, parent->s[i]);
    return tc_rng_seed(tc_hash_mix(h, index));
}

static uint64_t rotl(uint64_t x, int k) {
    return (x << k) | (x >> (64 - k));
}

uint64_t tc_rng_next(tc_rng *r) {
    uint64_t *s = r->s;
    uint64_t result = rotl(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return result;
}

/* Lemire's multiplication method ("Fast random integer generation in an interval", 2019); rejects to stay unbiased. */
int64_t tc_rng_below(tc_rng *r, int64_t n) {
    assert(n > 0);
    uint64_t range = (uint64_t)n;
    uint64_t threshold = -range % range;
    for (;;) {
        unsigned __int128 p = (unsigned __int128)tc_rng_next(r) * range;
        if ((uint64_t)p >= threshold)
            return (int64_t)(p >> 64);
    }
}

double tc_rng_unit(tc_rng *r) {
    return (double)(tc_rng_next(r) >> 11) * 0x1p-53;
}

/* Marsaglia's polar method; the pair's second number is dropped so that the generator needs no more state. */
double tc_rng_normal(tc_rng *r) {
    for (;;) {
        double x = 2 * tc_rng_unit(r) - 1, y = 2 * tc_rng_unit(r) - 1;
        double s = x * x + y * y;
        if (s > 0 && s < 1)
            return x * sqrt(-2 * log(s) / s);
    }
}

size_t tc_rng_weighted(tc_rng *r, const double *weights, size_t n) {
    assert(n > 0);
    double total = 0;
    for (size_t i = 0; i < n; i++) {
        assert(weights[i] >= 0 && isfinite(weights[i]));
        total += weights[i];
    }
    if (!(total > 0) || !isfinite(total))
        return (size_t)tc_rng_below(r, (int64_t)n);
    double x = tc_rng_unit(r) * total;
    size_t last = 0; /* rounding may run past the end: then the last possible one */
    for (size_t i = 0; i < n; i++) {
        if (weights[i] == 0)
            continue;
        last = i;
        x -= weights[i];
        if (x < 0)
            return i;
    }
    return last;
}
