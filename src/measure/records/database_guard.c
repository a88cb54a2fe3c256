/* A database may come from anybody. This follows the advice of SQLite's manual ("Defense against the dark arts"): the schema
 * is not trusted, and is compared with ours before anything is read; pages are checked cell by cell as they are read; limits
 * are small; and the work of a statement is bounded. */
#include <string.h>
#include <sys/stat.h>

#include "measure/records/database_int.h"
#include "support/vec.h"

/* ---- what a file may make SQLite do ---- */

/* A statement that takes more walks in a circle. The longest of ours (reading, merging, checking and pruning 1,500 records) took
 * 0.13 steps for a byte of the file; pruning may take some that grow with the square of its records. */
static const int64_t steps_least = 50 * 1000 * 1000, steps_for_byte = 100;
enum { STEPS = 100 * 1000 /* between two looks */ };

static int64_t bytes_of(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 ? st.st_size : 0;
}

static int is_endless(void *user) {
    tc_meas_db *db = user;
    const char *file = sqlite3_db_filename(db->sql, "main");
    db->steps += STEPS;
    if (db->steps < steps_least || !file || !*file) /* nobody else makes what is in memory */
        return 0;
    tc_strbuf wal = {0};
    tc_sb_printf(&wal, "%s-wal", db->path);
    int64_t bytes = bytes_of(db->path) + bytes_of(tc_sb_str(&wal));
    tc_strbuf_free(&wal);
    return db->steps - steps_least > steps_for_byte * bytes;
}

static void limit(tc_meas_db *db) {
    static const struct {
        int what, most;
    } limits[] = {
        {SQLITE_LIMIT_LENGTH, TC_MEAS_DB_LONGEST},
        {SQLITE_LIMIT_SQL_LENGTH, 100000},
        {SQLITE_LIMIT_COLUMN, 100},
        {SQLITE_LIMIT_EXPR_DEPTH, 100},
        {SQLITE_LIMIT_COMPOUND_SELECT, 10},
        {SQLITE_LIMIT_VDBE_OP, 25000},
        {SQLITE_LIMIT_FUNCTION_ARG, 40}, /* all columns of a record (database_fits.c) */
        {SQLITE_LIMIT_ATTACHED, 1},      /* VACUUM's own */
        {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 100},
        {SQLITE_LIMIT_VARIABLE_NUMBER, 100},
        {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
        {SQLITE_LIMIT_WORKER_THREADS, 0},
    };
    for (size_t i = 0; i < TC_LEN(limits); i++)
        sqlite3_limit(db->sql, limits[i].what, limits[i].most);
}

tc_status tc_meas_db_guard(tc_meas_db *db, tc_error *err) {
    static const struct {
        int what, on;
    } settings[] = {
        {SQLITE_DBCONFIG_DEFENSIVE, 1},       {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},  {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
        {SQLITE_DBCONFIG_DQS_DDL, 0},         {SQLITE_DBCONFIG_DQS_DML, 0},
        {SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0}, {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
    };
    for (size_t i = 0; i < TC_LEN(settings); i++)
        if (sqlite3_db_config(db->sql, settings[i].what, settings[i].on, NULL) != SQLITE_OK)
            return tc_meas_db_fail(db, "opening", err);
    limit(db);
    sqlite3_progress_handler(db->sql, STEPS, is_endless, db);
    TC_TRY(tc_meas_db_exec(db, "PRAGMA cell_size_check=ON", "opening", err));
    return tc_meas_db_add_fits(db, err);
}

/* ---- the schema ---- */

/* What the tables of `version` look like: an empty database of ours. */
static sqlite3 *example_of(int version) {
    sqlite3 *sql = NULL;
    if (sqlite3_open(":memory:", &sql) == SQLITE_OK && tc_meas_db_make_schema(sql, version) == TC_OK)
        return sql;
    sqlite3_close(sql);
    return NULL;
}

/* Whether the example has what the row of `st` says. */
static bool expected(sqlite3_stmt *example, sqlite3_stmt *st) {
    for (int i = 0; i < 4; i++)
        sqlite3_bind_value(example, i + 1, sqlite3_column_value(st, i));
    bool same = sqlite3_step(example) == SQLITE_ROW;
    sqlite3_reset(example);
    return same;
}

static tc_status refuse(tc_meas_db *db, sqlite3_stmt *st, tc_error *err) {
    const char *type = (const char *)sqlite3_column_text(st, 0), *name = (const char *)sqlite3_column_text(st, 1);
    return tc_fail(err, TC_BAD_INPUT,
                   "%s: the %.20s '%.60s' in it differs from tctune's (schema %d). tctune reads no database that another program "
                   "has changed: export its records where it comes from (tctune db export), and import them here",
                   db->path, type ? type : "thing", name ? name : "", db->schema);
}

static tc_status compare(tc_meas_db *db, sqlite3 *example, tc_error *err) {
    static const char all[] = "SELECT type, name, tbl_name, sql FROM sqlite_schema",
                      one[] = "SELECT 1 FROM sqlite_schema WHERE type = ? AND name = ? AND tbl_name = ? AND sql IS ?";
    sqlite3_stmt *st = NULL, *same;
    int code;
    if (sqlite3_prepare_v2(example, one, -1, &same, NULL) != SQLITE_OK)
        return tc_fail(err, TC_ENV, "%s: cannot be opened: %s", db->path, sqlite3_errmsg(example));
    tc_status s = tc_meas_db_prepare(db, all, &st, err);
    while (s == TC_OK && (code = sqlite3_step(st)) != SQLITE_DONE)
        s = code != SQLITE_ROW   ? tc_meas_db_fail(db, "reading its schema", err)
            : expected(same, st) ? TC_OK
                                 : refuse(db, st, err);
    sqlite3_finalize(st);
    sqlite3_finalize(same);
    return s;
}

/* Whatever is missing shows when it is read. */
tc_status tc_meas_db_check_schema(tc_meas_db *db, int version, tc_error *err) {
    sqlite3 *example = example_of(version);
    if (!example)
        return tc_fail(err, TC_ENV, "%s: cannot be opened: there is no memory to check its schema", db->path);
    tc_status s = compare(db, example, err);
    sqlite3_close(example);
    return s;
}
