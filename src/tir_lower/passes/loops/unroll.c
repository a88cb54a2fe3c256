/* Unroll: replaces each loop marked UNROLL by its iterations, one after the other.
 *
 *     for i < 2 unrolled { for j < 64 vectorized { A[64*i + j] = B[j] } }
 *  => for j < 64 vectorized { A[j] = B[j] }  for j < 64 vectorized { A[j + 64] = B[j] }
 *
 * Runs before vectorise, so that a vector's bounds and masks see constants. Every copy after the first gets its own loop
 * variables and buffers. Expressions are simplified. Guards that the copies decide vanish, and the other guards settle again
 * (passes/guards.c). A reduction of scalars becomes a balanced tree, because a chain would wait for each operation's latency:
 *
 *     for i < 4 unrolled reduce { M = max(M, V[i]) }   =>   M = max(M, max(max(V[0], V[2]), max(V[1], V[3])))
 *
 * Refuses (TC_ILLEGAL) a program that would exceed MAX_STORES. Needs: PARTITIONED, otherwise each copy would keep its guards;
 * NO_HINTS. Gives: NO_UNROLL. Breaks: TILE_LOOPS. Keeps: order of execution, except for the operands of such trees. */
#include "tir_lower/passes/pass.h"

enum {
    MAX_STORES = 16384, /* beyond it a candidate takes seconds to compile and no instruction cache holds it */
    MIN_TREE = 4
};

typedef struct unroller {
    tir_copier copy;
    tc_env *env;
    bool guards;    /* a guard remains somewhere */
    bool in_vector; /* inside a VECTOR loop: vectorise normalises what it makes of the expressions */
} unroller;

static const tc_stmt *unroll(unroller *k, const tc_stmt *s);

/* Outside of unrolled loops nothing is substituted, so nothing needs simplifying again. */
static const tc_expr *unroll_expr(unroller *k, const tc_expr *e) {
    const tc_expr *r = tir_copy_expr(&k->copy, e);
    return r == e || !r || k->in_vector ? r : tc_te_simplify(k->copy.c, r, k->env);
}

static bool loads(const tc_expr *e, const void *buffer) {
    return e->op == TC_OP_LOAD && e->u.buffer == buffer;
}

/* What a store of  acc = acc op x  adds to acc; NULL if it is not one. */
static const tc_expr *addend(const tc_stmt *s) {
    if (s->kind != TC_STMT_STORE || s->u.store.mask || s->u.store.value->lanes != 1)
        return NULL;
    const tc_expr *v = s->u.store.value;
    if (v->op != TC_OP_ADD && v->op != TC_OP_MUL && v->op != TC_OP_MAX && v->op != TC_OP_MIN)
        return NULL;
    const tc_expr *acc = v->args[0];
    bool own = acc->op == TC_OP_LOAD && acc->u.buffer == s->u.store.buffer && acc->args[0] == s->u.store.index && acc->nargs == 1;
    return own && !tc_expr_any(v->args[1], loads, s->u.store.buffer) ? v->args[1] : NULL;
}

static bool same_reduction(const tc_stmt *a, const tc_stmt *b) {
    return b && addend(b) && a->u.store.buffer == b->u.store.buffer && a->u.store.index == b->u.store.index &&
           a->u.store.value->op == b->u.store.value->op;
}

/* x[0] op x[step] op x[2 step] ..., neighbours last: halves of a vector are combined first. */
static const tc_expr *tree(tc_ctx *c, tc_op op, const tc_stmt *const *s, int64_t n, int64_t step) {
    if (n == 1)
        return addend(s[0]);
    return tc_bin(c, op, tree(c, op, s, (n + 1) / 2, 2 * step), tree(c, op, s + step, n / 2, 2 * step));
}

/* The iterations of a reduction as one store; NULL where they are something else. */
static const tc_stmt *combine(tc_ctx *c, const tc_stmt *const *s, int64_t n) {
    if (n < MIN_TREE || !s[0] || !addend(s[0]))
        return NULL;
    for (int64_t i = 1; i < n; i++)
        if (!same_reduction(s[0], s[i]))
            return NULL;
    const tc_expr *first = s[0]->u.store.value;
    const tc_expr *value = tc_bin(c, first->op, first->args[0], tree(c, first->op, s, n, 1));
    return tc_tir_store(c, s[0]->u.store.buffer, s[0]->u.store.index, value, NULL);
}

static const tc_stmt *expand(unroller *k, const tc_stmt *s, int64_t n) {
    tc_ctx *c = k->copy.c;
    const tc_stmt **out = TC_NEW_N(tc_ctx_arena(c), const tc_stmt *, n);
    bool outer = k->copy.fresh;
    for (int64_t i = 0; i < n; i++) {
        k->copy.fresh = outer || i > 0;
        tir_bind(&k->copy, s->u.loop.var, tc_i64(c, i));
        out[i] = unroll(k, s->u.loop.body);
        tir_unbind(&k->copy);
    }
    k->copy.fresh = outer;
    const tc_stmt *one = s->u.loop.reduce && !k->in_vector ? combine(c, out, n) : NULL;
    return one ? one : tc_tir_seq(c, (int)n, out);
}

