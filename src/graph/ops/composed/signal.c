/* Inference of signal processing: windows and mel weights, which are constants, and the discrete Fourier transforms, which are
 * products with constant matrices of cosines and sines (the transforms of audio models are short). */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "graph/ops/functions.h"

enum { MAX_TRANSFORM = 1 << 12 }; /* 2 matrices of its square: 128 MiB of f32 */

/* ---- windows ---- */

/* A sum of cosines: a[0] - a[1] cos(t) + a[2] cos(2t), t going round once in `size` steps (periodic) or size - 1. */
tc_status tc_graph_infer_window(tc_graph_infer_ctx *c) {
    static const double hann[] = {0.5, 0.5, 0}, blackman[] = {0.42, 0.5, 0.08}, hamming[] = {25.0 / 46, 21.0 / 46, 0};
    tc_graph_op op = c->n->op;
    const double *a = op == TC_GRAPH_OP_HANN_WINDOW ? hann : op == TC_GRAPH_OP_HAMMING_WINDOW ? hamming : blackman;
    const int64_t *v;
    size_t len;
    tc_dtype t;
    TC_TRY(tc_graph_want_ints(c, 0, "size", &v, &len));
    int64_t code = tc_graph_attr_output_datatype(c->n);
    if (len != 1 || v[0] < 0 || v[0] > 1 << 24)
        return tc_graph_node_fail(c, "input 0 (size) must be one number that is not negative");
    if (!tc_graph_dtype_of_onnx(code, &t))
        return tc_graph_node_refuse(c, TC_ERROR_UNSUPPORTED, "attribute output_datatype: element type %s is not supported",
                                    tc_graph_onnx_type_name(code));
    int64_t n = v[0], turn = tc_graph_attr_periodic(c->n) ? n : n - 1;
    double *w = TC_NEW_N(c->g->arena, double, n + 1);
    for (int64_t i = 0; i < n; i++) {
        double x = turn > 0 ? 2 * M_PI * (double)i / (double)turn : 0;
        w[i] = a[0] - a[1] * cos(x) + a[2] * cos(2 * x);
    }
    tc_graph_emitter e = {c, TC_OK};
    return tc_graph_em_finish(&e, tc_graph_em_floats(&e, t, &(tc_graph_shape){1, {n}}, w));
}

/* ---- mel ---- */

/* Spectrogram bins at which the triangles start, peak and end: evenly spaced in mel, n + 2 of them. */
static void mel_edges(const double in[5], int64_t n, int64_t *edge) {
    double low = 2595 * log10(1 + in[3] / 700), high = 2595 * log10(1 + in[4] / 700), step = (high - low) / (double)(n + 2);
    for (int64_t i = 0; i < n + 2; i++) {
        double hertz = 700 * (pow(10, ((double)i * step + low) / 2595) - 1);
        edge[i] = (int64_t)floor((in[1] + 1) * hertz / in[2]);
    }
}

/* Column i of `table`: a triangle from bin a up to b and down to c, what lies outside of the table being left out. */
static void fill_triangle(double *table, int64_t bins, int64_t n, int64_t i, const int64_t *edge) {
    int64_t a = edge[0], b = edge[1], c = edge[2];
    for (int64_t j = TC_MAX(a, 0); j <= TC_MIN(b, bins - 1); j++)
        table[j * n + i] = b == a ? 1 : (double)(j - a) / (double)(b - a);
    for (int64_t j = TC_MAX(b, 0); j < TC_MIN(c, bins); j++)
        table[j * n + i] = (double)(c - j) / (double)(c - b);
}

/* (bins of the result, length of the transform, sample rate, lowest and highest frequency)  =>  a constant */
tc_status tc_graph_infer_mel_weights(tc_graph_infer_ctx *c) {
    static const char *const names[] = {"num_mel_bins", "dft_length", "sample_rate", "lower_edge_hertz", "upper_edge_hertz"};
    double in[5];
    tc_dtype t;
    int64_t code = tc_graph_attr_output_datatype(c->n);
    if (!tc_graph_dtype_of_onnx(code, &t))
        return tc_graph_node_refuse(c, TC_ERROR_UNSUPPORTED, "attribute output_datatype: element type %s is not supported",
                                    tc_graph_onnx_type_name(code));
    for (int k = 0; k < 5; k++) {
        const double *v;
        size_t len;
        TC_TRY(tc_graph_want_floats(c, k, names[k], &v, &len));
        if (len != 1 || !(v[0] >= (k < 3)) || !(v[0] < 1e12))
            return tc_graph_node_fail(c, "input %d (%s) must be one positive number", k, names[k]);
        in[k] = v[0];
    }
    TC_TRY(tc_graph_want_table(c, (in[0] + 2) * (floor(in[1] / 2) + 1)));
    int64_t n = (int64_t)in[0], bins = (int64_t)in[1] / 2 + 1;
    int64_t *edge = TC_NEW_N(c->g->arena, int64_t, n + 2);
    double *table = TC_NEW_N(c->g->arena, double, bins *n);
    mel_edges(in, n, edge);
    for (int64_t i = 0; i < n; i++)
        fill_triangle(table, bins, n, i, edge + i);
    tc_graph_emitter e = {c, TC_OK};
    return tc_graph_em_finish(&e, tc_graph_em_floats(&e, t, &(tc_graph_shape){2, {bins, n}}, table));
}

