/* Runs the same instructions on little data, in the lowered program.
 *
 *     for jo in 48 { for k in 768 { .. B[jo*49152 + k*64 + 16*q + ramp] .. } }     # 256 bytes a step
 *  => for jo in 48 { for k in 12 { for ki in 64 { .. B[ki*64 + 16*q + ramp] .. } } }   # 16 KB, for a first cache of 32
 *
 * The pass goes from the innermost loop outwards. A loop stays unchanged while its data fits into half of the first cache. The
 * next loop goes over the same elements again and again: in turns, so that the innermost loop stays unchanged, or by its
 * variable modulo a number. This loop still moves by at least one step, so that no load can be hoisted out of it. The loops
 * around it use the elements of their first iteration. Fitting is judged by how far elements lie apart, so that no two elements
 * compete for one place in the cache.
 *
 * Parallel iterations would then store to one place in shared memory. So results go to buffers of each thread's own
 * (ablate_stores.c). Data that one loop stores for another loop stays where it is. An access that only a condition keeps in
 * bounds may stay as well. */
#include "tir_lower/passes/pass.h"
#include "tir_lower/program/ablate_int.h"

enum { COMMON_CACHE = 32 << 10, LINE = 64 };

/* for v in n {S}   =>   for outer in n / m { for inner in m {S} }, with v = outer * m + inner where it stands in no index. */
typedef struct divided {
    const tc_var *outer, *inner;
    int64_t n, m;
} divided;

typedef struct memory {
    const ablation *k;
    tc_env *trial; /* loops that stay have their range, all others are at their first iteration */
    tc_map with;   /* variable -> what stands for it in indices */
    TC_VEC(divided) turns;
    tc_map turns_at; /* variable -> position */
    int64_t most;    /* bytes */
    tc_map stored;   /* buffers that all threads see, and the parallel loop at hand stores to */
    bool parallel;
} memory;

/* ---- what loops touch ---- */

typedef struct touched {
    const tc_buffer *b;
    int64_t lo, hi, sum; /* elements */
} touched;

typedef struct footprint {
    const memory *x;
    tc_map seen;
    TC_VEC(touched) list;
    int64_t other; /* bytes of accesses whose index depends on data */
} footprint;

static touched *touched_of(footprint *p, const tc_buffer *b) {
    for (size_t i = 0; i < p->list.len; i++)
        if (p->list.data[i].b == b)
            return &p->list.data[i];
    tc_push(&p->list, ((touched){b, INT64_MAX, INT64_MIN, 0}));
    return &p->list.data[p->list.len - 1];
}

static void touch(footprint *p, const tc_buffer *b, const tc_expr *index, int64_t more) {
    uint64_t key = ((uint64_t)b->id << 32) | index->id;
    if (!tc_tir_scope(b->scope)->addressed || !tc_map_put(&p->seen, key, 1))
        return;
    tc_ival r = tc_te_bounds(index, p->x->trial);
    if (tc_expr_touches_memory(index) || !tc_ival_bounded(r)) {
        p->other += LINE;
        return;
    }
    touched *t = touched_of(p, b);
    t->lo = TC_MIN(t->lo, r.lo);
    t->hi = TC_MAX(t->hi, r.hi + more);
    t->sum += r.hi + more - r.lo + 1;
}

static void touch_load(const tc_expr *e, void *user) {
    if (e->op == TC_OP_LOAD)
        touch(user, e->u.buffer, e->args[0], 0);
}

static void touch_statement(const tc_stmt *s, void *user) {
    tc_tir_walk_exprs(s, touch_load, user);
    if (s->kind == TC_STMT_STORE)
        touch(user, s->u.store.buffer, s->u.store.index, 0);
    if (s->kind == TC_STMT_INTRIN && s->u.intrin.memory)
        touch(user, s->u.intrin.memory, s->u.intrin.index, ablate_tile_span(&s->u.intrin));
}

/* Whether what n iterations of the loop touch is little enough. */
static bool fits(const memory *x, const tc_stmt *loop, int64_t n) {
    footprint p = {.x = x};
    tc_env_set(x->trial, loop->u.loop.var, (tc_ival){0, n - 1});
    tc_tir_walk(loop->u.loop.body, touch_statement, &p);
    int64_t bytes = p.other;
    for (size_t i = 0; i < p.list.len; i++) {
        const touched *t = &p.list.data[i];
        bytes += TC_MIN(t->sum, t->hi - t->lo + 1) * tc_dtype_bytes(t->b->dtype);
    }
    tc_map_free(&p.seen);
    tc_vec_free(&p.list);
    return bytes <= x->most;
}

/* ---- what becomes of loops ---- */

static void stand_for(memory *x, const tc_var *v, const tc_expr *e) {
    tc_map_put(&x->with, v->id, (uintptr_t)e);
}

