/* The bus on a real server: what is asked is given to one worker, again where that says nothing, and answered once. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

#include "fleet/bus.h"
#include "server.h"
#include "support/strbuf.h"

static test_server server;
static tc_arena *arena;
static tc_error err;

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

static void check(tc_status s) {
    if (s != TC_OK)
        fail_msg("%s", err.msg);
}

static tc_fleet_bus *join(const char *name) {
    tc_fleet_bus *b;
    check(tc_fleet_bus_open(&(tc_fleet_access){.url = server.url}, name, &b, &err));
    return b;
}

static tc_fleet_bus *serve(const char *name, double lease) {
    tc_fleet_bus *b = join(name);
    check(tc_fleet_bus_serve(b, "k1", lease, &err));
    return b;
}

static tc_fleet_bus *listen_as(const char *tuner) {
    tc_fleet_bus *b = join(tuner);
    check(tc_fleet_bus_listen(b, "k1", tuner, &err));
    return b;
}

static tc_fleet_delivery *fetch(tc_fleet_bus *b, double seconds) {
    tc_fleet_delivery *d;
    check(tc_fleet_bus_fetch(b, seconds, &d, &err));
    return d;
}

static tc_fleet_mail hear(tc_fleet_bus *b, double seconds) {
    tc_fleet_mail mail;
    check(tc_fleet_bus_hear(b, seconds, arena, &mail, &err));
    return mail;
}

static tc_fleet_mail find(tc_fleet_bus *b, const char *id) {
    tc_fleet_mail mail;
    check(tc_fleet_bus_find(b, "k1", "desk", id, arena, &mail, &err));
    return mail;
}

static tc_fleet_self self_of(const char *name, const char *boot) {
    return (tc_fleet_self){.key = "k1", .name = name, .boot = boot};
}

static void a_job_is_answered_once(void **state) {
    (void)state;
    tc_fleet_bus *tuner = listen_as("desk"), *worker = serve("w", 30);
    tc_fleet_self self = self_of("w", "b1");
    int64_t mine;
    assert_null(find(tuner, "j1").text);
    check(tc_fleet_bus_ask(tuner, "k1", "desk", "j1", 1, "what", NULL, &err));
    check(tc_fleet_bus_ask(tuner, "k1", "desk", "j1", 1, "what", NULL, &err));  /* the same one */
    check(tc_fleet_bus_ask(tuner, "k2", "desk", "j2", 1, "other", NULL, &err)); /* not this worker's */
    check(tc_fleet_bus_asked(tuner, "k1", "desk", &mine, &err));
    assert_int_equal(mine, 1);
    tc_fleet_delivery *d = fetch(worker, 5);
    assert_string_equal(tc_fleet_delivery_text(d), "what");
    assert_int_equal(tc_fleet_delivery_times(d), 1);
    check(tc_fleet_bus_answer(worker, &self, "desk", "j1", "so", &err));
    check(tc_fleet_bus_answer(worker, &self, "desk", "j1", "so", &err));
    tc_fleet_delivery_done(d);
    assert_null(fetch(worker, 0.2));
    check(tc_fleet_bus_asked(tuner, "k1", "desk", &mine, &err));
    assert_int_equal(mine, 0);
    tc_fleet_mail mail = hear(tuner, 5);
    assert_string_equal(mail.text, "so");
    assert_string_equal(mail.worker, "w");
    assert_string_equal(mail.id, "j1");
    check(tc_fleet_bus_ask(tuner, "k1", "desk", "j1", 2, "what", NULL, &err)); /* once more, in earnest */
    d = fetch(worker, 5);
    assert_non_null(d);
    tc_fleet_delivery_done(d);
    tc_fleet_bus_close(tuner);
    tuner = join("desk");
    mail = find(tuner, "j1"); /* it was kept for a tuner that is started again */
    assert_string_equal(mail.text, "so");
    assert_string_equal(mail.worker, "w");
    tc_fleet_bus_close(tuner);
    tc_fleet_bus_close(worker);
}

