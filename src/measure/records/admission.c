/* What admission.h describes. */
#include "measure/records/admission.h"

#include <string.h>

#include "measure/records/database_int.h"
#include "support/system/identity.h"

/* false: neither machine nor build can be told from others, and nothing is remembered. */
static bool seal_of(const tc_meas_program *p, tc_seal *out) {
    tc_digest build;
    tc_strbuf b = {0};
    if (!tc_build_identity(&build))
        return false;
    tc_sb_printf(&b, "program %s %d\n%zu %s\n%zu %s\n%zu %s\n", build.hex, p->threads, strlen(p->target), p->target,
                 strlen(p->workload), p->workload, strlen(p->trace), p->trace);
    bool sealed = tc_host_seal(b.data, b.len, out);
    tc_strbuf_free(&b);
    return sealed;
}

/* ---- asking ---- */

static tc_status is_stored(tc_meas_db *db, const tc_seal *seal, bool *is, tc_error *err) {
    sqlite3_stmt *st;
    TC_TRY(tc_meas_db_prepare(db, "SELECT 1 FROM admissions WHERE seal = ?", &st, err));
    tc_meas_db_bind_text(st, 1, seal->hex);
    int code = sqlite3_step(st);
    *is = code == SQLITE_ROW;
    tc_status s = code == SQLITE_ROW || code == SQLITE_DONE ? TC_OK : tc_meas_db_fail(db, "reading the admitted programs", err);
    sqlite3_finalize(st);
    return s;
}

tc_status tc_meas_db_is_admitted(tc_meas_db *db, const tc_meas_program *p, bool *is, tc_error *err) {
    tc_seal seal;
    *is = seal_of(p, &seal) && tc_map_gets(&db->admitted, seal.hex);
    return *is || db->schema < 3 || !seal_of(p, &seal) ? TC_OK : is_stored(db, &seal, is, err);
}

/* ---- remembering ---- */

static tc_status store(tc_meas_db *db, const tc_meas_program *p, tc_error *err) {
    sqlite3_stmt *st;
    tc_seal seal, host;
    tc_digest build;
    if (!seal_of(p, &seal) || !tc_host_identity(&host) || !tc_build_identity(&build))
        return TC_OK;
    TC_TRY(tc_meas_db_prepare(db, "INSERT OR REPLACE INTO admissions(seal, program, host, build, when_ms) VALUES(?, ?, ?, ?, ?)",
                              &st, err));
    tc_meas_db_bind_text(st, 1, seal.hex);
    sqlite3_bind_int64(st, 2, (sqlite3_int64)p->hash);
    tc_meas_db_bind_text(st, 3, host.hex);
    tc_meas_db_bind_text(st, 4, build.hex);
    sqlite3_bind_int64(st, 5, tc_meas_now_ms());
    tc_status s = tc_meas_db_run(db, st, "storing an admitted program", err);
    sqlite3_finalize(st);
    return s;
}

static tc_status store_all(tc_meas_db *db, const tc_meas_program *p, size_t n, tc_error *err) {
    tc_status s = TC_OK;
    TC_TRY(tc_meas_db_begin(db, err));
    for (size_t i = 0; i < n && s == TC_OK; i++)
        s = store(db, &p[i], err);
    return tc_meas_db_end(db, s, err);
}

/* By a handle of its own: the one that reads stays one. Nothing is left in the log, which a reader of a read-only folder could not
 * read. */
static tc_status store_beside(const tc_meas_db *db, const tc_meas_program *p, size_t n, tc_error *err) {
    tc_meas_db *file;
    TC_TRY(tc_meas_db_open(db->path, TC_MEAS_DB_CHANGE, &file, err));
    tc_status s = store_all(file, p, n, err);
    if (s == TC_OK)
        s = tc_meas_db_exec(file, "PRAGMA wal_checkpoint(TRUNCATE)", "storing an admitted program", err);
    tc_meas_db_close(file);
    return s;
}

tc_status tc_meas_db_admit(tc_meas_db *db, const tc_meas_program *p, size_t n, tc_error *err) {
    for (size_t i = 0; i < n; i++) {
        tc_seal seal;
        if (seal_of(&p[i], &seal))
            tc_map_puts(&db->admitted, seal.hex, 1);
    }
    if (n == 0)
        return TC_OK;
    return tc_meas_db_writable(db) ? store_all(db, p, n, err) : store_beside(db, p, n, err);
}

tc_status tc_meas_admit_record(tc_meas_db *db, const tc_record *r, tc_error *err) {
    bool right = tc_record_ok(r) && r->verified && !r->elsewhere && !tc_meas_mode_is_apart(r->mode); /* which no machine ran */
    tc_meas_program p = {r->workload, r->target, r->trace, r->threads, r->program};
    return right ? store(db, &p, err) : TC_OK;
}

/* ---- taking back ---- */

tc_status tc_meas_db_expel(tc_meas_db *db, int64_t id, uint64_t program, tc_error *err) {
    sqlite3_stmt *st;
    TC_TRY(tc_meas_db_prepare(db, "DELETE FROM admissions WHERE program IN (?1, (SELECT program FROM records WHERE id = ?2))",
                              &st, err));
    sqlite3_bind_int64(st, 1, (sqlite3_int64)program);
    sqlite3_bind_int64(st, 2, id);
    tc_status s = tc_meas_db_run(db, st, "storing a failure", err);
    sqlite3_finalize(st);
    tc_map_clear(&db->admitted); /* what is left is in the file */
    return s;
}
