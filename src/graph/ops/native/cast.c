/* Cast. */
#include <float.h>
#include <string.h>

#include "graph/ir/build.h"
#include "graph/ops/functions.h"

/* How floats become powers of two. */
static tc_status want_round_mode(tc_graph_infer_ctx *c, const char *mode) {
    if (strcmp(mode, "up") == 0 || strcmp(mode, "down") == 0 || strcmp(mode, "nearest") == 0)
        return TC_OK;
    return tc_graph_node_fail(c, "attribute round_mode must be up, down or nearest, but is '%s'", mode);
}

tc_status tc_graph_infer_cast(tc_graph_infer_ctx *c) {
    const tc_graph_value *x = c->n->in[0];
    tc_dtype to;
    TC_TRY(tc_graph_want_element_type(c, "to", tc_graph_attr_to(c->n), &to));
    int64_t saturate = tc_graph_attr_saturate(c->n);
    const char *round_mode = tc_graph_attr_round_mode(c->n);
    TC_TRY(want_round_mode(c, round_mode));
    tc_graph_become(c, to == x->dtype ? TC_GRAPH_OP_IDENTITY : TC_GRAPH_OP_CAST, 1);
    if (c->n->op == TC_GRAPH_OP_CAST)
        tc_graph_set_to(c->g, c->n, tc_graph_dtype_to_onnx(to));
    if (c->n->op == TC_GRAPH_OP_CAST && tc_float8_of(to))
        tc_graph_set_saturate(c->g, c->n, saturate);
    if (c->n->op == TC_GRAPH_OP_CAST && to == TC_F8E8M0)
        tc_graph_set_round_mode(c->g, c->n, round_mode);
    c->out[0] = tc_graph_like(c, 0);
    c->out[0].dtype = to;
    return TC_OK;
}

/* te takes the power of two at or below: others are reached from a multiple. Infinity becomes NaN, also where it saturates. x is
 * f32 or f64. */
static const tc_expr *to_power(tc_ctx *c, const tc_graph_node *n, const tc_expr *x) {
    const char *mode = tc_graph_attr_round_mode(n);
    bool wide = x->dtype == TC_F64;
    const tc_expr *a = tc_un(c, TC_OP_ABS, x);
    if (tc_graph_attr_saturate(n)) {
        const tc_expr *most = tc_imm(c, x->dtype, (double)tc_f8_largest(tc_float8_of(TC_F8E8M0)));
        const tc_expr *finite = tc_bin(c, TC_OP_LE, a, tc_imm(c, x->dtype, wide ? DBL_MAX : (double)FLT_MAX));
        a = tc_select(c, finite, tc_bin(c, TC_OP_MIN, a, most), a);
    }
    if (*mode == 'u') /* the largest number below 2: any fraction reaches the next power */
        a = tc_bin(c, TC_OP_MUL, a, tc_imm(c, x->dtype, wide ? 0x1.fffffffffffffp0 : 0x1.fffffep0));
    if (*mode == 'n') /* 4 / 3, so rounded that 1.5 reaches 2 and the number before it does not */
        a = tc_bin(c, TC_OP_MUL, a, tc_imm(c, x->dtype, wide ? 0x1.5555555555555p0 : 0x1.555556p0));
    return a;
}

const tc_expr *tc_graph_at_cast(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    tc_ctx *c = tc_graph_lower_ctx(l);
    tc_dtype to = n->out[out]->dtype;
    const tc_expr *x = tc_graph_operand(l, n, 0, n->out[0]->shape.ndim, idx);
    tc_dtype wide = x->dtype == TC_F64 ? TC_F64 : TC_F32;
    if (to == TC_F8E8M0) {
        bool rounds = !tc_dtype_is_float(x->dtype) && tc_dtype_bytes(x->dtype) > 2;
        x = to_power(c, n, tc_cast(c, rounds ? TC_F64 : wide, x));
    } else if (tc_float8_of(to) && tc_graph_attr_saturate(n)) {
        double most = (double)tc_f8_largest(tc_float8_of(to));
        x = tc_bin(c, TC_OP_MAX, tc_cast(c, wide, x), tc_imm(c, wide, -most));
        x = tc_bin(c, TC_OP_MIN, x, tc_imm(c, wide, most));
    } else if (tc_dtype_bits(to) == 4 && tc_dtype_is_int(to) && tc_dtype_is_float(x->dtype)) {
        x = tc_un(c, TC_OP_ROUND, tc_cast(c, wide, x));
    }
    return tc_cast(c, to, x);
}
