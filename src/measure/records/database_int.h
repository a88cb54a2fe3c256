/* Private to the files of the database: the handle, statements and error texts. */
#ifndef TC_MEASURE_DATABASE_INT_H
#define TC_MEASURE_DATABASE_INT_H

#include <sqlite3.h>

#include "measure/records/database.h"
#include "support/inputs.h"
#include "support/map.h"
#include "support/seal.h"

/* TABLE(name, row, alias): the tables of a database, what messages call a row, and what queries call the table. */
#define TC_MEAS_TABLES(TABLE)                                                                                                    \
    TABLE(records, "record", "r")                                                                                                \
    TABLE(workloads, "workload", "w")                                                                                            \
    TABLE(targets, "target", "t")                                                                                                \
    TABLE(models, "cost model of target", "m")                                                                                   \
    TABLE(admissions, "admission", "a")                                                                                          \
    TABLE(writer, "writer", "o")
typedef enum tc_meas_table {
#define TABLE(name, row, alias) TC_MEAS_##name,
    TC_MEAS_TABLES(TABLE)
#undef TABLE
        TC_MEAS_NTABLES
} tc_meas_table;

/* A row ("record 5") cannot be true (database_fits.c), as `why` says, and is passed over. */
typedef void tc_meas_misfit(void *user, const char *row, const char *why);

struct tc_meas_db {
    sqlite3 *sql;
    char *path;
    bool writes;            /* opened for writing. A reader may have the right to write, and does not */
    int schema;             /* of the file: older than ours when it is only read */
    int64_t steps;          /* of SQLite's machine since the last statement was prepared (database_guard.c) */
    tc_meas_misfit *misfit; /* is told of each that a query meets */
    void *user;
    tc_map admitted; /* seals of what this handle admitted (admission.c), whether or not the file could be written to */
    int64_t version; /* of the file's content, when somebody last asked for others' changes; 0: never */
    bool told;       /* the log was told of the first */
    bool lockless;   /* the file system has no locks to give */
};

enum {
    TC_MEAS_DB_BUSY_MS = 30000, /* a writer's transaction lasts milliseconds; only a stopped process holds the lock so long */
    /* The most bytes of a text, a blob or a row. The longest that tctune writes, cost models, have 0.1 MB. */
    TC_MEAS_DB_LONGEST = TC_BYTES_DATABASE
};
/* The largest id of a record, far below SQLite's: there it gives none any more, and says that the disk is full. Ids above half of
 * it were given by somebody else, and `db prune` may give such records others. */
#define TC_MEAS_DB_LAST_ID ((int64_t)1 << 53)

/* Keeps a file that anybody may have made from doing more than being read; after opening it, before its first statement. */
tc_status tc_meas_db_guard(tc_meas_db *db, tc_error *err);
/* Refuses what others may have put beside the file for SQLite to act on; before that reads anything. */
tc_status tc_meas_db_check_beside(tc_meas_db *db, tc_error *err);
/* Makes the tables of a schema in an empty database. */
tc_status tc_meas_db_make_schema(sqlite3 *sql, int version);
/* Whether the file has the tables of its schema, as that makes them, and nothing else. */
tc_status tc_meas_db_check_schema(tc_meas_db *db, int version, tc_error *err);
/* Makes known to SQL whether a row fits what its table was made for (columns.def), and the numbers of a record each other. */
tc_status tc_meas_db_add_fits(tc_meas_db *db, tc_error *err);
/* As a condition on the rows of a table, under its alias; records are TC_MEAS_DB_JOINED. */
void tc_meas_db_fits_in(const tc_meas_db *db, tc_meas_table table, tc_strbuf *sql);
#define TC_MEAS_DB_JOINED " LEFT JOIN workloads w ON w.hash = r.workload LEFT JOIN targets t ON t.hash = r.target"
/* What does not fit is told to `fn`, instead of the log, until it is NULL again. */
void tc_meas_db_on_misfit(tc_meas_db *db, tc_meas_misfit *fn, void *user);
/* Tells `fn` of every row of a table that does not fit. */
tc_status tc_meas_db_each_misfit(tc_meas_db *db, tc_meas_table table, tc_meas_misfit *fn, void *user, tc_error *err);
/* What a query of records `r` says for a column that the file may be too old to have. */
const char *tc_meas_db_column(const tc_meas_db *db, const char *name);
/* As a query that gives rows: whether the counter of ids is damaged, or somebody gave an id that tctune does not come to. */
extern const char tc_meas_db_odd_ids[];
/* The failure that says so. */
tc_status tc_meas_db_ids_used_up(tc_meas_db *db, tc_error *err);

/* The programs that must not be used (TC_MEAS_UNRELIABLE, but for those that were merely slow on an emulated processor), as a
 * query of workload, target, threads and program: "SELECT .. WHERE ..", to which " AND .." may be added. */
void tc_meas_db_unreliable(const tc_meas_db *db, tc_strbuf *sql);

/* The status and message for what SQLite last said; `doing` completes "while ...". */
tc_status tc_meas_db_fail(tc_meas_db *db, const char *doing, tc_error *err);
tc_status tc_meas_db_exec(tc_meas_db *db, const char *sql, const char *doing, tc_error *err);
/* The single integer that a query gives. */
tc_status tc_meas_db_int(tc_meas_db *db, const char *sql, int64_t *out, tc_error *err);
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
    sqlite3_stmt *workload, *target, *record, *same_job;
} tc_meas_inserts;
tc_status tc_meas_db_inserts_new(tc_meas_db *db, tc_meas_inserts *q, tc_error *err);
/* Of a job that is there already nothing is stored, and *id is that record's; but a failure is news of one that did not fail, and
 * is stored without its job. */
tc_status tc_meas_db_insert_one(tc_meas_db *db, const tc_meas_inserts *q, const tc_record *r, int64_t *id, tc_error *err);
void tc_meas_db_inserts_free(tc_meas_inserts *q);
/* admission.c: a measured record's program is admitted, if it was right; `program`, and whatever record `id` says that its own
 * is, are not any more. In a write transaction or out of one. */
tc_status tc_meas_admit_record(tc_meas_db *db, const tc_record *r, tc_error *err);
tc_status tc_meas_db_expel(tc_meas_db *db, int64_t id, uint64_t program, tc_error *err);
/* What says that this machine made a model; false: no machine can be told. */
bool tc_meas_db_model_seal(tc_digest target, const char *name, const void *data, size_t size, tc_seal *out);
/* Which measurements there are, so that none is taken in twice (exchange.c). Free the map in any case. */
tc_status tc_meas_known_of(tc_meas_db *db, tc_map *known, tc_error *err);
/* False: it was there. A copy that says that the candidate failed later on is news about one that does not. */
bool tc_meas_known_add(tc_map *known, const tc_record *r);

/* Write transactions: BEGIN IMMEDIATE waits for other writers up front, so no statement inside can fail for a lock. `end` commits
 * when s is TC_OK and otherwise rolls back; it returns the final status. */
tc_status tc_meas_db_begin(tc_meas_db *db, tc_error *err);
tc_status tc_meas_db_end(tc_meas_db *db, tc_status s, tc_error *err);

#endif
