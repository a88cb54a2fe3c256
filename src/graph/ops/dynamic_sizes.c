/* Sizes of a canonical node's outputs from those of its operands, by operator; operands whose unspecified part would be felt are
 * masked. See dynamic.h. */
#include "graph/ops/functions.h"

#include <string.h>

/* ---- shapes that stay ---- */

/* As operand 0, all outputs. */
tc_status tc_graph_sizes_same(tc_graph_emitter *e) {
    for (int k = 0; k < e->c->nout; k++)
        for (int d = 0; d < e->c->n->in[0]->shape.ndim && d < e->c->out[k].shape.ndim; d++)
            e->c->extent[k][d] = tc_graph_in_extent(e, 0, d);
    for (int k = 1; k < e->c->n->nin; k++)
        if (e->c->n->in[k])
            TC_TRY(tc_graph_dynamic_refuse_any(e, k, 0, e->c->n->in[k]->shape.ndim));
    return TC_OK;
}

/* All operands broadcast to the output. Operands of two sizes are equal in a valid model, so either will do. */
tc_status tc_graph_sizes_broadcast(tc_graph_emitter *e) {
    tc_graph_type *out = &e->c->out[0];
    for (int k = 0; k < e->c->n->nin; k++) {
        const tc_graph_shape *x = &e->c->n->in[k]->shape;
        for (int d = 0; d < x->ndim; d++) {
            int to = d + out->shape.ndim - x->ndim;
            tc_graph_value *size = tc_graph_in_extent(e, k, d);
            if (size && x->d[d] != out->shape.d[to])
                return tc_graph_dynamic_refuse(e->c, k, d);
            if (size && !e->c->extent[0][to])
                e->c->extent[0][to] = size;
        }
    }
    return TC_OK;
}

tc_status tc_graph_sizes_transpose(tc_graph_emitter *e) {
    size_t len;
    const int64_t *perm = tc_graph_attr_perm(e->c->n, &len);
    for (size_t d = 0; d < len; d++)
        e->c->extent[0][d] = tc_graph_in_extent(e, 0, (int)perm[d]);
    return TC_OK;
}

/* ---- Reshape: dimensions that correspond, and a first one that grows or shrinks by what follows it ---- */

static int next_dim(const tc_graph_shape *x, tc_graph_value *const *size, int d) {
    while (d < x->ndim && x->d[d] == 1 && !(size && size[d]))
        d++;
    return d;
}

tc_status tc_graph_sizes_reshape(tc_graph_emitter *e) {
    const tc_graph_value *x = e->c->n->in[0];
    tc_graph_type *out = &e->c->out[0];
    int i = 0, o = 0;
    for (;;) {
        i = next_dim(&x->shape, x->extent, i);
        o = next_dim(&out->shape, NULL, o);
        if (i == x->shape.ndim)
            return TC_OK;
        if (o == out->shape.ndim || x->shape.d[i] != out->shape.d[o])
            break;
        e->c->extent[0][o++] = x->extent[i++];
    }
    int first = i;
    tc_graph_value *size = x->extent[i];
    for (i++; i < x->shape.ndim; i++)
        if (x->extent[i])
            return tc_graph_dynamic_refuse(e->c, 0, i);
    if (!size)
        return TC_OK;
    int64_t in = 1, rest = 1;
    for (int d = first + 1; d < x->shape.ndim; d++)
        in *= x->shape.d[d];
    for (int d = o + 1; d < out->shape.ndim; d++)
        rest *= out->shape.d[d];
    bool grows = rest && in % rest == 0, shrinks = in && rest % in == 0;
    if (o == out->shape.ndim || (!grows && !shrinks))
        return tc_graph_dynamic_refuse(e->c, 0, first);
    int64_t times = grows ? in / rest : rest / in;
    tc_graph_value *by = tc_graph_em_ints(e, TC_I64, &(tc_graph_shape){0}, &times);
    tc_graph_value *grown = grows ? em_mul(e, size, by) : em_div(e, size, by);
    grown->most = out->shape.d[o];
    e->c->extent[0][o] = grown;
    return e->status;
}

/* ---- moving data ---- */

