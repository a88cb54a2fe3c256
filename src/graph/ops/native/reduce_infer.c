/* Inference of contractions, reductions, and operators along axes. */
#include <inttypes.h>
#include <string.h>

#include "graph/ir/build.h"
#include "graph/ops/functions.h"

/* ---- MatMul, Gemm ---- */

/* MatMul of vectors: [K] becomes [1,K] on the left, [K,1] on the right, and the result loses that dimension again. */
static tc_status matmul_vectors(tc_graph_infer_ctx *c) {
    tc_graph_value *a = c->n->in[0], *b = c->n->in[1], *wide[2];
    bool va = a->shape.ndim == 1, vb = b->shape.ndim == 1;
    tc_graph_shape sa = va ? (tc_graph_shape){2, {1, a->shape.d[0]}} : a->shape;
    tc_graph_shape sb = vb ? (tc_graph_shape){2, {b->shape.d[0], 1}} : b->shape;
    TC_TRY(tc_graph_emit_reshape(c, a, &sa, &wide[0]));
    TC_TRY(tc_graph_emit_reshape(c, b, &sb, &wide[1]));
    tc_graph_value *y;
    TC_TRY(tc_graph_emit(c, tc_graph_emit_node(c, TC_GRAPH_OP_MATMUL, wide, 2), &y));
    tc_graph_shape s = {0};
    for (int i = 0; i < y->shape.ndim; i++)
        if (!(va && i == y->shape.ndim - 2) && !(vb && i == y->shape.ndim - 1))
            s.d[s.ndim++] = y->shape.d[i];
    tc_graph_set_inputs(c->g, c->n, &y, 1);
    c->out[0].shape = s;
    tc_graph_become_reshape(c);
    return TC_OK;
}

tc_status tc_graph_infer_matmul(tc_graph_infer_ctx *c) {
    const tc_graph_value *a = c->n->in[0], *b = c->n->in[1];
    TC_TRY(tc_graph_want_same_type(c, 0, 1));
    TC_TRY(tc_graph_want_number(c, 0));
    if (a->shape.ndim < 1 || b->shape.ndim < 1)
        return tc_graph_node_fail(c, "its operands must have at least one dimension");
    if (a->shape.ndim == 1 || b->shape.ndim == 1)
        return matmul_vectors(c);
    int na = a->shape.ndim, nb = b->shape.ndim;
    if (a->shape.d[na - 1] != b->shape.d[nb - 2])
        return tc_graph_node_fail(c, "the inner dimensions of %s and %s differ",
                                  tc_graph_type_str(c->g->arena, a->dtype, &a->shape),
                                  tc_graph_type_str(c->g->arena, b->dtype, &b->shape));
    tc_graph_shape ba = a->shape, bb = b->shape, s;
    ba.ndim -= 2;
    bb.ndim -= 2;
    TC_TRY(tc_graph_want_broadcast(c, &ba, &bb, &s));
    s.d[s.ndim++] = a->shape.d[na - 2];
    s.d[s.ndim++] = b->shape.d[nb - 1];
    c->out[0] = (tc_graph_type){a->dtype, s};
    return TC_OK;
}

tc_status tc_graph_infer_gemm(tc_graph_infer_ctx *c) {
    const tc_graph_value *a = c->n->in[0], *b = c->n->in[1], *bias = tc_graph_in(c, 2);
    tc_graph_node *n = c->n;
    TC_TRY(tc_graph_want_same_type(c, 0, 1));
    TC_TRY(tc_graph_want_same_type(c, 0, 2));
    TC_TRY(tc_graph_want_number(c, 0));
    if (a->shape.ndim != 2 || b->shape.ndim != 2)
        return tc_graph_node_fail(c, "its operands must have 2 dimensions, but have %d and %d", a->shape.ndim, b->shape.ndim);
    bool ta = tc_graph_attr_trans_a(n), tb = tc_graph_attr_trans_b(n);
    tc_graph_shape s = {2, {a->shape.d[ta], b->shape.d[!tb]}}, with_bias = s;
    if (a->shape.d[!ta] != b->shape.d[tb])
        return tc_graph_node_fail(c, "the inner dimensions of %s and %s differ (transA %d, transB %d)",
                                  tc_graph_type_str(c->g->arena, a->dtype, &a->shape),
                                  tc_graph_type_str(c->g->arena, b->dtype, &b->shape), ta, tb);
    if (bias && (!tc_graph_shape_broadcast(&s, &bias->shape, &with_bias) || !tc_graph_shape_equal(&s, &with_bias)))
        return tc_graph_node_fail(c, "the addend '%s' does not broadcast to the result", bias->name);
    tc_graph_set_alpha(c->g, n, tc_graph_attr_alpha(n));
    tc_graph_set_beta(c->g, n, tc_graph_attr_beta(n));
    tc_graph_set_trans_a(c->g, n, ta);
    tc_graph_set_trans_b(c->g, n, tb);
    tc_graph_drop_attr(n, TC_ATTR_broadcast);
    c->out[0] = (tc_graph_type){a->dtype, s};
    return TC_OK;
}

