/* Reference evaluation of elementwise operators. Floats are computed in double and rounded once; integers wrap. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/ops/functions.h"

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

/* Operators with parameters: a = alpha (or bias), b = beta, gamma or lambd. */
static double activation(tc_graph_op op, double x, double a, double b) {
    switch ((int)op) {
    case TC_GRAPH_OP_CELU:
        return fmax(0, x) + fmin(0, a * expm1(x / a));
    case TC_GRAPH_OP_ELU:
        return x < 0 ? a * expm1(x) : x;
    case TC_GRAPH_OP_HARD_SIGMOID:
        return clamp01(a * x + b);
    case TC_GRAPH_OP_LEAKY_RELU:
        return x < 0 ? a * x : x;
    case TC_GRAPH_OP_SELU:
        return x > 0 ? b * x : b * a * expm1(x);
    case TC_GRAPH_OP_SHRINK:
        return x < -b ? x + a : x > b ? x - a : 0;
    case TC_GRAPH_OP_THRESHOLDED_RELU:
        return x > a ? x : 0;
    default:
        return NAN;
    }
}

static double float_unary(tc_graph_op op, double x) {
    switch ((int)op) {
    case TC_GRAPH_OP_ABS:
        return fabs(x);
    case TC_GRAPH_OP_ACOS:
        return acos(x);
    case TC_GRAPH_OP_ACOSH:
        return acosh(x);
    case TC_GRAPH_OP_ASIN:
        return asin(x);
    case TC_GRAPH_OP_ASINH:
        return asinh(x);
    case TC_GRAPH_OP_ATAN:
        return atan(x);
    case TC_GRAPH_OP_ATANH:
        return atanh(x);
    case TC_GRAPH_OP_CEIL:
        return ceil(x);
    case TC_GRAPH_OP_COS:
        return cos(x);
    case TC_GRAPH_OP_COSH:
        return cosh(x);
    case TC_GRAPH_OP_ERF:
        return erf(x);
    case TC_GRAPH_OP_EXP:
        return exp(x);
    case TC_GRAPH_OP_FLOOR:
        return floor(x);
    case TC_GRAPH_OP_HARD_SWISH:
        return x * clamp01(x / 6 + 0.5);
    case TC_GRAPH_OP_LOG:
        return log(x);
    case TC_GRAPH_OP_MISH:
        return x * tanh(softplus(x));
    case TC_GRAPH_OP_NEG:
        return -x;
    case TC_GRAPH_OP_RECIPROCAL:
        return 1 / x;
    case TC_GRAPH_OP_RELU:
        return x < 0 ? 0 : x;
    case TC_GRAPH_OP_ROUND:
        return nearbyint(x); /* ties to even */
    case TC_GRAPH_OP_SIGMOID:
        return 1 / (1 + exp(-x));
    case TC_GRAPH_OP_SIGN:
        return sign_of(x);
    case TC_GRAPH_OP_SIN:
        return sin(x);
    case TC_GRAPH_OP_SINH:
        return sinh(x);
    case TC_GRAPH_OP_SOFTPLUS:
        return softplus(x);
    case TC_GRAPH_OP_SOFTSIGN:
        return x / (1 + fabs(x));
    case TC_GRAPH_OP_SQRT:
        return sqrt(x);
    case TC_GRAPH_OP_TAN:
        return tan(x);
    case TC_GRAPH_OP_TANH:
        return tanh(x);
    default:
        return NAN;
    }
}

static int64_t int_unary(tc_graph_op op, int64_t x) {
    switch ((int)op) {
    case TC_GRAPH_OP_ABS:
        return x < 0 ? (int64_t)(0 - (uint64_t)x) : x;
    case TC_GRAPH_OP_NEG:
        return (int64_t)(0 - (uint64_t)x);
    case TC_GRAPH_OP_RELU:
        return x < 0 ? 0 : x;
    case TC_GRAPH_OP_SIGN:
        return (x > 0) - (x < 0);
    case TC_GRAPH_OP_NOT:
        return !x;
    case TC_GRAPH_OP_BITWISE_NOT:
        return ~x;
    case TC_GRAPH_OP_ERF:
        return x ? (x > 0 ? 1 : -1) * (int64_t)erf(fabs((double)x)) : 0;
    default:
        return x;
    }
}

