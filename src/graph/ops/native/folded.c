/* What inference leaves of reshapes across dimensions whose sizes vary: two of them as one, and one as two. In memory, where
 * values are dense in the sizes of a run, that is the same: element (i, j) of dimensions (outer, inner) is element i * inner + j
 * of the one. */
#include <string.h>

#include "graph/ops/functions.h"

enum { X, INNER, BOTH };

tc_status tc_graph_infer_folded(tc_graph_infer_ctx *c) {
    const tc_graph_shape *s = &c->n->in[X]->shape;
    int axis = (int)tc_graph_attr_axis(c->n);
    c->out[0] = (tc_graph_type){.dtype = c->n->in[X]->dtype, .shape = {.ndim = s->ndim - 1}};
    for (int d = 0; d < s->ndim - 1; d++)
        c->out[0].shape.d[d] = d < axis ? s->d[d] : d == axis ? s->d[d] * s->d[d + 1] : s->d[d + 1];
    return TC_OK;
}

tc_status tc_graph_infer_unfolded(tc_graph_infer_ctx *c) {
    const tc_graph_shape *s = &c->n->in[X]->shape;
    int axis = (int)tc_graph_attr_axis(c->n);
    size_t len;
    const int64_t *pair = tc_graph_attr_shape(c->n, &len);
    c->out[0] = (tc_graph_type){.dtype = c->n->in[X]->dtype, .shape = {.ndim = s->ndim + 1}};
    for (int d = 0; d <= s->ndim; d++)
        c->out[0].shape.d[d] = d < axis ? s->d[d] : d < axis + 2 ? pair[d - axis] : s->d[d - 1];
    return TC_OK;
}

static const tc_expr *read_inside(tc_graph_lower *l, const tc_graph_node *n, const tc_expr *inside, const tc_expr *const *at) {
    tc_ctx *c = tc_graph_lower_ctx(l);
    const tc_expr *none = tc_imm(c, n->in[X]->dtype, 0);
    return tc_graph_shape_count(&n->in[X]->shape) ? tc_select(c, inside, tc_graph_value_at(l, n->in[X], at), none) : none;
}

/* Indices are within what there is: sizes that are symbols say so, but for two of which nobody knows that one is made of the
 * other. */
static bool say_all(const tc_expr *inner, const tc_expr *both) {
    bool apart = tc_expr_is_symbol(inner) && tc_expr_is_symbol(both) && !both->u.var->value;
    return !tc_expr_touches_memory(inner) && !tc_expr_touches_memory(both) && !apart;
}

const tc_expr *tc_graph_at_folded(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    (void)out;
    tc_ctx *c = tc_graph_lower_ctx(l);
    int axis = (int)tc_graph_attr_axis(n);
    const tc_expr *inner = tc_graph_size_at(l, n->in[INNER]), *both = tc_graph_size_at(l, n->in[BOTH]), *i = idx[axis],
                  *at[TC_GRAPH_MAX_DIMS];
    bool symbols = say_all(inner, both);
    for (int d = 0; d < n->in[X]->shape.ndim; d++)
        at[d] = d < axis ? idx[d] : d > axis + 1 ? idx[d - 1] : NULL;
    at[axis] = tc_graph_index_within(l, tc_div(c, i, inner), n->in[X]->shape.d[axis], symbols);
    at[axis + 1] = tc_graph_index_within(l, tc_mod(c, i, inner), n->in[X]->shape.d[axis + 1], symbols);
    return read_inside(l, n, tc_bin(c, TC_OP_GT, both, i), at);
}

const tc_expr *tc_graph_at_unfolded(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    (void)out;
    tc_ctx *c = tc_graph_lower_ctx(l);
    int axis = (int)tc_graph_attr_axis(n);
    const tc_expr *inner = tc_graph_size_at(l, n->in[INNER]), *both = tc_graph_size_at(l, n->in[BOTH]), *j = idx[axis + 1],
                  *i = tc_add(c, tc_mul(c, idx[axis], inner), j), *at[TC_GRAPH_MAX_DIMS];
    bool symbols = say_all(inner, both);
    for (int d = 0; d < n->in[X]->shape.ndim; d++)
        at[d] = d < axis ? idx[d] : idx[d + 1];
    at[axis] = tc_graph_index_within(l, i, n->in[X]->shape.d[axis], symbols);
    return read_inside(l, n, tc_bin(c, TC_OP_AND, tc_bin(c, TC_OP_GT, inner, j), tc_bin(c, TC_OP_GT, both, i)), at);
}
