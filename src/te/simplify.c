/* Simplification of integer and boolean expressions. Every i64 scalar becomes a linear form over atoms; quotients and remainders are
 * split into what divides and what is small; comparisons take the form `sum < constant` or `sum >= constant`.
 *
 *     (64*x + r) / 64              ->  x                    for r in [0, 64)
 *     (64*x + r) % 64              ->  r
 *     (x / 4) / 8                  ->  x / 32
 *     (x % 32) / 4                 ->  (x / 4) % 8
 *     x % 6 + 6 * (x / 6)          ->  x,    and  x - 6 * (x / 6)  ->  x % 6
 *     min(6*i + 6, 128) - 6*i      ->  min(6, 128 - 6*i)
 *     6*i + r < 126                ->  i < 21               for r in [0, 6)
 *     select(i < 5, f(i), y)       ->  f simplified knowing i < 5
 *
 * i64 arithmetic is taken not to overflow: it is index arithmetic. Where an atom is data of unknown size (te_exact) the rules that rely
 * on that are not used. Quotient and remainder of one value get the same numerator, which is what lets them recombine. */
#include "te/te_int.h"

#include <stdlib.h>

typedef struct simplifier {
    tc_ctx *c;
    te_ranges *r;
    te_memo memo;
} simplifier;

static const tc_expr *simp(simplifier *s, const tc_expr *e);
static void recombine(simplifier *s, tc_affine *a);

static bool scalar_index(const tc_expr *e) {
    return e->dtype == TC_I64 && e->lanes == 1;
}

/* ---- forms ---- */

/* a += scale * e with atoms simplified and variables of one value replaced by it. */
static bool lin(simplifier *s, tc_affine *a, const tc_expr *e, int64_t scale) {
    int64_t k;
    switch ((int)e->op) {
    case TC_OP_ADD:
    case TC_OP_SUB:
        if (e->op == TC_OP_SUB && scale == INT64_MIN)
            break;
        return lin(s, a, e->args[0], scale) && lin(s, a, e->args[1], e->op == TC_OP_SUB ? -scale : scale);
    case TC_OP_MUL:
        if (e->args[1]->op != TC_OP_INT || __builtin_mul_overflow(scale, e->args[1]->u.i, &k))
            break;
        return lin(s, a, e->args[0], k);
    default:
        break;
    }
    return te_linear(a, simp(s, e), scale);
}

/* The form of e, recombined; false if it has too many terms. */
static bool form(simplifier *s, const tc_expr *e, tc_affine *a) {
    *a = (tc_affine){0};
    if (!lin(s, a, e, 1))
        return false;
    recombine(s, a);
    return true;
}

static bool is_const_form(const tc_affine *a) {
    return a->n == 0;
}

/* The single atom that a is, without coefficient and constant; NULL if it is more. */
static const tc_expr *lone_atom(const tc_affine *a) {
    return a->n == 1 && a->c == 0 && a->term[0].coef == 1 ? a->term[0].atom : NULL;
}

static bool divides_by_const(const tc_expr *e, tc_op op, int64_t *c) {
    if (!e || e->op != op || e->lanes != 1 || e->args[1]->op != TC_OP_INT || e->args[1]->u.i <= 0)
        return false;
    *c = e->args[1]->u.i;
    return true;
}

/* ---- quotients and remainders ---- */

static void divmod(simplifier *s, const tc_affine *a, int64_t c, bool quotient, tc_affine *out);

/* a = c * q + r: whole multiples of c go to q. Coefficients are cut towards zero, the constant of r is in [0, c). */
static void split_by(const tc_affine *a, int64_t c, tc_affine *q, tc_affine *r) {
    *q = *r = (tc_affine){0};
    q->c = te_floordiv(a->c, c);
    r->c = te_floormod(a->c, c);
    for (int i = 0; i < a->n; i++) {
        int64_t whole = a->term[i].coef / c;
        te_affine_term(q, a->term[i].atom, whole);
        te_affine_term(r, a->term[i].atom, a->term[i].coef - whole * c);
    }
}

