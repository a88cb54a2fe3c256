/* Private to measuring: its state, and the carriers of this folder. */
#ifndef TC_MEASURE_MEASURE_INT_H
#define TC_MEASURE_MEASURE_INT_H

#include "measure/carrier.h"
#include "support/map.h"

extern const tc_meas_carrier tc_meas_processes; /* builders and a runner on this machine: processes.c */
extern const tc_meas_carrier tc_meas_simulated; /* times computed from the program: simulate.c */

struct tc_meas {
    tc_meas_options o; /* with defaults; its strings are copies */
    char host[256];
    const tc_meas_carrier *carrier;
    void *carries; /* its state */
    tc_meas_drift drift;
    tc_meas_unrest unrest;
    tc_map seen; /* workload, program and mode -> measured before */
    tc_meas_stats stats;
};

#endif
