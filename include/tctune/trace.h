/* The course of one run of a model, by thread: for Perfetto, chrome://tracing, and whoever reads the Trace Event Format. */
#ifndef TCTUNE_TRACE_H
#define TCTUNE_TRACE_H

#include <tctune/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is run, and how it is called. */
typedef struct tctune_trace_options {
    size_t struct_size;
    const char *name;      /* what the timeline calls the model; NULL: "model" */
    const char *inputs;    /* .npz with the inputs by name (or in.NAME), or a folder of input_N.pb; NULL: seeded random ones */
    const char *const *at; /* sizes of random ones, as for tctune_model_sizes_at; NULL: the largest */
    uint64_t seed;
} tctune_trace_options;

/* Runs the model some ten times and tells of the fastest (docs/json.md): a slice for each kernel on each thread that worked for
 * it. Behind that the peaks and bandwidths that kernels are shares of are measured, in about a second. *json is given back with
 * tctune_text_free. options may be NULL. TCTUNE_BAD_INPUT also for a library that was built before libraries told of their
 * loops. */
TCTUNE_API tctune_status tctune_trace(tctune_model *model, const tctune_trace_options *options, char **json, char *error,
                                      size_t error_size);

#ifdef __cplusplus
}
#endif

#endif
