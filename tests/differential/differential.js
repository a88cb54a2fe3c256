// Every operator against ONNX Runtime: random attributes, shapes, types and opsets; one-operator models, their neighbours in a
// fusion, and small networks. Each case is written as an ONNX test case (model.onnx, test_data_set_0) with ONNX Runtime's outputs
// as what is expected, and `tctune verify` runs them, a batch per process. A failing case's folder stays.
//
//   TCTUNE=PATH node differential.js [--cases N] [--seed S] [--only NAME] [--keep] [--work DIR]
//
// Case i has the seed S + i, and depends on it (and --only) alone. What ONNX Runtime cannot run is skipped and counted; N cases are
// compared.
'use strict';

const child_process = require('child_process');
const fs = require('fs');
const path = require('path');
const {parseArgs} = require('util');

const pb = require('../../benchmarks/ort/tensor_pb.js');
const {Model, single} = require('./model.js');
const onnx = require('./onnx_pb.js');
const {Random} = require('./random.js');

const root = path.resolve(__dirname, '../..'), ort = require(path.join(root, 'benchmarks/ort/node_modules/onnxruntime-node'));
const chains = Object.assign({}, ...['chains', 'control', 'graphs'].map(f => require(`./ops/${f}.js`).chains));
const families = ['elementwise', 'move', 'reduce', 'window', 'contract', 'select', 'others', 'microsoft', 'attention'].map(
    f => require(`./ops/${f}.js`).ops);
const ops = Object.assign({}, ...families);

const OPSETS = [7, 24], BATCH = 50, PROCESSES = 2, ATTEMPTS = 6;
// Relative and absolute, by the case's float types. The relative one is not for integers.
const TOLERANCE = {half: [2e-2, 1e-2], single: [1e-4, 2e-5], double: [1e-9, 1e-9]};

function options() {
    const {values} = parseArgs({
        options: {
            cases: {type: 'string', default: '2000'},
            seed: {type: 'string', default: '1'},
            only: {type: 'string'},
            keep: {type: 'boolean', default: false},
            work: {type: 'string', default: path.join(root, 'build/differential')},
        }
    });
    const cases = Number(values.cases), seed = Number(values.seed);
    if (!(cases > 0) || !Number.isSafeInteger(seed))
        throw new Error('--cases and --seed take whole numbers');
    if (!process.env.TCTUNE)
        throw new Error('TCTUNE must name the command');
    return {...values, cases, seed, names: names(values.only)};
}

