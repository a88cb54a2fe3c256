/* Quotients, remainders and order of expressions with products of sizes. A number is a factor too, but a division by a number
 * alone has its own rules (simplify_divmod.c). All rules here need a varying divisor or factor.
 *
 *     (a * n) / a               ->  n                        for a above 0
 *     (a * i + r) / a           ->  i,  and  % a  ->  r      for r in [0, a)
 *     (a * b * i + r) % (a * b) ->  r % (a * b)
 *     (a * i + r) / (a * 6)     ->  i / 6,  and  % (a * 6)  ->  i % 6 * a + r    for r in [0, a)
 *     x % a / a                 ->  0,  and  % a  ->  x % a
 *     n / a * a                 ->  n                        where n % a is known to be 0
 *     min(n, n * a)             ->  n                        for n not below 0, a above 0
 *     max(n, n / a)             ->  n                        the same, and of n % a
 *
 * As everywhere, rules for whole numbers apply only where no sum wraps (te_exact). */
#include "te/index/simplify_int.h"

enum { MAX_FACTORS = 8 };

/* number * of[0] * of[1] .. */
typedef struct factors {
    int n;
    int64_t number;
    const tc_expr *of[MAX_FACTORS];
} factors;

/* False: there are too many. */
static bool add_factors(factors *f, const tc_expr *e) {
    if (e->op == TC_OP_MUL)
        return add_factors(f, e->args[0]) && add_factors(f, e->args[1]);
    if (e->op == TC_OP_INT)
        return !__builtin_mul_overflow(f->number, e->u.i, &f->number);
    if (f->n == MAX_FACTORS)
        return false;
    f->of[f->n++] = e;
    return true;
}

static bool factors_of(factors *f, const tc_expr *e, int64_t times) {
    *f = (factors){.number = times};
    return add_factors(f, e);
}

static bool take_factor(factors *f, const tc_expr *e) {
    for (int i = 0; i < f->n; i++)
        if (f->of[i] == e) {
            f->of[i] = f->of[--f->n];
            return true;
        }
    return false;
}

/* f without the factors of d but its number; false: it lacks one of them. */
static bool take_factors(factors *f, const factors *d) {
    for (int i = 0; i < d->n; i++)
        if (!take_factor(f, d->of[i]))
            return false;
    return true;
}

/* Of all factors but the number; NULL: there are none. */
static const tc_expr *product_of(simplifier *s, const factors *f) {
    const tc_expr *p = NULL;
    for (int i = 0; i < f->n; i++)
        p = p ? tc_mul(s->c, p, f->of[i]) : f->of[i];
    return p ? te_simp(s, p) : NULL;
}

/* ---- quotients ---- */

/* a = d * q + r, where r has what d does not divide for certain. False: there is no q, or no room. */
static bool split_by_product(simplifier *s, const tc_affine *a, const factors *d, tc_affine *q, tc_affine *r) {
    bool any = false;
    *q = (tc_affine){0};
    *r = (tc_affine){.c = a->c};
    for (int i = 0; i < a->n; i++) {
        factors f;
        bool divides = factors_of(&f, a->term[i].atom, a->term[i].coef) && take_factors(&f, d) && f.number % d->number == 0;
        const tc_expr *rest = divides ? product_of(s, &f) : NULL;
        if (!divides ? !tc_affine_term(r, a->term[i].atom, a->term[i].coef)
            : rest   ? !tc_affine_linear(q, rest, f.number / d->number)
                     : __builtin_add_overflow(q->c, f.number / d->number, &q->c))
            return false;
        any |= divides;
    }
    return any;
}

/* r is in [0, d): 1; it is not, as far as is known: 0. */
static bool is_remainder(simplifier *s, const tc_affine *r, const tc_expr *d) {
    tc_affine less = *r;
    const tc_expr *atom = r->n == 1 && r->c == 0 && r->term[0].coef == 1 ? r->term[0].atom : NULL;
    if (atom && atom->op == TC_OP_MOD && atom->args[1] == d)
        return true;
    return te_range_affine(s->r, r).lo >= 0 && tc_affine_linear(&less, d, -1) && te_range_affine(s->r, &less).hi < 0;
}

/* a / d or a % d of d, which is a number times sizes: a is split by the sizes alone. NULL: what is left is not below them. */
static const tc_expr *divided_by_number(simplifier *s, const tc_affine *a, const factors *d, bool quotient) {
    factors sizes = *d;
    tc_affine q, r;
    sizes.number = 1;
    const tc_expr *size = product_of(s, &sizes);
    if (d->number == 1 || !split_by_product(s, a, &sizes, &q, &r) || !is_remainder(s, &r, size))
        return NULL;
    const tc_expr *whole = tc_bin(s->c, quotient ? TC_OP_DIV : TC_OP_MOD, tc_te_from_affine(s->c, &q), tc_i64(s->c, d->number));
    if (!quotient)
        whole = tc_add(s->c, tc_mul(s->c, whole, size), tc_te_from_affine(s->c, &r));
    return te_simp(s, whole);
}

