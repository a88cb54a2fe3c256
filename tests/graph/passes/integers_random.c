/* Random convolutions and products of integers, as models have them that quantise in each run. The zero point of x is known in a
 * run only, or is any constant; that of the weights is left out, a constant or known in a run only, for all channels or for each.
 * What the passes leave, and the kernels, give the same integers as the graph as it was written, and they multiply bytes.
 * TC_SEED=N runs one graph and prints it before and after. */
#include "graph/ir/build.h"
#include "graph/random_graph.h"
#include "search_space/space.h"
#include "tir_lower/build/build.h"
#include "tir_lower/passes/passes.h"
#include "tir_lower/text/text.h"

typedef struct bytes {
    tc_graph_value *q, *scale, *zero;
} bytes;

static tc_graph_value *constant(world *w, tc_dtype t, const tc_graph_shape *s, int low, int high) {
    tc_graph_tensor made;
    assert_ok(tc_graph_tensor_alloc(&made, t, s, err));
    for (int64_t i = 0, n = tc_graph_tensor_count(&made); i < n; i++)
        tc_store_i(t, made.data, i, low + below(w, high - low + 1));
    return tc_graph_add_constant(w->g, "c", &made);
}

static tc_graph_value *list_of(world *w, const int64_t *v, int n) {
    tc_graph_tensor made;
    assert_ok(tc_graph_tensor_alloc(&made, TC_I64, &(tc_graph_shape){1, {n}}, err));
    for (int i = 0; i < n; i++)
        tc_store_i(TC_I64, made.data, i, v[i]);
    return tc_graph_add_constant(w->g, "list", &made);
}

static tc_graph_value *one_float(world *w, float v) {
    tc_graph_tensor made;
    assert_ok(tc_graph_tensor_alloc(&made, TC_F32, &(tc_graph_shape){0}, err));
    *(float *)made.data = v;
    return tc_graph_add_constant(w->g, "f", &made);
}

static tc_graph_value *needed(tc_graph_value *v) {
    assert_non_null(v);
    return v;
}

/* x plus an offset, quantised: its zero point is anywhere. */
static bytes quantised(world *w, tc_graph_value *x) {
    static const float offsets[] = {0, -10, 15, 300, -300};
    const char *names[] = {"q", "q.scale", "q.zero"};
    x = needed(append(w, node(w, TC_GRAPH_OP_ADD, x, one_float(w, offsets[below(w, TC_LEN(offsets))]), NULL)));
    assert_ok(tc_graph_append(w->g, node(w, TC_GRAPH_OP_DYNAMIC_QUANTIZE_LINEAR, x, NULL, NULL), names, 3, err));
    return (bytes){tc_graph_find_value(w->g, "q"), tc_graph_find_value(w->g, "q.scale"), tc_graph_find_value(w->g, "q.zero")};
}

/* Elements of x as bytes of each run. */
static tc_graph_value *picked(world *w, const bytes *x, int64_t n) {
    int64_t all = -1, index[32];
    for (int64_t i = 0; i < n; i++)
        index[i] = below(w, (int)tc_graph_shape_count(&x->q->shape));
    tc_graph_value *flat = needed(append(w, node(w, TC_GRAPH_OP_RESHAPE, x->q, list_of(w, &all, 1), NULL)));
    return needed(append(w, node(w, TC_GRAPH_OP_GATHER, flat, list_of(w, index, (int)n), NULL)));
}

/* The zero point of weights of type t with n channels; NULL: none. */
static tc_graph_value *zero_of_weights(world *w, const bytes *x, tc_dtype t, int64_t n) {
    int low = t == TC_I8 ? -128 : 0;
    switch (below(w, 5)) {
    case 0:
        return NULL;
    case 1:
        return constant(w, t, &(tc_graph_shape){0}, low, low + 255);
    case 2:
        return constant(w, t, &(tc_graph_shape){1, {n}}, low, low + 255);
    case 3:
        return t == TC_U8 ? x->zero : NULL;
    default:
        return t == TC_U8 ? picked(w, x, n) : NULL;
    }
}

static tc_graph_value *weights(world *w, const tc_graph_shape *s, tc_dtype *t) {
    *t = below(w, 3) ? TC_U8 : TC_I8;
    int low = *t == TC_I8 ? -128 : 0, from = low + below(w, 100), to = TC_MIN(from + 1 + below(w, 255), low + 255);
    return constant(w, *t, s, from, to);
}

