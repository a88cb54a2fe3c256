// The records that the project keeps: tuning_logs/CPU.jsonl, the best few of every kernel, read into a scratch database before
// tuning and written back afterwards.
'use strict';

const fs = require('fs');
const path = require('path');
const b = require('../common.js');

const folder = path.join(b.root, 'tuning_logs');
// Enough that a kernel still has records after one of them no longer replays.
const KEPT = 4;

const lines = file => fs.readFileSync(file, 'utf8').split('\n').filter(Boolean);
const cpuOf = record => (/-mcpu=(\S+)/.exec(record.target) || [])[1];

function read(db) {
    const files =
        fs.existsSync(folder) ? fs.readdirSync(folder).filter(f => f.endsWith('.jsonl')).map(f => path.join(folder, f)) : [];
    if (files.length)
        b.run(['import', '--db', db, ...files]);
}

// The fastest verified records of each workload, target and number of threads.
function best(records) {
    const by = new Map();
    for (const r of records.filter(x => x.record.verified && x.record.error === 'ok')) {
        const key = [r.record.workload_hash, r.record.target_hash, r.record.threads].join();
        by.set(key, [...(by.get(key) || []), r]);
    }
    return [...by.values()].flatMap(list => list.sort((x, y) => x.record.median - y.record.median).slice(0, KEPT));
}

// A stable order, so that a difference between two versions of a file shows what was tuned.
const byHash = (x, y) => x.workload_hash === y.workload_hash ? x.median - y.median : x.workload_hash < y.workload_hash ? -1 : 1;

// What other tuning left in these files stays; kernels that the database knows get its best records.
function write(db) {
    const scratch = path.join(b.results, 'ops.export.jsonl');
    b.run(['export', '--db', db, '--out', scratch]);
    const parse = text => ({text, record: JSON.parse(text)}), kept = best(lines(scratch).map(parse)), cpus = new Set();
    kept.forEach(r => cpus.add(cpuOf(r.record)));
    for (const cpu of cpus) {
        const file = path.join(folder, `${cpu}.jsonl`), mine = kept.filter(r => cpuOf(r.record) === cpu);
        const known = new Set(mine.map(r => r.record.workload_hash));
        const others = fs.existsSync(file) ? lines(file).map(parse).filter(r => !known.has(r.record.workload_hash)) : [];
        const all = [...others, ...mine].sort((x, y) => byHash(x.record, y.record));
        fs.mkdirSync(folder, {recursive: true});
        fs.writeFileSync(`${file}.new`, all.map(r => r.text + '\n').join(''));
        fs.renameSync(`${file}.new`, file);
    }
    fs.rmSync(scratch);
}

module.exports = {read, write};
