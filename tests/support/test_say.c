/* say.h: text for people. */
#include "support/cmocka_all.h"

#include <float.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/rng.h"
#include "support/say.h"
#include "support/status.h"
#include "support/vec.h"

static void expect(const char *expected, const char *fmt, ...) TC_PRINTF(2, 3);
static void expect(const char *expected, const char *fmt, ...) {
    char text[4096];
    va_list ap;
    va_start(ap, fmt);
    int n = tc_vsay_to(text, sizeof text, fmt, ap);
    va_end(ap);
    assert_string_equal(text, expected);
    assert_int_equal(n, strlen(expected));
}

/* ---- formats ---- */

/* What holds no text is as printf has it. */
static void numbers_are_printf_s(void **state) {
    (void)state;
    char expected[4096];
#define SAME(...)                                                                                                                \
    do {                                                                                                                         \
        snprintf(expected, sizeof expected, __VA_ARGS__);                                                                        \
        expect(expected, __VA_ARGS__);                                                                                           \
    } while (0)
    SAME("%d|%5d|%-5d|%05d|%+d|% d|%.3d|%*d|%-*d", 1, 2, 3, 4, 5, 6, 7, 8, 9, -4, 10);
    SAME("%i %u %o %x %X %#x %#o", INT_MIN, UINT_MAX, 8u, 255u, 255u, 255u, 8u);
    SAME("%ld %lu %lld %llu %zu %zx %jd %td %hhd %hu", LONG_MIN, ULONG_MAX, LLONG_MIN, ULLONG_MAX, SIZE_MAX, (size_t)255,
         (intmax_t)-1, (ptrdiff_t)-7, (signed char)-1, (unsigned short)65535);
    SAME("%" PRId64 " %" PRIx64 " %" PRIu32, INT64_MIN, UINT64_MAX, UINT32_MAX);
    SAME("%f %.0f %5.1f %-8.2f| %e %.3E %g %.9g %a", 1.5, 2.5, 3.25, 4.125, 5e-300, 6e10, 7e-5, 1.0 / 3, 0.1);
    SAME("%f %g %+.2f %F", -DBL_MAX, (double)INFINITY, -(double)NAN, (double)INFINITY);
    SAME("%.*f %*.*f", 3, 2.0 / 3, 12, 4, 1e6);
    SAME("%p %%%d%%", (void *)state, 7);
#undef SAME
}

static void texts_have_width_and_precision(void **state) {
    (void)state;
    expect("[ab] [  ab] [ab  ] [a] [   a] []", "[%s] [%4s] [%-4s] [%.1s] [%*.*s] [%.0s]", "ab", "ab", "ab", "ab", 4, 1, "ab",
           "ab");
    expect("[  ü] [ü  ] [\u00fc\u4e2d]", "[%3s] [%-3s] [%.5s]", "ü", "ü", "ü中国");
    expect("x%y \033[K", "%c%%%c \033[K", 'x', 'y'); /* the format is the program's */
}

/* ---- escapes ---- */

static void what_confuses_is_escaped(void **state) {
    (void)state;
    expect("a\\x1b[2Jb\\n\\r\\t\\x07\\x7f", "%s", "a\x1b[2Jb\n\r\t\x07\x7f");
    expect("\\u009b31m", "%s",
           "\xc2\x9b"
           "31m"); /* C1 */
    expect("\\u202egnp.exe \\u2066 \\u200b \\u061c \\ufeff \\u2028", "%s", "\u202egnp.exe \u2066 \u200b \u061c \ufeff \u2028");
    expect("\\U000e0041", "%s", "\U000e0041");
    expect("\\xff\\xc3(\\x80 \\xc0\\xaf \\xed\\xa0\\x80 \\xf4\\x90\\x80\\x80 \\xc3", "%s",
           "\xff\xc3(\x80 \xc0\xaf \xed\xa0\x80 \xf4\x90\x80\x80 \xc3");
    expect("Größe 中 🙂 \\ %s", "%s", "Größe 中 🙂 \\ %s");
    expect("\\x1b\\n", "%c%c", '\x1b', '\n');
    expect("\\x1b", "%s", "\\x1b"); /* what was escaped once stays */
    expect("  \\x01|\\x01  |", "%6s|%-6s|", "\x01", "\x01");
    expect("[\\x01] [] [a]", "[%.4s] [%.3s] [%.4s]", "\x01z", "\x01z", "a\x01");
    expect("[é] []", "[%.3s] [%.1s]", "éé", "é"); /* a precision cuts no character apart */
}

static void precision_reads_no_further(void **state) {
    (void)state;
    char *text = malloc(3);
    memcpy(text, "a\xc3\xa9", 3);
    expect("a\u00e9", "%.3s", text);
    expect("a", "%.2s", text);
    free(text);
}

/* ---- room ---- */

static void cuts_are_between_characters(void **state) {
    (void)state;
    char text[8];
    assert_int_equal(tc_say_to(text, sizeof text, "ab%s", "\x1b\x1b"), 10);
    assert_string_equal(text, "ab\\x1b");
    assert_int_equal(tc_say_to(text, sizeof text, "abcdef%sg", "é"), 9);
    assert_string_equal(text, "abcdef"); /* nothing stands behind a gap */
    assert_int_equal(tc_say_to(text, sizeof text, "abcdefü"), 8);
    assert_string_equal(text, "abcdef");
    assert_int_equal(tc_say_to(text, sizeof text, "abcdefghijk"), 11);
    assert_string_equal(text, "abcdefg");
    assert_int_equal(tc_say_to(NULL, 0, "abc%d", 12), 5);
    assert_int_equal(tc_say_to(text, 1, "abc"), 3);
    assert_string_equal(text, "");
}

