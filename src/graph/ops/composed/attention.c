/* Attention: what its operators share (attention.h), and ONNX's own. */
#include "graph/ops/composed/attention.h"

#include <inttypes.h>
#include <math.h>

/* ---- heads ---- */

tc_graph_value *tc_graph_em_split_heads(tc_graph_emitter *e, tc_graph_value *v, int64_t heads) {
    static const int64_t perm[] = {0, 2, 1, 3};
    const tc_graph_shape *s = &v->shape;
    v = tc_graph_em_reshape(e, v, &(tc_graph_shape){4, {s->d[0], s->d[1], heads, s->d[2] / heads}});
    return tc_graph_em_transpose(e, v, perm);
}

tc_graph_value *tc_graph_em_merge_heads(tc_graph_emitter *e, tc_graph_value *v) {
    static const int64_t perm[] = {0, 2, 1, 3};
    const tc_graph_shape s = v->shape;
    v = tc_graph_em_transpose(e, v, perm);
    return tc_graph_em_reshape(e, v, &(tc_graph_shape){3, {s.d[0], s.d[2], s.d[1] * s.d[3]}});
}

/* ---- masks ---- */

/* Four dimensions, the first ones 1. */
static tc_graph_value *of_scores(tc_graph_emitter *e, tc_graph_value *v) {
    return tc_graph_em_along(e, v, 4 - v->shape.ndim, 4);
}

tc_graph_value *tc_graph_em_causal(tc_graph_emitter *e, int64_t rows, int64_t columns, tc_graph_value *offset, int64_t window) {
    if (offset->shape.ndim)
        offset = tc_graph_em_along(e, offset, 0, 4);
    tc_graph_value *own = em_add(e, tc_graph_em_iota(e, rows, 2, 4), offset), *at = tc_graph_em_iota(e, columns, 3, 4);
    tc_graph_value *seen = tc_graph_em_op(e, TC_GRAPH_OP_LESS_OR_EQUAL, at, own);
    if (window < 0)
        return seen;
    return tc_graph_em_both(e, seen, em_greater(e, at, em_by(e, TC_GRAPH_OP_SUB, own, (double)window)));
}

tc_graph_value *tc_graph_em_both(tc_graph_emitter *e, tc_graph_value *a, tc_graph_value *b) {
    return a && b ? tc_graph_em_op(e, TC_GRAPH_OP_AND, a, b) : a ? a : b;
}

/* ---- scores ---- */

/* Where heads of k and v are shared, those of q that share one become a dimension of their own:
 * [batch, heads, rows, width]  =>  [batch, shared, heads / shared, rows, width]. Others broadcast along it. */
static tc_graph_value *grouped(tc_graph_emitter *e, tc_graph_value *v, int64_t heads, int64_t shared) {
    const tc_graph_shape *s = &v->shape;
    if (heads == shared)
        return v;
    int64_t own = s->d[1] == heads ? heads / shared : 1;
    return tc_graph_em_reshape(e, v, &(tc_graph_shape){5, {s->d[0], s->d[1] / own, own, s->d[2], s->d[3]}});
}

static tc_graph_value *ungrouped(tc_graph_emitter *e, tc_graph_value *v) {
    const tc_graph_shape *s = &v->shape;
    if (s->ndim == 4)
        return v;
    return tc_graph_em_reshape(e, v, &(tc_graph_shape){4, {s->d[0], s->d[1] * s->d[2], s->d[3], s->d[4]}});
}

static tc_graph_value *transposed(tc_graph_emitter *e, tc_graph_value *v) {
    static const int64_t perm[] = {0, 1, 3, 2};
    return tc_graph_em_transpose(e, v, perm);
}

static tc_graph_value *capped(tc_graph_emitter *e, tc_graph_value *v, double cap) {
    if (cap == 0)
        return v;
    return em_by(e, TC_GRAPH_OP_MUL, em_unary(e, TC_GRAPH_OP_TANH, em_by(e, TC_GRAPH_OP_DIV, v, cap)), cap);
}

/* All as large as it may be. */
static tc_graph_attention largest_of(tc_graph_emitter *e, const tc_graph_attention *a) {
    tc_graph_attention r = *a;
    r.q = tc_graph_em_blind(e, a->q);
    r.k = tc_graph_em_blind(e, a->k);
    r.v = tc_graph_em_blind(e, a->v);
    r.bias = a->bias ? tc_graph_em_blind(e, a->bias) : NULL;
    r.allowed = a->allowed ? tc_graph_em_blind(e, a->allowed) : NULL;
    return r;
}

