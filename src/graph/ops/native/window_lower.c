/* Convolution, its transposition, and pooling, direct, in both layouts: [N, C, spatial...] as models have it, and, with the
 * attribute channels_last that passes/channels_last.c sets, [N, spatial..., C] with weights [kernel..., C/group, O]. The padding
 * is a stage of its own, which the schedule inlines, materialises per tile, or computes first:
 *
 *     P[n, h, w, c] = select(1 <= h && h < 57 && ..., X[n, h - 1, w - 1, c], 0)
 *     D[n, h, w, o] = sum(rh, rw, c) P[n, h * 2 + rh, w * 2 + rw, c] * W[rh, rw, c, o]
 *
 * A transposed convolution pads between the elements too (stride 2: every other one of P is an element of X) and walks the kernel
 * backwards; the search space recognises the period of the condition and leaves out the products with zero. */
#include "graph/ops/functions.h"

#include <math.h>

enum { RESULT, PADDED }; /* stages */

typedef struct window {
    tc_graph_lower *l;
    tc_ctx *c;
    const tc_graph_node *n;
    int nspace, space, channel; /* spatial dimensions: how many, and the first; the dimension of channels */
    bool last;                  /* channels are */
    const int64_t *kernel, *strides, *dilations, *pads;
    const tc_graph_shape *in, *out;
} window;

static window window_of(tc_graph_lower *l, const tc_graph_node *n) {
    size_t len;
    window w = {.l = l, .c = tc_graph_lower_ctx(l), .n = n, .in = &n->in[0]->shape, .out = &n->out[0]->shape};
    w.nspace = w.in->ndim - 2;
    w.last = tc_graph_attr_channels_last(n);
    w.space = w.last ? 1 : 2;
    w.channel = w.last ? w.in->ndim - 1 : 1;
    w.kernel = tc_graph_attr_kernel_shape(n, &len);
    w.strides = tc_graph_attr_strides(n, &len);
    w.dilations = tc_graph_attr_dilations(n, &len);
    w.pads = tc_graph_attr_pads(n, &len);
    return w;
}

static int64_t effective(const window *w, int d) {
    return (w->kernel[d] - 1) * w->dilations[d] + 1;
}

/* ---- padding ---- */

/* Zeros (or what stands for them) before the first element, and the distance of elements, per spatial dimension. */
typedef struct padding {
    int64_t before[TC_GRAPH_MAX_DIMS], step[TC_GRAPH_MAX_DIMS];
    tc_graph_shape shape; /* with the padding */
    bool any;
} padding;

static void note_padding(const window *w, padding *p, int d, int64_t before, int64_t step, int64_t extent) {
    p->before[d] = before;
    p->step[d] = step;
    p->shape.d[w->space + d] = extent;
    p->any |= before != 0 || step != 1 || extent != w->in->d[w->space + d];
}

/* What the windows cover; with ceil_mode the last may run past the padding. */
static padding padding_of(const window *w) {
    padding p = {.shape = *w->in};
    for (int d = 0; d < w->nspace; d++) {
        int64_t given = w->in->d[w->space + d] + w->pads[d] + w->pads[d + w->nspace];
        note_padding(w, &p, d, w->pads[d], 1, TC_MAX(given, (w->out->d[w->space + d] - 1) * w->strides[d] + effective(w, d)));
    }
    return p;
}

static padding padding_of_transposed(const window *w) {
    padding p = {.shape = *w->in};
    for (int d = 0; d < w->nspace; d++) {
        int64_t edge = effective(w, d) - 1;
        note_padding(w, &p, d, edge - w->pads[d], w->strides[d], w->out->d[w->space + d] + edge);
    }
    return p;
}

/* The condition that there is an element at padded position i of dimension d; *at is its coordinate. */
static const tc_expr *element_at(const window *w, const padding *p, int d, const tc_expr *i, const tc_expr **at) {
    tc_ctx *c = w->c;
    int64_t from = p->before[d], step = p->step[d];
    const tc_expr *past = tc_sub(c, i, tc_i64(c, from));
    const tc_expr *inside = tc_bin(c, TC_OP_GE, i, tc_i64(c, from));
    const tc_expr *end = tc_i64(c, from + (w->in->d[w->space + d] - 1) * step + 1);
    inside = tc_bin(c, TC_OP_AND, inside, tc_bin(c, TC_OP_LT, i, end));
    *at = past;
    if (step > 1) {
        const tc_expr *hit = tc_bin(c, TC_OP_EQ, tc_mod(c, past, tc_i64(c, step)), tc_i64(c, 0));
        inside = tc_bin(c, TC_OP_AND, inside, hit);
        *at = tc_div(c, past, tc_i64(c, step));
    }
    *at = tc_graph_index(w->l, *at);
    return inside;
}

