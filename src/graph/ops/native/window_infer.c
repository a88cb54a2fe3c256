/* Inference of convolution and pooling: [N, C, spatial...] under a moving window. */
#include <inttypes.h>
#include <string.h>

#include "graph/ir/build.h"
#include "graph/ops/functions.h"
#include "graph/ops/window.h"

enum { MAX_SPATIAL = TC_GRAPH_MAX_SPATIAL };

typedef tc_graph_window window;

static int64_t effective(const window *w, int i) {
    return tc_graph_window_extent(w, i);
}

/* auto_pad: SAME_UPPER and SAME_LOWER give ceil(in / stride) outputs, the odd pad going to the end or to the beginning. */
static tc_status resolve_pads(tc_graph_infer_ctx *c, const tc_graph_shape *x, window *w) {
    const char *mode = tc_graph_attr_auto_pad(c->n);
    bool upper = strcmp(mode, "SAME_UPPER") == 0, lower = strcmp(mode, "SAME_LOWER") == 0;
    if (!upper && !lower && strcmp(mode, "VALID") != 0 && strcmp(mode, "NOTSET") != 0)
        return tc_graph_node_refuse(c, TC_ERROR_UNSUPPORTED,
                                    "attribute auto_pad is '%s'; NOTSET, VALID, SAME_UPPER and SAME_LOWER are supported", mode);
    if (!upper && !lower)
        return tc_graph_want_attr(c, strcmp(mode, "VALID") == 0 ? TC_ATTR_none : TC_ATTR_pads, 2 * w->n, 0, 0, w->pads);
    for (int i = 0; i < w->n; i++) {
        int64_t in = x->d[i + 2], out = (in + w->strides[i] - 1) / w->strides[i];
        int64_t total = TC_MAX(0, (out - 1) * w->strides[i] + effective(w, i) - in);
        w->pads[i] = upper ? total / 2 : total - total / 2;
        w->pads[i + w->n] = total - w->pads[i];
    }
    return TC_OK;
}

tc_status tc_graph_read_window(tc_graph_infer_ctx *c, const tc_graph_shape *x, window *w) {
    TC_TRY(tc_graph_want_attr(c, TC_ATTR_strides, w->n, 1, 1, w->strides));
    TC_TRY(tc_graph_want_attr(c, TC_ATTR_dilations, w->n, 1, 1, w->dilations));
    return resolve_pads(c, x, w);
}

/* Number of window positions; with ceil_mode the last may run past the end, if it starts inside of input or left pad. */
static tc_status window_outputs(tc_graph_infer_ctx *c, const tc_graph_shape *x, const window *w, bool ceil_mode,
                                tc_graph_shape *out) {
    out->ndim = x->ndim;
    for (int i = 0; i < w->n; i++) {
        int64_t room = x->d[i + 2] + w->pads[i] + w->pads[i + w->n] - effective(w, i), stride = w->strides[i];
        if (room < 0)
            return tc_graph_node_fail(
                c,
                "the window has %" PRId64 " elements%s, but dimension %d of '%s' has %" PRId64 "%s; give at least %" PRId64
                " there",
                effective(w, i), w->dilations[i] > 1 ? " with dilation" : "", i + 2,
                tc_graph_as_in_model(c->g, c->n->in[0], i + 2)->name, x->d[i + 2],
                w->pads[i] + w->pads[i + w->n]
                    ? tc_arena_printf(c->g->arena, ", and %" PRId64 " of padding", w->pads[i] + w->pads[i + w->n])
                    : "",
                x->d[i + 2] - room);
        int64_t n = (ceil_mode ? room + stride - 1 : room) / stride + 1;
        if (ceil_mode && (n - 1) * stride >= x->d[i + 2] + w->pads[i])
            n--;
        out->d[i + 2] = n;
    }
    return TC_OK;
}

