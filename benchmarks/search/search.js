// Runs every search on every task with every seed, and draws how the best so far grew. benchmarks/search/run calls it.
'use strict';

const fs = require('fs');
const path = require('path');
const {parseArgs} = require('util');
const b = require('../common.js');
const curves = require('./curves.js');
const plot = require('./plot.js');
const turns = require('./turns.js');

// Every search compiles its candidates itself: one of them must not find the objects of another.
const cache = path.join(b.results, 'search/cache');
const folder = path.join(b.results, 'search');
const KINDS = ['phases', 'random', 'ansor'];
// From the operator suite, BERT-base and ResNet-50; and one of each of 14 families, with shapes that occur nowhere else. Constants
// of the cost model were chosen on the first: what they are worth shows on the others, on which nothing is ever to be chosen.
const apart = path.join(b.root, 'benchmarks/search/apart');
const SETS = {
    suite: {
        folder: path.join(b.root, 'benchmarks/ops'),
        table: 'search',
        tasks: ['GMM_2', 'GMM_3', 'BERT_0', 'BERT_1', 'BERT_2', 'ATT_0', 'R50_1', 'R50_6', 'R50_8', 'CBR_3', 'DEP_1', 'SFM_2']
    },
    apart: {
        folder: apart,
        table: 'search-apart',
        tasks: fs.readdirSync(apart).filter(f => f.endsWith('.te')).map(f => f.slice(0, -3)).sort()
    },
};
// Measured trials a second are asked for on these.
const SPEED = {GMM_2: 12, R50_6: 5};
// A search that ended before ours did goes on until as many seconds are gone, but for no more trials than that many times ours.
const MORE = 8;
// The best known time of a kernel is that of any run, one of them a search of ours that is longer than the others.
const LONG = 'long', LONG_SEED = 1000;
// When all searches of a kernel are done, their results take turns.
const TURNS = 'turns';

const usage = `usage: benchmarks/search/run [options]

  --set NAME       of kernels: suite (${SETS.suite.tasks.join(',')})
                   or apart (${SETS.apart.tasks.join(',')}), on which no constant was chosen (suite)
  --tasks LIST     some of benchmarks/ops or, with --set apart, of benchmarks/search/apart, separated by commas (all of the set)
  --seeds LIST     (0,1,2)
  --trials N       of each search (200)
  --bound N        trials of the longer search by which the others are judged; 0: none (1000)
  --search LIST    of ${KINDS.join(', ')} (all)
  --threads N      of the kernels (2)
  --fresh          forgets what earlier sessions ran of these kernels; without it only what is missing is run
  --table FILE     Markdown (build/benchmarks/search.md, search-apart.md)
  --plot FILE      picture (the same with .svg)
  --record         puts the figures into benchmarks/results and RESULTS.md, and the picture into benchmarks/search.svg

The table ends with what the cost model is worth on either set, as far as that was run. All of a set takes about an hour on 2
idle cores; --tasks GMM_2,R50_6 --seeds 0 --trials 64 --bound 0 takes about two minutes.
Ctrl-C loses the run that it interrupts, no other.`;

function options() {
    const text = d => ({type: 'string', default: d}), flag = {type: 'boolean', default: false};
    const {values: o} = parseArgs({
        options: {
            set: text('suite'),
            tasks: {type: 'string'},
            seeds: text('0,1,2'),
            trials: text('200'),
            bound: text('1000'),
            search: text(KINDS.join()),
            threads: text('2'),
            fresh: flag,
            table: {type: 'string'},
            plot: {type: 'string'},
            record: flag,
            help: flag,
        }
    });
    if (o.help) {
        console.log(usage);
        process.exit(0);
    }
    b.positive(o, 'trials', 'threads');
    o.bound = Number(o.bound);
    Number.isInteger(o.bound) && o.bound >= 0 || b.fail('--bound wants a whole number');
    const set = SETS[o.set] || b.fail(`--set: there is no '${o.set}'; there are ${Object.keys(SETS).join(', ')}`);
    o.record && o.set !== 'suite' && b.fail('--record is for --set suite: RESULTS.md shows these kernels');
    o.folder = set.folder;
    o.table ||= path.join(b.results, `${set.table}.md`);
    o.plot ||= path.join(b.results, `${set.table}.svg`);
    o.tasks = o.tasks ? o.tasks.split(',') : set.tasks;
    o.seeds = o.seeds.split(',').map(Number);
    o.kinds = o.search.split(',');
    for (const t of o.tasks)
        fs.existsSync(path.join(o.folder, `${t}.te`)) ||
            b.fail(`--tasks: there is no kernel '${t}' in ${path.relative(b.root, o.folder)}`);
    for (const k of o.kinds)
        KINDS.includes(k) || b.fail(`--search: there is no '${k}'; there are ${KINDS.join(', ')}`);
    o.seeds.every(s => Number.isInteger(s) && s >= 0) || b.fail('--seeds wants whole numbers');
    return o;
}

