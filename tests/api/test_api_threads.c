/* One model in many threads, built here and loaded: contexts are made, run, asked for shapes and profiled at once, in sizes that
 * differ from thread to thread, while others ask what the model is; and a cache that grows in place, which each thread has its
 * own of. The thread sanitizer looks at it. */
#include "api_common.h"

#include <pthread.h>
#include <stdatomic.h>
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
    OK(tctune_open(&o, &w, error, sizeof error));
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
    MUST(tctune_model_num_inputs(m) == 1 && tctune_model_num_outputs(m) == 1 && tctune_model_num_kernels(m) >= 1);
    MUST(strcmp(tctune_model_input(m, 0, &type, &ndim, &shape), "x") == 0 && ndim == 2 && shape[0] == MOST_ROWS);
    MUST(strcmp(tctune_model_output(m, 0, &type, &ndim, &shape), "y") == 0 && type.bits == 32 && shape[1] == columns);
    MUST(tctune_model_num_sizes(m) == 1 && strcmp(tctune_model_size(m, 0, &least, &most, &multiple), "batch") == 0 &&
         most == MOST_ROWS);
    MUST(tctune_model_grows(m, 0, &rows) == -1);
    const char *const at[] = {"batch=7", NULL};
    int64_t size;
    MUST(tctune_model_sizes_at(m, at, &size, w->error, sizeof w->error) == TCTUNE_OK && size == 7);
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
        MUST(tctune_model_num_kernels(w->m) <= 8);
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
    tctune_model_output(m, 0, &type, &ndim, &most);
    columns = most[1];
    assert_true(columns <= MOST_COLS);
    fill(x);
    int64_t in_shape[] = {MOST_ROWS, INNER}, out_shape[] = {MOST_ROWS, columns};
    DLTensor from = matrix(x, in_shape), to = matrix(wanted, out_shape);
    assert_int_equal(tctune_model_output_shape(m, 0)[0], MOST_ROWS);
    OK(tctune_model_run(m, &from, &to, error, sizeof error));
    in_shape[0] = 3;
    float few[MOST_ROWS * MOST_COLS];
    to.data = few;
    OK(tctune_model_run(m, &from, &to, error, sizeof error));
    assert_int_equal(tctune_model_output_shape(m, 0)[0], 3);
    assert_int_equal(tctune_model_output_shape(m, 0)[1], columns);
    assert_null(tctune_model_output_shape(m, 1));
    OK(tctune_model_profile(m, &from, 2, times, error, sizeof error));
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
    OK(tctune_model_save(m, SCRATCH("api_threads.so"), "net", error, sizeof error));
    OK(tctune_load(SCRATCH("api_threads.so"), 0, &loaded, error, sizeof error));
    run_alone(loaded);
    in_threads(loaded, makes_and_runs);
    tctune_model_free(loaded);
    tctune_model_free(m);
    tctune_work_free(w);
}

/* Windows that have no place: the run says which size would do. */
static void test_too_small_for_windows(void **state) {
    (void)state;
    static const char *const shapes[] = {"n=1..16", NULL};
    static float x[2 * 16], y[2 * 16];
    tctune_work *w = open_model("windows.onnx", shapes, 0);
    tctune_build_options o = {.struct_size = sizeof o, .threads = 1};
    tctune_model *m;
    OK(tctune_build(w, &o, &m, error, sizeof error));
    int64_t in_shape[] = {1, 2, 5}, out_shape[] = {1, 2, 5};
    DLTensor from = {.data = x, .device = {kDLCPU, 0}, .ndim = 3, .dtype = {kDLFloat, 32, 1}, .shape = in_shape}, to = from;
    to.data = y;
    to.shape = out_shape;
    assert_int_equal(tctune_model_run(m, &from, &to, error, sizeof error), TCTUNE_BAD_INPUT);
    assert_non_null(strstr(error, "node 'wide' (LpPool): dimension 2 of 'h', "));
    assert_non_null(strstr(error, "is 2 (n is 5), but it must be at least 3; the next larger n that fits is 7 (dimension 2 of "
                                  "input 'x')"));
    in_shape[2] = 7;
    OK(tctune_model_run(m, &from, &to, error, sizeof error));
    tctune_model_free(m);
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
    tctune_model_free(m);
}

/* ---- a cache that grows ---- */

