/* Whether an index stays within a size that varies, for all values of the symbols: what the check of a workload's reads and the verifier of
 * programs ask.
 *
 * With dense arrays strides are products with symbols, and b * S * 64 + s * 64 + j < B * S * 64 follows from b < B, s < S and j < 64 in
 * steps: what is known says x <= 0 for sums x of variables and symbols, so x * scale <= 0 for every product of symbols that a stride
 * has. Each step takes such a sum from the form that is to be negative, so that a term goes and the form grows no smaller:
 *
 *     b*S*64 + s*64 + j - B*S*64      less (b*S - B*S + S) * 64:   s*64 + j - S*64      less (s - S + 1) * 64:   j - 64
 *
 * What is left is bounded by intervals. Products are compared with their factors in one order. */
#include "te/index/prove.h"

#include "support/map.h"
#include "support/vec.h"
#include "te/te_int.h"

enum { MAX_FACTORS = 8, MAX_SCALES = TC_MAX_DIMS };
/* Steps of a proof, and forms that may be looked at for one: short proofs are looked for first. Of those of the test models' schedules most
 * have three steps and none more than eight. */
static const struct { int steps, forms; } effort[] = {{3, 500}, {6, 1000}, {10, 2000}};

typedef struct prover {
    const tc_premises *v;
    int budget;           /* forms that may still be looked at */
    tc_map failed;        /* forms that were looked at in vain -> steps that there were */
    const tc_expr *pivot; /* the term that is to go; NULL: one of symbols */
    int nscale;
    tc_affine scale[MAX_SCALES]; /* sums of products of sizes */
} prover;

/* ---- products ---- */

static int factors_of(const tc_expr *e, const tc_expr **out, int n) {
    if (e->op != TC_OP_MUL || n == MAX_FACTORS) {
        if (n < MAX_FACTORS)
            out[n] = e;
        return n + 1;
    }
    return factors_of(e->args[1], out, factors_of(e->args[0], out, n));
}

static const tc_expr *in_order(tc_ctx *c, const tc_expr *e) {
    const tc_expr *f[MAX_FACTORS], *product = NULL;
    int n = factors_of(e, f, 0);
    if (n == 1 || n > MAX_FACTORS)
        return e;
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && f[k - 1]->id > f[k]->id; k--) {
            const tc_expr *t = f[k];
            f[k] = f[k - 1];
            f[k - 1] = t;
        }
    for (int i = 0; i < n; i++)
        product = product ? tc_mul(c, product, f[i]) : f[i];
    return product;
}

/* x * y of terms; NULL stands for 1. */
static const tc_expr *times(tc_ctx *c, const tc_expr *x, const tc_expr *y) {
    return x && y ? in_order(c, tc_mul(c, x, y)) : x ? x : y;
}

/* a += k * x * y */
static bool add_product(tc_ctx *c, tc_affine *a, const tc_affine *x, const tc_affine *y, int64_t k) {
    bool fits = true;
    for (int i = 0; i <= x->n && fits; i++)
        for (int j = 0; j <= y->n && fits; j++) {
            int64_t coef = i < x->n ? x->term[i].coef : x->c;
            const tc_expr *term = times(c, i < x->n ? x->term[i].atom : NULL, j < y->n ? y->term[j].atom : NULL);
            fits = !__builtin_mul_overflow(coef, j < y->n ? y->term[j].coef : y->c, &coef) &&
                   !__builtin_mul_overflow(coef, k, &coef);
            if (fits && term)
                fits = coef == 0 || tc_affine_linear(a, term, coef);
            else if (fits)
                fits = !__builtin_add_overflow(a->c, coef, &a->c);
        }
    return fits;
}

/* The only value that a variable can have here; false: it can have several. */
static bool only_value(const tc_premises *v, const tc_expr *e, int64_t *value) {
    tc_ival r = e->op == TC_OP_VAR ? tc_env_get(v->env, e->u.var) : TC_IVAL_ALL;
    *value = r.lo;
    return tc_ival_point(r);
}

