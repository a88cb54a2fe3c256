/* Records and models into the database. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "measure/records/admission.h"
#include "measure/records/database_int.h"
#include "support/system/identity.h"
#include "support/vec.h"

/* SQLite stores NaN as NULL and cannot compare it: deviations that are no number count as the largest. */
static double bounded(double v) {
    return isfinite(v) ? v : DBL_MAX;
}

/* `table` names it. A text that is there is compared: texts of one hash can be made, and a record must never get another text than
 * its own. The statement then sets the column to NULL, which the table does not allow. */
#define INSERT_TEXT(table)                                                                                                       \
    "INSERT INTO " table "(hash, text) VALUES(?, ?) ON CONFLICT(hash) DO UPDATE SET text = NULL WHERE text IS NOT excluded.text"

static tc_status insert_text(tc_meas_db *db, sqlite3_stmt *st, const char *table, tc_digest hash, const char *text,
                             tc_error *err) {
    tc_meas_db_bind_text(st, 1, hash.hex);
    tc_meas_db_bind_text(st, 2, text);
    tc_status s = tc_meas_db_run(db, st, "storing a workload", err);
    if (s == TC_OK || sqlite3_extended_errcode(db->sql) != SQLITE_CONSTRAINT_NOTNULL)
        return s;
    return tc_fail(err, TC_BAD_INPUT,
                   "%s: table %s has another text with the hash %s already, so the new record cannot be stored. One of the two "
                   "was made to have this hash: `tctune db verify` says whether it is the one in the database",
                   db->path, table, hash.hex);
}

static void bind_record(sqlite3_stmt *st, const tc_record *r) {
    int i = 1;
    tc_meas_db_bind_text(st, i++, r->workload_hash.hex);
    tc_meas_db_bind_text(st, i++, r->target_hash.hex);
    sqlite3_bind_int(st, i++, r->threads);
    tc_meas_db_bind_text(st, i++, r->trace);
    tc_meas_db_bind_text(st, i++, r->trace_hash.hex);
    sqlite3_bind_int64(st, i++, (sqlite3_int64)r->program);
    tc_meas_db_bind_text(st, i++, tc_meas_error_text(r->error));
    sqlite3_bind_int(st, i++, r->signal);
    tc_meas_db_bind_text(st, i++, r->message);
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
    tc_meas_db_bind_text(st, i++, r->tctune_version);
    tc_meas_db_bind_text(st, i++, r->llvm_version);
    tc_meas_db_bind_text(st, i++, r->host);
    tc_meas_db_bind_text(st, i++, tc_meas_mode_text(r->mode));
    sqlite3_bind_int(st, i++, r->rounds);
    tc_meas_db_bind_text(st, i++, r->sizes);
    if (*r->job)
        tc_meas_db_bind_text(st, i++, r->job);
    else
        sqlite3_bind_null(st, i++);
    tc_meas_db_bind_text(st, i++, r->phase);
    if (isfinite(r->predicted))
        sqlite3_bind_double(st, i++, r->predicted);
    else
        sqlite3_bind_null(st, i++);
}

tc_status tc_meas_db_inserts_new(tc_meas_db *db, tc_meas_inserts *q, tc_error *err) {
    *q = (tc_meas_inserts){0};
    TC_TRY(tc_meas_db_prepare(db, INSERT_TEXT("workloads"), &q->workload, err));
    TC_TRY(tc_meas_db_prepare(db, INSERT_TEXT("targets"), &q->target, err));
    TC_TRY(tc_meas_db_prepare(db, "SELECT id, error FROM records WHERE job = ?", &q->same_job, err));
    return tc_meas_db_prepare(
        db,
        "INSERT INTO records(workload, target, threads, trace, trace_hash, program, error, signal, message, median, times,"
        " build_seconds, run_seconds, verified, max_error, stopped_early, when_ms, tctune_version, llvm_version, host, mode,"
        " rounds, sizes, job, phase, predicted)"
        " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT(job) WHERE job IS NOT NULL DO NOTHING",
        &q->record, err);
}

