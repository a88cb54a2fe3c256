/* Inference of the Scatter family: a copy of data with some elements replaced by, or combined with, updates. Indices must be in
 * range; constant ones are checked here. */
#include <inttypes.h>
#include <string.h>

#include "graph/ir/build.h"
#include "graph/ops/functions.h"

/* Updates that an element may ask in a tensor expression: a few vector comparisons, which fuse with what surrounds them. */
enum { ASKED = 16 };

static tc_status read_reduction(tc_graph_infer_ctx *c, const char **how) {
    static const char *const known[] = {"none", "add", "mul", "max", "min"};
    *how = tc_graph_attr_reduction(c->n);
    for (size_t i = 0; i < TC_LEN(known); i++)
        if (strcmp(known[i], *how) == 0)
            return TC_OK;
    return tc_graph_node_refuse(c, TC_ERROR_UNSUPPORTED, "attribute reduction is '%s'; none, add, mul, max and min are supported",
                                *how);
}

static tc_status want_operands(tc_graph_infer_ctx *c) {
    const tc_graph_value *index = c->n->in[1];
    TC_TRY(tc_graph_want_same_type(c, 0, 2));
    if (index->dtype != TC_I32 && index->dtype != TC_I64)
        return tc_graph_node_fail(c, "the indices '%s' must be i32 or i64, but are %s", index->name, tc_dtype_name(index->dtype));
    return TC_OK;
}

/* Element i of constant indices lies in a dimension of dims[i % n]. */
static tc_status check_range(tc_graph_infer_ctx *c, const int64_t *dims, int64_t n) {
    const tc_graph_value *v = c->n->in[1];
    for (int64_t i = 0, count = v->constant ? tc_graph_shape_count(&v->shape) : 0; i < count; i++) {
        int64_t at = tc_load_i(v->dtype, v->constant->data, i), dim = dims[i % n];
        if (at < -dim || at >= dim)
            return tc_graph_node_fail(c, "index %" PRId64 " in '%s' is outside of a dimension of %" PRId64, at, v->name, dim);
    }
    return TC_OK;
}

/* Where each element of the result would ask many updates, one pass over these by a library kernel is cheaper. It combines no
 * 16-bit floats and no bools. */
static void prefer_library(tc_graph_infer_ctx *c, int64_t asked, bool tuples, const char *how) {
    tc_dtype t = c->n->in[0]->dtype;
    bool combines = t != TC_F16 && t != TC_BF16 && t != TC_BOOL;
    if (asked <= ASKED || tc_graph_shape_count(&c->n->in[0]->shape) == 0 || (!combines && strcmp(how, "none") != 0))
        return;
    c->n->op = TC_GRAPH_OP_SCATTER_LIST;
    tc_graph_set_tuples(c->g, c->n, tuples);
}

tc_status tc_graph_infer_scatter_list(tc_graph_infer_ctx *c) {
    c->out[0] = (tc_graph_type){c->n->in[0]->dtype, c->n->in[0]->shape};
    return TC_OK;
}

/* Scatter, its old name, has no reduction. */
tc_status tc_graph_infer_scatter_elements(tc_graph_infer_ctx *c) {
    const tc_graph_value *x = c->n->in[0], *index = c->n->in[1], *updates = c->n->in[2];
    const char *how;
    int axis;
    TC_TRY(want_operands(c));
    TC_TRY(read_reduction(c, &how));
    TC_TRY(tc_graph_want_axis(c, tc_graph_attr_axis(c->n), x->shape.ndim, &axis));
    bool fits = index->shape.ndim == x->shape.ndim && tc_graph_shape_equal(&index->shape, &updates->shape);
    for (int d = 0; fits && d < x->shape.ndim; d++)
        fits = d == axis || index->shape.d[d] <= x->shape.d[d];
    if (!fits)
        return tc_graph_node_fail(c, "the indices '%s' do not fit the shapes of '%s' and '%s'", index->name, x->name,
                                  updates->name);
    TC_TRY(check_range(c, &x->shape.d[axis], 1));
    c->out[0] = (tc_graph_type){x->dtype, x->shape};
    if (tc_graph_shape_count(&index->shape) == 0)
        return tc_graph_infer_identity(c);
    tc_graph_become(c, TC_GRAPH_OP_SCATTER_ELEMENTS, 3);
    tc_graph_set_axis(c->g, c->n, axis);
    tc_graph_set_reduction(c->g, c->n, how);
    prefer_library(c, index->shape.d[axis], false, how);
    return TC_OK;
}

/* indices[.., depth] name a slice of x each; updates hold the slices. */
static bool slices_fit(const tc_graph_shape *x, const tc_graph_shape *index, const tc_graph_shape *updates) {
    if (index->ndim < 1 || index->d[index->ndim - 1] < 1 || index->d[index->ndim - 1] > x->ndim)
        return false;
    int depth = (int)index->d[index->ndim - 1], outer = index->ndim - 1;
    if (updates->ndim != outer + x->ndim - depth)
        return false;
    for (int d = 0; d < updates->ndim; d++)
        if (updates->d[d] != (d < outer ? index->d[d] : x->d[d - outer + depth]))
            return false;
    return true;
}

tc_status tc_graph_infer_scatter_nd(tc_graph_infer_ctx *c) {
    const tc_graph_value *x = c->n->in[0], *index = c->n->in[1], *updates = c->n->in[2];
    const char *how;
    TC_TRY(want_operands(c));
    TC_TRY(read_reduction(c, &how));
    if (!slices_fit(&x->shape, &index->shape, &updates->shape))
        return tc_graph_node_fail(c, "the indices '%s' do not fit the shapes of '%s' and '%s'", index->name, x->name,
                                  updates->name);
    TC_TRY(check_range(c, x->shape.d, index->shape.d[index->shape.ndim - 1]));
    c->out[0] = (tc_graph_type){x->dtype, x->shape};
    if (tc_graph_shape_count(&index->shape) == 0)
        return tc_graph_infer_identity(c);
    tc_graph_become(c, TC_GRAPH_OP_SCATTER_ND, 3);
    tc_graph_set_reduction(c->g, c->n, how);
    prefer_library(c, tc_graph_shape_count(&index->shape) / index->shape.d[index->shape.ndim - 1], true, how);
    return TC_OK;
}
