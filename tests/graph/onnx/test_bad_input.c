/* Models that must be refused: each with a message that names file, place and remedy. */
#include "graph/graph_test.h"
#include "graph/onnx/import.h"
#include "graph/ops/ops.h"
#include "support/system/fs.h"

#define PATH SCRATCH("bad.onnx")

/* x -> y with nothing between; tests add what is wrong. */
static tc_graph_writer *skeleton(int opset) {
    tc_graph_writer *w = tc_graph_writer_new("bad", opset);
    tc_graph_writer_input(w, "x", TC_F32, "2,3");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    return w;
}

#define assert_refused(writer, ...)                                                                                              \
    do {                                                                                                                         \
        tc_graph *g_ = NULL;                                                                                                     \
        assert_fails(TC_BAD_INPUT, import_model(writer, PATH, NULL, &g_, err), PATH, __VA_ARGS__);                               \
        assert_null(g_);                                                                                                         \
    } while (0)

static void put(const char *path, const void *data, size_t size) {
    assert_ok(tc_fs_write(path, data, size, err));
}

static void test_not_a_model(void **state) {
    (void)state;
    tc_graph *g;
    assert_fails(TC_BAD_INPUT, tc_graph_import(SCRATCH("none.onnx"), NULL, &g, err), "none.onnx", "no such file");
    assert_fails(TC_BAD_INPUT, tc_graph_import(TCTUNE_TEST_TMP, NULL, &g, err), "it is a folder, a file was expected");
    put(SCRATCH("empty.onnx"), "", 0);
    assert_fails(TC_BAD_INPUT, tc_graph_import(SCRATCH("empty.onnx"), NULL, &g, err), "the file is empty");
    put(SCRATCH("text.onnx"), "# this is a readme\n", 19);
    assert_fails(TC_BAD_INPUT, tc_graph_import(SCRATCH("text.onnx"), NULL, &g, err), "text.onnx", "not an ONNX model");
    put(SCRATCH("zip.onnx"), "PK\003\004\024\000\000\000\010\000", 10);
    assert_fails(TC_BAD_INPUT, tc_graph_import(SCRATCH("zip.onnx"), NULL, &g, err), "not an ONNX model");
    put(SCRATCH("nograph.onnx"), "\x08\x08", 2); /* ir_version 8 and nothing else */
    assert_fails(TC_BAD_INPUT, tc_graph_import(SCRATCH("nograph.onnx"), NULL, &g, err), "no graph");
}

static void test_truncated(void **state) {
    (void)state;
    tc_graph_writer *w = skeleton(17);
    tc_graph_writer_weight(w, "w", F32(DIMS(3), 1, 2, 3));
    tc_graph_writer_node(w, "Add", "", "x,w", "y");
    assert_ok(tc_graph_writer_save(w, PATH, err));
    tc_graph_writer_free(w);
    char *data;
    size_t size;
    assert_ok(tc_fs_read(PATH, &data, &size, err));
    for (size_t n = 0; n < size; n++) {
        tc_graph *g = NULL;
        put(SCRATCH("cut.onnx"), data, n);
        assert_fails(TC_BAD_INPUT, tc_graph_import(SCRATCH("cut.onnx"), NULL, &g, err), "cut.onnx");
        if (n > 40 && n < size - 4)
            assert_fails(TC_BAD_INPUT, tc_graph_import(SCRATCH("cut.onnx"), NULL, &g, err), "truncated", "bytes, but only");
    }
    free(data);
}

static void test_versions(void **state) {
    (void)state;
    tc_graph_writer *w = skeleton(17);
    tc_graph_writer_node(w, "Relu", "", "x", "y");
    tc_graph_writer_versions(w, 99, 17);
    assert_refused(w, "IR version 99", "1 to 13");
    w = skeleton(17);
    tc_graph_writer_node(w, "Relu", "", "x", "y");
    tc_graph_writer_versions(w, 8, 77);
    assert_refused(w, "opset 77", "1 to 26", "opset_version=17");
}

