/* com.microsoft's Attention, which makes queries, keys and values itself, and MultiHeadAttention, which gets them. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "graph/ops/composed/attention.h"

static tc_graph_value *input(const tc_graph_infer_ctx *c, int k) {
    return k < c->n->nin ? c->n->in[k] : NULL;
}

static bool asked(const tc_graph_infer_ctx *c, int k) {
    return k < c->nout && c->names[k];
}

static tc_status want_num_heads(tc_graph_infer_ctx *c, int64_t width, int64_t *heads) {
    *heads = tc_graph_attr_num_heads(c->n);
    if (*heads >= 1 && width % *heads == 0)
        return TC_OK;
    return tc_graph_node_fail(c, "attribute num_heads (%" PRId64 ") must divide the %" PRId64 " elements of a row", *heads,
                              width);
}

/* ---- masks ---- */

static tc_status bad_mask(tc_graph_infer_ctx *c, int k) {
    const tc_graph_value *v = c->n->in[k];
    return tc_graph_node_refuse(c, TC_ERROR_UNSUPPORTED,
                                "a mask of %s ('%s') is not supported; [batch], [2 * batch], [batch, keys] and [batch, queries, "
                                "keys] of integers are",
                                tc_graph_type_str(c->g->arena, v->dtype, &v->shape), v->name);
}

/* Ends of the sequences, [batch], and behind them perhaps beginnings: [batch, 1, 1, keys] of bool. */
static tc_graph_value *between_ends(tc_graph_emitter *e, tc_graph_value *v, int64_t batch, int64_t keys) {
    tc_graph_value *at = tc_graph_em_iota(e, keys, 3, 4), *wide = tc_graph_em_cast(e, v, TC_I64);
    tc_graph_value *seen = em_less(e, at, tc_graph_em_along(e, tc_graph_em_slice(e, wide, 0, 0, batch, 1), 0, 4));
    if (v->shape.d[0] == batch)
        return seen;
    tc_graph_value *from = tc_graph_em_along(e, tc_graph_em_slice(e, wide, 0, batch, 2 * batch, 1), 0, 4);
    return tc_graph_em_both(e, seen, tc_graph_em_op(e, TC_GRAPH_OP_GREATER_OR_EQUAL, at, from));
}

/* What mask k adds to the scores: nothing, or the attribute mask_filter_value. */
static tc_status filter(tc_graph_emitter *e, int k, tc_graph_attention *a) {
    tc_graph_infer_ctx *c = e->c;
    tc_graph_value *v = input(c, k), *seen;
    int64_t batch = a->q->shape.d[0], rows = a->q->shape.d[2], keys = a->k->shape.d[2];
    if (!v)
        return TC_OK;
    TC_TRY(tc_graph_meet(e, a->q, 0, v, 0, false));
    if (v->shape.ndim > 1)
        TC_TRY(tc_graph_meet(e, a->k, 2, v, v->shape.ndim - 1, false));
    if (v->shape.ndim > 2)
        TC_TRY(tc_graph_meet(e, a->q, 2, v, 1, false));
    v = tc_graph_em_blind(e, v);
    const tc_graph_shape *s = &v->shape;
    tc_graph_shape two = {2, {batch, keys}}, three = {3, {batch, rows, keys}};
    if (!tc_dtype_is_int(v->dtype))
        return bad_mask(c, k);
    if (s->ndim == 1 && (s->d[0] == batch || s->d[0] == 2 * batch))
        seen = between_ends(e, v, batch, keys);
    else if (tc_graph_shape_equal(s, &two) || tc_graph_shape_equal(s, &three))
        seen = em_greater(e, tc_graph_em_reshape(e, v, &(tc_graph_shape){4, {batch, 1, s->ndim == 3 ? rows : 1, keys}}),
                          tc_graph_em_scalar(e, v->dtype, 0));
    else
        return bad_mask(c, k);
    tc_dtype t = tc_graph_wide(a->q->dtype);
    tc_graph_value *none = tc_graph_em_scalar(e, t, 0);
    a->bias = tc_graph_em_where(e, seen, none, tc_graph_em_scalar(e, t, tc_graph_attr_mask_filter_value(c->n)));
    return e->status;
}

