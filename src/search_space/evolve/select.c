/* Selection: which candidates have children, and which are the result. */
#include "search_space/evolve/search_int.h"

#include <math.h>

typedef struct ranked {
    tc_candidate c;
    int place; /* before the sort */
} ranked;

/* By score, then by program; different traces of one program stay in the order
 * in which they were found: a total order, whatever the sort. */
static int by_score(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    if (x->c.score != y->c.score)
        return x->c.score < y->c.score ? 1 : -1;
    if (x->c.hash != y->c.hash)
        return x->c.hash < y->c.hash ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

void tc_space_rank(search *x, population *p) {
    ranked *r = TC_NEW_N(x->arena, ranked, p->n);
    for (int i = 0; i < p->n; i++)
        r[i] = (ranked){p->c[i], i};
    if (p->n)
        qsort(r, (size_t)p->n, sizeof *r, by_score);
    for (int i = 0; i < p->n; i++)
        p->c[i] = r[i].c;
}

/* By rank, not by score, so that an outlier does not take the population over.
 * The best is 55 times as likely as the last (exp 4): chosen; not measured
 * apart. */
double *tc_space_weights(search *x, const population *p) {
    double *w = TC_NEW_N(x->arena, double, p->n);
    for (int i = 0; i < p->n; i++)
        w[i] = exp(-4.0 * i / p->n);
    return w;
}

static bool was_seen(const uint64_t *seen, size_t n, uint64_t h) {
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (seen[mid] < h)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < n && seen[lo] == h;
}

void tc_space_collect(const search *x, pool *b, const population *p) {
    for (int i = 0; i < p->n; i++)
        if (!was_seen(x->q->seen, x->q->nseen, p->c[i].hash) && tc_map_put(&b->at, p->c[i].hash, 1))
            tc_push(&b->c, p->c[i]);
}

/* Best first, but each with probability epsilon replaced by one drawn at
 * random. */
void tc_space_pick(search *x, pool *b, tc_space_found *out) {
    population all = {.n = (int)b->c.len, .c = b->c.data};
    tc_rng *rng = x->q->rng;
    tc_space_rank(x, &all);
    out->data = TC_NEW_N(x->q->arena, tc_candidate, x->q->want);
    for (int i = 0; i < all.n && out->n < x->q->want; i++) {
        if (i + 1 < all.n && tc_rng_unit(rng) < x->q->options.epsilon) {
            int j = i + (int)tc_rng_below(rng, all.n - i);
            tc_candidate t = all.c[i];
            all.c[i] = all.c[j];
            all.c[j] = t;
        }
        out->data[out->n] = all.c[i];
        out->data[out->n++].trace = tc_trace_copy(x->q->arena, all.c[i].trace);
    }
}
