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

/* ---- Transpose, Concat, Slice ---- */

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
