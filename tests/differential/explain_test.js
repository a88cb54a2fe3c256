// Each proof of explain.js takes the difference that it is for, and no other one. Needs neither ONNX Runtime nor tctune: `ours` are
// tctune's results, and `wide` gives values as ONNX Runtime would.
'use strict';

const assert = require('assert');

const explain = require('./explain.js');
const {fromHalf} = require('./edges.js');

const f32 = (dims, ...values) => ({type: 'float32', dims, data: Float32Array.from(values)});
const f64 = (dims, ...values) => ({type: 'float64', dims, data: Float64Array.from(values)});
const i64 = (...values) => ({type: 'int64', dims: [values.length], data: BigInt64Array.from(values.map(BigInt))});
const same = (a, b) => {
    const distance = Math.abs(Number(a) - Number(b));
    return Object.is(a, b) || a === b || (distance < Infinity && distance <= 1e-6 * Math.abs(Number(b)));
};

// One node of x and perhaps y, whose result is z. out: ONNX Runtime's results.
function caseOf(op, attrs, operands, z) {
    const inputs = operands.map((t, i) => ({...t, name: 'xy'[i]}));
    const node = {op, attrs, inputs: inputs.map(x => x.name), outputs: ['z']};
    return {model: {nodes: [node], inputs, weights: [], outputs: ['z']}, out: {z}};
}

// results: of a model, without it those of all cases. As `tctune verify`, difference names one element.
const toolsOf = (c, ours, z, results) => ({
    decode: (type, v) => type === 'float16' ? fromHalf(v) : v,
    results,
    agree: async () => true,
    wide: async (m, names, given) => {
        const tensor = n => [...c.model.inputs, ...c.model.weights].find(x => x.name === n);
        return Object.fromEntries(names.map(n => [n, n === 'z' ? given || z : tensor(n)]));
    },
    difference: async (_, out) => {
        const i = ours.findIndex((v, k) => !same(v, out.z.data[k]));
        const why = `output 0: 1 of 9 elements differ, error 1: element ${i} is ${ours[i]}, but ${out.z.data[i]} was expected`;
        return i < 0 ? '' : why.replace(/NaN/g, 'nan').replace(/Infinity/g, 'inf');
    }
});

async function takes(proof, c, ours, {z, results} = {}) {
    const tools = toolsOf(c, ours, z, results), allows = await explain[proof](c, tools);
    return Boolean(allows) && explain.settle(c, allows, tools);
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

const tests = {weightless, powers, remainders, channelNorms, addends, logarithms, norms, infiniteRows};
const proofs = Object.keys(explain).filter(name => !['settle', 'distance'].includes(name));
(async () => {
    assert.deepStrictEqual(proofs.sort(), Object.keys(tests).sort());
    for (const test of Object.values(tests))
        await test();
    console.log(`${proofs.length} proofs`);
})().catch(e => {
    console.error(e.stack);
    process.exit(1);
});
