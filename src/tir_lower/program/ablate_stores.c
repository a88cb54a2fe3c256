/* Stores results elsewhere, in the lowered program. A parallel loop's stores go into a buffer of each thread's own, which no
 * other thread's cache has.
 *
 *     parallel p in 9 { for i in 4 { Y[p*256 + i*64 + ramp] = .. } }
 *         =>   parallel p in 9 { alloc T { for i in 4 { T[i*64 + ramp] = .. } } }
 *
 * T holds what one iteration stores, or less. If an iteration stores much, inner loops start over at the same elements,
 * beginning with the outermost. */
#include "tir_lower/passes/pass.h"
#include "tir_lower/program/ablate_int.h"

enum { ALIGN = 64 };

typedef struct redirect {
    const ablation *k;
    const tc_stmt *loop; /* parallel */
    int depth;           /* of the loops whose variables do not count in T, at most */
    const tc_buffer *from, *to;
    tc_ival range; /* of the indices of `from` that are left */
    bool unknown;
} redirect;

/* The index where the loops around, and the outer ones inside, are at their first iteration. */
static const tc_expr *short_index(const redirect *x, const tc_expr *index) {
    const tc_expr *zero = tc_i64(x->k->c, 0);
    for (size_t i = 0; i < x->k->loops.len; i++)
        if (x->k->loops.data[i].depth <= x->depth)
            index = tc_expr_subst(x->k->c, index, 1, &x->k->loops.data[i].s->u.loop.var, &zero);
    return index;
}

/* ---- how much is stored ---- */

static void add_access(redirect *x, const tc_expr *index, int64_t more) {
    const tc_expr *i = short_index(x, index);
    tc_ival r = tc_te_bounds(i, x->k->env);
    x->unknown |= tc_expr_touches_memory(i) || !tc_ival_bounded(r);
    if (!x->unknown)
        x->range = tc_ival_join(x->range, (tc_ival){r.lo, r.hi + more});
}

static void add_load(const tc_expr *e, void *user) {
    redirect *x = user;
    if (e->op == TC_OP_LOAD && e->u.buffer == x->from)
        add_access(x, e->args[0], 0);
}

static void add_statement(const tc_stmt *s, void *user) {
    redirect *x = user;
    tc_tir_walk_exprs(s, add_load, x);
    if (s->kind == TC_STMT_STORE && s->u.store.buffer == x->from)
        add_access(x, s->u.store.index, 0);
    if (s->kind == TC_STMT_INTRIN && s->u.intrin.memory == x->from)
        add_access(x, s->u.intrin.index, ablate_tile_span(&s->u.intrin));
}

/* Finds the depth from which on what is left fits; false: there is none. */
static bool fits(redirect *x, int64_t most) {
    int deepest = 0;
    for (size_t i = 0; i < x->k->loops.len; i++)
        deepest = TC_MAX(deepest, x->k->loops.data[i].depth);
    for (x->depth = ablate_loop_of(x->k, x->loop->u.loop.var)->depth; x->depth <= deepest; x->depth++) {
        x->range = (tc_ival){INT64_MAX, INT64_MIN};
        x->unknown = false;
        tc_tir_walk(x->loop->u.loop.body, add_statement, x);
        if (!x->unknown && x->range.hi - x->range.lo < most / tc_dtype_bytes(x->from->dtype))
            return true;
    }
    return false;
}

/* ---- rewriting ---- */

static const tc_expr *short_at(tc_ctx *c, const redirect *x, const tc_expr *index) {
    const tc_expr *i = short_index(x, index);
    if (i->op == TC_OP_RAMP)
        return tc_ramp(c, tc_sub(c, i->args[0], tc_i64(c, x->range.lo)), i->args[1], i->lanes);
    return tc_sub(c, i, tc_bcast(c, tc_i64(c, x->range.lo), i->lanes));
}

static const tc_expr *redirect_load(tc_ctx *c, const tc_expr *e, void *user) {
    const redirect *x = user;
    if (e->op != TC_OP_LOAD || e->u.buffer != x->from)
        return e;
    return tc_load(c, x->to, (tc_dtype)e->dtype, short_at(c, x, e->args[0]), e->nargs > 1 ? e->args[1] : NULL);
}

static const tc_stmt *redirect_store(tc_ctx *c, const tc_stmt *s, void *user) {
    redirect *x = user;
    const tc_expr *value = tc_expr_map(c, s->u.store.value, redirect_load, x);
    if (s->u.store.buffer != x->from)
        return tir_with_store(c, s, s->u.store.index, value, s->u.store.mask);
    return tc_tir_store(c, x->to, short_at(c, x, s->u.store.index), value, s->u.store.mask);
}

static const tc_stmt *redirect_tile(tc_ctx *c, const tc_stmt *s, void *user) {
    const redirect *x = user;
    if (s->u.intrin.memory != x->from)
        return s;
    tc_tile_stmt t = s->u.intrin;
    t.memory = x->to;
    t.index = short_at(c, x, t.index);
    return tc_tir_tile(c, &t);
}

