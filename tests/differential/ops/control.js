// If, Loop and Scan with random bodies, some within each other: conditions that depend on data, trip counts of all kinds, values
// that are carried, exchanged and grown, rows that are collected; and sequences. A generator is (random, model) => results' [name,
// type].
//
// A body is a model of its own that shares its parent's names, so that it may read the parent's values. Values that bodies work on
// are f32 in [-1, 1], which many trips keep there.
'use strict';

const {ints, scalar} = require('../random.js');
const {Model} = require('../model.js');
const {fixed} = require('./move.js');

const control = {};
const DEPTH = 2;
const constant = (type, v) => fixed(scalar(type, v));
const small = (r, dims) => r.tensor('float32', dims, {low: -1, high: 1});

class Body extends Model {
    constructor(around) {
        super(around.random, around.opset);
        Object.assign(this, {around, depth: (around.depth || 0) + 1, known: {}});
    }

    name(prefix) {
        return this.around.name(`b${prefix}`);
    }

    // Tensors in a body are its initializers.
    operand(x) {
        return super.operand(x && typeof x === 'object' ? fixed(x) : x, false);
    }

    // ONNX Runtime refuses results of a body that are values of what is around it.
    own(x) {
        return this.node('Identity', [x])[0];
    }

    sequence(type) {
        const name = this.name('i');
        this.inputs.push({name, type, sequence: true});
        return name;
    }

    input(type, dims) {
        const name = this.name('i');
        this.inputs.push({name, type, dims});
        return name;
    }
}

// A value of `dims` made of what is visible: a list of {name, dims}.
function leaf(r, m, visible, dims) {
    const fitting = visible.filter(v => v.dims.join() === dims.join());
    return fitting.length && r.chance(0.85) ? r.pick(fitting).name : small(r, dims);
}

function expression(r, m, visible, dims, size) {
    if (size <= 1)
        return leaf(r, m, visible, dims);
    const part = () => expression(r, m, visible, dims, Math.floor(size / 2)), n = dims.at(-1);
    switch (r.int(0, 7)) {
    case 0:
        return m.node(r.pick(['Tanh', 'Sigmoid', 'Neg', 'Abs', 'Sin']), [part()])[0];
    case 1:
        return m.node('Mul', [part(), part()])[0];
    case 2:
        return m.node('Tanh', [m.node('Add', [part(), part()])[0]])[0];
    case 3:
        return m.node(r.pick(['Max', 'Min']), [part(), part()])[0];
    case 4:
        return dims.length ? m.node('Softmax', [part()], {axis: {i: -1}})[0] : part();
    case 5: {
        if (dims.length < 2)
            return part();
        const product = m.node('MatMul', [part(), small(r, [n, n])])[0];
        return m.node('Mul', [product, constant('float32', 1 / n)])[0];
    }
    case 6: {
        if (!dims.length || n < 2)
            return part();
        const at = r.int(1, n - 1), [a, b] = m.node('Split', [part(), fixed(ints([at, n - at]))], {axis: {i: -1}}, 2);
        return m.node('Concat', [b, a], {axis: {i: -1}})[0];
    }
    default:
        return (m.depth || 0) < DEPTH && r.chance(0.4) ? r.pick([branch, repeat])(r, m, visible, dims) : part();
    }
}

// One bool that data decide.
function condition(r, m, visible) {
    const v = r.pick(visible), all = m.node('ReduceSum', [v.name], {keepdims: {i: 0}})[0];
    return m.node(r.pick(['Less', 'Greater']), [all, constant('float32', r.int(-8, 8) / 8 + 0.0313)])[0];
}

// So that a difference in the last bit does not grow from trip to trip.
const shrunk = (b, op, x) => b.node(op, [b.node('Mul', [x, constant('float32', 0.1)])[0]])[0];
const grown = (r, dims) => dims.map((d, i) => i === 0 ? d + r.int(1, 3) : d);

