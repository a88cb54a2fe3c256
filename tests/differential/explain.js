// Which elements of a result may differ from ONNX Runtime's, shown from the model itself. Each function below is the test of a row
// of known.js. It takes a case and tools (differential.js), and gives
// - a function (output, place, ours, theirs) => boolean, which `settle` asks for every element that differs,
// - true: all results are as they should be,
// - null or false: nothing is explained.
'use strict';

const {FORMAT, fromHalf} = require('./edges.js');
const {behind, computed, largestCorners, operator, scores} = require('./exact.js');
const {EIGHTHS, axesOf, broadcast, isInteger, limitsOf, realPower, reduced, wrapped} = require('./integers.js');
const {half, isFloat, product} = require('./random.js');
const {spreading} = require('./spreading.js');

const RTOL = 1e-3;

const nodesOf = model => model.plain || model.nodes;
const tensorOf = (model, name) => [...model.inputs, ...model.weights].find(t => t.name === name);
const close = (a, b) =>
    Object.is(a, b) || a === b || (Number.isFinite(a - b) && Math.abs(a - b) <= RTOL * Math.max(Math.abs(a), Math.abs(b), 1e-2));

// ---- every element that differs ----

// Integers have no tolerance.
function same(type, a, b, {rtol, atol}) {
    const equal = Object.is(a, b) || a === b, distance = equal || !isFloat(type) ? Infinity : Math.abs(a - b);
    return equal || (distance < Infinity && distance <= atol + rtol * Math.abs(b));
}

// Is each element of tctune's results ONNX Runtime's, or one that `allows` takes? allows.out has other results in the place of
// ONNX Runtime's.
async function settle(c, allows, tools) {
    const out = allows.out || c.out, ours = await tools.ours(c), within = tools.tolerance(c, out);
    return Object.entries(out).every(([name, t]) => {
        const own = ours[name], number = (data, i) => tools.decode(t.type, data[i]);
        return own && own.dims.join() === t.dims.join() && [...t.data.keys()].every(i => {
            const a = number(own.data, i), b = number(t.data, i);
            return same(t.type, a, b, within) || allows(name, i, a, b);
        });
    });
}

// ---- all results ----

// tctune has what ONNX Runtime gives where no operator loses a NaN (spreading.js).
const spreads = async (c, tools) => tools.same(c, spreading(c.model, await tools.values(c.model)));

// tctune has what ONNX's text says (exact.js).
async function exactly(c, tools) {
    const out = await computed(c, tools);
    return Boolean(out) && await tools.difference(c, out) === '';
}

// tctune has what the nodes give one after the other: between them ONNX Runtime keeps f32 for f16, whatever f16 holds.
async function steps(c, tools) {
    const known = Object.fromEntries(c.model.inputs.map(x => [x.name, x])), {outputs} = c.model;
    for (const n of c.model.half ? nodesOf(c.model) : []) {
        const inputs = n.inputs.filter(x => known[x]).map(x => ({...known[x], name: x})), own = n.outputs.filter(y => y);
        Object.assign(known, await tools.results({...c.model, nodes: [n], plain: undefined, functions: [], inputs, outputs: own}));
    }
    return outputs.every(y => known[y]) &&
           await tools.difference(c, Object.fromEntries(outputs.map(y => [y, known[y]]))) === '';
}

// ---- weights of 0 ----

const valueOf = (t, v) => t.type === 'float16' ? fromHalf(v) : v;

// Operands that hide others: their -inf stays.
const MASKS = {Attention: 3, 'com.microsoft.Attention': 5, 'com.microsoft.MultiHeadAttention': 5};

// The model with numbers of `of` (value, place) in the places of NaN and infinities.
function withNumbers(model, of) {
    const masks = new Set(nodesOf(model).flatMap(n => n.op in MASKS ? n.inputs.slice(MASKS[n.op], MASKS[n.op] + 1) : []));
    const number = ({name, type}, v, i) => {
        const value = valueOf({type}, v), stays = Number.isFinite(value) || (masks.has(name) && value === -Infinity);
        return stays ? v : type === 'float16' ? half(of(value, i)) : of(value, i);
    };
    const replaced = t => t.data && isFloat(t.type) ? {...t, data: t.data.map((v, i) => number(t, v, i))} : t;
    return {...model, inputs: model.inputs.map(replaced), weights: model.weights.map(replaced)};
}

