/* Fleets as programs see them, on a server of the test's own: workers that serve in a thread, tuners that use them, what is told
 * of both, and what is refused. */
#include "api_documents.h"

#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

#include "fleet/server.h"

static const char db[] = SCRATCH("api_fleet.db");
static test_server server;

static tctune_fleet fleet(void) {
    return (tctune_fleet){.struct_size = sizeof(tctune_fleet), .url = server.url};
}

/* ---- a worker ---- */

typedef struct worker {
    const char *name;
    pthread_t thread;
    sem_t ready;
    volatile int stop;
    char told[64], key[512], error[512];
    tctune_status status;
} worker;

static void on_ready(void *user, const char *name, const char *key) {
    worker *w = user;
    snprintf(w->told, sizeof w->told, "%s", name);
    snprintf(w->key, sizeof w->key, "%s", key);
    sem_post(&w->ready);
}

static void *serve(void *user) {
    worker *w = user;
    tctune_fleet f = fleet();
    tctune_worker_options o = {
        .struct_size = sizeof o, .fleet = &f, .name = w->name, .threads = 1, .stop = &w->stop, .ready = on_ready, .user = w};
    w->status = tctune_fleet_serve(&o, w->error, sizeof w->error);
    sem_post(&w->ready); /* whoever waits for one that could not begin */
    return NULL;
}

static void start(worker *w, const char *name) {
    *w = (worker){.name = name};
    sem_init(&w->ready, 0, 0);
    assert_int_equal(pthread_create(&w->thread, NULL, serve, w), 0);
    while (sem_wait(&w->ready))
        continue;
    if (!*w->key)
        fail_msg("%s does not serve: %s", name, w->error);
    assert_string_equal(w->told, name);
}

static void finish(worker *w) {
    __atomic_store_n(&w->stop, 1, __ATOMIC_RELAXED);
    pthread_join(w->thread, NULL);
    if (w->status != TCTUNE_OK)
        fail_msg("%s", w->error);
    sem_destroy(&w->ready);
}

static json_t *status(void) {
    tctune_fleet f = fleet();
    char *text;
    OK(tctune_fleet_status(&f, &text, error, sizeof error));
    return document(text);
}

/* ---- tests ---- */

static void test_keys(void **state) {
    (void)state;
    char *one, *again, *two;
    OK(tctune_fleet_key(NULL, 1, &one, error, sizeof error));
    OK(tctune_fleet_key(NULL, 1, &again, error, sizeof error));
    OK(tctune_fleet_key(NULL, 2, &two, error, sizeof error));
    assert_string_equal(one, again);
    assert_string_not_equal(one, two);
    tctune_text_free(one);
    tctune_text_free(again);
    tctune_text_free(two);
    REFUSED(TCTUNE_BAD_INPUT, "vax", tctune_fleet_key("vax", 1, &one, error, sizeof error));
    assert_null(one);
    REFUSED(TCTUNE_BAD_INPUT, "-1 threads", tctune_fleet_key(NULL, -1, &one, error, sizeof error));
}

/* Workers come, are told of, and go. */
static void test_workers(void **state) {
    (void)state;
    worker a, b;
    char *key;
    json_t *j = status();
    assert_string_equal(text_of(j, "server"), server.url);
    assert_int_equal(json_array_size(json_object_get(j, "workers")), 0);
    json_decref(j);
    start(&a, "first");
    start(&b, "second");
    OK(tctune_fleet_key(NULL, 1, &key, error, sizeof error));
    assert_string_equal(a.key, key);
    assert_string_equal(b.key, key);
    j = status();
    json_t *keys = json_object_get(j, "keys"), *only = json_array_get(keys, 0);
    assert_int_equal(json_array_size(json_object_get(j, "workers")), 2);
    assert_int_equal(json_array_size(keys), 1);
    assert_string_equal(text_of(only, "key"), key);
    assert_true(number(only, "workers") == 2 && number(only, "waiting") == 0 && number(only, "under_way") == 0);
    json_decref(j);
    finish(&a);
    finish(&b);
    j = status();
    assert_int_equal(json_array_size(json_object_get(j, "workers")), 0);
    json_decref(j);
    tctune_text_free(key);
}

