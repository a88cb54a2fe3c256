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

/* ---- means of integers: other operators, in 64 bits ---- */

typedef struct integer_mean {
    tc_graph_value *x, *count; /* of 64 bits; count: how many elements a mean is of, a scalar */
    const int64_t *axes;
    size_t n;
    bool keepdims;
} integer_mean;

static tc_graph_value *sum_of(tc_graph_emitter *e, const integer_mean *m, tc_graph_value *v) {
    return tc_graph_em_reduce(e, TC_GRAPH_OP_REDUCE_SUM, v, m->axes, m->n, m->keepdims);
}

static tc_graph_value *both(tc_graph_emitter *e, tc_graph_value *a, tc_graph_value *b) {
    return tc_graph_em_op(e, TC_GRAPH_OP_AND, a, b);
}

/* a and r / count, a fraction of a's unit with |r| < count, as one integer rounded towards zero. */
static tc_graph_value *towards_zero(tc_graph_emitter *e, tc_graph_value *a, tc_graph_value *r) {
    tc_graph_value *zero = tc_graph_em_scalar(e, a->dtype, 0);
    if (!tc_dtype_is_signed(a->dtype))
        return a;
    tc_graph_value *above = both(e, em_greater(e, a, zero), em_less(e, r, zero));
    tc_graph_value *below = both(e, em_less(e, a, zero), em_greater(e, r, zero));
    a = tc_graph_em_where(e, above, em_by(e, TC_GRAPH_OP_SUB, a, 1), a);
    return tc_graph_em_where(e, below, em_by(e, TC_GRAPH_OP_ADD, a, 1), a);
}

/* A sum of many 64-bit integers can overflow. The quotients of the elements cannot, nor can the remainders:
 *     sum x / n = sum (x / n) + (sum (x % n)) / n */
static tc_graph_value *mean_of_parts(tc_graph_emitter *e, const integer_mean *m) {
    tc_graph_value *quotient = em_div(e, m->x, m->count), *rest = em_sub(e, m->x, em_mul(e, quotient, m->count));
    tc_graph_value *left = sum_of(e, m, rest), *more = em_div(e, left, m->count);
    return towards_zero(e, em_add(e, sum_of(e, m, quotient), more), em_sub(e, left, em_mul(e, more, m->count)));
}

/* The mean of integers x over `axes`, rounded towards zero; of nothing it is 0. */
static tc_graph_value *mean_of_integers(tc_graph_emitter *e, tc_graph_value *x, tc_graph_value *count, const int64_t *axes,
                                        size_t n, bool keepdims) {
    bool narrow = tc_dtype_bytes(x->dtype) < 8;
    tc_dtype wide = narrow ? TC_I64 : x->dtype;
    tc_graph_value *some = em_by(e, TC_GRAPH_OP_MAX, count, 1);
    integer_mean m = {tc_graph_em_cast(e, x, wide), tc_graph_em_cast(e, some, wide), axes, n, keepdims};
    tc_graph_value *y = narrow ? em_div(e, sum_of(e, &m, m.x), m.count) : mean_of_parts(e, &m);
    return tc_graph_em_cast(e, y, x->dtype);
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
    if (op == TC_GRAPH_OP_REDUCE_MEAN && !tc_dtype_is_float(x->dtype)) {
        tc_graph_emitter e = {c, TC_OK};
        return tc_graph_em_finish(&e, mean_of_integers(&e, x, tc_graph_em_number(&e, count), sorted, n, keepdims));
    }
    tc_graph_become(c, op, 1);
    tc_graph_set_axes(c->g, c->n, sorted, n);
    tc_graph_set_keepdims(c->g, c->n, keepdims);
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

/* ---- sizes that depend on data ---- */

/* A sum divided by the number of elements that there are. */
tc_status tc_graph_rewrite_mean(tc_graph_emitter *e) {
    tc_graph_node *n = e->c->n;
    tc_graph_value *x = n->in[0];
    const int64_t *axes;
    size_t len;
    bool reduced[TC_GRAPH_MAX_DIMS] = {false};
    TC_TRY(tc_graph_want_list(e->c, 1, TC_ATTR_axes, &axes, &len));
    for (size_t i = 0; i < len; i++) {
        int at;
        TC_TRY(tc_graph_want_axis(e->c, axes[i], x->shape.ndim, &at));
        reduced[at] = true;
    }
    for (int d = 0; d < x->shape.ndim && len == 0; d++)
        reduced[d] = !tc_graph_attr_noop_with_empty_axes(n);
    tc_graph_value *count = x->dtype == TC_BOOL ? NULL : tc_graph_em_count(e, x, reduced);
    if (!count)
        return e->status;
    int64_t sorted[TC_GRAPH_MAX_DIMS];
    size_t k = 0;
    for (int d = 0; d < x->shape.ndim; d++)
        if (reduced[d])
            sorted[k++] = d;
    if (!tc_dtype_is_float(x->dtype))
        return tc_graph_em_finish(e, mean_of_integers(e, x, count, sorted, k, tc_graph_attr_keepdims(n) != 0));
    tc_graph_value *wide = tc_graph_em_cast(e, x, tc_graph_wide(x->dtype));
    tc_graph_value *sum = tc_graph_em_reduce(e, TC_GRAPH_OP_REDUCE_SUM, wide, sorted, k, tc_graph_attr_keepdims(n) != 0);
    tc_graph_value *mean = em_div(e, sum, tc_graph_em_cast(e, count, sum->dtype));
    return tc_graph_em_finish(e, tc_graph_em_cast(e, mean, x->dtype));
}

/* The last of the largest is not past the size: if it seems to be, all are the lowest number there is. */
tc_status tc_graph_rewrite_arg(tc_graph_emitter *e) {
    tc_graph_node *n = e->c->n;
    tc_graph_value *x = n->in[0];
    int axis;
    TC_TRY(tc_graph_want_axis(e->c, tc_graph_attr_axis(n), x->shape.ndim, &axis));
    if (!tc_graph_extent(x, axis) || !tc_graph_attr_select_last_index(n))
        return TC_OK;
    bool max = n->op == TC_GRAPH_OP_ARG_MAX, keep = tc_graph_attr_keepdims(n) != 0;
    x = tc_graph_em_masked(e, x, axis, tc_graph_em_fill(e, x->dtype, max ? TC_GRAPH_LOWEST : TC_GRAPH_HIGHEST));
    tc_graph_node *all = tc_graph_em_node(e, n->op, (tc_graph_value *[]){tc_graph_em_blind(e, x)}, 1);
    tc_graph_set_axis(e->c->g, all, axis);
    tc_graph_set_keepdims(e->c->g, all, keep);
    tc_graph_set_select_last_index(e->c->g, all, 1);
    tc_graph_value *y = em_min(e, tc_graph_em_place(e, all), em_sub(e, tc_graph_extent(x, axis), tc_graph_em_number(e, 1)));
    for (int d = 0, o = 0; d < x->shape.ndim; d++) {
        if (d != axis && tc_graph_extent(x, d))
            y = tc_graph_em_sized(e, y, o, tc_graph_extent(x, d));
        o += d != axis || keep;
    }
    return tc_graph_em_finish(e, y);
}