const has = (m, test) => [...m.inputs, ...m.weights].some(t => t.data && isFloat(t.type) && t.data.some(v => test(valueOf(t, v))));

// Numbers of two kinds; and large ones of the infinities' signs, below which NaN has both signs.
const moderate = sign => (_, i) => sign < 0 ? -40 - i * 7 % 16 : 60 + i * 5 % 16;
const LARGE = {half: [64, 4, 2 ** 14], single: [2 ** 20, 12, 2 ** 40]};
const large = ([least, powers, most], run) => (v, i) => {
    const power = 2 ** ((i * 7 + run * (i % 5 + 1)) % powers), part = 1 + (i * 5 + run * 3) % 8 / 16;
    return Number.isNaN(v) ? (run ? 1 : -1) * most : Math.sign(v) * least * power * part;
};

// In an attention a row of scores that are all -inf is 0, or NaN beside values that are not finite: ONNX Runtime gives NaN, or sees
// what causality hides, to which it gives the lowest number. A row with a NaN or +inf is NaN.
async function scoreRows(c, tools) {
    if (!/Attention$/.test(c.name))
        return () => undefined;
    const {node, operands} = await operator(c, tools), [result] = node.outputs;
    const rows = scores(node, operands), {dims} = c.out[result], isWide = dims.length === 3, known = new Map();
    const size = dims.at(-1) / (isWide ? rows.heads : 1);
    const [outer, inner] = isWide ? [rows.rows, rows.heads] : [rows.heads, rows.rows];
    const kindOf = line => {
        const [b, y, x] = [Math.floor(line / outer / inner), Math.floor(line / inner) % outer, line % inner];
        return isWide ? rows.kind(b, x, y) : rows.kind(b, y, x);
    };
    return (name, i, ours) => {
        const line = Math.floor(i / size);
        if (name === result && !known.has(line))
            known.set(line, kindOf(line));
        const kind = name === result ? known.get(line) : 'number';
        return kind === 'number' ? undefined : Number.isNaN(ours) || (kind === 'hidden' && ours === 0);
    };
}

// With numbers in the places of NaN and infinities, of two kinds, both programs agree. Where an element is the same for these and
// for large numbers, these places have no weight in it: then it is this number, or NaN, for 0 * NaN and 0 * inf are NaN. Where
// large numbers of several sizes give it one sign, it is infinite if what has no weight is left out, or else NaN; where they give
// it one value (0 behind a quotient), it is that. An element in which a NaN has weight is NaN. A NaN of the operator stays one in
// nodes behind it: ONNX Runtime's maximum passes over it.
async function weightless(c, tools) {
    const runs = [], big = LARGE[c.model.half ? 'half' : 'single'], far = [];
    for (const sign of [-1, 1]) {
        const model = withNumbers(c.model, moderate(sign)), out = await tools.results(model), other = {...c, model, out};
        if (!await tools.agree(other) && !await settle(other, await scoreRows(other, tools), tools))
            return null;
        runs.push(out);
    }
    for (const run of [0, 1, 2])
        far.push(await tools.results(withNumbers(c.model, large(big, run))));
    const node = nodesOf(c.model).find(n => n.op === c.name), result = node && node.outputs[0];
    const own = node && !c.model.outputs.includes(result) && (await tools.results({...c.model, outputs: [result]}))[result];
    const anyNaN = has(c.model, Number.isNaN), anyInfinity = has(c.model, v => Math.abs(v) === Infinity);
    const values = (outs, name, i) => outs.map(out => tools.decode(out[name].type, out[name].data[i]));
    const changes = (name, i) => {
        const [v, ...others] = values([...runs, ...far], name, i);
        return others.some(other => !close(other, v));
    };
    // Without what has no weight; NaN where that is not known.
    const guess = (name, i) => {
        const all = values(far, name, i), least = big[0] / 16;
        if (!changes(name, i) || (!anyNaN && all.every(v => close(v, all[0]))))
            return all[0];
        return Math.min(...all) > least ? Infinity : Math.max(...all) < -least ? -Infinity : NaN;
    };
    const ofRow = await scoreRows(c, tools);
    const allows = (name, i, ours, theirs) => {
        const isOpen = ofRow(name, i, ours);
        if (isOpen !== undefined)
            return isOpen;
        if (Number.isNaN(ours) && !anyInfinity && changes(name, i))
            return true;
        if (own && Number.isNaN(ours) && Number.isNaN(tools.decode(own.type, own.data[i])))
            return true;
        const number = guess(name, i);
        return !Number.isNaN(number) && [ours, theirs].every(v => Number.isNaN(v) || close(v, number));
    };
    const out = tools.results(spreading(c.model, await tools.values(c.model))).catch(() => c.out);
    return Object.assign(allows, {out: await out});
}

