/* Operators on operands whose sizes depend on data, before inference, continued: those that put elements where there were none
 * (Pad, Tile), or only at some places (scattering), that take a list of regions, and those that name dimensions. See dynamic.h.
 */
#include "graph/ops/functions.h"

#include <string.h>

static tc_graph_value *number(tc_graph_emitter *e, int64_t v) {
    return tc_graph_em_ints(e, TC_I64, &(tc_graph_shape){0}, &v);
}

/* The node with other operands. */
static tc_graph_value *again(tc_graph_emitter *e, tc_graph_value *const *in) {
    tc_graph *g = e->c->g;
    const tc_graph_node *n = e->c->n;
    tc_graph_node *copy = tc_graph_em_node(e, n->op, in, n->nin);
    copy->attrs = tc_arena_dup(g->arena, n->attrs, n->nattrs * sizeof *n->attrs);
    copy->nattrs = copy->cap_attrs = n->nattrs;
    const char *name = tc_graph_fresh_name(g, tc_arena_printf(g->arena, "%s.all", n->name));
    if (e->status == TC_OK)
        e->status = tc_graph_place(g, copy, &name, 1, e->c->opset, e->c->err);
    return e->status == TC_OK ? tc_graph_find_value(g, name) : in[0];
}

/* y, blind, with the sizes of x but for dimension d, which has `size`. */
static tc_graph_value *with_sizes(tc_graph_emitter *e, tc_graph_value *y, const tc_graph_value *x, int d, tc_graph_value *size) {
    for (int i = 0; i < x->shape.ndim && i < y->shape.ndim; i++)
        if (i == d ? size != NULL : tc_graph_extent(x, i) != NULL)
            y = tc_graph_em_sized(e, y, i, i == d ? size : tc_graph_extent(x, i));
    return y;
}

/* ---- Pad and Tile: along an open axis, every element asks which one it is ---- */

static bool is_open(const tc_graph_value *x, int d, const tc_graph_number *a, const tc_graph_number *b) {
    bool known = a->constant && b->constant;
    return !known || (tc_graph_extent(x, d) && (a->most || b->most));
}

static tc_graph_value *along(tc_graph_emitter *e, tc_graph_value *v, int d, int ndim) {
    tc_graph_shape s = {.ndim = ndim};
    for (int i = 0; i < ndim; i++)
        s.d[i] = i == d ? v->shape.d[0] : 1;
    return tc_graph_em_reshape(e, v, &s);
}

