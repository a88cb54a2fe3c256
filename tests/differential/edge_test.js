// Every generator draws every edge that edges.js does not leave out, and no reason there is left over. Needs no ONNX Runtime.
'use strict';

const {EDGES, WITHOUT, edgesOf} = require('./edges.js');
const {generate, names} = require('./generate.js');

const DRAWS = 60;
const list = [...new Set(names())], failures = [];

// Does an edge change some of the cases of this operator?
function changes(name, edge) {
    const alone = [name];
    let found = false;
    for (let seed = 0; seed < DRAWS; seed++)
        found = generate(seed, alone, edge).edges.includes(edge) || found;
    return found;
}

for (const name of list)
    for (const edge of edgesOf(name))
        try {
            if (!changes(name, edge))
                failures.push(`${name} has no case at the edge '${
                    edge}': change its generator, or state the reason in WITHOUT of edges.js`);
        } catch (e) {
            failures.push(`${name} at the edge '${edge}': ${e.stack.split('\n').slice(0, 4).join(' ')}`);
        }
const left = new Map();
for (const [edges, reason, operators] of WITHOUT) {
    if (!reason)
        failures.push(`WITHOUT leaves out ${edges} without a reason`);
    for (const edge of edges.split(' '))
        for (const name of operators.trim().split(/\s+/)) {
            if (!EDGES[edge] || !list.includes(name))
                failures.push(`WITHOUT names '${name}' and '${edge}': there is no such generator or edge`);
            if (left.has(`${name} ${edge}`))
                failures.push(`WITHOUT leaves out '${edge}' of '${name}' twice`);
            left.set(`${name} ${edge}`, true);
        }
}
failures.forEach(line => console.error(line));
console.log(`${list.length} generators, ${Object.keys(EDGES).length} edges, ${left.size} pairs left out with a reason, ${
    failures.length} failures`);
process.exit(failures.length ? 1 : 0);
