/* A graph's nodes on their way into groups: declarations that the sweeps of fusion share.
 *
 * A node is known by its position in the graph's order, so a list of members is a list of positions. Fusion looks through views
 * (transposes, reshapes): the source of a node's operand is the computed value behind the views. */
#ifndef TC_GRAPH_FUSE_FUSE_INT_H
#define TC_GRAPH_FUSE_FUSE_INT_H

#include "graph/fuse/fuse.h"

/* A kernel takes at most 500 buffers; operands are counted as if all were different. Only concatenations have more than three
 * operands, and they are fused backwards only. The stages of a group are bits of a word (stages.c), so it has fewer than 64
 * nodes. */
enum { TC_FUSE_MAX_GROUP = 48, TC_FUSE_MAX_OPERANDS = 256 };

typedef TC_VEC(int) tc_fuse_nodes; /* positions */

typedef struct tc_fuser {
    /* The graph. */
    const tc_graph *g;
    int n;         /* nodes */
    int *position; /* by node id */
    /* The readers of values. An epilogue that ends in a transposition moves the entries of its reader (tc_fuse_add_epilogue). */
    tc_fuse_nodes *uses; /* by value id: positions of the nodes that read it, through views; a node once per operand */
    int *direct;         /* by value id: how many operands and outputs of the model are the value itself */
    int *reader;         /* by value id: the last node that reads the value itself */
    bool *is_output;     /* by value id: the value, or a view of it, is an output of the model */
    bool *stored;        /* by value id: a view that a kernel writes to memory, so its readers start from the view */
    /* What has been decided. */
    bool *taken;                   /* by position: is in a group, or needs none */
    bool *is_piece;                /* by value id: the value is written to its place in a concatenation */
    TC_VEC(tc_graph_piece) pieces; /* of those */
    /* The group that is being made: the nodes marked with `epoch`. */
    uint64_t *mark; /* by position */
    uint64_t epoch;
} tc_fuser;

/* ---- facts.c ---- */
tc_fuser tc_fuse_open(const tc_graph *g);
void tc_fuse_close(tc_fuser *f);
tc_graph_node *tc_fuse_node(const tc_fuser *f, int at);
tc_graph_class tc_fuse_class(const tc_fuser *f, int at);
/* Shapes without their dimensions of 1. */
bool tc_fuse_same_shape(const tc_graph_shape *a, const tc_graph_shape *b);
bool tc_fuse_is_prefix(const tc_graph_shape *a, const tc_graph_shape *b); /* a's dimensions are the first of b's */
bool tc_fuse_is_view(const tc_graph_node *n);                             /* n may be NULL */
/* The view n moves no element; dimensions of 1 are ignored. */
bool tc_fuse_keeps_order(const tc_graph_node *n);
/* v is only a way to look at another value. */
bool tc_fuse_looks_through(const tc_fuser *f, const tc_graph_value *v);
/* The computed value behind v. The plain form returns NULL if a view between them changes the order of elements. */
const tc_graph_value *tc_fuse_source(const tc_fuser *f, const tc_graph_value *v);
const tc_graph_value *tc_fuse_plain_source(const tc_fuser *f, const tc_graph_value *v);
/* The shape over which a node evaluates its operands. */
const tc_graph_shape *tc_fuse_domain(const tc_graph_node *n);
/* The only node that reads v itself; NULL when there are more, or v is an output. */
tc_graph_node *tc_fuse_only_reader(const tc_fuser *f, const tc_graph_value *v);

/* Begins a group of these. */
void tc_fuse_begin(tc_fuser *f, const tc_fuse_nodes *members);
void tc_fuse_add(tc_fuser *f, tc_fuse_nodes *members, int at);
bool tc_fuse_inside(const tc_fuser *f, int at); /* the group that is being made */
bool tc_fuse_producer_inside(const tc_fuser *f, const tc_graph_value *v);
/* A node outside the group reads an output of the node. */
bool tc_fuse_escapes(const tc_fuser *f, int at);

/* ---- attention.c ---- */
/* The node at `at` is a contraction of rows that another contraction computes. members gets the other contraction and all nodes
 * between the two. */
bool tc_fuse_attention(const tc_fuser *f, int at, tc_fuse_nodes *members);

/* ---- epilogue.c ---- */
/* Makes a group from the contraction at `anchor`, the existing members, and the elementwise nodes behind it. */
void tc_fuse_add_epilogue(tc_fuser *f, int anchor, tc_fuse_nodes *members);

/* ---- chains.c, rows.c ---- */
/* Makes a group from the node at `head` and the producers that join it. */
void tc_fuse_grow(tc_fuser *f, int head, tc_fuse_nodes *members);
/* The result's elements are the elements of the operands, each in one place. */
bool tc_fuse_reads_once(const tc_graph_node *n);
/* The reduction n is over the last dimensions only, so that the remaining dimensions are rows. */
bool tc_fuse_keeps_rows(const tc_graph_node *n);
/* The reduction at `at` joins as a stage of its readers' rows, or as the beginning of an elementwise end. members: the head
 * first. */
bool tc_fuse_reduction_joins(const tc_fuser *f, int at, const tc_fuse_nodes *members);

/* ---- concat.c ---- */
/* Takes the concatenations whose operands are written to their places in the result. */
void tc_fuse_place_concatenations(tc_fuser *f);

/* ---- producers.c ---- */
/* Fills the merges of `all`, which has its groups. */
void tc_fuse_find_merges(tc_fuser *f, tc_arena *a, tc_graph_groups *all);

/* ---- stages.c ---- */
/* Fills group->stage, in `a`. The group is the one that is being made. */
void tc_fuse_choose_stages(const tc_fuser *f, tc_arena *a, tc_graph_group *group);

#endif
