/* What conditions say: sums x with x <= 0, and what follows about the remainders and quotients inside them. */
#include <stdlib.h>

#include "te/index/prove_int.h"
#include "te/te_int.h"

/* x <= 0 from a comparison that holds, or does not; false: it says no such thing. */
bool te_at_most_zero(const tc_premises *v, const tc_known_cond *k, tc_affine *x) {
    tc_op op = k->cond->op;
    bool less = op == TC_OP_LT || op == TC_OP_LE, greater = op == TC_OP_GT || op == TC_OP_GE;
    *x = (tc_affine){0};
    if ((!less && !greater) || k->cond->args[0]->dtype != TC_I64)
        return false;
    bool second = less != k->holds; /* it is the second operand that is no larger */
    bool strict = (op == TC_OP_LT || op == TC_OP_GT) == k->holds;
    return te_expand(v, k->cond->args[second], 1, x) && te_expand(v, k->cond->args[!second], -1, x) &&
           !__builtin_add_overflow(x->c, strict, &x->c);
}

/* e without one of its factors s; NULL if it has none. */
static const tc_expr *without_factor(tc_ctx *c, const tc_expr *e, const tc_expr *s) {
    const tc_expr *f[MAX_FACTORS], *rest = NULL;
    int n = te_factors_of(e, f, 0), at = -1;
    for (int i = 0; i < n && n <= MAX_FACTORS; i++)
        at = f[i] == s ? i : at;
    if (at < 0)
        return NULL;
    for (int i = 0; i < n; i++)
        if (i != at)
            rest = rest ? tc_mul(c, rest, f[i]) : f[i];
    return rest ? rest : tc_i64(c, 1);
}

/* With s at 0, x would be more than 0. */
static bool wants(const tc_premises *v, const tc_affine *x, const tc_expr *s) {
    int64_t least = x->c, each;
    for (int i = 0; i < x->n; i++) {
        const tc_term *t = &x->term[i];
        tc_ival r = tc_te_bounds(t->atom, v->env);
        if (without_factor(v->c, t->atom, s))
            continue;
        if (!tc_ival_bounded(r) || __builtin_mul_overflow(t->coef, t->coef > 0 ? r.lo : r.hi, &each) ||
            __builtin_add_overflow(least, each, &least))
            return false;
    }
    return least > 0;
}

static bool cond_wants(const tc_premises *v, tc_known_cond k, const tc_expr *s) {
    tc_affine x;
    if (k.cond->op == TC_OP_NOT)
        return cond_wants(v, (tc_known_cond){k.cond->args[0], !k.holds}, s);
    if ((k.cond->op == TC_OP_AND && k.holds) || (k.cond->op == TC_OP_OR && !k.holds))
        return cond_wants(v, (tc_known_cond){k.cond->args[0], k.holds}, s) ||
               cond_wants(v, (tc_known_cond){k.cond->args[1], k.holds}, s);
    return te_at_most_zero(v, &k, &x) && wants(v, &x, s);
}

bool te_is_positive(const tc_premises *v, const tc_expr *s) {
    int64_t least = tc_te_bounds(s, v->env).lo;
    if (least == 0 && s->op == TC_OP_MUL)
        return te_is_positive(v, s->args[0]) && te_is_positive(v, s->args[1]);
    bool is = least >= 1;
    for (size_t i = v->nknown; least == 0 && i-- > 0 && !is;)
        is = cond_wants(v, v->known[i], s);
    return is;
}

/* How often x has a variable of y, the first that it has; 0: none. */
static int64_t times_in(const tc_affine *x, const tc_affine *y) {
    for (int i = 0; i < x->n; i++) {
        int64_t coef = tc_affine_coef(y, x->term[i].atom);
        if (!tc_expr_is_symbol(x->term[i].atom) && coef && coef % x->term[i].coef == 0 && coef / x->term[i].coef > 0)
            return coef / x->term[i].coef;
    }
    return 0;
}

/* y <= r * s - k where y / s is in the form, of a size s that is not 0, says y / s <= r - 1 for k > 0, and <= r for k = 0. What
 * bounds a part of y does, too: the ranges of the rest add to it. s may be a product of sizes and a number. */
