/* Operators of a model on operands whose sizes depend on data, before inference: those that must be written otherwise because the
 * position of an element depends on sizes. See dynamic.h. */
#include "graph/ops/functions.h"

#include <limits.h>
#include <string.h>

static tc_graph_value *number(tc_graph_emitter *e, int64_t v) {
    return tc_graph_em_ints(e, TC_I64, &(tc_graph_shape){0}, &v);
}

/* The node becomes v. */
static tc_status become(tc_graph_emitter *e, tc_graph_value *v) {
    return tc_graph_em_finish(e, v);
}

/* Gives r, which is blind, the sizes of x but for dimension d. */
static tc_graph_value *with_sizes_of(tc_graph_emitter *e, tc_graph_value *r, const tc_graph_value *x, int d) {
    for (int i = 0; i < r->shape.ndim && i < x->shape.ndim; i++)
        if (i != d && tc_graph_extent(x, i))
            r = tc_graph_em_sized(e, r, i, tc_graph_extent(x, i));
    return r;
}

/* ---- Shape and Size ---- */

tc_status tc_graph_rewrite_shape(tc_graph_emitter *e) {
    const tc_graph_value *x = e->c->n->in[0];
    int64_t ndim = x->shape.ndim, from = tc_graph_attr_start(e->c->n), to = tc_graph_attr_end_or(e->c->n, ndim);
    from = TC_MAX(0, TC_MIN(from < 0 ? from + ndim : from, ndim));
    to = TC_MAX(from, TC_MIN(to < 0 ? to + ndim : to, ndim));
    tc_graph_value *parts[TC_GRAPH_MAX_DIMS];
    for (int64_t d = from; d < to; d++)
        parts[d - from] = tc_graph_em_reshape(e, tc_graph_em_size(e, x, (int)d), &(tc_graph_shape){1, {1}});
    if (from == to)
        return become(e, tc_graph_em_ints(e, TC_I64, &(tc_graph_shape){1, {0}}, NULL));
    return become(e, tc_graph_em_concat(e, 0, parts, (int)(to - from)));
}

tc_status tc_graph_rewrite_size(tc_graph_emitter *e) {
    const tc_graph_value *x = e->c->n->in[0];
    tc_graph_value *n = number(e, 1);
    for (int d = 0; d < x->shape.ndim; d++)
        n = em_mul(e, n, tc_graph_em_size(e, x, d));
    return become(e, n);
}

/* ---- Reshape ---- */

typedef struct reshaper {
    tc_graph_emitter *e;
    tc_graph_value *x;
    tc_graph_shape shape;                    /* of the result, at its largest */
    tc_graph_value *size[TC_GRAPH_MAX_DIMS]; /* of its dimensions at run time; NULL: constant */
} reshaper;

static bool same_dim(const reshaper *r, int i, int o) {
    return r->x->shape.d[i] == r->shape.d[o] && tc_graph_extent(r->x, i) == r->size[o];
}

/* Only the first of the dimensions that do not correspond may vary: then an element's place does not depend on sizes. */
static bool keeps_places(const reshaper *r) {
    int i = 0, o = 0, ie = r->x->shape.ndim, oe = r->shape.ndim;
    while (i < ie && o < oe && same_dim(r, i, o))
        i++, o++;
    while (ie > i && oe > o && same_dim(r, ie - 1, oe - 1))
        ie--, oe--;
    int64_t in = 1, out = 1;
    for (int d = i; d < ie; d++)
        in *= r->x->shape.d[d];
    for (int d = o; d < oe; d++)
        out *= r->shape.d[d];
    while (i < ie && r->x->shape.d[i] == 1 && !tc_graph_extent(r->x, i))
        i++;
    while (o < oe && r->shape.d[o] == 1 && !r->size[o])
        o++;
    for (int d = i + 1; d < ie; d++)
        if (tc_graph_extent(r->x, d))
            return false;
    for (int d = o + 1; d < oe; d++)
        if (r->size[d])
            return false;
    return in == out;
}

