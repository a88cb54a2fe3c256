/* What kernels in C stand on, against the semantics of te/eval.h. */
#include "support/cmocka_all.h"

#include <math.h>
#include <string.h>

#include "codegen/c_source/c_source.h"
#include "prelude_functions.h"
#include "support/rng.h"
#include "support/system/fs.h"
#include "te/eval.h"
#include "te/intrinsic.h"

static const int64_t INTS[] = {
    0, 1, -1, 2, -2, 3, -3, 7, -7, 100, 255, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MAX / 3, INT64_MIN + 1, INT64_MIN};
static const double FLOATS[] = {0.0,   -0.0,    0.5,     -0.5,         1.0,           -1.0,      127.5,   -128.5,
                                255.9, 65519.0, 65520.0, 2147483647.5, -2147483649.0, 0x1p63,    -0x1p63, 0x1p64,
                                1e300, -1e300,  0x1p-14, 0x1p-25,      INFINITY,      -INFINITY, NAN};

static void same_float(float a, float b) {
    uint32_t x, y;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    assert_int_equal(x, y);
}

/* NaNs are one value here. */
static void same_number(double a, double b) {
    if (!(isnan(a) && isnan(b)) && memcmp(&a, &b, sizeof a))
        fail_msg("%a is not %a", a, b);
}

static void short_floats_convert(void **state) {
    (void)state;
    tc_rng rng = tc_rng_seed(7);
    for (uint32_t h = 0; h < 65536; h++) {
        same_float(prelude.from_f16((uint16_t)h), tc_f16_to_f32((uint16_t)h));
        same_float(prelude.from_bf16((uint16_t)h), tc_bf16_to_f32((uint16_t)h));
    }
    for (int i = 0; i < 200000; i++) {
        uint32_t u = (uint32_t)tc_rng_next(&rng);
        float f;
        memcpy(&f, &u, sizeof f);
        f = i % 2 ? f : (float)ldexp(f, -(int)(u % 40)); /* f16's range, and below */
        assert_int_equal(prelude.to_f16(f), tc_f32_to_f16(f));
        assert_int_equal(prelude.to_bf16(f), tc_f32_to_bf16(f));
        same_float(prelude.round_f16(f), tc_f16_to_f32(tc_f32_to_f16(f)));
        same_float(prelude.round_bf16(f), tc_bf16_to_f32(tc_f32_to_bf16(f)));
    }
    for (size_t i = 0; i < TC_LEN(FLOATS); i++)
        assert_int_equal(prelude.to_f16((float)FLOATS[i]), tc_f32_to_f16((float)FLOATS[i]));
}

/* A number next to the middle of two numbers of 16 bits, or in it. */
static double near_middle(tc_rng *rng) {
    double m = ldexp(1 + (double)(tc_rng_next(rng) % 2048) / 2048, (int)tc_rng_below(rng, 64) - 20);
    int64_t k = tc_rng_below(rng, 3) - 1;
    return (tc_rng_next(rng) % 2 ? m : -m) * (1 + (double)k * 0x1p-50);
}

static void numbers_are_rounded_to_odd(void **state) {
    (void)state;
    tc_rng rng = tc_rng_seed(9);
    for (size_t i = 0; i < TC_LEN(FLOATS); i++)
        same_float(prelude.to_odd(FLOATS[i]), tc_f64_to_odd_f32(FLOATS[i]));
    for (int i = 0; i < 200000; i++) {
        double v = near_middle(&rng);
        int64_t n = (int64_t)v + tc_rng_below(&rng, 3) - 1;
        same_float(prelude.to_odd(v), tc_f64_to_odd_f32(v));
        assert_int_equal(prelude.to_bf16(prelude.to_odd(v)), tc_f32_to_bf16(tc_f64_to_odd_f32(v)));
        same_number((double)prelude.round_bf16(prelude.to_odd_i(n)), tc_cast_if(TC_I64, TC_BF16, n));
        same_number((double)prelude.round_bf16(prelude.to_odd_u((uint64_t)n)), tc_cast_if(TC_U64, TC_BF16, n));
    }
}