// A branch that gives `dims`, or `other` of them made of that.
function alternative(r, m, visible, dims, other) {
    const b = new Body(m);
    let y = b.own(expression(r, b, visible, dims, r.int(1, 8)));
    if (other)
        y = b.node('Concat', [y, small(r, other.map((d, i) => i === 0 ? d - dims[0] : d))], {axis: {i: 0}})[0];
    b.outputs.push(y);
    return {g: b};
}

function branch(r, m, visible, dims, other) {
    const [a, b] = [alternative(r, m, visible, dims), alternative(r, m, visible, dims, other)];
    const [then, or] = r.chance(0.5) ? [a, b] : [b, a];
    return m.node('If', [condition(r, m, visible)], {then_branch: then, else_branch: or})[0];
}

// Trip count and condition before the first trip, as operands, and whether the body decides as well. trips: the most. Where there
// are rows, their number has a largest value, and is not 0, for which ONNX Runtime does not always know their shape.
function end(r, m, visible, trips, rows) {
    const kind = r.pick(rows ? ['constant', 'both', 'both'] : ['constant', 'data', 'both', 'condition']);
    const count = kind === 'condition' ? '' : kind === 'data' ? ints([r.int(0, trips)]) : constant('int64', trips);
    if (kind === 'data')
        count.dims = [];
    return {
        count,
        first: !rows && r.chance(0.2) ? condition(r, m, visible) : '',
        decides: kind !== 'constant' && kind !== 'data',
        kind
    };
}

// A Loop with these values carried, and `rows` results of rows; gives all its results.
function loop(r, m, visible, carried, rows, most) {
    const b = new Body(m), trips = r.int(rows ? 1 : 0, most), e = end(r, m, visible, trips, rows > 0), i = b.input('int64', []);
    b.input('bool', []);
    const counter = e.kind === 'condition' || r.chance(0.3),
          inside = carried.map(v => ({name: b.input('float32', v.dims), dims: v.dims}));
    const now = counter && b.input('int64', []), see = [...visible, ...inside];
    const position = b.node('Cast', [i], {to: {i: 1}})[0], step = b.node('Mul', [position, constant('float32', 0.01)])[0];
    const next =
        inside.map(v => shrunk(b, r.pick(['Tanh', 'Sin']), b.node('Add', [expression(r, b, see, v.dims, r.int(1, 8)), step])[0]));
    const equal = carried.length > 1 && carried[0].dims.join() === carried[1].dims.join();
    if (equal && r.chance(0.5))
        [next[0], next[1]] = r.chance(0.5) ? [next[1], next[0]] : [inside[1].name, inside[0].name];
    let more = b.operand(constant('bool', 1));
    if (counter) {
        const after = b.node('Add', [now, constant('int64', r.int(1, 2))])[0];
        if (e.decides)
            more = b.node('Less', [after, constant('int64', trips)])[0];
        next.push(after);
    } else if (e.decides) {
        more = condition(r, b, see);
    }
    const row = Array.from(
        {length: rows},
        () => b.own(expression(
            r, b, [...see, ...next.slice(0, inside.length).map((name, k) => ({name, dims: inside[k].dims}))], r.pick(carried).dims,
            r.int(1, 4))));
    b.outputs.push(more, ...next, ...row);
    const first = [...carried.map(v => v.name), ...(counter ? [constant('int64', 0)] : [])];
    return m.node('Loop', [e.count, e.first, ...first], {body: {g: b}}, next.length + rows);
}

function repeat(r, m, visible, dims) {
    return loop(r, m, visible, [{name: m.operand(leaf(r, m, visible, dims)), dims}], 0, 5)[0];
}

function start(r, m) {
    const dims = () => r.pick([[], [r.int(1, 9)], [r.int(1, 5), r.int(1, 17)], [2, 3, r.int(1, 8)]]), one = dims();
    return [one, r.chance(0.5) ? one : dims(), dims()]
        .slice(0, r.int(1, 3))
        .map((d, i) => ({name: m.operand(small(r, d), i === 0), dims: d}));
}

