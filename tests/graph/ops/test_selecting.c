/* Operators that select an element, or sum along a row, at their edges: rows of NaN alone, NaN among numbers, ties, infinities, rows
 * of one element, no rows at all, and operands without elements. What is right is written out here, and follows NumPy: NaN is larger than every number where
 * the largest is asked for, smaller where the smallest is, and the first NaN counts. */
#include "graph/ops/op_edges.h"
#include "support/rng.h"

static const tc_dtype floats[] = {TC_F32, TC_F64, TC_F16, TC_BF16};

enum { KINDS = 7 };

/* Row kinds: NaN alone, one NaN, NaN and ties, -inf alone, +inf alone, ties, anything. */
static double element(tc_rng *r, int64_t kind, int64_t i, int64_t n) {
    static const double odd[] = {INFINITY, -INFINITY, NAN, -0.0, 0.0, 1, -1, 2};
    switch (kind) {
    case 0:
        return NAN;
    case 1:
        return i == n / 2 ? NAN : (double)tc_rng_below(r, 50) - 25;
    case 2:
        return tc_rng_below(r, 3) ? 1 : NAN;
    case 3:
        return -INFINITY;
    case 4:
        return INFINITY;
    case 5:
        return (double)tc_rng_below(r, 3) - 1;
    default:
        return odd[tc_rng_below(r, 8)];
    }
}

/* x [rows, n, inner], whose rows along n are of all kinds in turn. */
static tc_graph_tensor drawn_rows(tc_rng *r, tc_dtype t, int64_t rows, int64_t n, int64_t inner) {
    tc_graph_tensor x = new_tensor(t, (tc_graph_shape){3, {rows, n, inner}});
    for (int64_t k = 0; k < rows * inner; k++)
        for (int64_t i = 0; i < n; i++)
            tc_store_f(t, x.data, (k / inner * n + i) * inner + k % inner, element(r, k % KINDS, i, n));
    return x;
}

/* Does a come before b? */
static bool is_better(double a, double b, bool largest) {
    return isnan(a) ? !isnan(b) : !isnan(b) && (largest ? a > b : a < b);
}

/* ---- ArgMax, ArgMin, Hardmax ---- */

static int64_t place_of_best(const tc_graph_tensor *x, int64_t from, int64_t step, int64_t n, bool largest, bool last) {
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++) {
        double v = tc_load_f(x->dtype, x->data, from + i * step), b = tc_load_f(x->dtype, x->data, from + best * step);
        if (is_better(v, b, largest) || (last && !is_better(b, v, largest)))
            best = i;
    }
    return best;
}

static void add_arg_nodes(tc_graph_writer *w, const void *user) {
    (void)user;
    for (int k = 0; k < 4; k++) {
        char out[4] = {'y', (char)('0' + k), 0};
        tc_graph_writer_node(w, k < 2 ? "ArgMax" : "ArgMin", out, "x0", out);
        tc_graph_writer_int(w, "axis", 1);
        tc_graph_writer_int(w, "keepdims", 0);
        tc_graph_writer_int(w, "select_last_index", k % 2);
    }
    tc_graph_writer_node(w, "Hardmax", "y4", "x0", "y4");
    tc_graph_writer_int(w, "axis", 1);
}

static void check_arg(tc_rng *r, tc_dtype t, int64_t rows, int64_t n, int64_t inner) {
    edge_model m = {.file = SCRATCH("selecting.onnx"), .opset = 13, .nin = 1, .nout = 5, .add_nodes = add_arg_nodes};
    m.in[0] = drawn_rows(r, t, rows, n, inner);
    for (int k = 0; k < 4; k++)
        m.want[k] = new_tensor(TC_I64, (tc_graph_shape){2, {rows, inner}});
    m.want[4] = new_tensor(t, m.in[0].shape);
    for (int64_t j = 0; j < rows * inner; j++) {
        int64_t from = j / inner * n * inner + j % inner;
        for (int k = 0; k < 4; k++)
            ((int64_t *)m.want[k].data)[j] = place_of_best(&m.in[0], from, inner, n, k < 2, k % 2);
        if (n > 0)
            tc_store_f(t, m.want[4].data, from + inner * ((int64_t *)m.want[0].data)[j], 1);
    }
    check_edges(&m);
    free_edges(&m);
}

