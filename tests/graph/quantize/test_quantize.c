/* Whole models quantised: what the file holds, that it computes what was reported, and everything that can be wrong. */
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graph/graph_test.h"
#include "graph/io/numpy.h"
#include "graph/onnx/edit.h"
#include "graph/quantize/quantize.h"
#include "graph/quantize/quantize_int.h"
#include "graph/trials/bundle.h"
#include "support/rng.h"
#include "support/system/fs.h"

#define MODEL SCRATCH("f32.onnx")
#define DATA SCRATCH("data.npz")
#define OUT SCRATCH("quantised.onnx")

/* ---- a network with all that is quantised ---- */

static tc_graph_tensor drawn(tc_graph_shape shape, uint64_t seed, double size) {
    tc_graph_tensor t;
    tc_rng r = tc_rng_seed(seed);
    assert_ok(tc_graph_tensor_alloc(&t, TC_F32, &shape, err));
    for (int64_t i = 0; i < tc_graph_tensor_count(&t); i++)
        ((float *)t.data)[i] = (float)(size * tc_rng_normal(&r));
    return t;
}

#define DRAWN(seed, size, ...) drawn((tc_graph_shape)DIMS(__VA_ARGS__), seed, size)

/* conv, relu, conv, residual sum, pool, flatten, gemm, matmul; `spread` makes the last layer's weights hard to quantise. */
static void write_network(const char *path, int opset, double spread) {
    tc_graph_writer *w = tc_graph_writer_new("net", opset);
    tc_graph_writer_input(w, "x", TC_F32, "1,4,8,8");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    tc_graph_writer_weight(w, "w1", DRAWN(1, 0.3, 8, 4, 3, 3));
    tc_graph_writer_weight(w, "b1", DRAWN(2, 0.3, 8));
    tc_graph_writer_weight(w, "w2", DRAWN(3, 0.1, 8, 8, 3, 3));
    tc_graph_writer_weight(w, "w3", DRAWN(4, 0.1, 16, 128));
    tc_graph_writer_weight(w, "b3", DRAWN(5, 0.1, 16));
    tc_graph_tensor w4 = DRAWN(6, 0.2, 16, 10);
    ((float *)w4.data)[3] *= (float)spread;
    tc_graph_writer_weight(w, "w4", w4);
    tc_graph_writer_node(w, "Conv", "conv1", "x,w1,b1", "c1");
    tc_graph_writer_ints(w, "pads", "1,1,1,1");
    tc_graph_writer_node(w, "Relu", "relu1", "c1", "r1");
    tc_graph_writer_node(w, "Conv", "conv2", "r1,w2", "c2");
    tc_graph_writer_ints(w, "pads", "1,1,1,1");
    tc_graph_writer_node(w, "Add", "sum", "c2,r1", "s");
    tc_graph_writer_node(w, "MaxPool", "pool", "s", "p");
    tc_graph_writer_ints(w, "kernel_shape", "2,2");
    tc_graph_writer_ints(w, "strides", "2,2");
    tc_graph_writer_node(w, "Flatten", "flat", "p", "f");
    tc_graph_writer_node(w, "Gemm", "gemm", "f,w3,b3", "g");
    tc_graph_writer_int(w, "transB", 1);
    tc_graph_writer_node(w, "MatMul", "last", "g,w4", "y");
    assert_ok(tc_graph_writer_save(w, path, err));
    tc_graph_writer_free(w);
}

static void write_data(const char *path, const char *name, tc_graph_shape shape, float spoilt) {
    tc_graph_tensor x = drawn(shape, 11, 1);
    if (spoilt != 0)
        ((float *)x.data)[5] = spoilt;
    assert_ok(tc_graph_npz_save(path, &(tc_graph_named){(char *)name, x}, 1, err));
    tc_graph_tensor_free(&x);
}

static tc_quantize_options options(tc_quantize_kind kind) {
    static const char *const data[] = {DATA};
    return (tc_quantize_options){.kind = kind,
                                 .activations = TC_U8,
                                 .percentile = 99.99,
                                 .bits = 8,
                                 .block = 16,
                                 .budget = -1,
                                 .data = data,
                                 .ndata = 1,
                                 .threads = 1};
}

static int count(const char *path, const char *op) {
    tc_onnx_edit *e;
    int n = 0;
    assert_ok(tc_onnx_edit_open(path, &e, err));
    for (int i = 0; i < tc_onnx_edit_nodes(e); i++)
        n += strcmp(tc_onnx_edit_node_at(e, i).op, op) == 0;
    tc_onnx_edit_free(e);
    return n;
}

