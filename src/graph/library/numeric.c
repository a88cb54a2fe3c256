/* Library kernels of numeric operators that would cost too much as tensor expressions. A scatter would cost elements times updates,
 * and running sums the square of their length.
 * A determinant has no closed form of bounded size. Regions of interest have windows of any size. */
#include <stdbool.h>
#include <string.h>

#include "graph/library/runtime.h"

static double load(const void *x, int64_t bytes, int64_t i) {
    return bytes == 4 ? (double)((const float *)x)[i] : ((const double *)x)[i];
}

static void store(void *x, int64_t bytes, int64_t i, double v) {
    if (bytes == 4)
        ((float *)x)[i] = (float)v;
    else
        ((double *)x)[i] = v;
}

/* ---- Scatter ---- */

static int64_t load_integer(const void *x, int64_t kind, int64_t bytes, int64_t i) {
    int sign = kind == TC_LIB_SIGNED;
    switch (bytes) {
    case 1:
        return sign ? (int64_t)((const int8_t *)x)[i] : (int64_t)((const uint8_t *)x)[i];
    case 2:
        return sign ? (int64_t)((const int16_t *)x)[i] : (int64_t)((const uint16_t *)x)[i];
    case 4:
        return sign ? (int64_t)((const int32_t *)x)[i] : (int64_t)((const uint32_t *)x)[i];
    default:
        return ((const int64_t *)x)[i];
    }
}

static void store_integer(void *x, int64_t bytes, int64_t i, int64_t v) {
    memcpy((uint8_t *)x + i * bytes, &v, (size_t)bytes); /* little-endian: the low bytes */
}

static double combined(int64_t how, double a, double b) {
    if (how == TC_LIB_ADD || how == TC_LIB_MUL)
        return how == TC_LIB_ADD ? a + b : a * b;
    if (a != a || b != b)
        return a + b;
    return (how == TC_LIB_MAX) == (a > b) ? a : b;
}

static int64_t combined_integer(int64_t how, int64_t kind, int64_t a, int64_t b) {
    if (how == TC_LIB_ADD)
        return (int64_t)((uint64_t)a + (uint64_t)b);
    if (how == TC_LIB_MUL)
        return (int64_t)((uint64_t)a * (uint64_t)b);
    int above = kind == TC_LIB_SIGNED ? a > b : (uint64_t)a > (uint64_t)b;
    return (how == TC_LIB_MAX) == above ? a : b;
}

typedef struct scatter {
    int64_t kind, bytes, how;
    const uint8_t *updates;
    uint8_t *y;
} scatter;

/* y[at ..] takes update[from ..] */
static void take(const scatter *s, int64_t at, int64_t from, int64_t n) {
    if (s->how == TC_LIB_REPLACE) {
        memcpy(s->y + at * s->bytes, s->updates + from * s->bytes, (size_t)(n * s->bytes));
        return;
    }
    for (int64_t i = 0; i < n; i++)
        if (s->kind == TC_LIB_FLOAT)
            store(s->y, s->bytes, at + i, combined(s->how, load(s->y, s->bytes, at + i), load(s->updates, s->bytes, from + i)));
        else
            store_integer(s->y, s->bytes, at + i,
                          combined_integer(s->how, s->kind, load_integer(s->y, s->kind, s->bytes, at + i),
                                           load_integer(s->updates, s->kind, s->bytes, from + i)));
}

/* A negative index counts from the end; what is outside updates nothing. */
static int in_range(const void *index, int64_t bytes, int64_t i, int64_t dim, int64_t *at) {
    int64_t v = load_integer(index, TC_LIB_SIGNED, bytes, i);
    *at = v < 0 ? v + dim : v;
    return *at >= 0 && *at < dim;
}

TC_LIB_KERNEL int64_t tc_lib_scatter_workspace(const int64_t *p, int32_t nthreads) {
    (void)p;
    (void)nthreads;
    return 0;
}

