/* Inference of operators that sample an image at computed places: GridSample, RoiAlign, DeformConv, and AffineGrid, which makes
 * such places. The image is seen as rows of pixels; a place becomes the number of a pixel, GatherElements reads it, and a weight
 * of 0 stands for what is outside. Everything is elementwise around the gathers, so that it fuses into one kernel. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "graph/ops/functions.h"

enum { MAX_AXES = 3 };

/* Images [B, C, extent..], and places [B, n] on them: one coordinate per axis. */
typedef struct sampler {
    tc_graph_emitter e;
    tc_graph_value *pixels; /* [B, C, pixels] */
    int naxes;
    int64_t extent[MAX_AXES], n;
    char padding; /* z(eros), b(order), r(eflection) */
    bool corners; /* reflection is at the centres of the pixels at the edge, not at their outer sides */
} sampler;

static tc_graph_value *scale_by(sampler *s, tc_graph_value *a, double by) {
    return em_by(&s->e, TC_GRAPH_OP_MUL, a, by);
}

static tc_graph_value *plus(sampler *s, tc_graph_value *a, double b) {
    return em_by(&s->e, TC_GRAPH_OP_ADD, a, b);
}

static tc_graph_value *clamp(sampler *s, tc_graph_value *a, double low, double high) {
    return em_by(&s->e, TC_GRAPH_OP_MIN, em_by(&s->e, TC_GRAPH_OP_MAX, a, low), high);
}

/* x folded back into [low, high] as by mirrors at both ends. */
static tc_graph_value *reflect(sampler *s, tc_graph_value *x, double low, double high) {
    tc_graph_emitter *e = &s->e;
    double range = high - low;
    if (range <= 0)
        return scale_by(s, x, 0);
    tc_graph_value *at = em_unary(e, TC_GRAPH_OP_ABS, plus(s, x, -low));
    tc_graph_value *turns = em_unary(e, TC_GRAPH_OP_FLOOR, em_by(e, TC_GRAPH_OP_DIV, at, range));
    tc_graph_value *rest = em_sub(e, at, scale_by(s, turns, range));
    tc_graph_value *half = scale_by(s, turns, 0.5);
    tc_graph_value *even = em_equal(e, half, em_unary(e, TC_GRAPH_OP_FLOOR, half));
    tc_graph_value *back = em_sub(e, tc_graph_em_scalar(e, x->dtype, high), rest);
    return tc_graph_em_where(e, even, plus(s, rest, low), back);
}

/* A coordinate (whole or not) brought into the image by the padding's rule. */
static tc_graph_value *bring_in(sampler *s, tc_graph_value *x, int axis) {
    double last = (double)s->extent[axis] - 1;
    if (s->padding == 'r')
        x = s->corners ? reflect(s, x, 0, last) : reflect(s, x, -0.5, last + 0.5);
    return s->padding == 'z' ? x : clamp(s, x, 0, last);
}

/* The pixels at whole coordinates [B, n] each: [B, C, n]. `outside` ones are 0 where the padding is zeros. */
static tc_graph_value *pixels_at(sampler *s, tc_graph_value *const *at) {
    tc_graph_emitter *e = &s->e;
    tc_graph_value *number = NULL, *outside = NULL;
    for (int d = 0; d < s->naxes; d++) {
        double last = (double)s->extent[d] - 1;
        tc_graph_value *x = bring_in(s, at[d], d), *zero = tc_graph_em_scalar(e, x->dtype, 0);
        if (s->padding == 'z') {
            tc_graph_value *off = em_or(e, em_less(e, x, zero), em_greater(e, x, tc_graph_em_scalar(e, x->dtype, last)));
            outside = outside ? em_or(e, outside, off) : off;
            x = clamp(s, x, 0, last);
        }
        x = tc_graph_em_cast(e, x, TC_I64);
        number = number ? em_add(e, scale_by(s, number, (double)s->extent[d]), x) : x;
    }
    const tc_graph_shape *p = &s->pixels->shape;
    tc_graph_shape one = {3, {p->d[0], 1, s->n}}, all = {3, {p->d[0], p->d[1], s->n}};
    number = tc_graph_em_expand(e, tc_graph_em_reshape(e, number, &one), &all);
    tc_graph_value *v = tc_graph_em_gather(e, TC_GRAPH_OP_GATHER_ELEMENTS, s->pixels, number, 2);
    if (!outside)
        return v;
    return tc_graph_em_where(e, tc_graph_em_reshape(e, outside, &one), tc_graph_em_scalar(e, v->dtype, 0), v);
}

