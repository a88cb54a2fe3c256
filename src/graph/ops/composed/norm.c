/* Inference of normalisations that are others in disguise, or short expressions. */
#include <inttypes.h>
#include <math.h>

#include "graph/ops/functions.h"

/* x is [N, C, ...], and v has one element for each of `n` channels (or groups). */
static tc_status want_channels(tc_graph_infer_ctx *c, int k, int64_t n) {
    const tc_graph_value *v = c->n->in[k];
    if (v->shape.ndim == 1 && v->shape.d[0] == n)
        return TC_OK;
    return tc_graph_node_fail(c, "input %d ('%s') must have %" PRId64 " elements in one dimension", k, v->name, n);
}

static tc_status want_batch_and_channels(tc_graph_infer_ctx *c) {
    TC_TRY(tc_graph_want_float(c, 0));
    if (c->n->in[0]->shape.ndim < 2)
        return tc_graph_node_fail(c, "the input must be [N, C, ...], but has %d dimensions", c->n->in[0]->shape.ndim);
    return TC_OK;
}

/* All elements of x from dimension `axis` on are one row. */
static tc_graph_value *normalise_rows(tc_graph_emitter *e, tc_graph_value *x, tc_graph_value *scale, tc_graph_value *bias,
                                      int axis) {
    tc_graph_node *n = tc_graph_em_node(e, TC_GRAPH_OP_LAYER_NORM, (tc_graph_value *[]){x, scale, bias}, 3);
    tc_graph_set_axis(e->c->g, n, axis);
    tc_graph_set_epsilon(e->c->g, n, tc_graph_attr_epsilon(e->c->n));
    return tc_graph_em_place(e, n);
}

/* InstanceNormalization(x, scale, bias)  =>  LayerNormalization over the spatial dimensions, scale and bias by channel */
tc_status tc_graph_infer_instance_norm(tc_graph_infer_ctx *c) {
    tc_graph_value *x = c->n->in[0];
    TC_TRY(want_batch_and_channels(c));
    TC_TRY(want_channels(c, 1, x->shape.d[1]));
    TC_TRY(want_channels(c, 2, x->shape.d[1]));
    tc_graph_emitter e = {c, TC_OK};
    int ndim = x->shape.ndim;
    tc_graph_value *flat = x;
    if (ndim == 2) /* one element per row still needs a dimension to be reduced */
        flat = tc_graph_em_reshape(&e, x, &(tc_graph_shape){3, {x->shape.d[0], x->shape.d[1], 1}});
    tc_graph_value *p[2];
    for (int k = 0; k < 2; k++)
        p[k] = tc_graph_em_along(&e, c->n->in[k + 1], 1, flat->shape.ndim);
    tc_graph_value *y = normalise_rows(&e, flat, p[0], p[1], 2);
    return tc_graph_em_finish(&e, tc_graph_em_reshape(&e, y, &x->shape));
}

/* x as [N, groups, C / groups, spatial...], LayerNormalization from dimension 2 on, and back. Up to opset 20 scale and bias are
 * by group, then by channel. */
tc_status tc_graph_infer_group_norm(tc_graph_infer_ctx *c) {
    tc_graph_value *x = c->n->in[0], *p[2];
    TC_TRY(want_batch_and_channels(c));
    int64_t channels = x->shape.d[1], groups = tc_graph_attr_num_groups(c->n);
    if (groups < 1 || channels % groups)
        return tc_graph_node_fail(c, "attribute num_groups (%" PRId64 ") must divide the %" PRId64 " channels", groups, channels);
    bool by_group = c->opset < 21;
    TC_TRY(want_channels(c, 1, by_group ? groups : channels));
    TC_TRY(want_channels(c, 2, by_group ? groups : channels));
    if (x->shape.ndim + 1 > TC_GRAPH_MAX_DIMS)
        return tc_graph_node_refuse(c, TC_ERROR_UNSUPPORTED, "inputs of %d dimensions are not supported", x->shape.ndim);
    tc_graph_emitter e = {c, TC_OK};
    tc_graph_shape split = {x->shape.ndim + 1, {x->shape.d[0], groups, channels / groups}};
    tc_graph_shape params = {split.ndim, {1, groups, by_group ? 1 : channels / groups}};
    for (int d = 2; d < x->shape.ndim; d++) {
        split.d[d + 1] = x->shape.d[d];
        params.d[d + 1] = 1;
    }
    for (int k = 0; k < 2; k++)
        p[k] = tc_graph_em_reshape(&e, c->n->in[k + 1], &params);
    tc_graph_value *y = normalise_rows(&e, tc_graph_em_reshape(&e, x, &split), p[0], p[1], 2);
    return tc_graph_em_finish(&e, tc_graph_em_reshape(&e, y, &x->shape));
}

