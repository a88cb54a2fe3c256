/* What a search gained: a record replaces the default schedule only where it is faster beyond doubt. Times are drawn or computed
 * and the clock is virtual (disturbed.h), so each seed gives the same on every machine. */
#include "session.h"

#include "disturbed.h"
#include "search_space/space.h"
#include "tune/untuned.h"

enum { ROUNDS = 40 };

/* ---- the rule ---- */

static void draw(tc_rng *rng, double seconds, double spread, double *out, int n) {
    for (int i = 0; i < n; i++)
        out[i] = seconds * (1 + spread * fabs(tc_rng_normal(rng)));
}

/* Of so many comparisons, in how many a record that takes `times` as long as the default schedule replaces it. */
static int replaced(double times, double spread, int rounds, int comparisons) {
    int n = 0;
    double record[ROUNDS], before[ROUNDS];
    for (int k = 0; k < comparisons; k++) {
        tc_rng rng = tc_rng_seed((uint64_t)k);
        draw(&rng, times * 1e-3, spread, record, rounds);
        draw(&rng, 1e-3, spread, before, rounds);
        tc_tune_pair x = {.seconds = record, .before = before, .rounds = rounds};
        tc_tune_pair_judge(&x, (uint64_t)k);
        n += !x.kept;
    }
    return n;
}

static void a_record_wins_beyond_doubt_or_not_at_all(void **state) {
    (void)state;
    assert_int_equal(replaced(0.9, 0.02, ROUNDS, 100), 100);
    assert_int_equal(replaced(0.99, 0.001, ROUNDS, 100), 0); /* builds differ by as much */
    assert_int_equal(replaced(1.02, 0.02, ROUNDS, 100), 0);
    assert_int_equal(replaced(1.5, 0.5, ROUNDS, 100), 0);
    assert_int_equal(replaced(0.5, 0.01, 5, 20), 0); /* too few rounds to know */
    assert_true(replaced(1, 0.02, ROUNDS, 200) <= 10);
    assert_true(replaced(0.99, 0.3, ROUNDS, 100) <= 20); /* a small gain in much noise */
}

static void equal_times_keep_the_default(void **state) {
    tc_arena *a = tc_arena_new();
    double same[ROUNDS], slower[ROUNDS], unclear[ROUNDS];
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        same[i] = 1e-3;
        slower[i] = 1.1e-3;
        unclear[i] = i % 5 < 3 ? 0.9e-3 : 1.05e-3;
    }
    tc_tune_pair x = {.seconds = same, .before = same, .rounds = ROUNDS};
    tc_tune_pair_judge(&x, 1);
    assert_true(x.kept && x.speedup == 1);
    assert_false(tc_tune_pair_is_open(&x, a)); /* more rounds tell nothing */
    x.seconds = slower;
    assert_false(tc_tune_pair_is_open(&x, a));
    x.seconds = unclear;
    assert_true(tc_tune_pair_is_open(&x, a));
    tc_arena_free(a);
}

/* ---- verdicts in the database ---- */

/* A record of the dense kernel under one of the traces of its space. */
static tc_record record_of(bench *b, tc_arena *a, tc_space *space, int which, double seconds) {
    enum { MOST = 8 };
    tc_trace *tr[MOST];
    double *times = TC_NEW_N(a, double, 7);
    tc_ctx *c = tc_ctx_new();
    const tc_workload *w = tc_te_canonical(c, b->task[0].workload);
    tc_record r = tc_meas_record_empty();
    int n = tc_space_construct(space, a, tr, MOST);
    assert_true(which < n);
    for (int i = 0; i < 7; i++)
        times[i] = seconds;
    tc_meas_record_identify(a, &r, tc_te_text(a, w), tc_te_hash(w), b->target->text, tc_trace_text(a, tr[which]));
    r.program = (uint64_t)which + 1;
    r.times = times;
    r.ntimes = 7;
    r.median = seconds;
    r.rounds = 7;
    r.error = TC_MEAS_NONE;
    r.verified = true;
    r.threads = 1;
    r.mode = TC_MEAS_HOT;
    r.when_ms = 1700000000000;
    tc_ctx_free(c);
    return r;
}

static tc_meas_records ranked(bench *b, tc_arena *a, tc_meas_key *key) {
    tc_meas_records all;
    tc_error err = {0};
    *key = (tc_meas_key){.workload = tc_te_hash(b->task[0].workload), .target = tc_meas_text_hash(b->target->text), .threads = 1};
    if (tc_meas_db_ranked(b->db, a, key, 1, 10, &all, &err) != TC_OK)
        fail_msg("%s", err.msg);
    return all;
}

