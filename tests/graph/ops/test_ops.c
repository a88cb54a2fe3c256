/* Operators one by one, with the semantics of the opset given. Each case is evaluated at run time and folded at import; both must
 * give the expected tensor. (The ONNX project's own cases are run by test_conformance where they are there.) */
#include <math.h>

#include "graph/graph_test.h"
#include "graph/ops/ops.h"

enum { MAX_IN = 5 };

typedef struct op_case {
    const char *op;
    int opset;
    const char *attrs;
    int first_const; /* inputs from here on are initializers in the run-time form too */
    int nin;
    tc_graph_tensor in[MAX_IN]; /* data NULL: left out */
    tc_graph_tensor want;
} op_case;

static tc_graph_writer *model_of(const op_case *c, bool folded) {
    static const char *names[MAX_IN] = {"a", "b", "c", "d", "e"};
    tc_graph_writer *w = tc_graph_writer_new("op", c->opset);
    char inputs[32] = "";
    for (int k = 0; k < c->nin; k++) {
        tc_strbuf dims = {0};
        if (c->in[k].data) {
            tc_graph_shape_print(&dims, &c->in[k].shape);
            dims.data[dims.len - 1] = 0;
        }
        strcat(inputs, k ? "," : "");
        strcat(inputs, c->in[k].data ? names[k] : "");
        if (c->in[k].data && !folded && k < c->first_const)
            tc_graph_writer_input(w, names[k], c->in[k].dtype, dims.data + 1);
        else if (c->in[k].data)
            tc_graph_writer_weight(w, names[k], c->in[k]);
        tc_strbuf_free(&dims);
    }
    tc_graph_writer_node(w, c->op, c->op, inputs, "y");
    set_attrs(w, c->attrs);
    tc_graph_writer_output(w, "y", c->want.dtype, NULL);
    return w;
}

static void check(const op_case *c, const tc_graph_tensor *got, const char *how) {
    tc_graph_diff d;
    tc_error e = {0};
    if (tc_graph_tensor_compare(got, &c->want, 1e-6, 1e-7, &d, &e) != TC_OK)
        fail_msg("%s (opset %d), %s: %s", c->op, c->opset, how, e.msg);
    if (d.violations) {
        tc_strbuf b = {0};
        tc_graph_tensor_print_values(&b, got, 32);
        fail_msg("%s (opset %d, %s), %s: got %s", c->op, c->opset, c->attrs, how, tc_sb_str(&b));
    }
}

static void run_case(const op_case *c) {
    tc_graph *g;
    tc_graph_tensor y, in[MAX_IN];
    assert_ok(import_model(model_of(c, true), SCRATCH("ops.onnx"), NULL, &g, err));
    assert_ok(tc_graph_verify(g, err));
    assert_int_equal(g->nodes.len, 0);
    check(c, g->outputs.data[0].value->constant, "folded");
    tc_graph_free(g);
    assert_ok(import_model(model_of(c, false), SCRATCH("ops.onnx"), NULL, &g, err));
    assert_ok(tc_graph_verify(g, err));
    size_t n = 0;
    for (int k = 0; k < c->nin && k < c->first_const; k++)
        if (c->in[k].data)
            in[n++] = c->in[k];
    assert_int_equal(n, g->inputs.len);
    assert_ok(tc_graph_eval(g, in, &y, err));
    check(c, &y, "evaluated");
    tc_graph_tensor_free(&y);
    tc_graph_free(g);
}

#define RUN(...)                                                                                                                 \
    do {                                                                                                                         \
        const op_case c_ = {__VA_ARGS__};                                                                                        \
        run_case(&c_);                                                                                                           \
    } while (0)
#define IN(...)                                                                                                                  \
    { __VA_ARGS__ }
#define NONE                                                                                                                     \
    (tc_graph_tensor) {                                                                                                          \
        0                                                                                                                        \
    }

static uint8_t truth[] = {1, 0, 0, 1};
static uint8_t less[] = {1, 0, 0, 0, 0, 0};
#define BOOL(shape, v) tc_graph_tensor_view(TC_BOOL, &(tc_graph_shape)shape, v)

