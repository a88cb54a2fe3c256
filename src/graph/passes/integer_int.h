/* Shared by the files of the pass integer_kernels: operands of contractions, and constant weights as bytes. */
#ifndef TC_GRAPH_PASSES_INTEGER_INT_H
#define TC_GRAPH_PASSES_INTEGER_INT_H

#include "graph/passes/quantised.h"

/* An operand: `q` minus `zero` (NULL: 0) times `scale` (NULL: 1) is `v`. */
typedef struct tc_graph_factor {
    tc_graph_value *v, *q, *zero, *scale;
} tc_graph_factor;

/* Constant weights by output channel, after the known zero points are subtracted. */
typedef struct tc_graph_weights {
    int64_t n, depth, group; /* output channels, products of a sum, groups of a convolution */
    tc_graph_shape shape;    /* of `value` */
    double *value;           /* weights with their excess */
    double *sum;             /* of a channel's values */
    double *excess;          /* of a channel, without `zero` */
    double *scale;           /* of a channel */
    bool shifted;            /* some excess is not 0 */
    tc_graph_value *zero;    /* zero points that are known at run time only, a part of the excess; NULL: there are none */
    double most;             /* the largest magnitude of a weight */
    tc_dtype dtype;          /* of bytes, where all fit */
} tc_graph_weights;

static inline bool tc_graph_convolves(const tc_graph_node *n) {
    return tc_graph_op_is(n->op, TC_GRAPH_CONVOLUTION);
}
/* One number; true for NULL. */
static inline bool tc_graph_is_scalar(const tc_graph_value *v) {
    return !v || tc_graph_shape_count(&v->shape) == 1;
}
/* Element j of p if there is one for each channel, else its only element; NULL: `otherwise`. */
double tc_graph_parameter(const tc_graph_value *p, bool each, int64_t j, double otherwise);

/* The constant weights f of the contraction n. Those of a MatMul are laid out as [depth, n]; those of a Conv stay [n, ...]. False:
 * they need more than 16 bits, or their scales and zero points are not by output channel. Free w in both cases. */
bool tc_graph_read_weights(const tc_graph_node *n, const tc_graph_factor *f, tc_graph_weights *w);
void tc_graph_free_weights(tc_graph_weights *w);

#endif
