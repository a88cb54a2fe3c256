// Each proof of explain.js takes the difference that it is for, and no other one. Needs neither ONNX Runtime nor tctune: `ours` are
// tctune's results, and `wide` gives values as ONNX Runtime would.
'use strict';

const assert = require('assert');

const {computed} = require('./exact.js');
const explain = require('./explain.js');
const {fromHalf} = require('./edges.js');
const {half} = require('./random.js');
const {rounded} = require('./reference.js');

const f32 = (dims, ...values) => ({type: 'float32', dims, data: Float32Array.from(values)});
const f64 = (dims, ...values) => ({type: 'float64', dims, data: Float64Array.from(values)});
const i64 = (...values) => ({type: 'int64', dims: [values.length], data: BigInt64Array.from(values.map(BigInt))});
const same = (a, b) => {
    const distance = typeof a === 'number' ? Math.abs(a - b) : Infinity;
    return Object.is(a, b) || a === b || (distance < Infinity && distance <= 1e-6 * Math.abs(b));
};

// One node of some operands, whose result is z. out: ONNX Runtime's results.
function caseOf(op, attrs, operands, z) {
    const inputs = operands.map((t, i) => ({...t, name: 'xyabcdef'[i]}));
    const node = {op, attrs, inputs: inputs.map(x => x.name), outputs: ['z']};
    return {name: op, model: {nodes: [node], inputs, weights: [], outputs: ['z']}, out: {z}};
}

// results: of a model, without it those of all cases.
const toolsOf = (c, ours, z, results) => ({
    decode: (type, v) => type === 'float16' ? fromHalf(v) : v,
    results: async m => {
        if (!results)
            throw new Error('no results');
        return results(m);
    },
    agree: async () => true,
    wide: async (m, names, given) => {
        const tensor = n => [...c.model.inputs, ...c.model.weights].find(x => x.name === n);
        return Object.fromEntries(names.map(n => [n, n === 'z' ? given || z : tensor(n)]));
    },
    values: async m => ({...Object.fromEntries([...m.inputs, ...m.weights].map(x => [x.name, x])), ...c.out}),
    tolerance: () => ({rtol: 1e-6, atol: 0}),
    ours: async () => ({z: {...c.out.z, data: ours}}),
    difference: async (_, {z: {data}}) => ours.length === data.length && ours.every((v, i) => same(v, data[i])) ? '' : 'it differs',
    same: async (_, model) => ours.every((v, i) => same(v, results(model).z.data[i])),
});

async function takes(proof, c, ours, {z, results} = {}) {
    const tools = toolsOf(c, ours, z, results), allows = await explain[proof](c, tools);
    return allows === true || (Boolean(allows) && explain.settle(c, allows, tools));
}

async function weightless() {
    const c = caseOf('Resize', {}, [f32([2], 3, NaN)], f32([2], 3, NaN));
    const results = async m => ({z: f32([2], m.inputs[0].data[0], m.inputs[0].data[0] + m.inputs[0].data[1])});
    assert(await takes('weightless', c, [NaN, NaN], {results}));
    assert(!await takes('weightless', c, [4, NaN], {results}));
    assert(!await takes('weightless', c, [3, 7], {results}), 'an element in which the NaN counts');
    const far = caseOf('Resize', {}, [f32([2], -Infinity, Infinity)], f32([2], -Infinity, NaN));
    assert(await takes('weightless', far, [NaN, NaN], {results}));
    assert(!await takes('weightless', far, [Infinity, NaN], {results}), 'the other sign');
    assert(!await takes('weightless', far, [NaN, 5], {results}), 'inf - inf');
    const hidden = caseOf('Attention', {}, [f32([1], 1)], f32([1], 1));
    hidden.name = 'chain_attention';
    hidden.model.nodes[0].inputs = ['x', '', '', 'y'];
    hidden.model.weights = [{...f32([2], -Infinity, 1), name: 'y'}];
    let mask;
    await takes('weightless', hidden, [1], {results: async m => (mask = m.weights[0].data, {z: f32([1], 1)})});
    assert.deepStrictEqual([...mask], [-Infinity, 1]);
}

