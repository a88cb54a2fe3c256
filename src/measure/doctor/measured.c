/* The checks that measure: how steady the times of a fixed piece of work are, whether threads add up, and which caches there
 * really are. */
#include "measure/doctor/doctor.h"

#include <math.h>
#include <stdlib.h>

#include "support/log.h"

enum { PIECES = 4000 }; /* of some 35 us */
static const double peak_seconds = 0.5;

/* Of drift.c: what an idle virtual machine shows, with room. */
static const double slow = 1.15, restless = 0.08;
/* Threads that share nothing reach all of it, but for clocks that sink with the number of busy cores. */
static const double least_scaling = 0.8;

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure_noise(tc_doctor_measured *m) {
    double *t = tc_xcalloc(PIECES, sizeof *t);
    for (int i = 0; i < PIECES; i++) {
        double since = tc_now();
        tc_meas_reference_work();
        t[i] = tc_now() - since;
    }
    qsort(t, PIECES, sizeof *t, by_value);
    m->spread = (t[3 * PIECES / 4] - t[PIECES / 4]) / t[PIECES / 2];
    m->slowdown = t[PIECES / 2] / t[0];
    free(t);
}

tc_doctor_measured tc_doctor_measure(const tc_target *t) {
    tc_doctor_measured m = {0};
    measure_noise(&m);
    m.alone = tc_meas_measure_fma(1, tc_meas_peak_seconds(peak_seconds));
    tc_meas_peak_raise(&m.peak, t->machine.cores, peak_seconds);
    m.threads = m.peak.threads;
    m.caches = tc_meas_known_caches(&t->machine);
    return m;
}

static void judge_caches(tc_doctor *d, const tc_meas_caches *c) {
    double reported = (double)c->reported / (1 << 20), last = (double)c->last / (1 << 20);
    if (!c->last)
        tc_doctor_say(d, TC_DOCTOR_CACHES, TC_DOCTOR_NOTE,
                      "%.0f MiB as reported; the measurement did not find the end of the cache", reported);
    else
        tc_doctor_say(d, TC_DOCTOR_CACHES, c->last < c->reported / 2 ? TC_DOCTOR_WARNING : TC_DOCTOR_GOOD,
                      "%.1f MiB as measured, %.0f MiB as reported", last, reported);
}

/* Rates beside those that the machine is known to reach. */
static void judge_busy(tc_doctor *d, const tc_meas_peak *p) {
    if (p->known_gflops > 0 && p->known_gbs > 0)
        tc_doctor_say(d, TC_DOCTOR_BUSY, tc_meas_peak_is_busy(p) ? TC_DOCTOR_WARNING : TC_DOCTOR_GOOD,
                      "measured %.3g of %.3g GFLOP/s and %.3g of %.3g GB/s that are known of this CPU", p->read_gflops,
                      fmax(p->read_gflops, p->known_gflops), p->read_gbs, fmax(p->read_gbs, p->known_gbs));
    else
        tc_doctor_say(d, TC_DOCTOR_BUSY, TC_DOCTOR_UNKNOWN,
                      "nothing is known from earlier: two commands that measure the peak make it known");
}

void tc_doctor_judge_measured(tc_doctor *d, const tc_doctor_measured *m) {
    bool noisy = m->spread > restless || m->slowdown > slow;
    double scaling = m->alone > 0 ? m->peak.read_gflops / (m->alone * m->threads) : 1;
    tc_doctor_say(d, TC_DOCTOR_NOISE, noisy ? TC_DOCTOR_WARNING : TC_DOCTOR_GOOD,
                  "times of one fixed piece of work: the middle half spans %.1f %%, the median is %.1f %% over the fastest",
                  100 * m->spread, 100 * (m->slowdown - 1));
    if (m->threads > 1)
        tc_doctor_say(d, TC_DOCTOR_SCALING, scaling < least_scaling ? TC_DOCTOR_WARNING : TC_DOCTOR_GOOD,
                      "%d threads run %.2f times as fast as 1 (%.0f %%)", m->threads, scaling * m->threads, 100 * scaling);
    judge_caches(d, &m->caches);
    judge_busy(d, &m->peak);
    tc_doctor_say(d, TC_DOCTOR_PEAK, TC_DOCTOR_GOOD, "%.1f GFLOP/s (f32, %s, %d threads), %.1f GB/s", m->peak.f32_gflops,
                  m->peak.isa, m->threads, m->peak.triad_gbs);
}