static void test_arg(void **state) {
    (void)state;
    tc_rng r = tc_rng_seed(1);
    for (size_t t = 0; t < TC_LEN(floats); t++) {
        check_arg(&r, floats[t], 2 * KINDS, 3, 1);
        check_arg(&r, floats[t], KINDS, 37, 3);
    }
    check_arg(&r, TC_F32, KINDS, 1, 2);
    check_arg(&r, TC_F32, 1, 300, KINDS);
    check_arg(&r, TC_F32, 0, 3, 2);
}

/* ---- MaxPool with indices ---- */

typedef struct pool {
    int64_t kernel, stride, dilation, pad, order;
} pool;

static const pool pools[] = {{2, 2, 1, 0, 0}, {3, 1, 1, 1, 0}, {2, 1, 2, 1, 1}, {1, 1, 1, 0, 0}};
enum { PLANES = KINDS, SIDE = 6 };

static void add_pool_nodes(tc_graph_writer *w, const void *user) {
    const pool *p = user;
    char kernel[8], stride[8], dilation[8], pads[16];
    snprintf(kernel, sizeof kernel, "%d,%d", (int)p->kernel, (int)p->kernel);
    snprintf(stride, sizeof stride, "%d,%d", (int)p->stride, (int)p->stride);
    snprintf(dilation, sizeof dilation, "%d,%d", (int)p->dilation, (int)p->dilation);
    snprintf(pads, sizeof pads, "%d,%d,%d,%d", (int)p->pad, (int)p->pad, (int)p->pad, (int)p->pad);
    tc_graph_writer_node(w, "MaxPool", "pool", "x0", "y0,y1");
    tc_graph_writer_ints(w, "kernel_shape", kernel);
    tc_graph_writer_ints(w, "strides", stride);
    tc_graph_writer_ints(w, "dilations", dilation);
    tc_graph_writer_ints(w, "pads", pads);
    tc_graph_writer_int(w, "storage_order", p->order);
}

static int64_t best_of_window(const pool *p, const tc_graph_tensor *x, int64_t plane, int64_t y0, int64_t x0) {
    int64_t best = -1;
    for (int64_t k = 0; k < p->kernel * p->kernel; k++) {
        int64_t y = y0 + k / p->kernel * p->dilation, z = x0 + k % p->kernel * p->dilation, at = plane + y * SIDE + z;
        if (y < 0 || z < 0 || y >= SIDE || z >= SIDE)
            continue;
        if (best < 0 || is_better(tc_load_f(x->dtype, x->data, at), tc_load_f(x->dtype, x->data, best), true))
            best = at;
    }
    return best;
}

static void check_pool(tc_rng *r, tc_dtype t, const pool *p) {
    int64_t side = (SIDE + 2 * p->pad - p->dilation * (p->kernel - 1) - 1) / p->stride + 1;
    edge_model m = {.file = SCRATCH("selecting.onnx"), .opset = 12, .nin = 1, .nout = 2, .add_nodes = add_pool_nodes, .user = p};
    tc_graph_tensor x = drawn_rows(r, t, PLANES, SIDE * SIDE, 1);
    m.in[0] = x;
    m.in[0].shape = (tc_graph_shape){4, {1, PLANES, SIDE, SIDE}};
    tc_graph_shape s = {4, {1, PLANES, side, side}};
    m.want[0] = new_tensor(t, s);
    m.want[1] = new_tensor(TC_I64, s);
    for (int64_t i = 0; i < PLANES * side * side; i++) {
        int64_t plane = i / (side * side) * SIDE * SIDE, y = i / side % side, z = i % side;
        int64_t at = best_of_window(p, &x, plane, y * p->stride - p->pad, z * p->stride - p->pad), in = at - plane;
        tc_store_f(t, m.want[0].data, i, tc_load_f(t, x.data, at));
        ((int64_t *)m.want[1].data)[i] = p->order ? plane + in % SIDE * SIDE + in / SIDE : at;
    }
    check_edges(&m);
    free_edges(&m);
}

static void test_pool_indices(void **state) {
    (void)state;
    tc_rng r = tc_rng_seed(2);
    for (size_t k = 0; k < TC_LEN(pools); k++)
        check_pool(&r, TC_F32, &pools[k]);
    check_pool(&r, TC_F64, &pools[1]);
    check_pool(&r, TC_F16, &pools[1]);
}

/* ---- TopK: NaN is the largest, so it is first of the largest and last of the smallest ---- */

static bool sorts_before(double a, double b, bool largest) {
    return largest ? is_better(a, b, true) : isnan(b) ? !isnan(a) : a < b;
}

