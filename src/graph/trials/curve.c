/* Implements curve.h. */
#include "graph/trials/curve.h"

#include <math.h>
#include <stdlib.h>

#include "graph/trials/bench.h"
#include "support/clock/clock.h"
#include "support/system/stop.h"

enum { WARMUP = 2 };

/* ---- which sizes ---- */

/* What breaks the rules together with the least of the others is left out. */
static void add_point(const tc_graph_size_rules *r, tc_arena *a, tc_graph_curve *v, int64_t size) {
    int64_t *sizes = TC_NEW_N(a, int64_t, r->nsize);
    for (int k = 0; k < r->nsize; k++)
        sizes[k] = k == v->of ? size : -1;
    bool more = !v->points.len || v->points.data[v->points.len - 1].sizes[v->of] < size;
    if (more && tc_graph_size_rules_complete(r, sizes, NULL) == TC_OK)
        tc_push(&v->points, ((tc_graph_curve_point){.sizes = sizes}));
}

/* The ends, and between them powers of two and, as other sizes are no less common, one between any two: of multiples. */
static void add_points(const tc_graph_size_rules *r, tc_arena *a, tc_graph_curve *v) {
    int64_t *none = TC_NEW_N(a, int64_t, r->nsize);
    for (int k = 0; k < r->nsize; k++)
        none[k] = -1;
    int64_t least = tc_graph_size_rules_first(r, v->of), step = tc_graph_size_rules_step(r, v->of);
    int64_t most = tc_graph_size_rules_most(r, none, v->of);
    add_point(r, a, v, least);
    for (int half = 0; half < 126; half++) {
        double size = round(exp2(half / 2.0)) * (double)step;
        if (size > (double)least && size < (double)most)
            add_point(r, a, v, (int64_t)size);
    }
    if (most > least)
        add_point(r, a, v, most);
}

static void choose(tc_graph_curves *c, tc_arena *a) {
    c->curve = TC_NEW_N(a, tc_graph_curve, c->rules->nsize);
    for (int k = 0; k < c->rules->nsize; k++)
        if (!c->rules->size[k].is.text) {
            c->curve[c->n].of = k;
            add_points(c->rules, a, &c->curve[c->n++]);
        }
}

/* ---- how long they take ---- */

static tc_status time_point(tc_graph_model *m, int nin, const tc_graph_timing_options *o, uint64_t seed, tc_graph_curve_point *p,
                            tc_error *err) {
    tc_graph_tensor *in = tc_xcalloc((size_t)nin + 1, sizeof *in);
    double *times = tc_xcalloc((size_t)o->repeats, sizeof *times);
    tc_status st = tc_graph_model_random_inputs(m, p->sizes, seed, in, err);
    if (st == TC_OK)
        st = tc_graph_model_time(m, in, o, times, &p->n, err);
    p->least = INFINITY;
    for (int i = 0; i < p->n; i++) {
        p->least = fmin(p->least, times[i]);
        p->most = fmax(p->most, times[i]);
    }
    p->median = p->n ? tc_meas_median(times, (size_t)p->n) : 0;
    for (int i = 0; i < nin; i++)
        tc_graph_tensor_free(&in[i]);
    free(times);
    free(in);
    return st;
}

tc_status tc_graph_curves_time(tc_graph_model *m, const tc_graph_curve_options *o, tc_arena *a, tc_graph_curves *out,
                               tc_error *err) {
    tc_graph_timing_options timing = {.warmup = WARMUP, .repeats = o->repeats, .stop = o->stop};
    size_t measured = 0;
    *out = (tc_graph_curves){.rules = tc_graph_model_sizes(m)};
    choose(out, a);
    TC_TRY(tc_clock_check(TC_CLOCK_CALLS, err));
    for (int i = 0; i < out->n; i++) {
        tc_graph_curve *v = &out->curve[i];
        size_t done = 0;
        for (; done < v->points.len && !tc_is_raised(o->stop); done++)
            TC_TRY(time_point(m, out->rules->nin, &timing, o->seed, &v->points.data[done], err));
        while (done && !v->points.data[done - 1].n)
            done--;
        v->points.len = done;
        measured += done;
    }
    return measured ? TC_OK : tc_fail(err, TC_ENV, "stopped before anything was measured");
}

void tc_graph_curves_free(tc_graph_curves *c) {
    for (int i = 0; i < c->n; i++)
        tc_vec_free(&c->curve[i].points);
}
