// The data of the page: kernels and records, joined, and what follows from them. docs/json.md describes the document.

const data = JSON.parse(document.getElementById("data").textContent);
const kernels = data.kernels;
const machine = data.machine;
const roofs = machine.roofs;

const records = (() => {
    const r = data.records, c = r.columns;
    return c.id.map((id, i) => ({
        id,
        i,
        kernel: kernels[c.kernel[i]],
        mode: r.modes[c.mode[i]],
        ms: c.median_ms[i],
        rounds: c.rounds[i],
        form: kernels[c.kernel[i]].forms[c.form[i]].name,
        outcome: r.outcomes[c.outcome[i]],
        failed: r.outcomes[c.outcome[i]].name !== "ok",
        message: r.messages[c.message[i]],
        verified: c.verified[i] === 1,
        when: c.when_ms[i],
        seconds: c.measuring_seconds[i],
        sizes: r.sizes[c.sizes[i]],
        phase: r.phases[c.phase[i]],
        predicted: c.predicted[i],
        steps: r.steps[c.decisions[i][0]],
        choices: c.decisions[i],
    }));
})();

kernels.forEach((k, i) => {
    k.index = i;
    k.all = records.filter(r => r.kernel === k);
    k.has = k.best.record !== null;
    // The mode that its times are told in: of different modes they are never compared.
    k.mode = k.has ? k.best.mode : k.modes.length ? k.modes[0].mode : null;
    k.timed = k.all.filter(r => !r.failed && r.mode === k.mode && r.sizes === "" && known(r.ms));
    k.first = k.timed.length ? k.timed[0].ms : null;
    k.gflops = k.has && k.flops ? k.flops / k.best.median_ms / 1e6 : null;
    k.total = k.has ? k.weight * k.best.median_ms : null;
    k.runs = !k.instead_of_others;
});

const sum = (list, f) => list.reduce((s, x) => s + f(x), 0);
const counted = kernels.filter(k => k.runs && k.has);
const latency = sum(counted, k => k.total);

// Bytes that a call of the record's kernel must move, as records of that mode have it.
function traffic(k, mode) {
    return mode === "cold" && k.constant_bytes > 0 ? k.constant_bytes : k.bytes;
}

/* ---- the course of the search ---- */

// Wall time without pauses: between two sessions nothing was searched.
const pause = 10 * 60e3;
const clock = (() => {
    const t = new Float64Array(records.length);
    let gone = 0;
    records.map(r => r.i).sort((a, b) => records[a].when - records[b].when || a - b).forEach((i, n, order) => {
        const step = n ? records[i].when - records[order[n - 1]].when : 0;
        gone += step > pause ? 0 : step;
        t[i] = gone / 1e3;
    });
    return t;
})();

const searching = r => r.mode !== "in-graph" && r.mode !== "beside";

/* ---- which kernel is looked at ---- */

const state = {kernel: null, alone: null};
const watchers = [];
const onChange = f => { watchers.push(f); };
const changed = () => watchers.forEach(f => f());

function choose(k) {
    state.kernel = k;
    changed();
}

// All others fade, or none does any more.
function isolate(k) {
    state.alone = state.alone === k ? null : k;
    if (state.alone) state.kernel = k;
    changed();
    say(state.alone ? "Only " + k.name + " is shown" : "All kernels are shown");
}

addEventListener("keydown", e => { if (e.key === "Escape" && state.alone) isolate(state.alone); });

/* ---- colours ---- */

const phases = ["construct", "transfer", "descent", "evolution"];
const phaseColour = p => "var(--c" + (phases.indexOf(p) < 0 ? 4 : phases.indexOf(p)) + ")";
const phaseName = p => p === "" ? "not known" : p;

const describe = r => r.kernel.name + "\nrecord " + r.id + ", " + (r.failed ? r.outcome.name : asTime(r.ms)) + ", " + r.mode +
    (r.form === "direct" ? "" : ", " + r.form) + (r.rounds ? ", " + count(r.rounds, "round") + " in turns" : "") +
    (r.phase ? "\nfrom " + r.phase : "");