/* v, with `fill` for keys, along `axis`, past as many as there are; NULL: as many as there can be. */
static tc_graph_value *for_keys(tc_graph_emitter *e, tc_graph_value *v, int axis, tc_graph_value *keys, double fill) {
    if (!keys)
        return v;
    tc_graph_value *in[] = {v, keys, tc_graph_em_scalar(e, v->dtype, fill)};
    tc_graph_node *n = tc_graph_em_node(e, TC_GRAPH_OP_MASKED, in, 3);
    tc_graph_set_axis(e->c->g, n, axis);
    return tc_graph_em_place(e, n);
}

static tc_graph_value *attend(tc_graph_emitter *e, tc_graph_attention *a, tc_graph_value *keys) {
    tc_dtype to = a->q->dtype, t = tc_graph_wide(to);
    int64_t heads = a->q->shape.d[1], shared = a->k->shape.d[1];
    tc_graph_value *q = grouped(e, tc_graph_em_cast(e, a->q, t), heads, shared);
    tc_graph_value *k = grouped(e, transposed(e, tc_graph_em_cast(e, a->k, t)), heads, shared);
    tc_graph_value *v = grouped(e, tc_graph_em_cast(e, a->v, t), heads, shared);
    tc_graph_value *s = em_by(e, TC_GRAPH_OP_MUL, tc_graph_em_op(e, TC_GRAPH_OP_MATMUL, q, k), a->scale);
    a->scores[0] = ungrouped(e, s);
    s = capped(e, s, a->softcap);
    a->scores[1] = ungrouped(e, s);
    if (a->bias)
        s = em_add(e, s, grouped(e, tc_graph_em_cast(e, of_scores(e, a->bias), t), heads, shared));
    if (a->allowed)
        s = tc_graph_em_where(e, grouped(e, of_scores(e, a->allowed), heads, shared), s, tc_graph_em_fill(e, t, TC_GRAPH_LOWEST));
    a->scores[2] = ungrouped(e, s);
    int last = s->shape.ndim - 1;
    s = for_keys(e, s, last, keys, -INFINITY);
    tc_graph_node *n = tc_graph_em_node(e, TC_GRAPH_OP_SOFTMAX, &s, 1);
    tc_graph_set_axis(e->c->g, n, -1);
    if (a->allowed || a->bias || keys) /* a query may see no key */
        tc_graph_set_hidden_rows(e->c->g, n, 1);
    s = tc_graph_em_place(e, n);
    a->scores[3] = ungrouped(e, s);
    s = tc_graph_em_op(e, TC_GRAPH_OP_MATMUL, for_keys(e, s, last, keys, 0), for_keys(e, v, last - 1, keys, 0));
    return tc_graph_em_cast(e, ungrouped(e, s), to);
}

tc_graph_value *tc_graph_em_attention(tc_graph_emitter *e, tc_graph_attention *a) {
    tc_graph_attention largest = largest_of(e, a);
    tc_graph_value *y = attend(e, &largest, tc_graph_extent(a->k, 2));
    y = tc_graph_em_with_sizes(e, y, a->q, -1, NULL);
    for (int k = 0; k < 4; k++)
        a->scores[k] = tc_graph_em_with_sizes(e, largest.scores[k], a->q, 3, tc_graph_extent(a->k, 2));
    return y;
}

/* ---- sizes that vary ---- */

static tc_status want_fixed(tc_graph_emitter *e, const tc_graph_value *v) {
    if (!tc_graph_extent(v, 1) && !tc_graph_extent(v, 3))
        return TC_OK;
    return tc_graph_node_refuse(e->c, TC_ERROR_DATA_DEPENDENT,
                                "the heads and widths of '%s' must be known when the model is imported", v->name);
}

tc_status tc_graph_meet_attention(tc_graph_emitter *e, const tc_graph_attention *a) {
    const tc_graph_value *of[] = {a->q, a->k, a->v};
    TC_TRY(e->status);
    for (int i = 0; i < 3; i++) {
        if (of[i]->shape.ndim != 4)
            return TC_OK; /* which is refused */
        TC_TRY(want_fixed(e, of[i]));
        TC_TRY(tc_graph_meet(e, a->q, 0, of[i], 0, false));
    }
    return tc_graph_meet(e, a->k, 2, a->v, 2, false);
}

