/* What inference leaves of operators along dimensions whose sizes vary: masks, concatenations, slices. */
#include <string.h>

#include "graph/ops/functions.h"

/* ---- Masked ---- */

enum { X, SIZE, FILL };

tc_status tc_graph_infer_masked(tc_graph_infer_ctx *c) {
    const tc_graph_value *x = c->n->in[X];
    c->out[0] = (tc_graph_type){.dtype = x->dtype, .shape = x->shape};
    return TC_OK;
}

const tc_expr *tc_graph_at_masked(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    (void)out;
    tc_ctx *c = tc_graph_lower_ctx(l);
    int axis = (int)tc_graph_attr_axis(n);
    const tc_graph_value *size = n->in[SIZE];
    const tc_expr *end = size->shape.ndim ? tc_graph_value_at(l, size, idx) : tc_graph_size_at(l, size);
    const tc_expr *inside = tc_bin(c, TC_OP_LT, idx[axis], end);
    return tc_select(c, inside, tc_graph_value_at(l, n->in[X], idx), tc_graph_value_at(l, n->in[FILL], NULL));
}

/* ---- Appended, and Grown, which is as large as the past ---- */

enum { PAST, NEW, STARTS, PAST_ROWS, NEW_ROWS };

tc_status tc_graph_infer_appended(tc_graph_infer_ctx *c) {
    size_t len;
    const int64_t *most = tc_graph_attr_shape(c->n, &len);
    TC_TRY(tc_graph_want_same_type(c, PAST, NEW));
    c->out[0] = (tc_graph_type){.dtype = c->n->in[PAST]->dtype, .shape = c->n->in[PAST]->shape};
    if (most)
        c->out[0].shape.d[tc_graph_attr_axis(c->n)] = most[0];
    return TC_OK;
}

/* Row i of operand k; past its rows `behind` (NULL: zero), unless `inside` says that i is no such row. */
static const tc_expr *row_at(tc_graph_lower *l, const tc_graph_node *n, int k, const tc_expr *i, bool inside,
                             const tc_expr *behind, const tc_expr *const *idx) {
    tc_ctx *c = tc_graph_lower_ctx(l);
    int axis = (int)tc_graph_attr_axis(n);
    int64_t room = n->in[k]->shape.d[axis];
    const tc_expr *rows = tc_graph_size_at(l, n->in[PAST_ROWS + k]), *none = behind ? behind : tc_imm(c, n->in[k]->dtype, 0),
                  *at[TC_GRAPH_MAX_DIMS];
    memcpy(at, idx, sizeof *at * (size_t)n->in[k]->shape.ndim);
    const tc_expr *most = tc_te_bounds(rows, NULL).lo > 0 ? rows : tc_i64(c, room); /* no index is -1 */
    at[axis] = i;
    if (tc_expr_touches_memory(i) || tc_expr_touches_memory(rows))
        at[axis] = tc_graph_index(l, tc_bin(c, TC_OP_MIN, tc_bin(c, TC_OP_MAX, i, tc_i64(c, 0)), tc_sub(c, most, tc_i64(c, 1))));
    if (room == 0)
        return none;
    const tc_expr *x = tc_graph_value_at(l, n->in[k], at);
    return inside ? x : tc_select(c, tc_bin(c, TC_OP_GT, rows, i), x, none);
}

const tc_expr *tc_graph_at_appended(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    (void)out;
    tc_ctx *c = tc_graph_lower_ctx(l);
    const tc_graph_value *starts = n->in[STARTS];
    const tc_expr *i = idx[tc_graph_attr_axis(n)];
    const tc_expr *start = starts->shape.ndim ? tc_graph_value_at(l, starts, idx) : tc_graph_size_at(l, starts);
    const tc_expr *past = row_at(l, n, PAST, i, starts == n->in[PAST_ROWS], NULL, idx);
    const tc_expr *behind = tc_graph_attr_past_present_share_buffer(n) ? past : NULL;
    return tc_select(c, tc_bin(c, TC_OP_GT, start, i), past, row_at(l, n, NEW, tc_sub(c, i, start), false, behind, idx));
}

/* ---- Shifted ---- */

const tc_expr *tc_graph_index_within(tc_graph_lower *l, const tc_expr *i, int64_t n, bool of_symbols) {
    tc_ctx *c = tc_graph_lower_ctx(l);
    return of_symbols ? i : tc_bin(c, TC_OP_MIN, tc_bin(c, TC_OP_MAX, i, tc_i64(c, 0)), tc_i64(c, n - 1));
}

enum { START = 1 };

tc_status tc_graph_infer_shifted(tc_graph_infer_ctx *c) {
    c->out[0] = (tc_graph_type){.dtype = c->n->in[X]->dtype, .shape = c->n->in[X]->shape};
    return TC_OK;
}

const tc_expr *tc_graph_at_shifted(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    (void)out;
    int axis = (int)tc_graph_attr_axis(n);
    const tc_expr *at[TC_GRAPH_MAX_DIMS], *i = tc_add(tc_graph_lower_ctx(l), idx[axis], tc_graph_size_at(l, n->in[START]));
    memcpy(at, idx, sizeof *at * (size_t)n->in[X]->shape.ndim);
    at[axis] = tc_graph_index(l, tc_graph_index_within(l, i, n->in[X]->shape.d[axis], false));
    return tc_graph_value_at(l, n->in[X], at);
}