// A maximum of corners of which one is NaN is NaN. A corner whose weight is 0, or would be but for rounding, may count or not.
const NO_WEIGHT = 1e-5;
async function corners(c, tools) {
    const {node, operands} = await operator(c, tools), {mode} = node.attrs;
    const without = [NaN, Infinity, 0].map(v => (w, x) => w > NO_WEIGHT || Number.isFinite(x) ? w * x : Math.sign(x) * v);
    const all = mode && mode.s === 'max' &&
                without.map(f => behind(c, tools, node, largestCorners(node, operands, c.model.opset, f)));
    return all && all.every(out => out) &&
           ((name, i, ours) => all.some(out => close(ours, tools.decode(out[name].type, out[name].data[i]))));
}

// ---- integer powers ----

// An integer to the power of an integer wraps, as in NumPy. By a float it is computed in f64; what its type does not hold is open.
async function powers(c, tools) {
    const {node, operands: [x, y]} = await operator(c, tools), {dims} = c.out[node.outputs[0]] || {};
    if (!isInteger(x) || !dims)
        return null;
    const [least, most] = limitsOf(x.type), known = new Map();
    const ends = (a, k) => known.get(`${a} ${k}`) || known.set(`${a} ${k}`, realPower(a, k)).get(`${a} ${k}`);
    return (name, i, ours) => {
        const a = BigInt(broadcast(x, dims, i)), b = broadcast(y, dims, i), k = EIGHTHS * Number(b);
        if (isInteger(y))
            return BigInt(ours) === wrapped(x.type, a ** BigInt(b));
        if (!Number.isInteger(k) || k < 0)
            return false; // not what is drawn
        if (a < 0n && k % EIGHTHS)
            return true; // NaN
        const [low, high] = ends(a, k);
        return low < least || high > most || (low <= BigInt(ours) && BigInt(ours) <= high);
    };
}

// Remainders of integers are exact: with the sign of the dividend (fmod), or of the divisor.
function remainders(c) {
    const node = nodesOf(c.model).find(n => n.op === 'Mod'), [x, y] = node.inputs.map(name => tensorOf(c.model, name));
    if (!x || !y || isFloat(x.type) || !node.outputs.includes(c.model.outputs[0]))
        return null;
    const {dims} = c.out[node.outputs[0]], keeps = node.attrs.fmod && node.attrs.fmod.i;
    return (name, i, ours) => {
        const a = BigInt(broadcast(x, dims, i)), b = BigInt(broadcast(y, dims, i)), rest = a % b;
        return BigInt(ours) === (keeps || rest === 0n || (rest < 0n) === (b < 0n) ? rest : rest + b);
    };
}

// An integer with the bias added, in f64 as NumPy does it, and cut. What its type does not hold is open.
async function shrunk(c, tools) {
    const {node, operands: [x]} = await operator(c, tools);
    if (!isInteger(x) || !c.out[node.outputs[0]])
        return null;
    const real = (key, otherwise) => node.attrs[key] ? Math.fround(node.attrs[key].f) : otherwise;
    const bias = real('bias', 0), lambda = real('lambd', 0.5);
    return (name, i, ours) => {
        const v = Number(x.data[i]), whole = BigInt(Math.trunc(v < -lambda ? v + bias : v > lambda ? v - bias : 0));
        return wrapped(x.type, whole) !== whole || BigInt(ours) === whole;
    };
}

