/* What deploy/nats.conf and deploy/fleet-user let users do: a worker serves the jobs of its key, a member reads records, and
 * neither does more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fleet/bus_build.h"
#include "fleet/orders.h"
#include "server.h"
#include "support/system/fs.h"

static test_server server;
static tc_arena *arena;
static tc_error err;

/* The users are made in the server's folder, and their list is put into its configuration. */
static void make_users(void) {
    char command[2048];
    snprintf(
        command, sizeof command,
        "cd '%s' && user='%s/fleet-user' && $user tuner desk && $user member ann && $user worker w1 k1 && $user worker w2 k2 && "
        "$user builder smith k1",
        server.folder, TEST_DEPLOY);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): a test's own command */
}

/* deploy/nats.conf, but for what this machine has elsewhere: the port, the folder, certificates. */
static void write_configuration(void) {
    char command[2048];
    snprintf(command, sizeof command,
             "sed -e '/^tls/,/^}/d' -e 's|port: 4222|host: 127.0.0.1, port: %d|' -e 's|/var/lib/nats-server|%s|' '%s/nats.conf' "
             ">'%s/nats.conf'",
             server.port, server.folder, TEST_DEPLOY, server.folder);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
}

typedef tc_status opens(const tc_fleet_access *, const char *, tc_fleet_bus **, tc_error *);

static tc_status join_by(opens *how, const char *user, double answer, tc_fleet_bus **b) {
    char nkey[600];
    snprintf(nkey, sizeof nkey, "%s/%s.nk", server.folder, user);
    return how(&(tc_fleet_access){.url = server.url, .nkey = nkey, .answer = answer}, "test", b, &err);
}

/* A member may not make, nor look at, the streams that others open. */
static tc_status join(const char *user, double answer, tc_fleet_bus **b) {
    return join_by(strcmp(user, "ann") == 0 ? tc_fleet_bus_connect : tc_fleet_bus_open, user, answer, b);
}

static void check(tc_status s) {
    if (s != TC_OK)
        fail_msg("%s", err.msg);
}

static tc_fleet_bus *joined(const char *user) {
    tc_fleet_bus *b;
    check(join(user, 0, &b));
    return b;
}

static tc_fleet_bus *connected(const char *user) {
    tc_fleet_bus *b;
    check(join_by(tc_fleet_bus_connect, user, 0, &b));
    return b;
}

static int setup(void **state) {
    (void)state;
    arena = tc_arena_new();
    test_server_start(&server, "");
    test_server_kill(&server);
    make_users();
    write_configuration();
    test_server_restart(&server);
    tc_fleet_bus_close(joined("desk")); /* makes the streams */
    return 0;
}

static int teardown(void **state) {
    (void)state;
    test_server_stop(&server);
    tc_arena_free(arena);
    return 0;
}

static void refused(tc_status s) {
    assert_int_equal(s, TC_BAD_INPUT);
    if (!strstr(err.msg, "ermission"))
        fail_msg("%s", err.msg);
}

/* The server does not answer what a user may not send, so such a request waits in vain: not for long here. On a busy machine even
 * an answer or the server's word that something is barred may come later than that: then all is tried again, on another
 * connection. */
static const double short_wait = 0.02;
enum { TRIES = 200 };

/* What `user` may not do; call: by the bus `who`. */
#define REFUSED(user, call)                                                                                                      \
    do {                                                                                                                         \
        tc_status outcome = TC_ENV;                                                                                              \
        for (int tries = 0; outcome == TC_ENV; tries++) {                                                                        \
            tc_fleet_bus *who;                                                                                                   \
            assert_true(tries < TRIES);                                                                                          \
            outcome = join(user, short_wait * (1 + tries / 10), &who);                                                           \
            if (outcome != TC_OK) {                                                                                              \
                assert_int_equal(outcome, TC_ENV);                                                                               \
                continue;                                                                                                        \
            }                                                                                                                    \
            outcome = (call);                                                                                                    \
            tc_fleet_bus_close(who);                                                                                             \
        }                                                                                                                        \
        refused(outcome);                                                                                                        \
    } while (0)

