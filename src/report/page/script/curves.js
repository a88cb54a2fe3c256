// The course of the search: the best so far, over records or over time; what failed; and what the cost model foresaw.

const course = {x: "trials", of: "network"};

// Points of a staircase: [x, best] whenever it fell, and at the end.
function staircase(list, x, value) {
    const out = [];
    let best = Infinity;
    list.forEach((r, i) => {
        const v = value(r);
        if (v < best) {
            if (out.length) out.push([x(r, i), best]);
            best = v;
            out.push([x(r, i), best]);
        }
    });
    if (out.length) out.push([x(list[list.length - 1], list.length - 1), best]);
    return out;
}

// The sum over all kernels that ever had a time. Until then a kernel counts with its first time, which is that of its default
// schedule.
function wholeCourse() {
    const list = records.filter(searching),
          best = new Map(kernels.filter(k => k.runs && k.timed.length).map(k => [k, k.timed[0].ms]));
    const total = () => sum([...best], ([k, ms]) => k.weight * ms), out = best.size ? [{r: list[0], i: 0, ms: total()}] : [];
    list.forEach((r, i) => {
        const counts = r.kernel.runs && !r.failed && r.mode === r.kernel.mode && r.sizes === "" && known(r.ms);
        if (!counts || !(r.ms < best.get(r.kernel))) return;
        best.set(r.kernel, r.ms);
        out.push({r, i, ms: total()});
    });
    return {list, out};
}

const courseX = (r, i) => course.x === "trials" ? i + 1 : clock[r.i];

function drawWhole(at) {
    const {list, out} = wholeCourse();
    if (!out.length) return;
    const path = [];
    out.forEach((p, n) => { if (n) path.push([courseX(p.r, p.i), out[n - 1].ms]); path.push([courseX(p.r, p.i), p.ms]); });
    path.push([courseX(list[list.length - 1], list.length - 1), out[out.length - 1].ms]);
    const a = axes(
        at, "Sum of the best so far", courseAxis(list),
        {domain: around(path.map(p => p[1]), true, 1.3), log: true, label: "sum of the best", text: asTime});
    a.svg.append("path").attr("class", "line").attr("d", d3.line().x(p => a.x(p[0])).y(p => a.y(p[1]))(path));
}

function courseAxis(list) {
    const last = courseX(list[list.length - 1], list.length - 1);
    return {
        domain: [0, last > 0 ? last : 1],
        label: course.x === "trials" ? "records" : "time without pauses",
        text: course.x === "trials" ? undefined : asSeconds
    };
}

function drawKernelCourse(at) {
    const k = state.kernel, list = k ? k.all.filter(searching) : [], timed = list.filter(r => k.timed.includes(r));
    if (!timed.length) {
        at.host.replaceChildren(absent("No record of this kernel has a time."));
        return;
    }
    if (!at.host.querySelector("svg")) at.host.replaceChildren();
    const number = new Map(list.map((r, i) => [r, i])), x = r => courseX(r, number.get(r));
    const stairs = staircase(timed, x, r => r.ms), slow = d3.min(timed, r => r.ms) * 20;
    const marks = [...timed.map(r => Math.min(r.ms, slow)), k.has ? k.best.roof_ms : null, k.baseline && k.baseline.median_ms];
    const a = axes(
        at, "Records of " + k.name + " and the best so far", courseAxis(list),
        {domain: around(marks, true, 1.3), log: true, label: "time", text: asTime});
    rule(a, k.has ? k.best.roof_ms : null, "roof", "roof");
    rule(a, k.baseline && k.baseline.median_ms, "baseline", "base");
    a.svg.append("path").attr("class", "line").attr("d", d3.line().x(p => a.x(p[0])).y(p => a.y(Math.min(p[1], slow)))(stairs));
    points(a.svg, timed, r => [a.x(x(r)), a.y(Math.min(r.ms, slow))], r => phaseColour(r.phase), {own: true});
}

function rule(a, ms, name, style) {
    if (!known(ms)) return;
    a.svg.append("line").attr("class", style).attr("x1", a.left).attr("x2", a.right).attr("y1", a.y(ms)).attr("y2", a.y(ms));
    a.svg.append("text").attr("x", a.right).attr("y", a.y(ms) - 4).attr("text-anchor", "end").text(name + " " + asTime(ms));
}

