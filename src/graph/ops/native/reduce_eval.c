/* Reference evaluation of contractions, reductions and operators along axes. Accumulators are double or int64. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/ops/functions.h"

/* ---- MatMul, Gemm ---- */

/* y[m,n] += a[m,k] * b[k,n], rows of b in order: the inner loop is contiguous. */
static void multiply_f64(const double *a, const double *b, double *y, int64_t m, int64_t k, int64_t n) {
    for (int64_t i = 0; i < m; i++)
        for (int64_t p = 0; p < k; p++) {
            double v = a[i * k + p];
            for (int64_t j = 0; j < n; j++)
                y[i * n + j] += v * b[p * n + j];
        }
}

static void multiply_i64(const int64_t *a, const int64_t *b, int64_t *y, int64_t m, int64_t k, int64_t n) {
    for (int64_t i = 0; i < m; i++)
        for (int64_t p = 0; p < k; p++)
            for (int64_t j = 0; j < n; j++)
                y[i * n + j] = (int64_t)((uint64_t)y[i * n + j] + (uint64_t)a[i * k + p] * (uint64_t)b[p * n + j]);
}

/* Walks the batch dims; offsets 0 and 1 count whole matrices of a and b. */
static tc_graph_walk batch_walk(const tc_graph_eval_ctx *c, int64_t *batches) {
    tc_graph_shape a = c->in[0]->shape, b = c->in[1]->shape;
    tc_graph_walk w = {.shape = c->out[0].shape};
    a.ndim -= 2;
    b.ndim -= 2;
    w.shape.ndim -= 2;
    tc_graph_broadcast_strides(&a, &w.shape, w.strides[0]);
    tc_graph_broadcast_strides(&b, &w.shape, w.strides[1]);
    *batches = tc_graph_shape_count(&w.shape);
    return w;
}

tc_status tc_graph_eval_matmul(tc_graph_eval_ctx *c) {
    const tc_graph_shape *sa = &c->in[0]->shape, *sb = &c->in[1]->shape;
    int64_t m = sa->d[sa->ndim - 2], k = sa->d[sa->ndim - 1], n = sb->d[sb->ndim - 1], batches;
    tc_graph_walk w = batch_walk(c, &batches);
    size_t count = (size_t)tc_graph_tensor_count(&c->out[0]);
    if (tc_dtype_is_float(c->out[0].dtype)) {
        double *a = tc_graph_wide_f64(c->in[0]), *b = tc_graph_wide_f64(c->in[1]), *y = tc_xcalloc(count + 1, sizeof *y);
        for (int64_t i = 0; i < batches; i++, tc_graph_walk_next(&w))
            multiply_f64(a + w.at[0] * m * k, b + w.at[1] * k * n, y + i * m * n, m, k, n);
        tc_graph_tensor_from_f64(&c->out[0], y);
        free(a);
        free(b);
        free(y);
        return TC_OK;
    }
    int64_t *a = tc_graph_wide_i64(c->in[0]), *b = tc_graph_wide_i64(c->in[1]), *y = tc_xcalloc(count + 1, sizeof *y);
    for (int64_t i = 0; i < batches; i++, tc_graph_walk_next(&w))
        multiply_i64(a + w.at[0] * m * k, b + w.at[1] * k * n, y + i * m * n, m, k, n);
    tc_graph_tensor_from_i64(&c->out[0], y);
    free(a);
    free(b);
    free(y);
    return TC_OK;
}

static double *wide_matrix(const tc_graph_tensor *t, bool transposed) {
    double *v = tc_graph_wide_f64(t);
    if (!transposed)
        return v;
    int64_t rows = t->shape.d[0], cols = t->shape.d[1];
    double *r = tc_xmalloc(((size_t)(rows * cols) + 1) * sizeof *r);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            r[j * rows + i] = v[i * cols + j];
    free(v);
    return r;
}

