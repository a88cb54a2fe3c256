/* Inference of Resize and Upsample. Both are separable: along each axis that changes, every output is a weighted sum of a few
 * inputs whose places and weights are known here. So an axis becomes an index (nearest), a sum of weighted Gathers (linear and
 * cubic), or one Gather, a product and a ReduceSum (antialias, whose filters are as long as the image shrinks).
 *
 * Places are exact fractions, so that ties are ties: a scale is the ratio of two sizes, or the simple fraction that an exporter
 * rounded to f32. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "graph/ops/composed/resize.h"

/* ---- reading ---- */

/* Position of the attribute in a list that ends with NULL. */
static tc_status read_choice(tc_graph_infer_ctx *c, tc_graph_attr_id id, const char *otherwise, const char *const *choices,
                             int *out) {
    const char *text = tc_graph_attr_str(c->n, id, otherwise);
    for (int i = 0; choices[i]; i++)
        if (strcmp(choices[i], text) == 0) {
            *out = i;
            return TC_OK;
        }
    return tc_graph_node_refuse(c, TC_ERROR_UNSUPPORTED, "attribute %s is '%s', which is not supported", tc_graph_attr_name(id),
                                text);
}

tc_status tc_graph_resize_modes(tc_graph_infer_ctx *c, resize *r) {
    static const char *const modes[] = {"nearest", "linear", "cubic", NULL};
    static const char *const coords[] = {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                                         "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize", NULL};
    static const char *const rounds[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", NULL};
    bool old = c->opset < 11 || c->n->op == TC_GRAPH_OP_UPSAMPLE;
    int mode = 0, coord = 0, round = 0;
    TC_TRY(read_choice(c, TC_ATTR_mode, "nearest", modes, &mode));
    TC_TRY(read_choice(c, TC_ATTR_coordinate_transformation_mode, old ? "asymmetric" : "half_pixel", coords, &coord));
    TC_TRY(read_choice(c, TC_ATTR_nearest_mode, "round_prefer_floor", rounds, &round));
    r->mode = (filter)mode;
    r->coords = (transform)coord;
    r->round = old ? SIMPLE : (rounding)round;
    r->antialias = tc_graph_attr_antialias(c->n);
    r->exclude_outside = tc_graph_attr_exclude_outside(c->n);
    r->cubic_a = tc_graph_attr_cubic_coeff_a(c->n);
    r->extrapolation = tc_graph_attr_extrapolation_value(c->n);
    return TC_OK;
}

tc_status tc_graph_resize_axes(tc_graph_infer_ctx *c, int *axes, size_t *n) {
    int ndim = c->n->in[0]->shape.ndim;
    const int64_t *given = tc_graph_attr_axes(c->n, n);
    if (!given)
        *n = (size_t)ndim;
    if (*n > (size_t)ndim)
        return tc_graph_node_fail(c, "attribute axes has %zu entries for %d dimensions", *n, ndim);
    for (size_t i = 0; i < *n; i++)
        TC_TRY(tc_graph_want_axis(c, given ? given[i] : (int64_t)i, ndim, &axes[i]));
    return TC_OK;
}

static void set_scale(resize *r, int d, int64_t up, int64_t down) {
    int64_t a = up, b = down;
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    r->up[d] = up / a;
    r->down[d] = down / a;
}

static double scale_of(const resize *r, int d) {
    return (double)r->up[d] / (double)r->down[d];
}

/* The fraction with the smallest denominator that f32 rounds to s: the first such convergent of its continued fraction. */
static void set_simple_scale(resize *r, int d, float s) {
    enum { MOST_TERMS = 40 };
    int64_t up = 1, down = 0, up_before = 0, down_before = 1;
    double x = (double)s;
    for (int k = 0; k < MOST_TERMS && (down == 0 || (float)((double)up / (double)down) != s); k++) {
        double whole = fmin(floor(x), 1e15), most = fmax((double)up, (double)down);
        if (whole * most > 1e15) /* the scale is as good as 0: no output has a place */
            break;
        int64_t next_up = (int64_t)whole * up + up_before, next_down = (int64_t)whole * down + down_before;
        up_before = up;
        down_before = down;
        up = next_up;
        down = next_down;
        x = x > whole ? 1 / (x - whole) : 1e15;
    }
    set_scale(r, d, TC_MAX(up, 1), TC_MAX(down, 1));
}

/* Exporters divide two sizes, in f32 or in f64, and round to f32: then these sizes are meant. */
static void set_float_scale(resize *r, int d, float s) {
    int64_t in = r->in->d[d], out = (int64_t)fmin(round((double)in * (double)s), 1e15);
    if (in > 0 && out > 0 && ((float)((double)out / (double)in) == s || (float)out / (float)in == s))
        set_scale(r, d, out, in);
    else
        set_simple_scale(r, d, s);
}

static tc_status read_scales(tc_graph_infer_ctx *c, int k, const int *axes, size_t n, resize *r) {
    const double *v;
    size_t len;
    const tc_graph_attr *a = tc_graph_attr_find(c->n, TC_ATTR_scales);
    TC_TRY(tc_graph_want_floats(c, k, "scales", &v, &len));
    r->by_scales = true;
    if ((a ? a->len : len) != n)
        return tc_graph_node_fail(c, "scales has %zu entries; %zu are expected", a ? a->len : len, n);
    for (size_t i = 0; i < n; i++) {
        float s = a ? a->floats[i] : (float)v[i];
        int d = axes[i];
        if (!(s > 0) || !((double)r->in->d[d] * (double)s < 1e15))
            return tc_graph_node_fail(c, "scales[%zu] is %g", i, (double)s);
        if (tc_graph_extent(c->n->in[0], d)) /* one scale for all sizes */
            set_simple_scale(r, d, s);
        else
            set_float_scale(r, d, s);
        r->out.d[d] = (int64_t)floor((double)r->in->d[d] * (double)r->up[d] / (double)r->down[d]);
        r->changes[d] = s != 1;
    }
    return TC_OK;
}

/* keep_aspect_ratio_policy: one scale for all axes, which makes none larger (or smaller) than asked for. */
static tc_status keep_aspect(tc_graph_infer_ctx *c, const char *policy, const int *axes, size_t n, resize *r) {
    bool larger = strcmp(policy, "not_larger") != 0;
    if (larger && strcmp(policy, "not_smaller") != 0)
        return tc_graph_node_refuse(c, TC_ERROR_UNSUPPORTED, "attribute keep_aspect_ratio_policy is '%s', which is not supported",
                                    policy);
    int best = n ? axes[0] : 0;
    for (size_t i = 1; i < n; i++)
        if (larger ? scale_of(r, axes[i]) > scale_of(r, best) : scale_of(r, axes[i]) < scale_of(r, best))
            best = axes[i];
    int64_t up = r->up[best], down = r->down[best];
    for (size_t i = 0; i < n; i++) {
        set_scale(r, axes[i], up, down);
        r->out.d[axes[i]] = (int64_t)floor((double)r->in->d[axes[i]] * (double)up / (double)down + 0.5);
    }
    return TC_OK;
}

static tc_status read_sizes(tc_graph_infer_ctx *c, const int *axes, size_t n, resize *r) {
    const int64_t *v;
    size_t len;
    TC_TRY(tc_graph_want_ints(c, 3, "sizes", &v, &len));
    if (len != n)
        return tc_graph_node_fail(c, "sizes has %zu entries; %zu are expected", len, n);
    for (size_t i = 0; i < n; i++) {
        int64_t from = r->in->d[axes[i]];
        if (v[i] < 0 || v[i] > INT32_MAX || (from == 0 && v[i] > 0))
            return tc_graph_node_fail(c, "sizes[%zu] is %" PRId64 " for a dimension of %" PRId64, i, v[i], from);
        r->out.d[axes[i]] = v[i];
        set_scale(r, axes[i], TC_MAX(v[i], 1), TC_MAX(from, 1));
    }
    const char *policy = tc_graph_attr_keep_aspect_ratio_policy(c->n);
    if (strcmp(policy, "stretch") != 0)
        TC_TRY(keep_aspect(c, policy, axes, n, r));
    for (size_t i = 0; i < n; i++)
        r->changes[axes[i]] =
            r->out.d[axes[i]] != r->in->d[axes[i]] || scale_of(r, axes[i]) != 1 || tc_graph_extent(c->n->in[0], axes[i]);
    return TC_OK;
}

static tc_status read_roi(tc_graph_infer_ctx *c, const int *axes, size_t n, resize *r) {
    const double *v;
    size_t len;
    if (r->coords != TF_CROP_AND_RESIZE)
        return TC_OK;
    TC_TRY(tc_graph_want_floats(c, 1, "roi", &v, &len));
    if (len != 2 * n)
        return tc_graph_node_fail(c, "roi has %zu entries; %zu are expected", len, 2 * n);
    for (size_t i = 0; i < n; i++) {
        r->roi[0][axes[i]] = (float)v[i];
        r->roi[1][axes[i]] = (float)v[i + n];
        r->changes[axes[i]] |= v[i] != 0 || v[i + n] != 1;
    }
    return TC_OK;
}

static bool has_elements(const tc_graph_infer_ctx *c, int k) {
    const tc_graph_value *v = tc_graph_in(c, k);
    return v && tc_graph_shape_count(&v->shape) > 0;
}

static tc_status read_resize(tc_graph_infer_ctx *c, resize *r) {
    int axes[TC_GRAPH_MAX_DIMS];
    size_t n;
    bool old = c->opset < 11 || c->n->op == TC_GRAPH_OP_UPSAMPLE;
    *r = (resize){.in = &c->n->in[0]->shape, .out = c->n->in[0]->shape};
    for (int d = 0; d < TC_GRAPH_MAX_DIMS; d++)
        r->up[d] = r->down[d] = 1;
    for (int d = 0; d < TC_GRAPH_MAX_DIMS; d++)
        r->roi[1][d] = 1;
    TC_TRY(tc_graph_resize_modes(c, r));
    TC_TRY(tc_graph_resize_axes(c, axes, &n));
    if (old)
        TC_TRY(read_scales(c, 1, axes, n, r));
    else if (has_elements(c, 2))
        TC_TRY(read_scales(c, 2, axes, n, r));
    else if (tc_graph_in(c, 3))
        TC_TRY(read_sizes(c, axes, n, r));
    else
        return tc_graph_node_fail(c, "it has neither scales nor sizes");
    return read_roi(c, axes, n, r);
}

/* ---- one axis ---- */

/* num / den; den is above 0. */
typedef struct place {
    int64_t num, den;
} place;

/* The region's coordinates are f32, and no ratios of sizes: places are rounded to 2^-32. */
static place place_in_region(const resize *r, int d, int64_t i) {
    double a = (double)r->roi[0][d], b = (double)r->roi[1][d], last = (double)(r->in->d[d] - 1);
    int64_t out = r->out.d[d];
    double x = out > 1 ? a * last + (double)i * (b - a) * last / (double)(out - 1) : 0.5 * (a + b) * last;
    return (place){(int64_t)nearbyint(fmax(-0x1p60, fmin(x * 0x1p32, 0x1p60))), INT64_C(1) << 32};
}

/* Where output i of axis d lies in the input. */
static place source(const resize *r, int d, int64_t i) {
    int64_t in = r->in->d[d], out = r->out.d[d], up = r->up[d], down = r->down[d];
    place middle = {(2 * i + 1) * down, 2 * up}, half = {middle.num - up, middle.den}, first = {0, 1};
    switch (r->coords) {
    case HALF_PIXEL:
        return half;
    case HALF_PIXEL_SYMMETRIC:
        return (place){half.num + in * up - out * down, half.den};
    case PYTORCH_HALF_PIXEL:
        return out > 1 ? half : first;
    case ALIGN_CORNERS:
        return out > 1 ? (place){i * (in - 1), out - 1} : first;
    case ASYMMETRIC:
        return (place){i * down, up};
    case TF_HALF_PIXEL_FOR_NN:
        return middle;
    case TF_CROP_AND_RESIZE:
        break;
    }
    return place_in_region(r, d, i);
}

static int64_t floor_div(int64_t a, int64_t b) {
    return a / b - (a % b < 0);
}

tc_graph_rounding tc_graph_resize_rounding(const resize *r, int d) {
    static const tc_graph_rounding how[] = {
        [PREFER_FLOOR] = {2, 1, -1}, [PREFER_CEIL] = {2, 1, 0}, [FLOOR] = {1, 0, 0}, [CEIL] = {1, 1, -1}};
    return how[r->round != SIMPLE ? r->round : r->up[d] < r->down[d] ? CEIL : FLOOR];
}

/* The element that is nearest; at the edge for places outside. */
static int64_t nearest(const resize *r, int d, int64_t i) {
    tc_graph_rounding how = tc_graph_resize_rounding(r, d);
    place p = source(r, d, i);
    int64_t at = floor_div(how.times * p.num + how.ahead * p.den + how.extra, how.times * p.den);
    return TC_MAX(0, TC_MIN(at, r->in->d[d] - 1));
}

/* Every output's `n` inputs and their weights, tap by tap. */
typedef struct taps {
    int64_t n, out;
    int64_t *index; /* [n][out] */
    double *weight;
} taps;

static double cubic(double a, double x) {
    x = fabs(x);
    if (x < 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/* An antialiasing filter is stretched by as much as the axis shrinks. */
static double stretch(const resize *r, int d) {
    return r->antialias ? fmin(scale_of(r, d), 1) : 1;
}

/* Inputs outside are those at the edge, or left out. */
static void fill_output(const resize *r, int d, taps *t, int64_t i, int64_t first) {
    place x = source(r, d, i);
    int64_t below = floor_div(x.num, x.den);
    double shrink = stretch(r, d), sum = 0, base = (double)below, ratio = (double)(x.num - below * x.den) / (double)x.den;
    int64_t last = r->in->d[d] - 1;
    for (int64_t k = 0; k < t->n; k++) {
        double at = ((double)(first + k) - ratio) * shrink, tap = base + (double)(first + k);
        double w = r->mode == LINEAR ? fmax(0, 1 - fabs(at)) : cubic(r->cubic_a, at);
        if (r->exclude_outside && (tap < 0 || tap > (double)last))
            w = 0;
        t->index[k * t->out + i] = (int64_t)fmin(fmax(tap, 0), (double)last);
        t->weight[k * t->out + i] = w;
        sum += w;
    }
    for (int64_t k = 0; k < t->n && (r->exclude_outside || shrink < 1) && sum != 0; k++)
        t->weight[k * t->out + i] /= sum;
}

static taps taps_of(tc_graph_infer_ctx *c, const resize *r, int d) {
    int half = r->mode == LINEAR ? 1 : 2;
    int64_t first = (int64_t)floor(-half / stretch(r, d)) + 1;
    taps t = {.n = 2 - 2 * first, .out = r->out.d[d]};
    t.index = TC_NEW_N(c->g->arena, int64_t, t.n * t.out + 1);
    t.weight = TC_NEW_N(c->g->arena, double, t.n *t.out + 1);
    for (int64_t i = 0; i < t.out; i++)
        fill_output(r, d, &t, i, first);
    return t;
}

/* ---- building ---- */

static bool all_zero(const double *w, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (w[i] != 0)
            return false;
    return true;
}

/* x[.., index0[i], ..] * weight0[i] + x[.., index1[i], ..] * weight1[i] + ... */
static tc_graph_value *sum_of_taps(tc_graph_emitter *e, tc_graph_value *x, int axis, const taps *t) {
    tc_graph_value *sum = NULL;
    for (int64_t k = 0; k < t->n; k++) {
        const double *w = t->weight + k * t->out;
        if (all_zero(w, t->out) && (sum || k + 1 < t->n))
            continue;
        tc_graph_value *weight = tc_graph_em_floats(e, x->dtype, &(tc_graph_shape){1, {t->out}}, w);
        weight = tc_graph_em_along(e, weight, axis, x->shape.ndim);
        tc_graph_value *term = em_mul(e, tc_graph_em_index(e, x, axis, t->index + k * t->out, t->out), weight);
        sum = sum ? em_add(e, sum, term) : term;
    }
    return sum;
}

/* The taps in a dimension of their own after the axis, then summed. */
static tc_graph_value *reduced_taps(tc_graph_emitter *e, tc_graph_value *x, int axis, const taps *t) {
    int64_t *index = TC_NEW_N(e->c->g->arena, int64_t, t->n * t->out + 1), last = axis + 1;
    double *weight = TC_NEW_N(e->c->g->arena, double, t->n * t->out + 1);
    for (int64_t i = 0; i < t->out; i++)
        for (int64_t k = 0; k < t->n; k++) {
            index[i * t->n + k] = t->index[k * t->out + i];
            weight[i * t->n + k] = t->weight[k * t->out + i];
        }
    tc_graph_shape s = {2, {t->out, t->n}};
    tc_graph_value *spread = tc_graph_em_gather(e, TC_GRAPH_OP_GATHER, x, tc_graph_em_ints(e, TC_I64, &s, index), axis);
    tc_graph_value *w = tc_graph_em_along(e, tc_graph_em_floats(e, x->dtype, &s, weight), axis, x->shape.ndim + 1);
    return tc_graph_em_reduce(e, TC_GRAPH_OP_REDUCE_SUM, em_mul(e, spread, w), &last, 1, false);
}

enum { MAX_TERMS = 4 }; /* more are a reduction */

static tc_graph_value *resize_axis(tc_graph_emitter *e, const resize *r, tc_graph_value *x, int d) {
    int64_t n = r->out.d[d];
    if (r->mode != NEAREST) {
        taps t = taps_of(e->c, r, d);
        return t.n <= MAX_TERMS ? sum_of_taps(e, x, d, &t) : reduced_taps(e, x, d, &t);
    }
    int64_t *index = TC_NEW_N(e->c->g->arena, int64_t, n + 1);
    for (int64_t i = 0; i < n; i++)
        index[i] = nearest(r, d, i);
    return tc_graph_em_index(e, x, d, index, n);
}

/* tf_crop_and_resize: what lies outside of the input gets a value of its own. */
static tc_graph_value *extrapolate(tc_graph_emitter *e, const resize *r, tc_graph_value *y, int d) {
    int64_t n = r->out.d[d];
    int64_t *outside = TC_NEW_N(e->c->g->arena, int64_t, n + 1);
    bool any = false;
    for (int64_t i = 0; i < n; i++) {
        place x = source(r, d, i);
        outside[i] = x.num < 0 || floor_div(x.num - 1, x.den) >= r->in->d[d] - 1;
        any |= outside[i];
    }
    if (!any)
        return y;
    tc_graph_value *mask = tc_graph_em_ints(e, TC_BOOL, &(tc_graph_shape){1, {n}}, outside);
    mask = tc_graph_em_along(e, mask, d, y->shape.ndim);
    return tc_graph_em_where(e, mask, tc_graph_em_scalar(e, y->dtype, r->extrapolation), y);
}

tc_dtype tc_graph_resize_sum_type(tc_dtype t) {
    bool wide = t == TC_F64 || t == TC_I32 || t == TC_U32 || t == TC_I64 || t == TC_U64;
    return wide ? TC_F64 : TC_F32;
}

/* ---- an axis whose size varies ---- */

/* Do the places and weights of all outputs follow from the scale, whatever the size is? */
static bool follows_scale(const resize *r, int d) {
    bool follows =
        r->coords == HALF_PIXEL || r->coords == ASYMMETRIC || r->coords == TF_HALF_PIXEL_FOR_NN ||
        (r->coords == PYTORCH_HALF_PIXEL && scale_of(r, d) >= 2); /* below, there may be one output, which is no half pixel */
    return follows && !r->exclude_outside && (!r->antialias || scale_of(r, d) >= 1);
}

/* x[.., index, ..], where those past the end are the last. */
static tc_graph_value *at_places(tc_graph_emitter *e, tc_graph_value *x, int d, const int64_t *index, int64_t n) {
    tc_graph_value *last = em_sub(e, tc_graph_extent(x, d), tc_graph_em_number(e, 1));
    return tc_graph_em_pick(e, x, d, em_min(e, tc_graph_em_ints(e, TC_I64, &(tc_graph_shape){1, {n}}, index), last));
}

static tc_graph_value *sum_at_places(tc_graph_emitter *e, const resize *r, tc_graph_value *x, int d) {
    taps t = taps_of(e->c, r, d);
    tc_graph_value *sum = NULL;
    for (int64_t k = 0; k < t.n; k++) {
        tc_graph_value *weight = tc_graph_em_floats(e, x->dtype, &(tc_graph_shape){1, {t.out}}, t.weight + k * t.out);
        weight = tc_graph_em_along(e, weight, d, x->shape.ndim);
        tc_graph_value *term = em_mul(e, at_places(e, x, d, t.index + k * t.out, t.out), weight);
        sum = sum ? em_add(e, sum, term) : term;
    }
    return sum;
}

/* As tables of the largest size have it; nearest ones that only repeat elements are a view. */
static tc_graph_value *resize_varying(tc_graph_emitter *e, const resize *r, tc_graph_value *x, int d) {
    int64_t up = r->up[d], down = r->down[d], n = r->out.d[d];
    bool follows = follows_scale(r, d);
    if (!r->by_scales || (!follows && !tc_graph_resize_takes_run(r))) {
        e->status = e->status == TC_OK ? tc_graph_dynamic_refuse(e->c, 0, d) : e->status;
        return x;
    }
    tc_graph_value *y, *size = em_mul(e, tc_graph_extent(x, d), tc_graph_em_number(e, up));
    size = down == 1 ? size : em_div(e, size, tc_graph_em_number(e, down));
    if (!follows)
        return tc_graph_resize_in_run(e, r, x, d,
                                      &(tc_graph_run_axis){size, tc_graph_em_number(e, up), tc_graph_em_number(e, down), n});
    if (r->mode == NEAREST) {
        int64_t *index = TC_NEW_N(e->c->g->arena, int64_t, n + 1);
        bool repeats = down == 1;
        for (int64_t i = 0; i < n; i++) {
            index[i] = nearest(r, d, i);
            repeats = repeats && index[i] == i / up;
        }
        y = repeats ? tc_graph_em_index(e, tc_graph_em_blind(e, x), d, index, n) : at_places(e, x, d, index, n);
    } else {
        y = sum_at_places(e, r, x, d);
    }
    return tc_graph_em_with_sizes(e, y, x, d, size);
}

tc_status tc_graph_infer_resize(tc_graph_infer_ctx *c) {
    tc_graph_value *x = c->n->in[0];
    resize r;
    TC_TRY(read_resize(c, &r));
    TC_TRY(tc_graph_shape_check(&r.out, c->err));
    for (int d = 0; d < r.in->ndim; d++) {
        if (r.changes[d] && r.in->d[d] == 0 && r.out.d[d] > 0)
            return tc_graph_node_fail(c, "dimension %d is empty and cannot be resized", d);
        bool indexed = r.changes[d] || r.coords == TF_CROP_AND_RESIZE; /* which asks of every place whether it is outside */
        double each = r.changes[d] && r.mode != NEAREST ? 4 / stretch(&r, d) : 1;
        TC_TRY(tc_graph_want_table(c, indexed ? (double)r.out.d[d] * each : 0));
    }
    tc_graph_emitter e = {c, TC_OK};
    tc_dtype t = r.mode == NEAREST ? x->dtype : tc_graph_resize_sum_type(x->dtype);
    tc_graph_value *y = tc_graph_em_cast(&e, x, t);
    for (int d = 0; d < r.in->ndim; d++)
        if (r.changes[d])
            y = (tc_graph_extent(y, d) ? resize_varying : resize_axis)(&e, &r, y, d);
    for (int d = 0; d < r.in->ndim && r.coords == TF_CROP_AND_RESIZE; d++)
        y = extrapolate(&e, &r, y, d);
    return tc_graph_em_finish(&e, tc_graph_em_cast(&e, y, x->dtype));
}
