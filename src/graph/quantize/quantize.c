/* Runs the steps of quantisation in order. It plans the nodes, finds the ranges, measures the loss of each layer, and chooses the
 * layers that stay in f32 within the budget. Then it writes the file. */
#include "graph/quantize/quantize.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "graph/quantize/quantize_int.h"
#include "support/system/fs.h"

typedef struct session {
    const char *model;
    const tc_quantize_options *o;
    tc_arena *arena;
    runs runs;
    plan plan;
    tc_map ranges;              /* by value: quant_params * */
    tc_graph_bundle *reference; /* by data set: what the model gives */
    tc_quantize_report *report;
} session;

/* ---- options ---- */

static tc_status check_options(const tc_quantize_options *o, tc_error *err) {
    bool block = o->block >= 16 && o->block <= 256 && (o->block & (o->block - 1)) == 0;
    if (o->kind == TC_QUANTIZE_STATIC && o->ndata == 0)
        return tc_fail(err, TC_BAD_INPUT, "static quantisation needs calibration data: at least one file of inputs");
    if (o->kind == TC_QUANTIZE_STATIC && o->method == TC_QUANTIZE_PERCENTILE && !(o->percentile > 50 && o->percentile <= 100))
        return tc_fail(err, TC_BAD_INPUT, "a percentile of %g: it must be above 50 and at most 100", o->percentile);
    if (o->kind == TC_QUANTIZE_WEIGHTS && o->bits != 4 && o->bits != 8)
        return tc_fail(err, TC_BAD_INPUT, "weights of %d bits: 8 and 4 are possible", o->bits);
    if (o->kind == TC_QUANTIZE_WEIGHTS && o->bits == 4 && !block)
        return tc_fail(err, TC_BAD_INPUT, "blocks of %d rows: a power of two from 16 to 256 is possible", o->block);
    return TC_OK;
}

/* The opset that brought what the form needs. */
static tc_status check_opset(const session *s, const tc_onnx_edit *e, tc_error *err) {
    enum { PAIRS = 10, DYNAMIC = 11, CHANNELS = 13 };
    const tc_quantize_options *o = s->o;
    bool pairs = o->kind == TC_QUANTIZE_STATIC || (o->kind == TC_QUANTIZE_WEIGHTS && o->bits == 8);
    int need = !pairs ? DYNAMIC : o->per_tensor ? PAIRS : CHANNELS;
    int64_t have = tc_onnx_edit_opset(e);
    if (have >= need)
        return TC_OK;
    return tc_fail(err, TC_BAD_INPUT, "the model is of opset %" PRId64 ", and this form needs %d%s; export it with a newer opset",
                   have, need, need == CHANNELS && have >= PAIRS ? " (one scale per tensor would need 10)" : "");
}

/* ---- what the model gives ---- */

static tc_status keep_reference(void *user, size_t i, const tc_graph_bundle *out, tc_error *err) {
    session *s = user;
    tc_graph_bundle *kept = &s->reference[i];
    kept->items = tc_xcalloc(out->len + 1, sizeof *kept->items);
    for (; kept->len < out->len; kept->len++) {
        const tc_graph_named *from = &out->items[kept->len];
        tc_graph_named *to = &kept->items[kept->len];
        TC_TRY(tc_graph_tensor_alloc(&to->t, from->t.dtype, &from->t.shape, err));
        memcpy(to->t.data, from->t.data, tc_graph_tensor_bytes(&from->t));
        to->name = tc_xstrdup(from->name);
    }
    return TC_OK;
}

static tc_status compare_outputs(void *user, size_t i, const tc_graph_bundle *out, tc_error *err) {
    session *s = user;
    tc_quantize_report *r = s->report;
    for (size_t k = 0; k < r->noutputs; k++) {
        tc_graph_diff d;
        const tc_graph_tensor *got = tc_graph_bundle_find(out, r->outputs[k].name);
        TC_TRY(tc_graph_tensor_compare(got, &s->reference[i].items[k].t, 0, 0, &d, err));
        r->outputs[k].error = fmax(r->outputs[k].error, d.rel);
        r->error = fmax(r->error, d.rel);
    }
    return TC_OK;
}

/* What the quantised model is compared with must be numbers. */
static tc_status check_reference(const session *s, tc_error *err) {
    for (size_t i = 0; i < TC_MAX(s->o->ndata, 1); i++)
        for (size_t k = 0; k < s->reference[i].len; k++) {
            const tc_graph_named *out = &s->reference[i].items[k];
            if (tc_graph_tensor_nonfinite(&out->t) >= 0)
                return tc_fail(err, TC_BAD_INPUT,
                               "%s: output '%s' of the f32 model is not finite on %s, so nothing can be compared with it",
                               s->model, out->name, quant_data_name(&s->runs, i));
        }
    return TC_OK;
}

