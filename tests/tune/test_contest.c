/* Contests: what was lucky, or timed on a busy machine, does not win; ties keep the incumbent; and the database agrees with the
 * session. Times are computed, so every outcome is known. */
#include "session.h"

#include "measure/measure_int.h"
#include "tune/kernel/compare.h"
#include "tune/tune_int.h"

static tc_meas_records all_records(bench *b, tc_arena *a) {
    tc_meas_records r;
    tc_error err;
    assert_int_equal(tc_meas_db_select(b->db, a, &(tc_meas_filter){0}, &r, &err), TC_OK);
    return r;
}

/* The record that ranks first of task i, by the database. */
static tc_record first_of(bench *b, tc_arena *a, const tc_tune_state *s) {
    tc_meas_filter f = {
        .workload_hash = s->hash.hex, .mode = "simulated", .verified = true, .order = TC_MEAS_BY_RANK, .limit = 1};
    tc_meas_records r;
    tc_error err;
    assert_int_equal(tc_meas_db_select(b->db, a, &f, &r, &err), TC_OK);
    assert_int_equal(r.len, 1);
    return r.data[0];
}

static void run_trials(bench *b, int trials) {
    tc_tune_options o = simulated(b, trials);
    tc_tune *t = open_tune(b, &o);
    run_tune(t);
    tc_tune_free(t);
}

static void the_best_was_timed_in_turns(void **state) {
    bench *b = *state;
    tc_arena *a = tc_arena_new();
    tc_tune_options o = simulated(b, 40);
    tc_tune *t = open_tune(b, &o);
    run_tune(t);
    const tc_tune_report *r = tc_tune_get_report(t);
    assert_true(r->contests > 0);
    for (int i = 0; i < r->ntask; i++) {
        tc_record first = first_of(b, a, &r->task[i]);
        assert_true(r->task[i].in_turns && first.rounds >= TC_TUNE_MIN_ROUNDS);
        assert_true(first.median == r->task[i].best);
        assert_string_equal(first.trace, r->task[i].form[0].trace);
    }
    tc_tune_free(t);
    tc_arena_free(a);
}

/* A machine of some that are not equally fast; contests are all on one. */
static double scale_of(const tc_meas_job *j) {
    return j->in->again ? 1.1 : j->r->program % 2 ? 1.06 : 0.97;
}

static tc_status run_somewhere(const tc_meas_jobs *b, tc_meas_job *j, tc_error *err) {
    tc_status s = tc_meas_simulated.run(b, j, err);
    double *times = tc_arena_dup(b->a, j->r->times, j->r->ntimes * sizeof *times);
    for (size_t i = 0; i < j->r->ntimes; i++)
        times[i] *= scale_of(j);
    j->r->times = times;
    j->r->median *= scale_of(j);
    j->r->scale = scale_of(j);
    return s;
}

/* The search goes by the common scale, and finds what it finds on one machine; records are of their machines, and the winner's is
 * the first. */
static void machines_that_differ_find_the_same(void **state) {
    bench *b = *state;
    tc_arena *a = tc_arena_new();
    tc_meas_carrier fleet = tc_meas_simulated;
    fleet.run = run_somewhere;
    tc_tune_options o = simulated(b, 120);
    o.measure.carrier = &fleet;
    tc_tune *t = open_tune(b, &o);
    run_tune(t);
    const tc_tune_report *r = tc_tune_get_report(t);
    for (int i = 0; i < r->ntask; i++) {
        tc_record first = first_of(b, a, &r->task[i]);
        assert_string_equal(first.trace, r->task[i].form[0].trace);
        assert_true(r->task[i].in_turns && first.rounds >= TC_TUNE_MIN_ROUNDS);
        double own = first.median / r->task[i].best; /* the seconds of one of the machines that have no contests */
        assert_true(fabs(own - 1.06) < 1e-9 || fabs(own - 0.97) < 1e-9);
        /* Its true time is what the session says that it is, but for what repeats scatter. */
        tc_meas *m;
        tc_error err;
        tc_record again;
        tc_meas_input in = {.workload = first.workload, .workload_hash = r->task[i].hash, .trace = first.trace};
        o.measure.carrier = NULL;
        o.measure.target = b->target->text;
        o.measure.threads = first.threads;
        assert_int_equal(tc_meas_new(&o.measure, &m, &err), TC_OK);
        assert_int_equal(tc_meas_kernel_time(m, &in, 7, a, &again, &err), TC_OK);
        assert_true(fabs(again.median / r->task[i].best - 1) < 0.02);
        tc_meas_free(m);
    }
    tc_tune_free(t);
    tc_arena_free(a);
}

/* Gives the record that has the given place by its true time a single time that many times its own. */
static int64_t falsify(bench *b, const tc_tune_state *s, tc_arena *a, size_t place, double times) {
    tc_meas_filter f = {.workload_hash = s->hash.hex, .verified = true, .order = TC_MEAS_BY_MEDIAN};
    tc_meas_records r;
    tc_error err;
    assert_int_equal(tc_meas_db_select(b->db, a, &f, &r, &err), TC_OK);
    tc_record x = r.data[place];
    double wrong = x.median * times;
    tc_record as = {.id = x.id, .times = &wrong, .ntimes = 1, .median = wrong, .rounds = 0};
    assert_int_equal(tc_meas_db_retime(b->db, &as, &err), TC_OK);
    return x.id;
}

