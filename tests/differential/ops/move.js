// Operators that move data, and constants.
'use strict';

const {ELEMENT} = require('../onnx_pb.js');
const {ALL, FLOATS, INTS, NUMBERS, ints, isFloat, product, scalar} = require('../random.js');

const ops = {};
const fixed = t => ({...t, fixed: true});
const any = (r, low = 0, high = 5) => r.tensor(r.pick(ALL), r.dims(low, high));

ops.Identity = {since: 7, make: r => ({operands: [any(r)]})};
ops.Dropout = {since: 7, make: (r, opset) => {
    const operands = [r.tensor(r.pick(FLOATS), r.dims(0, 4))];
    return opset < 12 ? {operands, attrs: {ratio: {f: 0.25}}} :
                        {operands: r.chance(0.5) ? operands : [...operands, fixed(scalar('float32', 0.25))]};
}};

// Another shape of as many elements: dimensions split and merged, one perhaps left to be found (-1) or copied (0).
function reshaped(r, dims) {
    let out = [...dims];
    for (let k = r.int(1, 3); k > 0 && out.length; k--) {
        const d = r.int(0, out.length - 1);
        if (r.chance(0.5) && d + 1 < out.length)
            out.splice(d, 2, out[d] * out[d + 1]);
        else if (out.length < 6)
            out.splice(d, 1, ...(out[d] % 2 ? [1, out[d]] : [out[d] / 2, 2]));
    }
    return out;
}
ops.Reshape = {since: 7, make: (r, opset) => {
    const x = any(r, 1), shape = reshaped(r, x.dims), attrs = opset >= 14 && r.chance(0.2) ? {allowzero: {i: 1}} : {};
    const wild = r.int(0, shape.length - 1);
    if (r.chance(0.4))
        shape[wild] = -1;
    else if (!attrs.allowzero && r.chance(0.3) && wild < x.dims.length && shape[wild] === x.dims[wild])
        shape[wild] = 0;
    return {operands: [x, fixed(ints(shape))], attrs};
}};
ops.Flatten = {since: 7, make: (r, opset) => {
    const x = r.tensor(r.pick(opset < 9 ? FLOATS : ALL), r.dims(1, 5));
    return {operands: [x], attrs: r.chance(0.2) ? {} : {axis: {i: r.int(opset >= 11 ? -x.dims.length : 0, x.dims.length)}}};
}};
// Axes as an attribute, or from `version` on as an operand.
function axes(opset, version, values) {
    return opset < version ? {operands: [], attrs: {axes: {I: values}}} : {operands: [fixed(ints(values))], attrs: {}};
}
ops.Squeeze = {since: 7, make: (r, opset) => {
    const x = any(r, 1, 4), places = r.subset(x.dims.length + 1).reverse();
    for (const p of places.slice(0, 4))
        x.dims.splice(p, 0, 1);
    const all = x.dims.flatMap((d, i) => d === 1 ? [i] : []), some = all.filter(() => r.chance(0.6));
    if (!some.length)
        return {operands: [x]};
    const a = axes(opset, 13, some.map(i => opset >= 11 && r.chance(0.3) ? i - x.dims.length : i));
    return {operands: [x, ...a.operands], attrs: a.attrs};
}};
ops.Unsqueeze = {since: 7, make: (r, opset) => {
    const x = any(r, 0, 4), k = r.int(1, 2), rank = x.dims.length + k;
    const a = axes(
        opset, 13,
        r.shuffled([...Array(rank).keys()])
            .slice(0, k)
            .sort((p, q) => p - q)
            .map(i => opset >= 11 && r.chance(0.3) ? i - rank : i));
    return {operands: [x, ...a.operands], attrs: a.attrs};
}};
ops.Transpose = {since: 7, make: r => {
    const x = any(r, 0, 5);
    return {operands: [x], attrs: r.chance(0.2) ? {} : {perm: {I: r.shuffled([...x.dims.keys()])}}};
}};
ops.Concat = {since: 7, make: (r, opset) => {
    const type = r.pick(ALL), dims = r.dims(1, 4), axis = r.int(0, dims.length - 1);
    const operands = Array.from({length: r.int(1, 4)}, () => r.tensor(type, dims.map((d, i) => i === axis ? r.size(1, 6) : d)));
    return {operands, attrs: {axis: {i: opset >= 11 && r.chance(0.3) ? axis - dims.length : axis}}};
}};
ops.Split = {since: 7, make: (r, opset) => {
    const x = any(r, 1, 4), axis = r.int(0, x.dims.length - 1), parts = r.int(1, 3), attrs = {axis: {i: axis}};
    const sizes = Array.from({length: parts}, () => r.size(1, 4)), even = r.chance(0.4);
    x.dims[axis] = even ? parts * sizes[0] - (opset >= 18 && sizes[0] > parts ? r.int(0, 1) : 0) : sizes.reduce((a, b) => a + b);
    const t = r.tensor(x.type, x.dims), types = Array(parts).fill(x.type);
    if (even && opset >= 18)
        attrs.num_outputs = {i: parts};
    else if (!even && opset < 13)
        attrs.split = {I: sizes};
    return {operands: !even && opset >= 13 ? [t, fixed(ints(sizes))] : [t], attrs, results: parts, types};
}};
ops.Slice = {since: 7, make: (r, opset) => {
    const x = any(r, 1, 4), on = r.subset(x.dims.length, 1), starts = [], ends = [], steps = [];
    for (const d of on) {
        const n = x.dims[d], step = opset < 10 || r.chance(0.5) ? 1 : r.pick([2, 3, -1, -2]), a = r.int(0, n - 1);
        const b = step > 0 ? r.int(a + 1, n + 2) : r.int(-1, a - 1);
        starts.push(r.chance(0.3) ? a - n : a);
        ends.push(
            b < 0                                   ? -n - 1 - r.int(0, 3) :
                r.chance(0.2) && b < n && b > 0     ? b - n :
                step > 0 && b >= n && r.chance(0.3) ? 2 ** 31 - 1 :
                                                      b);
        steps.push(step);
    }
    if (opset < 10)
        return {operands: [x], attrs: {axes: {I: on}, starts: {I: starts}, ends: {I: ends}}};
    const type = r.pick(['int32', 'int64']), own = on.map(d => r.chance(0.3) ? d - x.dims.length : d);
    return {operands: [x, ...[starts, ends, own, steps].map(v => fixed(ints(v, type)))]};
}};
// Indices into `n`, some counted from the end where the opset allows.
function indices(r, opset, dims, n, unique = false) {
    const type = r.pick(['int32', 'int64']), values = [], order = unique ? r.shuffled([...Array(n).keys()]) : null;
    for (let i = 0; i < product(dims); i++)
        values.push((unique && n ? order[i % n] : r.int(0, n - 1)) - (opset >= 11 && !unique && r.chance(0.3) ? n : 0));
    return {...ints(values, type), dims};
}
ops.Gather = {since: 7, make: (r, opset) => {
    const x = any(r, 1, 4), axis = r.axis(x.dims.length), n = x.dims.at(axis);
    return {operands: [x, indices(r, opset, n ? r.dims(0, 3, [1, 2, 3, 4]) : [0, 2], n)], attrs: {axis: {i: axis}}};
}};
ops.GatherElements = {since: 11, make: (r, opset) => {
    const x = any(r, 1, 4), axis = r.int(0, x.dims.length - 1), dims = x.dims.map((d, i) => i === axis ? r.some(d, 5) : r.some(d));
    return {operands: [x, indices(r, opset, dims, x.dims[axis])], attrs: {axis: {i: r.chance(0.3) ? axis - x.dims.length : axis}}};
}};
// Rows of indices, each within the dimensions it addresses.
function rows(r, leading, bounds, negative, unique) {
    const n = product(leading), values = [], seen = new Set();
    for (let i = 0; i < n; i++) {
        let row = bounds.map(b => r.int(0, b - 1));
        for (let k = 0; unique && seen.has(String(row)) && k < 1000; k++)
            row = bounds.map(b => r.int(0, b - 1));
        seen.add(String(row));
        values.push(...row.map((v, k) => negative && r.chance(0.3) ? v - bounds[k] : v));
    }
    return {...ints(values), dims: [...leading, bounds.length]};
}
ops.GatherND = {
    since: 11,
    make: (r, opset) => {
        const x = any(r, 2, 4), batch = opset >= 12 ? r.int(0, Math.min(1, x.dims.length - 1)) : 0,
              depth = r.int(1, x.dims.length - batch);
        const bounds = x.dims.slice(batch, batch + depth), leading = [...x.dims.slice(0, batch), ...r.dims(0, 2, [1, 2, 3])];
        if (!product(bounds) && product(leading))
            leading.push(0); // there is nothing to gather
        return {
            operands: [x, rows(r, leading, bounds, true)],
            attrs: opset >= 12 ? {batch_dims: {i: batch}} : {}
        };
    }
};
ops.Expand = {since: 8, make: r => {
    const dims = r.dims(1, 4, [1, 2, 3, 4, 5]), x = r.tensor(r.pick(ALL), r.broadcasting(dims));
    return {
        operands: [
            x,
            fixed(ints(
                dims.map((d, i) => r.chance(0.2) && x.dims.at(i - dims.length) === d && dims.length - i <= x.dims.length ? 1 : d)))
        ]
    };
}};
ops.Tile = {since: 7, make: r => {
    const x = any(r, 1, 4);
    return {operands: [x, fixed(ints(x.dims.map(() => r.size(1, 3))))]};
}};
ops.Pad = {since: 7, make: (r, opset) => {
    const type = r.pick(opset >= 13 ? ALL : opset >= 11 ? NUMBERS : FLOATS), x = r.tensor(type, r.dims(1, 4, [2, 3, 4, 5, 7]));
    const mode = r.pick(opset >= 19 ? ['constant', 'reflect', 'edge', 'wrap'] : ['constant', 'reflect', 'edge']);
    const one = d => r.chance(0.3) ? 0 : mode === 'constant' ? r.int(-1, 3) : r.int(0, d - 1), dims = [...x.dims, ...x.dims];
    if (opset < 11)
        return {operands: [x], attrs: {mode: {s: mode}, pads: {I: dims.map(one)}, value: {f: 1.5}}};
    const value = mode === 'constant' && r.chance(0.6) ? fixed(scalar(type, 1)) : null;
    if (opset < 18 || r.chance(0.5))
        return {operands: [x, fixed(ints(dims.map(one))), value], attrs: {mode: {s: mode}}};
    const on = r.subset(x.dims.length, 1), sizes = on.map(d => x.dims[d]);
    return {operands: [x, fixed(ints([...sizes, ...sizes].map(one))), value, fixed(ints(on))], attrs: {mode: {s: mode}}};
}};
ops.Trilu = {since: 14, make: r => {
    const x = any(r, 2, 4);
    return {operands: [x, r.chance(0.3) ? null : fixed(scalar('int64', r.int(-4, 4)))], attrs: {upper: {i: r.int(0, 1)}}};
}};
ops.DepthToSpace = {since: 7, make: (r, opset) => {
    const b = r.int(1, 3), dims = [r.size(1, 2), b * b * r.int(1, 3), r.size(1, 4), r.size(1, 5)];
    return {operands: [r.tensor(r.pick(opset >= 13 ? ALL : FLOATS), dims)],
            attrs: {blocksize: {i: b}, ...(opset >= 11 ? {mode: {s: r.pick(['DCR', 'CRD'])}} : {})}};
}};
ops.SpaceToDepth = {since: 7, make: r => {
    const b = r.int(1, 3);
    return {
        operands: [r.tensor(r.pick(FLOATS), [r.size(1, 2), r.size(1, 3), b * r.size(1, 4), b * r.size(1, 4)])],
        attrs: {blocksize: {i: b}}
    };
}};

