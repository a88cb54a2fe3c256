// Products, equations, and the quantised operators. Scales are powers of two, so that what is rounded is exact before.
'use strict';

const {FLOATS, SIGNED, UNSIGNED, list, product, scalar} = require('../random.js');
const {fixed} = require('./move.js');
const {window} = require('./window.js');

const ops = {};
const INTEGER = ['int32', 'int64', 'uint32', 'uint64'];

// [..., m, k] and [..., k, n], whose leading dimensions broadcast; or vectors.
function factors(r, a, b = a) {
    const m = r.size(1, 20), k = r.size(1, 20), n = r.size(1, 20), batch = r.dims(0, 2, [1, 2, 3]);
    const left = [...(r.chance(0.6) ? batch : r.broadcasting(batch)), m, k],
          right = [...(r.chance(0.5) ? r.broadcasting(batch) : []), k, n];
    return [r.tensor(a, left, {low: -2, high: 2}), r.tensor(b, right, {low: -2, high: 2})];
}
ops.MatMul = {since: 7, make: (r, opset) => {
    const type = r.pick(opset >= 9 ? [...FLOATS, ...INTEGER] : FLOATS), [a, b] = factors(r, type);
    if (r.chance(0.15))
        return {operands: [r.tensor(type, [b.dims.at(-2)]), b]};
    return {operands: r.chance(0.15) ? [a, r.tensor(type, [a.dims.at(-1)])] : [a, b]};
}};
ops.Gemm = {
    since: 7,
    make: (r, opset) => {
        const type = r.pick(opset >= 9 ? [...FLOATS, ...FLOATS, ...INTEGER] : FLOATS), m = r.size(1, 20), k = r.size(1, 20),
              n = r.size(1, 20), ta = r.int(0, 1), tb = r.int(0, 1);
        const whole = !FLOATS.includes(type), factor = () => ({f: whole ? r.int(1, 2) : r.int(1, 16) / 8}),
              bias = r.pick([[n], [m, n], [1, n], [m, 1], [], [1]]);
        const c = opset >= 11 && r.chance(0.3) ? null : r.tensor(type, bias);
        const attrs = {transA: {i: ta}, transB: {i: tb}, ...(r.chance(0.5) ? {alpha: factor(), beta: factor()} : {})};
        return {operands: [r.tensor(type, ta ? [k, m] : [m, k]), r.tensor(type, tb ? [n, k] : [k, n]), c], attrs};
    }
};
ops.Einsum = {
    since: 12,
    make: r => {
        const type = r.pick(['float32', 'float64', 'int32', 'int64', 'float16']), letters = 'abcd',
              size = {a: r.size(1, 5), b: r.size(1, 5), c: r.size(1, 5), d: r.size(1, 5)};
        const term = () => r.shuffled(letters).slice(0, r.int(1, 3)).join(''), terms = Array.from({length: r.int(1, 3)}, term);
        const present = [...new Set(terms.join(''))], out = r.shuffled(present).slice(0, r.int(0, present.length)).join('');
        return {
            operands: terms.map(t => r.tensor(type, [...t].map(x => size[x]), {low: -2, high: 2})),
            fuse: false,
            attrs: {equation: {s: terms.join(r.pick([',', ', '])) + (r.chance(0.15) ? '' : '->' + out)}},
            types: [type]
        };
    }
};

const QUANT = ['int8', 'uint8'];
const step = (r, n) =>
    n === 0 ? scalar('float32', 2 ** r.int(-4, 0)) : list('float32', Array.from({length: n}, () => 2 ** r.int(-4, 0)));
