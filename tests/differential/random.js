// Seeded randomness and tensors. A tensor is {type, dims, data}, data as ONNX Runtime wants it: typed arrays, f16 as its bits in a
// Uint16Array. Values lie on a coarse grid, so that sums are exact and no result hangs on the last bit of an operand.
'use strict';

const ARRAYS = {
    float32: Float32Array, float64: Float64Array, float16: Uint16Array, uint8: Uint8Array, int8: Int8Array, uint16: Uint16Array,
    int16: Int16Array, uint32: Uint32Array, int32: Int32Array, uint64: BigUint64Array, int64: BigInt64Array, bool: Uint8Array,
};
const FLOATS = ['float32', 'float32', 'float64', 'float16', 'bfloat16'];
const SIGNED = ['int8', 'int16', 'int32', 'int64'];
const UNSIGNED = ['uint8', 'uint16', 'uint32', 'uint64'];
const INTS = [...SIGNED, ...UNSIGNED];
const NUMBERS = [...FLOATS, ...INTS];
const ALL = [...NUMBERS, 'bool'];

const isFloat = type => FLOATS.includes(type);
const product = dims => dims.reduce((a, b) => a * b, 1);

// Bits of the nearest f16; ties to even.
function half(value) {
    const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0, a = Math.abs(value);
    if (Number.isNaN(value))
        return 0x7e00;
    if (a >= 65520)
        return sign | 0x7c00;
    if (a === 0)
        return sign;
    const exponent = Math.max(Math.floor(Math.log2(a)), -14), steps = a / 2 ** (exponent - 10), low = Math.floor(steps);
    const up = steps - low > 0.5 || (steps - low === 0.5 && low % 2 === 1);
    return sign | (((exponent + 14) << 10) + low + (up ? 1 : 0));
}

class Random {
    // empty: sizes may be 0 (edges.js).
    constructor(seed) {
        this.state = Math.imul(seed ^ (seed >>> 16), 0x45d9f3b) >>> 0;
        this.empty = false;
    }

    // mulberry32: a few lines, the same on every machine.
    unit() {
        this.state = (this.state + 0x6d2b79f5) >>> 0;
        let t = this.state;
        t = Math.imul(t ^ (t >>> 15), t | 1);
        t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
        return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
    }

    int(low, high) {
        return low + Math.floor(this.unit() * (high - low + 1));
    }

    chance(p) {
        return this.unit() < p;
    }

    pick(list) {
        return list[this.int(0, list.length - 1)];
    }

    shuffled(list) {
        const a = [...list];
        for (let i = a.length - 1; i > 0; i--) {
            const j = this.int(0, i);
            [a[i], a[j]] = [a[j], a[i]];
        }
        return a;
    }

    // Some of 0 .. n - 1, in order, at least `least`.
    subset(n, least = 0) {
        const k = this.int(least, n);
        return this.shuffled([...Array(n).keys()]).slice(0, k).sort((a, b) => a - b);
    }

    dims(low, high, sizes = [1, 2, 3, 4, 5, 7, 8, 16, 17]) {
        const d = Array.from({length: this.int(low, high)}, () => this.pick(sizes));
        while (product(d) > 3000)
            d[d.indexOf(Math.max(...d))] = 2;
        if (this.empty && d.length)
            d[this.int(0, d.length - 1)] = 0;
        return d;
    }

    // Some of n: 1 .. n, but 0 of 0.
    some(n, most = n) {
        return n ? this.int(1, most) : 0;
    }

    // A size of a dimension that may be 0.
    size(low, high) {
        const n = this.int(low, high);
        return this.empty && this.chance(0.4) ? 0 : n;
    }

    // A number of an axis, now and then counted from the end.
    axis(rank) {
        const a = this.int(0, rank - 1);
        return this.chance(0.3) ? a - rank : a;
    }

    // The shape of an operand that broadcasts to `dims`.
    broadcasting(dims) {
        const kept = dims.slice(this.chance(0.3) ? this.int(0, dims.length) : 0);
        return kept.map(d => this.chance(0.3) ? 1 : d);
    }

    // 64 bits: any, or about where a double does not hold all integers, or at the ends of the types.
    bits64() {
        const edges = [2n ** 53n, -(2n ** 53n), 2n ** 62n, 2n ** 63n, 2n ** 64n];
        if (this.chance(0.5))
            return this.pick(edges) + BigInt(this.int(-2, 2));
        return (BigInt(this.int(0, 2 ** 32 - 1)) << 32n) | BigInt(this.int(0, 2 ** 32 - 1));
    }

    // Floats: eighths in [low, high]. Integers: in [low, high], cut to what the type can hold; `wide`: any bits at all.
    tensor(type, dims, {low = -4, high = 4, wide = false} = {}) {
        const n = product(dims), make = ARRAYS[type === 'bfloat16' ? 'float32' : type], data = new make(n);
        const unsigned = type.startsWith('u'), big = type.endsWith('64') && !isFloat(type);
        for (let i = 0; i < n; i++) {
            if (type === 'bool')
                data[i] = this.int(0, 1);
            else if (isFloat(type))
                data[i] = type === 'float16' ? half(this.int(8 * low, 8 * high) / 8) : this.int(8 * low, 8 * high) / 8;
            else if (wide)
                data[i] = big ? this.bits64() : this.int(0, 2 ** 32 - 1);
            else
                data[i] = (big ? BigInt : Number)(this.int(Math.ceil(unsigned ? Math.max(low, 0) : low), high));
        }
        return {type, dims, data};
    }

    // Eighths, or integers, above 0.
    positive(type, dims, high = 4) {
        return this.tensor(type, dims, {low: 0.125, high});
    }
}

function list(type, values) {
    const make = ARRAYS[type === 'bfloat16' ? 'float32' : type];
    const own = type.endsWith('64') && !isFloat(type) ? values.map(BigInt) : type === 'float16' ? values.map(half) : values;
    return {type, dims: [values.length], data: make.from(own)};
}

const ints = (values, type = 'int64') => list(type, values);
const scalar = (type, value) => ({...list(type, [value]), dims: []});

module.exports = {ALL, FLOATS, INTS, NUMBERS, Random, SIGNED, UNSIGNED, half, ints, isFloat, list, product, scalar};
