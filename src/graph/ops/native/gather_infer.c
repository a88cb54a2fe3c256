/* Inference of the Gather family. Constant indices are checked here, and made non-negative. */
#include <inttypes.h>
#include <string.h>

#include "graph/ir/build.h"
#include "graph/ops/functions.h"

static tc_status want_indices(tc_graph_infer_ctx *c, const tc_graph_value *v) {
    if (v->dtype == TC_I32 || v->dtype == TC_I64)
        return TC_OK;
    return tc_graph_node_fail(c, "the indices '%s' must be i32 or i64, but are %s", v->name, tc_dtype_name(v->dtype));
}

/* Replaces constant indices into a dimension of `dim` by non-negative ones; refuses those outside. */
static tc_status normalise_indices(tc_graph_infer_ctx *c, int64_t dim) {
    const tc_graph_value *v = c->n->in[1];
    if (!v->constant)
        return TC_OK;
    bool negative = false;
    int64_t n = tc_graph_shape_count(&v->shape);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = tc_load_i(v->dtype, v->constant->data, i);
        if (at < -dim || at >= dim)
            return tc_graph_node_fail(c, "index %" PRId64 " in '%s' is outside of a dimension of %" PRId64, at, v->name, dim);
        negative |= at < 0;
    }
    if (!negative)
        return TC_OK;
    tc_graph_tensor t;
    TC_TRY(tc_graph_tensor_alloc(&t, v->dtype, &v->shape, c->err));
    for (int64_t i = 0; i < n; i++) {
        int64_t at = tc_load_i(v->dtype, v->constant->data, i);
        tc_store_i(v->dtype, t.data, i, at < 0 ? at + dim : at);
    }
    const char *name = tc_graph_fresh_name(c->g, tc_arena_printf(c->g->arena, "%s.indices", c->n->name));
    c->n->in[1] = tc_graph_add_constant(c->g, name, &t);
    return TC_OK;
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
    int axis;
    TC_TRY(want_indices(c, index));
    TC_TRY(tc_graph_want_axis(c, tc_graph_attr_axis(c->n), x->shape.ndim, &axis));
    TC_TRY(normalise_indices(c, x->shape.d[axis]));
    tc_graph_shape s = {0};
    if (x->shape.ndim - 1 + index->shape.ndim > TC_GRAPH_MAX_DIMS)
        return tc_graph_node_fail(c, "the result has more than %d dimensions", TC_GRAPH_MAX_DIMS);
    for (int i = 0; i < axis; i++)
        s.d[s.ndim++] = x->shape.d[i];
    for (int i = 0; i < index->shape.ndim; i++)
        s.d[s.ndim++] = index->shape.d[i];
    for (int i = axis + 1; i < x->shape.ndim; i++)
        s.d[s.ndim++] = x->shape.d[i];
    c->out[0] = (tc_graph_type){x->dtype, s};
    if (index->constant && !x->constant && tc_graph_shape_count(&index->shape) == 1)
        return become_slice(c, axis);
    tc_graph_set_axis(c->g, c->n, axis);
    return TC_OK;
}

tc_status tc_graph_infer_gather_elements(tc_graph_infer_ctx *c) {
    const tc_graph_value *x = c->n->in[0], *index = c->n->in[1];
    int axis;
    TC_TRY(want_indices(c, index));
    TC_TRY(tc_graph_want_axis(c, tc_graph_attr_axis(c->n), x->shape.ndim, &axis));
    bool fits = index->shape.ndim == x->shape.ndim;
    for (int i = 0; fits && i < x->shape.ndim; i++)
        fits = i == axis || index->shape.d[i] <= x->shape.d[i];
    if (!fits)
        return tc_graph_node_fail(c, "the indices '%s' do not fit the shape of '%s'", index->name, x->name);
    TC_TRY(normalise_indices(c, x->shape.d[axis]));
    tc_graph_set_axis(c->g, c->n, axis);
    c->out[0] = (tc_graph_type){x->dtype, index->shape};
    return TC_OK;
}

tc_status tc_graph_infer_gather_nd(tc_graph_infer_ctx *c) {
    const tc_graph_value *x = c->n->in[0], *index = c->n->in[1];
    TC_TRY(want_indices(c, index));
    int64_t batch = tc_graph_attr_batch_dims(c->n);
    int q = index->shape.ndim, r = x->shape.ndim;
    int64_t depth = q ? index->shape.d[q - 1] : 0;
    if (q < 1 || batch < 0 || batch >= q || batch > r || depth < 1 || depth > r - batch ||
        memcmp(x->shape.d, index->shape.d, (size_t)batch * sizeof(int64_t)) != 0)
        return tc_graph_node_fail(c, "the indices '%s' do not fit the shape of '%s'", index->name, x->name);
    if (q - 1 + r - depth - batch > TC_GRAPH_MAX_DIMS)
        return tc_graph_node_fail(c, "the result has more than %d dimensions", TC_GRAPH_MAX_DIMS);
    tc_graph_shape s = {0};
    for (int i = 0; i < q - 1; i++)
        s.d[s.ndim++] = index->shape.d[i];
    for (int i = (int)(batch + depth); i < r; i++)
        s.d[s.ndim++] = x->shape.d[i];
    tc_graph_set_batch_dims(c->g, c->n, batch);
    c->out[0] = (tc_graph_type){x->dtype, s};
    return TC_OK;
}
