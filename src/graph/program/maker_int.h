/* A program in the making: declarations that the files of this folder share. */
#ifndef TC_GRAPH_PROGRAM_MAKER_INT_H
#define TC_GRAPH_PROGRAM_MAKER_INT_H

#include "graph/program/launches.h"

/* Kernels that could be launched in place of others; of: without their tasks. */
typedef struct tc_graph_spare {
    const tc_workload *workload[TC_GRAPH_SHARED];
    const char *covers[TC_GRAPH_SHARED];
    tc_graph_origin origin[TC_GRAPH_SHARED];
    double times;
    tc_graph_merging of;
} tc_graph_spare;

/* An array of sizes that launches fill in: the slots of these, and its own. */
typedef struct tc_graph_size_array {
    int n, slot;
    const int *of;
} tc_graph_size_array;

/* A body, where sizes vary. */
typedef struct tc_graph_inside {
    const tc_graph *g;
    tc_graph_sized *sized; /* owned */
    tc_graph_groups groups;
    const tc_graph_value *const *lies; /* by input: the value around it whose memory it is; NULL: there is none */
} tc_graph_inside;

typedef struct tc_graph_maker {
    tc_graph_program *p;
    const tc_graph *g;     /* whose nodes are being added */
    tc_graph_sized *sized; /* which part of its values is computed; NULL: all of all */
    TC_VEC(tc_graph_inside) insides;
    int loops;                          /* within each other that are asked */
    double times;                       /* how often, in a run */
    const bool *merge;                  /* by number of a merge: it is launched as one; NULL: none is */
    int nfound;                         /* merges that fusion found */
    tc_map slot_of;                     /* what a value's memory is known by -> slot */
    tc_map task_of;                     /* hash -> task */
    TC_VEC(tc_graph_size_array) arrays; /* those that are filled in wherever the next launch is reached from */
    TC_VEC(tc_graph_slot) slots;
    TC_VEC(tc_graph_launch) launches;
    TC_VEC(tc_tune_task) tasks;
    TC_VEC(tc_digest) hashes;
    TC_VEC(tc_graph_spare) spares;
    TC_VEC(tc_graph_relation) relations;
} tc_graph_maker;

static inline int64_t tc_graph_value_bytes(const tc_graph_value *v) {
    return tc_graph_shape_count(&v->shape) * tc_dtype_bytes(v->dtype);
}

/* ---- program.c ---- */
tc_graph_program *tc_graph_new_program(const char *name); /* empty */
/* What was made becomes the program's; and the maker's own memory is given back. */
void tc_graph_maker_deliver(tc_graph_maker *m);
void tc_graph_maker_release(tc_graph_maker *m);
/* The number of w's task, a new one where it has none, launched so often. */
int tc_graph_maker_task(tc_graph_maker *m, const tc_workload *w, const char *what, double times);
int tc_graph_maker_add_slot(tc_graph_maker *m, tc_graph_slot s);
/* The value's memory is this slot. */
void tc_graph_maker_bind(tc_graph_maker *m, const tc_graph_value *v, int slot);
int tc_graph_maker_slot(tc_graph_maker *m, const tc_graph_value *v);
bool tc_graph_maker_known(const tc_graph_maker *m, const tc_graph_value *v); /* it has one already */
/* A slot of these numbers, which are not copied. */
int tc_graph_maker_constant(tc_graph_maker *m, const char *name, const int64_t *v, int64_t n);
/* Launches of all nodes of g, whose inputs are bound. */
TC_NODISCARD tc_status tc_graph_maker_add(tc_graph_maker *m, const tc_graph *g, tc_error *err);

/* Launches the library kernel of n. in: slots of its inputs; NULL: those of the values. */
TC_NODISCARD tc_status tc_graph_maker_library(tc_graph_maker *m, const tc_graph_node *n, const int *in, tc_error *err);
/* Is it a workload, not a kernel of the library, bodies, or nothing at all? */
bool tc_graph_is_kernel(const tc_graph_fused *f);
/* Launches the task of w. x: name, what it covers, and arguments, which are copied. */
void tc_graph_maker_launch(tc_graph_maker *m, tc_graph_launch x, const tc_workload *w);

