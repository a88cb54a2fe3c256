/* Library kernels against their twins: a twin computes the same element by element, by the definition of the operator. Random cases
 * of every kernel and type, compiled and as the reference evaluator runs them. A kernel without a twin fails the test. */
#include <math.h>
#include <string.h>

#include "graph/lower_common.h"
#include "graph/ops/functions.h"
#include "support/rng.h"

#define PATH SCRATCH("kernels.onnx")
enum { MAX_OUT = 4 };

/* -1, 0, 1; NaN is the largest, and all NaN are equal. */
static int order(const tc_graph_tensor *t, int64_t i, int64_t j) {
    if (tc_dtype_is_float(t->dtype)) {
        double a = tc_load_f(t->dtype, t->data, i), b = tc_load_f(t->dtype, t->data, j);
        if (isnan(a) || isnan(b))
            return (isnan(a) != 0) - (isnan(b) != 0);
        return (a > b) - (a < b);
    }
    int64_t a = tc_load_i(t->dtype, t->data, i), b = tc_load_i(t->dtype, t->data, j);
    if (t->dtype == TC_U64)
        return ((uint64_t)a > (uint64_t)b) - ((uint64_t)a < (uint64_t)b);
    return (a > b) - (a < b);
}

typedef struct lines {
    int64_t outer, n, inner;
} lines;

static lines lines_of(const tc_graph_eval_ctx *c) {
    const tc_graph_shape *s = &c->in[0]->shape;
    int axis = (int)tc_graph_attr_axis(c->n);
    lines l = {1, s->d[axis], 1};
    for (int d = 0; d < s->ndim; d++)
        *(d < axis ? &l.outer : &l.inner) *= d == axis ? 1 : s->d[d];
    return l;
}

static tc_status top_k(tc_graph_eval_ctx *c) {
    const tc_graph_tensor *x = c->in[0];
    lines l = lines_of(c);
    int64_t k = tc_graph_attr_k(c->n), *index = c->out[1].data;
    int sign = tc_graph_attr_largest(c->n) ? -1 : 1;
    size_t size = (size_t)tc_dtype_bytes(x->dtype);
    bool *taken = tc_xcalloc((size_t)l.n + 1, sizeof *taken);
    for (int64_t line = 0; line < l.outer * l.inner; line++) {
        int64_t from = line / l.inner * l.n * l.inner + line % l.inner, to = line / l.inner * k * l.inner + line % l.inner;
        memset(taken, 0, (size_t)l.n * sizeof *taken);
        for (int64_t r = 0; r < k; r++) {
            int64_t best = -1;
            for (int64_t i = 0; i < l.n; i++)
                if (!taken[i] && (best < 0 || sign * order(x, from + i * l.inner, from + best * l.inner) < 0))
                    best = i;
            taken[best] = true;
            index[to + r * l.inner] = best;
            memcpy((char *)c->out[0].data + (size_t)(to + r * l.inner) * size,
                   (const char *)x->data + (size_t)(from + best * l.inner) * size, size);
        }
    }
    free(taken);
    return TC_OK;
}

static tc_status non_zero(tc_graph_eval_ctx *c) {
    const tc_graph_tensor *x = c->in[0];
    int64_t n = tc_graph_tensor_count(x), found = 0, *to = c->out[0].data, strides[TC_GRAPH_MAX_DIMS];
    tc_graph_shape_strides(&x->shape, strides);
    for (int64_t i = 0; i < n; i++) {
        bool zero = tc_dtype_is_float(x->dtype) ? tc_load_f(x->dtype, x->data, i) == 0 : tc_load_i(x->dtype, x->data, i) == 0;
        for (int d = 0; d < x->shape.ndim && !zero; d++)
            to[d * n + found] = i / strides[d] % x->shape.d[d];
        found += !zero;
    }
    *(int64_t *)c->out[1].data = found;
    return TC_OK;
}

/* ---- Unique ---- */

static int slice_order(const tc_graph_tensor *x, const lines *l, int64_t a, int64_t b) {
    for (int64_t o = 0; o < l->outer; o++)
        for (int64_t i = 0; i < l->inner; i++) {
            int r = order(x, (o * l->n + a) * l->inner + i, (o * l->n + b) * l->inner + i);
            if (r)
                return r;
        }
    return 0;
}

