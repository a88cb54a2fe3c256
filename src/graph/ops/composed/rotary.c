/* Rotary embeddings. The pairs are a dimension of 2, so that a turn is elementwise and no element's formula depends on its place:
 *
 *     x [.., 2, half] * cos [.., 1, half] + x with the two swapped * (sin * [-1, 1])
 *
 * What is not turned, behind the pairs, counts as pairs that are turned by nothing where these stand side by side, and is a part
 * of a Concat where not. */
#include <inttypes.h>
#include <string.h>

#include "graph/ops/composed/attention.h"

/* All of x; tables: [batch or 1, rows, half]. */
static tc_graph_value *turned(tc_graph_emitter *e, tc_graph_value *x, tc_graph_value *cos, tc_graph_value *sin,
                              bool interleaved) {
    static const double signs[] = {-1, 1};
    int64_t half = x->shape.d[3] / 2;
    int pair = interleaved ? 4 : 3;
    tc_graph_shape s = x->shape, way = {5, {1, 1, 1, 1, 1}}, turns = {5, {cos->shape.d[0], 1, cos->shape.d[1], 1, 1}};
    s.ndim = 5;
    s.d[pair] = way.d[pair] = 2;
    s.d[7 - pair] = turns.d[7 - pair] = half;
    tc_graph_value *pairs = tc_graph_em_reshape(e, x, &s), *sign = tc_graph_em_floats(e, x->dtype, &way, signs);
    tc_graph_value *swapped = tc_graph_em_slice(e, pairs, pair, 1, INT64_MIN, -1);
    tc_graph_value *along = em_mul(e, pairs, tc_graph_em_reshape(e, cos, &turns));
    tc_graph_value *across = em_mul(e, swapped, em_mul(e, tc_graph_em_reshape(e, sin, &turns), sign));
    return tc_graph_em_reshape(e, em_add(e, along, across), &x->shape);
}

/* Rows of `half` elements with more behind them. */
static tc_graph_value *extended(tc_graph_emitter *e, tc_graph_value *v, int64_t half, double fill) {
    int64_t pads[6] = {0};
    pads[5] = half - v->shape.d[2];
    return pads[5] ? tc_graph_em_pad(e, v, pads, tc_graph_em_scalar(e, v->dtype, fill)) : v;
}

static tc_graph_value *part_turned(tc_graph_emitter *e, tc_graph_value *x, tc_graph_value *cos, tc_graph_value *sin) {
    int64_t half = cos->shape.d[2];
    tc_graph_shape turns = {4, {cos->shape.d[0], 1, cos->shape.d[1], half}};
    tc_graph_value *a = tc_graph_em_slice(e, x, 3, 0, half, 1), *b = tc_graph_em_slice(e, x, 3, half, 2 * half, 1);
    cos = tc_graph_em_reshape(e, cos, &turns);
    sin = tc_graph_em_reshape(e, sin, &turns);
    tc_graph_value *parts[] = {em_sub(e, em_mul(e, a, cos), em_mul(e, b, sin)), em_add(e, em_mul(e, b, cos), em_mul(e, a, sin)),
                               tc_graph_em_slice(e, x, 3, 2 * half, x->shape.d[3], 1)};
    return tc_graph_em_concat(e, 3, parts, 3);
}

tc_graph_value *tc_graph_em_rotary(tc_graph_emitter *e, tc_graph_value *x, tc_graph_value *cos, tc_graph_value *sin,
                                   bool interleaved) {
    int64_t half = x->shape.d[3] / 2;
    tc_dtype to = x->dtype, t = tc_graph_wide(to);
    tc_graph_value *wide = tc_graph_em_cast(e, x, t);
    cos = tc_graph_em_cast(e, cos, t);
    sin = tc_graph_em_cast(e, sin, t);
    if (x->shape.d[3] > 2 * cos->shape.d[2] && !interleaved)
        return tc_graph_em_cast(e, part_turned(e, wide, cos, sin), to);
    return tc_graph_em_cast(e, turned(e, wide, extended(e, cos, half, 1), extended(e, sin, half, 0), interleaved), to);
}

/* ---- the operators ---- */

typedef struct rotary {
    tc_graph_value *x, *cos, *sin, *positions; /* positions: NULL where the tables are by row already */
    int64_t batch, rows, heads, width, part;
} rotary;

static tc_status read_heads(tc_graph_infer_ctx *c, rotary *r) {
    const tc_graph_shape *s = &r->x->shape;
    int64_t heads = tc_graph_attr_num_heads(c->n), table = 2 * r->cos->shape.d[r->cos->shape.ndim - 1];
    r->part = tc_graph_attr_rotary_embedding_dim(c->n);
    if (s->ndim != 3 && s->ndim != 4)
        return tc_graph_node_fail(c, "the input must have 3 or 4 dimensions, but has %d", s->ndim);
    r->batch = s->d[0];
    if (s->ndim == 4) {
        r->heads = s->d[1];
        r->rows = s->d[2];
        r->width = s->d[3];
    } else {
        bool by_table = heads == 0 && r->part == 0 && table > 0;
        r->heads = by_table ? s->d[2] / table : heads;
        r->rows = s->d[1];
        if (r->heads < 1 || s->d[2] % r->heads)
            return tc_graph_node_fail(c, "attribute num_heads (%" PRId64 ") must divide the %" PRId64 " elements of a row",
                                      r->heads, s->d[2]);
        r->width = s->d[2] / r->heads;
    }
    r->part = r->part ? r->part : r->width;
    if (r->part < 2 || r->part > r->width || r->part % 2 || r->width % 2)
        return tc_graph_node_fail(c, "%" PRId64 " of the %" PRId64 " elements of a head cannot be turned in pairs", r->part,
                                  r->width);
    return TC_OK;
}

