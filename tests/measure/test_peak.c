/* The measured peak is plausible. */
#include "support/cmocka_all.h"

#include "measure/peak.h"

static void peak_is_plausible(void **state) {
    (void)state;
    tc_meas_peak one = tc_meas_measure_peak(1, 0.1), all = tc_meas_measure_peak(0, 0.1);
    assert_int_equal(one.threads, 1);
    assert_true(all.threads >= 1);
    assert_non_null(one.isa);
    assert_true(one.f32_gflops > 0.1 && one.f32_gflops < 1e5);
    assert_true(one.triad_gbs > 0.1 && one.triad_gbs < 1e5);
    assert_true(all.f32_gflops > 0.1 && all.triad_gbs > 0.1); /* how they compare depends on what else the machine does */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(peak_is_plausible)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
