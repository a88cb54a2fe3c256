/* MatMul and Gemm. Lowered, f16 and bf16 accumulate in f32. */
#include "graph/ops/functions.h"

#include <math.h>
#include <stdlib.h>

#include "graph/ir/build.h"

/* ---- inference ---- */

/* MatMul of vectors: [K] becomes [1,K] on the left, [K,1] on the right, and the result loses that dimension again. */
static tc_status matmul_vectors(tc_graph_infer_ctx *c) {
    tc_graph_value *a = c->n->in[0], *b = c->n->in[1], *wide[2];
    bool va = a->shape.ndim == 1, vb = b->shape.ndim == 1;
    tc_graph_shape sa = va ? (tc_graph_shape){2, {1, a->shape.d[0]}} : a->shape;
    tc_graph_shape sb = vb ? (tc_graph_shape){2, {b->shape.d[0], 1}} : b->shape;
    TC_TRY(tc_graph_emit_reshape(c, a, &sa, &wide[0]));
    TC_TRY(tc_graph_emit_reshape(c, b, &sb, &wide[1]));
    tc_graph_value *y;
    TC_TRY(tc_graph_emit(c, tc_graph_emit_node(c, TC_GRAPH_OP_MATMUL, wide, 2), &y));
    tc_graph_shape s = {0};
    for (int i = 0; i < y->shape.ndim; i++)
        if (!(va && i == y->shape.ndim - 2) && !(vb && i == y->shape.ndim - 1))
            s.d[s.ndim++] = y->shape.d[i];
    tc_graph_set_inputs(c->g, c->n, &y, 1);
    c->out[0].shape = s;
    tc_graph_become_reshape(c);
    return TC_OK;
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
    tc_graph_shape ba = a->shape, bb = b->shape, s;
    ba.ndim -= 2;
    bb.ndim -= 2;
    TC_TRY(tc_graph_want_broadcast(c, &ba, &bb, &s));
    s.d[s.ndim++] = a->shape.d[na - 2];
    s.d[s.ndim++] = b->shape.d[nb - 1];
    c->out[0] = (tc_graph_type){a->dtype, s};
    return TC_OK;
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
    tc_graph_shape s = {2, {a->shape.d[ta], b->shape.d[!tb]}}, with_bias = s;
    if (a->shape.d[!ta] != b->shape.d[tb])
        return tc_graph_node_fail(c, "the inner dimensions of %s and %s differ (transA %d, transB %d)",
                                  tc_graph_type_str(c->g->arena, a->dtype, &a->shape),
                                  tc_graph_type_str(c->g->arena, b->dtype, &b->shape), ta, tb);
    TC_TRY(want_whole_factors(c));
    if (bias && (!tc_graph_shape_broadcast(&s, &bias->shape, &with_bias) || !tc_graph_shape_equal(&s, &with_bias)))
        return tc_graph_node_fail(c, "the addend '%s' does not broadcast to the result", bias->name);
    tc_graph_set_alpha(c->g, n, tc_graph_attr_alpha(n));
    tc_graph_set_beta(c->g, n, tc_graph_attr_beta(n));
    tc_graph_set_trans_a(c->g, n, ta);
    tc_graph_set_trans_b(c->g, n, tb);
    tc_graph_drop_attr(n, TC_ATTR_broadcast);
    c->out[0] = (tc_graph_type){a->dtype, s};
    return TC_OK;
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
        const tc_expr *k = tc_graph_stage_reduce(l, &s, depth);
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
        const tc_expr *k = tc_graph_stage_reduce(l, &s, depth);
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

/* ---- sizes that depend on data ---- */

tc_status tc_graph_rewrite_matmul(tc_graph_emitter *e) {
    tc_graph_value *a = e->c->n->in[0], *b = e->c->n->in[1];
    int na = a->shape.ndim, nb = b->shape.ndim;
    if (na < 1 || nb < 1)
        return TC_OK; /* inference refuses it */
    TC_TRY(tc_graph_meet(e, a, na - 1, b, nb > 1 ? nb - 2 : 0, false));
    return tc_graph_meet_broadcast(e, a, b, 2);
}

tc_status tc_graph_rewrite_gemm(tc_graph_emitter *e) {
    const tc_graph_node *n = e->c->n;
    int ta = tc_graph_attr_trans_a(n) != 0, tb = tc_graph_attr_trans_b(n) != 0;
    if (n->in[0]->shape.ndim != 2 || n->in[1]->shape.ndim != 2)
        return TC_OK;
    TC_TRY(tc_graph_meet(e, n->in[0], !ta, n->in[1], tb, false));
    tc_graph_value *addend = n->nin > 2 ? n->in[2] : NULL;
    for (int k = 0; addend && k < 2 && k < addend->shape.ndim; k++) /* its last dimension is the result's, which operand 1 has */
        TC_TRY(tc_graph_meet(e, n->in[1 - k], k ? ta : !tb, addend, addend->shape.ndim - 1 - k, true));
    return TC_OK;
}

static void mask_contracted(tc_graph_emitter *e, int k, int d) {
    if (tc_graph_in_extent(e, k, d))
        e->c->n->in[k] = tc_graph_em_masked(e, e->c->n->in[k], d, tc_graph_em_scalar(e, e->c->n->in[k]->dtype, 0));
}

tc_status tc_graph_sizes_matmul(tc_graph_emitter *e) {
    const tc_graph_shape *a = &e->c->n->in[0]->shape, *b = &e->c->n->in[1]->shape;
    tc_graph_type *out = &e->c->out[0];
    int na = a->ndim, nb = b->ndim, batch = TC_MAX(na, nb) - 2;
    if (na < 2 || nb < 2) {
        TC_TRY(tc_graph_dynamic_refuse_any(e, 0, na < 2 ? 0 : na, na));
        TC_TRY(tc_graph_dynamic_refuse_any(e, 1, 0, nb));
        for (int d = 0; d < na - 1; d++)
            e->c->extent[0][d] = tc_graph_in_extent(e, 0, d);
    }
    for (int k = 0; k < 2 && batch >= 0 && na >= 2 && nb >= 2; k++)
        for (int d = 0, n = k ? nb : na; d < n - 2; d++) {
            int to = d + batch - (n - 2);
            if (tc_graph_in_extent(e, k, d) && e->c->n->in[k]->shape.d[d] != out->shape.d[to])
                return tc_graph_dynamic_refuse(e->c, k, d);
            if (tc_graph_in_extent(e, k, d))
                e->c->extent[0][to] = tc_graph_in_extent(e, k, d);
        }
    if (na >= 2 && nb >= 2) {
        e->c->extent[0][batch] = tc_graph_in_extent(e, 0, na - 2);
        e->c->extent[0][batch + 1] = tc_graph_in_extent(e, 1, nb - 1);
    }
    bool either = tc_graph_in_extent(e, 0, na - 1) || (nb >= 2 && tc_graph_in_extent(e, 1, nb - 2));
    mask_contracted(e, 0, na - 1);
    if (nb >= 2)
        mask_contracted(e, 1, nb - 2);
    if (either && !(tc_graph_in_extent(e, 0, na - 1) && nb >= 2 && tc_graph_in_extent(e, 1, nb - 2)))
        return tc_graph_dynamic_refuse(e->c, tc_graph_in_extent(e, 0, na - 1) ? 0 : 1,
                                       tc_graph_in_extent(e, 0, na - 1) ? na - 1 : nb - 2);
    return e->status;
}

tc_status tc_graph_sizes_gemm(tc_graph_emitter *e) {
    int ta = tc_graph_attr_trans_a(e->c->n) != 0, tb = tc_graph_attr_trans_b(e->c->n) != 0;
    e->c->extent[0][0] = tc_graph_in_extent(e, 0, ta);
    e->c->extent[0][1] = tc_graph_in_extent(e, 1, !tb);
    if (!tc_graph_in_extent(e, 0, !ta) || !tc_graph_in_extent(e, 1, tb)) {
        TC_TRY(tc_graph_dynamic_refuse_any(e, 0, !ta, !ta + 1));
        TC_TRY(tc_graph_dynamic_refuse_any(e, 1, tb, tb + 1));
    }
    mask_contracted(e, 0, !ta);
    mask_contracted(e, 1, tb);
    return e->status;
}
