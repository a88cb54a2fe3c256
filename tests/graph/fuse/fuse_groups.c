/* Which nodes become one kernel, and what the kernel's workload is: goldens beside this file. TC_UPDATE_GOLDENS=1 rewrites them. */
#include "graph/lower_common.h"
#include "graph/onnx/import.h"
#include "graph/zoo/zoo.h"
#include "support/system/fs.h"
#include "te/text.h"

static void expect_golden(const char *name, const char *text) {
    char path[1024], *want = NULL;
    snprintf(path, sizeof path, TCTUNE_TEST_DIR "/fuse/%s.txt", name);
    if (getenv("TC_UPDATE_GOLDENS")) {
        assert_ok(tc_fs_write(path, text, strlen(text), err));
        return;
    }
    assert_ok(tc_fs_read(path, &want, NULL, err));
    assert_string_equal(text, want);
    free(want);
}

static void check_program(const char *name, const tc_graph *g) {
    tc_graph_program *p;
    tc_strbuf b = {0};
    const tc_tune_task *tasks;
    assert_ok(tc_graph_program_new(g, &p, err));
    tc_graph_program_print(p, &b);
    int n = tc_graph_program_tasks(p, &tasks);
    for (int i = 0; i < n; i++) {
        tc_sb_printf(&b, "\n# task %d: %s\n", i, tasks[i].name);
        tc_te_print(&b, tasks[i].workload);
    }
    expect_golden(name, tc_sb_str(&b));
    tc_strbuf_free(&b);
    tc_graph_program_free(p);
}

/* Checks the writer's model after these passes (NULL: the usual ones), whose outputs are `outs`, separated by commas. */
static void check_after(const tc_graph_pass_options *passes, const char *name, tc_graph_writer *w, const char *outs) {
    char path[1024], *copy = strdup(outs), *save = NULL;
    for (char *o = strtok_r(copy, ",", &save); o; o = strtok_r(NULL, ",", &save))
        tc_graph_writer_output(w, o, TC_F32, NULL);
    tc_graph *g;
    snprintf(path, sizeof path, TCTUNE_TEST_TMP "/fuse_%s.onnx", name);
    assert_ok(import_model(w, path, NULL, &g, err));
    assert_ok(tc_graph_passes(g, passes, err));
    check_program(name, g);
    tc_graph_free(g);
    free(copy);
    remove(path);
}

/* Fusion alone. */
static void check(const char *name, tc_graph_writer *w, const char *outs) {
    check_after(&(tc_graph_pass_options){.level = 0}, name, w, outs);
}

static void weight(tc_graph_writer *w, const char *name, tc_graph_shape s) {
    tc_graph_tensor t;
    assert_ok(tc_graph_tensor_alloc(&t, TC_F32, &s, err));
    for (int64_t i = 0; i < tc_graph_tensor_count(&t); i++)
        ((float *)t.data)[i] = (float)(i % (7 + name[1])); /* equal weights would be merged */
    tc_graph_writer_weight(w, name, t);
}

static tc_graph_writer *with_input(const char *dims) {
    tc_graph_writer *w = tc_graph_writer_new("g", 17);
    tc_graph_writer_input(w, "x", TC_F32, dims);
    return w;
}

/* The epilogue ends where its value is needed twice. */
static void test_epilogue(void **state) {
    (void)state;
    tc_graph_writer *w = with_input("1,16,32");
    weight(w, "w", (tc_graph_shape)DIMS(32, 24));
    weight(w, "b", (tc_graph_shape)DIMS(24));
    tc_graph_writer_node(w, "MatMul", "mm", "x,w", "m");
    tc_graph_writer_node(w, "Add", "bias", "m,b", "a");
    tc_graph_writer_node(w, "Relu", "relu", "a", "r");
    tc_graph_writer_node(w, "Tanh", "tanh", "r", "t");
    tc_graph_writer_node(w, "Softmax", "soft", "r", "s");
    tc_graph_writer_int(w, "axis", 2);
    check("epilogue", w, "t,s");
}

