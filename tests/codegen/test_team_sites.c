/* Which loops run in the caller's thread alone: the policy, with drawn times in place of a clock. */
#include "support/cmocka_all.h"

#include <math.h>

#include "codegen/team/team_int.h"
#include "support/rng.h"

/* Nanoseconds of a loop. */
typedef struct costs {
    double shared, alone;
} costs;

/* What n regions take, over what they would if each was run as is faster. What is timed is a little more or less, and of one in a
 * hundred much more. */
static double regret(tc_team_site *s, costs c, int n, tc_rng *rng) {
    double took = 0, best = 0;
    for (int i = 0; i < n; i++) {
        bool timed, alone = tc_team_site_asks(s, &timed);
        double noise = exp(0.1 * tc_rng_normal(rng)), one = alone ? c.alone : c.shared;
        took += one;
        best += fmin(c.shared, c.alone);
        if (timed)
            tc_team_site_took(s, (uint64_t)(one * noise * (tc_rng_below(rng, 100) == 0 ? 100 : 1)));
    }
    return took / best;
}

static void test_small_loops_alone(void **state) {
    (void)state;
    tc_rng rng = tc_rng_seed(3);
    for (int i = 0; i < 200; i++) {
        tc_team_site s = {0};
        costs far = {2000 + 100 * (double)(i % 10), 500 + 2 * (double)i}, near = {far.alone * 0.6, far.alone};
        regret(&s, far, 100, &rng);
        assert_true(regret(&s, far, 200000, &rng) < 1.02);
        assert_true(regret(&s, near, 30000, &rng) < 1.67); /* it takes a while */
        assert_true(regret(&s, near, 200000, &rng) < 1.02);
        assert_true(regret(&s, far, 300000, &rng) < 2.5); /* and longer to go back */
        assert_true(regret(&s, far, 200000, &rng) < 1.02);
    }
}

/* What many threads do is seldom tried with one. */
static void test_large_loops_together(void **state) {
    (void)state;
    tc_rng rng = tc_rng_seed(4);
    for (int threads = 2; threads <= 64; threads *= 2)
        for (double shared = 500; shared < 1e6; shared *= 1.7) {
            tc_team_site s = {0};
            costs c = {shared, shared * threads * 0.9};
            regret(&s, c, 100, &rng);
            double r = regret(&s, c, 300000, &rng);
            if (r > 1.03)
                fail_msg("%d threads, %.0f ns: %.3f times what it takes with all", threads, shared, r);
        }
}

static void test_sites(void **state) {
    (void)state;
    static tc_team_sites all;
    tc_rt_body *const body = (tc_rt_body *)(uintptr_t)0x1000;
    tc_team_site *first = tc_team_site_of(&all, body, 7), *other = tc_team_site_of(&all, body, 8);
    assert_non_null(first);
    assert_ptr_not_equal(first, other);
    assert_ptr_equal(first, tc_team_site_of(&all, body, 7));
    int room = 0;
    for (int64_t n = 100; n < 10000; n++)
        room += tc_team_site_of(&all, body, n) != NULL;
    assert_in_range(room, TC_TEAM_SITES / 2, TC_TEAM_SITES - 2);
    assert_ptr_equal(first, tc_team_site_of(&all, body, 7));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_loops_alone),
        cmocka_unit_test(test_large_loops_together),
        cmocka_unit_test(test_sites),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
