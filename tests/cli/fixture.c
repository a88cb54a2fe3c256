/* What the scripts of this folder need and a shell cannot make: small models, right and broken ones, and tensors. fixture DIR
 * writes them (see the functions below). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "graph/io/numpy.h"
#include "graph/onnx/import.h"
#include "graph/onnx/write.h"
#include "support/strbuf.h"

enum { ROWS = 8, INNER = 48, COLS = 40 };

static void must(tc_status s, const tc_error *err) {
    if (s == TC_OK)
        return;
    fprintf(stderr, "fixture: %s\n", err->msg);
    exit(1);
}

static const char *in(const char *dir, const char *name) {
    static char paths[4][4096]; /* callers use at most two at once */
    static int next;
    char *path = paths[next++ % 4];
    if ((size_t)snprintf(path, sizeof paths[0], "%s/%s", dir, name) >= sizeof paths[0]) {
        fprintf(stderr, "fixture: the folder's name is too long: %s\n", dir);
        exit(1);
    }
    return path;
}

static void save(tc_graph_writer *w, const char *path) {
    tc_error err;
    must(tc_graph_writer_save(w, path, &err), &err);
    tc_graph_writer_free(w);
}

/* A matrix of small numbers that depend on their place. */
static tc_graph_tensor matrix(int rows, int cols) {
    tc_graph_tensor t;
    tc_error err;
    must(tc_graph_tensor_alloc(&t, TC_F32, &(tc_graph_shape){2, {rows, cols}}, &err), &err);
    for (int i = 0; i < rows * cols; i++)
        ((float *)t.data)[i] = (float)((i * 7 + 3) % 23 - 11) / 16;
    return t;
}

static tc_graph_writer *start(const char *rows) {
    char dims[32];
    snprintf(dims, sizeof dims, "%s,%d", rows, INNER);
    tc_graph_writer *w = tc_graph_writer_new("fixture", 17);
    tc_graph_writer_input(w, "x", TC_F32, dims);
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    return w;
}

/* y = relu(x W) */
static void dense(const char *path, const char *rows) {
    tc_graph_writer *w = start(rows);
    tc_graph_writer_weight(w, "w", matrix(INNER, COLS));
    tc_graph_writer_node(w, "MatMul", "product", "x,w", "h");
    tc_graph_writer_node(w, "Relu", "positive", "h", "y");
    save(w, path);
}

/* y = relu([p; x] + t): as many rows in t as in both. */
static void joined(const char *path) {
    char past[32], total[32];
    snprintf(past, sizeof past, "past,%d", INNER);
    snprintf(total, sizeof total, "total,%d", INNER);
    tc_graph_writer *w = start("sequence");
    tc_graph_writer_input(w, "p", TC_F32, past);
    tc_graph_writer_input(w, "t", TC_F32, total);
    tc_graph_writer_node(w, "Concat", "rows", "p,x", "h");
    tc_graph_writer_int(w, "axis", 0);
    tc_graph_writer_node(w, "Add", "sum", "h,t", "s");
    tc_graph_writer_node(w, "Relu", "positive", "s", "y");
    save(w, path);
}

/* y = relu(x as [parts, -1]): as many parts as t has elements. */
static void divided(const char *path) {
    static int64_t open[] = {-1};
    tc_graph_writer *w = tc_graph_writer_new("fixture", 17);
    tc_graph_writer_input(w, "x", TC_F32, "n");
    tc_graph_writer_input(w, "t", TC_F32, "parts");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    tc_graph_tensor t;
    tc_error err;
    must(tc_graph_tensor_alloc(&t, TC_I64, &(tc_graph_shape){1, {1}}, &err), &err);
    memcpy(t.data, open, sizeof open);
    tc_graph_writer_weight(w, "open", t);
    tc_graph_writer_node(w, "Shape", "count", "t", "parts");
    tc_graph_writer_node(w, "Concat", "shape", "parts,open", "to");
    tc_graph_writer_int(w, "axis", 0);
    tc_graph_writer_node(w, "Reshape", "divide", "x,to", "h");
    tc_graph_writer_node(w, "Relu", "positive", "h", "y");
    save(w, path);
}

/* y = relu(x twice + t three times), so n * 2 must be m * 3. */
static void equal(const char *path) {
    tc_graph_writer *w = tc_graph_writer_new("fixture", 17);
    tc_graph_writer_input(w, "x", TC_F32, "n");
    tc_graph_writer_input(w, "t", TC_F32, "m");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    tc_graph_writer_node(w, "Concat", "twice", "x,x", "xx");
    tc_graph_writer_int(w, "axis", 0);
    tc_graph_writer_node(w, "Concat", "thrice", "t,t,t", "ttt");
    tc_graph_writer_int(w, "axis", 0);
    tc_graph_writer_node(w, "Add", "meet", "xx,ttt", "h");
    tc_graph_writer_node(w, "Relu", "positive", "h", "y");
    save(w, path);
}

