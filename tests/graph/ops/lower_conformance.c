/* The ONNX project's conformance cases in ../shared/onnx, lowered: each case that imports must give the expected outputs when its
 * workloads are interpreted. Compiled they are run by the command, in tests/cli/shared.sh. Give a word to run only the cases whose
 * name has it. */
#include "graph/lower_common.h"
#include "graph/ops/conformance.h"

static const char *only; /* set once by main */

static bool interpret(const char *dir, const data_set *d, tc_graph *g) {
    tc_graph_tensor in[MAX_TENSORS], out[MAX_TENSORS];
    tc_error e = {0};
    give_inputs(d, g, in);
    tc_graph_program *p;
    if (tc_graph_passes(g, NULL, &e) != TC_OK || tc_graph_program_new(g, &p, &e) != TC_OK) {
        print_error("%s: %s\n", dir, e.msg);
        return false;
    }
    tc_status s = interpret_program(p, in, out, &e);
    if (s != TC_OK)
        print_error("%s: %s\n", dir, e.msg);
    bool ok = s == TC_OK && outputs_agree(dir, "interpreted", d, out);
    for (size_t i = 0; i < g->outputs.len - g->nsizes && s == TC_OK; i++)
        tc_graph_tensor_free(&out[i]);
    tc_graph_program_free(p);
    return ok;
}

static void test_cases(void **state) {
    (void)state;
    tally t = {.check = interpret, .only = only};
    if (!run_cases(&t))
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
