/* Fuses backwards: each remaining node heads a group and takes the producers that only the group reads. A group gets chains of
 * elementwise nodes and of nodes that move data, and the reductions that rows.c allows. */
#include "graph/fuse/fuse_int.h"

/* Each part of a concatenation adds a condition to every element. */
enum { MAX_PARTS = 16 };

bool tc_fuse_reads_once(const tc_graph_node *n) {
    return tc_graph_op_is(n->op, TC_GRAPH_READS_ONCE);
}

/* p narrows a wider value to bytes, and c moves these bytes through a view of another order. Alone, p reads in order. Inside c it
 * would read in another order, at four times the size and without vectors. */
static bool narrows_before_move(const tc_graph_node *p, const tc_graph_node *c) {
    const tc_graph_value *y = p->out[0];
    bool reordered = c->in[0] != y && c->in[0]->producer && c->in[0]->producer->op == TC_GRAPH_OP_TRANSPOSE;
    return tc_graph_class_of(c->op) == TC_GRAPH_CLASS_MOVE && reordered && tc_dtype_is_int(y->dtype) &&
           tc_dtype_bytes(y->dtype) == 1 && p->nin > 0 && p->in[0] && tc_dtype_bytes(p->in[0]->dtype) > 1;
}

/* To compute p inside its reader c repeats no work worth counting: c reads no more elements than p has, or each element only once,
 * or p's elements are rows of c. */
static bool cheap_inside(const tc_graph_node *p, const tc_graph_node *c) {
    if ((p->op == TC_GRAPH_OP_CONCAT && c->op == TC_GRAPH_OP_CONCAT && p->nin + c->nin > MAX_PARTS) || narrows_before_move(p, c))
        return false;
    if (tc_fuse_reads_once(c))
        return true;
    int64_t has = tc_graph_shape_count(&p->out[0]->shape), wants = tc_graph_shape_count(tc_fuse_domain(c));
    return has >= wants || (has > 1 && tc_fuse_is_prefix(&p->out[0]->shape, tc_fuse_domain(c)));
}

static bool joins(const tc_fuser *f, int at, const tc_fuse_nodes *members) {
    const tc_graph_node *p = tc_fuse_node(f, at);
    tc_graph_class class = tc_fuse_class(f, at);
    if (f->taken[at] || class == TC_GRAPH_CLASS_VIEW || class == TC_GRAPH_CLASS_ANCHOR || class == TC_GRAPH_CLASS_LIBRARY ||
        p->nout != 1 || tc_fuse_escapes(f, at))
        return false;
    const tc_fuse_nodes *uses = &f->uses[p->out[0]->id];
    for (size_t u = 0; u < uses->len; u++) {
        const tc_graph_node *c = tc_fuse_node(f, uses->data[u]);
        if (tc_graph_class_of(c->op) == TC_GRAPH_CLASS_ANCHOR || !cheap_inside(p, c))
            return false;
    }
    return class != TC_GRAPH_CLASS_REDUCE || tc_fuse_reduction_joins(f, at, members);
}

void tc_fuse_grow(tc_fuser *f, int head, tc_fuse_nodes *members) {
    tc_push(members, head);
    tc_fuse_begin(f, members);
    if (tc_fuse_class(f, head) == TC_GRAPH_CLASS_LIBRARY)
        return;
    int operands = tc_fuse_node(f, head)->nin;
    for (int at = head - 1; at >= 0 && members->len < TC_FUSE_MAX_GROUP; at--)
        if (operands + tc_fuse_node(f, at)->nin <= TC_FUSE_MAX_OPERANDS && joins(f, at, members)) {
            tc_fuse_add(f, members, at);
            operands += tc_fuse_node(f, at)->nin;
        }
}
