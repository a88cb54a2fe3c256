/* Summaries, merging and pruning of databases. */
#include "measure/records/maintain.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "measure/records/check.h"
#include "measure/records/database_int.h"
#include "support/vec.h"
#include "te/text.h"

/* ---- summaries ---- */

typedef TC_VEC(tc_meas_summary) summaries;

static void count(tc_meas_summary *s, const tc_record *r) {
    s->counts.total++;
    s->counts.verified += r->verified;
    s->counts.by_error[r->error]++;
    s->first_ms = TC_MIN(s->first_ms, r->when_ms);
    s->last_ms = TC_MAX(s->last_ms, r->when_ms);
    tc_record best = {.median = s->best, .rounds = s->best_rounds};
    if (!*r->sizes && tc_record_ok(r) && r->verified && (!s->best_id || tc_record_rank(r) < tc_record_rank(&best))) {
        s->best_id = r->id;
        s->best = r->median;
        s->best_rounds = r->rounds;
    }
}

typedef struct gathering {
    tc_arena *a;
    summaries v;
    tc_map at;      /* key -> index in v */
    tc_map sizes;   /* key, and sizes behind it: was met */
    tc_strbuf text; /* of a key */
} gathering;

/* All that a summary is about. A database has one text for a hash, so hashes stand for texts here. */
static const char *key_of(gathering *g, const tc_record *r, const char *sizes) {
    tc_sb_clear(&g->text);
    tc_sb_printf(&g->text, "%s %s %d %d %s", r->workload_hash.hex, r->target_hash.hex, r->threads, (int)r->mode, sizes);
    return tc_sb_str(&g->text);
}

static tc_status gather(void *user, const tc_record *r, tc_error *err) {
    gathering *g = user;
    const char *key = key_of(g, r, "");
    uintptr_t *at = tc_map_gets(&g->at, key);
    (void)err;
    if (!at) {
        tc_meas_summary s = {.workload = tc_arena_strdup(g->a, r->workload),
                             .target = tc_arena_strdup(g->a, r->target),
                             .workload_hash = r->workload_hash,
                             .target_hash = r->target_hash,
                             .threads = r->threads,
                             .mode = r->mode,
                             .best = INFINITY,
                             .first_ms = r->when_ms,
                             .last_ms = r->when_ms};
        tc_map_puts(&g->at, key, g->v.len);
        tc_push(&g->v, s);
        at = tc_map_gets(&g->at, key);
    }
    tc_meas_summary *s = &g->v.data[*at];
    count(s, r);
    s->sizes += *r->sizes && tc_map_puts(&g->sizes, key_of(g, r, r->sizes), 1);
    return TC_OK;
}

static int by_key(const void *x, const void *y) {
    const tc_meas_summary *a = x, *b = y;
    int c = strcmp(a->workload_hash.hex, b->workload_hash.hex);
    c = c ? c : strcmp(a->target_hash.hex, b->target_hash.hex);
    return c ? c : a->threads != b->threads ? a->threads - b->threads : (int)a->mode - (int)b->mode;
}

tc_status tc_meas_db_summaries(tc_meas_db *db, tc_arena *a, tc_meas_summaries *out, tc_error *err) {
    gathering g = {.a = a};
    tc_status s = tc_meas_db_each(db, &(tc_meas_filter){0}, gather, &g, err);
    if (s == TC_OK && g.v.len)
        qsort(g.v.data, g.v.len, sizeof *g.v.data, by_key);
    out->len = s == TC_OK ? g.v.len : 0;
    out->data = tc_arena_dup(a, g.v.data, out->len * sizeof *out->data);
    tc_vec_free(&g.v);
    tc_map_free(&g.at);
    tc_map_free(&g.sizes);
    tc_strbuf_free(&g.text);
    return s;
}

