/* Inference of operators that give as many elements as the data say: NonZero, Compress, Unique, NonMaxSuppression. Each becomes a
 * library kernel that fills a buffer of the largest size and counts, and what moves the elements that it names.
 *
 *   Compress(x, condition)  =>  Gather(x, NonZeroList(condition)[0])           of the size NonZeroList(condition)[1]
 *   Unique(x)               =>  Gather(x, UniqueList(x, size)[0])              of the size UniqueList(x, size)[3] */
#include <inttypes.h>
#include <math.h>

#include "graph/ops/functions.h"

static tc_graph_value *flattened(tc_graph_emitter *e, tc_graph_value *v) {
    tc_graph_node *n = tc_graph_em_node(e, TC_GRAPH_OP_RESHAPE, &v, 1);
    tc_graph_set_shape(e->c->g, n, (int64_t[]){-1}, 1);
    return tc_graph_em_place(e, n);
}

static tc_status none_of(tc_graph_infer_ctx *c, const tc_graph_shape *s) {
    tc_graph_emitter e = {c, TC_OK};
    return tc_graph_em_finish(&e, tc_graph_em_ints(&e, TC_I64, s, NULL));
}

/* ---- NonZero, Compress ---- */

/* Coordinates [rank, n] of what is not 0 in v, rank at least 1. */
static tc_graph_value *non_zero(tc_graph_emitter *e, tc_graph_value *v) {
    tc_graph_value *out[2], *zero = tc_graph_em_scalar(e, v->dtype, 0);
    if (v->dtype == TC_BOOL)
        zero = tc_graph_em_ints(e, TC_BOOL, &(tc_graph_shape){0}, &(int64_t){0});
    v = tc_graph_em_blind(e, tc_graph_em_masked(e, v, -1, zero));
    tc_graph_em_place_all(e, tc_graph_em_node(e, TC_GRAPH_OP_NON_ZERO_LIST, &v, 1), out, 2);
    return e->status == TC_OK ? tc_graph_em_sized(e, out[0], 1, out[1]) : v;
}

tc_status tc_graph_infer_non_zero(tc_graph_infer_ctx *c) {
    tc_graph_emitter e = {c, TC_OK};
    tc_graph_value *x = c->n->in[0];
    int64_t n = tc_graph_shape_count(&x->shape);
    if (n == 0)
        return none_of(c, &(tc_graph_shape){2, {x->shape.ndim, 0}});
    if (x->shape.ndim > 0)
        return tc_graph_em_finish(&e, non_zero(&e, x));
    tc_graph_value *at = non_zero(&e, tc_graph_em_reshape(&e, x, &(tc_graph_shape){1, {1}})); /* a scalar has no coordinates */
    return tc_graph_em_finish(&e, tc_graph_em_slice(&e, at, 0, 0, 0, 1));
}

tc_status tc_graph_infer_non_zero_list(tc_graph_infer_ctx *c) {
    const tc_graph_shape *x = &c->n->in[0]->shape;
    c->out[0] = (tc_graph_type){.dtype = TC_I64, .shape = {2, {x->ndim, tc_graph_shape_count(x)}}};
    c->out[1] = (tc_graph_type){.dtype = TC_I64, .shape = {0}};
    return TC_OK;
}

