/* Building expressions of graph values in front of a node: emit.h. */
#include "graph/ops/emit.h"
#include "graph/ir/budget.h"

#include <string.h>

/* Stands for everything after a failure. */
static tc_graph_value *scratch(tc_graph_emitter *e) {
    tc_graph_value *v = TC_NEW(e->c->g->arena, tc_graph_value);
    v->name = "?";
    v->dtype = TC_F32;
    v->shape.ndim = TC_GRAPH_MAX_DIMS;
    for (int d = 0; d < TC_GRAPH_MAX_DIMS; d++)
        v->shape.d[d] = 1;
    return v;
}

tc_graph_node *tc_graph_em_node(tc_graph_emitter *e, tc_graph_op op, tc_graph_value *const *in, int nin) {
    return tc_graph_emit_node(e->c, op, in, nin);
}

tc_graph_value *tc_graph_em_place(tc_graph_emitter *e, tc_graph_node *n) {
    tc_graph_value *v = NULL;
    if (e->status == TC_OK)
        e->status = tc_graph_emit(e->c, n, &v);
    return e->status == TC_OK ? v : scratch(e);
}

tc_graph_value *tc_graph_em_op(tc_graph_emitter *e, tc_graph_op op, tc_graph_value *a, tc_graph_value *b) {
    return tc_graph_em_place(e, tc_graph_em_node(e, op, (tc_graph_value *[]){a, b}, 2));
}

tc_graph_value *tc_graph_em_where(tc_graph_emitter *e, tc_graph_value *cond, tc_graph_value *a, tc_graph_value *b) {
    return tc_graph_em_place(e, tc_graph_em_node(e, TC_GRAPH_OP_WHERE, (tc_graph_value *[]){cond, a, b}, 3));
}

tc_graph_value *tc_graph_em_cast(tc_graph_emitter *e, tc_graph_value *v, tc_dtype to) {
    if (v->dtype == to)
        return v;
    tc_graph_node *n = tc_graph_em_node(e, TC_GRAPH_OP_CAST, &v, 1);
    tc_graph_set_to(e->c->g, n, tc_graph_dtype_to_onnx(to));
    return tc_graph_em_place(e, n);
}

tc_graph_value *tc_graph_em_reshape(tc_graph_emitter *e, tc_graph_value *v, const tc_graph_shape *to) {
    if (e->status == TC_OK && tc_graph_shape_equal(&v->shape, to))
        return v;
    tc_graph_node *n = tc_graph_em_node(e, TC_GRAPH_OP_RESHAPE, &v, 1);
    tc_graph_set_shape(e->c->g, n, to->d, (size_t)to->ndim);
    tc_graph_set_allowzero(e->c->g, n, 1);
    return tc_graph_em_place(e, n);
}

tc_graph_value *tc_graph_em_one(tc_graph_emitter *e, tc_graph_op op, tc_graph_value *v, int64_t axis) {
    tc_graph_node *n = tc_graph_em_node(e, op, &v, 1);
    tc_graph_set_axes(e->c->g, n, &axis, 1);
    return tc_graph_em_place(e, n);
}

tc_graph_value *tc_graph_em_transpose(tc_graph_emitter *e, tc_graph_value *v, const int64_t *perm) {
    bool changes = false;
    for (int d = 0; d < v->shape.ndim && e->status == TC_OK; d++)
        changes |= perm[d] != d;
    if (!changes)
        return v;
    tc_graph_node *n = tc_graph_em_node(e, TC_GRAPH_OP_TRANSPOSE, &v, 1);
    tc_graph_set_perm(e->c->g, n, perm, (size_t)v->shape.ndim);
    return tc_graph_em_place(e, n);
}

tc_graph_value *tc_graph_em_expand(tc_graph_emitter *e, tc_graph_value *v, const tc_graph_shape *to) {
    if (tc_graph_shape_equal(&v->shape, to))
        return v;
    tc_graph_shape by = *to; /* ones leave a dimension as large as it is, also where that varies */
    for (int i = 1; i <= v->shape.ndim && i <= to->ndim; i++)
        if (v->shape.d[v->shape.ndim - i] == to->d[to->ndim - i])
            by.d[to->ndim - i] = 1;
    tc_graph_value *shape = tc_graph_em_ints(e, TC_I64, &(tc_graph_shape){1, {by.ndim}}, by.d);
    return tc_graph_em_op(e, TC_GRAPH_OP_EXPAND, v, shape);
}

