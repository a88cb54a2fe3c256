/* Private to the files of the database: the handle, statements and error texts. */
#ifndef TC_MEASURE_DATABASE_INT_H
#define TC_MEASURE_DATABASE_INT_H

#include <sqlite3.h>

#include "measure/records/database.h"
#include "support/map.h"

struct tc_meas_db {
    sqlite3 *sql;
    char *path;
    int schema; /* of the file: older than ours when it is only read */
};

/* What a query says for a column that the file may be too old to have. */
static inline const char *tc_meas_db_mode_column(const tc_meas_db *db) {
    return db->schema >= 2 ? "r.mode" : "'hot'";
}
static inline const char *tc_meas_db_rounds_column(const tc_meas_db *db) {
    return db->schema >= 2 ? "r.rounds" : "0";
}

/* The programs that must not be used (TC_MEAS_UNRELIABLE), as a query of workload, target, threads and program: "SELECT .. WHERE ..",
 * to which " AND .." may be added. */
void tc_meas_db_unreliable(tc_strbuf *sql);

/* The status and message for what SQLite last said; `doing` completes "while ...". */
tc_status tc_meas_db_fail(tc_meas_db *db, const char *doing, tc_error *err);
tc_status tc_meas_db_exec(tc_meas_db *db, const char *sql, const char *doing, tc_error *err);
tc_status tc_meas_db_prepare(tc_meas_db *db, const char *sql, sqlite3_stmt **out, tc_error *err);
static inline void tc_meas_db_bind_text(sqlite3_stmt *st, int i, const char *s) {
    sqlite3_bind_text(st, i, s, -1, SQLITE_STATIC);
}
/* Column i of the present row; NULL is "", and no digest. */
const char *tc_meas_db_text(tc_arena *a, sqlite3_stmt *st, int i);
tc_digest tc_meas_db_digest(sqlite3_stmt *st, int i);
/* The first record of a filter. */
tc_status tc_meas_db_first(tc_meas_db *db, tc_arena *a, tc_meas_filter f, tc_record *out, bool *found, tc_error *err);
/* Runs a statement that returns no rows, then resets it. */
tc_status tc_meas_db_run(tc_meas_db *db, sqlite3_stmt *st, const char *doing, tc_error *err);
/* The statements that store a record, for use inside a write transaction. Free them in any case. */
typedef struct tc_meas_inserts {
    sqlite3_stmt *workload, *target, *record;
} tc_meas_inserts;
tc_status tc_meas_db_inserts_new(tc_meas_db *db, tc_meas_inserts *q, tc_error *err);
tc_status tc_meas_db_insert_one(tc_meas_db *db, const tc_meas_inserts *q, const tc_record *r, int64_t *id, tc_error *err);
void tc_meas_db_inserts_free(tc_meas_inserts *q);
/* Which measurements there are, so that none is taken in twice (exchange.c). Free the map in any case. */
tc_status tc_meas_known_of(tc_meas_db *db, tc_map *known, tc_error *err);
/* False: it was there. A copy that says that the candidate failed later on is news about one that does not. */
bool tc_meas_known_add(tc_map *known, const tc_record *r);

/* Write transactions: BEGIN IMMEDIATE waits for other writers up front, so no statement inside can fail for a lock. `end` commits
 * when s is TC_OK and otherwise rolls back; it returns the final status. */
tc_status tc_meas_db_begin(tc_meas_db *db, tc_error *err);
tc_status tc_meas_db_end(tc_meas_db *db, tc_status s, tc_error *err);

#endif
