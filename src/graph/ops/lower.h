/* From nodes to tensor expressions, one group of nodes (one kernel) at a time.
 *
 * The idea: every value is a function from coordinates to an expression. An elementwise node composes the functions of its
 * operands; a node that moves data changes the coordinates; a reduction makes a compute and reads it. So a group of any size
 * becomes one expression per stage, transposes and reshapes cost nothing, and what is not in the group is a placeholder.
 *
 * Dimensions of extent 1 are dropped from every tensor: [1,128,768] is a placeholder X[128, 768]. */
#ifndef TC_GRAPH_OPS_LOWER_H
#define TC_GRAPH_OPS_LOWER_H

#include "graph/ir/graph.h"
#include "graph/ops/sized.h"
#include "te/index/affine.h"
#include "te/te.h"

typedef struct tc_graph_lower tc_graph_lower;

/* Value of output `out` of n at idx[0..ndim of that output), as an expression of its dtype. */
typedef const tc_expr *tc_graph_at_fn(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx);

/* One kernel's nodes, in topological order; the last is the head, whose outputs are the only values others read. */
typedef struct tc_graph_group {
    int n;
    tc_graph_node **nodes;
    const bool *stage; /* nodes[i] gets a compute of its own, not a copy in each reader's expression */
} tc_graph_group;

/* A workload and the graph values behind its placeholders and outputs. */
typedef struct tc_graph_lowered {
    const tc_workload *workload;
    const tc_graph_value **in, **out; /* in the arena of the context */
} tc_graph_lowered;

/* TC_BAD_INPUT names the node whose operator has no tensor expression. `outs`: those of the head's outputs that are wanted.
 * `stored` (NULL: none), by value id: views that lie in memory of their own. `sized` (NULL: all sizes are the largest): what is
 * read of values; until it is settled the group's inputs are asked for in it, and there is no workload. */
TC_NODISCARD tc_status tc_graph_lower_group(tc_ctx *c, const tc_graph *g, const bool *stored, tc_graph_sized *sized,
                                            const tc_graph_group *group, int nout, tc_graph_value *const *outs,
                                            tc_graph_lowered *out, tc_error *err);

/* The same workload with dimensions that are always walked together merged (collapse.c). Order of inputs and outputs is kept. */
TC_NODISCARD tc_status tc_graph_collapse(tc_ctx *c, const tc_workload *w, const tc_workload **out, tc_error *err);

/* ---- for the operator families ---- */
tc_ctx *tc_graph_lower_ctx(tc_graph_lower *l);
/* Value v at idx (as many as v has dims). */
const tc_expr *tc_graph_value_at(tc_graph_lower *l, const tc_graph_value *v, const tc_expr *const *idx);
/* The size `v`, an i64 scalar, as a number: the program's own where it has such sizes, else an element like any. */
const tc_expr *tc_graph_size_at(tc_graph_lower *l, const tc_graph_value *v);
/* Operand k of n at the place that broadcasting to a value of `ndim` dims gives it. */
const tc_expr *tc_graph_operand(tc_graph_lower *l, const tc_graph_node *n, int k, int ndim, const tc_expr *const *idx);
tc_axis tc_graph_axis(tc_graph_lower *l, const char *prefix, int number, int64_t extent);
const tc_expr *tc_graph_index(tc_graph_lower *l, const tc_expr *e); /* simplified under the ranges of all axes */
/* i, as the index of one of n elements: one computed of sizes that are no symbols could be any number. */
const tc_expr *tc_graph_index_within(tc_graph_lower *l, const tc_expr *i, int64_t n, bool of_symbols);
/* x / by of floats. A product with the reciprocal takes its place only where that is equal for every x (tc_dtype_inverts). */
const tc_expr *tc_graph_divided(tc_ctx *c, const tc_expr *x, const tc_expr *by);
/* Fails once, at the first reason; the expression returned is a zero of dtype t, so that building can go on. */
const tc_expr *tc_graph_lower_fail(tc_graph_lower *l, const tc_graph_node *n, tc_dtype t, const char *fmt, ...) TC_PRINTF(4, 5);

/* The stages of a node: computes made once and then read. `key` tells several of one node apart. A new one has one axis for every
 * dimension of `shape` that is larger than 1 (for none: one of extent 1); at[] gets the coordinates in all dimensions. */
typedef struct tc_graph_stage {
    const tc_graph_node *node;
    int key;
    tc_graph_shape shape;
    int naxis, nraxis;
    tc_axis axes[TC_MAX_DIMS], raxes[TC_MAX_DIMS];
    const tc_expr *at[TC_GRAPH_MAX_DIMS];
} tc_graph_stage;
/* True when the stage is new: the caller then builds the body and calls tc_graph_stage_end. */
bool tc_graph_stage_begin(tc_graph_lower *l, const tc_graph_node *n, int key, const tc_graph_shape *shape, tc_graph_stage *s);
/* Reduction axis over `extent`; its coordinate (0 when the extent is 1: no axis is made). */
const tc_expr *tc_graph_stage_reduce(tc_graph_lower *l, tc_graph_stage *s, int64_t extent);
/* The same over dimension d of operand k of the stage's node. Where inference masked the operand (tc_graph_read_all), the axis ends
 * at the size of a run. */
const tc_expr *tc_graph_stage_walk(tc_graph_lower *l, tc_graph_stage *s, int k, int d);
void tc_graph_stage_end(tc_graph_lower *l, tc_graph_stage *s, tc_reducer r, int nout, const tc_expr *const *body);
/* Output o of the stage at coordinates of its shape. */
const tc_expr *tc_graph_stage_read(tc_graph_lower *l, const tc_graph_stage *s, int o, const tc_expr *const *idx);

/* Float arithmetic of f16 and bf16 happens in f32: the type to compute t in, and the operand in it. */
static inline tc_dtype tc_graph_wide(tc_dtype t) {
    return t == TC_F16 || t == TC_BF16 ? TC_F32 : t;
}

#endif
