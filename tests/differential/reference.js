// Where tctune and ONNX Runtime differ, the same model in f64 decides: ONNX Runtime runs it, and its results are rounded to the
// types of the model. `slack` is the largest error of ONNX Runtime's own results: what tctune computes may be off by some times as
// much, for instance where the terms of a sum cancel. An error that is large beside the results is no rounding: then the slack is
// 0.
'use strict';

const {ELEMENT} = require('./onnx_pb.js');
const {fromHalf} = require('./edges.js');
const {half} = require('./random.js');

const FLOAT64 = ELEMENT.float64, NARROW = new Set(['float32', 'float16', 'bfloat16']),
      NARROW_NUMBERS = new Set([...NARROW].map(t => ELEMENT[t])), TYPE_ATTRIBUTES = new Set(['to', 'dtype', 'output_datatype']);

const numbers = t => t.type === 'float16' ? Float64Array.from(t.data, fromHalf) : Float64Array.from(t.data);
const widened = t => NARROW.has(t.type) ? {...t, type: 'float64', ...(t.data ? {data: numbers(t)} : {})} : t;

function wideAttribute(key, value) {
    if ('t' in value)
        return {t: widened(value.t)};
    if ('g' in value)
        return {g: wide(value.g)};
    return TYPE_ATTRIBUTES.has(key) && NARROW_NUMBERS.has(value.i) ? {i: FLOAT64} : value;
}

// (x - mean) / (sqrt(mean((x - mean)^2)) + 1e-9), in f64; ONNX Runtime subtracts the square of the mean from the mean of squares.
function meanVariance(n) {
    const [x] = n.inputs, [y] = n.outputs, name = s => `${y}.${s}`, axes = (n.attrs && n.attrs.axes) || {I: [0, 2, 3]};
    const node = (op, inputs, output, attrs = {}) => ({op, inputs, outputs: [output], attrs});
    const epsilon = {t: {type: 'float64', dims: [], data: Float64Array.of(1e-9)}};
    return [
        node('ReduceMean', [x], name('mean'), {axes}),
        node('Sub', [x, name('mean')], name('centred')),
        node('Mul', [name('centred'), name('centred')], name('squares')),
        node('ReduceMean', [name('squares')], name('variance'), {axes}),
        node('Sqrt', [name('variance')], name('root')),
        node('Constant', [], name('epsilon'), {value: epsilon}),
        node('Add', [name('root'), name('epsilon')], name('deviation')),
        node('Div', [name('centred'), name('deviation')], y),
    ];
}

// Operators that ONNX Runtime does not have in f64, in terms of others, as opset 17 has them.
const EXPANSIONS = {
    MeanVarianceNormalization: meanVariance
};
const EXPANSION_OPSET = 17;

const wideNode = n =>
    EXPANSIONS[n.op]
        ? EXPANSIONS[n.op](n)
        : ({...n, attrs: Object.fromEntries(Object.entries(n.attrs || {}).map(([k, v]) => [k, wideAttribute(k, v)]))});

// The model, or a body, with f64 for all floats; without functions, which compute what the nodes did before.
function wide(m) {
    const nodes = m.plain || m.nodes, expands = nodes.some(n => EXPANSIONS[n.op]);
    const known =
        Object.entries(m.known || {}).map(([k, [type, ...rest]]) => [k, [NARROW.has(type) ? 'float64' : type, ...rest]]);
    return {
        ...m,
        opset: expands ? EXPANSION_OPSET : m.opset,
        nodes: nodes.flatMap(wideNode),
        functions: [],
        inputs: m.inputs.map(widened),
        weights: m.weights.map(widened),
        outputs: m.outputs,
        known: Object.fromEntries(known),
    };
}

const ARRAY = {
    float32: x => Float32Array.from(x),
    float16: x => Uint16Array.from(x, half),
    float64: x => x
};

const LARGE = 2 ** -6;

// The results of `out`, from those of the wide model: {results, slack}.
function rounded(out, exact) {
    const results = {};
    let slack = 0, most = 0;
    for (const [name, t] of Object.entries(out)) {
        const own = exact[name], isFloat = t.type in ARRAY && own.type === 'float64';
        results[name] = isFloat ? {type: t.type, dims: own.dims, data: ARRAY[t.type](own.data)} : own;
        if (!isFloat)
            continue;
        const got = numbers(t);
        own.data.forEach((v, i) => {
            const error = Math.abs(v - got[i]), size = Math.abs(v);
            if (error > slack && error < Infinity)
                slack = error;
            if (size > most && size < Infinity)
                most = size;
        });
    }
    return {results, slack: slack <= LARGE * most ? slack : 0};
}

module.exports = {
    rounded,
    wide
};