/* Everything else: the place of each element of the result among those of x, by arithmetic on the sizes. */
static tc_graph_value *by_places(reshaper *r) {
    tc_graph_emitter *e = r->e;
    tc_graph_value *linear = number(e, 0), *stride = number(e, 1), *at = number(e, 0);
    for (int o = r->shape.ndim - 1; o >= 0; o--) {
        linear = em_add(e, linear, em_mul(e, tc_graph_em_iota(e, r->shape.d[o], o, r->shape.ndim), stride));
        stride = em_mul(e, stride, r->size[o] ? r->size[o] : number(e, r->shape.d[o]));
    }
    int64_t step = 1;
    for (int i = r->x->shape.ndim - 1; i >= 0; i--) {
        tc_graph_value *n = em_max(e, tc_graph_em_size(e, r->x, i), number(e, 1)), *next = em_div(e, linear, n);
        at = em_add(e, at, em_mul(e, em_sub(e, linear, em_mul(e, next, n)), number(e, step)));
        linear = next;
        step *= r->x->shape.d[i];
    }
    tc_graph_value *flat = tc_graph_em_reshape(e, tc_graph_em_blind(e, r->x), &(tc_graph_shape){1, {step}});
    return tc_graph_em_pick(e, flat, 0, tc_graph_em_expand(e, at, &r->shape));
}

static tc_graph_value *reshaped(reshaper *r) {
    tc_graph_value *y = keeps_places(r) ? tc_graph_em_reshape(r->e, tc_graph_em_blind(r->e, r->x), &r->shape) : by_places(r);
    if (y == r->x)
        y = em_unary(r->e, TC_GRAPH_OP_IDENTITY, y);
    for (int o = 0; o < r->shape.ndim; o++)
        if (r->size[o])
            y = tc_graph_em_sized(r->e, y, o, r->size[o]);
    return y;
}

/* The dimension that is given as -1: what x has, divided by the others, first by those that are the same on both sides. */
static tc_status open_dimension(reshaper *r, int open) {
    tc_graph_emitter *e = r->e;
    bool used[TC_GRAPH_MAX_DIMS] = {false};
    int64_t in = 1, out = 1;
    tc_graph_value *above = NULL, *below = NULL;
    for (int o = 0; o < r->shape.ndim; o++) {
        if (o == open)
            continue;
        int i = 0;
        while (i < r->x->shape.ndim && r->size[o] && (used[i] || tc_graph_extent(r->x, i) != r->size[o]))
            i++;
        if (r->size[o] && i < r->x->shape.ndim)
            used[i] = true;
        else if (r->size[o])
            below = below ? em_mul(e, below, r->size[o]) : r->size[o];
        else
            out *= r->shape.d[o];
    }
    for (int i = 0; i < r->x->shape.ndim; i++) {
        tc_graph_value *size = tc_graph_extent(r->x, i);
        if (used[i])
            continue;
        in *= r->x->shape.d[i];
        if (size)
            above = above ? em_mul(e, above, size) : size;
    }
    if (out == 0)
        return tc_graph_node_fail(e->c, "shape[%d] is -1, but another dimension is 0", open);
    int64_t fixed = 1;
    for (int i = 0; i < r->x->shape.ndim; i++)
        fixed *= used[i] || tc_graph_extent(r->x, i) ? 1 : r->x->shape.d[i];
    r->shape.d[open] = in / out;
    if (!above && !below)
        return in % out == 0 ? TC_OK
                             : tc_graph_node_fail(e->c, "%lld elements do not divide into the requested shape", (long long)in);
    above = above ? above : number(e, 1);
    if (fixed % out == 0)
        above = fixed == out ? above : em_mul(e, above, number(e, fixed / out));
    else
        above = em_div(e, em_mul(e, above, number(e, fixed)), number(e, out));
    r->size[open] = below ? em_div(e, above, em_max(e, below, number(e, 1))) : above;
    return e->status;
}