/* Integers too: exact up to 2^53, which is beyond what integer Gemms hold. */
tc_status tc_graph_eval_gemm(tc_graph_eval_ctx *c) {
    bool ta = tc_graph_attr_trans_a(c->n), tb = tc_graph_attr_trans_b(c->n);
    double alpha = tc_graph_attr_alpha(c->n), beta = tc_graph_attr_beta(c->n);
    int64_t m = c->out[0].shape.d[0], n = c->out[0].shape.d[1], k = c->in[0]->shape.d[!ta];
    double *a = wide_matrix(c->in[0], ta), *b = wide_matrix(c->in[1], tb), *y = tc_xcalloc((size_t)(m * n) + 1, sizeof *y);
    multiply_f64(a, b, y, m, k, n);
    double *bias = c->n->nin > 2 ? tc_graph_wide_f64(c->in[2]) : NULL;
    tc_graph_walk w = {.shape = c->out[0].shape};
    if (bias)
        tc_graph_broadcast_strides(&c->in[2]->shape, &w.shape, w.strides[0]);
    for (int64_t i = 0; i < m * n; i++, tc_graph_walk_next(&w))
        y[i] = alpha * y[i] + (bias ? beta * bias[w.at[0]] : 0);
    tc_graph_tensor_from_f64(&c->out[0], y);
    free(a);
    free(b);
    free(y);
    free(bias);
    return TC_OK;
}

/* ---- reductions ---- */

/* Walks the input; offset 0 is the output element that each input element belongs to. */
static tc_graph_walk reduce_walk(const tc_graph_eval_ctx *c, int64_t *per_output) {
    size_t len;
    const int64_t *axes = tc_graph_attr_axes(c->n, &len);
    tc_graph_shape kept = c->in[0]->shape;
    *per_output = 1;
    for (size_t i = 0; i < len; i++) {
        *per_output *= kept.d[axes[i]];
        kept.d[axes[i]] = 1;
    }
    tc_graph_walk w = {.shape = c->in[0]->shape};
    tc_graph_broadcast_strides(&kept, &w.shape, w.strides[0]);
    return w;
}

/* A step takes an element x into acc; peak: the maximum of the output's elements (only ReduceLogSumExp). */

static double add(double acc, double x, double peak) {
    (void)peak;
    return acc + x;
}

static double add_absolute(double acc, double x, double peak) {
    (void)peak;
    return acc + fabs(x);
}

static double add_square(double acc, double x, double peak) {
    (void)peak;
    return acc + x * x;
}

static double add_exponential(double acc, double x, double peak) {
    return acc + exp(x - peak);
}

static double larger(double acc, double x, double peak) {
    (void)peak;
    return isnan(x) || x > acc ? x : acc;
}

static double smaller(double acc, double x, double peak) {
    (void)peak;
    return isnan(x) || x < acc ? x : acc;
}

static double multiply(double acc, double x, double peak) {
    (void)peak;
    return acc * x;
}

/* What remains to be done with n elements' sum. */

static double root(double acc, double peak, int64_t n) {
    (void)peak;
    (void)n;
    return sqrt(acc);
}

static double logarithm(double acc, double peak, int64_t n) {
    (void)peak;
    (void)n;
    return log(acc);
}

static double log_of_exponentials(double acc, double peak, int64_t n) {
    (void)n;
    return log(acc) + peak;
}

static double mean_of(double acc, double peak, int64_t n) {
    (void)peak;
    return acc / (double)n;
}

static const struct {
    double start;
    double (*step)(double acc, double x, double peak);
    double (*end)(double acc, double peak, int64_t n); /* NULL: nothing */
    bool needs_reals;                                  /* of integers, too */
} reductions[TC_GRAPH_OP_COUNT] = {
    [TC_GRAPH_OP_REDUCE_L1] = {0, add_absolute, NULL, false},
    [TC_GRAPH_OP_REDUCE_L2] = {0, add_square, root, true},
    [TC_GRAPH_OP_REDUCE_LOG_SUM] = {0, add, logarithm, true},
    [TC_GRAPH_OP_REDUCE_LOG_SUM_EXP] = {0, add_exponential, log_of_exponentials, true},
    [TC_GRAPH_OP_REDUCE_MAX] = {-INFINITY, larger, NULL, false},
    [TC_GRAPH_OP_REDUCE_MEAN] = {0, add, mean_of, false},
    [TC_GRAPH_OP_REDUCE_MIN] = {INFINITY, smaller, NULL, false},
    [TC_GRAPH_OP_REDUCE_PROD] = {1, multiply, NULL, false},
    [TC_GRAPH_OP_REDUCE_SUM] = {0, add, NULL, false},
    [TC_GRAPH_OP_REDUCE_SUM_SQUARE] = {0, add_square, NULL, false},
};

