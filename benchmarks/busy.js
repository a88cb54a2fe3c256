// Latency of small networks, alone and on busy cores, in turns. benchmarks/busy.sh calls it.
'use strict';

const fs = require('fs');
const os = require('os');
const path = require('path');
const {parseArgs} = require('util');
const b = require('./common.js');
const topology = require('./topology.js');
const {Loops, saveInputs, startLibrary, startOrt} = require('./busy/programs.js');

const usage = `usage: benchmarks/busy.sh [options] [NETWORK...]

Networks are model files, topologies in ../shared/models, or mobilenet_v3_small and shufflenet_v2, which are made
(mobilenet_v3_small, lstm_tagger and squeezenet1_1 when none is given). Their libraries have default schedules.

  --threads N         threads of each program (2)
  --rounds N          turns that each program gets in each condition (9)
  --runs N            timed runs in a turn (150)
  --limit MS          no run of a turn begins later than this after the first (3000)
  --gap US            pause before each run, in microseconds (0)
  --conditions LIST   some of (all are measured when the option is missing):
                        alone      nothing else runs
                        busy       beside a loop for each core
                        nice       the same, at a nice value that is higher by 10 than the loops'
                        core       nothing else runs, but the program may use one core alone (taskset)
                        processes  two processes run the network at once, for a second: runs a second of both together
                        contexts   two threads of one process do
  --loops N           loops of the conditions busy and nice (one for each core)
  --db FILE           builds with the records of this database
  --beside PATH       also measures a library of another build: a file, or a folder with NAME.so for each network
  --with NAME=VALUE   also measures the library with this environment variable
  --no-ort            leaves ONNX Runtime out; its outputs are still what the libraries' are compared with
  --table FILE        Markdown table that gets the rows (build/benchmarks/busy.md)
  --record            puts the figures of alone, busy, nice and core into benchmarks/results and RESULTS.md`;

// Whether loops run beside, and the command that starts the programs.
const LATENCY = {
    alone: {loops: false, under: []},
    busy: {loops: true, under: []},
    nice: {loops: true, under: ['nice', '-n', '10']},
    core: {loops: false, under: ['taskset', '-c', '0']},
};
const TOGETHER = ['processes', 'contexts'];
const COUNT_MS = 1000;

function options() {
    const text = d => ({type: 'string', default: d}), flag = {type: 'boolean', default: false};
    const {values: o, positionals} = parseArgs({
        allowPositionals: true,
        options: {
            threads: text('2'),
            rounds: text('9'),
            runs: text('150'),
            limit: text('3000'),
            gap: text('0'),
            conditions: text([...Object.keys(LATENCY), ...TOGETHER].join(',')),
            loops: text(String(os.availableParallelism())),
            db: {type: 'string'},
            beside: {type: 'string'},
            with: {type: 'string'},
            'no-ort': flag,
            table: {type: 'string'},
            record: flag,
            help: flag,
        },
    });
    if (o.help) {
        console.log(usage);
        process.exit(0);
    }
    b.positive(o, 'threads', 'rounds', 'runs', 'limit', 'loops');
    if (!/^\d+$/.test(o.gap))
        b.fail('--gap wants a number of microseconds');
    o.conditions = o.conditions.split(',');
    for (const c of o.conditions)
        if (!LATENCY[c] && !TOGETHER.includes(c))
            b.fail(`--conditions knows no '${c}': ${[...Object.keys(LATENCY), ...TOGETHER].join(', ')}`);
    if (o.with !== undefined && !/^\w+=/.test(o.with))
        b.fail('--with wants NAME=VALUE');
    o.networks = positionals.length ? positionals : ['mobilenet_v3_small', 'lstm_tagger', 'squeezenet1_1'];
    if (o.beside && !fs.existsSync(o.beside))
        b.fail(`--beside: there is no ${o.beside}`);
    if (o.beside && o.networks.length > 1 && !fs.statSync(o.beside).isDirectory())
        b.fail('--beside wants a folder where there are several networks');
    return o;
}

// ---- what is measured ----

const nameOf = network => path.basename(network).replace(/\.onnx$/, '');

