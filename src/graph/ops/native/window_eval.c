/* Reference evaluation of convolution and pooling: for each output the window's positions are walked one by one. Both layouts
 * (channels first and last) differ only in where an element lies. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/ops/functions.h"

typedef struct window {
    int n;
    const int64_t *kernel, *strides, *dilations, *pads;
    const int64_t *in, *out; /* spatial dims */
    int64_t in_size, out_size, kernel_size, batch, in_channels, out_channels;
    bool last;                        /* channels are */
    int64_t split[TC_GRAPH_MAX_DIMS]; /* phases: the spatial dims of the output put together again */
} window;

static const int64_t *sizes_out(const window *w) {
    return w->split[0] ? w->split : w->out;
}

static window window_of(const tc_graph_eval_ctx *c) {
    size_t len;
    const tc_graph_shape *x = &c->in[0]->shape, *y = &c->out[0].shape;
    bool last = tc_graph_attr_channels_last(c->n);
    int space = last ? 1 : 2, channel = last ? x->ndim - 1 : 1;
    window w = {.n = x->ndim - 2, .in = x->d + space, .out = y->d + space, .last = last, .batch = x->d[0]};
    w.in_channels = x->d[channel];
    w.out_channels = y->d[y->ndim > x->ndim ? y->ndim - 1 : channel];
    w.kernel = tc_graph_attr_kernel_shape(c->n, &len);
    w.strides = tc_graph_attr_strides(c->n, &len);
    w.dilations = tc_graph_attr_dilations(c->n, &len);
    w.pads = tc_graph_attr_pads(c->n, &len);
    for (int i = 0; i < w.n && y->ndim > x->ndim; i++)
        w.split[i] = y->d[2 * i + 1] * y->d[2 * i + 2];
    w.in_size = w.out_size = w.kernel_size = 1;
    for (int i = 0; i < w.n; i++) {
        w.in_size *= w.in[i];
        w.out_size *= sizes_out(&w)[i];
        w.kernel_size *= w.kernel[i];
    }
    return w;
}

/* Where tap `k` of the window at output `o` reads: an index into the input's plane, -1 in the padding, -2 beyond it. */
static int64_t tap(const window *w, int64_t o, int64_t k) {
    int64_t at = 0, unit = 1;
    bool padding = false;
    for (int d = w->n - 1; d >= 0; d--) {
        int64_t i = o % w->out[d] * w->strides[d] + k % w->kernel[d] * w->dilations[d] - w->pads[d];
        if (i >= w->in[d] + w->pads[d + w->n])
            return -2;
        padding |= i < 0 || i >= w->in[d];
        at += i * unit;
        unit *= w->in[d];
        o /= w->out[d];
        k /= w->kernel[d];
    }
    return padding ? -1 : at;
}

/* Place of a channel's element `at` in an array of n channels of `size` elements. */
static int64_t place(const window *w, int64_t batch, int64_t channel, int64_t n, int64_t at, int64_t size) {
    return w->last ? (batch * size + at) * n + channel : (batch * n + channel) * size + at;
}

/* What the products of a convolution are made of; per_in and per_out: channels of a group. */
typedef struct operands {
    const window *w;
    const double *x, *k;
    int64_t per_in, per_out;
    bool transposed;
} operands;

/* With phases: number of the weight's tap, for the output's place and the tap of the whole kernel. */
static int64_t phase_tap(const window *w, int64_t out, int64_t t) {
    int64_t at = 0, unit = 1, phase = 0, phases = 1;
    for (int d = w->n - 1; d >= 0; d--) {
        int64_t count = (w->kernel[d] + w->strides[d] - 1) / w->strides[d];
        at += (count - 1 - t % w->kernel[d] / w->strides[d]) * unit;
        phase += out % w->split[d] % w->strides[d] * phases;
        unit *= count;
        phases *= w->strides[d];
        out /= w->split[d];
        t /= w->kernel[d];
    }
    return phase * unit + at;
}

/* Place of the weight of the group's first input channel. */
static int64_t weight_at(const operands *p, int64_t o, int64_t t) {
    const window *w = p->w;
    if (w->last)
        return t * p->per_in * w->out_channels + o;
    if (p->transposed)
        return (o / p->per_out * p->per_in * p->per_out + o % p->per_out) * w->kernel_size + t;
    return o * p->per_in * w->kernel_size + t;
}

