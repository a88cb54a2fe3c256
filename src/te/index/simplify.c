/* Simplification of integer and boolean expressions. Every i64 scalar becomes a linear form over atoms. Quotients and remainders
 * are split into the part that divides and the small part. Comparisons take the form `sum < constant` or `sum >= constant`.
 *
 *     (64*x + r) / 64              ->  x                    for r in [0, 64)
 *     (64*x + r) % 64              ->  r
 *     (x / 4) / 8                  ->  x / 32
 *     (x % 32) / 4                 ->  (x / 4) % 8
 *     x % 6 + 6 * (x / 6)          ->  x,    and  x - 6 * (x / 6)  ->  x % 6
 *     min(6*i + 6, 128) - 6*i      ->  min(6, 128 - 6*i)
 *     6*i + r < 126                ->  i < 21               for r in [0, 6)
 *     select(i < 5, f(i), y)       ->  f simplified knowing i < 5, and more of that in simplify_parts.c
 *
 * If a sum may wrap (te_exact), the rules that hold only for whole numbers are not used. Quotient and remainder of one value get
 * the same numerator, so that they can recombine. */
#include "te/index/simplify_int.h"

#include <stdlib.h>

static bool scalar_index(const tc_expr *e) {
    return e->dtype == TC_I64 && e->lanes == 1;
}

/* The single atom that a is, without coefficient and constant; NULL if it is more. */
static const tc_expr *lone_atom(const tc_affine *a) {
    return a->n == 1 && a->c == 0 && a->term[0].coef == 1 ? a->term[0].atom : NULL;
}

static bool is_const_form(const tc_affine *a) {
    return a->n == 0;
}

static const tc_expr *simp_linear(simplifier *s, const tc_expr *e) {
    tc_affine a;
    if (te_form(s, e, &a))
        return tc_te_from_affine(s->c, &a);
    const tc_expr *args[] = {te_simp(s, e->args[0]), te_simp(s, e->args[1])};
    return tc_with_args(s->c, e, args);
}

static const tc_expr *simp_product(simplifier *s, const tc_expr *e) {
    const tc_expr *x = te_simp(s, e->args[0]), *y = te_simp(s, e->args[1]), *p = tc_mul(s->c, x, y);
    tc_affine a = {0};
    if (p->op == TC_OP_MUL && p->args[1]->op == TC_OP_INT && tc_affine_linear(&a, p, 1)) {
        te_recombine(s, &a);
        return tc_te_from_affine(s->c, &a);
    }
    return te_simp_whole_product(s, p);
}

static const tc_expr *simp_mul(simplifier *s, const tc_expr *e) {
    return e->args[1]->op == TC_OP_INT ? simp_linear(s, e) : simp_product(s, e);
}

/* ---- min and max ---- */

/* Takes the terms that both have out of a and b. */
static void common_terms(tc_affine *a, tc_affine *b, tc_affine *common) {
    *common = (tc_affine){0};
    for (int i = 0; i < a->n; i++)
        if (tc_affine_coef(b, a->term[i].atom) == a->term[i].coef)
            tc_affine_term(common, a->term[i].atom, a->term[i].coef);
    tc_affine_add(a, common, -1);
    tc_affine_add(b, common, -1);
    if (a->c == b->c && a->n && b->n) {
        common->c = a->c;
        a->c = b->c = 0;
    }
}

/* min(min(x, 7), 5) -> min(x, 5); constants go to the right. */
static const tc_expr *make_minmax(simplifier *s, tc_op op, const tc_expr *x, const tc_expr *y) {
    if (x->op == TC_OP_INT) {
        const tc_expr *swap = x;
        x = y;
        y = swap;
    }
    if (y->op == TC_OP_INT && x->op == op && x->args[1]->op == TC_OP_INT)
        return tc_bin(s->c, op, x->args[0], tc_bin(s->c, op, x->args[1], y));
    if (y->op != TC_OP_INT && x->op != op && x->id > y->id)
        return tc_bin(s->c, op, y, x);
    return tc_bin(s->c, op, x, y);
}

