/* Operators that move data, on operands whose sizes depend on data. See dynamic.h. */
#include "graph/ops/functions.h"

#include "graph/ir/sizes.h"

#include <limits.h>
#include <string.h>

/* ---- Slice ---- */

/* A bound of a slice as Python has it, in [0, size], where size is at most `most`. */
static tc_graph_value *clamped(tc_graph_emitter *e, const tc_graph_number *v, tc_graph_value *size, int64_t most) {
    if (v->constant && v->most >= most)
        return size;
    tc_graph_value *at = v->value, *zero = tc_graph_em_number(e, 0);
    if (v->constant && v->most < 0)
        at = em_add(e, size, tc_graph_em_number(e, TC_MAX(v->most, -INT_MAX)));
    else if (!v->constant && !tc_graph_never_negative(e, v))
        at = tc_graph_em_where(e, em_less(e, at, zero), em_add(e, at, size), at);
    return em_max(e, em_min(e, at, size), zero);
}

static tc_graph_value *shifted(tc_graph_emitter *e, tc_graph_value *x, int d, tc_graph_value *from) {
    tc_graph_node *n = tc_graph_em_node(e, TC_GRAPH_OP_SHIFTED, (tc_graph_value *[]){tc_graph_em_blind(e, x), from}, 2);
    tc_graph_set_axis(e->c->g, n, d);
    return tc_graph_em_place(e, n);
}

static tc_graph_value *slice_axis(tc_graph_emitter *e, tc_graph_value *x, int d, const tc_graph_number *start,
                                  const tc_graph_number *end, int64_t step) {
    int64_t dim = x->shape.d[d], most = (dim + step - 1) / step;
    tc_graph_value *size = tc_graph_em_size(e, x, d), *from = clamped(e, start, size, dim), *to = clamped(e, end, size, dim);
    tc_graph_value *span = em_add(e, em_sub(e, to, from), tc_graph_em_number(e, step - 1));
    tc_graph_value *n = em_div(e, em_max(e, span, tc_graph_em_number(e, 0)), tc_graph_em_number(e, step)), *y;
    if (start->constant && start->most >= 0) { /* a plain slice at its largest */
        int64_t stop = end->constant && end->most >= 0 ? TC_MIN(end->most, dim) : dim;
        y = tc_graph_em_slice(e, tc_graph_em_blind(e, x), d, start->most, stop, step);
    } else {
        if (start->constant) /* the last few */
            most = TC_MIN(most, (-start->most + step - 1) / step);
        y = tc_graph_em_slice(e, shifted(e, x, d, from), d, 0, TC_MIN(most * step, dim), step);
    }
    if (y == x)
        y = em_unary(e, TC_GRAPH_OP_IDENTITY, y);
    return tc_graph_em_sized(e, tc_graph_em_with_sizes(e, y, x, d, NULL), d, n);
}

/* Backwards: from one of [-1, size - 1], where -1 is before the first, to another. */
static tc_graph_value *slice_back(tc_graph_emitter *e, tc_graph_value *x, int d, const tc_graph_number *start,
                                  const tc_graph_number *end, int64_t step) {
    int64_t most = (x->shape.d[d] - step - 1) / -step;
    tc_graph_value *size = tc_graph_em_size(e, x, d), *one = tc_graph_em_number(e, 1), *last = em_sub(e, size, one), *at[2];
    const tc_graph_number *given[] = {start, end};
    for (int k = 0; k < 2; k++) {
        tc_graph_value *v = tc_graph_em_number(e, TC_MAX(given[k]->most, -INT_MAX)), *zero = tc_graph_em_number(e, 0);
        v = given[k]->constant ? v : given[k]->value;
        v = tc_graph_em_where(e, em_less(e, v, zero), em_add(e, v, size), v);
        at[k] = em_max(e, em_min(e, v, last), tc_graph_em_number(e, -1));
    }
    tc_graph_value *span =
        em_max(e, em_add(e, em_sub(e, at[0], at[1]), tc_graph_em_number(e, -step - 1)), tc_graph_em_number(e, 0));
    tc_graph_value *index = em_add(e, em_mul(e, tc_graph_em_iota(e, most, 0, 1), tc_graph_em_number(e, step)), at[0]);
    tc_graph_value *y = tc_graph_em_pick(e, x, d, index);
    return tc_graph_em_sized(e, tc_graph_em_with_sizes(e, y, x, d, NULL), d, em_div(e, span, tc_graph_em_number(e, -step)));
}

