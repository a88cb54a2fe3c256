/* The ONNX project's conformance cases in ../shared/onnx, lowered: each case that imports must give the expected outputs when its
 * workloads are interpreted, and when they are compiled with the default schedule. Give a word to run only the cases whose name
 * has it. */
#include "conformance.h"
#include "lower_common.h"

static const char *only; /* set once by main */

static bool check(const char *dir, const data_set *d, tc_graph *g, const tally *t) {
    tc_graph_tensor in[MAX_TENSORS], out[MAX_TENSORS];
    tc_error e = {0};
    give_inputs(d, g, in);
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

static void test_cases(void **state) {
    (void)state;
    tc_target *target;
    assert_ok(tc_target_parse("native", &target, err));
    tally t = {.check = check, .target = target};
    bool there = run_cases(only, &t);
    tc_target_free(target);
    if (!there)
        skip();
    assert_int_equal(t.failed, 0);
    if (!only)
        assert_int_equal(t.passed, ALL_CASES);
}

int main(int argc, char **argv) {
    only = argc > 1 ? argv[1] : NULL;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
