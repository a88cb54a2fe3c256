/* What counters are let say of a cause, by made-up counts. */
#include <errno.h>

#include "made_up.h"

static tc_meas_counted counts(double instructions, double misses) {
    tc_meas_counted c = {.asked = true};
    c.of_call[TC_COUNTER_INSTRUCTIONS] = instructions;
    c.of_call[TC_COUNTER_L1_MISSES] = misses;
    return c;
}

/* What stands beside the first finding. */
static const char *told(made_up *m) {
    m->x.nfinding = 0;
    rank(m);
    assert_true(m->x.nfinding > 0);
    return m->x.finding[0].counted;
}

static void spills_are_instructions(void **state) {
    made_up *m = *state;
    m->target.machine.cores = 1;
    entrant *e = spilling(m, 0.7, 0.7, 0.7);
    assert_null(told(m)); /* nobody asked */
    m->f.counted = counts(5e6, 1e4);
    assert_string_equal(told(m), "5e+06 instructions a call"); /* of the other one nothing is known */
    e->counted = counts(3e6, 1e4);
    assert_string_equal(told(m), "5e+06 instructions a call, and 3e+06 with Y.i 6 -> 12");
}

static void strides_are_misses(void **state) {
    made_up *m = *state;
    m->f.own.stride = 4096;
    m->f.own.turns = 64;
    entrant *e = enter(m, TC_TRIAL_CONDITION, 0.5, 0.5, 0.5);
    e->t.cause = TC_CAUSE_STRIDES;
    e->t.change.decision = "the same schedule";
    e->t.change.what = "rows of X are longer";
    m->f.counted = counts(5e6, 8e5);
    e->counted = counts(5e6, 1e5);
    assert_string_equal(told(m), "8e+05 L1 data misses a call, and 1e+05 with the same schedule rows of X are longer");
}

/* Threads that wait spin. */
static void instructions_of_several_threads_tell_nothing(void **state) {
    made_up *m = *state;
    spilling(m, 0.7, 0.7, 0.7)->counted = counts(3e6, 1e4);
    m->f.counted = counts(5e6, 1e4);
    assert_null(told(m));
    m->target.machine.cores = 1;
    assert_non_null(told(m));
}

static void what_is_missing_tells_nothing(void **state) {
    made_up *m = *state;
    m->target.machine.cores = 1;
    entrant *e = spilling(m, 0.7, 0.7, 0.7);
    e->counted = m->f.counted = counts(5e6, 1e4);
    e->counted.missing[TC_COUNTER_INSTRUCTIONS] = EBUSY;
    assert_string_equal(told(m), "5e+06 instructions a call");
    assert_true(tune_can_tell(&m->f.counted));
    for (int i = 0; i < TC_COUNTER_TASK_CLOCK; i++)
        m->f.counted.missing[i] = ENOENT; /* as on a virtual machine: what is left says nothing of any cause */
    assert_null(told(m));
    assert_false(tune_can_tell(&m->f.counted));
    assert_false(tune_can_tell(&(tc_meas_counted){0}));
}

/* One thread alone is seen by no counter. */
static void other_causes_have_no_counter(void **state) {
    made_up *m = *state;
    m->f.own.cores_used = 0.5;
    m->f.counted = counts(5e6, 8e5);
    assert_null(told(m));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        MADE_UP_TEST(spills_are_instructions),
        MADE_UP_TEST(strides_are_misses),
        MADE_UP_TEST(instructions_of_several_threads_tell_nothing),
        MADE_UP_TEST(what_is_missing_tells_nothing),
        MADE_UP_TEST(other_causes_have_no_counter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
