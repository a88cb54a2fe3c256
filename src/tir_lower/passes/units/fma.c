/* FMA: a product and an addition become a fused multiply-add.
 *
 *     acc + X * W   =>   fma(X, W, acc)
 *
 * f32 and f64 only: narrower floats round every operation to their own type. Of two products the left one is fused, so that a
 * chain of additions keeps its order. Differences stay unchanged. If x * y - z cancels, only the rounding that fusing skips
 * remains. softmax's exp(x * s - max(x * s)) would raise e to this rounding. Breaks: PLAIN_SUMS. Needs: the machine has fma;
 * otherwise the pass does nothing. */
#include "tir_lower/passes/pass.h"

static bool is_product(const tc_expr *e) {
    return e->op == TC_OP_MUL;
}

static const tc_expr *fuse(tc_ctx *c, const tc_expr *e, void *user) {
    (void)user;
    if ((e->dtype != TC_F32 && e->dtype != TC_F64) || e->op != TC_OP_ADD)
        return e;
    const tc_expr *a = e->args[0], *b = e->args[1];
    if (is_product(a))
        return tc_fma(c, a->args[0], a->args[1], b);
    return is_product(b) ? tc_fma(c, b->args[0], b->args[1], a) : e;
}

static const tc_stmt *fuse_store(tc_ctx *c, const tc_stmt *s, void *user) {
    return tir_with_store(c, s, s->u.store.index, tc_expr_map(c, s->u.store.value, fuse, user), s->u.store.mask);
}

static const tir_rules FUSE = {{[TC_STMT_STORE] = fuse_store}};

tc_status tir_pass_fma(tc_ctx *c, const tc_machine *m, const tc_func *in, tc_func **out, tc_error *err) {
    (void)err;
    *out = tir_with_body(c, in, m->fma ? tir_rewrite(c, &FUSE, in->body, NULL) : in->body);
    return TC_OK;
}
