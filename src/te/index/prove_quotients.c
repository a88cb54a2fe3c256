/* Writes quotients as sums of the quotients in conditions. Simplification of an index merges strides that are multiples of each
 * other: x / 3328 * 2496 + x / 128 % 26 * 96 + x / 64 % 2 * 48 becomes x / 64 * 48. Conditions still bound x / 3328 and x / 128
 * % 26, so proofs need the sum again. A variable is its quotient by 1. */
#include <stdlib.h>

#include "te/index/prove_int.h"
#include "te/te_int.h"

enum { MOST_DIVISORS = 8 };

/* What conditions divide a dividend by. */
typedef struct divisors {
    const tc_expr *dividend;
    int n;
    int64_t by[MOST_DIVISORS];
} divisors;

static void find_divisor(const tc_expr *e, void *user) {
    divisors *d = user;
    if (e->op == TC_OP_DIV && e->args[0] == d->dividend && e->args[1]->op == TC_OP_INT && e->args[1]->u.i > 0 &&
        d->n < MOST_DIVISORS)
        d->by[d->n++] = e->args[1]->u.i;
}

static int by_size(const void *a, const void *b) {
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* a += k * (x / n) as x / m * (m / n) and what is left: for the next larger m among the divisors that n divides, the digit x / n
 * % (m / n). */
static bool add_digits(tc_ctx *c, const divisors *d, int64_t n, int64_t k, tc_affine *a) {
    const tc_expr *quotient = tc_div(c, d->dividend, tc_i64(c, n));
    int at = 0;
    while (at < d->n && (d->by[at] <= n || d->by[at] % n))
        at++;
    if (at == d->n)
        return tc_affine_linear(a, quotient, k);
    int64_t base = d->by[at] / n, more;
    return !__builtin_mul_overflow(k, base, &more) && tc_affine_linear(a, tc_mod(c, quotient, tc_i64(c, base)), k) &&
           add_digits(c, d, d->by[at], more, a);
}

bool te_split_quotients(const tc_premises *v, const tc_affine *x, tc_affine *out) {
    bool split = false, fits = true;
    *out = (tc_affine){.c = x->c};
    for (int i = 0; i < x->n && fits; i++) {
        const tc_expr *e = x->term[i].atom;
        bool divides = e->op == TC_OP_DIV && e->args[1]->op == TC_OP_INT && e->args[1]->u.i > 0;
        divisors d = {0};
        if (divides || e->op == TC_OP_VAR) {
            d.dividend = divides ? e->args[0] : e;
            for (size_t k = 0; k < v->nknown; k++)
                tc_expr_walk(v->known[k].cond, find_divisor, &d);
            qsort(d.by, (size_t)d.n, sizeof d.by[0], by_size);
        }
        int terms = out->n;
        fits = d.n ? add_digits(v->c, &d, divides ? e->args[1]->u.i : 1, x->term[i].coef, out)
                   : tc_affine_linear(out, e, x->term[i].coef);
        split |= out->n > terms + 1;
    }
    return fits && split;
}
