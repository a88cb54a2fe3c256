// Generators of pointwise operators, from their definitions in the operator table. A generator in another file takes precedence.
'use strict';

const fs = require('fs');
const path = require('path');

const {ALL, FLOATS, INTS, NUMBERS} = require('../random.js');

const TYPES = {float: FLOATS, number: NUMBERS, integer: INTS, bool: ['bool'], any: ALL};

// "x: float, alpha = 0.01": {operands: [{name: 'x', types: 'float'}], attrs: {alpha: r => ({f: 0.375})}}
function parameters(text) {
    const operands = [], attrs = {};
    for (const part of text.split(/, */)) {
        const [, name, value, words] = /^(\w+)(?: *= *([\d.]+))?(?: *[=:] *([\w| ]+))?$/.exec(part);
        if (value)
            attrs[name] = r => value.includes('.') ? {f: r.int(-16, 16) / 8} : {i: r.int(0, 1)};
        else if (words && !TYPES[words])
            attrs[name] = r => ({s: r.pick(words.split(/ *\| */))});
        else
            operands.push({name, types: words || operands.at(-1).types});
    }
    return {operands, attrs};
}

function generator(since, {operands, attrs}, result) {
    return {
        since,
        make: r => {
            const dims = r.dims(0, 4), type = {}, of = operands.find(x => x.name === result) || operands[0];
            operands.forEach(({types}) => type[types] = type[types] || r.pick(TYPES[types]));
            return {
                operands: operands.map(({types}, i) => r.tensor(type[types], i ? r.broadcasting(dims) : dims)),
                attrs: Object.fromEntries(Object.entries(attrs).map(([name, draw]) => [name, draw(r)])),
                types: [result === 'bool' ? 'bool' : type[of.types]],
            };
        },
    };
}

// The rows of the table that say everything in their definitions.
const table = fs.readFileSync(path.resolve(__dirname, '../../../src/graph/ir/ops.def'), 'utf8'), ops = {}, takes = {};
for (const [, name, since, text, result] of
         table.matchAll(/^POINTWISE_OP\(\w+, "([\w.]+)", (\d+), \d+, "\(([^)]*)\)(?: -> (\w+))?:/gm)) {
    const signature = parameters(text), types = new Set(signature.operands.map(x => x.types));
    ops[name] = generator(Number(since), signature, result);
    takes[name] = types.size === 1 ? [...types][0] : 'any';
}

// takes: "float", "number", "integer", "bool" or "any", the types of all operands.
module.exports = {ops, takes};
