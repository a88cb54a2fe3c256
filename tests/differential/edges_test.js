// Every operator that import takes has a generator, or a network draws it. Every generator draws every edge that edges.js does not
// leave out, and no reason there is left over, nor a row of known.js. The same checks find the gaps of lists that have some. Needs
// no ONNX Runtime.
'use strict';

const assert = require('assert');
const fs = require('fs');
const path = require('path');

const {CANCELS, EDGES, WITHOUT, edgesOf} = require('./edges.js');
const {OPSETS, generate, names, table} = require('./generate.js');
const {KNOWN} = require('./known.js');

const DRAWS = 60;
// Operators that import itself takes apart; networks draw them.
const NETWORKS = 'if loop grow scan scan_batch sequence collect listed'.split(' ').map(name => `chain_${name}`);

// Pairs of a generator and an edge that changes none of its cases.
function undrawn(list, edges, draw) {
    const failures = [];
    for (const name of list)
        for (const edge of edges(name))
            try {
                let found = false;
                for (let seed = 0; seed < DRAWS; seed++) // all of them: the generator must not throw
                    found = draw(seed, [name], edge).edges.includes(edge) || found;
                if (!found)
                    failures.push(`${name} has no case at the edge '${
                        edge}': change its generator, or state the reason in WITHOUT of edges.js`);
            } catch (e) {
                failures.push(`${name} at the edge '${edge}': ${e.stack.split('\n').slice(0, 4).join(' ')}`);
            }
    return failures;
}

// Rows of WITHOUT that say nothing, or that nothing needs.
function leftOver(rows, list) {
    const failures = [], left = new Set();
    for (const [edges, reason, operators] of rows) {
        if (!reason)
            failures.push(`WITHOUT leaves out ${edges} without a reason`);
        for (const edge of edges.split(' '))
            for (const name of operators.trim().split(/\s+/)) {
                if (!EDGES[edge] || !list.includes(name))
                    failures.push(`WITHOUT names '${name}' and '${edge}': there is no such generator or edge`);
                if (left.has(`${name} ${edge}`))
                    failures.push(`WITHOUT leaves out '${edge}' of '${name}' twice`);
                left.add(`${name} ${edge}`);
            }
    }
    return {failures, pairs: left.size};
}

// Operators and edges of known.js that no case has together.
function unneeded(rows, list) {
    const applies = (name, edge) => list.includes(name) && edgesOf(name).includes(edge), failures = [];
    for (const [operators, edges] of rows) {
        const [names, own] = [operators, edges].map(text => text.split(' '));
        for (const name of names.filter(n => !own.some(e => applies(n, e))))
            failures.push(`known.js has ${name} at ${edges}: there are no such cases`);
        for (const edge of own.filter(e => !names.some(n => applies(n, e))))
            failures.push(`known.js has ${operators} at ${edge}: there are no such cases`);
    }
    return failures;
}

// Sums that cancel, of scaled terms, behind which other functions stand.
function hidden(list) {
    const failures = [];
    for (const name of CANCELS)
        for (let seed = 0; list.includes(name) && seed < DRAWS; seed++) {
            const {model, edges} = generate(seed, [name], 'scale'), last = model.nodes.filter(n => n.op !== 'Cast').at(-1);
            if (edges.includes('scale') && last.op !== name)
                failures.push(`${name} at the edge 'scale', seed ${seed}: ${last.op} stands behind it`);
        }
    const unknown = [...CANCELS].filter(name => !list.includes(name));
    return [...failures, ...unknown.map(name => `CANCELS names ${name}, which nothing draws`)];
}

// Operators of the page (written from all tables of import) that nothing draws.
function unreached(page, list) {
    const inBodies = m => m.nodes.flatMap(n => [n.op, ...Object.values(n.attrs || {}).flatMap(v => v.g ? inBodies(v.g) : [])]);
    const drawn = new Set(list);
    for (const name of NETWORKS)
        for (let seed = 0; seed < DRAWS; seed++)
            inBodies(generate(seed, [name], 'none').model).forEach(op => drawn.add(op));
    return [...page.matchAll(/^\| ([\w.]+) \| (\d+) to /gm)]
        .filter(([, name, since]) => Number(since) <= OPSETS[1] && !drawn.has(name))
        .map(([, name]) => `no generator and no network draws ${name}: add it in ops/`);
}

const list = [...new Set(names())], {failures: rows, pairs} = leftOver(WITHOUT, list);
const page = fs.readFileSync(path.resolve(__dirname, '../../docs/reference/operators.md'), 'utf8');
const needs = [...unneeded(KNOWN, list), ...hidden(list), ...unreached(page, list)];
const failures = [...undrawn(list, edgesOf, generate), ...rows, ...needs];

// Each check finds a gap.
assert.throws(() => names(undefined, [...table(), 'Frobnicate']), /no generator for: Frobnicate/);
const blunt = () => ({edges: []}), broken = () => { throw new Error('no sizes'); };
assert.match(undrawn(['Relu'], () => ['nan'], blunt).join(), /^Relu has no case at the edge 'nan'/);
assert.match(undrawn(['Relu'], () => ['nan'], broken).join(), /^Relu at the edge 'nan': Error: no sizes/);
assert.deepStrictEqual(
    leftOver([['nan', '', 'Relu'], ['sharp', 'r', 'Relu'], ['nan', 'r', 'Relu']], ['Relu']).failures.map(f => f.slice(0, 22)),
    ['WITHOUT leaves out nan', 'WITHOUT names \'Relu\' a', 'WITHOUT leaves out \'na']);
const needless = unneeded([['Relu', 'nan'], ['Relu And', 'nan'], ['Softmax', 'nan limits']], ['Relu', 'And', 'Softmax']);
assert.deepStrictEqual(needless.map(f => f.slice(0, 26)), ['known.js has And at nan: t', 'known.js has Softmax at li']);
assert.match(unreached('| Frobnicate | 1 to 26 |', list).join(), /draws Frobnicate/);

failures.forEach(line => console.error(line));
console.log(`${list.length} generators, ${Object.keys(EDGES).length} edges, ${pairs} pairs left out with a reason, ${
    failures.length} failures`);
process.exit(failures.length ? 1 : 0);
