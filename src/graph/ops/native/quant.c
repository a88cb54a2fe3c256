/* The quantised operators. Scales and zero points are brought into the shape that broadcasts against what they belong to, so that
 * QuantizeLinear and DequantizeLinear are elementwise; everything else is written in terms of them and of contractions of i32. A
 * zero point that is known to be 0 leaves no trace. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "graph/ops/functions.h"

/* ---- inference ---- */

/* ---- QuantizeLinear, DequantizeLinear ---- */

/* One parameter per `block` elements of the axis: each is repeated, the last perhaps less often. */
static tc_graph_value *spread_blocks(tc_graph_emitter *e, tc_graph_value *p, int axis, int64_t block, int64_t dim) {
    int64_t *index = TC_NEW_N(e->c->g->arena, int64_t, dim + 1);
    for (int64_t i = 0; i < dim; i++)
        index[i] = i / block;
    return tc_graph_em_index(e, p, axis, index, dim);
}

static tc_status want_block_shape(tc_graph_infer_ctx *c, const tc_graph_value *p, int axis, int64_t block) {
    const tc_graph_shape *x = &c->n->in[0]->shape;
    bool fits = p->shape.ndim == x->ndim;
    for (int d = 0; fits && d < x->ndim; d++)
        fits = p->shape.d[d] == (d == axis ? tc_ceil_div(x->d[d], block) : x->d[d]);
    if (fits)
        return TC_OK;
    return tc_graph_node_fail(c, "'%s' does not have one element for each block of %" PRId64 " along axis %d", p->name, block,
                              axis);
}

/* A scale or zero point of x: for the whole tensor, along one axis, or by blocks of it. */
static tc_status spread_parameter(tc_graph_emitter *e, tc_graph_value *p, tc_graph_value **out) {
    tc_graph_infer_ctx *c = e->c;
    const tc_graph_shape *x = &c->n->in[0]->shape;
    int64_t block = tc_graph_attr_block_size(c->n);
    int axis;
    if (tc_graph_shape_count(&p->shape) == 1 && !block) {
        *out = tc_graph_em_reshape(e, p, &(tc_graph_shape){0});
        return e->status;
    }
    tc_graph_shape both;
    if (!block && p->shape.ndim == x->ndim && tc_graph_shape_broadcast(x, &p->shape, &both) && tc_graph_shape_equal(x, &both)) {
        *out = p; /* canonical already */
        return TC_OK;
    }
    TC_TRY(tc_graph_want_axis(c, tc_graph_attr_axis_or(c->n, 1), x->ndim, &axis));
    if (block < 0)
        return tc_graph_node_fail(c, "attribute block_size is %" PRId64 "; it must not be negative", block);
    if (block) {
        TC_TRY(want_block_shape(c, p, axis, block));
        TC_TRY(tc_graph_want_table(c, (double)x->d[axis]));
        *out = spread_blocks(e, p, axis, block, x->d[axis]);
        return e->status;
    }
    if (p->shape.ndim != 1 || p->shape.d[0] != x->d[axis])
        return tc_graph_node_fail(c, "'%s' must have one element, or one for each of the %" PRId64 " of axis %d", p->name,
                                  x->d[axis], axis);
    *out = tc_graph_em_along(e, p, axis, x->ndim);
    return e->status;
}

static bool is_zero(const tc_graph_value *v) {
    for (int64_t i = 0, n = v->constant ? tc_graph_shape_count(&v->shape) : 0; i < n; i++)
        if ((tc_dtype_is_float(v->dtype) ? tc_load_f(v->dtype, v->constant->data, i)
                                         : (double)tc_load_i(v->dtype, v->constant->data, i)) != 0)
            return false;
    return v->constant;
}

static tc_status spread_parameters(tc_graph_infer_ctx *c, tc_graph_value *p[3]) {
    tc_graph_emitter e = {c, TC_OK};
    p[0] = c->n->in[0];
    p[2] = NULL;
    TC_TRY(tc_graph_want_float(c, 1));
    if (tc_dtype_is_stored(c->n->in[1]->dtype)) /* powers of two */
        c->n->in[1] = tc_graph_em_cast(&e, c->n->in[1], TC_F32);
    for (int k = 1; k < c->n->nin; k++)
        if (c->n->in[k])
            TC_TRY(spread_parameter(&e, c->n->in[k], &p[k]));
    return TC_OK;
}

/* Nothing can be divided by a scale of 0 or NaN. */
static tc_status want_divisors(tc_graph_infer_ctx *c) {
    const tc_graph_value *v = c->n->in[1];
    for (int64_t i = 0, n = v->constant ? tc_graph_shape_count(&v->shape) : 0; i < n; i++) {
        double s = tc_load_f(v->dtype, v->constant->data, i);
        if (s == 0 || s - s != 0)
            return tc_graph_node_fail(c, "scale %" PRId64 " of '%s' is %g, which cannot be a divisor", i, v->name, s);
    }
    return TC_OK;
}

