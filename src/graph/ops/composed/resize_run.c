/* Resize whose sizes are known in a run: those that the model computes of others, as where one feature map is brought to the size
 * of another, and those of operands that vary. Places and weights are computed as resize.c does, by the graph itself. */
#include <string.h>

#include "graph/ops/composed/resize.h"

bool tc_graph_resize_takes_run(const resize *r) {
    return !r->antialias && !r->exclude_outside && r->coords != TF_CROP_AND_RESIZE;
}

/* ---- places ---- */

static tc_graph_value *plus(tc_graph_emitter *e, tc_graph_value *v, double by) {
    return em_by(e, TC_GRAPH_OP_ADD, v, by);
}

static tc_graph_value *times(tc_graph_emitter *e, tc_graph_value *v, double by) {
    return em_by(e, TC_GRAPH_OP_MUL, v, by);
}

/* num / den. Both are whole numbers in f64, which holds them exactly. */
typedef struct places {
    tc_graph_value *num, *den;
} places;

/* Below num / den, where kernels may multiply by the inverse of den: the quotient is never as near to a whole number as that. */
static tc_graph_value *floor_of(tc_graph_emitter *e, tc_graph_value *num, tc_graph_value *den) {
    return em_unary(e, TC_GRAPH_OP_FLOOR, em_div(e, plus(e, num, 0.25), den));
}

/* v where there is more than one output, else 0: the first element. */
static places unless_one(tc_graph_emitter *e, tc_graph_value *out, places v) {
    tc_graph_value *more = em_less(e, tc_graph_em_scalar(e, TC_F64, 1), out);
    return (places){tc_graph_em_where(e, more, v.num, tc_graph_em_scalar(e, TC_F64, 0)), v.den};
}

/* Where the outputs lie in the input. */
static places sources(tc_graph_emitter *e, const resize *r, tc_graph_value *size, const tc_graph_run_axis *a) {
    tc_graph_value *i = tc_graph_em_cast(e, tc_graph_em_iota(e, a->most, 0, 1), TC_F64), *one = tc_graph_em_scalar(e, TC_F64, 1);
    tc_graph_value *in = tc_graph_em_cast(e, size, TC_F64), *out = tc_graph_em_cast(e, a->to, TC_F64);
    tc_graph_value *up = em_max(e, tc_graph_em_cast(e, a->up, TC_F64), one), *down = tc_graph_em_cast(e, a->down, TC_F64);
    places middle = {em_mul(e, plus(e, times(e, i, 2), 1), down), times(e, up, 2)}, half = middle;
    half.num = em_sub(e, middle.num, up);
    switch (r->coords) {
    case HALF_PIXEL:
        return half;
    case HALF_PIXEL_SYMMETRIC:
        return (places){em_add(e, half.num, em_sub(e, em_mul(e, in, up), em_mul(e, out, down))), half.den};
    case PYTORCH_HALF_PIXEL:
        return unless_one(e, out, half);
    case ALIGN_CORNERS:
        return unless_one(e, out, (places){em_mul(e, i, plus(e, in, -1)), em_max(e, plus(e, out, -1), one)});
    case ASYMMETRIC:
        return (places){em_mul(e, i, down), up};
    case TF_HALF_PIXEL_FOR_NN: /* a dimension whose size stays is left as it is */
    case TF_CROP_AND_RESIZE:   /* which is refused */
        break;
    }
    return (places){tc_graph_em_where(e, em_equal(e, up, down), half.num, middle.num), middle.den};
}

/* ---- one axis ---- */

/* x[.., base + tap, ..], where what is outside is what is at the edge. */
static tc_graph_value *at_tap(tc_graph_emitter *e, tc_graph_value *x, int d, tc_graph_value *base, int tap) {
    tc_graph_value *at = em_add(e, base, tc_graph_em_number(e, tap));
    at = em_min(e, at, em_sub(e, tc_graph_em_size(e, x, d), tc_graph_em_number(e, 1)));
    return tc_graph_em_pick(e, x, d, em_max(e, at, tc_graph_em_number(e, 0)));
}

