/* Tuners and workers on a real server. Workers are processes of their own: this program, started as one. Times are computed, so
 * that what comes back must be what would be measured here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <nats/nats.h>

#include "codegen/target/target.h"
#include "crew.h"
#include "fleet/crowd.h"
#include "fleet/tuner/tuner.h"
#include "measure/records/database.h"
#include "measure/worker/worker.h"
#include "roles.h"
#include "server.h"
#include "support/log.h"

#define GEMM                                                                                                                     \
    "tensor p0[64, 64] f32\ntensor p1[64, 64] f32\ncompute t0[i0:64, i1:64] = sum(k0:64) p0[i0, k0] * p1[k0, i1]\noutput t0\n"

enum { MANY = 30 };

static test_crew crew;
static test_server server;
static tc_arena *arena;
static tc_error err;
static char *target;
static volatile sig_atomic_t stop;
static const char *as; /* the tuner's name */
static sem_t over;     /* a thread that started processes stays until then: they end with it */

/* ---- workers ---- */

static pid_t start_in(const char *name, const char *what, const char *boot) {
    return test_crew_start(&crew, (const char *const[]){server.url, name, what, boot, NULL});
}

static pid_t start(const char *name, const char *what) {
    return start_in(name, what, "b");
}

static int finish(pid_t p, int sig) {
    return test_crew_finish(&crew, p, sig);
}

static void check(tc_status s) {
    if (s != TC_OK)
        fail_msg("%s", err.msg);
}

/* Until so many have announced themselves. */
static void await_workers(size_t n) {
    tc_fleet_bus *b;
    check(tc_fleet_bus_open(&(tc_fleet_access){.url = server.url}, "test", &b, &err));
    for (int i = 0;; i++) {
        tc_fleet_crowd c = tc_fleet_crowd_new();
        check(tc_fleet_crowd_see(&c, b, &err));
        bool all = c.workers.len >= n;
        tc_fleet_crowd_free(&c);
        if (all)
            break;
        assert_true(i < 6000);
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    tc_fleet_bus_close(b);
}

/* ---- tuners ---- */

static const char *own_key(void) {
    return tc_fleet_key(arena, target, 1, tc_fleet_build(arena));
}

/* A short patience, so that the tuner looks five times as often as usual. */
static tc_fleet_options options(void) {
    return (tc_fleet_options){.access.url = server.url, .tuner = as, .target = target, .threads = 1, .patience = 12};
}

static tc_fleet *join(void) {
    tc_fleet *f;
    tc_fleet_options o = options();
    check(tc_fleet_join(&o, &f, &err));
    return f;
}

static tc_meas *measuring(tc_fleet *f) {
    tc_meas *m;
    tc_meas_options o = {.target = target, .threads = 1, .mode = TC_MEAS_SIMULATED, .stop = &stop};
    if (f) {
        o.carrier = &tc_meas_fleet;
        o.carried_by = f;
    }
    check(tc_meas_new(&o, &m, &err));
    return m;
}

static tc_meas_input input(int i) {
    return (tc_meas_input){.workload = GEMM,
                           .workload_hash = tc_meas_text_hash(GEMM),
                           .trace =
                               i ? tc_arena_printf(arena, "io, ii = split t0.i0 [_, %d]\n", i + 1) : "parallel t0.nowhere\n"};
}

static void count(void *user, size_t index, const tc_record *r) {
    int *times = user;
    assert_true(index < MANY && r->error != TC_MEAS_INTERRUPTED);
    times[index]++;
}

/* The same candidates by the fleet and here: each is reported once, and its record is the same but for who measured it. */
static void compare_batch_of(tc_fleet *f, bool again) {
    tc_meas *m = measuring(f), *here = measuring(NULL);
    tc_meas_input in[MANY];
    tc_record got[MANY], want[MANY];
    int told[MANY] = {0};
    for (int i = 0; i < MANY; i++) {
        in[i] = input(i);
        in[i].again = again;
    }
    check(tc_meas_batch(m, in, MANY, arena, got, count, told, &err));
    check(tc_meas_batch(here, in, MANY, arena, want, NULL, NULL, &err));
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(told[i], 1);
        assert_int_equal(got[i].error, want[i].error);
        assert_string_equal(got[i].message, want[i].message);
        assert_string_equal(got[i].trace, in[i].trace);
        assert_true(got[i].program == want[i].program && got[i].ntimes == want[i].ntimes);
        assert_memory_equal(got[i].times, want[i].times, got[i].ntimes * sizeof(double));
        assert_true(strncmp(got[i].host, "w", 1) == 0 && strchr(got[i].host, '@'));
    }
    assert_int_equal(got[0].error, TC_MEAS_ILLEGAL);
    assert_true(tc_record_ok(&got[MANY - 1]) && got[MANY - 1].verified);
    tc_meas_free(m);
    tc_meas_free(here);
}

