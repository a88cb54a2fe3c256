/* Library kernels of numeric operators that would cost too much as tensor expressions. A scatter would cost elements times updates,
 * and running sums the square of their length.
 * A determinant has no closed form of bounded size. Regions of interest have windows of any size. */
#include <stdbool.h>
#include <string.h>

#include "graph/library/kernels.h"

static double load(const void *x, int64_t bytes, int64_t i) {
    return bytes == 4 ? (double)((const float *)x)[i] : ((const double *)x)[i];
}

static void store(void *x, int64_t bytes, int64_t i, double v) {
    if (bytes == 4)
        ((float *)x)[i] = (float)v;
    else
        ((double *)x)[i] = v;
}

/* ---- the Scatter family: one update after the other ----
 * Inputs: data, indices, updates. Attributes: axis (ScatterElements), tuples (1: ScatterND), reduction. An index outside of its
 * dimension updates nothing. */

enum { SCATTER_REPLACE, SCATTER_ADD, SCATTER_MUL, SCATTER_MAX, SCATTER_MIN };

static int64_t scatter_how(int64_t letters) {
    static const char *const names[] = {"none", "add", "mul", "max", "min"};
    int64_t how = SCATTER_MIN;
    while (how > 0 && letters != tc_lib_letters(names[how]))
        how--;
    return how;
}

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
    if (how == SCATTER_ADD || how == SCATTER_MUL)
        return how == SCATTER_ADD ? a + b : a * b;
    if (a != a || b != b)
        return a + b;
    return (how == SCATTER_MAX) == (a > b) ? a : b;
}

static int64_t combined_integer(int64_t how, int64_t kind, int64_t a, int64_t b) {
    if (how == SCATTER_ADD)
        return (int64_t)((uint64_t)a + (uint64_t)b);
    if (how == SCATTER_MUL)
        return (int64_t)((uint64_t)a * (uint64_t)b);
    int above = kind == TC_LIB_SIGNED ? a > b : (uint64_t)a > (uint64_t)b;
    return (how == SCATTER_MAX) == above ? a : b;
}

typedef struct scatter {
    int64_t kind, bytes, how;
    const uint8_t *updates;
    uint8_t *y;
} scatter;

