/* Quantises models (include/tctune/quantize.h). */
#include <string.h>

#include "api/api_int.h"
#include "graph/quantize/quantize.h"
#include "support/system/threads.h"

/* ---- options ---- */

static tc_status read_method(const char *v, tc_quantize_method *out, tc_error *err) {
    static const char *const names[] = {
        [TC_QUANTIZE_MINMAX] = "minmax", [TC_QUANTIZE_PERCENTILE] = "percentile", [TC_QUANTIZE_ENTROPY] = "entropy"};
    *out = TC_QUANTIZE_MINMAX;
    for (size_t i = 0; v && i < TC_LEN(names); i++)
        if (strcmp(v, names[i]) == 0)
            *out = (tc_quantize_method)i;
    if (!v || strcmp(v, names[*out]) == 0)
        return TC_OK;
    return tc_fail(err, TC_BAD_INPUT, "method must be minmax, percentile or entropy, not '%s'", v);
}

static tc_status read_activations(const char *v, tc_dtype *out, tc_error *err) {
    *out = v && strcmp(v, "s8") == 0 ? TC_I8 : TC_U8;
    if (!v || strcmp(v, "u8") == 0 || strcmp(v, "s8") == 0)
        return TC_OK;
    return tc_fail(err, TC_BAD_INPUT, "activations must be u8 or s8, not '%s'", v);
}

static tc_status check(const tctune_quantize_options *o, tc_error *err) {
    if (o->dynamic && o->weights)
        return tc_fail(err, TC_BAD_INPUT, "dynamic and weights exclude each other: give one of them");
    if (o->weights && o->weights != 4 && o->weights != 8)
        return tc_fail(err, TC_BAD_INPUT, "weights must have 8 or 4 bits, not %d", o->weights);
    if (!o->dynamic && !o->weights && !api_length(o->data))
        return tc_fail(err, TC_BAD_INPUT,
                       "data are missing: give typical inputs for the ranges of activations, or give dynamic or weights");
    if (o->threads < 0 || o->block < 0 || (o->bounded && !(o->error_budget >= 0)))
        return tc_fail(err, TC_BAD_INPUT, "threads, block and error_budget must not be negative");
    return api_threads_here(o->threads ? o->threads : tc_threads_cores(), err);
}

static tc_status read_options(const tctune_quantize_options *o, tc_quantize_options *out, tc_error *err) {
    *out = (tc_quantize_options){.kind = o->dynamic   ? TC_QUANTIZE_DYNAMIC
                                         : o->weights ? TC_QUANTIZE_WEIGHTS
                                                      : TC_QUANTIZE_STATIC,
                                 .percentile = o->percentile != 0 ? o->percentile : 99.99,
                                 .bits = o->weights,
                                 .block = o->block ? o->block : 32,
                                 .per_tensor = o->per_tensor != 0,
                                 .budget = o->bounded ? o->error_budget : -1,
                                 .keep = o->keep,
                                 .nkeep = api_length(o->keep),
                                 .data = o->data,
                                 .ndata = api_length(o->data),
                                 .threads = o->threads,
                                 .stop = o->stop};
    TC_TRY(check(o, err));
    TC_TRY(read_method(o->method, &out->method, err));
    return read_activations(o->activations, &out->activations, err);
}

/* ---- the report ---- */

static json_t *layers_json(const tc_quantize_report *r) {
    json_t *all = tc_json_array();
    for (size_t i = 0; i < r->nlayers; i++) {
        const tc_quantize_layer *l = &r->layers[i];
        tc_json_append(all, tc_json_pack("{s:s,s:s,s:o,s:b,s:s}", "name", l->name, "operator", l->op, "snr_db",
                                         tc_json_real(l->snr), "quantised", l->why == NULL, "reason", l->why ? l->why : ""));
    }
    return all;
}

static json_t *report_json(const char *out, bool drawn, const tc_quantize_report *r) {
    json_t *outputs = tc_json_array();
    for (size_t i = 0; i < r->noutputs; i++)
        tc_json_append(outputs,
                       tc_json_pack("{s:s,s:o}", "name", r->outputs[i].name, "error", tc_json_real(r->outputs[i].error)));
    return tc_json_pack("{s:s,s:o,s:o,s:o,s:b,s:I,s:I}", "out", out, "layers", layers_json(r), "outputs", outputs, "error",
                        tc_json_real(r->error), "drawn_inputs", drawn, "bytes_before", (json_int_t)r->bytes_before, "bytes_after",
                        (json_int_t)r->bytes_after);
}

/* ---- the call ---- */

static tc_status quantize(const char *model, const char *out, const tctune_quantize_options *o, char **json, tc_error *err) {
    tc_quantize_options q;
    tc_quantize_report report = {0};
    tc_graph_binding *shapes;
    TC_TRY(read_options(o, &q, err));
    TC_TRY(api_fixed_inputs(o->fixed_inputs, err));
    q.fixed = o->fixed_inputs;
    q.nfixed = api_length(o->fixed_inputs);
    q.nshapes = api_length(o->shapes);
    TC_TRY(tc_graph_bindings_parse(o->shapes, q.nshapes, &shapes, err));
    q.shapes = shapes;
    tc_status s = tc_quantize(model, out, &q, &report, err);
    if (s == TC_OK)
        s = tc_report_text(report_json(out, !q.ndata, &report), json, err);
    tc_quantize_report_free(&report);
    tc_graph_bindings_free(shapes, q.nshapes);
    return s;
}

static tctune_status call(const char *model, const char *out, const tctune_quantize_options *o, char **json, char *error,
                          size_t error_size) {
    API_DOCUMENT(err, error, error_size, json, quantize(model, out, o, json, &err));
}

tctune_status tctune_quantize(const char *model, const char *out, const tctune_quantize_options *options, char **json,
                              char *error, size_t error_size) {
    tctune_quantize_options o;
    tc_error err = {0};
    *json = NULL;
    tc_status s = API_OPTIONS(o, options, &err);
    return s == TC_OK ? api_unless_stopped(call(model, out, &o, json, error, error_size), o.stop)
                      : api_answer(s, &err, error, error_size);
}