static void test_unknown_operators(void **state) {
    (void)state;
    tc_graph_writer *w = skeleton(17);
    tc_graph_writer_node(w, "FancyOp", "node_a", "x", "a");
    tc_graph_writer_node(w, "FancyOp", "node_b", "a", "b");
    tc_graph_writer_node(w, "Relu", "node_c", "b", "c");
    tc_graph_writer_domain(w, "com.example");
    tc_graph_writer_node(w, "Gelu", "node_d", "c", "y"); /* since opset 20 */
    assert_refused(w, "FancyOp (domain ai.onnx, first in node 'node_a'; 2 in all)",
                   "Relu (domain com.example, first in node 'node_c'; 1 in all)", "Gelu (domain ai.onnx", "opset 17",
                   "docs/reference/operators.md");
}

static void test_attributes(void **state) {
    (void)state;
    tc_graph_writer *w = skeleton(17);
    tc_graph_writer_node(w, "Softmax", "soft", "x", "y");
    tc_graph_writer_int(w, "temperature", 2);
    assert_refused(w, "node 'soft' (Softmax)", "attribute 'temperature' is not supported", "axis");
    static const char *const sizes[] = {"-9223372036854775808", "0", "1048577", "9223372036854775807"};
    for (size_t i = 0; i < TC_LEN(sizes); i++) {
        w = tc_graph_writer_new("bad", 17);
        tc_graph_writer_input(w, "x", TC_F32, "1,3,4");
        tc_graph_writer_output(w, "y", TC_F32, NULL);
        tc_graph_writer_node(w, "LRN", "norm", "x", "y");
        tc_graph_writer_int(w, "size", strtoll(sizes[i], NULL, 10));
        assert_refused(w, "node 'norm' (LRN)", "attribute size is", sizes[i], "1 to 1048576");
    }
    w = skeleton(17);
    tc_graph_writer_node(w, "Softmax", "soft", "x", "y");
    tc_graph_writer_float(w, "axis", 1);
    assert_refused(w, "node 'soft' (Softmax)", "attribute 'axis' must be an integer");
    w = skeleton(17);
    tc_graph_writer_node(w, "Softmax", "soft", "x", "y");
    tc_graph_writer_int(w, "axis", 2);
    assert_refused(w, "node 'soft' (Softmax)", "axis 2 is outside of a tensor with 2 dimensions");
}

static tc_error_code code_of(tc_graph_writer *w) {
    tc_graph *g = NULL;
    tc_error err = {0};
    assert_int_equal(import_model(w, PATH, NULL, &g, &err), TC_BAD_INPUT);
    return err.code;
}

/* What cannot be done is told from what is wrong, whatever the names in the model say. */
static void test_codes(void **state) {
    (void)state;
    tc_graph_writer *w = skeleton(17);
    tc_graph_writer_node(w, "FancyOp", "a", "x", "y");
    assert_int_equal(code_of(w), TC_ERROR_UNSUPPORTED);
    w = skeleton(17);
    tc_graph_writer_node(w, "Gather", "a", "x,x", "y");
    assert_int_equal(code_of(w), TC_ERROR_PLAIN);
    w = skeleton(17);
    tc_graph_writer_node(w, "Relu", "supported when the model is imported", "x", "z");
    assert_int_equal(code_of(w), TC_ERROR_PLAIN);
    w = skeleton(17);
    tc_graph_writer_input(w, "at", TC_I64, "1");
    tc_graph_writer_node(w, "Slice", "a", "x,at,at,at", "y");
    assert_int_equal(code_of(w), TC_ERROR_NOT_CONSTANT);
    w = skeleton(17);
    tc_graph_writer_node(w, "Range", "a", "x,x,x", "y");
    assert_int_equal(code_of(w), TC_ERROR_PLAIN);
    w = skeleton(17);
    tc_graph_writer_input(w, "shape", TC_I64, "2");
    tc_graph_writer_node(w, "Expand", "a", "x,shape", "y");
    assert_int_equal(code_of(w), TC_ERROR_DATA_DEPENDENT);
}

