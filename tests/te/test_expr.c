/* Data types, contexts, constructors and rewriting. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <float.h>
#include <math.h>

#include "support/rng.h"
#include "te/eval.h"
#include "te/index/affine.h"
#include "te/text.h"

/* ---- dtypes ---- */

static void dtype_names(void **state) {
    (void)state;
    tc_dtype t;
    for (int i = 0; i < TC_NDTYPES; i++) {
        assert_true(tc_dtype_parse(tc_dtype_name((tc_dtype)i), &t));
        assert_int_equal(t, i);
        int classes = (t == TC_BOOL) + tc_dtype_is_int(t) + tc_dtype_is_float(t);
        assert_int_equal(classes, 1);
    }
    assert_false(tc_dtype_parse("f8", &t));
}

static void f16_exhaustive(void **state) {
    (void)state;
    for (uint32_t h = 0; h < 0x10000; h++) {
        float f = tc_f16_to_f32((uint16_t)h);
        if (isnan(f))
            assert_true(isnan(tc_f16_to_f32(tc_f32_to_f16(f))));
        else
            assert_int_equal(tc_f32_to_f16(f), h);
    }
    for (uint32_t h = 0; h < 0x7c00; h++) { /* ties between neighbours go to the even one */
        float a = tc_f16_to_f32((uint16_t)h), b = h == 0x7bff ? 65536.0f : tc_f16_to_f32((uint16_t)(h + 1));
        assert_int_equal(tc_f32_to_f16((a + b) / 2), h + (h & 1));
        assert_int_equal(tc_f32_to_f16(nextafterf((a + b) / 2, 0)), h);
        assert_int_equal(tc_f32_to_f16(nextafterf((a + b) / 2, INFINITY)), h + 1);
    }
}

static void bf16_exhaustive(void **state) {
    (void)state;
    for (uint32_t h = 0; h < 0x10000; h++) {
        float f = tc_bf16_to_f32((uint16_t)h);
        if (isnan(f))
            assert_true(isnan(tc_bf16_to_f32(tc_f32_to_bf16(f))));
        else
            assert_int_equal(tc_f32_to_bf16(f), h);
    }
    assert_int_equal(tc_f32_to_bf16(1.00390625f), 0x3f80); /* tie to even */
    assert_int_equal(tc_f32_to_bf16(1.01171875f), 0x3f82);
}

/* Divisors whose reciprocal may take their place, by what is true of both for all x that are tried. */
static void inverting_divisors(void **state) {
    (void)state;
    static const double some[] = {1,        2,       -0.25, 0x1p126,  0x1p-126, 3,        0x1p127,  0x1p-127,
                                  0x1p-140, 0x1.8p0, 0,     INFINITY, 0x1p1022, 0x1p1023, 0x1p-1022};
    static const bool f32[] = {1, 1, 1, 1, 1}, f64[] = {1, 1, 1, 1, 1, 0, 1, 1, 1, 0, 0, 0, 1, 0, 1};
    for (size_t i = 0; i < TC_LEN(some); i++) {
        assert_int_equal(tc_dtype_inverts(TC_F32, some[i]), i < TC_LEN(f32) && f32[i]);
        assert_int_equal(tc_dtype_inverts(TC_F64, some[i]), f64[i]);
    }
    assert_false(tc_dtype_inverts(TC_F32, (double)NAN) || tc_dtype_inverts(TC_F64, (double)NAN));
}

static void integer_distances(void **state) {
    (void)state;
    const int64_t big = (int64_t)1 << 53;
    assert_true(tc_distance_i(TC_I64, big, big + 1) == 1 && tc_distance_i(TC_I64, big + 1, big) == 1);
    assert_true(tc_distance_i(TC_I64, INT64_MIN, INT64_MAX) == 0x1p64 && tc_distance_i(TC_I64, -1, 1) == 2);
    assert_true(tc_distance_i(TC_U64, -1, 1) == 0x1p64 && tc_distance_i(TC_U64, INT64_MIN, INT64_MAX) == 1);
    assert_true(tc_distance_i(TC_BOOL, 0, 1) == 1 && tc_distance_i(TC_I8, 5, 5) == 0);
}

