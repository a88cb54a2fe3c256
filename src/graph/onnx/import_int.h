/* What the files of ONNX import share: import.c reads the file, its checks, inputs and outputs, import_nodes.c one node after the
 * other; bodies and lists have files of their own. */
#ifndef TC_GRAPH_ONNX_IMPORT_INT_H
#define TC_GRAPH_ONNX_IMPORT_INT_H

#include "graph/onnx/import.h"
#include "graph/onnx/onnx_int.h"
#include "graph/ops/dynamic.h"

/* A sequence, or an optional (of no value or one). Elements may be optionals' sequences. */
typedef struct tc_graph_sequence {
    tc_graph_value *rows; /* the first elements where only the data know how many they are (import_lists.c), or NULL */
    size_t n;             /* elements after these */
    tc_graph_value **v;
    bool optional;
} tc_graph_sequence;

/* The body of a function or a branch while its nodes are added: names that mean something in there only. */
typedef struct tc_graph_import_scope {
    struct tc_graph_import_scope *up;
    const Onnx__FunctionProto *function; /* NULL: a branch, which also sees what is around it */
    int opset, depth;
    bool of_batch; /* one sequence of the batch that a Scan of opset 8 walks */
    tc_map values; /* name -> value, 0 for an input that the call leaves out */
} tc_graph_import_scope;

/* A body that becomes a graph of its own (import_frames.c). What it reads of the graphs around it becomes its inputs. */
typedef struct tc_graph_import_frame {
    struct tc_graph_import_frame *up;
    tc_graph *g;
    tc_map inside;          /* address of a value of another graph -> what stands for it here */
    tc_graph_values around; /* of the captured inputs, the last ones of g: the values that they are, in the graph around this */
} tc_graph_import_frame;

typedef struct tc_graph_importer {
    const char *path;
    const tc_graph_import_options *opts;
    Onnx__ModelProto *model;
    Onnx__GraphProto *proto;
    tc_graph *root, *g; /* the model's; the one to which nodes are being added: root, or that of the frame */
    tc_graph_import_frame *frame;
    const char *dir;  /* of external data; NULL: there is none */
    tc_map producers; /* names of the values that nodes of the graph make */
    bool *used_shapes, *used_fixed;
    tc_graph_import_scope *scope; /* NULL: in the graph itself */
    TC_VEC(const char *) notes;   /* what the user should know of this import, in the root's arena */
    uint32_t bodies;              /* that have taken a node's place */
    tc_map body_constants;        /* address of a body's initializer -> value of root: bodies may be added many times */
} tc_graph_importer;

/* ---- import.c ---- */
bool tc_graph_import_default_domain(const char *domain);
/* The opset of the default domain that holds where import is: a function may have its own. */
int tc_graph_import_opset(const tc_graph_importer *im);
bool tc_graph_import_known_operator(const tc_graph_importer *im, const Onnx__NodeProto *n, tc_graph_op *op);
bool tc_graph_import_is_if(const Onnx__NodeProto *n);
bool tc_graph_import_is_loop(const Onnx__NodeProto *n); /* Loop or Scan */
/* The function of the model's own that n calls, or NULL. */
const Onnx__FunctionProto *tc_graph_import_called_function(const tc_graph_importer *im, const Onnx__NodeProto *n);
tc_status tc_graph_import_duplicate(const char *name, const char *what, tc_error *err); /* always fails */
TC_NODISCARD tc_status tc_graph_import_initializer(tc_graph_importer *im, Onnx__TensorProto *p, const char *name, tc_error *err);

/* ---- import_order.c ---- */
/* Puts the nodes of all graphs and functions of the model in an order in which they can be computed. */
TC_NODISCARD tc_status tc_graph_import_sort(Onnx__ModelProto *m, tc_error *err);

/* ---- import_inputs.c ---- */
/* Adds the inputs, with sizes for those whose dimensions vary behind them. */
TC_NODISCARD tc_status tc_graph_import_inputs(tc_graph_importer *im, tc_error *err);