/* a = g * b + rest with rest known to be in [0, g). */
static bool split_small(simplifier *s, const tc_affine *a, int64_t g, tc_affine *b, tc_affine *rest) {
    *b = *rest = (tc_affine){0};
    rest->c = te_floormod(a->c, g);
    b->c = te_floordiv(a->c, g);
    for (int i = 0; i < a->n; i++) {
        int64_t k = a->term[i].coef;
        te_affine_term(k % g ? rest : b, a->term[i].atom, k % g ? k : k / g);
    }
    tc_ival v = te_range_affine(s->r, rest);
    if (!te_bounded(v) || te_floordiv(v.lo, g) != te_floordiv(v.hi, g))
        return false;
    int64_t shift = te_floordiv(v.lo, g);
    b->c += shift;
    rest->c -= shift * g;
    return true;
}

/* Common factors of the divisor c and the terms of a, largest first: candidates for split_small. */
static int factors(const tc_affine *a, int64_t c, int64_t *out) {
    int n = 0;
    for (int i = 0; i < a->n; i++) {
        int64_t g = te_gcd(a->term[i].coef, c);
        int k = 0;
        while (k < n && out[k] > g)
            k++;
        if (g == 1 || (k < n && out[k] == g))
            continue;
        memmove(&out[k + 1], &out[k], (size_t)(n++ - k) * sizeof *out);
        out[k] = g;
    }
    return n;
}

/* The quotient or remainder of one atom that is itself one. */
static bool divmod_of_atom(simplifier *s, const tc_affine *r, int64_t c, bool quotient, tc_affine *out) {
    int64_t c1, product;
    const tc_expr *atom = r->n == 1 && r->term[0].coef == 1 ? r->term[0].atom : NULL;
    tc_affine x = {0};
    if (quotient && divides_by_const(atom, TC_OP_DIV, &c1) && !__builtin_mul_overflow(c, c1, &product)) {
        if (!te_linear(&x, atom->args[0], 1) || __builtin_mul_overflow(r->c, c1, &product) || __builtin_add_overflow(x.c, product, &x.c))
            return false;
        divmod(s, &x, c * c1, true, out);
        return true;
    }
    if (!divides_by_const(atom, TC_OP_MOD, &c1) || r->c != 0 || c1 % c || !te_linear(&x, atom->args[0], 1))
        return false;
    divmod(s, &x, c, quotient, out);
    if (quotient) {
        x = *out;
        divmod(s, &x, c1 / c, false, out);
    }
    return true;
}

static void atom_of(simplifier *s, tc_op op, const tc_affine *r, int64_t c, tc_affine *out) {
    *out = (tc_affine){0};
    te_affine_term(out, tc_bin(s->c, op, tc_te_from_affine(s->c, r), tc_i64(s->c, c)), 1);
}

/* r / c or r % c where r has no whole multiple of c left to take out. */
static void divmod_rest(simplifier *s, const tc_affine *r, int64_t c, bool quotient, tc_affine *out) {
    int64_t g[TC_MAX_TERMS];
    tc_affine b, small;
    if (divmod_of_atom(s, r, c, quotient, out))
        return;
    int n = factors(r, c, g);
    for (int i = 0; i < n; i++) {
        if (!split_small(s, r, g[i], &b, &small))
            continue;
        tc_affine inner;
        divmod(s, &b, c / g[i], quotient, &inner);
        *out = inner;
        if (quotient)
            return;
        *out = small;
        if (te_affine_add(out, &inner, g[i]))
            return;
    }
    atom_of(s, quotient ? TC_OP_DIV : TC_OP_MOD, r, c, out);
}

/* out = floor(a / c) or a mod c, for c > 0. */
static void divmod(simplifier *s, const tc_affine *a, int64_t c, bool quotient, tc_affine *out) {
    tc_affine q, r, rest;
    if (!te_exact(s->r, a)) {
        atom_of(s, quotient ? TC_OP_DIV : TC_OP_MOD, a, c, out);
        return;
    }
    split_by(a, c, &q, &r);
    tc_ival v = te_range_affine(s->r, &r);
    if (te_bounded(v) && te_floordiv(v.lo, c) == te_floordiv(v.hi, c)) {
        int64_t shift = te_floordiv(v.lo, c);
        *out = quotient ? q : r;
        out->c += quotient ? shift : -shift * c;
        return;
    }
    divmod_rest(s, &r, c, quotient, &rest);
    *out = rest;
    if (quotient && !te_affine_add(out, &q, 1)) {
        tc_affine whole = *a;
        atom_of(s, TC_OP_DIV, &whole, c, out);
    }
}