tc_status tc_graph_meet_scores(tc_graph_emitter *e, const tc_graph_attention *a, const tc_graph_value *v) {
    int n = v->shape.ndim;
    if (n > 0)
        TC_TRY(tc_graph_meet(e, a->k, 2, v, n - 1, true));
    if (n > 1)
        TC_TRY(tc_graph_meet(e, a->q, 2, v, n - 2, true));
    if (n > 2 && tc_graph_extent(v, n - 3) && n > 3)
        return want_fixed(e, v);
    return n > 3 ? tc_graph_meet(e, a->q, 0, v, n - 4, true) : TC_OK;
}

/* ---- ONNX's Attention ---- */

enum { MASK = 3, PAST_KEY, PAST_VALUE, VALID };

static tc_graph_value *input(const tc_graph_infer_ctx *c, int k) {
    return k < c->n->nin ? c->n->in[k] : NULL;
}

static tc_status read_operand(tc_graph_emitter *e, int k, int64_t heads, tc_graph_value **out) {
    tc_graph_infer_ctx *c = e->c;
    tc_graph_value *v = c->n->in[k];
    TC_TRY(tc_graph_want_float(c, k));
    if (v->shape.ndim != c->n->in[0]->shape.ndim || (v->shape.ndim != 3 && v->shape.ndim != 4))
        return tc_graph_node_fail(c, "inputs 0, 1 and 2 must all have 3 or all 4 dimensions, but input %d has %d", k,
                                  v->shape.ndim);
    if (v->shape.ndim == 3 && (heads < 1 || v->shape.d[2] % heads))
        return tc_graph_node_fail(c, "attribute %s (%" PRId64 ") must divide the %" PRId64 " elements of a row of input %d",
                                  k ? "kv_num_heads" : "q_num_heads", heads, v->shape.d[2], k);
    *out = v->shape.ndim == 3 ? tc_graph_em_split_heads(e, v, heads) : v;
    return e->status;
}

/* The past in front of what is new. */
static tc_status with_past(tc_graph_emitter *e, int past, tc_graph_value **v) {
    tc_graph_infer_ctx *c = e->c;
    tc_graph_value *p = input(c, past);
    if (!p)
        return TC_OK;
    const tc_graph_shape *a = &p->shape, *b = &(*v)->shape;
    TC_TRY(tc_graph_meet(e, *v, 0, p, 0, false));
    if (p->dtype != (*v)->dtype || a->ndim != 4 || a->d[0] != b->d[0] || a->d[1] != b->d[1] || a->d[3] != b->d[3])
        return tc_graph_node_fail(c, "input %d ('%s') must be a past of %s, but is %s", past, p->name,
                                  tc_graph_type_str(c->g->arena, (*v)->dtype, b), tc_graph_type_str(c->g->arena, p->dtype, a));
    *v = tc_graph_em_concat(e, 2, (tc_graph_value *[]){p, *v}, 2);
    return e->status;
}

static tc_status check_heads(tc_graph_infer_ctx *c, const tc_graph_attention *a) {
    const tc_graph_shape *q = &a->q->shape, *k = &a->k->shape, *v = &a->v->shape;
    if (q->d[0] != k->d[0] || q->d[0] != v->d[0] || k->d[1] != v->d[1] || q->d[1] == 0 || k->d[1] == 0 || q->d[1] % k->d[1] ||
        q->d[3] != k->d[3] || k->d[2] != v->d[2])
        return tc_graph_node_fail(c, "queries %s, keys %s and values %s do not belong together",
                                  tc_graph_type_str(c->g->arena, a->q->dtype, q), tc_graph_type_str(c->g->arena, a->k->dtype, k),
                                  tc_graph_type_str(c->g->arena, a->v->dtype, v));
    return TC_OK;
}

/* A mask that ends early says of the rest that it is hidden. */
static tc_status read_mask(tc_graph_emitter *e, tc_graph_attention *a) {
    tc_graph_infer_ctx *c = e->c;
    tc_graph_value *m = input(c, MASK);
    int64_t columns = a->k->shape.d[2], pads[2 * TC_GRAPH_MAX_DIMS] = {0};
    tc_graph_shape full = {4, {a->q->shape.d[0], a->q->shape.d[1], a->q->shape.d[2], columns}}, s;
    if (!m)
        return TC_OK;
    TC_TRY(tc_graph_meet_scores(e, a, m));
    bool is_bool = m->dtype == TC_BOOL;
    int last = m->shape.ndim - 1;
    if (last >= 0 && m->shape.d[last] < columns && m->shape.d[last] != 1) {
        pads[m->shape.ndim + last] = columns - m->shape.d[last];
        m = tc_graph_em_pad(e, m, pads, is_bool ? NULL : tc_graph_em_fill(e, m->dtype, TC_GRAPH_LOWEST));
    }
    if ((!is_bool && m->dtype != a->q->dtype) || last < 1 || last > 3 || !tc_graph_shape_broadcast(&m->shape, &full, &s) ||
        !tc_graph_shape_equal(&s, &full))
        return tc_graph_node_fail(c, "the mask '%s' must be bool or of the queries' type and broadcast to %s, but is %s",
                                  c->n->in[MASK]->name, tc_graph_type_str(c->g->arena, a->q->dtype, &full),
                                  tc_graph_type_str(c->g->arena, m->dtype, &m->shape));
    *(is_bool ? &a->allowed : &a->bias) = of_scores(e, tc_graph_em_blind(e, m));
    return e->status;
}