async function powers() {
    const c = caseOf('Pow', {}, [i64(3037000500n, 2n ** 53n + 1n, 5), i64(2, 1, 2)], i64(2n ** 63n - 1n, 2n ** 53n, 25));
    assert(await takes('powers', c, [3037000500n ** 2n - 2n ** 64n, 2n ** 53n + 1n, 25n]));
    assert(!await takes('powers', c, [3037000500n ** 2n - 2n ** 64n, 2n ** 53n + 1n, 26n]));
    const real = caseOf('Pow', {}, [i64(2n ** 62n, 4), f32([1], 1.5)], i64(-(2n ** 63n), 8));
    assert(await takes('powers', real, [2n ** 63n - 1n, 8n]));
    assert(!await takes('powers', real, [2n ** 63n - 1n, 9n]), 'the type holds the power');
    const exact = caseOf('Pow', {}, [i64(2n ** 53n + 1n, 3n, -3n, 2n ** 40n + 1n), f32([4], 1, 1.5, 3, 1.5)], i64(0, 0, 0, 0));
    const long = 1152921504608419840n; // (2^40 + 1)^1.5 is 1152921504608419841 and a half
    assert(await takes('powers', exact, [2n ** 53n, 5n, -27n, long]));
    assert(await takes('powers', exact, [2n ** 53n + 2n, 5n, -27n, long + 256n]));
    assert(!await takes('powers', exact, [2n ** 53n + 16n, 5n, -27n, long]), 'more than two bits');
    assert(!await takes('powers', exact, [2n ** 53n, 6n, -27n, long]), 'the power is 5.2');
    assert(!await takes('powers', exact, [2n ** 53n, 5n, 27n, long]), 'the other sign');
    const roots = caseOf('Pow', {}, [i64(-4), f32([1], 0.5)], i64(0));
    assert(await takes('powers', roots, [-(2n ** 63n)]), 'NaN as an integer');
}

async function shrunk() {
    const end = 2n ** 63n, x = i64(end - 1n, -end, 7, -7, 1), attrs = {bias: {f: 1}, lambd: {f: 1}};
    const c = caseOf('Shrink', attrs, [x], i64(9, 9, 9, 9, 9));
    assert(await takes('shrunk', c, [-end, -end, 6n, -6n, 0n]));
    assert(await takes('shrunk', c, [end - 1n, -end, 6n, -6n, 0n]), 'f64 rounds the first to 2^63, which i64 does not hold');
    assert(!await takes('shrunk', c, [end - 1n, 0n, 6n, -6n, 0n]), 'i64 holds -2^63');
    assert(!await takes('shrunk', c, [end - 1n, -end, 8n, -6n, 0n]));
    assert(!await takes('shrunk', c, [end - 1n, -end, 6n, -6n, 2n]));
}

async function integerSums() {
    const x = i64(2n ** 62n, 2n ** 62n, 2n ** 53n, 1), rows = {...x, dims: [2, 2]}, wrong = i64(2n ** 63n - 1n, 2n ** 53n);
    const sum = caseOf('ReduceSum', {axes: {I: [-1]}}, [rows], wrong);
    assert(await takes('exactly', sum, [-(2n ** 63n), 2n ** 53n + 1n]));
    assert(!await takes('exactly', sum, [2n ** 63n - 2n, 2n ** 53n + 1n]));
    const mean = caseOf('ReduceMean', {axes: {I: [1]}}, [rows], wrong);
    assert(await takes('exactly', mean, [2n ** 62n, 2n ** 52n]));
    assert(!await takes('exactly', mean, [-(2n ** 62n), 2n ** 52n]), 'the sum does not wrap');
    const ends = caseOf('ReduceL1', {}, [i64(-(2n ** 63n), 5n)], i64(2n ** 63n - 1n));
    assert(await takes('exactly', ends, [-(2n ** 63n) + 5n]));
    const square = {...i64(2n ** 62n, 1, 2n ** 53n, 1), dims: [2, 2]};
    for (const equation of ['ab,b->a', 'ab, b']) {
        const product = caseOf('Einsum', {equation: {s: equation}}, [square, i64(1, 1)], wrong);
        assert(await takes('exactly', product, [2n ** 62n + 1n, 2n ** 53n + 1n]));
        assert(!await takes('exactly', product, [2n ** 62n + 1n, 2n ** 53n + 2n]));
    }
    assert(!await takes('exactly', caseOf('ReduceSum', {}, [f32([2], 1, 2)], f32([1], 4)), [3]), 'floats');
}

