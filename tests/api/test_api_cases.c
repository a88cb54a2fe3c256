/* Test cases with expected outputs: told of one by one and all together, stopped, and refused. */
#include "api_documents.h"

#include <stdio.h>
#include <stdlib.h>

static char good[4096], cases[4096], wrong[4096];

static void name_folders(void) {
    const char *models = getenv("TCTUNE_TEST_MODELS");
    assert_non_null(models);
    snprintf(good, sizeof good, "%s/cases/right", models);
    snprintf(cases, sizeof cases, "%s/cases", models);
    snprintf(wrong, sizeof wrong, "%s/wrong", models);
}

typedef struct told {
    int n, stop, stop_after; /* 0: never */
} told;

static void on_case(void *user, const char *json) {
    told *t = user;
    json_t *c = json_loads(json, 0, NULL);
    assert_true(strlen(text_of(c, "case")) > 0 && json_is_array(json_object_get(c, "constants")));
    assert_true((strcmp(text_of(c, "result"), "passed") == 0) == (*text_of(c, "reason") == 0));
    json_decref(c);
    t->stop = ++t->n == t->stop_after;
}

static void test_verdicts(void **state) {
    (void)state;
    name_folders();
    told t = {0};
    char *text;
    const char *const folders[] = {cases, wrong, NULL};
    tctune_cases_options o = {.struct_size = sizeof o, .threads = 1, .each = on_case, .user = &t};
    OK(tctune_verify_cases(folders, &o, &text, error, sizeof error));
    json_t *j = document(text);
    assert_int_equal(number(j, "passed"), 1);
    assert_int_equal(number(j, "failed"), 1);
    assert_int_equal(number(j, "skipped"), 1);
    assert_int_equal(json_array_size(json_object_get(j, "cases")), t.n);
    assert_int_equal(t.n, 3);
    json_decref(j);
    o.rtol = o.atol = 1e9; /* whatever is right */
    OK(tctune_verify_cases(folders, &o, &text, error, sizeof error));
    j = document(text);
    assert_int_equal(number(j, "passed"), 2);
    json_decref(j);
}

static void test_stopped(void **state) {
    (void)state;
    name_folders();
    told t = {.stop_after = 1};
    char *text;
    const char *const folders[] = {cases, wrong, NULL};
    tctune_cases_options o = {.struct_size = sizeof o, .threads = 1, .stop = &t.stop, .each = on_case, .user = &t};
    assert_int_equal(tctune_verify_cases(folders, &o, &text, error, sizeof error), TCTUNE_STOPPED);
    json_t *j = document(text);
    assert_int_equal(json_array_size(json_object_get(j, "cases")), 1);
    json_decref(j);
}

static void test_refused(void **state) {
    (void)state;
    name_folders();
    char *text;
    const char *const none[] = {good, "/no/such/folder", NULL}, *const passes[] = {"no_such_pass", NULL};
    REFUSED(TCTUNE_BAD_INPUT, "/no/such/folder", tctune_verify_cases(none, NULL, &text, error, sizeof error));
    assert_null(text);
    tctune_cases_options o = {.struct_size = sizeof o, .without = passes};
    REFUSED(TCTUNE_BAD_INPUT, "no_such_pass", tctune_cases_check(&o, error, sizeof error));
    o = (tctune_cases_options){.struct_size = sizeof o, .level = (tctune_level)9};
    REFUSED(TCTUNE_BAD_INPUT, "level 9", tctune_cases_check(&o, error, sizeof error));
    o = (tctune_cases_options){.struct_size = sizeof o, .target = "rv64gcv"};
    REFUSED(TCTUNE_BAD_INPUT, "does not run on this machine", tctune_cases_check(&o, error, sizeof error));
    o = (tctune_cases_options){.struct_size = sizeof o, .accuracy = "exact"};
    REFUSED(TCTUNE_BAD_INPUT, "exact", tctune_cases_check(&o, error, sizeof error));
    o = (tctune_cases_options){.struct_size = sizeof o, .database = "/no/such.db"};
    OK(tctune_cases_check(&o, error, sizeof error));
    const char *const one[] = {good, NULL};
    REFUSED(TCTUNE_BAD_INPUT, "/no/such.db", tctune_verify_cases(one, &o, &text, error, sizeof error));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_stopped),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