/* ---- sizes.c ---- */
/* The slot of an array of the values of w's symbols, filled in before the next launch. */
int tc_graph_maker_sizes(tc_graph_maker *m, const tc_workload *w);
/* The slot of an array of n i64 scalars: the only one's own, or one that launches fill in from now on. */
int tc_graph_maker_gather(tc_graph_maker *m, int n, const int *slots, const char *name);
/* Notes what the symbols of w, launched as this task, are. */
void tc_graph_maker_relate(tc_graph_maker *m, int task, const tc_workload *w);
/* Asks everybody what they read, the last first; and of a graph all readers of whose results were asked, those within it. */
TC_NODISCARD tc_status tc_graph_maker_ask(tc_graph_maker *m, const tc_graph_groups *groups, tc_error *err);
TC_NODISCARD tc_status tc_graph_maker_ask_groups(tc_graph_maker *m, const tc_graph_groups *groups, tc_error *err);
/* Copies of inputs that kernels read as large as they can be. */
TC_NODISCARD tc_status tc_graph_maker_take_inputs(tc_graph_maker *m, tc_error *err);
/* *slot: where output i lies as callers want it, copied there if need be. *dense: it is as large there as in the run. */
TC_NODISCARD tc_status tc_graph_maker_give_output(tc_graph_maker *m, int i, int *slot, bool *dense, tc_error *err);

/* The symbol that is the size of dimension d of input v; NULL: it does not vary. */
const tc_var *tc_graph_maker_input_size(tc_graph_maker *m, const tc_graph_value *v, int d);
/* Launches a copy of v, which lies in *slot by the sizes from[], to where it lies by to[], zero where only that has elements.
 * *slot: there. */
TC_NODISCARD tc_status tc_graph_maker_copy(tc_graph_maker *m, const tc_graph_value *v, const char *what,
                                           const tc_var *const *from, const tc_var *const *to, int *slot, tc_error *err);
/* The same, to that slot. */
TC_NODISCARD tc_status tc_graph_maker_copy_to(tc_graph_maker *m, const tc_graph_value *v, const char *what,
                                              const tc_var *const *from, const tc_var *const *to, int slot, int to_slot,
                                              tc_error *err);

/* ---- grow.c ---- */
/* Is the result a buffer of the caller's, with new rows in it? */
bool tc_graph_grows(const tc_graph_node *n);
/* Before anybody asks: such buffers are as large as they can be. */
void tc_graph_maker_keep_caches(tc_graph_maker *m);
void tc_graph_maker_ask_new_rows(tc_graph_maker *m, const tc_graph_node *n);
/* Launches what writes new rows. */
TC_NODISCARD tc_status tc_graph_maker_grow(tc_graph_maker *m, const tc_graph_node *n, tc_error *err);
/* Notes whose buffer the output is, if it is one. */
void tc_graph_maker_share(tc_graph_maker *m, int output);

/* ---- bodies.c ---- */
/* The body, if it computes as much as sizes ask for; NULL: all of all. Valid until another is asked. */
const tc_graph_inside *tc_graph_maker_inside(const tc_graph_maker *m, const tc_graph *body);
/* Asks what a node with bodies reads, and in these everybody. */
TC_NODISCARD tc_status tc_graph_maker_ask_bodies(tc_graph_maker *m, const tc_graph_node *n, tc_error *err);
/* The sizes that the kernels of rows read from memory, of which the size is the product, times a number; 0: it is none, or has
 * too many. */
enum { TC_GRAPH_ROW_FACTORS = 4 };
int tc_graph_maker_factors(const tc_var *size, const tc_var *factor[TC_GRAPH_ROW_FACTORS], int64_t *times);
/* Where result k of n's body ends in there, and where in the memory that it has around it, in sizes that the body knows. False:
 * there as here. */
bool tc_graph_maker_result_moves(tc_graph_maker *m, const tc_graph_node *n, int k, const tc_graph *body,
                                 const tc_var *has[TC_GRAPH_MAX_DIMS], const tc_var *want[TC_GRAPH_MAX_DIMS]);
/* Launches a copy of v, of the body, from where it lies by the sizes from[] to where it lies by to[]. */
TC_NODISCARD tc_status tc_graph_maker_copy_inside(tc_graph_maker *m, const tc_graph *body, const tc_graph_value *v,
                                                  const tc_var *const *from, const tc_var *const *to, int slot, int to_slot,
                                                  tc_error *err);

/* ---- control.c ---- */
/* Launches of a node with bodies. */
TC_NODISCARD tc_status tc_graph_maker_control(tc_graph_maker *m, const tc_graph_node *n, tc_error *err);

#endif
