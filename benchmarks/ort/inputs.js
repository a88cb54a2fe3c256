// Seeded inputs by a model's own description of them: floats in [-1, 1), ids inside the vocabulary, masks of ones.
'use strict';

// Below the smallest vocabulary one meets, so that an id is never out of range.
const SAFE_IDS = 1000;

// mulberry32: a few lines, the same on every machine.
function generator(seed) {
    let state = seed >>> 0;
    return () => {
        state = (state + 0x6d2b79f5) >>> 0;
        let t = state;
        t = Math.imul(t ^ (t >>> 15), t | 1);
        t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
        return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
    };
}

// What an integer input means is only in its name.
function integer(name, index, random, vocab) {
    if (/mask/i.test(name))
        return 1;
    if (/token_type|segment/i.test(name))
        return 0;
    if (/position/i.test(name))
        return index;
    return Math.floor(random() * vocab);
}

const MAKERS = {
    float32: (n, name, random) => Float32Array.from({length: n}, () => 2 * random() - 1),
    float64: (n, name, random) => Float64Array.from({length: n}, () => 2 * random() - 1),
    int64: (n, name, random, vocab) => BigInt64Array.from({length: n}, (_, i) => BigInt(integer(name, i, random, vocab))),
    int32: (n, name, random, vocab) => Int32Array.from({length: n}, (_, i) => integer(name, i, random, vocab)),
    uint8: (n, name, random) => Uint8Array.from({length: n}, () => Math.floor(random() * 256)),
    bool: (n) => Uint8Array.from({length: n}, () => 1),
};

// The shape with its symbols replaced. shapes: {input name: [1, 128]} and {symbol: [1]}.
function concrete(meta, shapes) {
    if (shapes[meta.name])
        return shapes[meta.name];
    return meta.shape.map(d => {
        if (typeof d === 'number' && d > 0)
            return d;
        if (shapes[d])
            return shapes[d][0];
        throw new Error(`input '${meta.name}' has the dimension '${d}': say --shape ${d}=N or --shape ${meta.name}=N,N`);
    });
}

function make(session, Tensor, {seed, vocab, shapes}) {
    const random = generator(seed), feeds = {};
    for (const meta of session.inputMetadata) {
        const maker = MAKERS[meta.type];
        if (!maker)
            throw new Error(`input '${meta.name}' has type ${meta.type}: add it to inputs.js`);
        const dims = concrete(meta, shapes), n = dims.reduce((a, b) => a * b, 1);
        feeds[meta.name] = new Tensor(meta.type, maker(n, meta.name, random, vocab || SAFE_IDS), dims);
    }
    return feeds;
}

module.exports = {make};
