/* Reference evaluation of operators that move data: bytes are copied, whatever the type. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "graph/ops/functions.h"

tc_status tc_graph_eval_copy(tc_graph_eval_ctx *c) {
    memcpy(c->out[0].data, c->in[0]->data, tc_graph_tensor_bytes(c->in[0]));
    return TC_OK;
}

/* out[index] = in[start + sum of index * stride] */
static void strided_copy(tc_graph_eval_ctx *c, int64_t start, const int64_t *strides) {
    size_t size = (size_t)tc_dtype_bytes(c->out[0].dtype);
    int64_t count = tc_graph_tensor_count(&c->out[0]);
    tc_graph_walk w = {.shape = c->out[0].shape, .at = {start}};
    memcpy(w.strides[0], strides, sizeof *strides * (size_t)w.shape.ndim);
    char *dst = c->out[0].data;
    const char *src = c->in[0]->data;
    if (size == 4) { /* weights: worth a faster loop */
        for (int64_t i = 0; i < count; i++, tc_graph_walk_next(&w))
            ((uint32_t *)c->out[0].data)[i] = ((const uint32_t *)c->in[0]->data)[w.at[0]];
        return;
    }
    for (int64_t i = 0; i < count; i++, tc_graph_walk_next(&w))
        memcpy(dst + (size_t)i * size, src + (size_t)w.at[0] * size, size);
}

tc_status tc_graph_eval_transpose(tc_graph_eval_ctx *c) {
    size_t len;
    const int64_t *perm = tc_graph_attr_perm(c->n, &len);
    int64_t own[TC_GRAPH_MAX_DIMS], strides[TC_GRAPH_MAX_DIMS];
    tc_graph_shape_strides(&c->in[0]->shape, own);
    for (size_t i = 0; i < len; i++)
        strides[i] = own[perm[i]];
    strided_copy(c, 0, strides);
    return TC_OK;
}

tc_status tc_graph_eval_slice(tc_graph_eval_ctx *c) {
    size_t len;
    const int64_t *starts = tc_graph_attr_starts(c->n, &len), *steps = tc_graph_attr_steps(c->n, &len);
    int64_t own[TC_GRAPH_MAX_DIMS], strides[TC_GRAPH_MAX_DIMS], start = 0;
    tc_graph_shape_strides(&c->in[0]->shape, own);
    for (size_t i = 0; i < len; i++) {
        start += starts[i] * own[i];
        strides[i] = steps[i] * own[i];
    }
    strided_copy(c, start, strides);
    return TC_OK;
}

tc_status tc_graph_eval_expand(tc_graph_eval_ctx *c) {
    int64_t strides[TC_GRAPH_MAX_DIMS];
    tc_graph_broadcast_strides(&c->in[0]->shape, &c->out[0].shape, strides);
    strided_copy(c, 0, strides);
    return TC_OK;
}

/* Bytes of the dims from `axis` on. */
size_t tc_graph_tail_bytes(const tc_graph_tensor *t, int axis) {
    size_t n = (size_t)tc_dtype_bytes(t->dtype);
    for (int i = axis; i < t->shape.ndim; i++)
        n *= (size_t)t->shape.d[i];
    return n;
}

int64_t tc_graph_head_count(const tc_graph_shape *s, int axis) {
    int64_t n = 1;
    for (int i = 0; i < axis; i++)
        n *= s->d[i];
    return n;
}

tc_status tc_graph_eval_concat(tc_graph_eval_ctx *c) {
    int axis = (int)tc_graph_attr_axis(c->n);
    size_t row = tc_graph_tail_bytes(&c->out[0], axis), at = 0;
    int64_t rows = tc_graph_head_count(&c->out[0].shape, axis);
    for (int k = 0; k < c->n->nin; k++) {
        size_t part = tc_graph_tail_bytes(c->in[k], axis);
        for (int64_t r = 0; r < rows; r++)
            memcpy((char *)c->out[0].data + (size_t)r * row + at, (const char *)c->in[k]->data + (size_t)r * part, part);
        at += part;
    }
    return TC_OK;
}

/* ---- index maps ---- */

tc_status tc_graph_eval_tile(tc_graph_eval_ctx *c) {
    const tc_graph_tensor *x = c->in[0];
    size_t size = (size_t)tc_dtype_bytes(x->dtype);
    int64_t own[TC_GRAPH_MAX_DIMS], count = tc_graph_tensor_count(&c->out[0]);
    tc_graph_shape_strides(&x->shape, own);
    tc_graph_walk w = {.shape = c->out[0].shape};
    for (int64_t i = 0; i < count; i++, tc_graph_walk_next(&w)) {
        int64_t at = 0;
        for (int d = 0; d < w.shape.ndim; d++)
            at += w.index[d] % x->shape.d[d] * own[d];
        memcpy((char *)c->out[0].data + (size_t)i * size, (const char *)x->data + (size_t)at * size, size);
    }
    return TC_OK;
}

/* The source index in a dimension of n for position i, or -1 for the fill value. mode by its first letter. */
static int64_t pad_source(char mode, int64_t i, int64_t n) {
    if (i >= 0 && i < n)
        return i;
    if (mode == 'e')
        return i < 0 ? 0 : n - 1;
    if (mode == 'w')
        return ((i % n) + n) % n;
    return mode == 'r' ? (i < 0 ? -i : 2 * (n - 1) - i) : -1;
}

tc_status tc_graph_eval_pad(tc_graph_eval_ctx *c) {
    const tc_graph_tensor *x = c->in[0], *value = c->n->nin > 1 ? c->in[1] : NULL;
    size_t size = (size_t)tc_dtype_bytes(x->dtype), len;
    char mode = tc_graph_attr_mode(c->n)[0];
    const int64_t *pads = tc_graph_attr_pads(c->n, &len);
    int64_t own[TC_GRAPH_MAX_DIMS], count = tc_graph_tensor_count(&c->out[0]);
    tc_graph_shape_strides(&x->shape, own);
    tc_graph_walk w = {.shape = c->out[0].shape};
    for (int64_t i = 0; i < count; i++, tc_graph_walk_next(&w)) {
        int64_t at = 0;
        for (int d = 0; d < w.shape.ndim && at >= 0; d++) {
            int64_t from = pad_source(mode, w.index[d] - pads[d], x->shape.d[d]);
            at = from < 0 ? -1 : at + from * own[d];
        }
        if (at >= 0)
            memcpy((char *)c->out[0].data + (size_t)i * size, (const char *)x->data + (size_t)at * size, size);
        else if (value)
            memcpy((char *)c->out[0].data + (size_t)i * size, value->data, size);
    }
    return TC_OK;
}

tc_status tc_graph_eval_trilu(tc_graph_eval_ctx *c) {
    const tc_graph_tensor *x = c->in[0];
    size_t size = (size_t)tc_dtype_bytes(x->dtype);
    bool upper = tc_graph_attr_upper(c->n);
    int64_t k = tc_graph_attr_k(c->n), cols = x->shape.d[x->shape.ndim - 1], rows = x->shape.d[x->shape.ndim - 2];
    for (int64_t i = 0, count = tc_graph_tensor_count(x); i < count; i++) {
        int64_t col = i % cols, row = i / cols % rows;
        if (upper ? col >= row + k : col <= row + k)
            memcpy((char *)c->out[0].data + (size_t)i * size, (const char *)x->data + (size_t)i * size, size);
    }
    return TC_OK;
}