function besideFile(o, name) {
    const file = path.resolve(fs.statSync(o.beside).isDirectory() ? path.join(o.beside, `${name}.so`) : o.beside);
    return fs.existsSync(file) ? file : b.fail(`--beside: there is no ${file}`);
}

// The network's library, and those that are timed beside it: {name, file, env}.
function libraries(o, network, model, shapes) {
    const name = nameOf(network), file = path.join(o.work, `${name}.so`);
    const records = o.db ? ['--db', path.resolve(o.db)] : ['--untuned'];
    b.run(['build', '--model', model, ...shapes, '--threads', String(o.threads), '--out', file, ...records], {cwd: o.work});
    const list = [{name: 'ours', file}];
    if (o.with) {
        const at = o.with.indexOf('=');
        list.push({name: 'with', file, env: {[o.with.slice(0, at)]: o.with.slice(at + 1)}});
    }
    if (o.beside)
        list.push({name: 'beside', file: besideFile(o, name)});
    return list;
}

// ---- latency ----

const rank = (sorted, share) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];

function percentiles(times) {
    const sorted = [...times].sort((x, y) => x - y);
    const mean = times.reduce((sum, x) => sum + x, 0) / times.length;
    return {median: rank(sorted, 0.5), p90: rank(sorted, 0.9), worst: rank(sorted, 1), mean};
}

// One turn of each program: {name: percentiles}. Who begins changes from round to round.
async function turns(o, peers, round) {
    const result = {};
    for (let i = 0; i < peers.length; i++) {
        const p = peers[(i + round) % peers.length];
        await b.pause();
        result[p.name] = percentiles((await p.ask(`run ${o.runs} ${o.gap} ${o.limit}`)).times_ms);
    }
    return result;
}

async function underLoad(o, condition, peers, round) {
    const loops = condition.loops && await Loops.start(o.loops);
    const result = await turns(o, peers, round);
    if (loops)
        await loops.stop();
    return result;
}

// {condition: [{program: percentiles} of each round]}. A first round that nobody counts warms up.
async function latencies(o, conditions, peersOf) {
    const result = Object.fromEntries(conditions.map(c => [c, []]));
    for (let round = -1; round < o.rounds; round++)
        for (const c of conditions) {
            const turn = await underLoad(round < 0 ? {...o, runs: 10} : o, LATENCY[c], peersOf[LATENCY[c].under], round + 1);
            if (round >= 0)
                result[c].push(turn);
        }
    return result;
}

// ---- two at once ----

const perSecond = answers => answers.reduce((sum, a) => sum + 1000 * a.runs / a.ms, 0);

async function together(condition, first, second) {
    if (condition === 'contexts')
        return perSecond([await first.ask(`count ${COUNT_MS} 2`)]);
    return perSecond(await Promise.all([first, second].map(p => p.ask(`count ${COUNT_MS} 1`))));
}

// {condition: [{library: runs a second} of each round]}. pairs: two processes of each library.
async function throughputs(o, conditions, pairs) {
    const result = Object.fromEntries(conditions.map(c => [c, []]));
    for (let round = 0; round < o.rounds; round++)
        for (const c of conditions) {
            const rates = {};
            for (let i = 0; i < pairs.length; i++) {
                const [first, second] = pairs[(i + round) % pairs.length];
                await b.pause();
                rates[first.name] = await together(c, first, second);
            }
            result[c].push(rates);
        }
    return result;
}

// ---- figures ----

const ms = x => b.show(x, 3);

// Of each round: what `of` says of our library, over what it says of the other program. Empty: that was not measured.
const ratios = (rounds, of, other) => rounds[0][other] ? rounds.map(r => of(r.ours) / of(r[other])) : [];

function showRatio(list) {
    if (!list.length)
        return '-';
    const [low, high] = b.interval(list);
    return `${b.show(b.median(list))} (${b.show(low)} to ${b.show(high)})`;
}

const median = x => x.median, p90 = x => x.p90, time = rate => 1 / rate;

