/* The ONNX project's conformance cases in ../shared/onnx, on the reference evaluator: each case that imports must give the
 * expected outputs; those with operators that import does not know are counted as skipped. */
#include "conformance.h"

static bool outputs_agree(const char *dir, const data_set *d, const tc_graph_tensor *out) {
    for (size_t i = 0; i < d->nout; i++) {
        tc_graph_diff diff;
        tc_error e = {0};
        const tc_graph_tensor *want = &d->out[i].t;
        bool half = want->dtype == TC_F16 || want->dtype == TC_BF16;
        if (tc_graph_tensor_compare(&out[i], want, half ? 1e-2 : 1e-3, half ? 1e-3 : 1e-5, &diff, &e) != TC_OK ||
            diff.violations) {
            print_error("%s: output %zu differs: %s\n", dir, i, e.msg);
            return false;
        }
    }
    return true;
}

static bool evaluate(const char *dir, const data_set *d, const tc_graph *g) {
    tc_graph_tensor in[MAX_TENSORS], out[MAX_TENSORS];
    tc_error e = {0};
    for (size_t i = 0; i < g->inputs.len; i++) { /* by position; by name where some inputs became constants */
        in[i] = d->in[i].t;
        for (size_t k = 0; k < d->nin; k++)
            if (strcmp(d->in[k].name, g->inputs.data[i]->name) == 0)
                in[i] = d->in[k].t;
    }
    if (tc_graph_verify(g, &e) != TC_OK || tc_graph_eval(g, in, out, &e) != TC_OK) {
        print_error("%s: %s\n", dir, e.msg);
        return false;
    }
    bool ok = outputs_agree(dir, d, out);
    for (size_t i = 0; i < g->outputs.len - g->nsizes; i++)
        tc_graph_tensor_free(&out[i]);
    return ok;
}

typedef struct tally {
    int passed, failed, skipped;
} tally;

static void run_case(void *user, const char *dir) {
    tally *t = user;
    char path[4096];
    snprintf(path, sizeof path, "%s/model.onnx", dir);
    data_set d = {0};
    d.nin = load_all(dir, "input", d.in);
    d.nout = load_all(dir, "output", d.out);
    tc_graph *g = NULL;
    tc_error e = {0};
    if (import_case(path, &d, &g, &e) == TC_OK) {
        bool ok = evaluate(dir, &d, g);
        t->passed += ok;
        t->failed += !ok;
    } else if (strstr(e.msg, "supported")) {
        t->skipped++;
    } else {
        print_error("%s\n", e.msg);
        t->failed++;
    }
    tc_graph_free(g);
    free_all(d.in, d.nin);
    free_all(d.out, d.nout);
}

static void test_cases(void **state) {
    (void)state;
    tally t = {0};
    if (!each_case(NULL, run_case, &t))
        skip();
    print_message("%d passed, %d failed, %d skipped\n", t.passed, t.failed, t.skipped);
    assert_int_equal(t.failed, 0);
    assert_int_equal(t.passed, ALL_CASES);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