static bool is_remainder_of_size(const tc_expr *e) {
    return e->op == TC_OP_MOD && e->args[1]->op == TC_OP_INT && e->args[1]->u.i > 0 && tc_expr_is_of_symbols(e->args[0]);
}

/* a += k * e */
static bool expand(const tc_premises *v, const tc_expr *e, int64_t k, tc_affine *a) {
    int64_t n;
    if (e->op == TC_OP_ADD || e->op == TC_OP_SUB)
        return expand(v, e->args[0], k, a) && expand(v, e->args[1], e->op == TC_OP_SUB ? -k : k, a);
    if (e->op == TC_OP_MUL && e->args[1]->op == TC_OP_INT)
        return !__builtin_mul_overflow(k, e->args[1]->u.i, &n) && expand(v, e->args[0], n, a);
    if (is_remainder_of_size(e)) /* N % 64 is N - N / 64 * 64 */
        return !__builtin_mul_overflow(-k, e->args[1]->u.i, &n) && expand(v, e->args[0], k, a) &&
               tc_affine_linear(a, tc_div(v->c, e->args[0], e->args[1]), n);
    if (only_value(v, e, &n))
        return !__builtin_mul_overflow(k, n, &n) && !__builtin_add_overflow(a->c, n, &a->c);
    tc_affine x = {0}, y = {0};
    if (e->op != TC_OP_MUL)
        return tc_affine_linear(a, e, k);
    return expand(v, e->args[0], 1, &x) && expand(v, e->args[1], 1, &y) && add_product(v->c, a, &x, &y, k);
}

/* ---- steps ---- */

static bool negative(prover *p, const tc_affine *form, int steps);

/* Takes x * scale, where x <= 0, off the form, so that a term of x's atom `at` goes. */
static bool take(prover *p, const tc_affine *form, const tc_affine *x, const tc_affine *scale, int at, int steps) {
    for (int j = 0; j < TC_MAX(scale->n, 1); j++) {
        const tc_expr *product = times(p->v->c, x->term[at].atom, scale->n ? scale->term[j].atom : NULL);
        int64_t coef = p->pivot && product != p->pivot ? 0 : tc_affine_coef(form, product), each;
        if (coef == 0 || __builtin_mul_overflow(x->term[at].coef, scale->n ? scale->term[j].coef : scale->c, &each) ||
            each == 0 || coef % each || coef / each < 0)
            continue;
        tc_affine less = *form;
        return add_product(p->v->c, &less, x, scale, -(coef / each)) && negative(p, &less, steps - 1);
    }
    return false;
}

/* Of symbols alone: 5 <= N says that 5 * S <= N * S. */
static bool use_of_symbols(prover *p, const tc_affine *form, const tc_affine *x, int steps) {
    for (int s = 0; s < p->nscale; s++)
        for (int i = 0; i < x->n; i++)
            if (take(p, form, x, &p->scale[s], i, steps))
                return true;
    for (int s = 0; s < p->nscale; s++) {
        const tc_affine *scale = &p->scale[s];
        int64_t coef = scale->n ? tc_affine_coef(form, scale->term[0].atom) : 0;
        tc_affine less = *form;
        if (x->c <= 0 || coef <= 0)
            continue;
        int64_t k = (coef - 1) / x->c + 1; /* what is too much of it is negative */
        if (add_product(p->v->c, &less, x, scale, -k) && negative(p, &less, steps - 1))
            return true;
    }
    return false;
}

static bool use(prover *p, const tc_affine *form, const tc_affine *x, int steps) {
    bool symbols = true;
    for (int i = 0; i < x->n; i++)
        symbols &= tc_expr_is_symbol(x->term[i].atom);
    if (symbols)
        return !p->pivot && use_of_symbols(p, form, x, steps);
    for (int s = 0; s < p->nscale; s++)
        for (int i = 0; i < x->n; i++)
            if (!tc_expr_is_symbol(x->term[i].atom) && take(p, form, x, &p->scale[s], i, steps))
                return true;
    return false;
}

