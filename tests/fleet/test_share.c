/* How tuners share workers: how many jobs each may have in the queue, and what of the workers that makes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "codegen/target/target.h"
#include "fleet/bus_int.h"
#include "fleet/tuner/tuner_int.h"
#include "server.h"
#include "support/log.h"
#include "support/rng.h"

#define GEMM                                                                                                                     \
    "tensor p0[64, 64] f32\ntensor p1[64, 64] f32\ncompute t0[i0:64, i1:64] = sum(k0:64) p0[i0, k0] * p1[k0, i1]\noutput t0\n"

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

/* Of any weights up to a hundredfold: within a tenth, none without a job, the workers busy, and no more in the queue than eight
 * times what these, or the smallest weight, need. */
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

static void announce(tc_fleet_bus *b, const char *target, int i) {
    const char *build = tc_fleet_build(arena);
    tc_fleet_worker w = {.name = tc_arena_printf(arena, "w%d", i),
                         .key = tc_fleet_key(arena, target, 1, build),
                         .host = "h",
                         .target = target,
                         .build = build,
                         .state = TC_FLEET_SERVING,
                         .why = "",
                         .threads = 1};
    tc_strbuf text = {0};
    tc_fleet_worker_write(&w, &text);
    check(tc_fleet_bus_announce(b, w.key, w.name, tc_sb_str(&text), &err));
    tc_strbuf_free(&text);
}

static tc_fleet_bus *workers_of(const char *target, int n) {
    tc_fleet_bus *b;
    check(tc_fleet_bus_open(&(tc_fleet_access){.url = server.url}, "workers", &b, &err));
    for (int i = 0; i < n; i++)
        announce(b, target, i);
    return b;
}

static tc_fleet *join_for(const char *target, int i, double weight) {
    tc_fleet *f;
    tc_fleet_options o = {.access.url = server.url,
                          .tuner = tc_arena_printf(arena, "tuner-%d", i),
                          .target = target,
                          .threads = 1,
                          .weight = weight};
    check(tc_fleet_join(&o, &f, &err));
    return f;
}

static tc_fleet *join(int i, double weight) {
    return join_for("t", i, weight);
}

/* It is there before it asks for anything. */
static void who_joins_is_known(void **state) {
    (void)state;
    enum { WORKERS = 4 };
    tc_fleet_bus *b = workers_of("t", WORKERS);
    tc_fleet *first = join(0, 1), *second = join(1, 1);
    assert_int_equal(first->in_flight, 2 * WORKERS);
    assert_int_equal(second->in_flight, WORKERS);
    first->attended -= 1.1; /* a second is over */
    check(fleet_attend(first, &err));
    assert_int_equal(first->in_flight, WORKERS);
    tc_fleet_leave(second);
    tc_fleet_leave(first);
    tc_fleet_bus_close(b);
}

/* Whether it looks around when so many seconds are over since it last did. */
static bool looks_after(tc_fleet *f, double seconds) {
    f->tuners = -1;
    f->attended = tc_now() - seconds;
    check(fleet_attend(f, &err));
    bool looked = f->tuners != -1;
    f->tuners = 1;
    return looked;
}

static void where_nobody_comes_it_looks_less_often(void **state) {
    (void)state;
    static const double pause[] = {1, 2, 4, 8, 10, 10};
    tc_fleet_bus *b = workers_of("t", 1);
    tc_fleet *f = join(0, 1);
    for (size_t i = 0; i < TC_LEN(pause); i++) {
        f->calm = (int)i;
        assert_true(looks_after(f, pause[i]));
        assert_int_equal(f->calm, 0); /* somebody came */
        f->calm = (int)i;
        if (pause[i] > 5) /* there is time to see that it does not */
            assert_false(looks_after(f, 0));
    }
    f->attended = 0;
    f->calm = 2;
    check(fleet_attend(f, &err));
    assert_int_equal(f->calm, 3);
    tc_fleet_leave(f);
    tc_fleet_bus_close(b);
}

static tc_meas_input candidate(int i) {
    return (tc_meas_input){.workload = GEMM,
                           .workload_hash = tc_meas_text_hash(GEMM),
                           .trace = tc_arena_printf(arena, "io, ii = split t0.i0 [_, %d]\n", i + 2)};
}

/* That it failed: nobody is asked about it again. */
static tc_status answer(tc_fleet_bus *b, const char *key, const tc_fleet_job *j, size_t i, tc_error *why) {
    tc_record r = tc_meas_record_empty();
    tc_strbuf text = {0};
    r.error = TC_MEAS_RUN_CRASH;
    r.message = "so it says";
    tc_fleet_result x = {.id = j->each[i], .worker = "w0", .host = "h", .refused = "", .record = &r, .n = 1};
    tc_fleet_self self = {.key = key, .name = "w0", .boot = "b"};
    tc_fleet_result_write(&x, &text);
    tc_status s = tc_fleet_bus_answer(b, &self, j->tuner, x.id, tc_sb_str(&text), why);
    tc_strbuf_free(&text);
    return s;
}

