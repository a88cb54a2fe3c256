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

/* ---- sizes that depend on data ---- */

tc_status tc_graph_rewrite_constant_of_shape(tc_graph_emitter *e) {
    tc_graph_number want[TC_GRAPH_MAX_NUMBERS];
    tc_graph_shape s = {0};
    TC_TRY(tc_graph_dynamic_shape(e, 0, want, &s));
    const tc_graph_attr *a = tc_graph_attr_find(e->c->n, TC_ATTR_value);
    if (a && tc_graph_tensor_count(a->tensor) != 1)
        return tc_graph_node_fail(e->c, "attribute value must have one element");
    tc_graph_value *fill = tc_graph_em_scalar(e, TC_F32, 0);
    if (a) {
        tc_graph_tensor one = tc_graph_tensor_view(a->tensor->dtype, &(tc_graph_shape){0}, a->tensor->data);
        fill = tc_graph_add_constant(e->c->g, tc_graph_fresh_name(e->c->g, e->c->n->name), &one);
    }
    tc_graph_value *y = tc_graph_em_expand(e, fill, &s);
    y = y == fill ? em_unary(e, TC_GRAPH_OP_IDENTITY, y) : y;
    for (int d = 0; d < s.ndim; d++)
        if (!want[d].constant)
            y = tc_graph_em_sized(e, y, d, want[d].value);
    return tc_graph_em_finish(e, y);
}

/* ---- Range whose length varies ----
 *
 * Its numbers are constants, integers that the graph computes, or such integers cast to floats. Times a power of two, all are whole
 * numbers, so the length is exact: (max(limit - start + delta - 1, 0)) / delta for a delta above 0, and the mirror image below. */

typedef struct bound {
    tc_graph_number number; /* value NULL: a float constant */
    double constant;        /* or the largest value of `number` */
    bool is_constant;
} bound;

/* The integer that v is a cast of, or v. */
static tc_graph_value *before_cast(tc_graph_value *v) {
    while (v->producer && (tc_graph_keeps_memory(v->producer) || v->producer->op == TC_GRAPH_OP_CAST) &&
           tc_dtype_is_float(v->dtype))
        v = v->producer->in[0];
    return v;
}

static tc_status refuse_bound(tc_graph_emitter *e, int k) {
    if (tc_graph_is_left(e->c->n->in[k]))
        return tc_graph_refuse_left(e->c, k, "a bound");
    return tc_graph_node_refuse(e->c, TC_ERROR_DATA_DEPENDENT,
                                "input %d ('%s') is neither a constant nor a size whose largest value is known; where the length "
                                "of a range varies, start and limit must be that, and delta must be a constant that is not 0",
                                k, e->c->n->in[k]->name);
}

static tc_status read_bound(tc_graph_emitter *e, int k, bound *b) {
    tc_graph_value *v = e->c->n->in[k];
    if (tc_graph_shape_count(&v->shape) != 1)
        return tc_graph_node_fail(e->c, "input %d ('%s') must be a scalar", k, v->name);
    TC_TRY(tc_graph_want_same_type(e->c, 0, k));
    *b = (bound){.is_constant = true};
    if (v->constant && tc_dtype_is_float(v->dtype)) {
        tc_graph_tensor_to_f64(v->constant, &b->constant);
        return TC_OK;
    }
    v = before_cast(v);
    if (tc_dtype_is_float(v->dtype))
        return refuse_bound(e, k);
    TC_TRY(tc_graph_trace(e, v, &b->number));
    b->is_constant = b->number.constant;
    b->constant = (double)b->number.most;
    return b->number.most < 0 && !b->is_constant ? refuse_bound(e, k) : TC_OK;
}

/* How often the constants must be doubled to be whole numbers; -1: they get too large. */
static int doublings_of(const bound b[3]) {
    enum { MOST_DOUBLINGS = 60 };
    for (int n = 0; n < MOST_DOUBLINGS; n++) {
        bool whole = true, fits = true;
        for (int k = 0; k < 3; k++) {
            double v = ldexp(b[k].constant, n);
            fits = fits && fabs(v) < 0x1p60;
            whole = whole && v == floor(v);
        }
        if (whole || !fits)
            return fits ? n : -1;
    }
    return -1;
}

static int64_t whole_of(const bound *b, int doublings) {
    return b->number.value ? b->number.most * (INT64_C(1) << doublings) : (int64_t)ldexp(b->constant, doublings);
}

static tc_graph_value *doubled(tc_graph_emitter *e, const bound *b, int doublings) {
    if (b->is_constant)
        return tc_graph_em_number(e, whole_of(b, doublings));
    return doublings ? em_mul(e, b->number.value, tc_graph_em_number(e, INT64_C(1) << doublings)) : b->number.value;
}

/* start + i * delta, computed in i64 or f64 */
static tc_graph_value *elements_of_range(tc_graph_emitter *e, const bound b[3], int64_t most) {
    tc_dtype to = e->c->n->in[0]->dtype, t = tc_dtype_is_float(to) ? TC_F64 : TC_I64;
    tc_graph_value *start = b[0].number.value ? b[0].number.value : tc_graph_em_scalar(e, t, b[0].constant);
    tc_graph_value *delta = b[2].number.value ? b[2].number.value : tc_graph_em_scalar(e, t, b[2].constant);
    tc_graph_value *i = tc_graph_em_cast(e, tc_graph_em_iota(e, most, 0, 1), t);
    tc_graph_value *y = em_add(e, em_mul(e, i, tc_graph_em_cast(e, delta, t)), tc_graph_em_cast(e, start, t));
    return tc_graph_em_cast(e, em_unary(e, TC_GRAPH_OP_IDENTITY, y), to);
}

tc_status tc_graph_rewrite_range(tc_graph_emitter *e) {
    bound b[3];
    for (int k = 0; k < 3; k++)
        TC_TRY(read_bound(e, k, &b[k]));
    int doublings = doublings_of(b);
    if (!b[2].is_constant || b[2].constant == 0 || doublings < 0)
        return refuse_bound(e, 2);
    bool down = b[2].constant < 0;
    int64_t delta = whole_of(&b[2], doublings) * (down ? -1 : 1);
    tc_graph_value *from = doubled(e, &b[down ? 1 : 0], doublings), *to = doubled(e, &b[down ? 0 : 1], doublings);
    tc_graph_value *span = em_add(e, em_sub(e, to, from), tc_graph_em_number(e, delta - 1));
    tc_graph_number n = tc_graph_em_known(e, em_div(e, em_max(e, span, tc_graph_em_number(e, 0)), tc_graph_em_number(e, delta)));
    TC_TRY(e->status);
    if (n.most < 0)
        return refuse_bound(e, down ? 0 : 1);
    return tc_graph_em_finish(e, tc_graph_em_sized(e, elements_of_range(e, b, n.most), 0, n.value));
}
