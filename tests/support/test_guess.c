/* guess.h. */
#include "support/cmocka_all.h"

#include <limits.h>
#include <string.h>

#include "support/guess.h"
#include "support/vec.h"

static int distance(const char *a, const char *b) {
    return tc_edit_distance(a, strlen(a), b, strlen(b));
}

static void distance_counts_edits(void **state) {
    (void)state;
    static const struct {
        const char *a, *b;
        int distance;
    } cases[] = {
        {"", "", 0},          {"tune", "tune", 0},     {"TUNE", "tune", 0},   {"", "abc", 3},           {"abc", "", 3},
        {"buld", "build", 1}, {"trials", "trails", 1}, {"spilt", "split", 1}, {"kitten", "sitting", 3}, {"zen4", "znver4", 3},
        {"ca", "abc", 2},     {"abcd", "badc", 2},
    };
    for (size_t i = 0; i < TC_LEN(cases); i++) {
        assert_int_equal(distance(cases[i].a, cases[i].b), cases[i].distance);
        assert_int_equal(distance(cases[i].b, cases[i].a), cases[i].distance);
    }
}

static void distance_of_long_names_is_refused(void **state) {
    (void)state;
    char longest[66] = {0};
    memset(longest, 'x', 64);
    assert_int_equal(distance(longest, ""), 64);
    assert_int_equal(distance(longest, longest), 0);
    memset(longest, 'x', 65);
    assert_int_equal(distance(longest, "x"), INT_MAX);
    assert_int_equal(distance("x", longest), INT_MAX);
}

/* What is said where `typed` should have been one of the names. */
static void assert_said(const char *typed, const char *const *names, const char *expected) {
    char text[TC_GUESS_TEXT];
    tc_guess g = tc_guess_new(typed, strlen(typed));
    for (; *names; names++)
        tc_guess_add(&g, *names);
    assert_string_equal(tc_guess_say(&g, "--", "see the manual", text), expected);
}

static void close_names_are_told(void **state) {
    (void)state;
    static const char *const few[] = {"trials", "threads", "target", NULL}, *const one[] = {"only", NULL}, *const none[] = {NULL};
    static const char *const ties[] = {"a1", "a2", "a3", "a4", "a5", NULL}, *const networks[] = {"bert-base", "bert-tiny", "mlp",
                                                                                                 NULL};
    static const char *const many[] = {"aa", "bb", "cc", "dd", "ee", "ff", "gg", "hh", "ii",
                                       "jj", "kk", "ll", "mm", "nn", "oo", "pp", "qq", NULL};
    assert_said("trails", few, "; did you mean --trials?");
    assert_said("treads", few, "; did you mean --threads?");
    assert_said("bart", networks, "; did you mean --bert-base or --bert-tiny?");
    assert_said("a6", ties, "; did you mean --a1, --a2 or --a3?");
    assert_said("zzzz", few, "; there are --trials, --threads and --target");
    assert_said("", few, "; there are --trials, --threads and --target");
    assert_said("zzzz", one, "; there is only --only");
    assert_said("zzzz", none, "; see the manual");
    assert_said("zzzz", many, "; see the manual");
    assert_said("pq", many, "; did you mean --pp or --qq?");
}

static void long_names_are_cut_not_overrun(void **state) {
    (void)state;
    char name[400], text[TC_GUESS_TEXT];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    tc_guess g = tc_guess_new("x", 1);
    tc_guess_add(&g, name);
    tc_guess_add(&g, name);
    assert_int_equal(strlen(tc_guess_say(&g, "", NULL, text)), TC_GUESS_TEXT - 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distance_counts_edits),
        cmocka_unit_test(distance_of_long_names_is_refused),
        cmocka_unit_test(close_names_are_told),
        cmocka_unit_test(long_names_are_cut_not_overrun),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
