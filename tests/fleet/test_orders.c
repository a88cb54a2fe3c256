/* What workers are told, and that they follow; and that they wait for their server: workers are threads here, whose jobs take
 * until the test lets them go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "codegen/target/target.h"
#include "fleet/orders.h"
#include "fleet/worker/serve.h"
#include "measure/measure_int.h"
#include "server.h"
#include "support/system/stop.h"

#define GEMM                                                                                                                     \
    "tensor p0[64, 64] f32\ntensor p1[64, 64] f32\ncompute t0[i0:64, i1:64] = sum(k0:64) p0[i0, k0] * p1[k0, i1]\noutput t0\n"

enum { LEASE = 3 /* seconds: a worker looks at its orders ten times a second */ };

static test_server server;
static tc_arena *arena;
static tc_error err;
static tc_target *target;
static tc_fleet_bus *bus; /* the test's own: a tuner called desk */
static const char *key;

static void check(tc_status s) {
    if (s != TC_OK)
        fail_msg("%s", err.msg);
}

static void pause_briefly(void) {
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
}

/* ---- a worker ---- */

typedef struct worker {
    const char *name;
    pthread_t thread;
    bool held;                                 /* its jobs wait until they are let go */
    volatile sig_atomic_t stop, let_go, begun; /* begun: it has a job */
    tc_status s;
    tc_error err;
} worker;

static tc_status run_held(const tc_meas_jobs *b, tc_meas_job *j, tc_error *e) {
    worker *w = tc_meas_given(b->m)->carried_by;
    tc_raise_to(&w->begun, 1);
    while (w->held && !tc_is_raised(&w->let_go) && !tc_meas_stopped(b->m))
        pause_briefly();
    return tc_meas_stopped(b->m) ? TC_OK : tc_meas_simulated.run(b, j, e);
}

static void *serve(void *user) {
    worker *w = user;
    tc_meas_carrier holds = tc_meas_simulated;
    holds.run = run_held;
    w->s = tc_fleet_serve(&(tc_fleet_serve_options){.access.url = server.url,
                                                    .name = w->name,
                                                    .target = target->text,
                                                    .threads = 1,
                                                    .lease = LEASE,
                                                    .stop = &w->stop,
                                                    .carrier = &holds,
                                                    .carried_by = w},
                          &w->err);
    return NULL;
}

static void start(worker *w, const char *name, bool held) {
    *w = (worker){.name = name, .held = held};
    assert_int_equal(pthread_create(&w->thread, NULL, serve, w), 0);
}

/* It leaves by itself. */
static void finish(worker *w) {
    pthread_join(w->thread, NULL);
    if (w->s != TC_OK)
        fail_msg("%s", w->err.msg);
}

static void stop(worker *w) {
    tc_raise_to(&w->stop, 1);
    finish(w);
}

static void let_go(worker *w) {
    tc_raise_to(&w->let_go, 1);
}

static void await_job(worker *w) {
    for (int i = 0; !tc_is_raised(&w->begun); i++) {
        assert_true(i < 6000);
        pause_briefly();
    }
}

/* What it says why it takes no jobs, once it says that it is in such a state. */
static const char *await_state(const char *name, const char *state) {
    for (int i = 0; i < 6000; i++) {
        tc_fleet_crowd c = tc_fleet_crowd_new();
        check(tc_fleet_crowd_see(&c, bus, &err));
        const char *why = NULL;
        for (size_t k = 0; k < c.workers.len; k++)
            if (strcmp(c.workers.data[k].name, name) == 0 && strcmp(c.workers.data[k].state, state) == 0)
                why = tc_arena_strdup(arena, c.workers.data[k].why);
        tc_fleet_crowd_free(&c);
        if (why)
            return why;
        pause_briefly();
    }
    fail_msg("%s does not come to be %s", name, state);
    return NULL;
}

/* ---- the tuner ---- */

static void ask(const char *id) {
    tc_strbuf text = {0};
    tc_meas_input in = {.workload = GEMM, .workload_hash = tc_meas_text_hash(GEMM), .trace = "parallel t0.i0\n"};
    const char *const each[] = {id};
    tc_fleet_job j = {.id = id, .tuner = "desk", .each = each, .asked = 1, .call = {.way = TC_MEAS_WAY_BATCH, .in = &in, .n = 1}};
    j.measure = (tc_meas_options){.target = target->text,
                                  .threads = 1,
                                  .mode = TC_MEAS_SIMULATED,
                                  .build_limit = 1,
                                  .run_limit = 1,
                                  .prepare_limit = 1,
                                  .min_sample = 1,
                                  .budget = 1,
                                  .samples = 1};
    tc_fleet_job_write(&j, &text);
    check(tc_fleet_bus_attend(bus, "desk", "here", &err));
    check(tc_fleet_bus_ask(bus, key, "desk", id, 1, tc_sb_str(&text), NULL, &err));
    tc_strbuf_free(&text);
}

