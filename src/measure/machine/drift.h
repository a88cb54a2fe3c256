/* Is the machine quiet? Two signs show that others are at work, or that the clock sinks: a loop of known work (the reference,
 * run beside every candidate) takes longer than its best, and the repeats of one kernel differ. */
#ifndef TC_MEASURE_MACHINE_DRIFT_H
#define TC_MEASURE_MACHINE_DRIFT_H

#include <stdbool.h>
#include <stddef.h>

#include "support/strbuf.h"

enum { TC_MEAS_DRIFT_WINDOW = 12 }; /* candidates that an opinion is made from */

/* Zero-initialised is empty, and knows nothing from earlier. */
typedef struct tc_meas_drift {
    double quiet;   /* reference on a quiet machine, seconds, as earlier sessions know it; 0: not known */
    double calmest; /* the smallest median of a whole window: what this session knows of it; 0: nothing yet */
    double fastest; /* reference that was added, seconds */
    double reference[TC_MEAS_DRIFT_WINDOW], spread[TC_MEAS_DRIFT_WINDOW];
    size_t nreference, nspread; /* ever added */
} tc_meas_drift;

/* A candidate was measured: the reference's seconds (0: not known) and its repeats. Answers whether others used the machine just
 * then, as far as these show. */
bool tc_meas_drift_add(tc_meas_drift *d, double reference, const double *times, size_t n);

/* Seconds of the reference at best, of this session or of earlier ones; 0: not known. */
double tc_meas_drift_best(const tc_meas_drift *d);

typedef struct tc_meas_calm {
    double slowdown; /* the reference now over the reference at best; 1 when not known */
    double spread;   /* of a kernel's repeats: width of the middle half over the median; 0 when not known */
    bool disturbed;  /* too much of either */
} tc_meas_calm;

/* Runs the reference in this process, on so many threads, until half of the window is of now: some 50 ms. For an opinion while no
 * candidate runs; apart from those of candidates, whose references begin with threads that sleep. */
void tc_meas_drift_look(tc_meas_drift *d, int threads);

/* How often the machine was disturbed while a figure was taken: what every report says of it. Zero-initialised: nobody looked. */
typedef struct tc_meas_unrest {
    int moments, rough;      /* that were looked at, of which so many were of a disturbed machine */
    double slowdown, spread; /* tc_meas_calm, means over the moments */
} tc_meas_unrest;

void tc_meas_unrest_add(tc_meas_unrest *u, const tc_meas_calm *now);
/* More than a quarter of the moments were: the figure is not to be trusted as on a quiet machine. */
bool tc_meas_is_restless(const tc_meas_unrest *u);
/* By how much, as a share, a time may be wrong because of it, which neither rounds nor repeats show; 0 on a quiet machine. */
double tc_meas_unrest_error(const tc_meas_unrest *u);
/* "the machine was busy in 40 % of the time: ..", without a full stop. */
void tc_meas_unrest_text(const tc_meas_unrest *u, tc_strbuf *out);
/* Looks at the machine as tc_meas_drift_look does, once, for a figure that this process takes without candidates. */
void tc_meas_unrest_look(tc_meas_unrest *u, int threads);

/* Of the window: medians, so that one bad candidate means nothing. Calm until half a window is full. */
tc_meas_calm tc_meas_drift_state(const tc_meas_drift *d);

#endif
