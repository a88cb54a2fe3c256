/* The types of kernels in C, and the arithmetic that C leaves undefined or has no name for. Every file with these kernels begins
 * with this text. It needs only the standard headers and the compiler's own headers. Tests compile it as it stands. */
#ifndef TC_CODEGEN_C_SOURCE_PRELUDE_H
#define TC_CODEGEN_C_SOURCE_PRELUDE_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef _OPENMP
extern int omp_get_thread_num(void);
#define TC_THREAD omp_get_thread_num()
#else
#define TC_THREAD 0
#endif
#if defined(_OPENMP) && defined(__unix__) && defined(__GNUC__)
#include <pthread.h>
#include <sched.h>
#define TC_TRIES_THREADS
#endif

#if defined(__GNUC__)
#define TC_ALIAS __attribute__((may_alias))
#define TC_FN static inline __attribute__((unused))
#else
#define TC_ALIAS
#define TC_FN static inline
#endif

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#define TC_PRAGMA(text) _Pragma(#text)
#define TC_UNROLL(n) TC_PRAGMA(GCC unroll(n)) /* the loop that follows */
#else
#define TC_UNROLL(n)
#endif

/* ---- threads ---- */

/* OpenMP's runtimes end the process where a thread of a team cannot be started. So a thread that runs with a larger team than
 * ever before starts that many plain threads once, and ends them: the team is no larger than that went. */
#ifdef TC_TRIES_THREADS
TC_FN void *tc_wait_at_gate(void *gate) {
    pthread_mutex_lock((pthread_mutex_t *)gate);
    pthread_mutex_unlock((pthread_mutex_t *)gate);
    return 0;
}

/* How many of n threads, the calling one included, there were. */
TC_FN int tc_try_threads(int n) {
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    pthread_t *t = (pthread_t *)malloc((size_t)n * sizeof *t);
    int started = 0;
    pthread_mutex_lock(&gate);
    while (t && started < n - 1 && pthread_create(&t[started], 0, tc_wait_at_gate, &gate) == 0)
        started++;
    pthread_mutex_unlock(&gate);
    for (int i = 0; i < started; i++)
        pthread_join(t[i], 0);
    for (int i = 0; i < 200; i++)
        sched_yield(); /* threads that were joined count for limits a little longer */
    free(t);
    return started + 1;
}

/* n, or as many threads as the calling thread's team can have. */
TC_FN int tc_team(int n) {
    static __thread int most __attribute__((aligned(64))) = 1; /* else the leak sanitizer of GCC 12 may crash */
    static __thread int refused = INT32_MAX;
    if (n > most && n < refused) {
        int got = tc_try_threads(n);
        most = got > most ? got : most;
        refused = got < n ? n : INT32_MAX;
    }
    return n < most ? n : most;
}
#else
#define tc_team(n) (n)
#endif

/* ---- small numbers ---- */

/* While kernels run, results below the smallest normal number become zero: some cores take a hundred cycles and more for one. What
 * was set before is put back. */
#if defined(__SSE__)
#include <xmmintrin.h>
TC_FN unsigned tc_begin_flush(void) {
    unsigned before = _mm_getcsr();
    _mm_setcsr(before | 1u << 15);
    return before;
}
#define tc_end_flush(before) _mm_setcsr(before)
#else
#define tc_begin_flush() 0u
#define tc_end_flush(before) (void)(before)
#endif

/* ---- types ---- */

/* Memory is reused for values of different types. bool is a byte; floats of 16 and 8 bits are computed with as f32 and
 * rounded. */
typedef uint8_t TC_ALIAS tc_bool;
typedef int8_t TC_ALIAS tc_i8;
typedef uint8_t TC_ALIAS tc_u8;
typedef int16_t TC_ALIAS tc_i16;
typedef uint16_t TC_ALIAS tc_u16;
typedef int32_t TC_ALIAS tc_i32;
typedef uint32_t TC_ALIAS tc_u32;
typedef int64_t TC_ALIAS tc_i64;
typedef uint64_t TC_ALIAS tc_u64;
typedef uint16_t TC_ALIAS tc_f16;
typedef uint16_t TC_ALIAS tc_bf16;
typedef float TC_ALIAS tc_f32;
typedef double TC_ALIAS tc_f64;
typedef uint8_t TC_ALIAS tc_f8e4m3fn;
typedef uint8_t TC_ALIAS tc_f8e4m3fnuz;
typedef uint8_t TC_ALIAS tc_f8e5m2;
typedef uint8_t TC_ALIAS tc_f8e5m2fnuz;
typedef uint8_t TC_ALIAS tc_f4e2m1;
typedef uint8_t TC_ALIAS tc_f8e8m0;
typedef int8_t TC_ALIAS tc_i4;
typedef uint8_t TC_ALIAS tc_u4;

