/* Rows: a sound database whose columns get other values. The file stays sound for SQLite, so that everything behind its own checks
 * is reached. An input is a list of changes (rows.h). What must hold: records that are counted are those that queries meet; a merge
 * takes all of them or says which one it refuses; and prune leaves a database that verify finds sound, and that takes records. */
#include "rows.h"

#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/records/database_int.h"
#include "measure/records/exchange.h"
#include "measure/records/maintain.h"
#include "support/system/fs.h"
#include "support/vec.h"
#include "targets.h"
#include "te/text.h"

const fuzz_column fuzz_columns[] = {
#define COLUMN(table, name, since, before, type, least, most) {#table, #name},
#include "measure/records/columns.def"
#undef COLUMN
    {"sqlite_sequence", "name"},
    {"sqlite_sequence", "seq"},
    {"sqlite_sequence", "rowid"},
};
const int fuzz_ncolumns = (int)TC_LEN(fuzz_columns);

/* ---- the sound database ---- */

static tc_record sound_record(tc_arena *a, int i) {
    static const char target[] = "llvm -mtriple=x86_64-pc-linux-gnu -mcpu=x86-64 -mattr=+sse3 -vector-bytes=16";
    tc_ctx *ctx = tc_ctx_new();
    const tc_workload *w;
    tc_record r = tc_meas_record_empty();
    tc_error err = {0};
    const char *text = tc_arena_printf(a, "tensor p0[%d] f32\ncompute t0[i0:%d] = p0[i0] + 1\noutput t0\n", 8 + i % 2, 8 + i % 2);
    if (tc_te_parse(ctx, "sound", text, &w, &err) != TC_OK)
        fuzz_wrong("%s", err.msg);
    tc_meas_record_identify(a, &r, tc_te_text(a, tc_te_canonical(ctx, w)), tc_te_hash(w), target,
                            i % 2 ? "" : "i0_0, i0_1 = split t0.i0 [_, 4]\n");
    tc_ctx_free(ctx);
    double *times = TC_NEW_N(a, double, 3);
    times[0] = 1e-3, times[1] = 1e-3 * (1 + i), times[2] = 2e-3 * (1 + i);
    bool ok = i % 4 != 3;
    r.times = times;
    r.ntimes = ok ? 3 : 0;
    r.median = tc_meas_median(times, r.ntimes);
    r.error = ok ? TC_MEAS_NONE : TC_MEAS_RUN_CRASH;
    r.verified = ok;
    r.program = 5 + (uint64_t)i;
    r.threads = 1 + i % 2;
    r.mode = (tc_meas_mode)(i % TC_MEAS_NMODES);
    r.when_ms = 1700000000000 + i;
    r.message = "because";
    r.job = i % 3 ? "" : tc_arena_printf(a, "job-%d", i);
    r.phase = "evolved";
    r.predicted = i % 2 ? 0.5 : (double)NAN;
    r.tctune_version = "1";
    r.llvm_version = "19";
    r.host = "here";
    return r;
}

static void insert_sound(tc_meas_db *db, int from, int n) {
    tc_arena *a = tc_arena_new();
    tc_error err = {0};
    for (int i = from; i < from + n; i++) {
        tc_record r = sound_record(a, i);
        if (tc_meas_db_insert(db, &r, 1, &err) != TC_OK || r.id <= 0)
            fuzz_wrong("a record is not stored: %s", err.msg);
    }
    tc_arena_free(a);
}

static void exec(sqlite3 *sql, const char *text) {
    sqlite3_exec(sql, text, NULL, NULL, NULL);
}

enum { RECORDS = 6 };

/* Its bytes, which never change. */
static void make_sound(char **data, size_t *size) {
    tc_meas_db *db;
    tc_error err = {0};
    sqlite3_int64 n;
    if (tc_meas_db_open_memory(&db, &err) != TC_OK)
        fuzz_wrong("%s", err.msg);
    insert_sound(db, 0, RECORDS);
    if (tc_meas_db_put_model(db, tc_meas_text_hash("t"), "cost", "trees", 5, &err) != TC_OK)
        fuzz_wrong("%s", err.msg);
    exec(db->sql, "INSERT INTO admissions VALUES('seal', 5, 'host', 'build', 7); INSERT INTO writer VALUES(1, 'host')");
    unsigned char *bytes = sqlite3_serialize(db->sql, "main", &n, 0);
    *size = (size_t)n;
    *data = tc_xmalloc(*size);
    memcpy(*data, bytes, *size);
    sqlite3_free(bytes);
    tc_meas_db_close(db);
}

/* ---- changes ---- */

size_t fuzz_row_change_read(const char *data, size_t size, fuzz_row_change *c) {
    enum { HEAD = 4, NUMBER = 8 };
    if (size < HEAD)
        return 0;
    *c = (fuzz_row_change){.column = (unsigned char)data[0] % fuzz_ncolumns,
                           .row = (unsigned char)data[1],
                           .kind = (fuzz_row_kind)((unsigned char)data[2] % FUZZ_ROW_NKINDS)};
    size_t n = c->kind == FUZZ_ROW_INTEGER || c->kind == FUZZ_ROW_REAL ? NUMBER : (unsigned char)data[3];
    c->n = TC_MIN(n, size - HEAD);
    c->bytes = data + HEAD;
    return HEAD + c->n;
}

