/* Private to the rule of anchors: the plan of an anchor, and the functions that write its schedule. */
#ifndef TC_SPACE_ANCHOR_INT_H
#define TC_SPACE_ANCHOR_INT_H

#include "search_space/space_int.h"

/* A shorter reduction is not blocked. Chosen; not measured apart. */
enum { MIN_BLOCKED_K = 256 };

typedef enum axis_role { AXIS_BATCH, AXIS_ROW, AXIS_VEC } axis_role;

typedef struct anchor_plan {
    const tc_compute *head;      /* whose axes are tiled */
    const tc_compute *op;        /* the reduction (its body; renamed when a write cache is made) */
    stage_ref acc;               /* the stage that reduces */
    int lanes, reads;            /* reads: places at which the head reads the anchor */
    axis_role role[TC_MAX_DIMS]; /* of the head's axes */
    int dim[TC_MAX_DIMS];        /* anchor axis that a head axis walks, -1: none */
    int vec;                     /* head axis that carries the vectors */
    int acc_vec;                 /* anchor axis that carries the vectors */
    const tc_intrinsic *dot;     /* the instruction that takes `group` steps of the last reduction at once; NULL: none, 1 step */
    int group;
    bool inner;         /* its sums are another anchor's terms: all but its last reduction are written out */
    bool blocked;       /* the reduction is blocked outside of a cache tile */
    bool batch_inside;  /* packed operands hold the panels of all batches side by side */
    decision_ref width; /* register width */
    factor panel;       /* columns of a packed operand's panel */
} anchor_plan;

/* ---- anchor_plan.c ---- */
void tc_space_plan(const analysis *an, int head, int anchor, anchor_plan *p);
void tc_space_plan_cluster(const analysis *an, const cluster *c, anchor_plan *p);
/* Dimension of `read` whose index runs with coefficient 1 along v; -1: none. */
int tc_space_dim_along(tc_ctx *ctx, const tc_expr *read, const tc_var *v);
/* Every operand of the reduction depends on axis a. */
bool tc_space_is_batch(const tc_compute *op, int a);
/* The period with which conditions on axis d's index repeat: the stride of a transposed convolution. */
int64_t tc_space_phase_of(const tc_compute *op, int d);
/* Some axis has such a period, and the taps are few enough to be written out. */
bool tc_space_phased(const tc_compute *op);

/* ---- anchor_operands.c ---- */
/* The dot instruction that takes steps of the last reduction; NULL: there is none for this product. */
const tc_intrinsic *tc_space_dot(const analysis *an, const anchor_plan *p);
/* Every operand of the reduction runs along its vector axis, as in a depthwise convolution. */
bool tc_space_lanewise(const analysis *an, const anchor_plan *p);
/* Bytes of the operands that the vector axis does not walk. */
int64_t tc_space_shared_bytes(const analysis *an, const anchor_plan *p);
/* Layouts of constants and packed copies of others, at root or in the loop `task`. */
void tc_space_emit_operands(emitter *e, const anchor_plan *p, loop_ref task);

/* A copy at root of the first operand of tiles: blocks of `height` along dimension dr, then of `depth` along the last one; in a
 * block row after row. */
void tc_space_emit_packed_rows(emitter *e, const anchor_plan *p, const tc_expr *read, int dr, factor height, factor depth);

/* ---- anchor_tile.c ---- */
/* Unrolled reduction steps. */
factor tc_space_sample_unroll(emitter *e, int id, int64_t extent);
/* Loops of the accumulating stage in the full-K form: reduction outside, register tile inside. */
void tc_space_emit_steps(emitter *e, const anchor_plan *p, int id);

/* ---- anchor_tiles.c ---- */
/* The whole anchor for a unit with tiles; false, nothing written: there is none that it fits. */
bool tc_space_emit_tiles(emitter *e, anchor_plan *p);

/* ---- anchor_inner.c ---- */
/* The loops of an anchor that scales and adds up the sums of stage `inner`, and those of that stage. Returns the unit of dot
 * products that takes these sums; NULL: none does. */
const tc_intrinsic *tc_space_emit_inner(emitter *e, const anchor_plan *p, int inner, int id);
/* How far the constants that got a layout since there were `from` of them are prefetched ahead. */
void tc_space_emit_streams(emitter *e, const tc_intrinsic *unit, int id, size_t from);

/* ---- anchor_blocked.c ---- */
/* The loops of the accumulating stage when its tile is a cache block; returns the one over blocks of the reduction. */
loop_ref tc_space_emit_blocked(emitter *e, const anchor_plan *p, int id);

#endif
