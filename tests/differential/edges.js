// Edges: what the generators of operators seldom draw by themselves. An edge changes how a case is drawn (sizes of 0), what was
// drawn (values and types of operands), or the finished model (symbols for sizes, local functions). So each generator of ops/ gets
// every edge. WITHOUT lists the edges that an operator does not get, with the reason; the test `differential_edges` (edges_test.js)
// draws every other pair of an operator and an edge, and fails where the edge changes nothing.
'use strict';

const {wrap} = require('./functions.js');
const {takes} = require('./ops/defined.js');
const {half, isFloat} = require('./random.js');

const EDGES = {
    nan: 'NaN among floats',
    infinity: 'infinities among floats',
    small: 'zeros of both signs, subnormal numbers and the smallest normal number',
    large: 'the largest numbers of a float type',
    scale: 'a power of two times all floats, or times some rows of a tensor',
    ties: 'floats and integers of few different values',
    limits: 'integers at the ends of their type and about 2^53',
    empty: 'a dimension of size 0',
    types: 'f64 or f16 where the generator draws f32',
    symbols: 'sizes of inputs that vary within a range',
    functions: 'a part of the model in a local function, perhaps within another',
};
const FLOAT_VALUES = ['nan', 'infinity', 'small', 'large', 'scale'], VALUES = [...FLOAT_VALUES, 'ties', 'limits'];

// The operands whose values edges change. Left out: the floats that are not marked as constants, and operand 0 if it is integers.
const ALL = [0, 1, 2, 3, 4, 5, 6, 7];
const PAIRS = 'Add Sub Mul Max Min Equal Greater Less GreaterOrEqual LessOrEqual BitwiseAnd BitwiseOr BitwiseXor Concat PRelu';
const OPERANDS = {
    ...Object.fromEntries(PAIRS.split(' ').map(op => [op, ALL])),
    Where: [1, 2],
    MatMul: [0, 1],
    Gemm: [0, 1, 2],
    Einsum: [0, 1, 2],
    ScatterElements: [0, 2],
    Scatter: [0, 2],
    ScatterND: [0, 2],
    OneHot: [2],
    RoiAlign: [0],
    MaxRoiPool: [0],
    GridSample: [0],
    DeformConv: [0, 1],
    QuantizeLinear: [0],
    DequantizeLinear: [0],
    'com.microsoft.QuantizeLinear': [0],
    'com.microsoft.DequantizeLinear': [0],
    NonMaxSuppression: [1],
    Constant: [0],
    ConstantOfShape: [1],
    Pow: [0],
};

// Pointwise operators that take these types alone.
const defined = types => Object.keys(takes).filter(name => takes[name] === types).join(' ');

