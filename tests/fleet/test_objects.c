/* Objects on a real server: what was put there is taken as it was, and nothing that was lost, changed or made up is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <nats/nats.h>

#include "codegen/artefacts/object.h"
#include "elf.h"
#include "fleet/objects/objects.h"
#include "measure/process/protocol.h"
#include "server.h"
#include "support/rng.h"
#include "support/seal.h"
#include "support/system/fs.h"

#define ID "5eed"

static test_server server;
static tc_arena *arena;
static tc_error err;
static tc_fleet_bus *bus;
static test_object object;
static const tc_fleet_self self = {.key = "k1", .name = "smith", .boot = "b"};

static void check(tc_status s) {
    if (s != TC_OK)
        fail_msg("%s", err.msg);
}

static void begin(const char *configuration) {
    arena = tc_arena_new();
    test_object_make(&object, TC_MEAS_SYMBOL);
    test_server_start(&server, configuration);
    check(tc_fleet_bus_open(&(tc_fleet_access){.url = server.url}, "test", &bus, &err));
}

static int setup(void **state) {
    (void)state;
    begin("max_payload: 64KB"); /* an object of 200 KB is several messages */
    return 0;
}

static int teardown(void **state) {
    (void)state;
    tc_fleet_bus_close(bus);
    test_server_stop(&server);
    tc_arena_free(arena);
    return 0;
}

static tc_meas_made made(void) {
    return (tc_meas_made){.message = "",
                          .program = 0xfedcba9876543210,
                          .workspace = 640,
                          .seconds = 0.25,
                          .object = &object,
                          .size = sizeof object};
}

static tc_fleet_built_mail mail_behind(uint64_t number) {
    tc_fleet_built_mail mail;
    check(tc_fleet_bus_next_built(bus, "k1", ID, number, arena, &mail, &err));
    return mail;
}

static tc_fleet_taken take(tc_meas_made *out) {
    tc_fleet_taken taken;
    tc_fleet_built_mail mail = mail_behind(0);
    assert_non_null(mail.text);
    assert_string_equal(mail.builder, "smith");
    check(tc_fleet_object_take(bus, "k1", ID, &mail, arena, out, &taken, &err));
    return taken;
}

/* What is wrong with the object that is there. */
static void is_wrong(const char *says) {
    tc_meas_made out;
    tc_fleet_taken taken = take(&out);
    assert_false(taken.there);
    assert_non_null(taken.wrong);
    if (!strstr(taken.wrong, says))
        fail_msg("'%s' does not say '%s'", taken.wrong, says);
}

/* Messages of the stream, and the number of the last. */
static void look(uint64_t *n, uint64_t *last) {
    natsConnection *connection = NULL;
    jsCtx *js = NULL;
    jsStreamInfo *info = NULL;
    assert_int_equal(natsConnection_ConnectTo(&connection, server.url), NATS_OK);
    assert_int_equal(natsConnection_JetStream(&js, connection, NULL), NATS_OK);
    assert_int_equal(js_GetStreamInfo(&info, js, "TCTUNE_OBJECT", NULL, NULL), NATS_OK);
    *n = info->State.Msgs;
    *last = info->State.LastSeq;
    assert_true(info->Config->MaxAge > 0 && info->Config->MaxBytes > 0);
    jsStreamInfo_Destroy(info);
    jsCtx_Destroy(js);
    natsConnection_Destroy(connection);
}

static const char *chunk_digest(size_t at, size_t n) {
    return tc_arena_strdup(arena, tc_seal_of(NULL, 0, (const char *)&object + at, n).hex);
}

static void an_object_is_taken_as_it_was_put(void **state) {
    (void)state;
    tc_meas_made x = made(), out;
    assert_null(mail_behind(0).text);
    check(tc_fleet_object_put(bus, &self, ID, &x, false, &err));
    assert_true(take(&out).there);
    assert_true(out.size == sizeof object && memcmp(out.object, &object, sizeof object) == 0);
    assert_true(out.error == TC_MEAS_NONE && out.program == x.program && out.workspace == 640 && out.seconds == 0.25);
    assert_null(mail_behind(mail_behind(0).number).text);
}