const zero = (r, type, n) => r.tensor(type, n === 0 ? [] : [n], {low: type.startsWith('u') ? 0 : -8, high: 16});
ops.QuantizeLinear = {
    since: 10,
    make: (r, opset) => {
        const type = r.pick(opset >= 21 ? [...QUANT, 'int16', 'uint16'] : QUANT),
              x = r.tensor(
                  r.pick(opset >= 19 ? ['float32', 'float32', 'float16'] : ['float32']), r.dims(1, 4), {low: -20, high: 20});
        const axis = r.int(0, x.dims.length - 1), per = opset >= 13 && r.chance(0.5) ? x.dims[axis] : 0, s = step(r, per);
        const scale = x.type === 'float16' ? {...list('float16', [...s.data]), dims: s.dims} : s;
        return {
            operands: [x, scale, r.chance(0.8) || type !== 'uint8' ? zero(r, type, per) : null],
            attrs: opset >= 13 && (per || r.chance(0.3)) ? {axis: {i: axis}} : {},
            types: [type],
            fuse: false
        };
    }
};
// Weights of 4 bits, two to a byte, in blocks or by one axis.
function fourBits(r) {
    const type = r.pick(['int4', 'uint4']), dims = [r.size(1, 6), r.size(1, 9)], block = r.pick([0, 1, 2, 3]), axis = r.int(0, 1);
    const packed = d => fixed({type, dims: d, data: Uint8Array.from({length: Math.ceil(product(d) / 2)}, () => r.int(0, 255))});
    const own = block ? dims.map((d, i) => i === axis ? Math.ceil(d / block) : d) : [dims[axis]], scale = step(r, product(own));
    return {
        operands: [packed(dims), {...scale, dims: own}, r.chance(0.6) ? packed(own) : null],
        attrs: {axis: {i: axis}, ...(block ? {block_size: {i: block}} : {})},
        types: ['float32'],
        fuse: false
    };
}
ops.DequantizeLinear = {since: 10, make: (r, opset) => {
    if (opset >= 21 && r.chance(0.4))
        return fourBits(r);
    const type = r.pick([...QUANT, 'int32', ...(opset >= 21 ? ['int16', 'uint16'] : [])]),
          x = r.tensor(type, r.dims(1, 4), {low: -100, high: 100});
    const axis = r.int(0, x.dims.length - 1), per = opset >= 13 && r.chance(0.5) ? x.dims[axis] : 0;
    const z =
        r.chance(0.7) ? (type === 'int32' ? {...r.tensor(type, per ? [per] : [], {low: 0, high: 0})} : zero(r, type, per)) : null;
    return {
        operands: [x, step(r, per), z],
        attrs: {
            ...(opset >= 13 && (per || r.chance(0.3)) ? {axis: {i: axis}} : {}),
            ...(opset >= 23 && r.chance(0.3) ? {output_dtype: {i: 1}} : {})
        },
        types: ['float32'],
        fuse: false
    };
}};
ops.DynamicQuantizeLinear = {since: 11, make: r => {
    // A range of 255 steps of a power of two, with both its ends present.
    const x = r.tensor('float32', r.dims(1, 3, [2, 3, 5, 8]), {low: -3, high: 3});
    x.data[0] = -4;
    x.data[x.data.length - 1] = -4 + 255 / 32;
    return {operands: [x], results: 3, types: ['uint8', 'float32', 'uint8'], fuse: false};
}};
ops.MatMulInteger = {since: 10, make: r => {
    const ta = r.pick(QUANT), tb = r.pick(QUANT), [a, b] = factors(r, ta, tb), per = r.chance(0.3) ? b.dims.at(-1) : 0;
    return {
        operands: [a, b, r.chance(0.6) ? zero(r, ta, 0) : null, r.chance(0.6) ? zero(r, tb, per) : null],
        types: ['int32'],
        fuse: false
    };
}};
ops.ConvInteger = {
    since: 10,
    make: r => {
        const w = window(r, {kernelNamed: false, rank: r.int(1, 2)}), tx = 'uint8', tw = r.pick(QUANT), group = r.pick([1, 2]),
              ci = r.int(1, 3), co = r.int(1, 4);
        return {
            operands: [
                r.tensor(tx, [r.size(1, 1), group * ci, ...w.sizes], {low: 0, high: 60}),
                r.tensor(tw, [group * co, ci, ...w.kernel], {low: -8, high: 8}), r.chance(0.6) ? fixed(zero(r, tx, 0)) : null,
                r.chance(0.5) ? fixed(zero(r, tw, 0)) : null
            ],
            attrs: {...w.attrs, ...(group > 1 ? {group: {i: group}} : {})},
            types: ['int32'],
            fuse: false
        };
    }
};
ops.QLinearMatMul = {
    since: 10,
    make: r => {
        const t = r.pick(QUANT), tb = t === 'uint8' ? r.pick(QUANT) : t, [a, b] = factors(r, t, tb),
              per = r.chance(0.3) && b.dims.length === 2 ? b.dims[1] : 0;
        return {
            operands: [a, step(r, 0), zero(r, t, 0), b, step(r, per), zero(r, tb, per), step(r, 0), zero(r, t, 0)],
            types: [t],
            fuse: false
        };
    }
};
ops.QLinearConv = {
    since: 10,
    make: r => {
        const w = window(r, {kernelNamed: false, rank: r.int(1, 2)}), t = r.pick(QUANT), tw = t === 'int8' ? 'int8' : r.pick(QUANT),
              group = r.pick([1, 1, 2]), ci = r.int(1, 3), co = r.int(1, 4), per = r.chance(0.4) ? group * co : 0;
        const zw =
            per ? {...r.tensor(tw, [per], {low: 0, high: 0}), data: r.tensor(tw, [per], {low: 3, high: 3}).data} : zero(r, tw, 0);
        return {
            operands: [
                r.tensor(t, [r.size(1, 1), group * ci, ...w.sizes], {low: -30, high: 60}), step(r, 0), zero(r, t, 0),
                fixed(r.tensor(tw, [group * co, ci, ...w.kernel], {low: -8, high: 8})), step(r, per), fixed(zw), step(r, 0),
                zero(r, t, 0), r.chance(0.5) ? fixed(r.tensor('int32', [group * co], {low: -50, high: 50})) : null
            ],
            attrs: {...w.attrs, ...(group > 1 ? {group: {i: group}} : {})},
            types: [t],
            fuse: false
        };
    }
};

module.exports = {ops, SIGNED, UNSIGNED, product};
