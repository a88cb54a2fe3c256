/* Databases that tell others what they have, and that follow, on a real server. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <nats/nats.h>

#include "fleet/message.h"
#include "fleet/team/follow.h"
#include "fleet/team/publish.h"
#include "measure/records/database.h"
#include "server.h"
#include "support/system/fs.h"
#include "support/system/stop.h"
#include "support/vec.h"
#include "te/text.h"

#define GEMM                                                                                                                     \
    "tensor p0[64, 64] f32\ntensor p1[64, 64] f32\ncompute t0[i0:64, i1:64] = sum(k0:64) p0[i0, k0] * p1[k0, i1]\noutput t0\n"
#define TARGET "llvm -mtriple=x86_64-pc-linux-gnu -mcpu=znver4"

static test_server server;
static tc_arena *arena;
static tc_error err;
static const char *key, *version, *llvm;

static void check(tc_status s) {
    if (s != TC_OK)
        fail_msg("%s", err.msg);
}

static const char *file(const char *name) {
    return tc_arena_printf(arena, "%s/%s.db", server.folder, name);
}

static int setup(void **state) {
    (void)state;
    arena = tc_arena_new();
    err = (tc_error){0};
    test_server_start(&server, "");
    const char *build = tc_fleet_build(arena), *slash = strchr(build, '/');
    key = tc_fleet_key(arena, TARGET, 1, build);
    version = tc_arena_strndup(arena, build, (size_t)(slash - build));
    llvm = slash + 1;
    return 0;
}

static int teardown(void **state) {
    (void)state;
    test_server_stop(&server);
    tc_arena_free(arena);
    return 0;
}

/* ---- records ---- */

static tc_digest hash_of_gemm(void) {
    const tc_workload *w;
    tc_ctx *ctx = tc_ctx_new();
    check(tc_te_parse(ctx, "gemm", GEMM, &w, &err));
    tc_digest hash = tc_te_hash(w);
    tc_ctx_free(ctx);
    return hash;
}

static tc_record record(int i) {
    tc_record r = tc_meas_record_empty();
    double *times = TC_NEW_N(arena, double, 3);
    for (int k = 0; k < 3; k++)
        times[k] = 1e-3 * (i + 1) + 1e-5 * k;
    tc_meas_record_identify(arena, &r, GEMM, hash_of_gemm(), TARGET, tc_arena_printf(arena, "split t0.i0 [_, %d]\n", i + 2));
    r.job = tc_arena_printf(arena, "job-%d", i);
    r.program = (uint64_t)i + 1;
    r.times = times;
    r.ntimes = 3;
    r.median = times[1];
    r.threads = 1;
    r.mode = TC_MEAS_SIMULATED;
    r.verified = true;
    r.when_ms = 1000 + i;
    r.tctune_version = version;
    r.llvm_version = llvm;
    r.host = "w1@board";
    r.phase = "evolve";
    return r;
}

static tc_meas_db *opened(const char *path) {
    tc_meas_db *db;
    check(tc_meas_db_open(path, TC_MEAS_DB_WRITE, &db, &err));
    return db;
}

