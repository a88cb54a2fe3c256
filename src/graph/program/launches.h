/* The inside of a program: its launches and the memory that they use. */
#ifndef TC_GRAPH_PROGRAM_LAUNCHES_H
#define TC_GRAPH_PROGRAM_LAUNCHES_H

#include "codegen/artefacts/library.h"
#include "graph/fuse/fuse.h"
#include "graph/library/library.h"
#include "graph/program/program.h"

/* A piece of memory that kernels read or write. */
typedef struct tc_graph_slot {
    enum { TC_GRAPH_SLOT_INPUT, TC_GRAPH_SLOT_CONST, TC_GRAPH_SLOT_TEMP } kind;
    const char *name;
    int64_t bytes;
    int input;                       /* INPUT: which */
    const tc_graph_tensor *constant; /* CONST */
    int within;                      /* TEMP: the slot that this is a piece of, else -1 */
    int64_t at;                      /* where in that, in bytes */
} tc_graph_slot;

/* A kernel, a copy, or a decision where to go on (tc_cg_step says what the latter two do with their operands). */
typedef struct tc_graph_launch {
    const char *name;       /* of the head's node */
    const char *covers;     /* operators, in order */
    tc_graph_origin origin; /* nodes of the model that it is made from */
    int task;               /* -1: of a library kernel, or none */
    int nargs;
    /* Slots: the workload's inputs, then its outputs, then, where sizes vary, an array of the values of its symbols; a library
     * kernel's parameters before them. */
    const int *args;
    const tc_graph_library_kernel *library; /* NULL: of a task, or none */
    const tc_lib_params *params;            /* of a kernel that the operator table names */
    tc_cg_step_kind kind;
    int64_t bytes; /* of a copy */
    int target;    /* a launch's number; that of launches: the end */
} tc_graph_launch;

/* Launches that may be fewer (graph/fuse/producers.c): tasks by number, a task once per launch. */
typedef struct tc_graph_merging {
    int number; /* in the order in which fusion finds them */
    int nproducer, producer[TC_GRAPH_MERGED];
    int nanchor, anchor[TC_GRAPH_SHARED], whole[TC_GRAPH_SHARED];
} tc_graph_merging;

/* What the symbols of a task are in some launches of it. */
typedef struct tc_graph_relation {
    int task;
    double times;               /* how often a run launches it so */
    const tc_expr *const *size; /* of each symbol, as the graph has it (graph/ir/sizes.h) */
} tc_graph_relation;

/* The value that an input must have for a run to go on. */
typedef struct tc_graph_needed {
    int input;
    int64_t value;
} tc_graph_needed;

struct tc_graph_program {
    tc_arena *arena;
    tc_ctx *ctx; /* owns all workloads; does not grow once the program is made */
    const char *name;
    int nin, nout, ntask, nslot, nlaunch;
    int nshown;                /* outputs without those that are sizes of others */
    tc_graph_size_rules rules; /* of the inputs; the last of these are the sizes, i64 scalars */
    tc_graph_port *in, *out;
    tc_graph_bundle fixed; /* as tc_graph_program_fixed has them; the graph's */
    int *out_slot;
    int nspare;
    tc_tune_task *tasks;  /* canonical workloads: ntask that are launched, then nspare that could be in place of some of these */
    tc_digest *hashes;    /* of them */
    int nmerging, nfound; /* found: also those that are merged */
    const tc_graph_merging *mergings;
    int nrelation;
    const tc_graph_relation *relations; /* of those whose symbols' sizes are known of the inputs' */
    const tc_var *const *size_var;      /* by rule: what relations have for that size divided by its multiple */
    tc_graph_slot *slots;
    tc_graph_launch *launches;      /* in order of execution */
    TC_VEC(tc_graph_tensor) owned;  /* constants that belong to the program */
    TC_VEC(tc_graph_needed) needed; /* inputs without which runs are refused */
    TC_VEC(const char *) refusals;  /* by number: why a run is refused (tc_lib_require) */
    TC_VEC(const char *) drawn;     /* names of those that are random, as nobody gave values */
};

/* The slot that this one is a piece of, or a piece of a piece; itself where it is whole. *at: where in it, in bytes. */
static inline int tc_graph_whole_of(const tc_graph_program *p, int slot, int64_t *at) {
    for (*at = 0; p->slots[slot].within >= 0; slot = p->slots[slot].within)
        *at += p->slots[slot].at;
    return slot;
}

/* Bytes from v up to a multiple of the alignment that kernels ask of their arguments. */
static inline int64_t tc_graph_aligned(int64_t v) {
    return (v + TC_RT_ALIGN - 1) / TC_RT_ALIGN * TC_RT_ALIGN;
}

/* draw.c: the ranges of its inputs. */
void tc_graph_find_ranges(tc_graph_program *p);
/* Tasks of p that `like` has too are called as there. */
void tc_graph_program_name_as(tc_graph_program *p, const tc_graph_program *like);
/* The program of g with those merges (NULL: none) made, by number, that merge[] says; there are nfound of any program of g. */
TC_NODISCARD tc_status tc_graph_program_with(const tc_graph *g, const bool *merge, tc_graph_program **out, tc_error *err);

#endif
