/* clock.h, by the clock of this machine; tests/campaign/clock has others. */
#include "support/cmocka_all.h"

#include <string.h>
#include <time.h>

#include "support/clock/clock.h"
#include "support/log.h"

static void the_clock_goes_in_fine_steps(void **state) {
    (void)state;
    double step = tc_clock_step();
    assert_true(step > 0 && step < TC_CLOCK_CALLS);
    assert_int_equal(tc_clock_check(TC_CLOCK_CALLS, NULL), TC_OK);
    assert_true(tc_clock_span(1) == 1);
    assert_true(tc_clock_span(0) > 0 && tc_clock_span(0) < 1);
}

static void steps_may_be_too_large(void **state) {
    (void)state;
    tc_error err = {0};
    assert_int_equal(tc_clock_check(1e-12, &err), TC_ENV);
    assert_non_null(strstr(err.msg, "at most 1e-09 ms"));
}

static void who_sleeps_does_not_run(void **state) {
    (void)state;
    tc_stopwatch w = tc_stopwatch_start();
    nanosleep(&(struct timespec){.tv_nsec = 50 * 1000 * 1000}, NULL);
    tc_span s = tc_stopwatch_read(&w);
    assert_true(s.seconds >= 0.05 && s.ran < s.seconds && !s.whole);
}

static void who_computes_does(void **state) {
    (void)state;
    tc_stopwatch w = tc_stopwatch_start();
    tc_span s = tc_stopwatch_read(&w);
    while (s.ran < 0.02)
        s = tc_stopwatch_read(&w);
    assert_true(s.seconds > 0);
    assert_int_equal(s.whole, s.ran >= 0.9 * s.seconds);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_clock_goes_in_fine_steps),
        cmocka_unit_test(steps_may_be_too_large),
        cmocka_unit_test(who_sleeps_does_not_run),
        cmocka_unit_test(who_computes_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
