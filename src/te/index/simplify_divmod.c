/* Quotients and remainders of linear forms, and their recombination (rules: simplify.c). Quotient and remainder of one value get
 * the same numerator, so pointer equality finds the pairs. */
#include "te/index/simplify_int.h"

/* ---- forms ---- */

/* a += scale * e with atoms simplified and variables of one value replaced by it. */
static bool lin(simplifier *s, tc_affine *a, const tc_expr *e, int64_t scale) {
    int64_t k;
    if (e->op == TC_OP_ADD)
        return lin(s, a, e->args[0], scale) && lin(s, a, e->args[1], scale);
    if (e->op == TC_OP_SUB && scale != INT64_MIN)
        return lin(s, a, e->args[0], scale) && lin(s, a, e->args[1], -scale);
    if (e->op == TC_OP_MUL && e->args[1]->op == TC_OP_INT && !__builtin_mul_overflow(scale, e->args[1]->u.i, &k))
        return lin(s, a, e->args[0], k);
    return tc_affine_linear(a, te_simp(s, e), scale);
}

/* The form of e, recombined; false if it has too many terms. */
bool te_form(simplifier *s, const tc_expr *e, tc_affine *a) {
    *a = (tc_affine){0};
    if (!lin(s, a, e, 1))
        return false;
    te_recombine(s, a);
    return true;
}

bool te_divides_by_const(const tc_expr *e, tc_op op, int64_t *c) {
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
    q->c = tc_floor_div(a->c, c);
    r->c = tc_floor_mod(a->c, c);
    for (int i = 0; i < a->n; i++) {
        int64_t whole = a->term[i].coef / c;
        tc_affine_term(q, a->term[i].atom, whole);
        tc_affine_term(r, a->term[i].atom, a->term[i].coef - whole * c);
    }
}

/* a = g * b + rest with rest known to be in [0, g). */
bool te_split_small(simplifier *s, const tc_affine *a, int64_t g, tc_affine *b, tc_affine *rest) {
    *b = *rest = (tc_affine){0};
    rest->c = tc_floor_mod(a->c, g);
    b->c = tc_floor_div(a->c, g);
    for (int i = 0; i < a->n; i++) {
        int64_t k = a->term[i].coef;
        tc_affine_term(k % g ? rest : b, a->term[i].atom, k % g ? k : k / g);
    }
    tc_ival v = te_range_affine(s->r, rest);
    if (!tc_ival_bounded(v) || tc_floor_div(v.lo, g) != tc_floor_div(v.hi, g))
        return false;
    int64_t shift = tc_floor_div(v.lo, g);
    b->c += shift;
    rest->c -= shift * g;
    return true;
}

