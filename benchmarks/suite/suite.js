// Tunes the operators of benchmarks/ops, then lets our kernel, oneDNN, OpenBLAS and ONNX Runtime take turns. benchmarks/ops/run
// calls it.
'use strict';

const fs = require('fs');
const path = require('path');
const {parseArgs} = require('util');
const b = require('../common.js');
const logs = require('./logs.js');
const models = require('./models.js');
const npz = require('./npz.js');
const operands = require('./operands.js');
const programs = require('./programs.js');
const report = require('./report.js');
const {Runner} = require('./runner.js');
const tensor = require('./tensor.js');
const {describe, product} = require('./describe.js');

const opsFolder = path.join(b.root, 'benchmarks/ops');
const peersProgram = path.resolve(process.env.PEERS || path.join(b.root, 'build/release/bin/op_peers'));
// Of the largest value: what a peer may differ from ours. Winograd loses digits, and so does a sum of four million squares in a
// row.
const TOLERANCE = 3e-3;

const usage = `usage: benchmarks/ops/run [options] [OP|GLOB...]

Operators by name or pattern, such as GMM_3 'C2D_*' ATT; all of benchmarks/ops when none is given.

  --threads N      threads of all (2)
  --trials N       tuning trials of each operator, those that are known already included (128)
  --no-tune        uses what is known
  --seed S         of the search and of the inputs (0)
  --db FILE        tuning database; without it a scratch one (build/benchmarks/ops.db), into which the records of tuning_logs
                   are read, and from which the best are written back
  --rounds N       turns that each program gets (5)
  --repeats N      samples in a turn (10)
  --resume         keeps the rows of the last session and goes on behind them
  --table FILE     Markdown table (build/benchmarks/ops.md)
  --plot FILE      picture (build/benchmarks/ops.svg)
  --record         puts the figures into benchmarks/results and RESULTS.md, and the picture into benchmarks/ops.svg`;

function options() {
    const text = d => ({type: 'string', default: d}), flag = {type: 'boolean', default: false};
    const {values: o, positionals} = parseArgs({
        allowPositionals: true,
        options: {
            threads: text('2'), trials: text('128'), seed: text('0'), db: {type: 'string'}, rounds: text('5'), repeats: text('10'),
            table: text(path.join(b.results, 'ops.md')), plot: text(path.join(b.results, 'ops.svg')), 'no-tune': flag, resume: flag,
            record: flag, help: flag,
        },
    });
    if (o.help) {
        console.log(usage);
        process.exit(0);
    }
    b.positive(o, 'threads', 'trials', 'rounds', 'repeats');
    o.shared = !o.db;
    o.db = path.resolve(o.db || path.join(b.results, 'ops.db'));
    o.session = path.join(b.results, 'ops.jsonl');
    o.files = choose(positionals);
    return o;
}

// The families as they are written in a shell: 'C2D_*', C2D_1, or C2D for all of a family.
function choose(patterns) {
    const all = fs.readdirSync(opsFolder).filter(f => f.endsWith('.te')).map(f => f.slice(0, -3));
    const escape = p => path.basename(p, '.te').replace(/[.+^${}()|\\]/g, '\\$&').replace(/\*/g, '.*').replace(/\?/g, '.');
    const regex = p => new RegExp(`^${escape(p)}(_\\d+)?$`);
    const chosen = patterns.length ? patterns.flatMap(p => {
        const found = all.filter(n => regex(p).test(n));
        return found.length ? found : b.fail(`no operator of benchmarks/ops is called '${p}'`);
    }) : all;
    const natural = (x, y) => x.localeCompare(y, 'en', {numeric: true});
    return [...new Set(chosen)].sort(natural).map(n => path.join(opsFolder, `${n}.te`));
}

// ---- one operator ----

function tune(o, op) {
    if (o['no-tune'])
        return null;
    return b.runJson(['tune', '--te', op.file, '--trials', String(o.trials), '--threads', String(o.threads), '--seed', o.seed,
                      '--mode', 'hot', '--db', o.db]); // as all take their turns here
}

// Our kernel as a library, from its best verified record, with the constants that the peers get too.
function build(o, op, values, dir) {
    const constants = op.inputs.filter(t => t.const), out = path.join(dir, 'op.so'), file = path.join(dir, 'constants.npz');
    if (constants.length)
        npz.write(file, constants.map(t => ({name: t.name, dims: t.dims, data: values[t.name]})));
    const r = b.runJson(['build', '--te', op.file, '--threads', String(o.threads), '--db', o.db, '--out', out, '--name', 'op',
                         ...(constants.length ? ['--inputs', file] : [])]);
    const k = r.kernels[0];
    return {library: out, schedule: k.source === 'record' ? 'tuned' : `untuned: ${k.why}`};
}

async function startOrt(o, op, list, dir, row) {
    const model = models.build(op, list), file = path.join(dir, 'op.onnx'), runner = new Runner('ort', row);
    const saved = (name, data) => {
        fs.writeFileSync(path.join(dir, `ort.${name}.f32`), Buffer.from(data.buffer, data.byteOffset, data.byteLength));
        return path.join(dir, `ort.${name}.f32`);
    };
    const inputs =
        model.inputs.map(t => ({name: t.name, dims: t.dims, file: saved(t.name, tensor.toView(t.data, t.own, t.groups))}));
    fs.writeFileSync(file, model.bytes);
    fs.writeFileSync(path.join(dir, 'ort.json'), JSON.stringify([...inputs, {name: model.output.name, dims: model.output.dims}]));
    runner.out = model.output;
    runner.file = path.join(dir, 'ort.out.f32');
    const server = path.join(__dirname, 'ort_server.js');
    return runner.start(process.execPath, [server, file, path.join(dir, 'ort.json'), String(o.threads), runner.file]);
}

