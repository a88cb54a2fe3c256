/* Networks: their tasks, models built of them in several ways, run, saved and loaded; a build that is stopped. */
#include "api_common.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char db[] = SCRATCH("api_model.db");

static tctune_work *open_network(void) {
    tctune_work_options o = {.struct_size = sizeof o, .model = getenv("TCTUNE_TEST_NETWORK")};
    tctune_work *w;
    OK(tctune_open(&o, &w, error, sizeof error));
    return w;
}

static int64_t elements(int ndim, const int64_t *shape) {
    int64_t n = 1;
    for (int d = 0; d < ndim; d++)
        n *= shape[d];
    return n;
}

/* The first output for an input of small numbers; malloc'ed. */
static float *run(tctune_model *m, int64_t *n) {
    DLTensor in = {.device = {kDLCPU, 0}}, out = in;
    const int64_t *shape_in, *shape_out;
    int ndim_in, ndim_out;
    assert_non_null(tctune_model_input(m, 0, &in.dtype, &ndim_in, &shape_in));
    assert_non_null(tctune_model_output(m, 0, &out.dtype, &ndim_out, &shape_out));
    int64_t nin = elements(ndim_in, shape_in);
    *n = elements(ndim_out, shape_out);
    float *x = malloc((size_t)nin * sizeof *x), *y = malloc((size_t)*n * sizeof *y);
    for (int64_t i = 0; i < nin; i++)
        x[i] = (float)(i % 7) / 7.0f;
    in.data = x, in.ndim = ndim_in, in.shape = (int64_t *)(uintptr_t)shape_in;
    out.data = y, out.ndim = ndim_out, out.shape = (int64_t *)(uintptr_t)shape_out;
    OK(tctune_model_run(m, &in, &out, error, sizeof error));
    free(x);
    return y;
}

static void same_results(tctune_model *a, tctune_model *b, float tolerance) {
    int64_t n, m;
    float *x = run(a, &n), *y = run(b, &m);
    assert_int_equal(n, m);
    for (int64_t i = 0; i < n; i++)
        assert_true(x[i] - y[i] <= tolerance && y[i] - x[i] <= tolerance);
    free(x);
    free(y);
}

/* Several models of one work, one of which outlives it. */
static void test_builds(void **state) {
    (void)state;
    tctune_work *w = open_network();
    tctune_build_options o = {.struct_size = sizeof o, .threads = 1, .accuracy = "strict"};
    tctune_model *a, *b, *saved;
    assert_true(tctune_work_num_tasks(w) > 1);
    tctune_task t = {.struct_size = sizeof t};
    for (int i = 0; i < tctune_work_num_tasks(w); i++) {
        OK(tctune_work_task(w, i, &t, error, sizeof error));
        int found;
        OK(tctune_work_find_task(w, t.name, &found, error, sizeof error));
        assert_true(found == i && t.weight >= 1 && !t.varying);
        assert_non_null(t.nodes[0]);
    }
    int none;
    assert_int_equal(tctune_work_find_task(w, "none", &none, error, sizeof error), TCTUNE_BAD_INPUT);
    assert_int_equal(none, -1);
    assert_non_null(strstr(error, "no kernel 'none'"));
    OK(tctune_build(w, &o, &a, error, sizeof error));
    o.threads = 2;
    OK(tctune_build(w, &o, &b, error, sizeof error));
    tctune_work_free(w);
    same_results(a, b, 1e-4f);
    OK(tctune_model_save(a, SCRATCH("api_model.so"), "net", error, sizeof error));
    OK(tctune_load(SCRATCH("api_model.so"), 0, &saved, error, sizeof error));
    same_results(a, saved, 0);
    tctune_model_free(a);
    REFUSED(TCTUNE_BAD_INPUT, "", tctune_model_save(saved, SCRATCH("again.so"), NULL, error, sizeof error));
    tctune_model_free(saved);
    tctune_model_free(b);
    tctune_model_free(NULL);
}