/* The type that is quantised to; x / scale rounded, and the zero point added, saturates in it. */
static tc_status quantised_type(tc_graph_infer_ctx *c, tc_dtype *t) {
    int64_t code = tc_graph_attr_output_dtype(c->n), precision = tc_graph_attr_precision(c->n);
    if (precision && precision != tc_graph_dtype_to_onnx(TC_F32))
        return tc_graph_node_refuse(c, TC_ERROR_UNSUPPORTED, "attribute precision: dividing in %s is not supported",
                                    tc_graph_onnx_type_name(precision));
    *t = TC_U8;
    if (code)
        TC_TRY(tc_graph_want_element_type(c, "output_dtype", code, t));
    if (tc_graph_in(c, 2))
        *t = c->n->in[2]->dtype;
    if (*t != TC_U8 && *t != TC_I8 && *t != TC_U16 && *t != TC_I16 && (!tc_dtype_is_stored(*t) || *t == TC_F8E8M0))
        return tc_graph_node_refuse(c, TC_ERROR_UNSUPPORTED,
                                    "it quantises to %s; u8, i8, u16, i16, u4, i4 and floats of a byte or less are supported",
                                    tc_dtype_name(*t));
    return TC_OK;
}

/* Q(x, s, z)  =>  Cast(Round(x / s) + z), and to floats of a byte, which need no steps of one, Cast(x / s + z) */
static tc_status quantize_to_stored(tc_graph_infer_ctx *c, tc_graph_value *const p[3], tc_dtype to) {
    tc_graph_emitter e = {c, TC_OK};
    tc_graph_value *q = em_div(&e, tc_graph_em_cast(&e, p[0], TC_F32), tc_graph_em_cast(&e, p[1], TC_F32));
    if (!tc_dtype_is_float(to))
        q = em_unary(&e, TC_GRAPH_OP_ROUND, q);
    if (p[2] && !is_zero(p[2]))
        q = em_add(&e, q, tc_graph_em_cast(&e, p[2], TC_F32));
    tc_graph_node *n = tc_graph_em_node(&e, TC_GRAPH_OP_CAST, &q, 1);
    tc_graph_set_to(c->g, n, tc_graph_dtype_to_onnx(to));
    tc_graph_set_saturate(c->g, n, tc_graph_attr_saturate(c->n));
    return tc_graph_em_finish(&e, tc_graph_em_place(&e, n));
}

tc_status tc_graph_infer_quantize(tc_graph_infer_ctx *c) {
    tc_graph_value *p[3], *x = c->n->in[0];
    tc_dtype t;
    if (!tc_dtype_is_float(x->dtype) && x->dtype != TC_I32)
        return tc_graph_node_fail(c, "it quantises floating point and i32, but the input is %s", tc_dtype_name(x->dtype));
    TC_TRY(quantised_type(c, &t));
    TC_TRY(tc_graph_want_float(c, 1));
    TC_TRY(want_divisors(c));
    TC_TRY(spread_parameters(c, p));
    if (tc_dtype_is_stored(t))
        return quantize_to_stored(c, p, t);
    tc_graph_set_inputs(c->g, c->n, p, p[2] && is_zero(p[2]) ? 2 : 3);
    tc_graph_become(c, TC_GRAPH_OP_QUANTIZE_LINEAR, 3);
    tc_graph_set_output_dtype(c->g, c->n, tc_graph_dtype_to_onnx(t)); /* also without a zero point that says it */
    c->out[0] = tc_graph_like(c, 0);
    c->out[0].dtype = t;
    for (int k = 1; k < c->n->nin; k++)
        tc_graph_take_onto(c, &c->out[0], k, 0);
    return TC_OK;
}

/* DQ(x, s, z)  =>  (Cast(x) - Cast(z)) * s, of floats of a byte */
static tc_status dequantize_floats(tc_graph_infer_ctx *c, tc_graph_value *const p[3], tc_dtype to) {
    tc_graph_emitter e = {c, TC_OK};
    tc_dtype wide = tc_graph_wide(to);
    tc_graph_value *x = tc_graph_em_cast(&e, p[0], wide);
    if (p[2] && !is_zero(p[2]))
        x = em_sub(&e, x, tc_graph_em_cast(&e, p[2], wide));
    return tc_graph_em_finish(&e, tc_graph_em_cast(&e, em_mul(&e, x, tc_graph_em_cast(&e, p[1], wide)), to));
}

/* Integers of 4 bits as bytes. */
static tc_status widen_four_bits(tc_graph_infer_ctx *c) {
    tc_graph_emitter e = {c, TC_OK};
    for (int k = 0; k < c->n->nin; k += 2)
        if (c->n->in[k] && tc_dtype_bits(c->n->in[k]->dtype) == 4 && tc_dtype_is_int(c->n->in[k]->dtype))
            c->n->in[k] = tc_graph_em_cast(&e, c->n->in[k], tc_dtype_is_signed(c->n->in[k]->dtype) ? TC_I8 : TC_U8);
    return e.status;
}

