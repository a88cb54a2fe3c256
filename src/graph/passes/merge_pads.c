/* Merges a Pad into the window that reads it, since a window can add padding itself.
 *
 *   y = Conv(Pad(x) {pads: spatial, zeros})   =>   y = Conv(x) {pads: both}
 *
 * AveragePool accepts zeros when it counts padding (then it must count all of its padding). MaxPool accepts -inf. The Pad stays
 * while other nodes read it. */
#include <math.h>
#include <string.h>

#include "graph/passes/pass.h"

/* The value that the Pad fills with; false when it is not known. */
static bool fill_of(const tc_graph_node *pad, double *fill) {
    *fill = 0;
    if (pad->nin < 2 || !pad->in[1])
        return true;
    const tc_graph_tensor *t = pad->in[1]->constant;
    if (!t || !tc_dtype_is_float(t->dtype) || tc_graph_tensor_count(t) != 1)
        return false;
    *fill = tc_load_f(t->dtype, t->data, 0);
    return true;
}

/* The Pad pads nothing but the spatial dimensions, and cuts nothing off. */
static bool is_spatial(const tc_graph_node *pad) {
    size_t len;
    const int64_t *p = tc_graph_attr_pads(pad, &len);
    int ndim = pad->in[0]->shape.ndim;
    if (strcmp(tc_graph_attr_mode(pad), "constant") != 0 || ndim < 3)
        return false;
    for (size_t i = 0; i < len; i++)
        if (p[i] < 0 || (p[i] > 0 && i % (size_t)ndim < 2))
            return false;
    return true;
}

static bool pads_nothing(const tc_graph_node *n) {
    size_t len;
    const int64_t *p = tc_graph_attr_pads(n, &len);
    for (size_t i = 0; i < len; i++)
        if (p[i])
            return false;
    return true;
}

static bool takes_fill(const tc_graph_node *n, double fill) {
    if (n->op == TC_GRAPH_OP_AVERAGE_POOL)
        return fill == 0 && (pads_nothing(n) || tc_graph_attr_count_include_pad(n));
    return n->op == TC_GRAPH_OP_CONV ? fill == 0 : n->op == TC_GRAPH_OP_MAX_POOL && fill == -INFINITY;
}

static void merge(tc_graph *g, tc_graph_node *n, const tc_graph_node *pad) {
    size_t len, padded;
    const int64_t *own = tc_graph_attr_pads(n, &len), *more = tc_graph_attr_pads(pad, &padded);
    int64_t sum[2 * TC_GRAPH_MAX_DIMS];
    for (size_t i = 0, half = len / 2; i < len; i++)
        sum[i] = own[i] + more[i < half ? i + 2 : i + 4];
    tc_graph_set_pads(g, n, sum, len);
    if (n->op == TC_GRAPH_OP_AVERAGE_POOL)
        tc_graph_set_count_include_pad(g, n, 1);
    n->in[0] = pad->in[0];
}

tc_status tc_graph_pass_merge_pads(tc_graph *g, tc_error *err) {
    (void)err;
    for (size_t i = 0; i < g->nodes.len; i++) {
        tc_graph_node *n = g->nodes.data[i];
        const tc_graph_node *pad = n->nin ? n->in[0]->producer : NULL;
        double fill;
        if (pad && pad->op == TC_GRAPH_OP_PAD && n->nout == 1 && fill_of(pad, &fill) && takes_fill(n, fill) && is_spatial(pad))
            merge(g, n, pad);
    }
    return TC_OK;
}
