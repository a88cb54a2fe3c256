/* Sessions (include/tctune/tune.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/api_int.h"
#include "graph/work/search.h"

struct tctune_session {
    tctune_work *work;
    tc_graph_search *search;
    tc_tune_options o;
    tc_target *target;
    tc_meas_db *db;
    volatile sig_atomic_t stop; /* the caller asked for it */
    tctune_progress *progress;
    void *user;
    const tc_tune_report *now; /* what is known: of the search under way, or `last` */
    tc_tune_report last;
    tc_arena *arena; /* of `last` */
};

/* ---- opening ---- */

static tc_status check(const tctune_tune_options *o, tc_error *err) {
    if (!o->database)
        return tc_fail(err, TC_BAD_INPUT, "there is no database: name the file that keeps what is measured");
    if (o->trials < 0 || !(o->seconds >= 0) || o->batch < 0 || !(o->stop_at_roof >= 0))
        return tc_fail(err, TC_BAD_INPUT, "trials, seconds, batch and stop_at_roof are not negative");
    if (!o->trials && o->seconds == 0)
        return tc_fail(err, TC_BAD_INPUT, "the budget is missing: give trials, seconds, or both");
    if (o->deterministic && o->mode)
        return tc_fail(err, TC_BAD_INPUT, "mode says how times are taken: where they are computed (deterministic) none are");
    return TC_OK;
}

static void on_progress(void *user, tc_tune_event event, int task, const tc_tune_report *report);

static tc_status read_options(const tctune_tune_options *o, tctune_session *s, tc_error *err) {
    s->progress = o->progress;
    s->user = o->user;
    s->o = (tc_tune_options){.target = s->target,
                             .trials = o->trials,
                             .seconds = o->seconds,
                             .stop_at_roof = o->stop_at_roof,
                             .threads = s->target->machine.cores,
                             .batch = o->batch,
                             .measure_peak = !o->deterministic,
                             .seed = o->seed,
                             .stop = &s->stop,
                             .progress = on_progress,
                             .user = s,
                             .measure.mode = o->deterministic ? TC_MEAS_SIMULATED : TC_MEAS_HOT};
    TC_TRY(api_accuracy(o->accuracy, o->precision, &s->o.accuracy, err));
    if (o->mode)
        TC_TRY(tc_tune_timing_parse(o->mode, &s->o.timing, err));
    if (o->search)
        TC_TRY(tc_tune_search_parse(o->search, &s->o.search, err));
    return o->phases ? tc_tune_phases_parse(o->phases, &s->o.skip_phases, err) : TC_OK;
}

static tc_status open_session(tctune_work *work, const tctune_tune_options *options, tctune_session **out, tc_error *err) {
    tctune_tune_options o;
    TC_TRY(API_OPTIONS(o, options, err));
    TC_TRY(check(&o, err));
    tctune_session *s = *out = tc_xcalloc(1, sizeof *s);
    s->work = api_work_hold(work);
    s->arena = tc_arena_new();
    s->last = (tc_tune_report){.latency = INFINITY, .target_trials = o.trials, .end = TC_TUNE_NENDS};
    s->now = &s->last;
    TC_TRY(api_target_here(o.target, o.threads, &s->target, err));
    TC_TRY(read_options(&o, s, err));
    TC_TRY(tc_graph_search_new(work->w, &s->search, err));
    TC_TRY(tc_tune_start_records(o.start_from, api_length(o.start_from), &s->o.library, err));
    return tc_meas_db_open(o.database, TC_MEAS_DB_WRITE, &s->db, err);
}

tctune_status tctune_session_new(tctune_work *work, const tctune_tune_options *options, tctune_session **session, char *error,
                                 size_t error_size) {
    *session = NULL;
    api_find_worker();
    API_CALL(err, error, error_size, open_session(work, options, session, &err),
             (tctune_session_free(*session), *session = NULL));
}

void tctune_session_free(tctune_session *s) {
    if (!s)
        return;
    tc_graph_search_free(s->search);
    tc_meas_db_close(s->db);
    tc_meas_db_close(s->o.library);
    tc_target_free(s->target);
    tc_arena_free(s->arena);
    tctune_work_free(s->work);
    free(s);
}

/* ---- what is known ---- */

static const char *text(const char *s) {
    return s ? s : "";
}

static tctune_report report_of(const tc_tune_report *r) {
    return (tctune_report){.tasks = r->ntask,
                           .trials = r->trials,
                           .target_trials = r->target_trials,
                           .measured = r->measured,
                           .latency = r->latency,
                           .seconds = r->seconds,
                           .end = r->end < TC_TUNE_NENDS ? tc_tune_end_text(r->end) : "",
                           .quiet = !r->calm.disturbed};
}

tctune_status tctune_session_report(const tctune_session *s, tctune_report *report, char *error, size_t error_size) {
    tc_error err = {0};
    tctune_report r = report_of(s->now);
    return api_answer(API_FILL(report, r, &err), &err, error, error_size);
}