static void test_names(void **state) {
    (void)state;
    tc_graph_writer *w = skeleton(17);
    tc_graph_writer_node(w, "Relu", "a", "x", "y");
    tc_graph_writer_node(w, "Exp", "b", "x", "y");
    assert_refused(w, "the name 'y' is given twice", "two nodes");
    w = skeleton(17);
    tc_graph_writer_weight(w, "w", F32(DIMS(1), 1));
    tc_graph_writer_weight(w, "w", F32(DIMS(1), 2));
    tc_graph_writer_node(w, "Add", "a", "x,w", "y");
    assert_refused(w, "the name 'w' is given twice", "initializer");
    w = skeleton(17);
    tc_graph_writer_input(w, "x", TC_F32, "2");
    tc_graph_writer_node(w, "Relu", "a", "x", "y");
    assert_refused(w, "the name 'x' is given twice", "graph input");
    w = skeleton(17);
    tc_graph_writer_node(w, "Relu", "a", "x", "x");
    assert_refused(w, "the name 'x' is given twice");
    w = skeleton(17);
    tc_graph_writer_node(w, "Relu", "a", "x", "z");
    assert_refused(w, "no node makes the graph's output 'y'");
}

static void test_order(void **state) {
    (void)state;
    tc_graph_writer *w = skeleton(17);
    tc_graph_writer_node(w, "Add", "a", "x,y", "h");
    tc_graph_writer_node(w, "Relu", "b", "h", "y");
    assert_refused(w, "the nodes 'a' (Add), 'b' (Relu) form a cycle");
    w = skeleton(17);
    tc_graph_writer_node(w, "Add", "a", "x,y", "y");
    assert_refused(w, "node 'a' (Add) reads its own result");
    w = skeleton(17);
    tc_graph_writer_node(w, "Add", "a", "x,nowhere", "y");
    assert_refused(w, "node 'a' (Add)", "'nowhere' is neither a graph input");
}

static void test_weights(void **state) {
    (void)state;
    tc_graph_writer *w = skeleton(17);
    const float v[] = {1, 2, 3};
    tc_graph_writer_raw(w, "w", 1, (int64_t[]){2, 3}, 2, v, sizeof v);
    tc_graph_writer_node(w, "Add", "a", "x,w", "y");
    assert_refused(w, "tensor 'w'", "f32[2,3] needs 24 bytes, but the model holds 12", "damaged or was stripped");
    w = skeleton(17);
    tc_graph_writer_raw(w, "w", 1, (int64_t[]){-1, 3}, 2, v, sizeof v);
    tc_graph_writer_node(w, "Add", "a", "x,w", "y");
    assert_refused(w, "tensor 'w'", "dimension 0 is negative");
    w = skeleton(17);
    tc_graph_writer_raw(w, "w", 1, (int64_t[]){1LL << 40, 1LL << 40}, 2, v, sizeof v);
    tc_graph_writer_node(w, "Add", "a", "x,w", "y");
    assert_refused(w, "tensor 'w'", "overflows");
    w = skeleton(17); /* 4 GiB, says the model of some hundred bytes */
    tc_graph_writer_raw(w, "w", 1, (int64_t[]){1LL << 30}, 1, v, sizeof v);
    tc_graph_writer_node(w, "Add", "a", "x,w", "y");
    assert_refused(w, "tensor 'w'", "needs 4294967296 bytes, but the model holds 12");
    w = skeleton(17);
    tc_graph_writer_raw(w, "w", 8, (int64_t[]){3}, 1, v, sizeof v);
    tc_graph_writer_node(w, "Add", "a", "x,w", "y");
    assert_refused(w, "tensor 'w'", "STRING");
    w = skeleton(17);
    tc_graph_writer_raw(w, "w", 22, (int64_t[]){5}, 1, v, 2);
    tc_graph_writer_node(w, "Add", "a", "x,w", "y");
    assert_refused(w, "tensor 'w'", "needs 3 bytes, but the model holds 2");
    w = skeleton(17);
    tc_graph_writer_raw(w, "w", 14, (int64_t[]){3}, 1, v, 2);
    tc_graph_writer_node(w, "Add", "a", "x,w", "y");
    assert_refused(w, "tensor 'w'", "COMPLEX64");
}

