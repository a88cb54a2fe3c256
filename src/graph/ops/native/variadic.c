/* Max, Min, Sum and Mean of any number of operands, and Clip: chains of operators on two. */
#include "graph/ir/build.h"
#include "graph/ops/functions.h"

/* op(a, b, c, d)  =>  pair(pair(pair(a, b), c), d); a mean is then divided by the number of operands */
tc_status tc_graph_infer_variadic(tc_graph_infer_ctx *c) {
    tc_graph_op op = c->n->op;
    bool mean = op == TC_GRAPH_OP_MEAN;
    tc_graph_op pair = op == TC_GRAPH_OP_SUM || mean ? TC_GRAPH_OP_ADD : op;
    int n = c->n->nin;
    tc_graph_drop_attr(c->n, TC_ATTR_consumed_inputs);
    if (n == 1) {
        tc_graph_become(c, TC_GRAPH_OP_IDENTITY, 1);
        c->out[0] = tc_graph_like(c, 0);
        return TC_OK;
    }
    tc_graph_value *chain[2] = {c->n->in[0], NULL};
    for (int k = 1; k < n - !mean; k++) {
        TC_TRY(tc_graph_want_same_type(c, 0, k));
        chain[1] = c->n->in[k];
        TC_TRY(tc_graph_emit(c, tc_graph_emit_node(c, pair, chain, 2), &chain[0]));
    }
    chain[1] = mean ? tc_graph_emit_scalar(c, c->n->in[0]->dtype, n) : c->n->in[n - 1];
    tc_graph_set_inputs(c->g, c->n, chain, 2);
    tc_graph_become(c, mean ? TC_GRAPH_OP_DIV : pair, 2);
    return mean ? tc_graph_infer_divide(c) : tc_graph_infer_pointwise(c);
}

/* A bound of Clip: an input (a scalar, or one element in one dimension) or, before opset 11, an attribute. */
static tc_status clip_bound(tc_graph_infer_ctx *c, int k, tc_graph_attr_id id, tc_graph_value **out) {
    const tc_graph_attr *a = tc_graph_attr_find(c->n, id);
    tc_graph_value *v = k < c->n->nin ? c->n->in[k] : NULL;
    *out = a ? tc_graph_emit_scalar(c, c->n->in[0]->dtype, a->f) : v;
    if (a || !v)
        return TC_OK;
    TC_TRY(tc_graph_want_same_type(c, 0, k));
    if (tc_graph_shape_count(&v->shape) != 1)
        return tc_graph_node_fail(c, "input %d (%s) must be a scalar", k, tc_graph_attr_name(id));
    tc_graph_shape scalar = {0};
    return tc_graph_emit_reshape(c, v, &scalar, out);
}

/* Clip(x, lo, hi)  =>  Min(Max(x, lo), hi); where lo > hi that gives hi, as ONNX wants it */
tc_status tc_graph_infer_clip(tc_graph_infer_ctx *c) {
    tc_graph_value *x = c->n->in[0], *lo, *hi;
    TC_TRY(clip_bound(c, 1, TC_ATTR_min, &lo));
    TC_TRY(clip_bound(c, 2, TC_ATTR_max, &hi));
    c->out[0] = tc_graph_like(c, 0);
    if (lo && hi)
        TC_TRY(tc_graph_emit(c, tc_graph_emit_node(c, TC_GRAPH_OP_MAX, (tc_graph_value *[]){x, lo}, 2), &x));
    tc_graph_set_inputs(c->g, c->n, (tc_graph_value *[]){x, hi ? hi : lo}, 2);
    tc_graph_become(c, hi ? TC_GRAPH_OP_MIN : lo ? TC_GRAPH_OP_MAX : TC_GRAPH_OP_IDENTITY, hi || lo ? 2 : 1);
    return TC_OK;
}