static json_t *tell(const char *order, const char *who) {
    tctune_fleet f = fleet();
    char *text;
    OK(tctune_fleet_tell(&f, order, (const char *const[]){who, NULL}, NULL, &text, error, sizeof error));
    return document(text);
}

/* They follow, and leave as the program has them leave: without an error. */
static void test_orders(void **state) {
    (void)state;
    worker a;
    tctune_fleet f = fleet();
    char *text;
    start(&a, "told");
    json_t *j = tell("kick", "t*");
    assert_string_equal(text_of(j, "order"), "kick");
    assert_string_equal(text_of(json_array_get(json_object_get(j, "workers"), 0), "name"), "told");
    json_decref(j);
    pthread_join(a.thread, NULL);
    assert_int_equal(a.status, TCTUNE_OK);
    sem_destroy(&a.ready);
    const char *const who[] = {"told", NULL}, *const none[] = {NULL};
    REFUSED(TCTUNE_BAD_INPUT, "no worker has the name or the key told",
            tctune_fleet_tell(&f, "drain", who, NULL, &text, error, sizeof error));
    REFUSED(TCTUNE_BAD_INPUT, "drain, kick, quarantine or release",
            tctune_fleet_tell(&f, "hang", who, NULL, &text, error, sizeof error));
    REFUSED(TCTUNE_BAD_INPUT, "workers are missing", tctune_fleet_tell(&f, "kick", none, NULL, &text, error, sizeof error));
    REFUSED(TCTUNE_BAD_INPUT, "workers are missing", tctune_fleet_tell(&f, "kick", NULL, NULL, &text, error, sizeof error));
    REFUSED(TCTUNE_BAD_INPUT, "name its server", tctune_fleet_tell(NULL, "kick", who, NULL, &text, error, sizeof error));
    REFUSED(TCTUNE_BAD_INPUT, "cannot name a worker", tctune_fleet_log(&f, "a.b", 0, &text, error, sizeof error));
    REFUSED(TCTUNE_BAD_INPUT, "last must be from 1", tctune_fleet_log(&f, NULL, -1, &text, error, sizeof error));
}

/* What the workers measure is in the tuner's database, with who measured it. */
static void test_tuning(void **state) {
    (void)state;
    worker w;
    tctune_fleet f = fleet();
    tctune_tune_options o = {
        .struct_size = sizeof o, .database = db, .trials = 8, .batch = 4, .threads = 1, .deterministic = 1, .fleet = &f};
    tctune_query q = {.struct_size = sizeof q};
    tctune_record r = {.struct_size = sizeof r};
    tctune_database *d;
    tctune_records *l;
    remove_database(db);
    start(&w, "third");
    tctune_work *work = open_text(gemm_text);
    OK(tctune_tune(work, &o, error, sizeof error));
    tctune_work_free(work);
    finish(&w);
    OK(tctune_database_open(db, TCTUNE_ACCESS_READ, &d, error, sizeof error));
    OK(tctune_database_records(d, &q, &l, error, sizeof error));
    tctune_database_close(d);
    assert_true(tctune_records_count(l) >= 8);
    for (size_t i = 0; i < tctune_records_count(l); i++) {
        OK(tctune_records_get(l, i, &r, error, sizeof error));
        assert_int_equal(strncmp(r.host, "third@", 6), 0);
    }
    tctune_records_free(l);
    char *text;
    OK(tctune_fleet_log(&f, "third", 3, &text, error, sizeof error));
    json_t *j = document(text), *last = json_array_get(json_object_get(j, "jobs"), 0);
    assert_int_equal(json_array_size(json_object_get(j, "jobs")), 3);
    assert_string_equal(text_of(last, "worker"), "third");
    assert_true(number(last, "records") == 1 && number(last, "when_ms") > 0);
    json_decref(j);
}

typedef struct followed_so_far {
    int told;
    tctune_followed last;
} followed_so_far;

static void on_followed(void *user, const tctune_followed *so_far, const char *refusal) {
    followed_so_far *f = user;
    assert_null(refusal);
    assert_int_equal(so_far->struct_size, sizeof *so_far);
    f->told++;
    f->last = *so_far;
}

