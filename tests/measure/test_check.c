/* Verification: right outputs pass, each kind of wrong one is found. */
#include "support/cmocka_all.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/worker/check.h"
#include "support/vec.h"
#include "te/text.h"

/* A workload with random inputs, its reference output and a check. */
typedef struct fixture {
    tc_ctx *ctx;
    const tc_workload *w;
    void *in[4], *out[2];
    tc_meas_check *check;
} fixture;

static size_t bytes(const tc_tensor *t) {
    return (size_t)tc_tensor_size(t) * (size_t)tc_dtype_bytes(t->dtype);
}

static fixture make(const char *text) {
    fixture f = {.ctx = tc_ctx_new()};
    tc_error err = {0};
    tc_rng r = tc_rng_seed(7);
    if (tc_te_parse(f.ctx, "test", text, &f.w, &err) != TC_OK)
        fail_msg("%s", err.msg);
    for (int i = 0; i < f.w->nin; i++) {
        f.in[i] = tc_xcalloc(bytes(f.w->in[i]), 1);
        tc_te_random_fill(f.w->in[i]->dtype, f.in[i], tc_tensor_size(f.w->in[i]), &r, tc_te_index_limit(f.w, i));
    }
    for (int i = 0; i < f.w->nout; i++)
        f.out[i] = tc_xcalloc(bytes(f.w->out[i]), 1);
    if (tc_te_interp(f.w, (const void *const *)f.in, f.out, &err) != TC_OK ||
        tc_meas_check_new(f.w, (const void *const *)f.in, 3, &f.check, &err) != TC_OK)
        fail_msg("%s", err.msg);
    return f;
}

static void drop(fixture *f) {
    tc_meas_check_free(f->check);
    for (int i = 0; i < f->w->nin; i++)
        free(f->in[i]);
    for (int i = 0; i < f->w->nout; i++)
        free(f->out[i]);
    tc_ctx_free(f->ctx);
}

static tc_status compare(fixture *f, tc_error *err) {
    double worst;
    return tc_meas_check_compare(f->check, f->out, &worst, err);
}

static const char GEMM[] = "tensor X[33, 70] f32\n"
                           "tensor W[70, 41] f32 const\n"
                           "compute D[i:33, j:41] = sum(k:70) X[i, k] * W[k, j]\n"
                           "output D\n";

static void right_output_passes(void **state) {
    (void)state;
    fixture f = make(GEMM);
    double worst;
    tc_error err = {0};
    assert_int_equal(tc_meas_check_compare(f.check, f.out, &worst, &err), TC_OK);
    assert_true(worst < 0.1);
    assert_true(tc_meas_check_finite(f.check) == 1);
    float *d = f.out[0];
    for (int i = 0; i < 33 * 41; i++) /* another order of summation */
        d[i] *= 1 + (i % 2 ? 1 : -1) * 5e-6F;
    assert_int_equal(compare(&f, &err), TC_OK);
    drop(&f);
}

/* One wrong element anywhere is found, also where no reference point lies, once one right output was seen. */
static void any_wrong_element_is_found(void **state) {
    (void)state;
    fixture f = make(GEMM);
    float *d = f.out[0];
    tc_error err = {0};
    assert_int_equal(compare(&f, &err), TC_OK);
    for (int i = 0; i < 33 * 41; i += 13) {
        float keep = d[i];
        d[i] += 0.01F;
        assert_int_equal(compare(&f, &err), TC_ILLEGAL);
        assert_non_null(strstr(err.msg, "the reference has"));
        d[i] = NAN;
        assert_int_equal(compare(&f, NULL), TC_ILLEGAL);
        d[i] = keep;
    }
    assert_int_equal(compare(&f, &err), TC_OK);
    drop(&f);
}

/* If the first output was wrong where nobody looked, a right one is still accepted. */
static void a_wrong_first_output_is_replaced(void **state) {
    (void)state;
    fixture f = make(GEMM);
    float *d = f.out[0];
    int at = -1;
    for (int i = 0; i < 33 * 41 && at < 0; i++) {
        float keep = d[i];
        d[i] = 1000;
        tc_meas_check *fresh;
        double worst;
        assert_int_equal(tc_meas_check_new(f.w, (const void *const *)f.in, 3, &fresh, NULL), TC_OK);
        if (tc_meas_check_compare(fresh, f.out, &worst, NULL) == TC_OK)
            at = i;
        tc_meas_check_free(fresh);
        d[i] = keep;
    }
    assert_true(at >= 0);
    float keep = d[at];
    d[at] = 1000;
    assert_int_equal(compare(&f, NULL), TC_OK); /* not seen */
    d[at] = keep;
    assert_int_equal(compare(&f, NULL), TC_OK);
    d[at] = 1000;
    assert_int_equal(compare(&f, NULL), TC_ILLEGAL);
    drop(&f);
}

static void corners_are_always_looked_at(void **state) {
    (void)state;
    const int corner[] = {0, 40, 32 * 41, 33 * 41 - 1};
    for (int i = 0; i < 4; i++) {
        fixture f = make(GEMM);
        ((float *)f.out[0])[corner[i]] += 1;
        assert_int_equal(compare(&f, NULL), TC_ILLEGAL);
        drop(&f);
    }
}

static void unwritten_elements_are_counted(void **state) {
    (void)state;
    fixture f = make(GEMM);
    float *d = f.out[0];
    for (int pass = 0; pass < 2; pass++) {
        assert_int_equal(tc_meas_check_poisoned(f.check, 0, d, pass), 0);
        tc_meas_check_poison(d + 5, 3 * sizeof *d, pass);
        assert_int_equal(tc_meas_check_poisoned(f.check, 0, d, pass), 3);
    }
    drop(&f);
}