double tc_meas_summary_flops(const tc_meas_summary *s) {
    tc_ctx *ctx = tc_ctx_new();
    const tc_workload *w;
    double flops = tc_te_parse(ctx, "workload", s->workload, &w, NULL) == TC_OK ? tc_te_flops(w) : 0;
    tc_ctx_free(ctx);
    return flops;
}

void tc_meas_summary_operands(tc_strbuf *out, const tc_meas_summary *s) {
    static const char tensor[] = "tensor ";
    size_t from = out->len;
    for (const char *line = s->workload; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, tensor, strlen(tensor)) != 0)
            continue;
        line += strlen(tensor);
        tc_sb_printf(out, "%s%.*s", out->len > from ? " " : "", (int)strcspn(line, "]\n") + 1, line);
    }
}

/* ---- merging ---- */

typedef struct merging {
    tc_meas_db *into;
    tc_meas_inserts q;
    tc_map known, workloads;
    size_t added, had;
    tc_meas_left_out left;
    const char *from; /* the other database */
    char misfit[80];  /* the first row that does not fit; "": none */
    tc_error why;
} merging;

static void note_misfit(void *user, const char *row, const char *why) {
    merging *m = user;
    if (*m->misfit)
        return;
    snprintf(m->misfit, sizeof m->misfit, "%s", row);
    tc_fail(&m->why, TC_BAD_INPUT, "%s", why);
}

static tc_status refuse(const char *path, const merging *m, tc_error *err) {
    return tc_fail(
        err, TC_BAD_INPUT,
        "%s: %s: %s. Nothing was merged; `tctune db verify` lists what is wrong, and `tctune db prune --drop-failures` "
        "removes records that contradict themselves",
        path, m->misfit, m->why.msg);
}

/* What queries do not look at: texts have the hashes that they are stored under, and the workload has the record's sizes. */
static tc_status check_whole(const tc_record *r, tc_map *workloads, tc_error *err) {
    TC_TRY(tc_meas_check_texts(r, err));
    TC_TRY(tc_meas_check_workload(r, workloads, err));
    return tc_meas_check_bounds(r, err);
}

static tc_status take(void *user, const tc_record *r, tc_error *err) {
    merging *m = user;
    int64_t id;
    tc_error why = {0};
    tc_status s = check_whole(r, &m->workloads, &why);
    if (s != TC_OK) {
        char row[32];
        snprintf(row, sizeof row, "record %lld", (long long)r->id);
        if (tc_meas_is_left_out(s, &why)) {
            tc_error_prefix(&why, "%s: %s: ", m->from, row);
            tc_meas_leave_out(&m->left, row + strlen("record "), &why);
            return TC_OK;
        }
        note_misfit(m, row, why.msg);
        return s;
    }
    if (!tc_meas_known_add(&m->known, r)) {
        m->had++;
        return TC_OK;
    }
    m->added++;
    return tc_meas_db_insert_one(m->into, &m->q, r, &id, err);
}