/* ---- reductions ---- */

static tc_graph_shape reduced_shape(const tc_graph_shape *x, const bool marked[TC_GRAPH_MAX_DIMS], bool keepdims) {
    tc_graph_shape s = {0};
    for (int i = 0; i < x->ndim; i++)
        if (!marked[i])
            s.d[s.ndim++] = x->d[i];
        else if (keepdims)
            s.d[s.ndim++] = 1;
    return s;
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
    c->out[0] = (tc_graph_type){x->dtype, x->shape};
    if (len == 0 && tc_graph_attr_noop_with_empty_axes(c->n)) {
        reduce_nothing(c, x);
        return TC_OK;
    }
    if (x->shape.ndim == 0) { /* a scalar is reduced as one element in one dimension */
        TC_TRY(tc_graph_emit_reshape(c, x, &(tc_graph_shape){1, {1}}, &x));
        tc_graph_set_inputs(c->g, c->n, &x, 1);
        keepdims = false;
    }
    int64_t sorted[TC_GRAPH_MAX_DIMS];
    for (size_t i = 0; i < len; i++) {
        int at;
        TC_TRY(tc_graph_want_axis(c, axes[i], x->shape.ndim, &at));
        marked[at] = true;
    }
    size_t n = 0;
    for (int i = 0; i < x->shape.ndim; i++) {
        marked[i] |= len == 0;
        if (marked[i])
            sorted[n++] = i;
    }
    tc_graph_become(c, op, 1);
    tc_graph_set_axes(c->g, c->n, sorted, n);
    tc_graph_set_keepdims(c->g, c->n, keepdims);
    c->out[0].shape = reduced_shape(&x->shape, marked, keepdims);
    return TC_OK;
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
    c->out[0] = (tc_graph_type){TC_I64, reduced_shape(&x->shape, marked, keepdims)};
    return TC_OK;
}

/* ---- along axes ---- */

/* Before opset 13 the dims from axis on count as one: Reshape to two dimensions, Softmax over the second, Reshape back. */
static tc_status old_softmax(tc_graph_infer_ctx *c) {
    tc_graph_value *x = c->n->in[0];
    int axis;
    TC_TRY(tc_graph_want_axis(c, tc_graph_attr_axis_or(c->n, 1), x->shape.ndim, &axis));
    if (axis == x->shape.ndim - 1) {
        tc_graph_set_axis(c->g, c->n, axis);
        return TC_OK;
    }
    tc_graph_shape flat = {2, {1, 1}};
    for (int i = 0; i < x->shape.ndim; i++)
        flat.d[i >= axis] *= x->shape.d[i];
    TC_TRY(tc_graph_emit_reshape(c, x, &flat, &x));
    TC_TRY(tc_graph_emit(c, tc_graph_emit_node(c, c->n->op, &x, 1), &x));
    tc_graph_set_inputs(c->g, c->n, &x, 1);
    tc_graph_become_reshape(c);
    return TC_OK;
}

tc_status tc_graph_infer_softmax(tc_graph_infer_ctx *c) {
    const tc_graph_value *x = c->n->in[0];
    int axis;
    TC_TRY(tc_graph_want_float(c, 0));
    c->out[0] = (tc_graph_type){x->dtype, x->shape};
    if (c->opset < 13)
        return old_softmax(c);
    TC_TRY(tc_graph_want_axis(c, tc_graph_attr_axis_or(c->n, -1), x->shape.ndim, &axis));
    tc_graph_set_axis(c->g, c->n, axis);
    return TC_OK;
}

