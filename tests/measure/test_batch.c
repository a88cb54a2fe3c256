/* Batches against workers that misbehave: whatever happens to a candidate is a record, and the others are measured. */
#include "sample.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "arena.h"
#include "fake_worker.h"
#include "measure/measure.h"
#include "measure/process/allotted.h"
#include "support/log.h"
#include "support/system/fs.h"
#include "support/vec.h"

static tc_meas *make(tc_meas_options o) {
    tc_meas *m;
    tc_error err = {0};
    o.target = "native";
    o.worker_arg = "fake";
    o.builders = 2;
    o.threads = 2;
    if (o.memory_limit == 0)
        o.memory_limit = (uint64_t)3 << 30;
    if (tc_meas_new(&o, &m, &err) != TC_OK)
        fail_msg("%s", err.msg);
    return m;
}

static tc_meas_input input(const char *workload, const char *trace) {
    return (tc_meas_input){.workload = workload, .trace = trace, .workload_hash = tc_meas_text_hash(workload)};
}

typedef struct seen {
    int n, index[64];
} seen;

static void see(void *user, size_t index, const tc_record *r) {
    seen *s = user;
    assert_true(r->error != TC_MEAS_INTERRUPTED);
    s->index[index]++;
    s->n++;
}

typedef struct expectation {
    const char *workload, *trace;
    tc_meas_error error;
    const char *message;
} expectation;

static void check_batch(tc_meas *m, const expectation *e, size_t n) {
    tc_meas_input in[64] = {0};
    tc_record out[64];
    tc_error err = {0};
    seen s = {0};
    for (size_t i = 0; i < n; i++)
        in[i] = input(e[i].workload, e[i].trace);
    if (tc_meas_batch(m, in, n, arena, out, see, &s, &err) != TC_OK)
        fail_msg("%s", err.msg);
    assert_int_equal(s.n, n);
    for (size_t i = 0; i < n; i++) {
        if (out[i].error != e[i].error || !strstr(out[i].message, e[i].message))
            fail_msg("'%s': got %s '%s'", e[i].trace, tc_meas_error_text(out[i].error), out[i].message);
        assert_int_equal(s.index[i], 1);
        assert_string_equal(out[i].trace, e[i].trace);
        assert_string_equal(out[i].workload, e[i].workload);
        assert_int_equal(out[i].threads, 2);
        assert_int_equal(tc_record_ok(&out[i]), e[i].error == TC_MEAS_NONE);
        assert_int_equal(out[i].verified, e[i].error == TC_MEAS_NONE);
        assert_int_equal(isfinite(out[i].median) != 0, e[i].error == TC_MEAS_NONE);
    }
}

/* Whose builders work beside the runner, which is known to take longer. */
static tc_meas *make_overlapping(tc_meas_options o) {
    o.beside = 1;
    tc_meas *m = make(o);
    check_batch(m, &(expectation){"w", "quick 1", TC_MEAS_NONE, ""}, 1);
    return m;
}