static void add_top_k_nodes(tc_graph_writer *w, const void *user) {
    (void)user;
    for (int k = 0; k < 2; k++) {
        tc_graph_writer_node(w, "TopK", k ? "smallest" : "largest", "x0,x1", k ? "y2,y3" : "y0,y1");
        tc_graph_writer_int(w, "axis", 1);
        tc_graph_writer_int(w, "largest", !k);
    }
}

static void want_top_k(edge_model *m, int64_t n, int64_t k, bool largest) {
    const tc_graph_tensor *x = &m->in[0];
    bool *taken = tc_xcalloc((size_t)n, sizeof *taken);
    for (int64_t row = 0; row < x->shape.d[0]; row++) {
        memset(taken, 0, (size_t)n * sizeof *taken);
        for (int64_t j = 0; j < k; j++) {
            int64_t best = -1;
            for (int64_t i = 0; i < n; i++)
                if (!taken[i] && (best < 0 || sorts_before(tc_load_f(x->dtype, x->data, row * n + i),
                                                           tc_load_f(x->dtype, x->data, row * n + best), largest)))
                    best = i;
            taken[best] = true;
            tc_store_f(x->dtype, m->want[largest ? 0 : 2].data, row * k + j, tc_load_f(x->dtype, x->data, row * n + best));
            ((int64_t *)m->want[largest ? 1 : 3].data)[row * k + j] = best;
        }
    }
    free(taken);
}

static void check_top_k(tc_rng *r, tc_dtype t, int64_t n, int64_t k) {
    edge_model m = {.file = SCRATCH("selecting.onnx"), .opset = 11, .nin = 2, .nout = 4, .add_nodes = add_top_k_nodes};
    m.in[0] = drawn_rows(r, t, 2 * KINDS, n, 1);
    m.in[1] = I64(DIMS(1), k);
    m.is_const[1] = true;
    for (int o = 0; o < 4; o++)
        m.want[o] = new_tensor(o % 2 ? TC_I64 : t, (tc_graph_shape){3, {2 * KINDS, k, 1}});
    want_top_k(&m, n, k, true);
    want_top_k(&m, n, k, false);
    check_edges(&m);
    free_edges(&m);
}

static void test_top_k(void **state) {
    (void)state;
    tc_rng r = tc_rng_seed(3);
    check_top_k(&r, TC_F32, 9, 4);
    check_top_k(&r, TC_F32, 100, 5);
    check_top_k(&r, TC_F32, 100, 90);
    check_top_k(&r, TC_F16, 9, 9);
    check_top_k(&r, TC_F64, 100, 3);
}

/* ---- CumSum ---- */

static const tc_dtype numbers[] = {TC_F32, TC_F64, TC_F16, TC_BF16, TC_I32, TC_I64, TC_U32, TC_U64};

static void add_cum_sum_nodes(tc_graph_writer *w, const void *user) {
    (void)user;
    for (int k = 0; k < 4; k++) {
        char out[4] = {'y', (char)('0' + k), 0};
        tc_graph_writer_node(w, "CumSum", out, "x0,x1", out);
        tc_graph_writer_int(w, "exclusive", k & 1);
        tc_graph_writer_int(w, "reverse", k >> 1);
    }
}

/* Sums of few different whole numbers are exact in every type, also in bf16, where one in eight is not 0. */
static void check_cum_sum(tc_rng *r, tc_dtype t, tc_graph_shape s, int axis) {
    edge_model m = {.file = SCRATCH("selecting.onnx"), .opset = 14, .nin = 2, .nout = 4, .add_nodes = add_cum_sum_nodes};
    int64_t inner = 1, n = s.d[axis];
    m.in[0] = new_tensor(t, s);
    m.in[1] = I64(SCALAR, axis);
    m.is_const[1] = true;
    for (int d = axis + 1; d < s.ndim; d++)
        inner *= s.d[d];
    for (int64_t i = 0; i < tc_graph_shape_count(&s); i++) {
        int64_t v = tc_rng_below(r, 8) ? 0 : tc_rng_below(r, 3) + (tc_dtype_is_signed(t) ? -1 : 0);
        if (tc_dtype_is_float(t))
            tc_store_f(t, m.in[0].data, i, (double)v);
        else
            tc_store_i(t, m.in[0].data, i, v);
    }
    for (int k = 0; k < 4; k++) {
        m.want[k] = new_tensor(t, s);
        for (int64_t j = 0; j < tc_graph_shape_count(&s) / (n ? n : 1); j++) {
            int64_t sum = 0;
            for (int64_t i = 0; i < n; i++) {
                int64_t at = (j / inner * n + (k >> 1 ? n - 1 - i : i)) * inner + j % inner;
                double v = tc_dtype_is_float(t) ? tc_load_f(t, m.in[0].data, at) : (double)tc_load_i(t, m.in[0].data, at);
                int64_t shown = k & 1 ? sum : sum + (int64_t)v;
                sum += (int64_t)v;
                if (tc_dtype_is_float(t))
                    tc_store_f(t, m.want[k].data, at, (double)shown);
                else
                    tc_store_i(t, m.want[k].data, at, shown);
            }
        }
    }
    check_edges(&m);
    free_edges(&m);
}