static const char *answered_by(const char *id) {
    tc_fleet_mail mail;
    check(tc_fleet_bus_find(bus, key, "desk", id, arena, &mail, &err));
    return mail.text ? mail.worker : NULL;
}

static void await_answer(const char *id, const char *worker_name) {
    const char *who;
    for (int i = 0; !(who = answered_by(id)); i++) {
        assert_true(i < 6000);
        pause_briefly();
    }
    assert_string_equal(who, worker_name);
}

/* So many workers are told. */
static void tell(tc_fleet_order what, const char *who, const char *why, size_t n) {
    tc_fleet_crowd told = tc_fleet_crowd_new();
    check(tc_fleet_tell(bus, what, (const char *const[]){who, NULL}, why, &told, &err));
    assert_int_equal(told.workers.len, n);
    tc_fleet_crowd_free(&told);
}

static void nobody_is_told(tc_fleet_order what, const char *who, const char *why, const char *says) {
    tc_fleet_crowd told = tc_fleet_crowd_new();
    err = (tc_error){0};
    assert_int_equal(tc_fleet_tell(bus, what, (const char *const[]){"w1", who, NULL}, why, &told, &err), TC_BAD_INPUT);
    if (!strstr(err.msg, says))
        fail_msg("'%s' does not say '%s'", err.msg, says);
    tc_fleet_crowd_free(&told);
}

static int setup(void **state) {
    (void)state;
    arena = tc_arena_new();
    test_server_start(&server, "");
    check(tc_target_parse("native", &target, &err));
    check(tc_fleet_bus_open(&(tc_fleet_access){.url = server.url}, "desk", &bus, &err));
    key = tc_fleet_key(arena, target->text, 1, tc_fleet_build(arena));
    return 0;
}

static int teardown(void **state) {
    (void)state;
    tc_fleet_bus_close(bus);
    tc_target_free(target);
    test_server_stop(&server);
    tc_arena_free(arena);
    return 0;
}

/* ---- tests ---- */

static void a_drained_worker_ends_its_job_and_leaves(void **state) {
    (void)state;
    worker w;
    start(&w, "w1", true);
    ask("j1");
    await_job(&w);
    ask("j2");
    tell(TC_FLEET_DRAIN, "w1", "its disk is full", 1);
    assert_string_equal(await_state("w1", "draining"), "its disk is full");
    assert_null(answered_by("j1"));
    let_go(&w);
    finish(&w);
    await_answer("j1", "w1");
    assert_null(answered_by("j2"));
    start(&w, "w1", false); /* the order was not for this one */
    await_answer("j2", "w1");
    await_state("w1", TC_FLEET_SERVING);
    stop(&w);
}

static void what_a_kicked_worker_had_goes_to_another(void **state) {
    (void)state;
    worker w, other;
    start(&w, "w1", true);
    ask("j1");
    await_job(&w);
    tell(TC_FLEET_KICK, key, "", 1); /* by its key */
    finish(&w);
    assert_null(answered_by("j1"));
    start(&other, "w2", false);
    await_answer("j1", "w2");
    stop(&other);
}

static void a_quarantined_worker_stays_and_takes_no_jobs(void **state) {
    (void)state;
    worker w;
    int64_t left;
    start(&w, "w1", false);
    await_state("w1", TC_FLEET_SERVING);
    tell(TC_FLEET_QUARANTINE, "w?", "a hot fan", 1);
    assert_string_equal(await_state("w1", "quarantined"), "a hot fan");
    ask("j1");
    for (int i = 0; i < 30; i++)
        pause_briefly();
    check(tc_fleet_bus_asked(bus, key, "desk", &left, &err));
    assert_int_equal(left, 1);
    stop(&w);
    start(&w, "w1", false); /* nor does the next one of this name */
    assert_string_equal(await_state("w1", "quarantined"), "a hot fan");
    tell(TC_FLEET_DRAIN, "w1", "", 1); /* it can be told to leave, and is quarantined all the same */
    finish(&w);
    start(&w, "w1", false);
    assert_string_equal(await_state("w1", "quarantined"), "a hot fan");
    assert_null(answered_by("j1"));
    tell(TC_FLEET_RELEASE, "w1", "", 1);
    await_answer("j1", "w1");
    await_state("w1", TC_FLEET_SERVING);
    stop(&w);
}

