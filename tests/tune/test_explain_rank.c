/* Which cause comes first, and what is said, by made-up results of experiments. */
#include "made_up.h"

/* One core of two has work, and with both it takes that much. */
static entrant *lonely(made_up *m, double ratio, double low, double high) {
    m->f.own.cores_used = 0.5;
    for (int i = 0; i < m->f.n; i++)
        m->e[i].traits.cores_used = 0.5;
    entrant *e = change(m, TC_CHANGE_PARALLEL, ratio, low, high);
    e->traits.cores_used = 1;
    return e;
}

static void check_order(const made_up *m, int n, const tc_tune_cause *causes) {
    assert_int_equal(m->x.nfinding, n);
    for (int i = 0; i < n; i++)
        assert_string_equal(tc_tune_cause_text(m->x.finding[i].cause), tc_tune_cause_text(causes[i]));
}
#define ORDER(m, ...) check_order(m, (int)TC_LEN(((const tc_tune_cause[]){__VA_ARGS__})), (const tc_tune_cause[]){__VA_ARGS__})

/* ---- one cause ---- */

static void what_saves_is_the_cause(void **state) {
    made_up *m = *state;
    spilling(m, 0.7, 0.65, 0.75);
    rank(m);
    ORDER(m, TC_CAUSE_SPILL);
    const tc_tune_finding *t = &m->x.finding[0];
    assert_true(m->x.helps && t->trial == 0);
    assert_true(fabs(t->saves - 0.3) < 1e-9 && fabs(t->low - 0.25) < 1e-9 && t->score == t->low);
    assert_true(begins(m->x.answer, "Spill: the register tile does not fit"));
    assert_non_null(strstr(m->x.answer, "with Y.i 6 -> 12 it takes 30.0 % less (25.0 to 35.0)"));
    assert_non_null(strstr(m->x.answer, "It takes 1.00 ms, at 50 % of the roof of multiply-adds."));
}

static void check_nothing_helps(made_up *m) {
    rank(m);
    assert_false(m->x.helps);
    assert_true(begins(m->x.answer, "Nothing within the space helps: no change that was tried saves 3 % of the time."));
    assert_non_null(strstr(m->x.answer, "at 50 % of the roof"));
}

static void nothing_is_suspected(void **state) {
    check_nothing_helps(*state);
    assert_int_equal(((made_up *)*state)->x.nfinding, 0);
}

static void what_is_suspected_costs_nothing(void **state) {
    made_up *m = *state;
    spilling(m, 1.1, 1.05, 1.2);
    check_nothing_helps(m);
    ORDER(m, TC_CAUSE_SPILL); /* it is told of, with what was found */
    assert_true(m->x.finding[0].score < 0);
}

/* However fast it may be: it may be slower, too. */
static void an_interval_across_zero_proves_nothing(void **state) {
    made_up *m = *state;
    spilling(m, 0.8, 0.5, 1.01);
    check_nothing_helps(m);
}

/* Beyond what is worth a word, as surely as the rounds show. */
static void the_least_that_counts(void **state) {
    made_up *m = *state;
    entrant *e = spilling(m, 0.9, 0.9, 1 - 0.9 * TC_TUNE_WORTH);
    check_nothing_helps(m);
    e->t.high = 1 - 1.1 * TC_TUNE_WORTH;
    m->x.nfinding = 0;
    rank(m);
    assert_true(m->x.helps);
}

static void one_try_proves_nothing(void **state) {
    made_up *m = *state;
    spilling(m, 0.5, NAN, NAN);
    check_nothing_helps(m);
    assert_true(m->x.finding[0].low == 0);
}

