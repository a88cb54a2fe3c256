// Results of single operators as ONNX's text has them, in f64. For those that ONNX Runtime computes in f32, approximates, or leaves
// open. computed(case, tools): the results of the model, by name; null where nodes behind the operator are not elementwise.
'use strict';

const {RESULTS} = require('./integers.js');
const {rounded} = require('./reference.js');
const {list, product} = require('./random.js');

const attr = (n, key, otherwise) => n.attrs && n.attrs[key] ? Object.values(n.attrs[key])[0] : otherwise;
const float = (n, key, otherwise) => Math.fround(attr(n, key, otherwise));
const floats = (dims, data) => ({type: 'float64', dims, data: Float64Array.from(data)});
const integers = (type, dims, values) => ({...list(type, values), dims});
const logistic = v => 1 / (1 + Math.exp(-v));
const range = n => Array.from({length: n}, (_, i) => i);

// ---- elementwise ----

const SELU = {alpha: 1.67326319217681884765625, gamma: 1.05070102214813232421875};
const FUNCTIONS = {
    Celu: (n, a = float(n, 'alpha', 1)) => v => v > 0 ? v : a * Math.expm1(v / a),
    Elu: (n, a = float(n, 'alpha', 1)) => v => v > 0 ? v : a * Math.expm1(v),
    Selu: (n, a = float(n, 'alpha', SELU.alpha), g = float(n, 'gamma', SELU.gamma)) => v => g * (v > 0 ? v : a * Math.expm1(v)),
    Shrink: (n, b = float(n, 'bias', 0), l = float(n, 'lambd', 0.5)) => v => v < -l ? v + b : v > l ? v - b : 0,
    Softplus: () => v => Math.max(v, 0) + Math.log1p(Math.exp(-Math.abs(v))),
};
const pointwise = (n, [x]) => [floats(x.dims, x.data.map(FUNCTIONS[n.op](n)))];

// Divided in f32, rounded to even, and cut to the type.
const LIMITS = {int8: [-128, 127], uint8: [0, 255], int16: [-32768, 32767], uint16: [0, 65535]};
function quantised(n, [x, scale, zero], c) {
    const {type} = c.out[n.outputs[0]], [low, high] = LIMITS[type], axis = attr(n, 'axis', 1);
    const along = axis < 0 ? axis + x.dims.length : axis, inner = product(x.dims.slice(along + 1));
    const even = v => { const f = Math.floor(v), r = v - f; return r > 0.5 || (r === 0.5 && f % 2) ? f + 1 : f; };
    const data = [...x.data].map((v, i) => {
        const k = scale.data.length === 1 ? 0 : Math.floor(i / inner) % x.dims[along], z = zero ? Number(zero.data[k]) : 0;
        return Math.min(Math.max(even(Math.fround(v / scale.data[k])) + z, low), high);
    });
    return scale.data.length === 1 || scale.dims.length === 1 ? [integers(type, x.dims, data)] : null;
}

// ---- recurrent layers ----

const ACTIVATIONS = {Relu: v => v > 0 ? v : v === v ? 0 : v, Tanh: Math.tanh, Sigmoid: logistic};
const dot = (a, b) => a.reduce((s, v, i) => s + v * b[i], 0);

// One step of each kind: (gate, functions, state) => state. gate(k, h, W-part and R-part of the biases apart).
const STEPS = {
    RNN: (l, {h}, f) => ({h: l.row(j => f(l.sum(0, j) + l.product(0, j, h)))}),
    GRU: (l, {h}, f, g) => {
        const z = l.row(j => f(l.sum(0, j) + l.product(0, j, h))), r = l.row(j => f(l.sum(1, j) + l.product(1, j, h)));
        const some = l.row(j => r[j] * h[j]);
        const next = l.row(j => g(l.sum(2, j) + (l.late ? r[j] * l.product(2, j, h) : l.product(2, j, some))));
        return {h: l.row(j => (1 - z[j]) * next[j] + z[j] * h[j])};
    },
    LSTM: (l, {h, c}, f, g) => {
        const gate = (k, j) => l.sum(k, j) + l.product(k, j, h), look = (p, j, cell) => l.peep ? l.peep(p, j) * cell[j] : 0;
        const i = l.row(j => f(gate(0, j) + look(0, j, c))), forget = l.row(j => f(gate(2, j) + look(2, j, c)));
        const cell = l.row(j => forget[j] * c[j] + i[j] * g(gate(3, j)));
        return {h: l.row(j => f(gate(1, j) + look(1, j, cell)) * Math.tanh(cell[j])), c: cell};
    },
};

