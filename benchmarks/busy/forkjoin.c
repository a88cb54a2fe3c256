/* What a parallel loop costs beside its work: the fork and the join of a team.
 *
 *     forkjoin THREADS TURNS WORK RUNTIME...
 *
 * A RUNTIME is `openmp`, a region of the compiler's OpenMP runtime, or a library that `tctune build` made: its own parallel_for, a
 * local function that is found in the file's table of symbols. FILE.so:NAME is a function of that kind in any library. `flags`
 * shows what the machine allows: threads that spin on a flag each and never sleep, while the main thread waits for them.
 *
 * A loop has WORK microseconds of work for each thread, in items that any thread may take. It costs what it lasts longer. Where WORK
 * is 0, a team whose caller takes over what nobody began costs what one thread needs for that.
 *
 * Between two loops the calling thread computes for 0 to 1000 us, as it does in a kernel that runs on one thread. Runtimes take
 * turns, and each turn begins after a pause, so that no two teams spin at once. Prints a line for each gap and runtime: the least
 * cost in microseconds, the first decile, median, ninth decile, the largest. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "library.h"
#include "tctune/runtime.h"

enum {
    MOST_RUNTIMES = 8,
    MOST_TURNS = 100,
    ITEMS = 16,         /* of a thread */
    REGIONS = 400,      /* timed in a turn, at most */
    WARM = 20,          /* untimed before them: the team starts and wakes */
    TURN_NS = 40000000, /* of gaps in a turn: fewer regions where gaps are long */
    PAUSE_NS = 100000000
};

typedef int32_t parallel_for(const tc_rt *rt, int64_t n, tc_rt_body *body, void *closure);

typedef struct runtime {
    const char *name;
    parallel_for *run;
    double us[MOST_TURNS * REGIONS];
    int n;
} runtime;

/* A cache line for each thread: what a body writes says that it ran. */
typedef struct seen {
    _Alignas(64) int64_t items;
} seen;

/* Steps of work in an item, and what no compiler can leave out. */
static long steps;
static volatile uint64_t result;

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int32_t run_openmp(const tc_rt *rt, int64_t n, tc_rt_body *body, void *closure) {
    int32_t team = rt->nthreads;
#pragma omp parallel for num_threads(team) schedule(static, 1)
    for (int32_t i = 0; i < team; i++)
        body(n * i / team, n * (i + 1) / team, i, closure);
    return 0;
}

/* ---- flags: no more than the cores' caches must exchange ---- */

enum { MOST_THREADS = 256 };

/* What the main thread writes lies on one cache line, what the other one answers on another. */
typedef struct member {
    _Alignas(64) atomic_uint go;
    int32_t team; /* 0: end */
    int64_t n;
    tc_rt_body *body;
    void *closure;
    _Alignas(64) atomic_uint done;
    int32_t id;
} member;

static struct {
    member members[MOST_THREADS];
    pthread_t threads[MOST_THREADS];
} flags;

static void *obey(void *argument) {
    member *m = argument;
    for (unsigned step = 1;; step++) {
        while (atomic_load_explicit(&m->go, memory_order_acquire) != step)
            ;
        if (m->team == 0)
            return NULL;
        m->body(m->n * m->id / m->team, m->n * (m->id + 1) / m->team, m->id, m->closure);
        atomic_store_explicit(&m->done, step, memory_order_release);
    }
}

static unsigned signal_members(int32_t members, int32_t team, int64_t n, tc_rt_body *body, void *closure) {
    unsigned step = atomic_load_explicit(&flags.members[1].go, memory_order_relaxed) + 1;
    for (int32_t i = 1; i < members; i++) {
        member *m = &flags.members[i];
        m->team = team;
        m->n = n;
        m->body = body;
        m->closure = closure;
        atomic_store_explicit(&m->go, step, memory_order_release);
    }
    return step;
}

static int32_t run_flags(const tc_rt *rt, int64_t n, tc_rt_body *body, void *closure) {
    unsigned step = signal_members(rt->nthreads, rt->nthreads, n, body, closure);
    body(0, n / rt->nthreads, 0, closure);
    for (int32_t i = 1; i < rt->nthreads; i++)
        while (atomic_load_explicit(&flags.members[i].done, memory_order_acquire) != step)
            ;
    return 0;
}

/* For a turn alone: threads that spin would disturb the other runtimes. */
static void start_flags(int threads) {
    for (int i = 1; i < threads; i++) {
        member *m = &flags.members[i];
        atomic_store(&m->go, 0);
        atomic_store(&m->done, 0);
        m->id = i;
        if (pthread_create(&flags.threads[i], NULL, obey, m) != 0)
            fail("a thread cannot be started");
    }
}

static void end_flags(int threads) {
    (void)signal_members(threads, 0, 0, NULL, NULL);
    for (int i = 1; i < threads; i++)
        pthread_join(flags.threads[i], NULL);
}

/* ---- turns ---- */

/* A chain of multiplications: nothing but the core's clock decides how long it takes. */
static void do_steps(long n) {
    uint64_t x = (uint64_t)n;
    for (long i = 0; i < n; i++) {
        x = x * 6364136223846793005u + 1;
        __asm__ volatile("" : "+r"(x));
    }
    if (n)
        result = x;
}

static void work(int64_t begin, int64_t end, int32_t thread, void *closure) {
    ((seen *)closure)[thread].items += end - begin;
    do_steps(steps * (end - begin));
}

