/* src/graph/ops owns what drives the operators: inference, evaluation and lowering of any node through the operator
 * table, and sizes that depend on data. Not here: the operators themselves (src/graph/ops/native,
 * src/graph/ops/composed).
 *
 * This header: nodes of any kind are appended to a graph, and evaluated. */
#ifndef TC_GRAPH_OPS_OPS_H
#define TC_GRAPH_OPS_OPS_H

#include "graph/ir/graph.h"

/* ---- appending ---- */
/* Gives the node `nout` fresh outputs called names[i] (NULL: unused), infers their types, canonicalises it by the newest
 * opset's rules, and appends it to g->nodes, or folds it when its inputs are constants. It may become several nodes: find the
 * results by name. All nodes that do not come from a file are added by this function. */
TC_NODISCARD tc_status tc_graph_append(tc_graph *g, tc_graph_node *n, const char *const *names, int nout, tc_error *err);

/* ---- reference evaluator: the oracle of lowering, fusion and code generation, and the engine of folding ---- */
/* Evaluates one canonical node. in[i] is NULL if the node's input i is NULL. out[i] is allocated here (OWNED) with the type of the
 * node's output i; outputs that are NULL in the node are skipped. */
TC_NODISCARD tc_status tc_graph_eval_node(const tc_graph_node *n, const tc_graph_tensor *const *in, tc_graph_tensor *out,
                                          tc_error *err);
/* Evaluates a graph. in[] matches g->inputs without the symbols, whose values follow from the shapes of in[]. out[] (allocated
 * here, OWNED) matches g->outputs without the sizes, which are the shapes of out[]. */
TC_NODISCARD tc_status tc_graph_eval(const tc_graph *g, const tc_graph_tensor *in, tc_graph_tensor *out, tc_error *err);

#endif
