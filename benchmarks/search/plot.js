// The curves as a picture (SVG): the share of the best known over trials, and over seconds, both on logarithmic axes of effort.
'use strict';

const fs = require('fs');
const {GOALS} = require('./curves.js');

const WIDTH = 380, HEIGHT = 260, LEFT = 50, TOP = 50, GAP = 70, RIGHT = 20, BOTTOM = 60;
const LOWEST = 0.4;
const COLOURS = {phases: '#2b4c7e', ansor: '#d17b0f', random: '#8a8a8a'};
const NAMES = {phases: 'tctune', ansor: 'evolution (Ansor\'s constants)', random: 'random'};

const text = (x, y, s, more = '') => `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${more}>${s}</text>`;
const y = share => TOP + HEIGHT * (1 - (Math.min(Math.max(share, LOWEST), 1) - LOWEST) / (1 - LOWEST));

function panel(left, xs, series, label, goals) {
    const from = Math.log(xs[0]), to = Math.log(Math.max(xs.at(-1), xs[0] * 2)), parts = [];
    const x = v => left + WIDTH * (Math.log(v) - from) / (to - from);
    for (let s = LOWEST; s <= 1.001; s += 0.1)
        parts.push(`<line x1="${left}" x2="${left + WIDTH}" y1="${y(s).toFixed(1)}" y2="${y(s).toFixed(1)}" stroke="#ddd"/>`,
                   text(left - 6, y(s) + 3, `${Math.round(100 * s)} %`, 'text-anchor="end" fill="#555"'));
    let free = -Infinity; // labels that would touch are left out
    for (const v of xs)
        if (x(v) > free) {
            parts.push(text(x(v), TOP + HEIGHT + 14, String(v), 'text-anchor="middle" fill="#555"'));
            free = x(v) + 22;
        }
    parts.push(text(left + WIDTH / 2, TOP + HEIGHT + 30, label, 'text-anchor="middle" fill="#555"'));
    for (const [n, share] of Object.entries(goals))
        if (n <= xs.at(-1))
            parts.push(`<circle cx="${x(n).toFixed(1)}" cy="${y(share).toFixed(1)}" r="4" fill="none" stroke="#b23a48"/>`);
    for (const [kind, shares] of Object.entries(series)) {
        const points = shares.map((s, i) => `${x(xs[i]).toFixed(1)},${y(s).toFixed(1)}`).join(' ');
        parts.push(`<polyline points="${points}" fill="none" stroke="${COLOURS[kind]}" stroke-width="2"/>`);
    }
    return parts;
}

function write(file, title, s) {
    const width = LEFT + 2 * WIDTH + GAP + RIGHT, height = TOP + HEIGHT + BOTTOM;
    const legend = s.kinds.map(
        (k, i) => `<rect x="${LEFT + 220 * i}" y="${height - 16}" width="14" height="3" fill="${COLOURS[k]}"/>` +
            text(LEFT + 220 * i + 20, height - 11, NAMES[k]));
    const parts = [
        `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="sans-serif" font-size="10">`,
        `<rect width="100%" height="100%" fill="white"/>`, text(LEFT, 18, title, 'font-size="12" font-weight="bold"'),
        text(LEFT, 32, 'throughput as a share of the best known (geometric mean); circles: the goals', 'fill="#555"'),
        ...panel(LEFT, s.trials, s.byTrials, 'trials', GOALS), ...panel(LEFT + WIDTH + GAP, s.seconds, s.bySeconds, 'seconds', {}),
        ...legend, '</svg>', '',
    ];
    fs.writeFileSync(file, parts.join('\n'));
}

module.exports = {write};
