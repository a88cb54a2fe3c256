/* Phases: each can be left out, what is left spends all trials, and similar kernels teach. Times are computed. */
#include "session.h"

#include "tune/propose.h"

/* The dense layer of session.h with other extents. */
static const char cousin[] =
    "tensor X[48, 40] f32\ntensor W[40, 96] f32 const\ntensor B[96] f32 const\n"
    "compute D[i:48, j:96] = sum(k:40) X[i, k] * W[k, j]\ncompute Y[i:48, j:96] = gelu(D[i, j] + B[j])\noutput Y\n";

static tc_tune_report search(bench *b, const tc_tune_options *o) {
    tc_error err;
    tc_meas_db_close(b->db);
    assert_int_equal(tc_meas_db_open_memory(&b->db, &err), TC_OK);
    tc_tune *t = open_tune(b, o);
    run_tune(t);
    tc_tune_report r = *tc_tune_get_report(t);
    tc_tune_free(t);
    return r;
}

static void each_phase_can_be_left_out(void **state) {
    bench *b = *state;
    for (unsigned skip = 0; skip + 1 < 1u << TC_TUNE_NPHASES; skip++) {
        tc_tune_options o = simulated(b, 30);
        o.batch = 10;
        o.skip_phases = skip;
        tc_tune_report r = search(b, &o);
        int tried = 0;
        for (int p = 0; p < TC_TUNE_NPHASES; p++) {
            tried += r.tried[p];
            assert_true(!(skip & 1u << p) || r.tried[p] <= (p == TC_TUNE_CONSTRUCT ? 2 : 0)); /* every task begins somewhere */
        }
        assert_int_equal(tried, r.measured);
        if (!(skip & TC_TUNE_PHASE_BIT(CONSTRUCT)) || !(skip & TC_TUNE_PHASE_BIT(EVOLVE)))
            assert_int_equal(r.measured, 30);
    }
}

static void plain_searches_spend_their_trials(void **state) {
    bench *b = *state;
    for (int kind = TC_TUNE_RANDOM; kind <= TC_TUNE_ANSOR; kind++) {
        tc_tune_options o = simulated(b, 30);
        o.search = (tc_tune_search)kind;
        tc_tune_report r = search(b, &o);
        assert_int_equal(r.measured, 30);
        assert_int_equal(r.tried[TC_TUNE_EVOLVE], 30);
    }
}

/* What paid gets more of the next round. */
static void shares_follow_pay(void **state) {
    bench *b = *state;
    tc_tune_options o = simulated(b, 100);
    tc_tune *t = open_tune(b, &o);
    form *k = &t->task[0].form[0];
    int count[2][TC_TUNE_NPHASES] = {0};
    tc_error err;
    int measured;
    tc_tune_flight *flight;
    assert_int_equal(tc_tune_begin_round(t, 0, 0, 12, &flight, &err), TC_OK);
    assert_non_null(flight);
    assert_int_equal(tc_tune_end_round(flight, &measured, &err), TC_OK);
    for (int which = 0; which < 2; which++) {
        tc_proposals p = {.arena = tc_arena_new()};
        memset(k->pay, 0, sizeof k->pay);
        k->pay[which ? TC_TUNE_EVOLVE : TC_TUNE_DESCENT] = 0.1;
        assert_int_equal(tc_tune_propose(t, k, &p, 20, &err), TC_OK);
        assert_int_equal(p.n, 20);
        for (int i = 0; i < p.n; i++) {
            count[which][p.phase[i]]++;
            for (int j = 0; j < i; j++)
                assert_true(p.c[i].hash != p.c[j].hash);
        }
        tc_arena_free(p.arena);
    }
    assert_true(count[0][TC_TUNE_DESCENT] > count[1][TC_TUNE_DESCENT]);
    assert_true(count[1][TC_TUNE_EVOLVE] > count[0][TC_TUNE_EVOLVE]);
    tc_tune_free(t);
}

/* A library with a similar kernel gives first candidates, and programs to learn from before anything was measured. */
static void relatives_start_a_task(void **state) {
    bench *b = *state;
    tc_error err;
    tc_meas_db *library = b->db;
    assert_int_equal(tc_meas_db_open_memory(&b->db, &err), TC_OK);
    tc_tune_options o = simulated(b, 60);
    tc_tune_task elder = {.name = "cousin", .workload = parse(b->ctx, cousin), .weight = 1};
    tc_tune *t;
    assert_int_equal(tc_tune_new(&o, &elder, 1, library, &t, &err), TC_OK);
    run_tune(t);
    tc_tune_free(t);

    o.library = library;
    o.trials = 24;
    t = open_tune(b, &o);
    const tc_cost_sample *s;
    assert_true(tc_tune_elder_samples(t, &s) > 16);
    run_tune(t);
    assert_true(tc_tune_get_report(t)->tried[TC_TUNE_TRANSFER] > 0);
    tc_tune_free(t);
    tc_meas_db_close(library);
}

static void what_a_minute_gains_is_foreseen(void **state) {
    bench *b = *state;
    tc_tune_options o = simulated(b, 80);
    tc_tune_report r = search(b, &o);
    assert_true(r.expected_gain >= 0 && r.expected_gain <= r.latency * 100);
    assert_true(isnan(r.pairwise) || (r.pairwise >= 0 && r.pairwise <= 1));
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return tc_meas_worker_main(TC_MEAS_WORKER_FD, TC_MEAS_WORKER_FD);
    const struct CMUnitTest tests[] = {
        SESSION_TEST(each_phase_can_be_left_out),
        SESSION_TEST(plain_searches_spend_their_trials),
        SESSION_TEST(shares_follow_pay),
        SESSION_TEST(relatives_start_a_task),
        SESSION_TEST(what_a_minute_gains_is_foreseen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