static void set_window(world *w, tc_graph_node *n, int nspace) {
    int64_t strides[3], dilations[3], pads[6];
    for (int i = 0; i < nspace; i++) {
        strides[i] = 1 + below(w, 2);
        dilations[i] = 1 + (below(w, 4) == 0);
        pads[i] = below(w, 3);
        pads[i + nspace] = below(w, 3);
    }
    tc_graph_set_strides(w->g, n, strides, (size_t)nspace);
    tc_graph_set_dilations(w->g, n, dilations, (size_t)nspace);
    int kind = below(w, 5);
    if (kind < 2)
        tc_graph_set_auto_pad(w->g, n, kind ? "SAME_UPPER" : "SAME_LOWER");
    else if (kind < 4)
        tc_graph_set_pads(w->g, n, pads, 2 * (size_t)nspace);
}

static tc_graph_value *zero_of_x(world *w, const bytes *x) {
    int kind = below(w, 6);
    return kind == 0 ? NULL : kind == 1 ? constant(w, TC_U8, &(tc_graph_shape){0}, 0, 255) : x->zero;
}

static tc_graph_value *convolved(world *w, const bytes *x) {
    int nspace = x->q->shape.ndim - 2;
    int64_t in = x->q->shape.d[1], group = below(w, 3) ? 1 : below(w, 2) ? in : in % 2 == 0 ? 2 : 1;
    tc_graph_shape s = {x->q->shape.ndim, {group * (1 + below(w, group == 1 ? 20 : 3)), in / group}};
    tc_dtype t;
    for (int d = 2; d < s.ndim; d++)
        s.d[d] = 1 + below(w, 3);
    tc_graph_value *k = weights(w, &s, &t), *zero = zero_of_weights(w, x, t, s.d[0]);
    tc_graph_node *n;
    if (below(w, 3)) {
        tc_graph_value *ports[] = {x->q, k, zero_of_x(w, x), zero};
        n = tc_graph_new_node(w->g, TC_GRAPH_OP_CONV_INTEGER, NULL, ports, 4);
    } else {
        tc_graph_shape list = {1, {s.d[0]}};
        tc_graph_value *bias = below(w, 3) ? constant(w, TC_I32, &list, -9999, 9999) : NULL;
        if (!bias && below(w, 2)) {
            tc_graph_node *cast = node(w, TC_GRAPH_OP_CAST, picked(w, x, s.d[0]), NULL, NULL);
            tc_graph_set_to(w->g, cast, tc_graph_dtype_to_onnx(TC_I32));
            bias = needed(append(w, cast));
        }
        tc_graph_value *ports[] = {x->q,
                                   x->scale,
                                   x->zero,
                                   k,
                                   one_float(w, 0.5),
                                   zero ? zero : constant(w, t, &(tc_graph_shape){0}, 0, 0),
                                   one_float(w, 32),
                                   constant(w, TC_U8, &(tc_graph_shape){0}, 90, 160),
                                   bias};
        n = tc_graph_new_node(w->g, TC_GRAPH_OP_QLINEAR_CONV, NULL, ports, bias ? 9 : 8);
    }
    set_window(w, n, nspace);
    tc_graph_set_group(w->g, n, group);
    return append(w, n);
}

static tc_graph_value *multiplied(world *w, const bytes *x) {
    tc_graph_shape s = {2, {x->q->shape.d[x->q->shape.ndim - 1], 1 + below(w, 20)}};
    tc_dtype t;
    tc_graph_value *k = weights(w, &s, &t), *zero = zero_of_weights(w, x, t, s.d[1]);
    tc_graph_value *in[] = {x->q, k, zero_of_x(w, x), zero};
    return append(w, tc_graph_new_node(w->g, TC_GRAPH_OP_MAT_MUL_INTEGER, NULL, in, 4));
}

static void grow(world *w) {
    tc_graph_shape s = {3 + below(w, 3), {1 + below(w, 2), 1 + below(w, 9)}};
    for (int d = 2; d < s.ndim; d++)
        s.d[d] = 2 + below(w, s.ndim == 5 ? 3 : 6);
    bytes x = quantised(w, tc_graph_add_input(w->g, "x", TC_F32, &s));
    for (int i = 0; i < 2; i++) {
        tc_graph_value *y = NULL;
        while (!y) /* some windows are larger than x */
            y = i || below(w, 4) ? convolved(w, &x) : multiplied(w, &x);
        tc_graph_add_output(w->g, i ? "z" : "y", y);
    }
}

static void test_random(void **state) {
    (void)state;
    check_random_graphs(&(random_graphs){.grow = grow, .spread = 10, .n = 160, .compiled_every = 5, .least_level = 1});
}

/* ---- bytes ---- */

