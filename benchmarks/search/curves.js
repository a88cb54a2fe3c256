// From trials to figures: best-so-far curves as shares of the best known, per task and together, and the tables of them.
'use strict';

const {median, percent, show} = require('../common.js');

const SECONDS = [2, 5, 10, 20, 40, 80];
const GOALS = {32: 0.90, 200: 0.97};

// The fastest verified time of a task in any run. One lucky time is no best: of each run its best counts, and runs end with
// contests.
const bestKnown = runs => Math.min(...runs.flatMap(r => r.samples.map(s => s[1] ?? Infinity)));

// Share of the best known that run r had after n trials, or after t seconds.
const shareAfter = (r, best, n) => best / Math.min(Infinity, ...r.samples.slice(0, n).map(s => s[1] ?? Infinity));
const shareAt = (r, best, t) => best / Math.min(Infinity, ...r.samples.filter(s => s[0] <= t).map(s => s[1] ?? Infinity));

// A run that has nothing yet has no throughput: it counts as a hundredth, so that a mean exists.
const LEAST = 0.01;
const geomean = list => Math.exp(list.reduce((s, x) => s + Math.log(Math.max(x, LEAST)), 0) / list.length);

// 1, 2, 4, ... and the ones that goals name, up to the number of trials.
function grid(trials) {
    const g = new Set([trials]);
    for (let n = 1; n < trials; n *= 2)
        g.add(n);
    for (const n of [24, 48, 96, 160, ...Object.keys(GOALS).map(Number)])
        if (n <= trials)
            g.add(n);
    return [...g].sort((x, y) => x - y);
}

// Shares in turns: {n: {kind: {task: share}}}, geometric means over seeds; of what was timed so. inTurns: turns.js, one per task.
function sharesInTurns(runs, kinds, inTurns, keyOf) {
    const shares = {};
    for (const t of inTurns) {
        const best = Math.min(...t.found.map(f => f.slower));
        for (const kind of kinds)
            for (const n of new Set(t.found.map(f => f.n))) {
                const keys = runs.filter(r => r.task === t.task && r.kind === kind).map(keyOf);
                const of = t.found.filter(f => f.n === n && keys.includes(f.run));
                if (of.length)
                    ((shares[n] ||= {})[kind] ||= {})[t.task] = geomean(of.map(f => best / f.slower));
            }
    }
    return shares;
}

// {tasks, kinds, trials: [n], seconds: [t], byTrials: {kind: [share]}, bySeconds, perTask: {task: {kind: {at32, end}}}}
function summarise(runs, kinds, trials, inTurns = [], keyOf = null) {
    const tasks = [...new Set(runs.map(r => r.task))],
          s = {tasks, kinds: [], trials: grid(trials), byTrials: {}, bySeconds: {}, perTask: {}};
    const best = Object.fromEntries(tasks.map(t => [t, bestKnown(runs.filter(r => r.task === t))]));
    const longest = Math.max(...runs.filter(r => kinds.includes(r.kind)).map(r => r.seconds));
    s.seconds = SECONDS.filter((t, i) => i === 0 || t <= longest);
    for (const kind of kinds) {
        const of = task => runs.filter(r => r.task === task && r.kind === kind);
        if (!tasks.every(t => of(t).length))
            continue; // not all tasks are done: their mean would be another
        s.kinds.push(kind);
        const over = (fn, x) => geomean(tasks.map(t => geomean(of(t).map(r => fn(r, best[t], x)))));
        s.byTrials[kind] = s.trials.map(n => over(shareAfter, n));
        s.bySeconds[kind] = s.seconds.map(t => over(shareAt, t));
        for (const t of tasks)
            (s.perTask[t] ||= {})[kind] = {early: geomean(of(t).map(r => shareAfter(r, best[t], 32))),
                                           end: geomean(of(t).map(r => shareAfter(r, best[t], trials)))};
    }
    s.best = best;
    s.inTurns = sharesInTurns(runs, kinds, inTurns.filter(t => tasks.includes(t.task)), keyOf);
    return s;
}

// ---- tables ----

const row = cells => `| ${cells.join(' | ')} |\n`;
const table = (head, rows) => row(head) + row(head.map(() => '---')) + rows.map(row).join('') + '\n';
const verdict = (is, goal) => `${is >= goal ? 'reached' : 'missed'} (goal ${goal})`;

function goals(s, runs, speed) {
    const ours = runs.filter(r => r.kind === 'phases'), rows = [];
    for (const [n, goal] of Object.entries(GOALS)) {
        const at = s.trials.indexOf(Number(n));
        const turns = Object.values(s.inTurns[n]?.phases || {}), share = turns.length === s.tasks.length ? geomean(turns) : NaN;
        if (Number.isFinite(share))
            rows.push([`share of the best known after ${n} trials, timed in turns`, percent(share), verdict(share, goal)]);
        if (at >= 0 && s.byTrials.phases)
            rows.push(
                [`the same by the searches' own timings`, percent(s.byTrials.phases[at]), verdict(s.byTrials.phases[at], goal)]);
    }
    for (const [task, goal] of Object.entries(speed)) {
        const of = ours.filter(r => r.task === task);
        if (of.length)
            rows.push(
                [`trials a second, ${task}`, show(median(of.map(r => r.rate)), 1), verdict(median(of.map(r => r.rate)), goal)]);
    }
    if (!ours.length)
        return rows;
    const own = median(ours.map(r => r.own)), judged = ours.filter(r => Number.isFinite(r.pairwise));
    rows.push(['the tuner\'s own share of the time', percent(own), `${own < 0.15 ? 'reached' : 'missed'} (goal below 15 %)`]);
    if (judged.length && s.trials.at(-1) >= 128)
        rows.push([
            'pairs of next batches, after 128 records, that the model orders rightly', show(median(judged.map(r => r.pairwise))),
            verdict(median(judged.map(r => r.pairwise)), 0.8)
        ]);
    return rows;
}