/* n / d or n % d of d, which varies and is above 0; NULL: as it is. */
static const tc_expr *divided(simplifier *s, const tc_expr *n, const tc_expr *d, bool quotient) {
    factors f;
    tc_affine a, size, q, r;
    if (n == d)
        return tc_i64(s->c, quotient);
    if (!te_form(s, n, &a) || !te_form(s, d, &size) || !te_exact(s->r, &a) || !te_exact(s->r, &size) || !factors_of(&f, d, 1) ||
        f.number < 1)
        return NULL;
    if (is_remainder(s, &a, d))
        return quotient ? tc_i64(s->c, 0) : n;
    if (!split_by_product(s, &a, &f, &q, &r))
        return divided_by_number(s, &a, &f, quotient);
    bool small = (r.n == 0 && r.c == 0) || is_remainder(s, &r, d);
    const tc_expr *rest = tc_te_from_affine(s->c, &r);
    if (!quotient)
        return small ? rest : te_simp(s, tc_bin(s->c, TC_OP_MOD, rest, d));
    if (!small && !tc_affine_linear(&q, te_simp(s, tc_bin(s->c, TC_OP_DIV, rest, d)), 1))
        return NULL;
    return tc_te_from_affine(s->c, &q);
}

const tc_expr *te_simp_divmod_size(simplifier *s, const tc_expr *e, const tc_expr *n, const tc_expr *d) {
    if (d->op == TC_OP_INT || te_range(s->r, d).lo < 1)
        return NULL;
    return divided(s, n, d, e->op == TC_OP_DIV);
}

/* ---- products ---- */

/* n / d is whole. */
static bool is_whole(simplifier *s, const tc_expr *quotient) {
    const tc_expr *n = quotient->args[0], *d = quotient->args[1];
    if (quotient->op != TC_OP_DIV || d->op == TC_OP_INT || te_range(s->r, d).lo < 1)
        return false;
    tc_ival rest = te_range(s->r, tc_bin(s->c, TC_OP_MOD, n, d));
    return rest.lo == 0 && rest.hi == 0;
}

const tc_expr *te_simp_whole_product(simplifier *s, const tc_expr *e) {
    factors f, d;
    if (e->op != TC_OP_MUL || e->args[1]->op == TC_OP_INT || !factors_of(&f, e, 1))
        return e;
    for (int i = 0; i < f.n; i++) {
        factors left = f;
        const tc_expr *q = f.of[i];
        if (q->op != TC_OP_DIV || !factors_of(&d, q->args[1], 1) || !take_factor(&left, q) || !take_factors(&left, &d) ||
            d.number == 0 || left.number % d.number != 0 || left.n == MAX_FACTORS || !is_whole(s, q))
            continue;
        left.of[left.n++] = q->args[0];
        return te_simp(s, tc_mul(s->c, product_of(s, &left), tc_i64(s->c, left.number / d.number)));
    }
    return e;
}

/* ---- order ---- */

/* x is at most y, both products of numbers not below 0, one of which has all factors of the other. */
static bool is_less_product(simplifier *s, const tc_expr *x, const tc_expr *y) {
    factors a, b;
    if ((x->op != TC_OP_MUL && y->op != TC_OP_MUL) || !factors_of(&a, x, 1) || !factors_of(&b, y, 1) || a.number < 0 ||
        b.number < 0 || te_range(s->r, x).lo < 0 || te_range(s->r, y).lo < 0)
        return false;
    factors more = b;
    for (int i = 0; i < a.n; i++)
        if (te_range(s->r, a.of[i]).lo < 0 || !take_factor(&more, a.of[i]))
            return false;
    if (more.n == 0)
        return a.number <= b.number;
    for (int i = 0; i < more.n; i++)
        if (te_range(s->r, more.of[i]).lo < 1)
            return false;
    return a.number <= b.number;
}

/* x is y / d or y % d of what varies. */
static bool is_part(simplifier *s, const tc_expr *x, const tc_expr *y) {
    return (x->op == TC_OP_DIV || x->op == TC_OP_MOD) && x->args[0] == y && x->args[1]->op != TC_OP_INT &&
           te_range(s->r, x->args[1]).lo >= 1 && te_range(s->r, y).lo >= 0;
}

bool te_is_at_most(simplifier *s, const tc_expr *x, const tc_expr *y) {
    tc_affine a = {0}, b = {0};
    bool exact = tc_affine_linear(&a, x, 1) && tc_affine_linear(&b, y, 1) && te_exact(s->r, &a) && te_exact(s->r, &b);
    return exact && (is_part(s, x, y) || is_less_product(s, x, y));
}
