/* See unit_match.h. An index must be a sum of contributions, one for each loop of the unit. A loop's contribution is found by
 * value. So the match accepts any layout of digits (k % 32 / 2, k % 2) that puts the elements where the unit needs them. */
#include "tir_lower/unit_match.h"

#include <stdlib.h>

enum { M, N, K, ROLES };

typedef struct matcher {
    tc_ctx *c;
    tc_env *env, *outer; /* of the unit's loops alone; of all */
    const tc_intrinsic *unit;
    bool guarded;
    const tc_var *var[ROLES]; /* NULL: there is no such loop */
    int64_t extent[ROLES];
    tc_error *why;
} matcher;

#define UNFIT(x, ...) ((x)->why ? (void)tc_fail((x)->why, TC_ILLEGAL, __VA_ARGS__) : (void)0, false)

static int role_of(const matcher *x, const tc_expr *atom) {
    int role = -1;
    for (int r = 0; r < ROLES; r++)
        if (x->var[r] && tc_expr_uses_var(atom, x->var[r]))
            role = role < 0 ? r : ROLES; /* of two at once */
    return role;
}

/* An index taken apart: how much each value of each loop adds to the first element's. */
typedef struct offsets {
    tc_affine base;
    int64_t *of[ROLES];
} offsets;

static void free_offsets(offsets *o) {
    for (int r = 0; r < ROLES; r++)
        free(o->of[r]);
}

static bool take_apart(const matcher *x, const tc_buffer *b, const tc_expr *index, offsets *o) {
    for (int r = 0; r < ROLES; r++)
        o->of[r] = tc_xcalloc((size_t)TC_MAX(x->extent[r], 1), sizeof *o->of[r]);
    if (index->lanes != 1 || !tc_te_affine(x->c, index, x->outer, &o->base))
        return UNFIT(x, "the index of %s is not a sum of loop variables times constants", b->name);
    for (int i = o->base.n; i-- > 0;) {
        tc_term t = o->base.term[i];
        int role = role_of(x, t.atom);
        if (role < 0)
            continue;
        if (role == ROLES || tc_expr_touches_memory(t.atom))
            return UNFIT(x, "a term of the index of %s depends on memory or on several loops of the unit", b->name);
        for (int64_t v = 0; v < x->extent[role]; v++) {
            tc_env_set(x->env, x->var[role], (tc_ival){v, v});
            tc_ival at = tc_te_bounds(t.atom, x->env);
            if (!tc_ival_point(at))
                return UNFIT(x, "a term of the index of %s depends on a loop of the unit and on other loops", b->name);
            o->of[role][v] += t.coef * at.lo;
        }
        tc_affine_drop(&o->base, i);
    }
    for (int r = 0; r < ROLES; r++) {
        int64_t first = o->of[r][0];
        o->base.c += first;
        for (int64_t v = 0; v < x->extent[r]; v++)
            o->of[r][v] -= first;
    }
    return true;
}

static const char *const LOOPS[ROLES] = {"row", "column", "product"};

/* Whether value v of the loop adds (v / group) * stride + v % group * step; *stride is found where it is not known (group <
 * extent). */
static bool walks(const matcher *x, const offsets *o, const tc_buffer *b, int role, int64_t group, int64_t step,
                  int64_t *stride) {
    int64_t n = x->extent[role];
    if (stride && n > group)
        *stride = o->of[role][group];
    for (int64_t v = 0; v < n; v++) {
        int64_t want = v / group * (stride ? *stride : 0) + v % group * step;
        if (o->of[role][v] != want)
            return UNFIT(x, "%s: %s %lld is %lld elements from the first, but the unit expects %lld", b->name, LOOPS[role],
                         (long long)v, (long long)o->of[role][v], (long long)want);
    }
    return true;
}

static bool stays(const matcher *x, const offsets *o, const tc_buffer *b, int role) {
    for (int64_t v = 0; v < x->extent[role]; v++)
        if (o->of[role][v])
            return UNFIT(x, "the index of %s must not depend on the unit's %s loop", b->name, LOOPS[role]);
    return true;
}

static bool finish(const matcher *x, const offsets *o, const tc_buffer *b, int64_t stride, tir_operand *out) {
    *out = (tir_operand){b, tc_te_from_affine(x->c, &o->base), stride};
    return stride >= 0 || UNFIT(x, "the rows of %s have a negative stride", b->name);
}

/* Neighbours along one loop for each of the unit's rows, whatever the other loop's value is. */
static bool match_rows(const matcher *x, const tc_buffer *b, const tc_expr *index, int along, int still, tir_operand *out) {
    offsets o = {0};
    int64_t stride = 0;
    bool ok = take_apart(x, b, index, &o) && walks(x, &o, b, M, 1, 0, &stride) &&
              walks(x, &o, b, along, x->extent[along], 1, NULL) && stays(x, &o, b, still) && finish(x, &o, b, stride, out);
    free_offsets(&o);
    return ok;
}

