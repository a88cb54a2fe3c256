/* Producers of contractions: groups of elementwise nodes (a dequantisation, a scale, a normalisation with its sums, a cast) whose
 * value only contractions read, as an operand. Each of these contractions may compute the value itself. Its kernel then contains
 * the producer's nodes too, and the schedule decides where to compute the operand. Only a measurement tells whether the merged
 * kernel is faster. So the groups stay as they are, and the possible merge is noted beside them.
 *
 *     ReduceMean, Sub, ..., Mul, Add | MatMul, Add                ->  two kernels, or one
 *     Mul, Add, Relu | Conv, Relu | Conv                          ->  three, or two: both begin with Mul, Add, Relu */
#include "graph/fuse/fuse_int.h"

#include <stdlib.h>

/* Each element depends on the elements at its place and on sums only: a normalisation may be one node. */
static bool ends_elementwise(const tc_graph_node *head) {
    tc_graph_class class = tc_graph_class_of(head->op);
    return class == TC_GRAPH_CLASS_ELEMENTWISE ||
           (class == TC_GRAPH_CLASS_REDUCE && tc_graph_shape_equal(&head->in[0]->shape, &head->out[0]->shape));
}

/* All nodes are elementwise, except the sums that a normalisation divides by. */
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

/* The group of `n`, if n is its only contraction; else -1. */
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

static bool is_in(const int *list, int n, int x) {
    for (int i = 0; i < n; i++)
        if (list[i] == x)
            return true;
    return false;
}

/* The groups of the contractions that read p's result, as any operand; 0: other nodes read it too, or there are too many. */
static int readers_of(const tc_fuser *f, const tc_graph_groups *all, const tc_graph_fused *p, int *out) {
    const tc_fuse_nodes *uses = &f->uses[p->out[0]->id];
    int n = 0;
    for (size_t u = 0; u < uses->len; u++) {
        const tc_graph_node *x = tc_fuse_node(f, uses->data[u]);
        int group = tc_graph_class_of(x->op) == TC_GRAPH_CLASS_ANCHOR ? group_of(all, x) : -1;
        if (group >= 0 && is_in(out, n, group))
            continue;
        if (group < 0 || n == TC_GRAPH_SHARED)
            return 0;
        out[n++] = group;
    }
    return n;
}

static int by_position(const void *x, const void *y) {
    return *(const int *)x - *(const int *)y;
}

static void add_members(const tc_fuser *f, const tc_graph_group *g, tc_fuse_nodes *members) {
    for (int i = 0; i < g->n; i++)
        tc_push(members, f->position[g->nodes[i]->id]);
}

/* The group that merges anchor k with the producers in the merge that it reads. */
static void put_together(tc_fuser *f, tc_arena *a, const tc_graph_groups *all, tc_graph_merge *m, int k) {
    tc_fuse_nodes members = {0};
    tc_graph_fused *whole = &m->whole[k];
    int readers[TC_GRAPH_SHARED];
    add_members(f, &all->data[m->anchor[k]].group, &members);
    for (int i = 0; i < m->nproducer; i++)
        if (is_in(readers, readers_of(f, all, &all->data[m->producer[i]], readers), m->anchor[k]))
            add_members(f, &all->data[m->producer[i]].group, &members);
    qsort(members.data, members.len, sizeof *members.data, by_position);
    *whole = all->data[m->anchor[k]];
    whole->group.n = (int)members.len;
    whole->group.nodes = TC_NEW_N(a, tc_graph_node *, members.len);
    for (size_t i = 0; i < members.len; i++)
        whole->group.nodes[i] = tc_fuse_node(f, members.data[i]);
    tc_fuse_begin(f, &members);
    tc_fuse_choose_stages(f, a, &whole->group);
    tc_vec_free(&members);
}

/* Nodes of the largest kernel that it could become. */
static int size_of(const tc_graph_groups *all, const tc_graph_merge *m) {
    int producers = 0, most = 0;
    for (int i = 0; i < m->nproducer; i++)
        producers += all->data[m->producer[i]].group.n;
    for (int i = 0; i < m->nanchor; i++)
        most = TC_MAX(most, all->data[m->anchor[i]].group.n);
    return producers + most;
}

/* Adds producer i, which those groups read, to `to`; false: there is no room. */
static bool take(const tc_graph_groups *all, int i, const int *readers, int n, tc_graph_merge *to) {
    tc_graph_merge x = *to;
    if (x.nproducer == TC_GRAPH_MERGED)
        return false;
    x.producer[x.nproducer++] = i;
    for (int k = 0; k < n; k++) {
        if (is_in(x.anchor, x.nanchor, readers[k]))
            continue;
        if (x.nanchor == TC_GRAPH_SHARED)
            return false;
        x.anchor[x.nanchor++] = readers[k];
    }
    if (size_of(all, &x) > TC_FUSE_MAX_GROUP)
        return false;
    *to = x;
    return true;
}

/* The merge that contains one of the anchors; NULL: none. *more: several do. */
static tc_graph_merge *merge_of(tc_graph_merge *m, int n, const int *anchors, int count, bool *more) {
    tc_graph_merge *found = NULL;
    *more = false;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < count; k++)
            if (is_in(m[i].anchor, m[i].nanchor, anchors[k])) {
                *more |= found && found != &m[i];
                found = &m[i];
            }
    return found;
}

void tc_fuse_find_merges(tc_fuser *f, tc_arena *a, tc_graph_groups *all) {
    tc_graph_merge *m = TC_NEW_N(a, tc_graph_merge, all->n + 1);
    int n = 0;
    for (int i = 0; i < all->n; i++) {
        int readers[TC_GRAPH_SHARED], nreader = produces(f, &all->data[i]) ? readers_of(f, all, &all->data[i], readers) : 0;
        bool several;
        tc_graph_merge *to = merge_of(m, n, readers, nreader, &several);
        if (nreader == 0 || several)
            continue;
        if (!to) {
            m[n] = (tc_graph_merge){0};
            to = &m[n];
        }
        if (take(all, i, readers, nreader, to) && to == &m[n])
            n++;
    }
    for (int i = 0; i < n; i++)
        for (int k = 0; k < m[i].nanchor; k++)
            put_together(f, a, all, &m[i], k);
    all->nmerges = n;
    all->merges = m;
}