static tc_status run_reference(session *s, tc_error *err) {
    s->reference = tc_xcalloc(TC_MAX(s->o->ndata, 1), sizeof *s->reference);
    TC_TRY(quant_run(&s->runs, s->model, keep_reference, s, err));
    TC_TRY(check_reference(s, err));
    tc_quantize_report *r = s->report;
    r->noutputs = s->reference[0].len;
    r->outputs = TC_NEW_N(s->arena, tc_quantize_output, r->noutputs);
    for (size_t k = 0; k < r->noutputs; k++)
        r->outputs[k].name = tc_arena_strdup(s->arena, s->reference[0].items[k].name);
    return TC_OK;
}

/* ---- ranges ---- */

typedef struct watched {
    const char *value, *output; /* in the model that shows it */
    range *range;
} watched;

typedef struct watcher {
    session *s;
    TC_VEC(watched) all;
    bool count; /* the second time, when the ends are known */
} watcher;

static void watch(watcher *w, tc_onnx_edit *e, const char *value) {
    if (!tc_map_puts(&w->s->ranges, value, 0))
        return;
    const char *output = tc_onnx_edit_fresh(e, value, "_seen");
    range *r = tc_xcalloc(1, sizeof *r);
    r->low = INFINITY;
    r->high = -INFINITY;
    tc_onnx_edit_add(e, "Identity", "", 1, &value, output);
    tc_onnx_edit_add_output(e, output);
    tc_push(&w->all, ((watched){tc_arena_strdup(w->s->arena, value), tc_arena_strdup(w->s->arena, output), r}));
}

/* What step t reads that is no constant. */
static tc_status watch_step(watcher *w, tc_onnx_edit *e, const step *t, tc_error *err) {
    tc_onnx_edit_node n = tc_onnx_edit_node_at(e, t->node);
    for (int k = 0; k < (t->all ? n.nin : 1) && !t->why; k++) {
        const tc_graph_tensor *constant;
        TC_TRY(tc_onnx_edit_constant(e, n.in[k], &constant, err));
        if (!constant && *n.in[k])
            watch(w, e, n.in[k]);
    }
    return TC_OK;
}

static tc_status see(void *user, size_t i, const tc_graph_bundle *out, tc_error *err) {
    watcher *w = user;
    for (size_t k = 0; k < w->all.len; k++) {
        const watched *x = &w->all.data[k];
        const tc_graph_tensor *t = tc_graph_bundle_find(out, x->output);
        int64_t n = tc_graph_tensor_count(t);
        if (w->count) {
            quant_range_count(x->range, w->s->o->method, t->data, n);
            continue;
        }
        if (tc_graph_tensor_nonfinite(t) >= 0)
            return tc_fail(err, TC_BAD_INPUT, "%s: the value '%s' of the model is not finite, so it has no range",
                           quant_data_name(&w->s->runs, i), x->value);
        quant_range_see(x->range, t->data, n);
    }
    return TC_OK;
}

static tc_status watch_runs(watcher *w, tc_onnx_edit *e, tc_error *err) {
    tc_onnx_edit_before(e, tc_onnx_edit_nodes(e));
    for (size_t i = 0; i < w->s->plan.steps.len; i++)
        TC_TRY(watch_step(w, e, &w->s->plan.steps.data[i], err));
    TC_TRY(quant_run_edit(&w->s->runs, e, see, w, err));
    if (w->s->o->method == TC_QUANTIZE_MINMAX)
        return TC_OK;
    w->count = true;
    return quant_run_edit(&w->s->runs, e, see, w, err);
}

/* A result that holds values of another has its range, so that nothing is rounded twice. */
static void share_ranges(session *s, const tc_onnx_edit *e) {
    for (size_t i = 0; i < s->plan.steps.len; i++) {
        const step *t = &s->plan.steps.data[i];
        tc_onnx_edit_node n = tc_onnx_edit_node_at(e, t->node);
        if (t->same_range && !t->why && tc_map_gets(&s->ranges, n.out[0]))
            *tc_map_gets(&s->ranges, n.out[0]) = *tc_map_gets(&s->ranges, n.in[0]);
    }
}

static tc_status find_ranges(session *s, tc_error *err) {
    watcher w = {.s = s};
    tc_onnx_edit *e = NULL;
    tc_status st = tc_onnx_edit_open(s->model, &e, err);
    if (st == TC_OK)
        st = watch_runs(&w, e, err);
    for (size_t i = 0; i < w.all.len; i++) {
        quant_params *p = TC_NEW(s->arena, quant_params);
        if (st == TC_OK)
            *p = quant_range_params(w.all.data[i].range, s->o);
        tc_map_puts(&s->ranges, w.all.data[i].value, (uintptr_t)p);
        free(w.all.data[i].range);
    }
    tc_vec_free(&w.all);
    if (st == TC_OK)
        share_ranges(s, e);
    tc_onnx_edit_free(e);
    return st;
}