// [edges, reason, operators]; a chain_ is one of the networks of chains.js, control.js and graphs.js.
const WITHOUT = [
    [
        'limits', 'takes floats alone, or its integers are places and sizes', `
        Sum Mean Dropout SpaceToDepth ReduceL2 ReduceLogSum ReduceLogSumExp Softmax LogSoftmax Hardmax LayerNormalization
        BatchNormalization InstanceNormalization
        GroupNormalization MeanVarianceNormalization LpNormalization LRN NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss Conv
        ConvTranspose AveragePool LpPool GlobalAveragePool GlobalMaxPool GlobalLpPool Col2Im MaxUnpool DeformConv QuantizeLinear
        DynamicQuantizeLinear NonMaxSuppression Det MaxRoiPool Upsample GridSample AffineGrid RoiAlign RNN GRU LSTM DFT STFT
        com.microsoft.BiasGelu com.microsoft.FastGelu com.microsoft.Gelu com.microsoft.QuickGelu Swish RMSNormalization
        SimplifiedLayerNormalization com.microsoft.SimplifiedLayerNormalization com.microsoft.SkipLayerNormalization
        com.microsoft.SkipSimplifiedLayerNormalization com.microsoft.FusedMatMul com.microsoft.FusedConv com.microsoft.MatMulNBits
        com.microsoft.DynamicQuantizeMatMul com.microsoft.QuantizeLinear Attention com.microsoft.Attention
        com.microsoft.MultiHeadAttention com.microsoft.GroupQueryAttention RotaryEmbedding com.microsoft.RotaryEmbedding
        TensorScatter chain_attention chain_convolution chain_feed_forward chain_norm_by_hand chain_quantised chain_float8
        chain_four_bits chain_moved chain_stacked chain_projections chain_elementwise chain_rows chain_if chain_loop chain_grow
        chain_scan
        chain_scan_batch chain_sequence chain_collect chain_listed chain_graph`
    ],
    ['limits', 'takes floats alone', defined('float')],
    [
        'nan infinity small large scale types', 'takes integers or bools alone',
        `${defined('integer')} ${defined('bool')} MatMulInteger ConvInteger`
    ],
    ['ties limits', 'bools have two values, and the generator draws both', defined('bool')],
    [
        'nan infinity small large scale ties limits empty symbols', 'its operands are the sizes of the result', `
        Range BlackmanWindow HammingWindow HannWindow MelWeightMatrix`
    ],
    ['types', 'it has a generator of f64, or has no type of floats', 'BlackmanWindow HammingWindow HannWindow'],
    ['ties empty symbols types', 'it has no operand, or a shape', 'Constant ConstantOfShape'],
    [
        'nan infinity small large scale', 'its floats are scales, which are positive and finite', `
        DequantizeLinear com.microsoft.DequantizeLinear com.microsoft.GatherBlockQuantized com.microsoft.QLinearAdd
        com.microsoft.QLinearMul com.microsoft.QLinearLeakyRelu com.microsoft.QLinearSigmoid com.microsoft.QLinearGlobalAveragePool
        com.microsoft.QLinearAveragePool com.microsoft.QLinearConcat com.microsoft.QGemm com.microsoft.MatMulIntegerToFloat
        QLinearMatMul QLinearConv`
    ],
    [
        'ties limits', 'its integers are bytes, of which the generator draws all',
        'com.microsoft.GatherBlockQuantized com.microsoft.QLinearConcat'
    ],
    [
        'types', 'networks have types of their own; single operators draw the others', `
        chain_attention chain_convolution chain_feed_forward chain_norm_by_hand chain_quantised chain_float8 chain_four_bits
        chain_moved chain_stacked chain_projections chain_elementwise chain_rows chain_if chain_loop chain_grow chain_scan
        chain_scan_batch chain_sequence chain_collect chain_listed chain_graph`
    ],
    [
        'empty', 'networks choose among the elements of what came before', `
        chain_attention chain_convolution chain_feed_forward chain_norm_by_hand chain_quantised chain_float8 chain_four_bits
        chain_moved chain_stacked chain_projections chain_rows chain_if chain_loop chain_grow chain_scan
        chain_scan_batch chain_sequence chain_collect chain_listed chain_graph`
    ],
    [
        'nan', 'ONNX does not say which integer a NaN becomes',
        `QuantizeLinear com.microsoft.QuantizeLinear DynamicQuantizeLinear com.microsoft.DynamicQuantizeMatMul chain_quantised
        chain_four_bits`
    ],
    [
        'functions', 'not an operator of ONNX: ONNX Runtime ends, or does not find it in a function',
        'SimplifiedLayerNormalization'
    ],
    ['empty', 'ONNX Runtime divides by the size 0, and its process ends', 'Einsum'],
    ['empty', 'the mean of nothing is 0 / 0, which is NaN, as in NumPy; ONNX Runtime gives 0',
     'ReduceMean NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss'],
    ['empty', 'a window does not fit an empty image', 'MaxUnpool DeformConv'],
    ['empty', 'ONNX Runtime ends, or gives other numbers in each run', 'GRU LSTM'],
    ['infinity large', 'a range that is not finite has no scale', 'DynamicQuantizeLinear com.microsoft.DynamicQuantizeMatMul'],
    [
        'large', 'sums of products and squares overflow on the way, which depends on their order', `
        MatMul Gemm Einsum Conv ConvTranspose DeformConv LayerNormalization InstanceNormalization GroupNormalization
        Sum Mean GlobalLpPool LpPool GlobalAveragePool ReduceMean ReduceL2 ReduceSum ReduceLogSum ReduceProd CumSum
        BatchNormalization
        MeanVarianceNormalization LpNormalization AveragePool LRN RNN GRU LSTM DFT STFT Det Resize Upsample GridSample AffineGrid
        Col2Im RoiAlign
        SoftmaxCrossEntropyLoss NegativeLogLikelihoodLoss RMSNormalization SimplifiedLayerNormalization
        com.microsoft.SimplifiedLayerNormalization com.microsoft.SkipLayerNormalization
        com.microsoft.SkipSimplifiedLayerNormalization com.microsoft.EmbedLayerNormalization com.microsoft.FusedMatMul
        com.microsoft.FusedConv com.microsoft.MatMulNBits com.microsoft.QAttention Attention com.microsoft.Attention
        com.microsoft.MultiHeadAttention com.microsoft.GroupQueryAttention RotaryEmbedding com.microsoft.RotaryEmbedding
        chain_attention chain_convolution chain_feed_forward chain_norm_by_hand chain_moved chain_stacked chain_projections
        chain_rows chain_graph chain_if chain_loop chain_grow chain_scan chain_scan_batch chain_collect chain_listed`
    ],
    ['nan infinity', 'rounding makes small factors of those that are 0, and 0 * inf is NaN', 'DFT STFT'],
    [
        'scale', 'sums of large terms that cancel round in their order, and what follows hides their size',
        'chain_convolution com.microsoft.FusedConv'
    ],
    ['scale', 'sums that cancel leave their rounding, which a large operand makes large', 'DFT STFT'],
    ['infinity small large scale', 'ONNX leaves open what becomes of numbers that four bits do not hold', 'chain_four_bits'],
    ['types', 'ONNX Runtime takes f16 for f32 there', 'com.microsoft.QAttention com.microsoft.MatMulIntegerToFloat'],
    ['small', 'a range below the smallest normal number has no scale', 'DynamicQuantizeLinear com.microsoft.DynamicQuantizeMatMul'],
    [
        'nan infinity small large scale', 'ONNX leaves open what becomes of numbers that the other type does not hold',
        'Cast CastLike'
    ],
    ['empty', 'a range without numbers has no scale', 'DynamicQuantizeLinear com.microsoft.DynamicQuantizeMatMul'],
];