/* Input k is added to the scores as it is. */
static tc_status add_bias(tc_graph_emitter *e, int k, tc_graph_attention *a) {
    tc_graph_value *v = input(e->c, k);
    tc_graph_shape full = {4, {a->q->shape.d[0], a->q->shape.d[1], a->q->shape.d[2], a->k->shape.d[2]}}, s;
    if (!v)
        return TC_OK;
    TC_TRY(tc_graph_want_float(e->c, k));
    TC_TRY(tc_graph_meet_scores(e, a, v));
    if (v->shape.ndim != 4 || !tc_graph_shape_broadcast(&v->shape, &full, &s) || !tc_graph_shape_equal(&s, &full))
        return tc_graph_node_fail(e->c, "input %d ('%s') must broadcast to %s, but is %s", k, v->name,
                                  tc_graph_type_str(e->c->g->arena, a->q->dtype, &full),
                                  tc_graph_type_str(e->c->g->arena, v->dtype, &v->shape));
    v = tc_graph_em_cast(e, tc_graph_em_blind(e, v), tc_graph_wide(a->q->dtype));
    a->bias = a->bias ? em_add(e, a->bias, v) : v;
    return e->status;
}

/* A query may see the keys up to its own place, the last query all of them. `fresh` keys, the rows of a dimension of a value, are
 * not of the past. */
static tc_status attend(tc_graph_emitter *e, tc_graph_attention *a, const tc_graph_value *fresh, int d, tc_graph_value **y) {
    const tc_graph_node *n = e->c->n;
    int64_t rows = a->q->shape.d[2], keys = a->k->shape.d[2];
    if (tc_graph_attr_unidirectional(n)) {
        if (tc_graph_extent(a->q, 2))
            TC_TRY(tc_graph_meet(e, a->q, 2, fresh, d, false));
        else if (rows != 1 && (rows != fresh->shape.d[d] || tc_graph_extent(fresh, d)))
            return tc_graph_node_refuse(e->c, TC_ERROR_UNSUPPORTED,
                                        "unidirectional attention of %" PRId64 " queries to %" PRId64
                                        " keys is not supported: their positions do not correspond",
                                        rows, fresh->shape.d[d]);
        tc_graph_value *before = tc_graph_em_number(e, keys - rows);
        if (tc_graph_extent(a->q, 2) || tc_graph_extent(a->k, 2))
            before = em_sub(e, tc_graph_em_size(e, a->k, 2), tc_graph_em_size(e, a->q, 2));
        a->allowed = tc_graph_em_causal(e, rows, keys, before, -1);
    }
    double scale = tc_graph_attr_scale(n);
    a->scale = scale == 0 ? 1 / sqrt((double)a->q->shape.d[3]) : scale;
    *y = tc_graph_em_merge_heads(e, tc_graph_em_attention(e, a));
    return e->status;
}

/* ---- Attention ---- */

/* Where queries, keys and values end in a row of the product. */
static tc_status read_widths(tc_graph_infer_ctx *c, int64_t all, int64_t end[3]) {
    size_t len;
    const int64_t *own = tc_graph_attr_qkv_hidden_sizes(c->n, &len);
    if (own && (len != 3 || own[0] < 1 || own[0] != own[1] || own[2] < 1 || own[0] > all || own[2] != all - 2 * own[0]))
        return tc_graph_node_fail(
            c, "attribute qkv_hidden_sizes must be 3 numbers that add up to %" PRId64 ", of which the first two are equal", all);
    if (!own && all % 3)
        return tc_graph_node_fail(c, "the weights' %" PRId64 " columns do not divide into queries, keys and values", all);
    for (int k = 0; k < 3; k++)
        end[k] = (k ? end[k - 1] : 0) + (own ? own[k] : all / 3);
    return TC_OK;
}

