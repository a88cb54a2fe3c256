// Arrays as an .npz file, a zip of .npy files: what `tctune build --te F --inputs FILE` reads constants from (f32), and what
// `tctune run --outputs FILE` writes (any type; f16 as its bits).
'use strict';

const fs = require('fs');
const zlib = require('zlib');

const CRC = Uint32Array.from({length: 256}, (_, n) => {
    for (let k = 0; k < 8; k++)
        n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
    return n;
});

function crc32(buffer) {
    let crc = ~0;
    for (let i = 0; i < buffer.length; i++)
        crc = CRC[(crc ^ buffer[i]) & 255] ^ (crc >>> 8);
    return ~crc >>> 0;
}

function npy({dims, data}) {
    const text = `{'descr': '<f4', 'fortran_order': False, 'shape': (${dims.join(', ')}${dims.length === 1 ? ',' : ''}), }`;
    const padded = text.padEnd(Math.ceil((text.length + 11) / 64) * 64 - 11) + '\n';
    const head = Buffer.from(`\x93NUMPY\x01\x00..${padded}`, 'latin1');
    head.writeUInt16LE(padded.length, 8);
    return Buffer.concat([head, Buffer.from(data.buffer, data.byteOffset, data.byteLength)]);
}

// Fields of a zip header: [bytes, value].
function fields(list) {
    const b = Buffer.alloc(list.reduce((n, [size]) => n + size, 0));
    list.reduce((at, [size, value]) => b.writeUIntLE(value, at, size), 0);
    return b;
}

// arrays: [{name, dims, data}].
function write(file, arrays) {
    const parts = [], directory = [];
    let at = 0;
    for (const a of arrays) {
        const name = Buffer.from(`${a.name}.npy`), body = npy(a);
        const common = [[2, 20], [2, 0], [2, 0], [2, 0], [2, 0x21], [4, crc32(body)], [4, body.length], [4, body.length],
                        [2, name.length], [2, 0]];
        const local = Buffer.concat([fields([[4, 0x04034b50], ...common]), name]);
        directory.push(fields([[4, 0x02014b50], [2, 20], ...common, [2, 0], [2, 0], [2, 0], [4, 0], [4, at]]), name);
        parts.push(local, body);
        at += local.length + body.length;
    }
    const tail = Buffer.concat(directory), n = arrays.length;
    parts.push(tail, fields([[4, 0x06054b50], [2, 0], [2, 0], [2, n], [2, n], [4, tail.length], [4, at], [2, 0]]));
    const fd = fs.openSync(file, 'w');
    parts.forEach(p => fs.writeSync(fd, p));
    fs.closeSync(fd);
}

const ARRAYS = {
    f2: Uint16Array, f4: Float32Array, f8: Float64Array, b1: Uint8Array, u1: Uint8Array, i1: Int8Array, u2: Uint16Array,
    i2: Int16Array, u4: Uint32Array, i4: Int32Array, u8: BigUint64Array, i8: BigInt64Array,
};

function parseNpy(b) {
    const size = b.readUInt16LE(8), text = b.toString('latin1', 10, 10 + size);
    const [, type] = /'descr': '[<|](\w\d)', 'fortran_order': False/.exec(text) || [], make = ARRAYS[type];
    if (!make)
        throw new Error(`not numbers in rows: ${text.trim()}`);
    const body = b.subarray(10 + size), data = new make(body.length / make.BYTES_PER_ELEMENT);
    Buffer.from(data.buffer).set(body);
    return {dims: /\(([^)]*)\)/.exec(text)[1].split(',').filter(x => x.trim()).map(Number), data};
}

// {name: {dims, data}}.
function read(file) {
    const b = fs.readFileSync(file), end = b.lastIndexOf(Buffer.from('PK\x05\x06', 'latin1')), arrays = {};
    for (let i = 0, at = b.readUInt32LE(end + 16); i < b.readUInt16LE(end + 10); i++) {
        const method = b.readUInt16LE(at + 10), size = b.readUInt32LE(at + 20);
        const name = b.toString('utf8', at + 46, at + 46 + b.readUInt16LE(at + 28));
        const local = b.readUInt32LE(at + 42), from = local + 30 + b.readUInt16LE(local + 26) + b.readUInt16LE(local + 28);
        const body = b.subarray(from, from + size);
        arrays[name.replace(/\.npy$/, '')] = parseNpy(method ? zlib.inflateRawSync(body) : body);
        at += 46 + b.readUInt16LE(at + 28) + b.readUInt16LE(at + 30) + b.readUInt16LE(at + 32);
    }
    return arrays;
}

module.exports = {read, write};
