/* Sizes of a canonical node's outputs from those of its operands, by operator; operands whose unspecified part would be felt are
 * masked. See dynamic.h. */
#include "graph/ops/dynamic.h"

#include <string.h>

#include "graph/ops/lower.h"

typedef struct sizer {
    tc_graph_infer_ctx *c;
    tc_graph_node *n;
    tc_graph_emitter e;
} sizer;

typedef tc_status size_fn(sizer *s);

static tc_graph_value *in_extent(const sizer *s, int k, int d) {
    return k < s->n->nin ? tc_graph_extent(s->n->in[k], d) : NULL;
}

static tc_status no_dynamic(const sizer *s, int k, int from, int to) {
    for (int d = from; d < to; d++)
        if (in_extent(s, k, d))
            return tc_graph_dynamic_refuse(s->c, k, d);
    return TC_OK;
}

/* ---- shapes that stay ---- */

/* As operand 0, all outputs. */
static tc_status size_same(sizer *s) {
    for (int k = 0; k < s->c->nout; k++)
        for (int d = 0; d < s->n->in[0]->shape.ndim && d < s->c->out[k].shape.ndim; d++)
            s->c->extent[k][d] = in_extent(s, 0, d);
    for (int k = 1; k < s->n->nin; k++)
        if (s->n->in[k])
            TC_TRY(no_dynamic(s, k, 0, s->n->in[k]->shape.ndim));
    return TC_OK;
}

/* All operands broadcast to the output. Operands of two sizes are equal in a valid model, so either will do. */
static tc_status size_broadcast(sizer *s) {
    tc_graph_type *out = &s->c->out[0];
    for (int k = 0; k < s->n->nin; k++) {
        const tc_graph_shape *x = &s->n->in[k]->shape;
        for (int d = 0; d < x->ndim; d++) {
            int to = d + out->shape.ndim - x->ndim;
            tc_graph_value *size = in_extent(s, k, d);
            if (size && x->d[d] != out->shape.d[to])
                return tc_graph_dynamic_refuse(s->c, k, d);
            if (size && !s->c->extent[0][to])
                s->c->extent[0][to] = size;
        }
    }
    return TC_OK;
}

static tc_status size_transpose(sizer *s) {
    size_t len;
    const int64_t *perm = tc_graph_attr_ints(s->n, "perm", &len);
    for (size_t d = 0; d < len; d++)
        s->c->extent[0][d] = in_extent(s, 0, (int)perm[d]);
    return TC_OK;
}

/* ---- Reshape: dimensions that correspond, and a first one that grows or shrinks by what follows it ---- */

static int next_dim(const tc_graph_shape *x, tc_graph_value *const *size, int d) {
    while (d < x->ndim && x->d[d] == 1 && !(size && size[d]))
        d++;
    return d;
}

static tc_status size_reshape(sizer *s) {
    const tc_graph_value *x = s->n->in[0];
    tc_graph_type *out = &s->c->out[0];
    int i = 0, o = 0;
    for (;;) {
        i = next_dim(&x->shape, x->extent, i);
        o = next_dim(&out->shape, NULL, o);
        if (i == x->shape.ndim)
            return TC_OK;
        if (o == out->shape.ndim || x->shape.d[i] != out->shape.d[o])
            break;
        s->c->extent[0][o++] = x->extent[i++];
    }
    int first = i;
    tc_graph_value *size = x->extent[i];
    for (i++; i < x->shape.ndim; i++)
        if (x->extent[i])
            return tc_graph_dynamic_refuse(s->c, 0, i);
    if (!size)
        return TC_OK;
    int64_t in = 1, rest = 1;
    for (int d = first + 1; d < x->shape.ndim; d++)
        in *= x->shape.d[d];
    for (int d = o + 1; d < out->shape.ndim; d++)
        rest *= out->shape.d[d];
    bool grows = rest && in % rest == 0, shrinks = in && rest % in == 0;
    if (o == out->shape.ndim || (!grows && !shrinks))
        return tc_graph_dynamic_refuse(s->c, 0, first);
    int64_t times = grows ? in / rest : rest / in;
    tc_graph_value *by = tc_graph_em_ints(&s->e, TC_I64, &(tc_graph_shape){0}, &times);
    tc_graph_value *grown = grows ? em_mul(&s->e, size, by) : em_div(&s->e, size, by);
    grown->most = out->shape.d[o];
    s->c->extent[0][o] = grown;
    return s->e.status;
}

/* ---- moving data ---- */

static tc_status size_slice(sizer *s) {
    for (int d = 0; d < s->n->in[0]->shape.ndim; d++) {
        if (in_extent(s, 0, d) && s->c->out[0].shape.d[d] != s->n->in[0]->shape.d[d])
            return tc_graph_dynamic_refuse(s->c, 0, d);
        s->c->extent[0][d] = in_extent(s, 0, d);
    }
    return TC_OK;
}