static void check_misfortunes(tc_meas *m) {
    const expectation e[] = {
        {"w", "good 1 time=0.5", TC_MEAS_NONE, ""},
        {"w", "build-crash", TC_MEAS_BUILD_CRASH, "signal 11"},
        {"w", "build-exit", TC_MEAS_BUILD_CRASH, "status 5"},
        {"w", "build-hang", TC_MEAS_BUILD_TIMEOUT, "after 1 s"},
        {"w", "build-garbage", TC_MEAS_BUILD_CRASH, "protocol"},
        {"w", "build-empty", TC_MEAS_BUILD_CRASH, "malformed"},
        {"w", "illegal", TC_MEAS_ILLEGAL, "no such loop"},
        {"w", "good 2 time=0.25", TC_MEAS_NONE, ""},
        {"w", "run-crash", TC_MEAS_RUN_CRASH, "about to crash"},
        {"w", "run-hang", TC_MEAS_RUN_TIMEOUT, "after 1 s"},
        {"w", "run-spin", TC_MEAS_RUN_TIMEOUT, "after 1 s"},
        {"w", "run-garbage", TC_MEAS_RUN_FORBIDDEN, "protocol"},
        {"w", "run-cut", TC_MEAS_RUN_CRASH, ""},
        {"w", "run-empty", TC_MEAS_RUN_FORBIDDEN, "malformed"},
        {"w", "work=2", TC_MEAS_RUN_FORBIDDEN, "malformed"},
        {"w", "counted=-1", TC_MEAS_RUN_FORBIDDEN, "malformed"},
        {"w", "counted=nan", TC_MEAS_RUN_FORBIDDEN, "malformed"},
        {"w", "missing=5000", TC_MEAS_RUN_FORBIDDEN, "malformed"}, /* no errno */
        {"w", "wrong", TC_MEAS_WRONG_RESULT, "the reference has 2"},
        {"unpreparable", "good 3", TC_MEAS_RUN_FAILED, "cannot be computed"},
        {"prepare-crash", "good 4", TC_MEAS_RUN_CRASH, "signal 11"},
        {"w", "good 1 time=0.5 ", TC_MEAS_NONE, ""},
    };
    check_batch(m, e, TC_LEN(e));
    check_batch(m, &(expectation){"w", "good 5 time=1", TC_MEAS_NONE, ""}, 1);
    assert_true(tc_meas_get_stats(m).restarts >= 10);
    tc_meas_free(m);
}

/* What others leave to workers: between two looks each runs for a second, and waits for so many. The linker gives this for
 * tc_meas_allotted_of, so that no test depends on who else uses this machine. */
static double crowded;
tc_meas_allotted __wrap_tc_meas_allotted_of(pid_t pid);
tc_meas_allotted __wrap_tc_meas_allotted_of(pid_t pid) {
    static tc_meas_allotted all;
    (void)pid;
    all.ran += 1;
    all.waited += crowded;
    return all;
}

/* What is late because others have the processors is tried once more, when all others have run, and then no verdict. */
static void late_on_a_busy_machine_is_no_verdict(void **state) {
    (void)state;
    const expectation e[] = {{"w", "run-spin 1", TC_MEAS_RUN_LATE, "it had a processor for 10 % of the time"},
                             {"w", "build-hang 2", TC_MEAS_BUILD_LATE, "on a busy machine"},
                             {"w", "good 3 time=0.5", TC_MEAS_NONE, ""}};
    tc_meas *m = make((tc_meas_options){.build_limit = 0.2, .run_limit = 0.2, .beside = -1});
    crowded = 9;
    check_batch(m, e, TC_LEN(e));
    crowded = 0;
    assert_int_equal(tc_meas_get_stats(m).ran, 3);      /* the one that spins, the good one, the one that spins */
    assert_int_equal(tc_meas_get_stats(m).restarts, 2); /* a builder, for its second try, and the runner, for the good one */
    tc_meas_free(m);
}

static void every_misfortune_is_a_record(void **state) {
    (void)state;
    check_misfortunes(make((tc_meas_options){.build_limit = 1, .run_limit = 1, .beside = -1}));
    check_misfortunes(make_overlapping((tc_meas_options){.build_limit = 1, .run_limit = 1}));
}

static void memory_limits(void **state) {
    (void)state;
#ifdef TCTUNE_SANITIZED
    print_message("skipped: memory limits (a sanitizer's shadow is larger than any)\n");
    skip();
#endif
    const expectation e[] = {
        {"w", "build-memory", TC_MEAS_BUILD_MEMORY, "memory ran out"},
        {"w", "run-memory", TC_MEAS_RUN_MEMORY, "memory ran out"},
        {"w", "good", TC_MEAS_NONE, ""},
    };
    tc_meas *m = make((tc_meas_options){.build_limit = 30, .run_limit = 30});
    check_batch(m, e, TC_LEN(e));
    tc_meas_free(m);
}

