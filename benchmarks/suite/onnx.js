// ONNX models, written: nodes, constants and shapes in, the bytes of a ModelProto out. Inputs and outputs are f32.
'use strict';

const pb = require('../ort/tensor_pb.js');

const IR_VERSION = 9, OPSET = 20, FLOAT = 1;
const ATTRIBUTE = {float: 1, int: 2, string: 3, ints: 7};
const WIRE_FIXED32 = 5;
const TYPE_OF = new Map([[Float32Array, 'float32'], [BigInt64Array, 'int64'], [Uint8Array, 'uint8'], [Int8Array, 'int8']]);

const text = (field, value) => pb.bytes(field, Buffer.from(value));

function float(field, value) {
    const b = Buffer.alloc(4);
    b.writeFloatLE(value);
    return Buffer.concat([pb.varint((field << 3) | WIRE_FIXED32), b]);
}

// Whole numbers are ints; {float: 1} says that one is a float.
function attribute(name, value) {
    const typed = (type, ...parts) => Buffer.concat([text(1, name), ...parts, pb.number(20, type)]);
    if (Array.isArray(value))
        return typed(ATTRIBUTE.ints, ...value.map(v => pb.number(8, v)));
    if (typeof value === 'string')
        return typed(ATTRIBUTE.string, text(4, value));
    if (typeof value === 'object')
        return typed(ATTRIBUTE.float, float(2, value.float));
    return typed(ATTRIBUTE.int, pb.number(3, BigInt.asUintN(64, BigInt(value))));
}

// "com.microsoft.MatMulNBits" is an operator of com.microsoft, "MatMul" one of ONNX.
const domainOf = type => type.slice(0, Math.max(type.lastIndexOf('.'), 0));

function node([type, inputs, outputs, attributes = {}], i) {
    const domain = domainOf(type), name = type.slice(type.lastIndexOf('.') + 1);
    return Buffer.concat([
        ...inputs.map(x => text(1, x)), ...outputs.map(x => text(2, x)), text(3, `${name}_${i}`), text(4, name),
        ...Object.entries(attributes).map(([k, v]) => pb.bytes(5, attribute(k, v))), ...(domain ? [text(7, domain)] : []),
    ]);
}

const opset = (domain, version) => pb.bytes(8, Buffer.concat([text(1, domain), pb.number(2, version)]));

function valueInfo({name, dims}) {
    const shape = Buffer.concat(dims.map(d => pb.bytes(1, pb.number(1, d))));
    return Buffer.concat([text(1, name), pb.bytes(2, pb.bytes(1, Buffer.concat([pb.number(1, FLOAT), pb.bytes(2, shape)])))]);
}

// nodes: [type, inputs, outputs, attributes]; inputs and outputs of the model: {name, dims}; constants: {name, dims, data}, where
// data is an array of one of the types above.
function encode({name, nodes, inputs, outputs, constants}) {
    const tensor = c => pb.encode(c.name, {type: TYPE_OF.get(c.data.constructor), dims: c.dims, data: c.data});
    const domains = new Set(nodes.map(n => domainOf(n[0])).filter(Boolean));
    const graph = Buffer.concat([
        ...nodes.map((n, i) => pb.bytes(1, node(n, i))), text(2, name), ...constants.map(c => pb.bytes(5, tensor(c))),
        ...inputs.map(i => pb.bytes(11, valueInfo(i))), ...outputs.map(o => pb.bytes(12, valueInfo(o))),
    ]);
    return Buffer.concat([pb.number(1, IR_VERSION), text(2, 'tctune benchmarks'), pb.bytes(7, graph), opset('', OPSET),
                          ...[...domains].map(d => opset(d, 1))]);
}

module.exports = {encode};