static bool has_parameters(tc_graph_op op) {
    return op == TC_GRAPH_OP_CELU || op == TC_GRAPH_OP_ELU || op == TC_GRAPH_OP_HARD_SIGMOID || op == TC_GRAPH_OP_LEAKY_RELU ||
           op == TC_GRAPH_OP_SELU || op == TC_GRAPH_OP_SHRINK || op == TC_GRAPH_OP_THRESHOLDED_RELU;
}

static void eval_float_unary(const tc_graph_node *n, double *v, int64_t count) {
    double a = tc_graph_attr_float(n, n->op == TC_GRAPH_OP_SHRINK ? TC_ATTR_bias : TC_ATTR_alpha, 0);
    tc_graph_attr_id second = n->op == TC_GRAPH_OP_SHRINK ? TC_ATTR_lambd
                              : n->op == TC_GRAPH_OP_SELU ? TC_ATTR_gamma
                                                          : TC_ATTR_beta;
    double b = tc_graph_attr_float(n, second, 0);
    bool with = has_parameters(n->op), gelu = n->op == TC_GRAPH_OP_GELU;
    bool by_tanh = gelu && strcmp(tc_graph_attr_approximate(n), "tanh") == 0;
    for (int64_t i = 0; i < count; i++)
        if (gelu)
            v[i] = by_tanh ? tanh_gelu(v[i]) : erf_gelu(v[i]);
        else
            v[i] = with ? activation(n->op, v[i], a, b) : float_unary(n->op, v[i]);
}

