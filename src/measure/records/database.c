/* What SQLite's errors mean to a user; statements, transactions, the file as a whole. */
#include "measure/records/database.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "measure/records/database_int.h"
#include "support/system/fs.h"
#include "support/system/memory.h"

/* ---- errors and statements ---- */

const char tc_meas_db_odd_ids[] =
    "SELECT 1 FROM records WHERE id > 4503599627370496 UNION ALL"
    " SELECT 1 FROM sqlite_sequence WHERE name IS NOT 'records' OR typeof(seq) IS NOT 'integer' OR"
    " seq NOT BETWEEN 0 AND 4503599627370496 UNION ALL SELECT 1 WHERE (SELECT count(*) FROM sqlite_sequence) > 1";
_Static_assert(TC_MEAS_DB_LAST_ID / 2 == 4503599627370496, "the number in the query");

/* SQLite says the same of a full disk and of ids that are used up. */
static bool has_odd_ids(tc_meas_db *db) {
    sqlite3_stmt *st = NULL;
    bool is = sqlite3_prepare_v2(db->sql, tc_meas_db_odd_ids, -1, &st, NULL) == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW;
    sqlite3_finalize(st);
    return is;
}

tc_status tc_meas_db_ids_used_up(tc_meas_db *db, tc_error *err) {
    return tc_fail(
        err, TC_BAD_INPUT,
        "%s: the database has no id left for another record: somebody gave a record, or the counter of ids, an id near "
        "%lld. `tctune db prune --drop-failures` or `tctune db prune --keep K` gives such records other ids",
        db->path, (long long)TC_MEAS_DB_LAST_ID);
}

/* SQLite does not always keep the system's error number. */
static bool has_file_limit(void) {
    struct rlimit r;
    return getrlimit(RLIMIT_FSIZE, &r) == 0 && r.rlim_cur != RLIM_INFINITY;
}

static tc_status fail_environment(tc_meas_db *db, int code, const char *doing, tc_error *err) {
    const char *p = db->path, *why = sqlite3_errmsg(db->sql);
    int known = sqlite3_system_errno(db->sql), system = !known && has_file_limit() ? EFBIG : known;
    switch (code) {
    case SQLITE_FULL:
        if (has_odd_ids(db))
            return tc_meas_db_ids_used_up(db, err);
        return tc_fail(
            err, TC_ENV,
            "%s: the disk is full (while %s). Everything committed before is kept: free some space and run the same command "
            "again to resume, or put the database elsewhere with --db",
            p, doing);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        if (db->lockless)
            return tc_fail(err, TC_ENV,
                           "%s: its file system gives no locks (while %s): %s. Put the database on a local disk, with --db", p,
                           doing, strerror(ENOLCK));
        return tc_fail(
            err, TC_ENV,
            "%s: another process has kept the database locked for %d s (while %s). Let it finish, or end it, and try again", p,
            TC_MEAS_DB_BUSY_MS / 1000, doing);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
        return tc_fail(
            err, TC_ENV,
            "%s: cannot be written (while %s): %s. The file and its folder must both be writable; fix the permissions or give "
            "another place with --db",
            p, doing, system ? strerror(system) : why);
    default:
        return tc_fail(
            err, TC_ENV,
            "%s: input/output error (while %s): %s%s%s. Everything committed before is kept; check the disk and its free space, "
            "then run the same command again",
            p, doing, why, system ? ": " : "", system ? tc_fs_reason(system) : "");
    }
}

