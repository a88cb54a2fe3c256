/* What clock.h describes. */
#include "support/clock/clock.h"

#include <math.h>
#include <time.h>

#include "support/log.h"

enum { SEEN = 8, MOST_READINGS = 1 << 22 /* a clock that is not seen to go within a tenth of a second does not */ };

double tc_clock_step(void) {
    double step = INFINITY, last = tc_now();
    for (int seen = 0, readings = 0; seen < SEEN && readings < MOST_READINGS; readings++) {
        double now = tc_now();
        if (now > last) {
            step = fmin(step, now - last);
            seen++;
        }
        last = now;
    }
    return step;
}

double tc_clock_span(double least) {
    return fmax(least, TC_CLOCK_STEPS * tc_clock_step());
}

tc_status tc_clock_check(double finest, tc_error *err) {
    double step = tc_clock_step();
    if (step <= finest)
        return TC_OK;
    if (isinf(step))
        return tc_fail(err, TC_ENV,
                       "the monotonic clock of this machine stands still: nothing can be timed. Look for a library that replaces "
                       "it (LD_PRELOAD, faketime)");
    return tc_fail(err, TC_ENV,
                   "the monotonic clock of this machine goes in steps of %g ms, but tctune needs at most %g ms. Choose another "
                   "clock source in /sys/devices/system/clocksource",
                   step * 1e3, finest * 1e3);
}

/* ---- spans ---- */

static double process_time(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The time that it ran is taken around that of the clock: where nothing comes between it is no less. */
tc_stopwatch tc_stopwatch_start(void) {
    double ran = process_time();
    return (tc_stopwatch){.ran = ran, .since = tc_now()};
}

tc_span tc_stopwatch_read(const tc_stopwatch *w) {
    static const double nearly = 0.9;
    double seconds = tc_now() - w->since, ran = process_time() - w->ran;
    return (tc_span){.seconds = seconds, .ran = ran, .whole = seconds >= 0 && ran >= nearly * seconds};
}

struct timespec tc_clock_after(double seconds) {
    struct timespec t;
    time_t whole = (time_t)seconds;
    clock_gettime(CLOCK_MONOTONIC, &t);
    long ns = t.tv_nsec + (long)((seconds - (double)whole) * 1e9);
    return (struct timespec){.tv_sec = t.tv_sec + whole + ns / 1000000000, .tv_nsec = ns % 1000000000};
}