async function noProducts() {
    const bytes = (dims, ...values) => ({type: 'uint8', dims, data: Uint8Array.from(values)});
    const ints = (...values) => ({type: 'int32', dims: [1, 2], data: Int32Array.from(values)});
    const c = caseOf('MatMulInteger', {}, [bytes([1, 0]), bytes([0, 2])], ints(77, -1));
    assert(await takes('exactly', c, [0, 0]));
    assert(!await takes('exactly', c, [0, -1]));
    const point = bytes([], 5), scale = f32([], 1), of = [bytes([1, 0]), scale, point, bytes([0, 2]), scale, point, scale];
    const q = caseOf('QLinearMatMul', {}, [...of, point], bytes([1, 2], 0, 9));
    assert(await takes('exactly', q, [5, 5]));
    assert(!await takes('exactly', q, [0, 0]));
    const none = dims => ({...bytes(dims), data: new Uint8Array()});
    const rows = {type: 'int32', dims: [1, 5, 0], data: new Int32Array()};
    const front = caseOf('MatMulInteger', {}, [none([1, 5, 0]), none([0, 0, 0])], rows);
    assert.deepStrictEqual((await computed(front, toolsOf(front, [], rows))).z.dims, [0, 5, 0]);
    c.model.inputs.forEach(x => (x.dims = [1, 1]));
    assert(!await takes('exactly', c, [0, 0]), 'a product with terms');
}

async function reducedNothing() {
    const none = type => ({type, dims: [2, 0], data: type === 'int32' ? new Int32Array() : new Float32Array()});
    const c = caseOf('ReduceMin', {axes: {I: [1]}, keepdims: {i: 0}}, [none('int32')], none('int32'));
    assert(await takes('exactly', c, [2 ** 31 - 1, 2 ** 31 - 1]));
    assert(!await takes('exactly', c, [0, 0]), 'not the neutral number');
    assert(!await takes('exactly', c, [2 ** 31 - 1]), 'another shape');
    const sum = caseOf('ReduceSum', {}, [none('float32')], f32([2, 0]));
    assert(await takes('exactly', sum, [0]));
    sum.model.inputs[0].dims = [2, 1];
    assert(!await takes('exactly', sum, [0]), 'there are elements');
}

async function emptyRange() {
    const c = caseOf('DynamicQuantizeLinear', {}, [f32([2], 0, -0)], f32([], 1));
    c.model.nodes[0].outputs = ['y', 'z', 'zero'];
    assert(await takes('exactly', c, [0]));
    assert(!await takes('exactly', c, [2]));
    c.model.inputs[0].data = Float32Array.of(0, 1);
    assert(!await takes('exactly', c, [0]), 'a range');
}

async function remainders() {
    const x = i64(2n ** 53n + 1n, -7, -7), y = i64(3, 3, 3), c = caseOf('Mod', {fmod: {i: 1}}, [x, y], i64(2, -1, -1));
    assert(await takes('remainders', c, [0n, -1n, -1n]));
    assert(!await takes('remainders', c, [1n, -1n, -1n]));
    assert(await takes('remainders', caseOf('Mod', {}, [x, y], i64(2, 2, 2)), [0n, 2n, 2n]));
    assert(!await takes('remainders', caseOf('Mod', {}, [x, y], i64(2, 2, 2)), [0n, -1n, 2n]));
}

async function channelNorms() {
    const row = v => f32([1], v), c = caseOf('BatchNormalization', {}, [f32([1, 1, 2], -1, 3)], f32([1, 1, 2], NaN, NaN));
    c.model.weights = [-Infinity, Infinity, 0, 1].map((v, i) => ({...row(v), name: 'abcd'[i]}));
    c.model.nodes[0].inputs = ['x', 'a', 'b', 'c', 'd'];
    c.name = 'BatchNormalization';
    assert(await takes('channelNorms', c, [Infinity, NaN]));
    assert(!await takes('channelNorms', c, [7, NaN]));
    c.model.nodes[0].op = c.name = 'InstanceNormalization';
    c.model.nodes[0].inputs = ['x', 'a', 'b'];
    assert(await takes('channelNorms', c, [Infinity, NaN]));
    assert(!await takes('channelNorms', c, [-Infinity, NaN]));
}

