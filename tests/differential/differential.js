// Every operator against ONNX Runtime: random attributes, shapes, types and opsets; one-operator models, their neighbours in a
// fusion, and small networks. Each case is written as an ONNX test case (model.onnx, test_data_set_0) with ONNX Runtime's outputs
// as what is expected, and `tctune verify` runs them, a batch per process. A failing case's folder stays.
//
//   TCTUNE=PATH node differential.js [options]     (options.js)
//
// Case i has the seed S + i, and depends on it (and --only, --edge) alone. Two of three cases are at an edge or two (edges.js);
// --edge takes one edge, or none.
// What ONNX Runtime cannot run is skipped and counted; N cases are compared. A case that differs is compared once more with the
// same model in f64 (reference.js). KNOWN (known.js) lists the other differences, each with its reason.
'use strict';

const child_process = require('child_process');
const fs = require('fs');
const path = require('path');

const pb = require('../../benchmarks/ort/tensor_pb.js');
const npz = require('../../benchmarks/suite/npz.js');
const {EDGES, FORMAT, fromHalf} = require('./edges.js');
const {generate} = require('./generate.js');
const {known} = require('./known.js');
const onnx = require('./onnx_pb.js');
const {USAGE, options} = require('./options.js');
const {Oracle, version} = require('./oracle.js');
const reference = require('./reference.js');

const oracle = new Oracle();
const BATCH = 50, PROCESSES = 2, ATTEMPTS = 6, SLACK = 4;
// Relative and absolute, by the case's float types. The relative one is not for integers.
const TOLERANCE = {
    half: [2e-2, 1e-2],
    single: [1e-4, 2e-5],
    double: [1e-9, 1e-9]
};

