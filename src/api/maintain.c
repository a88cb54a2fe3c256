/* Works on whole databases (include/tctune/database.h): describes, merges, compacts and checks them, and measures their records
 * again. */
#include <math.h>

#include "api/api_int.h"
#include "measure/records/exchange.h"
#include "measure/records/maintain.h"
#include "measure/rerun.h"
#include "support/system/stop.h"

/* ---- what there is ---- */

static tc_status stat_database(tctune_database *d, tctune_database_stats *out, tc_error *err) {
    tc_meas_db_stats s;
    TC_TRY(tc_meas_db_stat(d->db, &s, err));
    tctune_database_stats stats = {
        .schema = s.schema, .records = s.records, .workloads = s.workloads, .targets = s.targets, .bytes = s.bytes};
    return API_FILL(out, stats, err);
}

tctune_status tctune_database_stat(tctune_database *d, tctune_database_stats *stats, char *error, size_t error_size) {
    API_CALL(err, error, error_size, stat_database(d, stats, &err), (void)0);
}

static tc_status describe(tctune_database *d, char **json, tc_error *err) {
    tc_meas_db_stats whole;
    tc_meas_summaries all;
    tc_arena *a = tc_arena_new();
    tc_status s = tc_meas_db_stat(d->db, &whole, err);
    if (s == TC_OK)
        s = tc_meas_db_summaries(d->db, a, &all, err);
    if (s == TC_OK)
        s = tc_report_text(tc_report_database(tc_meas_db_path(d->db), &whole, &all), json, err);
    tc_arena_free(a);
    return s;
}

tctune_status tctune_database_describe(tctune_database *d, char **json, char *error, size_t error_size) {
    API_DOCUMENT(err, error, error_size, json, describe(d, json, &err));
}

/* ---- joining ---- */

static tc_status add_file(tctune_database *d, const char *file, size_t *added, size_t *known, tc_error *err) {
    size_t none[2] = {0};
    added = added ? added : &none[0];
    known = known ? known : &none[1];
    return tc_meas_take_in(d->db, file, added, known, err);
}

tctune_status tctune_database_add(tctune_database *d, const char *file, size_t *added, size_t *known, char *error,
                                  size_t error_size) {
    API_CALL(err, error, error_size, add_file(d, file, added, known, &err), (void)0);
}

static void unheard_taken(void *user, const char *file, size_t added, size_t known) {
    (void)user;
    (void)file;
    (void)added;
    (void)known;
}

tctune_status tctune_database_add_files(const char *database, const char *const *files, tctune_on_taken *taken, void *user,
                                        char *error, size_t error_size) {
    API_CALL(err, error, error_size,
             tc_meas_take_files(database, files, api_length(files), taken ? taken : unheard_taken, user, &err), (void)0);
}

/* ---- making smaller ---- */

static tc_status prune(tctune_database *d, int keep, bool failures, tctune_pruned *out, tc_error *err) {
    tc_meas_prune p = {.keep = keep, .drop_failures = failures};
    tc_meas_pruned gone;
    if (keep < 0 || (!keep && !failures))
        return tc_fail(err, TC_BAD_INPUT, "nothing to prune: say how many records to keep, drop those that failed, or both");
    tctune_pruned pruned = {0};
    if (out) /* a struct of the wrong size is refused before anything is removed */
        TC_TRY(API_FILL(out, pruned, err));
    TC_TRY(tc_meas_db_prune(d->db, &p, &gone, err));
    pruned = (tctune_pruned){.records = gone.records,
                             .workloads = gone.workloads,
                             .targets = gone.targets,
                             .bytes_before = gone.bytes_before,
                             .bytes_after = gone.bytes_after};
    return out ? API_FILL(out, pruned, err) : TC_OK;
}

tctune_status tctune_database_prune(tctune_database *d, int keep, int drop_failures, tctune_pruned *pruned, char *error,
                                    size_t error_size) {
    API_CALL(err, error, error_size, prune(d, keep, drop_failures != 0, pruned, &err), (void)0);
}

/* ---- checking ---- */

