/* The quantised operators of com.microsoft. Elementwise ones, pools and Concat are what stands between DequantizeLinear and
 * QuantizeLinear; products are MatMulInteger's, whose sums are exact, and a scale. */
#include <inttypes.h>
#include <string.h>

#include "graph/ops/composed/attention.h"

static tc_graph_value *input(const tc_graph_infer_ctx *c, int k) {
    return k < c->n->nin ? c->n->in[k] : NULL;
}

/* ---- parameters ---- */

/* Scales above zero where they are known; `most` of them (1), for columns, or one. */
static tc_status want_scales(tc_graph_infer_ctx *c, int k, int64_t most) {
    const tc_graph_value *v = tc_graph_in(c, k);
    TC_TRY(tc_graph_want_input(c, k));
    TC_TRY(tc_graph_want_float(c, k));
    int64_t n = tc_graph_shape_count(&v->shape);
    if (n != 1 && n != most)
        return tc_graph_node_fail(c, "the scale '%s' has %" PRId64 " elements; it must have 1%s", v->name, n,
                                  most > 1 ? ", or one for each column" : "");
    for (int64_t i = 0; v->constant && i < n; i++) {
        double s = tc_load_f(v->dtype, v->constant->data, i);
        if (!(s > 0) || s - s != 0)
            return tc_graph_node_fail(c, "scale %" PRId64 " of '%s' is %g; it must be a positive number", i, v->name, s);
    }
    return TC_OK;
}

/* Zero point k, which may be left out, of x. */
static tc_status want_zeros(tc_graph_infer_ctx *c, int k, int x, int64_t most) {
    const tc_graph_value *v = tc_graph_in(c, k);
    if (!v)
        return TC_OK;
    int64_t n = tc_graph_shape_count(&v->shape);
    if (n != 1 && n != most)
        return tc_graph_node_fail(c, "the zero point '%s' has %" PRId64 " elements; it must have 1%s", v->name, n,
                                  most > 1 ? ", or one for each column" : "");
    return x < 0 ? TC_OK : tc_graph_want_same_type(c, x, k);
}

static tc_status want_bytes(tc_graph_infer_ctx *c, int k) {
    TC_TRY(tc_graph_want_input(c, k));
    tc_dtype t = c->n->in[k]->dtype;
    if (t == TC_U8 || t == TC_I8)
        return TC_OK;
    return tc_graph_node_fail(c, "input %d ('%s') must be u8 or i8, but is %s", k, c->n->in[k]->name, tc_dtype_name(t));
}

static tc_graph_value *scalar(tc_graph_emitter *e, tc_graph_value *v) {
    return v ? tc_graph_em_reshape(e, v, &(tc_graph_shape){0}) : NULL;
}

/* The bytes at input k with their scale and zero point behind them. */
static tc_status dequantised(tc_graph_emitter *e, int k, tc_graph_value **out) {
    tc_graph_infer_ctx *c = e->c;
    TC_TRY(want_bytes(c, k));
    TC_TRY(want_scales(c, k + 1, 1));
    TC_TRY(want_zeros(c, k + 2, k, 1));
    tc_graph_value *in[] = {c->n->in[k], scalar(e, c->n->in[k + 1]), scalar(e, input(c, k + 2))};
    *out = tc_graph_em_place(e, tc_graph_em_node(e, TC_GRAPH_OP_DEQUANTIZE_LINEAR, in, 3));
    return e->status;
}

/* The node is y in bytes of type t, by the scale and the zero point at input k. */
static tc_status finish(tc_graph_emitter *e, tc_graph_value *y, int k, tc_dtype t) {
    tc_graph_infer_ctx *c = e->c;
    TC_TRY(e->status);
    TC_TRY(want_scales(c, k, 1));
    TC_TRY(want_zeros(c, k + 1, -1, 1));
    tc_graph_value *zero = input(c, k + 1);
    if (zero && zero->dtype != t)
        return tc_graph_node_fail(c, "the zero point '%s' must be %s like the operands", zero->name, tc_dtype_name(t));
    tc_graph_value *in[] = {y, scalar(e, tc_graph_em_cast(e, c->n->in[k], TC_F32)), scalar(e, zero)};
    tc_graph_node *n = tc_graph_em_node(e, TC_GRAPH_OP_QUANTIZE_LINEAR, in, 3);
    tc_graph_set_output_dtype(c->g, n, tc_graph_dtype_to_onnx(t));
    return tc_graph_em_finish(e, tc_graph_em_place(e, n));
}

