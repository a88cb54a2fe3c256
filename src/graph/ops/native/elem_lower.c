/* Elementwise operators as expressions: an operation or a formula each, in tables by operator. Floats narrower than f32 are
 * computed in f32 and rounded once. */
#include "graph/ops/functions.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef struct elem {
    tc_graph_lower *l;
    tc_ctx *c;
    const tc_graph_node *n;
    tc_dtype t; /* computed in */
} elem;

static const tc_expr *num(const elem *e, double v) {
    return tc_imm(e->c, e->t, v);
}

static const tc_expr *un(const elem *e, tc_op op, const tc_expr *x) {
    return tc_un(e->c, op, x);
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

/* ---- one operand ---- */

static const tc_expr *sign_of(const elem *e, const tc_expr *x) {
    const tc_expr *zero = num(e, 0), *below = x;
    if (tc_dtype_is_signed(e->t))
        below = pick(e, less(e, x, zero), num(e, -1), x);
    return pick(e, bin(e, TC_OP_GT, x, zero), num(e, 1), below);
}

static const tc_expr *negated(const elem *e, const tc_expr *x) {
    return tc_dtype_is_float(e->t) ? bin(e, TC_OP_MUL, x, num(e, -1)) : bin(e, TC_OP_SUB, num(e, 0), x);
}

static const tc_expr *infinite(const elem *e, const tc_expr *x) {
    bool neg = tc_graph_attr_detect_negative(e->n), pos = tc_graph_attr_detect_positive(e->n);
    const tc_expr *inf = un(e, TC_OP_ISINF, x);
    if (!neg)
        inf = bin(e, TC_OP_AND, inf, bin(e, TC_OP_GT, x, num(e, 0)));
    if (!pos)
        inf = bin(e, TC_OP_AND, inf, less(e, x, num(e, 0)));
    return inf;
}

static const tc_expr *absolute(const elem *e, const tc_expr *x) {
    return tc_dtype_is_signed(e->t) ? un(e, TC_OP_ABS, x) : x;
}

static const tc_expr *reciprocal(const elem *e, const tc_expr *x) {
    return bin(e, TC_OP_DIV, num(e, 1), x);
}

static const tc_expr *relu(const elem *e, const tc_expr *x) {
    return tc_dtype_is_signed(e->t) ? bin(e, TC_OP_MAX, x, num(e, 0)) : x;
}

static const tc_expr *inverted(const elem *e, const tc_expr *x) {
    return bin(e, TC_OP_BXOR, x, tc_int(e->c, e->t, -1));
}

typedef const tc_expr *unary_formula(const elem *e, const tc_expr *x);

static const struct {
    unary_formula *formula; /* or else */
    tc_op op;
} unaries[TC_GRAPH_OP_COUNT] = {
    [TC_GRAPH_OP_ABS] = {.formula = absolute},
    [TC_GRAPH_OP_ACOS] = {.op = TC_OP_ACOS},
    [TC_GRAPH_OP_ACOSH] = {.op = TC_OP_ACOSH},
    [TC_GRAPH_OP_ASIN] = {.op = TC_OP_ASIN},
    [TC_GRAPH_OP_ASINH] = {.op = TC_OP_ASINH},
    [TC_GRAPH_OP_ATAN] = {.op = TC_OP_ATAN},
    [TC_GRAPH_OP_ATANH] = {.op = TC_OP_ATANH},
    [TC_GRAPH_OP_CEIL] = {.op = TC_OP_CEIL},
    [TC_GRAPH_OP_COS] = {.op = TC_OP_COS},
    [TC_GRAPH_OP_COSH] = {.op = TC_OP_COSH},
    [TC_GRAPH_OP_ERF] = {.op = TC_OP_ERF},
    [TC_GRAPH_OP_EXP] = {.op = TC_OP_EXP},
    [TC_GRAPH_OP_FLOOR] = {.op = TC_OP_FLOOR},
    [TC_GRAPH_OP_LOG] = {.op = TC_OP_LOG},
    [TC_GRAPH_OP_NEG] = {.formula = negated},
    [TC_GRAPH_OP_RECIPROCAL] = {.formula = reciprocal},
    [TC_GRAPH_OP_RELU] = {.formula = relu},
    [TC_GRAPH_OP_ROUND] = {.op = TC_OP_ROUND},
    [TC_GRAPH_OP_SIGMOID] = {.op = TC_OP_SIGMOID},
    [TC_GRAPH_OP_SIGN] = {.formula = sign_of},
    [TC_GRAPH_OP_SIN] = {.op = TC_OP_SIN},
    [TC_GRAPH_OP_SINH] = {.op = TC_OP_SINH},
    [TC_GRAPH_OP_SQRT] = {.op = TC_OP_SQRT},
    [TC_GRAPH_OP_TAN] = {.op = TC_OP_TAN},
    [TC_GRAPH_OP_TANH] = {.op = TC_OP_TANH},
    [TC_GRAPH_OP_IS_INF] = {.formula = infinite},
    [TC_GRAPH_OP_IS_NAN] = {.op = TC_OP_ISNAN},
    [TC_GRAPH_OP_NOT] = {.op = TC_OP_NOT},
    [TC_GRAPH_OP_BITWISE_NOT] = {.formula = inverted},
};

static const tc_expr *unary(const elem *e, const tc_expr *x) {
    unary_formula *f = unaries[e->n->op].formula;
    return f ? f(e, x) : un(e, unaries[e->n->op].op, x);
}

/* erf of an integer is 0, 1 or -1 times erf(1) and more, truncated: 0. */
static bool integer_erf(const tc_graph_node *n) {
    return n->op == TC_GRAPH_OP_ERF && !tc_dtype_is_float(n->in[0]->dtype);
}

static elem elem_of(tc_graph_lower *l, const tc_graph_node *n, tc_dtype t) {
    return (elem){l, tc_graph_lower_ctx(l), n, t};
}

const tc_expr *tc_graph_at_unary(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    tc_dtype from = n->in[0]->dtype, to = n->out[out]->dtype;
    elem e = elem_of(l, n, tc_graph_wide(from));
    const tc_expr *x = tc_cast(e.c, e.t, tc_graph_operand(l, n, 0, n->out[0]->shape.ndim, idx));
    if (integer_erf(n)) {
        elem f = elem_of(l, n, TC_F64);
        return tc_cast(e.c, to, un(&f, TC_OP_TRUNC, un(&f, TC_OP_ERF, tc_cast(e.c, TC_F64, x))));
    }
    return tc_cast(e.c, to, unary(&e, x));
}

static const tc_expr *scaled(const elem *e, const tc_expr *x, double by) {
    return bin(e, TC_OP_MUL, x, num(e, by));
}

static const tc_expr *clamp01(const elem *e, const tc_expr *x) {
    return bin(e, TC_OP_MIN, bin(e, TC_OP_MAX, x, num(e, 0)), num(e, 1));
}

/* exp(-|x|) */
static const tc_expr *down(const elem *e, const tc_expr *x) {
    return un(e, TC_OP_EXP, negated(e, un(e, TC_OP_ABS, x)));
}

static const tc_expr *softplus(const elem *e, const tc_expr *x) {
    return bin(e, TC_OP_ADD, bin(e, TC_OP_MAX, x, num(e, 0)), un(e, TC_OP_LOG1P, down(e, x)));
}

/* x ncdf(x); with tanh: x / 2 (1 + tanh(y)) = x sigmoid(2 y). Nothing cancels. */
static const tc_expr *gelu(const elem *e, const tc_expr *x) {
    if (strcmp(tc_graph_attr_approximate(e->n), "tanh") != 0)
        return bin(e, TC_OP_MUL, x, un(e, TC_OP_NCDF, x));
    double slope = 2 * sqrt(2 / M_PI);
    const tc_expr *factor = bin(e, TC_OP_ADD, scaled(e, bin(e, TC_OP_MUL, x, x), slope * 0.044715), num(e, slope));
    return bin(e, TC_OP_MUL, x, un(e, TC_OP_SIGMOID, bin(e, TC_OP_MUL, x, factor)));
}

static const tc_expr *hard_swish(const elem *e, const tc_expr *x) {
    const tc_expr *of_six = bin(e, TC_OP_MIN, bin(e, TC_OP_MAX, bin(e, TC_OP_ADD, x, num(e, 3)), num(e, 0)), num(e, 6));
    return bin(e, TC_OP_MUL, x, scaled(e, of_six, 1.0 / 6));
}

/* x tanh(softplus(x)) with u = exp(-|x|): tanh(log(1 + exp(x))) is (2 + u) u / ((2 + u) u + 2) below 0, and above 0
 * (1 + 2 u) / (1 + 2 u + 2 u^2). */
static const tc_expr *mish(const elem *e, const tc_expr *x) {
    const tc_expr *u = down(e, x), *is_negative = less(e, x, num(e, 0)), *square = bin(e, TC_OP_MUL, u, u);
    const tc_expr *twice = scaled(e, u, 2);
    const tc_expr *top = bin(e, TC_OP_ADD, twice, pick(e, is_negative, square, num(e, 1)));
    const tc_expr *rest = pick(e, is_negative, num(e, 2), scaled(e, square, 2));
    return bin(e, TC_OP_MUL, x, bin(e, TC_OP_DIV, top, bin(e, TC_OP_ADD, top, rest)));
}

static const tc_expr *softsign(const elem *e, const tc_expr *x) {
    return bin(e, TC_OP_DIV, x, bin(e, TC_OP_ADD, un(e, TC_OP_ABS, x), num(e, 1)));
}

/* (exp(x) - 1) scale */
static const tc_expr *exp_minus_one(const elem *e, const tc_expr *x, double scale) {
    return scaled(e, un(e, TC_OP_EXPM1, x), scale);
}

static const tc_expr *celu(const elem *e, const tc_expr *x) {
    double alpha = tc_graph_attr_alpha(e->n);
    return pick(e, less(e, x, num(e, 0)), exp_minus_one(e, tc_graph_divided(e->c, x, num(e, alpha)), alpha), x);
}

static const tc_expr *elu(const elem *e, const tc_expr *x) {
    return pick(e, less(e, x, num(e, 0)), exp_minus_one(e, x, tc_graph_attr_alpha(e->n)), x);
}

static const tc_expr *hard_sigmoid(const elem *e, const tc_expr *x) {
    return clamp01(e, bin(e, TC_OP_ADD, scaled(e, x, tc_graph_attr_alpha(e->n)), num(e, tc_graph_attr_beta(e->n))));
}

static const tc_expr *leaky_relu(const elem *e, const tc_expr *x) {
    return pick(e, less(e, x, num(e, 0)), scaled(e, x, tc_graph_attr_alpha(e->n)), x);
}

static const tc_expr *selu(const elem *e, const tc_expr *x) {
    double gamma = tc_graph_attr_gamma(e->n);
    return pick(e, bin(e, TC_OP_GT, x, num(e, 0)), scaled(e, x, gamma), exp_minus_one(e, x, gamma * tc_graph_attr_alpha(e->n)));
}

static const tc_expr *shrink(const elem *e, const tc_expr *x) {
    double bias = tc_graph_attr_bias(e->n), lambd = tc_graph_attr_lambd(e->n);
    const tc_expr *above = pick(e, bin(e, TC_OP_GT, x, num(e, lambd)), bin(e, TC_OP_SUB, x, num(e, bias)), num(e, 0));
    return pick(e, less(e, x, num(e, -lambd)), bin(e, TC_OP_ADD, x, num(e, bias)), above);
}

static const tc_expr *thresholded_relu(const elem *e, const tc_expr *x) {
    return pick(e, bin(e, TC_OP_GT, x, num(e, tc_graph_attr_alpha(e->n))), x, num(e, 0));
}

static unary_formula *const activations[TC_GRAPH_OP_COUNT] = {
    [TC_GRAPH_OP_HARD_SWISH] = hard_swish,
    [TC_GRAPH_OP_MISH] = mish,
    [TC_GRAPH_OP_SOFTPLUS] = softplus,
    [TC_GRAPH_OP_SOFTSIGN] = softsign,
    [TC_GRAPH_OP_GELU] = gelu,
    [TC_GRAPH_OP_CELU] = celu,
    [TC_GRAPH_OP_ELU] = elu,
    [TC_GRAPH_OP_HARD_SIGMOID] = hard_sigmoid,
    [TC_GRAPH_OP_LEAKY_RELU] = leaky_relu,
    [TC_GRAPH_OP_SELU] = selu,
    [TC_GRAPH_OP_SHRINK] = shrink,
    [TC_GRAPH_OP_THRESHOLDED_RELU] = thresholded_relu,
};

/* Integers (Shrink takes them) are computed in f64. */
const tc_expr *tc_graph_at_activation(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    tc_dtype from = n->in[0]->dtype, to = n->out[out]->dtype;
    elem e = elem_of(l, n, tc_dtype_is_float(from) ? tc_graph_wide(from) : TC_F64);
    const tc_expr *x = tc_cast(e.c, e.t, tc_graph_operand(l, n, 0, n->out[0]->shape.ndim, idx));
    return tc_cast(e.c, to, activations[n->op](&e, x));
}

/* te takes the power of two at or below: others are reached from a multiple. Infinity becomes NaN, also where it saturates. x is
 * f32 or f64. */
static const tc_expr *to_power(tc_ctx *c, const tc_graph_node *n, const tc_expr *x) {
    const char *mode = tc_graph_attr_round_mode(n);
    bool wide = x->dtype == TC_F64;
    const tc_expr *a = tc_un(c, TC_OP_ABS, x);
    if (tc_graph_attr_saturate(n)) {
        const tc_expr *most = tc_imm(c, x->dtype, (double)tc_f8_largest(tc_float8_of(TC_F8E8M0)));
        const tc_expr *finite = tc_bin(c, TC_OP_LE, a, tc_imm(c, x->dtype, wide ? DBL_MAX : (double)FLT_MAX));
        a = tc_select(c, finite, tc_bin(c, TC_OP_MIN, a, most), a);
    }
    if (*mode == 'u') /* the largest number below 2: any fraction reaches the next power */
        a = tc_bin(c, TC_OP_MUL, a, tc_imm(c, x->dtype, wide ? 0x1.fffffffffffffp0 : 0x1.fffffep0));
    if (*mode == 'n') /* 4 / 3, so rounded that 1.5 reaches 2 and the number before it does not */
        a = tc_bin(c, TC_OP_MUL, a, tc_imm(c, x->dtype, wide ? 0x1.5555555555555p0 : 0x1.555556p0));
    return a;
}

const tc_expr *tc_graph_at_cast(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    tc_ctx *c = tc_graph_lower_ctx(l);
    tc_dtype to = n->out[out]->dtype;
    const tc_expr *x = tc_graph_operand(l, n, 0, n->out[0]->shape.ndim, idx);
    tc_dtype wide = x->dtype == TC_F64 ? TC_F64 : TC_F32;
    if (to == TC_F8E8M0) {
        bool rounds = !tc_dtype_is_float(x->dtype) && tc_dtype_bytes(x->dtype) > 2;
        x = to_power(c, n, tc_cast(c, rounds ? TC_F64 : wide, x));
    } else if (tc_float8_of(to) && tc_graph_attr_saturate(n)) {
        double most = (double)tc_f8_largest(tc_float8_of(to));
        x = tc_bin(c, TC_OP_MAX, tc_cast(c, wide, x), tc_imm(c, wide, -most));
        x = tc_bin(c, TC_OP_MIN, x, tc_imm(c, wide, most));
    } else if (tc_dtype_bits(to) == 4 && tc_dtype_is_int(to) && tc_dtype_is_float(x->dtype)) {
        x = tc_un(c, TC_OP_ROUND, tc_cast(c, wide, x));
    }
    return tc_cast(c, to, x);
}

/* ---- two operands ---- */

/* b with its zeros (and, when `minus_one`, its -1) replaced by 1: a divisor that is safe to execute everywhere. */
static const tc_expr *safe_divisor(const elem *e, const tc_expr *b) {
    if (b->op == TC_OP_INT)
        return b->u.i == 0 ? num(e, 1) : b;
    const tc_expr *bad = bin(e, TC_OP_EQ, b, num(e, 0));
    if (tc_dtype_is_signed(e->t))
        bad = bin(e, TC_OP_OR, bad, bin(e, TC_OP_EQ, b, num(e, -1)));
    return pick(e, bad, num(e, 1), b);
}

/* The most negative integer divided by -1 traps on some machines; a quotient by -1 is a negation. */
static const tc_expr *int_quotient(const elem *e, tc_op op, const tc_expr *a, const tc_expr *b, const tc_expr *by_minus_one) {
    const tc_expr *q = bin(e, op, a, safe_divisor(e, b));
    if (!tc_dtype_is_signed(e->t))
        return q;
    return pick(e, bin(e, TC_OP_EQ, b, num(e, -1)), by_minus_one, q);
}

static const tc_expr *modulo(const elem *e, const tc_expr *a, const tc_expr *b) {
    bool c_like = tc_graph_attr_fmod(e->n);
    if (tc_dtype_is_float(e->t))
        return bin(e, TC_OP_MOD, a, b);
    return int_quotient(e, c_like ? TC_OP_TMOD : TC_OP_MOD, a, b, num(e, 0));
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

static const tc_expr *shifted(const elem *e, const tc_expr *a, const tc_expr *b) {
    tc_op op = tc_graph_attr_direction(e->n)[0] == 'L' ? TC_OP_SHL : TC_OP_SHR;
    const tc_expr *fits = less(e, b, num(e, 8 * tc_dtype_bytes(e->t)));
    return pick(e, fits, bin(e, op, a, pick(e, fits, b, num(e, 0))), num(e, 0));
}

static const tc_expr *quotient(const elem *e, const tc_expr *a, const tc_expr *b) {
    return tc_dtype_is_float(e->t) ? tc_graph_divided(e->c, a, b) : int_quotient(e, TC_OP_TDIV, a, b, negated(e, a));
}

static const tc_expr *prelu(const elem *e, const tc_expr *a, const tc_expr *b) {
    return tc_dtype_is_signed(e->t) ? pick(e, less(e, a, num(e, 0)), bin(e, TC_OP_MUL, a, b), a) : a;
}

typedef const tc_expr *binary_formula(const elem *e, const tc_expr *a, const tc_expr *b);

static const struct {
    binary_formula *formula; /* or else */
    tc_op op;
} binaries[TC_GRAPH_OP_COUNT] = {
    [TC_GRAPH_OP_ADD] = {.op = TC_OP_ADD},          [TC_GRAPH_OP_SUB] = {.op = TC_OP_SUB},
    [TC_GRAPH_OP_MUL] = {.op = TC_OP_MUL},          [TC_GRAPH_OP_DIV] = {.formula = quotient},
    [TC_GRAPH_OP_MOD] = {.formula = modulo},        [TC_GRAPH_OP_PRELU] = {.formula = prelu},
    [TC_GRAPH_OP_BIT_SHIFT] = {.formula = shifted}, [TC_GRAPH_OP_BITWISE_AND] = {.op = TC_OP_BAND},
    [TC_GRAPH_OP_BITWISE_OR] = {.op = TC_OP_BOR},   [TC_GRAPH_OP_BITWISE_XOR] = {.op = TC_OP_BXOR},
    [TC_GRAPH_OP_AND] = {.op = TC_OP_AND},          [TC_GRAPH_OP_OR] = {.op = TC_OP_OR},
    [TC_GRAPH_OP_XOR] = {.op = TC_OP_NE},           [TC_GRAPH_OP_MAX] = {.op = TC_OP_MAX},
    [TC_GRAPH_OP_MIN] = {.op = TC_OP_MIN},          [TC_GRAPH_OP_EQUAL] = {.op = TC_OP_EQ},
    [TC_GRAPH_OP_GREATER] = {.op = TC_OP_GT},       [TC_GRAPH_OP_GREATER_OR_EQUAL] = {.op = TC_OP_GE},
    [TC_GRAPH_OP_LESS] = {.op = TC_OP_LT},          [TC_GRAPH_OP_LESS_OR_EQUAL] = {.op = TC_OP_LE},
};

static const tc_expr *binary(const elem *e, const tc_expr *a, const tc_expr *b) {
    binary_formula *f = binaries[e->n->op].formula;
    return f ? f(e, a, b) : bin(e, binaries[e->n->op].op, a, b);
}

/* Pow's exponent keeps its own type. Where it is a float and the base is none, both are computed in f64. */
static const tc_expr *at_pow(tc_graph_lower *l, const tc_graph_node *n, const tc_expr *a, const tc_expr *b) {
    tc_dtype to = n->out[0]->dtype;
    elem e = elem_of(l, n, tc_graph_wide(to));
    if (!tc_dtype_is_float(to) && tc_dtype_is_float(n->in[1]->dtype))
        e.t = TC_F64;
    return tc_cast(e.c, to, power(&e, tc_cast(e.c, e.t, a), b));
}

const tc_expr *tc_graph_at_binary(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    int ndim = n->out[0]->shape.ndim;
    const tc_expr *a = tc_graph_operand(l, n, 0, ndim, idx), *b = tc_graph_operand(l, n, 1, ndim, idx);
    if (n->op == TC_GRAPH_OP_POW)
        return at_pow(l, n, a, b);
    tc_dtype to = n->out[out]->dtype;
    elem e = elem_of(l, n, tc_graph_wide(to));
    return tc_cast(e.c, to, binary(&e, tc_cast(e.c, e.t, a), tc_cast(e.c, e.t, b)));
}

const tc_expr *tc_graph_at_compare(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    (void)out;
    int ndim = n->out[0]->shape.ndim;
    return tc_bin(tc_graph_lower_ctx(l), binaries[n->op].op, tc_graph_operand(l, n, 0, ndim, idx),
                  tc_graph_operand(l, n, 1, ndim, idx));
}

const tc_expr *tc_graph_at_where(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    (void)out;
    int ndim = n->out[0]->shape.ndim;
    const tc_expr *cond = tc_graph_operand(l, n, 0, ndim, idx);
    return tc_select(tc_graph_lower_ctx(l), cond, tc_graph_operand(l, n, 1, ndim, idx), tc_graph_operand(l, n, 2, ndim, idx));
}