static void a_chunk_that_is_there_is_not_sent_again(void **state) {
    (void)state;
    uint64_t n, last, chunks, then;
    tc_meas_made x = made();
    check(tc_fleet_object_put(bus, &self, ID, &x, false, &err));
    look(&n, &last);
    chunks = last - 1; /* and one that lists them */
    assert_true(chunks > 3 && n == last);
    check(tc_fleet_object_put(bus, &self, "another", &x, false, &err));
    look(&n, &then);
    assert_int_equal(then, last + 1);
    check(tc_fleet_object_put(bus, &self, ID, &x, true, &err)); /* somebody did not find it */
    look(&n, &last);
    assert_true(last == then + chunks + 1 && n == chunks + 2); /* each once */
}

static void a_failure_is_a_word_without_an_object(void **state) {
    (void)state;
    tc_meas_made x = {.error = TC_MEAS_BUILD_CRASH, .message = "killed\x1b by \xc3\xa4", .signal = 11}, out;
    check(tc_fleet_object_put(bus, &self, ID, &x, false, &err));
    assert_true(take(&out).there);
    assert_true(out.error == TC_MEAS_BUILD_CRASH && out.signal == 11 && out.size == 0);
    assert_string_equal(out.message, "killed? by ??");
}

static size_t room(void) {
    return tc_fleet_bus_room(bus);
}

static void a_chunk_that_is_lost_is_nobodys_fault(void **state) {
    (void)state;
    natsConnection *connection = NULL;
    jsCtx *js = NULL;
    char subject[256];
    jsOptions o;
    tc_meas_made x = made(), out;
    check(tc_fleet_object_put(bus, &self, ID, &x, false, &err));
    snprintf(subject, sizeof subject, "tctune.chunk.k1.smith.%s", chunk_digest(room(), room()));
    jsOptions_Init(&o);
    o.Stream.Purge.Subject = subject;
    assert_int_equal(natsConnection_ConnectTo(&connection, server.url), NATS_OK);
    assert_int_equal(natsConnection_JetStream(&js, connection, NULL), NATS_OK);
    assert_int_equal(js_PurgeStream(js, "TCTUNE_OBJECT", &o, NULL), NATS_OK);
    jsCtx_Destroy(js);
    natsConnection_Destroy(connection);
    tc_fleet_taken taken = take(&out);
    assert_true(!taken.there && !taken.wrong);
    check(tc_fleet_object_put(bus, &self, ID, &x, false, &err)); /* what is not there is sent */
    assert_true(take(&out).there);
}

static void what_was_changed_is_found(void **state) {
    (void)state;
    tc_meas_made x = made(), out;
    const char *digest = chunk_digest(0, room());
    check(tc_fleet_object_put(bus, &self, ID, &x, false, &err));
    check(tc_fleet_bus_put_chunk(bus, &self, digest, "another", 7, &err));
    is_wrong("chunk 0 of the object " ID " does not match its digest");
    check(tc_fleet_bus_put_chunk(bus, &self, digest, &object, 60000, &err));
    is_wrong("chunk 0 of the object " ID " does not match its digest");
    check(tc_fleet_bus_put_chunk(bus, &self, digest, "", 0, &err));
    is_wrong("has 0 bytes");
    check(tc_fleet_object_put(bus, &self, ID, &x, true, &err));
    assert_true(take(&out).there);
}

/* Documents that do not fit their object. */
static void put_words(tc_fleet_built b) {
    tc_strbuf text = {0};
    tc_fleet_built_write(&b, &text);
    check(tc_fleet_bus_put_built(bus, &self, ID, tc_sb_str(&text), &err));
    tc_strbuf_free(&text);
}

static void what_is_made_up_is_found(void **state) {
    (void)state;
    const char *digest = chunk_digest(0, 1000), *const two[] = {digest, digest};
    tc_fleet_built b = {.id = ID, .builder = "smith", .made = made(), .whole = digest, .chunk = two, .nchunk = 1};
    check(tc_fleet_bus_put_chunk(bus, &self, digest, &object, 1000, &err));
    b.made.size = 1001;
    put_words(b);
    is_wrong("has 1000 bytes, not 1001");
    b.made.size = 1500;
    b.nchunk = 2;
    put_words(b);
    is_wrong("chunk 1 of the object " ID " has 1000 bytes, but the object lacks 500");
    b.made.size = 2000;
    put_words(b);
    is_wrong("the object " ID " does not match its digest");
    b.builder = "jones";
    put_words(b);
    is_wrong("as the object " ID " of jones");
    b.builder = "smith";
    b.id = "other";
    put_words(b);
    is_wrong("as the object other of smith");
    check(tc_fleet_bus_put_built(bus, &self, ID, "no document", &err));
    is_wrong("damaged: it is not a JSON object");
}

