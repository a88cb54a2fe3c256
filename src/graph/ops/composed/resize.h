/* src/graph/ops/composed owns the families of operators that inference writes, in C, in terms of others or of library kernels. Not
 * here: those that are texts (src/graph/ir/expansions.txt), and operators with a lowering of their own (src/graph/ops/native).
 *
 * This header is what the two files of Resize share: resize.c, where places and weights are known at import, and resize_run.c,
 * where a run computes them. */
#ifndef TC_GRAPH_OPS_RESIZE_H
#define TC_GRAPH_OPS_RESIZE_H

#include "graph/ops/functions.h"

typedef enum transform {
    HALF_PIXEL,
    HALF_PIXEL_SYMMETRIC,
    PYTORCH_HALF_PIXEL,
    ALIGN_CORNERS,
    ASYMMETRIC,
    TF_HALF_PIXEL_FOR_NN,
    TF_CROP_AND_RESIZE
} transform;

typedef enum rounding { PREFER_FLOOR, PREFER_CEIL, FLOOR, CEIL, SIMPLE } rounding;

typedef enum filter { NEAREST, LINEAR, CUBIC } filter;

typedef struct resize {
    filter mode;
    transform coords;
    rounding round;
    bool antialias, exclude_outside;
    double cubic_a, extrapolation;
    int64_t up[TC_GRAPH_MAX_DIMS], down[TC_GRAPH_MAX_DIMS]; /* the scale is up / down */
    float roi[2][TC_GRAPH_MAX_DIMS];
    bool changes[TC_GRAPH_MAX_DIMS], by_scales;
    const tc_graph_shape *in;
    tc_graph_shape out;
} resize;

/* How a place becomes the number of an element: floor((times * num + ahead * den + extra) / (times * den)) of the place num / den. */
typedef struct tc_graph_rounding {
    int times, ahead, extra;
} tc_graph_rounding;

/* ---- resize.c ---- */
/* Along dimension d. */
tc_graph_rounding tc_graph_resize_rounding(const resize *r, int d);
TC_NODISCARD tc_status tc_graph_resize_modes(tc_graph_infer_ctx *c, resize *r);
/* The axes that scales, sizes and roi speak of, all by default. */
TC_NODISCARD tc_status tc_graph_resize_axes(tc_graph_infer_ctx *c, int *axes, size_t *n);
/* What weighted sums of t are computed in. */
tc_dtype tc_graph_resize_sum_type(tc_dtype t);

/* ---- resize_run.c ---- */
/* One axis: its size in the result, at most `most`, and its scale up / down. All are i64 scalars. */
typedef struct tc_graph_run_axis {
    tc_graph_value *to, *up, *down;
    int64_t most;
} tc_graph_run_axis;
/* May a run compute places and weights? */
bool tc_graph_resize_takes_run(const resize *r);
/* x, resized along dimension d. */
tc_graph_value *tc_graph_resize_in_run(tc_graph_emitter *e, const resize *r, tc_graph_value *x, int d,
                                       const tc_graph_run_axis *a);

#endif
