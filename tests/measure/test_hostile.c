/* Databases that others made: what is not ours is refused by name, what contradicts itself is never used, and nothing takes for
 * ever. */
#include "database.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <unistd.h>

#include "measure/records/check.h"
#include "measure/records/database_int.h"
#include "measure/records/exchange.h"
#include "measure/records/maintain.h"
#include "support/log.h"
#include "support/rng.h"
#include "support/system/identity.h"
#include "support/vec.h"

static int setup_quietly(void **state) {
    if (access("/dev/shm", W_OK) == 0) /* hundreds of files: no disk needs to be waited for */
        setenv("TMPDIR", "/dev/shm", 1);
    tc_log_set_level(TC_LOG_ERROR);
    return setup(state);
}

/* Three records, of 1, 2 and 3 ms, in a file without a log beside it. */
static void make_database(void) {
    tc_meas_db *db = open_db(path, TC_MEAS_DB_WRITE);
    for (int i = 0; i < 3; i++) {
        tc_record r = sample_record(arena, sample_workload(arena, 8), i, 1e-3 * (i + 1));
        assert_int_equal(tc_meas_db_insert(db, &r, 1, NULL), TC_OK);
    }
    tc_meas_db_close(db);
}

static void remove_database(void) {
    unlink(path);
    unlink(tc_arena_printf(arena, "%s-wal", path));
    unlink(tc_arena_printf(arena, "%s-shm", path));
}

static void run_sql(const char *sql) {
    sqlite3 *s;
    char *why = NULL;
    assert_int_equal(sqlite3_open(path, &s), SQLITE_OK);
    if (sqlite3_exec(s, sql, NULL, NULL, &why) != SQLITE_OK)
        fail_msg("%s: %s", sql, why);
    sqlite3_close(s);
}

/* ---- the schema ---- */

/* A view that never ends in the place of a table. */
#define ENDLESS "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c"

static void what_is_not_ours_is_refused_by_name(void **state) {
    (void)state;
    static const struct {
        const char *sql, *says;
    } cases[] = {
        {"ALTER TABLE records RENAME TO hidden; CREATE VIEW records AS " ENDLESS, "'hidden'"},
        {"PRAGMA foreign_keys=OFF; DROP TABLE records; CREATE VIEW records AS " ENDLESS, "the view 'records'"},
        {"CREATE VIEW more AS " ENDLESS, "the view 'more'"},
        {"CREATE TRIGGER spy AFTER INSERT ON records BEGIN DELETE FROM workloads; END", "the trigger 'spy'"},
        {"CREATE TABLE extra(x)", "the table 'extra'"},
        {"CREATE INDEX slow ON records(hex(trace))", "the index 'slow'"},
        {"CREATE VIRTUAL TABLE f USING fts4(x)", "the table 'f"},
        {"ALTER TABLE records ADD COLUMN more TEXT GENERATED ALWAYS AS (hex(zeroblob(1000000))) VIRTUAL", "the table 'records'"},
        {"DROP TABLE writer; CREATE TABLE writer(only INTEGER PRIMARY KEY, host TEXT NOT NULL DEFAULT (hex(zeroblob(9))))",
         "the table 'writer'"},
        {"ANALYZE", "the table 'sqlite_stat1'"},
    };
    for (size_t i = 0; i < TC_LEN(cases); i++) {
        make_database();
        run_sql(cases[i].sql);
        for (int mode = TC_MEAS_DB_READ; mode <= TC_MEAS_DB_WRITE; mode++) {
            tc_meas_db *db;
            tc_error err = {0};
            assert_int_equal(tc_meas_db_open(path, (tc_meas_db_mode)mode, &db, &err), TC_BAD_INPUT);
            if (!strstr(err.msg, path) || !strstr(err.msg, cases[i].says))
                fail_msg("%s: '%s'", cases[i].sql, err.msg);
        }
        remove_database();
    }
}

