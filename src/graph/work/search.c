/* Implements search.h. */
#include "graph/work/search.h"
#include "support/system/stop.h"

#include <stdlib.h>

struct tc_graph_search {
    tc_ctx *c; /* of the tasks */
    tc_tune_spread spread;
};

tc_status tc_graph_search_new(const tc_graph_work *w, tc_graph_search **out, tc_error *err) {
    tc_graph_search *s = tc_xcalloc(1, sizeof *s);
    const tc_tune_task *tasks;
    int n = tc_graph_work_tasks(w, &tasks);
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

static tc_status search(const tc_tune_options *o, const tc_tune_spread *s, tc_meas_db *db, const tc_graph_search_listener *l,
                        tc_error *err) {
    tc_tune *t = NULL;
    tc_status st = tc_tune_new(o, s->tasks, s->n, db, &t, err);
    if (st == TC_OK) {
        st = tc_tune_run(t, err);
        if (l->searched)
            l->searched(l->user, tc_tune_get_report(t));
    }
    tc_tune_free(t);
    return st;
}

tc_status tc_graph_search_run(tc_graph_search *s, const tc_tune_options *o, tc_meas_db *db, const tc_graph_search_listener *l,
                              tc_error *err) {
    static const tc_graph_search_listener nobody = {0};
    l = l ? l : &nobody;
    TC_TRY(search(o, &s->spread, db, l, err));
    for (int i = 0; i < s->spread.nrange && !tc_is_raised(o->stop); i++)
        TC_TRY(compare(o, &s->spread.ranges[i], db, l, err));
    return TC_OK;
}