/* What the taps of one axis are: whole coordinates and weights, [B, n] each. */
typedef struct axis_taps {
    int n;
    tc_graph_value *at[4], *weight[4];
} axis_taps;

static axis_taps linear_taps(sampler *s, tc_graph_value *x) {
    tc_graph_value *base = em_unary(&s->e, TC_GRAPH_OP_FLOOR, x), *t = em_sub(&s->e, x, base);
    tc_graph_value *rest = em_sub(&s->e, tc_graph_em_scalar(&s->e, x->dtype, 1), t);
    return (axis_taps){2, {base, plus(s, base, 1)}, {rest, t}};
}

/* Weights of Keys' cubic at distance |x| in [0, 1) and [1, 2), a = -0.75, by Horner's rule. */
static tc_graph_value *near_weight(sampler *s, tc_graph_value *x) {
    tc_graph_value *p = plus(s, scale_by(s, x, 1.25), -2.25);
    return plus(s, em_mul(&s->e, em_mul(&s->e, p, x), x), 1);
}

static tc_graph_value *far_weight(sampler *s, tc_graph_value *x) {
    tc_graph_value *p = plus(s, scale_by(s, x, -0.75), 3.75);
    return plus(s, em_mul(&s->e, plus(s, em_mul(&s->e, p, x), -6), x), 3);
}

static axis_taps cubic_taps(sampler *s, tc_graph_value *x) {
    tc_graph_value *base = em_unary(&s->e, TC_GRAPH_OP_FLOOR, x), *t = em_sub(&s->e, x, base);
    tc_graph_value *rest = em_sub(&s->e, tc_graph_em_scalar(&s->e, x->dtype, 1), t);
    return (axis_taps){4,
                       {plus(s, base, -1), base, plus(s, base, 1), plus(s, base, 2)},
                       {far_weight(s, plus(s, t, 1)), near_weight(s, t), near_weight(s, rest), far_weight(s, plus(s, rest, 1))}};
}

/* The sum over all combinations of the axes' taps: [B, C, n]. */
static tc_graph_value *weighted_sum(sampler *s, const axis_taps *taps) {
    tc_graph_emitter *e = &s->e;
    tc_graph_value *sum = NULL;
    int total = 1;
    for (int d = 0; d < s->naxes; d++)
        total *= taps[d].n;
    for (int i = 0; i < total; i++) {
        tc_graph_value *at[MAX_AXES], *weight = NULL;
        for (int d = s->naxes - 1, left = i; d >= 0; left /= taps[d].n, d--) {
            int k = left % taps[d].n;
            at[d] = taps[d].at[k];
            weight = weight ? em_mul(e, weight, taps[d].weight[k]) : taps[d].weight[k];
        }
        weight = tc_graph_em_reshape(e, weight, &(tc_graph_shape){3, {weight->shape.d[0], 1, s->n}});
        tc_graph_value *term = em_mul(e, pixels_at(s, at), weight);
        sum = sum ? em_add(e, sum, term) : term;
    }
    return sum;
}

static tc_graph_value *pixels_of(tc_graph_emitter *e, tc_graph_value *x) {
    tc_graph_shape s = {3, {x->shape.d[0], x->shape.d[1], 1}};
    for (int d = 2; d < x->shape.ndim; d++)
        s.d[2] *= x->shape.d[d];
    return tc_graph_em_reshape(e, x, &s);
}

/* Component k of the last dimension, as [B, n]. */
static tc_graph_value *component(sampler *s, tc_graph_value *v, int k) {
    int last = v->shape.ndim - 1;
    tc_graph_value *part = tc_graph_em_slice(&s->e, v, last, k, k + 1, 1);
    return tc_graph_em_reshape(&s->e, part, &(tc_graph_shape){2, {v->shape.d[0], s->n}});
}