/* Two windows, one after the other: x has at least 7 columns. */
static void windows(const char *path) {
    tc_graph_writer *w = tc_graph_writer_new("fixture", 17);
    tc_graph_writer_input(w, "x", TC_F32, "1,2,n");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    tc_graph_writer_node(w, "MaxPool", "narrow", "x", "h");
    tc_graph_writer_ints(w, "kernel_shape", "3");
    tc_graph_writer_ints(w, "strides", "2");
    tc_graph_writer_node(w, "LpPool", "wide", "h", "y");
    tc_graph_writer_ints(w, "kernel_shape", "3");
    save(w, path);
}

/* y is p with relu(x) behind it. */
static void cache(const char *path) {
    char past[32];
    snprintf(past, sizeof past, "past,%d", INNER);
    tc_graph_writer *w = start("sequence");
    tc_graph_writer_input(w, "p", TC_F32, past);
    tc_graph_writer_node(w, "Relu", "positive", "x", "h");
    tc_graph_writer_node(w, "Concat", "rows", "p,h", "y");
    tc_graph_writer_int(w, "axis", 0);
    save(w, path);
}

static void unknown_operator(const char *path) {
    tc_graph_writer *w = start("8");
    tc_graph_writer_node(w, "FancyOp", "fancy_7", "x", "y");
    save(w, path);
}

static void unknown_attribute(const char *path) {
    tc_graph_writer *w = start("8");
    tc_graph_writer_node(w, "Softmax", "soft_3", "x", "y");
    tc_graph_writer_int(w, "temperature", 2);
    save(w, path);
}

static void external_data(const char *path) {
    char dims[32];
    snprintf(dims, sizeof dims, "%d,%d", INNER, COLS);
    tc_graph_writer *w = start("8");
    tc_graph_writer_external(w, "w", TC_F32, dims, "weights.bin", 0, INNER * COLS * 4);
    tc_graph_writer_node(w, "MatMul", "product", "x,w", "y");
    save(w, path);
}

static void npz(const char *path, const char *name, tc_graph_tensor t) {
    tc_error err;
    tc_graph_named item = {(char *)(uintptr_t)name, t};
    must(tc_graph_npz_save(path, &item, 1, &err), &err);
    tc_graph_tensor_free(&t);
}

/* A conformance case: y = Relu(x), expecting relu(x) + offset, of n rows, which the model calls `rows`. */
static void test_case_of(const char *dir, const char *op, float offset, const char *rows, int n) {
    char set[4096];
    tc_error err;
    tc_graph_tensor x = matrix(n, INNER), y = matrix(n, INNER);
    tc_graph_writer *w = start(rows);
    for (int i = 0; i < n * INNER; i++)
        ((float *)y.data)[i] = (((float *)x.data)[i] > 0 ? ((float *)x.data)[i] : 0) + offset;
    snprintf(set, sizeof set, "%s/test_data_set_0", dir);
    mkdir(dir, 0777);
    mkdir(set, 0777);
    tc_graph_writer_node(w, op, "only", "x", "y");
    save(w, in(dir, "model.onnx"));
    must(tc_graph_pb_save(in(set, "input_0.pb"), "x", &x, &err), &err);
    must(tc_graph_pb_save(in(set, "output_0.pb"), "y", &y, &err), &err);
    tc_graph_tensor_free(&x);
    tc_graph_tensor_free(&y);
}

static void test_case(const char *dir, const char *op, float offset) {
    test_case_of(dir, op, offset, "8", ROWS);
}

/* A case whose model is refused as it is: y = Reshape(x, shape), the shape being an input. */
static void shape_case(const char *dir) {
    char set[4096];
    tc_error err;
    tc_graph_tensor x = matrix(ROWS, INNER), y = matrix(ROWS, INNER), shape;
    tc_graph_writer *w = start("8");
    must(tc_graph_tensor_alloc(&shape, TC_I64, &(tc_graph_shape){1, {2}}, &err), &err);
    ((int64_t *)shape.data)[0] = y.shape.d[0] = INNER;
    ((int64_t *)shape.data)[1] = y.shape.d[1] = ROWS;
    snprintf(set, sizeof set, "%s/test_data_set_0", dir);
    mkdir(dir, 0777);
    mkdir(set, 0777);
    tc_graph_writer_input(w, "shape", TC_I64, "2");
    tc_graph_writer_node(w, "Reshape", "only", "x,shape", "y");
    save(w, in(dir, "model.onnx"));
    must(tc_graph_pb_save(in(set, "input_0.pb"), "x", &x, &err), &err);
    must(tc_graph_pb_save(in(set, "input_1.pb"), "shape", &shape, &err), &err);
    must(tc_graph_pb_save(in(set, "output_0.pb"), "y", &y, &err), &err);
    tc_graph_tensor_free(&x);
    tc_graph_tensor_free(&y);
    tc_graph_tensor_free(&shape);
}