static tc_status target_dims(reshaper *r, const tc_graph_number *want, int64_t n, bool allowzero) {
    int open = -1;
    r->shape.ndim = (int)n;
    for (int o = 0; o < r->shape.ndim; o++) {
        r->shape.d[o] = want[o].most;
        r->size[o] = want[o].constant ? NULL : want[o].value;
        if (!want[o].constant || want[o].most > 0 || (want[o].most == 0 && allowzero))
            continue;
        if (want[o].most == -1 && open < 0) {
            open = o;
        } else if (want[o].most == 0 && o < r->x->shape.ndim) {
            r->shape.d[o] = r->x->shape.d[o];
            r->size[o] = tc_graph_extent(r->x, o);
        } else {
            return tc_graph_node_fail(r->e->c, "shape[%d] is %lld, which names no dimension", o, (long long)want[o].most);
        }
    }
    return open >= 0 ? open_dimension(r, open) : TC_OK;
}

tc_status tc_graph_dynamic_list(tc_graph_emitter *e, int k, tc_graph_attr_id id, tc_graph_number *out, int64_t *n) {
    size_t len;
    const int64_t *attr = tc_graph_attr_ints(e->c->n, id, &len);
    tc_graph_value *v = k < e->c->n->nin ? e->c->n->in[k] : NULL;
    *n = 0;
    if (attr)
        v = tc_graph_em_ints(e, TC_I64, &(tc_graph_shape){1, {(int64_t)len}}, attr);
    if (!v)
        return TC_OK;
    TC_TRY(e->status);
    TC_TRY(tc_graph_trace(e, v, out));
    *n = tc_graph_shape_count(&v->shape);
    return TC_OK;
}

tc_status tc_graph_dynamic_no_bound(tc_graph_emitter *e, const char *what, int k, const tc_graph_number *v) {
    int i = 0;
    while (v[i].constant || v[i].most >= 0)
        i++;
    return tc_graph_node_refuse(
        e->c, TC_ERROR_DATA_DEPENDENT,
        "%s[%d] ('%s') depends on data without a known largest value; input %d must be known when the model "
        "is imported, unbounded data-dependent shapes are not supported",
        what, i, v[i].value->name, k);
}

tc_status tc_graph_rewrite_reshape(tc_graph_emitter *e) {
    tc_graph_number want[TC_GRAPH_MAX_NUMBERS];
    reshaper r = {.e = e, .x = e->c->n->in[0]};
    int64_t n;
    size_t len;
    const int64_t *whole = tc_graph_attr_shape(e->c->n, &len);
    bool open = false;
    for (size_t i = 0; whole && i < len; i++)
        open |= whole[i] < 0;
    if (whole && !open && tc_graph_attr_allowzero(e->c->n)) /* import's own (tc_graph_emit_reshape): of the largest */
        return TC_OK;
    TC_TRY(tc_graph_dynamic_list(e, 1, TC_ATTR_shape, want, &n));
    if (n > TC_GRAPH_MAX_DIMS)
        return tc_graph_node_refuse(e->c, TC_ERROR_UNSUPPORTED, "shape has %lld dimensions; at most %d are supported",
                                    (long long)n, TC_GRAPH_MAX_DIMS);
    if (!tc_graph_has_bounds(want, n))
        return tc_graph_dynamic_no_bound(e, "shape", 1, want);
    TC_TRY(target_dims(&r, want, n, tc_graph_attr_allowzero(e->c->n) != 0));
    TC_TRY(tc_graph_shape_check(&r.shape, r.x->dtype, e->c->err));
    return become(e, reshaped(&r));
}

/* ---- shapes given by data: Expand, ConstantOfShape, Range ---- */

static tc_status bounded_shape(tc_graph_emitter *e, int k, tc_graph_number *want, tc_graph_shape *s) {
    int64_t n;
    TC_TRY(tc_graph_dynamic_list(e, k, TC_ATTR_none, want, &n));
    if (n > TC_GRAPH_MAX_DIMS)
        return tc_graph_node_refuse(e->c, TC_ERROR_UNSUPPORTED, "shape has %lld dimensions; at most %d are supported",
                                    (long long)n, TC_GRAPH_MAX_DIMS);
    if (!tc_graph_has_bounds(want, n))
        return tc_graph_dynamic_no_bound(e, "shape", k, want);
    s->ndim = (int)n;
    for (int d = 0; d < s->ndim; d++)
        s->d[d] = want[d].most;
    return TC_OK;
}

