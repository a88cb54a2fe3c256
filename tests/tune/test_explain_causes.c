/* What makes each cause suspected, and which changes have less of it: by made-up programs. */
#include "made_up.h"

/* ---- programs with one thing the matter ---- */

static void set_no_vectors(made_up *m, traits *t) {
    (void)m;
    t->lanes = 4;
}

static void set_one_thread(made_up *m, traits *t) {
    (void)m;
    t->cores_used = 0.5;
}

static void set_spill(made_up *m, traits *t) {
    (void)m;
    t->spilled = 8;
}

static void set_denormals(made_up *m, traits *t) {
    (void)t;
    m->o.denormal = 0.5;
}

static void set_cold_weights(made_up *m, traits *t) {
    (void)t;
    m->o.mode = TC_MEAS_COLD;
}

static void set_false_sharing(made_up *m, traits *t) {
    (void)m;
    t->task_stride = 4;
}

static void set_fine_parallel(made_up *m, traits *t) {
    (void)m;
    t->regions = 100;
}

static void set_strides(made_up *m, traits *t) {
    (void)m;
    t->stride = 4096;
    t->turns = 64;
}

static void set_packing(made_up *m, traits *t) {
    (void)m;
    t->across = 0.5;
    t->across_of = "W";
}

static void set_small_tile(made_up *m, traits *t) {
    (void)m;
    t->accumulators = 2;
}

static void set_tail(made_up *m, traits *t) {
    (void)m;
    t->wasted = 0.4;
}

static void set_no_unroll(made_up *m, traits *t) {
    (void)m;
    t->unrolled = 1;
}

/* What says so, and the change that has less of it where one can. */
static const struct {
    tc_tune_cause cause;
    void (*set)(made_up *, traits *);
    const char *evidence;
    tc_space_change_kind about; /* TC_NCHANGES: none has less */
} programs[] = {
    {TC_CAUSE_NO_VECTORS, set_no_vectors, "4 of 16 lanes are used", TC_CHANGE_VECTOR},
    {TC_CAUSE_ONE_THREAD, set_one_thread, "1 of 2 cores have work", TC_CHANGE_PARALLEL},
    {TC_CAUSE_SPILL, set_spill, "8 vectors of the tile do not fit in 32 registers", TC_CHANGE_REGISTERS},
    {TC_CAUSE_DENORMALS, set_denormals, "50 % of the data are denormal", TC_NCHANGES},
    {TC_CAUSE_COLD_WEIGHTS, set_cold_weights, "0.0164 MB of constants come from memory", TC_NCHANGES},
    {TC_CAUSE_FALSE_SHARING, set_false_sharing, "neighbouring tasks write 4 bytes apart, in the same line of 64",
     TC_CHANGE_PARALLEL},
    {TC_CAUSE_FINE_PARALLEL, set_fine_parallel, "a parallel loop is entered 100 times", TC_CHANGE_PARALLEL},
    {TC_CAUSE_STRIDES, set_strides, "a loop of 64 iterations reads 4096 bytes apart", TC_CHANGE_LAYOUT},
    {TC_CAUSE_PACKING, set_packing, "the hot loop reads W across rows", TC_CHANGE_LAYOUT},
    {TC_CAUSE_SMALL_TILE, set_small_tile, "2 vectors accumulate; 8 keep two multiply-adds", TC_CHANGE_BLOCK},
    {TC_CAUSE_TAIL, set_tail, "40 % of the work is in partial tiles", TC_CHANGE_REGISTERS},
    {TC_CAUSE_NO_UNROLL, set_no_unroll, "no loop around it is unrolled", TC_CHANGE_UNROLL},
};

/* Only that one is suspected. */
static void check_suspects(const made_up *m, tc_tune_cause only, const char *evidence) {
    for (int c = 0; c < TC_NCAUSES; c++) {
        const char *why;
        double estimate = tune_suspect(&m->f, (tc_tune_cause)c, &why);
        if ((estimate > 0) != ((tc_tune_cause)c == only))
            fail_msg("%s: estimated as %g where the matter is %s",
                     c < TC_CAUSE_OTHER ? tc_tune_cause_text((tc_tune_cause)c) : "-", estimate,
                     only < TC_CAUSE_OTHER ? tc_tune_cause_text(only) : "nothing");
        assert_true(estimate < 1);
        assert_true((*why != 0) == (estimate > 0));
        if (estimate > 0 && !strstr(why, evidence))
            fail_msg("'%s' does not say '%s'", why, evidence);
    }
}

static void nothing_is_the_matter(void **state) {
    check_suspects(*state, TC_NCAUSES, "");
}

static void each_is_suspected_where_it_is(void **state) {
    assert_int_equal(TC_LEN(programs), TC_CAUSE_OTHER);
    for (size_t i = 0; i < TC_LEN(programs); i++) {
        void *own;
        assert_int_equal(begin(&own), 0);
        made_up *m = own;
        programs[i].set(m, &m->f.own);
        check_suspects(m, programs[i].cause, programs[i].evidence);
        end(&own);
    }
    (void)state;
}

/* By a change of what it is about, whose program is without it; not by the same change of a program that has it still, by another
 * schedule, nor by what changes something else. */
