/* If, Loop and Scan that run at run time, from files in data/: by the evaluator, by the interpreter, compiled, as a library and
 * as C source. */
#include <math.h>

#include "graph/every_way.h"
#include "graph/onnx/import.h"

#define DATA(name) TCTUNE_TEST_DIR "/data/" name

static void check(const char *name, const char *file, const tc_graph_tensor *in, const tc_graph_tensor *want, int nout) {
    tc_graph *g;
    assert_ok(tc_graph_import(file, NULL, &g, err));
    check_every_way(&(checked){.program = "control", .name = name, .in = in, .want = want, .nout = nout}, g);
    tc_graph_free(g);
}

/* a, b = b, a w + b until the sum of b reaches the limit; there is no trip count. */
static void test_while(void **state) {
    (void)state;
    static const float w[3][3] = {{0.5F, 0, 0}, {0, 1, 0}, {0.25F, 0, 0.5F}};
    for (int k = 0; k < 4; k++) {
        float a[2][3] = {{1, 2, 3}, {-1, 0, 1}}, b[2][3] = {{0, 1, 0}, {1, 0, 2}}, limit = 25.5F * (float)k, sum = 0;
        tc_graph_shape s = DIMS(2, 3);
        float first_a[6], first_b[6];
        memcpy(first_a, a, sizeof a);
        memcpy(first_b, b, sizeof b);
        do {
            sum = 0;
            for (int i = 0; i < 2; i++) {
                float next[3];
                for (int j = 0; j < 3; j++) {
                    next[j] = b[i][j];
                    for (int l = 0; l < 3; l++)
                        next[j] += a[i][l] * w[l][j];
                    sum += next[j];
                }
                memcpy(a[i], b[i], sizeof next);
                memcpy(b[i], next, sizeof next);
            }
        } while (sum < limit);
        tc_graph_tensor in[] = {f32_tensor(s, first_a), f32_tensor(s, first_b), F32(SCALAR, limit)};
        tc_graph_tensor want[] = {f32_tensor(s, a[0]), f32_tensor(s, b[0])};
        check("while", DATA("loop_while.onnx"), in, want, 2);
    }
}

/* Grows by a row, twice the last one, until that reaches the limit, but at most five times. */
static void test_grow(void **state) {
    (void)state;
    for (int k = 0; k < 3; k++) {
        float y[12] = {1, 2}, limit = (float[]){0, 10, 1000}[k];
        int64_t rows = 1;
        for (bool go = true; go && rows < 6; rows++) {
            y[2 * rows] = 2 * y[2 * rows - 2];
            y[2 * rows + 1] = 2 * y[2 * rows - 1];
            go = y[2 * rows + 1] < limit;
        }
        tc_graph_tensor in[] = {F32(DIMS(1, 2), 1, 2), F32(SCALAR, limit)},
                        want[] = {f32_tensor((tc_graph_shape)DIMS(rows, 2), y)};
        check("grow", DATA("loop_grow.onnx"), in, want, 1);
    }
}

static void test_long_scan(void **state) {
    (void)state;
    static float x[2][600], rows[2][600], y[2] = {0.25F, -1};
    for (int i = 0; i < 1200; i++)
        x[i / 600][i % 600] = sinf((float)i);
    for (int k = 0; k < 600; k++)
        for (int i = 0; i < 2; i++) {
            float next = y[i] * 0.5F + x[i][599 - k];
            rows[i][k] = next - y[i];
            y[i] = next;
        }
    tc_graph_tensor in[] = {F32(DIMS(2), 0.25F, -1), f32_tensor((tc_graph_shape)DIMS(2, 600), x[0])};
    tc_graph_tensor want[] = {f32_tensor((tc_graph_shape)DIMS(2), y), f32_tensor((tc_graph_shape)DIMS(2, 600), rows[0])};
    check("scan", DATA("scan_long.onnx"), in, want, 2);
}

