/* Reference evaluation of operators along axes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/ops/functions.h"

tc_graph_rows tc_graph_rows_of(const tc_graph_shape *s, int axis) {
    tc_graph_rows r = {1, s->d[axis], 1};
    for (int i = 0; i < axis; i++)
        r.outer *= s->d[i];
    for (int i = axis + 1; i < s->ndim; i++)
        r.stride *= s->d[i];
    return r;
}

int64_t tc_graph_row_start(const tc_graph_rows *r, int64_t row) {
    return row / r->stride * r->n * r->stride + row % r->stride;
}

int64_t tc_graph_best_of_row(const double *x, const tc_graph_rows *r, int64_t at, double sign, bool last) {
    int64_t best = 0;
    for (int64_t i = 1; i < r->n; i++) {
        double v = sign * x[at + i * r->stride], b = sign * x[at + best * r->stride];
        if (v > b || (last && v == b) || (isnan(v) && !isnan(b)))
            best = i;
    }
    return best;
}

static void softmax_row(tc_graph_op op, double *x, const tc_graph_rows *r, int64_t at) {
    double peak = -INFINITY, sum = 0;
    for (int64_t i = 0; i < r->n; i++)
        peak = fmax(peak, x[at + i * r->stride]);
    for (int64_t i = 0; i < r->n; i++)
        sum += exp(x[at + i * r->stride] - peak);
    int64_t first = op == TC_GRAPH_OP_HARDMAX ? tc_graph_best_of_row(x, r, at, 1, false) : 0;
    for (int64_t i = 0; i < r->n; i++) {
        double *v = &x[at + i * r->stride];
        if (op == TC_GRAPH_OP_HARDMAX)
            *v = i == first;
        else
            *v = op == TC_GRAPH_OP_SOFTMAX ? exp(*v - peak) / sum : *v - peak - log(sum);
    }
}

tc_status tc_graph_eval_softmax(tc_graph_eval_ctx *c) {
    tc_graph_rows r = tc_graph_rows_of(&c->in[0]->shape, (int)tc_graph_attr_axis(c->n));
    double *x = tc_graph_wide_f64(c->in[0]);
    for (int64_t row = 0; row < r.outer * r.stride; row++)
        softmax_row(c->n->op, x, &r, tc_graph_row_start(&r, row));
    tc_graph_tensor_from_f64(&c->out[0], x);
    free(x);
    return TC_OK;
}

tc_status tc_graph_eval_cum_sum(tc_graph_eval_ctx *c) {
    tc_graph_rows r = tc_graph_rows_of(&c->in[0]->shape, (int)tc_graph_attr_axis(c->n));
    bool exclusive = tc_graph_attr_exclusive(c->n), reverse = tc_graph_attr_reverse(c->n);
    double *x = tc_graph_wide_f64(c->in[0]);
    for (int64_t row = 0; row < r.outer * r.stride; row++) {
        double sum = 0;
        for (int64_t i = 0; i < r.n; i++) {
            double *v = &x[tc_graph_row_start(&r, row) + (reverse ? r.n - 1 - i : i) * r.stride], own = *v;
            *v = exclusive ? sum : sum + own;
            sum += own;
        }
    }
    tc_graph_tensor_from_f64(&c->out[0], x);
    free(x);
    return TC_OK;
}

/* ---- normalisations ---- */

static void mean_and_deviation(const double *x, int64_t n, double epsilon, double *mean, double *inverse) {
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i];
    *mean = sum / (double)n;
    for (int64_t i = 0; i < n; i++)
        squares += (x[i] - *mean) * (x[i] - *mean);
    *inverse = 1 / sqrt(squares / (double)n + epsilon);
}

/* x = scale * x + bias, both broadcast to x */
static void scale_and_shift(tc_graph_eval_ctx *c, double *x) {
    double *scale = tc_graph_wide_f64(c->in[1]), *bias = c->n->nin > 2 ? tc_graph_wide_f64(c->in[2]) : NULL;
    tc_graph_walk w = {.shape = c->in[0]->shape};
    tc_graph_broadcast_strides(&c->in[1]->shape, &w.shape, w.strides[0]);
    if (bias)
        tc_graph_broadcast_strides(&c->in[2]->shape, &w.shape, w.strides[1]);
    for (int64_t i = 0, count = tc_graph_tensor_count(c->in[0]); i < count; i++, tc_graph_walk_next(&w))
        x[i] = x[i] * scale[w.at[0]] + (bias ? bias[w.at[1]] : 0);
    free(scale);
    free(bias);
}

tc_status tc_graph_eval_layer_norm(tc_graph_eval_ctx *c) {
    const tc_graph_shape *s = &c->in[0]->shape;
    double epsilon = tc_graph_attr_epsilon(c->n), *x = tc_graph_wide_f64(c->in[0]);
    int64_t outer = 1, n = 1;
    for (int i = 0, axis = (int)tc_graph_attr_axis(c->n); i < s->ndim; i++)
        *(i < axis ? &outer : &n) *= s->d[i];
    for (int64_t row = 0; row < outer; row++) {
        double mean, inverse;
        mean_and_deviation(x + row * n, n, epsilon, &mean, &inverse);
        for (int64_t i = row * n; i < (row + 1) * n; i++)
            x[i] = (x[i] - mean) * inverse;
        for (int k = 1; k < c->n->nout; k++)
            if (c->out[k].data)
                tc_store_f(c->out[k].dtype, c->out[k].data, row, k == 1 ? mean : inverse);
    }
    scale_and_shift(c, x);
    tc_graph_tensor_from_f64(&c->out[0], x);
    free(x);
    return TC_OK;
}

tc_status tc_graph_eval_batch_norm(tc_graph_eval_ctx *c) {
    tc_graph_rows r = tc_graph_rows_of(&c->in[0]->shape, 1);
    double epsilon = tc_graph_attr_epsilon(c->n), *p[5];
    for (int k = 0; k < 5; k++)
        p[k] = tc_graph_wide_f64(c->in[k]);
    for (int64_t i = 0, count = tc_graph_tensor_count(c->in[0]); i < count; i++) {
        int64_t ch = i / r.stride % r.n;
        p[0][i] = (p[0][i] - p[3][ch]) / sqrt(p[4][ch] + epsilon) * p[1][ch] + p[2][ch];
    }
    tc_graph_tensor_from_f64(&c->out[0], p[0]);
    for (int k = 0; k < 5; k++)
        free(p[k]);
    return TC_OK;
}
