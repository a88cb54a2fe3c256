/* The best records of a database, measured again. */
#ifndef TC_MEASURE_RERUN_H
#define TC_MEASURE_RERUN_H

#include <signal.h>

#include "measure/records/maintain.h"

typedef struct tc_meas_rerun {
    const char *exe, *worker_arg;      /* as in tc_meas_options; may be NULL */
    const volatile sig_atomic_t *stop; /* may be NULL */
    /* After each: `now` has the same trace. */
    void (*done)(void *user, const tc_meas_summary *s, const tc_record *recorded, const tc_record *now);
    /* Not measured, and why. */
    void (*skipped)(void *user, const tc_meas_summary *s, const char *why);
    void *user;
} tc_meas_rerun;

/* Measures the best record of every summary again, in its own mode, where its target runs here, and notes what fails. *unmarked:
 * how many were disproved. */
TC_NODISCARD tc_status tc_meas_db_rerun(tc_meas_db *db, const tc_meas_rerun *o, int64_t *unmarked, tc_error *err);

#endif