void tc_meas_db_inserts_free(tc_meas_inserts *q) {
    sqlite3_finalize(q->workload);
    sqlite3_finalize(q->target);
    sqlite3_finalize(q->record);
    sqlite3_finalize(q->same_job);
}

/* The record of a job that is there; *failed: it says that it failed. */
static tc_status find_job(tc_meas_db *db, const tc_meas_inserts *q, const char *job, int64_t *id, bool *failed, tc_error *err) {
    tc_meas_db_bind_text(q->same_job, 1, job);
    int code = sqlite3_step(q->same_job);
    if (code == SQLITE_ROW) {
        *id = sqlite3_column_int64(q->same_job, 0);
        const char *error = (const char *)sqlite3_column_text(q->same_job, 1);
        *failed = !error || strcmp(error, tc_meas_error_text(TC_MEAS_NONE)) != 0;
    }
    tc_status s = code == SQLITE_ROW ? TC_OK : tc_meas_db_fail(db, "looking for a job", err);
    sqlite3_reset(q->same_job);
    return s;
}

static tc_status insert_record(tc_meas_db *db, const tc_meas_inserts *q, const tc_record *r, int64_t *id, tc_error *err) {
    bool failed = true;
    bind_record(q->record, r);
    TC_TRY(tc_meas_db_run(db, q->record, "storing records", err));
    if (sqlite3_changes(db->sql) > 0) {
        *id = sqlite3_last_insert_rowid(db->sql);
        return *id <= TC_MEAS_DB_LAST_ID ? TC_OK : tc_meas_db_ids_used_up(db, err);
    }
    TC_TRY(find_job(db, q, r->job, id, &failed, err));
    if (failed || r->error == TC_MEAS_NONE)
        return TC_OK;
    tc_record news = *r;
    news.job = "";
    return insert_record(db, q, &news, id, err);
}

tc_status tc_meas_db_insert_one(tc_meas_db *db, const tc_meas_inserts *q, const tc_record *r, int64_t *id, tc_error *err) {
    *id = 0;
    if (r->error == TC_MEAS_INTERRUPTED)
        return TC_OK;
    if (r->experiment)
        return tc_fail(
            err, TC_BAD_INPUT,
            "the time of an experiment (a part of the program left out, or other data) is not a record and cannot be stored");
    TC_TRY(insert_text(db, q->workload, "workloads", r->workload_hash, r->workload, err));
    TC_TRY(insert_text(db, q->target, "targets", r->target_hash, r->target, err));
    return insert_record(db, q, r, id, err);
}

static tc_status insert_all(tc_meas_db *db, const tc_meas_inserts *q, const tc_record *records, size_t n, bool measured,
                            int64_t *ids, tc_error *err) {
    for (size_t i = 0; i < n; i++) {
        TC_TRY(tc_meas_db_insert_one(db, q, &records[i], &ids[i], err));
        if (measured)
            TC_TRY(tc_meas_admit_record(db, &records[i], err));
    }
    return TC_OK;
}

static tc_status insert(tc_meas_db *db, tc_record *records, size_t n, bool measured, tc_error *err) {
    tc_meas_inserts q;
    int64_t *ids = tc_xcalloc(n ? n : 1, sizeof *ids);
    tc_status s = tc_meas_db_inserts_new(db, &q, err);
    if (s == TC_OK && (s = tc_meas_db_begin(db, err)) == TC_OK)
        s = tc_meas_db_end(db, insert_all(db, &q, records, n, measured, ids, err), err);
    tc_meas_db_inserts_free(&q);
    for (size_t i = 0; s == TC_OK && i < n; i++)
        records[i].id = ids[i];
    free(ids);
    return s;
}

tc_status tc_meas_db_insert(tc_meas_db *db, tc_record *records, size_t n, tc_error *err) {
    return insert(db, records, n, false, err);
}

tc_status tc_meas_db_insert_measured(tc_meas_db *db, tc_record *records, size_t n, tc_error *err) {
    return insert(db, records, n, true, err);
}

