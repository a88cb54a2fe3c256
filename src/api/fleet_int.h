/* Private to the API: how calls that measure join a fleet. */
#ifndef TC_API_FLEET_INT_H
#define TC_API_FLEET_INT_H

#include "api/api_int.h"
#include "fleet/tuner/tuner.h"

/* Joins the fleet that a caller gave. `work`: the object that is tuned, such as the database's file. Results that came too late for
 * a process are given to the next process with the same work, on this host and of this user. `own`: the target that the caller
 * wants; its key is used if the fleet names none. `database`: a file; a job with a record there is not measured again; NULL: none.
 * *out NULL with TC_OK: no fleet was given, and this machine measures. */
TC_NODISCARD tc_status api_fleet_join(const tctune_fleet *given, const char *work, const char *database, const tc_target *own,
                                      tc_fleet **out, tc_error *err);

/* Who measures, for which target. */
typedef struct api_measured_by {
    const tctune_fleet *fleet;   /* NULL: this machine */
    const char *work, *database; /* as above */
    const char *target;          /* the target that the caller gave; NULL: this machine's, or the target of the workers that the
                                  * fleet's key names */
    int threads;                 /* the threads that the caller gave; 0: the same rule, independently of the target */
    int usual_threads;           /* where no key says otherwise; 0: every core */
} api_measured_by;

/* Joins a fleet; *fleet NULL: this machine measures. *target is the target to measure for, OWNED. For a fleet it has the smallest
 * of the workers' last caches, and it is not native, since the times are not from this machine. On failure *fleet and *target may
 * be set. */
TC_NODISCARD tc_status api_fleet_target(const api_measured_by *by, tc_target **target, tc_fleet **fleet, tc_error *err);
/* A `work` for a single call: no later call finds its results. In `a`. */
const char *api_fleet_once(tc_arena *a, const char *what);

#endif
