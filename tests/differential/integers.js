// Exact results of integers, and of no elements, as ONNX's text and NumPy have them: sums that wrap, reductions and products of
// nothing. RESULTS: by operator, (node, operands, case) => results; null where the case is another one. exact.js computes a model's
// results from them.
'use strict';

const {isFloat, list, product} = require('./random.js');

const isInteger = t => Boolean(t) && /^u?int/.test(t.type);
const bitsOf = type => Number(/\d+/.exec(type)[0]);
const wrapped = (type, v) => type.startsWith('u') ? BigInt.asUintN(bitsOf(type), v) : BigInt.asIntN(bitsOf(type), v);
const range = n => [...Array(n).keys()];
const number = (n, key, otherwise) => n.attrs && n.attrs[key] ? n.attrs[key].i : otherwise;

function limitsOf(type) {
    const bits = BigInt(bitsOf(type)), half = 1n << bits - 1n;
    return type.startsWith('u') ? [0n, (1n << bits) - 1n] : [-half, half - 1n];
}

// f64 in the place of other floats.
function tensor(type, dims, values) {
    if (isFloat(type))
        return {type: 'float64', dims, data: Float64Array.from(values)};
    return {...list(type, values.map(type.endsWith('int64') ? BigInt : Number)), dims};
}

// Of operand t at place i of a result of these dimensions, to which it broadcasts.
function broadcast(t, dims, i) {
    let at = 0, stride = 1;
    for (let d = dims.length - 1, k = t.dims.length - 1; k >= 0; d--, k--) {
        at += t.dims[k] === 1 ? 0 : i % dims[d] * stride;
        stride *= t.dims[k];
        i = Math.floor(i / dims[d]);
    }
    return t.data[at];
}

// ---- reductions ----

// By its attribute or its operand: all axes where these are empty, unless it then does nothing.
function axesOf(node, operand, rank) {
    const {axes} = node.attrs, given = axes ? axes.I : operand ? [...operand.data].map(Number) : [], all = range(rank);
    return !given.length && !number(node, 'noop_with_empty_axes', 0) ? all : given.map(d => d < 0 ? d + rank : d);
}

// A list for each element of the result: the elements of x over these axes.
function reduced(x, axes) {
    const rows = new Map(), strides = x.dims.map((_, d) => product(x.dims.slice(d + 1)));
    x.data.forEach((v, i) => {
        const key = x.dims.reduce((k, n, d) => axes.includes(d) ? k : k * n + Math.floor(i / strides[d]) % n, 0);
        rows.set(key, [...(rows.get(key) || []), v]);
    });
    return rows;
}

const added = terms => terms.reduce((s, v) => s + v, 0n);
const SUMS = {
    ReduceSum: added,
    ReduceL1: terms => added(terms.map(v => v < 0n ? -v : v)),
    ReduceSumSquare: terms => added(terms.map(v => v * v)),
    ReduceProd: terms => terms.reduce((p, v) => p * v, 1n),
    ReduceMean: terms => added(terms) / BigInt(terms.length), // towards 0
};
const NOTHING = {
    ...Object.fromEntries(['Sum', 'SumSquare', 'L1', 'L2'].map(op => [`Reduce${op}`, () => 0])),
    ReduceProd: () => 1,
    ReduceMax: type => isFloat(type) ? -Infinity : limitsOf(type)[0],
    ReduceMin: type => isFloat(type) ? Infinity : limitsOf(type)[1],
    ReduceLogSum: () => -Infinity,
    ReduceLogSumExp: () => -Infinity,
};

// An axis that is reduced becomes 1 with keepdims, and vanishes without it, whatever its size is.
const left = (node, x, axes) => x.dims.flatMap((n, d) => !axes.includes(d) ? [n] : number(node, 'keepdims', 1) ? [1] : []);

function reduction(node, [x, operand]) {
    const axes = axesOf(node, operand, x.dims.length), dims = left(node, x, axes);
    const sum = SUMS[node.op], nothing = NOTHING[node.op];
    if (!product(x.dims))
        return nothing ? [tensor(x.type, dims, Array(product(dims)).fill(nothing(x.type)))] : null;
    const rows = isInteger(x) && sum && reduced(x, axes);
    const element = i => wrapped(x.type, sum(rows.get(i).map(BigInt)));
    return rows ? [tensor(x.type, dims, range(product(dims)).map(element))] : null;
}

function place(node, [x]) {
    const at = number(node, 'axis', 0), dims = left(node, x, [at < 0 ? at + x.dims.length : at]);
    return product(dims) ? null : [tensor('int64', dims, [])];
}

