/* The machine: what it can do, and what hurts there. */
#include "api_documents.h"

static void test_machine(void **state) {
    (void)state;
    char *text;
    tctune_machine_options o = {.struct_size = sizeof o, .threads = 1, .measure = 1};
    OK(tctune_machine(&o, &text, error, sizeof error));
    json_t *j = document(text), *peak = json_object_get(j, "peak");
    assert_true(json_is_true(json_object_get(j, "runs_here")));
    assert_int_equal(json_integer_value(json_object_get(j, "cores")), 1);
    assert_int_equal(json_integer_value(json_object_get(peak, "threads")), 1);
    assert_true(json_real_value(json_object_get(peak, "f32_gflops")) > 0);
    json_decref(j);
    o = (tctune_machine_options){.struct_size = sizeof o, .target = "neoverse-n1"};
    OK(tctune_machine(&o, &text, error, sizeof error));
    j = document(text);
    assert_string_equal(json_string_value(json_object_get(j, "cpu")), "neoverse-n1");
    assert_true(json_is_null(json_object_get(j, "peak")));
    json_decref(j);
    o.target = "rv64gcv";
    o.measure = 1;
    REFUSED(TCTUNE_BAD_INPUT, "does not run on this machine", tctune_machine(&o, &text, error, sizeof error));
    assert_null(text);
    o = (tctune_machine_options){.threads = 1};
    REFUSED(TCTUNE_BAD_INPUT, "struct_size", tctune_machine(&o, &text, error, sizeof error));
    assert_true(strchr(tctune_llvm_version(), '.') != NULL);
}

static void test_doctor(void **state) {
    (void)state;
    char *text;
    tctune_doctor_options o = {.struct_size = sizeof o, .quick = 1};
    OK(tctune_doctor(&o, &text, error, sizeof error));
    json_t *j = document(text), *list = json_object_get(j, "findings"), *f;
    size_t i, warnings = 0;
    json_array_foreach(list, i, f) {
        const char *level = json_string_value(json_object_get(f, "level"));
        assert_true(json_string_length(json_object_get(f, "found")) > 0);
        warnings += strcmp(level, "warning") == 0;
    }
    assert_true(i > 5);
    assert_int_equal(json_integer_value(json_object_get(j, "warnings")), warnings);
    assert_null(json_object_get(j, "measured"));
    json_decref(j);
    o.threads = -1;
    REFUSED(TCTUNE_BAD_INPUT, "-1 threads", tctune_doctor(&o, &text, error, sizeof error));
    o = (tctune_doctor_options){.struct_size = sizeof o, .threads = 1};
    OK(tctune_doctor(&o, &text, error, sizeof error));
    j = document(text);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(j, "measured"), "threads")), 1);
    json_decref(j);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_machine),
        cmocka_unit_test(test_doctor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
