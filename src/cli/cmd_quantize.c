/* tctune quantize: an f32 model as a quantised one. */
#include <math.h>
#include <string.h>

#include "cli/cli.h"
#include "graph/quantize/quantize.h"

typedef struct quantize_args {
    tc_cli_common common;
    const char *out, *method, *activations;
    tc_cli_texts calibrate, shape, keep;
    bool dynamic, per_tensor, json;
    int weights, block, threads;
    double percentile, budget;
} quantize_args;

static const tc_cli_option options[] = {
    TC_CLI_OUT_OPTION(quantize_args, out),
    TC_CLI_LIST(
        quantize_args, calibrate, "calibrate", "FILE",
        "inputs that stand for those of later use: .npz by name (or in.NAME), or a folder of input_N.pb; more may follow, and "
        "it may be repeated"),
    TC_CLI_TEXT(
        quantize_args, method, "method", "minmax|percentile|entropy",
        "the range of an activation: all that was seen (default); the share of --percentile; what loses least information"),
    TC_CLI_REAL(quantize_args, percentile, "percentile", "P", "share of the values that lies within the range; default 99.99"),
    TC_CLI_TEXT(quantize_args, activations, "activations", "u8|s8", "u8 (default) with any zero point, or s8 around zero"),
    TC_CLI_FLAG(quantize_args, per_tensor, "per-tensor", "one scale for a layer's weights, not one for each output channel"),
    TC_CLI_FLAG(quantize_args, dynamic, "dynamic",
                "matmuls and convolutions find the ranges of their inputs in each run; no calibration is needed"),
    TC_CLI_COUNT(quantize_args, weights, "weights-only", "8|4",
                 "only the weights have so many bits, arithmetic stays in f32; no calibration is needed"),
    TC_CLI_COUNT(quantize_args, block, "block", "N", "rows that share a scale of 4-bit weights, a power of two; default 32"),
    TC_CLI_REAL(
        quantize_args, budget, "error-budget", "E",
        "layers that lose most stay in f32 until max |quantised - f32| / max |f32| of every output is at most E on the data"),
    TC_CLI_LIST(quantize_args, keep, "keep", "NODE", "this layer stays in f32; may be repeated"),
    TC_CLI_SHAPE_OPTION(quantize_args, shape),
    TC_CLI_THREADS_OPTION(quantize_args, threads),
    TC_CLI_NO_CACHE_OPTION(quantize_args),
    TC_CLI_JSON_OPTION(quantize_args, json),
};

/* ---- arguments ---- */

static int read_method(const char *v, tc_quantize_method *out, tc_error *err) {
    static const char *const names[] = {
        [TC_QUANTIZE_MINMAX] = "minmax", [TC_QUANTIZE_PERCENTILE] = "percentile", [TC_QUANTIZE_ENTROPY] = "entropy"};
    for (size_t i = 0; i < TC_LEN(names); i++)
        if (strcmp(v, names[i]) == 0) {
            *out = (tc_quantize_method)i;
            return TC_CLI_DONE;
        }
    return tc_cli_usage(err, "--method is minmax, percentile or entropy, not '%s'", v);
}

static int read_activations(const char *v, tc_dtype *out, tc_error *err) {
    *out = strcmp(v, "s8") == 0 ? TC_I8 : TC_U8;
    return strcmp(v, "u8") == 0 || strcmp(v, "s8") == 0 ? TC_CLI_DONE
                                                        : tc_cli_usage(err, "--activations is u8 or s8, not '%s'", v);
}

static int check(const quantize_args *a, tc_error *err) {
    if (!a->out)
        return tc_cli_usage(err, "--out is missing: where the quantised model is written");
    if (a->dynamic && a->weights)
        return tc_cli_usage(err, "--dynamic and --weights-only are two forms; give one of them");
    if (!a->dynamic && !a->weights && a->calibrate.len == 0)
        return tc_cli_usage(err, "--calibrate is missing: inputs from which the ranges of activations are taken (--dynamic and "
                                 "--weights-only need none)");
    if (a->weights && a->weights != 4 && a->weights != 8)
        return tc_cli_usage(err, "--weights-only is 8 or 4, not %d", a->weights);
    return TC_CLI_DONE;
}

/* What follows the model on the command line are further data files. */
static tc_cli_texts data_files(const quantize_args *a) {
    tc_cli_texts all = {0};
    for (size_t i = 0; i < a->calibrate.len; i++)
        tc_push(&all, a->calibrate.data[i]);
    for (size_t i = 1; i < a->common.operands.len; i++)
        tc_push(&all, a->common.operands.data[i]);
    return all;
}

static int to_options(const quantize_args *a, tc_quantize_options *o, tc_error *err) {
    *o = (tc_quantize_options){
        .kind = a->dynamic   ? TC_QUANTIZE_DYNAMIC
                : a->weights ? TC_QUANTIZE_WEIGHTS
                             : TC_QUANTIZE_STATIC,
        .percentile = a->percentile,
        .bits = a->weights,
        .block = a->block,
        .per_tensor = a->per_tensor,
        .budget = a->budget,
        .keep = a->keep.data,
        .nkeep = a->keep.len,
        .threads = a->threads,
        .stop = tc_cli_stop_flag(),
    };
    int status = read_method(a->method, &o->method, err);
    return status == TC_CLI_DONE ? read_activations(a->activations, &o->activations, err) : status;
}

