// Small networks that the passes and the fusion have words for. A generator is (random, model) => results' [name, type].
'use strict';

const {ints, list, product, scalar} = require('../random.js');
const {fixed} = require('./move.js');

const chains = {};
const f32 = (r, dims, options) => r.tensor('float32', dims, options);
const weight = (r, dims) => fixed(f32(r, dims, {low: -1, high: 1}));
const constant = v => fixed(scalar('float32', v));

chains.attention = (r, m) => {
    const b = r.int(1, 2), h = r.int(1, 3), s = r.int(1, 17), t = r.int(1, 17), d = r.pick([4, 8, 16]), v = r.pick([4, 8, 16]);
    const k = r.chance(0.5) ? m.node('Transpose', [f32(r, [b, h, t, d])], {perm: {I: [0, 1, 3, 2]}})[0] : f32(r, [b, h, d, t]);
    let scores = m.node('MatMul', [f32(r, [b, h, s, d], {low: -1, high: 1}), k])[0];
    scores = r.chance(0.5) ? m.node('Div', [scores, constant(Math.sqrt(d))])[0] : m.node('Mul', [scores, constant(0.25)])[0];
    if (r.chance(0.5))
        scores = m.node('Add', [scores, f32(r, r.pick([[b, 1, 1, t], [s, t], [1, 1, s, t]]))])[0];
    const p = m.node('Softmax', [scores], {axis: {i: -1}})[0], o = m.node('MatMul', [p, f32(r, [b, h, t, v])])[0];
    return [[r.chance(0.5) ? m.node('Transpose', [o], {perm: {I: [0, 2, 1, 3]}})[0] : o, 'float32']];
};
chains.convolution = (r, m) => {
    const c = r.int(1, 8), o = r.int(1, 17), size = r.int(4, 12), k = r.pick([1, 3]), x = f32(r, [r.int(1, 2), c, size, size]);
    const input = r.chance(0.3) ? m.node('Pad', [x, fixed(ints([0, 0, 1, 1, 0, 0, 1, 1]))])[0] : x;
    const kernel = dims => r.chance(0.3) ? f32(r, dims, {low: -1, high: 1}) : weight(r, dims); // some are inputs
    let y = m.node('Conv', [input, kernel([o, c, k, k]), r.chance(0.5) ? weight(r, [o]) : null], {strides: {I: [1, 1]}})[0];
    if (r.chance(0.3))
        y = m.node('Conv', [m.node('Tanh', [y])[0], kernel([o, o, 1, 1])])[0];
    if (r.chance(0.2))
        y = m.node('ConvTranspose', [m.node('Tanh', [y])[0], kernel([o, o, 2, 2])], {strides: {I: [2, 2]}})[0];
    if (r.chance(0.6))
        y = m.node('BatchNormalization', [y, weight(r, [o]), weight(r, [o]), weight(r, [o]), fixed(r.positive('float32', [o]))])[0];
    if (r.chance(0.5))
        y = m.node('Add', [y, m.node('Relu', [y])[0]])[0];
    y = r.chance(0.5) ? m.node('Relu', [y])[0] : m.node('Clip', [y, constant(0), constant(6)])[0];
    if (r.chance(0.3))
        y = m.node('MaxPool', [y], {kernel_shape: {I: [2, 2]}, strides: {I: [2, 2]}})[0];
    return [[r.chance(0.3) ? m.node('GlobalAveragePool', [y])[0] : y, 'float32']];
};
chains.feed_forward = (r, m) => {
    const n = r.int(1, 20), k = r.int(1, 33), o = r.int(1, 33), x = m.operand(f32(r, [n, k], {low: -1, high: 1}), true);
    let y = m.node('Add', [m.node('MatMul', [x, weight(r, [k, o])])[0], weight(r, [o])])[0];
    if (r.chance(0.5)) {
        const e = m.node('Erf', [m.node('Div', [y, constant(Math.SQRT2)])[0]])[0];
        y = m.node('Mul', [m.node('Mul', [y, m.node('Add', [e, constant(1)])[0]])[0], constant(0.5)])[0];
    } else {
        y = m.node('Mul', [y, m.node('Sigmoid', [y])[0]])[0];
    }
    y = m.node('Add', [m.node('MatMul', [y, weight(r, [o, k])])[0], x])[0];
    return [[y, 'float32']];
};
chains.norm_by_hand = (r, m) => {
    const d = r.int(2, 33), x = m.operand(f32(r, [r.int(1, 3), r.int(1, 9), d]), true),
          mean = m.node('ReduceMean', [x], {axes: {I: [-1]}})[0], c = m.node('Sub', [x, mean])[0];
    const v = m.node('ReduceMean', [m.node('Pow', [c, constant(2)])[0]], {axes: {I: [-1]}})[0],
          s = m.node('Sqrt', [m.node('Add', [v, constant(0.125)])[0]])[0];
    return [[m.node('Add', [m.node('Mul', [m.node('Div', [c, s])[0], weight(r, [d])])[0], weight(r, [d])])[0], 'float32']];
};
chains.quantised = (r, m) => {
    const n = r.int(1, 9), k = r.int(1, 20), o = r.int(1, 20), t = r.pick(['int8', 'uint8']),
          q = () => [fixed(scalar('float32', 2 ** r.int(-4, -2))), fixed(scalar(t, r.int(0, 5)))];
    const both = x => {
        const p = q();
        return m.node('DequantizeLinear', [m.node('QuantizeLinear', [x, ...p])[0], ...p])[0];
    };
    const w = m.node('DequantizeLinear', [fixed(r.tensor(t, [k, o])), ...q()])[0];
    return [[both(m.node('MatMul', [both(f32(r, [n, k])), w])[0]), 'float32']];
};
// Through a type that is only stored, by way of something that moves it. Beyond the largest number ONNX Runtime is right about
// saturating casts; about others, not for each of the numbers that a larger format would have.
const stored = (r, m, x, dims) => {
    const moves = [
        () => x, () => m.node('Reshape', [x, fixed(ints([product(dims)]))])[0],
        () => m.node('Transpose', [x], {perm: {I: [1, 0]}})[0], () => m.node('Identity', [x])[0]
    ];
    return r.pick(moves)();
};
const points = (r, type, zero) => [fixed(scalar('float32', 2 ** r.int(-3, 1))), fixed({type, dims: [], data: Uint8Array.of(zero)})];
chains.float8 = (r, m) => {
    const n = r.int(17, 20), type = ['float8e4m3fn', 'float8e4m3fnuz', 'float8e5m2', 'float8e5m2fnuz'][n - 17],
          dims = [r.int(1, 9), r.int(1, 20)], x = f32(r, dims, {low: -30, high: 30});
    const far = r.chance(0.5), saturate = !far || r.chance(0.7);
    x.data.forEach((v, i) => {  // of all sizes; what the largest format has past 448 only where nothing is beyond it
        x.data[i] = r.chance(0.02) ? (saturate ? r.pick([Infinity, -Infinity, NaN, 1e30]) : NaN) :
                                     v * 2 ** r.int(-12, far ? (saturate ? 14 : 2) : 0);
    });
    const own = m.operand(x, true), p = points(r, type, 0), how = {saturate: {i: saturate ? 1 : 0}};
    const narrow = r.chance(0.5) ? m.node('Cast', [own], {to: {i: n}, ...how})[0] : m.node('QuantizeLinear', [own, ...p], how)[0],
          moved = stored(r, m, narrow, dims);
    const w = m.node(
        'Cast', [m.operand(fixed({type, dims: [16], data: Uint8Array.from({length: 16}, () => r.int(0, 255))}))], {to: {i: 1}})[0];
    return [
        [r.chance(0.5) ? m.node('Cast', [moved], {to: {i: 1}})[0] : m.node('DequantizeLinear', [moved, ...p])[0], 'float32'],
        [w, 'float32']
    ];
};
chains.float8.opsets = [19, 24];
// Whole numbers: ONNX Runtime takes halves away from zero, where ONNX takes them to the even neighbour.
chains.four_bits = (r, m) => {
    const signed = r.chance(0.5), n = signed ? 22 : 21, type = signed ? 'int4' : 'uint4', dims = [r.int(1, 9), r.int(1, 20)],
          from = r.pick(['float32', 'int8', 'uint8', 'int32']);
    const wide = from !== 'float32',
          x = m.operand(r.tensor(from, dims, wide ? {low: -100, high: 100} : {low: signed ? -8 : 0, high: signed ? 7 : 15}), true),
          p = points(r, type, r.int(0, 5));
    const rounded = wide ? x : m.node('Round', [x])[0], narrow = m.node('Cast', [rounded], {to: {i: n}})[0];
    const q = wide ? narrow : m.node('QuantizeLinear', [x, ...p])[0];
    return [
        [m.node('Cast', [stored(r, m, narrow, dims)], {to: {i: 1}})[0], 'float32'],
        [m.node('DequantizeLinear', [stored(r, m, q, dims), ...p])[0], 'float32']
    ];
};
chains.four_bits.opsets = [21, 24];
chains.moved = (r, m) => {
    const a = r.int(1, 5), b = r.int(2, 6), c = r.int(1, 7), x = m.operand(f32(r, [a, b, c]), true),
          t = m.node('Transpose', [x], {perm: {I: [2, 0, 1]}})[0];
    const s = m.node('Reshape', [t, fixed(ints([c * a, b]))])[0], p = m.node('MatMul', [s, weight(r, [b, 6])])[0];
    const u = m.node('Slice', [p, fixed(ints([0])), fixed(ints([3])), fixed(ints([1]))])[0],
          v = m.node('Slice', [p, fixed(ints([3])), fixed(ints([6])), fixed(ints([1]))])[0];
    return [[m.node('Concat', [m.node('Mul', [u, v])[0], m.node('Tanh', [u])[0]], {axis: {i: 1}})[0], 'float32'], [v, 'float32']];
};
chains.stacked = (r, m) => {
    const n = r.int(1, 3), k = r.pick([16, 16, 32, 5]), x = m.operand(f32(r, [n, k], {low: -1, high: 1}), true),
          layers = r.int(2, 5), parts = [], results = [];
    for (let i = 0; i < layers; i++) // one after the other or all of x; some elementwise, some twice
        parts.push(m.node(
            r.pick(['Tanh', 'Sigmoid']), [m.node('MatMul', [i && r.chance(0.5) ? parts[i - 1] : x, weight(r, [k, k])])[0]])[0]);
    const one = r.pick(parts);
    if (r.chance(0.2))
        parts.push(one);
    if (r.chance(0.3))
        parts.push(m.node('Add', [one, x])[0]);
    if (r.chance(0.2))
        parts.push(x);
    if (r.chance(0.2))
        results.push([one, 'float32']);
    let y = m.node('Concat', parts, {axis: {i: 0}})[0];
    if (r.chance(0.5))
        y = m.node('Concat', r.chance(0.5) ? [y, m.node('MatMul', [y, weight(r, [k, k])])[0]] : [parts[0], y], {axis: {i: 0}})[0];
    return [...results, [r.chance(0.5) ? y : m.node('MatMul', [y, weight(r, [k, k])])[0], 'float32']];
};
chains.projections = (r, m) => {
    const n = r.int(1, 9), k = r.int(1, 17), x = m.operand(f32(r, [1, n, k], {low: -1, high: 1}), true);
    return [1, 2, 3].map(() => {
        const o = r.int(1, 17), y = m.node('MatMul', [x, weight(r, [k, o])])[0];
        return [r.chance(0.6) ? m.node('Add', [y, weight(r, [o])])[0] : y, 'float32'];
    });
};
chains.elementwise = (r, m) => {
    const dims = r.dims(1, 4), type = r.pick(['float32', 'float64', 'float16']),
          pool = [m.operand(r.tensor(type, dims, {low: -1, high: 1}), true)];
    for (let i = r.int(3, 10); i > 0; i--) {
        const a = r.pick(pool);
        if (r.chance(0.4))
            pool.push(m.node(
                r.pick(['Add', 'Sub', 'Max', 'Min']), [a, r.chance(0.5) ? r.pick(pool) : r.tensor(type, r.broadcasting(dims))])[0]);
        else
            pool.push(r.chance(0.15) ? m.node('Softmax', [a], {axis: {i: -1}})[0] : m.elementwise(a, type));
    }
    m.half = type === 'float16';
    return [[pool.at(-1), type], [pool.at(-2), type]];
};
// Rows of which the data say how many there are, as detectors have them after a threshold or a suppression, through some operators.
chains.rows = (r, m) => {
    const n = r.int(2, 9), width = r.int(2, 6), all = m.operand(f32(r, [n, width], {low: -1, high: 1}), true),
          score = f32(r, [n], {low: -1, high: 1}), i64 = (...v) => fixed(ints(v));
    score.data[r.int(0, n - 1)] = 2;
    const kept = m.node('Greater', [score, constant(0)])[0], index = m.node('Squeeze', [m.node('NonZero', [kept])[0], i64(0)])[0];
    let rows = m.node('Gather', [all, index], {axis: {i: 0}})[0];
    const count = () => m.node('Slice', [m.node('Shape', [rows])[0], i64(0), i64(1)])[0];
    const padding = () => m.node('Concat', [i64(0, 0), m.node('Sub', [i64(20), count()])[0], i64(0)], {axis: {i: 0}})[0];
    const along = op => m.node(op, [rows], {axes: {I: [1]}, keepdims: {i: 0}})[0];
    const large = () => m.node('Transpose', [m.node('NonZero', [m.node('Greater', [rows, constant(0.2)])[0]])[0]])[0];
    const steps = [
        () => m.node('Concat', r.shuffled([rows, f32(r, [r.int(1, 3), width])]), {axis: {i: 0}})[0],
        () => m.node('Concat', [rows, rows], {axis: {i: 0}})[0],
        () => m.node('Slice', [rows, i64(-1), i64(-1000), i64(0), i64(-r.int(1, 2))])[0],
        () => m.node('Slice', [rows, i64(0), i64(r.int(1, 9)), i64(0)])[0],
        () => m.node('Tile', [rows, i64(r.int(1, 2), 1)])[0],
        () => m.node(
            'Pad', [rows, i64(r.int(0, 2), 0, r.int(0, 2), 0), r.chance(0.5) ? constant(0.5) : null],
            {mode: {s: r.pick(['constant', 'edge'])}})[0],
        () => m.node('Pad', [rows, padding()])[0],
        () => m.node('MatMul', [rows, weight(r, [width, width])])[0],
        () => m.node('Mul', [m.node('ReduceSum', [rows, i64(0)], {keepdims: {i: 1}})[0], rows])[0],
        () => m.node('Sub', [rows, m.node('ReduceMax', [rows], {axes: {I: [0]}})[0]])[0],
        () => m.node(
            'Gather', [rows, m.node('TopK', [along('ReduceMax'), m.node('Min', [count(), i64(3)])[0]], {}, 2)[1]],
            {axis: {i: 0}})[0],
        () => m.node('Reshape', [m.node('Reshape', [rows, i64(-1)])[0], i64(-1, width)])[0],
        () => m.node('Compress', [rows, m.node('Less', [along('ReduceMin'), constant(0.51)])[0]], {axis: {i: 0}})[0],
        () => m.node('Softmax', [rows], {axis: {i: r.int(0, 1)}})[0],
        () => m.node('Concat', m.node('Split', [rows, i64(1, width - 1)], {axis: {i: 1}}, 2).reverse(), {axis: {i: 1}})[0],
        () => m.node('Transpose', [m.node('Transpose', [rows], {perm: {I: [1, 0]}})[0]], {perm: {I: [1, 0]}})[0],
        () => m.node('Einsum', [rows, weight(r, [width, width])], {equation: {s: 'ni,ij->nj'}})[0],
        () => m.node('Tanh', [m.node('Unsqueeze', [m.node('GatherND', [rows, large()])[0], i64(1)])[0]])[0],
    ];
    for (let k = r.int(1, 3); k > 0; k--) {
        const next = r.pick(steps);
        rows = next();
        if (next === steps.at(-1)) // one column is left
            break;
    }
    const back = m.node(
        'ScatterND',
        [all, m.node('Unsqueeze', [index, i64(1)])[0], m.node('Neg', [m.node('Gather', [all, index], {axis: {i: 0}})[0]])[0]])[0];
    return [[rows, 'float32'], [m.node('ReduceSum', [rows], {keepdims: {i: 0}})[0], 'float32'], [back, 'float32']];
};

module.exports = {chains, list};
