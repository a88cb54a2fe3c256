/* Library kernels: operators that cannot be tensor expressions, in C with the calling convention of generated kernels
 * (tctune/runtime.h).
 *
 * args[0] is an array of i64 parameters. The other arguments are the node's inputs and then all its outputs. These files are
 * compiled into tctune for models that run in its process. They are also joined to one source file. That source becomes an object
 * that every library with such a kernel is linked with, and a part of models that are written as C. Therefore the files depend on
 * libc alone, define no name twice, and keep no state.
 *
 * An element type is two parameters: its kind and its size in bytes. The order of elements is total everywhere: NaN is the largest,
 * -0 equals 0. */
#ifndef TC_GRAPH_LIBRARY_RUNTIME_H
#define TC_GRAPH_LIBRARY_RUNTIME_H

#include "tctune/runtime.h"

/* Kinds of element types. */
enum { TC_LIB_UNSIGNED, TC_LIB_SIGNED, TC_LIB_FLOAT, TC_LIB_BFLOAT };

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

/* TopK of x [outer, n, inner] along the middle: values and i64 indices [outer, k, inner], sorted.
 * Parameters: kind, bytes, outer, n, inner, k, largest. args: params, x, values, indices. */
TC_LIB_API tc_kernel tc_lib_top_k;
TC_LIB_API int64_t tc_lib_top_k_workspace(const int64_t *params, int32_t nthreads);

/* Unique slices of x [outer, n, inner] along the middle, of which only the first `used` (an input) count. Outputs, i64: first[n]
 * (where each unique slice first occurs), inverse[n], counts[n], and how many there are; what is past their number is 0.
 * Parameters: kind, bytes, outer, n, inner, sorted. args: params, x, used, first, inverse, counts, number. */
TC_LIB_API tc_kernel tc_lib_unique;
TC_LIB_API int64_t tc_lib_unique_workspace(const int64_t *params, int32_t nthreads);

/* ---- require.c ---- */

/* What a run returns that the model refuses: this, plus the number of the refusal. Smaller numbers have other meanings. */
enum { TC_LIB_REFUSED = 256 };
/* Ends the run unless the bool is `expected`. Parameters: expected, number of the refusal. args: params, bool, a copy of it. */
TC_LIB_API tc_kernel tc_lib_require;
TC_LIB_API int64_t tc_lib_require_workspace(const int64_t *params, int32_t nthreads);

/* ---- select.c ---- */

/* Coordinates of the elements that are not 0: i64 [rank, n], filled up with zeros, and their number.
 * Parameters: kind, bytes, n, rank, the shape. args: params, x, coordinates, number. */
TC_LIB_API tc_kernel tc_lib_non_zero;
TC_LIB_API int64_t tc_lib_non_zero_workspace(const int64_t *params, int32_t nthreads);

/* Non-maximum suppression: rows (batch, class, box) of i64, filled up with zeros, and their number.
 * Parameters: batches, classes, boxes, center_point_box, most selected per class. args: params, boxes f32, scores f32,
 * max_output_boxes_per_class i64, iou_threshold f32, score_threshold f32, boxes in use i64, rows, number. */
TC_LIB_API tc_kernel tc_lib_nms;
TC_LIB_API int64_t tc_lib_nms_workspace(const int64_t *params, int32_t nthreads);

/* ---- grow.c ---- */

/* New rows, dense in the sizes of the run, in a cache, which is written where it lies: from the start on, whatever it is, and
 * never past as many rows as there are of both; what else there is from the start, or the end of the cache's rows, up to there
 * becomes zero. Parameters: bytes of an element, number of dimensions, which of them are rows, whether there is a start for each
 * element of the first dimension (1) or one for all (0), for each dimension how many elements the cache has, and whether that
 * many there are in a run (0), or what the next of the sizes says (1). args: params, cache, new, starts i64, rows of the cache
 * i64, rows of new i64, sizes i64..., the cache again. */
TC_LIB_API tc_kernel tc_lib_grow;
TC_LIB_API int64_t tc_lib_grow_workspace(const int64_t *params, int32_t nthreads);

/* ---- row.c ---- */

/* Row number `number` of rows that lie densely behind each other. Parameters: bytes of a row but for its sizes that vary, how
 * many of these there are, by which it is multiplied. args: params, row, number i64, sizes i64..., rows. */
TC_LIB_API tc_kernel tc_lib_row;
TC_LIB_API int64_t tc_lib_row_workspace(const int64_t *params, int32_t nthreads);

/* ---- numeric.c ---- */

enum { TC_LIB_REPLACE, TC_LIB_ADD, TC_LIB_MUL, TC_LIB_MAX, TC_LIB_MIN };

/* The Scatter family, one update after the other; an index outside of its dimension updates nothing. Parameters: kind, bytes, how
 * to combine, bytes of an index, number of index tuples, rank, dims[8], axis, depth (0: ScatterElements along the axis, of
 * indices of the shape that follows; else ScatterND with tuples of that length), shape[8]. args: params, data, indices, updates,
 * y. */
TC_LIB_API tc_kernel tc_lib_scatter;
TC_LIB_API int64_t tc_lib_scatter_workspace(const int64_t *params, int32_t nthreads);

/* Running sums of x [outer, n, inner] along the middle. Parameters: kind (no half type), bytes, outer, n, inner, 1 for sums without
 * the element itself, 1 for sums from the end. args: params, x, y. */
TC_LIB_API tc_kernel tc_lib_cum_sum;
TC_LIB_API int64_t tc_lib_cum_sum_workspace(const int64_t *params, int32_t nthreads);

/* Determinants of x [count, n, n]. Parameters: bytes (of f32 or f64), count, n. args: params, x, y. */
TC_LIB_API tc_kernel tc_lib_det;
TC_LIB_API int64_t tc_lib_det_workspace(const int64_t *params, int32_t nthreads);

/* MaxRoiPool. Parameters: bytes (of f32 or f64), images, channels, height, width, regions, pooled height, pooled width, the bits
 * of spatial_scale as f64. args: params, x, rois [regions, 5], y. A region of no image gives 0. */
TC_LIB_API tc_kernel tc_lib_max_roi_pool;
TC_LIB_API int64_t tc_lib_max_roi_pool_workspace(const int64_t *params, int32_t nthreads);

/* RoiAlign with as many samples in a bin as it has pixels. Parameters: bytes (of f32 or f64), images, channels, height, width,
 * regions, output height, output width, 1 for the maximum of the samples' corners or 0 for their mean, 1 for pixels that lie at
 * halves, the bits of spatial_scale as f64. args: params, x, rois [regions, 4], batch_indices i64, y. A region of no image gives
 * 0. */
TC_LIB_API tc_kernel tc_lib_roi_align;
TC_LIB_API int64_t tc_lib_roi_align_workspace(const int64_t *params, int32_t nthreads);

#endif
