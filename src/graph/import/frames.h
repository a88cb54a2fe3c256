/* src/graph/import owns what importers of any format share: what branches, loops and sequences become. Not here: a format's files,
 * names and operators (src/graph/onnx). No type of a format stands here.
 *
 * This header: where nodes are added, and bodies that become graphs of their own. */
#ifndef TC_GRAPH_IMPORT_FRAMES_H
#define TC_GRAPH_IMPORT_FRAMES_H

#include "graph/ops/dynamic.h"

/* A body that becomes a graph of its own (frames.c). What it reads of the graphs around it becomes its inputs. */
typedef struct tc_graph_import_frame {
    struct tc_graph_import_frame *up;
    tc_graph *g;
    tc_map inside;          /* address of a value of another graph -> what stands for it here */
    tc_graph_values around; /* of the captured inputs, the last ones of g: the values that they are, in the graph around this */
} tc_graph_import_frame;

/* Where nodes are being added. */
typedef struct tc_graph_import_place {
    const char *path;             /* of the model's file */
    tc_graph *root, *g;           /* the model's graph; the graph to which nodes are being added: root, or that of the frame */
    tc_graph_import_frame *frame; /* NULL: in root */
    int second;                   /* loops within each other that are imported in a second way */
} tc_graph_import_place;

/* The body of a loop or of a branch, as a format describes it. A format's own structure begins with this one. */
typedef struct tc_graph_import_body {
    size_t nin, nout;
    const char *const *in; /* names of its inputs */
    size_t nodes;          /* how many it has, with those of bodies inside of it */
    /* Adds its nodes to the graph to which nodes are being added. in[]: its inputs; *out: its outputs. */
    tc_status (*add)(const struct tc_graph_import_body *b, tc_graph_value *const *in, tc_graph_value ***out, tc_error *err);
    /* After a failure: it can be added in another way, which is what `add` does next. NULL: there is only one. */
    bool (*has_other)(const struct tc_graph_import_body *b);
} tc_graph_import_body;

/* What is emitted into a body's graph for a node. */
typedef struct tc_graph_import_inside {
    tc_graph_import_frame f;
    tc_graph_infer_ctx c;
    tc_graph_emitter e;
} tc_graph_import_inside;

/* v, which may be of a graph around at->g, in at->g. */
tc_graph_value *tc_graph_import_here(tc_graph_import_place *at, tc_graph_value *v);
/* The value of the graph around the body that its input v is; NULL: it is none. Until the body is closed. */
tc_graph_value *tc_graph_import_outside(const tc_graph_import_inside *x, const tc_graph_value *v);
/* A new graph, called `name`, to which import adds until it leaves. It is closed or dropped in the end. is_branch: not all
 * runs compute it. */
void tc_graph_import_open_frame(tc_graph_import_place *at, tc_graph_import_inside *x, const char *name, bool is_branch,
                                tc_error *err);
void tc_graph_import_leave_frame(tc_graph_import_place *at, const tc_graph_import_inside *x);
void tc_graph_import_drop_frame(tc_graph_import_inside *x);
/* Once its results are named: tidied, and the graph around it has it. captured[]: what it reads of that; room for all of around. */
size_t tc_graph_import_close_body(tc_graph *around, tc_graph_import_inside *x, tc_graph_value **captured);
/* v with its memory cut or padded to `to`, and every dimension at its largest. */
tc_graph_value *tc_graph_import_fitted(tc_graph_emitter *e, tc_graph_value *v, const tc_graph_shape *to);
void tc_graph_import_add_result(tc_graph *g, tc_graph_value *v);
/* A node without attributes; out[k] are made by types[k]. */
tc_graph_node *tc_graph_import_place_node(tc_graph *g, tc_graph_op op, const char *name, tc_graph_value **in, size_t nin,
                                          const tc_graph_type *types, size_t nout);
tc_graph_type tc_graph_import_scalar_type(tc_dtype t);

/* ---- hoist.c ---- */
/* Moves what is the same in all trips of f's body, a tidied graph, to the graph around it. */
void tc_graph_import_hoist(tc_graph *around, tc_graph_import_frame *f);

#endif
