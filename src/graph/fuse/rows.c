/* Reductions within a group: a reduction over trailing dimensions shares its rows with the nodes around it.
 *
 *     ReduceMean, Sub, Pow, ReduceMean, Add, Sqrt, Div, Mul, Add    ->  one kernel */
#include "graph/fuse/fuse_int.h"

bool tc_fuse_keeps_rows(const tc_graph_node *n) {
    size_t len = 1;
    int64_t axis = tc_graph_attr_axis(n);
    const int64_t *axes = tc_graph_attr_axes(n, &len);
    const tc_graph_shape *s = &n->in[0]->shape;
    if (tc_graph_op_is(n->op, TC_GRAPH_WHOLE_ROWS | TC_GRAPH_NO_ROWS))
        return tc_graph_op_is(n->op, TC_GRAPH_WHOLE_ROWS);
    if (!axes) {
        axes = &axis;
        len = 1;
    }
    bool reduced = false;
    for (int d = 0; d < s->ndim; d++) {
        bool r = false;
        for (size_t k = 0; k < len; k++)
            r |= axes[k] == d;
        if (reduced && !r && s->d[d] != 1)
            return false;
        reduced |= r && s->d[d] != 1;
    }
    return true;
}

static bool reads_plainly(const tc_fuser *f, const tc_graph_node *c, const tc_graph_value *v) {
    for (int k = 0; k < c->nin; k++)
        if (c->in[k] && tc_fuse_source(f, c->in[k]) == v && tc_fuse_plain_source(f, c->in[k]) != v)
            return false;
    return true;
}

static bool any_reduction(const tc_fuser *f, const tc_fuse_nodes *members) {
    for (size_t i = 0; i < members->len; i++)
        if (tc_fuse_class(f, members->data[i]) == TC_GRAPH_CLASS_REDUCE)
            return true;
    return false;
}

bool tc_fuse_reduction_joins(const tc_fuser *f, int at, const tc_fuse_nodes *members) {
    const tc_graph_node *p = tc_fuse_node(f, at), *head = tc_fuse_node(f, members->data[0]);
    const tc_graph_value *v = p->out[0];
    bool whole = tc_fuse_same_shape(&v->shape, &head->out[0]->shape);
    for (size_t u = 0; u < f->uses[v->id].len; u++)
        if (!reads_plainly(f, tc_fuse_node(f, f->uses[v->id].data[u]), v))
            return false;
    if (!tc_fuse_keeps_rows(p))
        return whole && !any_reduction(f, members);
    return whole || (tc_graph_shape_count(&v->shape) > 1 && tc_fuse_is_prefix(&v->shape, tc_fuse_domain(head)));
}