async function addends() {
    const c = caseOf('Gemm', {beta: {f: 1.75}}, [f32([1, 0]), f32([0, 2])], f32([1, 2], -1, 4));
    c.model.nodes[0].inputs.push('c');
    c.model.weights = [{...f32([2], -1, 4), name: 'c'}];
    assert(await takes('addends', c, [-1.75, 7], {z: f64([1, 2], -1, 4)}));
    assert(!await takes('addends', c, [-1.75, 4.5], {z: f64([1, 2], -1, 4)}));
    c.model.inputs[0].dims = [1, 1];
    assert(!await takes('addends', c, [-1.75, 7], {z: f64([1, 2], -1, 4)}), 'a product with terms');
}

async function logarithms() {
    const x = f64([2, 3], 2 ** -52, 5e-324, -(2 ** -52), 1, 2, 4), c = caseOf('ReduceLogSum', {axes: {I: [1]}}, [x], null);
    c.out.z = f64([2, 1], Math.log(5e-324), Math.log(7));
    assert(await takes('logarithms', c, [-Infinity, Math.log(7)]));
    assert(await takes('logarithms', c, [NaN, Math.log(7)]));
    assert(!await takes('logarithms', c, [-1, Math.log(7)]), 'no rounding makes it as large');
    assert(!await takes('logarithms', c, [-Infinity, Math.log(8)]), 'a sum that is not small');
}

async function norms() {
    const tiny = 2 ** -149, x = f32([2, 2], tiny, tiny, 1, 3);
    const c = caseOf('LpNormalization', {p: {i: 1}}, [x], f32([2, 2], 0.5, 0.5, 0.25, 0.75));
    const z = f64([2, 2], 0.5, 0.5, 0.25, 0.75);
    assert(await takes('norms', c, [tiny, tiny, 0.25, 0.75], {z}));
    assert(!await takes('norms', c, [1, tiny, 0.25, 0.75], {z}));
    assert(!await takes('norms', c, [tiny, tiny, 1, 3], {z}), 'a norm that is not small');
}

async function infiniteRows() {
    const c = caseOf('com.microsoft.MatMulNBits', {N: {i: 1}}, [f32([2, 2], 1, Infinity, 1, 2)], f32([2, 1], -Infinity, 3));
    assert(await takes('infiniteRows', c, [NaN, 3]));
    assert(!await takes('infiniteRows', c, [5, 3]));
    assert(!await takes('infiniteRows', c, [NaN, NaN]), 'a row without infinities');
}

// The nodes that keep a NaN, evaluated here: of Max, the marks of NaN and what they choose.
async function spreads() {
    const c = caseOf('Max', {}, [f32([3], NaN, 1, 2), f32([3], 0, NaN, 1)], f32([3], 0, 1, 2)), [x, y] = c.model.inputs;
    const results = m => {
        const known = {x: x.data, y: y.data}, both = (n, f) => [...known[n.inputs[0]]].map((v, i) => f(v, at(n, 1, i)));
        const at = (n, k, i) => known[n.inputs[k]].length > 1 ? known[n.inputs[k]][i] : known[n.inputs[k]][0];
        const run = {
            Constant: n => n.attrs.value.t.data,
            IsNaN: n => [...known[n.inputs[0]]].map(v => Number.isNaN(v)),
            Where: n => [...known[n.inputs[0]]].map((v, i) => at(n, v ? 1 : 2, i)),
            Max: n => both(n, (a, b) => a > b || Number.isNaN(b) ? a : b),
            Greater: n => both(n, (a, b) => a > b),
        };
        for (const n of m.nodes)
            known[n.outputs[0]] = run[n.op](n);
        return {z: {data: known.z}};
    };
    assert(await takes('spreads', c, [NaN, NaN, 2], {results}));
    assert(!await takes('spreads', c, [0, NaN, 2], {results}), 'a maximum that loses a NaN');
    assert(!await takes('spreads', c, [NaN, NaN, NaN], {results}), 'a NaN that comes from nowhere');
}

