/* Every operation on every type, scalar and vector, against the semantics in te/eval.h: exact for integers, comparisons and basic
 * float arithmetic. */
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
#include "te/eval.h"

enum { N = 448 }; /* a multiple of 16, and no common period with the values */

static const tc_dtype TYPES[] = {TC_BOOL,       TC_I8,     TC_U8,         TC_I16,  TC_U16, TC_I32,    TC_U32,
                                 TC_I64,        TC_U64,    TC_F16,        TC_BF16, TC_F32, TC_F64,    TC_F8E4M3FN,
                                 TC_F8E4M3FNUZ, TC_F8E5M2, TC_F8E5M2FNUZ, TC_I4,   TC_U4,  TC_F4E2M1, TC_F8E8M0};

static const int64_t INTS[] = {0,          1,           -1,         2,       -2,        3,         7,         -7,           10,
                               100,        -100,        127,        -128,    255,       128,       32767,     -32768,       65535,
                               2147483647, -2147483648, 4294967295, 1 << 20, -12345678, INT64_MAX, INT64_MIN, INT64_MIN + 1};
static const double FLOATS[] = {0,        -0.0,      1,           -1,    0.5,         -0.5,  1.5,  2.5,   -2.5,
                                3,        100.25,    -100.75,     1e-3,  1e5,         -1e9,  1e20, 1e-8,  6e-8,
                                INFINITY, -INFINITY, (double)NAN, 65504, 1.17549e-38, 1e-42, 3e38, 0.3333};

static double value_f(int i) {
    return FLOATS[(size_t)i % TC_LEN(FLOATS)];
}

/* Pairs run over all combinations: coprime strides. */
static void fill(tc_dtype t, void *a, void *b) {
    for (int i = 0; i < N; i++) {
        size_t nf = TC_LEN(FLOATS), ni = TC_LEN(INTS);
        size_t second = (size_t)i * 11 + (size_t)i / (tc_dtype_is_float(t) ? nf : ni);
        if (tc_dtype_is_float(t)) {
            tc_store_f(t, a, i, value_f(i));
            tc_store_f(t, b, i, FLOATS[second % nf]);
        } else {
            tc_store_i(t, a, i, INTS[(size_t)i % ni]);
            tc_store_i(t, b, i, INTS[second % ni]);
        }
    }
}

static bool applies(tc_op op, tc_dtype t) {
    bool isf = tc_dtype_is_float(t), isb = t == TC_BOOL;
    if (tc_dtype_is_stored(t))
        return op == TC_OP_MAX;
    switch (op) {
    case TC_OP_ADD:
    case TC_OP_SUB:
    case TC_OP_MUL:
    case TC_OP_DIV:
    case TC_OP_MOD:
    case TC_OP_MIN:
    case TC_OP_MAX:
    case TC_OP_ABS:
    case TC_OP_FLOOR:
    case TC_OP_CEIL:
    case TC_OP_ROUND:
    case TC_OP_TRUNC:
        return !isb;
    case TC_OP_TDIV:
    case TC_OP_TMOD:
    case TC_OP_POW:
    case TC_OP_BAND:
    case TC_OP_BOR:
    case TC_OP_BXOR:
    case TC_OP_SHL:
    case TC_OP_SHR:
        return !isb && !isf;
    case TC_OP_EQ:
    case TC_OP_NE:
    case TC_OP_LT:
    case TC_OP_LE:
    case TC_OP_GT:
    case TC_OP_GE:
        return true;
    case TC_OP_AND:
    case TC_OP_OR:
    case TC_OP_NOT:
        return isb;
    case TC_OP_ISNAN:
    case TC_OP_ISINF:
    case TC_OP_SQRT:
        return isf;
    default:
        return false;
    }
}

static const tc_expr *apply(tc_ctx *c, const tc_expr *const *in, void *user) {
    tc_op op = *(const tc_op *)user;
    return tc_op_arity(op) == 1 ? tc_un(c, op, in[0]) : tc_bin(c, op, in[0], in[1]);
}

/* Zero is as good as what is below the smallest normal number, or rounds to it from there. */
static bool same_f(tc_dtype t, const void *got, int i, double want) {
    double g = tc_load_f(t, got, i);
    if (isnan(want))
        return isnan(g);
    if (g == 0 && fabs(want) <= (t == TC_F64 ? DBL_MIN : FLT_MIN))
        return true;
    return g == want || (t == TC_F16 && isinf(want) && g == want);
}