static void a_worker_serves_its_key(void **state) {
    (void)state;
    tc_fleet_bus *tuner = joined("desk"), *worker = joined("w1");
    tc_fleet_delivery *d;
    tc_fleet_mail mail;
    tc_fleet_losses losses;
    const char *text;
    uint64_t number;
    tc_fleet_self self = {.key = "k1", .name = "w1", .boot = "b1"};
    check(tc_fleet_bus_attend(tuner, "desk", "I wait", &err));
    check(tc_fleet_bus_listen(tuner, "k1", "desk", &err));
    check(tc_fleet_bus_come_back(worker, &self, &err));
    check(tc_fleet_bus_serve(worker, "k1", 30, &err));
    check(tc_fleet_bus_announce(worker, "k1", "w1", "here", &err));
    check(tc_fleet_bus_tell(tuner, "k1", "w1", "rest", &err));
    check(tc_fleet_bus_order(worker, "k1", "w1", arena, &text, &number, &err));
    assert_string_equal(text, "rest");
    assert_true(tc_fleet_bus_is_awaited(worker, "desk", NULL, 0) && !tc_fleet_bus_is_awaited(worker, "nobody", NULL, 0));
    assert_true(tc_fleet_bus_is_served(worker, "k1"));
    check(tc_fleet_bus_ask(tuner, "k1", "desk", "j1", 1, "what", NULL, &err));
    check(tc_fleet_bus_fetch(worker, 5, &d, &err));
    assert_non_null(d);
    assert_string_equal(tc_fleet_delivery_text(d), "what");
    check(tc_fleet_bus_losses(worker, &self, "j1", &losses, &err));
    check(tc_fleet_bus_begin(worker, &self, "j1", 0, &err));
    check(tc_fleet_bus_answer(worker, &self, "desk", "j1", "so", &err));
    tc_fleet_bus_end(worker, &self, "j1", 0);
    tc_fleet_delivery_done(d);
    check(tc_fleet_bus_hear(tuner, 5, arena, &mail, &err));
    assert_string_equal(mail.text, "so");
    assert_string_equal(mail.worker, "w1");
    tc_fleet_bus_close(worker);
    tc_fleet_bus_close(tuner);
}

static void hear_nothing(void *user, const tc_fleet_logged *l) {
    (void)user, (void)l;
}

static void nothing_but_its_key(void **state) {
    (void)state;
    REFUSED("w1", tc_fleet_bus_serve(who, "k2", 30, &err));
}

static void nobody_elses_name(void **state) {
    (void)state;
    REFUSED("w1", tc_fleet_bus_announce(who, "k2", "w2", "I am w2", &err));
    REFUSED("w1", tc_fleet_bus_announce(who, "k1", "w3", "I am w3", &err));
}

/* What it would tell in the name of another worker of its key, or of its own of another key. */
static void lies_are_told_in_its_own_name(void **state) {
    (void)state;
    static const tc_fleet_self another = {"k1", "w3", "b1"}, elsewhere = {"k2", "w1", "b1"};
    REFUSED("w1", tc_fleet_bus_answer(who, &another, "desk", "j1", "a lie", &err));
    REFUSED("w1", tc_fleet_bus_answer(who, &elsewhere, "desk", "j1", "a lie", &err));
    REFUSED("w1", tc_fleet_bus_begin(who, &another, "j1", 0, &err));
    REFUSED("w1", tc_fleet_bus_tell(who, "k1", "w3", "go", &err));
    REFUSED("w1", tc_fleet_bus_tell(who, "k1", "w1", "stay", &err)); /* nor itself */
    REFUSED("w1", tc_fleet_bus_tell(who, "k1", "w1", NULL, &err));
    REFUSED("w1", tc_fleet_bus_attend(who, "desk", "I am a tuner", &err));
}

/* Only tuners' users see what became of jobs, and give orders. */
static void orders_are_tuners(void **state) {
    (void)state;
    static const char *const all[] = {"*", NULL};
    tc_fleet_bus *tuner = joined("desk"), *w = joined("w1");
    tc_fleet_worker told = {
        .name = "w1", .key = "k1", .host = "h", .target = "t", .build = "b", .state = "serving", .why = "", .threads = 1};
    tc_strbuf b = {0};
    tc_fleet_worker_write(&told, &b);
    check(tc_fleet_bus_announce(w, "k1", "w1", tc_sb_str(&b), &err));
    tc_fleet_crowd c = tc_fleet_crowd_new(), nobody = tc_fleet_crowd_new();
    check(tc_fleet_tell(tuner, TC_FLEET_QUARANTINE, all, "", &c, &err));
    assert_int_equal(c.workers.len, 1);
    REFUSED("w1", tc_fleet_tell(who, TC_FLEET_RELEASE, all, "", &nobody, &err));
    tc_fleet_crowd_free(&c);
    tc_fleet_crowd_free(&nobody);
    check(tc_fleet_bus_log(tuner, NULL, 5, hear_nothing, NULL, &err));
    REFUSED("w1", tc_fleet_bus_log(who, NULL, 5, hear_nothing, NULL, &err));
    tc_strbuf_free(&b);
    tc_fleet_bus_close(w);
    tc_fleet_bus_close(tuner);
}

static void no_jobs_of_its_own(void **state) {
    (void)state;
    REFUSED("w1", tc_fleet_bus_ask(who, "k1", "w1", "j9", 1, "measure this", NULL, &err));
}

static void count_one(void *user, const char *text, double age) {
    int *n = user;
    (void)age;
    assert_string_equal(text, "here");
    ++*n;
}

