/* Variation: traces for the slots of a generation. Mutation changes one decision, crossover mixes two instances of one sketch,
 * or all decisions are drawn anew. */
#include "schedule_primitives/sample.h"
#include "search_space/evolve/search_int.h"
#include "support/hash.h"
#include "tir_lower/program/program.h"

#include <omp.h>
#include <string.h>

/* Decisions that a mutation tries to change before it gives up, those among which it draws them, and how often it takes a
 * neighbour of a choice, not any other. Chosen; not measured apart. */
enum { MUTATIONS = 8, MAX_SAMPLED = 64 };
static const double TO_NEIGHBOUR = 0.6;

static void clear_decisions(tc_trace *t) {
    for (int i = 0; i < t->n; i++)
        if (tc_prim_sampled(t->steps[i].prim))
            t->steps[i].ndec = 0;
}

static void take_decision(tc_instr *to, const tc_instr *from) {
    to->ndec = from->ndec;
    memcpy(to->dec, from->dec, sizeof to->dec);
    to->dec_loc = from->dec_loc;
}

const tc_trace *tc_space_as_instance(search *x, const tc_trace *t) {
    int k = tc_space_sketch_of(x->s, t);
    if (k < 0)
        return t;
    tc_trace *to = tc_trace_fork(x->arena, x->s->sk[k].trace);
    for (int i = 0; i < t->n; i++)
        take_decision(&to->steps[i], &t->steps[i]);
    return to;
}

/* A random sketch, of which all decisions are open. */
static tc_trace *draw(const search *x, tc_rng *rng, tc_arena *a) {
    tc_trace *t = tc_trace_fork(a, x->s->sk[tc_rng_below(rng, x->s->nsketch)].trace);
    clear_decisions(t);
    return t;
}

/* ---- mutation ---- */

static int sampled_steps(const tc_trace *t, int *steps, int cap) {
    int n = 0;
    for (int i = 0; i < t->n && n < cap; i++)
        if (tc_prim_sampled(t->steps[i].prim))
            steps[n++] = i;
    return n;
}

static bool mutate_choice(tc_instr *step, tc_rng *rng) {
    if (step->nints < 2)
        return false;
    int64_t was = step->dec[0];
    int at = 0;
    while (at < step->nints && step->ints[at].value != was)
        at++;
    /* a neighbour mostly, anything sometimes: the candidates are ordered */
    int to = tc_rng_unit(rng) < TO_NEIGHBOUR ? at + (tc_rng_below(rng, 2) ? 1 : -1) : (int)tc_rng_below(rng, step->nints);
    if (to < 0 || to >= step->nints || to == at)
        to = (at + 1) % step->nints;
    step->dec[0] = step->ints[to].value;
    return true;
}

/* Extent of the loop that the tile of step `at` divides in the present
 * schedule, found by replaying up to the step; 0: it does not replay. What
 * comes before a tile is often the same. */
static int64_t tiled_extent(search *x, const tc_trace *t, int at) {
    int th = omp_get_thread_num();
    const char *name = t->steps[at].names[0];
    const tc_trace head = {.arena = t->arena, .n = at, .steps = t->steps};
    uint64_t key = tc_trace_hash_decisions(tc_hash_mix(tc_trace_hash_steps(t), (uint64_t)at), &head);
    const uintptr_t *known = tc_map_get(&x->extents[th], key);
    if (known)
        return (int64_t)*known;
    tc_tir_origin from = {.workload = x->s->w, .trace = &head};
    tc_tir_program p;
    tc_ctx_reset(x->ctx[th]);
    bool ok = tc_tir_program_make(x->ctx[th], &from, 0, &p, NULL) == TC_OK;
    tc_loop l = ok ? tc_sch_find_loop(p.sched, name) : -1;
    int64_t extent = l < 0 ? 0 : p.sched->loops[l].extent;
    tc_map_put(&x->extents[th], key, (uintptr_t)extent);
    return extent;
}

