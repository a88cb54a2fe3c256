// ONNX models as bytes, from a description: {opset, nodes: [{op, inputs, outputs, attrs}], inputs and weights: [{name, type, dims,
// data}], outputs: [name], known: {name: [type, dims]} where results have to say so}. An attribute's kind follows from its value:
// {i: 1}, {f: 0.5}, {s: 'x'}, {I: [..]}, {F: [..]}, {S: [..]}, {t: tensor}, {g: body}.
'use strict';

const {bytes, encode, number, varint} = require('../../benchmarks/ort/tensor_pb.js');

const IR_VERSION = 8, FIXED32 = 5;
const MODEL = {irVersion: 1, producer: 2, graph: 7, opset: 8};
const GRAPH = {node: 1, name: 2, initializer: 5, input: 11, output: 12};
const NODE = {input: 1, output: 2, name: 3, op: 4, attribute: 5, domain: 7};
const ATTRIBUTE = {name: 1, f: 2, i: 3, s: 4, t: 5, g: 6, floats: 7, ints: 8, strings: 9, type: 20};
const KIND = {f: 1, i: 2, s: 3, t: 4, g: 5, F: 6, I: 7, S: 8};
const ELEMENT = {
    float32: 1,
    uint8: 2,
    int8: 3,
    uint16: 4,
    int16: 5,
    int32: 6,
    int64: 7,
    bool: 9,
    float16: 10,
    float64: 11,
    uint32: 12,
    uint64: 13,
    bfloat16: 16,
};

const text = (field, s) => bytes(field, Buffer.from(s));
const signed = (field, v) => number(field, BigInt.asUintN(64, BigInt(v)));

function float(field, value) {
    const b = Buffer.alloc(4);
    b.writeFloatLE(value);
    return Buffer.concat([varint((field << 3) | FIXED32), b]);
}

const VALUE = {
    i: v => [signed(ATTRIBUTE.i, v)],
    f: v => [float(ATTRIBUTE.f, v)],
    s: v => [text(ATTRIBUTE.s, v)],
    t: v => [bytes(ATTRIBUTE.t, encode('', v))],
    g: v => [bytes(ATTRIBUTE.g, graph(v))],
    I: v => v.map(x => signed(ATTRIBUTE.ints, x)),
    F: v => v.map(x => float(ATTRIBUTE.floats, x)),
    S: v => v.map(x => text(ATTRIBUTE.strings, x)),
};

function attribute(name, value) {
    const [kind] = Object.keys(value);
    return bytes(
        NODE.attribute,
        Buffer.concat([text(ATTRIBUTE.name, name), ...VALUE[kind](value[kind]), number(ATTRIBUTE.type, KIND[kind])]));
}

// An operator of another domain than the default one has it in front: com.microsoft.Gelu.
function node(n, index) {
    const dot = n.op.lastIndexOf('.');
    return bytes(GRAPH.node, Buffer.concat([
        ...n.inputs.map(x => text(NODE.input, x)),
        ...n.outputs.map(x => text(NODE.output, x)),
        text(NODE.name, n.name || `node${index}`),
        text(NODE.op, n.op.slice(dot + 1)),
        ...(dot > 0 ? [text(NODE.domain, n.op.slice(0, dot))] : []),
        ...Object.entries(n.attrs || {}).map(([k, v]) => attribute(k, v)),
    ]));
}

// ValueInfoProto: without a type, readers infer it.
function valueInfo(name, type, dims, sequence) {
    const parts = [text(1, name)];
    if (type) {
        const shape = dims ? [bytes(2, Buffer.concat(dims.map(d => bytes(1, number(1, d)))))] : [];
        const tensor = bytes(1, Buffer.concat([number(1, ELEMENT[type]), ...shape]));
        parts.push(bytes(2, sequence ? bytes(4, bytes(1, tensor)) : tensor));
    }
    return Buffer.concat(parts);
}

function graph(m) {
    return Buffer.concat([
        ...m.nodes.map(node), text(GRAPH.name, 'differential'), ...m.weights.map(w => bytes(GRAPH.initializer, encode(w.name, w))),
        ...m.inputs.map(x => bytes(GRAPH.input, valueInfo(x.name, x.type, x.dims, x.sequence))),
        ...m.outputs.map(name => bytes(GRAPH.output, valueInfo(name, ...((m.known || {})[name] || [])))),
    ]);
}

function model(m) {
    return Buffer.concat([
        number(MODEL.irVersion, IR_VERSION), text(MODEL.producer, 'tctune differential test'), bytes(MODEL.graph, graph(m)),
        bytes(MODEL.opset, number(2, m.opset)), bytes(MODEL.opset, Buffer.concat([text(1, 'com.microsoft'), number(2, 1)])),
    ]);
}

module.exports = {ELEMENT, model};
