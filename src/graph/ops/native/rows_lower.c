/* Operators along axes: softmax and its kin, layer normalisation, each a few stages that share their rows; running sums; batch
 * normalisation, which is elementwise. */
#include "graph/ops/functions.h"

#include <float.h>
#include <string.h>

typedef struct rows {
    tc_graph_lower *l;
    tc_ctx *c;
    const tc_graph_node *n;
    tc_dtype t;          /* computed in */
    int first, last;     /* reduced dimensions [first, last) */
    int64_t per;         /* elements of a row */
    tc_graph_shape kept; /* the input's, reduced dimensions 1 */
} rows;

static rows rows_of(tc_graph_lower *l, const tc_graph_node *n, int first, int last) {
    rows r = {l, tc_graph_lower_ctx(l), n, tc_graph_wide(n->in[0]->dtype), first, last, 1, n->in[0]->shape};
    for (int d = first; d < last; d++) {
        r.per *= r.kept.d[d];
        r.kept.d[d] = 1;
    }
    return r;
}

static void row_index(const rows *r, const tc_expr *const *idx, const tc_expr **at) {
    for (int d = 0; d < r->kept.ndim; d++)
        at[d] = d >= r->first && d < r->last ? tc_i64(r->c, 0) : idx[d];
}

static const tc_expr *input(const rows *r, const tc_expr *const *idx) {
    return tc_cast(r->c, r->t, tc_graph_value_at(r->l, r->n->in[0], idx));
}

/* Makes the coordinates of a stage over rows those of an element of the row. */
static void walk_row(const rows *r, tc_graph_stage *s, const tc_expr **at) {
    for (int d = 0; d < r->kept.ndim; d++)
        at[d] = d >= r->first && d < r->last ? tc_graph_stage_walk(r->l, s, 0, d) : s->at[d];
}

typedef const tc_expr *row_term(const rows *r, const tc_expr *const *idx);

/* Stage `key`: the reduction of term over each row, read at the row of idx. */
static const tc_expr *reduced(const rows *r, int key, tc_reducer red, row_term *term, const tc_expr *const *idx) {
    tc_graph_stage s;
    if (tc_graph_stage_begin(r->l, r->n, key, &r->kept, &s)) {
        const tc_expr *at[TC_GRAPH_MAX_DIMS];
        walk_row(r, &s, at);
        const tc_expr *body = term(r, at);
        tc_graph_stage_end(r->l, &s, red, 1, &body);
    }
    const tc_expr *row[TC_GRAPH_MAX_DIMS];
    row_index(r, idx, row);
    return tc_graph_stage_read(r->l, &s, 0, row);
}

/* Stage `key`: term of every element, kept because several stages read it. */
static const tc_expr *mapped(const rows *r, int key, row_term *term, const tc_expr *const *idx) {
    tc_graph_stage s;
    if (tc_graph_stage_begin(r->l, r->n, key, &r->n->in[0]->shape, &s)) {
        const tc_expr *body = term(r, s.at);
        tc_graph_stage_end(r->l, &s, TC_RED_NONE, 1, &body);
    }
    return tc_graph_stage_read(r->l, &s, 0, idx);
}

/* ---- softmax ---- */

enum { PEAK, EXPONENTIAL, TOTAL, WHERE };

/* v, but at least `least` where rows may be hidden. */
static const tc_expr *at_least(const rows *r, const tc_expr *v, double least) {
    return tc_graph_attr_hidden_rows(r->n) ? tc_bin(r->c, TC_OP_MAX, v, tc_imm(r->c, r->t, least)) : v;
}

/* Of a hidden row, which is all -inf, the peak is the lowest finite number. Then its exponentials are 0, and so is their sum. */
static const tc_expr *peak(const rows *r, const tc_expr *const *idx) {
    return at_least(r, reduced(r, PEAK, TC_RED_MAX, input, idx), r->t == TC_F64 ? -DBL_MAX : -(double)FLT_MAX);
}