/* How many keys of each sequence are valid: [batch]. */
static tc_status read_valid(tc_graph_emitter *e, tc_graph_attention *a, tc_graph_value **offset) {
    tc_graph_infer_ctx *c = e->c;
    tc_graph_value *valid = input(c, VALID);
    if (!valid)
        return TC_OK;
    if (valid->shape.ndim == 1)
        TC_TRY(tc_graph_meet(e, a->q, 0, valid, 0, false));
    if (valid->dtype != TC_I64 || valid->shape.ndim != 1 || valid->shape.d[0] != a->q->shape.d[0])
        return tc_graph_node_fail(c, "input 6 ('%s') must be %" PRId64 " numbers of type i64", valid->name, a->q->shape.d[0]);
    tc_graph_value *at = tc_graph_em_iota(e, a->k->shape.d[2], 3, 4);
    a->allowed = tc_graph_em_both(e, a->allowed, em_less(e, at, tc_graph_em_along(e, tc_graph_em_blind(e, valid), 0, 4)));
    if (!input(c, PAST_KEY))
        *offset = em_sub(e, tc_graph_em_blind(e, valid), tc_graph_em_size(e, a->q, 2));
    return e->status;
}

/* (q, k, v, mask?, past key?, past value?, valid?)  =>  y, present key?, present value?, scores? */
tc_status tc_graph_infer_attention(tc_graph_infer_ctx *c) {
    tc_graph_emitter e = {c, TC_OK};
    tc_graph_attention a = {.softcap = tc_graph_attr_softcap(c->n)};
    int64_t heads = tc_graph_attr_q_num_heads(c->n), shared = tc_graph_attr_kv_num_heads(c->n);
    int64_t mode = tc_graph_attr_qk_matmul_output_mode(c->n);
    bool flat = c->n->in[0]->shape.ndim == 3;
    TC_TRY(read_operand(&e, 0, heads, &a.q));
    TC_TRY(read_operand(&e, 1, shared, &a.k));
    TC_TRY(read_operand(&e, 2, shared, &a.v));
    if (mode < 0 || mode > 3)
        return tc_graph_node_fail(c, "attribute qk_matmul_output_mode is %" PRId64 "; 0 to 3 are possible", mode);
    if (!input(c, PAST_KEY) != !input(c, PAST_VALUE))
        return tc_graph_node_fail(c, "a past key (input 4) and a past value (input 5) go together");
    const tc_graph_value *past = input(c, PAST_KEY);
    tc_graph_value *offset = past ? tc_graph_em_size(&e, past, 2) : tc_graph_em_number(&e, 0);
    TC_TRY(with_past(&e, PAST_KEY, &a.k));
    TC_TRY(with_past(&e, PAST_VALUE, &a.v));
    TC_TRY(tc_graph_meet_attention(&e, &a));
    TC_TRY(check_heads(c, &a));
    TC_TRY(read_mask(&e, &a));
    TC_TRY(read_valid(&e, &a, &offset));
    if (tc_graph_attr_is_causal(c->n))
        a.allowed = tc_graph_em_both(&e, a.allowed, tc_graph_em_causal(&e, a.q->shape.d[2], a.k->shape.d[2], offset, -1));
    a.scale = tc_graph_attr_scale_or(c->n, 1 / sqrt((double)a.q->shape.d[3]));
    tc_graph_value *y = tc_graph_em_attention(&e, &a);
    tc_graph_em_output(&e, 1, a.k);
    tc_graph_em_output(&e, 2, a.v);
    if (c->nout > 3)
        tc_graph_em_output(&e, 3, tc_graph_em_cast(&e, a.scores[mode], a.q->dtype));
    return tc_graph_em_finish(&e, flat ? tc_graph_em_merge_heads(&e, y) : y);
}
