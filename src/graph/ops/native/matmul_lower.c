/* Contractions. f16 and bf16 accumulate in f32. */
#include "graph/ops/functions.h"

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
    return by == 1 ? x : tc_mul(c, x, tc_imm(c, x->dtype, by));
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
