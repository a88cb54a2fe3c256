/* tctune quantize: turns an f32 model into a quantised model. */
#include <math.h>
#include <string.h>

#include "cli/commands.h"

typedef struct quantize_args {
    tc_cli_common common;
    const char *out, *method, *activations;
    tc_cli_texts calibrate, shape, fixed, keep;
    bool dynamic, per_tensor;
    tc_cli_format format;
    int weights, block, threads;
    double percentile, budget;
} quantize_args;

static const tc_cli_option options[] = {
    TC_CLI_OUT_OPTION(quantize_args, out, "FILE.onnx", "the quantised model to write"),
    TC_CLI_LIST(quantize_args, calibrate, WHAT, "calibrate", "FILE.npz|DIR",
                "typical inputs, from which the ranges of activations are taken: a .npz file with arrays called NAME or in.NAME, "
                "or a folder of input_N.pb files. May be repeated; files after the model count too"),
    TC_CLI_CHOICE(quantize_args, method, ACCURACY, "method", "minmax|percentile|entropy",
                  "how the range of an activation is chosen. minmax: all values that were seen (default); percentile: the share "
                  "of --percentile; entropy: the range that loses least information"),
    TC_CLI_REAL(quantize_args, percentile, ACCURACY, "percentile", "P",
                "with --method percentile: how many percent of the values lie within the range; default 99.99"),
    TC_CLI_CHOICE(quantize_args, activations, ACCURACY, "activations", "u8|s8",
                  "the type of quantised activations: u8 with any zero point (default), or s8 with the zero point 0"),
    TC_CLI_FLAG(quantize_args, per_tensor, ACCURACY, "per-tensor",
                "use one scale for all weights of a layer, instead of one for each output channel"),
    TC_CLI_FLAG(quantize_args, dynamic, ACCURACY, "dynamic",
                "matmuls and convolutions find the ranges of their inputs anew in each run; no calibration data are needed"),
    TC_CLI_COUNT(quantize_args, weights, ACCURACY, "weights-only", "8|4",
                 "quantise only the weights, to this many bits, and compute in f32; no calibration data are needed"),
    TC_CLI_COUNT(quantize_args, block, ACCURACY, "block", "N",
                 "with --weights-only 4: how many rows share a scale, a power of two; default 32"),
    TC_CLI_REAL(quantize_args, budget, ACCURACY, "error-budget", "E",
                "the largest error of an output on the data, max |quantised - f32| / max |f32|. Layers that lose most stay in "
                "f32 until it is kept"),
    TC_CLI_LIST(quantize_args, keep, ACCURACY, "keep", "NODE", "keep this layer in f32. May be repeated"),
    TC_CLI_SHAPE_OPTION(quantize_args, shape),
    TC_CLI_FIXED_OPTION(quantize_args, fixed),
    TC_CLI_THREADS_OPTION(quantize_args, threads),
    TC_CLI_NO_CACHE_OPTION(quantize_args),
    TC_CLI_FORMAT_OPTIONS(quantize_args, format),
};

/* ---- arguments ---- */

static int check(const quantize_args *a, tc_error *err) {
    if (!a->out)
        return tc_cli_usage(err, "--out is missing: give the file for the quantised model");
    if (a->dynamic && a->weights)
        return tc_cli_usage(err, "--dynamic and --weights-only exclude each other; give one of them");
    if (!a->dynamic && !a->weights && a->calibrate.len == 0)
        return tc_cli_usage(err, "--calibrate is missing: give typical inputs, from which tctune takes the ranges of "
                                 "activations; or give --dynamic or --weights-only");
    if (a->weights && a->weights != 4 && a->weights != 8)
        return tc_cli_usage(err, "--weights-only must be 8 or 4, not %d", a->weights);
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
static size_t print_layers(const json_t *layers, tc_cli_format format) {
    static const char *const head[] = {"layer", "operator", ">SNR|dB", "form"};
    tc_cli_table t = tc_cli_table_new(format, TC_LEN(head), head);
    size_t i, n = 0;
    const json_t *l;
    json_array_foreach(layers, i, l) {
        double snr = tc_cli_real(l, "snr_db");
        n += json_is_true(json_object_get(l, "quantised"));
        tc_cli_cell(&t, "%s", tc_cli_text(l, "name"));
        tc_cli_cell(&t, "%s", tc_cli_text(l, "operator"));
        if (isfinite(snr) && format != TC_CLI_CSV)
            tc_cli_cell(&t, "%.1f dB", snr);
        else
            tc_cli_cell_real(&t, 1, snr);
        tc_cli_cell(&t, "%s", form_of(l, t.arena));
    }
    tc_cli_table_print(&t, stdout);
    tc_cli_table_free(&t);
    return n;
}

static void print_report(const json_t *r, tc_cli_format format) {
    const json_t *layers = json_object_get(r, "layers"), *outputs = json_object_get(r, "outputs"), *o;
    char before[24], after[24];
    size_t i, n = print_layers(layers, format);
    if (!tc_cli_is_prose(format))
        return;
    tc_say(stdout, "\n%zu of %zu layers quantised, %s -> %s\n", n, json_array_size(layers),
           tc_text_bytes(before, tc_cli_real(r, "bytes_before")), tc_text_bytes(after, tc_cli_real(r, "bytes_after")));
    json_array_foreach(outputs, i, o) {
        tc_say(stdout, "error of %s: %.3g of its largest value, on %s\n", tc_cli_text(o, "name"), tc_cli_real(o, "error"),
               json_is_true(json_object_get(r, "drawn_inputs")) ? "random inputs" : "the calibration data");
    }
    tc_say(stdout, "%s\n", tc_cli_text(r, "out"));
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
                                 .fixed_inputs = a->fixed.data,
                                 .threads = a->threads,
                                 .stop = tc_cli_stop_flag()};
    tc_cli_catch_signals();
    status = tc_cli_status(tctune_quantize(a->common.operands.data[0], a->out, &o, &text, TC_CLI_SAY(err)));
    if (status == TC_CLI_DONE)
        tc_cli_tell(text, a->format, print_report);
    tc_vec_free(&data);
    return status;
}

const tc_cli_command tc_cli_quantize = {
    .name = "quantize",
    .summary = "write an f32 model in quantised form: static (with calibration data), dynamic, or only its weights",
    .operands = "MODEL.onnx",
    .synopsis = "(--calibrate FILE.npz | --dynamic | --weights-only 8|4) -o FILE.onnx",
    .details = "The result is an ONNX file that other programs can read. A table lists the layers that can be quantised: Conv, "
               "MatMul and Gemm "
               "with constant weights. For each it shows the ratio of signal to noise (SNR): the power of the layer's result "
               "over the power of its error. "
               "Below it stands how far the outputs of the model move. If --error-budget cannot be kept, nothing is written.",
    .examples = {{"Quantise with the ranges of typical inputs:",
                  "tctune quantize mlp.onnx --calibrate batch.npz -o mlp-int8.onnx"},
                 {"Quantise only the weights, to 8 bits:", "tctune quantize mlp.onnx --weights-only 8 -o mlp-w8.onnx"}},
    TC_CLI_ARGS(quantize_args, options),
    .defaults = &(const quantize_args){.method = "minmax", .activations = "u8", .percentile = 99.99, .budget = -1, .block = 32},
    .run = run,
};
