/* Data files of a test case: input_N.pb and output_N.pb hold the model's input or output number N. It is a tensor, a list of
 * tensors (a sequence), or an optional of either. Only the model says which kind a file holds.
 *
 *   tc_graph_data_ports_read -> tc_graph_pb_load or tc_graph_pb_load_list */
#ifndef TC_GRAPH_ONNX_DATA_H
#define TC_GRAPH_ONNX_DATA_H

#include "graph/onnx/import.h"

typedef enum tc_graph_data_kind {
    TC_GRAPH_DATA_TENSOR,
    TC_GRAPH_DATA_SEQUENCE,
    TC_GRAPH_DATA_OPTIONAL,
    TC_GRAPH_DATA_OPTIONAL_SEQUENCE,
    TC_GRAPH_DATA_OTHER /* a map, a sparse tensor, a sequence of sequences */
} tc_graph_data_kind;

typedef struct tc_graph_data_port {
    const char *name;
    tc_graph_data_kind kind;
    bool typed; /* a TENSOR whose element type the model gives, and which is supported */
    tc_dtype dtype;
} tc_graph_data_port;

/* A model's inputs, without those that have an initializer, and its outputs. */
typedef struct tc_graph_data_ports {
    tc_graph_data_port *in, *out;
    size_t nin, nout;
} tc_graph_data_ports;

/* In `a`. The model's weights are not read. */
TC_NODISCARD tc_status tc_graph_data_ports_read(const char *model, tc_arena *a, tc_graph_data_ports *out, tc_error *err);

/* The value of a port that is not a TENSOR. *list describes it, without its items. The items are its tensors, in order; their
 * names are port->name[0], port->name[1], ... TC_ERROR_UNSUPPORTED for OTHER. */
TC_NODISCARD tc_status tc_graph_pb_load_list(const char *path, const tc_graph_data_port *port, tc_graph_list *list,
                                             tc_graph_bundle *items, tc_error *err);

#endif