/* ---- Fourier ---- */

typedef struct transform {
    int64_t n, bins; /* length of the signal as transformed; bins kept */
    bool inverse;
} transform;

/* [n, bins] of cos or sin of -2 pi i k / n (+ in the inverse). */
static tc_graph_value *table(tc_graph_emitter *e, const transform *f, tc_dtype t, bool sine) {
    double *v = TC_NEW_N(e->c->g->arena, double, f->n * f->bins + 1);
    double sign = f->inverse ? 1 : -1;
    for (int64_t i = 0; i < f->n; i++)
        for (int64_t k = 0; k < f->bins; k++) {
            double x = sign * 2 * M_PI * (double)(i * k % f->n) / (double)f->n;
            v[i * f->bins + k] = sine ? sin(x) : cos(x);
        }
    return tc_graph_em_floats(e, t, &(tc_graph_shape){2, {f->n, f->bins}}, v);
}

/* The transform of the last dimension: real parts and, after them in a new last dimension, imaginary ones. im may be NULL. The
 * inverse divides by n. */
static tc_graph_value *transformed(tc_graph_emitter *e, const transform *f, tc_graph_value *re, tc_graph_value *im) {
    tc_graph_value *cosine = table(e, f, re->dtype, false), *sine = table(e, f, re->dtype, true), *part[2];
    part[0] = tc_graph_em_op(e, TC_GRAPH_OP_MATMUL, re, cosine);
    part[1] = tc_graph_em_op(e, TC_GRAPH_OP_MATMUL, re, sine);
    if (im) {
        part[0] = em_sub(e, part[0], tc_graph_em_op(e, TC_GRAPH_OP_MATMUL, im, sine));
        part[1] = em_add(e, part[1], tc_graph_em_op(e, TC_GRAPH_OP_MATMUL, im, cosine));
    }
    tc_graph_shape s = part[0]->shape;
    if (s.ndim == TC_GRAPH_MAX_DIMS) {
        e->status = e->status != TC_OK ? e->status : tc_graph_node_fail(e->c, "the input has too many dimensions");
        return part[0];
    }
    s.d[s.ndim++] = 1;
    for (int k = 0; k < 2; k++)
        part[k] = tc_graph_em_reshape(e, part[k], &s);
    tc_graph_value *both = tc_graph_em_concat(e, s.ndim - 1, part, 2);
    return f->inverse ? em_by(e, TC_GRAPH_OP_DIV, both, (double)f->n) : both;
}

/* Part k (real, imaginary) of x[.., 1 or 2], without that dimension. */
static tc_graph_value *part_of(tc_graph_emitter *e, tc_graph_value *x, int k) {
    tc_graph_shape s = x->shape;
    tc_graph_value *v = tc_graph_em_slice(e, x, s.ndim - 1, k, k + 1, 1);
    s.ndim--;
    return tc_graph_em_reshape(e, v, &s);
}

/* Exchanges dimension `axis` with the last of `ndim`. */
static tc_graph_value *exchange(tc_graph_emitter *e, tc_graph_value *v, int axis, int ndim) {
    int64_t perm[TC_GRAPH_MAX_DIMS];
    for (int d = 0; d < TC_GRAPH_MAX_DIMS; d++)
        perm[d] = d == axis ? ndim - 1 : d == ndim - 1 ? axis : d;
    return tc_graph_em_transpose(e, v, perm);
}

/* The signal cut or padded with zeros to n along the last dimension. */
static tc_graph_value *fit_length(tc_graph_emitter *e, tc_graph_value *v, int64_t n) {
    int last = v->shape.ndim - 1;
    int64_t pads[2 * TC_GRAPH_MAX_DIMS] = {0};
    if (v->shape.d[last] > n)
        return tc_graph_em_slice(e, v, last, 0, n, 1);
    pads[2 * last + 1] = n - v->shape.d[last];
    return tc_graph_em_pad(e, v, pads, NULL);
}

