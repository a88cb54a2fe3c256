// ONNX Runtime loses NaN in some operators: its maximum of NaN and 1 may be 1, and its functions clamp their arguments. Here such
// operators become nodes of ONNX that keep NaN as ONNX's reference (NumPy) does: a maximum with a NaN is NaN, a function of NaN is
// NaN, the first NaN is the largest element. Norms that ONNX Runtime computes in a way of its own become their definitions.
'use strict';

const {isFloat, ints, product, scalar} = require('./random.js');

const WHERE = 9; // opset of Where and IsNaN
const FUNCTIONS = ['Relu', 'Tanh', 'Sigmoid', 'Erf', 'Gelu', 'com.microsoft.Gelu', 'com.microsoft.QuickGelu'];

// The nodes that take the place of one node.
class Nodes {
    constructor(opset, n) {
        Object.assign(this, {opset, base: n.outputs.find(y => y), list: []});
    }

    name() {
        return `${this.base}.${this.list.length}`;
    }

    add(op, inputs, attrs = {}, output = this.name()) {
        this.list.push({op, inputs, outputs: [output], attrs});
        return output;
    }

    constant(t) {
        return this.add('Constant', [], {value: {t}});
    }

    number(type, v) {
        return this.constant(scalar(type, v));
    }

    // The node n of other operands: as many results as n has.
    like(n, inputs) {
        const outputs = n.outputs.map((y, i) => y && `${this.name()}.${i}`);
        this.list.push({...n, inputs, outputs});
        return outputs;
    }

    reduce(op, x, axes) {
        const isInput = this.opset >= (op === 'ReduceSum' ? 13 : 18), keepdims = {i: 1};
        return isInput ? this.add(op, [x, this.constant(ints(axes))], {keepdims}) : this.add(op, [x], {keepdims, axes: {I: axes}});
    }

    // Numbers of the type of x: `some` where it is NaN, `others` elsewhere.
    marks(x, type, some = 1, others = 0) {
        return this.add('Where', [this.add('IsNaN', [x]), this.number(type, some), this.number(type, others)]);
    }

    isAbove(x, type, v) {
        return this.add('Greater', [x, this.number(type, v)]);
    }

    // x over these axes has a NaN.
    hasNaN(x, type, axes) {
        return this.isAbove(this.reduce('ReduceMax', this.marks(x, type), axes), type, 0.5);
    }
}

const attr = (n, key, otherwise) => n.attrs && n.attrs[key] ? Object.values(n.attrs[key])[0] : otherwise;
const axisOf = (n, key, otherwise, rank) => (attr(n, key, otherwise) + rank) % rank;
const range = (from, to) => Array.from({length: to - from}, (_, i) => from + i);

// Before opset 13, rows of the three kinds of Softmax are all dimensions from the axis on.
function rowAxes(n, {dims}, opset) {
    const axis = axisOf(n, 'axis', opset < 13 ? 1 : -1, dims.length);
    return opset < 13 ? range(axis, dims.length) : [axis];
}

// ---- rules: (nodes, n, values, opset), which add what computes the results of n ----

function ofFunction(w, n) {
    const [x] = n.inputs, [y] = w.like(n, n.inputs);
    w.add('Where', [w.add('IsNaN', [x]), x, y], {}, n.outputs[0]);
}

// The largest or smallest of elements of these operands: the operator itself says of which, by marks in the place of NaN.
const mostOf = (places, isSmallest) => (w, n, values) => {
    const smallest = isSmallest(n), {type} = values[n.inputs[0]], level = w.number(type, 0.5);
    const marked = n.inputs.map((x, i) => places.includes(i) ? w.marks(x, type, smallest ? 0 : 1, smallest ? 1 : 0) : x);
    const [mark] = w.like(n, marked), [y] = w.like(n, n.inputs), found = w.add(smallest ? 'Less' : 'Greater', [mark, level]);
    w.add('Where', [found, w.number(type, NaN), y], {}, n.outputs[0]);
};
const ALL = [0, 1, 2, 3, 4, 5, 6, 7], never = () => false, always = () => true;
const most = mostOf(ALL, never), least = mostOf(ALL, always);

const scattered = (w, n, values) => {
    const how = attr(n, 'reduction', 'none');
    if (how === 'max' || how === 'min')
        return mostOf([0, 2], () => how === 'min')(w, n, values);
    w.list.push(n);
};

// Min(Max(x, lower), upper) of the bounds that there are, as ONNX's own function has it.
function clip(w, n, values, opset) {
    const {type} = values[n.inputs[0]], bound = (i, key) => opset >= 11        ? n.inputs[i]
                                                            : n.attrs && n.attrs[key] ? w.number(type, attr(n, key)) :
                                                                                        '';
    const steps = [['Max', most, bound(1, 'min')], ['Min', least, bound(2, 'max')]].filter(([, , b]) => b);
    let x = n.inputs[0];
    for (const [op, rule, b] of steps) {
        const y = w.name();
        rule(w, {op, inputs: [x, b], outputs: [`${y}.bounded`], attrs: {}}, {...values, [x]: {type}});
        x = `${y}.bounded`;
    }
    w.add('Identity', [x], {}, n.outputs[0]);
}