static const tc_expr *exponential_term(const rows *r, const tc_expr *const *idx) {
    return tc_un(r->c, TC_OP_EXP, tc_sub(r->c, input(r, idx), peak(r, idx)));
}

static const tc_expr *exponential(const rows *r, const tc_expr *const *idx) {
    return mapped(r, EXPONENTIAL, exponential_term, idx);
}

/* The quotient is a product with 1 / total, which is computed once a row. That is no shortcut that a result can tell: exponentials
 * are rounded already, but for those of the peak, which are 1, and 1 / total lies in (0, 1]. */
static const tc_expr *softmax(const rows *r, const tc_expr *const *idx) {
    const tc_expr *total = at_least(r, reduced(r, TOTAL, TC_RED_SUM, exponential, idx), (double)FLT_MIN);
    return tc_mul(r->c, exponential(r, idx), tc_div(r->c, tc_imm(r->c, r->t, 1), total));
}

static const tc_expr *log_softmax(const rows *r, const tc_expr *const *idx) {
    const tc_expr *total = reduced(r, TOTAL, TC_RED_SUM, exponential_term, idx);
    return tc_sub(r->c, tc_sub(r->c, input(r, idx), peak(r, idx)), tc_un(r->c, TC_OP_LOG, total));
}

static const tc_expr *hardmax(const rows *r, const tc_expr *const *idx) {
    tc_graph_stage s;
    if (tc_graph_stage_begin(r->l, r->n, WHERE, &r->kept, &s)) {
        const tc_expr *at[TC_GRAPH_MAX_DIMS];
        walk_row(r, &s, at);
        const tc_expr *body[] = {input(r, at), at[r->first]};
        tc_graph_stage_end(r->l, &s, TC_RED_ARGMAX, 2, body);
    }
    const tc_expr *row[TC_GRAPH_MAX_DIMS];
    row_index(r, idx, row);
    const tc_expr *here = tc_bin(r->c, TC_OP_EQ, idx[r->first], tc_graph_stage_read(r->l, &s, 1, row));
    return tc_select(r->c, here, tc_imm(r->c, r->t, 1), tc_imm(r->c, r->t, 0));
}

const tc_expr *tc_graph_at_softmax(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    int axis = (int)tc_graph_attr_axis(n);
    rows r = rows_of(l, n, axis, axis + 1);
    if (n->op == TC_GRAPH_OP_HARDMAX && r.per == 1)
        return tc_imm(r.c, n->out[out]->dtype, 1);
    row_term *term = n->op == TC_GRAPH_OP_SOFTMAX ? softmax : n->op == TC_GRAPH_OP_LOG_SOFTMAX ? log_softmax : hardmax;
    return tc_cast(r.c, n->out[out]->dtype, term(&r, idx));
}

/* ---- layer normalisation ---- */

enum { SUM, CENTRED, SQUARES };

static const tc_expr *per_element(const rows *r, const tc_expr *sum) {
    return tc_graph_divided(r->c, sum, tc_imm(r->c, r->t, (double)r->per));
}

static const tc_expr *mean(const rows *r, const tc_expr *const *idx) {
    return per_element(r, reduced(r, SUM, TC_RED_SUM, input, idx));
}

static const tc_expr *centred_term(const rows *r, const tc_expr *const *idx) {
    return tc_sub(r->c, input(r, idx), mean(r, idx));
}

static const tc_expr *centred(const rows *r, const tc_expr *const *idx) {
    return mapped(r, CENTRED, centred_term, idx);
}

static const tc_expr *square(const rows *r, const tc_expr *const *idx) {
    const tc_expr *x = centred(r, idx);
    return tc_mul(r->c, x, x);
}

static const tc_expr *inverse_deviation(const rows *r, const tc_expr *const *idx) {
    const tc_expr *variance = per_element(r, reduced(r, SQUARES, TC_RED_SUM, square, idx));
    const tc_expr *epsilon = tc_imm(r->c, r->t, tc_graph_attr_epsilon(r->n));
    return tc_div(r->c, tc_imm(r->c, r->t, 1), tc_un(r->c, TC_OP_SQRT, tc_add(r->c, variance, epsilon)));
}

