/* What fork.h describes. */
#include "measure/machine/fork.h"

#include <stdint.h>

#include "codegen/artefacts/runtime.h"
#include "measure/records/record.h"
#include "support/log.h"
#include "support/vec.h"

enum {
    CALLS = 8, /* of a timing: a fork takes about a microsecond, a look at the clock a twentieth */
    LEAST = 128,
    MOST = 4096 /* timings */
};

static void nothing(int64_t begin, int64_t end, int32_t thread, void *closure) {
    (void)begin, (void)end, (void)thread, (void)closure;
}

static double time_forks(const tc_rt *rt) {
    double start = tc_now();
    for (int i = 0; i < CALLS; i++)
        rt->parallel_for(rt, rt->nthreads, nothing, NULL);
    return (tc_now() - start) / CALLS;
}

double tc_meas_measure_fork(int threads, double seconds) {
    double times[MOST];
    size_t n = 0;
    tc_rt rt = tc_cg_measuring_runtime(threads);
    time_forks(&rt); /* the team is made, or wakes */
    for (double end = tc_now() + (seconds > 0 ? seconds : 0.02); n < MOST && (n < LEAST || tc_now() < end); n++)
        times[n] = time_forks(&rt);
    return tc_meas_median(times, n);
}