/* What a session finds is built in. */
static void test_tuned(void **state) {
    (void)state;
    tctune_work *w = open_network();
    tctune_model *plain, *tuned;
    tctune_tune_options t = {
        .struct_size = sizeof t, .database = db, .trials = 6 * tctune_work_num_tasks(w), .threads = 1, .batch = 6};
    tctune_build_options o = {.struct_size = sizeof o, .threads = 1, .database = db, .require_complete = 1};
    remove_database(db);
    REFUSED(TCTUNE_BAD_INPUT, db, tctune_build(w, &o, &tuned, error, sizeof error));
    OK(tctune_tune(w, &t, error, sizeof error));
    OK(tctune_build(w, &o, &tuned, error, sizeof error));
    OK(tctune_build(w, NULL, &plain, error, sizeof error));
    same_results(plain, tuned, 1e-3f);
    tctune_model_free(plain);
    tctune_model_free(tuned);
    tctune_work_free(w);
}

static int enough(void *user, int done, int total, const char *kernel) {
    assert_true(done >= 1 && done <= total && *kernel);
    ++*(int *)user;
    return 1;
}

/* A signal comes while a kernel is built; then the progress asks to stop as well. */
static int signalled(void *user, int done, int total, const char *kernel) {
    (void)done, (void)total, (void)kernel;
    *(volatile sig_atomic_t *)user = SIGTERM;
    return 1;
}

/* A caller tells by the flag's value why the build ended. */
static void test_stopped(void **state) {
    (void)state;
    tctune_work *w = open_network();
    tctune_model *m;
    volatile sig_atomic_t stop = 0;
    tctune_build_options o = {
        .struct_size = sizeof o, .threads = 1, .progress = signalled, .user = (void *)(uintptr_t)&stop, .stop = &stop};
    assert_int_equal(tctune_build(w, &o, &m, error, sizeof error), TCTUNE_STOPPED);
    assert_int_equal(stop, SIGTERM);
    tctune_work_free(w);
}

static bool file_says(const char *path, const char *what) {
    size_t size = 0, room = 1 << 24;
    char *text = malloc(room);
    FILE *f = fopen(path, "rb");
    if (text && f)
        size = fread(text, 1, room, f);
    assert_true(size > 0 && size < room);
    bool found = memmem(text, size, what, strlen(what)) != NULL;
    fclose(f);
    free(text);
    return found;
}

/* Whose threads a library has. A program that was compiled before there was a choice has what lies behind its struct. */
static void test_team(void **state) {
    (void)state;
    static const struct {
        const char *team;
        size_t size;
        bool openmp;
    } cases[] = {{NULL, sizeof(tctune_build_options), false},
                 {"own", sizeof(tctune_build_options), false},
                 {"openmp", sizeof(tctune_build_options), true},
                 {"openmp", offsetof(tctune_build_options, team), false}};
    tctune_work *w = open_network();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tctune_build_options o = {.struct_size = cases[i].size, .threads = 2, .team = cases[i].team};
        tctune_model *m, *saved;
        OK(tctune_build(w, &o, &m, error, sizeof error));
        OK(tctune_model_save(m, SCRATCH("api_team.so"), "net", error, sizeof error));
        assert_int_equal(file_says(SCRATCH("api_team.so"), "libgomp"), cases[i].openmp);
        OK(tctune_load(SCRATCH("api_team.so"), 0, &saved, error, sizeof error));
        same_results(m, saved, 0);
        tctune_model_free(saved);
        if (i == 1) {
            REFUSED(TCTUNE_BAD_INPUT, "OpenMP's loops", tctune_model_save(m, SCRATCH("api_team.c"), NULL, error, sizeof error));
            assert_int_not_equal(access(SCRATCH("api_team.c"), F_OK), 0);
        }
        tctune_model_free(m);
    }
    tctune_work_free(w);
}