/* Tuners share records, members read them; workers do neither. */
static void members_read_records(void **state) {
    (void)state;
    tc_fleet_kept k;
    tc_fleet_shared x;
    tc_fleet_bus *tuner = joined("desk"), *member = connected("ann");
    check(tc_fleet_bus_keep_records(tuner, &err));
    check(tc_fleet_bus_keep(tuner, "k1", "j1", "once", "a record", &err));
    check(tc_fleet_bus_records(member, &k, &err));
    assert_true(k.there && k.n == 1);
    check(tc_fleet_bus_next_kept(member, 0, arena, &x, &err));
    assert_string_equal(x.text, "a record");
    assert_string_equal(x.job, "j1");
    check(tc_fleet_bus_next_kept(member, x.number, arena, &x, &err));
    assert_null(x.text);
    REFUSED("ann", tc_fleet_bus_keep(who, "k1", "j2", "other", "a lie", &err));
    REFUSED("ann", tc_fleet_bus_ask(who, "k1", "ann", "j9", 1, "measure this", NULL, &err));
    REFUSED("w1", tc_fleet_bus_keep(who, "k1", "j3", "third", "a lie", &err));
    REFUSED("w1", tc_fleet_bus_records(who, &k, &err));
    tc_fleet_bus_close(member);
    tc_fleet_bus_close(tuner);
}

/* A worker may have candidates built for its key; a builder builds them, and does nothing else. */
static void builders_build_for_their_key(void **state) {
    (void)state;
    static const tc_fleet_self self = {"k1", "smith", "b1"}, another = {"k1", "w1", "b1"}, elsewhere = {"k2", "smith", "b1"};
    tc_fleet_bus *smith = joined("smith"), *w = joined("w1");
    tc_fleet_built_mail mail;
    tc_fleet_delivery *d;
    const void *data;
    bool has;
    size_t n;
    int builders = 0;
    const char *text;
    uint64_t number;
    check(tc_fleet_bus_serve_builds(smith, "k1", 30, &err));
    check(tc_fleet_bus_announce_builder(smith, "k1", "smith", "here", &err));
    check(tc_fleet_bus_order(smith, "k1", "smith", arena, &text, &number, &err));
    check(tc_fleet_bus_builders_of(w, "k1", count_one, &builders, &err));
    assert_int_equal(builders, 1);
    check(tc_fleet_bus_ask_build(w, "k1", "w1", "these", NULL, &err));
    check(tc_fleet_bus_fetch(smith, 5, &d, &err));
    assert_non_null(d);
    assert_string_equal(tc_fleet_delivery_text(d), "these");
    check(tc_fleet_bus_has_chunk(smith, &self, "c1", &has, &err));
    assert_false(has);
    check(tc_fleet_bus_put_chunk(smith, &self, "c1", "code", 4, &err));
    check(tc_fleet_bus_put_built(smith, &self, "j1", "so", &err));
    tc_fleet_delivery_done(d);
    check(tc_fleet_bus_next_built(w, "k1", "j1", 0, arena, &mail, &err));
    assert_string_equal(mail.text, "so");
    assert_string_equal(mail.builder, "smith");
    check(tc_fleet_bus_chunk(w, "k1", "smith", "c1", arena, &data, &n, &err));
    assert_true(n == 4 && memcmp(data, "code", 4) == 0);
    check(tc_fleet_bus_builds(w, "k1", "w1", &(int64_t){0}, &err));
    check(tc_fleet_bus_build_queue(w, "k1", &(int64_t){0}, &(int64_t){0}, &err));
    /* What each may not. */
    REFUSED("smith", tc_fleet_bus_put_chunk(who, &another, "c1", "lie", 3, &err));
    REFUSED("smith", tc_fleet_bus_put_built(who, &elsewhere, "j1", "lie", &err));
    REFUSED("smith", tc_fleet_bus_serve(who, "k1", 30, &err));
    REFUSED("smith", tc_fleet_bus_answer(who, &self, "desk", "j1", "a time", &err));
    REFUSED("w1", tc_fleet_bus_put_built(who, &another, "j1", "lie", &err));
    REFUSED("w1", tc_fleet_bus_ask_build(who, "k1", "w2", "these", NULL, &err));
    REFUSED("w1", tc_fleet_bus_serve_builds(who, "k1", 30, &err));
    tc_fleet_bus_close(smith);
    tc_fleet_bus_close(w);
}

static void nobody_unknown(void **state) {
    (void)state;
    tc_fleet_bus *b;
    assert_int_equal(tc_fleet_bus_open(&(tc_fleet_access){.url = server.url}, "stranger", &b, &err), TC_BAD_INPUT);
    assert_non_null(strstr(err.msg, "does not let this user in"));
}

/* Some signatures cannot be sent by some client libraries (one in 256): users do not see that. */
static void every_connection(void **state) {
    (void)state;
    for (int i = 0; i < 400; i++)
        tc_fleet_bus_close(connected("w1"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_worker_serves_its_key), cmocka_unit_test(nothing_but_its_key),
                                       cmocka_unit_test(nobody_elses_name),       cmocka_unit_test(lies_are_told_in_its_own_name),
                                       cmocka_unit_test(orders_are_tuners),       cmocka_unit_test(no_jobs_of_its_own),
                                       cmocka_unit_test(members_read_records),    cmocka_unit_test(builders_build_for_their_key),
                                       cmocka_unit_test(nobody_unknown),          cmocka_unit_test(every_connection)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