static tc_status unique(tc_graph_eval_ctx *c) {
    lines l = lines_of(c);
    int64_t used = *(const int64_t *)c->in[1]->data, groups = 0;
    int64_t *first = c->out[0].data, *inverse = c->out[1].data, *counts = c->out[2].data;
    bool sorted = tc_graph_attr_sorted(c->n) != 0;
    for (int64_t i = 0; i < used; i++) { /* each new slice is inserted among the known ones */
        int64_t g = 0;
        while (g < groups && slice_order(c->in[0], &l, first[g], i) != 0)
            g++;
        if (g < groups)
            continue;
        while (sorted && g > 0 && slice_order(c->in[0], &l, first[g - 1], i) > 0) {
            first[g] = first[g - 1];
            g--;
        }
        first[g] = i;
        groups++;
    }
    for (int64_t i = 0; i < used; i++)
        for (int64_t g = 0; g < groups; g++)
            if (slice_order(c->in[0], &l, first[g], i) == 0) {
                inverse[i] = g;
                counts[g]++;
            }
    *(int64_t *)c->out[3].data = groups;
    return TC_OK;
}

/* ---- non-maximum suppression ---- */

static void corners(const float *b, bool center, double c[4]) {
    for (int d = 0; d < 2; d++)
        if (center) {
            c[d] = (double)b[1 - d] - (double)b[3 - d] / 2;
            c[d + 2] = (double)b[1 - d] + (double)b[3 - d] / 2;
        } else {
            c[d] = fmin((double)b[d], (double)b[d + 2]);
            c[d + 2] = fmax((double)b[d], (double)b[d + 2]);
        }
}

static double overlap(const float *x, const float *y, bool center) {
    double a[4], b[4], both = 1, size_a = 1, size_b = 1;
    corners(x, center, a);
    corners(y, center, b);
    for (int d = 0; d < 2; d++) {
        both *= fmax(0, fmin(a[d + 2], b[d + 2]) - fmax(a[d], b[d]));
        size_a *= a[d + 2] - a[d];
        size_b *= b[d + 2] - b[d];
    }
    return size_a <= 0 || size_b <= 0 ? 0 : both / (size_a + size_b - both);
}

typedef struct suppression {
    const float *boxes, *scores; /* of one image, of one class of it */
    int64_t n, most;
    float iou, threshold; /* threshold: NaN where the model gives none */
    bool center;
} suppression;

static bool counts(const suppression *s, int64_t i) {
    return isnan(s->threshold) || s->scores[i] > s->threshold;
}

static bool is_better(float a, float b) {
    return isnan(a) ? !isnan(b) : a > b;
}

/* Takes the best box that is left, as long as there is one; *kept gets their numbers. */
static int64_t suppress(const suppression *s, int64_t *kept) {
    bool *out = tc_xcalloc((size_t)s->n + 1, sizeof *out);
    int64_t k = 0;
    while (k < s->most) {
        int64_t best = -1;
        for (int64_t i = 0; i < s->n; i++)
            if (!out[i] && counts(s, i) && (best < 0 || is_better(s->scores[i], s->scores[best])))
                best = i;
        if (best < 0)
            break;
        out[best] = true;
        kept[k++] = best;
        for (int64_t i = 0; i < s->n; i++)
            out[i] |= overlap(s->boxes + 4 * i, s->boxes + 4 * best, s->center) > (double)s->iou;
    }
    free(out);
    return k;
}

static tc_status nms(tc_graph_eval_ctx *c) {
    const int64_t *d = c->in[1]->shape.d;
    int64_t *to = c->out[0].data, rows = 0, *kept = tc_xcalloc((size_t)d[2] + 1, sizeof *kept);
    const int64_t *used = c->in[5]->data; /* batches, classes, boxes */
    suppression s = {.n = TC_MIN(d[2], used[2]),
                     .most = TC_MIN(tc_graph_attr_most(c->n), *(const int64_t *)c->in[2]->data),
                     .iou = *(const float *)c->in[3]->data,
                     .threshold = *(const float *)c->in[4]->data,
                     .center = tc_graph_attr_center_point_box(c->n) != 0};
    for (int64_t g = 0; g < d[0] * d[1]; g++) {
        s.boxes = (const float *)c->in[0]->data + g / d[1] * d[2] * 4;
        s.scores = (const float *)c->in[1]->data + g * d[2];
        int64_t n = g / d[1] < used[0] && g % d[1] < used[1] ? suppress(&s, kept) : 0;
        for (int64_t k = 0; k < n; k++, rows++) {
            to[3 * rows] = g / d[1];
            to[3 * rows + 1] = g % d[1];
            to[3 * rows + 2] = kept[k];
        }
    }
    *(int64_t *)c->out[1].data = rows;
    free(kept);
    return TC_OK;
}

