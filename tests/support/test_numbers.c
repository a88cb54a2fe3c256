/* Numbers are the same texts in a locale whose decimal point is a comma. The test makes that locale itself (localedef). */
#include "support/cmocka_all.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/json/json.h"
#include "support/lex.h"
#include "support/numbers.h"
#include "support/say.h"
#include "support/strbuf.h"
#include "support/system/fs.h"
#include "support/units.h"

static char *folder;

/* False: there is no localedef, or it has no description of German. */
static bool set_comma(void) {
    char command[1200];
    tc_error err = {0};
    if (tc_fs_temp_dir(&folder, &err) != TC_OK)
        return false;
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 '%s/de_DE.UTF-8' 2>/dev/null", folder);
    return system(command) == 0 && setenv("LOCPATH", folder, 1) == 0 && setlocale(LC_ALL, "de_DE.UTF-8");
}

static int begin(void **state) {
    (void)state;
    char text[20];
    if (set_comma()) {
        snprintf(text, sizeof text, "%g", 0.5);
        assert_string_equal(text, "0,5");
    } else {
        print_message("there is no locale with a comma here: the tests run in the locale of C\n");
    }
    return 0;
}

static int end(void **state) {
    (void)state;
    setlocale(LC_ALL, "C");
    tc_fs_remove_tree(folder);
    free(folder);
    return 0;
}

static void are_written(void **state) {
    (void)state;
    char text[64], unit[24];
    tc_strbuf b = {0};
    tc_arena *a = tc_arena_new();
    tc_error err = {0};
    assert_int_equal(tc_snprintf(text, sizeof text, "%.3f %d %s", 1.5, 7, "x"), 9);
    assert_string_equal(text, "1.500 7 x");
    tc_sb_printf(&b, "%g %a ", 0.25, 1.5);
    tc_sb_double(&b, 0.1);
    assert_string_equal(tc_sb_str(&b), "0.25 0x1.8p+0 0.1");
    assert_string_equal(tc_arena_printf(a, "%.1e", 2.5), "2.5e+00");
    assert_string_equal(tc_text_time(unit, 1.25e-3), "1.25 ms");
    (void)tc_fail(&err, TC_ENV, "it took %.1f s", 2.5);
    assert_string_equal(err.msg, "it took 2.5 s");
    tc_strbuf_free(&b);
    tc_arena_free(a);
}

static void are_read(void **state) {
    (void)state;
    char *rest;
    assert_true(tc_strtod("0.5,25", &rest) == 0.5);
    assert_string_equal(rest, ",25");
    assert_true(tc_strtof("1.5e2", NULL) == 150.0F);
    tc_arena *a = tc_arena_new();
    tc_error err = {0};
    tc_lex lex;
    assert_int_equal(tc_lex_open(&lex, a, "test", "2.5", false, &err), TC_OK);
    assert_true(lex.tok.f == 2.5);
    tc_arena_free(a);
}

static void of_json_are_both(void **state) {
    (void)state;
    json_t *j = tc_json_pack("{s:f}", "x", 0.5), *back;
    char *text = tc_json_text(j, JSON_COMPACT);
    assert_string_equal(text, "{\"x\":0.5}");
    back = tc_json_read_own(text);
    assert_true(json_real_value(json_object_get(back, "x")) == 0.5);
    json_decref(back);
    json_decref(j);
    free(text);
}

/* What the program set is there again afterwards. */
static void leave_the_locale(void **state) {
    (void)state;
    char before[20], after[20], ours[20];
    snprintf(before, sizeof before, "%g", 0.5);
    tc_snprintf(ours, sizeof ours, "%g", 0.5);
    snprintf(after, sizeof after, "%g", 0.5);
    assert_string_equal(before, after);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(are_written), cmocka_unit_test(are_read),
                                       cmocka_unit_test(of_json_are_both), cmocka_unit_test(leave_the_locale)};
    return cmocka_run_group_tests(tests, begin, end);
}
