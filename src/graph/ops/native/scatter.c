/* The Scatter family: a copy of data with some elements replaced by, or combined with, updates. */
#include <inttypes.h>
#include <string.h>

#include "graph/ir/build.h"
#include "graph/ops/functions.h"

/* ---- inference ---- */

/* Updates that an element may ask in a tensor expression: a few vector comparisons, which fuse with what surrounds them. */
enum { ASKED = 16 };

/* Where each element of the result would ask many updates, one pass over these by a library kernel is cheaper. It combines no
 * 16-bit floats and no bools. */
static void prefer_library(tc_graph_infer_ctx *c, int64_t asked, bool tuples, const char *how) {
    tc_dtype t = c->n->in[0]->dtype;
    bool combines = t != TC_F16 && t != TC_BF16 && t != TC_BOOL;
    if (asked <= ASKED || tc_graph_shape_count(&c->n->in[0]->shape) == 0 || (!combines && strcmp(how, "none") != 0))
        return;
    c->n->op = TC_GRAPH_OP_SCATTER_LIST;
    tc_graph_set_tuples(c->g, c->n, tuples);
}

tc_status tc_graph_infer_scatter_list(tc_graph_infer_ctx *c) {
    c->out[0] = (tc_graph_type){.dtype = c->n->in[0]->dtype, .shape = c->n->in[0]->shape};
    return TC_OK;
}

/* The result is as large as x. count: of the updates that an element asks. */
static tc_status scatter_into(tc_graph_infer_ctx *c, int64_t count, bool tuples) {
    const tc_graph_value *x = c->n->in[0];
    c->out[0] = (tc_graph_type){.dtype = x->dtype, .shape = x->shape};
    if (tc_graph_shape_count(&c->n->in[1]->shape) == 0)
        return tc_graph_infer_identity(c);
    prefer_library(c, count, tuples, tc_graph_attr_reduction(c->n));
    return TC_OK;
}

tc_status tc_graph_infer_scatter_elements(tc_graph_infer_ctx *c) {
    return scatter_into(c, c->n->in[1]->shape.d[tc_graph_attr_axis(c->n)], false);
}

tc_status tc_graph_infer_scatter_nd(tc_graph_infer_ctx *c) {
    const tc_graph_shape *index = &c->n->in[1]->shape;
    return scatter_into(c, tc_graph_shape_count(index) / index->d[index->ndim - 1], true);
}

/* ---- lowering ---- */

/* Scatter as tensor expressions: an element of the result asks every update that could meet it.
 *
 *     ScatterElements, axis 1:   L[i, j] = max(k) select(index[i, k] == j, k, -1)          the last update that hits
 *                                Y[i, j] = select(L[i, j] < 0, X[i, j], U[i, max(L, 0)])
 *     with a reduction:          Y[i, j] = X[i, j] + sum(k) select(index[i, k] == j, U[i, k], 0)
 *
 * Each element asks as many updates as there are along the axis (ScatterND: all of them), which is cheap for a few (a cache of
 * keys and values, one row of a table) and no worse than a scatter by one thread for moderate numbers. */

typedef struct scatter {
    tc_graph_lower *l;
    tc_ctx *c;
    const tc_graph_node *n;
    int axis;         /* of ScatterElements */
    int depth, outer; /* of ScatterND: dimensions that are indexed; dimensions of indices that count slices */
    int64_t count;    /* updates that an element asks */
    const char *how;
} scatter;

static scatter scatter_of(tc_graph_lower *l, const tc_graph_node *n) {
    scatter s = {.l = l, .c = tc_graph_lower_ctx(l), .n = n, .how = tc_graph_attr_reduction(n)};
    const tc_graph_shape *index = &n->in[1]->shape;
    s.axis = (int)tc_graph_attr_axis(n);
    s.count = index->d[s.axis];
    if (n->op == TC_GRAPH_OP_SCATTER_ELEMENTS)
        return s;
    s.outer = index->ndim - 1;
    s.depth = (int)index->d[s.outer];
    s.count = tc_graph_shape_count(index) / s.depth;
    return s;
}

static const tc_expr *both(const scatter *s, const tc_expr *a, const tc_expr *b) {
    return a ? tc_bin(s->c, TC_OP_AND, a, b) : b;
}

/* The condition that an index is `at`; negative ones count from the end. */
static const tc_expr *names(const scatter *s, const tc_expr *const *idx, const tc_expr *at, int64_t dim) {
    const tc_expr *i = tc_cast(s->c, TC_I64, tc_graph_value_at(s->l, s->n->in[1], idx));
    const tc_expr *below = tc_bin(s->c, TC_OP_LT, i, tc_i64(s->c, 0));
    return tc_bin(s->c, TC_OP_EQ, tc_select(s->c, below, tc_add(s->c, i, tc_i64(s->c, dim)), i), at);
}

