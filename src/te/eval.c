/* Scalar semantics: see expr.h. */
#include "te/te_int.h"

#include <math.h>

int64_t tc_int_min(tc_dtype t) {
    if (t == TC_BOOL || !tc_dtype_is_signed(t))
        return 0;
    return t == TC_I64 ? INT64_MIN : -((int64_t)1 << (tc_dtype_bits(t) - 1));
}

int64_t tc_int_max(tc_dtype t) {
    if (t == TC_BOOL)
        return 1;
    int bits = tc_dtype_bits(t) - (tc_dtype_is_signed(t) ? 1 : 0);
    return bits >= 63 ? INT64_MAX : ((int64_t)1 << bits) - 1;
}

static int64_t wrapping(tc_op op, int64_t a, int64_t b) {
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    return (int64_t)(op == TC_OP_ADD ? x + y : op == TC_OP_SUB ? x - y : x * y);
}

/* Quotient and remainder rounded towards zero; by -1 the quotient wraps, by zero both are 0. */
static int64_t tdiv(int64_t a, int64_t b) {
    return b == 0 ? 0 : b == -1 ? wrapping(TC_OP_SUB, 0, a) : a / b;
}

static int64_t tmod(int64_t a, int64_t b) {
    return b == 0 || b == -1 ? 0 : a % b;
}

static int64_t divide(tc_op op, tc_dtype t, int64_t a, int64_t b) {
    bool quotient = op == TC_OP_DIV || op == TC_OP_TDIV;
    if (t == TC_U64)
        return b == 0 ? 0 : (int64_t)(quotient ? (uint64_t)a / (uint64_t)b : (uint64_t)a % (uint64_t)b);
    int64_t q = tdiv(a, b), r = tmod(a, b);
    bool down = (op == TC_OP_DIV || op == TC_OP_MOD) && r != 0 && (r < 0) != (b < 0);
    return tc_wrap_i(t, quotient ? q - down : down ? r + b : r);
}

unsigned te_comparison(tc_op op) {
    static const uint8_t HOLDS[TC_NOPS] = {
        [TC_OP_EQ] = TE_EQUAL,   [TC_OP_NE] = TE_LESS | TE_GREATER | TE_UNORDERED,
        [TC_OP_LT] = TE_LESS,    [TC_OP_LE] = TE_LESS | TE_EQUAL,
        [TC_OP_GT] = TE_GREATER, [TC_OP_GE] = TE_GREATER | TE_EQUAL,
    };
    return HOLDS[op];
}

static bool compare(tc_op op, tc_dtype t, int64_t a, int64_t b) {
    bool less = t == TC_U64 ? (uint64_t)a < (uint64_t)b : a < b;
    return te_comparison(op) & (less ? TE_LESS : a == b ? TE_EQUAL : TE_GREATER);
}

static int64_t int_pow(tc_dtype t, int64_t base, int64_t exponent) {
    if (exponent < 0 && t != TC_U64) /* the real value is a fraction, rounded towards zero */
        return base == 1 ? 1 : base == -1 ? (exponent & 1 ? -1 : 1) : 0;
    uint64_t r = 1, b = (uint64_t)base;
    for (uint64_t e = (uint64_t)exponent; e; e >>= 1, b *= b)
        if (e & 1)
            r *= b;
    return (int64_t)r;
}

/* Amounts that are negative are far beyond the width. */
static int64_t shift(tc_op op, tc_dtype t, int64_t a, int64_t b) {
    uint64_t width = 8 * (uint64_t)tc_dtype_bytes(t), by = (uint64_t)b;
    bool all = by >= width;
    if (op == TC_OP_SHL)
        return all ? 0 : tc_wrap_i(t, (int64_t)((uint64_t)a << by));
    if (t == TC_U64)
        return all ? 0 : (int64_t)((uint64_t)a >> by);
    return a >> (all ? 63 : by);
}

