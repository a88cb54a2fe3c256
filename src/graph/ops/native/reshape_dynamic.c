/* Reshape and its kin on operands whose sizes depend on data. See dynamic.h. */
#include <inttypes.h>

#include "graph/ir/sizes.h"
#include "graph/ops/functions.h"

/* ---- Reshape, before inference ---- */

typedef struct reshaper {
    tc_graph_emitter *e;
    tc_graph_value *x;
    tc_graph_type to;
} reshaper;

static bool same_dim(const reshaper *r, int i, int o) {
    return r->x->shape.d[i] == r->to.shape.d[o] && tc_graph_extent(r->x, i) == r->to.size[o];
}

/* The dimensions that do not correspond: of x from[0]..to[0], of the result from[1]..to[1]. */
typedef struct middle {
    int from[2], to[2];
} middle;

static middle middle_of(const reshaper *r) {
    int i = 0, o = 0, ie = r->x->shape.ndim, oe = r->to.shape.ndim;
    while (i < ie && o < oe && same_dim(r, i, o))
        i++, o++;
    while (ie > i && oe > o && same_dim(r, ie - 1, oe - 1))
        ie--, oe--;
    return (middle){{i, o}, {ie, oe}};
}

static int64_t count(const tc_graph_shape *s, int from, int to) {
    int64_t n = 1;
    for (int d = from; d < to; d++)
        n *= s->d[d];
    return n;
}

/* Only the first of the dimensions that do not correspond may vary: then an element's place does not depend on sizes. Dimensions of
 * 1 come and go between those that correspond. */
static bool keeps_places(const reshaper *r) {
    middle m = middle_of(r);
    int i = m.from[0], o = m.from[1];
    bool as_many = count(&r->x->shape, i, m.to[0]) == count(&r->to.shape, o, m.to[1]);
    for (bool moves = true; moves;) {
        bool one_in = i < m.to[0] && r->x->shape.d[i] == 1 && !tc_graph_extent(r->x, i);
        bool one_out = o < m.to[1] && r->to.shape.d[o] == 1 && !r->to.size[o];
        bool both = !one_in && !one_out && i < m.to[0] && o < m.to[1] && same_dim(r, i, o);
        moves = one_in || one_out || both;
        i += one_in || both;
        o += one_out || both;
    }
    for (int d = i + 1; d < m.to[0]; d++)
        if (tc_graph_extent(r->x, d))
            return false;
    for (int d = o + 1; d < m.to[1]; d++)
        if (r->to.size[d])
            return false;
    return as_many;
}

/* Such a dimension stands behind others and changes: dense rows then begin elsewhere than in the largest array. As plain memory,
 * both sides would be copied. False also where nobody knows that the sizes of both sides agree: kernels could not rely on it. */
static bool changes_rows(const reshaper *r) {
    middle m = middle_of(r);
    int i = m.from[0], o = m.from[1];
    if (i == 0 || i == m.to[0] || o == m.to[1] || !tc_graph_extent(r->x, i) || !r->to.size[o] ||
        r->x->shape.d[i] == r->to.shape.d[o])
        return false;
    tc_graph_sizes *s = tc_graph_sizes_of(r->e->c->g);
    const tc_expr *x = tc_mul(s->ctx, tc_graph_size_number(r->e, r->x, i), tc_i64(s->ctx, count(&r->x->shape, i + 1, m.to[0])));
    const tc_expr *y =
        tc_mul(s->ctx, tc_graph_em_known(r->e, r->to.size[o]).x, tc_i64(s->ctx, count(&r->to.shape, o + 1, m.to[1])));
    return tc_is_int(tc_graph_sizes_simplify(s, tc_sub(s->ctx, x, y)), 0);
}

/* Equal sizes are one value: so what is known of a size is known of every product that it is. */
static tc_graph_value *size_value(const reshaper *r, tc_graph_value *size, int64_t most) {
    return tc_graph_em_known(r->e, size ? size : tc_graph_em_number(r->e, most)).value;
}

