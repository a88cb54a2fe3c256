// What ONNX Runtime's optimiser writes: operators of com.microsoft, and those that are registered beside ONNX's own. Newer
// operators of ONNX that are made of the same parts stand here too.
'use strict';

const {ints, list, scalar} = require('../random.js');
const {fixed} = require('./move.js');
const {window} = require('./window.js');

const ops = {};
const ms = name => `com.microsoft.${name}`;
const f32 = (r, dims, range = {low: -2, high: 2}) => r.tensor('float32', dims, range);
const epsilon = r => ({f: r.pick([1e-3, 0.25])});

// ---- activations ----

for (const [op, extra] of [['BiasGelu', 1], ['FastGelu', 0.5], ['Gelu', 0]])
    ops[ms(op)] = {since: 7, make: r => {
        const x = f32(r, r.dims(1, 4)), bias = r.chance(extra) ? f32(r, [x.dims.at(-1)]) : null;
        return {operands: bias ? [x, bias] : [x]};
    }};
ops[ms('QuickGelu')] = {
    since: 7,
    make: r => ({operands: [f32(r, r.dims(1, 4))], attrs: r.chance(0.5) ? {alpha: {f: r.int(4, 16) / 8}} : {}})
};
ops.Swish = {
    since: 24,
    make: r => ({
        operands: [r.tensor(r.pick(['float32', 'float16']), r.dims(1, 4))],
        attrs: r.chance(0.5) ? {alpha: {f: r.int(4, 16) / 8}} : {}
    })
};

// ---- normalisations ----

const rows = r => r.dims(2, 3, [2, 3, 4, 5, 8, 16, 17]);
function rms(type) {
    return r => {
        const x = r.tensor(type(r), r.dims(1, 4, [2, 3, 4, 5, 8, 16, 17])), axis = r.int(0, x.dims.length - 1);
        return {
            operands: [x, r.tensor(x.type, x.dims.slice(axis))],
            attrs: {axis: {i: r.chance(0.3) ? axis - x.dims.length : axis}, epsilon: epsilon(r)},
            coarse: true
        };
    };
}
ops.RMSNormalization = {since: 23, make: rms(r => r.pick(['float32', 'float16', 'float64']))};
ops.SimplifiedLayerNormalization = {since: 7, make: rms(() => 'float32')};
ops[ms('SimplifiedLayerNormalization')] = ops.SimplifiedLayerNormalization;
function skip(lists) {
    return r => {
        const [a, ...rest] = [r.size(1, 3), r.size(1, 5), r.pick([2, 3, 8, 16, 17])], flat = r.chance(0.2),
                  dims = flat ? rest : [a, ...rest], own = [rest[1]];
        const other = flat ? dims : r.pick([dims, rest, [1, ...rest]]),
              optional = Array.from({length: lists}, () => r.chance(0.6) ? f32(r, own) : null);
        return {
            operands: [f32(r, dims), f32(r, other), f32(r, own), ...optional],
            attrs: {epsilon: epsilon(r)},
            ...(r.chance(0.5) ? {results: 4, asked: [0, 3]} : {})
        };
    };
}
ops[ms('SkipLayerNormalization')] = {since: 7, make: skip(2)};
ops[ms('SkipSimplifiedLayerNormalization')] = {since: 7, make: skip(1)};
ops[ms('EmbedLayerNormalization')] = {
    since: 7,
    make: r => {
        const b = r.size(1, 3), s = r.size(1, 6), h = r.pick([2, 3, 8, 16]),
              id = (n, dims = [b, s]) => r.tensor('int32', dims, {low: 0, high: n - 1}), segments = r.chance(0.7);
        const mask = r.chance(0.5) ? r.tensor('int32', [b, s], {low: 0, high: 1}) : null,
              own = r.chance(0.3) ? id(9, r.chance(0.5) ? [1, s] : [b, s]) : null;
        const operands = [
            id(7), segments ? id(2) : null, f32(r, [7, h]), f32(r, [9, h]), segments ? f32(r, [2, h]) : null, f32(r, [h]),
            f32(r, [h]), mask, own
        ];
        return {operands, attrs: {epsilon: epsilon(r)}, results: 2, types: ['float32', 'int32'], fuse: false};
    }
};

