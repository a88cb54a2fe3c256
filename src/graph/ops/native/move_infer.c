/* Inference of operators that move data: reshapes, transposes, slices, gathers, padding. */
#include <inttypes.h>
#include <string.h>

#include "graph/ops/functions.h"

tc_status tc_graph_infer_identity(tc_graph_infer_ctx *c) {
    tc_graph_become(c, TC_GRAPH_OP_IDENTITY, 1);
    c->out[0] = tc_graph_like(c, 0);
    return TC_OK;
}

/* ---- Reshape and the operators that are nothing but it ---- */

/* Marks the axes of a list for a tensor with ndim dimensions; refuses repetitions. */
static tc_status mark_axes(tc_graph_infer_ctx *c, const int64_t *axes, size_t len, int ndim, bool marked[TC_GRAPH_MAX_DIMS]) {
    for (size_t i = 0; i < len; i++) {
        int at;
        TC_TRY(tc_graph_want_axis(c, axes[i], ndim, &at));
        if (marked[at])
            return tc_graph_node_fail(c, "axis %d is listed twice", at);
        marked[at] = true;
    }
    return TC_OK;
}

/* marked[d]: dimension d goes; *all: those of size 1 go, as no list says which. */
static tc_status squeezed_axes(tc_graph_infer_ctx *c, bool marked[TC_GRAPH_MAX_DIMS], bool *all) {
    const int64_t *axes;
    size_t len;
    TC_TRY(tc_graph_want_list(c, 1, TC_ATTR_axes, &axes, &len));
    *all = !axes;
    return mark_axes(c, axes, len, c->n->in[0]->shape.ndim, marked);
}

/* A dimension that varies is 1 in each run if it goes, and in none if it stays. */
tc_status tc_graph_rewrite_squeeze(tc_graph_emitter *e) {
    tc_graph_value *x = e->c->n->in[0];
    bool marked[TC_GRAPH_MAX_DIMS] = {0}, all;
    TC_TRY(squeezed_axes(e->c, marked, &all));
    for (int d = 0; d < x->shape.ndim; d++)
        if (all)
            TC_TRY(tc_graph_require_not_one(e, x, d));
        else if (marked[d] && x->shape.d[d] > 0)
            x = tc_graph_em_exactly(e, x, d, 1, "a dimension that is squeezed");
    e->c->n->in[0] = x;
    return e->status;
}

tc_status tc_graph_infer_squeeze(tc_graph_infer_ctx *c) {
    const tc_graph_shape *x = &c->n->in[0]->shape;
    bool marked[TC_GRAPH_MAX_DIMS] = {0}, all;
    TC_TRY(squeezed_axes(c, marked, &all));
    for (int i = 0; i < x->ndim; i++) {
        bool one = x->d[i] == 1 && !tc_graph_extent(c->n->in[0], i);
        if (marked[i] && !one)
            return tc_graph_node_fail(c, "dimension %d cannot be squeezed: it is %" PRId64 ", not 1", i, x->d[i]);
        if (all ? !one : !marked[i])
            tc_graph_take(c, &c->out[0], 0, i, i + 1);
    }
    tc_graph_become_reshape(c);
    return TC_OK;
}

tc_status tc_graph_infer_unsqueeze(tc_graph_infer_ctx *c) {
    const tc_graph_shape *x = &c->n->in[0]->shape;
    const int64_t *axes;
    size_t len;
    bool marked[TC_GRAPH_MAX_DIMS] = {0};
    TC_TRY(tc_graph_want_list(c, 1, TC_ATTR_axes, &axes, &len));
    int ndim = x->ndim + (int)TC_MIN(len, TC_GRAPH_MAX_DIMS + 1);
    if (!axes || ndim > TC_GRAPH_MAX_DIMS)
        return tc_graph_node_fail(c, "axes are missing or give more than %d dimensions", TC_GRAPH_MAX_DIMS);
    TC_TRY(mark_axes(c, axes, len, ndim, marked));
    for (int i = 0, from = 0; i < ndim; i++, from += !marked[i - 1])
        if (marked[i])
            tc_graph_add_dim(&c->out[0], 1);
        else
            tc_graph_take(c, &c->out[0], 0, from, from + 1);
    tc_graph_become_reshape(c);
    return TC_OK;
}