static void test_what_is_wrong(void **state) {
    (void)state;
    int told = 0;
    tctune_work *w = open_network(), *none;
    tctune_model *m;
    tctune_work_options wo = {.struct_size = sizeof wo};
    tctune_build_options o = {.struct_size = sizeof o, .threads = 1, .progress = enough, .user = &told};
    assert_int_equal(tctune_build(w, &o, &m, error, sizeof error), TCTUNE_STOPPED);
    assert_null(m);
    assert_true(told > 0);
    REFUSED(TCTUNE_BAD_INPUT, "nothing to work on", tctune_open(&wo, &none, error, sizeof error));
    wo.model = "/no/such.onnx";
    REFUSED(TCTUNE_BAD_INPUT, "/no/such.onnx", tctune_open(&wo, &none, error, sizeof error));
    wo.te_text = gemm_text;
    REFUSED(TCTUNE_BAD_INPUT, "both", tctune_open(&wo, &none, error, sizeof error));
    wo = (tctune_work_options){.struct_size = sizeof wo, .te_text = "compute Y[i:4] = ", .te = "mine.te"};
    REFUSED(TCTUNE_BAD_INPUT, "mine.te:1", tctune_open(&wo, &none, error, sizeof error));
    o = (tctune_build_options){.struct_size = sizeof o, .error_budget = 0.01};
    REFUSED(TCTUNE_BAD_INPUT, "precision", tctune_build(w, &o, &m, error, sizeof error));
    o = (tctune_build_options){.struct_size = sizeof o, .team = "none"};
    REFUSED(TCTUNE_BAD_INPUT, "own or openmp, not 'none'", tctune_build(w, &o, &m, error, sizeof error));
    o = (tctune_build_options){.struct_size = sizeof o, .threads = 1000000};
    REFUSED(TCTUNE_BAD_INPUT, "1000000 threads cannot be started", tctune_build(w, &o, &m, error, sizeof error));
    tctune_tune_options t = {.struct_size = sizeof t, .database = "none.db", .trials = 1, .threads = 1000000};
    REFUSED(TCTUNE_BAD_INPUT, "1000000 threads cannot be started", tctune_tune(w, &t, error, sizeof error));
    REFUSED(TCTUNE_BAD_INPUT, "1000000 threads cannot be started", tctune_load("none.so", 1000000, &m, error, sizeof error));
    o = (tctune_build_options){.struct_size = sizeof o, .target = "vax"};
    REFUSED(TCTUNE_BAD_INPUT, "vax", tctune_build(w, &o, &m, error, sizeof error));
    o = (tctune_build_options){.struct_size = sizeof o, .database = "/no/such.db"};
    REFUSED(TCTUNE_BAD_INPUT, "/no/such.db", tctune_build(w, &o, &m, error, sizeof error));
    assert_null(m);
    tctune_work_free(w);
}

/* Of one kernel, the sizes that vary are those that its inputs have. */
static void test_sizes_made_of_others(void **state) {
    (void)state;
    static const char joined[] = "symbol P 0..7\nsymbol S 1..4\nsymbol T = P + S\n"
                                 "tensor A[P, 3] f32\ntensor B[S, 3] f32\n"
                                 "compute Y[i:T, j:3] = select(i < P, A[i, j], B[i - P, j])\noutput Y\n";
    static const char given[] = "symbol P 1..7\nsymbol T = P + P\ntensor A[P] f32\ntensor B[T] f32\n"
                                "compute Y[i:P] = A[i] + B[i]\noutput Y\n";
    tctune_build_options o = {.struct_size = sizeof o, .threads = 1};
    tctune_model *m;
    for (int i = 0; i < 2; i++) {
        tctune_work *w = open_text(i ? given : joined);
        REFUSED(TCTUNE_BAD_INPUT, "has the size T, which is computed from other sizes",
                tctune_build(w, &o, &m, error, sizeof error));
        tctune_work_free(w);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_builds), cmocka_unit_test(test_tuned),         cmocka_unit_test(test_stopped),
        cmocka_unit_test(test_team),   cmocka_unit_test(test_what_is_wrong), cmocka_unit_test(test_sizes_made_of_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
