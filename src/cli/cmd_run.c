/* tctune run: runs a network or a built library once. It can write the outputs to files and compare them with expected outputs. */
#include "cli/commands.h"
#include "cli/work.h"
#include "support/system/fs.h"

typedef struct run_args {
    tc_cli_common common;
    tc_cli_model_args model;
    const char *inputs, *outputs, *check;
    tc_cli_texts at;
    tc_cli_tolerance tolerance;
    tc_cli_format format;
} run_args;

static const tc_cli_option options[] = {
    TC_CLI_SOURCE_OPTIONS(run_args, model.source),
    TC_CLI_AT_OPTION(run_args, at),
    TC_CLI_DB_OPTION(run_args, model.db.path),
    TC_CLI_UNTUNED_OPTION(run_args, model.db.untuned),
    TC_CLI_TARGET_OPTION(run_args, model.target.name),
    TC_CLI_ACCURACY_OPTIONS(run_args, model.accuracy),
    TC_CLI_THREADS_OPTION(run_args, model.target.threads),
    TC_CLI_SEED_OPTION(run_args, model.seed),
    TC_CLI_COMPLETE_OPTION(run_args, model.require_complete),
    TC_CLI_INPUTS_OPTION(run_args, inputs),
    TC_CLI_OUTPUT(run_args, outputs, RESULT, "outputs", "FILE.npz", "write the outputs to this .npz file"),
    TC_CLI_NAMED(
        run_args, check, WHAT, "check", "FILE.npz|DIR",
        "compare the outputs with these: a .npz file with arrays called NAME or out.NAME, or a folder of output_N.pb files"),
    TC_CLI_TOLERANCE_OPTIONS(run_args, tolerance),
    TC_CLI_PASS_OPTIONS(run_args, model.source.passes),
    TC_CLI_NO_CACHE_OPTION(run_args),
    TC_CLI_FORMAT_OPTIONS(run_args, format),
};

/* ---- what is printed ---- */

static void print_outputs(const json_t *outputs) {
    for (size_t i = 0; i < json_array_size(outputs); i++) {
        const json_t *o = json_array_get(outputs, i);
        tc_say(stdout, "%s: %s%s = %s\n", tc_cli_text(o, "name"), tc_cli_text(o, "dtype"), tc_cli_text(o, "shape"),
               tc_cli_text(o, "values"));
    }
}

static void print_values(const json_t *outputs, tc_cli_format format) {
    static const char *const head[] = {"output", "type", "shape", "values"};
    tc_cli_table t = tc_cli_table_new(format, TC_LEN(head), head);
    for (size_t i = 0; i < json_array_size(outputs); i++) {
        const json_t *o = json_array_get(outputs, i);
        tc_cli_cell(&t, "%s", tc_cli_text(o, "name"));
        tc_cli_cell(&t, "%s", tc_cli_text(o, "dtype"));
        tc_cli_cell(&t, "%s", tc_cli_text(o, "shape"));
        tc_cli_cell(&t, "%s", tc_cli_text(o, "values"));
    }
    tc_cli_table_print(&t, stdout);
    tc_cli_table_free(&t);
}

static void print_comparison(const json_t *outputs, tc_cli_format format) {
    static const char *const head[] = {"output", ">error", ">largest", ">outside the tolerance", "verdict"};
    tc_cli_table table = tc_cli_table_new(format, TC_LEN(head), head);
    for (size_t i = 0; i < json_array_size(outputs); i++) {
        const json_t *o = json_array_get(outputs, i);
        tc_cli_cell(&table, "%s", tc_cli_text(o, "name"));
        tc_cli_cell(&table, "%.3g", tc_cli_real(o, "error"));
        tc_cli_cell(&table, "%.3g", tc_cli_real(o, "max_abs"));
        tc_cli_cell(&table, "%lld of %lld", tc_cli_number(o, "violations"), tc_cli_number(o, "elements"));
        tc_cli_cell(&table, "%s", json_is_true(json_object_get(o, "ok")) ? "ok" : "DIFFERS");
    }
    tc_cli_table_print(&table, stdout);
    tc_cli_table_free(&table);
}