// ---- what an operator gets ----

const without = new Map();
for (const [edges, , names] of WITHOUT)
    for (const name of names.trim().split(/\s+/))
        without.set(name, new Set([...(without.get(name) || []), ...edges.split(' ')]));

const applies = (name, edge) => !(without.get(name) && without.get(name).has(edge));
const edgesOf = name => Object.keys(EDGES).filter(edge => applies(name, edge));

// Of about two cases in three, one or two.
function drawn(r, name, only) {
    const own = edgesOf(name).filter(edge => !only || edge === only);
    if (!own.length || (!only && r.chance(0.35)))
        return [];
    return [...new Set([r.pick(own), ...(!only && r.chance(0.25) ? [r.pick(own)] : [])])];
}

// ---- values ----

// Of each type: the numbers at its ends, and the powers of two that operands are scaled by; the products of two do not overflow.
const FORMAT = {
    float32: {
        tiny: 2 ** -149,
        normal: 2 ** -126,
        most: 2 ** 127 * (2 - 2 ** -23),
        epsilon: 2 ** -23,
        scales: [-60, -30, 30, 50]
    },
    float64: {tiny: 2 ** -1074, normal: 2 ** -1022, most: Number.MAX_VALUE, epsilon: 2 ** -52, scales: [-450, -300, 300, 400]},
    float16: {tiny: 2 ** -24, normal: 2 ** -14, most: 65504, epsilon: 2 ** -10, scales: [-8, -4, 2, 4]},
    bfloat16:
        {tiny: 2 ** -126, normal: 2 ** -126, most: 2 ** 127 * (2 - 2 ** -7), epsilon: 2 ** -7, scales: [-60, -30, 30, 50]},
};
const CHOICES = {
    nan: () => [NaN],
    infinity: () => [Infinity, -Infinity],
    small: f => [0, -0, f.tiny, -f.tiny, f.normal, -f.normal, f.normal / 2, -3 * f.normal, f.epsilon, -f.epsilon],
    large: f => [f.most, -f.most, f.most / 2, -f.most / 4, Math.sqrt(f.most), -Math.sqrt(f.most)],
};

