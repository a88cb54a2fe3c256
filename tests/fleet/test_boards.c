/* Boards that do not compile, and those who build for them, on a real server. Workers are processes of their own: this program,
 * started as one. What such a board makes of candidates must be what a worker makes of them that builds for itself; and what goes
 * wrong with builders is no candidate's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <elf.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <nats/nats.h>

#include "codegen/target/target.h"
#include "crew.h"
#include "fleet/crowd.h"
#include "fleet/objects/objects.h"
#include "fleet/tuner/tuner.h"
#include "fleet/worker/serve.h"
#include "measure/worker/worker.h"
#include "server.h"
#include "support/log.h"
#include "support/vec.h"

#define GEMM                                                                                                                     \
    "tensor p0[64, 64] f32\ntensor p1[64, 64] f32\ncompute t0[i0:64, i1:64] = sum(k0:64) p0[i0, k0] * p1[k0, i1]\noutput t0\n"
#define OTHER "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-v1"
#define LEASE 0.6

static test_crew crew;
static test_server server;
static tc_arena *arena;
static tc_error err;
static char *target;
static volatile sig_atomic_t stop;
/* A thread that started processes stays until it is let go: they end with it. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_over;
} work = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};

static void set_over(bool is_over) {
    pthread_mutex_lock(&work.lock);
    work.is_over = is_over;
    pthread_cond_broadcast(&work.changed);
    pthread_mutex_unlock(&work.lock);
}

static void wait_until_over(void) {
    pthread_mutex_lock(&work.lock);
    while (!work.is_over)
        pthread_cond_wait(&work.changed, &work.lock);
    pthread_mutex_unlock(&work.lock);
}

/* ---- workers ---- */

static void on_term(int number) {
    stop = number;
}

static const char *own_key(tc_arena *a) {
    return tc_fleet_key(a, target, 1, tc_fleet_build(a));
}

/* One that is there as a builder; serves: jobs may be fetched by it. */
static tc_fleet_bus *say_it_builds(const char *url, const tc_fleet_self *self, bool serves) {
    tc_fleet_bus *b;
    tc_strbuf text = {0};
    tc_fleet_worker told = {.name = self->name,
                            .key = self->key,
                            .host = "h",
                            .target = "",
                            .build = tc_fleet_build(tc_arena_new()),
                            .role = TC_FLEET_BUILD,
                            .state = TC_FLEET_SERVING,
                            .why = "",
                            .threads = 1};
    tc_fleet_worker_write(&told, &text);
    for (;;) { /* as workers do: on a busy machine an answer of the server may come too late */
        tc_error why = {0};
        if (tc_fleet_bus_open(&(tc_fleet_access){.url = url}, self->name, &b, &why) == TC_OK) {
            if ((!serves || tc_fleet_bus_serve_builds(b, self->key, LEASE, &why) == TC_OK) &&
                tc_fleet_bus_announce_builder(b, self->key, self->name, tc_sb_str(&text), &why) == TC_OK)
                return b;
            tc_fleet_bus_close(b);
        }
        fprintf(stderr, "%s: %s\n", self->name, why.msg);
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    }
}

/* What becomes of its jobs is below. */
static tc_fleet_bus *pose_as_builder(const char *url, const tc_fleet_self *self) {
    return say_it_builds(url, self, true);
}

static tc_fleet_delivery *next_job(tc_fleet_bus *b, tc_fleet_build_job *j) {
    tc_fleet_delivery *d = NULL;
    while (!d)
        if (tc_fleet_bus_fetch(b, 1, &d, NULL) != TC_OK)
            _exit(1);
    if (tc_fleet_build_job_read(tc_fleet_delivery_text(d), tc_arena_new(), j, NULL) != TC_OK)
        _exit(1);
    return d;
}

