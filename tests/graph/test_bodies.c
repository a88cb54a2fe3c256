/* Branches and the model's own functions, from files in data/: one bool or none chooses a branch, and calls become their bodies.
 */
#include <math.h>

#include "lower_common.h"

#define DATA(name) TCTUNE_TEST_DIR "/data/" name

static const float x_values[] = {-2, -1, 0, 1, 2, 3};

static void check(const char *file, bool with_condition, uint8_t condition, const float *want) {
    tc_graph *g;
    tc_graph_program *p;
    tc_target *t;
    tc_graph_tensor y, in[2] = {F32(DIMS(2, 3), 0)}, expected = f32_tensor((tc_graph_shape)DIMS(2, 3), want);
    in[0].data = (void *)(uintptr_t)x_values;
    in[1] = tc_graph_tensor_view(TC_BOOL, &(tc_graph_shape)SCALAR, &condition);
    assert_ok(tc_graph_import(file, NULL, &g, err));
    assert_ok(tc_graph_verify(g, err));
    assert_int_equal(g->inputs.len, with_condition ? 2 : 1);
    assert_ok(tc_target_parse("native", &t, err));
    assert_ok(tc_graph_program_new(g, &p, err));
    for (int how = 0; how < 2; how++) {
        tc_graph_diff d;
        if (how == 0)
            assert_ok(tc_graph_eval(g, in, &y, err));
        else
            assert_ok(compile_and_run(p, t, in, &y, err));
        assert_ok(tc_graph_tensor_compare(&y, &expected, 1e-6, 1e-7, &d, err));
        if (d.violations)
            fail_msg("%s: wrong result", file);
        tc_graph_tensor_free(&y);
    }
    tc_graph_program_free(p);
    tc_target_free(t);
    tc_graph_free(g);
}

/* Branch k is (x + k) * x; branches 1 and 3 of two nodes with the same names inside are chosen. */
static void test_constant_condition(void **state) {
    (void)state;
    float want[6];
    for (int i = 0; i < 6; i++)
        want[i] = (x_values[i] + 1) * x_values[i] + (x_values[i] + 3) * x_values[i];
    check(DATA("if_constant.onnx"), false, 0, want);
}

static void test_dynamic_condition(void **state) {
    (void)state;
    for (int k = 1; k <= 2; k++) {
        float want[6];
        for (int i = 0; i < 6; i++)
            want[i] = (x_values[i] + (float)k) * x_values[i];
        check(DATA("if_dynamic.onnx"), true, k == 1, want);
    }
}

/* Leaky(p) {slope} = -LeakyRelu(p); Twice calls it with 0.5 and 0.25; then it is called without the attribute. */
static void test_functions(void **state) {
    (void)state;
    static const float slopes[] = {0.5F, 0.25F, 0.01F};
    float want[6];
    for (int i = 0; i < 6; i++) {
        want[i] = x_values[i];
        for (int k = 0; k < 3; k++)
            want[i] = -(want[i] < 0 ? slopes[k] * want[i] : want[i]);
    }
    check(DATA("functions.onnx"), false, 0, want);
}

static void test_refusals(void **state) {
    (void)state;
    tc_graph *g;
    assert_fails(TC_BAD_INPUT, tc_graph_import(DATA("if_shapes.onnx"), NULL, &g, err), "node 'if1' (If)", "f32[2,3] or f32[]");
    assert_fails(TC_BAD_INPUT, tc_graph_import(DATA("if_cycle.onnx"), NULL, &g, err), "node 'if1' (If)",
                 "'later' is made only later");
    assert_fails(TC_BAD_INPUT, tc_graph_import(DATA("function_recursive.onnx"), NULL, &g, err), "does the function call itself");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_constant_condition), cmocka_unit_test(test_dynamic_condition),
                                       cmocka_unit_test(test_functions), cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
