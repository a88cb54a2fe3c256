// What decoding consists of: one to eight rows times weights of few bits. A chain of layers that no cache holds, so that all
// weights come from memory in every run, takes turns with ONNX Runtime on the same file; the kernel of one layer, timed cold, with
// a plain read of as many bytes. benchmarks/decode.sh calls it.
'use strict';

const fs = require('fs');
const path = require('path');
const {parseArgs} = require('util');
const b = require('./common.js');
const onnx = require('./suite/onnx.js');

const usage = `usage: benchmarks/decode.sh [options]

  --weights A,B   of ${'q4, q4a4, q8, q8a4, s8'} (all): MatMulNBits with blocks of 4 or 8 bits, a4: accuracy_level 4; s8: symmetric
                  int8 by column, dequantised
  --rows 1,2      rows (1,2,4,8)
  --size N        rows and columns of the weights (4096)
  --block N       numbers of a block (32)
  --layers N      of the chain (4)
  --threads 1,2   threads of both (2,1)
  --trials N      tuning trials for each; 0 uses the database as it is, default schedules where there is none (40)
  --db FILE       tuning database (build/benchmarks/decode.db)
  --rounds N      turns that each program gets (5)
  --repeats N     timed runs in a turn (20)
  --table FILE    Markdown table that gets the rows (build/benchmarks/decode.md)
  --record        puts the figures into benchmarks/results and RESULTS.md`;

const KINDS = {
    q4: {bits: 4, is: '4 bits'}, q4a4: {bits: 4, level: 4, is: '4 bits, bytes'}, q8: {bits: 8, is: '8 bits'},
    q8a4: {bits: 8, level: 4, is: '8 bits, bytes'}, s8: {is: 's8'},
};
const READ_ROW = 4096; // bytes of a row of the plain read
const MOST_MS = 1000;  // of one turn: some forms are slow in the runtime
const RANDOM_SEED = 0x9e3779b9;

function options() {
    const text = d => ({type: 'string', default: d});
    const {values: o} = parseArgs({
        options: {
            weights: text(Object.keys(KINDS).join(',')),
            rows: text('1,2,4,8'),
            size: text('4096'),
            block: text('32'),
            layers: text('4'),
            threads: text('2,1'),
            trials: text('40'),
            db: text(path.join(b.results, 'decode.db')),
            rounds: text('5'),
            repeats: text('20'),
            table: {type: 'string'},
            record: {type: 'boolean', default: false},
            help: {type: 'boolean', default: false},
        },
    });
    if (o.help) {
        console.log(usage);
        process.exit(0);
    }
    b.positive(o, 'size', 'block', 'layers', 'rounds', 'repeats');
    o.trials = Number(o.trials);
    o.work = path.join(b.results, 'decode');
    o.cases = o.weights.split(',').flatMap(kind => o.rows.split(',').map(Number).map(rows => ({kind, rows, ...KINDS[kind]})));
    const unknown = o.cases.find(c => !KINDS[c.kind]);
    if (unknown)
        b.fail(`--weights ${unknown.kind}: there are ${Object.keys(KINDS).join(', ')}`);
    return o;
}

/* ---- models ---- */

// xorshift32, a word at a time: every byte of every layer differs.
function randomBytes(length, seed) {
    const words = new Uint32Array(Math.ceil(length / 4));
    let x = (RANDOM_SEED ^ seed) >>> 0 || 1;
    for (let i = 0; i < words.length; i++) {
        x ^= x << 13;
        x ^= x >>> 17;
        x ^= x << 5;
        words[i] = x;
    }
    return new Uint8Array(words.buffer, 0, length);
}

// Such that a layer's outputs are about as large as its inputs: numbers are uniform, and scales within a tenth of each other.
function scales(n, range, depth, seed) {
    const bytes = randomBytes(n, seed), one = Math.sqrt(12 / depth) / range;
    return Float32Array.from(bytes, v => one * (0.95 + 0.1 * v / 256));
}

function blockLayer(o, c, i) {
    const blocks = Math.ceil(o.size / o.block), bytes = o.block * c.bits / 8, each = [`w${i}`, `s${i}`];
    return {
        constants: [
            {name: each[0], dims: [o.size, blocks, bytes], data: randomBytes(o.size * blocks * bytes, 2 * i + 1)},
            {name: each[1], dims: [o.size * blocks], data: scales(o.size * blocks, 2 ** c.bits, o.size, 2 * i + 2)},
        ],
        nodes: [['com.microsoft.MatMulNBits', [`x${i}`, ...each], [`x${i + 1}`],
                 {K: o.size, N: o.size, bits: c.bits, block_size: o.block, ...(c.level ? {accuracy_level: c.level} : {})}]],
    };
}

function columnLayer(o, c, i) {
    const data = new Int8Array(randomBytes(o.size * o.size, 2 * i + 1).buffer);
    return {
        constants: [
            {name: `w${i}`, dims: [o.size, o.size], data},
            {name: `s${i}`, dims: [o.size], data: scales(o.size, 256, o.size, 2 * i + 2)},
        ],
        nodes: [['DequantizeLinear', [`w${i}`, `s${i}`], [`d${i}`], {axis: 1}], ['MatMul', [`x${i}`, `d${i}`], [`x${i + 1}`]]],
    };
}

// Writes the chain; returns its file and the bytes of its constants.
function writeModel(o, c) {
    const file = path.join(o.work, `${c.kind}_${c.rows}.onnx`), layers = [];
    for (let i = 0; i < o.layers; i++)
        layers.push(c.bits ? blockLayer(o, c, i) : columnLayer(o, c, i));
    const constants = layers.flatMap(l => l.constants), dims = [c.rows, o.size];
    fs.writeFileSync(file, onnx.encode({
        name: c.kind,
        nodes: layers.flatMap(l => l.nodes),
        constants,
        inputs: [{name: 'x0', dims}],
        outputs: [{name: `x${o.layers}`, dims}],
    }));
    return {file, bytes: constants.reduce((sum, k) => sum + k.data.byteLength, 0)};
}