static void compare_batch(tc_fleet *f) {
    compare_batch_of(f, false);
}

static int setup(void **state) {
    (void)state;
    arena = tc_arena_new();
    stop = 0;
    as = "desk";
    sem_init(&over, 0, 0);
    test_server_start(&server, "");
    return 0;
}

static int teardown(void **state) {
    (void)state;
    test_crew_end(&crew);
    test_server_stop(&server);
    tc_arena_free(arena);
    return 0;
}

/* ---- tests ---- */

static void one_worker_measures_what_would_be_measured_here(void **state) {
    (void)state;
    pid_t w = start("w1", "1");
    await_workers(1);
    tc_fleet *f = join();
    compare_batch(f);
    compare_batch(f); /* another measuring of the same ones finds the results */
    tc_fleet_leave(f);
    assert_int_equal(finish(w, SIGTERM), 0);
}

static void several_workers_share_a_queue(void **state) {
    (void)state;
    start("w1", "1");
    start("w2", "1");
    start("w3", "1");
    await_workers(3);
    tc_fleet *f = join();
    compare_batch(f);
    tc_fleet_leave(f);
}

/* They are those of the worker that measured. */
static void expect_rates(tc_fleet *f, const char *host) {
    tc_meas_rates told, made = test_rates_of(tc_arena_strndup(arena, host, strcspn(host, "@")));
    assert_true(tc_fleet_rates_of(f, host, &told));
    assert_true(told.peak.f32_gflops == made.peak.f32_gflops && told.n == 1 && told.at[0].read_gbs == 30);
    assert_string_equal(told.peak.isa, "made up");
    assert_false(tc_fleet_rates_of(f, "nobody@there", &told));
    assert_true(told.n == 0 && told.peak.f32_gflops == 0);
}

static void candidates_in_turns_are_one_job(void **state) {
    (void)state;
    enum { N = 3, ROUNDS = 5 };
    start("w1", "1");
    start("w2", "1");
    await_workers(2);
    tc_fleet *f = join();
    tc_meas *m = measuring(f), *here = measuring(NULL);
    tc_meas_input in[N] = {input(1), input(2), input(3)};
    tc_record got[N], want[N];
    double seconds[N * ROUNDS], expected[N * ROUNDS];
    int done, all;
    check(tc_meas_interleave(m, in, N, NULL, ROUNDS, arena, got, seconds, &done, &err));
    check(tc_meas_interleave(here, in, N, NULL, ROUNDS, arena, want, expected, &all, &err));
    assert_int_equal(done, ROUNDS);
    assert_memory_equal(seconds, expected, sizeof seconds);
    for (int i = 0; i < N; i++) {
        assert_true(got[i].rounds == ROUNDS && got[i].median == want[i].median);
        assert_string_equal(got[i].host, got[0].host);
    }
    expect_rates(f, got[0].host);
    tc_meas_guest guest = {0};
    assert_int_equal(tc_meas_interleave(m, in, N, &guest, ROUNDS, arena, got, seconds, &done, &err), TC_BAD_INPUT);
    assert_int_equal(tc_meas_interleave(m, in, N, NULL, TC_FLEET_MANY + 1, arena, got, seconds, &done, &err), TC_BAD_INPUT);
    assert_non_null(strstr(err.msg, "at most 4096 repeats"));
    tc_meas_free(m);
    tc_meas_free(here);
    tc_fleet_leave(f);
}

