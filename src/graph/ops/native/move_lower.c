/* Operators that move data: each turns the coordinates of its output into those of its input. */
#include "graph/ops/functions.h"

#include <string.h>

static const tc_expr *constant(tc_graph_lower *l, int64_t v) {
    return tc_i64(tc_graph_lower_ctx(l), v);
}

static const tc_expr *add(tc_graph_lower *l, const tc_expr *a, const tc_expr *b) {
    return tc_add(tc_graph_lower_ctx(l), a, b);
}

static const tc_expr *scale(tc_graph_lower *l, const tc_expr *a, int64_t by) {
    return tc_mul(tc_graph_lower_ctx(l), a, constant(l, by));
}

const tc_expr *tc_graph_at_identity(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    (void)out;
    return tc_graph_value_at(l, n->in[0], idx);
}

/* ---- reshape ---- */

/* Runs of dimensions of both shapes that hold the same number of elements are converted on their own, so that a dimension that
 * stays keeps its coordinate, dimensions that merge are added up, and only one that is taken apart meets / and %: [1,128,768] ->
 * [1,128,12,64]:   X[b, s, h * 64 + d] */
typedef struct run {
    int from, to; /* dimensions [from, to) */
    int64_t n;
} run;

static void extend(run *r, const tc_graph_shape *s) {
    r->n *= s->d[r->to++];
}

/* Grows both runs, a of `from` and b of `to`, until they hold the same number of elements. */
static void next_run(run *a, const tc_graph_shape *from, run *b, const tc_graph_shape *to) {
    *a = (run){a->to, a->to, 1};
    *b = (run){b->to, b->to, 1};
    if (a->to < from->ndim)
        extend(a, from);
    if (b->to < to->ndim)
        extend(b, to);
    while (a->n != b->n) {
        if (a->n < b->n && a->to < from->ndim)
            extend(a, from);
        else if (b->to < to->ndim)
            extend(b, to);
        else
            extend(a, from);
    }
}

/* A coordinate in a dimension of one element is 0, which is not always plain to see from what it is made of (i - 3 in the fourth
 * part of a Concat). */
static const tc_expr *linear(tc_graph_lower *l, const run *r, const tc_graph_shape *s, const tc_expr *const *idx) {
    const tc_expr *e = constant(l, 0);
    for (int d = r->from; d < r->to; d++)
        e = s->d[d] == 1 ? e : add(l, scale(l, e, s->d[d]), idx[d]);
    return tc_graph_index(l, e);
}

static void delinear(tc_graph_lower *l, const run *r, const tc_graph_shape *s, const tc_expr *e, const tc_expr **idx) {
    tc_ctx *c = tc_graph_lower_ctx(l);
    int64_t stride = r->n;
    for (int d = r->from; d < r->to; d++) {
        if (s->d[d] == 1) {
            idx[d] = constant(l, 0);
            continue;
        }
        stride /= s->d[d];
        const tc_expr *q = tc_div(c, e, constant(l, stride));
        idx[d] = tc_graph_index(l, stride * s->d[d] == r->n ? q : tc_mod(c, q, constant(l, s->d[d])));
    }
}

const tc_expr *tc_graph_at_reshape(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    const tc_graph_shape *from = &n->in[0]->shape, *to = &n->out[out]->shape;
    const tc_expr *at[TC_GRAPH_MAX_DIMS];
    run a = {0}, b = {0};
    for (int d = 0; d < from->ndim; d++)
        at[d] = constant(l, 0);
    if (tc_graph_shape_count(from) == 0) /* no runs of it are as long as others; nothing is there to be read */
        return tc_graph_value_at(l, n->in[0], at);
    while (a.to < from->ndim || b.to < to->ndim) {
        next_run(&a, from, &b, to);
        delinear(l, &a, from, linear(l, &b, to, idx), at);
    }
    return tc_graph_value_at(l, n->in[0], at);
}

/* ---- affine ---- */

const tc_expr *tc_graph_at_transpose(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    (void)out;
    size_t len;
    const int64_t *perm = tc_graph_attr_perm(n, &len);
    const tc_expr *at[TC_GRAPH_MAX_DIMS];
    for (size_t d = 0; d < len; d++)
        at[perm[d]] = idx[d];
    return tc_graph_value_at(l, n->in[0], at);
}

const tc_expr *tc_graph_at_slice(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    (void)out;
    size_t len;
    const int64_t *starts = tc_graph_attr_starts(n, &len), *steps = tc_graph_attr_steps(n, &len);
    const tc_expr *at[TC_GRAPH_MAX_DIMS];
    for (size_t d = 0; d < len; d++)
        at[d] = tc_graph_index(l, add(l, scale(l, idx[d], steps[d]), constant(l, starts[d])));
    return tc_graph_value_at(l, n->in[0], at);
}

const tc_expr *tc_graph_at_expand(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    return tc_graph_operand(l, n, 0, n->out[out]->shape.ndim, idx);
}

/* ---- by conditions ---- */

/* A part of a concatenation that is not empty, and where it begins. */
typedef struct part {
    int operand;
    int64_t start;
} part;

/* select(i < 3, a[i], select(i < 5, b[i - 3], c[i - 5])): a balanced tree, for what is known of a coordinate under many nested
 * ones is not tracked. */
