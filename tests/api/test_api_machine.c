/* The machine: what it can do, and what hurts there. */
#include "api_documents.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

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
    o = (tctune_machine_options){.struct_size = sizeof o, .threads = 1000000};
    REFUSED(TCTUNE_BAD_INPUT, "1000000 threads cannot be started", tctune_machine(&o, &text, error, sizeof error));
    o.target = "neoverse-n1";
    REFUSED(TCTUNE_BAD_INPUT, "no machine has 1000000 CPUs", tctune_machine(&o, &text, error, sizeof error));
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
    o.threads = 1000000;
    REFUSED(TCTUNE_BAD_INPUT, "1000000 threads cannot be started", tctune_doctor(&o, &text, error, sizeof error));
    o = (tctune_doctor_options){.struct_size = sizeof o, .threads = 1};
    OK(tctune_doctor(&o, &text, error, sizeof error));
    j = document(text);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(j, "measured"), "threads")), 1);
    json_decref(j);
}

/* Headers and library are of one version, which is CMake's (TEST_VERSION). */
static void test_version(void **state) {
    (void)state;
    char numbers[64];
    snprintf(numbers, sizeof numbers, "%d.%d.%d", TCTUNE_VERSION_MAJOR, TCTUNE_VERSION_MINOR, TCTUNE_VERSION_PATCH);
    assert_string_equal(numbers, TCTUNE_VERSION_STRING);
    assert_string_equal(TCTUNE_VERSION_STRING, TEST_VERSION);
    assert_string_equal(tctune_version(), TEST_VERSION);
}

static void test_status_names(void **state) {
    (void)state;
    assert_string_equal(tctune_status_name(TCTUNE_OK), "TCTUNE_OK");
    assert_string_equal(tctune_status_name(TCTUNE_BAD_INPUT), "TCTUNE_BAD_INPUT");
    assert_string_equal(tctune_status_name(TCTUNE_ENVIRONMENT), "TCTUNE_ENVIRONMENT");
    assert_string_equal(tctune_status_name(TCTUNE_STOPPED), "TCTUNE_STOPPED");
    assert_string_equal(tctune_status_name((tctune_status)1), "unknown status");
    assert_string_equal(tctune_status_name((tctune_status)-1), "unknown status");
}

/* What is kept where: a folder of one's own, none, and one that others could write to. */
static void test_cache(void **state) {
    (void)state;
    const char *before = getenv("TCTUNE_CACHE"), *open_to_all = SCRATCH("api_cache_of_all");
    char *kept = before ? strdup(before) : NULL, own[4096], remove[8192];
    tctune_build_options o = {.struct_size = sizeof o, .threads = 1};
    tctune_model *m;
    tctune_work *w = open_text(gemm_text);
    snprintf(own, sizeof own, "%s-%ld", SCRATCH("api_cache"), (long)getpid());
    snprintf(remove, sizeof remove, "rm -r '%s'", own);
    assert_true((mkdir(open_to_all, 0777) == 0 || errno == EEXIST) && chmod(open_to_all, 0777) == 0);
    REFUSED(TCTUNE_BAD_INPUT, "is not a folder", tctune_cache_use("", error, sizeof error));
    REFUSED(TCTUNE_ENVIRONMENT, open_to_all, tctune_cache_use(open_to_all, error, sizeof error));
    assert_string_equal(getenv("TCTUNE_CACHE"), "off");
    OK(tctune_cache_use(NULL, error, sizeof error)); /* "off" is what the environment says by now */
    OK(tctune_build(w, &o, &m, error, sizeof error));
    tctune_model_free(m);
    OK(tctune_cache_use(own, error, sizeof error));
    assert_string_equal(getenv("TCTUNE_CACHE"), own);
    OK(tctune_build(w, &o, &m, error, sizeof error));
    assert_int_equal(access(own, F_OK), 0);
    tctune_model_free(m);
    assert_int_equal(system(remove), 0);
    OK(tctune_cache_use("off", error, sizeof error));
    assert_string_equal(getenv("TCTUNE_CACHE"), "off");
    tctune_work_free(w);
    if (kept)
        setenv("TCTUNE_CACHE", kept, 1);
    free(kept);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_machine),      cmocka_unit_test(test_doctor), cmocka_unit_test(test_version),
        cmocka_unit_test(test_status_names), cmocka_unit_test(test_cache),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