/* As the build before admissions made them. */
static void files_of_the_schema_before_are_read(void **state) {
    (void)state;
    static const char before[] =
        "CREATE TABLE workloads(hash TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;"
        "CREATE TABLE targets(hash TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;"
        "CREATE TABLE records(id INTEGER PRIMARY KEY AUTOINCREMENT,"
        " workload TEXT NOT NULL REFERENCES workloads(hash), target TEXT NOT NULL REFERENCES targets(hash), threads INTEGER NOT "
        "NULL,"
        " trace TEXT NOT NULL, trace_hash TEXT NOT NULL, program INTEGER NOT NULL,"
        " error TEXT NOT NULL, signal INTEGER NOT NULL, message TEXT NOT NULL,"
        " median REAL, times BLOB NOT NULL, build_seconds REAL NOT NULL, run_seconds REAL NOT NULL,"
        " verified INTEGER NOT NULL, max_error REAL NOT NULL, stopped_early INTEGER NOT NULL,"
        " when_ms INTEGER NOT NULL, tctune_version TEXT NOT NULL, llvm_version TEXT NOT NULL, host TEXT NOT NULL);"
        "CREATE INDEX records_best ON records(workload, target, threads, verified, median);"
        "CREATE TABLE models(target TEXT NOT NULL, name TEXT NOT NULL, data BLOB NOT NULL, when_ms INTEGER NOT NULL,"
        " PRIMARY KEY(target, name)) WITHOUT ROWID;"
        "ALTER TABLE records ADD COLUMN mode TEXT NOT NULL DEFAULT 'hot';"
        "ALTER TABLE records ADD COLUMN rounds INTEGER NOT NULL DEFAULT 0;"
        "PRAGMA application_id = 1952674926; PRAGMA user_version = 2;"
        "INSERT INTO workloads VALUES('0123456789abcdef0123456789abcde1', 'w');"
        "INSERT INTO targets VALUES('0123456789abcdef0123456789abcde2', 't');"
        "INSERT INTO records VALUES(7, '0123456789abcdef0123456789abcde1', '0123456789abcdef0123456789abcde2', 2, 'x',"
        " '0123456789abcdef0123456789abcde3', 5, 'ok', 0, '', 1.0, x'000000000000f03f', 1, 1, 1, 0, 0, 9, '', "
        "'', '',"
        " 'cold', 3);"
        "INSERT INTO models VALUES('0123456789abcdef0123456789abcde2', 'cost', x'00', 9);";
    run_sql(before);
    for (int mode = TC_MEAS_DB_READ; mode <= TC_MEAS_DB_WRITE; mode++) {
        tc_meas_db *db = open_db(path, (tc_meas_db_mode)mode);
        tc_meas_records r;
        tc_meas_db_stats whole;
        assert_int_equal(tc_meas_db_select(db, arena, &(tc_meas_filter){0}, &r, NULL), TC_OK);
        assert_true(r.len == 1 && r.data[0].id == 7 && r.data[0].median == 1 && r.data[0].mode == TC_MEAS_COLD);
        assert_int_equal(tc_meas_db_stat(db, &whole, NULL), TC_OK);
        assert_int_equal(whole.schema, mode == TC_MEAS_DB_READ ? 2 : 5);
        tc_meas_db_close(db);
    }
}

/* ---- records ---- */

typedef struct heard {
    size_t n;
    const char *last;
} heard;

/* That made-up traces do not apply and made-up targets are none is not what is looked for. */
static void hear(void *user, const char *text) {
    heard *h = user;
    if (strstr(text, "no longer applies") || strncmp(text, "target ", 7) == 0)
        return;
    h->n++;
    h->last = tc_arena_strdup(arena, text);
}

static size_t complaints(tc_meas_db *db, const char **last) {
    heard h = {.last = ""};
    tc_meas_audit x;
    assert_int_equal(tc_meas_db_audit(db, hear, &h, &x, NULL), TC_OK);
    assert_int_equal(x.records, 3);
    *last = h.last;
    return h.n;
}

/* The record that is changed is the fastest; with the change it is met by nothing, and its place is another's. */
static void check_passed_over(const char *change, const char *why) {
    make_database();
    run_sql(tc_arena_printf(arena, "UPDATE records SET %s WHERE id = 1", change));
    tc_meas_db *db = open_db(path, TC_MEAS_DB_CHANGE);
    tc_record like = sample_record(arena, sample_workload(arena, 8), 0, 1), best;
    tc_meas_records r;
    tc_meas_counts n;
    tc_meas_summaries all;
    tc_meas_pruned pruned;
    const char *said = "";
    bool found;
    assert_int_equal(tc_meas_db_best(db, arena, &(tc_meas_key){like.workload_hash, like.target_hash, 2, 0}, &best, &found, NULL),
                     TC_OK);
    if (!found || best.id != 2)
        fail_msg("%s: record %d is the best", change, found ? (int)best.id : -1);
    assert_int_equal(
        tc_meas_db_select(db, arena, &(tc_meas_filter){.order = TC_MEAS_BY_RANK, .limit = 1, .real = true}, &r, NULL), TC_OK);
    assert_true(r.len == 1 && r.data[0].id == 2);
    assert_int_equal(tc_meas_db_count(db, &(tc_meas_filter){0}, &n, NULL), TC_OK);
    assert_int_equal(n.total, 2);
    assert_int_equal(tc_meas_db_summaries(db, arena, &all, NULL), TC_OK);
    assert_true(all.len == 1 && all.data[0].best == 2e-3);
    assert_int_equal(complaints(db, &said), 1);
    if (!strstr(said, "record 1: ") || !strstr(said, why))
        fail_msg("%s: '%s'", change, said);
    tc_meas_db *into;
    tc_error err = {0};
    size_t added, known;
    assert_int_equal(tc_meas_db_open_memory(&into, NULL), TC_OK);
    assert_int_equal(tc_meas_db_merge(into, path, &added, &known, &err), TC_BAD_INPUT);
    if (!strstr(err.msg, "record 1: ") || !strstr(err.msg, why))
        fail_msg("%s: '%s'", change, err.msg);
    assert_int_equal(tc_meas_db_count(into, &(tc_meas_filter){0}, &n, NULL), TC_OK);
    assert_int_equal(n.total, 0);
    assert_int_equal(tc_meas_db_prune(db, &(tc_meas_prune){.keep = 1}, &pruned, NULL), TC_OK);
    assert_int_equal(pruned.records, 2); /* it, and the slower one of the others */
    assert_int_equal(tc_meas_db_merge(into, path, &added, &known, &err), TC_OK);
    assert_int_equal(added, 1);
    tc_meas_db_close(into);
    tc_meas_db_close(db);
    remove_database();
}