/* ---- the report ---- */

static void print_layers(const tc_quantize_report *r) {
    tc_cli_table t = tc_cli_table_new(4, (const char *const[]){"layer", "operator", ">SNR", "form"});
    for (size_t i = 0; i < r->nlayers; i++) {
        const tc_quantize_layer *l = &r->layers[i];
        tc_cli_cell(&t, "%s", l->name);
        tc_cli_cell(&t, "%s", l->op);
        if (isfinite(l->snr))
            tc_cli_cell(&t, "%.1f dB", l->snr);
        else
            tc_cli_cell(&t, "-");
        tc_cli_cell(&t, "%s%s", l->why ? "f32: " : "quantised", l->why ? l->why : "");
    }
    tc_cli_table_print(&t, stdout);
    tc_cli_table_free(&t);
}

static void print_report(const quantize_args *a, const tc_quantize_options *o, const tc_quantize_report *r) {
    char before[24], after[24];
    print_layers(r);
    printf("\n%zu of %zu layers quantised, %s -> %s\n", r->nquantized, r->nlayers, tc_cli_bytes(before, (double)r->bytes_before),
           tc_cli_bytes(after, (double)r->bytes_after));
    for (size_t i = 0; i < r->noutputs; i++)
        printf("error of %s: %.3g of its largest value, on %s\n", r->outputs[i].name, r->outputs[i].error,
               o->ndata ? "the calibration data" : "drawn inputs");
    printf("%s\n", a->out);
}

static json_t *layers_json(const tc_quantize_report *r) {
    json_t *all = json_array();
    for (size_t i = 0; i < r->nlayers; i++) {
        const tc_quantize_layer *l = &r->layers[i];
        json_array_append_new(all,
                              json_pack("{s:s,s:s,s:o,s:b,s:s}", "name", l->name, "operator", l->op, "snr_db",
                                        tc_cli_json_real(l->snr), "quantised", l->why == NULL, "reason", l->why ? l->why : ""));
    }
    return all;
}

static void print_json(const quantize_args *a, const tc_quantize_report *r) {
    json_t *outputs = json_array();
    for (size_t i = 0; i < r->noutputs; i++)
        json_array_append_new(outputs,
                              json_pack("{s:s,s:o}", "name", r->outputs[i].name, "error", tc_cli_json_real(r->outputs[i].error)));
    tc_cli_json_print(json_pack("{s:s,s:o,s:o,s:o,s:I,s:I}", "out", a->out, "layers", layers_json(r), "outputs", outputs, "error",
                                tc_cli_json_real(r->error), "bytes_before", (json_int_t)r->bytes_before, "bytes_after",
                                (json_int_t)r->bytes_after));
}

/* ---- the command ---- */

static int quantize(const quantize_args *a, tc_quantize_options *o, tc_error *err) {
    tc_graph_binding *shapes = NULL;
    tc_quantize_report report = {0};
    tc_status st = tc_graph_bindings_parse(a->shape.data, a->shape.len, &shapes, err);
    o->shapes = shapes;
    o->nshapes = a->shape.len;
    if (st == TC_OK)
        st = tc_quantize(a->common.operands.data[0], a->out, o, &report, err);
    if (st == TC_OK && a->json)
        print_json(a, &report);
    else if (st == TC_OK)
        print_report(a, o, &report);
    tc_quantize_report_free(&report);
    tc_graph_bindings_free(shapes, a->shape.len);
    return st == TC_OK ? TC_CLI_DONE : TC_CLI_FAILED;
}

static int run(const void *args, tc_error *err) {
    const quantize_args *a = args;
    tc_quantize_options o;
    int status = check(a, err);
    if (status == TC_CLI_DONE)
        status = to_options(a, &o, err);
    if (status != TC_CLI_DONE)
        return status;
    tc_cli_catch_signals();
    tc_cli_texts data = data_files(a);
    o.data = data.data;
    o.ndata = data.len;
    status = quantize(a, &o, err);
    tc_vec_free(&data);
    return status;
}

const tc_cli_command tc_cli_quantize = {
    .name = "quantize",
    .summary = "write an f32 model in quantised form: static (with calibration data), dynamic, or its weights alone",
    .operands = "MODEL.onnx",
    .details = "The result is an ONNX file that other programs read as well. A table says of each layer (Conv, MatMul and Gemm "
               "with constant "
               "weights) the power of its result over that of what quantising it changes; then how far the model's outputs move. "
               "Nothing is written where --error-budget cannot be kept.",
    TC_CLI_ARGS(quantize_args, options),
    .defaults = &(const quantize_args){.method = "minmax", .activations = "u8", .percentile = 99.99, .budget = -1, .block = 32},
    .run = run,
};
