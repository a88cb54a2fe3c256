/* Rates that this machine is known to reach, remembered from command to command. Who measures while others use the machine knows
 * from them what it can do, and that it is busy.
 *
 * A file keeps the two highest readings of a rate. The second one is believed: one reading alone may be wrong. What was not reached
 * again for 30 days is forgotten, because the machine may have changed. */
#ifndef TC_MEASURE_MACHINE_KNOWN_H
#define TC_MEASURE_MACHINE_KNOWN_H

#include <stdbool.h>

/* KNOWN(id, file, meaning) */
#define TC_MEAS_KNOWN(KNOWN)                                                                                                     \
    KNOWN(FMA, "peak", "GFLOP/s of multiply-adds")                                                                               \
    KNOWN(UNIT, "unit", "GOP/s of a unit")                                                                                       \
    KNOWN(TRIAD, "memory", "GB/s of memory")                                                                                     \
    KNOWN(REFERENCE, "reference", "reference pieces a second on all threads, beside candidates")                                 \
    KNOWN(LOOK, "look", "the same in a process of its own, whose threads are awake")

typedef enum tc_meas_known_rate {
#define KNOWN(id, file, meaning) TC_MEAS_KNOWN_##id,
    TC_MEAS_KNOWN(KNOWN)
#undef KNOWN
        TC_MEAS_NKNOWN
} tc_meas_known_rate;

/* What is known of the rate on so many threads; 0: nothing. `what`: a name of which of several, else "". */
double tc_meas_known(tc_meas_known_rate rate, const char *what, int threads);
/* The same, after one more reading. */
double tc_meas_note(tc_meas_known_rate rate, const char *what, int threads, double now);
/* The reading is so far below what is known that others use the machine, or its clock is held down. known 0: it is not. */
bool tc_meas_is_far_below(double now, double known);
/* What shares are taken of: the reading, since machines drift by some per cent, or what is known where the reading is far below. */
double tc_meas_believed(double now, double known);

#endif
