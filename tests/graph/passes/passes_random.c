/* Random convolutional graphs: at every optimisation level the passes leave what the reference evaluator gives, and the kernels
 * that come of it compute the same. TC_SEED=N runs one graph and prints it before and after. */
#include "graph/random_graph.h"

enum { MAX_VALUES = 24 };

static tc_graph_value *constant(world *w, const tc_graph_shape *s, double scale, bool positive) {
    tc_graph_tensor t;
    assert_ok(tc_graph_tensor_alloc(&t, TC_F32, s, err));
    for (int64_t i = 0; i < tc_graph_tensor_count(&t); i++) {
        double v = tc_rng_normal(&w->rng) * scale;
        ((float *)t.data)[i] = (float)(positive ? fabs(v) + 0.2 : v);
    }
    return tc_graph_add_constant(w->g, "w", &t);
}

static void add(world *w, tc_graph_node *n) {
    tc_graph_value *v = append(w, n);
    if (v)
        w->pool[w->n++] = v;
}

static void random_ints(world *w, tc_graph_node *n, tc_graph_attr_id id, int len, int least, int limit) {
    int64_t v[2 * TC_GRAPH_MAX_DIMS];
    for (int i = 0; i < len; i++)
        v[i] = least + below(w, limit - least);
    tc_graph_set_ints(w->g, n, id, v, (size_t)len);
}

static int common_divisor(world *w, int64_t a, int64_t b) {
    int found = 1;
    for (int d = 2; d <= a && d <= b; d++)
        if (a % d == 0 && b % d == 0 && below(w, 2))
            found = d;
    return found;
}

static void add_conv(world *w) {
    tc_graph_value *x = pick(w);
    bool transposed = below(w, 3) == 0;
    if (x->shape.ndim < 3 || x->shape.ndim > 5)
        return;
    int64_t in = x->shape.d[1], out = below(w, 3) ? 1 + below(w, 8) : in;
    int group = below(w, 2) ? common_divisor(w, in, out) : 1, nspace = x->shape.ndim - 2;
    tc_graph_shape s = {.ndim = x->shape.ndim, .d = {transposed ? in : out, (transposed ? out : in) / group}}, bias = {1, {out}};
    for (int d = 0; d < nspace; d++)
        s.d[d + 2] = 1 + below(w, 4);
    tc_graph_node *n = node(w, transposed ? TC_GRAPH_OP_CONV_TRANSPOSE : TC_GRAPH_OP_CONV, x, constant(w, &s, 0.4, false),
                            below(w, 2) ? constant(w, &bias, 1, false) : NULL);
    random_ints(w, n, TC_ATTR_strides, nspace, 1, below(w, 2) ? 2 : 4);
    random_ints(w, n, TC_ATTR_pads, 2 * nspace, 0, 3);
    if (below(w, 4) == 0)
        random_ints(w, n, TC_ATTR_dilations, nspace, 1, 3);
    if (transposed && below(w, 2))
        random_ints(w, n, TC_ATTR_output_padding, nspace, 0, 2);
    tc_graph_set_group(w->g, n, group);
    add(w, n);
}

static void add_pool(world *w) {
    static const tc_graph_op ops[] = {TC_GRAPH_OP_MAX_POOL, TC_GRAPH_OP_AVERAGE_POOL, TC_GRAPH_OP_GLOBAL_AVERAGE_POOL};
    tc_graph_node *n = node(w, ops[below(w, 3)], pick(w), NULL, NULL);
    int nspace = n->in[0]->shape.ndim - 2;
    if (nspace < 1 || nspace > 3)
        return;
    if (n->op != TC_GRAPH_OP_GLOBAL_AVERAGE_POOL) {
        random_ints(w, n, TC_ATTR_kernel_shape, nspace, 2, 4);
        random_ints(w, n, TC_ATTR_strides, nspace, 1, 3);
        random_ints(w, n, TC_ATTR_pads, 2 * nspace, 0, 2);
        tc_graph_set_ceil_mode(w->g, n, below(w, 2));
        if (n->op == TC_GRAPH_OP_AVERAGE_POOL)
            tc_graph_set_count_include_pad(w->g, n, below(w, 2));
    }
    add(w, n);
}

