/* Times of many machines on one scale. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "fleet/scale.h"

static tc_arena *arena;

static int setup(void **state) {
    (void)state;
    arena = tc_arena_new();
    return 0;
}

static int teardown(void **state) {
    (void)state;
    tc_arena_free(arena);
    return 0;
}

static tc_fleet_pace pace_of(const double *seconds, int n) {
    tc_fleet_pace p = {0};
    for (int i = 0; i < n; i++)
        assert_true(tc_fleet_pace_note(&p, i + 1, seconds[i]));
    return p;
}

static void what_is_told_twice_is_noted_once(void **state) {
    (void)state;
    tc_fleet_pace p = {0};
    assert_true(tc_fleet_pace_last(&p) == 0 && tc_fleet_pace_median(&p) == 0 && tc_fleet_pace_spread(&p) == 0);
    assert_false(tc_fleet_pace_note(&p, 0, 0)); /* not known */
    assert_false(tc_fleet_pace_note(&p, 1, NAN));
    assert_true(tc_fleet_pace_note(&p, 1, 2));
    assert_false(tc_fleet_pace_note(&p, 1, 2));
    assert_true(tc_fleet_pace_note(&p, 3, 2));
    assert_int_equal(p.n, 2);
}

static void the_window_is_the_last_eight(void **state) {
    (void)state;
    static const double s[] = {100, 100, 1, 2, 3, 4, 5, 6, 7, 8};
    double least, most;
    tc_fleet_pace p = pace_of(s, 10);
    assert_true(tc_fleet_pace_last(&p) == 8);
    assert_true(tc_fleet_pace_median(&p) == 4.5);
    assert_true(fabs(tc_fleet_pace_spread(&p) - (6 - 3) / 4.5) < 1e-12);
    tc_fleet_pace_range(&p, &least, &most);
    assert_true(least == 1 && most == 8);
}

/* A quiet machine, with one time that was disturbed; one that another process comes to use and leaves; one that is used all the
 * time. */
static void spread_tells_unsteady_machines(void **state) {
    (void)state;
    static const double quiet[] = {1, 1.01, 1.03, 1, 1.4, 1.02, 1, 1.01}, restless[] = {1, 1.4, 1.4, 1, 1, 1.4, 1, 1.4},
                        slow[] = {1.4, 1.41, 1.4, 1.42, 1.4, 1.43, 1.4, 1.4};
    tc_fleet_pace p = pace_of(quiet, 8), few = pace_of(restless, 7);
    assert_true(tc_fleet_pace_spread(&p) < TC_FLEET_MOST_SPREAD);
    assert_true(tc_fleet_pace_spread(&few) == 0);
    p = pace_of(restless, 8);
    assert_true(tc_fleet_pace_spread(&p) > TC_FLEET_MOST_SPREAD);
    p = pace_of(slow, 8);
    assert_true(tc_fleet_pace_spread(&p) < TC_FLEET_MOST_SPREAD);
}

static void the_first_worker_sets_the_scale(void **state) {
    (void)state;
    tc_fleet_scale s = {0};
    char name[] = "w1";
    tc_fleet_pace *p = tc_fleet_scale_pace(&s, arena, name);
    assert_true(tc_fleet_scale_ratio(&s, p) == 1); /* nothing is known */
    tc_fleet_pace_note(p, 1, 2e-3);
    assert_true(tc_fleet_scale_ratio(&s, p) == 1 && s.common == 2e-3);
    name[1] = '2';
    p = tc_fleet_scale_pace(&s, arena, name);
    assert_true(tc_fleet_scale_ratio(&s, p) == 1);
    tc_fleet_pace_note(p, 1, 3e-3);
    assert_true(tc_fleet_scale_ratio(&s, p) == 1.5);
    p = tc_fleet_scale_pace(&s, arena, "w1");
    tc_fleet_pace_note(p, 2, 4e-3);
    assert_true(p->n == 2 && s.common == 2e-3); /* it stays */
    assert_true(tc_fleet_scale_ratio(&s, p) == 1.5);
    assert_int_equal(s.workers.len, 2);
    tc_fleet_scale_free(&s);
}

static void ratios_are_over_the_median_of_those_known(void **state) {
    (void)state;
    static const double all[] = {0, 1, 2, 4};
    assert_true(tc_fleet_ratio_among(4, all, 4) == 2);
    assert_true(tc_fleet_ratio_among(1, all, 4) == 0.5);
    assert_true(tc_fleet_ratio_among(0, all, 4) == 0);
    assert_true(tc_fleet_ratio_among(1, all, 1) == 0);
    assert_true(tc_fleet_ratio_among(1, NULL, 0) == 0);
}

