// ONNX Runtime on one operator, as a program that takes turns:
//
//   node ort_server.js MODEL.onnx INPUTS.json THREADS OUTPUT.f32
//
// INPUTS.json lists {name, dims, file}, and last of all the output {name, dims}. Outputs are written into the same memory in every
// run. It obeys lines on its standard input: "run K" takes K samples and prints {times_ms: [...], call_ms}, where call_ms is what a
// call of a model that does nothing takes in the same minute; "save" writes the output; "quit" ends it.
'use strict';

const fs = require('fs');
const path = require('path');
const readline = require('readline');
const ort = require(path.join(__dirname, '../ort/node_modules/onnxruntime-node'));
const onnx = require('./onnx.js');

// As in peers/op_peers.c.
const MIN_SAMPLE_MS = 2, TURN_BUDGET_MS = 400;

const product = list => list.reduce((a, b) => a * b, 1);
const say = object => process.stdout.write(JSON.stringify(object) + '\n');

function read({dims, file}) {
    const b = fs.readFileSync(file), data = new Float32Array(product(dims));
    Buffer.from(data.buffer).set(b);
    return new ort.Tensor('float32', data, dims);
}

function options(threads) {
    return {executionProviders: ['cpu'], intraOpNumThreads: threads, interOpNumThreads: 1, executionMode: 'sequential',
            graphOptimizationLevel: 'all'};
}

async function open(model, inputs, output, threads) {
    const session = await ort.InferenceSession.create(model, options(threads));
    const result = new ort.Tensor('float32', new Float32Array(product(output.dims)), output.dims);
    return {session, result, feeds: Object.fromEntries(inputs.map(i => [i.name, read(i)])), fetches: {[output.name]: result}};
}

// A model of one element, to know what a call costs by itself.
async function openNothing(threads) {
    const dims = [1], bytes = onnx.encode({name: 'nothing', nodes: [['Relu', ['x'], ['y']]], inputs: [{name: 'x', dims}],
                                           outputs: [{name: 'y', dims}], constants: []});
    const session = await ort.InferenceSession.create(bytes, options(threads));
    const tensor = () => new ort.Tensor('float32', new Float32Array(1), dims);
    return {session, feeds: {x: tensor()}, fetches: {y: tensor()}};
}

async function sample(s, expected) {
    const calls = Math.min(100000, Math.max(1, Math.ceil(MIN_SAMPLE_MS / Math.max(expected, 1e-6)))), started = performance.now();
    for (let i = 0; i < calls; i++)
        await s.session.run(s.feeds, s.fetches);
    return (performance.now() - started) / calls;
}

async function times(s, samples) {
    const end = performance.now() + TURN_BUDGET_MS, list = [];
    let ms = await sample(s, MIN_SAMPLE_MS);
    for (let i = 0; i < samples && (i < 3 || performance.now() < end); i++)
        list.push(ms = await sample(s, ms));
    return list;
}

async function main() {
    const [model, inputs, threads, file] = process.argv.slice(2), list = JSON.parse(fs.readFileSync(inputs)), output = list.pop();
    const s = await open(model, list, output, Number(threads)), nothing = await openNothing(Number(threads));
    say({ready: true, peer: 'ONNX Runtime', version: ort.env.versions.node});
    for await (const line of readline.createInterface({input: process.stdin})) {
        const [command, argument] = line.trim().split(' ');
        if (command === 'quit')
            return;
        if (command === 'run') {
            const call = await times(nothing, 3);
            say({times_ms: await times(s, Number(argument)), call_ms: Math.min(...call)});
        } else if (command === 'save') {
            await s.session.run(s.feeds, s.fetches);
            fs.writeFileSync(file, Buffer.from(s.result.data.buffer));
            say({saved: true});
        } else {
            say({error: `no command '${command}': run K, save, quit`});
        }
    }
}

main().then(() => process.exit(0), e => {
    say({error: e.message});
    process.exit(1);
});
