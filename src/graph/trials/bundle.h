/* Named tensors from files: inputs for a model, and expected outputs to compare with its outputs. */
#ifndef TC_GRAPH_TRIALS_BUNDLE_H
#define TC_GRAPH_TRIALS_BUNDLE_H

#include "graph/model/model.h"

/* Reads .npz or a folder of KIND_N.pb (kind "input" or "output"). Items named PREFIX.x ("in.", "out.") are taken without the
 * prefix, and then nothing else is. Items of a folder without names of their own are named by the ports' order. */
TC_NODISCARD tc_status tc_graph_bundle_load(const char *path, const char *kind, const tc_graph_port *ports, int nports,
                                            tc_graph_bundle *out, tc_error *err);

/* Drops the items that are inputs of a fixed value (tc_graph_program_fixed). TC_BAD_INPUT where one has another value. */
TC_NODISCARD tc_status tc_graph_bundle_drop_fixed(tc_graph_bundle *b, const tc_graph_bundle *fixed, tc_error *err);

/* How far outputs may be from what is expected. */
typedef struct tc_graph_tolerance {
    double rtol, atol; /* negative: by type, as the ONNX project's test cases have it */
} tc_graph_tolerance;

/* tc_graph_tensor_compare by what is tolerated for the type of `want`. */
TC_NODISCARD tc_status tc_graph_tensor_within(const tc_graph_tensor *got, const tc_graph_tensor *want,
                                              const tc_graph_tolerance *t, tc_graph_diff *out, tc_error *err);

/* ---- of a model ---- */

/* Its inputs: of a file by name, of a folder in the ports' order, whatever it calls them; path NULL: seeded random ones, of these
 * sizes (NULL: the largest). Inputs of a fixed value may be among them. */
TC_NODISCARD tc_status tc_graph_inputs_load(const tc_graph_model *m, const char *path, const int64_t *sizes, uint64_t seed,
                                            tc_graph_bundle *out, tc_error *err);

/* How an output is. */
typedef struct tc_graph_compared {
    const char *name;
    int64_t elements;
    tc_graph_diff diff;
} tc_graph_compared;

typedef struct tc_graph_comparison {
    tc_graph_compared *data;
    int n, wrong; /* wrong: those with elements outside of the tolerance */
} tc_graph_comparison;

/* Compares its outputs `got` with those of a file by name, or of a folder in the ports' order. What is not in both is left out, but
 * TC_BAD_INPUT where nothing is left. *out is in `a`. */
TC_NODISCARD tc_status tc_graph_outputs_compare(const tc_graph_model *m, const tc_graph_bundle *got, const char *path,
                                                const tc_graph_tolerance *t, tc_arena *a, tc_graph_comparison *out,
                                                tc_error *err);

#endif
