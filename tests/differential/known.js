// Differences from ONNX Runtime that stay: [operators, edges, reason, test]. A case at one of the edges may differ where the test
// fits the message of `tctune verify`: an expression, or a function of message and model. The reason is the proof that tctune is
// right, or that ONNX leaves the result open.
'use strict';

const worst = (ours, theirs) => new RegExp(`^output \\d+: .* element \\d+ is ${ours}, but ${theirs} was expected`);
const NAN = '-?nan', NUMBER = '-?(\\d|inf)\\S*';

// The shape that NumPy has for the result of a reduction. What comes before it keeps the shape of the model's first input.
function reducedShape(model) {
    const node = (model.plain || model.nodes).find(n => /^(Reduce|Arg)/.test(n.op)), {attrs} = node;
    const tensor = name => [...model.inputs, ...model.weights].find(t => t.name === name), [x] = model.inputs;
    const isSet = (a, otherwise) => a ? a.i : otherwise, keep = isSet(attrs.keepdims, 1);
    const axes = () => attrs.axes ? attrs.axes.I : node.inputs[1] ? [...tensor(node.inputs[1]).data].map(Number) : [];
    const given = node.op.startsWith('Arg') ? [isSet(attrs.axis, 0)] : axes();
    const all = !given.length && !isSet(attrs.noop_with_empty_axes, 0);
    const on = new Set(given.map(d => d < 0 ? d + x.dims.length : d)), reduced = d => all || on.has(d);
    return x.dims.flatMap((n, d) => !reduced(d) ? [n] : keep ? [1] : []);
}

const isReducedShape = (why, model) => why.includes(`[${reducedShape(model).join()}], but `);

const KNOWN = [
    [
        'ReduceMax ReduceMin MaxRoiPool MaxPool GlobalMaxPool RoiAlign Max Min Clip ScatterElements ScatterND chain_convolution ' +
            'chain_rows chain_graph',
        'nan infinity',
        'a maximum or minimum of a NaN and a number is NaN, as in ONNX\'s reference (NumPy); ONNX Runtime gives the number, ' +
            'depending on the order',
        worst(NAN, NUMBER)
    ],
    [
        'Hardmax ArgMax ArgMin', 'nan',
        'the largest element is the first NaN, as in NumPy\'s argmax; ONNX Runtime has another one, depending on its place',
        worst(NUMBER, NUMBER)
    ],
    [
        'Celu Elu Selu', 'small scale',
        'ONNX Runtime computes exp(x) - 1, which cancels; tests/graph/ops/pointwise.c compares with expm1 in long double',
        worst(NUMBER, NUMBER)
    ],
    [
        'TopK NonMaxSuppression Unique', 'nan', 'ONNX does not say where a NaN comes in an order, or which NaNs are equal',
        /^output \d+: .* was expected/
    ],
    [
        'Shrink', 'large scale', 'a number of f64 less the bias is not infinite; ONNX Runtime computes Shrink of f64 in f32',
        worst(NUMBER, '-?inf')
    ],
    [
        'LpNormalization', 'small', 'results below the smallest normal number may be 0 (te/eval.h), and so may such a norm',
        worst(NUMBER, NUMBER)
    ],
    [
        'DeformConv GridSample RoiAlign Upsample Resize', 'nan infinity',
        'a neighbour with weight 0 counts 0 times its value, which is NaN; ONNX does not say it, and ONNX Runtime leaves out some',
        worst(NAN, NUMBER)
    ],
    [
        'QuantizeLinear com.microsoft.QuantizeLinear', 'infinity large scale',
        'what is beyond the type becomes its limit of the same sign; ONNX Runtime converts to i32 first, which ends at one limit',
        worst('(-128|127|0|255|-32768|32767|65535)', NUMBER)
    ],
    [
        'Shrink', 'limits', 'the bias takes the number out of its type; ONNX leaves open what becomes of it',
        worst(NUMBER, NUMBER)
    ],
    [
        'LSTM GRU RNN ConvTranspose chain_attention chain_feed_forward chain_elementwise chain_stacked',
        'nan infinity',
        'inf - inf and 0 * inf are NaN, and functions of NaN are NaN; ONNX Runtime clamps arguments of tanh and of the logistic ' +
            'function, which makes a number of a NaN',
        worst(NAN, NUMBER)
    ],
    [
        'SoftmaxCrossEntropyLoss ReduceLogSumExp Softmax LogSoftmax', 'nan infinity',
        'a sum with a NaN or of inf - inf is NaN, as in ONNX\'s reference; ONNX Runtime\'s maximum passes over a NaN',
        worst(NAN, NUMBER)
    ],
    [
        'Einsum ReduceSum ReduceL1 ReduceMean ReduceProd ReduceSumSquare', 'limits',
        'integers wrap (tests/graph/ops/test_integers.c has the exact sums); ONNX Runtime adds up in f64, which ends at the limits',
        worst(NUMBER, NUMBER)
    ],
    [
        'Conv ConvTranspose DeformConv com.microsoft.FusedConv chain_convolution', 'nan infinity',
        'a weight over padding counts nothing; ONNX Runtime multiplies it by 0, which is NaN', worst(NUMBER, NAN)
    ],
    [
        'DynamicQuantizeLinear', 'ties empty',
        'ONNX says that the scale is the range / 255, which is 0 for zeros; ONNX Runtime has 1',
        worst('0', '1')
    ],
    [
        'MatMulInteger ConvInteger QLinearMatMul com.microsoft.MatMulIntegerToFloat', 'empty',
        'the sum of no products is 0; ONNX Runtime leaves its memory as it was', worst(NUMBER, NUMBER)
    ],
    [
        'Attention com.microsoft.Attention com.microsoft.MultiHeadAttention com.microsoft.GroupQueryAttention', 'infinity nan',
        'a score that the mask hides counts nothing, also if it is NaN, and a row that sees nothing gives 0; ONNX Runtime adds ' +
            '-inf to the NaN',
        worst(NUMBER, NAN)
    ],
    [
        'Attention com.microsoft.Attention com.microsoft.MultiHeadAttention com.microsoft.GroupQueryAttention', 'infinity nan',
        'a value that the mask hides is multiplied by 0, which gives NaN for NaN and inf, as ONNX says; ONNX Runtime leaves it out',
        worst(NAN, NUMBER)
    ],
    [
        'Upsample Resize GridSample DeformConv RoiAlign', 'nan infinity',
        'a place on a pixel has the value of that pixel; ONNX Runtime adds 0 times its neighbour, which is NaN',
        worst(NUMBER, NAN)
    ],
    [
        'LRN', 'nan infinity',
        'the sum over channels holds no NaN; ONNX Runtime subtracts what leaves the window, and keeps each NaN',
        worst(NUMBER, NAN)
    ],
    [
        'ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare ' +
            'ArgMax ArgMin',
        'empty', 'a reduced axis of size 0 becomes 1 with keepdims and vanishes without it, as in NumPy; ONNX Runtime leaves it',
        isReducedShape
    ],
];

const fits = (test, why, model) => typeof test === 'function' ? test(why, model) : test.test(why);

// The reason why a case may differ; undefined: it may not. why: the message.
function known(name, edges, model, why) {
    const row = KNOWN.find(
        ([names, own, , test]) =>
            names.split(' ').includes(name) && own.split(' ').some(e => edges.includes(e)) && fits(test, why, model));
    return row && row[2];
}

module.exports = {KNOWN, known};