// ---- one search ----

const keyOf = r => [r.task, r.kind, r.seed, r.trials, r.threads].join(' ');

function tune(o, run, db, trials, more = []) {
    const started = Date.now(), kind = run.kind === LONG ? 'phases' : run.kind;
    const report = b.runJson(
        [
            'tune', '--te', path.join(o.folder, `${run.task}.te`), '--trials', String(trials), '--seed', String(run.seed),
            '--threads', String(o.threads), '--search', kind, '--start-from', 'none', '--stop-at-roof', '9', '--db', db, ...more
        ],
        {stdio: ['ignore', 'pipe', 'ignore'], env: {...process.env, TCTUNE_CACHE: cache}});
    return {started, seconds: (Date.now() - started) / 1000, report};
}

// Every trial of the database: [seconds since the search began, seconds of the kernel (null: failed)]. parts: its sessions.
function trialsOf(db, parts) {
    const file = `${db}.jsonl`;
    b.run(['export', '--db', db, '--out', file]);
    const records = fs.readFileSync(file, 'utf8').split('\n').filter(Boolean).map(x => JSON.parse(x));
    fs.rmSync(file);
    let before = 0;
    const starts = parts.map(p => ({from: p.started, offset: (before += p.seconds) - p.seconds}));
    return records.map(r => {
        const at = starts.filter(s => s.from <= r.when_ms + 1000).pop() || starts[0];
        const good = r.error === 'ok' && r.verified && !r.stopped_early;
        return [Math.max(0, at.offset + (r.when_ms - at.from) / 1000), good ? r.median : null];
    });
}

// `seconds`: those that ours took; a search that is done before goes on.
function search(o, run, seconds) {
    const db = path.join(folder, `${run.task}-${run.kind}-${run.seed}.db`);
    for (const suffix of ['', '-wal', '-shm'])
        fs.rmSync(db + suffix, {force: true});
    fs.rmSync(cache, {recursive: true, force: true});
    const parts = [tune(o, run, db, run.trials)], left = seconds - parts[0].seconds;
    if (left > 1)
        parts.push(tune(o, run, db, MORE * o.trials, ['--minutes', String(left / 60)]));
    const r = parts[0].report;
    return {
        ...run,
        at: new Date().toISOString(),
        load: b.load(),
        seconds: parts[0].seconds,
        samples: trialsOf(db, parts),
        rate: r.trials_per_second,
        own: (r.search_seconds + r.model_seconds) / r.seconds,
        pairwise: r.pairwise_known,
        recall: r.top_recall,
        peak: r.peak_gflops,
        flops: r.tasks[0].flops,
        mode: r.tasks[0].mode,
        busy: r.busy,
        phases: r.phases,
    };
}

// ---- all ----

function readRuns(file) {
    if (!fs.existsSync(file))
        return new Map();
    const whole = fs.readFileSync(file, 'utf8').split('\n').filter(Boolean).flatMap(x => {
        try {
            return [JSON.parse(x)];
        } catch {
            return []; // the line that an interruption cut off
        }
    });
    return new Map(whole.map(r => [keyOf(r), r]));
}

function forget(file, tasks) {
    const others = [...readRuns(file).values()].filter(r => !tasks.includes(r.task));
    fs.writeFileSync(file, others.map(r => JSON.stringify(r) + '\n').join(''));
}

// What is known of each set with the same seeds, trials and threads: [name, figures].
function figuresOfSets(o, runs) {
    return Object.entries(SETS).flatMap(([name, set]) => {
        const of = [...runs.values()].filter(r => set.tasks.includes(r.task) && r.threads === o.threads);
        const same = of.filter(r => KINDS.includes(r.kind) && o.seeds.includes(r.seed) && r.trials === o.trials);
        const known = same.concat(of.filter(r => r.kind === LONG && r.trials === o.bound));
        const inTurns = of.filter(r => r.kind === TURNS && r.trials === o.trials && r.seed === o.seeds.join('+'));
        return same.some(r => r.kind === 'phases') ? [[name, curves.figures(known, set.tasks, o.trials, inTurns, keyOf)]] : [];
    });
}

