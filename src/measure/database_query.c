/* Records in and out of the database. One column list serves insert and select. */
#include <ctype.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "measure/database_int.h"
#include "support/vec.h"

/* ---- writing ---- */

static void bind_text(sqlite3_stmt *st, int i, const char *s) {
    sqlite3_bind_text(st, i, s, -1, SQLITE_STATIC);
}

/* SQLite stores NaN as NULL and cannot compare it: deviations that are no number count as the largest. */
static double bounded(double v) {
    return isfinite(v) ? v : DBL_MAX;
}

static tc_status insert_text(tc_meas_db *db, sqlite3_stmt *st, tc_digest hash, const char *text, tc_error *err) {
    bind_text(st, 1, hash.hex);
    bind_text(st, 2, text);
    return tc_meas_db_run(db, st, "storing a workload", err);
}

static void bind_record(sqlite3_stmt *st, const tc_record *r) {
    int i = 1;
    bind_text(st, i++, r->workload_hash.hex);
    bind_text(st, i++, r->target_hash.hex);
    sqlite3_bind_int(st, i++, r->threads);
    bind_text(st, i++, r->trace);
    bind_text(st, i++, r->trace_hash.hex);
    sqlite3_bind_int64(st, i++, (sqlite3_int64)r->program);
    bind_text(st, i++, tc_meas_error_text(r->error));
    sqlite3_bind_int(st, i++, r->signal);
    bind_text(st, i++, r->message);
    if (isfinite(r->median))
        sqlite3_bind_double(st, i++, r->median);
    else
        sqlite3_bind_null(st, i++);
    sqlite3_bind_blob(st, i++, r->ntimes ? (const void *)r->times : "", (int)(r->ntimes * sizeof *r->times), SQLITE_STATIC);
    sqlite3_bind_double(st, i++, r->build_seconds);
    sqlite3_bind_double(st, i++, r->run_seconds);
    sqlite3_bind_int(st, i++, r->verified);
    sqlite3_bind_double(st, i++, bounded(r->max_error));
    sqlite3_bind_int(st, i++, r->stopped_early);
    sqlite3_bind_int64(st, i++, r->when_ms);
    bind_text(st, i++, r->tctune_version);
    bind_text(st, i++, r->llvm_version);
    bind_text(st, i++, r->host);
    bind_text(st, i++, tc_meas_mode_text(r->mode));
    sqlite3_bind_int(st, i++, r->rounds);
}

