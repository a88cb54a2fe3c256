/* The fleet's documents: what is written is read again, and nothing else is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "fleet/orders.h"
#include "samples.h"
#include "support/rng.h"

static tc_arena *arena;

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

static const char *job_text(void) {
    tc_meas_input in[2];
    tc_strbuf b = {0};
    tc_fleet_job j = sample_job(in);
    tc_fleet_job_write(&j, &b);
    return tc_sb_keep(&b, arena);
}

static const char *result_text(void) {
    tc_record r[2];
    tc_strbuf b = {0};
    tc_fleet_result x = sample_result(r);
    tc_fleet_result_write(&x, &b);
    return tc_sb_keep(&b, arena);
}

static void a_job_is_read_as_it_was_written(void **state) {
    (void)state;
    tc_fleet_job j;
    tc_error err = {0};
    tc_strbuf again = {0};
    assert_int_equal(tc_fleet_job_read(job_text(), arena, &j, &err), TC_OK);
    assert_string_equal(j.tuner, "desk-1");
    assert_int_equal(j.measure.mode, TC_MEAS_SIMULATED);
    assert_true(j.measure.seed == UINT64_MAX);
    assert_int_equal(j.call.way, TC_MEAS_WAY_TURNS);
    assert_int_equal(j.call.rounds, 3);
    assert_string_equal(j.call.in[1].sizes, "17,3");
    assert_null(j.call.in[0].sizes);
    assert_true(j.call.in[1].cold && j.call.in[0].again);
    tc_fleet_job_write(&j, &again);
    assert_string_equal(tc_sb_str(&again), job_text());
    tc_strbuf_free(&again);
}

static void a_result_is_read_as_it_was_written(void **state) {
    (void)state;
    tc_fleet_result x;
    tc_error err = {0};
    tc_strbuf again = {0};
    assert_int_equal(tc_fleet_result_read(result_text(), 2, arena, &x, &err), TC_OK);
    assert_true(x.record[0].program == 0xfedcba9876543210);
    assert_true(x.record[0].median == 2e-3);
    assert_int_equal(x.record[1].error, TC_MEAS_RUN_CRASH);
    tc_fleet_result_write(&x, &again);
    assert_string_equal(tc_sb_str(&again), result_text());
    tc_strbuf_free(&again);
    assert_int_equal(tc_fleet_result_read(result_text(), 1, arena, &x, &err), TC_BAD_INPUT);
    assert_non_null(strstr(err.msg, "records"));
}

static const char *batch_text(const char *first) {
    tc_meas_input in[2];
    tc_strbuf b = {0};
    tc_fleet_job j = sample_job(in);
    const char *const each[] = {first, "c2"};
    j.call.way = TC_MEAS_WAY_BATCH;
    j.each = each;
    tc_fleet_job_write(&j, &b);
    return tc_sb_keep(&b, arena);
}

static void candidates_of_a_batch_have_ids(void **state) {
    (void)state;
    tc_fleet_job j;
    tc_error err = {0};
    tc_strbuf again = {0};
    assert_int_equal(tc_fleet_job_read(batch_text("c1"), arena, &j, &err), TC_OK);
    assert_string_equal(j.each[0], "c1");
    assert_string_equal(j.each[1], "c2");
    assert_true(j.nbarred == 1 && strcmp(j.barred[0], "board-7") == 0 && j.asked == 2 && j.wanted == 12.5);
    tc_fleet_job_write(&j, &again);
    assert_string_equal(tc_sb_str(&again), batch_text("c1"));
    tc_strbuf_free(&again);
    assert_int_equal(tc_fleet_job_read(batch_text("c.*"), arena, &j, &err), TC_BAD_INPUT);
    assert_non_null(strstr(err.msg, "id"));
}

static void what_was_lost_has_no_records(void **state) {
    (void)state;
    tc_fleet_result x = {.id = "j1", .worker = "w", .host = "h", .refused = "", .lost = true}, back;
    tc_error err = {0};
    tc_strbuf b = {0};
    tc_fleet_result_write(&x, &b);
    assert_int_equal(tc_fleet_result_read(tc_sb_str(&b), 2, arena, &back, &err), TC_OK);
    assert_true(back.lost && back.n == 0);
    tc_strbuf_free(&b);
}

static void what_is_larger_than_servers_take_is_refused(void **state) {
    (void)state;
    tc_fleet_tuner t;
    tc_error err = {0};
    char *text = tc_xmalloc(TC_BYTES_MESSAGE + 2);
    memset(text, ' ', TC_BYTES_MESSAGE + 1);
    text[TC_BYTES_MESSAGE + 1] = 0;
    assert_int_equal(tc_fleet_tuner_read(text, arena, &t, &err), TC_BAD_INPUT);
    assert_non_null(strstr(err.msg, "more than 64 MiB"));
    free(text);
}

/* One field of a valid document replaced; the message names it. */
static void bad_fields_are_named(void **state) {
    (void)state;
    static const struct {
        const char *from, *to, *names;
    } cases[] = {
        {"\"version\":2", "\"version\":1", "version 1"},
        {"\"barred\":[\"board-7\"]", "\"barred\":[\"b 7\"]", "name"},
        {"\"barred\":[\"board-7\"]", "\"barred\":7", "barred"},
        {"\"asked\":2", "\"asked\":0", "asked"},
        {"\"wanted\":12.5", "\"wanted\":-1.0", "wanted"},
        {"\"second\":false", "\"second\":0", "second"},
        {"\"kind\":\"job\"", "\"kind\":\"result\"", "not a job"},
        {"\"tuner\":\"desk-1\"", "\"tuner\":\"desk.*\"", "tuner"},
        {"\"id\":\"j1\"", "\"id\":\"\"", "id"},
        {"\"way\":1", "\"way\":3", "way"},
        {"\"way\":1", "\"way\":2", "points"},
        {"\"rounds\":3", "\"rounds\":0", "rounds"},
        {"\"threads\":2", "\"threads\":0", "threads"},
        {"\"threads\":2", "\"threads\":2.5", "threads"},
        {"\"mode\":\"simulated\"", "\"mode\":\"in-graph\"", "mode"},
        {"\"run_limit\":10.0", "\"run_limit\":1e300", "run_limit"},
        {"\"run_limit\":10.0", "\"run_limit\":true", "run_limit"},
        {"\"cold\":true", "\"cold\":1", "cold"},
        {"\"points\":[]", "\"points\":{}", "points"},
        {"\"trace\":\"\"", "\"trace\":null", "trace"},
        {"\"samples\":7", "\"samples\":7,\"samples\":7", "duplicate"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tc_strbuf b = {0};
        tc_fleet_job j;
        tc_error err = {0};
        const char *text = job_text(), *at = strstr(text, cases[i].from);
        assert_non_null(at);
        tc_sb_addn(&b, text, (size_t)(at - text));
        tc_sb_add(&b, cases[i].to);
        tc_sb_add(&b, at + strlen(cases[i].from));
        assert_int_equal(tc_fleet_job_read(tc_sb_str(&b), arena, &j, &err), TC_BAD_INPUT);
        if (!strstr(err.msg, cases[i].names))
            fail_msg("'%s' does not name %s", err.msg, cases[i].names);
        tc_strbuf_free(&b);
    }
}

static void times_that_are_none_are_refused(void **state) {
    (void)state;
    tc_record r[2];
    tc_fleet_result x = sample_result(r), back;
    tc_error err = {0};
    tc_strbuf b = {0};
    r[1].verified = true; /* it failed */
    tc_fleet_result_write(&x, &b);
    assert_int_equal(tc_fleet_result_read(tc_sb_str(&b), 2, arena, &back, &err), TC_BAD_INPUT);
    tc_sb_clear(&b);
    x = sample_result(r);
    r[0].times = (double[]){1e-3, -1, 1};
    tc_fleet_result_write(&x, &b);
    assert_int_equal(tc_fleet_result_read(tc_sb_str(&b), 2, arena, &back, &err), TC_BAD_INPUT);
    assert_non_null(strstr(err.msg, "times"));
    tc_strbuf_free(&b);
}

/* Bytes changed, left out and cut off: whatever is taken can be written and read again. */
static void damage_is_refused_or_whole(void **state) {
    (void)state;
    tc_rng rng = tc_rng_seed(17);
    const char *texts[] = {job_text(), result_text()};
    int taken = 0, refused = 0;
    for (int i = 0; i < 20000; i++) {
        tc_arena *a = tc_arena_new();
        char *text = tc_arena_strdup(a, texts[i % 2]);
        size_t n = strlen(text);
        for (uint64_t k = 1 + tc_rng_next(&rng) % 3; k > 0; k--) {
            size_t at = tc_rng_next(&rng) % n;
            uint64_t what = tc_rng_next(&rng) % 4;
            if (what == 0)
                text[at] = (char)(1 + tc_rng_next(&rng) % 255);
            else if (what == 1)
                text[at] = "0123456789-.eE\"{}[]:,"[tc_rng_next(&rng) % 21];
            else if (what == 2)
                memmove(text + at, text + at + 1, n-- - at);
            else if (tc_rng_next(&rng) % 8 == 0)
                text[n = at ? at : 1] = '\0';
        }
        tc_fleet_job j;
        tc_fleet_result x;
        tc_error err = {0};
        tc_status s = i % 2 ? tc_fleet_result_read(text, 2, a, &x, &err) : tc_fleet_job_read(text, a, &j, &err);
        tc_strbuf b = {0};
        if (s == TC_OK && i % 2) {
            tc_fleet_result_write(&x, &b);
            assert_int_equal(tc_fleet_result_read(tc_sb_str(&b), 2, a, &x, &err), TC_OK);
        } else if (s == TC_OK) {
            tc_fleet_job_write(&j, &b);
            assert_int_equal(tc_fleet_job_read(tc_sb_str(&b), a, &j, &err), TC_OK);
        } else {
            assert_int_equal(s, TC_BAD_INPUT);
            assert_true(err.msg[0]);
        }
        (*(s == TC_OK ? &taken : &refused))++;
        tc_strbuf_free(&b);
        tc_arena_free(a);
    }
    assert_true(taken > 1000 && refused > 1000);
}

static void a_tuner_tells_how_alike_workers_rank(void **state) {
    (void)state;
    tc_error err = {0};
    tc_fleet_ranking many[TC_FLEET_RANKINGS + 1];
    tc_fleet_tuner t = {.name = "t1", .key = "k1", .weight = 2, .rankings = {many, TC_LEN(many)}}, x;
    tc_strbuf b = {0};
    for (size_t i = 0; i < TC_LEN(many); i++)
        many[i] = (tc_fleet_ranking){.worker = {"w1", "w2"}, .flips = {.pairs = i + 1, .flipped = i / 2}};
    tc_fleet_tuner_write(&t, &b);
    assert_int_equal(tc_fleet_tuner_read(tc_sb_str(&b), arena, &x, &err), TC_OK);
    assert_int_equal(x.rankings.len, TC_FLEET_RANKINGS);
    assert_true(x.weight == 2 && x.rankings.data[9].flips.pairs == 10 && x.rankings.data[9].flips.flipped == 4);
    assert_string_equal(x.rankings.data[9].worker[1], "w2");
    static const char old[] = "{\"version\":2,\"kind\":\"tuner\",\"name\":\"t1\",\"key\":\"k1\",\"weight\":1}",
                      more[] = "{\"version\":2,\"kind\":\"tuner\",\"name\":\"t1\",\"key\":\"k1\",\"weight\":1,"
                               "\"rankings\":[{\"first\":\"a\",\"second\":\"b\",\"pairs\":2,\"flipped\":3}]}";
    assert_int_equal(tc_fleet_tuner_read(old, arena, &x, &err), TC_OK);
    assert_int_equal(x.rankings.len, 0);
    assert_int_equal(tc_fleet_tuner_read(more, arena, &x, &err), TC_BAD_INPUT);
    assert_non_null(strstr(err.msg, "flipped"));
    tc_strbuf_free(&b);
}

static tc_fleet_worker sample_worker(void) {
    return (tc_fleet_worker){
        .name = "w1",
        .key = "k1",
        .host = "h",
        .target = "t",
        .build = "b",
        .state = TC_FLEET_SERVING,
        .why = "",
        .threads = 2,
        .rates = {.peak = {.isa = "AVX2", .f32_gflops = 70, .triad_gbs = 9}, .n = 2, .at = {{1000, 300, 200}, {4000, 100, 80}}}};
}

static void a_worker_tells_what_its_machine_can_do(void **state) {
    (void)state;
    tc_error err = {0};
    tc_fleet_worker w = sample_worker(), x;
    tc_strbuf b = {0};
    w.rates.peak.unit_gops[TC_INTRINSIC_VPDPBUSD] = 500;
    tc_fleet_worker_write(&w, &b);
    assert_int_equal(tc_fleet_worker_read(tc_sb_str(&b), arena, &x, &err), TC_OK);
    assert_string_equal(x.rates.peak.isa, "AVX2");
    assert_true(x.rates.peak.f32_gflops == 70 && x.rates.peak.triad_gbs == 9 && x.rates.peak.threads == 2);
    assert_true(x.rates.peak.unit_gops[TC_INTRINSIC_VPDPBUSD] == 500 && x.rates.peak.unit_gops[TC_INTRINSIC_SDOT] == 0);
    assert_true(x.rates.n == 2 && x.rates.at[1].bytes == 4000 && x.rates.at[1].read_gbs == 100 && x.rates.at[0].triad_gbs == 200);
    tc_strbuf_free(&b);
}

/* The announcement with what stands for its rates replaced; NULL: without them, as an older tctune's is. */
static tc_status read_with_rates(const char *rates, tc_fleet_worker *out, tc_error *err) {
    tc_fleet_worker w = sample_worker();
    tc_strbuf b = {0}, changed = {0};
    tc_fleet_worker_write(&w, &b);
    const char *text = tc_sb_str(&b), *from = strstr(text, "\"rates\":"), *to = strstr(text, "\"load\":");
    assert_true(from && to > from);
    tc_sb_addn(&changed, text, (size_t)(from - text));
    if (rates)
        tc_sb_printf(&changed, "\"rates\":%s,", rates);
    tc_sb_add(&changed, to);
    tc_status s = tc_fleet_worker_read(tc_sb_str(&changed), arena, out, err);
    tc_strbuf_free(&b);
    tc_strbuf_free(&changed);
    return s;
}

static void rates_may_be_missing_but_not_wrong(void **state) {
    (void)state;
    static const struct {
        const char *rates, *why;
    } wrong[] = {
        {"7", "isa"},
        {"{\"isa\":\"\",\"triad_gbytes\":-1,\"units\":{},\"footprints\":[]}", "triad_gbytes"},
        {"{\"isa\":\"\",\"triad_gbytes\":1,\"units\":[],\"footprints\":[]}", "units"},
        {"{\"isa\":\"\",\"triad_gbytes\":1,\"units\":{\"vpdpbusd\":\"x\"},\"footprints\":[]}", "vpdpbusd"},
        {"{\"isa\":\"\",\"triad_gbytes\":1,\"units\":{},\"footprints\":[{\"bytes\":8,\"read_gbytes\":1,\"triad_gbytes\":1},"
         "{\"bytes\":8,\"read_gbytes\":1,\"triad_gbytes\":1}]}",
         "bytes"},
        {"{\"isa\":\"\",\"triad_gbytes\":1,\"units\":{},\"footprints\":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]}", "footprints"}};
    tc_fleet_worker x;
    tc_error err = {0};
    assert_int_equal(read_with_rates(NULL, &x, &err), TC_OK);
    assert_true(x.rates.n == 0 && x.rates.peak.f32_gflops == 70 && x.rates.peak.isa[0] == '\0');
    assert_int_equal(
        read_with_rates("{\"isa\":\"\",\"triad_gbytes\":1,\"units\":{\"of another tctune\":3},\"footprints\":[]}", &x, &err),
        TC_OK);
    for (size_t i = 0; i < TC_LEN(wrong); i++) {
        assert_int_equal(read_with_rates(wrong[i].rates, &x, &err), TC_BAD_INPUT);
        assert_non_null(strstr(err.msg, wrong[i].why));
    }
}

/* One field of a document gets `text` behind what it has. */
static const char *with_text(const char *document, const char *field, const char *text) {
    const char *at = strstr(document, field);
    assert_non_null(at);
    const char *end = strchr(at + strlen(field), '"');
    return tc_arena_printf(arena, "%.*s%s%s", (int)(end - document), document, text, end);
}

static const char *worker_text(void) {
    tc_strbuf b = {0};
    tc_fleet_worker w = sample_worker();
    tc_fleet_worker_write(&w, &b);
    return tc_sb_keep(&b, arena);
}

static tc_status read_worker(const char *text, tc_error *err) {
    tc_fleet_worker w;
    return tc_fleet_worker_read(text, arena, &w, err);
}

static tc_status read_result(const char *text, tc_error *err) {
    tc_fleet_result x;
    return tc_fleet_result_read(text, 2, arena, &x, err);
}

static const char *order_text(void) {
    return "{\"version\":2,\"kind\":\"order\",\"name\":\"w1\",\"key\":\"k\",\"leave\":\"\",\"quarantined\":true,\"why\":\"\"}";
}

static tc_status read_order(const char *text, tc_error *err) {
    tc_fleet_told x;
    return tc_fleet_told_read(text, arena, &x, err);
}

/* What another machine says of itself, of a failure, and of a reason reaches terminals. */
static void texts_that_are_shown_are_plain(void **state) {
    (void)state;
    static const struct {
        const char *(*write)(void);
        tc_status (*read)(const char *text, tc_error *err);
        const char *field;
        bool has_lines;
    } places[] = {{worker_text, read_worker, "\"host\":\"", false},   {worker_text, read_worker, "\"target\":\"", false},
                  {worker_text, read_worker, "\"build\":\"", false},  {worker_text, read_worker, "\"isa\":\"", false},
                  {worker_text, read_worker, "\"why\":\"", true},     {result_text, read_result, "\"host\":\"", false},
                  {result_text, read_result, "\"message\":\"", true}, {order_text, read_order, "\"why\":\"", false}};
    static const char *const bad[] = {"\\u001b[31m", "\\u0085", "\\u009b31m", "\xc2\x9b", "\\u007f", "\\u202e", "\\ufeff"};
    for (size_t i = 0; i < TC_LEN(places); i++) {
        const char *document = places[i].write(), *field = places[i].field, *name = tc_arena_strndup(arena, field + 1, 3);
        tc_error err = {0};
        assert_int_equal(places[i].read(with_text(document, field, "\xc3\xa9 \xe2\x82\xac"), &err), TC_OK);
        assert_int_equal(places[i].read(with_text(document, field, "\\n"), &err), places[i].has_lines ? TC_OK : TC_BAD_INPUT);
        for (size_t k = 0; k < TC_LEN(bad); k++) {
            assert_int_equal(places[i].read(with_text(document, field, bad[k]), &err), TC_BAD_INPUT);
            if (!strstr(err.msg, name) || !strstr(err.msg, "do not show as they are"))
                fail_msg("%s with %s: %s", field, bad[k], err.msg);
        }
    }
}

static void ids_follow_from_what_is_measured(void **state) {
    (void)state;
    tc_meas_input in[2];
    tc_fleet_job j = sample_job(in);
    const char *id = tc_fleet_job_id(arena, &j, 0);
    assert_true(tc_fleet_is_word(id));
    j.tuner = "another";
    j.nbarred = 0;
    j.asked = 5;
    j.wanted = 7;
    in[0].best = 5;
    assert_string_equal(tc_fleet_job_id(arena, &j, 0), id);
    assert_string_not_equal(tc_fleet_job_id(arena, &j, 1), id);
    in[0].trace = "vectorize \"x\"\n";
    assert_string_not_equal(tc_fleet_job_id(arena, &j, 0), id);
}

static void keys_are_words_that_begin_with_the_cpu(void **state) {
    (void)state;
    const char *a = tc_fleet_key(arena, "llvm -mtriple=x86_64-pc-linux-gnu -mcpu=znver4 -mattr=+avx2", 2, "0.1.0/19.1.7");
    assert_true(strncmp(a, "znver4-2t-", 10) == 0 && tc_fleet_is_word(a));
    assert_string_not_equal(
        a, tc_fleet_key(arena, "llvm -mtriple=x86_64-pc-linux-gnu -mcpu=znver4 -mattr=+avx2", 2, "0.2.0/19.1.7"));
    assert_true(tc_fleet_is_word(
        tc_fleet_key(arena, "llvm -mtriple=riscv64-unknown-linux-gnu -mcpu=a.very.*long>name of a cpu", 64, "")));
    assert_false(tc_fleet_key_is_emulated(a));
    const char *emulated = tc_fleet_emulated_key(
        arena,
        tc_fleet_key(arena, "llvm -mtriple=riscv64-unknown-linux-gnu -mcpu=a.very.long.name.of.a.cpu.that.is.cut", 16384, ""));
    assert_true(tc_fleet_is_word(emulated) && tc_fleet_key_is_emulated(emulated));
    assert_false(tc_fleet_is_word("") || tc_fleet_is_word("a.b") || tc_fleet_is_word("*"));
}

/* Times of a machine, and those of an emulated processor, are told under keys that say which they are. */
static void records_belong_to_keys_by_their_mode(void **state) {
    (void)state;
    tc_record r = tc_meas_record_empty();
    r.target = "llvm -mtriple=x86_64-pc-linux-gnu -mcpu=znver4";
    r.threads = 2;
    r.tctune_version = "0.1.0";
    r.llvm_version = "19.1.7";
    const char *machine = tc_fleet_key(arena, r.target, 2, "0.1.0/19.1.7"), *emulated = tc_fleet_emulated_key(arena, machine);
    for (int m = 0; m < TC_MEAS_NMODES; m++) {
        r.mode = (tc_meas_mode)m;
        assert_int_equal(tc_fleet_is_of_key(&r, machine), r.mode != TC_MEAS_EMULATED);
        assert_int_equal(tc_fleet_is_of_key(&r, emulated), r.mode == TC_MEAS_EMULATED || r.mode == TC_MEAS_SIMULATED);
    }
    r.threads = 1;
    assert_false(tc_fleet_is_of_key(&r, machine) || tc_fleet_is_of_key(&r, emulated));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_job_is_read_as_it_was_written, setup, teardown),
        cmocka_unit_test_setup_teardown(a_result_is_read_as_it_was_written, setup, teardown),
        cmocka_unit_test_setup_teardown(candidates_of_a_batch_have_ids, setup, teardown),
        cmocka_unit_test_setup_teardown(what_was_lost_has_no_records, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_larger_than_servers_take_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(bad_fields_are_named, setup, teardown),
        cmocka_unit_test_setup_teardown(times_that_are_none_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(damage_is_refused_or_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(a_tuner_tells_how_alike_workers_rank, setup, teardown),
        cmocka_unit_test_setup_teardown(a_worker_tells_what_its_machine_can_do, setup, teardown),
        cmocka_unit_test_setup_teardown(rates_may_be_missing_but_not_wrong, setup, teardown),
        cmocka_unit_test_setup_teardown(texts_that_are_shown_are_plain, setup, teardown),
        cmocka_unit_test_setup_teardown(ids_follow_from_what_is_measured, setup, teardown),
        cmocka_unit_test_setup_teardown(keys_are_words_that_begin_with_the_cpu, setup, teardown),
        cmocka_unit_test_setup_teardown(records_belong_to_keys_by_their_mode, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
