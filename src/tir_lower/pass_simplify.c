/* Simplify: index arithmetic and conditions, under what the enclosing loops and conditions say.
 *
 *     for i < 1 { for j < 64 { if 16*i + j < 64 { A[(64*i + j) / 64] = .. } } }
 *  => for j < 64 { A[0] = .. }
 *
 * Every expression goes through tc_te_simplify with the ranges of the loops around it, and of the conditions on one variable;
 * decided IFs, loops without iterations, loops of one iteration and what they leave empty go. Values of floats never change.
 * Needs and breaks nothing; runs before and after partition, while the program is small: later
 * passes keep what they make in normal form themselves. */
#include "tir_lower/pass_int.h"

#include <assert.h>

typedef struct simplifier {
    tc_ctx *c;
    tc_env *env;
    tir_copier copy; /* variables of loops that are gone */
    tir_memo memo;   /* results that hold under the current conditions */
} simplifier;

static const tc_stmt *simplify(tc_ctx *c, const tc_stmt *s, void *user);

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
        return simplify(k->c, s, k);
    tir_memo outer = k->memo;
    k->memo = (tir_memo){0};
    s = simplify(k->c, s, k);
    tir_memo_free(&k->memo);
    k->memo = outer;
    tc_env_undo(k->env, mark);
    return s;
}

static const tc_stmt *simplify_for(simplifier *k, const tc_stmt *s) {
    const tc_expr *extent = simplify_expr(k, s->u.loop.extent);
    tc_ival n = tc_te_bounds(extent, k->env);
    if (n.hi <= 0)
        return NULL;
    if (n.lo == 1 && n.hi == 1) {
        tir_bind(&k->copy, s->u.loop.var, tc_i64(k->c, 0)); /* stays: the variable occurs nowhere else */
        return simplify(k->c, s->u.loop.body, k);
    }
    size_t mark = tir_enter_loop(k->c, k->env, s->u.loop.var, extent);
    const tc_stmt *body = simplify_knowing(k, mark, s->u.loop.body);
    if (body == s->u.loop.body && extent == s->u.loop.extent)
        return s;
    return tc_tir_for(k->c, s->u.loop.var, extent, s->u.loop.kind, s->u.loop.reduce, body);
}

static const tc_stmt *simplify_if(simplifier *k, const tc_stmt *s) {
    const tc_expr *cond = simplify_expr(k, s->u.cond.cond);
    int known = cond->op == TC_OP_INT ? cond->u.i != 0 : tc_te_decide(cond, k->env);
    if (known >= 0) {
        const tc_stmt *taken = known ? s->u.cond.then : s->u.cond.otherwise;
        return taken ? simplify(k->c, taken, k) : NULL;
    }
    const tc_stmt *t = simplify_knowing(k, tir_suppose(k->env, cond, true), s->u.cond.then), *o = NULL;
    if (s->u.cond.otherwise)
        o = simplify_knowing(k, tir_suppose(k->env, cond, false), s->u.cond.otherwise);
    if (cond == s->u.cond.cond && t == s->u.cond.then && o == s->u.cond.otherwise)
        return s;
    return tc_tir_if(k->c, cond, s->u.cond.guard, t, o);
}

static bool is_false(const tc_expr *mask) {
    if (mask && mask->op == TC_OP_BCAST)
        mask = mask->args[0];
    return mask && mask->op == TC_OP_INT && mask->u.i == 0;
}

static const tc_stmt *simplify_store(simplifier *k, const tc_stmt *s) {
    const tc_expr *mask = simplify_expr(k, s->u.store.mask);
    if (is_false(mask))
        return NULL;
    const tc_expr *index = simplify_expr(k, s->u.store.index), *value = simplify_expr(k, s->u.store.value);
    if (index == s->u.store.index && value == s->u.store.value && mask == s->u.store.mask)
        return s;
    return tc_tir_store(k->c, s->u.store.buffer, index, value, mask);
}

static const tc_stmt *simplify(tc_ctx *c, const tc_stmt *s, void *user) {
    simplifier *k = user;
    switch (s->kind) {
    case TC_STMT_SEQ:
    case TC_STMT_ALLOC:
        return tir_map_children(c, s, simplify, user);
    case TC_STMT_FOR:
        return simplify_for(k, s);
    case TC_STMT_IF:
        return simplify_if(k, s);
    case TC_STMT_STORE:
        return simplify_store(k, s);
    case TC_STMT_PREFETCH:
        return s;
    case TC_NSTMTS:
        break;
    }
    assert(!"statement kind");
    return s;
}

tc_status tir_pass_simplify(tc_ctx *c, const tc_machine *m, const tc_func *in, tc_func **out, tc_error *err) {
    (void)m;
    (void)err;
    simplifier k = {.c = c, .env = tc_env_new(), .copy = {.c = c}};
    *out = tir_with_body(c, in, in->body ? simplify(c, in->body, &k) : NULL);
    tc_env_free(k.env);
    tir_copier_free(&k.copy);
    tir_memo_free(&k.memo);
    return TC_OK;
}
