/* Shared by the passes over quantised values: reads QuantizeLinear and DequantizeLinear. */
#ifndef TC_GRAPH_PASSES_QUANTISED_H
#define TC_GRAPH_PASSES_QUANTISED_H

#include "graph/passes/pass.h"

/* The elements of v have one or two bytes: u8, i8, u16 or i16. */
bool tc_graph_is_narrow(const tc_graph_value *v);
/* v's producer, when that is `op`. */
tc_graph_node *tc_graph_made_by(const tc_graph_value *v, tc_graph_op op);
/* The DequantizeLinear that makes v; NULL: another node makes it. */
tc_graph_node *tc_graph_dequantisation_of(const tc_graph_value *v);
/* n is a function of its only operand, element by element. */
bool tc_graph_selects(const tc_graph_node *n);
/* Operand k of n; NULL where it is left out. */
static inline tc_graph_value *tc_graph_operand_of(const tc_graph_node *n, int k) {
    return k < n->nin ? n->in[k] : NULL;
}
/* The parameters of a QuantizeLinear or DequantizeLinear are constants, the scales finite and larger than 0. */
bool tc_graph_known_scales(const tc_graph_node *n);
/* As above, with one scale and one zero point for all elements. */
bool tc_graph_one_scale(const tc_graph_node *n, float *scale, int64_t *zero);
/* Both nodes have the same constant parameters, to the bit, and the same quantised type. */
bool tc_graph_same_scales(const tc_graph_node *quantize, const tc_graph_node *dequantize);

/* Walks over the nodes in order and writes a new list of nodes: `visit` appends the replacement of each node to g->nodes. */
typedef tc_status tc_graph_visit(tc_graph *g, tc_graph_node *n, void *user, tc_error *err);
tc_status tc_graph_rewrite_nodes(tc_graph *g, tc_graph_visit *visit, void *user, tc_error *err);

#endif