static void test_cum_sum(void **state) {
    (void)state;
    tc_rng r = tc_rng_seed(4);
    for (size_t t = 0; t < TC_LEN(numbers); t++) {
        check_cum_sum(&r, numbers[t], (tc_graph_shape){3, {3, 70, 5}}, 1);
        check_cum_sum(&r, numbers[t], (tc_graph_shape){2, {3, 9}}, 1);
    }
    check_cum_sum(&r, TC_F32, (tc_graph_shape){3, {130, 2, 37}}, 0);
    check_cum_sum(&r, TC_I64, (tc_graph_shape){3, {2, 3, 300}}, 2);
    check_cum_sum(&r, TC_F32, (tc_graph_shape){2, {0, 100}}, 1);
    check_cum_sum(&r, TC_F32, (tc_graph_shape){2, {2, 0}}, 1);
}

/* Five seconds of sound. The work of all kernels that are not the library's is counted: it must not be more than linear. */
static void test_long_cum_sum(void **state) {
    (void)state;
    enum { SAMPLES = 240000 };
    edge_model m = {.file = SCRATCH("selecting.onnx"), .opset = 14, .nin = 2, .nout = 4, .add_nodes = add_cum_sum_nodes};
    tc_graph_program *p;
    tc_graph_tensor out[4];
    double work;
    tc_rng r = tc_rng_seed(5);
    check_cum_sum(&r, TC_F32, (tc_graph_shape){2, {1, SAMPLES}}, 1);
    m.in[0] = new_tensor(TC_F32, (tc_graph_shape){2, {1, SAMPLES}});
    m.in[1] = I64(SCALAR, 1);
    m.is_const[1] = true;
    for (int k = 0; k < 4; k++)
        m.want[k] = new_tensor(TC_F32, m.in[0].shape);
    tc_graph *g = import_edges(&m, false);
    assert_ok(tc_graph_program_new(g, &p, err));
    assert_ok(interpret_counting(p, m.in, out, &work, err));
    expect_edges(&m, out, "interpreted");
    assert_true(work <= 4.0 * SAMPLES);
    tc_graph_program_free(p);
    tc_graph_free(g);
    free_edges(&m);
}

/* ---- no elements ---- */

static void add_unique_node(tc_graph_writer *w, const void *user) {
    const int *axis = user;
    tc_graph_writer_node(w, "Unique", "unique", "x0", "y0,y1,y2,y3");
    if (axis)
        tc_graph_writer_int(w, "axis", *axis);
}

/* first, inverse and counts of `groups` equal slices, of which there are n in all. */
static void check_empty_unique(tc_graph_shape x, const int *axis, tc_graph_shape y, int64_t groups, int64_t n) {
    edge_model m = {
        .file = SCRATCH("selecting.onnx"), .opset = 11, .nin = 1, .nout = 4, .add_nodes = add_unique_node, .user = axis};
    m.in[0] = new_tensor(TC_F32, x);
    m.want[0] = new_tensor(TC_F32, y);
    for (int k = 1; k < 4; k++)
        m.want[k] = new_tensor(TC_I64, (tc_graph_shape){1, {k == 2 ? n : groups}});
    for (int64_t i = 0; i < groups; i++)
        ((int64_t *)m.want[3].data)[i] = n;
    check_edges(&m);
    free_edges(&m);
}

/* As NumPy has it: slices without elements are all equal. */
static void test_empty_unique(void **state) {
    (void)state;
    static const int first = 0, last = 1;
    check_empty_unique((tc_graph_shape){1, {0}}, NULL, (tc_graph_shape){1, {0}}, 0, 0);
    check_empty_unique((tc_graph_shape){2, {2, 0}}, NULL, (tc_graph_shape){1, {0}}, 0, 0);
    check_empty_unique((tc_graph_shape){2, {2, 0}}, &first, (tc_graph_shape){2, {1, 0}}, 1, 2);
    check_empty_unique((tc_graph_shape){2, {2, 0}}, &last, (tc_graph_shape){2, {2, 0}}, 0, 0);
}

