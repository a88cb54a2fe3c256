/* Is the machine quiet enough to be sure of anything? Others on the machine disturb all programs of a round, but not equally:
 * two neighbours in a round see machines that differ about as much as repeats of one kernel do. */
#include <math.h>

#include "support/system/stop.h"
#include "tune/explain/explain_int.h"

/* Of the rounds so many, at most, may be of a disturbed machine. */
static const double rough_share = 0.25;
/* The reference lasts some 40 us, and waits for milliseconds where another process has its core: that says nothing of a kernel's
 * time. Beyond this it is not the clock that sinks (as for measuring: measure/processes.c). */
static const double most_slowdown = 1.5;
static const double between_looks = 0.2; /* seconds: what disturbs for less is over by then */

double tune_await_calm(const tune_machine *m, double most, const volatile sig_atomic_t *stop, tc_meas_calm *calm) {
    double began = m->pause(m->user, 0), now = began;
    *calm = m->look(m->user);
    while (calm->disturbed && now - began < most && !tc_is_raised(stop)) {
        now = m->pause(m->user, fmin(between_looks, most - (now - began)));
        *calm = m->look(m->user);
    }
    return calm->disturbed || now > began ? m->pause(m->user, 0) - began : 0;
}

void tune_note_round(tune_calm *c, const tc_meas_calm *seen) {
    c->rounds++;
    c->rough += seen->disturbed;
    c->slowdown += (seen->slowdown - c->slowdown) / c->rounds;
    c->spread += (seen->spread - c->spread) / c->rounds;
}

bool tune_is_disturbed(const tune_calm *c) {
    return c->rough > rough_share * c->rounds;
}

double tune_unrest(const tune_calm *c) {
    return tune_is_disturbed(c) ? fmax(fmin(c->slowdown, most_slowdown) - 1, c->spread) : 0;
}