tc_status tc_graph_read_slice(tc_graph_emitter *e, tc_graph_slice_numbers *a) {
    int64_t nends, naxes, nsteps;
    TC_TRY(tc_graph_dynamic_list(e, 1, TC_ATTR_starts, a->starts, &a->n));
    TC_TRY(tc_graph_dynamic_list(e, 2, TC_ATTR_ends, a->ends, &nends));
    TC_TRY(tc_graph_dynamic_list(e, 3, TC_ATTR_axes, a->axes, &naxes));
    TC_TRY(tc_graph_dynamic_list(e, 4, TC_ATTR_steps, a->steps, &nsteps));
    bool is_given = tc_graph_in(e->c, 1) || tc_graph_attr_find(e->c->n, TC_ATTR_starts);
    if (!is_given || a->n != nends || (naxes && naxes != a->n) || (nsteps && nsteps != a->n))
        return tc_graph_node_fail(e->c, "starts, ends, axes and steps must have the same length");
    for (int64_t i = 0; i < a->n; i++) {
        a->axes[i] = naxes ? a->axes[i] : (tc_graph_number){.most = i, .constant = true};
        a->steps[i] = nsteps ? a->steps[i] : (tc_graph_number){.most = 1, .constant = true};
    }
    return TC_OK;
}

tc_status tc_graph_rewrite_slice(tc_graph_emitter *e) {
    tc_graph_slice_numbers a;
    tc_graph_value *x = e->c->n->in[0];
    TC_TRY(tc_graph_read_slice(e, &a));
    for (int64_t i = 0; i < a.n; i++) {
        int d;
        const tc_graph_number *start = &a.starts[i], *end = &a.ends[i];
        if (!a.axes[i].constant || !a.steps[i].constant)
            return tc_graph_node_refuse(e->c, TC_ERROR_NOT_CONSTANT, "axes and steps must be known when the model is imported");
        TC_TRY(tc_graph_want_axis(e->c, a.axes[i].most, x->shape.ndim, &d));
        int64_t step = a.steps[i].most;
        bool plain = start->constant && end->constant && !tc_graph_extent(x, d);
        if (step == 0 || step < -INT_MAX)
            return tc_graph_node_fail(e->c, "steps[%d] is %lld", (int)i, (long long)step);
        tc_graph_value *from = x;
        if (!plain)
            x = step > 0 ? slice_axis(e, x, d, start, end, step) : slice_back(e, x, d, start, end, step);
        else
            x = tc_graph_em_with_sizes(e, tc_graph_em_slice(e, tc_graph_em_blind(e, x), d, start->most, end->most, step), from,
                                       -1, NULL);
        TC_TRY(e->status);
    }
    return tc_graph_em_finish(e, x);
}

/* ---- Concat along such an axis ---- */

tc_status tc_graph_rewrite_concat(tc_graph_emitter *e) {
    tc_graph_node *n = e->c->n;
    int axis, ndim = n->in[0]->shape.ndim;
    TC_TRY(tc_graph_want_axis(e->c, tc_graph_attr_axis_or(n, 1), ndim, &axis));
    bool moves = false;
    for (int k = 0; k < n->nin; k++) {
        moves |= tc_graph_extent(n->in[k], axis) != NULL;
        for (int d = 0; d < ndim && k > 0 && n->in[k]->shape.ndim == ndim; d++)
            if (d != axis)
                TC_TRY(tc_graph_meet(e, n->in[0], d, n->in[k], d, false));
    }
    if (!moves)
        return TC_OK;
    for (int k = 0; k < n->nin; k++)
        if (n->in[k]->shape.ndim != ndim)
            return tc_graph_node_fail(e->c, "input %d has %d dimensions, but input 0 has %d", k, n->in[k]->shape.ndim, ndim);
    tc_graph_value *y = tc_graph_em_blind(e, n->in[0]), *begin = tc_graph_em_size(e, n->in[0], axis);
    for (int k = 1; k < n->nin; k++) {
        tc_graph_value *size = tc_graph_em_size(e, n->in[k], axis);
        y = tc_graph_em_joined(e, axis, y, tc_graph_em_blind(e, n->in[k]), begin, size);
        begin = em_add(e, begin, size);
    }
    y = n->nin == 1 ? em_unary(e, TC_GRAPH_OP_IDENTITY, y) : y;
    for (int k = 0; k < n->nin; k++)
        y = tc_graph_em_with_sizes(e, y, n->in[k], axis, NULL);
    return tc_graph_em_finish(e, tc_graph_em_sized(e, y, axis, begin));
}