/* Of groups of channels, weights that do not fit a byte take two. */
static void expect_bytes(const tc_graph *g, uint64_t seed) {
    int found = 0;
    for (size_t i = 0; i < g->nodes.len; i++) {
        const tc_graph_node *n = g->nodes.data[i];
        if (n->op != TC_GRAPH_OP_CONV && n->op != TC_GRAPH_OP_MATMUL)
            continue;
        bool groups = n->op == TC_GRAPH_OP_CONV && tc_graph_attr_group(n) > 1;
        if (n->in[0]->dtype != TC_U8 || (n->in[1]->dtype != TC_I8 && !(groups && n->in[1]->dtype == TC_I16)))
            fail_msg("TC_SEED=%llu: '%s' multiplies %s by %s", (unsigned long long)seed, n->name, tc_dtype_name(n->in[0]->dtype),
                     tc_dtype_name(n->in[1]->dtype));
        found++;
    }
    assert_int_equal(found, 2);
}

static void test_bytes(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= test_some_graphs(160); seed++) {
        world w = {.rng = tc_rng_seed(seed), .g = tc_graph_new("random")};
        grow(&w);
        assert_ok(tc_graph_passes(w.g, NULL, err));
        expect_bytes(w.g, seed);
        tc_graph_free(w.g);
    }
}

/* ---- units ---- */

/* The kernel without tuning, in loops for this machine, has products of four bytes at a time. */
static bool has_dots(const tc_workload *w, const tc_machine *m) {
    tc_ctx *c = tc_ctx_child(w->ctx);
    tc_strbuf text = {0};
    tc_space *space;
    tc_trace *trace;
    tc_sched *s;
    tc_func *built, *f;
    assert_ok(tc_space_new(w, m, &space, err));
    assert_ok(tc_space_default(space, tc_ctx_arena(c), &trace, err));
    assert_ok(tc_sch_replay(c, w, trace, NULL, &s, err));
    assert_ok(tc_tir_build(s, m, &built, err));
    assert_ok(tc_tir_lower(c, m, built, NULL, &f, err));
    tc_tir_print(&text, f);
    bool found = strstr(tc_sb_str(&text), "= dot(") != NULL;
    tc_strbuf_free(&text);
    tc_space_free(space);
    tc_ctx_free(c);
    return found;
}

/* How many kernels of g use vpdpbusd on a machine that has it. *whole: how many make as many integers as `count`. */
static int count_units(const tc_graph *g, int64_t count, int *whole) {
    tc_graph_program *p;
    tc_target *t;
    const tc_tune_task *tasks;
    int units = 0;
    *whole = 0;
    assert_ok(tc_graph_program_new(g, &p, err));
    assert_ok(tc_target_parse("llvm -mtriple=x86_64-linux-gnu -mcpu=cooperlake", &t, err));
    for (int i = 0, n = tc_graph_program_tasks(p, &tasks); i < n; i++) {
        const tc_tensor *y = tasks[i].workload->out[0];
        int64_t made = 1;
        for (int d = 0; d < y->ndim; d++)
            made *= y->shape[d];
        units += has_dots(tasks[i].workload, &t->machine);
        *whole += y->dtype == TC_I32 && made == count;
    }
    tc_target_free(t);
    tc_graph_program_free(p);
    return units;
}

/* As quantised models of convolutional networks have them: padding, a zero point of x that a run finds, and weights with any. The
 * kernel of the product corrects its sums itself. */
static void test_units(void **state) {
    (void)state;
    for (int form = 0; form < 3; form++) {
        world w = {.rng = tc_rng_seed(1), .g = tc_graph_new("units")};
        bytes x = quantised(&w, tc_graph_add_input(w.g, "x", TC_F32, &(tc_graph_shape){4, {1, 32, 13, 13}}));
        tc_graph_value *k = constant(&w, form ? TC_U8 : TC_I8, &(tc_graph_shape){4, {40, 32, 3, 3}}, 0, form ? 255 : 127);
        tc_graph_value *zero = form == 0 ? NULL : form == 1 ? constant(&w, TC_U8, &(tc_graph_shape){0}, 55, 55) : x.zero;
        tc_graph_node *n = tc_graph_new_node(w.g, TC_GRAPH_OP_CONV_INTEGER, NULL, (tc_graph_value *[]){x.q, k, x.zero, zero}, 4);
        tc_graph_set_pads(w.g, n, (int64_t[]){1, 1, 1, 1}, 4);
        const char *name = "sums";
        int whole;
        assert_ok(tc_graph_append(w.g, n, &name, 1, err));
        tc_graph_add_output(w.g, "y", tc_graph_find_value(w.g, name));
        assert_ok(tc_graph_passes(w.g, NULL, err));
        assert_int_equal(count_units(w.g, 40 * 13 * 13, &whole), 1);
        assert_int_equal(whole, 2); /* the product, corrected, and its transposition */
        tc_graph_free(w.g);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