// Models of these are all constant: import has to evaluate them.
ops.Constant = {since: 7, make: (r, opset) => {
    const kinds = {value: () => ({t: r.tensor(r.pick(ALL.filter(t => t !== 'bfloat16')), r.dims(0, 3))})};
    if (opset >= 12)
        Object.assign(kinds, {
            value_float: () => ({f: 1.5}),
            value_floats: () => ({F: [1, 2.5]}),
            value_int: () => ({i: 3}),
            value_ints: () => ({I: [1, -2]})
        });
    const kind = r.pick(Object.keys(kinds));
    return {operands: [], attrs: {[kind]: kinds[kind]()}};
}};
ops.ConstantOfShape = {since: 9, make: r => {
    const attrs = r.chance(0.2) ? {} : {value: {t: r.tensor(r.pick(ALL.filter(t => t !== 'bfloat16')), [1])}};
    return {operands: [fixed(ints(r.dims(1, 4, [1, 2, 3, 5])))], attrs, types: ['float32']};
}};
ops.EyeLike = {since: 9, make: r => {
    const to = r.pick(ALL.filter(t => t !== 'bfloat16')), attrs = {k: {i: r.int(-2, 2)}};
    const x = r.tensor(r.pick(ALL), r.dims(2, 2));
    return {
        operands: [x],
        attrs: r.chance(0.5) ? attrs : {...attrs, dtype: {i: ELEMENT[to]}},
        types: [attrs.dtype ? to : x.type],
        fuse: false
    };
}};
ops.Range = {since: 11, make: r => {
    const type = r.pick(['float32', 'float64', 'int16', 'int32', 'int64']), step = r.pick([1, 2, -1, 3]), n = r.int(1, 9);
    const half = isFloat(type) ? 0.5 : 0, at = v => fixed(scalar(type, v));
    return {operands: [at(r.int(-3, 3)), at(3 + step * n + half), at(step)].map((x, i) => i === 0 ? at(3) : x)};
}};
ops.Shape = {since: 7, make: (r, opset) => {
    const x = any(r);
    return {
        operands: [x],
        attrs: opset >= 15 && r.chance(0.6) ? {start: {i: r.int(-3, 3)}, end: {i: r.int(-3, 5)}} : {},
        types: ['int64'],
        fuse: false
    };
}};
ops.Size = {since: 7, make: r => ({operands: [any(r)], types: ['int64'], fuse: false})};

