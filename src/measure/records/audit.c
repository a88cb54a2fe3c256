/* Does a database still say the truth? Structure, hashes and traces are checked without running anything. Also: what becomes
 * of a record that failed when it was run again. */
#include <string.h>

#include "codegen/target/target.h"
#include "measure/records/check.h"
#include "measure/records/database_int.h"
#include "measure/records/maintain.h"
#include "te/text.h"
#include "tir_lower/program/program.h"

typedef struct audit {
    tc_meas_db *db;
    tc_meas_complaint *fn;
    void *user;
    tc_meas_audit *out;
    /* the workload of the records being looked at, NULL where it is no good */
    tc_ctx *ctx;
    const tc_workload *w;
    double work; /* tc_meas_work of it */
    /* the target used last */
    tc_target *target;
    tc_digest target_hash;
} audit;

static void TC_PRINTF(2, 3) complain(audit *x, const char *fmt, ...) {
    tc_error line = {0};
    va_list ap;
    va_start(ap, fmt);
    tc_vfail(&line, TC_BAD_INPUT, fmt, ap);
    va_end(ap);
    x->out->problems++;
    x->fn(x->user, line.msg);
}

/* Every row of SQLite's own check is a complaint, but for "ok". */
static tc_status check_structure(audit *x, tc_error *err) {
    sqlite3_stmt *st;
    int code;
    TC_TRY(tc_meas_db_prepare(x->db, "PRAGMA integrity_check", &st, err));
    while ((code = sqlite3_step(st)) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(st, 0);
        if (text && strcmp(text, "ok") != 0)
            complain(x, "the file: %s", text);
    }
    tc_status s = code == SQLITE_DONE ? TC_OK : tc_meas_db_fail(x->db, "checking it", err);
    sqlite3_finalize(st);
    return s;
}

/* ---- records ---- */

/* NULL when the text is not understood, which was complained of when targets were looked at. */
static const tc_target *target_of(audit *x, const tc_record *r) {
    if (strcmp(x->target_hash.hex, r->target_hash.hex) != 0) {
        tc_target_free(x->target);
        x->target = NULL;
        x->target_hash = r->target_hash;
        if (tc_target_parse(r->target, &x->target, NULL) != TC_OK)
            x->target = NULL;
    }
    if (x->target)
        x->target->machine.cores = r->threads;
    return x->target;
}

static tc_status replay(audit *x, tc_ctx *ctx, const tc_record *r, tc_error *err) {
    tc_tir_program p;
    bool made;
    const tc_target *target = target_of(x, r);
    TC_TRY(tc_meas_replay(ctx, r, x->w, target, &p, &made, err));
    if (!target || !made)
        return TC_OK;
    x->out->replayed++;
    x->out->changed += p.hash != r->program;
    return TC_OK;
}

static tc_status check_record(void *user, const tc_record *r, tc_error *err) {
    audit *x = user;
    tc_error why = {0};
    (void)err;
    x->out->records++;
    if (strcmp(tc_meas_text_hash(r->trace).hex, r->trace_hash.hex) != 0)
        complain(x, "record %lld: its trace does not match the hash under which it is stored", (long long)r->id);
    if (!x->w)
        return TC_OK;
    tc_ctx *ctx = tc_ctx_child(x->ctx);
    if (tc_meas_check_sizes(x->w, r->sizes, TC_NEW_N(tc_ctx_arena(ctx), int64_t, x->w->nsymbol), &why) != TC_OK)
        complain(x, "record %lld: %s", (long long)r->id, why.msg);
    if (tc_meas_check_time(r, x->work, &why) != TC_OK)
        complain(x, "record %lld: %s; `tctune db prune` removes the record", (long long)r->id, why.msg);
    if (replay(x, ctx, r, &why) != TC_OK)
        complain(x, "record %lld: its trace no longer applies: %s", (long long)r->id, why.msg);
    tc_ctx_free(ctx);
    return TC_OK;
}

static void complain_of_misfit(void *user, const char *row, const char *why) {
    audit *x = user;
    complain(x, "%s: %s", row, why);
}

static void complain_of_record(void *user, const char *row, const char *why) {
    audit *x = user;
    x->out->records++;
    complain_of_misfit(user, row, why);
}

static void pass_over(void *user, const char *row, const char *why) {
    (void)user, (void)row, (void)why;
}

/* Rows that no query meets. What follows is of the others, and says nothing of these again. */
static tc_status check_misfits(audit *x, tc_error *err) {
    for (int t = 0; t < TC_MEAS_NTABLES; t++)
        TC_TRY(tc_meas_db_each_misfit(x->db, (tc_meas_table)t, t == TC_MEAS_records ? complain_of_record : complain_of_misfit, x,
                                      err));
    tc_meas_db_on_misfit(x->db, pass_over, NULL);
    return TC_OK;
}

static tc_status check_ids(audit *x, tc_error *err) {
    sqlite3_stmt *st;
    TC_TRY(tc_meas_db_prepare(x->db, tc_meas_db_odd_ids, &st, err));
    int code = sqlite3_step(st);
    if (code == SQLITE_ROW)
        complain(
            x, "the ids of records: the counter of ids (table sqlite_sequence) was edited or damaged, or a record has an id near "
               "the last; `tctune db prune` mends it");
    tc_status s = code == SQLITE_ROW || code == SQLITE_DONE ? TC_OK : tc_meas_db_fail(x->db, "checking ids", err);
    sqlite3_finalize(st);
    return s;
}