/* The formats as ONNX defines them: bits of exponent and mantissa, bias, and what the last codes are. */
static const struct {
    tc_dtype type;
    int mantissa, bias, last; /* last: code of the largest number */
    bool infinite, one_zero;
} FORMATS[] = {{TC_F8E4M3FN, 3, 7, 0x7e, false, false},
               {TC_F8E4M3FNUZ, 3, 8, 0x7f, false, true},
               {TC_F8E5M2, 2, 15, 0x7b, true, false},
               {TC_F8E5M2FNUZ, 2, 16, 0x7f, false, true}};

static double magnitude(size_t f, int code) {
    int m = FORMATS[f].mantissa, exponent = code >> m, fraction = code & ((1 << m) - 1);
    return ldexp(exponent ? (1 << m) + fraction : fraction, TC_MAX(exponent, 1) - FORMATS[f].bias - m);
}

static double float8_of(size_t f, int code) {
    int below = code & 0x7f;
    if (FORMATS[f].one_zero && code == 0x80)
        return (double)NAN;
    if (below > FORMATS[f].last)
        return FORMATS[f].infinite && below == FORMATS[f].last + 1 ? copysign(INFINITY, code & 0x80 ? -1 : 1) : (double)NAN;
    return copysign(magnitude(f, below), code & 0x80 ? -1 : 1);
}

static void float8_codes(void **state) {
    (void)state;
    for (size_t f = 0; f < TC_LEN(FORMATS); f++)
        for (int code = 0; code < 256; code++) {
            const tc_float8 *row = tc_float8_of(FORMATS[f].type);
            double want = float8_of(f, code);
            float got = tc_f8_to_f32(row, (uint8_t)code);
            assert_true(isnan(want) ? isnan(got) : (double)got == want && !signbit(got) == !signbit(want));
            assert_int_equal(isnan(want) || tc_f32_to_f8(row, got) == code, 1);
            assert_true(!isnan(want) || isnan(tc_f8_to_f32(row, tc_f32_to_f8(row, got))));
        }
}

/* The nearest code by looking at all of them, ties to the even one; one past the last stands for what has no number. */
static int nearest_code(size_t f, double v) {
    int best = 0, past = FORMATS[f].last + 1;
    if (v >= magnitude(f, past))
        return past;
    for (int code = 1; code <= past; code++) {
        double d = fabs(magnitude(f, code) - v), least = fabs(magnitude(f, best) - v);
        if (d < least || (d == least && code % 2 == 0))
            best = code;
    }
    return best;
}

static void rounds_to_nearest(size_t f, float v) {
    const tc_float8 *row = tc_float8_of(FORMATS[f].type);
    int code = nearest_code(f, fabs((double)v));
    for (int sign = 0; sign < 2; sign++) {
        float x = sign ? -v : v, got = tc_f8_to_f32(row, tc_f32_to_f8(row, x));
        double want = code <= FORMATS[f].last ? magnitude(f, code) : FORMATS[f].infinite ? INFINITY : (double)NAN;
        bool minus = sign && !(want == 0 && FORMATS[f].one_zero);
        if (isnan(want) ? !isnan(got) : (double)fabsf(got) != want || (signbit(got) != 0) != minus)
            fail_msg("%s: %a becomes %a, not %a", tc_dtype_name(FORMATS[f].type), (double)x, (double)got, want);
    }
}

/* All codes, the middles between neighbours, and the floats beside these; floats of any size. */
static void float8_rounding(void **state) {
    (void)state;
    tc_rng rng = tc_rng_seed(5);
    for (size_t f = 0; f < TC_LEN(FORMATS); f++) {
        for (int code = 0; code <= FORMATS[f].last; code++) {
            float at = (float)magnitude(f, code), middle = (float)((magnitude(f, code) + magnitude(f, code + 1)) / 2);
            const float near[] = {at, nextafterf(at, INFINITY), middle, nextafterf(middle, 0), nextafterf(middle, INFINITY)};
            for (size_t i = 0; i < TC_LEN(near); i++)
                rounds_to_nearest(f, near[i]);
        }
        for (int i = 0; i < 20000; i++)
            rounds_to_nearest(f, ldexpf((float)tc_rng_unit(&rng) + 1, (int)tc_rng_below(&rng, 40) - 20));
        const float far[] = {0, 0x1p-149f, FLT_MIN, FLT_MAX, 1e9f};
        for (size_t i = 0; i < TC_LEN(far); i++)
            rounds_to_nearest(f, far[i]);
        const tc_float8 *row = tc_float8_of(FORMATS[f].type);
        assert_true(isnan(tc_f8_to_f32(row, tc_f32_to_f8(row, NAN))));
        float most = tc_f8_to_f32(row, tc_f32_to_f8(row, -INFINITY));
        assert_true(FORMATS[f].infinite ? isinf(most) && most < 0 : isnan(most));
        assert_true((double)tc_f8_largest(row) == magnitude(f, FORMATS[f].last));
    }
}

