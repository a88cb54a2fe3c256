// What the operator suite does without its peers: every operator is understood, the ONNX model that is written for it computes what
// its .te file says (our own import against our own kernel), its programs name only what they declare, and rows become a table and
// a plot. TCTUNE: the command.
'use strict';

const assert = require('assert');
const child_process = require('child_process');
const fs = require('fs');
const path = require('path');

const root = path.resolve(__dirname, '../..'), ops = path.join(root, 'benchmarks/ops'), suite = path.join(root, 'benchmarks/suite');
const {describe, product} = require(path.join(suite, 'describe.js'));
const models = require(path.join(suite, 'models.js'));
const npz = require(path.join(suite, 'npz.js'));
const operands = require(path.join(suite, 'operands.js'));
const programs = require(path.join(suite, 'programs.js'));
const report = require(path.join(suite, 'report.js'));
const b = require(path.join(suite, '../common.js'));
const tensor = require(path.join(suite, 'tensor.js'));

const work = fs.mkdtempSync(path.join(process.env.TMPDIR || '/tmp', 'suite-'));
const at = name => path.join(work, name);
const run = (...args) => child_process.execFileSync(process.env.TCTUNE, args, {cwd: work, stdio: ['ignore', 'pipe', 'inherit']});

// One of each kind, small: both ways take a fraction of a second.
const SMALL = ['C1D_1', 'CAP_3', 'DEP_3', 'T2D_3', 'MBV_9', 'GMM_0', 'TBG_2', 'ATT_0', 'LNR_0', 'SFM_0', 'POL_2', 'NRM_0'];
const TOLERANCE = 1e-4;

function everyOperator() {
    const families = {};
    for (const f of fs.readdirSync(ops).filter(x => x.endsWith('.te'))) {
        const op = describe(path.join(ops, f)); // throws where the first line and the shapes disagree
        assert(op.op, `${f}: the suite does not know what it is`);
        families[op.family] = (families[op.family] || 0) + 1;
        assert.strictEqual(product(operands.output(op).dims), product(op.output.dims), `${f}: the peers' output has another size`);
    }
    assert(Object.keys(families).length >= 13);
}

function badOperator() {
    const lie = fs.readFileSync(path.join(ops, 'C2D_2.te'), 'utf8').replace('256,256,3,1,1', '256,128,3,1,1');
    fs.writeFileSync(at('lie.te'), lie);
    assert.throws(() => describe(at('lie.te')), /W has 589824 elements, but the first line says 294912/);
}

// The kernel with these values, and the model with the same ones.
function bothWays(name) {
    const op = describe(path.join(ops, `${name}.te`)), values = operands.seeded(op, 1), list = operands.inputs(op, values);
    const arrays = wanted =>
        op.inputs.filter(t => t.const === wanted).map(t => ({name: t.name, dims: t.dims, data: values[t.name]}));
    npz.write(at('constants.npz'), arrays(true));
    npz.write(at('inputs.npz'), arrays(false));
    run('build', '--te', op.file, '--out', at('op.so'), ...(arrays(true).length ? ['--inputs', at('constants.npz')] : []));
    run('run', '--model', at('op.so'), '--inputs', at('inputs.npz'), '--outputs', at('kernel.npz'));

    const model = models.build(op, list);
    fs.writeFileSync(at('op.onnx'), model.bytes);
    npz.write(at('seen.npz'), model.inputs.map(t => ({name: t.name, dims: t.dims, data: tensor.toView(t.data, t.own, t.groups)})));
    run('run', '--model', at('op.onnx'), '--inputs', at('seen.npz'), '--outputs', at('model.npz'));
    const ours = npz.read(at('kernel.npz'))[op.output.name], theirs = npz.read(at('model.npz'))[op.output.name];
    const error = tensor.error(tensor.fromView(theirs.data, model.output.own, model.output.groups), ours.data);
    assert(error <= TOLERANCE, `${name}: the model differs from the kernel by ${error}`);
    checkPrograms(op, list);
}

