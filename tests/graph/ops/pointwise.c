/* Pointwise operators on floats, in every way that a graph runs, against libm in long double: at every exponent, both signs, where
 * functions bend, and special values. te/accuracy.def has the bounds. And Pow with exponents of other types, casts to the nearest
 * number, and log-sum-exp of infinite rows. */
#define EVERY_WAY_OUTPUTS 64
#include <float.h>
#include <math.h>

#include "graph/every_way.h"
#include "graph/graph_text.h"
#include "graph/ops/ops.h"

enum relative { RESULT, ONE, EXPONENT };

enum function_id {
#define OPERATION(id, f32, f64) OF_##id,
#define FORMULA(id, f32, f64, of) OF_##id,
#include "te/accuracy.def"
#undef OPERATION
#undef FORMULA
    EXACT,
    EITHER_ZERO /* exact, but the sign of zero is not said */
};

static const struct {
    double f32, f64;
    enum relative of;
} BOUNDS[] = {
#define OPERATION(id, f32, f64) {f32, f64, RESULT},
#define FORMULA(id, f32, f64, of) {f32, f64, of},
#include "te/accuracy.def"
#undef OPERATION
#undef FORMULA
    {0, 0, RESULT}, {0, 0, ONE}};

/* ---- references ---- */

typedef long double real;

static real celu(real x) {
    return x < 0 ? 2.5L * expm1l(x / 2.5L) : x;
}

static real elu(real x) {
    return x < 0 ? 1.5L * expm1l(x) : x;
}

static real selu(real x) {
    return 1.05070102214813232421875L * (x > 0 ? x : 1.67326319217681884765625L * expm1l(x));
}

static real gelu(real x) {
    return x * (erfcl(-x * sqrtl(0.5L)) / 2);
}

static real tanh_gelu(real x) {
    return x * (1 / (1 + expl(-sqrtl(8 / acosl(-1)) * x * (1 + 0.044715L * x * x))));
}