/* Queries and keys are read where they are; the values' product is written as the next matmul reads it. */
static void attention(const char *name, const char *outputs) {
    tc_graph_writer *w = with_input("1,16,32");
    static const char *const names[] = {"q", "k", "v"};
    for (int i = 0; i < 3; i++) {
        char matrix[8], in[16], out[8];
        snprintf(matrix, sizeof matrix, "w%s", names[i]);
        weight(w, matrix, (tc_graph_shape)DIMS(32, 32));
        snprintf(in, sizeof in, "x,%s", matrix);
        snprintf(out, sizeof out, "%s0", names[i]);
        tc_graph_writer_node(w, "MatMul", matrix, in, out);
    }
    tc_graph_writer_weight(w, "heads", I64(DIMS(4), 1, 16, 4, 8));
    tc_graph_writer_weight(w, "flat", I64(DIMS(3), 1, 16, 32));
    tc_graph_writer_node(w, "Reshape", "rq", "q0,heads", "q1");
    tc_graph_writer_node(w, "Reshape", "rk", "k0,heads", "k1");
    tc_graph_writer_node(w, "Reshape", "rv", "v0,heads", "v1");
    tc_graph_writer_node(w, "Transpose", "tq", "q1", "q2");
    tc_graph_writer_ints(w, "perm", "0,2,1,3");
    tc_graph_writer_node(w, "Transpose", "tk", "k1", "k2");
    tc_graph_writer_ints(w, "perm", "0,2,3,1");
    tc_graph_writer_node(w, "Transpose", "tv", "v1", "v2");
    tc_graph_writer_ints(w, "perm", "0,2,1,3");
    tc_graph_writer_node(w, "MatMul", "qk", "q2,k2", "s");
    tc_graph_writer_node(w, "Softmax", "soft", "s", "p");
    tc_graph_writer_int(w, "axis", 3);
    tc_graph_writer_node(w, "MatMul", "pv", "p,v2", "o0");
    tc_graph_writer_node(w, "Transpose", "to", "o0", "o1");
    tc_graph_writer_ints(w, "perm", "0,2,1,3");
    tc_graph_writer_node(w, "Reshape", "ro", "o1,flat", "o2");
    weight(w, "wo", (tc_graph_shape)DIMS(32, 32));
    tc_graph_writer_node(w, "MatMul", "out", "o2,wo", "y");
    check(name, w, outputs);
}

static void test_attention(void **state) {
    (void)state;
    attention("attention", "y");
}

/* The probabilities are wanted too: three kernels. */
static void test_attention_shown(void **state) {
    (void)state;
    attention("attention_shown", "y,p");
}

/* A layer norm written out, its input needed again after it, with an elementwise chain before. */
static void test_rows(void **state) {
    (void)state;
    tc_graph_writer *w = with_input("1,8,40");
    tc_graph_writer_weight(w, "two", F32(SCALAR, 2));
    tc_graph_writer_weight(w, "eps", F32(SCALAR, 1e-5F));
    weight(w, "g", (tc_graph_shape)DIMS(40));
    tc_graph_writer_node(w, "Sigmoid", "sig", "x", "x1");
    tc_graph_writer_node(w, "Mul", "swish", "x,x1", "x2");
    tc_graph_writer_node(w, "ReduceMean", "mean", "x2", "m");
    tc_graph_writer_ints(w, "axes", "-1");
    tc_graph_writer_node(w, "Sub", "centre", "x2,m", "d");
    tc_graph_writer_node(w, "Pow", "square", "d,two", "q");
    tc_graph_writer_node(w, "ReduceMean", "var", "q", "v");
    tc_graph_writer_ints(w, "axes", "-1");
    tc_graph_writer_node(w, "Add", "plus", "v,eps", "v1");
    tc_graph_writer_node(w, "Sqrt", "root", "v1", "v2");
    tc_graph_writer_node(w, "Div", "norm", "d,v2", "n");
    tc_graph_writer_node(w, "Mul", "scale", "n,g", "n1");
    tc_graph_writer_node(w, "Add", "again", "n1,x", "y");
    check("rows", w, "y");
}

/* Convolutions take their bias, scale, residual and activation; pools what is cheap before them; the classifier reads the pooled
 * channels where they are. */