static int setup(void **state) {
    (void)state;
    write_network(MODEL, 13, 1);
    write_data(DATA, "x", (tc_graph_shape){4, {1, 4, 8, 8}}, 0);
    return 0;
}

/* ---- what comes out ---- */

typedef struct pair {
    float *first;
    double error;
} pair;

static tc_status keep_or_compare(void *user, size_t i, const tc_graph_bundle *out, tc_error *err) {
    pair *p = user;
    (void)i, (void)err;
    const tc_graph_tensor *t = &out->items[0].t;
    int64_t n = tc_graph_tensor_count(t);
    double most = 0, worst = 0;
    if (!p->first) {
        p->first = tc_xmalloc(sizeof(float) * (size_t)n);
        memcpy(p->first, t->data, sizeof(float) * (size_t)n);
        return TC_OK;
    }
    for (int64_t k = 0; k < n; k++) {
        most = fmax(most, fabs(p->first[k]));
        worst = fmax(worst, fabs(((float *)t->data)[k] - p->first[k]));
    }
    p->error = worst / most;
    return TC_OK;
}

/* The error of the written file, by running both. */
static double error_of(const char *model, const char *quantised, const tc_quantize_options *o) {
    runs r;
    pair p = {0};
    assert_ok(quant_runs_open(&r, o, err));
    assert_ok(quant_run(&r, model, keep_or_compare, &p, err));
    assert_ok(quant_run(&r, quantised, keep_or_compare, &p, err));
    quant_runs_close(&r);
    free(p.first);
    return p.error;
}

/* Every kind and method: the file loads, is as good as the report says, and not as good as f32. */
static void test_every_form(void **state) {
    (void)state;
    for (int c = 0; c < 9; c++) {
        tc_quantize_options o = options(c < 6 ? TC_QUANTIZE_STATIC : c < 7 ? TC_QUANTIZE_DYNAMIC : TC_QUANTIZE_WEIGHTS);
        tc_quantize_report r;
        o.method = c < 3 ? (tc_quantize_method)c : TC_QUANTIZE_MINMAX;
        o.activations = c == 3 ? TC_I8 : TC_U8;
        o.per_tensor = c == 4 || c == 8;
        unlink(OUT);
        assert_ok(tc_quantize(MODEL, OUT, &o, &r, err));
        assert_int_equal(r.nlayers, 4);
        assert_int_equal(r.nquantized, 4);
        for (size_t i = 0; i < r.nlayers; i++)
            assert_true(!r.layers[i].why && r.layers[i].snr > 15 && r.layers[i].snr < 80);
        assert_true(r.error > 0 && r.error < 0.1 && r.bytes_after < r.bytes_before);
        double e = error_of(MODEL, OUT, &o);
        assert_true(fabs(e - r.error) <= 1e-4 * r.error);
        tc_quantize_report_free(&r);
    }
}

/* Pairs stand once for each value that quantised nodes read; what a pool takes and gives has one range. */
static void test_pairs(void **state) {
    (void)state;
    tc_quantize_options o = options(TC_QUANTIZE_STATIC);
    tc_quantize_report r;
    tc_onnx_edit *e;
    assert_ok(tc_quantize(MODEL, OUT, &o, &r, err));
    tc_quantize_report_free(&r);
    assert_int_equal(count(OUT, "QuantizeLinear"), 7); /* x, r1, c2, s, p, f, g */
    assert_int_equal(count(OUT, "DequantizeLinear"), 7 + 4 + 2);
    assert_ok(tc_onnx_edit_open(OUT, &e, err));
    const tc_graph_tensor *s, *p, *gone;
    assert_ok(tc_onnx_edit_constant(e, "s_scale", &s, err));
    assert_ok(tc_onnx_edit_constant(e, "p_scale", &p, err));
    assert_ok(tc_onnx_edit_constant(e, "w1", &gone, err));
    assert_true(s && p && tc_graph_tensor_equal(s, p));
    assert_null(gone);
    tc_onnx_edit_free(e);
}