static void add_norm(world *w) {
    tc_graph_value *x = pick(w);
    if (x->shape.ndim < 2)
        return;
    tc_graph_shape s = {1, {x->shape.d[1]}};
    tc_graph_value *in[5] = {x};
    for (int k = 1; k < 5; k++)
        in[k] = constant(w, &s, 1, k == 4);
    add(w, tc_graph_new_node(w->g, TC_GRAPH_OP_BATCH_NORM, NULL, in, 5));
}

static void add_unary(world *w) {
    static const tc_graph_op ops[] = {TC_GRAPH_OP_RELU, TC_GRAPH_OP_TANH, TC_GRAPH_OP_SIGMOID, TC_GRAPH_OP_ABS};
    add(w, node(w, ops[below(w, 4)], pick(w), NULL, NULL));
}

/* With another value that broadcasts, or a constant along some dimensions. */
static void add_binary(world *w) {
    static const tc_graph_op ops[] = {TC_GRAPH_OP_ADD, TC_GRAPH_OP_MUL, TC_GRAPH_OP_SUB, TC_GRAPH_OP_ADD};
    tc_graph_value *a = pick(w), *b = pick(w);
    tc_graph_shape both;
    if (!tc_graph_shape_broadcast(&a->shape, &b->shape, &both) || below(w, 3) == 0) {
        tc_graph_shape s = a->shape;
        bool channels = below(w, 2);
        for (int d = 0; d < s.ndim; d++)
            s.d[d] = (channels ? d == 1 : below(w, 2)) ? s.d[d] : 1;
        b = constant(w, &s, 1, false);
    }
    tc_graph_op op = ops[below(w, 4)];
    add(w, below(w, 2) ? node(w, op, a, b, NULL) : node(w, op, b, a, NULL));
}

/* A value with a relative of it: one more reader of the same shape. */
static void add_residual(world *w) {
    tc_graph_value *a = pick(w);
    for (int i = 0; i < w->n; i++)
        if (w->pool[i] != a && tc_graph_shape_equal(&w->pool[i]->shape, &a->shape)) {
            add(w, node(w, TC_GRAPH_OP_ADD, a, w->pool[i], NULL));
            return;
        }
}

static void add_concat(world *w) {
    tc_graph_value *a = pick(w), *b = pick(w);
    int axis = a->shape.ndim > 1 ? below(w, 2) : 0;
    tc_graph_node *n = node(w, TC_GRAPH_OP_CONCAT, a, below(w, 2) ? a : b, NULL);
    tc_graph_set_axis(w->g, n, axis);
    add(w, n);
}

static void add_pad(world *w) {
    tc_graph_value *x = pick(w);
    int ndim = x->shape.ndim;
    int64_t pads[2 * TC_GRAPH_MAX_DIMS];
    for (int d = 0; d < 2 * ndim; d++)
        pads[d] = below(w, 3) && d % ndim < 2 ? 0 : below(w, 3);
    tc_graph_tensor t = tc_graph_tensor_view(TC_I64, &(tc_graph_shape){1, {2 * ndim}}, pads);
    add(w, node(w, TC_GRAPH_OP_PAD, x, tc_graph_add_constant(w->g, "pads", &t), NULL));
}

static void add_along_axis(world *w) {
    static const tc_graph_op ops[] = {TC_GRAPH_OP_SOFTMAX, TC_GRAPH_OP_REDUCE_MEAN, TC_GRAPH_OP_REDUCE_MAX, TC_GRAPH_OP_SLICE};
    tc_graph_value *x = pick(w);
    int64_t axis = below(w, x->shape.ndim), from = 0, to = x->shape.d[axis], step = 1 + below(w, 2);
    tc_graph_node *n = node(w, ops[below(w, 4)], x, NULL, NULL);
    if (n->op == TC_GRAPH_OP_SLICE) {
        from = below(w, (int)to);
        tc_graph_set_starts(w->g, n, &from, 1);
        tc_graph_set_ends(w->g, n, &to, 1);
        tc_graph_set_steps(w->g, n, &step, 1);
    } else if (n->op != TC_GRAPH_OP_SOFTMAX) {
        tc_graph_set_keepdims(w->g, n, below(w, 2));
    }
    if (n->op == TC_GRAPH_OP_SOFTMAX)
        tc_graph_set_axis(w->g, n, axis);
    else
        tc_graph_set_axes(w->g, n, &axis, 1);
    add(w, n);
}

