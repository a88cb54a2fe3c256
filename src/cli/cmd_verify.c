/* tctune verify: runs the test cases of the ONNX project. Each case is a folder with a model.onnx and folders test_data_set_N,
 * which hold inputs and outputs. */
#include <string.h>

#include "cli/commands.h"
#include "cli/work.h"

typedef struct verify_args {
    tc_cli_common common;
    tc_cli_texts shape, fixed;
    tc_cli_pass_args passes;
    tc_cli_db_args db;
    tc_cli_target_args target;
    tc_cli_accuracy_args accuracy;
    tc_cli_tolerance tolerance;
    bool no_constants, json;
} verify_args;

static const tc_cli_option options[] = {
    TC_CLI_SHAPE_OPTION(verify_args, shape),
    TC_CLI_FIXED_OPTION(verify_args, fixed),
    TC_CLI_DB_OPTION(verify_args, db.path),
    TC_CLI_TARGET_OPTION(verify_args, target.name),
    TC_CLI_ACCURACY_OPTIONS(verify_args, accuracy),
    TC_CLI_THREADS_OPTION(verify_args, target.threads),
    TC_CLI_TOLERANCE_OPTIONS(verify_args, tolerance),
    TC_CLI_PASS_OPTIONS(verify_args, passes),
    TC_CLI_NO_CACHE_OPTION(verify_args),
    TC_CLI_FLAG(verify_args, no_constants, EXPERT, "no-constants",
                "never use inputs of a case as constants. A model that needs constants then fails, as it does in build"),
    TC_CLI_JSON_OPTION(verify_args, json),
};

/* ---- one case ---- */

static void print_constants(const json_t *c) {
    const json_t *constants = json_object_get(c, "constants"), *name;
    size_t i, n = json_array_size(constants);
    tc_say(stdout, "         with ");
    json_array_foreach(constants, i, name) {
        tc_say(stdout, "%s'%s'", i ? ", " : "", json_string_value(name));
    }
    tc_say(stdout, " given as constant%s; without: %s\n", n == 1 ? "" : "s", tc_cli_text(c, "without_constants"));
}

static void print_case(const json_t *c) {
    const char *result = tc_cli_text(c, "result"), *reason = tc_cli_text(c, "reason");
    tc_say(stdout, "%-8s %s%s%s\n", result, tc_cli_text(c, "case"), strcmp(result, "passed") == 0 ? "" : ": ",
           strcmp(result, "passed") == 0 ? "" : reason);
    if (*tc_cli_text(c, "without_constants"))
        print_constants(c);
    fflush(stdout);
}

static void on_case(void *user, const char *json) {
    json_t *c = tc_json_read_own(json);
    (void)user;
    print_case(c);
    json_decref(c);
}

/* ---- all of them ---- */

static void print_counts(const json_t *d, tc_cli_format format) {
    (void)format;
    tc_say(stdout, "%lld passed, %lld failed, %lld skipped", tc_cli_number(d, "passed"), tc_cli_number(d, "failed"),
           tc_cli_number(d, "skipped"));
    if (tc_cli_number(d, "with_constants"))
        tc_say(stdout, "; %lld had inputs given as constants", tc_cli_number(d, "with_constants"));
    tc_say(stdout, "\n");
}

static int verify(const verify_args *a, const tctune_cases_options *o, tc_error *err) {
    char *text;
    tctune_status s = tctune_verify_cases(a->common.operands.data, o, &text, TC_CLI_SAY(err));
    if (s != TCTUNE_OK && s != TCTUNE_STOPPED)
        return TC_CLI_FAILED;
    json_t *d = tc_cli_document(text);
    bool failed = tc_cli_number(d, "failed") > 0;
    tc_cli_tell_of(d, a->json ? TC_CLI_JSON : TC_CLI_TABLE, print_counts);
    json_decref(d);
    return failed ? TC_CLI_FAILED : tc_cli_status(s);
}

static int run(const void *args, tc_error *err) {
    const verify_args *a = args;
    tctune_cases_options o = {.struct_size = sizeof o,
                              .shapes = a->shape.data,
                              .fixed_inputs = a->fixed.data,
                              .level = tc_cli_level(&a->passes),
                              .without = a->passes.disable.data,
                              .dump_graph = a->passes.dump,
                              .pass_times = a->passes.times,
                              .target = a->target.name,
                              .threads = a->target.threads,
                              .accuracy = a->accuracy.accuracy,
                              .precision = a->accuracy.precision,
                              .database = a->db.path,
                              .rtol = tc_cli_tolerance_of(a->tolerance.rtol),
                              .atol = tc_cli_tolerance_of(a->tolerance.atol),
                              .no_constants = a->no_constants,
                              .stop = tc_cli_stop_flag(),
                              .each = a->json ? NULL : on_case};
    int status = tc_cli_check_target(&a->target, true, err);
    if (status == TC_CLI_DONE && tctune_cases_check(&o, TC_CLI_SAY(err)) != TCTUNE_OK)
        status = TC_CLI_USAGE;
    tc_cli_catch_signals();
    return status == TC_CLI_DONE ? verify(a, &o, err) : status;
}

const tc_cli_command tc_cli_verify = {
    .name = "verify",
    .summary = "run ONNX test cases (folders with model.onnx and test_data_set_N) and compare their outputs",
    .operands = "DIR...",
    .details =
        "Each DIR is a test case, or holds test cases at any depth. A model that needs something unsupported is skipped, and the "
        "table says why. "
        "Some models ask for the values of inputs when they are imported (axes, shapes). They get the values of the data set as "
        "constants, and the table says "
        "so; build has no data, and refuses such a model. Inputs and outputs may be sequences and optionals: each element "
        "becomes an "
        "input or output of the model, NAME[0], NAME[1], ... Symbolic sizes that --shape does not give are those of the data "
        "set.",
    .examples = {{"Run all test cases in a folder:", "tctune verify node"},
                 {"Run one case with tight tolerances:", "tctune verify node/test_softmax_axis_1 --rtol 1e-5 --atol 1e-6"}},
    TC_CLI_ARGS(verify_args, options),
    .defaults = &(const verify_args){.passes = TC_CLI_PASS_DEFAULTS, .tolerance = TC_CLI_TOLERANCE_DEFAULTS},
    .run = run,
};