/* ---- Pad and Tile: along an open axis, every element asks which one it is ---- */

static bool is_open(const tc_graph_value *x, int d, const tc_graph_number *a, const tc_graph_number *b) {
    bool known = a->constant && b->constant;
    return !known || (tc_graph_extent(x, d) && (a->most || b->most));
}

/* Where padding comes from, as attribute `mode` says. */
typedef enum padding { CONSTANT, EDGE, REFLECT, WRAP } padding;

/* i, which may be negative, modulo size. */
static tc_graph_value *wrapped(tc_graph_emitter *e, tc_graph_value *i, tc_graph_value *size) {
    size = em_max(e, size, tc_graph_em_number(e, 1));
    tc_graph_value *rest = em_sub(e, i, em_mul(e, em_div(e, i, size), size));
    return tc_graph_em_where(e, em_less(e, rest, tc_graph_em_number(e, 0)), em_add(e, rest, size), rest);
}

/* fill: of mode CONSTANT. */
static tc_graph_value *pad_axis(tc_graph_emitter *e, tc_graph_value *x, int d, const tc_graph_number *before,
                                const tc_graph_number *after, tc_graph_value *fill, padding mode) {
    int64_t most = x->shape.d[d] + TC_MAX(before->most, 0) + TC_MAX(after->most, 0);
    tc_graph_value *size = tc_graph_em_size(e, x, d), *from = em_sub(e, tc_graph_em_iota(e, most, 0, 1), before->value);
    tc_graph_value *last = em_sub(e, size, tc_graph_em_number(e, 1)),
                   *n = em_add(e, size, em_add(e, before->value, after->value));
    tc_graph_value *beyond = em_sub(e, last, em_unary(e, TC_GRAPH_OP_ABS, from)), *at = em_min(e, from, last);
    if (mode == REFLECT)
        at = em_sub(e, last, em_unary(e, TC_GRAPH_OP_ABS, beyond));
    else if (mode == WRAP)
        at = wrapped(e, from, size);
    tc_graph_value *y = tc_graph_em_pick(e, x, d, em_max(e, at, tc_graph_em_number(e, 0)));
    if (mode == CONSTANT) {
        tc_graph_value *in =
            tc_graph_em_op(e, TC_GRAPH_OP_AND, em_less(e, tc_graph_em_number(e, -1), from), em_less(e, from, size));
        y = tc_graph_em_where(e, tc_graph_em_along(e, in, d, x->shape.ndim), y, fill);
    }
    return tc_graph_em_with_sizes(e, y, x, d, em_max(e, n, tc_graph_em_number(e, 0)));
}

/* The largest pad that is known reaches no further than the mode does, and what is cut off is there. */
static tc_status require_pads(tc_graph_emitter *e, const tc_graph_value *x, int d, const tc_graph_number *before,
                              const tc_graph_number *after, padding mode) {
    int64_t lo = before->constant ? before->most : 0, hi = after->constant ? after->most : 0, most = TC_MAX(lo, hi);
    TC_TRY(tc_graph_require_size(e, x, d, TC_MAX(-(lo + hi), 0)));
    return mode != CONSTANT && most > 0 ? tc_graph_require_size(e, x, d, mode == REFLECT ? most + 1 : 1) : e->status;
}

static tc_status pad_fill(tc_graph_emitter *e, tc_graph_value **fill) {
    const tc_graph_node *n = e->c->n;
    tc_graph_value *given = n->nin > 2 ? n->in[2] : NULL;
    *fill = tc_graph_em_scalar(e, n->in[0]->dtype, tc_graph_attr_fill(n));
    if (!given)
        return e->status;
    if (given->dtype != n->in[0]->dtype || tc_graph_shape_count(&given->shape) != 1)
        return tc_graph_node_fail(e->c, "the padding value '%s' must be one %s", given->name, tc_dtype_name(n->in[0]->dtype));
    *fill = tc_graph_em_reshape(e, given, &(tc_graph_shape){0});
    return e->status;
}