/* Common factors of the divisor c and the terms of a, largest first: candidates for te_split_small. */
int te_factors(const tc_affine *a, int64_t c, int64_t out[TC_MAX_TERMS]) {
    int n = 0;
    for (int i = 0; i < a->n; i++) {
        int64_t g = tc_gcd(a->term[i].coef, c);
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
    if (quotient && te_divides_by_const(atom, TC_OP_DIV, &c1) && !__builtin_mul_overflow(c, c1, &product)) {
        if (!tc_affine_linear(&x, atom->args[0], 1) || __builtin_mul_overflow(r->c, c1, &product) ||
            __builtin_add_overflow(x.c, product, &x.c) || !te_exact(s->r, &x))
            return false;
        divmod(s, &x, c * c1, true, out);
        return true;
    }
    if (!te_divides_by_const(atom, TC_OP_MOD, &c1) || r->c != 0 || c1 % c || !tc_affine_linear(&x, atom->args[0], 1))
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
    tc_affine_term(out, tc_bin(s->c, op, tc_te_from_affine(s->c, r), tc_i64(s->c, c)), 1);
}

/* a % c is known to be 0. */
static bool is_whole(const simplifier *s, const tc_affine *a, int64_t c) {
    const te_fact *fact;
    const tc_expr *x = NULL;
    int64_t d;
    for (int i = 0, n = te_env_facts(s->r->env, &fact); i < n; i++) {
        if (fact[i].n != 1 || fact[i].range.lo != 0 || fact[i].range.hi != 0 ||
            !te_divides_by_const(fact[i].term[0].atom, TC_OP_MOD, &d) || d % c)
            continue;
        x = x ? x : tc_te_from_affine(s->c, a);
        if (fact[i].term[0].atom->args[0] == x)
            return true;
    }
    return false;
}

/* r / c or r % c where r has no whole multiple of c left to take out. */
static void divmod_rest(simplifier *s, const tc_affine *r, int64_t c, bool quotient, tc_affine *out) {
    int64_t g[TC_MAX_TERMS];
    tc_affine b, small;
    if (divmod_of_atom(s, r, c, quotient, out))
        return;
    int n = te_factors(r, c, g);
    for (int i = 0; i < n; i++) {
        if (!te_split_small(s, r, g[i], &b, &small))
            continue;
        tc_affine inner;
        divmod(s, &b, c / g[i], quotient, &inner);
        *out = inner;
        if (quotient)
            return;
        *out = small;
        if (tc_affine_add(out, &inner, g[i]))
            return;
    }
    *out = (tc_affine){0};
    if (quotient || !is_whole(s, r, c))
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
    if (!te_exact(s->r, &r)) { /* c is huge */
        atom_of(s, quotient ? TC_OP_DIV : TC_OP_MOD, a, c, out);
        return;
    }
    tc_ival v = te_range_affine(s->r, &r);
    if (tc_ival_bounded(v) && tc_floor_div(v.lo, c) == tc_floor_div(v.hi, c)) {
        int64_t shift = tc_floor_div(v.lo, c);
        *out = quotient ? q : r;
        out->c += quotient ? shift : -shift * c;
        return;
    }
    divmod_rest(s, &r, c, quotient, &rest);
    *out = rest;
    if (quotient && !tc_affine_add(out, &q, 1)) {
        tc_affine whole = *a;
        atom_of(s, TC_OP_DIV, &whole, c, out);
    }
}

const tc_expr *te_simp_divmod(simplifier *s, const tc_expr *e) {
    bool quotient = e->op == TC_OP_DIV;
    const tc_expr *d = te_simp(s, e->args[1]);
    tc_affine a, out;
    if (d->op == TC_OP_INT && d->u.i > 0 && te_form(s, e->args[0], &a)) {
        divmod(s, &a, d->u.i, quotient, &out);
        te_recombine(s, &out);
        return tc_te_from_affine(s->c, &out);
    }
    const tc_expr *n = te_simp(s, e->args[0]);
    tc_ival x = te_range(s->r, n), y = te_range(s->r, d);
    if (x.lo >= 0 && x.hi < y.lo)
        return quotient ? tc_i64(s->c, 0) : n;
    const tc_expr *known = te_simp_divmod_size(s, e, n, d);
    return known ? known : tc_bin(s->c, e->op, n, d);
}

/* ---- recombination ---- */

/* a with the terms x (coefficient cx) and y (cy) taken out and scale * b put in; false, and a unchanged, if that has no room. */
static bool replace_two(tc_affine *a, tc_term x, tc_term y, const tc_affine *b, int64_t scale) {
    tc_affine t = *a;
    if (!tc_affine_term(&t, x.atom, -x.coef) || !tc_affine_term(&t, y.atom, -y.coef) || !tc_affine_add(&t, b, scale))
        return false;
    *a = t;
    return true;
}

/* x % c * m with x / c * (m * c), or with the quotient of what x itself is a quotient of. */
static bool recombine_mod(simplifier *s, tc_affine *a, int i) {
    tc_term t = a->term[i];
    int64_t c, c1 = 0, d, whole;
    if (!te_divides_by_const(t.atom, TC_OP_MOD, &c) || __builtin_mul_overflow(t.coef, c, &whole))
        return false;
    const tc_expr *x = t.atom->args[0];
    bool nested = te_divides_by_const(x, TC_OP_DIV, &c1);
    for (int k = 0; k < a->n; k++) {
        tc_term u = a->term[k];
        tc_affine b = {0};
        if (te_divides_by_const(u.atom, TC_OP_DIV, &d) && u.coef == whole) {
            bool same = u.atom->args[0] == x && d == c;
            bool outer = nested && u.atom->args[0] == x->args[0] && d / c == c1 && d % c == 0;
            if ((same || outer) && tc_affine_linear(&b, x, 1) && replace_two(a, t, u, &b, t.coef))
                return true;
        }
        /* (y / c1) % c * (m * c1) + y % c1 * m is y % (c * c1) * m */
        if (nested && te_divides_by_const(u.atom, TC_OP_MOD, &d) && d == c1 && u.atom->args[0] == x->args[0] &&
            t.coef % c1 == 0 && u.coef == t.coef / c1 && !__builtin_mul_overflow(c, c1, &whole)) {
            tc_affine y = {0};
            if (!tc_affine_linear(&y, x->args[0], 1))
                return false;
            divmod(s, &y, whole, false, &b);
            return replace_two(a, t, u, &b, u.coef);
        }
    }
    return false;
}

/* x % s with x / s * s, of a size s that is not 0. */
static bool recombine_size(simplifier *s, tc_affine *a, int i) {
    tc_term t = a->term[i];
    if (t.atom->op != TC_OP_MOD || t.atom->lanes != 1 || t.atom->args[1]->op == TC_OP_INT ||
        te_range(s->r, t.atom->args[1]).lo < 1)
        return false;
    const tc_expr *quotient = tc_div(s->c, t.atom->args[0], t.atom->args[1]), *whole = tc_mul(s->c, quotient, t.atom->args[1]);
    int64_t coef = tc_affine_coef(a, whole);
    tc_affine x = {0};
    return coef == t.coef && tc_affine_linear(&x, t.atom->args[0], 1) && replace_two(a, t, (tc_term){whole, coef}, &x, coef);
}

/* All terms of x are in a, m times. */
static bool contains(const tc_affine *a, const tc_affine *x, int64_t m) {
    int64_t want;
    for (int i = 0; i < x->n; i++)
        if (__builtin_mul_overflow(m, x->term[i].coef, &want) || tc_affine_coef(a, x->term[i].atom) != want)
            return false;
    return x->n > 0;
}

/* m * x - (m * c) * (x / c) is m * (x % c). */
static bool recombine_div(simplifier *s, tc_affine *a, int i) {
    tc_term t = a->term[i];
    int64_t c;
    if (!te_divides_by_const(t.atom, TC_OP_DIV, &c) || t.coef % c)
        return false;
    int64_t m = -(t.coef / c);
    tc_affine x = {0}, b, rest = *a;
    if (!tc_affine_linear(&x, t.atom->args[0], 1) || !contains(a, &x, m) || !tc_affine_term(&rest, t.atom, -t.coef) ||
        !tc_affine_add(&rest, &x, -m))
        return false;
    divmod(s, &x, c, false, &b);
    if (!tc_affine_add(&rest, &b, m))
        return false;
    *a = rest;
    return true;
}

/* min(x, y) with the terms of x beside it, negated: they go inside and cancel there. */
static bool absorb(simplifier *s, tc_affine *a, int i) {
    tc_term t = a->term[i];
    if (t.atom->op != TC_OP_MIN && t.atom->op != TC_OP_MAX)
        return false;
    for (int k = 0; k < 2; k++) {
        tc_affine arm = {0}, other = {0}, moved = {0}, rest = *a;
        if (!tc_affine_linear(&arm, t.atom->args[k], 1) || !contains(a, &arm, -t.coef) ||
            !tc_affine_linear(&other, t.atom->args[!k], 1) || !te_exact(s->r, &arm) || !te_exact(s->r, &other))
            continue;
        arm.c = 0;
        if (!tc_affine_add(&rest, &arm, t.coef) || !tc_affine_term(&rest, t.atom, -t.coef) || !tc_affine_add(&moved, &arm, -1))
            continue;
        const tc_expr *offset = tc_te_from_affine(s->c, &moved);
        const tc_expr *x = tc_add(s->c, t.atom->args[0], offset), *y = tc_add(s->c, t.atom->args[1], offset);
        if (!tc_affine_linear(&rest, te_simp(s, tc_bin(s->c, t.atom->op, x, y)), t.coef))
            continue;
        *a = rest;
        return true;
    }
    return false;
}

/* x / c * (m * c) is x * m where c divides x. */
static bool recombine_whole(simplifier *s, tc_affine *a, int i) {
    tc_term t = a->term[i];
    tc_affine x = {0}, rest = *a;
    int64_t c;
    if (!te_divides_by_const(t.atom, TC_OP_DIV, &c) || t.coef % c || !tc_affine_linear(&x, t.atom->args[0], 1) ||
        !is_whole(s, &x, c) || !tc_affine_term(&rest, t.atom, -t.coef) || !tc_affine_add(&rest, &x, t.coef / c))
        return false;
    *a = rest;
    return true;
}

void te_recombine(simplifier *s, tc_affine *a) {
    bool any = false;
    for (int i = 0; i < a->n; i++)
        any |= a->term[i].atom->nargs == 2;
    for (int i = 0; any && i < a->n; i++)
        if (recombine_whole(s, a, i))
            i = -1;
    if (!any || a->n < 2 || !te_exact(s->r, a))
        return;
    for (int round = 0; round < TC_MAX_TERMS; round++) {
        bool changed = false;
        for (int i = 0; i < a->n && !changed && a->n > 1; i++)
            changed = a->term[i].atom->nargs == 2 &&
                      (recombine_mod(s, a, i) || recombine_size(s, a, i) || recombine_div(s, a, i) || absorb(s, a, i));
        if (!changed)
            return;
    }
}
