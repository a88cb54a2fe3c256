/* Reference evaluation of Det and MaxRoiPool. */
#include <math.h>

#include "graph/eval.h"

/* By a column: sum over i of (-1)^i * m[i][column] * det(m without both); `rows` are those left. */
static double expanded(const double *m, int64_t n, int64_t column, uint32_t rows) {
    double sum = 0;
    int sign = 1;
    if (column == n)
        return 1;
    for (int64_t i = 0; i < n; i++) {
        if (!(rows >> i & 1))
            continue;
        if (m[i * n + column] != 0)
            sum += sign * m[i * n + column] * expanded(m, n, column + 1, rows & ~(1u << i));
        sign = -sign;
    }
    return sum;
}

/* Larger ones by elimination: the largest entry of the column is brought up by adding its row, which changes no determinant. */
static double eliminated(double *m, int64_t n) {
    double r = 1;
    for (int64_t k = 0; k < n; k++) {
        int64_t best = k;
        for (int64_t i = k + 1; i < n; i++)
            best = fabs(m[i * n + k]) > fabs(m[best * n + k]) ? i : best;
        double sign = m[best * n + k] * m[k * n + k] < 0 ? -1 : 1;
        for (int64_t j = 0; j < n && best != k; j++)
            m[k * n + j] += sign * m[best * n + j];
        r *= m[k * n + k];
        for (int64_t i = k + 1; i < n && r != 0; i++)
            for (int64_t j = n - 1; j >= k; j--)
                m[i * n + j] -= m[i * n + k] / m[k * n + k] * m[k * n + j];
    }
    return r;
}

tc_status tc_graph_eval_det_list(tc_graph_eval_ctx *c) {
    const tc_graph_shape *s = &c->in[0]->shape;
    int64_t n = s->d[s->ndim - 1];
    double *x = tc_graph_wide_f64(c->in[0]);
    for (int64_t i = 0; i < tc_graph_tensor_count(&c->out[0]); i++) {
        double *m = x + i * n * n;
        tc_store_f(c->out[0].dtype, c->out[0].data, i, n <= 7 ? expanded(m, n, 0, (1u << n) - 1) : eliminated(m, n));
    }
    free(x);
    return TC_OK;
}

/* Every pixel is asked whether it lies in the bin. */
tc_status tc_graph_eval_max_roi_pool_list(tc_graph_eval_ctx *c) {
    const int64_t *x = c->in[0]->shape.d, *y = c->out[0].shape.d;
    double scale = tc_graph_attr_float(c->n, "spatial_scale", 1);
    double *v = tc_graph_wide_f64(c->in[0]), *roi = tc_graph_wide_f64(c->in[1]);
    for (int64_t i = 0; i < tc_graph_tensor_count(&c->out[0]); i++) {
        int64_t r = i / (y[1] * y[2] * y[3]), channel = i / (y[2] * y[3]) % y[1], bin[] = {i / y[3] % y[2], i % y[3]};
        int64_t image = (int64_t)roi[5 * r];
        double from[2], size[2], most = -INFINITY;
        for (int d = 0; d < 2; d++) {
            from[d] = round(roi[5 * r + 2 - d] * scale);
            size[d] = fmax(1, round(roi[5 * r + 4 - d] * scale) - from[d] + 1);
        }
        for (int64_t p = 0; p < x[2] * x[3] && image >= 0 && image < x[0]; p++) {
            double at[] = {(double)(p / x[3]) - from[0], (double)(p % x[3]) - from[1]};
            bool inside = true;
            for (int d = 0; d < 2; d++)
                inside &= at[d] >= floor((double)bin[d] * size[d] / (double)y[2 + d]) &&
                          at[d] < ceil((double)(bin[d] + 1) * size[d] / (double)y[2 + d]);
            if (inside)
                most = fmax(most, v[(image * x[1] + channel) * x[2] * x[3] + p]);
        }
        tc_store_f(c->out[0].dtype, c->out[0].data, i, isinf(most) ? 0 : most);
    }
    free(v);
    free(roi);
    return TC_OK;
}
