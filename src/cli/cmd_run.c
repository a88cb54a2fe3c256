/* tctune run: one run of a network or a built library, its outputs written and compared. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "graph/io/numpy.h"
#include "support/fs.h"

typedef struct run_args {
    tc_cli_common common;
    tc_cli_model_args model;
    const char *inputs, *outputs, *check;
    tc_graph_tolerance tolerance;
    bool json;
} run_args;

static const tc_cli_option options[] = {
    TC_CLI_SOURCE_OPTIONS(run_args, model.source),
    TC_CLI_DB_OPTION(run_args, model.db.path),
    TC_CLI_UNTUNED_OPTION(run_args, model.db.untuned),
    TC_CLI_TARGET_OPTION(run_args, model.target.name),
    TC_CLI_ACCURACY_OPTION(run_args, model.accuracy),
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

/* ---- in and out ---- */

static tc_status random_inputs(tc_graph_model *m, uint64_t seed, tc_graph_bundle *in, tc_error *err) {
    const tc_graph_port *ports;
    int n = tc_graph_model_inputs(m, &ports);
    tc_graph_tensor *t = tc_xcalloc((size_t)n + 1, sizeof *t);
    tc_status st = tc_graph_model_random_inputs(m, seed, t, err);
    *in = (tc_graph_bundle){tc_xcalloc((size_t)n + 1, sizeof *in->items), 0};
    for (int i = 0; i < n && st == TC_OK; i++)
        in->items[in->len++] = (tc_graph_named){tc_xstrdup(ports[i].name), t[i]};
    free(t);
    return st;
}

/* By name when the inputs have the ports' names; a folder of test data is in the ports' order, whatever it calls them. */
static void name_by_position(tc_graph_bundle *b, const tc_graph_port *ports, int n) {
    for (size_t i = 0; i < b->len && (int)i < n; i++) {
        free(b->items[i].name);
        b->items[i].name = tc_xstrdup(ports[i].name);
    }
}

static tc_status load_inputs(const run_args *a, tc_graph_model *m, tc_graph_bundle *in, tc_error *err) {
    const tc_graph_port *ports;
    int n = tc_graph_model_inputs(m, &ports);
    if (!a->inputs)
        return random_inputs(m, a->model.seed, in, err);
    TC_TRY(tc_graph_bundle_load(a->inputs, "input", ports, n, in, err));
    if (tc_fs_is_dir(a->inputs))
        name_by_position(in, ports, n);
    return TC_OK;
}

/* ---- comparing ---- */

typedef struct comparison {
    tc_cli_table table;
    json_t *list;
    int compared, wrong;
} comparison;

static tc_status compare_one(comparison *c, const tc_graph_tolerance *tol, const char *name, const tc_graph_tensor *got,
                             const tc_graph_tensor *want, tc_error *err) {
    tc_graph_diff d;
    tc_status st = tc_graph_tensor_within(got, want, tol, &d, err);
    if (st != TC_OK) {
        tc_error_prefix(err, "output '%s': ", name);
        return st;
    }
    c->compared++;
    c->wrong += d.violations > 0;
    tc_cli_cell(&c->table, "%s", name);
    tc_cli_cell(&c->table, "%.3g", d.rel);
    tc_cli_cell(&c->table, "%.3g", d.max_abs);
    tc_cli_cell(&c->table, "%lld of %lld", (long long)d.violations, (long long)tc_graph_tensor_count(want));
    tc_cli_cell(&c->table, "%s", d.violations ? "DIFFERS" : "ok");
    json_array_append_new(c->list, json_pack("{s:s,s:o,s:o,s:I,s:I,s:b}", "name", name, "error", tc_cli_json_real(d.rel),
                                             "max_abs", tc_cli_json_real(d.max_abs), "violations", (json_int_t)d.violations,
                                             "elements", (json_int_t)tc_graph_tensor_count(want), "ok", d.violations == 0));
    return TC_OK;
}

static tc_status compare_all(comparison *c, const run_args *a, const tc_graph_bundle *out, const tc_graph_bundle *want,
                             tc_error *err) {
    bool by_position = tc_fs_is_dir(a->check);
    for (size_t i = 0; i < want->len; i++) {
        const tc_graph_tensor *got =
            by_position ? (i < out->len ? &out->items[i].t : NULL) : tc_graph_bundle_find(out, want->items[i].name);
        if (got)
            TC_TRY(compare_one(c, &a->tolerance, want->items[i].name, got, &want->items[i].t, err));
    }
    if (c->compared)
        return TC_OK;
    tc_strbuf names = {0};
    for (size_t i = 0; i < out->len; i++)
        tc_sb_printf(&names, "%s%s", i ? ", " : "", out->items[i].name);
    tc_status st = tc_fail(err, TC_BAD_INPUT, "%s: holds none of the outputs: %s", a->check, tc_sb_str(&names));
    tc_strbuf_free(&names);
    return st;
}

static tc_status check(const run_args *a, tc_graph_model *m, const tc_graph_bundle *out, tc_error *err) {
    static const char *const head[] = {"output", ">error", ">largest", ">outside the tolerance", ""};
    const tc_graph_port *ports;
    int n = tc_graph_model_outputs(m, &ports);
    tc_graph_bundle want;
    TC_TRY(tc_graph_bundle_load(a->check, "output", ports, n, &want, err));
    comparison c = {.table = tc_cli_table_new(TC_LEN(head), head), .list = json_array()};
    tc_status st = compare_all(&c, a, out, &want, err);
    if (st == TC_OK && a->json)
        tc_cli_json_print(json_pack("{s:b,s:O}", "ok", c.wrong == 0, "outputs", c.list));
    else if (st == TC_OK)
        tc_cli_table_print(&c.table, stdout);
    if (st == TC_OK && c.wrong)
        st = tc_fail(err, TC_BAD_INPUT, "%d of %d outputs differ from %s by more than the tolerance (--rtol, --atol)", c.wrong,
                     c.compared, a->check);
    json_decref(c.list);
    tc_cli_table_free(&c.table);
    tc_graph_bundle_free(&want);
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

static tc_status run_model(const void *user, tc_graph_model *m, tc_error *err) {
    const run_args *a = user;
    const tc_cli_source_args *s = &a->model.source;
    tc_graph_bundle in = {0}, out = {0};
    tc_status st = load_inputs(a, m, &in, err);
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

static int run(const void *args, tc_error *err) {
    const run_args *a = args;
    int status = tc_cli_check_source(&a->model.source, err);
    if (status != TC_CLI_DONE)
        return status;
    if (a->outputs && tc_fs_check_writable(a->outputs, err) != TC_OK)
        return TC_CLI_FAILED;
    return tc_cli_with_model(&a->model, run_model, a, err);
}

const tc_cli_command tc_cli_run = {
    .name = "run",
    .summary = "run a network or a built library once; write its outputs and compare them with a reference",
    .details = "The error of an output is the largest |ours - reference| over the largest |reference|. With --check, the command "
               "fails when an "
               "element differs by more than atol + rtol * |reference|.",
    TC_CLI_ARGS(run_args, options),
    .defaults = &(const run_args){.model = TC_CLI_MODEL_DEFAULTS, .tolerance = TC_CLI_TOLERANCE_DEFAULTS},
    .run = run,
};