function recurrent(n, [x, w, r, b, lengths, first, cell, peepholes]) {
    const [steps, batch, inputs] = x.dims, [directions, , hidden] = r.dims, gates = w.dims[1] / hidden, clip = float(n, 'clip', 0);
    const cut = v => clip ? Math.min(Math.max(v, -clip), clip) : v, row = f => range(hidden).map(f);
    const y = new Float64Array(steps * directions * batch * hidden), last = {h: [], c: []};
    for (let d = 0; d < directions; d++) {
        const named = (attr(n, 'activations', []))[d], f = ACTIVATIONS[named || (n.op === 'RNN' ? 'Tanh' : 'Sigmoid')];
        const part = (t, k, width) => t.data.slice(((d * gates * hidden) + k) * width, ((d * gates * hidden) + k + 1) * width);
        const bias = (side, k) => b ? b.data[(2 * d + side) * gates * hidden + k] : 0;
        for (let m = 0; m < batch; m++) {
            const state = t => t ? [...t.data.slice((d * batch + m) * hidden, (d * batch + m + 1) * hidden)] : row(() => 0);
            const long = lengths ? Number(lengths.data[m]) : steps, back = attr(n, 'direction') === 'reverse' || d === 1;
            let now = {h: state(first), c: state(cell)};
            for (let s = 0; s < long; s++) {
                const t = back ? long - 1 - s : s, in_ = x.data.slice((t * batch + m) * inputs, (t * batch + m + 1) * inputs);
                const l = {
                    row,
                    late: attr(n, 'linear_before_reset', 0),
                    sum: (k, j) => dot(in_, part(w, k * hidden + j, inputs)) + bias(0, k * hidden + j),
                    product: (k, j, h) => dot(h, part(r, k * hidden + j, hidden)) + bias(1, k * hidden + j),
                    peep: peepholes && ((p, j) => peepholes.data[(3 * d + p) * hidden + j]),
                };
                now = STEPS[n.op](l, now, v => f(cut(v)), v => Math.tanh(cut(v)));
                now.h.forEach((v, j) => { y[((t * directions + d) * batch + m) * hidden + j] = v; });
            }
            last.h.push(...now.h);
            last.c.push(...now.c || []);
        }
    }
    const ends = [directions, batch, hidden];
    return [floats([steps, directions, batch, hidden], y), floats(ends, last.h), floats(ends, last.c)];
}

// ---- selection ----

// NaN above all numbers, and all NaN equal.
const order = (a, b) => Number.isNaN(a) ? (Number.isNaN(b) ? 0 : 1) : Number.isNaN(b) ? -1 : a < b ? -1 : a > b ? 1 : 0;

function unique(n, [x], c) {
    const given = attr(n, 'axis', null), axis = given === null ? 0 : given < 0 ? given + x.dims.length : given;
    const dims = given === null ? [x.data.length] : x.dims, inner = product(dims.slice(axis + 1)), count = dims[axis];
    const slice = k => [...x.data].filter((_, i) => Math.floor(i / inner) % count === k), all = range(count).map(slice);
    const compare = (a, b) => a.map((v, i) => order(v, b[i])).find(o => o) || 0;
    const firsts = range(count).filter(k => !range(k).some(j => compare(all[j], all[k]) === 0));
    if (attr(n, 'sorted', 1))
        firsts.sort((a, b) => compare(all[a], all[b]));
    const of = range(count).map(k => firsts.findIndex(f => compare(all[f], all[k]) === 0));
    const size = dims.map((d, i) => i === axis ? firsts.length : d), outer = product(dims.slice(0, axis));
    const values = range(outer).flatMap(o => firsts.flatMap(f => all[f].slice(o * inner, (o + 1) * inner)));
    const {type} = c.out[n.outputs[0]];
    return [
        /float/.test(type) ? floats(size, values) : integers(type, size, values),
        ...[firsts, of, firsts.map((_, k) => of.filter(f => f === k).length)].map(v => integers('int64', [v.length], v))
    ];
}

