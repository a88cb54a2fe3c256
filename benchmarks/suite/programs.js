// An operator as programs for peers/op_peers: the memories, and for each library the calls, in several ways where it is not clear
// which one is fastest. peers/op_peers.h describes the text.
'use strict';

const fs = require('fs');
const path = require('path');
const operands = require('./operands.js');
const tensor = require('./tensor.js');

const attributes = list => Object.entries(list).map(([k, v]) => `${k}=${[].concat(v).join(',')}`).join(' ');

const post = o => [o.act, o.residual && 'add:R'].filter(Boolean);

// Activation after the residual would be another operator: none of the suite has both.
const postText = o => post(o).length ? ` post=${post(o).join(';')}` : '';

function memory(m) {
    return `memory ${m.name} ${m.dims.join(',')} ${m.strides.join(',')} ${m.role}${m.file ? ' ' + m.file : ''}`;
}

const dense = (name, dims, role = 'temp') => ({name, dims, strides: tensor.stridesOf(dims), role});

function reshape(list, name, dims, strides = tensor.stridesOf(dims)) {
    const m = list.find(x => x.name === name);
    if (m)
        Object.assign(m, {dims, strides});
}

// ---- oneDNN: memories may get other shapes; the result is {variant: [lines]} ----

function convolution(o, list, out) {
    const w = list.find(m => m.name === 'W'), bias = o.bias ? 'B' : '-', y = out.name;
    if (o.groups > 1)
        reshape(list, 'W', [o.groups, o.co / o.groups, w.dims[1], ...w.dims.slice(2)]);
    const common =
        attributes({strides: o.strides, dilates: o.dilations.map(d => d - 1), before: o.pads, after: o.pads}) + postText(o);
    const call = o.kind, square = o.kind === 'conv' && o.rank === 2 && o.groups === 1 && o.kernel.every(k => k === 3);
    return {
        'channels-last': [`${call} X ?W ${bias} ${y} ${common}`],
        'own-layout': [`${call} ?X ?W ${bias} ?${y} ${common}`],
        ...(square && o.strides[0] === 1 && o.dilations[0] === 1 ?
                {winograd: [`${call} ?X ?W ${bias} ?${y} ${common} winograd=1`]} :
                {}),
    };
}

function matmul(o, list, out) {
    if (o.batch === 1) {
        reshape(list, o.a, [o.m, o.k]);
        reshape(list, o.b, [o.k, o.n]);
        reshape(list, out.name, [o.m, o.n]);
    }
    if (o.bias)
        reshape(list, 'B', [1, o.n]);
    const call = b => [`matmul ${o.a} ${b} ${o.bias ? 'B' : '-'} ${out.name}${postText(o)}`];
    const constant = list.find(m => m.name === o.b).const;
    return {plain: call(o.b), ...(constant ? {packed: call(`?${o.b}`)} : {})};
}

function scores(o, list, out) {
    const own = [o.batch, o.seq, o.heads, o.dim], b = o.batch, h = o.heads, s = o.seq, d = o.dim;
    reshape(list, 'Q', tensor.viewDims(own, [[0], [2], [1], [3]]), tensor.viewStrides(own, [[0], [2], [1], [3]]));
    reshape(list, 'K', tensor.viewDims(own, [[0], [2], [3], [1]]), tensor.viewStrides(own, [[0], [2], [3], [1]]));
    list.push(dense('QT', [b, h, s, d]), dense('KT', [b, h, d, s]));
    return {strided: [`matmul Q K - ${out.name}`], transposed: ['reorder Q QT', 'reorder K KT', `matmul QT KT - ${out.name}`]};
}

function attention(o, list, out) {
    const {heads: h, seq: s, dim: d} = o;
    reshape(list, 'K', [h, d, s], [s * d, 1, d]);
    reshape(list, 'mask', [1, 1, s]);
    list.push(dense('S', [h, s, s]), dense('P', [h, s, s]));
    const first = `matmul Q K - S scale=${o.scale} post=add:mask`;
    return {'in-place': [first, 'softmax S S axis=2', `matmul S V - ${out.name}`],
            'out-of-place': [first, 'softmax S P axis=2', `matmul P V - ${out.name}`]};
}

