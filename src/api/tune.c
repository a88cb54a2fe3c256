/* Tuning sessions (include/tctune/tune.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/fleet_int.h"
#include "graph/work/search.h"
#include "measure/machine/unit_peak.h"
#include "support/system/emulation.h"
#include "support/system/stop.h"

struct tctune_session {
    tctune_work *work;
    tc_graph_search *search;
    tc_tune_options o;
    tc_target *target;
    tc_fleet *fleet; /* NULL: this machine measures */
    tc_meas_db *db;
    volatile sig_atomic_t own;
    volatile sig_atomic_t *stop; /* not 0: the caller asked to stop; the caller's flag, or `own` */
    tctune_on_event *progress;
    void *user;
    tc_tune_gain gain;         /* of the last run; nkernel 0: nothing was compared */
    const tc_tune_report *now; /* what is known: of the search under way, or `last` */
    tc_tune_report last;
    tc_arena *arena; /* of `last` */
    json_t *told;    /* of the last search, with its comparisons; NULL: there was no search */
    bool is_running;
    bool is_freed; /* by a callback, while it ran */
};

/* ---- opening ---- */

static tc_status check(const tctune_tune_options *o, tc_error *err) {
    if (!o->database)
        return tc_fail(err, TC_BAD_INPUT, "the database is missing: name the file for the records");
    if (o->trials < 0 || !(o->seconds >= 0) || o->batch < 0 || !(o->stop_at_roof >= 0))
        return tc_fail(err, TC_BAD_INPUT, "trials, seconds, batch and stop_at_roof must not be negative");
    if (o->rounds_at_once < 0 || o->rounds_at_once > TC_TUNE_MOST_ROUNDS)
        return tc_fail(err, TC_BAD_INPUT, "rounds_at_once must be from 1 to %d, or 0 for the default", TC_TUNE_MOST_ROUNDS);
    if (!o->trials && o->seconds == 0)
        return tc_fail(err, TC_BAD_INPUT, "the budget is missing: give trials, seconds, or both");
    if (o->deterministic && o->mode)
        return tc_fail(err, TC_BAD_INPUT,
                       "mode says how kernels are timed, but deterministic times none: leave one of the two out");
    return TC_OK;
}

/* The words of a search; the fields are named, as there are many. */
static tc_status read_words(const tctune_tune_options *o, tc_tune_options *out, tc_error *err) {
    const char *field = "search";
    tc_status s = o->search ? tc_tune_search_parse(o->search, &out->search, err) : TC_OK;
    if (s == TC_OK && o->phases) {
        field = "phases";
        s = tc_tune_phases_parse(o->phases, &out->skip_phases, err);
    }
    if (s != TC_OK)
        tc_error_prefix(err, "%s: ", field);
    TC_TRY(s);
    TC_TRY(api_accuracy(o->accuracy, o->precision, &out->accuracy, err));
    return o->mode ? tc_tune_timing_parse(o->mode, &out->timing, err) : TC_OK;
}

static tc_status check_options(const tctune_tune_options *options, tc_error *err) {
    tctune_tune_options o;
    tc_tune_options words = {0};
    TC_TRY(API_OPTIONS(o, options, err));
    TC_TRY(check(&o, err));
    return read_words(&o, &words, err);
}

tctune_status tctune_tune_check(const tctune_tune_options *options, char *error, size_t error_size) {
    API_CALL(err, error, error_size, check_options(options, &err), (void)0);
}

static void on_progress(void *user, tc_tune_event event, int task, const tc_tune_report *report);

static tc_meas_mode mode_of(const tctune_tune_options *o, const tctune_session *s) {
    bool emulated = s->fleet ? tc_fleet_is_emulated(s->fleet) : tc_is_emulated();
    return o->deterministic ? TC_MEAS_SIMULATED : emulated ? TC_MEAS_EMULATED : TC_MEAS_HOT;
}

static tc_status read_options(const tctune_tune_options *o, tctune_session *s, tc_error *err) {
    s->progress = o->progress;
    s->user = o->user;
    s->o = (tc_tune_options){
        .target = s->target,
        .trials = o->trials,
        .seconds = o->seconds,
        .stop_at_roof = o->stop_at_roof,
        .threads = s->target->machine.cores,
        .batch = o->batch,
        .rounds_at_once = o->rounds_at_once,
        .measure_peak = (!o->deterministic || o->measure_peak) && !s->fleet,
        .seed = o->seed,
        .stop = s->stop,
        .progress = on_progress,
        .user = s,
        .measure = {.mode = mode_of(o, s), .carrier = s->fleet ? &tc_meas_fleet : NULL, .carried_by = s->fleet}};
    return read_words(o, &s->o, err);
}

static tc_status open_target(const tctune_tune_options *o, tctune_session *s, tc_error *err) {
    api_measured_by by = {
        .fleet = o->fleet, .work = o->database, .database = o->database, .target = o->target, .threads = o->threads};
    return api_fleet_target(&by, &s->target, &s->fleet, err);
}