static void what_contradicts_itself_is_not_used(void **state) {
    (void)state;
    check_passed_over("median = -1", "its median is -1 s");
    check_passed_over("median = 1e-9", "its median is 1e-09 s");
    check_passed_over("median = -9e999", "its median is -inf s");
    check_passed_over("median = 'fast'", "its median holds a text");
    check_passed_over("median = x'00'", "its median holds a blob");
    check_passed_over("times = x''", "has no times");
    check_passed_over("times = ''", "has no times");
    check_passed_over("times = x'0011'", "its times holds a part of a time");
    check_passed_over("times = x'000000000000f0bf'", "its time number 1 is -1");
    check_passed_over("times = x'0000000000000000'", "its time number 1 is 0");
    check_passed_over("times = x'000000000000f07f'", "its time number 1 is inf");
    check_passed_over("times = x'000000000000f87f', median = NULL", "its time number 1 is nan");
    check_passed_over("error = 'run_crash', verified = 0", "it failed, but has times");
    check_passed_over("error = 'melted', verified = 0", "it failed, but has times");
    check_passed_over("error = 'run_crash', times = '', median = NULL", "it failed, but is verified");
    check_passed_over("mode = 'warm'", "the mode 'warm'");
    check_passed_over("threads = 0", "its threads is 0");
    check_passed_over("threads = 4294967298", "its threads is 4294967298");
    check_passed_over("rounds = -1", "its rounds is -1");
    check_passed_over("rounds = 'many'", "its rounds holds a text");
    check_passed_over("sizes = '17,'", "its sizes are '17,'");
    check_passed_over("sizes = x'00ff'", "its sizes holds a blob");
    check_passed_over("when_ms = -1", "its when_ms is -1");
    check_passed_over("signal = 1e300", "its signal holds a number");
    check_passed_over("max_error = -1", "its max_error is -1");
    check_passed_over("build_seconds = -1", "its build_seconds is -1");
}

/* ---- every column ---- */

/* False: SQLite itself refuses it, which is as well. */
static bool try_sql(const char *sql) {
    sqlite3 *s;
    assert_int_equal(sqlite3_open(path, &s), SQLITE_OK);
    bool done = sqlite3_exec(s, sql, NULL, NULL, NULL) == SQLITE_OK;
    sqlite3_close(s);
    return done;
}

static void count_complaint(void *user, const char *text) {
    int *n = user;
    *n += strstr(text, "edited or damaged") || strstr(text, "does not match the hash");
}

/* What `db verify` finds, but for what traces and targets of these tests are. */
static int found_by_verify(tc_meas_db *db) {
    int n = 0;
    tc_meas_audit x;
    assert_int_equal(tc_meas_db_audit(db, count_complaint, &n, &x, NULL), TC_OK);
    return n;
}

static tc_status merge_into_new(size_t *added, tc_error *err) {
    tc_meas_db *into;
    size_t known;
    assert_int_equal(tc_meas_db_open_memory(&into, NULL), TC_OK);
    tc_status s = tc_meas_db_merge(into, path, added, &known, err);
    tc_meas_db_close(into);
    return s;
}

/* All that asks a database is asked, and says no nonsense. */
static void ask_everything(tc_meas_db *db, const char *sql) {
    tc_meas_records r;
    tc_meas_counts n;
    tc_meas_summaries all;
    tc_meas_db_stats whole;
    tc_meas_near near;
    int64_t number;
    tc_record like = sample_record(arena, sample_workload(arena, 8), 0, 1);
    tc_meas_key key = {like.workload_hash, like.target_hash, 1, 0};
    assert_int_equal(tc_meas_db_stat(db, &whole, NULL), TC_OK);
    assert_int_equal(tc_meas_db_count(db, &(tc_meas_filter){0}, &n, NULL), TC_OK);
    assert_int_equal(tc_meas_db_summaries(db, arena, &all, NULL), TC_OK);
    assert_int_equal(tc_meas_db_nearest(db, arena, &key, like.workload, &near, NULL), TC_OK);
    assert_int_equal(tc_meas_db_last_id(db, &number, NULL), TC_OK);
    assert_true(number >= 0 && number <= TC_MEAS_DB_LAST_ID);
    assert_int_equal(tc_meas_db_next_ms(db, TC_MEAS_HOT, &number, NULL), TC_OK);
    assert_true(number > 0 && number <= TC_MEAS_LAST_MS);
    assert_int_equal(tc_meas_db_select(db, arena, &(tc_meas_filter){.order = TC_MEAS_BY_RANK}, &r, NULL), TC_OK);
    if ((int64_t)r.len != n.total)
        fail_msg("%s: %d records are counted, and %d selected", sql, (int)n.total, (int)r.len);
}

/* A row that is changed is used as it is, or verify finds it and no merge takes a part of the file; then prune mends the file.
 * Whether verify found it. */