static bool quotient_by_size(const tc_premises *v, const tc_expr *e, const tc_affine *x, tc_affine *out) {
    tc_affine y = {0}, rest = {0}, s = {0};
    const tc_affine one = {.c = 1};
    if (!te_is_positive(v, e->args[1]) || !te_expand(v, e->args[0], 1, &y) || !te_expand(v, e->args[1], 1, &s) || s.n != 1 ||
        s.c != 0)
        return false;
    int64_t k = times_in(x, &y), room;
    if (k == 0 || !te_add_product(v->c, &rest, x, &one, k) || !te_add_product(v->c, &rest, &y, &one, -1))
        return false;
    room = rest.c;
    *out = (tc_affine){0};
    for (int i = 0; i < rest.n; i++) {
        const tc_term *t = &rest.term[i];
        tc_term less;
        tc_ival r = tc_te_bounds(t->atom, v->env);
        int64_t least;
        if (te_divide_term(v->c, t, &s, &less)
                ? (less.atom ? !te_expand(v, less.atom, less.coef, out) : __builtin_add_overflow(out->c, less.coef, &out->c))
                : !tc_ival_bounded(r) || __builtin_mul_overflow(t->coef, t->coef > 0 ? r.lo : r.hi, &least) ||
                      __builtin_add_overflow(room, least, &room))
            return false;
    }
    return room >= 0 && !__builtin_add_overflow(out->c, room > 0, &out->c) && tc_affine_term(out, e, 1);
}

static bool known_divisor(const tc_premises *v, const tc_expr *e, int64_t *c) {
    *c = e->op == TC_OP_INT ? e->u.i : 0;
    return e->op == TC_OP_INT || te_only_value(v, e, c);
}

/* x has a term of y with the same sign, or with the other where `sign` is -1. */
static bool has_terms(const tc_affine *x, const tc_affine *y, int sign) {
    for (int i = 0; i < y->n; i++) {
        int64_t coef = tc_affine_coef(x, y->term[i].atom);
        if (coef != 0 && ((coef > 0) == (y->term[i].coef > 0)) == (sign > 0))
            return true;
    }
    return false;
}

/* Leaves in x the terms that c divides, and sizes. Each other term becomes the most that it can be, or the least. */
static bool bound_rest(const tc_premises *v, tc_affine *x, int64_t c, bool most) {
    for (int i = x->n; i-- > 0;) {
        const tc_term t = x->term[i];
        int64_t end;
        if (t.coef % c == 0 || tc_expr_is_of_symbols(t.atom))
            continue;
        tc_ival r = tc_te_bounds(t.atom, v->env);
        if (!tc_ival_bounded(r) || __builtin_mul_overflow(t.coef, (t.coef > 0) == most ? r.hi : r.lo, &end) ||
            __builtin_add_overflow(x->c, end, &x->c))
            return false;
        tc_affine_drop(x, i);
    }
    return true;
}

/* y <= r where y / c is in the form says y / c <= floor(r / c), and r <= y says floor(r / c) <= y / c. */
static bool quotient(const tc_premises *v, const tc_expr *e, const tc_affine *x, tc_affine *out) {
    int64_t c;
    tc_affine y = {0};
    if (!known_divisor(v, e->args[1], &c))
        return quotient_by_size(v, e, x, out);
    if (c <= 0 || !te_expand(v, e->args[0], 1, &y))
        return false;
    for (int sign = 1; sign >= -1; sign -= 2) { /* x is y - r, or r - y */
        tc_affine r = {0};
        *out = (tc_affine){0};
        if (has_terms(x, &y, sign) && tc_affine_add(&r, &y, 1) && tc_affine_add(&r, x, -sign) && bound_rest(v, &r, c, sign > 0) &&
            te_add_quotient(v->c, &r, c, -sign, out))
            return tc_affine_term(out, e, sign);
    }
    return false;
}

/* What x says of the quotient e / n says something of e / n / m. */
bool te_quotient(const tc_premises *v, const tc_expr *e, const tc_affine *x, tc_affine *out) {
    tc_affine inner;
    if (e->op != TC_OP_DIV)
        return false;
    if (e->args[0]->op == TC_OP_DIV && te_quotient(v, e->args[0], x, &inner))
        return quotient(v, e, &inner, out);
    return quotient(v, e, x, out);
}

/* floor(e / n), of one division. */
static const tc_expr *divided(tc_ctx *c, const tc_expr *e, int64_t n) {
    int64_t both;
    if (e->op == TC_OP_DIV && e->args[1]->op == TC_OP_INT && e->args[1]->u.i > 0 &&
        !__builtin_mul_overflow(e->args[1]->u.i, n, &both))
        return tc_div(c, e->args[0], tc_i64(c, both));
    return tc_div(c, e, tc_i64(c, n));
}