/* ---- import_nodes.c ---- */
/* Adds what node p stands for. */
TC_NODISCARD tc_status tc_graph_import_node(tc_graph_importer *im, const Onnx__NodeProto *p, tc_error *err);

/* Adds the branch of that name of If p. */
TC_NODISCARD tc_status tc_graph_import_branch(tc_graph_importer *im, const Onnx__NodeProto *p, const char *which,
                                              tc_graph_value ***out, tc_error *err);
/* An input of a node, by the name that it has here; NULL for one left out (""). */
TC_NODISCARD tc_status tc_graph_import_input(tc_graph_importer *im, const char *name, tc_graph_value **out, tc_error *err);
const Onnx__AttributeProto *tc_graph_import_attribute(const Onnx__NodeProto *p, const char *name);
/* Adds the nodes of a body. s->values holds its inputs, and is released. *out: its outputs. */
TC_NODISCARD tc_status tc_graph_import_graph(tc_graph_importer *im, const Onnx__NodeProto *p, const Onnx__GraphProto *body,
                                             tc_graph_import_scope *s, tc_graph_value ***out, tc_error *err);
/* The node's outputs are these values. */
TC_NODISCARD tc_status tc_graph_import_give_outputs(tc_graph_importer *im, const Onnx__NodeProto *p, tc_graph_value **v,
                                                    tc_error *err);

/* ---- import_loops.c ---- */
/* What Scan walks. */
typedef struct tc_graph_import_scan {
    size_t n;
    tc_graph_value **in;
    const int64_t *axes, *directions, *out_axes, *out_directions;
    int *axis;            /* of each, not negative */
    int64_t length;       /* the largest, where */
    tc_graph_value *size; /* depends on data; else NULL */
    bool batch;           /* of opset 8: its body is such a Scan of one sequence, */
    bool fill;            /* the rows of which are as many as the inputs are long: zeros after its last trip */
} tc_graph_import_scan;

/* A Loop, or a Scan as one. */
typedef struct tc_graph_import_trips {
    tc_graph_importer *im;
    const Onnx__NodeProto *p;
    const Onnx__GraphProto *body;
    tc_graph_infer_ctx c; /* in the graph around it */
    tc_graph_emitter e;
    size_t nstate, nscan;       /* values carried from trip to trip; results that every trip adds to */
    tc_graph_number limit;      /* the largest number of trips; value NULL: there is none */
    tc_graph_value *cond;       /* before the first trip; NULL: it holds */
    tc_graph_value **state;     /* [nstate] */
    tc_graph_import_scan *scan; /* NULL: a Loop */
    /* where it is written out: */
    bool data;                 /* go on where the data decide about trips */
    tc_graph_value **rows;     /* [trips * nscan] */
    tc_graph_value *go, *done; /* does this trip count? NULL: yes. How many did: an i64 scalar; NULL: all */
    int64_t trips;
} tc_graph_import_trips;

/* The body for Scan p of opset 8, whose inputs have a batch dimension (import_scan_batch.c). */
const Onnx__GraphProto *tc_graph_import_sequence_of_batch(tc_graph_importer *im, const Onnx__NodeProto *p);

TC_NODISCARD tc_status tc_graph_import_loop(tc_graph_importer *im, const Onnx__NodeProto *p, tc_error *err);
/* Result k's rows, [n, ..], with the axis and in the direction that the node asks for. */
TC_NODISCARD tc_status tc_graph_import_turn_rows(tc_graph_import_trips *l, size_t k, tc_graph_value **v, tc_error *err);

/* ---- import_sequences.c ---- */
/* The list as a value of g. s.v is copied. */
tc_graph_value *tc_graph_import_list(tc_graph *g, tc_graph_sequence s);
bool tc_graph_import_is_sequence_operator(const tc_graph_importer *im, const Onnx__NodeProto *p);
/* The same, or Identity of a list. */
bool tc_graph_import_takes_sequence(tc_graph_importer *im, const Onnx__NodeProto *p);
TC_NODISCARD tc_status tc_graph_import_sequence_node(tc_graph_importer *im, const Onnx__NodeProto *p, tc_error *err);
/* Operator i on sequences and optionals, from 0 on; false: there are no more. */
bool tc_graph_import_sequence_op(size_t i, tc_graph_import_op *out);

