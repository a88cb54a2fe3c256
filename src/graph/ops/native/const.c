/* Inference of operators whose value is known as soon as their shapes are: they all become constants. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "graph/ir/budget.h"
#include "graph/ir/build.h"
#include "graph/ops/functions.h"

/* More than this is a damaged file rather than a model. */
#define MAX_CONSTANT_BYTES ((int64_t)4 << 30)

/* Result of the node: a fresh zero tensor. */
static tc_status give(tc_graph_infer_ctx *c, tc_dtype dtype, const tc_graph_shape *shape) {
    TC_TRY(tc_graph_shape_check(shape, c->err));
    int64_t bytes = tc_graph_shape_count(shape) * tc_dtype_bytes(dtype);
    if (bytes > MAX_CONSTANT_BYTES)
        return tc_graph_node_fail(c, "it makes a constant of more than 4 GiB: %s", tc_graph_type_str(c->g->arena, dtype, shape));
    TC_TRY(tc_graph_spend(c->g->budget, TC_GRAPH_BUDGET_BYTES, (uint64_t)bytes, c->err));
    TC_TRY(tc_graph_tensor_alloc(&c->constant, dtype, shape, c->err));
    c->has_constant = true;
    return TC_OK;
}

static tc_status give_floats(tc_graph_infer_ctx *c, const float *v, int64_t n, int ndim) {
    TC_TRY(give(c, TC_F32, &(tc_graph_shape){ndim, {n}}));
    memcpy(c->constant.data, v, (size_t)n * sizeof *v);
    return TC_OK;
}

static tc_status give_ints(tc_graph_infer_ctx *c, const int64_t *v, int64_t n, int ndim) {
    TC_TRY(give(c, TC_I64, &(tc_graph_shape){ndim, {n}}));
    memcpy(c->constant.data, v, (size_t)n * sizeof *v);
    return TC_OK;
}

tc_status tc_graph_infer_constant(tc_graph_infer_ctx *c) {
    if (c->n->nattrs != 1)
        return tc_graph_node_fail(c, "it must have exactly one attribute, its value");
    const tc_graph_attr *a = &c->n->attrs[0];
    switch (tc_graph_attr_kind_of(a->id)) {
    case TC_GRAPH_ATTR_TENSOR:
        c->kept = a->tensor;
        return TC_OK;
    case TC_GRAPH_ATTR_FLOAT:
        return give_floats(c, &(float){(float)a->f}, 1, 0);
    case TC_GRAPH_ATTR_FLOATS:
        return give_floats(c, a->floats, (int64_t)a->len, 1);
    case TC_GRAPH_ATTR_INT:
        return give_ints(c, &a->i, 1, 0);
    case TC_GRAPH_ATTR_INTS:
        return give_ints(c, a->ints, (int64_t)a->len, 1);
    case TC_GRAPH_ATTR_STRING:
        break;
    }
    return tc_graph_node_refuse(c, TC_ERROR_UNSUPPORTED, "strings are not supported");
}

tc_status tc_graph_infer_constant_of_shape(tc_graph_infer_ctx *c) {
    const int64_t *dims;
    size_t len;
    TC_TRY(tc_graph_want_ints(c, 0, "shape", &dims, &len));
    if (len > TC_GRAPH_MAX_DIMS)
        return tc_graph_node_refuse(c, TC_ERROR_UNSUPPORTED, "shape has %zu dimensions; at most %d are supported", len,
                                    TC_GRAPH_MAX_DIMS);
    tc_graph_shape s = {.ndim = (int)len};
    memcpy(s.d, dims, len * sizeof *dims);
    const tc_graph_attr *value = tc_graph_attr_find(c->n, TC_ATTR_value);
    const tc_graph_tensor *fill = value ? value->tensor : NULL;
    if (fill && tc_graph_tensor_count(fill) != 1)
        return tc_graph_node_fail(c, "attribute value must have one element");
    TC_TRY(give(c, fill ? fill->dtype : TC_F32, &s));
    size_t size = (size_t)tc_dtype_bytes(c->constant.dtype), bytes = tc_graph_tensor_bytes(&c->constant);
    for (size_t at = 0; fill && at < bytes; at += size)
        memcpy((char *)c->constant.data + at, fill->data, size);
    return TC_OK;
}

