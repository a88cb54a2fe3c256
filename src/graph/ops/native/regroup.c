/* Regrouped: what inference leaves of a reshape across dimensions whose sizes vary. In memory, where values are dense in the sizes
 * of a run, nothing moves. Here an element keeps its number among the elements of the dimensions that change:
 *
 *   y[i, j] of sizes (a, b)   =   x[n / d, n % d] of sizes (c, d),   with n = i * b + j */
#include <string.h>

#include "graph/ops/functions.h"

enum { X, SIZES };

tc_status tc_graph_infer_regrouped(tc_graph_infer_ctx *c) {
    size_t len;
    const int64_t *shape = tc_graph_attr_shape(c->n, &len);
    c->out[0] = (tc_graph_type){.dtype = c->n->in[X]->dtype, .shape = {.ndim = (int)len}};
    memcpy(c->out[0].shape.d, shape, len * sizeof *shape);
    return TC_OK;
}

/* The sizes of the node as numbers. True: they show that a number below the product is that of an element of x. Sizes that are read
 * from memory do not show it, nor does a product that is a symbol of its own. */
static bool read_sizes(tc_graph_lower *l, const tc_graph_node *n, int npair, const tc_expr **size) {
    bool shown = true;
    for (int k = SIZES; k < n->nin; k++) {
        size[k] = tc_graph_size_at(l, n->in[k]);
        shown &= !tc_expr_touches_memory(size[k]);
    }
    for (int k = SIZES; k < SIZES + 2 * npair; k += 2)
        shown &= !(tc_expr_is_symbol(size[k]) && !size[k]->u.var->value && tc_expr_is_symbol(size[k + 1]));
    return shown;
}

static const tc_expr *both(tc_ctx *c, const tc_expr *a, const tc_expr *size, const tc_expr *i) {
    return tc_bin(c, TC_OP_AND, a, tc_bin(c, TC_OP_GT, size, i));
}

const tc_expr *tc_graph_at_regrouped(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    (void)out;
    tc_ctx *c = tc_graph_lower_ctx(l);
    const tc_graph_shape *x = &n->in[X]->shape;
    size_t len;
    const int64_t *axes = tc_graph_attr_axes(n, &len);
    int first = (int)axes[0], end = (int)axes[1], out_end = (int)axes[2], npair = TC_MAX(end - first - 1, 0);
    const tc_expr *size[SIZES + 3 * TC_GRAPH_MAX_DIMS], *at[TC_GRAPH_MAX_DIMS], *none = tc_imm(c, n->in[X]->dtype, 0);
    bool shown = read_sizes(l, n, npair, size);
    const tc_expr *number = first < out_end ? idx[first] : tc_i64(c, 0), *inside = tc_imm(c, TC_BOOL, 1);
    for (int d = first + 1, k = SIZES + (npair ? 2 * npair : 1); d < out_end; d++, k++) {
        inside = both(c, inside, size[k], idx[d]);
        number = tc_add(c, tc_mul(c, number, size[k]), idx[d]);
    }
    for (int d = 0; d < x->ndim; d++)
        at[d] = d < first ? idx[d] : d < end ? NULL : idx[d - end + out_end];
    for (int d = end - 1; d > first; d--) {
        const tc_expr *const *pair = &size[SIZES + 2 * (d - first - 1)];
        inside = both(c, inside, pair[0], number);
        at[d] = tc_graph_index_within(l, tc_mod(c, number, pair[1]), x->d[d], shown);
        number = tc_div(c, number, pair[1]);
    }
    if (!npair)
        inside = both(c, inside, size[SIZES], number);
    if (first < end)
        at[first] = tc_graph_index_within(l, number, x->d[first], shown);
    return tc_graph_shape_count(x) ? tc_select(c, inside, tc_graph_value_at(l, n->in[X], at), none) : none;
}
