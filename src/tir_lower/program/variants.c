/* Several programs of one workload whose sizes vary as one function, which chooses by the sizes of a run:
 *
 *     if (N * M <= 64) { the first } else if (N * M <= 1000) { the second } else { the last }
 *
 * Their parameters become those of the first; only one of them runs, so they share the workspace. */
#include <string.h>

#include "tir_lower/build/build.h"
#include "tir_lower/program/program.h"
#include "tir_lower/rewrite.h"

/* Parameters of one program, and those that stand for them. */
typedef struct renaming {
    const tc_func *from, *to;
} renaming;

static const tc_buffer *renamed(const renaming *k, const tc_buffer *b) {
    for (int i = 0; i < k->from->nparam; i++)
        if (k->from->params[i].buffer == b)
            return k->to->params[i].buffer;
    return b;
}

static const tc_expr *rename_expr(tc_ctx *c, const tc_expr *e, void *user) {
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

/* Runs with a product of at most `upto` are the one's, others the other's; either may be NULL: a program that does nothing. */
static const tc_stmt *either(tc_ctx *c, const tc_func *f, int64_t upto, const tc_stmt *then, const tc_stmt *otherwise) {
    const tc_expr *p = product(c, f), *most = tc_i64(c, upto);
    if (then)
        return tc_tir_if(c, tc_bin(c, TC_OP_LE, p, most), false, then, otherwise);
    return otherwise ? tc_tir_if(c, tc_bin(c, TC_OP_GT, p, most), false, otherwise, NULL) : NULL;
}

/* Whether a call of one can be a call of the other. */
static bool is_variant(const tc_func *first, const tc_func *f) {
    bool is = f->workload == first->workload && f->nparam == first->nparam;
    for (int i = 0; is && i < f->nparam; i++)
        is = f->params[i].kind == first->params[i].kind &&
             (f->params[i].kind != TC_PARAM_PACKED || tc_tir_packs_alike(f, i, first, i));
    return is;
}

tc_status tc_tir_variants(tc_ctx *c, int n, const tc_func *const *funcs, const int64_t *upto, tc_func **out, tc_error *err) {
    tc_arena *a = tc_ctx_arena(c);
    const tc_func *first = funcs[0];
    tc_func *r = tc_arena_dup(a, first, sizeof *r);
    tc_param *params = tc_arena_dup(a, first->params, sizeof *params * (size_t)first->nparam);
    tc_placement *place;
    r->body = NULL;
    r->nplace = 0;
    for (int i = 0; i < n; i++)
        r->nplace += funcs[i]->nplace;
    r->place = place = TC_NEW_N(a, tc_placement, r->nplace);
    for (int i = n - 1; i >= 0; i--) {
        const tc_func *f = funcs[i];
        if (!is_variant(first, f))
            return tc_fail(err, TC_ILLEGAL, "programs for different sizes read their constants in different layouts");
        renaming k = {f, first};
        const tc_stmt *body = f == first ? f->body : tir_rewrite(c, &RULES, f->body, &k);
        r->body = i == n - 1 ? body : either(c, first, upto[i], body, r->body);
        r->shared_bytes = TC_MAX(r->shared_bytes, f->shared_bytes);
        r->thread_bytes = TC_MAX(r->thread_bytes, f->thread_bytes);
        memcpy(place, f->place, (size_t)f->nplace * sizeof *place);
        place += f->nplace;
        for (int p = 0; p < f->nparam; p++)
            params[p].ahead = TC_MAX(params[p].ahead, f->params[p].ahead);
    }
    r->params = params;
    *out = r;
    return TC_OK;
}