/* The longest turn that fits, of those into which n iterations can be divided, else the shortest; 0: there is none. */
static int64_t turn_of(const memory *x, const tc_stmt *loop, int64_t n) {
    enum { MOST_TRIES = 4096, SHORT = 64 };
    int64_t shortest = 0;
    for (int64_t turns = 2; turns < MOST_TRIES && n / turns >= 2; turns++) {
        if (n % turns)
            continue;
        shortest = n / turns;
        if (fits(x, loop, shortest))
            return shortest;
    }
    return shortest <= SHORT ? shortest : 0;
}

/* A loop in turns; or, where it cannot be divided, its variable modulo the largest power of two that fits. */
static void wrap(memory *x, const tc_stmt *loop, int64_t n) {
    const tc_var *v = loop->u.loop.var;
    tc_ctx *c = x->k->c;
    bool divides = loop->u.loop.kind != TC_FOR_PARALLEL && tir_const_extent(loop, &n);
    int64_t m = divides ? turn_of(x, loop, n) : 0;
    if (m > 0) {
        divided t = {tc_var_new(c, v->name), tc_var_new(c, v->name), n, m};
        tc_map_put(&x->turns_at, v->id, x->turns.len);
        tc_push(&x->turns, t);
        tc_env_set(x->k->env, t.inner, (tc_ival){0, m - 1});
        stand_for(x, v, tc_varx(c, t.inner));
    } else {
        for (m = 2; m * 2 < n && fits(x, loop, m * 2);)
            m *= 2;
        if (m < n)
            stand_for(x, v, tc_mod(c, tc_varx(c, v), tc_i64(c, m)));
    }
    tc_env_set(x->trial, v, (tc_ival){0, TC_MIN(m, n) - 1});
}

/* True: s stays as it is, with all loops in it. */
static bool choose(memory *x, const tc_stmt *s) {
    const tc_stmt *inside;
    bool whole = true;
    for (int i = 0; (inside = tc_tir_child(s, i)); i++)
        whole &= choose(x, inside);
    if (s->kind != TC_STMT_FOR)
        return whole;
    tc_ival r = tc_env_get(x->k->env, s->u.loop.var);
    if (!whole)
        stand_for(x, s->u.loop.var, tc_i64(x->k->c, 0));
    else if (r.hi >= TC_MAX_SIZE || !fits(x, s, r.hi + 1))
        wrap(x, s, r.hi + 1);
    else
        return true;
    return false;
}

/* At the first iteration, until `choose` says otherwise. */
static void begin_trial(memory *x) {
    for (size_t i = 0; i < x->k->loops.len; i++)
        tc_env_set(x->trial, x->k->loops.data[i].s->u.loop.var, (tc_ival){0, 0});
}

/* ---- rewriting ---- */

/* The index with what stands for the loops' variables, or 0 for these; itself where that may be out of bounds. */
static const tc_expr *wrapped(const memory *x, const tc_buffer *b, const tc_expr *index, int64_t more) {
    const tc_expr *some = index, *first = index, *zero = tc_i64(x->k->c, 0), *last = tc_i64(x->k->c, more);
    for (size_t i = 0; i < x->k->loops.len; i++) {
        const tc_var *v = x->k->loops.data[i].s->u.loop.var;
        uintptr_t *with = tc_map_get(&x->with, v->id);
        const tc_expr *to = with ? (const tc_expr *)*with : NULL;
        some = to ? tc_expr_subst(x->k->c, some, 1, &v, &to) : some;
        first = to ? tc_expr_subst(x->k->c, first, 1, &v, &zero) : first;
    }
    if (some == index)
        return index;
    for (int i = 0; i < 2; i++) {
        const tc_expr *e = i ? first : some;
        if (ablate_within(x->k, b, e) && (!more || ablate_within(x->k, b, tc_add(x->k->c, e, last))))
            return e;
    }
    return index;
}

static bool loads_wrapped(const memory *x, const tc_buffer *b) {
    return tc_tir_scope(b->scope)->addressed && !ablate_is_fixed(x->k, b) && !tc_map_get(&x->stored, b->id);
}

static bool stores_wrapped(const memory *x, const tc_buffer *b) {
    return tc_tir_scope(b->scope)->addressed && !ablate_is_fixed(x->k, b) && !(x->parallel && tc_tir_scope(b->scope)->shared);
}

static const tc_expr *wrap_load(tc_ctx *c, const tc_expr *e, void *user) {
    const memory *x = user;
    if (e->op != TC_OP_LOAD || !loads_wrapped(x, e->u.buffer))
        return e;
    const tc_expr *index = wrapped(x, e->u.buffer, e->args[0], 0);
    return index == e->args[0] ? e : tc_load(c, e->u.buffer, (tc_dtype)e->dtype, index, e->nargs > 1 ? e->args[1] : NULL);
}

