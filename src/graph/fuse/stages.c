/* Decides which nodes of a group get a compute of their own. All other nodes are written out in the expressions of their readers.
 * So a node with several reads, or with readers in several stages, would be computed again for each of them. */
#include "graph/fuse/fuse_int.h"

#include <stdlib.h>

/* Operands of a node's written-out expression. A chosen limit: larger expressions take the compiler long. */
enum { MAX_TREE = 160 };

typedef struct stager {
    const tc_fuser *f;
    const tc_graph_group *group;
    const int *index; /* by position: place in the group */
    uint64_t *users;  /* which stages' expressions would hold the node's */
    bool *stage;
} stager;

/* Windows that overlap read an element of their input several times. Windows that pad read a padded copy. */
static bool overlaps(const tc_graph_node *n) {
    size_t len = 0, sides = 0;
    const int64_t *pads = tc_graph_attr_pads(n, &sides);
    const int64_t *kernel = tc_graph_attr_kernel_shape(n, &len), *strides = tc_graph_attr_strides(n, &len);
    bool any = false;
    for (size_t d = 0; kernel && strides && d < len; d++)
        any |= kernel[d] > strides[d];
    for (size_t d = 0; d < sides; d++)
        any &= pads[d] == 0;
    return any;
}

static bool reads_again(const tc_graph_node *n) {
    return tc_graph_op_is(n->op, TC_GRAPH_READS_AGAIN) || overlaps(n);
}

static bool needs_stage(stager *s, int i) {
    const tc_graph_node *n = s->group->nodes[i];
    const tc_fuse_nodes *uses = &s->f->uses[n->out[0]->id];
    bool again = false, smaller = false, operand = false; /* operand: of a contraction, which reads each element many times */
    for (size_t u = 0; u < uses->len; u++) {
        int c = s->index[uses->data[u]];
        const tc_graph_node *reader = s->group->nodes[c];
        s->users[i] |= s->stage[c] || tc_graph_class_of(reader->op) == TC_GRAPH_CLASS_REDUCE ? (uint64_t)1 << c : s->users[c];
        again |= reads_again(reader);
        operand |= tc_graph_class_of(reader->op) == TC_GRAPH_CLASS_ANCHOR;
        smaller |=
            !tc_fuse_reads_once(reader) && tc_graph_shape_count(&n->out[0]->shape) < tc_graph_shape_count(tc_fuse_domain(reader));
    }
    tc_graph_class class = tc_graph_class_of(n->op);
    if (operand)
        return class != TC_GRAPH_CLASS_ANCHOR;
    if (class == TC_GRAPH_CLASS_REDUCE || class == TC_GRAPH_CLASS_ANCHOR)
        return false; /* has stages inside */
    return again || smaller || (s->users[i] & (s->users[i] - 1));
}

/* Nodes whose expressions would grow too long if they were written out in several places. */
static void limit_trees(stager *s) {
    int64_t size[TC_FUSE_MAX_GROUP];
    for (int i = 0; i < s->group->n; i++) {
        const tc_graph_node *n = s->group->nodes[i];
        size[i] = 1;
        for (int k = 0; k < n->nin; k++) {
            const tc_graph_value *v = n->in[k] ? tc_fuse_source(s->f, n->in[k]) : NULL;
            bool in = v && tc_fuse_producer_inside(s->f, v);
            int p = in ? s->index[s->f->position[v->producer->id]] : 0;
            size[i] += in && !s->stage[p] ? size[p] : 1;
        }
        tc_graph_class class = tc_graph_class_of(n->op);
        if (size[i] > MAX_TREE && i + 1 < s->group->n && (class == TC_GRAPH_CLASS_ELEMENTWISE || class == TC_GRAPH_CLASS_MOVE))
            s->stage[i] = true;
    }
}

void tc_fuse_choose_stages(const tc_fuser *f, tc_arena *a, tc_graph_group *group) {
    stager s = {f, group, NULL, TC_NEW_N(a, uint64_t, group->n), TC_NEW_N(a, bool, group->n)};
    int *index = tc_xcalloc((size_t)f->n + 1, sizeof *index);
    for (int i = 0; i < group->n; i++)
        index[f->position[group->nodes[i]->id]] = i;
    s.index = index;
    s.users[group->n - 1] = (uint64_t)1 << (group->n - 1);
    for (int i = group->n - 2; i >= 0; i--)
        s.stage[i] = needs_stage(&s, i);
    limit_trees(&s);
    free(index);
    group->stage = s.stage;
}
