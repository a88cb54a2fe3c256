/* src/graph/passes owns the passes over a graph between import and fusion, a file each, and their list (passes.def). Not here: the
 * division into kernels (src/graph/fuse).
 *
 *   tc_graph_import -> tc_graph_passes -> tc_graph_program_new
 *
 * pass.c runs the passes in the order of passes.def. A new pass needs a line there and a file NAME.c. */
#ifndef TC_GRAPH_PASSES_PASS_H
#define TC_GRAPH_PASSES_PASS_H

#include <stdio.h>

#include "graph/ir/graph.h"

enum { TC_GRAPH_OPT_DEFAULT = 2, TC_GRAPH_OPT_MAX = 3 };

typedef struct tc_graph_pass_options {
    int level;                   /* 0 to TC_GRAPH_OPT_MAX */
    const char *const *disabled; /* names of passes to leave out */
    size_t ndisabled;
    const char *dump; /* NULL, the name of a pass, or "all": the graph before and after it is written to `log` */
    bool times;       /* seconds and nodes of each pass are written to `log` */
    FILE *log;        /* where both go; NULL: stderr */
} tc_graph_pass_options;

/* TC_BAD_INPUT, with the list of passes, unless every name in o is one of them. */
TC_NODISCARD tc_status tc_graph_passes_check(const tc_graph_pass_options *o, tc_error *err);
/* Runs the passes that o asks for (NULL: the default level), first in the bodies of nodes, and verifies the graph after every pass.
 * After a failure the graph may only be freed with tc_graph_free. */
TC_NODISCARD tc_status tc_graph_passes(tc_graph *g, const tc_graph_pass_options *o, tc_error *err);

/* Call it before the passes, on a graph whose import was told of it (in_place_cache). An output that is an input with new rows
 * behind becomes one buffer with this input, and runs write it in place. TC_BAD_INPUT if there is no such output, or if one cannot
 * share a buffer; then the graph may only be freed with tc_graph_free. */
TC_NODISCARD tc_status tc_graph_grow_in_place(tc_graph *g, tc_error *err);

/* ---- the passes ---- */
#define PASS(name, level, summary) TC_NODISCARD tc_status tc_graph_pass_##name(tc_graph *g, tc_error *err);
#include "graph/passes/passes.def"
#undef PASS

/* ---- for them ---- */
/* Gives n its only output, of this type, named after `base`, and appends n. n must be canonical already, and the pass must know its
 * type: nothing is inferred or folded. */
tc_graph_value *tc_graph_place_typed(tc_graph *g, tc_graph_node *n, const char *base, tc_dtype dtype, const tc_graph_shape *s);
/* From now on n, which has no outputs yet, makes v; appends n. The old producer of v must be dead or no longer in the graph. */
void tc_graph_produce(tc_graph *g, tc_graph_node *n, tc_graph_value *v);
/* A copy of n with other inputs: same operator, name, origin and attributes, no outputs; not appended. */
tc_graph_node *tc_graph_copy_node(tc_graph *g, const tc_graph_node *n, tc_graph_value *const *in);
/* v transposed or reshaped: a constant if v is a constant, v itself if nothing changes, else a node appended to g. A transposition
 * that moves no element becomes a Reshape. */
tc_graph_value *tc_graph_transposed(tc_graph *g, tc_graph_value *v, const int64_t *perm);
tc_graph_value *tc_graph_reshaped(tc_graph *g, tc_graph_value *v, const tc_graph_shape *s);

#endif