/* Two jobs are asked for when a worker has waited for some time. */
static void *ask_later(void *user) {
    char(*id)[32] = user;
    tc_fleet_bus *b;
    tc_status s = tc_fleet_bus_open(&(tc_fleet_access){.url = server.url}, "desk", &b, NULL);
    nanosleep(&(struct timespec){.tv_nsec = 400000000}, NULL);
    for (int k = 0; k < 2 && s == TC_OK; k++)
        s = tc_fleet_bus_ask(b, "k1", "desk", id[k], 1, id[k], NULL, NULL);
    tc_fleet_bus_close(b);
    return s == TC_OK ? user : NULL;
}

/* A server that was stopped meanwhile says late that there was no job. The worker has asked once more by then, and does not do it
 * again for that: of two jobs it is given one. */
static void who_is_answered_late_is_given_one_job(void **state) {
    (void)state;
    int64_t waiting, under_way;
    tc_fleet_bus *tuner = listen_as("desk"), *worker = serve("w1", 30);
    for (int i = 0; i < 3; i++) {
        char id[2][32];
        pthread_t asker;
        void *asked;
        for (int k = 0; k < 2; k++)
            snprintf(id[k], sizeof id[k], "j%d-%d", i, k);
        kill(server.pid, SIGSTOP);
        assert_null(fetch(worker, 0.2)); /* its time ends while the server stands still */
        kill(server.pid, SIGCONT);
        assert_int_equal(pthread_create(&asker, NULL, ask_later, id), 0);
        tc_fleet_delivery *d = fetch(worker, 60);
        pthread_join(asker, &asked);
        assert_non_null(asked);
        assert_non_null(d);
        assert_string_equal(tc_fleet_delivery_text(d), id[0]);
        assert_int_equal(tc_fleet_delivery_times(d), 1);
        check(tc_fleet_bus_queue(tuner, "k1", &waiting, &under_way, &err));
        assert_int_equal(waiting, 1);
        assert_int_equal(under_way, 1);
        tc_fleet_delivery_done(d);
        d = fetch(worker, 60);
        assert_non_null(d);
        assert_string_equal(tc_fleet_delivery_text(d), id[1]);
        tc_fleet_delivery_done(d);
    }
    tc_fleet_bus_close(worker);
    tc_fleet_bus_close(tuner);
}

static void check_losses(tc_fleet_bus *b, const tc_fleet_self *self, const char *id, int died, int vanished) {
    tc_fleet_losses l;
    check(tc_fleet_bus_losses(b, self, id, &l, &err));
    assert_int_equal(l.died, died);
    assert_int_equal(l.vanished, vanished);
}

static void what_a_lost_worker_had_goes_to_another(void **state) {
    (void)state;
    tc_fleet_bus *tuner = listen_as("desk"), *lost = serve("lost", 0.5), *other = serve("other", 0.5);
    tc_fleet_self was = self_of("lost", "b1"), is = self_of("lost", "b2"), self = self_of("other", "b1");
    check(tc_fleet_bus_ask(tuner, "k1", "desk", "j1", 1, "what", NULL, &err));
    tc_fleet_delivery *d = fetch(lost, 5);
    check(tc_fleet_bus_begin(lost, &was, "j1", 0, &err));
    check(tc_fleet_bus_begin(lost, &was, "j2", 0, &err));
    for (int i = 0; i < 4; i++) { /* it is under way: nobody else gets it */
        tc_fleet_delivery_touch(d);
        assert_null(fetch(other, 0.25));
    }
    tc_fleet_delivery *again = fetch(other, 5);
    assert_non_null(again);
    assert_string_equal(tc_fleet_delivery_text(again), "what");
    assert_true(tc_fleet_delivery_times(again) > 1);
    check_losses(other, &self, "j1", 0, 1); /* nobody knows of what */
    check(tc_fleet_bus_begin(other, &self, "j1", 0, &err));
    check_losses(other, &self, "j1", 0, 1);
    tc_fleet_bus_end(other, &self, "j1", 0);
    tc_fleet_delivery_back(again, 0);
    again = fetch(other, 5);
    check_losses(other, &was, "j1", 0, 0);          /* one that gives it back has not died of it */
    check(tc_fleet_bus_come_back(lost, &is, &err)); /* its machine did not survive */
    check_losses(other, &self, "j1", 1, 0);
    check(tc_fleet_bus_come_back(lost, &is, &err));
    check_losses(other, &self, "j1", 1, 0);
    tc_fleet_delivery_done(again);
    tc_fleet_delivery_refuse(d);
    tc_fleet_bus_close(tuner);
    tc_fleet_bus_close(lost);
    tc_fleet_bus_close(other);
}