/* There is something to be sampled. */
static tc_status want_pixels(tc_graph_infer_ctx *c, const sampler *s) {
    for (int d = 0; d < s->naxes; d++)
        if (s->extent[d] < 1)
            return tc_graph_node_fail(c, "the input '%s' has no pixels", c->n->in[0]->name);
    return TC_OK;
}

/* ---- GridSample ---- */

static tc_status read_grid(tc_graph_infer_ctx *c, sampler *s, char *mode) {
    const tc_graph_value *x = c->n->in[0], *grid = c->n->in[1];
    const char *how = tc_graph_attr_mode_or(c->n, "linear"), *pad = tc_graph_attr_padding_mode(c->n);
    bool linear = strcmp(how, "linear") == 0 || strcmp(how, "bilinear") == 0;
    bool cubic = strcmp(how, "cubic") == 0 || strcmp(how, "bicubic") == 0;
    if (!linear && !cubic && strcmp(how, "nearest") != 0)
        return tc_graph_node_refuse(c, TC_ERROR_UNSUPPORTED, "attribute mode is '%s'; linear, nearest and cubic are supported",
                                    how);
    if (strcmp(pad, "zeros") != 0 && strcmp(pad, "border") != 0 && strcmp(pad, "reflection") != 0)
        return tc_graph_node_refuse(c, TC_ERROR_UNSUPPORTED,
                                    "attribute padding_mode is '%s'; zeros, border and reflection are supported", pad);
    s->naxes = x->shape.ndim - 2;
    bool fits = s->naxes >= 1 && s->naxes <= MAX_AXES && grid->shape.ndim == x->shape.ndim && grid->shape.d[0] == x->shape.d[0] &&
                grid->shape.d[grid->shape.ndim - 1] == s->naxes;
    if (!fits || (cubic && s->naxes > 2))
        return tc_graph_node_fail(c, "the grid %s does not fit the input %s",
                                  tc_graph_type_str(c->g->arena, grid->dtype, &grid->shape),
                                  tc_graph_type_str(c->g->arena, x->dtype, &x->shape));
    TC_TRY(tc_graph_want_float(c, 1));
    *mode = linear ? 'l' : cubic ? 'c' : 'n';
    s->padding = pad[0];
    s->corners = tc_graph_attr_align_corners(c->n);
    s->n = 1;
    for (int d = 0; d < s->naxes; d++) {
        s->extent[d] = x->shape.d[d + 2];
        s->n *= grid->shape.d[d + 1];
    }
    return want_pixels(c, s);
}

/* The grid's coordinate in [-1, 1] of axis d, in pixels. The grid names the last axis first. */
static tc_graph_value *grid_coordinate(sampler *s, tc_graph_value *grid, int d) {
    double n = (double)s->extent[d];
    tc_graph_value *x = plus(s, component(s, grid, s->naxes - 1 - d), 1);
    return s->corners ? scale_by(s, x, (n - 1) / 2) : plus(s, scale_by(s, x, n / 2), -0.5);
}

tc_status tc_graph_infer_grid_sample(tc_graph_infer_ctx *c) {
    tc_graph_value *x = c->n->in[0];
    sampler s = {.e = {c, TC_OK}};
    char mode = 'l';
    TC_TRY(read_grid(c, &s, &mode));
    tc_dtype t = x->dtype == TC_F64 ? TC_F64 : TC_F32;
    tc_graph_value *grid = tc_graph_em_cast(&s.e, c->n->in[1], t), *at[MAX_AXES], *y;
    axis_taps taps[MAX_AXES];
    s.pixels = pixels_of(&s.e, mode == 'n' ? x : tc_graph_em_cast(&s.e, x, t));
    for (int d = 0; d < s.naxes; d++) {
        at[d] = grid_coordinate(&s, grid, d);
        if (mode != 'c') /* a cubic's taps are brought in one by one */
            at[d] = bring_in(&s, at[d], d);
        if (mode == 'n')
            at[d] = em_unary(&s.e, TC_GRAPH_OP_ROUND, at[d]);
        else
            taps[d] = mode == 'c' ? cubic_taps(&s, at[d]) : linear_taps(&s, at[d]);
    }
    y = mode == 'n' ? pixels_at(&s, at) : weighted_sum(&s, taps);
    tc_graph_shape shape = {x->shape.ndim, {x->shape.d[0], x->shape.d[1]}};
    memcpy(shape.d + 2, c->n->in[1]->shape.d + 1, sizeof shape.d[0] * (size_t)s.naxes);
    return tc_graph_em_finish(&s.e, tc_graph_em_cast(&s.e, tc_graph_em_reshape(&s.e, y, &shape), x->dtype));
}

