/* src/graph/quantize owns the step from f32 models to quantised ONNX files: ranges from calibration data, the loss of each layer,
 * and the choice of layers that stay in f32. Not here: how a quantised model is compiled (src/graph/passes).
 *
 * The input is an ONNX file, and so is the output. The output has forms that other programs read too:
 *
 *   STATIC   QuantizeLinear/DequantizeLinear pairs around convolutions, matmuls and the nodes between them; the ranges of the
 *            activations come from calibration data; weights s8, biases s32
 *   DYNAMIC  DynamicQuantizeLinear -> MatMulInteger or ConvInteger -> Cast -> Mul: ranges are found in each run
 *   WEIGHTS  only the weights: 8 bits under a DequantizeLinear, or 4 bits in blocks (com.microsoft MatMulNBits,
 *            GatherBlockQuantized)
 *
 * An 8-bit table stays a table of bytes in every form: a Gather selects rows of it, and the selected rows are dequantised.
 *
 * Reals become integers by ONNX's rule (round half to even, saturate). Ranges by percentile follow Wu et al., "Integer quantization
 * for deep learning inference" (2020). Ranges by entropy follow Migacz, "8-bit inference with TensorRT" (2017).
 *
 * A layer is a Conv, ConvTranspose, MatMul or Gemm whose weights are an f32 constant, or a Gather from an f32 constant table. One
 * run of a network that computes each layer twice, from the same exact inputs, measures the loss of each layer's arithmetic by
 * itself. A run of the quantised model measures the loss of the whole model. */
#ifndef TC_GRAPH_QUANTIZE_QUANTIZE_H
#define TC_GRAPH_QUANTIZE_QUANTIZE_H

#include <signal.h>

#include "graph/onnx/import.h"

typedef enum tc_quantize_kind { TC_QUANTIZE_STATIC, TC_QUANTIZE_DYNAMIC, TC_QUANTIZE_WEIGHTS } tc_quantize_kind;

/* How the range of an activation follows from what was seen: all of it, a share of it, or what loses least information. */
typedef enum tc_quantize_method { TC_QUANTIZE_MINMAX, TC_QUANTIZE_PERCENTILE, TC_QUANTIZE_ENTROPY } tc_quantize_method;

typedef struct tc_quantize_options {
    tc_quantize_kind kind;
    tc_quantize_method method; /* STATIC */
    double percentile;         /* PERCENTILE: in (50, 100] */
    tc_dtype activations;      /* STATIC: TC_U8 (any zero point) or TC_I8 (zero point 0) */
    int bits, block;           /* WEIGHTS: 8 or 4; rows of a block of 4-bit weights: a power of two from 16 to 256 */
    bool per_tensor;           /* one scale for a layer's weights, not one for each of its output channels */
    double budget;             /* layers stay in f32 until the outputs' error is at most that; negative: no bound */
    const char *const *keep;   /* names of nodes, or of their outputs, that stay in f32 */
    size_t nkeep;
    const char *const *data; /* .npz files or folders of input_N.pb; at least one for STATIC. None: drawn inputs */
    size_t ndata;
    const tc_graph_binding *shapes; /* sizes for the runs; the written model keeps its symbols */
    size_t nshapes;
    const char *const *fixed; /* inputs whose value is the same in each run (tc_graph_import_options); they stay inputs */
    size_t nfixed;
    int threads;                       /* of the runs; 0: one per core */
    const volatile sig_atomic_t *stop; /* may be NULL */
} tc_quantize_options;

typedef struct tc_quantize_layer {
    const char *name, *op;
    double snr; /* dB: power of the layer's result over that of what quantising this layer alone changes; infinite: nothing */
    const char *why; /* it stays in f32 for that reason; NULL: it is quantised */
} tc_quantize_layer;

typedef struct tc_quantize_output {
    const char *name;
    double error; /* max |quantised - f32| / max |f32| over all data */
} tc_quantize_output;

/* Free with tc_quantize_report_free; names live as long. */
typedef struct tc_quantize_report {
    tc_quantize_layer *layers;
    size_t nlayers, nquantized;
    tc_quantize_output *outputs;
    size_t noutputs;
    double error; /* the largest of the outputs' */
    int64_t bytes_before, bytes_after;
    tc_arena *arena;
} tc_quantize_report;

/* Quantises the model in file `model` into file `out`, which is whole or not there. TC_BAD_INPUT: the model, a data file (its name,
 * the input and what was expected), a node to keep that there is not, an opset too old for the form, no layer to quantise, or no
 * choice of layers within the budget. */
TC_NODISCARD tc_status tc_quantize(const char *model, const char *out, const tc_quantize_options *o, tc_quantize_report *report,
                                   tc_error *err);
void tc_quantize_report_free(tc_quantize_report *r);

#endif