/* Where the user limits CPU time, a worker that has used it up says nothing about the candidate. */
static void cpu_limits(void **state) {
    (void)state;
    const expectation limited[] = {{"w", "build-cpu", TC_MEAS_BUILD_TIMEOUT, "(ulimit -t)"},
                                   {"w", "run-cpu", TC_MEAS_RUN_FAILED, "(ulimit -t)"},
                                   {"w", "good", TC_MEAS_NONE, ""}},
                      unlimited[] = {{"w", "build-cpu", TC_MEAS_BUILD_CRASH, "CPU time"},
                                     {"w", "run-cpu", TC_MEAS_RUN_CRASH, "CPU time"},
                                     {"w", "good", TC_MEAS_NONE, ""}};
    struct rlimit before, some;
    assert_int_equal(getrlimit(RLIMIT_CPU, &before), 0);
    some = before;
    some.rlim_cur = 1000 * 1000;
    assert_int_equal(setrlimit(RLIMIT_CPU, &some), 0);
    tc_meas *m = make((tc_meas_options){.beside = -1});
    check_batch(m, limited, TC_LEN(limited));
    tc_meas_free(m);
    assert_int_equal(setrlimit(RLIMIT_CPU, &before), 0);
    m = make((tc_meas_options){.beside = -1});
    check_batch(m, unlimited, TC_LEN(unlimited));
    tc_meas_free(m);
}

/* A machine that is short of memory for a moment ends no session. */
static void workers_that_are_killed_while_they_start_are_started_again(void **state) {
    (void)state;
    char *counter;
    assert_int_equal(tc_fs_temp_name(&counter, NULL), TC_OK);
    setenv(FAKE_KILLED, counter, 1);
    setenv(FAKE_KILLS, "3", 1);
    tc_meas *m = make((tc_meas_options){.beside = -1});
    check_batch(m, &(expectation){"w", "good 1", TC_MEAS_NONE, ""}, 1);
    assert_int_equal(tc_meas_get_stats(m).restarts, 3);
    tc_meas_free(m);
    unsetenv(FAKE_KILLED);
    unsetenv(FAKE_KILLS);
    unlink(counter);
    free(counter);
}

static void equal_programs_are_measured_once(void **state) {
    (void)state;
    const expectation e[] = {
        {"w", "same # 1", TC_MEAS_NONE, ""},
        {"w", "same # 2", TC_MEAS_DUPLICATE, ""},
        {"v", "same # 3", TC_MEAS_NONE, ""}, /* of another workload */
    };
    tc_meas *m = make((tc_meas_options){.builders = 0});
    tc_record r;
    tc_meas_input again = input("w", "same # 4");
    check_batch(m, e, 1);
    check_batch(m, e + 1, 2);
    assert_int_equal(tc_meas_kernel_time(m, &again, 5, arena, &r, NULL), TC_OK);
    assert_int_equal(r.error, TC_MEAS_NONE);
    tc_meas_free(m);
}

static void measure_many(tc_meas *m, const char *what) {
    enum { N = 300 };
    tc_meas_input in[N];
    tc_record out[N];
    for (int i = 0; i < N; i++)
        in[i] = input("w", tc_arena_printf(arena, "%s time=%d", what, i + 1));
    assert_int_equal(tc_meas_batch(m, in, N, arena, out, NULL, NULL, NULL), TC_OK);
    for (int i = 0; i < N; i++)
        assert_true(out[i].median == i + 1);
    assert_int_equal(tc_meas_get_stats(m).restarts, 0);
    tc_meas_free(m);
}

static void many_candidates(void **state) {
    (void)state;
    measure_many(make((tc_meas_options){.build_limit = 5, .beside = -1}), "good");
    measure_many(make_overlapping((tc_meas_options){.build_limit = 5}), "quick");
}

