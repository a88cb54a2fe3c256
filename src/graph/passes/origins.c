/* Implements origins_int.h for passes that do not track origins themselves. A copy of a node already has its names
 * (tc_graph_copy_node). When a node is gone and no other node has its names, its heir gets them. The heir is the node that makes
 * the old node's result now. If there is none, it is the node that read this result, or the heir of that reader.
 *
 *   y = BatchNorm(Conv(x))     =>  y = Conv(x):   the new Conv makes y, and gets the BatchNorm's names beside its own
 *   y = Conv(Pad(x))           =>  y = Conv(x):   the Conv read the result of the Pad
 *
 * Any other node that a pass adds gets the names of the node that reads it. Views are left out, since no kernel is made from
 * them. */
#include "graph/passes/origins_int.h"

#include <stdlib.h>
#include <string.h>

#include "graph/ir/build.h"

static bool is_view(const tc_graph_node *n) {
    return tc_graph_class_of(n->op) == TC_GRAPH_CLASS_VIEW;
}

tc_graph_ancestors tc_graph_ancestors_of(const tc_graph *g) {
    tc_graph_ancestors a = {.n = g->nodes.len};
    size_t *maker = tc_xcalloc(g->values.len + 1, sizeof *maker); /* by value id: one past the place of the node that makes it */
    a.node = tc_xcalloc(a.n + 1, sizeof(tc_graph_node *));
    a.reader = tc_xcalloc(a.n + 1, sizeof *a.reader);
    for (size_t i = 0; i < a.n; i++) {
        tc_graph_node *n = a.node[i] = g->nodes.data[i];
        a.reader[i] = a.n;
        for (int k = 0; k < n->nin; k++)
            if (n->in[k] && maker[n->in[k]->id])
                a.reader[maker[n->in[k]->id] - 1] = i;
        for (int k = 0; k < n->nout; k++)
            if (n->out[k])
                maker[n->out[k]->id] = i + 1;
    }
    free(maker);
    return a;
}

void tc_graph_ancestors_free(tc_graph_ancestors *a) {
    free(a->node);
    free(a->reader);
}

static tc_graph_node *heir_of(const tc_graph_ancestors *a, size_t place, const bool *live) {
    for (size_t i = place; i < a->n; i = a->reader[i]) {
        const tc_graph_node *n = a->node[i];
        if (live[n->id])
            return a->node[i];
        for (int k = 0; k < n->nout; k++) {
            tc_graph_node *now = n->out[k] ? n->out[k]->producer : NULL;
            if (now && now != n && live[now->id])
                return now;
        }
    }
    return NULL;
}

static void note_names(tc_map *carried, const tc_graph_node *n) {
    for (int i = 0; n->origin && i < n->origin->n; i++)
        tc_map_puts(carried, n->origin->name[i], 1);
}

static void leave_names(tc_graph *g, const tc_graph_ancestors *a, const bool *live) {
    tc_map carried = {0};
    for (size_t i = 0; i < g->nodes.len; i++)
        note_names(&carried, g->nodes.data[i]);
    for (size_t i = 0; i < a->n; i++) {
        const tc_graph_node *n = a->node[i];
        tc_graph_node *heir = live[n->id] || is_view(n) || !n->origin ? NULL : heir_of(a, i, live);
        for (int k = 0; heir && k < n->origin->n; k++)
            if (!tc_map_gets(&carried, n->origin->name[k]))
                heir->origin = tc_graph_origin_join(g, heir->origin, tc_graph_origin_of(g, n->origin->name[k]));
        if (heir)
            note_names(&carried, heir);
    }
    tc_map_free(&carried);
}

/* From the last node to the first: readers come before the nodes that they read. */
static void name_helpers(tc_graph *g) {
    const tc_graph_origin **reader = tc_xcalloc(g->values.len + 1, sizeof *reader); /* by value id: whose it is */
    for (size_t i = g->nodes.len; i-- > 0;) {
        tc_graph_node *n = g->nodes.data[i];
        const tc_graph_origin *of = NULL;
        for (int k = 0; k < n->nout && !of; k++)
            of = n->out[k] ? reader[n->out[k]->id] : NULL;
        if (!is_view(n))
            of = n->origin = n->origin ? n->origin : of;
        for (int k = 0; k < n->nin; k++)
            if (n->in[k] && !reader[n->in[k]->id])
                reader[n->in[k]->id] = of;
    }
    free(reader);
}

static bool has_other_nodes(const tc_graph *g, const tc_graph_ancestors *before) {
    return g->nodes.len != before->n || (before->n && memcmp(before->node, g->nodes.data, before->n * sizeof *before->node) != 0);
}

void tc_graph_inherit(tc_graph *g, const tc_graph_ancestors *before) {
    if (has_other_nodes(g, before)) { /* most passes find nothing to do in most models */
        bool *live = tc_xcalloc(g->next_id + 1, sizeof *live);
        for (size_t i = 0; i < g->nodes.len; i++)
            live[g->nodes.data[i]->id] = true;
        leave_names(g, before, live);
        free(live);
    }
    name_helpers(g);
}
