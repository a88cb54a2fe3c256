/* i64 vectors whose lanes are an arithmetic progression stay ramps through + - * / %. Operations on equal lanes become one
 * scalar operation. The first and the last lane decide a comparison of ramps. */
#include "te/index/simplify_int.h"

#include <stdlib.h>

/* base and stride of an i64 vector that is a ramp or a broadcast. */
static bool as_ramp(simplifier *s, const tc_expr *e, const tc_expr **base, const tc_expr **stride) {
    if (e->op != TC_OP_RAMP && e->op != TC_OP_BCAST)
        return false;
    *base = e->args[0];
    *stride = e->op == TC_OP_RAMP ? e->args[1] : tc_i64(s->c, 0);
    return true;
}

static const tc_expr *make_ramp(simplifier *s, const tc_expr *base, const tc_expr *stride, int lanes) {
    base = te_simp(s, base);
    stride = te_simp(s, stride);
    return tc_is_int(stride, 0) ? tc_bcast(s->c, base, lanes) : tc_ramp(s->c, base, stride, lanes);
}

/* No lane of base + stride * lane wraps. */
static bool exact_ramp(simplifier *s, const tc_expr *base, int64_t stride, int lanes) {
    tc_affine a = {0};
    int64_t last;
    if (stride == INT64_MIN || __builtin_mul_overflow(tc_magnitude(stride), lanes, &last) || !tc_affine_linear(&a, base, 1))
        return false;
    int64_t most = te_magnitude(s->r, &a);
    return last <= TE_EXACT_MOST && most <= TE_EXACT_MOST - last;
}

/* ramp / c and ramp % c where all lanes fall between two multiples of c, or the stride is a multiple of c. */
static const tc_expr *ramp_divmod(simplifier *s, const tc_expr *e, const tc_expr *base, const tc_expr *stride, const tc_expr *d) {
    if (d->op != TC_OP_INT || d->u.i <= 0 || stride->op != TC_OP_INT || !exact_ramp(s, base, stride->u.i, e->lanes))
        return NULL;
    bool quotient = e->op == TC_OP_DIV;
    if (stride->u.i % d->u.i == 0)
        return make_ramp(s, tc_bin(s->c, e->op, base, d), tc_i64(s->c, quotient ? stride->u.i / d->u.i : 0), e->lanes);
    const tc_expr *last = tc_add(s->c, base, tc_i64(s->c, stride->u.i * (e->lanes - 1)));
    const tc_expr *q = te_simp(s, tc_div(s->c, base, d));
    if (q != te_simp(s, tc_div(s->c, last, d)))
        return NULL;
    return quotient ? tc_bcast(s->c, q, e->lanes) : make_ramp(s, tc_mod(s->c, base, d), stride, e->lanes);
}

static const tc_expr *simp_ramps(simplifier *s, const tc_expr *e) {
    const tc_expr *a, *b, *sa, *sb;
    if (e->dtype != TC_I64 || e->nargs != 2 || !as_ramp(s, e->args[0], &a, &sa) || !as_ramp(s, e->args[1], &b, &sb))
        return NULL;
    if (e->op == TC_OP_ADD || e->op == TC_OP_SUB)
        return make_ramp(s, tc_bin(s->c, e->op, a, b), tc_bin(s->c, e->op, sa, sb), e->lanes);
    if ((e->op == TC_OP_DIV || e->op == TC_OP_MOD) && tc_is_int(sb, 0))
        return ramp_divmod(s, e, a, sa, b);
    if (e->op == TC_OP_MUL && tc_is_int(sb, 0))
        return make_ramp(s, tc_mul(s->c, a, b), tc_mul(s->c, sa, b), e->lanes);
    return e->op == TC_OP_MUL && tc_is_int(sa, 0) ? make_ramp(s, tc_mul(s->c, a, b), tc_mul(s->c, a, sb), e->lanes) : NULL;
}

/* Operations on equal lanes are one scalar operation. */
static const tc_expr *simp_broadcasts(simplifier *s, const tc_expr *e) {
    const tc_expr *args[3];
    if (e->lanes == 1 || e->nargs == 0 || (tc_op_traits(e->op) & TC_VECTOR) || (e->op == TC_OP_LOAD && e->nargs == 2))
        return NULL;
    for (int i = 0; i < e->nargs; i++) {
        if (e->args[i]->op != TC_OP_BCAST)
            return NULL;
        args[i] = e->args[i]->args[0];
    }
    return tc_bcast(s->c, te_simp(s, tc_with_args(s->c, e, args)), e->lanes);
}

/* The lanes of a comparison of ramps lie between its first and its last one. */
static const tc_expr *simp_ramp_comparison(simplifier *s, const tc_expr *e) {
    const tc_expr *a, *b, *sa, *sb;
    if (!(tc_op_traits(e->op) & TC_COMPARE) || e->nargs != 2 || e->lanes == 1 || e->args[0]->dtype != TC_I64 ||
        !as_ramp(s, e->args[0], &a, &sa) || !as_ramp(s, e->args[1], &b, &sb) || sa->op != TC_OP_INT || sb->op != TC_OP_INT)
        return NULL;
    if (e->op == TC_OP_EQ || e->op == TC_OP_NE || !exact_ramp(s, a, sa->u.i, e->lanes) || !exact_ramp(s, b, sb->u.i, e->lanes))
        return NULL;
    int64_t travel = (sa->u.i - sb->u.i) * (e->lanes - 1);
    const tc_expr *first = te_simp(s, tc_bin(s->c, e->op, a, b)),
                  *last = te_simp(s, tc_bin(s->c, e->op, tc_add(s->c, a, tc_i64(s->c, travel)), b));
    return first == last && first->op == TC_OP_INT ? tc_bcast(s->c, first, e->lanes) : NULL;
}

const tc_expr *te_simp_vector(simplifier *s, const tc_expr *e) {
    const tc_expr *r = simp_ramps(s, e);
    if (!r)
        r = simp_broadcasts(s, e);
    return r ? r : simp_ramp_comparison(s, e);
}