static void check(tc_op op, tc_dtype t, tc_dtype rt, const void *a, const void *b, const void *r, int lanes) {
    for (int i = 0; i < N; i++) {
        bool ok;
        if (tc_dtype_is_float(t)) {
            double x = tc_load_f(t, a, i), y = tc_load_f(t, b, i);
            ok = rt == TC_BOOL ? tc_load_i(rt, r, i) == tc_eval_compare_f(op, x, y) : same_f(t, r, i, tc_eval_f(op, t, x, y));
        } else {
            ok = tc_load_i(rt, r, i) == tc_eval_i(op, t, tc_load_i(t, a, i), tc_load_i(t, b, i));
        }
        if (!ok)
            fail_msg("%s on %s x %d, element %d: a %.17g b %.17g gives %.17g", tc_op_text(op), tc_dtype_name(t), lanes, i,
                     tc_dtype_is_float(t) ? tc_load_f(t, a, i) : (double)tc_load_i(t, a, i),
                     tc_dtype_is_float(t) ? tc_load_f(t, b, i) : (double)tc_load_i(t, b, i),
                     tc_dtype_is_float(rt) ? tc_load_f(rt, r, i) : (double)tc_load_i(rt, r, i));
    }
}

/* All operations on a type, an output for each; how many they are. */
static int ops_of(tc_dtype t, int lanes) {
    tc_op ops[TC_NOPS];
    kernel_output out[TC_NOPS];
    int n = 0;
    for (int op = 0; op < TC_NOPS; op++)
        if (applies((tc_op)op, t)) {
            ops[n] = (tc_op)op;
            out[n] = (kernel_output){tc_op_traits((tc_op)op) & TC_COMPARE ? TC_BOOL : t, apply, &ops[n]};
            n++;
        }
    kernel k;
    kernel_elementwise_all(&k, 2, (tc_dtype[]){t, t}, n, out, N, lanes);
    void **args = kernel_args(k.f);
    fill(t, args[0], args[1]);
    kernel_run(&k, args, 1);
    for (int i = 0; i < n; i++)
        check(ops[i], t, out[i].dtype, args[0], args[1], args[2 + i], lanes);
    kernel_free_args(k.f, args);
    kernel_free(&k);
    return n;
}

static void every_op(void **state) {
    (void)state;
    static const int lanes[] = {1, 4, 16};
    int cases = 0;
    for (size_t t = 0; t < TC_LEN(TYPES); t++)
        for (size_t l = 0; l < TC_LEN(lanes); l++)
            cases += ops_of(TYPES[t], lanes[l]);
    printf("  %d operations\n", cases);
    assert_true(cases > 900);
}

static const tc_expr *cast_to(tc_ctx *c, const tc_expr *const *in, void *user) {
    return tc_cast(c, *(const tc_dtype *)user, in[0]);
}

static void check_cast(tc_dtype from, tc_dtype to, const void *a, const void *r, int lanes) {
    bool ff = tc_dtype_is_float(from), tf = tc_dtype_is_float(to);
    for (int i = 0; i < N; i++) {
        bool ok;
        if (ff)
            ok = tf ? same_f(to, r, i, tc_round_f(to, tc_load_f(from, a, i)))
                    : tc_load_i(to, r, i) == tc_cast_fi(to, tc_load_f(from, a, i));
        else
            ok = tf ? same_f(to, r, i, tc_cast_if(from, to, tc_load_i(from, a, i)))
                    : tc_load_i(to, r, i) == tc_cast_ii(to, tc_load_i(from, a, i));
        if (!ok)
            fail_msg("cast %s to %s x %d, element %d: %.17g gives %.17g", tc_dtype_name(from), tc_dtype_name(to), lanes, i,
                     ff ? tc_load_f(from, a, i) : (double)tc_load_i(from, a, i),
                     tf ? tc_load_f(to, r, i) : (double)tc_load_i(to, r, i));
    }
}

/* Each kind of cast of types that are only stored, but not each pair of these in vectors and scalars. */
static bool is_tried(tc_dtype from, tc_dtype to, int lanes) {
    bool both = tc_dtype_is_stored(from) && tc_dtype_is_stored(to), either = tc_dtype_is_stored(from) || tc_dtype_is_stored(to);
    return both ? lanes > 1 && (from ^ to) == 1 : !either || lanes > 1 || from == TC_F32 || to == TC_F32;
}

