// The table of kernels, and of one the times by mode.

function kernelTable() {
    const inNetwork = runTimes();
    const share = k => k.runs && k.has ? k.total / latency : null;
    const delta = k => k.has && k.baseline && known(k.baseline.median_ms) ? k.best.median_ms / k.baseline.median_ms - 1 : null;
    const columns = [
        {name: "#", of: k => k.index, show: k => String(k.index), n: true},
        {
            name: "kernel",
            of: k => k.name,
            show: k => make(
                "button", {
                    type: "button",
                    class: "link",
                    on: {
                        click: () => {
                            choose(k);
                            document.getElementById("kernel").scrollIntoView();
                        }
                    }
                },
                k.name),
            wide: true
        },
        {
            name: "launches",
            of: k => k.weight,
            show: k => k.runs ? asNumber(k.weight) : "(" + asNumber(k.weight) + ")",
            n: true,
            title: "launches in a run; in brackets: the kernel could run in place of others"
        },
        {
            name: "time",
            of: k => k.has ? k.best.median_ms : null,
            show: k => k.has ? asTime(k.best.median_ms) : "\u2013",
            n: true,
            key: "median_ms",
            title: "median of the best record"
        },
        {
            name: "share",
            of: share,
            show: k => known(share(k)) ?
                make(
                    "span", {}, make("span", {class: "share", style: "width:" + (60 * share(k)).toFixed(1) + "px"}),
                    asShare(share(k))) :
                "\u2013",
            n: true,
            title: "share of the time of all launches"
        },
        {name: "GFLOP/s", of: k => k.gflops, show: k => asNumber(k.gflops), n: true},
        {name: "of roof", of: k => k.best.of_roof, show: k => asShare(k.best.of_roof), n: true, key: "of_roof"},
        {name: "bound by", of: k => k.best.bound_by || "", show: k => k.best.bound_by || "\u2013"},
        {name: "form", of: k => k.best.form || "", show: k => k.best.form || "\u2013"},
        {name: "mode", of: k => k.best.mode || "", show: k => k.best.mode || "\u2013"},
        {name: "record", of: k => k.best.record, show: k => k.has ? String(k.best.record) : "\u2013", n: true, key: "record"},
        {
            name: "records",
            of: k => k.records,
            show: k => k.records === k.valid ? String(k.records) : k.valid + " of " + k.records,
            n: true,
            key: "records",
            title: "records with a time, of all records"
        },
    ];
    if (data.baseline)
        columns.push(
            {name: "baseline", of: k => k.baseline.median_ms, show: k => asTime(k.baseline.median_ms), n: true, key: "baseline_ms"},
            {
                name: "change",
                of: delta,
                show: k => make("span", {class: delta(k) > 0.01 ? "bad" : delta(k) < -0.01 ? "good" : null}, asChange(delta(k))),
                n: true
            });
    if (inNetwork.size)
        columns.push({
            name: "in a run",
            of: k => inNetwork.get(k),
            show: k => asTime(inNetwork.get(k)),
            n: true,
            title: "time of a launch in whole runs, from the document"
        });
    if (kernels.some(k => !k.has)) columns.push({name: "why no record", show: k => k.has ? "" : k.best.why, wide: true});
    const rows = new Map();
    const t = table(columns, kernels, {label: "Kernels", sort: 4, down: true, row: k => ({"data-kernel": k.index})});
    t.querySelectorAll("tr[data-kernel]").forEach(tr => rows.set(kernels[tr.dataset.kernel], tr));
    onChange(() => rows.forEach((tr, k) => tr.classList.toggle("chosen", k === state.kernel)));
    return t;
}

// By kernel its time in whole runs, of the first document that has it: by the hash of its workload, else by its name.
function runTimes() {
    const times = new Map();
    for (const d of data.documents)
        for (const j of d.document.kernels || []) {
            const k = kernels.find(x => x.forms.some(f => f.hash === j.hash)) || kernels.find(x => x.name === j.name);
            if (k && known(j.time_ms) && !times.has(k)) times.set(k, j.time_ms);
        }
    return times;
}

function kernelList() {
    const host = body("kernels");
    if (!kernels.length) {
        host.append(absent("There are no kernels to show."));
        return;
    }
    host.append(make(
        "figure", {id: "kernel-table", "data-figure": "kernels"}, kernelTable(),
        make(
            "figcaption", {}, "The best record of each kernel. Click a heading to sort, or a name to show the kernel below. ",
            asCommand(data.commands.show || data.commands.stats))));
}

/* ---- times of one kernel ---- */

function modeTable(k) {
    const rows = k.modes.map(
        m => ({name: m.mode, ms: m.median_ms, low: m.low_ms, high: m.high_ms, n: m.times, rounds: m.rounds, record: m.record}));
    const run = runTimes().get(k);
    if (run !== undefined)
        rows.push({name: "in a run (document)", ms: run, low: null, high: null, n: null, rounds: null, record: null});
    if (!rows.length) return absent("No record of this kernel is valid and verified.");
    const most = d3.max(rows, r => r.high || r.ms), px = v => (160 * v / most).toFixed(1);
    const whisker = r => {
        const svg = d3.create("svg").attr("width", 168).attr("height", 12).attr("aria-hidden", "true");
        svg.append("line")
            .attr("x1", px(r.low || r.ms))
            .attr("x2", px(r.high || r.ms))
            .attr("y1", 6)
            .attr("y2", 6)
            .attr("stroke", "var(--soft)")
            .attr("stroke-width", 2);
        svg.append("circle").attr("cx", px(r.ms)).attr("cy", 6).attr("r", 3.5).attr("fill", "var(--c0)");
        return svg.node();
    };
    return table(
        [
            {name: "mode", show: r => r.name},
            {name: "time", of: r => r.ms, show: r => asTime(r.ms), n: true, key: "mode_ms"},
            {
                name: "middle half",
                of: r => r.low,
                show: r => known(r.low) ? asTime(r.low) + " \u2013 " + asTime(r.high) : "\u2013",
                n: true
            },
            {name: "", show: whisker},
            {name: "timings", of: r => r.n, show: r => asNumber(r.n), n: true},
            {name: "rounds in turns", of: r => r.rounds, show: r => asNumber(r.rounds), n: true},
            {name: "record", of: r => r.record, show: r => r.record === null ? "\u2013" : String(r.record), n: true},
        ],
        rows, {label: "Times by mode"});
}
