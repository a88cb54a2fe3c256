// Differences from ONNX Runtime that stay: [operators, edges, reason, test]. A case at one of the edges may differ where the test
// fits the message of `tctune verify`: an expression, or a function of message and model. The reason is the proof that tctune is
// right, or that ONNX leaves the result open.
'use strict';

const worst = (ours, theirs) => new RegExp(`^output \\d+: .* element \\d+ is ${ours}, but ${theirs} was expected`);
const NAN = '-?nan', NUMBER = '-?(\\d|inf)\\S*';

// The shape that NumPy has for the result of a reduction.
function reducedShape(model) {
    const node = (model.plain || model.nodes).find(n => n.op.startsWith('Reduce')), {attrs} = node;
    const tensor = name => [...model.inputs, ...model.weights].find(t => t.name === name), x = tensor(node.inputs[0]);
    const given = attrs.axes ? attrs.axes.I : node.inputs[1] ? [...tensor(node.inputs[1]).data].map(Number) : [];
    const isSet = (a, otherwise) => a ? a.i : otherwise, keep = isSet(attrs.keepdims, 1);
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
        'Hardmax', 'nan',
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
    ['ReduceMean', 'empty', 'the mean of nothing is 0 / 0, which is NaN, as in NumPy; ONNX Runtime gives 0', worst(NAN, '0')],
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
        'MatMulInteger ConvInteger QLinearMatMul com.microsoft.MatMulIntegerToFloat', 'empty',
        'the sum of no products is 0; ONNX Runtime leaves its memory as it was', worst('0', NUMBER)
    ],
    [
        'Attention com.microsoft.Attention com.microsoft.MultiHeadAttention com.microsoft.GroupQueryAttention', 'infinity nan',
        'a key that the mask hides counts nothing, also if it is NaN, and a row that sees nothing gives 0; ONNX Runtime adds ' +
            '-inf to the NaN',
        worst(NUMBER, NAN)
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
        'ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare',
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
