/* Inference of TopK, written as counting: an element's place is the number of elements that come before it.
 *
 *   place[i] = sum over j of (x[j] comes before x[i])        i[r] = sum over i of i * (place[i] == r)
 *
 * That is n * n comparisons of rows of n, but of vectors and without a branch: for short rows (experts, beams) it is as fast as
 * sorting, and it fuses. Longer ones go to a library kernel. The order is total: equal elements keep their order, and NaN is the
 * largest. */
#include <inttypes.h>
#include <string.h>

#include "graph/ops/functions.h"

/* Longer rows go to a library kernel: up to here counting is a handful of vector operations per element. */
enum { COUNTED = 64 };

/* a > b, with NaN above all numbers */
static tc_graph_value *above(tc_graph_emitter *e, tc_graph_value *a, tc_graph_value *b) {
    tc_graph_value *more = em_greater(e, a, b);
    if (!tc_dtype_is_float(a->dtype))
        return more;
    tc_graph_value *only_a = tc_graph_em_op(e, TC_GRAPH_OP_AND, em_unary(e, TC_GRAPH_OP_IS_NAN, a),
                                            em_unary(e, TC_GRAPH_OP_NOT, em_unary(e, TC_GRAPH_OP_IS_NAN, b)));
    return em_or(e, more, only_a);
}

/* Of x [rows, n]: i64 [rows, n] */
static tc_graph_value *places(tc_graph_emitter *e, tc_graph_value *x, bool largest) {
    int64_t rows = x->shape.d[0], n = x->shape.d[1], last = 2;
    tc_graph_value *self = tc_graph_em_reshape(e, x, &(tc_graph_shape){3, {rows, n, 1}});
    tc_graph_value *other = tc_graph_em_reshape(e, x, &(tc_graph_shape){3, {rows, 1, n}});
    tc_graph_value *better = largest ? above(e, other, self) : above(e, self, other);
    tc_graph_value *worse = largest ? above(e, self, other) : above(e, other, self);
    tc_graph_value *earlier = em_unary(e, TC_GRAPH_OP_NOT, worse), *below = tc_graph_em_scalar(e, TC_I64, -1);
    tc_graph_node *tri = tc_graph_em_node(e, TC_GRAPH_OP_TRILU, (tc_graph_value *[]){earlier, below}, 2);
    tc_graph_set_upper(e->c->g, tri, 0);
    tc_graph_value *before = tc_graph_em_cast(e, em_or(e, better, tc_graph_em_place(e, tri)), TC_I64);
    return tc_graph_em_reduce(e, TC_GRAPH_OP_REDUCE_SUM, before, &last, 1, false);
}

/* The elements in places 0..k-1: i64 [rows, k] */
static tc_graph_value *best(tc_graph_emitter *e, tc_graph_value *place, int64_t k) {
    int64_t rows = place->shape.d[0], n = place->shape.d[1], last = 2;
    tc_graph_value *at = tc_graph_em_reshape(e, place, &(tc_graph_shape){3, {rows, 1, n}});
    tc_graph_value *hit = em_equal(e, at, tc_graph_em_iota(e, k, 1, 3));
    tc_graph_value *index = tc_graph_em_iota(e, n, 2, 3);
    tc_graph_value *some = tc_graph_em_where(e, hit, index, tc_graph_em_scalar(e, TC_I64, 0));
    return tc_graph_em_reduce(e, TC_GRAPH_OP_REDUCE_SUM, some, &last, 1, false);
}

/* *k: the largest; *at_run: K itself where it depends on data, no more than x has along the axis. */
static tc_status read_k(tc_graph_emitter *e, const tc_graph_value *x, int axis, int64_t *k, tc_graph_value **at_run) {
    tc_graph_infer_ctx *c = e->c;
    int64_t n = x->shape.d[axis];
    *k = tc_graph_attr_k_or(c->n, -1); /* opset 9 and before */
    if (c->n->nin > 1) {
        tc_graph_number v[TC_GRAPH_MAX_NUMBERS];
        int64_t len = tc_graph_shape_count(&c->n->in[1]->shape);
        if (len != 1)
            return tc_graph_node_fail(c, "input 1 (K) must be one number, but has %" PRId64, len);
        TC_TRY(tc_graph_trace(e, c->n->in[1], v));
        *k = v[0].most;
        if (!v[0].constant) {
            tc_graph_value *none = tc_graph_em_scalar(e, TC_I64, 0);
            *k = v[0].most < 0 ? n : TC_MIN(v[0].most, n);
            *at_run = em_max(e, em_min(e, v[0].value, tc_graph_em_size(e, x, axis)), none);
        }
    }
    if (*k < 0 || *k > n)
        return tc_graph_node_fail(c, "K is %" PRId64 ", but must be between 0 and the axis' %" PRId64 " elements", *k, n);
    return TC_OK;
}

