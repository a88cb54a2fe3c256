/* Evolutionary search. The cost model scores a population of traces. Mutation changes one decision of a trace; crossover mixes two
 * instances of one sketch. The result is the best distinct programs. The options bound every loop. */
#include "search_space/evolve/search_int.h"

#include <string.h>

/* One of so many of a population outlives its generation. Chosen; not measured
 * apart. */
enum { ELITE_SHARE = 8 };

/* Sizes and shares. Chosen; not measured apart. */
tc_space_options tc_space_options_default(void) {
    return (tc_space_options){.population = 512,
                              .generations = 4,
                              .mutate = 0.70,
                              .crossover = 0.15,
                              .epsilon = 0.05,
                              .constructed = 64,
                              .seeded = 0.3,
                              .threads = 1,
                              .stop = NULL};
}

/* The best of the parents stand beside their children. */
static population with_elite(search *x, const population *parents, const population *children) {
    int keep = TC_MIN(parents->n, x->q->options.population / ELITE_SHARE);
    population all = {.n = children->n + keep, .c = TC_NEW_N(x->arena, tc_candidate, children->n + keep)};
    memcpy(all.c, parents->c, sizeof *all.c * (size_t)keep);
    memcpy(all.c + keep, children->c, sizeof *all.c * (size_t)children->n);
    return all;
}

static void evolve(search *x, const maker *m, pool *b) {
    const tc_space_options *o = &x->q->options;
    population p = tc_space_generation(x, m, o->population);
    for (int g = 0;; g++) {
        tc_space_rank(x, &p);
        tc_space_collect(x, b, &p);
        if (g == o->generations || p.n == 0 || stopped(x))
            return;
        maker next = {.parents = &p, .weight = tc_space_weights(x, &p), .rng = tc_rng_fork(&m->rng, 1000003u + (uint64_t)g)};
        population children = tc_space_generation(x, &next, o->population);
        p = with_elite(x, &p, &children);
    }
}

/* The first generation: seeds and constructed schedules. */
static maker beginning(search *x) {
    const tc_space_query *q = x->q;
    const tc_space_options *o = &q->options;
    int nseeded = TC_MIN(q->nseeds, (int)(o->seeded * o->population));
    tc_trace **built = TC_NEW_N(x->arena, tc_trace *, o->constructed + 1);
    int nbuilt =
        o->constructed > 0 ? tc_space_construct(x->s, x->arena, built, TC_MIN(o->constructed, o->population / 4 + 1)) : 0;
    const tc_trace **given = TC_NEW_N(x->arena, const tc_trace *, nseeded + nbuilt);
    for (int i = 0; i < nseeded; i++)
        given[i] = tc_space_as_instance(x, q->seeds[i]);
    for (int i = 0; i < nbuilt; i++)
        given[nseeded + i] = tc_space_as_instance(x, built[i]);
    maker m = {.given = given, .ngiven = nseeded + nbuilt, .rng = tc_rng_fork(q->rng, tc_rng_next(q->rng))};
    m.seeded = m.ngiven + (int)(o->seeded * o->population);
    return m;
}

static search open_search(const tc_space *s, const tc_space_query *q) {
    search x = {.s = s, .q = q, .arena = tc_arena_new()};
    size_t threads = (size_t)q->options.threads;
    x.ctx = tc_xcalloc(threads, sizeof *x.ctx);
    x.scratch = tc_xcalloc(threads, sizeof *x.scratch);
    x.extents = tc_xcalloc(threads, sizeof *x.extents);
    for (size_t t = 0; t < threads; t++) {
        x.ctx[t] = tc_ctx_child(s->w->ctx);
        x.scratch[t] = tc_arena_new();
    }
    return x;
}

static void close_search(search *x) {
    for (int t = 0; t < x->q->options.threads; t++) {
        tc_ctx_free(x->ctx[t]);
        tc_arena_free(x->scratch[t]);
        tc_map_free(&x->extents[t]);
    }
    free(x->ctx);
    free(x->scratch);
    free(x->extents);
    tc_map_free(&x->known);
    tc_vec_free(&x->seen);
    tc_arena_free(x->arena);
}

tc_status tc_space_search(const tc_space *s, const tc_space_query *q, tc_space_found *out, tc_error *err) {
    const tc_space_options *o = &q->options;
    if (q->want < 1 || o->population < 1 || o->threads < 1 || o->generations < 0)
        return tc_fail(err, TC_BAD_INPUT,
                       "search options: population, threads and the number wanted "
                       "must be positive");
    search x = open_search(s, q);
    pool b = {0};
    *out = (tc_space_found){0};
    maker m = beginning(&x);
    evolve(&x, &m, &b);
    tc_space_pick(&x, &b, out);
    tc_map_free(&b.at);
    tc_vec_free(&b.c);
    close_search(&x);
    return TC_OK;
}