// ---- contractions ----

ops[ms('FusedMatMul')] = {
    since: 7,
    make: r => {
        const type = r.pick(['float32', 'float32', 'float64']), m = r.size(1, 9), k = r.size(1, 9), n = r.size(1, 9),
              batch = r.dims(0, 2, [1, 2, 3]), attrs = {};
        const side = (rows_, columns, name, batched) => {
            const turn = r.int(0, 1), own = turn ? [columns, rows_] : [rows_, columns];
            attrs[`trans${name}`] = {i: turn};
            if (!batched) return [...batch, ...own];
            attrs[`transBatch${name}`] = {i: 1};
            return [own[0], ...batch, own[1]];
        };
        const apart = batch.length > 0 && r.chance(0.4);
        if (r.chance(0.6)) attrs.alpha = {f: r.int(1, 16) / 8};
        return {
            operands:
                [r.tensor(type, side(m, k, 'A', apart && r.chance(0.7))), r.tensor(type, side(k, n, 'B', apart && r.chance(0.7)))],
            attrs,
            coarse: true
        };
    }
};
ops[ms('FusedConv')] = {since: 7, make: r => {
    const w = window(r, {kernelNamed: false, rank: r.int(1, 2)}), group = r.pick([1, 1, 2]), ci = r.int(1, 3), co = r.int(1, 4);
    const [activation, n] = r.pick([['Relu', 0], ['Sigmoid', 0], ['Tanh', 0], ['LeakyRelu', 1], ['HardSigmoid', 2], ['Clip', 2]]);
    const params = n ? {activation_params: {F: activation === 'Clip' ? [-1, 1] : [0.25, 0.5].slice(0, n)}} : {};
    return {
        operands: [
            f32(r, [r.size(1, 1), group * ci, ...w.sizes]), fixed(f32(r, [group * co, ci, ...w.kernel])),
            r.chance(0.6) ? fixed(f32(r, [group * co])) : null
        ],
        attrs: {...w.attrs, ...(group > 1 ? {group: {i: group}} : {}), activation: {s: activation}, ...params}
    };
}};

// ---- weights of few bits ----

const bytes = (r, dims) => fixed(r.tensor('uint8', dims, {low: 0, high: 255}));
const steps = (r, dims) => fixed(r.tensor('float32', dims, {low: 0.125, high: 1}));
ops[ms('MatMulNBits')] = {
    since: 7,
    make: r => {
        const bits = r.pick([4, 4, 8]), size = r.pick([16, 32, 64]), k = r.pick([size, 2 * size, 3 * size, size + 16]),
              n = r.int(1, 40), count = Math.ceil(k / size), lead = r.dims(1, 2, [1, 2, 3, 8]);
        const packed = Math.ceil(count * bits / 8),
              zeros =
                  r.pick([null, bytes(r, [n * packed]), ...(bits === 4 ? [fixed(f32(r, [n * count], {low: 6, high: 10}))] : [])]),
              bias = r.chance(0.3) ? fixed(f32(r, [n])) : null;
        return {
            operands: [
                f32(r, [...lead, k], {low: -1, high: 1}), bytes(r, [n, count, size * bits / 8]),
                steps(r, r.chance(0.5) ? [n * count] : [n, count]), zeros, null, bias
            ],
            attrs: {K: {i: k}, N: {i: n}, bits: {i: bits}, block_size: {i: size}}
        };
    }
};
ops[ms('GatherBlockQuantized')] = {
    since: 7,
    make: r => {
        const bits = r.pick([4, 8]), size = r.pick([16, 32]), k = r.pick([size, 2 * size, 3 * size, size + 16]),
              count = Math.ceil(k / size), n = r.int(2, 9), packed = Math.ceil(count * bits / 8);
        const zeros = r.chance(0.5) ? bytes(r, [n, packed]) : null;
        return {
            operands: [
                bytes(r, [n, k * bits / 8]), r.tensor(r.pick(['int32', 'int64']), r.dims(1, 2, [1, 2, 3]), {low: 0, high: n - 1}),
                steps(r, [n, count]), zeros
            ],
            attrs: {bits: {i: bits}, block_size: {i: size}, gather_axis: {i: 0}, quantize_axis: {i: 1}},
            types: ['float32'],
            fuse: false
        };
    }
};

