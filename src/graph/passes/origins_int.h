/* Tracks through a pass which nodes of the model each node of a graph is made from. */
#ifndef TC_GRAPH_PASSES_ORIGINS_INT_H
#define TC_GRAPH_PASSES_ORIGINS_INT_H

#include "graph/ir/graph.h"

/* The nodes of a graph before a pass, in their order. */
typedef struct tc_graph_ancestors {
    size_t n;
    tc_graph_node **node;
    size_t *reader; /* by place: the place of a node that reads its results; n: there is none */
} tc_graph_ancestors;

tc_graph_ancestors tc_graph_ancestors_of(const tc_graph *g);
/* Call it after the pass, when dead nodes are gone. Nodes that the pass made get the names of the nodes that they replace. */
void tc_graph_inherit(tc_graph *g, const tc_graph_ancestors *before);
void tc_graph_ancestors_free(tc_graph_ancestors *a);

#endif
