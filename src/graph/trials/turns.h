/* Models of one program in turns, so that neither the machine nor the moment decides between them. Each kernel is compared only
 * with itself, by the sum of its own launches in the runs of one round. */
#ifndef TC_GRAPH_TRIALS_TURNS_H
#define TC_GRAPH_TRIALS_TURNS_H

#include <signal.h>

#include "graph/model/model.h"

typedef struct tc_graph_turns {
    tc_graph_model *const *m; /* n of them, which have the same inputs; of `kernels` the same tasks */
    int n;
    const tc_graph_tensor *in;
    bool kernels, whole; /* what a turn is: a run by kernel, a run that nobody watches, or both */
    int rounds;          /* at most, in all */
    int tries;    /* of a run in which the process was not running all the time: it says little. 0: one, where time is short */
    double until; /* tc_now() from which on no round begins; INFINITY: none */
    double last;  /* the same, as long as fewer than `least` rounds are done */
    int least;
    const volatile sig_atomic_t *stop; /* may be NULL */
    double *seconds;                   /* [kernel, and the whole last][model][rounds]; OWNED */
    int done;                          /* rounds; fewer than asked for where it was stopped, or the time was up */
} tc_graph_turns;

/* Takes up to so many rounds more. TC_OK also where it was stopped; then no round counts that is not whole. Release t->seconds in
 * any case. */
TC_NODISCARD tc_status tc_graph_turns_take(tc_graph_turns *t, int rounds, tc_error *err);
/* Seconds of all launches of a kernel in each round, by model; kernel -1: of the whole run. */
double *tc_graph_turns_of(const tc_graph_turns *t, int kernel, int model);

#endif
