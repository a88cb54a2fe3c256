/* What the files of the reference evaluator share. Most operators are evaluated by their expression (eval_lowered.c). */
#ifndef TC_GRAPH_OPS_EVAL_H
#define TC_GRAPH_OPS_EVAL_H

#include "graph/ops/infer.h"

typedef struct tc_graph_eval_ctx {
    const tc_graph_node *n;
    const tc_graph_tensor *const *in; /* NULL where the node's input is */
    tc_graph_tensor *out;             /* allocated and zeroed; data NULL for outputs that are left out */
    struct tc_graph_budget *budget;   /* of an import that folds the node; else NULL */
    bool is_left;                     /* set by an evaluator that has done nothing, because the import may not spend as much */
    tc_error *err;
} tc_graph_eval_ctx;

typedef tc_status tc_graph_eval_fn(tc_graph_eval_ctx *c);

/* Spends work from the budget of the import: so many elements will be computed. False: the budget has too little left. A little work
 * is free. */
bool tc_graph_spend_work(tc_graph_eval_ctx *c, double work);
/* Whether so many arrays of widened elements can be had; where not, memory ran out (tc_ran_out). Evaluators need not ask: whoever
 * calls them did. */
bool tc_graph_can_widen(int64_t elements, int arrays);
/* A tensor's elements widened; malloc'ed. */
double *tc_graph_wide_f64(const tc_graph_tensor *t);

/* Bytes of what the dimensions from `axis` on hold, and elements of what those before it count. */
size_t tc_graph_tail_bytes(const tc_graph_tensor *t, int axis);
int64_t tc_graph_head_count(const tc_graph_shape *s, int axis);

/* Strides of `s` seen through broadcasting to `to`: 0 along broadcast dims. */
void tc_graph_broadcast_strides(const tc_graph_shape *s, const tc_graph_shape *to, int64_t strides[TC_GRAPH_MAX_DIMS]);

#endif