control.if = (r, m) => {
    const visible = start(r, m).filter(v => v.dims.length),
          pool = visible.length ? visible : [{name: m.operand(small(r, [4, 5]), true), dims: [4, 5]}];
    const dims = r.pick(pool).dims, other = r.chance(0.4) ? grown(r, dims) : undefined, y = branch(r, m, pool, dims, other);
    return [[y, 'float32'], [r.chance(0.5) && !other ? m.node('Tanh', [y])[0] : m.node('Relu', [y])[0], 'float32']];
};
control.loop = (r, m) => {
    const visible = start(r, m), carried = visible.slice(0, r.int(1, visible.length)), rows = r.int(0, 2);
    const out = loop(r, m, visible, carried, rows, r.pick([1, 6, 6, 40, 900]));
    const types = out.map((_, k) => k >= carried.length && k < out.length - rows ? 'int64' : 'float32');
    return out.map((name, k) => [name, types[k]]);
};
// A first dimension that grows by a number of rows in each trip.
control.grow = (r, m) => {
    const width = r.int(1, 7), b = new Body(m), trips = r.int(1, 9), x = m.operand(small(r, [r.int(1, 3), width]), true);
    const i = b.input('int64', []);
    b.input('bool', []);
    const v = b.input('float32'), last = b.node('Gather', [v, constant('int64', -1)], {axis: {i: 0}})[0];
    const mean = b.node('ReduceMean', [v], {axes: {I: [0]}, keepdims: {i: 0}})[0], step = b.node('Cast', [i], {to: {i: 1}})[0];
    const mixed = b.node('Tanh', [b.node('Add', [b.node('Add', [last, mean])[0], step])[0]])[0];
    const row = b.node('Reshape', [mixed, fixed(ints([1, width]))])[0],
          more = r.chance(0.5) ? [row, b.operand(small(r, [r.int(1, 2), width]))] : [row];
    const next = b.node('Concat', [v, ...more], {axis: {i: 0}})[0];
    const go = r.chance(0.5) ? b.operand(constant('bool', 1)) : condition(r, b, [{name: mixed, dims: [width]}]);
    b.outputs.push(go, next, ...(r.chance(0.5) ? [mixed] : []));
    return m.node('Loop', [constant('int64', trips), '', x], {body: {g: b}}, b.outputs.length - 1).map(name => [name, 'float32']);
};
control.scan = (r, m) => {
    const length = r.pick([1, 4, 60, 700, 5000]), dims = r.pick([[], [r.int(1, 6)], [2, r.int(1, 5)]]), b = new Body(m),
          walked = r.int(1, 2), rows = r.int(1, 2);
    const state = {name: b.input('float32', dims), dims}, axes = Array.from({length: walked}, () => r.int(0, dims.length));
    const see = [state, ...axes.map(() => ({name: b.input('float32', dims), dims}))];
    const next = shrunk(b, 'Tanh', b.node('Add', [see[1].name, expression(r, b, see, dims, r.int(2, 12))])[0]);
    const row =
        Array.from({length: rows}, () => b.node('Neg', [expression(r, b, [...see, {name: next, dims}], dims, r.int(1, 6))])[0]);
    b.outputs.push(next, ...row);
    b.outputs.forEach(name => {
        b.known[name] = ['float32', dims];
    });
    const flags = n => ({I: Array.from({length: n}, () => r.int(0, 1))});
    const sequences = axes.map((a, k) => m.operand(small(r, [...dims.slice(0, a), length, ...dims.slice(a)]), k === 0));
    const attrs = {
        body: {g: b},
        num_scan_inputs: {i: walked},
        scan_input_axes: {I: axes},
        scan_input_directions: flags(walked),
        scan_output_directions: flags(rows)
    };
    attrs.scan_output_axes = {I: row.map(() => r.int(-1, dims.length))};
    return m.node('Scan', [m.operand(small(r, dims)), ...sequences], attrs, 1 + rows).map(name => [name, 'float32']);
};

