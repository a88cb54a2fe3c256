/* MaxPool that also tells where its maxima are: one reduction to the value and its place in the plane, of which the first wins.
 *
 *     V[c, o], I[c, o] = argmax(k) {X[c, o * stride + k - pad], o * stride + k - pad}        what is outside: the lowest value,
 * and an index that wins against none */
#include "graph/ops/functions.h"

typedef struct window {
    tc_graph_lower *l;
    tc_ctx *c;
    const tc_graph_shape *in;
    int n; /* spatial dimensions */
    const int64_t *kernel, *strides, *dilations, *pads;
} window;

static window window_of(tc_graph_lower *l, const tc_graph_node *n) {
    size_t len;
    window w = {.l = l, .c = tc_graph_lower_ctx(l), .in = &n->in[0]->shape, .n = n->in[0]->shape.ndim - 2};
    w.kernel = tc_graph_attr_kernel_shape(n, &len);
    w.strides = tc_graph_attr_strides(n, &len);
    w.dilations = tc_graph_attr_dilations(n, &len);
    w.pads = tc_graph_attr_pads(n, &len);
    return w;
}

static const tc_expr *scaled(const window *w, const tc_expr *a, int64_t by) {
    return tc_mul(w->c, a, tc_i64(w->c, by));
}

/* The place of `at` in its plane, row-major. */
static const tc_expr *place_of(const window *w, const tc_expr *const *at) {
    const tc_expr *place = tc_i64(w->c, 0);
    for (int d = 2; d < w->in->ndim; d++)
        place = tc_add(w->c, scaled(w, place, w->in->d[d]), at[d]);
    return tc_graph_index(w->l, place);
}

static void build(const window *w, const tc_graph_node *n, tc_graph_stage *s) {
    const tc_expr *at[TC_GRAPH_MAX_DIMS] = {s->at[0], s->at[1]}, *inside = tc_bool(w->c, true);
    for (int d = 0; d < w->n; d++) {
        const tc_expr *tap = tc_graph_stage_reduce(w->l, s, w->kernel[d]);
        const tc_expr *i = tc_add(w->c, scaled(w, s->at[d + 2], w->strides[d]), scaled(w, tap, w->dilations[d]));
        at[d + 2] = tc_graph_index(w->l, tc_sub(w->c, i, tc_i64(w->c, w->pads[d])));
        inside = tc_bin(w->c, TC_OP_AND, inside, tc_bin(w->c, TC_OP_GE, at[d + 2], tc_i64(w->c, 0)));
        inside = tc_bin(w->c, TC_OP_AND, inside, tc_bin(w->c, TC_OP_LT, at[d + 2], tc_i64(w->c, w->in->d[d + 2])));
    }
    inside = tc_graph_index(w->l, inside);
    tc_dtype from = n->in[0]->dtype, t = tc_graph_wide(from);
    const tc_expr *none = tc_reducer_identity(w->c, TC_RED_MAX, 0, from);
    const tc_expr *x = tc_select(w->c, inside, tc_graph_value_at(w->l, n->in[0], at), none);
    const tc_expr *body[] = {tc_cast(w->c, t, x), tc_select(w->c, inside, place_of(w, at), tc_i64(w->c, INT64_MAX))};
    if (s->nraxis == 0) { /* windows of one element: no reduction, but two results all the same */
        s->raxes[s->nraxis++] = tc_graph_axis(w->l, "k", 0, 1);
    }
    tc_graph_stage_end(w->l, s, TC_RED_ARGMAX, 2, body);
}

/* A place counted row by row, counted column by column instead. */
static const tc_expr *by_columns(const window *w, const tc_expr *place) {
    const tc_expr *r = tc_i64(w->c, 0);
    for (int d = w->in->ndim - 1; d >= 2; d--) { /* the last dimension becomes the slowest */
        const tc_expr *coordinate = tc_mod(w->c, place, tc_i64(w->c, w->in->d[d]));
        int64_t unit = 1;
        for (int k = 2; k < d; k++)
            unit *= w->in->d[k];
        r = tc_add(w->c, r, scaled(w, coordinate, unit));
        place = tc_div(w->c, place, tc_i64(w->c, w->in->d[d]));
    }
    return r;
}

const tc_expr *tc_graph_at_pool_indices(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    window w = window_of(l, n);
    const tc_graph_shape *shape = n->out[0] ? &n->out[0]->shape : &n->out[1]->shape;
    tc_graph_stage s;
    if (tc_graph_stage_begin(l, n, 0, shape, &s))
        build(&w, n, &s);
    const tc_expr *y = tc_graph_stage_read(l, &s, out, idx);
    if (out == 0)
        return tc_cast(w.c, n->out[0]->dtype, y);
    int64_t plane = 1;
    for (int d = 2; d < w.in->ndim; d++)
        plane *= w.in->d[d];
    if (tc_graph_attr_storage_order(n))
        y = by_columns(&w, y);
    const tc_expr *before = tc_add(w.c, scaled(&w, idx[0], w.in->d[1]), idx[1]);
    return tc_add(w.c, y, scaled(&w, before, plane));
}