/* ---- Transpose, Concat, Split, Slice ---- */

/* Whether the dims other than 1 stay in order: then no byte moves. */
static bool keeps_order(const tc_graph_shape *x, const int64_t *perm) {
    int64_t last = -1;
    for (int i = 0; i < x->ndim; i++) {
        if (x->d[perm[i]] == 1)
            continue;
        if (perm[i] < last)
            return false;
        last = perm[i];
    }
    return true;
}

tc_status tc_graph_infer_transpose(tc_graph_infer_ctx *c) {
    const tc_graph_value *x = c->n->in[0];
    size_t len;
    const int64_t *given = tc_graph_attr_perm(c->n, &len);
    int64_t perm[TC_GRAPH_MAX_DIMS];
    bool seen[TC_GRAPH_MAX_DIMS] = {0};
    if (given && len != (size_t)x->shape.ndim)
        return tc_graph_node_fail(c, "attribute perm has %zu entries for %d dimensions", len, x->shape.ndim);
    int ndim = x->shape.ndim;
    c->out[0].dtype = x->dtype;
    for (int i = 0; i < ndim; i++) {
        perm[i] = given ? given[i] : ndim - 1 - i;
        if (perm[i] < 0 || perm[i] >= ndim || seen[perm[i]])
            return tc_graph_node_fail(c, "attribute perm is not a permutation of 0..%d", ndim - 1);
        seen[perm[i]] = true;
        tc_graph_take(c, &c->out[0], 0, (int)perm[i], (int)perm[i] + 1);
    }
    if (keeps_order(&x->shape, perm))
        tc_graph_become_reshape(c);
    else
        tc_graph_set_perm(c->g, c->n, perm, (size_t)ndim);
    return TC_OK;
}

/* What is more than a kernel should take at once becomes a tree: Concat(a0, .., a99) => Concat(Concat(a0, .., a31), ..). */
static tc_status concat_in_parts(tc_graph_infer_ctx *c, int axis) {
    enum { AT_ONCE = 32 }; /* each part is a buffer of the kernel and a condition for every element */
    while (c->n->nin > AT_ONCE) {
        int n = c->n->nin, made = 0;
        tc_graph_value **part = TC_NEW_N(c->g->arena, tc_graph_value *, (n + AT_ONCE - 1) / AT_ONCE);
        for (int k = 0; k < n; k += AT_ONCE) {
            tc_graph_emitter e = {c, TC_OK};
            part[made++] = tc_graph_em_concat(&e, axis, c->n->in + k, TC_MIN(n - k, AT_ONCE));
            TC_TRY(e.status);
        }
        tc_graph_set_inputs(c->g, c->n, part, made);
    }
    return TC_OK;
}

tc_status tc_graph_infer_concat(tc_graph_infer_ctx *c) {
    const tc_graph_value *x = c->n->in[0];
    int axis;
    if (c->opset >= 4 && !tc_graph_attr_find(c->n, TC_ATTR_axis))
        return tc_graph_node_fail(c, "attribute axis is missing");
    TC_TRY(tc_graph_want_axis(c, tc_graph_attr_axis_or(c->n, 1), x->shape.ndim, &axis));
    tc_graph_shape s = x->shape;
    for (int k = 1; k < c->n->nin; k++) {
        const tc_graph_value *v = c->n->in[k];
        TC_TRY(tc_graph_want_same_type(c, 0, k));
        tc_graph_shape like = v->shape;
        like.d[axis] = x->shape.d[axis];
        if (!tc_graph_shape_equal(&like, &x->shape))
            return tc_graph_node_fail(c, "input %d is %s, which differs from input 0 (%s) beside axis %d", k,
                                      tc_graph_type_str(c->g->arena, v->dtype, &v->shape),
                                      tc_graph_type_str(c->g->arena, x->dtype, &x->shape), axis);
        if (__builtin_add_overflow(s.d[axis], v->shape.d[axis], &s.d[axis]))
            return tc_graph_node_fail(c, "axis %d overflows", axis);
    }
    if (c->n->nin == 1)
        return tc_graph_infer_identity(c);
    c->out[0] = (tc_graph_type){.dtype = x->dtype, .shape = s};
    for (int k = 0; k < c->n->nin; k++)
        tc_graph_take_onto(c, &c->out[0], k, 0);
    tc_graph_set_axis(c->g, c->n, axis);
    return concat_in_parts(c, axis);
}

