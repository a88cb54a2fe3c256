// Tunes a network, then lets ONNX Runtime and the library that we built take turns. benchmarks/model.sh calls it.
'use strict';

const fs = require('fs');
const path = require('path');
const {parseArgs} = require('util');
const b = require('./common.js');

const usage = `usage: benchmarks/model.sh MODEL.onnx [options]

  --threads N     threads of both (2)
  --trials N      tuning trials; 0 uses the database as it is (500)
  --db FILE       tuning database (build/benchmarks/NAME.db)
  --seed S        of the search and of the inputs (0)
  --rounds N      turns that each program gets (9)
  --repeats N     timed runs in a turn (20)
  --shape N=1,2   shape of an input, or value of a symbol; may be repeated
  --vocab N       ids are below it (1000)
  --no-untuned    leaves the default schedules unmeasured
  --fast          also tunes with --accuracy fast (DB.fast, a database of its own); that library takes turns with the others
  --beside FILE   a library that takes turns with the others: of another version of tctune, say
  --table FILE    Markdown table that gets the row (build/benchmarks/model.md)
  --record        puts the figures into benchmarks/results (with --fast: accuracy.json, else networks.json) and RESULTS.md`;

function options() {
    const text = d => ({type: 'string', default: d});
    const {values: o, positionals} = parseArgs({
        allowPositionals: true,
        options: {
            threads: text('2'),
            trials: text('500'),
            db: {type: 'string'},
            seed: text('0'),
            rounds: text('9'),
            repeats: text('20'),
            shape: {type: 'string', multiple: true, default: []},
            vocab: text('1000'),
            'no-untuned': {type: 'boolean', default: false},
            fast: {type: 'boolean', default: false},
            beside: {type: 'string'},
            table: {type: 'string'},
            record: {type: 'boolean', default: false},
            help: {type: 'boolean', default: false},
        },
    });
    if (o.help || positionals.length !== 1) {
        console.log(usage);
        process.exit(o.help ? 0 : 2);
    }
    b.positive(o, 'threads', 'rounds', 'repeats', 'vocab');
    o.trials = Number(o.trials);
    o.model = path.resolve(positionals[0]);
    o.name = path.basename(o.model).replace(/\.onnx$/, '');
    o.work = path.join(b.results, o.name);
    o.db = path.resolve(o.db || path.join(b.results, `${o.name}.db`));
    o.source = ['--model', o.model, ...o.shape.flatMap(s => ['--shape', s])];
    return o;
}

// The listing of a network's kernels reads the file, infers, folds and fuses, and does nothing else: a median of its time, start
// of the process included, is what import takes at most. Run where there is no database.
function importSeconds(o) {
    return b.median([1, 2, 3].map(() => b.seconds(['show', ...o.source], {cwd: o.work})));
}

function tune(o, db, options) {
    if (!o.trials) return null;
    return b.runJson([
        'tune', ...o.source, '--trials', String(o.trials), '--threads', String(o.threads), '--seed', o.seed, '--db', db,
        ...options
    ]);
}

// The library with the records of `db`, or with default schedules. Built in the work folder, which holds no database of its own.
function build(o, name, db, options) {
    const out = path.join(o.work, `${name}.so`);
    b.run(
        ['build', ...o.source, '--threads', String(o.threads), '--out', out, ...(db ? ['--db', db] : []), ...options],
        {cwd: o.work});
    return out;
}

function startOrt(o) {
    const args = [
        path.join(__dirname, 'ort/ort_bench.js'), o.model, '--threads', o.threads, '--seed', o.seed, '--vocab', o.vocab,
        ...o.shape.flatMap(s => ['--shape', s]), '--serve'
    ];
    return b.Peer.start('ONNX Runtime', process.execPath, args.map(String));
}

// A folder of the peer's inputs and outputs: everybody computes the same.
async function saveInputs(o, ort) {
    const dir = path.join(o.work, 'io');
    fs.rmSync(dir, {recursive: true, force: true});
    await ort.ask(`save ${dir}`);
    return dir;
}

// The largest error of any output against the peer's, over the largest value there.
function compare(o, dir, library) {
    const r = b.runJson([
        'run', '--model', library, '--threads', String(o.threads), '--inputs', dir, '--check', dir, '--rtol', '1e-2', '--atol',
        '1e-3'
    ]);
    return Math.max(...r.outputs.map(x => x.error));
}

async function measure(o, ort, dir, libraries) {
    const ours =
        libraries.map(([name, file]) => new b.Ours(name, ['--model', file, '--inputs', dir, '--threads', String(o.threads)]));
    const turns = await b.alternate([ort, ...ours], o.rounds, o.repeats);
    // A library does not know its operations; the network does. Its kernels' own times are from the same minutes.
    const profile =
        b.runJson(['bench', ...o.source, '--inputs', dir, '--threads', String(o.threads), '--db', o.db, '--repeats', '5']);
    return {turns, peak: ours[0].peak, flops: profile.flops, kernels: profile.kernels};
}