/* ---- AffineGrid ---- */

/* Coordinates of `n` pixels' centres (or of the edges' too) in [-1, 1]. */
static double affine_coordinate(int64_t i, int64_t n, bool corners) {
    if (corners)
        return n > 1 ? -1 + 2 * (double)i / (double)(n - 1) : 0;
    return (2 * (double)i + 1) / (double)n - 1;
}

/* theta[N, k, k + 1] times the constant (x, y, .., 1) of every pixel */
tc_status tc_graph_infer_affine_grid(tc_graph_infer_ctx *c) {
    tc_graph_value *theta = c->n->in[0];
    const int64_t *size;
    size_t len;
    TC_TRY(tc_graph_want_ints(c, 1, "size", &size, &len));
    int k = (int)len - 2;
    bool corners = tc_graph_attr_align_corners(c->n);
    if ((k != 2 && k != 3) || theta->shape.ndim != 3 || theta->shape.d[0] != size[0] || theta->shape.d[1] != k ||
        theta->shape.d[2] != k + 1)
        return tc_graph_node_fail(c, "size must be [N, C, (D,) H, W] and theta [N, k, k + 1], k the number of axes");
    tc_graph_shape s = {.ndim = k + 2, .d = {size[0]}}, table = {2, {k + 1, 1}};
    for (int d = 0; d < k; d++) {
        if (size[d + 2] < 1 || size[d + 2] > 1 << 20)
            return tc_graph_node_fail(c, "size[%d] is %" PRId64 "; it must be 1 to %d", d + 2, size[d + 2], 1 << 20);
        s.d[d + 1] = size[d + 2];
        table.d[1] *= size[d + 2];
    }
    s.d[k + 1] = k;
    TC_TRY(tc_graph_shape_check(&s, c->err));
    TC_TRY(tc_graph_want_table(c, (double)table.d[0] * (double)table.d[1]));
    tc_graph_emitter e = {c, TC_OK};
    double *v = TC_NEW_N(c->g->arena, double, table.d[0] * table.d[1]);
    for (int64_t p = 0; p < table.d[1]; p++) {
        int64_t left = p;
        for (int d = k - 1; d >= 0; left /= size[d + 2], d--)
            v[(k - 1 - d) * table.d[1] + p] = affine_coordinate(left % size[d + 2], size[d + 2], corners);
        v[k * table.d[1] + p] = 1;
    }
    tc_graph_value *y = em_unary(&e, TC_GRAPH_OP_IDENTITY, theta);
    y = tc_graph_em_op(&e, TC_GRAPH_OP_MATMUL, y, tc_graph_em_floats(&e, theta->dtype, &table, v)); /* [N, k, pixels] */
    y = tc_graph_em_transpose(&e, y, (const int64_t[]){0, 2, 1});
    return tc_graph_em_finish(&e, tc_graph_em_reshape(&e, y, &s));
}

/* ---- RoiAlign ---- */

typedef struct roi_align {
    sampler s;
    int64_t rois, out[2], samples; /* samples: per bin and axis */
    bool max, half_pixel;
    double scale;
} roi_align;