static const tc_expr *concat_parts(tc_graph_lower *l, const tc_graph_node *n, int axis, const part *p, int len,
                                   const tc_expr *const *idx) {
    if (len > 1) {
        int half = len / 2;
        const tc_expr *left = concat_parts(l, n, axis, p, half, idx);
        const tc_expr *right = concat_parts(l, n, axis, p + half, len - half, idx);
        tc_ctx *c = tc_graph_lower_ctx(l);
        return tc_select(c, tc_bin(c, TC_OP_LT, idx[axis], constant(l, p[half].start)), left, right);
    }
    const tc_expr *at[TC_GRAPH_MAX_DIMS];
    memcpy(at, idx, sizeof *at * (size_t)n->out[0]->shape.ndim);
    at[axis] = tc_graph_index(l, add(l, idx[axis], constant(l, -p->start)));
    return tc_graph_value_at(l, n->in[p->operand], at);
}

const tc_expr *tc_graph_at_concat(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    (void)out;
    int axis = (int)tc_graph_attr_axis(n), len = 0;
    part *parts = TC_NEW_N(tc_ctx_arena(tc_graph_lower_ctx(l)), part, n->nin);
    int64_t start = 0;
    for (int k = 0; k < n->nin; start += n->in[k]->shape.d[axis], k++)
        if (n->in[k]->shape.d[axis] > 0)
            parts[len++] = (part){k, start};
    return concat_parts(l, n, axis, parts, len, idx);
}

const tc_expr *tc_graph_at_tile(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    const tc_graph_shape *from = &n->in[0]->shape, *to = &n->out[out]->shape;
    const tc_expr *at[TC_GRAPH_MAX_DIMS];
    for (int d = 0; d < from->ndim; d++) {
        const tc_expr *i = from->d[d] == to->d[d] ? idx[d] : tc_mod(tc_graph_lower_ctx(l), idx[d], constant(l, from->d[d]));
        at[d] = tc_graph_index(l, i);
    }
    return tc_graph_value_at(l, n->in[0], at);
}

/* Source coordinate of position i (already shifted by the padding) in a dimension of n; *inside: condition that there is one,
 * NULL when always. */
static const tc_expr *padded(tc_graph_lower *l, char mode, const tc_expr *i, int64_t n, const tc_expr **inside) {
    tc_ctx *c = tc_graph_lower_ctx(l);
    const tc_expr *zero = constant(l, 0), *end = constant(l, n), *last = constant(l, n - 1);
    *inside = NULL;
    if (mode == 'e')
        return tc_bin(c, TC_OP_MIN, tc_bin(c, TC_OP_MAX, i, zero), last);
    if (mode == 'w')
        return tc_mod(c, i, end);
    if (mode == 'r') {
        const tc_expr *up = tc_select(c, tc_bin(c, TC_OP_LT, i, zero), tc_sub(c, zero, i), i);
        const tc_expr *down = tc_sub(c, constant(l, 2 * (n - 1)), i);
        const tc_expr *folded = tc_select(c, tc_bin(c, TC_OP_LT, i, end), up, down);
        return tc_bin(c, TC_OP_MIN, tc_bin(c, TC_OP_MAX, folded, zero), last);
    }
    *inside = tc_bin(c, TC_OP_AND, tc_bin(c, TC_OP_GE, i, zero), tc_bin(c, TC_OP_LT, i, end));
    return i;
}

const tc_expr *tc_graph_at_pad(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    tc_ctx *c = tc_graph_lower_ctx(l);
    size_t len;
    const int64_t *pads = tc_graph_attr_pads(n, &len);
    char mode = tc_graph_attr_mode(n)[0];
    const tc_graph_shape *from = &n->in[0]->shape;
    const tc_expr *at[TC_GRAPH_MAX_DIMS], *inside = NULL;
    bool empty = false;
    for (int d = 0; d < from->ndim; d++) {
        const tc_expr *cond = NULL;
        at[d] = idx[d];
        empty |= from->d[d] == 0;
        if (pads[d] || pads[d + from->ndim])
            at[d] =
                tc_graph_index(l, padded(l, mode, tc_graph_index(l, add(l, idx[d], constant(l, -pads[d]))), from->d[d], &cond));
        if (cond)
            inside = inside ? tc_bin(c, TC_OP_AND, inside, cond) : cond;
    }
    const tc_expr *none = NULL, *fill = tc_imm(c, n->out[out]->dtype, 0);
    if (n->nin > 1 && n->in[1]) {
        const tc_expr *zeros[TC_GRAPH_MAX_DIMS];
        for (int d = 0; d < n->in[1]->shape.ndim; d++)
            zeros[d] = constant(l, 0);
        fill = tc_graph_value_at(l, n->in[1], n->in[1]->shape.ndim ? zeros : &none);
    }
    if (empty)
        return fill;
    const tc_expr *x = tc_graph_value_at(l, n->in[0], at);
    return inside ? tc_select(c, tc_graph_index(l, inside), x, fill) : x;
}

const tc_expr *tc_graph_at_trilu(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    tc_ctx *c = tc_graph_lower_ctx(l);
    int d = n->out[out]->shape.ndim;
    const tc_expr *edge = add(l, idx[d - 2], constant(l, tc_graph_attr_k(n)));
    const tc_expr *kept = tc_bin(c, tc_graph_attr_upper(n) ? TC_OP_GE : TC_OP_LE, idx[d - 1], edge);
    return tc_select(c, kept, tc_graph_value_at(l, n->in[0], idx), tc_imm(c, n->out[out]->dtype, 0));
}
