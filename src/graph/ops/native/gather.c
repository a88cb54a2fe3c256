/* The Gather family. Their texts check constant indices, and make them non-negative. */
#include <inttypes.h>
#include <string.h>

#include "graph/ir/build.h"
#include "graph/ops/functions.h"

/* ---- inference ---- */

tc_status tc_graph_want_range(tc_graph_infer_ctx *c, const tc_graph_value *index, int64_t at, int64_t of, int64_t dim) {
    for (int64_t i = at, n = index->constant ? tc_graph_shape_count(&index->shape) : 0; i < n; i += of) {
        int64_t own = tc_load_i(index->dtype, index->constant->data, i);
        if (own < -dim || own >= dim)
            return tc_graph_node_fail(c, "index %" PRId64 " in '%s' is outside of a dimension of %" PRId64, own, index->name,
                                      dim);
    }
    return TC_OK;
}

/* Of dimensions from..to of operand 0, the node reads what the indices name. Indices past their size name the first element. */
static tc_status read_indices(tc_graph_infer_ctx *c, int from, int to) {
    tc_graph_read_some(c, 0, from, to);
    return tc_graph_read_all(c, 1, -1, TC_GRAPH_ZERO);
}

/* One constant index  =>  Slice and Reshape: an affine access that later passes can see through. */
static tc_status become_slice(tc_graph_infer_ctx *c, int axis) {
    tc_graph_value *x = c->n->in[0];
    const tc_graph_value *index = c->n->in[1];
    int64_t at = tc_load_i(index->dtype, index->constant->data, 0), end = at + 1, ax = axis;
    tc_graph_node *slice = tc_graph_emit_node(c, TC_GRAPH_OP_SLICE, &x, 1);
    tc_graph_set_axes(c->g, slice, &ax, 1);
    tc_graph_set_starts(c->g, slice, &at, 1);
    tc_graph_set_ends(c->g, slice, &end, 1);
    TC_TRY(tc_graph_emit(c, slice, &x));
    tc_graph_set_inputs(c->g, c->n, &x, 1);
    tc_graph_become_reshape(c);
    return TC_OK;
}

tc_status tc_graph_infer_gather(tc_graph_infer_ctx *c) {
    const tc_graph_value *x = c->n->in[0], *index = c->n->in[1];
    int axis = (int)tc_graph_attr_axis(c->n);
    c->out[0].dtype = x->dtype;
    tc_graph_take(c, &c->out[0], 0, 0, axis);
    tc_graph_take(c, &c->out[0], 1, 0, index->shape.ndim);
    tc_graph_take(c, &c->out[0], 0, axis + 1, x->shape.ndim);
    TC_TRY(read_indices(c, axis, axis + 1));
    bool one = index->constant && !x->constant && tc_graph_shape_count(&index->shape) == 1;
    return one ? become_slice(c, axis) : TC_OK;
}

tc_status tc_graph_infer_gather_elements(tc_graph_infer_ctx *c) {
    c->out[0].dtype = c->n->in[0]->dtype;
    tc_graph_take(c, &c->out[0], 1, 0, c->n->in[0]->shape.ndim);
    return read_indices(c, 0, c->n->in[0]->shape.ndim);
}

tc_status tc_graph_infer_gather_nd(tc_graph_infer_ctx *c) {
    const tc_graph_value *x = c->n->in[0], *index = c->n->in[1];
    int q = index->shape.ndim, named = (int)(tc_graph_attr_batch_dims(c->n) + index->shape.d[q - 1]);
    c->out[0].dtype = x->dtype;
    tc_graph_take(c, &c->out[0], 1, 0, q - 1);
    tc_graph_take(c, &c->out[0], 0, named, x->shape.ndim);
    return read_indices(c, 0, named);
}

/* ---- evaluation ---- */

/* Element i of the indices into a dimension of `dim`. */
static tc_status index_at(const tc_graph_eval_ctx *c, int64_t i, int64_t dim, int64_t *out) {
    int64_t at = tc_load_i(c->in[1]->dtype, c->in[1]->data, i);
    *out = at < 0 ? at + dim : at;
    if (at < -dim || at >= dim)
        return tc_fail(c->err, TC_BAD_INPUT, "index %" PRId64 " is outside of a dimension of %" PRId64, at, dim);
    return TC_OK;
}

