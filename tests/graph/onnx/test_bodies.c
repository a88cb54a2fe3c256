/* Branches, loops, sequences and the model's own functions, from files in data/: one bool or none chooses a branch, and calls
 * become their bodies. */
#include <math.h>

#include "graph/lower_common.h"
#include "graph/onnx/import.h"
#include "graph/ops/ops.h"

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

static float leaky(float x, float slope) {
    return x < 0 ? slope * x : x;
}

/* Slope {slope = 0.75}(a) = LeakyRelu(a), Outer {s}(a) = -Slope(a), Middle {s = 0.5}(a) = Outer(a). Branch {s} has references in both
 * branches, Repeat {s, trips = 3}, Times {s} and Rows {s, axes = 1} in bodies of Loop and Scan. The model calls each, Outer also
 * without its attribute. */
static void test_attributes_of_functions(void **state) {
    (void)state;
    for (int condition = 0; condition < 2; condition++) {
        float want[6];
        for (int i = 0; i < 6; i++) {
            float v = leaky(x_values[i], 0.75F);
            v = -leaky(v, 0.5F);
            v = -leaky(v, 0.75F);
            v = -leaky(v, 0.5F);
            v = condition ? leaky(v, 0.25F) : -leaky(v, 0.25F);
            for (int trip = 0; trip < 3; trip++)
                v = -leaky(v, 0.5F);
            v = condition ? -leaky(v, 0.25F) : v;
            want[i] = leaky(v, 0.125F);
        }
        check(DATA("function_attributes.onnx"), true, (uint8_t)condition, want);
    }
}

/* ---- loops ---- */

/* Both outputs, by the evaluator and compiled. rows[]: of `shape`. */
static void check_loop(const char *file, const tc_graph_tensor *in, const float *y, tc_graph_shape y_shape, const float *rows,
                       tc_graph_shape shape) {
    tc_graph *g;
    tc_graph_program *p;
    tc_target *t;
    tc_graph_tensor out[2], want[] = {f32_tensor(y_shape, y), f32_tensor(shape, rows)};
    assert_ok(tc_graph_import(file, NULL, &g, err));
    assert_ok(tc_graph_verify(g, err));
    assert_ok(tc_target_parse("native", &t, err));
    assert_ok(tc_graph_passes(g, NULL, err));
    assert_ok(tc_graph_program_new(g, &p, err));
    for (int how = 0; how < 2; how++) {
        if (how == 0)
            assert_ok(tc_graph_eval(g, in, out, err));
        else
            assert_ok(compile_and_run(p, t, in, out, err));
        for (int k = 0; k < 2; k++) {
            tc_graph_diff d;
            assert_ok(tc_graph_tensor_compare(&out[k], &want[k], 1e-6, 1e-7, &d, err));
            if (d.violations)
                fail_msg("%s: output %d is wrong", file, k);
            tc_graph_tensor_free(&out[k]);
        }
    }
    tc_graph_program_free(p);
    tc_target_free(t);
    tc_graph_free(g);
}

/* Four times: add 0 + 1 + 2 in an inner loop, double; a row is that plus x. */
static void test_constant_loop(void **state) {
    (void)state;
    float y[6], rows[24];
    memcpy(y, x_values, sizeof y);
    for (int i = 0; i < 24; i++) {
        y[i % 6] = (y[i % 6] + 3) * 2;
        rows[i] = y[i % 6] + x_values[i % 6];
    }
    tc_graph_tensor in = f32_tensor((tc_graph_shape)DIMS(6), x_values);
    check_loop(DATA("loop_constant.onnx"), &in, y, (tc_graph_shape)DIMS(6), rows, (tc_graph_shape)DIMS(4, 6));
}

/* Adds 1 to all until the sum reaches the limit, at most eight times, and not at all for one below 0. */
static void test_dynamic_loop(void **state) {
    (void)state;
    for (int k = -1; k < 8; k++) {
        float y[6], rows[48], limit = 8.F * (float)k, sum = 3;
        int64_t n = 0;
        memcpy(y, x_values, sizeof y);
        for (bool go = limit > 0; go && n < 8; n++) {
            for (int i = 0; i < 6; i++)
                rows[6 * n + i] = y[i] += 1;
            sum += 6;
            go = sum < limit;
        }
        tc_graph_tensor in[] = {f32_tensor((tc_graph_shape)DIMS(6), x_values), F32(SCALAR, limit)};
        check_loop(DATA("loop_dynamic.onnx"), in, y, (tc_graph_shape)DIMS(6), rows, (tc_graph_shape)DIMS(n, 6));
    }
}

