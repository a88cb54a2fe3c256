/* Producers of a contraction: groups of elementwise nodes (a dequantisation, a scale, a normalisation with its sums, a cast) whose
 * value only that contraction reads, as an operand. Both kernels may become one, in which the schedule decides where the operand is
 * computed. Whether that is faster only measuring tells, so the groups stay as they are and such a merge stands beside them.
 *
 *     ReduceMean, Sub, ..., Mul, Add | MatMul, Add    ->  two kernels, or one */
#include "graph/fuse/fuse_int.h"

#include <stdlib.h>

/* Each element by those at its place, and by sums: a normalisation may be one node. */
static bool ends_elementwise(const tc_graph_node *head) {
    tc_graph_class class = tc_graph_class_of(head->op);
    return class == TC_GRAPH_CLASS_ELEMENTWISE ||
           (class == TC_GRAPH_CLASS_REDUCE && tc_graph_shape_equal(&head->in[0]->shape, &head->out[0]->shape));
}

/* Elementwise all of it, but for the sums that a normalisation divides by. */
static bool produces(const tc_fuser *f, const tc_graph_fused *p) {
    bool variable = false;
    if (p->nout != 1 || !ends_elementwise(p->group.nodes[p->group.n - 1]))
        return false;
    for (int i = 0; i < p->group.n; i++) {
        const tc_graph_node *n = p->group.nodes[i];
        tc_graph_class class = tc_graph_class_of(n->op);
        if (class != TC_GRAPH_CLASS_ELEMENTWISE && class != TC_GRAPH_CLASS_REDUCE)
            return false;
        for (int k = 0; k < n->nin; k++)
            variable |= n->in[k] && !n->in[k]->constant;
    }
    const tc_graph_value *v = p->out[0];
    return variable && tc_graph_shape_count(&v->shape) > 0 && !f->is_output[v->id] && !f->is_piece[v->id] && !f->stored[v->id];
}

/* The contraction that alone reads what p makes, at whatever operands; NULL: there is none. */
static const tc_graph_node *reader_of(const tc_fuser *f, const tc_graph_fused *p) {
    const tc_fuse_nodes *uses = &f->uses[p->out[0]->id];
    const tc_graph_node *n = uses->len ? tc_fuse_node(f, uses->data[0]) : NULL;
    for (size_t u = 1; u < uses->len && n; u++)
        n = uses->data[u] == uses->data[0] ? n : NULL;
    return n && tc_graph_class_of(n->op) == TC_GRAPH_CLASS_ANCHOR ? n : NULL;
}

/* The group of `n`, if that is its only contraction; -1: it is not. */
static int group_of(const tc_graph_groups *all, const tc_graph_node *n) {
    for (int i = 0; i < all->n; i++) {
        const tc_graph_group *g = &all->data[i].group;
        int anchors = 0;
        bool has = false;
        for (int k = 0; k < g->n; k++) {
            anchors += tc_graph_class_of(g->nodes[k]->op) == TC_GRAPH_CLASS_ANCHOR;
            has |= g->nodes[k] == n;
        }
        if (has)
            return anchors == 1 ? i : -1;
    }
    return -1;
}

static int by_position(const void *x, const void *y) {
    return *(const int *)x - *(const int *)y;
}

static void add_members(const tc_fuser *f, const tc_graph_group *g, tc_fuse_nodes *members) {
    for (int i = 0; i < g->n; i++)
        tc_push(members, f->position[g->nodes[i]->id]);
}

/* The group of the merge's groups together. */
static void put_together(tc_fuser *f, tc_arena *a, const tc_graph_groups *all, tc_graph_merge *m) {
    tc_fuse_nodes members = {0};
    add_members(f, &all->data[m->anchor].group, &members);
    for (int i = 0; i < m->nproducer; i++)
        add_members(f, &all->data[m->producer[i]].group, &members);
    qsort(members.data, members.len, sizeof *members.data, by_position);
    m->whole = all->data[m->anchor];
    m->whole.group.n = (int)members.len;
    m->whole.group.nodes = TC_NEW_N(a, tc_graph_node *, members.len);
    for (size_t i = 0; i < members.len; i++)
        m->whole.group.nodes[i] = tc_fuse_node(f, members.data[i]);
    tc_fuse_begin(f, &members);
    tc_fuse_choose_stages(f, a, &m->whole.group);
    tc_vec_free(&members);
}

static tc_graph_merge *merge_of(tc_graph_merge *m, int n, int anchor) {
    for (int i = 0; i < n; i++)
        if (m[i].anchor == anchor)
            return &m[i];
    return NULL;
}

static int size_of(const tc_graph_groups *all, const tc_graph_merge *m) {
    int n = all->data[m->anchor].group.n;
    for (int i = 0; i < m->nproducer; i++)
        n += all->data[m->producer[i]].group.n;
    return n;
}

void tc_fuse_find_merges(tc_fuser *f, tc_arena *a, tc_graph_groups *all) {
    tc_graph_merge *m = TC_NEW_N(a, tc_graph_merge, all->n + 1);
    int n = 0;
    for (int i = 0; i < all->n; i++) {
        const tc_graph_node *reader = produces(f, &all->data[i]) ? reader_of(f, &all->data[i]) : NULL;
        int anchor = reader ? group_of(all, reader) : -1;
        if (anchor < 0)
            continue;
        tc_graph_merge *to = merge_of(m, n, anchor), fresh = {.anchor = anchor};
        if (!to)
            to = &fresh;
        if (to->nproducer == TC_GRAPH_MERGED || size_of(all, to) + all->data[i].group.n > TC_FUSE_MAX_GROUP)
            continue;
        to->producer[to->nproducer++] = i;
        if (to == &fresh)
            m[n++] = fresh;
    }
    for (int i = 0; i < n; i++)
        put_together(f, a, all, &m[i]);
    all->nmerges = n;
    all->merges = m;
}
