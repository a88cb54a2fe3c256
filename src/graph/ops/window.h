/* What convolutions and pools share: a window that moves over [N, C, spatial...]. */
#ifndef TC_GRAPH_OPS_WINDOW_H
#define TC_GRAPH_OPS_WINDOW_H

#include "graph/ops/emit.h"

enum { TC_GRAPH_MAX_SPATIAL = TC_GRAPH_MAX_DIMS - 2 };

/* By spatial dimension; pads: in front of all, then behind all. */
typedef struct tc_graph_window {
    int n;
    int64_t kernel[TC_GRAPH_MAX_SPATIAL], strides[TC_GRAPH_MAX_SPATIAL], dilations[TC_GRAPH_MAX_SPATIAL],
        pads[2 * TC_GRAPH_MAX_SPATIAL];
} tc_graph_window;

/* Elements from its first to its last. */
static inline int64_t tc_graph_window_extent(const tc_graph_window *w, int i) {
    return (w->kernel[i] - 1) * w->dilations[i] + 1;
}

/* Strides, dilations and padding of c->n, whose operand has this shape, for a window of w->n dimensions whose kernel is known. */
TC_NODISCARD tc_status tc_graph_read_window(tc_graph_infer_ctx *c, const tc_graph_shape *x, tc_graph_window *w);
/* The kernel, which is what the weights say; the attribute may repeat it. */
TC_NODISCARD tc_status tc_graph_read_window_of(tc_graph_infer_ctx *c, const tc_graph_value *weights, tc_graph_window *w);

/* Weights have the channels of the input, divided among the groups, in dimension 1; transposed, those in dimension 0. */
TC_NODISCARD tc_status tc_graph_want_weights(tc_graph_infer_ctx *c, bool transposed, int64_t group);
TC_NODISCARD tc_status tc_graph_want_bias(tc_graph_infer_ctx *c, int64_t channels);
#endif