/* Below the sign: 0, 0.5, and then exponents of two numbers each. */
static void float4(void **state) {
    (void)state;
    static const double values[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    const tc_float8 *row = tc_float8_of(TC_F4E2M1);
    for (int code = 0; code < 16; code++) {
        float got = tc_f8_to_f32(row, (uint8_t)code);
        assert_true((double)got == copysign(values[code % 8], code < 8 ? 1 : -1) && (signbit(got) != 0) == (code >= 8));
        assert_int_equal(tc_f32_to_f8(row, got), code);
    }
    for (float v = 0; v < 16; v += 0x1p-6f) {
        int best = 0;
        for (int code = 1; code < 8; code++)
            if (fabs(values[code] - (double)v) < fabs(values[best] - (double)v) ||
                (fabs(values[code] - (double)v) == fabs(values[best] - (double)v) && code % 2 == 0))
                best = code;
        assert_int_equal(tc_f32_to_f8(row, v), best);
        assert_int_equal(tc_f32_to_f8(row, -v), best + 8);
    }
    assert_int_equal(tc_f32_to_f8(row, INFINITY), 7);
    assert_int_equal(tc_f32_to_f8(row, -INFINITY), 15);
    assert_int_equal(tc_f32_to_f8(row, (float)NAN), 7);
    assert_int_equal(tc_f32_to_f8(row, -(float)NAN), 7);
    assert_true((double)tc_f8_largest(row) == 6);
}

static void powers_of_two(void **state) {
    (void)state;
    const tc_float8 *row = tc_float8_of(TC_F8E8M0);
    for (int code = 0; code < 255; code++) {
        float got = tc_f8_to_f32(row, (uint8_t)code);
        assert_true((double)got == ldexp(1, code - 127));
        assert_int_equal(tc_f32_to_f8(row, got), code);
        assert_int_equal(tc_f32_to_f8(row, -1.99f * got), code);
    }
    assert_true(isnan(tc_f8_to_f32(row, 255)));
    assert_int_equal(tc_f32_to_f8(row, 0), 0);
    assert_int_equal(tc_f32_to_f8(row, (float)NAN), 255);
    assert_int_equal(tc_f32_to_f8(row, INFINITY), 255);
    assert_true((double)tc_f8_largest(row) == 0x1p127);
}

static void integer_semantics(void **state) {
    (void)state;
    assert_int_equal(tc_eval_i(TC_OP_DIV, TC_I32, -7, 2), -4);
    assert_int_equal(tc_eval_i(TC_OP_MOD, TC_I32, -7, 2), 1);
    assert_int_equal(tc_eval_i(TC_OP_MOD, TC_I32, 7, -2), -1);
    assert_int_equal(tc_eval_i(TC_OP_TDIV, TC_I32, -7, 2), -3);
    assert_int_equal(tc_eval_i(TC_OP_TMOD, TC_I32, -7, 2), -1);
    assert_int_equal(tc_eval_i(TC_OP_DIV, TC_I64, INT64_MIN, -1), INT64_MIN);
    assert_int_equal(tc_eval_i(TC_OP_DIV, TC_U64, -1, 2), INT64_MAX);
    assert_int_equal(tc_eval_i(TC_OP_ADD, TC_I8, 127, 1), -128);
    assert_int_equal(tc_eval_i(TC_OP_MUL, TC_U8, 16, 17), 16);
    assert_int_equal(tc_eval_i(TC_OP_LT, TC_U64, 1, -1), 1);
    assert_int_equal(tc_eval_i(TC_OP_ABS, TC_I8, -128, 0), -128);
    assert_int_equal(tc_eval_i(TC_OP_POW, TC_I32, -3, 3), -27);
    assert_int_equal(tc_eval_i(TC_OP_DIV, TC_I32, 1, 0), 0);
    assert_int_equal(tc_eval_i(TC_OP_MOD, TC_I32, -7, 0), 0);
    assert_int_equal(tc_eval_i(TC_OP_TMOD, TC_U64, -1, 0), 0);
    assert_int_equal(tc_eval_i(TC_OP_TMOD, TC_I64, INT64_MIN, -1), 0);
    assert_int_equal(tc_eval_i(TC_OP_SHL, TC_I8, 1, 8), 0);
    assert_int_equal(tc_eval_i(TC_OP_SHL, TC_I32, 1, -1), 0);
    assert_int_equal(tc_eval_i(TC_OP_SHR, TC_I32, -5, 32), -1);
    assert_int_equal(tc_eval_i(TC_OP_SHR, TC_I32, 5, -1), 0);
    assert_int_equal(tc_eval_i(TC_OP_SHR, TC_U64, -1, 64), 0);
    assert_int_equal(tc_cast_fi(TC_I8, 1000), 127);
    assert_int_equal(tc_cast_fi(TC_U8, -1), 0);
    assert_int_equal(tc_cast_fi(TC_I4, 8), 7);
    assert_int_equal(tc_cast_fi(TC_I4, -8.5), -8);
    assert_int_equal(tc_cast_fi(TC_U4, 16), 15);
    assert_int_equal(tc_cast_ii(TC_I4, 23), 7);
    assert_int_equal(tc_cast_ii(TC_I4, 24), -8);
    assert_int_equal(tc_cast_ii(TC_U4, -1), 15);
    assert_int_equal(tc_cast_fi(TC_I64, 1e30), INT64_MAX);
    assert_int_equal(tc_cast_fi(TC_I32, (double)NAN), 0);
    assert_true(tc_cast_if(TC_U64, TC_F64, -1) == 0x1p64);
    assert_true(isnan(tc_eval_f(TC_OP_MAX, TC_F32, 1, (double)NAN)) && isnan(tc_eval_f(TC_OP_MIN, TC_F32, (double)NAN, 1)));
    assert_true(tc_eval_f(TC_OP_ROUND, TC_F32, 2.5, 0) == 2);
}

/* ---- contexts ---- */

static const tc_expr *build(tc_ctx *c, const tc_var *v, int n) {
    const tc_expr *e = tc_varx(c, v);
    for (int i = 0; i < n; i++)
        e = tc_add(c, tc_mul(c, e, tc_i64(c, i + 2)), tc_mod(c, tc_varx(c, v), tc_i64(c, i + 3)));
    return e;
}

static void interning(void **state) {
    (void)state;
    tc_ctx *c = tc_ctx_new();
    const tc_var *v = tc_var_new(c, "v"), *w = tc_var_new(c, "v");
    const tc_expr *e = build(c, v, 2000); /* grows the table */
    uint32_t next = tc_ctx_next_id(c);
    assert_ptr_equal(build(c, v, 2000), e);
    assert_int_equal(tc_ctx_next_id(c), next + 1); /* nothing was made */
    assert_ptr_not_equal(tc_varx(c, v), tc_varx(c, w));
    assert_ptr_equal(tc_float(c, TC_F32, (double)NAN), tc_float(c, TC_F32, -(double)NAN));
    assert_ptr_not_equal(tc_float(c, TC_F32, 0.0), tc_float(c, TC_F32, -0.0));
    assert_ptr_not_equal(tc_float(c, TC_F32, 1), tc_float(c, TC_F64, 1));
    tc_ctx_free(c);
}

static void children(void **state) {
    (void)state;
    tc_ctx *parent = tc_ctx_new();
    const tc_var *v = tc_var_new(parent, "v");
    const tc_expr *shared = build(parent, v, 10);
    tc_ctx *child = tc_ctx_child(parent), *other = tc_ctx_child(parent);
    assert_ptr_equal(build(child, v, 10), shared);
    const tc_expr *own = build(child, v, 20);
    assert_true(own->id > shared->id);
    assert_ptr_equal(build(child, v, 20), own);
    uint32_t id = own->id;
    tc_ctx *grandchild = tc_ctx_child(child);
    assert_ptr_equal(build(grandchild, v, 20), own);
    tc_ctx_free(grandchild);
    assert_int_equal(build(other, v, 20)->id, id); /* ids start at the parent's next one: the same in every child */
    for (int i = 0; i < 3; i++) {
        tc_ctx_reset(child);
        assert_int_equal(build(child, v, 20)->id, id);
        assert_ptr_equal(build(child, v, 10), shared);
    }
    tc_ctx_free(child);
    tc_ctx_free(other);
    assert_ptr_equal(build(parent, v, 10), shared);
    tc_ctx_free(parent);
}

/* ---- constructors ---- */

static void folding(void **state) {
    (void)state;
    tc_ctx *c = tc_ctx_new();
    const tc_expr *x = tc_varx(c, tc_var_new(c, "x")), *zero = tc_i64(c, 0), *one = tc_i64(c, 1);
    const tc_tensor *t = tc_te_placeholder(c, "T", TC_F32, 1, (int64_t[]){4}, false);
    const tc_expr *f = tc_read(c, t, 1, &x), *f0 = tc_float(c, TC_F32, 0), *minus0 = tc_float(c, TC_F32, -0.0),
                  *f1 = tc_float(c, TC_F32, 1);
    assert_ptr_equal(tc_add(c, zero, x), x);
    assert_ptr_equal(tc_mul(c, one, x), x);
    assert_ptr_equal(tc_mul(c, x, zero), zero);
    assert_ptr_equal(tc_sub(c, x, zero), x);
    assert_ptr_equal(tc_mod(c, x, one), zero);
    assert_ptr_equal(tc_add(c, tc_i64(c, 5), x), tc_add(c, x, tc_i64(c, 5)));
    assert_ptr_equal(tc_sub(c, x, tc_i64(c, 5)), tc_add(c, x, tc_i64(c, -5)));
    assert_ptr_equal(tc_div(c, tc_i64(c, -7), tc_i64(c, 2)), tc_i64(c, -4));
    assert_ptr_equal(tc_div(c, one, zero), zero);
    /* floats: only what is exact for every value, -0 and NaN included */
    assert_int_equal(tc_add(c, f, f0)->op, TC_OP_ADD);
    assert_ptr_equal(tc_add(c, f, minus0), f);
    assert_ptr_equal(tc_sub(c, f, f0), f);
    assert_ptr_equal(tc_mul(c, f, f1), f);
    assert_int_equal(tc_mul(c, f, f0)->op, TC_OP_MUL);
    /* vectors: the same through broadcasts */
    const tc_expr *r = tc_ramp(c, x, one, 8);
    assert_ptr_equal(tc_add(c, tc_bcast(c, zero, 8), r), r);
    assert_ptr_equal(tc_bin(c, TC_OP_LT, tc_bcast(c, zero, 8), tc_bcast(c, one, 8)), tc_bcast(c, tc_bool(c, true), 8));
    assert_ptr_equal(tc_select(c, tc_bool(c, true), x, one), x);
    assert_ptr_equal(tc_cast(c, TC_I32, tc_float(c, TC_F32, -1.5)), tc_int(c, TC_I32, -1));
    assert_ptr_equal(tc_int(c, TC_U8, 300), tc_int(c, TC_U8, 44));
    tc_ctx_free(c);
}

static void count_node(const tc_expr *e, void *user) {
    (void)e;
    ++*(int *)user;
}

/* Sharing must not be paid for: this is a tree of 2^60 nodes. */
static void shared_nodes(void **state) {
    (void)state;
    tc_ctx *c = tc_ctx_new();
    const tc_var *v = tc_var_new(c, "v"), *w = tc_var_new(c, "w");
    const tc_expr *e = tc_varx(c, v), *with = tc_varx(c, w);
    for (int i = 0; i < 60; i++)
        e = tc_mul(c, e, e);
    int n = 0;
    tc_expr_walk(e, count_node, &n);
    assert_int_equal(n, 61);
    assert_true(tc_expr_uses_var(e, v));
    assert_false(tc_expr_uses_var(e, w));
    const tc_expr *s = tc_expr_subst(c, e, 1, &v, &with);
    assert_true(tc_expr_uses_var(s, w) && !tc_expr_uses_var(s, v));
    const tc_expr *back = tc_varx(c, v);
    assert_ptr_equal(tc_expr_subst(c, s, 1, &w, &back), e);
    assert_non_null(tc_te_simplify(c, e, NULL));
    tc_ctx_free(c);
}

static void ops_table(void **state) {
    (void)state;
    for (int i = 0; i < TC_NOPS; i++) {
        const char *text = tc_op_text((tc_op)i);
        int arity = tc_op_arity((tc_op)i);
        assert_true(arity >= -1 && arity <= 3);
        bool leaf = tc_op_traits((tc_op)i) & TC_LEAF, memory = tc_op_traits((tc_op)i) & TC_MEMORY;
        assert_int_equal(!text[0], leaf || memory);
        assert_true(!leaf || arity == 0);
        for (int k = 0; k < i && text[0]; k++)
            assert_string_not_equal(text, tc_op_text((tc_op)k));
    }
}

static void reducers(void **state) {
    (void)state;
    tc_ctx *c = tc_ctx_new();
    for (int t = 0; t < TC_NDTYPES; t++)
        for (tc_reducer r = TC_RED_SUM; r < TC_NREDUCERS; r++) {
            bool arg = r == TC_RED_ARGMAX || r == TC_RED_ARGMIN;
            if ((t == TC_BOOL && (r == TC_RED_SUM || r == TC_RED_PROD)) || tc_dtype_is_stored((tc_dtype)t))
                continue;
            const tc_expr *seven[] = {tc_imm(c, (tc_dtype)t, 7), tc_i64(c, 3)}, *out[2];
            const tc_expr *none[] = {tc_reducer_identity(c, r, 0, (tc_dtype)t), tc_reducer_identity(c, r, 1, TC_I64)};
            tc_reducer_combine(c, r, none, seven, out);
            assert_ptr_equal(out[0], seven[0]);
            tc_reducer_combine(c, r, seven, none, out);
            assert_ptr_equal(out[0], seven[0]);
            if (arg)
                assert_ptr_equal(out[1], seven[1]);
            if (arg) { /* the smaller index wins a tie, whichever side it comes from */
                const tc_expr *tie[] = {seven[0], tc_i64(c, 2)};
                tc_reducer_combine(c, r, seven, tie, out);
                assert_ptr_equal(out[1], tie[1]);
                tc_reducer_combine(c, r, tie, seven, out);
                assert_ptr_equal(out[1], tie[1]);
            }
        }
    tc_ctx_free(c);
}

/* Of the types of a byte or less: every number stands on its side of the start value, and the start value is no NaN. */
static void reducers_of_bytes(void **state) {
    (void)state;
    tc_ctx *c = tc_ctx_new();
    for (int t = 0; t < TC_NDTYPES; t++)
        for (int code = 0; tc_float8_of((tc_dtype)t) && code < 1 << tc_dtype_bits((tc_dtype)t); code++) {
            double x = (double)tc_f8_to_f32(tc_float8_of((tc_dtype)t), (uint8_t)code);
            assert_true(isnan(x) || tc_reducer_identity(c, TC_RED_MAX, 0, (tc_dtype)t)->u.f <= x);
            assert_true(isnan(x) || tc_reducer_identity(c, TC_RED_MIN, 0, (tc_dtype)t)->u.f >= x);
        }
    tc_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dtype_names),       cmocka_unit_test(inverting_divisors), cmocka_unit_test(integer_distances),
        cmocka_unit_test(float8_codes),      cmocka_unit_test(float8_rounding),    cmocka_unit_test(float4),
        cmocka_unit_test(powers_of_two),     cmocka_unit_test(f16_exhaustive),     cmocka_unit_test(bf16_exhaustive),
        cmocka_unit_test(integer_semantics), cmocka_unit_test(interning),          cmocka_unit_test(children),
        cmocka_unit_test(folding),           cmocka_unit_test(shared_nodes),       cmocka_unit_test(ops_table),
        cmocka_unit_test(reducers),          cmocka_unit_test(reducers_of_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
