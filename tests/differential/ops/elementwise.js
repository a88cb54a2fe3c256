// Elementwise operators. A generator is (random, opset) => {operands, attrs, results, types}; `since` is its first opset.
'use strict';

const {ELEMENT} = require('../onnx_pb.js');
const {ALL, FLOATS, INTS, NUMBERS, UNSIGNED, isFloat, list, scalar} = require('../random.js');

const ops = {};

// Where the function is defined, and not too steep.
const DOMAIN = {
    Acos: [-1, 1], Acosh: [1, 4], Asin: [-1, 1], Atanh: [-0.875, 0.875], Log: [0.125, 4], Reciprocal: [0.125, 4], Sqrt: [0, 4],
    Tan: [-1, 1],
};
const SINCE = {Acosh: 9, Asinh: 9, Atanh: 9, Cosh: 9, Sinh: 9, HardSwish: 14, Mish: 18, Round: 11, Erf: 9, Sign: 9};
const FLOAT_FUNCTIONS = [
    'Acos', 'Acosh', 'Asin',       'Asinh', 'Atan',    'Atanh', 'Ceil', 'Cos',      'Cosh',     'Exp',  'Floor', 'HardSwish',
    'Log',  'Mish',  'Reciprocal', 'Round', 'Sigmoid', 'Sin',   'Sinh', 'Softplus', 'Softsign', 'Sqrt', 'Tan',   'Tanh',
];
// Of large numbers sines are steep, too: whether a product in front of them is rounded to f16 changes all digits.
for (const op of FLOAT_FUNCTIONS) {
    const [low, high] = DOMAIN[op] || [-4, 4];
    ops[op] = {since: SINCE[op] || 7, exact: op in DOMAIN || ['Ceil', 'Floor', 'Round', 'Sin', 'Cos', 'Tan'].includes(op),
               make: r => ({operands: [r.tensor(r.pick(FLOATS), r.dims(0, 5), {low, high})], coarse: op === 'HardSwish'})};
}

for (const op of ['Abs', 'Neg', 'Relu', 'Sign', 'Erf'])
    ops[op] = {since: SINCE[op] || 7, make: r => ({operands: [r.tensor(r.pick(NUMBERS), r.dims(0, 5), {wide: r.chance(0.2)})]})};

const eighths = (r, low, high) => ({f: r.int(8 * low, 8 * high) / 8});
const ACTIVATIONS = {
    Celu: [12, r => ({alpha: eighths(r, 0.5, 3)})],
    Elu: [7, r => ({alpha: eighths(r, 0, 3)})],
    Gelu: [20, r => ({approximate: {s: r.pick(['none', 'tanh'])}})],
    HardSigmoid: [7, r => ({alpha: eighths(r, 0, 1), beta: eighths(r, 0, 1)})],
    LeakyRelu: [7, r => ({alpha: eighths(r, -1, 1)})],
    Selu: [7, r => ({alpha: eighths(r, 0, 3), gamma: eighths(r, 0, 3)})],
    Shrink: [9, r => ({bias: eighths(r, -1, 1), lambd: eighths(r, 0, 2)})],
    ThresholdedRelu: [10, r => ({alpha: eighths(r, -1, 2)})],
};
for (const [op, [since, attrs]] of Object.entries(ACTIVATIONS))
    ops[op] = {
        since,
        make: r => ({
            operands: [r.tensor(r.pick(op === 'Shrink' ? NUMBERS : FLOATS), r.dims(0, 4))],
            attrs: r.chance(0.2) ? {} : attrs(r),
            coarse: op === 'Gelu',
        })
    };

// A NaN or infinity here and there.
function special(r, type, dims) {
    const t = r.tensor(type, dims), half = {n: 0x7e00, p: 0x7c00, m: 0xfc00}, other = {n: NaN, p: Infinity, m: -Infinity};
    t.data.forEach((_, i) => {
        if (r.chance(0.4))
            t.data[i] = (type === 'float16' ? half : other)[r.pick(['n', 'p', 'm'])];
    });
    return t;
}
ops.IsNaN = {since: 9, make: r => ({operands: [special(r, r.pick(FLOATS), r.dims(0, 4))], types: ['bool']})};
ops.IsInf = {since: 10, make: r => ({
    operands: [special(r, r.pick(FLOATS), r.dims(0, 4))], types: ['bool'],
    attrs: r.chance(0.3) ? {} : {detect_negative: {i: r.int(0, 1)}, detect_positive: {i: r.int(0, 1)}},
})};
ops.Not = {since: 7, make: r => ({operands: [r.tensor('bool', r.dims(0, 4))]})};
ops.BitwiseNot = {since: 18, make: r => ({operands: [r.tensor(r.pick(INTS), r.dims(0, 4), {wide: true})]})};

