/* Neutral: removes terms that add nothing to a reduction, and the loops that do nothing else.
 *
 *     acc[x] = acc[x] + 0.0 * W_packed[..]       sum over a tap that falls on the padding
 *     acc[x] = max(acc[x], -inf)                 the same for pooling
 *
 * Partition makes bodies in which a tap is known to lie on the padding. This pass removes their work. A product with zero is
 * zero if the other factor is finite. Constants are assumed finite, because ONNX means that padding contributes nothing.
 * Run-time operands are multiplied. A sum that started at +0 never becomes -0, so omitting +0 or -0 does not change a bit of it.
 *
 * Needs: NO_VECTOR, because vectorise decides the selects of unrolled loops; PLAIN_SUMS. Keeps everything else. */
#include "tir_lower/passes/pass.h"

#include <math.h>

static const tc_expr *lane(const tc_expr *e) {
    return e->op == TC_OP_BCAST ? e->args[0] : e;
}

static bool is_constant(const tc_func *f, const tc_buffer *b) {
    return b->scope == TC_BUF_PARAM && ((b->tensor && b->tensor->is_const) || f->params[b->param].kind == TC_PARAM_PACKED);
}

/* A constant, as it is or widened. */
static bool is_finite(const tc_func *f, const tc_expr *e) {
    e = lane(e);
    if (e->op == TC_OP_FLOAT)
        return isfinite(e->u.f);
    if (e->op == TC_OP_LOAD)
        return is_constant(f, e->u.buffer);
    bool widens = e->op == TC_OP_CAST && tc_dtype_bytes(e->dtype) >= tc_dtype_bytes(e->args[0]->dtype);
    return widens && is_finite(f, e->args[0]);
}

static bool is_zero(const tc_func *f, const tc_expr *e) {
    e = lane(e);
    if (e->op == TC_OP_FLOAT)
        return e->u.f == 0.0;
    if (e->op == TC_OP_CAST)
        return is_zero(f, e->args[0]);
    if (e->op != TC_OP_MUL)
        return false;
    return (is_zero(f, e->args[0]) && (is_zero(f, e->args[1]) || is_finite(f, e->args[1]))) ||
           (is_finite(f, e->args[0]) && is_zero(f, e->args[1]));
}

static bool is_infinite(const tc_expr *e, double sign) {
    e = lane(e);
    return e->op == TC_OP_FLOAT && isinf(e->u.f) && e->u.f * sign > 0;
}

bool tir_is_neutral(const tc_func *f, const tc_stmt *s) {
    const tc_expr *v = s->u.store.value;
    if (!tc_dtype_is_float(v->dtype) || (v->op != TC_OP_ADD && v->op != TC_OP_MAX && v->op != TC_OP_MIN))
        return false;
    const tc_expr *own = v->args[0], *x = v->args[1];
    if (own->op != TC_OP_LOAD || own->u.buffer != s->u.store.buffer || own->args[0] != s->u.store.index)
        return false;
    return v->op == TC_OP_ADD ? is_zero(f, x) : is_infinite(x, v->op == TC_OP_MAX ? -1.0 : 1.0);
}

static const tc_stmt *drop_store(tc_ctx *c, const tc_stmt *s, void *user) {
    (void)c;
    return tir_is_neutral(user, s) ? NULL : s;
}

static const tir_rules DROP = {{[TC_STMT_STORE] = drop_store}};

tc_status tir_pass_neutral(tc_ctx *c, const tc_machine *m, const tc_func *in, tc_func **out, tc_error *err) {
    (void)m, (void)err;
    *out = tir_with_body(c, in, tir_rewrite(c, &DROP, in->body, (void *)(uintptr_t)in));
    return TC_OK;
}
