/* Evolutionary search: a population of traces scored by the cost model, changed one decision at a time (mutation) or mixed
 * between two instances of one sketch (crossover), best distinct programs out. Every loop is bounded by the options and by
 * MAX_FAILURES.
 *
 * Each thread replays and builds in a context of its own, reset per candidate; what survives is the trace and the program's hash.
 * Mutation comes upon the same traces again and again, half of the time late in a search: each is realised and scored once. */
#include "schedule_primitives/sample.h"
#include "search_space/space_int.h"
#include "support/hash.h"
#include "support/map.h"

#include <math.h>
#include <omp.h>
#include <string.h>

enum { MAX_FAILURES = 16, ELITE_SHARE = 8 };

/* A trace that was realised in this search. */
typedef struct realised {
    uint64_t key;  /* hash of the trace */
    uint64_t hash; /* of its program; 0: not legal */
    int slot;      /* of its generation, where the scorer has it */
    double score;
} realised;

typedef struct search {
    const tc_space *s;
    const tc_space_options *o;
    const tc_scorer *scorer;
    tc_arena *arena;
    tc_ctx **ctx; /* one per thread, like the next two */
    tc_arena **scratch;
    tc_map *extents; /* hash of a tile's step and of what comes before -> extent of its loop */
    tc_map known;    /* hash of a trace -> index into seen; written between the parallel parts */
    TC_VEC(realised) seen;
} search;

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

static bool stopped(const tc_space_options *o) {
    return o->stop && *o->stop;
}

/* ---- one candidate ---- */

static void clear_decisions(tc_trace *t) {
    for (int i = 0; i < t->n; i++)
        if (tc_prim_sampled(t->steps[i].prim))
            t->steps[i].ndec = 0;
}

static bool decided(const tc_trace *t) {
    for (int i = 0; i < t->n; i++)
        if (tc_prim_sampled(t->steps[i].prim) && t->steps[i].ndec == 0)
            return false;
    return true;
}

/* Replays t; what was open is drawn, and then decided in t too. */
static bool replay(search *x, tc_trace *t, tc_rng *rng, tc_sched **sched) {
    tc_ctx *ctx = x->ctx[omp_get_thread_num()];
    tc_ctx_reset(ctx);
    if (tc_sch_replay(ctx, x->s->w, t, rng, sched, NULL) != TC_OK)
        return false;
    for (int i = 0; i < t->n; i++)
        if (tc_prim_sampled(t->steps[i].prim) && t->steps[i].ndec == 0) {
            const tc_instr *drawn = &(*sched)->trace->steps[i];
            t->steps[i].ndec = drawn->ndec;
            memcpy(t->steps[i].dec, drawn->dec, sizeof t->steps[i].dec);
            if (drawn->dec_loc)
                t->steps[i].dec_loc = tc_arena_strdup(t->arena, drawn->dec_loc);
        }
    return true;
}

/* Builds and hands the program to the scorer. Returns its hash; 0: it is not a legal schedule. */
static uint64_t build(search *x, tc_sched *sched, int slot) {
    tc_func *f;
    if (tc_tir_build(sched, &x->s->m, &f, NULL) != TC_OK)
        return 0;
    uint64_t hash = tc_tir_hash(f);
    const tc_scorer *sc = x->scorer;
    if (sc && sc->add && !(sc->recall && sc->recall(sc->user, slot, hash))) /* other traces make it too */
        sc->add(sc->user, slot, hash, f);
    return hash;
}

/* An earlier search lowered the trace of this hash, and the scorer takes its program for the slot. */
static bool recall(const search *x, uint64_t key, int slot, uint64_t *hash) {
    const uintptr_t *known = x->o->lowered ? tc_map_get(x->o->lowered, key) : NULL;
    if (!known)
        return false;
    *hash = *known;
    if (!*hash || !x->scorer || !x->scorer->add)
        return true;
    return x->scorer->recall && x->scorer->recall(x->scorer->user, slot, *hash);
}