// Values that both types hold: what happens to others is not defined.
function castable(r, from, to) {
    return r.tensor(from, r.dims(0, 4), {low: to.startsWith('u') ? 0 : -4, high: [from, to].includes('bfloat16') ? 16 : 100});
}
ops.Cast = {since: 7, make: r => {
    const to = r.pick(ALL);
    return {operands: [castable(r, r.pick(ALL), to)], attrs: {to: {i: ELEMENT[to]}}, types: [to], fuse: false};
}};
ops.CastLike = {since: 15, make: r => {
    const to = r.pick(ALL);
    return {operands: [castable(r, r.pick(ALL), to), {...r.tensor(to, [1])}], types: [to], fuse: false};
}};

// Both operands of a broadcasting operator, either of which may be the smaller.
function pair(r, type, options = {}) {
    const dims = r.dims(0, 4), a = r.tensor(type, dims, options), b = r.tensor(type, r.broadcasting(dims), options);
    return r.chance(0.5) ? [a, b] : [b, a];
}
const without = (t, bad, good) => {
    t.data.forEach((v, i) => {
        if (Number(v) === bad)
            t.data[i] = good(t.type);
    });
    return t;
};
const one = type => type === 'float16' ? 0x3c00 : type.endsWith('64') && !isFloat(type) ? 1n : 1;

for (const op of ['Add', 'Sub', 'Mul'])
    ops[op] = {since: 7, make: r => ({operands: pair(r, r.pick(NUMBERS), {wide: r.chance(0.2)})})};
ops.Div = {since: 7, make: r => {
    const [a, b] = pair(r, r.pick(NUMBERS));
    return {operands: [a, without(b, 0, one)]};
}};
ops.Mod = {since: 10, make: (r, opset) => {
    const type = r.pick(opset < 13 ? NUMBERS.filter(t => t !== 'bfloat16') : NUMBERS), [a, b] = pair(r, type);
    return {operands: [a, without(b, 0, one)], attrs: isFloat(type) || r.chance(0.5) ? {fmod: {i: 1}} : {}};
}};
ops.Pow = {
    since: 7,
    exact: true,
    make: (r, opset) => {
        const type = r.pick(FLOATS.concat(opset >= 12 ? ['int32', 'int64'] : [])),
              other = r.pick(opset >= 12 ? FLOATS.concat('int32', 'int64') : [type]);
        const dims = r.dims(0, 3);
        return {operands: [r.positive(type, dims), r.tensor(other, r.broadcasting(dims), {low: 0, high: 3})]};
    }
};
ops.PRelu = {since: 7, make: r => {
    const type = r.pick(FLOATS.concat(['int32', 'int64', 'uint32', 'uint64'])), dims = r.dims(1, 4);
    return {operands: [r.tensor(type, dims), r.tensor(type, r.broadcasting(dims))]};
}};
ops.BitShift = {since: 11, make: r => {
    const type = r.pick(UNSIGNED), dims = r.dims(0, 3);
    return {operands: [r.tensor(type, dims, {wide: true}), r.tensor(type, r.broadcasting(dims), {low: 0, high: 7})],
            attrs: {direction: {s: r.pick(['LEFT', 'RIGHT'])}}};
}};
for (const op of ['BitwiseAnd', 'BitwiseOr', 'BitwiseXor'])
    ops[op] = {since: 18, make: r => ({operands: pair(r, r.pick(INTS), {wide: true})})};
for (const [op, since, own] of [['Equal', 7, ALL], ['Greater', 7, NUMBERS], ['Less', 7, NUMBERS], ['GreaterOrEqual', 12, NUMBERS],
                                ['LessOrEqual', 12, NUMBERS]])
    ops[op] = {since, make: r => ({operands: pair(r, r.pick(own), {low: -1, high: 1}), types: ['bool']})};
for (const op of ['And', 'Or', 'Xor'])
    ops[op] = {since: 7, make: r => ({operands: pair(r, 'bool')})};
ops.Where = {since: 9, make: r => {
    const [a, b] = pair(r, r.pick(ALL)), dims = a.dims.length > b.dims.length ? a.dims : b.dims;
    return {operands: [r.tensor('bool', r.broadcasting(dims)), a, b], types: [a.type]};
}};
for (const op of ['Max', 'Min', 'Sum', 'Mean'])
    ops[op] = {since: 8, make: (r, opset) => {
        const type = r.pick(op[0] === 'M' && op !== 'Mean' && opset >= 12 ? NUMBERS : FLOATS), dims = r.dims(0, 4);
        const operands = Array.from({length: r.int(1, 4)}, () => r.tensor(type, r.broadcasting(dims)));
        return {operands: r.shuffled([...operands, r.tensor(type, dims)])};
    }};
ops.Clip = {since: 7, make: (r, opset) => {
    if (opset < 11)
        return {
            operands: [r.tensor(r.pick(FLOATS), r.dims(0, 4))],
            attrs: r.chance(0.2) ? {} : {min: eighths(r, -3, 0), max: eighths(r, 0, 3)}
        };
    const type = r.pick(opset < 12 ? FLOATS : NUMBERS), low = type.startsWith('u') ? 1 : -2;
    const bound = v => r.chance(0.2) ? null : scalar(type, v);
    return {operands: [r.tensor(type, r.dims(0, 4)), bound(low), bound(2)]};
}};

module.exports = {ops, eighths, list, pair};
