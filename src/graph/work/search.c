/* Implements search.h. */
#include "graph/work/search.h"
#include "graph/trials/untuned.h"
#include "support/log.h"
#include "support/system/stop.h"
#include "tune/untuned.h"

#include <stdlib.h>

struct tc_graph_search {
    tc_graph_work *work;
    tc_ctx *c; /* of the tasks */
    tc_tune_spread spread;
};

tc_status tc_graph_search_new(tc_graph_work *w, tc_graph_search **out, tc_error *err) {
    tc_graph_search *s = tc_xcalloc(1, sizeof *s);
    const tc_tune_task *tasks;
    int n = tc_graph_work_tasks(w, &tasks);
    s->work = w;
    s->c = tc_ctx_new();
    tc_status st = tc_tune_spread_over(s->c, tasks, n, &s->spread, err);
    *out = st == TC_OK ? s : NULL;
    if (st != TC_OK)
        tc_graph_search_free(s);
    return st;
}

void tc_graph_search_free(tc_graph_search *s) {
    if (!s)
        return;
    tc_ctx_free(s->c);
    free(s);
}

typedef struct contest {
    const tc_graph_search_listener *l;
    const tc_tune_range *range;
} contest;

static void on_contest(void *user, int program, int programs, int place, int places) {
    const contest *x = user;
    if (program == 0 && place == 0 && x->l->contest)
        x->l->contest(x->l->user, x->range, programs, places);
}

/* Compares what the search found at some sizes over the whole range. */
static tc_status compare(const tc_tune_options *o, const tc_tune_range *r, tc_meas_db *db, const tc_graph_search_listener *l,
                         tc_error *err) {
    contest x = {l, r};
    tc_arena *arena = tc_arena_new();
    tc_tune_query q = {.workload = r->workload, .target = o->target, .accuracy = o->accuracy, .db = db};
    tc_tune_range_report c;
    tc_tune_variants v;
    tc_status st = tc_tune_range_contest(o, r, db, on_contest, &x, arena, &c, err);
    if (st == TC_OK)
        st = tc_tune_variants_find(&q, r->weights, arena, &v, err);
    if (st == TC_OK && l->compared)
        l->compared(l->user, r, &c, &v);
    tc_arena_free(arena);
    return st;
}

/* ---- what it gained ---- */

/* Times of other machines, or computed ones, say nothing of what runs here. */
static bool runs_here(const tc_tune_options *o) {
    return !o->measure.carrier && !tc_meas_mode_is_apart(o->measure.mode) && o->target->native;
}

static tc_status compare_network(const tc_graph_search *s, const tc_tune_options *o, tc_meas_db *db, double until, tc_arena *a,
                                 tc_tune_gain *g, tc_error *err) {
    tc_graph_untuned_options u = {.build = {.target = o->target,
                                            .threads = o->threads,
                                            .db = db,
                                            .weights = tc_graph_work_weights(s->work),
                                            .accuracy = o->accuracy,
                                            .deadline = until,
                                            .stop = o->stop},
                                  .seed = o->seed};
    tc_graph_program *merged;
    TC_TRY(tc_graph_work_programs(s->work, &u.build, &u.apart, &merged, err));
    u.program = merged ? merged : u.apart;
    tc_status st = tc_graph_untuned_run(&u, a, g, err);
    tc_graph_program_free(merged);
    return st;
}

/* A kernel alone is timed as the search timed it; in a network, the network says. */
static tc_status weigh(const tc_graph_search *s, const tc_tune_options *o, tc_meas_db *db, double until,
                       const tc_graph_search_listener *l, tc_error *err) {
    tc_arena *a = tc_arena_new();
    tc_tune_gain g;
    if (l->weighing)
        l->weighing(l->user, until - tc_now());
    const tc_tune_task *tasks = s->spread.tasks;
    tc_status st = !tc_graph_work_is_network(s->work) ? tc_tune_untuned(o, tasks[0].workload, db, until, a, &g, err)
                                                      : compare_network(s, o, db, until, a, &g, err);
    if (st == TC_OK && l->gained)
        l->gained(l->user, &g);
    tc_arena_free(a);
    return st;
}

/* ---- all of it ---- */

/* *left: seconds that may be spent on what comes after the search; negative: it measured nothing, and there is nothing to find
 * out. */
static tc_status search(const tc_tune_options *o, const tc_tune_spread *s, tc_meas_db *db, const tc_graph_search_listener *l,
                        double *left, tc_error *err) {
    tc_tune *t = NULL;
    *left = -1;
    tc_status st = tc_tune_new(o, s->tasks, s->n, db, &t, err);
    if (st == TC_OK) {
        st = tc_tune_run(t, err);
        *left = tc_tune_get_report(t)->measured ? tc_tune_closing_left(t) : -1;
        if (l->searched)
            l->searched(l->user, tc_tune_get_report(t));
    }
    tc_tune_free(t);
    return st;
}

tc_status tc_graph_search_run(tc_graph_search *s, const tc_tune_options *o, tc_meas_db *db, const tc_graph_search_listener *l,
                              tc_error *err) {
    static const tc_graph_search_listener nobody = {0};
    double left;
    l = l ? l : &nobody;
    TC_TRY(search(o, &s->spread, db, l, &left, err));
    for (int i = 0; i < s->spread.nrange && !tc_is_raised(o->stop); i++)
        TC_TRY(compare(o, &s->spread.ranges[i], db, l, err));
    bool over_sizes = !tc_graph_work_is_network(s->work) && s->spread.nrange; /* where the default schedule took part */
    return left >= 0 && runs_here(o) && !over_sizes && !tc_is_raised(o->stop) ? weigh(s, o, db, tc_now() + left, l, err) : TC_OK;
}