/* What does not correspond, except what is fixed at the end of both, and as much: that stays apart. */
static middle varying_middle(const reshaper *r) {
    middle all = middle_of(r), m = all;
    while (m.to[0] > m.from[0] && !tc_graph_extent(r->x, m.to[0] - 1))
        m.to[0]--;
    while (m.to[1] > m.from[1] && !r->to.size[m.to[1] - 1])
        m.to[1]--;
    bool as_many = count(&r->x->shape, m.to[0], all.to[0]) == count(&r->to.shape, m.to[1], all.to[1]);
    return as_many && m.to[1] + r->x->shape.ndim - m.to[0] <= TC_GRAPH_MAX_DIMS ? m : all;
}

/* The place of each element of the result among those of x, by arithmetic on the sizes. */
static tc_graph_value *regrouped(reshaper *r) {
    tc_graph_emitter *e = r->e;
    middle m = varying_middle(r);
    tc_graph_shape to = r->to.shape;
    tc_graph_value *in[1 + 3 * TC_GRAPH_MAX_DIMS] = {tc_graph_em_blind(e, r->x)}, *product = tc_graph_em_number(e, 1);
    int nin = 1;
    for (int d = m.from[0]; d < m.to[0]; d++) {
        tc_graph_value *size = size_value(r, tc_graph_extent(r->x, d), r->x->shape.d[d]);
        product = d > m.from[0] ? size_value(r, em_mul(e, product, size), 0) : size;
        if (d == m.from[0])
            continue;
        in[nin++] = product;
        in[nin++] = size;
    }
    if (nin == 1)
        in[nin++] = product;
    for (int o = m.from[1] + 1; o < m.to[1]; o++)
        in[nin++] = size_value(r, r->to.size[o], r->to.shape.d[o]);
    tc_graph_node *n = tc_graph_em_node(e, TC_GRAPH_OP_REGROUPED, in, nin);
    to.ndim = m.to[1];
    for (int d = m.to[0]; d < r->x->shape.ndim; d++)
        to.d[to.ndim++] = r->x->shape.d[d];
    tc_graph_set_axes(e->c->g, n, (const int64_t[]){m.from[0], m.to[0], m.to[1]}, 3);
    tc_graph_set_shape(e->c->g, n, to.d, (size_t)to.ndim);
    return tc_graph_em_reshape(e, tc_graph_em_place(e, n), &r->to.shape);
}

static tc_graph_value *reshaped(reshaper *r) {
    tc_graph_value *y = keeps_places(r) && !changes_rows(r)
                            ? tc_graph_em_reshape(r->e, tc_graph_em_blind(r->e, r->x), &r->to.shape)
                            : regrouped(r);
    if (y == r->x)
        y = em_unary(r->e, TC_GRAPH_OP_IDENTITY, y);
    for (int o = 0; o < r->to.shape.ndim; o++)
        if (r->to.size[o])
            y = tc_graph_em_sized(r->e, y, o, r->to.size[o]);
    return y;
}

/* What both sides have without the dimensions that are the same on both: the product of what varies, NULL where nothing does, and
 * of what does not. */
typedef struct elements {
    tc_graph_value *varies;
    int64_t fixed, most; /* most: of both */
} elements;

static void count_in(reshaper *r, elements *c, tc_graph_value *size, int64_t most) {
    c->most *= most;
    if (size)
        c->varies = c->varies ? em_mul(r->e, c->varies, size) : size;
    else
        c->fixed *= most;
}