static void programs_over_sizes_are_one_job(void **state) {
    (void)state;
    static const char layer[] = "symbol s0 1..70\ntensor p0[s0, 64] f32\ntensor p1[64, 64] f32\n"
                                "compute t0[i0:s0, i1:64] = sum(k0:64) p0[i0, k0] * p1[k0, i1]\noutput t0\n";
    static const char *const sizes[] = {"1", "13", "70"};
    start("w1", "1");
    await_workers(1);
    tc_fleet *f = join();
    tc_meas *m = measuring(f), *here = measuring(NULL);
    tc_meas_input in[] = {{.workload = layer, .trace = "", .workload_hash = tc_meas_text_hash(layer)},
                          {.workload = layer, .trace = "parallel t0.i1\n", .workload_hash = tc_meas_text_hash(layer)}};
    tc_record got[6], want[6];
    int told[MANY] = {0};
    check(tc_meas_over_sizes(m, in, 2, sizes, 3, 2, arena, got, count, told, &err));
    check(tc_meas_over_sizes(here, in, 2, sizes, 3, 2, arena, want, NULL, NULL, &err));
    for (int i = 0; i < 6; i++) {
        assert_int_equal(told[i], 1);
        assert_true(got[i].error == want[i].error && got[i].program == want[i].program);
        assert_true(got[i].median == want[i].median);
        assert_string_equal(got[i].sizes, sizes[i % 3]);
    }
    tc_meas_free(m);
    tc_meas_free(here);
    tc_fleet_leave(f);
}

/* While the tuner waits: a worker is lost with its job as often, in such runs of its machine; then comes one that is not. */
typedef struct losses {
    int n;
    const char *boot[3]; /* one more: it is there again in that run */
} losses;

static void come_back(const char *boot) {
    tc_fleet_bus *b;
    tc_fleet_self self = {.key = own_key(), .name = "lost", .boot = boot};
    assert_int_equal(tc_fleet_bus_open(&(tc_fleet_access){.url = server.url}, "lost", &b, NULL), TC_OK);
    assert_int_equal(tc_fleet_bus_come_back(b, &self, NULL), TC_OK);
    tc_fleet_bus_close(b);
}

static void *lose(void *user) {
    const losses *l = user;
    for (int i = 0; i < l->n; i++) {
        int status = finish(start_in("lost", own_key(), l->boot[i]), 0);
        assert_int_equal(WEXITSTATUS(status), 42);
    }
    if (l->boot[l->n])
        come_back(l->boot[l->n]);
    start("w2", "1");
    sem_wait(&over);
    return NULL;
}

static void after_losses(losses l, int n, tc_record *r) {
    pthread_t t;
    pid_t first = start("w1", "1");
    await_workers(1);
    tc_fleet *f = join();
    tc_meas *m = measuring(f);
    tc_meas_input in[8];
    for (int i = 0; i < n; i++)
        in[i] = input(i + 1);
    assert_int_equal(finish(first, SIGTERM), 0); /* nobody takes the job before one that is lost with it */
    assert_int_equal(pthread_create(&t, NULL, lose, &l), 0);
    check(tc_meas_batch(m, in, (size_t)n, arena, r, NULL, NULL, &err));
    sem_post(&over);
    pthread_join(t, NULL);
    tc_meas_free(m);
    tc_fleet_leave(f);
}

static void the_job_of_a_lost_worker_goes_to_another(void **state) {
    (void)state;
    tc_record r;
    after_losses((losses){1, {"b1", "b2"}}, 1, &r);
    assert_true(tc_record_ok(&r) && strncmp(r.host, "w2@", 3) == 0);
    assert_int_equal(strlen(r.job), 32);
}

static void what_ended_its_machine_twice_is_a_record(void **state) {
    (void)state;
    tc_record r;
    after_losses((losses){2, {"b1", "b2", "b3"}}, 1, &r);
    assert_int_equal(r.error, TC_MEAS_RUN_CRASH);
    assert_non_null(strstr(r.message, "two workers"));
}

/* Killed and started again in one run of its machine: nothing is known of what it measured. */
static void what_a_killed_process_measured_is_measured_again(void **state) {
    (void)state;
    tc_record r;
    after_losses((losses){2, {"b1", "b1", "b1"}}, 1, &r);
    assert_true(tc_record_ok(&r));
}

/* Of the candidates of a job only the one that was begun alone when the machine ended for the second time. */
static void those_beside_the_culprit_are_measured(void **state) {
    (void)state;
    enum { N = 4 };
    tc_record r[N];
    after_losses((losses){2, {"b1", "b2", "b3"}}, N, r);
    int crashed = 0;
    for (int i = 0; i < N; i++) {
        crashed += r[i].error == TC_MEAS_RUN_CRASH;
        assert_true(r[i].error == TC_MEAS_RUN_CRASH || tc_record_ok(&r[i]));
    }
    assert_true(crashed <= 1);
}

