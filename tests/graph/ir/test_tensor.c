/* Host tensors: shapes, broadcasting, conversion, comparison. */
#include <math.h>

#include "graph/graph_test.h"

static void test_shapes(void **state) {
    (void)state;
    tc_graph_shape s = DIMS(2, 0, 4), r;
    assert_int_equal(tc_graph_shape_count(&s), 0);
    assert_int_equal(tc_graph_shape_count(&(tc_graph_shape){0}), 1);
    tc_graph_shape a = DIMS(8, 1, 6, 1), b = DIMS(7, 1, 5), want = DIMS(8, 7, 6, 5);
    assert_true(tc_graph_shape_broadcast(&a, &b, &r));
    assert_true(tc_graph_shape_equal(&r, &want));
    tc_graph_shape three = DIMS(3), two = DIMS(2);
    assert_false(tc_graph_shape_broadcast(&three, &two, &r));
    tc_graph_shape zero = DIMS(0), one = DIMS(1);
    assert_true(tc_graph_shape_broadcast(&zero, &one, &r));
    assert_int_equal(r.d[0], 0);
}

static void test_shape_limits(void **state) {
    (void)state;
    tc_graph_shape huge = DIMS(1LL << 40, 1LL << 40), negative = DIMS(2, -3), hidden = DIMS(0, 1LL << 60, 8);
    assert_fails(TC_BAD_INPUT, tc_graph_shape_check(&huge, err), "overflows");
    assert_fails(TC_BAD_INPUT, tc_graph_shape_check(&negative, err), "dimension 1 is negative (-3)");
    assert_fails(TC_BAD_INPUT, tc_graph_shape_check(&hidden, err), "overflows");
    assert_ok(tc_graph_shape_check(&(tc_graph_shape){0}, err));
}

/* Each type takes what it can hold and gives it back. */
static void test_wide_round_trip(void **state) {
    (void)state;
    for (int t = 0; t < TC_NDTYPES; t++) {
        tc_graph_tensor x;
        tc_graph_shape s = DIMS(3);
        bool powers = t == TC_F8E8M0;
        double in[3] = {powers ? 0.5 : 0, 1, t == TC_BOOL ? 1 : powers ? 4 : 6}, out[3];
        assert_ok(tc_graph_tensor_alloc(&x, (tc_dtype)t, &s, err));
        tc_graph_tensor_from_f64(&x, in);
        tc_graph_tensor_to_f64(&x, out);
        assert_memory_equal(in, out, sizeof in);
        tc_graph_tensor_free(&x);
    }
}

static void test_cast(void **state) {
    (void)state;
    float from[] = {-1.9F, 0.5F, 2.5F, NAN, INFINITY, 3e9F};
    tc_graph_tensor x = f32_tensor((tc_graph_shape)DIMS(6), from), i, b, u;
    assert_ok(tc_graph_tensor_alloc(&i, TC_I64, &x.shape, err));
    assert_ok(tc_graph_tensor_alloc(&b, TC_BOOL, &x.shape, err));
    assert_ok(tc_graph_tensor_alloc(&u, TC_U64, &x.shape, err));
    tc_graph_tensor_cast(&i, &x);
    const int64_t want[] = {-1, 0, 2, 0, INT64_MAX, 3000000000};
    assert_memory_equal(i.data, want, sizeof want);
    tc_graph_tensor_cast(&b, &x);
    assert_memory_equal(b.data, ((uint8_t[]){1, 1, 1, 1, 1, 1}), 6);
    ((uint64_t *)u.data)[0] = UINT64_MAX;
    tc_graph_tensor back;
    assert_ok(tc_graph_tensor_alloc(&back, TC_F64, &x.shape, err));
    tc_graph_tensor_cast(&back, &u);
    assert_true(((double *)back.data)[0] == 0x1p64);
    tc_graph_tensor_free(&i);
    tc_graph_tensor_free(&b);
    tc_graph_tensor_free(&u);
    tc_graph_tensor_free(&back);
}

static void test_compare(void **state) {
    (void)state;
    tc_graph_tensor a = F32(DIMS(4), 1, 2, 3, INFINITY), b = F32(DIMS(4), 1, 2.5F, 3, INFINITY),
                    n = F32(DIMS(4), 1, NAN, 3, INFINITY);
    tc_graph_diff d;
    assert_ok(tc_graph_tensor_compare(&a, &b, 0.01, 0.1, &d, err));
    assert_int_equal(d.violations, 1);
    assert_int_equal(d.worst, 1);
    assert_true(d.max_abs == 0.5 && fabs(d.rel - 0.5 / 3) < 1e-12);
    assert_ok(tc_graph_tensor_compare(&n, &b, 1, 1, &d, err));
    assert_true(isinf(d.max_abs) && d.violations == 1);
    assert_ok(tc_graph_tensor_compare(&n, &n, 0, 0, &d, err));
    assert_int_equal(d.violations, 0);
    tc_graph_tensor other = F32(DIMS(2, 2), 0, 0, 0, 0);
    assert_fails(TC_BAD_INPUT, tc_graph_tensor_compare(&a, &other, 0, 0, &d, err), "f32[4]", "f32[2,2]");
}

/* A wide tensor of one type with one element other than expected: how far off that is said to be. */
static double off_by(tc_dtype t, tc_graph_tensor want, tc_graph_tensor got) {
    tc_graph_diff d;
    want.dtype = got.dtype = t;
    assert_ok(tc_graph_tensor_compare(&got, &want, 0, 0, &d, err));
    assert_int_equal(d.violations, d.max_abs > 0);
    assert_true(!d.violations || d.worst == 1);
    return d.max_abs;
}

