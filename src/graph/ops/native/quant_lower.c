/* QuantizeLinear and DequantizeLinear, elementwise: their parameters broadcast. The division is a true one, because a product
 * with the reciprocal rounds differently at the ties. */
#include "graph/ops/functions.h"

#include <math.h>

static const tc_expr *operand(tc_graph_lower *l, const tc_graph_node *n, int k, const tc_expr *const *idx, tc_dtype as) {
    return tc_cast(tc_graph_lower_ctx(l), as, tc_graph_operand(l, n, k, n->out[0]->shape.ndim, idx));
}

const tc_expr *tc_graph_at_quantize(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    tc_ctx *c = tc_graph_lower_ctx(l);
    tc_dtype to = n->out[out]->dtype;
    bool is_signed = tc_dtype_is_signed(to);
    int bits = 8 * tc_dtype_bytes(to);
    const tc_expr *q = tc_div(c, operand(l, n, 0, idx, TC_F32), operand(l, n, 1, idx, TC_F32));
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
    const tc_expr *q = operand(l, n, 0, idx, TC_I32);
    if (n->nin > 2)
        q = tc_sub(c, q, operand(l, n, 2, idx, TC_I32));
    return tc_cast(c, to, tc_mul(c, tc_cast(c, t, q), operand(l, n, 1, idx, t)));
}
