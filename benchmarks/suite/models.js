// An operator as an ONNX model: what ONNX Runtime gets, and what our own import is tested with.
'use strict';

const onnx = require('./onnx.js');
const operands = require('./operands.js');

// The epilogue behind the value `from`: nodes that end in `to`. Biases of convolutions are inputs of the operator itself.
function epilogue(o, from, to, {bias}) {
    const steps = [];
    if (bias && o.bias)
        steps.push(x => ['Add', [x, 'B']]);
    if (o.residual)
        steps.push(x => ['Add', [x, 'R']]);
    if (o.act === 'gelu')
        steps.push(x => ['Gelu', [x]]);
    if (o.act === 'relu')
        steps.push(x => ['Relu', [x]]);
    if (o.act === 'relu6')
        steps.push(x => ['Clip', [x, 'zero', 'six']]);
    return steps.map((make, i) => {
        const [type, inputs] = make(i ? `e${i}` : from);
        return [type, inputs, [i + 1 === steps.length ? to : `e${i + 1}`]];
    });
}

// `make(name)` gives the node that computes `name`; the epilogue, if any, follows.
function withEpilogue(o, out, make, options) {
    const rest = epilogue(o, 'e0', out, options);
    return [make(rest.length ? 'e0' : out), ...rest];
}

function convolution(o, out) {
    const attributes =
        {kernel_shape: o.kernel, strides: o.strides, pads: [...o.pads, ...o.pads], dilations: o.dilations, group: o.groups};
    const type = o.kind === 'deconv' ? 'ConvTranspose' : 'Conv';
    return withEpilogue(o, out, name => [type, ['X', 'W', ...(o.bias ? ['B'] : [])], [name], attributes], {bias: false});
}

function pool(o, out) {
    if (o.global)
        return [['GlobalAveragePool', ['X'], [out]]];
    const attributes = {kernel_shape: o.kernel, strides: o.strides, pads: [...o.pads, ...o.pads]};
    return [[o.how === 'max' ? 'MaxPool' : 'AveragePool', ['X'], [out], attributes]];
}

const NODES = {
    conv: convolution,
    deconv: convolution,
    pool,
    matmul: (o, out) => withEpilogue(o, out, name => ['MatMul', [o.a, o.b], [name]], {bias: true}),
    scores: (o, out) => [['Transpose', ['Q'], ['qt'], {perm: [0, 2, 1, 3]}], ['Transpose', ['K'], ['kt'], {perm: [0, 2, 3, 1]}],
                         ['MatMul', ['qt', 'kt'], [out]]],
    attention: (o, out) => [['Transpose', ['K'], ['kt'], {perm: [0, 2, 1]}], ['MatMul', ['Q', 'kt'], ['s']],
                            ['Mul', ['s', 'scale'], ['m']], ['Add', ['m', 'mask'], ['a']], ['Softmax', ['a'], ['p'], {axis: -1}],
                            ['MatMul', ['p', 'V'], [out]]],
    softmax: (o, out) => [['Softmax', ['X'], [out], {axis: -1}]],
    norm2: (o, out) => [['ReduceL2', ['X', 'axes'], [out], {keepdims: 0}]],
    layernorm: (o, out) => [['Add', ['X', 'R'], ['a']],
                            ['LayerNormalization', ['a', 'gamma', 'beta'], [out], {axis: -1, epsilon: {float: o.epsilon}}]],
    gelu: (o, out) => [['Gelu', ['X'], [out]]],
    addrelu: (o, out) => [['Add', ['X', 'R'], ['a']], ['Relu', ['a'], [out]]],
    // the output is seen as the input is: only the order in memory differs, and that is what this makes
    transpose: (o, out) => [['Transpose', ['X'], [out], {perm: [0, 2, 3, 1]}]],
};

const scalar = (name, value) => ({name, dims: [], data: Float32Array.of(value)});

function extraConstants(o) {
    const list = [];
    if (o.act === 'relu6')
        list.push(scalar('zero', 0), scalar('six', 6));
    if (o.kind === 'attention')
        list.push(scalar('scale', o.scale));
    if (o.kind === 'norm2')
        list.push({name: 'axes', dims: [2], data: BigInt64Array.of(1n, 2n)});
    return list;
}

// ConvTranspose has its weights as I, O, ...: the first two axes change places.
function swapFirstTwo(t) {
    const [a, b, ...rest] = t.dims, row = t.data.length / (a * b), data = new Float32Array(t.data.length);
    for (let i = 0; i < a; i++)
        for (let k = 0; k < b; k++)
            data.set(t.data.subarray((i * b + k) * row, (i * b + k + 1) * row), (k * a + i) * row);
    return {...t, dims: [b, a, ...rest], data};
}

// {bytes, inputs, output}: the last two as in operands.js. Null for an operator that ONNX has no nodes for.
function build(op, list) {
    const o = op.op;
    if (!o)
        return null;
    const out = {...operands.output(op)};
    if (o.kind === 'transpose')
        Object.assign(out, {dims: out.own, groups: out.own.map((_, i) => [i])});
    const constants = list.filter(t => t.const).map(t => o.kind === 'deconv' && t.name === 'W' ? swapFirstTwo(t) : t);
    const inputs = list.filter(t => !t.const);
    const bytes = onnx.encode({name: op.name, nodes: NODES[o.kind](o, out.name), inputs, outputs: [out],
                               constants: [...constants, ...extraConstants(o)]});
    return {bytes, inputs, output: out};
}

module.exports = {build};
