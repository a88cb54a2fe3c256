/* Error bounds of the inlined functions against libm in double precision: every exponent of f32, both signs, specials; at the
 * lane counts that take different paths. And f64, f16, bf16 through their own. */
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

static double rsqrt_ref(double x) {
    return 1 / sqrt(x);
}

static double sigmoid_ref(double x) {
    return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x));
}

static const struct {
    tc_op op;
    double (*ref)(double);
    double f32_ulp, f64_ulp;
} FUNCTIONS[] = {
    {TC_OP_EXP, exp, 1.0, 2},
    {TC_OP_LOG, log, 1.0, 2},
    {TC_OP_TANH, tanh, 2.5, 3},
    {TC_OP_ERF, erf, 3.0, 2},
    {TC_OP_SIGMOID, sigmoid_ref, 2.5, 3},
    {TC_OP_SQRT, sqrt, 0.5, 0},
    {TC_OP_RSQRT, rsqrt_ref, 1.5, 2},
    {TC_OP_SIN, sin, 2, 2},
    {TC_OP_COS, cos, 2, 2},
    {TC_OP_TAN, tan, 2, 2},
    {TC_OP_ASIN, asin, 2, 2},
    {TC_OP_ACOS, acos, 2, 2},
    {TC_OP_ATAN, atan, 2, 2},
    {TC_OP_SINH, sinh, 3, 3},
    {TC_OP_COSH, cosh, 3, 3},
};

static const tc_expr *apply(tc_ctx *c, const tc_expr *const *in, void *user) {
    return tc_un(c, *(const tc_op *)user, in[0]);
}

/* What the kernel's last step or one on the way to it may have flushed (codegen/code/math.c). */
static bool is_flushed(double got, double want) {
    return signbit(got) == signbit(want) && fabs(want) < 16 * FLT_MIN && fabs(got - want) <= 1.2 * FLT_MIN;
}

/* Distance in units of the last place of the reference; what may have been flushed is as good. Infinite when kind or sign of zero
 * differ. */
static double ulps32(float got, double want) {
    float w = (float)want;
    if (got == 0 && fabs(want) < FLT_MIN && signbit(w) != signbit(got))
        return INFINITY;
    if (is_flushed(got, want))
        return 0;
    if (isnan(w) || isnan(got))
        return isnan(w) && isnan(got) ? 0 : INFINITY;
    if (isinf(w) || isinf(got))
        return w == got ? 0 : fabs(want) > 3.4028234e38 && fabsf(got) > 3.402e38f ? 1 : INFINITY;
    int e;
    frexp(want, &e);
    return fabs((double)got - want) / ldexp(1, (e < -125 ? -125 : e) - 24);
}

static double ulps64(double got, double want) {
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got) ? 0 : INFINITY;
    if (got == want || (got == 0 && fabs(want) < DBL_MIN && signbit(got) == signbit(want)))
        return 0;
    if (isinf(want) || isinf(got))
        return INFINITY;
    int e;
    frexp(want, &e);
    return fabs(got - want) / ldexp(1, (e < -1021 ? -1021 : e) - 53);
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

static void check_f32(int lanes) {
    enum { N = 1 << 18 };
    tc_dtype t = TC_F32;
    for (size_t f = 0; f < TC_LEN(FUNCTIONS); f++) {
        tc_op op = FUNCTIONS[f].op;
        kernel k;
        kernel_elementwise(&k, 1, &t, t, N, lanes, apply, &op);
        void **args = kernel_args(k.f);
        fill_f32(args[0], N);
        kernel_run(&k, args, 1);
        double worst = 0;
        float at = 0;
        for (int64_t i = 0; i < N; i++) {
            float x = ((float *)args[0])[i];
            double e = ulps32(((float *)args[1])[i], FUNCTIONS[f].ref((double)x));
            if (e > worst) {
                worst = e;
                at = x;
            }
        }
        if (lanes == 16 || worst > FUNCTIONS[f].f32_ulp)
            printf("  %-8s x%-2d max error %.3f ulp at %a (%g)\n", tc_op_text(op), lanes, worst, (double)at, (double)at);
        assert_true(worst <= FUNCTIONS[f].f32_ulp);
        kernel_free_args(k.f, args);
        kernel_free(&k);
    }
}

static void f32_scalar(void **state) {
    (void)state;
    check_f32(1);
}

static void f32_vectors(void **state) {
    (void)state;
    static const int lanes[] = {4, 8, 16, 64};
    for (size_t i = 0; i < TC_LEN(lanes); i++)
        check_f32(lanes[i]);
}

static void f64(void **state) {
    (void)state;
    enum { N = 1 << 14 };
    tc_dtype t = TC_F64;
    for (size_t f = 0; f < TC_LEN(FUNCTIONS); f++) {
        tc_op op = FUNCTIONS[f].op;
        kernel k;
        kernel_elementwise(&k, 1, &t, t, N, 8, apply, &op);
        void **args = kernel_args(k.f);
        double *x = args[0];
        for (int64_t i = 0; i < N; i++)
            x[i] =
                i < 4 ? (double[]){0, INFINITY, -INFINITY, NAN}[i] : ldexp((double)(i % 2001 - 1000) / 1000, (int)(i % 23) - 12);
        kernel_run(&k, args, 1);
        double worst = 0;
        for (int64_t i = 0; i < N; i++)
            worst = fmax(worst, ulps64(((double *)args[1])[i], FUNCTIONS[f].ref(x[i])));
        if (worst > FUNCTIONS[f].f64_ulp)
            printf("  %s f64: %g ulp\n", tc_op_text(op), worst);
        assert_true(worst <= FUNCTIONS[f].f64_ulp);
        kernel_free_args(k.f, args);
        kernel_free(&k);
    }
}

/* All 65,536 values; the result is the f32 function's, rounded, so at most one step from the rounded exact value. */
static void narrow(void **state) {
    (void)state;
    enum { N = 1 << 16 };
    static const tc_dtype types[] = {TC_F16, TC_BF16};
    for (size_t f = 0; f < 5 * TC_LEN(types); f++) {
        tc_op op = FUNCTIONS[f / 2].op;
        tc_dtype t = types[f % 2];
        kernel k;
        kernel_elementwise(&k, 1, &t, t, N, 16, apply, &op);
        void **args = kernel_args(k.f);
        uint16_t *x = args[0], *y = args[1];
        for (int i = 0; i < N; i++)
            x[i] = (uint16_t)i;
        kernel_run(&k, args, 1);
        for (int i = 0; i < N; i++) {
            double want = FUNCTIONS[f / 2].ref(tc_load_f(t, x, i)), got = tc_load_f(t, y, i);
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
            assert_true(ulps32(r[i], pow((double)a[i], (double)b[i])) <= 2);
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
        cmocka_unit_test(f32_scalar), cmocka_unit_test(f32_vectors), cmocka_unit_test(f64),
        cmocka_unit_test(narrow),     cmocka_unit_test(pow_cases),   cmocka_unit_test(small_results),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