/* Behind a past of [2, batch, heads, rows, width], which holds keys and values; the present is like it. */
static tc_status with_past(tc_graph_emitter *e, tc_graph_attention *a, tc_graph_value *past) {
    tc_graph_infer_ctx *c = e->c;
    tc_graph_value **own[] = {&a->k, &a->v}, *present[2];
    if (past && past->shape.ndim == 5)
        TC_TRY(tc_graph_meet(e, a->k, 0, past, 1, false));
    tc_graph_shape want = {5, {2, a->k->shape.d[0], a->k->shape.d[1], past ? past->shape.d[3] : 0, a->k->shape.d[3]}};
    if (past && (!tc_graph_shape_equal(&past->shape, &want) || past->dtype != a->k->dtype))
        return tc_graph_node_fail(c, "the past '%s' must be [2, batch, heads, rows, width], but is %s", past->name,
                                  tc_graph_type_str(c->g->arena, past->dtype, &past->shape));
    for (int k = 0; k < 2; k++) {
        tc_graph_shape s = want;
        s.ndim = 4;
        memmove(s.d, s.d + 1, sizeof s.d[0] * 4);
        if (past) {
            tc_graph_value *half = tc_graph_em_reshape(e, tc_graph_em_slice(e, past, 0, k, k + 1, 1), &s);
            *own[k] = tc_graph_em_concat(e, 2, (tc_graph_value *[]){half, *own[k]}, 2);
        }
        s = (*own[k])->shape;
        memmove(s.d + 1, s.d, sizeof s.d[0] * 4);
        s.ndim = 5;
        s.d[0] = 1;
        present[k] = asked(c, 1) ? tc_graph_em_reshape(e, *own[k], &s) : NULL;
    }
    if (asked(c, 1)) {
        if (!tc_graph_shape_equal(&a->k->shape, &a->v->shape))
            return tc_graph_node_fail(c, "keys and values of different widths have no common present");
        tc_graph_em_output(e, 1, tc_graph_em_concat(e, 0, present, 2));
    }
    return e->status;
}

enum { X, WEIGHTS, BIAS, MASK, PAST, SCORE_BIAS, PAST_LENGTH };

tc_status tc_graph_em_self_attention(tc_graph_emitter *e, tc_graph_value *qkv, int mask, int past, int bias) {
    tc_graph_infer_ctx *c = e->c;
    int64_t end[3], heads;
    tc_graph_attention a = {0};
    tc_graph_value **own[] = {&a.q, &a.k, &a.v}, *y;
    TC_TRY(e->status);
    TC_TRY(read_widths(c, qkv->shape.d[2], end));
    TC_TRY(want_num_heads(c, end[0], &heads));
    TC_TRY(want_num_heads(c, end[2] - end[1], &heads));
    for (int k = 0; k < 3; k++)
        *own[k] = tc_graph_em_split_heads(e, tc_graph_em_slice(e, qkv, 2, k ? end[k - 1] : 0, end[k], 1), heads);
    TC_TRY(with_past(e, &a, past < 0 ? NULL : input(c, past)));
    TC_TRY(filter(e, mask, &a));
    if (bias >= 0)
        TC_TRY(add_bias(e, bias, &a));
    TC_TRY(attend(e, &a, qkv, 1, &y));
    return tc_graph_em_finish(e, y);
}

