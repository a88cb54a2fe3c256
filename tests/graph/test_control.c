/* If, Loop and Scan that run at run time, from files in data/: by the evaluator, by the interpreter, compiled, as a library and
 * as C source. */
#include <dlfcn.h>
#include <math.h>

#include "lower_common.h"

#define DATA(name) TCTUNE_TEST_DIR "/data/" name
enum { MAX_OUT = 2 };

typedef struct checked {
    const char *name;
    const tc_graph_tensor *in, *want;
    int nout;
} checked;

static void expect(const checked *c, tc_graph_tensor *out, const char *how) {
    for (int k = 0; k < c->nout; k++) {
        tc_graph_diff d;
        assert_ok(tc_graph_tensor_compare(&out[k], &c->want[k], 1e-5, 1e-6, &d, err));
        if (d.violations)
            fail_msg("%s, %s: output %d is wrong", c->name, how, k);
        tc_graph_tensor_free(&out[k]);
    }
}

static void check_library(const checked *c, tc_graph_model *m) {
    static int count;
    char path[1200];
    tc_graph_model *loaded;
    tc_graph_tensor out[MAX_OUT];
    snprintf(path, sizeof path, SCRATCH("control%d.so"), count++);
    assert_ok(tc_graph_model_save(m, path, NULL, err));
    assert_ok(tc_graph_model_load(path, 0, &loaded, err));
    assert_ok(tc_graph_model_run(loaded, c->in, out, err));
    expect(c, out, "library");
    tc_graph_model_free(loaded);
}

/* What is past the size of an output is not compared. */
static void check_source(const checked *c, tc_graph_model *m) {
    static int count;
    const tc_graph_port *ports;
    tc_graph_tensor out[2 * MAX_OUT + TC_GRAPH_MAX_DIMS];
    const void *ins[8];
    void *outs[TC_LEN(out)];
    char source[1200], so[1200], command[4000];
    snprintf(source, sizeof source, SCRATCH("control_source%d.c"), count);
    snprintf(so, sizeof so, SCRATCH("control_source%d.so"), count++);
    assert_ok(tc_graph_model_save(m, source, "control", err));
    snprintf(command, sizeof command, "cc -std=c17 -O1 -Wall -Werror -fPIC -shared %s -o %s -lm", source, so);
    assert_int_equal(system(command), 0);
    void *lib = dlopen(so, RTLD_NOW | RTLD_LOCAL), *run = lib ? dlsym(lib, "control_run") : NULL;
    assert_non_null(run);
    void (*call)(const void *const *, void *const *);
    memcpy(&call, &run, sizeof run);
    int nin = tc_graph_model_inputs(m, &ports);
    for (int i = 0; i < nin; i++)
        ins[i] = c->in[i].data;
    tc_graph_model_outputs(m, &ports);
    for (int i = 0; i < m->nout; i++) {
        assert_ok(tc_graph_tensor_alloc(&out[i], ports[i].dtype, &ports[i].shape, err));
        outs[i] = out[i].data;
    }
    call(ins, outs);
    for (int i = 0; i < m->nout; i++) {
        tc_graph_tensor_trim(&out[i], i < c->nout ? &c->want[i].shape : &out[i].shape);
    }
    expect(c, out, "C source");
    for (int i = c->nout; i < m->nout; i++)
        tc_graph_tensor_free(&out[i]);
    dlclose(lib);
}

static void check(const char *name, const char *file, const tc_graph_tensor *in, const tc_graph_tensor *want, int nout) {
    checked c = {name, in, want, nout};
    tc_graph *g;
    tc_graph_program *p;
    tc_target *t;
    tc_graph_model *m;
    tc_graph_tensor out[MAX_OUT];
    assert_ok(tc_graph_import(file, NULL, &g, err));
    assert_ok(tc_graph_verify(g, err));
    assert_ok(tc_graph_eval(g, in, out, err));
    expect(&c, out, "evaluated");
    assert_ok(tc_graph_passes(g, NULL, err));
    assert_ok(tc_graph_program_new(g, &p, err));
    assert_ok(interpret_program(p, in, out, err));
    expect(&c, out, "interpreted");
    assert_ok(tc_target_parse("native", &t, err));
    assert_ok(tc_graph_model_build(p, &(tc_graph_build_options){.target = t, .threads = 2}, &m, err));
    assert_ok(tc_graph_model_run(m, in, out, err));
    expect(&c, out, "compiled");
    check_library(&c, m);
    check_source(&c, m);
    tc_graph_model_free(m);
    tc_graph_program_free(p);
    tc_target_free(t);
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_while),
                                       cmocka_unit_test(test_grow),
                                       cmocka_unit_test(test_long_scan),
                                       cmocka_unit_test(test_hoist),
                                       cmocka_unit_test(test_branches_of_two_shapes),
                                       cmocka_unit_test(test_untaken_branch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
