// ONNX Runtime in a process of its own: some models end it. Oracle.run gives the results of a model by name, or throws.
'use strict';

const child_process = require('child_process');
const path = require('path');

// Loaded where it is used: --help needs none.
const runtime = () => require(path.resolve(__dirname, '../../benchmarks/ort/node_modules/onnxruntime-node'));

async function results({bytes, inputs}) {
    const ort = runtime();
    const session = await ort.InferenceSession.create(Buffer.from(bytes), {
        executionProviders: ['cpu'],
        intraOpNumThreads: 1,
        interOpNumThreads: 1,
        graphOptimizationLevel: 'disabled',
        logSeverityLevel: 4,
    });
    try {
        const out = await session.run(Object.fromEntries(inputs.map(x => [x.name, new ort.Tensor(x.type, x.data, x.dims)])));
        return Object.fromEntries(
            Object.entries(out).map(([name, t]) => [name, {type: t.type, dims: [...t.dims], data: t.data}]));
    } finally {
        await session.release();
    }
}

// One question at a time.
class Oracle {
    constructor() {
        this.last = Promise.resolve();
    }

    run(model, bytes) {
        const inputs = model.inputs.map(({name, type, dims, data}) => ({name, type, dims, data}));
        return this.last = this.last.catch(() => null).then(() => this.ask({bytes, inputs}));
    }

    ask(question) {
        const child = this.child = this.child || child_process.fork(__filename, {serialization: 'advanced'});
        return new Promise((resolve, reject) => {
            const end = (code, signal) => {
                this.child = null;
                reject(new Error(`ONNX Runtime's process ended: ${signal || `exit ${code}`}`));
            };
            child.once('exit', end);
            child.once('message', ({out, error}) => {
                child.removeListener('exit', end);
                if (out)
                    resolve(out);
                else
                    reject(new Error(error));
            });
            child.send(question);
        });
    }

    close() {
        if (this.child)
            this.child.disconnect();
    }
}

if (require.main === module)
    process.on('message', question => results(question).then(out => process.send({out}), e => process.send({error: e.message})));

module.exports = {
    Oracle,
    version : () => runtime().env.versions.node
};
