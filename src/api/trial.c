/* Tries models on inputs from files (include/tctune/trial.h). */
#include <stdlib.h>

#include "api/model_int.h"
#include "graph/io/numpy.h"

static tc_status compare(const tctune_model *m, const tctune_trial_options *o, const tc_graph_bundle *out, tc_arena *a,
                         char **json, tc_error *err) {
    tc_graph_comparison c;
    tc_graph_tolerance t = {.rtol = api_tolerance(o->rtol), .atol = api_tolerance(o->atol)};
    if (o->expected)
        TC_TRY(tc_graph_outputs_compare(m->model, out, o->expected, &t, a, &c, err));
    return tc_report_text(tc_report_outputs(out, o->expected ? &c : NULL), json, err);
}

static tc_status run(tctune_model *m, const tctune_trial_options *o, tc_graph_bundle *in, tc_graph_bundle *out, tc_arena *a,
                     char **json, tc_error *err) {
    const int64_t *sizes;
    TC_TRY(api_model_sizes(o->at, tc_graph_model_sizes(m->model), a, &sizes, err));
    TC_TRY(tc_graph_inputs_load(m->model, o->inputs, sizes, o->seed, in, err));
    tc_status st = tc_graph_model_run_named(m->model, in, out, err);
    if (st != TC_OK && o->inputs)
        tc_error_prefix(err, "%s: ", o->inputs);
    TC_TRY(st);
    if (o->outputs)
        TC_TRY(tc_graph_npz_save(o->outputs, out->items, out->len, err));
    return compare(m, o, out, a, json, err);
}

static tc_status try(tctune_model *m, const tctune_trial_options *options, char **json, tc_error *err) {
    tctune_trial_options o;
    tc_graph_bundle in = {0}, out = {0};
    TC_TRY(API_OPTIONS(o, options, err));
    if (o.at && o.inputs)
        return tc_fail(err, TC_BAD_INPUT, "at and inputs exclude each other: inputs have sizes of their own");
    tc_arena *a = tc_arena_new();
    tc_status st = run(m, &o, &in, &out, a, json, err);
    tc_graph_bundle_free(&in);
    tc_graph_bundle_free(&out);
    tc_arena_free(a);
    return st;
}

tctune_status tctune_try(tctune_model *m, const tctune_trial_options *options, char **json, char *error, size_t error_size) {
    API_DOCUMENT(err, error, error_size, json, try(m, options, json, &err));
}
