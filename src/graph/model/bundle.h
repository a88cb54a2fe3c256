/* Named tensors from files, and what is expected compared with what came out. */
#ifndef TC_GRAPH_MODEL_BUNDLE_H
#define TC_GRAPH_MODEL_BUNDLE_H

#include "graph/model/model.h"

/* Reads .npz or a folder of KIND_N.pb (kind "input" or "output"). Items named PREFIX.x ("in.", "out.") are taken without the
 * prefix, and then nothing else is. Items of a folder without names of their own are named by the ports' order. */
TC_NODISCARD tc_status tc_graph_bundle_load(const char *path, const char *kind, const tc_graph_port *ports, int nports,
                                            tc_graph_bundle *out, tc_error *err);

/* How far outputs may be from what is expected. */
typedef struct tc_graph_tolerance {
    double rtol, atol; /* negative: by type, as the ONNX project's test cases have it */
} tc_graph_tolerance;

/* tc_graph_tensor_compare by what is tolerated for the type of `want`. */
TC_NODISCARD tc_status tc_graph_tensor_within(const tc_graph_tensor *got, const tc_graph_tensor *want,
                                              const tc_graph_tolerance *t, tc_graph_diff *out, tc_error *err);

#endif