// The level fast beside the default level in the same turns, and the size of both libraries; null: it was not measured.
function fastBeside(m, errors, libraries) {
    if (!m.turns.fast) return null;
    const ratios = m.turns.fast.map((x, i) => x / m.turns.tuned[i]);
    const megabytes = name => fs.statSync(libraries.find(x => x[0] === name)[1]).size / 1e6;
    return {
        ms: b.median(m.turns.fast),
        ratio: b.median(ratios),
        spread: b.spread(ratios),
        error: errors.fast,
        mb: megabytes('tuned'),
        fast_mb: megabytes('fast')
    };
}

function fastColumns(fast) {
    return fast && {
        'fast ms': b.show(fast.ms, 3),
        'fast / default': b.show(fast.ratio),
        'fast ±': b.percent(fast.spread),
        'fast error': fast.error.toExponential(1),
        MB: b.show(fast.mb),
        'fast MB': b.show(fast.fast_mb)
    };
}

function besideColumns(turns) {
    if (!turns.beside) return null;
    const ratios = turns.tuned.map((x, i) => x / turns.beside[i]);
    return {
        'beside ms': b.show(b.median(turns.beside), 3),
        'ours / beside': b.show(b.median(ratios)),
        'beside ±': b.percent(b.spread(ratios))
    };
}

function report(o, import_s, tuning, m, errors, libraries, version, load) {
    const ours = b.median(m.turns.tuned), ort = b.median(m.turns['ONNX Runtime']);
    const untuned = m.turns.untuned ? b.median(m.turns.untuned) : NaN;
    const ratios = m.turns.tuned.map((x, i) => x / m.turns['ONNX Runtime'][i]);
    const rate = ms => m.flops / ms / 1e6;
    const fresh = tuning && tuning.measured > 0, fast = fastBeside(m, errors, libraries);
    b.record(
        'model', {
            model: o.name,
            threads: o.threads,
            trials: tuning ? tuning.trials : '-',
            'ours ms': b.show(ours, 3),
            [`ORT ${version} ms`]: b.show(ort, 3),
            'ours / ORT': b.show(b.median(ratios)),
            '±': b.percent(b.spread(ratios)),
            'GFLOP/s': b.show(rate(ours), 1),
            'peak GFLOP/s': b.show(m.peak, 1),
            'of peak': b.percent(rate(ours) / m.peak),
            'ORT of peak': b.percent(rate(ort) / m.peak),
            'untuned / tuned': b.show(untuned / ours),
            'trials/s': fresh ? b.show(tuning.trials_per_second) : '-',
            'import s': b.show(import_s),
            error: errors.tuned.toExponential(1),
            ...fastColumns(fast),
            ...besideColumns(m.turns),
            'load at start': b.show(load),
            date: new Date().toISOString().slice(0, 10),
            machine: b.machine(),
        },
        {turns: m.turns, kernels: m.kernels, tuning}, o.table);
    if (!o.record) return;
    const row = {network: o.name, threads: o.threads, ours_ms: ours, ort_ms: ort, ratio: b.median(ratios), error: errors.tuned};
    if (fast)
        b.publish(
            'accuracy', [{
                ...row,
                fast_ms: fast.ms,
                fast_ratio: fast.ratio,
                fast_spread: fast.spread,
                fast_error: fast.error,
                mb: fast.mb,
                fast_mb: fast.fast_mb
            }],
            {'ONNX Runtime': version});
    else
        b.publish(
            'networks', [{
                ...row,
                spread: b.spread(ratios),
                of_peak: rate(ours) / m.peak,
                untuned: untuned / ours,
                untuned_ratio: untuned / ort,
                trials_s: fresh ? tuning.trials_per_second : NaN
            }],
            {'ONNX Runtime': version});
}

b.main(async () => {
    const o = options(), load = b.load();
    fs.mkdirSync(o.work, {recursive: true});
    const import_s = importSeconds(o), tuning = tune(o, o.db, []), level = ['--accuracy', 'fast'];
    const libraries = [['tuned', build(o, 'tuned', o.db, [])]];
    if (!o['no-untuned']) libraries.push(['untuned', build(o, 'untuned', null, [])]);
    if (o.fast) {
        tune(o, `${o.db}.fast`, level);
        libraries.push(['fast', build(o, 'fast', `${o.db}.fast`, level)]);
    }
    if (o.beside) libraries.push(['beside', path.resolve(o.beside)]);
    const ort = await startOrt(o);
    const dir = await saveInputs(o, ort);
    const errors =
        Object.fromEntries(libraries.filter(x => x[0] !== 'untuned').map(([name, file]) => [name, compare(o, dir, file)]));
    const m = await measure(o, ort, dir, libraries);
    ort.stop();
    report(o, import_s, tuning, m, errors, libraries, ort.about.version, load);
});