static tc_status read_roi_align(tc_graph_infer_ctx *c, roi_align *r) {
    const tc_graph_value *x = c->n->in[0], *rois = c->n->in[1], *batch = c->n->in[2];
    const char *mode = tc_graph_attr_mode_or(c->n, "avg");
    const char *coords =
        tc_graph_attr_coordinate_transformation_mode_or(c->n, c->opset < 16 ? "output_half_pixel" : "half_pixel");
    r->max = strcmp(mode, "max") == 0;
    r->half_pixel = strcmp(coords, "half_pixel") == 0;
    r->out[0] = tc_graph_attr_output_height(c->n);
    r->out[1] = tc_graph_attr_output_width(c->n);
    r->samples = tc_graph_attr_sampling_ratio(c->n);
    r->scale = tc_graph_attr_spatial_scale(c->n);
    if ((!r->max && strcmp(mode, "avg") != 0) || (!r->half_pixel && strcmp(coords, "output_half_pixel") != 0))
        return tc_graph_node_refuse(c, TC_ERROR_UNSUPPORTED,
                                    "attribute mode is '%s' and coordinate_transformation_mode '%s'; avg and max, half_pixel and "
                                    "output_half_pixel are supported",
                                    mode, coords);
    if (r->out[0] < 1 || r->out[1] < 1 || r->out[0] > 1 << 12 || r->out[1] > 1 << 12 || r->samples < 0 || r->samples > 64)
        return tc_graph_node_fail(c, "attribute output_height, output_width or sampling_ratio is out of range");
    if (x->shape.ndim != 4 || rois->shape.ndim != 2 || rois->shape.d[1] != 4 || batch->shape.ndim != 1 ||
        batch->shape.d[0] != rois->shape.d[0])
        return tc_graph_node_fail(c, "it expects an input [N, C, H, W], rois [R, 4] and batch_indices [R]");
    r->rois = rois->shape.d[0];
    r->s.extent[0] = x->shape.d[2];
    r->s.extent[1] = x->shape.d[3];
    r->s.naxes = 2;
    TC_TRY(want_pixels(c, &r->s));
    return tc_graph_want_float(c, 0);
}

/* Places of all samples along one axis, [R, out * samples]: start + (bin + (i + 0.5) / samples) * bin size. */
static tc_graph_value *roi_places(roi_align *r, tc_graph_value *rois, int d) {
    tc_graph_emitter *e = &r->s.e;
    int64_t n = r->out[d] * r->samples;
    double *v = TC_NEW_N(e->c->g->arena, double, n);
    for (int64_t i = 0; i < n; i++)
        v[i] = ((double)i + 0.5) / (double)r->samples / (double)r->out[d];
    tc_graph_value *part = tc_graph_em_floats(e, rois->dtype, &(tc_graph_shape){2, {1, n}}, v);
    double shift = r->half_pixel ? -0.5 : 0;
    int k = d == 0 ? 1 : 0; /* x1, y1, x2, y2 */
    tc_graph_value *start = plus(&r->s, scale_by(&r->s, tc_graph_em_slice(e, rois, 1, k, k + 1, 1), r->scale), shift);
    tc_graph_value *end = plus(&r->s, scale_by(&r->s, tc_graph_em_slice(e, rois, 1, k + 2, k + 3, 1), r->scale), shift);
    tc_graph_value *size = em_sub(e, end, start);
    if (!r->half_pixel)
        size = em_by(e, TC_GRAPH_OP_MAX, size, 1);
    return em_add(e, start, em_mul(e, size, part));
}

/* Taps of one axis: coordinates and weights, [R, n] each. Beyond one pixel outside everything is 0; nearer, the edge counts. */
static axis_taps roi_taps(roi_align *r, tc_graph_value *x, int d) {
    sampler *s = &r->s;
    tc_graph_emitter *e = &s->e;
    double extent = (double)s->extent[d];
    tc_graph_value *zero = tc_graph_em_scalar(e, x->dtype, 0), *low = tc_graph_em_scalar(e, x->dtype, -1);
    tc_graph_value *off = em_or(e, em_less(e, x, low), em_greater(e, x, tc_graph_em_scalar(e, x->dtype, extent)));
    axis_taps t = linear_taps(s, clamp(s, x, 0, extent - 1));
    for (int k = 0; k < 2; k++) {
        t.at[k] = tc_graph_em_cast(e, clamp(s, t.at[k], 0, extent - 1), TC_I64);
        t.weight[k] = tc_graph_em_where(e, off, zero, t.weight[k]);
    }
    return t;
}

/* v[R, n] as one of the dimensions of [R, oh * samples, ow * samples] */
static tc_graph_value *on_plane(roi_align *r, tc_graph_value *v, int d) {
    tc_graph_shape s = {3, {r->rois, d == 0 ? v->shape.d[1] : 1, d == 1 ? v->shape.d[1] : 1}};
    return tc_graph_em_reshape(&r->s.e, v, &s);
}

