/* Tuning sessions on small kernels, measured for real: trials are spent, recorded and resumed; a stop is obeyed; failure is a
 * failure. The executable is its own worker. */
#include "support/cmocka_all.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "measure/worker.h"
#include "support/vec.h"
#include "te/text.h"
#include "tune/tune.h"

static const char dense[] =
    "tensor X[24, 32] f32\ntensor W[32, 48] f32 const\ntensor B[48] f32 const\n"
    "compute D[i:24, j:48] = sum(k:32) X[i, k] * W[k, j]\ncompute Y[i:24, j:48] = gelu(D[i, j] + B[j])\noutput Y\n";
/* The same kernel under other names: one task. */
static const char renamed[] =
    "tensor A[24, 32] f32\ntensor V[32, 48] f32 const\ntensor C[48] f32 const\n"
    "compute E[a:24, b:48] = sum(c:32) A[a, c] * V[c, b]\ncompute Z[a:24, b:48] = gelu(E[a, b] + C[b])\noutput Z\n";
static const char rows[] =
    "tensor X[40, 64] f32\ncompute m[i:40] = max(k:64) X[i, k]\ncompute e[i:40, j:64] = exp(X[i, j] - m[i])\n"
    "compute s[i:40] = sum(k:64) e[i, k]\ncompute Y[i:40, j:64] = e[i, j] / s[i]\noutput Y\n";

typedef struct bench {
    tc_ctx *ctx;
    tc_target *target;
    tc_tune_task task[3];
    tc_meas_db *db;
} bench;

static const tc_workload *parse(tc_ctx *c, const char *text) {
    const tc_workload *w;
    tc_error err;
    if (tc_te_parse(c, "kernel", text, &w, &err) != TC_OK)
        fail_msg("%s", err.msg);
    return w;
}

static int setup(void **state) {
    bench *b = tc_xcalloc(1, sizeof *b);
    tc_error err;
    b->ctx = tc_ctx_new();
    assert_int_equal(tc_target_parse("native", &b->target, &err), TC_OK);
    assert_int_equal(tc_meas_db_open_memory(&b->db, &err), TC_OK);
    b->task[0] = (tc_tune_task){"dense", parse(b->ctx, dense), 12};
    b->task[1] = (tc_tune_task){"rows", parse(b->ctx, rows), 1};
    b->task[2] = (tc_tune_task){"renamed", parse(b->ctx, renamed), 2};
    *state = b;
    return 0;
}

static int teardown(void **state) {
    bench *b = *state;
    tc_meas_db_close(b->db);
    tc_target_free(b->target);
    tc_ctx_free(b->ctx);
    free(b);
    return 0;
}

static tc_tune_options options(const bench *b, int trials) {
    return (tc_tune_options){.target = b->target,
                             .trials = trials,
                             .threads = 1,
                             .batch = 6,
                             .seed = 5,
                             .measure = {.samples = 3, .min_sample = 1e-4}};
}

static tc_tune *open_tune(bench *b, const tc_tune_options *o) {
    tc_tune *t;
    tc_error err;
    if (tc_tune_new(o, b->task, 3, b->db, &t, &err) != TC_OK)
        fail_msg("%s", err.msg);
    return t;
}

static void run_tune(tc_tune *t) {
    tc_error err;
    if (tc_tune_run(t, &err) != TC_OK)
        fail_msg("%s", err.msg);
}

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
        assert_non_null(r->task[i].trace);
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

static void stop_soon(void *user, tc_tune_event e, int task, const tc_tune_report *r) {
    stopper *s = user;
    (void)task;
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

static void test_bad_options_are_refused(void **state) {
    bench *b = *state;
    tc_error err;
    tc_tune *t;
    tc_tune_options o = options(b, 0);
    assert_int_equal(tc_tune_new(&o, b->task, 3, b->db, &t, &err), TC_BAD_INPUT);
    o.trials = 5;
    assert_int_equal(tc_tune_new(&o, b->task, 0, b->db, &t, &err), TC_BAD_INPUT);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return tc_meas_worker_main(TC_MEAS_WORKER_FD, TC_MEAS_WORKER_FD);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_trials_are_spent_and_resumed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_stop_keeps_what_was_measured, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nothing_measured_is_a_failure, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bad_options_are_refused, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