tc_status tc_graph_infer_cum_sum(tc_graph_infer_ctx *c) {
    const tc_graph_value *x = c->n->in[0];
    int64_t exclusive = tc_graph_attr_exclusive(c->n), reverse = tc_graph_attr_reverse(c->n);
    int axis;
    TC_TRY(tc_graph_want_number(c, 0));
    if (tc_graph_attr_find(c->n, TC_ATTR_axis)) {
        TC_TRY(tc_graph_want_axis(c, tc_graph_attr_axis(c->n), x->shape.ndim, &axis));
    } else {
        const int64_t *v;
        size_t len;
        TC_TRY(tc_graph_want_ints(c, 1, "axis", &v, &len));
        if (len != 1)
            return tc_graph_node_fail(c, "input 1 (axis) must have one element");
        TC_TRY(tc_graph_want_axis(c, v[0], x->shape.ndim, &axis));
    }
    tc_graph_become(c, TC_GRAPH_OP_CUM_SUM, 1);
    tc_graph_set_axis(c->g, c->n, axis);
    tc_graph_set_exclusive(c->g, c->n, exclusive);
    tc_graph_set_reverse(c->g, c->n, reverse);
    c->out[0] = (tc_graph_type){x->dtype, x->shape};
    return TC_OK;
}

tc_status tc_graph_infer_layer_norm(tc_graph_infer_ctx *c) {
    const tc_graph_value *x = c->n->in[0];
    int axis;
    TC_TRY(tc_graph_want_float(c, 0));
    TC_TRY(tc_graph_want_axis(c, tc_graph_attr_axis_or(c->n, -1), x->shape.ndim, &axis));
    double epsilon = tc_graph_attr_epsilon(c->n);
    for (int k = 1; k < c->n->nin; k++) {
        const tc_graph_value *v = c->n->in[k];
        tc_graph_shape s;
        TC_TRY(tc_graph_want_same_type(c, 0, k));
        if (!tc_graph_shape_broadcast(&x->shape, &v->shape, &s) || !tc_graph_shape_equal(&s, &x->shape))
            return tc_graph_node_fail(c, "input %d ('%s') does not broadcast to the input's shape", k, v->name);
    }
    tc_graph_become(c, TC_GRAPH_OP_LAYER_NORM, c->n->nin);
    tc_graph_set_axis(c->g, c->n, axis);
    tc_graph_set_epsilon(c->g, c->n, epsilon);
    c->out[0] = (tc_graph_type){x->dtype, x->shape};
    for (int k = 1; k < c->nout; k++) {
        c->out[k] = (tc_graph_type){x->dtype == TC_F64 ? TC_F64 : TC_F32, x->shape};
        for (int i = axis; i < x->shape.ndim; i++)
            c->out[k].shape.d[i] = 1;
    }
    return TC_OK;
}

tc_status tc_graph_infer_batch_norm(tc_graph_infer_ctx *c) {
    const tc_graph_value *x = c->n->in[0];
    TC_TRY(tc_graph_want_float(c, 0));
    double epsilon = tc_graph_attr_epsilon(c->n);
    if (tc_graph_attr_training_mode(c->n) || c->nout > 1)
        return tc_graph_node_fail(c, "it is in training mode: export the model for inference");
    if (!tc_graph_attr_spatial(c->n))
        return tc_graph_node_fail(c, "attribute spatial must be 1");
    if (x->shape.ndim < 2)
        return tc_graph_node_fail(c, "the input must have at least 2 dimensions");
    for (int k = 1; k < 5; k++)
        if (c->n->in[k]->shape.ndim != 1 || c->n->in[k]->shape.d[0] != x->shape.d[1])
            return tc_graph_node_fail(c, "input %d ('%s') must have one element per channel (%" PRId64 ")", k, c->n->in[k]->name,
                                      x->shape.d[1]);
    tc_graph_become(c, TC_GRAPH_OP_BATCH_NORM, 5);
    tc_graph_set_epsilon(c->g, c->n, epsilon);
    c->out[0] = (tc_graph_type){x->dtype, x->shape};
    return TC_OK;
}
