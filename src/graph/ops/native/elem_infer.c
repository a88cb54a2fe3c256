/* Inference of elementwise operators. */
#include <math.h>
#include <string.h>

#include "graph/ir/build.h"
#include "graph/ops/functions.h"

tc_status tc_graph_infer_unary(tc_graph_infer_ctx *c) {
    const tc_graph_value *x = c->n->in[0];
    if (x->dtype == TC_BOOL)
        return tc_graph_node_fail(c, "input 0 ('%s') must be a number, but is bool", x->name);
    tc_graph_become(c, c->n->op, 1);
    c->out[0] = tc_graph_like(c, 0);
    return TC_OK;
}

tc_status tc_graph_infer_unary_float(tc_graph_infer_ctx *c) {
    TC_TRY(tc_graph_want_float(c, 0));
    return tc_graph_infer_unary(c);
}

static const struct {
    tc_graph_op op;
    tc_graph_attr_id id;
    double otherwise;
} activation_floats[] = {
    {TC_GRAPH_OP_CELU, TC_ATTR_alpha, 1},
    {TC_GRAPH_OP_ELU, TC_ATTR_alpha, 1},
    {TC_GRAPH_OP_HARD_SIGMOID, TC_ATTR_alpha, 0.2F},
    {TC_GRAPH_OP_HARD_SIGMOID, TC_ATTR_beta, 0.5},
    {TC_GRAPH_OP_LEAKY_RELU, TC_ATTR_alpha, 0.01F},
    {TC_GRAPH_OP_SELU, TC_ATTR_alpha, 1.67326319217681884765625},
    {TC_GRAPH_OP_SELU, TC_ATTR_gamma, 1.05070102214813232421875},
    {TC_GRAPH_OP_SHRINK, TC_ATTR_bias, 0},
    {TC_GRAPH_OP_SHRINK, TC_ATTR_lambd, 0.5},
    {TC_GRAPH_OP_THRESHOLDED_RELU, TC_ATTR_alpha, 1},
};

tc_status tc_graph_infer_activation(tc_graph_infer_ctx *c) {
    if (c->n->op != TC_GRAPH_OP_SHRINK)
        TC_TRY(tc_graph_want_float(c, 0));
    for (size_t i = 0; i < TC_LEN(activation_floats); i++)
        if (activation_floats[i].op == c->n->op)
            tc_graph_set_float(c->g, c->n, activation_floats[i].id,
                               tc_graph_attr_float(c->n, activation_floats[i].id, activation_floats[i].otherwise));
    if (c->n->op == TC_GRAPH_OP_GELU) {
        const char *how = tc_graph_attr_approximate(c->n);
        if (strcmp(how, "none") != 0 && strcmp(how, "tanh") != 0)
            return tc_graph_node_refuse(c, TC_ERROR_UNSUPPORTED,
                                        "attribute approximate is '%s'; \"none\" and \"tanh\" are supported", how);
        tc_graph_set_approximate(c->g, c->n, how);
    }
    tc_graph_drop_attr(c->n, TC_ATTR_consumed_inputs);
    c->out[0] = tc_graph_like(c, 0);
    return TC_OK;
}

tc_status tc_graph_infer_classify(tc_graph_infer_ctx *c) {
    TC_TRY(tc_graph_want_float(c, 0));
    if (c->n->op == TC_GRAPH_OP_IS_INF) {
        tc_graph_set_detect_negative(c->g, c->n, tc_graph_attr_detect_negative(c->n));
        tc_graph_set_detect_positive(c->g, c->n, tc_graph_attr_detect_positive(c->n));
    }
    c->out[0] = tc_graph_like(c, 0);
    c->out[0].dtype = TC_BOOL;
    return TC_OK;
}

/* How floats become powers of two. */
static tc_status want_round_mode(tc_graph_infer_ctx *c, const char *mode) {
    if (strcmp(mode, "up") == 0 || strcmp(mode, "down") == 0 || strcmp(mode, "nearest") == 0)
        return TC_OK;
    return tc_graph_node_fail(c, "attribute round_mode must be up, down or nearest, but is '%s'", mode);
}