/* ---- what each layer loses ---- */

typedef struct listener {
    session *s;
    const char **signal, **noise; /* outputs by step; NULL: not quantised */
} listener;

static double sum_of(const tc_graph_bundle *out, const char *name) {
    return *(const float *)tc_graph_bundle_find(out, name)->data;
}

static tc_status listen(void *user, size_t i, const tc_graph_bundle *out, tc_error *err) {
    listener *l = user;
    (void)i, (void)err;
    for (size_t k = 0; k < l->s->plan.steps.len; k++)
        if (l->signal[k]) {
            l->s->plan.steps.data[k].signal += sum_of(out, l->signal[k]);
            l->s->plan.steps.data[k].noise += sum_of(out, l->noise[k]);
        }
    return TC_OK;
}

/* An output that is the sum of the squares of `value`. */
static const char *add_power(session *s, tc_onnx_edit *e, const char *value) {
    const char *out = tc_onnx_edit_fresh(e, value, "_power");
    tc_onnx_edit_add(e, "ReduceSumSquare", "", 1, &value, out);
    tc_onnx_edit_add_output(e, out);
    return tc_arena_strdup(s->arena, out);
}

static tc_status double_layer(listener *l, rewriter *r, size_t k, tc_error *err) {
    const step *t = &l->s->plan.steps.data[k];
    const char *pair[2] = {tc_onnx_edit_node_at(r->e, t->node).out[0], NULL};
    TC_TRY(quant_rewrite(r, t, &pair[1], err));
    const char *difference = tc_onnx_edit_fresh(r->e, pair[0], "_difference");
    tc_onnx_edit_add(r->e, "Sub", "", 2, pair, difference);
    l->signal[k] = add_power(l->s, r->e, pair[0]);
    l->noise[k] = add_power(l->s, r->e, difference);
    return TC_OK;
}

static tc_status measure_layers(session *s, tc_error *err) {
    size_t n = s->plan.steps.len;
    listener l = {s, TC_NEW_N(s->arena, const char *, n), TC_NEW_N(s->arena, const char *, n)};
    rewriter r = {.o = s->o, .ranges = &s->ranges, .beside = true};
    tc_status st = tc_onnx_edit_open(s->model, &r.e, err);
    if (st == TC_OK)
        tc_onnx_edit_before(r.e, tc_onnx_edit_nodes(r.e));
    for (size_t k = 0; k < n && st == TC_OK; k++)
        if (s->plan.steps.data[k].layer && !s->plan.steps.data[k].why)
            st = double_layer(&l, &r, k, err);
    if (st == TC_OK)
        st = quant_run_edit(&s->runs, r.e, listen, &l, err);
    quant_rewriter_free(&r);
    tc_onnx_edit_free(r.e);
    return st;
}

/* ---- candidates ---- */

/* The layers that may be quantised, the one that loses most first. */
typedef TC_VEC(step *) ranking;

static double loss(const step *s) {
    return s->signal > 0 ? s->noise / s->signal : s->noise > 0 ? INFINITY : 0;
}

static int by_loss(const void *a, const void *b) {
    const step *x = *(step *const *)a, *y = *(step *const *)b;
    double d = loss(y) - loss(x);
    return d > 0 ? 1 : d < 0 ? -1 : x->node - y->node;
}

static ranking rank_layers(session *s) {
    ranking r = {0};
    for (size_t i = 0; i < s->plan.steps.len; i++)
        if (s->plan.steps.data[i].layer && !s->plan.steps.data[i].why)
            tc_push(&r, &s->plan.steps.data[i]);
    qsort(r.data, r.len, sizeof *r.data, by_loss);
    return r;
}

static tc_status rewrite_model(session *s, rewriter *r, const char *path, tc_error *err) {
    const char *out;
    quant_settle(r->e, &s->plan);
    for (size_t i = 0; i < s->plan.steps.len; i++)
        if (!s->plan.steps.data[i].why)
            TC_TRY(quant_rewrite(r, &s->plan.steps.data[i], &out, err));
    return tc_onnx_edit_save(r->e, path, err);
}

/* Writes the model with the worst `kept` layers in f32, and runs it: the report gets its errors. */
static tc_status try_with(session *s, const ranking *rank, size_t kept, const char *path, tc_error *err) {
    rewriter r = {.o = s->o, .ranges = &s->ranges};
    for (size_t i = 0; i < rank->len; i++)
        rank->data[i]->why = i < kept ? "for the error budget" : NULL;
    tc_status st = tc_onnx_edit_open(s->model, &r.e, err);
    if (st == TC_OK)
        st = rewrite_model(s, &r, path, err);
    quant_rewriter_free(&r);
    tc_onnx_edit_free(r.e);
    TC_TRY(st);
    s->report->error = 0;
    for (size_t k = 0; k < s->report->noutputs; k++)
        s->report->outputs[k].error = 0;
    return quant_run(&s->runs, path, compare_outputs, s, err);
}

