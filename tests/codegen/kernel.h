/* Kernels for tests: parsed from TIR text, compiled for this machine, run on arrays that the harness owns. */
#ifndef TC_TESTS_CODEGEN_KERNEL_H
#define TC_TESTS_CODEGEN_KERNEL_H

#include "codegen/code/code.h"
#include "support/vec.h"

typedef struct kernel {
    tc_ctx *ctx;
    tc_func *f;
    tc_cg_module *mod;
    tc_kernel *fn;
    double compile_seconds;
} kernel;

/* Compiles and loads the function of k. */
tc_status kernel_try(kernel *k, const tc_target *t, const tc_cg_options *o, tc_error *err);
/* All others abort with the message on failure. */
const tc_target *kernel_target(void); /* native, or $TCTUNE_TEST_TARGET; freed at exit */
void kernel_parse(kernel *k, const char *text);
void kernel_compile(kernel *k, const tc_target *t, const tc_cg_options *o);
void kernel_run(const kernel *k, void *const *args, int nthreads);
void kernel_free(kernel *k);
char *kernel_text(const kernel *k, const char *target, tc_cg_stage stage); /* code of a parsed kernel; malloc'ed */
/* Zeroed arrays for each argument of f, aligned to 64 and with guard bytes behind: kernel_free_args aborts when a kernel wrote
 * there. */
void **kernel_args(const tc_func *f);
void **kernel_args_at(const tc_func *f, const int64_t *sizes); /* the same for these sizes, which come last */
/* The same, inputs filled with random numbers of that seed, packed as f wants them, and outputs with others. */
void **kernel_random_args(const tc_workload *w, const tc_func *f, const int64_t *sizes, uint64_t seed);
void kernel_free_args(const tc_func *f, void **args);
/* Whether element i of two arrays is the same, floats as far as the order of their operations leaves open. */
bool kernel_same(tc_dtype t, const void *a, const void *b, int64_t i);
void *kernel_alloc(size_t bytes); /* aligned to 64, zeroed */
/* Seconds: the thread's own time when there is only one thread (other processes then disturb less), else the wall clock's. */
double kernel_clock(int threads);

#endif