/* The search is for another machine than this one, so the peak is that of the workers. */
static void take_peak(tctune_session *s) {
    double gflops;
    int64_t last;
    tc_fleet_machine(s->fleet, &gflops, &last);
    s->o.peak_gflops = s->o.measure.mode == TC_MEAS_SIMULATED ? 0 : gflops;
}

static tc_status open_session(tctune_work *work, const tctune_tune_options *options, tctune_session **out, tc_error *err) {
    tctune_tune_options o;
    TC_TRY(API_OPTIONS(o, options, err));
    TC_TRY(check(&o, err));
    tctune_session *s = *out = tc_xcalloc(1, sizeof *s);
    s->stop = o.stop ? o.stop : &s->own;
    s->work = api_work_hold(work);
    s->arena = tc_arena_new();
    s->last = (tc_tune_report){.latency = INFINITY,
                               .seconds_left = NAN,
                               .expected_gain = NAN,
                               .pairwise = NAN,
                               .target_trials = o.trials,
                               .end = TC_TUNE_NENDS};
    s->now = &s->last;
    TC_TRY(open_target(&o, s, err));
    TC_TRY(read_options(&o, s, err));
    if (s->fleet)
        take_peak(s);
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
    if (s->is_running) { /* the run still needs it, and frees it then */
        s->is_freed = true;
        tc_raise_to(s->stop, 1);
        return;
    }
    tc_graph_search_free(s->search);
    tc_meas_db_close(s->db);
    tc_meas_db_close(s->o.library);
    tc_fleet_leave(s->fleet);
    tc_target_free(s->target);
    tc_arena_free(s->arena);
    tctune_work_free(s->work);
    json_decref(s->told);
    free(s);
}

/* ---- what is known ---- */

static const char *text(const char *s) {
    return s ? s : "";
}

/* NAN where it was not compared. */
static double told_gain(const tc_tune_gain *g, double x) {
    return g->verdict.rounds ? x : NAN;
}

static tctune_report report_of(const tctune_session *s) {
    const tc_tune_report *r = s->now;
    const tc_tune_gain *g = &s->gain;
    return (tctune_report){.tasks = r->ntask,
                           .trials = r->trials,
                           .target_trials = r->target_trials,
                           .measured = r->measured,
                           .latency = r->latency,
                           .seconds = r->seconds,
                           .end = r->end < TC_TUNE_NENDS ? tc_tune_end_text(r->end) : "",
                           .quiet = !r->calm.disturbed,
                           .seconds_limit = r->seconds_limit,
                           .expected_gain = r->expected_gain,
                           .pairwise = r->pairwise,
                           .slowdown = r->calm.slowdown,
                           .spread = r->calm.spread,
                           .seconds_left = r->seconds_left,
                           .untuned = told_gain(g, g->verdict.b),
                           .tuned = told_gain(g, g->verdict.a),
                           .speedup = told_gain(g, g->verdict.ratio),
                           .speedup_low = told_gain(g, g->verdict.low),
                           .speedup_high = told_gain(g, g->verdict.high),
                           .kernels = g->why ? 0 : g->nkernel,
                           .kept = g->why ? 0 : g->nkept};
}

tctune_status tctune_session_report(const tctune_session *s, tctune_report *report, char *error, size_t error_size) {
    tc_error err = {0};
    tctune_report r = report_of(s);
    return api_answer(API_FILL(report, r, &err), &err, error, error_size);
}

static tc_status describe(const tc_tune_report *r, int i, tctune_task_state *out, tc_error *err) {
    if (i < 0 || i >= r->ntask)
        return tc_fail(err, TC_BAD_INPUT, "there is no task %d: the session has %d", i, r->ntask);
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
                               .failure = text(t->failure),
                               .exhausted = t->exhausted,
                               .since_gain = t->since_gain,
                               .forms = t->nform,
                               .peak = 1e9 * tc_meas_peak_of(&r->peak, tc_tune_unit(t))};
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
    s->last.seconds_left = 0;
    tc_tune_state *tasks = tc_arena_dup(s->arena, r->task, (size_t)r->ntask * sizeof *tasks);
    for (int i = 0; i < r->ntask; i++)
        keep_task(s, &tasks[i]);
    s->last.task = tasks;
}

/* ---- running ---- */

static void tell(tctune_session *s, tctune_event e) {
    if (s->is_freed)
        return;
    tctune_report r = report_of(s);
    r.struct_size = sizeof r;
    e.struct_size = sizeof e;
    e.report = &r;
    e.session = s;
    if (s->progress && s->progress(s->user, &e))
        tc_raise_to(s->stop, 1);
}