/* The best record takes `times` as long as the default schedule, in all rounds. */
static void settle(bench *b, tc_arena *a, const tc_record *best, const tc_record *untuned, double times, int64_t now) {
    double seconds[ROUNDS], before[ROUNDS];
    tc_meas_key key;
    tc_tune_verdicts out = {0};
    tc_error err = {0};
    for (int i = 0; i < ROUNDS; i++) {
        before[i] = 1e-3;
        seconds[i] = times * before[i];
    }
    tc_tune_pair x = {.record = best, .untuned = untuned, .seconds = seconds, .before = before, .rounds = ROUNDS};
    ranked(b, a, &key);
    tc_tune_pair_judge(&x, 3);
    assert_int_equal(tc_tune_pair_put(&x, b->db, &key, 1, now, a, &out, &err), TC_OK);
    assert_int_equal(tc_meas_db_insert(b->db, out.data, out.len, &err), TC_OK);
    tc_vec_free(&out);
}

static void builds_follow_the_verdict(void **state) {
    bench *b = *state;
    tc_arena *a = tc_arena_new();
    tc_ctx *c = tc_ctx_new();
    tc_space *space;
    tc_error err = {0};
    tc_meas_key key;
    assert_int_equal(tc_space_new(tc_te_canonical(c, b->task[0].workload), &b->target->machine, &space, &err), TC_OK);
    tc_record r[] = {record_of(b, a, space, 0, 2e-3), record_of(b, a, space, 1, 1e-3), record_of(b, a, space, 2, 1.5e-3)};
    if (tc_meas_db_insert(b->db, r, 3, &err) != TC_OK)
        fail_msg("%s", err.msg);
    assert_int_equal(ranked(b, a, &key).data[0].id, r[1].id); /* by its time */

    settle(b, a, &r[1], &r[0], 1, 1700000001000); /* a tie */
    tc_meas_records all = ranked(b, a, &key);
    assert_string_equal(all.data[0].trace, r[0].trace);
    assert_string_equal(all.data[1].trace, r[1].trace);
    settle(b, a, &r[1], &r[0], 0.9, 1700000002000);
    assert_string_equal(ranked(b, a, &key).data[0].trace, r[1].trace);

    /* Compared again as what the network had said was first: what was first without it still takes part. */
    tc_record first = ranked(b, a, &key).data[0];
    assert_int_equal(first.mode, TC_MEAS_IN_GRAPH);
    settle(b, a, &first, &r[2], 1.2, 1700000003000);
    all = ranked(b, a, &key);
    assert_string_equal(all.data[0].trace, r[2].trace);
    assert_string_equal(all.data[1].trace, r[1].trace);
    assert_string_equal(all.data[2].trace, r[0].trace);

    /* A later search finds a better one, which was not compared. */
    tc_record later = record_of(b, a, space, 3, 0.5e-3);
    assert_int_equal(tc_meas_db_insert(b->db, &later, 1, &err), TC_OK);
    assert_string_equal(ranked(b, a, &key).data[0].trace, later.trace);
    tc_space_free(space);
    tc_ctx_free(c);
    tc_arena_free(a);
}

/* ---- a kernel alone, on machines that others use ---- */

static tc_tune_options disturbed(const bench *b, machine *m, uint64_t seed) {
    tc_tune_options o = options(b, 16);
    o.timing = TC_TUNE_HOT;
    o.seed = seed;
    o.search = TC_TUNE_RANDOM; /* which finds little: the default schedule is often the best */
    o.measure.samples = 7;
    o.measure.carrier = &disturbed_carrier;
    o.measure.carried_by = m;
    return o;
}

static void search(bench *b, const tc_tune_options *o) {
    tc_tune *t;
    tc_error err = {0};
    if (tc_tune_new(o, b->task, 1, b->db, &t, &err) != TC_OK)
        fail_msg("%s", err.msg);
    run_tune(t);
    tc_tune_free(t);
}

static double truth_of_trace(bench *b, const machine *m, const char *hash, const char *trace) {
    tc_arena *a = tc_arena_new();
    tc_meas_records r;
    tc_error err = {0};
    double truth = 0;
    assert_int_equal(tc_meas_db_select(b->db, a, &(tc_meas_filter){.workload_hash = hash}, &r, &err), TC_OK);
    for (size_t i = 0; i < r.len; i++)
        if (strcmp(r.data[i].trace, trace) == 0)
            truth = machine_truth(m, r.data[i].program);
    tc_arena_free(a);
    return truth;
}

