/* Latency: of models, over ranges of sizes, and of one kernel. */
#include "api_documents.h"

static const char varying[] = "symbol N 1..48\ntensor X[N, 64] f32\ncompute Y[i:N, j:64] = X[i, j] + 1\noutput Y\n";
static const char *const at17[] = {"N=17", NULL}, *const beyond[] = {"N=49", NULL};

static tctune_model *build(const char *te) {
    tctune_build_options o = {.struct_size = sizeof o, .threads = 1};
    tctune_work *w = open_text(te);
    tctune_model *m;
    OK(tctune_build(w, &o, &m, error, sizeof error));
    tctune_work_free(w);
    return m;
}

static double real(const json_t *j, const char *key) {
    assert_true(json_is_number(json_object_get(j, key)));
    return json_number_value(json_object_get(j, key));
}

static void check_times(const json_t *j, int repeats) {
    assert_true(real(j, "min_ms") > 0 && real(j, "min_ms") <= real(j, "median_ms") && real(j, "median_ms") <= real(j, "max_ms"));
    assert_int_equal(number(j, "repeats"), repeats);
}

static void test_model(void **state) {
    (void)state;
    tctune_model *m = build(gemm_text);
    tctune_bench_options o = {.struct_size = sizeof o, .name = "gemm", .repeats = 5};
    char *text;
    OK(tctune_bench(m, &o, &text, error, sizeof error));
    json_t *j = document(text);
    check_times(j, 5);
    assert_string_equal(text_of(j, "name"), "gemm");
    assert_int_equal(number(j, "threads"), 1);
    assert_true(real(j, "peak_gflops") > 0 && real(j, "flops") >= 2.0 * 48 * 32 * 64);
    assert_int_equal(json_array_size(json_object_get(j, "kernels")), tctune_model_num_kernels(m));
    json_decref(j);
    REFUSED(TCTUNE_BAD_INPUT, "no size", tctune_bench_range(m, &o, &text, error, sizeof error));
    assert_null(text);
    volatile int stop = 1;
    o.stop = &stop;
    assert_int_equal(tctune_bench(m, &o, &text, error, sizeof error), TCTUNE_STOPPED);
    assert_null(text);
    tctune_model_free(m);
}

/* What a model was, with another schedule of its kernel. */
static void write_base(json_t *was, const char *schedule) {
    if (schedule)
        json_object_set_new(json_array_get(json_object_get(was, "kernels"), 0), "schedule", json_string(schedule));
    assert_int_equal(json_dump_file(was, "against.json", 0), 0);
}

static const json_t *first_kernel(const json_t *j) {
    return json_array_get(json_object_get(j, "kernels"), 0);
}

static void test_against(void **state) {
    (void)state;
    static const char scalar[] = "a, b = split t0.i1 [_, 4]\n", illegal[] = "a, b = split t0.i7 [_, 4]\n";
    tctune_model *m = build(gemm_text);
    tctune_bench_options o = {.struct_size = sizeof o, .repeats = 15};
    char *text;
    int slower = 7;
    OK(tctune_bench(m, &o, &text, error, sizeof error));
    json_t *was = document(text);
    write_base(was, NULL);
    OK(tctune_bench_against(m, "against.json", NULL, &slower, &text, error, sizeof error));
    json_t *j = document(text);
    assert_int_equal(slower, 0);
    assert_string_equal(text_of(json_object_get(j, "network"), "verdict"), "unchanged");
    json_decref(j);
    write_base(was, scalar);
    OK(tctune_bench_against(m, "against.json", &o, NULL, &text, error, sizeof error));
    j = document(text);
    assert_string_equal(text_of(first_kernel(j), "base_schedule"), scalar);
    assert_int_equal(number(first_kernel(j), "rounds"), 15);
    assert_true(real(first_kernel(j), "low") <= real(first_kernel(j), "ratio"));
    assert_true(json_is_false(json_object_get(j, "slower")));
    json_decref(j);
    write_base(was, illegal);
    OK(tctune_bench_against(m, "against.json", &o, &slower, &text, error, sizeof error));
    j = document(text);
    assert_string_equal(text_of(first_kernel(j), "verdict"), "not compared");
    assert_non_null(strstr(text_of(first_kernel(j), "why"), "failed when it was checked"));
    assert_int_equal(number(j, "kernels_not_compared"), 1);
    json_decref(j);
    o.at = at17;
    REFUSED(TCTUNE_BAD_INPUT, "at goes with", tctune_bench_against(m, "against.json", &o, NULL, &text, error, sizeof error));
    o.at = NULL;
    volatile int stop = 1;
    o.stop = &stop;
    write_base(was, scalar);
    assert_int_equal(tctune_bench_against(m, "against.json", &o, &slower, &text, error, sizeof error), TCTUNE_STOPPED);
    assert_null(text);
    tctune_model_free(m);
    m = build(varying);
    o.stop = NULL;
    REFUSED(TCTUNE_BAD_INPUT, "vary", tctune_bench_against(m, "against.json", &o, NULL, &text, error, sizeof error));
    tctune_model_free(m);
    json_decref(was);
    remove("against.json");
}