static void test_elementwise(void **state) {
    (void)state;
    RUN("Add", 14, "", 2, 2, IN(F32(DIMS(2, 1), 1, 2), F32(DIMS(3), 10, 20, 30)), F32(DIMS(2, 3), 11, 21, 31, 12, 22, 32));
    RUN("Add", 6, "broadcast:i=1 axis:i=0", 2, 2, IN(F32(DIMS(2, 3), 1, 2, 3, 4, 5, 6), F32(DIMS(2), 10, 20)),
        F32(DIMS(2, 3), 11, 12, 13, 24, 25, 26));
    RUN("Div", 14, "", 2, 2, IN(I64(DIMS(4), 7, -7, 7, -7), I64(DIMS(4), 2, 2, -2, -1)), I64(DIMS(4), 3, -3, -3, 7));
    RUN("Mod", 13, "", 2, 2, IN(I64(DIMS(4), 7, -7, 7, -7), I64(DIMS(4), 3, 3, -3, -3)), I64(DIMS(4), 1, 2, -2, -1));
    RUN("Mod", 13, "fmod:i=1", 2, 2, IN(I64(DIMS(2), -7, 7), I64(SCALAR, 3)), I64(DIMS(2), -1, 1));
    RUN("Pow", 15, "", 2, 2, IN(F32(DIMS(3), 2, -3, 0.25F), F32(DIMS(3), 3, 2, 0.5F)), F32(DIMS(3), 8, 9, 0.5F));
    RUN("Pow", 15, "", 2, 2, IN(I64(DIMS(2), 2, -3), F32(SCALAR, 2)), I64(DIMS(2), 4, 9));
    RUN("PRelu", 9, "", 2, 2, IN(F32(DIMS(2, 2), -1, 2, -3, 4), F32(DIMS(2), 0.5F, 0.25F)), F32(DIMS(2, 2), -0.5F, 2, -1.5F, 4));
    RUN("Where", 9, "", 3, 3, IN(BOOL(DIMS(4), truth), F32(SCALAR, 1), F32(DIMS(4), 5, 6, 7, 8)), F32(DIMS(4), 1, 6, 7, 1));
    RUN("Less", 13, "", 2, 2, IN(F32(DIMS(6), 1, 2, 3, NAN, 5, INFINITY), F32(SCALAR, 2)), BOOL(DIMS(6), less));
    RUN("Max", 13, "", 3, 3, IN(F32(DIMS(2), 1, 5), F32(DIMS(2), 4, 2), F32(DIMS(2), 3, 3)), F32(DIMS(2), 4, 5));
    RUN("Mean", 13, "", 3, 3, IN(F32(DIMS(2), 1, 5), F32(DIMS(2), 4, 2), F32(SCALAR, 4)), F32(DIMS(2), 3, 11.0F / 3));
    RUN("Sum", 8, "", 1, 1, IN(F32(DIMS(2), 1, 5)), F32(DIMS(2), 1, 5));
    RUN("Clip", 6, "min:f=-1 max:f=2", 1, 1, IN(F32(DIMS(3), -5, 1, 5)), F32(DIMS(3), -1, 1, 2));
    RUN("Clip", 13, "", 3, 3, IN(F32(DIMS(3), -5, 1, 5), NONE, F32(SCALAR, 2)), F32(DIMS(3), -5, 1, 2));
    RUN("Clip", 13, "", 3, 3, IN(F32(DIMS(2), -5, 5), F32(DIMS(1), 3), F32(DIMS(1), 1)), F32(DIMS(2), 1, 1));
    RUN("Cast", 13, "to:i=7", 1, 1, IN(F32(DIMS(3), -1.7F, 0, 2.9F)), I64(DIMS(3), -1, 0, 2));
    RUN("Cast", 13, "to:i=1", 1, 1, IN(F32(DIMS(1), 3)), F32(DIMS(1), 3));
    RUN("Not", 1, "", 1, 1, IN(BOOL(DIMS(4), ((uint8_t[]){0, 1, 1, 0}))), BOOL(DIMS(4), truth));
}