// Scan as opset 8 has it: a batch of sequences, with or without lengths of their own.
control.scan_batch = (r, m) => {
    m.opset = 8;
    const batch = r.int(1, 5), length = r.pick([1, 3, 20, 70]), dims = r.pick([[], [r.int(1, 6)], [2, r.int(1, 5)]]),
          b = new Body(m), walked = r.int(1, 2);
    const state = b.input('float32', dims), x = Array.from({length: walked}, () => b.input('float32', dims));
    const sum = x.reduce((a, y) => b.node('Add', [a, y])[0], b.node('Mul', [state, constant('float32', 0.25)])[0]),
          next = b.node('Tanh', [sum])[0];
    b.outputs.push(next, b.node('Sub', [next, x[0]])[0]);
    b.outputs.forEach(name => {
        b.known[name] = ['float32', dims];
    });
    const lengths = ints(Array.from({length: batch}, () => r.int(1, length))),
          sequences = x.map(() => small(r, [batch, length, ...dims]));
    const attrs = {body: {g: b}, num_scan_inputs: {i: walked}, directions: {I: x.map(() => r.int(0, 1))}};
    const first = [r.chance(0.3) ? null : r.chance(0.3) ? fixed(lengths) : lengths, small(r, [batch, ...dims]), ...sequences];
    return m.node('Scan', first.map((t, k) => m.operand(t, k === 2)), attrs, 2).map(name => [name, 'float32']);
};