/* One of the four corners of every sample, weighted: [R, C, oh * samples, ow * samples]. */
static tc_graph_value *roi_corner(roi_align *r, tc_graph_value *rows, tc_graph_value *batch, const axis_taps *t, int i, int j) {
    tc_graph_emitter *e = &r->s.e;
    tc_graph_value *y = on_plane(r, t[0].at[i], 0), *x = on_plane(r, t[1].at[j], 1);
    tc_graph_value *number = em_add(e, em_add(e, scale_by(&r->s, y, (double)r->s.extent[1]), x), batch);
    tc_graph_value *v = tc_graph_em_gather(e, TC_GRAPH_OP_GATHER, rows, number, 0); /* [R, h, w, C] */
    v = tc_graph_em_transpose(e, v, (const int64_t[]){0, 3, 1, 2});
    tc_graph_value *weight = em_mul(e, on_plane(r, t[0].weight[i], 0), on_plane(r, t[1].weight[j], 1));
    tc_graph_shape s = {4, {r->rois, 1, weight->shape.d[1], weight->shape.d[2]}};
    return em_mul(e, v, tc_graph_em_reshape(e, weight, &s));
}

/* As many samples in a bin as it has pixels: a library kernel, as only the data say how many these are. */
static tc_status adaptive(tc_graph_infer_ctx *c, const roi_align *r) {
    const tc_graph_value *x = c->n->in[0];
    tc_dtype t = x->dtype == TC_F64 ? TC_F64 : TC_F32;
    c->out[0] = (tc_graph_type){.dtype = x->dtype, .shape = {4, {r->rois, x->shape.d[1], r->out[0], r->out[1]}}};
    if (c->n->op == TC_GRAPH_OP_ROI_ALIGN_LIST)
        return TC_OK;
    tc_graph_emitter e = {c, TC_OK};
    tc_graph_value *in[] = {tc_graph_em_cast(&e, c->n->in[0], t), tc_graph_em_cast(&e, c->n->in[1], t),
                            tc_graph_em_cast(&e, c->n->in[2], TC_I64)};
    tc_graph_node *n = tc_graph_em_node(&e, TC_GRAPH_OP_ROI_ALIGN_LIST, in, 3);
    tc_graph_set_output_height(c->g, n, r->out[0]);
    tc_graph_set_output_width(c->g, n, r->out[1]);
    tc_graph_set_spatial_scale(c->g, n, r->scale);
    tc_graph_set_mode(c->g, n, r->max ? "max" : "avg");
    tc_graph_set_coordinate_transformation_mode(c->g, n, r->half_pixel ? "half_pixel" : "output_half_pixel");
    return tc_graph_em_finish(&e, tc_graph_em_cast(&e, tc_graph_em_place(&e, n), x->dtype));
}

tc_status tc_graph_infer_roi_align(tc_graph_infer_ctx *c) {
    static const int64_t sample_axes[] = {3, 5};
    tc_graph_value *x = c->n->in[0], *y = NULL;
    roi_align r = {.s = {.e = {c, TC_OK}}};
    TC_TRY(read_roi_align(c, &r));
    if (r.samples == 0)
        return adaptive(c, &r);
    tc_graph_emitter *e = &r.s.e;
    tc_dtype t = x->dtype == TC_F64 ? TC_F64 : TC_F32;
    int64_t plane = r.s.extent[0] * r.s.extent[1], channels = x->shape.d[1];
    tc_graph_value *rows = tc_graph_em_transpose(e, pixels_of(e, tc_graph_em_cast(e, x, t)), (const int64_t[]){0, 2, 1});
    rows = tc_graph_em_reshape(e, rows, &(tc_graph_shape){2, {x->shape.d[0] * plane, channels}});
    tc_graph_value *rois = tc_graph_em_cast(e, c->n->in[1], t), *batch = tc_graph_em_cast(e, c->n->in[2], TC_I64);
    batch = tc_graph_em_reshape(e, scale_by(&r.s, batch, (double)plane), &(tc_graph_shape){3, {r.rois, 1, 1}});
    axis_taps taps[2];
    for (int d = 0; d < 2; d++)
        taps[d] = roi_taps(&r, roi_places(&r, rois, d), d);
    for (int i = 0; i < 4; i++) {
        tc_graph_value *corner = roi_corner(&r, rows, batch, taps, i / 2, i % 2);
        y = y ? tc_graph_em_op(e, r.max ? TC_GRAPH_OP_MAX : TC_GRAPH_OP_ADD, y, corner) : corner;
    }
    y = tc_graph_em_reshape(e, y, &(tc_graph_shape){6, {r.rois, channels, r.out[0], r.samples, r.out[1], r.samples}});
    y = tc_graph_em_reduce(e, r.max ? TC_GRAPH_OP_REDUCE_MAX : TC_GRAPH_OP_REDUCE_MEAN, y, sample_axes, 2, false);
    return tc_graph_em_finish(e, tc_graph_em_cast(e, y, x->dtype));
}

