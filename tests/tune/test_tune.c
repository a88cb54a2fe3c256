/* Tuning sessions on small kernels, measured for real: trials are spent, recorded and resumed; a stop is obeyed; failure is a
 * failure. The executable is its own worker. */
#include "session.h"

#include "capture.h"
#include "measure/measure_int.h"
#include "tune/tune_int.h"

static void test_trials_are_spent_and_resumed(void **state) {
    bench *b = *state;
    tc_error err;
    tc_tune_options o = options(b, 18);
    tc_tune *t = open_tune(b, &o);
    run_tune(t);
    const tc_tune_report *r = tc_tune_get_report(t);
    assert_int_equal(r->ntask, 2); /* the renamed kernel is the first one again */
    assert_true(r->task[0].weight == 14);
    assert_int_equal(r->trials, 18);
    assert_int_equal(r->measured, 18);
    for (int i = 0; i < r->ntask; i++) {
        assert_true(isfinite(r->task[i].best) && r->task[i].best > 0);
        assert_non_null(r->task[i].form[r->task[i].winner].trace);
    }
    assert_true(isfinite(r->latency));
    tc_meas_counts c;
    assert_int_equal(tc_meas_db_count(b->db, &(tc_meas_filter){0}, &c, &err), TC_OK);
    assert_int_equal(c.total, 18);
    double best = r->task[0].best;
    tc_tune_free(t);

    t = open_tune(b, &o); /* all trials are there: nothing to do */
    run_tune(t);
    assert_int_equal(tc_tune_get_report(t)->measured, 0);
    assert_true(tc_tune_get_report(t)->task[0].best == best);
    tc_tune_free(t);

    o.trials = 24;
    t = open_tune(b, &o);
    run_tune(t);
    assert_int_equal(tc_tune_get_report(t)->measured, 6);
    tc_tune_free(t);
}

typedef struct stopper {
    volatile sig_atomic_t stop;
    int events;
} stopper;

static void stop_soon(void *user, tc_tune_event e, int which, const tc_tune_report *r) {
    stopper *s = user;
    (void)which;
    s->events++;
    if (e == TC_TUNE_MEASURED && r->measured == 2)
        s->stop = 1;
}

static void test_a_stop_keeps_what_was_measured(void **state) {
    bench *b = *state;
    tc_error err;
    stopper s = {0};
    tc_tune_options o = options(b, 60);
    o.stop = &s.stop;
    o.progress = stop_soon;
    o.user = &s;
    tc_tune *t = open_tune(b, &o);
    run_tune(t);
    int measured = tc_tune_get_report(t)->measured;
    assert_in_range(measured, 2, 12);
    tc_meas_counts c;
    assert_int_equal(tc_meas_db_count(b->db, &(tc_meas_filter){0}, &c, &err), TC_OK);
    assert_int_equal(c.total, measured);
    assert_true(s.events > 3);
    tc_tune_free(t);
}

static void test_nothing_measured_is_a_failure(void **state) {
    bench *b = *state;
    tc_error err = {0};
    tc_tune_options o = options(b, 6);
    o.measure.exe = "/bin/false";
    tc_tune *t = NULL;
    tc_status st = tc_tune_new(&o, b->task, 3, b->db, &t, &err);
    if (st == TC_OK)
        st = tc_tune_run(t, &err);
    assert_int_equal(st, TC_ENV);
    assert_true(strlen(err.msg) > 10);
    tc_tune_free(t);
}

/* A stored model of another feature version is said once to be of no use; the search goes on and stores one of its own. */
static void test_another_model_version_is_replaced(void **state) {
    bench *b = *state;
    tc_arena *a = tc_arena_new();
    tc_error err;
    capture c;
    const void *data;
    size_t size;
    tc_tune_options o = simulated(b, 48);
    tc_tune *t = open_tune(b, &o);
    tc_digest target = t->target_hash;
    run_tune(t);
    tc_tune_free(t);
    assert_int_equal(tc_meas_db_get_model(b->db, a, target, "cost-simulated", &data, &size, &err), TC_OK);
    assert_non_null(data);
    const void *real; /* of times that were taken */
    assert_int_equal(tc_meas_db_get_model(b->db, a, target, "cost", &real, &size, &err), TC_OK);
    assert_null(real);
    assert_int_equal(tc_meas_db_get_model(b->db, a, target, "cost-simulated", &data, &size, &err), TC_OK);
    char *other = tc_arena_dup(a, data, size);
    other[12] = 99; /* feature version, after the magic and the format */
    assert_int_equal(tc_meas_db_put_model(b->db, target, "cost-simulated", other, size, &err), TC_OK);
    tc_log_set_level(TC_LOG_WARN);
    begin_capture(&c);
    o.trials = 96;
    t = open_tune(b, &o);
    run_tune(t);
    int measured = tc_tune_get_report(t)->measured;
    tc_tune_free(t);
    tc_log_set_level(TC_LOG_ERROR);
    assert_int_equal(end_capture(&c, "trained on feature version 99"), 1);
    assert_int_equal(measured, 48);
    assert_int_equal(tc_meas_db_get_model(b->db, a, target, "cost-simulated", &data, &size, &err), TC_OK);
    tc_cost_model *m = tc_cost_new();
    assert_int_equal(tc_cost_from_bytes(m, "stored", data, size, &err), TC_OK);
    tc_cost_free(m);
    tc_arena_free(a);
}