/* True seconds of what a build would take; untuned: without records. */
static double truth_of_build(bench *b, const machine *m, bool untuned) {
    tc_arena *a = tc_arena_new();
    tc_target target = *b->target;
    tc_tune_schedule s;
    tc_error err = {0};
    target.machine.cores = 1;
    tc_tune_query q = {.workload = b->task[0].workload, .target = &target, .db = untuned ? NULL : b->db};
    if (tc_tune_schedule_find(&q, a, &s, &err) != TC_OK)
        fail_msg("%s", err.msg);
    double truth = truth_of_trace(b, m, s.hash.hex, s.trace);
    tc_arena_free(a);
    return truth;
}

/* Whatever others do meanwhile, what is built is no slower than untuned, and the time is kept. */
static void never_slower(void **state) {
    static const disturbance kinds[] = {QUIET, BURSTS, STEADY, STEPS, STARVED};
    const double given = 3;
    int kept = 0, gained = 0;
    (void)state;
    for (int k = 0; k < 60; k++) {
        void *scene;
        machine m;
        tc_tune_gain g;
        tc_error err = {0};
        tc_arena *a = tc_arena_new();
        setup(&scene);
        bench *b = scene;
        machine_begin(&m, kinds[k % (int)TC_LEN(kinds)], (uint64_t)k, 30e9);
        tc_tune_options o = disturbed(b, &m, (uint64_t)k);
        search(b, &o);
        double begin = m.now;
        int before = m.late;
        if (tc_tune_untuned(&o, b->task[0].workload, b->db, begin + given, a, &g, &err) != TC_OK)
            fail_msg("%s", err.msg);
        assert_int_equal(g.nkernel, 1);
        double late = m.late > before ? 3.5 : 0; /* what is killed took so long */
        assert_true(m.now - begin < given + 1 + late && fabs(g.seconds - (m.now - begin)) < 1e-3);
        double untuned = truth_of_build(b, &m, true), built = truth_of_build(b, &m, false);
        assert_true(g.why || untuned > 0); /* it was measured by now */
        assert_true(g.why || built <= 1.01 * untuned);
        kept += !g.why && g.nkept;
        gained += !g.why && !g.nkept;
        teardown(&scene);
        machine_end(&m);
        tc_arena_free(a);
    }
    print_message("%d kept the default schedule, %d gained\n", kept, gained);
    assert_true(kept > 0 && gained > 0); /* both are tried */
}

static size_t verdicts(bench *b) {
    tc_arena *a = tc_arena_new();
    tc_meas_records r;
    tc_error err = {0};
    assert_int_equal(tc_meas_db_select(b->db, a, &(tc_meas_filter){.mode = "in-graph"}, &r, &err), TC_OK);
    size_t n = r.len;
    tc_arena_free(a);
    return n;
}

/* Every run waits so long for its turn. */
static double waits;

static tc_status run_slowly(const tc_meas_jobs *b, tc_meas_job *j, tc_error *err) {
    machine *m = tc_meas_given(b->m)->carried_by;
    m->now += waits;
    return disturbed_carrier.run(b, j, err);
}

static void without_time_nothing_is_said(void **state) {
    bench *b = *state;
    machine m;
    tc_tune_gain g;
    tc_error err = {0};
    volatile sig_atomic_t stop = 0;
    tc_meas_carrier slow = disturbed_carrier;
    tc_arena *a = tc_arena_new();
    machine_begin(&m, QUIET, 3, 30e9);
    tc_tune_options o = disturbed(b, &m, 3);
    o.skip_phases = TC_TUNE_PHASE_BIT(CONSTRUCT);
    search(b, &o);
    slow.run = run_slowly;
    o.measure.carrier = &slow;
    waits = 1; /* in the time that is given there is one round, and no verdict in the time that may be taken */
    assert_int_equal(tc_tune_untuned(&o, b->task[0].workload, b->db, m.now + 2, a, &g, &err), TC_OK);
    assert_non_null(g.why);
    assert_int_equal(verdicts(b), 0);
    o.stop = &stop;
    stop = 1;
    assert_int_equal(tc_tune_untuned(&o, b->task[0].workload, b->db, m.now + 10, a, &g, &err), TC_OK);
    assert_non_null(g.why);
    assert_int_equal(verdicts(b), 0);
    stop = 0;
    waits = 0.5; /* there is time for a verdict beyond the time that is given */
    assert_int_equal(tc_tune_untuned(&o, b->task[0].workload, b->db, m.now + 2, a, &g, &err), TC_OK);
    assert_null(g.why);
    assert_int_equal(verdicts(b), 2);
    machine_end(&m);
    tc_arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_record_wins_beyond_doubt_or_not_at_all),
                                       cmocka_unit_test(equal_times_keep_the_default), SESSION_TEST(builds_follow_the_verdict),
                                       cmocka_unit_test(never_slower), SESSION_TEST(without_time_nothing_is_said)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