tc_status tc_graph_eval_unary(tc_graph_eval_ctx *c) {
    const tc_graph_tensor *x = c->in[0];
    int64_t count = tc_graph_tensor_count(x);
    if (tc_dtype_is_float(x->dtype) || has_parameters(c->n->op)) {
        double *v = tc_graph_wide_f64(x);
        eval_float_unary(c->n, v, count);
        tc_graph_tensor_from_f64(&c->out[0], v);
        free(v);
        return TC_OK;
    }
    int64_t *v = tc_graph_wide_i64(x);
    for (int64_t i = 0; i < count; i++)
        v[i] = int_unary(c->n->op, v[i]);
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

tc_status tc_graph_eval_cast(tc_graph_eval_ctx *c) {
    tc_graph_tensor_cast(&c->out[0], c->in[0]);
    return TC_OK;
}

/* ---- two operands ---- */

static double float_binary(tc_graph_op op, double a, double b) {
    switch ((int)op) {
    case TC_GRAPH_OP_ADD:
        return a + b;
    case TC_GRAPH_OP_SUB:
        return a - b;
    case TC_GRAPH_OP_MUL:
        return a * b;
    case TC_GRAPH_OP_DIV:
        return a / b;
    case TC_GRAPH_OP_MOD:
        return fmod(a, b);
    case TC_GRAPH_OP_POW:
        return pow(a, b);
    case TC_GRAPH_OP_PRELU:
        return a < 0 ? a * b : a;
    case TC_GRAPH_OP_MAX:
        return isnan(a) || isnan(b) ? NAN : a > b ? a : b;
    case TC_GRAPH_OP_MIN:
        return isnan(a) || isnan(b) ? NAN : a < b ? a : b;
    default:
        return NAN;
    }
}

static int64_t int_pow(int64_t base, int64_t e) {
    if (e < 0)
        return base == 1 ? 1 : base == -1 ? (e % 2 ? -1 : 1) : 0;
    uint64_t r = 1, b = (uint64_t)base;
    for (; e; e >>= 1, b *= b)
        if (e & 1)
            r *= b;
    return (int64_t)r;
}

/* b is not 0, and overflow wraps. */
static int64_t int_div(int64_t a, int64_t b, bool is_unsigned) {
    if (is_unsigned)
        return (int64_t)((uint64_t)a / (uint64_t)b);
    return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

static int64_t int_mod(int64_t a, int64_t b, bool is_unsigned, bool c_like) {
    if (is_unsigned)
        return (int64_t)((uint64_t)a % (uint64_t)b);
    if (b == -1)
        return 0;
    int64_t r = a % b;
    return !c_like && r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static bool int_less(int64_t a, int64_t b, bool is_unsigned) {
    return is_unsigned ? (uint64_t)a < (uint64_t)b : a < b;
}

static int64_t shift(int64_t a, int64_t b, int bits, bool left) {
    if (b < 0 || b >= bits)
        return 0;
    return (int64_t)(left ? (uint64_t)a << b : (uint64_t)a >> b);
}

static int64_t int_binary(const tc_graph_node *n, tc_dtype t, int64_t a, int64_t b) {
    bool u = t == TC_U64;
    switch ((int)n->op) {
    case TC_GRAPH_OP_ADD:
        return (int64_t)((uint64_t)a + (uint64_t)b);
    case TC_GRAPH_OP_SUB:
        return (int64_t)((uint64_t)a - (uint64_t)b);
    case TC_GRAPH_OP_MUL:
        return (int64_t)((uint64_t)a * (uint64_t)b);
    case TC_GRAPH_OP_DIV:
        return int_div(a, b, u);
    case TC_GRAPH_OP_MOD:
        return int_mod(a, b, u, tc_graph_attr_fmod(n));
    case TC_GRAPH_OP_POW:
        return int_pow(a, b);
    case TC_GRAPH_OP_PRELU:
        return a < 0 ? (int64_t)((uint64_t)a * (uint64_t)b) : a;
    case TC_GRAPH_OP_MAX:
        return int_less(a, b, u) ? b : a;
    case TC_GRAPH_OP_MIN:
        return int_less(b, a, u) ? b : a;
    case TC_GRAPH_OP_AND:
    case TC_GRAPH_OP_BITWISE_AND:
        return a & b;
    case TC_GRAPH_OP_OR:
    case TC_GRAPH_OP_BITWISE_OR:
        return a | b;
    case TC_GRAPH_OP_XOR:
    case TC_GRAPH_OP_BITWISE_XOR:
        return a ^ b;
    case TC_GRAPH_OP_BIT_SHIFT:
        return shift(a, b, 8 * tc_dtype_bytes(t), tc_graph_attr_direction(n)[0] == 'L');
    default:
        return 0;
    }
}

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
        r[i] = float_binary(c->n->op, a[w.at[0]], b[w.at[1]]);
    tc_graph_tensor_from_f64(&c->out[0], r);
    free(a);
    free(b);
    free(r);
}

static tc_status eval_int_binary(tc_graph_eval_ctx *c) {
    int64_t *a = tc_graph_wide_i64(c->in[0]), *b = tc_graph_wide_i64(c->in[1]);
    int64_t count = tc_graph_tensor_count(&c->out[0]);
    int64_t *r = tc_xmalloc(((size_t)count + 1) * sizeof *r);
    bool divides = c->n->op == TC_GRAPH_OP_DIV || c->n->op == TC_GRAPH_OP_MOD, by_zero = false;
    tc_graph_walk w = walk_of(c);
    for (int64_t i = 0; i < count && !by_zero; i++, tc_graph_walk_next(&w)) {
        by_zero = divides && b[w.at[1]] == 0;
        r[i] = by_zero ? 0 : int_binary(c->n, c->in[0]->dtype, a[w.at[0]], b[w.at[1]]);
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

static bool holds(tc_graph_op op, bool less, bool equal, bool unordered) {
    switch ((int)op) {
    case TC_GRAPH_OP_EQUAL:
        return equal;
    case TC_GRAPH_OP_LESS:
        return less;
    case TC_GRAPH_OP_LESS_OR_EQUAL:
        return less || equal;
    case TC_GRAPH_OP_GREATER:
        return !less && !equal && !unordered;
    case TC_GRAPH_OP_GREATER_OR_EQUAL:
        return !less && !unordered;
    default:
        return false;
    }
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