static tc_graph_value *nearest_places(tc_graph_emitter *e, const resize *r, int d, places p) {
    tc_graph_rounding how = tc_graph_resize_rounding(r, d);
    tc_graph_value *num = times(e, p.num, how.times), *ahead = times(e, p.den, how.ahead);
    return floor_of(e, plus(e, em_add(e, num, ahead), how.extra), times(e, p.den, how.times));
}

/* ((a * t + b) * t + c) * t + d */
static tc_graph_value *polynomial(tc_graph_emitter *e, tc_graph_value *t, double a, double b, double c, double d) {
    tc_graph_value *v = plus(e, times(e, t, a), b);
    return plus(e, em_mul(e, plus(e, em_mul(e, v, t), c), t), d);
}

/* Of the element that is `tap` after the one at or before the place, which is `part` behind that. */
static tc_graph_value *weight(tc_graph_emitter *e, const resize *r, tc_graph_value *part, int tap) {
    double a = r->cubic_a;
    tc_graph_value *t = tap <= 0 ? plus(e, part, -tap) : em_sub(e, tc_graph_em_scalar(e, TC_F64, tap), part);
    if (r->mode == LINEAR)
        return em_sub(e, tc_graph_em_scalar(e, TC_F64, 1), t);
    return tap == 0 || tap == 1 ? polynomial(e, t, a + 2, -(a + 3), 0, 1) : polynomial(e, t, a, -5 * a, 8 * a, -4 * a);
}

static tc_graph_value *weighted(tc_graph_emitter *e, const resize *r, tc_graph_value *x, int d, places p) {
    tc_graph_value *below = floor_of(e, p.num, p.den), *base = tc_graph_em_cast(e, below, TC_I64), *sum = NULL;
    tc_graph_value *part = em_div(e, em_sub(e, p.num, em_mul(e, below, p.den)), p.den);
    int reach = r->mode == LINEAR ? 1 : 2;
    for (int tap = 1 - reach; tap <= reach; tap++) {
        tc_graph_value *w = tc_graph_em_cast(e, weight(e, r, part, tap), x->dtype);
        tc_graph_value *term = em_mul(e, at_tap(e, x, d, base, tap), tc_graph_em_along(e, w, d, x->shape.ndim));
        sum = sum ? em_add(e, sum, term) : term;
    }
    return sum;
}

tc_graph_value *tc_graph_resize_in_run(tc_graph_emitter *e, const resize *r, tc_graph_value *x, int d,
                                       const tc_graph_run_axis *a) {
    places p = sources(e, r, tc_graph_em_size(e, x, d), a);
    tc_graph_value *y;
    if (r->mode == NEAREST)
        y = at_tap(e, x, d, tc_graph_em_cast(e, nearest_places(e, r, d, p), TC_I64), 0);
    else
        y = weighted(e, r, x, d, p);
    return tc_graph_em_with_sizes(e, y, x, d, a->to);
}

/* ---- sizes ---- */

/* Is the node told its sizes, and are there any that a run knows alone? */
static bool has_run_sizes(const tc_graph_infer_ctx *c) {
    const tc_graph_value *scales = tc_graph_in(c, 2), *sizes = tc_graph_in(c, 3);
    return c->opset >= 11 && sizes && !(scales && tc_graph_shape_count(&scales->shape) > 0) &&
           (!sizes->constant || tc_graph_is_dynamic(c->n->in[0]));
}

static tc_status want_takes_run(tc_graph_infer_ctx *c, const resize *r, bool stretches) {
    if (tc_graph_resize_takes_run(r) && stretches)
        return TC_OK;
    return tc_graph_node_refuse(c, TC_ERROR_DATA_DEPENDENT,
                                "the sizes of '%s' or of its result vary, but antialias, exclude_outside, tf_crop_and_resize and "
                                "keep_aspect_ratio_policy need sizes that are known when the model is imported; give single "
                                "sizes with --shape, or export the model without these attributes",
                                c->n->in[0]->name);
}

