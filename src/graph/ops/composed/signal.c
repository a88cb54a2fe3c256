/* Inference of signal processing: windows and mel weights, which are constants. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "graph/ops/functions.h"

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
