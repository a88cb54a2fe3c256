/* com.microsoft's QAttention: the product is MatMulInteger's, whose sums are exact, and a scale. */
#include <inttypes.h>
#include <string.h>

#include "graph/ops/composed/attention.h"

static tc_graph_value *input(const tc_graph_infer_ctx *c, int k) {
    return k < c->n->nin ? c->n->in[k] : NULL;
}

/* ---- parameters ---- */

/* Scales above zero where they are known; `most` of them (1), for columns, or one. */
static tc_status want_scales(tc_graph_infer_ctx *c, int k, int64_t most) {
    const tc_graph_value *v = tc_graph_in(c, k);
    TC_TRY(tc_graph_want_input(c, k));
    TC_TRY(tc_graph_want_float(c, k));
    int64_t n = tc_graph_shape_count(&v->shape);
    if (n != 1 && n != most)
        return tc_graph_node_fail(c, "the scale '%s' has %" PRId64 " elements; it must have 1%s", v->name, n,
                                  most > 1 ? ", or one for each column" : "");
    for (int64_t i = 0; v->constant && i < n; i++) {
        double s = tc_load_f(v->dtype, v->constant->data, i);
        if (!(s > 0) || s - s != 0)
            return tc_graph_node_fail(c, "scale %" PRId64 " of '%s' is %g; it must be a positive number", i, v->name, s);
    }
    return TC_OK;
}

/* Zero point k, which may be left out, of x. */
static tc_status want_zeros(tc_graph_infer_ctx *c, int k, int x, int64_t most) {
    const tc_graph_value *v = tc_graph_in(c, k);
    if (!v)
        return TC_OK;
    int64_t n = tc_graph_shape_count(&v->shape);
    if (n != 1 && n != most)
        return tc_graph_node_fail(c, "the zero point '%s' has %" PRId64 " elements; it must have 1%s", v->name, n,
                                  most > 1 ? ", or one for each column" : "");
    return x < 0 ? TC_OK : tc_graph_want_same_type(c, x, k);
}

static tc_status want_bytes(tc_graph_infer_ctx *c, int k) {
    TC_TRY(tc_graph_want_input(c, k));
    tc_dtype t = c->n->in[k]->dtype;
    if (t == TC_U8 || t == TC_I8)
        return TC_OK;
    return tc_graph_node_fail(c, "input %d ('%s') must be u8 or i8, but is %s", k, c->n->in[k]->name, tc_dtype_name(t));
}

static tc_graph_value *scalar(tc_graph_emitter *e, tc_graph_value *v) {
    return v ? tc_graph_em_reshape(e, v, &(tc_graph_shape){0}) : NULL;
}

/* ---- products ---- */

/* The exact sums of (a - zero) * (b - zero) in f32. */
static tc_graph_value *exact_product(tc_graph_emitter *e, tc_graph_value *a, tc_graph_value *b, tc_graph_value *a_zero,
                                     tc_graph_value *b_zero, tc_graph_value *addend) {
    tc_graph_value *in[] = {a, b, a_zero, b_zero};
    tc_graph_value *y = tc_graph_em_place(e, tc_graph_em_node(e, TC_GRAPH_OP_MAT_MUL_INTEGER, in, 4));
    return tc_graph_em_cast(e, addend ? em_add(e, y, addend) : y, TC_F32);
}

/* One for all, or a list for the columns. */
static tc_graph_value *by_column(tc_graph_emitter *e, tc_graph_value *v) {
    int64_t n = v ? tc_graph_shape_count(&v->shape) : 0;
    return v ? tc_graph_em_reshape(e, v, n == 1 ? &(tc_graph_shape){0} : &(tc_graph_shape){1, {n}}) : NULL;
}

static tc_status want_columns(tc_graph_infer_ctx *c, int b, bool transposed, int64_t *n) {
    TC_TRY(want_bytes(c, b));
    const tc_graph_shape *s = &c->n->in[b]->shape;
    if (s->ndim < 2)
        return tc_graph_node_fail(c, "input %d ('%s') must have at least 2 dimensions", b, c->n->in[b]->name);
    *n = s->d[s->ndim - (transposed ? 2 : 1)];
    return TC_OK;
}

/* y times the scales at inputs a and b, plus the bias. */
static tc_graph_value *scaled(tc_graph_emitter *e, tc_graph_value *y, tc_graph_value *a, tc_graph_value *b,
                              tc_graph_value *bias) {
    y = em_mul(e, y, em_mul(e, scalar(e, a), by_column(e, b)));
    return bias ? em_add(e, y, bias) : y;
}

/* (x, weights, bias, x scale, weight scale, mask?, x zero?, weight zero?, past?)  =>  y, present? */
tc_status tc_graph_infer_qattention(tc_graph_infer_ctx *c) {
    enum { MASK = 5, PAST = 8 };
    tc_graph_emitter e = {c, TC_OK};
    tc_graph_value *const *in = c->n->in;
    int64_t n = 0;
    if (tc_graph_attr_do_rotary(c->n) || tc_graph_attr_past_present_share_buffer(c->n))
        return tc_graph_node_refuse(
            c, TC_ERROR_UNSUPPORTED,
            "rotary embeddings inside, and a past that shares the memory of the present, are not supported");
    TC_TRY(want_bytes(c, 0));
    TC_TRY(want_columns(c, 1, false, &n));
    if (in[0]->shape.ndim != 3 || in[1]->shape.ndim != 2)
        return tc_graph_node_fail(c, "the input must be [batch, sequence, width] and the weights two-dimensional");
    if (in[2]->shape.ndim != 1 || in[2]->shape.d[0] != n)
        return tc_graph_node_fail(c, "the bias '%s' must have %" PRId64 " elements in one dimension", in[2]->name, n);
    TC_TRY(want_scales(c, 3, 1));
    TC_TRY(want_scales(c, 4, n));
    TC_TRY(want_zeros(c, 6, 0, 1));
    TC_TRY(want_zeros(c, 7, 1, n));
    tc_graph_value *y = exact_product(&e, in[0], in[1], scalar(&e, input(c, 6)), by_column(&e, input(c, 7)), NULL);
    return tc_graph_em_self_attention(&e, scaled(&e, y, in[3], in[4], in[2]), MASK, PAST, -1);
}