// ---- quantised ----

const power = (r, n = 0) =>
    n ? fixed(list('float32', Array.from({length: n}, () => 2 ** r.int(-5, -1)))) : fixed(scalar('float32', 2 ** r.int(-5, -1)));
// Of results: nothing lies between two steps, where ONNX Runtime rounds with the zero point added.
const odd = r => fixed(scalar('float32', r.int(3, 40) / 29.31));
const zero = (r, type, n = 0) => fixed(r.tensor(type, n ? [n] : [], type === 'uint8' ? {low: 0, high: 60} : {low: -20, high: 20}));
const quantised = (r, type, dims) => r.tensor(type, dims, type === 'uint8' ? {low: 0, high: 255} : {low: -128, high: 127});
const byte = r => r.pick(['uint8', 'int8']);
for (const op of ['QLinearAdd', 'QLinearMul'])
    ops[ms(op)] = {since: 7, make: r => {
        const t = byte(r), dims = r.dims(1, 4), a = quantised(r, t, dims), b = quantised(r, t, r.broadcasting(dims));
        return {operands: [a, power(r), zero(r, t), b, power(r), zero(r, t), odd(r), zero(r, t)], types: [t], fuse: false};
    }};
for (const [op, attrs] of [['QLinearLeakyRelu', {alpha: {f: 0.25}}], ['QLinearSigmoid', {}]])
    ops[ms(op)] = {since: 7, make: r => {
        const t = byte(r);
        return {
            operands: [quantised(r, t, r.dims(1, 4)), power(r), zero(r, t), fixed(scalar('float32', 1 / 128)), zero(r, t)],
            attrs,
            types: [t],
            fuse: false
        };
    }};
for (const global of [true, false])
    ops[ms(global ? 'QLinearGlobalAveragePool' : 'QLinearAveragePool')] = {
        since: 7,
        make: r => {
            const t = byte(r), w = window(r, {dilations: false, smallPads: true, rank: r.int(1, 2), isPool: true}),
                  last = r.int(0, 1), n = r.size(1, 2), c = r.int(1, 5);
            const attrs = global ? {} : {...w.attrs, count_include_pad: {i: r.int(0, 1)}};
            return {
                operands:
                    [quantised(r, t, last ? [n, ...w.sizes, c] : [n, c, ...w.sizes]), power(r), zero(r, t), odd(r), zero(r, t)],
                attrs: {...attrs, channels_last: {i: last}},
                types: [t],
                fuse: false
            };
        }
    };
