/* tctune verify: the ONNX project's test-case folders, each a model.onnx with test_data_set_N folders of inputs and outputs. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "graph/onnx/import.h"
#include "support/fs.h"

enum { MAX_DEPTH = 6 };

typedef struct verify_args {
    tc_cli_common common;
    tc_cli_texts shape;
    tc_cli_pass_args passes;
    tc_cli_db_args db;
    tc_cli_target_args target;
    tc_accuracy accuracy;
    tc_cli_tolerance tolerance;
    bool no_constants, json;
} verify_args;

static const tc_cli_option options[] = {
    TC_CLI_SHAPE_OPTION(verify_args, shape),
    TC_CLI_DB_OPTION(verify_args, db.path),
    TC_CLI_TARGET_OPTION(verify_args, target.name),
    TC_CLI_ACCURACY_OPTION(verify_args, accuracy),
    TC_CLI_THREADS_OPTION(verify_args, target.threads),
    TC_CLI_TOLERANCE_OPTIONS(verify_args, tolerance),
    TC_CLI_PASS_OPTIONS(verify_args, passes),
    TC_CLI_NO_CACHE_OPTION(verify_args),
    TC_CLI_FLAG(verify_args, no_constants, "no-constants",
                "never give a case's inputs as constants: a model that needs it fails, as it does in build"),
    TC_CLI_JSON_OPTION(verify_args, json),
};

typedef enum verdict { PASSED, FAILED, SKIPPED } verdict;

typedef struct tally {
    const verify_args *args;
    const tc_target *target;
    tc_meas_db *db;
    json_t *cases;
    int count[3], with_constants;
} tally;

/* What a case needed. */
typedef struct assumed {
    tc_cli_texts constants; /* names of the inputs that were given as constants; malloc'ed */
    char *why;              /* the refusal without them; NULL: there was none */
} assumed;

/* ---- files ---- */

static char *join(const char *dir, const char *name) {
    tc_strbuf b = {0};
    tc_sb_printf(&b, "%s/%s", dir, name);
    return b.data;
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorted paths of the folders in `dir` whose names start with `prefix`. */
static void list_folders(const char *dir, const char *prefix, char ***out, size_t *n) {
    TC_VEC(char *) v = {0};
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (e->d_name[0] == '.' || strncmp(e->d_name, prefix, strlen(prefix)) != 0)
            continue;
        char *path = join(dir, e->d_name);
        if (tc_fs_is_dir(path))
            tc_push(&v, path);
        else
            free(path);
    }
    if (d)
        closedir(d);
    if (v.len)
        qsort(v.data, v.len, sizeof *v.data, by_text);
    *out = v.data;
    *n = v.len;
}

static void free_list(char **list, size_t n) {
    for (size_t i = 0; i < n; i++)
        free(list[i]);
    free(list);
}

/* ---- one case ---- */

/* Without the path, which the line begins with, and without the list of all that is supported. */
static char *shorten(const char *why, const char *model) {
    size_t len = strlen(model);
    if (strncmp(why, model, len) == 0 && strncmp(why + len, ": ", 2) == 0)
        why += len + 2;
    char *copy = tc_xstrdup(why), *list = strstr(copy, ". Supported:");
    if (list)
        *list = 0;
    return copy;
}

static void forget(assumed *x) {
    for (size_t i = 0; i < x->constants.len; i++)
        free((char *)(uintptr_t)x->constants.data[i]);
    x->constants.len = 0;
}

static tc_status import_with(const char *path, tc_graph_import_options *o, const tc_graph_named *constants, size_t n, assumed *x,
                             tc_graph **g, tc_error *err) {
    forget(x);
    for (size_t i = 0; i < n; i++)
        tc_push(&x->constants, tc_xstrdup(constants[i].name ? constants[i].name : ""));
    o->constants = constants;
    o->nconstants = n;
    return tc_graph_import(path, o, g, err);
}

/* Import asks for some inputs (axes, shapes) as constants; cases feed them as inputs. Then the integer ones after the first are
 * given as constants, and if that is not enough, all after the first, or all, which leaves nothing to compute. That is another
 * model than build would see: *x says so. */
static tc_status import_case(const tally *t, const char *path, const tc_graph_bundle *in, assumed *x, tc_graph **g,
                             tc_error *err) {
    tc_graph_binding *shapes;
    if (tc_cli_bindings(&t->args->shape, &shapes, err) != TC_CLI_DONE)
        return TC_BAD_INPUT;
    tc_graph_import_options o = {.shapes = shapes, .nshapes = t->args->shape.len};
    tc_status st = tc_graph_import(path, &o, g, err);
    if (st != TC_OK && tc_error_wants_constant(err) && !t->args->no_constants) {
        tc_graph_named *constants = tc_xcalloc(in->len + 1, sizeof *constants);
        size_t n = 0;
        free(x->why);
        x->why = shorten(err->msg, path);
        for (size_t i = 1; i < in->len; i++)
            if (tc_dtype_is_int(in->items[i].t.dtype))
                constants[n++] = in->items[i];
        if (n > 0)
            st = import_with(path, &o, constants, n, x, g, err);
        if (st != TC_OK && in->len > n + 1)
            st = import_with(path, &o, in->items + 1, in->len - 1, x, g, err);
        if (st != TC_OK)
            st = import_with(path, &o, in->items, in->len, x, g, err);
        free(constants);
    }
    tc_cli_bindings_free(shapes, t->args->shape.len);
    return st;
}

