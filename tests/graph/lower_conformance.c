/* The ONNX project's conformance cases in ../shared/onnx, lowered: each case that imports must give the expected outputs when its
 * workloads are interpreted, and when they are compiled with the default schedule. Give a word to run only the cases whose name
 * has it. */
#include "conformance.h"
#include "lower_common.h"

typedef struct tally {
    int passed, failed, skipped;
    const tc_target *target;
} tally;

static const char *only; /* set once by main */

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

static void test_cases(void **state) {
    (void)state;
    tc_target *target;
    assert_ok(tc_target_parse("native", &target, err));
    tally t = {.target = target};
    bool there = each_case(only, run_case, &t);
    tc_target_free(target);
    if (!there)
        skip();
    print_message("%d passed, %d failed, %d skipped\n", t.passed, t.failed, t.skipped);
    assert_int_equal(t.failed, 0);
    if (!only)
        assert_int_equal(t.passed, ALL_CASES);
}

int main(int argc, char **argv) {
    only = argc > 1 ? argv[1] : NULL;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