tc_status tc_meas_db_inserts_new(tc_meas_db *db, tc_meas_inserts *q, tc_error *err) {
    *q = (tc_meas_inserts){0};
    TC_TRY(tc_meas_db_prepare(db, "INSERT OR IGNORE INTO workloads(hash, text) VALUES(?, ?)", &q->workload, err));
    TC_TRY(tc_meas_db_prepare(db, "INSERT OR IGNORE INTO targets(hash, text) VALUES(?, ?)", &q->target, err));
    return tc_meas_db_prepare(
        db,
        "INSERT INTO records(workload, target, threads, trace, trace_hash, program, error, signal, message, median, times,"
        " build_seconds, run_seconds, verified, max_error, stopped_early, when_ms, tctune_version, llvm_version, host, mode,"
        " rounds) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        &q->record, err);
}

void tc_meas_db_inserts_free(tc_meas_inserts *q) {
    sqlite3_finalize(q->workload);
    sqlite3_finalize(q->target);
    sqlite3_finalize(q->record);
}

tc_status tc_meas_db_insert_one(tc_meas_db *db, const tc_meas_inserts *q, const tc_record *r, int64_t *id, tc_error *err) {
    *id = 0;
    if (r->error == TC_MEAS_INTERRUPTED)
        return TC_OK;
    TC_TRY(insert_text(db, q->workload, r->workload_hash, r->workload, err));
    TC_TRY(insert_text(db, q->target, r->target_hash, r->target, err));
    bind_record(q->record, r);
    TC_TRY(tc_meas_db_run(db, q->record, "storing records", err));
    *id = sqlite3_last_insert_rowid(db->sql);
    return TC_OK;
}

static tc_status insert_all(tc_meas_db *db, const tc_meas_inserts *q, const tc_record *records, size_t n, int64_t *ids,
                            tc_error *err) {
    for (size_t i = 0; i < n; i++)
        TC_TRY(tc_meas_db_insert_one(db, q, &records[i], &ids[i], err));
    return TC_OK;
}

tc_status tc_meas_db_insert(tc_meas_db *db, tc_record *records, size_t n, tc_error *err) {
    tc_meas_inserts q;
    int64_t *ids = tc_xcalloc(n ? n : 1, sizeof *ids);
    tc_status s = tc_meas_db_inserts_new(db, &q, err);
    if (s == TC_OK && (s = tc_meas_db_begin(db, err)) == TC_OK)
        s = tc_meas_db_end(db, insert_all(db, &q, records, n, ids, err), err);
    tc_meas_db_inserts_free(&q);
    for (size_t i = 0; s == TC_OK && i < n; i++)
        records[i].id = ids[i];
    free(ids);
    return s;
}

tc_status tc_meas_db_set_verified(tc_meas_db *db, int64_t id, bool verified, double max_error, tc_error *err) {
    sqlite3_stmt *st;
    TC_TRY(
        tc_meas_db_prepare(db,
                           "UPDATE records SET verified = ?1, max_error = ?2 WHERE id = ?3 OR (NOT ?1 AND mode = 'in-graph' AND"
                           " (workload, target, threads, trace_hash) ="
                           " (SELECT workload, target, threads, trace_hash FROM records WHERE id = ?3))",
                           &st, err));
    sqlite3_bind_int(st, 1, verified);
    sqlite3_bind_double(st, 2, bounded(max_error));
    sqlite3_bind_int64(st, 3, id);
    tc_status s = tc_meas_db_run(db, st, "marking a record as verified", err);
    sqlite3_finalize(st);
    return s;
}

tc_status tc_meas_db_disqualify(tc_meas_db *db, int64_t id, const tc_record *why, tc_error *err) {
    sqlite3_stmt *st;
    TC_TRY(tc_meas_db_prepare(db,
                              "UPDATE records SET verified = 0, median = NULL, times = '', error = ?1, signal = ?2, message = ?3,"
                              " max_error = ?4 WHERE id = ?5 OR (error = 'ok' AND program != 0 AND (workload, target, threads,"
                              " program) = (SELECT workload, target, threads, program FROM records WHERE id = ?5))",
                              &st, err));
    bind_text(st, 1, tc_meas_error_text(why->error));
    sqlite3_bind_int(st, 2, why->signal);
    bind_text(st, 3, why->message);
    sqlite3_bind_double(st, 4, bounded(why->max_error));
    sqlite3_bind_int64(st, 5, id);
    tc_status s = tc_meas_db_run(db, st, "storing a failure", err);
    sqlite3_finalize(st);
    return s;
}

tc_status tc_meas_db_retime(tc_meas_db *db, const tc_record *r, tc_error *err) {
    sqlite3_stmt *st;
    TC_TRY(
        tc_meas_db_prepare(db, "UPDATE records SET times = ?, median = ?, rounds = ?, stopped_early = 0 WHERE id = ?", &st, err));
    sqlite3_bind_blob(st, 1, r->ntimes ? (const void *)r->times : "", (int)(r->ntimes * sizeof *r->times), SQLITE_STATIC);
    sqlite3_bind_double(st, 2, r->median);
    sqlite3_bind_int(st, 3, r->rounds);
    sqlite3_bind_int64(st, 4, r->id);
    tc_status s = tc_meas_db_run(db, st, "storing a time", err);
    sqlite3_finalize(st);
    return s;
}

/* ---- reading ---- */

static const char SELECT_RECORD[] = "SELECT r.id, w.text, t.text, r.workload, r.target, r.threads, r.trace, r.trace_hash, "
                                    "r.program, r.error, r.signal, r.message, r.median,"
                                    " r.times, r.build_seconds, r.run_seconds, %s, r.max_error, r.stopped_early, "
                                    "r.when_ms, r.tctune_version, r.llvm_version, r.host, %s, %s"
                                    " FROM records r JOIN workloads w ON w.hash = r.workload JOIN targets t ON t.hash = r.target";

static const char *text_of(tc_arena *a, sqlite3_stmt *st, int i) {
    const char *s = (const char *)sqlite3_column_text(st, i);
    return tc_arena_strdup(a, s ? s : "");
}

static tc_digest digest_of(sqlite3_stmt *st, int i) {
    tc_digest d = {0};
    const char *s = (const char *)sqlite3_column_text(st, i);
    if (s)
        memcpy(d.hex, s, strnlen(s, sizeof d.hex - 1));
    return d;
}

static tc_record read_record(tc_arena *a, sqlite3_stmt *st) {
    tc_record r = tc_meas_record_empty();
    int i = 0;
    r.id = sqlite3_column_int64(st, i++);
    r.workload = text_of(a, st, i++);
    r.target = text_of(a, st, i++);
    r.workload_hash = digest_of(st, i++);
    r.target_hash = digest_of(st, i++);
    r.threads = sqlite3_column_int(st, i++);
    r.trace = text_of(a, st, i++);
    r.trace_hash = digest_of(st, i++);
    r.program = (uint64_t)sqlite3_column_int64(st, i++);
    if (!tc_meas_error_parse(text_of(a, st, i++), &r.error))
        r.error = TC_MEAS_RUN_FAILED; /* a kind that a newer version added: a failure all the same */
    r.signal = sqlite3_column_int(st, i++);
    r.message = text_of(a, st, i++);
    r.median = sqlite3_column_type(st, i) == SQLITE_NULL ? INFINITY : sqlite3_column_double(st, i);
    i++;
    const void *blob = sqlite3_column_blob(st, i);
    r.ntimes = (size_t)sqlite3_column_bytes(st, i++) / sizeof *r.times;
    r.times = tc_arena_dup(a, blob, r.ntimes * sizeof *r.times);
    r.build_seconds = sqlite3_column_double(st, i++);
    r.run_seconds = sqlite3_column_double(st, i++);
    r.verified = sqlite3_column_int(st, i++) != 0;
    r.max_error = sqlite3_column_double(st, i++);
    r.stopped_early = sqlite3_column_int(st, i++) != 0;
    r.when_ms = sqlite3_column_int64(st, i++);
    r.tctune_version = text_of(a, st, i++);
    r.llvm_version = text_of(a, st, i++);
    r.host = text_of(a, st, i++);
    if (!tc_meas_mode_parse(text_of(a, st, i++), &r.mode))
        r.mode = TC_MEAS_SIMULATED; /* a mode that a newer version added: comparable with none of ours */
    r.rounds = sqlite3_column_int(st, i++);
    return r;
}

/* Whether a record counts as verified: its own result was right, and no other record of the same program, taken in another way or
 * by another session, says that the program went wrong, crashed or hung. One failure is enough: what fails only sometimes was
 * merely lucky here. The inner query is evaluated once, not per record. */
static void verified_text(tc_strbuf *b, const tc_meas_filter *f) {
    tc_sb_printf(b,
                 "(r.verified AND (r.workload, r.target, r.threads, r.program) NOT IN (SELECT workload, target, threads, program"
                 " FROM records WHERE %sprogram != 0 AND " TC_MEAS_UNRELIABLE "))",
                 f->workload_hash ? "workload = :workload AND " : "");
}

/* " WHERE ..." of a filter; the parameters are bound by name, those that the text does not mention are skipped. */
static void filter_text(const tc_meas_db *db, tc_strbuf *b, const tc_meas_filter *f) {
    tc_sb_add(b, " WHERE r.id > :after");
    if (f->workload_hash)
        tc_sb_add(b, " AND r.workload = :workload");
    if (f->target_hash)
        tc_sb_add(b, " AND r.target = :target");
    if (f->threads > 0)
        tc_sb_add(b, " AND r.threads = :threads");
    if (f->mode)
        tc_sb_printf(b, " AND %s = :mode", tc_meas_db_mode_column(db));
    if (f->real)
        tc_sb_printf(b, " AND %s IN ('hot', 'cold')", tc_meas_db_mode_column(db));
    if (f->ok || f->verified)
        tc_sb_add(b, " AND r.error = 'ok' AND r.median IS NOT NULL");
    if (f->verified) {
        tc_sb_add(b, " AND r.verified = 1 AND ");
        verified_text(b, f);
    }
}

static void filter_bind(sqlite3_stmt *st, const tc_meas_filter *f) {
    int i;
    sqlite3_bind_int64(st, sqlite3_bind_parameter_index(st, ":after"), f->after_id);
    if ((i = sqlite3_bind_parameter_index(st, ":workload")) > 0)
        bind_text(st, i, f->workload_hash);
    if ((i = sqlite3_bind_parameter_index(st, ":target")) > 0)
        bind_text(st, i, f->target_hash);
    if ((i = sqlite3_bind_parameter_index(st, ":mode")) > 0)
        bind_text(st, i, f->mode);
    if ((i = sqlite3_bind_parameter_index(st, ":threads")) > 0)
        sqlite3_bind_int(st, i, f->threads);
}

static void order_text(const tc_meas_db *db, tc_strbuf *b, const tc_meas_filter *f) {
    switch (f->order) {
    case TC_MEAS_BY_ID:
        tc_sb_add(b, " ORDER BY r.id");
        break;
    case TC_MEAS_BY_MEDIAN:
        tc_sb_add(b, " ORDER BY r.median IS NULL, r.median, r.id");
        break;
    case TC_MEAS_BY_RANK: /* tc_record_rank */
        tc_sb_printf(b, " ORDER BY %s != 'cold', r.median IS NULL, r.median * CASE WHEN %s > 0 THEN 1 ELSE %.17g END, r.id",
                     tc_meas_db_mode_column(db), tc_meas_db_rounds_column(db), TC_MEAS_DOUBT);
        break;
    }
}

static tc_status select_records(tc_meas_db *db, const tc_meas_filter *f, sqlite3_stmt **st, tc_error *err) {
    tc_strbuf b = {0}, verified = {0};
    verified_text(&verified, f);
    tc_sb_printf(&b, SELECT_RECORD, f->verified ? "r.verified" : tc_sb_str(&verified), tc_meas_db_mode_column(db),
                 tc_meas_db_rounds_column(db));
    tc_strbuf_free(&verified);
    filter_text(db, &b, f);
    order_text(db, &b, f);
    if (f->limit > 0)
        tc_sb_printf(&b, " LIMIT %zu", f->limit);
    tc_status s = tc_meas_db_prepare(db, tc_sb_str(&b), st, err);
    if (s == TC_OK)
        filter_bind(*st, f);
    tc_strbuf_free(&b);
    return s;
}

tc_status tc_meas_db_select(tc_meas_db *db, tc_arena *a, const tc_meas_filter *f, tc_meas_records *out, tc_error *err) {
    TC_VEC(tc_record) v = {0};
    sqlite3_stmt *st;
    int code;
    TC_TRY(select_records(db, f, &st, err));
    while ((code = sqlite3_step(st)) == SQLITE_ROW)
        tc_push(&v, read_record(a, st));
    tc_status s = code == SQLITE_DONE ? TC_OK : tc_meas_db_fail(db, "reading records", err);
    sqlite3_finalize(st);
    out->len = s == TC_OK ? v.len : 0;
    out->data = tc_arena_dup(a, v.data, out->len * sizeof *v.data);
    tc_vec_free(&v);
    return s;
}

tc_status tc_meas_db_each(tc_meas_db *db, const tc_meas_filter *f, tc_meas_visit *fn, void *user, tc_error *err) {
    sqlite3_stmt *st;
    int code = SQLITE_DONE;
    tc_status s = TC_OK;
    TC_TRY(select_records(db, f, &st, err));
    tc_arena *a = tc_arena_new();
    while (s == TC_OK && (code = sqlite3_step(st)) == SQLITE_ROW) {
        tc_record r = read_record(a, st);
        s = fn(user, &r, err);
        tc_arena_reset(a);
    }
    if (s == TC_OK && code != SQLITE_DONE)
        s = tc_meas_db_fail(db, "reading records", err);
    sqlite3_finalize(st);
    tc_arena_free(a);
    return s;
}

static tc_status first(tc_meas_db *db, tc_arena *a, tc_meas_filter f, tc_record *out, bool *found, tc_error *err) {
    tc_meas_records r;
    f.limit = 1;
    TC_TRY(tc_meas_db_select(db, a, &f, &r, err));
    *found = r.len > 0;
    if (*found)
        *out = r.data[0];
    return TC_OK;
}

tc_status tc_meas_db_count(tc_meas_db *db, const tc_meas_filter *f, tc_meas_counts *out, tc_error *err) {
    sqlite3_stmt *st;
    int code;
    tc_strbuf b = {0};
    *out = (tc_meas_counts){0};
    tc_sb_add(&b, "SELECT r.error, count(*), sum(");
    verified_text(&b, f);
    tc_sb_add(&b, ") FROM records r");
    filter_text(db, &b, f);
    tc_sb_add(&b, " GROUP BY r.error");
    tc_status s = tc_meas_db_prepare(db, tc_sb_str(&b), &st, err);
    tc_strbuf_free(&b);
    TC_TRY(s);
    filter_bind(st, f);
    while ((code = sqlite3_step(st)) == SQLITE_ROW) {
        tc_meas_error e;
        if (!tc_meas_error_parse((const char *)sqlite3_column_text(st, 0), &e))
            e = TC_MEAS_RUN_FAILED;
        out->by_error[e] += sqlite3_column_int64(st, 1);
        out->total += sqlite3_column_int64(st, 1);
        out->verified += sqlite3_column_int64(st, 2);
    }
    s = code == SQLITE_DONE ? TC_OK : tc_meas_db_fail(db, "counting records", err);
    sqlite3_finalize(st);
    return s;
}

/* ---- the nearest record on a miss ---- */

/* Texts that differ in numbers only are workloads of one structure with other extents. */
static bool same_structure(const char *a, const char *b) {
    while (*a && *b) {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            while (isdigit((unsigned char)*a))
                a++;
            while (isdigit((unsigned char)*b))
                b++;
        } else if (*a++ != *b++) {
            return false;
        }
    }
    return *a == *b;
}

