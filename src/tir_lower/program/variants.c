/* Joins several programs into one function that chooses by the sizes of a run. The programs compute one workload with varying
 * sizes, or workloads with the same parameters.
 *
 *     if (N * M <= 64 || 1000 < N * M) { the first } else { the second }
 *
 * Each program stands in the function once, however many spans it serves. All programs use the parameters of the first program.
 * Only one program runs, so they share the workspace. */
#include <string.h>

#include "tir_lower/build/build.h"
#include "tir_lower/program/program.h"
#include "tir_lower/rewrite.h"

/* Parameters and symbols of one program, and those that stand for them. */
typedef struct renaming {
    const tc_func *from, *to;
} renaming;

static const tc_buffer *renamed(const renaming *k, const tc_buffer *b) {
    for (int i = 0; i < k->from->nparam; i++)
        if (k->from->params[i].buffer == b)
            return k->to->params[i].buffer;
    return b;
}

/* Workloads in canonical form have their symbols in one order. */
static const tc_expr *rename_symbol(tc_ctx *c, const tc_expr *e, const renaming *k) {
    for (int i = 0; i < k->from->nsymbol; i++)
        if (e->u.var == k->from->symbols[i])
            return tc_varx(c, k->to->symbols[i]);
    return e;
}

static const tc_expr *rename_expr(tc_ctx *c, const tc_expr *e, void *user) {
    if (e->op == TC_OP_VAR)
        return rename_symbol(c, e, user);
    const tc_buffer *to = e->op == TC_OP_LOAD ? renamed(user, e->u.buffer) : NULL;
    return !to || to == e->u.buffer ? e : tc_load(c, to, (tc_dtype)e->dtype, e->args[0], e->nargs > 1 ? e->args[1] : NULL);
}

static const tc_expr *rename_in(tc_ctx *c, const tc_expr *e, renaming *k) {
    return e ? tc_expr_map(c, e, rename_expr, k) : NULL;
}

static const tc_stmt *rename_store(tc_ctx *c, const tc_stmt *s, void *user) {
    return tc_tir_store(c, renamed(user, s->u.store.buffer), rename_in(c, s->u.store.index, user),
                        rename_in(c, s->u.store.value, user), rename_in(c, s->u.store.mask, user));
}

static const tc_stmt *rename_loop(tc_ctx *c, const tc_stmt *s, void *user);
static const tc_stmt *rename_if(tc_ctx *c, const tc_stmt *s, void *user);

static const tc_stmt *rename_prefetch(tc_ctx *c, const tc_stmt *s, void *user) {
    return tc_tir_prefetch(c, renamed(user, s->u.prefetch.buffer), rename_in(c, s->u.prefetch.index, user));
}

static const tc_stmt *rename_tile(tc_ctx *c, const tc_stmt *s, void *user) {
    tc_tile_stmt t = s->u.intrin;
    t.memory = t.memory ? renamed(user, t.memory) : NULL;
    t.index = rename_in(c, t.index, user);
    return tc_tir_tile(c, &t);
}

static const tir_rules RULES = {{[TC_STMT_STORE] = rename_store,
                                 [TC_STMT_FOR] = rename_loop,
                                 [TC_STMT_IF] = rename_if,
                                 [TC_STMT_PREFETCH] = rename_prefetch,
                                 [TC_STMT_INTRIN] = rename_tile}};

static const tc_stmt *rename_loop(tc_ctx *c, const tc_stmt *s, void *user) {
    return tir_with_loop(c, s, rename_in(c, s->u.loop.extent, user), tir_rewrite(c, &RULES, s->u.loop.body, user));
}

static const tc_stmt *rename_if(tc_ctx *c, const tc_stmt *s, void *user) {
    return tir_with_arms(c, s, rename_in(c, s->u.cond.cond, user), tir_rewrite(c, &RULES, s->u.cond.then, user),
                         tir_rewrite(c, &RULES, s->u.cond.otherwise, user));
}

/* A size of 0 counts as 1, as in the contests that set the limits. */
static const tc_expr *product(tc_ctx *c, const tc_func *f) {
    const tc_expr *r = tc_i64(c, 1);
    for (int i = 0; i < f->nsymbol; i++)
        r = tc_mul(c, r,
                   f->symbols[i]->least > 0 ? tc_varx(c, f->symbols[i])
                                            : tc_bin(c, TC_OP_MAX, tc_varx(c, f->symbols[i]), tc_i64(c, 1)));
    return r;
}