const sides = ([a, b, c, d], centred) =>
    centred ? [b - d / 2, a - c / 2, b + d / 2, a + c / 2] : [Math.min(a, c), Math.min(b, d), Math.max(a, c), Math.max(b, d)];

function overlap(a, b) {
    const [y0, x0] = [0, 1].map(k => Math.max(a[k], b[k])), [y1, x1] = [2, 3].map(k => Math.min(a[k], b[k]));
    const area = ([p, q, r, s]) => (r - p) * (s - q), both = y1 > y0 && x1 > x0 ? (y1 - y0) * (x1 - x0) : 0;
    return both ? both / (area(a) + area(b) - both) : 0;
}

// A score that is NaN is not above the threshold; without a threshold it is the best.
function suppressed(n, [boxes, scores, most, threshold, least]) {
    const [batches, classes, count] = scores.dims, first = (t, otherwise) => t ? Number(t.data[0]) : otherwise, rows = [];
    for (let g = 0; g < batches * classes; g++) {
        const score = k => scores.data[g * count + k], kept = [], b = Math.floor(g / classes);
        const box = k => sides(boxes.data.slice((b * count + k) * 4, (b * count + k + 1) * 4), attr(n, 'center_point_box', 0));
        const scored = range(count).filter(i => !least || score(i) > first(least));
        for (const k of scored.sort((i, j) => order(score(j), score(i)) || i - j))
            if (kept.length < first(most, 0) && kept.every(i => overlap(box(k), box(i)) <= first(threshold, 0)))
                kept.push(k);
        rows.push(...kept.flatMap(k => [b, g % classes, k]));
    }
    return [integers('int64', [rows.length / 3, 3], rows)];
}

// ---- regions ----

// Samples of bin i of an axis of a region: [pixel, weight] of two neighbours each; none outside.
function samples(n, opset, from, to, bins, extent, i) {
    const half = attr(n, 'coordinate_transformation_mode', opset < 16 ? 'output_half_pixel' : 'half_pixel') === 'half_pixel';
    const factor = float(n, 'spatial_scale', 1), begin = from * factor - (half ? 0.5 : 0), long = (to - from) * factor;
    const bin = (half ? long : Math.max(long, 1)) / bins, count = attr(n, 'sampling_ratio', 0) || Math.ceil(bin);
    return range(count).map(k => begin + (i + (k + 0.5) / count) * bin).map(v => {
        if (v < -1 || v > extent)
            return [];
        const low = Math.min(Math.floor(Math.max(v, 0)), extent - 1), weight = low === extent - 1 ? 0 : Math.max(v, 0) - low;
        return [[low, 1 - weight], [Math.min(low + 1, extent - 1), weight]];
    });
}

// RoiAlign's maximum: of each element, the largest of its samples' corners times their weights. product(weight, value) decides what
// a weight of 0 gives.
function largestCorners(n, [x, boxes, batch], opset, product) {
    const [, channels, high, wide] = x.dims, [regions] = boxes.dims;
    const bins = ['output_height', 'output_width'].map(k => attr(n, k, 1));
    const data = [], value = (r, c, y, w) => x.data[((Number(batch.data[r]) * channels + c) * high + y) * wide + w];
    for (let at = 0; at < regions * channels * bins[0] * bins[1]; at++) {
        const j = at % bins[1], i = Math.floor(at / bins[1]) % bins[0], plane = Math.floor(at / bins[0] / bins[1]);
        const r = Math.floor(plane / channels), [x0, y0, x1, y1] = boxes.data.slice(4 * r, 4 * r + 4);
        const rows = samples(n, opset, y0, y1, bins[0], high, i), columns = samples(n, opset, x0, x1, bins[1], wide, j);
        const corners = rows.flatMap(a => columns.flatMap(
            b => a.length && b.length
                ? a.flatMap(([y, p]) => b.map(([w, q]) => product(p * q, value(r, plane % channels, y, w))))
                : [0]));
        data.push(corners.length ? corners.reduce((m, v) => Math.max(m, v)) : 0);
    }
    return [floats([regions, channels, ...bins], data)];
}

// ---- the model's results ----

const BY_OPERATOR = {
    ...Object.fromEntries(Object.keys(FUNCTIONS).map(op => [op, pointwise])),
    QuantizeLinear: quantised,
    'com.microsoft.QuantizeLinear': quantised,
    RNN: recurrent,
    GRU: recurrent,
    LSTM: recurrent,
    Unique: unique,
    NonMaxSuppression: suppressed,
    ...RESULTS,
};

