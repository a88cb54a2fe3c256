/* Computes the dequantised constants that other passes have left: they are the weights of kernels that take floats.
 *
 *   DQ(w: constant, s, z)   =>   a constant of floats */
#include "graph/ir/build.h"
#include "graph/ops/eval.h"
#include "graph/ops/ops.h"
#include "graph/passes/quantised.h"

static bool all_constant(const tc_graph_node *n) {
    for (int k = 0; k < n->nin; k++)
        if (n->in[k] && !n->in[k]->constant)
            return false;
    return true;
}

static tc_status visit(tc_graph *g, tc_graph_node *n, void *user, tc_error *err) {
    (void)user;
    const tc_graph_tensor *in[3] = {NULL, NULL, NULL};
    tc_graph_tensor out;
    if (!tc_graph_op_is(n->op, TC_GRAPH_WIDENS) || !all_constant(n)) {
        tc_push(&g->nodes, n);
        return TC_OK;
    }
    for (int k = 0; k < n->nin; k++)
        in[k] = n->in[k] ? n->in[k]->constant : NULL;
    TC_TRY(tc_graph_eval_node(n, in, &out, err));
    n->out[0]->constant = tc_graph_keep_tensor(g, &out);
    n->out[0]->producer = NULL;
    return TC_OK;
}

tc_status tc_graph_pass_dequantise_constants(tc_graph *g, tc_error *err) {
    return tc_graph_rewrite_nodes(g, visit, NULL, err);
}