const ONEDNN = {
    conv: convolution,
    deconv: convolution,
    matmul,
    scores,
    attention,
    pool: (o, list, out) => ({
        'channels-last':
            [`pool X ${out.name} ` + attributes({kind: o.how, strides: o.strides, kernel: o.kernel, before: o.pads, after: o.pads})]
    }),
    softmax: (o, list, out) => ({plain: [`softmax X ${out.name} axis=1`]}),
    norm2: (o, list, out) => {
        reshape(list, out.name, [o.batch, 1, 1]);
        reshape(list, 'X', [o.batch, o.rows, o.width]);
        return {plain: [`reduce X ${out.name}`]};
    },
    layernorm: (o, list, out) => {
        list.push(dense('A', [o.rows, o.width]));
        return {plain: ['binary X R A', `norm A gamma beta ${out.name} epsilon=${o.epsilon}`]};
    },
    gelu: (o, list, out) => ({plain: [`gelu X ${out.name}`]}),
    addrelu: (o, list, out) => ({plain: [`binary X R ${out.name} post=relu`]}),
    transpose: (o, list, out) => ({plain: [`reorder X ${out.name}`]}),
};

// ---- OpenBLAS: products alone; what follows is done to its result, untimed, before it is compared ----

const OPENBLAS = {
    matmul: (o, list, out) => ({sgemm: [`gemm ${o.a} ${o.b} ${out.name} ` + attributes({
        m: o.m, n: o.n, k: o.k, lda: o.k, ldb: o.n, ldc: o.n, batch: o.batch, a: o.m * o.k, b: o.k * o.n, c: o.m * o.n})]}),
    scores: (o, list, out) => o.batch > 1 ? null : ({sgemm: [`gemm Q K ${out.name} ` + attributes({
        m: o.seq, n: o.seq, k: o.dim, lda: o.heads * o.dim, ldb: o.heads * o.dim, ldc: o.seq, batch: o.heads, a: o.dim, b: o.dim,
        c: o.seq * o.seq, transb: 1})]}),
    norm2: (o, list, out) => o.batch > 1 ? null : ({sdot: [`norm X ${out.name} k=${o.rows * o.width}`]}),
};

// erf to 1.5e-7 (Abramowitz and Stegun, 7.1.26): enough to compare with.
function erf(x) {
    const a = Math.abs(x), t = 1 / (1 + 0.3275911 * a);
    const y =
        1 - ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t * Math.exp(-a * a);
    return x < 0 ? -y : y;
}

// The epilogue of a matrix product, for a library that has none.
function finishProduct(op, data, values) {
    const o = op.op;
    if (o.kind !== 'matmul')
        return data;
    return data.map((x, i) => {
        const y = x + (o.bias ? values.B[i % o.n] : 0) + (o.residual ? values.R[i] : 0);
        return o.act === 'gelu' ? 0.5 * y * (1 + erf(y / Math.SQRT2)) : o.act === 'relu' ? Math.max(y, 0) : y;
    });
}

// ---- programs ----

function write(dir, name, threads, list, variants) {
    const file = path.join(dir, `${name}.txt`);
    const lines = Object.entries(variants).flatMap(([v, steps]) => [`variant ${v}`, ...steps]);
    fs.writeFileSync(file, [`threads ${threads}`, ...list.map(memory), ...lines, ''].join('\n'));
    return file;
}

const save = (file, data) => fs.writeFileSync(file, Buffer.from(data.buffer, data.byteOffset, data.byteLength));

// Writes inputs and programs into `dir`: {peer: {program, result}}. `library`: ours, built.
function make(op, list, library, dir, threads) {
    const out = operands.output(op), programs = {};
    for (const t of list)
        save(path.join(dir, `${t.name}.f32`), t.data);
    const memories = name => [
        ...list.map(t => ({...t, role: t.const ? 'const' : 'in', file: path.join(dir, `${t.name}.f32`)})),
        {...out, role: 'out', file: path.join(dir, `${name}.out.f32`)},
    ];
    const add = (name, all, variants) => {
        if (variants)
            programs[name] = {program: write(dir, name, threads, all, variants), result: path.join(dir, `${name}.out.f32`)};
    };
    const own = memories('library').filter(t => t.role !== 'const').map(t => ({...t, strides: t.dims.map(() => 1)}));
    add('library', own, {tctune: [`call ${library} op_run ${own.map(t => t.name).join(' ')}`]});
    for (const [name, table] of [['onednn', ONEDNN], ['openblas', OPENBLAS]]) {
        const all = memories(name);
        if (op.op && table[op.op.kind])
            add(name, all, table[op.op.kind](op.op, all, all.find(m => m.role === 'out')));
    }
    return programs;
}

module.exports = {finishProduct, make};