/* (x, weights, bias?, mask?, past?, bias of the scores?)  =>  y, present? */
tc_status tc_graph_infer_ms_attention(tc_graph_infer_ctx *c) {
    const tc_graph_value *x = c->n->in[X], *w = c->n->in[WEIGHTS], *bias = input(c, BIAS);
    if (tc_graph_attr_do_rotary(c->n) || tc_graph_attr_past_present_share_buffer(c->n) || input(c, PAST_LENGTH))
        return tc_graph_node_refuse(
            c, TC_ERROR_UNSUPPORTED,
            "rotary embeddings inside, and a past that shares the memory of the present, are not supported");
    TC_TRY(tc_graph_want_float(c, X));
    if (x->shape.ndim != 3 || w->shape.ndim != 2)
        return tc_graph_node_fail(c, "the input must be [batch, sequence, width] and the weights two-dimensional");
    if (bias && (bias->shape.ndim != 1 || bias->shape.d[0] != w->shape.d[1]))
        return tc_graph_node_fail(c, "the bias '%s' must have %" PRId64 " elements in one dimension", bias->name, w->shape.d[1]);
    tc_graph_emitter e = {c, TC_OK};
    tc_graph_value *qkv = tc_graph_em_op(&e, TC_GRAPH_OP_MATMUL, c->n->in[X], c->n->in[WEIGHTS]);
    if (bias)
        qkv = em_add(&e, qkv, c->n->in[BIAS]);
    return tc_graph_em_self_attention(&e, qkv, MASK, PAST, SCORE_BIAS);
}

/* ---- MultiHeadAttention ---- */

enum { QUERY, KEY, VALUE, ALL_BIAS, PADDING, OWN_BIAS, PAST_KEY, PAST_VALUE, LENGTH, INDIRECTION };

/* One of `n` that lie side by side: [batch, rows, heads, n, width]  =>  [batch, heads, rows, width] */
static tc_graph_value *unpacked(tc_graph_emitter *e, tc_graph_value *v, int64_t at) {
    const tc_graph_shape s = v->shape;
    v = tc_graph_em_reshape(e, tc_graph_em_slice(e, v, 3, at, at + 1, 1),
                            &(tc_graph_shape){3, {s.d[0], s.d[1], s.d[2] * s.d[4]}});
    return tc_graph_em_split_heads(e, v, s.d[2]);
}

/* [batch, rows, heads * width], with its part of the bias, which begins at `from`. */
static tc_status plain(tc_graph_emitter *e, tc_graph_value *v, int64_t heads, int64_t *from, tc_graph_value **out) {
    tc_graph_infer_ctx *c = e->c;
    tc_graph_value *bias = input(c, ALL_BIAS);
    int64_t width = v->shape.d[2];
    if (width % heads)
        return tc_graph_node_fail(c, "attribute num_heads (%" PRId64 ") must divide the %" PRId64 " elements of a row of '%s'",
                                  heads, width, v->name);
    if (bias && (bias->shape.ndim != 1 || bias->shape.d[0] < *from + width))
        return tc_graph_node_fail(c, "the bias '%s' must have an element for each of queries, keys and values", bias->name);
    if (bias)
        v = em_add(e, v, tc_graph_em_slice(e, bias, 0, *from, *from + width, 1));
    *from += width;
    *out = tc_graph_em_split_heads(e, v, heads);
    return e->status;
}

static tc_status bad_layout(tc_graph_infer_ctx *c) {
    return tc_graph_node_fail(c, "query, key and value must be [batch, rows, width] each, or the key and value [batch, heads, "
                                 "rows, width] without a bias, or [batch, rows, heads, 2, width] of keys and values, or [batch, "
                                 "rows, heads, 3, width] of all");
}

