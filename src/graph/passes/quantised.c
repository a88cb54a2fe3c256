/* Implements quantised.h: reads the nodes between floats and quantised values. */
#include "graph/passes/quantised.h"

#include <math.h>

bool tc_graph_is_narrow(const tc_graph_value *v) {
    return tc_dtype_is_int(v->dtype) && tc_dtype_bytes(v->dtype) <= 2;
}

tc_graph_node *tc_graph_made_by(const tc_graph_value *v, tc_graph_op op) {
    return v && v->producer && v->producer->op == op ? v->producer : NULL;
}

tc_graph_node *tc_graph_dequantisation_of(const tc_graph_value *v) {
    return tc_graph_made_by(v, TC_GRAPH_OP_DEQUANTIZE_LINEAR);
}

bool tc_graph_selects(const tc_graph_node *n) {
    return tc_graph_op_is(n->op, TC_GRAPH_SELECTS) && n->nin == 1 && n->nout == 1;
}

bool tc_graph_known_scales(const tc_graph_node *n) {
    const tc_graph_value *scale = n->in[1], *zero = tc_graph_operand_of(n, 2);
    if (!scale->constant || scale->dtype != TC_F32 || (zero && !zero->constant))
        return false;
    const float *s = scale->constant->data;
    bool good = true;
    for (int64_t i = 0, len = tc_graph_shape_count(&scale->shape); i < len; i++)
        good &= isfinite(s[i]) && s[i] > 0;
    return good;
}

bool tc_graph_one_scale(const tc_graph_node *n, float *scale, int64_t *zero) {
    const tc_graph_value *z = tc_graph_operand_of(n, 2);
    if (!tc_graph_known_scales(n) || tc_graph_shape_count(&n->in[1]->shape) != 1 || (z && tc_graph_shape_count(&z->shape) != 1))
        return false;
    *scale = *(const float *)n->in[1]->constant->data;
    *zero = z ? tc_load_i(z->dtype, z->constant->data, 0) : 0;
    return true;
}

bool tc_graph_same_scales(const tc_graph_node *quantize, const tc_graph_node *dequantize) {
    if (quantize->out[0]->dtype != dequantize->in[0]->dtype || !tc_graph_known_scales(quantize) ||
        !tc_graph_known_scales(dequantize))
        return false;
    for (int k = 1; k < 3; k++) {
        const tc_graph_value *a = tc_graph_operand_of(quantize, k), *b = tc_graph_operand_of(dequantize, k);
        if (!a != !b || (a && !tc_graph_tensor_equal(a->constant, b->constant)))
            return false;
    }
    return true;
}

tc_status tc_graph_rewrite_nodes(tc_graph *g, tc_graph_visit *visit, void *user, tc_error *err) {
    tc_graph_nodes old = g->nodes;
    g->nodes = (tc_graph_nodes){0};
    tc_status s = TC_OK;
    for (size_t i = 0; i < old.len && s == TC_OK; i++)
        s = visit(g, old.data[i], user, err);
    tc_vec_free(&old);
    return s;
}
