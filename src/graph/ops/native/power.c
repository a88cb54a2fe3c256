/* Pow as an expression: the exponent has a type of its own, and known exponents become products. */
#include <math.h>

#include "graph/ops/functions.h"

typedef struct elem {
    tc_ctx *c;
    tc_dtype t; /* computed in */
} elem;

static const tc_expr *num(const elem *e, double v) {
    return tc_imm(e->c, e->t, v);
}

static const tc_expr *bin(const elem *e, tc_op op, const tc_expr *a, const tc_expr *b) {
    return tc_bin(e->c, op, a, b);
}

static const tc_expr *pick(const elem *e, const tc_expr *cond, const tc_expr *a, const tc_expr *b) {
    return tc_select(e->c, cond, a, b);
}

static const tc_expr *less(const elem *e, const tc_expr *a, const tc_expr *b) {
    return bin(e, TC_OP_LT, a, b);
}

static const tc_expr *int_power(const elem *e, const tc_expr *a, int64_t k) {
    const tc_expr *r = NULL;
    for (; k; k >>= 1, a = bin(e, TC_OP_MUL, a, a))
        if (k & 1)
            r = r ? bin(e, TC_OP_MUL, r, a) : a;
    return r ? r : num(e, 1);
}

/* Known exponents become multiplications and quotients; te's pow has the square root. Each product doubles the error: the third
 * power in f32, and the eighth in f64, are still within the bounds of te/accuracy.def. NULL: pow computes the power. */
static const tc_expr *known_power(const elem *e, const tc_expr *a, const tc_expr *b) {
    double k = b->op == TC_OP_FLOAT ? b->u.f : b->op == TC_OP_INT ? (double)b->u.i : (double)NAN;
    bool floats = tc_dtype_is_float(e->t);
    elem wide = *e;
    wide.t = TC_F64;
    if (k == floor(k) && k >= 0 && k <= (e->t == TC_F64 ? 8 : 16))
        return e->t == TC_F32 && k > 3 ? tc_cast(e->c, e->t, int_power(&wide, tc_cast(e->c, TC_F64, a), (int64_t)k))
                                       : int_power(e, a, (int64_t)k);
    if (!floats || (k != -1 && fabs(k) != 0.5))
        return NULL;
    const tc_expr *root = k == -1 ? a : bin(e, TC_OP_POW, a, num(e, 0.5));
    return k < 0 ? bin(e, TC_OP_DIV, num(e, 1), root) : root;
}

/* r is pow(a, f64(b)) for a 64-bit integer b. f64 rounds odd integers beyond 2^53 to even ones, and pow then loses the sign of a.
 * This puts the sign back. */
static const tc_expr *signed_power(const elem *e, const tc_expr *r, const tc_expr *a, const tc_expr *b) {
    tc_ctx *c = e->c;
    const tc_expr *zero = tc_imm(c, TC_F64, 0), *one = tc_int(c, b->dtype, 1), *odd_from = tc_int(c, b->dtype, (int64_t)1 << 53);
    const tc_expr *odd = bin(e, TC_OP_EQ, bin(e, TC_OP_BAND, b, one), one), *huge = bin(e, TC_OP_GT, b, odd_from);
    const tc_expr *of_zero = a;
    if (b->dtype == TC_I64) {
        huge = bin(e, TC_OP_OR, huge, less(e, b, tc_int(c, b->dtype, -((int64_t)1 << 53))));
        of_zero = pick(e, less(e, b, tc_int(c, b->dtype, 0)), bin(e, TC_OP_DIV, tc_imm(c, TC_F64, 1), a), a);
    }
    const tc_expr *turned = pick(e, less(e, a, zero), bin(e, TC_OP_MUL, r, tc_imm(c, TC_F64, -1)), r);
    return pick(e, bin(e, TC_OP_AND, odd, huge), pick(e, bin(e, TC_OP_EQ, a, zero), of_zero, turned), r);
}

/* Computed in f64 where f32 would round the exponent. */
static const tc_expr *float_power(const elem *e, const tc_expr *a, const tc_expr *b) {
    bool integer = !tc_dtype_is_float(b->dtype), is_long = integer && tc_dtype_bytes(b->dtype) == 8;
    tc_dtype t = b->dtype == TC_F64 || (integer && tc_dtype_bytes(b->dtype) >= 4) ? TC_F64 : e->t;
    const tc_expr *base = tc_cast(e->c, t, a), *r = bin(e, TC_OP_POW, base, tc_cast(e->c, t, b));
    return tc_cast(e->c, e->t, is_long ? signed_power(e, r, base, b) : r);
}

/* An integer to the power of an integer, which wraps: in 64 bits where the base's type does not hold all exponents. */
static const tc_expr *integer_power(const elem *e, const tc_expr *a, const tc_expr *b) {
    bool wider = tc_dtype_bytes(b->dtype) > tc_dtype_bytes(e->t);
    bool other_sign = tc_dtype_is_signed(e->t) != tc_dtype_is_signed(b->dtype);
    bool holds = !wider && (!other_sign || (tc_dtype_is_signed(e->t) && tc_dtype_bytes(b->dtype) < tc_dtype_bytes(e->t)));
    tc_dtype t = holds ? e->t : e->t == TC_U64 || b->dtype == TC_U64 ? TC_U64 : TC_I64;
    const tc_expr *r = bin(e, TC_OP_POW, tc_cast(e->c, t, a), tc_cast(e->c, t, b));
    if (t == TC_U64 && tc_dtype_is_signed(b->dtype)) { /* negative powers round towards 0 */
        const tc_expr *one = tc_int(e->c, t, 1), *zero = tc_int(e->c, t, 0);
        const tc_expr *whole = pick(e, bin(e, TC_OP_EQ, tc_cast(e->c, t, a), one), one, zero);
        r = pick(e, less(e, b, tc_int(e->c, b->dtype, 0)), whole, r);
    }
    return tc_cast(e->c, e->t, r);
}

static const tc_expr *power(const elem *e, const tc_expr *a, const tc_expr *b) {
    const tc_expr *known = known_power(e, a, b);
    return known ? known : tc_dtype_is_float(e->t) ? float_power(e, a, b) : integer_power(e, a, b);
}

/* The exponent keeps its own type. Where it is a float and the base is none, both are computed in f64. */
const tc_expr *tc_graph_at_pow(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    int ndim = n->out[0]->shape.ndim;
    tc_dtype to = n->out[out]->dtype;
    elem e = {tc_graph_lower_ctx(l), tc_graph_wide(to)};
    const tc_expr *a = tc_graph_operand(l, n, 0, ndim, idx), *b = tc_graph_operand(l, n, 1, ndim, idx);
    if (!tc_dtype_is_float(to) && tc_dtype_is_float(n->in[1]->dtype))
        e.t = TC_F64;
    return tc_cast(e.c, to, power(&e, tc_cast(e.c, e.t, a), b));
}
