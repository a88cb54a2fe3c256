/* Private to the API: fleets of its calls that measure. */
#ifndef TC_API_FLEET_INT_H
#define TC_API_FLEET_INT_H

#include "api/api_int.h"
#include "fleet/tuner/tuner.h"

/* Joins the fleet that a caller gave. `work`: what is tuned by it, such as the database's file: results that came too late for one process
 * are found by the next one of the same work, on this host and of this user. `own`: the target that the caller wants, whose key is taken
 * where the fleet names none. `database`: a file, what is recorded there of a job is not measured again; NULL: none. *out NULL
 * with TC_OK: there is nobody, and this machine is to measure then. */
TC_NODISCARD tc_status api_fleet_join(const tctune_fleet *given, const char *work, const char *database, const tc_target *own,
                                      tc_fleet **out, tc_error *err);

#endif