/* t; an instance of a sketch becomes one that shares the sketch's strings, by which it is told at once what it is of. */
static const tc_trace *as_instance(search *x, const tc_trace *t) {
    int k = tc_space_sketch_of(x->s, t);
    if (k < 0)
        return t;
    tc_trace *to = tc_trace_fork(x->arena, x->s->sk[k].trace);
    for (int i = 0; i < t->n; i++) {
        to->steps[i].ndec = t->steps[i].ndec;
        memcpy(to->steps[i].dec, t->steps[i].dec, sizeof to->steps[i].dec);
        to->steps[i].dec_loc = t->steps[i].dec_loc;
    }
    return to;
}

/* A random instance of a random sketch. */
static tc_trace *draw(search *x, tc_rng *rng, tc_arena *a) {
    return tc_trace_fork(a, x->s->sk[tc_rng_below(rng, x->s->nsketch)].trace);
}

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
    int to = tc_rng_unit(rng) < 0.6 ? at + (tc_rng_below(rng, 2) ? 1 : -1) : (int)tc_rng_below(rng, step->nints);
    if (to < 0 || to >= step->nints || to == at)
        to = (at + 1) % step->nints;
    step->dec[0] = step->ints[to].value;
    return true;
}

/* Extent of the loop that the tile of step `at` divides in the present schedule, found by replaying up to the step; 0: it does
 * not replay. What comes before a tile is often the same. */