/* Measures n candidates on a machine so much slower than at its best; the last one tells how it was to be timed. */
static tc_record measure_under(tc_meas *m, int n, double load, int *serial) {
    tc_record r;
    for (int i = 0; i < n; i++) {
        tc_meas_input in = input("w", tc_arena_printf(arena, "echo %d time=0.001 load=%g", ++*serial, load));
        assert_int_equal(tc_meas_batch(m, &in, 1, arena, &r, NULL, NULL, NULL), TC_OK);
        assert_int_equal(r.error, TC_MEAS_NONE);
    }
    return r;
}

/* While others use the machine, candidates are given up less soon, and get more repeats, of which the fastest count. */
static void a_busy_machine_widens(void **state) {
    (void)state;
    int serial = 0;
    tc_meas *m = make((tc_meas_options){.samples = 5});
    tc_record r = measure_under(m, TC_MEAS_DRIFT_WINDOW + 1, 0, &serial);
    assert_false(tc_meas_get_calm(m).disturbed);
    assert_true(r.ntimes == 5 && r.max_error == 1);
    r = measure_under(m, TC_MEAS_DRIFT_WINDOW + 1, 0.05, &serial); /* the clock drifts as much by itself */
    assert_false(tc_meas_get_calm(m).disturbed);
    assert_true(r.ntimes == 5 && r.max_error == 1);
    r = measure_under(m, TC_MEAS_DRIFT_WINDOW + 1, 1, &serial);
    assert_true(tc_meas_get_calm(m).disturbed && tc_meas_get_calm(m).slowdown == 2);
    assert_true(r.ntimes == 5 && r.max_error == 2);
    r = measure_under(m, TC_MEAS_DRIFT_WINDOW + 1, 0, &serial);
    assert_false(tc_meas_get_calm(m).disturbed);
    assert_true(r.ntimes == 5 && r.max_error == 1);
    tc_meas_free(m);
}

/* The fake kernel takes 1 ms. What would need many times the machine's peak is an error, and nothing less is. */
static void impossible_times_are_errors(void **state) {
    (void)state;
    static const struct {
        double peak, work; /* GFLOP/s, operations */
        tc_meas_error error;
    } cases[] = {{1, 1e15, TC_MEAS_IMPOSSIBLE_TIME},     {1e9, 1e15, TC_MEAS_NONE}, {1e9, 3.9e15, TC_MEAS_NONE},
                 {1e9, 4.1e15, TC_MEAS_IMPOSSIBLE_TIME}, {0, 1e15, TC_MEAS_NONE},   {1, 0, TC_MEAS_NONE}};
    for (size_t i = 0; i < TC_LEN(cases); i++) {
        tc_meas *m = make((tc_meas_options){.samples = 5, .peak_gflops = cases[i].peak});
        tc_meas_input in = input("w", tc_arena_printf(arena, "echo %zu time=0.001", i));
        tc_record r;
        in.work = cases[i].work;
        assert_int_equal(tc_meas_batch(m, &in, 1, arena, &r, NULL, NULL, NULL), TC_OK);
        assert_int_equal(r.error, cases[i].error);
        assert_true(tc_record_ok(&r) == (r.error == TC_MEAS_NONE) && (r.ntimes > 0) == tc_record_ok(&r));
        tc_meas_free(m);
    }
}

static volatile sig_atomic_t stop;

static void stop_after_two(void *user, size_t index, const tc_record *r) {
    (void)index, (void)r;
    if (++*(int *)user == 2)
        stop = 1;
}