static const tc_expr *simp_divmod(simplifier *s, const tc_expr *e) {
    bool quotient = e->op == TC_OP_DIV;
    const tc_expr *d = simp(s, e->args[1]);
    tc_affine a, out;
    if (d->op == TC_OP_INT && d->u.i > 0 && form(s, e->args[0], &a)) {
        divmod(s, &a, d->u.i, quotient, &out);
        recombine(s, &out);
        return tc_te_from_affine(s->c, &out);
    }
    const tc_expr *n = simp(s, e->args[0]);
    tc_ival x = te_range(s->r, n), y = te_range(s->r, d);
    if (x.lo >= 0 && x.hi < y.lo)
        return quotient ? tc_i64(s->c, 0) : n;
    return tc_bin(s->c, e->op, n, d);
}

/* ---- recombination ---- */

/* a with the terms x (coefficient cx) and y (cy) taken out and scale * b put in; false, and a unchanged, if that has no room. */
static bool replace_two(tc_affine *a, tc_term x, tc_term y, const tc_affine *b, int64_t scale) {
    tc_affine t = *a;
    if (!te_affine_term(&t, x.atom, -x.coef) || !te_affine_term(&t, y.atom, -y.coef) || !te_affine_add(&t, b, scale))
        return false;
    *a = t;
    return true;
}

/* x % c * m with x / c * (m * c), or with the quotient of what x itself is a quotient of. */
static bool recombine_mod(simplifier *s, tc_affine *a, int i) {
    tc_term t = a->term[i];
    int64_t c, c1 = 0, d, whole;
    if (!divides_by_const(t.atom, TC_OP_MOD, &c) || __builtin_mul_overflow(t.coef, c, &whole))
        return false;
    const tc_expr *x = t.atom->args[0];
    bool nested = divides_by_const(x, TC_OP_DIV, &c1);
    for (int k = 0; k < a->n; k++) {
        tc_term u = a->term[k];
        tc_affine b = {0};
        if (divides_by_const(u.atom, TC_OP_DIV, &d) && u.coef == whole) {
            bool same = u.atom->args[0] == x && d == c;
            bool outer = nested && u.atom->args[0] == x->args[0] && d / c == c1 && d % c == 0;
            if ((same || outer) && te_linear(&b, x, 1) && replace_two(a, t, u, &b, t.coef))
                return true;
        }
        /* (y / c1) % c * (m * c1) + y % c1 * m is y % (c * c1) * m */
        if (nested && divides_by_const(u.atom, TC_OP_MOD, &d) && d == c1 && u.atom->args[0] == x->args[0] && t.coef % c1 == 0 &&
            u.coef == t.coef / c1 && !__builtin_mul_overflow(c, c1, &whole)) {
            tc_affine y = {0};
            if (!te_linear(&y, x->args[0], 1))
                return false;
            divmod(s, &y, whole, false, &b);
            return replace_two(a, t, u, &b, u.coef);
        }
    }
    return false;
}

/* All terms of x are in a, m times. */
static bool contains(const tc_affine *a, const tc_affine *x, int64_t m) {
    int64_t want;
    for (int i = 0; i < x->n; i++)
        if (__builtin_mul_overflow(m, x->term[i].coef, &want) || te_affine_coef(a, x->term[i].atom) != want)
            return false;
    return x->n > 0;
}

/* m * x - (m * c) * (x / c) is m * (x % c). */
static bool recombine_div(simplifier *s, tc_affine *a, int i) {
    tc_term t = a->term[i];
    int64_t c;
    if (!divides_by_const(t.atom, TC_OP_DIV, &c) || t.coef % c || t.coef == INT64_MIN)
        return false;
    int64_t m = -(t.coef / c);
    tc_affine x = {0}, b, rest = *a;
    if (!te_linear(&x, t.atom->args[0], 1) || !contains(a, &x, m) || !te_affine_term(&rest, t.atom, -t.coef) || !te_affine_add(&rest, &x, -m))
        return false;
    divmod(s, &x, c, false, &b);
    if (!te_affine_add(&rest, &b, m))
        return false;
    *a = rest;
    return true;
}