tc_status tc_graph_infer_compress(tc_graph_infer_ctx *c) {
    tc_graph_emitter e = {c, TC_OK};
    tc_graph_value *x = c->n->in[0], *condition = c->n->in[1];
    int axis = 0;
    if (condition->dtype != TC_BOOL || condition->shape.ndim != 1)
        return tc_graph_node_fail(c, "the condition '%s' must be a list of bool, but is %s", condition->name,
                                  tc_graph_type_str(c->g->arena, condition->dtype, &condition->shape));
    if (tc_graph_attr_find(c->n, TC_ATTR_axis))
        TC_TRY(tc_graph_want_axis(c, tc_graph_attr_axis(c->n), x->shape.ndim, &axis));
    else
        x = flattened(&e, x);
    TC_TRY(e.status);
    int64_t dim = x->shape.d[axis], n = condition->shape.d[0];
    if (n > dim)
        return tc_graph_node_fail(c, "the condition '%s' has %" PRId64 " elements, but the dimension has %" PRId64,
                                  condition->name, n, dim);
    if (n == 0 || dim == 0)
        return tc_graph_em_finish(&e, tc_graph_em_slice(&e, x, axis, 0, 0, 1));
    tc_graph_node *flat = tc_graph_em_node(&e, TC_GRAPH_OP_SQUEEZE, (tc_graph_value *[]){non_zero(&e, condition)}, 1);
    tc_graph_set_axes(c->g, flat, (int64_t[]){0}, 1);
    return tc_graph_em_finish(&e, tc_graph_em_gather(&e, TC_GRAPH_OP_GATHER, x, tc_graph_em_place(&e, flat), axis));
}

/* ---- Unique ---- */

/* Of no slices there are none that differ. */
static tc_status unique_of_none(tc_graph_emitter *e, tc_graph_value *x) {
    tc_graph_value *none = tc_graph_em_ints(e, TC_I64, &(tc_graph_shape){1, {0}}, NULL);
    for (int k = 1; k < 4; k++)
        tc_graph_em_output(e, k, none);
    if (e->c->names[0])
        return tc_graph_em_finish(e, x);
    e->c->nout = 0;
    return e->status;
}

tc_status tc_graph_infer_unique(tc_graph_infer_ctx *c) {
    tc_graph_emitter e = {c, TC_OK};
    tc_graph_value *x = c->n->in[0], *out[4];
    int axis = 0;
    if (tc_graph_attr_find(c->n, TC_ATTR_axis))
        TC_TRY(tc_graph_want_axis(c, tc_graph_attr_axis(c->n), x->shape.ndim, &axis));
    else
        x = flattened(&e, x);
    TC_TRY(e.status);
    for (int d = 0; d < x->shape.ndim; d++)
        if (d != axis && tc_graph_extent(x, d))
            return tc_graph_dynamic_refuse(c, 0, d);
    if (x->shape.d[axis] == 0)
        return unique_of_none(&e, x);
    tc_graph_value *in[] = {tc_graph_em_blind(&e, x), tc_graph_em_size(&e, x, axis)};
    tc_graph_node *n = tc_graph_em_node(&e, TC_GRAPH_OP_UNIQUE_LIST, in, 2);
    tc_graph_set_axis(c->g, n, axis);
    tc_graph_set_sorted(c->g, n, tc_graph_attr_sorted(c->n));
    tc_graph_em_place_all(&e, n, out, 4);
    TC_TRY(e.status);
    tc_graph_value *first = tc_graph_em_sized(&e, out[0], 0, out[3]);
    tc_graph_em_output(&e, 1, first);
    if (tc_graph_extent(x, axis))
        out[1] = tc_graph_em_sized(&e, out[1], 0, tc_graph_extent(x, axis));
    tc_graph_em_output(&e, 2, out[1]);
    tc_graph_em_output(&e, 3, tc_graph_em_sized(&e, out[2], 0, out[3]));
    if (c->names[0])
        return tc_graph_em_finish(&e, tc_graph_em_gather(&e, TC_GRAPH_OP_GATHER, in[0], first, axis));
    c->nout = 0;
    return e.status;
}

tc_status tc_graph_infer_unique_list(tc_graph_infer_ctx *c) {
    int64_t n = c->n->in[0]->shape.d[tc_graph_attr_axis(c->n)];
    for (int k = 0; k < 4; k++)
        c->out[k] = (tc_graph_type){.dtype = TC_I64, .shape = {k < 3, {n}}};
    return TC_OK;
}

/* ---- NonMaxSuppression ---- */