function perRun(runs) {
    return runs.map(
        r =>
            [r.task, r.kind, r.seed, show(Math.min(...r.samples.slice(0, r.trials).map(x => x[1] ?? Infinity)) * 1e3, 3),
             show(r.seconds, 1), show(r.rate, 1), percent(r.own), show(r.pairwise ?? NaN), show(r.peak, 0),
             show(r.load, 1) + (r.busy ? ' busy' : '')]);
}

function turnsTable(s) {
    const counts = Object.keys(s.inTurns), kinds = s.kinds.filter(k => counts.some(n => s.inTurns[n][k]));
    if (!counts.length)
        return '';
    const of = (n, kind, tasks) => percent(geomean(tasks.map(t => s.inTurns[n][kind]?.[t] ?? NaN)));
    const cells = tasks => kinds.map(k => counts.filter(n => s.inTurns[n][k]).map(n => of(n, k, tasks)).join(' → '));
    const timed = s.tasks.filter(t => kinds.every(k => counts.every(n => !s.inTurns[n][k] || s.inTurns[n][k][t])));
    return `Timed in turns, after ${counts.join(' and ')} trials:\n\n` +
           table(['kernel', ...kinds], [...timed.map(t => [t, ...cells([t])]), ['all', ...cells(timed)]]);
}

function markdown(s, runs, speed, machine) {
    const parts =
        [`# Search\n\n${
             machine}. Shares of the best time that any run found, a longer one (long) among them; geometric means over ` +
         'kernels and seeds.\n\n'];
    parts.push(table(['goal', 'is', ''], goals(s, runs, speed)));
    parts.push(
        'Equal trials:\n\n',
        table(['trials', ...s.kinds], s.trials.map((n, i) => [n, ...s.kinds.map(k => percent(s.byTrials[k][i]))])));
    parts.push(
        'Equal seconds:\n\n',
        table(['seconds', ...s.kinds], s.seconds.map((t, i) => [t, ...s.kinds.map(k => percent(s.bySeconds[k][i]))])));
    parts.push('Each kernel, after 32 trials and at the end:\n\n',
               table(['kernel', 'best ms', ...s.kinds], s.tasks.map(t => [t, show(s.best[t] * 1e3, 3), ...s.kinds.map(
                   k => `${percent(s.perTask[t][k].early)} → ${percent(s.perTask[t][k].end)}`)])));
    parts.push(turnsTable(s));
    parts.push(
        'Each run:\n\n',
        table(
            ['kernel', 'search', 'seed', 'best ms', 'seconds', 'trials/s', 'own share', 'pairwise', 'peak GFLOP/s', 'load'],
            perRun(runs)));
    return parts.join('');
}

// ---- sets of kernels ----

// What the cost model is worth on the kernels of a set that have runs: the median share of pairs of next batches, after 128
// records, that it orders rightly, and shares of the best known after 32 trials. runs: of any kind; what ours found counts.
function figures(runs, tasks, trials, inTurns, keyOf) {
    const done = tasks.filter(t => runs.some(r => r.task === t && r.kind === 'phases'));
    const of = runs.filter(r => done.includes(r.task)), s = summarise(of, ['phases'], trials, inTurns, keyOf);
    const judged = of.filter(r => r.kind === 'phases' && Number.isFinite(r.pairwise)).map(r => r.pairwise);
    const timed = Object.values(s.inTurns[32]?.phases || {}), at = s.trials.indexOf(32);
    return {kernels: done.length, of: tasks.length, pairs: judged.length ? median(judged) : NaN,
            turns: timed.length === done.length ? geomean(timed) : NaN, own: at >= 0 ? s.byTrials.phases[at] : NaN};
}

// list: [name, figures]
function sets(list) {
    const share = x => Number.isFinite(x) ? percent(x) : '-';
    return 'The cost model on each set of kernels: pairs of next batches, after 128 records, that it orders rightly; ' +
        'share of the best known after 32 trials, timed in turns and by the searches\' own timings:\n\n' +
        table(['set', 'kernels', 'pairs', 'in turns', 'own timings'],
              list.map(
                  ([name, f]) =>
                      [name, f.kernels < f.of ? `${f.kernels} of ${f.of}` : f.of, Number.isFinite(f.pairs) ? show(f.pairs) : '-',
                       share(f.turns), share(f.own)]));
}

// Rows of results/search.json: what was found after 32 and after 200 trials, timed in turns.
function published(s) {
    const share = (n, kind, task) => s.inTurns[n]?.[kind]?.[task] ?? NaN;
    return s.kinds
        .flatMap(
            kind => s.tasks.map(task => ({search: kind, kernel: task, n32: share(32, kind, task), n200: share(200, kind, task)})))
        .filter(r => Number.isFinite(r.n32) || Number.isFinite(r.n200));
}

module.exports = {GOALS, figures, grid, markdown, published, sets, summarise};