// The maximum of a window of -inf alone is -inf: ONNX Runtime starts with the lowest number. Kinds of elements: 3 NaN, 2 a number,
// 1 -inf.
function windows(w, n, values) {
    const {type} = values[n.inputs[0]], [x, ...rest] = n.inputs, number = v => w.number(type, v);
    const isMore = w.add('Greater', [x, number(-Infinity)]), isMissing = w.add('IsNaN', [x]);
    const kinds = w.add('Where', [isMissing, number(3), w.add('Where', [isMore, number(2), number(1)])]);
    const [kind, place] = w.like(n, [kinds, ...rest]), [y, index] = w.like(n, n.inputs), isAbove = v => w.isAbove(kind, type, v);
    const lowest = w.add('And', [isAbove(0.5), w.add('Not', [isAbove(1.5)])]), missing = isAbove(2.5);
    w.add('Where', [missing, number(NaN), w.add('Where', [lowest, number(-Infinity), y])], {}, n.outputs[0]);
    if (n.outputs[1])
        w.add('Where', [w.add('Or', [missing, lowest]), place, index], {}, n.outputs[1]);
}

// The first NaN; the last one where the last of equal elements is asked for.
function place(w, n, values) {
    const {type, dims} = values[n.inputs[0]], axis = axisOf(n, 'axis', 0, dims.length), marks = w.marks(n.inputs[0], type);
    const own = {...n, op: 'ArgMax'}, keepdims = {i: attr(n, 'keepdims', 1)};
    const isInput = w.opset >= 18, axes = isInput ? [w.constant(ints([axis]))] : [];
    const found = w.add('ReduceMax', [marks, ...axes], {keepdims, ...(isInput ? {} : {axes: {I: [axis]}})});
    w.add('Where', [w.isAbove(found, type, 0.5), w.like(own, [marks])[0], w.like(n, n.inputs)[0]], {}, n.outputs[0]);
}

function hardmax(w, n, values, opset) {
    const [x] = n.inputs, {type} = values[x], found = w.hasNaN(x, type, rowAxes(n, values[x], opset));
    w.list.push({...n, inputs: [w.add('Where', [found, w.marks(x, type), x])]});
}

// exp(x - max) and its sum; a NaN of x stays, also where the maximum passes over it.
function exponentials(w, x, axes) {
    const less = w.add('Sub', [x, w.reduce('ReduceMax', x, axes)]);
    const powers = w.add('Where', [w.add('IsNaN', [less]), less, w.add('Exp', [less])]);
    return {less, powers, sum: w.reduce('ReduceSum', powers, axes)};
}

function softmax(w, n, values, opset) {
    const [x] = n.inputs, {powers, sum} = exponentials(w, x, rowAxes(n, values[x], opset));
    w.add('Div', [powers, sum], {}, n.outputs[0]);
}

function logSoftmax(w, n, values, opset) {
    const [x] = n.inputs, {less, sum} = exponentials(w, x, rowAxes(n, values[x], opset));
    w.add('Sub', [less, w.add('Log', [sum])], {}, n.outputs[0]);
}

function logSumExp(w, n, values) {
    const [x, ...rest] = n.inputs, {type} = values[x];
    const [found] = w.like({...n, op: 'ReduceMax'}, [w.marks(x, type), ...rest]), [y] = w.like(n, n.inputs);
    w.add('Where', [w.isAbove(found, type, 0.5), w.number(type, NaN), y], {}, n.outputs[0]);
}

function crossEntropy(w, n) {
    const [x, ...rest] = n.inputs, {less, sum} = exponentials(w, x, [1]), log = w.add('Log', [sum]);
    const logarithms = w.add('Sub', [less, log], {}, n.outputs[1] || w.name());
    w.list.push({...n, op: 'NegativeLogLikelihoodLoss', inputs: [logarithms, ...rest], outputs: [n.outputs[0]]});
}

// NaN is above all numbers: it is infinity among numbers of which infinity is the largest finite one.
const MOST = {float16: 65504, float32: 2 ** 127 * (2 - 2 ** -23), float64: Number.MAX_VALUE};
function sorted(w, n, values) {
    const [x, ...rest] = n.inputs, {type} = values[x], number = v => w.number(type, v);
    const ordered = w.add('Where', [w.add('IsNaN', [x]), number(Infinity), w.add('Min', [x, number(MOST[type])])]), y = w.name();
    w.list.push({...n, inputs: [ordered, ...rest], outputs: [y, n.outputs[1]]});
    const high = w.add('Where', [w.isAbove(y, type, MOST[type]), number(NaN), number(Infinity)]);
    w.add('Where', [w.add('Less', [y, number(MOST[type])]), y, high], {}, n.outputs[0]);
}