/* Opset 8: a batch of sequences of 40, 1 and 17 elements; s' = s / 2 + x - z, rows s' + s, z backwards. */
static void test_batch_scan(void **state) {
    (void)state;
    static float x[3][40][2], z[3][40][2], rows[3][40][2], s[3][2] = {{0.25F, -1}, {1, 2}, {0, 0.5F}};
    int64_t lengths[3] = {40, 1, 17};
    float first[6];
    memcpy(first, s, sizeof first);
    for (int i = 0; i < 240; i++) {
        x[i / 80][i % 80 / 2][i % 2] = sinf((float)i);
        z[i / 80][i % 80 / 2][i % 2] = cosf((float)i);
    }
    for (int b = 0; b < 3; b++)
        for (int k = 0; k < lengths[b]; k++)
            for (int i = 0; i < 2; i++) {
                float next = s[b][i] * 0.5F + x[b][k][i] - z[b][lengths[b] - 1 - k][i];
                rows[b][k][i] = next + s[b][i];
                s[b][i] = next;
            }
    tc_graph_tensor in[] = {tc_graph_tensor_view(TC_I64, &(tc_graph_shape)DIMS(3), lengths),
                            f32_tensor((tc_graph_shape)DIMS(3, 2), first), f32_tensor((tc_graph_shape)DIMS(3, 40, 2), x[0][0]),
                            f32_tensor((tc_graph_shape)DIMS(3, 40, 2), z[0][0])};
    tc_graph_tensor want[] = {f32_tensor((tc_graph_shape)DIMS(3, 2), s[0]),
                              f32_tensor((tc_graph_shape)DIMS(3, 40, 2), rows[0][0])};
    check("batch", DATA("scan_batch.onnx"), in, want, 2);
}

/* x k and its negative in trip k, until that is at the limit: together along axis 1, which is their own or not. */
static void test_appended(void **state) {
    (void)state;
    for (int k = 0; k < 3; k++) {
        int64_t limit = (int64_t[]){0, 3, 100}[k], n = 2 * TC_MIN(limit + 1, 40);
        static float y[2][80][3];
        const float x[2][3] = {{1, -2, 0.5F}, {3, 0.25F, -1}};
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < n; j++)
                for (int d = 0; d < 3; d++)
                    (&y[0][0][0])[(i * n + j) * 3 + d] = x[i][d] * (float)(j / 2) * (j % 2 ? -1.0F : 1.0F);
        tc_graph_tensor in[] = {f32_tensor((tc_graph_shape)DIMS(2, 3), x[0]),
                                tc_graph_tensor_view(TC_I64, &(tc_graph_shape)SCALAR, &limit)};
        tc_graph_tensor want[] = {f32_tensor((tc_graph_shape)DIMS(2, n, 3), y[0][0]),
                                  f32_tensor((tc_graph_shape)DIMS(2, 3 * n), y[0][0])};
        check("append", DATA("sequence_append.onnx"), in, want, 2);
    }
}

/* A list of at most one x, after one another along both axes: where `go` is false, there are no rows and no columns. */
static void test_at_most_one(void **state) {
    (void)state;
    for (uint8_t go = 0; go < 2; go++) {
        const float x[3] = {1, 2, 0.5F};
        tc_graph_tensor in[] = {f32_tensor((tc_graph_shape)DIMS(1, 3), x),
                                tc_graph_tensor_view(TC_BOOL, &(tc_graph_shape)SCALAR, &go)};
        tc_graph_tensor want[] = {f32_tensor((tc_graph_shape)DIMS(go, 3), x), f32_tensor((tc_graph_shape)DIMS(1, 3 * go), x)};
        check("single", DATA("sequence_single.onnx"), in, want, 2);
    }
}

/* A list of vectors, at first x and 2 x. Four times: twice the last one comes in front if its sum is above the limit; else it and
 * x come last, and the first one goes. Where it does not go on at all, nothing happens. */
