// f32 tensors as typed arrays: seeded values, changes of layout, comparison.
'use strict';

const {product} = require('./describe.js');

// mulberry32, to [-1, 1).
function random(count, seed) {
    const data = new Float32Array(count);
    let state = seed >>> 0;
    for (let i = 0; i < count; i++) {
        state = (state + 0x6d2b79f5) >>> 0;
        let t = state;
        t = Math.imul(t ^ (t >>> 15), t | 1);
        t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
        data[i] = ((t ^ (t >>> 14)) >>> 0) / 2 ** 31 - 1;
    }
    return data;
}

function stridesOf(dims) {
    const strides = Array(dims.length).fill(1);
    for (let i = dims.length - 2; i >= 0; i--)
        strides[i] = strides[i + 1] * dims[i + 1];
    return strides;
}

// A view names a tensor's axes in another order; each of its axes is a group of the tensor's, joined, or [] for one of extent 1.
const viewDims = (dims, groups) => groups.map(g => product(g.map(a => dims[a])));

// Strides of the view over the tensor's own memory. The axes of a group must lie next to each other there.
function viewStrides(dims, groups) {
    const strides = stridesOf(dims);
    return groups.map(g => g.length ? strides[g[g.length - 1]] : 1);
}

// Offsets of all elements of a part of the loop nest, in its order.
function offsets(extents, strides) {
    let list = [0];
    extents.forEach((n, axis) => {
        const next = new Array(list.length * n);
        for (let i = 0, at = 0; i < list.length; i++)
            for (let k = 0; k < n; k++)
                next[at++] = list[i] + k * strides[axis];
        list = next;
    });
    return list;
}

// Offsets in the tensor of the view's elements: the outer half of its axes and the inner half apart, so that the tables stay small.
function walk(dims, groups, visit) {
    const order = groups.flat(), strides = stridesOf(dims), half = order.length >> 1;
    const table = axes => offsets(axes.map(a => dims[a]), axes.map(a => strides[a]));
    const outer = table(order.slice(0, half)), inner = table(order.slice(half));
    let at = 0;
    for (const o of outer)
        for (const i of inner)
            visit(at++, o + i);
}

// The tensor's values in the view's order.
function toView(data, dims, groups) {
    const out = new Float32Array(data.length);
    walk(dims, groups, (view, own) => { out[view] = data[own]; });
    return out;
}

function fromView(data, dims, groups) {
    const out = new Float32Array(data.length);
    walk(dims, groups, (view, own) => { out[own] = data[view]; });
    return out;
}

// The largest difference, over the largest value of the reference. NaN where they are not comparable.
function error(got, want) {
    if (got.length !== want.length)
        return NaN;
    let worst = 0, largest = 0;
    for (let i = 0; i < want.length; i++) {
        const d = Math.abs(got[i] - want[i]);
        if (!(d <= Number.MAX_VALUE))
            return NaN;
        worst = Math.max(worst, d);
        largest = Math.max(largest, Math.abs(want[i]));
    }
    return largest > 0 ? worst / largest : worst;
}

module.exports = {error, fromView, random, stridesOf, toView, viewDims, viewStrides};
