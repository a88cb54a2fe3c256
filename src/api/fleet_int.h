/* Private to the API: how calls that measure join a fleet. */
#ifndef TC_API_FLEET_INT_H
#define TC_API_FLEET_INT_H

#include "api/api_int.h"
#include "fleet/tuner/tuner.h"

/* Joins the fleet that a caller gave. `work`: what is tuned by it, such as the database's file: results that came too late for
 * one process are found by the next one of the same work, on this host and of this user. `own`: the target that the caller wants,
 * whose key is taken where the fleet names none. `database`: a file, what is recorded there of a job is not measured again; NULL:
 * none. *out NULL with TC_OK: there is nobody, and this machine is to measure then. */
TC_NODISCARD tc_status api_fleet_join(const tctune_fleet *given, const char *work, const char *database, const tc_target *own,
                                      tc_fleet **out, tc_error *err);

/* Who measures, for which target. */
typedef struct api_measured_by {
    const tctune_fleet *fleet;   /* NULL: this machine */
    const char *work, *database; /* as above */
    const char *target;          /* as asked for; NULL: this machine's, or that of the workers whom the fleet's key names */
    int threads;                 /* as asked for; 0: it is the same of these, each for itself */
    int usual_threads;           /* where no key says otherwise; 0: every core */
} api_measured_by;

/* Joins a fleet, *fleet NULL: this machine measures. *target is what is measured for, OWNED: of a fleet with the smallest of the
 * last caches that its workers tell of, and not native, as its times are none of this machine. On failure either may be made. */
TC_NODISCARD tc_status api_fleet_target(const api_measured_by *by, tc_target **target, tc_fleet **fleet, tc_error *err);
/* Work of one call, of which nothing is found again. In `a`. */
const char *api_fleet_once(tc_arena *a, const char *what);

#endif