/* open: the dimension of the result that is not counted; -1: none. *kept: there are dimensions that are the same. */
static void count_apart(reshaper *r, int open, elements *in, elements *out, bool *kept) {
    bool used[TC_GRAPH_MAX_DIMS] = {false};
    *in = *out = (elements){NULL, 1, 1};
    *kept = false;
    for (int o = 0; o < r->to.shape.ndim; o++) {
        int i = 0;
        while (i < r->x->shape.ndim && r->to.size[o] && (used[i] || tc_graph_extent(r->x, i) != r->to.size[o]))
            i++;
        bool same = o != open && r->to.size[o] && i < r->x->shape.ndim;
        if (same)
            used[i] = *kept = true;
        else if (o != open)
            count_in(r, out, r->to.size[o], r->to.shape.d[o]);
    }
    for (int i = 0; i < r->x->shape.ndim; i++)
        if (!used[i])
            count_in(r, in, tc_graph_extent(r->x, i), r->x->shape.d[i]);
}

static const tc_expr *number_of(reshaper *r, const elements *c) {
    tc_graph_sizes *s = tc_graph_sizes_of(r->e->c->g);
    const tc_expr *fixed = tc_i64(s->ctx, c->fixed);
    return c->varies ? tc_graph_sizes_simplify(s, tc_mul(s->ctx, tc_graph_em_known(r->e, c->varies).x, fixed)) : fixed;
}

static tc_status no_such_shape(const reshaper *r, int64_t count) {
    return tc_graph_node_fail(r->e->c, "the input %s has %" PRId64 " elements, which do not fit the requested shape",
                              tc_graph_type_str(r->e->c->g->arena, r->x->dtype, &r->x->shape), count);
}

static const char *elements_text(const reshaper *r, bool kept) {
    return tc_arena_printf(r->e->c->g->arena, "the number of elements of '%s'%s", r->x->name,
                           kept ? " beside the dimensions that stay" : "");
}

/* Sizes that vary divide others: without a remainder, which runs check where it does not follow from what is known of them. */
static tc_status check_quotient(reshaper *r, const elements *in, const elements *out, bool kept) {
    const tc_expr *x = number_of(r, in), *y = number_of(r, out);
    tc_graph_sizes_outside o;
    if (!tc_graph_find_outside(r->e->c->g, x, y, &o))
        return r->e->status;
    tc_graph_sizes *s = o.s;
    if (tc_expr_any(o.x, tc_graph_sizes_is_other_variable, s) || tc_expr_any(o.y, tc_graph_sizes_is_other_variable, s))
        return r->e->status; /* data */
    const tc_expr *rest = tc_sub(s->ctx, o.x, tc_mul(s->ctx, o.y, tc_graph_sizes_simplify(s, tc_div(s->ctx, o.x, o.y))));
    if (tc_is_int(tc_graph_sizes_simplify(s, rest), 0))
        return r->e->status;
    return tc_graph_require_multiple(r->e, elements_text(r, kept), x, y);
}

/* The dimension that is given as -1: what x has, divided by the others, first by those that are the same on both sides. */
static tc_status open_dimension(reshaper *r, int open) {
    tc_graph_emitter *e = r->e;
    elements in, out;
    bool kept;
    count_apart(r, open, &in, &out, &kept);
    if (out.fixed == 0)
        return tc_graph_node_fail(e->c, "shape[%d] is -1, but another dimension is 0", open);
    r->to.shape.d[open] = in.most / out.fixed;
    if (!in.varies && !out.varies)
        return in.fixed % out.fixed == 0 ? TC_OK : no_such_shape(r, in.fixed);
    tc_graph_value *above = in.varies ? in.varies : tc_graph_em_number(e, 1);
    if (in.fixed % out.fixed == 0) {
        above = in.fixed == out.fixed ? above : em_mul(e, above, tc_graph_em_number(e, in.fixed / out.fixed));
    } else {
        if (!out.varies)
            TC_TRY(tc_graph_require(e, elements_text(r, kept), number_of(r, &in), INT64_MIN, INT64_MAX, out.fixed));
        above = em_div(e, em_mul(e, above, tc_graph_em_number(e, in.fixed)), tc_graph_em_number(e, out.fixed));
    }
    if (out.varies)
        TC_TRY(check_quotient(r, &in, &out, kept));
    r->to.size[open] = out.varies ? em_div(e, above, em_max(e, out.varies, tc_graph_em_number(e, 1))) : above;
    return e->status;
}