static const char *grows(worker *w) {
    enum { PAST = 24, NEW = 8, ROWS = PAST + NEW };
    static _Thread_local _Alignas(64) float buffer[ROWS * INNER];
    float x[2 * INNER];
    int rows = -1;
    tctune_context *c;
    MUST(tctune_model_grows(w->m, 1, &rows) == 0 && rows == 0 && tctune_model_grows(w->m, 0, &rows) == -1);
    MUST(tctune_model_grows(w->m, -1, &rows) == -1 && tctune_model_grows(w->m, 2, &rows) == -1);
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
    tctune_model_free(m);
}

/* ---- the log ---- */

/* Of one callback. */
typedef struct listener {
    atomic_int inside, lines, at_once;
    atomic_bool gone; /* another took its place */
    atomic_int late;
} listener;

static void on_line(void *user, tctune_log_level level, const char *line) {
    listener *l = user;
    if (atomic_fetch_add(&l->inside, 1))
        atomic_fetch_add(&l->at_once, 1);
    if (level == TCTUNE_LOG_LEVEL_INFO && strncmp(line, "imported ", 9) == 0)
        atomic_fetch_add(&l->lines, 1);
    if (atomic_load(&l->gone))
        atomic_fetch_add(&l->late, 1);
    atomic_fetch_sub(&l->inside, 1);
}

static const char *opens(worker *w) {
    for (int i = 0; i < TURNS; i++) {
        tctune_work_options o = {.struct_size = sizeof o, .model = in("dense.onnx")};
        tctune_work *work;
        MUST(tctune_open(&o, &work, w->error, sizeof w->error) == TCTUNE_OK);
        tctune_work_free(work);
    }
    return NULL;
}

static void *change_listeners(void *user) {
    listener *l = user;
    for (int i = 0; i < TURNS; i++) {
        char why[512];
        if (tctune_set_log(TCTUNE_LOG_LEVEL_INFO, on_line, &l[i], why, sizeof why) != TCTUNE_OK)
            return NULL;
        if (i)
            atomic_store(&l[i - 1].gone, true);
        usleep(1000);
    }
    return user;
}

/* No line is lost or told twice, calls come one at a time, and a callback that was replaced is not called. */
static void test_log(void **state) {
    (void)state;
    static listener l[TURNS];
    pthread_t thread;
    void *done;
    int lines = 0;
    OK(tctune_set_log(TCTUNE_LOG_LEVEL_INFO, on_line, &l[0], error, sizeof error));
    assert_int_equal(pthread_create(&thread, NULL, change_listeners, l), 0);
    in_threads(NULL, opens);
    pthread_join(thread, &done);
    assert_ptr_equal(done, l);
    OK(tctune_set_log(TCTUNE_LOG_LEVEL_WARN, on_line, &l[0], error, sizeof error));
    for (int i = 0; i < TURNS; i++) {
        lines += l[i].lines;
        assert_true(l[i].at_once == 0 && l[i].late == 0);
    }
    assert_int_equal(lines, THREADS * TURNS);
    tctune_work_free(open_model("dense.onnx", NULL, 0)); /* its line is above the level */
    OK(tctune_set_log(TCTUNE_LOG_LEVEL_DEFAULT, NULL, NULL, error, sizeof error));
    assert_int_equal(l[0].late, 0);
    REFUSED(TCTUNE_BAD_INPUT, "no log level 6", tctune_set_log((tctune_log_level)6, NULL, NULL, error, sizeof error));
    REFUSED(TCTUNE_BAD_INPUT, "no log level -1", tctune_set_log((tctune_log_level)-1, NULL, NULL, error, sizeof error));
}

static void on_line_again(void *user, tctune_log_level level, const char *line) {
    (void)level;
    (void)line;
    *(tctune_status *)user = tctune_set_log(TCTUNE_LOG_LEVEL_NONE, NULL, NULL, error, sizeof error);
}

static void test_log_in_callback(void **state) {
    (void)state;
    tctune_status s = TCTUNE_OK;
    OK(tctune_set_log(TCTUNE_LOG_LEVEL_INFO, on_line_again, &s, error, sizeof error));
    tctune_work_free(open_model("dense.onnx", NULL, 0));
    assert_int_equal(s, TCTUNE_BAD_INPUT);
    OK(tctune_set_log(TCTUNE_LOG_LEVEL_DEFAULT, NULL, NULL, error, sizeof error));
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
        cmocka_unit_test(test_too_small_for_windows),
        cmocka_unit_test(test_kernels_with_threads),
        cmocka_unit_test(test_caches),
        cmocka_unit_test(test_log),
        cmocka_unit_test(test_log_in_callback),
        cmocka_unit_test(test_inputs),
    };
    if (!models)
        return 1;
    snprintf(folder, sizeof folder, "%s", models);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
