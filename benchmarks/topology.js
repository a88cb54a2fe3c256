// Networks by name: the topologies of ../shared/models, whose weights are drawn once, and those that busy/networks.py makes.
'use strict';

const child_process = require('child_process');
const fs = require('fs');
const path = require('path');
const b = require('./common.js');

const shared = path.join(b.root, '../shared/models');
const made = ['mobilenet_v3_small', 'shufflenet_v2'];

// All topologies whose sizes are fixed.
function all() {
    if (!fs.existsSync(shared))
        b.fail(`${shared} is missing: name model files`);
    const names = fs.readdirSync(shared).filter(f => f.endsWith('.topology.onnx')).map(f => f.replace('.topology.onnx', '')).sort();
    return names.filter(network => inputShapes(network).every(([, shape]) => shape.every(Number.isInteger)));
}

const python = (...args) => child_process.execFileSync('/usr/bin/python3', args, {stdio: 'inherit'});

// The model file of a network, or of a name. A topology's weights are drawn by the recipes that are in it.
function file(network) {
    if (network.endsWith('.onnx'))
        return path.resolve(network);
    const topology = path.join(shared, `${network}.topology.onnx`), model = path.join(b.results, 'models', `${network}.onnx`);
    if (!made.includes(network) && !fs.existsSync(topology))
        b.fail(`'${network}' is neither a file NAME.onnx nor one of ${made.join(', ')} nor a topology: ${topology} is missing`);
    fs.mkdirSync(path.dirname(model), {recursive: true});
    if (!fs.existsSync(model))
        if (made.includes(network))
            python(path.join(__dirname, 'busy/networks.py'), network, model);
        else
            python(path.join(shared, 'fill_weights.py'), topology, model);
    return model;
}

// Names and shapes of a topology's inputs, as its description has them.
function inputShapes(network) {
    const about = path.join(shared, `${network}.json`);
    if (network.endsWith('.onnx') || !fs.existsSync(about))
        return [];
    return Object.entries(JSON.parse(fs.readFileSync(about, 'utf8')).inputs).map(([name, x]) => [name, x.shape]);
}

// Options for the sizes: symbolic dimensions get those of the reference inputs.
const shapes = network => inputShapes(network).flatMap(([name, shape]) => ['--shape', `${name}=${shape.join(',')}`]);

module.exports = {all, file, shapes};