static tc_status size_concat(sizer *s) {
    int axis = (int)tc_graph_attr_int(s->n, "axis", 0);
    for (int k = 0; k < s->n->nin; k++)
        for (int d = 0; d < s->c->out[0].shape.ndim; d++) {
            if (in_extent(s, k, d) && d == axis)
                return tc_graph_dynamic_refuse(s->c, k, d);
            if (!s->c->extent[0][d])
                s->c->extent[0][d] = in_extent(s, k, d);
        }
    return TC_OK;
}

/* Indices past their size point to the first element. */
static tc_status mask_index(sizer *s) {
    if (tc_graph_is_dynamic(s->n->in[1]))
        s->n->in[1] = tc_graph_em_masked(&s->e, s->n->in[1], -1,
                                         tc_graph_em_ints(&s->e, s->n->in[1]->dtype, &(tc_graph_shape){0}, &(int64_t){0}));
    return s->e.status;
}

static tc_status size_gather(sizer *s) {
    int axis = (int)tc_graph_attr_int(s->n, "axis", 0), o = 0;
    TC_TRY(mask_index(s));
    for (int d = 0; d < axis; d++)
        s->c->extent[0][o++] = in_extent(s, 0, d);
    for (int d = 0; d < s->n->in[1]->shape.ndim; d++)
        s->c->extent[0][o++] = in_extent(s, 1, d);
    for (int d = axis + 1; d < s->n->in[0]->shape.ndim; d++)
        s->c->extent[0][o++] = in_extent(s, 0, d);
    return TC_OK;
}

static tc_status size_gather_elements(sizer *s) {
    TC_TRY(mask_index(s));
    for (int d = 0; d < s->n->in[1]->shape.ndim; d++)
        s->c->extent[0][d] = in_extent(s, 1, d);
    return s->e.status;
}

static tc_status size_gather_nd(sizer *s) {
    const tc_graph_shape *index = &s->n->in[1]->shape;
    int batch = (int)tc_graph_attr_int(s->n, "batch_dims", 0), depth = (int)index->d[index->ndim - 1], o = 0;
    TC_TRY(no_dynamic(s, 1, index->ndim - 1, index->ndim));
    TC_TRY(mask_index(s));
    for (int d = 0; d < index->ndim - 1; d++)
        s->c->extent[0][o++] = in_extent(s, 1, d);
    for (int d = batch + depth; d < s->n->in[0]->shape.ndim; d++)
        s->c->extent[0][o++] = in_extent(s, 0, d);
    return s->e.status;
}

static tc_status size_tile(sizer *s) {
    for (int d = 0; d < s->n->in[0]->shape.ndim; d++)
        if (in_extent(s, 0, d) && s->c->out[0].shape.d[d] != s->n->in[0]->shape.d[d])
            return tc_graph_dynamic_refuse(s->c, 0, d);
    return size_same(s);
}

static tc_status size_pad(sizer *s) {
    size_t len;
    const int64_t *pads = tc_graph_attr_ints(s->n, "pads", &len);
    for (int d = 0; d < s->n->in[0]->shape.ndim; d++)
        if (in_extent(s, 0, d) && (pads[d] || pads[(size_t)d + len / 2]))
            return tc_graph_dynamic_refuse(s->c, 0, d);
    return size_same(s);
}

/* ---- along axes ---- */

/* What a reduction may see past the size without noticing; NULL: there is none. */
static tc_graph_value *neutral(sizer *s) {
    tc_dtype t = s->n->in[0]->dtype;
    switch ((int)s->n->op) {
    case TC_GRAPH_OP_REDUCE_SUM:
    case TC_GRAPH_OP_REDUCE_MEAN:
    case TC_GRAPH_OP_REDUCE_L1:
    case TC_GRAPH_OP_REDUCE_L2:
    case TC_GRAPH_OP_REDUCE_LOG_SUM:
    case TC_GRAPH_OP_REDUCE_SUM_SQUARE:
        return tc_graph_em_scalar(&s->e, t, 0);
    case TC_GRAPH_OP_REDUCE_PROD:
        return tc_graph_em_scalar(&s->e, t, 1);
    case TC_GRAPH_OP_REDUCE_MAX:
    case TC_GRAPH_OP_REDUCE_LOG_SUM_EXP:
    case TC_GRAPH_OP_ARG_MAX:
    case TC_GRAPH_OP_SOFTMAX:
    case TC_GRAPH_OP_LOG_SOFTMAX:
    case TC_GRAPH_OP_HARDMAX:
        return tc_graph_em_lowest(&s->e, t);
    case TC_GRAPH_OP_REDUCE_MIN:
    case TC_GRAPH_OP_ARG_MIN:
        return tc_graph_em_highest(&s->e, t);
    default:
        return NULL;
    }
}

