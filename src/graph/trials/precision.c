/* Implements precision.h. */
#include "graph/trials/precision.h"

#include <math.h>
#include <stdlib.h>

#include "graph/model/parts.h"
#include "graph/trials/bundle.h"

typedef struct chooser {
    const tc_graph_program *p;
    tc_graph_build_options o; /* with the accuracy of each task */
    const tc_graph_bundle *data;
    size_t sets;
    tc_graph_bundle drawn;      /* without data */
    tc_graph_bundle *reference; /* by set: outputs in f32 */
    double *f32;                /* by task: seconds of the record in f32; 0: there is none */
    tc_graph_precision *out;
} chooser;

/* ---- runs ---- */

/* *error: the largest of the outputs' over all sets; without a reference these become it. */
static tc_status run_sets(chooser *c, tc_graph_model *m, double *error, tc_error *err) {
    tc_graph_bundle *kept = c->reference;
    if (!c->data) {
        TC_TRY(tc_graph_inputs_load(m, NULL, NULL, 0, &c->drawn, err));
        c->data = &c->drawn;
    }
    if (!kept)
        c->reference = tc_xcalloc(c->sets, sizeof *c->reference);
    *error = 0;
    for (size_t i = 0; i < c->sets; i++) {
        tc_graph_bundle out = {0};
        tc_status st = tc_graph_model_run_named(m, &c->data[i], &out, err);
        for (size_t k = 0; kept && k < out.len && st == TC_OK; k++) {
            tc_graph_diff d;
            st = tc_graph_tensor_compare(&out.items[k].t, &kept[i].items[k].t, 0, 0, &d, err);
            *error = fmax(*error, isnan(d.rel) ? INFINITY : d.rel);
        }
        if (kept)
            tc_graph_bundle_free(&out);
        else
            c->reference[i] = out;
        TC_TRY(st);
    }
    return TC_OK;
}

/* Builds and runs the network with the accuracies that c has now. `look` may see the model. */
static tc_status try_it(chooser *c, void (*look)(chooser *c, const tc_graph_model *m), double *error, tc_error *err) {
    tc_graph_model *m = NULL;
    tc_status st = tc_graph_model_build(c->p, &c->o, &m, err);
    if (st == TC_OK && look)
        look(c, m);
    if (st == TC_OK)
        st = run_sets(c, m, error, err);
    tc_graph_model_free(m);
    return st;
}

static tc_status check_finite(const chooser *c, tc_error *err) {
    for (size_t i = 0; i < c->sets; i++)
        for (size_t k = 0; k < c->reference[i].len; k++) {
            const tc_graph_named *x = &c->reference[i].items[k];
            if (tc_graph_tensor_nonfinite(&x->t) >= 0)
                return tc_fail(err, TC_BAD_INPUT,
                               "output '%s' of the network in f32 is not finite on input set %zu, so there is no error to keep "
                               "within a budget; give inputs that the network is meant for",
                               x->name, i);
        }
    return TC_OK;
}

/* ---- candidates ---- */

static void note_f32(chooser *c, const tc_graph_model *m) {
    for (int i = 0; i < m->nkernel; i++)
        c->f32[i] = m->kernels[i].source == TC_GRAPH_FROM_RECORD ? m->kernels[i].recorded : 0;
}

/* Kernels of which a form in bf16 was measured faster than any other. */
static void note_candidates(chooser *c, const tc_graph_model *m) {
    for (int i = 0; i < m->nkernel; i++) {
        const tc_graph_kernel *k = &m->kernels[i];
        bool rounds = m->units[i].used->alternative && (m->units[i].used->alternative->needs & TC_ACCURACY_BF16);
        if (rounds && c->f32[i] > k->recorded)
            c->out->kernels[c->out->n++] = (tc_graph_rounding){
                .name = c->p->tasks[i].name, .task = i, .count = k->count, .f32 = c->f32[i], .bf16 = k->recorded};
    }
}

