/* Reductions: one stage, and what remains to be done with its sum is written where it is read. */
#include "graph/ops/functions.h"

#include <float.h>
#include <math.h>

/* The shape that a reduction's stage has: the input's, with the reduced dimensions 1. */
static tc_graph_shape kept_shape(const tc_graph_shape *s, const int64_t *axes, size_t naxes) {
    tc_graph_shape kept = *s;
    for (size_t k = 0; k < naxes; k++)
        kept.d[axes[k]] = 1;
    return kept;
}

/* Coordinates of a stage of kept_shape from those of the node's output. */
static void kept_index(tc_ctx *c, const tc_graph_node *n, int ndim, const int64_t *axes, size_t naxes, const tc_expr *const *idx,
                       const tc_expr **at) {
    bool keepdims = tc_graph_attr_keepdims(n);
    size_t k = 0;
    for (int d = 0, from = 0; d < ndim; d++) {
        bool reduced = k < naxes && axes[k] == d;
        k += reduced;
        at[d] = reduced ? tc_i64(c, 0) : idx[from];
        from += !reduced || keepdims;
    }
}

enum ending { AS_IS, MEAN, ROOT, LOGARITHM };

static const struct {
    tc_reducer reducer;
    enum { PLAIN, ABSOLUTE, SQUARE } term; /* of an element */
    enum ending end;                       /* what is done with the sum */
    bool needs_reals;                      /* of integers, too */
} reductions[TC_GRAPH_OP_COUNT] = {
    [TC_GRAPH_OP_REDUCE_L1] = {TC_RED_SUM, ABSOLUTE, AS_IS, false},
    [TC_GRAPH_OP_REDUCE_L2] = {TC_RED_SUM, SQUARE, ROOT, true},
    [TC_GRAPH_OP_REDUCE_LOG_SUM] = {TC_RED_SUM, PLAIN, LOGARITHM, true},
    [TC_GRAPH_OP_REDUCE_LOG_SUM_EXP] = {TC_RED_SUM, PLAIN, AS_IS, true}, /* as two stages: tc_graph_at_reduce */
    [TC_GRAPH_OP_REDUCE_MAX] = {TC_RED_MAX, PLAIN, AS_IS, false},
    [TC_GRAPH_OP_REDUCE_MEAN] = {TC_RED_SUM, PLAIN, MEAN, false},
    [TC_GRAPH_OP_REDUCE_MIN] = {TC_RED_MIN, PLAIN, AS_IS, false},
    [TC_GRAPH_OP_REDUCE_PROD] = {TC_RED_PROD, PLAIN, AS_IS, false},
    [TC_GRAPH_OP_REDUCE_SUM] = {TC_RED_SUM, PLAIN, AS_IS, false},
    [TC_GRAPH_OP_REDUCE_SUM_SQUARE] = {TC_RED_SUM, SQUARE, AS_IS, false},
};

static tc_reducer reducer_of(tc_graph_op op) {
    return reductions[op].reducer;
}

/* What is summed: computed in f64 where integers need roots or logarithms. */
static tc_dtype reduce_type(const tc_graph_node *n) {
    tc_dtype t = n->in[0]->dtype;
    if (t == TC_BOOL)
        return TC_I32;
    return reductions[n->op].needs_reals && !tc_dtype_is_float(t) ? TC_F64 : tc_graph_wide(t);
}

static const tc_expr *term_of(tc_ctx *c, const tc_graph_node *n, const tc_expr *x) {
    switch (reductions[n->op].term) {
    case PLAIN:
        break;
    case ABSOLUTE:
        return tc_dtype_is_signed(x->dtype) ? tc_un(c, TC_OP_ABS, x) : x;
    case SQUARE:
        return tc_mul(c, x, x);
    }
    return x;
}

typedef struct reduction {
    tc_graph_lower *l;
    const tc_graph_node *n;
    tc_dtype t;
    const int64_t *axes;
    size_t naxes;
    tc_graph_shape kept;
    int64_t per; /* elements reduced to one */
} reduction;

static reduction reduction_of(tc_graph_lower *l, const tc_graph_node *n) {
    reduction r = {.l = l, .n = n, .t = reduce_type(n), .per = 1};
    r.axes = tc_graph_attr_axes(n, &r.naxes);
    r.kept = kept_shape(&n->in[0]->shape, r.axes, r.naxes);
    for (size_t k = 0; k < r.naxes; k++)
        r.per *= n->in[0]->shape.d[r.axes[k]];
    return r;
}

/* The input's coordinates in a stage: reduction axes where it reduces. */
static const tc_expr *element(const reduction *r, tc_graph_stage *s) {
    const tc_expr *at[TC_GRAPH_MAX_DIMS];
    size_t k = 0;
    for (int d = 0; d < s->shape.ndim; d++) {
        bool reduced = k < r->naxes && r->axes[k] == d;
        k += reduced;
        at[d] = reduced ? tc_graph_stage_walk(r->l, s, 0, d) : s->at[d];
    }
    return tc_cast(tc_graph_lower_ctx(r->l), r->t, tc_graph_value_at(r->l, r->n->in[0], at));
}

