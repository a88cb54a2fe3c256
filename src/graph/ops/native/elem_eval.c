/* Reference evaluation of elementwise operators: a formula each, in a table by operator. Floats are computed in double and rounded
 * once; integers wrap. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/ops/functions.h"
#include "te/eval.h"

void tc_graph_broadcast_strides(const tc_graph_shape *s, const tc_graph_shape *to, int64_t strides[TC_GRAPH_MAX_DIMS]) {
    int64_t own[TC_GRAPH_MAX_DIMS];
    tc_graph_shape_strides(s, own);
    for (int i = 0; i < to->ndim; i++) {
        int k = i - (to->ndim - s->ndim);
        strides[i] = k < 0 || s->d[k] == 1 ? 0 : own[k];
    }
}

/* ---- one operand ---- */

static double erf_gelu(double x) {
    return 0.5 * x * (1 + erf(x * M_SQRT1_2));
}

static double tanh_gelu(double x) {
    return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

static double softplus(double x) {
    return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

static double sign_of(double x) {
    return isnan(x) ? x : (x > 0) - (x < 0);
}

static double clamp01(double x) {
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

static double hard_swish(double x) {
    return x * clamp01(x / 6 + 0.5);
}

static double mish(double x) {
    return x * tanh(softplus(x));
}

static double negated(double x) {
    return -x;
}

static double reciprocal(double x) {
    return 1 / x;
}

static double relu(double x) {
    return x < 0 ? 0 : x;
}

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

static double softsign(double x) {
    return x / (1 + fabs(x));
}

static int64_t int_abs(int64_t x) {
    return x < 0 ? (int64_t)(0 - (uint64_t)x) : x;
}

static int64_t int_negated(int64_t x) {
    return (int64_t)(0 - (uint64_t)x);
}

static int64_t int_relu(int64_t x) {
    return x < 0 ? 0 : x;
}

static int64_t int_sign(int64_t x) {
    return (x > 0) - (x < 0);
}

static int64_t int_not(int64_t x) {
    return !x;
}

static int64_t int_inverted(int64_t x) {
    return ~x;
}

static int64_t int_erf(int64_t x) {
    return x ? (x > 0 ? 1 : -1) * (int64_t)erf(fabs((double)x)) : 0;
}

/* NULL: inference lets no such operand through. Round: ties to even. */
static const struct {
    double (*of_float)(double x);
    int64_t (*of_int)(int64_t x);
} unaries[TC_GRAPH_OP_COUNT] = {
    [TC_GRAPH_OP_ABS] = {fabs, int_abs},
    [TC_GRAPH_OP_ACOS] = {acos, NULL},
    [TC_GRAPH_OP_ACOSH] = {acosh, NULL},
    [TC_GRAPH_OP_ASIN] = {asin, NULL},
    [TC_GRAPH_OP_ASINH] = {asinh, NULL},
    [TC_GRAPH_OP_ATAN] = {atan, NULL},
    [TC_GRAPH_OP_ATANH] = {atanh, NULL},
    [TC_GRAPH_OP_CEIL] = {ceil, NULL},
    [TC_GRAPH_OP_COS] = {cos, NULL},
    [TC_GRAPH_OP_COSH] = {cosh, NULL},
    [TC_GRAPH_OP_ERF] = {erf, int_erf},
    [TC_GRAPH_OP_EXP] = {exp, NULL},
    [TC_GRAPH_OP_FLOOR] = {floor, NULL},
    [TC_GRAPH_OP_HARD_SWISH] = {hard_swish, NULL},
    [TC_GRAPH_OP_LOG] = {log, NULL},
    [TC_GRAPH_OP_MISH] = {mish, NULL},
    [TC_GRAPH_OP_NEG] = {negated, int_negated},
    [TC_GRAPH_OP_RECIPROCAL] = {reciprocal, NULL},
    [TC_GRAPH_OP_RELU] = {relu, int_relu},
    [TC_GRAPH_OP_ROUND] = {nearbyint, NULL},
    [TC_GRAPH_OP_SIGMOID] = {sigmoid, NULL},
    [TC_GRAPH_OP_SIGN] = {sign_of, int_sign},
    [TC_GRAPH_OP_SIN] = {sin, NULL},
    [TC_GRAPH_OP_SINH] = {sinh, NULL},
    [TC_GRAPH_OP_SOFTPLUS] = {softplus, NULL},
    [TC_GRAPH_OP_SOFTSIGN] = {softsign, NULL},
    [TC_GRAPH_OP_SQRT] = {sqrt, NULL},
    [TC_GRAPH_OP_TAN] = {tan, NULL},
    [TC_GRAPH_OP_TANH] = {tanh, NULL},
    [TC_GRAPH_OP_NOT] = {NULL, int_not},
    [TC_GRAPH_OP_BITWISE_NOT] = {NULL, int_inverted},
};

/* ---- one operand and parameters ---- */

static double celu(double x, double alpha, double unused) {
    (void)unused;
    return fmax(0, x) + fmin(0, alpha * expm1(x / alpha));
}

static double elu(double x, double alpha, double unused) {
    (void)unused;
    return x < 0 ? alpha * expm1(x) : x;
}

static double hard_sigmoid(double x, double alpha, double beta) {
    return clamp01(alpha * x + beta);
}

static double leaky_relu(double x, double alpha, double unused) {
    (void)unused;
    return x < 0 ? alpha * x : x;
}

static double selu(double x, double alpha, double gamma) {
    return x > 0 ? gamma * x : gamma * alpha * expm1(x);
}

static double shrink(double x, double bias, double lambd) {
    return x < -lambd ? x + bias : x > lambd ? x - bias : 0;
}

static double thresholded_relu(double x, double alpha, double unused) {
    (void)unused;
    return x > alpha ? x : 0;
}

static const struct {
    double (*f)(double x, double a, double b);
    tc_graph_attr_id a, b;
} activations[TC_GRAPH_OP_COUNT] = {
    [TC_GRAPH_OP_CELU] = {celu, TC_ATTR_alpha, TC_ATTR_none},
    [TC_GRAPH_OP_ELU] = {elu, TC_ATTR_alpha, TC_ATTR_none},
    [TC_GRAPH_OP_HARD_SIGMOID] = {hard_sigmoid, TC_ATTR_alpha, TC_ATTR_beta},
    [TC_GRAPH_OP_LEAKY_RELU] = {leaky_relu, TC_ATTR_alpha, TC_ATTR_none},
    [TC_GRAPH_OP_SELU] = {selu, TC_ATTR_alpha, TC_ATTR_gamma},
    [TC_GRAPH_OP_SHRINK] = {shrink, TC_ATTR_bias, TC_ATTR_lambd},
    [TC_GRAPH_OP_THRESHOLDED_RELU] = {thresholded_relu, TC_ATTR_alpha, TC_ATTR_none},
};

static void eval_activation(const tc_graph_node *n, double *v, int64_t count) {
    double a = tc_graph_attr_float(n, activations[n->op].a, 0), b = tc_graph_attr_float(n, activations[n->op].b, 0);
    for (int64_t i = 0; i < count; i++)
        v[i] = activations[n->op].f(v[i], a, b);
}

static void eval_float_unary(const tc_graph_node *n, double *v, int64_t count) {
    double (*f)(double) = unaries[n->op].of_float;
    if (n->op == TC_GRAPH_OP_GELU)
        f = strcmp(tc_graph_attr_approximate(n), "tanh") == 0 ? tanh_gelu : erf_gelu;
    for (int64_t i = 0; i < count; i++)
        v[i] = f(v[i]);
}

tc_status tc_graph_eval_unary(tc_graph_eval_ctx *c) {
    const tc_graph_tensor *x = c->in[0];
    int64_t count = tc_graph_tensor_count(x);
    bool activation = activations[c->n->op].f != NULL;
    if (tc_dtype_is_float(x->dtype) || activation) {
        double *v = tc_graph_wide_f64(x);
        (activation ? eval_activation : eval_float_unary)(c->n, v, count);
        tc_graph_tensor_from_f64(&c->out[0], v);
        free(v);
        return TC_OK;
    }
    int64_t *v = tc_graph_wide_i64(x);
    for (int64_t i = 0; i < count; i++)
        v[i] = unaries[c->n->op].of_int(v[i]);
    tc_graph_tensor_from_i64(&c->out[0], v);
    free(v);
    return TC_OK;
}

tc_status tc_graph_eval_classify(tc_graph_eval_ctx *c) {
    double *v = tc_graph_wide_f64(c->in[0]);
    bool inf = c->n->op == TC_GRAPH_OP_IS_INF;
    bool neg = tc_graph_attr_detect_negative(c->n), pos = tc_graph_attr_detect_positive(c->n);
    for (int64_t i = 0, n = tc_graph_tensor_count(c->in[0]); i < n; i++)
        ((uint8_t *)c->out[0].data)[i] = inf ? isinf(v[i]) && (v[i] < 0 ? neg : pos) : isnan(v[i]);
    free(v);
    return TC_OK;
}

/* The power of two beside |v| that the node's mode says; NaN for what is no number. Beyond the largest to that, or to NaN. */
static double power_beside(const tc_graph_node *n, double v) {
    double a = fabs((double)(float)v), smallest = 0x1p-127, largest = (double)tc_f8_largest(tc_float8_of(TC_F8E8M0));
    const char *mode = tc_graph_attr_round_mode(n);
    int exponent;
    if (!isfinite(a))
        return (double)NAN;
    if (a < smallest)
        return smallest;
    double fraction = frexp(a, &exponent), power = ldexp(1, exponent - 1);
    if ((*mode == 'u' && fraction > 0.5) || (*mode == 'n' && fraction >= 0.75))
        power *= 2;
    return power <= largest ? power : tc_graph_attr_saturate(n) ? largest : (double)NAN;
}

/* To the nearest number of a type that is only stored, ties to even; beyond the largest to that, unless the node says otherwise.
 * NaN becomes 0 among integers. */
static double nearest_stored(const tc_graph_node *n, tc_dtype to, double v) {
    if (!tc_dtype_is_float(to))
        return isnan(v) ? 0 : fmin(fmax(rint(v), (double)tc_int_min(to)), (double)tc_int_max(to));
    if (to == TC_F8E8M0)
        return power_beside(n, v);
    double most = (double)tc_f8_largest(tc_float8_of(to));
    return isnan(v) || !tc_graph_attr_saturate(n) ? v : fmin(fmax(v, -most), most);
}

tc_status tc_graph_eval_cast(tc_graph_eval_ctx *c) {
    tc_graph_tensor *y = &c->out[0];
    bool integers = !tc_dtype_is_float(c->in[0]->dtype) && !tc_dtype_is_float(y->dtype);
    if (!tc_dtype_is_stored(y->dtype) || integers) {
        tc_graph_tensor_cast(y, c->in[0]);
        return TC_OK;
    }
    double *v = tc_graph_wide_f64(c->in[0]);
    for (int64_t i = 0, n = tc_graph_tensor_count(y); i < n; i++)
        v[i] = nearest_stored(c->n, y->dtype, v[i]);
    tc_graph_tensor_from_f64(y, v);
    free(v);
    return TC_OK;
}

/* ---- two operands ---- */

static double add(double a, double b) {
    return a + b;
}

static double sub(double a, double b) {
    return a - b;
}

static double mul(double a, double b) {
    return a * b;
}

static double quotient(double a, double b) {
    return a / b;
}

static double prelu(double a, double b) {
    return a < 0 ? a * b : a;
}

static double larger(double a, double b) {
    return isnan(a) || isnan(b) ? NAN : a > b ? a : b;
}

static double smaller(double a, double b) {
    return isnan(a) || isnan(b) ? NAN : a < b ? a : b;
}

/* What integer formulas ask of the node and its type. */
typedef struct int_node {
    const tc_graph_node *n;
    int bits;
    bool is_unsigned; /* of 64 bits: all others are widened to signed numbers */
} int_node;

static int64_t int_add(const int_node *t, int64_t a, int64_t b) {
    (void)t;
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t int_sub(const int_node *t, int64_t a, int64_t b) {
    (void)t;
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

static int64_t int_mul(const int_node *t, int64_t a, int64_t b) {
    (void)t;
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

static int64_t int_pow(const int_node *t, int64_t base, int64_t e) {
    (void)t;
    if (e < 0)
        return base == 1 ? 1 : base == -1 ? (e % 2 ? -1 : 1) : 0;
    uint64_t r = 1, b = (uint64_t)base;
    for (; e; e >>= 1, b *= b)
        if (e & 1)
            r *= b;
    return (int64_t)r;
}

/* b is not 0, and overflow wraps. */
static int64_t int_div(const int_node *t, int64_t a, int64_t b) {
    if (t->is_unsigned)
        return (int64_t)((uint64_t)a / (uint64_t)b);
    return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

static int64_t int_mod(const int_node *t, int64_t a, int64_t b) {
    if (t->is_unsigned)
        return (int64_t)((uint64_t)a % (uint64_t)b);
    if (b == -1)
        return 0;
    int64_t r = a % b;
    return !tc_graph_attr_fmod(t->n) && r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static int64_t int_prelu(const int_node *t, int64_t a, int64_t b) {
    return a < 0 ? int_mul(t, a, b) : a;
}

static bool int_less(int64_t a, int64_t b, bool is_unsigned) {
    return is_unsigned ? (uint64_t)a < (uint64_t)b : a < b;
}

static int64_t int_larger(const int_node *t, int64_t a, int64_t b) {
    return int_less(a, b, t->is_unsigned) ? b : a;
}

static int64_t int_smaller(const int_node *t, int64_t a, int64_t b) {
    return int_less(b, a, t->is_unsigned) ? b : a;
}

static int64_t int_and(const int_node *t, int64_t a, int64_t b) {
    (void)t;
    return a & b;
}

static int64_t int_or(const int_node *t, int64_t a, int64_t b) {
    (void)t;
    return a | b;
}

static int64_t int_xor(const int_node *t, int64_t a, int64_t b) {
    (void)t;
    return a ^ b;
}

static int64_t int_shift(const int_node *t, int64_t a, int64_t b) {
    if (b < 0 || b >= t->bits)
        return 0;
    return (int64_t)(tc_graph_attr_direction(t->n)[0] == 'L' ? (uint64_t)a << b : (uint64_t)a >> b);
}

/* NULL: inference lets no such operands through. */
static const struct {
    double (*of_floats)(double a, double b);
    int64_t (*of_ints)(const int_node *t, int64_t a, int64_t b);
} binaries[TC_GRAPH_OP_COUNT] = {
    [TC_GRAPH_OP_ADD] = {add, int_add},          [TC_GRAPH_OP_SUB] = {sub, int_sub},
    [TC_GRAPH_OP_MUL] = {mul, int_mul},          [TC_GRAPH_OP_DIV] = {quotient, int_div},
    [TC_GRAPH_OP_MOD] = {fmod, int_mod},         [TC_GRAPH_OP_POW] = {pow, int_pow},
    [TC_GRAPH_OP_PRELU] = {prelu, int_prelu},    [TC_GRAPH_OP_MAX] = {larger, int_larger},
    [TC_GRAPH_OP_MIN] = {smaller, int_smaller},  [TC_GRAPH_OP_AND] = {NULL, int_and},
    [TC_GRAPH_OP_BITWISE_AND] = {NULL, int_and}, [TC_GRAPH_OP_OR] = {NULL, int_or},
    [TC_GRAPH_OP_BITWISE_OR] = {NULL, int_or},   [TC_GRAPH_OP_XOR] = {NULL, int_xor},
    [TC_GRAPH_OP_BITWISE_XOR] = {NULL, int_xor}, [TC_GRAPH_OP_BIT_SHIFT] = {NULL, int_shift},
};

static tc_graph_walk walk_of(const tc_graph_eval_ctx *c) {
    tc_graph_walk w = {.shape = c->out[0].shape};
    for (int k = 0; k < c->n->nin && k < 3; k++)
        tc_graph_broadcast_strides(&c->in[k]->shape, &w.shape, w.strides[k]);
    return w;
}

static void eval_float_binary(tc_graph_eval_ctx *c) {
    double *a = tc_graph_wide_f64(c->in[0]), *b = tc_graph_wide_f64(c->in[1]);
    int64_t count = tc_graph_tensor_count(&c->out[0]);
    double *r = tc_xmalloc(((size_t)count + 1) * sizeof *r);
    tc_graph_walk w = walk_of(c);
    for (int64_t i = 0; i < count; i++, tc_graph_walk_next(&w))
        r[i] = binaries[c->n->op].of_floats(a[w.at[0]], b[w.at[1]]);
    tc_graph_tensor_from_f64(&c->out[0], r);
    free(a);
    free(b);
    free(r);
}

static tc_status eval_int_binary(tc_graph_eval_ctx *c) {
    int64_t *a = tc_graph_wide_i64(c->in[0]), *b = tc_graph_wide_i64(c->in[1]);
    int64_t count = tc_graph_tensor_count(&c->out[0]);
    int64_t *r = tc_xmalloc(((size_t)count + 1) * sizeof *r);
    int_node t = {c->n, 8 * tc_dtype_bytes(c->in[0]->dtype), c->in[0]->dtype == TC_U64};
    bool divides = c->n->op == TC_GRAPH_OP_DIV || c->n->op == TC_GRAPH_OP_MOD, by_zero = false;
    tc_graph_walk w = walk_of(c);
    for (int64_t i = 0; i < count && !by_zero; i++, tc_graph_walk_next(&w)) {
        by_zero = divides && b[w.at[1]] == 0;
        r[i] = by_zero ? 0 : binaries[c->n->op].of_ints(&t, a[w.at[0]], b[w.at[1]]);
    }
    if (!by_zero)
        tc_graph_tensor_from_i64(&c->out[0], r);
    free(a);
    free(b);
    free(r);
    return by_zero ? tc_fail(c->err, TC_BAD_INPUT, "integer division by zero") : TC_OK;
}

tc_status tc_graph_eval_binary(tc_graph_eval_ctx *c) {
    if (!tc_dtype_is_float(c->in[0]->dtype) && !tc_dtype_is_float(c->in[1]->dtype))
        return eval_int_binary(c);
    eval_float_binary(c);
    return TC_OK;
}

/* Of which of these it holds; a NaN is neither. */
static const struct {
    bool less, equal, greater;
} comparisons[TC_GRAPH_OP_COUNT] = {
    [TC_GRAPH_OP_EQUAL] = {.equal = true},
    [TC_GRAPH_OP_LESS] = {.less = true},
    [TC_GRAPH_OP_LESS_OR_EQUAL] = {.less = true, .equal = true},
    [TC_GRAPH_OP_GREATER] = {.greater = true},
    [TC_GRAPH_OP_GREATER_OR_EQUAL] = {.equal = true, .greater = true},
};

static bool holds(tc_graph_op op, bool less, bool equal, bool unordered) {
    return less ? comparisons[op].less : equal ? comparisons[op].equal : !unordered && comparisons[op].greater;
}

tc_status tc_graph_eval_compare(tc_graph_eval_ctx *c) {
    tc_dtype t = c->in[0]->dtype;
    uint8_t *out = c->out[0].data;
    int64_t count = tc_graph_tensor_count(&c->out[0]);
    tc_graph_walk w = walk_of(c);
    for (int64_t i = 0; i < count; i++, tc_graph_walk_next(&w))
        if (tc_dtype_is_float(t)) {
            double a = tc_load_f(t, c->in[0]->data, w.at[0]), b = tc_load_f(t, c->in[1]->data, w.at[1]);
            out[i] = holds(c->n->op, a < b, a == b, isnan(a) || isnan(b));
        } else {
            int64_t a = tc_load_i(t, c->in[0]->data, w.at[0]), b = tc_load_i(t, c->in[1]->data, w.at[1]);
            out[i] = holds(c->n->op, int_less(a, b, t == TC_U64), a == b, false);
        }
    return TC_OK;
}

tc_status tc_graph_eval_where(tc_graph_eval_ctx *c) {
    size_t size = (size_t)tc_dtype_bytes(c->out[0].dtype);
    int64_t count = tc_graph_tensor_count(&c->out[0]);
    tc_graph_walk w = walk_of(c);
    for (int64_t i = 0; i < count; i++, tc_graph_walk_next(&w)) {
        int k = ((const uint8_t *)c->in[0]->data)[w.at[0]] ? 1 : 2;
        memcpy((char *)c->out[0].data + (size_t)i * size, (const char *)c->in[k]->data + (size_t)w.at[k] * size, size);
    }
    return TC_OK;
}