tc_graph_value *tc_graph_em_slice(tc_graph_emitter *e, tc_graph_value *v, int axis, int64_t start, int64_t end, int64_t step) {
    int64_t at = axis;
    tc_graph_node *n = tc_graph_em_node(e, TC_GRAPH_OP_SLICE, &v, 1);
    tc_graph_set_axes(e->c->g, n, &at, 1);
    tc_graph_set_starts(e->c->g, n, &start, 1);
    tc_graph_set_ends(e->c->g, n, &end, 1);
    tc_graph_set_steps(e->c->g, n, &step, 1);
    return tc_graph_em_place(e, n);
}

tc_graph_value *tc_graph_em_concat(tc_graph_emitter *e, int axis, tc_graph_value *const *in, int n) {
    if (n == 1)
        return in[0];
    tc_graph_node *node = tc_graph_em_node(e, TC_GRAPH_OP_CONCAT, in, n);
    tc_graph_set_axis(e->c->g, node, axis);
    return tc_graph_em_place(e, node);
}

tc_graph_value *tc_graph_em_pad(tc_graph_emitter *e, tc_graph_value *v, const int64_t *pads, tc_graph_value *fill) {
    if (e->status != TC_OK)
        return v;
    tc_graph_node *n = tc_graph_em_node(e, TC_GRAPH_OP_PAD, (tc_graph_value *[]){v, NULL, fill}, 3);
    tc_graph_set_pads(e->c->g, n, pads, 2 * (size_t)v->shape.ndim);
    return tc_graph_em_place(e, n);
}

tc_graph_value *tc_graph_em_gather(tc_graph_emitter *e, tc_graph_op op, tc_graph_value *v, tc_graph_value *index, int axis) {
    tc_graph_node *n = tc_graph_em_node(e, op, (tc_graph_value *[]){v, index}, 2);
    tc_graph_set_axis(e->c->g, n, axis);
    return tc_graph_em_place(e, n);
}

/* ---- indexing ---- */

/* index[i] = i / k for all i: how often each element is repeated; 0 when it is something else. */
static int64_t repeats(const int64_t *index, int64_t n, int64_t dim) {
    int64_t k = dim > 0 && n % dim == 0 ? n / dim : 0;
    for (int64_t i = 0; k && i < n; i++)
        if (index[i] != i / k)
            return 0;
    return k;
}

static bool evenly_spaced(const int64_t *index, int64_t n) {
    int64_t step = n > 1 ? index[1] - index[0] : 1;
    for (int64_t i = 1; i < n; i++)
        if (index[i] - index[i - 1] != step)
            return false;
    return n > 0 && step > 0;
}

/* [.., n, ..]  =>  [.., n, 1, ..]  =>  [.., n, k, ..]  =>  [.., n * k, ..] */
static tc_graph_value *repeat(tc_graph_emitter *e, tc_graph_value *v, int axis, int64_t k) {
    v = tc_graph_em_one(e, TC_GRAPH_OP_UNSQUEEZE, v, axis + 1);
    tc_graph_shape to = v->shape;
    to.d[axis + 1] = k;
    return tc_graph_em_merged(e, tc_graph_em_expand(e, v, &to), axis, axis + 2);
}

tc_graph_value *tc_graph_em_index(tc_graph_emitter *e, tc_graph_value *v, int axis, const int64_t *index, int64_t n) {
    int64_t dim = v->shape.d[axis], k = repeats(index, n, dim);
    if (k == 1)
        return v;
    if (k > 1 && v->shape.ndim < TC_GRAPH_MAX_DIMS)
        return repeat(e, v, axis, k);
    if (evenly_spaced(index, n))
        return tc_graph_em_slice(e, v, axis, index[0], index[n - 1] + 1, n > 1 ? index[1] - index[0] : 1);
    return tc_graph_em_gather(e, TC_GRAPH_OP_GATHER, v, tc_graph_em_ints(e, TC_I64, &(tc_graph_shape){1, {n}}, index), axis);
}

/* ---- constants ---- */

tc_graph_value *tc_graph_em_scalar(tc_graph_emitter *e, tc_dtype t, double v) {
    return tc_graph_em_floats(e, t, &(tc_graph_shape){0}, &v);
}

static tc_graph_value *keep(tc_graph_emitter *e, tc_graph_tensor *t) {
    const char *name = tc_graph_fresh_name(e->c->g, tc_arena_printf(e->c->g->arena, "%s.const", e->c->n->name));
    return tc_graph_add_constant(e->c->g, name, t);
}

static bool allocated(tc_graph_emitter *e, tc_graph_tensor *t, tc_dtype type, const tc_graph_shape *shape) {
    if (e->status == TC_OK)
        e->status = tc_graph_shape_check(shape, e->c->err);
    uint64_t bytes = e->status == TC_OK ? (uint64_t)tc_graph_shape_count(shape) * (uint64_t)tc_dtype_bytes(type) : 0;
    if (e->status == TC_OK)
        e->status = tc_graph_spend(e->c->g->budget, TC_GRAPH_BUDGET_BYTES, bytes, e->c->err);
    if (e->status == TC_OK)
        e->status = tc_graph_tensor_alloc(t, type, shape, e->c->err);
    return e->status == TC_OK;
}

