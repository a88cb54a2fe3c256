// ONNX models as bytes, from a description: {opset, nodes: [{op, inputs, outputs, attrs}], inputs and weights: [{name, type, dims,
// data}], outputs: [name], known: {name: [type, dims]} where results have to say so}. An attribute's kind follows from its value:
// {i: 1}, {f: 0.5}, {s: 'x'}, {I: [..]}, {F: [..]}, {S: [..]}, {t: tensor}, {g: body}; {ref: name, kind: 'i'} in a function refers
// to an attribute of the function. functions: [{name, domain, inputs, outputs, nodes, attributes: [name], defaults: {name:
// value}}].
'use strict';

const {bytes, encode, number, varint} = require('../../benchmarks/ort/tensor_pb.js');

const IR_VERSION = 10, FIXED32 = 5;
const MODEL = {irVersion: 1, producer: 2, graph: 7, opset: 8, function: 25};
const GRAPH = {node: 1, name: 2, initializer: 5, input: 11, output: 12};
const NODE = {input: 1, output: 2, name: 3, op: 4, attribute: 5, domain: 7};
const FUNCTION = {name: 1, input: 4, output: 5, attribute: 6, node: 7, opset: 9, domain: 10, attributeDefault: 11};
const ATTRIBUTE = {name: 1, f: 2, i: 3, s: 4, t: 5, g: 6, floats: 7, ints: 8, strings: 9, type: 20, reference: 21};
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

function attribute(field, name, value) {
    const refers = 'ref' in value, kind = refers ? value.kind : Object.keys(value)[0];
    const content = refers ? [text(ATTRIBUTE.reference, value.ref)] : VALUE[kind](value[kind]);
    return bytes(field, Buffer.concat([text(ATTRIBUTE.name, name), ...content, number(ATTRIBUTE.type, KIND[kind])]));
}

// An operator of another domain than the default one has it in front: com.microsoft.Gelu.
function node(field, n, index) {
    const dot = n.op.lastIndexOf('.');
    return bytes(field, Buffer.concat([
        ...n.inputs.map(x => text(NODE.input, x)),
        ...n.outputs.map(x => text(NODE.output, x)),
        text(NODE.name, n.name || `node${index}`),
        text(NODE.op, n.op.slice(dot + 1)),
        ...(dot > 0 ? [text(NODE.domain, n.op.slice(0, dot))] : []),
        ...Object.entries(n.attrs || {}).map(([k, v]) => attribute(NODE.attribute, k, v)),
    ]));
}

// ValueInfoProto: without a type, readers infer it. symbols: the names of dimensions that have one.
function valueInfo(name, type, dims, sequence, symbols = []) {
    const parts = [text(1, name)];
    if (type) {
        const dim = (d, i) => bytes(1, symbols[i] ? text(2, symbols[i]) : number(1, d));
        const shape = dims ? [bytes(2, Buffer.concat(dims.map(dim)))] : [];
        const tensor = bytes(1, Buffer.concat([number(1, ELEMENT[type]), ...shape]));
        parts.push(bytes(2, sequence ? bytes(4, bytes(1, tensor)) : tensor));
    }
    return Buffer.concat(parts);
}

function graph(m) {
    return Buffer.concat([
        ...m.nodes.map((n, i) => node(GRAPH.node, n, i)), text(GRAPH.name, 'differential'),
        ...m.weights.map(w => bytes(GRAPH.initializer, encode(w.name, w))),
        ...m.inputs.map(x => bytes(GRAPH.input, valueInfo(x.name, x.type, x.dims, x.sequence, x.symbols))),
        ...m.outputs.map(name => bytes(GRAPH.output, valueInfo(name, ...((m.known || {})[name] || [])))),
    ]);
}

const own = m => [...new Set((m.functions || []).map(f => f.domain))];
const domains = m => [['', m.opset], ['com.microsoft', 1], ...own(m).map(d => [d, 1])];
const opset = (field, [domain, version]) =>
    bytes(field, Buffer.concat([...(domain ? [text(1, domain)] : []), number(2, version)]));

function localFunction(f, m) {
    return bytes(MODEL.function, Buffer.concat([
        text(FUNCTION.name, f.name),
        text(FUNCTION.domain, f.domain),
        ...f.inputs.map(x => text(FUNCTION.input, x)),
        ...f.outputs.map(x => text(FUNCTION.output, x)),
        ...f.attributes.map(x => text(FUNCTION.attribute, x)),
        ...Object.entries(f.defaults).map(([k, v]) => attribute(FUNCTION.attributeDefault, k, v)),
        ...f.nodes.map((n, i) => node(FUNCTION.node, n, i)),
        ...domains(m).map(d => opset(FUNCTION.opset, d)),
    ]));
}

function model(m) {
    return Buffer.concat([
        number(MODEL.irVersion, IR_VERSION), text(MODEL.producer, 'tctune differential test'), bytes(MODEL.graph, graph(m)),
        ...domains(m).map(d => opset(MODEL.opset, d)), ...(m.functions || []).map(f => localFunction(f, m)),
    ]);
}

module.exports = {ELEMENT, model};