/* Inputs in the order of the ports: by position, or by name where some became constants. */
static tc_status arrange(const tc_graph_bundle *in, const tc_graph_port *ports, int n, tc_graph_tensor *out, tc_error *err) {
    for (int i = 0; i < n; i++) {
        const tc_graph_tensor *t = tc_graph_bundle_find(in, ports[i].name);
        if (!t && (size_t)n == in->len)
            t = &in->items[i].t;
        if (!t)
            return tc_fail(err, TC_BAD_INPUT, "the data set has no input for '%s'", ports[i].name);
        out[i] = tc_graph_tensor_view(t->dtype, &t->shape, t->data);
    }
    return TC_OK;
}

static tc_status compare(const tally *t, const tc_graph_tensor *got, int n, const tc_graph_bundle *want, tc_error *err) {
    const tc_cli_tolerance *tol = &t->args->tolerance;
    if ((size_t)n < want->len)
        return tc_fail(err, TC_BAD_INPUT, "the model has %d outputs, the data set %zu", n, want->len);
    for (size_t i = 0; i < want->len; i++) {
        const tc_graph_tensor *w = &want->items[i].t;
        tc_graph_diff d;
        tc_status st = tc_graph_tensor_compare(&got[i], w, tc_cli_rtol(tol, w->dtype), tc_cli_atol(tol, w->dtype), &d, err);
        if (st == TC_OK && d.violations)
            st = tc_fail(err, TC_BAD_INPUT, "%lld of %lld elements differ, error %.3g", (long long)d.violations,
                         (long long)tc_graph_tensor_count(w), d.rel);
        if (st != TC_OK) {
            tc_error_prefix(err, "output %zu: ", i);
            return st;
        }
    }
    return TC_OK;
}

static tc_status run_set(const tally *t, tc_graph_model *m, const tc_graph_bundle *in, const tc_graph_bundle *want,
                         tc_error *err) {
    const tc_graph_port *ports;
    int nin = tc_graph_model_inputs(m, &ports), nout = tc_graph_model_outputs(m, &(const tc_graph_port *){NULL});
    tc_graph_tensor *src = tc_xcalloc((size_t)nin + 1, sizeof *src), *dst = tc_xcalloc((size_t)nout + 1, sizeof *dst);
    tc_status st = arrange(in, ports, nin, src, err);
    if (st == TC_OK && (st = tc_graph_model_run(m, src, dst, err)) == TC_OK)
        st = compare(t, dst, nout, want, err);
    for (int i = 0; i < nout; i++)
        tc_graph_tensor_free(&dst[i]);
    free(src);
    free(dst);
    return st;
}

/* A refusal to understand the model is a skip; a difference or anything else is a failure. */
static verdict judge(const tally *t, const tc_error *err) {
    if (t->args->no_constants && tc_error_wants_constant(err))
        return FAILED;
    return tc_error_unsupported(err) ? SKIPPED : FAILED;
}

/* One data set of a case. Each builds anew: inputs that became constants belong to the data set. */
static verdict run_data_set(const tally *t, const char *model, const char *set, assumed *x, tc_error *err) {
    tc_graph_bundle in = {0}, want = {0};
    tc_graph *g = NULL;
    tc_graph_program *p = NULL;
    tc_graph_model *m = NULL;
    tc_graph_build_options o = {
        .target = t->target, .threads = t->target->machine.cores, .accuracy = t->args->accuracy, .db = t->db};
    verdict v = FAILED;
    bool has_inputs = false;
    char *first = join(set, "input_0.pb");
    has_inputs = tc_fs_exists(first);
    free(first);
    tc_status st = has_inputs ? tc_cli_bundle_load(set, "input", NULL, 0, &in, err) : TC_OK;
    if (st == TC_OK)
        st = tc_cli_bundle_load(set, "output", NULL, 0, &want, err);
    if (st == TC_OK) {
        st = import_case(t, model, &in, x, &g, err);
        if (st == TC_OK && tc_cli_passes(&t->args->passes, g, err) != TC_CLI_DONE)
            st = TC_BAD_INPUT;
        if (st == TC_OK)
            st = tc_graph_program_new(g, &p, err);
        v = st == TC_OK ? FAILED : judge(t, err);
    } else {
        v = judge(t, err);
    }
    if (st == TC_OK)
        st = tc_graph_model_build(p, &o, &m, err);
    if (st == TC_OK)
        st = run_set(t, m, &in, &want, err);
    tc_graph_model_free(m);
    tc_graph_program_free(p);
    tc_graph_free(g);
    tc_graph_bundle_free(&in);
    tc_graph_bundle_free(&want);
    return st == TC_OK ? PASSED : v;
}