static const tc_expr *simp_minmax(simplifier *s, const tc_expr *e) {
    tc_affine a, b, d = {0}, common;
    const tc_expr *x, *y;
    bool min = e->op == TC_OP_MIN;
    if (!te_form(s, e->args[0], &a) || !te_form(s, e->args[1], &b) || !tc_affine_add(&d, &a, 1) || !tc_affine_add(&d, &b, -1) ||
        !te_exact(s->r, &a) || !te_exact(s->r, &b)) {
        x = te_simp(s, e->args[0]), y = te_simp(s, e->args[1]);
        return tc_bin(s->c, e->op, x, y);
    }
    tc_ival v = te_range_affine(s->r, &d);
    if (v.hi <= 0 || v.lo >= 0)
        return tc_te_from_affine(s->c, (v.hi <= 0) == min ? &a : &b);
    common_terms(&a, &b, &common);
    x = tc_te_from_affine(s->c, &a), y = tc_te_from_affine(s->c, &b);
    const tc_expr *m = te_is_at_most(s, x, y)   ? (min ? x : y)
                       : te_is_at_most(s, y, x) ? (min ? y : x)
                                                : make_minmax(s, e->op, x, y);
    return tc_affine_linear(&common, m, 1) ? tc_te_from_affine(s->c, &common) : m;
}

/* ---- comparisons ---- */

/* `sum < k` with the sum's leading coefficient positive, or its negation; factors divided out. d < 0 is what is compared. */
static const tc_expr *less_than_zero(simplifier *s, tc_affine d) {
    int64_t g = 0, c;
    int lead = 0;
    for (int i = 0; i < d.n; i++) {
        g = tc_gcd(g, d.term[i].coef);
        if (tc_magnitude(d.term[i].coef) > tc_magnitude(d.term[lead].coef))
            lead = i;
    }
    bool negative = d.term[lead].coef < 0;
    tc_affine sum = {0};
    if (!tc_affine_add(&sum, &d, negative ? -1 : 1))
        return NULL;
    int64_t k = negative ? d.c + 1 : -d.c; /* sum < -c; or, with sum = -d: -sum + c < 0 is sum >= c + 1 */
    sum.c = 0;
    for (int i = 0; i < sum.n; i++)
        sum.term[i].coef /= g;
    k = -tc_floor_div(-k, g); /* sum < k / g rounds up; so does sum >= k / g */
    /* g * b + small < k, small in [0, g): small does not matter if k is a multiple of g or small stays on one side of k % g. */
    int64_t f[TC_MAX_TERMS], most = 0;
    for (int i = 0; i < sum.n; i++)
        most = TC_MAX(most, tc_magnitude(sum.term[i].coef));
    int n = most > 1 && sum.n > 1 ? te_factors(&sum, most, f) : 0;
    for (int i = 0; i < n; i++) {
        tc_affine b, small;
        if (!te_split_small(s, &sum, f[i], &b, &small))
            continue;
        tc_ival v = te_range_affine(s->r, &small);
        int64_t q = tc_floor_div(k, f[i]), r = tc_floor_mod(k, f[i]);
        if (r > v.lo && r <= v.hi)
            continue;
        sum = b;
        k = (r > v.hi ? q + 1 : q) - b.c;
        sum.c = 0;
        break;
    }
    const tc_expr *atom = lone_atom(&sum);
    if (te_divides_by_const(atom, TC_OP_DIV, &c) && !__builtin_mul_overflow(k, c, &g) &&
        g != INT64_MIN) { /* x / c < k is x < k * c */
        tc_affine x = {0};
        if (tc_affine_linear(&x, atom->args[0], 1) && te_exact(s->r, &x) && tc_magnitude(g) <= TE_EXACT_MOST) {
            k = g - x.c;
            x.c = 0;
            sum = x;
        }
    }
    return tc_bin(s->c, negative ? TC_OP_GE : TC_OP_LT, tc_te_from_affine(s->c, &sum), tc_i64(s->c, k));
}

