/* Max and Min of any number of operands: chains of operators on two. */
#include "graph/ir/build.h"
#include "graph/ops/functions.h"

/* op(a, b, c, d)  =>  op(op(op(a, b), c), d) */
tc_status tc_graph_infer_variadic(tc_graph_infer_ctx *c) {
    int n = c->n->nin;
    tc_graph_drop_attr(c->n, TC_ATTR_consumed_inputs);
    if (n == 1)
        return tc_graph_infer_identity(c);
    tc_graph_value *chain[2] = {c->n->in[0], c->n->in[n - 1]};
    for (int k = 1; k < n - 1; k++) {
        TC_TRY(tc_graph_want_same_type(c, 0, k));
        TC_TRY(tc_graph_emit(c, tc_graph_emit_node(c, c->n->op, (tc_graph_value *[]){chain[0], c->n->in[k]}, 2), &chain[0]));
    }
    tc_graph_set_inputs(c->g, c->n, chain, 2);
    tc_graph_become(c, c->n->op, 2);
    return tc_graph_infer_pointwise(c);
}
