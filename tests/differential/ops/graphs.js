// Random graphs: up to two dozen operators of all kinds, each on what came before, wherever its shape allows. Values are kept near
// 1, and nothing has steps where results of ONNX Runtime and of ours may differ in their last bits, so that these stay where they
// are.
'use strict';

const {ints, product} = require('../random.js');
const {fixed} = require('./move.js');

const MOST_ELEMENTS = 4096, MOST_MAGNITUDE = 8;

// Results so far, as {name, dims, most}: |values| are at most `most`.
class Growing {
    constructor(r, m) {
        Object.assign(this, {r, m, pool: []});
        for (let n = r.int(1, 3); n > 0; n--)
            this.add(
                m.operand(
                    this.f32(r.pick([
                        r.dims(2, 4), [r.int(1, 2), r.int(1, 8), r.int(3, 9), r.int(3, 9)],
                        [r.int(1, 3), r.int(1, 17), r.pick([8, 16, 33])]
                    ])),
                    true),
                null, 1);
    }

    f32(dims, low = -1) {
        const t = this.r.tensor('float32', dims, {low, high: 1});
        this.last = t.dims;
        return t;
    }

    add(name, dims, most) {
        this.pool.push({name, dims: dims || this.last, most});
    }

    // Of operands of this graph, recent ones more often; ok: what they must be.
    some(ok = () => true) {
        const fit = this.pool.filter(ok);
        return fit.length ? fit[Math.max(this.r.int(0, fit.length - 1), this.r.int(0, fit.length - 1))] : null;
    }

    node(op, operands, attrs = {}, results = 1) {
        return this.m.node(op, operands.map(x => x && x.most !== undefined ? x.name : x), attrs, results);
    }

    weight(dims, scale) {
        const t = this.f32(dims);
        t.data.forEach((v, i) => (t.data[i] = v * scale));
        return this.r.chance(0.7) ? fixed(t) : t;
    }

    // Another result or a weight that broadcasts to x.
    beside(x) {
        const other = this.some(y => y !== x && JSON.stringify(y.dims) === JSON.stringify(x.dims));
        return other && this.r.chance(0.7) ? other : {...this.f32(this.r.broadcasting(x.dims)), most: undefined};
    }
}

const rank = (low, high = 4) => x => x.dims.length >= low && x.dims.length <= high;
const i64 = (...v) => fixed(ints(v));
const constant = v => fixed({type: 'float32', dims: [], data: Float32Array.of(v)});