static const tc_expr *equals_zero(simplifier *s, tc_affine d, tc_op op) {
    int64_t g = 0;
    for (int i = 0; i < d.n; i++)
        g = tc_gcd(g, d.term[i].coef);
    if (d.c % g)
        return tc_bool(s->c, op == TC_OP_NE);
    int64_t sign = d.term[0].coef < 0 ? -g : g;
    for (int i = 0; i < d.n; i++)
        d.term[i].coef /= sign;
    int64_t k = -(d.c / sign);
    d.c = 0;
    return tc_bin(s->c, op, tc_te_from_affine(s->c, &d), tc_i64(s->c, k));
}

static const tc_expr *simp_index_comparison(simplifier *s, const tc_expr *e) {
    tc_affine a, b, d = {0};
    bool swap = e->op == TC_OP_GT || e->op == TC_OP_GE; /* a > b is b < a, and a >= b is !(a < b) */
    const tc_expr *x = e->args[0], *y = e->args[1];
    bool ok = te_form(s, x, &a) && te_form(s, y, &b) && te_exact(s->r, &a) && te_exact(s->r, &b) &&
              tc_affine_add(&d, swap ? &b : &a, 1) && tc_affine_add(&d, swap ? &a : &b, -1);
    if (!ok)
        return tc_bin(s->c, e->op, te_simp(s, x), te_simp(s, y));
    if (e->op == TC_OP_LE || e->op == TC_OP_GE)
        d.c -= 1; /* d <= 0 is d - 1 < 0 */
    te_recombine(s, &d);
    tc_ival v = te_range_affine(s->r, &d);
    if (e->op == TC_OP_EQ || e->op == TC_OP_NE) {
        if (v.lo > 0 || v.hi < 0 || (v.lo == 0 && v.hi == 0))
            return tc_bool(s->c, (v.lo == 0 && v.hi == 0) == (e->op == TC_OP_EQ));
        return d.n ? equals_zero(s, d, e->op) : tc_bool(s->c, (d.c == 0) == (e->op == TC_OP_EQ));
    }
    if (v.hi < 0 || v.lo >= 0)
        return tc_bool(s->c, v.hi < 0);
    return is_const_form(&d) ? tc_bool(s->c, d.c < 0) : less_than_zero(s, d);
}

static const tc_expr *simp_not(simplifier *s, const tc_expr *e) {
    const tc_expr *a = te_simp(s, e->args[0]);
    bool compares = (tc_op_traits(a->op) & TC_COMPARE) && a->nargs == 2;
    bool total = compares && (!tc_dtype_is_float(a->args[0]->dtype) || a->op == TC_OP_EQ || a->op == TC_OP_NE); /* NaN */
    return total ? te_simp(s, tc_bin(s->c, te_negated(a->op), a->args[0], a->args[1])) : tc_un(s->c, TC_OP_NOT, a);
}

/* ---- all nodes ---- */

static const tc_expr *simple_arg(tc_ctx *c, const tc_expr *e, void *user) {
    (void)c;
    return te_simp(user, e);
}

/* i64(i32(x)) is x if x fits. */
static const tc_expr *simp_cast(simplifier *s, const tc_expr *e) {
    const tc_expr *x = e->args[0]->op == TC_OP_CAST ? e->args[0]->args[0] : NULL;
    tc_dtype middle = e->args[0]->dtype;
    if (!x || x->dtype != e->dtype || tc_dtype_is_float(e->dtype) || !tc_dtype_is_int(middle))
        return e;
    tc_ival v = te_range(s->r, x);
    return v.lo >= tc_int_min(middle) && v.hi <= tc_int_max(middle) ? x : e;
}

static const tc_expr *simp_other(simplifier *s, const tc_expr *e) {
    e = tc_expr_map_args(s->c, e, simple_arg, s);
    const tc_expr *r = e->lanes > 1 ? te_simp_vector(s, e) : NULL;
    if (r)
        return r;
    if (e->op == TC_OP_CAST)
        return simp_cast(s, e);
    return e->op == TC_OP_RAMP && tc_is_int(e->args[1], 0) ? tc_bcast(s->c, e->args[0], e->lanes) : e;
}