/* x and y are counts of which none is a factor of both. */
static tc_status count_outside(reshaper *r, const tc_graph_sizes_outside *whole, const tc_expr *x, const tc_expr *y, bool kept) {
    tc_graph_emitter *e = r->e;
    tc_graph_sizes *s = whole->s;
    bool learns;
    TC_TRY(tc_graph_meet_certainly(e, elements_text(r, kept), "that of the requested shape", whole, &learns));
    if (!learns)
        return TC_OK;
    switch (tc_graph_sizes_meet(s, x, y)) {
    case TC_GRAPH_SIZES_EQUAL:
        return TC_OK;
    case TC_GRAPH_SIZES_RELATED:
        return tc_graph_node_fail(e->c, "the sizes of '%s' and of the requested shape are related", r->x->name);
    case TC_GRAPH_SIZES_DIFFER:
        break;
    }
    if (whole->y->op == TC_OP_INT)
        return tc_graph_require_outside(e, whole, elements_text(r, kept), whole->y->u.i, whole->y->u.i, 1);
    tc_graph_sizes_outside apart = *whole;
    apart.x = tc_graph_sizes_simplify(s, tc_bin(s->ctx, TC_OP_SUB, whole->x, whole->y));
    const char *what = tc_arena_printf(e->c->g->arena, "%s less that of the requested shape", elements_text(r, kept));
    return tc_graph_require_outside(e, &apart, what, 0, 0, 1);
}

static bool depends_on_data(reshaper *r, const tc_expr *x) {
    tc_graph_sizes_outside o;
    return !tc_graph_find_outside(r->e->c->g, x, x, &o) || tc_expr_any(o.x, tc_graph_sizes_is_other_variable, o.s);
}

/* Both sides have as many elements, where these can be told: what that says of symbols is learnt, and the rest checked in runs. */
static tc_status same_count(reshaper *r) {
    elements in, out;
    tc_graph_sizes_outside whole, part;
    bool kept;
    count_apart(r, -1, &in, &out, &kept);
    TC_TRY(r->e->status);
    if (!tc_graph_is_dynamic(r->x) && !out.varies)
        return in.fixed == out.fixed ? TC_OK : no_such_shape(r, in.fixed);
    if (in.fixed <= 0 || out.fixed <= 0)
        return TC_OK;
    const tc_expr *x = number_of(r, &in), *y = number_of(r, &out);
    if (y->op == TC_OP_INT && depends_on_data(r, x))
        return tc_graph_require(r->e, elements_text(r, kept), x, y->u.i, y->u.i, 1);
    int64_t common = tc_gcd(in.fixed, out.fixed);
    in.fixed /= common;
    out.fixed /= common;
    tc_graph *g = r->e->c->g;
    if (!tc_graph_find_outside(g, x, y, &whole) || !tc_graph_find_outside(g, number_of(r, &in), number_of(r, &out), &part))
        return TC_OK;
    return count_outside(r, &whole, part.x, part.y, kept);
}

static tc_status target_dims(reshaper *r, const tc_graph_number *want, int64_t n, bool allowzero) {
    int open = -1;
    r->to.shape.ndim = (int)n;
    for (int o = 0; o < r->to.shape.ndim; o++) {
        r->to.shape.d[o] = want[o].most;
        r->to.size[o] = want[o].constant ? NULL : want[o].value;
        if (!want[o].constant || want[o].most > 0 || (want[o].most == 0 && allowzero))
            continue;
        if (want[o].most == -1 && open < 0) {
            open = o;
        } else if (want[o].most == 0 && o < r->x->shape.ndim) {
            r->to.shape.d[o] = r->x->shape.d[o];
            r->to.size[o] = tc_graph_extent(r->x, o);
        } else {
            return tc_graph_node_fail(r->e->c,
                                      "shape[%d] is %" PRId64 "; one dimension may be -1, 0 names a dimension of the input, and "
                                      "others must not be negative",
                                      o, want[o].most);
        }
    }
    tc_graph_shape given = r->to.shape;
    if (open >= 0)
        given.d[open] = 1;
    TC_TRY(tc_graph_shape_check(&given, r->e->c->err));
    return open >= 0 ? open_dimension(r, open) : same_count(r);
}