static tc_status describe(const tc_tune_report *r, int i, tctune_task_state *out, tc_error *err) {
    if (i < 0 || i >= r->ntask)
        return tc_fail(err, TC_BAD_INPUT, "there is no task %d: the session knows %d", i, r->ntask);
    const tc_tune_state *t = &r->task[i];
    const tc_tune_form *f = t->winner >= 0 ? &t->form[t->winner] : NULL;
    tctune_task_state state = {.name = t->name,
                               .hash = t->hash.hex,
                               .weight = t->weight,
                               .trials = t->trials,
                               .valid = t->valid,
                               .best = t->best,
                               .form = f ? f->name : "",
                               .trace = f ? text(f->trace) : "",
                               .mode = tc_meas_mode_text(t->mode),
                               .flops = t->flops,
                               .at_roof = t->at_roof,
                               .settled = t->settled,
                               .failure = text(t->failure)};
    return API_FILL(out, state, err);
}

tctune_status tctune_session_task(const tctune_session *s, int i, tctune_task_state *task, char *error, size_t error_size) {
    tc_error err = {0};
    return api_answer(describe(s->now, i, task, &err), &err, error, error_size);
}

/* Of a search that ends now. */
static void keep_form(tctune_session *s, tc_tune_form *f) {
    f->name = tc_arena_strdup(s->arena, f->name);
    f->workload = tc_arena_strdup(s->arena, f->workload);
    f->trace = f->trace ? tc_arena_strdup(s->arena, f->trace) : NULL;
}

static void keep_task(tctune_session *s, tc_tune_state *t) {
    tc_tune_form *forms = tc_arena_dup(s->arena, t->form, (size_t)t->nform * sizeof *forms);
    for (int f = 0; f < t->nform; f++)
        keep_form(s, &forms[f]);
    t->form = forms;
    t->name = tc_arena_strdup(s->arena, t->name);
    t->workload = forms[0].workload;
    t->failure = t->failure ? tc_arena_strdup(s->arena, t->failure) : NULL;
    t->ninstead = t->nalong = 0;
    t->instead = t->along = NULL;
}

static void keep_report(tctune_session *s, const tc_tune_report *r) {
    tc_arena_reset(s->arena);
    s->last = *r;
    s->last.first_error = NULL;
    tc_tune_state *tasks = tc_arena_dup(s->arena, r->task, (size_t)r->ntask * sizeof *tasks);
    for (int i = 0; i < r->ntask; i++)
        keep_task(s, &tasks[i]);
    s->last.task = tasks;
}

/* ---- running ---- */

static void tell(tctune_session *s, tctune_event e) {
    tctune_report r = report_of(s->now);
    r.struct_size = sizeof r;
    e.struct_size = sizeof e;
    e.report = &r;
    e.session = s;
    if (s->progress && s->progress(s->user, &e))
        s->stop = 1;
}

static void on_progress(void *user, tc_tune_event event, int task, const tc_tune_report *report) {
    static const tctune_event_kind kinds[] = {[TC_TUNE_STARTED] = TCTUNE_STARTED,
                                              [TC_TUNE_ROUND_STARTED] = TCTUNE_ROUND_STARTED,
                                              [TC_TUNE_MEASURED] = TCTUNE_MEASURED,
                                              [TC_TUNE_ROUND_DONE] = TCTUNE_ROUND_DONE};
    tctune_session *s = user;
    s->now = report;
    if (event != TC_TUNE_FINISHED) /* on_searched tells */
        tell(s, (tctune_event){.kind = kinds[event], .task = task, .name = task >= 0 ? report->task[task].name : ""});
}

static void on_searched(void *user, const tc_tune_report *r) {
    tctune_session *s = user;
    keep_report(s, r);
    s->now = &s->last;
    tell(s, (tctune_event){.kind = TCTUNE_SEARCHED, .task = -1, .name = ""});
}

static void on_contest(void *user, const tc_tune_range *r, int programs, int places) {
    tell(user, (tctune_event){.kind = TCTUNE_CONTEST, .task = -1, .name = r->name, .programs = programs, .places = places});
}

static void on_compared(void *user, const tc_tune_range *r, const tc_tune_range_report *c, const tc_tune_variants *v) {
    tell(user, (tctune_event){.kind = TCTUNE_COMPARED, .task = -1, .name = r->name, .programs = c->entrants, .variants = v->n});
}

/* Where it fails before a search has ended, nothing of it may be looked at any more. */
static tc_status run(tctune_session *s, tc_error *err) {
    tc_graph_search_listener told = {s, on_searched, on_contest, on_compared};
    tc_status st = tc_graph_search_run(s->search, &s->o, s->db, &told, err);
    s->now = &s->last;
    return st;
}

tctune_status tctune_session_run(tctune_session *s, char *error, size_t error_size) {
    tc_error err = {0};
    tc_status st = tc_memory_begin(&err);
    if (st == TC_OK)
        st = tc_memory_end(run(s, &err), &err);
    bool stopped = s->stop != 0;
    s->stop = 0;
    if (!stopped)
        return api_answer(st, &err, error, error_size);
    st = tc_fail(&err, TC_ENV, "stopped; what was measured is in %s, and another run goes on from there", tc_meas_db_path(s->db));
    api_answer(st, &err, error, error_size);
    return TCTUNE_STOPPED;
}

void tctune_session_stop(tctune_session *s) {
    s->stop = 1;
}

tctune_status tctune_tune(tctune_work *work, const tctune_tune_options *options, char *error, size_t error_size) {
    tctune_session *s;
    tctune_status st = tctune_session_new(work, options, &s, error, error_size);
    if (st == TCTUNE_OK)
        st = tctune_session_run(s, error, error_size);
    tctune_session_free(s);
    return st;
}
