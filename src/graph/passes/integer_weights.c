/* Constant weights of contractions of quantised operands, as bytes. See integer_kernels.c. */
#include "graph/passes/integer_int.h"

#include <math.h>
#include <stdlib.h>

#include "graph/ops/eval.h"

/* The dimension of output channels. */
static int channel_dim(const tc_graph_node *n) {
    if (tc_graph_convolves(n))
        return 0;
    return n->op == TC_GRAPH_OP_GEMM && tc_graph_attr_trans_b(n) ? 0 : 1;
}

/* The index of a parameter for channel j; false: there is neither one value for all channels nor one for each. */
static bool by_channel(const tc_graph_value *p, const tc_graph_shape *w, int dim, bool *each) {
    *each = p && tc_graph_shape_count(&p->shape) != 1;
    return !*each || (p->shape.ndim == w->ndim && tc_graph_shape_count(&p->shape) == w->d[dim] && p->shape.d[dim] == w->d[dim]);
}

double tc_graph_parameter(const tc_graph_value *p, bool each, int64_t j, double otherwise) {
    if (!p)
        return otherwise;
    int64_t at = each ? j : 0;
    return tc_dtype_is_float(p->dtype) ? tc_load_f(p->dtype, p->constant->data, at)
                                       : (double)tc_load_i(p->dtype, p->constant->data, at);
}

void tc_graph_free_weights(tc_graph_weights *w) {
    free(w->value);
    free(w->sum);
    free(w->excess);
    free(w->scale);
}

/* The channel of element i of the stored weights. */
static int64_t channel_at(const tc_graph_node *n, const tc_graph_weights *w, int64_t i) {
    return tc_graph_convolves(n) ? i / w->depth : i % w->n;
}

/* Takes the excess of each channel so that the weights become bytes. They have to be within 256 steps. The sums of x that the excess
 * is multiplied with cost little beside the products, but not where groups divide these. */
static void shift_into_bytes(const tc_graph_node *n, tc_graph_weights *w, const double *low, const double *high) {
    bool can = w->group == 1 || w->zero;
    for (int64_t j = 0; j < w->n; j++)
        can &= high[j] - low[j] <= UINT8_MAX;
    for (int64_t j = 0; j < w->n && can; j++) {
        w->excess[j] = high[j] > INT8_MAX ? INT8_MAX - high[j] : low[j] < INT8_MIN ? INT8_MIN - low[j] : 0;
        w->shifted |= w->excess[j] != 0;
    }
    for (int64_t i = 0, count = tc_graph_shape_count(&w->shape); i < count && w->shifted; i++)
        w->value[i] += w->excess[channel_at(n, w, i)];
}

/* The type of the weights, by their lowest and highest in each channel; false: they need more than 16 bits. */
static bool find_type(const tc_graph_node *n, tc_graph_weights *w, const double *low, const double *high) {
    double least = 0, most = 0;
    for (int64_t j = 0; j < w->n; j++) {
        least = fmin(least, low[j]);
        most = fmax(most, high[j]);
    }
    w->most = fmax(most, -least);
    shift_into_bytes(n, w, low, high);
    w->dtype = w->shifted || (least >= INT8_MIN && most <= INT8_MAX) ? TC_I8 : TC_I16;
    return w->dtype == TC_I8 || (least >= INT16_MIN && most <= INT16_MAX);
}

bool tc_graph_read_weights(const tc_graph_node *n, const tc_graph_factor *f, tc_graph_weights *w) {
    const tc_graph_shape *s = &f->q->shape;
    int dim = channel_dim(n);
    bool each_zero, each_scale;
    *w = (tc_graph_weights){0};
    if ((!tc_graph_convolves(n) && s->ndim != 2) || !by_channel(f->zero, s, dim, &each_zero) ||
        !by_channel(f->scale, s, dim, &each_scale))
        return false;
    int64_t count = tc_graph_shape_count(s), inner = 1;
    for (int d = dim + 1; d < s->ndim; d++)
        inner *= s->d[d];
    bool turn = n->op == TC_GRAPH_OP_GEMM && dim == 0;
    *w = (tc_graph_weights){.n = s->d[dim], .depth = s->d[dim] ? count / s->d[dim] : 0, .group = 1, .shape = *s};
    if (turn)
        w->shape = (tc_graph_shape){2, {s->d[1], s->d[0]}};
    if (tc_graph_convolves(n))
        w->group = tc_graph_attr_group(n);
    const tc_graph_value *known = f->zero && f->zero->constant ? f->zero : NULL;
    w->zero = known ? NULL : f->zero;
    if (!tc_graph_can_widen(count, 3)) /* as it is, by channel, and with what pads it */
        return false;
    double *q = tc_graph_wide_f64(f->q->constant), *low = tc_xcalloc((size_t)w->n + 1, sizeof *low);
    double *high = tc_xcalloc((size_t)w->n + 1, sizeof *high);
    w->value = tc_xcalloc((size_t)count + 1, sizeof *w->value);
    w->sum = tc_xcalloc((size_t)w->n + 1, sizeof *w->sum);
    w->excess = tc_xcalloc((size_t)w->n + 1, sizeof *w->excess);
    w->scale = tc_xcalloc((size_t)w->n + 1, sizeof *w->scale);
    for (int64_t j = 0; j < w->n; j++) {
        w->scale[j] = tc_graph_parameter(f->scale, each_scale, j, 1);
        low[j] = INFINITY;
        high[j] = -INFINITY;
    }
    for (int64_t i = 0; i < count; i++) {
        int64_t j = i / inner % w->n;
        double v = q[i] - tc_graph_parameter(known, each_zero, j, 0);
        w->value[turn ? i % s->d[1] * s->d[0] + i / s->d[1] : i] = v;
        low[j] = fmin(low[j], v);
        high[j] = fmax(high[j], v);
    }
    bool fits = find_type(n, w, low, high);
    for (int64_t i = 0; i < count; i++)
        w->sum[channel_at(n, w, i)] += w->value[i];
    free(low);
    free(high);
    free(q);
    return fits;
}
