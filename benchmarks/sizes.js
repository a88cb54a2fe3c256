// One library for a range of sizes: at each of some sizes it takes turns with ONNX Runtime, which runs the same model, and with a
// library that was built for exactly that size. benchmarks/sizes.sh calls it.
'use strict';

const fs = require('fs');
const path = require('path');
const {parseArgs} = require('util');
const b = require('./common.js');

const usage = `usage: benchmarks/sizes.sh MODEL.onnx --range NAME=LEAST..MOST --at NAME=SIZE,SIZE.. [options]

  --range N=1..8  a size that varies, or is one number; may be repeated
  --at N=1,7,8    the sizes of one of these that are measured; the others have their least, or what --with says
  --with N=16     size of another in all runs; may be repeated
  --threads N     threads of all (2)
  --trials N      tuning trials for the range; 0 uses the database as it is (0)
  --exact N       tuning trials for each single size; 0 uses the database as it is (0)
  --db FILE       tuning database; default schedules where it has nothing
  --no-exact      leaves libraries of one size unmeasured
  --in-place      also a library whose caches grow in place (build --in-place-cache)
  --seed S        of the search and of the inputs (0)
  --rounds N      turns that each program gets (5)
  --repeats N     timed runs in a turn (10)
  --vocab N       ids are below it (1000)
  --check         runs everything once, compares with ONNX Runtime, and times nothing
  --table FILE    Markdown table that gets the rows (build/benchmarks/sizes.md)
  --record        puts the figures into benchmarks/results and RESULTS.md`;

function options() {
    const text = d => ({type: 'string', default: d}), list = {type: 'string', multiple: true, default: []},
          flag = {type: 'boolean', default: false};
    const {values: o, positionals} = parseArgs({
        allowPositionals: true,
        options: {
            range: list,
            at: {type: 'string'},
            with: list,
            threads: text('2'),
            trials: text('0'),
            exact: text('0'),
            db: {type: 'string'},
            'no-exact': flag,
            'in-place': flag,
            seed: text('0'),
            rounds: text('5'),
            repeats: text('10'),
            vocab: text('1000'),
            check: flag,
            table: {type: 'string'},
            record: flag,
            help: flag,
        },
    });
    if (o.help || positionals.length !== 1 || !o.at || !o.range.length) {
        console.log(usage);
        process.exit(o.help ? 0 : 2);
    }
    b.positive(o, 'threads', 'rounds', 'repeats', 'vocab');
    o.model = path.resolve(positionals[0]);
    o.name = path.basename(o.model).replace(/\.onnx$/, '');
    o.work = path.join(b.results, `${o.name}-sizes`);
    o.symbol = o.at.slice(0, o.at.indexOf('='));
    o.sizes = o.at.slice(o.symbol.length + 1).split(',').flatMap(span);
    return o;
}

// "1..512": all of them.
function span(s) {
    const [least, most] = s.split('..').map(Number);
    return Array.from({length: (most || least) - least + 1}, (_, i) => least + i);
}

// The value of each symbol in the run of that size: {name: number}.
function run_of(o, size) {
    const least = o.range.map(r => [r.slice(0, r.indexOf('=')), Number(r.slice(r.indexOf('=') + 1).split('..')[0])]);
    const given = o.with.map(r => [r.slice(0, r.indexOf('=')), Number(r.slice(r.indexOf('=') + 1))]);
    return Object.fromEntries([...least, ...given, [o.symbol, size]]);
}

const shapes = run => Object.entries(run).flatMap(([name, n]) => ['--shape', `${name}=${n}`]);

function build(o, name, source) {
    const out = path.join(o.work, `${name}.so`), db = o.db ? ['--db', path.resolve(o.db)] : ['--untuned'];
    b.run(['build', '--model', o.model, ...source, '--threads', String(o.threads), '--out', out, ...db], {cwd: o.work});
    return out;
}

function tune(o, source, trials) {
    if (Number(trials))
        b.run(
            [
                'tune', '--model', o.model, ...source, '--trials', trials, '--threads', String(o.threads), '--seed', o.seed, '--db',
                path.resolve(o.db)
            ],
            {cwd: o.work});
}

function startOrt(o, run) {
    const args = [
        path.join(__dirname, 'ort/ort_bench.js'), o.model, '--threads', o.threads, '--seed', o.seed, '--vocab', o.vocab,
        ...shapes(run), '--serve'
    ];
    return b.Peer.start('ONNX Runtime', process.execPath, args.map(String));
}

// One of our libraries: loaded once, as a network's weights take longer to read than it takes to run.
class Library extends b.Peer {
    static async start(o, name, file, dir) {
        const p = new Library(
            name, '/usr/bin/python3', [path.join(__dirname, 'api/serve_library.py'), file, dir, String(o.threads)], b.library_env);
        await p.ready();
        return p;
    }