/* Sizes along the axis: a list, or as equal as possible with a smaller last part. */
static tc_status split_sizes(tc_graph_infer_ctx *c, int64_t extent, const int64_t **sizes) {
    size_t len;
    TC_TRY(tc_graph_want_list(c, 1, TC_ATTR_split, sizes, &len));
    int64_t parts = tc_graph_attr_num_outputs_or(c->n, *sizes ? (int64_t)len : c->nout), sum = 0;
    if (parts < c->nout || parts > 1 << 20 || (*sizes && parts != (int64_t)len))
        return tc_graph_node_fail(c, "it has %d outputs, but is split into %" PRId64 " parts", c->nout, parts);
    if (!*sizes) {
        int64_t part = parts ? (extent + parts - 1) / parts : 0, *equal = TC_NEW_N(c->g->arena, int64_t, parts);
        if (extent % parts != 0 && !tc_graph_attr_find(c->n, TC_ATTR_num_outputs))
            return tc_graph_node_fail(c, "dimension %" PRId64 " does not split into %" PRId64 " equal parts", extent, parts);
        for (int64_t i = 0; i < parts; i++)
            equal[i] = TC_MAX(0, TC_MIN(part, extent - i * part));
        *sizes = equal;
        len = (size_t)parts;
    }
    for (size_t i = 0; i < len; i++)
        if ((*sizes)[i] < 0 || __builtin_add_overflow(sum, (*sizes)[i], &sum))
            return tc_graph_node_fail(c, "a part has the size %" PRId64, (*sizes)[i]);
    if (sum != extent)
        return tc_graph_node_fail(c, "its parts add up to %" PRId64 ", but the dimension is %" PRId64, sum, extent);
    return TC_OK;
}

/* One Slice for each output that is used. */
tc_status tc_graph_infer_split(tc_graph_infer_ctx *c) {
    tc_graph_emitter e = {c, TC_OK};
    tc_graph_value *x = c->n->in[0];
    int axis;
    const int64_t *sizes;
    TC_TRY(tc_graph_want_axis(c, tc_graph_attr_axis(c->n), x->shape.ndim, &axis));
    TC_TRY(split_sizes(c, x->shape.d[axis], &sizes));
    int64_t at = 0, along = axis;
    for (int k = 0; k < c->nout; at += sizes[k++]) {
        if (!c->names[k])
            continue;
        tc_graph_node *n = tc_graph_em_node(&e, TC_GRAPH_OP_SLICE, &x, 1);
        tc_graph_set_axes(c->g, n, &along, 1);
        tc_graph_set_starts(c->g, n, &at, 1);
        tc_graph_set_ends(c->g, n, (const int64_t[]){at + sizes[k]}, 1);
        TC_TRY(tc_graph_place(c->g, n, &c->names[k], 1, TC_GRAPH_OPSET_MAX, c->err));
    }
    c->nout = 0; /* all are there */
    return TC_OK;
}

/* One dimension of a Slice: first index, and number of steps taken. Out-of-range bounds are clamped as in Python. */
static int64_t clamp_slice(int64_t dim, int64_t *start, int64_t end, int64_t step) {
    int64_t lo = step > 0 ? 0 : -1, hi = step > 0 ? dim : dim - 1;
    *start = *start < 0 ? TC_MAX(*start + dim, lo) : TC_MIN(*start, hi);
    end = end < 0 ? TC_MAX(end + dim, lo) : TC_MIN(end, hi);
    int64_t span = step > 0 ? end - *start : *start - end, stride = step > 0 ? step : -step;
    int64_t n = span > 0 ? (span - 1) / stride + 1 : 0;
    if (n == 0)
        *start = 0;
    return n;
}

