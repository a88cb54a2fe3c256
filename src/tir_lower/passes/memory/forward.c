/* Forwarding: the second half of promotion.
 *
 *     D[x] = 0;  R = D[x];  for k { R = R + .. };  D[x] = R;  Y[x] = f(D[x])
 *  => R = 0;  for k { R = R + .. };  Y[x] = f(R)                     # D is gone if it was private
 *
 * Forwards over straight-line code. A store puts an immediate, or a register's value, at an index; this value replaces later
 * loads of the index. A store is dropped if another store to the same place follows, with no load between them. A private buffer
 * without loads is dropped too. Only immediates and registers are forwarded. A longer expression would be computed twice, or
 * would read memory that has changed since. */
#include "tir_lower/passes/pass.h"

#include <assert.h>

enum { WINDOW = 64 }; /* stores remembered; a register tile has fewer */

typedef struct known {
    const tc_buffer *buffer;
    const tc_expr *index, *mask, *value;
} known;

typedef struct window {
    int n;
    known k[WINDOW];
} window;

typedef struct forwarder {
    tc_ctx *c;
    const tc_env *env;
    tc_map places; /* index -> tir_place */
    window w;
    tir_memo memo;
    const tc_expr *mask; /* of the store at hand: a masked load may only go where its lanes that are off do not matter */
    tc_map loaded;       /* buffers that some load reads */
} forwarder;

static const tir_place *place(forwarder *f, const tc_expr *index) {
    uintptr_t *p = tc_map_get(&f->places, index->id);
    if (p)
        return (const tir_place *)*p;
    tir_place *r = TC_NEW(tc_ctx_arena(f->c), tir_place);
    *r = tir_place_of(f->c, f->env, index);
    tc_map_put(&f->places, index->id, (uintptr_t)r);
    return r;
}

static bool apart(forwarder *f, const tc_expr *a, const tc_expr *b) {
    return a != b && tir_places_disjoint(place(f, a), place(f, b));
}

static void drop(forwarder *f, int i) {
    f->w.k[i] = f->w.k[--f->w.n];
    tir_memo_clear(&f->memo);
}

/* ---- store to load ---- */

/* A store to b[index] (NULL: anywhere in b) makes what is known of it, or of values read from it, stale. */
static void kill_store(forwarder *f, const tc_buffer *b, const tc_expr *index) {
    for (int i = f->w.n; i-- > 0;) {
        const known *k = &f->w.k[i];
        bool target = k->buffer == b && (!index || !apart(f, k->index, index));
        bool source = k->value->op == TC_OP_LOAD && k->value->u.buffer == b && (!index || !apart(f, k->value->args[0], index));
        if (target || source)
            drop(f, i);
    }
}

static void kill_stored(const tc_stmt *s, void *user) {
    if (s->kind == TC_STMT_STORE)
        kill_store(user, s->u.store.buffer, NULL);
    if (s->kind == TC_STMT_INTRIN && s->u.intrin.op == TC_TILE_STORE)
        kill_store(user, s->u.intrin.memory, NULL);
}

static void kill_inside(forwarder *f, const tc_stmt *s) {
    if (f->w.n)
        tc_tir_walk(s, kill_stored, f);
}

static const tc_expr *forward_expr(tc_ctx *c, const tc_expr *e, void *user) {
    forwarder *f = user;
    if (!e || e->nargs == 0 || f->w.n == 0)
        return e;
    const tc_expr *r = tir_memo_get(&f->memo, e);
    if (r)
        return r;
    r = tc_expr_map_args(c, e, forward_expr, f);
    if (e->op == TC_OP_LOAD)
        for (int i = 0; i < f->w.n; i++) {
            const known *k = &f->w.k[i];
            const tc_expr *mask = e->nargs > 1 ? e->args[1] : NULL;
            if (k->buffer == e->u.buffer && k->index == e->args[0] && k->mask == mask && (!mask || mask == f->mask))
                r = k->value;
        }
    tir_memo_put(&f->memo, e, r);
    return r;
}

static bool travels(const tc_expr *e) {
    if (e->op == TC_OP_BCAST)
        e = e->args[0];
    return e->op == TC_OP_INT || e->op == TC_OP_FLOAT || (e->op == TC_OP_LOAD && e->u.buffer->scope == TC_BUF_REG);
}

static const tc_stmt *forward_for(tc_ctx *c, const tc_stmt *s, void *user);
static const tc_stmt *forward_if(tc_ctx *c, const tc_stmt *s, void *user);
static const tc_stmt *forward_store(tc_ctx *c, const tc_stmt *s, void *user);
static const tc_stmt *forward_alloc(tc_ctx *c, const tc_stmt *s, void *user);
static const tc_stmt *forward_intrin(tc_ctx *c, const tc_stmt *s, void *user);
static const tir_rules FORWARD = {{[TC_STMT_FOR] = forward_for,
                                   [TC_STMT_IF] = forward_if,
                                   [TC_STMT_STORE] = forward_store,
                                   [TC_STMT_ALLOC] = forward_alloc,
                                   [TC_STMT_INTRIN] = forward_intrin}};