/* A database of another CPU is said once to be one; its schedules are among the first candidates. */
static void test_records_of_another_cpu_are_a_start(void **state) {
    bench *b = *state;
    tc_arena *a = tc_arena_new();
    tc_error err;
    capture c;
    tc_meas_records r;
    tc_tune_options o = simulated(b, 24);
    tc_tune *t = open_tune(b, &o);
    run_tune(t);
    tc_tune_free(t);
    assert_int_equal(tc_meas_db_select(b->db, a, &(tc_meas_filter){0}, &r, &err), TC_OK);
    tc_meas_db_close(b->db);
    assert_int_equal(tc_meas_db_open_memory(&b->db, &err), TC_OK);
    for (size_t i = 0; i < r.len; i++)
        tc_meas_record_identify(a, &r.data[i], r.data[i].workload, r.data[i].workload_hash, "llvm -mcpu=another",
                                r.data[i].trace);
    assert_int_equal(tc_meas_db_insert(b->db, r.data, r.len, &err), TC_OK);
    tc_log_set_level(TC_LOG_WARN);
    for (int again = 0; again < 2; again++) {
        begin_capture(&c);
        o.trials = again ? 36 : 24;
        t = open_tune(b, &o);
        run_tune(t);
        assert_int_equal(end_capture(&c, "none of its 24 records is for this target"), again ? 0 : 1);
        assert_int_equal(tc_tune_get_report(t)->measured, again ? 12 : 24);
        assert_true(again || tc_tune_get_report(t)->tried[TC_TUNE_TRANSFER] > 0);
        tc_tune_free(t);
    }
    tc_log_set_level(TC_LOG_ERROR);
    tc_arena_free(a);
}

/* What an emulated processor measured is for searches on such processors: another neither knows it, nor begins with it, nor with
 * what was learnt from it. Times are computed here, whatever their mode says. */
static void test_emulated_records_stay_among_themselves(void **state) {
    bench *b = *state;
    static const tc_meas_mode modes[] = {TC_MEAS_EMULATED, TC_MEAS_HOT, TC_MEAS_EMULATED};
    static const int trials[] = {24, 12, 30}, measured[] = {24, 12, 6};
    tc_error err;
    tc_arena *a = tc_arena_new();
    tc_tune_options o = simulated(b, 0);
    o.timing = TC_TUNE_HOT;
    o.measure.carrier = &tc_meas_simulated;
    for (int i = 0; i < 3; i++) {
        o.measure.mode = modes[i];
        o.trials = trials[i];
        tc_tune *t = open_tune(b, &o);
        run_tune(t);
        const tc_tune_report *r = tc_tune_get_report(t);
        assert_int_equal(r->measured, measured[i]);
        assert_true(i != 1 || r->tried[TC_TUNE_TRANSFER] == 0);
        const void *data;
        size_t size;
        assert_int_equal(tc_meas_db_get_model(b->db, a, t->target_hash, "cost", &data, &size, &err), TC_OK);
        assert_true(i > 0 || !data);
        tc_tune_free(t);
    }
    tc_meas_counts c;
    tc_meas_filter f = {.mode = tc_meas_mode_text(TC_MEAS_EMULATED)};
    assert_int_equal(tc_meas_db_count(b->db, &f, &c, &err), TC_OK);
    assert_int_equal(c.total, 30);
    f = (tc_meas_filter){.real = true};
    assert_int_equal(tc_meas_db_count(b->db, &f, &c, &err), TC_OK);
    assert_int_equal(c.total, 12);
    tc_arena_free(a);
}

/* Of a kernel that no constructed schedule can express plain loops are tried. Where these cannot run either, the reason is told, and
 * the others get its trials. */
static void test_a_task_that_nothing_can_run(void **state) {
    bench *b = *state;
    static const char huge[] = "tensor X[4000000, 4000000] f32\ncompute Y[i:4000000, j:4000000] = X[i, j] + 1.0\noutput Y\n";
    tc_error err;
    capture c;
    tc_tune *t;
    tc_tune_options o = options(b, 12);
    b->task[0] = (tc_tune_task){.name = "huge", .workload = parse(b->ctx, huge), .weight = 1};
    tc_log_set_level(TC_LOG_WARN);
    begin_capture(&c);
    assert_int_equal(tc_tune_new(&o, b->task, 2, b->db, &t, &err), TC_OK);
    tc_status st = tc_tune_run(t, &err);
    tc_log_set_level(TC_LOG_ERROR);
    assert_true(end_capture(&c, "plain loops are used, because no constructed schedule can be lowered: ") > 0);
    assert_int_equal(st, TC_OK);
    const tc_tune_report *r = tc_tune_get_report(t);
    assert_true(r->task[0].trials == 1 && isinf(r->task[0].best) && r->task[0].winner == -1 && r->task[0].exhausted);
    assert_non_null(strstr(r->task[0].failure, "out of memory"));
    assert_string_equal(r->first_error, r->task[0].failure);
    assert_true(r->task[1].trials == 11 && isfinite(r->task[1].best));
    tc_tune_free(t);

    tc_meas_db_close(b->db);
    assert_int_equal(tc_meas_db_open_memory(&b->db, &err), TC_OK);
    assert_int_equal(tc_tune_new(&o, b->task, 1, b->db, &t, &err), TC_OK); /* with nothing else to tune it is a failure */
    assert_int_equal(tc_tune_run(t, &err), TC_ENV);
    assert_non_null(strstr(err.msg, "out of memory"));
    tc_tune_free(t);
}

