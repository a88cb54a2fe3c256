/* What the files of ONNX import share: import.c reads the file, its checks, inputs and outputs, import_nodes.c one node after the
 * other. What branches, loops and lists become is in graph/import. */
#ifndef TC_GRAPH_ONNX_IMPORT_INT_H
#define TC_GRAPH_ONNX_IMPORT_INT_H

#include "graph/import/frames.h"
#include "graph/import/lists.h"
#include "graph/onnx/import.h"
#include "graph/onnx/onnx_int.h"
#include "graph/ops/dynamic.h"

/* The body of a function or a branch while its nodes are added: names that mean something in there only. */
typedef struct tc_graph_import_scope {
    struct tc_graph_import_scope *up;
    const Onnx__FunctionProto *function; /* NULL: a branch, which also sees what is around it */
    int opset, depth;
    bool of_batch; /* one sequence of the batch that a Scan of opset 8 walks */
    tc_map values; /* name -> value, 0 for an input that the call leaves out */
} tc_graph_import_scope;

typedef struct tc_graph_importer {
    const tc_graph_import_options *opts;
    Onnx__ModelProto *model;
    Onnx__GraphProto *proto;
    tc_graph_import_place at;
    const char *dir;  /* of external data; NULL: there is none */
    tc_map producers; /* names of the values that nodes of the graph make */
    bool *used_shapes, *used_fixed;
    tc_graph_import_scope *scope; /* NULL: in the graph itself */
    TC_VEC(const char *) notes;   /* what the user should know of this import, in the root's arena */
    bool chose;                   /* one of two branches of different types: runs that take the other one are refused */
    bool takes_other;             /* what is usually chosen does not fit what follows it: the other one is */
    tc_map functions;             /* domain and name -> the model's own function of that name */
    tc_map places;                /* name of an input without an initializer -> its place among these */
    tc_map body_constants;        /* address of a body's initializer -> value of root: bodies may be added many times */
} tc_graph_importer;

/* The node's name, or its operator's if it has none. */
static inline const char *tc_graph_import_name_of(const Onnx__NodeProto *p) {
    return p->name && *p->name ? p->name : p->op_type;
}

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
/* The body for Scan p of opset 8, whose inputs have a batch dimension (import_scan_batch.c). */
const Onnx__GraphProto *tc_graph_import_sequence_of_batch(tc_graph_importer *im, const Onnx__NodeProto *p);

TC_NODISCARD tc_status tc_graph_import_loop(tc_graph_importer *im, const Onnx__NodeProto *p, tc_error *err);

/* ---- import_sequences.c ---- */
bool tc_graph_import_is_sequence_operator(const tc_graph_importer *im, const Onnx__NodeProto *p);
/* The same, or Identity of a list. */
bool tc_graph_import_takes_sequence(tc_graph_importer *im, const Onnx__NodeProto *p);
TC_NODISCARD tc_status tc_graph_import_sequence_node(tc_graph_importer *im, const Onnx__NodeProto *p, tc_error *err);
/* Operator i on sequences and optionals, from 0 on; false: there are no more. */
bool tc_graph_import_sequence_op(size_t i, tc_graph_import_op *out);

/* ---- import_branches.c ---- */
/* Adds a node that runs one of the branches at run time, and gives p's outputs. cond: one bool. */
TC_NODISCARD tc_status tc_graph_import_if_at_run_time(tc_graph_importer *im, const Onnx__NodeProto *p, tc_graph_value *cond,
                                                      tc_error *err);

#endif
