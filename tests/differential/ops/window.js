// Convolutions, pools and what else slides over an image.
'use strict';

const {FLOATS, ints, product} = require('../random.js');
const {axes, fixed} = require('./move.js');

const ops = {};

// A window over `spatial` dimensions that fits: sizes, and attributes, some left at their defaults.
function window(r, {dilations = true, rank = r.pick([1, 2, 2, 2, 3]), kernelNamed = true, smallPads = false, isPool = false} = {}) {
    const kernel = [], strides = [], spread = [], begin = [], end = [], sizes = [], padded = r.chance(0.5), strided = r.chance(0.5);
    const automatic = r.chance(0.2) ? r.pick(['SAME_UPPER', 'SAME_LOWER', 'VALID']) : '';
    // ONNX Runtime's pools forget the dilation when they pad to the same size.
    const dilated = dilations && r.chance(0.3) && !(isPool && automatic);
    for (let d = 0; d < rank; d++) {
        kernel.push(r.int(1, rank === 3 ? 3 : 4));
        // A window that jumps over elements: where the padding is then less than none, ONNX Runtime's pools start elsewhere.
        strides.push(strided ? r.int(1, isPool && automatic ? Math.min(3, kernel[d]) : 3) : 1);
        spread.push(dilated ? r.int(1, 2) : 1);
        const most = smallPads ? Math.min(kernel[d] - 1, 2) : 2;
        begin.push(padded ? r.int(0, most) : 0);
        end.push(padded ? r.int(0, most) : 0);
        sizes.push((kernel[d] - 1) * spread[d] + 1 + r.int(0, rank === 3 ? 4 : 8));
    }
    const attrs = {};
    if (kernelNamed || r.chance(0.5))
        attrs.kernel_shape = {I: kernel};
    if (strided || r.chance(0.5))
        attrs.strides = {I: strides};
    if (dilated || (dilations && r.chance(0.2)))
        attrs.dilations = {I: spread};
    if (automatic)
        attrs.auto_pad = {s: automatic};
    else if (padded || r.chance(0.3))
        attrs.pads = {I: [...begin, ...end]};
    return {rank, kernel, sizes, strides, spread, begin, end, attrs, automatic};
}

ops.Conv = {
    since: 7,
    make: r => {
        const w = window(r, {kernelNamed: false}), type = r.pick(FLOATS), g = r.pick([1, 1, 2, 3]), ci = r.int(1, 5),
              co = r.int(1, 6), depthwise = r.chance(0.2);
        const group = depthwise ? r.int(2, 8) : g, inside = depthwise ? 1 : ci, out = depthwise ? 1 : co;
        return {
            operands: [
                r.tensor(type, [r.size(1, 2), group * inside, ...w.sizes]),
                r.tensor(type, [group * out, inside, ...w.kernel], {low: -1, high: 1}),
                r.chance(0.5) ? r.tensor(type, [group * out]) : null
            ],
            attrs: {...w.attrs, ...(group > 1 ? {group: {i: group}} : {})}
        };
    }
};
ops.ConvTranspose = {
    since: 7,
    make: r => {
        const w = window(r, {kernelNamed: false, smallPads: true}), type = r.pick(FLOATS), group = r.pick([1, 1, 2]),
              ci = r.int(1, 4), co = r.int(1, 4), attrs = {...w.attrs};
        const sizes = w.sizes.map(() => r.int(2, 6));
        if (w.automatic) {
            delete attrs.auto_pad;
            delete attrs.dilations;
        } else if (attrs.strides && r.chance(0.4)) {
            attrs.output_padding = {I: w.strides.map(s => r.int(0, s - 1))};
        }
        return {
            operands: [
                r.tensor(type, [r.size(1, 2), group * ci, ...sizes]),
                r.tensor(type, [group * ci, co, ...w.kernel], {low: -1, high: 1}),
                r.chance(0.5) ? r.tensor(type, [group * co]) : null
            ],
            attrs: {...attrs, ...(group > 1 ? {group: {i: group}} : {})}
        };
    }
};
const image = (r, w) => [r.size(1, 2), r.size(1, 5), ...w.sizes];
ops.MaxPool = {
    since: 7,
    make: (r, opset) => {
        const w = window(r, {dilations: opset >= 10, smallPads: true, isPool: true}),
              type = r.pick(opset >= 12 ? [...FLOATS, 'int8', 'uint8'] : FLOATS), results = opset >= 8 && r.chance(0.3) ? 2 : 1;
        const x = r.tensor(type, image(r, w)), attrs = {...w.attrs};
        if (opset >= 10 && r.chance(0.4)) attrs.ceil_mode = {i: 1};
        if (results === 2 && w.rank === 2 && r.chance(0.3)) attrs.storage_order = {i: 1};
        return {operands: [x], attrs, results, types: [type, 'int64'].slice(0, results)};
    }
};
ops.AveragePool = {since: 7, make: (r, opset) => {
    const w = window(r, {dilations: opset >= 19, smallPads: true, isPool: true}), attrs = {...w.attrs};
    if (r.chance(0.5))
        attrs.count_include_pad = {i: r.int(0, 1)};
    if (opset >= 10 && r.chance(0.4))
        attrs.ceil_mode = {i: 1};
    return {operands: [r.tensor(r.pick(FLOATS), image(r, w))], attrs};
}};
ops.LpPool = {since: 7, make: (r, opset) => {
    const w = window(r, {dilations: opset >= 18, smallPads: true, isPool: true}), attrs = {...w.attrs, p: {i: r.int(1, 3)}};
    if (opset >= 18 && r.chance(0.3))
        attrs.ceil_mode = {i: 1};
    return {operands: [r.tensor(r.pick(FLOATS), image(r, w), {low: 0})], attrs};
}};
for (const op of ['GlobalAveragePool', 'GlobalMaxPool', 'GlobalLpPool'])
    ops[op] = {
        since: 7,
        make: r => ({
            operands: [r.tensor(r.pick(FLOATS), [r.size(1, 3), r.size(1, 5), ...r.dims(1, 3, [1, 2, 3, 5])])],
            attrs: op === 'GlobalLpPool' ? {p: {i: r.int(1, 3)}} : {},
        })
    };