static void a_stop_leaves_valid_records(void **state) {
    (void)state;
    tc_meas_input in[4] = {input("w", "a"), input("w", "b"), input("w", "run-hang"), input("w", "c")};
    tc_record out[4];
    int n = 0;
    stop = 0;
    tc_meas *m = make((tc_meas_options){.stop = &stop, .run_limit = 60});
    assert_int_equal(tc_meas_batch(m, in, 4, arena, out, stop_after_two, &n, NULL), TC_OK);
    assert_int_equal(n, 2);
    assert_true(tc_record_ok(&out[0]) && tc_record_ok(&out[1]));
    assert_int_equal(out[2].error, TC_MEAS_INTERRUPTED);
    assert_int_equal(out[3].error, TC_MEAS_INTERRUPTED);
    stop = 0;
    check_batch(m, &(expectation){"w", "d", TC_MEAS_NONE, ""}, 1); /* and it still works */
    tc_meas_free(m);
}

static void stop_at_once(void *user, size_t index, const tc_record *r) {
    (void)user, (void)index, (void)r;
    stop = 1;
}

/* What is built while others run was not built before: after a stop at the first run some never was. */
static void builds_beside_runs(void **state) {
    (void)state;
    enum { N = 64 };
    tc_meas_input in[N];
    tc_record out[N];
    stop = 0;
    tc_meas *m = make_overlapping((tc_meas_options){.stop = &stop});
    for (int i = 0; i < N; i++)
        in[i] = input("w", tc_arena_printf(arena, "quick build-sleep0.2 %d", i));
    assert_int_equal(tc_meas_batch(m, in, N, arena, out, stop_at_once, NULL, NULL), TC_OK);
    assert_int_equal(out[0].error, TC_MEAS_NONE);
    assert_int_equal(out[N - 1].error, TC_MEAS_INTERRUPTED);
    assert_true(tc_meas_get_stats(m).built < N);
    stop = 0;
    check_batch(m, &(expectation){"w", "d", TC_MEAS_NONE, ""}, 1);
    tc_meas_free(m);
}

static void raise_stop(int signal) {
    (void)signal;
    stop = 1;
}

static void a_stop_ends_a_hanging_candidate(void **state) {
    (void)state;
    tc_meas_input in[2] = {input("w", "run-hang"), input("w", "build-hang")};
    tc_record out;
    stop = 0;
    signal(SIGALRM, raise_stop);
    tc_meas *m = make((tc_meas_options){.stop = &stop, .run_limit = 60, .build_limit = 60});
    for (int i = 0; i < 2; i++) {
        stop = 0;
        ualarm(300000, 0);
        assert_int_equal(tc_meas_batch(m, &in[i], 1, arena, &out, NULL, NULL, NULL), TC_OK);
        assert_int_equal(out.error, TC_MEAS_INTERRUPTED);
    }
    tc_meas_free(m);
}

/* What goes wrong or hangs at one size is not run at those that follow. */
static void a_program_that_fails_at_a_size(void **state) {
    (void)state;
    enum { PROGRAMS = 6, POINTS = 3, ROUNDS = 2 };
    static const char *const sizes[POINTS] = {"1", "7", "20"};
    static const struct {
        const char *trace;
        tc_meas_error error[POINTS];
    } of[PROGRAMS] = {{"a time=1", {TC_MEAS_NONE, TC_MEAS_NONE, TC_MEAS_NONE}},
                      {"b at 7 wrong", {TC_MEAS_NONE, TC_MEAS_WRONG_RESULT, TC_MEAS_WRONG_RESULT}},
                      {"c at 7 run-crash", {TC_MEAS_NONE, TC_MEAS_RUN_CRASH, TC_MEAS_RUN_CRASH}},
                      {"d at 1 run-hang", {TC_MEAS_RUN_TIMEOUT, TC_MEAS_RUN_TIMEOUT, TC_MEAS_RUN_TIMEOUT}},
                      {"e build-crash", {TC_MEAS_BUILD_CRASH, TC_MEAS_BUILD_CRASH, TC_MEAS_BUILD_CRASH}},
                      {"a time=1#2", {TC_MEAS_NONE, TC_MEAS_NONE, TC_MEAS_NONE}}}; /* equal programs are the caller's affair */
    tc_meas *m = make((tc_meas_options){.run_limit = 1, .early_stop = -1});
    tc_meas_input in[PROGRAMS];
    tc_record r[PROGRAMS * POINTS];
    seen s = {0};
    tc_error err = {0};
    for (int i = 0; i < PROGRAMS; i++)
        in[i] = input("w", of[i].trace);
    if (tc_meas_over_sizes(m, in, PROGRAMS, sizes, POINTS, ROUNDS, arena, r, see, &s, &err) != TC_OK)
        fail_msg("%s", err.msg);
    assert_int_equal(s.n, PROGRAMS * POINTS);
    for (int i = 0; i < PROGRAMS * POINTS; i++) {
        tc_meas_error want = of[i / POINTS].error[i % POINTS];
        if (r[i].error != want)
            fail_msg("'%s' at %s: got %s '%s'", r[i].trace, r[i].sizes, tc_meas_error_text(r[i].error), r[i].message);
        assert_string_equal(r[i].sizes, sizes[i % POINTS]);
        assert_int_equal(r[i].ntimes, want == TC_MEAS_NONE ? ROUNDS : 0);
        assert_true(want == TC_MEAS_NONE || *r[i].message);
    }
    tc_meas_free(m);
}

