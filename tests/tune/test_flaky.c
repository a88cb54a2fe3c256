/* A candidate that fails only in some of its runs: the search goes on, the record becomes the failure, and nothing uses it,
 * neither this session, nor a later one, nor a build. The faults are real ones (flaky_worker.c). */
#include "session.h"

#include "capture.h"
#include "flaky_worker.h"
#include "measure/process/allotted.h"
#include "support/system/fs.h"
#include "tune/kernel/compare.h"
#include "tune/tune_int.h"

typedef struct fault {
    const char *name;
    tc_meas_error error;
    const char *said; /* a part of the message */
} fault;

static const fault wrong = {"wrong", TC_MEAS_WRONG_RESULT, "the reference has"}, crash = {"crash", TC_MEAS_RUN_CRASH, ""},
                   hang = {"hang", TC_MEAS_RUN_TIMEOUT, "after 2 s"};

static const char again[] = "failed when it was run again";

/* A folder for the go-between's files, and the task. */
typedef struct scene {
    bench *b;
    char *folder, path[4096];
    tc_tune_task task;
    double run_limit;   /* in seconds; 0: the usual one, which nothing but a fault comes near */
    double peak_gflops; /* 0: no task is ever at its roof */
} scene;

static scene begin_scene(bench *b, const fault *f) {
    scene s = {
        .b = b, .task = {.name = "gemm", .workload = parse(b->ctx, flaky_kernel), .weight = 1}, .run_limit = f == &hang ? 2 : 0};
    assert_int_equal(tc_fs_temp_dir(&s.folder, NULL), TC_OK);
    snprintf(s.path, sizeof s.path, "%s/victim", s.folder);
    setenv(FLAKY_STATE, s.path, 1);
    setenv(FLAKY_FAULT, f->name, 1);
    tc_log_set_level(TC_LOG_WARN);
    return s;
}

static void end_scene(scene *s) {
    tc_log_set_level(TC_LOG_ERROR);
    tc_fs_remove_tree(s->folder);
    free(s->folder);
}

/* Runs a session in which the victim fails from its run `from` on, and every other time. *warnings: how many had `text`. */
static tc_tune *run_session(scene *s, int trials, const char *from, const char *text, int *warnings) {
    tc_tune_options o = options(s->b, trials);
    tc_tune *t;
    tc_error err;
    capture c;
    o.measure.worker_arg = "flaky";
    o.measure.builders = 1;
    o.measure.run_limit = s->run_limit;
    o.patience = 4;
    o.seconds = 3600; /* of which contests may take a tenth */
    o.peak_gflops = s->peak_gflops;
    o.stop_at_roof = 1e-3;
    setenv(FLAKY_FROM, from, 1);
    if (tc_tune_new(&o, &s->task, 1, s->b->db, &t, &err) != TC_OK)
        fail_msg("%s", err.msg);
    begin_capture(&c);
    tc_status st = tc_tune_run(t, &err);
    *warnings = end_capture(&c, text);
    if (st != TC_OK)
        fail_msg("%s", err.msg);
    return t;
}

/* The record of the victim, of which there is one. */
static tc_record victim_record(const scene *s, tc_arena *a) {
    tc_meas_records r;
    tc_record found = {0};
    char *victim;
    int n = 0;
    assert_int_equal(tc_fs_read(s->path, &victim, NULL, NULL), TC_OK);
    assert_int_equal(tc_meas_db_select(s->b->db, a, &(tc_meas_filter){0}, &r, NULL), TC_OK);
    for (size_t i = 0; i < r.len; i++)
        if (strcmp(tc_arena_printf(a, "%s\n%s", r.data[i].workload, r.data[i].trace), victim) == 0) {
            found = r.data[i];
            n++;
        }
    assert_int_equal(n, 1);
    free(victim);
    return found;
}

/* What a build takes. */
static tc_record used_record(const scene *s, const tc_tune *t, tc_arena *a) {
    tc_meas_key key = {t->state[0].hash, t->target_hash, 1, 0};
    tc_record r;
    bool found;
    assert_int_equal(tc_meas_db_best(s->b->db, a, &key, &r, &found, NULL), TC_OK);
    assert_true(found);
    return r;
}

static void check_out(const scene *s, const tc_tune *t, const fault *f, tc_arena *a) {
    const tc_tune_state *now = &tc_tune_get_report(t)->task[0];
    tc_record bad = victim_record(s, a), used = used_record(s, t, a);
    assert_int_equal(bad.error, f->error);
    assert_false(bad.verified);
    assert_true(isinf(bad.median) && bad.ntimes == 0);
    if (!strstr(bad.message, "when it was run again") || !strstr(bad.message, f->said))
        fail_msg("the record says '%s'", bad.message);
    assert_string_not_equal(used.trace, bad.trace);
    assert_true(used.verified && used.rounds > 0);
    assert_true(now->best >= 1e-3 && now->best == used.median);
    assert_string_equal(now->form[now->winner].trace, used.trace);
}