/* "shape: recorded `LINE`, asked for `LINE`" with the first lines that differ. */
static const char *shape_difference(tc_arena *a, const char *recorded, const char *asked) {
    size_t i = 0, line = 0;
    for (; recorded[i] && recorded[i] == asked[i]; i++)
        if (recorded[i] == '\n')
            line = i + 1;
    return tc_arena_printf(a, "shape: recorded `%.*s`, asked for `%.*s`", (int)strcspn(recorded + line, "\n"), recorded + line,
                           (int)strcspn(asked + line, "\n"), asked + line);
}

/* A workload of the same structure that has a valid record; NULL hash text when there is none. */
static tc_status similar_workload(tc_meas_db *db, tc_arena *a, const char *text, tc_digest *hash, const char **found,
                                  tc_error *err) {
    sqlite3_stmt *st;
    int code;
    *found = NULL;
    const char *sql = tc_arena_printf(a,
                                      "SELECT hash, text FROM workloads w WHERE EXISTS(SELECT 1 FROM records r"
                                      " WHERE r.workload = w.hash AND r.error = 'ok' AND r.median IS NOT NULL"
                                      " AND %s IN ('hot', 'cold'))",
                                      tc_meas_db_mode_column(db));
    TC_TRY(tc_meas_db_prepare(db, sql, &st, err));
    while ((code = sqlite3_step(st)) == SQLITE_ROW && !*found) {
        const char *candidate = (const char *)sqlite3_column_text(st, 1);
        if (!candidate || !same_structure(candidate, text))
            continue;
        *hash = digest_of(st, 0);
        *found = tc_arena_strdup(a, candidate);
    }
    tc_status s = code == SQLITE_DONE || code == SQLITE_ROW ? TC_OK : tc_meas_db_fail(db, "reading workloads", err);
    sqlite3_finalize(st);
    return s;
}