// What may stand behind the operator: of one element, and perhaps a constant.
const keepsNaN = f => (a, b) => Number.isNaN(a) ? a : Number.isNaN(b) ? b : f(a, b);
const BEHIND = {
    Cast: v => v, // of floats
    Relu: keepsNaN(v => Math.max(v, 0)),
    Tanh: Math.tanh,
    Sigmoid: logistic,
    Neg: v => -v,
    Abs: Math.abs,
    Add: (a, b) => a + b,
    Mul: (a, b) => a * b,
    Max: keepsNaN(Math.max),
};

// The operator of the case, and its operands in f64.
async function operator(c, tools) {
    const node = (c.model.plain || c.model.nodes).find(n => n.op === c.name);
    const operands = await tools.wide(c.model, node.inputs.filter(x => x));
    return {node, operands: node.inputs.map(x => x ? operands[x] : null)};
}

// The results of the model from those of the node.
function behind(c, tools, node, results) {
    const nodes = c.model.plain || c.model.nodes, known = Object.fromEntries(node.outputs.map((y, i) => [y, results[i]]));
    for (const n of nodes.slice(nodes.indexOf(node) + 1)) {
        const x = known[n.inputs[0]], second = c.model.weights.find(w => w.name === n.inputs[1]);
        if (!BEHIND[n.op] || !x || (n.inputs[1] && !(second && second.data.length === 1)))
            return null;
        const number = second && tools.decode(second.type, second.data[0]);
        known[n.outputs[0]] = {...x, data: x.data.map(v => BEHIND[n.op](v, number))};
    }
    return rounded(c.out, known).results;
}

async function computed(c, tools) {
    const {node, operands} = await operator(c, tools), own = BY_OPERATOR[node.op](node, operands, c);
    return own && behind(c, tools, node, own);
}

// ---- attention ----

// An element of operand t at a head, row and column; rows of all heads lie side by side in three dimensions.
const headed = (t, heads) => {
    const rows = t.dims.at(-2), wide = t.dims.length === 3, size = t.dims.at(-1) / (wide ? heads : 1);
    const of = wide ? (b, h, s, d) => t.data[((b * rows + s) * heads + h) * size + d] :
                      (b, h, s, d) => t.data[((b * heads + h) * rows + s) * size + d];
    return {of, rows, size};
};
const places = (t, at) => t.data[t.dims.reduce((k, n, d) => k * n + (n === 1 ? 0 : at[d + at.length - t.dims.length]), 0)];
const joined = (past, now, heads) => {
    const next = headed(now, heads), old = past && headed(past, heads), n = old ? old.rows : 0;
    return {...next, rows: n + next.rows, of: (b, h, s, d) => s < n ? old.of(b, h, s, d) : next.of(b, h, s - n, d)};
};

// The masks of com.microsoft's operators add a finite number.
const unidirectional = (n, first) => (b, h, s, t) => Boolean(attr(n, 'unidirectional', 0)) && t > first + s;