/* A table of rows, a transposed convolution of two groups, and a convolution. */
static void write_rows(const char *path, int opset, const char *columns) {
    tc_graph_writer *w = tc_graph_writer_new("rows", opset);
    int64_t width = strtoll(columns, NULL, 10);
    tc_graph_writer_input(w, "ids", TC_I64, "2,7");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    tc_graph_writer_weight(w, "table", DRAWN(1, 0.3, 40, width));
    tc_graph_writer_weight(w, "up", DRAWN(2, 0.2, 2, 3, 4));
    tc_graph_writer_weight(w, "up_bias", DRAWN(3, 0.2, 6));
    tc_graph_writer_weight(w, "mix", DRAWN(4, 0.2, 5, 6, 3));
    tc_graph_writer_weight(w, "mix_bias", DRAWN(5, 0.2, 5));
    tc_graph_writer_weight(w, "where", tc_graph_tensor_view(TC_I64, &(tc_graph_shape)DIMS(3), (int64_t[]){2, 2, 7 * width / 2}));
    tc_graph_writer_node(w, "Gather", "embed", "table,ids", "rows");
    tc_graph_writer_node(w, "Reshape", "flat", "rows,where", "r");
    tc_graph_writer_node(w, "ConvTranspose", "wide", "r,up,up_bias", "u");
    tc_graph_writer_int(w, "group", 2);
    tc_graph_writer_ints(w, "strides", "2");
    tc_graph_writer_node(w, "Conv", "mixed", "u,mix,mix_bias", "y");
    tc_graph_writer_ints(w, "pads", "1,1");
    assert_ok(tc_graph_writer_save(w, path, err));
    tc_graph_writer_free(w);
}

/* What each form makes of them; the file computes what was reported. */
static void test_rows_and_transposed(void **state) {
    (void)state;
    static const struct {
        tc_quantize_kind kind;
        int bits;
        size_t quantized;
        const char *op;
        int count;
    } forms[] = {{TC_QUANTIZE_STATIC, 8, 3, "DequantizeLinear", 1 + 2 + 2 + 2},
                 {TC_QUANTIZE_DYNAMIC, 8, 2, "ConvInteger", 1},
                 {TC_QUANTIZE_WEIGHTS, 8, 3, "DequantizeLinear", 3},
                 {TC_QUANTIZE_WEIGHTS, 4, 1, "GatherBlockQuantized", 1}};
    int64_t ids[14];
    for (int i = 0; i < 14; i++)
        ids[i] = i * 17 % 40;
    tc_graph_tensor t = tc_graph_tensor_view(TC_I64, &(tc_graph_shape)DIMS(2, 7), ids);
    const char *data = SCRATCH("ids.npz");
    assert_ok(tc_graph_npz_save(data, &(tc_graph_named){(char *)"ids", t}, 1, err));
    write_rows(SCRATCH("rows.onnx"), 13, "32");
    for (size_t f = 0; f < 2 * TC_LEN(forms); f++) {
        tc_quantize_options o = options(forms[f / 2].kind);
        tc_quantize_report r;
        o.data = &data;
        o.bits = forms[f / 2].bits;
        o.per_tensor = f % 2;
        assert_ok(tc_quantize(SCRATCH("rows.onnx"), OUT, &o, &r, err));
        assert_int_equal(r.nlayers, 3);
        assert_int_equal(r.nquantized, forms[f / 2].quantized);
        assert_true(r.error > 0 && r.error < (o.bits == 4 ? 0.3 : 0.05) && r.bytes_after < r.bytes_before);
        int biases = f == 1; /* by channel there are more biases than scales of the transposed convolution */
        assert_int_equal(count(OUT, forms[f / 2].op), forms[f / 2].count + biases);
        assert_true(fabs(error_of(SCRATCH("rows.onnx"), OUT, &o) - r.error) <= 1e-4 * r.error);
        tc_quantize_report_free(&r);
    }
}

/* Rows that are no whole number of blocks stay; the dynamic form does with an old opset, with one scale for the table. */
static void test_odd_rows(void **state) {
    (void)state;
    tc_quantize_options o = options(TC_QUANTIZE_WEIGHTS);
    tc_quantize_report r;
    o.ndata = 0;
    o.bits = 4;
    write_rows(SCRATCH("odd.onnx"), 11, "24");
    assert_fails(TC_BAD_INPUT, tc_quantize(SCRATCH("odd.onnx"), OUT, &o, &r, err), "no layer to quantise");
    tc_quantize_report_free(&r);
    o = options(TC_QUANTIZE_DYNAMIC);
    o.ndata = 0;
    assert_ok(tc_quantize(SCRATCH("odd.onnx"), OUT, &o, &r, err));
    assert_int_equal(r.nquantized, 2);
    assert_true(r.layers[0].why == NULL && strstr(r.layers[1].why, "dynamic form"));
    tc_quantize_report_free(&r);
}