// ---- norms of channels ----

// Of each channel of each image: [images * channels].
function moments(x, inner) {
    const rows = Array.from({length: x.data.length / inner}, (_, r) => x.data.slice(r * inner, (r + 1) * inner));
    const mean = rows.map(row => row.reduce((s, v) => s + v, 0) / inner);
    return [mean, rows.map((row, r) => row.reduce((s, v) => s + (v - mean[r]) ** 2, 0) / inner)];
}

// BatchNormalization and InstanceNormalization: (x - mean) / sqrt(variance + epsilon) * scale + bias, in f64. The operands are as
// the model rounds them, or not rounded: a large scale makes much of the difference.
async function channelNorms(c, tools) {
    const node = nodesOf(c.model).find(n => n.op === c.name), [result] = node.outputs, own = await tools.values(c.model);
    const numbers = t => ({...t, data: Float64Array.from(t.data, v => tools.decode(t.type, v))});
    const allows = await Promise.all([await tools.wide(c.model, node.inputs), own].map(async of => {
        const [x, scale, bias, ...given] = node.inputs.map(name => numbers(of[name])), inner = product(x.dims.slice(2));
        const [mean, variance] = given.length ? given.map(t => t.data) : moments(x, inner);
        const epsilon = Math.fround(node.attrs.epsilon ? node.attrs.epsilon.f : 1e-5);
        const data = Float64Array.from(x.data, (v, i) => {
            const row = Math.floor(i / inner), k = row % x.dims[1], at = given.length ? k : row;
            return (v - mean[at]) * (scale.data[k] / Math.sqrt(variance[at] + epsilon)) + bias.data[k];
        });
        const after = await tools.wide(c.model, c.model.outputs, {name: result, type: 'float64', dims: x.dims, data});
        return (name, i, ours) => close(ours, after[name].data[i]) || (Number.isNaN(ours) && Number.isNaN(data[i]));
    }));
    return (name, i, ours) => allows.some(f => f(name, i, ours));
}

// Elements of a row of LayerNormalization.
function rowSize(node, x) {
    const {axis} = node.attrs, from = axis ? axis.i : -1;
    return product(x.dims.slice(from < 0 ? from + x.dims.length : from));
}

// SkipLayerNormalization: what an element differs from the mean of its row by has the rounding of all elements of the row, which a
// large scale makes large. The result lies between those of the ends that this leaves, also behind nodes that rise or fall.
async function roundedCentres(c, tools) {
    const {node, operands: [x, skip, scale, bias, offset]} = await operator(c, tools), [result] = node.outputs;
    const [inner] = scale.dims;
    const sums = x.data.map((v, i) => v + broadcast(skip, x.dims, i) + (offset ? offset.data[i % inner] : 0));
    const [mean, variance] = moments({data: sums}, inner), epsilon = Math.fround(node.attrs.epsilon.f);
    const most = row => sums.slice(row * inner, (row + 1) * inner).reduce((m, v) => Math.max(m, Math.abs(v)), 0);
    const unit = unitOf(c.model.double ? 'float64' : 'float32'), slack = mean.map((_, row) => inner * unit * most(row));
    const names = c.model.outputs.filter(y => y === result || !node.outputs.includes(y));
    const ends = await Promise.all([-1, 0, 1].map(sign => {
        const data = sums.map((v, i) => {
            const row = Math.floor(i / inner), k = i % inner, centred = v - mean[row] + sign * slack[row];
            return centred / Math.sqrt(variance[row] + epsilon) * scale.data[k] + (bias ? bias.data[k] : 0);
        });
        return tools.wide(c.model, names, {name: result, type: 'float64', dims: x.dims, data});
    }));
    return (name, i, ours) => {
        const values = names.includes(name) ? ends.map(out => out[name].data[i]) : [];
        const [low, high] = [Math.min(...values), Math.max(...values)];
        return (low <= ours && ours <= high) || close(ours, low) || close(ours, high);
    };
}