/* Right when it was measured first, and by far the fastest, so that all others were given up early; then it fails. */
static void fails_in_the_contest(void **state, const fault *f) {
    tc_arena *a = tc_arena_new();
    scene s = begin_scene(*state, f);
    int warnings;
    tc_tune *t = run_session(&s, 18, "3", again, &warnings);
    const tc_tune_report *r = tc_tune_get_report(t);
    assert_int_equal(r->measured, 18); /* it went on */
    assert_int_equal(r->unreliable, 1);
    assert_int_equal(r->by_error[f->error], 1);
    assert_int_equal(r->by_error[TC_MEAS_NONE] + r->by_error[TC_MEAS_DUPLICATE], 17);
    assert_int_equal(r->task[0].valid, r->by_error[TC_MEAS_NONE]);
    assert_non_null(strstr(r->first_error, f->said));
    assert_int_equal(warnings, 1);
    check_out(&s, t, f, a);
    tc_tune_free(t);

    t = run_session(&s, 24, "3", again, &warnings);
    r = tc_tune_get_report(t);
    assert_int_equal(r->measured, 6);
    assert_int_equal(r->unreliable, 0);
    assert_int_equal(warnings, 0); /* it was said */
    check_out(&s, t, f, a);
    tc_tune_free(t);
    end_scene(&s);
    tc_arena_free(a);
}

static void crashes_now_and_then(void **state) {
    fails_in_the_contest(state, &crash);
}

static void is_wrong_now_and_then(void **state) {
    fails_in_the_contest(state, &wrong);
}

/* Nobody keeps workers from running, whoever else uses this machine: what hangs has failed. The linker gives this for
 * tc_meas_allotted_of. */
tc_meas_allotted __wrap_tc_meas_allotted_of(pid_t pid);
tc_meas_allotted __wrap_tc_meas_allotted_of(pid_t pid) {
    (void)pid;
    return (tc_meas_allotted){0};
}

static void hangs_now_and_then(void **state) {
    fails_in_the_contest(state, &hang);
}

/* So fast that it seemed to be at the machine's roof, which ended the search: the search goes on when it has failed. */
static void fails_at_the_roof(void **state) {
    tc_arena *a = tc_arena_new();
    scene s = begin_scene(*state, &wrong);
    int warnings;
    s.peak_gflops = 1e4; /* more than the victim seems to reach */
    tc_tune *t = run_session(&s, 18, "1000", again, &warnings);
    assert_int_equal(tc_tune_get_report(t)->end, TC_TUNE_END_AT_ROOF);
    assert_true(tc_tune_get_report(t)->measured < 18);
    tc_tune_free(t);
    end_scene(&s);

    tc_meas_db_close(s.b->db);
    assert_int_equal(tc_meas_db_open_memory(&s.b->db, NULL), TC_OK);
    s = begin_scene(*state, &wrong);
    s.peak_gflops = 1e4; /* more than the victim seems to reach */
    t = run_session(&s, 18, "3", again, &warnings);
    const tc_tune_report *r = tc_tune_get_report(t);
    assert_int_equal(r->end, TC_TUNE_END_TRIALS);
    assert_int_equal(r->measured, 18);
    assert_int_equal(r->unreliable, 1);
    assert_false(r->task[0].at_roof);
    check_out(&s, t, &wrong, a);
    tc_tune_free(t);
    end_scene(&s);
    tc_arena_free(a);
}

/* It held the title of a whole session; the next one, which finds nothing better, looks at it again. */
static void fails_in_a_later_session(void **state) {
    tc_arena *a = tc_arena_new();
    scene s = begin_scene(*state, &wrong);
    int warnings;
    tc_tune *t = run_session(&s, 18, "1000", again, &warnings);
    assert_int_equal(tc_tune_get_report(t)->unreliable, 0);
    assert_string_equal(used_record(&s, t, a).trace, victim_record(&s, a).trace);
    tc_tune_free(t);

    t = run_session(&s, 24, "0", again, &warnings);
    const tc_tune_report *r = tc_tune_get_report(t);
    assert_int_equal(r->unreliable, 1);
    assert_int_equal(r->by_error[TC_MEAS_WRONG_RESULT], 0); /* not one of this run's candidates */
    assert_int_equal(warnings, 1);
    check_out(&s, t, &wrong, a);
    tc_tune_free(t);
    end_scene(&s);
    tc_arena_free(a);
}

/* A fixed loop takes twice its time from some moment on: that is said once, and the run goes on. */
static void a_busy_machine_is_told_of_once(void **state) {
    tc_arena *a = tc_arena_new();
    scene s = begin_scene(*state, &wrong);
    int warnings;
    setenv(FLAKY_LOAD, "2", 1);
    tc_tune *t = run_session(&s, 30, "1000", "the machine was busy in", &warnings);
    unsetenv(FLAKY_LOAD);
    const tc_tune_report *r = tc_tune_get_report(t);
    assert_int_equal(warnings, 1);
    assert_int_equal(r->measured, 30);
    assert_true(r->calm.disturbed && r->calm.slowdown == 2);
    assert_true(used_record(&s, t, a).rounds >= TC_TUNE_MIN_ROUNDS);
    tc_tune_free(t);
    end_scene(&s);
    tc_arena_free(a);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "flaky") == 0)
        return flaky_worker_main();
    setenv("TCTUNE_CACHE", "off", 1); /* what these workers say is of no machine */
    const struct CMUnitTest tests[] = {
        SESSION_TEST(crashes_now_and_then), SESSION_TEST(is_wrong_now_and_then),    SESSION_TEST(hangs_now_and_then),
        SESSION_TEST(fails_at_the_roof),    SESSION_TEST(fails_in_a_later_session), SESSION_TEST(a_busy_machine_is_told_of_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
