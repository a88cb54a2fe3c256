/* Guards before tiles: settles the remaining boundary tests where a tile's shape must be known.
 *
 *     if task % 2 >= 1 { if task < 2 {                                             if task % 2 >= 1 { if task < 2 {
 *       tensor i in 16 { tensor j in 16 { if guard task*32 + j < 35 { S } } }   =>   tensor i in 16 { tensor j in 3 { S } }
 *
 * Intervals do not show that task is 1 there, and a tile's edge cannot be a mask. So the pass enumerates values of the loops
 * that a guard uses, and of the loops in related conditions around the guard. It keeps the values for which the conditions hold.
 * If these values decide the guard, the guard disappears. If for all of them the guard bounds a loop of a unit by the same
 * number, this number becomes the loop's extent. Keeps: everything that is executed. */
#include "tir_lower/passes/units/tile_int.h"

enum { MOST_RUNS = 1 << 14, MOST_VARS = 6, MOST_CONDS = 12 };

typedef struct known {
    const tc_expr *cond;
    bool holds;
} known;

typedef struct decider {
    tc_ctx *c;
    tc_env *env; /* ranges of the loops around */
    TC_VEC(known) known;
    tc_status status;
    tc_error *err;
} decider;

/* ---- trying ---- */

typedef struct trial {
    const decider *d;
    tc_env *env; /* one value each */
    int nvar, ncond;
    const tc_var *var[MOST_VARS], *without; /* the loop of the unit that a guard is to bound */
    tc_ival range[MOST_VARS];
    known cond[MOST_CONDS];
    bool many;
} trial;

static void add_var(const tc_expr *e, void *user) {
    trial *t = user;
    t->many |= (tc_op_traits(e->op) & TC_MEMORY) != 0;
    if (e->op != TC_OP_VAR || e->u.var == t->without)
        return;
    for (int i = 0; i < t->nvar; i++)
        if (t->var[i] == e->u.var)
            return;
    tc_ival r = tc_env_get(t->d->env, e->u.var);
    t->many |= t->nvar == MOST_VARS || !tc_ival_bounded(r);
    if (t->many)
        return;
    t->range[t->nvar] = r;
    t->var[t->nvar++] = e->u.var;
}

static bool few(const trial *t) {
    double runs = 1;
    for (int i = 0; i < t->nvar; i++)
        runs *= (double)(t->range[i].hi - t->range[i].lo + 1);
    return !t->many && runs <= MOST_RUNS;
}

static bool bears(const trial *t, const tc_expr *cond) {
    for (int i = 0; i < t->nvar; i++)
        if (tc_expr_uses_var(cond, t->var[i]))
            return true;
    return false;
}

/* Conditions that are left out only make more values count. */
static void add_conds(trial *t) {
    for (size_t i = t->d->known.len; i-- > 0 && t->ncond < MOST_CONDS;) {
        trial before = *t;
        if (!bears(t, t->d->known.data[i].cond))
            continue;
        tc_expr_walk(t->d->known.data[i].cond, add_var, t);
        t->cond[t->ncond++] = t->d->known.data[i];
        if (!few(t))
            *t = before;
    }
}

/* What a guard says for one choice of values: how many of the first `n` values of the unit's loop it lets through, without such a
 * loop 0 or 1; -1 where these are not the first ones, or it cannot be told. */
static int64_t passes(const trial *t, const tc_expr *guard, int64_t n) {
    int64_t count = 0;
    for (int64_t v = 0; v < n; v++) {
        if (t->without)
            tc_env_set(t->env, t->without, (tc_ival){v, v});
        int yes = tc_te_decide(guard, t->env);
        if (yes < 0 || (yes && count != v))
            return -1;
        count += yes;
    }
    return count;
}

static bool possible(const trial *t) {
    for (int i = 0; i < t->ncond; i++) {
        int yes = tc_te_decide(t->cond[i].cond, t->env);
        if (yes >= 0 && (yes != 0) != t->cond[i].holds)
            return false;
    }
    return true;
}

/* The answer for all values, -1 where they disagree; *any: there are some at all. */
static int64_t agree(trial *t, int at, const tc_expr *guard, int64_t n, bool *any) {
    if (at == t->nvar) {
        if (!possible(t))
            return -2;
        *any = true;
        return passes(t, guard, n);
    }
    int64_t all = -2;
    for (int64_t v = t->range[at].lo; v <= t->range[at].hi; v++) {
        tc_env_set(t->env, t->var[at], (tc_ival){v, v});
        int64_t one = agree(t, at + 1, guard, n, any);
        if (one == -1 || (one >= 0 && all >= 0 && one != all))
            return -1;
        all = one >= 0 ? one : all;
    }
    return all;
}

