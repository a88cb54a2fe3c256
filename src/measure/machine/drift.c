/* What drift.h describes. */
#include "measure/machine/drift.h"

#include <math.h>

#include "measure/records/record.h"
#include "support/vec.h"

/* Measured on an idle virtual machine with two cores: the reference varies by 3 % from minute to minute, and the middle half of a
 * kernel's repeats spans 1 to 3 %. With one foreign process on one core: 40 % and more, and 10 to 50 %. */
static const double slow = 1.15, restless = 0.08;

/* Of the moments so many, at most, may be of a disturbed machine. */
static const double rough_share = 0.25;
/* The reference lasts some 40 us, and waits for milliseconds where another process has its core: that says nothing of a kernel's
 * time. Beyond this it is not the clock that sinks (as for measuring: measure/processes.c). */
static const double most_slowdown = 1.5;

enum { LEAST_REPEATS = 4 }; /* fewer have no middle half */

static double spread_of(const double *times, size_t n) {
    double low = tc_meas_smallest(times, n, n / 4), high = tc_meas_smallest(times, n, 3 * n / 4);
    return (high - low) / tc_meas_smallest(times, n, n / 2);
}

double tc_meas_drift_best(const tc_meas_drift *d) {
    return d->nreference == 0 || (d->quiet > 0 && d->quiet < d->fastest) ? d->quiet : d->fastest;
}

static double reference_now(const tc_meas_drift *d) {
    return tc_meas_median(d->reference, TC_MIN(d->nreference, (size_t)TC_MEAS_DRIFT_WINDOW));
}

static void add_reference(tc_meas_drift *d, double reference) {
    d->fastest = d->nreference ? fmin(d->fastest, reference) : reference;
    d->reference[d->nreference++ % TC_MEAS_DRIFT_WINDOW] = reference;
    if (d->nreference >= TC_MEAS_DRIFT_WINDOW)
        d->calmest = d->calmest > 0 ? fmin(d->calmest, reference_now(d)) : reference_now(d);
}

bool tc_meas_drift_add(tc_meas_drift *d, double reference, const double *times, size_t n) {
    double spread = n >= LEAST_REPEATS && times[0] > 0 ? spread_of(times, n) : 0;
    if (reference > 0)
        add_reference(d, reference);
    if (n >= LEAST_REPEATS && times[0] > 0)
        d->spread[d->nspread++ % TC_MEAS_DRIFT_WINDOW] = spread;
    return reference > slow * tc_meas_drift_best(d) || spread > restless;
}

tc_meas_calm tc_meas_drift_state(const tc_meas_drift *d) {
    tc_meas_calm c = {.slowdown = 1};
    if (d->nreference >= TC_MEAS_DRIFT_WINDOW / 2)
        c.slowdown = fmax(1, reference_now(d) / tc_meas_drift_best(d));
    if (d->nspread >= TC_MEAS_DRIFT_WINDOW / 2)
        c.spread = tc_meas_median(d->spread, TC_MIN(d->nspread, (size_t)TC_MEAS_DRIFT_WINDOW));
    c.disturbed = c.slowdown > slow || c.spread > restless;
    return c;
}

/* ---- while a figure is taken ---- */

void tc_meas_unrest_add(tc_meas_unrest *u, const tc_meas_calm *now) {
    u->moments++;
    u->rough += now->disturbed;
    u->slowdown += (now->slowdown - u->slowdown) / u->moments;
    u->spread += (now->spread - u->spread) / u->moments;
}

bool tc_meas_is_restless(const tc_meas_unrest *u) {
    return u->rough > rough_share * u->moments;
}

double tc_meas_unrest_error(const tc_meas_unrest *u) {
    return tc_meas_is_restless(u) ? fmax(fmin(u->slowdown, most_slowdown) - 1, u->spread) : 0;
}

void tc_meas_unrest_text(const tc_meas_unrest *u, tc_strbuf *out) {
    tc_sb_printf(
        out,
        "the machine was busy in %.0f %% of the time: a fixed loop took %.2f times as long as at best, repeats spread over "
        "%.0f %%",
        u->moments ? 100.0 * u->rough / u->moments : 0, u->slowdown, 100 * u->spread);
}
