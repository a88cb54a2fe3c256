/* Records as files of JSON lines: to look at, to keep under version control, to carry between databases. And whole files taken
 * into a database. */
#ifndef TC_MEASURE_EXCHANGE_H
#define TC_MEASURE_EXCHANGE_H

#include "measure/records/database.h"

/* Writes the matching records, one a line; the file is whole or unchanged. *n: how many. */
TC_NODISCARD tc_status tc_meas_export(tc_meas_db *db, const tc_meas_filter *f, const char *path, size_t *n, tc_error *err);
/* Adds the records of a file, all or none, but those that the database has already (same workload, target, trace, mode and time).
 * Blank lines are skipped; a line that does not fit (check.h) is named and refused with all others. *added: how many were new.
 * A record whose workload or trace is beyond a bound (inputs.def) is left out, and the others are added all the same: the result is
 * TC_BAD_INPUT then too, with the code BEYOND, and the message names the lines. */
TC_NODISCARD tc_status tc_meas_import(tc_meas_db *db, const char *path, size_t *added, tc_error *err);

/* Either: tc_meas_db_merge where the file is a database by its first bytes, else tc_meas_import, with *known 0. */
TC_NODISCARD tc_status tc_meas_take_in(tc_meas_db *db, const char *path, size_t *added, size_t *known, tc_error *err);

/* ---- files into a file ---- */

/* `file` was taken in: how many of its records were new, and, of another database, how many were there already. */
typedef void tc_meas_taken(void *user, const char *file, size_t added, size_t known);
/* Adds n files, JSON lines or other databases, to the database file `db` one after the other, up to the first that fails
 * (tc_meas_take_in). One with records beyond a bound is no end: it fails when all files are added. The database is made where there
 * is none, but not where one of the files is missing, or nothing of the first is taken in. */
TC_NODISCARD tc_status tc_meas_take_files(const char *db, const char *const *files, size_t n, tc_meas_taken *fn, void *user,
                                          tc_error *err);

#endif
