/* Records as JSON lines. */
#include "sample.h"
#include "support/inputs.h"

#include <stdlib.h>

#include "arena.h"

static void check_round_trip(const tc_record *r) {
    tc_strbuf one = {0}, two = {0};
    tc_record back;
    tc_error err = {0};
    tc_meas_record_to_json(r, &one);
    assert_null(strchr(tc_sb_str(&one), '\n'));
    assert_int_equal(tc_meas_record_from_json(arena, "test", tc_sb_str(&one), &back, &err), TC_OK);
    assert_same_record(r, &back);
    tc_meas_record_to_json(&back, &two);
    assert_string_equal(tc_sb_str(&one), tc_sb_str(&two));
    tc_strbuf_free(&one);
    tc_strbuf_free(&two);
}

static void round_trip(void **state) {
    (void)state;
    tc_record r = sample_record(arena, "tensor p0[128, 768] f32\n\"quoted\" \\ \xc3\xa9\n", 3, 1e-3 / 3);
    check_round_trip(&r);
    r = sample_failure(arena, "w", 1, TC_MEAS_RUN_CRASH);
    r.signal = 11;
    check_round_trip(&r);
    r = sample_record(arena, "w", 1, 1);
    r.sizes = "17,3";
    check_round_trip(&r);
    r.job = "0cada34a3bb2a109c0bd035305afad4c";
    r.phase = "descent";
    r.predicted = -1.0 / 3;
    check_round_trip(&r);
    r = tc_meas_record_empty();
    tc_meas_record_identify(arena, &r, "", tc_meas_text_hash(""), "", "");
    r.error = TC_MEAS_BUILD_FAILED;
    r.threads = 1;
    check_round_trip(&r);
}

static void every_error_kind_has_its_own_text(void **state) {
    (void)state;
    for (int i = 0; i < TC_MEAS_NERRORS; i++) {
        tc_meas_error e;
        assert_true(tc_meas_error_parse(tc_meas_error_text((tc_meas_error)i), &e));
        assert_int_equal(e, i);
        assert_true(strlen(tc_meas_error_meaning(e)) > 0);
        tc_record r = e == TC_MEAS_NONE ? sample_record(arena, "w", i, 1) : sample_failure(arena, "w", i, e);
        check_round_trip(&r);
    }
}

static void bytes_that_are_not_text_survive_as_text(void **state) {
    (void)state;
    tc_record r = sample_failure(arena, "w", 1, TC_MEAS_RUN_CRASH), back;
    tc_strbuf b = {0};
    r.message = "broken \xff\xfe bytes";
    tc_meas_record_to_json(&r, &b);
    assert_int_equal(tc_meas_record_from_json(arena, "test", tc_sb_str(&b), &back, NULL), TC_OK);
    assert_string_equal(back.message, "broken \\xff\\xfe bytes");
    tc_strbuf_free(&b);
}

/* The line with `from` replaced by `to` is refused with a message that holds `want`. */
static void check_refused(const char *from, const char *to, const char *want) {
    tc_record r = sample_record(arena, "w", 1, 1), back;
    tc_strbuf b = {0};
    tc_error err = {0};
    tc_meas_record_to_json(&r, &b);
    char *at = strstr(b.data, from);
    assert_non_null(at);
    char *line = tc_arena_printf(arena, "%.*s%s%s", (int)(at - b.data), b.data, to, at + strlen(from));
    assert_int_equal(tc_meas_record_from_json(arena, "log.json:7", line, &back, &err), TC_BAD_INPUT);
    assert_non_null(strstr(err.msg, "log.json:7"));
    assert_non_null(strstr(err.msg, want));
    tc_strbuf_free(&b);
}

static void damaged_lines_are_refused(void **state) {
    (void)state;
    char deep[2 * (TC_DEPTH_RECORDS + 1) + 40];
    int n = snprintf(deep, sizeof deep, "{\"more\":");
    memset(deep + n, '[', TC_DEPTH_RECORDS);
    memset(deep + n + TC_DEPTH_RECORDS, ']', TC_DEPTH_RECORDS);
    snprintf(deep + n + 2 * TC_DEPTH_RECORDS, sizeof deep - (size_t)n - 2 * TC_DEPTH_RECORDS, ",");
    check_refused("{", deep, "more than 64 levels deep");
    check_refused("{", "", "not JSON");
    check_refused("\"times\":[", "\"times\":[\"x\",", "times");
    check_refused("\"times\":[", "\"times\":[-1,", "time number 1 is -1");
    check_refused("\"times\":[", "\"times\":[0.0,", "time number 1 is 0");
    check_refused("\"times\":[", "\"times\":[1e999,", "not JSON"); /* nor is NaN */
    check_refused("\"median\":1.0", "\"median\":-1.0", "its median is -1 s, but the median of its times is 1 s");
    check_refused("\"median\":1.0", "\"median\":\"1\"", "median");
    check_refused("\"error\":\"ok\"", "\"error\":\"run_failed\"", "it failed, but");
    check_refused("\"mode\":\"hot\"", "\"mode\":\"warm\"", "hot, cold");
    check_refused("\"threads\":2", "\"threads\":0", "0 threads");
    check_refused("\"threads\":2", "\"threads\":4294967298", "threads");
    check_refused("\"rounds\":0", "\"rounds\":-1", "rounds is -1");
    check_refused("\"when_ms\":1", "\"when_ms\":-1", "when_ms is -1");
    check_refused("\"build_seconds\":0.125", "\"build_seconds\":-0.125", "build_seconds is -0.125");
    check_refused("\"max_error\":0.25", "\"max_error\":-0.25", "max_error is -0.25");
    check_refused("\"program\":\"f", "\"program\":\"-", "program");
    check_refused("\"threads\":2", "\"threads\":\"2\"", "threads");
    check_refused("\"verified\":true", "\"verified\":1", "verified");
    check_refused("\"error\":\"ok\"", "\"error\":\"melted\"", "melted");
    check_refused("split t0.i0", "split t0.i1", "hash of trace");
    check_refused("-mcpu=test", "-mcpu=tost", "hash of target");
    check_refused("\"host\"", "\"hast\"", "host");
}

