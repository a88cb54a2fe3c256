/* Private to the evolutionary search: its state and its parts. A search makes generations of slots (slots.c). Each slot's
 * trace is a variation of other traces (vary.c), and is realised once in a search (duplicates.c). Selection keeps the best of
 * a generation (select.c). */
#ifndef TC_SPACE_SEARCH_INT_H
#define TC_SPACE_SEARCH_INT_H

#include "search_space/space_int.h"
#include "support/map.h"
#include "support/system/stop.h"

/* A trace that was realised in this search. */
typedef struct realised {
    uint64_t key;  /* hash of the trace */
    uint64_t hash; /* of its program; 0: not legal */
    int slot;      /* of its generation, where the scorer has it */
    double score;
} realised;

typedef struct search {
    const tc_space *s;
    const tc_space_query *q;
    tc_arena *arena;
    tc_ctx **ctx; /* one per thread, like the next two */
    tc_arena **scratch;
    tc_map *extents; /* hash of a tile's step and of what comes before -> extent
                      of its loop */
    tc_map known;    /* hash of a trace -> index into seen; written between the
                      parallel parts */
    TC_VEC(realised) seen;
} search;

typedef struct population {
    int n;
    tc_candidate *c;
} population;

/* What a generation is made of. */
typedef struct maker {
    const tc_trace *const *given; /* of the first generation: seeds and constructed ones */
    int ngiven, seeded;           /* seeded: so many slots hold these and their mutations */
    const population *parents;    /* NULL for the first generation */
    const double *weight;         /* of the parents */
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

static inline bool stopped(const search *x) {
    return tc_ran_out() || tc_is_raised(x->q->options.stop);
}

/* ---- vary.c ---- */
/* t; an instance of a sketch becomes one that shares the sketch's strings. */
const tc_trace *tc_space_as_instance(search *x, const tc_trace *t);
/* A trace for slot `at`, in `a`; decisions may be open. NULL: this attempt came
 * to nothing. */
tc_trace *tc_space_vary(search *x, const maker *m, const slot *s, int at, tc_rng *rng, tc_arena *a);

/* ---- duplicates.c ---- */
/* What this search knows of the trace whose hash is `key`: its index, -1:
 * nothing. */
int64_t tc_space_known(const search *x, uint64_t key);
/* An earlier search lowered that trace, and the scorer takes its program for
 * the slot. */
bool tc_space_recall(const search *x, uint64_t key, int at, uint64_t *hash);
/* Enters what the slots made. Returns how many of `first` stand for a trace
 * that is to be realised. */
int tc_space_enter(search *x, slot *s, int n, int *first);
/* What is known of those that waited: they are filled, or try again. */
void tc_space_settle(search *x, slot *s, int n);
/* Scores (by slot; NULL: there are none) of what was entered after the first
 * `before`, which later searches will know. */
void tc_space_learn(search *x, size_t before, const double *score);

/* ---- slots.c ---- */
/* Up to `want` candidates, scored; slots without a legal candidate are dropped. */
population tc_space_generation(search *x, const maker *m, int want);

/* ---- select.c ---- */
void tc_space_rank(search *x, population *p); /* best first */
/* Weights of a ranked population's members as parents. */
double *tc_space_weights(search *x, const population *p);

/* Distinct programs. */
typedef struct pool {
    tc_map at; /* program hash -> index */
    TC_VEC(tc_candidate) c;
} pool;

/* Adds those that are not among the query's seen ones. */
void tc_space_collect(const search *x, pool *b, const population *p);
/* As many as are wanted, copied to the query's arena. */
void tc_space_pick(search *x, pool *b, tc_space_found *out);

#endif