// Every word of a call that is not a number or KEY=VALUE is a memory of the program.
function checkPrograms(op, list) {
    for (const [peer, p] of Object.entries(programs.make(op, list, '/op.so', work, 2))) {
        const lines = fs.readFileSync(p.program, 'utf8').trim().split('\n').map(l => l.split(' '));
        const memories = new Set(lines.filter(l => l[0] === 'memory').map(l => l[1]));
        for (const l of lines.filter(x => !['threads', 'memory', 'variant'].includes(x[0])))
            for (const word of l.slice(peer === 'library' ? 3 : 1).filter(w => w !== '-' && !w.includes('=')))
                assert(memories.has(word.replace('?', '')), `${op.name}, ${peer}: '${word}' is not a memory`);
    }
}

function views() {
    const dims = [2, 3, 4, 5], groups = [[0], [3], [1, 2]], data = tensor.random(product(dims), 7),
          seen = tensor.toView(data, dims, groups);
    assert.deepStrictEqual(tensor.viewDims(dims, groups), [2, 5, 12]);
    assert.strictEqual(seen[(1 * 5 + 4) * 12 + 2 * 4 + 3], data[((1 * 3 + 2) * 4 + 3) * 5 + 4]);
    assert.deepStrictEqual(tensor.fromView(seen, dims, groups), data);
    assert(Number.isNaN(tensor.error(Float32Array.of(NaN), Float32Array.of(1))));
}

// 2 GFLOP in 10 ms at a peak of 400 GFLOP/s: half of the roof. One operator is 2 x as fast as its best peer, one has lost a peer.
function rows() {
    const row = {
        family: 'GMM',
        flops: 2e9,
        bytes: 1e6,
        written: 1e5,
        peak_gflops: 400,
        read_gbs: 100,
        triad_gbs: 90,
        remarks: [],
        about: {}
    };
    const measured = [
        {...row, name: 'GMM_1', turns: {ours: [10, 10, 10], onednn: [20, 20, 20], openblas: [30, 30, 30]}},
        {...row, name: 'GMM_0', turns: {ours: [10, 10, 10], ort: [5, 5, 5]}, remarks: ['oneDNN: ended without an answer']},
        {...row, name: 'GMM_2', turns: {}, remarks: ['ours: no answer']},
    ];
    const text = report.write(measured, 'about', at('t.md'), at('t.svg'));
    assert.match(text, /2 of 3 operators compared: .*\*\*1\.00 ×\*\*, faster in 1; below 0.85 ×: GMM_0 0.50/);
    const table = fs.readFileSync(at('t.md'), 'utf8');
    assert.match(
        table,
        /GMM_0.*\n.*GMM_1 \| 10\.00 ms \| 0\.0 % \| 200\.0 \| FMA \| 50\.0 % \| 20\.00 ms \| 30\.00 ms \| - \| oneDNN \| 2\.00 /);
    assert.strictEqual(fs.readFileSync(at('t.svg'), 'utf8').match(/<rect /g).length, 3);
    fs.mkdirSync(at('results'));
    fs.copyFileSync(path.resolve(suite, '../results/ops.json'), at('results/ops.json'));
    Object.assign(process.env, {TCTUNE_RESULTS: at('results'), TCTUNE_RESULTS_PAGE: at('R.md'), TCTUNE_RESULTS_MACHINE: 'here'});
    b.publish('ops', report.published(measured));
    const kept = JSON.parse(fs.readFileSync(at('results/ops.json'))).runs.at(-1);
    assert.deepStrictEqual(
        kept.rows.map(r => [r.op, r.ours_us, r.best, r.speed]),
        [['GMM_0', 10000, 'ONNX Runtime', 0.5], ['GMM_1', 10000, 'oneDNN', 2], ['GMM_2', undefined, '-', undefined]]);
}

try {
    everyOperator();
    badOperator();
    views();
    rows();
    SMALL.forEach(bothWays);
} finally {
    fs.rmSync(work, {recursive: true, force: true});
}