static void test_dynamic_and_4_bits(void **state) {
    (void)state;
    tc_quantize_options o = options(TC_QUANTIZE_DYNAMIC);
    tc_quantize_report r;
    assert_ok(tc_quantize(MODEL, OUT, &o, &r, err));
    tc_quantize_report_free(&r);
    assert_int_equal(count(OUT, "MatMulInteger"), 2);
    assert_int_equal(count(OUT, "ConvInteger"), 2);
    assert_int_equal(count(OUT, "Conv"), 0);
    assert_int_equal(count(OUT, "Gemm"), 0);
    o = options(TC_QUANTIZE_WEIGHTS);
    o.bits = 4;
    assert_ok(tc_quantize(MODEL, OUT, &o, &r, err));
    assert_int_equal(r.nquantized, 2);
    assert_true(r.error > 0 && r.error < 0.3 && fabs(error_of(MODEL, OUT, &o) - r.error) <= 1e-4 * r.error);
    tc_quantize_report_free(&r);
    assert_int_equal(count(OUT, "MatMulNBits"), 2);
}

/* A layer that loses much goes first; nothing is written where no layer may lose anything. */
static void test_budget(void **state) {
    (void)state;
    tc_quantize_options o = options(TC_QUANTIZE_STATIC);
    tc_quantize_report r;
    write_network(SCRATCH("hard.onnx"), 13, 300);
    o.per_tensor = true;
    assert_ok(tc_quantize(SCRATCH("hard.onnx"), OUT, &o, &r, err));
    double all = r.error;
    assert_int_equal(r.nquantized, 4);
    tc_quantize_report_free(&r);
    o.budget = all / 2;
    unlink(OUT);
    assert_ok(tc_quantize(SCRATCH("hard.onnx"), OUT, &o, &r, err));
    assert_true(r.error <= o.budget && r.nquantized > 0 && r.nquantized < 4);
    for (size_t i = 0; i < r.nlayers; i++)
        for (size_t k = 0; k < r.nlayers; k++)
            assert_true(!r.layers[i].why || r.layers[k].why || r.layers[i].snr <= r.layers[k].snr);
    assert_true(fabs(error_of(SCRATCH("hard.onnx"), OUT, &o) - r.error) <= 1e-4 * r.error);
    tc_quantize_report_free(&r);
    o.budget = 0;
    unlink(OUT);
    assert_fails(TC_BAD_INPUT, tc_quantize(SCRATCH("hard.onnx"), OUT, &o, &r, err), "budget of 0", "nothing was written");
    tc_quantize_report_free(&r);
    assert_false(tc_fs_exists(OUT));
}

static void test_keep(void **state) {
    (void)state;
    tc_quantize_options o = options(TC_QUANTIZE_STATIC);
    tc_quantize_report r;
    const char *keep[] = {"conv2", "y"};
    o.keep = keep;
    o.nkeep = 2;
    assert_ok(tc_quantize(MODEL, OUT, &o, &r, err));
    assert_int_equal(r.nquantized, 2);
    assert_non_null(r.layers[1].why);
    assert_non_null(r.layers[3].why);
    tc_quantize_report_free(&r);
    /* Without conv2 the sum is not between quantised layers: left are x and f. */
    assert_int_equal(count(OUT, "QuantizeLinear"), 2);
    keep[1] = "nothing";
    assert_fails(TC_BAD_INPUT, tc_quantize(MODEL, OUT, &o, &r, err), "f32.onnx", "'nothing'");
    tc_quantize_report_free(&r);
    keep[1] = "cnov2";
    assert_fails(TC_BAD_INPUT, tc_quantize(MODEL, OUT, &o, &r, err), "'cnov2'", "did you mean conv2?");
    tc_quantize_report_free(&r);
}

/* A file with more than the inputs, and a folder, whose files are the inputs in their order whatever they call themselves, serve as
 * well as one with the inputs alone. */
static void test_other_data(void **state) {
    (void)state;
    static const char *const others[] = {SCRATCH("more.npz"), SCRATCH("folder")};
    tc_quantize_options o = options(TC_QUANTIZE_STATIC);
    tc_quantize_report r;
    tc_graph_tensor x = drawn((tc_graph_shape){4, {1, 4, 8, 8}}, 11, 1), y = drawn((tc_graph_shape){1, {3}}, 12, 1);
    tc_graph_named more[] = {{(char *)"other", y}, {(char *)"x", x}, {(char *)"z", y}};
    assert_ok(tc_graph_npz_save(others[0], more, TC_LEN(more), err));
    mkdir(others[1], 0777);
    assert_ok(tc_graph_pb_save(SCRATCH("folder/input_0.pb"), "renamed", &x, err));
    assert_ok(tc_quantize(MODEL, OUT, &o, &r, err));
    double error = r.error;
    tc_quantize_report_free(&r);
    for (size_t i = 0; i < TC_LEN(others); i++) {
        o.data = &others[i];
        assert_ok(tc_quantize(MODEL, OUT, &o, &r, err));
        assert_true(r.error == error);
        tc_quantize_report_free(&r);
    }
    tc_graph_tensor_free(&x);
    tc_graph_tensor_free(&y);
}

