// Differences from ONNX Runtime that stay: [operators, edges, reason, test]. A case at one of the edges may differ where the test
// fits: {shown} is a function of explain.js, which looks at all elements; a function of message and model is for models that tctune
// refuses. The reason is the proof that tctune is right, or that ONNX leaves the result open.
'use strict';

const explain = require('./explain.js');

function isEmptyAxis(model) {
    const {axis} = (model.plain || model.nodes).find(n => /^Arg/.test(n.op)).attrs, [{dims}] = model.inputs;
    return dims.at(axis ? axis.i : 0) === 0;
}

const KNOWN = [
    [
        'ReduceMax ReduceMin Max Min ScatterElements ScatterND chain_convolution chain_rows chain_graph',
        'nan infinity',
        'a maximum or minimum of a NaN and a number is NaN, as in ONNX\'s reference (NumPy); ONNX Runtime gives the number, ' +
            'depending on the order',
        {shown: explain.spreads}
    ],
    [
        'Clip', 'nan infinity',
        'a bound that is missing bounds nothing, and the maximum of a NaN and a bound is NaN, as in ONNX\'s function; ONNX ' +
            'Runtime cuts infinities off',
        {shown: explain.spreads}
    ],
    [
        'MaxPool GlobalMaxPool MaxRoiPool', 'nan infinity',
        'a maximum with a NaN is NaN, and that of -inf alone is -inf; ONNX Runtime starts with the lowest number',
        {shown: explain.spreads}
    ],
    [
        'Hardmax ArgMax ArgMin', 'nan',
        'the largest element is the first NaN, as in NumPy\'s argmax; ONNX Runtime has another one, depending on its place',
        {shown: explain.spreads}
    ],
    [
        'Celu Elu Selu', 'small scale', 'ONNX Runtime computes exp(x) - 1, which cancels', {shown: explain.exactly}
    ],
    [
        'TopK chain_rows', 'nan', 'NaN is above all numbers, as in NumPy\'s sort; ONNX does not say where it comes in an order',
        {shown: explain.spreads}
    ],
    [
        'Unique', 'nan', 'NaN are equal and above all numbers, as in NumPy; ONNX does not say which are equal',
        {shown: explain.exactly}
    ],
    [
        'NonMaxSuppression', 'nan', 'a score of NaN is not above the threshold, and the best without one; ONNX does not say it',
        {shown: explain.exactly}
    ],
    [
        'Shrink', 'nan infinity small large scale',
        'a number of f64 less the bias is a number of f64; ONNX Runtime computes Shrink of f64 in f32',
        {shown: explain.exactly}
    ],
    [
        'QuantizeLinear com.microsoft.QuantizeLinear', 'infinity large',
        'what is beyond the type becomes its limit of the same sign; ONNX Runtime converts to i32 first, which ends at one limit',
        {shown: explain.exactly}
    ],
    [
        'Shrink', 'limits',
        'the bias is added in f64, as NumPy does it; ONNX leaves open what becomes of a number that the type does not hold',
        {shown: explain.shrunk}
    ],
    [
        'LSTM GRU RNN', 'nan infinity small',
        'functions of NaN are NaN, and as exact where they are small; ONNX Runtime clamps arguments of tanh and of the logistic ' +
            'function, and approximates to 1e-6',
        {shown: explain.exactly}
    ],
    [
        'chain_attention chain_feed_forward chain_elementwise chain_stacked', 'nan infinity',
        'functions of NaN are NaN; ONNX Runtime clamps arguments of tanh and of the logistic function, which gives numbers',
        {shown: explain.spreads}
    ],
    [
        'SoftmaxCrossEntropyLoss ReduceLogSumExp Softmax LogSoftmax', 'nan infinity',
        'a sum with a NaN or of inf - inf is NaN, as in ONNX\'s reference; ONNX Runtime\'s maximum passes over a NaN',
        {shown: explain.spreads}
    ],
    [
        'com.microsoft.SkipLayerNormalization', 'scale',
        'an element at the mean of its row is its rounding times the scale; ONNX Runtime rounds in another order',
        {shown: explain.roundedCentres}
    ],
    [
        'LayerNormalization', 'infinity', 'an element at the mean of its row is 0 but for rounding, and 0 * inf is NaN',
        {shown: explain.centres}
    ],
    [
        'LayerNormalization', 'small', 'what is below the smallest normal number may be 0 (te/eval.h), also a mean',
        {shown: explain.centred}
    ],
    [
        'NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss', 'small',
        'the weights of the mean are close to the smallest number, or may be 0 (te/eval.h)', {shown: explain.fewWeights}
    ],
    [
        'LogSoftmax', 'large', 'what f16 does not hold is infinite; ONNX Runtime keeps f32 between nodes of f16',
        {shown: explain.steps}
    ],
    [
        'LRN', 'nan infinity', 'ONNX Runtime takes squares that leave the window from the sum, and inf - inf is NaN',
        {shown: explain.spreads}
    ],
    [
        'Einsum ReduceSum ReduceL1 ReduceMean ReduceProd ReduceSumSquare', 'limits',
        'integers wrap, and means are those of sums that do not; ONNX Runtime adds up in f64, which ends at the limits',
        {shown: explain.exactly}
    ],
    [
        'DynamicQuantizeLinear', 'ties', 'ONNX says that the scale is the range / 255, which is 0 for zeros; ONNX Runtime has 1',
        {shown: explain.exactly}
    ],
    [
        'MatMulInteger QLinearMatMul', 'empty',
        'the sum of no products is 0, and 0 rows broadcast with 1 to 0; ONNX Runtime leaves its memory as it was, or gives 1 row',
        {shown: explain.exactly}
    ],
    [
        'ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMin ReduceProd ReduceSum ReduceSumSquare ArgMax ArgMin',
        'empty', 'a reduced axis of size 0 becomes 1 with keepdims and vanishes without it, as in NumPy; ONNX Runtime leaves it',
        {shown: explain.exactly}
    ],
    [
        'RoiAlign', 'nan infinity', 'a maximum of a NaN and a number is NaN, as in NumPy; ONNX Runtime gives the number',
        {shown: explain.corners}
    ],
    [
        'DeformConv GridSample RoiAlign Upsample Resize Conv ConvTranspose com.microsoft.FusedConv chain_convolution ' +
            'Attention com.microsoft.Attention com.microsoft.MultiHeadAttention com.microsoft.GroupQueryAttention',
        'nan infinity',
        'a value with weight 0 (the second neighbour of a place on a pixel, padding, what a mask hides) counts 0, or NaN if it ' +
            'is NaN or infinite: ONNX does not say which',
        {shown: explain.weightless}
    ],
    [
        'Pow', 'limits',
        'integer powers of integers wrap, as in NumPy, where ONNX Runtime rounds them to f64; ONNX leaves open what becomes of a ' +
            'power of f64 that the integer type does not hold',
        {shown: explain.powers}
    ],
    [
        'ArgMax ArgMin', 'empty', 'no element is the largest of none, which NumPy refuses too; ONNX Runtime leaves out the axis',
        (why, model) => /axis -?\d+ is empty$/.test(why) && isEmptyAxis(model)
    ],
    [
        'Mod', 'limits', 'remainders of integers are exact; ONNX Runtime computes fmod in f64', {shown: explain.remainders}
    ],
    [
        'BatchNormalization InstanceNormalization', 'nan infinity scale',
        '(x - mean) * (scale / sqrt(variance + epsilon)) + bias; ONNX Runtime folds mean and bias, which gives inf - inf',
        {shown: explain.channelNorms}
    ],
    [
        'Softplus', 'large scale', 'log(1 + exp(x)) of a large x is x; ONNX Runtime\'s exp overflows', {shown: explain.exactly}
    ],
    [
        'GroupNormalization', 'scale', 'a norm of f64 is computed in f64; ONNX Runtime goes through f32, which overflows',
        {shown: explain.spreads}
    ],
    [
        'Gemm', 'empty', 'a product of no terms leaves beta * C, as ONNX says; ONNX Runtime leaves C, without the factor',
        {shown: explain.addends}
    ],
    [
        'ReduceLogSum', 'small',
        'the sum is not larger than its rounding, or is below the smallest normal number and may be 0 (te/eval.h)',
        {shown: explain.logarithms}
    ],
    [
        'LpNormalization', 'small', 'the terms of the norm are below the smallest normal number, and it may be 0 (te/eval.h)',
        {shown: explain.norms}
    ],
    [
        'com.microsoft.MatMulNBits', 'infinity',
        'a zero point is subtracted from the sum of a block (ops/native/quant_blocks.c): an infinity in the row gives inf - inf',
        {shown: explain.infiniteRows}
    ],
];

// The reason why a case may differ; undefined: it may not. why: the message.
async function known(c, why, tools) {
    for (const [names, edges, reason, test] of KNOWN) {
        if (!names.split(' ').includes(c.name) || !edges.split(' ').some(e => c.edges.includes(e)))
            continue;
        const allows = test.shown && await test.shown(c, tools);
        if (test.shown ? allows === true || (allows && await explain.settle(c, allows, tools)) : test(why, c.model))
            return reason;
    }
}

module.exports = {KNOWN, known};
