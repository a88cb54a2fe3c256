/* What the two halves of ONNX import share: import.c (the file, its checks, inputs and outputs) and import_nodes.c. */
#ifndef TC_GRAPH_IMPORT_INT_H
#define TC_GRAPH_IMPORT_INT_H

#include "graph/onnx_int.h"

/* The body of a function or a branch while its nodes are added: names that mean something in there only. */
typedef struct tc_graph_import_scope {
    struct tc_graph_import_scope *up;
    const Onnx__NodeProto *call;         /* the If, or the call */
    const Onnx__FunctionProto *function; /* NULL: a branch, which also sees what is around it */
    int opset, depth;
    tc_map values; /* name -> value, 0 for an input that the call leaves out */
} tc_graph_import_scope;

typedef struct tc_graph_importer {
    const char *path;
    const tc_graph_import_options *opts;
    Onnx__ModelProto *model;
    Onnx__GraphProto *proto;
    tc_graph *g;
    tc_onnx_files files;
    tc_map producers; /* value name -> index of the node that makes it */
    bool *used_shapes;
    tc_graph_import_scope *scope; /* NULL: in the graph itself */
    uint32_t bodies;              /* that have taken a node's place */
    tc_map body_constants;        /* address of a body's initializer -> value: bodies may be added many times */
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

/* ---- import_nodes.c ---- */
/* Adds what node p (number `index` of the graph, or the one around it) stands for. */
TC_NODISCARD tc_status tc_graph_import_node(tc_graph_importer *im, const Onnx__NodeProto *p, size_t index, tc_error *err);

/* Of node `index`, by the name that it has here; NULL for one left out (""). */
TC_NODISCARD tc_status tc_graph_import_input(tc_graph_importer *im, size_t index, const char *name, tc_graph_value **out,
                                             tc_error *err);
const Onnx__AttributeProto *tc_graph_import_attribute(const Onnx__NodeProto *p, const char *name);
/* Adds the nodes of a body. s->values holds its inputs, and is released. *out: its outputs. */
TC_NODISCARD tc_status tc_graph_import_graph(tc_graph_importer *im, const Onnx__NodeProto *p, const Onnx__GraphProto *body,
                                             tc_graph_import_scope *s, size_t index, tc_graph_value ***out, tc_error *err);
/* The node's outputs are these values. */
TC_NODISCARD tc_status tc_graph_import_give_outputs(tc_graph_importer *im, const Onnx__NodeProto *p, tc_graph_value **v,
                                                    tc_error *err);

/* ---- import_loops.c ---- */
TC_NODISCARD tc_status tc_graph_import_loop(tc_graph_importer *im, const Onnx__NodeProto *p, size_t index, tc_error *err);

#endif
