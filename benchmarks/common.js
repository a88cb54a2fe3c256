// What the benchmark drivers share: the command, peers that stay alive between their turns, medians, and the tables that results go
// to.
'use strict';

const child_process = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');
const readline = require('readline');

const root = path.dirname(__dirname);
const tctune = path.resolve(process.env.TCTUNE || path.join(root, 'build/release/bin/tctune'));
const results = path.join(root, 'build/benchmarks');

// What a Python program needs that uses the library of the build that the command is of. Nobody reads the peak that it tells of.
const library_env = {
    TCTUNE_LIBRARY: process.env.TCTUNE_LIBRARY || path.resolve(path.dirname(tctune), '../lib/libtctune.so'),
    PYTHONPATH: path.join(root, 'python'),
    TCTUNE_PEAK_SECONDS: '0.005',
};

// Threads of a team that was just busy spin before they sleep; nobody's turn starts while another's threads do.
const PAUSE_MS = 100;

function median(list) {
    const sorted = [...list].sort((a, b) => a - b);
    return (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;
}

// The half of the values around the median lies within this much of it, as a share of it.
function spread(list) {
    const middle = median(list);
    return median(list.map(x => Math.abs(x - middle))) / middle;
}

// Where the median of what the list is drawn from lies, with 95 % (with fewer than 6 values: the least and the largest).
function interval(list) {
    const sorted = [...list].sort((a, b) => a - b), n = sorted.length;
    let k = 0;
    for (let term = 0.5 ** n, below = term; k + 1 < n / 2; k++) {
        term *= (n - k) / (k + 1);
        below += term;
        if (below > 0.025)
            break;
    }
    return [sorted[k], sorted[n - 1 - k]];
}

const pause = () => new Promise(done => setTimeout(done, PAUSE_MS));

function fail(message) {
    throw new Error(message);
}

// Runs the command; its progress goes to the terminal. Returns what it printed.
function run(args, options = {}) {
    const r = child_process.spawnSync(
        tctune, args, {encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], maxBuffer: 1 << 28, ...options});
    if (r.error)
        fail(`${tctune} cannot be run (${r.error.message}): build it, or name it in TCTUNE`);
    if (r.status !== 0)
        fail(`tctune ${args.join(' ')} ended with ${r.signal || r.status}`);
    return r.stdout;
}

const runJson = (args, options) => JSON.parse(run([...args, '--json'], options));

function seconds(args, options) {
    const started = performance.now();
    run(args, options);
    return (performance.now() - started) / 1000;
}

// A program that says {ready: true} and then answers each line it is sent with one line of JSON.
class Peer {
    constructor(name, command, args, env = {}) {
        this.name = name;
        this.process = child_process.spawn(command, args, {stdio: ['pipe', 'pipe', 'inherit'], env: {...process.env, ...env}});
        this.process.on('error', () => {}); // reading finds out
        this.process.stdin.on('error', () => {});
        this.lines = readline.createInterface({input: this.process.stdout})[Symbol.asyncIterator]();
    }

    static async start(name, command, args) {
        const p = new Peer(name, command, args);
        await p.ready();
        return p;
    }

    async ready() {
        this.about = await this.read();
    }

    async read() {
        const {value, done} = await this.lines.next();
        if (done)
            fail(`${this.name} ended without an answer`);
        const answer = JSON.parse(value);
        if (answer.error)
            fail(`${this.name}: ${answer.error}`);
        return answer;
    }

    ask(line) {
        this.process.stdin.write(line + '\n');
        return this.read();
    }

    // The median of one turn, or its best, in milliseconds.
    async turn(repeats, best) {
        const times = (await this.ask(`run ${repeats}`)).times_ms;
        return best ? Math.min(...times) : median(times);
    }

    stop() {
        this.process.stdin.end('quit\n');
    }
}

// `tctune bench` as one that takes turns. Keeps what each turn said of the machine.
class Ours {
    constructor(name, args) {
        Object.assign(this, {name, args, reports: []});
    }

    async turn(repeats, best) {
        const r = runJson(['bench', ...this.args, '--repeats', String(repeats)]);
        this.reports.push(r);
        return best ? r.min_ms : r.median_ms;
    }

    // Of the unit that a single kernel can use, else of f32.
    get peaks() {
        return this.reports.map(r => (r.unit_peaks && r.unit_peaks[r.unit]) || r.peak_gflops);
    }

    get peak() {
        return median(this.peaks);
    }

    get flops() {
        return this.reports[0].flops;
    }

    stop() {}
}

// Turns in rotation, each round starting with another: {name: [ms of each turn]}. A first round that nobody counts warms up.
async function alternate(runners, rounds, repeats, best = false) {
    const turns = Object.fromEntries(runners.map(r => [r.name, []]));
    for (let round = -1; round < rounds; round++)
        for (let i = 0; i < runners.length; i++) {
            const r = runners[(i + round + runners.length) % runners.length];
            await pause();
            const ms = await r.turn(repeats, best);
            if (round >= 0)
                turns[r.name].push(ms);
        }
    return turns;
}

