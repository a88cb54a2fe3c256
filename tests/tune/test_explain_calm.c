/* What an explanation makes of a machine that others use: it waits, and is sure of nothing. */
#include "made_up.h"

/* ---- waiting ---- */

/* Disturbed at the first so many looks; time goes by while one rests. */
typedef struct made_up_machine {
    int disturbed, looks;
    double now;
    volatile sig_atomic_t stop;
    int stops_at; /* look at which the stop flag is raised; 0: none */
} made_up_machine;

static tc_meas_calm look(void *user) {
    made_up_machine *m = user;
    m->looks++;
    m->stop = m->looks == m->stops_at;
    return (tc_meas_calm){.slowdown = 1, .disturbed = m->looks <= m->disturbed};
}

static double rest(void *user, double seconds) {
    made_up_machine *m = user;
    return m->now += seconds;
}

static double await(made_up_machine *m, double most, tc_meas_calm *calm) {
    return tune_await_calm(&(tune_machine){look, rest, m}, most, &m->stop, calm);
}

static void a_quiet_machine_is_not_waited_for(void **state) {
    (void)state;
    made_up_machine m = {.now = 100};
    tc_meas_calm calm;
    assert_true(await(&m, 10, &calm) == 0);
    assert_false(calm.disturbed);
    assert_int_equal(m.looks, 1);
}

static void waits_until_it_is_quiet(void **state) {
    (void)state;
    made_up_machine m = {.disturbed = 4, .now = 100};
    tc_meas_calm calm;
    double waited = await(&m, 10, &calm);
    assert_false(calm.disturbed);
    assert_int_equal(m.looks, 5);
    assert_true(waited > 0 && waited < 10 && fabs(m.now - 100 - waited) < 1e-9);
}

static void waits_no_longer_than_it_may(void **state) {
    (void)state;
    made_up_machine m = {.disturbed = 1000, .now = 100};
    tc_meas_calm calm;
    assert_true(fabs(await(&m, 0.7, &calm) - 0.7) < 1e-9);
    assert_true(calm.disturbed);
    m = (made_up_machine){.disturbed = 1000};
    assert_true(await(&m, 0, &calm) == 0);
    assert_true(calm.disturbed && m.looks == 1);
}

static void a_stop_ends_the_waiting(void **state) {
    (void)state;
    made_up_machine m = {.disturbed = 1000, .stops_at = 3};
    tc_meas_calm calm;
    assert_true(await(&m, 10, &calm) < 1);
    assert_int_equal(m.looks, 3);
}

/* ---- rounds ---- */

static tc_meas_unrest rounds(int quiet, int rough, double slowdown, double spread) {
    tc_meas_unrest c = {0};
    for (int i = 0; i < quiet; i++)
        tc_meas_unrest_add(&c, &(tc_meas_calm){.slowdown = 1, .spread = 0.02});
    for (int i = 0; i < rough; i++)
        tc_meas_unrest_add(&c, &(tc_meas_calm){.slowdown = slowdown, .spread = spread, .disturbed = true});
    return c;
}

static void some_rough_rounds_are_borne(void **state) {
    (void)state;
    tc_meas_unrest none = {0}, few = rounds(12, 3, 1.3, 0.1), many = rounds(12, 5, 1.3, 0.1);
    assert_false(tc_meas_is_restless(&none));
    assert_false(tc_meas_is_restless(&few));
    assert_true(tc_meas_unrest_error(&few) == 0);
    assert_true(tc_meas_is_restless(&many));
}