static const tc_expr *padded_body(const window *w, const padding *p, const tc_expr *const *idx, const tc_expr *fill) {
    const tc_expr *at[TC_GRAPH_MAX_DIMS], *inside = tc_bool(w->c, true);
    for (int d = 0; d < w->in->ndim; d++)
        at[d] = idx[d];
    for (int d = 0; d < w->nspace; d++)
        inside = tc_bin(w->c, TC_OP_AND, inside, element_at(w, p, d, idx[w->space + d], &at[w->space + d]));
    return tc_select(w->c, tc_graph_index(w->l, inside), tc_graph_value_at(w->l, w->n->in[0], at), fill);
}

/* The input at padded coordinates. */
static const tc_expr *padded_at(const window *w, const padding *p, const tc_expr *const *idx, const tc_expr *fill) {
    tc_graph_stage s;
    if (!p->any)
        return tc_graph_value_at(w->l, w->n->in[0], idx);
    if (tc_graph_stage_begin(w->l, w->n, PADDED, &p->shape, &s)) {
        const tc_expr *body = padded_body(w, p, s.at, fill);
        tc_graph_stage_end(w->l, &s, TC_RED_NONE, 1, &body);
    }
    return tc_graph_stage_read(w->l, &s, 0, idx);
}

/* ---- convolution ---- */

/* The weights' dimensions: the reduced channels (of one group), the first of the kernel, and the output channels. */
typedef struct weights {
    const tc_graph_shape *shape;
    int reduced, kernel, out;
} weights;

static weights weights_of(const window *w, bool transposed) {
    weights k = {.shape = &w->n->in[1]->shape};
    if (w->last)
        return (weights){k.shape, w->nspace, 0, w->nspace + 1};
    return (weights){k.shape, transposed ? 0 : 1, 2, transposed ? 1 : 0};
}

static const tc_expr *quotient(const window *w, const tc_expr *a, int64_t by) {
    return tc_graph_index(w->l, tc_div(w->c, a, tc_i64(w->c, by)));
}

static const tc_expr *scaled(const window *w, const tc_expr *a, int64_t by) {
    return tc_mul(w->c, a, tc_i64(w->c, by));
}

/* Input channel of reduction step k for output channel o: each group reads channels of its own. */
static const tc_expr *input_channel(const window *w, const tc_expr *o, const tc_expr *k, int64_t per) {
    int64_t groups = tc_graph_attr_group(w->n);
    if (groups == 1)
        return k;
    const tc_expr *group = quotient(w, o, w->out->d[w->last ? w->out->ndim - 1 : 1] / groups);
    return tc_graph_index(w->l, tc_add(w->c, scaled(w, group, per), k));
}

/* ConvTranspose keeps [C, O/group, kernel...]: the dimensions of weights are by input channel and by channel of the group. */
static void transposed_weight(const window *w, const weights *k, const tc_expr *o, const tc_expr *channel, const tc_expr **at) {
    int64_t groups = tc_graph_attr_group(w->n), per = w->out->d[w->channel] / groups;
    if (w->last || groups == 1)
        return;
    at[k->reduced] = channel;
    at[k->out] = tc_graph_index(w->l, tc_mod(w->c, o, tc_i64(w->c, per)));
}

/* What x is padded with. */
static const tc_expr *fill_of(const window *w) {
    const tc_expr *none = NULL;
    return w->n->nin > 3 ? tc_graph_value_at(w->l, w->n->in[3], &none) : tc_imm(w->c, w->n->in[0]->dtype, 0);
}

