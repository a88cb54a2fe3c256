/* Explains why a schedule is as fast as it is (include/tctune/explain.h). This file finds the schedule. tune/explain/explain.h
 * explains it, report/explanation.c makes the document about it. */
#include <math.h>
#include <string.h>

#include "api/sides/side.h"
#include "te/text.h"
#include "tune/explain/explain.h"

static const double least_seconds = 5;

typedef struct explaining {
    tctune_explain_options o;
    api_sides of; /* the schedule, and the best record of the database if that is another schedule */
    tc_tune_schedule best;
    tc_tune_explanation made;
} explaining;

static tc_status read_options(const tctune_explain_options *options, explaining *x, tc_error *err) {
    TC_TRY(API_OPTIONS(x->o, options, err));
    x->of.n = 1;
    x->of.database = x->o.database;
    x->of.at = x->o.at;
    x->of.threads = x->o.threads;
    x->of.stop = x->o.stop;
    if (x->o.mode)
        TC_TRY(tc_tune_timing_parse(x->o.mode, &x->of.asked, err));
    if (x->o.seconds != 0 && !(x->o.seconds >= least_seconds))
        return tc_fail(err, TC_BAD_INPUT, "seconds must be at least %g, not %g", least_seconds, x->o.seconds);
    if (!(x->o.denormal >= 0 && x->o.denormal <= 1))
        return tc_fail(err, TC_BAD_INPUT, "denormal must be a share from 0 to 1, not %g", x->o.denormal);
    const char *spec = x->o.schedule && *x->o.schedule ? x->o.schedule : x->o.database ? "best" : "default";
    TC_TRY(api_side_read(&x->of, spec, "nothing to explain: give a record (12, or 12@FILE.db), a .sched file, default, or best",
                         &x->of.side[0], err));
    if (x->of.side[0].kind == API_SIDE_PEER)
        return tc_fail(err, TC_BAD_INPUT, "%s is a library, which has no decisions to explain", spec);
    return TC_OK;
}

static tc_status check(const tctune_explain_options *options, int *of_record, tc_error *err) {
    explaining x = {0};
    TC_TRY(read_options(options, &x, err));
    if (of_record)
        *of_record = api_sides_record(&x.of) != NULL;
    return TC_OK;
}

tctune_status tctune_explain_check(const tctune_explain_options *options, int *of_record, char *error, size_t error_size) {
    API_CALL(err, error, error_size, check(options, of_record, &err), (void)0);
}

/* The best record of the kernel, to be tried beside the schedule. If there is no record or no database, nothing is added. */
static void find_best(explaining *x, const char **why) {
    tc_error none = {0};
    tc_tune_query q = {.workload = x->of.w, .target = x->of.target, .accuracy = TC_ACCURACY_STRICT};
    const api_side *s = &x->of.side[0];
    const char *file = x->o.database ? x->o.database : s->db;
    if (!file || x->of.sizes || s->kind == API_SIDE_BEST)
        return;
    tc_status st = tc_meas_db_open(file, TC_MEAS_DB_READ, &q.db, &none);
    if (st == TC_OK)
        st = tc_tune_schedule_find(&q, x->of.arena, &x->best, &none);
    tc_meas_db_close(q.db);
    if (st != TC_OK)
        *why = tc_arena_strdup(x->of.arena, none.msg);
    if (st != TC_OK || !x->best.record)
        x->best = (tc_tune_schedule){0};
}

/* A record of another machine is compiled for this machine, and shown so. */
static tc_status choose_target(explaining *x, const char **unmeasured, tc_error *err) {
    const api_side *s = &x->of.side[0];
    tc_target *own = NULL;
    TC_TRY(api_target(x->o.target, api_sides_threads(&x->of), &x->of.target, err));
    if (s->kind == API_SIDE_RECORD && !x->o.target && strcmp(s->record.target, x->of.target->text) != 0) {
        TC_TRY(api_target(s->record.target, api_sides_threads(&x->of), &own, err));
        tc_target_free(x->of.target);
        x->of.target = own;
        *unmeasured = tc_arena_printf(x->of.arena, "the record is of another machine: %s", own->cpu);
    }
    if (!*unmeasured && !x->of.target->native)
        *unmeasured = tc_arena_printf(x->of.arena, "code for %s does not run on this machine", x->of.target->cpu);
    return *unmeasured ? TC_OK : api_threads_here(x->of.target->machine.cores, err);
}

/* The workload that the schedule's trace applies to. It may be another form than the kernel's own. */
static tc_status explain_it(explaining *x, const char *unmeasured, tc_error *err) {
    const tc_tune_schedule *k = &x->of.side[0].k;
    const tc_workload *w;
    TC_TRY(tc_te_parse(x->of.ctx, "workload", k->workload, &w, err));
    tc_tune_explain_options o = {.workload = w,
                                 .timed = x->of.timed,
                                 .target = x->of.target,
                                 .mode = x->of.mode,
                                 .seed = x->o.seed,
                                 .denormal = x->o.denormal,
                                 .seconds = x->o.seconds,
                                 .known = x->best.trace ? &x->best : NULL,
                                 .why_unmeasured = unmeasured,
                                 .stop = x->o.stop};
    tc_status st = tc_tune_explain(k, &o, x->of.arena, &x->made, err);
    if (st != TC_OK)
        tc_error_prefix(err, "%s: ", x->of.side[0].spec);
    return st;
}

static tc_status explain(const tctune_work *w, int task, const tctune_explain_options *options, explaining *x, char **json,
                         tc_error *err) {
    const char *unmeasured = NULL, *no_best = NULL;
    TC_TRY(read_options(options, x, err));
    TC_TRY(api_sides_load(&x->of, err));
    TC_TRY(choose_target(x, &unmeasured, err));
    TC_TRY(api_sides_find(w, task, &x->of, err));
    TC_TRY(api_side_schedule(&x->of, &x->of.side[0], err));
    find_best(x, &no_best);
    TC_TRY(explain_it(x, unmeasured, err));
    tc_report_explained r = {.kernel = x->of.kernel,
                             .hash = x->of.hash.hex,
                             .spec = x->of.side[0].spec,
                             .origin = x->of.side[0].origin,
                             .form = x->of.side[0].k.form,
                             .trace = x->of.side[0].k.trace,
                             .threads = x->of.target->machine.cores,
                             .mode = x->of.mode,
                             .no_best = no_best,
                             .made = &x->made};
    return tc_report_text(tc_report_explanation(&r), json, err);
}

static tc_status explain_and_close(const tctune_work *w, int task, const tctune_explain_options *options, char **json,
                                   tc_error *err) {
    explaining x = {.of = {.arena = tc_arena_new(), .ctx = tc_ctx_new()}};
    tc_status st = explain(w, task, options, &x, json, err);
    tc_tune_side_free(&x.made.side);
    api_sides_free(&x.of);
    return st;
}

tctune_status tctune_explain(const tctune_work *work, int task, const tctune_explain_options *options, char **json, char *error,
                             size_t error_size) {
    api_find_worker();
    API_DOCUMENT(err, error, error_size, json, explain_and_close(work, task, options, json, &err));
}
