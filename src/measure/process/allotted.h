/* What a process got of the processors, as the kernel tells it: /proc/PID/task/TID/schedstat. */
#ifndef TC_MEASURE_PROCESS_ALLOTTED_H
#define TC_MEASURE_PROCESS_ALLOTTED_H

#include <sys/types.h>

/* Seconds since each of its threads that live began, all of them together. */
typedef struct tc_meas_allotted {
    double ran;    /* on a processor */
    double waited; /* ready to run, while others had the processors */
} tc_meas_allotted;

/* Zeros where the system does not tell. */
tc_meas_allotted tc_meas_allotted_of(pid_t pid);
/* The share of the time in which it wanted a processor that it had one, from one moment to another. 1: of none, or not told. */
double tc_meas_allotted_share(const tc_meas_allotted *from, const tc_meas_allotted *to);

#endif
