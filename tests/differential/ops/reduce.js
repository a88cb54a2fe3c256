// Reductions, normalisations, order.
'use strict';

const {FLOATS, NUMBERS, ints, list, scalar} = require('../random.js');
const {eighths} = require('./elementwise.js');
const {axes, fixed} = require('./move.js');

const ops = {};
const negated = (r, on, rank) => on.map(d => r.chance(0.3) ? d - rank : d);

const POSITIVE = {ReduceLogSum: true};
// ONNX Runtime computes sums and means of integers in double: right for means of 32 bits, and for what stays below 2^53.
const anyBits = (op, type) => /Max|Min/.test(op) || (/Mean/.test(op) && type.endsWith('32'));
const INTEGERS = ['int32', 'int64', 'uint32', 'uint64'];
for (const op of ['L1', 'L2', 'LogSum', 'LogSumExp', 'Max', 'Mean', 'Min', 'Prod', 'Sum', 'SumSquare'].map(x => 'Reduce' + x))
    ops[op] = {since: 7, exact: op in POSITIVE, make: (r, opset) => {
        const more = /Max|Min/.test(op) && opset >= 12 ? ['int8', 'uint8'] : [];
        const type = r.pick([...FLOATS, ...INTEGERS, ...more].filter(t => !/Log|L2/.test(op) || FLOATS.includes(t)));
        const x = r.tensor(type, r.dims(1, 4), {low: POSITIVE[op] ? 0.125 : -2, high: 2, wide: anyBits(op, type) && r.chance(0.5)});
        if (op === 'ReduceProd')
            x.dims.splice(0, x.dims.length, ...r.dims(1, 3, [1, 2, 3])), x.data = r.tensor(type, x.dims, {low: -2, high: 2}).data;
        const version = op === 'ReduceSum' ? 13 : 18, on = negated(r, r.subset(x.dims.length, 1), x.dims.length);
        const own = opset >= 11 ? on : on.map(d => d < 0 ? d + x.dims.length : d);
        const a = r.chance(0.2) ? {operands: [], attrs: {}} : axes(opset, version, own);
        const empty = opset >= version && !a.operands.length ? {noop_with_empty_axes: {i: r.int(0, 1)}} : {};
        return {
            operands: [x, ...a.operands],
            attrs: {...a.attrs, ...empty, ...(r.chance(0.7) ? {keepdims: {i: r.int(0, 1)}} : {})}
        };
    }};
for (const op of ['ArgMax', 'ArgMin'])
    ops[op] = {since: 7, make: (r, opset) => {
        const x = r.tensor(r.pick(NUMBERS), r.dims(1, 4), {wide: r.chance(0.5)}), attrs = {keepdims: {i: r.int(0, 1)}};
        if (r.chance(0.8))
            attrs.axis = {i: opset >= 11 ? r.axis(x.dims.length) : r.int(0, x.dims.length - 1)};
        if (opset >= 12)
            attrs.select_last_index = {i: r.int(0, 1)};
        return {operands: [x], attrs, types: ['int64'], fuse: false};
    }};

for (const op of ['Softmax', 'LogSoftmax', 'Hardmax'])
    ops[op] = {since: 7, exact: op === 'Hardmax', make: (r, opset) => {
        const x = r.tensor(r.pick(FLOATS), r.dims(opset < 13 ? 2 : 1, 4)), rank = x.dims.length;
        return {operands: [x], attrs: r.chance(0.2) ? {} : {axis: {i: opset < 11 ? r.int(0, rank - 1) : r.axis(rank)}}};
    }};
ops.CumSum = {since: 11, make: r => {
    const type = r.pick(['float32', 'float64', 'float16', 'int32', 'int64', 'uint32', 'uint64']);
    const x = r.tensor(type, r.dims(1, 4), {wide: r.chance(0.5)});
    return {
        operands: [x, fixed(scalar(r.pick(['int32', 'int64']), r.axis(x.dims.length)))],
        attrs: {exclusive: {i: r.int(0, 1)}, reverse: {i: r.int(0, 1)}}
    };
}};