static tc_status read_number(tc_graph_infer_ctx *c, int k, const char *what, int64_t *out) {
    const int64_t *v;
    size_t len;
    if (!tc_graph_in(c, k))
        return TC_OK;
    TC_TRY(tc_graph_want_ints(c, k, what, &v, &len));
    if (len != 1)
        return tc_graph_node_fail(c, "input %d (%s) must have one element", k, what);
    *out = v[0];
    return TC_OK;
}

/* (x[.., 1 or 2], length?, axis?); the axis was an attribute before opset 20 */
tc_status tc_graph_infer_dft(tc_graph_infer_ctx *c) {
    tc_graph_value *x = c->n->in[0];
    int ndim = x->shape.ndim - 1, axis;
    TC_TRY(tc_graph_want_float(c, 0));
    if (ndim < 1 || (x->shape.d[ndim] != 1 && x->shape.d[ndim] != 2))
        return tc_graph_node_fail(c, "the input's last dimension must be 1 (real) or 2 (complex)");
    int64_t at = tc_graph_attr_axis_or(c->n, c->opset < 20 ? 1 : -2);
    TC_TRY(read_number(c, 2, "axis", &at));
    TC_TRY(tc_graph_want_axis(c, at, ndim + 1, &axis));
    if (axis == ndim)
        return tc_graph_node_fail(c, "axis %" PRId64 " is that of real and imaginary parts", at);
    transform f = {.n = x->shape.d[axis], .inverse = tc_graph_attr_inverse(c->n)};
    TC_TRY(read_number(c, 1, "dft_length", &f.n));
    bool onesided = tc_graph_attr_onesided(c->n);
    if (f.n < 1 || f.n > MAX_TRANSFORM || (onesided && f.inverse))
        return tc_graph_node_refuse(c, TC_ERROR_UNSUPPORTED,
                                    "a transform of length %" PRId64 " is not supported (1 to %d, onesided only forwards)", f.n,
                                    MAX_TRANSFORM);
    f.bins = onesided ? f.n / 2 + 1 : f.n;
    tc_graph_emitter e = {c, TC_OK};
    tc_graph_value *part[2] = {NULL, NULL};
    for (int k = 0; k < x->shape.d[ndim]; k++)
        part[k] = fit_length(&e, exchange(&e, part_of(&e, x, k), axis, ndim), f.n);
    return tc_graph_em_finish(&e, exchange(&e, transformed(&e, &f, part[0], part[1]), axis, ndim));
}

/* (signal[N, length, 1 or 2], frame_step, window?, frame_length?)  =>  [N, frames, bins, 2] */
tc_status tc_graph_infer_stft(tc_graph_infer_ctx *c) {
    tc_graph_value *x = c->n->in[0], *window = c->n->nin > 2 ? c->n->in[2] : NULL;
    int64_t step = 0, length = window && window->shape.ndim == 1 ? window->shape.d[0] : 0;
    TC_TRY(tc_graph_want_float(c, 0));
    TC_TRY(tc_graph_want_same_type(c, 0, 2));
    TC_TRY(read_number(c, 1, "frame_step", &step));
    TC_TRY(read_number(c, 3, "frame_length", &length));
    bool complex = x->shape.ndim == 3 && x->shape.d[2] == 2;
    if (x->shape.ndim != 3 || (!complex && x->shape.d[2] != 1) || step < 1 || length < 1 || length > MAX_TRANSFORM ||
        length > x->shape.d[1] || (window && (window->shape.ndim != 1 || window->shape.d[0] != length)))
        return tc_graph_node_fail(c,
                                  "it expects a signal [N, length, 1 or 2], a positive frame_step, and a window of "
                                  "frame_length, at most %d, that is no longer than the signal",
                                  MAX_TRANSFORM);
    int64_t frames = (x->shape.d[1] - length) / step + 1;
    transform f = {.n = length, .bins = tc_graph_attr_onesided_or(c->n, 1) && !complex ? length / 2 + 1 : length};
    TC_TRY(tc_graph_want_table(c, (double)frames * (double)length));
    int64_t *at = TC_NEW_N(c->g->arena, int64_t, frames * length);
    for (int64_t i = 0; i < frames * length; i++)
        at[i] = i / length * step + i % length;
    tc_graph_emitter e = {c, TC_OK};
    tc_graph_value *index = tc_graph_em_ints(&e, TC_I64, &(tc_graph_shape){2, {frames, length}}, at), *part[2] = {NULL, NULL};
    for (int k = 0; k <= (int)complex; k++) {
        part[k] = tc_graph_em_gather(&e, TC_GRAPH_OP_GATHER, part_of(&e, x, k), index, 1);
        if (window)
            part[k] = em_mul(&e, part[k], window);
    }
    return tc_graph_em_finish(&e, transformed(&e, &f, part[0], part[1]));
}