static tc_status nms_scalar(tc_graph_emitter *e, int k, tc_dtype t, double otherwise, tc_graph_value **out) {
    tc_graph_value *v = k < e->c->n->nin ? e->c->n->in[k] : NULL;
    if (v && (v->dtype != t || tc_graph_shape_count(&v->shape) != 1 || tc_graph_is_dynamic(v)))
        return tc_graph_node_fail(e->c, "input %d ('%s') must be one %s, but is %s", k, v->name, tc_dtype_name(t),
                                  tc_graph_type_str(e->c->g->arena, v->dtype, &v->shape));
    *out = v ? tc_graph_em_reshape(e, v, &(tc_graph_shape){0}) : tc_graph_em_scalar(e, t, otherwise);
    return e->status;
}

static tc_status nms_operands(tc_graph_infer_ctx *c) {
    const tc_graph_value *boxes = c->n->in[0], *scores = c->n->in[1];
    const tc_graph_shape *b = &boxes->shape, *s = &scores->shape;
    int64_t center = tc_graph_attr_center_point_box(c->n);
    if (boxes->dtype != TC_F32 || scores->dtype != TC_F32 || b->ndim != 3 || s->ndim != 3 || b->d[2] != 4 || b->d[0] != s->d[0] ||
        b->d[1] != s->d[2])
        return tc_graph_node_fail(
            c, "boxes must be f32 [batches, boxes, 4] and scores f32 [batches, classes, boxes]; they are %s and %s",
            tc_graph_type_str(c->g->arena, boxes->dtype, b), tc_graph_type_str(c->g->arena, scores->dtype, s));
    if (center != 0 && center != 1)
        return tc_graph_node_fail(c, "attribute center_point_box is %" PRId64 "; it must be 0 or 1", center);
    for (int k = 0; k < 2; k++)
        for (int d = 0; d < 3; d++)
            if (tc_graph_extent(c->n->in[k], d) && d != (k ? 2 : 1))
                return tc_graph_dynamic_refuse(c, k, d);
    return TC_OK;
}

tc_status tc_graph_infer_nms(tc_graph_infer_ctx *c) {
    tc_graph_emitter e = {c, TC_OK};
    tc_graph_value *in[6], *out[2];
    TC_TRY(nms_operands(c));
    const tc_graph_shape s = c->n->in[1]->shape;
    TC_TRY(nms_scalar(&e, 2, TC_I64, 0, &in[2]));
    TC_TRY(nms_scalar(&e, 3, TC_F32, 0, &in[3]));
    TC_TRY(nms_scalar(&e, 4, TC_F32, NAN, &in[4]));
    int64_t most = s.d[2];
    if (in[2]->constant)
        most = TC_MAX(0, TC_MIN(most, tc_load_i(TC_I64, in[2]->constant->data, 0)));
    if (s.d[0] * s.d[1] * most == 0)
        return none_of(c, &(tc_graph_shape){2, {0, 3}});
    bool in_boxes = tc_graph_extent(c->n->in[0], 1) != NULL;
    in[5] = tc_graph_em_size(&e, c->n->in[in_boxes ? 0 : 1], in_boxes ? 1 : 2);
    in[0] = tc_graph_em_blind(&e, c->n->in[0]);
    in[1] = tc_graph_em_blind(&e, c->n->in[1]);
    tc_graph_node *n = tc_graph_em_node(&e, TC_GRAPH_OP_NMS_LIST, in, 6);
    tc_graph_set_center_point_box(c->g, n, tc_graph_attr_center_point_box(c->n));
    tc_graph_set_most(c->g, n, most);
    tc_graph_em_place_all(&e, n, out, 2);
    TC_TRY(e.status);
    return tc_graph_em_finish(&e, tc_graph_em_sized(&e, out[0], 0, out[1]));
}

tc_status tc_graph_infer_nms_list(tc_graph_infer_ctx *c) {
    const tc_graph_shape *s = &c->n->in[1]->shape;
    int64_t rows = s->d[0] * s->d[1] * tc_graph_attr_most(c->n);
    c->out[0] = (tc_graph_type){.dtype = TC_I64, .shape = {2, {rows, 3}}};
    c->out[1] = (tc_graph_type){.dtype = TC_I64, .shape = {0}};
    return TC_OK;
}
