/* Inference of convolution and pooling: [N, C, spatial...] under a moving window. */
#include <inttypes.h>
#include <string.h>

#include "graph/graph_int.h"

enum { MAX_SPATIAL = TC_GRAPH_MAX_DIMS - 2 };

typedef struct window {
    int n; /* spatial dims */
    int64_t kernel[MAX_SPATIAL], strides[MAX_SPATIAL], dilations[MAX_SPATIAL], pads[2 * MAX_SPATIAL];
} window;

/* An attribute of `len` integers with a lower bound; `otherwise` where it is absent. */
static tc_status read_ints(tc_graph_infer_ctx *c, const char *name, int len, int64_t least, int64_t otherwise, int64_t *out) {
    size_t n;
    const int64_t *v = tc_graph_attr_ints(c->n, name, &n);
    if (v && n != (size_t)len)
        return tc_graph_node_fail(c, "attribute %s has %zu entries; %d are expected", name, n, len);
    for (int i = 0; i < len; i++) {
        out[i] = v ? v[i] : otherwise;
        if (out[i] < least || out[i] > 1 << 30)
            return tc_graph_node_fail(c, "attribute %s[%d] is %" PRId64, name, i, out[i]);
    }
    return TC_OK;
}

static int64_t effective(const window *w, int i) {
    return (w->kernel[i] - 1) * w->dilations[i] + 1;
}

/* auto_pad: SAME_UPPER and SAME_LOWER give ceil(in / stride) outputs, the odd pad going to the end or to the beginning. */
static tc_status resolve_pads(tc_graph_infer_ctx *c, const tc_graph_shape *x, window *w) {
    const char *mode = tc_graph_attr_str(c->n, "auto_pad", "NOTSET");
    bool upper = strcmp(mode, "SAME_UPPER") == 0, lower = strcmp(mode, "SAME_LOWER") == 0;
    if (!upper && !lower && strcmp(mode, "VALID") != 0 && strcmp(mode, "NOTSET") != 0)
        return tc_graph_node_fail(c, "attribute auto_pad is '%s'; NOTSET, VALID, SAME_UPPER and SAME_LOWER are supported", mode);
    if (!upper && !lower)
        return read_ints(c, strcmp(mode, "VALID") == 0 ? "" : "pads", 2 * w->n, 0, 0, w->pads);
    for (int i = 0; i < w->n; i++) {
        int64_t in = x->d[i + 2], out = (in + w->strides[i] - 1) / w->strides[i];
        int64_t total = TC_MAX(0, (out - 1) * w->strides[i] + effective(w, i) - in);
        w->pads[i] = upper ? total / 2 : total - total / 2;
        w->pads[i + w->n] = total - w->pads[i];
    }
    return TC_OK;
}

static tc_status read_window(tc_graph_infer_ctx *c, const tc_graph_shape *x, window *w) {
    TC_TRY(read_ints(c, "strides", w->n, 1, 1, w->strides));
    TC_TRY(read_ints(c, "dilations", w->n, 1, 1, w->dilations));
    return resolve_pads(c, x, w);
}

/* Number of window positions; with ceil_mode the last may run past the end, if it starts inside of input or left pad. */
static tc_status window_outputs(tc_graph_infer_ctx *c, const tc_graph_shape *x, const window *w, bool ceil_mode,
                                tc_graph_shape *out) {
    out->ndim = x->ndim;
    for (int i = 0; i < w->n; i++) {
        int64_t room = x->d[i + 2] + w->pads[i] + w->pads[i + w->n] - effective(w, i), stride = w->strides[i];
        if (room < 0)
            return tc_graph_node_fail(c, "the window (%" PRId64 " with dilation) is larger than dimension %d with its padding",
                                      effective(w, i), i + 2);
        int64_t n = (ceil_mode ? room + stride - 1 : room) / stride + 1;
        if (ceil_mode && (n - 1) * stride >= x->d[i + 2] + w->pads[i])
            n--;
        out->d[i + 2] = n;
    }
    return TC_OK;
}

static void store_window(tc_graph_infer_ctx *c, const window *w) {
    tc_graph_become(c, c->n->op, c->n->nin);
    tc_graph_set_ints(c->g, c->n, "kernel_shape", w->kernel, (size_t)w->n);
    tc_graph_set_ints(c->g, c->n, "strides", w->strides, (size_t)w->n);
    tc_graph_set_ints(c->g, c->n, "dilations", w->dilations, (size_t)w->n);
    tc_graph_set_ints(c->g, c->n, "pads", w->pads, 2 * (size_t)w->n);
}

