/* A kernel that stands alone: is its best record faster than its default schedule? Both run in turns, in workers, timed as the
 * session times the kernel. Kernels of a network are compared in the network instead (graph/trials/untuned.h). */
#ifndef TC_TUNE_UNTUNED_H
#define TC_TUNE_UNTUNED_H

#include "tune/kernel/gain.h"
#include "tune/tune.h"

/* w: the session's only task, whose sizes do not vary. Compares until tc_now() is `until`, stores the verdict in db, and tells
 * what was gained, also that too little time was left. o: as of the session; interrupted, it stores nothing. Texts are in `a`. */
TC_NODISCARD tc_status tc_tune_untuned(const tc_tune_options *o, const tc_workload *w, tc_meas_db *db, double until, tc_arena *a,
                                       tc_tune_gain *out, tc_error *err);

#endif