tc_status tc_graph_sizes_slice(tc_graph_emitter *e) {
    for (int d = 0; d < e->c->n->in[0]->shape.ndim; d++) {
        if (tc_graph_in_extent(e, 0, d) && e->c->out[0].shape.d[d] != e->c->n->in[0]->shape.d[d])
            return tc_graph_dynamic_refuse(e->c, 0, d);
        e->c->extent[0][d] = tc_graph_in_extent(e, 0, d);
    }
    return TC_OK;
}

tc_status tc_graph_sizes_concat(tc_graph_emitter *e) {
    int axis = (int)tc_graph_attr_axis(e->c->n);
    for (int k = 0; k < e->c->n->nin; k++)
        for (int d = 0; d < e->c->out[0].shape.ndim; d++) {
            if (tc_graph_in_extent(e, k, d) && d == axis)
                return tc_graph_dynamic_refuse(e->c, k, d);
            if (!e->c->extent[0][d])
                e->c->extent[0][d] = tc_graph_in_extent(e, k, d);
        }
    return TC_OK;
}

/* Indices past their size point to the first element. */
static tc_status mask_index(tc_graph_emitter *e) {
    if (tc_graph_is_dynamic(e->c->n->in[1]))
        e->c->n->in[1] = tc_graph_em_masked(e, e->c->n->in[1], -1,
                                            tc_graph_em_ints(e, e->c->n->in[1]->dtype, &(tc_graph_shape){0}, &(int64_t){0}));
    return e->status;
}

tc_status tc_graph_sizes_gather(tc_graph_emitter *e) {
    int axis = (int)tc_graph_attr_axis(e->c->n), o = 0;
    TC_TRY(mask_index(e));
    for (int d = 0; d < axis; d++)
        e->c->extent[0][o++] = tc_graph_in_extent(e, 0, d);
    for (int d = 0; d < e->c->n->in[1]->shape.ndim; d++)
        e->c->extent[0][o++] = tc_graph_in_extent(e, 1, d);
    for (int d = axis + 1; d < e->c->n->in[0]->shape.ndim; d++)
        e->c->extent[0][o++] = tc_graph_in_extent(e, 0, d);
    return TC_OK;
}

tc_status tc_graph_sizes_gather_elements(tc_graph_emitter *e) {
    TC_TRY(mask_index(e));
    for (int d = 0; d < e->c->n->in[1]->shape.ndim; d++)
        e->c->extent[0][d] = tc_graph_in_extent(e, 1, d);
    return e->status;
}

tc_status tc_graph_sizes_gather_nd(tc_graph_emitter *e) {
    const tc_graph_shape *index = &e->c->n->in[1]->shape;
    int batch = (int)tc_graph_attr_batch_dims(e->c->n), depth = (int)index->d[index->ndim - 1], o = 0;
    TC_TRY(tc_graph_dynamic_refuse_any(e, 1, index->ndim - 1, index->ndim));
    TC_TRY(mask_index(e));
    for (int d = 0; d < index->ndim - 1; d++)
        e->c->extent[0][o++] = tc_graph_in_extent(e, 1, d);
    for (int d = batch + depth; d < e->c->n->in[0]->shape.ndim; d++)
        e->c->extent[0][o++] = tc_graph_in_extent(e, 0, d);
    return e->status;
}

tc_status tc_graph_sizes_tile(tc_graph_emitter *e) {
    for (int d = 0; d < e->c->n->in[0]->shape.ndim; d++)
        if (tc_graph_in_extent(e, 0, d) && e->c->out[0].shape.d[d] != e->c->n->in[0]->shape.d[d])
            return tc_graph_dynamic_refuse(e->c, 0, d);
    return tc_graph_sizes_same(e);
}

tc_status tc_graph_sizes_pad(tc_graph_emitter *e) {
    size_t len;
    const int64_t *pads = tc_graph_attr_pads(e->c->n, &len);
    for (int d = 0; d < e->c->n->in[0]->shape.ndim; d++)
        if (tc_graph_in_extent(e, 0, d) && (pads[d] || pads[(size_t)d + len / 2]))
            return tc_graph_dynamic_refuse(e->c, 0, d);
    return tc_graph_sizes_same(e);
}

/* ---- along axes ---- */