static int64_t jobs_of(const tc_fleet *f) {
    int64_t n;
    check(tc_fleet_bus_asked(f->bus, f->key, f->tuner, &n, &err));
    return n;
}

/* Two that share two workers: each has eight candidates waiting. When a worker begins them the next are asked for, however long
 * that takes. */
static void what_is_begun_waits_no_more(void **state) {
    (void)state;
    enum { MANY = 40 };
    tc_target *t;
    tc_meas *m;
    tc_meas_flight *flight;
    tc_meas_input in[MANY];
    tc_record out[MANY];
    tc_fleet_job j;
    tc_fleet_delivery *d;
    check(tc_target_parse("native", &t, &err));
    tc_fleet_bus *b = workers_of(t->text, 2);
    tc_fleet *other = join_for(t->text, 1, 1), *f = join_for(t->text, 0, 1);
    tc_meas_options o = {.target = t->text, .threads = 1, .mode = TC_MEAS_SIMULATED, .carrier = &tc_meas_fleet, .carried_by = f};
    check(tc_meas_new(&o, &m, &err));
    for (int i = 0; i < MANY; i++)
        in[i] = candidate(i);
    check(tc_meas_begin(m, in, MANY, arena, out, NULL, NULL, &flight, &err));
    assert_int_equal(jobs_of(f), 1);
    check(tc_fleet_bus_serve(b, f->key, 30, &err));
    check(tc_fleet_bus_fetch(b, 10, &d, &err));
    assert_non_null(d);
    check(tc_fleet_job_read(tc_fleet_delivery_text(d), arena, &j, &err));
    assert_int_equal(j.call.n, 8);
    check(answer(b, f->key, &j, 0, &err));
    for (int i = 0; i < 5000 && jobs_of(f) < 2; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 25000000}, NULL);
        tc_meas_tend(m);
    }
    assert_int_equal(jobs_of(f), 2); /* this one, and one that waits */
    check(answer(b, f->key, &j, 1, &err));
    for (int i = 0; i < 10; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 25000000}, NULL);
        tc_meas_tend(m);
    }
    assert_int_equal(jobs_of(f), 2);
    tc_fleet_delivery_done(d);
    tc_meas_abandon(flight);
    tc_meas_free(m);
    tc_fleet_leave(f);
    tc_fleet_leave(other);
    tc_fleet_bus_close(b);
    tc_target_free(t);
}

/* ---- what the server passes over ---- */

typedef struct server_side {
    tc_fleet_bus *b;
    const char *key;
    natsSubscription *jobs;
} server_side;

static void filter(server_side *s, const char *subject) {
    jsConsumerConfig c;
    jsErrCode code = 0;
    jsConsumerConfig_Init(&c);
    c.Name = c.Durable = s->key;
    c.FilterSubject = subject;
    c.AckPolicy = js_AckExplicit;
    assert_int_equal(js_AddConsumer(NULL, s->b->js, BUS_WORK_STREAM, &c, NULL, &code), NATS_OK);
}

/* Workers are given a later job of another tuner, and end it. The server's own fault leaves no more behind than this does: a
 * queue that went on. */
static void pass_over(server_side *s) {
    jsSubOptions o;
    jsErrCode code = 0;
    natsMsgList list = {0};
    const char *subject =
        "tctune.work.*.later"; /* a pattern, as that of workers is: a server that is told of another one keeps this of it */
    filter(s, subject);
    check(tc_fleet_bus_ask(s->b, s->key, "later", "j", 1, "what", NULL, &err));
    jsSubOptions_Init(&o);
    o.Stream = BUS_WORK_STREAM;
    o.Consumer = s->key;
    assert_int_equal(js_PullSubscribe(&s->jobs, s->b->js, subject, s->key, NULL, &o, &code), NATS_OK);
    assert_int_equal(natsSubscription_Fetch(&list, s->jobs, 1, 10000, &code), NATS_OK);
    assert_int_equal(list.Count, 1);
    assert_int_equal(natsMsg_AckSync(list.Msgs[0], NULL, &code), NATS_OK);
    natsMsgList_Destroy(&list);
    natsSubscription_Destroy(s->jobs);
}

enum { PASSED = 12 };