function write(o, runs) {
    const of = [...runs.values()].filter(r => o.tasks.includes(r.task) && r.threads === o.threads);
    const wanted = of.filter(r => o.seeds.includes(r.seed) && o.kinds.includes(r.kind) && r.trials === o.trials);
    if (!wanted.length)
        return '';
    const inTurns = of.filter(r => r.kind === TURNS && r.trials === o.trials);
    wanted.push(...of.filter(r => r.kind === LONG && r.trials === o.bound && wanted.some(w => w.task === r.task)));
    const summary = curves.summarise(wanted, o.kinds, o.trials, inTurns, keyOf);
    const text =
        curves.markdown(summary, wanted, SPEED, `${b.machine()}, ${o.threads} threads`) + curves.sets(figuresOfSets(o, runs));
    fs.mkdirSync(path.dirname(path.resolve(o.table)), {recursive: true});
    fs.writeFileSync(o.table, text);
    plot.write(o.plot, `Best so far: ${summary.tasks.length} kernels, ${o.seeds.length} seeds, ${o.threads} threads`, summary);
    o.rows = curves.published(summary); // as they are at last
    return text;
}

function takeTurns(o, runs, task, file) {
    const key = {task, kind: TURNS, seed: o.seeds.join('+'), trials: o.trials, threads: o.threads};
    const of = [...runs.values()].filter(r => r.task === task && r.threads === o.threads);
    const done = of.filter(r => o.kinds.includes(r.kind) && o.seeds.includes(r.seed) && r.trials === o.trials);
    done.push(...of.filter(r => r.kind === LONG && r.trials === o.bound));
    if (runs.has(keyOf(key)) || done.length < 2)
        return;
    process.stderr.write(`${task}: what ${done.length} searches found, in turns (load ${b.load().toFixed(1)})\n`);
    const counts =
        Object.keys(curves.GOALS).map(Number).concat(o.trials).filter((n, i, all) => n <= o.trials && all.indexOf(n) === i);
    try {
        const r = {
            ...key,
            at: new Date().toISOString(),
            found: turns.time(folder, path.join(o.folder, `${task}.te`), done, counts, keyOf, o.threads)
        };
        runs.set(keyOf(r), r);
        fs.appendFileSync(file, JSON.stringify(r) + '\n');
    } catch (e) {
        process.stderr.write(`  left out: ${e.message}\n`);
    }
}

function main() {
    const o = options(), file = path.join(folder, 'runs.jsonl');
    fs.mkdirSync(folder, {recursive: true});
    if (o.fresh)
        forget(file, o.tasks);
    const runs = readRuns(file), one = (task, kind, seed, trials) => ({task, kind, seed, trials, threads: o.threads});
    const todo = o.tasks.flatMap(task => [...o.seeds.flatMap(seed => o.kinds.map(kind => one(task, kind, seed, o.trials))),
                                          ...(o.bound ? [one(task, LONG, LONG_SEED, o.bound)] : [])]);
    for (const [i, run] of todo.entries()) {
        if (runs.has(keyOf(run)))
            continue;
        const ours = runs.get(keyOf({...run, kind: 'phases'}));
        process.stderr.write(
            `[${i + 1}/${todo.length}] ${run.task}, ${run.kind}, seed ${run.seed} (load ${b.load().toFixed(1)})\n`);
        let r;
        try {
            r = search(o, run, ours && o.kinds.includes(run.kind) && run.kind !== 'phases' ? ours.seconds : 0);
        } catch (e) {
            process.stderr.write(`  left out: ${e.message}\n`);
            continue;
        }
        runs.set(keyOf(run), r);
        fs.appendFileSync(file, JSON.stringify(r) + '\n');
        write(o, runs);
    }
    for (const task of o.tasks)
        takeTurns(o, runs, task, file);
    process.stdout.write(write(o, runs));
    if (o.record && o.rows?.length) {
        b.publish('search', o.rows);
        fs.copyFileSync(o.plot, path.join(b.root, 'benchmarks/search.svg'));
    }
}

if (require.main === module)
    b.main(async () => main());

module.exports = {write};