void fuzz_row_change_write(const fuzz_row_change *c, tc_strbuf *out) {
    tc_sb_addc(out, (char)c->column);
    tc_sb_addc(out, (char)c->row);
    tc_sb_addc(out, (char)c->kind);
    tc_sb_addc(out, (char)c->n);
    tc_sb_addn(out, c->bytes, c->n);
}

static void bind(sqlite3_stmt *st, const fuzz_row_change *c) {
    int64_t i = 0;
    double d = 0;
    switch (c->kind) {
    case FUZZ_ROW_NULL:
    case FUZZ_ROW_NKINDS:
        sqlite3_bind_null(st, 1);
        return;
    case FUZZ_ROW_INTEGER:
        memcpy(&i, c->bytes, c->n);
        sqlite3_bind_int64(st, 1, i);
        return;
    case FUZZ_ROW_REAL:
        memcpy(&d, c->bytes, c->n);
        sqlite3_bind_double(st, 1, d);
        return;
    case FUZZ_ROW_TEXT:
        sqlite3_bind_text(st, 1, c->n ? c->bytes : "", (int)c->n, SQLITE_STATIC);
        return;
    case FUZZ_ROW_BLOB:
    case FUZZ_ROW_ADD:
    case FUZZ_ROW_DELETE:
        sqlite3_bind_blob(st, 1, c->n ? c->bytes : "", (int)c->n, SQLITE_STATIC);
        return;
    }
}

/* Rows are told apart by the first column of their table. */
static void change(sqlite3 *sql, const fuzz_row_change *c) {
    const fuzz_column *at = &fuzz_columns[c->column];
    const char *key = "rowid";
    for (int i = fuzz_ncolumns - 1; i >= 0; i--)
        if (strcmp(fuzz_columns[i].table, at->table) == 0 && strcmp(at->table, "sqlite_sequence") != 0)
            key = fuzz_columns[i].name;
    char text[400];
    int row = c->row % RECORDS;
    if (c->kind == FUZZ_ROW_DELETE)
        snprintf(text, sizeof text, "DELETE FROM %s WHERE %s IN (SELECT %s FROM %s LIMIT 1 OFFSET %d)", at->table, key, key,
                 at->table, row);
    else if (c->kind == FUZZ_ROW_ADD)
        snprintf(text, sizeof text, "INSERT OR IGNORE INTO %s(%s) VALUES(CAST(?1 AS TEXT))", at->table, at->name);
    else
        snprintf(text, sizeof text, "UPDATE OR IGNORE %s SET %s = ?1 WHERE %s IN (SELECT %s FROM %s LIMIT 1 OFFSET %d)",
                 at->table, at->name, key, key, at->table, row);
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(sql, text, -1, &st, NULL) == SQLITE_OK) {
        if (sqlite3_bind_parameter_count(st) > 0)
            bind(st, c);
        sqlite3_step(st);
    }
    sqlite3_finalize(st);
}

/* NOT NULL and CHECK are taken away meanwhile: a file can hold what they forbid. */
static unsigned char *changed(const char *sound, size_t size, const char *data, size_t left, size_t *n) {
    enum { MOST = 16 };
    sqlite3 *sql = NULL;
    sqlite3_int64 bytes = 0;
    unsigned char *copy = sqlite3_malloc64(size), *out = NULL;
    fuzz_row_change c;
    memcpy(copy, sound, size);
    if (sqlite3_open(":memory:", &sql) == SQLITE_OK &&
        sqlite3_deserialize(sql, "main", copy, (sqlite3_int64)size, (sqlite3_int64)size,
                            SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE) == SQLITE_OK) {
        exec(sql,
             "PRAGMA writable_schema = ON; CREATE TEMP TABLE kept AS SELECT name, sql FROM sqlite_schema;"
             "UPDATE sqlite_schema SET sql = replace(replace(sql, ' NOT NULL', ''), ' CHECK(only = 1)', '') WHERE type = 'table';"
             "PRAGMA writable_schema = RESET; PRAGMA writable_schema = ON");
        for (size_t i = 0, used; i < MOST && (used = fuzz_row_change_read(data, left, &c)) > 0; i++, data += used, left -= used)
            change(sql, &c);
        exec(sql, "UPDATE sqlite_schema AS s SET sql = (SELECT k.sql FROM temp.kept k WHERE k.name = s.name)");
        out = sqlite3_serialize(sql, "main", &bytes, 0);
    }
    sqlite3_close(sql);
    *n = (size_t)bytes;
    return out;
}

/* ---- what must hold ---- */

