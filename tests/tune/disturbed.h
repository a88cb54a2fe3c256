/* A machine that others use, for tests: a carrier of computed times, and of what others do to them, drawn from a seed. A virtual
 * clock goes on by what is built and run, so no test depends on this machine. The true time of each program is known. */
#ifndef TC_TESTS_TUNE_DISTURBED_H
#define TC_TESTS_TUNE_DISTURBED_H

#include "measure/measure_int.h"
#include "support/rng.h"
#include "support/vec.h"

/* KIND(id, meaning): what disturbs. */
#define DISTURBANCES(KIND)                                                                                                       \
    KIND(QUIET, "nobody else uses the machine")                                                                                  \
    KIND(BURSTS, "others work for seconds, and rest for seconds")                                                                \
    KIND(STEADY, "others work all the time")                                                                                     \
    KIND(STEPS, "the clock rate falls and rises")                                                                                \
    KIND(STARVED, "a thread has no core for a while: some kernels are killed because they take too long")                        \
    KIND(LEAPS, "a clock leaps: some measurements are far too short")                                                            \
    KIND(MIXED, "all of these")

typedef enum disturbance {
#define KIND(id, meaning) id,
    DISTURBANCES(KIND)
#undef KIND
        NDISTURBANCES
} disturbance;
const char *disturbance_text(disturbance d);

typedef struct machine {
    disturbance kind;
    tc_rng rng;
    double now;   /* the virtual clock, seconds */
    double peak;  /* true operations per second of all threads; no program is faster */
    double until; /* when a burst or a step ends */
    double level; /* times as long as things take until then */
    double load;  /* the chance that something has to wait for a core within 2 ms */
    int late;     /* measurements that were killed */
    tc_map truth; /* program -> index into seconds */
    TC_VEC(double) seconds;
} machine;

/* The machine that carriers and the clock use; one at a time. */
void machine_begin(machine *m, disturbance kind, uint64_t seed, double peak);
void machine_end(machine *m);
/* True seconds of a program that was run; 0: it was not. */
double machine_truth(const machine *m, uint64_t program);
extern const tc_meas_carrier disturbed_carrier; /* of options with carried_by: the machine */

#endif