/* (x - mean) / (sqrt(mean((x - mean)^2)) + 1e-9) */
tc_status tc_graph_infer_mean_variance_norm(tc_graph_infer_ctx *c) {
    static const int64_t usual[] = {0, 2, 3};
    tc_graph_value *x = c->n->in[0];
    size_t n;
    const int64_t *axes = tc_graph_attr_axes(c->n, &n);
    TC_TRY(tc_graph_want_float(c, 0));
    if (!axes) {
        axes = usual;
        n = TC_LEN(usual);
    }
    tc_graph_emitter e = {c, TC_OK};
    tc_graph_value *wide = tc_graph_em_cast(&e, x, x->dtype == TC_F64 ? TC_F64 : TC_F32);
    tc_graph_value *centred = em_sub(&e, wide, tc_graph_em_reduce(&e, TC_GRAPH_OP_REDUCE_MEAN, wide, axes, n, true));
    tc_graph_value *variance = tc_graph_em_reduce(&e, TC_GRAPH_OP_REDUCE_MEAN, em_mul(&e, centred, centred), axes, n, true);
    tc_graph_value *deviation = em_by(&e, TC_GRAPH_OP_ADD, em_unary(&e, TC_GRAPH_OP_SQRT, variance), 1e-9);
    return tc_graph_em_finish(&e, tc_graph_em_cast(&e, em_div(&e, centred, deviation), x->dtype));
}

/* sum of |x|^p over axes, and its p-th root */
static tc_graph_value *norm_over(tc_graph_emitter *e, tc_graph_value *x, int64_t p, const int64_t *axes, size_t n) {
    if (p == 1 || p == 2)
        return tc_graph_em_reduce(e, p == 1 ? TC_GRAPH_OP_REDUCE_L1 : TC_GRAPH_OP_REDUCE_L2, x, axes, n, true);
    tc_graph_value *powers = em_by(e, TC_GRAPH_OP_POW, em_unary(e, TC_GRAPH_OP_ABS, x), (double)p);
    tc_graph_value *sum = tc_graph_em_reduce(e, TC_GRAPH_OP_REDUCE_SUM, powers, axes, n, true);
    return em_by(e, TC_GRAPH_OP_POW, sum, 1 / (double)p);
}

/* x divided by its norm along one axis; rows of zeros stay zero */
tc_status tc_graph_infer_lp_norm(tc_graph_infer_ctx *c) {
    tc_graph_value *x = c->n->in[0];
    int64_t p = tc_graph_attr_p(c->n);
    int axis;
    TC_TRY(tc_graph_want_float(c, 0));
    TC_TRY(tc_graph_want_axis(c, tc_graph_attr_axis_or(c->n, -1), x->shape.ndim, &axis));
    if (p != 1 && p != 2)
        return tc_graph_node_refuse(c, TC_ERROR_UNSUPPORTED, "attribute p is %" PRId64 "; 1 and 2 are supported", p);
    tc_graph_emitter e = {c, TC_OK};
    tc_graph_value *norm = norm_over(&e, x, p, &(int64_t){axis}, 1), *zero = tc_graph_em_scalar(&e, x->dtype, 0);
    tc_graph_value *safe = tc_graph_em_where(&e, em_equal(&e, norm, zero), tc_graph_em_scalar(&e, x->dtype, 1), norm);
    return tc_graph_em_finish(&e, em_div(&e, x, safe));
}

tc_status tc_graph_infer_global_lp_pool(tc_graph_infer_ctx *c) {
    tc_graph_value *x = c->n->in[0];
    int64_t axes[TC_GRAPH_MAX_DIMS], p = tc_graph_attr_p(c->n);
    TC_TRY(want_batch_and_channels(c));
    if (p < 1)
        return tc_graph_node_fail(c, "attribute p is %" PRId64 "; it must be positive", p);
    for (int d = 2; d < x->shape.ndim; d++)
        axes[d - 2] = d;
    tc_graph_emitter e = {c, TC_OK};
    return tc_graph_em_finish(&e, norm_over(&e, x, p, axes, (size_t)x->shape.ndim - 2));
}

/* x / (bias + alpha / size * sum over `size` channels of x^2) ^ beta. A pool gives the sums of the squares as an image of one
 * channel, [N, 1, C, elements]. */
