/* What sizes.h describes. */
#include "tune/kernel/sizes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/vec.h"

/* What sizes count that no line of a file comes near, of the mean of all: a run may still have them. Chosen. */
static const double unnamed = 0.01;

int64_t tc_tune_product(const int64_t *sizes, int n) {
    int64_t p = 1;
    for (int i = 0; i < n; i++)
        if (__builtin_mul_overflow(p, TC_MAX(sizes[i], 1), &p))
            return INT64_MAX;
    return p;
}

const char *tc_tune_name_at(tc_arena *a, const char *name, const tc_workload *w, const int64_t *sizes) {
    for (int i = 0; i < w->nsymbol; i++)
        name = tc_arena_printf(a, "%s %s=%lld", name, w->symbols[i]->name, (long long)sizes[i]);
    return name;
}

/* ---- places ---- */

/* Where a share of the way from the least size to the most leads, by the logarithm. */
static int64_t on_the_way(const tc_var *v, double share) {
    double least = (double)TC_MAX(v->least, 1), most = (double)TC_MAX(v->most, 1);
    int64_t x = (int64_t)llround(least * pow(most / least, share));
    return TC_MIN(TC_MAX(x, v->least), v->most);
}

static int by_product(const tc_workload *w, const int64_t *x, const int64_t *y) {
    int64_t p = tc_tune_product(x, w->nsymbol), q = tc_tune_product(y, w->nsymbol);
    for (int i = 0; i < w->nsymbol && p == q; i++)
        p = x[i], q = y[i];
    return (p > q) - (p < q);
}

/* Keeps them in order, and each once. */
static void put(const tc_workload *w, const int64_t **places, int *n, const int64_t *sizes) {
    int at = *n;
    while (at > 0 && by_product(w, places[at - 1], sizes) > 0)
        at--;
    if (at > 0 && by_product(w, places[at - 1], sizes) == 0)
        return;
    memmove(places + at + 1, places + at, sizeof *places * (size_t)(*n - at));
    places[at] = sizes;
    ++*n;
}

/* The digits of i to the base b, mirrored at the point: numbers of [0, 1) that lie ever closer, and evenly (van der Corput
 * 1935). */
static double mirrored(int i, int b) {
    double x = 0, digit = 1;
    for (; i > 0; i /= b)
        x += (digit /= b) * (i % b);
    return x;
}

/* The first symbol goes straight from its least to its most; the others take all sizes along that way. */
static const int64_t *sampled(tc_arena *a, const tc_workload *w, int i, int n) {
    static const int bases[] = {2, 3, 5, 7, 11, 13};
    bool end = i == 0 || i == n - 1;
    int64_t *sizes = TC_NEW_N(a, int64_t, w->nsymbol);
    for (int k = 0; k < w->nsymbol; k++) {
        double straight = (double)i / (n - 1);
        sizes[k] = on_the_way(w->symbols[k], k == 0 || end ? straight : mirrored(i, bases[(size_t)(k - 1) % TC_LEN(bases)]));
    }
    return sizes;
}

/* The lines of the file, by product. */
static const tc_tune_weighted **in_order(tc_arena *a, const tc_workload *w, const tc_tune_weights *x, double *sum) {
    const tc_tune_weighted **v = TC_NEW_N(a, const tc_tune_weighted *, x->n);
    *sum = 0;
    for (int i = 0; i < x->n; i++) {
        int at = i;
        for (; at > 0 && by_product(w, v[at - 1]->sizes, x->data[i].sizes) > 0; at--)
            v[at] = v[at - 1];
        v[at] = &x->data[i];
        *sum += x->data[i].weight;
    }
    return v;
}

/* In the middle of n parts of the weights. */
static void middles(tc_arena *a, const tc_workload *w, const tc_tune_weights *x, int n, const int64_t **places, int *count) {
    double sum, below = 0;
    const tc_tune_weighted **v = in_order(a, w, x, &sum);
    for (int i = 0, part = 0; i < x->n; i++) {
        below += v[i]->weight;
        for (; part < n && (part + 0.5) / n * sum <= below; part++)
            put(w, places, count, v[i]->sizes);
    }
}

tc_tune_places tc_tune_tuned_sizes(tc_arena *a, const tc_workload *w, const tc_tune_weights *weights) {
    const int64_t **places = TC_NEW_N(a, const int64_t *, TC_TUNE_TUNED + 1);
    int n = 0;
    if (weights)
        middles(a, w, weights, TC_TUNE_TUNED, places, &n);
    for (int i = 0; !weights && i < TC_TUNE_TUNED; i++) {
        int64_t *sizes = TC_NEW_N(a, int64_t, w->nsymbol);
        for (int k = 0; k < w->nsymbol; k++)
            sizes[k] = on_the_way(w->symbols[k], (i + 0.5) / TC_TUNE_TUNED);
        put(w, places, &n, sizes);
    }
    return (tc_tune_places){n, places};
}

tc_tune_places tc_tune_grid(tc_arena *a, const tc_workload *w, const tc_tune_weights *weights) {
    const int64_t **places = TC_NEW_N(a, const int64_t *, TC_TUNE_GRID + 1);
    int n = 0;
    for (int i = 0; i < TC_TUNE_GRID; i++)
        if (!weights || i == 0 || i == TC_TUNE_GRID - 1)
            put(w, places, &n, sampled(a, w, i, TC_TUNE_GRID));
    if (weights)
        middles(a, w, weights, TC_TUNE_GRID - 2, places, &n);
    return (tc_tune_places){n, places};
}

/* ---- weights of places ---- */

static double log_of(const tc_workload *w, const int64_t *sizes) {
    return log((double)tc_tune_product(sizes, w->nsymbol));
}

static int nearest(const tc_workload *w, int n, const int64_t *const *sizes, const int64_t *to) {
    int best = 0;
    for (int i = 1; i < n; i++)
        if (fabs(log_of(w, sizes[i]) - log_of(w, to)) < fabs(log_of(w, sizes[best]) - log_of(w, to)))
            best = i;
    return best;
}

/* Each counts as far as it is to the middles between it and its neighbours; the ends as if they had one on the other side too: a
 * single row, and as much as there may be, are what runs often have. */
static void weigh_by_logarithm(const tc_workload *w, int n, const int64_t *const *sizes, double *out) {
    for (int i = 0; i < n; i++) {
        double below = i > 0 ? log_of(w, sizes[i]) - log_of(w, sizes[i - 1]) : 0;
        double above = i + 1 < n ? log_of(w, sizes[i + 1]) - log_of(w, sizes[i]) : 0;
        out[i] = ((i > 0 ? below : above) + (i + 1 < n ? above : below)) / 2;
    }
}

const double *tc_tune_place_weights(tc_arena *a, const tc_workload *w, const tc_tune_weights *weights, int n,
                                    const int64_t *const *sizes) {
    double *out = TC_NEW_N(a, double, n), sum = 0;
    if (!weights)
        weigh_by_logarithm(w, n, sizes, out);
    for (int i = 0; weights && i < weights->n; i++)
        out[nearest(w, n, sizes, weights->data[i].sizes)] += weights->data[i].weight;
    for (int i = 0; i < n; i++)
        sum += out[i];
    for (int i = 0; i < n; i++)
        out[i] = sum > 0 ? TC_MAX(out[i] / sum, unnamed / n) : 1.0 / n;
    return out;
}