/* Says that a job's candidates failed. */
static tc_status end_job(const server_side *s, tc_fleet_delivery *d, size_t *given, tc_error *why) {
    tc_fleet_job j;
    tc_arena *a = tc_arena_new();
    tc_status st = tc_fleet_job_read(tc_fleet_delivery_text(d), a, &j, why);
    for (size_t i = 0; st == TC_OK && i < j.call.n; i++)
        st = answer(s->b, s->key, &j, i, why);
    *given += st == TC_OK ? j.call.n : 0;
    tc_arena_free(a);
    tc_fleet_delivery_done(d);
    return st;
}

/* A worker, until it was given all; NULL: it was not. */
static void *work(void *user) {
    server_side *s = user;
    size_t given = 0;
    tc_error why;
    for (int tries = 0; tries < 60 && given < PASSED; tries++) {
        tc_fleet_delivery *d;
        if (tc_fleet_bus_fetch(s->b, 0.5, &d, &why) != TC_OK || (d && end_job(s, d, &given, &why) != TC_OK))
            return NULL;
    }
    return given == PASSED ? s : NULL;
}

/* Jobs that stand in the queue and that nobody will be given are asked for again, once, and are in it no more. */
static void what_is_passed_over_is_asked_for_again(void **state) {
    (void)state;
    tc_target *t;
    tc_meas *m;
    tc_meas_flight *flight;
    tc_meas_input in[PASSED];
    tc_record out[PASSED];
    pthread_t worker;
    void *answered;
    check(tc_target_parse("native", &t, &err));
    server_side s = {.b = workers_of(t->text, 1)};
    tc_fleet *f = join_for(t->text, 0, 1);
    s.key = f->key;
    tc_meas_options o = {.target = t->text, .threads = 1, .mode = TC_MEAS_SIMULATED, .carrier = &tc_meas_fleet, .carried_by = f};
    check(tc_meas_new(&o, &m, &err));
    tc_meas_set_deadline(m, tc_now() + 30);
    for (int i = 0; i < PASSED; i++)
        in[i] = candidate(i);
    check(tc_meas_begin(m, in, PASSED, arena, out, NULL, NULL, &flight, &err));
    int64_t asked = jobs_of(f);
    assert_true(asked > 0);
    pass_over(&s);
    check(tc_fleet_bus_serve(s.b, s.key, 30, &err));
    tc_fleet_delivery *d;
    check(tc_fleet_bus_fetch(s.b, 0.2, &d, &err));
    assert_null(d);
    assert_int_equal(jobs_of(f), asked);
    assert_int_equal(pthread_create(&worker, NULL, work, &s), 0);
    check(tc_meas_end(flight, &err));
    assert_int_equal(pthread_join(worker, &answered), 0);
    assert_non_null(answered);
    for (int i = 0; i < PASSED; i++)
        assert_int_equal(out[i].error, TC_MEAS_RUN_CRASH);
    for (int i = 0; i < 6000 && jobs_of(f) > 0; i++)
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    assert_int_equal(jobs_of(f), 0);
    tc_meas_free(m);
    tc_fleet_leave(f);
    tc_fleet_bus_close(s.b);
    tc_target_free(t);
}

/* Each puts as many jobs into the queue as it may; a worker takes one after the other. Who has how many done? */
static void eight_tuners_share_by_weight(void **state) {
    (void)state;
    enum { WORKERS = 16, DONE = 720 };
    static const double weight[TUNERS] = {1, 2, 3, 4, 5, 6, 7, 8};
    tc_fleet *f[TUNERS];
    int flying[TUNERS] = {0}, asked = 0, done[TUNERS] = {0};
    tc_fleet_bus *b = workers_of("t", WORKERS);
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
                                       tc_arena_printf(arena, "%d", i), NULL, &err));
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
    return 0;
}

static int teardown(void **state) {
    (void)state;
    tc_arena_free(arena);
    return 0;
}

static int start_server(void **state) {
    (void)state;
    test_server_start(&server, "");
    return 0;
}

static int stop_server(void **state) {
    (void)state;
    test_server_stop(&server);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tuner_alone_has_two_jobs_for_each_worker),
        cmocka_unit_test(equal_weights_are_equal_shares),
        cmocka_unit_test(shares_follow_weights),
        cmocka_unit_test(the_most_uneven_weights_have_an_end),
        cmocka_unit_test_setup_teardown(who_joins_is_known, start_server, stop_server),
        cmocka_unit_test_setup_teardown(where_nobody_comes_it_looks_less_often, start_server, stop_server),
        cmocka_unit_test_setup_teardown(what_is_begun_waits_no_more, start_server, stop_server),
        cmocka_unit_test_setup_teardown(what_is_passed_over_is_asked_for_again, start_server, stop_server),
        cmocka_unit_test_setup_teardown(eight_tuners_share_by_weight, start_server, stop_server),
        cmocka_unit_test_setup_teardown(weights_have_bounds, start_server, stop_server),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