static void test_activations(void **state) {
    (void)state;
    float erf_gelu = (float)(0.5 * (1 + erf(1 / sqrt(2.0)))), tanh_gelu = (float)(0.5 * (1 + tanh(sqrt(2 / M_PI) * 1.044715)));
    RUN("Erf", 13, "", 1, 1, IN(F32(DIMS(2), 0, 1)), F32(DIMS(2), 0, (float)erf(1)));
    RUN("Gelu", 20, "", 1, 1, IN(F32(DIMS(2), 0, 1)), F32(DIMS(2), 0, erf_gelu));
    RUN("Gelu", 20, "approximate:s=tanh", 1, 1, IN(F32(DIMS(2), 0, 1)), F32(DIMS(2), 0, tanh_gelu));
    RUN("LeakyRelu", 6, "", 1, 1, IN(F32(DIMS(2), -1, 1)), F32(DIMS(2), -0.01F, 1));
    RUN("HardSigmoid", 6, "", 1, 1, IN(F32(DIMS(3), -5, 1, 5)), F32(DIMS(3), 0, 0.7F, 1));
    RUN("HardSwish", 14, "", 1, 1, IN(F32(DIMS(3), -5, 1, 5)), F32(DIMS(3), 0, 2.0F / 3, 5));
    RUN("Softplus", 1, "", 1, 1, IN(F32(DIMS(2), 0, 100)), F32(DIMS(2), (float)log(2), 100));
    RUN("Round", 11, "", 1, 1, IN(F32(DIMS(4), 0.5F, 1.5F, 2.5F, -2.5F)), F32(DIMS(4), 0, 2, 2, -2));
    RUN("Sigmoid", 13, "", 1, 1, IN(F32(DIMS(2), 0, -200)), F32(DIMS(2), 0.5F, 0));
    RUN("Relu", 14, "", 1, 1, IN(F32(DIMS(2), NAN, -1)), F32(DIMS(2), NAN, 0));
}

