/* Random quantised graphs, whose scales are powers of two, so that every float in them is exact: at every optimisation level,
 * what the passes leave and the kernels that come of it give what the reference evaluator gives for the graph as it was written,
 * to the bit. TC_SEED=N runs one graph and prints it before and after. */
#include "graph/random_graph.h"

enum { MAX_VALUES = 24 }; /* of the pool: dequantised ones, whole multiples of a power of two */

static tc_graph_value *numbers(world *w, tc_dtype t, const tc_graph_shape *s, int low, int high, double unit) {
    tc_graph_tensor made;
    assert_ok(tc_graph_tensor_alloc(&made, t, s, err));
    int64_t n = tc_graph_tensor_count(&made);
    double *v = tc_xcalloc((size_t)n + 1, sizeof *v);
    for (int64_t i = 0; i < n; i++)
        v[i] = unit * (low + below(w, high - low + 1));
    tc_graph_tensor_from_f64(&made, v);
    free(v);
    return tc_graph_add_constant(w->g, "c", &made);
}

/* A power of two for all, or one for each of `n`. */
static tc_graph_value *scales(world *w, int64_t n, int least) {
    tc_graph_shape s = {.ndim = n ? 1 : 0, .d = {n}};
    tc_graph_tensor made;
    assert_ok(tc_graph_tensor_alloc(&made, TC_F32, &s, err));
    for (int64_t i = 0; i < tc_graph_tensor_count(&made); i++)
        ((float *)made.data)[i] = ldexpf(1, -least - below(w, 3));
    return tc_graph_add_constant(w->g, "s", &made);
}

static tc_dtype byte_type(world *w) {
    return below(w, 2) ? TC_U8 : TC_I8;
}

/* Quantises v and dequantises it, by one scale; perhaps by another one than before. */
static void quantise(world *w, tc_graph_value *v) {
    tc_dtype t = byte_type(w);
    tc_graph_value *s = scales(w, 0, 1),
                   *z = below(w, 3) ? numbers(w, t, &(tc_graph_shape){0}, t == TC_I8 ? -20 : 0, 60, 1) : NULL;
    if (!z && t == TC_I8)
        z = numbers(w, t, &(tc_graph_shape){0}, 0, 0, 1);
    tc_graph_value *q = v ? append(w, node(w, TC_GRAPH_OP_QUANTIZE_LINEAR, v, s, z)) : NULL;
    tc_graph_value *d = q ? append(w, node(w, TC_GRAPH_OP_DEQUANTIZE_LINEAR, q, s, z)) : NULL;
    if (d && w->n < MAX_VALUES)
        w->pool[w->n++] = d;
}

/* Dequantised bytes of `shape`, with scales along `axis` or one for all. */
static tc_graph_value *weights(world *w, const tc_graph_shape *shape, int axis) {
    bool each = below(w, 2);
    tc_dtype t = below(w, 4) ? TC_I8 : TC_U8;
    tc_graph_value *z = t == TC_U8 ? numbers(w, t, &(tc_graph_shape){0}, 100, 128, 1) : NULL;
    tc_graph_value *c = numbers(w, t, shape, t == TC_I8 ? -30 : 70, t == TC_I8 ? 30 : 160, 1);
    tc_graph_node *n = node(w, TC_GRAPH_OP_DEQUANTIZE_LINEAR, c, scales(w, each && !z ? shape->d[axis] : 0, 3), z);
    tc_graph_set_axis(w->g, n, axis);
    return append(w, n);
}