// An element that is the mean of its row, but for rounding: times an infinite scale it is NaN or an infinity of any sign.
async function centres(c, tools) {
    const {node, operands: [x, scale]} = await operator(c, tools), inner = rowSize(node, x);
    const [result] = c.model.outputs, last = node.outputs[0] === result, unit = unitOf(c.out[result].type);
    const [mean] = moments(x, inner);
    return (name, i, ours) => {
        const row = Math.floor(i / inner), own = x.data.slice(row * inner, (row + 1) * inner);
        const most = own.reduce((m, v) => Math.max(m, Math.abs(v)), 0);
        const isCentre = Math.abs(x.data[i] - mean[row]) <= inner * unit * most;
        return isCentre && Math.abs(scale.data[i % inner]) === Infinity && !(last && Number.isFinite(ours));
    };
}

// ---- products without terms ----

// alpha * A * B of no terms is 0, and beta * C is left.
async function addends(c, tools) {
    const node = nodesOf(c.model).find(n => n.op === 'Gemm'), [a, , addend] = node.inputs, [result] = node.outputs, {attrs} = node;
    const number = (key, otherwise) => attrs[key] ? Object.values(attrs[key])[0] : otherwise;
    const left = tensorOf(c.model, a) || (await tools.wide(c.model, [a]))[a], t = tensorOf(c.model, addend);
    if (left.dims[number('transA', 0) ? 0 : 1] !== 0 || !t)
        return null;
    const {dims} = (await tools.wide(c.model, [result]))[result], beta = number('beta', 1);
    const data = Float64Array.from({length: product(dims)}, (_, i) => beta * tools.decode(t.type, broadcast(t, dims, i)));
    const after = await tools.wide(c.model, c.model.outputs, {name: result, type: 'float64', dims, data});
    return (out, i, ours) => close(ours, after[out].data[i]);
}

// ---- what is below the smallest normal number ----

const unitOf = type => type === 'float64' ? 2 ** -53 : 2 ** -24; // f16 is added up in f32
const normalOf = type => FORMAT[type === 'float64' ? 'float64' : 'float32'].normal;

// The smallest doubles in v: exact.
function exact(v) {
    const b = new BigUint64Array(Float64Array.of(v).buffer)[0], low = b & (1n << 52n) - 1n, exponent = b >> 52n & 2047n;
    const size = exponent ? (low | 1n << 52n) << exponent - 1n : low;
    return v < 0 ? -size : size;
}

// Of so many smallest doubles, rounded.
const rounded = n => n > -(1n << 1000n) && n < 1n << 1000n ? Number(n) * 2 ** -1074 : Number(n >> 600n) * 2 ** -474;

// The sum is less than what its rounding, and zeros in the place of small numbers, may change it by: its logarithm is open. Else it
// lies between the logarithms of both ends.
async function logarithms(c, tools) {
    const node = nodesOf(c.model).find(n => n.op === 'ReduceLogSum'), [name] = node.inputs, type = c.out[c.model.outputs[0]].type;
    const x = (await tools.wide(c.model, [name]))[name];
    const rows = reduced(x, axesOf(node, tensorOf(c.model, node.inputs[1]), x.dims.length));
    const last = node.outputs[0] === c.model.outputs[0];
    return (_, i, ours) => {
        const terms = rows.get(i), sum = rounded(terms.reduce((s, v) => s + exact(v), 0n));
        const slack = terms.length * (unitOf(type) * terms.reduce((s, v) => s + Math.abs(v), 0) + normalOf(type));
        const [low, high] = [sum - slack, sum + slack].map(v => Math.log(Math.max(v, 0)));
        const within = (a, b) => a <= b || close(a, b);
        return Number.isNaN(ours) ? sum < slack : sum <= slack && !last ? true : last && within(low, ours) && within(ours, high);
    };
}

