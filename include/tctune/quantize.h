/* Quantises networks of f32: reads an ONNX file and writes an ONNX file, in forms that other programs read, too. */
#ifndef TCTUNE_QUANTIZE_H
#define TCTUNE_QUANTIZE_H

#include <tctune/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a network is quantised. Without `dynamic` and `weights` quantisation is static: the ranges of activations come from
 * `data`. */
typedef struct tctune_quantize_options {
    size_t struct_size;
    int dynamic; /* not 0: matmuls and convolutions find the ranges of their inputs in each run */
    int weights; /* 8 or 4: only the weights are quantised, to so many bits, and arithmetic stays in f32; 0: not this form */
    /* Files with inputs by name (.npz, or folders of input_N.pb), NULL-terminated. Static ranges are taken from them, and errors
     * are measured on them. NULL: random inputs, which are good enough unless quantisation is static. */
    const char *const *data;
    /* The range of an activation: all values seen ("minmax", NULL), the share `percentile` of them ("percentile"), or the range
     * that loses the least information ("entropy"). */
    const char *method;
    double percentile;       /* in (50, 100]; 0: 99.99 */
    const char *activations; /* "u8" (NULL): unsigned, any zero point; "s8": signed, around zero */
    int block;               /* rows that share a scale of 4-bit weights, a power of two from 16 to 256; 0: 32 */
    int per_tensor;          /* not 0: one scale for all weights of a layer; 0: one scale for each output channel */
    /* bounded not 0: the layers that lose most stay in f32, so many that max |quantised - f32| / max |f32| of each output is at
     * most error_budget. */
    int bounded;
    double error_budget;
    const char *const *keep;   /* names of nodes, or of their outputs, that stay in f32, NULL-terminated; NULL: none */
    const char *const *shapes; /* sizes for the runs, as in tctune_work_options; the written model keeps its symbols */
    int threads;               /* of the runs; 0: every core */
    /* The call ends with TCTUNE_STOPPED, and writes nothing, soon after this becomes non-zero; NULL: never */
    const volatile int *stop;
    const char *const *fixed_inputs; /* for the runs, as in tctune_work_options; the written model keeps these inputs */
} tctune_quantize_options;

/* Quantises the network in the file `model` and writes it to the file `out`. On an error `out` is not written. *json
 * (docs/json.md) tells what each layer loses, which layers stay in f32 and why, and the error of each output; give it back with
 * tctune_text_free. TCTUNE_BAD_INPUT: also if no choice of layers keeps the error budget. */
TCTUNE_API tctune_status tctune_quantize(const char *model, const char *out, const tctune_quantize_options *options, char **json,
                                         char *error, size_t error_size);

#ifdef __cplusplus
}
#endif

#endif
