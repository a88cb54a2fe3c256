/* What the files of the reference evaluator share. Most operators are evaluated by their expression (eval_lowered.c). */
#ifndef TC_GRAPH_OPS_EVAL_H
#define TC_GRAPH_OPS_EVAL_H

#include "graph/ops/infer.h"

typedef struct tc_graph_eval_ctx {
    const tc_graph_node *n;
    const tc_graph_tensor *const *in; /* NULL where the node's input is */
    tc_graph_tensor *out;             /* allocated and zeroed; data NULL for outputs that are left out */
    tc_error *err;
} tc_graph_eval_ctx;

typedef tc_status tc_graph_eval_fn(tc_graph_eval_ctx *c);
/* Element i of the indices, which are input 1, into a dimension of `dim`: negative ones count from its end. */
tc_status tc_graph_eval_index(const tc_graph_eval_ctx *c, int64_t i, int64_t dim, int64_t *out);

/* Whether so many arrays of widened elements can be had; where not, memory ran out (tc_ran_out). Evaluators need not ask: whoever
 * calls them did. */
bool tc_graph_can_widen(int64_t elements, int arrays);
/* A tensor's elements widened; malloc'ed. */
double *tc_graph_wide_f64(const tc_graph_tensor *t);
int64_t *tc_graph_wide_i64(const tc_graph_tensor *t);

/* Walks an index space in row-major order and keeps up to three linear offsets, each with its own strides, beside it. */
typedef struct tc_graph_walk {
    tc_graph_shape shape;
    int64_t index[TC_GRAPH_MAX_DIMS];
    int64_t at[3];
    int64_t strides[3][TC_GRAPH_MAX_DIMS];
} tc_graph_walk;

static inline void tc_graph_walk_next(tc_graph_walk *w) {
    for (int d = w->shape.ndim - 1; d >= 0; d--) {
        for (int k = 0; k < 3; k++)
            w->at[k] += w->strides[k][d];
        if (++w->index[d] < w->shape.d[d])
            return;
        for (int k = 0; k < 3; k++)
            w->at[k] -= w->strides[k][d] * w->shape.d[d];
        w->index[d] = 0;
    }
}

/* Bytes of what the dimensions from `axis` on hold, and elements of what those before it count. */
size_t tc_graph_tail_bytes(const tc_graph_tensor *t, int axis);
int64_t tc_graph_head_count(const tc_graph_shape *s, int axis);

/* Strides of `s` seen through broadcasting to `to`: 0 along broadcast dims. */
void tc_graph_broadcast_strides(const tc_graph_shape *s, const tc_graph_shape *to, int64_t strides[TC_GRAPH_MAX_DIMS]);

#endif
