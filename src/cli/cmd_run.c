/* tctune run: one run of a network or a built library, its outputs written and compared. */
#include "cli/cli.h"
#include "graph/io/numpy.h"
#include "support/system/fs.h"

typedef struct run_args {
    tc_cli_common common;
    tc_cli_model_args model;
    const char *inputs, *outputs, *check;
    tc_cli_texts at;
    tc_graph_tolerance tolerance;
    bool json;
} run_args;

static const tc_cli_option options[] = {
    TC_CLI_SOURCE_OPTIONS(run_args, model.source),
    TC_CLI_AT_OPTION(run_args, at),
    TC_CLI_DB_OPTION(run_args, model.db.path),
    TC_CLI_UNTUNED_OPTION(run_args, model.db.untuned),
    TC_CLI_TARGET_OPTION(run_args, model.target.name),
    TC_CLI_ACCURACY_OPTION(run_args, model.accuracy),
    TC_CLI_PRECISION_OPTION(run_args, model.accuracy),
    TC_CLI_THREADS_OPTION(run_args, model.target.threads),
    TC_CLI_SEED_OPTION(run_args, model.seed),
    TC_CLI_COMPLETE_OPTION(run_args, model.require_complete),
    TC_CLI_INPUTS_OPTION(run_args, inputs),
    TC_CLI_TEXT(run_args, outputs, "outputs", "FILE", ".npz that the outputs are written to"),
    TC_CLI_TEXT(run_args, check, "check", "FILE", ".npz with expected outputs by name (or out.NAME), or a folder of output_N.pb"),
    TC_CLI_TOLERANCE_OPTIONS(run_args, tolerance),
    TC_CLI_PASS_OPTIONS(run_args, model.source.passes),
    TC_CLI_NO_CACHE_OPTION(run_args),
    TC_CLI_JSON_OPTION(run_args, json),
};

/* ---- what is printed ---- */

static void print_comparison(const run_args *a, const tc_graph_comparison *c) {
    static const char *const head[] = {"output", ">error", ">largest", ">outside the tolerance", ""};
    tc_cli_table table = tc_cli_table_new(TC_LEN(head), head);
    json_t *list = json_array();
    for (int i = 0; i < c->n; i++) {
        const tc_graph_compared *o = &c->data[i];
        const tc_graph_diff *d = &o->diff;
        tc_cli_cell(&table, "%s", o->name);
        tc_cli_cell(&table, "%.3g", d->rel);
        tc_cli_cell(&table, "%.3g", d->max_abs);
        tc_cli_cell(&table, "%lld of %lld", (long long)d->violations, (long long)o->elements);
        tc_cli_cell(&table, "%s", d->violations ? "DIFFERS" : "ok");
        json_array_append_new(list, json_pack("{s:s,s:o,s:o,s:I,s:I,s:b}", "name", o->name, "error", tc_cli_json_real(d->rel),
                                              "max_abs", tc_cli_json_real(d->max_abs), "violations", (json_int_t)d->violations,
                                              "elements", (json_int_t)o->elements, "ok", d->violations == 0));
    }
    if (a->json)
        tc_cli_json_print(json_pack("{s:b,s:O}", "ok", c->wrong == 0, "outputs", list));
    else
        tc_cli_table_print(&table, stdout);
    json_decref(list);
    tc_cli_table_free(&table);
}

static tc_status check(const run_args *a, tc_graph_model *m, const tc_graph_bundle *out, tc_error *err) {
    tc_arena *arena = tc_arena_new();
    tc_graph_comparison c;
    tc_status st = tc_graph_outputs_compare(m, out, a->check, &a->tolerance, arena, &c, err);
    if (st == TC_OK)
        print_comparison(a, &c);
    if (st == TC_OK && c.wrong)
        st = tc_fail(err, TC_BAD_INPUT, "%d of %d outputs differ from %s by more than the tolerance (--rtol, --atol)", c.wrong,
                     c.n, a->check);
    tc_arena_free(arena);
    return st;
}

