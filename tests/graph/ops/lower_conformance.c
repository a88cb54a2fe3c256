/* The ONNX project's conformance cases, lowered: each case gives the expected outputs when its workloads are interpreted, or what
 * not_passed.def says. Compiled they are run by the command, in tests/cli/conformance.sh. Give a word to run only the cases whose
 * name has it. */
#include "graph/lower_common.h"
#include "graph/ops/conformance.h"

static const char *only; /* set once by main */

static tc_status interpret(const tc_graph_data_set *d, tc_graph *g, const tc_graph_tensor *in, tc_error *e) {
    tc_graph_tensor out[MAX_TENSORS];
    tc_graph_program *p = NULL;
    TC_TRY(tc_graph_passes(g, NULL, e));
    TC_TRY(tc_graph_program_new(g, &p, e));
    tc_status s = interpret_program(p, in, out, e);
    if (s == TC_OK) {
        s = compare_outputs("interpreted", &d->out, out, e);
        for (size_t i = 0; i < g->outputs.len - g->nsizes; i++)
            tc_graph_tensor_free(&out[i]);
    }
    tc_graph_program_free(p);
    return s;
}

static void test_cases(void **state) {
    (void)state;
    run_cases(&(tally){.check = interpret}, only);
}

int main(int argc, char **argv) {
    only = argc > 1 ? argv[1] : NULL;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
