// Tunes a network twice from nothing, once for some minutes and once for many trials, and lets the two libraries take turns.
// benchmarks/search/budget calls it.
'use strict';

const fs = require('fs');
const path = require('path');
const {parseArgs} = require('util');
const b = require('../common.js');

const usage = `usage: benchmarks/search/budget MODEL.onnx [options]

  --minutes M     of the one search (3)
  --trials N      of the other (2000)
  --threads N     of the kernels (2)
  --seed S        (0)
  --rounds N      turns that each library gets (9)
  --repeats N     timed runs in a turn (20)
  --table FILE    Markdown table that gets the row (build/benchmarks/budget.md)
  --record        puts the figures into benchmarks/results and RESULTS.md`;

function options() {
    const text = d => ({type: 'string', default: d});
    const {values: o, positionals} = parseArgs({
        allowPositionals: true,
        options: {
            minutes: text('3'), trials: text('2000'), threads: text('2'), seed: text('0'), rounds: text('9'), repeats: text('20'),
            table: {type: 'string'}, record: {type: 'boolean', default: false}, help: {type: 'boolean', default: false},
        },
    });
    if (o.help || positionals.length !== 1) {
        console.log(usage);
        process.exit(o.help ? 0 : 2);
    }
    b.positive(o, 'minutes', 'trials', 'threads', 'rounds', 'repeats');
    o.model = path.resolve(positionals[0]);
    o.name = path.basename(o.model).replace(/\.onnx$/, '');
    o.work = path.join(b.results, 'budget', o.name);
    return o;
}

// Nothing of earlier sessions: an empty database, no objects, no records of similar kernels. {report, library}
function tune(o, name, budget) {
    const folder = path.join(o.work, name), db = path.join(folder, 'tune.db'), library = path.join(folder, 'model.so');
    const options = {cwd: folder, env: {...process.env, TCTUNE_CACHE: path.join(folder, 'cache')}};
    fs.rmSync(folder, {recursive: true, force: true});
    fs.mkdirSync(folder, {recursive: true});
    const started = performance.now();
    const report = b.runJson(
        [
            'tune', '--model', o.model, ...budget, '--threads', String(o.threads), '--seed', o.seed, '--start-from', 'none', '--db',
            db
        ],
        options);
    report.wall = (performance.now() - started) / 1000;
    b.run(['build', '--model', o.model, '--threads', String(o.threads), '--db', db, '--out', library], options);
    return {report, library};
}

b.main(async () => {
    const o = options(), load = b.load();
    const found = {
        minutes: tune(o, 'minutes', ['--minutes', String(o.minutes)]),
        trials: tune(o, 'trials', ['--trials', String(o.trials)])
    };
    const turns = await b.alternate(Object.entries(found).map(
        ([name, f]) => new b.Ours(name, ['--model', f.library, '--threads', String(o.threads)])), o.rounds, o.repeats);
    const shares = turns.trials.map((x, i) => x / turns.minutes[i]), ms = name => b.show(b.median(turns[name]), 3);
    b.record('budget', {
        model: o.name, threads: o.threads, minutes: o.minutes, 'its trials': found.minutes.report.measured, 'its ms': ms('minutes'),
        trials: found.trials.report.measured, 'their minutes': b.show(found.trials.report.wall / 60), 'their ms': ms('trials'),
        'reached in minutes': b.percent(b.median(shares)), '±': b.percent(b.spread(shares)), 'load at start': b.show(load),
        date: new Date().toISOString().slice(0, 10), machine: b.machine(),
    }, {turns, minutes: found.minutes.report, trials: found.trials.report}, o.table);
    if (o.record)
        b.publish('search-budget', [{
            model: o.name, minutes: o.minutes, minutes_trials: found.minutes.report.measured, minutes_ms: b.median(turns.minutes),
            trials: found.trials.report.measured, trials_minutes: found.trials.report.wall / 60, trials_ms: b.median(turns.trials),
            reached: b.median(shares), spread: b.spread(shares),
        }]);
});