const encoded = (t, v) => t.type === 'float16' ? half(v) : v;
const rowOf = (t, i) => t.dims.length ? Math.floor(i / Math.max(1, t.dims[t.dims.length - 1])) : 0;

// One element, some, or all of some rows.
function places(r, t) {
    const kind = r.int(0, 2), one = r.int(0, t.data.length - 1), share = r.pick([0.1, 0.4, 1]), rows = {};
    return i => kind === 0   ? i === one
                : kind === 1 ? r.chance(share)
                             : (rows[rowOf(t, i)] = rows[rowOf(t, i)] === undefined ? r.chance(0.4) : rows[rowOf(t, i)]);
}

function replace(r, t, edge) {
    const choices = CHOICES[edge](FORMAT[t.type]), here = places(r, t);
    t.data.forEach((_, i) => {
        if (here(i))
            t.data[i] = encoded(t, r.pick(choices));
    });
}

const decode = (t, v) => t.type === 'float16' ? fromHalf(v) : v;
function fromHalf(bits) {
    const sign = bits & 0x8000 ? -1 : 1, exponent = bits >> 10 & 31, low = bits & 1023;
    return exponent === 31 ? (low ? NaN : sign * Infinity)
                           : sign * (exponent ? (1 + low / 1024) * 2 ** (exponent - 15) : low * 2 ** -24);
}

function scale(r, t) {
    const power = r.pick(FORMAT[t.type].scales), rows = r.chance(0.5);
    t.data.forEach((v, i) => {
        if (!rows || rowOf(t, i) % 2)
            t.data[i] = encoded(t, decode(t, v) * 2 ** power);
    });
}

// Few values; some of them halves, which rounding takes to the even neighbour.
function tie(r, t) {
    if (!t.data.length)
        return;
    const own = Array.from({length: r.int(1, 3)}, () => t.data[r.int(0, t.data.length - 1)]);
    t.data.forEach((_, i) => { t.data[i] = r.pick(own); });
}

const WIDTH = /\d+/;
function limits(r, t) {
    const bits = Number(WIDTH.exec(t.type)[0]), signed = !t.type.startsWith('u'),
          most = 2n ** BigInt(signed ? bits - 1 : bits) - 1n;
    const least = signed ? -most - 1n : 0n,
          near = bits === 64 ? [2n ** 53n, 2n ** 53n + 1n, 2n ** 62n + 1n] : [1n, 2n ** BigInt(bits - 2)];
    const choices = [most, most - 1n, least, least + 1n, ...near], here = places(r, t);
    t.data.forEach((_, i) => {
        if (here(i))
            t.data[i] = bits === 64 ? r.pick(choices) : Number(r.pick(choices));
    });
}

function operandsOf(name, operands, edge) {
    const ints = t => !isFloat(t.type) && t.type !== 'bool' && WIDTH.test(t.type) && !/int4|float8/.test(t.type);
    const fits = t => t && typeof t !== 'string' && t.data && t.data.length &&
                      (edge === 'limits'             ? ints(t)
                       : FLOAT_VALUES.includes(edge) ? isFloat(t.type)
                                                     : isFloat(t.type) || ints(t));
    const own = OPERANDS[name] || operands.flatMap((t, i) => t && !t.fixed && (i === 0 || isFloat(t.type)) ? [i] : []);
    return own.map(i => operands[i]).filter(fits);
}

// Operands, and the values of constants.
const tensorsOf = d => [...d.operands, ...Object.values(d.attrs || {}).flatMap(v => v.t || [])];

