/* Private to running a candidate: the data of its workload (data.c), on which runner.c runs it. */
#ifndef TC_MEASURE_RUN_INT_H
#define TC_MEASURE_RUN_INT_H

#include "measure/worker_int.h"

enum { TC_MEAS_PACKED_KEPT = 8 }; /* packed constants kept per workload; candidates of one generation share few layouts */

typedef struct tc_meas_packed {
    char *key; /* parameter index, layout and size */
    tc_meas_region mem;
    uint64_t used;
} tc_meas_packed;

struct tc_meas_data {
    const tc_workload *w;
    tc_meas_region *in, *out;
    tc_meas_packed packed[TC_MEAS_PACKED_KEPT];
    uint64_t clock;
    tc_meas_check *check;
};

/* The arguments of f: inputs, constants packed as it wants them, outputs. TC_ENV for want of memory. */
TC_NODISCARD tc_status tc_meas_data_arguments(tc_meas_data *d, const tc_func *f, void **args, tc_error *err);

#endif