static void check_less(made_up *m, tc_tune_cause cause, tc_space_change_kind about, const traits *sound) {
    for (int k = 0; k < TC_NCHANGES; k++) {
        entrant *e = change(m, (tc_space_change_kind)k, 1, 1, 1);
        assert_false(tune_has_less(&m->f, e, cause) && cause != TC_CAUSE_NO_UNROLL); /* its traits are the schedule's */
        e->traits = *sound;
        bool less = tune_has_less(&m->f, e, cause);
        if ((tc_space_change_kind)k == about)
            assert_true(less);
        if (about == TC_NCHANGES)
            assert_false(less);
        e->t.kind = TC_TRIAL_CONSTRUCTED;
        assert_false(tune_has_less(&m->f, e, cause));
        m->f.n = 0;
    }
}

static void changes_that_have_less(void **state) {
    for (size_t i = 0; i < TC_LEN(programs); i++) {
        void *own;
        assert_int_equal(begin(&own), 0);
        made_up *m = own;
        traits sound = m->f.own;
        programs[i].set(m, &m->f.own);
        check_less(m, programs[i].cause, programs[i].about, &sound);
        end(&own);
    }
    (void)state;
}

static void less_unrolling_is_not_less_of_it(void **state) {
    made_up *m = *state;
    entrant *e = change(m, TC_CHANGE_UNROLL, 1, 1, 1);
    assert_true(tune_has_less(&m->f, e, TC_CAUSE_NO_UNROLL));
    e->t.change.more = false;
    assert_false(tune_has_less(&m->f, e, TC_CAUSE_NO_UNROLL));
}

/* Wider vectors on fewer cores, or a larger tile of narrower vectors, say nothing of the one cause. */
static void not_at_the_cost_of_another(void **state) {
    made_up *m = *state;
    m->f.own.lanes = 8;
    m->f.own.accumulators = 2;
    entrant *e = change(m, TC_CHANGE_VECTOR, 1, 1, 1);
    e->traits.lanes = 16;
    e->traits.cores_used = 0.5;
    assert_false(tune_has_less(&m->f, e, TC_CAUSE_NO_VECTORS));
    e = change(m, TC_CHANGE_REGISTERS, 1, 1, 1);
    e->traits.accumulators = 16;
    assert_true(tune_has_less(&m->f, e, TC_CAUSE_SMALL_TILE));
    e->traits.lanes = 4;
    assert_false(tune_has_less(&m->f, e, TC_CAUSE_SMALL_TILE));
}

/* ---- estimates ---- */

static double estimate(const made_up *m, tc_tune_cause c) {
    const char *why;
    return tune_suspect(&m->f, c, &why);
}

/* What the compiler made counts, whatever the program asked for. */
static void scalar_code_has_no_vectors(void **state) {
    made_up *m = *state;
    m->side.facts.mix = (tc_cg_mix){.instructions = 40, .scalar = 20};
    assert_true(fabs(estimate(m, TC_CAUSE_NO_VECTORS) - 15.0 / 16) < 1e-9);
    m->side.facts.known = false; /* of a target whose mnemonics are not known */
    assert_true(estimate(m, TC_CAUSE_NO_VECTORS) == 0);
}

static void one_core_has_no_threads(void **state) {
    made_up *m = *state;
    m->target.machine.cores = 1;
    m->f.own.cores_used = 1;
    m->f.own.task_stride = 4;
    assert_true(estimate(m, TC_CAUSE_ONE_THREAD) == 0);
    assert_true(estimate(m, TC_CAUSE_FALSE_SHARING) == 0);
    m->target.machine.cores = 64;
    m->f.own.cores_used = 4.0 / 64;
    assert_true(fabs(estimate(m, TC_CAUSE_ONE_THREAD) - 60.0 / 64) < 1e-9);
}

/* Forks by what one costs here, once both are known. */
static void forks_by_their_time(void **state) {
    made_up *m = *state;
    m->f.own.regions = 100;
    m->f.fork = 2e-6;
    assert_true(fabs(estimate(m, TC_CAUSE_FINE_PARALLEL) - 0.2) < 1e-9);
    m->f.seconds = 1e-4; /* the clock says less than the forks alone would take */
    assert_true(fabs(estimate(m, TC_CAUSE_FINE_PARALLEL) - 0.9) < 1e-9);
    m->f.seconds = 0;
    assert_true(fabs(estimate(m, TC_CAUSE_FINE_PARALLEL) - 0.1) < 1e-9);
}

static void every_cause_can_be_told(void **state) {
    (void)state;
    for (int c = 0; c < TC_NCAUSES; c++) {
        assert_true(*tc_tune_cause_text((tc_tune_cause)c) >= 'a' && *tc_tune_cause_text((tc_tune_cause)c) <= 'z');
        assert_true(*tc_tune_cause_meaning((tc_tune_cause)c) && *tc_tune_cause_remedy((tc_tune_cause)c));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        MADE_UP_TEST(nothing_is_the_matter),       cmocka_unit_test(each_is_suspected_where_it_is),
        cmocka_unit_test(changes_that_have_less),  MADE_UP_TEST(less_unrolling_is_not_less_of_it),
        MADE_UP_TEST(not_at_the_cost_of_another),  MADE_UP_TEST(scalar_code_has_no_vectors),
        MADE_UP_TEST(one_core_has_no_threads),     MADE_UP_TEST(forks_by_their_time),
        cmocka_unit_test(every_cause_can_be_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