// Changes one of these tensors, or all; true if there was any.
function change(r, name, operands, edge) {
    const own = operandsOf(name, operands, edge), some = r.chance(0.5) ? own : own.length ? [r.pick(own)] : [];
    for (const t of some) {
        t.data = t.data.slice(); // two operands may have the same values
        if (edge === 'scale')
            scale(r, t);
        else if (edge === 'ties')
            tie(r, t);
        else if (edge === 'limits')
            limits(r, t);
        else
            replace(r, t, edge);
    }
    return some.length > 0;
}

// f32 becomes f64 or f16: in operands, constants and results.
function retype(r, d) {
    const to = r.pick(['float64', 'float16']), own = d.operands.filter(t => t && t.type === 'float32');
    for (const t of own) {
        t.type = to;
        t.data = to === 'float64' ? Float64Array.from(t.data) : Uint16Array.from(t.data, half);
    }
    if (d.types)
        d.types = d.types.map(type => type === 'float32' ? to : type);
    d.coarse = d.coarse || to === 'float64';
    return own.length > 0;
}

// ---- the finished model ----

// Sizes of inputs become symbols, equal sizes one symbol; seldom sizes that a weight has, for these cannot vary.
function symbols(r, m) {
    const sizes = [...new Set(m.inputs.flatMap(x => x.dims || []))], weights = new Set(m.weights.flatMap(w => w.dims));
    const free = sizes.filter(d => !weights.has(d) || r.chance(0.2)), some = free.filter(() => r.chance(0.5)), names = {};
    for (const d of some.length || !sizes.length ? some : [r.pick(sizes)]) {
        const low = r.pick([Math.min(1, d), d]), high = Math.max(1, d + r.pick([0, 1, 5, d]));
        names[d] = `n${d}_${low}_${high}`;
    }
    const all = r.chance(0.6), one = r.int(0, Math.max(0, m.inputs.length - 1));
    m.inputs.forEach((x, i) => {
        if (x.dims && (all || i === one))
            x.symbols = x.dims.map(d => names[d]);
    });
    m.shapes = [...new Set(m.inputs.flatMap(x => (x.symbols || []).filter(s => s)))].map(s => {
        const [, low, high] = /_(\d+)_(\d+)$/.exec(s);
        return `${s}=${low}..${high}`;
    });
    return m.shapes.length > 0;
}

// Sums of terms that may cancel. The order of the terms decides about the rounding, of which tanh and the like make another number
// of any size.
const CANCELS = new Set(`
    MatMul Gemm Einsum Conv ConvTranspose DeformConv com.microsoft.FusedMatMul com.microsoft.MatMulNBits CumSum Sum Mean ReduceSum
    ReduceMean AveragePool GlobalAveragePool Col2Im`.trim().split(/\s+/));

// ---- the layer ----

// Operands and types of a single operator's case.
function changeDrawn(r, name, d, edges) {
    const done = [];
    if (edges.includes('types') && retype(r, d))
        done.push('types');
    for (const edge of VALUES)
        if (edges.includes(edge) && change(r, name, tensorsOf(d), edge))
            done.push(edge);
    d.last = done.includes('scale') && CANCELS.has(name);
    return done;
}

// A finished model.
function changeModel(r, name, m, edges) {
    const done = [];
    if (edges.includes('empty') && [...m.inputs, ...m.weights].some(x => (x.dims || []).includes(0)))
        done.push('empty');
    if (name.startsWith('chain_'))
        for (const edge of VALUES)
            if (edges.includes(edge) && change(r, name, m.inputs.filter(x => x.type === 'float32' && x.data), edge))
                done.push(edge);
    if (edges.includes('functions') && wrap(r, m))
        done.push('functions');
    if (edges.includes('symbols') && symbols(r, m))
        done.push('symbols');
    return done;
}

module.exports = {
    CANCELS,
    EDGES,
    FORMAT,
    WITHOUT,
    changeDrawn,
    changeModel,
    drawn,
    edgesOf,
    fromHalf
};
