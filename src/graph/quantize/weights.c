/* Turns weights and biases into integers. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "graph/quantize/quantize_int.h"

/* A tensor as [outer, channels, inner] around an axis; axis -1: all of it is one channel. */
typedef struct around {
    int64_t outer, channels, inner;
} around;

static around split_at(const tc_graph_shape *s, int axis) {
    around a = {1, 1, 1};
    for (int i = 0; i < s->ndim; i++)
        *(axis < 0 || i > axis ? &a.inner : i < axis ? &a.outer : &a.channels) *= s->d[i];
    return a;
}

static double scale_of(double largest, int steps) {
    double scale = (float)(largest / steps);
    return scale >= FLT_MIN ? scale : 1; /* a channel of zeros */
}

static double largest_of(const float *w, const around *a, int64_t c) {
    double most = 0;
    for (int64_t o = 0; o < a->outer; o++)
        for (int64_t i = 0; i < a->inner; i++)
            most = fmax(most, fabs(w[(o * a->channels + c) * a->inner + i]));
    return most;
}

static double clamp(double v, double low, double high) {
    return fmin(fmax(v, low), high);
}

static void quantize_channel(const float *w, const around *a, int64_t c, double scale, int8_t *q) {
    for (int64_t o = 0; o < a->outer; o++)
        for (int64_t i = 0; i < a->inner; i++) {
            int64_t at = (o * a->channels + c) * a->inner + i;
            q[at] = (int8_t)clamp(nearbyint(w[at] / scale), -INT8_MAX, INT8_MAX);
        }
}

tc_status quant_weights_s8(const tc_graph_tensor *w, int axis, tc_graph_tensor *q, tc_graph_tensor *scales,
                           tc_graph_tensor *zeros, tc_error *err) {
    around a = split_at(&w->shape, axis);
    tc_graph_shape per_channel = {.ndim = axis >= 0, .d = {a.channels}};
    *q = *scales = *zeros = (tc_graph_tensor){0};
    TC_TRY(tc_graph_tensor_alloc(q, TC_I8, &w->shape, err));
    TC_TRY(tc_graph_tensor_alloc(scales, TC_F32, &per_channel, err));
    TC_TRY(tc_graph_tensor_alloc(zeros, TC_I8, &per_channel, err));
    for (int64_t c = 0; c < a.channels; c++) {
        double scale = scale_of(largest_of(w->data, &a, c), INT8_MAX);
        ((float *)scales->data)[c] = (float)scale;
        quantize_channel(w->data, &a, c, scale, q->data);
    }
    return TC_OK;
}

/* ---- 4 bits ---- */

enum { ZERO = 8, MOST = 15 };

/* A block of one column: n values that are `stride` apart, those past `have` are zero. Its value of largest magnitude becomes -8,
 * so that no step of the 16 is wasted on it. */
static float quantize_block(const float *w, int64_t stride, int n, int64_t have, uint8_t *q) {
    double extreme = 0;
    for (int i = 0; i < n && i < have; i++)
        if (fabs(w[i * stride]) > fabs(extreme))
            extreme = w[i * stride];
    double scale = (float)(extreme / -ZERO);
    if (!(fabs(scale) >= FLT_MIN))
        scale = 1;
    for (int i = 0; i < n; i++) {
        double v = i < have ? w[i * stride] / scale : 0;
        q[i / 2] |= (uint8_t)((int)clamp(nearbyint(v) + ZERO, 0, MOST) << 4 * (i % 2));
    }
    return (float)scale;
}

tc_status quant_weights_4bit(const tc_graph_tensor *w, bool transposed, int block, tc_graph_tensor *q, tc_graph_tensor *scales,
                             tc_error *err) {
    int64_t k = w->shape.d[transposed], n = w->shape.d[!transposed], blocks = tc_ceil_div(k, block);
    int64_t column = transposed ? k : 1, row = transposed ? 1 : n;
    tc_graph_shape packed = {.ndim = 3, .d = {n, blocks, block / 2}}, flat = {.ndim = 1, .d = {n * blocks}};
    *q = *scales = (tc_graph_tensor){0};
    TC_TRY(tc_graph_tensor_alloc(q, TC_U8, &packed, err));
    TC_TRY(tc_graph_tensor_alloc(scales, TC_F32, &flat, err));
    for (int64_t j = 0; j < n; j++)
        for (int64_t b = 0; b < blocks; b++)
            ((float *)scales->data)[j * blocks + b] =
                quantize_block((const float *)w->data + j * column + b * block * row, row, block, k - b * block,
                               (uint8_t *)q->data + (j * blocks + b) * (block / 2));
    return TC_OK;
}

/* ---- biases ---- */

bool quant_bias(const tc_graph_tensor *b, double x_scale, const tc_graph_tensor *scales, tc_graph_tensor *q,
                tc_graph_tensor *bias_scales) {
    const float *v = b->data, *s = scales->data;
    bool one = scales->shape.ndim == 0, fits = true;
    int32_t *out = q->data;
    for (int64_t c = 0; c < tc_graph_tensor_count(b); c++) {
        double scale = (float)(x_scale * s[one ? 0 : c]), units = nearbyint(v[c] / scale);
        fits &= scale >= FLT_MIN && fabs(units) <= INT32_MAX;
        out[c] = fits ? (int32_t)units : 0;
        ((float *)bias_scales->data)[one ? 0 : c] = (float)scale;
    }
    return fits;
}
