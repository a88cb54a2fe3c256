/* json.h: documents lack nothing, whatever they are made of. */
#include "support/cmocka_all.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/json/json.h"
#include "support/vec.h"

static void expect(json_t *j, const char *expected) {
    char *text = tc_json_text(j, JSON_COMPACT);
    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
    json_decref(j);
}

static void texts_of_any_bytes(void **state) {
    (void)state;
    expect(tc_json_string("Größe"), "\"Größe\"");
    expect(tc_json_string("a\xff"), "\"a\\\\xff\"");
    expect(tc_json_string("\xe2\x80x\xc0\xaf\xed\xa0\x80"), "\"\\\\xe2\\\\x80x\\\\xc0\\\\xaf\\\\xed\\\\xa0\\\\x80\"");
    expect(tc_json_string("\x1b\n\""), "\"\\u001B\\n\\\"\"");
    expect(tc_json_string(""), "\"\"");
    expect(tc_json_string(NULL), "null");
    expect(tc_json_format("%s.%d\xfe", "a", 7), "\"a.7\\\\xfe\"");
}

static void text_is_fit_for_terminals(void **state) {
    (void)state;
    static const char name[] = "ü \xc2\x9b"
                               "31m \x7f \u202e \U000e0041";
    json_t *j = tc_json_string(name);
    char *text = tc_json_text(j, 0);
    assert_string_equal(text, "\"ü \\u009b31m \\u007f \\u202e \\udb40\\udc41\"");
    json_t *again = tc_json_read(text, TC_INPUT_DOCUMENT, JSON_DECODE_ANY, NULL);
    assert_string_equal(json_string_value(again), name);
    json_decref(again);
    json_decref(j);
    free(text);
}

static void numbers_of_any_value(void **state) {
    (void)state;
    expect(tc_json_real(0.5), "0.5");
    expect(tc_json_real(NAN), "null");
    expect(tc_json_real(-INFINITY), "null");
    expect(tc_json_integer(INT64_MIN), "-9223372036854775808");
}

static void keys_of_any_bytes(void **state) {
    (void)state;
    json_t *o = tc_json_object();
    tc_json_set(o, "k\xff", tc_json_integer(1));
    tc_json_set(o, "", tc_json_string("x"));
    tc_json_set(o, "none", NULL);
    tc_json_update(o, tc_json_pack("{s:i}", "more\x80", 2));
    expect(o, "{\"k\\\\xff\":1,\"\":\"x\",\"more\\\\x80\":2}");
}

static void packs(void **state) {
    (void)state;
    json_t *shared = tc_json_string("twice");
    expect(tc_json_pack("{s:s, s:b, s:i, s:I, s:f, s:n, s:o, s:O, s:[i, s, {s:s}], s:[]}", "text", "x\xff", "flag", 1, "int", -1,
                        "long", (json_int_t)1 << 40, "real", INFINITY, "null", "list", tc_json_pack("[I, f]", (json_int_t)3, 0.5),
                        "shared", shared, "nested", 7, "y", "z", "\xfe", "empty"),
           "{\"text\":\"x\\\\xff\",\"flag\":true,\"int\":-1,\"long\":1099511627776,\"real\":null,\"null\":null,\"list\":[3,0.5],"
           "\"shared\":\"twice\",\"nested\":[7,\"y\",{\"z\":\"\\\\xfe\"}],\"empty\":[]}");
    json_decref(shared);
    expect(tc_json_pack("{s:o, s:i}", "left out", (json_t *)NULL, "kept", 1), "{\"kept\":1}");
    expect(tc_json_pack("[]"), "[]");
    expect(tc_json_pack("s", "alone"), "\"alone\"");
}

static void texts_are_read_again(void **state) {
    (void)state;
    json_error_t why;
    json_t *j = tc_json_read_own("{\"a\": [1, 2]}");
    assert_int_equal(json_array_size(json_object_get(j, "a")), 2);
    json_decref(j);
    assert_null(tc_json_read("{\"a\": \"\xff\"}", TC_INPUT_DOCUMENT, 0, &why));
    assert_null(tc_json_text(NULL, 0));
}

/* `depth` lists, one in the other, the innermost with `inside`; behind an empty line. */
static char *nested(int64_t depth, const char *inside) {
    tc_strbuf b = {0};
    tc_sb_addc(&b, '\n');
    for (int64_t i = 0; i < depth; i++)
        tc_sb_addc(&b, '[');
    tc_sb_add(&b, inside);
    for (int64_t i = 0; i < depth; i++)
        tc_sb_addc(&b, ']');
    return b.data;
}

static void text_from_outside_nests_as_the_table_says(void **state) {
    (void)state;
    static const tc_input inputs[] = {TC_INPUT_RECORDS, TC_INPUT_DOCUMENT, TC_INPUT_NOTE, TC_INPUT_MESSAGE};
    for (size_t i = 0; i < TC_LEN(inputs); i++) {
        int64_t most = tc_input_bounds_of(inputs[i]).depth;
        json_error_t why;
        char *deepest = nested(most, "\"[[ \\\" {[ \\\\\""), *deeper = nested(most + 1, ""), says[64];
        json_t *j = tc_json_read(deepest, inputs[i], 0, &why);
        assert_non_null(j);
        json_decref(j);
        assert_null(tc_json_read(deeper, inputs[i], 0, &why));
        snprintf(says, sizeof says, "more than %lld levels deep", (long long)most);
        assert_non_null(strstr(why.text, says));
        assert_int_equal(why.line, 2);
        assert_int_equal(why.column, most + 1);
        assert_null(tc_json_read(deeper, inputs[i], 0, NULL));
        free(deepest);
        free(deeper);
    }
}

static void amounts(void **state) {
    (void)state;
    tc_json_amount a = tc_json_measure("{\"a{\": [1, [2], {}], \"b\": \"\\\\\", \"c\\\"[\": {\"d\": 1}}");
    assert_true(a.deepest == 3 && a.lists == 2 && a.objects == 3 && a.members == 8);
    a = tc_json_measure("[\"no end \\\"[[");
    assert_true(a.deepest == 1 && a.lists == 1);
    a = tc_json_measure("]]]]");
    assert_true(a.deepest == 0);
}

static void text_beyond_the_largest_is_refused(void **state) {
    (void)state;
    size_t n = TC_BYTES_MESSAGE + 1;
    char *text = tc_xmalloc(n + 1);
    json_error_t why;
    memset(text, ' ', n);
    memcpy(text, "{}", 2);
    text[n] = 0;
    assert_null(tc_json_read(text, TC_INPUT_MESSAGE, 0, &why));
    assert_non_null(strstr(why.text, "more than 67108864 bytes"));
    text[n - 1] = 0;
    json_t *j = tc_json_read(text, TC_INPUT_MESSAGE, 0, &why);
    assert_non_null(j);
    json_decref(j);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(texts_of_any_bytes),
                                       cmocka_unit_test(text_is_fit_for_terminals),
                                       cmocka_unit_test(numbers_of_any_value),
                                       cmocka_unit_test(keys_of_any_bytes),
                                       cmocka_unit_test(packs),
                                       cmocka_unit_test(texts_are_read_again),
                                       cmocka_unit_test(text_from_outside_nests_as_the_table_says),
                                       cmocka_unit_test(amounts),
                                       cmocka_unit_test(text_beyond_the_largest_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
