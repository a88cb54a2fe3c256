// Local functions: a run of a model's nodes moves into a function that the model calls. Some attributes of these nodes become
// references to attributes of the function, which the call gives or which have defaults; the function may stand in another.
'use strict';

const DOMAIN = 'local', REFERABLE = new Set(['i', 'f', 's', 'I', 'F', 'S']);

const isBody = v => 'g' in v;
const bodies = node => Object.values(node.attrs || {}).filter(isBody).map(v => v.g);

// The names that a body takes from around it.
function captured(body) {
    const own = new Set([...body.inputs, ...body.weights].map(x => x.name).concat(body.nodes.flatMap(n => n.outputs)));
    return body.nodes.flatMap(read).concat(body.outputs).filter(x => x && !own.has(x));
}

function read(node) {
    return [...node.inputs, ...bodies(node).flatMap(captured)].filter(x => x);
}

// What stands in the place of the attributes: references, what the call gives, and defaults.
function refer(r, nodes) {
    const given = {}, attributes = [], defaults = {};
    const moved = nodes.map(n => {
        const attrs = {};
        for (const [key, value] of Object.entries(n.attrs || {})) {
            const [kind] = Object.keys(value), name = `p${attributes.length + Object.keys(defaults).length}`;
            if (!REFERABLE.has(kind) || r.chance(0.5)) {
                attrs[key] = value;
                continue;
            }
            attrs[key] = {ref: name, kind};
            if (r.chance(0.5))
                attributes.push(name);
            else
                defaults[name] = r.chance(0.5) || kind !== 'i' ? value : {i: 1 - value.i}; // the call gives another one
            if (!defaults[name] || defaults[name] !== value)
                given[name] = value;
        }
        return {...n, attrs};
    });
    return {moved, given, attributes, defaults};
}

// Inside, values have other names, unless bodies know them.
function renamed(nodes, inputs) {
    if (nodes.some(n => bodies(n).length))
        return {nodes, formal: x => x};
    const known = new Map(inputs.map((x, i) => [x, `a${i}`])), formal = x => {
        if (x && !known.has(x))
            known.set(x, `v${known.size}`);
        return x && known.get(x);
    };
    return {nodes: nodes.map(n => ({...n, inputs: n.inputs.map(formal), outputs: n.outputs.map(formal)})), formal};
}

// The call of f passed on by a function around it, with the attributes as references.
function around(f, call) {
    const attrs = {};
    for (const [name, value] of Object.entries(call.attrs))
        attrs[name] = {ref: `q_${name}`, kind: Object.keys(value)[0]};
    const outer = {
        name: `${f.name}_around`,
        domain: DOMAIN,
        inputs: f.inputs,
        outputs: f.outputs,
        nodes: [{op: `${DOMAIN}.${f.name}`, inputs: f.inputs, outputs: f.outputs, attrs}],
        attributes: Object.keys(attrs).map(name => `q_${name}`),
        defaults: {},
    };
    return {
        outer,
        call: {
            ...call,
            op: `${DOMAIN}.${outer.name}`,
            attrs: Object.fromEntries(Object.entries(call.attrs).map(([k, v]) => [`q_${k}`, v]))
        }
    };
}

// Moves a run of nodes into a function; false where there is none that can be moved. m.plain: the nodes as they were.
function wrap(r, m) {
    const n = m.nodes.length, from = r.chance(0.5) ? 0 : r.int(0, n - 1), to = r.chance(0.5) ? n : r.int(from + 1, n);
    const run = m.nodes.slice(from, to), made = new Set(run.flatMap(x => x.outputs).filter(x => x));
    const inputs = [...new Set(run.flatMap(read))].filter(x => !made.has(x)),
          rest = [...m.nodes.slice(0, from), ...m.nodes.slice(to)];
    const later = new Set([...rest.flatMap(read), ...m.outputs]), outputs = [...made].filter(x => later.has(x));
    if (!run.length || !outputs.length)
        return false;
    const {moved, given, attributes, defaults} = refer(r, run), inside = renamed(moved, inputs);
    const f = {
        name: 'part',
        domain: DOMAIN,
        inputs: inputs.map(inside.formal),
        outputs: outputs.map(inside.formal),
        nodes: inside.nodes,
        attributes,
        defaults,
    };
    const call = {op: `${DOMAIN}.${f.name}`, inputs, outputs, attrs: given}, nested = r.chance(0.4) && around(f, call);
    m.plain = m.nodes;
    m.nodes = [...m.nodes.slice(0, from), nested ? nested.call : call, ...m.nodes.slice(to)];
    m.functions = nested ? [f, nested.outer] : [f];
    return true;
}

module.exports = {
    DOMAIN,
    wrap
};
