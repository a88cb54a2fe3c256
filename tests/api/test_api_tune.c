/* Sessions: watched, stopped in every phase, gone on with, and what they leave in the database. */
#include "api_common.h"

#include <jansson.h>
#include <math.h>
#include <pthread.h>

static const char db[] = SCRATCH("api_tune.db");

typedef struct seen {
    int events, stop_at; /* stop_at: the event that is enough; -1: none */
    int kinds[TCTUNE_EVENT_COMPARED + 1];
    int trials, tasks;
    double best;
} seen;

static int watch(void *user, const tctune_event *e) {
    seen *s = user;
    assert_true(e->struct_size >= sizeof *e);
    s->kinds[e->kind]++;
    assert_true(e->report->trials >= s->trials); /* never fewer */
    s->trials = e->report->trials;
    s->tasks = e->report->tasks;
    if (e->task >= 0) {
        tctune_task_state t = {.struct_size = sizeof t};
        OK(tctune_session_task(e->session, e->task, &t, error, sizeof error));
        assert_string_equal(t.name, e->name);
        assert_true(t.best > 0);
        s->best = t.best;
    }
    return s->events++ == s->stop_at;
}

static tctune_tune_options options_of(seen *s) {
    return (tctune_tune_options){.struct_size = sizeof(tctune_tune_options),
                                 .database = db,
                                 .trials = 8,
                                 .threads = 1,
                                 .batch = 4,
                                 .deterministic = 1,
                                 .progress = watch,
                                 .user = s};
}

static tctune_report report_of(const tctune_session *s) {
    tctune_report r = {.struct_size = sizeof r};
    OK(tctune_session_report(s, &r, error, sizeof error));
    return r;
}

static void test_measures(void **state) {
    (void)state;
    seen s = {.stop_at = -1};
    tctune_tune_options o = options_of(&s);
    tctune_work *w = open_text(gemm_text);
    tctune_session *session;
    tctune_task_state t = {.struct_size = sizeof t};
    remove_database(db);
    o.deterministic = 0;
    OK(tctune_session_new(w, &o, &session, error, sizeof error));
    tctune_work_free(w); /* the session keeps it */
    assert_int_equal(report_of(session).trials, 0);
    assert_true(isinf(report_of(session).latency));
    REFUSED(TCTUNE_BAD_INPUT, "no task 0", tctune_session_task(session, 0, &t, error, sizeof error));
    OK(tctune_session_run(session, error, sizeof error));
    tctune_report r = report_of(session);
    assert_int_equal(r.tasks, 1);
    assert_true(r.trials > 0 && r.measured == r.trials && isfinite(r.latency)); /* a kernel at its roof gets no more */
    assert_true(*r.end);
    OK(tctune_session_task(session, 0, &t, error, sizeof error));
    assert_string_equal(t.name, "gemm");
    assert_true(t.valid > 0 && t.best > 0 && *t.trace && *t.form && t.flops == 2.0 * 48 * 64 * 32);
    assert_true(fabs(t.best - r.latency) < 1e-12);
    assert_true(s.kinds[TCTUNE_EVENT_STARTED] == 1 && s.kinds[TCTUNE_EVENT_SEARCHED] == 1 &&
                s.kinds[TCTUNE_EVENT_ROUND_DONE] > 0);
    OK(tctune_session_run(session, error, sizeof error)); /* little is left to do */
    assert_true(report_of(session).trials >= r.trials);   /* earlier ones may be timed again */
    tctune_session_free(session);

    tctune_database *d;
    tctune_records *l;
    tctune_query q = {.struct_size = sizeof q, .verified = 1, .order = TCTUNE_ORDER_BY_RANK, .limit = 1};
    tctune_record best = {.struct_size = sizeof best};
    OK(tctune_database_open(db, TCTUNE_ACCESS_READ, &d, error, sizeof error));
    OK(tctune_database_records(d, &q, &l, error, sizeof error));
    tctune_database_close(d);
    assert_int_equal(tctune_records_count(l), 1);
    OK(tctune_records_get(l, 0, &best, error, sizeof error));
    assert_true(best.verified && best.median > 0 && best.ntimes > 0);
    tctune_records_free(l);
}

