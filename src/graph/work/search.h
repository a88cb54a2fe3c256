/* A search over the kernels of a network, or over a single kernel. Kernels whose sizes vary are searched at a few sizes. Then the
 * results are compared over all sizes (tune/range.h). Last, what was found runs in turns with what is untuned.
 *
 *   tc_graph_search_new -> tc_graph_search_run, as often as wanted */
#ifndef TC_GRAPH_WORK_SEARCH_H
#define TC_GRAPH_WORK_SEARCH_H

#include "graph/work/work.h"
#include "tune/kernel/gain.h"
#include "tune/kernel/variants.h"
#include "tune/range.h"

typedef struct tc_graph_search tc_graph_search;

/* Told what goes on, from the thread that searches, beside what the options' progress is told; any may be NULL. */
typedef struct tc_graph_search_listener {
    void *user;
    /* The search has ended, also where it failed; r lives until this returns. What comes after it are contests. */
    void (*searched)(void *user, const tc_tune_report *r);
    /* A contest begins, of so many programs at so many places. */
    void (*contest)(void *user, const tc_tune_range *r, int programs, int places);
    void (*compared)(void *user, const tc_tune_range *r, const tc_tune_range_report *c, const tc_tune_variants *v);
    /* What was found is now compared with the default schedules, for so many seconds at most. */
    void (*weighing)(void *user, double seconds);
    /* The last that is told of a run: what it gained over the default schedules. Not of times that are computed, or taken by other
     * machines. */
    void (*gained)(void *user, const tc_tune_gain *g);
} tc_graph_search_listener;

/* Finds out which kernels there are to search, and at which sizes. w must outlive it. */
TC_NODISCARD tc_status tc_graph_search_new(tc_graph_work *w, tc_graph_search **out, tc_error *err);
void tc_graph_search_free(tc_graph_search *s); /* NULL is fine */

/* Searches as o says, and keeps what it measures in db. o->threads and o->target->machine.cores are the same. As tc_tune_run it
 * is TC_OK where it was stopped, and goes on from there when it is called again. l may be NULL. */
TC_NODISCARD tc_status tc_graph_search_run(tc_graph_search *s, const tc_tune_options *o, tc_meas_db *db,
                                           const tc_graph_search_listener *l, tc_error *err);

#endif
