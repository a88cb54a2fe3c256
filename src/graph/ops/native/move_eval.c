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
