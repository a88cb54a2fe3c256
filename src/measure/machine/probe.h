/* How fast the machine is at this moment, to compare moments: a fixed piece of arithmetic and a pass over some memory, again and
 * again. It takes means, to show disturbances that come only now and then; peak.h takes the best of many slices. */
#ifndef TC_MEASURE_MACHINE_PROBE_H
#define TC_MEASURE_MACHINE_PROBE_H

#include <stdint.h>

typedef struct tc_meas_probe tc_meas_probe;
typedef struct tc_meas_speeds {
    double compute, memory; /* pieces, and passes, a second */
} tc_meas_speeds;

/* Of so many threads, which together pass over `bytes`. NULL: there is no memory for it. */
tc_meas_probe *tc_meas_probe_new(int threads, int64_t bytes);
void tc_meas_probe_free(tc_meas_probe *p); /* NULL is fine */
/* Takes twice `seconds`, or as long as one piece and one pass take. */
tc_meas_speeds tc_meas_probe_run(const tc_meas_probe *p, double seconds);

#endif