static void store_window(tc_graph_infer_ctx *c, const window *w) {
    tc_graph_become(c, c->n->op, c->n->nin);
    tc_graph_set_kernel_shape(c->g, c->n, w->kernel, (size_t)w->n);
    tc_graph_set_strides(c->g, c->n, w->strides, (size_t)w->n);
    tc_graph_set_dilations(c->g, c->n, w->dilations, (size_t)w->n);
    tc_graph_set_pads(c->g, c->n, w->pads, 2 * (size_t)w->n);
}

static tc_status want_spatial(tc_graph_infer_ctx *c, const tc_graph_value *x) {
    if (x->shape.ndim < 3)
        return tc_graph_node_fail(c, "the input '%s' must be [N, C, spatial...], but has %d dimensions", x->name, x->shape.ndim);
    return TC_OK;
}

tc_status tc_graph_read_window_of(tc_graph_infer_ctx *c, const tc_graph_value *weights, window *w) {
    TC_TRY(tc_graph_want_attr(c, TC_ATTR_kernel_shape, w->n, 0, 0, w->kernel));
    for (int i = 0; i < w->n; i++) {
        if (!w->kernel[i])
            w->kernel[i] = weights->shape.d[i + 2];
        if (w->kernel[i] != weights->shape.d[i + 2] || w->kernel[i] < 1)
            return tc_graph_node_fail(c, "attribute kernel_shape differs from the weights' shape");
    }
    return TC_OK;
}

tc_status tc_graph_want_weights(tc_graph_infer_ctx *c, bool transposed, int64_t group) {
    const tc_graph_value *x = c->n->in[0], *wt = c->n->in[1];
    TC_TRY(want_spatial(c, x));
    TC_TRY(tc_graph_want_number(c, 0));
    TC_TRY(tc_graph_want_same_type(c, 0, 1));
    bool fit = wt->shape.ndim == x->shape.ndim && group >= 1 && group <= TC_MAX(x->shape.d[1], 1) &&
               (transposed ? wt->shape.d[0] : wt->shape.d[1] * group) == x->shape.d[1] && wt->shape.d[0] % group == 0;
    if (!fit)
        return tc_graph_node_fail(c, "the weights %s do not fit the input %s with group %" PRId64,
                                  tc_graph_type_str(c->g->arena, wt->dtype, &wt->shape),
                                  tc_graph_type_str(c->g->arena, x->dtype, &x->shape), group);
    return TC_OK;
}

/* Along dimension d: where the window has its last place. Smaller operands give nothing. */
static tc_graph_value *places(tc_graph_emitter *e, tc_graph_value *size, int d) {
    size_t n;
    int i = d - 2;
    const int64_t *kernel = tc_graph_attr_kernel_shape(e->c->n, &n), *strides = tc_graph_attr_strides(e->c->n, &n);
    const int64_t *dilations = tc_graph_attr_dilations(e->c->n, &n), *pads = tc_graph_attr_pads(e->c->n, &n);
    int64_t all = pads[i] + pads[(size_t)i + n / 2] - ((kernel[i] - 1) * dilations[i] + 1);
    tc_graph_value *room = em_max(e, em_add(e, size, tc_graph_em_number(e, all)), tc_graph_em_number(e, -strides[i]));
    return em_div(e, em_add(e, room, tc_graph_em_number(e, strides[i])), tc_graph_em_number(e, strides[i]));
}

/* out[d] at its largest, less what is missing of the operand, in steps. */
static tc_graph_value *places_transposed(tc_graph_emitter *e, tc_graph_value *size, int d) {
    size_t n;
    int64_t stride = tc_graph_attr_strides(e->c->n, &n)[d - 2];
    int64_t rest = e->c->out[0].shape.d[d] - e->c->n->in[0]->shape.d[d] * stride;
    tc_graph_value *all = em_add(e, em_mul(e, size, tc_graph_em_number(e, stride)), tc_graph_em_number(e, rest));
    return em_max(e, all, tc_graph_em_number(e, 0));
}