static void add_conv(world *w) {
    tc_graph_value *x = pick(w);
    if (x->shape.ndim != 4)
        return;
    int64_t in = x->shape.d[1], out = below(w, 3) ? 1 + below(w, 20) : in;
    bool depthwise = out == in && below(w, 3) == 0;
    tc_graph_shape s = {4, {out, depthwise ? 1 : in, 1 + below(w, 3), 1 + below(w, 3)}}, list = {1, {out}};
    tc_graph_value *k = weights(w, &s, 0), *bias = below(w, 2) ? numbers(w, TC_F32, &list, -64, 64, 0.0625) : NULL;
    int64_t strides[] = {1 + below(w, 2), 1 + below(w, 2)}, pads[] = {below(w, 2), below(w, 2), below(w, 2), below(w, 2)};
    if (!k)
        return;
    tc_graph_node *n = node(w, TC_GRAPH_OP_CONV, x, k, bias);
    tc_graph_set_strides(w->g, n, strides, 2);
    tc_graph_set_pads(w->g, n, pads, 4);
    tc_graph_set_group(w->g, n, depthwise ? in : 1);
    tc_graph_value *y = append(w, n);
    if (y && below(w, 3) == 0)
        y = append(w, node(w, TC_GRAPH_OP_RELU, y, NULL, NULL));
    quantise(w, y);
}

static void add_matmul(world *w) {
    tc_graph_value *x = pick(w);
    int64_t k = x->shape.d[x->shape.ndim - 1], n = 1 + below(w, 20);
    tc_graph_value *b = weights(w, &(tc_graph_shape){2, {k, n}}, 1);
    quantise(w, b ? append(w, node(w, TC_GRAPH_OP_MATMUL, x, b, NULL)) : NULL);
}

static void add_relu(world *w) {
    quantise(w, append(w, node(w, TC_GRAPH_OP_RELU, pick(w), NULL, NULL)));
}

static void add_sum(world *w) {
    tc_graph_value *a = pick(w);
    for (int i = 0; i < w->n; i++)
        if (w->pool[i] != a && tc_graph_shape_equal(&w->pool[i]->shape, &a->shape)) {
            quantise(w, append(w, node(w, TC_GRAPH_OP_ADD, a, w->pool[i], NULL)));
            return;
        }
}

static void add_pool(world *w) {
    tc_graph_value *x = pick(w);
    if (x->shape.ndim != 4)
        return;
    tc_graph_node *n = node(w, TC_GRAPH_OP_MAX_POOL, x, NULL, NULL);
    int64_t kernel[] = {2, 2}, pads[] = {below(w, 2), 0, 0, below(w, 2)};
    tc_graph_set_kernel_shape(w->g, n, kernel, 2);
    tc_graph_set_pads(w->g, n, pads, 4);
    tc_graph_value *y = append(w, n);
    if (y && w->n < MAX_VALUES)
        w->pool[w->n++] = y;
}

static void add_concat(world *w) {
    tc_graph_value *a = pick(w);
    tc_graph_node *n = node(w, TC_GRAPH_OP_CONCAT, a, below(w, 2) ? a : pick(w), NULL);
    tc_graph_set_axis(w->g, n, 1);
    quantise(w, append(w, n));
}

static void add_transpose(world *w) {
    tc_graph_value *x = pick(w);
    int64_t perm[] = {0, 2, 3, 1};
    if (x->shape.ndim != 4)
        return;
    tc_graph_node *n = node(w, TC_GRAPH_OP_TRANSPOSE, x, NULL, NULL);
    tc_graph_set_perm(w->g, n, perm, 4);
    quantise(w, append(w, n));
}

static void grow(world *w) {
    static void (*const steps[])(world *) = {add_conv, add_conv,   add_conv, add_matmul, add_relu,
                                             add_sum,  add_concat, add_pool, add_sum,    add_transpose};
    tc_graph_shape s = {4, {1 + below(w, 2), 1 + below(w, 9), 3 + below(w, 6), 3 + below(w, 6)}};
    quantise(w, tc_graph_add_input(w->g, "x", TC_F32, &s));
    for (int i = 3 + below(w, 9); i > 0 && w->n < MAX_VALUES - 1; i--)
        steps[below(w, (int)TC_LEN(steps))](w);
    tc_graph_add_output(w->g, "y", w->pool[w->n - 1]);
    tc_graph_add_output(w->g, "z", pick(w));
}

static void test_random(void **state) {
    (void)state;
    check_random_graphs(&(random_graphs){.grow = grow, .spread = 10, .n = 120, .compiled_every = 5, .least_level = 1});
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