static const tc_stmt *unroll_for(tc_ctx *c, const tc_stmt *s, void *user) {
    unroller *k = user;
    const tc_expr *extent = unroll_expr(k, s->u.loop.extent);
    const tc_var *v = s->u.loop.var;
    if (s->u.loop.kind == TC_FOR_UNROLL && extent->op == TC_OP_INT)
        return expand(k, s, extent->u.i);
    bool renamed = k->copy.fresh;
    if (renamed) {
        v = tc_var_new(c, v->name);
        tir_bind(&k->copy, s->u.loop.var, tc_varx(c, v));
    }
    size_t mark = tir_enter_loop(c, k->env, v, extent);
    bool in_vector = k->in_vector;
    k->in_vector |= s->u.loop.kind == TC_FOR_VECTOR;
    const tc_stmt *body = unroll(k, s->u.loop.body);
    k->in_vector = in_vector;
    tc_env_undo(k->env, mark);
    if (renamed)
        tir_unbind(&k->copy);
    tc_for_kind kind = s->u.loop.kind == TC_FOR_UNROLL ? TC_FOR_SERIAL : s->u.loop.kind;
    if (body == s->u.loop.body && kind == s->u.loop.kind && !renamed && extent == s->u.loop.extent)
        return s;
    return kind == s->u.loop.kind ? tc_tir_for_like(c, s, v, extent, body)
                                  : tc_tir_for(c, v, extent, kind, s->u.loop.reduce, body);
}

static const tc_stmt *unroll_if(tc_ctx *c, const tc_stmt *s, void *user) {
    unroller *k = user;
    const tc_expr *cond = unroll_expr(k, s->u.cond.cond);
    int known = cond->op == TC_OP_INT ? cond->u.i != 0 : tc_te_decide(cond, k->env);
    k->guards |= s->u.cond.guard && known < 0;
    size_t mark = tir_suppose(k->env, cond, true);
    const tc_stmt *t = known == 0 ? NULL : unroll(k, s->u.cond.then);
    tc_env_undo(k->env, mark);
    tir_suppose(k->env, cond, false);
    const tc_stmt *o = known == 1 ? NULL : unroll(k, s->u.cond.otherwise);
    tc_env_undo(k->env, mark);
    if (known >= 0)
        return known ? t : o;
    return tir_with_arms(c, s, cond, t, o);
}

static const tc_stmt *unroll_store(tc_ctx *c, const tc_stmt *s, void *user) {
    unroller *k = user;
    const tc_buffer *b = s->u.store.buffer;
    for (size_t i = k->copy.bufs.len; i-- > 0;)
        if (k->copy.bufs.data[i].from == b) {
            b = k->copy.bufs.data[i].to;
            break;
        }
    const tc_expr *index = unroll_expr(k, s->u.store.index), *value = unroll_expr(k, s->u.store.value);
    const tc_expr *mask = unroll_expr(k, s->u.store.mask);
    return b == s->u.store.buffer ? tir_with_store(c, s, index, value, mask) : tc_tir_store(c, b, index, value, mask);
}

static const tc_stmt *unroll_alloc(tc_ctx *c, const tc_stmt *s, void *user) {
    unroller *k = user;
    const tc_buffer *b = s->u.alloc.buffer;
    bool renamed = k->copy.fresh;
    if (renamed) {
        b = tir_fresh_buffer(c, k->copy.names, b);
        tc_push(&k->copy.bufs, ((tir_rename){s->u.alloc.buffer, b}));
        tir_memo_clear(&k->copy.memo);
    }
    const tc_stmt *body = unroll(k, s->u.alloc.body);
    if (renamed) {
        k->copy.bufs.len--;
        tir_memo_clear(&k->copy.memo);
    }
    return body == s->u.alloc.body ? s : tc_tir_alloc(c, b, body);
}

static const tc_stmt *unroll(unroller *k, const tc_stmt *s) {
    static const tir_rules RULES = {
        {[TC_STMT_FOR] = unroll_for, [TC_STMT_IF] = unroll_if, [TC_STMT_STORE] = unroll_store, [TC_STMT_ALLOC] = unroll_alloc}};
    return tir_rewrite(k->copy.c, &RULES, s, k);
}

tc_status tir_pass_unroll(tc_ctx *c, const tc_machine *m, const tc_func *in, tc_func **out, tc_error *err) {
    *out = tir_with_body(c, in, in->body);
    if (!in->body)
        return TC_OK;
    int64_t stores = tir_weight(in->body, TC_MAX(m->vector_bytes / 4, 1));
    if (stores > MAX_STORES)
        return tc_fail(err, TC_ILLEGAL,
                       "unroll: %s would have %lld statements, at most %d are allowed; unroll or vectorize smaller loops",
                       in->name, (long long)stores, MAX_STORES);
    tir_names names;
    tir_names_init(&names, in);
    unroller k = {.copy = {.c = c, .names = &names}, .env = tc_env_new()};
    const tc_stmt *body = unroll(&k, in->body);
    if (body && k.guards)
        body = tir_settle_guards(c, &names, k.env, body);
    (*out)->body = body;
    tc_env_free(k.env);
    tir_copier_free(&k.copy);
    tir_names_free(&names);
    return TC_OK;
}