/* What went wrong, or was not run, tells nothing, whatever stands in its place. */
static void failures_tell_nothing(void **state) {
    made_up *m = *state;
    spilling(m, 0.5, 0.5, 0.5)->t.failed = "it crashed";
    entrant *e = change(m, TC_CHANGE_REGISTERS, 0.5, 0.5, 0.5);
    e->traits.spilled = 0;
    e->screened = 0;
    e = change(m, TC_CHANGE_REGISTERS, 0.8, 0.8, 0.9);
    e->traits.spilled = 0;
    rank(m);
    assert_int_equal(m->x.finding[0].trial, 2);
    assert_true(fabs(m->x.finding[0].saves - 0.2) < 1e-9);
}

/* Of several that have less of it the one that saves most for sure, not the one that may save more. */
static void the_surest_trial_counts(void **state) {
    made_up *m = *state;
    spilling(m, 0.6, 0.3, 0.95);
    entrant *e = change(m, TC_CHANGE_REGISTERS, 0.7, 0.68, 0.72);
    e->traits.spilled = 0;
    rank(m);
    assert_int_equal(m->x.finding[0].trial, 1);
}

/* Partial tiles explain spills where the tile fits; where it does not, they are what is left of it. */
static void a_tile_that_fits_does_not_explain_tails(void **state) {
    made_up *m = *state;
    for (int fits = 0; fits < 2; fits++) {
        m->f.n = 0;
        memset(&m->x, 0, sizeof m->x);
        spilling(m, 0.7, 0.69, 0.71);
        m->f.own.spilled = fits ? 0 : 8;
        m->f.own.accumulators = 8;
        m->f.e[0].traits.accumulators = 4;
        m->f.own.wasted = 0.4;
        entrant *e = enter(m, TC_TRIAL_CONDITION, 0.65, 0.64, 0.66);
        e->t.cause = TC_CAUSE_TAIL;
        rank(m);
        if (fits)
            ORDER(m, TC_CAUSE_TAIL, TC_CAUSE_SPILL);
        else
            ORDER(m, TC_CAUSE_SPILL, TC_CAUSE_TAIL);
    }
}

/* A change that helps and has nothing to do with the cause does not make it one. */
static void another_change_is_no_evidence(void **state) {
    made_up *m = *state;
    spilling(m, 1, 0.99, 1.01);
    change(m, TC_CHANGE_PARALLEL, 0.7, 0.69, 0.71)->traits.spilled = 8;
    rank(m);
    ORDER(m, TC_CAUSE_OTHER, TC_CAUSE_SPILL);
    assert_true(m->x.helps && m->x.finding[0].trial == 1);
    assert_true(begins(m->x.answer, "Another schedule: "));
}

/* ---- several ---- */

static void who_saves_more_comes_first(void **state) {
    made_up *m = *state;
    spilling(m, 0.8, 0.78, 0.82)->traits.cores_used = 0.5;
    lonely(m, 0.55, 0.5, 0.6)->traits.spilled = 8;
    rank(m);
    ORDER(m, TC_CAUSE_ONE_THREAD, TC_CAUSE_SPILL);
    m->e[0].t.high = 0.3;
    m->x.nfinding = 0;
    rank(m);
    ORDER(m, TC_CAUSE_SPILL, TC_CAUSE_ONE_THREAD);
}

/* As in causes.def. */
static void ties_go_by_the_table(void **state) {
    made_up *m = *state;
    spilling(m, 0.7, 0.7, 0.7);
    lonely(m, 0.7, 0.7, 0.7)->traits.spilled = 8;
    rank(m);
    ORDER(m, TC_CAUSE_ONE_THREAD, TC_CAUSE_SPILL);
    assert_true(m->x.finding[0].score == m->x.finding[1].score);
}

/* Without vectors there is no register tile to speak of: a larger one may save more, by less than half as much again. */
static void what_explains_more_covers(void **state) {
    made_up *m = *state;
    m->f.own.lanes = 1;
    m->f.own.accumulators = 2;
    entrant *vectors = change(m, TC_CHANGE_VECTOR, 0.7, 0.7, 0.7), *tile = change(m, TC_CHANGE_REGISTERS, 0.6, 0.6, 0.6);
    vectors->traits.lanes = 16;
    tile->traits.accumulators = 8;
    rank(m);
    ORDER(m, TC_CAUSE_NO_VECTORS, TC_CAUSE_SMALL_TILE);
    tile->t.high = 0.5;
    m->x.nfinding = 0;
    rank(m);
    ORDER(m, TC_CAUSE_SMALL_TILE, TC_CAUSE_NO_VECTORS);
}