/* Relaxes one condition after the other until a record of the same workload matches. */
static tc_status nearest_same_workload(tc_meas_db *db, tc_arena *a, const tc_meas_key *key, tc_meas_near *out, tc_error *err) {
    tc_meas_filter f = {.workload_hash = key->workload.hex,
                        .target_hash = key->target.hex,
                        .order = TC_MEAS_BY_RANK,
                        .verified = true,
                        .real = true};
    tc_record *r = &out->record;
    TC_TRY(first(db, a, f, r, &out->found, err));
    if (out->found) {
        out->why = tc_arena_printf(a, "threads: recorded with %d, asked for %d", r->threads, key->threads);
        return TC_OK;
    }
    f.verified = false, f.ok = true;
    TC_TRY(first(db, a, f, r, &out->found, err));
    if (out->found) {
        out->why = "verified: it was measured, but its result was never checked";
        return TC_OK;
    }
    f.target_hash = NULL;
    TC_TRY(first(db, a, f, r, &out->found, err));
    if (out->found) {
        out->why = tc_arena_printf(a, "target: recorded for `%.200s`", r->target);
        return TC_OK;
    }
    f.ok = false, f.order = TC_MEAS_BY_ID;
    TC_TRY(first(db, a, f, r, &out->found, err));
    if (out->found)
        out->why = tc_arena_printf(a, "error: no candidate of it could be measured; the first: %s: %s",
                                   tc_meas_error_text(r->error), r->message);
    return TC_OK;
}

