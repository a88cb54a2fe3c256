/* Simplify: simplifies index arithmetic and conditions under the enclosing loops and conditions.
 *
 *     for i < 1 { for j < 64 { if 16*i + j < 64 { A[(64*i + j) / 64] = .. } } }
 *  => for j < 64 { A[0] = .. }
 *
 * Every expression goes through tc_te_simplify with the ranges of the loops around it, and of the conditions on one variable.
 * Decided IFs, loops of no iteration or one, and code that these leave empty disappear. Values of floats never change. Needs:
 * NO_HINTS, because hints would keep indices with variables that no longer exist. Breaks nothing. Runs before and after
 * partition, while the program is small. Later passes keep their own results in normal form. */
#include "tir_lower/passes/pass.h"

typedef struct simplifier {
    tc_ctx *c;
    tc_env *env;
    tir_copier copy; /* variables of loops that are gone */
    tir_memo memo;   /* results that hold under the current conditions */
} simplifier;

static const tc_stmt *simplify(simplifier *k, const tc_stmt *s);

static const tc_expr *simplify_expr(simplifier *k, const tc_expr *e) {
    if (!e || e->nargs == 0)
        return tir_copy_expr(&k->copy, e);
    const tc_expr *r = tir_memo_get(&k->memo, e);
    if (!r) {
        r = tc_te_simplify(k->c, k->copy.vars.len ? tir_copy_expr(&k->copy, e) : e, k->env);
        tir_memo_put(&k->memo, e, r);
    }
    return r;
}

/* s with what was learnt since `mark`, which is forgotten again. */
static const tc_stmt *simplify_knowing(simplifier *k, size_t mark, const tc_stmt *s) {
    if (tc_env_mark(k->env) == mark)
        return simplify(k, s);
    tir_memo outer = k->memo;
    k->memo = (tir_memo){0};
    s = simplify(k, s);
    tir_memo_free(&k->memo);
    k->memo = outer;
    tc_env_undo(k->env, mark);
    return s;
}

static const tc_stmt *simplify_for(tc_ctx *c, const tc_stmt *s, void *user) {
    simplifier *k = user;
    const tc_expr *extent = simplify_expr(k, s->u.loop.extent);
    tc_ival n = tc_te_bounds(extent, k->env);
    if (n.hi <= 0)
        return NULL;
    if (n.lo == 1 && n.hi == 1 && s->u.loop.kind != TC_FOR_TENSOR) { /* a unit's loops are known by their places */
        tir_bind(&k->copy, s->u.loop.var, tc_i64(c, 0));             /* stays: the variable occurs nowhere else */
        return simplify(k, s->u.loop.body);
    }
    size_t mark = tir_enter_loop(c, k->env, s->u.loop.var, extent);
    return tir_with_loop(c, s, extent, simplify_knowing(k, mark, s->u.loop.body));
}

static const tc_stmt *simplify_if(tc_ctx *c, const tc_stmt *s, void *user) {
    simplifier *k = user;
    const tc_expr *cond = simplify_expr(k, s->u.cond.cond);
    int known = cond->op == TC_OP_INT ? cond->u.i != 0 : tc_te_decide(cond, k->env);
    if (known >= 0)
        return simplify(k, known ? s->u.cond.then : s->u.cond.otherwise);
    const tc_stmt *t = simplify_knowing(k, tir_suppose(k->env, cond, true), s->u.cond.then), *o = NULL;
    if (s->u.cond.otherwise)
        o = simplify_knowing(k, tir_suppose(k->env, cond, false), s->u.cond.otherwise);
    return tir_with_arms(c, s, cond, t, o);
}

static bool is_false(const tc_expr *mask) {
    if (mask && mask->op == TC_OP_BCAST)
        mask = mask->args[0];
    return mask && mask->op == TC_OP_INT && mask->u.i == 0;
}

static const tc_stmt *simplify_store(tc_ctx *c, const tc_stmt *s, void *user) {
    simplifier *k = user;
    const tc_expr *mask = simplify_expr(k, s->u.store.mask);
    if (is_false(mask))
        return NULL;
    const tc_expr *index = simplify_expr(k, s->u.store.index), *value = simplify_expr(k, s->u.store.value);
    return tir_with_store(c, s, index, value, mask);
}

static const tc_stmt *simplify(simplifier *k, const tc_stmt *s) {
    static const tir_rules RULES = {{[TC_STMT_FOR] = simplify_for, [TC_STMT_IF] = simplify_if, [TC_STMT_STORE] = simplify_store}};
    return tir_rewrite(k->c, &RULES, s, k);
}

tc_status tir_pass_simplify(tc_ctx *c, const tc_machine *m, const tc_func *in, tc_func **out, tc_error *err) {
    (void)m;
    (void)err;
    simplifier k = {.c = c, .env = tc_env_new(), .copy = {.c = c}};
    *out = tir_with_body(c, in, simplify(&k, in->body));
    tc_env_free(k.env);
    tir_copier_free(&k.copy);
    tir_memo_free(&k.memo);
    return TC_OK;
}