static void print(const run_args *a, json_t *j) {
    const json_t *outputs = json_object_get(j, "outputs");
    if (a->format == TC_CLI_JSON) {
        tc_cli_json_print(json_incref(j));
        return;
    }
    if (tc_cli_is_prose(a->format)) {
        print_outputs(outputs);
        print_outputs(json_object_get(j, "not_compared"));
    } else if (!a->check) {
        print_values(outputs, a->format);
    }
    if (a->check)
        print_comparison(outputs, a->format);
}

static int judge(const run_args *a, const json_t *j, tc_error *err) {
    const json_t *outputs = json_object_get(j, "outputs");
    size_t wrong = 0, n = json_array_size(outputs);
    for (size_t i = 0; a->check && i < n; i++)
        wrong += !json_is_true(json_object_get(json_array_get(outputs, i), "ok"));
    if (!wrong)
        return TC_CLI_DONE;
    tc_fail(err, TC_BAD_INPUT, "%zu of %zu outputs differ from %s by more than the tolerance (--rtol, --atol)", wrong, n,
            a->check);
    return TC_CLI_FAILED;
}

/* ---- the command ---- */

static int run_once(const run_args *a, tctune_model *m, tc_error *err) {
    tctune_trial_options o = {.struct_size = sizeof o,
                              .inputs = a->inputs,
                              .at = a->at.data,
                              .seed = a->model.seed,
                              .outputs = a->outputs,
                              .expected = a->check,
                              .rtol = tc_cli_tolerance_of(a->tolerance.rtol),
                              .atol = tc_cli_tolerance_of(a->tolerance.atol)};
    char *text;
    if (tctune_try(m, &o, &text, TC_CLI_SAY(err)) != TCTUNE_OK)
        return TC_CLI_FAILED;
    json_t *j = tc_cli_document(text);
    print(a, j);
    int status = judge(a, j, err);
    json_decref(j);
    return status;
}

static int run(const void *args, tc_error *err) {
    const run_args *a = args;
    tc_cli_model_args model = a->model;
    tctune_model *m;
    model.source.varying = a->at.len > 0;
    int status = tc_cli_work_check(&a->model.source, err);
    if (status != TC_CLI_DONE)
        return status;
    if (a->at.len && a->inputs)
        return tc_cli_usage(err, "--at and --inputs exclude each other: inputs have sizes of their own");
    if (a->outputs && tc_fs_check_writable(a->outputs, err) != TC_OK)
        return TC_CLI_FAILED;
    status = tc_cli_model_open(&model, &m, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_check_model_at(m, &a->at, err);
    if (status == TC_CLI_DONE)
        status = run_once(a, m, err);
    tctune_model_free(m);
    return status;
}

const tc_cli_command tc_cli_run = {
    .name = "run",
    .summary = "run a network or a built library once, write its outputs, and compare them with a reference",
    .source = "MODEL.onnx|LIBRARY.so|KERNEL.te",
    .synopsis = "[--inputs FILE.npz] [--outputs FILE.npz] [--check FILE.npz]",
    .details = "The error of an output is max |ours - reference| / max |reference|. With --check the command "
               "fails if an element differs by more than atol + rtol * |reference|. Where sizes vary, random inputs have the "
               "largest sizes; with "
               "--at they have the given ones.",
    .examples = {{"Run a network on random inputs, and keep its outputs:", "tctune run mlp.onnx --outputs out.npz"},
                 {"Compare a built library with these outputs:", "tctune run mlp.so --check out.npz"}},
    TC_CLI_ARGS(run_args, options),
    .defaults = &(const run_args){.model = TC_CLI_MODEL_DEFAULTS, .tolerance = TC_CLI_TOLERANCE_DEFAULTS},
    .run = run,
};
