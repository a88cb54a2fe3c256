// Tunes networks at once, and times what came of it when all is quiet. benchmarks/crowd.sh calls it.
'use strict';

const child_process = require('child_process');
const fs = require('fs');
const path = require('path');
const {parseArgs} = require('util');
const b = require('./common.js');
const topology = require('./topology.js');

const usage = `usage: benchmarks/crowd.sh [options] [NETWORK...]

Sessions of tune run at once. Session I tunes network I; after the last network it begins again with the first. When
all have ended, each database is verified, its records are held against the machine's peak, and 'bench --against' takes the
network in turns with its default schedules. Ends with status 1 if a session failed, a record is above the peak, or a
network or a kernel is slower than untuned beyond doubt.

  --sessions N    sessions at once (8)
  --seconds S     time of each search (300)
  --threads N     threads of each network (2)
  --record        keep the figures in benchmarks/results/crowd.json
  --table FILE    Markdown table that gets the rows (build/benchmarks/crowd.md)`;

const NETWORKS = ['mobilenet_v3_small', 'lstm_tagger', 'squeezenet1_1', 'bert_tiny', 'shufflenet_v2', 'decoder_q4'];

// How far a record may be above the peak that is measured afterwards: what the peak itself varies by.
const UNCERTAIN = 1.1;

