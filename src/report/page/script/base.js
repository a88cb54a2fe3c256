"use strict";
// What all parts of the page use: elements, numbers as text, what a pointer is over. Texts of the data become text nodes, never
// markup.

const started = performance.now();

function make(tag, attributes, ...children) {
    const e = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
        if (name === "on") for (const [event, f] of Object.entries(value)) e.addEventListener(event, f);
        else if (value !== null && value !== undefined && value !== false)
            e.setAttribute(name, value === true ? "" : String(value));
    }
    e.append(...children.filter(c => c !== null && c !== undefined));
    return e;
}

const body = id => document.querySelector("#" + id + " .body");
// A command of the data; null: there is none.
const asCommand = text => text ? make("code", {}, text) : null;
const absent = text => make("p", {class: "absent"}, text);
const known = v => v !== null && v !== undefined && Number.isFinite(v);

/* ---- numbers ---- */

const digits = (v, n) => Number(v.toPrecision(n)).toLocaleString("en", {maximumSignificantDigits: n, useGrouping: false});

function asTime(ms) {
    if (!known(ms)) return "\u2013";
    if (ms >= 1e3) return digits(ms / 1e3, 4) + " s";
    if (ms >= 1) return digits(ms, 4) + " ms";
    return ms >= 1e-3 ? digits(ms * 1e3, 4) + " \u00b5s" : digits(ms * 1e6, 4) + " ns";
}

const asNumber = (v, n = 4) => known(v) ? digits(v, n) : "\u2013";
const asShare = v => known(v) ? (100 * v).toFixed(v < 0.0995 ? 1 : 0) + " %" : "\u2013";
const asChange = v => known(v) ? (v > 0 ? "+" : "\u2212") + Math.abs(100 * v).toFixed(1) + " %" : "\u2013";
const asDate = ms => ms > 0 ? new Date(ms).toISOString().replace("T", " ").slice(0, 19) + " UTC" : "\u2013";

function asBytes(n) {
    const units = ["B", "KiB", "MiB", "GiB"];
    let i = 0;
    for (; n >= 1024 && i < units.length - 1; i++) n /= 1024;
    return digits(n, 4) + " " + units[i];
}

function asSeconds(s) {
    if (s < 120) return digits(s, 3) + " s";
    return s < 7200 ? digits(s / 60, 3) + " min" : digits(s / 3600, 3) + " h";
}

const count = (n, one, many) => n + " " + (n === 1 ? one : many || one + "s");

/* ---- what is under the pointer, and what is said to those who do not see ---- */

const tip = document.getElementById("tip");

function showTip(event, text) {
    tip.textContent = text;
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - box.width - 8)) + "px";
    tip.style.top = Math.max(4, Math.min(event.clientY + 14, innerHeight - box.height - 8)) + "px";
}

const hideTip = () => { tip.hidden = true; };
const say = text => { document.getElementById("said").textContent = text; };

/* ---- tables ---- */

// columns: {name, of: row => what sorts, show: row => text or element, n: a number, key: name of the figure for tests and scripts}
function table(columns, rows, options = {}) {
    const o = Object.assign({sort: -1, down: false, label: "", row: () => ({})}, options);
    const tbody = make("tbody");
    const heads = columns.map((c, i) => make("th", {scope: "col", class: c.n ? "n" : null, title: c.title},
        c.of ? make("button", {type: "button", on: {click: () => sortBy(i)}}, c.name) : c.name));
    const shown = rows.map(row => ({row, tr: make("tr", o.row(row), ...columns.map(c => {
        const text = c.show(row), raw = c.of && c.n ? c.of(row) : null;
        return make(
            "td", {class: (c.n ? "n" : "") + (c.wide ? "wide" : ""), "data-figure": c.key, "data-value": known(raw) ? raw : null},
            text);
    }))}));
    function sortBy(i, fixed) {
        o.down = fixed !== undefined ? fixed : o.sort === i ? !o.down : !!columns[i].n;
        o.sort = i;
        heads.forEach(
            (h, k) => k === i ? h.setAttribute("aria-sort", o.down ? "descending" : "ascending") : h.removeAttribute("aria-sort"));
        const of = s => columns[i].of(s.row), less = (a, b) => a < b ? -1 : a > b ? 1 : 0;
        const lacks = v => v === null || v === undefined || Number.isNaN(v);
        shown.sort((a, b) => lacks(of(a)) || lacks(of(b)) ? lacks(of(a)) - lacks(of(b)) : (o.down ? -1 : 1) * less(of(a), of(b)));
        tbody.append(...shown.map(s => s.tr));
    }
    tbody.append(...shown.map(s => s.tr));
    if (o.sort >= 0) sortBy(o.sort, o.down);
    return make(
        "div", {
            class: "scroll" + (o.tall ? " tall" : ""),
            tabindex: o.tall ? 0 : null,
            role: o.tall ? "region" : null,
            "aria-label": o.tall ? o.label : null
        },
        make("table", {"aria-label": o.label}, make("thead", {}, make("tr", {}, ...heads)), tbody));
}

// What stands behind a picture, made when somebody asks.
function behind(summary, build) {
    const d = make("details", {}, make("summary", {}, summary));
    d.addEventListener("toggle", () => { if (d.open && d.childElementCount === 1) d.append(build()); });
    return d;
}

function choice(legend, name, values, chosen, f) {
    return make("fieldset", {}, make("legend", {}, legend), ...values.map(([value, text]) => make("label", {},
        make("input", {type: "radio", name, value, checked: value === chosen, on: {change: () => f(value)}}), " " + text)));
}