static void test_convolutions(void **state) {
    (void)state;
    tc_graph_writer *w = with_input("1,3,12,12");
    weight(w, "w1", (tc_graph_shape)DIMS(16, 3, 3, 3));
    weight(w, "w2", (tc_graph_shape)DIMS(16, 1, 3, 3));
    weight(w, "w3", (tc_graph_shape)DIMS(16, 16, 1, 1));
    weight(w, "wg", (tc_graph_shape)DIMS(16, 10));
    weight(w, "b", (tc_graph_shape)DIMS(16));
    weight(w, "scale", (tc_graph_shape)DIMS(16, 1, 1));
    tc_graph_writer_node(w, "Conv", "c1", "x,w1,b", "y1");
    tc_graph_writer_ints(w, "pads", "1,1,1,1");
    tc_graph_writer_node(w, "Mul", "scaled", "y1,scale", "s1");
    tc_graph_writer_node(w, "Relu", "r1", "s1", "z1");
    tc_graph_writer_node(w, "Conv", "c2", "z1,w2", "y2");
    tc_graph_writer_ints(w, "pads", "1,1,1,1");
    tc_graph_writer_int(w, "group", 16);
    tc_graph_writer_node(w, "Sigmoid", "sig", "y2", "g2");
    tc_graph_writer_node(w, "Mul", "swish", "y2,g2", "z2");
    tc_graph_writer_node(w, "Conv", "c3", "z2,w3", "y3");
    tc_graph_writer_node(w, "Add", "residual", "y3,z1", "a3");
    tc_graph_writer_node(w, "Relu", "r3", "a3", "z3");
    tc_graph_writer_node(w, "MaxPool", "pool", "z3", "p");
    tc_graph_writer_ints(w, "kernel_shape", "2,2");
    tc_graph_writer_ints(w, "strides", "2,2");
    tc_graph_writer_node(w, "Neg", "neg", "p", "n");
    tc_graph_writer_node(w, "AveragePool", "average", "n", "v");
    tc_graph_writer_ints(w, "kernel_shape", "3,3");
    tc_graph_writer_ints(w, "pads", "1,1,1,1");
    tc_graph_writer_node(w, "GlobalAveragePool", "global", "v", "q");
    tc_graph_writer_node(w, "Flatten", "flat", "q", "f");
    tc_graph_writer_node(w, "MatMul", "classes", "f,wg", "y");
    check_after(NULL, "convolutions", w, "y");
}

/* A mask that broadcasts over what reads it is computed once, apart; a concat is not read through by a matmul. */
static void test_apart(void **state) {
    (void)state;
    tc_graph_writer *w = with_input("4,12");
    tc_graph_writer_input(w, "mask", TC_F32, "1,12");
    weight(w, "w", (tc_graph_shape)DIMS(24, 8));
    tc_graph_writer_node(w, "Exp", "e", "mask", "m1");
    tc_graph_writer_node(w, "Add", "add", "x,m1", "a");
    tc_graph_writer_node(w, "Concat", "cat", "a,x", "c");
    tc_graph_writer_int(w, "axis", 1);
    tc_graph_writer_node(w, "MatMul", "mm", "c,w", "y");
    check("apart", w, "y");
}

static void product_of_bytes(tc_graph_writer *w, const char *x, const char *y) {
    char sum[16], real[16], product[16], scaled[24];
    snprintf(sum, sizeof sum, "%s_sum", x);
    snprintf(real, sizeof real, "%s_real", x);
    snprintf(product, sizeof product, "%s,w", x);
    snprintf(scaled, sizeof scaled, "%s,scale", real);
    tc_graph_writer_node(w, "MatMulInteger", sum, product, sum);
    tc_graph_writer_node(w, "Cast", real, sum, real);
    tc_graph_writer_int(w, "to", 1);
    tc_graph_writer_node(w, "Mul", y, scaled, y);
}

/* A product of bytes is stored in another order of rows, but not column by column. */
static void test_bytes(void **state) {
    (void)state;
    tc_graph_writer *w = tc_graph_writer_new("g", 17);
    tc_graph_tensor t;
    assert_ok(tc_graph_tensor_alloc(&t, TC_I8, &(tc_graph_shape)DIMS(32, 24), err));
    for (int64_t i = 0; i < tc_graph_tensor_count(&t); i++)
        ((int8_t *)t.data)[i] = (int8_t)(i % 23 - 11);
    tc_graph_writer_weight(w, "w", t);
    tc_graph_writer_weight(w, "scale", F32(SCALAR, 0.25F));
    tc_graph_writer_input(w, "a", TC_U8, "1,16,32");
    tc_graph_writer_input(w, "b", TC_U8, "1,4,16,32");
    product_of_bytes(w, "a", "a1");
    tc_graph_writer_node(w, "Transpose", "columns", "a1", "ya");
    tc_graph_writer_ints(w, "perm", "0,2,1");
    product_of_bytes(w, "b", "b1");
    tc_graph_writer_node(w, "Transpose", "rows", "b1", "yb");
    tc_graph_writer_ints(w, "perm", "0,2,1,3");
    check("bytes", w, "ya,yb");
}

static void test_bert(void **state) {
    (void)state;
    tc_graph *g;
    assert_ok(tc_graph_zoo("bert-tiny", SCRATCH("fuse_bert.onnx"), err));
    assert_ok(tc_graph_import(SCRATCH("fuse_bert.onnx"), NULL, &g, err));
    check_program("bert_tiny", g);
    tc_graph_free(g);
    remove(SCRATCH("fuse_bert.onnx"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_epilogue), cmocka_unit_test(test_attention),    cmocka_unit_test(test_attention_shown),
        cmocka_unit_test(test_rows),     cmocka_unit_test(test_convolutions), cmocka_unit_test(test_apart),
        cmocka_unit_test(test_bytes),    cmocka_unit_test(test_bert),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
