/* Records the course of one run of a model, thread by thread, for Perfetto, chrome://tracing, and other readers of the Trace
 * Event Format. */
#ifndef TCTUNE_TRACE_H
#define TCTUNE_TRACE_H

#include <tctune/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is run, and its name. */
typedef struct tctune_trace_options {
    size_t struct_size;
    const char *name;      /* the model's name in the timeline; NULL: "model" */
    const char *inputs;    /* .npz with the inputs by name (or in.NAME), or a folder of input_N.pb; NULL: random, from `seed` */
    const char *const *at; /* sizes of random inputs, as in tctune_model_sizes_at; NULL: the largest */
    uint64_t seed;         /* of random inputs */
} tctune_trace_options;

/* Runs the model about ten times and describes the fastest run (docs/json.md): each kernel is a slice on each thread that worked
 * for it. Then measures the machine's peaks and bandwidths for about a second; kernels are shares of them. Give *json back with
 * tctune_text_free. options may be NULL. TCTUNE_BAD_INPUT: also if the model is a library of an old version, which does not tell
 * about its loops. */
TCTUNE_API tctune_status tctune_trace(tctune_model *model, const tctune_trace_options *options, char **json, char *error,
                                      size_t error_size);

#ifdef __cplusplus
}
#endif

#endif