static void garbage_with_a_right_digest_is_no_object(void **state) {
    (void)state;
    tc_meas_made x = made();
    memset(&object, 'x', sizeof object);
    check(tc_fleet_object_put(bus, &self, ID, &x, false, &err));
    is_wrong("contains no code of a candidate for this kind of processor");
    test_object_make(&object, "another_symbol");
    check(tc_fleet_object_put(bus, &self, ID, &x, false, &err));
    is_wrong("contains no code of a candidate");
    test_object_make(&object, TC_MEAS_SYMBOL);
    object.head.e_machine = EM_S390;
    check(tc_fleet_object_put(bus, &self, ID, &x, false, &err));
    is_wrong("contains no code of a candidate");
}

/* Whatever the bytes are: nothing outside of them is read. */
static void any_bytes_are_looked_through(void **state) {
    (void)state;
    enum { TIMES = 20000, SIZE = offsetof(test_object, more) };
    tc_rng rng = tc_rng_seed(7);
    test_object_make(&object, TC_MEAS_SYMBOL);
    assert_true(tc_cg_object_defines(&object, SIZE, TC_MEAS_SYMBOL));
    for (int i = 0; i < TIMES; i++) {
        size_t n = (size_t)tc_rng_below(&rng, SIZE + 1);
        unsigned char *bytes = tc_xmalloc(n + 1);
        memcpy(bytes, &object, n);
        for (int64_t k = tc_rng_below(&rng, 4); k > 0 && n > 0; k--)
            bytes[tc_rng_below(&rng, (int64_t)n)] = (unsigned char)tc_rng_below(&rng, 256);
        (void)tc_cg_object_defines(bytes, n, TC_MEAS_SYMBOL);
        free(bytes);
    }
}

static void too_small_messages_are_said(void **state) {
    teardown(state);
    begin("max_payload: 4KB");
    tc_meas_made x = made();
    x.size = 20 << 20;
    x.object = tc_arena_alloc(arena, x.size);
    assert_int_equal(tc_fleet_object_put(bus, &self, ID, &x, false, &err), TC_BAD_INPUT);
    assert_non_null(strstr(err.msg, "max_payload"));
}

/* A server without room for objects is one for a fleet without boards all the same. */
static void without_room_others_go_on(void **state) {
    tc_meas_made x = made();
    (void)state;
    tc_fleet_bus_close(bus);
    test_server_limit(&server, "512KB");
    check(tc_fleet_bus_open(&(tc_fleet_access){.url = server.url}, "test", &bus, &err));
    check(tc_fleet_bus_ask(bus, "k1", "desk", "j1", 1, "what", NULL, &err));
    assert_int_equal(tc_fleet_object_put(bus, &self, ID, &x, true, &err), TC_ENV);
}

/* ---- documents ---- */

static tc_fleet_build_job sample(tc_meas_input in[2]) {
    static const char *const barred[] = {"jones"};
    in[0] = (tc_meas_input){.workload = "tensor A[4] f32\n", .trace = ""};
    in[1] = (tc_meas_input){.workload = "tensor B[4] f32\n", .trace = "split \"x\" 4\n"};
    return (tc_fleet_build_job){.board = "b1",
                                .barred = barred,
                                .nbarred = 1,
                                .asked = 2,
                                .target = "llvm -mcpu=x",
                                .threads = 2,
                                .limit = 15,
                                .in = in,
                                .n = 2};
}

static const char *text_of(const tc_fleet_build_job *j) {
    tc_strbuf b = {0};
    tc_fleet_build_job_write(j, &b);
    return tc_sb_keep(&b, arena);
}

static void a_build_job_is_read_as_it_was_written(void **state) {
    (void)state;
    tc_meas_input in[2];
    tc_fleet_build_job j = sample(in), back;
    check(tc_fleet_build_job_read(text_of(&j), arena, &back, &err));
    assert_string_equal(text_of(&back), text_of(&j));
    assert_string_equal(back.barred[0], "jones");
    for (size_t i = 0; i < 2; i++)
        assert_string_equal(tc_fleet_build_id(arena, &back, i), tc_fleet_build_id(arena, &j, i));
}