tc_status tc_graph_infer_cast(tc_graph_infer_ctx *c) {
    const tc_graph_value *x = c->n->in[0];
    tc_dtype to;
    if (c->n->op == TC_GRAPH_OP_CAST_LIKE) {
        to = c->n->in[1]->dtype;
    } else {
        int64_t code = tc_graph_attr_to(c->n);
        if (!tc_graph_dtype_of_onnx(code, &to))
            return tc_graph_node_refuse(c, TC_ERROR_UNSUPPORTED, "attribute to: element type %s is not supported",
                                        tc_graph_onnx_type_name(code));
    }
    int64_t saturate = tc_graph_attr_saturate(c->n);
    const char *round_mode = tc_graph_attr_round_mode(c->n);
    TC_TRY(want_round_mode(c, round_mode));
    tc_graph_become(c, to == x->dtype ? TC_GRAPH_OP_IDENTITY : TC_GRAPH_OP_CAST, 1);
    if (c->n->op == TC_GRAPH_OP_CAST)
        tc_graph_set_to(c->g, c->n, tc_graph_dtype_to_onnx(to));
    if (c->n->op == TC_GRAPH_OP_CAST && tc_float8_of(to))
        tc_graph_set_saturate(c->g, c->n, saturate);
    if (c->n->op == TC_GRAPH_OP_CAST && to == TC_F8E8M0)
        tc_graph_set_round_mode(c->g, c->n, round_mode);
    c->out[0] = tc_graph_like(c, 0);
    c->out[0].dtype = to;
    return TC_OK;
}

/* Opsets before 7 broadcast b only when told so, aligned at `axis`: trailing ones make that today's rule. */
static tc_status align_old_broadcast(tc_graph_infer_ctx *c) {
    const tc_graph_attr *axis = tc_graph_attr_find(c->n, TC_ATTR_axis);
    tc_graph_value *a = c->n->in[0], *b = c->n->in[1];
    int64_t broadcast = tc_graph_attr_broadcast(c->n);
    tc_graph_drop_attr(c->n, TC_ATTR_broadcast);
    tc_graph_drop_attr(c->n, TC_ATTR_axis);
    tc_graph_drop_attr(c->n, TC_ATTR_consumed_inputs);
    if (!broadcast || !axis)
        return TC_OK;
    int at;
    TC_TRY(tc_graph_want_axis(c, axis->i, a->shape.ndim, &at));
    if (at + b->shape.ndim > a->shape.ndim)
        return tc_graph_node_fail(c, "axis %d leaves no room for the %d dimensions of '%s'", at, b->shape.ndim, b->name);
    tc_graph_shape padded = b->shape;
    while (at + padded.ndim < a->shape.ndim)
        padded.d[padded.ndim++] = 1;
    return tc_graph_emit_reshape(c, b, &padded, &c->n->in[1]);
}

static tc_status infer_pair(tc_graph_infer_ctx *c) {
    TC_TRY(align_old_broadcast(c));
    c->out[0].dtype = c->n->in[0]->dtype;
    return tc_graph_take_broadcast(c, &c->out[0], 2, 0);
}

tc_status tc_graph_infer_binary(tc_graph_infer_ctx *c) {
    TC_TRY(tc_graph_want_same_type(c, 0, 1));
    if (c->n->in[0]->dtype == TC_BOOL)
        return tc_graph_node_fail(c, "its operands must be numbers, but are bool");
    if (c->n->op == TC_GRAPH_OP_MOD) {
        int64_t fmod_ = tc_graph_attr_fmod(c->n);
        if (!fmod_ && tc_dtype_is_float(c->n->in[0]->dtype))
            return tc_graph_node_fail(c, "attribute fmod must be 1 for floating-point operands");
        tc_graph_set_fmod(c->g, c->n, fmod_);
    }
    TC_TRY(infer_pair(c));
    bool divides = (c->n->op == TC_GRAPH_OP_DIV || c->n->op == TC_GRAPH_OP_MOD) && tc_dtype_is_int(c->n->in[0]->dtype);
    return divides ? tc_graph_read_all(c, 1, -1, TC_GRAPH_ONE) : TC_OK;
}

