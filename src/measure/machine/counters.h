/* Counters of the processor and of the kernel for this process: perf_event_open(2). They count user mode, on the calling
 * thread and on threads that it starts later, also while these spin. Each counter may be missing by itself: virtual machines
 * often have none of the processor's.
 *
 * They count from the moment they are opened, and read(2) alone reads them. So a process may close its sandbox in between. */
#ifndef TC_MEASURE_MACHINE_COUNTERS_H
#define TC_MEASURE_MACHINE_COUNTERS_H

#include "measure/records/record.h"

typedef struct tc_meas_counters {
    int fd[TC_MEAS_NCOUNTERS];      /* -1: it is missing */
    int missing[TC_MEAS_NCOUNTERS]; /* errno that says why; 0: it is there */
} tc_meas_counters;

void tc_meas_counters_open(tc_meas_counters *c);
void tc_meas_counters_close(tc_meas_counters *c);

/* What they stood at; or the sum of what they went on by. */
typedef struct tc_meas_reading {
    uint64_t value[TC_MEAS_NCOUNTERS], enabled[TC_MEAS_NCOUNTERS], running[TC_MEAS_NCOUNTERS]; /* nanoseconds, of the last two */
} tc_meas_reading;

void tc_meas_counters_read(const tc_meas_counters *c, tc_meas_reading *out);
void tc_meas_reading_add(tc_meas_reading *sum, const tc_meas_reading *before, const tc_meas_reading *after);
/* Of so many calls that went on by `sum`. Where there are fewer counters than are wanted, they take turns, and counted for a part
 * of the time: what they saw stands for all of it. */
tc_meas_counted tc_meas_counts_of(const tc_meas_counters *c, const tc_meas_reading *sum, int64_t calls);

/* Why a counter is missing, by the errno, on this machine; in `a`. */
const char *tc_meas_counter_missing(tc_arena *a, int error);

#endif
