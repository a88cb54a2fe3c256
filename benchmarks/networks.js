// Runs benchmarks/model.js on several networks and sums up: the geometric mean of the ratios. benchmarks/networks.sh calls it.
'use strict';

const child_process = require('child_process');
const fs = require('fs');
const path = require('path');
const {parseArgs} = require('util');
const b = require('./common.js');
const topology = require('./topology.js');

const usage = `usage: benchmarks/networks.sh [options] [NETWORK...]

Networks are model files, or names of topologies in ../shared/models (when none is given, all whose sizes are
fixed), whose weights are drawn once. benchmarks/sizes.sh takes those whose sizes vary.

  --threads LIST  thread counts, each a row (2,1)
  --trials N      tuning trials of each network and thread count; what the databases hold already counts (1000)
  --seed S        of the search and of the inputs (0)
  --rounds N      turns that each program gets (9)
  --repeats N     timed runs in a turn (20)
  --resume        keeps the rows of the last session with these thread counts
  --table FILE    Markdown table (build/benchmarks/networks.md)
  --record        puts the figures into benchmarks/results and RESULTS.md`;

function options() {
    const text = d => ({type: 'string', default: d}), flag = {type: 'boolean', default: false};
    const {values: o, positionals} = parseArgs({
        allowPositionals: true,
        options: {
            threads: text('2,1'),
            trials: text('1000'),
            seed: text('0'),
            rounds: text('9'),
            repeats: text('20'),
            resume: flag,
            record: flag,
            help: flag,
            table: text(path.join(b.results, 'networks.md')),
        },
    });
    if (o.help) {
        console.log(usage);
        process.exit(0);
    }
    o.threads = o.threads.split(',').map(Number);
    o.networks = positionals.length ? positionals : topology.all();
    return o;
}

const rawFile = o => o.table.replace(/\.md$/, '') + '.jsonl';

const readRows = o =>
    fs.existsSync(rawFile(o)) ? fs.readFileSync(rawFile(o), 'utf8').split('\n').filter(Boolean).map(l => JSON.parse(l)) : [];

function measure(o, network, threads) {
    const args = [
        path.join(__dirname, 'model.js'), topology.file(network), ...topology.shapes(network), '--threads', threads,
        '--trials', o.trials, '--seed', o.seed, '--rounds', o.rounds, '--repeats', o.repeats, '--table', o.table,
        ...(o.record ? ['--record'] : [])
    ].map(String);
    const r = child_process.spawnSync(process.execPath, args, {stdio: 'inherit'});
    return r.status === 0;
}

const mean = list => Math.exp(list.reduce((sum, x) => sum + Math.log(x), 0) / list.length);

function summary(rows, threads) {
    const own = rows.filter(r => Number(r.threads) === threads), ratios = own.map(r => Number(r['ours / ORT']));
    if (!own.length)
        return `${threads} threads: nothing was measured`;
    const worst = own[ratios.indexOf(Math.max(...ratios))];
    return `${threads} threads: geometric mean ${b.show(mean(ratios), 3)} of ONNX Runtime's time over ${own.length} networks; ` +
        `highest ${worst['ours / ORT']} (${worst.model})`;
}

b.main(async () => {
    const o = options(), failed = [];
    if (!o.resume)
        [o.table, rawFile(o)].forEach(f => fs.rmSync(f, {force: true}));
    const done = new Set(readRows(o).map(r => `${r.model} ${r.threads}`));
    for (const network of o.networks)
        for (const t of o.threads)
            if (!done.has(`${path.basename(network, '.onnx')} ${t}`) && !measure(o, network, t))
                failed.push(`${network} on ${t} threads`);
    const rows = readRows(o);
    console.log(`\n${fs.readFileSync(o.table, 'utf8')}\n${o.threads.map(t => summary(rows, t)).join('\n')}`);
    if (failed.length)
        b.fail(`failed: ${failed.join(', ')}`);
});