static void reduce_f64(tc_graph_eval_ctx *c, const double *x, double *y) {
    tc_graph_op op = c->n->op;
    int64_t count = tc_graph_tensor_count(c->in[0]), outs = tc_graph_tensor_count(&c->out[0]), per;
    tc_graph_walk start = reduce_walk(c, &per), w = start;
    double *peak = tc_xcalloc((size_t)outs + 1, sizeof *peak);
    if (op == TC_GRAPH_OP_REDUCE_LOG_SUM_EXP) {
        for (int64_t i = 0; i < outs; i++)
            peak[i] = -INFINITY;
        for (int64_t i = 0; i < count; i++, tc_graph_walk_next(&w))
            peak[w.at[0]] = fmax(peak[w.at[0]], x[i]);
        for (int64_t i = 0; i < outs; i++)
            if (!isfinite(peak[i]))
                peak[i] = 0;
    }
    for (int64_t i = 0; i < outs; i++)
        y[i] = reductions[op].start;
    w = start;
    for (int64_t i = 0; i < count; i++, tc_graph_walk_next(&w))
        y[w.at[0]] = reductions[op].step(y[w.at[0]], x[i], peak[w.at[0]]);
    for (int64_t i = 0; i < outs && reductions[op].end; i++)
        y[i] = reductions[op].end(y[i], peak[i], per);
    free(peak);
}

/* Sums and products wrap like the type; extremes of u64 compare unsigned. */
static void reduce_i64(tc_graph_eval_ctx *c, const int64_t *x, int64_t *y) {
    tc_graph_op op = c->n->op;
    bool u = c->in[0]->dtype == TC_U64, max = op == TC_GRAPH_OP_REDUCE_MAX, min = op == TC_GRAPH_OP_REDUCE_MIN;
    int64_t count = tc_graph_tensor_count(c->in[0]), outs = tc_graph_tensor_count(&c->out[0]), per;
    tc_graph_walk w = reduce_walk(c, &per);
    for (int64_t i = 0; i < outs; i++)
        y[i] = op == TC_GRAPH_OP_REDUCE_PROD ? 1 : max ? (u ? 0 : INT64_MIN) : min ? (u ? -1 : INT64_MAX) : 0;
    for (int64_t i = 0; i < count; i++, tc_graph_walk_next(&w)) {
        int64_t *acc = &y[w.at[0]], v = x[i];
        if (max || min) {
            bool less = u ? (uint64_t)v < (uint64_t)*acc : v < *acc;
            if (min ? less : v != *acc && !less)
                *acc = v;
        } else if (op == TC_GRAPH_OP_REDUCE_PROD) {
            *acc = (int64_t)((uint64_t)*acc * (uint64_t)v);
        } else {
            uint64_t term = op == TC_GRAPH_OP_REDUCE_SUM_SQUARE          ? (uint64_t)v * (uint64_t)v
                            : op == TC_GRAPH_OP_REDUCE_L1 && v < 0 && !u ? 0 - (uint64_t)v
                                                                         : (uint64_t)v;
            *acc = (int64_t)((uint64_t)*acc + term);
        }
    }
    for (int64_t i = 0; op == TC_GRAPH_OP_REDUCE_MEAN && i < outs; i++)
        y[i] = per ? y[i] / per : 0;
}