/* So that sizes and pads can be added: no dimension is that large. */
static bool is_huge(const tc_graph_number *pad) {
    return pad->most > INT64_MAX / 4 || pad->most < -(INT64_MAX / 4);
}

tc_status tc_graph_read_pads(tc_graph_emitter *e, tc_graph_number *before, tc_graph_number *after) {
    tc_graph_number given[TC_GRAPH_MAX_NUMBERS];
    tc_graph_infer_ctx *c = e->c;
    const tc_graph_value *x = c->n->in[0];
    const int64_t *axes = NULL;
    size_t naxes = (size_t)x->shape.ndim;
    int64_t n;
    TC_TRY(tc_graph_dynamic_list(e, 1, tc_graph_attr_find(c->n, TC_ATTR_paddings) ? TC_ATTR_paddings : TC_ATTR_pads, given, &n));
    if (tc_graph_in(c, 3))
        TC_TRY(tc_graph_want_ints(c, 3, "axes", &axes, &naxes));
    if (n != 2 * (int64_t)naxes)
        return tc_graph_node_fail(c, "pads has %lld entries; %zu are expected", (long long)n, 2 * naxes);
    for (int d = 0; d < x->shape.ndim; d++)
        before[d] = after[d] = (tc_graph_number){.value = tc_graph_em_number(e, 0), .constant = true};
    for (size_t i = 0; i < naxes; i++) {
        int at;
        TC_TRY(tc_graph_want_axis(c, axes ? axes[i] : (int64_t)i, x->shape.ndim, &at));
        before[at] = given[i];
        after[at] = given[i + naxes];
        if (is_huge(&before[at]) || is_huge(&after[at]))
            return tc_graph_node_fail(c, "axis %d is padded by %lld and %lld, which no dimension can be", at,
                                      (long long)before[at].most, (long long)after[at].most);
    }
    return tc_graph_has_bounds(given, n) ? e->status : tc_graph_dynamic_no_bound(e, "pads", 1, given);
}

tc_status tc_graph_rewrite_pad(tc_graph_emitter *e) {
    tc_graph_number before[TC_GRAPH_MAX_DIMS], after[TC_GRAPH_MAX_DIMS];
    static const char *const modes[] = {[CONSTANT] = "constant", [EDGE] = "edge", [REFLECT] = "reflect", [WRAP] = "wrap"};
    tc_graph_value *x = e->c->n->in[0], *fill;
    int ndim = x->shape.ndim, mode = 0;
    bool any = false;
    TC_TRY(tc_graph_read_pads(e, before, after));
    for (int d = 0; d < ndim; d++)
        any |= is_open(x, d, &before[d], &after[d]);
    if (!any)
        return TC_OK;
    while (mode < (int)TC_LEN(modes) && strcmp(modes[mode], tc_graph_attr_mode(e->c->n)) != 0)
        mode++;
    if (mode == (int)TC_LEN(modes))
        return TC_OK; /* which is refused */
    TC_TRY(pad_fill(e, &fill));
    for (int d = 0; d < ndim; d++)
        TC_TRY(require_pads(e, x, d, &before[d], &after[d], (padding)mode));
    for (int d = 0; d < ndim; d++)
        if (!before[d].constant || !after[d].constant || before[d].most || after[d].most)
            x = pad_axis(e, x, d, &before[d], &after[d], fill, (padding)mode);
    return tc_graph_em_finish(e, x);
}

