/* What probe.h describes. */
#include "measure/machine/probe.h"

#include <stdlib.h>

#include "measure/machine/peak.h"
#include "support/log.h"
#include "support/system/memory.h"
#include "support/system/threads.h"
#include "support/vec.h"

struct tc_meas_probe {
    int threads;
    int64_t n; /* floats */
    float *memory;
};

enum { LINE_FLOATS = 16 };

tc_meas_probe *tc_meas_probe_new(int threads, int64_t bytes) {
    tc_meas_probe *p = tc_xcalloc(1, sizeof *p);
    p->threads = threads = tc_threads_team(threads);
    p->n = TC_MAX(tc_memory_share(bytes) / (int64_t)sizeof(float), (int64_t)LINE_FLOATS * threads);
    p->memory = tc_try_malloc((size_t)p->n * sizeof *p->memory);
    if (!p->memory) {
        free(p);
        return NULL;
    }
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < p->n; i++)
        p->memory[i] = 1;
    return p;
}

void tc_meas_probe_free(tc_meas_probe *p) {
    if (p)
        free(p->memory);
    free(p);
}

static void compute(const tc_meas_probe *p) {
#pragma omp parallel num_threads(p->threads)
    tc_meas_reference_work();
}

static void pass(const tc_meas_probe *p) {
    float sum = 0;
#pragma omp parallel for simd num_threads(p->threads) schedule(static) reduction(+ : sum)
    for (int64_t i = 0; i < p->n; i++)
        sum += p->memory[i];
    volatile float sink = sum; /* what is computed is needed */
    (void)sink;
}

static double rate(const tc_meas_probe *p, void (*work)(const tc_meas_probe *), double seconds) {
    double start = tc_now(), took = 0;
    int n = 0;
    while (took < seconds || n == 0) {
        work(p);
        n++;
        took = tc_now() - start;
    }
    return took > 0 ? n / took : 0;
}

tc_meas_speeds tc_meas_probe_run(const tc_meas_probe *p, double seconds) {
    compute(p); /* the threads are awake, and the memory is where it stays */
    pass(p);
    return (tc_meas_speeds){.compute = rate(p, compute, seconds), .memory = rate(p, pass, seconds)};
}