static tc_status want_spatial(tc_graph_infer_ctx *c, const tc_graph_value *x) {
    if (x->shape.ndim < 3)
        return tc_graph_node_fail(c, "the input '%s' must be [N, C, spatial...], but has %d dimensions", x->name, x->shape.ndim);
    return TC_OK;
}

tc_status tc_graph_infer_conv(tc_graph_infer_ctx *c) {
    const tc_graph_value *x = c->n->in[0], *wt = c->n->in[1], *bias = tc_graph_in(c, 2);
    window w = {.n = x->shape.ndim - 2};
    int64_t group = tc_graph_attr_int(c->n, "group", 1);
    TC_TRY(want_spatial(c, x));
    TC_TRY(tc_graph_want_same_type(c, 0, 1));
    if (wt->shape.ndim != x->shape.ndim || group < 1 || wt->shape.d[1] * group != x->shape.d[1] || wt->shape.d[0] % group != 0)
        return tc_graph_node_fail(c, "the weights %s do not fit the input %s with group %" PRId64,
                                  tc_graph_type_str(c->g->arena, wt->dtype, &wt->shape),
                                  tc_graph_type_str(c->g->arena, x->dtype, &x->shape), group);
    TC_TRY(read_ints(c, "kernel_shape", w.n, 0, 0, w.kernel));
    for (int i = 0; i < w.n; i++) {
        if (!w.kernel[i])
            w.kernel[i] = wt->shape.d[i + 2];
        if (w.kernel[i] != wt->shape.d[i + 2] || w.kernel[i] < 1)
            return tc_graph_node_fail(c, "attribute kernel_shape differs from the weights' shape");
    }
    if (bias && (bias->shape.ndim != 1 || bias->shape.d[0] != wt->shape.d[0]))
        return tc_graph_node_fail(c, "the bias '%s' must have one element per output channel (%" PRId64 ")", bias->name,
                                  wt->shape.d[0]);
    TC_TRY(read_window(c, &x->shape, &w));
    c->out[0] = (tc_graph_type){x->dtype, {.d = {x->shape.d[0], wt->shape.d[0]}}};
    TC_TRY(window_outputs(c, &x->shape, &w, false, &c->out[0].shape));
    store_window(c, &w);
    tc_graph_set_int(c->g, c->n, "group", group);
    return TC_OK;
}

tc_status tc_graph_infer_pool(tc_graph_infer_ctx *c) {
    const tc_graph_value *x = c->n->in[0];
    window w = {.n = x->shape.ndim - 2};
    TC_TRY(want_spatial(c, x));
    if (!tc_graph_attr_find(c->n, "kernel_shape"))
        return tc_graph_node_fail(c, "attribute kernel_shape is missing");
    TC_TRY(read_ints(c, "kernel_shape", w.n, 1, 1, w.kernel));
    TC_TRY(read_window(c, &x->shape, &w));
    int64_t count_pad = tc_graph_attr_int(c->n, "count_include_pad", 0);
    c->out[0] = (tc_graph_type){x->dtype, {.d = {x->shape.d[0], x->shape.d[1]}}};
    TC_TRY(window_outputs(c, &x->shape, &w, tc_graph_attr_int(c->n, "ceil_mode", 0), &c->out[0].shape));
    store_window(c, &w);
    if (c->n->op == TC_GRAPH_OP_AVERAGE_POOL)
        tc_graph_set_int(c->g, c->n, "count_include_pad", count_pad);
    return TC_OK;
}

tc_status tc_graph_infer_global_pool(tc_graph_infer_ctx *c) {
    const tc_graph_value *x = c->n->in[0];
    int64_t axes[TC_GRAPH_MAX_DIMS];
    TC_TRY(want_spatial(c, x));
    c->out[0] = (tc_graph_type){x->dtype, x->shape};
    for (int i = 2; i < x->shape.ndim; i++) {
        axes[i - 2] = i;
        c->out[0].shape.d[i] = 1;
    }
    tc_graph_become(c, c->n->op == TC_GRAPH_OP_GLOBAL_MAX_POOL ? TC_GRAPH_OP_REDUCE_MAX : TC_GRAPH_OP_REDUCE_MEAN, 1);
    tc_graph_set_ints(c->g, c->n, "axes", axes, (size_t)x->shape.ndim - 2);
    tc_graph_set_int(c->g, c->n, "keepdims", 1);
    return TC_OK;
}