ops[ms('QLinearConcat')] = {since: 7, make: r => {
    const t = byte(r), dims = r.dims(1, 3), axis = r.int(0, dims.length - 1);
    const parts = Array.from(
        {length: r.int(1, 3)}, () => [quantised(r, t, dims.map((d, i) => i === axis ? r.size(1, 5) : d)), power(r), zero(r, t)]);
    return {operands: [power(r), zero(r, t), ...parts.flat()], attrs: {axis: {i: axis}}, types: [t], fuse: false};
}};
ops[ms('QGemm')] = {
    since: 7,
    make: r => {
        const ta = 'uint8', tb = byte(r), m = r.size(1, 9), k = r.int(1, 20), n = r.int(1, 20), a = r.int(0, 1), b = r.int(0, 1),
              per = r.chance(0.4) ? n : 0, out = r.chance(0.6);
        const addend = r.chance(0.5) ? fixed(r.tensor('int32', [n], {low: -500, high: 500})) : null,
              wide = fixed(scalar('float32', 8));
        return {
            operands: [
                quantised(r, ta, a ? [k, m] : [m, k]), power(r), zero(r, ta), fixed(quantised(r, tb, b ? [n, k] : [k, n])),
                power(r, per), zero(r, tb, per), addend, ...(out ? [wide, zero(r, ta)] : [])
            ],
            attrs: {transA: {i: a}, transB: {i: b}, alpha: {f: 0.5}},
            types: [out ? ta : 'float32'],
            fuse: false
        };
    }
};
const product = (r, tb) => {
    const lead = r.dims(1, 2, [1, 2, 3, 5]), k = r.int(1, 20), n = r.int(1, 20), per = r.chance(0.4) ? n : 0;
    return {
        a: [...lead, k],
        b: fixed(quantised(r, tb, [k, n])),
        scale: power(r, per),
        zeros: r.chance(0.6) ? zero(r, tb, per) : null,
        bias: r.chance(0.5) ? fixed(f32(r, [n])) : null
    };
};
ops[ms('MatMulIntegerToFloat')] = {since: 7, make: r => {
    const ta = 'uint8', p = product(r, byte(r));
    return {
        operands: [quantised(r, ta, p.a), p.b, power(r), p.scale, r.chance(0.6) ? zero(r, ta) : null, p.zeros, p.bias],
        types: ['float32'],
        fuse: false
    };
}};
ops[ms('DynamicQuantizeMatMul')] = {since: 7, make: r => {
    // A range of 255 steps of a power of two, with both its ends present: nothing lies between two steps.
    const p = product(r, byte(r)), x = f32(r, p.a.map((d, i) => i === p.a.length - 1 ? d : Math.max(d, 2)), {low: -3, high: 3});
    x.data[0] = -4;
    x.data[x.data.length - 1] = -4 + 255 / 32;
    return {operands: [x, p.b, p.scale, p.zeros, p.bias], fuse: false};
}};
ops[ms('QAttention')] = {
    since: 7,
    make: r => {
        const tb = byte(r), b = r.size(1, 2), n = r.int(1, 3), s = r.int(1, 5), x = r.int(2, 9), h = r.pick([2, 4]),
              all = 3 * n * h,
              past = r.chance(0.3) ? r.int(1, 3) : 0;
        const small = (dims, t) => r.tensor(t, dims, {low: t === 'uint8' ? 0 : -8, high: 16}),
              step = () => fixed(scalar('float32', 1 / 16)),
              mask = r.chance(0.5) ? r.tensor('int32', [b, past + s], {low: 0, high: 1}) : null;
        const operands = [
            small([b, s, x], 'uint8'), fixed(small([x, all], tb)), fixed(f32(r, [all])), step(), step(), mask,
            fixed(small([], 'uint8')), fixed(small([], tb)), past ? f32(r, [2, b, n, past, h]) : null
        ];
        return {
            operands,
            attrs: {num_heads: {i: n}, ...(r.chance(0.4) ? {unidirectional: {i: 1}} : {})},
            results: 2,
            asked: past ? [0, 1] : [0],
            types: ['float32', 'float32'],
            fuse: false
        };
    }
};
const {ops: contract} = require('./contract.js');
ops[ms('QuantizeLinear')] = {since: 10, make: r => contract.QuantizeLinear.make(r, 13)};
ops[ms('DequantizeLinear')] = {since: 10, make: r => contract.DequantizeLinear.make(r, 13)};

module.exports = {ops, ints, list, scalar, rows};
