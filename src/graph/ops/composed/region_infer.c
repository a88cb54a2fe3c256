/* Inference of Det and MaxRoiPool: library kernels in f32 or f64, with casts around them for shorter floats. */
#include <inttypes.h>

#include "graph/ops/functions.h"

/* The node on operands of type t, its result cast back. */
static tc_status on_type(tc_graph_infer_ctx *c, tc_graph_op op, tc_dtype t) {
    tc_graph_emitter e = {c, TC_OK};
    tc_dtype own = c->n->in[0]->dtype;
    tc_graph_value *in[2];
    for (int k = 0; k < c->n->nin; k++)
        in[k] = tc_graph_em_cast(&e, c->n->in[k], t);
    tc_graph_node *n = tc_graph_em_node(&e, op, in, c->n->nin);
    size_t len;
    const int64_t *pooled = tc_graph_attr_pooled_shape(c->n, &len);
    if (pooled) {
        tc_graph_set_pooled_shape(c->g, n, pooled, len);
        tc_graph_set_spatial_scale(c->g, n, tc_graph_attr_spatial_scale(c->n));
    }
    return tc_graph_em_finish(&e, tc_graph_em_cast(&e, tc_graph_em_place(&e, n), own));
}

static tc_dtype computed_in(const tc_graph_infer_ctx *c) {
    return c->n->in[0]->dtype == TC_F64 ? TC_F64 : TC_F32;
}

tc_status tc_graph_infer_det(tc_graph_infer_ctx *c) {
    const tc_graph_value *x = c->n->in[0];
    int ndim = x->shape.ndim;
    TC_TRY(tc_graph_want_float(c, 0));
    if (ndim < 2 || x->shape.d[ndim - 1] != x->shape.d[ndim - 2])
        return tc_graph_node_fail(c, "the input must hold square matrices, but is %s",
                                  tc_graph_type_str(c->g->arena, x->dtype, &x->shape));
    c->out[0] = (tc_graph_type){.dtype = x->dtype, .shape = x->shape};
    c->out[0].shape.ndim -= 2;
    return c->n->op == TC_GRAPH_OP_DET_LIST ? TC_OK : on_type(c, TC_GRAPH_OP_DET_LIST, computed_in(c));
}

tc_status tc_graph_infer_max_roi_pool(tc_graph_infer_ctx *c) {
    const tc_graph_value *x = c->n->in[0], *rois = c->n->in[1];
    size_t len;
    const int64_t *pooled = tc_graph_attr_pooled_shape(c->n, &len);
    TC_TRY(tc_graph_want_float(c, 0));
    TC_TRY(tc_graph_want_same_type(c, 0, 1));
    if (x->shape.ndim != 4 || rois->shape.ndim != 2 || rois->shape.d[1] != 5)
        return tc_graph_node_fail(c, "it expects an input [N, C, H, W] and rois [R, 5], but they are %s and %s",
                                  tc_graph_type_str(c->g->arena, x->dtype, &x->shape),
                                  tc_graph_type_str(c->g->arena, rois->dtype, &rois->shape));
    if (!pooled || len != 2 || pooled[0] < 1 || pooled[1] < 1)
        return tc_graph_node_fail(c, "attribute pooled_shape must be two positive integers");
    c->out[0] = (tc_graph_type){.dtype = x->dtype, .shape = {4, {rois->shape.d[0], x->shape.d[1], pooled[0], pooled[1]}}};
    return c->n->op == TC_GRAPH_OP_MAX_ROI_POOL_LIST ? TC_OK : on_type(c, TC_GRAPH_OP_MAX_ROI_POOL_LIST, computed_in(c));
}

/* RoiAlign with sampling_ratio 0, whose text checks the operands (expansions.txt) */
tc_status tc_graph_infer_roi_align_list(tc_graph_infer_ctx *c) {
    const tc_graph_value *x = c->n->in[0], *rois = c->n->in[1];
    int64_t height = tc_graph_attr_output_height(c->n), width = tc_graph_attr_output_width(c->n);
    c->out[0] = (tc_graph_type){.dtype = x->dtype, .shape = {4, {rois->shape.d[0], x->shape.d[1], height, width}}};
    return TC_OK;
}

/* ---- a number of regions that depends on data: past it, they are empty ones of the first image ---- */

tc_status tc_graph_rewrite_regions(tc_graph_emitter *e) {
    const tc_graph_node *n = e->c->n;
    tc_graph_value *in[3] = {n->in[0]}, *size = NULL;
    if (tc_graph_is_dynamic(n->in[0]))
        return tc_graph_dynamic_refuse(e->c, 0, 0);
    for (int k = 1; k < n->nin; k++) {
        const tc_graph_value *v = n->in[k];
        size = size ? size : tc_graph_extent(v, 0);
        in[k] = tc_graph_em_masked(e, n->in[k], -1, tc_graph_em_scalar(e, v->dtype, 0));
        in[k] = tc_graph_em_blind(e, in[k]);
    }
    if (!size)
        return tc_graph_dynamic_refuse(e->c, 1, 0);
    return tc_graph_em_finish(e, tc_graph_em_sized(e, tc_graph_em_again(e, in), 0, size));
}