/* Means over the rounds; a loop that waits for its core says nothing more of a kernel beyond one half. */
static void unrest_is_the_larger_sign(void **state) {
    (void)state;
    tc_meas_unrest slow = rounds(0, 10, 1.3, 0.1), restless = rounds(0, 10, 1, 0.4), waiting = rounds(0, 10, 90, 0.1);
    assert_true(fabs(tc_meas_unrest_error(&slow) - 0.3) < 1e-9);
    assert_true(fabs(tc_meas_unrest_error(&restless) - 0.4) < 1e-9);
    assert_true(fabs(tc_meas_unrest_error(&waiting) - 0.5) < 1e-9);
    tc_meas_unrest half = rounds(5, 5, 1.4, 0.02);
    assert_true(fabs(half.slowdown - 1.2) < 1e-9 && fabs(half.spread - 0.02) < 1e-9);
    tc_strbuf text = {0};
    tc_meas_unrest_text(&half, &text);
    assert_string_equal(tc_sb_str(&text),
                        "the machine was busy in 50 % of the time: a fixed loop took 1.20 times as long as at best, "
                        "repeats spread over 2 %");
    tc_strbuf_free(&text);
}

/* ---- what is told ---- */

enum { ROUNDS = 12 };

/* The schedule takes 1 ms in each round, and another one 10 % less. */
static entrant *judge(made_up *m) {
    double seconds[2 * ROUNDS];
    entrant *e = spilling(m, 1, 1, 1);
    for (int i = 0; i < ROUNDS; i++) {
        seconds[i] = 1e-3 * (1 + 0.01 * (i % 3));
        seconds[ROUNDS + i] = 0.9 * seconds[i];
    }
    tune_judge(&m->f, seconds, ROUNDS, ROUNDS, &e, 1);
    m->x.disturbed = tc_meas_is_restless(&m->f.unrest);
    m->x.unrest = m->f.unrest;
    rank(m);
    return e;
}

static void a_quiet_machine_is_believed(void **state) {
    made_up *m = *state;
    m->f.unrest = rounds(ROUNDS, 0, 0, 0);
    entrant *e = judge(m);
    assert_int_equal(e->t.rounds, ROUNDS);
    assert_true(fabs(e->t.ratio - 0.9) < 1e-9 && fabs(e->t.low - 0.9) < 1e-9 && fabs(e->t.high - 0.9) < 1e-9);
    assert_true(m->x.helps);
    assert_true(begins(m->x.answer, "Spill: "));
}

/* The same times. */
static void a_disturbed_one_is_not(void **state) {
    made_up *m = *state;
    m->f.unrest = rounds(2, ROUNDS - 2, 1, 0.24);
    entrant *e = judge(m);
    double wider = 1 + m->f.unrest.spread;
    assert_true(wider > 1.2 && fabs(e->t.ratio - 0.9) < 1e-9);
    assert_true(fabs(e->t.low - 0.9 / wider) < 1e-9 && fabs(e->t.high - 0.9 * wider) < 1e-9);
    assert_false(m->x.helps);
    assert_true(begins(m->x.answer, "No cause is certain, because the machine was busy in "));
    assert_non_null(strstr(m->x.answer, "No trial saves more than that"));
}

/* What saves more than the machine varies by comes first, and yet is not certain. */
static void what_comes_first_is_told_with_doubt(void **state) {
    made_up *m = *state;
    m->f.unrest = rounds(0, ROUNDS, 1.1, 0.1);
    spilling(m, 0.5, 0.45, 0.55);
    m->x.disturbed = true;
    rank(m);
    assert_false(m->x.helps);
    assert_int_equal(m->x.finding[0].cause, TC_CAUSE_SPILL);
    assert_true(begins(m->x.answer, "No cause is certain, because "));
    assert_non_null(strstr(m->x.answer, "First comes spill: "));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quiet_machine_is_not_waited_for), cmocka_unit_test(waits_until_it_is_quiet),
        cmocka_unit_test(waits_no_longer_than_it_may),       cmocka_unit_test(a_stop_ends_the_waiting),
        cmocka_unit_test(some_rough_rounds_are_borne),       cmocka_unit_test(unrest_is_the_larger_sign),
        MADE_UP_TEST(a_quiet_machine_is_believed),           MADE_UP_TEST(a_disturbed_one_is_not),
        MADE_UP_TEST(what_comes_first_is_told_with_doubt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