tc_status tc_graph_infer_lrn(tc_graph_infer_ctx *c) {
    tc_graph_value *x = c->n->in[0];
    int64_t size = tc_graph_attr_size(c->n), per = 1;
    TC_TRY(want_batch_and_channels(c));
    if (size < 1 || size > 1 << 20)
        return tc_graph_node_fail(c, "attribute size is %" PRId64 "; it must be 1 to %d", size, 1 << 20);
    int64_t before = (size - 1) / 2, after = size - 1 - before;
    for (int d = 2; d < x->shape.ndim; d++)
        per *= x->shape.d[d];
    double alpha = tc_graph_attr_alpha_or(c->n, 1e-4F), beta = tc_graph_attr_beta_or(c->n, 0.75);
    double bias = tc_graph_attr_bias_or(c->n, 1);
    tc_graph_emitter e = {c, TC_OK};
    tc_graph_value *wide = tc_graph_em_cast(&e, x, x->dtype == TC_F64 ? TC_F64 : TC_F32);
    tc_graph_shape image = {4, {x->shape.d[0], 1, x->shape.d[1], per}};
    tc_graph_value *squares = tc_graph_em_reshape(&e, em_mul(&e, wide, wide), &image);
    tc_graph_node *pool = tc_graph_em_node(&e, TC_GRAPH_OP_AVERAGE_POOL, &squares, 1);
    tc_graph_set_kernel_shape(c->g, pool, (const int64_t[]){size, 1}, 2);
    tc_graph_set_pads(c->g, pool, (const int64_t[]){before, 0, after, 0}, 4);
    tc_graph_set_count_include_pad(c->g, pool, 1);
    tc_graph_set_sums(c->g, pool, 1);
    tc_graph_value *sum = tc_graph_em_reshape(&e, tc_graph_em_place(&e, pool), &x->shape);
    tc_graph_value *base = em_by(&e, TC_GRAPH_OP_ADD, em_by(&e, TC_GRAPH_OP_MUL, sum, alpha / (double)size), bias);
    tc_graph_value *y = em_div(&e, wide, em_by(&e, TC_GRAPH_OP_POW, base, beta));
    return tc_graph_em_finish(&e, tc_graph_em_cast(&e, y, x->dtype));
}

/* x / sqrt(mean(x^2) + epsilon) * scale over the dimensions from axis on, in f32 or f64; the result has the type of the scale */
tc_graph_value *tc_graph_em_rms_norm(tc_graph_emitter *e, tc_graph_value *x, tc_graph_value *scale, int axis, double epsilon,
                                     tc_graph_value **inverse) {
    int64_t axes[TC_GRAPH_MAX_DIMS];
    for (int d = axis; d < x->shape.ndim; d++)
        axes[d - axis] = d;
    tc_graph_value *wide = tc_graph_em_cast(e, x, x->dtype == TC_F64 ? TC_F64 : TC_F32);
    tc_graph_value *mean =
        tc_graph_em_reduce(e, TC_GRAPH_OP_REDUCE_MEAN, em_mul(e, wide, wide), axes, (size_t)(x->shape.ndim - axis), true);
    tc_graph_value *root = em_unary(e, TC_GRAPH_OP_SQRT, em_by(e, TC_GRAPH_OP_ADD, mean, epsilon));
    *inverse = em_unary(e, TC_GRAPH_OP_RECIPROCAL, root);
    return em_mul(e, tc_graph_em_cast(e, em_mul(e, wide, *inverse), scale->dtype), scale);
}

tc_status tc_graph_infer_rms_norm(tc_graph_infer_ctx *c) {
    tc_graph_value *x = c->n->in[0], *scale = c->n->in[1], *inverse;
    tc_graph_shape s;
    int axis;
    TC_TRY(tc_graph_want_float(c, 0));
    TC_TRY(tc_graph_want_float(c, 1));
    TC_TRY(tc_graph_want_axis(c, tc_graph_attr_axis_or(c->n, -1), x->shape.ndim, &axis));
    if (!tc_graph_shape_broadcast(&x->shape, &scale->shape, &s) || !tc_graph_shape_equal(&s, &x->shape))
        return tc_graph_node_fail(c, "input 1 ('%s') does not broadcast to the input's shape", scale->name);
    tc_graph_emitter e = {c, TC_OK};
    tc_graph_value *y = tc_graph_em_rms_norm(&e, x, scale, axis, tc_graph_attr_epsilon(c->n), &inverse);
    tc_graph_em_output(&e, 1, inverse);
    return tc_graph_em_finish(&e, y);
}