static json_t *case_json(const char *dir, const char *result, const char *why, const assumed *x) {
    json_t *constants = json_array();
    for (size_t i = 0; i < x->constants.len; i++)
        json_array_append_new(constants, json_string(x->constants.data[i]));
    return json_pack("{s:s,s:s,s:s,s:o,s:s}", "case", dir, "result", result, "reason", why, "constants", constants,
                     "without_constants", x->why ? x->why : "");
}

static void print_assumed(const assumed *x) {
    printf("         with ");
    for (size_t i = 0; i < x->constants.len; i++)
        printf("%s'%s'", i ? ", " : "", x->constants.data[i]);
    printf(" given as constant%s, for without: %s\n", x->constants.len == 1 ? "" : "s", x->why);
}

static void note(tally *t, const char *dir, verdict v, const char *why, const assumed *x) {
    static const char *const names[] = {"passed", "failed", "skipped"};
    t->count[v]++;
    t->with_constants += x->why != NULL;
    if (t->args->json)
        json_array_append_new(t->cases, case_json(dir, names[v], why, x));
    else if (v == PASSED)
        printf("passed   %s\n", dir);
    else
        printf("%-8s %s: %s\n", names[v], dir, why);
    if (x->why && !t->args->json)
        print_assumed(x);
    fflush(stdout);
}

static void run_case(tally *t, const char *dir, const char *model) {
    char **sets;
    size_t n;
    tc_error err = {0};
    assumed x = {0};
    verdict v = PASSED;
    list_folders(dir, "test_data_set_", &sets, &n);
    if (n == 0) {
        v = SKIPPED;
        tc_fail(&err, TC_BAD_INPUT, "there is no test_data_set_0");
    }
    for (size_t i = 0; i < n && v == PASSED; i++) {
        err.msg[0] = 0;
        v = run_data_set(t, model, sets[i], &x, &err);
    }
    char *why = shorten(v == PASSED ? "" : err.msg, model);
    note(t, dir, v, why, &x);
    forget(&x);
    tc_vec_free(&x.constants);
    free(x.why);
    free(why);
    free_list(sets, n);
}

/* Cases in dir and below. False when there is none. */
static bool walk(tally *t, const char *dir, int depth) {
    char *model = join(dir, "model.onnx"), **folders;
    size_t n;
    bool any = tc_fs_exists(model);
    if (any)
        run_case(t, dir, model);
    free(model);
    if (any || depth == 0)
        return any;
    list_folders(dir, "", &folders, &n);
    for (size_t i = 0; i < n && !*tc_cli_stop_flag(); i++)
        any |= walk(t, folders[i], depth - 1);
    free_list(folders, n);
    return any;
}

/* ---- the command ---- */

static int finish(tally *t, tc_error *err) {
    const int *c = t->count;
    if (t->args->json)
        tc_cli_json_print(json_pack("{s:i,s:i,s:i,s:i,s:O}", "passed", c[PASSED], "failed", c[FAILED], "skipped", c[SKIPPED],
                                    "with_constants", t->with_constants, "cases", t->cases));
    else
        printf("%d passed, %d failed, %d skipped", c[PASSED], c[FAILED], c[SKIPPED]);
    if (!t->args->json && t->with_constants)
        printf("; %d had inputs given as constants", t->with_constants);
    if (!t->args->json)
        putchar('\n');
    if (*tc_cli_stop_flag()) {
        tc_fail(err, TC_ENV, "stopped before the end");
        return 128 + *tc_cli_stop_flag();
    }
    return c[FAILED] ? TC_CLI_FAILED : TC_CLI_DONE;
}

static int run(const void *args, tc_error *err) {
    const verify_args *a = args;
    tally t = {.args = a};
    tc_target *target = NULL;
    int status = tc_cli_check_passes(&a->passes, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_target(&a->target, true, &target, err);
    tc_cli_catch_signals();
    if (status == TC_CLI_DONE && a->db.path && tc_cli_db_read(&a->db, &t.db, err) != TC_OK)
        status = TC_CLI_FAILED;
    t.target = target;
    t.cases = json_array();
    for (size_t i = 0; i < a->common.operands.len && status == TC_CLI_DONE && !*tc_cli_stop_flag(); i++)
        if (!walk(&t, a->common.operands.data[i], MAX_DEPTH)) {
            tc_fail(err, TC_BAD_INPUT, "%s: there is no test case (a folder with model.onnx and test_data_set_0) in it",
                    a->common.operands.data[i]);
            status = TC_CLI_FAILED;
        }
    if (status == TC_CLI_DONE)
        status = finish(&t, err);
    json_decref(t.cases);
    tc_meas_db_close(t.db);
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
        "is said: build, which has no data, refuses it.",
    TC_CLI_ARGS(verify_args, options),
    .defaults = &(
        const verify_args){.passes = TC_CLI_PASS_DEFAULTS, .accuracy = TC_ACCURACY_FAST, .tolerance = TC_CLI_TOLERANCE_DEFAULTS},
    .run = run,
};
