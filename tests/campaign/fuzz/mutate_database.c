/* Damage to a database by SQL: values of records, and what others could put beside them. */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "mutate.h"
#include "support/vec.h"

enum { WRITE_VERSION = 18, READ_VERSION = 19, ROLLBACK = 1 }; /* bytes of the header: with or without a log beside the file */

static void exec(sqlite3 *db, const char *sql) {
    sqlite3_exec(db, sql, NULL, NULL, NULL);
}

/* What no tctune makes. */
static void add_something(tc_rng *r, sqlite3 *db) {
    static const char *const changes[] = {
        "CREATE VIEW v AS SELECT * FROM records",
        "CREATE TRIGGER t AFTER INSERT ON records BEGIN DELETE FROM records; END",
        "CREATE TABLE more(x)",
        "CREATE INDEX more ON records(trace)",
        "DROP TABLE models",
        "ALTER TABLE records ADD COLUMN more TEXT",
        "INSERT INTO records SELECT NULL, workload, target, threads, trace, trace_hash, program, error, "
        "signal, message, median, times, build_seconds, run_seconds, verified, max_error, "
        "stopped_early, when_ms, tctune_version, llvm_version, host, mode, rounds, sizes FROM records LIMIT 1",
        "DELETE FROM workloads",
        "DELETE FROM targets",
        "UPDATE sqlite_sequence SET seq = 9223372036854775807",
        "PRAGMA user_version = 1",
        "PRAGMA user_version = 2",
        "PRAGMA user_version = 4",
        "PRAGMA application_id = 1",
        "PRAGMA encoding = 'UTF-16'; VACUUM",
        "PRAGMA page_size = 512; VACUUM"};
    exec(db, changes[tc_rng_below(r, TC_LEN(changes))]);
}

/* Another value where there was `now`. */
static void bind_damaged(tc_rng *r, sqlite3_stmt *update, sqlite3_stmt *now) {
    tc_strbuf b = {0};
    switch (tc_rng_below(r, 6)) {
    case 0:
        sqlite3_bind_int64(update, 1, fuzz_number(r));
        break;
    case 1:
        sqlite3_bind_double(update, 1, (double)fuzz_number(r) * (tc_rng_below(r, 2) ? 1e-3 : 1e300));
        break;
    case 2:
        sqlite3_bind_zeroblob(update, 1, (int)tc_rng_below(r, 40));
        break;
    case 3:
        fuzz_damage_bytes(r, sqlite3_column_blob(now, 0), (size_t)sqlite3_column_bytes(now, 0), &b);
        sqlite3_bind_blob(update, 1, tc_sb_str(&b), (int)b.len, SQLITE_TRANSIENT);
        break;
    default:
        fuzz_damage_text(r, (const char *)sqlite3_column_text(now, 0), (size_t)sqlite3_column_bytes(now, 0), &b);
        sqlite3_bind_text(update, 1, tc_sb_str(&b), (int)b.len, SQLITE_TRANSIENT);
        break;
    }
    tc_strbuf_free(&b);
}

static void change_value(tc_rng *r, sqlite3 *db) {
    static const char *const places[][2] = {
        {"records", "workload"}, {"records", "target"},    {"records", "threads"},       {"records", "trace"},
        {"records", "trace"},    {"records", "program"},   {"records", "error"},         {"records", "signal"},
        {"records", "message"},  {"records", "median"},    {"records", "times"},         {"records", "run_seconds"},
        {"records", "verified"}, {"records", "max_error"}, {"records", "stopped_early"}, {"records", "when_ms"},
        {"records", "mode"},     {"records", "rounds"},    {"records", "sizes"},         {"records", "id"},
        {"workloads", "text"},   {"workloads", "hash"},    {"targets", "text"},          {"targets", "hash"},
        {"models", "data"},      {"sqlite_schema", "sql"}};
    const char *const *at = places[tc_rng_below(r, TC_LEN(places))];
    char select[200], update[200];
    sqlite3_stmt *from = NULL, *to = NULL;
    snprintf(select, sizeof select, "SELECT %s FROM %s ORDER BY random() LIMIT 1", at[1], at[0]);
    snprintf(update, sizeof update, "UPDATE %s SET %s = ?1 WHERE %s = ?2", at[0], at[1], at[1]);
    if (sqlite3_prepare_v2(db, select, -1, &from, NULL) == SQLITE_OK && sqlite3_step(from) == SQLITE_ROW &&
        sqlite3_prepare_v2(db, update, -1, &to, NULL) == SQLITE_OK) {
        sqlite3_bind_value(to, 2, sqlite3_column_value(from, 0));
        bind_damaged(r, to, from);
        sqlite3_step(to);
    }
    sqlite3_finalize(from);
    sqlite3_finalize(to);
}

static bool damage_by_sql(tc_rng *r, const char *data, size_t size, tc_strbuf *out) {
    sqlite3 *db = NULL;
    sqlite3_int64 n;
    bool ok = false;
    unsigned char *copy = sqlite3_malloc64(size);
    memcpy(copy, data, size);
    copy[WRITE_VERSION] = copy[READ_VERSION] = ROLLBACK;
    if (sqlite3_open(":memory:", &db) != SQLITE_OK) {
        sqlite3_free(copy);
    } else if (sqlite3_deserialize(db, "main", copy, (sqlite3_int64)size, (sqlite3_int64)size,
                                   SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE) == SQLITE_OK) {
        exec(db, "PRAGMA writable_schema = ON; PRAGMA ignore_check_constraints = ON");
        for (int64_t k = 1 + tc_rng_below(r, 3); k > 0; k--)
            (tc_rng_below(r, 6) ? change_value : add_something)(r, db);
        unsigned char *changed = sqlite3_serialize(db, "main", &n, 0);
        ok = changed && n > READ_VERSION;
        if (ok) {
            changed[WRITE_VERSION] = (unsigned char)data[WRITE_VERSION];
            changed[READ_VERSION] = (unsigned char)data[READ_VERSION];
            tc_sb_addn(out, (const char *)changed, (size_t)n);
        }
        sqlite3_free(changed);
    }
    sqlite3_close(db);
    return ok;
}

void fuzz_damage_database(tc_rng *r, const char *data, size_t size, tc_strbuf *out) {
    enum { SMALLEST = 512 };
    if (size < SMALLEST || tc_rng_below(r, 6) == 0 || !damage_by_sql(r, data, size, out))
        fuzz_damage_bytes(r, data, size, out);
}