/* Records from `from` to `to` - 1. */
static void store(tc_meas_db *db, int from, int to) {
    for (int i = from; i < to; i++) {
        tc_record r = record(i);
        check(tc_meas_db_insert(db, &r, 1, &err));
    }
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* All that a database has, in an order that all have. */
static const char *content(const char *path) {
    tc_meas_records r;
    tc_meas_db *db = opened(path);
    check(tc_meas_db_select(db, arena, &(tc_meas_filter){0}, &r, &err));
    tc_meas_db_close(db);
    const char **line = TC_NEW_N(arena, const char *, r.len + 1);
    tc_strbuf all = {0};
    for (size_t i = 0; i < r.len; i++) {
        tc_strbuf b = {0};
        tc_meas_record_to_json(&r.data[i], &b);
        line[i] = tc_sb_keep(&b, arena);
    }
    qsort(line, r.len, sizeof *line, by_text);
    for (size_t i = 0; i < r.len; i++)
        tc_sb_printf(&all, "%s\n", line[i]);
    return tc_sb_keep(&all, arena);
}

static int64_t id_of(tc_meas_db *db, int i) {
    tc_meas_records r;
    check(tc_meas_db_select(db, arena, &(tc_meas_filter){.job = record(i).job}, &r, &err));
    assert_int_equal(r.len, 1);
    return r.data[0].id;
}

/* ---- who tells, and who follows ---- */

static tc_fleet_publisher *telling(const char *path, const char *tuner) {
    tc_fleet_publisher *p = tc_fleet_publish_begin(&(tc_fleet_publish){
        .access.url = server.url, .tuner = tuner, .key = key, .target = TARGET, .threads = 1, .database = path});
    assert_non_null(p);
    return p;
}

static void tell(const char *path, const char *tuner) {
    tc_fleet_publish_end(telling(path, tuner));
}

typedef struct heard {
    int refusals, reports;
    const char *why[16];
} heard;

static void listen_to(void *user, const tc_fleet_followed *so_far, const char *refusal) {
    heard *h = user;
    (void)so_far;
    h->reports += refusal == NULL;
    if (refusal && h->refusals < 16)
        h->why[h->refusals++] = tc_arena_strdup(arena, refusal);
}

static tc_fleet_followed follow_as(const char *path, const char *keys, const char *tuners, heard *h) {
    tc_fleet_followed n;
    heard none = {0};
    check(tc_fleet_follow(&(tc_fleet_follow_options){.access.url = server.url,
                                                     .database = path,
                                                     .key = keys,
                                                     .tuner = tuners,
                                                     .once = true,
                                                     .told = listen_to,
                                                     .user = h ? h : &none},
                          &n, &err));
    return n;
}

static tc_fleet_followed follow(const char *path) {
    return follow_as(path, NULL, NULL, NULL);
}

static void expect(tc_fleet_followed n, int stored, int known, int changed, int refused) {
    assert_int_equal(n.stored, stored);
    assert_int_equal(n.known, known);
    assert_int_equal(n.changed, changed);
    assert_int_equal(n.refused, refused);
}

static tc_fleet_bus *joined(void) {
    tc_fleet_bus *b;
    check(tc_fleet_bus_connect(&(tc_fleet_access){.url = server.url}, "test", &b, &err));
    return b;
}

static uint64_t messages(void) {
    tc_fleet_kept k;
    tc_fleet_bus *b = joined();
    check(tc_fleet_bus_records(b, &k, &err));
    tc_fleet_bus_close(b);
    return k.n;
}

static void await_messages(uint64_t n) {
    for (int i = 0; messages() < n; i++) {
        assert_true(i < 6000);
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
}

static void delete_stream(void) {
    natsConnection *connection = NULL;
    jsCtx *js = NULL;
    assert_int_equal(natsConnection_ConnectTo(&connection, server.url), NATS_OK);
    assert_int_equal(natsConnection_JetStream(&js, connection, NULL), NATS_OK);
    assert_int_equal(js_DeleteStream(js, "TCTUNE_RECORD", NULL, NULL), NATS_OK);
    jsCtx_Destroy(js);
    natsConnection_Destroy(connection);
}

/* ---- tests ---- */

static void followers_have_what_was_stored(void **state) {
    (void)state;
    const char *a = file("a"), *b = file("b"), *c = file("c");
    tc_meas_db *db = opened(a);
    store(db, 0, 200); /* before anybody tells of it: more than are read at a time */
    tc_fleet_publisher *p = telling(a, "t1");
    await_messages(200);
    expect(follow(b), 200, 0, 0, 0);
    store(db, 200, 210);
    tc_fleet_publish_end(p);
    expect(follow(b), 10, 0, 0, 0);
    expect(follow(b), 0, 0, 0, 0);
    expect(follow(c), 210, 0, 0, 0);
    assert_string_equal(content(a), content(b));
    assert_string_equal(content(a), content(c));
    tell(b, "t2"); /* one that follows and tells: nothing is told twice */
    tell(a, "t1");
    assert_int_equal(messages(), 210);
    expect(follow(c), 0, 0, 0, 0);
    tc_meas_db_close(db);
}

/* Of no job, of another target, of another build: others could not use its key for them. */
static void what_is_of_no_key_is_not_told(void **state) {
    (void)state;
    const char *a = file("a");
    tc_meas_db *db = opened(a);
    tc_record r[4] = {record(0), record(1), record(2), record(3)};
    r[0].job = "";
    r[1].tctune_version = "0.0";
    r[2].threads = 2;
    check(tc_meas_db_insert(db, r, 4, &err));
    tell(a, "t1");
    assert_int_equal(messages(), 1);
    tc_meas_db_close(db);
}

static void change_three(tc_meas_db *db) {
    tc_record timed = record(1), wrong = tc_meas_record_empty();
    double *times = tc_arena_dup(arena, timed.times, 3 * sizeof *times);
    times[0] = times[1] = times[2] = 5e-4;
    timed.id = id_of(db, 1);
    timed.times = times;
    timed.median = 5e-4;
    timed.rounds = 7;
    wrong.error = TC_MEAS_WRONG_RESULT;
    wrong.message = "element 3";
    wrong.max_error = 12;
    wrong.program = record(2).program;
    check(tc_meas_db_set_verified(db, id_of(db, 0), false, 0, &err));
    check(tc_meas_db_retime(db, &timed, &err));
    check(tc_meas_db_disqualify(db, id_of(db, 2), &wrong, &err));
}

static void what_changes_is_told(void **state) {
    (void)state;
    const char *a = file("a"), *b = file("b"), *late = file("late"), *old = file("old");
    tc_meas_db *db = opened(a);
    store(db, 0, 5);
    tc_fleet_publisher *p = telling(a, "t1");
    await_messages(5);
    expect(follow(b), 5, 0, 0, 0);
    expect(follow(old), 5, 0, 0, 0);
    change_three(db);
    tc_fleet_publish_again(p); /* as a tuner that disowns a worker */
    tc_fleet_followed n = {0};
    for (int i = 0; n.changed < 3; i++) {
        tc_fleet_followed more = follow(b);
        assert_true(i < 6000 && more.stored == 0 && more.refused == 0 && more.known == 0);
        n.changed += more.changed;
    }
    tc_fleet_publish_end(p);
    expect(follow(b), 0, 0, 0, 0);
    expect(follow(late), 5, 0, 0, 0);
    assert_string_equal(content(a), content(b));
    assert_string_equal(content(a), content(late));
    tell(old, "t2"); /* what it has is not the last word any more */
    expect(follow(late), 0, 0, 0, 0);
    expect(follow(old), 0, 0, 3, 0);
    assert_string_equal(content(a), content(old));
    tc_meas_db_close(db);
}

/* Somebody else measured the same: neither record speaks for the other. */
static void another_measurement_of_a_job_changes_nothing(void **state) {
    (void)state;
    const char *a = file("a"), *b = file("b");
    tc_meas_db *db = opened(a), *own = opened(b);
    tc_record mine = record(0), theirs = record(0);
    mine.host = "w2@other";
    theirs.verified = false;
    check(tc_meas_db_insert(own, &mine, 1, &err));
    check(tc_meas_db_insert(db, &theirs, 1, &err));
    const char *before = content(b);
    tell(a, "t1");
    expect(follow(b), 0, 1, 0, 0);
    assert_string_equal(content(b), before);
    tc_meas_db_close(db);
    tc_meas_db_close(own);
}

/* ---- what is not trusted ---- */

static void put(tc_fleet_bus *b, const char *under, const char *job, const char *once, const char *text) {
    check(tc_fleet_bus_keep(b, under, job, once, text, &err));
}

static const char *entry(const tc_record *r, const char *tuner) {
    tc_strbuf b = {0};
    tc_fleet_entry_write(&(tc_fleet_entry){.tuner = tuner, .record = *r}, &b);
    return tc_sb_keep(&b, arena);
}

/* The text with its first `from` as `to`. */
static const char *edited(const char *text, const char *from, const char *to) {
    const char *at = strstr(text, from);
    assert_non_null(at);
    return tc_arena_printf(arena, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

static void garbage_is_refused_and_named(void **state) {
    (void)state;
    const char *b = file("b"), *good = entry((tc_record[]){record(0)}, "t1");
    tc_record graph = record(4), alone = record(5), strange = record(6), last = record(9), deep = record(10), forged = record(11);
    char layout[9000] = "transform_layout p1 (x0, x1) -> (x1, ";
    graph.mode = TC_MEAS_IN_GRAPH;
    alone.job = "";
    strange.trace_hash = tc_meas_text_hash("another");
    memset(layout + strlen(layout), '(', 8200);
    strcat(layout, "x0\n");
    tc_meas_record_identify(arena, &deep, deep.workload, deep.workload_hash, deep.target, layout);
    forged.host = "board\xc2\x9b"
                  "2J";
    struct {
        const char *job, *text, *says;
    } lies[] = {
        {"job-1", "not JSON", "not a JSON object"},
        {"job-0-b", good, "of job job-0"},
        {"job-2", edited(entry((tc_record[]){record(2)}, "t1"), "\"median\":", "\"median\":1"), "its median is"},
        {"job-3", edited(entry((tc_record[]){record(3)}, "t1"), "tensor p0[64, 64]", "tensor p0[64, 63]"), "out of bounds"},
        {"job-4", entry(&graph, "t1"), "a comparison in a network"},
        {"job-5", entry(&alone, "t1"), "it belongs to no job"},
        {"job-6", entry(&strange, "t1"), "the hash of trace does not match"},
        {"job-7", entry((tc_record[]){record(7)}, "not a word"), "tuner"},
        {"a.b", good, "its subject"},
        {"job-8", edited(entry((tc_record[]){record(8)}, "t1"), "\"version\":2", "\"version\":99"), "use the same tctune"},
        {"job-10", entry(&deep, "t1"), "longer than 8192"},
        {"job-11", entry(&forged, "t1"), "its host has control characters"},
    };
    heard h = {0};
    tc_fleet_bus *bus = joined();
    check(tc_fleet_bus_keep_records(bus, &err));
    for (size_t i = 0; i < TC_LEN(lies); i++)
        put(bus, key, lies[i].job, tc_arena_printf(arena, "l%zu", i), lies[i].text);
    put(bus, "znver4-9t-0000000000000000", "job-9", "w", entry(&last, "t1"));
    put(bus, key, "job-9", "g", entry(&last, "t1"));
    tc_fleet_followed n = follow_as(b, NULL, NULL, &h);
    assert_int_equal(h.refusals, TC_LEN(lies) + 1);
    for (size_t i = 0; i < TC_LEN(lies); i++)
        if (!strstr(h.why[i], lies[i].says) || !strstr(h.why[i], "message "))
            fail_msg("'%s' does not say '%s'", h.why[i], lies[i].says);
    assert_non_null(strstr(h.why[TC_LEN(lies)], "of another key"));
    assert_non_null(strstr(h.why[TC_LEN(lies)], "by the tuner t1"));
    expect(n, 1, 0, 0, TC_LEN(lies) + 1);
    tell(b, "t2");
    expect(follow(b), 0, 0, 0, 0);
    tc_fleet_bus_close(bus);
}

/* Garbage in the place of a job is no last word: whoever has its record tells it. */
static void garbage_is_replaced(void **state) {
    (void)state;
    const char *a = file("a"), *b = file("b");
    tc_meas_db *db = opened(a);
    tc_fleet_bus *bus = joined();
    store(db, 0, 3);
    check(tc_fleet_bus_keep_records(bus, &err));
    put(bus, key, "job-1", "g", "{}");
    tell(a, "t1");
    expect(follow(b), 3, 0, 0, 0);
    assert_string_equal(content(a), content(b));
    tc_fleet_bus_close(bus);
    tc_meas_db_close(db);
}

static void patterns_choose(void **state) {
    (void)state;
    const char *a = file("a"), *b = file("b");
    tc_meas_db *db = opened(a);
    store(db, 0, 3);
    tell(a, "t1");
    tc_fleet_followed n = follow_as(b, "another-*", NULL, NULL);
    assert_true(n.stored == 0 && n.others == 3);
    n = follow_as(b, "znver4-*", "t2*", NULL);
    assert_true(n.stored == 0 && n.others == 3);
    n = follow_as(b, "znver4-*", "t1*", NULL);
    assert_true(n.stored == 3 && n.others == 0);
    tc_meas_db_close(db);
}

/* ---- what is lost ---- */

static void a_deleted_stream_is_filled_again(void **state) {
    (void)state;
    const char *a = file("a"), *b = file("b"), *c = file("c");
    tc_fleet_followed n;
    tc_fleet_follow_options o = {.access.url = server.url, .database = b, .once = true};
    assert_int_equal(tc_fleet_follow(&o, &n, &err), TC_ENV);
    assert_non_null(strstr(err.msg, "no stream of records"));
    assert_non_null(strstr(err.msg, "tctune tune --fleet"));
    tc_meas_db *db = opened(a);
    store(db, 0, 4);
    tc_fleet_publisher *p = telling(a, "t1");
    await_messages(4);
    expect(follow(b), 4, 0, 0, 0);
    delete_stream();
    store(db, 4, 5); /* wakes who tells */
    await_messages(5);
    expect(follow(b), 1, 4, 0, 0);
    expect(follow(c), 5, 0, 0, 0);
    tc_fleet_publish_end(p);
    delete_stream();
    tell(a, "t1"); /* the next tuner of that file */
    expect(follow(file("d")), 5, 0, 0, 0);
    tc_meas_db_close(db);
}

/* An older copy of the database, or one that others made, is where it was. */
static void a_database_that_is_put_back_gets_the_rest_again(void **state) {
    (void)state;
    const char *a = file("a"), *b = file("b"), *copy = file("copy");
    tc_meas_db *db = opened(a);
    store(db, 0, 3);
    tell(a, "t1");
    expect(follow(b), 3, 0, 0, 0);
    char *text = tc_arena_printf(arena, "cp '%s' '%s'", b, copy);
    assert_int_equal(system(text), 0); /* NOLINT(cert-env33-c): a test's own command */
    store(db, 3, 6);
    tell(a, "t1");
    expect(follow(b), 3, 0, 0, 0);
    expect(follow(copy), 3, 0, 0, 0);
    assert_int_equal(unlink(b), 0);
    expect(follow(b), 6, 0, 0, 0);
    tc_meas_db_close(db);
}

typedef struct going {
    const char *path;
    volatile sig_atomic_t stop;
    tc_fleet_followed n;
    tc_status status;
    tc_error err;
} going;

static void *go_on(void *user) {
    going *g = user;
    g->status = tc_fleet_follow(&(tc_fleet_follow_options){.access.url = server.url, .database = g->path, .stop = &g->stop},
                                &g->n, &g->err);
    return NULL;
}

static void await_records(const char *path, size_t n) {
    tc_meas_db_stats s = {0};
    tc_meas_db *db = opened(path);
    for (int i = 0; (size_t)s.records < n; i++) {
        assert_true(i < 6000);
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        check(tc_meas_db_stat(db, &s, &err));
    }
    tc_meas_db_close(db);
}

static void a_server_that_is_restarted_is_waited_for(void **state) {
    (void)state;
    const char *a = file("a");
    pthread_t t;
    going g = {.path = file("b")};
    tc_meas_db *db = opened(a);
    tc_fleet_publisher *p = telling(a, "t1");
    assert_int_equal(pthread_create(&t, NULL, go_on, &g), 0); /* before there is a stream, maybe */
    store(db, 0, 3);
    await_records(g.path, 3);
    test_server_kill(&server);
    store(db, 3, 6);
    nanosleep(&(struct timespec){.tv_nsec = 700000000}, NULL); /* both look for it */
    test_server_restart(&server);
    store(db, 6, 8);
    await_records(g.path, 8);
    tc_raise_to(&g.stop, 1);
    pthread_join(t, NULL);
    tc_fleet_publish_end(p);
    if (g.status != TC_OK)
        fail_msg("%s", g.err.msg);
    assert_int_equal(g.n.stored, 8);
    assert_string_equal(content(a), content(g.path));
    tc_meas_db_close(db);
}

static void without_a_server_nobody_is_followed(void **state) {
    (void)state;
    tc_fleet_followed n;
    test_server_kill(&server);
    tc_fleet_follow_options o = {.access.url = server.url, .database = file("b")};
    assert_int_equal(tc_fleet_follow(&o, &n, &err), TC_ENV);
    assert_non_null(strstr(err.msg, "no NATS server answers there"));
    assert_false(tc_fs_exists(o.database));
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {TEST(followers_have_what_was_stored),
                                       TEST(what_is_of_no_key_is_not_told),
                                       TEST(what_changes_is_told),
                                       TEST(another_measurement_of_a_job_changes_nothing),
                                       TEST(garbage_is_refused_and_named),
                                       TEST(garbage_is_replaced),
                                       TEST(patterns_choose),
                                       TEST(a_deleted_stream_is_filled_again),
                                       TEST(a_database_that_is_put_back_gets_the_rest_again),
                                       TEST(a_server_that_is_restarted_is_waited_for),
                                       TEST(without_a_server_nobody_is_followed)};
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
