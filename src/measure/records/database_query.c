/* Records, workloads and models out of the database. */
#include <math.h>
#include <string.h>

#include "measure/records/database_int.h"
#include "support/system/memory.h"
#include "support/vec.h"

static const char SELECT_RECORD[] = "SELECT r.id, w.text, t.text, r.workload, r.target, r.threads, r.trace, r.trace_hash, "
                                    "r.program, r.error, r.signal, r.message, r.median,"
                                    " r.times, r.build_seconds, r.run_seconds, %s, r.max_error, r.stopped_early, "
                                    "r.when_ms, r.tctune_version, r.llvm_version, r.host, %s, %s, %s, %s, %s, %s"
                                    " FROM records r" TC_MEAS_DB_JOINED;

/* A column's text; NULL where it has none. SQLite says the same of one that it had no memory for. */
static const char *column_text(sqlite3_stmt *st, int i) {
    const char *s = (const char *)sqlite3_column_text(st, i);
    if (!s && sqlite3_errcode(sqlite3_db_handle(st)) == SQLITE_NOMEM)
        tc_alloc_refuse();
    return s;
}

const char *tc_meas_db_text(tc_arena *a, sqlite3_stmt *st, int i) {
    const char *s = column_text(st, i);
    return tc_arena_strdup(a, s ? s : "");
}

tc_digest tc_meas_db_digest(sqlite3_stmt *st, int i) {
    tc_digest d = {0};
    const char *s = column_text(st, i);
    if (s)
        memcpy(d.hex, s, strnlen(s, sizeof d.hex - 1));
    return d;
}

static tc_record read_record(tc_arena *a, sqlite3_stmt *st) {
    tc_record r = tc_meas_record_empty();
    int i = 0;
    r.id = sqlite3_column_int64(st, i++);
    r.workload = tc_meas_db_text(a, st, i++);
    r.target = tc_meas_db_text(a, st, i++);
    r.workload_hash = tc_meas_db_digest(st, i++);
    r.target_hash = tc_meas_db_digest(st, i++);
    r.threads = sqlite3_column_int(st, i++);
    r.trace = tc_meas_db_text(a, st, i++);
    r.trace_hash = tc_meas_db_digest(st, i++);
    r.program = (uint64_t)sqlite3_column_int64(st, i++);
    if (!tc_meas_error_parse(tc_meas_db_text(a, st, i++), &r.error))
        r.error = TC_MEAS_RUN_FAILED; /* a kind that a newer version added: a failure all the same */
    r.signal = sqlite3_column_int(st, i++);
    r.message = tc_meas_db_text(a, st, i++);
    i++; /* the median: what is stored is that of the times (database_fits.c) */
    const void *blob = sqlite3_column_blob(st, i);
    r.ntimes = blob ? (size_t)sqlite3_column_bytes(st, i) / sizeof *r.times : 0;
    if (!blob && sqlite3_errcode(sqlite3_db_handle(st)) == SQLITE_NOMEM)
        tc_alloc_refuse();
    i++;
    r.times = tc_arena_try_dup(a, blob, r.ntimes * sizeof *r.times);
    if (!r.times)
        r.ntimes = 0;
    r.median = tc_meas_median(r.times, r.ntimes);
    r.build_seconds = sqlite3_column_double(st, i++);
    r.run_seconds = sqlite3_column_double(st, i++);
    r.verified = sqlite3_column_int(st, i++) != 0;
    r.max_error = sqlite3_column_double(st, i++);
    r.stopped_early = sqlite3_column_int(st, i++) != 0;
    r.when_ms = sqlite3_column_int64(st, i++);
    r.tctune_version = tc_meas_db_text(a, st, i++);
    r.llvm_version = tc_meas_db_text(a, st, i++);
    r.host = tc_meas_db_text(a, st, i++);
    if (!tc_meas_mode_parse(tc_meas_db_text(a, st, i++), &r.mode))
        r.mode = TC_MEAS_SIMULATED; /* never: it would not fit (database_fits.c) */
    r.rounds = sqlite3_column_int(st, i++);
    r.sizes = tc_meas_db_text(a, st, i++);
    r.job = tc_meas_db_text(a, st, i++);
    r.phase = tc_meas_db_text(a, st, i++);
    r.predicted = sqlite3_column_type(st, i) == SQLITE_NULL ? NAN : sqlite3_column_double(st, i);
    return r;
}

