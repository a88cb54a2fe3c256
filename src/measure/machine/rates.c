/* What rates.h describes. */
#include "measure/machine/rates.h"

#include <math.h>

#include "measure/machine/unit_peak.h"
#include "support/vec.h"

enum {
    TIMES = 3,          /* that the peak is measured: something else may run during one */
    STEP = 4,           /* from one footprint to the next: a machine has three levels of caches, a factor of ten apart */
    BEYOND = 4,         /* times the last cache: next to nothing of it is in a cache at the next pass */
    USUAL_L1 = 32 << 10 /* where the target does not tell */
};

static const double peak_seconds = 0.1, unit_seconds = 0.05, stream_seconds = 0.05;

static void measure_footprints(tc_meas_rates *r, const tc_machine *m, const tc_meas_caches *c) {
    int64_t least = (m->l1 > 0 ? m->l1 : USUAL_L1) / 2 * r->peak.threads, last = TC_MAX(c->last, m->l2);
    for (int64_t bytes = least; bytes <= TC_MAX(last, least) && r->n < TC_MEAS_RATES - 1; bytes *= STEP)
        r->at[r->n++] = tc_meas_measure_stream(m->cores, bytes, stream_seconds);
    if (c->memory_gbs > 0)
        r->at[r->n++] = (tc_meas_stream){.bytes = BEYOND * TC_MAX(last, least), .read_gbs = c->memory_gbs};
}

tc_meas_rates tc_meas_measure_rates(const tc_target *t, const tc_meas_caches *c) {
    tc_meas_rates r = {.peak = tc_meas_measure_peak(t->machine.cores, peak_seconds)};
    for (int i = 1; i < TIMES; i++)
        tc_meas_peak_raise_fma(&r.peak, t->machine.cores, peak_seconds);
    tc_meas_peak_raise_units(&r.peak, t, t->machine.intrinsics, unit_seconds);
    measure_footprints(&r, &t->machine, c);
    return r;
}

tc_meas_stream tc_meas_rates_at(const tc_meas_rates *r, double bytes) {
    tc_meas_stream nearest = {0};
    for (int i = 0; i < r->n; i++)
        if (i == 0 || fabs(log((double)r->at[i].bytes / bytes)) < fabs(log((double)nearest.bytes / bytes)))
            nearest = r->at[i];
    return nearest;
}
