/* A library that stays loaded between its turns, and what runs beside it.
 *
 *     latency serve LIBRARY.so THREADS INPUTS INPUT_BYTES OUTPUT_BYTES
 *     latency spin PARENT
 *
 * `serve` runs the library with that many threads. INPUTS is a file with all its inputs, one behind the other; the sizes are lists
 * like 4,1024. It prints {"ready": true} and answers each line of its standard input with a line of JSON:
 *
 *     run K GAP MS   K runs with pauses of GAP microseconds, after one that is not timed, or as many as begin within MS
 *                    milliseconds: {"times_ms": [...]}
 *     count MS N     runs in N threads at once, each with a context of its own, for MS milliseconds: {"runs": R, "ms": T}
 *     quit           ends it
 *
 * `spin` keeps a core busy until its parent, the process with that number, ends. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "library.h"

enum { MOST_ARRAYS = 64, MOST_THREADS = 64, ALIGN = 64 };

typedef struct model {
    void *(*context_new)(void);
    void (*context_free)(void *context);
    int32_t (*context_run)(void *context, const void *const *inputs, void *const *outputs);
    int ninputs, noutputs;
    size_t input_bytes[MOST_ARRAYS], output_bytes[MOST_ARRAYS];
    void *inputs[MOST_ARRAYS];
} model;

/* A context with outputs of its own. */
typedef struct runner {
    const model *m;
    void *context;
    void *outputs[MOST_ARRAYS];
    double until; /* count: seconds of the clock */
    long runs;
} runner;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *memory(size_t bytes) {
    void *p = aligned_alloc(ALIGN, (bytes + ALIGN) / ALIGN * ALIGN);
    if (!p)
        fail("out of memory");
    memset(p, 0, bytes);
    return p;
}

/* ---- the model ---- */

/* Sizes like 4,1024; returns how many. */
static int sizes(const char *list, size_t *bytes) {
    int n = 0;
    for (const char *p = list; *p;) {
        char *end;
        unsigned long long v = strtoull(p, &end, 10);
        if (end == p || v == 0 || (*end && *end != ',') || n == MOST_ARRAYS)
            fail("'%s' is no list of at most %d sizes", list, MOST_ARRAYS);
        bytes[n++] = (size_t)v;
        p = *end ? end + 1 : end;
    }
    return n;
}

static void read_inputs(model *m, const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f)
        fail("%s cannot be read", path);
    for (int i = 0; i < m->ninputs; i++) {
        m->inputs[i] = memory(m->input_bytes[i]);
        if (fread(m->inputs[i], 1, m->input_bytes[i], f) != m->input_bytes[i])
            fail("%s is too short", path);
    }
    fclose(f);
}

static void find(const library *l, const char *ending, void *function) {
    void *symbol = library_symbol(l, ending);
    memcpy(function, &symbol, sizeof symbol);
}

static model open_model(char **argv) {
    library l = library_open(argv[0]);
    model m = {0};
    find(&l, "_context_new", &m.context_new);
    find(&l, "_context_free", &m.context_free);
    find(&l, "_context_run", &m.context_run);
    int32_t *threads = library_symbol(&l, "_threads");
    if (atoi(argv[1]) < 1 || atoi(argv[1]) > *threads)
        fail("%s was built for %d threads, not %s", argv[0], (int)*threads, argv[1]);
    *threads = atoi(argv[1]);
    m.ninputs = sizes(argv[3], m.input_bytes);
    m.noutputs = sizes(argv[4], m.output_bytes);
    read_inputs(&m, argv[2]);
    return m;
}

/* ---- runs ---- */

static runner open_runner(const model *m) {
    runner r = {.m = m, .context = m->context_new()};
    if (!r.context)
        fail("out of memory, or this CPU lacks what the library needs");
    for (int i = 0; i < m->noutputs; i++)
        r.outputs[i] = memory(m->output_bytes[i]);
    return r;
}

static void close_runner(runner *r) {
    for (int i = 0; i < r->m->noutputs; i++)
        free(r->outputs[i]);
    r->m->context_free(r->context);
}

static void run(runner *r) {
    int32_t status = r->m->context_run(r->context, (const void *const *)r->m->inputs, r->outputs);
    if (status)
        fail("a run returned %d", (int)status);
    r->runs++;
}

static void pause_for(long us) {
    struct timespec gap = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    if (us > 0)
        nanosleep(&gap, NULL);
}

/* Times are printed when all are taken. */
static void answer_run(runner *r, long k, long gap, long limit) {
    double *ms = malloc((size_t)k * sizeof *ms), until = now() + 1e-3 * (double)limit;
    long n = 0;
    if (!ms)
        fail("out of memory");
    run(r);
    do {
        pause_for(gap);
        double begin = now();
        run(r);
        ms[n++] = 1e3 * (now() - begin);
    } while (n < k && now() < until);
    printf("{\"times_ms\": [");
    for (long i = 0; i < n; i++)
        printf("%s%.6f", i ? ", " : "", ms[i]);
    printf("]}\n");
    free(ms);
}

static void *run_until(void *argument) {
    runner *r = argument;
    while (now() < r->until)
        run(r);
    return NULL;
}

static void answer_count(const model *m, long ms, int n) {
    pthread_t thread[MOST_THREADS];
    runner runners[MOST_THREADS];
    long runs = 0;
    for (int i = 0; i < n; i++)
        runners[i] = open_runner(m);
    double begin = now();
    for (int i = 0; i < n; i++) {
        runners[i].until = begin + 1e-3 * (double)ms;
        if (pthread_create(&thread[i], NULL, run_until, &runners[i]) != 0)
            fail("a thread cannot be started");
    }
    for (int i = 0; i < n; i++) {
        pthread_join(thread[i], NULL);
        runs += runners[i].runs;
    }
    printf("{\"runs\": %ld, \"ms\": %.3f}\n", runs, 1e3 * (now() - begin));
    for (int i = 0; i < n; i++)
        close_runner(&runners[i]);
}

static void serve(char **argv) {
    model m = open_model(argv);
    runner main_runner = open_runner(&m);
    char line[128];
    printf("{\"ready\": true}\n");
    for (fflush(stdout); fgets(line, sizeof line, stdin); fflush(stdout)) {
        long a, b, c;
        if (strcmp(line, "quit\n") == 0)
            break;
        if (sscanf(line, "run %ld %ld %ld", &a, &b, &c) == 3 && a > 0 && b >= 0 && c > 0)
            answer_run(&main_runner, a, b, c);
        else if (sscanf(line, "count %ld %ld", &a, &b) == 2 && a > 0 && b > 0 && b <= MOST_THREADS)
            answer_count(&m, a, (int)b);
        else
            printf("{\"error\": \"wanted: run K GAP MS, count MS N, quit\"}\n");
    }
    close_runner(&main_runner);
}

static _Noreturn void spin(pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (volatile unsigned x = 0; getppid() == parent;)
        for (int i = 0; i < 1000000; i++)
            x += 1;
    exit(0);
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "spin") == 0)
        spin((pid_t)atol(argv[2]));
    if (argc == 7 && strcmp(argv[1], "serve") == 0) {
        serve(argv + 2);
        return 0;
    }
    fprintf(stderr, "usage: latency serve LIBRARY.so THREADS INPUTS INPUT_BYTES OUTPUT_BYTES | latency spin PARENT\n");
    return 2;
}
