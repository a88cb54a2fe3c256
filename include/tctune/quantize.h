/* Networks of f32 as quantised ones: ONNX file in, ONNX file out, in forms that other programs read too. */
#ifndef TCTUNE_QUANTIZE_H
#define TCTUNE_QUANTIZE_H

#include <tctune/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Without `dynamic` and `weights`: static, with ranges of activations as calibration data have them. */
typedef struct tctune_quantize_options {
    size_t struct_size;
    int dynamic; /* not 0: matmuls and convolutions find the ranges of their inputs in each run */
    int weights; /* 8 or 4: only the weights have so many bits, arithmetic stays in f32; 0: not so */
    /* Files with inputs by name (.npz, or folders of input_N.pb), NULL-terminated: what static ranges are taken from, and what
     * errors are measured on. NULL: drawn inputs, which are enough unless ranges are static. */
    const char *const *data;
    /* The range of an activation: all that was seen ("minmax", NULL), the share `percentile` of it ("percentile"), or what loses
     * least information ("entropy"). */
    const char *method;
    double percentile;       /* in (50, 100]; 0: 99.99 */
    const char *activations; /* "u8" (NULL), with any zero point, or "s8", around zero */
    int block;               /* rows that share a scale of 4-bit weights, a power of two from 16 to 256; 0: 32 */
    int per_tensor;          /* not 0: one scale for a layer's weights, not one for each of its output channels */
    /* bounded not 0: layers that lose most stay in f32 until max |quantised - f32| / max |f32| of every output is at most
     * error_budget. */
    int bounded;
    double error_budget;
    const char *const *keep;   /* names of nodes, or of their outputs, that stay in f32; NULL-terminated */
    const char *const *shapes; /* sizes for the runs, as in tctune_work_options; the written model keeps its symbols */
    int threads;               /* of the runs; 0: every core */
    const volatile int *stop;  /* once that is not 0 it ends with TCTUNE_STOPPED, and nothing is written; NULL: nobody stops it */
} tctune_quantize_options;

/* Quantises the network in file `model` into file `out`, which is whole or not there. *json (docs/json.md): what each layer
 * loses, which stay in f32 and why, and the error of each output; give it back with tctune_text_free. TCTUNE_BAD_INPUT also where
 * no choice of layers keeps the budget. */
TCTUNE_API tctune_status tctune_quantize(const char *model, const char *out, const tctune_quantize_options *options, char **json,
                                         char *error, size_t error_size);

#ifdef __cplusplus
}
#endif

#endif