/* What saves nothing covers nothing. */
static void only_a_cause_covers(void **state) {
    made_up *m = *state;
    m->f.own.lanes = 1;
    m->f.own.accumulators = 2;
    change(m, TC_CHANGE_VECTOR, 1, 1, 1)->traits.lanes = 16;
    change(m, TC_CHANGE_REGISTERS, 0.9, 0.9, 0.9)->traits.accumulators = 8;
    rank(m);
    ORDER(m, TC_CAUSE_SMALL_TILE, TC_CAUSE_NO_VECTORS);
}

/* An estimate is no measurement, however large. */
static void measured_goes_before_guessed(void **state) {
    made_up *m = *state;
    spilling(m, 0.9, 0.9, 0.9);
    m->f.own.regions = 400; /* nothing that was tried has fewer */
    m->e[0].traits.regions = 400;
    rank(m);
    ORDER(m, TC_CAUSE_SPILL, TC_CAUSE_FINE_PARALLEL);
    assert_int_equal(m->x.finding[1].trial, -1);
    assert_true(m->x.finding[1].estimate > 0.2);
}

/* By half of the estimate, and by no more than anything at all has saved. */
static void a_guess_is_bounded_by_what_was_saved(void **state) {
    made_up *m = *state;
    m->f.own.regions = 400;
    change(m, TC_CHANGE_UNROLL, 0.99, 0.98, 1)->traits.regions = 400;
    check_nothing_helps(m);
    assert_true(fabs(m->x.finding[0].score - 0.01) < 1e-9);
    m->f.n = 0;
    m->x.nfinding = 0;
    rank(m);
    assert_true(m->x.helps && fabs(m->x.finding[0].score - m->x.finding[0].estimate / 2) < 1e-9);
    assert_non_null(strstr(m->x.answer, "no trial reduces it (what would have to change: make a loop"));
}

/* ---- conditions and other schedules ---- */

/* The same schedule under other conditions tells of its own cause alone. */
static void a_condition_tells_of_its_cause(void **state) {
    made_up *m = *state;
    m->f.own.stride = 4096;
    m->f.own.turns = 64;
    enter(m, TC_TRIAL_CONDITION, 0.5, 0.5, 0.5);
    m->e[0].traits.stride = 0;
    rank(m);
    assert_int_equal(m->x.finding[0].trial, -1);
    m->e[0].t.cause = TC_CAUSE_STRIDES;
    m->x.nfinding = 0;
    rank(m);
    assert_true(m->x.helps && m->x.finding[0].trial == 0);
    ORDER(m, TC_CAUSE_STRIDES);
}

/* A part that is left out makes no other schedule. */
static void a_condition_is_no_schedule(void **state) {
    made_up *m = *state;
    enter(m, TC_TRIAL_CONDITION, 0.2, 0.2, 0.2);
    check_nothing_helps(m);
    enter(m, TC_TRIAL_KNOWN, 0.8, 0.79, 0.81);
    m->x.nfinding = 0;
    rank(m);
    ORDER(m, TC_CAUSE_OTHER);
    assert_true(m->x.helps && m->x.finding[0].trial == 1);
}

/* ---- denormal numbers ---- */

static const char cost_nothing[] = "Denormal numbers do not slow this kernel down on this CPU.";

/* Half of the data are, and without them it takes that much. */
static void with_denormals(made_up *m, double ratio, double low, double high) {
    m->o.denormal = 0.5;
    enter(m, TC_TRIAL_CONDITION, ratio, low, high)->t.cause = TC_CAUSE_DENORMALS;
    m->x.nfinding = 0;
    rank(m);
}

