/* tctune quantize: an f32 model as a quantised one. */
#include <math.h>
#include <string.h>

#include "cli/commands.h"

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
        quantize_args, calibrate, "calibrate", "FILE.npz|DIR",
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
    if (strcmp(a->method, "minmax") != 0 && strcmp(a->method, "percentile") != 0 && strcmp(a->method, "entropy") != 0)
        return tc_cli_usage(err, "--method is minmax, percentile or entropy, not '%s'", a->method);
    if (strcmp(a->activations, "u8") != 0 && strcmp(a->activations, "s8") != 0)
        return tc_cli_usage(err, "--activations is u8 or s8, not '%s'", a->activations);
    return TC_CLI_DONE;
}

/* What follows the model on the command line are further data files. */
static tc_cli_texts data_files(const quantize_args *a) {
    tc_cli_texts all = {0};
    for (size_t i = 0; i < a->calibrate.len; i++)
        tc_cli_add_text(&all, a->calibrate.data[i]);
    for (size_t i = 1; i < a->common.operands.len; i++)
        tc_cli_add_text(&all, a->common.operands.data[i]);
    return all;
}

/* ---- the report ---- */

static const char *form_of(const json_t *layer, tc_arena *a) {
    return json_is_true(json_object_get(layer, "quantised")) ? "quantised"
                                                             : tc_arena_printf(a, "f32: %s", tc_cli_text(layer, "reason"));
}

/* How many are quantised. */
static size_t print_layers(const json_t *layers) {
    tc_cli_table t = tc_cli_table_new(4, (const char *const[]){"layer", "operator", ">SNR", "form"});
    size_t i, n = 0;
    const json_t *l;
    json_array_foreach(layers, i, l) {
        double snr = tc_cli_real(l, "snr_db");
        n += json_is_true(json_object_get(l, "quantised"));
        tc_cli_cell(&t, "%s", tc_cli_text(l, "name"));
        tc_cli_cell(&t, "%s", tc_cli_text(l, "operator"));
        if (isfinite(snr))
            tc_cli_cell(&t, "%.1f dB", snr);
        else
            tc_cli_cell(&t, "-");
        tc_cli_cell(&t, "%s", form_of(l, t.arena));
    }
    tc_cli_table_print(&t, stdout);
    tc_cli_table_free(&t);
    return n;
}

static void print_report(const json_t *r) {
    const json_t *layers = json_object_get(r, "layers"), *outputs = json_object_get(r, "outputs"), *o;
    char before[24], after[24];
    size_t i, n = print_layers(layers);
    printf("\n%zu of %zu layers quantised, %s -> %s\n", n, json_array_size(layers),
           tc_text_bytes(before, tc_cli_real(r, "bytes_before")), tc_text_bytes(after, tc_cli_real(r, "bytes_after")));
    json_array_foreach(outputs, i, o) {
        printf("error of %s: %.3g of its largest value, on %s\n", tc_cli_text(o, "name"), tc_cli_real(o, "error"),
               json_is_true(json_object_get(r, "drawn_inputs")) ? "drawn inputs" : "the calibration data");
    }
    printf("%s\n", tc_cli_text(r, "out"));
}

/* ---- the command ---- */

static int run(const void *args, tc_error *err) {
    const quantize_args *a = args;
    char *text;
    int status = check(a, err);
    if (status != TC_CLI_DONE)
        return status;
    tc_cli_texts data = data_files(a);
    tctune_quantize_options o = {.struct_size = sizeof o,
                                 .dynamic = a->dynamic,
                                 .weights = a->weights,
                                 .data = data.data,
                                 .method = a->method,
                                 .percentile = a->percentile,
                                 .activations = a->activations,
                                 .block = a->block,
                                 .per_tensor = a->per_tensor,
                                 .bounded = a->budget >= 0,
                                 .error_budget = a->budget,
                                 .keep = a->keep.data,
                                 .shapes = a->shape.data,
                                 .threads = a->threads,
                                 .stop = tc_cli_stop_flag()};
    tc_cli_catch_signals();
    status = tc_cli_status(tctune_quantize(a->common.operands.data[0], a->out, &o, &text, TC_CLI_SAY(err)));
    if (status == TC_CLI_DONE)
        tc_cli_tell(text, a->json, print_report);
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
