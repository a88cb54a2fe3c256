/* Settles guards. Partition, unroll and vectorise share this code.
 *
 *     for i < 6 unrolled { for j < 64 vectorized { if guard 6*p + i < 128 { S } } }
 *  => for i < 128 - 6*p ... when p is a number:   for i < 2 unrolled { for j < 64 vectorized { S } }
 *
 * A guard is an IF marked as a guard, without an else. It moves outwards past every loop whose variable it does not use. Then it
 * meets the loop of a variable that it uses. If it bounds that variable alone, it becomes the loop's extent. Every kind of loop
 * takes a constant extent. Serial and parallel loops also take an expression of outer variables (min(6, 128 - 6*io)). Any other
 * guard stays an IF, directly inside the loop that it depends on. Needs: conditions of guards are pure. Keeps: everything that
 * is executed, in order. */
#include "tir_lower/passes/pass.h"

/* Conditions under which all of a settled statement runs. */
typedef struct pending {
    int n;
    const tc_expr *cond[TIR_MAX_CONJUNCTS];
} pending;

typedef struct settler {
    tc_ctx *c;
    tir_names *names;
    tc_env *env;
    pending *out; /* of the statement at hand: it gets the conditions that the result must be wrapped in */
} settler;

static const tc_stmt *settle(settler *k, const tc_stmt *s, pending *out);

static const tc_stmt *wrap(settler *k, const pending *p, const tc_stmt *s) {
    for (int i = p->n; s && i-- > 0;)
        s = tc_tir_if(k->c, p->cond[i], true, s, NULL);
    return s;
}

static bool has(const pending *p, const tc_expr *cond) {
    for (int i = 0; i < p->n; i++)
        if (p->cond[i] == cond)
            return true;
    return false;
}

static const tc_stmt *settle_alone(settler *k, const tc_stmt *s) {
    pending p = {0};
    s = settle(k, s, &p);
    return wrap(k, &p, s);
}

/* An arm of an IF, under what its condition says. */
static const tc_stmt *settle_arm(settler *k, const tc_expr *cond, bool holds, const tc_stmt *s) {
    size_t mark = tir_suppose(k->env, cond, holds);
    s = settle_alone(k, s);
    tc_env_undo(k->env, mark);
    return s;
}

static const tc_stmt *settle_seq(tc_ctx *c, const tc_stmt *s, void *user) {
    settler *k = user;
    pending *out = k->out;
    int n = s->u.seq.n;
    tc_arena *a = tc_ctx_arena(c);
    const tc_stmt **child = TC_NEW_N(a, const tc_stmt *, n);
    pending *own = TC_NEW_N(a, pending, n);
    for (int i = 0; i < n; i++)
        child[i] = settle(k, s->u.seq.s[i], &own[i]);
    int first = 0;
    while (first < n && !child[first])
        first++;
    for (int j = 0; first < n && j < own[first].n; j++) {
        bool common = true;
        for (int i = first + 1; common && i < n; i++)
            common = !child[i] || has(&own[i], own[first].cond[j]);
        if (common)
            out->cond[out->n++] = own[first].cond[j];
    }
    for (int i = 0; i < n; i++) {
        int kept = 0;
        for (int j = 0; j < own[i].n; j++)
            if (!has(out, own[i].cond[j]))
                own[i].cond[kept++] = own[i].cond[j];
        own[i].n = kept;
        child[i] = wrap(k, &own[i], child[i]);
    }
    return tc_tir_seq(c, n, child);
}

/* The range a loop keeps once guards have become bounds: [lo, hi) and min(hi, dyn). */
typedef struct bounds {
    int64_t lo, hi;
    const tc_expr *dyn;
} bounds;

/* Turns `cond` into a bound of loop s; false if it has to stay. */
static bool bound_loop(settler *k, const tc_stmt *s, const tc_expr *cond, bounds *b) {
    tc_affine a;
    const tc_var *v = s->u.loop.var;
    if (!tir_cond_affine(k->c, cond, k->env, &a))
        return false;
    int64_t coef = 0;
    for (int i = a.n; i-- > 0;) {
        if (a.term[i].atom->op == TC_OP_VAR && a.term[i].atom->u.var == v) {
            coef = a.term[i].coef;
            tc_affine_drop(&a, i);
        } else if (tc_expr_uses_var(a.term[i].atom, v)) {
            return false;
        }
    }
    if (coef == 0)
        return false;
    if (a.n == 0) {
        if (coef > 0)
            b->lo = TC_MAX(b->lo, tc_ceil_div(-a.c, coef));
        else
            b->hi = TC_MIN(b->hi, tc_floor_div(a.c, -coef) + 1);
        return true;
    }
    bool parallel = s->u.loop.kind == TC_FOR_PARALLEL;
    if (coef > 0 || (s->u.loop.kind != TC_FOR_SERIAL && !parallel))
        return false;
    const tc_expr *rest = tc_te_from_affine(k->c, &a);
    const tc_expr *limit = tc_add(k->c, tc_div(k->c, rest, tc_i64(k->c, -coef)), tc_i64(k->c, 1));
    limit = tc_te_simplify(k->c, limit, k->env);
    if (parallel && tc_te_bounds(limit, k->env).lo < 0)
        return false; /* its iterations are shared out among threads, none of which gets fewer than none */
    b->dyn = b->dyn ? tc_bin(k->c, TC_OP_MIN, b->dyn, limit) : limit;
    return true;
}