/* Tiles are loaded from memory as it is. */
static const tc_stmt *forward_intrin(tc_ctx *c, const tc_stmt *s, void *user) {
    (void)c;
    kill_stored(s, user);
    return s;
}

static const tc_stmt *forward_store(tc_ctx *c, const tc_stmt *s, void *user) {
    forwarder *f = user;
    const tc_buffer *b = s->u.store.buffer;
    if (f->mask != s->u.store.mask)
        tir_memo_clear(&f->memo);
    f->mask = s->u.store.mask;
    const tc_expr *index = forward_expr(f->c, s->u.store.index, f), *value = forward_expr(f->c, s->u.store.value, f);
    const tc_expr *mask = forward_expr(f->c, s->u.store.mask, f);
    kill_store(f, b, index);
    bool self = value->op == TC_OP_LOAD && value->u.buffer == b;
    if (travels(value) && !self) {
        if (f->w.n == WINDOW)
            drop(f, 0);
        f->w.k[f->w.n++] = (known){b, index, mask, value};
        tir_memo_clear(&f->memo);
    }
    return tir_with_store(c, s, index, value, mask);
}

static void forget_registers(forwarder *f) {
    for (int i = f->w.n; i-- > 0;)
        if (f->w.k[i].value->op == TC_OP_LOAD)
            drop(f, i);
}

/* A part that runs any number of times, or not at all: only what it leaves alone is known in it and after it. Other threads know
 * no registers of ours. */
static const tc_stmt *forward_apart(forwarder *f, const tc_stmt *s, bool threads) {
    window before = f->w;
    if (threads)
        forget_registers(f);
    s = tir_rewrite(f->c, &FORWARD, s, f);
    f->w = before;
    tir_memo_clear(&f->memo);
    return s;
}

static const tc_stmt *forward_alloc(tc_ctx *c, const tc_stmt *s, void *user) {
    const tc_stmt *r = tir_rewrite_inside(c, &FORWARD, s, user);
    kill_store(user, s->u.alloc.buffer, NULL); /* it ends here */
    return r;
}

static const tc_stmt *forward_for(tc_ctx *c, const tc_stmt *s, void *user) {
    kill_inside(user, s);
    return tir_with_loop(c, s, s->u.loop.extent, forward_apart(user, s->u.loop.body, s->u.loop.kind == TC_FOR_PARALLEL));
}

static const tc_stmt *forward_if(tc_ctx *c, const tc_stmt *s, void *user) {
    forwarder *f = user;
    tir_memo_clear(&f->memo);
    f->mask = NULL;
    const tc_expr *cond = forward_expr(f->c, s->u.cond.cond, f);
    const tc_stmt *t = forward_apart(f, s->u.cond.then, false);
    const tc_stmt *o = s->u.cond.otherwise ? forward_apart(f, s->u.cond.otherwise, false) : NULL;
    kill_inside(f, s);
    return tir_with_arms(c, s, cond, t, o);
}

/* ---- dead stores: the same window, filled from the end ---- */

static void kill_load(const tc_expr *e, void *user) {
    forwarder *f = user;
    if (e->op != TC_OP_LOAD)
        return;
    for (int i = f->w.n; i-- > 0;)
        if (f->w.k[i].buffer == e->u.buffer && !apart(f, f->w.k[i].index, e->args[0]))
            drop(f, i);
}

static void kill_buffer(forwarder *f, const tc_buffer *b) {
    for (int i = f->w.n; i-- > 0;)
        if (f->w.k[i].buffer == b)
            drop(f, i);
}

static void kill_loads(const tc_stmt *s, void *user) {
    const forwarder *f = user;
    if (f->w.n)
        tc_tir_walk_exprs(s, kill_load, user);
    if (s->kind == TC_STMT_INTRIN && s->u.intrin.memory)
        kill_buffer(user, s->u.intrin.memory);
}

static void kill_loads_inside(forwarder *f, const tc_stmt *s) {
    if (f->w.n)
        tc_tir_walk(s, kill_loads, f);
}

static const tc_stmt *bury_seq(tc_ctx *c, const tc_stmt *s, void *user);
static const tc_stmt *bury_for(tc_ctx *c, const tc_stmt *s, void *user);
static const tc_stmt *bury_if(tc_ctx *c, const tc_stmt *s, void *user);
static const tc_stmt *bury_store(tc_ctx *c, const tc_stmt *s, void *user);
static const tc_stmt *bury_intrin(tc_ctx *c, const tc_stmt *s, void *user);
static const tir_rules BURY = {{[TC_STMT_SEQ] = bury_seq,
                                [TC_STMT_FOR] = bury_for,
                                [TC_STMT_IF] = bury_if,
                                [TC_STMT_STORE] = bury_store,
                                [TC_STMT_INTRIN] = bury_intrin}};

