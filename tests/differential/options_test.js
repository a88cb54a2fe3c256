// The usage names each option and edge, and wrong options are refused. Needs neither ONNX Runtime nor tctune: the usage is printed
// before anything is built or fetched.
'use strict';

const assert = require('assert');
const {spawnSync} = require('child_process');
const path = require('path');

const {EDGES, OPTIONS} = require('./options.js');

const env = {...process.env, TCTUNE: ''};
const start = (program, ...args) => spawnSync(program, args, {encoding: 'utf8', env});

const help = start(path.join(__dirname, 'run'), '--only', 'Conv', '--help');
assert.deepStrictEqual([help.status, help.stderr], [0, '']);
for (const word of ['usage: tests/differential/run', ...Object.keys(OPTIONS).map(o => `--${o}`), 'none', ...Object.keys(EDGES)])
    assert(help.stdout.includes(word), `the usage does not name ${word}`);
for (const line of help.stdout.split('\n'))
    assert(line.length <= 100, line);

const REFUSED = [
    [['--cases', '0'], '--cases 0: a whole number above 0 was expected'],
    [['--cases', '1.5'], '--cases 1.5'],
    [['--seed', 'x'], '--seed x: a whole number was expected'],
    [['--edge', 'sharp'], '--edge sharp: there is no such edge; expected none, nan,'],
    [['--only', 'Cov'], '--only Cov: there is no such operator or network'],
    [['--sed', '1'], '\'--sed\''],
    [[], 'TCTUNE=PATH'],
];
for (const [args, message] of REFUSED) {
    const {status, stdout, stderr} = start(process.execPath, path.join(__dirname, 'differential.js'), ...args);
    assert.deepStrictEqual([status, stdout], [2, ''], stderr);
    assert(stderr.includes(message) && stderr.includes('run --help'), stderr);
}
console.log(`${Object.keys(OPTIONS).length} options, ${REFUSED.length} refused`);