static const tc_stmt *wrap_store(tc_ctx *c, const tc_stmt *s, void *user) {
    memory *x = user;
    const tc_buffer *b = s->u.store.buffer;
    const tc_expr *index = stores_wrapped(x, b) ? wrapped(x, b, s->u.store.index, 0) : s->u.store.index;
    return tir_with_store(c, s, index, tc_expr_map(c, s->u.store.value, wrap_load, x), s->u.store.mask);
}

static const tc_stmt *wrap_tile(tc_ctx *c, const tc_stmt *s, void *user) {
    const memory *x = user;
    tc_tile_stmt t = s->u.intrin;
    bool wraps = t.memory && (t.op == TC_TILE_LOAD ? loads_wrapped(x, t.memory) : stores_wrapped(x, t.memory));
    if (!wraps)
        return s;
    t.index = wrapped(x, t.memory, t.index, ablate_tile_span(&t));
    return t.index == s->u.intrin.index ? s : tc_tir_tile(c, &t);
}

/* A hint may lie anywhere. */
static const tc_stmt *wrap_prefetch(tc_ctx *c, const tc_stmt *s, void *user) {
    const memory *x = user;
    const tc_expr *index =
        loads_wrapped(x, s->u.prefetch.buffer) ? wrapped(x, s->u.prefetch.buffer, s->u.prefetch.index, 0) : s->u.prefetch.index;
    return index == s->u.prefetch.index ? s : tc_tir_prefetch(c, s->u.prefetch.buffer, index);
}

static void note_stored(const tc_stmt *s, void *user) {
    memory *x = user;
    const tc_buffer *b = ablate_stored(s);
    if (b && tc_tir_scope(b->scope)->shared)
        tc_map_put(&x->stored, b->id, 1);
}

static const tc_stmt *wrap_loop(tc_ctx *c, const tc_stmt *s, void *user);
static const tc_stmt *wrap_arms(tc_ctx *c, const tc_stmt *s, void *user);

static const tir_rules RULES = {{[TC_STMT_STORE] = wrap_store,
                                 [TC_STMT_INTRIN] = wrap_tile,
                                 [TC_STMT_PREFETCH] = wrap_prefetch,
                                 [TC_STMT_FOR] = wrap_loop,
                                 [TC_STMT_IF] = wrap_arms}};

static const tc_stmt *wrap_arms(tc_ctx *c, const tc_stmt *s, void *user) {
    memory *x = user;
    return tir_rewrite_arms(c, &RULES, s, x->k->env, x);
}

static const tc_stmt *in_turns(tc_ctx *c, const tc_stmt *s, const divided *t, const tc_stmt *body) {
    tir_copier k = {.c = c};
    tir_bind(&k, s->u.loop.var, tc_add(c, tc_mul(c, tc_varx(c, t->outer), tc_i64(c, t->m)), tc_varx(c, t->inner)));
    const tc_stmt *r = tir_copy_stmt(&k, body);
    tir_copier_free(&k);
    r = tc_tir_for_like(c, s, t->inner, tc_i64(c, t->m), r);
    return tc_tir_for_like(c, s, t->outer, tc_i64(c, t->n / t->m), r);
}

static const tc_stmt *wrap_loop(tc_ctx *c, const tc_stmt *s, void *user) {
    memory *x = user;
    const uintptr_t *at = tc_map_get(&x->turns_at, s->u.loop.var->id);
    if (at)
        return in_turns(c, s, &x->turns.data[*at], tir_rewrite(c, &RULES, s->u.loop.body, x));
    if (s->u.loop.kind != TC_FOR_PARALLEL)
        return tir_rewrite_inside(c, &RULES, s, x);
    x->parallel = true;
    tc_tir_walk(s, note_stored, x);
    const tc_stmt *r = tir_rewrite_inside(c, &RULES, s, x);
    tc_map_clear(&x->stored);
    x->parallel = false;
    return r;
}

static tc_func *wrap_all(ablation *k, int64_t cache) {
    memory x = {.k = k, .trial = tc_env_new(), .most = cache / 2};
    begin_trial(&x);
    choose(&x, k->f->body);
    const tc_stmt *body = x.with.len ? tir_rewrite(k->c, &RULES, k->f->body, &x) : k->f->body;
    tc_env_free(x.trial);
    tc_map_free(&x.with);
    tc_vec_free(&x.turns);
    tc_map_free(&x.turns_at);
    tc_map_free(&x.stored);
    return ablate_with_body(k, body);
}

tc_func *ablate_memory(ablation *k) {
    int64_t cache = k->m->l1 > 0 ? k->m->l1 : COMMON_CACHE;
    tc_func *f = wrap_all(k, cache);
    if (f == k->f)
        return f;
    ablation again;
    ablate_open(&again, k->c, k->m, f);
    f = ablate_stores_within(&again, cache / 4);
    ablate_close(&again);
    return f;
}
