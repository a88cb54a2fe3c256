/* The library kernel that ends a run which the model cannot compute. */
#include "graph/library/runtime.h"

TC_LIB_KERNEL int64_t tc_lib_require_workspace(const int64_t *p, int32_t nthreads) {
    (void)p;
    (void)nthreads;
    return 0;
}

TC_LIB_KERNEL int32_t tc_lib_require(void *const *args, uint8_t *workspace, const tc_rt *rt) {
    const int64_t *p = args[0];
    int64_t holds = *(const uint8_t *)args[1] != 0;
    (void)workspace;
    (void)rt;
    *(uint8_t *)args[2] = (uint8_t)holds;
    return holds == p[0] ? 0 : (int32_t)(TC_LIB_REFUSED + p[1]);
}