/* What a kernel saves in a run, over what it costs. */
static double worth(const tc_graph_rounding *k) {
    return k->count * (k->f32 - k->bf16) / fmax(k->error, 1e-12);
}

static int by_worth(const void *a, const void *b) {
    const tc_graph_rounding *x = a, *y = b;
    double d = worth(y) - worth(x);
    return d > 0 ? 1 : d < 0 ? -1 : x->task - y->task;
}

static void allow(chooser *c, int task, bool rounds) {
    c->out->accuracy[task] = rounds ? c->o.accuracy : c->o.accuracy & ~TC_ACCURACY_BF16;
}

static tc_status measure_alone(chooser *c, tc_error *err) {
    for (int i = 0; i < c->out->n; i++) {
        tc_graph_rounding *k = &c->out->kernels[i];
        allow(c, k->task, true);
        tc_status st = try_it(c, NULL, &k->error, err);
        allow(c, k->task, false);
        TC_TRY(st);
    }
    if (c->out->n)
        qsort(c->out->kernels, (size_t)c->out->n, sizeof *c->out->kernels, by_worth);
    return TC_OK;
}

/* ---- the choice ---- */

static tc_status try_first(chooser *c, int n, tc_error *err) {
    for (int i = 0; i < c->out->n; i++) {
        c->out->kernels[i].used = i < n;
        allow(c, c->out->kernels[i].task, i < n);
    }
    c->out->nused = n;
    c->out->error = 0;
    return n ? try_it(c, NULL, &c->out->error, err) : TC_OK;
}

/* The most that keep to the budget, between `good`, which do, and `bad`. */
static tc_status fill_budget(chooser *c, double budget, tc_error *err) {
    int good = 0, bad = c->out->n;
    TC_TRY(try_first(c, bad, err));
    if (c->out->error <= budget)
        return TC_OK;
    while (bad - good > 1) {
        int middle = good + (bad - good) / 2;
        TC_TRY(try_first(c, middle, err));
        *(c->out->error <= budget ? &good : &bad) = middle;
    }
    return c->out->nused == good ? TC_OK : try_first(c, good, err);
}

static tc_status choose(chooser *c, double budget, tc_error *err) {
    double error;
    for (int i = 0; i < c->p->ntask; i++)
        allow(c, i, false);
    TC_TRY(try_it(c, note_f32, &error, err));
    TC_TRY(check_finite(c, err));
    for (int i = 0; i < c->p->ntask; i++)
        allow(c, i, true);
    TC_TRY(try_it(c, note_candidates, &error, err));
    for (int i = 0; i < c->p->ntask; i++)
        allow(c, i, false);
    TC_TRY(measure_alone(c, err));
    return fill_budget(c, budget, err);
}

tc_status tc_graph_precision_choose(const tc_graph_program *p, const tc_graph_build_options *o, const char *db,
                                    const tc_graph_bundle *data, size_t ndata, double budget, tc_arena *a,
                                    tc_graph_precision *out, tc_error *err) {
    *out =
        (tc_graph_precision){.kernels = TC_NEW_N(a, tc_graph_rounding, p->ntask), .accuracy = TC_NEW_N(a, tc_accuracy, p->ntask)};
    chooser c = {
        .p = p, .o = *o, .data = ndata ? data : NULL, .sets = TC_MAX(ndata, 1), .f32 = TC_NEW_N(a, double, p->ntask), .out = out};
    tc_meas_db *file = NULL;
    if (db)
        TC_TRY(tc_meas_db_open(db, TC_MEAS_DB_READ, &file, err));
    c.o.db = file ? file : o->db;
    c.o.accuracies = out->accuracy;
    c.o.object_only = c.o.use_up_constants = false;
    tc_status st = choose(&c, budget, err);
    tc_meas_db_close(file);
    for (size_t i = 0; c.reference && i < c.sets; i++)
        tc_graph_bundle_free(&c.reference[i]);
    free(c.reference);
    tc_graph_bundle_free(&c.drawn);
    return st;
}