/* ---- what stands between ---- */

/* (a, scale, zero?, b, scale, zero?, y scale, y zero?) */
tc_status tc_graph_infer_qlinear_pair(tc_graph_infer_ctx *c) {
    tc_graph_emitter e = {c, TC_OK};
    tc_graph_value *a, *b;
    tc_graph_op op = c->n->op == TC_GRAPH_OP_MS_QLINEAR_ADD ? TC_GRAPH_OP_ADD : TC_GRAPH_OP_MUL;
    TC_TRY(dequantised(&e, 0, &a));
    TC_TRY(dequantised(&e, 3, &b));
    TC_TRY(tc_graph_want_same_type(c, 0, 3));
    return finish(&e, tc_graph_em_op(&e, op, a, b), 6, c->n->in[0]->dtype);
}

/* (x, scale, zero?, y scale, y zero?) */
tc_status tc_graph_infer_qlinear_activation(tc_graph_infer_ctx *c) {
    tc_graph_emitter e = {c, TC_OK};
    tc_graph_value *x;
    TC_TRY(dequantised(&e, 0, &x));
    bool leaky = c->n->op == TC_GRAPH_OP_MS_QLINEAR_LEAKY_RELU;
    tc_graph_node *n = tc_graph_em_node(&e, leaky ? TC_GRAPH_OP_LEAKY_RELU : TC_GRAPH_OP_SIGMOID, &x, 1);
    if (leaky)
        tc_graph_set_alpha(c->g, n, tc_graph_attr_alpha_or(c->n, 0.01F));
    return finish(&e, tc_graph_em_place(&e, n), 3, c->n->in[0]->dtype);
}

/* [N, spatial..., C]  =>  [N, C, spatial...], and back */
static tc_graph_value *channels(tc_graph_emitter *e, tc_graph_value *v, bool first) {
    int64_t perm[TC_GRAPH_MAX_DIMS];
    int n = v->shape.ndim;
    for (int d = 0; d < n; d++)
        perm[d] = d == 0 ? 0 : first ? (d == 1 ? n - 1 : d - 1) : (d == n - 1 ? 1 : d + 1);
    return tc_graph_em_transpose(e, v, perm);
}

tc_status tc_graph_infer_qlinear_pool(tc_graph_infer_ctx *c) {
    tc_graph_emitter e = {c, TC_OK};
    bool global = c->n->op == TC_GRAPH_OP_MS_QLINEAR_GLOBAL_AVERAGE_POOL, last = tc_graph_attr_channels_last(c->n);
    tc_graph_value *x;
    TC_TRY(dequantised(&e, 0, &x));
    if (x->shape.ndim < 3)
        return tc_graph_node_fail(c, "the input must have at least 3 dimensions, but has %d", x->shape.ndim);
    x = last ? channels(&e, x, true) : x;
    tc_graph_node *n = tc_graph_em_node(&e, global ? TC_GRAPH_OP_GLOBAL_AVERAGE_POOL : TC_GRAPH_OP_AVERAGE_POOL, &x, 1);
    if (!global) {
        tc_graph_em_copy_window(&e, n);
        tc_graph_set_ceil_mode(c->g, n, tc_graph_attr_ceil_mode(c->n));
        tc_graph_set_count_include_pad(c->g, n, tc_graph_attr_count_include_pad(c->n));
    }
    tc_graph_value *y = tc_graph_em_place(&e, n);
    TC_TRY(e.status);
    return finish(&e, last ? channels(&e, y, false) : y, 3, c->n->in[0]->dtype);
}