/* What a reduction may see past the size without noticing. */
static tc_graph_value *neutral(tc_graph_emitter *e) {
    enum { ZERO, ONE, LOWEST, HIGHEST };
    static const uint8_t neutrals[TC_GRAPH_OP_COUNT] = {
        [TC_GRAPH_OP_REDUCE_L1] = ZERO,      [TC_GRAPH_OP_REDUCE_L2] = ZERO,
        [TC_GRAPH_OP_REDUCE_LOG_SUM] = ZERO, [TC_GRAPH_OP_REDUCE_LOG_SUM_EXP] = LOWEST,
        [TC_GRAPH_OP_REDUCE_MAX] = LOWEST,   [TC_GRAPH_OP_REDUCE_MEAN] = ZERO,
        [TC_GRAPH_OP_REDUCE_MIN] = HIGHEST,  [TC_GRAPH_OP_REDUCE_PROD] = ONE,
        [TC_GRAPH_OP_REDUCE_SUM] = ZERO,     [TC_GRAPH_OP_REDUCE_SUM_SQUARE] = ZERO,
        [TC_GRAPH_OP_ARG_MAX] = LOWEST,      [TC_GRAPH_OP_ARG_MIN] = HIGHEST,
        [TC_GRAPH_OP_SOFTMAX] = LOWEST,      [TC_GRAPH_OP_LOG_SOFTMAX] = LOWEST,
        [TC_GRAPH_OP_HARDMAX] = LOWEST,
    };
    uint8_t which = neutrals[e->c->n->op];
    tc_dtype t = e->c->n->in[0]->dtype;
    if (which == LOWEST || which == HIGHEST)
        return which == LOWEST ? tc_graph_em_lowest(e, t) : tc_graph_em_highest(e, t);
    return tc_graph_em_scalar(e, t, which == ONE);
}

/* sum / bound  =>  sum / size, as sum / bound * (bound / size) */
static void mean_of_size(tc_graph_emitter *e, tc_graph_value *size, int64_t most) {
    tc_dtype t = e->c->n->in[0]->dtype;
    tc_graph_value *scale = em_div(e, tc_graph_em_scalar(e, t, (double)most), tc_graph_em_cast(e, size, t));
    e->c->n->in[0] = em_mul(e, e->c->n->in[0], scale);
}

tc_status tc_graph_sizes_reduce(tc_graph_emitter *e) {
    size_t len = 0;
    int64_t axis = tc_graph_attr_axis(e->c->n);
    const int64_t *axes = tc_graph_attr_axes(e->c->n, &len);
    bool keep = tc_graph_attr_keepdims(e->c->n) != 0;
    const tc_graph_value *x = e->c->n->in[0];
    for (int d = 0, o = 0; d < x->shape.ndim; d++) {
        bool reduced = axes ? false : d == axis;
        for (size_t k = 0; k < len; k++)
            reduced |= axes[k] == d;
        tc_graph_value *size = tc_graph_extent(x, d);
        if (!reduced) {
            e->c->extent[0][o++] = size;
            continue;
        }
        o += keep;
        if (!size)
            continue;
        if (tc_graph_attr_select_last_index(e->c->n))
            return tc_graph_dynamic_refuse(e->c, 0, d);
        e->c->n->in[0] = tc_graph_em_masked(e, e->c->n->in[0], d, neutral(e));
        if (e->c->n->op == TC_GRAPH_OP_REDUCE_MEAN)
            mean_of_size(e, size, x->shape.d[d]);
    }
    return e->status;
}

tc_status tc_graph_sizes_softmax(tc_graph_emitter *e) {
    int axis = (int)tc_graph_attr_axis(e->c->n);
    if (tc_graph_in_extent(e, 0, axis))
        e->c->n->in[0] = tc_graph_em_masked(e, e->c->n->in[0], axis, neutral(e));
    TC_TRY(e->status);
    return tc_graph_sizes_same(e);
}

tc_status tc_graph_sizes_cum_sum(tc_graph_emitter *e) {
    int axis = (int)tc_graph_attr_axis(e->c->n);
    if (tc_graph_in_extent(e, 0, axis) && tc_graph_attr_reverse(e->c->n))
        e->c->n->in[0] = tc_graph_em_masked(e, e->c->n->in[0], axis, tc_graph_em_scalar(e, e->c->n->in[0]->dtype, 0));
    TC_TRY(e->status);
    return tc_graph_sizes_same(e);
}