/* Bytes that are written may be equal to one pattern or the other, but not to both. */
static void written_bytes_are_told_from_patterns(void **state) {
    (void)state;
    fixture f = make("tensor X[64] u8\ncompute Y[i:64] = X[i]\noutput Y\n");
    unsigned char first[64], second[64];
    tc_meas_check_poison(first, sizeof first, 0);
    tc_meas_check_poison(second, sizeof second, 1);
    assert_int_equal(tc_meas_check_unwritten(f.check, 0, first, second), 64);
    memcpy(second, first, 32);
    memcpy(first + 32, second + 32, 16);
    assert_int_equal(tc_meas_check_poisoned(f.check, 0, first, 0), 48);
    assert_int_equal(tc_meas_check_poisoned(f.check, 0, second, 1), 32);
    assert_int_equal(tc_meas_check_unwritten(f.check, 0, first, second), 16);
    drop(&f);
}

static void integers_are_exact(void **state) {
    (void)state;
    fixture f = make("tensor X[20, 30] i32\ncompute Y[i:20] = sum(k:30) X[i, k]\noutput Y\n");
    assert_int_equal(compare(&f, NULL), TC_OK);
    ((int32_t *)f.out[0])[19]++;
    assert_int_equal(compare(&f, NULL), TC_ILLEGAL);
    drop(&f);
    /* Beyond 2^53, and as unsigned numbers beyond 2^63: at a reference point, and, once a right output was seen, anywhere. */
    static const char *const large[] = {"tensor X[300] i64\ncompute Y[i:300] = X[i] + 9007199254740992\noutput Y\n",
                                        "tensor X[300] u64\ncompute Y[i:300] = bitor(X[i], u64(-8))\noutput Y\n"};
    for (size_t k = 0; k < TC_LEN(large); k++) {
        f = make(large[k]);
        for (int seen = 0; seen < 2; seen++)
            for (int i = 0; i < 300; i += seen ? 1 : 299) {
                tc_error err = {0};
                ((int64_t *)f.out[0])[i] ^= 1;
                assert_int_equal(compare(&f, &err), TC_ILLEGAL);
                assert_non_null(strstr(err.msg, k ? "184467440737095516" : "90071992547"));
                ((int64_t *)f.out[0])[i] ^= 1;
                if (seen || i)
                    assert_int_equal(compare(&f, NULL), TC_OK);
            }
        drop(&f);
    }
    f = make("tensor X[64] f32\ncompute Y[i:64] = i8(X[i] * 100.0)\noutput Y\n");
    assert_int_equal(compare(&f, NULL), TC_OK);
    ((int8_t *)f.out[0])[3] ^= 1; /* one step, and few of them */
    assert_int_equal(compare(&f, NULL), TC_OK);
    ((int8_t *)f.out[0])[3] ^= 8;
    ((int8_t *)f.out[0])[5] ^= 8;
    ((int8_t *)f.out[0])[7] ^= 8;
    assert_int_equal(compare(&f, NULL), TC_ILLEGAL);
    drop(&f);
}

static void chains_and_two_outputs(void **state) {
    (void)state;
    fixture f = make("tensor X[17, 50] f32\n"
                     "compute M[i:17] = max(k:50) X[i, k]\n"
                     "compute E[i:17, j:50] = exp(X[i, j] - M[i])\n"
                     "compute S[i:17] = sum(k:50) E[i, k]\n"
                     "compute P[i:17, j:50] = E[i, j] / S[i]\n"
                     "compute V, A[i:17] = argmax(k:50) (X[i, k], k)\n"
                     "output P\noutput A\n");
    assert_int_equal(compare(&f, NULL), TC_OK);
    ((float *)f.out[0])[200] *= 1.01F;
    assert_int_equal(compare(&f, NULL), TC_ILLEGAL);
    ((float *)f.out[0])[200] /= 1.01F;
    assert_int_equal(compare(&f, NULL), TC_OK);
    ((char *)f.out[1])[0] ^= 1;
    assert_int_equal(compare(&f, NULL), TC_ILLEGAL);
    drop(&f);
}

static void tolerance_follows_type_and_length(void **state) {
    (void)state;
    fixture f32 = make(GEMM), f64 = make("tensor X[9] f64\ncompute Y[i:9] = X[i] * X[i]\noutput Y\n"),
            bf16 = make("tensor X[9] bf16\ncompute Y[i:9] = X[i] * X[i]\noutput Y\n");
    assert_true(tc_meas_tolerance(f64.w) < 1e-12);
    assert_true(tc_meas_tolerance(f32.w) > 1e-5 && tc_meas_tolerance(f32.w) < 1e-3);
    assert_true(tc_meas_tolerance(bf16.w) > 0.01);
    drop(&f32);
    drop(&f64);
    drop(&bf16);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_output_passes),
        cmocka_unit_test(any_wrong_element_is_found),
        cmocka_unit_test(a_wrong_first_output_is_replaced),
        cmocka_unit_test(corners_are_always_looked_at),
        cmocka_unit_test(unwritten_elements_are_counted),
        cmocka_unit_test(written_bytes_are_told_from_patterns),
        cmocka_unit_test(integers_are_exact),
        cmocka_unit_test(chains_and_two_outputs),
        cmocka_unit_test(tolerance_follows_type_and_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