/* min(x, y) with the terms of x beside it, negated: they go inside and cancel there. */
static bool absorb(simplifier *s, tc_affine *a, int i) {
    tc_term t = a->term[i];
    if ((t.atom->op != TC_OP_MIN && t.atom->op != TC_OP_MAX) || t.coef == INT64_MIN)
        return false;
    for (int k = 0; k < 2; k++) {
        tc_affine arm = {0}, moved = {0}, rest = *a;
        if (!te_linear(&arm, t.atom->args[k], 1) || !contains(a, &arm, -t.coef))
            continue;
        arm.c = 0;
        if (!te_affine_add(&rest, &arm, t.coef) || !te_affine_term(&rest, t.atom, -t.coef) || !te_affine_add(&moved, &arm, -1))
            continue;
        const tc_expr *offset = tc_te_from_affine(s->c, &moved);
        const tc_expr *x = tc_add(s->c, t.atom->args[0], offset), *y = tc_add(s->c, t.atom->args[1], offset);
        if (!te_linear(&rest, simp(s, tc_bin(s->c, t.atom->op, x, y)), t.coef))
            continue;
        *a = rest;
        return true;
    }
    return false;
}

static void recombine(simplifier *s, tc_affine *a) {
    if (!te_exact(s->r, a))
        return;
    for (int round = 0; round < TC_MAX_TERMS; round++) {
        bool changed = false;
        for (int i = 0; i < a->n && !changed && a->n > 1; i++)
            changed = a->term[i].atom->nargs == 2 && (recombine_mod(s, a, i) || recombine_div(s, a, i) || absorb(s, a, i));
        if (!changed)
            return;
    }
}

static const tc_expr *simp_linear(simplifier *s, const tc_expr *e) {
    tc_affine a;
    if (form(s, e, &a))
        return tc_te_from_affine(s->c, &a);
    const tc_expr *args[] = {simp(s, e->args[0]), simp(s, e->args[1])};
    return tc_with_args(s->c, e, args);
}

static const tc_expr *simp_product(simplifier *s, const tc_expr *e) {
    const tc_expr *x = simp(s, e->args[0]), *y = simp(s, e->args[1]), *p = tc_mul(s->c, x, y);
    tc_affine a = {0};
    if (p->op == TC_OP_MUL && p->args[1]->op == TC_OP_INT && te_linear(&a, p, 1)) {
        recombine(s, &a);
        return tc_te_from_affine(s->c, &a);
    }
    return p;
}

/* ---- min and max ---- */

/* Takes the terms that both have out of a and b. */
static void common_terms(tc_affine *a, tc_affine *b, tc_affine *common) {
    *common = (tc_affine){0};
    for (int i = 0; i < a->n; i++)
        if (te_affine_coef(b, a->term[i].atom) == a->term[i].coef)
            te_affine_term(common, a->term[i].atom, a->term[i].coef);
    te_affine_add(a, common, -1);
    te_affine_add(b, common, -1);
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
    if (!form(s, e->args[0], &a) || !form(s, e->args[1], &b) || !te_affine_add(&d, &a, 1) || !te_affine_add(&d, &b, -1) ||
        !te_exact(s->r, &a) || !te_exact(s->r, &b)) {
        x = simp(s, e->args[0]), y = simp(s, e->args[1]);
        return tc_bin(s->c, e->op, x, y);
    }
    tc_ival v = te_range_affine(s->r, &d);
    if (v.hi <= 0 || v.lo >= 0)
        return tc_te_from_affine(s->c, (v.hi <= 0) == min ? &a : &b);
    common_terms(&a, &b, &common);
    const tc_expr *m = make_minmax(s, e->op, tc_te_from_affine(s->c, &a), tc_te_from_affine(s->c, &b));
    return te_linear(&common, m, 1) ? tc_te_from_affine(s->c, &common) : m;
}

/* ---- comparisons ---- */