// Of each operator: queries, keys, their heads and what is added to scores; hides: which keys a query does not see.
const ATTENTIONS = {
    Attention: (n, [q, k, , mask, past, , valid]) => {
        const heads = attr(n, 'q_num_heads', q.dims[1]), shared = attr(n, 'kv_num_heads', k.dims[1]);
        const keys = joined(past, k, shared);
        const ends = valid ? b => Number(valid.data[b]) : () => keys.rows, isFlag = mask && mask.type === 'bool';
        const first = past ? past.dims[2] : 0, causal = attr(n, 'is_causal', 0);
        return {
            heads, shared, keys,
            queries: headed(q, heads),
            bias: (...at) => mask && !isFlag ? places(mask, at) : 0,
            hides: (b, h, s, t) => t >= ends(b) || (causal && t > first + s) || Boolean(isFlag && !places(mask, [b, h, s, t])),
        };
    },
    'com.microsoft.MultiHeadAttention': (n, [q, k, , b, , bias, past]) => {
        const heads = attr(n, 'num_heads'), queries = headed(q, heads), keys = joined(past, k, heads), all = heads * queries.size;
        const plus = (t, part) => ({
            ...t, of: (...at) => t.of(...at) + (b && (part === 0 || at[2] >= keys.rows - k.dims.at(-2)) ?
                                                    b.data[part * all + at[1] * queries.size + at[3]] : 0)
        });
        const isWide = k.dims.length === 3; // else the bias belongs to the queries alone
        return {
            heads, shared: heads, queries: plus(queries, 0), keys: isWide ? plus(keys, 1) : keys,
            bias: (...at) => bias ? places(bias, at) : 0,
            hides: unidirectional(n, keys.rows - queries.rows),
        };
    },
    'com.microsoft.Attention': (n, [x, w, b, , past, bias]) => {
        const heads = attr(n, 'num_heads'), [, rows, inputs] = x.dims, all = w.dims[1];
        const [width] = attr(n, 'qkv_hidden_sizes', [all / 3]), size = width / heads, old = past ? past.dims[3] : 0;
        const part = from => (m, h, s, d) => {
            const column = from + h * size + d, row = x.data.slice((m * rows + s) * inputs, (m * rows + s + 1) * inputs);
            return row.reduce((v, a, i) => v + a * w.data[i * all + column], b.data[column]);
        };
        const before = (m, h, t, d) => past.data[((m * heads + h) * old + t) * size + d];
        return {
            heads, shared: heads,
            queries: {rows, size, of: part(0)},
            keys: {rows: old + rows, of: (m, h, t, d) => t < old ? before(m, h, t, d) : part(width)(m, h, t - old, d)},
            bias: (...at) => bias ? places(bias, at) : 0,
            hides: unidirectional(n, old),
        };
    },
    'com.microsoft.GroupQueryAttention': (n, [q, k, , past, , ends, , cosine, sine]) => {
        const heads = attr(n, 'num_heads'), shared = attr(n, 'kv_num_heads'), own = headed(q, k ? heads : heads + 2 * shared);
        const near = attr(n, 'local_window_size', -1), old = past.dims[2];
        const firstOf = b => old ? Number(ends.data[b]) + 1 - own.rows : 0;
        const turned = ({of, size, ...rest}) => ({
            ...rest, size, of: (b, h, s, d) => {
                if (!attr(n, 'do_rotary', 0))
                    return of(b, h, s, d);
                const half = size / 2, pairs = attr(n, 'rotary_interleaved', 0), k = pairs ? d >> 1 : d % half;
                const second = pairs ? d % 2 : d >= half, other = of(b, h, s, pairs ? d ^ 1 : second ? d - half : d + half);
                const [c, w] = [cosine, sine].map(t => t.data[(firstOf(b) + s) * half + k]);
                return of(b, h, s, d) * c + (second ? other * w : -other * w);
            }
        });
        const part = {...own, of: (b, h, s, d) => own.of(b, h + heads, s, d)}, next = turned(k ? headed(k, shared) : part);
        const before = headed(past, shared);
        return {
            heads, shared,
            queries: turned(own),
            keys: {
                rows: old + own.rows,
                of: (b, h, t, d) => t < firstOf(b) ? before.of(b, h, t, d) : next.of(b, h, t - firstOf(b), d),
            },
            bias: () => 0,
            hides: (b, h, s, t) => t > firstOf(b) + s || (near >= 0 && t <= firstOf(b) + s - near),
        };
    },
};

// Has a query's row of scores (batch, head, row) no number ('hidden'), or NaN or +inf ('nan')? Else 'number'.
function scores(n, operands) {
    const {heads, shared, queries, keys, bias, hides} = ATTENTIONS[n.op](n, operands), {size} = queries;
    const shares = h => Math.floor(h * shared / heads), cap = float(n, 'softcap', 0);
    const factor = attr(n, 'scale', 0) ? float(n, 'scale') : 1 / Math.sqrt(size);
    const kind = (b, h, s) => {
        const own = range(keys.rows).filter(t => !hides(b, h, s, t)).map(t => {
            const sum = range(size).reduce((v, d) => v + queries.of(b, h, s, d) * keys.of(b, shares(h), t, d), 0);
            return (cap ? cap * Math.tanh(sum * factor / cap) : sum * factor) + bias(b, h, s, t);
        });
        return own.some(v => !(v < Infinity)) ? 'nan' : own.every(v => v === -Infinity) ? 'hidden' : 'number';
    };
    return {heads, rows: queries.rows, kind};
}

module.exports = {
    behind,
    computed,
    largestCorners,
    operator,
    scores
};
