/* One model in many threads, built here and loaded: contexts are made, run, asked for shapes and profiled at once, in sizes that differ from
 * thread to thread, while others ask what the model is; and a cache that grows in place, which each thread has its own of. The thread
 * sanitizer looks at it. */
#include "api_common.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, TURNS = 12, INNER = 48, MOST_ROWS = 16, MOST_COLS = 64 };

static char folder[2048];

static const char *in(const char *name) {
    static _Thread_local char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static tctune_work *open_model(const char *name, const char *const *shapes, int in_place) {
    tctune_work_options o = {.struct_size = sizeof o, .model = in(name), .shapes = shapes, .in_place_cache = in_place};
    tctune_work *w;
    OK(tctune_work_open(&o, &w, error, sizeof error));
    return w;
}

/* What goes wrong in a thread: cmocka's assertions belong to the main one. */
#define MUST(x)                                                                                                                  \
    do {                                                                                                                         \
        if (!(x))                                                                                                                \
            return "line " LINE(__LINE__) ": " #x;                                                                               \
    } while (0)
#define LINE(n) LINE_(n)
#define LINE_(n) #n

typedef struct worker {
    tctune_model *m;
    int number;
    const char *(*body)(struct worker *w);
    const char *failed;
    char error[512];
} worker;

static void *start(void *user) {
    worker *w = user;
    w->failed = w->body(w);
    return NULL;
}

static void in_threads(tctune_model *m, const char *(*body)(worker *w)) {
    pthread_t thread[THREADS];
    worker w[THREADS];
    for (int i = 0; i < THREADS; i++) {
        w[i] = (worker){.m = m, .number = i, .body = body};
        assert_int_equal(pthread_create(&thread[i], NULL, start, &w[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < THREADS; i++)
        if (w[i].failed)
            fail_msg("thread %d: %s (%s)", i, w[i].failed, w[i].error);
}

static DLTensor matrix(float *data, int64_t *shape) {
    return (DLTensor){.data = data, .device = {kDLCPU, 0}, .ndim = 2, .dtype = {kDLFloat, 32, 1}, .shape = shape};
}

/* ---- y = relu(x w), of as many rows as the thread likes ---- */

static int64_t columns;                     /* of y */
static float wanted[MOST_ROWS * MOST_COLS]; /* of the largest x */

static void fill(float *x) {
    for (int i = 0; i < MOST_ROWS * INNER; i++)
        x[i] = (float)(i * 5 % 17 - 8) / 8;
}

static const char *asks(const tctune_model *m, worker *w) {
    DLDataType type;
    const int64_t *shape;
    int64_t least, most, multiple;
    int ndim, rows;
    MUST(tctune_num_inputs(m) == 1 && tctune_num_outputs(m) == 1 && tctune_num_kernels(m) >= 1);
    MUST(strcmp(tctune_input(m, 0, &type, &ndim, &shape), "x") == 0 && ndim == 2 && shape[0] == MOST_ROWS);
    MUST(strcmp(tctune_output(m, 0, &type, &ndim, &shape), "y") == 0 && type.bits == 32 && shape[1] == columns);
    MUST(tctune_num_sizes(m) == 1 && strcmp(tctune_size(m, 0, &least, &most, &multiple), "batch") == 0 && most == MOST_ROWS);
    MUST(tctune_grows(m, 0, &rows) == -1);
    const char *const at[] = {"batch=7", NULL};
    int64_t size;
    MUST(tctune_model_sizes(m, at, &size, w->error, sizeof w->error) == TCTUNE_OK && size == 7);
    char *text;
    MUST(tctune_model_report(m, &text, w->error, sizeof w->error) == TCTUNE_OK && *text == '{');
    tctune_text_free(text);
    return NULL;
}

static const char *run_once(worker *w, tctune_context *c, int64_t rows, const float *x) {
    float y[MOST_ROWS * MOST_COLS];
    int64_t in_shape[] = {rows, INNER}, out_shape[] = {MOST_ROWS, columns};
    DLTensor from = matrix((float *)(uintptr_t)x, in_shape), to = matrix(y, out_shape);
    MUST(tctune_context_run(c, &from, &to, w->error, sizeof w->error) == TCTUNE_OK);
    const int64_t *shape = tctune_context_output_shape(c, 0);
    MUST(shape && shape[0] == rows && shape[1] == columns && !tctune_context_output_shape(c, 1));
    for (int64_t i = 0; i < rows * columns; i++)
        MUST(y[i] - wanted[i] < 1e-5f && wanted[i] - y[i] < 1e-5f);
    return NULL;
}

static const char *runs(worker *w, tctune_context *c, const float *x) {
    const char *failed = NULL;
    tctune_kernel_time times[8];
    for (int t = 0; t < TURNS && !failed; t++) {
        int64_t rows = 1 + (w->number * 5 + t) % MOST_ROWS;
        failed = run_once(w, c, rows, x);
        if (failed || t % 4 != w->number)
            continue;
        DLTensor from = matrix((float *)(uintptr_t)x, (int64_t[]){rows, INNER});
        MUST(tctune_num_kernels(w->m) <= 8);
        MUST(tctune_context_profile(c, &from, 2, times, w->error, sizeof w->error) == TCTUNE_OK);
        MUST(times[0].seconds > 0 && times[0].launches >= 1 && *times[0].name);
        failed = asks(w->m, w);
    }
    return failed;
}

static const char *makes_and_runs(worker *w) {
    float x[MOST_ROWS * INNER];
    const char *failed = NULL;
    fill(x);
    for (int k = 0; k < 3 && !failed; k++) { /* contexts come and go while others run */
        tctune_context *c;
        MUST(tctune_context_new(w->m, &c, w->error, sizeof w->error) == TCTUNE_OK);
        failed = runs(w, c, x);
        tctune_context_free(c);
    }
    return failed;
}

/* Runs without a context, beside which nothing else runs. */
static void run_alone(tctune_model *m) {
    tctune_kernel_time times[8];
    float x[MOST_ROWS * INNER];
    const int64_t *most;
    DLDataType type;
    int ndim;
    tctune_output(m, 0, &type, &ndim, &most);
    columns = most[1];
    assert_true(columns <= MOST_COLS);
    fill(x);
    int64_t in_shape[] = {MOST_ROWS, INNER}, out_shape[] = {MOST_ROWS, columns};
    DLTensor from = matrix(x, in_shape), to = matrix(wanted, out_shape);
    assert_int_equal(tctune_output_shape(m, 0)[0], MOST_ROWS);
    OK(tctune_run(m, &from, &to, error, sizeof error));
    in_shape[0] = 3;
    float few[MOST_ROWS * MOST_COLS];
    to.data = few;
    OK(tctune_run(m, &from, &to, error, sizeof error));
    assert_int_equal(tctune_output_shape(m, 0)[0], 3);
    assert_int_equal(tctune_output_shape(m, 0)[1], columns);
    assert_null(tctune_output_shape(m, 1));
    OK(tctune_profile(m, &from, 2, times, error, sizeof error));
    assert_true(times[0].seconds > 0);
}

static void test_one_model(void **state) {
    (void)state;
    tctune_work *w = open_model("symbolic.onnx", NULL, 0);
    tctune_build_options o = {.struct_size = sizeof o, .threads = 1};
    tctune_model *m, *loaded;
    assert_string_equal(tctune_work_assumed(w), "batch=1..16");
    OK(tctune_build(w, &o, &m, error, sizeof error));
    run_alone(m);
    in_threads(m, makes_and_runs);
    OK(tctune_save(m, SCRATCH("api_threads.so"), "net", error, sizeof error));
    OK(tctune_load(SCRATCH("api_threads.so"), 0, &loaded, error, sizeof error));
    run_alone(loaded);
    in_threads(loaded, makes_and_runs);
    tctune_free(loaded);
    tctune_free(m);
    tctune_work_free(w);
}

/* Kernels have threads too: those of several runs at once. */
static void test_kernels_with_threads(void **state) {
    (void)state;
    static const char *const shapes[] = {"batch=1..16", NULL};
    tctune_work *w = open_model("symbolic.onnx", shapes, 0);
    tctune_build_options o = {.struct_size = sizeof o, .threads = 2};
    tctune_model *m;
    assert_string_equal(tctune_work_assumed(w), "");
    OK(tctune_build(w, &o, &m, error, sizeof error));
    tctune_work_free(w);
    run_alone(m);
    in_threads(m, makes_and_runs);
    tctune_free(m);
}

/* ---- a cache that grows ---- */

static const char *grows(worker *w) {
    enum { PAST = 24, NEW = 8, ROWS = PAST + NEW };
    static _Thread_local _Alignas(64) float buffer[ROWS * INNER];
    float x[2 * INNER];
    int rows = -1;
    tctune_context *c;
    MUST(tctune_grows(w->m, 1, &rows) == 0 && rows == 0 && tctune_grows(w->m, 0, &rows) == -1);
    MUST(tctune_grows(w->m, -1, &rows) == -1 && tctune_grows(w->m, 2, &rows) == -1);
    MUST(tctune_context_new(w->m, &c, w->error, sizeof w->error) == TCTUNE_OK);
    const char *failed = NULL;
    for (int64_t past = 0; past <= PAST && !failed; past += 2) {
        int64_t new_shape[] = {2, INNER}, past_shape[] = {past, INNER}, all[] = {ROWS, INNER};
        for (int i = 0; i < 2 * INNER; i++)
            x[i] = (float)(past * INNER + i + w->number);
        DLTensor from[] = {matrix(x, new_shape), matrix(buffer, past_shape)}, to = matrix(buffer, all);
        tctune_status s = tctune_context_run(c, from, &to, w->error, sizeof w->error);
        failed = s == TCTUNE_OK && tctune_context_output_shape(c, 0)[0] == past + 2 ? NULL : "a run";
    }
    for (int i = 0; i < (PAST + 2) * INNER && !failed; i++)
        failed = buffer[i] == (float)(i + w->number) ? NULL : "a row of the cache";
    tctune_context_free(c);
    return failed;
}

static void test_caches(void **state) {
    (void)state;
    static const char *const shapes[] = {"past=0..24", "sequence=1..8", NULL};
    tctune_work *w = open_model("cache.onnx", shapes, 1);
    tctune_build_options o = {.struct_size = sizeof o, .threads = 1};
    tctune_model *m;
    OK(tctune_build(w, &o, &m, error, sizeof error));
    tctune_work_free(w);
    in_threads(m, grows);
    tctune_free(m);
}

/* ---- files with inputs ---- */

static void test_inputs(void **state) {
    (void)state;
    tctune_work *w = open_model("dense.onnx", NULL, 0);
    assert_string_equal(tctune_work_assumed(w), "");
    OK(tctune_work_check_inputs(w, in("x.npz"), error, sizeof error));
    REFUSED(TCTUNE_BAD_INPUT, "dense.onnx", tctune_work_check_inputs(w, in("dense.onnx"), error, sizeof error));
    REFUSED(TCTUNE_BAD_INPUT, "no.npz", tctune_work_check_inputs(w, in("no.npz"), error, sizeof error));
    tctune_work_free(w);
}

int main(void) {
    const char *models = getenv("TCTUNE_TEST_MODELS");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_model),
        cmocka_unit_test(test_kernels_with_threads),
        cmocka_unit_test(test_caches),
        cmocka_unit_test(test_inputs),
    };
    if (!models)
        return 1;
    snprintf(folder, sizeof folder, "%s", models);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
