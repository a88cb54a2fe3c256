/* Library kernels: operators that cannot be tensor expressions, in C with the calling convention of generated kernels
 * (tctune/runtime.h). The operator table (graph/ir/ops.def) names the kernel of each such operator, and kernels.h declares them.
 *
 * args[0] holds the parameters. The other arguments are the node's inputs and then all its outputs. These files are compiled into
 * tctune for models that run in its process, and for constants. They are also joined to one source file. That source becomes an
 * object that every library with such a kernel is linked with, and a part of models that are written as C. Therefore the files
 * depend on libc alone, define no name twice, and keep no state.
 *
 * The order of elements is total everywhere: NaN is the largest, -0 equals 0. */
#ifndef TC_GRAPH_LIBRARY_RUNTIME_H
#define TC_GRAPH_LIBRARY_RUNTIME_H

#include <string.h>

#include "tctune/runtime.h"

/* ---- parameters ---- */

enum { TC_LIB_ATTRS = 6, TC_LIB_DIMS = 8 };

/* Kinds of element types. */
enum { TC_LIB_UNSIGNED, TC_LIB_SIGNED, TC_LIB_FLOAT, TC_LIB_BFLOAT };

/* The type of an input or output. `bytes` is the size of an element. The dimensions are the largest ones. Bit d of `varies` is set
 * where dimension d may be smaller in a run. */
typedef struct tc_lib_type {
    int64_t kind, bytes, rank, varies, dims[TC_LIB_DIMS];
} tc_lib_type;

/* The attributes of the operator's row, in the order of the row: an integer, the bits of a double, or the letters of a text. Then
 * the types of the inputs, and those of the outputs. */
typedef struct tc_lib_params {
    int64_t attr[TC_LIB_ATTRS];
    tc_lib_type type[];
} tc_lib_params;

/* The first eight letters of a text as a number. */
static inline int64_t tc_lib_letters(const char *text) {
    uint64_t v = 0;
    for (int i = 0; i < 8 && text[i]; i++)
        v |= (uint64_t)(uint8_t)text[i] << 8 * i;
    return (int64_t)v;
}

static inline double tc_lib_double(int64_t bits) {
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static inline int64_t tc_lib_count(const tc_lib_type *t) {
    int64_t n = 1;
    for (int64_t d = 0; d < t->rank; d++)
        n *= t->dims[d];
    return n;
}

/* A tensor as [outer, n, inner] around an axis. */
typedef struct tc_lib_rows {
    int64_t outer, n, inner;
} tc_lib_rows;

static inline tc_lib_rows tc_lib_rows_of(const tc_lib_type *t, int64_t axis) {
    tc_lib_rows r = {1, t->dims[axis], 1};
    for (int64_t d = 0; d < axis; d++)
        r.outer *= t->dims[d];
    for (int64_t d = axis + 1; d < t->rank; d++)
        r.inner *= t->dims[d];
    return r;
}

/* ---- what kernels share ---- */

/* Objects of several models may meet in one program: equal definitions are one. In a source of its own a model has its own, out
 * of line, since its memory is reused for values of other types. */
#ifdef TC_LIB_STATIC
#ifdef __GNUC__
#define TC_LIB_API static __attribute__((unused, noinline))
#else
#define TC_LIB_API static
#endif
#define TC_LIB_KERNEL TC_LIB_API
#else
#define TC_LIB_API
#define TC_LIB_KERNEL __attribute__((weak))
#endif

typedef struct tc_lib_pair {
    uint64_t key;
    int64_t index;
} tc_lib_pair;

/* Runs body over [0, n) as rt says; without one on the caller. */
static inline int32_t tc_lib_parallel(const tc_rt *rt, int64_t n, tc_rt_body *body, void *closure) {
    if (rt)
        return rt->parallel_for(rt, n, body, closure);
    body(0, n, 0, closure);
    return 0;
}

static inline int64_t tc_lib_aligned(int64_t bytes) {
    return (bytes + TC_RT_ALIGN - 1) / TC_RT_ALIGN * TC_RT_ALIGN;
}

static inline int64_t tc_lib_min(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* ---- sort.c ---- */

/* keys[i], for i in [0, n): a number whose order is that of element start + i * stride of x. */
TC_LIB_API void tc_lib_keys(const void *x, int64_t kind, int64_t bytes, int64_t start, int64_t stride, int64_t n, uint64_t *keys);
/* Sorts ascending by key; equal keys keep their order. Returns the sorted ones: a or b. */
TC_LIB_API tc_lib_pair *tc_lib_sort_pairs(tc_lib_pair *a, tc_lib_pair *b, int64_t n);

/* ---- require.c ---- */

/* What a run returns that the model refuses: this, plus the number of the refusal. Smaller numbers have other meanings. */
enum { TC_LIB_REFUSED = 256 };

#endif
