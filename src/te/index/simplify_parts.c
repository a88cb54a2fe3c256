/* The part of the simplifier that knows where conditions hold: what a condition says about operands, arms and other conditions.
 *
 *     select(i < 5, f(i), y)                            ->  f simplified knowing i < 5
 *     select(p, select(q, x, y), y)                     ->  select(p && q, x, y)
 *     select(i < 9, select(N - i >= 1, x, y), y)        ->  select(N - i >= 1, x, y)      for N in [1, 9] */
#include "te/index/simplify_int.h"

/* e simplified where cond (or its negation) holds too. */
static const tc_expr *simp_under(simplifier *s, const tc_expr *e, const tc_expr *cond, bool negate) {
    enum { MAX_SCOPES = 6 };
    if (!e->nargs || s->r->depth >= MAX_SCOPES)
        return te_simp(s, e);
    te_ranges r;
    te_ranges_under(&r, s->r, cond, negate);
    if (!r.nfact)
        return te_simp(s, e);
    simplifier inner = {.c = s->c, .r = &r};
    te_memo_init(&inner.memo);
    const tc_expr *out = te_simp(&inner, e);
    te_memo_free(&inner.memo);
    return out;
}

/* In a && b, b may be simplified as if a held: where a fails, b does not matter. But memory in b is touched all the same, so its
 * indices must stay as they are. */
const tc_expr *te_simp_logic(simplifier *s, const tc_expr *e) {
    const tc_expr *a = te_simp(s, e->args[0]), *b = e->args[1];
    b = a->op == TC_OP_INT || tc_expr_touches_memory(b) ? te_simp(s, b) : simp_under(s, b, a, e->op == TC_OP_OR);
    return tc_bin(s->c, e->op, a, b);
}

/* ---- selects of one alternative ---- */

/* May be computed where nobody asks for it, too: it touches no memory, and what divides is not 0. */
static bool is_harmless(const tc_expr *e) {
    bool divides = e->op == TC_OP_DIV || e->op == TC_OP_MOD || e->op == TC_OP_TDIV || e->op == TC_OP_TMOD;
    bool harmless =
        !(tc_op_traits(e->op) & TC_MEMORY) && (!divides || tc_dtype_is_float(e->dtype) || tc_te_bounds(e->args[1], NULL).lo > 0);
    for (int i = 0; i < e->nargs && harmless; i++)
        harmless = is_harmless(e->args[i]);
    return harmless;
}

/* The condition as d < 0 of whole numbers; false: it is none. */
static bool below_zero(simplifier *s, const tc_expr *cond, tc_affine *d) {
    bool less = cond->op == TC_OP_LT || cond->op == TC_OP_LE, strict = cond->op == TC_OP_LT || cond->op == TC_OP_GT;
    tc_affine other;
    if ((!less && cond->op != TC_OP_GT && cond->op != TC_OP_GE) || cond->lanes != 1 || cond->args[0]->dtype != TC_I64 ||
        !te_form(s, cond->args[!less], d) || !te_form(s, cond->args[less], &other) || !tc_affine_add(d, &other, -1) ||
        __builtin_sub_overflow(d->c, !strict, &d->c))
        return false;
    return te_exact(s->r, d);
}

/* A condition that is a conjunct of `known`, or holds wherever one of them does. */
static bool follows(simplifier *s, const tc_expr *cond, const tc_expr *known) {
    tc_affine d, e;
    if (known->op == TC_OP_AND)
        return follows(s, cond, known->args[0]) || follows(s, cond, known->args[1]);
    return cond == known || (below_zero(s, cond, &d) && below_zero(s, known, &e) && tc_affine_add(&d, &e, -1) &&
                             te_range_affine(s->r, &d).hi <= 0);
}

/* The conjuncts of cond that `known` does not say. */
static const tc_expr *left_of(simplifier *s, const tc_expr *cond, const tc_expr *known) {
    if (cond->op == TC_OP_AND)
        return tc_bin(s->c, TC_OP_AND, left_of(s, cond->args[0], known), left_of(s, cond->args[1], known));
    return follows(s, cond, known) ? tc_bcast(s->c, tc_bool(s->c, true), cond->lanes) : cond;
}

/* One for two, of which the arm of the first is the second. */
static const tc_expr *join_selects(simplifier *s, const tc_expr *cond, const tc_expr *inner) {
    cond = tc_bin(s->c, TC_OP_AND, left_of(s, cond, inner->args[0]), inner->args[0]);
    return tc_select(s->c, cond, inner->args[1], inner->args[2]);
}

const tc_expr *te_simp_select(simplifier *s, const tc_expr *e) {
    const tc_expr *cond = te_simp(s, e->args[0]), *k = te_const(cond);
    if (k)
        return te_simp(s, e->args[k->u.i ? 1 : 2]);
    const tc_expr *a = simp_under(s, e->args[1], cond, false), *b = simp_under(s, e->args[2], cond, true);
    if (e->dtype == TC_BOOL && e->lanes == 1 && a->op == TC_OP_INT && b->op == TC_OP_INT && a != b)
        return a->u.i ? cond : te_simp(s, tc_un(s->c, TC_OP_NOT, cond));
    if (a->op == TC_OP_SELECT && a->args[2] == b && a->args[0]->lanes == cond->lanes && is_harmless(a->args[0]))
        return join_selects(s, cond, a);
    return tc_select(s->c, cond, a, b);
}
