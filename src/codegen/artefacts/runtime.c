/* parallel_for on OpenMP's team: static contiguous chunks, one fork and join per call. GNU's and LLVM's runtimes keep the team
 * spinning for a while after a region, which makes the next fork cost about a microsecond. */
#include <omp.h>

#include "codegen/artefacts/runtime.h"

static int32_t run(const tc_rt *rt, int64_t n, tc_rt_body *body, void *closure) {
    if (n <= 0)
        return 0;
    int64_t want = n < rt->nthreads ? n : rt->nthreads;
    if (want == 1 || omp_in_parallel()) {
        body(0, n, 0, closure);
        return 0;
    }
    /* The whole team every time, even when there are fewer items: changing its size costs more than an idle member. */
#pragma omp parallel num_threads(rt->nthreads)
    {
        int64_t id = omp_get_thread_num(), team = omp_get_num_threads();
        int64_t begin = n * id / team, end = n * (id + 1) / team;
        if (begin < end)
            body(begin, end, (int32_t)id, closure);
    }
    return 0;
}

tc_rt tc_cg_runtime(int nthreads) {
    return (tc_rt){
        .abi_version = TC_RT_ABI, .nthreads = nthreads > 0 ? nthreads : omp_get_num_procs(), .parallel_for = run, .impl = NULL};
}