static bool check_changed_row(const char *sql) {
    tc_error err = {0};
    tc_meas_pruned pruned;
    size_t added = 0, left = 0;
    make_database();
    tc_meas_db *db = open_db(path, TC_MEAS_DB_WRITE);
    assert_int_equal(tc_meas_db_put_model(db, tc_meas_text_hash("t"), "cost", "trees", 5, NULL), TC_OK);
    tc_meas_db_close(db);
    run_sql("INSERT INTO admissions VALUES('s', 1, 'h', 'b', 5)");
    if (!try_sql(sql)) {
        remove_database();
        return false;
    }
    db = open_db(path, TC_MEAS_DB_CHANGE);
    ask_everything(db, sql);
    bool found = found_by_verify(db) > 0;
    bool merged = merge_into_new(&added, &err) == TC_OK;
    if (merged ? added != 3 : !strstr(err.msg, path))
        fail_msg("%s: %d records merged: %s", sql, (int)added, err.msg);
    if (!merged && strstr(err.msg, "edited or damaged") && !found && !strstr(err.msg, "the hash of"))
        fail_msg("%s: verify does not find '%s'", sql, err.msg);
    if (tc_meas_db_prune(db, &(tc_meas_prune){.drop_failures = true}, &pruned, &err) != TC_OK)
        fail_msg("%s: %s", sql, err.msg);
    if (found_by_verify(db) > 0)
        fail_msg("%s: not mended", sql);
    tc_record r = sample_record(arena, sample_workload(arena, 8), 9, 1);
    if (tc_meas_db_insert(db, &r, 1, &err) != TC_OK || r.id <= 0)
        fail_msg("%s: nothing can be stored after prune: %s", sql, err.msg);
    tc_meas_db_close(db);
    if (merge_into_new(&left, &err) != TC_OK || left + (size_t)pruned.records != 4)
        fail_msg("%s: after prune %d of 4 records merge: %s", sql, (int)left, err.msg);
    remove_database();
    return found;
}

static void every_column_may_hold_anything(void **state) {
    (void)state;
    static const char *const values[] = {
        "x'00ff'", "CAST(x'fffe' AS TEXT)", "'a' || char(0) || 'b'",    "''",  "'9223372036854775807'", "0.5", "-1e300", "9e999",
        "-1",      "9223372036854775807",   "-9223372036854775807 - 1", "NULL"};
    static const char *const places[][2] = {
#define COLUMN(table, name, since, before, type, least, most) {#table, #name},
#include "measure/records/columns.def"
#undef COLUMN
    };
    for (size_t i = 0; i < TC_LEN(places); i++) {
        const char *table = places[i][0], *name = places[i][1], *key = strcmp(table, "records") == 0 ? " WHERE id = 2" : "";
        bool found = strcmp(table, "writer") == 0; /* opened for writing, the file is signed anew */
        for (size_t k = 0; k < TC_LEN(values); k++)
            found |= check_changed_row(tc_arena_printf(arena, "UPDATE %s SET %s = %s%s", table, name, values[k], key));
        if (!found)
            fail_msg("verify finds nothing in %s.%s", table, name);
    }
}

/* A column that no row of the table describes would be read unchecked. */
static void every_column_is_described(void **state) {
    (void)state;
    sqlite3 *s;
    sqlite3_stmt *st;
    size_t n = 0;
    static const char *const places[][2] = {
#define COLUMN(table, name, since, before, type, least, most) {#table, #name},
#include "measure/records/columns.def"
#undef COLUMN
    };
    make_database();
    assert_int_equal(sqlite3_open(path, &s), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(s,
                                        "SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c WHERE"
                                        " t.type = 'table' AND t.name NOT LIKE 'sqlite_%'",
                                        -1, &st, NULL),
                     SQLITE_OK);
    for (; sqlite3_step(st) == SQLITE_ROW; n++) {
        const char *table = (const char *)sqlite3_column_text(st, 0), *name = (const char *)sqlite3_column_text(st, 1);
        size_t i = 0;
        while (i < TC_LEN(places) && (strcmp(places[i][0], table) != 0 || strcmp(places[i][1], name) != 0))
            i++;
        if (i == TC_LEN(places))
            fail_msg("columns.def does not have %s.%s", table, name);
    }
    assert_int_equal(n, TC_LEN(places));
    sqlite3_finalize(st);
    sqlite3_close(s);
}

/* ---- ids ---- */

static void check_ids(const char *sql, bool stores) {
    tc_error err = {0};
    tc_meas_pruned pruned;
    tc_meas_records r;
    size_t added;
    make_database();
    run_sql(sql);
    tc_meas_db *db = open_db(path, TC_MEAS_DB_CHANGE);
    tc_record more = sample_record(arena, sample_workload(arena, 8), 9, 1);
    if (found_by_verify(db) == 0)
        fail_msg("%s: not found", sql);
    if ((tc_meas_db_insert(db, &more, 1, &err) == TC_OK) != stores)
        fail_msg("%s: %s", sql, err.msg);
    if (!stores && (!strstr(err.msg, "no id left") || !strstr(err.msg, "db prune") || strstr(err.msg, "disk")))
        fail_msg("%s: '%s'", sql, err.msg);
    assert_int_equal(tc_meas_db_prune(db, &(tc_meas_prune){.drop_failures = true}, &pruned, NULL), TC_OK);
    assert_int_equal(pruned.records, 0);
    assert_int_equal(found_by_verify(db), 0);
    assert_int_equal(tc_meas_db_insert(db, &more, 1, &err), TC_OK);
    assert_int_equal(tc_meas_db_select(db, arena, &(tc_meas_filter){0}, &r, NULL), TC_OK);
    assert_int_equal(r.len, stores ? 5 : 4);
    for (size_t i = 1; i < r.len; i++)
        assert_true(r.data[i].id > r.data[i - 1].id && r.data[i].id <= TC_MEAS_DB_LAST_ID);
    tc_meas_db_close(db);
    assert_int_equal(merge_into_new(&added, &err), TC_OK);
    assert_int_equal(added, 4);
    remove_database();
}

