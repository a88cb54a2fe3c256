/* Fuses forwards: a contraction takes the elementwise nodes behind it, as long as other nodes read only one of all these values.
 * The epilogue runs on the accumulators.
 *
 *     MatMul, Add(bias), Div, Erf, Add, Mul, Mul    ->  one kernel */
#include "graph/fuse/fuse_int.h"

/* The node is elementwise, has the anchor's shape, and reads the group's values only at the place that it writes. */
static bool continues(const tc_fuser *f, int at, const tc_graph_shape *shape) {
    const tc_graph_node *n = tc_fuse_node(f, at);
    if (f->taken[at] || tc_fuse_class(f, at) != TC_GRAPH_CLASS_ELEMENTWISE || !tc_fuse_same_shape(&n->out[0]->shape, shape))
        return false;
    bool reads = false;
    for (int k = 0; k < n->nin; k++) {
        if (!n->in[k] || !tc_fuse_producer_inside(f, tc_fuse_source(f, n->in[k])))
            continue;
        if (!tc_fuse_plain_source(f, n->in[k]) || !tc_fuse_same_shape(&n->in[k]->shape, shape))
            return false;
        reads = true;
    }
    return reads;
}

/* All that n reads is smaller than the shape. */
static bool reads_little(const tc_graph_node *n, const tc_graph_shape *shape) {
    bool little = true;
    for (int k = 0; k < n->nin; k++)
        little &= !n->in[k] || tc_graph_shape_count(&n->in[k]->shape) < tc_graph_shape_count(shape);
    return little;
}

/* A node that widens bytes for the node at `at` alone joins its group. So does what corrects sums of integers: an i32 value of small
 * ones, by channel, by place, or their product. */
static bool is_side(const tc_fuser *f, const tc_graph_value *v, const tc_graph_shape *shape) {
    const tc_graph_node *n = v->producer;
    if (!n || v->constant || f->taken[f->position[n->id]] || tc_graph_class_of(n->op) != TC_GRAPH_CLASS_ELEMENTWISE ||
        f->is_output[v->id] || f->direct[v->id] != 1)
        return false;
    bool widens = tc_graph_op_is(n->op, TC_GRAPH_WIDENS);
    return widens || (v->dtype == TC_I32 && reads_little(n, shape));
}

static void add_sides(tc_fuser *f, int at, const tc_graph_shape *shape, tc_fuse_nodes *members) {
    const tc_graph_node *n = tc_fuse_node(f, at);
    for (int k = 0; k < n->nin; k++) {
        if (!n->in[k] || members->len >= TC_FUSE_MAX_GROUP || !is_side(f, n->in[k], shape))
            continue;
        int side = f->position[n->in[k]->producer->id];
        if (tc_fuse_inside(f, side))
            continue;
        tc_fuse_add(f, members, side);
        add_sides(f, side, shape, members);
    }
}

static int count_escapes(const tc_fuser *f, const tc_fuse_nodes *members) {
    int n = 0;
    for (size_t i = 0; i < members->len; i++)
        n += tc_fuse_escapes(f, members->data[i]);
    return n;
}

/* Cuts the members back to the longest beginning of which a single value has readers outside. */
static void cut_to_one_exit(tc_fuser *f, tc_fuse_nodes *members) {
    while (members->len > 1 && (count_escapes(f, members) != 1 || !tc_fuse_escapes(f, members->data[members->len - 1])))
        f->mark[members->data[--members->len]] = 0;
}

/* What lies side by side does so afterwards. */
static bool keeps_neighbours(const tc_graph_node *transpose) {
    size_t len;
    const int64_t *perm = tc_graph_attr_perm(transpose, &len);
    const tc_graph_shape *from = &transpose->in[0]->shape, *to = &transpose->out[0]->shape;
    int a = from->ndim - 1, b = to->ndim - 1;
    while (a > 0 && from->d[a] == 1)
        a--;
    while (b > 0 && to->d[b] == 1)
        b--;
    return b < 0 || perm[b] == a;
}

/* When all that happens to the result is a transposition, it is stored that way: the kernel's loops do not care, and its readers
 * get rows. MatMul [12,128,64], Transpose [128,12,64], Reshape [128,768]  ->  one kernel that writes [128,768]
 *
 * Not where bytes are multiplied: their dot products have columns side by side in registers, which a column-major result would
 * scatter. A copy of what has become bytes again costs less. */
static void store_transposed(tc_fuser *f, const tc_graph_node *anchor, tc_fuse_nodes *members) {
    int last = members->data[members->len - 1];
    tc_graph_value *v = tc_fuse_node(f, last)->out[0];
    tc_graph_node *t = tc_fuse_only_reader(f, v);
    if (!t || t->op != TC_GRAPH_OP_TRANSPOSE || tc_fuse_keeps_order(t) || members->len >= TC_FUSE_MAX_GROUP)
        return;
    if (anchor->out[0]->dtype == TC_I32 && !keeps_neighbours(t))
        return;
    tc_graph_value *w = t->out[0];
    int at = f->position[t->id];
    f->stored[w->id] = true;
    f->is_output[w->id] = f->is_output[v->id];
    f->is_output[v->id] = false;
    tc_fuse_nodes all = f->uses[v->id], self = {0};
    tc_push(&self, at);
    f->uses[w->id] = all;
    f->uses[v->id] = self;
    tc_fuse_add(f, members, at);
}

void tc_fuse_add_epilogue(tc_fuser *f, int anchor, tc_fuse_nodes *members) {
    tc_push(members, anchor);
    tc_fuse_begin(f, members);
    const tc_graph_shape *shape = &tc_fuse_node(f, anchor)->out[0]->shape;
    for (int at = anchor + 1; at < f->n && members->len < TC_FUSE_MAX_GROUP; at++)
        if (continues(f, at, shape)) {
            add_sides(f, at, shape, members);
            tc_fuse_add(f, members, at);
        }
    cut_to_one_exit(f, members);
    store_transposed(f, tc_fuse_node(f, anchor), members);
}