static void test_range(void **state) {
    (void)state;
    tctune_model *m = build(varying);
    tctune_bench_options o = {.struct_size = sizeof o, .repeats = 3, .at = at17};
    char *text;
    OK(tctune_bench(m, &o, &text, error, sizeof error));
    json_t *j = document(text);
    assert_string_equal(text_of(j, "name"), "model N=17");
    assert_int_equal(number(json_object_get(j, "sizes"), "N"), 17);
    assert_true(json_is_null(json_object_get(j, "gflops")));
    json_decref(j);
    REFUSED(TCTUNE_BAD_INPUT, "leave out at", tctune_bench_range(m, &o, &text, error, sizeof error));
    o.inputs = "x.npz";
    REFUSED(TCTUNE_BAD_INPUT, "exclude", tctune_bench(m, &o, &text, error, sizeof error));
    o.inputs = NULL;
    o.at = beyond;
    REFUSED(TCTUNE_BAD_INPUT, "from 1 to 48", tctune_bench(m, &o, &text, error, sizeof error));
    o.at = NULL;
    OK(tctune_bench_range(m, &o, &text, error, sizeof error));
    j = document(text);
    const json_t *curves = json_object_get(j, "curves"), *points = json_object_get(json_array_get(curves, 0), "points");
    size_t n = json_array_size(points);
    assert_int_equal(json_array_size(curves), 1);
    assert_string_equal(text_of(json_array_get(curves, 0), "over"), "N");
    assert_true(n > 6);
    long long last = 0;
    for (size_t i = 0; i < n; i++) {
        const json_t *p = json_array_get(points, i);
        long long size = number(json_object_get(p, "sizes"), "N");
        assert_true(size > last);
        check_times(p, 3);
        last = size;
    }
    assert_int_equal(last, 48);
    json_decref(j);
    tctune_model_free(m);
}

static void test_kernel(void **state) {
    (void)state;
    tctune_work *w = open_text(varying);
    tctune_bench_kernel_options o = {.struct_size = sizeof o, .threads = 1, .repeats = 4, .mode = "hot", .at = at17};
    char *text;
    OK(tctune_bench_kernel(w, 0, &o, &text, error, sizeof error));
    json_t *j = document(text);
    assert_true(real(j, "median_ms") > 0);
    assert_non_null(strstr(text_of(j, "name"), "17"));
    assert_non_null(strstr(text_of(j, "schedule"), "default"));
    assert_string_equal(text_of(j, "mode"), "hot");
    assert_int_equal(json_array_size(json_object_get(j, "kernels")), 1);
    json_decref(j);
    REFUSED(TCTUNE_BAD_INPUT, "no task 1", tctune_bench_kernel(w, 1, &o, &text, error, sizeof error));
    assert_null(text);
    o.mode = "warm";
    REFUSED(TCTUNE_BAD_INPUT, "warm", tctune_bench_kernel(w, 0, &o, &text, error, sizeof error));
    o.mode = NULL;
    o.at = beyond;
    REFUSED(TCTUNE_BAD_INPUT, "from 1 to 48", tctune_bench_kernel(w, 0, &o, &text, error, sizeof error));
    tctune_work_free(w);
}

/* Each by itself, at the largest sizes. */
static void test_kernels(void **state) {
    (void)state;
    tctune_work *w = open_text(varying);
    tctune_bench_kernel_options o = {.struct_size = sizeof o, .threads = 1, .repeats = 3};
    char *text;
    int failed;
    OK(tctune_bench_kernels(w, &o, &failed, &text, error, sizeof error));
    json_t *j = document(text), *kernel = json_array_get(json_object_get(j, "kernels"), 0);
    assert_int_equal(json_array_size(json_object_get(j, "kernels")), 1);
    assert_non_null(strstr(text_of(kernel, "name"), "48"));
    assert_true(failed == 0 && real(kernel, "time_ms") > 0 && number(kernel, "repeats") == 3);
    assert_true(json_is_null(json_object_get(kernel, "worker")) && json_is_null(json_object_get(kernel, "error")));
    json_decref(j);
    o.require_complete = 1;
    REFUSED(TCTUNE_BAD_INPUT, "has no record", tctune_bench_kernels(w, &o, NULL, &text, error, sizeof error));
    assert_null(text);
    o.at = at17;
    REFUSED(TCTUNE_BAD_INPUT, "at and schedule are for one kernel",
            tctune_bench_kernels(w, &o, NULL, &text, error, sizeof error));
    tctune_work_free(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model),  cmocka_unit_test(test_against), cmocka_unit_test(test_range),
        cmocka_unit_test(test_kernel), cmocka_unit_test(test_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