tc_status tc_graph_eval_gather(tc_graph_eval_ctx *c) {
    const tc_graph_tensor *x = c->in[0];
    int axis = (int)tc_graph_attr_axis(c->n);
    int64_t rows = tc_graph_head_count(&x->shape, axis), n = tc_graph_tensor_count(c->in[1]), dim = x->shape.d[axis];
    size_t part = tc_graph_tail_bytes(x, axis + 1);
    char *dst = c->out[0].data;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < n; i++, dst += part) {
            int64_t at;
            TC_TRY(index_at(c, i, dim, &at));
            memcpy(dst, (const char *)x->data + (size_t)(r * dim + at) * part, part);
        }
    return TC_OK;
}

/* ---- lowering ---- */

/* An index read from data: negative ones count from the end; what is out of range is clamped, because a kernel has nobody to
 * tell. */
static const tc_expr *data_index(tc_graph_lower *l, const tc_expr *raw, int64_t dim) {
    tc_ctx *c = tc_graph_lower_ctx(l);
    const tc_expr *i = tc_cast(c, TC_I64, raw), *zero = tc_i64(c, 0);
    if (tc_dtype_is_signed(raw->dtype))
        i = tc_select(c, tc_bin(c, TC_OP_LT, i, zero), tc_add(c, i, tc_i64(c, dim)), i);
    return tc_bin(c, TC_OP_MIN, tc_bin(c, TC_OP_MAX, i, zero), tc_i64(c, dim - 1));
}

const tc_expr *tc_graph_at_gather(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    (void)out;
    int axis = (int)tc_graph_attr_axis(n), depth = n->in[1]->shape.ndim;
    const tc_expr *at[TC_GRAPH_MAX_DIMS];
    for (int d = 0; d < n->in[0]->shape.ndim; d++)
        if (d != axis)
            at[d] = idx[d < axis ? d : d - 1 + depth];
    at[axis] = data_index(l, tc_graph_value_at(l, n->in[1], idx + axis), n->in[0]->shape.d[axis]);
    return tc_graph_value_at(l, n->in[0], at);
}

const tc_expr *tc_graph_at_gather_elements(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    (void)out;
    int axis = (int)tc_graph_attr_axis(n);
    const tc_expr *at[TC_GRAPH_MAX_DIMS];
    memcpy(at, idx, sizeof *at * (size_t)n->in[0]->shape.ndim);
    at[axis] = data_index(l, tc_graph_value_at(l, n->in[1], idx), n->in[0]->shape.d[axis]);
    return tc_graph_value_at(l, n->in[0], at);
}

const tc_expr *tc_graph_at_gather_nd(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    (void)out;
    int batch = (int)tc_graph_attr_batch_dims(n), last = n->in[1]->shape.ndim - 1;
    int depth = (int)n->in[1]->shape.d[last];
    const tc_expr *at[TC_GRAPH_MAX_DIMS], *where[TC_GRAPH_MAX_DIMS];
    for (int d = 0; d < batch; d++)
        at[d] = idx[d];
    memcpy(where, idx, sizeof *where * (size_t)last);
    for (int k = 0; k < depth; k++) {
        where[last] = tc_i64(tc_graph_lower_ctx(l), k);
        at[batch + k] = data_index(l, tc_graph_value_at(l, n->in[1], where), n->in[0]->shape.d[batch + k]);
    }
    for (int d = batch + depth; d < n->in[0]->shape.ndim; d++)
        at[d] = idx[last + d - batch - depth];
    return tc_graph_value_at(l, n->in[0], at);
}

/* ---- sizes that depend on data ---- */

int64_t tc_graph_least_index(const tc_graph_value *index, int64_t at, int64_t of) {
    int64_t least = 0;
    for (int64_t i = at, n = tc_graph_shape_count(&index->shape); i < n; i += of)
        least = TC_MIN(least, tc_load_i(index->dtype, index->constant->data, i));
    return least;
}

tc_status tc_graph_require_indices(tc_graph_emitter *e, const tc_graph_value *index, int64_t at, int64_t of, int d) {
    int64_t need = 0;
    if (!index->constant || !tc_dtype_is_int(index->dtype))
        return e->status;
    for (int64_t i = at, n = tc_graph_shape_count(&index->shape); i < n; i += of)
        need = TC_MAX(need, tc_load_i(index->dtype, index->constant->data, i) + 1);
    return tc_graph_require_size(e, e->c->n->in[0], d, TC_MAX(need, -tc_graph_least_index(index, at, of)));
}