int64_t tc_eval_i(tc_op op, tc_dtype t, int64_t a, int64_t b) {
    bool less = t == TC_U64 ? (uint64_t)a < (uint64_t)b : a < b;
    switch (op) {
    case TC_OP_ADD:
    case TC_OP_SUB:
    case TC_OP_MUL:
        return tc_wrap_i(t, wrapping(op, a, b));
    case TC_OP_DIV:
    case TC_OP_MOD:
    case TC_OP_TDIV:
    case TC_OP_TMOD:
        return divide(op, t, a, b);
    case TC_OP_MIN:
        return less ? a : b;
    case TC_OP_MAX:
        return less ? b : a;
    case TC_OP_POW:
        return tc_wrap_i(t, int_pow(t, a, b));
    case TC_OP_EQ:
    case TC_OP_NE:
    case TC_OP_LT:
    case TC_OP_LE:
    case TC_OP_GT:
    case TC_OP_GE:
        return compare(op, t, a, b);
    case TC_OP_AND:
    case TC_OP_BAND:
        return a & b;
    case TC_OP_OR:
    case TC_OP_BOR:
        return a | b;
    case TC_OP_BXOR:
        return a ^ b;
    case TC_OP_SHL:
    case TC_OP_SHR:
        return shift(op, t, a, b);
    case TC_OP_NOT:
        return !a;
    case TC_OP_ABS:
        return tc_dtype_is_signed(t) && a < 0 ? tc_wrap_i(t, wrapping(TC_OP_SUB, 0, a)) : a;
    case TC_OP_FLOOR:
    case TC_OP_CEIL:
    case TC_OP_ROUND:
    case TC_OP_TRUNC:
        return a;
    case TC_OP_INT:
    case TC_OP_FLOAT:
    case TC_OP_VAR:
    case TC_OP_READ:
    case TC_OP_LOAD:
    case TC_OP_RAMP:
    case TC_OP_BCAST:
    case TC_OP_FMA:
    case TC_OP_DOT:
    case TC_OP_SELECT:
    case TC_OP_CAST:
    case TC_OP_SQRT:
    case TC_OP_RSQRT:
    case TC_OP_EXP:
    case TC_OP_LOG:
    case TC_OP_TANH:
    case TC_OP_ERF:
    case TC_OP_SIGMOID:
    case TC_OP_SIN:
    case TC_OP_COS:
    case TC_OP_TAN:
    case TC_OP_ASIN:
    case TC_OP_ACOS:
    case TC_OP_ATAN:
    case TC_OP_SINH:
    case TC_OP_COSH:
    case TC_OP_ASINH:
    case TC_OP_ACOSH:
    case TC_OP_ATANH:
    case TC_OP_EXPM1:
    case TC_OP_LOG1P:
    case TC_OP_NCDF:
    case TC_OP_ISNAN:
    case TC_OP_ISINF:
    case TC_NOPS:
        break;
    }
    assert(!"tc_eval_i: not an integer operation");
    return 0;
}

bool tc_eval_compare_f(tc_op op, double a, double b) {
    if (op == TC_OP_ISNAN || op == TC_OP_ISINF)
        return op == TC_OP_ISNAN ? isnan(a) : isinf(a);
    return te_comparison(op) & (a < b ? TE_LESS : a == b ? TE_EQUAL : a > b ? TE_GREATER : TE_UNORDERED);
}

/* (1 + erf(x / sqrt(2))) / 2 as erfc(-x / sqrt(2)) / 2. erfc magnifies a rounding error of its argument a by about 2 a^2, so `rest`
 * holds that error: erfc(a - rest) is about erfc(a) (1 + rest (a + sqrt(a^2 + 1.5))). */
double tc_normal_cdf(double x) {
    static const double ROOT_HIGH = 0x1.6a09e667f3bcdp-1, ROOT_LOW = -0x1.bdd3413b26456p-55; /* sqrt(1/2) */
    if (!(fabs(x) < 40))
        return isnan(x) ? x : x > 0;
    double a = -(x * ROOT_HIGH), rest = fma(x, ROOT_HIGH, a) + x * ROOT_LOW;
    return 0.5 * erfc(a) * (1 + rest * (a + sqrt(a * a + 1.5)));
}

