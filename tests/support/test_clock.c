/* clock.h, by the clock of this machine; tests/campaign/clock has others. */
#include "support/cmocka_all.h"

#include <errno.h>
#include <pthread.h>
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

/* Nobody wakes this thread. */
static void who_waits_goes_by_the_monotonic_clock(void **state) {
    (void)state;
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t never = PTHREAD_COND_INITIALIZER;
    static const double waits[] = {0, 0.02, 1.01};
    for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++) {
        double start = tc_now();
        struct timespec until = tc_clock_after(waits[i]);
        assert_true(until.tv_nsec >= 0 && until.tv_nsec < 1000000000);
        pthread_mutex_lock(&lock);
        while (pthread_cond_clockwait(&never, &lock, CLOCK_MONOTONIC, &until) != ETIMEDOUT)
            continue;
        pthread_mutex_unlock(&lock);
        assert_true(tc_now() - start >= waits[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_clock_goes_in_fine_steps),
        cmocka_unit_test(steps_may_be_too_large),
        cmocka_unit_test(who_sleeps_does_not_run),
        cmocka_unit_test(who_computes_does),
        cmocka_unit_test(who_waits_goes_by_the_monotonic_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