/* What the node e->c->n asks for. */
static tc_status read_reshape(tc_graph_emitter *e, reshaper *r) {
    tc_graph_number want[TC_GRAPH_MAX_NUMBERS];
    int64_t n;
    *r = (reshaper){.e = e, .x = e->c->n->in[0]};
    if (!tc_graph_attr_find(e->c->n, TC_ATTR_shape) && !tc_graph_in(e->c, 1))
        return tc_graph_node_fail(e->c, "it has no shape");
    TC_TRY(tc_graph_dynamic_list(e, 1, TC_ATTR_shape, want, &n));
    if (n > TC_GRAPH_MAX_DIMS)
        return tc_graph_node_refuse(e->c, TC_ERROR_UNSUPPORTED, "shape has %lld dimensions; at most %d are supported",
                                    (long long)n, TC_GRAPH_MAX_DIMS);
    if (!tc_graph_has_bounds(want, n))
        return tc_graph_dynamic_no_bound(e, "shape", 1, want);
    TC_TRY(target_dims(r, want, n, tc_graph_attr_allowzero(e->c->n) != 0));
    return tc_graph_shape_check(&r->to.shape, e->c->err);
}

tc_status tc_graph_rewrite_reshape(tc_graph_emitter *e) {
    reshaper r;
    if (tc_graph_attr_find(e->c->n, TC_ATTR_shape) && tc_graph_attr_allowzero(e->c->n)) /* tc_graph_em_reshape made it */
        return TC_OK;
    TC_TRY(read_reshape(e, &r));
    return tc_graph_em_finish(e, reshaped(&r));
}

tc_status tc_graph_infer_reshape(tc_graph_infer_ctx *c) {
    tc_graph_emitter e = {c, TC_OK};
    reshaper r;
    TC_TRY(read_reshape(&e, &r));
    c->out[0].shape = r.to.shape;
    tc_graph_become_reshape(c);
    return TC_OK;
}

tc_graph_value *tc_graph_em_reshaped(tc_graph_emitter *e, tc_graph_value *v, const tc_graph_type *to) {
    reshaper r = {.e = e, .x = v, .to = *to};
    middle m = middle_of(&r);
    if (tc_graph_is_dynamic(v) && m.to[0] == m.from[0] && m.to[1] == m.from[1])
        return v;
    if (tc_graph_is_dynamic(v) && e->status == TC_OK)
        e->status = same_count(&r);
    return tc_graph_is_dynamic(v) && e->status == TC_OK ? reshaped(&r) : tc_graph_em_reshape(e, v, &to->shape);
}

void tc_graph_add_flat(tc_graph_emitter *e, tc_graph_type *t, const tc_graph_value *v, int from, int to) {
    bool marked[TC_GRAPH_MAX_DIMS] = {false};
    for (int d = from; d < to; d++)
        marked[d] = true;
    tc_graph_value *size = tc_graph_em_count(e, v, marked);
    t->size[t->shape.ndim] = size ? tc_graph_em_known(e, size).value : NULL;
    t->shape.d[t->shape.ndim++] = count(&v->shape, from, to);
}

tc_graph_value *tc_graph_em_merged(tc_graph_emitter *e, tc_graph_value *v, int from, int to) {
    tc_graph_type t = {.dtype = v->dtype};
    tc_graph_add_dims(&t, v, 0, from);
    tc_graph_add_flat(e, &t, v, from, to);
    tc_graph_add_dims(&t, v, to, v->shape.ndim);
    return tc_graph_em_reshaped(e, v, &t);
}
