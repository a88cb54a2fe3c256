/* Lets nodes that only move or select values work on the quantised values. It also removes a quantisation that restores the
 * integers before a dequantisation.
 *
 *   y = MaxPool(DQ(q))              =>   y = DQ(MaxPool(q))     also Reshape, Transpose, Slice, Concat of one scale, Pad with 0
 *   y = Q(DQ(q, s, z), s, z)        =>   y = q
 *
 * Both rules are exact. A dequantisation by one positive scale keeps the order of values, and its zero point stands for 0. */
#include <string.h>

#include "graph/ir/build.h"
#include "graph/passes/quantised.h"

/* The node that dequantises v by one scale. */
static tc_graph_node *dequantised(const tc_graph_value *v) {
    float scale;
    int64_t zero;
    tc_graph_node *n = tc_graph_dequantisation_of(v);
    return n && tc_graph_is_narrow(n->in[0]) && tc_graph_one_scale(n, &scale, &zero) ? n : NULL;
}

static bool scales_equal(const tc_graph_node *a, const tc_graph_node *b) {
    float x, y;
    int64_t p, q;
    return tc_graph_one_scale(a, &x, &p) && tc_graph_one_scale(b, &y, &q) && x == y && p == q &&
           a->in[0]->dtype == b->in[0]->dtype;
}

/* y becomes in[0] dequantised by the other operands. */
static void dequantise(tc_graph *g, tc_graph_value *const *in, int nin, tc_graph_value *y) {
    tc_graph_produce(g, tc_graph_new_node(g, TC_GRAPH_OP_DEQUANTIZE_LINEAR, "", in, nin), y);
}

/* Makes n on quantised operands `in`, at least as many as it had, and a dequantisation that makes the result of n. */
static void dequantise_after(tc_graph *g, tc_graph_node *n, tc_graph_value *const *in, int nin, const tc_graph_node *like) {
    tc_graph_value *y = n->out[0], *params[] = {NULL, like->in[1], tc_graph_operand_of(like, 2)};
    tc_graph_node *moved = tc_graph_copy_node(g, n, in);
    tc_graph_set_inputs(g, moved, in, nin);
    params[0] = tc_graph_place_typed(g, moved, tc_arena_printf(g->arena, "%s.quantised", y->name), in[0]->dtype, &y->shape);
    dequantise(g, params, like->nin, y);
}

static bool move_one_operand(tc_graph *g, tc_graph_node *n) {
    const tc_graph_node *d = dequantised(n->in[0]);
    if (!d || d->in[0]->constant)
        return false;
    dequantise_after(g, n, (tc_graph_value *[]){d->in[0]}, 1, d);
    return true;
}

static bool move_concat(tc_graph *g, tc_graph_node *n) {
    const tc_graph_node *d = dequantised(n->in[0]);
    tc_graph_value **in = TC_NEW_N(g->arena, tc_graph_value *, n->nin);
    for (int k = 0; k < n->nin; k++) {
        const tc_graph_node *other = d ? dequantised(n->in[k]) : NULL;
        if (!other || !scales_equal(d, other))
            return false;
        in[k] = other->in[0];
    }
    dequantise_after(g, n, in, n->nin, d);
    return true;
}

/* Pads with what stands for 0. */
static bool move_pad(tc_graph *g, tc_graph_node *n, tc_error *err) {
    const tc_graph_node *d = dequantised(n->in[0]);
    const tc_graph_value *fill = tc_graph_operand_of(n, 1);
    bool zeros = !fill || (fill->constant && tc_graph_shape_count(&fill->shape) == 1 &&
                           tc_load_f(fill->dtype, fill->constant->data, 0) == 0);
    if (!d || (strcmp(tc_graph_attr_mode(n), "constant") == 0 && !zeros))
        return false;
    float scale;
    int64_t zero;
    tc_graph_one_scale(d, &scale, &zero);
    tc_graph_value *point = tc_graph_constant_of(g, "pad", d->in[0]->dtype, &(tc_graph_shape){0}, (double[]){(double)zero}, err);
    if (!point)
        return false;
    dequantise_after(g, n, (tc_graph_value *[]){d->in[0], point}, 2, d);
    return true;
}

/* Weights are constants with scales along an axis: weights and scales are transposed together. */
static bool move_transpose(tc_graph *g, tc_graph_node *n) {
    const tc_graph_node *d = tc_graph_dequantisation_of(n->in[0]);
    size_t len;
    if (!d || !d->in[0]->constant || !tc_graph_known_scales(d))
        return move_one_operand(g, n);
    const int64_t *perm = tc_graph_attr_perm(n, &len);
    tc_graph_value *in[3];
    for (int k = 0; k < d->nin; k++) {
        bool whole = d->in[k]->shape.ndim == (int)len;
        if (!whole && tc_graph_shape_count(&d->in[k]->shape) != 1)
            return false;
        in[k] = whole ? tc_graph_transposed(g, d->in[k], perm) : d->in[k];
    }
    dequantise(g, in, d->nin, n->out[0]);
    return true;
}

/* Quantised again as it was. */
static bool undo(tc_graph *g, tc_graph_node *n) {
    const tc_graph_node *d = tc_graph_dequantisation_of(n->in[0]);
    if (!d || !tc_graph_same_scales(n, d))
        return false;
    tc_graph_produce(g, tc_graph_new_node(g, TC_GRAPH_OP_IDENTITY, "", &d->in[0], 1), n->out[0]);
    return true;
}

static bool move(tc_graph *g, tc_graph_node *n, tc_error *err) {
    if (n->nout != 1 || n->nin < 1 || !n->in[0])
        return false;
    if (n->op == TC_GRAPH_OP_QUANTIZE_LINEAR)
        return undo(g, n);
    if (n->op == TC_GRAPH_OP_CONCAT)
        return move_concat(g, n);
    if (n->op == TC_GRAPH_OP_PAD)
        return move_pad(g, n, err);
    if (n->op == TC_GRAPH_OP_TRANSPOSE)
        return move_transpose(g, n);
    return tc_graph_selects(n) && move_one_operand(g, n);
}

static tc_status visit(tc_graph *g, tc_graph_node *n, void *user, tc_error *err) {
    (void)user;
    for (int k = 0; k < n->nin; k++) /* through what `undo` left */
        while (n->in[k] && tc_graph_made_by(n->in[k], TC_GRAPH_OP_IDENTITY))
            n->in[k] = n->in[k]->producer->in[0];
    if (!move(g, n, err))
        tc_push(&g->nodes, n);
    return TC_OK;
}

tc_status tc_graph_pass_move_dequantisations(tc_graph *g, tc_error *err) {
    return tc_graph_rewrite_nodes(g, visit, NULL, err);
}