/* ---- import_lists.c: failures are messages, to which the caller adds the node ---- */
/* Of the list's elements; false: it has none that say. */
bool tc_graph_import_element_type(const tc_graph_sequence *s, tc_graph_type *out);
/* Are they all tensors of that type, whose sizes do not depend on data? */
TC_NODISCARD tc_status tc_graph_import_check_elements(tc_graph_emitter *e, const tc_graph_sequence *s, const tc_graph_type *type);
/* All elements, which must be of that type, as rows. */
TC_NODISCARD tc_status tc_graph_import_rows(tc_graph_emitter *e, const tc_graph_sequence *s, const tc_graph_type *type,
                                            tc_graph_value **out);
tc_graph_value *tc_graph_import_count(tc_graph_emitter *e, const tc_graph_sequence *s);
/* Positions are of any integer type, and count from the end where negative. NULL: the last. */
TC_NODISCARD tc_status tc_graph_import_at(tc_graph_emitter *e, const tc_graph_sequence *s, tc_graph_value *at,
                                          tc_graph_value **out);
TC_NODISCARD tc_status tc_graph_import_insert_at(tc_graph_emitter *e, const tc_graph_sequence *s, tc_graph_value *v,
                                                 tc_graph_value *at, tc_graph_value **out);
TC_NODISCARD tc_status tc_graph_import_erase_at(tc_graph_emitter *e, const tc_graph_sequence *s, tc_graph_value *at,
                                                tc_graph_value **out);
/* The elements along the axis; fresh: which is a dimension of their own. */
TC_NODISCARD tc_status tc_graph_import_concat_rows(tc_graph_emitter *e, const tc_graph_sequence *s, int axis, bool fresh,
                                                   tc_graph_value **out);
TC_NODISCARD tc_status tc_graph_import_split_rows(tc_graph_emitter *e, tc_graph_value *x, int axis, bool keep,
                                                  tc_graph_value **out);

/* ---- import_hoist.c ---- */
/* Moves what is the same in all trips of f's body, a tidied graph, to the graph around it. */
void tc_graph_import_hoist(tc_graph *around, tc_graph_import_frame *f);

/* ---- import_frames.c ---- */
/* What is emitted into a body's graph for a node. */
typedef struct tc_graph_import_inside {
    tc_graph_import_frame f;
    tc_graph_infer_ctx c;
    tc_graph_emitter e;
} tc_graph_import_inside;

/* v, which may be of a graph around im->g, in im->g. */
tc_graph_value *tc_graph_import_here(tc_graph_importer *im, tc_graph_value *v);
/* The value of the graph around the body that its input v is; NULL: it is none. Until the body is closed. */
tc_graph_value *tc_graph_import_outside(const tc_graph_import_inside *x, const tc_graph_value *v);
/* A new graph, of a body of node p, to which import adds until it leaves. It is closed or dropped in the end. is_branch: not all
 * runs compute it. */
void tc_graph_import_open_frame(tc_graph_importer *im, tc_graph_import_inside *x, const Onnx__NodeProto *p, bool is_branch,
                                tc_error *err);
void tc_graph_import_leave_frame(tc_graph_importer *im, const tc_graph_import_inside *x);
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

/* ---- import_branches.c ---- */
/* Adds a node that runs one of the branches at run time, and gives p's outputs. cond: one bool. */
TC_NODISCARD tc_status tc_graph_import_if_at_run_time(tc_graph_importer *im, const Onnx__NodeProto *p, tc_graph_value *cond,
                                                      tc_error *err);

/* ---- import_run_time.c ---- */
/* Adds a node that runs the body at run time, and gives p's outputs. On failure, nothing but dead nodes has been added. */
TC_NODISCARD tc_status tc_graph_import_trips_at_run_time(tc_graph_import_trips *l, tc_error *err);

#endif
