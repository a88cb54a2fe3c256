/* What is read of a base, a document that anybody may have written: what is right is all there, and of what is wrong the field is
 * named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/trials/base.h"
#include "support/strbuf.h"
#include "support/vec.h"

#define HASH "0123456789abcdef0123456789abcdef"
#define OTHER "00000000000000000000000000000000"
#define HEAD                                                                                                                     \
    "\"name\": \"net\", \"target\": \"native\", \"accuracy\": \"fast\", \"precision\": \"f32\", \"threads\": 2, \"median_ms\": " \
    "1.5"
#define KERNEL(hash)                                                                                                             \
    "{\"name\": \"MatMul f32[4]\", \"form\": \"direct\", \"hash\": \"" hash "\", \"form_hash\": \"" HASH                         \
    "\", \"count\": 3, \"total_ms\": 0.5, \"schedule\": \"a, b = split t0.i1 [_, 4]\\n\"}"
static const char whole[] = "{" HEAD ", \"kernels\": [" KERNEL(HASH) ", " KERNEL(OTHER) "]}";
static const char file[] = TCTUNE_TEST_TMP "/graph_base.json";

static tc_arena *arena;
static tc_error err;

static int setup(void **state) {
    (void)state;
    arena = tc_arena_new();
    return 0;
}

static int teardown(void **state) {
    (void)state;
    tc_arena_free(arena);
    remove(file);
    return 0;
}

static tc_status read_text(const char *text, size_t n, tc_graph_base *out) {
    FILE *f = fopen(file, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
    err = (tc_error){0};
    return tc_graph_base_read(file, arena, out, &err);
}

static void test_all_of_it(void **state) {
    (void)state;
    tc_graph_base b;
    assert_int_equal(read_text(whole, strlen(whole), &b), TC_OK);
    assert_string_equal(b.name, "net");
    assert_string_equal(b.path, file);
    assert_string_equal(b.target, "native");
    assert_int_equal(b.threads, 2);
    assert_true(b.seconds > 1.4e-3 && b.seconds < 1.6e-3);
    assert_int_equal(b.nkernel, 2);
    assert_string_equal(b.kernels[0].hash.hex, HASH);
    assert_string_equal(b.kernels[1].hash.hex, OTHER);
    assert_string_equal(b.kernels[1].trace, "a, b = split t0.i1 [_, 4]\n");
    assert_int_equal(b.kernels[1].count, 3);
}

/* `what` of the document replaced by `by`. */
static const char *with(const char *what, const char *by) {
    const char *at = strstr(whole, what);
    assert_non_null(at);
    return tc_arena_printf(arena, "%.*s%s%s", (int)(at - whole), whole, by, at + strlen(what));
}

typedef struct mistake {
    const char *what, *by, *says;
} mistake;