static bool match_b(const matcher *x, const tc_expr *load, tir_operand *out) {
    offsets o = {0};
    const tc_buffer *b = load->u.buffer;
    int64_t stride = 0;
    bool ok = take_apart(x, b, load->args[0], &o) && walks(x, &o, b, K, x->unit->group, 1, &stride) && stays(x, &o, b, M);
    for (int64_t j = 0; ok && j < x->extent[N]; j++)
        if (o.of[N][j] != j * x->unit->group)
            ok = UNFIT(x,
                       "%s: column %lld is %lld elements from the first, but the unit expects %lld: %d products of a column side "
                       "by side, then the next column",
                       b->name, (long long)j, (long long)o.of[N][j], (long long)j * x->unit->group, x->unit->group);
    ok = ok && finish(x, &o, b, stride, out);
    free_offsets(&o);
    return ok;
}

/* ---- the nest ---- */

static const tc_stmt *inside(const matcher *x, const tc_stmt *s) {
    while (x->guarded && s && s->kind == TC_STMT_IF && s->u.cond.guard && !s->u.cond.otherwise)
        s = s->u.cond.then;
    return s;
}

/* The loops, by their places: columns and products for a unit of one row; no products where acc is set to zero. */
static const tc_stmt *read_loops(matcher *x, const tc_stmt *s) {
    int role = x->unit->m > 1 ? M : N;
    for (s = inside(x, s); s && s->kind == TC_STMT_FOR && role < ROLES; s = inside(x, s->u.loop.body), role++) {
        const tc_expr *e = s->u.loop.extent;
        if (e->op != TC_OP_INT || s->u.loop.reduce != (role == K))
            return NULL;
        x->var[role] = s->u.loop.var;
        x->extent[role] = e->u.i;
        tc_env_set(x->outer, s->u.loop.var, (tc_ival){0, e->u.i - 1});
    }
    return s && s->kind == TC_STMT_STORE && !s->u.store.mask ? s : NULL;
}

/* The load of a factor, converted to the accumulator's type. */
static const tc_expr *factor(const tc_expr *e, tc_dtype t) {
    if (e->op == TC_OP_CAST)
        e = e->args[0];
    return e->op == TC_OP_LOAD && e->nargs == 1 && e->dtype == t ? e : NULL;
}

static bool moves(const matcher *x, const tc_expr *load, int role) {
    return load && x->var[role] && tc_expr_uses_var(load->args[0], x->var[role]);
}

/* Of two factors the one that moves with the columns is b; of one row's, the other one may have either type. */
static bool match_factors(const matcher *x, const tc_expr *p, const tc_expr *q, tir_unit_nest *out) {
    const tc_intrinsic *u = x->unit;
    for (int swap = 0; swap < 2; swap++) {
        bool exchanged = u->m == 1 && (swap ? q : p)->op == TC_OP_CAST && (swap ? q : p)->args[0]->dtype != u->a;
        const tc_expr *a = factor(swap ? q : p, exchanged ? u->b : u->a), *b = factor(swap ? p : q, exchanged ? u->a : u->b);
        if (!a || !b || moves(x, a, N) || moves(x, b, M))
            continue;
        return match_rows(x, a->u.buffer, a->args[0], K, N, &out->a) && match_b(x, b, &out->b);
    }
    return UNFIT(x, "the factors are not a buffer of %s indexed by the rows and a buffer of %s indexed by the columns",
                 tc_dtype_name(u->a), tc_dtype_name(u->b));
}

static bool is_zero(const tc_expr *e) {
    return (e->op == TC_OP_INT && e->u.i == 0) || (e->op == TC_OP_FLOAT && e->u.f == 0);
}

static bool match_store(const matcher *x, const tc_stmt *s, tir_unit_nest *out) {
    const tc_expr *v = s->u.store.value;
    const tc_buffer *b = s->u.store.buffer;
    out->m = (int)x->extent[M], out->n = (int)x->extent[N], out->k = (int)x->extent[K];
    if (b->dtype != x->unit->acc)
        return UNFIT(x, "%s has type %s, but the unit adds up in %s", b->name, tc_dtype_name(b->dtype),
                     tc_dtype_name(x->unit->acc));
    if (!match_rows(x, b, s->u.store.index, N, K, &out->acc))
        return false;
    if (is_zero(v) && !x->var[K])
        return true;
    bool sums = v->op == TC_OP_ADD && v->args[0]->op == TC_OP_LOAD && v->args[0]->u.buffer == b &&
                v->args[0]->args[0] == s->u.store.index && v->args[1]->op == TC_OP_MUL;
    if (!sums || !x->var[K])
        return UNFIT(x, "%s is not a sum of products", b->name);
    out->unit = x->unit;
    return match_factors(x, v->args[1]->args[0], v->args[1]->args[1], out);
}

bool tir_match_unit(tc_ctx *c, tc_env *env, const tc_stmt *s, const tc_intrinsic *unit, bool guarded, tir_unit_nest *out,
                    tc_error *why) {
    matcher x = {.c = c, .env = tc_env_new(), .outer = env, .unit = unit, .guarded = guarded, .extent = {1, 1, 1}, .why = why};
    *out = (tir_unit_nest){0};
    const tc_stmt *store = read_loops(&x, s);
    bool ok = store ? match_store(&x, store, out) : UNFIT(&x, "the loops inside are not the loops of the unit");
    tc_env_free(x.env);
    return ok;
}
