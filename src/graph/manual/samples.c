/* Nodes to ask inference about. Many operators take one of the last samples, which have no name. An operator without a sample that
 * fits has '?' for its types on the page. */
#include "graph/manual/manual.h"

/* What windows, shapes and lists need. */
#define OF_SPACE                                                                                                                 \
    "kernel_shape=1,1,1 axes=0 starts=0 ends=1 pads=0,0,0,0,0,0,0,0,0,0 repeats=1,1,1,1,1 scales=1,1,2,2,2 "                     \
    "shape=4,4,4,4,4 to=1"

static const manual_sample samples[] = {
    /* elements and moves */
    {"BitShift", "T4*", "direction=LEFT"},
    {"Clip", "T4x4 T=2 T=3", ""},
    {"Concat", "T4x4*", "axis=0"},
    {"Split", "T4x4x4", "num_outputs=1"},
    {"Expand", "T4x4 i2=4", ""},
    {"Constant", "", "value_int=1"},
    {"EyeLike", "i4x4", ""},
    {"Range", "T=0 T=4 T=1", ""},
    {"ConstantOfShape", "i1=4", ""},
    {"DepthToSpace", "T4x4x4x4", "blocksize=2"},
    {"SpaceToDepth", "T4x4x4x4", "blocksize=2"},
    {"OneHot", "i4x4 i=5 T2", ""},
    {"CenterCropPad", "T4x4 i2=2", ""},
    {"Resize", "T4x4x4x4 - f4=2", ""},
    {"TopK", "T4x4x4 i1=2", ""},
    {"CumSum", "T4x4 i=0", ""},
    {"ScatterND", "T4x4 i4x1 T4x4", ""},
    /* products */
    {"Gemm", "T4x4 T4x4 T4", ""},
    {"Einsum", "T4x4 T4x4", "equation=ij,jk->ik"},
    {"com.microsoft.MatMulNBits", "T4x16 u4x1x8 T4x1", "bits=4 block_size=16 N=4 K=16"},
    {"com.microsoft.GatherBlockQuantized", "T4x8 i4 f4x1", "bits=4 block_size=16"},
    /* windows */
    {"Conv", "T1x4x4x4 T4x4x1x1", ""},
    {"ConvTranspose", "T1x4x4x4 T4x4x1x1", ""},
    {"com.microsoft.FusedConv", "T1x4x4x4 T4x4x1x1", ""},
    {"ConvInteger", "T1x4x4x4 T4x4x1x1", ""},
    {"DeformConv", "T1x4x4x4 T4x4x1x1 T1x2x4x4", ""},
    {"LRN", "T1x4x4x4", "size=3"},
    {"Col2Im", "T1x4x16 i2=4 i2=1", ""},
    {"MaxUnpool", "T1x4x2x2 i1x4x2x2", "kernel_shape=2,2 strides=2,2"},
    {"GridSample", "T1x4x4x4 T1x4x4x2", ""},
    {"AffineGrid", "T4x2x3 i4=4", ""},
    {"RoiAlign", "T1x4x4x4 T2x4 i2", ""},
    {"MaxRoiPool", "T1x4x4x4 T2x5", "pooled_shape=2,2"},
    {"NonMaxSuppression", "T1x4x4 T1x1x4 i=3", ""},
    {"Det", "T4x4", ""},
    /* bytes */
    {"QLinearMatMul", "T4x4 f=1 T=0 T4x4 f=1 T=0 f=1 T=0", ""},
    {"QLinearConv", "T1x4x4x4 f=1 T=0 T4x4x1x1 f=1 T=0 f=1 T=0", ""},
    {"com.microsoft.QLinearAdd", "T4 f=1 T=0 T4 f=1 T=0 f=1 T=0", ""},
    {"com.microsoft.QLinearMul", "T4 f=1 T=0 T4 f=1 T=0 f=1 T=0", ""},
    {"com.microsoft.QLinearLeakyRelu", "T4 f=1 T=0 f=1 T=0", ""},
    {"com.microsoft.QLinearSigmoid", "T4 f=1 T=0 f=1 T=0", ""},
    {"com.microsoft.QLinearAveragePool", "T1x4x4x4 f=1 T=0 f=1 T=0", "kernel_shape=2,2"},
    {"com.microsoft.QLinearGlobalAveragePool", "T1x4x4x4 f=1 T=0 f=1 T=0", ""},
    {"com.microsoft.QLinearConcat", "f=1 T=0 T4x4 f=1 T=0", "axis=0"},
    {"com.microsoft.QGemm", "T4x4 f=1 T=0 T4x4 f=1 T=0", ""},
    {"com.microsoft.MatMulIntegerToFloat", "T4x4 T4x4 f=1 f=1", ""},
    {"com.microsoft.DynamicQuantizeMatMul", "f4x4 T4x4 f=1", ""},
    {"com.microsoft.QAttention", "T1x4x8 T8x24 f24 f=1 f=1", "num_heads=2"},
    /* layers */
    {"GroupNormalization", "T4x4x4 T4 T4", "num_groups=2"},
    {"GRU", "T4x1x4 T1x12x4 T1x12x4", "hidden_size=4"},
    {"LSTM", "T4x1x4 T1x16x4 T1x16x4", "hidden_size=4"},
    {"RNN", "T4x1x4 T1x4x4 T1x4x4", "hidden_size=4"},
    {"Attention", "T1x2x4x8*", ""},
    {"com.microsoft.Attention", "T1x4x8 T8x24 T24", "num_heads=2"},
    {"com.microsoft.MultiHeadAttention", "T1x4x16 T1x4x16 T1x4x16", "num_heads=2"},
    {"com.microsoft.GroupQueryAttention", "T1x4x16 T1x4x16 T1x4x16 - - n1=3 n=4", "num_heads=2 kv_num_heads=2"},
    {"RotaryEmbedding", "T1x2x4x8 T1x4x4 T1x4x4", ""},
    {"com.microsoft.RotaryEmbedding", "T1x2x4x8 i1x4 T16x4 T16x4", ""},
    {"com.microsoft.SkipLayerNormalization", "T1x4x8 T1x4x8 T8", ""},
    {"com.microsoft.SkipSimplifiedLayerNormalization", "T1x4x8 T1x4x8 T8", ""},
    {"com.microsoft.EmbedLayerNormalization", "n1x4 n1x4 T16x8 T16x8 T2x8 T8 T8", ""},
    /* losses and signals */
    {"NegativeLogLikelihoodLoss", "T4x4 i4", ""},
    {"SoftmaxCrossEntropyLoss", "T4x4 i4", ""},
    {"BlackmanWindow", "i=4", ""},
    {"HammingWindow", "i=4", ""},
    {"HannWindow", "i=4", ""},
    {"MelWeightMatrix", "i=8 i=16 i=8000 f=0 f=4000", ""},
    {"DFT", "T1x2x2x8x1", ""},
    {"STFT", "T1x16x1 i=4 T8=1", ""},
    /* any */
    {NULL, "T4x4x4x4x4*", OF_SPACE},
    {NULL, "T4x4x4x4*", "kernel_shape=2,2"},
    {NULL, "T4x4*", ""},
    {NULL, "T4*", ""},
    {NULL, "T4x4x4x4x4 T4*", ""},
    {NULL, "T4x4x4x4x4 f*", ""},
    {NULL, "T4x4x4x4x4 i4x4x4x4x4*", ""},
    {NULL, "T4x4x4x4x4 i4*", ""},
    {NULL, "T4x4x4x4x4 i4x4x4x4x4 T4x4x4x4x4", ""},
    {NULL, "T4x4x4x4x4 b4", ""},
    {NULL, "b4x4x4x4x4 T4x4x4x4x4*", ""},
};

const manual_sample *manual_samples(size_t *n) {
    *n = TC_LEN(samples);
    return samples;
}
