/* src/support/clock owns what a span of time is worth: how fine the steps of tc_now's clock are, and for how much of a
 * span this process had the processors. Not here: what is timed (src/measure). */
#ifndef TC_SUPPORT_CLOCK_H
#define TC_SUPPORT_CLOCK_H

#include <stdbool.h>
#include <time.h>

#include "support/status.h"

/* The smallest step of tc_now, in seconds; INFINITY: the clock stands still. The call takes microseconds, or some steps of a coarse
 * clock. */
double tc_clock_step(void);
/* A span of this many steps is known to 1 %. */
enum { TC_CLOCK_STEPS = 100 };
/* Seconds of the shortest span that is known to 1 %, and no less than `least`. */
double tc_clock_span(double least);

/* The coarsest usable step, in seconds: for samples, whose length can be chosen, and for single calls. */
#define TC_CLOCK_SAMPLES 5e-3
#define TC_CLOCK_CALLS 1e-5
/* TC_ENV: the clock stands still, or its steps are longer than `finest` seconds. */
TC_NODISCARD tc_status tc_clock_check(double finest, tc_error *err);

/* The time in so many seconds by CLOCK_MONOTONIC, for pthread_cond_clockwait. The wall clock may leap, and a thread that waits by it
 * would then wait for hours, or not at all. */
struct timespec tc_clock_after(double seconds);

typedef struct tc_stopwatch {
    double since, ran; /* at the start: the clock, and the processor time of this process */
} tc_stopwatch;
tc_stopwatch tc_stopwatch_start(void);

typedef struct tc_span {
    double seconds;
    double ran; /* processor time of all threads together, in seconds */
    bool whole; /* the process ran for nearly all of the span: it was not stopped, and no other process took its processor */
} tc_span;
/* The span since the start. */
tc_span tc_stopwatch_read(const tc_stopwatch *w);

#endif
