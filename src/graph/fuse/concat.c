/* Removes concatenations that need no kernel: kernels write the operands directly to their places in the result. */
#include "graph/fuse/fuse_int.h"

#include "tctune/runtime.h"

/* The memory of an operand that may become a piece of the concatenation: the result of a kernel that has no other fixed place. */
static tc_graph_value *movable(const tc_fuser *f, const tc_graph_value *operand) {
    tc_graph_value *v = (tc_graph_value *)(uintptr_t)tc_graph_memory_of(operand);
    bool made = v->producer && !v->constant && !tc_fuse_looks_through(f, v) && !v->producer->body[0];
    return made && !f->is_output[v->id] && !f->is_piece[v->id] ? v : NULL;
}

/* A kernel writes v in any case: its group is complete, or it joins no group of another shape, or a node reads v from memory. */
static bool is_written_anyway(const tc_fuser *f, const tc_graph_value *v) {
    const tc_fuse_nodes *uses = &f->uses[v->id];
    bool read = false;
    for (size_t u = 0; u < uses->len; u++) {
        int at = uses->data[u];
        tc_graph_class class = tc_fuse_class(f, at);
        read |= class == TC_GRAPH_CLASS_ANCHOR || class == TC_GRAPH_CLASS_LIBRARY;
    }
    int at = f->position[v->producer->id];
    tc_graph_class class = tc_fuse_class(f, at);
    return read || f->taken[at] || class == TC_GRAPH_CLASS_LIBRARY || class == TC_GRAPH_CLASS_REDUCE;
}

/* In the result the elements of each operand are contiguous, one operand after the other. */
static bool keeps_blocks(const tc_graph_node *n) {
    const tc_graph_shape *s = &n->out[0]->shape;
    int64_t before = 1;
    for (int d = 0; d < tc_graph_attr_axis(n); d++)
        before *= s->d[d];
    return before == 1 && tc_graph_shape_count(s) > 0;
}

/* Turns all operands of n into pieces, or none. A piece that then needs a kernel of its own costs no more than the concatenation's
 * kernel did. */
static bool take_pieces(tc_fuser *f, const tc_graph_node *n) {
    size_t before = f->pieces.len;
    int64_t at = 0;
    int extra = 0;
    bool ok = keeps_blocks(n);
    for (int k = 0; k < n->nin && ok; k++) {
        int64_t bytes = tc_graph_shape_count(&n->in[k]->shape) * tc_dtype_bytes(n->in[k]->dtype);
        if (bytes == 0)
            continue;
        tc_graph_value *v = movable(f, n->in[k]);
        ok = v && at % TC_RT_ALIGN == 0;
        if (!ok)
            continue;
        extra += !is_written_anyway(f, v);
        f->is_piece[v->id] = true;
        tc_push(&f->pieces, ((tc_graph_piece){v, n->out[0], at}));
        at += bytes;
    }
    if (ok && extra <= 1)
        return true;
    while (f->pieces.len > before)
        f->is_piece[f->pieces.data[--f->pieces.len].value->id] = false;
    return false;
}

void tc_fuse_place_concatenations(tc_fuser *f) {
    for (int i = 0; i < f->n; i++)
        if (tc_fuse_node(f, i)->op == TC_GRAPH_OP_CONCAT && !f->taken[i])
            f->taken[i] = take_pieces(f, tc_fuse_node(f, i));
}