static void who_answers_wrongly_gets_no_more(void **state) {
    (void)state;
    start("w1", "1");
    start("liar", own_key());
    await_workers(2);
    tc_fleet *f = join();
    for (int i = 0; i < 3; i++)
        compare_batch_of(f, true); /* checks that all is answered, by somebody called w.. */
    tc_fleet_leave(f);
}

/* With the stream of results gone too: what a database has of a job is not asked for again. */
static void what_is_recorded_is_not_measured_again(void **state) {
    (void)state;
    char file[600];
    tc_meas_db *db;
    tc_meas_input in[4] = {input(1), input(2), input(3), input(4)};
    tc_record got[4], again[4];
    pid_t w = start("w1", "1");
    await_workers(1);
    tc_fleet *f = join();
    tc_meas *m = measuring(f);
    check(tc_meas_batch(m, in, 4, arena, got, NULL, NULL, &err));
    tc_meas_free(m);
    tc_fleet_leave(f);
    finish(w, SIGKILL);
    snprintf(file, sizeof file, "%s/t.db", server.folder);
    check(tc_meas_db_open(file, TC_MEAS_DB_WRITE, &db, &err));
    check(tc_meas_db_insert(db, got, 4, &err));
    as = "another"; /* has no results in the stream */
    tc_fleet_options o = options();
    o.database = file;
    check(tc_fleet_join(&o, &f, &err));
    m = measuring(f);
    check(tc_meas_batch(m, in, 4, arena, again, NULL, NULL, &err));
    for (int i = 0; i < 4; i++) {
        assert_string_equal(again[i].job, got[i].job);
        assert_true(again[i].median == got[i].median && again[i].id == got[i].id);
    }
    tc_meas_free(m);
    tc_fleet_leave(f);
    tc_meas_db_close(db);
}

/* Nobody waits for what a tuner left behind. */
/* Puts a job into the queue whose tuner, and whose only candidate, are called so. */
static void ask_for(tc_fleet_bus *b, const char *tuner, const char *id, double wanted) {
    tc_meas_input in = input(3);
    tc_strbuf text = {0};
    const char *const each[] = {id};
    tc_fleet_job j = {.id = id,
                      .tuner = tuner,
                      .each = each,
                      .asked = 1,
                      .wanted = wanted,
                      .call = {.way = TC_MEAS_WAY_BATCH, .in = &in, .n = 1}};
    j.measure = (tc_meas_options){.target = target,
                                  .threads = 1,
                                  .mode = TC_MEAS_SIMULATED,
                                  .build_limit = 1,
                                  .run_limit = 1,
                                  .prepare_limit = 1,
                                  .min_sample = 1,
                                  .budget = 1,
                                  .samples = 1};
    tc_fleet_job_write(&j, &text);
    check(tc_fleet_bus_ask(b, own_key(), tuner, id, 1, tc_sb_str(&text), NULL, &err));
    tc_strbuf_free(&text);
}

static bool is_answered(tc_fleet_bus *b, const char *tuner, const char *id) {
    tc_fleet_mail mail;
    check(tc_fleet_bus_find(b, own_key(), tuner, id, arena, &mail, &err));
    return mail.text != NULL;
}

/* Until nothing that the tuner asked for is in the queue. */
static void await_empty_queue(tc_fleet_bus *b, const char *tuner) {
    int64_t n = 1;
    for (int i = 0; i < 6000 && n > 0; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        check(tc_fleet_bus_asked(b, own_key(), tuner, &n, &err));
    }
    assert_int_equal(n, 0);
}

static void jobs_of_a_tuner_that_is_gone_are_dropped(void **state) {
    (void)state;
    tc_fleet_bus *b;
    check(tc_fleet_bus_open(&(tc_fleet_access){.url = server.url}, "test", &b, &err));
    ask_for(b, "gone", "c1", 0);
    start("w1", "1");
    await_empty_queue(b, "gone");
    assert_false(is_answered(b, "gone", "c1"));
    tc_fleet_bus_close(b);
}

