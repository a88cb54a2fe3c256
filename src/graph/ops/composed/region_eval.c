/* Reference evaluation of Det, MaxRoiPool and RoiAlign with as many samples as pixels. */
#include <math.h>
#include <string.h>

#include "graph/ops/functions.h"

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
    double scale = tc_graph_attr_spatial_scale(c->n);
    double *v = tc_graph_wide_f64(c->in[0]), *roi = tc_graph_wide_f64(c->in[1]);
    for (int64_t i = 0; i < tc_graph_tensor_count(&c->out[0]); i++) {
        int64_t r = i / (y[1] * y[2] * y[3]), channel = i / (y[2] * y[3]) % y[1], bin[] = {i / y[3] % y[2], i % y[3]};
        int64_t image = (int64_t)roi[5 * r];
        double from[2], size[2], most = 0;
        bool any = false;
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
            double own = v[(image * x[1] + channel) * x[2] * x[3] + p];
            if (inside && (!any || isnan(own) || own > most)) /* a NaN stays */
                most = own;
            any |= inside;
        }
        tc_store_f(c->out[0].dtype, c->out[0].data, i, most);
    }
    free(v);
    free(roi);
    return TC_OK;
}

/* The image at (y, x), each pixel as a tent of width 2 whose edge values go on for one pixel. *corner: its largest part. */
static double sample(const double *image, int64_t high, int64_t wide, double y, double x, double *corner) {
    double sum = 0;
    *corner = 0;
    if (!(y >= -1 && y <= (double)high && x >= -1 && x <= (double)wide))
        return 0;
    y = fmin(fmax(y, 0), (double)high - 1);
    x = fmin(fmax(x, 0), (double)wide - 1);
    *corner = -INFINITY;
    int near = 0;
    for (int64_t p = 0; p < high * wide; p++) {
        double dy = fabs(y - (double)(p / wide)), dx = fabs(x - (double)(p % wide));
        if (dy >= 1 || dx >= 1)
            continue;
        near++;
        sum += (1 - dy) * (1 - dx) * image[p];
        *corner = fmax(*corner, (1 - dy) * (1 - dx) * image[p]);
    }
    if (near < 4) /* corners of no weight */
        *corner = fmax(*corner, 0);
    return sum;
}

tc_status tc_graph_eval_roi_align_list(tc_graph_eval_ctx *c) {
    const int64_t *s = c->in[0]->shape.d, *o = c->out[0].shape.d, *batch = c->in[2]->data;
    double scale = tc_graph_attr_spatial_scale(c->n);
    bool max = strcmp(tc_graph_attr_mode_or(c->n, "avg"), "max") == 0;
    bool half = strcmp(tc_graph_attr_coordinate_transformation_mode(c->n), "half_pixel") == 0;
    double *v = tc_graph_wide_f64(c->in[0]), *roi = tc_graph_wide_f64(c->in[1]);
    for (int64_t i = 0; i < tc_graph_tensor_count(&c->out[0]); i++) {
        int64_t r = i / (o[1] * o[2] * o[3]), channel = i / (o[2] * o[3]) % o[1];
        double from[2], bin[2], n[2], sum = 0, most = -INFINITY;
        for (int d = 0; d < 2; d++) {
            from[d] = roi[4 * r + 1 - d] * scale - (half ? 0.5 : 0);
            double size = roi[4 * r + 3 - d] * scale - (half ? 0.5 : 0) - from[d];
            bin[d] = (half ? size : fmax(size, 1)) / (double)o[2 + d];
            n[d] = fmax(0, ceil(bin[d]));
        }
        bool there = batch[r] >= 0 && batch[r] < s[0];
        for (double a = 0; a < n[0] && there; a++)
            for (double b = 0; b < n[1]; b++) {
                double corner, y = from[0] + ((double)(i / o[3] % o[2]) + (a + 0.5) / n[0]) * bin[0],
                               x = from[1] + ((double)(i % o[3]) + (b + 0.5) / n[1]) * bin[1];
                sum += sample(v + (batch[r] * s[1] + channel) * s[2] * s[3], s[2], s[3], y, x, &corner);
                most = fmax(most, corner);
            }
        double result = isinf(most) ? 0 : max ? most : sum / (n[0] * n[1]);
        tc_store_f(c->out[0].dtype, c->out[0].data, i, result);
    }
    free(v);
    free(roi);
    return TC_OK;
}