const epsilon = r => ({f: r.pick([1e-5, 1e-3, 0.25])});
ops.LayerNormalization = {
    since: 17,
    make: r => {
        const type = r.pick(FLOATS), x = r.tensor(type, r.dims(1, 4, [2, 3, 4, 5, 8, 16, 17])), axis = r.int(0, x.dims.length - 1),
              dims = x.dims.slice(axis);
        const own = axis === x.dims.length - 1 && r.chance(0.3) ? {} : {axis: {i: r.chance(0.3) ? axis - x.dims.length : axis}};
        return {
            operands: [x, r.tensor(type, dims), r.chance(0.6) ? r.tensor(type, dims) : null],
            attrs: {...own, epsilon: {f: r.pick([1e-3, 0.25])}}
        };
    }
};
const channels = r => [r.size(1, 3), r.size(1, 8), ...r.dims(1, 3, [1, 2, 3, 4, 5])];
ops.BatchNormalization = {since: 7, make: (r, opset) => {
    const type = r.pick(FLOATS), x = r.tensor(type, channels(r)), c = [x.dims[1]];
    const p = [r.tensor(type, c), r.tensor(type, c), r.tensor(type, c), r.positive(type, c)];
    return {operands: [x, ...(r.chance(0.6) ? p.map(fixed) : p)], attrs: {epsilon: epsilon(r)}};
}};
ops.InstanceNormalization = {since: 7, make: r => {
    const type = r.pick(FLOATS), dims = channels(r), c = [dims[1]];
    dims.push(4);
    return {operands: [r.tensor(type, dims), r.tensor(type, c), r.tensor(type, c)], attrs: {epsilon: {f: r.pick([1e-2, 0.25])}}};
}};
ops.GroupNormalization = {since: 18, make: (r, opset) => {
    const type = r.pick(FLOATS), groups = r.int(1, 3), dims = channels(r);
    dims[1] = groups * r.int(1, 4);
    dims.push(4);
    const n = [opset >= 21 ? dims[1] : groups];
    return {
        operands: [r.tensor(type, dims), r.tensor(type, n), r.tensor(type, n)],
        attrs: {num_groups: {i: groups}, epsilon: {f: r.pick([1e-2, 0.25])}},
        coarse: true
    };
}};
ops.MeanVarianceNormalization = {since: 9, make: r => {
    const x = r.tensor(r.pick(FLOATS), [r.size(2, 3), r.size(1, 4), r.size(3, 5), r.size(3, 5)]);
    return {operands: [x], attrs: r.chance(0.3) ? {} : {axes: {I: r.pick([[0, 2, 3], [2, 3], [1, 2, 3], [0, 1, 2, 3]])}}};
}};
ops.LpNormalization = {since: 7, exact: true, make: r => {
    const x = r.positive(r.pick(FLOATS), r.dims(1, 4));
    return {operands: [x], attrs: {axis: {i: r.axis(x.dims.length)}, p: {i: r.int(1, 2)}}};
}};
ops.LRN = {since: 7, make: r => ({
    operands: [r.tensor(r.pick(FLOATS), [r.size(1, 2), r.size(1, 9), r.size(1, 4), r.size(1, 4)])],
    attrs: {size: {i: r.pick([1, 3, 5])}, alpha: eighths(r, 0.125, 1), beta: eighths(r, 0.5, 1), bias: eighths(r, 1, 2)},
})};
ops.TopK = {
    since: 7,
    make: (r, opset) => {
        const type = r.pick(opset >= 11 ? NUMBERS : FLOATS), x = r.tensor(type, r.dims(1, 3)), axis = r.int(0, x.dims.length - 1),
              k = r.int(1, x.dims[axis]);
        const attrs = {
            axis: {i: opset >= 11 && r.chance(0.3) ? axis - x.dims.length : axis},
            ...(opset >= 11 ? {largest: {i: r.int(0, 1)}} : {})
        };
        if (opset < 10) return {operands: [x], attrs: {...attrs, k: {i: k}}, results: 2, types: [type, 'int64'], fuse: false};
        return {operands: [x, fixed(ints([k]))], attrs, results: 2, types: [type, 'int64'], fuse: false};
    }
};

// Scores [N, C, d...], classes [N, d...].
function loss(r) {
    const type = r.pick(['float32', 'float64', 'float16']), n = r.size(1, 4), c = r.int(2, 6), d = r.dims(0, 2, [1, 2, 3]),
          target = r.pick(['int32', 'int64']);
    const ignored = r.chance(0.5) ? {ignore_index: {i: r.int(0, c - 1)}} : {}, reduction = r.pick(['none', 'sum', 'mean']);
    const classes = r.tensor(target, [n, ...d], {low: 0, high: c - 1});
    // A mean over nothing is not defined.
    classes.data[0] = (target === 'int64' ? BigInt : Number)(ignored.ignore_index ? (ignored.ignore_index.i + 1) % c : 0);
    return {
        operands: [r.tensor(type, [n, c, ...d]), classes, r.chance(0.5) ? r.positive(type, [c]) : null],
        attrs: {...ignored, reduction: {s: reduction}},
        fuse: false
    };
}
ops.NegativeLogLikelihoodLoss = {since: 12, make: loss};
ops.SoftmaxCrossEntropyLoss = {since: 12, make: r => ({...loss(r), results: r.int(1, 2)})};

module.exports = {ops, list};