/* One of which nothing can be measured leaves its trials to the others. */
static void test_a_dead_task_is_passed_over(void **state) {
    bench *b = *state;
    tc_tune_options o = simulated(b, 24);
    tc_tune *t = open_tune(b, &o);
    for (int f = 0; f < t->task[0].nform; f++)
        t->task[0].form[f].failed_rounds = 3;
    run_tune(t);
    const tc_tune_report *r = tc_tune_get_report(t);
    assert_int_equal(r->task[0].trials, 0);
    assert_int_equal(r->task[1].trials, 24);
    assert_true(isinf(r->latency) && isfinite(r->task[1].best));
    tc_tune_free(t);
}

static void test_bad_options_are_refused(void **state) {
    bench *b = *state;
    tc_error err;
    tc_tune *t;
    tc_tune_options o = options(b, 0);
    assert_int_equal(tc_tune_new(&o, b->task, 3, b->db, &t, &err), TC_BAD_INPUT);
    o.trials = 5;
    assert_int_equal(tc_tune_new(&o, b->task, 0, b->db, &t, &err), TC_BAD_INPUT);
}

/* What could run in place of others ran in turns with them, by what each of them is best by, and that is one comparison. */
static void test_what_could_be_one_runs_beside(void **state) {
    static const char producer[] = "tensor X[24, 32] f32\ncompute M[i:24, k:32] = max(X[i, k], 0.0)\noutput M\n",
                      anchor[] = "tensor M[24, 32] f32\ntensor W[32, 48] f32 const\n"
                                 "compute Y[i:24, j:48] = sum(k:32) M[i, k] * W[k, j]\noutput Y\n",
                      whole[] = "tensor X[24, 32] f32\ntensor W[32, 48] f32 const\n"
                                "compute M[i:24, k:32] = max(X[i, k], 0.0)\n"
                                "compute Y[i:24, j:48] = sum(k:32) M[i, k] * W[k, j]\noutput Y\n";
    static const int instead[] = {0, 1};
    bench *b = *state;
    const tc_tune_task tasks[] = {
        {.name = "producer", .workload = parse(b->ctx, producer), .weight = 1},
        {.name = "anchor", .workload = parse(b->ctx, anchor), .weight = 1},
        {.name = "whole", .workload = parse(b->ctx, whole), .weight = 1, .ninstead = TC_LEN(instead), .instead = instead}};
    tc_tune_options o = options(b, 18);
    tc_tune *t;
    tc_error err;
    tc_meas_records r;
    tc_arena *a = tc_arena_new();
    assert_int_equal(tc_tune_new(&o, tasks, TC_LEN(tasks), b->db, &t, &err), TC_OK);
    run_tune(t);
    assert_int_equal(tc_meas_db_select(b->db, a, &(tc_meas_filter){.mode = "beside", .verified = true}, &r, &err), TC_OK);
    const tc_tune_report *found = tc_tune_get_report(t);
    bool behind = tc_tune_behind(t, 2);
    assert_int_equal(r.len, behind ? 0 : 3);
    for (size_t i = 0; i < r.len; i++) {
        const tc_tune_state *s = &found->task[(i + 2) % 3]; /* the whole comes first */
        assert_string_equal(r.data[i].workload_hash.hex, s->hash.hex);
        assert_string_equal(r.data[i].trace, s->form[s->winner].trace);
        assert_true(r.data[i].when_ms == r.data[0].when_ms && r.data[i].ntimes == r.data[0].ntimes && r.data[i].ntimes > 6);
    }
    tc_tune_free(t);
    tc_arena_free(a);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return tc_meas_worker_main(TC_MEAS_WORKER_FD, TC_MEAS_WORKER_FD);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_trials_are_spent_and_resumed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_stop_keeps_what_was_measured, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nothing_measured_is_a_failure, setup, teardown),
        cmocka_unit_test_setup_teardown(test_another_model_version_is_replaced, setup, teardown),
        cmocka_unit_test_setup_teardown(test_records_of_another_cpu_are_a_start, setup, teardown),
        cmocka_unit_test_setup_teardown(test_emulated_records_stay_among_themselves, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_task_that_nothing_can_run, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_dead_task_is_passed_over, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_could_be_one_runs_beside, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bad_options_are_refused, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