tc_status tc_graph_rewrite_expand(tc_graph_emitter *e) {
    tc_graph_number want[TC_GRAPH_MAX_NUMBERS];
    tc_graph_shape s = {0}, to;
    tc_graph_value *x = e->c->n->in[0];
    TC_TRY(bounded_shape(e, 1, want, &s));
    if (!tc_graph_shape_broadcast(&x->shape, &s, &to))
        return tc_graph_node_fail(e->c, "the shape of '%s' does not broadcast to the requested one", x->name);
    tc_graph_value *y = tc_graph_em_expand(e, tc_graph_em_blind(e, x), &to);
    if (y == x)
        y = em_unary(e, TC_GRAPH_OP_IDENTITY, x);
    for (int d = 0; d < to.ndim; d++) {
        int i = d - (to.ndim - x->shape.ndim), o = d - (to.ndim - s.ndim);
        tc_graph_value *size = i >= 0 && x->shape.d[i] != 1 ? tc_graph_extent(x, i) : NULL;
        if (!size && o >= 0 && !want[o].constant)
            size = want[o].value;
        if (size)
            y = tc_graph_em_sized(e, y, d, size);
    }
    return become(e, y);
}

tc_status tc_graph_rewrite_constant_of_shape(tc_graph_emitter *e) {
    tc_graph_number want[TC_GRAPH_MAX_NUMBERS];
    tc_graph_shape s = {0};
    TC_TRY(bounded_shape(e, 0, want, &s));
    const tc_graph_attr *a = tc_graph_attr_find(e->c->n, TC_ATTR_value);
    if (a && tc_graph_tensor_count(a->tensor) != 1)
        return tc_graph_node_fail(e->c, "attribute value must have one element");
    tc_graph_value *fill = tc_graph_em_scalar(e, TC_F32, 0);
    if (a) {
        tc_graph_tensor one = tc_graph_tensor_view(a->tensor->dtype, &(tc_graph_shape){0}, a->tensor->data);
        fill = tc_graph_add_constant(e->c->g, tc_graph_fresh_name(e->c->g, e->c->n->name), &one);
    }
    tc_graph_value *y = tc_graph_em_expand(e, fill, &s);
    y = y == fill ? em_unary(e, TC_GRAPH_OP_IDENTITY, y) : y;
    for (int d = 0; d < s.ndim; d++)
        if (!want[d].constant)
            y = tc_graph_em_sized(e, y, d, want[d].value);
    return become(e, y);
}

/* Integers from a constant in constant steps, to a limit that depends on data. */
tc_status tc_graph_rewrite_range(tc_graph_emitter *e) {
    tc_graph_number v[3];
    for (int k = 0; k < 3; k++) {
        if (tc_graph_shape_count(&e->c->n->in[k]->shape) != 1)
            return tc_graph_node_fail(e->c, "input %d ('%s') must be a scalar", k, e->c->n->in[k]->name);
        TC_TRY(tc_graph_trace(e, e->c->n->in[k], &v[k]));
    }
    if (!v[0].constant || !v[2].constant || v[2].most <= 0 || v[1].most < 0)
        return tc_graph_node_refuse(
            e->c, TC_ERROR_DATA_DEPENDENT,
            "start and delta must be known when the model is imported, delta above 0, and limit ('%s') must have "
            "a known largest value; other data-dependent ranges are not supported",
            e->c->n->in[1]->name);
    int64_t start = v[0].most, step = v[2].most, most = TC_MAX(0, (v[1].most - start + step - 1) / step);
    tc_graph_value *span = em_add(e, em_sub(e, v[1].value, number(e, start)), number(e, step - 1));
    tc_graph_value *n = em_max(e, em_div(e, em_max(e, span, number(e, 0)), number(e, step)), number(e, 0));
    tc_graph_value *y = em_add(e, em_mul(e, tc_graph_em_iota(e, most, 0, 1), number(e, step)), number(e, start));
    return become(e,
                  tc_graph_em_sized(e, tc_graph_em_cast(e, em_unary(e, TC_GRAPH_OP_IDENTITY, y), e->c->n->in[0]->dtype), 0, n));
}