static void ids_that_nobody_gave_are_mended(void **state) {
    (void)state;
    check_ids("UPDATE records SET id = 9223372036854775807 WHERE id = 3", false);
    check_ids("UPDATE records SET id = 9007199254740992 WHERE id = 3", false);
    check_ids("UPDATE records SET id = 9223372036854775807 - id", false);
    check_ids("UPDATE records SET id = -5 WHERE id = 2", true);
    check_ids("UPDATE records SET id = 0 WHERE id = 2", true);
    check_ids("UPDATE records SET id = -9223372036854775807 - 1 WHERE id = 1", true);
    check_ids("UPDATE records SET id = 9223372036854775807 WHERE id = 3; UPDATE records SET id = -1 WHERE id = 1", false);
    check_ids("UPDATE sqlite_sequence SET seq = 9223372036854775807", false);
    check_ids("UPDATE sqlite_sequence SET seq = 9007199254740992", false);
    check_ids("UPDATE sqlite_sequence SET seq = 'many'", true);
    check_ids("UPDATE sqlite_sequence SET seq = -7", true);
    check_ids("INSERT INTO sqlite_sequence VALUES('more', 1)", true);
    make_database(); /* and are not in the way of a merge without a word */
    run_sql("UPDATE records SET id = -5 WHERE id = 2");
    tc_error err = {0};
    size_t added;
    assert_int_equal(merge_into_new(&added, &err), TC_BAD_INPUT);
    assert_non_null(strstr(err.msg, "record -5: its id is -5"));
}

static void check_not_merged(const char *change, const char *why) {
    make_database();
    run_sql(change);
    tc_meas_db *into;
    tc_error err = {0};
    size_t added, known;
    assert_int_equal(tc_meas_db_open_memory(&into, NULL), TC_OK);
    assert_int_equal(tc_meas_db_merge(into, path, &added, &known, &err), TC_BAD_INPUT);
    if (!strstr(err.msg, path) || !strstr(err.msg, "record ") || !strstr(err.msg, why))
        fail_msg("%s: '%s'", change, err.msg);
    tc_meas_db_close(into);
    remove_database();
}

static void texts_must_be_what_they_are_stored_under(void **state) {
    (void)state;
    check_not_merged("UPDATE records SET trace = trace || ' ' WHERE id = 2", "the hash of trace");
    check_not_merged("UPDATE targets SET text = text || ' -mattr=+none'", "the hash of target");
    check_not_merged("UPDATE workloads SET text = replace(text, '8', '9')", "the hash of workload");
    check_not_merged("UPDATE workloads SET text = 'compute'", "workload:1");
}

/* The same by lines. */
/* These sizes were searched for: with the time and mode of a sample, their unkeyed hash (tc_hash64) is the same. */
static void records_of_one_hash_stay_apart(void **state) {
    (void)state;
    tc_map known = {0};
    tc_record r = sample_record(arena, "w", 0, 1), other = r;
    const int64_t when[2] = {r.when_ms, r.mode};
    r.sizes = "1675372270565,1641271741100";
    other.sizes = "1322627235573,1250017117100";
    uint64_t h = tc_hash64(when, sizeof when, 0);
    assert_true(tc_hash64(r.sizes, strlen(r.sizes), h) == tc_hash64(other.sizes, strlen(other.sizes), h));
    assert_true(tc_meas_known_add(&known, &r));
    assert_true(tc_meas_known_add(&known, &other));
    assert_false(tc_meas_known_add(&known, &other));
    other.trace = "another text of one hash";
    assert_true(tc_meas_known_add(&known, &other));
    tc_map_free(&known);
}

/* A text that was made to have the hash of another one is not taken for it. */
static void texts_of_one_hash_are_refused(void **state) {
    (void)state;
    tc_meas_db *db;
    tc_meas_db_stats stats;
    tc_error err = {0};
    tc_record r = sample_record(arena, "w", 0, 1), workload = sample_record(arena, "v", 1, 1),
              target = sample_record(arena, "w", 2, 1);
    assert_int_equal(tc_meas_db_open_memory(&db, NULL), TC_OK);
    assert_int_equal(tc_meas_db_insert(db, &r, 1, &err), TC_OK);
    assert_int_equal(tc_meas_db_insert(db, &r, 1, &err), TC_OK);
    workload.workload_hash = r.workload_hash;
    assert_int_equal(tc_meas_db_insert(db, &workload, 1, &err), TC_BAD_INPUT);
    assert_non_null(strstr(err.msg, "table workloads has another text"));
    target.target = "another target";
    assert_int_equal(tc_meas_db_insert(db, &target, 1, &err), TC_BAD_INPUT);
    assert_non_null(strstr(err.msg, "table targets has another text"));
    assert_int_equal(tc_meas_db_stat(db, &stats, NULL), TC_OK);
    assert_int_equal(stats.records, 2);
    tc_meas_db_close(db);
}

static void lines_with_another_workload_are_refused(void **state) {
    (void)state;
    const char *file = tc_arena_printf(arena, "%s/log.jsonl", dir);
    tc_strbuf lines = {0};
    for (int i = 0; i < 3; i++) {
        tc_record r = sample_record(arena, sample_workload(arena, 8), i, 1);
        if (i == 2)
            r.workload = sample_workload(arena, 9);
        tc_meas_record_to_json(&r, &lines);
        tc_sb_addc(&lines, '\n');
    }
    assert_int_equal(tc_fs_write(file, lines.data, lines.len, NULL), TC_OK);
    tc_strbuf_free(&lines);
    tc_meas_db *db = open_db(path, TC_MEAS_DB_WRITE);
    tc_error err = {0};
    tc_meas_counts n;
    size_t added;
    assert_int_equal(tc_meas_import(db, file, &added, &err), TC_BAD_INPUT);
    assert_non_null(strstr(err.msg, "log.jsonl:3: the hash of workload does not match its text"));
    assert_int_equal(tc_meas_db_count(db, &(tc_meas_filter){0}, &n, NULL), TC_OK);
    assert_int_equal(n.total, 0);
    tc_meas_db_close(db);
}