/* y = s x; s is the first input, and 2 in the data. */
static void scaled_case(const char *models) {
    char dir[4096];
    tc_error err;
    tc_graph_tensor s, x = matrix(ROWS, INNER), y = matrix(ROWS, INNER);
    tc_graph_writer *w = tc_graph_writer_new("fixture", 17);
    must(tc_graph_tensor_alloc(&s, TC_F32, &(tc_graph_shape){0}, &err), &err);
    *(float *)s.data = 2;
    for (int i = 0; i < ROWS * INNER; i++)
        ((float *)y.data)[i] *= 2;
    tc_graph_writer_input(w, "s", TC_F32, "");
    tc_graph_writer_input(w, "x", TC_F32, "8,48");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    tc_graph_writer_node(w, "Mul", "scale", "s,x", "y");
    snprintf(dir, sizeof dir, "%s/scaled", models);
    mkdir(dir, 0777);
    save(w, in(dir, "model.onnx"));
    must(tc_graph_pb_save(in(dir, "input_0.pb"), "s", &s, &err), &err);
    must(tc_graph_pb_save(in(dir, "input_1.pb"), "x", &x, &err), &err);
    must(tc_graph_pb_save(in(dir, "output_0.pb"), "y", &y, &err), &err);
    must(tc_graph_npz_save(in(dir, "in.npz"), (tc_graph_named[]){{(char[]){"s"}, s}, {(char[]){"x"}, x}}, 2, &err), &err);
    tc_graph_tensor_free(&s);
    tc_graph_tensor_free(&x);
    tc_graph_tensor_free(&y);
}

/* The inputs of buffer.onnx: three rows are filled, with zeros behind. */
static void buffer_inputs(const char *path, int total) {
    float x[12], cache[24] = {0};
    int32_t filled = 3, all = total;
    tc_error err;
    for (int i = 0; i < 12; i++) {
        x[i] = (float)(i - 5) / 4;
        cache[i] = (float)(7 - i) / 8;
    }
    tc_graph_tensor old = tc_graph_tensor_view(TC_F32, &(tc_graph_shape){4, {1, 1, 6, 4}}, cache);
    tc_graph_named in[] = {{(char[]){"x"}, tc_graph_tensor_view(TC_F32, &(tc_graph_shape){3, {1, 1, 12}}, x)},
                           {(char[]){"old_key"}, old},
                           {(char[]){"old_value"}, old},
                           {(char[]){"filled"}, tc_graph_tensor_view(TC_I32, &(tc_graph_shape){1, {1}}, &filled)},
                           {(char[]){"total"}, tc_graph_tensor_view(TC_I32, &(tc_graph_shape){0}, &all)}};
    must(tc_graph_npz_save(path, in, 5, &err), &err);
}

/* A cache of keys and values that is a buffer of 6 rows. How many rows the longest sequence has is an input. */
static void buffer(const char *dir) {
    static const char *const caches[] = {"key", "value"};
    tc_graph_writer *w = tc_graph_writer_new("fixture", 17);
    tc_graph_writer_input(w, "x", TC_F32, "1,1,12");
    for (int i = 0; i < 2; i++) {
        char name[16];
        snprintf(name, sizeof name, "old_%s", caches[i]);
        tc_graph_writer_input(w, name, TC_F32, "1,1,6,4");
        tc_graph_writer_output(w, caches[i], TC_F32, NULL);
    }
    tc_graph_writer_input(w, "filled", TC_I32, "1");
    tc_graph_writer_input(w, "total", TC_I32, "");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    tc_graph_writer_node(w, "GroupQueryAttention", "attend", "x,,,old_key,old_value,filled,total", "y,key,value");
    tc_graph_writer_domain(w, "com.microsoft");
    tc_graph_writer_int(w, "num_heads", 1);
    tc_graph_writer_int(w, "kv_num_heads", 1);
    save(w, in(dir, "buffer.onnx"));
    buffer_inputs(in(dir, "buffer.npz"), 4);
    buffer_inputs(in(dir, "longer.npz"), 7);
}

static int models(const char *dir) {
    dense(in(dir, "dense.onnx"), "8");
    dense(in(dir, "symbolic.onnx"), "batch");
    joined(in(dir, "joined.onnx"));
    divided(in(dir, "divided.onnx"));
    windows(in(dir, "windows.onnx"));
    equal(in(dir, "equal.onnx"));
    cache(in(dir, "cache.onnx"));
    buffer(dir);
    unknown_operator(in(dir, "operator.onnx"));
    unknown_attribute(in(dir, "attribute.onnx"));
    external_data(in(dir, "external.onnx"));
    npz(in(dir, "x.npz"), "x", matrix(ROWS, INNER));
    npz(in(dir, "shape.npz"), "x", matrix(ROWS, INNER + 1));
    npz(in(dir, "name.npz"), "z", matrix(ROWS, INNER));
    mkdir(in(dir, "cases"), 0777);
    test_case(in(dir, "cases/right"), "Relu", 0);
    test_case(in(dir, "cases/unsupported"), "FancyOp", 0);
    mkdir(in(dir, "wrong"), 0777);
    test_case(in(dir, "wrong/case"), "Relu", 1);
    shape_case(in(dir, "asks"));
    scaled_case(dir);
    test_case_of(in(dir, "symbols"), "Relu", 0, "batch", 20);
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 2)
        return models(argv[1]);
    fprintf(stderr, "usage: fixture DIR\n");
    return 2;
}
