/* Records as files of JSON lines: to look at, to keep under version control, to carry from one database to another. */
#ifndef TC_MEASURE_EXCHANGE_H
#define TC_MEASURE_EXCHANGE_H

#include "measure/database.h"

/* Writes the matching records, one a line; the file is whole or unchanged. *n: how many. */
TC_NODISCARD tc_status tc_meas_export(tc_meas_db *db, const tc_meas_filter *f, const char *path, size_t *n, tc_error *err);
/* Adds the records of a file, all or none, but those that the database has already (same workload, target, trace, mode and time).
 * Blank lines are skipped. *added: how many were new. */
TC_NODISCARD tc_status tc_meas_import(tc_meas_db *db, const char *path, size_t *added, tc_error *err);

#endif
