/* The ONNX project's conformance cases in ../shared/onnx, on the reference evaluator: each case that imports must give the
 * expected outputs; those with operators that import does not know are counted as skipped. */
#include "graph/ops/conformance.h"
#include "graph/ops/ops.h"

static bool evaluate(const char *dir, const data_set *d, tc_graph *g) {
    tc_graph_tensor in[MAX_TENSORS], out[MAX_TENSORS];
    tc_error e = {0};
    give_inputs(d, g, in);
    if (tc_graph_verify(g, &e) != TC_OK || tc_graph_eval(g, in, out, &e) != TC_OK) {
        print_error("%s: %s\n", dir, e.msg);
        return false;
    }
    bool ok = outputs_agree(dir, "evaluated", d, out);
    for (size_t i = 0; i < g->outputs.len - g->nsizes; i++)
        tc_graph_tensor_free(&out[i]);
    return ok;
}

static void test_cases(void **state) {
    (void)state;
    tally t = {.check = evaluate};
    if (!run_cases(&t))
        skip();
    assert_int_equal(t.failed, 0);
    assert_int_equal(t.passed, ALL_CASES);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