static void messages_stay_utf8_when_cut(void **state) {
    (void)state;
    for (size_t before = 0; before < 4; before++) {
        tc_error err = {0};
        char name[2 * sizeof err.msg];
        size_t n = before;
        memset(name, 'x', before);
        for (; n + 3 < sizeof name; n += 3)
            memcpy(name + n, "\u4e2d", 3);
        name[n] = 0;
        tc_status s = tc_fail(&err, TC_BAD_INPUT, "%s", name);
        assert_int_equal(s, TC_BAD_INPUT);
        assert_int_equal(tc_utf8_fault(err.msg, strlen(err.msg)), strlen(err.msg));
        assert_string_equal(err.msg + strlen(err.msg) - 3, "...");
        tc_error_prefix(&err, "%s: ", "m\xff.onnx");
        assert_memory_equal(err.msg, "m\\xff.onnx: x", before ? 12 : 11);
        assert_int_equal(tc_utf8_fault(err.msg, strlen(err.msg)), strlen(err.msg));
    }
}

static void reasons_survive_long_names(void **state) {
    (void)state;
    tc_error err = {0};
    char name[4000] = "";
    for (size_t i = 0; i + 1 < sizeof name; i++)
        name[i] = 'n';
    tc_status s = tc_fail(&err, TC_BAD_INPUT, "node '%s' has 3 inputs, not %d", name, 2);
    assert_int_equal(s, TC_BAD_INPUT);
    assert_non_null(strstr(err.msg, "nnn...' has 3 inputs, not 2"));
    tc_error_prefix(&err, "%s: ", name);
    assert_non_null(strstr(err.msg, "nnn...: node 'nn"));
    assert_non_null(strstr(err.msg, "' has 3 inputs, not 2"));
}

static void long_texts_grow(void **state) {
    (void)state;
    for (int n = 500; n < 530; n++) {
        tc_strbuf b = {0};
        tc_sb_say(&b, "<%*s>", n, "\n");
        assert_int_equal(b.len, n + 2);
        assert_string_equal(b.data + n - 1, "\\n>");
        tc_strbuf_free(&b);
    }
}

/* ---- several lines, and JSON ---- */

static void lines_keep_their_ends(void **state) {
    (void)state;
    tc_strbuf b = {0};
    tc_sb_say_lines(&b, "for i {\n\tx\x1b[2J ü\xff\u202e\n}\n\xc3");
    assert_string_equal(tc_sb_str(&b), "for i {\n\tx\\x1b[2J ü\\xff\\u202e\n}\n\\xc3");
    tc_strbuf_free(&b);
}

static void json_stays_json(void **state) {
    (void)state;
    tc_strbuf b = {0};
    tc_sb_say_json(&b, "{\n  \"a\": \"\\u001b \xc2\x9b \x7f \u202e \U000e0041 ü\"\n}");
    assert_string_equal(tc_sb_str(&b), "{\n  \"a\": \"\\u001b \\u009b \\u007f \\u202e \\udb40\\udc41 ü\"\n}");
    tc_strbuf_free(&b);
}

/* ---- anything ---- */

/* Of any bytes comes text that a terminal shows as it stands, is UTF-8, and is not changed by a second pass. */
static void any_bytes_become_plain(void **state) {
    (void)state;
    tc_rng r = tc_rng_seed(7);
    for (int i = 0; i < 20000; i++) {
        static const char *const some[] = {"\x1b[2J", "\xc2\x9b", "\u202e", "ü", "中", "\n", "%s", "\\", "\xff", "\xe2\x80", "a"};
        char name[64], text[1024], again[1024];
        size_t n = 0;
        while (n < sizeof name - 8) {
            const char *piece = some[tc_rng_below(&r, TC_LEN(some))];
            if (tc_rng_below(&r, 4) == 0)
                name[n++] = (char)(1 + tc_rng_below(&r, 255));
            else
                n += (size_t)snprintf(name + n, sizeof name - n, "%s", piece);
            if (tc_rng_below(&r, 10) == 0)
                break;
        }
        name[n] = 0;
        int len = tc_say_to(text, sizeof text, "%s", name);
        assert_int_equal(len, strlen(text));
        assert_int_equal(tc_utf8_fault(text, (size_t)len), len);
        for (const char *c = text; *c; c++)
            assert_true((unsigned char)*c >= ' ' && *c != 0x7f);
        assert_null(strstr(text, "\u202e"));
        tc_say_to(again, sizeof again, "%s", text);
        assert_string_equal(again, text);
        int most = (int)tc_rng_below(&r, 40);
        tc_say_to(again, sizeof again, "%.*s", most, name);
        assert_int_equal(tc_utf8_fault(again, strlen(again)), strlen(again));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_printf_s),        cmocka_unit_test(texts_have_width_and_precision),
        cmocka_unit_test(what_confuses_is_escaped),    cmocka_unit_test(precision_reads_no_further),
        cmocka_unit_test(cuts_are_between_characters), cmocka_unit_test(messages_stay_utf8_when_cut),
        cmocka_unit_test(reasons_survive_long_names),  cmocka_unit_test(long_texts_grow),
        cmocka_unit_test(lines_keep_their_ends),       cmocka_unit_test(json_stays_json),
        cmocka_unit_test(any_bytes_become_plain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
