/* Networks as files: ready-made ones, quantised ones, what built libraries say of themselves, and timelines. */
#include "api_documents.h"

#include <stdio.h>

static const char network[] = SCRATCH("api_networks.onnx"), quantised[] = SCRATCH("api_quantised.onnx"),
                  library[] = SCRATCH("api_networks.so"), other[] = SCRATCH("api_no_library.so");

static void test_zoo(void **state) {
    (void)state;
    int n = 0;
    for (const char *const *name = tctune_zoo_names(); *name; name++)
        n++;
    assert_true(n >= 3);
    OK(tctune_zoo("mlp", network, error, sizeof error));
    REFUSED(TCTUNE_BAD_INPUT, "there is no network 'mpl'; there are ", tctune_zoo("mpl", network, error, sizeof error));
    REFUSED(TCTUNE_ENVIRONMENT, "/no/such", tctune_zoo("mlp", "/no/such/mlp.onnx", error, sizeof error));
}

static void test_quantize(void **state) {
    (void)state;
    char *text;
    int stop = 1;
    tctune_quantize_options o = {.struct_size = sizeof o, .dynamic = 1, .threads = 1};
    OK(tctune_zoo("mlp", network, error, sizeof error));
    OK(tctune_quantize(network, quantised, &o, &text, error, sizeof error));
    json_t *j = document(text), *layers = json_object_get(j, "layers"), *l;
    size_t i;
    assert_true(json_array_size(layers) > 0 && json_array_size(json_object_get(j, "outputs")) > 0);
    json_array_foreach(layers, i, l) {
        assert_true(json_is_true(json_object_get(l, "quantised")));
        assert_true(json_real_value(json_object_get(l, "snr_db")) > 10);
    }
    const char *first = text_of(json_array_get(layers, 0), "name");
    assert_true(number(j, "bytes_after") < number(j, "bytes_before"));
    assert_true(json_is_true(json_object_get(j, "drawn_inputs")));
    assert_string_equal(text_of(j, "out"), quantised);
    const char *keep[] = {first, NULL};
    o.keep = keep;
    OK(tctune_quantize(network, quantised, &o, &text, error, sizeof error));
    json_t *kept = document(text);
    assert_true(json_is_false(json_object_get(json_array_get(json_object_get(kept, "layers"), 0), "quantised")));
    json_decref(kept);
    json_decref(j);
    /* What is refused leaves no file. */
    remove(quantised);
    o = (tctune_quantize_options){.struct_size = sizeof o};
    REFUSED(TCTUNE_BAD_INPUT, "no data", tctune_quantize(network, quantised, &o, &text, error, sizeof error));
    assert_null(text);
    o.dynamic = o.weights = 8;
    REFUSED(TCTUNE_BAD_INPUT, "two forms", tctune_quantize(network, quantised, &o, &text, error, sizeof error));
    o = (tctune_quantize_options){.struct_size = sizeof o, .weights = 3};
    REFUSED(TCTUNE_BAD_INPUT, "not 3", tctune_quantize(network, quantised, &o, &text, error, sizeof error));
    o = (tctune_quantize_options){.struct_size = sizeof o, .dynamic = 1, .method = "median"};
    REFUSED(TCTUNE_BAD_INPUT, "median", tctune_quantize(network, quantised, &o, &text, error, sizeof error));
    o = (tctune_quantize_options){.struct_size = sizeof o, .dynamic = 1, .activations = "u4"};
    REFUSED(TCTUNE_BAD_INPUT, "u4", tctune_quantize(network, quantised, &o, &text, error, sizeof error));
    o = (tctune_quantize_options){.struct_size = sizeof o, .weights = 4, .bounded = 1, .error_budget = 0};
    REFUSED(TCTUNE_BAD_INPUT, "budget", tctune_quantize(network, quantised, &o, &text, error, sizeof error));
    o = (tctune_quantize_options){.struct_size = sizeof o, .dynamic = 1, .stop = &stop};
    assert_int_equal(tctune_quantize(network, quantised, &o, &text, error, sizeof error), TCTUNE_STOPPED);
    assert_int_equal(access(quantised, F_OK), -1);
}

static void test_library(void **state) {
    (void)state;
    char *text;
    tctune_work *w = open_text(gemm_text);
    tctune_build_options o = {.struct_size = sizeof o, .threads = 1};
    tctune_model *m;
    OK(tctune_build(w, &o, &m, error, sizeof error));
    OK(tctune_save(m, library, "gemm", error, sizeof error));
    assert_true(tctune_is_library(library));
    assert_false(tctune_is_library(network));
    OK(tctune_library_describe(library, &text, error, sizeof error));
    json_t *j = document(text), *kernels = json_object_get(j, "kernels");
    assert_string_equal(text_of(j, "library"), library);
    assert_string_equal(text_of(j, "name"), "gemm");
    assert_int_equal(number(j, "threads"), 1);
    assert_int_equal(json_array_size(kernels), 1);
    assert_string_equal(text_of(json_object_get(j, "provenance"), "tctune"), tctune_version());
    json_decref(j);
    tctune_free(m);
    tctune_work_free(w);
    FILE *f = fopen(other, "w");
    fputs("\x7f"
          "ELF, it says",
          f);
    fclose(f);
    REFUSED(TCTUNE_BAD_INPUT, other, tctune_library_describe(other, &text, error, sizeof error));
    assert_null(text);
}

/* A run has a slice for its one kernel, and says what it is. */
static void test_trace(void **state) {
    (void)state;
    char *text;
    const char *const at[] = {"N=3", NULL};
    tctune_work *w = open_text(gemm_text);
    tctune_build_options o = {.struct_size = sizeof o, .threads = 1};
    tctune_trace_options t = {.struct_size = sizeof t, .name = "gemm"};
    tctune_model *m;
    OK(tctune_build(w, &o, &m, error, sizeof error));
    OK(tctune_trace(m, &t, &text, error, sizeof error));
    json_t *j = document(text), *of = json_object_get(j, "otherData");
    assert_string_equal(text_of(of, "model"), "gemm");
    assert_int_equal(number(of, "threads"), 1);
    assert_int_equal(number(of, "steps"), 1);
    assert_true(json_real_value(json_object_get(of, "run_us")) > 0 && json_real_value(json_object_get(of, "peak_gflops")) > 0);
    size_t kernels = 0, i;
    json_t *e, *list = json_object_get(j, "traceEvents");
    json_array_foreach(list, i, e) {
        const char *category = json_string_value(json_object_get(e, "cat"));
        kernels += category && strcmp(category, "kernel") == 0;
    }
    assert_int_equal(kernels, 1);
    json_decref(j);
    t.at = at;
    REFUSED(TCTUNE_BAD_INPUT, "N", tctune_trace(m, &t, &text, error, sizeof error));
    assert_null(text);
    t.inputs = "/no/such.npz";
    REFUSED(TCTUNE_BAD_INPUT, "exclude each other", tctune_trace(m, &t, &text, error, sizeof error));
    t.at = NULL;
    REFUSED(TCTUNE_BAD_INPUT, "/no/such.npz", tctune_trace(m, &t, &text, error, sizeof error));
    tctune_free(m);
    tctune_work_free(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zoo),
        cmocka_unit_test(test_quantize),
        cmocka_unit_test(test_library),
        cmocka_unit_test(test_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