static void denormals_that_cost(void **state) {
    made_up *m = *state;
    with_denormals(m, 0.5, 0.45, 0.55);
    ORDER(m, TC_CAUSE_DENORMALS);
    assert_true(m->x.helps && begins(m->x.answer, "Denormals: "));
    assert_null(strstr(m->x.answer, cost_nothing));
}

/* Said of what is known, and beside another cause too. */
static void denormals_that_cost_nothing(void **state) {
    made_up *m = *state;
    with_denormals(m, 0.995, 0.98, 1.01);
    assert_false(m->x.helps);
    assert_non_null(strstr(m->x.answer, cost_nothing));
    m->x.nfinding = 0;
    spilling(m, 0.7, 0.7, 0.7);
    rank(m);
    assert_true(begins(m->x.answer, "Spill: ") && strstr(m->x.answer, cost_nothing));
}

static void denormals_that_may_cost(void **state) {
    made_up *m = *state;
    with_denormals(m, 0.98, 0.9, 1.01);
    assert_false(m->x.helps);
    assert_null(strstr(m->x.answer, cost_nothing));
    m->e[0].t.rounds = 0; /* tried once */
    m->e[0].t.ratio = m->e[0].t.low = m->e[0].t.high = 1;
    m->x.nfinding = 0;
    rank(m);
    assert_null(strstr(m->x.answer, cost_nothing));
}

/* ---- without measurement ---- */

static void estimates_alone(void **state) {
    made_up *m = *state;
    spilling(m, 0.1, 0.1, 0.1); /* nobody ran it */
    lonely(m, 0.1, 0.1, 0.1);
    m->f.unmeasured = m->x.unmeasured = "it is of another machine";
    rank(m);
    ORDER(m, TC_CAUSE_ONE_THREAD, TC_CAUSE_SPILL);
    assert_true(m->x.finding[0].trial == -1 && m->x.finding[0].saves == 0);
    assert_true(
        begins(m->x.answer, "Nothing was measured (it is of another machine). Judged by the program, first comes one thread: "));
}

static void nothing_to_estimate(void **state) {
    made_up *m = *state;
    m->f.unmeasured = m->x.unmeasured = "it is of another machine";
    rank(m);
    assert_string_equal(m->x.answer,
                        "Nothing was measured (it is of another machine), and the program shows nothing that makes it slow.");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        MADE_UP_TEST(what_saves_is_the_cause),
        MADE_UP_TEST(nothing_is_suspected),
        MADE_UP_TEST(what_is_suspected_costs_nothing),
        MADE_UP_TEST(an_interval_across_zero_proves_nothing),
        MADE_UP_TEST(the_least_that_counts),
        MADE_UP_TEST(one_try_proves_nothing),
        MADE_UP_TEST(failures_tell_nothing),
        MADE_UP_TEST(the_surest_trial_counts),
        MADE_UP_TEST(a_tile_that_fits_does_not_explain_tails),
        MADE_UP_TEST(another_change_is_no_evidence),
        MADE_UP_TEST(who_saves_more_comes_first),
        MADE_UP_TEST(ties_go_by_the_table),
        MADE_UP_TEST(what_explains_more_covers),
        MADE_UP_TEST(only_a_cause_covers),
        MADE_UP_TEST(measured_goes_before_guessed),
        MADE_UP_TEST(a_guess_is_bounded_by_what_was_saved),
        MADE_UP_TEST(a_condition_tells_of_its_cause),
        MADE_UP_TEST(a_condition_is_no_schedule),
        MADE_UP_TEST(denormals_that_cost),
        MADE_UP_TEST(denormals_that_cost_nothing),
        MADE_UP_TEST(denormals_that_may_cost),
        MADE_UP_TEST(estimates_alone),
        MADE_UP_TEST(nothing_to_estimate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