/* What a tuner that is still there does not want any more is not measured: one said so 0.3 s after it had asked for three jobs. */
static void jobs_have_deadlines(void **state) {
    (void)state;
    tc_fleet_bus *b;
    check(tc_fleet_bus_open(&(tc_fleet_access){.url = server.url}, "test", &b, &err));
    ask_for(b, "desk", "late", 0.1);
    ask_for(b, "desk", "early", 1000);
    ask_for(b, "desk", "any", 0);
    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    check(tc_fleet_bus_attend(b, "desk", "{}", &err));
    start("w1", "1");
    await_empty_queue(b, "desk");
    assert_false(is_answered(b, "desk", "late"));
    assert_true(is_answered(b, "desk", "early") && is_answered(b, "desk", "any"));
    tc_fleet_bus_close(b);
}

/* The first is ended, the second goes on then. */
static void *let_go(void *user) {
    pid_t *p = user;
    int status;
    waitpid(p[0], &status, 0);
    kill(p[1], SIGCONT);
    p[0] = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return NULL;
}

static void a_tuner_says_how_long_it_waits(void **state) {
    (void)state;
    tc_record r;
    tc_meas_input in = input(3);
    pthread_t t;
    pid_t both[] = {0, start("w1", "1")};
    await_workers(1);
    tc_fleet *f = join();
    tc_meas *m = measuring(f);
    kill(both[1], SIGSTOP);
    both[0] = start("asked", own_key());
    test_crew_forget(&crew, both[0]); /* it is waited for here */
    tc_meas_set_deadline(m, tc_now() + 1000);
    assert_int_equal(pthread_create(&t, NULL, let_go, both), 0);
    check(tc_meas_batch(m, &in, 1, arena, &r, NULL, NULL, &err));
    pthread_join(t, NULL);
    assert_int_equal(both[0], 42);
    assert_true(tc_record_ok(&r));
    tc_meas_free(m);
    tc_fleet_leave(f);
}

static void deleted_streams_are_made_again(void **state) {
    (void)state;
    static const char *const streams[] = {"TCTUNE_WORK", "TCTUNE_RESULT", "KV_tctune_begun", "KV_tctune_tuners"};
    start("w1", "1");
    await_workers(1);
    tc_fleet *f = join();
    compare_batch(f);
    natsConnection *connection = NULL;
    jsCtx *js = NULL;
    assert_int_equal(natsConnection_ConnectTo(&connection, server.url), NATS_OK);
    assert_int_equal(natsConnection_JetStream(&js, connection, NULL), NATS_OK);
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++)
        assert_int_equal(js_DeleteStream(js, streams[i], NULL, NULL), NATS_OK);
    jsCtx_Destroy(js);
    natsConnection_Destroy(connection);
    compare_batch_of(f, true);
    tc_fleet_leave(f);
}

static void *restart(void *user) {
    (void)user;
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    test_server_kill(&server);
    test_server_restart(&server);
    sem_wait(&over);
    return NULL;
}

static void a_server_that_is_restarted_loses_nothing(void **state) {
    (void)state;
    pthread_t t;
    start("w1", "1");
    await_workers(1);
    tc_fleet *f = join();
    assert_int_equal(pthread_create(&t, NULL, restart, NULL), 0);
    for (int i = 0; i < 12; i++)
        compare_batch_of(f, true);
    tc_fleet_leave(f);
    sem_post(&over);
    pthread_join(t, NULL);
}

static void a_tuner_that_is_started_again_finds_its_results(void **state) {
    (void)state;
    pid_t w = start("w1", "1");
    await_workers(1);
    tc_fleet *f = join();
    compare_batch(f);
    tc_fleet_leave(f);
    finish(w, SIGKILL); /* nobody measures any more; that it is gone is not known yet */
    f = join();
    compare_batch(f);
    tc_fleet_leave(f);
}

/* What it finds may be the best: it is confirmed by another worker, and asked of nobody anew. */
static void results_that_are_found_are_confirmed(void **state) {
    (void)state;
    start("w1", "1");
    start("w2", "1");
    await_workers(2);
    for (int i = 0; i < 3; i++) {
        tc_fleet *f = join();
        compare_batch(f);
        tc_fleet_leave(f);
    }
}

