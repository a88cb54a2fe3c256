/* Reference evaluation of the Scatter family: the updates one after the other. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "graph/ops/functions.h"

static double combined_f(char how, double a, double b) {
    bool nan = isnan(a) || isnan(b);
    switch (how) {
    case 'a':
        return a + b;
    case 'u':
        return a * b;
    case 'x':
        return nan ? NAN : a > b ? a : b;
    default:
        return nan ? NAN : a < b ? a : b;
    }
}

static int64_t combined_i(char how, tc_dtype t, int64_t a, int64_t b) {
    bool less = t == TC_U64 ? (uint64_t)a < (uint64_t)b : a < b;
    switch (how) {
    case 'a':
        return (int64_t)((uint64_t)a + (uint64_t)b);
    case 'u':
        return (int64_t)((uint64_t)a * (uint64_t)b);
    case 'x':
        return less ? b : a;
    default:
        return less ? a : b;
    }
}

/* y[at] takes update[from]; how: the letter that tells none, add, mul, max and min apart. */
static void take(tc_graph_tensor *y, int64_t at, const tc_graph_tensor *u, int64_t from, char how) {
    size_t size = (size_t)tc_dtype_bytes(y->dtype);
    if (how == 'o')
        memcpy((char *)y->data + (size_t)at * size, (const char *)u->data + (size_t)from * size, size);
    else if (tc_dtype_is_float(y->dtype))
        tc_store_f(y->dtype, y->data, at, combined_f(how, tc_load_f(y->dtype, y->data, at), tc_load_f(u->dtype, u->data, from)));
    else
        tc_store_i(y->dtype, y->data, at,
                   combined_i(how, y->dtype, tc_load_i(y->dtype, y->data, at), tc_load_i(u->dtype, u->data, from)));
}

static char letter_of(const tc_graph_node *n) {
    const char *how = tc_graph_attr_reduction(n);
    return strcmp(how, "add") == 0 ? 'a' : strcmp(how, "max") == 0 ? 'x' : how[1]; /* none, mul, min: o, u, i */
}

tc_status tc_graph_eval_scatter_elements(tc_graph_eval_ctx *c) {
    tc_graph_tensor *y = &c->out[0];
    int axis = (int)tc_graph_attr_axis(c->n);
    char how = letter_of(c->n);
    memcpy(y->data, c->in[0]->data, tc_graph_tensor_bytes(y));
    tc_graph_walk w = {.shape = c->in[1]->shape};
    tc_graph_shape_strides(&y->shape, w.strides[0]);
    int64_t stride = w.strides[0][axis];
    w.strides[0][axis] = 0;
    for (int64_t i = 0, n = tc_graph_tensor_count(c->in[1]); i < n; i++, tc_graph_walk_next(&w)) {
        int64_t at;
        TC_TRY(tc_graph_eval_index(c, i, y->shape.d[axis], &at));
        take(y, w.at[0] + at * stride, c->in[2], i, how);
    }
    return TC_OK;
}

tc_status tc_graph_eval_scatter_nd(tc_graph_eval_ctx *c) {
    tc_graph_tensor *y = &c->out[0];
    const tc_graph_shape *index = &c->in[1]->shape;
    int depth = (int)index->d[index->ndim - 1];
    int64_t strides[TC_GRAPH_MAX_DIMS], slice = 1, n = tc_graph_tensor_count(c->in[1]) / depth;
    char how = letter_of(c->n);
    memcpy(y->data, c->in[0]->data, tc_graph_tensor_bytes(y));
    tc_graph_shape_strides(&y->shape, strides);
    for (int d = depth; d < y->shape.ndim; d++)
        slice *= y->shape.d[d];
    for (int64_t i = 0; i < n; i++) {
        int64_t at = 0, k;
        for (int d = 0; d < depth; d++) {
            TC_TRY(tc_graph_eval_index(c, i * depth + d, y->shape.d[d], &k));
            at += k * strides[d];
        }
        for (int64_t j = 0; j < slice; j++)
            take(y, at + j, c->in[2], i * slice + j, how);
    }
    return TC_OK;
}

tc_status tc_graph_eval_scatter_list(tc_graph_eval_ctx *c) {
    return tc_graph_attr_tuples(c->n) ? tc_graph_eval_scatter_nd(c) : tc_graph_eval_scatter_elements(c);
}