/* ---- texts beyond a bound ---- */

#define PRODUCT                                                                                                                  \
    "tensor p0[16, 16] f32\ntensor p1[16, 16] f32 const\ncompute t0[i0:16, i1:16] = sum(k0:16) p0[i0, k0] * p1[k0, i1]\n"        \
    "output t0\n"

/* `text` n times, between `from` and `to`. */
static const char *repeated(const char *from, const char *text, int n, const char *to) {
    tc_strbuf b = {0};
    tc_sb_add(&b, from);
    for (int i = 0; i < n; i++)
        tc_sb_add(&b, text);
    tc_sb_add(&b, to);
    return tc_sb_keep(&b, arena);
}

static const char *many_stages(int n) {
    tc_strbuf b = {0};
    tc_sb_add(&b, "c1 = cache_read p0 t0 global\n");
    for (int k = 2; k < n; k++)
        tc_sb_printf(&b, "c%d = cache_read c%d global\n", k, k - 1);
    return tc_sb_keep(&b, arena);
}

/* Record i; those at odd places are beyond a bound. */
static tc_record record_of(int i) {
    const char *const traces[] = {"transform_layout p1 (x0, x1) -> (x1 / 4, x0, x1 % 4)\n",
                                  repeated("transform_layout p1 (x0, x1) -> (x1 / 4, x0, ", "x1 % 4 + ", 60000, "x1)\n"),
                                  repeated("parallel t0.i0\n#", "((((++++", 1000, "\nunroll t0.k0\n"),
                                  repeated("transform_layout p1 (x0, x1) -> (x1, ", "x0 * x1 + ", 70, "x1)\n"),
                                  many_stages(TC_WORK_SCHEDULE),
                                  many_stages(TC_WORK_SCHEDULE + 1),
                                  "a step of a later version\n",
                                  repeated("transform_layout p1 (x0, x1) -> (x1, ", "(", 70, "x0\n")};
    const char *workload = i == 9 ? repeated("tensor p0[16] f32\ncompute t0[i0:16] = ", "(p0[i0] + ", 300, "1\n") : PRODUCT;
    tc_record r = sample_record(arena, PRODUCT, i, 1);
    tc_meas_record_identify(arena, &r, workload, sample_hash(PRODUCT), "llvm -mcpu=test", i < 8 ? traces[i] : "parallel t0.i0\n");
    return r;
}

/* Those are left out and named, and the others are taken in, by an import and by a merge; and so is what `db verify` would say. */
static void what_is_beyond_a_bound_is_left_out(void **state) {
    (void)state;
    enum { ALL = 10, BEYOND = 5 };
    const char *file = tc_arena_printf(arena, "%s/log.jsonl", dir), *other = tc_arena_printf(arena, "%s/other.db", dir);
    tc_meas_db *db, *from = open_db(other, TC_MEAS_DB_WRITE);
    tc_strbuf lines = {0};
    tc_error err = {0};
    tc_meas_db_stats stats;
    size_t added = 0, known = 0;
    for (int i = 0; i < ALL; i++) {
        tc_record r = record_of(i);
        tc_meas_record_to_json(&r, &lines);
        tc_sb_addc(&lines, '\n');
        if (i != 9) /* a database has no workload that does not parse */
            assert_int_equal(tc_meas_db_insert(from, &r, 1, &err), TC_OK);
        tc_status s = i == 9 ? TC_OK : tc_meas_check_bounds(&r, &err);
        if (s != (i % 2 && i != 9 ? TC_BAD_INPUT : TC_OK))
            fail_msg("record %d: status %d, %s", i, (int)s, err.msg);
    }
    assert_int_equal(tc_fs_write(file, lines.data, lines.len, NULL), TC_OK);
    tc_strbuf_free(&lines);
    assert_int_equal(tc_meas_db_open_memory(&db, NULL), TC_OK);
    assert_int_equal(tc_meas_import(db, file, &added, &err), TC_BAD_INPUT);
    assert_int_equal(err.code, TC_ERROR_BEYOND);
    assert_int_equal(added, ALL - BEYOND);
    if (!strstr(err.msg, "log.jsonl:2: ") || !strstr(err.msg, "longer than 8192") || !strstr(err.msg, "5 (lines 2, 4, 6, 8, 10)"))
        fail_msg("%s", err.msg);
    assert_int_equal(tc_meas_import(db, file, &added, &err), TC_BAD_INPUT);
    assert_int_equal(added, 0);
    tc_meas_db_close(db);
    assert_int_equal(tc_meas_db_open_memory(&db, NULL), TC_OK);
    assert_int_equal(tc_meas_db_merge(db, other, &added, &known, &err), TC_BAD_INPUT);
    assert_int_equal(added, ALL - BEYOND);
    if (!strstr(err.msg, "other.db: record 2: ") || !strstr(err.msg, "4 (records 2, 4, 6, 8)"))
        fail_msg("%s", err.msg);
    assert_int_equal(tc_meas_db_stat(db, &stats, NULL), TC_OK);
    assert_int_equal(stats.records, ALL - BEYOND);
    tc_meas_db_close(db);
    tc_meas_db_close(from);
}

