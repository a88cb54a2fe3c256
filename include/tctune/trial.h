/* Tries a model on inputs from files: writes the outputs, or compares them with expected ones. */
#ifndef TCTUNE_TRIAL_H
#define TCTUNE_TRIAL_H

#include <tctune/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The files of a trial. */
typedef struct tctune_trial_options {
    size_t struct_size;
    const char *inputs;    /* .npz with the inputs by name (or in.NAME), or a folder of input_N.pb; NULL: random, from `seed` */
    const char *const *at; /* sizes of random inputs, as in tctune_model_sizes_at; NULL: the largest */
    uint64_t seed;         /* of random inputs */
    const char *outputs;   /* .npz file that the outputs are written to; NULL: none */
    const char *expected;  /* .npz with expected outputs by name (or out.NAME), or a folder of output_N.pb; NULL: none */
    double rtol, atol;     /* tolerances for floats; 0: the ONNX project's for the type; negative: the outputs must be equal */
} tctune_trial_options;

/* Runs the model once. *json (docs/json.md) has the outputs and their distance from the expected ones; give it back with
 * tctune_text_free. If an output exceeds the tolerances, the status is still TCTUNE_OK, and "ok" in the document is false.
 * options may be NULL. */
TCTUNE_API tctune_status tctune_try(tctune_model *model, const tctune_trial_options *options, char **json, char *error,
                                    size_t error_size);

#ifdef __cplusplus
}
#endif

#endif