/* ---- workloads and targets ---- */

static void check_workload(audit *x, const char *hash, const char *text) {
    tc_error why = {0};
    tc_strbuf canonical = {0};
    x->w = NULL;
    if (tc_te_parse(x->ctx, "workload", text, &x->w, &why) != TC_OK) {
        complain(x, "workload %s: does not parse: %s", hash, why.msg);
        x->w = NULL;
        return;
    }
    x->work = tc_meas_work(x->w);
    tc_te_print(&canonical, tc_te_canonical(x->ctx, x->w));
    if (strcmp(tc_te_hash(x->w).hex, hash) != 0)
        complain(x, "workload %s: its text has the hash %s", hash, tc_te_hash(x->w).hex);
    else if (strcmp(tc_sb_str(&canonical), text) != 0)
        complain(x, "workload %s: its text is not the canonical one", hash);
    tc_strbuf_free(&canonical);
}

static void check_target(audit *x, const char *hash, const char *text) {
    tc_error why = {0};
    tc_target *t = NULL;
    if (strcmp(tc_meas_text_hash(text).hex, hash) != 0)
        complain(x, "target %s: its text has the hash %s", hash, tc_meas_text_hash(text).hex);
    if (tc_target_parse(text, &t, &why) != TC_OK)
        complain(x, "target %s: %s", hash, why.msg);
    tc_target_free(t);
}

/* Of rows that fit: their texts are texts. */
static tc_status prepare_texts(audit *x, tc_meas_table table, const char *select, sqlite3_stmt **st, tc_error *err) {
    tc_strbuf sql = {0};
    tc_sb_printf(&sql, "%s WHERE ", select);
    tc_meas_db_fits_in(x->db, table, &sql);
    tc_sb_add(&sql, " ORDER BY hash");
    tc_status s = tc_meas_db_prepare(x->db, tc_sb_str(&sql), st, err);
    tc_strbuf_free(&sql);
    return s;
}

static tc_status check_workloads(audit *x, tc_error *err) {
    sqlite3_stmt *st;
    int code = SQLITE_DONE;
    tc_status s = TC_OK;
    TC_TRY(prepare_texts(x, TC_MEAS_workloads, "SELECT w.hash, w.text FROM workloads w", &st, err));
    while (s == TC_OK && (code = sqlite3_step(st)) == SQLITE_ROW) {
        const char *hash = (const char *)sqlite3_column_text(st, 0);
        x->ctx = tc_ctx_new();
        x->out->workloads++;
        check_workload(x, hash, (const char *)sqlite3_column_text(st, 1));
        s = tc_meas_db_each(x->db, &(tc_meas_filter){.workload_hash = hash}, check_record, x, err);
        tc_ctx_free(x->ctx);
    }
    if (s == TC_OK && code != SQLITE_DONE)
        s = tc_meas_db_fail(x->db, "reading workloads", err);
    sqlite3_finalize(st);
    return s;
}

static tc_status check_targets(audit *x, tc_error *err) {
    sqlite3_stmt *st;
    int code;
    TC_TRY(prepare_texts(x, TC_MEAS_targets, "SELECT t.hash, t.text FROM targets t", &st, err));
    while ((code = sqlite3_step(st)) == SQLITE_ROW) {
        x->out->targets++;
        check_target(x, (const char *)sqlite3_column_text(st, 0), (const char *)sqlite3_column_text(st, 1));
    }
    tc_status s = code == SQLITE_DONE ? TC_OK : tc_meas_db_fail(x->db, "reading targets", err);
    sqlite3_finalize(st);
    return s;
}

tc_status tc_meas_db_audit(tc_meas_db *db, tc_meas_complaint *fn, void *user, tc_meas_audit *out, tc_error *err) {
    audit x = {.db = db, .fn = fn, .user = user, .out = out};
    *out = (tc_meas_audit){0};
    tc_status s = check_structure(&x, err);
    if (s == TC_OK)
        s = check_ids(&x, err);
    if (s == TC_OK)
        s = check_misfits(&x, err);
    if (s == TC_OK)
        s = check_targets(&x, err);
    if (s == TC_OK)
        s = check_workloads(&x, err);
    tc_meas_db_on_misfit(db, NULL, NULL);
    tc_target_free(x.target);
    return s;
}

/* ---- failures found later ---- */

bool tc_meas_disproves(tc_meas_error e) {
    return tc_meas_error_is(e, TC_MEAS_DISPROVES);
}

/* A program that fails when it runs is bad whatever it did before; one that is not built any more may be good elsewhere. */
tc_status tc_meas_db_note_failure(tc_meas_db *db, int64_t id, const tc_record *now, tc_error *err) {
    bool ran = tc_meas_error_is(now->error, TC_MEAS_RAN);
    if (!tc_meas_disproves(now->error))
        return TC_OK;
    return ran ? tc_meas_db_disqualify(db, id, now, err) : tc_meas_db_distrust(db, id, now, err);
}
