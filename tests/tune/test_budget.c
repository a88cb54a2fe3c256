/* Budgets: a run ends by time, by trials, at the roof, or when nothing is gained; and a tuned model is left alone. */
#include "session.h"

#include "support/log.h"
#include "tune/tune_int.h"

/* The time is up as soon as a candidate was measured, however long that took. */
static void end_the_time(void *user, tc_tune_event e, int i, const tc_tune_report *r) {
    tc_tune **t = user;
    (void)i;
    if (e == TC_TUNE_MEASURED && r->by_error[TC_MEAS_NONE] > 0)
        (*t)->deadline = 0;
}

static void time_ends_a_run(void **state) {
    bench *b = *state;
    tc_tune *t = NULL;
    tc_tune_options o = options(b, 0);
    o.seconds = 3600;
    o.progress = end_the_time;
    o.user = &t;
    t = open_tune(b, &o);
    run_tune(t);
    const tc_tune_report *r = tc_tune_get_report(t);
    assert_int_equal(r->end, TC_TUNE_END_TIME);
    assert_true(r->measured > 0 && r->measured <= 6);
    tc_tune_free(t);
}

static void the_first_limit_counts(void **state) {
    bench *b = *state;
    tc_tune_options o = options(b, 12);
    o.seconds = 3600;
    tc_tune *t = open_tune(b, &o);
    run_tune(t);
    assert_int_equal(tc_tune_get_report(t)->end, TC_TUNE_END_TRIALS);
    assert_int_equal(tc_tune_get_report(t)->measured, 12);
    tc_tune_free(t);
}

static void no_time_is_an_error(void **state) {
    bench *b = *state;
    tc_error err = {0};
    tc_tune_options o = options(b, 0);
    o.seconds = 1e-6;
    tc_tune *t = open_tune(b, &o);
    assert_int_equal(tc_tune_run(t, &err), TC_ENV);
    assert_non_null(strstr(err.msg, "time"));
    tc_tune_free(t);
}

static void the_roof_ends_a_task(void **state) {
    bench *b = *state;
    tc_tune_options o = options(b, 1000);
    o.peak_gflops = 1e-3; /* measured under load, as it were */
    o.stop_at_roof = 1e-9;
    for (int again = 0; again < 2; again++) {
        tc_tune *t = open_tune(b, &o);
        t->report.peak.known_gflops =
            o.peak_gflops; /* by an earlier session: whether others use the machine now does not matter */
        run_tune(t);
        const tc_tune_report *r = tc_tune_get_report(t);
        assert_int_equal(r->end, TC_TUNE_END_AT_ROOF);
        assert_true(r->task[0].at_roof && r->task[1].at_roof);
        assert_int_equal(r->measured, again ? 0 : 12); /* a round each, and then it is left alone */
        tc_tune_free(t);
    }
    o.stop_at_roof = 1e9; /* a roof that nothing reaches */
    o.trials = 18;
    tc_tune *t = open_tune(b, &o);
    run_tune(t);
    assert_int_equal(tc_tune_get_report(t)->measured, 6);
    tc_tune_free(t);
}

/* A task that has not gained goes last; where only time is given, it ends in the end. */
static void patience_ends(void **state) {
    bench *b = *state;
    tc_tune_options o = options(b, 0);
    o.seconds = 3600;
    o.patience = 10;
    tc_tune *t = open_tune(b, &o);
    for (int i = 0; i < 2; i++) {
        t->state[i].best = t->task[i].found[0].best = 1;
        t->task[i].rounds = t->task[i].form[0].rounds = 1;
        tc_push(&t->task[i].history, 1.0);
        tc_tune_settle(t, i, INFINITY, 6); /* a gain: from nothing to something */
        assert_int_equal(t->state[i].since_gain, 0);
    }
    tc_tune_settle(t, 0, 1, 12);
    assert_true(t->state[0].settled && !t->state[1].settled);
    assert_int_equal(tc_tune_next_task(t), 1);
    t->state[1].best = 0.9;
    tc_tune_settle(t, 1, 1, 9);
    assert_int_equal(t->state[1].since_gain, 0);
    t->state[1].best = 0.8999;
    tc_tune_settle(t, 1, 0.9, 10); /* too little to count */
    assert_true(t->state[1].settled);
    assert_true(tc_tune_next_task(t) >= 0); /* there is time: both may go on */
    tc_tune_settle(t, 0, 1, 30);
    assert_int_equal(tc_tune_next_task(t), 1);
    tc_tune_settle(t, 1, 0.9, 30);
    assert_int_equal(tc_tune_next_task(t), -1);
    assert_int_equal(tc_tune_why_ended(t), TC_TUNE_END_NO_GAIN);
    t->o.trials = 1000; /* trials that were asked for are spent */
    assert_true(tc_tune_next_task(t) >= 0);
    tc_tune_free(t);
}

/* A kernel that could run in place of others counts where it is faster, and is given up where it is far behind. */
static void what_could_run_instead(void **state) {
    static const int instead[] = {0, 1};
    bench *b = *state;
    tc_tune_options o = simulated(b, 1000);
    b->task[2] = (tc_tune_task){.name = "both",
                                .workload = parse(b->ctx, "tensor X[9] f32\ncompute Y[i:9] = exp(X[i])\noutput Y\n"),
                                .weight = 1,
                                .ninstead = 2,
                                .instead = instead};
    tc_tune *t = open_tune(b, &o);
    t->state[0].best = 2;
    t->state[1].best = 3;
    assert_true(tc_tune_latency(t) == 12 * 2 + 3); /* without a time it does not run */
    t->state[2].best = 6;
    assert_true(tc_tune_latency(t) == 12 * 2 + 3);
    t->state[2].best = 4;
    assert_true(tc_tune_latency(t) == 12 * 2 + 3 - 1);
    for (int i = 0; i < 3; i++) /* no form waits for its first round */
        for (int f = 0; f < t->state[i].nform; f++) {
            t->task[i].form[f].rounds = 1;
            t->task[i].found[f].best = t->state[i].best;
        }
    t->state[2].trials = 500;
    assert_true(tc_tune_open(t, 2, false));
    t->state[2].best = 7;
    assert_false(tc_tune_open(t, 2, false));
    t->state[2].trials = 5;
    assert_true(tc_tune_open(t, 2, false));
    tc_tune_free(t);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return tc_meas_worker_main(TC_MEAS_WORKER_FD, TC_MEAS_WORKER_FD);
    const struct CMUnitTest tests[] = {
        SESSION_TEST(time_ends_a_run),      SESSION_TEST(the_first_limit_counts), SESSION_TEST(no_time_is_an_error),
        SESSION_TEST(the_roof_ends_a_task), SESSION_TEST(patience_ends),          SESSION_TEST(what_could_run_instead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