/* fill: NULL repeats the edge. */
static tc_graph_value *pad_axis(tc_graph_emitter *e, tc_graph_value *x, int d, const tc_graph_number *before,
                                const tc_graph_number *after, tc_graph_value *fill) {
    int64_t most = x->shape.d[d] + TC_MAX(before->most, 0) + TC_MAX(after->most, 0);
    tc_graph_value *size = tc_graph_em_size(e, x, d), *from = em_sub(e, tc_graph_em_iota(e, most, 0, 1), before->value);
    tc_graph_value *last = em_sub(e, size, number(e, 1)), *n = em_add(e, size, em_add(e, before->value, after->value));
    tc_graph_value *y = tc_graph_em_pick(e, x, d, em_max(e, em_min(e, from, last), number(e, 0)));
    if (fill) {
        tc_graph_value *in = tc_graph_em_op(e, TC_GRAPH_OP_AND, em_less(e, number(e, -1), from), em_less(e, from, size));
        y = tc_graph_em_where(e, along(e, in, d, x->shape.ndim), y, fill);
    }
    return with_sizes(e, y, x, d, em_max(e, n, number(e, 0)));
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

/* before[d] and after[d] for all dimensions. *any is set if one of them is open. */
static tc_status read_pads(tc_graph_emitter *e, tc_graph_number *before, tc_graph_number *after, bool *any) {
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
        before[d] = after[d] = (tc_graph_number){.value = number(e, 0), .constant = true};
    for (size_t i = 0; i < naxes; i++) {
        int at;
        TC_TRY(tc_graph_want_axis(c, axes ? axes[i] : (int64_t)i, x->shape.ndim, &at));
        before[at] = given[i];
        after[at] = given[i + naxes];
        *any |= is_open(x, at, &before[at], &after[at]);
    }
    return tc_graph_has_bounds(given, n) ? e->status : tc_graph_dynamic_no_bound(e, "pads", 1, given);
}

tc_status tc_graph_rewrite_pad(tc_graph_emitter *e) {
    tc_graph_number before[TC_GRAPH_MAX_DIMS], after[TC_GRAPH_MAX_DIMS];
    const char *mode = tc_graph_attr_mode(e->c->n);
    tc_graph_value *x = e->c->n->in[0], *fill;
    int ndim = x->shape.ndim;
    bool any = false, edge = strcmp(mode, "edge") == 0;
    TC_TRY(read_pads(e, before, after, &any));
    if (!any)
        return TC_OK;
    if (!edge && strcmp(mode, "constant") != 0)
        return tc_graph_node_refuse(e->c, TC_ERROR_UNSUPPORTED,
                                    "attribute mode is '%s'; constant and edge are supported where sizes depend on data", mode);
    TC_TRY(pad_fill(e, &fill));
    for (int d = 0; d < ndim; d++)
        if (!before[d].constant || !after[d].constant || before[d].most || after[d].most)
            x = pad_axis(e, x, d, &before[d], &after[d], edge ? NULL : fill);
    return tc_graph_em_finish(e, x);
}

tc_status tc_graph_rewrite_tile(tc_graph_emitter *e) {
    tc_graph_number repeats[TC_GRAPH_MAX_NUMBERS];
    const tc_graph_number none = {.constant = true};
    tc_graph_value *x = e->c->n->in[0];
    bool any = false;
    int64_t n;
    TC_TRY(tc_graph_dynamic_list(e, 1, TC_ATTR_repeats, repeats, &n));
    if (n != x->shape.ndim)
        return tc_graph_node_fail(e->c, "repeats has %lld entries for %d dimensions", (long long)n, x->shape.ndim);
    if (!tc_graph_has_bounds(repeats, n))
        return tc_graph_dynamic_no_bound(e, "repeats", 1, repeats);
    for (int d = 0; d < x->shape.ndim; d++)
        any |= is_open(x, d, &repeats[d], &none) && !(repeats[d].constant && repeats[d].most == 1);
    for (int d = 0; d < x->shape.ndim && any; d++) {
        int64_t most;
        if (repeats[d].constant && repeats[d].most == 1)
            continue;
        if (repeats[d].most < 0 || __builtin_mul_overflow(x->shape.d[d], repeats[d].most, &most))
            return tc_graph_node_fail(e->c, "repeats[%d] is %lld", d, (long long)repeats[d].most);
        tc_graph_value *size = tc_graph_em_size(e, x, d), *i = tc_graph_em_iota(e, most, 0, 1);
        tc_graph_value *round = em_mul(e, em_div(e, i, em_max(e, size, number(e, 1))), size);
        tc_graph_value *y = tc_graph_em_pick(e, x, d, em_sub(e, i, round));
        x = with_sizes(e, y, x, d, em_mul(e, size, repeats[d].value));
    }
    return any ? tc_graph_em_finish(e, x) : TC_OK;
}

/* ---- scattering: what lies past the sizes of indices goes to a place behind the data, which is cut off ---- */

/* Indices that count from the end, which is not where it will be. size: of the dimension, or a row of sizes. */
static tc_graph_value *from_start(tc_graph_emitter *e, tc_graph_value *index, tc_graph_value *size) {
    index = tc_graph_em_cast(e, tc_graph_em_blind(e, index), TC_I64);
    return tc_graph_em_where(e, em_less(e, index, number(e, 0)), em_add(e, index, size), index);
}

/* The same sizes for what is as large. */
static tc_graph_value *like(tc_graph_emitter *e, tc_graph_value *y, const tc_graph_value *x) {
    return with_sizes(e, y, x, -1, NULL);
}

/* index: blind, of x's axis; past the sizes of `given` it points behind. */
static tc_graph_value *scattered(tc_graph_emitter *e, int axis, tc_graph_value *index, const tc_graph_value *given) {
    tc_graph_value *x = tc_graph_em_blind(e, e->c->n->in[0]), *updates = tc_graph_em_blind(e, e->c->n->in[2]);
    int64_t pads[2 * TC_GRAPH_MAX_DIMS] = {0};
    pads[x->shape.ndim + axis] = 1;
    index = like(e, index, given);
    index = tc_graph_em_blind(e, tc_graph_em_masked(e, index, -1, number(e, x->shape.d[axis])));
    tc_graph_value *y = again(e, (tc_graph_value *[]){tc_graph_em_pad(e, x, pads, NULL), index, updates});
    return tc_graph_em_slice(e, y, axis, 0, x->shape.d[axis], 1);
}

tc_status tc_graph_rewrite_scatter_elements(tc_graph_emitter *e) {
    const tc_graph_node *n = e->c->n;
    const tc_graph_value *x = n->in[0];
    int axis;
    TC_TRY(tc_graph_want_axis(e->c, tc_graph_attr_axis(n), x->shape.ndim, &axis));
    if (!tc_dtype_is_int(n->in[1]->dtype) || n->in[1]->shape.ndim != x->shape.ndim)
        return tc_graph_node_fail(e->c, "the indices '%s' do not fit '%s'", n->in[1]->name, x->name);
    tc_graph_value *index = from_start(e, n->in[1], tc_graph_em_size(e, x, axis));
    tc_graph_value *y = scattered(e, axis, index, tc_graph_is_dynamic(n->in[1]) ? n->in[1] : n->in[2]);
    return tc_graph_em_finish(e, like(e, y, x));
}

/* Of tuples [.., depth], the first entry says where; past the sizes the others are 0. */
tc_status tc_graph_rewrite_scatter_nd(tc_graph_emitter *e) {
    const tc_graph_node *n = e->c->n;
    const tc_graph_value *x = n->in[0], *tuples = n->in[1];
    int last = tuples->shape.ndim - 1;
    int64_t depth = last >= 0 ? tuples->shape.d[last] : 0;
    if (!tc_dtype_is_int(tuples->dtype) || depth < 1 || depth > x->shape.ndim || tc_graph_extent(tuples, last))
        return tc_graph_node_fail(e->c, "the indices '%s' do not fit '%s'", tuples->name, x->name);
    tc_graph_value *sizes[TC_GRAPH_MAX_DIMS];
    for (int d = 0; d < depth; d++)
        sizes[d] = tc_graph_em_reshape(e, tc_graph_em_size(e, x, d), &(tc_graph_shape){1, {1}});
    tc_graph_value *index = from_start(e, n->in[1], tc_graph_em_concat(e, 0, sizes, (int)depth));
    if (depth > 1) { /* behind the data in the first dimension only */
        tc_graph_value *rest = like(e, tc_graph_em_slice(e, index, last, 1, depth, 1), tuples);
        rest = tc_graph_em_blind(e, tc_graph_em_masked(e, rest, -1, number(e, 0)));
        tc_graph_value *first = like(e, tc_graph_em_slice(e, index, last, 0, 1, 1), tuples);
        first = tc_graph_em_blind(e, tc_graph_em_masked(e, first, -1, number(e, x->shape.d[0])));
        index = tc_graph_em_concat(e, last, (tc_graph_value *[]){first, rest}, 2);
        tuples = index;
    }
    return tc_graph_em_finish(e, like(e, scattered(e, 0, index, tuples), x));
}

/* ---- Squeeze and Unsqueeze: which dimension is which does not show where their largest is 1 ---- */

/* x's dimensions but those of 1 that go, between new ones: at[o] is the one that dimension o of the result is, or -1. */
static tc_status with_dims(tc_graph_emitter *e, const int *at, int ndim) {
    tc_graph_value *x = e->c->n->in[0];
    tc_graph_shape s = {.ndim = ndim};
    for (int o = 0; o < ndim; o++)
        s.d[o] = at[o] < 0 ? 1 : x->shape.d[at[o]];
    tc_graph_value *y = tc_graph_em_reshape(e, tc_graph_em_blind(e, x), &s);
    for (int o = 0; o < ndim; o++)
        if (at[o] >= 0 && tc_graph_extent(x, at[o]))
            y = tc_graph_em_sized(e, y, o, tc_graph_extent(x, at[o]));
    return tc_graph_em_finish(e, y);
}

static tc_status marked_axes(tc_graph_emitter *e, int ndim, bool *marked, bool *any) {
    const int64_t *axes;
    size_t len;
    TC_TRY(tc_graph_want_list(e->c, 1, TC_ATTR_axes, &axes, &len));
    *any = axes != NULL;
    for (size_t i = 0; i < len; i++) {
        int d;
        TC_TRY(tc_graph_want_axis(e->c, axes[i], ndim, &d));
        marked[d] = true;
    }
    return TC_OK;
}

tc_status tc_graph_rewrite_squeeze(tc_graph_emitter *e) {
    const tc_graph_value *x = e->c->n->in[0];
    bool go[TC_GRAPH_MAX_DIMS] = {false}, any;
    int at[TC_GRAPH_MAX_DIMS], ndim = 0;
    TC_TRY(marked_axes(e, x->shape.ndim, go, &any));
    for (int d = 0; d < x->shape.ndim; d++) {
        bool one = x->shape.d[d] == 1 && !tc_graph_extent(x, d);
        if (go[d] && !one)
            return tc_graph_extent(x, d) ? tc_graph_dynamic_refuse(e->c, 0, d)
                                         : tc_graph_node_fail(e->c, "dimension %d cannot be squeezed: it is %lld, not 1", d,
                                                              (long long)x->shape.d[d]);
        if (any ? !go[d] : !one)
            at[ndim++] = d;
    }
    return with_dims(e, at, ndim);
}

tc_status tc_graph_rewrite_unsqueeze(tc_graph_emitter *e) {
    const tc_graph_value *x = e->c->n->in[0];
    bool fresh[TC_GRAPH_MAX_DIMS] = {false}, any;
    int at[TC_GRAPH_MAX_DIMS];
    const int64_t *axes;
    size_t len;
    TC_TRY(tc_graph_want_list(e->c, 1, TC_ATTR_axes, &axes, &len));
    int64_t ndim = x->shape.ndim + (int64_t)len;
    if (ndim > TC_GRAPH_MAX_DIMS)
        return tc_graph_node_refuse(e->c, TC_ERROR_UNSUPPORTED, "the result has %lld dimensions; at most %d are supported",
                                    (long long)ndim, TC_GRAPH_MAX_DIMS);
    TC_TRY(marked_axes(e, (int)ndim, fresh, &any));
    int from = 0;
    for (int o = 0; o < ndim; o++)
        at[o] = fresh[o] || from == x->shape.ndim ? -1 : from++;
    if (from < x->shape.ndim || (int)len != (int)ndim - from)
        return tc_graph_node_fail(e->c, "attribute axes names a dimension twice");
    return with_dims(e, at, (int)ndim);
}

/* ---- regions: past their number, they are empty ones of the first image ---- */

tc_status tc_graph_rewrite_regions(tc_graph_emitter *e) {
    const tc_graph_node *n = e->c->n;
    tc_graph_value *in[3] = {n->in[0]}, *size = NULL;
    if (tc_graph_is_dynamic(n->in[0]))
        return tc_graph_dynamic_refuse(e->c, 0, 0);
    for (int k = 1; k < n->nin; k++) {
        const tc_graph_value *v = n->in[k];
        size = size ? size : tc_graph_extent(v, 0);
        in[k] = tc_graph_em_masked(e, n->in[k], -1, tc_graph_em_scalar(e, v->dtype, 0));
        in[k] = tc_graph_em_blind(e, in[k]);
    }
    if (!size)
        return tc_graph_dynamic_refuse(e->c, 1, 0);
    return tc_graph_em_finish(e, tc_graph_em_sized(e, again(e, in), 0, size));
}