// A weighted mean whose weights are close to the smallest number: each product is off by up to half of it. Weights that are, added
// up, below the smallest normal number may be 0, which makes the mean 0 / 0, or x / 0.
async function fewWeights(c, tools) {
    const {node, operands: [, labels, weights]} = await operator(c, tools), {ignore_index: ignored, reduction} = node.attrs;
    const [result] = c.model.outputs, {type} = c.out[result];
    if (!weights || (reduction && reduction.s !== 'mean'))
        return null;
    const own = [...labels.data].map(Number).filter(k => !(ignored && k === ignored.i) && weights.data[k]);
    const total = own.reduce((s, k) => s + weights.data[k], 0), slack = own.length * FORMAT[type].tiny / 2 / Math.abs(total);
    const wide = (await tools.wide(c.model, [result]))[result].data, isZero = Math.abs(total) < own.length * normalOf(type);
    return (name, i, ours) =>
        name === result && (Math.abs(ours - wide[i]) <= slack || (isZero && (!Number.isFinite(ours) || ours === 0)));
}

// Mean and centred elements that are below the smallest normal number may be 0.
async function centred(c, tools) {
    const {node, operands: [x, scale, bias]} = await operator(c, tools), {epsilon} = node.attrs, inner = rowSize(node, x);
    const {type} = c.out[node.outputs[0]] || {};
    const [mean, variance] = moments(x, inner), root = variance.map(v => Math.sqrt(v + Math.fround(epsilon ? epsilon.f : 1e-5)));
    return type && ((name, i, ours) => {
        const row = Math.floor(i / inner), factor = scale.data[i % inner] / root[row], normal = normalOf(type);
        const right = (x.data[i] - mean[row]) * factor + (bias ? bias.data[i % inner] : 0);
        return Math.abs(ours - right) <= normal * (2 * Math.abs(factor) + 1);
    });
}

// A norm whose terms are below the smallest normal number may be 0. The row then stays what it is.
async function norms(c, tools) {
    const node = nodesOf(c.model).find(n => n.op === 'LpNormalization'), [name] = node.inputs, [result] = node.outputs;
    const type = c.out[c.model.outputs[0]].type, wide = await tools.wide(c.model, [name, result]), x = wide[name];
    const p = node.attrs.p ? node.attrs.p.i : 2, axis = node.attrs.axis ? node.attrs.axis.i : -1;
    const along = axis < 0 ? axis + x.dims.length : axis, n = x.dims[along], inner = product(x.dims.slice(along + 1));
    const rowOf = i => Math.floor(i / (n * inner)) * inner + i % inner, sums = new Map();
    x.data.forEach((v, i) => sums.set(rowOf(i), (sums.get(rowOf(i)) || 0) + Math.abs(v) ** p));
    const small = i => sums.get(rowOf(i)) < n * normalOf(type);
    const data = wide[result].data.map((v, i) => small(i) ? x.data[i] : v);
    const after = await tools.wide(c.model, c.model.outputs, {name: result, type: 'float64', dims: x.dims, data});
    return (out, i, ours) => small(i) && close(ours, after[out].data[i]);
}

// ---- sums of a block ----

// The product is (sum of x * number - sum of x * zero point) * scale: inf - inf is NaN.
async function infiniteRows(c, tools) {
    const node = nodesOf(c.model).find(n => n.op === 'com.microsoft.MatMulNBits'), [name] = node.inputs;
    const x = (await tools.wide(c.model, [name]))[name], depth = x.dims[x.dims.length - 1], columns = node.attrs.N.i;
    return (_, i, ours) => {
        const row = Math.floor(i / columns);
        return Number.isNaN(ours) && x.data.slice(row * depth, (row + 1) * depth).some(v => !Number.isFinite(v));
    };
}

module.exports = {
    addends,
    centred,
    centres,
    channelNorms,
    corners,
    exactly,
    fewWeights,
    infiniteRows,
    logarithms,
    norms,
    powers,
    remainders,
    roundedCentres,
    settle,
    shrunk,
    spreads,
    steps,
    weightless
};