/* ---- Slice ---- */

/* A bound of a slice as Python has it, in [0, size]. */
static tc_graph_value *clamped(tc_graph_emitter *e, const tc_graph_number *v, tc_graph_value *size) {
    tc_graph_value *at = v->value, *zero = number(e, 0);
    if (v->constant && v->most < 0)
        at = em_add(e, size, number(e, TC_MAX(v->most, -INT_MAX)));
    else if (!v->constant)
        at = tc_graph_em_where(e, em_less(e, at, zero), em_add(e, at, size), at);
    return em_max(e, em_min(e, at, size), zero);
}

static tc_graph_value *slice_axis(tc_graph_emitter *e, tc_graph_value *x, int d, const tc_graph_number *start,
                                  const tc_graph_number *end, int64_t step) {
    int64_t dim = x->shape.d[d], most = (dim + step - 1) / step;
    tc_graph_value *size = tc_graph_em_size(e, x, d), *from = clamped(e, start, size), *to = clamped(e, end, size);
    tc_graph_value *span = em_add(e, em_sub(e, to, from), number(e, step - 1));
    tc_graph_value *n = em_div(e, em_max(e, span, number(e, 0)), number(e, step)), *y;
    if (start->constant && start->most >= 0) { /* a plain slice at its largest */
        int64_t stop = end->constant && end->most >= 0 ? TC_MIN(end->most, dim) : dim;
        y = tc_graph_em_slice(e, tc_graph_em_blind(e, x), d, start->most, stop, step);
    } else {
        if (start->constant) /* the last few */
            most = TC_MIN(most, (-start->most + step - 1) / step);
        y = tc_graph_em_pick(e, x, d, em_add(e, em_mul(e, tc_graph_em_iota(e, most, 0, 1), number(e, step)), from));
    }
    if (y == x)
        y = em_unary(e, TC_GRAPH_OP_IDENTITY, y);
    return tc_graph_em_sized(e, with_sizes_of(e, y, x, d), d, n);
}

/* Backwards: from one of [-1, size - 1], where -1 is before the first, to another. */
static tc_graph_value *slice_back(tc_graph_emitter *e, tc_graph_value *x, int d, const tc_graph_number *start,
                                  const tc_graph_number *end, int64_t step) {
    int64_t most = (x->shape.d[d] - step - 1) / -step;
    tc_graph_value *size = tc_graph_em_size(e, x, d), *one = number(e, 1), *last = em_sub(e, size, one), *at[2];
    const tc_graph_number *given[] = {start, end};
    for (int k = 0; k < 2; k++) {
        tc_graph_value *v = number(e, TC_MAX(given[k]->most, -INT_MAX)), *zero = number(e, 0);
        v = given[k]->constant ? v : given[k]->value;
        v = tc_graph_em_where(e, em_less(e, v, zero), em_add(e, v, size), v);
        at[k] = em_max(e, em_min(e, v, last), number(e, -1));
    }
    tc_graph_value *span = em_max(e, em_add(e, em_sub(e, at[0], at[1]), number(e, -step - 1)), number(e, 0));
    tc_graph_value *index = em_add(e, em_mul(e, tc_graph_em_iota(e, most, 0, 1), number(e, step)), at[0]);
    tc_graph_value *y = tc_graph_em_pick(e, x, d, index);
    return tc_graph_em_sized(e, with_sizes_of(e, y, x, d), d, em_div(e, span, number(e, -step)));
}

