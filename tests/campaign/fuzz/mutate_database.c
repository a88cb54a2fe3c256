/* Damage to a database by SQL: values of records, and what others could put beside them. */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "mutate.h"
#include "rows.h"
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

/* ---- rows ---- */

/* Values that a column of another type, or of another row, could have. */
static void draw_bytes(tc_rng *r, fuzz_row_change *c, char bytes[32]) {
    static const char *const texts[] = {"",      "ok",    "run_crash", "hot", "in-graph", "warm", "8",    "8,9", "17,",
                                        "job-0", "job-3", "records",   "nan", "1e999",    "-1",   "\xff", "1"};
    static const double reals[] = {0, -1, 0.5, 1e300, 1e-320, 1.0 / 0.0, -1.0 / 0.0, 9.3e18, 2.0};
    int64_t number = tc_rng_below(r, 4) ? fuzz_number(r) : (int64_t)(((uint64_t)1 << 53) - 2 + (uint64_t)tc_rng_below(r, 5));
    const char *text = texts[tc_rng_below(r, TC_LEN(texts))];
    c->bytes = bytes;
    switch (c->kind) {
    case FUZZ_ROW_INTEGER:
        c->n = sizeof number;
        memcpy(bytes, &number, sizeof number);
        return;
    case FUZZ_ROW_REAL:
        c->n = sizeof reals[0];
        memcpy(bytes, &reals[tc_rng_below(r, TC_LEN(reals))], sizeof reals[0]);
        return;
    case FUZZ_ROW_NULL:
    case FUZZ_ROW_TEXT:
    case FUZZ_ROW_BLOB:
    case FUZZ_ROW_ADD:
    case FUZZ_ROW_DELETE:
    case FUZZ_ROW_NKINDS:
        c->n = strlen(text);
        memcpy(bytes, text, c->n);
        return;
    }
}

static void add_change(tc_rng *r, tc_strbuf *out) {
    char bytes[32];
    fuzz_row_change c = {.column = (int)tc_rng_below(r, fuzz_ncolumns),
                         .row = (int)tc_rng_below(r, 8),
                         .kind = (fuzz_row_kind)tc_rng_below(r, FUZZ_ROW_NKINDS)};
    draw_bytes(r, &c, bytes);
    fuzz_row_change_write(&c, out);
}

/* Changes are left out, put in, or get other values. */
void fuzz_damage_row(tc_rng *r, const char *data, size_t size, tc_strbuf *out) {
    fuzz_row_change c;
    if (tc_rng_below(r, 8) == 0) {
        fuzz_damage_bytes(r, data, size, out);
        return;
    }
    for (size_t used; (used = fuzz_row_change_read(data, size, &c)) > 0; data += used, size -= used)
        if (tc_rng_below(r, 4))
            tc_sb_addn(out, data, used);
        else if (tc_rng_below(r, 2))
            add_change(r, out);
    if (tc_rng_below(r, 2) || out->len == 0)
        add_change(r, out);
}
