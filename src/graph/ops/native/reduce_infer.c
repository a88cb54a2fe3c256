/* Inference of reductions, and of searches for the largest and smallest. */
#include <inttypes.h>
#include <string.h>

#include "graph/ir/build.h"
#include "graph/ops/functions.h"

/* The result has the dimensions of operand 0 that are not marked, and 1 for the others if they are kept. */
static tc_status reduce_dims(tc_graph_infer_ctx *c, tc_dtype t, const bool marked[TC_GRAPH_MAX_DIMS], bool keepdims) {
    int ndim = c->n->in[0]->shape.ndim;
    c->out[0] = (tc_graph_type){.dtype = t};
    for (int i = 0; i < ndim; i++)
        if (!marked[i])
            tc_graph_take(c, &c->out[0], 0, i, i + 1);
        else if (keepdims)
            tc_graph_add_dim(&c->out[0], 1);
    for (int i = 0; i < ndim; i++)
        if (marked[i])
            TC_TRY(tc_graph_read_all(c, 0, i, tc_graph_neutral(c->n->op)));
    return TC_OK;
}

/* A reduction over no axes at all: nothing is summed, but what comes before and after the sum is still done. */
static void reduce_nothing(tc_graph_infer_ctx *c, tc_graph_value *x) {
    tc_graph_op op = c->n->op;
    if (op == TC_GRAPH_OP_REDUCE_SUM_SQUARE) {
        tc_graph_become(c, TC_GRAPH_OP_MUL, 1);
        tc_graph_set_inputs(c->g, c->n, (tc_graph_value *[]){x, x}, 2);
    } else if (op == TC_GRAPH_OP_REDUCE_L1 || op == TC_GRAPH_OP_REDUCE_L2) {
        tc_graph_become(c, TC_GRAPH_OP_ABS, 1);
    } else {
        tc_graph_become(c, op == TC_GRAPH_OP_REDUCE_LOG_SUM ? TC_GRAPH_OP_LOG : TC_GRAPH_OP_IDENTITY, 1);
    }
}

tc_status tc_graph_infer_reduce(tc_graph_infer_ctx *c) {
    tc_graph_value *x = c->n->in[0];
    tc_graph_op op = c->n->op;
    const int64_t *axes;
    size_t len;
    bool marked[TC_GRAPH_MAX_DIMS] = {0}, keepdims = tc_graph_attr_keepdims(c->n);
    TC_TRY(tc_graph_want_list(c, 1, TC_ATTR_axes, &axes, &len));
    if (op != TC_GRAPH_OP_REDUCE_MAX && op != TC_GRAPH_OP_REDUCE_MIN)
        TC_TRY(tc_graph_want_number(c, 0));
    if (len == 0 && tc_graph_attr_noop_with_empty_axes(c->n)) {
        reduce_nothing(c, x);
        tc_graph_read_some(c, c->n->nin - 1, 0, x->shape.ndim); /* x again */
        c->out[0] = tc_graph_like(c, 0);
        return TC_OK;
    }
    if (x->shape.ndim == 0) { /* a scalar is reduced as one element in one dimension */
        tc_graph_emitter e = {c, TC_OK};
        x = tc_graph_em_one(&e, TC_GRAPH_OP_UNSQUEEZE, x, 0);
        TC_TRY(e.status);
        tc_graph_set_inputs(c->g, c->n, &x, 1);
        keepdims = false;
    }
    int64_t sorted[TC_GRAPH_MAX_DIMS], count = 1;
    for (size_t i = 0; i < len; i++) {
        int at;
        TC_TRY(tc_graph_want_axis(c, axes[i], x->shape.ndim, &at));
        marked[at] = true;
    }
    size_t n = 0;
    for (int i = 0; i < x->shape.ndim; i++) {
        marked[i] |= len == 0;
        if (marked[i])
            sorted[n++] = i, count *= x->shape.d[i];
    }
    bool divides_integers = op == TC_GRAPH_OP_REDUCE_MEAN && !tc_dtype_is_float(x->dtype);
    tc_graph_become(c, divides_integers ? TC_GRAPH_OP_INTEGER_MEAN : op, 1);
    tc_graph_set_axes(c->g, c->n, sorted, n);
    tc_graph_set_keepdims(c->g, c->n, keepdims);
    if (divides_integers) {
        tc_graph_emitter e = {c, TC_OK};
        tc_graph_set_inputs(c->g, c->n, (tc_graph_value *[]){x, tc_graph_em_number(&e, count)}, 2);
        return tc_graph_infer_expansion(c);
    }
    return reduce_dims(c, x->dtype, marked, keepdims);
}

tc_status tc_graph_infer_arg(tc_graph_infer_ctx *c) {
    const tc_graph_value *x = c->n->in[0];
    bool marked[TC_GRAPH_MAX_DIMS] = {0}, keepdims = tc_graph_attr_keepdims(c->n);
    int64_t last = tc_graph_attr_select_last_index(c->n);
    int axis;
    TC_TRY(tc_graph_want_number(c, 0));
    TC_TRY(tc_graph_want_axis(c, tc_graph_attr_axis(c->n), x->shape.ndim, &axis));
    if (x->shape.d[axis] == 0)
        return tc_graph_node_fail(c, "axis %d is empty", axis);
    marked[axis] = true;
    tc_graph_set_axis(c->g, c->n, axis);
    tc_graph_set_keepdims(c->g, c->n, keepdims);
    tc_graph_set_select_last_index(c->g, c->n, last);
    return reduce_dims(c, TC_I64, marked, keepdims);
}