/* How many steps of delta fit in [start, limit): exact for all integers, of which u64 are given by their bits. */
static double steps_between(tc_dtype t, int64_t start, int64_t limit, int64_t delta) {
    bool up = t == TC_U64 || delta > 0, any = t == TC_U64 ? (uint64_t)start < (uint64_t)limit
                                              : up        ? start < limit
                                                          : start > limit;
    if (!any)
        return 0;
    uint64_t span = up ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit;
    uint64_t step = up ? (uint64_t)delta : 0 - (uint64_t)delta;
    return (double)((span - 1) / step + 1);
}

tc_status tc_graph_infer_range(tc_graph_infer_ctx *c) {
    tc_dtype dtype = c->n->in[0]->dtype;
    double f[3];
    int64_t i[3];
    for (int k = 0; k < 3; k++) {
        const tc_graph_value *v = c->n->in[k];
        TC_TRY(tc_graph_want_same_type(c, 0, k));
        if (!v->constant || tc_graph_shape_count(&v->shape) != 1)
            return tc_graph_node_refuse(c, TC_ERROR_NOT_CONSTANT,
                                        "input %d ('%s') must be a scalar known when the model is imported", k, v->name);
        tc_graph_tensor_to_f64(v->constant, &f[k]);
        tc_graph_tensor_to_i64(v->constant, &i[k]);
    }
    bool is_float = tc_dtype_is_float(dtype);
    if (is_float ? f[2] == 0 || !isfinite(f[0]) || !isfinite(f[1]) || !isfinite(f[2]) : i[2] == 0)
        return tc_graph_node_fail(c, "delta is 0, or a bound is not finite");
    double steps = is_float ? ceil((f[1] - f[0]) / f[2]) : steps_between(dtype, i[0], i[1], i[2]);
    if (steps > 1e9)
        return tc_graph_node_fail(c, "the range has %.0f elements", steps);
    int64_t n = steps > 0 ? (int64_t)steps : 0;
    TC_TRY(give(c, dtype, &(tc_graph_shape){1, {n}}));
    for (int64_t k = 0; k < n; k++)
        if (is_float)
            tc_store_f(dtype, c->constant.data, k, f[0] + (double)k * f[2]);
        else
            tc_store_i(dtype, c->constant.data, k, (int64_t)((uint64_t)i[0] + (uint64_t)k * (uint64_t)i[2]));
    return TC_OK;
}

tc_status tc_graph_infer_shape(tc_graph_infer_ctx *c) {
    tc_graph_emitter e = {c, TC_OK};
    const tc_graph_value *x = c->n->in[0];
    int64_t ndim = x->shape.ndim, from = tc_graph_attr_start(c->n), to = tc_graph_attr_end_or(c->n, ndim);
    from = TC_MAX(0, TC_MIN(from < 0 ? from + ndim : from, ndim));
    to = TC_MAX(from, TC_MIN(to < 0 ? to + ndim : to, ndim));
    if (from == to || !tc_graph_is_dynamic(x))
        return give_ints(c, x->shape.d + from, to - from, 1);
    tc_graph_value *parts[TC_GRAPH_MAX_DIMS];
    for (int64_t d = from; d < to; d++)
        parts[d - from] = tc_graph_em_reshape(&e, tc_graph_em_size(&e, x, (int)d), &(tc_graph_shape){1, {1}});
    return tc_graph_em_finish(&e, tc_graph_em_concat(&e, 0, parts, (int)(to - from)));
}

/* ---- Range whose length varies ---- */

tc_graph_value *tc_graph_before_cast(tc_graph_value *v) {
    while (v->producer && (tc_graph_keeps_memory(v->producer) || v->producer->op == TC_GRAPH_OP_CAST) &&
           tc_dtype_is_float(v->dtype))
        v = v->producer->in[0];
    return v;
}
