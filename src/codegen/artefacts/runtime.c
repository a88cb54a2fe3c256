/* The runtime of this process, and what its OpenMP team, on which other parts of tctune run, does about fork. */
#include <omp.h>
#include <pthread.h>

#include "codegen/artefacts/runtime.h"
#include "codegen/team/team.h"

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
    return (tc_rt){.abi_version = TC_RT_ABI,
                   .nthreads = nthreads > 0 ? nthreads : omp_get_num_procs(),
                   .parallel_for = tc_team_parallel_for,
                   .impl = NULL};
}

tc_rt tc_cg_measuring_runtime(int nthreads) {
    tc_rt rt = tc_cg_runtime(nthreads);
    rt.impl = TC_TEAM_PATIENT;
    return rt;
}