/* ---- DeformConv ---- */

typedef struct deform {
    sampler s;
    int64_t kernel[2], strides[2], dilations[2], pads[4], out[2];
    int64_t batch, channels, group, offset_groups, taps;
} deform;

static tc_status read_pair(tc_graph_infer_ctx *c, tc_graph_attr_id id, int n, int64_t least, int64_t otherwise, int64_t *out) {
    size_t len;
    const int64_t *v = tc_graph_attr_ints(c->n, id, &len);
    for (int i = 0; i < n; i++) {
        out[i] = v && len == (size_t)n ? v[i] : otherwise;
        if ((v && len != (size_t)n) || out[i] < least || out[i] > 1 << 20)
            return tc_graph_node_fail(c, "attribute %s must be %d integers of at least %" PRId64, tc_graph_attr_name(id), n,
                                      least);
    }
    return TC_OK;
}

static tc_status want_divisor(tc_graph_infer_ctx *c, tc_graph_attr_id id, int64_t parts, int64_t channels) {
    if (parts < 1 || parts > channels || channels % parts)
        return tc_graph_node_fail(c, "attribute %s is %" PRId64 "; it must divide the %" PRId64 " channels",
                                  tc_graph_attr_name(id), parts, channels);
    return TC_OK;
}

static tc_status read_deform(tc_graph_infer_ctx *c, deform *f) {
    const tc_graph_value *x = c->n->in[0], *w = c->n->in[1], *offset = c->n->in[2], *mask = tc_graph_in(c, 4);
    if (x->shape.ndim != 4 || w->shape.ndim != 4 || offset->shape.ndim != 4 || (mask && mask->shape.ndim != 4))
        return tc_graph_node_fail(c, "its input, weights, offsets and mask must have 4 dimensions");
    TC_TRY(tc_graph_want_float(c, 0));
    TC_TRY(read_pair(c, TC_ATTR_strides, 2, 1, 1, f->strides));
    TC_TRY(read_pair(c, TC_ATTR_dilations, 2, 1, 1, f->dilations));
    TC_TRY(read_pair(c, TC_ATTR_pads, 4, 0, 0, f->pads));
    f->batch = x->shape.d[0];
    f->channels = x->shape.d[1];
    f->group = tc_graph_attr_group(c->n);
    f->offset_groups = tc_graph_attr_offset_group(c->n);
    f->taps = w->shape.d[2] * w->shape.d[3];
    TC_TRY(want_divisor(c, TC_ATTR_group, f->group, f->channels));
    TC_TRY(want_divisor(c, TC_ATTR_offset_group, f->offset_groups, f->channels));
    for (int d = 0; d < 2; d++) {
        f->kernel[d] = w->shape.d[d + 2];
        f->s.extent[d] = x->shape.d[d + 2];
        int64_t room = x->shape.d[d + 2] + f->pads[d] + f->pads[d + 2] - (f->kernel[d] - 1) * f->dilations[d] - 1;
        f->out[d] = room < 0 ? 0 : room / f->strides[d] + 1;
    }
    tc_graph_shape places = {4, {f->batch, 2 * f->offset_groups * f->taps, f->out[0], f->out[1]}}, weights = places;
    weights.d[1] /= 2;
    bool fits = w->shape.d[1] == f->channels / f->group && w->shape.d[0] % f->group == 0;
    if (!fits || !tc_graph_shape_equal(&offset->shape, &places) || (mask && !tc_graph_shape_equal(&mask->shape, &weights)))
        return tc_graph_node_fail(c, "the shapes of its weights, offsets and mask do not fit the input %s",
                                  tc_graph_type_str(c->g->arena, x->dtype, &x->shape));
    TC_TRY(want_pixels(c, &f->s));
    return tc_graph_want_table(c, (double)f->taps * (double)f->out[0] * (double)f->out[1]);
}

