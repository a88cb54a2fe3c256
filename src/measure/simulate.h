/* Simulated measuring: times computed from the program instead of taken. One program always gets the same times, on every machine
 * and whatever else runs on it, so that a search can be repeated step for step. Nothing is compiled and nothing is run.
 *
 * A program's time is what the analytic model behind the cost model's features expects, times a factor of its own, drawn from its
 * hash: the model knows most of the truth, not all of it. Repeats scatter upwards, as they do on a machine. */
#ifndef TC_MEASURE_SIMULATE_H
#define TC_MEASURE_SIMULATE_H

#include "measure/record.h"
#include "support/status.h"

typedef struct tc_meas_sim tc_meas_sim;

TC_NODISCARD tc_status tc_meas_sim_new(const char *target, int threads, tc_meas_sim **out, tc_error *err);
void tc_meas_sim_free(tc_meas_sim *s); /* NULL is fine */

/* Hash and seconds of the program that `trace` makes of `workload` (texts). TC_ILLEGAL when it makes none. */
TC_NODISCARD tc_status tc_meas_sim_program(tc_meas_sim *s, const char *workload, const char *trace, uint64_t *program,
                                           double *seconds, tc_error *err);
/* Repeats first .. first + n of a program that takes `seconds`. */
void tc_meas_sim_times(uint64_t program, double seconds, uint64_t first, double *times, size_t n);

#endif