// Scattering: without a reduction each place is written once, for the order of writes is nobody's business.
const REDUCTIONS = opset => opset >= 18 ? ['none', 'add', 'mul', 'max', 'min'] : opset >= 16 ? ['none', 'add', 'mul'] : ['none'];
function scatterElements(r, opset) {
    const type = r.pick(NUMBERS), dims = r.dims(1, 3), axis = r.int(0, dims.length - 1), reduction = r.pick(REDUCTIONS(opset));
    const part = dims.map((d, i) => i === axis && reduction !== 'none' ? r.some(d, d + 2) : r.some(d)), n = dims[axis];
    const stride = product(part.slice(axis + 1)), values = [], orders = {};
    for (let i = 0; i < product(part); i++) {
        const place = Math.floor(i / stride) % part[axis], line = `${Math.floor(i / stride / part[axis])},${i % stride}`;
        orders[line] = orders[line] || r.shuffled([...Array(n).keys()]);
        values.push((reduction === 'none' ? orders[line][place] : r.int(0, n - 1)) - (opset >= 11 && r.chance(0.2) ? n : 0));
    }
    const attrs = {axis: {i: axis}, ...(opset >= 16 ? {reduction: {s: reduction}} : {})};
    return {
        operands: [
            r.tensor(type, dims), {...ints(values, r.pick(['int32', 'int64'])), dims: part},
            r.tensor(type, part, {low: -2, high: 2})
        ],
        attrs
    };
}
ops.Scatter = {since: 9, until: 10, make: r => scatterElements(r, 9)};
ops.ScatterElements = {since: 11, make: scatterElements};
ops.ScatterND = {
    since: 11,
    make: (r, opset) => {
        const type = r.pick(NUMBERS), dims = r.dims(1, 4, [2, 3, 4, 5]), depth = r.int(1, dims.length),
              reduction = r.pick(REDUCTIONS(opset));
        const places = product(dims.slice(0, depth)), leading = [r.some(places, reduction === 'none' ? Math.min(places, 6) : 8)];
        const at = rows(r, leading, dims.slice(0, depth), false, reduction === 'none');
        return {
            operands: [r.tensor(type, dims), at, r.tensor(type, [...leading, ...dims.slice(depth)], {low: -2, high: 2})],
            attrs: opset >= 16 ? {reduction: {s: reduction}} : {}
        };
    }
};
ops.OneHot = {since: 9, make: r => {
    const depth = r.int(2, 6), dims = r.dims(0, 3), n = dims.length + 1, type = r.pick(['float32', 'int32', 'int64', 'float64']);
    const at = r.tensor(r.pick(['int32', 'int64', 'float32']), dims, {low: -depth, high: depth - 1});
    at.data.forEach((v, i) => {
        at.data[i] = at.type === 'float32' ? Math.trunc(v) : v;
    });
    return {
        operands: [at, fixed(r.chance(0.5) ? scalar('int64', depth) : ints([depth])), r.tensor(type, [2])],
        attrs: {axis: {i: r.axis(n)}},
        types: [type],
        fuse: false
    };
}};
ops.ReverseSequence = {
    since: 10,
    make: r => {
        const batch = r.int(0, 1), dims = r.dims(2, 4, [2, 3, 4, 5]),
              lengths = Array.from({length: dims[batch]}, () => r.int(1, dims[1 - batch]));
        return {operands: [r.tensor(r.pick(ALL), dims), ints(lengths)], attrs: {batch_axis: {i: batch}, time_axis: {i: 1 - batch}}};
    }
};
ops.CenterCropPad = {since: 18, make: r => {
    const x = r.tensor(r.pick(ALL), r.dims(1, 4)), on = r.subset(x.dims.length, 1);
    return {
        operands: [x, fixed(ints(on.map(() => r.size(1, 9))))],
        attrs: {axes: {I: on.map(d => r.chance(0.3) ? d - x.dims.length : d)}}
    };
}};

module.exports = {ops, fixed, axes, indices, INTS};