/* Of a loop that a size ends: the condition that there is an iteration, by which loops around end where there is none. */
static void hold_first(settler *k, const tc_stmt *s, const tc_expr *cond, pending *out) {
    const tc_expr *first = tc_i64(k->c, 0);
    if (!tc_expr_names_symbol(cond))
        return;
    cond = tc_te_simplify(k->c, tc_expr_subst(k->c, cond, 1, &s->u.loop.var, &first), k->env);
    if (cond->op != TC_OP_INT && !has(out, cond))
        out->cond[out->n++] = cond;
}

static const tc_stmt *rebuild(settler *k, const tc_stmt *s, const tc_stmt *body, const bounds *b) {
    int64_t n;
    const tc_expr *extent = s->u.loop.extent;
    bool constant = tir_const_extent(s, &n);
    if (b->lo > 0) {
        tir_copier copy = {.c = k->c, .names = k->names};
        tir_bind(&copy, s->u.loop.var, tc_add(k->c, tc_varx(k->c, s->u.loop.var), tc_i64(k->c, b->lo)));
        body = tir_copy_stmt(&copy, body);
        tir_copier_free(&copy);
        extent = constant ? extent : tc_sub(k->c, extent, tc_i64(k->c, b->lo));
    }
    if (constant)
        extent = tc_i64(k->c, b->hi - b->lo);
    else if (b->hi != INT64_MAX)
        extent = tc_bin(k->c, TC_OP_MIN, extent, tc_i64(k->c, b->hi - b->lo));
    if (b->dyn)
        extent = tc_bin(k->c, TC_OP_MIN, extent, b->lo > 0 ? tc_sub(k->c, b->dyn, tc_i64(k->c, b->lo)) : b->dyn);
    return tc_tir_for_like(k->c, s, s->u.loop.var, tc_te_simplify(k->c, extent, k->env), body);
}

static const tc_stmt *settle_for(tc_ctx *c, const tc_stmt *s, void *user) {
    settler *k = user;
    pending *out = k->out;
    size_t mark = tir_enter_loop(c, k->env, s->u.loop.var, s->u.loop.extent);
    pending in = {0}, stay = {0};
    const tc_stmt *body = settle(k, s->u.loop.body, &in);
    tc_env_undo(k->env, mark);
    if (!body)
        return NULL;
    int64_t n;
    bounds b = {0, tir_const_extent(s, &n) ? n : INT64_MAX, NULL};
    for (int i = 0; i < in.n; i++) {
        if (!tc_expr_uses_var(in.cond[i], s->u.loop.var))
            out->cond[out->n++] = in.cond[i];
        else if (!bound_loop(k, s, in.cond[i], &b))
            stay.cond[stay.n++] = in.cond[i];
        else
            hold_first(k, s, in.cond[i], out);
    }
    body = wrap(k, &stay, body);
    bool same = b.lo == 0 && !b.dyn && (b.hi == INT64_MAX || (tir_const_extent(s, &n) && b.hi == n));
    if (same && body == s->u.loop.body)
        return s;
    return rebuild(k, s, body, &b);
}

static const tc_stmt *settle_arms(settler *k, const tc_stmt *s) {
    const tc_expr *cond = s->u.cond.cond;
    const tc_stmt *then = settle_arm(k, cond, true, s->u.cond.then), *otherwise = s->u.cond.otherwise;
    return tir_with_arms(k->c, s, cond, then, otherwise ? settle_arm(k, cond, false, otherwise) : NULL);
}

static const tc_stmt *settle_if(tc_ctx *c, const tc_stmt *s, void *user) {
    (void)c;
    settler *k = user;
    if (!s->u.cond.guard || s->u.cond.otherwise)
        return settle_arms(k, s);
    const tc_expr *conj[TIR_MAX_CONJUNCTS];
    int n = tir_conjuncts(s->u.cond.cond, conj, TIR_MAX_CONJUNCTS);
    pending p = {0};
    if (n > TIR_MAX_CONJUNCTS)
        conj[0] = s->u.cond.cond, n = 1;
    for (int i = 0; i < n; i++) {
        int known = tc_te_decide(conj[i], k->env);
        if (known == 0)
            return NULL;
        if (known < 0 && !has(&p, conj[i]))
            p.cond[p.n++] = conj[i];
    }
    pending inner = {0};
    const tc_stmt *then = settle(k, s->u.cond.then, &inner);
    if (!then)
        return NULL;
    if (p.n + inner.n > TIR_MAX_CONJUNCTS) {
        then = wrap(k, &inner, then);
        inner.n = 0;
    }
    for (int i = 0; i < inner.n; i++)
        if (!has(&p, inner.cond[i]))
            p.cond[p.n++] = inner.cond[i];
    *k->out = p;
    return then;
}

/* Settles s; `out` (empty on entry) gets the conditions that the result must be wrapped in: those of an ALLOC are its body's. */
static const tc_stmt *settle(settler *k, const tc_stmt *s, pending *out) {
    static const tir_rules RULES = {{[TC_STMT_SEQ] = settle_seq, [TC_STMT_FOR] = settle_for, [TC_STMT_IF] = settle_if}};
    pending *outer = k->out;
    k->out = out;
    s = tir_rewrite(k->c, &RULES, s, k);
    k->out = outer;
    return s;
}

const tc_stmt *tir_settle_guards(tc_ctx *c, tir_names *names, tc_env *env, const tc_stmt *s) {
    settler k = {c, names, env, NULL};
    return settle_alone(&k, s);
}
