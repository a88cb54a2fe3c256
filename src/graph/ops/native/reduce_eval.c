/* Reference evaluation of reductions, and of searches for the largest and smallest. Accumulators are double or int64. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/ops/functions.h"

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

tc_status tc_graph_eval_arg(tc_graph_eval_ctx *c) {
    tc_graph_rows r = tc_graph_rows_of(&c->in[0]->shape, (int)tc_graph_attr_axis(c->n));
    bool last = tc_graph_attr_select_last_index(c->n);
    double *x = tc_graph_wide_f64(c->in[0]), sign = c->n->op == TC_GRAPH_OP_ARG_MAX ? 1 : -1;
    for (int64_t row = 0; row < r.outer * r.stride; row++)
        ((int64_t *)c->out[0].data)[row] = tc_graph_best_of_row(x, &r, tc_graph_row_start(&r, row), sign, last);
    free(x);
    return TC_OK;
}