tc_status tc_graph_infer_dequantize(tc_graph_infer_ctx *c) {
    TC_TRY(tc_graph_want_same_type(c, 0, 2));
    TC_TRY(widen_four_bits(c));
    tc_graph_value *p[3], *x = c->n->in[0];
    int64_t code = tc_graph_attr_output_dtype(c->n);
    tc_dtype to = tc_dtype_is_stored(c->n->in[1]->dtype) ? TC_F32 : c->n->in[1]->dtype;
    if (code && (!tc_graph_dtype_of_onnx(code, &to) || !tc_dtype_is_float(to) || tc_dtype_is_stored(to)))
        return tc_graph_node_refuse(c, TC_ERROR_UNSUPPORTED, "attribute output_dtype: element type %s is not supported",
                                    tc_graph_onnx_type_name(code));
    bool floats = tc_float8_of(x->dtype) && x->dtype != TC_F8E8M0;
    if (!floats && (!tc_dtype_is_int(x->dtype) || tc_dtype_bytes(x->dtype) > 4 || x->dtype == TC_U32))
        return tc_graph_node_fail(c, "it takes i8, u8, i16, u16, i32 and floats of a byte or less, but the input is %s",
                                  tc_dtype_name(x->dtype));
    TC_TRY(spread_parameters(c, p));
    if (floats)
        return dequantize_floats(c, p, to);
    tc_graph_set_inputs(c->g, c->n, p, p[2] && is_zero(p[2]) ? 2 : 3);
    tc_graph_become(c, TC_GRAPH_OP_DEQUANTIZE_LINEAR, 3);
    c->out[0] = tc_graph_like(c, 0);
    c->out[0].dtype = to;
    for (int k = 1; k < c->n->nin; k++)
        tc_graph_take_onto(c, &c->out[0], k, 0);
    return TC_OK;
}

/* ---- lowering ---- */

/* QuantizeLinear and DequantizeLinear, elementwise: their parameters broadcast. The division is a true one, because a product
 * with the reciprocal rounds differently at the ties. */

static const tc_expr *operand(tc_graph_lower *l, const tc_graph_node *n, int k, const tc_expr *const *idx, tc_dtype as) {
    return tc_cast(tc_graph_lower_ctx(l), as, tc_graph_operand(l, n, k, n->out[0]->shape.ndim, idx));
}

static bool is_one(const tc_expr *e) {
    return e->op == TC_OP_FLOAT && e->u.f == 1;
}

/* The integer that e stands for as a float, when it was one before it was stored in a byte: what `at_quantize` makes. */
static const tc_expr *before_stored(const tc_expr *e) {
    const tc_expr *wide = e->op == TC_OP_CAST && e->args[0]->op == TC_OP_CAST ? e->args[0] : NULL;
    const tc_expr *x = wide && wide->dtype == TC_I32 ? wide->args[0] : NULL;
    bool clamped = x && x->dtype == TC_F32 && x->op == TC_OP_MIN && x->args[0]->op == TC_OP_MAX;
    return clamped && x->args[0]->args[0]->op != TC_OP_FLOAT ? x : NULL;
}

const tc_expr *tc_graph_at_quantize(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    tc_ctx *c = tc_graph_lower_ctx(l);
    tc_dtype to = n->out[out]->dtype;
    bool is_signed = tc_dtype_is_signed(to);
    int bits = 8 * tc_dtype_bytes(to);
    const tc_expr *q = operand(l, n, 0, idx, TC_F32), *scale = operand(l, n, 1, idx, TC_F32);
    if (!is_one(scale))
        q = tc_div(c, q, scale);
    q = tc_un(c, TC_OP_ROUND, q);
    if (n->nin > 2)
        q = tc_add(c, q, operand(l, n, 2, idx, TC_F32));
    double low = is_signed ? -ldexp(1, bits - 1) : 0, high = ldexp(1, is_signed ? bits - 1 : bits) - 1;
    q = tc_bin(c, TC_OP_MIN, tc_bin(c, TC_OP_MAX, q, tc_imm(c, TC_F32, low)), tc_imm(c, TC_F32, high));
    return tc_cast(c, to, tc_cast(c, TC_I32, q));
}

const tc_expr *tc_graph_at_dequantize(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    tc_ctx *c = tc_graph_lower_ctx(l);
    tc_dtype to = n->out[out]->dtype, t = tc_graph_wide(to);
    const tc_expr *stored = tc_graph_operand(l, n, 0, n->out[0]->shape.ndim, idx);
    const tc_expr *whole = t == TC_F32 && tc_dtype_bytes(n->in[0]->dtype) == 1 ? before_stored(stored) : NULL;
    const tc_expr *q = whole ? whole : tc_cast(c, TC_I32, stored);
    if (n->nin > 2)
        q = tc_sub(c, q, operand(l, n, 2, idx, whole ? TC_F32 : TC_I32));
    return tc_cast(c, to, tc_mul(c, tc_cast(c, t, q), operand(l, n, 1, idx, t)));
}