ops.Col2Im = {since: 18, make: r => {
    // In one dimension ONNX Runtime mixes channels up as soon as there is a dilation.
    const rank = r.int(1, 2), w = window(r, {rank, dilations: rank > 1}), out = w.sizes, attrs = {...w.attrs};
    delete attrs.kernel_shape;
    delete attrs.auto_pad;
    const p = attrs.pads ? w : {begin: out.map(() => 0), end: out.map(() => 0)}, s = attrs.strides ? w.strides : out.map(() => 1),
          e = attrs.dilations ? w.spread : out.map(() => 1);
    const blocks = out.map((n, d) => Math.floor((n + p.begin[d] + p.end[d] - e[d] * (w.kernel[d] - 1) - 1) / s[d]) + 1);
    return {
        operands: [
            r.tensor(r.pick(FLOATS), [r.size(1, 2), r.size(1, 3) * product(w.kernel), product(blocks)]), fixed(ints(out)),
            fixed(ints(w.kernel))
        ],
        attrs
    };
}};
ops.MaxUnpool = {since: 9, make: r => {
    const k = r.int(2, 3), h = r.int(1, 3), w = r.int(1, 3), c = r.int(1, 2), places = r.shuffled([...Array(h * k * w * k).keys()]);
    const at = Array.from({length: c}, (_, i) => places.slice(0, h * w).map(p => p + i * h * k * w * k)).flat();
    return {
        operands: [r.tensor(r.pick(FLOATS), [1, c, h, w]), {...ints(at), dims: [1, c, h, w]}],
        attrs: {kernel_shape: {I: [k, k]}, strides: {I: [k, k]}}
    };
}};
ops.DeformConv = {
    since: 19,
    make: r => {
        const w = window(r, {rank: 2, kernelNamed: true}), type = r.pick(['float32', 'float64']), group = r.pick([1, 2]),
              ci = r.int(1, 2), co = r.int(1, 2), attrs = {...w.attrs};
        delete attrs.auto_pad;
        attrs.pads = {I: [...w.begin, ...w.end]};
        const out = w.sizes.map(
                  (n, d) => Math.floor((n + w.begin[d] + w.end[d] - w.spread[d] * (w.kernel[d] - 1) - 1) / w.strides[d]) + 1),
              taps = product(w.kernel);
        if (!attrs.strides) attrs.strides = {I: w.strides};
        if (!attrs.dilations) attrs.dilations = {I: w.spread};
        return {
            operands: [
                r.tensor(type, [1, group * ci, ...w.sizes]), r.tensor(type, [group * co, ci, ...w.kernel]),
                r.tensor(type, [1, 2 * taps, ...out], {low: -2, high: 2}), r.chance(0.5) ? r.tensor(type, [group * co]) : null,
                r.chance(0.5) ? r.tensor(type, [1, taps, ...out]) : null
            ],
            attrs: {...attrs, group: {i: group}}
        };
    }
};

module.exports = {ops, window, axes};