static void test_inputs(void **state) {
    (void)state;
    tc_graph_writer *w = tc_graph_writer_new("bad", 17);
    tc_graph_writer_input(w, "x", TC_F32, "2,-3");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    tc_graph_writer_node(w, "Relu", "", "x", "y");
    assert_refused(w, "input 'x': dimension 1 is negative (-3)");
    w = tc_graph_writer_new("bad", 17);
    tc_graph_writer_input(w, "x", TC_F32, "1099511627776,1099511627776");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    tc_graph_writer_node(w, "Relu", "", "x", "y");
    assert_refused(w, "input 'x'", "overflows");
    w = tc_graph_writer_new("bad", 17);
    tc_graph_writer_input(w, "x", TC_F32, NULL);
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    tc_graph_writer_node(w, "Relu", "", "x", "y");
    assert_refused(w, "input 'x' has no shape", "--shape x=");
    w = tc_graph_writer_new("bad", 17);
    tc_graph_writer_input(w, "x", TC_F32, "1,1,1,1,1,1,1,1,1");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    tc_graph_writer_node(w, "Relu", "", "x", "y");
    assert_refused(w, "9 dimensions");
    w = tc_graph_writer_new("bad", 17);
    tc_graph_writer_input(w, "x", TC_F32, "2");
    tc_graph_writer_node(w, "Relu", "", "x", "y");
    assert_refused(w, "no outputs");
}

static void test_operands(void **state) {
    (void)state;
    tc_graph_writer *w = skeleton(17);
    tc_graph_writer_weight(w, "w", F32(DIMS(2), 1, 2));
    tc_graph_writer_node(w, "Add", "a", "x,w", "y");
    assert_refused(w, "node 'a' (Add)", "[2,3] and [2] do not broadcast");
    w = skeleton(17);
    tc_graph_writer_weight(w, "w", I64(DIMS(3), 1, 2, 3));
    tc_graph_writer_node(w, "Add", "a", "x,w", "y");
    assert_refused(w, "node 'a' (Add)", "f32 and i64");
    w = skeleton(17);
    tc_graph_writer_node(w, "Add", "a", "x", "y");
    assert_refused(w, "node 'a' (Add)", "it has 1 inputs, but 2 to 2 are expected");
    w = skeleton(17);
    tc_graph_writer_node(w, "MatMul", "m", "x,x", "y");
    assert_refused(w, "node 'm' (MatMul)", "inner dimensions of f32[2,3] and f32[2,3] differ");
    w = skeleton(17);
    tc_graph_writer_weight(w, "s", I64(DIMS(2), 4, -1));
    tc_graph_writer_node(w, "Reshape", "r", "x,s", "y");
    assert_refused(w, "node 'r' (Reshape)", "6 elements");
    w = skeleton(17);
    tc_graph_writer_weight(w, "i", I64(DIMS(1), 2));
    tc_graph_writer_node(w, "Gather", "g", "x,i", "y");
    assert_refused(w, "node 'g' (Gather)", "index 2 in 'i' is outside of a dimension of 2");
    w = skeleton(17);
    tc_graph_writer_weight(w, "a", I64(DIMS(1), 1));
    tc_graph_writer_weight(w, "b", I64(DIMS(1), 0));
    tc_graph_writer_node(w, "Div", "d", "a,b", "y");
    assert_refused(w, "node 'd' (Div)", "division by zero");
    w = skeleton(17);
    tc_graph_writer_weight(w, "s", I64(DIMS(2), 1LL << 20, 1LL << 20));
    tc_graph_writer_node(w, "ConstantOfShape", "c", "s", "y");
    assert_refused(w, "node 'c' (ConstantOfShape)", "more than 4 GiB");
    w = tc_graph_writer_new("bad", 17);
    tc_graph_writer_input(w, "x", TC_F32, "1073741824");
    tc_graph_writer_input(w, "from", TC_I64, "1");
    tc_graph_writer_input(w, "to", TC_I64, "1");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    tc_graph_writer_weight(w, "axis", I64(DIMS(1), 0));
    tc_graph_writer_weight(w, "step", I64(DIMS(1), -1));
    tc_graph_writer_node(w, "Slice", "u", "x,from,to,axis,step", "y");
    assert_refused(w, "node 'u' (Slice)", "a table of 1073741824 entries");
    w = tc_graph_writer_new("bad", 17);
    tc_graph_writer_input(w, "x", TC_F32, "1,4294967297,1");
    tc_graph_writer_input(w, "w", TC_F32, "1,3,1");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    tc_graph_writer_node(w, "GRU", "g", "x,w,w", "y");
    assert_refused(w, "node 'g' (GRU)", "4294967297 sequences", "more than 16777216 elements");
}