/* What the searches before have recorded. */
/* Two in turns, and kernels, by a worker: who it was, and what its machine can do. */
static void test_compared(void **state) {
    (void)state;
    worker a;
    tctune_fleet f = fleet();
    char *text;
    int failed = -1;
    start(&a, "judge");
    tctune_work *work = open_text(gemm_text);
    tctune_compare_options co = {
        .struct_size = sizeof co, .a = "default", .b = "default", .threads = 1, .rounds = 11, .fleet = &f};
    OK(tctune_compare_show(work, 0, &co, &text, error, sizeof error));
    json_t *j = document(text), *roof = json_object_get(j, "roofline");
    assert_memory_equal(text_of(j, "worker"), "judge@", 6);
    assert_true(json_number_value(json_object_get(roof, "peak_gflops")) > 0);
    assert_true(json_is_null(json_object_get(j, "caches")));
    json_decref(j);
    co.b = "openblas";
    REFUSED(TCTUNE_BAD_INPUT, "with openblas on the machine itself, without a fleet",
            tctune_compare_check(&co, NULL, error, sizeof error));
    tctune_bench_kernel_options ko = {.struct_size = sizeof ko, .threads = 1, .repeats = 3, .fleet = &f};
    OK(tctune_bench_kernel(work, 0, &ko, &text, error, sizeof error));
    j = document(text);
    assert_memory_equal(text_of(j, "worker"), "judge@", 6);
    assert_true(number(j, "repeats") == 3 && json_number_value(json_object_get(j, "peak_gflops")) > 0);
    json_decref(j);
    OK(tctune_bench_kernels(work, &ko, &failed, &text, error, sizeof error));
    j = document(text);
    json_t *kernel = json_array_get(json_object_get(j, "kernels"), 0);
    assert_memory_equal(text_of(kernel, "worker"), "judge@", 6);
    assert_true(failed == 0 && number(j, "failed") == 0 && number(kernel, "repeats") == 3);
    json_decref(j);
    ko.threads = 3;
    REFUSED(TCTUNE_BAD_INPUT, a.key, tctune_bench_kernel(work, 0, &ko, &text, error, sizeof error));
    assert_null(text);
    tctune_work_free(work);
    finish(&a);
}

static void test_follow(void **state) {
    (void)state;
    static const char team[] = SCRATCH("api_team.db");
    volatile int stop = 1;
    followed_so_far f = {0};
    tctune_fleet of = fleet();
    tctune_followed n = {.struct_size = sizeof n};
    tctune_follow_options o = {.struct_size = sizeof o, .once = 1, .each = on_followed, .user = &f};
    remove_database(team);
    OK(tctune_fleet_follow(&of, team, &o, &n, error, sizeof error));
    assert_true(n.stored >= 8 && n.refused == 0 && n.others == 0);
    assert_true(f.told == 1 && f.last.stored == n.stored);
    OK(tctune_fleet_follow(&of, team, &o, NULL, error, sizeof error));
    assert_int_equal(f.told, 1);
    o.once = 0;
    o.stop = &stop;
    OK(tctune_fleet_follow(&of, team, &o, &n, error, sizeof error));
    assert_int_equal(n.stored, 0);
    REFUSED(TCTUNE_BAD_INPUT, "the database is missing", tctune_fleet_follow(&of, NULL, NULL, NULL, error, sizeof error));
    REFUSED(TCTUNE_BAD_INPUT, "name its server", tctune_fleet_follow(NULL, team, &o, NULL, error, sizeof error));
    n.struct_size = 0;
    REFUSED(TCTUNE_BAD_INPUT, "struct_size", tctune_fleet_follow(&of, team, &o, &n, error, sizeof error));
    of.url = "nats://127.0.0.1:1";
    REFUSED(TCTUNE_ENVIRONMENT, "no NATS server answers", tctune_fleet_follow(&of, team, &o, NULL, error, sizeof error));
}

/* Nobody serves: measuring fails once the patience is over, and says for whom it waited. */
static void test_nobody(void **state) {
    (void)state;
    tctune_fleet f = fleet();
    tctune_tune_options o = {.struct_size = sizeof o, .database = db, .trials = 8, .threads = 1, .deterministic = 1, .fleet = &f};
    tctune_work *work = open_text(gemm_text);
    f.patience = 0.2;
    f.key = "no-such-*";
    remove_database(db);
    assert_int_not_equal(tctune_tune(work, &o, error, sizeof error), TCTUNE_OK);
    assert_non_null(strstr(error, "no-such-"));
    tctune_work_free(work);
}

