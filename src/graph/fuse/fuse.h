/* src/graph/fuse owns the division of a graph's nodes into groups, one kernel each. Not here: the workloads of these kernels and
 * their order (src/graph/program). */
#ifndef TC_GRAPH_FUSE_FUSE_H
#define TC_GRAPH_FUSE_FUSE_H

#include "graph/ops/lower.h"

typedef struct tc_graph_fused {
    tc_graph_group group;
    int nout;
    tc_graph_value **out; /* outputs of the head that other groups or the model's outputs need */
} tc_graph_fused;

/* A piece: a value that is written to its place in a concatenation. */
typedef struct tc_graph_piece {
    tc_graph_value *value, *whole;
    int64_t at; /* bytes from the concatenation's beginning; a multiple of the alignment of kernel arguments */
} tc_graph_piece;

/* A merge: groups that can become fewer kernels. It has groups of contractions, and groups that compute operands for these
 * contractions alone. Each contraction then computes for itself the operands that it reads. */
enum { TC_GRAPH_MERGED = 2, TC_GRAPH_SHARED = 3 };
typedef struct tc_graph_merge {
    int nproducer, producer[TC_GRAPH_MERGED]; /* by number in the list of groups */
    int nanchor, anchor[TC_GRAPH_SHARED];
    tc_graph_fused whole[TC_GRAPH_SHARED]; /* by anchor: where that is, in its place */
} tc_graph_merge;

typedef struct tc_graph_groups {
    int n;
    tc_graph_fused *data; /* in an order of execution */
    const bool *stored;   /* by value id: views that a kernel writes to memory for other readers */
    int npieces;
    const tc_graph_piece *pieces; /* all, and only those, of results that no group makes */
    int nmerges;
    const tc_graph_merge *merges; /* no group is in two of them */
} tc_graph_groups;

/* Requires a verified graph. Every node is in exactly one group, except views and concatenations whose operands are written to
 * their places in them. A view is in a group only if it is an output of the model for which no other value's memory can serve. Only
 * the head of a group is read from outside the group. */
void tc_graph_fuse(const tc_graph *g, tc_arena *a, tc_graph_groups *out);

#endif
