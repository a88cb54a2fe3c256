/* The operator table as functions. */
#include "graph/ops/functions.h"

static const tc_graph_functions functions[TC_GRAPH_OP_COUNT] = {
#define OP(id, name, since, min_in, max_in, min_out, max_out, class, traits, infer, eval, at, last, rewrite, ...)                \
    [TC_GRAPH_OP_##id] = {tc_graph_infer_##infer, tc_graph_eval_##eval, tc_graph_at_##at, tc_graph_rewrite_##rewrite},
#include "graph/ir/ops.def"
#undef OP
};

const tc_graph_functions *tc_graph_functions_of(tc_graph_op op) {
    return &functions[op];
}