tc_status tc_meas_db_fail(tc_meas_db *db, const char *doing, tc_error *err) {
    int code = sqlite3_errcode(db->sql) & 0xff;
    switch (code) {
    case SQLITE_NOMEM:
        return tc_fail(err, TC_ENV,
                       "%s: out of memory (while %s). Everything committed before is kept; close other programs and try again",
                       db->path, doing);
    case SQLITE_NOTADB:
        TC_TRY(tc_fs_refuse_lfs_pointer(db->path, err));
        return tc_fail(err, TC_BAD_INPUT,
                       "%s: not a tctune database (it is no SQLite file, or its start is damaged). Give another file with --db",
                       db->path);
    case SQLITE_CORRUPT:
        return tc_fail(
            err, TC_BAD_INPUT,
            "%s: the database is damaged (while %s): %s. Save what can be read with: sqlite3 '%s' .recover | sqlite3 new.db; "
            "or start a new one with --db",
            db->path, doing, sqlite3_errmsg(db->sql), db->path);
    case SQLITE_INTERRUPT:
        return tc_fail(err, TC_BAD_INPUT,
                       "%s: a query of it does not end (while %s): the file is damaged, or was made to block its readers. Give "
                       "another file with --db",
                       db->path, doing);
    case SQLITE_TOOBIG:
        return tc_fail(err, TC_BAD_INPUT,
                       "%s: has texts of more than %d MiB (while %s), which tctune does not write. Give another "
                       "file with --db",
                       db->path, TC_MEAS_DB_LONGEST >> 20, doing);
    default:
        return fail_environment(db, code, doing, err);
    }
}

tc_status tc_meas_db_exec(tc_meas_db *db, const char *sql, const char *doing, tc_error *err) {
    db->steps = 0;
    return sqlite3_exec(db->sql, sql, NULL, NULL, NULL) == SQLITE_OK ? TC_OK : tc_meas_db_fail(db, doing, err);
}

tc_status tc_meas_db_prepare(tc_meas_db *db, const char *sql, sqlite3_stmt **out, tc_error *err) {
    db->steps = 0;
    return sqlite3_prepare_v2(db->sql, sql, -1, out, NULL) == SQLITE_OK ? TC_OK : tc_meas_db_fail(db, "preparing a query", err);
}

tc_status tc_meas_db_run(tc_meas_db *db, sqlite3_stmt *st, const char *doing, tc_error *err) {
    if (tc_ran_out()) /* what it would store may not be whole */
        return tc_memory_ran_out(err);
    tc_status s = sqlite3_step(st) == SQLITE_DONE ? TC_OK : tc_meas_db_fail(db, doing, err);
    sqlite3_reset(st);
    return s;
}

tc_status tc_meas_db_begin(tc_meas_db *db, tc_error *err) {
    return tc_meas_db_exec(db, "BEGIN IMMEDIATE", "starting a transaction", err);
}

tc_status tc_meas_db_end(tc_meas_db *db, tc_status s, tc_error *err) {
    if (s == TC_OK && tc_ran_out())
        s = tc_memory_ran_out(err);
    if (s == TC_OK)
        s = tc_meas_db_exec(db, "COMMIT", "committing", err);
    if (s != TC_OK && !sqlite3_get_autocommit(db->sql))
        sqlite3_exec(db->sql, "ROLLBACK", NULL, NULL, NULL);
    return s;
}

tc_status tc_meas_db_int(tc_meas_db *db, const char *sql, int64_t *out, tc_error *err) {
    sqlite3_stmt *st = NULL;
    db->steps = 0;
    if (sqlite3_prepare_v2(db->sql, sql, -1, &st, NULL) != SQLITE_OK || sqlite3_step(st) != SQLITE_ROW) {
        tc_status s = tc_meas_db_fail(db, "reading", err);
        sqlite3_finalize(st);
        return s;
    }
    *out = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    return TC_OK;
}

const char *tc_meas_db_path(const tc_meas_db *db) {
    return db->path;
}

bool tc_meas_db_writable(const tc_meas_db *db) {
    return db->writes;
}

/* ---- whole file ---- */

tc_status tc_meas_db_stat(tc_meas_db *db, tc_meas_db_stats *out, tc_error *err) {
    int64_t schema = 0;
    TC_TRY(tc_meas_db_int(db, "PRAGMA user_version", &schema, err));
    out->schema = (int)schema;
    TC_TRY(tc_meas_db_int(db, "SELECT count(*) FROM workloads", &out->workloads, err));
    TC_TRY(tc_meas_db_int(db, "SELECT count(*) FROM targets", &out->targets, err));
    TC_TRY(tc_meas_db_int(db, "SELECT count(*) FROM records", &out->records, err));
    TC_TRY(tc_meas_db_int(db, "SELECT count(*) FROM models WHERE name != '" TC_MEAS_DB_PLACE "'", &out->models, err));
    return tc_meas_db_int(db, "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()", &out->bytes, err);
}