/* Where others take the machine for a moment, a program that is as good as any looks slow for a round. Runs are 1 and 2, 3 and 4
 * backwards, 5 and 6. */
static void a_slow_round_is_run_again(void **state) {
    (void)state;
    enum { ROUNDS = 3 };
    static const char *const sizes[] = {"7"};
    static const struct {
        const char *trace;
        size_t times;
    } second[] = {{"b slow-until=1", ROUNDS}, {"b slow-until=2", ROUNDS}, {"b slow-until=3", 2}, {"b slow-until=6", 2}};
    for (size_t i = 0; i < TC_LEN(second); i++) {
        tc_meas *m = make((tc_meas_options){0});
        tc_meas_input in[] = {input("w", "a"), input("w", second[i].trace)};
        tc_record r[2];
        assert_int_equal(tc_meas_over_sizes(m, in, 2, sizes, 1, ROUNDS, arena, r, NULL, NULL, NULL), TC_OK);
        assert_int_equal(r[0].ntimes, ROUNDS);
        assert_int_equal(r[1].ntimes, second[i].times);
        tc_meas_free(m);
    }
}

static void no_worker_is_an_error(void **state) {
    (void)state;
    tc_meas_input in = input("w", "a");
    tc_record out;
    tc_error err = {0};
    tc_meas *m = make((tc_meas_options){.exe = "/no/such/tctune"});
    assert_int_equal(tc_meas_batch(m, &in, 1, arena, &out, NULL, NULL, &err), TC_ENV);
    assert_non_null(strstr(err.msg, "/no/such/tctune"));
    assert_int_equal(out.error, TC_MEAS_INTERRUPTED);
    tc_meas_free(m);
}

static void foreign_targets_cannot_be_measured(void **state) {
    (void)state;
    tc_meas *m;
    tc_error err = {0};
    assert_int_equal(tc_meas_new(&(tc_meas_options){.target = "llvm -mtriple=riscv64-unknown-linux-gnu"}, &m, &err),
                     TC_BAD_INPUT);
    assert_non_null(strstr(err.msg, "does not run on this machine"));
}

/* Who had them built before; one that it has not, and one that says the builder died. */
typedef struct stock {
    const tc_meas_made *made;
    int asked;
    tc_status s;
} stock;

static tc_status supply(void *user, const tc_meas_options *o, const tc_meas_input *const *in, size_t n, tc_arena *a,
                        tc_meas_made *out, tc_error *err) {
    stock *x = user;
    (void)in, (void)a;
    assert_int_equal(o->threads, 2);
    memcpy(out, x->made, n * sizeof *out);
    x->asked++;
    return x->s == TC_OK ? TC_OK : tc_fail(err, x->s, "nobody builds");
}

