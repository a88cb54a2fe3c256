/* tctune verify: the ONNX project's test-case folders, each a model.onnx with test_data_set_N folders of inputs and outputs. */
#include "cli/cli.h"
#include "graph/trials/cases.h"

typedef struct verify_args {
    tc_cli_common common;
    tc_cli_texts shape;
    tc_cli_pass_args passes;
    tc_cli_db_args db;
    tc_cli_target_args target;
    tc_accuracy accuracy;
    tc_graph_tolerance tolerance;
    bool no_constants, json;
} verify_args;

static const tc_cli_option options[] = {
    TC_CLI_SHAPE_OPTION(verify_args, shape),
    TC_CLI_DB_OPTION(verify_args, db.path),
    TC_CLI_TARGET_OPTION(verify_args, target.name),
    TC_CLI_ACCURACY_OPTION(verify_args, accuracy),
    TC_CLI_PRECISION_OPTION(verify_args, accuracy),
    TC_CLI_THREADS_OPTION(verify_args, target.threads),
    TC_CLI_TOLERANCE_OPTIONS(verify_args, tolerance),
    TC_CLI_PASS_OPTIONS(verify_args, passes),
    TC_CLI_NO_CACHE_OPTION(verify_args),
    TC_CLI_FLAG(verify_args, no_constants, "no-constants",
                "never give a case's inputs as constants: a model that needs it fails, as it does in build"),
    TC_CLI_JSON_OPTION(verify_args, json),
};

typedef struct tally {
    const verify_args *args;
    tc_graph_case_options options;
    json_t *cases;
    int count[3], with_constants; /* count: by verdict */
} tally;

/* ---- one case ---- */

static const char *const verdicts[] = {
    [TC_GRAPH_CASE_PASSED] = "passed", [TC_GRAPH_CASE_FAILED] = "failed", [TC_GRAPH_CASE_SKIPPED] = "skipped"};

static json_t *case_json(const char *dir, const tc_graph_case *c) {
    json_t *constants = json_array();
    for (size_t i = 0; i < c->nconstants; i++)
        json_array_append_new(constants, json_string(c->constants[i]));
    return json_pack("{s:s,s:s,s:s,s:o,s:s}", "case", dir, "result", verdicts[c->verdict], "reason", c->why, "constants",
                     constants, "without_constants", c->without ? c->without : "");
}

static void print_constants(const tc_graph_case *c) {
    printf("         with ");
    for (size_t i = 0; i < c->nconstants; i++)
        printf("%s'%s'", i ? ", " : "", c->constants[i]);
    printf(" given as constant%s, for without: %s\n", c->nconstants == 1 ? "" : "s", c->without);
}

static void print_case(const char *dir, const tc_graph_case *c) {
    if (c->verdict == TC_GRAPH_CASE_PASSED)
        printf("passed   %s\n", dir);
    else
        printf("%-8s %s: %s\n", verdicts[c->verdict], dir, c->why);
    if (c->without)
        print_constants(c);
    fflush(stdout);
}

static void run_case(void *user, const char *dir) {
    tally *t = user;
    tc_arena *arena = tc_arena_new();
    tc_graph_case c = tc_graph_case_run(dir, &t->options, arena);
    t->count[c.verdict]++;
    t->with_constants += c.without != NULL;
    if (t->args->json)
        json_array_append_new(t->cases, case_json(dir, &c));
    else
        print_case(dir, &c);
    tc_arena_free(arena);
}

/* ---- the command ---- */

static int finish(tally *t, tc_error *err) {
    const int *c = t->count;
    if (t->args->json)
        tc_cli_json_print(json_pack("{s:i,s:i,s:i,s:i,s:O}", "passed", c[TC_GRAPH_CASE_PASSED], "failed", c[TC_GRAPH_CASE_FAILED],
                                    "skipped", c[TC_GRAPH_CASE_SKIPPED], "with_constants", t->with_constants, "cases", t->cases));
    else
        printf("%d passed, %d failed, %d skipped", c[TC_GRAPH_CASE_PASSED], c[TC_GRAPH_CASE_FAILED], c[TC_GRAPH_CASE_SKIPPED]);
    if (!t->args->json && t->with_constants)
        printf("; %d had inputs given as constants", t->with_constants);
    if (!t->args->json)
        putchar('\n');
    if (*tc_cli_stop_flag()) {
        tc_fail(err, TC_ENV, "stopped before the end");
        return TC_CLI_FAILED;
    }
    return c[TC_GRAPH_CASE_FAILED] ? TC_CLI_FAILED : TC_CLI_DONE;
}

static int run(const void *args, tc_error *err) {
    const verify_args *a = args;
    tally t = {.args = a, .cases = json_array()};
    tc_target *target = NULL;
    tc_meas_db *db = NULL;
    int status = tc_cli_check_passes(&a->passes, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_target(&a->target, true, &target, err);
    tc_cli_catch_signals();
    if (status == TC_CLI_DONE && a->db.path && tc_cli_db_read(&a->db, &db, err) != TC_OK)
        status = TC_CLI_FAILED;
    t.options = (tc_graph_case_options){.shapes = a->shape.data,
                                        .nshapes = a->shape.len,
                                        .passes = tc_cli_pass_options(&a->passes),
                                        .target = target,
                                        .accuracy = a->accuracy,
                                        .db = db,
                                        .tolerance = a->tolerance,
                                        .no_constants = a->no_constants};
    for (size_t i = 0; i < a->common.operands.len && status == TC_CLI_DONE && !*tc_cli_stop_flag(); i++)
        if (!tc_graph_cases_walk(a->common.operands.data[i], tc_cli_stop_flag(), run_case, &t)) {
            tc_fail(err, TC_BAD_INPUT, "%s: there is no test case (a folder with model.onnx and test_data_set_0) in it",
                    a->common.operands.data[i]);
            status = TC_CLI_FAILED;
        }
    if (status == TC_CLI_DONE)
        status = finish(&t, err);
    json_decref(t.cases);
    tc_meas_db_close(db);
    tc_target_free(target);
    return status;
}

const tc_cli_command tc_cli_verify = {
    .name = "verify",
    .summary = "run ONNX test cases (folders of model.onnx with test_data_set_N) and compare their outputs",
    .operands = "DIR...",
    .details =
        "Each DIR is a case or holds cases at any depth. A model with something that is not supported is skipped, with "
        "the reason. One that asks for inputs when it is imported (axes, shapes) gets the data set's as constants, and that "
        "is said: build, which has no data, refuses it. Symbolic sizes of which --shape says nothing are the data set's.",
    TC_CLI_ARGS(verify_args, options),
    .defaults = &(
        const verify_args){.passes = TC_CLI_PASS_DEFAULTS, .accuracy = TC_ACCURACY_FAST, .tolerance = TC_CLI_TOLERANCE_DEFAULTS},
    .run = run,
};