tc_status tc_graph_eval_reduce(tc_graph_eval_ctx *c) {
    tc_graph_op op = c->n->op;
    size_t outs = (size_t)tc_graph_tensor_count(&c->out[0]) + 1;
    if (reductions[op].needs_reals || tc_dtype_is_float(c->in[0]->dtype)) {
        double *x = tc_graph_wide_f64(c->in[0]), *y = tc_xmalloc(outs * sizeof *y);
        reduce_f64(c, x, y);
        tc_graph_tensor_from_f64(&c->out[0], y);
        free(x);
        free(y);
    } else {
        int64_t *x = tc_graph_wide_i64(c->in[0]), *y = tc_xmalloc(outs * sizeof *y);
        reduce_i64(c, x, y);
        tc_graph_tensor_from_i64(&c->out[0], y);
        free(x);
        free(y);
    }
    return TC_OK;
}

/* ---- along one axis: rows of n elements, `stride` apart ---- */

typedef struct rows {
    int64_t outer, n, stride;
} rows;

static rows rows_of(const tc_graph_shape *s, int axis) {
    rows r = {1, s->d[axis], 1};
    for (int i = 0; i < axis; i++)
        r.outer *= s->d[i];
    for (int i = axis + 1; i < s->ndim; i++)
        r.stride *= s->d[i];
    return r;
}

static int64_t row_start(const rows *r, int64_t row) {
    return row / r->stride * r->n * r->stride + row % r->stride;
}

static int64_t best_of_row(const double *x, const rows *r, int64_t at, double sign, bool last) {
    int64_t best = 0;
    for (int64_t i = 1; i < r->n; i++) {
        double v = sign * x[at + i * r->stride], b = sign * x[at + best * r->stride];
        if (v > b || (last && v == b) || (isnan(v) && !isnan(b)))
            best = i;
    }
    return best;
}

tc_status tc_graph_eval_arg(tc_graph_eval_ctx *c) {
    rows r = rows_of(&c->in[0]->shape, (int)tc_graph_attr_axis(c->n));
    bool last = tc_graph_attr_select_last_index(c->n);
    double *x = tc_graph_wide_f64(c->in[0]), sign = c->n->op == TC_GRAPH_OP_ARG_MAX ? 1 : -1;
    for (int64_t row = 0; row < r.outer * r.stride; row++)
        ((int64_t *)c->out[0].data)[row] = best_of_row(x, &r, row_start(&r, row), sign, last);
    free(x);
    return TC_OK;
}

static void softmax_row(tc_graph_op op, double *x, const rows *r, int64_t at) {
    double peak = -INFINITY, sum = 0;
    for (int64_t i = 0; i < r->n; i++)
        peak = fmax(peak, x[at + i * r->stride]);
    for (int64_t i = 0; i < r->n; i++)
        sum += exp(x[at + i * r->stride] - peak);
    int64_t first = op == TC_GRAPH_OP_HARDMAX ? best_of_row(x, r, at, 1, false) : 0;
    for (int64_t i = 0; i < r->n; i++) {
        double *v = &x[at + i * r->stride];
        if (op == TC_GRAPH_OP_HARDMAX)
            *v = i == first;
        else
            *v = op == TC_GRAPH_OP_SOFTMAX ? exp(*v - peak) / sum : *v - peak - log(sum);
    }
}

tc_status tc_graph_eval_softmax(tc_graph_eval_ctx *c) {
    rows r = rows_of(&c->in[0]->shape, (int)tc_graph_attr_axis(c->n));
    double *x = tc_graph_wide_f64(c->in[0]);
    for (int64_t row = 0; row < r.outer * r.stride; row++)
        softmax_row(c->n->op, x, &r, row_start(&r, row));
    tc_graph_tensor_from_f64(&c->out[0], x);
    free(x);
    return TC_OK;
}

tc_status tc_graph_eval_cum_sum(tc_graph_eval_ctx *c) {
    rows r = rows_of(&c->in[0]->shape, (int)tc_graph_attr_axis(c->n));
    bool exclusive = tc_graph_attr_exclusive(c->n), reverse = tc_graph_attr_reverse(c->n);
    double *x = tc_graph_wide_f64(c->in[0]);
    for (int64_t row = 0; row < r.outer * r.stride; row++) {
        double sum = 0;
        for (int64_t i = 0; i < r.n; i++) {
            double *v = &x[row_start(&r, row) + (reverse ? r.n - 1 - i : i) * r.stride], own = *v;
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
    rows r = rows_of(&c->in[0]->shape, 1);
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