/* The determinant of a matrix without elements is 1, the product of no numbers. */
static void add_empty_nodes(tc_graph_writer *w, const void *user) {
    (void)user;
    tc_graph_writer_node(w, "Det", "y0", "x0", "y0");
    tc_graph_writer_node(w, "Det", "y1", "x1", "y1");
    for (int k = 2; k < 5; k++) {
        char in[4] = {'x', (char)('0' + k), 0}, out[4] = {'y', (char)('0' + k), 0};
        tc_graph_writer_node(w, "LRN", out, in, out);
        tc_graph_writer_int(w, "size", 3);
    }
}

static void test_empty_operands(void **state) {
    (void)state;
    static const tc_graph_shape shapes[] = {{3, {2, 0, 0}}, {3, {0, 3, 3}}, {3, {2, 0, 3}}, {4, {0, 4, 2, 2}}, {3, {2, 4, 0}}};
    for (size_t t = 0; t < TC_LEN(floats); t++) {
        edge_model m = {.file = SCRATCH("selecting.onnx"), .opset = 13, .nin = 5, .nout = 5, .add_nodes = add_empty_nodes};
        for (int k = 0; k < 5; k++) {
            m.in[k] = new_tensor(floats[t], shapes[k]);
            m.want[k] = new_tensor(floats[t], k > 1 ? shapes[k] : (tc_graph_shape){1, {shapes[k].d[0]}});
        }
        for (int i = 0; i < 2; i++)
            tc_store_f(floats[t], m.want[0].data, i, 1);
        check_edges(&m);
        free_edges(&m);
    }
}

/* ---- losses ---- */

static void add_loss_nodes(tc_graph_writer *w, const void *user) {
    static const char *const how[] = {"none", "sum", "mean"};
    (void)user;
    for (int k = 0; k < 3; k++) {
        char out[4] = {'y', (char)('0' + k), 0};
        tc_graph_writer_node(w, "NegativeLogLikelihoodLoss", out, "x0,x1", out);
        tc_graph_writer_int(w, "ignore_index", 1);
        tc_graph_writer_str(w, "reduction", how[k]);
    }
}

/* An ignored target has loss 0, whatever the scores are. */
static void test_ignored_targets(void **state) {
    static const double odd[] = {-INFINITY, INFINITY, NAN};
    enum { ROWS = 3, CLASSES = 2 };
    (void)state;
    for (size_t t = 0; t < TC_LEN(floats); t++) {
        edge_model m = {.file = SCRATCH("selecting.onnx"), .opset = 13, .nin = 2, .nout = 3, .add_nodes = add_loss_nodes};
        m.in[0] = new_tensor(floats[t], (tc_graph_shape){2, {ROWS, CLASSES}});
        m.in[1] = new_tensor(TC_I64, (tc_graph_shape){1, {ROWS}});
        m.want[0] = new_tensor(floats[t], m.in[1].shape);
        m.want[1] = new_tensor(floats[t], (tc_graph_shape){0});
        m.want[2] = new_tensor(floats[t], (tc_graph_shape){0});
        for (int i = 0; i < ROWS; i++) { /* the last target is class 0, with score -2 */
            bool last = i == ROWS - 1;
            tc_store_f(floats[t], m.in[0].data, i * CLASSES, last ? -2 : odd[(size_t)i + t % 2]);
            tc_store_f(floats[t], m.in[0].data, i * CLASSES + 1, odd[i]);
            ((int64_t *)m.in[1].data)[i] = last ? 0 : 1;
            tc_store_f(floats[t], m.want[0].data, i, last ? 2 : 0);
        }
        tc_store_f(floats[t], m.want[1].data, 0, 2);
        tc_store_f(floats[t], m.want[2].data, 0, 2);
        check_edges(&m);
        free_edges(&m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_arg),          cmocka_unit_test(test_pool_indices),
                                       cmocka_unit_test(test_top_k),        cmocka_unit_test(test_cum_sum),
                                       cmocka_unit_test(test_long_cum_sum), cmocka_unit_test(test_ignored_targets),
                                       cmocka_unit_test(test_empty_unique), cmocka_unit_test(test_empty_operands)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