/* y[at ..] takes update[from ..] */
static void take(const scatter *s, int64_t at, int64_t from, int64_t n) {
    if (s->how == SCATTER_REPLACE) {
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

/* Where update i goes: by the tuple of indices that it has, which name the first dimensions, or by its own place but for the axis.
 * False: nowhere. */
static bool scatter_to(const tc_lib_params *p, const void *indices, const int64_t *stride, int64_t i, int64_t *to) {
    const tc_lib_type *x = &p->type[0], *index = &p->type[1];
    int64_t axis = p->attr[0], depth = p->attr[1] ? index->dims[index->rank - 1] : 0, at, left = i;
    *to = 0;
    for (int64_t d = 0; d < depth; d++) {
        if (!in_range(indices, index->bytes, i * depth + d, x->dims[d], &at))
            return false;
        *to += at * stride[d];
    }
    if (depth)
        return true;
    for (int64_t d = x->rank - 1; d >= 0; left /= index->dims[d--])
        *to += d == axis ? 0 : left % index->dims[d] * stride[d];
    bool inside = in_range(indices, index->bytes, i, x->dims[axis], &at);
    *to += at * stride[axis];
    return inside;
}

TC_LIB_KERNEL int32_t tc_lib_scatter(void *const *args, uint8_t *workspace, const tc_rt *rt) {
    (void)workspace;
    (void)rt;
    const tc_lib_params *p = args[0];
    const tc_lib_type *x = &p->type[0], *index = &p->type[1];
    int64_t stride[TC_LIB_DIMS] = {0}, total = 1, count = tc_lib_count(index), slice = 1, to;
    for (int64_t d = x->rank - 1; d >= 0; total *= x->dims[d--])
        stride[d] = total;
    if (p->attr[1]) {
        int64_t depth = index->dims[index->rank - 1];
        count /= depth;
        slice = stride[depth - 1];
    }
    scatter s = {x->kind, x->bytes, scatter_how(p->attr[2]), args[3], args[4]};
    memcpy(s.y, args[1], (size_t)(total * s.bytes));
    for (int64_t i = 0; i < count; i++)
        if (scatter_to(p, args[2], stride, i, &to))
            take(&s, to, i * slice, slice);
    return 0;
}

/* ---- determinants of x [.., n, n] of f32 or f64, by elimination with row exchange ---- */

typedef struct det {
    int64_t bytes, n;
    const void *x;
    void *y;
    double *room;
} det;

static double determinant(double *a, int64_t n) {
    double r = 1;
    for (int64_t i = 0; i < n * n; i++)
        if (a[i] != a[i]) /* NaN, also where the rest is 0 */
            return a[i];
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
    int64_t bytes = d->bytes, n = d->n;
    double *a = d->room + thread * n * n;
    for (int64_t m = begin; m < end; m++) {
        for (int64_t i = 0; i < n * n; i++)
            a[i] = load(d->x, bytes, m * n * n + i);
        store(d->y, bytes, m, determinant(a, n));
    }
}

TC_LIB_KERNEL int64_t tc_lib_det_workspace(const tc_lib_params *p, int32_t nthreads) {
    int64_t n = p->type->dims[p->type->rank - 1];
    return nthreads * n * n * 8;
}

TC_LIB_KERNEL int32_t tc_lib_det(void *const *args, uint8_t *workspace, const tc_rt *rt) {
    const tc_lib_params *p = args[0];
    det d = {p->type->bytes, p->type->dims[p->type->rank - 1], args[1], args[2], (double *)(void *)workspace};
    return tc_lib_parallel(rt, tc_lib_count(&p->type[1]), determinants, &d);
}

/* ---- MaxRoiPool of x [images, channels, height, width] and rois [regions, 5], f32 or f64 ----
 * Attribute: spatial_scale. A region of no image gives 0. */

typedef struct roi_pool {
    int64_t bytes;
    const int64_t *dims, *out; /* of x and y */
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
    const int64_t bytes = r->bytes, channels = r->dims[1], high = r->dims[2], wide = r->dims[3], *bins = r->out + 2;
    (void)thread;
    for (int64_t at = begin; at < end; at++) {
        int64_t roi = at / channels / bins[0] / bins[1], c = at / bins[0] / bins[1] % channels, y0, y1, x0, x1, corner[4];
        int64_t image = (int64_t)load(r->rois, bytes, roi * 5);
        for (int k = 0; k < 4; k++) /* x1, y1, x2, y2 */
            corner[k] = nearest(load(r->rois, bytes, roi * 5 + 1 + k) * r->scale);
        bin(at / bins[1] % bins[0], bins[0], corner[1], corner[3], high, &y0, &y1);
        bin(at % bins[1], bins[1], corner[0], corner[2], wide, &x0, &x1);
        image = image < 0 || image >= r->dims[0] ? -1 : image;
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

TC_LIB_KERNEL int32_t tc_lib_max_roi_pool(void *const *args, uint8_t *workspace, const tc_rt *rt) {
    (void)workspace;
    const tc_lib_params *p = args[0];
    roi_pool r = {p->type->bytes, p->type[0].dims, p->type[2].dims, args[1], args[2], args[3], tc_lib_double(p->attr[0])};
    return tc_lib_parallel(rt, tc_lib_count(&p->type[2]), pool_regions, &r);
}

/* ---- RoiAlign with as many samples in a bin as it has pixels ----
 * Inputs: x [images, channels, height, width] and rois [regions, 4] of f32 or f64, batch_indices i64. Attributes: mode (avg: the
 * mean of the samples; max: the maximum of their corners), coordinate_transformation_mode, spatial_scale. A region of no image
 * gives 0. */

typedef struct roi_align {
    int64_t bytes;
    const int64_t *dims, *out; /* of x and y */
    bool max, half;            /* half: pixels lie at halves */
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
    double shift = r->half ? 0.5 : 0.0, from = load(r->rois, r->bytes, roi * 4 + 1 - d) * r->scale - shift,
           size = load(r->rois, r->bytes, roi * 4 + 3 - d) * r->scale - shift - from;
    if (!r->half && !(size >= 1))
        size = 1;
    double bin_size = size / (double)r->out[2 + d];
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
    const int64_t high = r->dims[2], wide = r->dims[3];
    double sum = 0, most = 0;
    bool any = false;
    for (int64_t k = 0; k < a[0].samples * a[1].samples; k++) {
        double i = (double)(k / a[1].samples) + 0.5, j = (double)(k % a[1].samples) + 0.5, v[4] = {0}, wy, wx;
        int64_t y[2], x[2];
        bool inside = neighbours(a[0].from + ((double)by + i / (double)a[0].samples) * a[0].bin, high, &y[0], &y[1], &wy) &&
                      neighbours(a[1].from + ((double)bx + j / (double)a[1].samples) * a[1].bin, wide, &x[0], &x[1], &wx);
        for (int c = 0; inside && c < 4; c++)
            v[c] =
                (c / 2 ? wy : 1 - wy) * (c % 2 ? wx : 1 - wx) * load(r->x, r->bytes, (plane * high + y[c / 2]) * wide + x[c % 2]);
        for (int c = 0; c < 4; c++) {
            sum += v[c];
            most = !any || (most == most && !(v[c] <= most)) ? v[c] : most; /* a NaN stays */
            any = true;
        }
    }
    return r->max ? most : sum;
}

static void align_regions(int64_t begin, int64_t end, int32_t thread, void *closure) {
    const roi_align *r = closure;
    const int64_t channels = r->dims[1], *bins = r->out + 2;
    (void)thread;
    for (int64_t at = begin; at < end; at++) {
        int64_t roi = at / channels / bins[0] / bins[1], c = at / bins[0] / bins[1] % channels, image = r->batch[roi];
        roi_axis a[2] = {axis_of_region(r, roi, 0), axis_of_region(r, roi, 1)};
        int64_t samples = a[0].samples * a[1].samples;
        double v = 0;
        if (image >= 0 && image < r->dims[0] && samples > 0)
            v = pool_samples(r, image * channels + c, a, at / bins[1] % bins[0], at % bins[1]) / (r->max ? 1.0 : (double)samples);
        store(r->y, r->bytes, at, v);
    }
}

TC_LIB_KERNEL int32_t tc_lib_roi_align(void *const *args, uint8_t *workspace, const tc_rt *rt) {
    (void)workspace;
    const tc_lib_params *p = args[0];
    roi_align r = {.bytes = p->type->bytes, .dims = p->type[0].dims, .out = p->type[3].dims, .x = args[1], .rois = args[2]};
    r.max = p->attr[0] == tc_lib_letters("max");
    r.half = p->attr[1] == tc_lib_letters("half_pixel");
    r.scale = tc_lib_double(p->attr[2]);
    r.batch = args[3];
    r.y = args[4];
    return tc_lib_parallel(rt, tc_lib_count(&p->type[3]), align_regions, &r);
}

/* ---- running sums of x, of no half type, along an axis. Attributes: axis, exclusive, reverse. ---- */

enum { SUM_COLUMNS = 32 }; /* of rows that lie side by side: their sums run together */

typedef struct cum_sum {
    const tc_lib_type *type;
    tc_lib_rows rows;
    int64_t exclusive, reverse;
    const void *x;
    void *y;
} cum_sum;

/* Sums of f32 are computed in f64. `width` rows begin at element `from`; their elements are `step` apart. */
static inline void sum_floats(const cum_sum *s, int64_t bytes, int64_t from, int64_t step, int64_t width) {
    double sum[SUM_COLUMNS] = {0};
    for (int64_t i = 0; i < s->rows.n; i++, from += step)
        for (int64_t j = 0; j < width; j++) {
            double before = sum[j];
            sum[j] += load(s->x, bytes, from + j);
            store(s->y, bytes, from + j, s->exclusive ? before : sum[j]);
        }
}

/* Sums wrap as their type does. */
static inline void sum_integers(const cum_sum *s, int64_t bytes, int64_t from, int64_t step, int64_t width) {
    uint64_t sum[SUM_COLUMNS] = {0};
    for (int64_t i = 0; i < s->rows.n; i++, from += step)
        for (int64_t j = 0; j < width; j++) {
            uint64_t before = sum[j];
            sum[j] += (uint64_t)load_integer(s->x, TC_LIB_UNSIGNED, bytes, from + j);
            store_integer(s->y, bytes, from + j, (int64_t)(s->exclusive ? before : sum[j]));
        }
}

static void sum_rows(int64_t begin, int64_t end, int32_t thread, void *closure) {
    const cum_sum *s = closure;
    const int64_t n = s->rows.n, inner = s->rows.inner, blocks = (inner + SUM_COLUMNS - 1) / SUM_COLUMNS, bytes = s->type->bytes;
    (void)thread;
    for (int64_t k = begin; k < end; k++) {
        int64_t column = k % blocks * SUM_COLUMNS, width = tc_lib_min(SUM_COLUMNS, inner - column);
        int64_t from = (k / blocks * n + (s->reverse ? n - 1 : 0)) * inner + column, step = s->reverse ? -inner : inner;
        if (s->type->kind == TC_LIB_FLOAT && bytes == 4)
            sum_floats(s, 4, from, step, width);
        else if (s->type->kind == TC_LIB_FLOAT)
            sum_floats(s, 8, from, step, width);
        else if (bytes == 8)
            sum_integers(s, 8, from, step, width);
        else
            sum_integers(s, bytes, from, step, width);
    }
}

TC_LIB_KERNEL int32_t tc_lib_cum_sum(void *const *args, uint8_t *workspace, const tc_rt *rt) {
    const tc_lib_params *p = args[0];
    cum_sum s = {p->type, tc_lib_rows_of(p->type, p->attr[0]), p->attr[1], p->attr[2], args[1], args[2]};
    (void)workspace;
    return tc_lib_parallel(rt, s.rows.outer * ((s.rows.inner + SUM_COLUMNS - 1) / SUM_COLUMNS), sum_rows, &s);
}