void tc_meas_db_unreliable(const tc_meas_db *db, tc_strbuf *sql) {
    const char *between = "";
    tc_sb_add(sql, "SELECT workload, target, threads, program FROM records WHERE program != 0 AND error IN (");
    for (int e = 0; e < TC_MEAS_NERRORS; e++)
        if (tc_meas_error_is((tc_meas_error)e, TC_MEAS_UNRELIABLE)) {
            tc_sb_printf(sql, "%s'%s'", between, tc_meas_error_text((tc_meas_error)e));
            between = ", ";
        }
    tc_sb_addc(sql, ')');
    if (db->schema >= 2) /* since then records have modes */
        tc_sb_printf(sql, " AND NOT (mode = '%s' AND error = '%s')", tc_meas_mode_text(TC_MEAS_EMULATED),
                     tc_meas_error_text(TC_MEAS_RUN_TIMEOUT));
}

/* Whether a record counts as verified: its own result was right, and no other record of the same program, taken in another way or
 * by another session, says that the program went wrong, crashed or hung. One failure is enough: what fails only sometimes was
 * merely lucky here. The inner query is evaluated once, not per record. */
static void verified_text(const tc_meas_db *db, tc_strbuf *b, const tc_meas_filter *f) {
    tc_sb_add(b, "(r.verified AND (r.workload, r.target, r.threads, r.program) NOT IN (");
    tc_meas_db_unreliable(db, b);
    tc_sb_add(b, f->workload_hash ? " AND workload = :workload))" : "))");
}

/* " WHERE ..." of a filter; the parameters are bound by name, those that the text does not mention are skipped. */
static void filter_text(const tc_meas_db *db, tc_strbuf *b, const tc_meas_filter *f) {
    tc_sb_add(b, f->after_id ? " WHERE r.id > :after AND " : " WHERE ");
    tc_meas_db_fits_in(db, TC_MEAS_records, b);
    if (f->workload_hash)
        tc_sb_add(b, " AND r.workload = :workload");
    if (f->target_hash)
        tc_sb_add(b, " AND r.target = :target");
    if (f->threads > 0)
        tc_sb_add(b, " AND r.threads = :threads");
    if (f->job)
        tc_sb_add(b, db->schema >= 5 ? " AND r.job = :job" : " AND false");
    if (f->mode)
        tc_sb_printf(b, " AND %s = :mode", tc_meas_db_column(db, "mode"));
    if (f->real)
        tc_sb_printf(b, " AND %s IN ('hot', 'cold') AND %s = ''", tc_meas_db_column(db, "mode"), tc_meas_db_column(db, "sizes"));
    if (f->sized)
        tc_sb_printf(b, " AND %s != ''", tc_meas_db_column(db, "sizes"));
    if (f->ok || f->verified)
        tc_sb_add(b, " AND r.error = 'ok' AND r.median IS NOT NULL");
    if (f->verified) {
        tc_sb_add(b, " AND r.verified = 1 AND ");
        verified_text(db, b, f);
    }
}

static void filter_bind(sqlite3_stmt *st, const tc_meas_filter *f) {
    int i;
    if ((i = sqlite3_bind_parameter_index(st, ":after")) > 0)
        sqlite3_bind_int64(st, i, f->after_id);
    if ((i = sqlite3_bind_parameter_index(st, ":workload")) > 0)
        tc_meas_db_bind_text(st, i, f->workload_hash);
    if ((i = sqlite3_bind_parameter_index(st, ":target")) > 0)
        tc_meas_db_bind_text(st, i, f->target_hash);
    if ((i = sqlite3_bind_parameter_index(st, ":job")) > 0)
        tc_meas_db_bind_text(st, i, f->job);
    if ((i = sqlite3_bind_parameter_index(st, ":mode")) > 0)
        tc_meas_db_bind_text(st, i, f->mode);
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
                     tc_meas_db_column(db, "mode"), tc_meas_db_column(db, "rounds"), TC_MEAS_DOUBT);
        break;
    }
}