tc_status tc_graph_rewrite_slice(tc_graph_emitter *e) {
    tc_graph_number starts[TC_GRAPH_MAX_NUMBERS], ends[TC_GRAPH_MAX_NUMBERS], axes[TC_GRAPH_MAX_NUMBERS],
        steps[TC_GRAPH_MAX_NUMBERS];
    int64_t n, nends, naxes, nsteps;
    tc_graph_value *x = e->c->n->in[0];
    TC_TRY(tc_graph_dynamic_list(e, 1, TC_ATTR_starts, starts, &n));
    TC_TRY(tc_graph_dynamic_list(e, 2, TC_ATTR_ends, ends, &nends));
    TC_TRY(tc_graph_dynamic_list(e, 3, TC_ATTR_axes, axes, &naxes));
    TC_TRY(tc_graph_dynamic_list(e, 4, TC_ATTR_steps, steps, &nsteps));
    if (n == 0 || n != nends || (naxes && naxes != n) || (nsteps && nsteps != n) || (!naxes && n > x->shape.ndim))
        return tc_graph_node_fail(e->c, "starts, ends, axes and steps must have the same length");
    for (int64_t i = 0; i < n; i++) {
        int d = (int)i;
        if ((naxes && !axes[i].constant) || (nsteps && !steps[i].constant))
            return tc_graph_node_refuse(e->c, TC_ERROR_NOT_CONSTANT, "axes and steps must be known when the model is imported");
        if (naxes)
            TC_TRY(tc_graph_want_axis(e->c, axes[i].most, x->shape.ndim, &d));
        int64_t step = nsteps ? steps[i].most : 1;
        bool plain = starts[i].constant && ends[i].constant && !tc_graph_extent(x, d);
        if (step == 0 || step < -INT_MAX)
            return tc_graph_node_fail(e->c, "steps[%d] is %lld", (int)i, (long long)step);
        tc_graph_value *from = x;
        if (!plain)
            x = step > 0 ? slice_axis(e, x, d, &starts[i], &ends[i], step) : slice_back(e, x, d, &starts[i], &ends[i], step);
        else
            x = with_sizes_of(e, tc_graph_em_slice(e, tc_graph_em_blind(e, x), d, starts[i].most, ends[i].most, step), from, -1);
        TC_TRY(e->status);
    }
    return become(e, x);
}

/* ---- Concat along such an axis: every element asks which part it comes from ---- */

tc_status tc_graph_rewrite_concat(tc_graph_emitter *e) {
    tc_graph_node *n = e->c->n;
    int axis, ndim = n->in[0]->shape.ndim;
    TC_TRY(tc_graph_want_axis(e->c, tc_graph_attr_axis_or(n, 1), ndim, &axis));
    bool moves = false;
    for (int k = 0; k < n->nin; k++)
        moves |= tc_graph_extent(n->in[k], axis) != NULL;
    if (!moves)
        return TC_OK;
    tc_graph_value **parts = TC_NEW_N(e->c->g->arena, tc_graph_value *, n->nin);
    int64_t total = 0;
    for (int k = 0; k < n->nin; k++) {
        parts[k] = tc_graph_em_blind(e, n->in[k]);
        if (n->in[k]->shape.ndim != ndim)
            return tc_graph_node_fail(e->c, "input %d has %d dimensions, but input 0 has %d", k, n->in[k]->shape.ndim, ndim);
        total += n->in[k]->shape.d[axis];
    }
    tc_graph_value *all = tc_graph_em_concat(e, axis, parts, n->nin), *at = tc_graph_em_iota(e, total, 0, 1), *index = at;
    tc_graph_value *begin = number(e, 0);
    int64_t place = 0;
    for (int k = 0; k < n->nin; k++) { /* element i of part k, which begins at `begin`, lies at place + i - begin */
        tc_graph_value *mine = em_sub(e, em_add(e, at, number(e, place)), begin);
        index = k ? tc_graph_em_where(e, em_less(e, at, begin), index, mine) : mine;
        begin = em_add(e, begin, tc_graph_em_size(e, n->in[k], axis));
        place += n->in[k]->shape.d[axis];
    }
    tc_graph_value *y = tc_graph_em_pick(e, all, axis, index);
    for (int k = 0; k < n->nin; k++)
        y = with_sizes_of(e, y, n->in[k], axis);
    return become(e, tc_graph_em_sized(e, y, axis, begin));
}