static void test_types(void **state) {
    (void)state;
    static const struct {
        const char *op, *inputs, *wants;
        tc_dtype dtype;
    } cases[] = {
        {"AveragePool", "x", "must be floating point, but is i64", TC_I64},
        {"GlobalAveragePool", "x", "must be floating point", TC_I32},
        {"MaxPool", "x", "must be of numbers, but is bool", TC_BOOL},
        {"Conv", "x,x", "must be of numbers", TC_BOOL},
        {"ReduceLogSum", "x", "must be of numbers", TC_BOOL},
        {"ReduceMean", "x", "must be of numbers", TC_BOOL},
        {"ArgMax", "x", "must be of numbers", TC_BOOL},
        {"TopK", "x,k", "must be of numbers", TC_BOOL},
        {"CumSum", "x,k", "must be of numbers", TC_BOOL},
        {"MatMul", "x,x", "must be of numbers", TC_BOOL},
        {"PRelu", "x,x", "must be of numbers", TC_BOOL},
        {"Pow", "x,x", "must be of numbers", TC_BOOL},
        {"Softmax", "x", "must be floating point", TC_I32},
    };
    for (size_t i = 0; i < TC_LEN(cases); i++) {
        tc_graph_writer *w = tc_graph_writer_new("bad", 17);
        tc_graph_writer_input(w, "x", cases[i].dtype, "2,2,2,2");
        tc_graph_writer_output(w, "y", cases[i].dtype, NULL);
        tc_graph_writer_weight(w, "k", I64(DIMS(1), 1));
        tc_graph_writer_node(w, cases[i].op, "typed", cases[i].inputs, "y");
        if (strcmp(cases[i].op, "AveragePool") == 0 || strcmp(cases[i].op, "MaxPool") == 0)
            tc_graph_writer_ints(w, "kernel_shape", "2,2");
        assert_refused(w, "node 'typed' (", cases[i].op, "input 0 ('x')", cases[i].wants);
    }
}

static void test_groups(void **state) {
    (void)state;
    static const char *const groups[] = {"0", "-1", "4", "9223372036854775807"};
    for (size_t i = 0; i < 2 * TC_LEN(groups); i++) {
        tc_graph_writer *w = tc_graph_writer_new("bad", 17);
        tc_graph_writer_input(w, "x", TC_F32, "1,3,4");
        tc_graph_writer_input(w, "k", TC_F32, "3,3,2");
        tc_graph_writer_output(w, "y", TC_F32, NULL);
        tc_graph_writer_node(w, i % 2 ? "Conv" : "ConvTranspose", "c", "x,k", "y");
        tc_graph_writer_int(w, "group", strtoll(groups[i / 2], NULL, 10));
        assert_refused(w, "node 'c'", "do not fit the input f32[1,3,4] with group", groups[i / 2]);
    }
}

static void test_run_inputs(void **state) {
    (void)state;
    tc_graph_writer *w = skeleton(17);
    tc_graph_writer_node(w, "Relu", "", "x", "y");
    tc_graph *g;
    assert_ok(import_model(w, PATH, NULL, &g, err));
    tc_graph_tensor bad = F32(DIMS(3, 2), 0, 0, 0, 0, 0, 0), out;
    assert_fails(TC_BAD_INPUT, tc_graph_eval(g, &bad, &out, err), "input 'x' must be f32[2,3]", "given array is f32[3,2]");
    tc_graph_free(g);
}

/* ---- messages within messages ---- */

/* Bytes of a message that is written from its innermost part outwards: towards the beginning of a buffer. */
typedef struct inside_out {
    unsigned char *data;
    size_t at, end;
} inside_out;