static int64_t tiled_extent(search *x, const tc_trace *t, int at) {
    int th = omp_get_thread_num();
    const char *name = t->steps[at].names[0];
    const tc_trace head = {.arena = t->arena, .n = at, .steps = t->steps};
    uint64_t key = tc_trace_hash_decisions(tc_hash_mix(tc_trace_hash_steps(t), (uint64_t)at), &head);
    const uintptr_t *known = tc_map_get(&x->extents[th], key);
    if (known)
        return (int64_t)*known;
    tc_sched *s;
    tc_ctx_reset(x->ctx[th]);
    bool ok = tc_sch_replay(x->ctx[th], x->s->w, &head, NULL, &s, NULL) == TC_OK;
    tc_loop l = ok ? tc_sch_find_loop(s, name) : -1;
    int64_t extent = l < 0 ? 0 : s->loops[l].extent;
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
    int steps[64], n = sampled_steps(t, steps, 64);
    for (int tries = 0; n > 0 && tries < 8; tries++) {
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

/* Takes each decision of `other` with probability one half; both are instances of the same sketch. */
static bool cross(tc_trace *t, const tc_trace *other, tc_rng *rng) {
    if (t->n != other->n)
        return false;
    bool changed = false;
    for (int i = 0; i < t->n; i++) {
        if (t->steps[i].prim != other->steps[i].prim)
            return false;
        if (!tc_prim_sampled(t->steps[i].prim) || tc_rng_below(rng, 2))
            continue;
        t->steps[i].ndec = other->steps[i].ndec;
        memcpy(t->steps[i].dec, other->steps[i].dec, sizeof t->steps[i].dec);
        t->steps[i].dec_loc = other->steps[i].dec_loc;
        changed = true;
    }
    return changed;
}

/* ---- generations ---- */

typedef struct population {
    int n;
    tc_candidate *c;
} population;

/* Makes slot's candidate for the first generation: seeds and constructed ones as they are, then mutations of seeds, then random
 * ones. */
static tc_trace *first_of(search *x, int slot, const tc_trace *const *given, int ngiven, int seeded, tc_rng *rng, tc_arena *a,
                          int attempt) {
    if (slot < ngiven && attempt == 0)
        return tc_trace_fork(a, given[slot]);
    if (slot < seeded && ngiven > 0) {
        int top = TC_MIN(ngiven, 1 + ngiven / 2);
        tc_trace *t = tc_trace_fork(a, given[tc_rng_below(rng, top)]);
        if (mutate(x, t, rng))
            return t;
    }
    tc_trace *t = draw(x, rng, a);
    clear_decisions(t);
    return t;
}

/* Child of the scored population `p`. */
static tc_trace *child_of(search *x, const population *p, const double *weight, tc_rng *rng, tc_arena *a) {
    size_t i = tc_rng_weighted(rng, weight, (size_t)p->n);
    tc_trace *t = tc_trace_fork(a, p->c[i].trace);
    double u = tc_rng_unit(rng);
    if (u < x->o->mutate) {
        if (!mutate(x, t, rng))
            return NULL;
    } else if (u < x->o->mutate + x->o->crossover) {
        size_t j = tc_rng_weighted(rng, weight, (size_t)p->n);
        int k = tc_space_sketch_of(x->s, t);
        if (j == i || k < 0 || k != tc_space_sketch_of(x->s, p->c[j].trace) || !cross(t, p->c[j].trace, rng))
            return NULL;
    } else {
        clear_decisions(t);
    }
    return t;
}

typedef struct maker {
    const tc_trace *const *given;
    int ngiven, seeded;
    const population *parents; /* NULL for the first generation */
    const double *weight;
    tc_rng rng;
} maker;

/* A place in a generation. */
typedef struct slot {
    enum { SLOT_PENDING, SLOT_WAITING, SLOT_BUILT, SLOT_FILLED, SLOT_EMPTY } state;
    int attempts;
    tc_rng rng;
    tc_trace *trace;
    uint64_t key;  /* hash of the trace */
    uint64_t hash; /* BUILT: of the program */
    size_t seen;   /* FILLED: index of what it is in the search */
} slot;

static slot *slots_new(search *x, const maker *m, int n) {
    slot *s = TC_NEW_N(x->arena, slot, n);
    for (int i = 0; i < n; i++)
        s[i] = (slot){.state = SLOT_PENDING, .rng = tc_rng_fork(&m->rng, (uint64_t)i)};
    return s;
}

/* Whether the trace of s could be legal. Then s is FILLED, where this search knows the trace; WAITING, for realising it, or
 * BUILT: recalled, or replayed anyway because decisions had to be drawn. */
static bool admit(search *x, slot *s, int at) {
    tc_sched *sched = NULL;
    if (!decided(s->trace) && !replay(x, s->trace, &s->rng, &sched))
        return false;
    if (!tc_space_fits(x->s, s->trace))
        return false;
    s->key = tc_trace_hash(s->trace);
    const uintptr_t *known = tc_map_get(&x->known, s->key);
    if (known) {
        s->state = SLOT_FILLED;
        s->seen = *known;
        return x->seen.data[*known].hash != 0;
    }
    s->hash = 0;
    bool have = recall(x, s->key, at, &s->hash);
    s->state = sched || have ? SLOT_BUILT : SLOT_WAITING;
    if (sched && !have)
        s->hash = build(x, sched, at);
    return s->state == SLOT_WAITING || s->hash;
}

/* Tries until a trace is admitted. */
static void make_one(search *x, const maker *m, slot *s, int at) {
    tc_arena *a = x->scratch[omp_get_thread_num()];
    while (s->attempts < MAX_FAILURES && !stopped(x->o)) {
        int attempt = s->attempts++;
        s->trace = m->parents ? child_of(x, m->parents, m->weight, &s->rng, a)
                              : first_of(x, at, m->given, m->ngiven, m->seeded, &s->rng, a, attempt);
        if (s->trace && admit(x, s, at))
            return;
    }
    s->state = SLOT_EMPTY;
}

/* Enters what the slots made into the table. Returns how many of `first` stand for a trace that is to be realised. */
static int enter(search *x, slot *s, int n, int *first) {
    int todo = 0;
    for (int i = 0; i < n; i++) {
        if (s[i].state != SLOT_WAITING && s[i].state != SLOT_BUILT)
            continue;
        if (tc_map_get(&x->known, s[i].key))
            continue;
        tc_map_put(&x->known, s[i].key, x->seen.len);
        tc_push(&x->seen, ((realised){.key = s[i].key, .hash = s[i].hash, .slot = i}));
        if (s[i].state == SLOT_WAITING)
            first[todo++] = i;
    }
    return todo;
}

static void realise(search *x, slot *s, int at) {
    tc_sched *sched;
    bool ok = !stopped(x->o) && replay(x, s->trace, NULL, &sched);
    s->hash = ok ? build(x, sched, at) : 0;
}

/* What the table says of those that waited: they are filled, or try again. */
static void settle(search *x, slot *s, int n) {
    for (int i = 0; i < n; i++) {
        if (s[i].state != SLOT_WAITING && s[i].state != SLOT_BUILT)
            continue;
        s[i].seen = *tc_map_get(&x->known, s[i].key);
        s[i].state = x->seen.data[s[i].seen].hash ? SLOT_FILLED : SLOT_PENDING;
    }
}

/* Fills the slots in parallel, as far as legal traces are found. Deterministic for a given generator, whatever the threads: each
 * slot draws from a generator of its own, and what is known of a trace does not depend on who realised it. */
static slot *fill(search *x, const maker *m, int n) {
    slot *s = slots_new(x, m, n);
    int *first = TC_NEW_N(x->arena, int, n), pending = n;
    while (pending > 0) {
#pragma omp parallel for schedule(dynamic, 8) num_threads(x->o->threads)
        for (int i = 0; i < n; i++)
            if (s[i].state == SLOT_PENDING)
                make_one(x, m, &s[i], i);
        int todo = enter(x, s, n, first);
#pragma omp parallel for schedule(dynamic, 4) num_threads(x->o->threads)
        for (int i = 0; i < todo; i++)
            realise(x, &s[first[i]], first[i]);
        for (int i = 0; i < todo; i++)
            x->seen.data[*tc_map_get(&x->known, s[first[i]].key)].hash = s[first[i]].hash;
        settle(x, s, n);
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

/* Up to `want` candidates, scored; slots without a legal candidate are dropped. */
static population generation(search *x, const maker *m, int want) {
    population p = {.c = TC_NEW_N(x->arena, tc_candidate, want)};
    double *score = TC_NEW_N(x->arena, double, want);
    bool scored = x->scorer && x->scorer->score;
    size_t before = x->seen.len;
    if (x->scorer && x->scorer->begin)
        x->scorer->begin(x->scorer->user, want);
    const slot *s = fill(x, m, want);
    tc_rng r = tc_rng_fork(&m->rng, UINT64_MAX);
    if (scored)
        x->scorer->score(x->scorer->user, want, score);
    for (size_t k = before; k < x->seen.len; k++) {
        realised *fresh = &x->seen.data[k];
        fresh->score = scored ? score[fresh->slot] : 0;
        if (x->o->lowered && !stopped(x->o))
            tc_map_put(x->o->lowered, fresh->key, (uintptr_t)fresh->hash);
    }
    for (int i = 0; i < want; i++) {
        double drawn = tc_rng_unit(&r);
        if (s[i].state != SLOT_FILLED)
            continue;
        const realised *k = &x->seen.data[s[i].seen];
        p.c[p.n++] = (tc_candidate){.trace = keep(x, s[i].trace), .hash = k->hash, .score = scored ? k->score : drawn};
    }
    for (int t = 0; t < x->o->threads; t++)
        tc_arena_reset(x->scratch[t]);
    return p;
}

static int by_score(const void *a, const void *b) {
    const tc_candidate *x = a, *y = b;
    if (x->score != y->score)
        return x->score < y->score ? 1 : -1;
    return x->hash < y->hash ? -1 : x->hash > y->hash;
}

/* Selection weights by rank, not by score, so that an outlier does not take the population over. */
static double *weights(search *x, const population *p) {
    double *w = TC_NEW_N(x->arena, double, p->n);
    for (int i = 0; i < p->n; i++)
        w[i] = exp(-4.0 * i / p->n); /* p is sorted best first */
    return w;
}

/* ---- result ---- */

typedef struct pool {
    tc_map at; /* program hash -> index */
    TC_VEC(tc_candidate) c;
} pool;

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

static void collect(pool *b, const population *p, const uint64_t *seen, size_t nseen) {
    for (int i = 0; i < p->n; i++)
        if (!was_seen(seen, nseen, p->c[i].hash) && tc_map_put(&b->at, p->c[i].hash, 1))
            tc_push(&b->c, p->c[i]);
}

/* Best first, but each with probability epsilon replaced by one drawn at random. */
static int pick(const search *x, pool *b, tc_rng *rng, int want, tc_candidate *out) {
    int n = 0, have = (int)b->c.len;
    if (have)
        qsort(b->c.data, b->c.len, sizeof *b->c.data, by_score);
    for (int i = 0; i < have && n < want; i++) {
        if (i + 1 < have && tc_rng_unit(rng) < x->o->epsilon) {
            int j = i + (int)tc_rng_below(rng, have - i);
            tc_candidate t = b->c.data[i];
            b->c.data[i] = b->c.data[j];
            b->c.data[j] = t;
        }
        out[n++] = b->c.data[i];
    }
    return n;
}

static population evolve(search *x, maker *m, pool *b, const uint64_t *seen, size_t nseen) {
    population p = generation(x, m, x->o->population);
    for (int g = 0;; g++) {
        qsort(p.c, (size_t)p.n, sizeof *p.c, by_score);
        collect(b, &p, seen, nseen);
        if (g == x->o->generations || p.n == 0 || stopped(x->o))
            return p;
        maker next = {.parents = &p, .weight = weights(x, &p), .rng = tc_rng_fork(&m->rng, 1000003u + (uint64_t)g)};
        population q = generation(x, &next, x->o->population);
        int keep = TC_MIN(p.n, x->o->population / ELITE_SHARE);
        population all = {.n = q.n + keep, .c = TC_NEW_N(x->arena, tc_candidate, q.n + keep)};
        memcpy(all.c, p.c, sizeof *p.c * (size_t)keep);
        memcpy(all.c + keep, q.c, sizeof *q.c * (size_t)q.n);
        p = all;
    }
}

static search open_search(const tc_space *s, const tc_space_options *o, const tc_scorer *scorer) {
    search x = {.s = s, .o = o, .scorer = scorer, .arena = tc_arena_new()};
    x.ctx = tc_xcalloc((size_t)o->threads, sizeof *x.ctx);
    x.scratch = tc_xcalloc((size_t)o->threads, sizeof *x.scratch);
    x.extents = tc_xcalloc((size_t)o->threads, sizeof *x.extents);
    for (int t = 0; t < o->threads; t++) {
        x.ctx[t] = tc_ctx_child(s->w->ctx);
        x.scratch[t] = tc_arena_new();
    }
    return x;
}

static void close_search(search *x) {
    for (int t = 0; t < x->o->threads; t++) {
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

tc_status tc_space_search(const tc_space *s, const tc_space_options *o, const tc_scorer *scorer, tc_rng *rng,
                          const tc_trace *const *seeds, int nseeds, const uint64_t *seen, size_t nseen, int want, tc_arena *a,
                          tc_candidate *out, int *n, tc_error *err) {
    if (want < 1 || o->population < 1 || o->threads < 1 || o->generations < 0)
        return tc_fail(err, TC_BAD_INPUT, "search options: population, threads and the number wanted must be positive");
    search x = open_search(s, o, scorer);
    int nseeded = TC_MIN(nseeds, (int)(o->seeded * o->population));
    tc_trace **built = TC_NEW_N(x.arena, tc_trace *, o->constructed + 1);
    int nbuilt = o->constructed > 0 ? tc_space_construct(s, x.arena, built, TC_MIN(o->constructed, o->population / 4 + 1)) : 0;
    const tc_trace **given = TC_NEW_N(x.arena, const tc_trace *, nseeded + nbuilt);
    for (int i = 0; i < nseeded; i++)
        given[i] = as_instance(&x, seeds[i]);
    for (int i = 0; i < nbuilt; i++)
        given[nseeded + i] = as_instance(&x, built[i]);
    maker m = {.given = given, .ngiven = nseeded + nbuilt, .rng = tc_rng_fork(rng, tc_rng_next(rng))};
    m.seeded = m.ngiven + (int)(o->seeded * o->population);
    pool b = {0};
    evolve(&x, &m, &b, seen, nseen);
    *n = pick(&x, &b, rng, want, out);
    for (int i = 0; i < *n; i++)
        out[i].trace = tc_trace_copy(a, out[i].trace);
    tc_map_free(&b.at);
    tc_vec_free(&b.c);
    close_search(&x);
    return TC_OK;
}
