/* Fusion in three sweeps, each in a file of its own: attention (attention.c), epilogues of contractions (epilogue.c), and chains
 * and rows of the remaining nodes (chains.c, rows.c). Only the head's value leaves a group, so no two groups can wait for each
 * other. Between these sweeps concat.c removes concatenations of values that kernels write anyway. At the end producers.c notes
 * pairs of groups that could be one group. */
#include <stdlib.h>

#include "graph/fuse/fuse_int.h"

static int by_position(const void *x, const void *y) {
    return *(const int *)x - *(const int *)y;
}

static void pick_outputs(const tc_fuser *f, tc_arena *a, const tc_graph_node *head, tc_graph_fused *r) {
    bool all = tc_fuse_is_view(head) || tc_graph_op_is(head->op, TC_GRAPH_STAYS);
    r->out = TC_NEW_N(a, tc_graph_value *, head->nout);
    for (int k = 0; k < head->nout; k++)
        if (head->out[k] && (all || f->is_output[head->out[k]->id] || f->uses[head->out[k]->id].len))
            r->out[r->nout++] = head->out[k];
}

/* Turns members into the group whose head is at position `head`. Nodes without readers make no group, unless they stay. */
static void finish_group(tc_fuser *f, tc_arena *a, tc_fuse_nodes *members, tc_graph_fused *by_head) {
    qsort(members->data, members->len, sizeof *members->data, by_position);
    int head = members->data[members->len - 1];
    tc_graph_fused *r = &by_head[head];
    r->group.n = (int)members->len;
    r->group.nodes = TC_NEW_N(a, tc_graph_node *, members->len);
    for (size_t i = 0; i < members->len; i++) {
        r->group.nodes[i] = tc_fuse_node(f, members->data[i]);
        f->taken[members->data[i]] = true;
    }
    pick_outputs(f, a, tc_fuse_node(f, head), r);
    tc_fuse_choose_stages(f, a, &r->group);
    members->len = 0;
}

/* If a value that needs memory of its own is a view of another value, it gets a kernel that writes it. */
static void materialise(tc_fuser *f, tc_arena *a, const tc_graph_value *value, tc_graph_fused *by_head) {
    const tc_graph_value *v = tc_graph_memory_of(value);
    if (!tc_fuse_is_view(v->producer) || f->taken[f->position[v->producer->id]])
        return;
    tc_fuse_nodes members = {0};
    tc_push(&members, f->position[v->producer->id]);
    tc_fuse_begin(f, &members);
    finish_group(f, a, &members, by_head);
    tc_vec_free(&members);
}

/* Outputs of the model, and what library kernels read. */
static void materialise_views(tc_fuser *f, tc_arena *a, tc_graph_fused *by_head) {
    for (size_t i = 0; i < f->g->outputs.len; i++)
        materialise(f, a, f->g->outputs.data[i].value, by_head);
    for (int at = 0; at < f->n; at++)
        for (int k = 0; k < tc_fuse_node(f, at)->nin && tc_fuse_class(f, at) == TC_GRAPH_CLASS_LIBRARY; k++)
            if (tc_fuse_node(f, at)->in[k])
                materialise(f, a, tc_fuse_node(f, at)->in[k], by_head);
}

static void divide(tc_fuser *f, tc_arena *a, tc_graph_fused *by_head) {
    tc_fuse_nodes members = {0};
    for (int i = 0; i < f->n; i++)
        if (tc_fuse_attention(f, i, &members)) {
            tc_fuse_add_epilogue(f, i, &members);
            finish_group(f, a, &members, by_head);
        } else {
            members.len = 0;
        }
    for (int i = 0; i < f->n; i++)
        if (tc_fuse_class(f, i) == TC_GRAPH_CLASS_ANCHOR && !f->taken[i]) {
            tc_fuse_add_epilogue(f, i, &members);
            finish_group(f, a, &members, by_head);
        }
    tc_fuse_place_concatenations(f);
    for (int i = f->n - 1; i >= 0; i--)
        if (!f->taken[i] && tc_fuse_class(f, i) != TC_GRAPH_CLASS_VIEW) {
            tc_fuse_grow(f, i, &members);
            finish_group(f, a, &members, by_head);
        }
    materialise_views(f, a, by_head);
    tc_vec_free(&members);
}

void tc_graph_fuse(const tc_graph *g, tc_arena *a, tc_graph_groups *out) {
    tc_fuser f = tc_fuse_open(g);
    size_t nodes = g->nodes.len + 1;
    tc_graph_fused *by_head = tc_xcalloc(nodes, sizeof *by_head);
    divide(&f, a, by_head);
    *out = (tc_graph_groups){.data = TC_NEW_N(a, tc_graph_fused, nodes),
                             .stored = tc_arena_dup(a, f.stored, (g->values.len + 1) * sizeof *f.stored),
                             .npieces = (int)f.pieces.len,
                             .pieces = tc_arena_dup(a, f.pieces.data, f.pieces.len * sizeof *f.pieces.data)};
    for (int i = 0; i < f.n; i++)
        if (by_head[i].nout)
            out->data[out->n++] = by_head[i];
    free(by_head);
    tc_fuse_find_merges(&f, a, out);
    tc_fuse_close(&f);
}