/* The sum over the input channels of a group: input element `at` times weight t, for output channel o. */
static double products(const operands *p, int64_t batch, int64_t o, int64_t at, int64_t t) {
    const window *w = p->w;
    const double *x = p->x + place(w, batch, o / p->per_out * p->per_in, w->in_channels, at, w->in_size);
    int64_t first = weight_at(p, o, t), step = w->last ? 1 : w->in_size;
    int64_t next = w->last ? w->out_channels : p->transposed ? p->per_out * w->kernel_size : w->kernel_size;
    double sum = 0;
    for (int64_t i = 0; i < p->per_in; i++)
        sum += x[i * step] * p->k[first + i * next];
    return sum;
}

/* Adds to every output what it gets from input `at` through tap t. */
static void add_products(const operands *p, int64_t from, int64_t to, int64_t t, double *y) {
    const window *w = p->w;
    int64_t tap = w->split[0] ? phase_tap(w, to, t) : t;
    for (int64_t b = 0; b < w->batch; b++)
        for (int64_t o = 0; o < w->out_channels; o++)
            y[place(w, b, o, w->out_channels, to, w->out_size)] += products(p, b, o, from, tap);
}

/* Where the transposed window's tap t puts input i: an index into the output's plane, -1 outside. */
static int64_t target(const window *w, int64_t i, int64_t t) {
    int64_t at = 0, unit = 1;
    for (int d = w->n - 1; d >= 0; d--) {
        int64_t o = i % w->in[d] * w->strides[d] + t % w->kernel[d] * w->dilations[d] - w->pads[d];
        if (o < 0 || o >= sizes_out(w)[d])
            return -1;
        at += o * unit;
        unit *= sizes_out(w)[d];
        i /= w->in[d];
        t /= w->kernel[d];
    }
    return at;
}

/* Padding with `p` is padding with 0 of what p is subtracted from, and p times the sum of all weights added. */
static void add_padding(const operands *o, double p, double *x, double *y) {
    const window *w = o->w;
    for (int64_t i = 0; i < w->batch * w->in_channels * w->in_size; i++)
        x[i] -= p;
    for (int64_t j = 0; j < w->out_channels; j++) {
        double sum = 0;
        for (int64_t t = 0; t < w->kernel_size; t++)
            for (int64_t i = 0; i < o->per_in; i++)
                sum += o->k[weight_at(o, j, t) + i * (w->last ? w->out_channels : w->kernel_size)];
        for (int64_t b = 0; b < w->batch; b++)
            for (int64_t at = 0; at < w->out_size; at++)
                y[place(w, b, j, w->out_channels, at, w->out_size)] += p * sum;
    }
}

static tc_status eval_conv(tc_graph_eval_ctx *c, bool transposed) {
    window w = window_of(c);
    int64_t group = tc_graph_attr_group(c->n);
    double *x = tc_graph_wide_f64(c->in[0]), *k = tc_graph_wide_f64(c->in[1]);
    double *bias = c->n->nin > 2 && c->in[2] ? tc_graph_wide_f64(c->in[2]) : NULL;
    double *y = tc_xmalloc(((size_t)tc_graph_tensor_count(&c->out[0]) + 1) * sizeof *y);
    operands p = {&w, x, k, w.in_channels / group, w.out_channels / group, transposed};
    for (int64_t b = 0; b < w.batch; b++)
        for (int64_t o = 0; o < w.out_channels; o++)
            for (int64_t at = 0; at < w.out_size; at++)
                y[place(&w, b, o, w.out_channels, at, w.out_size)] = bias ? bias[o] : 0;
    if (tc_graph_attr_pad_value(c->n))
        add_padding(&p, (double)tc_graph_attr_pad_value(c->n), x, y);
    for (int64_t i = 0; i < (transposed ? w.in_size : w.out_size); i++)
        for (int64_t t = 0; t < w.kernel_size; t++) {
            int64_t from = transposed ? i : tap(&w, i, t), to = transposed ? target(&w, i, t) : i;
            if (from >= 0 && to >= 0)
                add_products(&p, from, to, t, y);
        }
    tc_graph_tensor_from_f64(&c->out[0], y);
    free(x);
    free(k);
    free(bias);
    free(y);
    return TC_OK;
}

