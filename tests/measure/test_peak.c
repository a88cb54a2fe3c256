/* The measured peak and bandwidth are plausible. */
#include "support/cmocka_all.h"

#include "measure/peak.h"

static void peak_is_plausible(void **state) {
    (void)state;
    tc_meas_peak one = tc_meas_measure_peak(1, 0.1), all = tc_meas_measure_peak(0, 0.1);
    assert_int_equal(one.threads, 1);
    assert_true(all.threads >= 1);
    assert_non_null(one.isa);
    assert_true(one.f32_gflops > 0 && one.f32_gflops < 1e5);
    assert_true(one.triad_gbs > 0 && one.triad_gbs < 1e5);
    assert_true(all.f32_gflops > 0 && all.triad_gbs > 0); /* how large they are depends on what else the machine does */
}

/* A footprint of any size, also of less than a vector for each thread. */
static void stream_is_plausible(void **state) {
    static const int64_t sizes[] = {0, 100, 16 << 10, 8 << 20};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        tc_meas_stream s = tc_meas_measure_stream(2, sizes[i], 0.04);
        assert_int_equal(s.bytes, sizes[i]);
        assert_true(s.read_gbs > 0 && s.read_gbs < 1e5);
        assert_true(s.triad_gbs > 0 && s.triad_gbs < 1e5);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(peak_is_plausible), cmocka_unit_test(stream_is_plausible)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