/* ---- floats of 16 bits and less: conversions round to nearest even ---- */

TC_FN uint32_t tc_bits(float f) {
    uint32_t u;
    memcpy(&u, &f, 4);
    return u;
}

TC_FN float tc_of(uint32_t u) {
    float f;
    memcpy(&f, &u, 4);
    return f;
}

TC_FN float tc_from_bf16(uint16_t h) {
    return tc_of((uint32_t)h << 16);
}

TC_FN uint16_t tc_to_bf16(float f) {
    uint32_t u = tc_bits(f);
    if ((u & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(u >> 16 | 0x40);
    return (uint16_t)((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}

TC_FN float tc_from_f16(uint16_t h) {
    uint32_t s = (uint32_t)(h & 0x8000) << 16, e = (h >> 10) & 31, m = h & 0x3ff;
    if (e == 31)
        return tc_of(s | 0x7f800000 | m << 13);
    if (e)
        return tc_of(s | (e + 112) << 23 | m << 13);
    return tc_of(s | tc_bits((float)m * 0x1p-24f));
}

TC_FN uint16_t tc_to_f16(float f) {
    uint32_t u = tc_bits(f), s = (u >> 16) & 0x8000, a = u & 0x7fffffff;
    if (a > 0x7f800000)
        return (uint16_t)(s | 0x7e00 | ((u >> 13) & 0x1ff));
    if (a >= 0x477ff000) /* 65520 and more */
        return (uint16_t)(s | 0x7c00);
    if (a < 0x38800000) /* subnormal: 0.5 has the unit of its last place, so adding it rounds */
        return (uint16_t)(s | (tc_bits(tc_of(a) + 0.5f) - 0x3f000000));
    return (uint16_t)(s | ((a - 0x38000000 + 0xfff + ((a >> 13) & 1)) >> 13));
}

/* v as f32, rounded to odd: if f32 lacks v, the neighbour of v whose last bit is 1. A second rounding, to a type with at least two
 * bits less, then gives what one rounding of v gives. */
TC_FN float tc_to_odd(double v) {
    float f = (float)v;
    double back = f;
    if (back == v || v != v)
        return f;
    return tc_of((tc_bits(f) - (fabs(back) > fabs(v))) | 1);
}

/* The same of integers. In numbers of more than 32 bits it only matters whether the low 16 bits are zero. */
TC_FN float tc_to_odd_i(int64_t v) {
    if (v >= INT64_C(0x100000000) || v <= -INT64_C(0x100000000))
        v = (v & ~INT64_C(0xffff)) | (v & 0xffff ? 0x8000 : 0);
    return tc_to_odd((double)v);
}

TC_FN float tc_to_odd_u(uint64_t v) {
    if (v >> 32)
        v = (v & ~UINT64_C(0xffff)) | (v & 0xffff ? 0x8000 : 0);
    return tc_to_odd((double)v);
}

TC_FN float tc_round_f16(float f) {
    return tc_from_f16(tc_to_f16(f));
}

TC_FN float tc_round_bf16(float f) {
    return tc_from_bf16(tc_to_bf16(f));
}

/* Floats of a byte or less: the sign's bit, bits of the mantissa, what is added to the exponent, and below the sign the codes of
 * the largest number, of what is beyond it and of NaN; 0x80 where zero has no sign. Without a sign they are powers of two. */
TC_FN float tc_from_f8(uint8_t code, uint32_t sign, int mantissa, int bias, uint32_t largest, uint32_t over, uint32_t nan_code) {
    uint32_t s = code & sign ? 0x80000000u : 0, a = code & (sign - 1);
    if (!sign)
        return tc_of(code == nan_code ? 0x7fc00000 : code ? (uint32_t)code << 23 : 0x400000);
    if (nan_code == 0x80 ? code == 0x80 : a > largest && !(a == over && over < nan_code))
        return tc_of(0x7fc00000);
    if (a > largest)
        return tc_of(s | 0x7f800000);
    if (a >> mantissa == 0)
        return tc_of(s | tc_bits((float)a * tc_of((uint32_t)(128 - bias - mantissa) << 23)));
    return tc_of(s | ((a << (23 - mantissa)) + ((uint32_t)(127 - bias) << 23)));
}

TC_FN uint8_t tc_to_f8(float f, uint32_t sign, int mantissa, int bias, uint32_t largest, uint32_t over, uint32_t nan_code) {
    uint32_t u = tc_bits(f), s = u >> 31 ? sign : 0, a = u & 0x7fffffff, smallest = (uint32_t)(128 - bias) << 23;
    int shift = 23 - mantissa;
    if (!sign)
        return (uint8_t)(a >> 23);
    if (a > 0x7f800000)
        return (uint8_t)(nan_code == largest ? nan_code : s | nan_code);
    float step = tc_of((uint32_t)(151 - bias - mantissa) << 23);
    uint32_t r = a < smallest ? tc_bits(tc_of(a) + step) - tc_bits(step)
                              : (a - (smallest - (1u << 23)) + (1u << (shift - 1)) - 1 + ((a >> shift) & 1)) >> shift;
    r = r > largest ? over : r;
    return (uint8_t)(r == 0 && nan_code == 0x80 ? 0 : s | r);
}

#define tc_from_f8e4m3fn(code) tc_from_f8(code, 0x80, 3, 7, 0x7e, 0x7f, 0x7f)
#define tc_to_f8e4m3fn(f) tc_to_f8(f, 0x80, 3, 7, 0x7e, 0x7f, 0x7f)
#define tc_round_f8e4m3fn(f) tc_from_f8e4m3fn(tc_to_f8e4m3fn(f))
#define tc_from_f8e4m3fnuz(code) tc_from_f8(code, 0x80, 3, 8, 0x7f, 0x80, 0x80)
#define tc_to_f8e4m3fnuz(f) tc_to_f8(f, 0x80, 3, 8, 0x7f, 0x80, 0x80)
#define tc_round_f8e4m3fnuz(f) tc_from_f8e4m3fnuz(tc_to_f8e4m3fnuz(f))
#define tc_from_f8e5m2(code) tc_from_f8(code, 0x80, 2, 15, 0x7b, 0x7c, 0x7f)
#define tc_to_f8e5m2(f) tc_to_f8(f, 0x80, 2, 15, 0x7b, 0x7c, 0x7f)
#define tc_round_f8e5m2(f) tc_from_f8e5m2(tc_to_f8e5m2(f))
#define tc_from_f8e5m2fnuz(code) tc_from_f8(code, 0x80, 2, 16, 0x7f, 0x80, 0x80)
#define tc_to_f8e5m2fnuz(f) tc_to_f8(f, 0x80, 2, 16, 0x7f, 0x80, 0x80)
#define tc_round_f8e5m2fnuz(f) tc_from_f8e5m2fnuz(tc_to_f8e5m2fnuz(f))
#define tc_from_f4e2m1(code) tc_from_f8(code, 0x8, 1, 1, 0x7, 0x7, 0x7)
#define tc_to_f4e2m1(f) tc_to_f8(f, 0x8, 1, 1, 0x7, 0x7, 0x7)
#define tc_round_f4e2m1(f) tc_from_f4e2m1(tc_to_f4e2m1(f))
#define tc_from_f8e8m0(code) tc_from_f8(code, 0, 0, 127, 0xfe, 0xff, 0xff)
#define tc_to_f8e8m0(f) tc_to_f8(f, 0, 0, 127, 0xfe, 0xff, 0xff)
#define tc_round_f8e8m0(f) tc_from_f8e8m0(tc_to_f8e8m0(f))

/* ---- integers ---- */

/* The low four bits, as a number. */
TC_FN int8_t tc_wrap_i4(int64_t a) {
    return (int8_t)(((a & 15) ^ 8) - 8);
}

TC_FN uint8_t tc_wrap_u4(int64_t a) {
    return (uint8_t)(a & 15);
}

/* Division and remainder that round towards zero. C's trap where the smallest number is divided by -1, whose quotient wraps, and
 * where a number is divided by 0, which makes 0. */
TC_FN int64_t tc_tdiv(int64_t a, int64_t b) {
    return b == 0 ? 0 : b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

TC_FN int64_t tc_tmod(int64_t a, int64_t b) {
    return b == 0 || b == -1 ? 0 : a % b;
}

TC_FN uint64_t tc_div_u(uint64_t a, uint64_t b) {
    return b == 0 ? 0 : a / b;
}

TC_FN uint64_t tc_mod_u(uint64_t a, uint64_t b) {
    return b == 0 ? 0 : a % b;
}

/* The same towards minus infinity. */
TC_FN int64_t tc_div(int64_t a, int64_t b) {
    return tc_tdiv(a, b) - ((tc_tmod(a, b) != 0) && ((a < 0) != (b < 0)));
}

TC_FN int64_t tc_mod(int64_t a, int64_t b) {
    int64_t r = tc_tmod(a, b);
    return r != 0 && ((r < 0) != (b < 0)) ? r + b : r;
}

/* By amounts that C leaves open, too: negative ones are large. */
TC_FN uint64_t tc_shl(uint64_t a, uint64_t by) {
    return by < 64 ? a << by : 0;
}

TC_FN int64_t tc_shr_i(int64_t a, uint64_t by) {
    return a >> (by < 64 ? by : 63);
}

TC_FN uint64_t tc_shr_u(uint64_t a, uint64_t by) {
    return by < 64 ? a >> by : 0;
}

TC_FN int64_t tc_min_i(int64_t a, int64_t b) {
    return a < b ? a : b;
}

TC_FN int64_t tc_max_i(int64_t a, int64_t b) {
    return a > b ? a : b;
}

TC_FN uint64_t tc_min_u(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

TC_FN uint64_t tc_max_u(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

TC_FN int64_t tc_abs(int64_t a) {
    return a < 0 ? (int64_t)(0 - (uint64_t)a) : a;
}

TC_FN uint64_t tc_pow_u(uint64_t a, uint64_t n) {
    uint64_t r = 1;
    for (; n; n >>= 1, a *= a)
        r = n & 1 ? r * a : r;
    return r;
}

/* Negative exponents give the real value rounded towards zero. */
TC_FN int64_t tc_pow_i(int64_t a, int64_t n) {
    return n >= 0 ? (int64_t)tc_pow_u((uint64_t)a, (uint64_t)n) : a == 1 ? 1 : a == -1 ? (n % 2 ? -1 : 1) : 0;
}

/* ---- floats ---- */

/* NaN if either is. */
TC_FN float tc_minf(float a, float b) {
    return a != a ? a : a < b ? a : b;
}

TC_FN float tc_maxf(float a, float b) {
    return a != a ? a : a > b ? a : b;
}

TC_FN double tc_min(double a, double b) {
    return a != a ? a : a < b ? a : b;
}

TC_FN double tc_max(double a, double b) {
    return a != a ? a : a > b ? a : b;
}

TC_FN float tc_sigmoidf(float x) {
    return 1.0f / (1.0f + expf(-x));
}

TC_FN double tc_sigmoid(double x) {
    return 1.0 / (1.0 + exp(-x));
}

/* (1 + erf(x / sqrt(2))) / 2 as erfc(-x / sqrt(2)) / 2. erfc magnifies a rounding error of its argument a by about 2 a^2, so `rest`
 * holds that error: erfc(a - rest) is about erfc(a) (1 + rest (a + sqrt(a^2 + 1.5))). */
TC_FN double tc_ncdf(double x) {
    const double high = 0x1.6a09e667f3bcdp-1, low = -0x1.bdd3413b26456p-55; /* sqrt(1/2) */
    if (!(fabs(x) < 40))
        return x != x ? x : x > 0;
    double a = -(x * high), rest = fma(x, high, a) + x * low;
    return 0.5 * erfc(a) * (1 + rest * (a + sqrt(a * a + 1.5)));
}

TC_FN float tc_rsqrtf(float x) {
    return 1.0f / sqrtf(x);
}

TC_FN double tc_rsqrt(double x) {
    return 1.0 / sqrt(x);
}

/* ---- tiles ---- */

/* Rows of so many elements, from and to an array each: at its index, and by its stride from row to row. */
#define TC_MOVE_ROWS(to, to_index, to_stride, from, from_index, from_stride, rows, columns)                                      \
    do {                                                                                                                         \
        const int64_t tc_to = (to_index), tc_from = (from_index);                                                                \
        for (int64_t i = 0; i < (rows); i++)                                                                                     \
            for (int64_t j = 0; j < (columns); j++)                                                                              \
                (to)[tc_to + i * (to_stride) + j] = (from)[tc_from + i * (from_stride) + j];                                     \
    } while (0)

/* acc[i][j] += sum(p:k) of_a(a[i][p]) * of_b(b[p / group][j][p % group]), for i in [0, m) and j in [0, n): arrays without gaps, k
 * a multiple of the group or less; of_a and of_b make numbers of elements. Each product is added by add(x, y, sum), in the order
 * of p. GCC makes dot products of a loop over a long group, but not of what it has unrolled. */
#define TC_ADD_PRODUCTS(type, add, acc, a, of_a, b, of_b, m, n, k, group)                                                        \
    do {                                                                                                                         \
        for (int i = 0; i < (m); i++)                                                                                            \
            for (int g = 0; g < ((k) + (group)-1) / (group); g++)                                                                \
                for (int j = 0; j < (n); j++) {                                                                                  \
                    type sum = (type)(acc)[i * (n) + j];                                                                         \
                    TC_UNROLL((group) > 4 ? 1 : 4)                                                                               \
                    for (int q = 0; q < ((k) < (group) ? (k) : (group)); q++)                                                    \
                        sum = add(of_a((a)[i * (k) + g * (group) + q]), of_b((b)[(g * (n) + j) * (group) + q]), sum);            \
                    (acc)[i * (n) + j] = sum;                                                                                    \
                }                                                                                                                \
    } while (0)

#define tc_multiply_add(x, y, sum) ((uint32_t)((x) * (y)) + (sum))
#define TC_ADD_WRAPPING(...) TC_ADD_PRODUCTS(uint32_t, tc_multiply_add, __VA_ARGS__)
#define TC_ADD_FUSED(...) TC_ADD_PRODUCTS(float, fmaf, __VA_ARGS__)

/* Below the smallest normal number: zero with its sign. */
TC_FN float tc_flushf(float x) {
    return fabsf(x) < 0x1p-126f ? copysignf(0.0f, x) : x;
}

/* The same where products with even and odd p are added up apart, from zero, and then both to acc, and what is below the smallest
 * normal number is zero at each step. */
#define TC_ADD_APART(acc, a, of_a, b, of_b, m, n, k, group)                                                                      \
    do {                                                                                                                         \
        for (int i = 0; i < (m); i++)                                                                                            \
            for (int j = 0; j < (n); j++) {                                                                                      \
                float sum[2] = {0.0f, 0.0f};                                                                                     \
                for (int p = 0; p < (k); p++)                                                                                    \
                    sum[p % 2] =                                                                                                 \
                        tc_flushf(fmaf(tc_flushf(of_a((a)[i * (k) + p])),                                                        \
                                       tc_flushf(of_b((b)[(p / (group) * (n) + j) * (group) + p % (group)])), sum[p % 2]));      \
                (acc)[i * (n) + j] = tc_flushf(tc_flushf((acc)[i * (n) + j]) + tc_flushf(sum[0] + sum[1]));                      \
            }                                                                                                                    \
    } while (0)

/* ---- floats to integers: truncates, saturates, and makes 0 of what is not a number ---- */

TC_FN int64_t tc_to_i(double x, int64_t low, int64_t high) {
    return x != x ? 0 : x <= (double)low ? low : x >= (double)high ? high : (int64_t)x;
}

TC_FN uint64_t tc_to_u(double x, uint64_t high) {
    return !(x > 0) ? 0 : x >= (double)high ? high : (uint64_t)x;
}

#endif
