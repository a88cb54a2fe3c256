/* The functions of te/accuracy.def against libm in long double: every exponent, both signs, specials; f32 at the lane counts that
 * take different paths, f64, f16 and bf16. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elementwise.h"

static long double rsqrt_ref(long double x) {
    return 1 / sqrtl(x);
}

static long double sigmoid_ref(long double x) {
    return x >= 0 ? 1 / (1 + expl(-x)) : expl(x) / (1 + expl(x));
}

static long double ncdf_ref(long double x) {
    return erfcl(-x * sqrtl(0.5L)) / 2;
}

static long double (*const REFERENCE[TC_NOPS])(long double) = {
    [TC_OP_EXP] = expl,           [TC_OP_LOG] = logl,     [TC_OP_TANH] = tanhl,   [TC_OP_ERF] = erfl,     [TC_OP_SQRT] = sqrtl,
    [TC_OP_RSQRT] = rsqrt_ref,    [TC_OP_SIN] = sinl,     [TC_OP_COS] = cosl,     [TC_OP_TAN] = tanl,     [TC_OP_ASIN] = asinl,
    [TC_OP_ACOS] = acosl,         [TC_OP_ATAN] = atanl,   [TC_OP_SINH] = sinhl,   [TC_OP_COSH] = coshl,   [TC_OP_ASINH] = asinhl,
    [TC_OP_ACOSH] = acoshl,       [TC_OP_ATANH] = atanhl, [TC_OP_EXPM1] = expm1l, [TC_OP_LOG1P] = log1pl, [TC_OP_NCDF] = ncdf_ref,
    [TC_OP_SIGMOID] = sigmoid_ref}; /* pow has two operands: pow_cases */

static const struct {
    tc_op op;
    double f32, f64; /* bounds of relative errors */
} FUNCTIONS[] = {
#define OPERATION(id, f32, f64) {TC_OP_##id, f32, f64},
#define FORMULA(...)
#include "te/accuracy.def"
#undef OPERATION
#undef FORMULA
};

static void every_function_has_a_bound(void **state) {
    (void)state;
    for (int op = 0; op < TC_NOPS; op++) {
        bool found = !(tc_op_traits((tc_op)op) & TC_MATH);
        for (size_t f = 0; f < TC_LEN(FUNCTIONS); f++)
            found |= FUNCTIONS[f].op == (tc_op)op && (REFERENCE[op] || op == TC_OP_POW);
        if (!found)
            fail_msg("te/accuracy.def has no row for %s", tc_op_text((tc_op)op));
    }
}

static const tc_expr *apply(tc_ctx *c, const tc_expr *const *in, void *user) {
    return tc_un(c, *(const tc_op *)user, in[0]);
}

/* What the kernel's last step or one on the way to it may have flushed (codegen/code/math.c). */
static bool is_flushed(double got, double want) {
    return signbit(got) == signbit(want) && fabs(want) < 16 * FLT_MIN && fabs(got - want) <= 1.2 * FLT_MIN;
}

/* Relative error; 0 of what may have been flushed. Infinite where kind or sign of zero differ. */
static double error_of(double got, long double want, double least, double most) {
    double w = (double)want;
    if (isnan(w) || isnan(got))
        return isnan(w) && isnan(got) ? 0 : INFINITY;
    if (signbit(got) != signbit(w))
        return INFINITY;
    if (got == w || (fabsl(want) < 16 * least && fabsl(got - want) <= 1.2L * least))
        return 0;
    if (isinf(got) && fabsl(want) < INFINITY) /* the largest number, next to which is infinity */
        got = most;
    return isinf(w) ? (double)INFINITY : (double)(fabsl(got - want) / fabsl(want));
}

static double error_f32(float got, long double want) {
    return error_of((double)got, fabsl(want) > 0x1.ffffffp127L ? copysignl(INFINITY, want) : want, FLT_MIN, FLT_MAX);
}

/* Arguments: a stride through all bit patterns, dense around 1 and where functions bend, and the special ones. */
static int64_t fill_f32(float *x, int64_t n) {
    static const float special[] = {
        0.0f,       -0.0f,   1.0f,    -1.0f,  INFINITY, -INFINITY,       NAN,           88.72283f,      88.72284f,
        -87.33654f, -103.9f, -104.1f, 1e-45f, -1e-45f,  1.17549435e-38f, 3.4028235e38f, -3.4028235e38f, 0.5f,
        2.0f,       9.0f,    9.02f,   10.0f,  3.919f,   3.95f,           4.0f,          0.70710677f,    1.4142135f};
    int64_t i = 0;
    for (; i < (int64_t)TC_LEN(special); i++)
        x[i] = special[i];
    for (uint32_t bits = 1; i < n / 2; i++, bits += 0xffffffffu / (uint32_t)(n / 2) | 1)
        memcpy(&x[i], &bits, 4);
    for (; i < n; i++)
        x[i] = (float)((double)(i - n * 3 / 4) * (i & 1 ? 40.0 : i & 2 ? 400.0 : 4.0) / (double)n);
    return n;
}