static void test_what_is_wrong(void **state) {
    (void)state;
    volatile int stop = 1;
    char *text;
    tctune_fleet right = fleet(), f = right;
    tctune_worker_options o = {.struct_size = sizeof o, .fleet = &f, .threads = 1, .stop = &stop};
    REFUSED(TCTUNE_BAD_INPUT, "name its server", tctune_fleet_status(NULL, &text, error, sizeof error));
    assert_null(text);
    f.struct_size = 0;
    REFUSED(TCTUNE_BAD_INPUT, "struct_size", tctune_fleet_status(&f, &text, error, sizeof error));
    f = right;
    f.url = NULL;
    REFUSED(TCTUNE_BAD_INPUT, "nats://HOST:PORT", tctune_fleet_status(&f, &text, error, sizeof error));
    REFUSED(TCTUNE_BAD_INPUT, "nats://HOST:PORT", tctune_fleet_serve(&o, error, sizeof error));
    f = right;
    f.patience = NAN;
    REFUSED(TCTUNE_BAD_INPUT, "patience", tctune_fleet_status(&f, &text, error, sizeof error));
    f = right;
    f.workers = -1;
    REFUSED(TCTUNE_BAD_INPUT, "not be negative", tctune_fleet_serve(&o, error, sizeof error));
    f = right;
    f.weight = -1;
    REFUSED(TCTUNE_BAD_INPUT, "weight", tctune_fleet_status(&f, &text, error, sizeof error));
    f = right;
    f.url = "nats://127.0.0.1:1";
    REFUSED(TCTUNE_ENVIRONMENT, "127.0.0.1:1", tctune_fleet_status(&f, &text, error, sizeof error));
    f = right;
    f.creds = "/no/such.creds";
    REFUSED(TCTUNE_BAD_INPUT, "/no/such.creds", tctune_fleet_status(&f, &text, error, sizeof error));
    f = right;
    o.fleet = NULL;
    REFUSED(TCTUNE_BAD_INPUT, "name its server", tctune_fleet_serve(&o, error, sizeof error));
    o.fleet = &f;
    o.lease = -1;
    REFUSED(TCTUNE_BAD_INPUT, "lease", tctune_fleet_serve(&o, error, sizeof error));
    o.lease = 0;
    o.threads = -2;
    REFUSED(TCTUNE_BAD_INPUT, "-2 threads", tctune_fleet_serve(&o, error, sizeof error));
    o.threads = 1;
    o.target = "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-v1";
    REFUSED(TCTUNE_BAD_INPUT, "does not run on this machine", tctune_fleet_serve(&o, error, sizeof error));
    o.target = NULL;
    o.name = "two words";
    REFUSED(TCTUNE_BAD_INPUT, "two words", tctune_fleet_serve(&o, error, sizeof error));
    o.name = NULL;
    o.role = "cook";
    REFUSED(TCTUNE_BAD_INPUT, "role is both, build or measure", tctune_fleet_serve(&o, error, sizeof error));
    o.role = "measure";
    o.key = "k1";
    REFUSED(TCTUNE_BAD_INPUT, "key goes with the role build", tctune_fleet_serve(&o, error, sizeof error));
    o.role = "build"; /* with a number of threads */
    REFUSED(TCTUNE_BAD_INPUT, "a key contains target and threads", tctune_fleet_serve(&o, error, sizeof error));
    o.threads = 0;
    o.key = "a.b";
    REFUSED(TCTUNE_BAD_INPUT, "'a.b' is not a key", tctune_fleet_serve(&o, error, sizeof error));
    o.key = "k1";
    OK(tctune_fleet_serve(&o, error, sizeof error)); /* asked to stop before it began */
    o.key = o.role = NULL;
    o.threads = 1;
    OK(tctune_fleet_serve(&o, error, sizeof error)); /* so is this one */
}

static int setup(void **state) {
    (void)state;
    test_server_start(&server, "");
    return 0;
}

static int teardown(void **state) {
    (void)state;
    test_server_stop(&server);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys),   cmocka_unit_test(test_workers),       cmocka_unit_test(test_orders),
        cmocka_unit_test(test_tuning), cmocka_unit_test(test_compared),      cmocka_unit_test(test_follow),
        cmocka_unit_test(test_nobody), cmocka_unit_test(test_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
