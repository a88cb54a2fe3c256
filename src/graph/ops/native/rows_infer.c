/* Inference of operators along axes, which keep the shape: softmax and its kin, running sums, normalisations. */
#include <inttypes.h>
#include <string.h>

#include "graph/ir/build.h"
#include "graph/ops/functions.h"

/* Before opset 13 the dims from axis on count as one: Reshape to two dimensions, Softmax over the second, Reshape back. */
static tc_status old_softmax(tc_graph_infer_ctx *c) {
    tc_graph_value *x = c->n->in[0];
    int axis;
    TC_TRY(tc_graph_want_axis(c, tc_graph_attr_axis_or(c->n, 1), x->shape.ndim, &axis));
    if (axis == x->shape.ndim - 1) {
        tc_graph_set_axis(c->g, c->n, axis);
        return tc_graph_read_all(c, 0, axis, tc_graph_neutral(c->n->op));
    }
    tc_graph_emitter e = {c, TC_OK};
    tc_graph_type flat = {.dtype = x->dtype};
    tc_graph_add_flat(&e, &flat, x, 0, axis);
    tc_graph_add_flat(&e, &flat, x, axis, x->shape.ndim);
    x = em_unary(&e, c->n->op, tc_graph_em_reshaped(&e, x, &flat));
    return tc_graph_em_finish(&e, tc_graph_em_reshaped(&e, x, &c->out[0]));
}

tc_status tc_graph_infer_softmax(tc_graph_infer_ctx *c) {
    const tc_graph_value *x = c->n->in[0];
    int axis;
    TC_TRY(tc_graph_want_float(c, 0));
    c->out[0] = tc_graph_like(c, 0);
    if (c->opset < 13)
        return old_softmax(c);
    TC_TRY(tc_graph_want_axis(c, tc_graph_attr_axis_or(c->n, -1), x->shape.ndim, &axis));
    tc_graph_set_axis(c->g, c->n, axis);
    return tc_graph_read_all(c, 0, axis, tc_graph_neutral(c->n->op));
}

/* Longer axes go to a library kernel, whose time is linear. Up to here a kernel that sums anew for every element is as fast, and
 * fusion can join it to others. */
enum { SUMMED_ANEW = 64 };

static tc_status cum_sum_by_library(tc_graph_infer_ctx *c, tc_graph_value *x, int axis) {
    tc_graph_emitter e = {c, TC_OK};
    bool reverse = tc_graph_attr_reverse(c->n), half = x->dtype == TC_F16 || x->dtype == TC_BF16;
    tc_graph_value *v = reverse ? tc_graph_em_masked(&e, x, axis, tc_graph_em_scalar(&e, x->dtype, 0)) : x;
    v = tc_graph_em_cast(&e, tc_graph_em_blind(&e, v), half ? TC_F32 : x->dtype);
    tc_graph_node *n = tc_graph_em_node(&e, TC_GRAPH_OP_CUM_SUM_LIST, &v, 1);
    tc_graph_set_axis(c->g, n, axis);
    tc_graph_set_exclusive(c->g, n, tc_graph_attr_exclusive(c->n));
    tc_graph_set_reverse(c->g, n, reverse);
    v = tc_graph_em_cast(&e, tc_graph_em_place(&e, n), x->dtype);
    return tc_graph_em_finish(&e, tc_graph_em_with_sizes(&e, v, x, -1, NULL));
}

tc_status tc_graph_infer_cum_sum_list(tc_graph_infer_ctx *c) {
    c->out[0] = (tc_graph_type){.dtype = c->n->in[0]->dtype, .shape = c->n->in[0]->shape};
    return TC_OK;
}

tc_status tc_graph_infer_cum_sum(tc_graph_infer_ctx *c) {
    tc_graph_value *x = c->n->in[0];
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
    if (x->shape.d[axis] > SUMMED_ANEW && tc_graph_shape_count(&x->shape) > 0)
        return cum_sum_by_library(c, x, axis);
    tc_graph_become(c, TC_GRAPH_OP_CUM_SUM, 1);
    tc_graph_set_axis(c->g, c->n, axis);
    tc_graph_set_exclusive(c->g, c->n, exclusive);
    tc_graph_set_reverse(c->g, c->n, reverse);
    c->out[0] = tc_graph_like(c, 0);
    return tc_graph_read_all(c, 0, axis, tc_graph_neutral(c->n->op));
}

/* The type of Mean and InvStdDev. */
static tc_status stash_type(tc_graph_infer_ctx *c, tc_dtype *out) {
    int64_t code = tc_graph_attr_stash_type(c->n);
    if (tc_graph_dtype_of_onnx(code, out) && tc_dtype_is_float(*out) && !tc_dtype_is_stored(*out))
        return TC_OK;
    return tc_graph_node_fail(c, "attribute stash_type must be f32, f64, f16 or bf16, but is %s", tc_graph_onnx_type_name(code));
}

tc_status tc_graph_infer_layer_norm(tc_graph_infer_ctx *c) {
    const tc_graph_value *x = c->n->in[0];
    int axis;
    TC_TRY(tc_graph_want_float(c, 0));
    TC_TRY(tc_graph_want_axis(c, tc_graph_attr_axis_or(c->n, -1), x->shape.ndim, &axis));
    double epsilon = tc_graph_attr_epsilon(c->n);
    tc_dtype stash;
    TC_TRY(stash_type(c, &stash));
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
    if (stash != TC_F32)
        tc_graph_set_stash_type(c->g, c->n, tc_graph_dtype_to_onnx(stash));
    for (int k = 0; k < c->nout; k++) {
        c->out[k].dtype = k ? stash : x->dtype;
        tc_graph_take(c, &c->out[k], 0, 0, axis);
        for (int i = axis; i < x->shape.ndim; i++)
            tc_graph_add_dim(&c->out[k], k ? 1 : x->shape.d[i]);
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
    for (int k = 1; k < 5; k++) {
        if (c->n->in[k]->shape.ndim != 1 || c->n->in[k]->shape.d[0] != x->shape.d[1])
            return tc_graph_node_fail(c, "input %d ('%s') must have one element per channel (%" PRId64 ")", k, c->n->in[k]->name,
                                      x->shape.d[1]);
        tc_graph_read_some(c, k, 0, 1);
    }
    tc_graph_become(c, TC_GRAPH_OP_BATCH_NORM, 5);
    tc_graph_set_epsilon(c->g, c->n, epsilon);
    c->out[0] = tc_graph_like(c, 0);
    return TC_OK;
}
