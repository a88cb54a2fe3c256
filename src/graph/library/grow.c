/* Caches that grow in place. */
#include <string.h>

#include "graph/library/runtime.h"

/* Fewer bytes are not worth waking other threads for. */
enum { GROW_ALONE = 1 << 18, GROW_DIMS = 8 };

/* New rows in blocks that are contiguous in both arrays. */
typedef struct grow {
    uint8_t *to;
    const uint8_t *from;
    int64_t block;                                     /* bytes */
    int64_t nouter, count[GROW_DIMS], step[GROW_DIMS]; /* of the dimensions around blocks: elements of new, bytes in the cache */
} grow;

static void grow_blocks(int64_t begin, int64_t end, int32_t thread, void *closure) {
    const grow *x = closure;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        uint8_t *to = x->to;
        int64_t left = i;
        for (int64_t d = x->nouter - 1; d >= 0; d--) {
            to += left % x->count[d] * x->step[d];
            left /= x->count[d];
        }
        memcpy(to, x->from + i * x->block, (size_t)x->block);
    }
}

TC_LIB_KERNEL int64_t tc_lib_grow_workspace(const int64_t *p, int32_t nthreads) {
    (void)p;
    (void)nthreads;
    return 0;
}

TC_LIB_KERNEL int32_t tc_lib_grow(void *const *args, uint8_t *workspace, const tc_rt *rt) {
    const int64_t *p = args[0], ndim = p[1], axis = p[2], *most = p + 3, *varies = most + ndim;
    grow x = {args[1], args[2], .nouter = ndim};
    int64_t blocks = 1, step = p[0];
    int size = 5;
    (void)workspace;
    for (int64_t d = 0; d < ndim; d++)
        x.count[d] = d == axis ? *(const int64_t *)args[4] : varies[d] ? *(const int64_t *)args[size++] : most[d];
    for (int64_t d = ndim - 1; d >= 0; step *= most[d--])
        x.step[d] = step;
    x.to += *(const int64_t *)args[3] * x.step[axis];
    for (x.block = p[0]; x.nouter > 0;) {
        int64_t d = --x.nouter;
        x.block *= x.count[d];
        if (x.count[d] != most[d])
            break;
    }
    for (int64_t d = 0; d < x.nouter; d++)
        blocks *= x.count[d];
    return tc_lib_parallel(blocks * x.block < GROW_ALONE ? NULL : rt, blocks, grow_blocks, &x);
}