static tc_status select_records(tc_meas_db *db, const tc_meas_filter *f, sqlite3_stmt **st, tc_error *err) {
    tc_strbuf b = {0}, verified = {0};
    verified_text(db, &verified, f);
    tc_sb_printf(&b, SELECT_RECORD, f->verified ? "r.verified" : tc_sb_str(&verified), tc_meas_db_column(db, "mode"),
                 tc_meas_db_column(db, "rounds"), tc_meas_db_column(db, "sizes"), tc_meas_db_column(db, "job"),
                 tc_meas_db_column(db, "phase"), tc_meas_db_column(db, "predicted"));
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
    out->data = s == TC_OK ? tc_arena_try_dup(a, v.data, v.len * sizeof *v.data) : NULL;
    out->len = out->data ? v.len : 0;
    if (s == TC_OK && !out->data)
        s = tc_memory_ran_out(err);
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

tc_status tc_meas_db_first(tc_meas_db *db, tc_arena *a, tc_meas_filter f, tc_record *out, bool *found, tc_error *err) {
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
    verified_text(db, &b, f);
    tc_sb_add(&b, ") FROM records r" TC_MEAS_DB_JOINED);
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

tc_status tc_meas_db_others_wrote(tc_meas_db *db, bool *wrote, tc_error *err) {
    int64_t version = 0;
    TC_TRY(tc_meas_db_int(db, "PRAGMA data_version", &version, err));
    *wrote = version != db->version;
    db->version = version;
    return TC_OK;
}

tc_status tc_meas_db_last_id(tc_meas_db *db, int64_t *id, tc_error *err) {
    tc_strbuf b = {0};
    tc_sb_printf(&b, "SELECT coalesce(max(id), 0) FROM records WHERE id <= %lld", (long long)TC_MEAS_DB_LAST_ID);
    tc_status s = tc_meas_db_int(db, tc_sb_str(&b), id, err);
    tc_strbuf_free(&b);
    *id = TC_MAX(*id, 0);
    return s;
}

tc_status tc_meas_db_next_ms(tc_meas_db *db, tc_meas_mode mode, int64_t *ms, tc_error *err) {
    tc_strbuf b = {0};
    tc_sb_printf(&b,
                 "SELECT coalesce(max(r.when_ms), 0) FROM records r WHERE %s = '%s' AND typeof(r.when_ms) = 'integer' AND"
                 " r.when_ms BETWEEN 0 AND %lld",
                 tc_meas_db_column(db, "mode"), tc_meas_mode_text(mode), (long long)TC_MEAS_LAST_MS);
    tc_status s = tc_meas_db_int(db, tc_sb_str(&b), ms, err);
    tc_strbuf_free(&b);
    *ms = TC_MAX(tc_meas_now_ms(), TC_MIN(*ms + 1, TC_MEAS_LAST_MS));
    return s;
}

tc_status tc_meas_db_workload(tc_meas_db *db, tc_arena *a, tc_digest hash, const char **text, tc_error *err) {
    sqlite3_stmt *st;
    TC_TRY(tc_meas_db_prepare(db, "SELECT text FROM workloads WHERE hash = ?", &st, err));
    tc_meas_db_bind_text(st, 1, hash.hex);
    int code = sqlite3_step(st);
    *text = code == SQLITE_ROW ? tc_meas_db_text(a, st, 0) : NULL;
    tc_status s = code == SQLITE_ROW || code == SQLITE_DONE ? TC_OK : tc_meas_db_fail(db, "reading a workload", err);
    sqlite3_finalize(st);
    return s;
}

tc_status tc_meas_db_get_model(tc_meas_db *db, tc_arena *a, tc_digest target, const char *name, const void **data, size_t *size,
                               tc_error *err) {
    sqlite3_stmt *st;
    tc_seal seal;
    *data = NULL;
    *size = 0;
    if (db->schema < 3) /* nobody knows who made what it has */
        return TC_OK;
    TC_TRY(tc_meas_db_prepare(db, "SELECT data, seal FROM models WHERE target = ? AND name = ?", &st, err));
    tc_meas_db_bind_text(st, 1, target.hex);
    tc_meas_db_bind_text(st, 2, name);
    int code = sqlite3_step(st);
    if (code == SQLITE_ROW) {
        const void *blob = sqlite3_column_blob(st, 0);
        size_t n = (size_t)sqlite3_column_bytes(st, 0);
        const char *by = (const char *)sqlite3_column_text(st, 1);
        if (by && tc_meas_db_model_seal(target, name, blob, n, &seal) && strcmp(seal.hex, by) == 0) {
            *data = tc_arena_try_dup(a, blob, n);
            *size = *data ? n : 0;
        }
    }
    tc_status s = code == SQLITE_ROW || code == SQLITE_DONE ? TC_OK : tc_meas_db_fail(db, "reading the cost model", err);
    sqlite3_finalize(st);
    return s;
}