static const char *candidate_path(const session *s, size_t kept) {
    return tc_arena_printf(s->arena, "%s/without-%zu.onnx", tc_scratch_path(s->runs.scratch), kept);
}

/* The fewest layers in f32, of those that lose most, with which the outputs keep to the budget: between `bad`, with which they did
 * not, and `good`. */
static tc_status choose(session *s, const ranking *rank, size_t *kept, tc_error *err) {
    size_t bad = 0, good = rank->len, last = 0;
    TC_TRY(try_with(s, rank, 0, candidate_path(s, 0), err));
    *kept = 0;
    if (s->o->budget < 0 || s->report->error <= s->o->budget)
        return TC_OK;
    while (good - bad > 1) {
        last = bad + (good - bad) / 2;
        TC_TRY(try_with(s, rank, last, candidate_path(s, last), err));
        *(s->report->error <= s->o->budget ? &good : &bad) = last;
    }
    if (good == rank->len)
        return tc_fail(err, TC_BAD_INPUT,
                       "the error of the outputs is above the budget of %g: it is %.3g with only one of the %zu layers "
                       "quantised, the one that loses least; nothing was written",
                       s->o->budget, s->report->error, rank->len);
    *kept = good;
    return last == good ? TC_OK : try_with(s, rank, good, candidate_path(s, good), err);
}

/* ---- the report ---- */

static double decibels(const step *s) {
    return s->noise > 0 ? 10 * log10(s->signal / s->noise) : INFINITY;
}

static void report_layers(session *s, const tc_onnx_edit *e) {
    tc_quantize_report *r = s->report;
    r->layers = TC_NEW_N(s->arena, tc_quantize_layer, s->plan.steps.len);
    for (size_t i = 0; i < s->plan.steps.len; i++) {
        const step *t = &s->plan.steps.data[i];
        if (!t->layer)
            continue;
        tc_onnx_edit_node n = tc_onnx_edit_node_at(e, t->node);
        r->layers[r->nlayers++] = (tc_quantize_layer){tc_arena_strdup(s->arena, *n.name ? n.name : n.out[0]),
                                                      tc_arena_strdup(s->arena, n.op), decibels(t), t->why};
        r->nquantized += !t->why;
    }
}

static int64_t size_of(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 ? st.st_size : 0;
}

void tc_quantize_report_free(tc_quantize_report *r) {
    tc_arena_free(r->arena);
    *r = (tc_quantize_report){0};
}

/* ---- all ---- */

static tc_status quantize_planned(session *s, const tc_onnx_edit *e, const char *out, tc_error *err) {
    size_t kept = 0;
    TC_TRY(run_reference(s, err));
    if (s->o->kind == TC_QUANTIZE_STATIC)
        TC_TRY(find_ranges(s, err));
    TC_TRY(measure_layers(s, err));
    ranking rank = rank_layers(s);
    tc_status st = choose(s, &rank, &kept, err);
    tc_vec_free(&rank);
    TC_TRY(st);
    report_layers(s, e);
    s->report->bytes_before = size_of(s->model);
    s->report->bytes_after = size_of(candidate_path(s, kept));
    return tc_fs_move(candidate_path(s, kept), out, err);
}

static void close_session(session *s) {
    for (size_t i = 0; s->reference && i < TC_MAX(s->o->ndata, 1); i++)
        tc_graph_bundle_free(&s->reference[i]);
    free(s->reference);
    tc_vec_free(&s->plan.steps);
    tc_map_free(&s->ranges);
    quant_runs_close(&s->runs);
}

tc_status tc_quantize(const char *model, const char *out, const tc_quantize_options *o, tc_quantize_report *report,
                      tc_error *err) {
    *report = (tc_quantize_report){.arena = tc_arena_new()};
    session s = {.model = model, .o = o, .arena = report->arena, .report = report};
    tc_onnx_edit *e = NULL;
    TC_TRY(check_options(o, err));
    TC_TRY(tc_fs_check_writable(out, err));
    tc_status st = quant_runs_open(&s.runs, o, err);
    if (st == TC_OK && (st = tc_onnx_edit_open(model, &e, err)) == TC_OK) {
        st = check_opset(&s, e, err);
        if (st == TC_OK)
            st = quant_plan(e, o, &s.plan, err);
        if (st != TC_OK)
            tc_error_prefix(err, "%s: ", model);
    }
    if (st == TC_OK)
        st = quantize_planned(&s, e, out, err);
    tc_onnx_edit_free(e);
    close_session(&s);
    return st;
}