/* Where the program of span i stands first in the list. Programs are asked for in this order. */
static int first_of(const tc_func *const *funcs, int i) {
    int at = 0;
    while (funcs[at] != funcs[i])
        at++;
    return at;
}

/* Whether a run that is none of the programs' asked for before is of span i. Where the program stands first, all spans before it
 * are theirs. */
static const tc_expr *in_span(tc_ctx *c, const tc_expr *p, const tc_func *const *funcs, const int64_t *upto, int i) {
    const tc_expr *most = tc_bin(c, TC_OP_LE, p, tc_i64(c, upto[i]));
    if (first_of(funcs, i) == i)
        return most;
    const tc_expr *above = tc_bin(c, TC_OP_GT, p, tc_i64(c, upto[i - 1]));
    return upto[i] == INT64_MAX ? above : tc_bin(c, TC_OP_AND, above, most);
}

/* The same of all spans of the program that stands at `at` first. */
static const tc_expr *serves(tc_ctx *c, const tc_expr *p, int n, const tc_func *const *funcs, const int64_t *upto, int at) {
    const tc_expr *r = in_span(c, p, funcs, upto, at);
    for (int i = at + 1; i < n; i++)
        if (funcs[i] == funcs[at])
            r = tc_bin(c, TC_OP_OR, r, in_span(c, p, funcs, upto, i));
    return r;
}

static bool same_symbols(const tc_func *f, const tc_func *g) {
    bool same = f->nsymbol == g->nsymbol;
    for (int i = 0; same && i < f->nsymbol; i++)
        same = f->symbols[i]->least == g->symbols[i]->least && f->symbols[i]->most == g->symbols[i]->most;
    return same;
}

/* Whether a call of one can be a call of the other. */
static bool is_variant(const tc_func *first, const tc_func *f) {
    bool is = f->nparam == first->nparam && same_symbols(f, first);
    for (int i = 0; is && i < f->nparam; i++) {
        const tc_param *p = &f->params[i], *q = &first->params[i];
        is = p->kind == q->kind && p->index == q->index && p->buffer->dtype == q->buffer->dtype &&
             p->buffer->size == q->buffer->size && (p->kind != TC_PARAM_PACKED || tc_tir_packs_alike(f, i, first, i));
    }
    return is;
}

/* What `r`, a copy of the first, needs for f as well. */
static void make_room(const tc_func *f, tc_func *r, tc_placement *place, tc_param *params) {
    r->shared_bytes = TC_MAX(r->shared_bytes, f->shared_bytes);
    r->thread_bytes = TC_MAX(r->thread_bytes, f->thread_bytes);
    memcpy(place + r->nplace, f->place, (size_t)f->nplace * sizeof *place);
    r->nplace += f->nplace;
    for (int p = 0; p < f->nparam; p++)
        params[p].ahead = TC_MAX(params[p].ahead, f->params[p].ahead);
}

tc_status tc_tir_variants(tc_ctx *c, int n, const tc_func *const *funcs, const int64_t *upto, tc_func **out, tc_error *err) {
    tc_arena *a = tc_ctx_arena(c);
    const tc_func *first = funcs[0];
    tc_func *r = tc_arena_dup(a, first, sizeof *r);
    tc_param *params = tc_arena_dup(a, first->params, sizeof *params * (size_t)first->nparam);
    const tc_expr *p = product(c, first);
    int nplace = 0;
    for (int i = 0; i < n; i++)
        nplace += funcs[i]->nplace;
    tc_placement *place = TC_NEW_N(a, tc_placement, nplace);
    r->body = NULL;
    r->nplace = 0;
    bool last = true;
    for (int i = n - 1; i >= 0; i--) {
        const tc_func *f = funcs[i];
        if (first_of(funcs, i) < i)
            continue;
        if (!is_variant(first, f))
            return tc_fail(err, TC_ILLEGAL, "programs for different sizes read their constants in different layouts");
        renaming k = {f, first};
        const tc_stmt *body = f == first ? f->body : tir_rewrite(c, &RULES, f->body, &k);
        r->body = last ? body : tc_tir_if(c, serves(c, p, n, funcs, upto, i), false, body, r->body);
        make_room(f, r, place, params);
        last = false;
    }
    r->place = place;
    r->params = params;
    *out = r;
    return TC_OK;
}
