// The suite as a picture (SVG): one bar per operator, its speed over the best peer on a logarithmic axis, and the share of the roof
// as a dot on an axis of its own.
'use strict';

const fs = require('fs');

const BAR = 14, LEFT = 70, WIDTH = 560, GAP = 40, DOTS = 250, TOP = 46, RIGHT = 20;
const TICKS = [0.25, 0.5, 0.85, 1, 1.25, 1.5, 2, 4, 8];
const LOW = 0.25, HIGH = 8;

const x = ratio => LEFT + WIDTH * Math.log(Math.min(Math.max(ratio, LOW), HIGH) / LOW) / Math.log(HIGH / LOW);
const dot = share => LEFT + WIDTH + GAP + DOTS * Math.min(share, 1.2) / 1.2;
const colour = ratio => ratio >= 1 ? '#3a7d44' : ratio >= 0.85 ? '#c9a227' : '#b23a48';
const text = (at, y, s, more = '') => `<text x="${at.toFixed(1)}" y="${y.toFixed(1)}" ${more}>${s}</text>`;
const line = (at, y1, y2, style) => `<line x1="${at.toFixed(1)}" x2="${at.toFixed(1)}" y1="${y1}" y2="${y2}" ${style}/>`;

function axis(bottom) {
    const middle = 'text-anchor="middle" fill="#555"', parts = [];
    for (const t of TICKS)
        parts.push(line(x(t), TOP - 4, bottom, `stroke="${t === 1 ? '#333' : '#ddd'}"`), text(x(t), TOP - 8, `${t}×`, middle));
    for (const s of [0, 0.2, 0.4, 0.6, 0.8, 1])
        parts.push(
            line(dot(s), TOP - 4, bottom, `stroke="${s === 1 ? '#333' : '#ddd'}"`), text(dot(s), TOP - 8, `${100 * s} %`, middle));
    return parts;
}

function bar(row, i) {
    const y = TOP + i * BAR, parts = [text(LEFT - 6, y + BAR - 4, row.name, 'text-anchor="end"')];
    if (row.ratio > 0) {
        const from = Math.min(x(1), x(row.ratio)), to = Math.max(x(1), x(row.ratio));
        const place = `x="${from.toFixed(1)}" y="${y + 2}" width="${(to - from + 1).toFixed(1)}" height="${BAR - 4}"`;
        parts.push(
            `<rect ${place} fill="${colour(row.ratio)}"><title>${row.name}: ${row.ratio.toFixed(2)} × ${row.best}</title></rect>`);
    }
    if (row.share > 0)
        parts.push(`<circle cx="${dot(row.share).toFixed(1)}" cy="${y + BAR / 2}" r="3.5" ` +
                   `fill="${row.bound === 'FMA' ? '#2b4c7e' : '#d17b0f'}"/>`);
    return parts;
}

// rows: {name, ratio, best, share, bound}, in order.
function write(file, title, rows) {
    const bottom = TOP + rows.length * BAR, width = LEFT + WIDTH + GAP + DOTS + RIGHT;
    const parts = [
        `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${bottom + 16}" font-family="sans-serif" font-size="10">`,
        `<rect width="100%" height="100%" fill="white"/>`, text(LEFT, 16, title, 'font-size="12" font-weight="bold"'),
        text(LEFT, 28, 'speed over the best peer', 'fill="#555"'),
        text(dot(0), 28, 'share of the roof: FMA (blue), bandwidth (orange)', 'fill="#555"'), ...axis(bottom),
        ...rows.flatMap(bar), '</svg>', '',
    ];
    fs.writeFileSync(file, parts.join('\n'));
}

module.exports = {write};