/* Stopped at each event in turn it ends, says so, and goes on; what all of them leave is what one session does. */
static void test_stopped_at_every_event(void **state) {
    (void)state;
    tctune_work *w = open_text(gemm_text);
    int last = 0;
    for (int at = 0;; at++) {
        seen s = {.stop_at = at};
        tctune_tune_options o = options_of(&s);
        tctune_session *session;
        remove_database(db);
        OK(tctune_session_new(w, &o, &session, error, sizeof error));
        tctune_status st = tctune_session_run(session, error, sizeof error);
        if (st == TCTUNE_OK) {
            assert_true(s.events <= at);
            tctune_session_free(session);
            break;
        }
        assert_int_equal(st, TCTUNE_STOPPED);
        assert_non_null(strstr(error, db));
        int before = report_of(session).trials;
        OK(tctune_session_run(session, error, sizeof error));
        assert_true(report_of(session).trials >= 8 && report_of(session).trials >= before);
        last = at;
        tctune_session_free(session);
    }
    assert_true(last >= 4);
    tctune_work_free(w);
}

static void *stop_soon(void *session) {
    usleep(300000);
    tctune_session_stop(session);
    return NULL;
}

/* A document says what the structs say; a flag of the caller's ends a run, and is the caller's to clear. */
/* A callback that frees the session, at some event, and first runs it once more. */
typedef struct freer {
    tctune_session *session;
    int events, free_at;
    bool is_freed;
} freer;

static int free_session(void *user, const tctune_event *e) {
    freer *f = user;
    assert_false(f->is_freed); /* nothing is told of it any more */
    assert_ptr_equal(e->session, f->session);
    REFUSED(TCTUNE_BAD_INPUT, "this session is running", tctune_session_run(f->session, error, sizeof error));
    f->is_freed = f->events++ == f->free_at;
    if (f->is_freed)
        tctune_session_free(f->session);
    return 0;
}

static void test_freed_by_its_callback(void **state) {
    (void)state;
    freer f = {.is_freed = true};
    for (int at = 0; f.is_freed; at++) {
        tctune_session *session;
        tctune_work *w = open_text(gemm_text);
        tctune_tune_options o = options_of(NULL);
        f = (freer){.free_at = at};
        o.progress = free_session;
        o.user = &f;
        remove_database(db);
        OK(tctune_session_new(w, &o, &session, error, sizeof error));
        tctune_work_free(w);
        f.session = session;
        tctune_status s = tctune_session_run(session, error, sizeof error);
        assert_int_equal(s, f.is_freed ? TCTUNE_STOPPED : TCTUNE_OK);
        if (!f.is_freed)
            tctune_session_free(session);
        assert_true(f.is_freed || at > 4); /* each event was tried */
    }
    remove_database(db);
}

static void test_described(void **state) {
    (void)state;
    seen s = {.stop_at = -1};
    volatile int stop = 0;
    tctune_tune_options o = options_of(&s);
    tctune_work *w = open_text(gemm_text);
    tctune_session *session;
    tctune_task_state t = {.struct_size = sizeof t};
    char *text;
    remove_database(db);
    o.stop = &stop;
    OK(tctune_session_new(w, &o, &session, error, sizeof error));
    REFUSED(TCTUNE_BAD_INPUT, "not run yet", tctune_session_describe(session, &text, error, sizeof error));
    OK(tctune_session_run(session, error, sizeof error));
    tctune_report r = report_of(session);
    OK(tctune_session_task(session, 0, &t, error, sizeof error));
    OK(tctune_session_describe(session, &text, error, sizeof error));
    json_t *j = json_loads(text, 0, NULL), *task = json_array_get(json_object_get(j, "tasks"), 0);
    tctune_text_free(text);
    assert_int_equal(json_integer_value(json_object_get(j, "trials")), r.trials);
    assert_string_equal(json_string_value(json_object_get(j, "end")), r.end);
    assert_string_equal(json_string_value(json_object_get(task, "hash")), t.hash);
    assert_true(fabs(json_number_value(json_object_get(task, "best_ms")) - t.best * 1e3) < 1e-12);
    assert_true(t.forms >= 1 && t.peak == 0); /* where times are computed nothing is measured */
    json_decref(j);
    stop = 1;
    assert_int_equal(tctune_session_run(session, error, sizeof error), TCTUNE_STOPPED);
    assert_int_equal(stop, 1);
    tctune_session_free(session);
    tctune_work_free(w);
    OK(tctune_tune_check(&o, error, sizeof error));
    o.search = "luck";
    REFUSED(TCTUNE_BAD_INPUT, "search: ", tctune_tune_check(&o, error, sizeof error));
    o.search = NULL;
    o.trials = 0;
    REFUSED(TCTUNE_BAD_INPUT, "budget", tctune_tune_check(&o, error, sizeof error));
}