tc_status tc_graph_infer_slice(tc_graph_infer_ctx *c) {
    const tc_graph_value *x = c->n->in[0];
    tc_graph_emitter e = {c, TC_OK};
    tc_graph_slice_numbers a;
    TC_TRY(tc_graph_read_slice(&e, &a));
    int64_t starts[TC_GRAPH_MAX_DIMS] = {0}, steps[TC_GRAPH_MAX_DIMS];
    for (int i = 0; i < TC_GRAPH_MAX_DIMS; i++)
        steps[i] = 1;
    tc_graph_shape s = x->shape;
    for (int64_t i = 0; i < a.n; i++) {
        int at;
        TC_TRY(tc_graph_want_axis(c, a.axes[i].most, s.ndim, &at));
        steps[at] = a.steps[i].most;
        if (steps[at] == 0 || steps[at] == INT64_MIN)
            return tc_graph_node_fail(c, "the step of axis %d is %" PRId64 "; it must be neither 0 nor the least integer", at,
                                      steps[at]);
        starts[at] = a.starts[i].most;
        s.d[at] = clamp_slice(x->shape.d[at], &starts[at], a.ends[i].most, steps[at]);
    }
    c->out[0] = (tc_graph_type){.dtype = x->dtype, .shape = s};
    bool whole = tc_graph_shape_equal(&s, &x->shape);
    for (int i = 0; i < s.ndim; i++)
        whole = whole && (steps[i] == 1 || s.d[i] <= 1);
    if (whole)
        return tc_graph_infer_identity(c);
    tc_graph_become(c, TC_GRAPH_OP_SLICE, 1);
    tc_graph_set_starts(c->g, c->n, starts, (size_t)s.ndim);
    tc_graph_set_steps(c->g, c->n, steps, (size_t)s.ndim);
    return TC_OK;
}

/* ---- Expand, Tile, Pad, Trilu ---- */

tc_status tc_graph_infer_expand(tc_graph_infer_ctx *c) {
    const tc_graph_value *x = c->n->in[0];
    tc_graph_emitter e = {c, TC_OK};
    tc_graph_number want[TC_GRAPH_MAX_NUMBERS];
    c->out[0].dtype = x->dtype;
    TC_TRY(tc_graph_dynamic_shape(&e, 1, want, &c->out[0].shape));
    TC_TRY(tc_graph_shape_check(&c->out[0].shape, c->err));
    TC_TRY(tc_graph_take_broadcast(c, &c->out[0], 1, 0));
    if (tc_graph_shape_equal(&c->out[0].shape, &x->shape))
        return tc_graph_infer_identity(c);
    tc_graph_become(c, TC_GRAPH_OP_EXPAND, 1);
    return TC_OK;
}

tc_status tc_graph_infer_tile(tc_graph_infer_ctx *c) {
    const tc_graph_value *x = c->n->in[0];
    tc_graph_emitter e = {c, TC_OK};
    tc_graph_number given[TC_GRAPH_MAX_NUMBERS];
    int64_t repeats[TC_GRAPH_MAX_DIMS], len;
    TC_TRY(tc_graph_dynamic_list(&e, 1, TC_ATTR_repeats, given, &len));
    if (len != x->shape.ndim)
        return tc_graph_node_fail(c, "repeats has %" PRId64 " entries for %d dimensions", len, x->shape.ndim);
    tc_graph_shape s = x->shape;
    bool changes = false;
    for (int i = 0; i < s.ndim; i++) {
        repeats[i] = given[i].most;
        changes |= repeats[i] != 1;
        if (repeats[i] < 0 || __builtin_mul_overflow(s.d[i], repeats[i], &s.d[i]))
            return tc_graph_node_fail(c, "repeats[%d] is %" PRId64 "; it must not be negative, nor the result too large", i,
                                      repeats[i]);
    }
    c->out[0] = (tc_graph_type){.dtype = x->dtype, .shape = s};
    if (!changes)
        return tc_graph_infer_identity(c);
    tc_graph_take_onto(c, &c->out[0], 0, 0);
    tc_graph_become(c, TC_GRAPH_OP_TILE, 1);
    tc_graph_set_repeats(c->g, c->n, repeats, (size_t)len);
    return TC_OK;
}

/* How far `mode` can reach outside of a dimension. */
static bool pad_fits(const char *mode, int64_t dim, int64_t pad) {
    if (strcmp(mode, "reflect") == 0)
        return pad <= 0 || pad < dim;
    return pad <= 0 || dim > 0 || strcmp(mode, "constant") == 0;
}

