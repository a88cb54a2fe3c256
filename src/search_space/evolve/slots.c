/* Slots: the places of a generation. Legal candidates fill them, as far as candidates are found.
 *
 * Each thread replays and builds in a context of its own, which is reset after each candidate; only the trace and the program's
 * hash remain. Each slot draws from a random generator of its own. So a seed gives the same generation with any number of threads.
 * MAX_FAILURES bounds every loop. */
#include "search_space/evolve/search_int.h"
#include "tir_lower/program/program.h"

#include <omp.h>
#include <string.h>

/* Traces that a slot tries before it stays empty. Chosen; not measured apart. */
enum { MAX_FAILURES = 16 };

/* ---- one candidate ---- */

static bool decided(const tc_trace *t) {
    for (int i = 0; i < t->n; i++)
        if (tc_prim_sampled(t->steps[i].prim) && t->steps[i].ndec == 0)
            return false;
    return true;
}

/* Replays t; what was open is drawn, and then decided in t too. */
static bool replay(const search *x, tc_trace *t, tc_rng *rng, tc_tir_program *p) {
    tc_ctx *ctx = x->ctx[omp_get_thread_num()];
    tc_ctx_reset(ctx);
    if (tc_tir_program_make(ctx, &(tc_tir_origin){.workload = x->s->w, .trace = t, .rng = rng}, 0, p, NULL) != TC_OK)
        return false;
    for (int i = 0; i < t->n; i++)
        if (tc_prim_sampled(t->steps[i].prim) && t->steps[i].ndec == 0) {
            const tc_instr *drawn = &p->sched->trace->steps[i];
            t->steps[i].ndec = drawn->ndec;
            memcpy(t->steps[i].dec, drawn->dec, sizeof t->steps[i].dec);
            if (drawn->dec_loc)
                t->steps[i].dec_loc = tc_arena_strdup(t->arena, drawn->dec_loc);
        }
    return true;
}

/* Builds what was replayed and hands it to the scorer. Returns its hash; 0: it
 * is not a legal schedule. */
static uint64_t build(const search *x, tc_tir_program *p, int at) {
    tc_ctx *ctx = x->ctx[omp_get_thread_num()];
    if (tc_tir_program_more(ctx, &(tc_tir_origin){.machine = &x->s->m}, TC_TIR_HASH, p, NULL) != TC_OK)
        return 0;
    const tc_scorer *sc = x->q->scorer;
    if (sc && sc->add && !(sc->recall && sc->recall(sc->user, at, p->hash))) /* other traces make it too */
        sc->add(sc->user, at, p->hash, p->nest);
    return p->hash;
}

/* ---- a generation ---- */

static slot *slots_new(search *x, const maker *m, int n) {
    slot *s = TC_NEW_N(x->arena, slot, n);
    for (int i = 0; i < n; i++)
        s[i] = (slot){.state = SLOT_PENDING, .rng = tc_rng_fork(&m->rng, (uint64_t)i)};
    return s;
}

/* Whether the trace of s could be legal. Then s is FILLED, where this search
 * knows the trace; WAITING, for realising it, or BUILT: recalled, or replayed
 * anyway because decisions had to be drawn. */
static bool admit(const search *x, slot *s, int at) {
    tc_tir_program p = {0};
    if (!decided(s->trace) && !replay(x, s->trace, &s->rng, &p))
        return false;
    if (!tc_space_fits(x->s, s->trace))
        return false;
    s->key = tc_trace_hash(s->trace);
    int64_t known = tc_space_known(x, s->key);
    if (known >= 0) {
        s->state = SLOT_FILLED;
        s->seen = (size_t)known;
        return x->seen.data[known].hash != 0;
    }
    s->hash = 0;
    bool have = tc_space_recall(x, s->key, at, &s->hash);
    s->state = p.sched || have ? SLOT_BUILT : SLOT_WAITING;
    if (p.sched && !have)
        s->hash = build(x, &p, at);
    return s->state == SLOT_WAITING || s->hash;
}