tc_status tc_meas_db_set_verified(tc_meas_db *db, int64_t id, bool verified, double max_error, tc_error *err) {
    sqlite3_stmt *st;
    TC_TRY(tc_meas_db_prepare(
        db,
        "UPDATE records SET verified = ?1, max_error = ?2 WHERE id = ?3 OR (NOT ?1 AND mode IN ('in-graph', 'beside') AND"
        " (workload, target, threads, trace) ="
        " (SELECT workload, target, threads, trace FROM records WHERE id = ?3))",
        &st, err));
    sqlite3_bind_int(st, 1, verified);
    sqlite3_bind_double(st, 2, bounded(max_error));
    sqlite3_bind_int64(st, 3, id);
    tc_status s = tc_meas_db_run(db, st, "marking a record as verified", err);
    sqlite3_finalize(st);
    return s == TC_OK && !verified ? tc_meas_db_expel(db, id, 0, err) : s;
}

tc_status tc_meas_db_distrust(tc_meas_db *db, int64_t id, const tc_record *why, tc_error *err) {
    sqlite3_stmt *st;
    TC_TRY(tc_meas_db_prepare(db,
                              "UPDATE records SET verified = 0, max_error = ?1 WHERE error = 'ok' AND"
                              " (workload, target, threads, trace) ="
                              " (SELECT workload, target, threads, trace FROM records WHERE id = ?2)",
                              &st, err));
    sqlite3_bind_double(st, 1, bounded(why->max_error));
    sqlite3_bind_int64(st, 2, id);
    tc_status s = tc_meas_db_run(db, st, "marking records as not verified", err);
    sqlite3_finalize(st);
    return s == TC_OK ? tc_meas_db_expel(db, id, 0, err) : s;
}

tc_status tc_meas_db_disqualify(tc_meas_db *db, int64_t id, const tc_record *why, tc_error *err) {
    sqlite3_stmt *st;
    TC_TRY(
        tc_meas_db_prepare(db,
                           "UPDATE records SET verified = 0, median = NULL, times = x'', error = ?1, signal = ?2, message = ?3,"
                           " max_error = ?4 WHERE id = ?5 OR (error = 'ok' AND program != 0 AND (workload, target, threads,"
                           " program) = (SELECT workload, target, threads, program FROM records WHERE id = ?5))",
                           &st, err));
    tc_meas_db_bind_text(st, 1, tc_meas_error_text(why->error));
    sqlite3_bind_int(st, 2, why->signal);
    tc_meas_db_bind_text(st, 3, why->message);
    sqlite3_bind_double(st, 4, bounded(why->max_error));
    sqlite3_bind_int64(st, 5, id);
    tc_status s = tc_meas_db_run(db, st, "storing a failure", err);
    sqlite3_finalize(st);
    return s == TC_OK ? tc_meas_db_expel(db, id, why->program, err) : s;
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

/* Of all that a model is read back by: one that was moved or changed is not what this machine made. */
bool tc_meas_db_model_seal(tc_digest target, const char *name, const void *data, size_t size, tc_seal *out) {
    tc_strbuf b = {0};
    tc_sb_printf(&b, "model %s %s\n", target.hex, name);
    tc_sb_addn(&b, data, size);
    bool sealed = tc_host_seal(b.data, b.len, out);
    tc_strbuf_free(&b);
    return sealed;
}

tc_status tc_meas_db_put_model(tc_meas_db *db, tc_digest target, const char *name, const void *data, size_t size, tc_error *err) {
    sqlite3_stmt *st;
    tc_seal seal;
    TC_TRY(tc_meas_db_prepare(db, "INSERT OR REPLACE INTO models(target, name, data, when_ms, seal) VALUES(?, ?, ?, ?, ?)", &st,
                              err));
    tc_meas_db_bind_text(st, 1, target.hex);
    tc_meas_db_bind_text(st, 2, name);
    sqlite3_bind_blob64(st, 3, data, size, SQLITE_STATIC);
    sqlite3_bind_int64(st, 4, tc_meas_now_ms());
    tc_meas_db_bind_text(st, 5, tc_meas_db_model_seal(target, name, data, size, &seal) ? seal.hex : "");
    tc_status s = tc_meas_db_run(db, st, "storing the cost model", err);
    sqlite3_finalize(st);
    return s;
}