function latencyRow(o, network, condition, rounds, load) {
    const of = (program, figure) => rounds[0][program] ? b.median(rounds.map(r => r[program][figure])) : NaN;
    const worst = program => rounds[0][program] ? Math.max(...rounds.map(r => r[program].worst)) : NaN;
    const columns = {network: nameOf(network), condition, threads: o.threads};
    for (const p of ['ours', 'with', 'beside', 'ONNX Runtime'])
        columns[`${p} ms: median, p90, worst, mean`] =
            rounds[0][p] ? [of(p, 'median'), of(p, 'p90'), worst(p), of(p, 'mean')].map(ms).join(', ') : '-';
    for (const other of ['ONNX Runtime', 'beside', 'with'])
        for (const [name, figure] of [['median', median], ['p90', p90]])
            columns[`${name} / ${other}`] = showRatio(ratios(rounds, figure, other));
    b.record('busy', {...columns, 'load at start': b.show(load), date: new Date().toISOString().slice(0, 10)}, rounds, o.table);
    return {
        network: columns.network,
        condition,
        threads: o.threads,
        ...Object.fromEntries([['ours', 'ours'], ['ort', 'ONNX Runtime']].flatMap(([key, p]) => [
            [`${key}_median`, of(p, 'median')], [`${key}_p90`, of(p, 'p90')], [`${key}_worst`, worst(p)]
        ])),
        median_ratio: b.median(ratios(rounds, median, 'ONNX Runtime')),
        p90_ratio: b.median(ratios(rounds, p90, 'ONNX Runtime')),
    };
}

function togetherRow(o, network, condition, rounds, load) {
    const columns = {network: nameOf(network), condition, threads: o.threads};
    for (const p of ['ours', 'with', 'beside'])
        columns[`${p}: runs a second`] = rounds[0][p] ? b.show(b.median(rounds.map(r => r[p])), 0) : '-';
    for (const other of ['beside', 'with'])
        columns[`time of a run / ${other}`] = showRatio(ratios(rounds, time, other));
    b.record(
        'busy-together', {...columns, 'load at start': b.show(load), date: new Date().toISOString().slice(0, 10)}, rounds,
        o.table && o.table.replace(/(\.md)?$/, '-together.md'));
}

async function startAll(o, list, model, shapes, dir, under) {
    const peers = list.map(l => startLibrary(l, o.threads, dir, under));
    return Promise.all(o['no-ort'] ? peers : [...peers, startOrt(model, shapes, o.threads, under)]);
}

async function measure(o, network) {
    const load = b.load(), model = topology.file(network), shapes = topology.shapes(network);
    const list = libraries(o, network, model, shapes), ort = await startOrt(model, shapes, o.threads);
    const dir = path.join(o.work, 'io');
    await saveInputs(ort, dir, list.map(l => l.file));
    const wanted = o.conditions.filter(c => LATENCY[c]), pairs = o.conditions.filter(c => TOGETHER.includes(c));
    const first = await Promise.all(list.map(l => startLibrary(l, o.threads, dir)));
    const peersOf = {'': o['no-ort'] ? first : [...first, ort]}; // by the command that started them
    for (const {under} of wanted.map(c => LATENCY[c]))
        peersOf[under] ??= await startAll(o, list, model, shapes, dir, under);
    const rows = Object.entries(await latencies(o, wanted, peersOf)).map(([c, rounds]) => latencyRow(o, network, c, rounds, load));
    const second = pairs.length ? await Promise.all(list.map(l => startLibrary(l, o.threads, dir))) : [];
    for (const [c, rounds] of Object.entries(await throughputs(o, pairs, first.map((p, i) => [p, second[i]]))))
        togetherRow(o, network, c, rounds, load);
    [...new Set([ort, ...Object.values(peersOf).flat(), ...second])].forEach(p => p.stop());
    return {rows, version: ort.about.version};
}

// Libraries and inputs of this run: several may go on at once.
function workFolder() {
    fs.mkdirSync(b.results, {recursive: true});
    const work = fs.mkdtempSync(path.join(b.results, 'busy-'));
    process.on('exit', () => fs.rmSync(work, {recursive: true, force: true}));
    for (const [signal, number] of [['SIGINT', 2], ['SIGTERM', 15], ['SIGHUP', 1]])
        process.on(signal, () => process.exit(128 + number));
    return work;
}

b.main(async () => {
    const o = options();
    o.work = workFolder();
    for (const network of o.networks) {
        const {rows, version} = await measure(o, network);
        if (o.record)
            b.publish('busy', rows, {'ONNX Runtime': version});
    }
});