/* Tries until a trace is admitted. */
static void make_one(search *x, const maker *m, slot *s, int at) {
    tc_arena *a = x->scratch[omp_get_thread_num()];
    while (s->attempts < MAX_FAILURES && !stopped(x)) {
        s->attempts++;
        s->trace = tc_space_vary(x, m, s, at, &s->rng, a);
        if (s->trace && admit(x, s, at))
            return;
    }
    s->state = SLOT_EMPTY;
}

static void realise(const search *x, slot *s, int at) {
    tc_tir_program p;
    bool ok = !stopped(x) && replay(x, s->trace, NULL, &p);
    s->hash = ok ? build(x, &p, at) : 0;
}

/* Realises, in parallel, what the n slots made and nobody knows yet; `first`
 * has room for n. */
static void realise_all(search *x, slot *s, int n, int *first) {
    int todo = tc_space_enter(x, s, n, first);
#pragma omp parallel for schedule(dynamic, 4) num_threads(x->q->options.threads)
    for (int i = 0; i < todo; i++)
        realise(x, &s[first[i]], first[i]);
    for (int i = 0; i < todo; i++)
        x->seen.data[tc_space_known(x, s[first[i]].key)].hash = s[first[i]].hash;
    tc_space_settle(x, s, n);
}

/* Fills the slots in parallel, as far as legal traces are found. */
static slot *fill(search *x, const maker *m, int n) {
    slot *s = slots_new(x, m, n);
    int *first = TC_NEW_N(x->arena, int, n), pending = n;
    while (pending > 0) {
#pragma omp parallel for schedule(dynamic, 8) num_threads(x->q->options.threads)
        for (int i = 0; i < n; i++)
            if (s[i].state == SLOT_PENDING)
                make_one(x, m, &s[i], i);
        tc_meanwhile_do(&x->q->options.meanwhile);
        realise_all(x, s, n, first);
        tc_meanwhile_do(&x->q->options.meanwhile);
        pending = 0;
        for (int i = 0; i < n; i++)
            pending += s[i].state == SLOT_PENDING;
    }
    return s;
}

/* Only a location that was drawn lives no longer than the generation. */
static tc_trace *keep(search *x, const tc_trace *t) {
    tc_trace *to = tc_trace_fork(x->arena, t);
    for (int i = 0; i < to->n; i++)
        if (to->steps[i].dec_loc)
            to->steps[i].dec_loc = tc_arena_strdup(x->arena, to->steps[i].dec_loc);
    return to;
}

/* The candidates of the filled slots. Without a scorer, scores are drawn. */
static population gather(search *x, const slot *s, int n, bool scored, tc_rng *rng) {
    population p = {.c = TC_NEW_N(x->arena, tc_candidate, n)};
    for (int i = 0; i < n; i++) {
        double drawn = tc_rng_unit(rng);
        if (s[i].state != SLOT_FILLED)
            continue;
        const realised *k = &x->seen.data[s[i].seen];
        p.c[p.n++] = (tc_candidate){.trace = keep(x, s[i].trace), .hash = k->hash, .score = scored ? k->score : drawn};
    }
    return p;
}

population tc_space_generation(search *x, const maker *m, int want) {
    const tc_scorer *sc = x->q->scorer;
    double *score = sc && sc->score ? TC_NEW_N(x->arena, double, want) : NULL;
    size_t before = x->seen.len;
    if (sc && sc->begin)
        sc->begin(sc->user, want);
    const slot *s = fill(x, m, want);
    tc_rng r = tc_rng_fork(&m->rng, UINT64_MAX);
    if (score)
        sc->score(sc->user, want, score);
    tc_space_learn(x, before, score);
    population p = gather(x, s, want, score != NULL, &r);
    for (int t = 0; t < x->q->options.threads; t++)
        tc_arena_reset(x->scratch[t]);
    return p;
}