static void test_moves(void **state) {
    (void)state;
    const tc_graph_tensor x = F32(DIMS(2, 3), 1, 2, 3, 4, 5, 6);
    RUN("Reshape", 14, "", 1, 2, IN(x, I64(DIMS(3), 0, -1, 1)), F32(DIMS(2, 3, 1), 1, 2, 3, 4, 5, 6));
    RUN("Flatten", 13, "axis:i=-1", 1, 1, IN(x), x);
    RUN("Flatten", 13, "axis:i=0", 1, 1, IN(x), F32(DIMS(1, 6), 1, 2, 3, 4, 5, 6));
    RUN("Squeeze", 13, "", 1, 2, IN(F32(DIMS(1, 2, 1), 1, 2), I64(DIMS(1), -1)), F32(DIMS(1, 2), 1, 2));
    RUN("Squeeze", 11, "axes:I=0", 1, 1, IN(F32(DIMS(1, 2, 1), 1, 2)), F32(DIMS(2, 1), 1, 2));
    RUN("Squeeze", 13, "", 1, 1, IN(F32(DIMS(1, 2, 1), 1, 2)), F32(DIMS(2), 1, 2));
    RUN("Unsqueeze", 13, "", 1, 2, IN(F32(DIMS(2), 1, 2), I64(DIMS(2), 0, -1)), F32(DIMS(1, 2, 1), 1, 2));
    RUN("Unsqueeze", 11, "axes:I=1", 1, 1, IN(F32(DIMS(2), 1, 2)), F32(DIMS(2, 1), 1, 2));
    RUN("Transpose", 13, "", 1, 1, IN(x), F32(DIMS(3, 2), 1, 4, 2, 5, 3, 6));
    RUN("Transpose", 13, "perm:I=1,0,2", 1, 1, IN(F32(DIMS(1, 2, 2), 1, 2, 3, 4)), F32(DIMS(2, 1, 2), 1, 2, 3, 4));
    RUN("Concat", 13, "axis:i=-1", 2, 2, IN(x, F32(DIMS(2, 1), 7, 8)), F32(DIMS(2, 4), 1, 2, 3, 7, 4, 5, 6, 8));
    RUN("Slice", 13, "", 1, 5, IN(x, I64(DIMS(2), -1, 0), I64(DIMS(2), -100, 100), I64(DIMS(2), 1, 0), I64(DIMS(2), -2, 1)),
        F32(DIMS(2, 2), 3, 1, 6, 4));
    RUN("Slice", 13, "", 1, 3, IN(x, I64(DIMS(2), 1, 5), I64(DIMS(2), 2, 9)), F32(DIMS(1, 0), 0));
    RUN("Slice", 9, "starts:I=1 ends:I=-1 axes:I=1", 1, 1, IN(x), F32(DIMS(2, 1), 2, 5));
    RUN("Expand", 13, "", 1, 2, IN(F32(DIMS(2, 1), 1, 2), I64(DIMS(3), 2, 1, 2)), F32(DIMS(2, 2, 2), 1, 1, 2, 2, 1, 1, 2, 2));
    RUN("Tile", 13, "", 1, 2, IN(F32(DIMS(1, 2), 1, 2), I64(DIMS(2), 2, 2)), F32(DIMS(2, 4), 1, 2, 1, 2, 1, 2, 1, 2));
    RUN("Pad", 13, "", 1, 3, IN(F32(DIMS(2), 1, 2), I64(DIMS(2), 1, 2), F32(SCALAR, 9)), F32(DIMS(5), 9, 1, 2, 9, 9));
    RUN("Pad", 13, "mode:s=reflect", 1, 2, IN(F32(DIMS(3), 1, 2, 3), I64(DIMS(2), 2, 1)), F32(DIMS(6), 3, 2, 1, 2, 3, 2));
    RUN("Pad", 13, "mode:s=edge", 1, 2, IN(F32(DIMS(3), 1, 2, 3), I64(DIMS(2), 2, -1)), F32(DIMS(4), 1, 1, 1, 2));
    RUN("Pad", 2, "pads:I=0,1,0,0 value:f=7", 1, 1, IN(F32(DIMS(1, 1), 1)), F32(DIMS(1, 2), 7, 1));
    RUN("Trilu", 14, "upper:i=0", 1, 2, IN(F32(DIMS(2, 2), 1, 2, 3, 4), I64(SCALAR, 0)), F32(DIMS(2, 2), 1, 0, 3, 4));
    RUN("DepthToSpace", 13, "blocksize:i=2 mode:s=CRD", 1, 1, IN(F32(DIMS(1, 4, 1, 2), 1, 2, 3, 4, 5, 6, 7, 8)),
        F32(DIMS(1, 1, 2, 4), 1, 3, 2, 4, 5, 7, 6, 8));
}

static void test_gathers(void **state) {
    (void)state;
    const tc_graph_tensor x = F32(DIMS(3, 2), 1, 2, 3, 4, 5, 6);
    RUN("Gather", 13, "", 2, 2, IN(x, I64(DIMS(2), -1, 0)), F32(DIMS(2, 2), 5, 6, 1, 2));
    RUN("Gather", 13, "axis:i=1", 1, 2, IN(x, I64(SCALAR, 1)), F32(DIMS(3), 2, 4, 6));
    RUN("Gather", 13, "axis:i=-1", 1, 2, IN(x, I64(DIMS(1, 1), -2)), F32(DIMS(3, 1, 1), 1, 3, 5));
    RUN("GatherElements", 13, "axis:i=1", 2, 2, IN(x, I64(DIMS(3, 1), 0, 1, -1)), F32(DIMS(3, 1), 1, 4, 6));
    RUN("GatherND", 13, "", 2, 2, IN(x, I64(DIMS(2, 2), 0, 1, 2, -2)), F32(DIMS(2), 2, 5));
    RUN("GatherND", 13, "batch_dims:i=1", 2, 2, IN(x, I64(DIMS(3, 1), 1, 0, 1)), F32(DIMS(3), 2, 3, 6));
}

