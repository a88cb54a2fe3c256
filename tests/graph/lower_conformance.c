/* The ONNX project's conformance cases in ../shared/onnx, lowered: each case that imports must give the expected outputs when its
 * workloads are interpreted, and when they are compiled with the default schedule. Give a word to run only the cases whose name
 * has it. */
#include <dirent.h>
#include <unistd.h>

#include "lower_common.h"
#include "support/fs.h"

#define CASES TCTUNE_SOURCE_DIR "/../shared/onnx/"
enum { MAX_TENSORS = 32 };

typedef struct data_set {
    tc_graph_named in[MAX_TENSORS], out[MAX_TENSORS];
    size_t nin, nout;
} data_set;

typedef struct tally {
    int passed, failed, skipped;
    const tc_target *target;
} tally;

static const char *only; /* set once by main */

static size_t load_all(const char *dir, const char *kind, tc_graph_named *items) {
    size_t n = 0;
    for (; n < MAX_TENSORS; n++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/test_data_set_0/%s_%zu.pb", dir, kind, n);
        if (access(path, R_OK) != 0 || tc_graph_pb_load(path, &items[n].t, &items[n].name, NULL) != TC_OK)
            break;
    }
    return n;
}

static void free_all(tc_graph_named *items, size_t n) {
    for (size_t i = 0; i < n; i++) {
        free(items[i].name);
        tc_graph_tensor_free(&items[i].t);
    }
}

/* Cases feed axes and shapes as inputs: where import asks for constants, the integer inputs after the first are given as such. */
static tc_status import_case(const char *path, const data_set *d, tc_graph **g, tc_error *err) {
    tc_graph_named constants[MAX_TENSORS];
    size_t n = 0;
    tc_status s = tc_graph_import(path, NULL, g, err);
    if (s == TC_OK || !strstr(err->msg, "when the model is imported"))
        return s;
    for (size_t i = 1; i < d->nin; i++)
        if (tc_dtype_is_int(d->in[i].t.dtype))
            constants[n++] = d->in[i];
    s = tc_graph_import(path, &(tc_graph_import_options){.constants = constants, .nconstants = n}, g, err);
    if (s == TC_OK)
        return s;
    return tc_graph_import(path, &(tc_graph_import_options){.constants = d->in, .nconstants = d->nin}, g, err);
}

static bool outputs_agree(const char *dir, const char *how, const data_set *d, const tc_graph_tensor *out) {
    for (size_t i = 0; i < d->nout; i++) {
        tc_graph_diff diff = {0};
        tc_error e = {0};
        const tc_graph_tensor *want = &d->out[i].t;
        bool half = want->dtype == TC_F16 || want->dtype == TC_BF16;
        if (tc_graph_tensor_compare(&out[i], want, half ? 1e-2 : 1e-3, half ? 1e-3 : 1e-5, &diff, &e) != TC_OK ||
            diff.violations) {
            print_error("%s, %s: output %zu differs by %g: %s\n", dir, how, i, diff.max_abs, e.msg);
            return false;
        }
    }
    return true;
}

static bool check(const char *dir, const data_set *d, tc_graph *g, const tally *t) {
    tc_graph_tensor in[MAX_TENSORS], out[MAX_TENSORS];
    tc_error e = {0};
    for (size_t i = 0; i < g->inputs.len; i++) { /* by position; by name where some inputs became constants */
        in[i] = d->in[i].t;
        for (size_t k = 0; k < d->nin; k++)
            if (strcmp(d->in[k].name, g->inputs.data[i]->name) == 0)
                in[i] = d->in[k].t;
    }
    tc_graph_program *p;
    if (tc_graph_passes(g, NULL, &e) != TC_OK || tc_graph_program_new(g, &p, &e) != TC_OK) {
        print_error("%s: %s\n", dir, e.msg);
        return false;
    }
    bool ok = true;
    for (int compiled = 0; compiled < 2; compiled++) {
        const char *how = compiled ? "compiled" : "interpreted";
        tc_status s = compiled ? compile_and_run(p, t->target, in, out, &e) : interpret_program(p, in, out, &e);
        if (s != TC_OK)
            print_error("%s, %s: %s\n", dir, how, e.msg);
        ok &= s == TC_OK && outputs_agree(dir, how, d, out);
        for (size_t i = 0; i < g->outputs.len - g->nsizes && s == TC_OK; i++)
            tc_graph_tensor_free(&out[i]);
    }
    tc_graph_program_free(p);
    return ok;
}

static void run_case(const char *dir, tally *t) {
    char path[4096];
    snprintf(path, sizeof path, "%s/model.onnx", dir);
    data_set d = {0};
    d.nin = load_all(dir, "input", d.in);
    d.nout = load_all(dir, "output", d.out);
    tc_graph *g = NULL;
    tc_error e = {0};
    if (import_case(path, &d, &g, &e) == TC_OK) {
        bool ok = check(dir, &d, g, t);
        t->passed += ok;
        t->failed += !ok;
    } else {
        t->skipped++;
    }
    tc_graph_free(g);
    free_all(d.in, d.nin);
    free_all(d.out, d.nout);
}

static void run_folder(const char *folder, tally *t) {
    char path[1024];
    snprintf(path, sizeof path, CASES "%s", folder);
    DIR *d = opendir(path);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));)
        if (strncmp(e->d_name, "test_", 5) == 0 && (!only || strstr(e->d_name, only))) {
            char dir[2048];
            snprintf(dir, sizeof dir, "%s/%s", path, e->d_name);
            run_case(dir, t);
        }
    closedir(d);
}

static void test_cases(void **state) {
    (void)state;
    static const char *const folders[] = {"node", "simple", "pytorch-operator", "pytorch-converted"};
    if (!tc_fs_is_dir(CASES "node")) {
        print_message("skipped: ../shared is not there (%s)\n", CASES);
        skip();
    }
    tc_target *target;
    assert_ok(tc_target_parse("native", &target, err));
    tally t = {.target = target};
    for (size_t i = 0; i < TC_LEN(folders); i++)
        run_folder(folders[i], &t);
    print_message("%d passed, %d failed, %d skipped\n", t.passed, t.failed, t.skipped);
    assert_int_equal(t.failed, 0);
    if (!only)
        assert_true(t.passed >= 795);
    tc_target_free(target);
}

int main(int argc, char **argv) {
    only = argc > 1 ? argv[1] : NULL;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
