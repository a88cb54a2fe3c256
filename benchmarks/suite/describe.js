// What an operator of benchmarks/ops is, read from its .te file: the first comment line names the family's kind and its sizes, the
// declarations say the shapes. The two are checked against each other, and later the peers' results against ours.
'use strict';

const fs = require('fs');
const path = require('path');

const product = list => list.reduce((a, b) => a * b, 1);

function fail(op, message) {
    throw new Error(`${op.file}: ${message}`);
}

// "# what: A,B,C = 1,2,3 (note)": {what, size: {A: 1, ...}}.
function header(op, line) {
    const m = /^#\s*(.*?)(?::\s*([\w,]+) = ([\d,]+).*)?$/.exec(line);
    if (!m)
        fail(op, 'the first line is not a comment that says what it is');
    const names = (m[2] || '').split(','), values = (m[3] || '').split(',').map(Number);
    if (names.length !== values.length)
        fail(op, `the first line has ${names.length} names and ${values.length} values`);
    return {what: m[1], size: m[2] ? Object.fromEntries(names.map((n, i) => [n, values[i]])) : {}};
}

// Placeholders {name, dims, const} in order, and the output {name, dims}.
function declarations(op, text) {
    const inputs = [], shapes = {};
    for (const m of text.matchAll(/^tensor (\w+)\[([\d, ]+)\] f32( const)?$/gm))
        inputs.push({name: m[1], dims: m[2].split(',').map(Number), const: Boolean(m[3])});
    for (const m of text.matchAll(/^compute (\w+)\[([^\]]+)\]/gm))
        shapes[m[1]] = m[2].split(',').map(axis => Number(axis.split(':')[1]));
    const out = /^output (\w+)$/m.exec(text);
    if (!out || !shapes[out[1]])
        fail(op, 'has no single output that is computed');
    return {inputs, output: {name: out[1], dims: shapes[out[1]]}};
}

const every = (n, value) => Array(n).fill(value);

// The epilogue's parts, from the words behind the kind.
function epilogue(what) {
    return {
        bias: /\+ bias/.test(what), norm: /\+ batch norm/.test(what), residual: /\+ residual/.test(what),
        act: /\+ relu6/.test(what) ? 'relu6' : /\+ relu/.test(what) ? 'relu' : /\+ GELU/.test(what) ? 'gelu' : null,
    };
}

// A convolution over `rank` axes. Capsules are one more axis, over which the kernel does not slide, and channels of two axes.
function convolution(op, what, s) {
    const capsule = /^capsule/.test(what), sliding = Number(/conv (\d)-D/.exec(what)[1]), k = s.k;
    const spatial = ['D', 'H', 'W'].slice(3 - sliding).map(a => s[a] || s.L);
    const pad = (list, rest) => capsule ? [...list, rest] : list;
    const depthwise = /depthwise/.test(what), transposed = /^transposed/.test(what), groups = depthwise ? s.C : s.groups || 1;
    const channels = capsule ? 4 : 1; // CI and CO count vectors of a capsule
    const c = {
        kind: transposed ? 'deconv' : 'conv',
        rank: sliding + Number(capsule),
        capsule,
        groups,
        depthwise,
        ...epilogue(what),
        n: s.N,
        ci: (s.CI || s.C) * channels,
        co: (s.CO || s.C) * channels,
        input: pad(spatial, 4),
        kernel: pad(every(sliding, k), 1),
        strides: pad(every(sliding, s.s), 1),
        pads: pad(every(sliding, s.p), 0),
        dilations: pad(every(sliding, s.dilation || 1), 1),
    };
    c.output = c.input.map((x, i) => transposed ? (x - 1) * c.strides[i] - 2 * c.pads[i] + c.kernel[i]
                                     : Math.floor((x + 2 * c.pads[i] - c.dilations[i] * (c.kernel[i] - 1) - 1) / c.strides[i]) + 1);
    c.flops = transposed ? 2 * c.n * product(c.input) * product(c.kernel) * c.ci * c.co : null;
    check(op, 'X', c.n * product(c.input) * c.ci);
    check(op, 'W', product(c.kernel) * c.ci / c.groups * c.co);
    check(op, op.output.name, c.n * product(c.output) * c.co);
    if (transposed)
        op.output.dims = [c.n, ...c.output, c.co]; // ours is written by parity: the same elements in the same order
    return c;
}

