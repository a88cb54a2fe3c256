// The figures of the search benchmark, its table and its plot, from made-up runs.
'use strict';

const assert = require('assert');
const fs = require('fs');
const path = require('path');

const search = path.resolve(__dirname, '../../benchmarks/search');
const b = require(path.resolve(search, '../common.js'));
const curves = require(path.join(search, 'curves.js'));
const plot = require(path.join(search, 'plot.js'));
const turns = require(path.join(search, 'turns.js'));

const run = (task, kind, samples, more = {}) => ({
    task,
    kind,
    seed: 0,
    trials: samples.length,
    threads: 1,
    seconds: samples.at(-1)[0],
    samples,
    rate: 10,
    own: 0.1,
    pairwise: 0.85,
    peak: 100,
    load: 0,
    busy: false,
    ...more,
});
// Of task A ours finds 1 ms first and random 2 ms; of B ours starts with a failure.
const runs = [
    run('A', 'phases', [[1, 4e-3], [2, 1e-3], [3, 2e-3], [4, 1e-3]]),
    run('A', 'random', [[1, 8e-3], [2, 2e-3], [3, 4e-3], [4, 2e-3]]),
    run('B', 'phases', [[1, null], [2, 2e-3], [3, 2e-3], [4, 2e-3]]),
    run('B', 'random', [[1, 4e-3], [2, 4e-3], [3, 4e-3], [4, 4e-3]]),
];

const s = curves.summarise(runs, ['phases', 'random', 'ansor'], 4);
const near = (x, y) => assert.ok(Math.abs(x - y) < 1e-9, `${x} is not ${y}`);
assert.deepStrictEqual(s.kinds, ['phases', 'random']); // ansor has no runs
assert.deepStrictEqual(s.trials, [1, 2, 4]);
near(s.byTrials.phases[1], 1);
near(s.byTrials.phases[0], Math.sqrt(0.25 * 0.01));
near(s.byTrials.random[2], 0.5);
near(s.bySeconds.random[0], 0.5);
near(s.perTask.B.random.end, 0.5);

const text = curves.markdown(s, runs, {A: 12}, 'a machine');
for (const part
         of ['trials a second, A | 10.0 | missed (goal 12)', 'own share of the time | 10.0 % | reached',
             '| 4 | 100.0 % | 50.0 % |'])
    assert.ok(text.includes(part), `the table has no '${part}':\n${text}`);
assert.ok(!text.includes('in turns'));

// In turns, A's results are equal and B's are not: what the searches said of the times does not count.
const keyOf = x => `${x.task} ${x.kind}`;
const found = (task, ours, random) =>
    ({task, found: [{run: `${task} phases`, n: 32, slower: ours}, {run: `${task} random`, n: 32, slower: random}]});
const timed = curves.summarise(runs, ['phases', 'random'], 4, [found('A', 1.25, 1.25), found('B', 2, 1)], keyOf);
near(timed.inTurns[32].phases.A, 1);
near(timed.inTurns[32].phases.B, 0.5);
near(timed.inTurns[32].random.B, 1);
const both = curves.markdown(timed, runs, {}, 'a machine');
for (const part
         of ['after 32 trials, timed in turns | 70.7 % | missed (goal 0.9)', '| B | 50.0 % | 100.0 % |',
             '| all | 70.7 % | 100.0 % |'])
    assert.ok(both.includes(part), `the table has no '${part}':\n${both}`);
// What the model is worth on the kernels of a set: C has no runs yet.
const inTurns32 = [found('A', 1.25, 1.25), found('B', 2, 1)];
const worth =
    curves.figures([...runs, run('A', 'phases', [[1, 1e-3]], {seed: 1, pairwise: 0.75})], ['A', 'B', 'C'], 4, inTurns32, keyOf);
assert.deepStrictEqual([worth.kernels, worth.of, worth.pairs], [2, 3, 0.85]);
near(worth.turns, Math.sqrt(0.5));
assert.ok(Number.isNaN(worth.own)); // none had 32 trials
assert.ok(Number.isNaN(curves.figures(runs, ['A', 'B'], 4, inTurns32.slice(1), keyOf).turns)); // A was not timed in turns
for (const part of ['| one | 2 of 3 | 0.85 | 70.7 % | - |', '| two | 3 | - | - | 50.0 % |'])
    assert.ok(curves.sets([['one', worth], ['two', {kernels: 3, of: 3, pairs: NaN, turns: NaN, own: 0.5}]]).includes(part), part);
assert.strictEqual(turns.incumbent(runs[2], 1), 0);
assert.strictEqual(turns.incumbent(runs[0], 3), 2);
assert.strictEqual(turns.incumbent(runs[0], Infinity), 2);
const work = fs.mkdtempSync(path.join(process.env.TMPDIR || '/tmp', 'search-'));
plot.write(path.join(work, 'p.svg'), 'title', s);
assert.strictEqual(fs.readFileSync(path.join(work, 'p.svg'), 'utf8').match(/<polyline/g).length, 4);
assert.deepStrictEqual(curves.grid(200).filter(n => [32, 128, 200].includes(n)), [32, 128, 200]);

// What --record keeps, in a copy of the figures.
const publish = (subject, rows, peers) => {
    fs.copyFileSync(path.resolve(__dirname, `../../benchmarks/results/${subject}.json`), path.join(work, `${subject}.json`));
    Object.assign(
        process.env, {TCTUNE_RESULTS: work, TCTUNE_RESULTS_PAGE: path.join(work, 'R.md'), TCTUNE_RESULTS_MACHINE: 'here'});
    b.publish(subject, rows, peers);
    return JSON.parse(fs.readFileSync(path.join(work, `${subject}.json`))).runs.at(-1);
};
const kept = publish('search', curves.published(timed));
assert.strictEqual(kept.machine, 'here');
assert.deepStrictEqual(kept.rows.map(r => `${r.search} ${r.kernel} ${r.n32}`),
                       curves.published(timed).map(r => `${r.search} ${r.kernel} ${Number(r.n32.toPrecision(4))}`));
assert.ok(kept.rows.length === 4 && kept.rows.every(r => r.n200 === undefined)); // of what was not timed nothing is said
assert.throws(() => publish('search', [{search: 'phases', kernel: 'A', speed: 1}]));
fs.rmSync(work, {recursive: true});
console.log('search: figures, table and plot');