// ---- products ----

// The sum of the products of one element of each operand, over all values of the letters that are not in the result.
function einsum(node, operands) {
    const [before, after] = node.attrs.equation.s.replace(/\s/g, '').split('->'), terms = before.split(','), all = terms.join('');
    const letters = [...new Set(all)], once = letters.filter(l => all.split(l).length === 2).sort().join('');
    const size = Object.fromEntries(terms.flatMap((t, k) => [...t].map((l, d) => [l, operands[k].dims[d]])));
    const at = (names, values) => [...names].reduce((i, l) => i * size[l] + values[l], 0);
    const result = after === undefined ? once : after;
    const dims = [...result].map(l => size[l]), sums = Array(product(dims)).fill(0n), values = {}, {type} = operands[0];
    const walk = d => {
        if (d === letters.length)
            sums[at(result, values)] += terms.reduce((p, t, k) => p * BigInt(operands[k].data[at(t, values)]), 1n);
        else
            for (values[letters[d]] = 0; values[letters[d]] < size[letters[d]]; values[letters[d]]++)
                walk(d + 1);
    };
    if (!isInteger(operands[0]))
        return null;
    walk(0);
    return [tensor(type, dims, sums.map(v => wrapped(type, v)))];
}

// The shape of NumPy's product of matrices; what is in front of them broadcasts, and a vector has one row, or one column.
function matmulDims(a, b) {
    const [rows, columns] = [a.length > 1 ? a.slice(-2, -1) : [], b.length > 1 ? b.slice(-1) : []];
    const [x, y] = [a.slice(0, -2), b.slice(0, -2)], front = Array.from({length: Math.max(x.length, y.length)}, (_, d) => {
        const [p, q] = [x, y].map(dims => dims[d - Math.max(x.length, y.length) + dims.length]);
        return p === undefined || p === 1 ? (q === undefined ? 1 : q) : p;
    });
    return [...front, ...rows, ...columns];
}

// A product of bytes without terms is 0. Operands: both factors, and what is added to the product.
const FACTORS = {MatMulInteger: [0, 1], QLinearMatMul: [0, 3, 7]};
function noTerms(node, operands, c) {
    const [a, b, t] = FACTORS[node.op].map(k => operands[k]), {type} = c.out[node.outputs[0]] || {};
    if (!type || (product(a.dims) && product(b.dims)))
        return null;
    const dims = matmulDims(a.dims, b.dims);
    return [tensor(type, dims, range(product(dims)).map(i => t ? broadcast(t, dims, i) : 0))];
}

// Numbers without a range: the scale is the range / 255, and all results are 0.
function noRange(node, [x]) {
    const none = dims => tensor('uint8', dims, Array(product(dims)).fill(0));
    return x.data.every(v => v === 0) ? [none(x.dims), tensor('float32', [], [0]), none([])] : null;
}

const RESULTS = {
    ...Object.fromEntries(Object.keys({...SUMS, ...NOTHING}).map(op => [op, reduction])),
    ArgMax: place,
    ArgMin: place,
    Einsum: einsum,
    MatMulInteger: noTerms,
    QLinearMatMul: noTerms,
    DynamicQuantizeLinear: noRange,
};

// ---- powers ----

// The largest integer whose n-th power is at most v, which is not negative.
function root(v, n) {
    let low = 0n, high = 1n << BigInt(Math.ceil(v.toString(2).length / n));
    while (low < high) {
        const middle = low + high + 1n >> 1n;
        [low, high] = middle ** BigInt(n) <= v ? [middle, high] : [low, middle - 1n];
    }
    return low;
}

// a ** (k / 8), a and k integers, as the least and the largest integer that it may become: it is computed in f64 and cut. Integers
// that f64 holds are exact; else the last two bits of f64 are open. Of a negative a, k is a multiple of 8. In units of 2 ** -60.
const FRACTION = 60n, EIGHTHS = 8;
function realPower(a, k) {
    const power = (a < 0n ? -a : a) ** BigInt(k), size = root(power << FRACTION * BigInt(EIGHTHS), EIGHTHS);
    const whole = size >> FRACTION, isExact = whole < 1n << 53n && whole ** BigInt(EIGHTHS) === power;
    const slack = isExact ? 0n : size >> 51n, ends = [size - slack, size + slack].map(v => v >> FRACTION);
    return a < 0n && k % (2 * EIGHTHS) ? ends.map(v => -v).reverse() : ends;
}

module.exports = {
    EIGHTHS,
    RESULTS,
    axesOf,
    broadcast,
    isInteger,
    limitsOf,
    realPower,
    reduced,
    wrapped
};