/* Is the size at import what it is in every run, or is it kept? */
static bool is_kept(tc_graph_emitter *e, int d, const tc_graph_number *to) {
    return to->x == tc_graph_size_number(e, e->c->n->in[0], d);
}

/* Where only sizes vary that are kept, the others are given by themselves, and resize.c knows all it needs. False: some vary. */
static bool names_known_axes(tc_graph_emitter *e, const int *axes, const tc_graph_number *to, size_t n) {
    tc_graph_infer_ctx *c = e->c;
    int64_t known[TC_GRAPH_MAX_DIMS], size[TC_GRAPH_MAX_DIMS], len = 0;
    for (size_t i = 0; i < n; i++) {
        if (is_kept(e, axes[i], &to[i]))
            continue;
        if (!to[i].constant || tc_graph_extent(c->n->in[0], axes[i]))
            return false;
        known[len] = axes[i];
        size[len++] = to[i].most;
    }
    tc_graph_value *in[4];
    memcpy(in, c->n->in, sizeof in);
    in[3] = tc_graph_em_ints(e, TC_I64, &(tc_graph_shape){1, {len}}, size);
    tc_graph_set_inputs(c->g, c->n, in, 4);
    tc_graph_set_axes(c->g, c->n, known, (size_t)len);
    return true;
}

static tc_graph_value *resize_to(tc_graph_emitter *e, const resize *r, tc_graph_value *x, int d, const tc_graph_number *to) {
    if (is_kept(e, d, to))
        return x;
    return tc_graph_resize_in_run(e, r, x, d, &(tc_graph_run_axis){to->value, to->value, tc_graph_em_size(e, x, d), to->most});
}

tc_status tc_graph_rewrite_resize(tc_graph_emitter *e) {
    tc_graph_infer_ctx *c = e->c;
    tc_graph_number to[TC_GRAPH_MAX_NUMBERS];
    resize r = {0};
    int axes[TC_GRAPH_MAX_DIMS];
    size_t n;
    int64_t len;
    if (!has_run_sizes(c))
        return e->status;
    TC_TRY(tc_graph_resize_modes(c, &r));
    TC_TRY(tc_graph_resize_axes(c, axes, &n));
    TC_TRY(tc_graph_dynamic_list(e, 3, TC_ATTR_none, to, &len));
    if (len != (int64_t)n)
        return tc_graph_node_fail(c, "sizes has %lld entries; %zu are expected", (long long)len, n);
    bool stretches = strcmp(tc_graph_attr_keep_aspect_ratio_policy(c->n), "stretch") == 0;
    if (stretches && r.coords != TF_CROP_AND_RESIZE && names_known_axes(e, axes, to, n))
        return e->status;
    TC_TRY(want_takes_run(c, &r, stretches));
    if (!tc_graph_has_bounds(to, len))
        return tc_graph_dynamic_no_bound(e, "sizes", 3, to);
    tc_graph_value *x = c->n->in[0],
                   *y = tc_graph_em_cast(e, x, r.mode == NEAREST ? x->dtype : tc_graph_resize_sum_type(x->dtype));
    for (size_t i = 0; i < n; i++) {
        if (to[i].most < 0 || (x->shape.d[axes[i]] == 0 && to[i].most > 0))
            return tc_graph_node_fail(c, "sizes[%zu] is %lld for a dimension of %lld", i, (long long)to[i].most,
                                      (long long)x->shape.d[axes[i]]);
        y = resize_to(e, &r, y, axes[i], &to[i]);
    }
    return tc_graph_em_finish(e, tc_graph_em_cast(e, y, x->dtype));
}