tc_status tc_graph_rewrite_tile(tc_graph_emitter *e) {
    tc_graph_number repeats[TC_GRAPH_MAX_NUMBERS];
    tc_graph_value *x = e->c->n->in[0];
    bool any = false;
    int64_t n;
    TC_TRY(tc_graph_dynamic_list(e, 1, TC_ATTR_repeats, repeats, &n));
    if (n != x->shape.ndim)
        return tc_graph_node_fail(e->c, "repeats has %lld entries for %d dimensions", (long long)n, x->shape.ndim);
    if (!tc_graph_has_bounds(repeats, n))
        return tc_graph_dynamic_no_bound(e, "repeats", 1, repeats);
    for (int d = 0; d < x->shape.ndim; d++)
        any |= !repeats[d].constant || (tc_graph_extent(x, d) && repeats[d].most != 1);
    for (int d = 0; d < x->shape.ndim && any; d++) {
        int64_t most;
        if (repeats[d].constant && repeats[d].most == 1)
            continue;
        if (repeats[d].most < 0 || __builtin_mul_overflow(x->shape.d[d], repeats[d].most, &most))
            return tc_graph_node_fail(e->c, "repeats[%d] is %lld", d, (long long)repeats[d].most);
        tc_graph_value *size = tc_graph_em_size(e, x, d), *i = tc_graph_em_iota(e, most, 0, 1);
        tc_graph_value *round = em_mul(e, em_div(e, i, em_max(e, size, tc_graph_em_number(e, 1))), size);
        tc_graph_value *y = tc_graph_em_pick(e, x, d, em_sub(e, i, round));
        x = tc_graph_em_with_sizes(e, y, x, d, em_mul(e, size, repeats[d].value));
    }
    return any ? tc_graph_em_finish(e, x) : TC_OK;
}

/* ---- Split ---- */

/* The parts that a list gives are all there is, whatever a run's sizes are. */
static tc_status meet_parts(tc_graph_emitter *e, const tc_graph_value *x, int axis) {
    const int64_t *part;
    size_t len;
    int64_t sum = 0;
    TC_TRY(tc_graph_want_list(e->c, 1, TC_ATTR_split, &part, &len));
    for (size_t i = 0; i < len; i++)
        if (part[i] < 0 || __builtin_add_overflow(sum, part[i], &sum))
            return tc_graph_node_fail(e->c, "a part has the size %lld", (long long)part[i]);
    return tc_graph_meet_numbers(e, tc_arena_printf(e->c->g->arena, "dimension %d of '%s'", axis, x->name),
                                 tc_graph_size_number(e, x, axis), "the parts that it is split into",
                                 tc_i64(tc_graph_sizes_of(e->c->g)->ctx, sum));
}

/* Part k of those that are `part` large, of which the last may be smaller. */
static tc_graph_value *part_of(tc_graph_emitter *e, tc_graph_value *x, int axis, int k, const tc_graph_number *part, bool even) {
    tc_graph_value *from = em_mul(e, part->value, tc_graph_em_number(e, k)), *n = part->value;
    tc_graph_value *y = tc_graph_em_slice(e, k ? shifted(e, x, axis, from) : tc_graph_em_blind(e, x), axis, 0, part->most, 1);
    if (!even)
        n = em_max(e, em_min(e, n, em_sub(e, tc_graph_extent(x, axis), from)), tc_graph_em_number(e, 0));
    return tc_graph_em_with_sizes(e, y, x, axis, n);
}

/* Into equal parts; before num_outputs there was, the size must be a multiple of their number. */
tc_status tc_graph_rewrite_split(tc_graph_emitter *e) {
    tc_graph_infer_ctx *c = e->c;
    tc_graph_value *x = c->n->in[0];
    int axis;
    TC_TRY(tc_graph_want_axis(c, tc_graph_attr_axis(c->n), x->shape.ndim, &axis));
    if (!tc_graph_extent(x, axis))
        return TC_OK;
    if (tc_graph_in(c, 1) || tc_graph_attr_find(c->n, TC_ATTR_split))
        return meet_parts(e, x, axis);
    int64_t parts = tc_graph_attr_num_outputs_or(c->n, c->nout);
    if (parts < c->nout || parts > 1 << 20)
        return tc_graph_node_fail(c, "it has %d outputs, but is split into %lld parts", c->nout, (long long)parts);
    bool even = tc_graph_divides(e, x, axis, parts) || !tc_graph_attr_find(c->n, TC_ATTR_num_outputs);
    x = even ? tc_graph_em_multiple(e, x, axis, parts) : x;
    tc_graph_value *size = tc_graph_extent(x, axis), *more = tc_graph_em_number(e, even ? 0 : parts - 1);
    tc_graph_number part = tc_graph_em_known(e, em_div(e, em_add(e, size, more), tc_graph_em_number(e, parts)));
    part.most = TC_MIN(part.most < 0 ? x->shape.d[axis] : part.most, x->shape.d[axis]);
    for (int k = 1; k < c->nout; k++)
        tc_graph_em_output(e, k, part_of(e, x, axis, k, &part, even));
    return tc_graph_em_finish(e, part_of(e, x, axis, 0, &part, even));
}