static void build_conv(const window *w, tc_graph_stage *s, tc_dtype t, bool transposed) {
    weights k = weights_of(w, transposed);
    padding p = transposed ? padding_of_transposed(w) : padding_of(w);
    int64_t per = w->in->d[w->channel] / tc_graph_attr_group(w->n);
    const tc_expr *x[TC_GRAPH_MAX_DIMS], *at[TC_GRAPH_MAX_DIMS], *o = s->at[w->channel];
    x[0] = s->at[0];
    at[k.out] = o;
    for (int pass = 0; pass < 2; pass++) /* reduction axes in the order of the weights' dimensions */
        if (pass == (int)w->last)
            at[k.reduced] = tc_graph_stage_reduce(w->l, s, per);
        else
            for (int d = 0; d < w->nspace; d++)
                at[k.kernel + d] = tc_graph_stage_reduce(w->l, s, w->kernel[d]);
    x[w->channel] = input_channel(w, o, at[k.reduced], per);
    for (int d = 0; d < w->nspace; d++) {
        const tc_expr *tap = at[k.kernel + d];
        const tc_expr *base = scaled(w, s->at[w->space + d], transposed ? 1 : w->strides[d]);
        x[w->space + d] = tc_graph_index(w->l, tc_add(w->c, base, scaled(w, tap, w->dilations[d])));
        if (transposed)
            at[k.kernel + d] = tc_graph_index(w->l, tc_sub(w->c, tc_i64(w->c, w->kernel[d] - 1), tap));
    }
    if (transposed)
        transposed_weight(w, &k, o, x[w->channel], at);
    const tc_expr *value = padded_at(w, &p, x, fill_of(w));
    const tc_expr *weight = tc_graph_value_at(w->l, w->n->in[1], at);
    const tc_expr *body = tc_mul(w->c, tc_cast(w->c, t, value), tc_cast(w->c, t, weight));
    tc_graph_stage_end(w->l, s, TC_RED_SUM, 1, &body);
}

/* ---- transposed convolution by phases (passes/sub_pixel.c) ---- */

/*     D[n, q, r, o] = sum(t, c) P[n, q + (r + pad) / stride + t, c] * W[r, t, c, o] */
typedef struct phased {
    padding pad;
    int64_t taps[TC_GRAPH_MAX_DIMS], offset[TC_GRAPH_MAX_DIMS]; /* offset: of phase 0 within the stride */
} phased;

static phased phased_of(const window *w) {
    phased p = {.pad.shape = *w->in};
    for (int d = 0; d < w->nspace; d++) {
        int64_t stride = w->strides[d];
        p.taps[d] = (w->kernel[d] + stride - 1) / stride;
        p.offset[d] = w->pads[d] % stride;
        int64_t extent = w->out->d[2 * d + 1] + (p.offset[d] > 0) + p.taps[d] - 1;
        note_padding(w, &p.pad, d, p.taps[d] - 1 - w->pads[d] / stride, 1, extent);
    }
    return p;
}

/* (r + offset) / stride: 0, and 1 from some r on. */
static const tc_expr *carry(const window *w, const phased *p, int d, const tc_expr *r) {
    if (p->offset[d] == 0)
        return tc_i64(w->c, 0);
    if (w->strides[d] == 2)
        return r;
    return quotient(w, tc_add(w->c, r, tc_i64(w->c, p->offset[d])), w->strides[d]);
}

static void build_phased(const window *w, tc_graph_stage *s, tc_dtype t) {
    phased p = phased_of(w);
    const tc_expr *x[TC_GRAPH_MAX_DIMS], *at[TC_GRAPH_MAX_DIMS], *o = s->at[w->out->ndim - 1];
    int64_t groups = tc_graph_attr_group(w->n), per = w->in->d[w->channel] / groups;
    x[0] = s->at[0];
    for (int d = 0; d < w->nspace; d++) {
        const tc_expr *q = s->at[2 * d + 1], *r = s->at[2 * d + 2], *tap = tc_graph_stage_reduce(w->l, s, p.taps[d]);
        at[d] = r;
        at[w->nspace + d] = tap;
        x[d + 1] = tc_graph_index(w->l, tc_add(w->c, tc_add(w->c, q, carry(w, &p, d, r)), tap));
    }
    at[2 * w->nspace] = tc_graph_stage_reduce(w->l, s, per);
    at[2 * w->nspace + 1] = o;
    x[w->channel] = input_channel(w, o, at[2 * w->nspace], per);
    const tc_expr *value = padded_at(w, &p.pad, x, tc_imm(w->c, w->n->in[0]->dtype, 0));
    const tc_expr *weight = tc_graph_value_at(w->l, w->n->in[1], at);
    const tc_expr *body = tc_mul(w->c, tc_cast(w->c, t, value), tc_cast(w->c, t, weight));
    tc_graph_stage_end(w->l, s, TC_RED_SUM, 1, &body);
}