static void test_made_constants(void **state) {
    (void)state;
    RUN("Shape", 15, "start:i=1 end:i=-1", 1, 1, IN(F32(DIMS(1, 2, 1), 0, 0)), I64(DIMS(1), 2));
    RUN("Size", 13, "", 1, 1, IN(F32(DIMS(1, 2, 1), 0, 0)), I64(SCALAR, 2));
    RUN("ConstantOfShape", 9, "", 0, 1, IN(I64(DIMS(2), 1, 2)), F32(DIMS(1, 2), 0, 0));
    RUN("Range", 11, "", 0, 3, IN(I64(SCALAR, 5), I64(SCALAR, -2), I64(SCALAR, -3)), I64(DIMS(3), 5, 2, -1));
    RUN("Range", 11, "", 0, 3, IN(F32(SCALAR, 0), F32(SCALAR, 1), F32(SCALAR, 0.4F)), F32(DIMS(3), 0, 0.4F, 0.8F));
    RUN("EyeLike", 9, "k:i=1", 1, 1, IN(F32(DIMS(2, 3), 9, 9, 9, 9, 9, 9)), F32(DIMS(2, 3), 0, 1, 0, 0, 0, 1));
}

static void test_contractions(void **state) {
    (void)state;
    const tc_graph_tensor x = F32(DIMS(2, 3), 1, 2, 3, 4, 5, 6), v = F32(DIMS(3), 1, 0, -1);
    RUN("MatMul", 13, "", 2, 2, IN(x, v), F32(DIMS(2), -2, -2));
    RUN("MatMul", 13, "", 2, 2, IN(v, F32(DIMS(3, 2), 1, 2, 3, 4, 5, 6)), F32(DIMS(2), -4, -4));
    RUN("MatMul", 13, "", 2, 2, IN(v, v), F32(SCALAR, 2));
    RUN("MatMul", 13, "", 2, 2, IN(F32(DIMS(2, 1, 1, 2), 1, 2, 3, 4), F32(DIMS(2, 2, 1), 1, 1, 2, 0)),
        F32(DIMS(2, 2, 1, 1), 3, 2, 7, 6));
    RUN("MatMul", 13, "", 2, 2, IN(I64(DIMS(1, 2), 3, 4), I64(DIMS(2, 1), 5, 6)), I64(DIMS(1, 1), 39));
    RUN("Gemm", 13, "alpha:f=2 beta:f=0.5 transA:i=1 transB:i=1", 3, 3,
        IN(F32(DIMS(2, 1), 1, 2), F32(DIMS(2, 2), 1, 2, 3, 4), F32(DIMS(2), 10, 20)), F32(DIMS(1, 2), 15, 32));
    RUN("Gemm", 11, "", 2, 2, IN(x, F32(DIMS(3, 1), 1, 1, 1)), F32(DIMS(2, 1), 6, 15));
}

static void test_reductions(void **state) {
    (void)state;
    const tc_graph_tensor x = F32(DIMS(2, 3), 1, 2, 3, 4, 5, 6);
    RUN("ReduceMean", 13, "axes:I=-1", 1, 1, IN(x), F32(DIMS(2, 1), 2, 5));
    RUN("ReduceMean", 18, "keepdims:i=0", 1, 2, IN(x, I64(DIMS(1), 0)), F32(DIMS(3), 2.5F, 3.5F, 4.5F));
    RUN("ReduceSum", 13, "", 1, 1, IN(x), F32(DIMS(1, 1), 21));
    RUN("ReduceSum", 13, "noop_with_empty_axes:i=1", 1, 1, IN(x), x);
    RUN("ReduceL1", 18, "noop_with_empty_axes:i=1", 1, 1, IN(F32(DIMS(2), -3, 2)), F32(DIMS(2), 3, 2));
    RUN("ReduceL2", 18, "noop_with_empty_axes:i=1", 1, 1, IN(F32(DIMS(2), -3, 2)), F32(DIMS(2), 3, 2));
    RUN("ReduceSumSquare", 18, "noop_with_empty_axes:i=1", 1, 1, IN(F32(DIMS(2), -3, 2)), F32(DIMS(2), 9, 4));
    RUN("ReduceLogSum", 18, "noop_with_empty_axes:i=1", 1, 1, IN(F32(DIMS(2), 1, 2)), F32(DIMS(2), 0, (float)log(2)));
    RUN("ReduceLogSumExp", 18, "noop_with_empty_axes:i=1", 1, 1, IN(F32(DIMS(2), -3, 2)), F32(DIMS(2), -3, 2));
    RUN("ReduceSum", 11, "axes:I=0,1 keepdims:i=0", 1, 1, IN(x), F32(SCALAR, 21));
    RUN("ReduceMax", 18, "", 1, 2, IN(I64(DIMS(3), -5, -2, -9), I64(DIMS(1), 0)), I64(DIMS(1), -2));
    RUN("ReduceLogSumExp", 13, "axes:I=0 keepdims:i=0", 1, 1, IN(F32(DIMS(2), 1000, 1000)), F32(SCALAR, (float)(1000 + log(2))));
    RUN("ReduceL2", 13, "keepdims:i=0", 1, 1, IN(F32(DIMS(2), 3, 4)), F32(SCALAR, 5));
    RUN("ReduceProd", 13, "keepdims:i=0", 1, 1, IN(F32(SCALAR, 3)), F32(SCALAR, 3));
    RUN("ArgMax", 13, "axis:i=1 keepdims:i=0", 1, 1, IN(F32(DIMS(2, 3), 1, 3, 3, 7, 5, 7)), I64(DIMS(2), 1, 0));
    RUN("ArgMax", 13, "axis:i=1 select_last_index:i=1", 1, 1, IN(F32(DIMS(2, 3), 1, 3, 3, 7, 5, 7)), I64(DIMS(2, 1), 2, 2));
    RUN("ArgMin", 13, "keepdims:i=0", 1, 1, IN(F32(DIMS(2, 2), 1, 3, 0, 4)), I64(DIMS(2), 1, 0));
}