/* e without one of its factors s; NULL if it has none. */
static const tc_expr *without_factor(tc_ctx *c, const tc_expr *e, const tc_expr *s) {
    const tc_expr *f[MAX_FACTORS], *rest = NULL;
    int n = factors_of(e, f, 0), at = -1;
    for (int i = 0; i < n && n <= MAX_FACTORS; i++)
        at = f[i] == s ? i : at;
    if (at < 0)
        return NULL;
    for (int i = 0; i < n; i++)
        if (i != at)
            rest = rest ? tc_mul(c, rest, f[i]) : f[i];
    return rest ? rest : tc_i64(c, 1);
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

/* y <= r * s - k where y / s is in the form, of a size s that is not 0, says y / s <= r - 1 for k > 0, and <= r for k = 0. What bounds a part
 * of y does, too: the ranges of the rest add to it. */
static bool quotient_by_size(prover *p, const tc_expr *e, const tc_affine *x, tc_affine *out) {
    tc_affine y = {0}, rest = {0};
    const tc_affine one = {.c = 1};
    const tc_expr *s = e->args[1];
    if (tc_te_bounds(s, p->v->env).lo < 1 || !expand(p->v, e->args[0], 1, &y))
        return false;
    int64_t k = times_in(x, &y), room;
    if (k == 0 || !add_product(p->v->c, &rest, x, &one, k) || !add_product(p->v->c, &rest, &y, &one, -1))
        return false;
    room = rest.c;
    *out = (tc_affine){0};
    for (int i = 0; i < rest.n; i++) {
        const tc_term *t = &rest.term[i];
        const tc_expr *less = without_factor(p->v->c, t->atom, s);
        tc_ival r = tc_te_bounds(t->atom, p->v->env);
        int64_t least;
        if (less ? !expand(p->v, less, t->coef, out)
                 : !tc_ival_bounded(r) || __builtin_mul_overflow(t->coef, t->coef > 0 ? r.lo : r.hi, &least) ||
                       __builtin_add_overflow(room, least, &room))
            return false;
    }
    out->c += room > 0;
    return room >= 0 && tc_affine_term(out, e, 1);
}

static bool known_divisor(const tc_premises *v, const tc_expr *e, int64_t *c) {
    *c = e->op == TC_OP_INT ? e->u.i : 0;
    return e->op == TC_OP_INT || only_value(v, e, c);
}

/* y <= r where y / c is in the form says y / c <= floor(r / c), which is a sum where c divides r's terms. */
static bool quotient(prover *p, const tc_expr *e, const tc_affine *x, tc_affine *out) {
    int64_t c;
    *out = *x;
    if (e->op != TC_OP_DIV)
        return false;
    if (!known_divisor(p->v, e->args[1], &c))
        return quotient_by_size(p, e, x, out);
    if (c <= 0 || !expand(p->v, e->args[0], -1, out))
        return false;
    for (int i = 0; i < out->n; i++) {
        if (out->term[i].coef % c)
            return false;
        out->term[i].coef /= c;
    }
    out->c = -tc_floor_div(-out->c, c);
    return tc_affine_term(out, e, 1);
}

static bool use_quotients(prover *p, const tc_affine *form, const tc_affine *x, int steps) {
    const tc_expr *f[MAX_FACTORS];
    tc_affine q;
    int n = p->pivot ? factors_of(p->pivot, f, 0) : 0;
    for (int k = 0; k < n && n <= MAX_FACTORS; k++)
        if (quotient(p, f[k], x, &q) && use(p, form, &q, steps))
            return true;
    return false;
}

/* 48 * q + 16 * i + lane <= N - 1 says 3 * q + i <= 31 where N is at most 512: of whole numbers, what the rest leaves is rounded down. */
static bool use_whole(prover *p, const tc_affine *form, const tc_affine *x, int steps) {
    tc_affine whole = {0}, rest = {.c = x->c};
    int64_t g = 0;
    bool fits = true;
    for (int i = 0; i < x->n; i++)
        g = llabs(x->term[i].coef) > 1 ? tc_gcd(g, x->term[i].coef) : g;
    if (g <= 1)
        return false;
    for (int i = 0; i < x->n; i++) {
        tc_term t = x->term[i];
        fits = fits && (t.coef % g ? tc_affine_term(&rest, t.atom, t.coef) : tc_affine_term(&whole, t.atom, t.coef / g));
    }
    tc_ival r = tc_te_bounds(tc_te_from_affine(p->v->c, &rest), p->v->env);
    if (!fits || !tc_ival_bounded(r) || (rest.n == 0 && rest.c % g == 0))
        return false;
    whole.c = -tc_floor_div(-r.lo, g);
    return use(p, form, &whole, steps);
}

/* x <= 0 from a comparison that holds, or does not; false: it says no such thing. */
static bool at_most_zero(const tc_premises *v, const tc_known_cond *k, tc_affine *x) {
    tc_op op = k->cond->op;
    bool less = op == TC_OP_LT || op == TC_OP_LE, greater = op == TC_OP_GT || op == TC_OP_GE;
    *x = (tc_affine){0};
    if ((!less && !greater) || k->cond->args[0]->dtype != TC_I64)
        return false;
    bool second = less != k->holds; /* it is the second operand that is no larger */
    bool strict = (op == TC_OP_LT || op == TC_OP_GT) == k->holds;
    if (!expand(v, k->cond->args[second], 1, x) || !expand(v, k->cond->args[!second], -1, x))
        return false;
    x->c += strict;
    return true;
}

static bool names_symbol(const tc_affine *x) {
    for (int i = 0; i < x->n; i++)
        if (tc_expr_names_symbol(x->term[i].atom))
            return true;
    return false;
}

/* floor(e / n), of one division. */
static const tc_expr *divided(tc_ctx *c, const tc_expr *e, int64_t n) {
    int64_t both;
    if (e->op == TC_OP_DIV && e->args[1]->op == TC_OP_INT && e->args[1]->u.i > 0 &&
        !__builtin_mul_overflow(e->args[1]->u.i, n, &both))
        return tc_div(c, e->args[0], tc_i64(c, both));
    return tc_div(c, e, tc_i64(c, n));
}

/* What is said of a remainder e % n is said of e - e / n * n: where indices have e itself, that is what bounds it. */
static bool without_remainders(tc_ctx *c, const tc_affine *x, tc_affine *out) {
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
        fits = !__builtin_mul_overflow(-coef, n, &back) && tc_affine_linear(out, e->args[0], coef) &&
               tc_affine_linear(out, divided(c, e->args[0], n), back);
    }
    return any && fits;
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

/* e / m % n is e % (m * n) / m, so what is said of that is said of e % (m * n), in steps of m. */
static bool of_longer_remainders(tc_ctx *c, const tc_affine *x, tc_affine *out) {
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

static bool use_in_all_ways(prover *p, const tc_affine *form, const tc_affine *x, int steps) {
    return use(p, form, x, steps) || use_quotients(p, form, x, steps) || use_whole(p, form, x, steps);
}

/* Conditions that name symbols, or those that do not. */
static bool use_cond(prover *p, const tc_affine *form, tc_known_cond k, bool of_symbols, int steps) {
    tc_affine x, y;
    bool both = (k.cond->op == TC_OP_AND && k.holds) || (k.cond->op == TC_OP_OR && !k.holds);
    if (both)
        return use_cond(p, form, (tc_known_cond){k.cond->args[0], k.holds}, of_symbols, steps) ||
               use_cond(p, form, (tc_known_cond){k.cond->args[1], k.holds}, of_symbols, steps);
    if (!at_most_zero(p->v, &k, &x) || names_symbol(&x) != of_symbols)
        return false;
    return use_in_all_ways(p, form, &x, steps) || (without_remainders(p->v->c, &x, &y) && use_in_all_ways(p, form, &y, steps)) ||
           (of_longer_remainders(p->v->c, &x, &y) && use_in_all_ways(p, form, &y, steps));
}

/* c * q <= y, or y - (c - 1) <= c * q, of a quotient q = y / c. */
static bool use_quotient(prover *p, const tc_affine *form, const tc_expr *q, bool more, int steps) {
    tc_affine x = {0};
    int64_t c = q->args[1]->op == TC_OP_INT ? q->args[1]->u.i : 0;
    if (c <= 0 || !expand(p->v, q->args[0], more ? -1 : 1, &x) || !tc_affine_term(&x, q, more ? c : -c))
        return false;
    x.c -= more ? 0 : c - 1;
    return use(p, form, &x, steps);
}

/* x % s is at most s - 1, for a size s that is not 0. */
static bool use_remainder(prover *p, const tc_affine *form, const tc_expr *r, int steps) {
    tc_affine x = {.c = 1};
    return tc_te_bounds(r->args[1], p->v->env).lo >= 1 && expand(p->v, r->args[1], -1, &x) && tc_affine_term(&x, r, 1) &&
           use(p, form, &x, steps);
}

/* The smaller of two is at most each of them, the larger at least. */
static bool use_choice(prover *p, const tc_affine *form, const tc_expr *m, bool more, int steps) {
    for (int i = 0; i < 2; i++) {
        tc_affine x = {0};
        if (expand(p->v, m->args[i], more ? -1 : 1, &x) && tc_affine_term(&x, m, more ? 1 : -1) && use(p, form, &x, steps))
            return true;
    }
    return false;
}

/* What a factor of a term is says how large, or how small, it is. */
static bool use_definition(prover *p, const tc_affine *form, const tc_expr *f, bool more, int steps) {
    if (f->op == TC_OP_DIV)
        return use_quotient(p, form, f, more, steps);
    if (f->op == TC_OP_MOD)
        return more && use_remainder(p, form, f, steps);
    return f->op == (more ? TC_OP_MIN : TC_OP_MAX) && use_choice(p, form, f, more, steps);
}

/* A factor of the term is at most, or at least, what its range says, or what it is the quotient of. */
static bool use_ranges(prover *p, const tc_affine *form, const tc_term *t, int steps) {
    const tc_expr *f[MAX_FACTORS];
    int n = factors_of(t->atom, f, 0);
    bool more = t->coef > 0;
    for (int k = 0; k < n && n <= MAX_FACTORS; k++) {
        tc_ival r = tc_te_bounds(f[k], p->v->env);
        tc_affine x = {.n = 1, .c = more ? -r.hi : r.lo, .term = {{f[k], more ? 1 : -1}}};
        bool of_sizes = f[k]->nargs > 0 && tc_expr_names_symbol(f[k]); /* then numbers say little */
        if ((of_sizes && use_definition(p, form, f[k], more, steps)) || (tc_ival_bounded(r) && use(p, form, &x, steps)) ||
            (!of_sizes && use_definition(p, form, f[k], more, steps)))
            return true;
    }
    return false;
}

static bool use_conds(prover *p, const tc_affine *form, bool of_symbols, int steps) {
    for (size_t i = p->v->nknown; i-- > 0;)
        if (use_cond(p, form, p->v->known[i], of_symbols, steps))
            return true;
    return false;
}

static bool is_plain(const tc_expr *e) {
    const tc_expr *f[MAX_FACTORS];
    int n = factors_of(e, f, 0);
    for (int i = 0; i < n && n <= MAX_FACTORS; i++)
        if (f[i]->op != TC_OP_VAR)
            return false;
    return true;
}

static bool eliminate_term(prover *p, const tc_affine *form, const tc_term *t, int steps) {
    p->pivot = t->atom;
    return use_conds(p, form, true, steps) || use_ranges(p, form, t, steps) || use_conds(p, form, false, steps);
}

/* Terms of variable v alone, and symbols. */
static bool eliminate_variable(prover *p, const tc_affine *form, const tc_var *v, int steps) {
    for (int i = 0; i < form->n; i++)
        if (is_plain(form->term[i].atom) && tc_expr_uses_var(form->term[i].atom, v) &&
            eliminate_term(p, form, &form->term[i], steps))
            return true;
    return false;
}

/* Lets a term go: first those of quotients and choices, which are made of variables in other terms, then variables, innermost first, since
 * what bounds them is made of those outside, then symbols. */
static bool eliminate(prover *p, const tc_affine *form, int steps) {
    for (int i = 0; i < form->n; i++)
        if (!is_plain(form->term[i].atom) && eliminate_term(p, form, &form->term[i], steps))
            return true;
    if (p->v->inner && eliminate_variable(p, form, p->v->inner, steps))
        return true;
    for (size_t i = p->v->nvar; i-- > 0;)
        if (eliminate_variable(p, form, p->v->vars[i], steps))
            return true;
    p->pivot = NULL;
    for (int i = 0; i < form->n; i++)
        if (use_ranges(p, form, &form->term[i], steps))
            return true;
    return use_conds(p, form, true, steps);
}

/* Steps make a form no smaller: one that cannot be negative any more leads nowhere. */
static bool negative(prover *p, const tc_affine *form, int steps) {
    const tc_expr *e = tc_te_from_affine(p->v->c, form);
    tc_ival r = tc_te_bounds(e, p->v->env);
    if (r.hi < 0 || r.lo >= 0 || steps == 0)
        return r.hi < 0;
    const uintptr_t *tried = tc_map_get(&p->failed, (uintptr_t)e);
    if ((tried && *tried >= (uintptr_t)steps) || --p->budget < 0)
        return false;
    const tc_expr *pivot = p->pivot;
    bool done = eliminate(p, form, steps);
    p->pivot = pivot;
    if (!done && p->budget >= 0)
        tc_map_put(&p->failed, (uintptr_t)e, (uintptr_t)steps);
    return done;
}

static void add_scale(prover *p, const tc_affine *scale) {
    for (int i = 0; i < p->nscale; i++)
        if (tc_affine_same_terms(&p->scale[i], scale) && p->scale[i].c == scale->c)
            return;
    if (p->nscale < MAX_SCALES)
        p->scale[p->nscale++] = *scale;
}

/* What the size of one dimension consists of, times that of those inside of it, `inner`: b * S + s < B * S is shown with S. */
static void add_factors(prover *p, const tc_affine *size, const tc_affine *inner) {
    const tc_expr *f[MAX_FACTORS];
    for (int i = 0; i < size->n; i++) {
        int n = factors_of(size->term[i].atom, f, 0);
        for (int j = 0; j < n && n <= MAX_FACTORS; j++) {
            tc_affine factor = {.n = 1, .term = {{f[j], 1}}}, scale = {0};
            if ((n > 1 || size->n > 1 || size->term[i].coef != 1) && add_product(p->v->c, &scale, &factor, inner, 1))
                add_scale(p, &scale);
        }
    }
}

/* x - y is negative. */
static bool less(prover *p, const tc_expr *x, const tc_expr *y) {
    tc_affine form = {0};
    bool done = false, fits = expand(p->v, x, 1, &form) && expand(p->v, y, -1, &form);
    for (size_t i = 0; i < TC_LEN(effort) && fits && !done; i++) {
        p->budget = effort[i].forms;
        done = negative(p, &form, effort[i].steps);
    }
    tc_map_free(&p->failed);
    return done;
}

bool tc_te_in_size(const tc_premises *k, const tc_expr *index, const tc_tensor *t) {
    prover p = {.v = k};
    tc_affine inner = {.c = 1}, total = {.c = 1};
    add_scale(&p, &inner);
    for (int d = t->ndim - 1; d >= 0; d--) {
        tc_affine size = {0}, more = {0}, all = {0};
        if (!expand(k, t->symbol[d] ? tc_varx(k->c, t->symbol[d]) : tc_i64(k->c, t->shape[d]), 1, &size) ||
            !add_product(k->c, &all, &total, &size, 1))
            return false;
        total = all;
        if (size.n == 0)
            continue;
        add_factors(&p, &size, &inner);
        if (!add_product(k->c, &more, &inner, &size, 1))
            return false;
        inner = more;
        if (d > 0)
            add_scale(&p, &inner);
    }
    return less(&p, tc_i64(k->c, -1), index) && less(&p, index, tc_te_from_affine(k->c, &total));
}

bool tc_te_below(const tc_premises *k, const tc_expr *index, const tc_expr *size) {
    prover p = {.v = k};
    tc_affine one = {.c = 1}, a = {0};
    add_scale(&p, &one);
    if (expand(k, size, 1, &a))
        add_factors(&p, &a, &one);
    return less(&p, tc_i64(k->c, -1), index) && less(&p, index, size);
}
