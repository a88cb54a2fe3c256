/* What it costs to share out work among threads. */
#ifndef TC_MEASURE_MACHINE_FORK_H
#define TC_MEASURE_MACHINE_FORK_H

/* Seconds that a parallel_for of tc_cg_measuring_runtime takes whose bodies do nothing: the fork, and the barrier at its
 * end. The median of as many as fit into `seconds` (0: 0.02), at least some hundred, of a team that is awake, as it is
 * between the loops of a kernel that is called again and again. threads 0: one per core; of one thread it is a call. For one
 * thread of the process at a time. */
double tc_meas_measure_fork(int threads, double seconds);

#endif