// Why ONNX Runtime has no answer, in few words.
function reason(error) {
    const text = error.message.replace(/\s+/g, ' ');
    if (/process ended/.test(text))
        return text;
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

// ---- tolerances ----

const kindOf = model => model.half ? 'half' : model.double ? 'double' : 'single';

const SIZED = new Set(['small', 'large', 'scale']);

// At edges that draw numbers of all sizes the absolute tolerance follows the largest result, in powers of ten. What is below the
// smallest normal number may be 0.
function tolerance(model, edges, out) {
    const kind = kindOf(model), [rtol, atol] = TOLERANCE[kind];
    if (!edges.some(e => SIZED.has(e)))
        return {rtol, atol};
    let most = 0, least = 0;
    for (const t of Object.values(out)) {
        const type = FORMAT[t.type];
        if (!type)
            continue;
        least = Math.max(least, 2 * type.normal);
        t.data.forEach(v => {
            const size = Math.abs(t.type === 'float16' ? fromHalf(v) : v);
            if (size > most && size < Infinity)
                most = size;
        });
    }
    return {rtol, atol: most ? Math.max(least, atol * 10 ** Math.ceil(Math.log10(most))) : atol};
}

// ---- tctune ----

function spawn(args) {
    return new Promise(resolve => {
        child_process.execFile(
            process.env.TCTUNE, args, {maxBuffer: 1 << 26, env: {...process.env, TCTUNE_CACHE: 'off'}},
            (error, stdout, stderr) =>
                resolve({signal: error && (error.signal || (error.code > 1 && `exit ${error.code}`)), stdout, stderr}));
    });
}

// Runs the folders of these cases, which have the same symbols. Where the process dies, the first without a verdict is the case
// that it died of.
async function verify(cases, {rtol, atol}) {
    const verdicts = [], shapes = (cases[0].model.shapes || []).flatMap(s => ['--shape', s]);
    for (let rest = cases; rest.length;) {
        const dirs = rest.map(c => c.dir), seen = new Set();
        const done =
            await spawn(['verify', '--threads', '2', '--rtol', String(rtol), '--atol', String(atol), ...shapes, ...dirs]);
        for (const line of done.stdout.split('\n')) {
            const m = /^(passed|failed|skipped) +(.*?)(?:: (.*))?$/.exec(line), of = m && rest.find(c => c.dir === m[2]);
            if (of) {
                seen.add(of);
                verdicts.push({of, verdict: m[1], why: m[3] || ''});
            }
        }
        rest = rest.filter(c => !seen.has(c));
        if (rest.length)
            verdicts.push({
                of: rest.shift(),
                verdict: 'failed',
                why: `the process ended: ${done.signal || ''} ${done.stderr.trim().slice(-200)}`
            });
    }
    return verdicts;
}

// ---- verdicts ----

// Is the result that of the same model in f64? The absolute tolerance is some times what ONNX Runtime is off by.
async function isExact(c, own = c.model) {
    try {
        const model = reference.wide(own), exact = await oracle.run(model, onnx.model(model));
        const {results, slack} = reference.rounded(c.out, exact), dir = `${c.dir}-f64`;
        write(dir, c.model, c.bytes, results);
        const within = tolerance(c.model, c.edges, results),
              [v] = await verify([{...c, dir}], {...within, atol: Math.max(within.atol, SLACK * slack)});
        fs.rmSync(dir, {recursive: true});
        return v.verdict === 'passed';
    } catch (e) {
        return false; // ONNX Runtime has no f64 for it
    }
}

// What explain.js asks: results of ONNX Runtime, also those of the model in f64, and what tctune has else than `out`.
const tools = {
    decode: (type, v) => type === 'float16' ? fromHalf(v) : v,
    results: model => oracle.run(model, onnx.model(model)),
    tolerance: (c, out) => tolerance(c.model, c.edges, out),
    // tctune's results by name.
    async ours(c) {
        const dir = `${c.dir}-ours`, file = path.join(dir, 'ours.npz');
        const shapes = (c.model.shapes || []).flatMap(s => ['--shape', s]);
        write(dir, c.model, onnx.model(c.model), c.out);
        await spawn([
            'run', path.join(dir, 'model.onnx'), '--inputs', path.join(dir, 'test_data_set_0'), '--outputs', file, '--threads', '2',
            ...shapes
        ]);
        const results = fs.existsSync(file) ? npz.read(file) : {};
        fs.rmSync(dir, {recursive: true});
        return results;
    },
    // Of all names in the model: operands, and what ONNX Runtime has for results.
    async values(model) {
        const nodes = model.plain || model.nodes, outputs = nodes.flatMap(n => n.outputs).filter(y => y);
        const out = await this.results({...model, nodes, functions: [], outputs});
        return {...Object.fromEntries([...model.inputs, ...model.weights].map(t => [t.name, t])), ...out};
    },
    // Has tctune the results of another model, in its own types or in f64?
    async same(c, model) {
        const out = await this.results(model).catch(() => null);
        return (out && await this.difference(c, out) === '') || isExact(c, model);
    },
    // Values of any names; `given` is put in the place of the node that computes it.
    async wide(model, names, given) {
        const m = reference.wide(model), tensors = [...m.inputs, ...m.weights, ...(given ? [given] : [])];
        const own = Object.fromEntries(tensors.filter(t => names.includes(t.name)).map(t => [t.name, t]));
        const outputs = names.filter(name => !own[name]), wanted = new Set(outputs), nodes = [];
        for (const n of [...m.nodes].reverse())
            if (n.outputs.some(y => wanted.has(y) && y !== (given || {}).name)) {
                nodes.unshift(n);
                n.inputs.forEach(x => wanted.add(x));
            }
        const inputs = given ? [...m.inputs, given] : m.inputs;
        return outputs.length ? {...await this.results({...m, nodes, inputs, outputs}), ...own} : own;
    },
    async difference(c, out) {
        const dir = `${c.dir}-other`;
        write(dir, c.model, onnx.model(c.model), out);
        const [v] = await verify([{...c, dir}], tolerance(c.model, c.edges, out));
        fs.rmSync(dir, {recursive: true});
        return v.verdict === 'passed' ? '' : v.why;
    },
    async agree(c) {
        return await this.difference(c, c.out) === '' || isExact({...c, bytes: onnx.model(c.model)});
    }
};

// Without the names and numbers of one case.
const kindOfRefusal = why =>
    why.replace(/^(node '[^']*' \([^)]*\): )+/, '').replace(/'[^']*'( \([^)]*\))?/g, 'X').replace(/\d+/g, 'N');

// The reason of known.js. Its proofs run models, which ONNX Runtime may refuse.
async function shown(c, why) {
    try {
        return await known(c, why, tools);
    } catch (e) {
        if (e.constructor !== Error)
            throw e;
        return undefined;
    }
}

// passed; exact: as the f64 model says, not as ONNX Runtime; known: a row of known.js; refused: sizes that vary are not supported
// there; failed.
async function judge({of, verdict, why}) {
    if (verdict === 'passed')
        return {of, verdict, why};
    if (of.edges.includes('symbols') && !/^output \d|^the process ended|expansions\.txt:/.test(why))
        return {of, verdict: 'refused', why: kindOfRefusal(why)};
    if (verdict === 'failed' && await isExact(of))
        return {of, verdict: 'exact', why};
    const reason = await shown(of, why);
    return reason ? {of, verdict: 'known', why: reason} : {of, verdict: 'failed', why};
}

class Counts {
    constructor() {
        this.of = {};
    }

    add(what, name) {
        const of = this.of[what] = this.of[what] || {};
        of[name] = (of[name] || 0) + 1;
    }

    print(title) {
        for (const [what, of] of Object.entries(this.of))
            console.log(`${title}${what}: ${Object.entries(of).map(([name, n]) => n > 1 ? `${name} x${n}` : name).join(' ')}`);
    }
}

class Tally {
    constructor(o) {
        Object.assign(this, {o, n: {passed: 0, exact: 0, known: 0, refused: 0, failed: 0}, perOp: {}, edges: {}});
        for (const what of ['skipped', 'exact', 'known', 'refused'])
            this[what] = new Counts();
    }

    add({of, verdict, why}) {
        const {name, seed, dir, edges} = of, {only, edge} = this.o;
        this.n[verdict]++;
        this.perOp[name] = (this.perOp[name] || 0) + 1;
        for (const e of edges)
            (this.edges[e] = this.edges[e] || new Counts()).add(verdict, name);
        if (verdict === 'exact' || verdict === 'known' || verdict === 'refused')
            this[verdict].add(verdict === 'exact' ? '' : why, name);
        if (verdict === 'failed')
            console.log(`failed ${name}${edges.length ? ` at ${edges.join(', ')}` : ''}, seed ${seed}: ${why}\n` +
                        `    again: tests/differential/run --cases 1 --seed ${seed}${only ? ` --only ${only}` : ''}${
                            edge ? ` --edge ${edge}` : ''} --keep; the case: ${dir}`);
        if (verdict !== 'failed' && !this.o.keep)
            fs.rmSync(dir, {recursive: true});
    }

    compared() {
        return Object.values(this.n).reduce((a, b) => a + b);
    }

    // What the whole list of generators has never compared, if there were cases enough.
    print(drawn, seconds) {
        const {o} = this, n = this.compared(), never = [...new Set(o.names)].filter(name => !this.perOp[name]);
        this.skipped.print('skipped, ');
        this.refused.print('tctune refuses sizes that vary, ');
        this.known.print('known: ');
        this.exact.print('ONNX Runtime differs, the model in f64 agrees');
        if (never.length && o.cases >= 5 * o.names.length)
            console.log(`never compared: ${never.join(' ')}`);
        const edges = Object.keys(EDGES).map(
            e =>
                `${e} ${Object.values(this.edges[e] ? this.edges[e].of : {}).flatMap(Object.values).reduce((a, b) => a + b, 0)}`);
        console.log(`cases at edges: ${edges.join(', ')}`);
        console.log(`seeds ${o.seed} to ${o.seed + drawn - 1}: ${n} compared: ${
            Object.entries(this.n).map(([what, k]) => `${k} ${what}`).join(', ')}; ${drawn - n} skipped by ONNX Runtime; ${
            seconds.toFixed(0)} s`);
    }
}

// Draws cases and starts a batch whenever one is full; at most PROCESSES run at a time. A batch has one tolerance and one list of
// symbols.
async function all(o, tally) {
    const batches = new Map(), running = new Set();
    let drawn = 0, wanted = 0;
    const start = async batch => {
        const cases = batch.cases.splice(0);
        if (running.size >= PROCESSES)
            await Promise.race(running);
        const job = verify(cases, batch.tolerance).then(async list => {
            for (const v of list)
                tally.add(await judge(v));
            running.delete(job);
        });
        running.add(job);
    };
    for (; wanted < o.cases && drawn < ATTEMPTS * o.cases; drawn++) {
        const seed = o.seed + drawn, {name, model, edges} = generate(seed, o.names, o.edge);
        if (o.edge && o.edge !== 'none' && !edges.length)
            continue;
        const bytes = onnx.model(model);
        let out;
        try {
            out = await oracle.run(model, bytes);
        } catch (e) {
            tally.skipped.add(reason(e), name);
            continue;
        }
        const dir = path.join(o.work, `${seed}-${name}`), own = tolerance(model, edges, out), shapes = model.shapes || [],
              key = JSON.stringify([own, shapes]);
        write(dir, model, bytes, out);
        wanted++;
        const batch = batches.get(key) || {tolerance: own, cases: []};
        batches.set(key, batch);
        if (batch.cases.push({name, seed, dir, model, bytes, out, edges}) === BATCH || shapes.length)
            await start(batch);
    }
    for (const batch of batches.values())
        if (batch.cases.length)
            await start(batch);
    await Promise.all(running);
    oracle.close();
    return drawn;
}

async function main() {
    const o = options();
    if (!o) {
        process.stdout.write(USAGE);
        return 0;
    }
    if (!process.env.TCTUNE)
        throw new Error('the environment must name the command: TCTUNE=PATH (tests/differential/run builds it and sets that)');
    const tally = new Tally(o), started = performance.now();
    fs.mkdirSync(o.work, {recursive: true});
    console.log(`differential test: seed ${o.seed}, ${o.cases} cases, ${o.names.length} generators; ONNX Runtime ${version()}`);
    const drawn = await all(o, tally);
    tally.print(drawn, (performance.now() - started) / 1000);
    const compared = Object.values(tally.n).reduce((a, b) => a + b, 0);
    if (compared < o.cases)
        console.log(`failed: ${drawn} cases were drawn, and only ${compared} of the ${o.cases} that are wanted could be compared`);
    return tally.n.failed || compared < o.cases ? 1 : 0;
}

main().then(code => process.exit(code), e => {
    process.stderr.write(`differential: ${e.message}\n    tests/differential/run --help lists the options\n`);
    process.exit(2);
});
