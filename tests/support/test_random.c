/* rng.h: the exact stream, its forks, and the shape of each distribution. */
#include "support/cmocka_all.h"

#include <math.h>

#include "support/rng.h"
#include "support/vec.h"

/* The first values were computed from the published algorithm in another language. */
static void stream_is_xoshiro_seeded_by_splitmix(void **state) {
    (void)state;
    tc_rng r = tc_rng_seed(0);
    assert_int_equal(tc_rng_next(&r), 0x99ec5f36cb75f2b4u);
    assert_int_equal(tc_rng_next(&r), 0xbf6e1f784956452au);
    assert_int_equal(tc_rng_next(&r), 0x1a5f849d4933e6e0u);
}

static void same_seed_same_stream(void **state) {
    (void)state;
    tc_rng a = tc_rng_seed(42), b = tc_rng_seed(42), c = tc_rng_seed(43);
    int different = 0;
    for (int i = 0; i < 1000; i++) {
        uint64_t x = tc_rng_next(&a);
        assert_int_equal(x, tc_rng_next(&b));
        different += x != tc_rng_next(&c);
    }
    assert_int_equal(different, 1000);
}

static void forks_are_independent_and_leave_the_parent(void **state) {
    (void)state;
    tc_rng parent = tc_rng_seed(1), untouched = parent;
    tc_rng a = tc_rng_fork(&parent, 0), a2 = tc_rng_fork(&parent, 0), b = tc_rng_fork(&parent, 1);
    assert_memory_equal(&parent, &untouched, sizeof parent);
    assert_memory_equal(&a, &a2, sizeof a);
    uint64_t x = tc_rng_next(&a);
    assert_true(x != tc_rng_next(&b) && x != tc_rng_next(&parent));
    tc_rng later = tc_rng_fork(&parent, 0); /* the parent has moved on */
    assert_true(tc_rng_next(&later) != x);
}

static void below_is_uniform_and_in_range(void **state) {
    (void)state;
    tc_rng r = tc_rng_seed(9);
    const int64_t limits[] = {1, 2, 3, 7, 10, 64};
    for (size_t l = 0; l < TC_LEN(limits); l++) {
        int count[64] = {0};
        int n = 20000;
        for (int i = 0; i < n; i++) {
            int64_t x = tc_rng_below(&r, limits[l]);
            assert_true(x >= 0 && x < limits[l]);
            count[x]++;
        }
        double expected = (double)n / (double)limits[l];
        for (int64_t x = 0; x < limits[l]; x++)
            assert_true(fabs(count[x] - expected) <= 6 * sqrt(expected) + 1e-9);
    }
    for (int i = 0; i < 1000; i++) {
        int64_t x = tc_rng_below(&r, INT64_MAX);
        assert_true(x >= 0 && x < INT64_MAX);
    }
}

static void unit_and_normal_have_their_moments(void **state) {
    (void)state;
    tc_rng r = tc_rng_seed(10);
    enum { N = 200000 };
    double sum = 0, normal_sum = 0, normal_squares = 0;
    for (int i = 0; i < N; i++) {
        double u = tc_rng_unit(&r);
        assert_true(u >= 0 && u < 1);
        sum += u;
        double g = tc_rng_normal(&r);
        normal_sum += g;
        normal_squares += g * g;
    }
    assert_true(fabs(sum / N - 0.5) < 0.005);
    assert_true(fabs(normal_sum / N) < 0.015);
    assert_true(fabs(normal_squares / N - 1) < 0.03);
}

static void weights_are_respected(void **state) {
    (void)state;
    tc_rng r = tc_rng_seed(11);
    const double weights[] = {0, 1, 0, 3, 0};
    int count[5] = {0};
    for (int i = 0; i < 40000; i++)
        count[tc_rng_weighted(&r, weights, 5)]++;
    assert_int_equal(count[0] + count[2] + count[4], 0);
    assert_in_range(count[1], 9400, 10600);
    const double zeros[] = {0, 0, 0};
    int uniform[3] = {0};
    for (int i = 0; i < 3000; i++)
        uniform[tc_rng_weighted(&r, zeros, 3)]++;
    for (int i = 0; i < 3; i++)
        assert_in_range(uniform[i], 850, 1150);
    const double one[] = {0.25};
    assert_int_equal(tc_rng_weighted(&r, one, 1), 0);
    const double extreme[] = {1e308, 1e308, 1e308}; /* the sum overflows */
    for (int i = 0; i < 100; i++)
        assert_in_range(tc_rng_weighted(&r, extreme, 3), 0, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stream_is_xoshiro_seeded_by_splitmix),       cmocka_unit_test(same_seed_same_stream),
        cmocka_unit_test(forks_are_independent_and_leave_the_parent), cmocka_unit_test(below_is_uniform_and_in_range),
        cmocka_unit_test(unit_and_normal_have_their_moments),         cmocka_unit_test(weights_are_respected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
