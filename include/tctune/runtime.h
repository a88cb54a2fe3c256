/* What generated kernels and the program that calls them agree on. Needs only <stdint.h>: programs that call a built model
 * include it.
 *
 * A kernel is a function `int32_t kernel(void *const *args, uint8_t *workspace, const tc_rt *rt)`.
 *
 *   - args: one pointer per argument, the inputs in order and then the outputs. Each is aligned to 64 bytes and overlaps no other.
 *   - workspace: round_up(shared_bytes, 64) + nthreads * round_up(thread_bytes, 64) bytes, aligned to 64. NULL if that is 0 bytes.
 *   - rt: the threads of the call. NULL: the caller's thread runs everything.
 *
 * A kernel returns 0, or the first non-zero status of parallel_for. It keeps no state: several threads may run the same kernel at
 * once if each call has outputs and a workspace of its own. */
#ifndef TCTUNE_RUNTIME_H
#define TCTUNE_RUNTIME_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TC_RT_ABI = 1, TC_RT_ALIGN = 64 };

/* The threads that a kernel runs on. */
typedef struct tc_rt tc_rt;

/* Does the work for items [begin, end). `thread` is in [0, nthreads), and bodies that run at once have different ones. */
typedef void tc_rt_body(int64_t begin, int64_t end, int32_t thread, void *closure);

/* How a kernel runs its parallel loops. */
struct tc_rt {
    int32_t abi_version; /* TC_RT_ABI */
    int32_t nthreads;    /* >= 1: the number of private workspaces */
    /* Splits [0, n) into at most nthreads contiguous chunks, runs body on each, and returns when all are done. Nested calls run
     * in their caller's thread. */
    int32_t (*parallel_for)(const tc_rt *rt, int64_t n, tc_rt_body *body, void *closure);
    void *impl; /* private to the implementation */
};

/* A kernel. */
typedef int32_t tc_kernel(void *const *args, uint8_t *workspace, const tc_rt *rt);

#ifdef __cplusplus
}
#endif

#endif
