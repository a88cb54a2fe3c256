/* Networks as files: ready-made ones, quantised ones, what built libraries say of themselves, and timelines. */
#include "api_documents.h"

#include <stdio.h>
#include <stdlib.h>

static const char network[] = SCRATCH("api_networks.onnx"), quantised[] = SCRATCH("api_quantised.onnx"),
                  library[] = SCRATCH("api_networks.so"), other[] = SCRATCH("api_no_library.so");

static void test_zoo(void **state) {
    (void)state;
    int n = 0;
    for (const char *const *name = tctune_zoo_names(); *name; name++)
        n++;
    assert_true(n >= 3);
    OK(tctune_zoo("mlp", network, error, sizeof error));
    REFUSED(TCTUNE_BAD_INPUT, "there is no network 'mpl'; did you mean mlp?", tctune_zoo("mpl", network, error, sizeof error));
    REFUSED(TCTUNE_ENVIRONMENT, "/no/such", tctune_zoo("mlp", "/no/such/mlp.onnx", error, sizeof error));
}

static void *read_all(const char *file, size_t *size) {
    FILE *f = fopen(file, "r");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    *size = (size_t)ftell(f);
    rewind(f);
    void *bytes = malloc(*size);
    assert_int_equal(fread(bytes, 1, *size, f), *size);
    fclose(f);
    return bytes;
}

/* The first result of a run of the built network on ones. */
static float first_result(tctune_work *w) {
    tctune_model *m;
    tctune_build_options o = {.struct_size = sizeof o, .threads = 1};
    float x[4096], y[4096];
    DLTensor t[2] = {{.data = x, .device = {kDLCPU, 0}}, {.data = y, .device = {kDLCPU, 0}}};
    const int64_t *shape;
    OK(tctune_build(w, &o, &m, error, sizeof error));
    for (int i = 0; i < 2; i++) {
        (i ? tctune_model_output : tctune_model_input)(m, 0, &t[i].dtype, &t[i].ndim, &shape);
        t[i].shape = (int64_t *)(uintptr_t)shape;
        int64_t n = 1;
        for (int d = 0; d < t[i].ndim; d++)
            n *= shape[d];
        assert_true(n <= 4096);
    }
    for (int i = 0; i < 4096; i++)
        x[i] = 1;
    OK(tctune_model_run(m, &t[0], &t[1], error, sizeof error));
    tctune_model_free(m);
    return y[0];
}

/* A network in memory is what its file is, and the bytes may go once it is open. */
static void test_bytes(void **state) {
    (void)state;
    size_t size;
    tctune_work *w, *of_file;
    OK(tctune_zoo("mlp", network, error, sizeof error));
    tctune_work_options o = {.struct_size = sizeof o, .model = network};
    OK(tctune_open(&o, &of_file, error, sizeof error));
    void *bytes = read_all(network, &size);
    OK(tctune_open_bytes(bytes, size, NULL, NULL, &w, error, sizeof error));
    memset(bytes, 0, size);
    free(bytes);
    assert_int_equal(tctune_work_num_tasks(w), tctune_work_num_tasks(of_file));
    for (int i = 0; i < tctune_work_num_tasks(w); i++) {
        tctune_task a = {.struct_size = sizeof a}, b = a;
        OK(tctune_work_task(w, i, &a, error, sizeof error));
        OK(tctune_work_task(of_file, i, &b, error, sizeof error));
        assert_string_equal(a.hash, b.hash);
        assert_string_equal(a.name, b.name);
    }
    assert_true(first_result(w) == first_result(of_file)); /* weights, too */
    tctune_work_free(w);
    tctune_work_free(of_file);
}

static void test_wrong_bytes(void **state) {
    (void)state;
    size_t size;
    tctune_work *w;
    tctune_work_options o = {.struct_size = sizeof o, .model = network};
    OK(tctune_zoo("mlp", network, error, sizeof error));
    void *bytes = read_all(network, &size);
    REFUSED(TCTUNE_BAD_INPUT, "leave model", tctune_open_bytes(bytes, size, "net", &o, &w, error, sizeof error));
    assert_null(w);
    o.model = NULL;
    o.constants = "c.npz";
    REFUSED(TCTUNE_BAD_INPUT, "constants", tctune_open_bytes(bytes, size, "net", &o, &w, error, sizeof error));
    REFUSED(TCTUNE_BAD_INPUT, "net: ", tctune_open_bytes(bytes, size / 2, "net", NULL, &w, error, sizeof error));
    REFUSED(TCTUNE_BAD_INPUT, "model: there are no bytes", tctune_open_bytes(bytes, 0, NULL, NULL, &w, error, sizeof error));
    REFUSED(TCTUNE_BAD_INPUT, "net: there are no bytes", tctune_open_bytes(NULL, 0, "net", NULL, &w, error, sizeof error));
    o = (tctune_work_options){.struct_size = sizeof o, .te_text = gemm_text, .data_folder = "."};
    REFUSED(TCTUNE_BAD_INPUT, "data_folder", tctune_open(&o, &w, error, sizeof error));
    free(bytes);
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
    REFUSED(TCTUNE_BAD_INPUT, "data are missing", tctune_quantize(network, quantised, &o, &text, error, sizeof error));
    assert_null(text);
    o.dynamic = o.weights = 8;
    REFUSED(TCTUNE_BAD_INPUT, "exclude each other", tctune_quantize(network, quantised, &o, &text, error, sizeof error));
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
    OK(tctune_model_save(m, library, "gemm", error, sizeof error));
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
    tctune_model_free(m);
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
    tctune_model_free(m);
    tctune_work_free(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zoo),      cmocka_unit_test(test_bytes),   cmocka_unit_test(test_wrong_bytes),
        cmocka_unit_test(test_quantize), cmocka_unit_test(test_library), cmocka_unit_test(test_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