static void put_number(inside_out *m, uint64_t v) {
    size_t n = 1;
    for (uint64_t rest = v; rest >>= 7;)
        n++;
    m->at -= n;
    for (size_t i = 0; i < n; i++)
        m->data[m->at + i] = (unsigned char)((v >> 7 * i & 127) | (i + 1 < n ? 128 : 0));
}

/* What there is becomes the content of this field of a message around it. */
static void wrap(inside_out *m, unsigned field) {
    put_number(m, m->end - m->at);
    put_number(m, field << 3 | 2);
}

enum { GRAPH = 7, INPUT = 11, TYPE_OF_INPUT = 2, SEQUENCE = 4, ELEMENT = 1, NODE = 1, ATTRIBUTE = 5, BODY = 6, OPTIONAL = 9 };

/* A file with ir_version 8 and this graph. */
static void put_model(inside_out *m, const char *path) {
    wrap(m, GRAPH);
    m->at -= 2;
    memcpy(m->data + m->at, "\x08\x08", 2);
    put(path, m->data + m->at, m->end - m->at);
    m->at = m->end;
}

static void nest_type(inside_out *m, int depth, unsigned kind) {
    for (int i = 0; i < depth; i++) {
        wrap(m, ELEMENT);
        wrap(m, kind);
    }
    wrap(m, TYPE_OF_INPUT);
    wrap(m, INPUT);
}

static void nest_bodies(inside_out *m, int depth) {
    for (int i = 0; i < depth; i++) {
        wrap(m, BODY);
        wrap(m, ATTRIBUTE);
        wrap(m, NODE);
    }
}

static void test_nesting(void **state) {
    (void)state;
    enum { ROOM = 1 << 18, DEEP = 8000 };
    tc_graph *g = NULL;
    inside_out m = {malloc(ROOM), ROOM, ROOM};
    assert_non_null(m.data);
    nest_type(&m, DEEP, SEQUENCE);
    put_model(&m, PATH);
    assert_fails(TC_BAD_INPUT, tc_graph_import(PATH, NULL, &g, err), PATH, "nested more than 128 deep", "at byte");
    nest_type(&m, DEEP, OPTIONAL);
    put_model(&m, PATH);
    assert_fails(TC_BAD_INPUT, tc_graph_import(PATH, NULL, &g, err), PATH, "nested more than 128 deep");
    nest_bodies(&m, DEEP);
    put_model(&m, PATH);
    assert_fails(TC_BAD_INPUT, tc_graph_import(PATH, NULL, &g, err), PATH, "nested more than 128 deep");
    /* What is less deep is taken apart, and refused for what it lacks. */
    nest_type(&m, 60, SEQUENCE);
    put_model(&m, PATH);
    assert_fails(TC_BAD_INPUT, tc_graph_import(PATH, NULL, &g, err), "does not say which opset");
    nest_bodies(&m, 40);
    put_model(&m, PATH);
    assert_fails(TC_BAD_INPUT, tc_graph_import(PATH, NULL, &g, err), "does not say which opset");
    free(m.data);
}

/* protobuf-c would join them, each time copying what it has. */
static void test_given_twice(void **state) {
    (void)state;
    tc_graph *g = NULL;
    static const char twice[] = {GRAPH << 3 | 2, 0, GRAPH << 3 | 2, 0};
    put(PATH, twice, sizeof twice);
    assert_fails(TC_BAD_INPUT, tc_graph_import(PATH, NULL, &g, err), "a ModelProto has its field 'graph' twice", "byte 2");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_not_a_model), cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_versions),    cmocka_unit_test(test_unknown_operators),
        cmocka_unit_test(test_attributes),  cmocka_unit_test(test_codes),
        cmocka_unit_test(test_names),       cmocka_unit_test(test_order),
        cmocka_unit_test(test_weights),     cmocka_unit_test(test_inputs),
        cmocka_unit_test(test_operands),    cmocka_unit_test(test_run_inputs),
        cmocka_unit_test(test_types),       cmocka_unit_test(test_groups),
        cmocka_unit_test(test_nesting),     cmocka_unit_test(test_given_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
