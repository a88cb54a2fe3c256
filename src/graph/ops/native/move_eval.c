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
    const tc_graph_shape *s = &c->out[0].shape;
    size_t size = (size_t)tc_dtype_bytes(c->out[0].dtype);
    int64_t index[TC_GRAPH_MAX_DIMS] = {0}, at = start;
    char *dst = c->out[0].data;
    const char *src = c->in[0]->data;
    for (int64_t i = 0, n = tc_graph_tensor_count(&c->out[0]); i < n; i++) {
        if (size == 4) /* weights: worth a faster copy */
            memcpy(dst + 4 * (size_t)i, src + 4 * (size_t)at, 4);
        else
            memcpy(dst + size * (size_t)i, src + size * (size_t)at, size);
        for (int d = s->ndim - 1; d >= 0; d--) {
            at += strides[d];
            if (++index[d] < s->d[d])
                break;
            at -= strides[d] * s->d[d];
            index[d] = 0;
        }
    }
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
