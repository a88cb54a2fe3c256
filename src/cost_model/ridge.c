/* Fit and prediction of the kernel ridge regression. */
#include "cost_model/ridge.h"

#include <math.h>
#include <string.h>

#include "support/vec.h"

/* DRAWN: distances that the median is taken of. Chosen; it is known to a few per cent then, and REACH is flat. */
enum { NPOINT = 2 * TC_COST_NFEATURE, DRAWN = 4096 };
/* Added to the kernel's diagonal, and the kernel's reach in medians of the programs' distances: fitted, by the pairs of next
 * batches, on 36 searches of the 12 kernels of the search benchmark. Both are flat around these. `benchmarks/search/run --set
 * apart` checks them on others. */
static const double RIDGE = 0.1, REACH = 8;
/* A column whose spread is that small beside its mean is constant but for rounding: some eight units in the last place of a
 * float. */
static const double LEAST_SPREAD = 1e-6;

void ridge_free(ridge *r) {
    free(r->column);
    free(r->mean);
    free(r->unit);
    free(r->point);
    free(r->alpha);
    *r = (ridge){0};
}

/* ---- programs as points ---- */

/* Sums and maxima over the rows. Features that span orders of magnitude are logarithms already. */
static void describe(const tc_cost_rows *rows, float *x) {
    float *largest = x + TC_COST_NFEATURE;
    memset(x, 0, NPOINT * sizeof *x);
    for (int k = 0; k < rows->nrow; k++) {
        const float *row = rows->data + (size_t)k * TC_COST_NFEATURE;
        for (int i = 0; i < TC_COST_NFEATURE; i++) {
            x[i] += row[i];
            largest[i] = k == 0 || row[i] > largest[i] ? row[i] : largest[i];
        }
    }
}

static void choose_columns(ridge *r, size_t n, const float *x) {
    r->column = tc_xcalloc(NPOINT, sizeof *r->column);
    r->mean = tc_xcalloc(NPOINT, sizeof *r->mean);
    r->unit = tc_xcalloc(NPOINT, sizeof *r->unit);
    for (int c = 0; c < NPOINT; c++) {
        double sum = 0, squares = 0;
        for (size_t i = 0; i < n; i++)
            sum += (double)x[i * NPOINT + (size_t)c];
        double mean = sum / (double)n;
        for (size_t i = 0; i < n; i++)
            squares += pow((double)x[i * NPOINT + (size_t)c] - mean, 2);
        double spread = sqrt(squares / (double)n);
        if (spread < LEAST_SPREAD * TC_MAX(1, fabs(mean)))
            continue;
        r->column[r->width] = c;
        r->mean[r->width] = mean;
        r->unit[r->width++] = spread;
    }
}

static void standardise(const ridge *r, const float *x, float *point) {
    for (size_t c = 0; c < r->width; c++)
        point[c] = (float)(((double)x[r->column[c]] - r->mean[c]) / r->unit[c]);
}

static float distance(const float *x, const float *y, size_t width) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t c = 0; c < width; c++)
        sum += (x[c] - y[c]) * (x[c] - y[c]);
    return sqrtf(sum);
}

/* ---- the fit ---- */

static int by_size(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* Of the distances, in the lower triangle of d, between programs that differ; of every so many where there are more than can be
 * sorted quickly. */
static double median_distance(size_t n, const double *d) {
    TC_VEC(double) some = {0};
    size_t step = n * n / 2 / DRAWN + 1, k = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            if (d[i * n + j] > 0 && k++ % step == 0)
                tc_push(&some, d[i * n + j]);
    if (some.len)
        qsort(some.data, some.len, sizeof *some.data, by_size);
    double median = some.len ? some.data[some.len / 2] : 1;
    tc_vec_free(&some);
    return median;
}

static double dot(const double *x, const double *y, size_t n) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t k = 0; k < n; k++)
        sum += x[k] * y[k];
    return sum;
}

/* The Cholesky factor, in place of the lower triangle of the positive definite a. */
static void factorise(size_t n, double *a) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double v = a[i * n + j] - dot(a + i * n, a + j * n, j);
            a[i * n + j] = i == j ? sqrt(v) : v / a[j * n + j];
        }
}

/* Column `from` of the inverse of the factor, whose elements above the diagonal are 0: out[from..n). */
static void invert_column(size_t n, const double *l, size_t from, double *out) {
    out[from] = 1 / l[from * n + from];
    for (size_t i = from + 1; i < n; i++)
        out[i] = -dot(l + i * n + from, out + from, i - from) / l[i * n + i];
}

/* alpha = (K + ridge)^-1 (label - base). What sample i would have been predicted without it follows from the inverse's diagonal
 * (Rifkin and Lippert, "Notes on regularized least squares", 2007). */
static void solve(ridge *r, size_t n, const double *l, const tc_cost_sample *samples, double *left_out) {
    double *y = tc_xcalloc(2 * n, sizeof *y), *column = y + n;
    for (size_t i = 0; i < n; i++) /* the factor's inverse times the labels */
        y[i] = ((double)samples[i].label - r->base - dot(l + i * n, y, i)) / l[i * n + i];
    for (size_t i = 0; i < n; i++) {
        invert_column(n, l, i, column);
        r->alpha[i] = dot(column + i, y + i, n - i);
        left_out[i] = (double)samples[i].label - r->alpha[i] / dot(column + i, column + i, n - i);
    }
    free(y);
}

static double *distances(const ridge *r, size_t n) {
    double *d = tc_xcalloc(n * n, sizeof *d);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            d[i * n + j] = (double)distance(r->point + i * r->width, r->point + j * r->width, r->width);
    return d;
}

bool ridge_fit(ridge *r, size_t n, const tc_cost_sample *samples, double *left_out) {
    float *x = tc_xcalloc(n * NPOINT + 1, sizeof *x);
    *r = (ridge){.n = n};
    for (size_t i = 0; i < n; i++)
        describe(samples[i].rows, x + i * NPOINT);
    choose_columns(r, n, x);
    r->point = tc_xcalloc(n * r->width + 1, sizeof *r->point);
    r->alpha = tc_xcalloc(n + 1, sizeof *r->alpha);
    for (size_t i = 0; i < n; i++) {
        standardise(r, x + i * NPOINT, r->point + i * r->width);
        r->base += (double)samples[i].label / (double)n;
    }
    free(x);
    if (r->width == 0) {
        ridge_free(r);
        return false;
    }
    double *k = distances(r, n);
    r->reach = REACH * median_distance(n, k);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++)
            k[i * n + j] = exp(-k[i * n + j] / r->reach);
        k[i * n + i] = 1 + RIDGE;
    }
    factorise(n, k);
    solve(r, n, k, samples, left_out);
    free(k);
    return true;
}

double ridge_predict(const ridge *r, const tc_cost_rows *rows) {
    float x[NPOINT], point[NPOINT];
    double sum = r->base;
    describe(rows, x);
    standardise(r, x, point);
    for (size_t i = 0; i < r->n; i++)
        sum += r->alpha[i] * exp(-(double)distance(point, r->point + i * r->width, r->width) / r->reach);
    return sum;
}
