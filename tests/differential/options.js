// The options of tests/differential/run, and its usage.
'use strict';

const path = require('path');
const {parseArgs} = require('util');

const {EDGES} = require('./edges.js');
const {names} = require('./generate.js');

const root = path.resolve(__dirname, '../..');
const OPTIONS = {
    cases: {type: 'string', default: '2000'},
    seed: {type: 'string', default: '1'},
    only: {type: 'string'},
    edge: {type: 'string'},
    keep: {type: 'boolean', default: false},
    work: {type: 'string', default: path.join(root, 'build/differential')},
    help: {type: 'boolean', default: false},
};
const EDGE_LINES = Object.entries(EDGES).map(([name, what]) => `              ${name.padEnd(11)}${what}`).join('\n');
const USAGE = `usage: tests/differential/run [options]

Draws random models of every operator and compares tctune's results with those
of ONNX Runtime. TCTUNE names the command; without it, the command is built.

  --cases N   compare N cases (${OPTIONS.cases.default})
  --seed S    the seed of the first case (${OPTIONS.seed.default}); case i has seed S + i
  --only NAME draw this operator or network alone: Conv, com.microsoft.Gelu,
              chain_attention
  --edge EDGE draw cases at this edge alone. Without it, two of three cases
              are at an edge or two:
              none       at no edge
${EDGE_LINES}
  --keep      keep the folders of all cases, not only of those that failed
  --work DIR  write the folders of cases here (build/differential)
  --help      print this text

Ends with status 1 where a case differs without a known reason.
`;

// The options, or null where the usage is asked for.
function options(args = process.argv.slice(2)) {
    const {values} = parseArgs({args, options: OPTIONS}), cases = Number(values.cases), seed = Number(values.seed);
    if (values.help)
        return null;
    if (!Number.isSafeInteger(cases) || cases < 1)
        throw new Error(`--cases ${values.cases}: a whole number above 0 was expected`);
    if (!Number.isSafeInteger(seed))
        throw new Error(`--seed ${values.seed}: a whole number was expected`);
    if (values.edge && values.edge !== 'none' && !EDGES[values.edge])
        throw new Error(`--edge ${values.edge}: there is no such edge; expected none, ${Object.keys(EDGES).join(', ')}`);
    return {...values, cases, seed, names: names(values.only)};
}

module.exports = {EDGES, OPTIONS, USAGE, options};