tc_status tc_meas_db_nearest(tc_meas_db *db, tc_arena *a, const tc_meas_key *key, const char *workload_text, tc_meas_near *out,
                             tc_error *err) {
    *out = (tc_meas_near){.why = "workload: never measured, nor one of the same structure with other extents"};
    TC_TRY(nearest_same_workload(db, a, key, out, err));
    if (out->found)
        return TC_OK;
    tc_digest similar;
    const char *text;
    TC_TRY(similar_workload(db, a, workload_text, &similar, &text, err));
    if (!text)
        return TC_OK;
    out->why = shape_difference(a, text, workload_text);
    return first(db, a, (tc_meas_filter){.workload_hash = similar.hex, .ok = true, .real = true, .order = TC_MEAS_BY_RANK},
                 &out->record, &out->found, err);
}

/* ---- workloads and models ---- */

tc_status tc_meas_db_workload(tc_meas_db *db, tc_arena *a, tc_digest hash, const char **text, tc_error *err) {
    sqlite3_stmt *st;
    TC_TRY(tc_meas_db_prepare(db, "SELECT text FROM workloads WHERE hash = ?", &st, err));
    bind_text(st, 1, hash.hex);
    int code = sqlite3_step(st);
    *text = code == SQLITE_ROW ? text_of(a, st, 0) : NULL;
    tc_status s = code == SQLITE_ROW || code == SQLITE_DONE ? TC_OK : tc_meas_db_fail(db, "reading a workload", err);
    sqlite3_finalize(st);
    return s;
}

