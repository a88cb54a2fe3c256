// What searches had found after some trials, timed in turns with one reference. Their own timings are minutes apart, and a machine
// that others share has slow minutes.
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

// {run: key, n, slower}: the best of a run's first n trials takes `slower` times as long as the reference, which is the best of the
// last of the runs. One task's runs; what has no database any more is left out. A process may be lucky, and a minute: who seems to
// be faster than the reference shows it twice more, when all others have had their turns.
function time(folder, te, runs, counts, keyOf, threads) {
    const last = runs.at(-1), reference = `${incumbent(last, Infinity)}@${fileOf(folder, last)}`;
    const ratio = record =>
        b.runJson(['compare', reference, record, '--te', te, '--threads', String(threads), '--repeats', String(ROUNDS)], {
             stdio: ['ignore', 'pipe', 'ignore']
         }).verdict.ratio;
    const found = [], ratios = new Map();
    for (const r of runs)
        for (const n of r === last ? [...counts.filter(x => x < r.trials), Infinity] : counts) {
            const at = incumbent(r, n);
            if (at)
                found.push({run: keyOf(r), n: Number.isFinite(n) ? n : r.trials, record: `${at}@${fileOf(folder, r)}`});
        }
    for (const {record} of found)
        if (!ratios.has(record))
            ratios.set(record, [record === reference ? 1 : ratio(record)]);
    for (let again = 0; again < 2; again++)
        for (const [record, taken] of ratios)
            if (taken[0] < 1)
                taken.push(ratio(record));
    return found.map(({run, n, record}) => ({run, n, slower: b.median(ratios.get(record))}));
}

module.exports = {incumbent, time};
