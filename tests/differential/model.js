// A model in the making. Operands are tensors or names of results; which tensors become inputs and which weights is drawn, but for
// those marked `fixed`, which compilers need as constants. ONNX Runtime's JavaScript has no bf16 tensors: such operands enter as
// f32 and are cast, and results are cast back.
'use strict';

const {FLOATS, isFloat, scalar} = require('./random.js');

const BFLOAT16 = 16, FLOAT32 = 1;

class Model {
    constructor(random, opset) {
        Object.assign(this, {random, opset, nodes: [], inputs: [], weights: [], outputs: [], types: {}, count: 0});
    }

    name(prefix) {
        return `${prefix}${this.count++}`;
    }

    // A tensor's name in the graph; null is an operand left out.
    operand(x, first) {
        if (x === null || x === undefined)
            return '';
        if (typeof x === 'string')
            return x;
        const weight = x.fixed || (!first && this.random.chance(0.4)), name = this.name(weight ? 'w' : 'x');
        const bf16 = x.type === 'bfloat16';
        (weight ? this.weights : this.inputs).push({name, type: bf16 ? 'float32' : x.type, dims: x.dims, data: x.data});
        this.types[name] = x.type;
        return bf16 ? this.node('Cast', [name], {to: {i: BFLOAT16}})[0] : name;
    }

    // Adds the node, after its operands' own; gives its results' names, '' for those that are not asked for.
    node(op, operands, attrs = {}, results = 1, asked = null) {
        const inputs = operands.map((x, i) => this.operand(x, i === 0 && this.inputs.length === 0));
        while (inputs.length && inputs[inputs.length - 1] === '')
            inputs.pop();
        const outputs = Array.from({length: results}, (_, i) => !asked || asked.includes(i) ? this.name('y') : '');
        this.nodes.push({op, inputs, outputs, attrs});
        return outputs;
    }

    result(name, type) {
        this.outputs.push(type === 'bfloat16' ? this.node('Cast', [name], {to: {i: FLOAT32}})[0] : name);
    }

    // Elementwise operators that need not know their operand's shape: they may fuse with what is before or after them.
    elementwise(name, type) {
        const r = this.random, op = r.pick(['Relu', 'Tanh', 'Sigmoid', 'Neg', 'Abs', 'Add', 'Mul', 'Max']);
        const two = ['Add', 'Mul', 'Max'].includes(op);
        return this.node(op, two ? [name, {...scalar(type, r.int(-8, 8) / 8), fixed: true}] : [name])[0];
    }
}

// Turns what a generator of one operator drew into a model: {operands, attrs, results, asked, types, fuse, exact, last, coarse}.
// asked: the results that are wanted (all); types are the results'; fuse false: nothing before or after; exact: nothing before, for
// the function has a domain or steps; last: nothing after; coarse: constants of the operator are f32 in ONNX Runtime, also among
// f64.
function single(random, opset, op, drawn) {
    const m = new Model(random, opset), {operands, attrs = {}, results = 1} = drawn, ins = [...operands];
    const widen = type => FLOATS.includes(type) && type !== 'bfloat16';
    const first = ins[0], chained = first && !first.fixed && isFloat(first.type) && widen(first.type) && drawn.fuse !== false;
    const types = drawn.types || Array(results).fill(first ? first.type : 'float32');
    if (chained && !drawn.exact && random.chance(0.15))
        ins[0] = m.elementwise(m.operand(first, true), first.type);
    const out = m.node(op, ins, attrs, results, drawn.asked);
    out.forEach((name, i) => {
        if (!name)
            return;
        let last = name;
        if (chained && widen(types[i]) && !drawn.last)
            for (let k = random.chance(0.3) ? random.int(1, 2) : 0; k > 0; k--)
                last = m.elementwise(last, types[i]);
        m.result(last, types[i]);
    });
    m.half = ins.concat(first || []).some(x => x && (x.type === 'float16' || x.type === 'bfloat16'));
    m.double = first && first.type === 'float64' && types.every(t => t === 'float64') && !drawn.coarse;
    return m;
}

module.exports = {Model, single};