function options() {
    const text = d => ({type: 'string', default: d});
    const {values: o, positionals} = parseArgs({
        allowPositionals: true,
        options: {
            sessions: text('8'),
            seconds: text('300'),
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
    b.positive(o, 'sessions', 'seconds', 'threads');
    o.work = path.join(b.results, 'crowd');
    o.networks = positionals.length ? positionals : NETWORKS;
    return o;
}

// ---- the sessions ----

// Those that run. They end with this program.
const running = new Set();

function endAll(signal) {
    running.forEach(p => p.kill(signal));
}

function watchSignals() {
    for (const [signal, number] of [['SIGINT', 2], ['SIGTERM', 15], ['SIGHUP', 1]])
        process.on(signal, () => {
            endAll('SIGTERM');
            process.exit(128 + number);
        });
    process.on('exit', () => endAll('SIGKILL'));
}

function session(o, i) {
    const network = o.networks[i % o.networks.length], dir = path.join(o.work, String(i + 1));
    fs.mkdirSync(dir, {recursive: true});
    const model = topology.file(network), shapes = topology.shapes(network);
    const name = path.basename(network).replace(/\.onnx$/, '');
    return {number: i + 1, network: name, dir, model, shapes, db: path.join(dir, 'tctune.db')};
}

// Runs the search; s.seconds, s.failed and s.tasks tell how it went.
function search(o, s) {
    const files = ['result.json', 'progress.txt'].map(f => fs.openSync(path.join(s.dir, f), 'w')), began = performance.now();
    const p = child_process.spawn(
        b.tctune,
        [
            'tune', '--model', s.model, ...s.shapes, '--minutes', String(o.seconds / 60), '--threads', String(o.threads),
            '--db', s.db, '--json'
        ],
        {cwd: s.dir, stdio: ['ignore', ...files]});
    running.add(p);
    return new Promise(done => {
        const end = how => {
            running.delete(p);
            s.seconds = (performance.now() - began) / 1000;
            s.failed = how === 0 ? null : `tune ended with ${how}; see ${path.join(s.dir, 'progress.txt')}`;
            done();
        };
        p.on('error', e => end(e.message));
        p.on('exit', (status, signal) => end(signal || status));
    });
}

// ---- the records ----

// Of all forms of the kernels: operations and the unit that does them. Forms with fewer products than the kernel are left out.
function workloads(s) {
    const known = new Map();
    for (const t of JSON.parse(fs.readFileSync(path.join(s.dir, 'result.json'), 'utf8')).tasks)
        for (const f of [{hash: t.hash, form: t.form}, ...t.forms])
            if (!/winograd/.test(f.form))
                known.set(f.hash, {name: t.name, flops: t.flops, unit: t.unit});
    return known;
}

function readRecords(s) {
    const file = path.join(s.dir, 'records.jsonl');
    b.run(['db', 'export', '--db', s.db, '--out', file]);
    return fs.readFileSync(file, 'utf8').split('\n').filter(Boolean).map(l => JSON.parse(l)).filter(r => r.error === 'ok');
}

// What db verify finds, and the records whose time would need more than the peak of this moment, when nothing else runs.
function judgeRecords(o, s) {
    const verify = child_process.spawnSync(b.tctune, ['db', 'verify', '--db', s.db], {encoding: 'utf8'});
    s.verified = verify.status === 0 ? '' : verify.stderr.trim() || verify.stdout.trim();
    const bench = b.runJson(
        ['bench', '--model', s.model, ...s.shapes, '--db', s.db, '--threads', String(o.threads), '--repeats', '5'], {cwd: s.dir});
    const known = workloads(s), records = readRecords(s);
    const units = Math.max(bench.peak_gflops, ...Object.values(bench.unit_peaks || {}));
    const above = r => {
        const w = known.get(r.workload_hash);
        return w && w.flops / r.median / 1e9 > UNCERTAIN * (w.unit ? units : bench.peak_gflops);
    };
    Object.assign(s, {records: records.length, peak: bench.peak_gflops, above: records.filter(above)});
}

// ---- the networks ----

function judgeNetwork(o, s) {
    const model = ['--model', s.model, ...s.shapes, '--threads', String(o.threads)];
    s.beside = b.besideUntuned(s.dir, model, s.db);
}

function report(o, s, load) {
    const g = b.gainOf(s.beside), above = s.above || [];
    const slower = g.slower.map(k => k.name).concat(g.isSlower ? ['the network'] : []);
    const verdict = [
        s.failed, s.verified && `db verify: ${s.verified}`, above.length && 'records above the peak',
        slower.length && `slower: ${slower.join(', ')}`
    ].filter(Boolean);
    const row = {
        session: s.number,
        network: s.network,
        seconds: s.seconds,
        records: s.records,
        above: above.length,
        untuned_ms: g.untuned_ms,
        tuned_ms: g.tuned_ms,
        ratio: g.ratio,
        low: g.low,
        high: g.high,
        replaced: g.replaced,
        slower: slower.length,
        date: new Date().toISOString().slice(0, 10),
    };
    b.record(
        'crowd', {
            network: s.network,
            sessions: o.sessions,
            's asked': o.seconds,
            's taken': b.show(s.seconds, 0),
            'timed records': s.records ?? '-',
            'peak GFLOP/s': b.show(s.peak, 1),
            'above the peak': s.above ? above.length : '-',
            'untuned ms': b.show(row.untuned_ms, 3),
            'tuned ms': b.show(row.tuned_ms, 3),
            'tuned / untuned': `${b.show(row.ratio, 3)} (${b.show(row.low, 3)} to ${b.show(row.high, 3)})`,
            replaced: b.show(row.replaced, 0),
            verdict: verdict.join('; ').replaceAll('\n', ' ') || 'good',
            'load when timed': b.show(load),
            date: row.date,
        },
        {beside: s.beside, above: above.map(r => ({hash: r.workload_hash, median: r.median, trace: r.trace_hash}))}, o.table);
    return {row, good: !verdict.length};
}

b.main(async () => {
    const o = options();
    watchSignals();
    fs.rmSync(o.work, {recursive: true, force: true});
    const sessions = Array.from({length: o.sessions}, (_, i) => session(o, i));
    console.log(`${o.sessions} sessions of ${o.seconds} s, from ${new Date().toLocaleTimeString()}; progress is in ${o.work}/N`);
    await Promise.all(sessions.map(s => search(o, s)));
    let bad = 0;
    for (const s of sessions) {
        const load = b.load();
        if (!s.failed) {
            judgeRecords(o, s);
            judgeNetwork(o, s);
        }
        const {row, good} = report(o, s, load);
        bad += !good;
        if (o.record && !s.failed)
            b.publish('crowd', [row]);
    }
    if (bad)
        b.fail(`${bad} of ${sessions.length} sessions: see the column verdict`);
});
