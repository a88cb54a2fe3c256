/* The ONNX project's conformance cases on the reference evaluator: each case gives the expected outputs, or what not_passed.def
 * says. Give a word to run only the cases whose name has it. */
#include "graph/ops/conformance.h"
#include "graph/ops/ops.h"

static const char *only; /* set once by main */

static tc_status evaluate(const tc_graph_data_set *d, tc_graph *g, const tc_graph_tensor *in, tc_error *e) {
    tc_graph_tensor out[MAX_TENSORS];
    TC_TRY(tc_graph_verify(g, e));
    TC_TRY(tc_graph_eval(g, in, out, e));
    tc_status s = compare_outputs("evaluated", &d->out, out, e);
    for (size_t i = 0; i < g->outputs.len - g->nsizes; i++)
        tc_graph_tensor_free(&out[i]);
    return s;
}

static void test_cases(void **state) {
    (void)state;
    run_cases(&(tally){.check = evaluate}, only);
}

int main(int argc, char **argv) {
    only = argc > 1 ? argv[1] : NULL;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