static const tc_expr *staged(const reduction *r, int key, tc_reducer red, const tc_expr *const *idx);

/* The maximum of a row, or the finite number nearest to it: infinity minus infinity would be NaN. */
static const tc_expr *finite_peak(const reduction *r, const tc_expr *const *idx) {
    tc_ctx *c = tc_graph_lower_ctx(r->l);
    double most = r->t == TC_F64 ? DBL_MAX : (double)FLT_MAX;
    const tc_expr *peak = tc_bin(c, TC_OP_MAX, staged(r, 1, TC_RED_MAX, idx), tc_float(c, r->t, -most));
    return tc_bin(c, TC_OP_MIN, peak, tc_float(c, r->t, most));
}

/* Stage `key` reduces an element (0), the element for its maximum (1), or exp(element - maximum) (2). */
static const tc_expr *staged(const reduction *r, int key, tc_reducer red, const tc_expr *const *idx) {
    tc_ctx *c = tc_graph_lower_ctx(r->l);
    tc_graph_stage s;
    if (tc_graph_stage_begin(r->l, r->n, key, &r->kept, &s)) {
        const tc_expr *body = element(r, &s);
        if (key == 2)
            body = tc_un(c, TC_OP_EXP, tc_sub(c, body, finite_peak(r, s.at)));
        else if (key == 0)
            body = term_of(c, r->n, body);
        tc_graph_stage_end(r->l, &s, red, 1, &body);
    }
    return tc_graph_stage_read(r->l, &s, 0, idx);
}

static const tc_expr *finished(const reduction *r, const tc_expr *sum) {
    tc_ctx *c = tc_graph_lower_ctx(r->l);
    switch (reductions[r->n->op].end) {
    case AS_IS:
        break;
    case MEAN:
        return tc_graph_divided(c, sum, tc_float(c, r->t, (double)r->per));
    case ROOT:
        return tc_un(c, TC_OP_SQRT, sum);
    case LOGARITHM:
        return tc_un(c, TC_OP_LOG, sum);
    }
    return sum;
}

const tc_expr *tc_graph_at_reduce(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    tc_ctx *c = tc_graph_lower_ctx(l);
    tc_dtype to = n->out[out]->dtype;
    reduction r = reduction_of(l, n);
    const tc_expr *at[TC_GRAPH_MAX_DIMS];
    kept_index(c, n, n->in[0]->shape.ndim, r.axes, r.naxes, idx, at);
    if (r.per == 0) {
        const tc_expr *nothing = tc_reducer_identity(c, reducer_of(n->op), 0, r.t);
        return tc_cast(c, to, n->op == TC_GRAPH_OP_REDUCE_LOG_SUM_EXP ? tc_imm(c, r.t, -INFINITY) : finished(&r, nothing));
    }
    if (n->op == TC_GRAPH_OP_REDUCE_LOG_SUM_EXP)
        return tc_cast(c, to, tc_add(c, tc_un(c, TC_OP_LOG, staged(&r, 2, TC_RED_SUM, at)), finite_peak(&r, at)));
    return tc_cast(c, to, finished(&r, staged(&r, 0, reducer_of(n->op), at)));
}

/* The last of equal elements, NaN too, is the first from behind. */
const tc_expr *tc_graph_at_arg(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    (void)out;
    tc_ctx *c = tc_graph_lower_ctx(l);
    int64_t axis = tc_graph_attr_axis(n), extent = n->in[0]->shape.d[axis];
    bool last = tc_graph_attr_select_last_index(n);
    tc_graph_shape kept = kept_shape(&n->in[0]->shape, &axis, 1);
    const tc_expr *at[TC_GRAPH_MAX_DIMS], *end = tc_i64(c, extent - 1);
    kept_index(c, n, kept.ndim, &axis, 1, idx, at);
    if (extent == 1)
        return tc_i64(c, 0);
    tc_graph_stage s;
    if (tc_graph_stage_begin(l, n, 0, &kept, &s)) {
        const tc_expr *k = s.at[axis] = tc_graph_stage_walk(l, &s, 0, (int)axis), *x = tc_graph_value_at(l, n->in[0], s.at);
        x = tc_cast(c, tc_graph_wide(x->dtype), x);
        const tc_expr *body[] = {x, last ? tc_sub(c, end, k) : k};
        tc_graph_stage_end(l, &s, n->op == TC_GRAPH_OP_ARG_MAX ? TC_RED_ARGMAX : TC_RED_ARGMIN, 2, body);
    }
    const tc_expr *found = tc_graph_stage_read(l, &s, 1, at);
    return last ? tc_sub(c, end, found) : found;
}