// All there is, chains twice as often; a generator is missing where the operator table has grown.
function names(only) {
    const table = fs.readFileSync(path.join(root, 'src/graph/ir/ops.def'), 'utf8')
                      .matchAll(/^(?:|POINTWISE_|REWRITTEN_)OP\(\w+, "([\w.]+)", (\d+)/gm);
    const missing = [...table].filter(([, name, since]) => Number(since) <= OPSETS[1] && !ops[name]).map(x => x[1]);
    if (missing.length)
        throw new Error(`no generator for: ${missing.join(', ')}`);
    const own = Object.keys(chains).map(c => `chain_${c}`),
          all = [...Object.keys(ops), ...own, ...own].filter(n => !only || n === only);
    if (!all.length)
        throw new Error(`--only: there is no operator or chain '${only}'`);
    return all;
}

function generate(seed, list) {
    const r = new Random(seed), name = list[seed % list.length];
    if (name.startsWith('chain_')) {
        const chain = chains[name.slice('chain_'.length)], m = new Model(r, r.int(...(chain.opsets || [13, 17])));
        chain(r, m).forEach(([result, type]) => m.result(result, type));
        return {name, model: m};
    }
    const op = ops[name], opset = r.int(Math.max(op.since, OPSETS[0]), op.until || OPSETS[1]);
    return {name, model: single(r, opset, name, {exact: op.exact, ...op.make(r, opset)})};
}

async function expected(model, bytes) {
    const session = await ort.InferenceSession.create(bytes, {
        executionProviders: ['cpu'],
        intraOpNumThreads: 1,
        interOpNumThreads: 1,
        graphOptimizationLevel: 'disabled',
        logSeverityLevel: 4,
    });
    try {
        const feeds = Object.fromEntries(model.inputs.map(x => [x.name, new ort.Tensor(x.type, x.data, x.dims)]));
        return await session.run(feeds);
    } finally {
        await session.release();
    }
}

// Why ONNX Runtime has no answer, in few words.
function reason(error) {
    const text = error.message.replace(/\s+/g, ' ');
    if (/Could not find an implementation|NOT_IMPLEMENTED|not implemented|is not supported/i.test(text))
        return 'not implemented';
    if (/is invalid|Type Error/.test(text))
        return 'type not in this opset';
    return `refused: ${text.replace(/^.*?(Error|FAIL|Exception)[^:]*: /, '').slice(0, 150)}`;
}

function write(dir, model, bytes, out) {
    const set = path.join(dir, 'test_data_set_0');
    fs.mkdirSync(set, {recursive: true});
    fs.writeFileSync(path.join(dir, 'model.onnx'), bytes);
    model.inputs.forEach((x, i) => fs.writeFileSync(path.join(set, `input_${i}.pb`), pb.encode(x.name, x)));
    model.outputs.forEach((name, i) => fs.writeFileSync(path.join(set, `output_${i}.pb`), pb.encode(name, out[name])));
}

function spawn(args) {
    return new Promise(resolve => {
        child_process.execFile(
            process.env.TCTUNE, args, {maxBuffer: 1 << 26, env: {...process.env, TCTUNE_CACHE: 'off'}},
            (error, stdout, stderr) =>
                resolve({signal: error && (error.signal || (error.code > 1 && `exit ${error.code}`)), stdout, stderr}));
    });
}

// Runs these folders; where the process dies, the first without a verdict is the one it died of.
async function verify(dirs, tolerance) {
    const verdicts = [];
    for (let rest = dirs; rest.length;) {
        const [rtol, atol] = TOLERANCE[tolerance];
        const done = await spawn(['verify', '--threads', '2', '--rtol', String(rtol), '--atol', String(atol), ...rest]),
              seen = new Set();
        for (const line of done.stdout.split('\n')) {
            const m = /^(passed|failed|skipped) +(.*?)(?:: (.*))?$/.exec(line);
            if (m && rest.includes(m[2])) {
                seen.add(m[2]);
                verdicts.push({dir: m[2], verdict: m[1], why: m[3] || ''});
            }
        }
        rest = rest.filter(d => !seen.has(d));
        if (rest.length)
            verdicts.push({
                dir: rest.shift(),
                verdict: 'failed',
                why: `the process ended: ${done.signal || ''} ${done.stderr.trim().slice(-200)}`
            });
    }
    return verdicts;
}

class Tally {
    constructor(o) {
        Object.assign(this, {o, compared: 0, passed: 0, failed: [], skipped: {}, perOp: {}});
    }

    skip(name, why) {
        const of = this.skipped[why] = this.skipped[why] || {};
        of[name] = (of[name] || 0) + 1;
    }

    add({dir, verdict, why}) {
        const [, seed, name] = /(\d+)-([\w.]+)$/.exec(dir), only = this.o.only ? ` --only ${name}` : '';
        this.compared++;
        if (verdict === 'passed') {
            this.passed++;
        } else {
            this.failed.push(name);
            console.log(`${verdict} ${name}, seed ${seed}: ${why}\n    again: tests/differential/run --cases 1 --seed ${seed}${
                only} --keep; the case: ${dir}`);
        }
        if (verdict === 'passed' && !this.o.keep)
            fs.rmSync(dir, {recursive: true});
    }
}

// Draws cases and starts a batch whenever one is full; at most PROCESSES run at a time.
async function all(o, tally) {
    const batches = {half: [], single: [], double: []}, running = new Set();
    let drawn = 0, wanted = 0;
    const start = async kind => {
        const dirs = batches[kind].splice(0);
        if (running.size >= PROCESSES)
            await Promise.race(running);
        const job = verify(dirs, kind).then(list => {
            list.forEach(v => tally.add(v));
            running.delete(job);
        });
        running.add(job);
    };
    for (; wanted < o.cases && drawn < ATTEMPTS * o.cases; drawn++) {
        const seed = o.seed + drawn, {name, model} = generate(seed, o.names), bytes = onnx.model(model);
        let out;
        try {
            out = await expected(model, bytes);
        } catch (e) {
            tally.skip(name, reason(e));
            continue;
        }
        const kind = model.half ? 'half' : model.double ? 'double' : 'single', dir = path.join(o.work, `${seed}-${name}`);
        write(dir, model, bytes, out);
        tally.perOp[name] = (tally.perOp[name] || 0) + 1;
        wanted++;
        if (batches[kind].push(dir) === BATCH)
            await start(kind);
    }
    for (const kind of Object.keys(batches))
        if (batches[kind].length)
            await start(kind);
    await Promise.all(running);
    return drawn;
}

async function main() {
    const o = options(), tally = new Tally(o), started = performance.now();
    fs.mkdirSync(o.work, {recursive: true});
    console.log(
        `differential test: seed ${o.seed}, ${o.cases} cases, ${o.names.length} generators; ONNX Runtime ${ort.env.versions.node}`);
    const drawn = await all(o, tally);
    for (const [why, of] of Object.entries(tally.skipped))
        console.log(`skipped, ${why}: ${Object.entries(of).map(([name, n]) => n > 1 ? `${name} x${n}` : name).join(' ')}`);
    const never = [...new Set(o.names)].filter(n => !tally.perOp[n]);
    if (never.length && o.cases >= 5 * o.names.length)
        console.log(`never compared: ${never.join(' ')}`);
    console.log(
        `seeds ${o.seed} to ${o.seed + drawn - 1}: ${tally.compared} compared, ${tally.passed} passed, ${
            tally.failed.length} failed; ` +
        `${drawn - tally.compared} skipped by ONNX Runtime; ${((performance.now() - started) / 1000).toFixed(0)} s`);
    return tally.failed.length ? 1 : 0;
}

main().then(code => process.exit(code), e => {
    process.stderr.write(`differential: ${e.message}\n`);
    process.exit(2);
});