tc_status tc_graph_eval_conv(tc_graph_eval_ctx *c) {
    return eval_conv(c, false);
}

tc_status tc_graph_eval_conv_transpose(tc_graph_eval_ctx *c) {
    return eval_conv(c, true);
}

/* ---- pooling ---- */

/* The elements of the plane are `step` apart. */
static double pool_window(const window *w, const double *plane, int64_t step, int64_t o, bool max, bool count_pad) {
    double acc = max ? -INFINITY : 0;
    int64_t count = 0;
    for (int64_t t = 0; t < w->kernel_size; t++) {
        int64_t at = tap(w, o, t);
        count += at >= 0 || (at == -1 && count_pad);
        double v = at >= 0 ? plane[at * step] : 0;
        if (at >= 0)
            acc = max ? (isnan(v) || v > acc ? v : acc) : acc + v;
    }
    return max ? acc : acc / (double)(count ? count : 1);
}

tc_status tc_graph_eval_pool(tc_graph_eval_ctx *c) {
    window w = window_of(c);
    bool max = c->n->op == TC_GRAPH_OP_MAX_POOL, count_pad = tc_graph_attr_count_include_pad(c->n);
    int64_t n = w.in_channels, step = w.last ? n : 1;
    double *x = tc_graph_wide_f64(c->in[0]);
    double *y = tc_xmalloc(((size_t)tc_graph_tensor_count(&c->out[0]) + 1) * sizeof *y);
    for (int64_t p = 0; p < w.batch * n; p++)
        for (int64_t o = 0; o < w.out_size; o++) {
            const double *plane = x + place(&w, p / n, p % n, n, 0, w.in_size);
            y[place(&w, p / n, p % n, n, o, w.out_size)] = pool_window(&w, plane, step, o, max, count_pad);
        }
    tc_graph_tensor_from_f64(&c->out[0], y);
    free(x);
    free(y);
    return TC_OK;
}

/* ---- pooling with indices ---- */

/* A place in the plane counted row by row, counted column by column instead. */
static int64_t by_columns(const window *w, int64_t place) {
    int64_t r = 0;
    for (int d = w->n - 1; d >= 0; d--) {
        int64_t unit = 1;
        for (int k = 0; k < d; k++)
            unit *= w->in[k];
        r += place % w->in[d] * unit;
        place /= w->in[d];
    }
    return r;
}

/* The window's first maximum; NaN is larger than everything. */
static int64_t place_of_max(const window *w, const double *plane, int64_t o) {
    int64_t best = -1;
    for (int64_t t = 0; t < w->kernel_size; t++) {
        int64_t at = tap(w, o, t);
        if (at >= 0 && (best < 0 || plane[at] > plane[best] || (isnan(plane[at]) && !isnan(plane[best]))))
            best = at;
    }
    return best;
}

tc_status tc_graph_eval_pool_indices(tc_graph_eval_ctx *c) {
    tc_graph_eval_ctx shaped = *c;
    tc_graph_tensor out[2] = {c->out[0].data ? c->out[0] : c->out[1]};
    shaped.out = out;
    window w = window_of(&shaped);
    bool columns = tc_graph_attr_storage_order(c->n);
    double *x = tc_graph_wide_f64(c->in[0]);
    for (int64_t i = 0, n = tc_graph_tensor_count(&out[0]); i < n; i++) {
        int64_t before = i / w.out_size * w.in_size, at = place_of_max(&w, x + before, i % w.out_size);
        size_t size = (size_t)tc_dtype_bytes(c->in[0]->dtype);
        if (c->out[0].data && at >= 0)
            memcpy((char *)c->out[0].data + (size_t)i * size, (char *)c->in[0]->data + (size_t)(before + at) * size, size);
        if (c->out[1].data)
            ((int64_t *)c->out[1].data)[i] = before + (columns && at >= 0 ? by_columns(&w, at) : at);
    }
    free(x);
    return TC_OK;
}