static void who_stands_alone_is_wrong(void **state) {
    (void)state;
    const tc_fleet_opinion true_time = {1, 1.1}, slower = {1.5, 1.6}, tenth = {0.1, 0.11}, twice = {2.5, 2.6}, noisy = {0.9, 4};
    assert_true(tc_fleet_agree(&true_time, &slower) && tc_fleet_agree(&slower, &true_time));
    assert_true(!tc_fleet_agree(&true_time, &twice) && !tc_fleet_agree(&tenth, &true_time));
    assert_true(tc_fleet_agree(&noisy, &twice) && tc_fleet_agree(&true_time, &noisy));
    assert_int_equal(tc_fleet_wrong((tc_fleet_opinion[]){true_time}, 1, true), TC_FLEET_NOBODY);
    assert_int_equal(tc_fleet_wrong((tc_fleet_opinion[]){true_time, slower}, 2, true), TC_FLEET_NOBODY);
    assert_int_equal(tc_fleet_wrong((tc_fleet_opinion[]){true_time, tenth}, 2, true), TC_FLEET_ASK_THIRD);
    assert_int_equal(tc_fleet_wrong((tc_fleet_opinion[]){true_time, tenth}, 2, false), 1);
    assert_int_equal(tc_fleet_wrong((tc_fleet_opinion[]){tenth, true_time}, 2, false), 0);
    assert_int_equal(tc_fleet_wrong((tc_fleet_opinion[]){tenth, true_time, slower}, 3, false), 0);
    assert_int_equal(tc_fleet_wrong((tc_fleet_opinion[]){true_time, tenth, slower}, 3, true), 1);
    assert_int_equal(tc_fleet_wrong((tc_fleet_opinion[]){true_time, tenth, {20, 21}}, 3, true), TC_FLEET_NOBODY);
    assert_int_equal(tc_fleet_wrong((tc_fleet_opinion[]){true_time, twice, {1.6, 1.7}}, 3, true),
                     TC_FLEET_NOBODY); /* between them */
}

static tc_fleet_opinion exactly(double seconds) {
    return (tc_fleet_opinion){seconds, seconds};
}

static void meet(tc_fleet_scale *s, uint64_t of, double x, double y) {
    tc_fleet_scale_meet(s, of, "w2", exactly(y), "w1", exactly(x));
}

/* What the two are told to say of each other, in whichever order. */
static tc_fleet_flips flips(const tc_fleet_scale *s, const char *x, const char *y) {
    tc_fleet_rankings all = tc_fleet_scale_rankings(s, arena);
    for (size_t i = 0; i < all.len; i++) {
        assert_true(strcmp(all.data[i].worker[0], all.data[i].worker[1]) < 0 && all.data[i].flips.pairs > 0);
        if (strcmp(all.data[i].worker[0], x) == 0 && strcmp(all.data[i].worker[1], y) == 0)
            return all.data[i].flips;
    }
    return (tc_fleet_flips){0};
}

static void flips_are_pairs_that_two_order_differently(void **state) {
    (void)state;
    tc_fleet_scale s = {0};
    (void)tc_fleet_scale_pace(&s, arena, "w1");
    (void)tc_fleet_scale_pace(&s, arena, "w2");
    (void)tc_fleet_scale_pace(&s, arena, "w3");
    tc_fleet_flips f = flips(&s, "w1", "w2");
    assert_true(f.pairs == 0 && f.flipped == 0);
    meet(&s, 7, 1, 1);
    meet(&s, 7, 2, 2);                                               /* as before */
    meet(&s, 7, 1.5, 0.9);                                           /* the first again is slower for w1, faster for w2 */
    meet(&s, 8, 0.1, 100);                                           /* of another workload */
    meet(&s, 7, 1.01, 3);                                            /* as fast as the first one, to w1 */
    tc_fleet_scale_meet(&s, 7, "w1", exactly(9), "w3", exactly(1));  /* of another pair of workers */
    tc_fleet_scale_meet(&s, 7, "w1", exactly(9), "w1", exactly(1));  /* of one */
    tc_fleet_scale_meet(&s, 7, "w1", exactly(9), "who", exactly(1)); /* of nobody */
    assert_int_equal(s.met.len, 6);
    assert_true(s.met.data[2].says[0].least == 1.5 && s.met.data[2].says[1].least == 0.9);
    f = flips(&s, "w1", "w2");
    /* 1-2, 1-3 flipped, 2-3, 2-4 flipped, 3-4 flipped; 1-4 is no order to w1 */
    assert_int_equal(f.pairs, 5);
    assert_int_equal(f.flipped, 3);
    f = flips(&s, "w1", "w3");
    assert_int_equal(f.pairs, 0);
    tc_fleet_scale_meet(&s, 9, "w1", (tc_fleet_opinion){1, 2}, "w3", exactly(1)); /* repeats that overlap order nothing */
    tc_fleet_scale_meet(&s, 9, "w1", (tc_fleet_opinion){2, 3}, "w3", exactly(9));
    f = flips(&s, "w1", "w3");
    assert_int_equal(f.pairs, 0);
    tc_fleet_scale_free(&s);
}

static void many_flips_are_of_machines_that_differ(void **state) {
    (void)state;
    assert_false(tc_fleet_rank_otherwise((tc_fleet_flips){.pairs = 9, .flipped = 9})); /* too few to tell */
    assert_false(tc_fleet_rank_otherwise((tc_fleet_flips){.pairs = 10, .flipped = 2}));
    assert_true(tc_fleet_rank_otherwise((tc_fleet_flips){.pairs = 10, .flipped = 3}));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_told_twice_is_noted_once),
        cmocka_unit_test(the_window_is_the_last_eight),
        cmocka_unit_test(spread_tells_unsteady_machines),
        cmocka_unit_test_setup_teardown(the_first_worker_sets_the_scale, setup, teardown),
        cmocka_unit_test(ratios_are_over_the_median_of_those_known),
        cmocka_unit_test(who_stands_alone_is_wrong),
        cmocka_unit_test_setup_teardown(flips_are_pairs_that_two_order_differently, setup, teardown),
        cmocka_unit_test_setup_teardown(many_flips_are_of_machines_that_differ, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
