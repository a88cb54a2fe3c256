// Times a model under ONNX Runtime's CPU provider.
//
//   node ort_bench.js MODEL.onnx [--threads N] [--repeats N] [--seed S] [--vocab N] [--shape NAME=1,128]... [--serve]
//
// Without --serve: a warm-up, N timed runs, one JSON line {median_ms, min_ms, max_ms, n, ...}. With --serve it stays alive and
// obeys lines on its standard input, so that its runs can alternate with another program's: "run K" times K runs (after an untimed
// one) and prints {times_ms: [...]}, "run K GAP MS" pauses for GAP microseconds before each and begins none after MS milliseconds;
// "save DIR" writes the inputs and outputs as DIR/input_N.pb and DIR/output_N.pb; "quit" ends it.
'use strict';

const fs = require('fs');
const path = require('path');
const readline = require('readline');
const {parseArgs} = require('util');
const inputs = require('./inputs.js');
const pb = require('./tensor_pb.js');

function options() {
    const {values, positionals} = parseArgs({
        allowPositionals: true,
        options: {
            threads: {type: 'string', default: '1'}, repeats: {type: 'string', default: '30'}, seed: {type: 'string', default: '0'},
            vocab: {type: 'string'}, shape: {type: 'string', multiple: true, default: []}, serve: {type: 'boolean', default: false},
        },
    });
    if (positionals.length !== 1)
        throw new Error(
            'usage: node ort_bench.js MODEL.onnx [--threads N] [--repeats N] [--seed S] [--shape NAME=1,128]... [--serve]');
    const shapes = Object.fromEntries(values.shape.map(s => [s.slice(0, s.lastIndexOf('=')),
                                                              s.slice(s.lastIndexOf('=') + 1).split(',').map(Number)]));
    return {model: positionals[0], threads: Number(values.threads), repeats: Number(values.repeats), seed: Number(values.seed),
            vocab: Number(values.vocab || 0), shapes, serve: values.serve};
}

async function open(o) {
    const ort = require('onnxruntime-node');
    const started = performance.now();
    const session = await ort.InferenceSession.create(o.model, {
        executionProviders: ['cpu'], intraOpNumThreads: o.threads, interOpNumThreads: 1, executionMode: 'sequential',
        graphOptimizationLevel: 'all',
    });
    const feeds = inputs.make(session, ort.Tensor, o);
    return {session, feeds, load_ms: performance.now() - started, version: ort.env.versions.node};
}

const nobody = new Int32Array(new SharedArrayBuffer(4));

// Sleeps, more exactly than a timer of the event loop.
const sleep = us => us > 0 && Atomics.wait(nobody, 0, 0, us / 1000);

// The runtime's outputs are dropped between runs, as ours are overwritten.
async function times(s, k, gap = 0, limit_ms = Infinity) {
    await s.session.run(s.feeds);
    const list = [], until = performance.now() + limit_ms;
    while (list.length === 0 || (list.length < k && performance.now() < until)) {
        sleep(gap);
        const started = performance.now();
        await s.session.run(s.feeds);
        list.push(performance.now() - started);
    }
    return list;
}

async function save(s, dir) {
    const out = await s.session.run(s.feeds);
    fs.mkdirSync(dir, {recursive: true});
    s.session.inputNames.forEach((n, i) => fs.writeFileSync(path.join(dir, `input_${i}.pb`), pb.encode(n, s.feeds[n])));
    s.session.outputNames.forEach((n, i) => fs.writeFileSync(path.join(dir, `output_${i}.pb`), pb.encode(n, out[n])));
    return {saved: dir, inputs: s.session.inputNames.length, outputs: s.session.outputNames.length};
}

const say = object => process.stdout.write(JSON.stringify(object) + '\n');

async function serve(o, s) {
    say({ready: true, peer: 'ONNX Runtime', version: s.version, threads: o.threads, load_ms: s.load_ms});
    for await (const line of readline.createInterface({input: process.stdin})) {
        const [command, argument] = line.trim().split(/\s+(.*)/);
        if (command === 'quit')
            return;
        if (command === 'run')
            say({times_ms: await times(s, ...argument.split(' ').map(Number))});
        else if (command === 'save')
            say(await save(s, argument));
        else
            say({error: `no command '${command}': run K [GAP MS], save DIR, quit`});
    }
}

async function main() {
    const o = options(), s = await open(o);
    if (o.serve)
        return serve(o, s);
    const list = (await times(s, o.repeats)).sort((a, b) => a - b);
    const middle = (list[(list.length - 1) >> 1] + list[list.length >> 1]) / 2;
    say({peer: 'ONNX Runtime', version: s.version, threads: o.threads, load_ms: s.load_ms, median_ms: middle, min_ms: list[0],
         max_ms: list[list.length - 1], n: list.length});
}

main().then(() => process.exit(0), e => {
    process.stderr.write(`ort_bench: ${e.message}\n`);
    process.exit(1);
});
