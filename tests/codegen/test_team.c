/* The team of threads: every item is done once, whoever takes it; and what becomes of the threads around fork, signals and the end
 * of the library. */
#include "support/cmocka_all.h"
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "codegen/team/embed.h"
#include "codegen/team/team.h"
#include "codegen/team/team_int.h"
#include "support/rng.h"
#include "support/strbuf.h"
#include "support/system/fs.h"
#include "support/vec.h"

enum { MOST_THREADS = 8, MOST_ITEMS = 2000, CORES = 64 };

typedef struct tally {
    _Atomic int done[MOST_ITEMS];
    _Atomic int inside[MOST_THREADS]; /* bodies that run as this thread */
    _Atomic int wrong;
    _Atomic int64_t total;
    int64_t n;
    int threads, work; /* what an item takes */
} tally;

static void count(int64_t begin, int64_t end, int32_t thread, void *user) {
    tally *t = user;
    if (thread < 0 || thread >= t->threads || begin < 0 || end > t->n || begin >= end) {
        atomic_fetch_add(&t->wrong, 1);
        return;
    }
    if (atomic_fetch_add(&t->inside[thread], 1) != 0)
        atomic_fetch_add(&t->wrong, 1);
    for (int64_t i = begin; i < end; i++) {
        for (volatile int k = 0; k < t->work; k++)
            ;
        atomic_fetch_add(&t->done[i], 1);
    }
    atomic_fetch_add(&t->total, end - begin);
    atomic_fetch_sub(&t->inside[thread], 1);
}

static bool run_once(tally *t, int threads, int64_t n, int work) {
    tc_rt rt = {.abi_version = TC_RT_ABI, .nthreads = threads, .parallel_for = tc_team_parallel_for};
    memset(t, 0, sizeof *t);
    t->n = n;
    t->threads = threads;
    t->work = work;
    if (rt.parallel_for(&rt, n, count, t) != 0 || t->wrong || t->total != (n > 0 ? n : 0))
        return false;
    for (int64_t i = 0; i < n; i++)
        if (t->done[i] != 1)
            return false;
    return true;
}

static bool run_many(uint64_t seed, int times) {
    tc_rng rng = tc_rng_seed(seed);
    tally *t = calloc(1, sizeof *t);
    bool right = true;
    for (int i = 0; i < times && right; i++) {
        int threads = 1 + (int)tc_rng_below(&rng, MOST_THREADS);
        int64_t n = tc_rng_below(&rng, 4) ? (int64_t)tc_rng_below(&rng, 40) : (int64_t)tc_rng_below(&rng, MOST_ITEMS);
        right = run_once(t, threads, n, (int)tc_rng_below(&rng, 300));
        if (tc_rng_below(&rng, 500) == 0)
            usleep(7000); /* the threads fall asleep */
    }
    free(t);
    return right;
}

static void test_every_item_once(void **state) {
    (void)state;
    assert_true(run_many(1, 5000));
}

static void *call_many(void *seed) {
    return run_many((uint64_t)(uintptr_t)seed, 1500) ? seed : NULL;
}

static void test_callers_at_once(void **state) {
    (void)state;
    pthread_t t[4];
    for (uintptr_t i = 0; i < TC_LEN(t); i++)
        assert_int_equal(pthread_create(&t[i], NULL, call_many, (void *)(i + 10)), 0);
    for (size_t i = 0; i < TC_LEN(t); i++) {
        void *right;
        pthread_join(t[i], &right);
        assert_non_null(right);
    }
}

/* ---- a thread that gets no further ---- */

typedef struct stuck {
    _Atomic int64_t done, of_others; /* items done; by others than the caller */
    int64_t n;
} stuck;

/* The first part that a thread takes lasts until the caller did all that this thread has not. */
static void get_stuck(int64_t begin, int64_t end, int32_t thread, void *user) {
    stuck *s = user;
    if (thread) {
        atomic_fetch_add(&s->of_others, end - begin);
        while (atomic_load(&s->done) + atomic_load(&s->of_others) < s->n)
            sched_yield();
    } else {
        for (int spins = 0; !atomic_load(&s->of_others) && spins < 1000; spins++)
            usleep(10); /* so that the thread takes something, unless the machine lets it not */
        atomic_fetch_add(&s->done, end - begin);
    }
}

/* Without takeover this would last for ever. */
static void test_takes_over(void **state) {
    (void)state;
    tc_rt rt = {.abi_version = TC_RT_ABI, .nthreads = 2, .parallel_for = tc_team_parallel_for};
    for (int i = 0; i < 50; i++) {
        stuck s = {.n = 16 + i};
        assert_int_equal(rt.parallel_for(&rt, s.n, get_stuck, &s), 0);
        assert_int_equal(s.done + s.of_others, s.n);
    }
}

/* ---- fork ---- */

static bool succeeds(pid_t child) {
    int status = 0;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static _Atomic bool stop_calling;

static void *call_until_stopped(void *unused) {
    (void)unused;
    for (uint64_t seed = 100; !atomic_load(&stop_calling); seed++)
        if (!run_many(seed, 20))
            return NULL;
    return &stop_calling;
}

/* The address sanitizer's malloc is none for children of processes in which another thread allocates. */
#ifdef __SANITIZE_ADDRESS__
static const bool beside = false;
#else
static const bool beside = true;
#endif

static void test_fork(void **state) {
    (void)state;
    pthread_t other;
    void *right = &right;
    atomic_store(&stop_calling, false);
    assert_true(run_many(2, 100));
    if (beside)
        assert_int_equal(pthread_create(&other, NULL, call_until_stopped, NULL), 0);
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(60);
            pid_t grandchild = i % 4 ? -1 : fork();
            _exit(run_many(3, 30) && (grandchild <= 0 || succeeds(grandchild)) ? 0 : 1);
        }
        assert_true(child > 0);
        assert_true(run_many(4, 10));
        assert_true(succeeds(child));
    }
    atomic_store(&stop_calling, true);
    if (beside)
        pthread_join(other, &right);
    assert_non_null(right);
}