// The peers that a program of peers/ was built with.
function programs(program, args = []) {
    return child_process.execFileSync(program, args, {encoding: 'utf8'}).split('\n').filter(Boolean);
}

function machine() {
    const cpus = os.cpus();
    return `${cpus[0].model.trim()}, ${cpus.length} cores, Linux ${os.release()}`;
}

// What else was running: a number near 0 means that the figures can be believed.
const load = () => os.loadavg()[0];

// Appends a row to a Markdown table in build/benchmarks, and the raw numbers beside it as a JSON line.
function record(name, columns, raw, table) {
    const file = path.resolve(table || path.join(results, `${name}.md`));
    fs.mkdirSync(path.dirname(file), {recursive: true});
    const row = cells => `| ${cells.join(' | ')} |\n`;
    if (!fs.existsSync(file))
        fs.writeFileSync(file, row(Object.keys(columns)) + row(Object.keys(columns).map(() => '---')));
    fs.appendFileSync(file, row(Object.values(columns)));
    fs.appendFileSync(file.replace(/\.md$/, '') + '.jsonl', JSON.stringify({...columns, raw}) + '\n');
    for (const [k, v] of Object.entries(columns))
        console.log(`${k.padEnd(28)} ${v}`);
    console.log(`\nappended to ${path.relative(process.cwd(), file)}`);
}

// Rows of figures into results/SUBJECT.json, in the place of this machine's older ones; RESULTS.md is written anew. What is not a
// number was not measured.
function publish(subject, rows, peers = {}) {
    const kept = rows.map(
        row => Object.fromEntries(Object.entries(row)
                                      .filter(([, x]) => typeof x === 'string' || Number.isFinite(x))
                                      .map(([k, x]) => [k, typeof x === 'string' ? x : Number(x.toPrecision(4))])));
    child_process.execFileSync('/usr/bin/python3', [path.join(__dirname, 'results.py'), 'record', subject],
                               {input: JSON.stringify({rows: kept, peers}), stdio: ['pipe', 'inherit', 'inherit']});
}

// "0.87" for numbers, "-" for what was not measured.
const show = (x, digits = 2) => Number.isFinite(x) ? x.toFixed(digits) : '-';
const percent = x => Number.isFinite(x) ? `${(100 * x).toFixed(1)} %` : '-';

// What 'bench --against' says of a network with the records of `db`, beside its default schedules: whole, and kernel by kernel.
// model: options that name it. Status 3 of bench says that something is slower, which the document tells, too.
function besideUntuned(dir, model, db) {
    const base = path.join(dir, 'base.json');
    fs.writeFileSync(base, run(['bench', ...model, '--untuned', '--repeats', '5', '--json'], {cwd: dir}));
    const p = child_process.spawnSync(
        tctune, ['bench', ...model, '--db', db, '--against', base, '--json'], {encoding: 'utf8', maxBuffer: 1 << 28});
    if (p.status !== 0 && p.status !== 3)
        fail(`bench --against ended with ${p.status ?? p.signal}: ${p.stderr.trim()}`);
    return JSON.parse(p.stdout);
}

// The figures of such a document: of the network, how many kernels run another program than untuned, and which are slower. Where
// no program changed the ratio is 1. Without a document nothing is known.
function gainOf(verdict) {
    if (!verdict)
        return {replaced: NaN, slower: []};
    const whole = verdict.network || {}, isSlower = x => x.verdict === 'slower';
    return {
        untuned_ms: whole.base_ms,
        tuned_ms: whole.now_ms,
        ratio: whole.ratio ?? 1,
        low: whole.low ?? 1,
        high: whole.high ?? 1,
        kernels: verdict.kernels.length,
        replaced: verdict.kernels.filter(k => !['unchanged', 'same code'].includes(k.verdict)).length,
        slower: verdict.kernels.filter(isSlower),
        isSlower: isSlower(whole),
    };
}

function positive(values, ...names) {
    for (const n of names)
        if (!Number.isInteger(values[n] = Number(values[n])) || values[n] < 1)
            fail(`--${n} wants a number of at least 1`);
}

function main(body) {
    body().then(() => process.exit(0), e => {
        process.stderr.write(`${path.basename(process.argv[1])}: ${e.message}\n`);
        process.exit(1);
    });
}

module.exports = {
    Ours,
    Peer,
    alternate,
    besideUntuned,
    fail,
    gainOf,
    interval,
    library_env,
    load,
    machine,
    main,
    median,
    pause,
    percent,
    positive,
    programs,
    publish,
    record,
    results,
    root,
    run,
    runJson,
    seconds,
    show,
    spread,
    tctune
};