/* Below the sign the codes of NaN differ by where they come from. */
static void floats_of_a_byte_convert(void **state) {
    (void)state;
    tc_rng rng = tc_rng_seed(8);
    for (int t = 0; t < TC_NDTYPES; t++) {
        const tc_float8 *f = tc_float8_of((tc_dtype)t);
        if (!f)
            continue;
        uint32_t sign = (uint32_t)f->sign, largest = (uint32_t)f->largest, over = (uint32_t)f->over, nan_code = (uint32_t)f->nan;
        for (int code = 0; code < 1 << tc_dtype_bits((tc_dtype)t); code++)
            same_number((double)prelude.from_f8((uint8_t)code, sign, f->mantissa, f->bias, largest, over, nan_code),
                        (double)tc_f8_to_f32(f, (uint8_t)code));
        for (int i = 0; i < 200000; i++) {
            uint32_t u = (uint32_t)tc_rng_next(&rng);
            float v;
            memcpy(&v, &u, sizeof v);
            v = i % 2 ? v : (float)ldexp(1 + (double)(u % 4096) / 4096, (int)(u >> 16) % 40 - 20);
            assert_int_equal(prelude.to_f8(v, sign, f->mantissa, f->bias, largest, over, nan_code), tc_f32_to_f8(f, v));
        }
    }
    for (int i = -300; i < 300; i++) {
        assert_int_equal(prelude.wrap_i4(i), tc_wrap_i(TC_I4, i));
        assert_int_equal(prelude.wrap_u4(i), tc_wrap_i(TC_U4, i));
    }
}

static void same_int(tc_op op, tc_dtype t, int64_t a, int64_t b, int64_t have) {
    int64_t want = tc_eval_i(op, t, a, b);
    if (have != want)
        fail_msg("%s of %lld and %lld: %lld, not %lld", tc_op_text(op), (long long)a, (long long)b, (long long)have,
                 (long long)want);
}

static void integers_are_te_s(void **state) {
    (void)state;
    for (size_t i = 0; i < TC_LEN(INTS); i++) {
        int64_t a = INTS[i];
        same_int(TC_OP_ABS, TC_I64, a, 0, prelude.abs(a));
        for (size_t k = 0; k < TC_LEN(INTS); k++) {
            int64_t b = INTS[k];
            uint64_t x = (uint64_t)a, y = (uint64_t)b;
            same_int(TC_OP_DIV, TC_I64, a, b, prelude.div(a, b));
            same_int(TC_OP_MOD, TC_I64, a, b, prelude.mod(a, b));
            same_int(TC_OP_TDIV, TC_I64, a, b, prelude.tdiv(a, b));
            same_int(TC_OP_TMOD, TC_I64, a, b, prelude.tmod(a, b));
            same_int(TC_OP_DIV, TC_U64, a, b, (int64_t)prelude.div_u(x, y));
            same_int(TC_OP_MOD, TC_U64, a, b, (int64_t)prelude.mod_u(x, y));
            same_int(TC_OP_SHL, TC_I64, a, b, (int64_t)prelude.shl(x, y));
            same_int(TC_OP_SHR, TC_I64, a, b, prelude.shr_i(a, y));
            same_int(TC_OP_SHR, TC_U64, a, b, (int64_t)prelude.shr_u(x, y));
            same_int(TC_OP_TDIV, TC_I32, (int32_t)a, (int32_t)b, (int32_t)prelude.tdiv((int32_t)a, (int32_t)b));
            same_int(TC_OP_MIN, TC_I64, a, b, prelude.min_i(a, b));
            same_int(TC_OP_MAX, TC_I64, a, b, prelude.max_i(a, b));
            same_int(TC_OP_POW, TC_I64, a, b, prelude.pow_i(a, b));
            same_int(TC_OP_MIN, TC_U64, a, b, (int64_t)prelude.min_u(x, y));
            same_int(TC_OP_MAX, TC_U64, a, b, (int64_t)prelude.max_u(x, y));
            same_int(TC_OP_POW, TC_U64, a, b, (int64_t)prelude.pow_u(x, y));
        }
    }
}

static void floats_are_te_s(void **state) {
    (void)state;
    for (size_t i = 0; i < TC_LEN(FLOATS); i++) {
        double a = FLOATS[i];
        float fa = (float)a;
        same_number(prelude.sigmoid(a), tc_eval_f(TC_OP_SIGMOID, TC_F64, a, 0));
        same_number(prelude.rsqrt(a), tc_eval_f(TC_OP_RSQRT, TC_F64, a, 0));
        same_number(prelude.ncdf(a), tc_eval_f(TC_OP_NCDF, TC_F64, a, 0));
        /* te computes in f64 and rounds once. */
        double s = tc_eval_f(TC_OP_SIGMOID, TC_F32, fa, 0), r = tc_eval_f(TC_OP_RSQRT, TC_F32, fa, 0);
        assert_true(fabs(prelude.sigmoidf(fa) - s) <= 4e-7 * s || isnan(s));
        assert_true(prelude.rsqrtf(fa) == r || fabs(prelude.rsqrtf(fa) - r) <= 4e-7 * r || isnan(r));
        for (size_t k = 0; k < TC_LEN(FLOATS); k++) {
            double b = FLOATS[k];
            float fb = (float)b;
            if (a == b && signbit(a) != signbit(b))
                continue; /* which zero is not said */
            same_number(prelude.min(a, b), tc_eval_f(TC_OP_MIN, TC_F64, a, b));
            same_number(prelude.max(a, b), tc_eval_f(TC_OP_MAX, TC_F64, a, b));
            same_number((double)prelude.minf(fa, fb), tc_eval_f(TC_OP_MIN, TC_F32, (double)fa, (double)fb));
            same_number((double)prelude.maxf(fa, fb), tc_eval_f(TC_OP_MAX, TC_F32, (double)fa, (double)fb));
        }
    }
}

