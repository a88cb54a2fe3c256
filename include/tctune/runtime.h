/* What generated kernels and their host agree on. Depends on nothing but <stdint.h>: programs that call a built model include it.
 *
 * A kernel is `int32_t kernel(void *const *args, uint8_t *workspace, const tc_rt *rt)`.
 *
 *   - args: one pointer per argument (inputs in order, then outputs), each aligned to 64 bytes and overlapping no other.
 *   - workspace: round_up(shared_bytes, 64) + nthreads * round_up(thread_bytes, 64) bytes, aligned to 64; NULL when that is 0.
 *   - rt: threads of the call; NULL runs everything on the caller, and counts as one thread.
 *
 * It returns 0, or the first non-zero status of parallel_for. Kernels keep no state: one may run in several threads at once as
 * long as each call has outputs and a workspace of its own. */
#ifndef TCTUNE_RUNTIME_H
#define TCTUNE_RUNTIME_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TC_RT_ABI = 1, TC_RT_ALIGN = 64 };

/* The runtime of a run. */
typedef struct tc_rt tc_rt;

/* Work on items [begin, end). `thread` is in [0, nthreads), and differs between bodies that run at once. */
typedef void tc_rt_body(int64_t begin, int64_t end, int32_t thread, void *closure);

/* What a kernel is given to run its loops with. */
struct tc_rt {
    int32_t abi_version; /* TC_RT_ABI */
    int32_t nthreads;    /* >= 1: how many private workspaces there are */
    /* Runs body over [0, n) in at most nthreads contiguous chunks, and returns when all are done. Nested calls run inline. */
    int32_t (*parallel_for)(const tc_rt *rt, int64_t n, tc_rt_body *body, void *closure);
    void *impl; /* the implementation's own */
};

/* A kernel. */
typedef int32_t tc_kernel(void *const *args, uint8_t *workspace, const tc_rt *rt);

#ifdef __cplusplus
}
#endif

#endif