/* Two batches under way share the queue and what is heard, and are ended in any order. */
static void batches_are_under_way_at_once(void **state) {
    (void)state;
    enum { HALF = MANY / 2 };
    start("w1", "1");
    start("w2", "1");
    await_workers(2);
    tc_fleet *f = join();
    tc_meas *m = measuring(f), *here = measuring(NULL);
    tc_meas_flight *flight[3];
    tc_meas_input in[MANY], others[HALF]; /* programs that are measured already end as such, whichever batch they come with */
    tc_record got[MANY], want[MANY];
    int told[2][MANY] = {{0}};
    for (int i = 0; i < MANY; i++)
        in[i] = input(i);
    for (int i = 0; i < HALF; i++)
        others[i] = input(MANY + i);
    assert_true(tc_meas_overlaps(m) && !tc_meas_overlaps(here));
    check(tc_meas_begin(m, in, HALF, arena, got, count, told[0], &flight[0], &err));
    check(tc_meas_begin(m, in + HALF, MANY - HALF, arena, got + HALF, count, told[1], &flight[1], &err));
    check(tc_meas_end(flight[1], &err));
    check(tc_meas_begin(m, others, HALF, arena, want, NULL, NULL, &flight[2], &err));
    check(tc_meas_end(flight[0], &err));
    tc_meas_abandon(flight[2]);
    check(tc_meas_batch(here, in, MANY, arena, want, NULL, NULL, &err));
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(i < HALF ? told[0][i] : told[1][i - HALF], 1);
        assert_int_equal(got[i].error, want[i].error);
        assert_memory_equal(got[i].times, want[i].times, got[i].ntimes * sizeof(double));
    }
    tc_meas_free(m);
    tc_meas_free(here);
    tc_fleet_leave(f);
}

static void pause_between_steps(void) {
    nanosleep(&(struct timespec){.tv_nsec = 25000000}, NULL);
}

/* A tuner that computes something looks up now and then: answers are taken, and more is asked for, without a wait for them. */
static void a_batch_goes_on_while_its_tuner_thinks(void **state) {
    (void)state;
    start("w1", "1");
    await_workers(1);
    tc_fleet *f;
    tc_fleet_options o = options();
    o.in_flight = 1; /* a job at a time, so that all are measured only if the next is asked for when one is answered */
    check(tc_fleet_join(&o, &f, &err));
    tc_meas *m = measuring(f), *here = measuring(NULL);
    tc_meas_flight *flight;
    tc_meas_input in[MANY];
    tc_record got[MANY];
    int told[MANY] = {0}, all = 0;
    for (int i = 0; i < MANY; i++)
        in[i] = input(i);
    check(tc_meas_begin(m, in, MANY, arena, got, count, told, &flight, &err));
    for (int tries = 0; tries < 2000 && all < MANY; tries++) {
        pause_between_steps();
        tc_meas_tend(m);
        tc_meas_tend(here);
        all = 0;
        for (int i = 0; i < MANY; i++)
            all += told[i];
    }
    assert_int_equal(all, MANY);
    check(tc_meas_end(flight, &err));
    for (int i = 0; i < MANY; i++)
        assert_int_equal(told[i], 1);
    tc_meas_free(m);
    tc_meas_free(here);
    tc_fleet_leave(f);
}

/* A search that is alone has a round under way beside the one that it waits for; one that shares the workers as much as lasts. */
static void who_shares_workers_has_more_under_way(void **state) {
    (void)state;
    start("w1", "1");
    start("w2", "1");
    await_workers(2);
    tc_fleet *f = join();
    tc_meas *m = measuring(f), *here = measuring(NULL);
    compare_batch(f);
    assert_true(tc_meas_appetite(m) == 0 && tc_meas_appetite(here) == 0);
    tc_fleet *other[2];
    as = "other";
    other[0] = join();
    tc_meas *beside = measuring(other[0]);
    compare_batch(other[0]); /* it says that it is there */
    as = "desk";
    other[1] = join(); /* the first one, started again: it sees the other */
    tc_meas *again = measuring(other[1]);
    compare_batch(other[1]);
    assert_int_equal(tc_meas_appetite(again), 2 * 2 * 8); /* half of two jobs for each worker, of eight candidates each, twice */
    tc_meas_free(beside);
    tc_meas_free(again);
    tc_meas_free(m);
    tc_meas_free(here);
    tc_fleet_leave(other[1]);
    tc_fleet_leave(other[0]);
    tc_fleet_leave(f);
}