static void every_cast(void **state) {
    (void)state;
    for (size_t a = 0; a < TC_LEN(TYPES); a++)
        for (int lanes = 1; lanes <= 16; lanes += 15) {
            tc_dtype from = TYPES[a], to[TC_LEN(TYPES)];
            kernel_output out[TC_LEN(TYPES)];
            int n = 0;
            for (size_t b = 0; b < TC_LEN(TYPES); b++)
                if (is_tried(from, TYPES[b], lanes)) {
                    to[n] = TYPES[b];
                    out[n] = (kernel_output){to[n], cast_to, &to[n]};
                    n++;
                }
            kernel k;
            kernel_elementwise_all(&k, 1, &from, n, out, N, lanes);
            void **args = kernel_args(k.f), *spare = kernel_alloc(N * 8);
            fill(from, args[0], spare);
            kernel_run(&k, args, 1);
            for (int i = 0; i < n; i++)
                check_cast(from, to[i], args[0], args[1 + i], lanes);
            free(spare);
            kernel_free_args(k.f, args);
            kernel_free(&k);
        }
}

/* All 65,536 bit patterns of the 16-bit floats, and roundings of f32 that are hard: to f32 and back. */
static void narrow_exact(void **state) {
    (void)state;
    enum { ALL = 1 << 16 };
    static const tc_dtype types[] = {TC_F16, TC_BF16};
    for (size_t t = 0; t < TC_LEN(types); t++) {
        tc_dtype narrow = types[t], wide = TC_F32;
        kernel up, down;
        kernel_elementwise(&up, 1, &narrow, wide, ALL, 16, cast_to, &wide);
        kernel_elementwise(&down, 1, &wide, narrow, ALL, 16, cast_to, &narrow);
        void **u = kernel_args(up.f), **d = kernel_args(down.f);
        for (int i = 0; i < ALL; i++)
            ((uint16_t *)u[0])[i] = (uint16_t)i;
        kernel_run(&up, u, 1);
        for (int i = 0; i < ALL; i++) {
            assert_true(same_f(TC_F32, u[1], i, tc_load_f(narrow, u[0], i)));
            uint32_t bits = (uint32_t)i * 65537u + (uint32_t)(i % 5) * 0x0fffu;
            memcpy((float *)d[0] + i, &bits, 4);
        }
        kernel_run(&down, d, 1);
        for (int i = 0; i < ALL; i++)
            assert_true(same_f(narrow, d[1], i, tc_round_f(narrow, (double)((float *)d[0])[i])));
        kernel_free_args(up.f, u);
        kernel_free_args(down.f, d);
        kernel_free(&up);
        kernel_free(&down);
    }
}

/* All codes of the floats of a byte or less to f32, and floats around all of them back. */
static void bytes_exact(void **state) {
    (void)state;
    enum { ALL = 1 << 14 };
    for (int t = 0; t < TC_NDTYPES; t++) {
        tc_dtype narrow = (tc_dtype)t, wide = TC_F32;
        if (!tc_float8_of(narrow))
            continue;
        kernel up, down;
        kernel_elementwise(&up, 1, &narrow, wide, ALL, 16, cast_to, &wide);
        kernel_elementwise(&down, 1, &wide, narrow, ALL, 16, cast_to, &narrow);
        void **u = kernel_args(up.f), **d = kernel_args(down.f);
        for (int i = 0; i < ALL; i++) {
            ((uint8_t *)u[0])[i] = (uint8_t)(i & ((1 << tc_dtype_bits(narrow)) - 1));
            uint32_t bits = (uint32_t)(i % 2) << 31 | (uint32_t)((i >> 1) % 1024 + 800) << 20 | ((i >> 11) & 1 ? 1u : 0u) |
                            ((i >> 12) & 1 ? 0xfffffu : 0u); /* steps of an eighth from 2^-27 to 2^100, and beside them */
            memcpy((float *)d[0] + i, &bits, 4);
        }
        kernel_run(&up, u, 1);
        kernel_run(&down, d, 1);
        for (int i = 0; i < ALL; i++) {
            assert_true(same_f(TC_F32, u[1], i, tc_load_f(narrow, u[0], i)));
            assert_true(same_f(narrow, d[1], i, tc_round_f(narrow, (double)((float *)d[0])[i])));
        }
        kernel_free_args(up.f, u);
        kernel_free_args(down.f, d);
        kernel_free(&up);
        kernel_free(&down);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_op), cmocka_unit_test(every_cast), cmocka_unit_test(narrow_exact),
                                       cmocka_unit_test(bytes_exact)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
