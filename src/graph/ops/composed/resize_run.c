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

/* Rounded once: a kernel that multiplies by an inverse would have other neighbours nearest at the ties. */
static tc_graph_value *divided(tc_graph_emitter *e, tc_graph_value *a, tc_graph_value *b) {
    return tc_graph_em_cast(e, em_div(e, tc_graph_em_cast(e, a, TC_F64), tc_graph_em_cast(e, b, TC_F64)), TC_F32);
}

/* v where there is more than one output, else the first element. */
static tc_graph_value *unless_one(tc_graph_emitter *e, tc_graph_value *out, tc_graph_value *v) {
    return tc_graph_em_where(e, em_less(e, tc_graph_em_scalar(e, TC_F32, 1), out), v, tc_graph_em_scalar(e, TC_F32, 0));
}

/* Where the outputs lie in the input. */
static tc_graph_value *sources(tc_graph_emitter *e, const resize *r, tc_graph_value *size, const tc_graph_run_axis *a) {
    tc_graph_value *i = tc_graph_em_cast(e, tc_graph_em_iota(e, a->most, 0, 1), TC_F32);
    tc_graph_value *in = tc_graph_em_cast(e, size, TC_F32), *out = tc_graph_em_cast(e, a->to, TC_F32), *s = a->scale;
    tc_graph_value *middle = divided(e, plus(e, i, 0.5), s), *half = plus(e, middle, -0.5), *rest;
    switch (r->coords) {
    case HALF_PIXEL:
        return half;
    case HALF_PIXEL_SYMMETRIC:
        rest = em_sub(e, tc_graph_em_scalar(e, TC_F32, 1), divided(e, out, em_mul(e, s, in)));
        return em_add(e, em_mul(e, em_by(e, TC_GRAPH_OP_DIV, in, 2), rest), half);
    case PYTORCH_HALF_PIXEL:
        return unless_one(e, out, half);
    case ALIGN_CORNERS:
        rest = em_max(e, plus(e, out, -1), tc_graph_em_scalar(e, TC_F32, 1));
        return unless_one(e, out, divided(e, em_mul(e, i, plus(e, in, -1)), rest));
    case ASYMMETRIC:
        return divided(e, i, s);
    case TF_HALF_PIXEL_FOR_NN:
    case TF_CROP_AND_RESIZE: /* which is refused */
        break;
    }
    return middle;
}

/* ---- one axis ---- */

/* x[.., base + tap, ..], where what is outside is what is at the edge. */
static tc_graph_value *at_tap(tc_graph_emitter *e, tc_graph_value *x, int d, tc_graph_value *base, int tap) {
    tc_graph_value *at = em_add(e, base, tc_graph_em_number(e, tap));
    at = em_min(e, at, em_sub(e, tc_graph_em_size(e, x, d), tc_graph_em_number(e, 1)));
    return tc_graph_em_pick(e, x, d, em_max(e, at, tc_graph_em_number(e, 0)));
}

static tc_graph_value *nearest_places(tc_graph_emitter *e, const resize *r, tc_graph_value *x) {
    tc_graph_value *below = em_unary(e, TC_GRAPH_OP_FLOOR, x), *half = tc_graph_em_scalar(e, TC_F32, 0.5);
    tc_graph_value *above = plus(e, below, 1), *part = em_sub(e, x, below);
    switch (r->round) {
    case PREFER_FLOOR:
        return tc_graph_em_where(e, em_less(e, half, part), above, below);
    case PREFER_CEIL:
        return tc_graph_em_where(e, em_less(e, part, half), below, above);
    case CEIL:
        return em_unary(e, TC_GRAPH_OP_CEIL, x);
    case FLOOR:
    case SIMPLE: /* of models that have no sizes */
        break;
    }
    return below;
}

/* ((a * t + b) * t + c) * t + d */
static tc_graph_value *polynomial(tc_graph_emitter *e, tc_graph_value *t, double a, double b, double c, double d) {
    tc_graph_value *v = plus(e, em_by(e, TC_GRAPH_OP_MUL, t, a), b);
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

static tc_graph_value *weighted(tc_graph_emitter *e, const resize *r, tc_graph_value *x, int d, tc_graph_value *place) {
    tc_graph_value *below = em_unary(e, TC_GRAPH_OP_FLOOR, place), *base = tc_graph_em_cast(e, below, TC_I64), *sum = NULL;
    tc_graph_value *part = em_sub(e, tc_graph_em_cast(e, place, TC_F64), tc_graph_em_cast(e, below, TC_F64));
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
    tc_graph_value *place = sources(e, r, tc_graph_em_size(e, x, d), a), *y;
    if (r->mode == NEAREST)
        y = at_tap(e, x, d, tc_graph_em_cast(e, nearest_places(e, r, place), TC_I64), 0);
    else
        y = weighted(e, r, x, d, place);
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
    tc_graph_value *size = tc_graph_em_size(e, x, d);
    tc_graph_value *scale = divided(e, tc_graph_em_cast(e, to->value, TC_F32), tc_graph_em_cast(e, size, TC_F32));
    return tc_graph_resize_in_run(e, r, x, d, &(tc_graph_run_axis){to->value, scale, to->most});
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
