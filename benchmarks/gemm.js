// Tunes C[M,N] = A[M,K] * W[K,N] with constant W, then lets oneDNN, OpenBLAS and our best kernel take turns. benchmarks/gemm.sh
// calls it.
'use strict';

const fs = require('fs');
const path = require('path');
const {parseArgs} = require('util');
const b = require('./common.js');

const peersProgram = path.resolve(process.env.PEERS || path.join(b.root, 'build/release/bin/gemm_peers'));

const usage = `usage: benchmarks/gemm.sh [options]

  --m M --n N --k K   the shape (1024 each)
  --type T            f32, bf16: sums of f32, or u8s8: products of bytes, sums of 32 bits (f32)
  --threads N         threads of all (2)
  --trials N          tuning trials; 0 uses the database as it is (200)
  --db FILE           tuning database (build/benchmarks/gemm.db)
  --seed S            of the search (0)
  --rounds N          turns that each program gets (9)
  --repeats N         timed runs in a turn (30)
  --best              of a turn the fastest run counts, not the median: for a busy machine
  --table FILE        Markdown table that gets the row (build/benchmarks/gemm.md)
  --record            puts the figures into benchmarks/results and RESULTS.md`;

// Types of A, W and the sums.
const kinds = {f32: ['f32', 'f32', 'f32'], bf16: ['bf16', 'bf16', 'f32'], u8s8: ['u8', 'i8', 'i32']};

function options() {
    const text = d => ({type: 'string', default: d});
    const {values: o} = parseArgs({
        options: {
            m: text('1024'), n: text('1024'), k: text('1024'), threads: text('2'), trials: text('200'), seed: text('0'),
            db: text(path.join(b.results, 'gemm.db')), rounds: text('9'), repeats: text('30'), table: {type: 'string'},
            type: text('f32'), best: {type: 'boolean', default: false},
            record: {type: 'boolean', default: false}, help: {type: 'boolean', default: false},
        },
    });
    if (o.help) {
        console.log(usage);
        process.exit(0);
    }
    b.positive(o, 'm', 'n', 'k', 'threads', 'rounds', 'repeats');
    o.trials = Number(o.trials);
    if (!kinds[o.type])
        throw new Error(`--type is f32, bf16 or u8s8, not '${o.type}'`);
    return o;
}

function writeKernel(o) {
    const [a, w, sum] = kinds[o.type], file = path.join(b.results, `gemm_${o.type}_${o.m}_${o.n}_${o.k}.te`);
    const factor = (type, read) => type === sum ? read : `${sum}(${read})`;
    fs.mkdirSync(b.results, {recursive: true});
    fs.writeFileSync(file, [
        `tensor A[${o.m}, ${o.k}] ${a}`, `tensor W[${o.k}, ${o.n}] ${w} const`,
        `compute C[i:${o.m}, j:${o.n}] = sum(k:${o.k}) ${factor(a, 'A[i, k]')} * ${factor(w, 'W[k, j]')}`, 'output C', '',
    ].join('\n'));
    return file;
}

function startPeers(o) {
    const args = n => [n, o.m, o.n, o.k, o.threads, o.type].map(String);
    return Promise.all(b.programs(peersProgram, [o.type]).map(n => b.Peer.start(n, peersProgram, args(n))));
}

function report(o, tuning, ours, turns, load) {
    const ms = name => o.best ? Math.min(...turns[name]) : b.median(turns[name]),
          peak = o.best ? Math.max(...ours.peaks) : ours.peak;
    const flops = 2 * o.m * o.n * o.k, rate = name => turns[name] ? flops / ms(name) / 1e6 : NaN;
    const speed = name => turns[name] ? b.median(turns.ours.map((x, i) => turns[name][i] / x)) : NaN;
    const versus = name => b.show(speed(name)), share = name => b.percent(rate(name) / peak);
    b.record(
        'gemm', {
            'M,N,K': `${o.m},${o.n},${o.k}`,
            type: o.type,
            threads: o.threads,
            trials: tuning ? tuning.trials : '-',
            'ours ms': b.show(ms('ours'), 3),
            '±': b.percent(b.spread(turns.ours)),
            'GFLOP/s': b.show(rate('ours'), 1),
            'peak GFLOP/s': b.show(peak, 1),
            'of peak': share('ours'),
            'oneDNN of peak': share('onednn'),
            'OpenBLAS of peak': share('openblas'),
            'speed over oneDNN': versus('onednn'),
            'speed over OpenBLAS': versus('openblas'),
            'trials/s': tuning && tuning.measured ? b.show(tuning.trials_per_second) : '-',
            'load at start': b.show(load),
            date: new Date().toISOString().slice(0, 10),
            machine: b.machine(),
        },
        {turns, tuning, schedule: ours.reports[0].schedule}, o.table);
    if (o.record)
        b.publish('gemm', [{
                      type: o.type.replace('u8s8', 'u8 x s8'),
                      shape: `${o.m} x ${o.n} x ${o.k}`,
                      threads: o.threads,
                      trials: o.trials,
                      ours_ms: ms('ours'),
                      of_peak: rate('ours') / peak,
                      onednn_peak: rate('onednn') / peak,
                      onednn: speed('onednn'),
                      openblas: speed('openblas'),
                  }]);
}

b.main(async () => {
    const o = options(), load = b.load(), kernel = writeKernel(o); // peers are timed hot, and so are we
    const common = ['--te', kernel, '--threads', String(o.threads), '--db', o.db, '--mode', 'hot'];
    const tuning = o.trials ? b.runJson(['tune', ...common, '--trials', String(o.trials), '--seed', o.seed]) : null;
    const ours = new b.Ours('ours', common), peers = await startPeers(o);
    const turns = await b.alternate([ours, ...peers], o.rounds, o.repeats, o.best);
    peers.forEach(p => p.stop());
    report(o, tuning, ours, turns, load);
});