static tc_status want_table_shape(tc_graph_infer_ctx *c, const rotary *r, const tc_graph_value *v) {
    int ndim = r->positions ? 2 : 3;
    bool fits = v->shape.ndim == ndim && v->shape.d[ndim - 1] == r->part / 2 && v->dtype == r->x->dtype;
    if (!r->positions)
        fits = fits && (v->shape.d[0] == r->batch || v->shape.d[0] == 1) && v->shape.d[1] == r->rows;
    if (fits)
        return TC_OK;
    return tc_graph_node_fail(c, "'%s' must have rows of %" PRId64 " elements of the input's type, but is %s", v->name,
                              r->part / 2, tc_graph_type_str(c->g->arena, v->dtype, &v->shape));
}

/* [batch or 1, rows] of i64; one number is the place of the first row. */
static tc_status place_rows(tc_graph_emitter *e, rotary *r) {
    const tc_graph_shape *s = &r->positions->shape;
    if (!tc_dtype_is_int(r->positions->dtype))
        return tc_graph_node_fail(e->c, "the positions '%s' must be integers", r->positions->name);
    tc_graph_value *at = tc_graph_em_cast(e, r->positions, TC_I64);
    if (tc_graph_shape_count(s) == 1 && s->ndim < 2) {
        at = em_add(e, tc_graph_em_reshape(e, at, &(tc_graph_shape){2, {1, 1}}), tc_graph_em_iota(e, r->rows, 1, 2));
        if (tc_graph_extent(r->x, r->x->shape.ndim - 2))
            at = tc_graph_em_sized(e, at, 1, tc_graph_extent(r->x, r->x->shape.ndim - 2));
    } else if (s->ndim != 2 || (s->d[0] != r->batch && s->d[0] != 1) || s->d[1] != r->rows) {
        return tc_graph_node_fail(e->c,
                                  "the positions '%s' must be one number, or one for each of %" PRId64 " x %" PRId64 " rows",
                                  r->positions->name, r->batch, r->rows);
    }
    r->cos = tc_graph_em_gather(e, TC_GRAPH_OP_GATHER, r->cos, at, 0);
    r->sin = tc_graph_em_gather(e, TC_GRAPH_OP_GATHER, r->sin, at, 0);
    return e->status;
}

/* Rows and sequences of the input, and what there is for each. */
static tc_status meet_rows(tc_graph_emitter *e, const rotary *r) {
    const tc_graph_value *of = r->positions ? r->positions : r->cos;
    int rows = r->x->shape.ndim - 2, last = r->x->shape.ndim - 1;
    if (tc_graph_extent(r->x, last) || (rows > 1 && tc_graph_extent(r->x, 1)))
        return tc_graph_dynamic_refuse(e->c, 0, tc_graph_extent(r->x, last) ? last : 1);
    if (of->shape.ndim < 2)
        return tc_graph_is_dynamic(of) ? tc_graph_dynamic_refuse(e->c, of == e->c->n->in[1] ? 1 : 3, 0) : TC_OK;
    TC_TRY(tc_graph_meet(e, r->x, 0, of, 0, true));
    TC_TRY(tc_graph_meet(e, r->x, rows, of, 1, false));
    return r->positions ? TC_OK : tc_graph_meet(e, r->cos, 1, r->sin, 1, false);
}

/* ONNX: (x, cos, sin, positions?); com.microsoft: (x, positions, cos, sin) */
tc_status tc_graph_infer_rotary_embedding(tc_graph_infer_ctx *c) {
    bool own = c->n->op == TC_GRAPH_OP_MS_ROTARY_EMBEDDING;
    tc_graph_value *const *in = c->n->in;
    rotary r = {.x = in[0], .cos = in[own ? 2 : 1], .sin = in[own ? 3 : 2]};
    r.positions = own ? in[1] : c->n->nin > 3 ? in[3] : NULL;
    TC_TRY(tc_graph_want_float(c, 0));
    if (tc_graph_attr_is_packed_batching(c->n) || tc_graph_attr_scale_or(c->n, 1) != 1)
        return tc_graph_node_refuse(c, TC_ERROR_UNSUPPORTED, "attributes is_packed_batching and scale are not supported");
    if (r.cos->shape.ndim < 1)
        return tc_graph_node_fail(c, "'%s' must be a table", r.cos->name);
    tc_graph_emitter e = {c, TC_OK};
    TC_TRY(read_heads(c, &r));
    TC_TRY(meet_rows(&e, &r));
    TC_TRY(want_table_shape(c, &r, r.cos));
    TC_TRY(want_table_shape(c, &r, r.sin));
    bool interleaved = tc_graph_attr_interleaved(c->n);
    if (r.positions)
        TC_TRY(place_rows(&e, &r));
    bool split = r.x->shape.ndim == 3;
    tc_graph_value *x = split ? tc_graph_em_split_heads(&e, r.x, r.heads) : r.x;
    tc_graph_value *y = tc_graph_em_rotary(&e, x, r.cos, r.sin, interleaved);
    return tc_graph_em_finish(&e, split ? tc_graph_em_merge_heads(&e, y) : y);
}