static double eval_f(tc_op op, double a, double b) {
    switch (op) {
    case TC_OP_ADD:
        return a + b;
    case TC_OP_SUB:
        return a - b;
    case TC_OP_MUL:
        return a * b;
    case TC_OP_DIV:
    case TC_OP_TDIV:
        return a / b;
    case TC_OP_MOD:
    case TC_OP_TMOD:
        return fmod(a, b);
    case TC_OP_MIN:
        return isnan(a) || a < b ? a : b;
    case TC_OP_MAX:
        return isnan(a) || a > b ? a : b;
    case TC_OP_POW:
        return pow(a, b);
    case TC_OP_ABS:
        return fabs(a);
    case TC_OP_SQRT:
        return sqrt(a);
    case TC_OP_RSQRT:
        return 1 / sqrt(a);
    case TC_OP_EXP:
        return exp(a);
    case TC_OP_LOG:
        return log(a);
    case TC_OP_TANH:
        return tanh(a);
    case TC_OP_ERF:
        return erf(a);
    case TC_OP_SIGMOID:
        return 1 / (1 + exp(-a));
    case TC_OP_SIN:
        return sin(a);
    case TC_OP_COS:
        return cos(a);
    case TC_OP_TAN:
        return tan(a);
    case TC_OP_ASIN:
        return asin(a);
    case TC_OP_ACOS:
        return acos(a);
    case TC_OP_ATAN:
        return atan(a);
    case TC_OP_SINH:
        return sinh(a);
    case TC_OP_COSH:
        return cosh(a);
    case TC_OP_ASINH:
        return asinh(a);
    case TC_OP_ACOSH:
        return acosh(a);
    case TC_OP_ATANH:
        return atanh(a);
    case TC_OP_EXPM1:
        return expm1(a);
    case TC_OP_LOG1P:
        return log1p(a);
    case TC_OP_NCDF:
        return tc_normal_cdf(a);
    case TC_OP_FLOOR:
        return floor(a);
    case TC_OP_CEIL:
        return ceil(a);
    case TC_OP_ROUND:
        return rint(a);
    case TC_OP_TRUNC:
        return trunc(a);
    case TC_OP_INT:
    case TC_OP_FLOAT:
    case TC_OP_VAR:
    case TC_OP_READ:
    case TC_OP_LOAD:
    case TC_OP_RAMP:
    case TC_OP_BCAST:
    case TC_OP_FMA:
    case TC_OP_DOT:
    case TC_OP_EQ:
    case TC_OP_NE:
    case TC_OP_LT:
    case TC_OP_LE:
    case TC_OP_GT:
    case TC_OP_GE:
    case TC_OP_AND:
    case TC_OP_OR:
    case TC_OP_NOT:
    case TC_OP_BAND:
    case TC_OP_BOR:
    case TC_OP_BXOR:
    case TC_OP_SHL:
    case TC_OP_SHR:
    case TC_OP_SELECT:
    case TC_OP_CAST:
    case TC_OP_ISNAN:
    case TC_OP_ISINF:
    case TC_NOPS:
        break;
    }
    assert(!"tc_eval_f: not a float operation");
    return 0;
}

double tc_eval_f(tc_op op, tc_dtype t, double a, double b) {
    return tc_round_f(t, eval_f(op, a, b));
}

double tc_eval_fma(tc_dtype t, double a, double b, double c) {
    return t == TC_F64 ? fma(a, b, c) : tc_round_f(t, (double)fmaf((float)a, (float)b, (float)c));
}

int64_t tc_cast_ii(tc_dtype to, int64_t v) {
    return tc_wrap_i(to, v);
}

/* The integer as a double that rounds to a float of 16 bits or less as the integer does. f64 lacks integers of more than 53 bits: in
 * numbers of more than 32 bits, the low 16 become the bit 0x8000 if any of them is set. */
static double sticky(tc_dtype from, int64_t v) {
    bool is_large = from == TC_U64 ? (uint64_t)v >> 32 != 0 : v >= (int64_t)1 << 32 || v <= -((int64_t)1 << 32);
    if (is_large)
        v = (v & ~(int64_t)0xffff) | (v & 0xffff ? 0x8000 : 0);
    return from == TC_U64 ? (double)(uint64_t)v : (double)v;
}

double tc_cast_if(tc_dtype from, tc_dtype to, int64_t v) {
    if (to == TC_F64)
        return from == TC_U64 ? (double)(uint64_t)v : (double)v;
    if (to == TC_F32)
        return (double)(from == TC_U64 ? (float)(uint64_t)v : (float)v); /* one rounding, not two */
    return tc_round_f(to, sticky(from, v));
}

int64_t tc_cast_fi(tc_dtype to, double v) {
    if (to == TC_BOOL)
        return v != 0;
    if (isnan(v))
        return 0;
    if (to == TC_U64)
        return v <= 0 ? 0 : v >= 0x1p64 ? -1 : (int64_t)(uint64_t)v;
    if (v >= (double)tc_int_max(to))
        return tc_int_max(to);
    return v <= (double)tc_int_min(to) ? tc_int_min(to) : (int64_t)v;
}
