// Resizing and sampling, recurrent layers, signals.
'use strict';

const {ELEMENT} = require('../onnx_pb.js');
const {FLOATS, ints, list, scalar} = require('../random.js');
const {fixed} = require('./move.js');

const ops = {};
const image = (r, most = 7) => [r.size(1, 1), r.size(1, 3), r.int(2, most), r.int(2, most)];
const scales = v => fixed(list('float32', v));

ops.Upsample = {
    since: 7,
    until: 9,
    make: (r, opset) => {
        const x = r.tensor('float32', image(r)), s = [1, 1, r.pick([1, 2, 3]), r.pick([1, 2, 3])],
              mode = {s: r.pick(['nearest', 'linear'])};
        return opset < 9 ? {operands: [x], attrs: {mode, scales: {F: s}}} : {operands: [x, scales(s)], attrs: {mode}};
    }
};
ops.Resize = {
    since: 10,
    make: (r, opset) => {
        const x = r.tensor(r.pick(['float32', 'float32', 'uint8', 'int8', 'float16']), image(r)),
              own = opset < 11 ? ['nearest', 'linear'] : ['nearest', 'linear', 'cubic'], mode = r.pick(own);
        const s = [1, 1, r.pick([0.5, 1, 1.5, 2, 3]), r.pick([0.5, 1, 2, 2.5])];
        if (x.type !== 'float32' && mode !== 'nearest') return ops.Resize.make(r, opset);
        if (opset < 11) return {operands: [x, scales(s)], attrs: {mode: {s: mode}}, fuse: false};
        const attrs = {
            mode: {s: mode},
            coordinate_transformation_mode: {
                s: r.pick([
                    'half_pixel', 'pytorch_half_pixel', 'align_corners', 'asymmetric',
                    ...(opset >= 19 ? ['half_pixel_symmetric'] : [])
                ])
            }
        };
        // Nearest between two pixels at once: rounding in f32 decides.
        if (mode === 'nearest' && attrs.coordinate_transformation_mode.s === 'half_pixel_symmetric')
            s[2] = s[3] = r.pick([0.5, 1, 2]);
        if (mode === 'nearest') attrs.nearest_mode = {s: r.pick(['round_prefer_floor', 'round_prefer_ceil', 'floor', 'ceil'])};
        if (mode === 'cubic' && r.chance(0.5)) attrs.cubic_coeff_a = {f: -0.5};
        if (mode === 'cubic' && r.chance(0.3)) attrs.exclude_outside = {i: 1};
        if (opset >= 18 && mode !== 'nearest' && r.chance(0.3)) attrs.antialias = {i: 1};
        const roi = opset < 13 ? scales([]) : null;
        if (r.chance(0.6)) return {operands: [x, roi, scales(s)], attrs, fuse: false};
        const sizes = [x.dims[0], x.dims[1], r.int(1, 9), r.int(1, 9)], none = opset < 13 ? scales([]) : null;
        return {operands: [x, roi, none, fixed(ints(sizes))], attrs, fuse: false};
    }
};
ops.GridSample = {
    since: 16,
    make: (r, opset) => {
        const x = r.tensor(r.pick(['float32', 'float64']), image(r)),
              modes = opset < 20 ? ['bilinear', 'nearest', 'bicubic'] : ['linear', 'nearest', 'cubic'];
        const grid = r.tensor(x.type, [1, r.int(1, 4), r.int(1, 4), 2], {low: -1, high: 1});
        // Off the ties between two pixels.
        grid.data.forEach((v, i) => {
            grid.data[i] = v * 1.09 + 0.013;
        });
        return {
            operands: [x, grid],
            attrs: {
                align_corners: {i: r.int(0, 1)},
                mode: {s: r.pick(modes)},
                padding_mode: {s: r.pick(['zeros', 'border', 'reflection'])}
            },
            exact: true
        };
    }
};
ops.AffineGrid = {since: 20, make: r => {
    const three = r.chance(0.3), n = r.size(1, 2);
    return {
        operands: [
            r.tensor(r.pick(['float32', 'float64']), [n, three ? 3 : 2, three ? 4 : 3]),
            fixed(ints([n, 2, ...(three ? [3] : []), r.int(2, 5), r.int(2, 5)]))
        ],
        attrs: {align_corners: {i: r.int(0, 1)}}
    };
}};
ops.RoiAlign = {
    since: 10,
    make: (r, opset) => {
        const n = r.size(1, 3), type = r.pick(['float32', 'float64']),
              boxes =
                  Array.from({length: n}, () => [r.int(0, 8) / 8, r.int(0, 8) / 8, r.int(16, 40) / 8, r.int(16, 40) / 8]).flat();
        const attrs = {
            mode: {s: r.pick(['avg', 'max'])},
            output_height: {i: r.int(1, 3)},
            output_width: {i: r.int(1, 3)},
            sampling_ratio: {i: r.int(0, 2)},
            spatial_scale: {f: 1}
        };
        if (opset >= 16) attrs.coordinate_transformation_mode = {s: r.pick(['half_pixel', 'output_half_pixel'])};
        return {
            operands: [r.tensor(type, [1, 2, 6, 6]), {...list(type, boxes), dims: [n, 4]}, ints(Array(n).fill(0))],
            attrs,
            exact: true
        };
    }
};

