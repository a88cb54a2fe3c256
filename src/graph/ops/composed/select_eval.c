/* Reference evaluation of library kernels: selection one by one, with the order of elements written out. */
#include <math.h>
#include <string.h>

#include "graph/ops/functions.h"

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

tc_status tc_graph_eval_top_k_list(tc_graph_eval_ctx *c) {
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

tc_status tc_graph_eval_non_zero_list(tc_graph_eval_ctx *c) {
    const tc_graph_tensor *x = c->in[0];
    tc_graph_walk w = {.shape = x->shape};
    int64_t n = tc_graph_tensor_count(x), found = 0, *to = c->out[0].data;
    for (int64_t i = 0; i < n; i++, tc_graph_walk_next(&w)) {
        bool zero = tc_dtype_is_float(x->dtype) ? tc_load_f(x->dtype, x->data, i) == 0 : tc_load_i(x->dtype, x->data, i) == 0;
        for (int d = 0; d < x->shape.ndim && !zero; d++)
            to[d * n + found] = w.index[d];
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

tc_status tc_graph_eval_unique_list(tc_graph_eval_ctx *c) {
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

tc_status tc_graph_eval_nms_list(tc_graph_eval_ctx *c) {
    const int64_t *d = c->in[1]->shape.d;
    int64_t *to = c->out[0].data, rows = 0, *kept = tc_xcalloc((size_t)d[2] + 1, sizeof *kept);
    suppression s = {.n = TC_MIN(d[2], *(const int64_t *)c->in[5]->data),
                     .most = TC_MIN(tc_graph_attr_most(c->n), *(const int64_t *)c->in[2]->data),
                     .iou = *(const float *)c->in[3]->data,
                     .threshold = *(const float *)c->in[4]->data,
                     .center = tc_graph_attr_center_point_box(c->n) != 0};
    for (int64_t g = 0; g < d[0] * d[1]; g++) {
        s.boxes = (const float *)c->in[0]->data + g / d[1] * d[2] * 4;
        s.scores = (const float *)c->in[1]->data + g * d[2];
        int64_t n = suppress(&s, kept);
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