static void count_complaint(void *user, const char *text) {
    int *n = user;
    *n += strstr(text, "edited or damaged") || strstr(text, "does not match the hash");
}

static void check_counts(tc_meas_db *db, tc_arena *a) {
    tc_meas_counts n;
    tc_meas_records r;
    tc_error err = {0};
    if (fuzz_good(tc_meas_db_count(db, &(tc_meas_filter){0}, &n, &err), &err) &&
        fuzz_good(tc_meas_db_select(db, a, &(tc_meas_filter){0}, &r, &err), &err) && n.total != (int64_t)r.len)
        fuzz_wrong("%lld records are counted, %zu are met", (long long)n.total, r.len);
}

/* A merge takes all records, or says which row it refuses. */
static bool merges(const char *path, int64_t records, tc_arena *a) {
    int64_t met = fuzz_merge_database(path, a);
    if (met >= 0 && met != records)
        fuzz_wrong("the file has %lld records, %lld were merged", (long long)records, (long long)met);
    return met >= 0;
}

/* As lines, too. */
static void check_lines(tc_meas_db *db, const char *file) {
    tc_meas_db *into;
    tc_error err = {0};
    size_t n, added;
    if (tc_meas_export(db, &(tc_meas_filter){0}, file, &n, &err) != TC_OK || tc_meas_db_open_memory(&into, &err) != TC_OK)
        fuzz_wrong("%s", err.msg);
    if (tc_meas_import(into, file, &added, &err) != TC_OK || added > n)
        fuzz_wrong("%zu of %zu lines are imported: %s", added, n, err.msg);
    tc_meas_db_close(into);
}

/* What was mended takes records, and all of them go through lines and through a merge. */
static void check_use(tc_meas_db *db, const char *path, const char *lines, tc_arena *a) {
    tc_meas_db_stats whole;
    tc_error err = {0};
    insert_sound(db, RECORDS, 3);
    check_lines(db, lines);
    if (tc_meas_db_stat(db, &whole, &err) != TC_OK)
        fuzz_wrong("%s", err.msg);
    if (!merges(path, whole.records, a))
        fuzz_wrong("what prune leaves is not merged");
}

static void check_mended(const char *path, const char *lines, tc_rng *chance, tc_arena *a) {
    enum { ONE_IN = 4 }; /* databases that are opened or made take most of the time */
    tc_meas_db *db;
    tc_meas_pruned gone;
    tc_meas_audit audit;
    tc_error err = {0};
    int n = 0;
    if (!fuzz_good(tc_meas_db_open(path, TC_MEAS_DB_CHANGE, &db, &err), &err))
        return;
    tc_meas_prune keep = {.keep = tc_rng_below(chance, 2) ? 1 : 100, .drop_failures = true};
    if (tc_meas_db_prune(db, &keep, &gone, &err) != TC_OK)
        fuzz_wrong("prune fails: %s", err.msg);
    if (tc_meas_db_audit(db, count_complaint, &n, &audit, &err) != TC_OK || n > 0)
        fuzz_wrong("prune does not mend it: %d complaints %s", n, err.msg);
    if (tc_rng_below(chance, ONE_IN) == 0)
        check_use(db, path, lines, a);
    tc_meas_db_close(db);
}

static void check_file(const char *path, const char *lines, tc_rng *chance, tc_arena *a) {
    tc_meas_db *db;
    tc_meas_db_stats whole;
    tc_error err = {0};
    if (!fuzz_good(tc_meas_db_open(path, TC_MEAS_DB_READ, &db, &err), &err)) {
        if (!strstr(err.msg, " value in ") && !strstr(err.msg, "CHECK constraint")) /* what SQLite's own check finds */
            fuzz_wrong("the file is not sound: %s", err.msg);
        return;
    }
    fuzz_query_database(db, a);
    check_counts(db, a);
    bool sized = fuzz_good(tc_meas_db_stat(db, &whole, &err), &err);
    tc_meas_db_close(db);
    if (sized)
        (void)merges(path, whole.records, a);
    check_mended(path, lines, chance, a);
}

void fuzz_read_row(const char *data, size_t size) {
    static char *sound;
    static size_t nsound;
    tc_rng chance = fuzz_chance(data, size);
    tc_error err = {0};
    char *dir = NULL;
    size_t n;
    if (!sound)
        make_sound(&sound, &nsound);
    unsigned char *file = changed(sound, nsound, data, size, &n);
    if (!file || tc_fs_temp_dir(&dir, &err) != TC_OK)
        fuzz_wrong("there is no database: %s", err.msg);
    tc_arena *a = tc_arena_new();
    const char *path = tc_arena_printf(a, "%s/t.db", dir);
    if (tc_fs_write_scratch(path, file, n, &err) != TC_OK)
        fuzz_wrong("%s", err.msg);
    check_file(path, tc_arena_printf(a, "%s/t.json", dir), &chance, a);
    sqlite3_free(file);
    tc_fs_remove_tree(dir);
    tc_arena_free(a);
    free(dir);
}
