/* parallel_for on OpenMP's team: static contiguous chunks, one fork and join per call. GNU's and LLVM's runtimes keep the team
 * spinning for a while after a region, which makes the next fork cost about a microsecond. If not all threads of a team can be
 * started, the team has as many as could be. */
#include <omp.h>
#include <pthread.h>

#include "codegen/artefacts/runtime.h"
#include "support/system/threads.h"

static int32_t run(const tc_rt *rt, int64_t n, tc_rt_body *body, void *closure) {
    if (n <= 0)
        return 0;
    int64_t want = n < rt->nthreads ? n : rt->nthreads;
    if (want == 1 || omp_in_parallel()) {
        body(0, n, 0, closure);
        return 0;
    }
    /* The whole team every time, even when there are fewer items: changing its size costs more than an idle member. */
    int members = tc_threads_startable(rt->nthreads);
#pragma omp parallel num_threads(members)
    {
        int64_t id = omp_get_thread_num(), team = omp_get_num_threads();
        int64_t begin = n * id / team, end = n * (id + 1) / team;
        if (begin < end)
            body(begin, end, (int32_t)id, closure);
    }
    return 0;
}

/* A child has no team, though GNU's runtime believes so and waits for it: the thread that forks gives its team up before, and both
 * processes make new ones. */
static void before_fork(void) {
    omp_pause_resource_all(omp_pause_soft);
}

static void watch_forks(void) {
    pthread_atfork(before_fork, NULL, NULL); /* without memory for it, children have no team */
}

tc_rt tc_cg_runtime(int nthreads) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    return (tc_rt){
        .abi_version = TC_RT_ABI, .nthreads = nthreads > 0 ? nthreads : omp_get_num_procs(), .parallel_for = run, .impl = NULL};
}
