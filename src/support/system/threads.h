/* How many threads this process can have. OpenMP's runtimes end the process if a thread of a team cannot be started. So the
 * threads of a team are first started once as plain threads. If that fails, the caller learns how many could be started, and the
 * process goes on.
 *
 * Each thread that begins teams has a team of its own, whose threads go on living. So each thread remembers the number that it has
 * tried. */
#ifndef TC_SUPPORT_SYSTEM_THREADS_H
#define TC_SUPPORT_SYSTEM_THREADS_H

#include <stdint.h>

#include "support/status.h"

/* CPUs that this process may run on: at least 1. */
int tc_threads_cores(void);

/* How many threads a team of n can have, the calling one included: n, or as many as could be started now. At least 1. */
int tc_threads_startable(int n);
/* The same for work that gains nothing from more threads than there are CPUs. */
int tc_threads_team(int n);

/* Most threads that the limits of the system allow a process, and the limit that allows no more, as a text for messages. */
typedef struct tc_threads_bound {
    int64_t most;
    char why[96]; /* "vm.max_map_count is 65530" */
} tc_threads_bound;

tc_threads_bound tc_threads_limit(void);

/* TC_BAD_INPUT where n threads are beyond what the system allows, and says which limit that is. Nothing is started. */
TC_NODISCARD tc_status tc_threads_check(int n, tc_error *err);
/* The same, and TC_ENV where they cannot be started now. */
TC_NODISCARD tc_status tc_threads_check_now(int n, tc_error *err);

#endif