static void describe(const run_args *a, const tc_graph_bundle *out) {
    tc_strbuf b = {0};
    json_t *list = json_array();
    for (size_t i = 0; i < out->len; i++) {
        const tc_graph_tensor *t = &out->items[i].t;
        tc_sb_clear(&b);
        tc_graph_shape_print(&b, &t->shape);
        if (!a->json)
            printf("%s: %s%s = ", out->items[i].name, tc_dtype_name(t->dtype), tc_sb_str(&b));
        json_array_append_new(list, json_pack("{s:s,s:s,s:s}", "name", out->items[i].name, "dtype", tc_dtype_name(t->dtype),
                                              "shape", tc_sb_str(&b)));
        tc_sb_clear(&b);
        tc_graph_tensor_print_values(&b, t, 8);
        if (!a->json)
            printf("%s\n", tc_sb_str(&b));
    }
    if (a->json && !a->check)
        tc_cli_json_print(json_pack("{s:O}", "outputs", list));
    json_decref(list);
    tc_strbuf_free(&b);
}

/* ---- the command ---- */

static tc_status run_once(const run_args *a, tc_graph_model *m, const int64_t *sizes, tc_error *err) {
    const tc_cli_source_args *s = &a->model.source;
    tc_graph_bundle in = {0}, out = {0};
    tc_status st = tc_graph_inputs_load(m, a->inputs, sizes, a->model.seed, &in, err);
    if (st == TC_OK && (st = tc_graph_model_run_named(m, &in, &out, err)) != TC_OK)
        tc_error_prefix(err, "%s: ", a->inputs ? a->inputs : s->model ? s->model : s->te);
    if (st == TC_OK && a->outputs)
        st = tc_graph_npz_save(a->outputs, out.items, out.len, err);
    if (st == TC_OK && !(a->check && a->json))
        describe(a, &out);
    if (st == TC_OK && a->check)
        st = check(a, m, &out, err);
    tc_graph_bundle_free(&in);
    tc_graph_bundle_free(&out);
    return st;
}

static int run_model(const void *user, tc_graph_model *m, tc_error *err) {
    const run_args *a = user;
    tc_arena *arena = tc_arena_new();
    const int64_t *sizes;
    int status = tc_cli_at_network(&a->at, tc_graph_model_sizes(m), arena, &sizes, err);
    if (status == TC_CLI_DONE && run_once(a, m, sizes, err) != TC_OK)
        status = TC_CLI_FAILED;
    tc_arena_free(arena);
    return status;
}

static int run(const void *args, tc_error *err) {
    const run_args *a = args;
    tc_cli_model_args model = a->model;
    model.source.varying = a->at.len > 0;
    int status = tc_cli_check_source(&a->model.source, err);
    if (status != TC_CLI_DONE)
        return status;
    if (a->at.len && a->inputs)
        return tc_cli_usage(err, "--at and --inputs exclude each other: inputs have sizes of their own");
    if (a->outputs && tc_fs_check_writable(a->outputs, err) != TC_OK)
        return TC_CLI_FAILED;
    return tc_cli_with_model(&model, run_model, a, err);
}

const tc_cli_command tc_cli_run = {
    .name = "run",
    .summary = "run a network or a built library once; write its outputs and compare them with a reference",
    .details = "The error of an output is the largest |ours - reference| over the largest |reference|. With --check, the command "
               "fails when an "
               "element differs by more than atol + rtol * |reference|. Where sizes vary, drawn inputs have the largest; with "
               "--at those, and the least above 0 that it does not tell.",
    TC_CLI_ARGS(run_args, options),
    .defaults = &(const run_args){.model = TC_CLI_MODEL_DEFAULTS, .tolerance = TC_CLI_TOLERANCE_DEFAULTS},
    .run = run,
};
