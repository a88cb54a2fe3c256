// Tensors as ONNX's TensorProto files (input_0.pb, output_0.pb): what `tctune run --inputs DIR --check DIR` reads.
'use strict';

const WIRE_VARINT = 0, WIRE_BYTES = 2;
const FIELD = {dims: 1, dataType: 2, name: 8, rawData: 9};
// ONNX's number and the bytes of an element.
const TYPES = {
    float32: [1, 4], uint8: [2, 1], int8: [3, 1], uint16: [4, 2], int16: [5, 2], int32: [6, 4], int64: [7, 8],
    bool: [9, 1], float16: [10, 2], float64: [11, 8], uint32: [12, 4], uint64: [13, 8],
    float8e4m3fn: [17, 1], float8e4m3fnuz: [18, 1], float8e5m2: [19, 1], float8e5m2fnuz: [20, 1], uint4: [21, 1], int4: [22, 1],
};

function varint(value) {
    const bytes = [];
    let v = BigInt(value);
    do {
        const low = Number(v & 0x7fn);
        v >>= 7n;
        bytes.push(v ? low | 0x80 : low);
    } while (v);
    return Buffer.from(bytes);
}

function number(field, value) {
    return Buffer.concat([varint((field << 3) | WIRE_VARINT), varint(value)]);
}

function bytes(field, value) {
    return Buffer.concat([varint((field << 3) | WIRE_BYTES), varint(value.length), value]);
}

// A TensorProto of an onnxruntime Tensor.
function encode(name, tensor) {
    const known = TYPES[tensor.type];
    if (!known)
        throw new Error(`tensor '${name}' has type ${tensor.type}, which has no raw form`);
    const raw = Buffer.from(tensor.data.buffer, tensor.data.byteOffset, tensor.data.byteLength);
    return Buffer.concat([
        ...tensor.dims.map(d => number(FIELD.dims, d)), number(FIELD.dataType, known[0]), bytes(FIELD.name, Buffer.from(name)),
        bytes(FIELD.rawData, raw),
    ]);
}

// The bytes of the elements, in a file that `encode` made: its last field.
function elements(file) {
    let at = 0;
    const next = () => {
        let value = 0, scale = 1, byte;
        do {
            byte = file[at++];
            value += (byte & 0x7f) * scale;
            scale *= 128;
        } while (byte & 0x80);
        return value;
    };
    for (let field = 0, length = 0; at < file.length; at += length) {
        field = next();
        length = next();
        if (field === ((FIELD.rawData << 3) | WIRE_BYTES))
            return file.subarray(at, at + length);
        if ((field & 7) === WIRE_VARINT)
            length = 0;
    }
    throw new Error('a tensor without raw data');
}

module.exports = {bytes, elements, encode, number, varint};