/* Coordinates of update k for the element at idx: those of the updates. Where the updates are smaller than the data they are
 * clamped, and *inside says whether they needed not be. */
static void update_at(const scatter *s, const tc_expr *k, const tc_expr *const *idx, const tc_expr **at, const tc_expr **inside) {
    const tc_graph_shape *u = &s->n->in[2]->shape, *x = &s->n->in[0]->shape;
    *inside = NULL;
    if (s->depth) {
        for (int d = s->outer - 1; d >= 0; d--) {
            at[d] = tc_graph_index(s->l, tc_mod(s->c, k, tc_i64(s->c, u->d[d])));
            k = tc_graph_index(s->l, tc_div(s->c, k, tc_i64(s->c, u->d[d])));
        }
        for (int d = s->outer; d < u->ndim; d++)
            at[d] = idx[d - s->outer + s->depth];
        return;
    }
    for (int d = 0; d < u->ndim; d++) {
        at[d] = d == s->axis ? k : idx[d];
        if (d == s->axis || u->d[d] == x->d[d])
            continue;
        *inside = both(s, *inside, tc_bin(s->c, TC_OP_LT, idx[d], tc_i64(s->c, u->d[d])));
        at[d] = tc_graph_index(s->l, tc_bin(s->c, TC_OP_MIN, idx[d], tc_i64(s->c, u->d[d] - 1)));
    }
}

/* Update k, whose coordinates are `at`, is for the element at idx. */
static const tc_expr *hits(const scatter *s, const tc_expr *const *at, const tc_expr *const *idx) {
    const tc_graph_shape *x = &s->n->in[0]->shape;
    if (!s->depth)
        return names(s, at, idx[s->axis], x->d[s->axis]);
    const tc_expr *where[TC_GRAPH_MAX_DIMS], *all = NULL;
    memcpy(where, at, sizeof *where * (size_t)s->outer);
    for (int d = 0; d < s->depth; d++) {
        where[s->outer] = tc_i64(s->c, d);
        all = both(s, all, names(s, where, idx[d], x->d[d]));
    }
    return all;
}

static tc_reducer reducer_of(const scatter *s) {
    static const struct {
        const char *how;
        tc_reducer red;
    } table[] = {{"add", TC_RED_SUM}, {"mul", TC_RED_PROD}, {"max", TC_RED_MAX}, {"min", TC_RED_MIN}};
    for (size_t i = 0; i < TC_LEN(table); i++)
        if (strcmp(table[i].how, s->how) == 0)
            return table[i].red;
    return TC_RED_NONE;
}

/* What the updates of element idx add up to; without a reduction, the number of the last one, or -1. */
static const tc_expr *asked(const scatter *s, tc_dtype t, const tc_expr *const *idx) {
    tc_reducer red = reducer_of(s);
    tc_graph_stage st;
    if (tc_graph_stage_begin(s->l, s->n, 0, &s->n->in[0]->shape, &st)) {
        const tc_expr *at[TC_GRAPH_MAX_DIMS], *inside, *k = tc_graph_stage_reduce(s->l, &st, s->count);
        update_at(s, k, st.at, at, &inside);
        const tc_expr *hit = both(s, inside, hits(s, at, st.at));
        const tc_expr *body = tc_select(s->c, hit, k, tc_i64(s->c, -1));
        if (red != TC_RED_NONE)
            body = tc_select(s->c, hit, tc_cast(s->c, t, tc_graph_value_at(s->l, s->n->in[2], at)),
                             tc_reducer_identity(s->c, red, 0, t));
        tc_graph_stage_end(s->l, &st, red == TC_RED_NONE ? TC_RED_MAX : red, 1, &body);
    }
    return tc_graph_stage_read(s->l, &st, 0, idx);
}

const tc_expr *tc_graph_at_scatter(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    scatter s = scatter_of(l, n);
    tc_dtype to = n->out[out]->dtype, t = to == TC_BOOL ? TC_U8 : tc_graph_wide(to);
    tc_reducer red = reducer_of(&s);
    const tc_expr *x = tc_graph_value_at(l, n->in[0], idx), *found = asked(&s, t, idx);
    if (red == TC_RED_NONE) {
        const tc_expr *at[TC_GRAPH_MAX_DIMS], *inside, *none = tc_bin(s.c, TC_OP_LT, found, tc_i64(s.c, 0));
        const tc_expr *k = tc_bin(s.c, TC_OP_MIN, tc_bin(s.c, TC_OP_MAX, found, tc_i64(s.c, 0)), tc_i64(s.c, s.count - 1));
        update_at(&s, k, idx, at, &inside);
        return tc_select(s.c, none, x, tc_graph_value_at(l, n->in[2], at));
    }
    const tc_expr *a[] = {tc_cast(s.c, t, x)}, *b[] = {found}, *r[1];
    tc_reducer_combine(s.c, red, a, b, r);
    return tc_cast(s.c, to, r[0]);
}