/* The id is of all that makes an object, and of nothing else. */
static void ids_follow_from_what_is_built(void **state) {
    (void)state;
    tc_meas_input in[2];
    tc_fleet_build_job j = sample(in), other;
    const char *id = tc_fleet_build_id(arena, &j, 0);
    assert_true(tc_fleet_is_word(id));
    assert_string_not_equal(id, tc_fleet_build_id(arena, &j, 1));
    other = j;
    other.board = "b2";
    other.asked = 7;
    other.nbarred = 0;
    assert_string_equal(id, tc_fleet_build_id(arena, &other, 0));
    other.threads = 3;
    assert_string_not_equal(id, tc_fleet_build_id(arena, &other, 0));
    other = j;
    other.target = "llvm -mcpu=y";
    assert_string_not_equal(id, tc_fleet_build_id(arena, &other, 0));
    other = j;
    other.limit = 14;
    assert_string_not_equal(id, tc_fleet_build_id(arena, &other, 0));
    in[0].trace = "split \"x\" 2\n";
    assert_string_not_equal(id, tc_fleet_build_id(arena, &j, 0));
}

static void refused(const char *text, const char *says) {
    tc_fleet_built b;
    err = (tc_error){0};
    assert_int_equal(tc_fleet_built_read(text, arena, &b, &err), TC_BAD_INPUT);
    if (!strstr(err.msg, says))
        fail_msg("'%s' does not say '%s'", err.msg, says);
}

static const char *with(const char *error, const char *size, const char *whole, const char *chunks) {
    return tc_arena_printf(
        arena,
        "{\"version\":%d,\"kind\":\"built\",\"id\":\"x\",\"builder\":\"s\",\"error\":\"%s\",\"message\":\"\",\"signal\":0,"
        "\"program\":\"0123456789abcdef\",\"workspace\":0,\"seconds\":1.5,\"size\":%s,\"whole\":\"%s\",\"chunks\":[%s]}",
        TC_FLEET_VERSION, error, size, whole, chunks);
}

static void words_have_limits(void **state) {
    (void)state;
    tc_fleet_built b;
    const char *digest = chunk_digest(0, 10), *one = tc_arena_printf(arena, "\"%s\"", digest);
    check(tc_fleet_built_read(with("ok", "10", digest, one), arena, &b, &err));
    check(tc_fleet_built_read(with("illegal", "0", "", ""), arena, &b, &err));
    refused(with("run_crash", "0", "", ""), "not an error of building");
    refused(with("interrupted", "0", "", ""), "not an error of building");
    refused(with("nonsense", "0", "", ""), "not an error of building");
    refused(with("ok", "0", digest, one), "its size");
    refused(with("ok", "67108865", digest, one), "its size");
    refused(with("ok", "-1", digest, one), "its size");
    refused(with("ok", "10", "..", one), "its whole");
    refused(with("ok", "10", digest, ""), "its chunks");
    refused(with("ok", "10", digest, "\"../x\""), "its chunk");
    refused(with("ok", "10", digest, "7"), "its chunk");
    refused(with("build_failed", "10", digest, one), "its size");
    refused("[]", "not a JSON object");
    tc_meas_input in[2];
    tc_fleet_build_job j = sample(in), back;
    j.threads = 0;
    assert_int_equal(tc_fleet_build_job_read(text_of(&j), arena, &back, &err), TC_BAD_INPUT);
    j = sample(in);
    j.n = 0;
    assert_int_equal(tc_fleet_build_job_read(text_of(&j), arena, &back, &err), TC_BAD_INPUT);
}

int main(void) {
#define ON_SERVER(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {ON_SERVER(an_object_is_taken_as_it_was_put),
                                       ON_SERVER(a_chunk_that_is_there_is_not_sent_again),
                                       ON_SERVER(a_failure_is_a_word_without_an_object),
                                       ON_SERVER(a_chunk_that_is_lost_is_nobodys_fault),
                                       ON_SERVER(what_was_changed_is_found),
                                       ON_SERVER(what_is_made_up_is_found),
                                       ON_SERVER(garbage_with_a_right_digest_is_no_object),
                                       ON_SERVER(any_bytes_are_looked_through),
                                       ON_SERVER(too_small_messages_are_said),
                                       ON_SERVER(without_room_others_go_on),
                                       ON_SERVER(a_build_job_is_read_as_it_was_written),
                                       ON_SERVER(ids_follow_from_what_is_built),
                                       ON_SERVER(words_have_limits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
