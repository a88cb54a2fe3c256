/* Sums of products in the form that proofs use: factors in one order, sizes multiplied out. */
#include <stdlib.h>

#include "te/index/prove_int.h"
#include "te/te_int.h"

int te_factors_of(const tc_expr *e, const tc_expr **out, int n) {
    if (e->op != TC_OP_MUL || n == MAX_FACTORS) {
        if (n < MAX_FACTORS)
            out[n] = e;
        return n + 1;
    }
    return te_factors_of(e->args[1], out, te_factors_of(e->args[0], out, n));
}

static const tc_expr *in_order(tc_ctx *c, const tc_expr *e) {
    const tc_expr *f[MAX_FACTORS], *product = NULL;
    int n = te_factors_of(e, f, 0);
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
const tc_expr *te_times(tc_ctx *c, const tc_expr *x, const tc_expr *y) {
    return x && y ? in_order(c, tc_mul(c, x, y)) : x ? x : y;
}

bool te_divide_term(tc_ctx *c, const tc_term *x, const tc_affine *y, tc_term *q) {
    const tc_expr *f[MAX_FACTORS], *by[MAX_FACTORS];
    int n = te_factors_of(x->atom, f, 0), m = y->n ? te_factors_of(y->term[0].atom, by, 0) : 0;
    int64_t each = y->n ? y->term[0].coef : y->c;
    if (n > MAX_FACTORS || m > MAX_FACTORS || each == 0 || x->coef % each)
        return false;
    for (int i = 0; i < m; i++) {
        int at = 0;
        while (at < n && f[at] != by[i])
            at++;
        if (at == n)
            return false;
        f[at] = f[--n];
    }
    *q = (tc_term){NULL, x->coef / each};
    for (int i = 0; i < n; i++)
        q->atom = te_times(c, q->atom, f[i]);
    return true;
}

/* a += k * x * y */
bool te_add_product(tc_ctx *c, tc_affine *a, const tc_affine *x, const tc_affine *y, int64_t k) {
    bool fits = true;
    for (int i = 0; i <= x->n && fits; i++)
        for (int j = 0; j <= y->n && fits; j++) {
            int64_t coef = i < x->n ? x->term[i].coef : x->c;
            const tc_expr *term = te_times(c, i < x->n ? x->term[i].atom : NULL, j < y->n ? y->term[j].atom : NULL);
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
bool te_only_value(const tc_premises *v, const tc_expr *e, int64_t *value) {
    tc_ival r = e->op == TC_OP_VAR ? tc_env_get(v->env, e->u.var) : TC_IVAL_ALL;
    *value = r.lo;
    return tc_ival_point(r);
}

static bool is_remainder_of_size(const tc_expr *e) {
    return e->op == TC_OP_MOD && e->args[1]->op == TC_OP_INT && e->args[1]->u.i > 0 && tc_expr_is_of_symbols(e->args[0]);
}

bool te_is_quotient_of_sizes(const tc_expr *e) {
    return e->op == TC_OP_DIV && e->args[1]->op == TC_OP_INT && e->args[1]->u.i > 0 && tc_expr_is_of_symbols(e->args[0]);
}

bool te_add_quotient(tc_ctx *c, const tc_affine *x, int64_t n, int64_t k, tc_affine *a) {
    tc_affine rest = {.c = tc_floor_mod(x->c, n)};
    int64_t whole, both;
    bool fits = !__builtin_mul_overflow(tc_floor_div(x->c, n), k, &whole) && !__builtin_add_overflow(a->c, whole, &a->c);
    for (int i = 0; i < x->n && fits; i++) {
        whole = tc_floor_div(x->term[i].coef, n);
        fits = !__builtin_mul_overflow(whole, k, &both) && (both == 0 || tc_affine_linear(a, x->term[i].atom, both)) &&
               tc_affine_term(&rest, x->term[i].atom, x->term[i].coef - whole * n);
    }
    if (!fits || rest.n == 0)
        return fits;
    int64_t common = n; /* 2 * S / 4 is S / 2 */
    for (int i = 0; i < rest.n; i++)
        common = tc_gcd(common, rest.term[i].coef);
    for (int i = 0; i < rest.n; i++)
        rest.term[i].coef /= common;
    rest.c /= common;
    n /= common;
    const tc_expr *only = rest.n == 1 && rest.term[0].coef == 1 ? rest.term[0].atom : NULL;
    if (only && te_is_quotient_of_sizes(only) && !__builtin_mul_overflow(n, only->args[1]->u.i, &both)) {
        tc_affine inner = {0}; /* (y / m + r) / n is (y + r * m) / (n * m) */
        return tc_affine_linear(&inner, only->args[0], 1) && !__builtin_mul_overflow(rest.c, only->args[1]->u.i, &whole) &&
               !__builtin_add_overflow(inner.c, whole, &inner.c) && te_add_quotient(c, &inner, both, k, a);
    }
    return tc_affine_linear(a, tc_div(c, tc_te_from_affine(c, &rest), tc_i64(c, n)), k);
}

/* Another number than the sum that it is written as, since i64 wraps. What is unbounded but for data is taken not to (te/expr.h);
 * data that stand alone are what they are. */
static bool may_wrap(const tc_premises *v, const tc_affine *a) {
    bool alone = a->n == 1 && a->c == 0 && tc_magnitude(a->term[0].coef) == 1;
    int64_t sum = tc_magnitude(a->c);
    for (int i = 0; i < a->n; i++) {
        const tc_term *t = &a->term[i];
        tc_ival r = tc_te_bounds(t->atom, v->env);
        int64_t most = tc_ival_bounded(r) ? TC_MAX(tc_magnitude(r.lo), tc_magnitude(r.hi)) : 1;
        if (!tc_ival_bounded(r) && !alone && tc_expr_touches_memory(t->atom))
            return true;
        if (__builtin_mul_overflow(most, tc_magnitude(t->coef), &most) || __builtin_add_overflow(sum, most, &sum))
            return true;
    }
    return sum > TE_EXACT_MOST;
}

/* a += k * e, of whole numbers */
static bool multiply_out(const tc_premises *v, const tc_expr *e, int64_t k, tc_affine *a) {
    int64_t n;
    if (k == INT64_MIN)
        return false;
    if (e->op == TC_OP_ADD || e->op == TC_OP_SUB)
        return multiply_out(v, e->args[0], k, a) && multiply_out(v, e->args[1], e->op == TC_OP_SUB ? -k : k, a);
    if (e->op == TC_OP_MUL && e->args[1]->op == TC_OP_INT)
        return !__builtin_mul_overflow(k, e->args[1]->u.i, &n) && multiply_out(v, e->args[0], n, a);
    if (is_remainder_of_size(e)) /* N % 64 is N - N / 64 * 64 */
        return !__builtin_mul_overflow(-k, e->args[1]->u.i, &n) && te_expand(v, e->args[0], k, a) &&
               te_expand(v, tc_div(v->c, e->args[0], e->args[1]), n, a);
    if (te_only_value(v, e, &n))
        return !__builtin_mul_overflow(k, n, &n) && !__builtin_add_overflow(a->c, n, &a->c);
    tc_affine x = {0}, y = {0};
    if (te_is_quotient_of_sizes(e) && tc_ival_bounded(tc_te_bounds(e->args[0], v->env)))
        return te_expand(v, e->args[0], 1, &x) && te_add_quotient(v->c, &x, e->args[1]->u.i, k, a);
    if (e->op != TC_OP_MUL)
        return tc_affine_linear(a, e, k);
    return te_expand(v, e->args[0], 1, &x) && te_expand(v, e->args[1], 1, &y) && te_add_product(v->c, a, &x, &y, k);
}

bool te_expand(const tc_premises *v, const tc_expr *e, int64_t k, tc_affine *a) {
    tc_affine x = {0};
    return multiply_out(v, e, 1, &x) && !may_wrap(v, &x) && tc_affine_add(a, &x, k);
}
