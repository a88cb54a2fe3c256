// What searches had found after some trials, timed in turns with one reference. Their own timings are minutes apart, and a machine that
// others share has slow minutes.
'use strict';

const path = require('path');
const b = require('../common.js');

const ROUNDS = 9;

const fileOf = (folder, r) => path.join(folder, `${r.task}-${r.kind}-${r.seed}.db`);

// Number of the trial that was the best of the first n, counted from 1 as the records of its database are; 0: none.
function incumbent(r, n) {
    let best = 0;
    r.samples.slice(0, n).forEach(([, s], i) => {
        if (s !== null && (!best || s < r.samples[best - 1][1]))
            best = i + 1;
    });
    return best;
}

// {run: key, n, slower}: the best of a run's first n trials takes `slower` times as long as the reference, which is the best of the last
// of the runs. One task's runs; what has no database any more is left out.
function time(folder, te, runs, counts, keyOf, threads) {
    const last = runs.at(-1), reference = `${incumbent(last, Infinity)}@${fileOf(folder, last)}`, known = new Map([[reference, 1]]);
    const once = record => b.runJson(['compare', reference, record, '--te', te, '--threads', String(threads), '--repeats', String(ROUNDS)],
                                     {stdio: ['ignore', 'pipe', 'ignore']}).verdict.ratio;
    const ratio = record => {
        if (!known.has(record)) {
            const first = once(record); // a process may be lucky: who seems to be faster than the reference shows it twice more
            known.set(record, first < 1 ? b.median([first, once(record), once(record)]) : first);
        }
        return known.get(record);
    };
    const found = [];
    for (const r of runs)
        for (const n of r === last ? [...counts.filter(x => x < r.trials), Infinity] : counts) {
            const at = incumbent(r, n);
            if (at)
                found.push({run: keyOf(r), n: Number.isFinite(n) ? n : r.trials, slower: ratio(`${at}@${fileOf(folder, r)}`)});
        }
    return found;
}

module.exports = {incumbent, time};