/* Tiles move a factor between parts. */
static bool mutate_tile(search *x, tc_trace *t, int at, tc_rng *rng) {
    tc_instr *step = &t->steps[at];
    int64_t to[TC_MAX_PARTS], parts = step->ints[0].value, extent = tiled_extent(x, t, at);
    if (!extent || !tc_sch_mutate_tile(extent, (int)parts, step->ints[1].value, rng, step->dec, to))
        return false;
    memcpy(step->dec, to, sizeof to[0] * (size_t)(parts - 1));
    return true;
}

static bool mutate(search *x, tc_trace *t, tc_rng *rng) {
    int steps[MAX_SAMPLED], n = sampled_steps(t, steps, MAX_SAMPLED);
    for (int tries = 0; n > 0 && tries < MUTATIONS; tries++) {
        int at = steps[tc_rng_below(rng, n)];
        tc_instr *s = &t->steps[at];
        if (s->prim == TC_PRIM_SAMPLE_TILE && mutate_tile(x, t, at, rng))
            return true;
        if (s->prim == TC_PRIM_SAMPLE_CATEGORICAL && mutate_choice(s, rng))
            return true;
        if (s->prim == TC_PRIM_SAMPLE_LOCATION) {
            s->ndec = 0; /* drawn anew among the loops that are legal now */
            return true;
        }
    }
    return false;
}

/* ---- crossover ---- */

/* Takes each decision of `other` with probability one half; both are instances
 * of the same sketch. */
static bool cross(tc_trace *t, const tc_trace *other, tc_rng *rng) {
    if (t->n != other->n)
        return false;
    bool changed = false;
    for (int i = 0; i < t->n; i++) {
        if (t->steps[i].prim != other->steps[i].prim)
            return false;
        if (!tc_prim_sampled(t->steps[i].prim) || tc_rng_below(rng, 2))
            continue;
        take_decision(&t->steps[i], &other->steps[i]);
        changed = true;
    }
    return changed;
}

/* ---- generations ---- */

/* Seeds and constructed ones as they are, then mutations of seeds, then random
 * ones. */
static tc_trace *first_of(search *x, const maker *m, const slot *s, int at, tc_rng *rng, tc_arena *a) {
    if (at < m->ngiven && s->attempts == 1)
        return tc_trace_fork(a, m->given[at]);
    if (at < m->seeded && m->ngiven > 0) {
        int top = TC_MIN(m->ngiven, 1 + m->ngiven / 2);
        tc_trace *t = tc_trace_fork(a, m->given[tc_rng_below(rng, top)]);
        if (mutate(x, t, rng))
            return t;
    }
    return draw(x, rng, a);
}

/* Child of the ranked parents. */
static tc_trace *child_of(search *x, const maker *m, tc_rng *rng, tc_arena *a) {
    const population *p = m->parents;
    const tc_space_options *o = &x->q->options;
    size_t i = tc_rng_weighted(rng, m->weight, (size_t)p->n);
    tc_trace *t = tc_trace_fork(a, p->c[i].trace);
    double u = tc_rng_unit(rng);
    if (u < o->mutate) {
        if (!mutate(x, t, rng))
            return NULL;
    } else if (u < o->mutate + o->crossover) {
        size_t j = tc_rng_weighted(rng, m->weight, (size_t)p->n);
        int k = tc_space_sketch_of(x->s, t);
        if (j == i || k < 0 || k != tc_space_sketch_of(x->s, p->c[j].trace) || !cross(t, p->c[j].trace, rng))
            return NULL;
    } else {
        clear_decisions(t);
    }
    return t;
}

tc_trace *tc_space_vary(search *x, const maker *m, const slot *s, int at, tc_rng *rng, tc_arena *a) {
    return m->parents ? child_of(x, m, rng, a) : first_of(x, m, s, at, rng, a);
}
