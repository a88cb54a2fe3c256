/* Inference of operators that are index arithmetic: OneHot, ReverseSequence, CenterCropPad. */
#include <inttypes.h>
#include <string.h>

#include "graph/ops/functions.h"

/* ---- OneHot ---- */

static tc_graph_value *element(tc_graph_emitter *e, tc_graph_value *v, int64_t at) {
    return tc_graph_em_reshape(e, tc_graph_em_slice(e, v, 0, at, at + 1, 1), &(tc_graph_shape){0});
}

/* (indices, depth, [off, on])  =>  Where(indices == 0..depth-1, on, off). Negative indices count from the end; others that are
 * out of range equal nothing. */
tc_status tc_graph_infer_one_hot(tc_graph_infer_ctx *c) {
    tc_graph_value *x = c->n->in[0], *values = c->n->in[2];
    const double *depths;
    size_t n;
    int axis;
    TC_TRY(tc_graph_want_floats(c, 1, "depth", &depths, &n));
    if (n != 1 || !(depths[0] >= 1 && depths[0] < 1e15))
        return tc_graph_node_fail(c, "depth must be one positive number");
    if (values->shape.ndim != 1 || values->shape.d[0] != 2)
        return tc_graph_node_fail(c, "input 2 (values) must have 2 elements");
    int ndim = x->shape.ndim + 1;
    if (ndim > TC_GRAPH_MAX_DIMS)
        return tc_graph_node_fail(c, "the result has more than %d dimensions", TC_GRAPH_MAX_DIMS);
    TC_TRY(tc_graph_want_axis(c, tc_graph_attr_axis_or(c->n, -1), ndim, &axis));
    TC_TRY(tc_graph_want_table(c, depths[0]));
    int64_t depth = (int64_t)depths[0];
    tc_graph_emitter e = {c, TC_OK};
    tc_graph_shape s = x->shape;
    memmove(&s.d[axis + 1], &s.d[axis], sizeof s.d[0] * (size_t)(s.ndim - axis));
    s.d[axis] = 1;
    s.ndim = ndim;
    tc_graph_value *at = tc_graph_em_cast(&e, x, TC_I64), *zero = tc_graph_em_scalar(&e, TC_I64, 0);
    if (tc_dtype_is_signed(x->dtype))
        at = tc_graph_em_where(&e, em_less(&e, at, zero), em_by(&e, TC_GRAPH_OP_ADD, at, (double)depth), at);
    tc_graph_value *hit = em_equal(&e, tc_graph_em_reshape(&e, at, &s), tc_graph_em_iota(&e, depth, axis, ndim));
    return tc_graph_em_finish(&e, tc_graph_em_where(&e, hit, element(&e, values, 1), element(&e, values, 0)));
}

/* ---- ReverseSequence ---- */

/* x[t, b, ..] with t -> length[b] - 1 - t where t < length[b] */
tc_status tc_graph_infer_reverse_sequence(tc_graph_infer_ctx *c) {
    tc_graph_value *x = c->n->in[0], *lengths = c->n->in[1];
    int time, batch, ndim = x->shape.ndim;
    TC_TRY(tc_graph_want_axis(c, tc_graph_attr_time_axis(c->n), ndim, &time));
    TC_TRY(tc_graph_want_axis(c, tc_graph_attr_batch_axis(c->n), ndim, &batch));
    if (time == batch || lengths->dtype != TC_I64 || lengths->shape.ndim != 1 || lengths->shape.d[0] != x->shape.d[batch])
        return tc_graph_node_fail(c, "sequence_lens must be i64 and have one element for each of the %" PRId64 " sequences",
                                  x->shape.d[batch]);
    TC_TRY(tc_graph_want_table(c, (double)x->shape.d[time]));
    tc_graph_emitter e = {c, TC_OK};
    tc_graph_value *t = tc_graph_em_iota(&e, x->shape.d[time], time, ndim), *len = tc_graph_em_along(&e, lengths, batch, ndim);
    tc_graph_value *back = em_by(&e, TC_GRAPH_OP_SUB, em_sub(&e, len, t), 1);
    tc_graph_value *at = tc_graph_em_expand(&e, tc_graph_em_where(&e, em_less(&e, t, len), back, t), &x->shape);
    return tc_graph_em_finish(&e, tc_graph_em_gather(&e, TC_GRAPH_OP_GATHER_ELEMENTS, x, at, time));
}

/* ---- CenterCropPad ---- */

/* Each axis is cut or padded at both ends; the odd element goes to (or from) the end. */
tc_status tc_graph_infer_center_crop_pad(tc_graph_infer_ctx *c) {
    tc_graph_value *x = c->n->in[0], *y = x;
    const int64_t *want, *axes;
    size_t n, naxes;
    int ndim = x->shape.ndim;
    int64_t pads[2 * TC_GRAPH_MAX_DIMS] = {0};
    TC_TRY(tc_graph_want_ints(c, 1, "shape", &want, &n));
    axes = tc_graph_attr_axes(c->n, &naxes);
    if (n != (axes ? naxes : (size_t)ndim))
        return tc_graph_node_fail(c, "shape has %zu entries; %zu are expected", n, axes ? naxes : (size_t)ndim);
    tc_graph_emitter e = {c, TC_OK};
    for (size_t i = 0; i < n; i++) {
        int at;
        TC_TRY(tc_graph_want_axis(c, axes ? axes[i] : (int64_t)i, ndim, &at));
        if (want[i] < 0)
            return tc_graph_node_fail(c, "shape[%zu] is %" PRId64 "; sizes must not be negative", i, want[i]);
        int64_t extra = want[i] - x->shape.d[at], start = -extra / 2;
        if (extra < 0)
            y = tc_graph_em_slice(&e, y, at, start, start + want[i], 1);
        pads[at] = extra > 0 ? extra / 2 : 0;
        pads[at + ndim] = extra > 0 ? extra - extra / 2 : 0;
    }
    return tc_graph_em_finish(&e, tc_graph_em_pad(&e, y, pads, NULL));
}