/* Windows walk the dimensions after the first two. What lies past an operand's size is what padding is. */
static tc_status take_windows(tc_graph_infer_ctx *c) {
    const tc_graph_value *x = c->n->in[0];
    bool transposed = c->n->op == TC_GRAPH_OP_CONV_TRANSPOSE;
    tc_graph_emitter e = {c, TC_OK};
    tc_graph_read_some(c, 0, 0, 1);
    c->out[0].size[0] = tc_graph_extent(x, 0);
    for (int d = 2; d < x->shape.ndim; d++) {
        if (!tc_graph_extent(x, d))
            continue;
        tc_graph_value *n = (transposed ? places_transposed : places)(&e, tc_graph_extent(x, d), d);
        tc_graph_number known = tc_graph_em_known(&e, n);
        TC_TRY(e.status);
        known.value->most = c->out[0].shape.d[d];
        c->out[0].size[d] = known.value;
        TC_TRY(tc_graph_read_all(c, 0, d, tc_graph_neutral(c->n->op)));
    }
    return TC_OK;
}

tc_status tc_graph_want_bias(tc_graph_infer_ctx *c, int64_t channels) {
    const tc_graph_value *bias = tc_graph_in(c, 2);
    if (bias && (bias->shape.ndim != 1 || bias->shape.d[0] != channels))
        return tc_graph_node_fail(c, "the bias '%s' must have one element per output channel (%" PRId64 ")", bias->name,
                                  channels);
    return TC_OK;
}

tc_status tc_graph_infer_conv(tc_graph_infer_ctx *c) {
    const tc_graph_value *x = c->n->in[0], *wt = c->n->in[1];
    window w = {.n = x->shape.ndim - 2};
    int64_t group = tc_graph_attr_group(c->n);
    TC_TRY(tc_graph_want_weights(c, false, group));
    TC_TRY(tc_graph_read_window_of(c, wt, &w));
    TC_TRY(tc_graph_want_bias(c, wt->shape.d[0]));
    TC_TRY(tc_graph_read_window(c, &x->shape, &w));
    c->out[0] = (tc_graph_type){.dtype = x->dtype, .shape = {.d = {x->shape.d[0], wt->shape.d[0]}}};
    TC_TRY(window_outputs(c, &x->shape, &w, false, &c->out[0].shape));
    store_window(c, &w);
    tc_graph_set_group(c->g, c->n, group);
    return take_windows(c);
}

/* Sizes of a transposed convolution without padding: what a convolution with this window would have read. */
static void natural_sizes(const tc_graph_shape *x, const window *w, const int64_t *extra, int64_t *size) {
    for (int i = 0; i < w->n; i++)
        size[i] = (x->d[i + 2] - 1) * w->strides[i] + extra[i] + effective(w, i);
}

/* Padding that is wanted sizes' consequence; the odd one goes to the end with SAME_UPPER, else to the beginning. */
static void pads_for_sizes(const window *w, bool upper, const int64_t *natural, const int64_t *wanted, int64_t *pads) {
    for (int i = 0; i < w->n; i++) {
        int64_t total = TC_MAX(0, natural[i] - wanted[i]);
        pads[i] = upper ? total / 2 : total - total / 2;
        pads[i + w->n] = total - pads[i];
    }
}