function phaseKey() {
    const there = [...new Set(records.map(r => r.phase))];
    if (there.every(p => p === ""))
        return make(
            "p", {class: "note"},
            "The phases of the search are not known: a database stores them since schema 5, " +
                "for records that a search measured.");
    return make(
        "ul", {class: "key", "aria-label": "Phases"},
        ...[...phases, ""]
            .filter(p => there.includes(p))
            .map(p => make("li", {}, make("i", {style: "background:" + phaseColour(p)}), phaseName(p))));
}

function phaseTable() {
    const rows = [...new Set(records.map(r => r.phase))].map(p => {
        const of = records.filter(r => r.phase === p && searching(r));
        return {
            p,
            tried: of.length,
            valid: of.filter(r => !r.failed).length,
            best: kernels.filter(k => of.some(r => r.id === k.best.record)).length
        };
    });
    return table(
        [
            {name: "phase", of: r => r.p, show: r => phaseName(r.p)},
            {name: "records", of: r => r.tried, show: r => String(r.tried), n: true},
            {name: "with a time", of: r => r.valid, show: r => String(r.valid), n: true},
            {name: "best records", of: r => r.best, show: r => String(r.best), n: true}
        ],
        rows, {label: "Phases"});
}

function search() {
    const host = body("search");
    if (!kernels.some(k => k.timed.length)) {
        host.append(absent(records.length ? "No record has a time, so there is no search to show." : "There are no records."));
        return;
    }
    host.append(
        make("div", {class: "controls"}, choice("over", "course", [["trials", "records"], ["seconds", "time"]], course.x, v => {
                 course.x = v;
                 redraw();
             }), kernelSelect()));
    const retimed =
        records.some(r => r.rounds > 0) ? " For records that ran in a contest, the time of the contest is shown." : "";
    host.append(make(
        "div", {class: "pair"}, figure({
            id: "course",
            height: 260,
            draw: drawWhole,
            caption:
                "Sum over kernels: launches times the best time so far. " +
                "Before its first record, a kernel counts with the time of that record." + retimed,
            command: data.commands.export,
            table: phaseTable
        }),
        figure({
            id: "kernel-course",
            height: 260,
            draw: drawKernelCourse,
            key: phaseKey(),
            caption: "The records of the kernel and its best so far. " +
                "Records that take more than 20 times the best are drawn at 20 times the best.",
            command: data.commands.export,
            table: () => recordTable(
                records.filter(searching),
                [
                    {name: "phase", of: r => r.phase, show: r => phaseName(r.phase)},
                    {name: "after", of: r => clock[r.i], show: r => asSeconds(clock[r.i]), n: true},
                    {name: "outcome", of: r => r.outcome.name, show: r => r.outcome.name}
                ])
        })));
}

function kernelSelect() {
    const select = make(
        "select", {"aria-label": "Kernel", on: {change: () => choose(kernels[select.value])}},
        ...kernels.map(k => make("option", {value: k.index}, k.name)));
    onChange(() => { if (state.kernel) select.value = state.kernel.index; });
    return make("label", {}, "kernel ", select);
}

/* ---- failures ---- */

function failures() {
    const host = body("failures"), failed = records.filter(r => r.failed);
    if (!failed.length) {
        host.append(absent(records.length ? "No record failed." : "There are no records."));
        return;
    }
    const kinds = new Map();
    failed.forEach(r => { if (!kinds.has(r.outcome)) kinds.set(r.outcome, []); kinds.get(r.outcome).push(r); });
    const rows = [...kinds].map(([kind, list]) => ({kind, list, of: new Set(list.map(r => r.kernel))}));
    host.append(
        make(
            "figure", {id: "failure-table"},
            table(
                [
                    {name: "outcome", of: r => r.kind.name, show: r => r.kind.name},
                    {name: "records", of: r => r.list.length, show: r => String(r.list.length), n: true, key: "failures"},
                    {
                        name: "share",
                        of: r => r.list.length / records.length,
                        show: r => asShare(r.list.length / records.length),
                        n: true
                    },
                    {name: "kernels", of: r => r.of.size, show: r => String(r.of.size), n: true},
                    {name: "meaning", show: r => r.kind.meaning, wide: true},
                    {name: "first message", show: r => r.list[0].message || "\u2013", wide: true},
                ],
                rows, {label: "Failures by kind", sort: 1, down: true, row: r => ({"data-outcome": r.kind.name})}),
            behind(
                "Every failure as a table",
                () =>
                    table(
                        [
                            {name: "record", of: r => r.id, show: r => String(r.id), n: true},
                            {name: "kernel", of: r => r.kernel.name, show: r => r.kernel.name, wide: true},
                            {name: "outcome", of: r => r.outcome.name, show: r => r.outcome.name},
                            {name: "message", of: r => r.message, show: r => r.message, wide: true}
                        ],
                        failed, {tall: true, label: "Failures", sort: 0})),
            make("figcaption", {}, "Records that failed, by kind. ", asCommand(data.commands.stats))));
}