/* (y scale, y zero, then of each part: x, scale, zero) */
tc_status tc_graph_infer_qlinear_concat(tc_graph_infer_ctx *c) {
    tc_graph_emitter e = {c, TC_OK};
    int parts = (c->n->nin - 2) / 3;
    tc_graph_value **x = TC_NEW_N(c->g->arena, tc_graph_value *, parts);
    if (c->n->nin % 3 != 2)
        return tc_graph_node_fail(c, "it has %d inputs; expected are 2, and 3 more for each part", c->n->nin);
    for (int i = 0; i < parts; i++) {
        TC_TRY(tc_graph_want_same_type(c, 2, 2 + 3 * i));
        TC_TRY(dequantised(&e, 2 + 3 * i, &x[i]));
    }
    int axis;
    TC_TRY(tc_graph_want_axis(c, tc_graph_attr_axis(c->n), x[0]->shape.ndim, &axis));
    return finish(&e, tc_graph_em_concat(&e, axis, x, parts), 0, c->n->in[2]->dtype);
}

/* ---- products ---- */

/* The exact sums of (a - zero) * (b - zero) in f32. */
static tc_graph_value *exact_product(tc_graph_emitter *e, tc_graph_value *a, tc_graph_value *b, tc_graph_value *a_zero,
                                     tc_graph_value *b_zero, tc_graph_value *addend) {
    tc_graph_value *in[] = {a, b, a_zero, b_zero};
    tc_graph_value *y = tc_graph_em_place(e, tc_graph_em_node(e, TC_GRAPH_OP_MATMUL_INTEGER, in, 4));
    return tc_graph_em_cast(e, addend ? em_add(e, y, addend) : y, TC_F32);
}

/* One for all, or a list for the columns. */
static tc_graph_value *by_column(tc_graph_emitter *e, tc_graph_value *v) {
    int64_t n = v ? tc_graph_shape_count(&v->shape) : 0;
    return v ? tc_graph_em_reshape(e, v, n == 1 ? &(tc_graph_shape){0} : &(tc_graph_shape){1, {n}}) : NULL;
}

static tc_status want_columns(tc_graph_infer_ctx *c, int b, bool transposed, int64_t *n) {
    TC_TRY(want_bytes(c, b));
    const tc_graph_shape *s = &c->n->in[b]->shape;
    if (s->ndim < 2)
        return tc_graph_node_fail(c, "input %d ('%s') must have at least 2 dimensions", b, c->n->in[b]->name);
    *n = s->d[s->ndim - (transposed ? 2 : 1)];
    return TC_OK;
}

/* y times the scales at inputs a and b, plus the bias. */
static tc_graph_value *scaled(tc_graph_emitter *e, tc_graph_value *y, tc_graph_value *a, tc_graph_value *b,
                              tc_graph_value *bias) {
    y = em_mul(e, y, em_mul(e, scalar(e, a), by_column(e, b)));
    return bias ? em_add(e, y, bias) : y;
}

/* (a, b, a scale, b scale, a zero?, b zero?, bias?) */
tc_status tc_graph_infer_matmul_to_float(tc_graph_infer_ctx *c) {
    tc_graph_emitter e = {c, TC_OK};
    tc_graph_value *const *in = c->n->in;
    int64_t n;
    TC_TRY(want_bytes(c, 0));
    TC_TRY(want_columns(c, 1, false, &n));
    TC_TRY(want_scales(c, 2, 1));
    TC_TRY(want_scales(c, 3, n));
    TC_TRY(want_zeros(c, 4, 0, 1));
    TC_TRY(want_zeros(c, 5, 1, n));
    tc_graph_value *y = exact_product(&e, in[0], in[1], scalar(&e, input(c, 4)), by_column(&e, input(c, 5)), NULL);
    return tc_graph_em_finish(&e, scaled(&e, y, in[2], in[3], input(c, 6)));
}

/* (x of floats, b, b scale, b zero?, bias?): x is quantised to u8 by its range */
tc_status tc_graph_infer_dynamic_matmul(tc_graph_infer_ctx *c) {
    tc_graph_emitter e = {c, TC_OK};
    tc_graph_value *const *in = c->n->in, *x[3];
    int64_t n;
    TC_TRY(tc_graph_want_float(c, 0));
    TC_TRY(want_columns(c, 1, false, &n));
    TC_TRY(want_scales(c, 2, n));
    TC_TRY(want_zeros(c, 3, 1, n));
    tc_graph_em_place_all(&e, tc_graph_em_node(&e, TC_GRAPH_OP_DYNAMIC_QUANTIZE_LINEAR, in, 1), x, 3);
    tc_graph_value *y = exact_product(&e, x[0], in[1], x[2], by_column(&e, input(c, 3)), NULL);
    return tc_graph_em_finish(&e, scaled(&e, y, x[1], in[2], input(c, 4)));
}