/* Lies of the kind `what` about a candidate. */
static tc_status lie(tc_fleet_bus *b, const tc_fleet_self *self, const char *what, const char *id) {
    static const char digest[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", *const one[] = {digest};
    tc_fleet_built built = {
        .id = id, .builder = self->name, .made = {.message = "", .size = 7}, .whole = digest, .chunk = one, .nchunk = 1};
    tc_strbuf text = {0};
    if (strcmp(what, "words") == 0)
        return tc_fleet_bus_put_built(b, self, id, "no document", NULL);
    if (strcmp(what, "garbage") == 0)
        return tc_fleet_object_put(b, self, id, &(tc_meas_made){.message = "", .object = "garbage", .size = 7}, true, NULL);
    if (strcmp(what, "error") == 0) { /* one that building cannot end with */
        built.made.error = TC_MEAS_WRONG_RESULT;
        built.nchunk = 0;
    }
    tc_fleet_built_write(&built, &text);
    tc_status s = tc_fleet_bus_put_chunk(b, self, digest, "garbage", 7, NULL);
    return s == TC_OK ? tc_fleet_bus_put_built(b, self, id, tc_sb_str(&text), NULL) : s;
}

/* What it sends is none of what it was asked for, until it is ended. */
static void be_liar(const char *url, const char *what) {
    tc_fleet_self self = {.key = own_key(tc_arena_new()), .name = "liar", .boot = "b"};
    tc_fleet_bus *b = pose_as_builder(url, &self);
    for (;;) {
        tc_fleet_build_job j;
        tc_fleet_delivery *d = next_job(b, &j);
        if (j.nbarred) { /* it was found out */
            nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
            tc_fleet_delivery_back(d, 0);
            continue;
        }
        for (size_t i = 0; i < j.n; i++)
            if (lie(b, &self, what, tc_fleet_build_id(tc_arena_new(), &j, i)) != TC_OK)
                _exit(1);
        tc_fleet_delivery_done(d);
    }
}

/* One that is there, and takes no job. */
static void be_idle(const char *url) {
    tc_fleet_self self = {.key = own_key(tc_arena_new()), .name = "idle", .boot = "b"};
    (void)say_it_builds(url, &self, false);
    for (;;)
        pause();
}

/* One that is lost with its first job. */
static void be_lost(const char *url) {
    tc_fleet_build_job j;
    tc_fleet_self self = {.key = own_key(tc_arena_new()), .name = "lost", .boot = "b"};
    (void)next_job(pose_as_builder(url, &self), &j);
    _exit(42);
}

static const char *key_abroad(tc_arena *a) {
    tc_target *t;
    if (tc_target_parse(OTHER, &t, NULL) != TC_OK)
        _exit(1);
    const char *key = tc_fleet_key(a, t->text, 1, tc_fleet_build(a));
    tc_target_free(t);
    return key;
}

/* What a worker does: URL NAME ROLE, URL NAME abroad (it builds for OTHER), URL lost -, URL idle -, or URL liar LIE. */
static int be_worker(char **argv) {
    tc_error why = {0};
    tc_arena *a = tc_arena_new();
    if (strcmp(argv[1], "lost") == 0)
        be_lost(argv[0]);
    if (strcmp(argv[1], "idle") == 0)
        be_idle(argv[0]);
    if (strcmp(argv[1], "liar") == 0)
        be_liar(argv[0], argv[2]);
    signal(SIGTERM, on_term);
    tc_fleet_serve_options o = {
        .access.url = argv[0], .name = argv[1], .key = own_key(a), .target = target, .threads = 1, .lease = LEASE, .stop = &stop};
    bool abroad = strcmp(argv[2], "abroad") == 0;
    if (!tc_fleet_role_parse(abroad ? "build" : argv[2], &o.role))
        _exit(1);
    if (abroad)
        o.key = key_abroad(a);
    tc_status s = tc_fleet_serve(&o, &why);
    if (s != TC_OK)
        fprintf(stderr, "%s\n", why.msg);
    tc_arena_free(a);
    return s == TC_OK ? 0 : 1;
}

static pid_t start(const char *name, const char *what) {
    return test_crew_start(&crew, (const char *const[]){server.url, name, what, NULL});
}

static int finish(pid_t p, int sig) {
    return test_crew_finish(&crew, p, sig);
}

static void check(tc_status s) {
    if (s != TC_OK)
        fail_msg("%s", err.msg);
}

/* The worker is there, in such a state, for a reason that says so. On a busy machine an answer of the server may come too late: then
 * nothing is known. */
static bool is_there(const char *name, const char *state, const char *why) {
    tc_fleet_bus *b;
    tc_error e = {0};
    bool found = false;
    tc_fleet_crowd c = tc_fleet_crowd_new();
    tc_status s = tc_fleet_bus_open(&(tc_fleet_access){.url = server.url}, "test", &b, &e);
    if (s == TC_OK) {
        s = tc_fleet_crowd_see(&c, b, &e);
        tc_fleet_bus_close(b);
    }
    for (size_t i = 0; s == TC_OK && i < c.workers.len; i++)
        found |= strcmp(c.workers.data[i].name, name) == 0 && strcmp(c.workers.data[i].state, state) == 0 &&
                 strstr(c.workers.data[i].why, why);
    tc_fleet_crowd_free(&c);
    assert_true(s == TC_OK || s == TC_ENV);
    return found;
}

static void await(const char *name, const char *state, const char *why) {
    while (!is_there(name, state, why))
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
}

/* ---- tuners ---- */

enum { N = 5 };

static const char *const traces[N] = {"parallel t0.nowhere\n", "io, ii = split t0.i0 [_, 4]\n", "io, ii = split t0.i0 [_, 8]\n",
                                      /* of some size */
                                      "io, ii = split t0.i0 [_, 16]\njo, ji = split t0.i1 [_, 16]\nreorder t0.io t0.jo t0.k0 "
                                      "t0.ii t0.ji\nunroll t0.ii\nunroll t0.ji\n",
                                      "reorder t0.k0 t0.i1\n"};

static tc_fleet *join(double patience) {
    tc_fleet *f;
    tc_fleet_options o = {.access.url = server.url, .tuner = "desk", .target = target, .threads = 1, .patience = patience};
    check(tc_fleet_join(&o, &f, &err));
    return f;
}

/* What the fleet says of the candidates, each time asked anew. */
static tc_status measure(double patience, uint64_t seed, tc_record *r) {
    tc_meas *m;
    tc_meas_input in[N];
    tc_fleet *f = join(patience);
    tc_meas_options o = {.target = target,
                         .threads = 1,
                         .samples = 2,
                         .min_sample = 1e-4,
                         .early_stop = -1,
                         .seed = seed,
                         .carrier = &tc_meas_fleet,
                         .carried_by = f};
    for (int i = 0; i < N; i++)
        in[i] = (tc_meas_input){.workload = GEMM, .workload_hash = tc_meas_text_hash(GEMM), .trace = traces[i], .again = true};
    check(tc_meas_new(&o, &m, &err));
    tc_status s = tc_meas_batch(m, in, N, arena, r, NULL, NULL, &err);
    tc_meas_free(m);
    tc_fleet_leave(f);
    return s;
}

static void compare(const tc_record *got, const tc_record *want) {
    for (int i = 0; i < N; i++) {
        if (got[i].error != want[i].error)
            fail_msg("%s: %s, not %s", traces[i], tc_meas_error_text(got[i].error), tc_meas_error_text(want[i].error));
        assert_string_equal(got[i].message, want[i].message);
        assert_true(got[i].program == want[i].program && got[i].verified == want[i].verified);
        assert_true(got[i].verified == (i > 0) && (got[i].ntimes > 0) == (i > 0));
        assert_true(strncmp(got[i].host, "board@", 6) == 0);
    }
}

/* By a worker that builds for itself; made once, and its texts stay. */
static tc_record want[N];
static tc_arena *kept;

static void make_reference(void) {
    tc_arena *own = arena;
    if (kept)
        return;
    arena = kept = tc_arena_new();
    pid_t w = start("both", "both");
    await("both", TC_FLEET_SERVING, "");
    check(measure(0, 1, want));
    assert_int_equal(want[0].error, TC_MEAS_ILLEGAL);
    assert_int_equal(finish(w, SIGTERM), 0);
    arena = own;
}

static void begin(const char *configuration) {
    arena = tc_arena_new();
    stop = 0;
    set_over(false);
    test_server_start(&server, configuration);
    make_reference();
}

static int setup(void **state) {
    (void)state;
    begin("");
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

/* Messages of the stream of objects under such subjects. */
static int64_t count(const char *subjects) {
    natsConnection *connection = NULL;
    jsCtx *js = NULL;
    jsStreamInfo *info = NULL;
    jsOptions o;
    int64_t n = 0;
    jsOptions_Init(&o);
    o.Stream.Info.SubjectsFilter = subjects;
    assert_int_equal(natsConnection_ConnectTo(&connection, server.url), NATS_OK);
    assert_int_equal(natsConnection_JetStream(&js, connection, NULL), NATS_OK);
    assert_int_equal(js_GetStreamInfo(&info, js, "TCTUNE_OBJECT", &o, NULL), NATS_OK);
    for (int i = 0; info->State.Subjects && i < info->State.Subjects->Count; i++)
        n += (int64_t)info->State.Subjects->List[i].Msgs;
    jsStreamInfo_Destroy(info);
    jsCtx_Destroy(js);
    natsConnection_Destroy(connection);
    return n;
}

static void a_board_makes_of_candidates_what_others_make_of_them(void **state) {
    (void)state;
    tc_record got[N];
    pid_t smith = start("smith", "build"), board = start("board", "measure");
    await("smith", TC_FLEET_SERVING, "");
    await("board", TC_FLEET_SERVING, "");
    check(measure(0, 2, got));
    compare(got, want);
    int64_t built = count("tctune.built.>");
    assert_int_equal(built, N + 1); /* and the reference kernel */
    check(measure(0, 3, got));      /* of other data: what was built is there */
    compare(got, want);
    assert_int_equal(count("tctune.built.>"), built);
    assert_int_equal(finish(smith, SIGTERM), 0);
    assert_int_equal(finish(board, SIGTERM), 0);
}

/* Objects that no message is large enough for. */
static void objects_are_larger_than_messages(void **state) {
    tc_record got[N];
    teardown(state);
    begin("max_payload: 6KB");
    start("smith", "build");
    start("board", "measure");
    await("smith", TC_FLEET_SERVING, "");
    await("board", TC_FLEET_SERVING, "");
    check(measure(0, 2, got));
    compare(got, want);
    assert_true(count("tctune.chunk.>") > count("tctune.built.>"));
}

/* ---- builders of another kind ---- */

static void await_builds(tc_fleet_bus *b, const char *key) {
    for (int64_t n = 1; n > 0;) { /* until all were taken out of the queue */
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        check(tc_fleet_bus_builds(b, key, "board", &n, &err));
    }
}

static void ask(tc_fleet_bus *b, const char *key, const tc_fleet_build_job *j) {
    tc_strbuf text = {0};
    tc_fleet_build_job_write(j, &text);
    check(tc_fleet_bus_ask_build(b, key, "board", tc_sb_str(&text), NULL, &err));
    tc_strbuf_free(&text);
}

static void a_builder_builds_for_other_processors(void **state) {
    (void)state;
    tc_target *t;
    tc_fleet_bus *b;
    tc_fleet_built built;
    tc_fleet_built_mail mail;
    const void *data;
    size_t n;
    Elf64_Ehdr head;
    tc_meas_input in = {.workload = GEMM, .trace = traces[1]};
    check(tc_target_parse(OTHER, &t, &err));
    const char *key = tc_fleet_key(arena, t->text, 1, tc_fleet_build(arena));
    tc_fleet_build_job j = {.board = "board", .asked = 1, .target = t->text, .threads = 1, .limit = 60, .in = &in, .n = 1};
    start("smith", "abroad");
    await("smith", TC_FLEET_SERVING, "");
    check(tc_fleet_bus_open(&(tc_fleet_access){.url = server.url}, "test", &b, &err));
    ask(b, key, &j);
    await_builds(b, key);
    check(tc_fleet_bus_next_built(b, key, tc_fleet_build_id(arena, &j, 0), 0, arena, &mail, &err));
    assert_non_null(mail.text);
    check(tc_fleet_built_read(mail.text, arena, &built, &err));
    assert_int_equal(built.made.error, TC_MEAS_NONE);
    check(tc_fleet_bus_chunk(b, key, "smith", built.chunk[0], arena, &data, &n, &err));
    assert_true(data && n > sizeof head);
    memcpy(&head, data, sizeof head);
    assert_int_equal(head.e_machine, EM_AARCH64);
    j.target = target; /* what is not of its key nobody gets under it */
    ask(b, key, &j);
    await_builds(b, key);
    check(tc_fleet_bus_next_built(b, key, tc_fleet_build_id(arena, &j, 0), 0, arena, &mail, &err));
    assert_null(mail.text);
    tc_fleet_bus_close(b);
    tc_target_free(t);
}

/* ---- several builders ---- */

static int64_t built_by(const char *builder) {
    return count(tc_arena_printf(arena, "tctune.built.%s.%s.>", own_key(arena), builder));
}

/* A job of one candidate that is like no other. */
static void ask_for_one(tc_fleet_bus *b, int number) {
    tc_meas_input in = {.workload = GEMM, .trace = tc_arena_printf(arena, "io, ii = split t0.i0 [_, %d]\n", number)};
    tc_fleet_build_job j = {.board = "board", .asked = 1, .target = target, .threads = 1, .limit = 60, .in = &in, .n = 1};
    ask(b, own_key(arena), &j);
}

static void builders_of_a_key_share_its_queue(void **state) {
    enum { AT_ONCE = 4, MOST = 60 };
    tc_record got[N];
    tc_fleet_bus *b;
    int asked = 0;
    (void)state;
    start("smith", "build");
    start("jones", "build");
    await("smith", TC_FLEET_SERVING, "");
    await("jones", TC_FLEET_SERVING, "");
    check(tc_fleet_bus_open(&(tc_fleet_access){.url = server.url}, "test", &b, &err));
    while (asked < MOST && (built_by("smith") == 0 || built_by("jones") == 0)) {
        for (int i = 0; i < AT_ONCE; i++)
            ask_for_one(b, 2 + asked++);
        await_builds(b, own_key(arena));
    }
    tc_fleet_bus_close(b);
    assert_true(built_by("smith") > 0 && built_by("jones") > 0);
    assert_int_equal(count("tctune.built.>"), asked); /* each by one of them */
    start("board", "measure");
    await("board", TC_FLEET_SERVING, "");
    check(measure(0, 2, got));
    compare(got, want);
}

/* ---- room on the server ---- */

/* So much of it is taken by objects that nobody wants. */
static void flood(int64_t bytes) {
    enum { EACH = 64 << 10 };
    static const char junk[EACH];
    tc_fleet_bus *b;
    tc_fleet_self other = {.key = own_key(arena), .name = "other", .boot = "b"};
    check(tc_fleet_bus_open(&(tc_fleet_access){.url = server.url}, "test", &b, &err));
    for (int i = 0; i < bytes / EACH; i++)
        check(tc_fleet_bus_put_chunk(b, &other, tc_arena_printf(arena, "%d", i), junk, EACH, &err));
    tc_fleet_bus_close(b);
}

static void objects_that_made_room_are_built_again(void **state) {
    (void)state;
    tc_record got[N];
    test_server_limit(&server, "1800KB"); /* of which objects get 1 MB */
    start("smith", "build");
    start("board", "measure");
    await("smith", TC_FLEET_SERVING, "");
    await("board", TC_FLEET_SERVING, "");
    for (uint64_t seed = 2; seed < 4; seed++) {
        check(measure(0, seed, got));
        compare(got, want);
        assert_true(count("tctune.built.>") >= N);
        flood(2 << 20);
        assert_int_equal(count("tctune.built.>"), 0);
    }
}

/* A builder has a job, and no room for what it makes. */
static void a_builder_waits_for_room(void) {
    tc_fleet_bus *b;
    tc_error e = {0};
    tc_arena *a = tc_arena_new();
    int64_t waiting, under_way = 0;
    assert_int_equal(tc_fleet_bus_open(&(tc_fleet_access){.url = server.url}, "watch", &b, &e), TC_OK);
    while (under_way == 0) {
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        assert_int_equal(tc_fleet_bus_build_queue(b, own_key(a), &waiting, &under_way, &e), TC_OK);
    }
    tc_fleet_bus_close(b);
    tc_arena_free(a);
}

static void *make_room(void *none) {
    (void)none;
    a_builder_waits_for_room();
    test_server_limit(&server, "64MB");
    wait_until_over();
    return NULL;
}

static void without_room_objects_wait(void **state) {
    (void)state;
    pthread_t t;
    tc_record got[N];
    test_server_limit(&server, "512KB");
    start("smith", "build");
    start("board", "measure");
    await("smith", TC_FLEET_SERVING, "");
    await("board", TC_FLEET_SERVING, "");
    assert_int_equal(pthread_create(&t, NULL, make_room, NULL), 0);
    check(measure(0, 2, got));
    set_over(true);
    pthread_join(t, NULL);
    compare(got, want);
}

/* ---- losses ---- */

/* When this has happened there is somebody who builds. */
typedef void event(void);

static void *build_then(void *user) {
    event *const *happened = user;
    (*happened)();
    start("smith", "build");
    wait_until_over();
    return NULL;
}

static void with_builder_after(event *happened) {
    pthread_t t;
    tc_record got[N];
    assert_int_equal(pthread_create(&t, NULL, build_then, &happened), 0);
    check(measure(0, 2, got));
    set_over(true);
    pthread_join(t, NULL);
    compare(got, want);
}

static void it_is_said_that_nobody_builds(void) {
    await("board", "waiting", "no builder for key");
}

static void a_board_waits_for_a_builder(void **state) {
    (void)state;
    start("board", "measure");
    await("board", "waiting", "start `tctune worker --role build`");
    with_builder_after(it_is_said_that_nobody_builds);
}

static void without_a_builder_tuners_say_so(void **state) {
    (void)state;
    tc_record got[N];
    start("board", "measure");
    await("board", "waiting", "no builder for key");
    assert_int_equal(measure(0.5, 2, got), TC_BAD_INPUT);
    if (!strstr(err.msg, "board is waiting: no builder for key") || !strstr(err.msg, "start `tctune worker --role build`"))
        fail_msg("%s", err.msg);
    for (int i = 0; i < N; i++)
        assert_int_equal(got[i].error, TC_MEAS_INTERRUPTED);
}

static pid_t lost;

static void it_is_lost(void) {
    int status = finish(lost, 0);
    assert_int_equal(WEXITSTATUS(status), 42);
}

static void what_a_lost_builder_had_is_built_by_another(void **state) {
    (void)state;
    lost = start("lost", "-");
    start("board", "measure");
    await("lost", TC_FLEET_SERVING, "");
    await("board", TC_FLEET_SERVING, "");
    with_builder_after(it_is_lost);
}

/* ---- what the server passes over ---- */

static tc_fleet_bus *bus_of(const char *name) {
    tc_fleet_bus *b;
    assert_int_equal(tc_fleet_bus_open(&(tc_fleet_access){.url = server.url}, name, &b, NULL), TC_OK);
    return b;
}

static void ask_as(tc_fleet_bus *b, const char *key, const char *board, int number) {
    char trace[64];
    tc_strbuf text = {0};
    snprintf(trace, sizeof trace, "io, ii = split t0.i0 [_, %d]\n", number);
    tc_meas_input in = {.workload = GEMM, .trace = trace};
    tc_fleet_build_job j = {.board = board, .asked = 1, .target = target, .threads = 1, .limit = 60, .in = &in, .n = 1};
    tc_fleet_build_job_write(&j, &text);
    assert_int_equal(tc_fleet_bus_ask_build(b, key, board, tc_sb_str(&text), NULL, NULL), TC_OK);
    tc_strbuf_free(&text);
}

/* A builder is given a job of another board that came later, and ends it: the queue has gone on behind the board's job. */
static void go_on_behind(const char *key) {
    natsConnection *connection = NULL;
    jsCtx *js = NULL;
    natsSubscription *jobs = NULL;
    natsMsgList list = {0};
    jsConsumerConfig c;
    jsSubOptions o;
    jsErrCode code = 0;
    const char *subject = "tctune.build.*.later"; /* as in test_share.c */
    assert_int_equal(natsConnection_ConnectTo(&connection, server.url), NATS_OK);
    assert_int_equal(natsConnection_JetStream(&js, connection, NULL), NATS_OK);
    jsConsumerConfig_Init(&c);
    c.Name = c.Durable = key;
    c.FilterSubject = subject;
    c.AckPolicy = js_AckExplicit;
    assert_int_equal(js_AddConsumer(NULL, js, "TCTUNE_BUILD", &c, NULL, &code), NATS_OK);
    jsSubOptions_Init(&o);
    o.Stream = "TCTUNE_BUILD";
    o.Consumer = key;
    assert_int_equal(js_PullSubscribe(&jobs, js, subject, key, NULL, &o, &code), NATS_OK);
    assert_int_equal(natsSubscription_Fetch(&list, jobs, 1, 10000, &code), NATS_OK);
    assert_int_equal(list.Count, 1);
    assert_int_equal(natsMsg_AckSync(list.Msgs[0], NULL, &code), NATS_OK);
    natsMsgList_Destroy(&list);
    natsSubscription_Destroy(jobs);
    jsCtx_Destroy(js);
    natsConnection_Destroy(connection);
}

static bool is_over(void) {
    pthread_mutex_lock(&work.lock);
    bool over = work.is_over;
    pthread_mutex_unlock(&work.lock);
    return over;
}

/* As long as anything is measured, other boards' jobs wait in the queue. */
static void *be_other_boards(void *none) {
    enum { WAIT = 64 };
    tc_arena *a = tc_arena_new();
    const char *key = own_key(a);
    tc_fleet_bus *b = bus_of("others");
    (void)none;
    for (int number = 100; !is_over();) {
        int64_t waiting = 0, under_way;
        assert_int_equal(tc_fleet_bus_build_queue(b, key, &waiting, &under_way, NULL), TC_OK);
        if (waiting < WAIT)
            ask_as(b, key, "other", number++);
        else
            nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    tc_fleet_bus_close(b);
    tc_arena_free(a);
    return NULL;
}

static pthread_t others;

static void it_is_passed_over(void) {
    tc_arena *a = tc_arena_new();
    const char *key = own_key(a);
    tc_fleet_bus *b = bus_of("later");
    for (int64_t n = 0; n == 0;) {
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
        assert_int_equal(tc_fleet_bus_builds(b, key, "board", &n, NULL), TC_OK);
    }
    ask_as(b, key, "later", 99);
    go_on_behind(key);
    tc_fleet_bus_close(b);
    tc_arena_free(a);
    assert_int_equal(pthread_create(&others, NULL, be_other_boards, NULL), 0);
}

/* Jobs that stand in the queue and that no builder will be given are asked for again, however many of others wait there. */
static void what_is_passed_over_is_asked_for_again(void **state) {
    (void)state;
    start("idle", "-");
    start("board", "measure");
    await("idle", TC_FLEET_SERVING, "");
    await("board", TC_FLEET_SERVING, "");
    with_builder_after(it_is_passed_over);
    pthread_join(others, NULL);
}

static void it_is_found(void) {
    await("board", "waiting", "except builders that sent wrong objects");
}

static void after_lies(const char *what) {
    start("liar", what);
    start("board", "measure");
    await("liar", TC_FLEET_SERVING, "");
    await("board", TC_FLEET_SERVING, "");
    with_builder_after(it_is_found);
}

static void words_that_are_none_are_the_builders_fault(void **state) {
    (void)state;
    after_lies("words");
}

static void chunks_that_are_others_are_the_builders_fault(void **state) {
    (void)state;
    after_lies("chunk");
}

static void garbage_is_the_builders_fault(void **state) {
    (void)state;
    after_lies("garbage");
}

static void failures_that_are_none_of_building_are_the_builders_fault(void **state) {
    (void)state;
    after_lies("error");
}

static void delete_streams(void) {
    static const char *const streams[] = {"TCTUNE_BUILD", "TCTUNE_OBJECT"};
    natsConnection *connection = NULL;
    jsCtx *js = NULL;
    assert_int_equal(natsConnection_ConnectTo(&connection, server.url), NATS_OK);
    assert_int_equal(natsConnection_JetStream(&js, connection, NULL), NATS_OK);
    for (size_t i = 0; i < TC_LEN(streams); i++)
        assert_int_equal(js_DeleteStream(js, streams[i], NULL, NULL), NATS_OK);
    jsCtx_Destroy(js);
    natsConnection_Destroy(connection);
}

static void deleted_streams_are_made_again(void **state) {
    (void)state;
    tc_record got[N];
    start("smith", "build");
    start("board", "measure");
    await("smith", TC_FLEET_SERVING, "");
    await("board", TC_FLEET_SERVING, "");
    check(measure(0, 2, got));
    delete_streams();
    check(measure(0, 3, got));
    compare(got, want);
}

int main(int argc, char **argv) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {TEST(a_board_makes_of_candidates_what_others_make_of_them),
                                       TEST(objects_are_larger_than_messages),
                                       TEST(a_builder_builds_for_other_processors),
                                       TEST(builders_of_a_key_share_its_queue),
                                       TEST(objects_that_made_room_are_built_again),
                                       TEST(without_room_objects_wait),
                                       TEST(a_board_waits_for_a_builder),
                                       TEST(without_a_builder_tuners_say_so),
                                       TEST(what_a_lost_builder_had_is_built_by_another),
                                       TEST(what_is_passed_over_is_asked_for_again),
                                       TEST(words_that_are_none_are_the_builders_fault),
                                       TEST(chunks_that_are_others_are_the_builders_fault),
                                       TEST(garbage_is_the_builders_fault),
                                       TEST(failures_that_are_none_of_building_are_the_builders_fault),
                                       TEST(deleted_streams_are_made_again)};
    tc_target *t;
    crew.program = argv[0];
    if (argc == 2 && strcmp(argv[1], "worker") == 0) /* of one of those */
        return tc_meas_worker_main(TC_MEAS_WORKER_FD, TC_MEAS_WORKER_FD);
    if (tc_target_parse("native", &t, NULL) != TC_OK)
        return 1;
    target = t->text;
    int failed = argc == 5 && strcmp(argv[1], "worker") == 0 ? be_worker(argv + 2) : cmocka_run_group_tests(tests, NULL, NULL);
    if (kept)
        tc_arena_free(kept);
    tc_target_free(t);
    return failed;
}