tc_status tc_graph_sizes_layer_norm(tc_graph_emitter *e) {
    TC_TRY(tc_graph_dynamic_refuse_any(e, 0, (int)tc_graph_attr_axis(e->c->n), e->c->n->in[0]->shape.ndim));
    return tc_graph_sizes_same(e);
}

/* Windows walk the dimensions after the first two, and contractions the second. */
tc_status tc_graph_sizes_pool(tc_graph_emitter *e) {
    TC_TRY(tc_graph_dynamic_refuse_any(e, 0, 2, e->c->n->in[0]->shape.ndim));
    return tc_graph_sizes_same(e);
}

tc_status tc_graph_sizes_conv(tc_graph_emitter *e) {
    TC_TRY(tc_graph_dynamic_refuse_any(e, 0, 1, e->c->n->in[0]->shape.ndim));
    return tc_graph_sizes_same(e);
}

/* ---- contractions ---- */

static void mask_contracted(tc_graph_emitter *e, int k, int d) {
    if (tc_graph_in_extent(e, k, d))
        e->c->n->in[k] = tc_graph_em_masked(e, e->c->n->in[k], d, tc_graph_em_scalar(e, e->c->n->in[k]->dtype, 0));
}

tc_status tc_graph_sizes_matmul(tc_graph_emitter *e) {
    const tc_graph_shape *a = &e->c->n->in[0]->shape, *b = &e->c->n->in[1]->shape;
    tc_graph_type *out = &e->c->out[0];
    int na = a->ndim, nb = b->ndim, batch = TC_MAX(na, nb) - 2;
    if (na < 2 || nb < 2) {
        TC_TRY(tc_graph_dynamic_refuse_any(e, 0, na < 2 ? 0 : na, na));
        TC_TRY(tc_graph_dynamic_refuse_any(e, 1, 0, nb));
        for (int d = 0; d < na - 1; d++)
            e->c->extent[0][d] = tc_graph_in_extent(e, 0, d);
    }
    for (int k = 0; k < 2 && batch >= 0 && na >= 2 && nb >= 2; k++)
        for (int d = 0, n = k ? nb : na; d < n - 2; d++) {
            int to = d + batch - (n - 2);
            if (tc_graph_in_extent(e, k, d) && e->c->n->in[k]->shape.d[d] != out->shape.d[to])
                return tc_graph_dynamic_refuse(e->c, k, d);
            if (tc_graph_in_extent(e, k, d))
                e->c->extent[0][to] = tc_graph_in_extent(e, k, d);
        }
    if (na >= 2 && nb >= 2) {
        e->c->extent[0][batch] = tc_graph_in_extent(e, 0, na - 2);
        e->c->extent[0][batch + 1] = tc_graph_in_extent(e, 1, nb - 1);
    }
    bool either = tc_graph_in_extent(e, 0, na - 1) || (nb >= 2 && tc_graph_in_extent(e, 1, nb - 2));
    mask_contracted(e, 0, na - 1);
    if (nb >= 2)
        mask_contracted(e, 1, nb - 2);
    if (either && !(tc_graph_in_extent(e, 0, na - 1) && nb >= 2 && tc_graph_in_extent(e, 1, nb - 2)))
        return tc_graph_dynamic_refuse(e->c, tc_graph_in_extent(e, 0, na - 1) ? 0 : 1,
                                       tc_graph_in_extent(e, 0, na - 1) ? na - 1 : nb - 2);
    return e->status;
}

tc_status tc_graph_sizes_gemm(tc_graph_emitter *e) {
    int ta = tc_graph_attr_trans_a(e->c->n) != 0, tb = tc_graph_attr_trans_b(e->c->n) != 0;
    e->c->extent[0][0] = tc_graph_in_extent(e, 0, ta);
    e->c->extent[0][1] = tc_graph_in_extent(e, 1, !tb);
    if (!tc_graph_in_extent(e, 0, !ta) || !tc_graph_in_extent(e, 1, tb)) {
        TC_TRY(tc_graph_dynamic_refuse_any(e, 0, !ta, !ta + 1));
        TC_TRY(tc_graph_dynamic_refuse_any(e, 1, tb, tb + 1));
    }
    mask_contracted(e, 0, !ta);
    mask_contracted(e, 1, tb);
    return e->status;
}