const steps = {
    pointwise(g, x) {
        const [op, most] = g.r.pick([
            ['Tanh', 1], ['Sigmoid', 1], ['Relu', x.most], ['Abs', x.most], ['Neg', x.most], ['Erf', 1], ['Softsign', 1],
            ['Elu', x.most]
        ]);
        g.add(g.node(op, [x])[0], x.dims, most);
    },
    gelu(g, x) {
        const e = g.node('Erf', [g.node('Mul', [x, constant(Math.SQRT1_2)])[0]])[0], half = g.node('Mul', [x, constant(0.5)])[0];
        g.add(g.node('Mul', [half, g.node('Add', [e, constant(1)])[0]])[0], x.dims, x.most);
    },
    binary(g, x) {
        const y = g.beside(x), most = y.most === undefined ? 1 : y.most;
        const [op, all] = g.r.pick([
            ['Add', x.most + most], ['Sub', x.most + most], ['Mul', x.most * most], ['Max', Math.max(x.most, most)],
            ['Min', Math.max(x.most, most)]
        ]);
        g.add(g.node(op, g.r.chance(0.5) || y.most === undefined ? [x, y] : [y, x])[0], x.dims, all);
    },
    divide(g, x) {
        g.add(g.node('Div', [x, g.node('Add', [g.node('Abs', [g.beside(x)])[0], constant(1)])[0]])[0], x.dims, x.most);
    },
    where(g, x) {
        const mask = {type: 'bool', dims: g.r.broadcasting(x.dims)}, y = g.beside(x);
        mask.data = Uint8Array.from({length: product(mask.dims)}, () => g.r.int(0, 1));
        g.add(g.node('Where', [g.m.operand(mask), x, y])[0], x.dims, Math.max(x.most, y.most === undefined ? 1 : y.most));
    },
    matmul(g) {
        const x = g.some(rank(2)), k = x && x.dims.at(-1), n = g.r.int(1, 33);
        if (!x || product(x.dims) / k * n > MOST_ELEMENTS)
            return;
        let y = g.node('MatMul', [x, g.weight([k, n], 1 / Math.sqrt(k))])[0];
        if (g.r.chance(0.6))
            y = g.node('Add', [y, g.weight([n], 1)])[0];
        g.add(y, [...x.dims.slice(0, -1), n], x.most * Math.sqrt(k) + 1);
    },
    gemm(g) {
        const x = g.some(rank(2, 2)), n = g.r.int(1, 33);
        if (!x)
            return;
        const a = g.r.chance(0.3), b = g.r.chance(0.5), [rows, k] = a ? [...x.dims].reverse() : x.dims;
        const y = g.node(
            'Gemm', [x, g.weight(b ? [n, k] : [k, n], 1 / Math.sqrt(k)), g.r.chance(0.6) ? g.weight([n], 1) : null],
            {transA: {i: a ? 1 : 0}, transB: {i: b ? 1 : 0}});
        g.add(y[0], [rows, n], x.most * Math.sqrt(k) + 1);
    },
    square(g) {  // x * x', as attention's scores
        const x = g.some(rank(2)), [s, d] = x ? x.dims.slice(-2) : [];
        if (!x || product(x.dims) / d * s > MOST_ELEMENTS)
            return;
        const perm = x.dims.map((_, i) => i), last = perm.length - 1,
              y = g.some(z => JSON.stringify(z.dims) === JSON.stringify(x.dims));
        [perm[last], perm[last - 1]] = [last - 1, last];
        const scores =
            g.node('Mul', [g.node('MatMul', [x, g.node('Transpose', [y], {perm: {I: perm}})[0]])[0], constant(1 / d)])[0];
        const p = g.node('Softmax', [scores], {axis: {i: -1}})[0];
        g.add(p, [...x.dims.slice(0, -1), s], 1);
        g.add(g.node('MatMul', [p, x])[0], x.dims, x.most);
    },
    convolution(g) {
        const x = g.some(y => y.dims.length === 4 && Math.min(y.dims[2], y.dims[3]) >= 2), [n, c, h, w] = x ? x.dims : [];
        if (!x)
            return;
        const k = g.r.int(1, Math.min(3, h, w)), stride = g.r.int(1, 2), pad = g.r.int(0, Math.floor(k / 2)),
              group = g.r.chance(0.3) ? c : 1, o = group * g.r.int(1, group > 1 ? 2 : 17);
        const size = v => Math.floor((v + 2 * pad - k) / stride) + 1, dims = [n, o, size(h), size(w)], terms = c / group * k * k;
        if (product(dims) > MOST_ELEMENTS)
            return;
        const how = {strides: {I: [stride, stride]}, pads: {I: [pad, pad, pad, pad]}, group: {i: group}, kernel_shape: {I: [k, k]}};
        g.add(
            g.node(
                'Conv', [x, g.weight([o, c / group, k, k], 1 / Math.sqrt(terms)), g.r.chance(0.5) ? g.weight([o], 1) : null],
                how)[0],
            dims, x.most * Math.sqrt(terms) + 1);
    },
    pool(g) {
        const x = g.some(y => y.dims.length === 4 && Math.min(y.dims[2], y.dims[3]) >= 2), [n, c, h, w] = x ? x.dims : [];
        if (!x)
            return;
        const stride = g.r.int(1, 2), size = v => Math.floor((v - 2) / stride) + 1;
        if (g.r.chance(0.2))
            g.add(g.node('GlobalAveragePool', [x])[0], [n, c, 1, 1], x.most);
        else
            g.add(
                g.node(g.r.pick(['MaxPool', 'AveragePool']), [x], {kernel_shape: {I: [2, 2]}, strides: {I: [stride, stride]}})[0],
                [n, c, size(h), size(w)], x.most);
    },
    batch_norm(g) {
        const x = g.some(rank(3)), c = x && x.dims[1];
        if (x)
            g.add(
                g.node(
                    'BatchNormalization', [x, ...[0, 1, 2].map(() => fixed(g.f32([c]))), fixed(g.r.positive('float32', [c]))],
                    {epsilon: {f: 0.125}})[0],
                x.dims, 2 * x.most + 4);
    },
    layer_norm(g) {
        const x = g.some(rank(2)), d = x && x.dims.at(-1);
        if (x)
            g.add(
                g.node(
                    'LayerNormalization', [x, g.weight([d], 1), g.r.chance(0.7) ? g.weight([d], 1) : null],
                    {axis: {i: -1}, epsilon: {f: 0.125}})[0],
                x.dims, Math.min(3 * x.most, Math.sqrt(d)) + 1);
    },
    softmax(g, x) {
        g.add(g.node('Softmax', [x], {axis: {i: g.r.axis(x.dims.length)}})[0], x.dims, 1);
    },
    reduce(g, x) {
        const axis = g.r.int(0, x.dims.length - 1), keep = g.r.int(0, 1),
              dims = x.dims.flatMap(
                  (d, i) => i !== axis ? [d] :
                      keep             ? [1] :
                                         []);
        if (!dims.length)
            return;
        const [op, most] = g.r.pick(
            [['ReduceMean', x.most], ['ReduceMax', x.most], ['ReduceMin', x.most], ['ReduceL2', x.most * Math.sqrt(x.dims[axis])]]);
        const y = {name: g.node(op, [x], {axes: {I: [axis]}, keepdims: {i: keep}})[0], dims, most};
        g.pool.push(y);
        if (keep)
            g.add(g.node('Sub', [x, y])[0], x.dims, x.most + most);
    },
    transpose(g, x) {
        const perm = g.r.shuffled(x.dims.map((_, i) => i));
        g.add(g.node('Transpose', [x], {perm: {I: perm}})[0], perm.map(p => x.dims[p]), x.most);
    },
    reshape(g, x) {
        const n = product(x.dims), a = g.r.pick([...Array(n).keys()].map(i => i + 1).filter(i => n % i === 0)),
              dims = g.r.chance(0.5) ? [a, n / a] : [1, a, n / a];
        g.add(g.node('Reshape', [x, i64(...dims.slice(0, -1), g.r.chance(0.5) ? -1 : n / a)])[0], dims, x.most);
    },
    flatten_by_shape(g) {  // the size is computed, as exporters do
        const x = g.some(rank(3)), batch = x && g.node('Gather', [g.node('Shape', [x])[0], i64(0)], {axis: {i: 0}})[0];
        if (x)
            g.add(
                g.node('Reshape', [x, g.node('Concat', [batch, i64(-1)], {axis: {i: 0}})[0]])[0],
                [x.dims[0], product(x.dims.slice(1))], x.most);
    },
    slice(g, x) {
        const axis = g.r.int(0, x.dims.length - 1), d = x.dims[axis], from = g.r.int(0, d - 1), to = g.r.int(from + 1, d),
              step = g.r.int(1, 2);
        const dims = x.dims.map((v, i) => i === axis ? Math.ceil((to - from) / step) : v);
        g.add(g.node('Slice', [x, i64(from), i64(to), i64(axis), i64(step)])[0], dims, x.most);
    },
    split(g) {
        const x = g.some(y => y.dims.some(d => d > 1)), axis = x && g.r.pick(x.dims.flatMap((d, i) => d > 1 ? [i] : []));
        if (!x)
            return;
        const a = g.r.int(1, x.dims[axis] - 1), parts = [a, x.dims[axis] - a];
        g.node('Split', [x, i64(...parts)], {axis: {i: axis}}, 2)
            .forEach((name, i) => g.add(name, x.dims.map((v, d) => d === axis ? parts[i] : v), x.most));
    },
    concat(g, x) {
        const axis = g.r.int(0, x.dims.length - 1),
              fits = y => y.dims.length === x.dims.length && y.dims.every((d, i) => i === axis || d === x.dims[i]),
              y = g.some(fits);
        const dims = x.dims.map((d, i) => i === axis ? d + y.dims[i] : d);
        if (product(dims) <= MOST_ELEMENTS)
            g.add(g.node('Concat', [x, y], {axis: {i: axis}})[0], dims, Math.max(x.most, y.most));
    },
    gather(g, x) {
        const axis = g.r.int(0, x.dims.length - 1), n = g.r.int(1, 6),
              at = Array.from({length: n}, () => g.r.int(0, x.dims[axis] - 1)), dims = x.dims.map((d, i) => i === axis ? n : d);
        if (product(dims) <= MOST_ELEMENTS)
            g.add(g.node('Gather', [x, g.r.chance(0.5) ? i64(...at) : ints(at)], {axis: {i: axis}})[0], dims, x.most);
    },
    pad(g, x) {
        const before = x.dims.map(() => g.r.int(0, 1)), after = x.dims.map(() => g.r.int(0, 1)),
              dims = x.dims.map((d, i) => d + before[i] + after[i]);
        if (product(dims) <= MOST_ELEMENTS)
            g.add(g.node('Pad', [x, i64(...before, ...after)], {mode: {s: g.r.pick(['constant', 'edge'])}})[0], dims, x.most);
    },
    expand(g) {
        const x = g.some(y => y.dims.includes(1)), axis = x ? x.dims.indexOf(1) : 0, n = g.r.int(2, 5),
              dims = x && x.dims.map((d, i) => i === axis ? n : d);
        if (x && product(dims) <= MOST_ELEMENTS)
            g.add(g.node('Expand', [x, i64(...dims)])[0], dims, x.most);
    },
    unsqueeze(g) {
        const x = g.some(rank(1, 3)), axis = x && g.r.int(0, x.dims.length);
        if (x)
            g.add(g.node('Unsqueeze', [x, i64(axis)])[0], [...x.dims.slice(0, axis), 1, ...x.dims.slice(axis)], x.most);
    },
};

// Weighted: what networks are made of comes more often.
const likely =
    [...Object.keys(steps), 'pointwise', 'binary', 'binary', 'matmul', 'convolution', 'layer_norm', 'transpose', 'reshape'];

function grow(g) {
    const name = g.r.pick(likely), step = steps[name], before = g.pool.length;
    if (step.length > 1)
        step(g, g.some());
    else
        step(g);
    for (const x of g.pool.slice(before)) // large numbers would hide differences, or make them
        if (x.most > MOST_MAGNITUDE)
            Object.assign(x, {name: g.node('Tanh', [x])[0], most: 1});
}

const chains = {};
chains.graph = (r, m) => {
    const g = new Growing(r, m), inputs = g.pool.length;
    for (let n = r.int(3, 24); n > 0 || g.pool.length === inputs; n--)
        grow(g);
    const made = g.pool.slice(inputs), last = made.pop(), others = r.shuffled(made).slice(0, r.int(0, 2));
    return [last, ...others].map(x => [x.name, 'float32']);
};
chains.graph.opsets = [17, 17];

module.exports = {chains};
