/* Declarations that the files of this folder share. */
#ifndef TC_GRAPH_QUANTIZE_QUANTIZE_INT_H
#define TC_GRAPH_QUANTIZE_QUANTIZE_INT_H

#include "graph/model/model.h"
#include "graph/onnx/edit.h"
#include "graph/quantize/quantize.h"
#include "support/map.h"
#include "support/system/scratch.h"
#include "support/vec.h"

/* ---- plan.c: what of the model is quantised ---- */

/* Operators with constant weights: Conv, ConvTranspose, MatMul, Gemm; Gather, whose weights are the table that it picks from. */
typedef enum layer_kind { LAYER_NONE, LAYER_CONV, LAYER_TRANSPOSED, LAYER_MATMUL, LAYER_GEMM, LAYER_TABLE } layer_kind;

/* A layer, or a node between such that works on quantised values as well. */
typedef struct step {
    int node;
    layer_kind layer; /* inputs 0 (activation), 1 (weights), 2 (bias; perhaps); of a table 0 (weights), 1 (indices) */
    bool all;         /* every input is an activation, else the first */
    bool same_range;  /* its result holds values of its input 0 only */
    int axis;         /* layer: of the weights, the output channels; -1: one scale for all */
    bool matmul;      /* layer: MatMul, or a Gemm that is a matmul and perhaps a bias */
    bool scaled_bias; /* layer: the bias counts as it is */
    const char *why;  /* it stays in f32 for that reason; NULL: it is quantised */
    double signal, noise;
} step;

typedef struct plan {
    TC_VEC(step) steps; /* in the order of the file */
} plan;

/* TC_BAD_INPUT for a name in o->keep that no layer has, and where there is no layer. */
TC_NODISCARD tc_status quant_plan(tc_onnx_edit *e, const tc_quantize_options *o, plan *p, tc_error *err);
/* Steps between layers that stay in f32 work in f32 too: sets `why` of those that are no layers. */
void quant_settle(tc_onnx_edit *e, plan *p);

/* ---- ranges.c: from what was seen of an activation to its scale and zero point ---- */

enum { QUANT_BINS = 2048 };

typedef struct range {
    double low, high;        /* seen */
    bool counted;            /* the bins hold something */
    double bins[QUANT_BINS]; /* of [low, high]; for entropy, of absolute values up to the largest */
} range;

typedef struct quant_params {
    double scale;
    int zero;
} quant_params;

void quant_range_see(range *r, const float *v, int64_t n);
void quant_range_count(range *r, tc_quantize_method m, const float *v, int64_t n);
quant_params quant_range_params(const range *r, const tc_quantize_options *o);

/* ---- weights.c: constants as integers ---- */

/* w as s8 with scales for the channels of `axis` (-1: one): *q, *scales (a scalar, or of one dimension), *zeros like scales, all
 * OWNED. */
TC_NODISCARD tc_status quant_weights_s8(const tc_graph_tensor *w, int axis, tc_graph_tensor *q, tc_graph_tensor *scales,
                                        tc_graph_tensor *zeros, tc_error *err);
/* A matrix of k rows and n columns (transposed: n and k) as MatMulNBits wants 4-bit weights: *q u8 [n, blocks, block / 2], *scales
 * f32 [n * blocks], zero point 8. */
TC_NODISCARD tc_status quant_weights_4bit(const tc_graph_tensor *w, bool transposed, int block, tc_graph_tensor *q,
                                          tc_graph_tensor *scales, tc_error *err);
/* A bias of one dimension as s32 in units of x_scale * scales[c]: fills q (s32, of b's shape) and bias_scales (of scales' shape).
 * False where it does not fit. */
bool quant_bias(const tc_graph_tensor *b, double x_scale, const tc_graph_tensor *scales, tc_graph_tensor *q,
                tc_graph_tensor *bias_scales);

/* ---- rewrite.c: the model's nodes replaced, or quantised beside them ---- */

typedef struct rewriter {
    tc_onnx_edit *e;
    const tc_quantize_options *o;
    const tc_map *ranges; /* by value: quant_params * */
    tc_map values;        /* by value: the name of what stands for it: dequantised, or by DynamicQuantizeLinear */
    bool beside;          /* copies behind the model; else in their places */
} rewriter;

/* Quantises step s, which reads what it read before in quantised form; *out is the name of the result: with `beside` a new one. */
TC_NODISCARD tc_status quant_rewrite(rewriter *r, const step *s, const char **out, tc_error *err);
void quant_rewriter_free(rewriter *r);

/* ---- runs.c: models run on the data ---- */

typedef struct runs {
    const tc_quantize_options *o;
    tc_scratch *scratch; /* for models that are only run */
    tc_target *target;
    tc_graph_bundle *data; /* the sets, read or drawn for the first model that is run; all models have the same inputs */
    size_t ndata;
} runs;

TC_NODISCARD tc_status quant_runs_open(runs *r, const tc_quantize_options *o, tc_error *err);
void quant_runs_close(runs *r);

/* Gets the outputs of the run on data set i, each by its name. */
typedef tc_status quant_seen(void *user, size_t i, const tc_graph_bundle *out, tc_error *err);

/* Builds the model in file `path` and runs it on every data set in order. */
TC_NODISCARD tc_status quant_run(runs *r, const char *path, quant_seen *seen, void *user, tc_error *err);
/* The same with a model that is being changed. */
TC_NODISCARD tc_status quant_run_edit(runs *r, tc_onnx_edit *e, quant_seen *seen, void *user, tc_error *err);
/* What a data set is called in messages. */
const char *quant_data_name(const runs *r, size_t i);

#endif