/* A process that was killed, with its machine alive, says nothing of what it measured. */
static void a_worker_that_is_started_again_has_lost_nothing(void **state) {
    (void)state;
    tc_fleet_bus *worker = serve("w", 30), *other = serve("other", 30);
    tc_fleet_self self = self_of("w", "b1"), another = self_of("other", "b1");
    check(tc_fleet_bus_begin(worker, &self, "j1", 0, &err));
    check_losses(other, &another, "j1", 0, 1);
    check(tc_fleet_bus_come_back(worker, &self, &err));
    check_losses(other, &another, "j1", 0, 0);
    tc_fleet_bus_close(worker);
    tc_fleet_bus_close(other);
}

static void tuners_and_orders_are_known(void **state) {
    (void)state;
    tc_fleet_bus *b = join("desk");
    const char *text;
    uint64_t number, first;
    assert_false(tc_fleet_bus_is_awaited(b, "desk", NULL, 0));
    check(tc_fleet_bus_attend(b, "desk", "I wait", &err));
    assert_true(tc_fleet_bus_is_awaited(b, "desk", NULL, 0));
    tc_fleet_bus_depart(b, "desk");
    assert_false(tc_fleet_bus_is_awaited(b, "desk", NULL, 0));
    check(tc_fleet_bus_order(b, "k1", "w", arena, &text, &number, &err));
    assert_null(text);
    check(tc_fleet_bus_tell(b, "k1", "w", "rest", &err));
    check(tc_fleet_bus_order(b, "k1", "w", arena, &text, &number, &err));
    assert_string_equal(text, "rest");
    first = number;
    assert_true(first > 0);
    check(tc_fleet_bus_tell(b, "k1", "w", "rest", &err)); /* the same is another one */
    check(tc_fleet_bus_order(b, "k1", "w", arena, &text, &number, &err));
    assert_true(number > first);
    check(tc_fleet_bus_tell(b, "k1", "w", NULL, &err));
    check(tc_fleet_bus_order(b, "k1", "w", arena, &text, &number, &err));
    assert_null(text);
    tc_fleet_bus_close(b);
}

static void a_restarted_server_has_lost_nothing(void **state) {
    (void)state;
    tc_fleet_bus *tuner = listen_as("desk"), *worker = serve("w", 30);
    check(tc_fleet_bus_ask(tuner, "k1", "desk", "j1", 1, "what", NULL, &err));
    test_server_kill(&server);
    test_server_restart(&server);
    tc_fleet_delivery *d = NULL;
    for (int i = 0; i < 50 && !d; i++)
        d = fetch(worker, 0.2);
    assert_non_null(d);
    tc_fleet_self self = self_of("w", "b1");
    check(tc_fleet_bus_answer(worker, &self, "desk", "j1", "so", &err));
    tc_fleet_delivery_done(d);
    const char *text = hear(tuner, 2).text;
    if (!text) /* it came while the tuner's connection was not made again yet */
        text = find(tuner, "j1").text;
    assert_non_null(text);
    assert_string_equal(text, "so");
    tc_fleet_bus_close(tuner);
    tc_fleet_bus_close(worker);
}