tc_status tc_graph_infer_pow(tc_graph_infer_ctx *c) {
    TC_TRY(tc_graph_want_number(c, 0));
    TC_TRY(tc_graph_want_number(c, 1));
    return infer_pair(c);
}

/* The slope broadcasts to x one way. */
tc_status tc_graph_infer_prelu(tc_graph_infer_ctx *c) {
    TC_TRY(tc_graph_want_same_type(c, 0, 1));
    TC_TRY(tc_graph_want_number(c, 0));
    tc_graph_value *x = c->n->in[0], *slope = c->n->in[1];
    tc_graph_drop_attr(c->n, TC_ATTR_consumed_inputs);
    if (c->opset < 7 && slope->shape.ndim == 1 && x->shape.ndim > 2) { /* one slope per channel */
        tc_graph_shape s = {.ndim = x->shape.ndim - 1, .d = {slope->shape.d[0], 1, 1, 1, 1, 1, 1, 1}};
        TC_TRY(tc_graph_emit_reshape(c, slope, &s, &c->n->in[1]));
    }
    TC_TRY(infer_pair(c));
    if (!tc_graph_shape_equal(&c->out[0].shape, &x->shape))
        return tc_graph_node_fail(c, "the slope '%s' does not broadcast to the input's shape", slope->name);
    return TC_OK;
}

tc_status tc_graph_infer_bit_shift(tc_graph_infer_ctx *c) {
    const char *direction = tc_graph_attr_direction(c->n);
    if (strcmp(direction, "LEFT") != 0 && strcmp(direction, "RIGHT") != 0)
        return tc_graph_node_fail(c, "attribute direction must be LEFT or RIGHT, not '%s'", direction);
    return tc_graph_infer_bitwise(c);
}

tc_status tc_graph_infer_bitwise(tc_graph_infer_ctx *c) {
    for (int k = 0; k < c->n->nin; k++)
        if (!tc_dtype_is_int(c->n->in[k]->dtype))
            return tc_graph_node_fail(c, "input %d must be an integer, but is %s", k, tc_dtype_name(c->n->in[k]->dtype));
    TC_TRY(tc_graph_want_same_type(c, 0, 1));
    if (c->n->nin == 2)
        return infer_pair(c);
    c->out[0] = tc_graph_like(c, 0);
    return TC_OK;
}

tc_status tc_graph_infer_compare(tc_graph_infer_ctx *c) {
    TC_TRY(tc_graph_want_same_type(c, 0, 1));
    TC_TRY(infer_pair(c));
    c->out[0].dtype = TC_BOOL;
    return TC_OK;
}

tc_status tc_graph_infer_logic(tc_graph_infer_ctx *c) {
    for (int k = 0; k < c->n->nin; k++)
        if (c->n->in[k]->dtype != TC_BOOL)
            return tc_graph_node_fail(c, "input %d must be bool, but is %s", k, tc_dtype_name(c->n->in[k]->dtype));
    if (c->n->nin == 2)
        return infer_pair(c);
    c->out[0] = tc_graph_like(c, 0);
    return TC_OK;
}

tc_status tc_graph_infer_where(tc_graph_infer_ctx *c) {
    const tc_graph_value *cond = c->n->in[0];
    if (cond->dtype != TC_BOOL)
        return tc_graph_node_fail(c, "the condition '%s' must be bool, but is %s", cond->name, tc_dtype_name(cond->dtype));
    TC_TRY(tc_graph_want_same_type(c, 1, 2));
    c->out[0].dtype = c->n->in[1]->dtype;
    return tc_graph_take_broadcast(c, &c->out[0], 3, 0);
}

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
    return tc_graph_infer_binary(c);
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