/* A child that ends with the functions for the end, whether it used the team or not. */
static void test_child_that_exits(void **state) {
    (void)state;
    assert_true(run_many(5, 50));
    for (int used = 0; used < 2; used++) {
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            alarm(60);
            exit(used && !run_many(6, 30) ? 1 : 0);
        }
        assert_true(succeeds(child));
    }
}

/* ---- signals ---- */

static pthread_t of_program;
static _Atomic int handled, elsewhere;

static void handle_signal(int number) {
    (void)number;
    atomic_fetch_add(pthread_equal(pthread_self(), of_program) ? &handled : &elsewhere, 1);
}

static void test_signals_are_the_programs(void **state) {
    (void)state;
    struct sigaction now = {.sa_handler = handle_signal, .sa_flags = SA_RESTART}, before;
    of_program = pthread_self();
    sigaction(SIGUSR1, &now, &before);
    for (int i = 0; i < 200; i++) {
        assert_true(run_many(200 + (uint64_t)i, 5));
        kill(getpid(), SIGUSR1);
    }
    sigaction(SIGUSR1, &before, NULL);
    assert_true(atomic_load(&handled) > 0);
    assert_int_equal(atomic_load(&elsewhere), 0);
}

/* ---- a library that is closed ---- */

static int threads_of_process(void) {
    DIR *d = opendir("/proc/self/task");
    int n = 0;
    for (struct dirent *e; d && (e = readdir(d));)
        n += e->d_name[0] != '.';
    if (d)
        closedir(d);
    return n;
}

static void test_closed(void **state) {
    (void)state;
    char *dir, path[1200];
    const char *text;
    size_t size;
    tc_strbuf b = {0};
    if (system("cc --version >/dev/null 2>&1") != 0)
        skip();
    tc_team_text(&text, &size);
    tc_error err = {0};
    assert_int_equal(tc_fs_temp_dir(&dir, &err), TC_OK);
    snprintf(path, sizeof path, "%s/team.c", dir);
    assert_int_equal(tc_fs_write(path, text, size, &err), TC_OK);
    tc_sb_printf(&b, "cd %s && cc -std=c17 -O1 -Wall -Wextra -Werror -fPIC -shared team.c -o team.so", dir);
    assert_int_equal(system(tc_sb_str(&b)), 0);
    snprintf(path, sizeof path, "%s/team.so", dir);
    int before = threads_of_process();
    tally *t = calloc(1, sizeof *t);
    for (int i = 0; i < 200; i++) {
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        assert_non_null(library);
        tc_rt rt = {.abi_version = TC_RT_ABI, .nthreads = 2};
        *(void **)&rt.parallel_for = dlsym(library, TC_TEAM_SYMBOL);
        assert_non_null(rt.parallel_for);
        for (int k = 0; k < 3; k++) {
            memset(t, 0, sizeof *t);
            t->n = 100;
            t->threads = 2;
            assert_int_equal(rt.parallel_for(&rt, t->n, count, t), 0);
            assert_int_equal(t->total, 100);
        }
        if (i % 50 == 0)
            usleep(8000); /* asleep */
        dlclose(library);
        for (int k = 0; k < 1000 && threads_of_process() > before; k++)
            usleep(1000); /* threads that were joined are listed a little longer */
        assert_int_equal(threads_of_process(), before);
    }
    pid_t child = fork(); /* no handler of the library's is left */
    if (child == 0)
        _exit(0);
    assert_true(succeeds(child));
    free(t);
    tc_strbuf_free(&b);
    tc_fs_remove_tree(dir);
    free(dir);
}

/* The time alone doubles while it is of use, up to a quarter of a second, and is shared by the threads that are done without. */
static void test_how_long_alone(void **state) {
    (void)state;
    enum { MS = 1000000 };
    for (int threads = 2; threads <= MOST_THREADS; threads++) {
        tc_team *t = aligned_alloc(TC_TEAM_APART, sizeof *t);
        memset(t, 0, sizeof *t);
        t->threads = threads;
        uint64_t when = 100000ull * MS, expected = 16 * MS;
        tc_team_go_alone(t, when, expected);
        assert_int_equal(t->alone_until, when + expected / (uint64_t)(threads - 1));
        for (int again = 0; again < 6; again++) {
            when = t->alone_until + 10 * MS;
            expected = 2 * expected < 250 * MS ? 2 * expected : 250 * MS;
            tc_team_go_alone(t, when, 5 * MS);
            assert_int_equal(t->alone_until, when + expected / (uint64_t)(threads - 1));
            assert_true(t->crowded_until > t->alone_until);
        }
        when = t->alone_until + 500 * MS; /* long ago */
        tc_team_go_alone(t, when, 5 * MS);
        assert_int_equal(t->alone_until, when + 5 * MS / (uint64_t)(threads - 1));
        free(t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_item_once),
                                       cmocka_unit_test(test_callers_at_once),
                                       cmocka_unit_test(test_takes_over),
                                       cmocka_unit_test(test_how_long_alone),
                                       cmocka_unit_test(test_fork),
                                       cmocka_unit_test(test_child_that_exits),
                                       cmocka_unit_test(test_signals_are_the_programs),
                                       cmocka_unit_test(test_closed)};
    tc_team_assume_cores(CORES);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