/* Sums the columns from the last to the first; column k of the rows is the sum so far times (2, 3). */
static void test_scan(void **state) {
    (void)state;
    float y[] = {10, 20}, rows[6];
    tc_graph_tensor in[] = {F32(DIMS(2), 10, 20), f32_tensor((tc_graph_shape)DIMS(2, 3), x_values)};
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 2; i++) {
            y[i] += x_values[3 * i + 2 - k];
            rows[3 * i + k] = y[i] * (float)(i + 2);
        }
    check_loop(DATA("scan.onnx"), in, y, (tc_graph_shape)DIMS(2), rows, (tc_graph_shape)DIMS(2, 3));
}

/* ---- sequences ---- */

static void test_optionals(void **state) {
    (void)state;
    float want[6];
    for (int i = 0; i < 6; i++)
        want[i] = (x_values[i] > 0 ? x_values[i] : 0) - x_values[i];
    check(DATA("optional.onnx"), false, 0, want);
}

static void test_sequences(void **state) {
    (void)state;
    float want[6];
    for (int i = 0; i < 6; i++)
        want[(i + 3) % 6] = x_values[i] * (x_values[i] + 1) + x_values[i % 3];
    check(DATA("sequence_map.onnx"), false, 0, want);
}

static void test_refused_sequences(void **state) {
    (void)state;
    tc_graph *g;
    assert_fails(TC_BAD_INPUT, tc_graph_import(DATA("sequence_output.onnx"), NULL, &g, err), "output 'list' is a sequence",
                 "2 elements");
    assert_fails(TC_BAD_INPUT, tc_graph_import(DATA("sequence_input.onnx"), NULL, &g, err), "input 'list' is not a tensor");
    assert_fails(TC_BAD_INPUT, tc_graph_import(DATA("sequence_dynamic.onnx"), NULL, &g, err), "node 'at1' (SequenceAt)",
                 "element 1 of the list is f32[3,2], but others are f32[2,3]");
    assert_fails(TC_BAD_INPUT, tc_graph_import(DATA("sequence_misused.onnx"), NULL, &g, err), "node 'neg1' (Neg)",
                 "input 'list' is a sequence");
    assert_fails(TC_BAD_INPUT, tc_graph_import(DATA("sequence_loop.onnx"), NULL, &g, err), "node 'loop1' (Loop)",
                 "list 0 that it carries grows in every trip", "a constant trip count M");
}

static void test_refusals(void **state) {
    (void)state;
    tc_graph *g;
    assert_fails(TC_BAD_INPUT, tc_graph_import(DATA("loop_endless.onnx"), NULL, &g, err), "node 'loop1' (Loop)",
                 "result 1 has a row for every trip", "a constant trip count M");
    assert_fails(TC_BAD_INPUT, tc_graph_import(DATA("loop_unbounded.onnx"), NULL, &g, err), "node 'loop1' (Loop)",
                 "result 1 has a row for every trip");
    assert_fails(TC_BAD_INPUT, tc_graph_import(DATA("loop_grows.onnx"), NULL, &g, err), "node 'loop1' (Loop)",
                 "dimension 0 of value 0 that it carries grows by 1", "a constant trip count M");
    assert_fails(TC_BAD_INPUT, tc_graph_import(DATA("loop_forever.onnx"), NULL, &g, err), "node 'loop1' (Loop)", "it never ends");
    assert_fails(TC_BAD_INPUT, tc_graph_import(DATA("if_cycle.onnx"), NULL, &g, err), "'if1' (If)", "form a cycle");
    assert_fails(TC_BAD_INPUT, tc_graph_import(DATA("function_recursive.onnx"), NULL, &g, err), "does the function call itself");
    assert_fails(TC_BAD_INPUT, tc_graph_import(DATA("attribute_of_no_function.onnx"), NULL, &g, err), "node 'relu1' (LeakyRelu)",
                 "attribute 'alpha' refers to attribute 'slope' of a function, but the node is in no function");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_constant_condition),
                                       cmocka_unit_test(test_dynamic_condition),
                                       cmocka_unit_test(test_functions),
                                       cmocka_unit_test(test_constant_loop),
                                       cmocka_unit_test(test_dynamic_loop),
                                       cmocka_unit_test(test_scan),
                                       cmocka_unit_test(test_optionals),
                                       cmocka_unit_test(test_sequences),
                                       cmocka_unit_test(test_refused_sequences),
                                       cmocka_unit_test(test_refusals),
                                       cmocka_unit_test(test_attributes_of_functions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
