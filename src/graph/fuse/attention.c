/* Fuses attention. The left operand of a contraction may be computed, row by row, from the result of another contraction. Then both
 * become one group, so that the schedule may compute everything for a block of rows at a time.
 *
 *     MatMul, Div, Add(mask), Softmax, MatMul    ->  one kernel */
#include "graph/fuse/fuse_int.h"

/* The only output of the node at `at` has a single reader, and the node is in no group. */
static bool private(const tc_fuser *f, int at) {
    const tc_graph_node *n = tc_fuse_node(f, at);
    return !f->taken[at] && n->nout == 1 && f->uses[n->out[0]->id].len == 1 && !f->is_output[n->out[0]->id];
}

/* Collects the nodes that compute v from an anchor's result: elementwise nodes of one shape and a single softmax. False if v is
 * computed otherwise. */
static bool follow_rows(const tc_fuser *f, const tc_graph_value *v, bool softmax, tc_fuse_nodes *members) {
    const tc_graph_value *from = tc_fuse_plain_source(f, v);
    if (!from || !from->producer || members->len >= TC_FUSE_MAX_GROUP / 2)
        return false;
    int at = f->position[from->producer->id];
    const tc_graph_node *n = tc_fuse_node(f, at);
    tc_graph_class class = tc_fuse_class(f, at);
    size_t mark = members->len;
    if (!private(f, at))
        return false;
    tc_push(members, at);
    if (class == TC_GRAPH_CLASS_ANCHOR)
        return softmax;
    if (n->op == TC_GRAPH_OP_SOFTMAX && !softmax && tc_fuse_keeps_rows(n))
        return follow_rows(f, n->in[0], true, members);
    for (int k = 0; k < n->nin && class == TC_GRAPH_CLASS_ELEMENTWISE; k++)
        if (n->in[k] && tc_fuse_same_shape(&n->in[k]->shape, &from->shape) && follow_rows(f, n->in[k], softmax, members))
            return true;
    members->len = mark;
    return false;
}

bool tc_fuse_attention(const tc_fuser *f, int at, tc_fuse_nodes *members) {
    const tc_graph_node *n = tc_fuse_node(f, at);
    return n->op == TC_GRAPH_OP_MATMUL && !f->taken[at] && follow_rows(f, n->in[0], false, members);
}
