/* How tuners share workers: how many jobs each may have in the queue, and what of the workers that makes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fleet/tuner/tuner_int.h"
#include "server.h"
#include "support/rng.h"

enum { TUNERS = 8 };

static test_server server;
static tc_arena *arena;
static tc_error err;

static void check(tc_status s) {
    if (s != TC_OK)
        fail_msg("%s", err.msg);
}

/* Of each of n tuners, as it finds out for itself; the others in the order in which they happen to be listed. */
static void share(const double *weight, size_t n, int workers, int *jobs) {
    double own[32];
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < n; k++)
            own[k] = weight[(i + k) % n];
        jobs[i] = fleet_share(own, n, workers);
    }
}

/* The largest relative distance of a share from what its weight says. */
static double unfair(const double *weight, const int *jobs, size_t n) {
    double sum = 0, total = 0, worst = 0;
    for (size_t i = 0; i < n; i++) {
        sum += weight[i];
        total += jobs[i];
    }
    for (size_t i = 0; i < n; i++)
        worst = fmax(worst, fabs(jobs[i] / total / (weight[i] / sum) - 1));
    return worst;
}

static void a_tuner_alone_has_two_jobs_for_each_worker(void **state) {
    (void)state;
    for (int w = 1; w < 70; w++)
        assert_int_equal(fleet_share(&(double){7}, 1, w), 2 * w);
    assert_int_equal(fleet_share(&(double){7}, 1, 0), 1);
}

static void equal_weights_are_equal_shares(void **state) {
    (void)state;
    double weight[20];
    int jobs[20];
    for (int i = 0; i < 20; i++)
        weight[i] = 0.3;
    for (size_t n = 1; n <= 20; n++)
        for (int w = 0; w <= 40; w++) {
            share(weight, n, w, jobs);
            for (size_t i = 0; i < n; i++)
                assert_int_equal(jobs[i], jobs[0]);
            assert_true(jobs[0] >= 1 && jobs[0] * (int)n >= 2 * w && (jobs[0] - 1) * (int)n < TC_MAX(2 * w, 1));
        }
}

/* Of any weights up to a hundredfold: within a tenth, none without a job, the workers busy, and no more in the queue than eight times what
 * these, or the smallest weight, need. */
static void shares_follow_weights(void **state) {
    (void)state;
    tc_rng r = tc_rng_seed(3);
    for (int round = 0; round < 2000; round++) {
        double weight[TUNERS], sum = 0, least = INFINITY;
        int jobs[TUNERS], total = 0, workers = (int)tc_rng_below(&r, 65);
        size_t n = 1 + (size_t)tc_rng_below(&r, TUNERS);
        for (size_t i = 0; i < n; i++) {
            sum += weight[i] = round % 2 ? 1 + (double)tc_rng_below(&r, 12) : pow(100, tc_rng_unit(&r));
            least = fmin(least, weight[i]);
        }
        share(weight, n, workers, jobs);
        for (size_t i = 0; i < n; i++) {
            assert_true(jobs[i] >= 1);
            total += jobs[i];
        }
        if (unfair(weight, jobs, n) > 0.1)
            fail_msg("round %d: a share is off by %g", round, unfair(weight, jobs, n));
        assert_true(total >= 2 * workers && total <= 8 * (int)fmax(2 * workers, ceil(sum / least)) + TUNERS);
    }
}

static void the_most_uneven_weights_have_an_end(void **state) {
    (void)state;
    const double weight[] = {TC_FLEET_HEAVIEST, 1.0 / TC_FLEET_HEAVIEST};
    int jobs[2];
    share(weight, 2, 16, jobs);
    assert_true(jobs[0] >= 32 && jobs[0] <= 1 << 15 && jobs[1] == 1);
}

/* ---- on a server ---- */

static void announce(tc_fleet_bus *b, int i) {
    const char *build = tc_fleet_build(arena);
    tc_fleet_worker w = {.name = tc_arena_printf(arena, "w%d", i),
                         .key = tc_fleet_key(arena, "t", 1, build),
                         .host = "h",
                         .target = "t",
                         .build = build,
                         .state = TC_FLEET_SERVING,
                         .why = "",
                         .threads = 1};
    tc_strbuf text = {0};
    tc_fleet_worker_write(&w, &text);
    check(tc_fleet_bus_announce(b, w.key, w.name, tc_sb_str(&text), &err));
    tc_strbuf_free(&text);
}

