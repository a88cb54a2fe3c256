/* src/graph/library owns kernels that are not tensor expressions (sorting, selecting): their C code, which becomes part of built
 * models, and the list of their operators. Not here: generated kernels (src/codegen).
 *
 * This header is for the build: which operators have a library kernel, and which arguments the kernel gets. */
#ifndef TC_GRAPH_LIBRARY_LIBRARY_H
#define TC_GRAPH_LIBRARY_LIBRARY_H

#include "graph/ir/graph.h"
#include "graph/library/kernels.h"

typedef struct tc_graph_library_kernel {
    const char *name; /* the operator's */
    const char *symbol;
    tc_kernel *run;
    tc_lib_workspace *workspace;
} tc_graph_library_kernel;

/* The most stack that a kernel takes, in bytes. No kernel is recursive. The frames of all functions together are smaller: a few
 * functions have arrays of 2 KiB, and the build refuses larger frames. */
enum { TC_GRAPH_LIBRARY_STACK = 16 << 10 };

/* NULL: the operator's row names no kernel. */
const tc_graph_library_kernel *tc_graph_library_of(tc_graph_op op);
/* What the kernel is told of n, in the arena; *size: in bytes. */
tc_lib_params *tc_graph_library_params(tc_arena *a, const tc_graph_node *n, size_t *size);
/* The kernel that appends a row to the result of a Loop (tc_lib_row). It has parameters and arguments of its own. */
const tc_graph_library_kernel *tc_graph_library_row(void);
/* C source of all kernels. It needs libc only. With TC_LIB_STATIC defined, all its functions are static. */
void tc_graph_library_text(const char **text, size_t *size);
/* An object file with all kernels: position-independent code for this machine's architecture. It needs libc only. */
void tc_graph_library_object(const void **bytes, size_t *size);

#endif