/* -1: it depends. Nothing possible counts as nothing let through. */
static int64_t try_all(const decider *d, const tc_expr *guard, const tc_var *v, int64_t n) {
    trial t = {.d = d, .env = tc_env_new(), .without = v};
    bool any = false;
    tc_expr_walk(guard, add_var, &t);
    add_conds(&t);
    int64_t r = few(&t) ? agree(&t, 0, guard, n, &any) : -1;
    tc_env_free(t.env);
    return r == -2 ? 0 : r;
}

/* ---- statements ---- */

static const tc_stmt *settle_if(tc_ctx *c, const tc_stmt *s, void *user);
static const tc_stmt *settle_for(tc_ctx *c, const tc_stmt *s, void *user);
static const tir_rules SETTLE = {{[TC_STMT_IF] = settle_if, [TC_STMT_FOR] = settle_for}};

static const tc_stmt *settle_arm(tc_ctx *c, decider *d, const tc_expr *cond, bool holds, const tc_stmt *s) {
    tc_push(&d->known, ((known){cond, holds}));
    size_t mark = tir_suppose(d->env, cond, holds);
    s = tir_rewrite(c, &SETTLE, s, d);
    tc_env_undo(d->env, mark);
    d->known.len--;
    return s;
}

static const tc_stmt *settle_if(tc_ctx *c, const tc_stmt *s, void *user) {
    decider *d = user;
    const tc_expr *cond = s->u.cond.cond;
    int64_t yes = s->u.cond.guard ? try_all(d, cond, NULL, 1) : -1;
    if (yes >= 0)
        return tir_rewrite(c, &SETTLE, yes ? s->u.cond.then : s->u.cond.otherwise, user);
    const tc_stmt *then = settle_arm(c, d, cond, true, s->u.cond.then);
    return tir_with_arms(c, s, cond, then, settle_arm(c, d, cond, false, s->u.cond.otherwise));
}

/* A loop of a unit with the guards in it; *cond: one that is left, for the loops around. */
static const tc_stmt *settle_unit(decider *d, const tc_stmt *s, const tc_expr **left, int *nleft) {
    if (s->kind == TC_STMT_IF && s->u.cond.guard && !s->u.cond.otherwise && *nleft < MOST_CONDS) {
        left[(*nleft)++] = s->u.cond.cond;
        return settle_unit(d, s->u.cond.then, left, nleft);
    }
    if (s->kind != TC_STMT_FOR)
        return s;
    int64_t n = s->u.loop.extent->op == TC_OP_INT ? s->u.loop.extent->u.i : -1;
    tc_env_set(d->env, s->u.loop.var, (tc_ival){0, n - 1});
    const tc_stmt *body = settle_unit(d, s->u.loop.body, left, nleft);
    for (int i = *nleft; body && i-- > 0;) {
        if (!tc_expr_uses_var(left[i], s->u.loop.var))
            continue;
        int64_t of = try_all(d, left[i], s->u.loop.var, n);
        if (of < 0) {
            if (d->status == TC_OK)
                d->status = tc_fail(d->err, TC_ILLEGAL,
                                    "tile: the extent of loop %s at an edge depends on the loops around it; split off the edge "
                                    "of each loop, or use tiles that divide the extents",
                                    s->u.loop.var->name);
            return s;
        }
        n = TC_MIN(n, of);
        left[i] = left[--*nleft];
    }
    return body ? tc_tir_for_like(d->c, s, s->u.loop.var, tc_i64(d->c, n), body) : NULL;
}

static const tc_stmt *settle_for(tc_ctx *c, const tc_stmt *s, void *user) {
    decider *d = user;
    const tc_expr *left[MOST_CONDS];
    int nleft = 0;
    size_t mark = tir_enter_loop(c, d->env, s->u.loop.var, s->u.loop.extent);
    if (s->u.loop.kind != TC_FOR_TENSOR) {
        s = tir_rewrite_inside(c, &SETTLE, s, user);
    } else {
        s = settle_unit(d, s, left, &nleft);
        while (s && nleft > 0)
            s = tc_tir_if(c, left[--nleft], true, s, NULL);
    }
    tc_env_undo(d->env, mark);
    return s;
}

tc_status tir_settle_unit_guards(tc_ctx *c, const tc_stmt *body, const tc_stmt **out, tc_error *err) {
    decider d = {.c = c, .env = tc_env_new(), .err = err};
    *out = tir_rewrite(c, &SETTLE, body, &d);
    tc_env_free(d.env);
    tc_vec_free(&d.known);
    return d.status;
}