/* Without data the other forms are measured on drawn inputs. */
static void test_drawn_inputs(void **state) {
    (void)state;
    tc_quantize_options o = options(TC_QUANTIZE_WEIGHTS);
    tc_quantize_report r;
    o.ndata = 0;
    assert_ok(tc_quantize(MODEL, OUT, &o, &r, err));
    assert_true(r.error > 0 && r.error < 0.1);
    tc_quantize_report_free(&r);
}

/* ---- what is wrong ---- */

#define REFUSED(model, o, ...)                                                                                                   \
    do {                                                                                                                         \
        tc_quantize_report report_;                                                                                              \
        unlink(OUT);                                                                                                             \
        assert_fails(TC_BAD_INPUT, tc_quantize(model, OUT, o, &report_, err), __VA_ARGS__);                                      \
        tc_quantize_report_free(&report_);                                                                                       \
        assert_false(tc_fs_exists(OUT));                                                                                         \
    } while (0)

static void test_wrong_data(void **state) {
    (void)state;
    tc_quantize_options o = options(TC_QUANTIZE_STATIC);
    const char *const bad[] = {SCRATCH("bad.npz")};
    o.data = bad;
    write_data(bad[0], "x", (tc_graph_shape){4, {1, 4, 8, 7}}, 0);
    REFUSED(MODEL, &o, "bad.npz", "'x'", "[1,4,8,7]", "[1,4,8,8]");
    write_data(bad[0], "z", (tc_graph_shape){4, {1, 4, 8, 8}}, 0);
    REFUSED(MODEL, &o, "bad.npz", "'x'");
    write_data(bad[0], "x", (tc_graph_shape){4, {1, 4, 8, 8}}, NAN);
    REFUSED(MODEL, &o, "bad.npz", "'x'", "NaN", "element 5");
    write_data(bad[0], "x", (tc_graph_shape){4, {1, 4, 8, 8}}, INFINITY);
    REFUSED(MODEL, &o, "bad.npz", "'x'", "infinity");
    write_data(bad[0], "x", (tc_graph_shape){4, {1, 4, 8, 8}}, 3e38f);
    write_network(SCRATCH("large.onnx"), 13, 1e6);
    REFUSED(SCRATCH("large.onnx"), &o, "not finite", "large.onnx", "bad.npz");
    o.data = (const char *const[]){SCRATCH("none.npz")};
    REFUSED(MODEL, &o, "none.npz");
    o.ndata = 0;
    REFUSED(MODEL, &o, "calibration");
}

static void test_wrong_options(void **state) {
    (void)state;
    tc_quantize_options o = options(TC_QUANTIZE_WEIGHTS);
    o.bits = 4;
    o.block = 24;
    REFUSED(MODEL, &o, "24", "power of two");
    o.bits = 3;
    REFUSED(MODEL, &o, "3 bits");
    o = options(TC_QUANTIZE_STATIC);
    o.method = TC_QUANTIZE_PERCENTILE;
    o.percentile = 120;
    REFUSED(MODEL, &o, "120");
}

static void test_wrong_models(void **state) {
    (void)state;
    tc_quantize_options o = options(TC_QUANTIZE_STATIC);
    write_network(SCRATCH("old.onnx"), 11, 1);
    REFUSED(SCRATCH("old.onnx"), &o, "old.onnx", "opset 11", "13", "per tensor");
    o.per_tensor = true;
    tc_quantize_report r;
    assert_ok(tc_quantize(SCRATCH("old.onnx"), OUT, &o, &r, err));
    tc_quantize_report_free(&r);
    o.per_tensor = false;
    REFUSED(SCRATCH("none.onnx"), &o, "none.onnx");
    tc_graph_writer *w = tc_graph_writer_new("plain", 13);
    tc_graph_writer_input(w, "x", TC_F32, "2,3");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    tc_graph_writer_node(w, "Relu", "r", "x", "y");
    assert_ok(tc_graph_writer_save(w, SCRATCH("plain.onnx"), err));
    tc_graph_writer_free(w);
    REFUSED(SCRATCH("plain.onnx"), &o, "plain.onnx", "no layer");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_form),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_dynamic_and_4_bits),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_keep),
        cmocka_unit_test(test_other_data),
        cmocka_unit_test(test_drawn_inputs),
        cmocka_unit_test(test_wrong_data),
        cmocka_unit_test(test_wrong_options),
        cmocka_unit_test(test_wrong_models),
        cmocka_unit_test(test_rows_and_transposed),
        cmocka_unit_test(test_odd_rows),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