static void compute_for(int64_t ns) {
    for (int64_t until = now() + ns; ns > 0 && now() < until;)
        ;
}

static int64_t total(const seen *s, int n) {
    int64_t sum = 0;
    for (int i = 0; i < n; i++)
        sum += s[i].items;
    return sum;
}

static void timed_loops(runtime *r, int threads, int64_t gap, seen *s) {
    tc_rt rt = {.abi_version = TC_RT_ABI, .nthreads = threads, .parallel_for = r->run};
    int regions = gap > TURN_NS / REGIONS ? (int)(TURN_NS / gap) : REGIONS;
    int64_t before = total(s, threads);
    for (int i = -WARM; i < regions; i++) {
        compute_for(gap);
        int64_t begin = now();
        if (r->run(&rt, (int64_t)threads * ITEMS, work, s) != 0)
            fail("%s: a loop failed", r->name);
        if (i >= 0)
            r->us[r->n++] = 1e-3 * (double)(now() - begin);
    }
    if (total(s, threads) - before != (int64_t)threads * ITEMS * (regions + WARM))
        fail("%s: a loop did not run each item once", r->name);
}

static void turn(runtime *r, int threads, int64_t gap, seen *s) {
    bool own = r->run == run_flags;
    if (own)
        start_flags(threads);
    timed_loops(r, threads, gap, s);
    if (own)
        end_flags(threads);
    nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* What a loop of one thread's work lasts, with reading the clock: that is taken off. */
static double work_us(void) {
    enum { READS = 1001 };
    static double us[READS];
    for (int i = 0; i < READS; i++) {
        int64_t begin = now();
        do_steps(steps * ITEMS);
        us[i] = 1e-3 * (double)(now() - begin);
    }
    qsort(us, READS, sizeof *us, ascending);
    return us[READS / 2];
}

/* So many that an item lasts 1 / ITEMS of it. */
static void choose_steps(double us) {
    enum { TRIAL = 10000 };
    steps = TRIAL / ITEMS;
    steps = (long)(us / work_us() * TRIAL / ITEMS);
}

static void report(runtime *r, int64_t gap, double off) {
    qsort(r->us, (size_t)r->n, sizeof *r->us, ascending);
    printf("%8.0f", 1e-3 * (double)gap);
    const double at[] = {0, 0.1, 0.5, 0.9, 1};
    for (size_t i = 0; i < sizeof at / sizeof *at; i++)
        printf(" %9.2f", r->us[(int)(at[i] * (r->n - 1))] - off);
    printf("  %s\n", r->name);
    fflush(stdout);
}

static void open_runtime(runtime *r, char *argument) {
    r->name = argument;
    r->run = strcmp(argument, "openmp") == 0 ? run_openmp : strcmp(argument, "flags") == 0 ? run_flags : NULL;
    if (r->run)
        return;
    char *path = strdup(argument), *name = path ? strstr(path, ".so:") : NULL;
    if (!path)
        fail("out of memory");
    if (name) {
        name += strlen(".so");
        *name++ = '\0';
    }
    library l = library_open(path);
    void *symbol = library_symbol(&l, name ? name : "_parallel_for");
    memcpy(&r->run, &symbol, sizeof symbol);
    free(l.file);
}

int main(int argc, char **argv) {
    static const int64_t GAPS[] = {0, 1000, 10000, 30000, 100000, 1000000};
    static runtime runtimes[MOST_RUNTIMES];
    int threads = argc > 1 ? atoi(argv[1]) : 0, turns = argc > 2 ? atoi(argv[2]) : 0, n = argc - 4;
    double us = argc > 3 ? strtod(argv[3], NULL) : 0;
    if (threads < 2 || threads > MOST_THREADS || turns < 1 || turns > MOST_TURNS || !(us >= 0 && us <= 1000) || n < 1 ||
        n > MOST_RUNTIMES) {
        fprintf(stderr,
                "usage: forkjoin THREADS TURNS WORK openmp|flags|LIBRARY.so|FILE.so:FUNCTION...\n"
                "2 to %d threads, at most %d turns, 1000 us of work and %d runtimes\n",
                MOST_THREADS, MOST_TURNS, MOST_RUNTIMES);
        return 2;
    }
    seen *s = aligned_alloc(_Alignof(seen), (size_t)threads * sizeof *s);
    if (!s)
        fail("out of memory");
    memset(s, 0, (size_t)threads * sizeof *s);
    for (int i = 0; i < n; i++)
        open_runtime(&runtimes[i], argv[i + 4]);
    choose_steps(us);
    double off = work_us();
    printf("%d threads; %.3f us, the work and reading the clock, are taken off\n", threads, off);
    printf("%8s %9s %9s %9s %9s %9s  runtime\n", "gap us", "min us", "p10", "median", "p90", "worst");
    for (size_t g = 0; g < sizeof GAPS / sizeof *GAPS; g++) {
        for (int i = 0; i < n; i++)
            runtimes[i].n = 0;
        for (int t = 0; t < turns; t++)
            for (int i = 0; i < n; i++)
                turn(&runtimes[(i + t) % n], threads, GAPS[g], s);
        for (int i = 0; i < n; i++)
            report(&runtimes[i], GAPS[g], off);
    }
    free(s);
    return 0;
}