static void note(void *user, const char *text, double age) {
    assert_true(age < TC_FLEET_SILENCE);
    tc_sb_printf(user, "%s;", text);
}

static void who_serves_is_known(void **state) {
    (void)state;
    tc_fleet_bus *tuner = listen_as("desk"), *worker = serve("w", 30);
    tc_strbuf b = {0};
    int64_t waiting, under_way;
    check(tc_fleet_bus_workers(tuner, note, &b, &err));
    assert_string_equal(tc_sb_str(&b), "");
    check(tc_fleet_bus_announce(worker, "k1", "w", "here", &err));
    check(tc_fleet_bus_workers(tuner, note, &b, &err));
    assert_string_equal(tc_sb_str(&b), "here;");
    tc_fleet_bus_leave(worker, "k1", "w");
    check(tc_fleet_bus_workers(tuner, note, &b, &err));
    assert_string_equal(tc_sb_str(&b), "here;");
    check(tc_fleet_bus_ask(tuner, "k1", "desk", "j1", 1, "what", NULL, &err));
    check(tc_fleet_bus_ask(tuner, "k1", "desk", "j2", 1, "what", NULL, &err));
    tc_fleet_delivery *d = fetch(worker, 5);
    check(tc_fleet_bus_queue(tuner, "k1", &waiting, &under_way, &err));
    assert_int_equal(waiting, 1);
    assert_int_equal(under_way, 1);
    tc_fleet_bus_withdraw(tuner, "k1", "desk");
    assert_null(fetch(worker, 0.2));
    tc_fleet_delivery_done(d);
    check(tc_fleet_bus_queue(tuner, "none", &waiting, &under_way, &err));
    assert_int_equal(waiting + under_way, 0);
    tc_strbuf_free(&b);
    tc_fleet_bus_close(tuner);
    tc_fleet_bus_close(worker);
}

/* Ids of jobs, in the order in which they are heard. */
static void note_id(void *user, const tc_fleet_logged *l) {
    assert_true(l->when_ms > 0 && strcmp(l->key, "k1") == 0 && strcmp(l->tuner, "desk") == 0);
    tc_sb_printf(user, "%s:%s=%s ", l->worker, l->id, l->text);
}

static void logged(tc_fleet_bus *b, const char *worker, size_t most, const char *want) {
    tc_strbuf heard = {0};
    check(tc_fleet_bus_log(b, worker, most, note_id, &heard, &err));
    assert_string_equal(tc_sb_str(&heard), want);
    tc_strbuf_free(&heard);
}

/* The latest first; those of one worker are found behind any number of others. */
static void what_became_of_jobs_is_known(void **state) {
    (void)state;
    enum { OTHERS = 90 };
    tc_fleet_bus *b = join("desk");
    tc_fleet_self one = self_of("a", "b1"), other = self_of("b", "b1");
    logged(b, NULL, 3, "");
    for (int i = 0; i < 4; i++)
        check(tc_fleet_bus_answer(b, &one, "desk", tc_arena_printf(arena, "j%d", i), "so", &err));
    for (int i = 0; i < OTHERS; i++)
        check(tc_fleet_bus_answer(b, &other, "desk", tc_arena_printf(arena, "o%d", i), "no", &err));
    logged(b, NULL, 2, "b:o89=no b:o88=no ");
    logged(b, "a", 3, "a:j3=so a:j2=so a:j1=so ");
    logged(b, "a", 9, "a:j3=so a:j2=so a:j1=so a:j0=so ");
    logged(b, "nobody", 1, "");
    tc_fleet_bus_close(b);
}

static void refused(const tc_fleet_access *a, tc_status s, const char *says) {
    tc_fleet_bus *b;
    err = (tc_error){0};
    assert_int_equal(tc_fleet_bus_open(a, "test", &b, &err), s);
    assert_null(b);
    if (!strstr(err.msg, says) || strstr(err.msg, "secret"))
        fail_msg("'%s' does not say '%s', or tells a password", err.msg, says);
}