/* Times without a median: it is known all the same. Without times there is none. */
static void medians_follow_from_times(void **state) {
    (void)state;
    tc_record r = sample_record(arena, "w", 1, 1), back;
    tc_strbuf b = {0};
    tc_meas_record_to_json(&r, &b);
    char *at = strstr(b.data, "\"median\"");
    assert_non_null(at);
    memcpy(at, "\"medium\"", 8); /* a field that nobody asks for */
    assert_int_equal(tc_meas_record_from_json(arena, "x", b.data, &back, NULL), TC_OK);
    assert_true(back.median == 1);
    tc_strbuf_free(&b);
    check_refused("\"times\":[1.1000000000000001,1.0,0.90000000000000002]", "\"times\":[]", "has no times");
}

/* One run has one text. */
static void sizes_are_read_as_they_are_written(void **state) {
    (void)state;
    const int64_t of[] = {17, 0, INT64_MAX};
    int64_t back[3];
    assert_string_equal(tc_meas_sizes_text(arena, of, 3), "17,0,9223372036854775807");
    assert_string_equal(tc_meas_sizes_text(arena, of, 0), "");
    assert_int_equal(tc_meas_sizes_count(""), 0);
    assert_int_equal(tc_meas_sizes_count("17,0,9223372036854775807"), 3);
    assert_true(tc_meas_sizes_parse("17,0,9223372036854775807", back, 3));
    assert_memory_equal(of, back, sizeof of);
    assert_true(tc_meas_sizes_parse("", back, 0));
    static const char *const bad[] = {"17",      "17,3,",   "17,,3",   "17, 3,4",
                                      "+17,3,4", "017,3,4", "17,-3,4", "17,3,9223372036854775808"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(tc_meas_sizes_parse(bad[i], back, 3));
    assert_false(tc_meas_sizes_parse("17", back, 0));
    check_refused("\"rounds\":0", "\"rounds\":0,\"sizes\":17", "sizes");
    check_refused("\"rounds\":0", "\"rounds\":0,\"sizes\":\"17;3\"", "its sizes are '17;3'");
}

/* What does not vary has no such field: its lines are those of older versions. */
static void records_of_fixed_sizes_say_nothing_of_them(void **state) {
    (void)state;
    tc_record r = sample_record(arena, "w", 1, 1);
    tc_strbuf b = {0};
    tc_meas_record_to_json(&r, &b);
    assert_null(strstr(tc_sb_str(&b), "sizes"));
    tc_strbuf_free(&b);
}

static void every_prefix_of_a_line_is_refused(void **state) {
    (void)state;
    tc_record r = sample_record(arena, "w", 1, 1), back;
    tc_strbuf b = {0};
    tc_meas_record_to_json(&r, &b);
    for (size_t n = 0; n < b.len; n++)
        assert_int_equal(tc_meas_record_from_json(arena, "x", tc_arena_strndup(arena, b.data, n), &back, NULL), TC_BAD_INPUT);
    tc_strbuf_free(&b);
}

static void medians(void **state) {
    (void)state;
    assert_true(tc_meas_median((const double[]){3, 1, 2}, 3) == 2);
    assert_true(tc_meas_median((const double[]){4, 1, 2, 3}, 4) == 2.5);
    assert_true(tc_meas_median(NULL, 0) > 1e300);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(round_trip, setup, teardown),
        cmocka_unit_test_setup_teardown(every_error_kind_has_its_own_text, setup, teardown),
        cmocka_unit_test_setup_teardown(bytes_that_are_not_text_survive_as_text, setup, teardown),
        cmocka_unit_test_setup_teardown(damaged_lines_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(medians_follow_from_times, setup, teardown),
        cmocka_unit_test_setup_teardown(sizes_are_read_as_they_are_written, setup, teardown),
        cmocka_unit_test_setup_teardown(records_of_fixed_sizes_say_nothing_of_them, setup, teardown),
        cmocka_unit_test_setup_teardown(every_prefix_of_a_line_is_refused, setup, teardown),
        cmocka_unit_test(medians),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
