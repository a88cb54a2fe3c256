/* How often threads do a fixed piece of work when all of them have a core. */
#ifndef TC_MEASURE_MACHINE_TOGETHER_H
#define TC_MEASURE_MACHINE_TOGETHER_H

/* One piece, of some 5 to 100 us. Calls of one thread follow each other; those of several run at once. */
typedef void tc_meas_piece(int thread, void *user);

/* Pieces per second of all threads together, at best. Takes about `seconds`. Each thread works without a look at the others, and the
 * best moment counts. So a machine that others use needs to give all threads a core at the same time for half a millisecond only. 0:
 * there is no memory for it. */
double tc_meas_rate_together(int threads, double seconds, tc_meas_piece *piece, void *user);

#endif