static tc_graph_value *matrix(tc_graph_emitter *e, tc_graph_value *v, bool transposed) {
    return transposed ? tc_graph_em_transpose(e, v, (const int64_t[]){1, 0}) : v;
}

/* (a, scale, zero, b, scale, zero, c?, y scale?, y zero?); c is i32 in units of alpha and both scales. Floats without a y scale. */
tc_status tc_graph_infer_qgemm(tc_graph_infer_ctx *c) {
    tc_graph_emitter e = {c, TC_OK};
    tc_graph_value *const *in = c->n->in, *addend = input(c, 6);
    bool ta = tc_graph_attr_trans_a(c->n), tb = tc_graph_attr_trans_b(c->n);
    double alpha = tc_graph_attr_alpha(c->n);
    int64_t n;
    TC_TRY(want_bytes(c, 0));
    TC_TRY(want_columns(c, 3, tb, &n));
    if (in[0]->shape.ndim != 2 || in[3]->shape.ndim != 2)
        return tc_graph_node_fail(c, "its operands must have 2 dimensions");
    TC_TRY(want_scales(c, 1, 1));
    TC_TRY(want_zeros(c, 2, 0, 1));
    TC_TRY(want_scales(c, 4, n));
    TC_TRY(want_zeros(c, 5, 3, n));
    if (addend && addend->dtype != TC_I32)
        return tc_graph_node_fail(c, "the addend '%s' must be i32, but is %s", addend->name, tc_dtype_name(addend->dtype));
    tc_graph_value *y =
        exact_product(&e, matrix(&e, in[0], ta), matrix(&e, in[3], tb), scalar(&e, in[2]), by_column(&e, in[5]), addend);
    y = scaled(&e, y, alpha == 1 ? in[1] : em_by(&e, TC_GRAPH_OP_MUL, in[1], alpha), in[4], NULL);
    return input(c, 7) ? finish(&e, y, 7, in[0]->dtype) : tc_graph_em_finish(&e, y);
}

/* (x, weights, bias, x scale, weight scale, mask?, x zero?, weight zero?, past?)  =>  y, present? */
tc_status tc_graph_infer_qattention(tc_graph_infer_ctx *c) {
    enum { MASK = 5, PAST = 8 };
    tc_graph_emitter e = {c, TC_OK};
    tc_graph_value *const *in = c->n->in;
    int64_t n;
    if (tc_graph_attr_do_rotary(c->n) || tc_graph_attr_past_present_share_buffer(c->n))
        return tc_graph_node_refuse(
            c, TC_ERROR_UNSUPPORTED,
            "rotary embeddings inside, and a past that shares the memory of the present, are not supported");
    TC_TRY(want_bytes(c, 0));
    TC_TRY(want_columns(c, 1, false, &n));
    if (in[0]->shape.ndim != 3 || in[1]->shape.ndim != 2)
        return tc_graph_node_fail(c, "the input must be [batch, sequence, width] and the weights two-dimensional");
    if (in[2]->shape.ndim != 1 || in[2]->shape.d[0] != n)
        return tc_graph_node_fail(c, "the bias '%s' must have %" PRId64 " elements in one dimension", in[2]->name, n);
    TC_TRY(want_scales(c, 3, 1));
    TC_TRY(want_scales(c, 4, n));
    TC_TRY(want_zeros(c, 6, 0, 1));
    TC_TRY(want_zeros(c, 7, 1, n));
    tc_graph_value *y = exact_product(&e, in[0], in[1], scalar(&e, input(c, 6)), by_column(&e, input(c, 7)), NULL);
    return tc_graph_em_self_attention(&e, scaled(&e, y, in[3], in[4], in[2]), MASK, PAST, -1);
}
