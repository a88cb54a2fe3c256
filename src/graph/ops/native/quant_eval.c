/* Reference evaluation of QuantizeLinear and DequantizeLinear. In float, as ONNX has it: the quotient of doubles would be rounded
 * differently at the ties. */
#include <math.h>

#include "graph/ops/functions.h"

static tc_graph_walk walk_of(const tc_graph_eval_ctx *c) {
    tc_graph_walk w = {.shape = c->out[0].shape};
    for (int k = 0; k < c->n->nin && k < 3; k++)
        tc_graph_broadcast_strides(&c->in[k]->shape, &w.shape, w.strides[k]);
    return w;
}

static double element(const tc_graph_tensor *t, int64_t i) {
    return tc_dtype_is_float(t->dtype) ? tc_load_f(t->dtype, t->data, i) : (double)tc_load_i(t->dtype, t->data, i);
}

tc_status tc_graph_eval_quantize(tc_graph_eval_ctx *c) {
    tc_graph_tensor *y = &c->out[0];
    bool is_signed = tc_dtype_is_signed(y->dtype);
    int bits = 8 * tc_dtype_bytes(y->dtype);
    float low = is_signed ? -ldexpf(1, bits - 1) : 0, high = ldexpf(1, is_signed ? bits - 1 : bits) - 1;
    tc_graph_walk w = walk_of(c);
    for (int64_t i = 0, n = tc_graph_tensor_count(y); i < n; i++, tc_graph_walk_next(&w)) {
        float q = nearbyintf((float)element(c->in[0], w.at[0]) / (float)element(c->in[1], w.at[1]));
        if (c->n->nin > 2)
            q += (float)element(c->in[2], w.at[2]);
        tc_store_i(y->dtype, y->data, i, isnan(q) ? 0 : (int64_t)fminf(fmaxf(q, low), high));
    }
    return TC_OK;
}

tc_status tc_graph_eval_dequantize(tc_graph_eval_ctx *c) {
    tc_graph_walk w = walk_of(c);
    for (int64_t i = 0, n = tc_graph_tensor_count(&c->out[0]); i < n; i++, tc_graph_walk_next(&w)) {
        double q = element(c->in[0], w.at[0]) - (c->n->nin > 2 ? element(c->in[2], w.at[2]) : 0);
        tc_store_f(c->out[0].dtype, c->out[0].data, i, (double)(float)q * element(c->in[1], w.at[1]));
    }
    return TC_OK;
}