static void luck_does_not_win(void **state) {
    bench *b = *state;
    tc_arena *a = tc_arena_new();
    tc_tune_options o = simulated(b, 24);
    tc_tune *t = open_tune(b, &o);
    run_tune(t);
    tc_tune_state before = tc_tune_get_report(t)->task[0];
    tc_record honest = first_of(b, a, &before);
    int64_t lucky = falsify(b, &before, a, 5, 0.2);
    assert_int_equal(first_of(b, a, &before).id, lucky);
    tc_tune_free(t);
    run_trials(b, 40);
    o.trials = 40;
    t = open_tune(b, &o);
    tc_record now = first_of(b, a, &tc_tune_get_report(t)->task[0]);
    assert_true(now.id != lucky);
    assert_true(now.median <= honest.median * 1.03);
    tc_tune_free(t);
    tc_arena_free(a);
}

/* All that was found was timed while others used the machine: what comes later and is slower does not beat it. */
static void load_does_not_lose(void **state) {
    bench *b = *state;
    tc_arena *a = tc_arena_new();
    tc_tune_options o = simulated(b, 24);
    tc_error err;
    tc_tune *t = open_tune(b, &o);
    run_tune(t);
    tc_tune_state s = tc_tune_get_report(t)->task[0];
    tc_record honest = first_of(b, a, &s);
    tc_meas_records r = all_records(b, a);
    for (size_t i = 0; i < r.len; i++) {
        double *loaded = TC_NEW_N(a, double, r.data[i].ntimes);
        for (size_t k = 0; k < r.data[i].ntimes; k++)
            loaded[k] = 1.5 * r.data[i].times[k];
        r.data[i].times = loaded;
        r.data[i].median *= 1.5;
        assert_int_equal(tc_meas_db_retime(b->db, &r.data[i], &err), TC_OK);
    }
    run_trials(b, 120);
    assert_true(first_of(b, a, &s).median <= honest.median * 1.03);
    tc_tune_free(t);
    tc_arena_free(a);
}

static tc_tune *open_small(bench *b, int trials) {
    static const char small[] = "tensor X[48, 20] f32\ncompute Y[i:48, j:20] = X[i, j] + 1.0\noutput Y\n";
    tc_tune_options o = simulated(b, trials);
    tc_tune_task only = {.name = "small", .workload = parse(b->ctx, small), .weight = 1};
    tc_tune *t;
    tc_error err;
    if (tc_tune_new(&o, &only, 1, b->db, &t, &err) != TC_OK)
        fail_msg("%s", err.msg);
    return t;
}

/* Every program is known, and all that were worth something were timed while another program had a core. */
static void disturbed_records_are_corrected(void **state) {
    bench *b = *state;
    tc_arena *a = tc_arena_new();
    tc_error err;
    tc_tune *t = open_small(b, 4000);
    run_tune(t);
    tc_tune_state s = tc_tune_get_report(t)->task[0];
    assert_true(s.exhausted && s.valid > 3 && tc_tune_get_report(t)->rechecked == 0);
    double honest = first_of(b, a, &s).median;
    tc_meas_records r;
    assert_int_equal(tc_meas_db_select(b->db, a, &(tc_meas_filter){.verified = true, .order = TC_MEAS_BY_MEDIAN}, &r, &err),
                     TC_OK);
    double slowest = r.data[r.len - 1].median;
    for (size_t k = 0; k + 1 < r.len; k++) { /* all but the slowest take longer than it */
        double wrong = r.data[k].median / honest * slowest * 1.2;
        tc_record as = {.id = r.data[k].id, .times = &wrong, .ntimes = 1, .median = wrong, .rounds = k % 2 ? 7 : 0};
        assert_int_equal(tc_meas_db_retime(b->db, &as, &err), TC_OK);
    }
    assert_true(first_of(b, a, &s).median > 1.1 * honest);
    tc_tune *idle = open_small(b, s.trials); /* nothing to spend: nothing is touched */
    run_tune(idle);
    assert_int_equal(tc_tune_get_report(idle)->rechecked, 0);
    tc_tune_free(idle);
    tc_tune_free(t);
    t = open_small(b, 4000);
    run_tune(t);
    assert_true(tc_tune_get_report(t)->rechecked > 0 && tc_tune_get_report(t)->corrected > 0);
    assert_true(tc_tune_get_report(t)->task[0].best <= 1.03 * honest);
    assert_true(first_of(b, a, &s).median <= 1.03 * honest);
    tc_tune_free(t);
    tc_arena_free(a);
}

/* Nothing that was computed is ever found as a record to build from. */
static void simulated_records_build_nothing(void **state) {
    bench *b = *state;
    tc_arena *a = tc_arena_new();
    run_trials(b, 24);
    tc_meas_records r = all_records(b, a);
    bool found = true;
    tc_record best;
    tc_error err;
    for (size_t i = 0; i < r.len; i++) {
        assert_int_equal(r.data[i].mode, TC_MEAS_SIMULATED);
        tc_meas_key key = {r.data[i].workload_hash, r.data[i].target_hash, r.data[i].threads, 0};
        assert_int_equal(tc_meas_db_best(b->db, a, &key, &best, &found, &err), TC_OK);
        assert_false(found);
    }
    tc_tune_options o = options(b, 12); /* nor do they count as trials of a session that measures */
    tc_tune *t = open_tune(b, &o);
    assert_int_equal(tc_tune_get_report(t)->trials, 0);
    tc_tune_free(t);
    tc_arena_free(a);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return tc_meas_worker_main(TC_MEAS_WORKER_FD, TC_MEAS_WORKER_FD);
    const struct CMUnitTest tests[] = {
        SESSION_TEST(the_best_was_timed_in_turns),
        SESSION_TEST(machines_that_differ_find_the_same),
        SESSION_TEST(luck_does_not_win),
        SESSION_TEST(load_does_not_lose),
        SESSION_TEST(disturbed_records_are_corrected),
        SESSION_TEST(simulated_records_build_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
