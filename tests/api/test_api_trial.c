/* Models tried on files, told of at length, and sizes of theirs that vary. */
#include "api_common.h"

#include <jansson.h>
#include <stdlib.h>

static const char varying[] = "symbol N 1..48\ntensor X[N, 64] f32\ncompute Y[i:N, j:64] = X[i, j] + 1\noutput Y\n";

static tctune_model *build(const char *te, const tctune_build_options *options) {
    tctune_work *w = open_text(te);
    tctune_model *m;
    OK(tctune_build(w, options, &m, error, sizeof error));
    tctune_work_free(w);
    return m;
}

static json_t *read_text(char *text) {
    json_t *j = json_loads(text, 0, NULL);
    assert_non_null(j);
    tctune_text_free(text);
    return j;
}

static json_t *try_model(tctune_model *m, const tctune_trial_options *o) {
    char *text;
    OK(tctune_try(m, o, &text, error, sizeof error));
    return read_text(text);
}

static const char *first_shape(const json_t *j) {
    return json_string_value(json_object_get(json_array_get(json_object_get(j, "outputs"), 0), "shape"));
}

/* One seed gives one result, which agrees with itself and not with that of another. */
static void test_outputs(void **state) {
    (void)state;
    tctune_build_options o = {.struct_size = sizeof o, .threads = 1};
    tctune_model *m = build(gemm_text, &o);
    tctune_trial_options write = {.struct_size = sizeof write, .seed = 3, .outputs = SCRATCH("three.npz")};
    json_t *j = try_model(m, &write), *first;
    assert_string_equal(first_shape(j), "[48,32]");
    assert_null(json_object_get(j, "ok"));
    json_decref(j);
    tctune_trial_options check = {
        .struct_size = sizeof check, .seed = 3, .expected = SCRATCH("three.npz"), .rtol = -1, .atol = -1};
    j = try_model(m, &check);
    assert_true(json_is_true(json_object_get(j, "ok")));
    json_decref(j);
    check.seed = 4;
    j = try_model(m, &check);
    first = json_array_get(json_object_get(j, "outputs"), 0);
    assert_true(json_is_false(json_object_get(j, "ok")) && json_is_false(json_object_get(first, "ok")));
    assert_int_equal(json_integer_value(json_object_get(first, "elements")), 48 * 32);
    assert_true(json_integer_value(json_object_get(first, "violations")) > 1000);
    json_decref(j);
    check.expected = SCRATCH("none.npz");
    char *text;
    REFUSED(TCTUNE_BAD_INPUT, "none.npz", tctune_try(m, &check, &text, error, sizeof error));
    assert_null(text);
    tctune_model_free(m);
}

static void test_sizes(void **state) {
    (void)state;
    static const char *const at[] = {"N=17", NULL}, *const beyond[] = {"N=49", NULL};
    tctune_build_options o = {.struct_size = sizeof o, .threads = 1};
    tctune_model *m = build(varying, &o);
    int64_t least, most, multiple, sizes[1];
    assert_int_equal(tctune_model_num_sizes(m), 1);
    assert_string_equal(tctune_model_size(m, 0, &least, &most, &multiple), "N");
    assert_true(least == 1 && most == 48 && multiple == 1);
    assert_null(tctune_model_size(m, 1, &least, &most, &multiple));
    OK(tctune_model_sizes_at(m, at, sizes, error, sizeof error));
    assert_int_equal(sizes[0], 17);
    OK(tctune_model_sizes_at(m, NULL, sizes, error, sizeof error));
    assert_int_equal(sizes[0], 48);
    REFUSED(TCTUNE_BAD_INPUT, "from 1 to 48", tctune_model_sizes_at(m, beyond, NULL, error, sizeof error));
    tctune_trial_options t = {.struct_size = sizeof t, .at = at};
    json_t *j = try_model(m, &t);
    assert_string_equal(first_shape(j), "[17,64]");
    json_decref(j);
    t.inputs = "x.npz";
    char *text;
    REFUSED(TCTUNE_BAD_INPUT, "exclude", tctune_try(m, &t, &text, error, sizeof error));
    tctune_model_free(m);
}

static void test_report(void **state) {
    (void)state;
    tctune_build_options o = {.struct_size = sizeof o, .threads = 1, .only_to_save = 1, .listing = SCRATCH("gemm.tir")};
    tctune_model *m = build(gemm_text, &o);
    char *text;
    OK(tctune_model_report(m, &text, error, sizeof error));
    json_t *j = read_text(text), *k = json_array_get(json_object_get(j, "kernels"), 0);
    assert_int_equal(json_integer_value(json_object_get(j, "threads")), 1);
    assert_true(json_real_value(json_object_get(j, "flops")) == 2.0 * 48 * 32 * 64);
    assert_true(json_integer_value(json_object_get(j, "constant_bytes")) >= 64 * 32 * 4);
    assert_string_equal(json_string_value(json_object_get(k, "source")), "default");
    assert_null(json_object_get(j, "in_graph"));
    json_decref(j);
    OK(tctune_model_plan(m, &text, error, sizeof error));
    assert_non_null(text);
    tctune_text_free(text);
    unlink(SCRATCH("gemm.tir"));
    OK(tctune_model_save(m, SCRATCH("gemm.so"), NULL, error, sizeof error));
    assert_int_equal(access(SCRATCH("gemm.tir"), R_OK), 0);
    tctune_trial_options t = {.struct_size = sizeof t};
    REFUSED(TCTUNE_BAD_INPUT, "", tctune_try(m, &t, &text, error, sizeof error)); /* it was to be saved only */
    tctune_model_free(m);
    assert_true(tctune_is_library(SCRATCH("gemm.so")) && !tctune_is_library(SCRATCH("gemm.tir")));
    OK(tctune_load(SCRATCH("gemm.so"), 0, &m, error, sizeof error));
    REFUSED(TCTUNE_BAD_INPUT, "has no memory plan", tctune_model_plan(m, &text, error, sizeof error));
    OK(tctune_model_report(m, &text, error, sizeof error));
    json_decref(read_text(text));
    tctune_model_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outputs),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_report),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
