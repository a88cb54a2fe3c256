/* Whether an index stays within a size that varies, for all values of the symbols.
 *
 * With dense arrays strides are products with symbols, and b * S * 64 + s * 64 + j < B * S * 64 follows from b < B, s < S and j < 64 in
 * steps: what is known says x <= 0 for sums x of variables and symbols, so x * scale <= 0 for every product of symbols that a stride
 * has. Each step takes such a sum from the form that is to be negative, so that a term goes and the form grows no smaller:
 *
 *     b*S*64 + s*64 + j - B*S*64      less (b*S - B*S + S) * 64:   s*64 + j - S*64      less (s - S + 1) * 64:   j - 64
 *
 * What is left is bounded by intervals. Products are compared with their factors in one order. */
#include <string.h>

#include "tir_lower/verify/verify_int.h"

enum { MAX_STEPS = 10, MAX_FORMS = 2000, MAX_FACTORS = 8, MAX_SCALES = TC_MAX_DIMS };

typedef struct prover {
    verifier *v;
    int budget;           /* forms that may still be looked at */
    const tc_expr *pivot; /* the term that is to go; NULL: one of symbols */
    int nscale;
    const tc_expr *scale[MAX_SCALES]; /* NULL: 1 */
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

static bool expand(verifier *v, const tc_expr *e, int64_t k, tc_affine *a);

/* a += k * x * y, term by term. */
static bool expand_product(verifier *v, const tc_expr *x, const tc_expr *y, int64_t k, tc_affine *a) {
    tc_affine p = {0}, q = {0};
    bool fits = expand(v, x, k, &p) && expand(v, y, 1, &q);
    for (int i = 0; i <= p.n && fits; i++)
        for (int j = 0; j <= q.n && fits; j++) {
            const tc_expr *f = i < p.n ? p.term[i].atom : NULL, *g = j < q.n ? q.term[j].atom : NULL;
            int64_t coef;
            fits = !__builtin_mul_overflow(f ? p.term[i].coef : p.c, g ? q.term[j].coef : q.c, &coef);
            if (fits && !f && !g)
                fits = !__builtin_add_overflow(a->c, coef, &a->c);
            else if (fits && coef)
                fits = tc_affine_linear(a, f && g ? in_order(v->c, tc_mul(v->c, f, g)) : f ? f : g, coef);
        }
    return fits;
}

/* The only value that a variable can have here; false: it can have several. */
static bool only_value(const verifier *v, const tc_expr *e, int64_t *value) {
    tc_ival r = e->op == TC_OP_VAR ? tc_env_get(v->env, e->u.var) : TC_IVAL_ALL;
    *value = r.lo;
    return tc_ival_point(r);
}

/* a += k * e */
static bool expand(verifier *v, const tc_expr *e, int64_t k, tc_affine *a) {
    int64_t n;
    if (e->op == TC_OP_ADD || e->op == TC_OP_SUB)
        return expand(v, e->args[0], k, a) && expand(v, e->args[1], e->op == TC_OP_SUB ? -k : k, a);
    if (e->op == TC_OP_MUL && e->args[1]->op == TC_OP_INT)
        return !__builtin_mul_overflow(k, e->args[1]->u.i, &n) && expand(v, e->args[0], n, a);
    if (only_value(v, e, &n))
        return !__builtin_mul_overflow(k, n, &n) && !__builtin_add_overflow(a->c, n, &a->c);
    return e->op == TC_OP_MUL ? expand_product(v, e->args[0], e->args[1], k, a) : tc_affine_linear(a, e, k);
}

/* a += k * x * scale */
static bool add_scaled(tc_ctx *c, tc_affine *a, const tc_affine *x, const tc_expr *scale, int64_t k) {
    int64_t coef;
    if (__builtin_mul_overflow(x->c, k, &coef))
        return false;
    bool fits = scale ? tc_affine_linear(a, in_order(c, scale), coef) : !__builtin_add_overflow(a->c, coef, &a->c);
    for (int i = 0; i < x->n && fits; i++)
        fits = !__builtin_mul_overflow(x->term[i].coef, k, &coef) &&
               tc_affine_linear(a, in_order(c, tir_scaled(c, x->term[i].atom, scale)), coef);
    return fits;
}

/* ---- steps ---- */

static bool negative(prover *p, const tc_affine *form, int steps);

/* Takes x * scale, where x <= 0, off the form, so that its term of x's atom `at` goes. */
static bool take(prover *p, const tc_affine *form, const tc_affine *x, const tc_expr *scale, int at, int steps) {
    const tc_term *t = &x->term[at];
    const tc_expr *product = in_order(p->v->c, tir_scaled(p->v->c, t->atom, scale));
    int64_t coef = tc_affine_coef(form, product);
    if ((p->pivot && product != p->pivot) || coef == 0 || coef % t->coef || coef / t->coef < 0)
        return false;
    tc_affine less = *form;
    return add_scaled(p->v->c, &less, x, scale, -(coef / t->coef)) && negative(p, &less, steps - 1);
}

static bool is_symbol(const tc_expr *e) {
    return e->op == TC_OP_VAR && e->u.var->is_symbol;
}

/* Of symbols alone: 5 <= N says that 5 * S <= N * S. */
static bool use_of_symbols(prover *p, const tc_affine *form, const tc_affine *x, int steps) {
    for (int s = 0; s < p->nscale; s++)
        for (int i = 0; i < x->n; i++)
            if (take(p, form, x, p->scale[s], i, steps))
                return true;
    for (int s = 0; s < p->nscale; s++) {
        int64_t coef = p->scale[s] ? tc_affine_coef(form, in_order(p->v->c, p->scale[s])) : 0;
        tc_affine less = *form;
        if (x->c <= 0 || coef <= 0)
            continue;
        int64_t k = (coef - 1) / x->c + 1; /* what is too much of it is negative */
        if (add_scaled(p->v->c, &less, x, p->scale[s], -k) && negative(p, &less, steps - 1))
            return true;
    }
    return false;
}

static bool use(prover *p, const tc_affine *form, const tc_affine *x, int steps) {
    bool symbols = true;
    for (int i = 0; i < x->n; i++)
        symbols &= is_symbol(x->term[i].atom);
    if (symbols)
        return !p->pivot && use_of_symbols(p, form, x, steps);
    for (int s = 0; s < p->nscale; s++)
        for (int i = 0; i < x->n; i++)
            if (!is_symbol(x->term[i].atom) && take(p, form, x, p->scale[s], i, steps))
                return true;
    return false;
}

/* y <= r where y / c is in the form says y / c <= floor(r / c), which is a sum where c divides r's terms. */
static bool quotient(const tc_expr *e, const tc_affine *x, tc_affine *out) {
    *out = *x;
    if (e->op != TC_OP_DIV || e->args[1]->op != TC_OP_INT || e->args[1]->u.i <= 0 || !tc_affine_linear(out, e->args[0], -1))
        return false;
    int64_t c = e->args[1]->u.i;
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
        if (quotient(f[k], x, &q) && use(p, form, &q, steps))
            return true;
    return false;
}

/* x <= 0 from a comparison that holds, or does not; false: it says no such thing. */
static bool at_most_zero(verifier *v, const known_cond *k, tc_affine *x) {
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
        if (is_symbol(x->term[i].atom))
            return true;
    return false;
}

/* Conditions that name symbols, or those that do not. */
static bool use_cond(prover *p, const tc_affine *form, known_cond k, bool of_symbols, int steps) {
    tc_affine x;
    bool both = (k.cond->op == TC_OP_AND && k.holds) || (k.cond->op == TC_OP_OR && !k.holds);
    if (both)
        return use_cond(p, form, (known_cond){k.cond->args[0], k.holds}, of_symbols, steps) ||
               use_cond(p, form, (known_cond){k.cond->args[1], k.holds}, of_symbols, steps);
    if (!at_most_zero(p->v, &k, &x) || names_symbol(&x) != of_symbols)
        return false;
    return use(p, form, &x, steps) || use_quotients(p, form, &x, steps);
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
        if ((tc_ival_bounded(r) && use(p, form, &x, steps)) || use_definition(p, form, f[k], more, steps))
            return true;
    }
    return false;
}