function pooling(op, what, s) {
    const global = /^global/.test(what), spatial = [s.H, s.W], kernel = global ? spatial : [s.k, s.k];
    const p = {kind: 'pool', how: /^max/.test(what) ? 'max' : 'average', global, n: s.N, c: s.C, input: spatial, kernel,
               strides: global ? [1, 1] : [s.s, s.s], pads: global ? [0, 0] : [s.p, s.p]};
    p.output = p.input.map((x, i) => Math.floor((x + 2 * p.pads[i] - kernel[i]) / p.strides[i]) + 1);
    check(op, op.output.name, p.n * product(p.output) * p.c);
    return p;
}

function matmul(op, what, s) {
    const batched = /^batched/.test(what), [a, b] = op.inputs, m = a.dims[a.dims.length - 2], k = a.dims[a.dims.length - 1];
    const d = {
        kind: 'matmul',
        batch: batched ? a.dims[0] : 1,
        m,
        k,
        n: b.dims[b.dims.length - 1],
        a: a.name,
        b: b.name,
        ...epilogue(what)
    };
    if (s.M && (batched ? s.N : s.M) !== d.m || s.K !== d.k)
        fail(op, 'the first line and the shapes differ');
    check(op, op.output.name, d.batch * d.m * d.n);
    return d;
}

// The number of a tensor's elements must be what the sizes say.
function check(op, name, count) {
    const t = op.inputs.find(x => x.name === name) || op.output;
    if (product(t.dims) !== count)
        fail(op, `${t.name} has ${product(t.dims)} elements, but the first line says ${count}`);
}

// One row per kind: the first that matches is it.
const KINDS = [
    [/conv \dD|conv \d-D/, convolution],
    [/pooling/, pooling],
    [/batched matmul \(Q K\^T\)/, (op, what, s) => ({kind: 'scores', batch: s.batch, seq: s.seq, heads: s.heads, dim: s.dim})],
    [/matmul|dense/, matmul],
    [/^softmax/, (op, what, s) => ({kind: 'softmax', rows: s.M, width: s.N})],
    [/^attention/, (op, what, s) => ({kind: 'attention', heads: s.heads, seq: s.seq, dim: s.dim, scale: 1 / Math.sqrt(s.dim)})],
    [/^root of the sum of squares/, (op, what, s) => ({kind: 'norm2', batch: s.B, rows: s.M, width: s.N})],
    [/layer norm/, (op, what, s) => ({kind: 'layernorm', rows: s.rows, width: s.width, epsilon: 1e-5})],
    [/^elementwise: GELU/, op => ({kind: 'gelu', dims: op.output.dims})],
    [/^elementwise: sum and relu/, op => ({kind: 'addrelu', dims: op.output.dims})],
    [/^elementwise: transpose/, (op, what, s) => ({kind: 'transpose', n: s.N, c: s.C, input: [s.H, s.W]})],
];

// {name, family, file, what, size, inputs, output, bytes, op: {kind, ...}}; op is null for what no peer knows.
function describe(file) {
    const text = fs.readFileSync(file, 'utf8'), name = path.basename(file, '.te');
    const op = {name, family: name.replace(/_\d+$/, ''), file};
    Object.assign(op, declarations(op, text), header(op, text.split('\n', 1)[0]));
    op.bytes = 4 * [...op.inputs, op.output].reduce((sum, t) => sum + product(t.dims), 0);
    const row = KINDS.find(([pattern]) => pattern.test(op.what));
    op.op = row ? row[1](op, op.what.replace(/^[^:]*(ResNet|MobileNet|BERT|ViT)[^:,]*[:,] */, ''), op.size) : null;
    return op;
}

module.exports = {describe, product};