/* `sum < k` with the sum's leading coefficient positive, or its negation; factors divided out. d < 0 is what is compared. */
static const tc_expr *less_than_zero(simplifier *s, tc_affine d) {
    int64_t g = 0, c;
    int lead = 0;
    for (int i = 0; i < d.n; i++) {
        g = te_gcd(g, d.term[i].coef);
        if (llabs(d.term[i].coef) > llabs(d.term[lead].coef))
            lead = i;
    }
    bool negative = d.term[lead].coef < 0;
    tc_affine sum = {0};
    if (!te_affine_add(&sum, &d, negative ? -1 : 1))
        return NULL;
    int64_t k = negative ? d.c + 1 : -d.c; /* sum < -c; or, with sum = -d: -sum + c < 0 is sum >= c + 1 */
    sum.c = 0;
    for (int i = 0; i < sum.n; i++)
        sum.term[i].coef /= g;
    k = -te_floordiv(-k, g); /* sum < k / g rounds up; so does sum >= k / g */
    /* g * b + small < k, small in [0, g): small does not matter if k is a multiple of g or small stays on one side of k % g. */
    int64_t f[TC_MAX_TERMS], most = 0;
    for (int i = 0; i < sum.n; i++)
        most = TC_MAX(most, llabs(sum.term[i].coef));
    int n = most > 1 && sum.n > 1 ? factors(&sum, most, f) : 0;
    for (int i = 0; i < n; i++) {
        tc_affine b, small;
        if (!split_small(s, &sum, f[i], &b, &small))
            continue;
        tc_ival v = te_range_affine(s->r, &small);
        int64_t q = te_floordiv(k, f[i]), r = te_floormod(k, f[i]);
        if (r > v.lo && r <= v.hi)
            continue;
        sum = b;
        k = (r > v.hi ? q + 1 : q) - b.c;
        sum.c = 0;
        break;
    }
    const tc_expr *atom = lone_atom(&sum);
    if (divides_by_const(atom, TC_OP_DIV, &c) && !__builtin_mul_overflow(k, c, &g)) { /* x / c < k is x < k * c */
        tc_affine x = {0};
        if (te_linear(&x, atom->args[0], 1)) {
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
        g = te_gcd(g, d.term[i].coef);
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
    bool ok = form(s, x, &a) && form(s, y, &b) && te_exact(s->r, &a) && te_exact(s->r, &b) && te_affine_add(&d, swap ? &b : &a, 1) &&
              te_affine_add(&d, swap ? &a : &b, -1);
    if (!ok)
        return tc_bin(s->c, e->op, simp(s, x), simp(s, y));
    if (e->op == TC_OP_LE || e->op == TC_OP_GE)
        d.c -= 1; /* d <= 0 is d - 1 < 0 */
    recombine(s, &d);
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

static tc_op negated(tc_op op) {
    switch ((int)op) {
    case TC_OP_EQ:
        return TC_OP_NE;
    case TC_OP_NE:
        return TC_OP_EQ;
    case TC_OP_LT:
        return TC_OP_GE;
    case TC_OP_GE:
        return TC_OP_LT;
    case TC_OP_GT:
        return TC_OP_LE;
    default:
        return TC_OP_GT;
    }
}

static const tc_expr *simp_not(simplifier *s, const tc_expr *e) {
    const tc_expr *a = simp(s, e->args[0]);
    bool compares = (tc_op_traits(a->op) & TC_COMPARE) && a->nargs == 2;
    bool total = compares && (!tc_dtype_is_float(a->args[0]->dtype) || a->op == TC_OP_EQ || a->op == TC_OP_NE); /* NaN */
    return total ? simp(s, tc_bin(s->c, negated(a->op), a->args[0], a->args[1])) : tc_un(s->c, TC_OP_NOT, a);
}

/* ---- conditions that hold in a part ---- */

/* e simplified where cond (or its negation) holds too. */
static const tc_expr *simp_under(simplifier *s, const tc_expr *e, const tc_expr *cond, bool negate) {
    enum { MAX_SCOPES = 6 };
    if (!e->nargs || s->r->depth >= MAX_SCOPES)
        return simp(s, e);
    te_ranges r;
    te_ranges_under(&r, s->r, cond, negate);
    if (!r.nfact)
        return simp(s, e);
    simplifier inner = {.c = s->c, .r = &r};
    te_memo_init(&inner.memo);
    const tc_expr *out = simp(&inner, e);
    te_memo_free(&inner.memo);
    return out;
}

/* In a && b, b may be simplified as if a held: where a fails, b does not matter. But memory in b is touched all the same, so its indices
 * must stay as they are. */
static const tc_expr *simp_logic(simplifier *s, const tc_expr *e) {
    const tc_expr *a = simp(s, e->args[0]), *b = e->args[1];
    b = a->op == TC_OP_INT || te_touches_memory(b) ? simp(s, b) : simp_under(s, b, a, e->op == TC_OP_OR);
    return tc_bin(s->c, e->op, a, b);
}

static const tc_expr *simp_select(simplifier *s, const tc_expr *e) {
    const tc_expr *cond = simp(s, e->args[0]), *k = te_const(cond);
    if (k)
        return simp(s, e->args[k->u.i ? 1 : 2]);
    const tc_expr *a = simp_under(s, e->args[1], cond, false), *b = simp_under(s, e->args[2], cond, true);
    if (e->dtype == TC_BOOL && e->lanes == 1 && a->op == TC_OP_INT && b->op == TC_OP_INT && a != b)
        return a->u.i ? cond : simp(s, tc_un(s->c, TC_OP_NOT, cond));
    return tc_select(s->c, cond, a, b);
}

/* ---- vectors ---- */

/* base and stride of an i64 vector that is a ramp or a broadcast. */
static bool as_ramp(simplifier *s, const tc_expr *e, const tc_expr **base, const tc_expr **stride) {
    if (e->op != TC_OP_RAMP && e->op != TC_OP_BCAST)
        return false;
    *base = e->args[0];
    *stride = e->op == TC_OP_RAMP ? e->args[1] : tc_i64(s->c, 0);
    return true;
}

static const tc_expr *make_ramp(simplifier *s, const tc_expr *base, const tc_expr *stride, int lanes) {
    base = simp(s, base);
    stride = simp(s, stride);
    return tc_is_int(stride, 0) ? tc_bcast(s->c, base, lanes) : tc_ramp(s->c, base, stride, lanes);
}

/* ramp / c and ramp % c where all lanes fall between two multiples of c, or the stride is a multiple of c. */
static const tc_expr *ramp_divmod(simplifier *s, const tc_expr *e, const tc_expr *base, const tc_expr *stride, const tc_expr *d) {
    if (d->op != TC_OP_INT || d->u.i <= 0 || stride->op != TC_OP_INT)
        return NULL;
    bool quotient = e->op == TC_OP_DIV;
    if (stride->u.i % d->u.i == 0)
        return make_ramp(s, tc_bin(s->c, e->op, base, d), tc_i64(s->c, quotient ? stride->u.i / d->u.i : 0), e->lanes);
    const tc_expr *last = tc_add(s->c, base, tc_i64(s->c, stride->u.i * (e->lanes - 1)));
    const tc_expr *q = simp(s, tc_div(s->c, base, d));
    if (q != simp(s, tc_div(s->c, last, d)))
        return NULL;
    return quotient ? tc_bcast(s->c, q, e->lanes) : make_ramp(s, tc_mod(s->c, base, d), stride, e->lanes);
}

static const tc_expr *simp_ramps(simplifier *s, const tc_expr *e) {
    const tc_expr *a, *b, *sa, *sb;
    if (e->dtype != TC_I64 || e->nargs != 2 || !as_ramp(s, e->args[0], &a, &sa) || !as_ramp(s, e->args[1], &b, &sb))
        return NULL;
    switch ((int)e->op) {
    case TC_OP_ADD:
    case TC_OP_SUB:
        return make_ramp(s, tc_bin(s->c, e->op, a, b), tc_bin(s->c, e->op, sa, sb), e->lanes);
    case TC_OP_MUL:
        if (tc_is_int(sb, 0))
            return make_ramp(s, tc_mul(s->c, a, b), tc_mul(s->c, sa, b), e->lanes);
        return tc_is_int(sa, 0) ? make_ramp(s, tc_mul(s->c, a, b), tc_mul(s->c, a, sb), e->lanes) : NULL;
    case TC_OP_DIV:
    case TC_OP_MOD:
        return tc_is_int(sb, 0) ? ramp_divmod(s, e, a, sa, b) : NULL;
    default:
        return NULL;
    }
}

/* Operations on equal lanes are one scalar operation. */
static const tc_expr *simp_broadcasts(simplifier *s, const tc_expr *e) {
    const tc_expr *args[3];
    if (e->lanes == 1 || e->nargs == 0 || e->nargs > 3 || e->op == TC_OP_RAMP || e->op == TC_OP_BCAST || e->op == TC_OP_READ ||
        (e->op == TC_OP_LOAD && e->nargs == 2))
        return NULL;
    for (int i = 0; i < e->nargs; i++) {
        if (e->args[i]->op != TC_OP_BCAST)
            return NULL;
        args[i] = e->args[i]->args[0];
    }
    return tc_bcast(s->c, simp(s, tc_with_args(s->c, e, args)), e->lanes);
}

/* The lanes of a comparison of ramps lie between its first and its last one. */
static const tc_expr *simp_ramp_comparison(simplifier *s, const tc_expr *e) {
    const tc_expr *a, *b, *sa, *sb;
    if (!(tc_op_traits(e->op) & TC_COMPARE) || e->nargs != 2 || e->lanes == 1 || e->args[0]->dtype != TC_I64 ||
        !as_ramp(s, e->args[0], &a, &sa) || !as_ramp(s, e->args[1], &b, &sb) || sa->op != TC_OP_INT || sb->op != TC_OP_INT)
        return NULL;
    if (e->op == TC_OP_EQ || e->op == TC_OP_NE)
        return NULL;
    int64_t travel = (sa->u.i - sb->u.i) * (e->lanes - 1);
    const tc_expr *first = simp(s, tc_bin(s->c, e->op, a, b)), *last = simp(s, tc_bin(s->c, e->op, tc_add(s->c, a, tc_i64(s->c, travel)), b));
    return first == last && first->op == TC_OP_INT ? tc_bcast(s->c, first, e->lanes) : NULL;
}

/* ---- all nodes ---- */

static const tc_expr *with_simple_args(simplifier *s, const tc_expr *e) {
    const tc_expr *args[TC_MAX_DIMS];
    bool changed = false;
    for (int i = 0; i < e->nargs; i++) {
        args[i] = simp(s, e->args[i]);
        changed |= args[i] != e->args[i];
    }
    return changed ? tc_with_args(s->c, e, args) : e;
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
    e = with_simple_args(s, e);
    const tc_expr *r = simp_ramps(s, e);
    if (!r)
        r = simp_broadcasts(s, e);
    if (!r)
        r = simp_ramp_comparison(s, e);
    if (r)
        return r;
    if (e->op == TC_OP_CAST)
        return simp_cast(s, e);
    return e->op == TC_OP_RAMP && tc_is_int(e->args[1], 0) ? tc_bcast(s->c, e->args[0], e->lanes) : e;
}

static const tc_expr *simp_node(simplifier *s, const tc_expr *e) {
    switch ((int)e->op) {
    case TC_OP_ADD:
    case TC_OP_SUB:
        return scalar_index(e) ? simp_linear(s, e) : simp_other(s, e);
    case TC_OP_MUL:
        if (!scalar_index(e))
            return simp_other(s, e);
        return e->args[1]->op == TC_OP_INT ? simp_linear(s, e) : simp_product(s, e);
    case TC_OP_DIV:
    case TC_OP_MOD:
        return scalar_index(e) ? simp_divmod(s, e) : simp_other(s, e);
    case TC_OP_MIN:
    case TC_OP_MAX:
        return scalar_index(e) ? simp_minmax(s, e) : simp_other(s, e);
    case TC_OP_EQ:
    case TC_OP_NE:
    case TC_OP_LT:
    case TC_OP_LE:
    case TC_OP_GT:
    case TC_OP_GE:
        return scalar_index(e->args[0]) ? simp_index_comparison(s, e) : simp_other(s, e);
    case TC_OP_AND:
    case TC_OP_OR:
        return simp_logic(s, e);
    case TC_OP_NOT:
        return simp_not(s, e);
    case TC_OP_SELECT:
        return simp_select(s, e);
    default:
        return simp_other(s, e);
    }
}

/* Integers and bools of which only one value is possible. */
static const tc_expr *settle(simplifier *s, const tc_expr *e) {
    if (tc_dtype_is_float(e->dtype) || e->op == TC_OP_INT || e->op == TC_OP_BCAST)
        return e;
    tc_ival v = te_range(s->r, e);
    return te_point(v) ? tc_bcast(s->c, tc_int(s->c, e->dtype, v.lo), e->lanes) : e;
}

static const tc_expr *simp(simplifier *s, const tc_expr *e) {
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

const tc_expr *tc_te_simplify(tc_ctx *c, const tc_expr *e, const tc_env *env) {
    te_ranges r;
    te_ranges_init(&r, env);
    simplifier s = {.c = c, .r = &r};
    te_memo_init(&s.memo);
    const tc_expr *out = simp(&s, e);
    te_memo_free(&s.memo);
    return out;
}

bool tc_te_affine(tc_ctx *c, const tc_expr *e, const tc_env *env, tc_affine *out) {
    assert(scalar_index(e));
    te_ranges r;
    te_ranges_init(&r, env);
    simplifier s = {.c = c, .r = &r};
    te_memo_init(&s.memo);
    bool ok = form(&s, e, out);
    te_memo_free(&s.memo);
    return ok;
}