static tc_status transposed_outputs(tc_graph_infer_ctx *c, const tc_graph_shape *x, window *w) {
    int64_t extra[MAX_SPATIAL], natural[MAX_SPATIAL], wanted[MAX_SPATIAL];
    const char *mode = tc_graph_attr_auto_pad(c->n);
    bool upper = strcmp(mode, "SAME_UPPER") == 0, same = upper || strcmp(mode, "SAME_LOWER") == 0;
    TC_TRY(tc_graph_read_window(c, x, w));
    TC_TRY(tc_graph_want_attr(c, TC_ATTR_output_padding, w->n, 0, 0, extra));
    natural_sizes(x, w, extra, natural);
    size_t given = 0;
    const int64_t *shape = tc_graph_attr_output_shape(c->n, &given);
    if (shape && given != (size_t)w->n && given != (size_t)w->n + 2)
        return tc_graph_node_fail(c, "attribute output_shape has %zu entries; %d are expected", given, w->n);
    for (int i = 0; i < w->n; i++) {
        wanted[i] = shape ? shape[(int)given - w->n + i] : x->d[i + 2] * w->strides[i];
        if (wanted[i] < 1 && shape)
            return tc_graph_node_fail(c, "attribute output_shape[%d] is %" PRId64 "; it must be at least 1", i, wanted[i]);
    }
    if (shape || same)
        pads_for_sizes(w, upper, natural, wanted, w->pads);
    for (int i = 0; i < w->n; i++) {
        int64_t n = shape || same ? wanted[i] : natural[i] - w->pads[i] - w->pads[i + w->n];
        if (n < 1)
            return tc_graph_node_fail(c, "dimension %d of the result would have %" PRId64 " elements", i + 2, n);
        c->out[0].shape.d[i + 2] = n;
    }
    return TC_OK;
}

tc_status tc_graph_infer_conv_transpose(tc_graph_infer_ctx *c) {
    const tc_graph_value *x = c->n->in[0], *wt = c->n->in[1];
    window w = {.n = x->shape.ndim - 2};
    int64_t group = tc_graph_attr_group(c->n);
    TC_TRY(tc_graph_want_weights(c, true, group));
    TC_TRY(tc_graph_read_window_of(c, wt, &w));
    int64_t channels = wt->shape.d[1] * group;
    TC_TRY(tc_graph_want_bias(c, channels));
    c->out[0] = (tc_graph_type){.dtype = x->dtype, .shape = {.ndim = x->shape.ndim, .d = {x->shape.d[0], channels}}};
    TC_TRY(transposed_outputs(c, &x->shape, &w));
    store_window(c, &w);
    tc_graph_set_group(c->g, c->n, group);
    return take_windows(c);
}

tc_status tc_graph_infer_pool(tc_graph_infer_ctx *c) {
    const tc_graph_value *x = c->n->in[0];
    window w = {.n = x->shape.ndim - 2};
    TC_TRY(want_spatial(c, x));
    TC_TRY(c->n->op == TC_GRAPH_OP_AVERAGE_POOL ? tc_graph_want_float(c, 0) : tc_graph_want_number(c, 0));
    if (!tc_graph_attr_find(c->n, TC_ATTR_kernel_shape))
        return tc_graph_node_fail(c, "attribute kernel_shape is missing");
    TC_TRY(tc_graph_want_attr(c, TC_ATTR_kernel_shape, w.n, 1, 1, w.kernel));
    TC_TRY(tc_graph_read_window(c, &x->shape, &w));
    int64_t count_pad = tc_graph_attr_count_include_pad(c->n), sums = tc_graph_attr_sums(c->n);
    int64_t by_columns = tc_graph_attr_storage_order(c->n);
    c->out[0] = (tc_graph_type){.dtype = x->dtype, .shape = {.d = {x->shape.d[0], x->shape.d[1]}}};
    TC_TRY(window_outputs(c, &x->shape, &w, tc_graph_attr_ceil_mode(c->n), &c->out[0].shape));
    store_window(c, &w);
    if (c->n->op == TC_GRAPH_OP_AVERAGE_POOL)
        tc_graph_set_count_include_pad(c->g, c->n, count_pad);
    if (sums)
        tc_graph_set_sums(c->g, c->n, 1);
    if (c->nout > 1) { /* only MaxPool's may be */
        tc_graph_become(c, TC_GRAPH_OP_MAX_POOL_INDICES, 1);
        store_window(c, &w);
        tc_graph_set_storage_order(c->g, c->n, by_columns);
    }
    tc_graph_read_some(c, 0, 1, 2);
    c->out[0].size[1] = tc_graph_extent(x, 1);
    TC_TRY(take_windows(c));
    if (c->nout > 1) {
        c->out[1] = c->out[0];
        c->out[1].dtype = TC_I64;
    }
    return TC_OK;
}
