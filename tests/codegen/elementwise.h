/* Kernels that apply one expression to arrays, built through constructors. */
#ifndef TC_TESTS_CODEGEN_ELEMENTWISE_H
#define TC_TESTS_CODEGEN_ELEMENTWISE_H

#include "kernel.h"

enum { TEST_MAX_IN = 3 };
/* Expression of the loaded operands, all of `lanes` lanes. */
typedef const tc_expr *kernel_map(tc_ctx *c, const tc_expr *const *in, void *user);
typedef struct kernel_output {
    tc_dtype dtype;
    kernel_map *map;
    void *user;
} kernel_output;

/* out[i] = map(in0[i], in1[i], ...) for i < n, `lanes` at a time, one output after another; n must be a multiple of lanes. Many
 * outputs in one kernel cost little more to compile than one. */
void kernel_elementwise_all(kernel *k, int nin, const tc_dtype *in, int nout, const kernel_output *out, int64_t n, int lanes);
/* The same with one output. */
void kernel_elementwise(kernel *k, int nin, const tc_dtype *in, tc_dtype out, int64_t n, int lanes, kernel_map *map, void *user);

#endif
