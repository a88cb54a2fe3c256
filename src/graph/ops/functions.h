/* src/graph/ops/native owns the families of operators that have an evaluation and a lowering of their own, each
 * family's functions side by side. Not here: operators that are written in terms of others: src/graph/ops/composed owns
 * these, and those that library kernels compute.
 *
 * Every file of a family includes this header: the functions that the operator table (ir/ops.def) names, and what they
 * share. */
#ifndef TC_GRAPH_OPS_FUNCTIONS_H
#define TC_GRAPH_OPS_FUNCTIONS_H

#include "graph/ops/dynamic.h"
#include "graph/ops/eval.h"
#include "graph/ops/lower.h"

typedef struct tc_graph_functions {
    tc_graph_infer_fn *infer;     /* types the outputs, brings the node into canonical form */
    tc_graph_eval_fn *eval;       /* the reference */
    tc_graph_at_fn *at;           /* an element of an output as an expression */
    tc_graph_dynamic_fn *rewrite; /* where operands have sizes that vary: before inference */
} tc_graph_functions;

/* None is NULL: where the table says `none`, the function fails with the reason. */
const tc_graph_functions *tc_graph_functions_of(tc_graph_op op);

#define OP(id, name, since, min_in, max_in, min_out, max_out, class, traits, infer, eval, at, last, rewrite, ...)                \
    tc_graph_infer_fn tc_graph_infer_##infer;                                                                                    \
    tc_graph_eval_fn tc_graph_eval_##eval;                                                                                       \
    tc_graph_at_fn tc_graph_at_##at;                                                                                             \
    tc_graph_dynamic_fn tc_graph_rewrite_##rewrite;
#include "graph/ir/ops.def"
#undef OP

#endif