/* Four numbers of each exponent and sign, numbers where functions bend, and the special ones. */
static void fill_f64(double *x, int64_t n) {
    static const double special[] = {0.0, -0.0,    1.0,      -1.0,    INFINITY, -INFINITY,
                                     NAN, DBL_MAX, -DBL_MAX, DBL_MIN, -DBL_MIN, 5e-324};
    int64_t i = 0;
    for (; i < (int64_t)TC_LEN(special); i++)
        x[i] = special[i];
    for (; i < n / 2; i++) {
        uint64_t bits = (uint64_t)(i % 4096) << 52 | ((uint64_t)i * 0x9e3779b97f4a7c15u) >> 12;
        memcpy(&x[i], &bits, 8);
    }
    for (; i < n; i++)
        x[i] = (double)(i - n * 3 / 4) * (i & 1 ? 40.0 : i & 2 ? 2800.0 : 4.0) / (double)n;
}

static void check(tc_dtype t, int lanes, int64_t n) {
    bool wide = t == TC_F64;
    for (size_t f = 0; f < TC_LEN(FUNCTIONS); f++) {
        tc_op op = FUNCTIONS[f].op;
        kernel k;
        if (!REFERENCE[op])
            continue;
        kernel_elementwise(&k, 1, &t, t, n, lanes, apply, &op);
        void **args = kernel_args(k.f);
        if (wide)
            fill_f64(args[0], n);
        else
            fill_f32(args[0], n);
        kernel_run(&k, args, 1);
        double worst = 0, at = 0, bound = wide ? FUNCTIONS[f].f64 : FUNCTIONS[f].f32;
        for (int64_t i = 0; i < n; i++) {
            double x = tc_load_f(t, args[0], i), y = tc_load_f(t, args[1], i);
            long double want = REFERENCE[op]((long double)x);
            double e = wide ? error_of(y, want, DBL_MIN, DBL_MAX) : error_f32((float)y, want);
            if (e > worst) {
                worst = e;
                at = x;
            }
        }
        if (lanes == 16 || wide || worst > bound)
            printf("  %-8s %s x%-2d max error %.3g at %a (%g)\n", tc_op_text(op), tc_dtype_name(t), lanes, worst, at, at);
        assert_true(worst <= bound);
        kernel_free_args(k.f, args);
        kernel_free(&k);
    }
}

static void f32_scalar(void **state) {
    (void)state;
    check(TC_F32, 1, 1 << 18);
}

static void f32_vectors(void **state) {
    (void)state;
    static const int lanes[] = {4, 8, 16, 64};
    for (size_t i = 0; i < TC_LEN(lanes); i++)
        check(TC_F32, lanes[i], 1 << 18);
}

static void f64(void **state) {
    (void)state;
    check(TC_F64, 8, 1 << 16);
}

/* All 65,536 values; the result is the f32 function's, rounded, so at most one step from the rounded exact value. */
static void narrow(void **state) {
    (void)state;
    enum { N = 1 << 16 };
    static const tc_dtype types[] = {TC_F16, TC_BF16};
    for (size_t f = 0; f < TC_LEN(FUNCTIONS) * TC_LEN(types); f++) {
        tc_op op = FUNCTIONS[f / 2].op;
        tc_dtype t = types[f % 2];
        kernel k;
        if (!REFERENCE[op])
            continue;
        kernel_elementwise(&k, 1, &t, t, N, 16, apply, &op);
        void **args = kernel_args(k.f);
        uint16_t *x = args[0], *y = args[1];
        for (int i = 0; i < N; i++)
            x[i] = (uint16_t)i;
        kernel_run(&k, args, 1);
        for (int i = 0; i < N; i++) {
            double want = (double)REFERENCE[op](tc_load_f(t, x, i)), got = tc_load_f(t, y, i);
            uint16_t w;
            tc_store_f(t, &w, 0, want);
            bool flushed = is_flushed(got, want);
            bool same = isnan(want) ? isnan(got) : flushed || abs((int)(int16_t)w - (int)(int16_t)y[i]) <= 1;
            if (!same)
                printf("  %s(%g) on %s: %g, expected %g\n", tc_op_text(op), tc_load_f(t, x, i), tc_dtype_name(t), got, want);
            assert_true(same);
        }
        kernel_free_args(k.f, args);
        kernel_free(&k);
    }
}