static const tc_stmt *redirect_prefetch(tc_ctx *c, const tc_stmt *s, void *user) {
    const redirect *x = user;
    (void)c;
    return s->u.prefetch.buffer == x->from ? NULL : s;
}

/* ---- all loops and all results ---- */

typedef struct redirects {
    ablation *k;
    tir_names names;
    int64_t most, bytes; /* of a buffer; of a thread's workspace */
    int64_t next;        /* where the next buffer of this loop begins in it */
    TC_VEC(tc_placement) places;
} redirects;

static const tc_buffer *place_buffer(redirects *a, const redirect *x) {
    tc_buffer *b = tir_fresh_buffer(a->k->c, &a->names, x->from);
    b->size = x->range.hi - x->range.lo + 1;
    b->scope = TC_BUF_THREAD;
    b->align = ALIGN;
    b->param = -1;
    b->tensor = NULL;
    tc_push(&a->places, ((tc_placement){b, a->next}));
    a->next += (b->size * tc_dtype_bytes(b->dtype) + ALIGN - 1) / ALIGN * ALIGN;
    a->bytes = TC_MAX(a->bytes, a->next);
    return b;
}

typedef struct results {
    const ablation *k;
    TC_VEC(const tc_buffer *) list;
} results;

static void find_result(const tc_stmt *s, void *user) {
    results *r = user;
    const tc_buffer *b = ablate_stored(s);
    if (!b || b->scope != TC_BUF_PARAM || ablate_is_fixed(r->k, b))
        return;
    for (size_t i = 0; i < r->list.len; i++)
        if (r->list.data[i] == b)
            return;
    tc_push(&r->list, b);
}

static const tc_stmt *redirected(redirects *a, const tc_stmt *loop, const tc_buffer *b) {
    static const tir_rules RULES = {
        {[TC_STMT_STORE] = redirect_store, [TC_STMT_INTRIN] = redirect_tile, [TC_STMT_PREFETCH] = redirect_prefetch}};
    tc_ctx *c = a->k->c;
    redirect x = {.k = a->k, .loop = loop, .from = b};
    if (!fits(&x, a->most))
        return loop;
    x.to = place_buffer(a, &x);
    const tc_stmt *body = tc_tir_alloc(c, x.to, tir_rewrite(c, &RULES, loop->u.loop.body, &x));
    return tir_with_loop(c, loop, loop->u.loop.extent, body);
}

static const tc_stmt *loop_rule(tc_ctx *c, const tc_stmt *s, void *user);

static const tir_rules LOOP_RULES = {{[TC_STMT_FOR] = loop_rule}};

static const tc_stmt *loop_rule(tc_ctx *c, const tc_stmt *s, void *user) {
    redirects *a = user;
    if (s->u.loop.kind != TC_FOR_PARALLEL)
        return tir_rewrite_inside(c, &LOOP_RULES, s, a);
    results r = {.k = a->k};
    tc_tir_walk(s, find_result, &r);
    a->next = (a->k->f->thread_bytes + ALIGN - 1) / ALIGN * ALIGN;
    for (size_t i = 0; i < r.list.len; i++)
        s = redirected(a, s, r.list.data[i]);
    tc_vec_free(&r.list);
    return s;
}

static tc_func *with_places(const redirects *a, const tc_stmt *body) {
    const tc_func *f = a->k->f;
    tc_arena *arena = tc_ctx_arena(a->k->c);
    tc_func *r = tir_with_body(a->k->c, f, body);
    tc_placement *p = TC_NEW_N(arena, tc_placement, (size_t)f->nplace + a->places.len);
    for (int i = 0; i < f->nplace; i++)
        p[i] = f->place[i];
    for (size_t i = 0; i < a->places.len; i++)
        p[(size_t)f->nplace + i] = a->places.data[i];
    r->place = p;
    r->nplace = f->nplace + (int)a->places.len;
    r->thread_bytes = TC_MAX(f->thread_bytes, a->bytes);
    return r;
}

tc_func *ablate_stores_within(ablation *k, int64_t most) {
    redirects a = {.k = k, .most = most};
    tir_names_init(&a.names, k->f);
    const tc_stmt *body = tir_rewrite(k->c, &LOOP_RULES, k->f->body, &a);
    tc_func *r = body == k->f->body ? ablate_with_body(k, body) : with_places(&a, body);
    tir_names_free(&a.names);
    tc_vec_free(&a.places);
    return r;
}

/* Half of the second cache, in which what a thread stores again and again stays. */
tc_func *ablate_stores(ablation *k) {
    enum { LEAST_CACHE = 256 << 10 };
    return ablate_stores_within(k, TC_MAX(k->m->l2, LEAST_CACHE) / 2);
}
