/* Private to the two files of the database: the handle, statements and error texts. */
#ifndef TC_MEASURE_DATABASE_INT_H
#define TC_MEASURE_DATABASE_INT_H

#include <sqlite3.h>

#include "measure/database.h"

struct tc_meas_db {
    sqlite3 *sql;
    char *path;
};

/* The status and message for what SQLite last said; `doing` completes "while ...". */
tc_status tc_meas_db_fail(tc_meas_db *db, const char *doing, tc_error *err);
tc_status tc_meas_db_exec(tc_meas_db *db, const char *sql, const char *doing, tc_error *err);
tc_status tc_meas_db_prepare(tc_meas_db *db, const char *sql, sqlite3_stmt **out, tc_error *err);
/* Runs a statement that returns no rows, then resets it. */
tc_status tc_meas_db_run(tc_meas_db *db, sqlite3_stmt *st, const char *doing, tc_error *err);
/* Write transactions: BEGIN IMMEDIATE waits for other writers up front, so no statement inside can fail for a lock. `end` commits
 * when s is TC_OK and otherwise rolls back; it returns the final status. */
tc_status tc_meas_db_begin(tc_meas_db *db, tc_error *err);
tc_status tc_meas_db_end(tc_meas_db *db, tc_status s, tc_error *err);

#endif