/* The same records come of objects that were built before, elsewhere, as of those that are built here. */
static void what_others_built_is_run(void **state) {
    (void)state;
    enum { N = 4 };
    tc_meas_made made[N];
    tc_meas_input in[N] = {input("w", "a"), input("w", "build-fail"), input("w", "build-crash"), input("w", "b")};
    tc_record r[N];
    tc_error err = {0};
    stock x = {.made = made};
    tc_meas *builder = make((tc_meas_options){.only_build = true}),
            *m = make((tc_meas_options){.supplier = &(tc_meas_supplier){supply}, .supplied_by = &x});
    assert_int_equal(tc_meas_build(builder, in, N, arena, made, &err), TC_OK);
    assert_true(made[0].error == TC_MEAS_NONE && made[0].size > 0 && made[2].error == TC_MEAS_BUILD_CRASH);
    assert_int_equal(made[2].signal, SIGSEGV);
    made[3].error = TC_MEAS_INTERRUPTED;
    assert_int_equal(tc_meas_batch(m, in, N, arena, r, NULL, NULL, &err), TC_OK);
    assert_true(tc_record_ok(&r[0]) && r[0].verified && r[0].program == made[0].program);
    for (int i = 1; i < N; i++)
        assert_int_equal(r[i].error, made[i].error);
    assert_true(strcmp(r[2].message, made[2].message) == 0 && r[2].signal == SIGSEGV);
    x.s = TC_ENV;
    assert_int_equal(tc_meas_batch(m, in, N, arena, r, NULL, NULL, &err), TC_ENV);
    assert_string_equal(err.msg, "nobody builds");
    for (int i = 0; i < N; i++)
        assert_int_equal(r[i].error, TC_MEAS_INTERRUPTED);
    assert_int_equal(x.asked, 2);
    tc_meas_free(builder);
    tc_meas_free(m);
}

static void what_is_only_built_need_not_run_here(void **state) {
    (void)state;
    tc_meas *m;
    tc_meas_made made;
    tc_meas_input in = input("w", "a");
    tc_error err = {0};
    tc_meas_options o = {.target = "llvm -mtriple=aarch64-linux-gnu -mcpu=generic",
                         .worker_arg = "fake",
                         .memory_limit = (uint64_t)3 << 30,
                         .only_build = true};
    assert_int_equal(tc_meas_new(&o, &m, &err), TC_OK);
    assert_int_equal(tc_meas_build(m, &in, 1, arena, &made, &err), TC_OK);
    assert_int_equal(made.error, TC_MEAS_NONE);
    tc_meas_free(m);
    o.mode = TC_MEAS_SIMULATED;
    assert_int_equal(tc_meas_new(&o, &m, &err), TC_OK);
    assert_int_equal(tc_meas_build(m, &in, 1, arena, &made, &err), TC_BAD_INPUT);
    tc_meas_free(m);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "fake") == 0)
        return fake_worker_main();
    setenv("TCTUNE_CACHE", "off", 1); /* what these workers say is of no machine */
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(every_misfortune_is_a_record),
        TEST(late_on_a_busy_machine_is_no_verdict),
        TEST(memory_limits),
        TEST(cpu_limits),
        TEST(workers_that_are_killed_while_they_start_are_started_again),
        TEST(equal_programs_are_measured_once),
        TEST(many_candidates),
        TEST(a_busy_machine_widens),
        TEST(impossible_times_are_errors),
        TEST(a_stop_leaves_valid_records),
        TEST(builds_beside_runs),
        TEST(a_stop_ends_a_hanging_candidate),
        TEST(a_program_that_fails_at_a_size),
        TEST(a_slow_round_is_run_again),
        TEST(no_worker_is_an_error),
        TEST(foreign_targets_cannot_be_measured),
        TEST(what_others_built_is_run),
        TEST(what_is_only_built_need_not_run_here),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