/* ---- predicted against measured ---- */

const ranks = values => {
    const order = values.map((v, i) => [v, i]).sort((a, b) => a[0] - b[0]), out = [];
    order.forEach(([, i], n) => { out[i] = n; });
    return out;
};

// Ranks of one kernel's records by score and by time. The score means something beside others of the same search only.
function rankedPairs(k) {
    const list = k.timed.filter(r => known(r.predicted));
    const predicted = ranks(list.map(r => -r.predicted)), measured = ranks(list.map(r => r.ms));
    return list.map((r, i) => ({r, kernel: k, predicted: predicted[i], measured: measured[i], n: list.length}));
}

const agreement = p =>
    p.length < 3 ? null : 1 - 6 * sum(p, q => (q.predicted - q.measured) ** 2) / (p.length * (p.length ** 2 - 1));

function costModel() {
    const host = body("model"), scored = records.filter(r => known(r.predicted));
    if (!scored.length) {
        host.append(absent(
            "No record has a score of the cost model. A database stores scores since schema 5, " +
            "for records of a search that used its cost model."));
        return;
    }
    const rows = kernels.map(k => ({k, pairs: rankedPairs(k)})).filter(x => x.pairs.length).map(x => Object.assign(x, {
        rho: agreement(x.pairs)
    }));
    host.append(make(
        "div", {class: "pair"}, figure({
            id: "ranks",
            height: 280,
            draw: at => drawRanks(at, rows.find(x => x.k === state.kernel)),
            controls: make("div", {class: "controls"}, kernelSelect()),
            caption:
                "Each record's rank by the score that the model gave before the measurement, against its rank by time; " +
                "1 is the fastest. " +
                "A score predicts which of two records is faster, but no time.",
            command: data.commands.export
        }),
        make(
            "figure", {id: "agreement"},
            table(
                [
                    {name: "kernel", of: x => x.k.name, show: x => x.k.name, wide: true},
                    {name: "scored", of: x => x.pairs.length, show: x => String(x.pairs.length), n: true}, {
                        name: "agreement",
                        of: x => x.rho,
                        show: x => known(x.rho) ? x.rho.toFixed(2) : "\u2013",
                        n: true,
                        title: "Spearman's rank correlation"
                    }
                ],
                rows, {label: "Agreement of ranks", sort: 1, down: true}),
            make("figcaption", {}, "Spearman's correlation of the two ranks: 1 means the same order, 0 no relation."))));
}

function drawRanks(at, row) {
    if (!row) {
        at.host.replaceChildren(absent("No record of this kernel has a score and a time."));
        return;
    }
    if (!at.host.querySelector("svg")) at.host.replaceChildren();
    const n = row.pairs.length, axis = label => ({domain: [0, n + 1], label});
    const a = axes(at, "Ranks of " + count(n, "record"), axis("rank by score"), axis("rank by time"));
    a.svg.append("line")
        .attr("class", "roof thin")
        .attr("x1", a.x(0))
        .attr("y1", a.y(0))
        .attr("x2", a.x(n + 1))
        .attr("y2", a.y(n + 1));
    const place = new Map(row.pairs.map(p => [p.r, p]));
    points(
        a.svg, row.pairs.map(p => p.r), r => [a.x(place.get(r).predicted + 1), a.y(place.get(r).measured + 1)],
        r => phaseColour(r.phase), {own: true});
}