static tc_status read_qkv(tc_graph_emitter *e, int64_t heads, tc_graph_attention *a) {
    tc_graph_infer_ctx *c = e->c;
    tc_graph_value *q = c->n->in[QUERY], *k = input(c, KEY), *v = input(c, VALUE), **own[] = {&a->q, &a->k, &a->v};
    int64_t from = 0;
    int nk = k ? k->shape.ndim : 0, nv = v ? v->shape.ndim : 0;
    bool biased = input(c, ALL_BIAS) != NULL;
    if (!k && !v && q->shape.ndim == 5 && q->shape.d[2] == heads && q->shape.d[3] == 3 && !biased) {
        for (int i = 0; i < 3; i++)
            *own[i] = unpacked(e, q, i);
        return e->status;
    }
    if (q->shape.ndim != 3)
        return bad_layout(c);
    TC_TRY(plain(e, q, heads, &from, &a->q));
    if (nk == 5 && !v && k->shape.d[2] == heads && k->shape.d[3] == 2 && !biased) {
        for (int i = 0; i < 2; i++)
            *own[i + 1] = unpacked(e, k, i);
        return e->status;
    }
    if (nk == 4 && nv == 4 && !biased) {
        a->k = k;
        a->v = v;
        return TC_OK;
    }
    if (nk != 3 || nv != 3)
        return bad_layout(c);
    TC_TRY(plain(e, k, heads, &from, &a->k));
    return plain(e, v, heads, &from, &a->v);
}

static tc_status read_past(tc_graph_emitter *e, int k, tc_graph_value **v) {
    tc_graph_value *past = input(e->c, k);
    if (!past)
        return TC_OK;
    const tc_graph_shape *p = &past->shape, *s = &(*v)->shape;
    TC_TRY(tc_graph_meet(e, *v, 0, past, 0, false));
    if (p->ndim != 4 || p->d[0] != s->d[0] || p->d[1] != s->d[1] || p->d[3] != s->d[3] || past->dtype != (*v)->dtype)
        return tc_graph_node_fail(e->c, "input %d ('%s') must be a past of %s, but is %s", k, past->name,
                                  tc_graph_type_str(e->c->g->arena, (*v)->dtype, s),
                                  tc_graph_type_str(e->c->g->arena, past->dtype, p));
    *v = tc_graph_em_concat(e, 2, (tc_graph_value *[]){past, *v}, 2);
    return e->status;
}

/* (query, key?, value?, bias?, padding?, bias of the scores?, past key?, past value?)  =>  y, present key?, present value? */
tc_status tc_graph_infer_multi_head_attention(tc_graph_infer_ctx *c) {
    tc_graph_emitter e = {c, TC_OK};
    tc_graph_attention a = {0};
    int64_t heads = tc_graph_attr_num_heads(c->n);
    TC_TRY(tc_graph_want_float(c, QUERY));
    for (int k = KEY; k <= ALL_BIAS; k++)
        TC_TRY(tc_graph_want_same_type(c, QUERY, k));
    if (input(c, LENGTH) || input(c, INDIRECTION) || asked(c, 3))
        return tc_graph_node_refuse(
            c, TC_ERROR_UNSUPPORTED,
            "a past that shares the memory of the present, beams and the scores as an output are not supported");
    if (heads < 1)
        return tc_graph_node_fail(c, "attribute num_heads is %" PRId64 "; it must be at least 1", heads);
    TC_TRY(read_qkv(&e, heads, &a));
    if (!input(c, PAST_KEY) != !input(c, PAST_VALUE))
        return tc_graph_node_fail(c, "a past key (input 6) and a past value (input 7) go together");
    const tc_graph_value *fresh = a.k;
    tc_graph_value *y;
    TC_TRY(read_past(&e, PAST_KEY, &a.k));
    TC_TRY(read_past(&e, PAST_VALUE, &a.v));
    TC_TRY(tc_graph_meet_attention(&e, &a));
    const tc_graph_shape *q = &a.q->shape, *k = &a.k->shape, *v = &a.v->shape;
    if (q->d[0] != k->d[0] || q->d[0] != v->d[0] || k->d[1] != heads || v->d[1] != heads || q->d[3] != k->d[3] ||
        k->d[2] != v->d[2])
        return bad_layout(c);
    TC_TRY(filter(&e, PADDING, &a));
    TC_TRY(add_bias(&e, OWN_BIAS, &a));
    tc_graph_em_output(&e, 1, a.k);
    tc_graph_em_output(&e, 2, a.v);
    TC_TRY(attend(&e, &a, fresh, 2, &y));
    return tc_graph_em_finish(&e, y);
}
