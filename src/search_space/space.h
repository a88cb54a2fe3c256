/* src/search_space owns the space of schedules of one workload: sketch rules, sampling of decisions, mutation,
 * crossover. Its rooms: search_space/evolve (the evolutionary search), search_space/changes (a schedule's decisions
 * changed one at a time). Not here: clocks, databases and LLVM: candidates are scored through a callback.
 *
 * A sketch is a trace with open decisions. Some schedules are constructed from the target's facts, others drawn at
 * random. Sketch generation follows Ansor (OSDI'20, section 4), with rules for packed operands, register tiles and row
 * groups. Sampling and evolution follow MetaSchedule (2205.13603): a candidate is a trace, and a mutation changes one
 * decision and replays. */
#ifndef TC_SPACE_SPACE_H
#define TC_SPACE_SPACE_H

#include <signal.h>

#include "support/map.h"
#include "support/meanwhile.h"
#include "tir_lower/tir.h"

typedef struct tc_space tc_space;

/* Sketches of a workload (canonical names are not required) for a machine. The
 * workload's context must stay frozen while the space is used. TC_ILLEGAL when
 * no rule applies (does not happen for workloads that tc_te_workload accepts). */
TC_NODISCARD tc_status tc_space_new(const tc_workload *w, const tc_machine *m, tc_space **out, tc_error *err);
void tc_space_free(tc_space *s);
int tc_space_nsketch(const tc_space *s);
const tc_trace *tc_space_sketch(const tc_space *s, int i);
const char *tc_space_sketch_name(const tc_space *s, int i); /* "tile+fuse+pack", for reports */

/* The schedule used when nothing was tuned: the best constructed one by an
 * analytic estimate; where sizes vary, the best of which the verifier shows that
 * it keeps within them. Where no constructed one can be lowered, or shown to keep
 * within the sizes, loops as they are written. The trace lives in `a`. */
TC_NODISCARD tc_status tc_space_default(const tc_space *s, tc_arena *a, tc_trace **out, tc_error *err);

typedef struct tc_candidate {
    tc_trace *trace; /* all decisions made; lives in the arena given to the search */
    uint64_t hash;   /* of the lowered program */
    double score;    /* of the scorer, higher is better; 0 before scoring */
} tc_candidate;

/* Scores candidates. `add` is called from several threads, once per slot, with
 * the built (annotated) program and its hash, valid only during the call; or
 * `recall` (may be NULL), which says whether the scorer knows that program and
 * takes it for the slot; `score` afterwards, once per generation, for all n
 * slots. A NULL scorer means random scores. */
typedef struct tc_scorer {
    void *user;
    void (*begin)(void *user, int n);
    bool (*recall)(void *user, int slot, uint64_t program);
    void (*add)(void *user, int slot, uint64_t program, const tc_func *f);
    void (*score)(void *user, int n, double *scores);
} tc_scorer;

typedef struct tc_space_options {
    int population;                    /* 512 */
    int generations;                   /* 4 */
    double mutate;                     /* probability that a child is a mutation, 0.70; crossover
                       otherwise in crossover's share, copies else */
    double crossover;                  /* 0.15 */
    double epsilon;                    /* share of the result drawn at random: 0.05 */
    int constructed;                   /* schedules constructed for the first population: 64 */
    double seeded;                     /* share of the first population taken from `seeds` and their
                    mutations: 0.3 */
    int threads;                       /* for replaying and building */
    const volatile sig_atomic_t *stop; /* may be NULL: checked between candidates */
    tc_map *lowered;                   /* may be NULL: tc_trace_hash -> hash of its program, 0: not
                      legal; what the search finds is added */
    tc_meanwhile meanwhile;            /* done several times in each generation */
} tc_space_options;

tc_space_options tc_space_options_default(void);

/* What a search is asked for. */
typedef struct tc_space_query {
    tc_space_options options;
    const tc_scorer *scorer;      /* NULL: scores are random */
    tc_rng *rng;                  /* is drawn from */
    const tc_trace *const *seeds; /* traces of measured programs, best first; need not be of this
               * version's sketches: those that no longer replay are skipped */
    int nseeds;
    const uint64_t *seen; /* programs that are not wanted again: hashes, sorted */
    size_t nseen;
    int want;        /* candidates at most */
    tc_arena *arena; /* where the result lives */
} tc_space_query;

/* Distinct candidates, best first. */
typedef struct tc_space_found {
    int n; /* may be 0 when the space is exhausted */
    tc_candidate *data;
} tc_space_found;

/* Runs one search. Bounded: gives up on sampling after a fixed number of
 * failures. */
TC_NODISCARD tc_status tc_space_search(const tc_space *s, const tc_space_query *q, tc_space_found *out, tc_error *err);

/* Constructed schedules (register tiles that fill the register file, cache
 * tiles that fit): up to cap traces in `a`, best estimate first. */
int tc_space_construct(const tc_space *s, tc_arena *a, tc_trace **out, int cap);

/* What differs from t (an instance of one of the space's sketches, all
 * decisions made) in one decision, or makes the same decisions in another
 * sketch: up to cap traces in `a`, in random order. They need not be legal. */
int tc_space_neighbours(const tc_space *s, const tc_trace *t, tc_rng *rng, tc_arena *a, tc_trace **out, int cap);

/* The decisions of t, an instance of a sketch of `from`, in the sketches of
 * `to` (which may be the same space): up to cap traces in `a`, those of the
 * same kind of sketch first. What has no counterpart is constructed. They need
 * not be legal. 0 when t is no instance. */
int tc_space_transfer(const tc_space *from, const tc_trace *t, const tc_space *to, tc_arena *a, tc_trace **out, int cap);

#endif
