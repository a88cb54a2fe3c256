/* QuantizeLinear and DequantizeLinear. Their texts (src/graph/ir/expansions.txt) bring scales and zero points into the shape that
 * broadcasts against what they belong to, so that both are elementwise. Other quantised operators are written in terms of them and of
 * contractions of i32. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "graph/ops/functions.h"

/* ---- inference ---- */

static bool is_zero(const tc_graph_value *v) {
    for (int64_t i = 0, n = v->constant ? tc_graph_shape_count(&v->shape) : 0; i < n; i++)
        if ((tc_dtype_is_float(v->dtype) ? tc_load_f(v->dtype, v->constant->data, i)
                                         : (double)tc_load_i(v->dtype, v->constant->data, i)) != 0)
            return false;
    return v->constant;
}

/* Elements of x, of the operands as the text leaves them. A zero point that is known to be 0 goes. */
static tc_status become_elementwise(tc_graph_infer_ctx *c, tc_dtype t) {
    const tc_graph_value *zero = tc_graph_in(c, 2);
    tc_graph_become(c, c->n->op, zero && is_zero(zero) ? 2 : 3);
    c->out[0] = tc_graph_like(c, 0);
    c->out[0].dtype = t;
    for (int k = 1; k < c->n->nin; k++)
        tc_graph_take_onto(c, &c->out[0], k, 0);
    return TC_OK;
}

tc_status tc_graph_infer_quantize(tc_graph_infer_ctx *c) {
    int64_t code = tc_graph_attr_output_dtype(c->n);
    tc_dtype t = TC_U8;
    if (tc_graph_in(c, 2))
        t = c->n->in[2]->dtype;
    else if (code)
        TC_TRY(tc_graph_want_element_type(c, "output_dtype", code, &t));
    TC_TRY(become_elementwise(c, t));
    tc_graph_set_output_dtype(c->g, c->n, tc_graph_dtype_to_onnx(t)); /* also without a zero point that says it */
    return TC_OK;
}

tc_status tc_graph_infer_dequantize(tc_graph_infer_ctx *c) {
    int64_t code = tc_graph_attr_output_dtype(c->n);
    tc_dtype to = c->n->in[1]->dtype;
    if (code)
        TC_TRY(tc_graph_want_element_type(c, "output_dtype", code, &to));
    return become_elementwise(c, to);
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