static real between_0_and_1(real x) {
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

static real hard_sigmoid(real x) {
    return between_0_and_1(0.25L * x + 0.375L);
}

static real hard_swish(real x) {
    return x * between_0_and_1((x + 3) / 6);
}

static real leaky_relu(real x) {
    return x < 0 ? 0.125L * x : x;
}

static real mish(real x) {
    return x * tanhl(x > 0 ? x + log1pl(expl(-x)) : log1pl(expl(x)));
}

static real negated(real x) {
    return -x;
}

static real reciprocal(real x) {
    return 1 / x;
}

static real relu(real x) {
    return x < 0 ? 0 : x;
}

static real shrink(real x) {
    return x < -0.5L ? x + 0.25L : x > 0.5L ? x - 0.25L : x != x ? 0 : 0;
}

static real sigmoid(real x) {
    return x < 0 ? expl(x) / (1 + expl(x)) : 1 / (1 + expl(-x));
}

static real sign_of(real x) {
    return x != x ? x : (x > 0) - (x < 0);
}

static real softplus(real x) {
    return x > 0 ? x + log1pl(expl(-x)) : log1pl(expl(x));
}

static real softsign(real x) {
    return x / (1 + fabsl(x));
}

static real swish(real x) {
    return x * sigmoid(x);
}

static real thresholded_relu(real x) {
    return x > 0.75L ? x : 0;
}

typedef struct function {
    const char *op, *attributes;
    real (*of)(real x);
    enum function_id bound;
} function;

static const function FUNCTIONS[] = {
    {"Abs", "", fabsl, EXACT},
    {"Acos", "", acosl, OF_ACOS},
    {"Acosh", "", acoshl, OF_ACOSH},
    {"Asin", "", asinl, OF_ASIN},
    {"Asinh", "", asinhl, OF_ASINH},
    {"Atan", "", atanl, OF_ATAN},
    {"Atanh", "", atanhl, OF_ATANH},
    {"Ceil", "", ceill, EXACT},
    {"Celu", "{alpha=2.5}", celu, OF_CELU},
    {"Cos", "", cosl, OF_COS},
    {"Cosh", "", coshl, OF_COSH},
    {"Elu", "{alpha=1.5}", elu, OF_ELU},
    {"Erf", "", erfl, OF_ERF},
    {"Exp", "", expl, OF_EXP},
    {"Floor", "", floorl, EXACT},
    {"Gelu", "", gelu, OF_GELU},
    {"Gelu", "{approximate=\"tanh\"}", tanh_gelu, OF_GELU_TANH},
    {"HardSigmoid", "{alpha=0.25, beta=0.375}", hard_sigmoid, OF_HARD_SIGMOID},
    {"HardSwish", "", hard_swish, OF_HARD_SWISH},
    {"LeakyRelu", "{alpha=0.125}", leaky_relu, OF_LEAKY_RELU},
    {"Log", "", logl, OF_LOG},
    {"Mish", "", mish, OF_MISH},
    {"Neg", "", negated, EXACT},
    {"Reciprocal", "", reciprocal, OF_RECIPROCAL},
    {"Relu", "", relu, EITHER_ZERO},
    {"Round", "", rintl, EXACT},
    {"Selu", "", selu, OF_SELU},
    {"Shrink", "{bias=0.25, lambd=0.5}", shrink, OF_SHRINK},
    {"Sigmoid", "", sigmoid, OF_SIGMOID},
    {"Sign", "", sign_of, EITHER_ZERO},
    {"Sin", "", sinl, OF_SIN},
    {"Sinh", "", sinhl, OF_SINH},
    {"Softplus", "", softplus, OF_SOFTPLUS},
    {"Softsign", "", softsign, OF_SOFTSIGN},
    {"Sqrt", "", sqrtl, OF_SQRT},
    {"Swish", "", swish, OF_SWISH},
    {"Tan", "", tanl, OF_TAN},
    {"Tanh", "", tanhl, OF_TANH},
    {"ThresholdedRelu", "{alpha=0.75}", thresholded_relu, EXACT},
};

static void every_operator_is_swept(void **state) {
    static const tc_graph_op others[] = {TC_GRAPH_OP_NOT, TC_GRAPH_OP_BITWISE_NOT, TC_GRAPH_OP_IS_INF, TC_GRAPH_OP_IS_NAN,
                                         TC_GRAPH_OP_CAST};
    (void)state;
    for (int op = 0; op < TC_GRAPH_OP_COUNT; op++) {
        const tc_graph_op_info *info = tc_graph_op_info_of((tc_graph_op)op);
        bool found = info->class != TC_GRAPH_CLASS_ELEMENTWISE || !(info->traits & TC_GRAPH_POINTWISE) || info->max_in != 1;
        for (size_t i = 0; i < TC_LEN(others); i++)
            found |= others[i] == (tc_graph_op)op;
        for (size_t i = 0; i < TC_LEN(FUNCTIONS); i++)
            found |= strcmp(FUNCTIONS[i].op, info->name) == 0;
        if (!found)
            fail_msg("FUNCTIONS has no row for %s", info->name);
    }
}

/* ---- what is right ---- */

static double largest(tc_dtype t) {
    return t == TC_F64 ? DBL_MAX : t == TC_F16 ? 65504 : t == TC_BF16 ? 0x1.fep127 : (double)FLT_MAX;
}

/* What is relative to the bound; f16 and bf16 may be the number next to the nearest. */
static double allowed(tc_dtype t, real want, double bound, enum relative of) {
    bool narrow = t == TC_F16 || t == TC_BF16;
    real size = of == ONE ? 1 : fabsl(want);
    if (of == EXPONENT && size > 0)
        size *= fmaxl(1, fabsl(logl(size)));
    return (double)(size * (narrow ? 2 * bound + tc_dtype_epsilon(t) : bound));
}

/* f(x) = want. Results below the smallest normal number may be zero, and so may be what a formula multiplies by x or by an attribute (te/eval.h). f16 is
 * computed in f32. */
static bool is_right(tc_dtype t, double x, double got, real want, double bound, enum relative of) {
    double nearest = t == TC_F32 ? (double)(float)want : tc_round_f(t, (double)want),
           least = t == TC_F64 ? DBL_MIN : (double)FLT_MIN;
    double more = fmax(1, fabs(x)), error = (double)fabsl(got - want), most = largest(t);
    if (isnan(nearest) || isnan(got))
        return isnan(nearest) && isnan(got);
    if (of == RESULT && signbit(got) != signbit(nearest))
        return false;
    if (got == nearest)
        return true;
    if (isinf(nearest) || isinf(got)) /* next to the largest number */
        return fabsl(want) >= most * (1 - 2 * bound) && fabs(got) >= most * (1 - 2 * bound);
    if (t == TC_F16 && fabsl(want) < 0x1p-14L)
        return error <= 0x1p-24;
    return error <= allowed(t, want, bound, of) || (fabsl(want) < 16 * least * more && error <= 4 * least * more);
}

/* ---- one operand ---- */

static void judge_function(const checked *c, int k, const tc_graph_tensor *got, const char *how) {
    const function *f = &((const function *)c->user)[k];
    tc_dtype t = c->in[0].dtype;
    double bound = t == TC_F64 ? BOUNDS[f->bound].f64 : BOUNDS[f->bound].f32;
    assert_int_equal(got->dtype, t);
    for (int64_t i = 0, n = tc_graph_tensor_count(got); i < n; i++) {
        double x = tc_load_f(t, c->in[0].data, i), y = tc_load_f(t, got->data, i);
        real want = f->of((real)x);
        if (!is_right(t, x, y, want, bound, BOUNDS[f->bound].of))
            fail_msg("%s of %s, %s: of %a (%g) it gives %a (%g), not %La (%Lg): error %Lg", f->op, tc_dtype_name(t), how, x, x, y,
                     y, want, want, fabsl(y - want) / fabsl(want));
    }
}

static void check_text(const char *name, const char *text, const checked *of) {
    static int count;
    tc_graph *g;
    checked c = *of;
    char program[64];
    snprintf(program, sizeof program, "pointwise%d", count++);
    c.program = program;
    c.name = name;
    assert_ok(graph_of_text(name, text, &g, err));
    tc_graph_tensor want[MAX_OUT];
    assert_true(c.nout <= MAX_OUT && c.nout == (int)g->outputs.len);
    for (int k = 0; k < c.nout; k++)
        want[k] = tc_graph_tensor_view(g->outputs.data[k].value->dtype, &g->outputs.data[k].value->shape, NULL);
    c.want = want;
    check_every_way(&c, g);
    tc_graph_free(g);
}

/* A few numbers of each exponent and sign; all of 16 bits. */
static tc_graph_tensor sweep(tc_dtype t) {
    static const double special[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 0.5, -0.5, 1, -1, 3, -3, 0.75, -0.75};
    int bits = 8 * tc_dtype_bytes(t), exponent = t == TC_F64 ? 11 : 8;
    int64_t codes = bits == 16 ? 1 << 16 : (int64_t)1 << (exponent + 1 + (t == TC_F64 ? 2 : 5)), bends = bits == 16 ? 0 : 4096;
    tc_graph_shape s = {1, {(int64_t)TC_LEN(special) + codes + bends}};
    tc_graph_tensor x;
    tc_rng rng = tc_rng_seed(5);
    assert_ok(tc_graph_tensor_alloc(&x, t, &s, err));
    int64_t i = 0;
    for (; i < codes; i++)
        if (bits == 16)
            ((uint16_t *)x.data)[i] = (uint16_t)i;
        else if (t == TC_F32)
            ((uint32_t *)x.data)[i] = (uint32_t)i << 23 | (i < 512 ? 0 : (uint32_t)tc_rng_next(&rng) >> 9);
        else
            ((uint64_t *)x.data)[i] = (uint64_t)i << 52 | (i < 4096 ? 0 : tc_rng_next(&rng) >> 12);
    for (int64_t k = 0; k < bends; k++, i++)
        tc_store_f(t, x.data, i, (tc_rng_unit(&rng) - 0.5) * (k % 2 ? 10 : t == TC_F64 && k % 4 ? 1500 : 210));
    for (size_t k = 0; k < TC_LEN(special); k++, i++)
        tc_store_f(t, x.data, i, special[k]);
    return x;
}

static void check_functions(tc_dtype t, const function *f, int n) {
    tc_strbuf b = {0};
    tc_graph_tensor x = sweep(t);
    tc_sb_printf(&b, "input %%x : %s[%lld]\n", tc_dtype_name(t), (long long)x.shape.d[0]);
    for (int k = 0; k < n; k++)
        tc_sb_printf(&b, "%%y%d = %s(%%x) %s\n", k, f[k].op, f[k].attributes);
    for (int k = 0; k < n; k++)
        tc_sb_printf(&b, "output y%d = %%y%d\n", k, k);
    check_text("functions", tc_sb_str(&b), &(checked){.in = &x, .nout = n, .judge = judge_function, .user = f});
    tc_strbuf_free(&b);
    tc_graph_tensor_free(&x);
}

static void functions_keep_their_bounds(void **state) {
    static const tc_dtype types[] = {TC_F32, TC_F64, TC_F16, TC_BF16};
    (void)state;
    for (size_t t = 0; t < TC_LEN(types); t++)
        check_functions(types[t], FUNCTIONS, TC_LEN(FUNCTIONS));
}

/* ---- Pow ---- */

static const char *const EXPONENTS[] = {"f32[] = {0.5}", "f32[] = {-0.5}", "f64[] = {0.5}", "f16[] = {-0.5}", "f32[] = {-1}",
                                        "f32[] = {0}",   "f64[] = {1}",    "f32[] = {2}",   "i64[] = {3}",    "f32[] = {4}",
                                        "i32[] = {7}",   "f64[] = {8}",    "i64[] = {16}",  "i64[] = {-3}",   "f32[] = {1.5}",
                                        "f64[] = {0.1}", "bf16[] = {0.5}", "i8[] = {5}",    "u8[] = {6}"};
/* 0.1 in f64 is not 0.1 in f32, and i64 holds odd numbers that f64 does not. */
static const double REALS[] = {0.5, -0.5, 0.1, 2, 3, -1, -2.5, 0, -0.0, 1, INFINITY, -INFINITY, NAN, 17, 100.25};
static const int64_t INTEGERS[] = {
    0, 1, -1, 2, 3, -3, 16777217, 16777216, ((int64_t)1 << 53) + 1, -((int64_t)1 << 53) - 1, INT64_MAX, INT64_MIN};
static const tc_dtype EXPONENT_TYPES[] = {TC_F32, TC_F64, TC_F16, TC_BF16, TC_I32, TC_I64, TC_U64, TC_I16};

static real exponent_of(const tc_graph_tensor *b, int64_t i) {
    if (tc_dtype_is_float(b->dtype))
        return (real)tc_load_f(b->dtype, b->data, i);
    int64_t v = tc_load_i(b->dtype, b->data, i);
    return b->dtype == TC_U64 ? (real)(uint64_t)v : (real)v;
}

/* IEEE's pow by that of the magnitude: libm's powl is wrong for negative numbers to the power of -2^63. */
static real power(real a, real b) {
    real r = powl(fabsl(a), b);
    if (!signbit(a) || isnan(a) || isnan(b) || isinf(b))
        return isinf(b) || isnan(b) ? powl(a, b) : r;
    if (floorl(b) != b)
        return a < 0 && !isinf(a) ? (real)NAN : r;
    return fmodl(fabsl(b), 2) == 1 ? -r : r;
}

/* The outputs of the operands of each type, then those of the constants. */
static void judge_pow(const checked *c, int k, const tc_graph_tensor *got, const char *how) {
    tc_dtype t = c->in[0].dtype, of;
    int varying = TC_LEN(EXPONENT_TYPES);
    real constant = 0;
    if (k >= varying) {
        const char *text = EXPONENTS[k - varying];
        char name[8] = {0};
        memcpy(name, text, strcspn(text, "["));
        assert_true(tc_dtype_parse(name, &of));
        double v = strtod(strchr(text, '{') + 1, NULL);
        constant = (real)(tc_dtype_is_float(of) ? tc_round_f(of, v) : v);
    }
    for (int64_t i = 0, n = tc_graph_tensor_count(got); i < n; i++) {
        double a = tc_load_f(t, c->in[0].data, i), y = tc_load_f(t, got->data, i);
        real b = k < varying ? exponent_of(&c->in[k + 1], i) : constant, want = power((real)a, b);
        if (!is_right(t, a, y, want, t == TC_F64 ? BOUNDS[OF_POW].f64 : BOUNDS[OF_POW].f32, RESULT))
            fail_msg("Pow of %s, %s, exponent %d: %a (%g) to %Lg gives %a (%g), not %La (%Lg)", tc_dtype_name(t), how, k, a, a, b,
                     y, y, want, want);
    }
}

static void fill_exponents(tc_graph_tensor *b, int64_t each) {
    for (int64_t i = 0; i < tc_graph_tensor_count(b); i++)
        if (tc_dtype_is_float(b->dtype))
            tc_store_f(b->dtype, b->data, i, REALS[i / each % (int64_t)TC_LEN(REALS)]);
        else
            tc_store_i(b->dtype, b->data, i, INTEGERS[i / each % (int64_t)TC_LEN(INTEGERS)]);
}

static void powers_are_ieee(void **state) {
    static const tc_dtype types[] = {TC_F32, TC_F64, TC_F16, TC_BF16};
    static const double bases[] = {0.0,    -0.0, 1,        -1,        2,   -2,   0.5, -0.5, 1.001,
                                   -0.999, 3,    INFINITY, -INFINITY, NAN, 1e-3, 3e4, -7.5};
    (void)state;
    for (size_t t = 0; t < TC_LEN(types); t++) {
        tc_graph_tensor in[1 + TC_LEN(EXPONENT_TYPES)];
        tc_graph_shape s = {1, {(int64_t)TC_LEN(bases) * (int64_t)TC_LEN(REALS)}};
        tc_strbuf b = {0};
        assert_ok(tc_graph_tensor_alloc(&in[0], types[t], &s, err));
        for (int64_t i = 0; i < s.d[0]; i++)
            tc_store_f(types[t], in[0].data, i, bases[i % (int64_t)TC_LEN(bases)]);
        tc_sb_printf(&b, "input %%x : %s[%lld]\n", tc_dtype_name(types[t]), (long long)s.d[0]);
        int n = 0;
        for (size_t k = 0; k < TC_LEN(EXPONENT_TYPES); k++, n++) {
            assert_ok(tc_graph_tensor_alloc(&in[k + 1], EXPONENT_TYPES[k], &s, err));
            fill_exponents(&in[k + 1], (int64_t)TC_LEN(bases));
            tc_sb_printf(&b, "input %%b%d : %s[%lld]\n", n, tc_dtype_name(EXPONENT_TYPES[k]), (long long)s.d[0]);
        }
        for (size_t k = 0; k < TC_LEN(EXPONENTS); k++, n++)
            tc_sb_printf(&b, "const %%b%d : %s\n", n, EXPONENTS[k]);
        for (int k = 0; k < n; k++)
            tc_sb_printf(&b, "%%y%d = Pow(%%x, %%b%d)\n", k, k);
        for (int k = 0; k < n; k++)
            tc_sb_printf(&b, "output y%d = %%y%d\n", k, k);
        check_text("powers", tc_sb_str(&b), &(checked){.in = in, .nout = n, .judge = judge_pow});
        tc_strbuf_free(&b);
        for (size_t k = 0; k < TC_LEN(in); k++)
            tc_graph_tensor_free(&in[k]);
    }
}

/* ---- casts ---- */

static const tc_dtype TARGETS[] = {TC_F16, TC_BF16, TC_F32, TC_F8E4M3FN, TC_F8E4M3FNUZ, TC_F8E5M2, TC_F8E5M2FNUZ, TC_F4E2M1};

static real element(const tc_graph_tensor *x, int64_t i) {
    return exponent_of(x, i);
}

static double value_of(tc_dtype t, uint32_t code) {
    uint64_t bits = code;
    return tc_load_f(t, &bits, 0);
}

/* The codes of a type from 0 to its largest number, which stand in the order of their values. */
static uint32_t last_code(tc_dtype t) {
    return t == TC_F16 ? 0x7bff : t == TC_BF16 ? 0x7f7f : (uint32_t)tc_float8_of(t)->largest;
}

/* The nearest number, of two the one whose code is even. Beyond the largest: infinity, or the largest of bytes. */
static double nearest(tc_dtype t, real v) {
    if (t == TC_F32)
        return (double)(float)v;
    real a = fabsl(v);
    uint32_t low = 0, high = last_code(t);
    if (isnan(v))
        return t == TC_F4E2M1 ? value_of(t, high) : (double)v;
    real most = (real)value_of(t, high), step = most - (real)value_of(t, high - 1);
    if (tc_float8_of(t) && a > most)
        return copysign((double)most, (double)v);
    if (a >= most + step / 2)
        return copysign((double)INFINITY, (double)v);
    while (low < high) { /* the first code whose value is a or more */
        uint32_t middle = (low + high) / 2;
        if ((real)value_of(t, middle) < a)
            low = middle + 1;
        else
            high = middle;
    }
    if (low > 0 && (real)value_of(t, low) > a) {
        real below = (real)value_of(t, low - 1), half = (below + (real)value_of(t, low)) / 2;
        low -= a < half || (a == half && low % 2);
    }
    return copysign(value_of(t, low), (double)v);
}

static void judge_cast(const checked *c, int k, const tc_graph_tensor *got, const char *how) {
    tc_dtype t = TARGETS[k];
    assert_int_equal(got->dtype, t);
    for (int64_t i = 0, n = tc_graph_tensor_count(got); i < n; i++) {
        real x = element(&c->in[0], i);
        double y = tc_load_f(t, got->data, i), want = nearest(t, x);
        bool flushed = (t == TC_BF16 || t == TC_F32) && fabs(want) <= (double)FLT_MIN && fabs(y) <= fabs(want);
        if (!flushed && y != want && !(isnan(y) && isnan(want)))
            fail_msg("a cast from %s to %s, %s: of %La (%Lg) it gives %a, not %a", tc_dtype_name(c->in[0].dtype),
                     tc_dtype_name(t), how, x, x, y, want);
    }
}

/* Numbers at and around the middles between two numbers of each target. */
static void add_middles(tc_graph_tensor *x, int64_t *at, tc_dtype t, double largest) {
    uint32_t codes = t == TC_F32 ? 2000 : last_code(t), by = t == TC_F16 || t == TC_BF16 ? 31 : 1;
    tc_rng rng = tc_rng_seed((uint64_t)t);
    bool integer = !tc_dtype_is_float(x->dtype);
    for (uint32_t code = 0; code < codes; code += by) {
        double m = t == TC_F32 ? 0 : (value_of(t, code) + value_of(t, code + 1)) / 2;
        if (t == TC_F32)
            m = ldexp((double)((tc_rng_next(&rng) >> 39) | 0x1000000) + 0.5, (int)tc_rng_below(&rng, 60) - 20);
        for (int k = -1; k <= 1; k++)
            for (int s = -1; s <= 1; s += 2)
                if (integer && m < largest && m == floor(m))
                    tc_store_i(x->dtype, x->data, (*at)++, s * (int64_t)m + k);
                else if (!integer)
                    tc_store_f(x->dtype, x->data, (*at)++, s * (k ? nextafter(m, k * INFINITY) : m));
    }
}

static void casts_round_once(void **state) {
    static const tc_dtype from[] = {TC_F64, TC_I32, TC_U32, TC_I64, TC_U64, TC_F32};
    (void)state;
    for (size_t f = 0; f < TC_LEN(from); f++) {
        static const double special[] = {0.0,      -0.0,     INFINITY, -INFINITY,       NAN,  DBL_MAX,
                                         -DBL_MAX, 0x1p-140, 1e-300,   65519.999999999, 65520};
        tc_graph_tensor x;
        tc_graph_shape s = {1, {60000}};
        tc_strbuf b = {0};
        bool integer = !tc_dtype_is_float(from[f]);
        int64_t n = 0;
        assert_ok(tc_graph_tensor_alloc(&x, from[f], &s, err));
        for (size_t t = 0; t < TC_LEN(TARGETS); t++)
            add_middles(&x, &n, TARGETS[t], from[f] == TC_I32 || from[f] == TC_U32 ? 0x1p31 : 0x1p63);
        for (size_t k = 0; k < TC_LEN(special) && !integer; k++)
            tc_store_f(from[f], x.data, n++, special[k]);
        if (integer) {
            tc_store_i(from[f], x.data, n++, -1); /* the largest of those without a sign */
            tc_store_i(from[f], x.data, n++, (int64_t)((uint64_t)1 << (8 * tc_dtype_bytes(from[f]) - 1)));
        }
        assert_true(n > 500 && n <= s.d[0]);
        x.shape.d[0] = n;
        tc_sb_printf(&b, "input %%x : %s[%lld]\n", tc_dtype_name(from[f]), (long long)n);
        int nout = 0;
        for (size_t k = 0; k < TC_LEN(TARGETS); k++, nout++)
            if (TARGETS[k] != from[f])
                tc_sb_printf(&b, "%%y%zu = Cast(%%x) {to=%lld}\n", k, (long long)tc_graph_dtype_to_onnx(TARGETS[k]));
            else
                tc_sb_printf(&b, "%%y%zu = Identity(%%x)\n", k);
        for (int k = 0; k < nout; k++)
            tc_sb_printf(&b, "output y%d = %%y%d\n", k, k);
        check_text("casts", tc_sb_str(&b), &(checked){.in = &x, .nout = nout, .judge = judge_cast});
        tc_strbuf_free(&b);
        tc_graph_tensor_free(&x);
    }
}

/* Powers of two at, above, or beside a number; 2^-127 of less. */
static double power_of(const char *mode, double v) {
    int e;
    double a = fabs(v), fraction = frexp(a, &e);
    if (!isfinite(a))
        return (double)NAN;
    if (a < 0x1p-127)
        return 0x1p-127;
    e -= !((*mode == 'u' && fraction > 0.5) || (*mode == 'n' && fraction >= 0.75));
    return ldexp(1, e > 127 ? 127 : e);
}

static const char *const MODES[] = {"up", "down", "nearest"};

static void judge_power(const checked *c, int k, const tc_graph_tensor *got, const char *how) {
    for (int64_t i = 0, n = tc_graph_tensor_count(got); i < n; i++) {
        double x = tc_load_f(TC_F64, c->in[0].data, i), y = tc_load_f(TC_F8E8M0, got->data, i), want = power_of(MODES[k], x);
        if (y != want && !(isnan(y) && isnan(want)))
            fail_msg("a cast to f8e8m0, %s, %s: of %a it gives %a, not %a", MODES[k], how, x, y, want);
    }
}

static void powers_of_two_round_once(void **state) {
    double v[16] = {1, 1.5, 2, 3, NAN, INFINITY, 1e300, 0x1.8p127};
    (void)state;
    for (int i = 0; i < 4; i++) {
        v[8 + 2 * i] = nextafter(v[i], 0);
        v[9 + 2 * i] = nextafter(v[i], 4);
    }
    tc_graph_tensor x = tc_graph_tensor_view(TC_F64, &(tc_graph_shape){1, {16}}, v);
    check_text("powers of two",
               "input %x : f64[16]\n"
               "%y0 = Cast(%x) {to=24}\n"
               "%y1 = Cast(%x) {to=24, round_mode=\"down\"}\n"
               "%y2 = Cast(%x) {to=24, round_mode=\"nearest\"}\n"
               "output y0 = %y0\noutput y1 = %y1\noutput y2 = %y2\n",
               &(checked){.in = &x, .nout = 3, .judge = judge_power});
}

/* ---- log-sum-exp ---- */

static const double ROWS[][3] = {{-INFINITY, -INFINITY, -INFINITY}, {INFINITY, 1, 2},   {-INFINITY, 0, 1},        {NAN, 1, 2},
                                 {INFINITY, -INFINITY, 0},          {INFINITY, NAN, 0}, {-INFINITY, NAN, 0},      {1, 2, 3},
                                 {INFINITY, INFINITY, INFINITY},    {-1e4, -1e4, -1e4}, {28672, -INFINITY, 24576}};

/* log(sum of exponentials) by definition where it can be; and with which sums of infinite rows are NaN. */
static real log_sum_exp(const double *row) {
    real most = -INFINITY, sum = 0;
    for (int i = 0; i < 3; i++)
        most = isnan(row[i]) || row[i] > most ? (real)row[i] : most;
    if (isnan(row[0]) || isnan(row[1]) || isnan(row[2]))
        return NAN;
    for (int i = 0; i < 3 && isfinite(most); i++)
        sum += expl(row[i] - most);
    return isfinite(most) ? most + logl(sum) : most;
}

static void judge_rows(const checked *c, int k, const tc_graph_tensor *got, const char *how) {
    tc_dtype t = got->dtype;
    for (int64_t i = 0; i < tc_graph_tensor_count(got); i++) {
        const double *row = ROWS[k ? i / 3 : i];
        real sum = log_sum_exp(row), want = sum;
        if (k)
            want = isinf(sum) ? (real)NAN : k == 1 ? row[i % 3] - sum : expl(row[i % 3] - sum);
        double y = tc_load_f(t, got->data, i), most = k == 1 && isfinite(want) ? 1e-6 : t == TC_F64 ? 1e-14 : 1e-6;
        bool same = isnan(want) ? isnan(y) : isinf(want) ? y == want : fabsl(y - want) <= most * fmaxl(1, fabsl(want));
        if (!same)
            fail_msg("%s, output %d, %s: row %lld gives %g, not %Lg", c->name, k, how, (long long)(k ? i / 3 : i), y, want);
    }
}

static void infinite_rows(void **state) {
    static const tc_dtype types[] = {TC_F32, TC_F64, TC_F16};
    (void)state;
    for (size_t k = 0; k < TC_LEN(types); k++) {
        char text[400];
        int64_t n = TC_LEN(ROWS);
        tc_graph_tensor x, v = tc_graph_tensor_view(TC_F64, &(tc_graph_shape){2, {n, 3}}, (void *)(uintptr_t)ROWS);
        assert_ok(tc_graph_tensor_alloc(&x, types[k], &v.shape, err));
        tc_graph_tensor_cast(&x, &v);
        snprintf(text, sizeof text,
                 "input %%x : %s[%lld,3]\n%%c = Cast(%%x) {to=%d}\n"
                 "%%a = ReduceLogSumExp(%s) {axes=[1], keepdims=0}\n%%b = LogSoftmax(%s)\n%%s = Softmax(%s)\n"
                 "output a = %%a\noutput b = %%b\noutput s = %%s\n",
                 tc_dtype_name(types[k]), (long long)n, types[k] == TC_F64 ? 11 : 1, types[k] == TC_F16 ? "%c" : "%x",
                 types[k] == TC_F16 ? "%c" : "%x", types[k] == TC_F16 ? "%c" : "%x");
        check_text("infinite rows", text, &(checked){.in = &x, .nout = 3, .judge = judge_rows});
        tc_graph_tensor_free(&x);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operator_is_swept),  cmocka_unit_test(functions_keep_their_bounds),
        cmocka_unit_test(powers_are_ieee),          cmocka_unit_test(casts_round_once),
        cmocka_unit_test(powers_of_two_round_once), cmocka_unit_test(infinite_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
