// Attention and rotary embeddings, of ONNX and of com.microsoft.
'use strict';

const {ints, list, scalar} = require('../random.js');
const {fixed} = require('./move.js');

const ops = {};
const ms = name => `com.microsoft.${name}`;
const f32 = (r, dims, range = {low: -2, high: 2}) => r.tensor('float32', dims, range);
const scale = r => r.chance(0.4) ? {scale: {f: r.pick([0.125, 0.5, 1])}} : {};
const numbers = (values, type = 'int32') => ints(values, type);

ops.Attention = {
    since: 23,
    until: 24, // tctune refuses the form of opset 25
    make: (r, opset) => {
        const b = r.size(1, 3), shared = r.int(1, 3), heads = shared * r.int(1, 2), s = r.size(1, 5), d = r.pick([2, 4, 8]),
              dv = r.pick([d, 3]), flat = r.chance(0.5), causal = r.chance(0.4);
        const of = (n, rows, width) => f32(r, flat ? [b, rows, n * width] : [b, n, rows, width]),
              past = r.chance(0.4) ? r.int(1, 4) : 0;
        // Behind a past, ONNX Runtime lets the last query see all keys; ONNX lets the first see the past and one more.
        const l = causal && past ? s : r.int(1, 6), total = past + l, attrs = {
            ...scale(r),
            ...(flat ? {q_num_heads: {i: heads}, kv_num_heads: {i: shared}} : {}),
            ...(r.chance(0.2) ? {softcap: {f: 2}} : {})
        };
        if (causal) attrs.is_causal = {i: 1};
        let mask = null;
        if (r.chance(0.5)) {
            const dims = r.pick([[s, total], [b, 1, s, total], [b, heads, s, total], [1, heads, s, total]]);
            mask = r.chance(0.5) ? f32(r, dims) : r.tensor('bool', dims);
            // Something is visible in each row.
            if (mask.type === 'bool') mask.data.forEach((_, i) => i % total === 0 && (mask.data[i] = 1));
        }
        const cache = past ? [f32(r, [b, shared, past, d]), f32(r, [b, shared, past, dv])] : [null, null];
        const valid = opset >= 24 && !past && !causal && r.chance(0.3) ? ints(Array.from({length: b}, () => r.int(1, l))) : null;
        const asked = [0, ...(past ? [1, 2] : []), ...(r.chance(0.2) ? [3] : [])];
        if (asked.includes(3)) attrs.qk_matmul_output_mode = {i: r.pick([0, 3])};
        return {
            operands: [of(heads, s, d), of(shared, l, d), of(shared, l, dv), mask, ...cache, valid],
            attrs,
            results: 4,
            asked,
            types: Array(4).fill('float32'),
            fuse: false
        };
    }
};