static void hear_of_bounds(void *user, const char *text) {
    uint64_t *records = user;
    int id;
    static const char *const bounds[] = {"longer than 8192", "more than 64 operations", "more than 64 brackets", "1024 stages"};
    for (size_t i = 0; i < TC_LEN(bounds); i++)
        if (strstr(text, bounds[i]) && sscanf(text, "record %d:", &id) == 1)
            *records |= (uint64_t)1 << id;
}

/* Exactly those that a verification finds. */
static void verification_finds_the_same(void **state) {
    (void)state;
    tc_meas_db *db;
    tc_meas_audit audit;
    tc_error err = {0};
    uint64_t found = 0;
    assert_int_equal(tc_meas_db_open_memory(&db, NULL), TC_OK);
    for (int i = 0; i < 9; i++) {
        tc_record r = record_of(i);
        assert_int_equal(tc_meas_db_insert(db, &r, 1, &err), TC_OK);
    }
    assert_int_equal(tc_meas_db_audit(db, hear_of_bounds, &found, &audit, &err), TC_OK);
    assert_int_equal(found, 1 << 2 | 1 << 4 | 1 << 6 | 1 << 8);
    tc_meas_db_close(db);
}

static void ignore_taken(void *user, const char *file, size_t added, size_t known) {
    (void)user, (void)file, (void)added, (void)known;
}

/* A file of nothing else makes no database, and files behind it are taken in. */
static void files_beyond_a_bound_stop_no_others(void **state) {
    (void)state;
    const char *files[] = {tc_arena_printf(arena, "%s/bad.jsonl", dir), tc_arena_printf(arena, "%s/good.jsonl", dir), NULL};
    const char *made = tc_arena_printf(arena, "%s/made.db", dir);
    tc_error err = {0};
    tc_meas_counts n;
    for (int i = 0; i < 2; i++) {
        tc_strbuf line = {0};
        tc_record r = record_of(1 - i);
        tc_meas_record_to_json(&r, &line);
        assert_int_equal(tc_fs_write(files[i], line.data, line.len, NULL), TC_OK);
        tc_strbuf_free(&line);
    }
    assert_int_equal(tc_meas_take_files(made, files, 2, ignore_taken, NULL, &err), TC_BAD_INPUT);
    assert_non_null(strstr(err.msg, "bad.jsonl:1: "));
    assert_false(tc_fs_exists(made));
    tc_meas_db_close(open_db(made, TC_MEAS_DB_WRITE));
    assert_int_equal(tc_meas_take_files(made, files, 2, ignore_taken, NULL, &err), TC_BAD_INPUT);
    assert_non_null(strstr(err.msg, "bad.jsonl:1: "));
    tc_meas_db *db = open_db(made, TC_MEAS_DB_READ);
    assert_int_equal(tc_meas_db_count(db, &(tc_meas_filter){0}, &n, NULL), TC_OK);
    assert_int_equal(n.total, 1);
    tc_meas_db_close(db);
}

/* ---- the file ---- */

static void statements_without_end_are_ended(void **state) {
    (void)state;
    tc_error err = {0};
    make_database();
    tc_meas_db *db = open_db(path, TC_MEAS_DB_READ);
    assert_int_equal(tc_meas_db_exec(db, ENDLESS, "testing", &err), TC_BAD_INPUT);
    assert_non_null(strstr(err.msg, "does not end"));
    assert_int_equal(tc_meas_db_exec(db, "SELECT zeroblob(100000000)", "testing", &err), TC_BAD_INPUT);
    assert_non_null(strstr(err.msg, "64 MiB"));
    assert_int_equal(tc_meas_db_exec(db, "SELECT load_extension('x')", "testing", NULL), TC_ENV);
    tc_meas_counts n; /* and the handle is as good as before */
    assert_int_equal(tc_meas_db_count(db, &(tc_meas_filter){0}, &n, NULL), TC_OK);
    assert_int_equal(n.total, 3);
    tc_meas_db_close(db);
}