/* a += k * x, but for term `but`. */
static bool times_all_but(const tc_affine *x, int but, int64_t k, tc_affine *a) {
    bool fits = true;
    for (int i = 0; i < x->n && fits; i++) {
        int64_t coef;
        fits = i == but || (!__builtin_mul_overflow(x->term[i].coef, k, &coef) && tc_affine_term(a, x->term[i].atom, coef));
    }
    return fits;
}

/* r <= e / n of sizes is r * n <= e, and e / n <= r is e <= r * n + n - 1. */
bool te_without_quotient(const tc_premises *v, const tc_affine *x, tc_affine *out) {
    int at = -1;
    for (int i = 0; i < x->n; i++) {
        bool is = te_is_quotient_of_sizes(x->term[i].atom) && tc_magnitude(x->term[i].coef) == 1;
        if (is && at >= 0)
            return false;
        at = is ? i : at;
    }
    if (at < 0)
        return false;
    const tc_expr *q = x->term[at].atom;
    int64_t n = q->args[1]->u.i, coef = x->term[at].coef;
    *out = (tc_affine){0};
    return !__builtin_mul_overflow(x->c, n, &out->c) && (coef < 0 || !__builtin_sub_overflow(out->c, n - 1, &out->c)) &&
           times_all_but(x, at, n, out) && te_expand(v, q->args[0], coef, out);
}

/* What is said of a remainder e % n is said of e - e / n * n: where indices have e itself, that is what bounds it. */
bool te_without_remainders(const tc_premises *v, const tc_affine *x, tc_affine *out) {
    bool any = false, fits = true;
    *out = (tc_affine){.c = x->c};
    for (int i = 0; i < x->n && fits; i++) {
        const tc_expr *e = x->term[i].atom;
        int64_t coef = x->term[i].coef, n = e->op == TC_OP_MOD && e->args[1]->op == TC_OP_INT ? e->args[1]->u.i : 0, back;
        if (n <= 0) {
            fits = tc_affine_term(out, e, coef);
            continue;
        }
        any = true;
        fits = !__builtin_mul_overflow(-coef, n, &back) && te_expand(v, e->args[0], coef, out) &&
               tc_affine_linear(out, divided(v->c, e->args[0], n), back);
    }
    return any && fits;
}

/* e / m % n is e % (m * n) / m, so what is said of that is said of e % (m * n), in steps of m. */
bool te_of_longer_remainders(tc_ctx *c, const tc_affine *x, tc_affine *out) {
    for (int i = 0; i < x->n; i++) {
        const tc_expr *e = x->term[i].atom, *q = e->op == TC_OP_MOD ? e->args[0] : e;
        int64_t coef = x->term[i].coef, m, both, lost;
        if (q == e || q->op != TC_OP_DIV || q->args[1]->op != TC_OP_INT || e->args[1]->op != TC_OP_INT)
            continue;
        m = q->args[1]->u.i;
        if (m <= 0 || e->args[1]->u.i <= 0 || __builtin_mul_overflow(m, e->args[1]->u.i, &both))
            continue;
        *out = (tc_affine){0};
        return !__builtin_mul_overflow(x->c, m, &out->c) &&
               (coef < 0 || (!__builtin_mul_overflow(coef, m - 1, &lost) && !__builtin_sub_overflow(out->c, lost, &out->c))) &&
               times_all_but(x, i, m, out) && tc_affine_linear(out, tc_mod(c, q->args[0], tc_i64(c, both)), coef);
    }
    return false;
}

/* 48 * q + 16 * i + lane <= N - 1 says 3 * q + i <= 31 where N is at most 512: of whole numbers, what the rest leaves is rounded
 * down. */
bool te_whole(const tc_premises *v, const tc_affine *x, tc_affine *out) {
    tc_affine rest = {.c = x->c};
    int64_t g = 0;
    *out = (tc_affine){0};
    bool fits = true;
    for (int i = 0; i < x->n; i++)
        g = tc_magnitude(x->term[i].coef) > 1 ? tc_gcd(g, x->term[i].coef) : g;
    if (g <= 1)
        return false;
    for (int i = 0; i < x->n; i++) {
        tc_term t = x->term[i];
        fits = fits && (t.coef % g ? tc_affine_term(&rest, t.atom, t.coef) : tc_affine_term(out, t.atom, t.coef / g));
    }
    tc_ival r = tc_te_bounds(tc_te_from_affine(v->c, &rest), v->env);
    if (!fits || !tc_ival_bounded(r) || (rest.n == 0 && rest.c % g == 0))
        return false;
    out->c = -tc_floor_div(-r.lo, g);
    return true;
}