/* Of x: both results are [.., k, ..]. */
static void counted(tc_graph_emitter *e, tc_graph_value *x, int axis, int64_t k, tc_graph_value **value, tc_graph_value **place) {
    int ndim = x->shape.ndim;
    int64_t n = x->shape.d[axis], perm[TC_GRAPH_MAX_DIMS], rows = 1;
    tc_graph_shape moved = x->shape;
    for (int d = 0; d < ndim; d++) { /* exchanges the axis and the last one: its own inverse */
        perm[d] = d == axis ? ndim - 1 : d == ndim - 1 ? axis : d;
        rows *= d == axis ? 1 : x->shape.d[d];
    }
    moved.d[axis] = x->shape.d[ndim - 1];
    moved.d[ndim - 1] = k;
    tc_graph_value *flat = tc_graph_em_reshape(e, tc_graph_em_transpose(e, x, perm), &(tc_graph_shape){2, {rows, n}});
    tc_graph_value *index = best(e, places(e, flat, tc_graph_attr_largest(e->c->n) != 0), k);
    tc_graph_value *found = tc_graph_em_gather(e, TC_GRAPH_OP_GATHER_ELEMENTS, flat, index, 1);
    *place = tc_graph_em_transpose(e, tc_graph_em_reshape(e, index, &moved), perm);
    *value = tc_graph_em_transpose(e, tc_graph_em_reshape(e, found, &moved), perm);
}

static void by_library(tc_graph_emitter *e, tc_graph_value *x, int axis, int64_t k, tc_graph_value **value,
                       tc_graph_value **place) {
    tc_graph_value *out[2];
    tc_graph_node *n = tc_graph_em_node(e, TC_GRAPH_OP_TOP_K_LIST, &x, 1);
    tc_graph_set_axis(e->c->g, n, axis);
    tc_graph_set_k(e->c->g, n, k);
    tc_graph_set_largest(e->c->g, n, tc_graph_attr_largest(e->c->n) != 0);
    tc_graph_em_place_all(e, n, out, 2);
    *value = out[0];
    *place = out[1];
}

/* Gives v the sizes of x, and of the axis k's where that is known only at run time. */
static tc_graph_value *sized(tc_graph_emitter *e, tc_graph_value *v, const tc_graph_value *x, int axis, tc_graph_value *k) {
    for (int d = 0; d < x->shape.ndim; d++) {
        tc_graph_value *size = d == axis ? k : tc_graph_extent(x, d);
        if (size)
            v = tc_graph_em_sized(e, v, d, size);
    }
    return v;
}

tc_status tc_graph_infer_top_k(tc_graph_infer_ctx *c) {
    tc_graph_emitter e = {c, TC_OK};
    tc_graph_value *x = c->n->in[0], *value, *place, *k_value = NULL;
    int axis;
    int64_t k;
    TC_TRY(tc_graph_want_number(c, 0));
    TC_TRY(tc_graph_want_axis(c, tc_graph_attr_axis_or(c->n, -1), x->shape.ndim, &axis));
    TC_TRY(read_k(&e, x, axis, &k, &k_value));
    bool few = x->shape.d[axis] <= COUNTED || tc_graph_shape_count(&x->shape) == 0 || k == 0;
    (few ? counted : by_library)(&e, tc_graph_em_blind(&e, x), axis, k, &value, &place);
    TC_TRY(e.status);
    tc_graph_em_output(&e, 1, sized(&e, place, x, axis, k_value));
    if (c->names[0])
        return tc_graph_em_finish(&e, sized(&e, value, x, axis, k_value));
    c->nout = 0;
    return e.status;
}

tc_status tc_graph_infer_top_k_list(tc_graph_infer_ctx *c) {
    tc_graph_shape s = c->n->in[0]->shape;
    s.d[tc_graph_attr_axis(c->n)] = tc_graph_attr_k(c->n);
    c->out[0] = (tc_graph_type){.dtype = c->n->in[0]->dtype, .shape = s};
    c->out[1] = (tc_graph_type){.dtype = TC_I64, .shape = s};
    return TC_OK;
}

/* ---- sizes that depend on data ---- */

/* One K for all runs is no more than there are; one that is computed is cut to that. */
static tc_status require_k(tc_graph_emitter *e, const tc_graph_value *x, int axis) {
    const tc_graph_node *n = e->c->n;
    int64_t k = tc_graph_attr_k_or(n, 0);
    if (n->nin > 1 && n->in[1]->constant && tc_graph_shape_count(&n->in[1]->shape) == 1)
        k = tc_load_i(n->in[1]->dtype, n->in[1]->constant->data, 0);
    return tc_graph_require_size(e, x, axis, k);
}

/* What must not be among the best sorts last: behind equals, for it comes after them. */
tc_status tc_graph_rewrite_top_k(tc_graph_emitter *e) {
    tc_graph_node *n = e->c->n;
    tc_graph_value *x = n->in[0];
    int axis;
    TC_TRY(tc_graph_want_axis(e->c, tc_graph_attr_axis_or(n, -1), x->shape.ndim, &axis));
    if (!tc_graph_extent(x, axis))
        return TC_OK;
    TC_TRY(require_k(e, x, axis));
    bool largest = tc_graph_attr_largest(n) != 0;
    n->in[0] = tc_graph_em_masked(e, x, axis, tc_graph_em_fill(e, x->dtype, largest ? TC_GRAPH_LOWEST : TC_GRAPH_HIGHEST));
    return e->status;
}
