/* Convolution and pooling, direct, in the layout of the model: [N, C, spatial...]. */
#include "graph/lower.h"

#include <math.h>

typedef struct window {
    tc_graph_lower *l;
    tc_ctx *c;
    const tc_graph_node *n;
    int nspace; /* spatial dimensions, which start at dimension 2 */
    const int64_t *kernel, *strides, *dilations, *pads;
    const tc_graph_shape *in;
} window;

static window window_of(tc_graph_lower *l, const tc_graph_node *n) {
    size_t len;
    window w = {.l = l, .c = tc_graph_lower_ctx(l), .n = n, .in = &n->in[0]->shape, .nspace = n->in[0]->shape.ndim - 2};
    w.kernel = tc_graph_attr_ints(n, "kernel_shape", &len);
    w.strides = tc_graph_attr_ints(n, "strides", &len);
    w.dilations = tc_graph_attr_ints(n, "dilations", &len);
    w.pads = tc_graph_attr_ints(n, "pads", &len);
    return w;
}

/* o * stride + k * dilation - pad */
static const tc_expr *source(const window *w, int d, const tc_expr *o, const tc_expr *k) {
    tc_ctx *c = w->c;
    const tc_expr *at = tc_add(c, tc_mul(c, o, tc_i64(c, w->strides[d])), tc_mul(c, k, tc_i64(c, w->dilations[d])));
    return tc_graph_index(w->l, tc_add(c, at, tc_i64(c, -w->pads[d])));
}

/* The input at a window position, or `fill` where that lies in the padding. The condition is dropped where it always holds. */
static const tc_expr *element(const window *w, const tc_expr *const *at, const tc_expr *fill, tc_dtype t) {
    tc_ctx *c = w->c;
    const tc_expr *inside = tc_bool(c, true);
    for (int d = 0; d < w->nspace; d++) {
        const tc_expr *i = at[d + 2];
        inside = tc_bin(c, TC_OP_AND, inside, tc_bin(c, TC_OP_GE, i, tc_i64(c, 0)));
        inside = tc_bin(c, TC_OP_AND, inside, tc_bin(c, TC_OP_LT, i, tc_i64(c, w->in->d[d + 2])));
    }
    const tc_expr *x = tc_cast(c, t, tc_graph_value_at(w->l, w->n->in[0], at));
    return tc_select(c, tc_graph_index(w->l, inside), x, fill);
}

/* ---- convolution ---- */

/* Input channel of reduction step k for output channel o: each group reads channels of its own. */
static const tc_expr *channel(const window *w, const tc_expr *o, const tc_expr *k) {
    tc_ctx *c = w->c;
    int64_t groups = tc_graph_attr_int(w->n, "group", 1), outs = w->n->in[1]->shape.d[0], per = w->n->in[1]->shape.d[1];
    if (groups == 1)
        return k;
    const tc_expr *group = tc_div(c, o, tc_i64(c, outs / groups));
    return tc_graph_index(w->l, tc_add(c, tc_mul(c, group, tc_i64(c, per)), k));
}

static void build_conv(const window *w, tc_graph_stage *s, tc_dtype t) {
    const tc_graph_shape *weight = &w->n->in[1]->shape;
    const tc_expr *x[TC_GRAPH_MAX_DIMS], *k[TC_GRAPH_MAX_DIMS];
    k[0] = s->at[1];
    for (int d = 1; d < weight->ndim; d++)
        k[d] = tc_graph_stage_reduce(w->l, s, weight->d[d]);
    x[0] = s->at[0];
    x[1] = channel(w, s->at[1], k[1]);
    for (int d = 0; d < w->nspace; d++)
        x[d + 2] = source(w, d, s->at[d + 2], k[d + 2]);
    const tc_expr *body =
        tc_mul(w->c, element(w, x, tc_imm(w->c, t, 0), t), tc_cast(w->c, t, tc_graph_value_at(w->l, w->n->in[1], k)));
    tc_graph_stage_end(w->l, s, TC_RED_SUM, 1, &body);
}

const tc_expr *tc_graph_at_conv(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    window w = window_of(l, n);
    tc_dtype to = n->out[out]->dtype, t = tc_graph_wide(to);
    tc_graph_stage s;
    if (tc_graph_stage_begin(l, n, 0, &n->out[out]->shape, &s))
        build_conv(&w, &s, t);
    const tc_expr *y = tc_graph_stage_read(l, &s, 0, idx);
    if (n->nin > 2 && n->in[2])
        y = tc_add(w.c, y, tc_cast(w.c, t, tc_graph_value_at(l, n->in[2], &idx[1])));
    return tc_cast(w.c, to, y);
}

/* ---- pooling ---- */

static const tc_expr *ceil_div(const window *w, const tc_expr *a, int64_t by) {
    return tc_div(w->c, tc_add(w->c, a, tc_i64(w->c, by - 1)), tc_i64(w->c, by));
}

/* How many taps of dimension d lie in [low, high) of the input, for output position o. */
static const tc_expr *taps(const window *w, int d, const tc_expr *o, int64_t low, int64_t high) {
    tc_ctx *c = w->c;
    const tc_expr *start = source(w, d, o, tc_i64(c, 0)), *zero = tc_i64(c, 0);
    const tc_expr *first = tc_bin(c, TC_OP_MAX, ceil_div(w, tc_sub(c, tc_i64(c, low), start), w->dilations[d]), zero);
    const tc_expr *past = ceil_div(w, tc_sub(c, tc_i64(c, high), start), w->dilations[d]);
    const tc_expr *count = tc_sub(c, tc_bin(c, TC_OP_MIN, past, tc_i64(c, w->kernel[d])), first);
    return tc_graph_index(w->l, tc_bin(c, TC_OP_MAX, count, zero));
}

static const tc_expr *divisor(const window *w, const tc_expr *const *idx, tc_dtype t) {
    bool padding_counts = tc_graph_attr_int(w->n, "count_include_pad", 0);
    const tc_expr *count = tc_i64(w->c, 1);
    for (int d = 0; d < w->nspace; d++) {
        int64_t low = padding_counts ? -w->pads[d] : 0, high = w->in->d[d + 2] + (padding_counts ? w->pads[d + w->nspace] : 0);
        count = tc_mul(w->c, count, taps(w, d, idx[d + 2], low, high));
    }
    return tc_cast(w->c, t, tc_bin(w->c, TC_OP_MAX, count, tc_i64(w->c, 1)));
}

const tc_expr *tc_graph_at_pool(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    window w = window_of(l, n);
    bool max = n->op == TC_GRAPH_OP_MAX_POOL;
    tc_dtype to = n->out[out]->dtype, t = tc_graph_wide(to);
    tc_reducer red = max ? TC_RED_MAX : TC_RED_SUM;
    tc_graph_stage s;
    if (tc_graph_stage_begin(l, n, 0, &n->out[out]->shape, &s)) {
        const tc_expr *at[TC_GRAPH_MAX_DIMS] = {s.at[0], s.at[1]};
        for (int d = 0; d < w.nspace; d++)
            at[d + 2] = source(&w, d, s.at[d + 2], tc_graph_stage_reduce(l, &s, w.kernel[d]));
        const tc_expr *body = element(&w, at, tc_reducer_identity(w.c, red, 0, t), t);
        tc_graph_stage_end(l, &s, red, 1, &body);
    }
    const tc_expr *y = tc_graph_stage_read(l, &s, 0, idx);
    if (!max)
        y = tc_mul(w.c, y, tc_div(w.c, tc_imm(w.c, t, 1), divisor(&w, idx, t)));
    return tc_cast(w.c, to, y);
}