static void test_mistakes(void **state) {
    (void)state;
    static const mistake all[] = {
        {"\"name\": \"net\"", "\"name\": 7", ": name is missing"},
        {"\"net\"", "\"a\\u001b[2Jb\"", "without control characters"},
        {"\"native\"", "null", ": target is missing"},
        {"\"accuracy\"", "\"accuracies\"", ": accuracy is missing"},
        {"\"threads\": 2", "\"threads\": 0", ": threads is missing or is not an integer from 1 to"},
        {"\"threads\": 2", "\"threads\": 2.5", ": threads"},
        {"\"threads\": 2", "\"threads\": 4294967298", ": threads"},
        {"\"threads\": 2", "\"threads\": 99999999999999999999999", ":1: too big integer"},
        {"\"threads\": 2", "\"threads\": 2, \"threads\": 2", ":1: duplicate"},
        {"1.5", "1e999", ":1: real number overflow"},
        {"1.5", "-1", ": median_ms is missing or is not a time"},
        {"1.5", "\"fast\"", ": median_ms"},
        {"\"kernels\": [", "\"kernels\": 5, \"more\": [", ": kernels is missing or is not a list"},
        {"\"kernels\": [", "\"kernels\": [], \"more\": [", ": kernels"},
        {"\"kernels\": [", "\"curves\": [", "over a range of sizes"},
        {"\"kernels\": [", "\"kernels\": [12, ", ": kernels[0].name"},
        {"\"kernels\": [", "\"kernels\": [null, ", ": kernels[0].name"},
        {OTHER, HASH, ": kernels[1].hash is missing or is not unique"},
        {OTHER, "0123", ": kernels[1].hash is missing or is not a hash of 32 digits"},
        {OTHER, "0123456789ABCDEF0123456789abcdef", ": kernels[1].hash"},
        {"\"form_hash\"", "\"form\"", ":1: duplicate"},
        {"\"form\": \"direct\"", "\"form\": [[]]", ": kernels[0].form is missing"},
        {"\"count\": 3", "\"count\": -3", ": kernels[0].count is missing or is not an integer from 1 to"},
        {"\"total_ms\": 0.5", "\"total_ms\": -0.5", ": kernels[0].total_ms is missing or is not a time"},
        {"\"total_ms\": 0.5", "\"total_ms\": true", ": kernels[0].total_ms"},
        {"\"a, b = split t0.i1 [_, 4]\\n\"", "{}", ": kernels[0].schedule is missing or is not a schedule"},
        {"a, b = split", "a, b = splat", ": kernels[0].schedule"},
        {"[_, 4]", "[_, 99999999999999999999]", ": kernels[0].schedule"},
        {"[_, 4]", "[_, 4", ": kernels[0].schedule"},
        {"[_, 4]", "<script>", ": kernels[0].schedule"},
    };
    tc_graph_base b;
    for (size_t i = 0; i < TC_LEN(all); i++) {
        const char *text = with(all[i].what, all[i].by);
        assert_int_equal(read_text(text, strlen(text), &b), TC_BAD_INPUT);
        if (strncmp(err.msg, file, strlen(file)) != 0 || !strstr(err.msg, all[i].says))
            fail_msg("%s for %s: '%s' does not say '%s'", all[i].by, all[i].what, err.msg, all[i].says);
    }
}

static void test_times_need_not_be_known(void **state) {
    (void)state;
    tc_graph_base b;
    const char *text = with("\"total_ms\": 0.5, ", "");
    assert_int_equal(read_text(text, strlen(text), &b), TC_OK);
    assert_true(isnan(b.kernels[0].seconds));
    text = with("1.5", "null");
    assert_int_equal(read_text(text, strlen(text), &b), TC_OK);
    assert_true(isnan(b.seconds));
}

/* Every beginning of the document, and every document with a byte that is another. */
static void test_broken(void **state) {
    (void)state;
    tc_graph_base b;
    char text[sizeof whole];
    for (size_t n = 0; n + 1 < sizeof whole; n += 7) {
        assert_int_equal(read_text(whole, n, &b), TC_BAD_INPUT);
        assert_non_null(strstr(err.msg, file));
    }
    for (size_t i = 0; i + 1 < sizeof whole; i += 3)
        for (int byte = 0; byte < 256; byte += 51) {
            memcpy(text, whole, sizeof whole);
            text[i] = (char)byte;
            if (read_text(text, sizeof whole - 1, &b) != TC_OK)
                assert_non_null(strstr(err.msg, file));
        }
}

static void test_none(void **state) {
    (void)state;
    static const char *const others[] = {"", "[]", "null", "<!DOCTYPE html><html></html>", "{\"name\": \"net\"}"};
    tc_graph_base b;
    for (size_t i = 0; i < TC_LEN(others); i++) {
        assert_int_equal(read_text(others[i], strlen(others[i]), &b), TC_BAD_INPUT);
        assert_non_null(strstr(err.msg, "a base is what `tctune bench --json` printed"));
    }
    tc_strbuf deep = {0};
    for (int i = 0; i < 100000; i++)
        tc_sb_addc(&deep, '[');
    assert_int_equal(read_text(tc_sb_str(&deep), deep.len, &b), TC_BAD_INPUT);
    assert_non_null(strstr(err.msg, "more than 64 levels deep"));
    tc_strbuf_free(&deep);
    err = (tc_error){0};
    assert_int_equal(tc_graph_base_read("none.json", arena, &b, &err), TC_BAD_INPUT);
    assert_non_null(strstr(err.msg, "none.json"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_all_of_it, setup, teardown),
        cmocka_unit_test_setup_teardown(test_mistakes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_times_need_not_be_known, setup, teardown),
        cmocka_unit_test_setup_teardown(test_broken, setup, teardown),
        cmocka_unit_test_setup_teardown(test_none, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