/* ---- who takes turns ---- */

// The best run of all turns, beside the medians that a turn returns.
class Best extends b.Ours {
    get best() {
        return Math.min(...this.reports.map(r => r.min_ms));
    }
}

// One kernel, its constants put out of the caches before each call.
const cold = (name, file, threads, args) => new Best(name, ['--te', file, '--mode', 'cold', '--threads', threads, ...args]);

// Sums of rows: what a kernel that only reads reaches.
function plainRead(o, bytes, threads) {
    const file = path.join(o.work, 'read.te'), rows = Math.ceil(bytes / READ_ROW), floats = READ_ROW / 4;
    fs.writeFileSync(file, `tensor W[${rows}, ${floats}] f32 const\ncompute Y[i:${rows}] = sum(k:${floats}) W[i, k]\noutput Y\n`);
    return cold('read', file, threads, ['--untuned']);
}

// The kernel of one layer.
function layerKernel(o, c, common, db, threads) {
    const file = path.join(o.work, `${c.kind}_${c.rows}.te`);
    fs.writeFileSync(file, b.run(['show', ...common, '--kernel', '0', '--print', 'workload'], {cwd: o.work}));
    return cold('kernel', file, threads, db);
}

class Runtime extends b.Peer {
    async turn(repeats) {
        const [once] = (await this.ask('run 1')).times_ms, most = Math.max(1, Math.floor(MOST_MS / once));
        const times = (await this.ask(`run ${Math.min(repeats, most)}`)).times_ms;
        this.best = Math.min(this.best ?? Infinity, ...times);
        return b.median(times);
    }
}

async function startRuntime(model, threads) {
    const p = new Runtime(
        'ONNX Runtime', process.execPath, [path.join(__dirname, 'ort/ort_bench.js'), model, '--threads', threads, '--serve']);
    await p.ready();
    return p;
}

/* ---- one case ---- */

// Our outputs against the runtime's, over the largest value there.
async function compare(o, args, runtime) {
    const dir = path.join(o.work, 'io');
    fs.rmSync(dir, {recursive: true, force: true});
    await runtime.ask(`save ${dir}`);
    const r = b.runJson(['run', ...args, '--inputs', dir, '--check', dir, '--rtol', '1', '--atol', '1']);
    return {error: Math.max(...r.outputs.map(x => x.error)), dir};
}

async function measure(o, c, threads) {
    const {file, bytes} = writeModel(o, c), load = b.load(), common = ['--model', file, '--threads', threads],
                 tuned = ['--db', o.db];
    const tuning = o.trials ? b.runJson(['tune', ...common, ...tuned, '--mode', 'cold', '--trials', String(o.trials)]) : null;
    const db = fs.existsSync(o.db) ? tuned : ['--untuned'];
    const runtime = await startRuntime(file, threads), {error, dir} = await compare(o, [...common, ...db], runtime);
    const read = plainRead(o, bytes / o.layers, threads), kernel = layerKernel(o, c, common, db, threads);
    const ours = new Best('ours', [...common, ...db, '--inputs', dir]);
    const turns = await b.alternate([read, kernel, ours, runtime], o.rounds, o.repeats);
    runtime.stop();
    report(o, c, {threads, bytes, load, error, tuning, read, kernel, ours, runtime, turns});
}

function report(o, c, m) {
    const each = ms => b.show(ms / o.layers, 3), middle = name => b.median(m.turns[name]);
    const over = (x, y) => b.median(m.turns[x].map((ms, i) => ms / m.turns[y][i]));
    b.record(
        'decode', {
            weights: c.kind,
            rows: c.rows,
            threads: m.threads,
            trials: m.tuning ? m.tuning.trials : '-',
            'kernel ms, best': b.show(m.kernel.best, 3),
            median: b.show(middle('kernel'), 3),
            'GB/s, best': b.show(m.bytes / o.layers / m.kernel.best / 1e6, 1),
            'of a read, best': b.percent(m.read.best / m.kernel.best),
            'by turns': b.percent(over('read', 'kernel')),
            'layer ms, best': each(m.ours.best),
            'its median': each(middle('ours')),
            'ONNX Runtime ms, best': each(m.runtime.best),
            'median there': each(middle('ONNX Runtime')),
            'speed over it, best': b.show(m.runtime.best / m.ours.best),
            'by turns of both': b.show(over('ONNX Runtime', 'ours')),
            error: m.error.toExponential(1),
            'load at start': b.show(m.load),
            date: new Date().toISOString().slice(0, 10),
            machine: b.machine(),
        },
        {turns: m.turns, tuning: m.tuning}, o.table);
    if (o.record)
        b.publish(
            'decode', [{
                weights: KINDS[c.kind].is,
                rows: c.rows,
                threads: Number(m.threads),
                trials: o.trials,
                kernel_ms: m.kernel.best,
                of_read: m.read.best / m.kernel.best,
                of_read_turns: over('read', 'kernel'),
                layer_ms: m.ours.best / o.layers,
                ort_ms: m.runtime.best / o.layers,
                speed: m.runtime.best / m.ours.best,
                speed_turns: over('ONNX Runtime', 'ours'),
                error: m.error,
            }],
            {'ONNX Runtime': m.runtime.about.version});
}

b.main(async () => {
    const o = options();
    fs.mkdirSync(o.work, {recursive: true});
    for (const threads of o.threads.split(','))
        for (const c of o.cases)
            await measure(o, c, threads);
});