tc_status tc_graph_infer_pad(tc_graph_infer_ctx *c) {
    tc_graph_value *x = c->n->in[0], *value = c->n->nin > 2 ? c->n->in[2] : NULL;
    const char *mode = tc_graph_attr_mode(c->n);
    tc_graph_emitter e = {c, TC_OK};
    tc_graph_number before[TC_GRAPH_MAX_DIMS], after[TC_GRAPH_MAX_DIMS];
    int64_t pads[2 * TC_GRAPH_MAX_DIMS] = {0};
    if (strcmp(mode, "constant") != 0 && strcmp(mode, "reflect") != 0 && strcmp(mode, "edge") != 0 && strcmp(mode, "wrap") != 0)
        return tc_graph_node_refuse(c, TC_ERROR_UNSUPPORTED,
                                    "attribute mode is '%s'; constant, reflect, edge and wrap are supported", mode);
    TC_TRY(tc_graph_read_pads(&e, before, after));
    tc_graph_shape s = x->shape;
    bool changes = false;
    for (int i = 0; i < s.ndim; i++) {
        int64_t lo = pads[i] = before[i].most, hi = pads[i + s.ndim] = after[i].most;
        changes |= lo != 0 || hi != 0;
        if (!pad_fits(mode, s.d[i], lo) || !pad_fits(mode, s.d[i], hi))
            return tc_graph_node_fail(c,
                                      "pads (%" PRId64 ", %" PRId64 ") are too large for dimension %d (%" PRId64 ") in mode %s",
                                      lo, hi, i, s.d[i], mode);
        if (__builtin_add_overflow(s.d[i], lo, &s.d[i]) || __builtin_add_overflow(s.d[i], hi, &s.d[i]) || s.d[i] < 0)
            return tc_graph_node_fail(c, "pads (%" PRId64 ", %" PRId64 ") leave nothing of dimension %d", lo, hi, i);
    }
    c->out[0] = (tc_graph_type){.dtype = x->dtype, .shape = s};
    if (!changes)
        return tc_graph_infer_identity(c);
    double fill = tc_graph_attr_fill(c->n);
    if (value && value->dtype != x->dtype)
        return tc_graph_node_fail(c, "the padding value is %s, but the input %s", tc_dtype_name(value->dtype),
                                  tc_dtype_name(x->dtype));
    if (!value && fill != 0)
        value = tc_graph_em_scalar(&e, x->dtype, fill);
    tc_graph_take_onto(c, &c->out[0], 0, 0);
    tc_graph_become(c, TC_GRAPH_OP_PAD, 1);
    tc_graph_set_inputs(c->g, c->n, (tc_graph_value *[]){x, value}, 2);
    tc_graph_set_mode(c->g, c->n, mode);
    tc_graph_set_pads(c->g, c->n, pads, 2 * (size_t)s.ndim);
    return TC_OK;
}

tc_status tc_graph_infer_trilu(tc_graph_infer_ctx *c) {
    const tc_graph_value *x = c->n->in[0];
    int64_t upper = tc_graph_attr_upper(c->n), k = tc_graph_attr_k(c->n);
    if (x->shape.ndim < 2)
        return tc_graph_node_fail(c, "the input must have at least 2 dimensions");
    if (tc_graph_in(c, 1)) {
        const int64_t *v;
        size_t len;
        TC_TRY(tc_graph_want_ints(c, 1, "k", &v, &len));
        if (len != 1)
            return tc_graph_node_fail(c, "input 1 (k) must have one element");
        k = v[0];
    }
    int64_t rows = x->shape.d[x->shape.ndim - 2], cols = x->shape.d[x->shape.ndim - 1];
    k = TC_MAX(-rows, TC_MIN(k, cols)); /* beyond, all or nothing */
    tc_graph_become(c, TC_GRAPH_OP_TRILU, 1);
    tc_graph_set_upper(c->g, c->n, upper);
    tc_graph_set_k(c->g, c->n, k);
    c->out[0] = tc_graph_like(c, 0);
    return TC_OK;
}
