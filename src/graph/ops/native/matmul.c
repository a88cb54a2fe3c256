/* MatMul and Gemm. Lowered, f16 and bf16 accumulate in f32. */
#include "graph/ops/functions.h"

#include <math.h>
#include <stdlib.h>

#include "graph/ir/build.h"

/* ---- inference ---- */

/* MatMul of vectors: [K] becomes [1,K] on the left, [K,1] on the right, and the result loses that dimension again. */
static tc_status matmul_vectors(tc_graph_infer_ctx *c) {
    tc_graph_emitter e = {c, TC_OK};
    tc_graph_value *a = c->n->in[0], *b = c->n->in[1];
    bool va = a->shape.ndim == 1, vb = b->shape.ndim == 1;
    a = va ? tc_graph_em_one(&e, TC_GRAPH_OP_UNSQUEEZE, a, 0) : a;
    b = vb ? tc_graph_em_one(&e, TC_GRAPH_OP_UNSQUEEZE, b, 1) : b;
    tc_graph_value *y = tc_graph_em_op(&e, TC_GRAPH_OP_MATMUL, a, b);
    y = va ? tc_graph_em_one(&e, TC_GRAPH_OP_SQUEEZE, y, -2) : y;
    y = vb ? tc_graph_em_one(&e, TC_GRAPH_OP_SQUEEZE, y, -1) : y;
    return tc_graph_em_finish(&e, y);
}

tc_status tc_graph_infer_matmul(tc_graph_infer_ctx *c) {
    const tc_graph_value *a = c->n->in[0], *b = c->n->in[1];
    TC_TRY(tc_graph_want_same_type(c, 0, 1));
    TC_TRY(tc_graph_want_number(c, 0));
    if (a->shape.ndim < 1 || b->shape.ndim < 1)
        return tc_graph_node_fail(c, "its operands must have at least one dimension");
    if (a->shape.ndim == 1 || b->shape.ndim == 1)
        return matmul_vectors(c);
    int na = a->shape.ndim, nb = b->shape.ndim;
    if (a->shape.d[na - 1] != b->shape.d[nb - 2])
        return tc_graph_node_fail(c, "the inner dimensions of %s and %s differ",
                                  tc_graph_type_str(c->g->arena, a->dtype, &a->shape),
                                  tc_graph_type_str(c->g->arena, b->dtype, &b->shape));
    c->out[0].dtype = a->dtype;
    TC_TRY(tc_graph_take_broadcast(c, &c->out[0], 2, 2));
    tc_graph_take(c, &c->out[0], 0, na - 2, na - 1);
    tc_graph_take(c, &c->out[0], 1, nb - 1, nb);
    return tc_graph_contract(c, na - 1, nb - 2);
}

/* Integers are multiplied by integers. */
static tc_status want_whole_factors(tc_graph_infer_ctx *c) {
    double alpha = tc_graph_attr_alpha(c->n), beta = tc_graph_attr_beta(c->n);
    bool whole = fabs(alpha) <= INT32_MAX && alpha == trunc(alpha) && fabs(beta) <= INT32_MAX && beta == trunc(beta);
    if (tc_dtype_is_float(c->n->in[0]->dtype) || whole)
        return TC_OK;
    return tc_graph_node_refuse(c, TC_ERROR_UNSUPPORTED,
                                "attributes alpha (%g) and beta (%g) must be whole numbers where the operands are %s", alpha,
                                beta, tc_dtype_name(c->n->in[0]->dtype));
}

tc_status tc_graph_infer_gemm(tc_graph_infer_ctx *c) {
    const tc_graph_value *a = c->n->in[0], *b = c->n->in[1], *bias = tc_graph_in(c, 2);
    tc_graph_node *n = c->n;
    TC_TRY(tc_graph_want_same_type(c, 0, 1));
    TC_TRY(tc_graph_want_same_type(c, 0, 2));
    TC_TRY(tc_graph_want_number(c, 0));
    if (a->shape.ndim != 2 || b->shape.ndim != 2)
        return tc_graph_node_fail(c, "its operands must have 2 dimensions, but have %d and %d", a->shape.ndim, b->shape.ndim);
    bool ta = tc_graph_attr_trans_a(n), tb = tc_graph_attr_trans_b(n);
    if (a->shape.d[!ta] != b->shape.d[tb])
        return tc_graph_node_fail(c, "the inner dimensions of %s and %s differ (transA %d, transB %d)",
                                  tc_graph_type_str(c->g->arena, a->dtype, &a->shape),
                                  tc_graph_type_str(c->g->arena, b->dtype, &b->shape), ta, tb);
    TC_TRY(want_whole_factors(c));
    c->out[0].dtype = a->dtype;
    tc_graph_take(c, &c->out[0], 0, ta, ta + 1);
    tc_graph_take(c, &c->out[0], 1, !tb, !tb + 1);
    tc_graph_shape *s = &c->out[0].shape, with_bias;
    if (bias && (!tc_graph_shape_broadcast(s, &bias->shape, &with_bias) || !tc_graph_shape_equal(s, &with_bias)))
        return tc_graph_node_fail(c, "the addend '%s' does not broadcast to the result", bias->name);
    tc_graph_set_alpha(c->g, n, tc_graph_attr_alpha(n));
    tc_graph_set_beta(c->g, n, tc_graph_attr_beta(n));
    tc_graph_set_trans_a(c->g, n, ta);
    tc_graph_set_trans_b(c->g, n, tb);
    tc_graph_drop_attr(n, TC_ATTR_broadcast);
    if (bias)
        tc_graph_take_onto(c, &c->out[0], 2, 0);
    return tc_graph_contract(c, !ta, tb);
}