/* Each element twice, as resizing to the nearest does. */
static void add_gather(world *w) {
    tc_graph_value *x = pick(w);
    int axis = below(w, x->shape.ndim);
    int64_t n = 2 * x->shape.d[axis], index[64];
    if (n > 64)
        return;
    for (int64_t i = 0; i < n; i++)
        index[i] = i / 2;
    tc_graph_tensor t = tc_graph_tensor_view(TC_I64, &(tc_graph_shape){1, {n}}, index);
    tc_graph_node *g = node(w, TC_GRAPH_OP_GATHER, x, tc_graph_add_constant(w->g, "index", &t), NULL);
    tc_graph_set_axis(w->g, g, axis);
    add(w, g);
}

static void add_transpose(world *w) {
    tc_graph_value *x = pick(w);
    int ndim = x->shape.ndim, mode = below(w, 3);
    int64_t perm[TC_GRAPH_MAX_DIMS];
    for (int d = 0; d < ndim; d++)
        perm[d] = d;
    if (mode == 2 && ndim > 1) {
        int k = below(w, ndim - 1);
        perm[k] = k + 1;
        perm[k + 1] = k;
    }
    for (int d = 1; d < ndim && mode < 2; d++) /* channels to the end, or from there */
        perm[d] = mode ? (d == ndim - 1 ? 1 : d + 1) : (d == 1 ? ndim - 1 : d - 1);
    tc_graph_node *n = node(w, TC_GRAPH_OP_TRANSPOSE, x, NULL, NULL);
    tc_graph_set_perm(w->g, n, perm, (size_t)ndim);
    add(w, n);
}

static void add_reshape(world *w) {
    tc_graph_value *x = pick(w);
    int from = 1 + below(w, TC_MAX(1, x->shape.ndim - 1)), ndim = x->shape.ndim;
    tc_graph_shape s = {.ndim = TC_MIN(from + 1, ndim)};
    for (int d = 0; d < ndim; d++)
        if (d <= from)
            s.d[d] = x->shape.d[d];
        else
            s.d[from] *= x->shape.d[d];
    tc_graph_node *n = node(w, TC_GRAPH_OP_RESHAPE, x, NULL, NULL);
    tc_graph_set_shape(w->g, n, s.d, (size_t)s.ndim);
    add(w, n);
}

static void add_dense(world *w) {
    tc_graph_value *x = pick(w);
    tc_graph_node *n = node(w, TC_GRAPH_OP_FLATTEN, x, NULL, NULL);
    add(w, n);
    x = w->pool[w->n - 1];
    if (x->shape.ndim != 2)
        return;
    bool by_columns = below(w, 2);
    int64_t out = 1 + below(w, 5);
    tc_graph_shape s = {2, {by_columns ? out : x->shape.d[1], by_columns ? x->shape.d[1] : out}};
    n = node(w, TC_GRAPH_OP_GEMM, x, constant(w, &s, 0.2, false), NULL);
    tc_graph_set_trans_b(w->g, n, by_columns);
    add(w, n);
}

static void grow(world *w) {
    static void (*const steps[])(world *) = {add_conv,  add_conv,       add_conv,      add_conv,    add_pool,     add_norm,
                                             add_unary, add_unary,      add_binary,    add_binary,  add_residual, add_concat,
                                             add_pad,   add_along_axis, add_transpose, add_reshape, add_dense,    add_gather};
    tc_graph_shape s = {.ndim = 3 + below(w, 3), .d = {1 + below(w, 2), 1 + below(w, 6)}};
    for (int d = 2; d < s.ndim; d++)
        s.d[d] = 3 + below(w, s.ndim == 5 ? 3 : 6);
    w->pool[w->n++] = tc_graph_add_input(w->g, "x", TC_F32, &s);
    for (int i = 4 + below(w, 14); i > 0 && w->n < MAX_VALUES - 2; i--)
        steps[below(w, (int)TC_LEN(steps))](w);
    tc_graph_add_output(w->g, "y", w->pool[w->n - 1]);
    tc_graph_add_output(w->g, "z", pick(w));
    tc_graph_simplify(w->g);
}

static void test_random(void **state) {
    (void)state;
    check_random_graphs(&(random_graphs){.grow = grow, .spread = 1, .tolerance = 1e-3, .n = 300, .compiled_every = 6});
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