static const tc_expr *power(tc_ctx *c, const tc_expr *const *in, void *user) {
    double y = *(const double *)user;
    return tc_bin(c, TC_OP_POW, in[0], isnan(y) ? in[1] : tc_bcast(c, tc_float(c, TC_F32, y), in[0]->lanes));
}

static double bound_f32(tc_op op) {
    size_t f = 0;
    while (FUNCTIONS[f].op != op)
        f++;
    return FUNCTIONS[f].f32;
}

static void pow_cases(void **state) {
    (void)state;
    static const double exponents[] = {NAN, 1, 2, 3, -1, 0.5, 1.5};
    static const float bases[] = {0.0f, -0.0f, 1.0f, -1.0f, 2.0f, -2.0f, 0.3f, INFINITY, -INFINITY, NAN, 1e-40f, 1e20f};
    tc_dtype t[] = {TC_F32, TC_F32};
    for (size_t e = 0; e < TC_LEN(exponents); e++) {
        double y = exponents[e];
        kernel k;
        kernel_elementwise(&k, 2, t, TC_F32, 256, 16, power, &y);
        void **args = kernel_args(k.f);
        float *a = args[0], *b = args[1], *r = args[2];
        for (int i = 0; i < 256; i++) {
            a[i] = bases[i % TC_LEN(bases)];
            b[i] = isnan(y) ? (float)(i / 12 % 9 - 4) * 0.75f : (float)y;
        }
        kernel_run(&k, args, 1);
        for (int i = 0; i < 256; i++)
            assert_true(error_f32(r[i], powl((long double)a[i], (long double)b[i])) <= bound_f32(TC_OP_POW));
        kernel_free_args(k.f, args);
        kernel_free(&k);
    }
}

/* ---- results below the smallest normal number ---- */

static const char SMALL[] = "func small\n"
                            "param X f32[64] in 0 align 64\n"
                            "param Y f32[64] out 0 align 64\n"
                            "body\n"
                            "for i in 32 {\n  Y[i] = X[i] * X[i]\n}\n"
                            "parallel p in 4 {\n"
                            "  for j in 8 {\n    Y[32 + 8 * p + j] = X[8 * p + j] * X[32 + 8 * p + j]\n  }\n}\n";

#if defined(__SSE__)
static unsigned mode(void) {
    return __builtin_ia32_stmxcsr() & ~63u; /* without the flags of what happened so far */
}
static void set_mode(unsigned m) {
    __builtin_ia32_ldmxcsr(m);
}
static const bool flushes = true;
#else
static unsigned mode(void) {
    return 0;
}
static void set_mode(unsigned m) {
    (void)m;
}
static const bool flushes = false;
#endif

/* Another thread of the team has the mode that it was started with, whatever the caller's is. */
static int32_t as_another_thread(const tc_rt *rt, int64_t n, tc_rt_body *body, void *closure) {
    unsigned callers = mode();
    set_mode(*(const unsigned *)rt->impl);
    body(0, n, 0, closure);
    assert_int_equal(mode(), *(const unsigned *)rt->impl);
    set_mode(callers);
    return 0;
}

static void small_results(void **state) {
    (void)state;
    kernel k;
    kernel_parse(&k, SMALL);
    kernel_compile(&k, kernel_target(), NULL);
    void **args = kernel_args(k.f);
    unsigned own = mode();
    tc_rt rt = {.abi_version = TC_RT_ABI, .nthreads = 1, .parallel_for = as_another_thread, .impl = &own};
    for (int threads = 0; threads < 2; threads++) {
        for (int i = 0; i < 64; i++) {
            ((float *)args[0])[i] = i % 2 ? 1e-20f : 3;
            ((float *)args[1])[i] = 7;
        }
        assert_int_equal(k.fn(args, NULL, threads ? &rt : NULL), 0);
        assert_int_equal(mode(), own);
        for (int i = 0; i < 64; i++) {
            float y = ((float *)args[1])[i];
            assert_true(i % 2 ? y == 0 || (!flushes && y < FLT_MIN) : y == 9);
        }
    }
    kernel_free_args(k.f, args);
    kernel_free(&k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_function_has_a_bound),
        cmocka_unit_test(f32_scalar),
        cmocka_unit_test(f32_vectors),
        cmocka_unit_test(f64),
        cmocka_unit_test(narrow),
        cmocka_unit_test(pow_cases),
        cmocka_unit_test(small_results),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