// x / (bias + alpha / size * sum of squares)^beta: ONNX Runtime takes squares that leave the window from the sum, and inf - inf is
// NaN.
function localNorm(w, n, values) {
    const [x] = n.inputs, {type, dims} = values[x], size = attr(n, 'size'), before = Math.floor((size - 1) / 2);
    const own = type === 'float64' ? type : 'float32', to = {i: own === 'float64' ? 11 : 1};
    const wide = w.add('Cast', [x], {to}), zeros = k => ({type: own, dims: [dims[0], k, ...dims.slice(2)]});
    const filled = t => ({...t, data: new (own === 'float64' ? Float64Array : Float32Array)(product(t.dims))});
    const padded = w.add('Concat', [
        ...(before ? [w.constant(filled(zeros(before)))] : []), w.add('Mul', [wide, wide]),
        ...(size - 1 - before ? [w.constant(filled(zeros(size - 1 - before)))] : [])
    ], {axis: {i: 1}});
    const shifted = k => w.add('Gather', [padded, w.constant(ints(range(k, k + dims[1])))], {axis: {i: 1}});
    const sum = range(0, size).map(shifted).reduce((a, b) => w.add('Add', [a, b]));
    const factor = w.number(own, Math.fround(attr(n, 'alpha', 1e-4)) / size), bias = w.number(own, Math.fround(attr(n, 'bias', 1)));
    const base = w.add('Add', [w.add('Mul', [sum, factor]), bias]);
    const y = w.add('Div', [wide, w.add('Pow', [base, w.number(own, Math.fround(attr(n, 'beta', 0.75)))])]);
    w.add('Cast', [y], {to: {i: type === 'float64' ? 11 : type === 'float16' ? 10 : 1}}, n.outputs[0]);
}

// (x - mean) / sqrt(variance + epsilon) * scale + bias of each group of channels, in the type of x.
function groupNorm(w, n, values, opset) {
    const [x, scale, bias] = n.inputs, {type, dims} = values[x], groups = attr(n, 'num_groups'), [images, channels] = dims;
    const shaped = (v, to) => w.add('Reshape', [v, w.constant(ints(to))]), rows = shaped(x, [images, groups, -1]);
    const mean = v => w.reduce('ReduceMean', v, [2]), centred = w.add('Sub', [rows, mean(rows)]);
    const variance = mean(w.add('Mul', [centred, centred]));
    const root = w.add('Sqrt', [w.add('Add', [variance, w.number(type, Math.fround(attr(n, 'epsilon', 1e-5)))])]);
    const own = opset < 21 ? groups : channels, normal = shaped(w.add('Div', [centred, root]), [images, own, -1]);
    const scaled = w.add('Mul', [normal, shaped(scale, [own, 1])]), y = w.add('Add', [scaled, shaped(bias, [own, 1])]);
    w.add('Reshape', [y, w.constant(ints(dims))], {}, n.outputs[0]);
}

// Scales are an operand from opset 9 on.
function upsample(w, n, values, opset) {
    const {scales, ...attrs} = n.attrs;
    w.list.push(opset < WHERE ? {...n, attrs, inputs: [n.inputs[0], w.constant({...f32(scales.F)})]} : n);
}
const f32 = v => ({type: 'float32', dims: [v.length], data: Float32Array.from(v)});

const RULES = {
    ...Object.fromEntries(FUNCTIONS.map(op => [op, ofFunction])),
    Max: most,
    Min: least,
    ReduceMax: mostOf([0], never),
    ReduceMin: mostOf([0], always),
    MaxPool: windows,
    GlobalMaxPool: windows,
    ScatterElements: scattered,
    ScatterND: scattered,
    Clip: clip,
    MaxRoiPool: windows,
    ArgMax: place,
    ArgMin: place,
    Hardmax: hardmax,
    Softmax: softmax,
    LogSoftmax: logSoftmax,
    ReduceLogSumExp: logSumExp,
    SoftmaxCrossEntropyLoss: crossEntropy,
    TopK: sorted,
    LRN: localNorm,
    GroupNormalization: groupNorm,
    Upsample: upsample,
};

// The model with these nodes. values: types and sizes of all its values by name.
function spreading(model, values) {
    const nodes = (model.plain || model.nodes).flatMap(n => {
        const rule = RULES[n.op], w = new Nodes(Math.max(model.opset, WHERE), n);
        if (!rule || !isFloat(values[n.inputs[0]].type))
            return [n];
        rule(w, n, values, model.opset);
        return w.list;
    });
    return {...model, nodes, plain: undefined, functions: [], opset: Math.max(model.opset, WHERE)};
}

module.exports = {
    spreading
};
