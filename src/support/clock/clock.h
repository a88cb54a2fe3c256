/* src/support/clock owns what a span of time is worth: how fine the steps of tc_now's clock are, and for how much of a
 * span this process had the processors. Not here: what is timed (src/measure). */
#ifndef TC_SUPPORT_CLOCK_H
#define TC_SUPPORT_CLOCK_H

#include <stdbool.h>

#include "support/status.h"

/* Seconds of the smallest step that tc_now was seen to make; INFINITY: it stands still. Takes microseconds, or some steps of a
 * coarse clock. */
double tc_clock_step(void);
/* A span of so many steps is known to 1 %. */
enum { TC_CLOCK_STEPS = 100 };
/* Seconds of the shortest span that is known to 1 %, and no less than `least`. */
double tc_clock_span(double least);

/* Steps that will do for samples that last as long as they must, and for what is timed call by call. */
#define TC_CLOCK_SAMPLES 5e-3
#define TC_CLOCK_CALLS 1e-5
/* TC_ENV unless the clock goes, in steps of at most so many seconds. */
TC_NODISCARD tc_status tc_clock_check(double finest, tc_error *err);

typedef struct tc_stopwatch {
    double since, ran; /* by the clock, and by what the process had of the processors until then */
} tc_stopwatch;
tc_stopwatch tc_stopwatch_start(void);

typedef struct tc_span {
    double seconds;
    double ran; /* seconds that its threads had of the processors, all together */
    bool whole; /* they ran for nearly all of it: the process was not stopped meanwhile, nor had others its place */
} tc_span;
/* Since it was started. */
tc_span tc_stopwatch_read(const tc_stopwatch *w);

#endif