static bool use_conds(prover *p, const tc_affine *form, bool of_symbols, int steps) {
    for (size_t i = p->v->known.len; i-- > 0;)
        if (use_cond(p, form, p->v->known.data[i], of_symbols, steps))
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
    if (eliminate_variable(p, form, p->v->lane, steps))
        return true;
    for (size_t i = p->v->loops.len; i-- > 0;)
        if (eliminate_variable(p, form, p->v->loops.data[i], steps))
            return true;
    p->pivot = NULL;
    for (int i = 0; i < form->n; i++)
        if (use_ranges(p, form, &form->term[i], steps))
            return true;
    return use_conds(p, form, true, steps);
}

static bool negative(prover *p, const tc_affine *form, int steps) {
    if (tc_te_bounds(tc_te_from_affine(p->v->c, form), p->v->env).hi < 0)
        return true;
    const tc_expr *pivot = p->pivot;
    bool done = steps > 0 && --p->budget >= 0 && eliminate(p, form, steps);
    p->pivot = pivot;
    return done;
}

static void add_scale(prover *p, const tc_expr *scale) {
    for (int i = 0; i < p->nscale; i++)
        if (p->scale[i] == scale)
            return;
    if (p->nscale < MAX_SCALES)
        p->scale[p->nscale++] = scale;
}

/* x - y is negative. */
static bool less(prover *p, const tc_expr *x, const tc_expr *y) {
    tc_affine form = {0};
    p->budget = MAX_FORMS;
    return expand(p->v, x, 1, &form) && expand(p->v, y, -1, &form) && negative(p, &form, MAX_STEPS);
}

bool verify_in_size(verifier *v, const tc_expr *index, const tc_buffer *b) {
    int64_t known;
    prover p = {.v = v};
    const tc_expr *scale = NULL;
    for (int d = b->tensor->ndim - 1; d >= 0; d--) {
        add_scale(&p, scale);
        const tc_expr *size = b->tensor->symbol[d] ? tc_varx(v->c, b->tensor->symbol[d]) : NULL;
        if (size && !only_value(v, size, &known))
            scale = tir_scaled(v->c, size, scale);
    }
    return less(&p, tc_i64(v->c, -1), index) && less(&p, index, tc_tir_size(v->c, b));
}