    async turn(repeats) {
        return (await this.ask(`run ${repeats}`)).median_ms;
    }
}

function error(o, dir, library) {
    const r = b.runJson([
        'run', '--model', library, '--threads', String(o.threads), '--inputs', dir, '--check', dir, '--rtol', '1e-2', '--atol',
        '1e-3'
    ]);
    return Math.max(...r.outputs.map(x => x.error));
}

// one / other, of turns of the same round.
const ratio = (turns, one, other) => b.median(turns[one].map((x, i) => x / turns[other][i]));

async function measure(o, size, range) {
    const run = run_of(o, size), ort = await startOrt(o, run), dir = path.join(o.work, 'io');
    fs.rmSync(dir, {recursive: true, force: true});
    await ort.ask(`save ${dir}`);
    const wrong = error(o, dir, range);
    if (o.check) {
        ort.stop();
        return {size, wrong};
    }
    const libraries = [['range', range]];
    if (o['in-place'])
        libraries.push(['in place', o.in_place]);
    if (!o['no-exact']) {
        tune(o, shapes(run), o.exact);
        libraries.push(['exact', build(o, 'exact', shapes(run))]);
    }
    const ours = await Promise.all(libraries.map(([name, file]) => Library.start(o, name, file, dir)));
    const turns = await b.alternate([ort, ...ours], o.rounds, o.repeats);
    for (const r of [ort, ...ours])
        r.stop();
    return {size, wrong, turns, version: ort.about.version};
}

const mean = list => Math.exp(list.reduce((sum, x) => sum + Math.log(x), 0) / list.length);

const in_place = m => ({'in place ms': b.show(b.median(m.turns['in place']), 3),
                        'in place / ORT': b.show(ratio(m.turns, 'in place', 'ONNX Runtime'))});

function report(o, m, load) {
    const columns = {
        model: o.name,
        [o.symbol]: m.size,
        others: o.with.join(' ') || '-',
        threads: o.threads,
        'range ms': b.show(b.median(m.turns.range), 3),
        'exact ms': m.turns.exact ? b.show(b.median(m.turns.exact), 3) : '-',
        [`ORT ${m.version} ms`]: b.show(b.median(m.turns['ONNX Runtime']), 3),
        'range / ORT': b.show(ratio(m.turns, 'range', 'ONNX Runtime')),
        'range / exact': m.turns.exact ? b.show(ratio(m.turns, 'range', 'exact')) : '-',
        ...(m.turns['in place'] ? in_place(m) : {}),
        error: m.wrong.toExponential(1),
        'load at start': b.show(load),
        date: new Date().toISOString().slice(0, 10),
        machine: b.machine()
    };
    b.record('sizes', columns, {turns: m.turns}, o.table);
}

// A row of results/sizes.json.
function figures(o, m) {
    const ms = name => m.turns[name] ? b.median(m.turns[name]) : NaN,
          over = (x, y) => m.turns[x] && m.turns[y] ? ratio(m.turns, x, y) : NaN;
    return {
        model: o.db ? o.name : `${o.name}, untuned`, at: [`${o.symbol}=${m.size}`, ...o.with].join(' '), ours_ms: ms('range'),
        in_place_ms: ms('in place'), exact_ms: ms('exact'), ort_ms: ms('ONNX Runtime'), exact: over('range', 'exact'),
        ort: over('range', 'ONNX Runtime'), in_place: over('in place', 'ONNX Runtime'),
    };
}

b.main(async () => {
    const o = options(), source = o.range.flatMap(r => ['--shape', r]), all = [];
    fs.mkdirSync(o.work, {recursive: true});
    tune(o, source, o.trials);
    if (o['in-place'])
        tune(o, [...source, '--in-place-cache'], o.trials);
    const range = build(o, 'range', source);
    if (o['in-place'])
        o.in_place = build(o, 'in_place', [...source, '--in-place-cache']);
    for (const size of o.sizes) {
        const load = b.load();
        all.push(await measure(o, size, range));
        if (!o.check)
            report(o, all[all.length - 1], load);
    }
    console.log(`largest error of any output at ${all.length} sizes: ${Math.max(...all.map(m => m.wrong)).toExponential(1)}`);
    if (o.check)
        return;
    if (o.record)
        b.publish('sizes', all.map(m => figures(o, m)), {'ONNX Runtime': all[0].version});
    const pairs = [['range', 'ONNX Runtime'], ['range', 'exact'], ['in place', 'ONNX Runtime'], ['in place', 'range']];
    for (const [one, other] of pairs.filter(p => p.every(n => all[0].turns[n]))) {
        const ratios = all.map(m => ratio(m.turns, one, other));
        console.log(`${one} / ${other}: geometric mean ${b.show(mean(ratios))}, highest ${b.show(Math.max(...ratios))}`);
    }
});