/* Once it has left nobody is told anything, but it can be released. */
static void who_is_away_can_be_released(void **state) {
    (void)state;
    worker w;
    start(&w, "w1", false);
    await_state("w1", TC_FLEET_SERVING);
    tell(TC_FLEET_QUARANTINE, "w1", "", 1);
    await_state("w1", "quarantined");
    stop(&w);
    nobody_is_told(TC_FLEET_QUARANTINE, "w1", "", "no worker is there at all");
    tell(TC_FLEET_RELEASE, "w*", "", 1);
    start(&w, "w1", false);
    await_state("w1", TC_FLEET_SERVING);
    stop(&w);
}

static void all_who_are_named_are_there_or_nobody_is_told(void **state) {
    (void)state;
    worker w;
    start(&w, "w1", false);
    await_state("w1", TC_FLEET_SERVING);
    nobody_is_told(TC_FLEET_KICK, "w9", "", "no worker has the name or the key w9");
    nobody_is_told(TC_FLEET_KICK, "w9", "", "there are w1 of");
    nobody_is_told(TC_FLEET_KICK, "w1", "two\nlines", "one line");
    nobody_is_told(TC_FLEET_KICK, "w1",
                   "\xc2\x9b"
                   "31m",
                   "one line");
    nobody_is_told(TC_FLEET_KICK, "w1", "\xff", "one line");
    ask("j1");
    await_answer("j1", "w1"); /* it was not kicked */
    stop(&w);
}

/* Somebody else may have written there. */
static void what_is_no_order_is_not_followed(void **state) {
    (void)state;
    static const char *const texts[] = {"leave!", "{}",
                                        "{\"version\":2,\"kind\":\"order\",\"name\":\"w1\",\"key\":\"k\",\"leave\":\"explode\","
                                        "\"quarantined\":true,\"why\":\"\"}",
                                        "{\"version\":2,\"kind\":\"order\",\"name\":\"w1\",\"key\":\"k\",\"leave\":\"kick\","
                                        "\"quarantined\":true,\"why\":\"\\u001b\"}",
                                        "{\"version\":2,\"kind\":\"order\",\"name\":\"w1\",\"key\":\"k\",\"leave\":\"kick\","
                                        "\"quarantined\":true,\"why\":\"\\u009b\"}"};
    worker w;
    start(&w, "w1", false);
    await_state("w1", TC_FLEET_SERVING);
    for (size_t i = 0; i < TC_LEN(texts); i++) {
        check(tc_fleet_bus_tell(bus, key, "w1", texts[i], &err));
        for (int k = 0; k < 10; k++) /* longer than it takes to look */
            pause_briefly();
    }
    ask("j1");
    await_answer("j1", "w1");
    tell(TC_FLEET_DRAIN, "w1", "", 1); /* in place of what stood there */
    finish(&w);
}

/* ---- coming ---- */

static void a_server_that_is_away_is_waited_for(void **state) {
    (void)state;
    worker w;
    test_server_kill(&server);
    start(&w, "w1", false);
    for (int i = 0; i < 15; i++) /* it tries in vain */
        pause_briefly();
    test_server_restart(&server);
    await_state("w1", TC_FLEET_SERVING);
    stop(&w);
    test_server_kill(&server);
    start(&w, "w2", false);
    stop(&w); /* which ends the waiting, and is no failure */
}

static void what_waiting_does_not_mend_is_an_error(void **state) {
    (void)state;
    static volatile sig_atomic_t never;
    tc_fleet_serve_options o = {
        .access.url = "nats://127.0.0.1:port", .name = "w1", .target = target->text, .threads = 1, .stop = &never};
    assert_int_equal(tc_fleet_serve(&o, &err), TC_BAD_INPUT);
    assert_non_null(strstr(err.msg, "127.0.0.1:port"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_drained_worker_ends_its_job_and_leaves, setup, teardown),
        cmocka_unit_test_setup_teardown(what_a_kicked_worker_had_goes_to_another, setup, teardown),
        cmocka_unit_test_setup_teardown(a_quarantined_worker_stays_and_takes_no_jobs, setup, teardown),
        cmocka_unit_test_setup_teardown(who_is_away_can_be_released, setup, teardown),
        cmocka_unit_test_setup_teardown(all_who_are_named_are_there_or_nobody_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_no_order_is_not_followed, setup, teardown),
        cmocka_unit_test_setup_teardown(a_server_that_is_away_is_waited_for, setup, teardown),
        cmocka_unit_test_setup_teardown(what_waiting_does_not_mend_is_an_error, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