/* sum / bound  =>  sum / size, as sum / bound * (bound / size) */
static void mean_of_size(sizer *s, tc_graph_value *size, int64_t most) {
    tc_dtype t = s->n->in[0]->dtype;
    tc_graph_value *scale = em_div(&s->e, tc_graph_em_scalar(&s->e, t, (double)most), tc_graph_em_cast(&s->e, size, t));
    s->n->in[0] = em_mul(&s->e, s->n->in[0], scale);
}

static tc_status size_reduce(sizer *s) {
    size_t len = 0;
    int64_t axis = tc_graph_attr_int(s->n, "axis", 0);
    const int64_t *axes = tc_graph_attr_ints(s->n, "axes", &len);
    bool keep = tc_graph_attr_int(s->n, "keepdims", 1) != 0;
    const tc_graph_value *x = s->n->in[0];
    for (int d = 0, o = 0; d < x->shape.ndim; d++) {
        bool reduced = axes ? false : d == axis;
        for (size_t k = 0; k < len; k++)
            reduced |= axes[k] == d;
        tc_graph_value *size = tc_graph_extent(x, d);
        if (!reduced) {
            s->c->extent[0][o++] = size;
            continue;
        }
        o += keep;
        if (!size)
            continue;
        if (tc_graph_attr_int(s->n, "select_last_index", 0))
            return tc_graph_dynamic_refuse(s->c, 0, d);
        s->n->in[0] = tc_graph_em_masked(&s->e, s->n->in[0], d, neutral(s));
        if (s->n->op == TC_GRAPH_OP_REDUCE_MEAN)
            mean_of_size(s, size, x->shape.d[d]);
    }
    return s->e.status;
}

static tc_status size_softmax(sizer *s) {
    int axis = (int)tc_graph_attr_int(s->n, "axis", 0);
    if (in_extent(s, 0, axis))
        s->n->in[0] = tc_graph_em_masked(&s->e, s->n->in[0], axis, neutral(s));
    TC_TRY(s->e.status);
    return size_same(s);
}

static tc_status size_cum_sum(sizer *s) {
    int axis = (int)tc_graph_attr_int(s->n, "axis", 0);
    if (in_extent(s, 0, axis) && tc_graph_attr_int(s->n, "reverse", 0))
        s->n->in[0] = tc_graph_em_masked(&s->e, s->n->in[0], axis, tc_graph_em_scalar(&s->e, s->n->in[0]->dtype, 0));
    TC_TRY(s->e.status);
    return size_same(s);
}

static tc_status size_layer_norm(sizer *s) {
    TC_TRY(no_dynamic(s, 0, (int)tc_graph_attr_int(s->n, "axis", 0), s->n->in[0]->shape.ndim));
    return size_same(s);
}

/* Windows walk the dimensions after the first two, and contractions the second. */
static tc_status size_window(sizer *s) {
    bool contracts = s->n->op == TC_GRAPH_OP_CONV || s->n->op == TC_GRAPH_OP_CONV_TRANSPOSE;
    TC_TRY(no_dynamic(s, 0, contracts ? 1 : 2, s->n->in[0]->shape.ndim));
    return size_same(s);
}

/* ---- contractions ---- */

static void mask_contracted(sizer *s, int k, int d) {
    if (in_extent(s, k, d))
        s->n->in[k] = tc_graph_em_masked(&s->e, s->n->in[k], d, tc_graph_em_scalar(&s->e, s->n->in[k]->dtype, 0));
}

static tc_status size_matmul(sizer *s) {
    const tc_graph_shape *a = &s->n->in[0]->shape, *b = &s->n->in[1]->shape;
    tc_graph_type *out = &s->c->out[0];
    int na = a->ndim, nb = b->ndim, batch = TC_MAX(na, nb) - 2;
    if (na < 2 || nb < 2) {
        TC_TRY(no_dynamic(s, 0, na < 2 ? 0 : na, na));
        TC_TRY(no_dynamic(s, 1, 0, nb));
        for (int d = 0; d < na - 1; d++)
            s->c->extent[0][d] = in_extent(s, 0, d);
    }
    for (int k = 0; k < 2 && batch >= 0 && na >= 2 && nb >= 2; k++)
        for (int d = 0, n = k ? nb : na; d < n - 2; d++) {
            int to = d + batch - (n - 2);
            if (in_extent(s, k, d) && s->n->in[k]->shape.d[d] != out->shape.d[to])
                return tc_graph_dynamic_refuse(s->c, k, d);
            if (in_extent(s, k, d))
                s->c->extent[0][to] = in_extent(s, k, d);
        }
    if (na >= 2 && nb >= 2) {
        s->c->extent[0][batch] = in_extent(s, 0, na - 2);
        s->c->extent[0][batch + 1] = in_extent(s, 1, nb - 1);
    }
    bool either = in_extent(s, 0, na - 1) || (nb >= 2 && in_extent(s, 1, nb - 2));
    mask_contracted(s, 0, na - 1);
    if (nb >= 2)
        mask_contracted(s, 1, nb - 2);
    if (either && !(in_extent(s, 0, na - 1) && nb >= 2 && in_extent(s, 1, nb - 2)))
        return tc_graph_dynamic_refuse(s->c, in_extent(s, 0, na - 1) ? 0 : 1, in_extent(s, 0, na - 1) ? na - 1 : nb - 2);
    return s->e.status;
}