/* ---- determinants ---- */

/* By a column: sum over i of (-1)^i * m[i][column] * det(m without both); `rows` are those left. */
static double expanded(const double *m, int64_t n, int64_t column, uint32_t rows) {
    double sum = 0;
    int sign = 1;
    if (column == n)
        return 1;
    for (int64_t i = 0; i < n; i++) {
        if (!(rows >> i & 1))
            continue;
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

static tc_status det(tc_graph_eval_ctx *c) {
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

/* ---- regions ---- */

/* Every pixel is asked whether it lies in the bin. */
static tc_status max_roi_pool(tc_graph_eval_ctx *c) {
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

/* NaN if one of them is. */
static double larger(double a, double b) {
    return isnan(a) || isnan(b) ? (double)NAN : fmax(a, b);
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
        *corner = larger(*corner, (1 - dy) * (1 - dx) * image[p]);
    }
    if (near < 4) /* corners of no weight */
        *corner = larger(*corner, 0);
    return sum;
}

static tc_status roi_align(tc_graph_eval_ctx *c) {
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
                most = larger(most, corner);
            }
        double result = !there || n[0] * n[1] == 0 ? 0 : max ? most : sum / (n[0] * n[1]);
        tc_store_f(c->out[0].dtype, c->out[0].data, i, result);
    }
    free(v);
    free(roi);
    return TC_OK;
}

/* ---- those that an expression computes, too ---- */

static tc_status by_expression(const tc_graph_eval_ctx *c, tc_graph_op op) {
    tc_graph_node n = *c->n;
    tc_graph_eval_ctx own = *c;
    n.op = op;
    own.n = &n;
    return tc_graph_eval_lowered(&own);
}

static tc_status scatter(tc_graph_eval_ctx *c) {
    return by_expression(c, tc_graph_attr_tuples(c->n) ? TC_GRAPH_OP_SCATTER_ND : TC_GRAPH_OP_SCATTER_ELEMENTS);
}

static tc_status cum_sum(tc_graph_eval_ctx *c) {
    return by_expression(c, TC_GRAPH_OP_CUM_SUM);
}

/* ---- evaluation ---- */

static tc_graph_eval_fn *twin_of(tc_graph_op op) {
    static const struct {
        tc_graph_op op;
        tc_graph_eval_fn *eval;
    } twins[] = {
        {TC_GRAPH_OP_TOP_K_LIST, top_k}, {TC_GRAPH_OP_NON_ZERO_LIST, non_zero},         {TC_GRAPH_OP_UNIQUE_LIST, unique},
        {TC_GRAPH_OP_NMS_LIST, nms},     {TC_GRAPH_OP_CUM_SUM_LIST, cum_sum},           {TC_GRAPH_OP_SCATTER_LIST, scatter},
        {TC_GRAPH_OP_DET_LIST, det},     {TC_GRAPH_OP_MAX_ROI_POOL_LIST, max_roi_pool}, {TC_GRAPH_OP_ROI_ALIGN_LIST, roi_align}};
    for (size_t i = 0; i < TC_LEN(twins); i++)
        if (twins[i].op == op)
            return twins[i].eval;
    return NULL;
}

/* A kernel of the operator table; those that inference makes only of a condition or of a cache have tests of their own. */
static bool wants_twin(tc_graph_op op) {
    return tc_graph_functions_of(op)->eval == tc_graph_eval_by_kernel;
}

/* An operator whose kernel has no twin; NULL: all have one. */
static const char *twins_missing(void) {
    for (int op = 0; op < TC_GRAPH_OP_COUNT; op++)
        if (wants_twin((tc_graph_op)op) && !twin_of((tc_graph_op)op))
            return tc_graph_op_name((tc_graph_op)op);
    return NULL;
}

static void evaluate(const tc_graph_node *n, const tc_graph_tensor *const *in, tc_graph_tensor *out) {
    if (!wants_twin(n->op)) {
        assert_ok(tc_graph_eval_node(n, in, out, err));
        return;
    }
    for (int k = 0; k < n->nout; k++)
        assert_ok(tc_graph_tensor_alloc(&out[k], n->out[k]->dtype, &n->out[k]->shape, err));
    assert_int_equal(twin_of(n->op)(&(tc_graph_eval_ctx){.n = n, .in = in, .out = out}), TC_OK);
}

static void evaluate_all(const tc_graph *g, tc_graph_tensor *all) {
    enum { MOST = 16 };
    for (size_t i = 0; i < g->nodes.len; i++) {
        const tc_graph_node *n = g->nodes.data[i];
        const tc_graph_tensor *in[MOST];
        tc_graph_tensor out[MOST];
        assert_true(n->nin <= MOST && n->nout <= MOST);
        for (int k = 0; k < n->nin; k++)
            in[k] = n->in[k] ? &all[n->in[k]->id] : NULL;
        evaluate(n, in, out);
        for (int k = 0; k < n->nout; k++)
            if (n->out[k])
                all[n->out[k]->id] = out[k];
    }
}

/* Output i, cut to its sizes. */
static tc_graph_tensor result(const tc_graph *g, const tc_graph_tensor *all, size_t i) {
    const tc_graph_output *o = &g->outputs.data[i];
    const tc_graph_tensor *t = &all[o->value->id];
    tc_graph_tensor out;
    tc_graph_shape s = t->shape;
    for (int d = 0; d < s.ndim; d++)
        if (o->extent[d])
            s.d[d] = *(const int64_t *)all[g->outputs.data[o->extent[d]].value->id].data;
    assert_ok(tc_graph_tensor_alloc(&out, t->dtype, &t->shape, err));
    memcpy(out.data, t->data, tc_graph_tensor_bytes(t));
    tc_graph_tensor_trim(&out, &s);
    return out;
}

/* As tc_graph_eval, of a graph without symbols, with twins in place of library kernels. */
static void twins_eval(const tc_graph *g, const tc_graph_tensor *in, tc_graph_tensor *out) {
    tc_graph_tensor *all = tc_xcalloc(g->values.len + 1, sizeof *all);
    for (size_t i = 0; i < g->values.len; i++)
        if (g->values.data[i]->constant)
            all[i] = *g->values.data[i]->constant;
    for (size_t i = 0; i < g->inputs.len; i++)
        all[g->inputs.data[i]->id] = in[i];
    evaluate_all(g, all);
    for (size_t i = 0; i < g->outputs.len - g->nsizes; i++)
        out[i] = result(g, all, i);
    for (size_t i = 0; i < g->nodes.len; i++)
        for (int k = 0; k < g->nodes.data[i]->nout; k++)
            if (g->nodes.data[i]->out[k])
                tc_graph_tensor_free(&all[g->nodes.data[i]->out[k]->id]);
    free(all);
}

/* ---- random cases ---- */

static const tc_dtype types[] = {TC_BOOL, TC_I8,  TC_U8,  TC_I16,  TC_U16, TC_I32, TC_U32,
                                 TC_I64,  TC_U64, TC_F16, TC_BF16, TC_F32, TC_F64};

/* Few different values, and for floats also infinities, NaN and both zeros. */
static void fill(tc_graph_tensor *t, tc_rng *r) {
    static const double odd[] = {INFINITY, -INFINITY, NAN, -0.0, 0.0};
    for (int64_t i = 0; i < tc_graph_tensor_count(t); i++) {
        int64_t v = (int64_t)tc_rng_below(r, 20) - (t->dtype != TC_BOOL && tc_dtype_is_signed(t->dtype) ? 10 : 0);
        if (tc_dtype_is_float(t->dtype))
            tc_store_f(t->dtype, t->data, i, tc_rng_below(r, 10) ? (double)v / 4 : odd[tc_rng_below(r, 5)]);
        else
            tc_store_i(t->dtype, t->data, i, t->dtype == TC_BOOL ? v & 1 : t->dtype == TC_U64 && v > 15 ? -v : v);
    }
}

static void expect_same(const tc_graph_tensor *a, const tc_graph_tensor *b, const char *what) {
    tc_graph_diff d;
    assert_ok(tc_graph_tensor_compare(a, b, 1e-5, 1e-6, &d, err));
    if (d.violations)
        fail_msg("%s: %lld elements differ", what, (long long)d.violations);
}

static void run_both(tc_graph *g, const tc_target *t, const tc_graph_tensor *in, const char *what) {
    tc_graph_tensor want[MAX_OUT], got[MAX_OUT];
    tc_graph_program *p;
    size_t n = g->outputs.len - g->nsizes;
    twins_eval(g, in, want);
    assert_ok(tc_graph_program_new(g, &p, err));
    for (int folded = 0; folded < 2; folded++) {
        assert_ok(folded ? tc_graph_eval(g, in, got, err) : compile_and_run(p, t, in, got, err));
        for (size_t i = 0; i < n; i++) {
            expect_same(&got[i], &want[i], what);
            tc_graph_tensor_free(&got[i]);
        }
    }
    for (size_t i = 0; i < n; i++)
        tc_graph_tensor_free(&want[i]);
    tc_graph_program_free(p);
}

/* One node on x of type t, with all its outputs. */
static void check_node(const tc_target *target, tc_rng *r, tc_dtype t, const char *op, int nout) {
    static const char *const names[] = {"y0", "y1", "y2", "y3"};
    tc_graph *g = tc_graph_new("select");
    tc_graph_shape s = {1 + (int)tc_rng_below(r, 3), {0}};
    for (int d = 0; d < s.ndim; d++)
        s.d[d] = 1 + (int64_t)tc_rng_below(r, 9);
    int axis = (int)tc_rng_below(r, s.ndim);
    bool sorts = strcmp(op, "TopK") == 0;
    s.d[axis] = sorts ? 65 + (int64_t)tc_rng_below(r, 400) : s.d[axis];
    tc_graph_value *in[2] = {tc_graph_add_input(g, "x", t, &s)};
    tc_graph_op code = TC_GRAPH_OP_COUNT;
    assert_true(tc_graph_op_find(op, &code));
    if (sorts) {
        tc_graph_tensor k = I64(DIMS(1), 1 + (int64_t)tc_rng_below(r, s.d[axis]));
        in[1] = tc_graph_add_constant(g, "k", &k);
    }
    tc_graph_node *n = tc_graph_new_node(g, code, "n", in, sorts ? 2 : 1);
    if (sorts || (code == TC_GRAPH_OP_UNIQUE && tc_rng_below(r, 2)))
        tc_graph_set_axis(g, n, axis);
    if (sorts)
        tc_graph_set_largest(g, n, (int64_t)tc_rng_below(r, 2));
    if (code == TC_GRAPH_OP_UNIQUE)
        tc_graph_set_sorted(g, n, (int64_t)tc_rng_below(r, 2));
    assert_ok(tc_graph_append(g, n, names, nout, err));
    for (int k = 0; k < nout; k++)
        tc_graph_add_output(g, names[k], tc_graph_find_value(g, names[k]));
    tc_graph_add_sizes(g);
    tc_graph_tensor x;
    assert_ok(tc_graph_tensor_alloc(&x, t, &s, err));
    fill(&x, r);
    char what[128];
    snprintf(what, sizeof what, "%s %s", op, tc_dtype_name(t));
    run_both(g, target, &x, what);
    tc_graph_tensor_free(&x);
    tc_graph_free(g);
}

static void test_kernels(void **state) {
    (void)state;
    tc_rng r = tc_rng_seed(7);
    tc_target *t;
    assert_ok(tc_target_parse("native", &t, err));
    for (size_t i = 0; i < TC_LEN(types); i++)
        for (int k = 0; k < 3; k++) {
            if (types[i] != TC_BOOL)
                check_node(t, &r, types[i], "TopK", 2);
            check_node(t, &r, types[i], "NonZero", 1);
            check_node(t, &r, types[i], "Unique", 4);
        }
    tc_target_free(t);
}

/* ---- numeric kernels ---- */

static tc_graph_tensor drawn(tc_dtype t, tc_graph_shape s, tc_rng *r, int64_t low, int64_t n) {
    tc_graph_tensor x;
    assert_ok(tc_graph_tensor_alloc(&x, t, &s, err));
    for (int64_t i = 0; i < tc_graph_tensor_count(&x); i++) {
        int64_t v = low + (int64_t)tc_rng_below(r, (uint32_t)n);
        if (tc_dtype_is_float(t))
            tc_store_f(t, x.data, i, (double)v / 2);
        else
            tc_store_i(t, x.data, i, v);
    }
    return x;
}

/* The node's inputs are all the network's. */
static void check_operands(const tc_target *target, const char *op, tc_graph_tensor *in, int nin, const char *how, int64_t axis) {
    static const char *const y = "y";
    tc_graph *g = tc_graph_new("numeric");
    tc_graph_value *v[3];
    tc_graph_op code = TC_GRAPH_OP_COUNT;
    for (int k = 0; k < nin; k++)
        v[k] = tc_graph_add_input(g, k == 0 ? "a" : k == 1 ? "b" : "c", in[k].dtype, &in[k].shape);
    assert_true(tc_graph_op_find(op, &code));
    tc_graph_node *n = tc_graph_new_node(g, code, "n", v, nin);
    if (how)
        tc_graph_set_reduction(g, n, how);
    if (code == TC_GRAPH_OP_SCATTER_ELEMENTS || code == TC_GRAPH_OP_CUM_SUM)
        tc_graph_set_axis(g, n, axis);
    if (code == TC_GRAPH_OP_CUM_SUM) {
        tc_graph_set_exclusive(g, n, axis & 1);
        tc_graph_set_reverse(g, n, axis >> 1);
    }
    if (code == TC_GRAPH_OP_ROI_ALIGN) {
        tc_graph_set_mode(g, n, axis & 1 ? "max" : "avg");
        tc_graph_set_coordinate_transformation_mode(g, n, axis & 2 ? "half_pixel" : "output_half_pixel");
        tc_graph_set_spatial_scale(g, n, 0.5);
        tc_graph_set_output_height(g, n, 3);
        tc_graph_set_output_width(g, n, 2);
    }
    if (code == TC_GRAPH_OP_MAX_ROI_POOL) {
        tc_graph_set_pooled_shape(g, n, (int64_t[]){3, 2}, 2);
        tc_graph_set_spatial_scale(g, n, 0.5);
    }
    assert_ok(tc_graph_append(g, n, &y, 1, err));
    tc_graph_add_output(g, y, tc_graph_find_value(g, y));
    run_both(g, target, in, op);
    for (int k = 0; k < nin; k++)
        tc_graph_tensor_free(&in[k]);
    tc_graph_free(g);
}

static void test_twins(void **state) {
    (void)state;
    if (twins_missing())
        fail_msg("%s has no twin: write one in tests/graph/library/test_kernels.c", twins_missing());
}

static void test_numeric(void **state) {
    (void)state;
    static const char *const hows[] = {"none", "add", "mul", "max", "min"};
    static const double odd[] = {NAN, INFINITY, -INFINITY};
    tc_rng r = tc_rng_seed(11);
    tc_target *t;
    assert_ok(tc_target_parse("native", &t, err));
    for (size_t i = 0; i < TC_LEN(types); i++) {
        const char *how = hows[types[i] == TC_BOOL ? 0 : i % 5];
        tc_graph_tensor elements[] = {drawn(types[i], (tc_graph_shape)DIMS(3, 40, 4), &r, 0, 2),
                                      drawn(TC_I64, (tc_graph_shape)DIMS(2, 30, 4), &r, -40, 80),
                                      drawn(types[i], (tc_graph_shape)DIMS(2, 30, 4), &r, 0, 2)};
        check_operands(t, "ScatterElements", elements, 3, how, 1);
        tc_graph_tensor tuples[] = {drawn(types[i], (tc_graph_shape)DIMS(5, 6, 4), &r, 0, 2),
                                    drawn(TC_I32, (tc_graph_shape)DIMS(10, 2, 2), &r, -5, 10),
                                    drawn(types[i], (tc_graph_shape)DIMS(10, 2, 4), &r, 0, 2)};
        check_operands(t, "ScatterND", tuples, 3, how, 0);
        for (int axis = 0; axis < 4 && types[i] != TC_BOOL; axis++) {
            tc_graph_shape s = {4, {3, 2, 4, 2}};
            s.d[axis] = 70;
            tc_graph_tensor rows = drawn(types[i], s, &r, 0, 3);
            check_operands(t, "CumSum", &rows, 1, NULL, axis);
        }
    }
    for (int64_t n = 1; n < 12; n += 2) {
        tc_graph_tensor x = drawn(n % 4 == 1 ? TC_F32 : TC_F64, (tc_graph_shape)DIMS(2, 3, n, n), &r, -4, 9);
        check_operands(t, "Det", &x, 1, NULL, 0);
    }
    for (int k = 0; k < 3; k++) {
        tc_dtype type = k == 2 ? TC_F16 : k ? TC_F64 : TC_F32;
        tc_graph_tensor pool[] = {drawn(type, (tc_graph_shape)DIMS(3, 2, 9, 8), &r, -9, 20),
                                  drawn(type, (tc_graph_shape)DIMS(12, 5), &r, -3, 40)};
        for (int64_t i = 0; i < 12; i++)
            tc_store_f(type, pool[1].data, 5 * i, (double)tc_rng_below(&r, 3));
        for (int64_t i = 0; i < 3 * 2 * 9 * 8; i += 7)
            tc_store_f(type, pool[0].data, i, odd[i % 3]);
        check_operands(t, "MaxRoiPool", pool, 2, NULL, 0);
        for (int mode = 0; mode < 4; mode++) {
            tc_graph_tensor align[] = {drawn(type, (tc_graph_shape)DIMS(3, 2, 9, 8), &r, -9, 20),
                                       drawn(type, (tc_graph_shape)DIMS(12, 4), &r, -3, 40),
                                       drawn(TC_I64, (tc_graph_shape)DIMS(12), &r, 0, 3)};
            check_operands(t, "RoiAlign", align, 3, NULL, mode);
        }
    }
    tc_target_free(t);
}

/* A NaN among the samples of a region is their maximum, in whatever order they are read. */
static void test_nan_in_a_region(void **state) {
    (void)state;
    enum { SIDE = 4 };
    const float roi[] = {0, 0, SIDE, SIDE};
    const int64_t batch = 0;
    tc_target *t;
    assert_ok(tc_target_parse("native", &t, err));
    for (int at = 0; at < SIDE * SIDE; at++) {
        float image[SIDE * SIDE];
        tc_graph_tensor y;
        tc_graph *g;
        for (int i = 0; i < SIDE * SIDE; i++)
            image[i] = i == at ? NAN : (float)(i % 5);
        tc_graph_writer *w = tc_graph_writer_new("roi", 16);
        tc_graph_writer_input(w, "x", TC_F32, "1,1,4,4");
        tc_graph_writer_weight(w, "rois", f32_tensor((tc_graph_shape)DIMS(1, 4), roi));
        tc_graph_writer_weight(w, "batch", i64_tensor((tc_graph_shape)DIMS(1), &batch));
        tc_graph_writer_node(w, "RoiAlign", "roi", "x,rois,batch", "y");
        tc_graph_writer_str(w, "mode", "max");
        tc_graph_writer_output(w, "y", TC_F32, NULL);
        assert_ok(import_model(w, PATH, NULL, &g, err));
        tc_graph_tensor in = f32_tensor((tc_graph_shape)DIMS(1, 1, SIDE, SIDE), image);
        assert_ok(tc_graph_eval(g, &in, &y, err));
        assert_true(isnan(((const float *)y.data)[0]));
        tc_graph_tensor_free(&y);
        run_both(g, t, &in, "RoiAlign");
        tc_graph_free(g);
    }
    tc_target_free(t);
    remove(PATH);
}

/* With a NaN the determinant is NaN, also of a column of zeros. */
static void test_nan_in_a_matrix(void **state) {
    (void)state;
    const float matrices[] = {0, NAN, 0, 1, 0, 1, NAN, 2, 0, 0, 0, 1};
    const tc_graph_tensor in = f32_tensor((tc_graph_shape)DIMS(3, 2, 2), matrices);
    tc_graph_writer *w = tc_graph_writer_new("det", 17);
    tc_target *t;
    tc_graph_tensor y;
    tc_graph *g;
    tc_graph_writer_input(w, "x", TC_F32, "3,2,2");
    tc_graph_writer_node(w, "Det", "det", "x", "y");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    assert_ok(import_model(w, PATH, NULL, &g, err));
    assert_ok(tc_graph_eval(g, &in, &y, err));
    for (int i = 0; i < 3; i++)
        assert_int_equal(isnan(((const float *)y.data)[i]) != 0, i < 2);
    tc_graph_tensor_free(&y);
    assert_ok(tc_target_parse("native", &t, err));
    run_both(g, t, &in, "Det");
    tc_graph_free(g);
    tc_target_free(t);
    remove(PATH);
}

/* Without a threshold every score counts, also -inf. */
static void test_no_threshold(void **state) {
    (void)state;
    const float boxes[] = {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5}, scores[] = {-INFINITY, 1, -INFINITY};
    tc_graph_tensor in[] = {f32_tensor((tc_graph_shape)DIMS(1, 3, 4), boxes), f32_tensor((tc_graph_shape)DIMS(1, 1, 3), scores)};
    tc_target *t;
    assert_ok(tc_target_parse("native", &t, err));
    for (int given = 0; given < 2; given++) {
        tc_graph_writer *w = tc_graph_writer_new("nms", 17);
        const int64_t most = 9;
        tc_graph_tensor y;
        tc_graph *g;
        tc_graph_writer_input(w, "b", TC_F32, "1,3,4");
        tc_graph_writer_input(w, "s", TC_F32, "1,1,3");
        tc_graph_writer_weight(w, "m", i64_tensor((tc_graph_shape)DIMS(1), &most));
        tc_graph_writer_weight(w, "low", F32(SCALAR, -1e30F));
        tc_graph_writer_node(w, "NonMaxSuppression", "nms", given ? "b,s,m,,low" : "b,s,m", "y");
        tc_graph_writer_output(w, "y", TC_I64, NULL);
        assert_ok(import_model(w, PATH, NULL, &g, err));
        assert_ok(tc_graph_eval(g, in, &y, err));
        assert_int_equal(y.shape.d[0], given ? 1 : 3);
        tc_graph_tensor_free(&y);
        run_both(g, t, in, "NonMaxSuppression");
        tc_graph_free(g);
    }
    tc_target_free(t);
    remove(PATH);
}

/* ---- suppression: boxes on a grid, so that overlaps are far from thresholds ---- */

static void test_suppression(void **state) {
    (void)state;
    enum { BOXES = 40, CLASSES = 3, BATCHES = 2 };
    static float boxes[BATCHES * BOXES * 4], scores[BATCHES * CLASSES * BOXES];
    tc_target *t;
    assert_ok(tc_target_parse("native", &t, err));
    for (uint64_t seed = 1; seed <= 6; seed++) {
        tc_rng r = tc_rng_seed(seed);
        for (size_t i = 0; i < TC_LEN(boxes); i++)
            boxes[i] = (float)tc_rng_below(&r, 12) + (i % 4 >= 2 ? 3.F : 0.F);
        for (size_t i = 0; i < TC_LEN(scores); i++)
            scores[i] = (float)tc_rng_below(&r, 30) / 30;
        tc_graph_writer *w = tc_graph_writer_new("nms", 17);
        tc_graph_writer_input(w, "b", TC_F32, "2,40,4");
        tc_graph_writer_input(w, "s", TC_F32, "2,3,40");
        tc_graph_writer_input(w, "m", TC_I64, "1");
        tc_graph_writer_weight(w, "iou", F32(SCALAR, 0.33F));
        tc_graph_writer_weight(w, "low", F32(SCALAR, 0.25F));
        tc_graph_writer_node(w, "NonMaxSuppression", "nms", seed % 3 ? "b,s,m,iou,low" : "b,s,m,iou", "y");
        tc_graph_writer_int(w, "center_point_box", (int64_t)(seed & 1));
        tc_graph_writer_output(w, "y", TC_I64, NULL);
        tc_graph *g;
        assert_ok(import_model(w, PATH, NULL, &g, err));
        int64_t most = (int64_t)seed * 3 - 3;
        tc_graph_tensor in[] = {f32_tensor((tc_graph_shape)DIMS(2, 40, 4), boxes),
                                f32_tensor((tc_graph_shape)DIMS(2, 3, 40), scores), i64_tensor((tc_graph_shape)DIMS(1), &most)};
        run_both(g, t, in, "NonMaxSuppression");
        tc_graph_free(g);
    }
    tc_target_free(t);
    remove(PATH);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_twins),          cmocka_unit_test(test_kernels),
                                       cmocka_unit_test(test_numeric),        cmocka_unit_test(test_suppression),
                                       cmocka_unit_test(test_no_threshold),   cmocka_unit_test(test_nan_in_a_region),
                                       cmocka_unit_test(test_nan_in_a_matrix)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
