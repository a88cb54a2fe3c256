/* src/graph/ops/composed owns the families of operators that inference writes, in C, in terms of others or of library kernels. Not
 * here: those that are texts (src/graph/ir/expansions.txt), and operators with a lowering of their own (src/graph/ops/native).
 *
 * This file types the results of library kernels that texts use. The texts check the operands. */
#include "graph/ops/functions.h"

static tc_graph_type type_of(tc_dtype t, tc_graph_shape s) {
    return (tc_graph_type){.dtype = t, .shape = s};
}

/* ---- as many elements as the data say: buffers of the largest size, and how many there are ---- */

tc_status tc_graph_infer_non_zero_list(tc_graph_infer_ctx *c) {
    const tc_graph_shape *x = &c->n->in[0]->shape;
    c->out[0] = type_of(TC_I64, (tc_graph_shape){2, {x->ndim, tc_graph_shape_count(x)}});
    c->out[1] = type_of(TC_I64, (tc_graph_shape){0});
    return TC_OK;
}

tc_status tc_graph_infer_unique_list(tc_graph_infer_ctx *c) {
    int64_t n = c->n->in[0]->shape.d[tc_graph_attr_axis(c->n)];
    for (int k = 0; k < 4; k++)
        c->out[k] = type_of(TC_I64, (tc_graph_shape){k < 3, {n}});
    return TC_OK;
}

tc_status tc_graph_infer_nms_list(tc_graph_infer_ctx *c) {
    const tc_graph_shape *s = &c->n->in[1]->shape;
    c->out[0] = type_of(TC_I64, (tc_graph_shape){2, {s->d[0] * s->d[1] * tc_graph_attr_most(c->n), 3}});
    c->out[1] = type_of(TC_I64, (tc_graph_shape){0});
    return TC_OK;
}

/* ---- as many as attributes say ---- */

tc_status tc_graph_infer_top_k_list(tc_graph_infer_ctx *c) {
    tc_graph_shape s = c->n->in[0]->shape;
    s.d[tc_graph_attr_axis(c->n)] = tc_graph_attr_k(c->n);
    c->out[0] = type_of(c->n->in[0]->dtype, s);
    c->out[1] = type_of(TC_I64, s);
    return TC_OK;
}

tc_status tc_graph_infer_det_list(tc_graph_infer_ctx *c) {
    c->out[0] = type_of(c->n->in[0]->dtype, c->n->in[0]->shape);
    c->out[0].shape.ndim -= 2;
    return TC_OK;
}

static tc_status regions_of(tc_graph_infer_ctx *c, int64_t height, int64_t width) {
    const tc_graph_value *x = c->n->in[0];
    c->out[0] = type_of(x->dtype, (tc_graph_shape){4, {c->n->in[1]->shape.d[0], x->shape.d[1], height, width}});
    return TC_OK;
}

tc_status tc_graph_infer_max_roi_pool_list(tc_graph_infer_ctx *c) {
    size_t len;
    const int64_t *pooled = tc_graph_attr_pooled_shape(c->n, &len);
    return regions_of(c, pooled[0], pooled[1]);
}

tc_status tc_graph_infer_roi_align_list(tc_graph_infer_ctx *c) {
    return regions_of(c, tc_graph_attr_output_height(c->n), tc_graph_attr_output_width(c->n));
}