// Gates of a recurrent layer: X, W, R, B?, lengths?, initial state?, ...
function recurrent(gates, extra) {
    return (r, opset) => {
        const type = 'float32', t = r.int(1, 4), n = r.size(1, 3), k = r.size(1, 6), h = r.int(1, 6),
              direction = r.pick(['forward', 'reverse', 'bidirectional']), d = direction[0] === 'b' ? 2 : 1;
        const layout = opset >= 14 && r.chance(0) ? 1 : 0, small = dims => r.tensor(type, dims, {low: -1, high: 1});
        const state = () => r.chance(0.4) ? small([d, n, h]) : null;
        const lengths = r.chance(0.3) ? fixed(ints(Array.from({length: n}, () => r.int(1, t)), 'int32')) : null;
        const operands = [
            small([t, n, k]), fixed(small([d, gates * h, k])), fixed(small([d, gates * h, h])),
            r.chance(0.6) ? fixed(small([d, 2 * gates * h])) : null, lengths, state()
        ];
        const attrs = {
            hidden_size: {i: h},
            direction: {s: direction},
            ...(layout ? {layout: {i: 1}} : {}),
            ...(r.chance(0.2) ? {clip: {f: 1.5}} : {})
        };
        return extra({operands, attrs, results: 2, fuse: false}, r, {d, h, state, small});
    };
}
ops.RNN = {since: 7, make: recurrent(1, (c, r, {d}) => {
    if (r.chance(0.4))
        c.attrs.activations = {S: Array(d).fill(r.pick(['Relu', 'Tanh', 'Sigmoid']))};
    return c;
})};
ops.GRU = {since: 7, make: recurrent(3, (c, r) => {
    c.attrs.linear_before_reset = {i: r.int(0, 1)};
    return c;
})};
ops.LSTM = {since: 7, make: recurrent(4, (c, r, {d, h, state, small}) => {
    c.operands.push(state(), r.chance(0.3) ? fixed(small([d, 3 * h])) : null);
    return {...c, results: 3};
})};

for (const op of ['BlackmanWindow', 'HammingWindow', 'HannWindow'])
    ops[op] = {
        since: 17,
        make: r => ({
            operands: [fixed(scalar(r.pick(['int32', 'int64']), r.int(2, 20)))],
            attrs: {periodic: {i: r.int(0, 1)}, ...(r.chance(0.3) ? {output_datatype: {i: ELEMENT.float64}} : {})},
            types: ['float32']
        })
    };
ops.MelWeightMatrix = {
    since: 17,
    make: r => ({
        operands: [
            scalar('int64', r.int(2, 8)), scalar('int64', r.pick([16, 32])), scalar('int64', 8192), scalar('float32', 0),
            scalar('float32', 4096)
        ].map(fixed),
        types: ['float32'],
    })
};
ops.DFT = {
    since: 17,
    make: (r, opset) => {
        const type = r.pick(['float32', 'float64']), complex = r.chance(0.5),
              dims = [r.size(1, 2), r.int(2, 9), r.int(2, 9), complex ? 2 : 1], axis = r.int(1, 2),
              inverse = complex ? r.int(0, 1) : 0;
        const attrs = {inverse: {i: inverse}, onesided: {i: complex ? 0 : r.int(0, 1)}},
              length = r.chance(0.3) ? fixed(scalar('int64', r.int(2, 9))) : null;
        if (opset < 20)
            return {operands: [r.tensor(type, dims), length], attrs: {...attrs, axis: {i: axis}}, exact: true, coarse: true};
        return {
            operands: [r.tensor(type, dims), length, fixed(scalar('int64', r.chance(0.3) ? axis - 4 : axis))],
            attrs,
            exact: true,
            coarse: true
        };
    }
};
ops.STFT = {since: 17, make: r => {
    const frame = r.pick([4, 8]), n = frame + r.int(0, 12);
    return {
        operands: [
            r.tensor('float32', [r.size(1, 1), n, 1]), fixed(scalar('int64', r.int(1, 4))),
            r.chance(0.6) ? fixed(r.tensor('float32', [frame])) : null, fixed(scalar('int64', frame))
        ],
        attrs: {onesided: {i: r.int(0, 1)}},
        exact: true
    };
}};

module.exports = {ops, FLOATS};