static tc_fleet *join(int i, double weight) {
    tc_fleet *f;
    tc_fleet_options o = {
        .access.url = server.url, .tuner = tc_arena_printf(arena, "tuner-%d", i), .target = "t", .threads = 1, .weight = weight};
    check(tc_fleet_join(&o, &f, &err));
    check(fleet_attend(f, &err));
    return f;
}

/* Each puts as many jobs into the queue as it may; a worker takes one after the other. Who has how many done? */
static void eight_tuners_share_by_weight(void **state) {
    (void)state;
    enum { WORKERS = 16, DONE = 720 };
    static const double weight[TUNERS] = {1, 2, 3, 4, 5, 6, 7, 8};
    tc_fleet *f[TUNERS];
    tc_fleet_bus *b;
    int flying[TUNERS] = {0}, asked = 0, done[TUNERS] = {0};
    check(tc_fleet_bus_open(&(tc_fleet_access){.url = server.url}, "workers", &b, &err));
    for (int i = 0; i < WORKERS; i++)
        announce(b, i);
    for (int i = 0; i < TUNERS; i++)
        f[i] = join(i, weight[i]);
    for (int i = 0; i < TUNERS; i++) { /* once more, when all are there */
        f[i]->attended = 0;
        check(fleet_attend(f[i], &err));
    }
    check(tc_fleet_bus_serve(b, f[0]->key, 30, &err));
    for (int n = 0; n < DONE; n++) {
        tc_fleet_delivery *d;
        for (int i = 0; i < TUNERS; i++)
            for (; flying[i] < f[i]->in_flight; flying[i]++)
                check(tc_fleet_bus_ask(f[i]->bus, f[i]->key, f[i]->tuner, tc_arena_printf(arena, "j%d", asked++), 1,
                                       tc_arena_printf(arena, "%d", i), &err));
        check(tc_fleet_bus_fetch(b, 10, &d, &err));
        assert_non_null(d);
        int whose = tc_fleet_delivery_text(d)[0] - '0';
        assert_true(whose >= 0 && whose < TUNERS);
        done[whose]++;
        flying[whose]--;
        tc_fleet_delivery_done(d);
    }
    if (unfair(weight, done, TUNERS) > 0.1)
        fail_msg("a share is off by %g", unfair(weight, done, TUNERS));
    for (int i = 1; i < TUNERS; i++) /* the others have left: all is the first one's */
        tc_fleet_leave(f[i]);
    f[0]->attended = 0;
    check(fleet_attend(f[0], &err));
    assert_int_equal(f[0]->in_flight, 2 * WORKERS);
    tc_fleet_leave(f[0]);
    tc_fleet_bus_close(b);
}

static void weights_have_bounds(void **state) {
    (void)state;
    static const double wrong[] = {-1, NAN, 1.0 / (2 * TC_FLEET_HEAVIEST), 2 * TC_FLEET_HEAVIEST, INFINITY};
    tc_fleet *f;
    for (size_t i = 0; i < TC_LEN(wrong); i++) {
        tc_fleet_options o = {.access.url = server.url, .tuner = "t", .target = "t", .threads = 1, .weight = wrong[i]};
        assert_int_equal(tc_fleet_join(&o, &f, &err), TC_BAD_INPUT);
        assert_non_null(strstr(err.msg, "weight"));
    }
}

static int setup(void **state) {
    (void)state;
    arena = tc_arena_new();
    test_server_start(&server, "");
    return 0;
}

static int teardown(void **state) {
    (void)state;
    test_server_stop(&server);
    tc_arena_free(arena);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tuner_alone_has_two_jobs_for_each_worker),
        cmocka_unit_test(equal_weights_are_equal_shares),
        cmocka_unit_test(shares_follow_weights),
        cmocka_unit_test(the_most_uneven_weights_have_an_end),
        cmocka_unit_test(eight_tuners_share_by_weight),
        cmocka_unit_test(weights_have_bounds),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