static void test_along_axes(void **state) {
    (void)state;
    const tc_graph_tensor x = F32(DIMS(2, 2), 0, 0, (float)log(3), 0);
    RUN("Softmax", 13, "", 1, 1, IN(x), F32(DIMS(2, 2), 0.5F, 0.5F, 0.75F, 0.25F));
    RUN("Softmax", 13, "axis:i=0", 1, 1, IN(x), F32(DIMS(2, 2), 0.25F, 0.5F, 0.75F, 0.5F));
    RUN("Softmax", 11, "axis:i=0", 1, 1, IN(x), F32(DIMS(2, 2), 1.0F / 6, 1.0F / 6, 0.5F, 1.0F / 6));
    RUN("LogSoftmax", 13, "", 1, 1, IN(F32(DIMS(1, 2), 0, 0)), F32(DIMS(1, 2), (float)-log(2), (float)-log(2)));
    RUN("CumSum", 14, "reverse:i=1 exclusive:i=1", 1, 2, IN(F32(DIMS(3), 1, 2, 3), I64(SCALAR, 0)), F32(DIMS(3), 5, 3, 0));
    float r = (float)(1 / sqrt(1.0));
    RUN("LayerNormalization", 17, "epsilon:f=0", 3, 3, IN(F32(DIMS(1, 2), 1, 3), F32(DIMS(2), 2, 1), F32(DIMS(2), 0, 5)),
        F32(DIMS(1, 2), -2 * r, 5 + r));
    RUN("BatchNormalization", 15, "epsilon:f=0", 5, 5,
        IN(F32(DIMS(1, 2, 1), 3, 5), F32(DIMS(2), 2, 1), F32(DIMS(2), 1, 0), F32(DIMS(2), 1, 1), F32(DIMS(2), 4, 16)),
        F32(DIMS(1, 2, 1), 3, 1));
}