/* Rules by kind, and whether they are for i64 scalars alone: of the node, or of what a comparison compares. Kinds without a rule
 * get simple operands. */
typedef struct rule {
    const tc_expr *(*apply)(simplifier *s, const tc_expr *e);
    bool index_only;
} rule;

static const rule RULES[TC_NOPS] = {
    [TC_OP_ADD] = {simp_linear, true},
    [TC_OP_SUB] = {simp_linear, true},
    [TC_OP_MUL] = {simp_mul, true},
    [TC_OP_DIV] = {te_simp_divmod, true},
    [TC_OP_MOD] = {te_simp_divmod, true},
    [TC_OP_MIN] = {simp_minmax, true},
    [TC_OP_MAX] = {simp_minmax, true},
    [TC_OP_EQ] = {simp_index_comparison, true},
    [TC_OP_NE] = {simp_index_comparison, true},
    [TC_OP_LT] = {simp_index_comparison, true},
    [TC_OP_LE] = {simp_index_comparison, true},
    [TC_OP_GT] = {simp_index_comparison, true},
    [TC_OP_GE] = {simp_index_comparison, true},
    [TC_OP_AND] = {te_simp_logic, false},
    [TC_OP_OR] = {te_simp_logic, false},
    [TC_OP_NOT] = {simp_not, false},
    [TC_OP_SELECT] = {te_simp_select, false},
};

static const tc_expr *simp_node(simplifier *s, const tc_expr *e) {
    const rule *r = &RULES[e->op];
    return r->apply && (!r->index_only || scalar_index(e->args[0])) ? r->apply(s, e) : simp_other(s, e);
}

/* Integers and bools of which only one value is possible. */
static const tc_expr *settle(simplifier *s, const tc_expr *e) {
    if (tc_dtype_is_float(e->dtype) || e->op == TC_OP_INT || e->op == TC_OP_BCAST)
        return e;
    tc_ival v = te_range(s->r, e);
    return tc_ival_point(v) ? tc_bcast(s->c, tc_int(s->c, e->dtype, v.lo), e->lanes) : e;
}

const tc_expr *te_simp(simplifier *s, const tc_expr *e) {
    if (e->nargs == 0)
        return e->op == TC_OP_VAR ? settle(s, e) : e;
    const tc_expr *known = te_memo_get(&s->memo, e->id);
    if (known)
        return known;
    const tc_expr *r = settle(s, simp_node(s, e));
    te_memo_put(&s->memo, e->id, r);
    if (r != e)
        te_memo_put(&s->memo, r->id, r);
    return r;
}

/* As te_simp would: a variable of one value is that value. */
static const tc_expr *simplify_leaf(tc_ctx *c, const tc_expr *e, const tc_env *env) {
    if (e->op != TC_OP_VAR)
        return e;
    tc_ival v = tc_env_get(env, e->u.var);
    return tc_ival_point(v) ? tc_int(c, e->dtype, v.lo) : e;
}

const tc_expr *tc_te_simplify(tc_ctx *c, const tc_expr *e, const tc_env *env) {
    if (tc_op_traits(e->op) & TC_LEAF)
        return simplify_leaf(c, e, env);
    const tc_expr *known = te_env_simple(env, e);
    if (known)
        return known;
    te_ranges r;
    te_ranges_init(&r, env);
    simplifier s = {.c = c, .r = &r};
    te_memo_init(&s.memo);
    const tc_expr *out = te_simp(&s, e);
    te_memo_free(&s.memo);
    te_env_note_simple(env, e, out);
    return out;
}

bool tc_te_affine(tc_ctx *c, const tc_expr *e, const tc_env *env, tc_affine *out) {
    assert(scalar_index(e));
    te_ranges r;
    te_ranges_init(&r, env);
    simplifier s = {.c = c, .r = &r};
    te_memo_init(&s.memo);
    bool ok = te_form(&s, e, out);
    te_memo_free(&s.memo);
    return ok;
}