const tc_expr *tc_graph_at_layer_norm(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    int ndim = n->in[0]->shape.ndim;
    rows r = rows_of(l, n, (int)tc_graph_attr_axis(n), ndim);
    tc_dtype to = n->out[out]->dtype;
    if (out > 0)
        return tc_cast(r.c, to, out == 1 ? mean(&r, idx) : inverse_deviation(&r, idx));
    const tc_expr *y = tc_mul(r.c, centred(&r, idx), inverse_deviation(&r, idx));
    y = tc_mul(r.c, y, tc_cast(r.c, r.t, tc_graph_operand(l, n, 1, ndim, idx)));
    if (n->nin > 2 && n->in[2])
        y = tc_add(r.c, y, tc_cast(r.c, r.t, tc_graph_operand(l, n, 2, ndim, idx)));
    return tc_cast(r.c, to, y);
}

/* ---- running sums ---- */

/* y[i] = sum of x[k] over k <= i. That is quadratic in the axis: long axes have a library kernel. */
const tc_expr *tc_graph_at_cum_sum(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    tc_ctx *c = tc_graph_lower_ctx(l);
    int64_t axis = tc_graph_attr_axis(n);
    bool exclusive = tc_graph_attr_exclusive(n), reverse = tc_graph_attr_reverse(n);
    tc_dtype to = n->out[out]->dtype, t = tc_graph_wide(to);
    tc_graph_stage s;
    if (tc_graph_stage_begin(l, n, 0, &n->out[out]->shape, &s)) {
        const tc_expr *at[TC_GRAPH_MAX_DIMS];
        for (int d = 0; d < s.shape.ndim; d++)
            at[d] = s.at[d];
        at[axis] = tc_graph_stage_walk(l, &s, 0, (int)axis);
        tc_op op = exclusive ? (reverse ? TC_OP_GT : TC_OP_LT) : (reverse ? TC_OP_GE : TC_OP_LE);
        const tc_expr *x = tc_cast(c, t, tc_graph_value_at(l, n->in[0], at));
        const tc_expr *body = tc_select(c, tc_bin(c, op, at[axis], s.at[axis]), x, tc_imm(c, t, 0));
        tc_graph_stage_end(l, &s, TC_RED_SUM, 1, &body);
    }
    return tc_cast(c, to, tc_graph_stage_read(l, &s, 0, idx));
}

/* ---- batch normalisation ---- */

/* (x - mean) * (scale / sqrt(variance + epsilon)) + bias, parameters along dimension 1 */
const tc_expr *tc_graph_at_batch_norm(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    tc_dtype to = n->out[out]->dtype;
    tc_dtype t = tc_graph_wide(to);
    tc_ctx *c = tc_graph_lower_ctx(l);
    const tc_expr *p[5], *channel = n->in[0]->shape.ndim > 1 ? idx[1] : tc_i64(c, 0);
    p[0] = tc_cast(c, t, tc_graph_value_at(l, n->in[0], idx));
    for (int k = 1; k < 5; k++) {
        const tc_expr *at = n->in[k]->shape.ndim ? channel : NULL;
        p[k] = tc_cast(c, t, tc_graph_value_at(l, n->in[k], &at));
    }
    const tc_expr *deviation = tc_un(c, TC_OP_SQRT, tc_bin(c, TC_OP_ADD, p[4], tc_imm(c, t, tc_graph_attr_epsilon(n))));
    const tc_expr *factor = tc_bin(c, TC_OP_DIV, p[1], deviation);
    const tc_expr *y = tc_bin(c, TC_OP_MUL, tc_bin(c, TC_OP_SUB, p[0], p[3]), factor);
    return tc_cast(c, to, tc_bin(c, TC_OP_ADD, y, p[2]));
}
