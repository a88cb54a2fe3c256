// What the suite says: a row per operator, and what all rows together come to.
'use strict';

const fs = require('fs');
const path = require('path');
const b = require('../common.js');
const plot = require('./plot.js');

// In the order in which they are shown.
const PEERS = {onednn: 'oneDNN', openblas: 'OpenBLAS', ort: 'ONNX Runtime'};
const FLOOR = 0.85;

const time = ms => !Number.isFinite(ms) ? '-' : ms >= 1 ? `${ms.toFixed(2)} ms` : `${(ms * 1000).toFixed(ms < 0.01 ? 2 : 1)} us`;
const geomean = list => Math.exp(list.reduce((s, x) => s + Math.log(x), 0) / list.length);

// The larger of what the multiply-adds and the bytes take: {ms, bound}. Bandwidth is that of streams over as many bytes as the
// operator touches: only read, where it writes little.
function roof(row) {
    const compute = row.flops / row.peak_gflops / 1e6;
    const rate = row.written < 0.1 * row.bytes ? row.read_gbs : row.triad_gbs, memory = row.bytes / rate / 1e6;
    return compute > memory ? {ms: compute, bound: 'FMA'} : {ms: memory, bound: row.written < 0.1 * row.bytes ? 'read' : 'stream'};
}

// The ratio of neighbouring turns, for each peer that took them; the best peer is the one with the least median.
function versus(row) {
    const ours = row.turns.ours || [], times = {};
    let best = null;
    for (const p of Object.keys(PEERS)) {
        const turns = (row.turns[p] || []).filter(x => x > 0);
        times[p] = turns.length ? b.median(turns) : NaN;
        if (turns.length && turns.length === ours.length && (!best || times[p] < times[best]))
            best = p;
    }
    return {times, best, ratio: best ? b.median(ours.map((x, i) => row.turns[best][i] / x)) : NaN};
}

function figures(row) {
    const ms = row.turns.ours && row.turns.ours.length ? b.median(row.turns.ours) : NaN, r = roof(row), v = versus(row);
    return {...row, ms, ...v, share: r.ms / ms, bound: r.bound, spread: b.spread(row.turns.ours || [NaN])};
}

function cells(f) {
    return {
        op: f.name,
        ours: time(f.ms),
        '±': b.percent(f.spread),
        'GFLOP/s': b.show(f.flops / f.ms / 1e6, 1),
        roof: f.bound,
        'of the roof': b.percent(f.share),
        ...Object.fromEntries(Object.entries(PEERS).map(([k, title]) => [title, time(f.times[k])])),
        'best peer': f.best ? PEERS[f.best] : '-',
        'speed over it': f.best ? b.show(f.ratio) : '-',
        schedule: f.schedule || '-',
        remarks: f.remarks.join('; ') || ' ',
    };
}

function families(list) {
    const by = {};
    for (const f of list.filter(x => x.ratio > 0))
        (by[f.family] = by[f.family] || []).push(f.ratio);
    return Object.entries(by).map(([name, ratios]) => `${name} ${b.show(geomean(ratios))}`).join(', ');
}

function summary(list) {
    const compared = list.filter(f => f.ratio > 0),
          slow = compared.filter(f => f.ratio < FLOOR).map(f => `${f.name} ${b.show(f.ratio)}`);
    if (!compared.length)
        return `${list.length} operators, none of them beside a peer`;
    const memory = list.filter(f => f.bound !== 'FMA' && f.share > 0), high = memory.filter(f => f.share >= 0.8);
    return [
        `${compared.length} of ${list.length} operators compared: geometric mean of the speed over each one's best peer ` +
            `**${b.show(geomean(compared.map(f => f.ratio)))} ×**, ` +
            `faster in ${compared.filter(f => f.ratio >= 1).length}; below ${FLOOR} ×: ${slow.join(', ') || 'none'}.`,
        `By family: ${families(list)}.`,
        memory.length ? `${high.length} of ${memory.length} operators that memory binds reach 80 % of the bandwidth.` : '',
    ].filter(Boolean).join('\n\n');
}

const natural = (x, y) => x.name.localeCompare(y.name, 'en', {numeric: true});

// Writes the table and the plot; returns the summary.
function write(rows, about, table, picture) {
    const list = rows.map(figures).sort(natural), line = c => `| ${c.join(' | ')} |\n`;
    if (!list.length)
        return 'nothing was measured';
    const text = summary(list), heads = Object.keys(cells(list[0]));
    fs.mkdirSync(path.dirname(table), {recursive: true});
    fs.mkdirSync(path.dirname(picture), {recursive: true});
    fs.writeFileSync(table, `${about}\n\n` + line(heads) + line(heads.map(() => '---')) +
                                list.map(f => line(Object.values(cells(f)))).join('') + `\n${text}\n`);
    plot.write(picture, 'tctune beside the best of oneDNN, OpenBLAS and ONNX Runtime', list);
    return text;
}

// Rows of results/ops.json.
function published(rows) {
    return rows.map(figures).sort(natural).map(f => ({
                                                   op: f.name,
                                                   family: f.family,
                                                   ours_us: 1000 * f.ms,
                                                   spread: f.spread,
                                                   gflops: f.flops / f.ms / 1e6,
                                                   roof: f.bound,
                                                   of_roof: f.share,
                                                   onednn_us: 1000 * f.times.onednn,
                                                   openblas_us: 1000 * f.times.openblas,
                                                   ort_us: 1000 * f.times.ort,
                                                   best: f.best ? PEERS[f.best] : '-',
                                                   speed: f.ratio,
                                               }));
}

function oneLine(row) {
    const c = cells(figures(row));
    return [
        c.op.padEnd(8), c.ours.padStart(9), `${c['GFLOP/s'].padStart(7)} GFLOP/s`,
        `${c['of the roof'].padStart(8)} of ${c.roof.padEnd(6)}`, ...Object.values(PEERS).map(title => `${title} ${c[title]}`),
        `${c['speed over it']} x ${c['best peer']}`, ...row.remarks
    ].join('  ');
}

module.exports = {PEERS, oneLine, published, write};