tc_status tc_meas_db_put_model(tc_meas_db *db, tc_digest target, const char *name, const void *data, size_t size, tc_error *err) {
    sqlite3_stmt *st;
    TC_TRY(tc_meas_db_prepare(db, "INSERT OR REPLACE INTO models(target, name, data, when_ms) VALUES(?, ?, ?, ?)", &st, err));
    bind_text(st, 1, target.hex);
    bind_text(st, 2, name);
    sqlite3_bind_blob64(st, 3, data, size, SQLITE_STATIC);
    sqlite3_bind_int64(st, 4, tc_meas_now_ms());
    tc_status s = tc_meas_db_run(db, st, "storing the cost model", err);
    sqlite3_finalize(st);
    return s;
}

tc_status tc_meas_db_get_model(tc_meas_db *db, tc_arena *a, tc_digest target, const char *name, const void **data, size_t *size,
                               tc_error *err) {
    sqlite3_stmt *st;
    *data = NULL;
    *size = 0;
    TC_TRY(tc_meas_db_prepare(db, "SELECT data FROM models WHERE target = ? AND name = ?", &st, err));
    bind_text(st, 1, target.hex);
    bind_text(st, 2, name);
    int code = sqlite3_step(st);
    if (code == SQLITE_ROW) {
        const void *blob = sqlite3_column_blob(st, 0);
        *size = (size_t)sqlite3_column_bytes(st, 0);
        *data = tc_arena_dup(a, blob, *size);
    }
    tc_status s = code == SQLITE_ROW || code == SQLITE_DONE ? TC_OK : tc_meas_db_fail(db, "reading the cost model", err);
    sqlite3_finalize(st);
    return s;
}