static const char *writer(void) {
    sqlite3 *s;
    sqlite3_stmt *st;
    assert_int_equal(sqlite3_open(path, &s), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(s, "SELECT host FROM writer", -1, &st, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(st), SQLITE_ROW);
    const char *host = tc_arena_strdup(arena, (const char *)sqlite3_column_text(st, 0));
    sqlite3_finalize(st);
    sqlite3_close(s);
    return host;
}

static void files_say_who_wrote_them_last(void **state) {
    (void)state;
    tc_seal host;
    assert_true(tc_host_identity(&host));
    make_database();
    assert_string_equal(writer(), host.hex);
    run_sql("UPDATE writer SET host = 'another'");
    tc_meas_db_close(open_db(path, TC_MEAS_DB_READ));
    assert_string_equal(writer(), "another");
    tc_meas_db_close(open_db(path, TC_MEAS_DB_WRITE));
    assert_string_equal(writer(), host.hex);
}

static void check_model(const char *change, bool kept) {
    tc_digest target = tc_meas_text_hash("t");
    const void *data;
    size_t n;
    tc_meas_db *db = open_db(path, TC_MEAS_DB_WRITE);
    assert_int_equal(tc_meas_db_put_model(db, target, "cost", "trees", 5, NULL), TC_OK);
    assert_int_equal(tc_meas_db_put_model(db, target, "other", "leaves", 6, NULL), TC_OK);
    tc_meas_db_close(db);
    run_sql(change);
    db = open_db(path, TC_MEAS_DB_READ);
    assert_int_equal(tc_meas_db_get_model(db, arena, target, "cost", &data, &n, NULL), TC_OK);
    if (kept != (data != NULL))
        fail_msg("%s: the model is %s", change, kept ? "not read" : "read");
    assert_int_equal(n, kept ? 5 : 0);
    tc_meas_db_close(db);
    remove_database();
}

static void models_of_others_are_not_read(void **state) {
    (void)state;
    check_model("SELECT 1", true);
    check_model("UPDATE models SET data = x'7472656573'", true); /* what it is already */
    check_model("UPDATE models SET data = x'7472656574'", false);
    check_model("UPDATE models SET data = 'trees.'", false);
    check_model("UPDATE models SET seal = ''", false);
    check_model("UPDATE models SET seal = (SELECT seal FROM models WHERE name = 'other')", false);
    check_model("DELETE FROM models WHERE name = 'cost'; UPDATE models SET name = 'cost'", false);
}

static tc_status count_all(void *user, const tc_record *r, tc_error *err) {
    (void)err;
    *(size_t *)user += strlen(r->workload) + strlen(r->trace) + r->ntimes;
    return TC_OK;
}

/* Whatever bytes a file has: it is refused, or read to its end. */
static void read_whatever_it_is(void) {
    tc_meas_db *db;
    tc_error err = {0};
    heard h = {.last = ""};
    tc_meas_audit x;
    tc_meas_summaries all;
    size_t n = 0;
    if (tc_meas_db_open(path, TC_MEAS_DB_READ, &db, &err) != TC_OK) {
        assert_non_null(strstr(err.msg, path));
        return;
    }
    tc_status s = tc_meas_db_each(db, &(tc_meas_filter){.order = TC_MEAS_BY_RANK}, count_all, &n, &err);
    if (s == TC_OK)
        s = tc_meas_db_summaries(db, arena, &all, &err);
    if (s == TC_OK)
        s = tc_meas_db_audit(db, hear, &h, &x, &err);
    if (s != TC_OK)
        assert_non_null(strstr(err.msg, path));
    tc_meas_db_close(db);
}

static void any_bytes_are_refused_or_read(void **state) {
    enum { FILES = 200, CHANGES = 12 };
    (void)state;
    const uint64_t seed = 20261122;
    tc_rng rng = tc_rng_seed(seed);
    char *data;
    size_t size;
    make_database();
    assert_int_equal(tc_fs_read(path, &data, &size, NULL), TC_OK);
    char *changed = tc_xmalloc(size);
    for (int i = 0; i < FILES; i++) {
        memcpy(changed, data, size);
        for (int k = (int)tc_rng_below(&rng, CHANGES); k >= 0; k--) { /* half of them in the first bytes of a page: what it is */
            int64_t page = tc_rng_below(&rng, (int64_t)size / 4096), at = tc_rng_below(&rng, k % 2 ? 4096 : 120);
            changed[page * 4096 + at] = (char)tc_rng_below(&rng, 256);
        }
        remove_database();
        size_t length = i % 4 ? size : (size_t)tc_rng_below(&rng, (int64_t)size);
        assert_int_equal(tc_fs_write(path, changed, length, NULL), TC_OK);
        read_whatever_it_is();
    }
    free(changed);
    free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_not_ours_is_refused_by_name, setup_quietly, teardown),
        cmocka_unit_test_setup_teardown(files_of_the_schema_before_are_read, setup_quietly, teardown),
        cmocka_unit_test_setup_teardown(what_contradicts_itself_is_not_used, setup_quietly, teardown),
        cmocka_unit_test_setup_teardown(every_column_may_hold_anything, setup_quietly, teardown),
        cmocka_unit_test_setup_teardown(every_column_is_described, setup_quietly, teardown),
        cmocka_unit_test_setup_teardown(ids_that_nobody_gave_are_mended, setup_quietly, teardown),
        cmocka_unit_test_setup_teardown(texts_must_be_what_they_are_stored_under, setup_quietly, teardown),
        cmocka_unit_test_setup_teardown(records_of_one_hash_stay_apart, setup_quietly, teardown),
        cmocka_unit_test_setup_teardown(texts_of_one_hash_are_refused, setup_quietly, teardown),
        cmocka_unit_test_setup_teardown(files_beyond_a_bound_stop_no_others, setup_quietly, teardown),
        cmocka_unit_test_setup_teardown(verification_finds_the_same, setup_quietly, teardown),
        cmocka_unit_test_setup_teardown(what_is_beyond_a_bound_is_left_out, setup_quietly, teardown),
        cmocka_unit_test_setup_teardown(lines_with_another_workload_are_refused, setup_quietly, teardown),
        cmocka_unit_test_setup_teardown(statements_without_end_are_ended, setup_quietly, teardown),
        cmocka_unit_test_setup_teardown(files_say_who_wrote_them_last, setup_quietly, teardown),
        cmocka_unit_test_setup_teardown(models_of_others_are_not_read, setup_quietly, teardown),
        cmocka_unit_test_setup_teardown(any_bytes_are_refused_or_read, setup_quietly, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
