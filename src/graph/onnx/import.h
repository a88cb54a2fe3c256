/* src/graph/onnx owns ONNX files: import, writing, and changes of a file in place (edit.h). Not here: what an operator means
 * (src/graph/ops), and what any format's branches, loops and sequences become (src/graph/import). */
#ifndef TC_GRAPH_ONNX_IMPORT_H
#define TC_GRAPH_ONNX_IMPORT_H

#include "graph/ir/graph.h"

/* Which sizes a dimension may have in a run: multiples of `multiple` from least to most, which are multiples themselves. One that
 * is fixed has least == most. */
typedef struct tc_graph_range {
    int64_t least, most, multiple;
} tc_graph_range;

/* --shape NAME=1,128 : NAME is a graph input, or (with one dimension) a symbolic dimension. In the place of a number may stand a
 * range, 1..512, or the multiples of a number in one, 32..512:32. */
typedef struct tc_graph_binding {
    const char *name;
    int ndim;
    tc_graph_range d[TC_GRAPH_MAX_DIMS];
} tc_graph_binding;
/* One that has these dimensions in all runs. The name is not copied. */
tc_graph_binding tc_graph_binding_fixed(const char *name, const tc_graph_shape *shape);
/* Does a dimension of any have a range? */
bool tc_graph_bindings_vary(const tc_graph_binding *b, size_t n);
TC_NODISCARD tc_status tc_graph_binding_parse(const char *text, tc_graph_binding *out, tc_error *err);
/* A list of n of them; *out is malloc'ed, NULL on failure. */
TC_NODISCARD tc_status tc_graph_bindings_parse(const char *const *texts, size_t n, tc_graph_binding **out, tc_error *err);
void tc_graph_bindings_free(tc_graph_binding *b, size_t n); /* NULL is fine */
/* Checks the form of an option --input: NAME=VALUES. */
TC_NODISCARD tc_status tc_graph_fixed_check(const char *text, tc_error *err);
/* The values in NAME=VALUES; NULL: the text is of another input. */
const char *tc_graph_fixed_values(const char *text, const char *name);

/* A graph input that is a sequence, an optional (optional, no sequence), or an optional sequence (both). Its elements have these
 * types in all runs, and become inputs of the graph; those that are among the constants of the options become constants. */
typedef struct tc_graph_list {
    const char *name;
    bool optional, sequence;
    bool empty; /* an optional without a value */
    const tc_graph_named *items;
    size_t n;
} tc_graph_list;

typedef struct tc_graph_import_options {
    /* The contents of the model's file, where they are in memory; NULL: they are read from the file. They stay until import
     * returns. */
    const void *bytes;
    size_t nbytes;
    /* Of external data; NULL: the file's folder, and for contents in memory none, so that external data is refused */
    const char *folder;
    const tc_graph_binding *shapes;
    size_t nshapes;
    /* Graph inputs to be treated as constants of these values (they vanish from graph->inputs): conformance cases feed
     * axes and shapes this way. Copied. */
    const tc_graph_named *constants;
    size_t nconstants;
    /* Inputs whose value is the same in each run, as NAME=VALUE or NAME=V0,V1,...: they become constants, too. */
    const char *const *fixed;
    size_t nfixed;
    /* tc_graph_grow_in_place follows: a cache of as many rows in every run is a buffer, which sequences fill. */
    bool in_place_cache;
    /* What a run will give, by name, or in the order of the model's inputs: sizes that neither the model nor `shapes` gives are
     * the sizes of these tensors. NULL: nothing is known. */
    const tc_graph_bundle *sample;
    const tc_graph_list *lists;
    size_t nlists;
    /* Outputs that are lists become an output for each element, NAME[0], NAME[1], ...; otherwise they are refused */
    bool list_outputs;
} tc_graph_import_options;

/* Reads, types, folds and simplifies a model. opts may be NULL. On failure *out is NULL and err names file, node, remedy. */
TC_NODISCARD tc_status tc_graph_import(const char *path, const tc_graph_import_options *opts, tc_graph **out, tc_error *err);

/* Operators that are not in the operator table, since import itself replaces them: control flow, sequences and optionals. */
typedef struct tc_graph_import_op {
    const char *name;
    int since, min_in, max_in; /* max_in -1: no limit */
} tc_graph_import_op;
/* Operator i of these, from 0 on; false: there are no more. */
bool tc_graph_import_control(size_t i, tc_graph_import_op *out);

/* ---- single tensors: ONNX TensorProto files ---- */
/* *name is malloc'ed (may be ""); NULL to ignore it. */
TC_NODISCARD tc_status tc_graph_pb_load(const char *path, tc_graph_tensor *out, char **name, tc_error *err);
TC_NODISCARD tc_status tc_graph_pb_save(const char *path, const char *name, const tc_graph_tensor *t, tc_error *err);

#endif
