/* Is the machine quiet enough to be sure of anything? Others on the machine disturb all programs of a round, but not equally:
 * two neighbours in a round see machines that differ about as much as repeats of one kernel do. */
#include <math.h>

#include "support/system/stop.h"
#include "tune/explain/explain_int.h"

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