static void floats_become_integers(void **state) {
    (void)state;
    for (size_t i = 0; i < TC_LEN(FLOATS); i++) {
        double v = FLOATS[i];
        assert_int_equal(prelude.to_i(v, INT8_MIN, INT8_MAX), tc_cast_fi(TC_I8, v));
        assert_int_equal(prelude.to_i(v, INT16_MIN, INT16_MAX), tc_cast_fi(TC_I16, v));
        assert_int_equal(prelude.to_i(v, INT32_MIN, INT32_MAX), tc_cast_fi(TC_I32, v));
        assert_int_equal(prelude.to_i(v, INT64_MIN, INT64_MAX), tc_cast_fi(TC_I64, v));
        assert_int_equal(prelude.to_u(v, UINT8_MAX), tc_cast_fi(TC_U8, v));
        assert_int_equal(prelude.to_u(v, UINT16_MAX), tc_cast_fi(TC_U16, v));
        assert_int_equal(prelude.to_u(v, UINT32_MAX), tc_cast_fi(TC_U32, v));
        assert_int_equal((int64_t)prelude.to_u(v, UINT64_MAX), tc_cast_fi(TC_U64, v));
    }
}

/* Small and large numbers alike: some sums are below the smallest normal one, some overflow. */
static void fill(tc_dtype t, void *at, int64_t n, tc_rng *rng) {
    for (int64_t i = 0; i < n; i++)
        if (tc_dtype_is_float(t))
            tc_store_f(t, at, i, ldexp(tc_rng_unit(rng) * 2 - 1, (int)tc_rng_below(rng, 80) - 40 - 60 * (i % 2 ? 1 : 0)));
        else
            tc_store_i(t, at, i, (int64_t)tc_rng_next(rng));
}

/* Every unit's largest tiles, bit for bit. */
static void products_are_those_of_units(void **state) {
    (void)state;
    tc_rng rng = tc_rng_seed(9);
    for (int u = 0; u < TC_NINTRINSICS; u++)
        for (int round = 0; round < 20; round++) {
            const tc_intrinsic *r = tc_intrinsic_row((tc_intrinsic_id)u);
            int32_t want[TC_TILE_ROWS * TC_TILE_BYTES / 4], got[TC_LEN(want)];
            uint32_t a[TC_TILE_ROWS * TC_TILE_BYTES / 4], b[TC_LEN(a)];
            fill(r->acc, want, r->m * r->n, &rng);
            fill(r->a, a, r->m * r->k, &rng);
            fill(r->b, b, r->k * r->n, &rng);
            memcpy(got, want, sizeof got);
            tc_intrinsic_run(r, &(tc_unit_call){.m = r->m,
                                                .n = r->n,
                                                .k = r->k,
                                                .acc = want,
                                                .a = a,
                                                .b = b,
                                                .acc_stride = r->n,
                                                .a_stride = r->k,
                                                .b_stride = r->n * r->group});
            prelude.add[u](got, a, b);
            for (int i = 0; i < r->m * r->n; i++)
                if (got[i] != want[i])
                    fail_msg("%s: element %d is %08x, not %08x", r->text, i, (unsigned)got[i], (unsigned)want[i]);
        }
}

/* What files begin with is the header that the other tests compiled. */
static void header_is_what_is_written(void **state) {
    (void)state;
    tc_strbuf b = {0};
    char *text;
    size_t size;
    assert_int_equal(tc_fs_read(TCTUNE_SOURCE_DIR "/src/codegen/c_source/prelude.h", &text, &size, NULL), TC_OK);
    tc_cg_c_prelude(&b);
    assert_true(b.len >= size && !memcmp(b.data, text, size));
    free(text);
    tc_strbuf_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_floats_convert),
        cmocka_unit_test(numbers_are_rounded_to_odd),
        cmocka_unit_test(floats_of_a_byte_convert),
        cmocka_unit_test(integers_are_te_s),
        cmocka_unit_test(floats_are_te_s),
        cmocka_unit_test(floats_become_integers),
        cmocka_unit_test(products_are_those_of_units),
        cmocka_unit_test(header_is_what_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