TC_LIB_KERNEL int32_t tc_lib_scatter(void *const *args, uint8_t *workspace, const tc_rt *rt) {
    (void)workspace;
    (void)rt;
    const int64_t *p = args[0], rank = p[5], *dims = p + 6, axis = p[14], depth = p[15], *shape = p + 16;
    int64_t stride[8] = {0}, total = 1, count = 1, at;
    for (int64_t d = rank - 1; d >= 0; total *= dims[d--])
        stride[d] = total;
    scatter s = {p[0], p[1], p[2], args[3], args[4]};
    memcpy(s.y, args[1], (size_t)(total * s.bytes));
    int64_t slice = depth ? stride[depth - 1] : 1;
    for (int64_t d = 0; d < rank && !depth; d++)
        count *= shape[d];
    for (int64_t i = 0; i < (depth ? p[4] : count); i++) {
        int64_t to = 0, left = i, inside = 1;
        for (int64_t d = 0; d < depth && inside; d++, to += inside ? at * stride[d - 1] : 0)
            inside = in_range(args[2], p[3], i * depth + d, dims[d], &at);
        for (int64_t d = rank - 1; d >= 0 && !depth; left /= shape[d--])
            to += d == axis ? 0 : left % shape[d] * stride[d];
        if (!depth && (inside = in_range(args[2], p[3], i, dims[axis], &at)))
            to += at * stride[axis];
        if (inside)
            take(&s, to, i * slice, slice);
    }
    return 0;
}

/* ---- determinants, by elimination with row exchange ---- */

typedef struct det {
    const int64_t *p;
    const void *x;
    void *y;
    double *room;
} det;

static double determinant(double *a, int64_t n) {
    double r = 1;
    for (int64_t k = 0; k < n; k++) {
        int64_t pivot = k;
        for (int64_t i = k + 1; i < n; i++)
            pivot = __builtin_fabs(a[i * n + k]) > __builtin_fabs(a[pivot * n + k]) ? i : pivot;
        for (int64_t j = k; j < n && pivot != k; j++) {
            double t = a[k * n + j];
            a[k * n + j] = a[pivot * n + j];
            a[pivot * n + j] = t;
        }
        r *= pivot != k ? -a[k * n + k] : a[k * n + k];
        if (a[k * n + k] == 0)
            return 0;
        for (int64_t i = k + 1; i < n; i++) {
            double f = a[i * n + k] / a[k * n + k];
            for (int64_t j = k + 1; j < n; j++)
                a[i * n + j] -= f * a[k * n + j];
        }
    }
    return r;
}

static void determinants(int64_t begin, int64_t end, int32_t thread, void *closure) {
    const det *d = closure;
    int64_t bytes = d->p[0], n = d->p[2];
    double *a = d->room + thread * n * n;
    for (int64_t m = begin; m < end; m++) {
        for (int64_t i = 0; i < n * n; i++)
            a[i] = load(d->x, bytes, m * n * n + i);
        store(d->y, bytes, m, determinant(a, n));
    }
}

TC_LIB_KERNEL int64_t tc_lib_det_workspace(const int64_t *p, int32_t nthreads) {
    return nthreads * p[2] * p[2] * 8;
}

TC_LIB_KERNEL int32_t tc_lib_det(void *const *args, uint8_t *workspace, const tc_rt *rt) {
    const int64_t *p = args[0];
    det d = {p, args[1], args[2], (double *)(void *)workspace};
    return tc_lib_parallel(rt, p[1], determinants, &d);
}

/* ---- MaxRoiPool ---- */

typedef struct roi_pool {
    const int64_t *p;
    const void *x, *rois;
    void *y;
    double scale;
} roi_pool;

/* Halves away from zero. */
static int64_t nearest(double v) {
    return (int64_t)(v < 0 ? v - 0.5 : v + 0.5);
}

/* First and one past the last row (or column) of bin k of n over [from, to], within `limit`. */
static void bin(int64_t k, int64_t n, int64_t from, int64_t to, int64_t limit, int64_t *first, int64_t *end) {
    int64_t size = to - from + 1 > 1 ? to - from + 1 : 1;
    int64_t a = from + k * size / n, b = from + ((k + 1) * size + n - 1) / n;
    *first = a < 0 ? 0 : tc_lib_min(a, limit);
    *end = b < 0 ? 0 : tc_lib_min(b, limit);
}