static void stopping_leaves_the_rest_unmeasured(void **state) {
    (void)state;
    pid_t w = start("w1", "1");
    await_workers(1);
    tc_fleet *f = join();
    finish(w, SIGKILL);
    tc_meas *m = measuring(f);
    tc_meas_input in = input(3);
    tc_record r;
    int64_t waiting, under_way;
    tc_fleet_bus *b;
    tc_meas_set_deadline(m, tc_now() + 0.3);
    check(tc_meas_batch(m, &in, 1, arena, &r, NULL, NULL, &err));
    assert_int_equal(r.error, TC_MEAS_INTERRUPTED);
    check(tc_fleet_bus_open(&(tc_fleet_access){.url = server.url}, "test", &b, &err));
    check(tc_fleet_bus_queue(b, own_key(), &waiting, &under_way, &err));
    assert_int_equal(waiting + under_way, 0);
    tc_fleet_bus_close(b);
    tc_meas_free(m);
    tc_fleet_leave(f);
}

static void refused(const tc_fleet_options *o, const char *says) {
    tc_fleet *f;
    err = (tc_error){0};
    assert_int_equal(tc_fleet_join(o, &f, &err), TC_BAD_INPUT);
    if (!strstr(err.msg, says))
        fail_msg("'%s' does not say '%s'", err.msg, says);
}

static void keys_choose_workers(void **state) {
    (void)state;
    tc_fleet *f;
    tc_fleet_options o = options();
    bool absent = false;
    o.absent = &absent;
    refused(&o, "no worker is there at all");
    assert_true(absent);
    start("w1", "1");
    start("w2", "2");
    await_workers(2);
    o.threads = 3;
    refused(&o, tc_fleet_key(arena, target, 2, tc_fleet_build(arena))); /* says which there are */
    o.key = "*-2t-*";
    check(tc_fleet_join(&o, &f, &err));
    assert_int_equal(tc_fleet_threads(f), 2);
    assert_string_equal(tc_fleet_target(f), target);
    tc_meas *m;
    tc_meas_options mo = {.target = target, .threads = 1, .mode = TC_MEAS_SIMULATED, .carrier = &tc_meas_fleet, .carried_by = f};
    assert_int_equal(tc_meas_new(&mo, &m, &err), TC_BAD_INPUT);
    tc_fleet_leave(f);
    o.key = "*";
    refused(&o, "served are");
    assert_false(absent); /* there are too many */
    o.tuner = "a.b";
    refused(&o, "name");
}

/* One record in such a mode. */
static tc_status one_record(tc_fleet *f, tc_meas_mode mode, tc_record *r) {
    tc_meas *m;
    tc_meas_options o = {.target = target, .threads = 1, .mode = mode, .stop = &stop, .carrier = &tc_meas_fleet, .carried_by = f};
    tc_meas_input in = input(3);
    check(tc_meas_new(&o, &m, &err));
    tc_status s = tc_meas_batch(m, &in, 1, arena, r, NULL, NULL, &err);
    tc_meas_free(m);
    return s;
}

/* An emulated worker has a key that none but a pattern which says so fits, and what it times is marked whatever was asked for. */
static void emulated_workers_are_marked(void **state) {
    (void)state;
    tc_fleet *f;
    tc_record r;
    tc_fleet_options o = options();
    start_in("w1", "1", "emulated");
    await_workers(1);
    refused(&o, "served are: emulated-");
    o.key = "*";
    refused(&o, "served are: emulated-");
    start("w2", "1");
    await_workers(2);
    check(tc_fleet_join(&o, &f, &err)); /* the other one */
    assert_false(tc_fleet_is_emulated(f));
    assert_int_equal(one_record(f, TC_MEAS_EMULATED, &r), TC_ENV);
    assert_non_null(strstr(err.msg, "its processor is real"));
    tc_fleet_leave(f);
    o.key = "emulated-*";
    check(tc_fleet_join(&o, &f, &err));
    assert_true(tc_fleet_is_emulated(f));
    assert_string_equal(tc_fleet_target(f), target);
    check(one_record(f, TC_MEAS_SIMULATED, &r));
    assert_int_equal(r.mode, TC_MEAS_SIMULATED);
    check(one_record(f, TC_MEAS_HOT, &r));
    assert_int_equal(r.mode, TC_MEAS_EMULATED);
    assert_true(strncmp(r.host, "w1@", 3) == 0 && r.elsewhere && tc_record_ok(&r) && r.verified);
    tc_fleet_leave(f);
}

