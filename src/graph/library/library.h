/* src/graph/library owns kernels that are no tensor expressions (sorting, selecting): their C code, which becomes part
 * of built models, and the list of the operators that have one. Not here: generated kernels (src/codegen).
 *
 * This header is the build's side: which operators have a library kernel, and what it is given. */
#ifndef TC_GRAPH_LIBRARY_LIBRARY_H
#define TC_GRAPH_LIBRARY_LIBRARY_H

#include "graph/ir/graph.h"
#include "graph/library/runtime.h"

typedef struct tc_graph_library_kernel {
    tc_graph_op op;
    const char *symbol;
    tc_kernel *run;
    int64_t (*workspace)(const int64_t *params, int32_t nthreads);
    int (*params)(const tc_graph_node *n, int64_t *out); /* writes at most TC_GRAPH_MAX_PARAMS, returns how many */
} tc_graph_library_kernel;

enum { TC_GRAPH_MAX_PARAMS = 32 };
/* Bytes of stack that a kernel takes at most. None is recursive; the frames of all functions together take less (a few have
 * arrays of 2 KiB, and a larger frame is an error of the build). */
enum { TC_GRAPH_LIBRARY_STACK = 16 << 10 };

/* NULL: the operator is lowered to tensor expressions. */
const tc_graph_library_kernel *tc_graph_library_of(tc_graph_op op);
/* What puts a row among those of a Loop (tc_lib_row), with parameters and arguments of its own. */
const tc_graph_library_kernel *tc_graph_library_row(void);
/* C source of all kernels that needs libc only; with TC_LIB_STATIC defined, nothing of it is visible outside. */
void tc_graph_library_text(const char **text, size_t *size);
/* The object that defines all kernels, position-independent code of this machine's architecture that needs libc only. */
void tc_graph_library_object(const void **bytes, size_t *size);

#endif