/* ---- lowering ---- */

static const tc_expr *product(tc_ctx *c, tc_dtype t, const tc_expr *a, const tc_expr *b) {
    return tc_mul(c, tc_cast(c, t, a), tc_cast(c, t, b));
}

/* Coordinates of operand k of a MatMul: its batch dimensions broadcast, then `row`, `column`. */
static const tc_expr *matrix_at(tc_graph_lower *l, const tc_graph_node *n, int k, const tc_expr *const *batch, const tc_expr *row,
                                const tc_expr *column) {
    const tc_graph_shape *s = &n->in[k]->shape;
    int nbatch = n->out[0]->shape.ndim - 2, skip = nbatch - (s->ndim - 2);
    const tc_expr *at[TC_GRAPH_MAX_DIMS];
    for (int d = 0; d < s->ndim - 2; d++)
        at[d] = s->d[d] == 1 ? tc_i64(tc_graph_lower_ctx(l), 0) : batch[d + skip];
    at[s->ndim - 2] = row;
    at[s->ndim - 1] = column;
    return tc_graph_value_at(l, n->in[k], at);
}

const tc_expr *tc_graph_at_matmul(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    tc_ctx *c = tc_graph_lower_ctx(l);
    const tc_graph_shape *a = &n->in[0]->shape;
    tc_dtype to = n->out[out]->dtype, t = tc_graph_wide(to);
    int64_t depth = a->d[a->ndim - 1];
    if (depth == 0)
        return tc_imm(c, to, 0);
    tc_graph_stage s;
    if (tc_graph_stage_begin(l, n, 0, &n->out[out]->shape, &s)) {
        int row = s.shape.ndim - 2;
        const tc_expr *k = tc_graph_stage_walk(l, &s, 0, n->in[0]->shape.ndim - 1);
        const tc_expr *body = product(c, t, matrix_at(l, n, 0, s.at, s.at[row], k), matrix_at(l, n, 1, s.at, k, s.at[row + 1]));
        tc_graph_stage_end(l, &s, TC_RED_SUM, 1, &body);
    }
    return tc_cast(c, to, tc_graph_stage_read(l, &s, 0, idx));
}

static const tc_expr *gemm_operand(tc_graph_lower *l, const tc_graph_node *n, int k, bool transposed, const tc_expr *row,
                                   const tc_expr *column) {
    const tc_expr *at[] = {transposed ? column : row, transposed ? row : column};
    return tc_graph_value_at(l, n->in[k], at);
}

static const tc_expr *times(tc_ctx *c, const tc_expr *x, double by) {
    bool is_float = tc_dtype_is_float(x->dtype);
    return by == 1 ? x : tc_mul(c, x, is_float ? tc_float(c, x->dtype, by) : tc_int(c, x->dtype, (int64_t)by));
}

/* alpha * a b + beta * bias: the sum is the stage, the rest its epilogue */
const tc_expr *tc_graph_at_gemm(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    tc_ctx *c = tc_graph_lower_ctx(l);
    bool trans_a = tc_graph_attr_trans_a(n), trans_b = tc_graph_attr_trans_b(n);
    double alpha = tc_graph_attr_alpha(n), beta = tc_graph_attr_beta(n);
    tc_dtype to = n->out[out]->dtype, t = tc_graph_wide(to);
    int64_t depth = n->in[0]->shape.d[trans_a ? 0 : 1];
    const tc_expr *y = tc_imm(c, t, 0);
    tc_graph_stage s;
    if (depth > 0 && tc_graph_stage_begin(l, n, 0, &n->out[out]->shape, &s)) {
        const tc_expr *k = tc_graph_stage_walk(l, &s, 0, !trans_a);
        const tc_expr *body =
            product(c, t, gemm_operand(l, n, 0, trans_a, s.at[0], k), gemm_operand(l, n, 1, trans_b, k, s.at[1]));
        tc_graph_stage_end(l, &s, TC_RED_SUM, 1, &body);
    }
    if (depth > 0)
        y = times(c, tc_graph_stage_read(l, &s, 0, idx), alpha);
    if (n->nin > 2 && n->in[2])
        y = tc_add(c, y, times(c, tc_cast(c, t, tc_graph_operand(l, n, 2, 2, idx)), beta));
    return tc_cast(c, to, y);
}
