// What measures latency on a busy machine: its figures, the program that keeps a library loaded, the loops, which end when their
// parent does, and the loops of each runtime, which run each item once. TCTUNE: the command.
'use strict';

const assert = require('assert');
const child_process = require('child_process');
const fs = require('fs');
const path = require('path');

const root = path.resolve(__dirname, '../..'), busy = path.join(root, 'benchmarks/busy');
const b = require(path.join(root, 'benchmarks/common.js'));
const pb = require(path.join(root, 'benchmarks/ort/tensor_pb.js'));

const work = fs.mkdtempSync(path.join(process.env.TMPDIR || '/tmp', 'busy-'));
const at = name => path.join(work, name);
const run = (...args) => child_process.execFileSync(process.env.TCTUNE, args, {cwd: work, stdio: ['ignore', 'pipe', 'inherit']});

const INPUTS = 784, OUTPUTS = 10, FLOAT = 4;

function compile(name, ...flags) {
    child_process.execFileSync('cc', [
        '-std=c17', '-O1', '-Wall', '-Wextra', '-Werror', '-pthread', ...flags, '-I', path.join(root, 'include'), '-o', at(name),
        path.join(busy, `${name}.c`), path.join(busy, 'library.c'), '-ldl'
    ]);
}

// Of 9 values the second and the eighth bound the median with 96 %, of 5 no two do with 95.
function intervals() {
    assert.deepStrictEqual(b.interval([9, 1, 8, 2, 7, 3, 6, 4, 5]), [2, 8]);
    assert.deepStrictEqual(b.interval([5, 1, 4, 2, 3]), [1, 5]);
    assert.deepStrictEqual(b.interval([7]), [7, 7]);
}

// Dimensions and bytes of more than 127 take several bytes each.
function tensors() {
    const data = Float32Array.from({length: 300}, (_, i) => i), file = pb.encode('x', {type: 'float32', dims: [1, 300], data});
    assert.deepStrictEqual(Buffer.from(pb.elements(file)), Buffer.from(data.buffer));
    assert.throws(() => pb.elements(pb.number(1, 5)), /without raw data/);
}

function library() {
    run('zoo', 'mlp', '--out', at('mlp.onnx'));
    run('build', '--model', at('mlp.onnx'), '--untuned', '--threads', '2', '--out', at('mlp.so'));
    fs.writeFileSync(at('inputs.bin'), Buffer.alloc(INPUTS * FLOAT));
}

const server = (...args) => new b.Peer('mlp', at('latency'), ['serve', at('mlp.so'), ...args].map(String));

async function turns() {
    const peer = server(2, at('inputs.bin'), INPUTS * FLOAT, OUTPUTS * FLOAT);
    await peer.ready();
    const times = (await peer.ask('run 7 10 60000')).times_ms;
    assert.strictEqual(times.length, 7);
    assert(times.every(x => x > 0));
    assert.strictEqual((await peer.ask('run 1000 2000 1')).times_ms.length, 1, 'the limit of a turn is 1 ms, a pause 2');
    assert((await peer.ask('count 20 2')).runs >= 2);
    await assert.rejects(peer.ask('walk 3'), /wanted: run K GAP MS/);
    peer.stop();
    await new Promise(done => peer.process.on('exit', status => done(assert.strictEqual(status, 0))));
}

function refuses(message, ...args) {
    const r = child_process.spawnSync(args[0], args.slice(1), {encoding: 'utf8', input: ''});
    assert.notStrictEqual(r.status, 0, message);
    assert.match(r.stderr, message);
}

function badArguments() {
    const serve = [at('latency'), 'serve'], sizes = [String(INPUTS * FLOAT), String(OUTPUTS * FLOAT)];
    refuses(/usage/, at('latency'));
    refuses(/nosuch\.so/, ...serve, at('nosuch.so'), '1', at('inputs.bin'), ...sizes);
    refuses(/built for 2 threads, not 3/, ...serve, at('mlp.so'), '3', at('inputs.bin'), ...sizes);
    refuses(/no list of at most/, ...serve, at('mlp.so'), '1', at('inputs.bin'), '12,,4', sizes[1]);
    refuses(/inputs\.bin is too short/, ...serve, at('mlp.so'), '1', at('inputs.bin'), '4000', sizes[1]);
    refuses(/usage/, at('forkjoin'), '1', '1', '0', 'openmp');
    refuses(/no symbol that ends in nosuch/, at('forkjoin'), '2', '1', '0', `${at('mlp.so')}:nosuch`);
}

const alive = pid => fs.existsSync(`/proc/${pid}`) && !/\) Z /.test(fs.readFileSync(`/proc/${pid}/stat`, 'utf8'));

// A parent that is killed takes the loop with it.
async function loops() {
    const parent = child_process.spawn('sh', ['-c', '"$0" spin $$ & echo $!; wait', at('latency')]);
    const pid = await new Promise(done => parent.stdout.once('data', line => done(Number(line))));
    assert(alive(pid));
    parent.kill('SIGKILL');
    while (alive(pid))
        await b.pause();
}

// The program itself fails where a loop does not run each item once.
function forkJoin() {
    const text = child_process.execFileSync(at('forkjoin'), ['2', '1', '1', 'flags', 'openmp', at('mlp.so')], {encoding: 'utf8'});
    for (const gap of [0, 1, 10, 30, 100, 1000])
        for (const runtime of ['flags', 'openmp', 'mlp.so'])
            assert.match(text, new RegExp(`^ +${gap} .*${runtime}$`, 'm'));
}

b.main(async () => {
    process.on('exit', () => fs.rmSync(work, {recursive: true, force: true}));
    intervals();
    tensors();
    compile('latency');
    compile('forkjoin', '-fopenmp');
    library();
    await turns();
    badArguments();
    await loops();
    forkJoin();
    console.log('busy: figures, turns, bad arguments, loops, and fork and join');
});