static void on_progress(void *user, tc_tune_event event, int task, const tc_tune_report *report) {
    static const tctune_event_kind kinds[] = {[TC_TUNE_STARTED] = TCTUNE_EVENT_STARTED,
                                              [TC_TUNE_ROUND_STARTED] = TCTUNE_EVENT_ROUND_STARTED,
                                              [TC_TUNE_MEASURED] = TCTUNE_EVENT_MEASURED,
                                              [TC_TUNE_ROUND_DONE] = TCTUNE_EVENT_ROUND_DONE,
                                              [TC_TUNE_CLOSING] = TCTUNE_EVENT_CLOSING};
    tctune_session *s = user;
    s->now = report;
    if (event != TC_TUNE_FINISHED) /* on_searched tells */
        tell(s, (tctune_event){.kind = kinds[event], .task = task, .name = task >= 0 ? report->task[task].name : ""});
}

static void on_searched(void *user, const tc_tune_report *r) {
    tctune_session *s = user;
    keep_report(s, r);
    s->now = &s->last;
    json_decref(s->told);
    s->told = tc_report_tuning(r, tc_meas_db_path(s->db));
    tell(s, (tctune_event){.kind = TCTUNE_EVENT_SEARCHED, .task = -1, .name = ""});
}

static void on_contest(void *user, const tc_tune_range *r, int programs, int places) {
    tell(user, (tctune_event){.kind = TCTUNE_EVENT_CONTEST, .task = -1, .name = r->name, .programs = programs, .places = places});
}

static void put_range(tctune_session *s, json_t *range) {
    json_t *ranges = json_object_get(s->told, "ranges");
    if (!ranges)
        tc_json_set(s->told, "ranges", ranges = tc_json_array());
    tc_json_append(ranges, range);
}

static void on_compared(void *user, const tc_tune_range *r, const tc_tune_range_report *c, const tc_tune_variants *v) {
    put_range(user, tc_report_range(r, c, v));
    tell(user,
         (tctune_event){.kind = TCTUNE_EVENT_COMPARED, .task = -1, .name = r->name, .programs = c->entrants, .variants = v->n});
}

static void on_weighing(void *user, double seconds) {
    tctune_session *s = user;
    s->last.seconds_left = seconds;
    tell(s, (tctune_event){.kind = TCTUNE_EVENT_CLOSING, .task = -1, .name = ""});
}

static void on_gained(void *user, const tc_tune_gain *g) {
    tctune_session *s = user;
    s->gain = *g;
    s->gain.why = g->why ? tc_arena_strdup(s->arena, g->why) : NULL;
    s->last.seconds_left = 0;
    tc_json_set(s->told, "gain", tc_report_gain(g));
    tell(s, (tctune_event){.kind = TCTUNE_EVENT_GAINED, .task = -1, .name = ""});
}

/* If the call fails before a search has ended, no result of the search may be read. */
static tc_status run(tctune_session *s, tc_error *err) {
    tc_graph_search_listener told = {s, on_searched, on_contest, on_compared, on_weighing, on_gained};
    s->gain = (tc_tune_gain){0};
    tc_status st = tc_graph_search_run(s->search, &s->o, s->db, &told, err);
    s->now = &s->last;
    return st;
}

static tctune_status run_once(tctune_session *s, char *error, size_t error_size) {
    tc_error err = {0};
    tc_status st = api_begin(&err);
    if (st == TC_OK)
        st = api_end(run(s, &err), &err);
    bool stopped = tc_is_raised(s->stop);
    s->own = 0;
    if (!stopped)
        return api_answer(st, &err, error, error_size);
    st = tc_fail(&err, TC_ENV, "stopped; the records are in %s, and another run goes on from there", tc_meas_db_path(s->db));
    api_answer(st, &err, error, error_size);
    return TCTUNE_STOPPED;
}

tctune_status tctune_session_run(tctune_session *s, char *error, size_t error_size) {
    tc_error err = {0};
    if (s->is_running)
        return api_answer(
            tc_fail(&err, TC_BAD_INPUT,
                    "this session is running: a callback cannot run it again. Call tctune_session_run after the run "
                    "has ended"),
            &err, error, error_size);
    s->is_running = true;
    tctune_status st = run_once(s, error, error_size);
    s->is_running = false;
    if (s->is_freed)
        tctune_session_free(s);
    return st;
}

void tctune_session_stop(tctune_session *s) {
    tc_raise_to(s->stop, 1);
}

/* ---- what was found ---- */

static tc_status describe_all(const tctune_session *s, char **json, tc_error *err) {
    if (s->now != &s->last)
        return tc_report_text(tc_report_tuning(s->now, tc_meas_db_path(s->db)), json, err);
    if (!s->told)
        return tc_fail(err, TC_BAD_INPUT, "the session has not run yet");
    return tc_report_text(json_incref(s->told), json, err);
}

tctune_status tctune_session_describe(const tctune_session *s, char **json, char *error, size_t error_size) {
    API_DOCUMENT(err, error, error_size, json, describe_all(s, json, &err));
}

tctune_status tctune_tune(tctune_work *work, const tctune_tune_options *options, char *error, size_t error_size) {
    tctune_session *s;
    tctune_status st = tctune_session_new(work, options, &s, error, error_size);
    if (st == TCTUNE_OK)
        st = tctune_session_run(s, error, error_size);
    tctune_session_free(s);
    return st;
}