static void test_stopped_by_a_thread(void **state) {
    (void)state;
    seen s = {.stop_at = -1};
    tctune_tune_options o = options_of(&s);
    tctune_work *w = open_text(gemm_text);
    tctune_session *session;
    pthread_t thread;
    remove_database(db);
    o.trials = 0;
    o.seconds = 600;
    o.deterministic = 0;
    OK(tctune_session_new(w, &o, &session, error, sizeof error));
    assert_int_equal(pthread_create(&thread, NULL, stop_soon, session), 0);
    REFUSED(TCTUNE_STOPPED, "goes on", tctune_session_run(session, error, sizeof error));
    pthread_join(thread, NULL);
    tctune_session_free(session);
    tctune_work_free(w);
}

static void test_bad_options(void **state) {
    (void)state;
    static const char *const missing[] = {"/no/such/file.jsonl", NULL};
    tctune_work *w = open_text(gemm_text);
    tctune_session *session;
    seen s = {.stop_at = -1};
    struct {
        const char *why;
        tctune_tune_options o;
    } cases[] = {{"the database is missing", options_of(&s)},
                 {"budget is missing", options_of(&s)},
                 {"not be negative", options_of(&s)},
                 {"ways", options_of(&s)},
                 {"no phase", options_of(&s)},
                 {"strict, default or fast", options_of(&s)},
                 {"f32, bf16 or auto", options_of(&s)},
                 {"hot or cold", options_of(&s)},
                 {"does not run on this machine", options_of(&s)},
                 {"struct_size", options_of(&s)},
                 {"/no/such/file", options_of(&s)},
                 {"/no/such", options_of(&s)},
                 {"threads", options_of(&s)}};
    cases[0].o.database = NULL;
    cases[1].o.trials = 0;
    cases[2].o.seconds = -1;
    cases[3].why = "there is no search";
    cases[3].o.search = "luck";
    cases[4].o.phases = "descent,magic";
    cases[5].o.accuracy = "soon";
    cases[6].o.precision = "f16";
    cases[7].o.deterministic = 0;
    cases[7].o.mode = "warm";
    cases[8].o.target = "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-v1";
    cases[9].o.struct_size = 0;
    cases[10].o.start_from = missing;
    cases[11].o.database = "/no/such/folder/x.db";
    cases[12].o.threads = -1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        REFUSED(cases[i].why[0] == '/' && i == 11 ? TCTUNE_ENVIRONMENT : TCTUNE_BAD_INPUT, cases[i].why,
                tctune_session_new(w, &cases[i].o, &session, error, sizeof error));
    assert_null(session);
    tctune_work_free(w);
}

/* A program that was compiled with a newer header asks for what this library does not know, and one with an older one does not
 * ask. */
static void test_structs_of_other_versions(void **state) {
    (void)state;
    struct {
        tctune_work_options o;
        int64_t more;
    } newer = {.o = {.struct_size = sizeof newer, .te_text = gemm_text}};
    tctune_work *w;
    tctune_task t = {.struct_size = sizeof t}, first = {.struct_size = offsetof(tctune_task, workload), .workload = "untouched"};
    OK(tctune_open(&newer.o, &w, error, sizeof error));
    tctune_work_free(w);
    newer.more = 1;
    REFUSED(TCTUNE_BAD_INPUT, "install a newer library", tctune_open(&newer.o, &w, error, sizeof error));
    newer.o.struct_size = offsetof(tctune_work_options, seed);
    OK(tctune_open(&newer.o, &w, error, sizeof error));
    OK(tctune_work_task(w, 0, &t, error, sizeof error));
    assert_true(t.struct_size == sizeof t && *t.workload && strlen(t.hash) >= 32);
    OK(tctune_work_task(w, 0, &first, error, sizeof error));
    assert_string_equal(first.name, t.name);
    assert_string_equal(first.workload, "untouched");
    REFUSED(TCTUNE_BAD_INPUT, "no task 1", tctune_work_task(w, 1, &t, error, sizeof error));
    tctune_work_free(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_measures),
        cmocka_unit_test(test_stopped_at_every_event),
        cmocka_unit_test(test_freed_by_its_callback),
        cmocka_unit_test(test_described),
        cmocka_unit_test(test_stopped_by_a_thread),
        cmocka_unit_test(test_bad_options),
        cmocka_unit_test(test_structs_of_other_versions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