/* stash_type (0: not given) is the type of Mean and InvStdDev, whatever the input's is. */
static void test_layer_norm_types(void **state) {
    static const struct {
        int64_t stash_type;
        tc_dtype t;
    } types[] = {{0, TC_F32}, {1, TC_F32}, {11, TC_F64}, {10, TC_F16}, {16, TC_BF16}};
    static double rows[] = {1, 3, 0.1, 0.4}, ones[] = {1, 1};
    (void)state;
    for (size_t i = 0; i <= TC_LEN(types); i++) {
        bool wrong = i == TC_LEN(types);
        tc_graph *g;
        tc_graph_writer *w = tc_graph_writer_new("op", 17);
        tc_graph_writer_weight(w, "x", tc_graph_tensor_view(TC_F64, &(tc_graph_shape){2, {2, 2}}, rows));
        tc_graph_writer_weight(w, "scale", tc_graph_tensor_view(TC_F64, &(tc_graph_shape){1, {2}}, ones));
        tc_graph_writer_node(w, "LayerNormalization", "node", "x,scale", "y,mean,inverse");
        tc_graph_writer_float(w, "epsilon", 0);
        if (wrong || types[i].stash_type)
            tc_graph_writer_int(w, "stash_type", wrong ? 7 : types[i].stash_type);
        tc_graph_writer_output(w, "y", TC_F64, NULL);
        tc_graph_writer_output(w, "mean", wrong ? TC_F32 : types[i].t, NULL);
        tc_graph_writer_output(w, "inverse", wrong ? TC_F32 : types[i].t, NULL);
        if (wrong) {
            assert_fails(TC_BAD_INPUT, import_model(w, SCRATCH("ops.onnx"), NULL, &g, err), "stash_type");
            continue;
        }
        assert_ok(import_model(w, SCRATCH("ops.onnx"), NULL, &g, err));
        for (int o = 1; o < 3; o++) {
            const tc_graph_tensor *v = g->outputs.data[o].value->constant;
            assert_int_equal(v->dtype, types[i].t);
            for (int r = 0; r < 2; r++)
                assert_true(fabs(tc_load_f(v->dtype, v->data, r) - (o == 1 ? r ? 0.25 : 2
                                                                    : r    ? 1 / 0.15
                                                                           : 1)) < 7 * tc_dtype_epsilon(v->dtype));
        }
        assert_int_equal(g->outputs.data[0].value->dtype, TC_F64);
        tc_graph_free(g);
    }
}

static void test_windows(void **state) {
    (void)state;
    const tc_graph_tensor x = F32(DIMS(1, 1, 3, 3), 1, 2, 3, 4, 5, 6, 7, 8, 9);
    RUN("Conv", 11, "pads:I=1,1,0,0 strides:I=2,2", 2, 3, IN(x, F32(DIMS(1, 1, 2, 2), 1, 10, 100, 1000), F32(DIMS(1), 0.5F)),
        F32(DIMS(1, 1, 2, 2), 1000.5F, 3200.5F, 7040.5F, 9865.5F));
    RUN("Conv", 11, "group:i=2", 2, 2, IN(F32(DIMS(1, 2, 1, 1), 3, 5), F32(DIMS(2, 1, 1, 1), 2, 4)),
        F32(DIMS(1, 2, 1, 1), 6, 20));
    RUN("Conv", 11, "auto_pad:s=SAME_UPPER", 2, 2, IN(F32(DIMS(1, 1, 3), 1, 2, 3), F32(DIMS(1, 1, 2), 1, 10)),
        F32(DIMS(1, 1, 3), 21, 32, 3));
    RUN("MaxPool", 12, "kernel_shape:I=2,2 strides:I=2,2 ceil_mode:i=1", 1, 1, IN(x), F32(DIMS(1, 1, 2, 2), 5, 6, 8, 9));
    RUN("AveragePool", 11, "kernel_shape:I=2,2 pads:I=1,1,0,0 strides:I=2,2", 1, 1, IN(x),
        F32(DIMS(1, 1, 2, 2), 1, 2.5F, 5.5F, 7));
    RUN("AveragePool", 11, "kernel_shape:I=2,2 pads:I=1,1,0,0 strides:I=2,2 count_include_pad:i=1", 1, 1, IN(x),
        F32(DIMS(1, 1, 2, 2), 0.25F, 1.25F, 2.75F, 7));
    RUN("GlobalAveragePool", 1, "", 1, 1, IN(x), F32(DIMS(1, 1, 1, 1), 5));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elementwise), cmocka_unit_test(test_activations),    cmocka_unit_test(test_moves),
        cmocka_unit_test(test_gathers),     cmocka_unit_test(test_made_constants), cmocka_unit_test(test_contractions),
        cmocka_unit_test(test_reductions),  cmocka_unit_test(test_along_axes),     cmocka_unit_test(test_layer_norm_types),
        cmocka_unit_test(test_windows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
