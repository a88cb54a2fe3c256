/* Models tried on inputs from files: outputs written, and compared with what is expected. */
#ifndef TCTUNE_TRIAL_H
#define TCTUNE_TRIAL_H

#include <tctune/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a model is tried: on what, and what its outputs are compared with. */
typedef struct tctune_trial_options {
    size_t struct_size;
    const char *inputs;    /* .npz with the inputs by name (or in.NAME), or a folder of input_N.pb; NULL: seeded random ones */
    const char *const *at; /* sizes of random ones, as for tctune_model_sizes_at; NULL: the largest */
    uint64_t seed;
    const char *outputs;  /* .npz that the outputs are written to; NULL: none */
    const char *expected; /* .npz with expected outputs by name (or out.NAME), or a folder of output_N.pb; NULL: none */
    double rtol, atol;    /* what is tolerated of floats; 0: by their type, as the ONNX project does; negative: nothing */
} tctune_trial_options;

/* One run. *json (docs/json.md) has the outputs, with how far they are from what is expected: TCTUNE_OK also where that is beyond
 * what is tolerated ("ok" is false then). Give it back with tctune_text_free. options may be NULL. */
TCTUNE_API tctune_status tctune_try(tctune_model *model, const tctune_trial_options *options, char **json, char *error,
                                    size_t error_size);

#ifdef __cplusplus
}
#endif

#endif
