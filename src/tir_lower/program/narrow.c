/* Values that pass between two kernels in bf16. A consumer may round every element of an input before any other use. Then the
 * consumer can take rounded elements, in half the memory, and the producer rounds when it stores them.
 *
 *     T[i] = bf16(X[i])          X of f32     =>     T[i] = X[i]               X of bf16
 *     Y[i] = a + b               Y of f32     =>     Y[i] = bf16(a + b)        Y of bf16
 *
 * Both kernels together compute the same values as before, bit for bit. */
#include "tir_lower/program/program.h"
#include "tir_lower/rewrite.h"

typedef struct narrowing {
    const tc_buffer *from, *to;
    bool fails; /* a tile is loaded from it, or stored to it */
} narrowing;

/* An element in f32 that is one of bf16, under a broadcast too; else NULL. */
static const tc_expr *widened(tc_ctx *c, const tc_expr *e) {
    if (e->op == TC_OP_BCAST) {
        const tc_expr *x = widened(c, e->args[0]);
        return x ? tc_bcast(c, x, e->lanes) : NULL;
    }
    return e->op == TC_OP_CAST && e->dtype == TC_F32 && e->args[0]->dtype == TC_BF16 ? e->args[0] : NULL;
}

static const tc_expr *narrow_expr(tc_ctx *c, const tc_expr *e, void *user) {
    const narrowing *k = user;
    if (e->op == TC_OP_LOAD && e->u.buffer == k->from)
        return tc_cast(c, TC_F32, tc_load(c, k->to, TC_BF16, e->args[0], e->nargs > 1 ? e->args[1] : NULL));
    const tc_expr *x = e->op == TC_OP_CAST && e->dtype == TC_BF16 ? widened(c, e->args[0]) : NULL;
    return x ? x : e;
}

static const tc_expr *narrowed(tc_ctx *c, const tc_expr *e, narrowing *k) {
    return e ? tc_expr_map(c, e, narrow_expr, k) : NULL;
}

static const tc_stmt *narrow_store(tc_ctx *c, const tc_stmt *s, void *user) {
    narrowing *k = user;
    const tc_expr *index = narrowed(c, s->u.store.index, k), *value = narrowed(c, s->u.store.value, k),
                  *mask = narrowed(c, s->u.store.mask, k);
    if (s->u.store.buffer == k->from)
        return tc_tir_store(c, k->to, index, tc_cast(c, TC_BF16, value), mask);
    return tir_with_store(c, s, index, value, mask);
}

static const tc_stmt *narrow_prefetch(tc_ctx *c, const tc_stmt *s, void *user) {
    const narrowing *k = user;
    return s->u.prefetch.buffer == k->from ? tc_tir_prefetch(c, k->to, s->u.prefetch.index) : s;
}

static const tc_stmt *narrow_tile(tc_ctx *c, const tc_stmt *s, void *user) {
    narrowing *k = user;
    (void)c;
    k->fails |= s->u.intrin.memory == k->from;
    return s;
}

typedef struct leftovers {
    const narrowing *k;
    bool any;
} leftovers;

/* What still wants f32: a read that is not rounded, or one where nothing was rewritten; a read of what is stored. */
static void find_leftover(const tc_expr *e, void *user) {
    leftovers *l = user;
    bool stored = e->op == TC_OP_LOAD && e->u.buffer == l->k->from;
    bool wide = e->op == TC_OP_CAST && e->dtype == TC_F32 && e->args[0]->op == TC_OP_LOAD && e->args[0]->u.buffer == l->k->to;
    l->any |= stored || wide;
}

static void find_leftovers(const tc_stmt *s, void *user) {
    tc_tir_walk_exprs(s, find_leftover, user);
}

static bool reads(const tc_func *f, const tc_buffer *b) {
    narrowing k = {.from = b};
    leftovers l = {.k = &k};
    tc_tir_walk(f->body, find_leftovers, &l);
    return l.any;
}

tc_func *tc_tir_narrowed(tc_ctx *c, const tc_func *f, int param) {
    static const tir_rules RULES = {
        {[TC_STMT_STORE] = narrow_store, [TC_STMT_PREFETCH] = narrow_prefetch, [TC_STMT_INTRIN] = narrow_tile}};
    const tc_param *p = &f->params[param];
    if (!f->body || p->kind == TC_PARAM_PACKED || p->overlaps || p->buffer->dtype != TC_F32 ||
        (p->kind == TC_PARAM_OUT && reads(f, p->buffer)))
        return NULL;
    tc_buffer *to = tc_arena_dup(tc_ctx_arena(c), p->buffer, sizeof *to);
    to->id = tc_ctx_next_id(c);
    to->dtype = TC_BF16;
    narrowing k = {.from = p->buffer, .to = to};
    tc_func *r = tc_arena_dup(tc_ctx_arena(c), f, sizeof *r);
    tc_param *params = tc_arena_dup(tc_ctx_arena(c), f->params, sizeof *params * (size_t)f->nparam);
    params[param].buffer = to;
    r->params = params;
    r->body = tir_rewrite(c, &RULES, f->body, &k);
    leftovers l = {.k = &k};
    tc_tir_walk(r->body, find_leftovers, &l);
    return l.any || k.fails ? NULL : r;
}
