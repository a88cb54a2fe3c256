/* Records timelines (include/tctune/trace.h). */
#include "graph/trials/trace.h"

#include "api/model_int.h"
#include "graph/trials/bundle.h"

static tc_status tell(tc_graph_model *m, const char *name, const tc_graph_tensor *in, const tc_graph_trace *t, tc_arena *a,
                      char **json, tc_error *err) {
    const tc_graph_size_rules *rules = tc_graph_model_sizes(m);
    int64_t *sizes = TC_NEW_N(a, int64_t, rules->nsize);
    tc_graph_roofs roofs = {0};
    TC_TRY(tc_graph_size_rules_bind(rules, in, sizes, err));
    tc_report_timeline l = {.what = tc_arena_printf(a, "%s%s", name, tc_report_sizes_text(a, rules, sizes)),
                            .trace = t,
                            .roofs = &roofs,
                            .smaller = tc_report_sizes_smaller(rules, sizes)};
    tc_graph_model_kernels(m, &l.kernels);
    tc_graph_model_others(m, &l.others);
    tc_graph_measure_roofs(m, &roofs);
    tc_status s = tc_report_text(tc_report_traced(&l), json, err);
    tc_graph_roofs_free(&roofs);
    return s;
}

static tc_status trace_on(tc_graph_model *m, const tctune_trace_options *o, const tc_graph_bundle *in, tc_arena *a, char **json,
                          tc_error *err) {
    tc_graph_tensor *views = tc_xcalloc(in->len + 1, sizeof *views);
    tc_graph_trace t = {0};
    tc_status s = tc_graph_model_match(m, in, views, err);
    if (s == TC_OK)
        s = tc_graph_model_trace(m, views, &t, err);
    else if (o->inputs)
        tc_error_prefix(err, "%s: ", o->inputs);
    if (s == TC_OK)
        s = tell(m, o->name ? o->name : "model", views, &t, a, json, err);
    tc_graph_trace_free(&t);
    free(views);
    return s;
}

static tc_status trace_with(tc_graph_model *m, const tctune_trace_options *o, tc_arena *a, char **json, tc_error *err) {
    const int64_t *sizes;
    tc_graph_bundle in = {0};
    TC_TRY(api_model_sizes(o->at, tc_graph_model_sizes(m), a, &sizes, err));
    tc_status s = tc_graph_inputs_load(m, o->inputs, sizes, o->seed, &in, err);
    if (s == TC_OK)
        s = trace_on(m, o, &in, a, json, err);
    tc_graph_bundle_free(&in);
    return s;
}

static tc_status trace(tc_graph_model *m, const tctune_trace_options *options, char **json, tc_error *err) {
    tctune_trace_options o;
    TC_TRY(API_OPTIONS(o, options, err));
    if (o.at && o.inputs)
        return tc_fail(err, TC_BAD_INPUT, "at and inputs exclude each other: inputs have sizes of their own");
    tc_arena *a = tc_arena_new();
    tc_status s = trace_with(m, &o, a, json, err);
    tc_arena_free(a);
    return s;
}

tctune_status tctune_trace(tctune_model *model, const tctune_trace_options *options, char **json, char *error,
                           size_t error_size) {
    API_DOCUMENT(err, error, error_size, json, trace(model->model, options, json, &err));
}