async function exactly() {
    const c = caseOf('Elu', {}, [f32([2], -1e-6, 3)], f32([2], -1e-6, 3)), lstm = caseOf('RNN', {}, [], null);
    c.name = 'Elu';
    assert(await takes('exactly', c, [Math.expm1(Math.fround(-1e-6)), 3]));
    assert(!await takes('exactly', c, [-0.9536743e-6, 3]), 'cancelled');
    const [x, w, r] = [f32([1, 1, 2], 1, NaN), f32([1, 1, 2], 2, 0), f32([1, 1, 1], 1)];
    lstm.name = 'RNN';
    lstm.out.z = f32([1, 1, 1, 1], 1);
    lstm.model.inputs = [x, w, r].map((t, i) => ({...t, name: 'xwr'[i]}));
    lstm.model.nodes[0].inputs = ['x', 'w', 'r'];
    assert(await takes('exactly', lstm, [NaN]));
    assert(!await takes('exactly', lstm, [1]), '0 * NaN is NaN');
    lstm.model.inputs[0].data[1] = 7;
    assert(await takes('exactly', lstm, [Math.fround(Math.tanh(2))]));
    const ints = caseOf('QuantizeLinear', {}, [f32([2], Infinity, -3e9), f32([1], 1)], null);
    ints.name = 'QuantizeLinear';
    ints.out.z = {type: 'uint8', dims: [2], data: Uint8Array.of(0, 0)};
    assert(await takes('exactly', ints, [255, 0]));
    assert(!await takes('exactly', ints, [0, 0]), 'the limit of the other sign');
    const some = caseOf('Unique', {}, [f32([3], NaN, 1, NaN)], f32([3], NaN, 1, NaN));
    some.name = 'Unique';
    assert(!await takes('exactly', some, [NaN, 1]), 'out of order');
    assert(await takes('exactly', some, [1, NaN]));
}

async function centres() {
    const c = caseOf('LayerNormalization', {}, [f32([2, 3], 1, 2, 3, 1, 5, 3), f32([3], 1, Infinity, 1)],
                     f32([2, 3], -1, Infinity, 1, -1, Infinity, 0));
    c.name = 'LayerNormalization';
    assert(await takes('centres', c, [-1, NaN, 1, -1, Infinity, 0]));
    assert(!await takes('centres', c, [-1, 4, 1, -1, Infinity, 0]));
    assert(!await takes('centres', c, [-1, NaN, 1, -1, NaN, 0]), 'not at the mean');
}

async function corners() {
    const attrs = {mode: {s: 'max'}, sampling_ratio: {i: 1}}, boxes = f32([2, 4], 0, 0, 2, 2, 0.5, 0, 2.5, 2);
    const c = caseOf('RoiAlign', attrs, [f32([1, 1, 4, 4], ...Array(16).fill(1)), boxes, i64(0, 0)], f32([2, 1, 1, 1], 1, 0.5));
    c.name = 'RoiAlign';
    c.model.opset = 10;
    c.model.nodes[0].inputs = ['x', 'y', 'b'];
    c.model.weights = [{...i64(0, 0), name: 'b'}];
    c.model.inputs[0].data[6] = NaN; // beside the first place, at (1, 1), and half of the second one
    assert(await takes('corners', c, [NaN, NaN]));
    assert(await takes('corners', c, [1, NaN]));
    assert(!await takes('corners', c, [0.25, NaN]));
    c.model.inputs[0].data.fill(NaN, 0, 4);
    c.model.inputs[0].data[6] = 1;
    assert(!await takes('corners', c, [NaN, 0.5]), 'no corner is NaN');
}

async function attentionRows() {
    const c = caseOf('Attention', {scale: {f: 1}}, [f32([1, 1, 2, 1], 1, 1), f32([1, 1, 2, 1], -Infinity, -Infinity)],
                     f32([1, 1, 2, 1], NaN, 3));
    c.name = 'Attention';
    c.model.nodes[0].inputs = ['x', 'y', 'v'];
    c.model.weights = [{...f32([1, 1, 2, 1], 5, 6), name: 'v'}];
    const results = async m => ({z: f32([1, 1, 2, 1], m.inputs[1].data[0], m.inputs[1].data[0])});
    assert(await takes('weightless', c, [0, 0], {results}));
    assert(!await takes('weightless', c, [4, 0], {results}));
    c.model.inputs[1].data[0] = Infinity;
    assert(!await takes('weightless', c, [0, 0], {results}), 'inf - inf is NaN');
}

async function centred() {
    const tiny = 2 ** -127, c = caseOf('LayerNormalization', {epsilon: {f: 1}}, [f32([1, 2], 0, tiny), f32([2], 2, 2)], null);
    c.name = 'LayerNormalization';
    c.out.z = f32([1, 2], -tiny, tiny);
    assert(await takes('centred', c, [0, 2 * tiny]));
    assert(!await takes('centred', c, [0, 2 ** -120]));
}