static const tc_stmt *bury_intrin(tc_ctx *c, const tc_stmt *s, void *user) {
    (void)c;
    kill_loads(s, user);
    return s;
}

static const tc_stmt *bury_store(tc_ctx *c, const tc_stmt *s, void *user) {
    (void)c;
    forwarder *f = user;
    const tc_buffer *b = s->u.store.buffer;
    for (int i = 0; i < f->w.n; i++) {
        const known *k = &f->w.k[i];
        if (k->buffer == b && k->index == s->u.store.index && (!k->mask || k->mask == s->u.store.mask))
            return NULL;
    }
    if (f->w.n == WINDOW)
        drop(f, 0);
    f->w.k[f->w.n++] = (known){b, s->u.store.index, s->u.store.mask, NULL};
    kill_loads_inside(f, s);
    return s;
}

static const tc_stmt *bury_apart(forwarder *f, const tc_stmt *s) {
    if (!s)
        return NULL;
    window before = f->w;
    f->w.n = 0;
    s = tir_rewrite(f->c, &BURY, s, f);
    f->w = before;
    return s;
}

static const tc_stmt *bury_seq(tc_ctx *c, const tc_stmt *s, void *user) {
    const tc_stmt **out = TC_NEW_N(tc_ctx_arena(c), const tc_stmt *, s->u.seq.n);
    for (int i = s->u.seq.n; i-- > 0;)
        out[i] = tir_rewrite(c, &BURY, s->u.seq.s[i], user);
    return tc_tir_seq(c, s->u.seq.n, out);
}

static const tc_stmt *bury_for(tc_ctx *c, const tc_stmt *s, void *user) {
    const tc_stmt *body = bury_apart(user, s->u.loop.body);
    kill_loads_inside(user, s);
    return tir_with_loop(c, s, s->u.loop.extent, body);
}

static const tc_stmt *bury_if(tc_ctx *c, const tc_stmt *s, void *user) {
    const tc_stmt *t = bury_apart(user, s->u.cond.then), *o = bury_apart(user, s->u.cond.otherwise);
    kill_loads_inside(user, s);
    return tir_with_arms(c, s, s->u.cond.cond, t, o);
}

/* ---- dead buffers ---- */

static void note_load(const tc_expr *e, void *user) {
    tc_map *loaded = user;
    if (e->op == TC_OP_LOAD)
        tc_map_put(loaded, e->u.buffer->id, 1);
}

static void note_loads(const tc_stmt *s, void *user) {
    tc_tir_walk_exprs(s, note_load, user);
    if (s->kind == TC_STMT_INTRIN && s->u.intrin.memory)
        tc_map_put(user, s->u.intrin.memory->id, 1);
}

static const tc_stmt *drop_unread_store(tc_ctx *c, const tc_stmt *s, void *user) {
    (void)c;
    forwarder *f = user;
    return s->u.store.buffer->scope == TC_BUF_PARAM || tc_map_get(&f->loaded, s->u.store.buffer->id) ? s : NULL;
}

static const tc_stmt *drop_unread_alloc(tc_ctx *c, const tc_stmt *s, void *user);
static const tir_rules DROP_UNREAD = {{[TC_STMT_STORE] = drop_unread_store, [TC_STMT_ALLOC] = drop_unread_alloc}};

static const tc_stmt *drop_unread_alloc(tc_ctx *c, const tc_stmt *s, void *user) {
    forwarder *f = user;
    const tc_stmt *body = tir_rewrite(c, &DROP_UNREAD, s->u.alloc.body, user);
    bool tile = s->u.alloc.buffer->scope == TC_BUF_TILE;
    return tile || tc_map_get(&f->loaded, s->u.alloc.buffer->id) ? tir_with_alloc(c, s, body) : body;
}

const tc_stmt *tir_forward_stores(tc_ctx *c, const tc_env *env, const tc_stmt *body) {
    forwarder *f = tc_xcalloc(1, sizeof *f);
    f->c = c;
    f->env = env;
    body = tir_rewrite(c, &FORWARD, body, f);
    f->w.n = 0;
    body = tir_rewrite(c, &BURY, body, f);
    if (body) {
        tc_tir_walk(body, note_loads, &f->loaded);
        body = tir_rewrite(c, &DROP_UNREAD, body, f);
    }
    tc_map_free(&f->places);
    tc_map_free(&f->loaded);
    tir_memo_free(&f->memo);
    free(f);
    return body;
}
