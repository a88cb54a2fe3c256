/* Masked: what lies past a size that varies, replaced. */
#include <string.h>

#include "graph/ops/functions.h"

enum { X, SIZE, FILL };

tc_status tc_graph_infer_masked(tc_graph_infer_ctx *c) {
    const tc_graph_value *x = c->n->in[X];
    c->out[0] = (tc_graph_type){x->dtype, x->shape};
    return TC_OK;
}

tc_status tc_graph_eval_masked(tc_graph_eval_ctx *c) {
    const tc_graph_tensor *x = c->in[X];
    tc_graph_rows r = tc_graph_rows_of(&x->shape, (int)tc_graph_attr_axis(c->n));
    size_t size = (size_t)tc_dtype_bytes(x->dtype);
    int64_t kept = TC_MIN(TC_MAX(tc_load_i(TC_I64, c->in[SIZE]->data, 0), 0), r.n) * r.stride, row = r.n * r.stride;
    char *to = c->out[0].data;
    memcpy(to, x->data, tc_graph_tensor_bytes(x));
    for (int64_t o = 0; o < r.outer; o++)
        for (int64_t i = o * row + kept; i < (o + 1) * row; i++)
            memcpy(to + (size_t)i * size, c->in[FILL]->data, size);
    return TC_OK;
}

const tc_expr *tc_graph_at_masked(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    (void)out;
    tc_ctx *c = tc_graph_lower_ctx(l);
    int axis = (int)tc_graph_attr_axis(n);
    const tc_expr *inside = tc_bin(c, TC_OP_LT, idx[axis], tc_graph_size_at(l, n->in[SIZE]));
    return tc_select(c, inside, tc_graph_value_at(l, n->in[X], idx), tc_graph_value_at(l, n->in[FILL], NULL));
}
