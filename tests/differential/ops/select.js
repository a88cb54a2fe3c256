// Operators whose results are chosen by data: how many there are, or which ones. And two with kernels of their own.
'use strict';

const {ALL, list, product, scalar} = require('../random.js');
const {fixed} = require('./move.js');

const ops = {};

// At least one element is not zero: a result without elements has nothing to compare.
function lively(t) {
    t.data[0] = t.type.endsWith('64') && t.type !== 'float64' ? 1n : t.type === 'float16' ? 0x3c00 : 1;
    return t;
}

ops.NonZero = {
    since: 9,
    make: r => ({operands: [lively(r.tensor(r.pick(ALL), r.dims(1, 4), {low: -1, high: 1}))], types: ['int64'], fuse: false})
};

ops.Compress = {since: 9, make: r => {
    const x = r.tensor(r.pick(ALL), r.dims(1, 4)), axis = r.chance(0.3) ? null : r.axis(x.dims.length);
    const n = axis === null ? product(x.dims) : x.dims.at(axis < 0 ? axis : axis - x.dims.length),
          condition = lively(r.tensor('bool', [r.some(n)]));
    return {operands: [x, condition], attrs: axis === null ? {} : {axis: {i: axis}}, fuse: false};
}};

ops.Unique = {since: 11, make: r => {
    const x = r.tensor(r.pick(['float32', 'float64', 'int8', 'int64']), r.dims(1, 3), {low: -2, high: 2});
    return {
        operands: [x],
        attrs: {sorted: {i: r.int(0, 1)}, ...(r.chance(0.5) ? {axis: {i: r.axis(x.dims.length)}} : {})},
        results: 4,
        fuse: false
    };
}};

// Scores are all different: which of two equal ones comes first is not said.
ops.NonMaxSuppression = {since: 10, make: r => {
    const batches = r.size(1, 2), classes = r.int(1, 3), n = r.size(2, 9), corners = r.chance(0.6);
    const boxes = Array.from({length: batches * n}, () => {
        const y = r.int(0, 16) / 8, x = r.int(0, 16) / 8, h = r.int(4, 16) / 8, w = r.int(4, 16) / 8;
        return corners ? [y, x, y + h, x + w] : [x, y, w, h];
    }).flat();
    const scores = r.shuffled([...Array(batches * classes * n).keys()]).map(i => (i + 1) / 64);
    return {
        operands: [
            {...list('float32', boxes), dims: [batches, n, 4]}, {...list('float32', scores), dims: [batches, classes, n]},
            fixed(scalar('int64', r.int(1, n))), fixed(scalar('float32', r.pick([0.25, 0.51, 0.77]))),
            r.chance(0.5) ? fixed(scalar('float32', 0.01)) : null
        ],
        attrs: {center_point_box: {i: corners ? 0 : 1}},
        types: ['int64'],
        fuse: false,
    };
}};

ops.Det = {since: 11, make: r => {
    const n = r.int(1, 6);
    return {
        operands: [r.tensor(r.pick(['float32', 'float64']), [...r.dims(0, 2), n, n], {low: -2, high: 2})],
        exact: true,
        fuse: false
    };
}};

ops.MaxRoiPool = {since: 7, make: r => {
    const n = r.size(1, 3), rois = Array.from({length: n}, () => {
        const x = r.int(0, 3), y = r.int(0, 3);
        return [0, x, y, x + r.int(1, 4), y + r.int(1, 4)];
    }).flat();
    return {
        operands: [r.tensor('float32', [1, r.int(1, 3), 8, 8]), {...list('float32', rois), dims: [n, 5]}],
        attrs: {pooled_shape: {I: [r.int(1, 3), r.int(1, 3)]}, spatial_scale: {f: 1}},
        fuse: false
    };
}};

module.exports = {ops};
