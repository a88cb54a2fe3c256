// Draws cases: an operator or a network, the edges that it is drawn at, and the model.
'use strict';

const fs = require('fs');
const path = require('path');

const {changeDrawn, changeModel, drawn} = require('./edges.js');
const {Model, single} = require('./model.js');
const {Random} = require('./random.js');

const OPSETS = [7, 26];
const chains = Object.assign({}, ...['chains', 'control', 'graphs'].map(f => require(`./ops/${f}.js`).chains));
// A generator of a later file takes precedence.
const files = ['defined', 'elementwise', 'move', 'reduce', 'window', 'contract', 'select', 'others', 'microsoft', 'attention'];
const families = files.map(f => require(`./ops/${f}.js`).ops);
const ops = Object.assign({}, ...families);

// The operators of models in the operator table.
function table() {
    const text = file => fs.readFileSync(path.resolve(__dirname, '../../src/graph/ir', file), 'utf8');
    return [...text('ops.def').matchAll(/^\w*OP\(\w+, "([\w.]+)", (\d+)/gm),
            ...text('expansions.txt').matchAll(/^op ([\w.]+) (\d+)/gm)]
        .filter(([, , since]) => Number(since) <= OPSETS[1])
        .map(x => x[1]);
}

// All there is, chains twice as often; a generator is missing where the operator table has grown.
function names(only, operators = table()) {
    const missing = operators.filter(name => !ops[name]);
    if (missing.length)
        throw new Error(`no generator for: ${missing.join(', ')}`);
    const own = Object.keys(chains).map(c => `chain_${c}`),
          all = [...Object.keys(ops), ...own, ...own].filter(n => !only || n === only);
    if (!all.length)
        throw new Error(`--only ${only}: there is no such operator or network; names are Conv, com.microsoft.Gelu, ${own[0]}`);
    return all;
}

function chain(r, name) {
    const make = chains[name.slice('chain_'.length)], m = new Model(r, r.int(...(make.opsets || [13, 17])));
    make(r, m).forEach(([result, type]) => m.result(result, type));
    return m;
}

// {name, model, edges}: the edges that changed something. edge: at this one alone.
function generate(seed, list, edge) {
    const r = new Random(seed), name = list[seed % list.length], edges = drawn(r, name, edge), op = ops[name];
    r.empty = edges.includes('empty');
    if (!op) {
        const model = chain(r, name);
        return {name, model, edges: changeModel(r, name, model, edges)};
    }
    const opset = r.int(Math.max(op.since, OPSETS[0]), op.until || OPSETS[1]), d = {exact: op.exact, ...op.make(r, opset)};
    const done = changeDrawn(r, name, d, edges), model = single(r, opset, name, d);
    return {name, model, edges: [...done, ...changeModel(r, name, model, edges)]};
}

module.exports = {
    OPSETS,
    generate,
    names,
    table
};
