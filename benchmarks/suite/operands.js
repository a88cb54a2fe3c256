// An operator's tensors as its peers see them: feature maps as N, C, spatial axes, weights as O, I, spatial axes, and what can be
// folded into constants folded. A view (tensor.js) says how; the kernel's own layout stays that of the .te file.
'use strict';

const tensor = require('./tensor.js');
const {product} = require('./describe.js');

const range = (from, to) => Array.from({length: to - from}, (_, i) => [from + i]);

function featureView(c) {
    // N, spatial axes, channels; capsules: N, H, W, row of the capsule, then channels of two axes
    const spatial = range(1, 1 + c.rank);
    return [[0], c.capsule ? [c.rank + 1, c.rank + 2] : [c.rank + 1], ...spatial];
}

// [rh, rw, c, o]; depthwise [rh, rw, o]; capsules [rh, rw, k, j, c, o], where k belongs to c and j to o.
function weightView(c) {
    const sliding = range(0, c.rank - Number(c.capsule)), at = sliding.length;
    if (c.capsule)
        return [[at + 1, at + 3], [at, at + 2], ...sliding, []];
    return c.depthwise ? [[at], [], ...sliding] : [[at + 1], [at], ...sliding];
}

// Views by name; what is not here is seen as it is.
function views(op) {
    const o = op.op, out = op.output.name;
    switch (o.kind) {
    case 'conv':
    case 'deconv':
        return {X: featureView(o), W: weightView(o), [out]: featureView(o)};
    case 'pool':
        return {X: [[0], [3], [1], [2]], [out]: [[0], [3], [1], [2]]};
    case 'transpose':
        return {[out]: [[0], [3], [1], [2]]};
    default:
        return {};
    }
}

// w[o][...] * scale[o], and (b + 0) * scale + shift.
function foldNorm(list) {
    const by = name => list.find(t => t.name === name), w = by('W'), b = by('B'), scale = by('scale').data,
          shift = by('shift').data;
    const row = w.data.length / scale.length;
    w.data = w.data.map((x, i) => x * scale[Math.floor(i / row)]);
    b.data = b.data.map((x, i) => x * scale[i] + shift[i]);
    return list.filter(t => t.name !== 'scale' && t.name !== 'shift');
}

// values: {name: Float32Array}. [{name, dims, strides, data, const}]: dims of the view; constants dense in the view's order, so
// that strides say nothing; the others' data as they are in memory, with the view's strides over it.
function inputs(op, values) {
    const v = views(op);
    const list = op.inputs.map(t => {
        const groups = v[t.name] || range(0, t.dims.length), dims = tensor.viewDims(t.dims, groups);
        if (!t.const)
            return {name: t.name, own: t.dims, groups, dims, strides: tensor.viewStrides(t.dims, groups), data: values[t.name]};
        return {
            name: t.name,
            dims,
            strides: tensor.stridesOf(dims),
            data: tensor.toView(values[t.name], t.dims, groups),
            const : true
        };
    });
    return op.op.norm ? foldNorm(list) : list;
}

function output(op) {
    const t = op.output, groups = views(op)[t.name] || range(0, t.dims.length);
    return {name: t.name, own: t.dims, groups, dims: tensor.viewDims(t.dims, groups), strides: tensor.viewStrides(t.dims, groups)};
}

// Seeded values of every input, by name.
const seeded = (op, seed) =>
    Object.fromEntries(op.inputs.map((t, i) => [t.name, tensor.random(product(t.dims), seed * 1000 + i + 1)]));

module.exports = {inputs, output, seeded};