/* Coordinates of axis d of all samples, [B, n]: where the kernel's tap lies without offsets, plus the offset. */
static tc_graph_value *deform_places(deform *f, tc_graph_value *offset, int d) {
    tc_graph_emitter *e = &f->s.e;
    int64_t plane = f->out[0] * f->out[1], n = f->taps * plane;
    double *v = TC_NEW_N(e->c->g->arena, double, n + 1);
    for (int64_t i = 0; i < n; i++) {
        int64_t tap = i / plane, at = i % plane;
        tap = d == 0 ? tap / f->kernel[1] : tap % f->kernel[1];
        at = d == 0 ? at / f->out[1] : at % f->out[1];
        v[i] = (double)(at * f->strides[d] - f->pads[d] + tap * f->dilations[d]);
    }
    tc_graph_value *regular = tc_graph_em_floats(e, offset->dtype, &(tc_graph_shape){3, {1, f->taps, plane}}, v);
    tc_graph_value *o = tc_graph_em_reshape(e, offset, &(tc_graph_shape){4, {f->s.pixels->shape.d[0], f->taps, 2, plane}});
    o = tc_graph_em_reshape(e, tc_graph_em_slice(e, o, 2, d, d + 1, 1),
                            &(tc_graph_shape){3, {f->s.pixels->shape.d[0], f->taps, plane}});
    return tc_graph_em_reshape(e, em_add(e, o, regular), &(tc_graph_shape){2, {f->s.pixels->shape.d[0], n}});
}

/* The samples are the columns of an image taken apart; the convolution is then a product of matrices. */
tc_status tc_graph_infer_deform_conv(tc_graph_infer_ctx *c) {
    tc_graph_value *x = c->n->in[0], *w = c->n->in[1], *bias = c->n->nin > 3 ? c->n->in[3] : NULL;
    tc_graph_value *mask = c->n->nin > 4 ? c->n->in[4] : NULL;
    deform f = {.s = {.e = {c, TC_OK}, .naxes = 2, .padding = 'z'}};
    TC_TRY(read_deform(c, &f));
    tc_graph_emitter *e = &f.s.e;
    tc_dtype t = x->dtype == TC_F64 ? TC_F64 : TC_F32;
    int64_t plane = f.out[0] * f.out[1], images = f.batch * f.offset_groups, per = f.channels / f.group, m = w->shape.d[0];
    f.s.n = f.taps * plane;
    f.s.pixels = tc_graph_em_reshape(e, tc_graph_em_cast(e, x, t), /* every offset group is an image of its own */
                                     &(tc_graph_shape){3, {images, f.channels / f.offset_groups, f.s.extent[0] * f.s.extent[1]}});
    tc_graph_value *offset = tc_graph_em_cast(e, c->n->in[2], t);
    axis_taps taps[2];
    for (int d = 0; d < 2; d++)
        taps[d] = linear_taps(&f.s, deform_places(&f, offset, d));
    tc_graph_value *columns = weighted_sum(&f.s, taps); /* [images, C / offset groups, taps * plane] */
    if (mask)
        columns =
            em_mul(e, columns, tc_graph_em_reshape(e, tc_graph_em_cast(e, mask, t), &(tc_graph_shape){3, {images, 1, f.s.n}}));
    columns = tc_graph_em_reshape(e, columns, &(tc_graph_shape){4, {f.batch, f.group, per * f.taps, plane}});
    tc_graph_value *k =
        tc_graph_em_reshape(e, tc_graph_em_cast(e, w, t), &(tc_graph_shape){4, {1, f.group, m / f.group, per * f.taps}});
    tc_graph_value *y = tc_graph_em_op(e, TC_GRAPH_OP_MATMUL, k, columns);
    y = tc_graph_em_reshape(e, y, &(tc_graph_shape){4, {f.batch, m, f.out[0], f.out[1]}});
    if (bias)
        y = em_add(e, y, tc_graph_em_along(e, tc_graph_em_cast(e, bias, t), 1, 4));
    return tc_graph_em_finish(e, tc_graph_em_cast(e, y, x->dtype));
}