async function roundedCentres() {
    const x = f32([1, 3], 0, 1, 2), z = f32([1, 3], -1e15, 1e5, 1e15), scale = f32([3], 1e15, 1e15, 1e15);
    const c = caseOf('com.microsoft.SkipLayerNormalization', {epsilon: {f: 0}}, [x, f32([3], 0, 0, 0), scale], z);
    const end = 1.2247448713915890e15;
    assert(await takes('roundedCentres', c, [-end, -1e7, end]));
    assert(await takes('roundedCentres', c, [-end, 0, end]));
    assert(!await takes('roundedCentres', c, [-end, 1e10, end]), 'more than the rounding');
    assert(!await takes('roundedCentres', c, [end, 0, end]), 'an element that is not near the mean');
}

// Integers have no tolerance.
async function settled() {
    const c = caseOf('Relu', {}, [i64(4000000)], {type: 'int32', dims: [1], data: Int32Array.of(4000000)}), none = () => false;
    assert(await explain.settle(c, none, toolsOf(c, [4000000], c.out.z)));
    assert(!await explain.settle(c, none, toolsOf(c, [4000001], c.out.z)));
}

// What the f64 model decides: ONNX Runtime's error is the slack if it is a rounding.
async function slack() {
    const exact = {z: f64([2], 1, 100)}, of = (...values) => rounded({z: f32([2], ...values)}, exact);
    assert.strictEqual(of(1.5, 100).slack, 0.5);
    assert.strictEqual(of(1, 50).slack, 0, 'half of the result is missing');
    assert.strictEqual(of(1, NaN).slack, 0);
    assert.deepStrictEqual([...of(1, 50).results.z.data], [1, 100]);
}

async function fewWeights() {
    const operands = [f32([1, 2], 1, 2), i64(1), f32([2], 3, 2 ** -140)];
    const c = caseOf('NegativeLogLikelihoodLoss', {reduction: {s: 'mean'}}, operands, null);
    c.name = 'NegativeLogLikelihoodLoss';
    c.model.nodes[0].inputs = ['x', 'y', 'w'];
    c.model.inputs[2].name = 'w';
    c.out.z = f32([], -2);
    const z = f64([], -2);
    assert(await takes('fewWeights', c, [-Infinity], {z}));
    assert(!await takes('fewWeights', c, [-1], {z}));
    c.model.inputs[1].data[0] = 0n;
    assert(!await takes('fewWeights', c, [-Infinity], {z}), 'a weight of 3');
    const tiny = {type: 'float16', dims: [], data: Uint16Array.of(half(-2))};
    c.model.inputs[2].data[0] = 2 ** -23; // two of the smallest f16: a product is off by up to a half of one
    c.out.z = tiny;
    assert(await takes('fewWeights', c, [half(-2.25)], {z}));
    assert(!await takes('fewWeights', c, [half(-3)], {z}));
}

// Twice a number, half of it: f16 does not hold 80000.
async function steps() {
    const f16 = v => ({type: 'float16', dims: [1], data: Uint16Array.of(half(v))});
    const c = caseOf('Double', {}, [f16(40000)], f16(40000));
    c.model.half = true;
    c.model.nodes = [{op: 'Double', inputs: ['x'], outputs: ['t']}, {op: 'Half', inputs: ['t'], outputs: ['z']}];
    const results = async ({nodes: [n], inputs: [x]}) => ({[n.outputs[0]]: f16(fromHalf(x.data[0]) * (n.op === 'Half' ? 0.5 : 2))});
    assert(await takes('steps', c, [half(Infinity)], {results}));
    assert(!await takes('steps', c, [half(3)], {results}));
}

const tests = {
    fewWeights,
    steps,
    roundedCentres,
    centred,
    corners,
    weightless, powers, remainders, shrunk, channelNorms, addends, logarithms, norms, infiniteRows, spreads, exactly, centres
};
const proofs = Object.keys(explain).filter(name => name !== 'settle');
(async () => {
    assert.deepStrictEqual(proofs.sort(), Object.keys(tests).sort());
    const others = [attentionRows, settled, integerSums, noProducts, reducedNothing, emptyRange, slack];
    for (const test of [...Object.values(tests), ...others])
        await test();
    console.log(`${proofs.length} proofs`);
})().catch(e => {
    console.error(e.stack);
    process.exit(1);
});
