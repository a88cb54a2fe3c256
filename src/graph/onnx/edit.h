/* An ONNX file that is changed and written again: what is not touched stays as it was read, names and attributes included, so that
 * other programs read the result as they read the original.
 *
 * Only the main graph is changed; bodies of branches and loops are carried along, and what they read counts as used. Names and
 * arrays that are handed out live as long as the edit. */
#ifndef TC_GRAPH_ONNX_EDIT_H
#define TC_GRAPH_ONNX_EDIT_H

#include "graph/ir/tensor.h"

typedef struct tc_onnx_edit tc_onnx_edit;

/* TC_BAD_INPUT names the file and what is wrong with it. */
TC_NODISCARD tc_status tc_onnx_edit_open(const char *path, tc_onnx_edit **out, tc_error *err);
void tc_onnx_edit_free(tc_onnx_edit *e); /* NULL is fine */
tc_arena *tc_onnx_edit_arena(tc_onnx_edit *e);

/* Of the default domain; 0 where the model says none. */
int64_t tc_onnx_edit_opset(const tc_onnx_edit *e);
/* The model uses operators of that domain, of that version where it did not say another. */
void tc_onnx_edit_use_domain(tc_onnx_edit *e, const char *domain, int64_t version);

/* ---- nodes: numbered in the order of the file, and further in that of their making; a number is never used again ---- */

/* op is NULL where the node was removed. Inputs that are left out are "". */
typedef struct tc_onnx_edit_node {
    const char *op, *domain, *name;
    int nin, nout;
    char *const *in, *const *out;
} tc_onnx_edit_node;

int tc_onnx_edit_nodes(const tc_onnx_edit *e);
tc_onnx_edit_node tc_onnx_edit_node_at(const tc_onnx_edit *e, int i);
/* An attribute, or `otherwise` where it is not given. */
int64_t tc_onnx_edit_int(const tc_onnx_edit *e, int i, const char *name, int64_t otherwise);
double tc_onnx_edit_float(const tc_onnx_edit *e, int i, const char *name, double otherwise);

/* Nodes that are made from here on stand before node i of the file, in the order of their making; i == the number of the file's
 * nodes: behind all. */
void tc_onnx_edit_before(tc_onnx_edit *e, int i);
/* A node with one output. Its name is `out`'s; returns its number. */
int tc_onnx_edit_add(tc_onnx_edit *e, const char *op, const char *domain, int nin, const char *const *in, const char *out);
/* A node like i, with its attributes, with other inputs and the output `out`. */
int tc_onnx_edit_copy(tc_onnx_edit *e, int i, int nin, const char *const *in, const char *out);
/* Another operator, with the same attributes. */
void tc_onnx_edit_set_op(tc_onnx_edit *e, int i, const char *op);
/* Further outputs of a node that was added. */
void tc_onnx_edit_add_result(tc_onnx_edit *e, int i, const char *out);
void tc_onnx_edit_set_int(tc_onnx_edit *e, int i, const char *name, int64_t v);
void tc_onnx_edit_set_input(tc_onnx_edit *e, int i, int k, const char *value);
void tc_onnx_edit_remove(tc_onnx_edit *e, int i);

/* ---- values ---- */

/* The value of an initializer or of a Constant node; *out is NULL for everything else. */
TC_NODISCARD tc_status tc_onnx_edit_constant(tc_onnx_edit *e, const char *name, const tc_graph_tensor **out, tc_error *err);
/* An initializer of that name; t is copied. */
void tc_onnx_edit_add_constant(tc_onnx_edit *e, const char *name, const tc_graph_tensor *t);
/* A name that no value has, like `base` followed by `suffix`. */
const char *tc_onnx_edit_fresh(tc_onnx_edit *e, const char *base, const char *suffix);
/* Whether that is an output of the model. */
bool tc_onnx_edit_is_output(const tc_onnx_edit *e, const char *name);
/* Makes a value of type f32 an output. */
void tc_onnx_edit_add_output(tc_onnx_edit *e, const char *name);

/* Writes the model, without initializers that nothing reads any more, and with those of other files inside. Whole or not at all;
 * TC_BAD_INPUT where it would be larger than ONNX files can be. */
TC_NODISCARD tc_status tc_onnx_edit_save(tc_onnx_edit *e, const char *path, tc_error *err);

#endif
