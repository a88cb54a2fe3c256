// What takes turns on a busy machine: libraries that stay loaded, ONNX Runtime, and the loops that keep cores busy.
'use strict';

const child_process = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');
const b = require('../common.js');
const pb = require('../ort/tensor_pb.js');

const BYTES = {f32: 4, f64: 8, f16: 2, bf16: 2, i8: 1, u8: 1, bool: 1, i16: 2, u16: 2, i32: 4, u32: 4, i64: 8, u64: 8};

// The program NAME.c of this folder, compiled where it is missing or old.
function compiled(name) {
    const out = path.join(b.results, name);
    const sources = [`${name}.c`, 'library.c', 'library.h'].map(f => path.join(__dirname, f));
    const age = file => fs.existsSync(file) ? fs.statSync(file).mtimeMs : 0;
    fs.mkdirSync(b.results, {recursive: true});
    if (age(out) <= Math.max(...sources.map(age))) {
        const made = `${out}.${process.pid}`;
        child_process.execFileSync(
            'cc', ['-std=c17', '-O2', '-pthread', '-o', made, sources[0], sources[1], '-ldl'],
            {stdio: ['ignore', 'inherit', 'inherit']});
        fs.renameSync(made, out);
    }
    return out;
}

// A peer that the command `under` starts: ['nice', '-n', '10'], say.
async function start(name, under, command, args, env = {}) {
    const [first, ...rest] = [...under, command, ...args], peer = new b.Peer(name, first, rest, env);
    await peer.ready();
    return peer;
}

// All inputs of a library in one file, from a folder of input_N.pb.
function joinInputs(dir, n) {
    const file = path.join(dir, 'inputs.bin');
    fs.writeFileSync(
        file, Buffer.concat(Array.from({length: n}, (_, i) => pb.elements(fs.readFileSync(path.join(dir, `input_${i}.pb`))))));
    return file;
}

function arrayBytes(x) {
    if (!BYTES[x.dtype])
        b.fail(`'${x.name}' has type ${x.dtype}, which is not known here`);
    return x.shape.reduce((n, d) => n * d, BYTES[x.dtype]);
}

// A library as a peer: `library` is {name, file, env}, dir the folder of its inputs.
function startLibrary(library, threads, dir, under = []) {
    const about = b.runJson(['show', '--model', library.file]);
    const list = arrays => arrays.map(arrayBytes).join(',');
    return start(
        library.name, under, compiled('latency'),
        [
            'serve', library.file, String(threads), joinInputs(dir, about.inputs.length), list(about.inputs), list(about.outputs)
        ],
        library.env);
}

function startOrt(model, shapes, threads, under = []) {
    return start(
        'ONNX Runtime', under, process.execPath,
        [path.join(__dirname, '../ort/ort_bench.js'), model, '--threads', String(threads), ...shapes, '--serve']);
}

// Puts ONNX Runtime's inputs and outputs into a folder. Each library must compute the same.
async function saveInputs(ort, dir, files) {
    fs.rmSync(dir, {recursive: true, force: true});
    await ort.ask(`save ${dir}`);
    for (const f of files)
        b.run(['run', '--model', f, '--inputs', dir, '--check', dir, '--rtol', '1e-2', '--atol', '1e-3']);
}

// Processes that spin, at this program's own nice value. They end when it does, however it ends.
class Loops {
    constructor(n) {
        const spin = () => child_process.spawn(compiled('latency'), ['spin', String(process.pid)], {stdio: 'ignore'});
        this.processes = Array.from({length: n}, spin);
    }

    // Each has run for a moment.
    static async start(n = os.availableParallelism()) {
        const loops = new Loops(n);
        await b.pause();
        return loops;
    }

    async stop() {
        await Promise.all(this.processes.map(p => new Promise(done => {
            p.on('exit', done);
            p.kill('SIGKILL');
        })));
    }
}

module.exports = {Loops, compiled, saveInputs, startLibrary, startOrt};