#define I64_PAIR(second) I64(DIMS(2), 7, second)
#define F64(...) tc_graph_tensor_view(TC_F64, &(tc_graph_shape)DIMS(2), (double[]){__VA_ARGS__})

/* Each kind of difference is seen, and by its size. */
static void test_differences(void **state) {
    (void)state;
    const int64_t big = (int64_t)1 << 53;
    assert_true(off_by(TC_I64, I64_PAIR(big), I64_PAIR(big)) == 0);
    assert_true(off_by(TC_I64, I64_PAIR(big), I64_PAIR(big + 1)) == 1);
    assert_true(off_by(TC_I64, I64_PAIR(INT64_MAX), I64_PAIR(INT64_MAX - 1)) == 1);
    assert_true(off_by(TC_I64, I64_PAIR(INT64_MIN), I64_PAIR(INT64_MAX)) == 0x1p64);
    assert_true(off_by(TC_U64, I64_PAIR(-1), I64_PAIR(-2)) == 1);
    assert_true(off_by(TC_U64, I64_PAIR(INT64_MAX), I64_PAIR(INT64_MIN)) == 1);
    assert_true(off_by(TC_F64, F64(7, 0x1p53), F64(7, 0x1p53 + 2)) == 2);
    assert_true(off_by(TC_F64, F64(7, 1), F64(7, 1 + 0x1p-52)) == 0x1p-52);
    assert_true(off_by(TC_F64, F64(7, 0x1p-1074), F64(7, 0)) > 0);
    assert_true(off_by(TC_F64, F64(7, 0.0), F64(7, -0.0)) == 0);
    assert_true(isinf(off_by(TC_F64, F64(7, NAN), F64(7, 1))) && isinf(off_by(TC_F64, F64(7, 1), F64(7, NAN))));
    assert_true(isinf(off_by(TC_F64, F64(7, INFINITY), F64(7, NAN))));
    assert_true(isinf(off_by(TC_F64, F64(7, INFINITY), F64(7, -INFINITY))));
    assert_true(isinf(off_by(TC_F64, F64(7, INFINITY), F64(7, 1e308))) && isinf(off_by(TC_F64, F64(7, 1), F64(7, INFINITY))));
    assert_true(off_by(TC_F64, F64(7, INFINITY), F64(7, INFINITY)) == 0 && off_by(TC_F64, F64(7, NAN), F64(7, NAN)) == 0);
    uint8_t truth[] = {1, 1}, lie[] = {1, 0};
    tc_graph_shape pair = DIMS(2);
    assert_true(off_by(TC_BOOL, tc_graph_tensor_view(TC_BOOL, &pair, truth), tc_graph_tensor_view(TC_BOOL, &pair, lie)) == 1);
}

/* A relative tolerance is one of floats. */
static void test_tolerance_of_integers(void **state) {
    (void)state;
    const int64_t big = (int64_t)1 << 53;
    tc_graph_diff d;
    tc_graph_tensor a = I64_PAIR(big), b = I64_PAIR(big + 3), x = F64(7, 0x1p53), y = F64(7, 0x1p53 + 4);
    assert_ok(tc_graph_tensor_compare(&b, &a, 1e-3, 1e-5, &d, err));
    assert_int_equal(d.violations, 1);
    assert_ok(tc_graph_tensor_compare(&b, &a, 0, 3, &d, err));
    assert_int_equal(d.violations, 0);
    assert_ok(tc_graph_tensor_compare(&y, &x, 1e-3, 1e-5, &d, err));
    assert_int_equal(d.violations, 0);
}

/* In every float type but one; that and other types have only numbers. */
static void test_nonfinite(void **state) {
    (void)state;
    for (int t = 0; t < TC_NDTYPES; t++) {
        tc_graph_tensor x;
        tc_graph_shape s = DIMS(5);
        bool is_float = tc_dtype_is_float((tc_dtype)t) && t != TC_F4E2M1;
        assert_ok(tc_graph_tensor_alloc(&x, (tc_dtype)t, &s, err));
        assert_int_equal(tc_graph_tensor_nonfinite(&x), -1);
        tc_graph_tensor_from_f64(&x, (const double[]){1, 0, 1, -INFINITY, NAN});
        assert_int_equal(tc_graph_tensor_nonfinite(&x), is_float ? 3 : -1);
        tc_graph_tensor_from_f64(&x, (const double[]){NAN, 0, 1, 0, INFINITY});
        assert_int_equal(tc_graph_tensor_nonfinite(&x), is_float ? 0 : -1);
        tc_graph_tensor_free(&x);
    }
}

static void test_print(void **state) {
    (void)state;
    tc_graph_tensor t = F32(DIMS(4), 0.1F, 1, -2.5F, 1e-12F);
    tc_strbuf b = {0};
    tc_graph_tensor_print_values(&b, &t, 3);
    assert_string_equal(tc_sb_str(&b), "0.1, 1, -2.5, ...");
    tc_strbuf_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_shape_limits),
        cmocka_unit_test(test_wide_round_trip),
        cmocka_unit_test(test_cast),
        cmocka_unit_test(test_compare),
        cmocka_unit_test(test_differences),
        cmocka_unit_test(test_tolerance_of_integers),
        cmocka_unit_test(test_nonfinite),
        cmocka_unit_test(test_print),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