static void pool_regions(int64_t begin, int64_t end, int32_t thread, void *closure) {
    const roi_pool *r = closure;
    const int64_t *p = r->p, bytes = p[0], channels = p[2], high = p[3], wide = p[4], bins[2] = {p[6], p[7]};
    (void)thread;
    for (int64_t at = begin; at < end; at++) {
        int64_t roi = at / channels / bins[0] / bins[1], c = at / bins[0] / bins[1] % channels, y0, y1, x0, x1, corner[4];
        int64_t image = (int64_t)load(r->rois, bytes, roi * 5);
        for (int k = 0; k < 4; k++) /* x1, y1, x2, y2 */
            corner[k] = nearest(load(r->rois, bytes, roi * 5 + 1 + k) * r->scale);
        bin(at / bins[1] % bins[0], bins[0], corner[1], corner[3], high, &y0, &y1);
        bin(at % bins[1], bins[1], corner[0], corner[2], wide, &x0, &x1);
        image = image < 0 || image >= p[1] ? -1 : image;
        double most = 0;
        for (int64_t y = y0; y < y1 && image >= 0; y++)
            for (int64_t x = x0; x < x1; x++) {
                double v = load(r->x, bytes, ((image * channels + c) * high + y) * wide + x);
                bool first = y == y0 && x == x0, is_nan = most != most; /* a NaN stays */
                most = first || (!is_nan && !(v <= most)) ? v : most;
            }
        store(r->y, bytes, at, most);
    }
}

TC_LIB_KERNEL int64_t tc_lib_max_roi_pool_workspace(const int64_t *p, int32_t nthreads) {
    (void)p;
    (void)nthreads;
    return 0;
}

TC_LIB_KERNEL int32_t tc_lib_max_roi_pool(void *const *args, uint8_t *workspace, const tc_rt *rt) {
    (void)workspace;
    const int64_t *p = args[0];
    roi_pool r = {.p = p, .x = args[1], .rois = args[2], .y = args[3]};
    memcpy(&r.scale, &p[8], sizeof r.scale);
    return tc_lib_parallel(rt, p[5] * p[2] * p[6] * p[7], pool_regions, &r);
}

/* ---- RoiAlign ---- */

typedef struct roi_align {
    const int64_t *p;
    const void *x, *rois;
    const int64_t *batch;
    void *y;
    double scale;
} roi_align;

/* One axis of a region: where its bins begin, how large they are, and the samples in each. */
typedef struct roi_axis {
    double from, bin;
    int64_t samples;
} roi_axis;

static roi_axis axis_of_region(const roi_align *r, int64_t roi, int d) {
    const int64_t *p = r->p;
    double shift = p[9] ? 0.5 : 0.0, from = load(r->rois, p[0], roi * 4 + 1 - d) * r->scale - shift,
           size = load(r->rois, p[0], roi * 4 + 3 - d) * r->scale - shift - from;
    if (!p[9] && !(size >= 1))
        size = 1;
    double bin_size = size / (double)p[6 + d];
    int64_t n = bin_size > 0 && bin_size < 1e9 ? (int64_t)bin_size : 0;
    return (roi_axis){from, bin_size, n + ((double)n < bin_size)};
}

/* Neighbours of a place on an axis and the second one's weight; false: it is more than a pixel outside. */
static bool neighbours(double at, int64_t extent, int64_t *low, int64_t *high, double *weight) {
    if (!(at >= -1 && at <= (double)extent))
        return false;
    at = at < 0 ? 0 : at;
    *low = tc_lib_min((int64_t)at, extent - 1);
    *high = tc_lib_min(*low + 1, extent - 1);
    *weight = *low == extent - 1 ? 0 : at - (double)*low;
    return true;
}

/* Sum of the samples of a bin, or the largest of their weighted corners. */
static double pool_samples(const roi_align *r, int64_t plane, const roi_axis *a, int64_t by, int64_t bx) {
    const int64_t *p = r->p, high = p[3], wide = p[4];
    double sum = 0, most = 0;
    bool any = false;
    for (int64_t k = 0; k < a[0].samples * a[1].samples; k++) {
        double i = (double)(k / a[1].samples) + 0.5, j = (double)(k % a[1].samples) + 0.5, v[4] = {0}, wy, wx;
        int64_t y[2], x[2];
        bool inside = neighbours(a[0].from + ((double)by + i / (double)a[0].samples) * a[0].bin, high, &y[0], &y[1], &wy) &&
                      neighbours(a[1].from + ((double)bx + j / (double)a[1].samples) * a[1].bin, wide, &x[0], &x[1], &wx);
        for (int c = 0; inside && c < 4; c++)
            v[c] = (c / 2 ? wy : 1 - wy) * (c % 2 ? wx : 1 - wx) * load(r->x, p[0], (plane * high + y[c / 2]) * wide + x[c % 2]);
        for (int c = 0; c < 4; c++) {
            sum += v[c];
            most = !any || v[c] > most ? v[c] : most;
            any = true;
        }
    }
    return p[8] ? most : sum;
}

