/* Tuners and workers on a real server. Workers are processes of their own: this program, started as one. Times are computed, so that
 * what comes back must be what would be measured here. */
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
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "codegen/target/target.h"
#include "fleet/crowd.h"
#include "fleet/serve.h"
#include "fleet/tuner.h"
#include "server.h"
#include "support/log.h"

#define GEMM                                                                                                                     \
    "tensor p0[64, 64] f32\ntensor p1[64, 64] f32\ncompute t0[i0:64, i1:64] = sum(k0:64) p0[i0, k0] * p1[k0, i1]\noutput t0\n"
#define LEASE "0.6"

enum { MANY = 30 };

static const char *self;
static test_server server;
static tc_arena *arena;
static tc_error err;
static char *target;
static volatile sig_atomic_t stop;
static sem_t over; /* a thread that started processes stays until then: they end with it */
static pid_t workers[8];
static int nworker;

/* ---- workers ---- */

static void on_term(int number) {
    stop = number;
}

/* One that is lost in the middle of its first job. */
static void be_lost(const char *url, const char *key, double lease) {
    tc_fleet_bus *b;
    tc_fleet_delivery *d = NULL;
    tc_fleet_job j;
    int before;
    if (tc_fleet_bus_open(&(tc_fleet_access){.url = url}, "lost", &b, NULL) != TC_OK ||
        tc_fleet_bus_serve(b, key, lease, NULL) != TC_OK)
        _exit(1);
    while (!d)
        if (tc_fleet_bus_fetch(b, 1, &d, NULL) != TC_OK)
            _exit(1);
    bool begun = tc_fleet_job_read(tc_fleet_delivery_text(d), tc_arena_new(), &j, NULL) == TC_OK &&
                 tc_fleet_bus_begin(b, j.id, &before, NULL) == TC_OK;
    _exit(begun ? 42 : 1);
}

/* What a worker process does: URL NAME THREADS, or URL lost KEY. */
static int be_worker(char **argv) {
    tc_target *t;
    tc_error why = {0};
    if (strcmp(argv[1], "lost") == 0)
        be_lost(argv[0], argv[2], atof(LEASE));
    signal(SIGTERM, on_term);
    tc_fleet_serve_options o = {
        .access.url = argv[0], .name = argv[1], .threads = atoi(argv[2]), .lease = atof(LEASE), .stop = &stop};
    if (tc_target_parse("native", &t, &why) != TC_OK)
        return 1;
    o.target = t->text;
    tc_status s = tc_fleet_serve(&o, &why);
    if (s != TC_OK)
        fprintf(stderr, "%s\n", why.msg);
    tc_target_free(t);
    return s == TC_OK ? 0 : 1;
}

static pid_t start(const char *name, const char *what) {
    pid_t p = fork();
    assert_true(p >= 0);
    if (p == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execl(self, self, "worker", server.url, name, what, (char *)NULL);
        _exit(127);
    }
    return workers[nworker++] = p;
}

static int finish(pid_t p, int sig) {
    int status;
    if (sig)
        kill(p, sig);
    assert_int_equal(waitpid(p, &status, 0), p);
    for (int i = 0; i < nworker; i++)
        if (workers[i] == p)
            workers[i] = workers[--nworker];
    return status;
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
        assert_true(i < 500);
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    tc_fleet_bus_close(b);
}

/* ---- tuners ---- */

static tc_fleet_options options(void) {
    return (tc_fleet_options){.access.url = server.url, .tuner = "desk", .target = target, .threads = 1};
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
    sem_init(&over, 0, 0);
    test_server_start(&server, "");
    return 0;
}

static int teardown(void **state) {
    (void)state;
    while (nworker)
        finish(workers[0], SIGKILL);
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
    tc_meas_guest guest = {0};
    assert_int_equal(tc_meas_interleave(m, in, N, &guest, ROUNDS, arena, got, seconds, &done, &err), TC_BAD_INPUT);
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

static const char *own_key(void) {
    return tc_fleet_key(arena, target, 1, tc_fleet_build(arena));
}

/* While the tuner waits: so many workers are lost with its job, then comes one that is not. */
static void *lose(void *user) {
    for (int i = *(const int *)user; i > 0; i--) {
        int status = finish(start("lost", own_key()), 0);
        assert_int_equal(WEXITSTATUS(status), 42);
    }
    start("w2", "1");
    sem_wait(&over);
    return NULL;
}

static tc_record after_losses(int losses) {
    pthread_t t;
    tc_record r;
    pid_t first = start("w1", "1");
    await_workers(1);
    tc_fleet *f = join();
    tc_meas *m = measuring(f);
    tc_meas_input in = input(3);
    finish(first, SIGKILL);
    assert_int_equal(pthread_create(&t, NULL, lose, &losses), 0);
    check(tc_meas_batch(m, &in, 1, arena, &r, NULL, NULL, &err));
    sem_post(&over);
    pthread_join(t, NULL);
    tc_meas_free(m);
    tc_fleet_leave(f);
    return r;
}

static void the_job_of_a_lost_worker_goes_to_another(void **state) {
    (void)state;
    tc_record r = after_losses(1);
    assert_true(tc_record_ok(&r) && strncmp(r.host, "w2@", 3) == 0);
}

static void what_two_workers_were_lost_with_is_a_record(void **state) {
    (void)state;
    tc_record r = after_losses(2);
    assert_int_equal(r.error, TC_MEAS_RUN_CRASH);
    assert_non_null(strstr(r.message, "two workers"));
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
    refused(&o, "no worker is there at all");
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
    o.tuner = "a.b";
    refused(&o, "name");
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
    assert_non_null(strstr(err.msg, "not one worker serves"));
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
        cmocka_unit_test_setup_teardown(the_job_of_a_lost_worker_goes_to_another, setup, teardown),
        cmocka_unit_test_setup_teardown(what_two_workers_were_lost_with_is_a_record, setup, teardown),
        cmocka_unit_test_setup_teardown(a_server_that_is_restarted_loses_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(a_tuner_that_is_started_again_finds_its_results, setup, teardown),
        cmocka_unit_test_setup_teardown(stopping_leaves_the_rest_unmeasured, setup, teardown),
        cmocka_unit_test_setup_teardown(keys_choose_workers, setup, teardown),
        cmocka_unit_test_setup_teardown(without_workers_waiting_ends, setup, teardown),
    };
    tc_target *t;
    self = argv[0];
    if (argc == 5 && strcmp(argv[1], "worker") == 0)
        return be_worker(argv + 2);
    if (tc_target_parse("native", &t, NULL) != TC_OK)
        return 1;
    target = t->text;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tc_target_free(t);
    return failed;
}
