/* The library kernel that ends a run which the model cannot compute: unless the bool, its input, is `expected`. Attributes:
 * expected, and the number of the refusal. The output is a copy of the bool. */
#include "graph/library/kernels.h"

TC_LIB_KERNEL int32_t tc_lib_require(void *const *args, uint8_t *workspace, const tc_rt *rt) {
    const tc_lib_params *p = args[0];
    int64_t holds = *(const uint8_t *)args[1] != 0;
    (void)workspace;
    (void)rt;
    *(uint8_t *)args[2] = (uint8_t)holds;
    return holds == p->attr[0] ? 0 : (int32_t)(TC_LIB_REFUSED + p->attr[1]);
}
