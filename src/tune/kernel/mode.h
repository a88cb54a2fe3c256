/* How the kernels of a task are timed. Constants that fit in the last cache beside what others keep there cost little more in a
 * network, where they come from memory, than in calls one after the other, and the times of such calls repeat well: these are
 * timed hot. With larger constants a hot time says how much of them the cache could keep at that moment, and which candidate wins
 * is luck: these are timed cold, each call getting its constants from memory.
 *
 * Times of different modes are never compared, so all forms of a task are timed alike. The largest constants of any of them
 * decide, also of forms that --accuracy leaves out: the mode depends on kernel and machine alone, and records serve every
 * session. */
#ifndef TC_TUNE_MODE_H
#define TC_TUNE_MODE_H

#include "measure/records/record.h"
#include "tir_lower/tir.h"

/* What is asked for. */
typedef enum tc_tune_timing {
    TC_TUNE_AUTO, /* what suits each task */
    TC_TUNE_HOT,
    TC_TUNE_COLD
} tc_tune_timing;

/* HOT or COLD for a task of which the largest form reads so many bytes of constants in a call: cold when they take more than half
 * of the last cache. */
tc_meas_mode tc_tune_mode_by_size(double constant_bytes, const tc_machine *m);
/* HOT or COLD for the task with workload w. */
tc_meas_mode tc_tune_mode(tc_tune_timing asked, const tc_workload *w, const tc_machine *m);

#endif
