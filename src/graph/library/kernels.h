/* The library kernels that the operator table names. This header is no part of the source that built models get. */
#ifndef TC_GRAPH_LIBRARY_KERNELS_H
#define TC_GRAPH_LIBRARY_KERNELS_H

#include "graph/library/runtime.h"

/* Bytes of scratch memory that a kernel needs with so many threads. */
typedef int64_t tc_lib_workspace(const tc_lib_params *p, int32_t nthreads);

#define OP(...)
#define KERNEL_OP(id, name, since, min_in, max_in, min_out, max_out, traits, infer, eval, at, rewrite, kernel, room, ...)        \
    tc_kernel tc_lib_##kernel;                                                                                                   \
    tc_lib_workspace tc_lib_##room##_workspace;
#include "graph/ir/ops.def"
#undef OP

/* The kernel that appends a row to the result of a Loop. It has parameters of its own (row.c). */
tc_kernel tc_lib_row;

#endif
