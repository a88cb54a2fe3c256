/* Rows of a tensor along an axis, and running sums, which an expression can only write as sums of sums. */
#include <stdlib.h>

#include "graph/ops/functions.h"

/* Rows along one axis: `outer` times `stride` of them, each of n elements that lie `stride` apart. */
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

/* Where the first element of a row is. */
static int64_t row_start(const rows *r, int64_t row) {
    return row / r->stride * r->n * r->stride + row % r->stride;
}

/* Sums of integers wrap like the type. */
static void cum_sum_of_integers(tc_graph_eval_ctx *c, const rows *r, bool exclusive, bool reverse) {
    int64_t *x = tc_graph_wide_i64(c->in[0]);
    for (int64_t row = 0; row < r->outer * r->stride; row++) {
        uint64_t sum = 0;
        for (int64_t i = 0; i < r->n; i++) {
            int64_t *v = &x[row_start(r, row) + (reverse ? r->n - 1 - i : i) * r->stride];
            uint64_t with = sum + (uint64_t)*v;
            *v = (int64_t)(exclusive ? sum : with);
            sum = with;
        }
    }
    tc_graph_tensor_from_i64(&c->out[0], x);
    free(x);
}

tc_status tc_graph_eval_cum_sum(tc_graph_eval_ctx *c) {
    rows r = rows_of(&c->in[0]->shape, (int)tc_graph_attr_axis(c->n));
    bool exclusive = tc_graph_attr_exclusive(c->n), reverse = tc_graph_attr_reverse(c->n);
    if (!tc_dtype_is_float(c->in[0]->dtype)) {
        cum_sum_of_integers(c, &r, exclusive, reverse);
        return TC_OK;
    }
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