static tc_status size_gemm(sizer *s) {
    int ta = tc_graph_attr_int(s->n, "transA", 0) != 0, tb = tc_graph_attr_int(s->n, "transB", 0) != 0;
    s->c->extent[0][0] = in_extent(s, 0, ta);
    s->c->extent[0][1] = in_extent(s, 1, !tb);
    if (!in_extent(s, 0, !ta) || !in_extent(s, 1, tb)) {
        TC_TRY(no_dynamic(s, 0, !ta, !ta + 1));
        TC_TRY(no_dynamic(s, 1, tb, tb + 1));
    }
    mask_contracted(s, 0, !ta);
    mask_contracted(s, 1, tb);
    return s->e.status;
}

/* ---- the table ---- */

static size_fn *size_of(tc_graph_op op) {
    if (tc_graph_is_pointwise(op))
        return size_broadcast;
    switch ((int)op) {
    case TC_GRAPH_OP_IDENTITY:
    case TC_GRAPH_OP_TRILU:
    case TC_GRAPH_OP_BATCH_NORM:
    case TC_GRAPH_OP_EXPAND: /* its operand has the shape already where it is dynamic */
        return op == TC_GRAPH_OP_EXPAND ? size_broadcast : size_same;
    case TC_GRAPH_OP_QUANTIZE_LINEAR:
    case TC_GRAPH_OP_DEQUANTIZE_LINEAR:
        return size_broadcast;
    case TC_GRAPH_OP_RESHAPE:
        return size_reshape;
    case TC_GRAPH_OP_TRANSPOSE:
        return size_transpose;
    case TC_GRAPH_OP_SLICE:
        return size_slice;
    case TC_GRAPH_OP_CONCAT:
        return size_concat;
    case TC_GRAPH_OP_GATHER:
        return size_gather;
    case TC_GRAPH_OP_GATHER_ELEMENTS:
        return size_gather_elements;
    case TC_GRAPH_OP_GATHER_ND:
        return size_gather_nd;
    case TC_GRAPH_OP_TILE:
        return size_tile;
    case TC_GRAPH_OP_PAD:
        return size_pad;
    case TC_GRAPH_OP_SOFTMAX:
    case TC_GRAPH_OP_LOG_SOFTMAX:
    case TC_GRAPH_OP_HARDMAX:
        return size_softmax;
    case TC_GRAPH_OP_CUM_SUM:
        return size_cum_sum;
    case TC_GRAPH_OP_LAYER_NORM:
        return size_layer_norm;
    case TC_GRAPH_OP_CONV:
    case TC_GRAPH_OP_CONV_TRANSPOSE:
    case TC_GRAPH_OP_MAX_POOL:
    case TC_GRAPH_OP_AVERAGE_POOL:
        return size_window;
    case TC_GRAPH_OP_MATMUL:
        return size_matmul;
    case TC_GRAPH_OP_GEMM:
        return size_gemm;
    default:
        break;
    }
    bool reduces = (op >= TC_GRAPH_OP_REDUCE_L1 && op <= TC_GRAPH_OP_REDUCE_SUM_SQUARE) || op == TC_GRAPH_OP_ARG_MAX ||
                   op == TC_GRAPH_OP_ARG_MIN;
    return reduces ? size_reduce : NULL;
}

tc_status tc_graph_dynamic_sizes(tc_graph_infer_ctx *c) {
    int first = 0;
    while (first < c->n->nin && !tc_graph_is_dynamic(c->n->in[first]))
        first++;
    if (first == c->n->nin)
        return TC_OK;
    size_fn *f = size_of(c->n->op);
    if (!f)
        return tc_graph_dynamic_refuse(c, first, 0);
    sizer s = {.c = c, .n = c->n, .e = {c, TC_OK}};
    return f(&s);
}