static void without_workers_waiting_ends(void **state) {
    (void)state;
    tc_fleet *f;
    tc_fleet_options o = options();
    pid_t w = start("w1", "1");
    await_workers(1);
    o.patience = 0.3;
    check(tc_fleet_join(&o, &f, &err));
    assert_int_equal(finish(w, SIGTERM), 0);
    tc_meas *m = measuring(f);
    tc_meas_input in = input(3);
    tc_record r;
    assert_int_equal(tc_meas_batch(m, &in, 1, arena, &r, NULL, NULL, &err), TC_BAD_INPUT);
    assert_non_null(strstr(err.msg, "no worker serves"));
    assert_int_equal(r.error, TC_MEAS_INTERRUPTED);
    test_server_kill(&server);
    assert_int_equal(tc_meas_batch(m, &in, 1, arena, &r, NULL, NULL, &err), TC_ENV);
    tc_meas_free(m);
    tc_fleet_leave(f);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_worker_measures_what_would_be_measured_here, setup, teardown),
        cmocka_unit_test_setup_teardown(several_workers_share_a_queue, setup, teardown),
        cmocka_unit_test_setup_teardown(candidates_in_turns_are_one_job, setup, teardown),
        cmocka_unit_test_setup_teardown(programs_over_sizes_are_one_job, setup, teardown),
        cmocka_unit_test_setup_teardown(who_answers_wrongly_gets_no_more, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_recorded_is_not_measured_again, setup, teardown),
        cmocka_unit_test_setup_teardown(jobs_of_a_tuner_that_is_gone_are_dropped, setup, teardown),
        cmocka_unit_test_setup_teardown(jobs_have_deadlines, setup, teardown),
        cmocka_unit_test_setup_teardown(a_tuner_says_how_long_it_waits, setup, teardown),
        cmocka_unit_test_setup_teardown(deleted_streams_are_made_again, setup, teardown),
        cmocka_unit_test_setup_teardown(a_server_that_is_restarted_loses_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(a_tuner_that_is_started_again_finds_its_results, setup, teardown),
        cmocka_unit_test_setup_teardown(results_that_are_found_are_confirmed, setup, teardown),
        cmocka_unit_test_setup_teardown(batches_are_under_way_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(a_batch_goes_on_while_its_tuner_thinks, setup, teardown),
        cmocka_unit_test_setup_teardown(who_shares_workers_has_more_under_way, setup, teardown),
        cmocka_unit_test_setup_teardown(stopping_leaves_the_rest_unmeasured, setup, teardown),
        cmocka_unit_test_setup_teardown(keys_choose_workers, setup, teardown),
        cmocka_unit_test_setup_teardown(emulated_workers_are_marked, setup, teardown),
        cmocka_unit_test_setup_teardown(without_workers_waiting_ends, setup, teardown),
    };
    const struct CMUnitTest while_lost[] = {
        /* they wait for leases that end: a test of their own, beside the others */
        cmocka_unit_test_setup_teardown(the_job_of_a_lost_worker_goes_to_another, setup, teardown),
        cmocka_unit_test_setup_teardown(what_ended_its_machine_twice_is_a_record, setup, teardown),
        cmocka_unit_test_setup_teardown(what_a_killed_process_measured_is_measured_again, setup, teardown),
        cmocka_unit_test_setup_teardown(those_beside_the_culprit_are_measured, setup, teardown),
    };
    tc_target *t;
    crew.program = argv[0];
    if (argc == 6 && strcmp(argv[1], "worker") == 0)
        return test_be_worker(argv + 2);
    if (argc == 2 && strcmp(argv[1], "worker") == 0) /* of one of those */
        return tc_meas_worker_main(TC_MEAS_WORKER_FD, TC_MEAS_WORKER_FD);
    if (tc_target_parse("native", &t, NULL) != TC_OK)
        return 1;
    target = t->text;
    bool lose_workers = argc == 2 && strcmp(argv[1], "losses") == 0;
    int failed = lose_workers ? cmocka_run_group_tests(while_lost, NULL, NULL) : cmocka_run_group_tests(tests, NULL, NULL);
    tc_target_free(t);
    return failed;
}