static void nobody(void *user, const char *text) {
    (void)user;
    (void)text;
}

static tc_status verify(tctune_database *d, tctune_on_complaint *complain, void *user, tctune_audit *out, tc_error *err) {
    tc_meas_audit x;
    TC_TRY(tc_meas_db_audit(d->db, complain ? complain : nobody, user, &x, err));
    tctune_audit audit = {.workloads = x.workloads,
                          .targets = x.targets,
                          .records = x.records,
                          .replayed = x.replayed,
                          .changed = x.changed,
                          .problems = x.problems};
    if (out)
        TC_TRY(API_FILL(out, audit, err));
    if (!x.problems)
        return TC_OK;
    return tc_fail(err, TC_BAD_INPUT, "%s: %lld problems. Save the good records with `tctune db export`, or start a new database",
                   tc_meas_db_path(d->db), (long long)x.problems);
}

static tctune_status call_verify(tctune_database *d, tctune_on_complaint *complain, void *user, tctune_audit *found, char *error,
                                 size_t error_size) {
    API_CALL(err, error, error_size, verify(d, complain, user, found, &err), (void)0);
}

tctune_status tctune_database_verify(tctune_database *d, tctune_on_complaint *complain, void *user, tctune_audit *found,
                                     char *error, size_t error_size) {
    d->holders++;
    tctune_status s = call_verify(d, complain, user, found, error, error_size);
    tctune_database_close(d);
    return s;
}

/* ---- measured again ---- */

static void tell(const tctune_rerun_options *o, const tc_meas_summary *s, tctune_rerun r) {
    r.struct_size = sizeof r;
    r.workload_hash = s->workload_hash.hex;
    r.mode = tc_meas_mode_text(s->mode);
    r.threads = s->threads;
    if (o->each)
        o->each(o->user, &r);
}

static void on_done(void *user, const tc_meas_summary *s, const tc_record *recorded, const tc_record *now) {
    tc_strbuf why = {0};
    bool ok = tc_record_ok(now);
    if (!ok)
        tc_sb_printf(&why, "%s: %s", tc_meas_error_meaning(now->error), now->message);
    tell(user, s,
         (tctune_rerun){.end = ok ? TCTUNE_RERUN_END_TIMED : TCTUNE_RERUN_END_FAILED,
                        .record = recorded->id,
                        .recorded = recorded->median,
                        .now = ok ? now->median : INFINITY,
                        .message = tc_sb_str(&why)});
    tc_strbuf_free(&why);
}

static void on_skipped(void *user, const tc_meas_summary *s, const char *why) {
    tell(user, s, (tctune_rerun){.end = TCTUNE_RERUN_END_SKIPPED, .recorded = INFINITY, .now = INFINITY, .message = why});
}

static tc_status rerun(tctune_database *d, const tctune_rerun_options *o, int64_t *unmarked, tc_error *err) {
    int64_t n;
    tc_meas_rerun r = {.stop = o->stop, .done = on_done, .skipped = on_skipped, .user = (void *)(uintptr_t)o};
    TC_TRY(tc_meas_db_rerun(d->db, &r, unmarked ? unmarked : &n, err));
    return tc_is_raised(o->stop) ? tc_fail(err, TC_ENV, "stopped before all records were measured again") : TC_OK;
}

static tctune_status call_rerun(tctune_database *d, const tctune_rerun_options *o, int64_t *unmarked, char *error,
                                size_t error_size) {
    API_CALL(err, error, error_size, rerun(d, o, unmarked, &err), (void)0);
}

tctune_status tctune_database_rerun(tctune_database *d, const tctune_rerun_options *options, int64_t *unmarked, char *error,
                                    size_t error_size) {
    tctune_rerun_options o;
    tc_error err = {0};
    api_find_worker();
    tc_status s = API_OPTIONS(o, options, &err);
    if (s != TC_OK)
        return api_answer(s, &err, error, error_size);
    d->holders++;
    tctune_status answer = api_unless_stopped(call_rerun(d, &o, unmarked, error, error_size), o.stop);
    tctune_database_close(d);
    return answer;
}