static void who_is_not_let_in_is_told(void **state) {
    (void)state;
    test_server locked;
    char url[128];
    test_server_start(&locked, "authorization { user: ann, password: \"right\" }");
    refused(&(tc_fleet_access){.url = locked.url}, TC_BAD_INPUT, "does not let this user in");
    snprintf(url, sizeof url, "nats://ann:secret@127.0.0.1:%d", locked.port);
    refused(&(tc_fleet_access){.url = url}, TC_BAD_INPUT, "does not let this user in");
    test_server_kill(&locked);
    refused(&(tc_fleet_access){.url = url}, TC_ENV, "no NATS server answers there");
    test_server_stop(&locked);
    refused(&(tc_fleet_access){.url = server.url, .creds = "none.creds"}, TC_BAD_INPUT, "none.creds: there is no such file");
    refused(&(tc_fleet_access){.url = server.url, .nkey = "CMakeLists.txt"}, TC_BAD_INPUT, "there is no seed");
    refused(&(tc_fleet_access){.url = server.url, .ca = "none.pem"}, TC_BAD_INPUT, "none.pem: there is no such file");
}

/* A search is not ended by it: the tuner asks again later. */
static void a_server_that_is_busy_is_asked_again(void **state) {
    (void)state;
    tc_fleet_bus *tuner;
    int64_t mine = 0;
    check(tc_fleet_bus_open(&(tc_fleet_access){.url = server.url, .answer = 0.5}, "desk", &tuner, &err));
    assert_int_equal(kill(server.pid, SIGSTOP), 0);
    assert_int_equal(waitpid(server.pid, NULL, WUNTRACED), server.pid); /* all of its threads stand */
    tc_status s = tc_fleet_bus_asked(tuner, "k1", "desk", &mine, &err);
    assert_int_equal(kill(server.pid, SIGCONT), 0);
    check(s);
    assert_int_equal(mine, -1);
    while (mine == -1)
        check(tc_fleet_bus_asked(tuner, "k1", "desk", &mine, &err));
    assert_int_equal(mine, 0);
    tc_fleet_bus_close(tuner);
}

static void *join_at_once(void *failed) {
    tc_fleet_bus *b;
    tc_error why = {0};
    if (tc_fleet_bus_open(&(tc_fleet_access){.url = server.url}, "desk", &b, &why) == TC_OK)
        tc_fleet_bus_close(b);
    else
        snprintf(failed, sizeof why.msg, "%s", why.msg);
    return NULL;
}

/* A server without streams and buckets gets them from whoever comes first, also when several come at once. */
static void who_comes_at_once_makes_the_streams_once(void **state) {
    (void)state;
    enum { AT_ONCE = 48 };
    pthread_t threads[AT_ONCE];
    char failed[AT_ONCE][sizeof err.msg];
    memset(failed, 0, sizeof failed);
    for (int i = 0; i < AT_ONCE; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, join_at_once, failed[i]), 0);
    for (int i = 0; i < AT_ONCE; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < AT_ONCE; i++)
        assert_string_equal(failed[i], "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_job_is_answered_once, setup, teardown),
        cmocka_unit_test_setup_teardown(who_is_answered_late_is_given_one_job, setup, teardown),
        cmocka_unit_test_setup_teardown(what_a_lost_worker_had_goes_to_another, setup, teardown),
        cmocka_unit_test_setup_teardown(a_worker_that_is_started_again_has_lost_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(tuners_and_orders_are_known, setup, teardown),
        cmocka_unit_test_setup_teardown(a_restarted_server_has_lost_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(who_serves_is_known, setup, teardown),
        cmocka_unit_test_setup_teardown(what_became_of_jobs_is_known, setup, teardown),
        cmocka_unit_test_setup_teardown(who_is_not_let_in_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(a_server_that_is_busy_is_asked_again, setup, teardown),
        cmocka_unit_test_setup_teardown(who_comes_at_once_makes_the_streams_once, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