tc_graph_value *tc_graph_em_ints(tc_graph_emitter *e, tc_dtype t, const tc_graph_shape *shape, const int64_t *v) {
    tc_graph_tensor made;
    if (!allocated(e, &made, t, shape))
        return scratch(e);
    for (int64_t i = 0, n = tc_graph_shape_count(shape); i < n; i++)
        tc_store_i(t, made.data, i, v[i]);
    return keep(e, &made);
}

tc_graph_value *tc_graph_em_floats(tc_graph_emitter *e, tc_dtype t, const tc_graph_shape *shape, const double *v) {
    tc_graph_tensor made;
    if (!allocated(e, &made, t, shape))
        return scratch(e);
    tc_graph_tensor_from_f64(&made, v);
    return keep(e, &made);
}

/* ---- shapes, attributes and results ---- */

tc_graph_value *tc_graph_em_along(tc_graph_emitter *e, tc_graph_value *v, int axis, int ndim) {
    tc_graph_type t = {.dtype = v->dtype};
    if (e->status != TC_OK) /* of a scratch value, which has as many dimensions as there can be, ndim may be more */
        return scratch(e);
    for (int d = 0; d < ndim; d++)
        if (d >= axis && d < axis + v->shape.ndim)
            tc_graph_add_dims(&t, v, d - axis, d - axis + 1);
        else
            tc_graph_add_dim(&t, 1);
    return tc_graph_em_reshaped(e, v, &t);
}

void tc_graph_em_copy_window(tc_graph_emitter *e, tc_graph_node *to) {
    static const tc_graph_attr_id lists[] = {TC_ATTR_dilations, TC_ATTR_kernel_shape, TC_ATTR_pads, TC_ATTR_strides};
    const tc_graph_node *from = e->c->n;
    for (size_t i = 0; i < TC_LEN(lists); i++) {
        size_t len;
        const int64_t *v = tc_graph_attr_ints(from, lists[i], &len);
        if (v)
            tc_graph_set_ints(e->c->g, to, lists[i], v, len);
    }
    tc_graph_set_auto_pad(e->c->g, to, tc_graph_attr_auto_pad(from));
    tc_graph_set_group(e->c->g, to, tc_graph_attr_group(from));
}

void tc_graph_em_output(tc_graph_emitter *e, int k, tc_graph_value *v) {
    tc_graph_infer_ctx *c = e->c;
    if (e->status != TC_OK || k >= c->nout || !c->names[k])
        return;
    e->status =
        tc_graph_place(c->g, tc_graph_em_node(e, TC_GRAPH_OP_IDENTITY, &v, 1), &c->names[k], 1, TC_GRAPH_OPSET_MAX, c->err);
}

tc_status tc_graph_em_finish(tc_graph_emitter *e, tc_graph_value *v) {
    tc_graph_infer_ctx *c = e->c;
    TC_TRY(e->status);
    tc_graph_set_inputs(c->g, c->n, &v, 1);
    tc_graph_become(c, TC_GRAPH_OP_IDENTITY, 1);
    c->out[0] = tc_graph_like(c, 0);
    c->nout = 1;
    return TC_OK;
}

enum { MAX_TABLE = 1 << 26 };

tc_status tc_graph_want_table(tc_graph_infer_ctx *c, double entries) {
    if (entries <= MAX_TABLE)
        return tc_graph_want_bytes(c->g, entries * sizeof(double), c->err);
    return tc_graph_node_refuse(c, TC_ERROR_UNSUPPORTED, "it needs a table of %.0f entries; at most %d are supported", entries,
                                MAX_TABLE);
}

tc_status tc_graph_want_floats(tc_graph_infer_ctx *c, int k, const char *what, const double **v, size_t *len) {
    const tc_graph_value *in = tc_graph_in(c, k);
    *v = NULL;
    *len = 0;
    if (!in)
        return TC_OK;
    if (tc_graph_is_left(in))
        return tc_graph_refuse_left(c, k, what);
    if (!in->constant)
        return tc_graph_node_refuse(c, TC_ERROR_NOT_CONSTANT,
                                    "input %d (%s), value '%s', must be known when the model is imported", k, what, in->name);
    int64_t n = tc_graph_shape_count(&in->shape);
    TC_TRY(tc_graph_want_bytes(c->g, (double)n * sizeof **v, c->err));
    double *copy = TC_NEW_N(c->g->arena, double, n + 1);
    tc_graph_tensor_to_f64(in->constant, copy);
    *v = copy;
    *len = (size_t)n;
    return TC_OK;
}