async function startPeers(o, op, values, library, dir, row) {
    const list = operands.inputs(op, values), made = programs.make(op, list, library, dir, o.threads), runners = [];
    for (const [name, p] of Object.entries(made)) {
        if (name !== 'library' && !o.peers.includes(name))
            continue;
        const r = new Runner(name === 'library' ? 'ours' : name, row);
        r.file = p.result;
        runners.push(await r.start(peersProgram, [name, p.program]));
    }
    if (op.op)
        runners.push(await startOrt(o, op, list, dir, row));
    return runners;
}

// Every result against ours, for the same inputs. One that differs is out.
async function compare(op, runners, values, row) {
    const ours = await runners[0].result(runners[0].file);
    if (!runners[0].alive)
        return;
    for (const r of runners.slice(1)) {
        let got = await r.result(r.file, r.out);
        if (r.alive && r.name === 'openblas')
            got = programs.finishProduct(op, got, values);
        const error = r.alive ? tensor.error(got, ours) : 0;
        if (r.alive)
            row.errors[r.name] = error;
        if (!(error <= TOLERANCE))
            await r.attempt(() => b.fail(`its result differs from ours by ${error.toExponential(1)} of the largest value`));
    }
}

// What the machine can do in these minutes; the kernel's own time in it is not used.
function limits(o, op, row) {
    const r = b.runJson(['bench', '--te', op.file, '--threads', String(o.threads), '--db', o.db, '--repeats', '3']);
    const larger = (key, value) => { row[key] = Math.max(row[key] || 0, value); };
    larger('peak_gflops', r.peak_gflops);
    larger('read_gbs', r.footprint_read_gbs);
    larger('triad_gbs', r.footprint_triad_gbs);
    row.flops = op.op && op.op.flops || r.flops;
}

async function measure(o, op) {
    const dir = path.join(b.results, 'ops', op.name), written = 4 * product(op.output.dims);
    const row = {name: op.name, family: op.family, what: op.what, threads: o.threads, bytes: op.bytes, written, load: b.load(),
                 date: new Date().toISOString(), about: {}, errors: {}, turns: {}, remarks: []};
    fs.mkdirSync(dir, {recursive: true});
    const tuning = tune(o, op), values = operands.seeded(op, Number(o.seed));
    Object.assign(row, {trials: tuning && tuning.trials}, build(o, op, values, dir));
    limits(o, op, row);
    const runners = await startPeers(o, op, values, row.library, dir, row);
    try {
        await compare(op, runners, values, row);
        const able = runners.filter(r => r.alive);
        Object.assign(row.turns, await b.alternate(able, o.rounds, o.repeats));
        able.filter(r => !r.alive).forEach(r => delete row.turns[r.name]);
    } finally {
        runners.forEach(r => r.stop());
    }
    limits(o, op, row);
    fs.rmSync(dir, {recursive: true, force: true});
    return row;
}

// ---- all of them ----

function readSession(o) {
    if (!o.resume || !fs.existsSync(o.session))
        return [];
    return fs.readFileSync(o.session, 'utf8')
        .split('\n')
        .filter(Boolean)
        .map(l => JSON.parse(l))
        .filter(r => r.threads === o.threads);
}

function about(o, rows) {
    const versions = {};
    for (const [k, a] of rows.flatMap(r => Object.entries(r.about)).filter(([, x]) => x.version))
        versions[report.PEERS[k]] = /[\d.]+/.exec(a.version)[0];
    return `${b.machine()}; ${o.threads} threads; ${Object.entries(versions).map(([k, v]) => `${k} ${v}`).join(', ')}; ` +
        `${new Date().toISOString().slice(0, 10)}; load at start ${b.show(rows.length ? rows[0].load : NaN)}`;
}

// One operator, its row kept. An operator that fails altogether is named; the others go on.
async function one(o, file, rows) {
    const op = describe(file), started = performance.now();
    process.stderr.write(`${op.name}: ${op.what}\n`);
    const row = await measure(o, op);
    if (o.stopped) // what was killed with the rest was not measured
        return;
    row.seconds = (performance.now() - started) / 1000;
    rows.push(row);
    fs.appendFileSync(o.session, JSON.stringify(row) + '\n');
    console.log(report.oneLine(row));
}

b.main(async () => {
    const o = options(), rows = readSession(o), done = new Set(rows.map(r => r.name)), failed = [];
    const write = () => report.write(rows, about(o, rows), path.resolve(o.table), path.resolve(o.plot));
    process.on('SIGINT', () => { o.stopped = true; });
    o.peers = b.programs(peersProgram);
    fs.mkdirSync(b.results, {recursive: true});
    if (!o.resume)
        fs.rmSync(o.session, {force: true});
    if (o.shared)
        logs.read(o.db);
    for (const file of o.files.filter(f => !done.has(path.basename(f, '.te')))) {
        await new Promise(setImmediate); // a signal is heard here
        if (o.stopped)
            break;
        await one(o, file, rows).catch(e => o.stopped || failed.push(`${path.basename(file, '.te')}: ${e.message}`));
        write();
    }
    if (o.shared && !o['no-tune'])
        logs.write(o.db);
    console.log(`\n${write()}\n\n${o.table}, ${o.plot}; every turn: ${o.session}`);
    if (o.record && rows.length) {
        b.publish('ops', report.published(rows));
        fs.copyFileSync(o.plot, path.join(b.root, 'benchmarks/ops.svg'));
    }
    if (o.stopped || failed.length)
        b.fail([...failed, ...(o.stopped ? ['stopped; --resume goes on'] : [])].join('\n'));
});
