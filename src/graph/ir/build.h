/* Functions for code that adds nodes to a graph: ONNX's element types, names, storage of constants. */
#ifndef TC_GRAPH_IR_BUILD_H
#define TC_GRAPH_IR_BUILD_H

#include "graph/ir/graph.h"

/* ---- ONNX element types ---- */
bool tc_graph_dtype_of_onnx(int64_t code, tc_dtype *out); /* false where we have no such type */
int tc_graph_dtype_to_onnx(tc_dtype t);
const char *tc_graph_onnx_type_name(int64_t code); /* "STRING", "FLOAT8E4M3FN", ... or "unknown" */

/* ---- building ---- */
/* Keeps the bytes alive as long as the graph (takes over OWNED storage, copies a VIEW); t becomes a view. */
const tc_graph_tensor *tc_graph_keep_tensor(tc_graph *g, tc_graph_tensor *t);
/* "base", or "base.2" and so on when that is taken or reserved. */
const char *tc_graph_fresh_name(tc_graph *g, const char *base);
/* A constant of these numbers, named after `base`; NULL when memory is short, and `err` says so. */
tc_graph_value *tc_graph_constant_of(tc_graph *g, const char *base, tc_dtype t, const tc_graph_shape *s, const double *v,
                                     tc_error *err);
static inline bool tc_graph_owns(const tc_graph *g, const tc_graph_value *v) {
    return v->id < g->values.len && g->values.data[v->id] == v;
}
/* Origins live in the graph's arena and are not changed. `a` and `b` may be NULL, as may the result; a or b themselves where
 * these have all names. */
const tc_graph_origin *tc_graph_origin_of(tc_graph *g, const char *name);
const tc_graph_origin *tc_graph_origin_join(tc_graph *g, const tc_graph_origin *a, const tc_graph_origin *b);
const tc_graph_origin *tc_graph_origin_copy(tc_graph *g, const tc_graph_origin *o); /* of another graph's */
void tc_graph_set_inputs(tc_graph *g, tc_graph_node *n, tc_graph_value *const *in, int nin);

#endif
