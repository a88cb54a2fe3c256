/* Runs models on the calibration data, with default schedules. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/quantize/quantize_int.h"
#include "graph/trials/bundle.h"
#include "graph/work/work.h"
#include "support/guess.h"
#include "support/system/stop.h"

tc_status quant_runs_open(runs *r, const tc_quantize_options *o, tc_error *err) {
    *r = (runs){.o = o};
    TC_TRY(tc_target_parse("native", &r->target, err));
    return tc_scratch_open(&r->scratch, err);
}

void quant_runs_close(runs *r) {
    tc_scratch_close(r->scratch);
    for (size_t i = 0; i < r->ndata; i++)
        tc_graph_bundle_free(&r->data[i]);
    free(r->data);
    tc_target_free(r->target);
    *r = (runs){0};
}

const char *quant_data_name(const runs *r, size_t i) {
    return r->o->ndata ? r->o->data[i] : "the random inputs";
}

/* ---- data ---- */

static tc_status check_finite(const tc_graph_named *item, tc_error *err) {
    int64_t bad = tc_graph_tensor_nonfinite(&item->t);
    return bad < 0 ? TC_OK
                   : tc_fail(err, TC_BAD_INPUT, "input '%s' holds %s at element %lld", item->name,
                             isnan(tc_load_f(item->t.dtype, item->t.data, bad)) ? "NaN" : "infinity", (long long)bad);
}

static tc_status no_input(const tc_graph_bundle *b, const char *name, tc_error *err) {
    char text[TC_GUESS_TEXT];
    tc_guess g = tc_guess_new(name, strlen(name));
    for (size_t i = 0; i < b->len; i++)
        tc_guess_add(&g, b->items[i].name);
    if (g.nclose)
        return tc_fail(err, TC_BAD_INPUT, "the model's input '%s' is missing; rename the array '%s' if it is that input", name,
                       g.close[0]);
    return tc_fail(err, TC_BAD_INPUT, "the model's input '%s' is missing%s", name, tc_guess_say(&g, "", NULL, text));
}

static tc_status check_input(const tc_graph_bundle *b, const tc_graph_port *p, tc_error *err) {
    const tc_graph_tensor *t = tc_graph_bundle_find(b, p->name);
    if (!t)
        return no_input(b, p->name, err);
    if (t->dtype == p->dtype && tc_graph_shape_equal(&t->shape, &p->shape))
        return TC_OK;
    tc_arena *a = tc_arena_new();
    tc_status st = tc_fail(err, TC_BAD_INPUT, "input '%s' is %s; the model wants %s", p->name,
                           tc_graph_type_str(a, t->dtype, &t->shape), tc_graph_type_str(a, p->dtype, &p->shape));
    tc_arena_free(a);
    return st;
}

/* A file may hold more than the inputs; the rest goes. */
static void keep_inputs(tc_graph_bundle *b, const tc_graph_port *ports, int n) {
    size_t kept = 0;
    for (size_t i = 0; i < b->len; i++) {
        int k = 0;
        while (k < n && strcmp(ports[k].name, b->items[i].name) != 0)
            k++;
        if (k < n) {
            b->items[kept++] = b->items[i];
        } else {
            free(b->items[i].name);
            tc_graph_tensor_free(&b->items[i].t);
        }
    }
    b->len = kept;
}

static tc_status check_set(const tc_graph_model *m, const char *path, tc_graph_bundle *set, tc_error *err) {
    const tc_graph_port *ports;
    int n = tc_graph_model_inputs(m, &ports);
    tc_status st = TC_OK;
    for (int i = 0; i < n && st == TC_OK; i++)
        st = check_input(set, &ports[i], err);
    for (size_t i = 0; i < set->len && st == TC_OK; i++)
        st = check_finite(&set->items[i], err);
    if (st == TC_OK)
        keep_inputs(set, ports, n);
    else
        tc_error_prefix(err, "%s: ", path);
    return st;
}

static tc_status get_data(runs *r, const tc_graph_model *m, tc_error *err) {
    size_t sets = TC_MAX(r->o->ndata, 1);
    r->data = tc_xcalloc(sets, sizeof *r->data);
    while (r->ndata < sets) {
        tc_graph_bundle *set = &r->data[r->ndata];
        const char *path = r->o->ndata ? r->o->data[r->ndata] : NULL;
        r->ndata++;
        TC_TRY(tc_graph_inputs_load(m, path, NULL, 0, set, err));
        if (path)
            TC_TRY(check_set(m, path, set, err));
    }
    return TC_OK;
}

/* ---- runs ---- */

static tc_status run_all(runs *r, tc_graph_model *m, quant_seen *seen, void *user, tc_error *err) {
    if (!r->data)
        TC_TRY(get_data(r, m, err));
    for (size_t i = 0; i < r->ndata; i++) {
        tc_graph_bundle out = {0};
        if (tc_is_raised(r->o->stop))
            return tc_fail(err, TC_ENV, "stopped before the end; nothing was written");
        tc_status st = tc_graph_model_run_named(m, &r->data[i], &out, err);
        if (st == TC_OK)
            st = seen(user, i, &out, err);
        tc_graph_bundle_free(&out);
        TC_TRY(st);
    }
    return TC_OK;
}

tc_status quant_run(runs *r, const char *path, quant_seen *seen, void *user, tc_error *err) {
    tc_graph_work *w;
    tc_graph_model *m = NULL;
    tc_graph_work_options open = {.model = path,
                                  .shapes = r->o->shapes,
                                  .nshapes = r->o->nshapes,
                                  .fixed = r->o->fixed,
                                  .nfixed = r->o->nfixed,
                                  .passes = {.level = TC_GRAPH_OPT_DEFAULT}};
    tc_graph_build_options build = {.target = r->target,
                                    .threads = r->o->threads,
                                    .accuracy = TC_ACCURACY_STRICT,
                                    .use_up_constants = true,
                                    .stop = r->o->stop};
    TC_TRY(tc_graph_work_open(&open, &w, err));
    tc_status st = tc_graph_work_build(w, &build, NULL, &m, err);
    if (st == TC_OK)
        st = run_all(r, m, seen, user, err);
    tc_graph_model_free(m);
    tc_graph_work_free(w);
    return st;
}

tc_status quant_run_edit(runs *r, tc_onnx_edit *e, quant_seen *seen, void *user, tc_error *err) {
    tc_strbuf path = {0};
    tc_sb_printf(&path, "%s/model.onnx", tc_scratch_path(r->scratch));
    tc_status st = tc_onnx_edit_save(e, tc_sb_str(&path), err);
    if (st == TC_OK)
        st = quant_run(r, tc_sb_str(&path), seen, user, err);
    tc_strbuf_free(&path);
    return st;
}