/* ---- Gather: negative indices count from the end at run time ---- */

tc_status tc_graph_rewrite_gather(tc_graph_emitter *e) {
    tc_graph_node *n = e->c->n;
    int axis, ndim = n->in[0]->shape.ndim;
    TC_TRY(tc_graph_want_axis(e->c, tc_graph_attr_axis(n), ndim, &axis));
    tc_graph_value *size = tc_graph_extent(n->in[0], axis), *index = n->in[1];
    bool negative = !index->constant;
    for (int64_t i = 0, count = tc_graph_shape_count(&index->shape); i < count && !negative && tc_dtype_is_int(index->dtype); i++)
        negative = tc_load_i(index->dtype, index->constant->data, i) < 0;
    if (!size || !negative || !tc_dtype_is_int(index->dtype))
        return TC_OK;
    tc_graph_value *blind = tc_graph_em_cast(e, tc_graph_em_blind(e, index), TC_I64);
    tc_graph_value *wrapped = tc_graph_em_where(e, em_less(e, blind, number(e, 0)), em_add(e, blind, size), blind);
    wrapped = em_max(e, wrapped, number(e, 0));
    n->in[1] = with_sizes_of(e, wrapped, index, -1);
    return e->status;
}

/* ---- order ---- */

/* What must not be among the best sorts last: behind equals, for it comes after them. */
tc_status tc_graph_rewrite_top_k(tc_graph_emitter *e) {
    tc_graph_node *n = e->c->n;
    tc_graph_value *x = n->in[0];
    int axis;
    TC_TRY(tc_graph_want_axis(e->c, tc_graph_attr_axis_or(n, -1), x->shape.ndim, &axis));
    if (!tc_graph_extent(x, axis))
        return TC_OK;
    bool largest = tc_graph_attr_largest(n) != 0;
    n->in[0] = tc_graph_em_masked(e, x, axis, largest ? tc_graph_em_lowest(e, x->dtype) : tc_graph_em_highest(e, x->dtype));
    return e->status;
}

/* Parts are slices of known sizes. */
tc_status tc_graph_rewrite_split(tc_graph_emitter *e) {
    const tc_graph_value *x = e->c->n->in[0];
    int axis;
    TC_TRY(tc_graph_want_axis(e->c, tc_graph_attr_axis(e->c->n), x->shape.ndim, &axis));
    return tc_graph_extent(x, axis) ? tc_graph_dynamic_refuse(e->c, 0, axis) : TC_OK;
}

/* The last of the largest is not past the size: if it seems to be, all are the lowest number there is. */
tc_status tc_graph_rewrite_arg(tc_graph_emitter *e) {
    tc_graph_node *n = e->c->n;
    tc_graph_value *x = n->in[0];
    int axis;
    TC_TRY(tc_graph_want_axis(e->c, tc_graph_attr_axis(n), x->shape.ndim, &axis));
    if (!tc_graph_extent(x, axis) || !tc_graph_attr_select_last_index(n))
        return TC_OK;
    bool max = n->op == TC_GRAPH_OP_ARG_MAX, keep = tc_graph_attr_keepdims(n) != 0;
    x = tc_graph_em_masked(e, x, axis, max ? tc_graph_em_lowest(e, x->dtype) : tc_graph_em_highest(e, x->dtype));
    tc_graph_node *all = tc_graph_em_node(e, n->op, (tc_graph_value *[]){tc_graph_em_blind(e, x)}, 1);
    tc_graph_set_axis(e->c->g, all, axis);
    tc_graph_set_keepdims(e->c->g, all, keep);
    tc_graph_set_select_last_index(e->c->g, all, 1);
    tc_graph_value *y = em_min(e, tc_graph_em_place(e, all), em_sub(e, tc_graph_extent(x, axis), number(e, 1)));
    for (int d = 0, o = 0; d < x->shape.ndim; d++) {
        if (d != axis && tc_graph_extent(x, d))
            y = tc_graph_em_sized(e, y, o, tc_graph_extent(x, d));
        o += d != axis || keep;
    }
    return become(e, y);
}