const tc_expr *tc_graph_at_conv(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    window w = window_of(l, n);
    tc_dtype to = n->out[out]->dtype, t = tc_graph_wide(to);
    tc_graph_stage s;
    bool phases = tc_graph_attr_phases(n);
    if (tc_graph_stage_begin(l, n, RESULT, w.out, &s)) {
        if (phases)
            build_phased(&w, &s, t);
        else
            build_conv(&w, &s, t, n->op == TC_GRAPH_OP_CONV_TRANSPOSE);
    }
    const tc_expr *y = tc_graph_stage_read(l, &s, 0, idx);
    if (n->nin > 2 && n->in[2])
        y = tc_add(w.c, y, tc_cast(w.c, t, tc_graph_value_at(l, n->in[2], &idx[phases ? w.out->ndim - 1 : w.channel])));
    return tc_cast(w.c, to, y);
}

/* ---- pooling ---- */

static const tc_expr *ceil_div(const window *w, const tc_expr *a, int64_t by) {
    return tc_div(w->c, tc_add(w->c, a, tc_i64(w->c, by - 1)), tc_i64(w->c, by));
}

/* How many taps of dimension d lie in [low, high) of the input, for output position o. */
static const tc_expr *taps(const window *w, int d, const tc_expr *o, int64_t low, int64_t high) {
    tc_ctx *c = w->c;
    const tc_expr *start = tc_add(c, scaled(w, o, w->strides[d]), tc_i64(c, -w->pads[d])), *zero = tc_i64(c, 0);
    const tc_expr *first = tc_bin(c, TC_OP_MAX, ceil_div(w, tc_sub(c, tc_i64(c, low), start), w->dilations[d]), zero);
    const tc_expr *past = ceil_div(w, tc_sub(c, tc_i64(c, high), start), w->dilations[d]);
    const tc_expr *count = tc_sub(c, tc_bin(c, TC_OP_MIN, past, tc_i64(c, w->kernel[d])), first);
    return tc_graph_index(w->l, tc_bin(c, TC_OP_MAX, count, zero));
}

static const tc_expr *divisor(const window *w, const tc_expr *const *idx, tc_dtype t) {
    bool padding_counts = tc_graph_attr_count_include_pad(w->n);
    const tc_expr *count = tc_i64(w->c, 1);
    for (int d = 0; d < w->nspace; d++) {
        int64_t low = padding_counts ? -w->pads[d] : 0;
        int64_t high = w->in->d[d + w->space] + (padding_counts ? w->pads[d + w->nspace] : 0);
        count = tc_mul(w->c, count, taps(w, d, idx[d + w->space], low, high));
    }
    return tc_cast(w->c, t, tc_bin(w->c, TC_OP_MAX, count, tc_i64(w->c, 1)));
}

static void build_pool(const window *w, tc_graph_stage *s, tc_reducer red, tc_dtype t) {
    padding p = padding_of(w);
    const tc_expr *at[TC_GRAPH_MAX_DIMS];
    at[0] = s->at[0];
    at[w->channel] = s->at[w->channel];
    for (int d = 0; d < w->nspace; d++) {
        const tc_expr *tap = scaled(w, tc_graph_stage_reduce(w->l, s, w->kernel[d]), w->dilations[d]);
        at[d + w->space] = tc_graph_index(w->l, tc_add(w->c, scaled(w, s->at[d + w->space], w->strides[d]), tap));
    }
    const tc_expr *x = padded_at(w, &p, at, tc_reducer_identity(w->c, red, 0, w->n->in[0]->dtype));
    const tc_expr *body = tc_cast(w->c, t, x);
    tc_graph_stage_end(w->l, s, red, 1, &body);
}

const tc_expr *tc_graph_at_pool(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    window w = window_of(l, n);
    bool max = n->op == TC_GRAPH_OP_MAX_POOL;
    tc_dtype to = n->out[out]->dtype, t = tc_graph_wide(to);
    tc_reducer red = max ? TC_RED_MAX : TC_RED_SUM;
    tc_graph_stage s;
    if (tc_graph_stage_begin(l, n, RESULT, w.out, &s))
        build_pool(&w, &s, red, t);
    const tc_expr *y = tc_graph_stage_read(l, &s, 0, idx);
    if (!max && !tc_graph_attr_sums(n))
        y = tc_graph_divided(w.c, y, divisor(&w, idx, t));
    return tc_cast(w.c, to, y);
}