static void test_carried_list(void **state) {
    (void)state;
    for (int k = 0; k < 4; k++) {
        float limit = (float[]){0, 13, 1000, 0}[k], y[6][3] = {{1, 2, 0.5F}, {2, 4, 1}};
        const float x[3] = {1, 2, 0.5F};
        int64_t n = 2;
        uint8_t go = k < 3;
        for (int trip = 0; trip < 4 && go; trip++) {
            float two[3], *last = y[n - 1];
            for (int d = 0; d < 3; d++)
                two[d] = 2 * last[d];
            if (two[0] + two[1] + two[2] > limit) {
                memmove(y[1], y[0], sizeof y[0] * (size_t)n);
                memcpy(y[0], two, sizeof two);
            } else {
                memmove(y[0], y[1], sizeof y[0] * (size_t)(n - 1));
                memcpy(y[n - 1], two, sizeof two);
                memcpy(y[n], x, sizeof x);
            }
            n++;
        }
        tc_graph_tensor in[] = {f32_tensor((tc_graph_shape)DIMS(3), x), F32(SCALAR, limit),
                                tc_graph_tensor_view(TC_BOOL, &(tc_graph_shape)SCALAR, &go)};
        tc_graph_tensor want[] = {f32_tensor((tc_graph_shape)DIMS(n, 3), y[0]),
                                  tc_graph_tensor_view(TC_I64, &(tc_graph_shape)SCALAR, &n)};
        check("list", DATA("sequence_carried.onnx"), in, want, 2);
    }
}

/* 40 times relu(x b'), of which the product is made before the loop. */
static void test_hoist(void **state) {
    (void)state;
    tc_graph *g;
    tc_strbuf b = {0};
    tc_graph_tensor in[] = {F32(DIMS(2, 3), 1, 2, 3, -1, 0, 1), F32(DIMS(2, 3), 1, 1, 1, 0, 1, -1)};
    tc_graph_tensor want[] = {F32(DIMS(2, 2), 240, 0, 0, 0)};
    check("hoist", DATA("loop_hoist.onnx"), in, want, 1);
    assert_ok(tc_graph_import(DATA("loop_hoist.onnx"), NULL, &g, err));
    tc_graph_print(g, &b);
    const char *product = strstr(tc_sb_str(&b), "MatMul"), *loop = strstr(tc_sb_str(&b), "= Loop("),
               *relu = strstr(tc_sb_str(&b), "Relu");
    if (!product || !loop || !relu || loop < product || relu < loop)
        fail_msg("%s", tc_sb_str(&b));
    tc_strbuf_free(&b);
    tc_graph_free(g);
}

/* -x, or x twice; and the sum of that. */
static void test_branches_of_two_shapes(void **state) {
    (void)state;
    const float x[12] = {1, -2, 3, 4, -5, 7, 1, -2, 3, 4, -5, 7}, minus[6] = {-1, 2, -3, -4, 5, -7};
    for (int k = 0; k < 2; k++) {
        uint8_t c = k == 1;
        tc_graph_tensor in[] = {f32_tensor((tc_graph_shape)DIMS(2, 3), x),
                                tc_graph_tensor_view(TC_BOOL, &(tc_graph_shape)SCALAR, &c)};
        tc_graph_tensor want[] = {c ? f32_tensor((tc_graph_shape)DIMS(2, 3), minus) : f32_tensor((tc_graph_shape)DIMS(4, 3), x),
                                  F32(SCALAR, c ? -8 : 16)};
        check("if", DATA("if_sizes.onnx"), in, want, 2);
    }
}

/* A kernel of the branch that is not taken does not run, and the other's writes the result itself. */
static void test_untaken_branch(void **state) {
    (void)state;
    tc_graph *g;
    tc_graph_program *p;
    tc_strbuf b = {0};
    assert_ok(tc_graph_import(DATA("if_dynamic.onnx"), NULL, &g, err));
    assert_ok(tc_graph_program_new(g, &p, err));
    tc_graph_program_print(p, &b);
    const char *skip = strstr(tc_sb_str(&b), "unless (%c) at launch 3\n"), *go = strstr(tc_sb_str(&b), "go on () at launch 4\n");
    if (!skip || !go || go < skip)
        fail_msg("%s", tc_sb_str(&b));
    tc_strbuf_free(&b);
    tc_graph_program_free(p);
    tc_graph_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_while),         cmocka_unit_test(test_grow),     cmocka_unit_test(test_long_scan),
        cmocka_unit_test(test_batch_scan),    cmocka_unit_test(test_appended), cmocka_unit_test(test_at_most_one),
        cmocka_unit_test(test_carried_list),  cmocka_unit_test(test_hoist),    cmocka_unit_test(test_branches_of_two_shapes),
        cmocka_unit_test(test_untaken_branch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
