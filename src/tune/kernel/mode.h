/* How the kernels of a task are timed: hot, called again and again, or cold, with constants from memory in each call.
 *
 * Where a network's constants exceed the last cache, they come from memory in every run. Constants that fit in a core's own
 * caches cost little even then, and times of calls one after the other repeat well: such kernels are timed hot. Kernels with
 * larger constants are timed cold there, because a hot time leaves out what a form with larger weights costs. A kernel whose
 * own constants take more than half of the last cache is timed cold everywhere: a hot time would depend on how much of them
 * the cache could keep at that moment, and luck would choose the winner.
 *
 * Times of different modes are never compared, so all forms of a task are timed alike. The largest constants of any form
 * decide, also of forms that --accuracy leaves out. So the mode depends on the kernel, its network's constants and the machine
 * alone. */
#ifndef TC_TUNE_MODE_H
#define TC_TUNE_MODE_H

#include "codegen/target/target.h"
#include "measure/records/record.h"

/* What is asked for. */
typedef enum tc_tune_timing {
    TC_TUNE_AUTO, /* what suits each task */
    TC_TUNE_HOT,
    TC_TUNE_COLD
} tc_tune_timing;
/* "auto", "hot" or "cold". */
TC_NODISCARD tc_status tc_tune_timing_parse(const char *name, tc_tune_timing *out, tc_error *err);

/* HOT or COLD for a task of which the largest form reads so many bytes of constants in a call, in a network that reads `network`
 * bytes of them in a run; 0: it stands alone. */
tc_meas_mode tc_tune_mode_by_size(double constant_bytes, double network, const tc_machine *m);
/* HOT or COLD for the task with workload w. */
tc_meas_mode tc_tune_mode(tc_tune_timing asked, const tc_workload *w, double network, const tc_machine *m);

/* The target's machine with so many cores, and with what its last cache was measured to hold (measure/machine/caches.h) where
 * that may decide: when as many bytes of constants are read as a core's own caches do not hold. Lowering never looks at that
 * cache, so programs do not depend on it; modes, estimates and features do. */
tc_machine tc_tune_machine(const tc_target *t, int threads, double constants);

#endif
