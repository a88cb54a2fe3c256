/* Reference evaluation of convolution and pooling: for each output the window's positions are walked one by one. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/eval.h"

typedef struct window {
    int n;
    const int64_t *kernel, *strides, *dilations, *pads;
    const int64_t *in, *out; /* spatial dims */
    int64_t in_size, out_size, kernel_size;
} window;

static window window_of(const tc_graph_eval_ctx *c) {
    size_t len;
    window w = {.n = c->in[0]->shape.ndim - 2, .in = c->in[0]->shape.d + 2, .out = c->out[0].shape.d + 2};
    w.kernel = tc_graph_attr_ints(c->n, "kernel_shape", &len);
    w.strides = tc_graph_attr_ints(c->n, "strides", &len);
    w.dilations = tc_graph_attr_ints(c->n, "dilations", &len);
    w.pads = tc_graph_attr_ints(c->n, "pads", &len);
    w.in_size = w.out_size = w.kernel_size = 1;
    for (int i = 0; i < w.n; i++) {
        w.in_size *= w.in[i];
        w.out_size *= w.out[i];
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

tc_status tc_graph_eval_conv(tc_graph_eval_ctx *c) {
    window w = window_of(c);
    int64_t batch = c->in[0]->shape.d[0], ci = c->in[0]->shape.d[1], co = c->in[1]->shape.d[0];
    int64_t group = tc_graph_attr_int(c->n, "group", 1), per = ci / group;
    double *x = tc_graph_wide_f64(c->in[0]), *k = tc_graph_wide_f64(c->in[1]);
    double *bias = c->n->nin > 2 ? tc_graph_wide_f64(c->in[2]) : NULL;
    double *y = tc_xmalloc(((size_t)tc_graph_tensor_count(&c->out[0]) + 1) * sizeof *y);
    for (int64_t o = 0; o < w.out_size; o++)
        for (int64_t r = 0; r < batch * co; r++)
            y[r * w.out_size + o] = bias ? bias[r % co] : 0;
    for (int64_t o = 0; o < w.out_size; o++)
        for (int64_t t = 0; t < w.kernel_size; t++) {
            int64_t at = tap(&w, o, t);
            for (int64_t r = 0; at >= 0 && r < batch * co; r++) {
                const double *from = x + (r / co * ci + r % co / (co / group) * per) * w.in_size + at;
                const double *weight = k + r % co * per * w.kernel_size + t;
                double sum = 0;
                for (int64_t i = 0; i < per; i++)
                    sum += from[i * w.in_size] * weight[i * w.kernel_size];
                y[r * w.out_size + o] += sum;
            }
        }
    tc_graph_tensor_from_f64(&c->out[0], y);
    free(x);
    free(k);
    free(bias);
    free(y);
    return TC_OK;
}

static double pool_window(const window *w, const double *plane, int64_t o, bool max, bool count_pad) {
    double acc = max ? -INFINITY : 0;
    int64_t count = 0;
    for (int64_t t = 0; t < w->kernel_size; t++) {
        int64_t at = tap(w, o, t);
        count += at >= 0 || (at == -1 && count_pad);
        if (at >= 0)
            acc = max ? (isnan(plane[at]) || plane[at] > acc ? plane[at] : acc) : acc + plane[at];
    }
    return max ? acc : acc / (double)(count ? count : 1);
}

tc_status tc_graph_eval_pool(tc_graph_eval_ctx *c) {
    window w = window_of(c);
    bool max = c->n->op == TC_GRAPH_OP_MAX_POOL, count_pad = tc_graph_attr_int(c->n, "count_include_pad", 0);
    int64_t planes = c->in[0]->shape.d[0] * c->in[0]->shape.d[1];
    double *x = tc_graph_wide_f64(c->in[0]);
    double *y = tc_xmalloc(((size_t)tc_graph_tensor_count(&c->out[0]) + 1) * sizeof *y);
    for (int64_t p = 0; p < planes; p++)
        for (int64_t o = 0; o < w.out_size; o++)
            y[p * w.out_size + o] = pool_window(&w, x + p * w.in_size, o, max, count_pad);
    tc_graph_tensor_from_f64(&c->out[0], y);
    free(x);
    free(y);
    return TC_OK;
}