// A list of tensors, [name, dims] of each beside it, changed some times and read at the end.
control.sequence = (r, m) => {
    const dims = () => [r.int(1, 4), r.int(1, 5)], fresh = () => {
        const d = dims();
        return {name: m.operand(small(r, d), !m.inputs.length), dims: d};
    };
    const there = []; // whether optionals have their value
    let items = Array.from({length: r.int(1, 4)}, fresh), list;
    if (r.chance(0.5)) {
        list = m.node('SequenceConstruct', items.map(x => x.name))[0];
    } else {
        const rows = r.int(1, 7), by = r.int(1, 3), x = m.operand(small(r, [rows, 3]), true);
        const parts = r.chance(0.3) ? [x] : [
            x,
            r.chance(0.5) ? constant('int64', by) :
                            fixed(ints([...Array(Math.floor(rows / by)).fill(by), ...(rows % by ? [rows % by] : [])]))
        ];
        const squeeze = parts.length === 1 && r.chance(0.5), size = parts.length === 1 ? 1 : by;
        list = m.node('SplitToSequence', parts, {axis: {i: 0}, ...(squeeze ? {keepdims: {i: 0}} : {})})[0];
        items = Array.from(
            {length: Math.ceil(rows / size)}, (_, i) => ({name: '', dims: squeeze ? [3] : [Math.min(size, rows - i * size), 3]}));
    }
    const position = most => {
        const at = r.int(0, most);
        return [at, constant(r.pick(['int32', 'int64']), at)];
    };
    for (let k = r.int(0, 5); k > 0; k--) {
        const what = r.int(0, 3), one = fresh();
        if (what === 0) {
            const [at, operand] = position(items.length), last = r.chance(0.3);
            list = m.node('SequenceInsert', last ? [list, one.name] : [list, one.name, operand])[0];
            items.splice(last ? items.length : at, 0, one);
        } else if (what === 1 && items.length > 1) {
            const [at, operand] = position(items.length - 1), last = r.chance(0.3);
            list = m.node('SequenceErase', last ? [list] : [list, operand])[0];
            items.splice(last ? items.length - 1 : at, 1);
        } else if (what === 2 && m.opset >= 17) {
            const b = new Body(m), x = b.input('float32'),
                  factor =
                      b.node('Mul', [x, one.name.length && r.chance(0.5) ? constant('float32', 0.5) : constant('float32', 2)])[0];
            b.outputs.push(b.node('Tanh', [factor])[0]);
            b.known[b.outputs[0]] = ['float32'];
            list = m.node('SequenceMap', [list], {body: {g: b}})[0];
        } else if (what === 3 && m.opset >= 15) {
            const optional = r.chance(0.5) && m.node('Optional', [list])[0];
            list = optional ? m.node('OptionalGetElement', [optional])[0] : m.node('Identity', [list])[0];
            if (optional)
                there.push([m.node('OptionalHasElement', [optional])[0], 'bool']);
        }
    }
    const [at, operand] = position(items.length - 1), results = [
        [m.node('SequenceAt', [list, operand])[0], 'float32'], [m.node('SequenceLength', [list])[0], 'int64'], ...there
    ];
    const equal =
        items.every(x => x.dims.slice(1).join() === items[at].dims.slice(1).join() && x.dims.length === items[at].dims.length);
    if (equal)
        results.push([m.node('ConcatFromSequence', [list], {axis: {i: 0}})[0], 'float32']);
    if (items.every(x => x.dims.join() === items[at].dims.join()))
        results.push([m.node('ConcatFromSequence', [list], {axis: {i: r.pick([0, 1, -1])}, new_axis: {i: 1}})[0], 'float32']);
    return results;
};
// Rows that a loop appends to a list.
control.collect = (r, m) => {
    const d = [r.int(1, 3), r.int(1, 5)], b = new Body(m), i = b.input('int64', []), more = b.input('bool', []),
          list = b.sequence('float32');
    const x = m.operand(small(r, d), true), step = b.node('Cast', [i], {to: {i: 1}})[0],
          row = b.node('Tanh', [b.node('Mul', [x, step])[0]])[0];
    b.outputs.push(
        b.node('Identity', [more])[0],
        b.node('SequenceInsert', r.chance(0.5) ? [list, row] : [list, row, constant('int64', 0)])[0]);
    const first = r.chance(0.5) ? m.node('SequenceEmpty', [])[0] : m.node('SequenceConstruct', [x])[0];
    const all = m.node('Loop', [constant('int64', r.int(1, 9)), '', first], {body: {g: b}})[0];
    return [[m.node('ConcatFromSequence', [all], {axis: {i: r.int(0, 1)}, new_axis: {i: r.int(0, 1)}})[0], 'float32']];
};
// A list that a loop changes, whose end the data decide: appended to, or read, inserted into and erased from as well.
control.listed = (r, m) => {
    const d = [r.int(1, 3), r.int(1, 5)], b = new Body(m), i = b.input('int64', []), reads = r.chance(0.6),
          x = m.operand(small(r, d), true);
    b.input('bool', []);
    let list = b.sequence('float32');
    const step = b.node('Cast', [i], {to: {i: 1}})[0], last = reads ? b.node('SequenceAt', [list, constant('int64', -1)])[0] : x;
    const row = b.node('Tanh', [b.node('Add', [last, b.node('Mul', [x, step])[0]])[0]])[0],
          n = reads && r.chance(0.5) && b.node('SequenceLength', [list])[0];
    for (let k = r.int(1, 2); k > 0; k--) {
        const at = reads && r.chance(0.4) ?
            n && r.chance(0.5) ? b.node('Div', [n, constant('int64', 2)])[0] : constant('int64', r.int(-1, 0)) :
            '';
        list = b.node('SequenceInsert', [list, k > 1 ? b.node('Neg', [row])[0] : row, at])[0];
    }
    if (reads && r.chance(0.3))
        list = b.node('SequenceErase', r.chance(0.5) ? [list] : [list, constant('int64', 0)])[0];
    const limit = {...ints([r.int(0, 12)]), dims: []}, more = b.node('Less', [i, m.operand(limit)])[0];
    b.outputs.push(more, list);
    const first =
        reads || r.chance(0.4) ? m.node('SequenceConstruct', r.chance(0.5) ? [x, x] : [x])[0] : m.node('SequenceEmpty', [])[0];
    const all = m.node('Loop', [constant('int64', r.int(1, 50)), '', first], {body: {g: b}})[0];
    const joined = m.node('ConcatFromSequence', [all], {axis: {i: r.int(0, 1)}, new_axis: {i: r.int(0, 1)}})[0];
    return [
        [joined, 'float32'], [m.node('SequenceLength', [all])[0], 'int64'],
        [m.node('SequenceAt', [all, constant('int64', r.pick([0, -1]))])[0], 'float32']
    ];
};

module.exports = {chains: control};
