// Tunes networks one after the other, and compares each kernel with its default schedule. benchmarks/gain.sh calls it.
'use strict';

const fs = require('fs');
const path = require('path');
const {parseArgs} = require('util');
const b = require('./common.js');
const topology = require('./topology.js');

const usage = `usage: benchmarks/gain.sh [options] [NETWORK...]

Each network is tuned in a database of its own. Then 'bench --against' takes the network in turns with that of the
default schedules, whole and kernel by kernel: what the search itself said is not used. Ends with status 1 if a kernel
or a network is slower beyond doubt.

  --trials N      trials of each search (300)
  --threads N     threads of each network (2)
  --record        keep the figures in benchmarks/results/gain.json
  --table FILE    Markdown table that gets the rows (build/benchmarks/gain.md)`;

function options() {
    const text = d => ({type: 'string', default: d});
    const {values: o, positionals} = parseArgs({
        allowPositionals: true,
        options: {
            trials: text('300'),
            threads: text('2'),
            record: {type: 'boolean', default: false},
            table: {type: 'string'},
            help: {type: 'boolean', default: false},
        },
    });
    if (o.help) {
        console.log(usage);
        process.exit(0);
    }
    b.positive(o, 'trials', 'threads');
    o.networks = positionals.length ? positionals : topology.all();
    return o;
}

function measure(o, network) {
    const dir = path.join(b.results, 'gain', path.basename(network, '.onnx')), db = path.join(dir, 'tctune.db');
    const model = ['--model', topology.file(network), ...topology.shapes(network), '--threads', String(o.threads)];
    fs.rmSync(dir, {recursive: true, force: true});
    fs.mkdirSync(dir, {recursive: true});
    const began = performance.now();
    const tuned = b.runJson(['tune', ...model, '--trials', String(o.trials), '--db', db], {cwd: dir});
    const seconds = (performance.now() - began) / 1000;
    return {seconds, gain: tuned.gain, verdict: b.besideUntuned(dir, model, db)};
}

function report(o, network, x) {
    const g = b.gainOf(x.verdict), load = b.load();
    const row = {
        network: path.basename(network, '.onnx'),
        trials: o.trials,
        threads: o.threads,
        seconds: x.seconds,
        untuned_ms: g.untuned_ms,
        tuned_ms: g.tuned_ms,
        ratio: g.ratio,
        high: g.high,
        kernels: g.kernels,
        replaced: g.replaced,
        slower: g.slower.length,
        date: new Date().toISOString().slice(0, 10),
    };
    b.record(
        'gain', {
            network: row.network,
            trials: o.trials,
            'untuned ms': b.show(row.untuned_ms, 3),
            'tuned ms': b.show(row.tuned_ms, 3),
            'tuned / untuned': `${b.show(row.ratio, 3)} (${b.show(g.low, 3)} to ${b.show(row.high, 3)})`,
            'by its own word': b.show(x.gain.speedup ? 1 / x.gain.speedup : 1, 3),
            kernels: row.kernels,
            replaced: row.replaced,
            slower: g.slower.map(k => `${k.name} ${b.show(k.ratio, 3)}`).join('; ') || '0',
            load: b.show(load),
            date: row.date,
        },
        x, o.table);
    return {row, good: !g.slower.length && !g.isSlower};
}

b.main(async () => {
    const o = options();
    let bad = 0;
    for (const network of o.networks) {
        const {row, good} = report(o, network, measure(o, network));
        bad += !good;
        if (o.record)
            b.publish('gain', [row]);
    }
    if (bad)
        b.fail(`${bad} of ${o.networks.length} networks have a kernel that is slower, or are slower`);
});
