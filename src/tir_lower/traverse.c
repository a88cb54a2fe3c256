/* The only traversal of statements: what each kind contains, and rewriting by rules. A pass lists the kinds that it changes.
 * Only this file knows how to reach the statements inside all other kinds. */
#include "tir_lower/rewrite.h"

#include <string.h>

int tc_tir_exprs(const tc_stmt *s, const tc_expr *out[TC_TIR_MAX_EXPRS]) {
    switch (s->kind) {
    case TC_STMT_FOR:
        out[0] = s->u.loop.extent;
        return 1;
    case TC_STMT_IF:
        out[0] = s->u.cond.cond;
        return 1;
    case TC_STMT_STORE:
        out[0] = s->u.store.index;
        out[1] = s->u.store.value;
        out[2] = s->u.store.mask;
        return out[2] ? 3 : 2;
    case TC_STMT_PREFETCH:
        out[0] = s->u.prefetch.index;
        return 1;
    case TC_STMT_INTRIN:
        out[0] = s->u.intrin.index;
        return out[0] ? 1 : 0;
    case TC_STMT_SEQ:
    case TC_STMT_ALLOC:
    case TC_NSTMTS:
        break;
    }
    return 0;
}

void tc_tir_walk(const tc_stmt *s, void (*fn)(const tc_stmt *s, void *user), void *user) {
    const tc_stmt *inside;
    if (!s)
        return;
    fn(s, user);
    for (int i = 0; (inside = tc_tir_child(s, i)); i++)
        tc_tir_walk(inside, fn, user);
}

void tc_tir_walk_exprs(const tc_stmt *s, void (*fn)(const tc_expr *e, void *user), void *user) {
    const tc_expr *own[TC_TIR_MAX_EXPRS];
    int n = tc_tir_exprs(s, own);
    for (int i = 0; i < n; i++)
        tc_expr_walk(own[i], fn, user);
}

/* ---- rewriting ---- */

const tc_stmt *tir_with_loop(tc_ctx *c, const tc_stmt *s, const tc_expr *extent, const tc_stmt *body) {
    if (extent == s->u.loop.extent && body == s->u.loop.body)
        return s;
    return tc_tir_for_like(c, s, s->u.loop.var, extent, body);
}

const tc_stmt *tir_with_arms(tc_ctx *c, const tc_stmt *s, const tc_expr *cond, const tc_stmt *then, const tc_stmt *otherwise) {
    if (cond == s->u.cond.cond && then == s->u.cond.then && otherwise == s->u.cond.otherwise)
        return s;
    return tc_tir_if(c, cond, s->u.cond.guard, then, otherwise);
}

const tc_stmt *tir_with_store(tc_ctx *c, const tc_stmt *s, const tc_expr *index, const tc_expr *value, const tc_expr *mask) {
    if (index == s->u.store.index && value == s->u.store.value && mask == s->u.store.mask)
        return s;
    return tc_tir_store(c, s->u.store.buffer, index, value, mask);
}

const tc_stmt *tir_with_alloc(tc_ctx *c, const tc_stmt *s, const tc_stmt *body) {
    return body == s->u.alloc.body ? s : tc_tir_alloc(c, s->u.alloc.buffer, body);
}

static const tc_stmt *rewrite_seq(tc_ctx *c, const tir_rules *r, const tc_stmt *s, void *pass) {
    const tc_stmt **out = NULL; /* made when the first statement changes */
    for (int i = 0; i < s->u.seq.n; i++) {
        const tc_stmt *n = tir_rewrite(c, r, s->u.seq.s[i], pass);
        if (n == s->u.seq.s[i] && !out)
            continue;
        if (!out) {
            out = TC_NEW_N(tc_ctx_arena(c), const tc_stmt *, s->u.seq.n);
            memcpy(out, s->u.seq.s, sizeof *out * (size_t)i);
        }
        out[i] = n;
    }
    return out ? tc_tir_seq(c, s->u.seq.n, out) : s;
}

const tc_stmt *tir_rewrite_inside(tc_ctx *c, const tir_rules *r, const tc_stmt *s, void *pass) {
    switch (s->kind) {
    case TC_STMT_SEQ:
        return rewrite_seq(c, r, s, pass);
    case TC_STMT_FOR:
        return tir_with_loop(c, s, s->u.loop.extent, tir_rewrite(c, r, s->u.loop.body, pass));
    case TC_STMT_IF: {
        const tc_stmt *then = tir_rewrite(c, r, s->u.cond.then, pass);
        return tir_with_arms(c, s, s->u.cond.cond, then, tir_rewrite(c, r, s->u.cond.otherwise, pass));
    }
    case TC_STMT_ALLOC:
        return tir_with_alloc(c, s, tir_rewrite(c, r, s->u.alloc.body, pass));
    case TC_STMT_STORE:
    case TC_STMT_PREFETCH:
    case TC_STMT_INTRIN:
    case TC_NSTMTS:
        break;
    }
    return s;
}

const tc_stmt *tir_rewrite(tc_ctx *c, const tir_rules *r, const tc_stmt *s, void *pass) {
    if (!s || tc_ran_out()) /* then nobody will look at the result */
        return s;
    return r->of[s->kind] ? r->of[s->kind](c, s, pass) : tir_rewrite_inside(c, r, s, pass);
}