static void align_regions(int64_t begin, int64_t end, int32_t thread, void *closure) {
    const roi_align *r = closure;
    const int64_t *p = r->p, channels = p[2], bins[2] = {p[6], p[7]};
    (void)thread;
    for (int64_t at = begin; at < end; at++) {
        int64_t roi = at / channels / bins[0] / bins[1], c = at / bins[0] / bins[1] % channels, image = r->batch[roi];
        roi_axis a[2] = {axis_of_region(r, roi, 0), axis_of_region(r, roi, 1)};
        int64_t samples = a[0].samples * a[1].samples;
        double v = 0;
        if (image >= 0 && image < p[1] && samples > 0)
            v = pool_samples(r, image * channels + c, a, at / bins[1] % bins[0], at % bins[1]) / (p[8] ? 1.0 : (double)samples);
        store(r->y, p[0], at, v);
    }
}

TC_LIB_KERNEL int64_t tc_lib_roi_align_workspace(const int64_t *p, int32_t nthreads) {
    (void)p;
    (void)nthreads;
    return 0;
}

TC_LIB_KERNEL int32_t tc_lib_roi_align(void *const *args, uint8_t *workspace, const tc_rt *rt) {
    (void)workspace;
    const int64_t *p = args[0];
    roi_align r = {.p = p, .x = args[1], .rois = args[2], .batch = args[3], .y = args[4]};
    memcpy(&r.scale, &p[10], sizeof r.scale);
    return tc_lib_parallel(rt, p[5] * p[2] * p[6] * p[7], align_regions, &r);
}

/* ---- CumSum ---- */

enum { SUM_COLUMNS = 32 }; /* of rows that lie side by side: their sums run together */

typedef struct cum_sum {
    const int64_t *p;
    const void *x;
    void *y;
} cum_sum;

/* Sums of f32 are computed in f64. `width` rows begin at element `from`; their elements are `step` apart. */
static inline void sum_floats(const cum_sum *s, int64_t bytes, int64_t from, int64_t step, int64_t width) {
    double sum[SUM_COLUMNS] = {0};
    for (int64_t i = 0; i < s->p[3]; i++, from += step)
        for (int64_t j = 0; j < width; j++) {
            double before = sum[j];
            sum[j] += load(s->x, bytes, from + j);
            store(s->y, bytes, from + j, s->p[5] ? before : sum[j]);
        }
}

/* Sums wrap as their type does. */
static inline void sum_integers(const cum_sum *s, int64_t bytes, int64_t from, int64_t step, int64_t width) {
    uint64_t sum[SUM_COLUMNS] = {0};
    for (int64_t i = 0; i < s->p[3]; i++, from += step)
        for (int64_t j = 0; j < width; j++) {
            uint64_t before = sum[j];
            sum[j] += (uint64_t)load_integer(s->x, TC_LIB_UNSIGNED, bytes, from + j);
            store_integer(s->y, bytes, from + j, (int64_t)(s->p[5] ? before : sum[j]));
        }
}

static void sum_rows(int64_t begin, int64_t end, int32_t thread, void *closure) {
    const cum_sum *s = closure;
    const int64_t *p = s->p, n = p[3], inner = p[4], blocks = (inner + SUM_COLUMNS - 1) / SUM_COLUMNS;
    (void)thread;
    for (int64_t k = begin; k < end; k++) {
        int64_t column = k % blocks * SUM_COLUMNS, width = tc_lib_min(SUM_COLUMNS, inner - column);
        int64_t from = (k / blocks * n + (p[6] ? n - 1 : 0)) * inner + column, step = p[6] ? -inner : inner;
        if (p[0] == TC_LIB_FLOAT && p[1] == 4)
            sum_floats(s, 4, from, step, width);
        else if (p[0] == TC_LIB_FLOAT)
            sum_floats(s, 8, from, step, width);
        else if (p[1] == 8)
            sum_integers(s, 8, from, step, width);
        else
            sum_integers(s, p[1], from, step, width);
    }
}

TC_LIB_KERNEL int64_t tc_lib_cum_sum_workspace(const int64_t *p, int32_t nthreads) {
    (void)p;
    (void)nthreads;
    return 0;
}

TC_LIB_KERNEL int32_t tc_lib_cum_sum(void *const *args, uint8_t *workspace, const tc_rt *rt) {
    const int64_t *p = args[0];
    cum_sum s = {p, args[1], args[2]};
    (void)workspace;
    return tc_lib_parallel(rt, p[2] * ((p[4] + SUM_COLUMNS - 1) / SUM_COLUMNS), sum_rows, &s);
}