static bool same_file(const char *a, const char *b) {
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static tc_status take_all(merging *m, tc_meas_db *from, tc_error *err) {
    tc_meas_db_on_misfit(from, note_misfit, m);
    tc_status s = tc_meas_db_each(from, &(tc_meas_filter){0}, take, m, err);
    return *m->misfit ? refuse(from->path, m, err) : s;
}

tc_status tc_meas_db_merge(tc_meas_db *db, const char *path, size_t *added, size_t *known, tc_error *err) {
    tc_meas_db *from;
    merging m = {.into = db, .from = path};
    *added = *known = 0;
    if (same_file(db->path, path))
        return tc_fail(err, TC_BAD_INPUT, "%s: is the target of the merge; name other databases to merge from", path);
    TC_TRY(tc_meas_db_open(path, TC_MEAS_DB_READ, &from, err));
    tc_status s = tc_meas_known_of(db, &m.known, err);
    if (s == TC_OK)
        s = tc_meas_db_inserts_new(db, &m.q, err);
    if (s == TC_OK && (s = tc_meas_db_begin(db, err)) == TC_OK)
        s = tc_meas_db_end(db, take_all(&m, from, err), err);
    if (s == TC_OK) {
        *added = m.added;
        *known = m.had;
        s = tc_meas_tell_left_out(&m.left, "records", m.added, "Type `tctune db prune --drop-failures` for that database", err);
    }
    tc_strbuf_free(&m.left.where);
    tc_meas_db_inserts_free(&m.q);
    tc_map_free(&m.known);
    tc_map_free(&m.workloads);
    tc_meas_db_close(from);
    return s;
}

/* ---- pruning ---- */

static tc_status drop(tc_meas_db *db, const char *sql, int keep, int64_t *n, tc_error *err) {
    sqlite3_stmt *st;
    TC_TRY(tc_meas_db_prepare(db, sql, &st, err));
    if (sqlite3_bind_parameter_count(st) > 0) {
        sqlite3_bind_int(st, 1, keep);
        sqlite3_bind_double(st, 2, TC_MEAS_DOUBT);
    }
    tc_status s = tc_meas_db_run(db, st, "removing records", err);
    if (s == TC_OK)
        *n += sqlite3_changes64(db->sql);
    sqlite3_finalize(st);
    return s;
}

/* Before failures are removed: what they say of other records stays said. */
static tc_status unverify(tc_meas_db *db, tc_error *err) {
    tc_strbuf sql = {0};
    tc_sb_add(&sql, "UPDATE records SET verified = 0 WHERE verified AND (workload, target, threads, program) IN (");
    tc_meas_db_unreliable(db, &sql);
    tc_sb_addc(&sql, ')');
    tc_status s = tc_meas_db_exec(db, tc_sb_str(&sql), "marking records", err);
    tc_strbuf_free(&sql);
    return s;
}

static void pass_over(void *user, const char *row, const char *why) {
    (void)user, (void)row, (void)why;
}

/* ---- rows that cannot be true ---- */

/* Records whose only flaw is an id that tctune never gives stay. They, and those with ids near the last, get ids behind the others.
 * Each statement gives an id that no record has when it comes to it: ids only fall, from the lowest on; then those below 1 go
 * behind all. */
static tc_status mend_ids(tc_meas_db *db, tc_error *err) {
    static const char move[] = "UPDATE records SET id = x.new FROM (SELECT id AS old, row_number() OVER (ORDER BY id) +"
                               " (SELECT coalesce(max(id), 0) FROM records WHERE id BETWEEN 1 AND %lld) AS new"
                               " FROM records WHERE %s %lld) x WHERE records.id = x.old";
    enum { BELOW = 1 };
    const long long half = TC_MEAS_DB_LAST_ID / 2;
    int64_t wrong;
    TC_TRY(tc_meas_db_int(db, "SELECT EXISTS (SELECT 1 FROM records WHERE id < 1)", &wrong, err));
    sqlite3_stmt *st;
    TC_TRY(tc_meas_db_prepare(db, tc_meas_db_odd_ids, &st, err));
    wrong |= sqlite3_step(st) == SQLITE_ROW;
    sqlite3_finalize(st);
    if (!wrong)
        return TC_OK;
    tc_strbuf sql = {0};
    tc_sb_printf(&sql, move, half, "id >", half);
    tc_sb_add(&sql, ";");
    tc_sb_printf(&sql, move, (long long)TC_MEAS_DB_LAST_ID, "id <", (long long)BELOW);
    tc_sb_add(&sql, "; DELETE FROM sqlite_sequence; INSERT INTO sqlite_sequence(name, seq) SELECT 'records', coalesce(max(id), 0)"
                    " FROM records");
    tc_status s = tc_meas_db_exec(db, tc_sb_str(&sql), "giving records other ids", err);
    tc_strbuf_free(&sql);
    return s;
}

/* Records would be in the way of others: what they say of their times ranks them. */
static tc_status drop_misfits(tc_meas_db *db, tc_meas_table table, const char *delete, int64_t *n, tc_error *err) {
    tc_strbuf sql = {0};
    tc_sb_printf(&sql, "%s WHERE NOT ", delete);
    tc_meas_db_fits_in(db, table, &sql);
    tc_sb_add(&sql, table == TC_MEAS_records ? ")" : "");
    tc_meas_db_on_misfit(db, pass_over, NULL);
    tc_status s = drop(db, tc_sb_str(&sql), 0, n, err);
    tc_meas_db_on_misfit(db, NULL, NULL);
    tc_strbuf_free(&sql);
    return s;
}

typedef struct untrue {
    bool only_times;  /* those with impossible times alone */
    tc_map workloads; /* that hold */
    TC_VEC(int64_t) ids;
} untrue;

static tc_status find_untrue(void *user, const tc_record *r, tc_error *err) {
    untrue *u = user;
    tc_error why = {0};
    tc_status s = u->only_times ? tc_meas_check_workload(r, &u->workloads, &why) : check_whole(r, &u->workloads, &why);
    if (s == TC_BAD_INPUT && (!u->only_times || why.code == TC_ERROR_IMPOSSIBLE))
        tc_push(&u->ids, r->id);
    return s == TC_BAD_INPUT || s == TC_OK ? TC_OK : tc_fail(err, s, "%s", why.msg);
}

/* Those that `db merge` refuses or leaves out. Another version may understand a workload that this one does not, so they go only with
 * failures; but an impossible time would rank first for good. */
static tc_status drop_untrue(tc_meas_db *db, bool only_times, int64_t *n, tc_error *err) {
    untrue u = {.only_times = only_times};
    sqlite3_stmt *st = NULL;
    tc_status s = tc_meas_db_each(db, &(tc_meas_filter){0}, find_untrue, &u, err);
    if (s == TC_OK)
        s = tc_meas_db_prepare(db, "DELETE FROM records WHERE id = ?", &st, err);
    for (size_t i = 0; i < u.ids.len && s == TC_OK; i++) {
        sqlite3_bind_int64(st, 1, u.ids.data[i]);
        s = tc_meas_db_run(db, st, "removing records", err);
    }
    *n += s == TC_OK ? (int64_t)u.ids.len : 0;
    sqlite3_finalize(st);
    tc_map_free(&u.workloads);
    tc_vec_free(&u.ids);
    return s;
}

static tc_status drop_impossible(tc_meas_db *db, bool untrue_too, tc_meas_pruned *out, tc_error *err) {
    int64_t others = 0; /* no rows that anybody counts */
    TC_TRY(mend_ids(db, err));
    TC_TRY(drop_misfits(db, TC_MEAS_records, "DELETE FROM records WHERE id IN (SELECT r.id FROM records r" TC_MEAS_DB_JOINED,
                        &out->records, err));
    TC_TRY(drop_untrue(db, !untrue_too, &out->records, err));
    TC_TRY(drop_misfits(db, TC_MEAS_workloads, "DELETE FROM workloads AS w", &out->workloads, err));
    TC_TRY(drop_misfits(db, TC_MEAS_targets, "DELETE FROM targets AS t", &out->targets, err));
    TC_TRY(drop_misfits(db, TC_MEAS_models, "DELETE FROM models AS m", &others, err));
    TC_TRY(drop_misfits(db, TC_MEAS_admissions, "DELETE FROM admissions AS a", &others, err));
    return drop_misfits(db, TC_MEAS_writer, "DELETE FROM writer AS o", &others, err);
}

/* ---- all of it ---- */

static tc_status drop_all(tc_meas_db *db, const tc_meas_prune *p, tc_meas_pruned *out, tc_error *err) {
    TC_TRY(drop_impossible(db, p->drop_failures, out, err));
    if (p->keep > 0)
        TC_TRY(drop(db,
                    "DELETE FROM records WHERE id IN (SELECT id FROM (SELECT id, row_number() OVER ("
                    "PARTITION BY workload, target, threads, mode ORDER BY verified DESC, median IS NULL,"
                    " median * CASE WHEN rounds > 0 THEN 1 ELSE ?2 END, id) AS place"
                    " FROM records WHERE error = 'ok' AND mode NOT IN ('in-graph', 'beside') AND sizes = '') WHERE place > ?1)",
                    p->keep, &out->records, err));
    if (p->keep > 0) /* of a contest over sizes, too, only the last word counts */
        TC_TRY(
            drop(db,
                 "DELETE FROM records WHERE sizes != '' AND error = 'ok' AND when_ms < (SELECT max(when_ms) FROM records x WHERE"
                 " x.sizes != '' AND (x.workload, x.target, x.threads, x.mode) ="
                 " (records.workload, records.target, records.threads, records.mode))",
                 0, &out->records, err));
    if (p->keep > 0) /* of what networks said only the last word counts, and it is about all that took part */
        TC_TRY(drop(db,
                    "DELETE FROM records WHERE mode = 'in-graph' AND when_ms < (SELECT max(when_ms) FROM records x WHERE"
                    " x.mode = 'in-graph' AND (x.workload, x.target, x.threads) ="
                    " (records.workload, records.target, records.threads))",
                    0, &out->records, err));
    if (p->keep > 0) /* a kernel may be in comparisons with several others: the last one of the same kernels counts */
        TC_TRY(drop(db,
                    "DELETE FROM records WHERE mode = 'beside' AND (target, threads, when_ms) NOT IN (SELECT target, threads,"
                    " max(when_ms) FROM (SELECT target, threads, when_ms, group_concat(workload) AS kernels FROM"
                    " (SELECT * FROM records WHERE mode = 'beside' ORDER BY workload) GROUP BY target, threads, when_ms)"
                    " GROUP BY target, threads, kernels)",
                    0, &out->records, err));
    if (p->drop_failures) {
        TC_TRY(unverify(db, err));
        TC_TRY(drop(db, "DELETE FROM records WHERE error != 'ok'", 0, &out->records, err));
    }
    TC_TRY(tc_meas_db_exec(db, "DELETE FROM admissions WHERE program NOT IN (SELECT program FROM records)", "removing records",
                           err));
    TC_TRY(drop(db, "DELETE FROM workloads WHERE hash NOT IN (SELECT workload FROM records)", 0, &out->workloads, err));
    return drop(db, "DELETE FROM targets WHERE hash NOT IN (SELECT target FROM records)", 0, &out->targets, err);
}

static tc_status shrink(tc_meas_db *db, tc_error *err) {
    TC_TRY(tc_meas_db_exec(db, "VACUUM", "giving space back", err));
    return tc_meas_db_exec(db, "PRAGMA wal_checkpoint(TRUNCATE)", "giving space back", err);
}

tc_status tc_meas_db_prune(tc_meas_db *db, const tc_meas_prune *p, tc_meas_pruned *out, tc_error *err) {
    tc_meas_db_stats before, after;
    *out = (tc_meas_pruned){0};
    if (p->keep <= 0 && !p->drop_failures)
        return tc_fail(err, TC_BAD_INPUT, "nothing to prune: say how many records to keep, or drop failures");
    TC_TRY(tc_meas_db_stat(db, &before, err));
    TC_TRY(tc_meas_db_begin(db, err));
    TC_TRY(tc_meas_db_end(db, drop_all(db, p, out, err), err));
    tc_status s = shrink(db, err);
    if (s != TC_OK) {
        tc_error_prefix(err, "%lld records are removed, but the file is as large as before: ", (long long)out->records);
        return s;
    }
    TC_TRY(tc_meas_db_stat(db, &after, err));
    out->bytes_before = before.bytes;
    out->bytes_after = after.bytes;
    return TC_OK;
}