// Masks of com.microsoft's attentions: [batch] of ends, with beginnings, [batch, keys], [batch, queries, keys].
function padding(r, b, s, t, kinds) {
    const n = r.pick(kinds);
    if (n === 0)
        return null;
    if (n === 1)
        return numbers(Array.from({length: b}, () => r.int(1, t)));
    if (n === 2)
        return numbers([
            ...Array.from({length: b}, () => r.int(Math.ceil(t / 2), t)),
            ...Array.from({length: b}, () => r.int(0, Math.ceil(t / 2) - 1))
        ]);
    return r.tensor('int32', n === 3 ? [b, t] : [b, s, t], {low: 0, high: 1});
}
ops[ms('Attention')] = {
    since: 7,
    make: r => {
        const b = r.size(1, 3), n = r.int(1, 3), s = r.size(1, 5), x = r.int(1, 9), h = r.pick([2, 4, 8]),
              past = r.chance(0.3) ? r.int(1, 4) : 0, hv = !past && r.chance(0.3) ? h + 2 : h, t = past + s;
        const all = n * (2 * h + hv), sizes = hv !== h || r.chance(0.2) ? {qkv_hidden_sizes: {I: [n * h, n * h, n * hv]}} : {};
        const attrs = {num_heads: {i: n}, ...sizes, ...scale(r), ...(r.chance(0.4) ? {unidirectional: {i: 1}} : {})};
        const operands = [
            f32(r, [b, s, x]), fixed(f32(r, [x, all], {low: -1, high: 1})), fixed(f32(r, [all])),
            padding(r, b, s, t, [0, 1, 2, 3, 4]), past ? f32(r, [2, b, n, past, h]) : null,
            r.chance(0.3) ? f32(r, [r.pick([1, b]), r.pick([1, n]), s, t]) : null
        ];
        return {operands, attrs, results: 2, asked: past ? [0, 1] : [0], types: ['float32', 'float32'], fuse: false};
    }
};
ops[ms('MultiHeadAttention')] = {
    since: 7,
    make: r => {
        const b = r.size(1, 3), n = r.int(1, 3), s = r.size(1, 5), causal = r.chance(0.3), l = causal && s > 1 ? s : r.int(1, 6),
              h = r.pick([2, 4, 8]), form = r.int(0, 4), past = form < 2 && r.chance(0.3) ? r.int(1, 4) : 0,
              hv = !past && r.chance(0.3) ? h + 1 : h, t = past + l;
        const attrs = {num_heads: {i: n}, ...scale(r), ...(causal ? {unidirectional: {i: 1}} : {})},
              kv = form === 4 ? [[b, n, l, h], [b, n, l, hv]] : [[b, l, n * h], [b, l, n * hv]];
        const bias = form < 3 && r.chance(0.5) ? fixed(f32(r, [n * (2 * h + hv)])) : null,
              cache = past ? [f32(r, [b, n, past, h]), f32(r, [b, n, past, hv])] : [];
        const operands = [
            f32(r, [b, s, n * h]), ...kv.map(d => f32(r, d)), bias, padding(r, b, s, t, [0, 1, 3, 4]),
            r.chance(0.3) ? f32(r, [r.pick([1, b]), r.pick([1, n]), s, t]) : null, ...cache
        ];
        return {operands, attrs, results: 3, asked: past ? [0, 1, 2] : [0], types: Array(3).fill('float32'), fuse: false};
    }
};
ops[ms('GroupQueryAttention')] = {
    since: 7,
    make: r => {
        const b = r.size(1, 3), k = r.int(1, 2), n = k * r.int(1, 3), d = 16, prompt = r.chance(0.4),
              s = prompt           ? r.int(1, 6) :
            r.chance(0.7) || b > 1 ? 1 :
                                     r.int(2, 3),
              packed = r.chance(0.4);
        const past = prompt ? 0 : r.int(1, 6), t = past + s,
              lengths = Array.from({length: b}, () => prompt ? t - 1 : r.int(s, t - 1));
        lengths[r.int(0, b - 1)] = t - 1;
        const rotary = r.chance(0.5), tables = rotary ? [fixed(f32(r, [16, d / 2])), fixed(f32(r, [16, d / 2]))] : [];
        const attrs = {
            num_heads: {i: n},
            kv_num_heads: {i: k},
            ...scale(r),
            ...(rotary ? {do_rotary: {i: 1}, rotary_interleaved: {i: r.int(0, 1)}} : {}),
            ...(r.chance(0.3) ? {local_window_size: {i: r.int(1, 4)}} : {}),
            ...(r.chance(0.2) ? {softcap: {f: 2}} : {})
        };
        const qkv = packed ? [f32(r, [b, s, (n + 2 * k) * d]), null, null] :
                             [f32(r, [b, s, n * d]), f32(r, [b, s, k * d]), f32(r, [b, s, k * d])];
        const cache = () => f32(r, [b, k, past, d]),
              operands = [...qkv, cache(), cache(), numbers(lengths), fixed(scalar('int32', t)), ...tables];
        return {operands, attrs, results: 3, types: Array(3).fill('float32'), fuse: false};
    }
};

// Tables of 12 rows.
function rotary(r, opset, own) {
    const b = r.size(1, 3), s = r.size(1, 5), n = r.int(1, 3), d = r.pick([4, 8, 16]), flat = r.chance(0.5),
          part = r.chance(0.3) ? d / 2 : 0, half = (part || d) / 2;
    const x = f32(r, flat ? [b, s, n * d] : [b, n, s, d]), offset = own && r.chance(0.3), by = own || r.chance(0.6),
          at = offset ? ints([r.int(0, 12 - s)]) : r.tensor('int64', [b, s], {low: 0, high: 11});
    const table = () => fixed(f32(r, by ? [12, half] : [b, s, half])), attrs = {
        interleaved: {i: r.int(0, 1)},
        ...(part ? {rotary_embedding_dim: {i: part}} : {}),
        ...(flat || part ? {num_heads: {i: n}} : {})
    };
    return {operands: own ? [x, at, table(), table()] : [x, table(), table(), by ? at : null], attrs};
}
ops.RotaryEmbedding = {since: 23, make: (r, opset) => rotary(r, opset, false)};
ops[ms('RotaryEmbedding')] = {since: 7, make: (r, opset) => rotary(r, opset, true)};

ops.TensorScatter = {
    since: 24,
    make: r => {
        const b = r.size(1, 3), flat = r.chance(0.4), t = r.int(1, 8), s = r.int(1, t), d = r.int(1, 4),
              of = n => flat ? [b, n, d] : [b, 2, n, d], circular = r.chance(0.5);
        const at = r.chance(0.8) ? ints(Array.from({length: b}, () => r.int(0, circular ? t - 1 : t - s))) : null;
        return {
            operands: [f32(r, of(t)), f32(r, of(s)), at],
            attrs: {mode: {s: circular ? 'circular' : 'linear'}, ...(r.chance(0.3) ? {axis: {i: -2}} : {})}
        };
    }
};

module.exports = {ops, list};
