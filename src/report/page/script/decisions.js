// One kernel: its times, its code, and what its decisions are worth by the records that there are.

// Of each decision of the best record: the best time of records that decided the same, and of those that did not. Records with the
// same steps alone are compared, and they differ in more than the one decision, so this is what was seen, not what the decision
// causes.
function worths(k) {
    const best = k.timed.find(r => r.id === k.best.record);
    if (!best) return [];
    const like = k.timed.filter(r => r.steps === best.steps);
    return best.steps.map((place, i) => {
        const mine = best.choices[i + 1], others = like.filter(r => r.choices[i + 1] !== mine);
        const rival = others.reduce((a, r) => !a || r.ms < a.ms ? r : a, null);
        return {
            i,
            step: place.step,
            value: place.values[mine],
            tried: new Set(like.map(r => r.choices[i + 1])).size,
            of: like.length,
            rival: rival ? place.values[rival.choices[i + 1]] : null,
            rivalRecord: rival && rival.id,
            worth: rival ? rival.ms / best.ms - 1 : null,
            ms: rival && rival.ms
        };
    });
}

function decisionTable(k) {
    const rows = worths(k);
    if (!rows.length)
        return absent(k.has ? "The best record has no time in this mode." : "There is no best record.");
    return make(
        "figure", {id: "decisions"},
        table(
            [
                {name: "#", of: r => r.i, show: r => String(r.i), n: true},
                {name: "decision", of: r => r.step, show: r => make("code", {}, r.step), wide: true},
                {name: "best record", show: r => make("code", {}, r.value)},
                {name: "values tried", of: r => r.tried, show: r => String(r.tried), n: true},
                {name: "next best value", show: r => r.rival === null ? "no other value was tried" : make("code", {}, r.rival)},
                {name: "its time", of: r => r.ms, show: r => asTime(r.ms), n: true, key: "rival_ms"},
                {name: "change", of: r => r.worth, show: r => asChange(r.worth), n: true},
                {
                    name: "record",
                    of: r => r.rivalRecord,
                    show: r => r.rivalRecord === null ? "\u2013" : String(r.rivalRecord),
                    n: true
                },
            ],
            rows, {label: "Decisions", sort: 6, down: true}),
        make(
            "figcaption", {},
            "For each decision of the best record: the fastest record with the same steps and another value (" +
                count(rows[0].of, "record") +
                " with these steps). Such a record can differ in other decisions too, " +
                "so the change is not the worth of this decision alone. ",
            asCommand(k.commands.compare)));
}

const worthTable = trials => table(
    [
        {
            name: "decision",
            of: t => String(t.decision || t.kind),
            show: t => make("code", {}, String(t.decision || t.kind)),
            wide: true
        },
        {name: "changed", show: t => t.what, wide: true},
        {
            name: "change of time",
            of: t => t.percent,
            show: t => make("span", {class: t.low > 0 ? "bad" : t.high < 0 ? "good" : null}, asChange(t.percent / 100)),
            n: true,
            key: "worth"
        },
        {name: "95 % interval", of: t => t.low, show: t => asChange(t.low / 100) + " \u2013 " + asChange(t.high / 100), n: true},
        {name: "rounds", of: t => t.rounds, show: t => asNumber(t.rounds), n: true},
    ],
    trials, {label: "What each decision is worth", sort: 2, down: false});

function explanation(k, file, x) {
    const measured = x.trials.filter(t => known(t.percent) && known(t.low) && known(t.high));
    const caption = `Schedule ${x.spec || "?"}, ${x.mode || "?"}, from ${file}: ` +
        "each trial changed one decision, and ran in turns with the schedule. ";
    return make(
        "figure", {class: "explanation"}, make("p", {}, make("strong", {}, x.answer)),
        measured.length ? worthTable(measured) : absent("No trial ran in turns with the schedule."),
        make("figcaption", {}, caption, asCommand(k.commands.explain)));
}

// What explanations say of the kernel: each trial changed one thing, and ran in turns with the schedule.
function explanationsOf(k) {
    return data.documents.filter(d => Array.isArray(d.document.trials) && k.forms.some(f => f.hash === d.document.hash))
        .map(d => explanation(k, d.file, d.document));
}

function kernelFacts(k) {
    const b = k.best;
    const fact = (name, value, small) =>
        make("div", {}, make("dt", {}, name), make("dd", {}, value, small ? " " : null, small ? make("small", {}, small) : null));
    return make(
        "dl", {class: "facts"}, fact("best", k.has ? asTime(b.median_ms) : "\u2013", k.has ? "record " + b.record : null),
        fact("of the roof", asShare(b.of_roof), known(b.roof_ms) ? asTime(b.roof_ms) + ", " + b.bound_by : "not known"),
        fact("rate", asNumber(k.gflops) + " GFLOP/s", k.unit ? "unit " + k.unit : null),
        fact("operations", asNumber(k.flops / 1e6) + " MFLOP", asBytes(k.bytes) + " moved"),
        data.baseline ?
            fact(
                "baseline", asTime(k.baseline.median_ms),
                known(k.baseline.median_ms) && k.has ? asChange(b.median_ms / k.baseline.median_ms - 1) : k.baseline.why) :
            null,
        fact(
            "first schedule tried", asTime(k.first),
            known(k.first) && k.has ? digits(k.first / b.median_ms, 3) + " times the best" : null));
}

/* All its ONNX nodes, where they are few; else the first ones. */
function nodesOf(k) {
    const shown = 12, list = k.nodes.slice(0, shown).join(", ");
    if (!k.nodes.length) return null;
    return make(
        "p", {class: "nodes"},
        `Made from the ONNX ${k.nodes.length === 1 ? "node" : "nodes"} ${list}` +
            (k.nodes.length > shown ? ` and ${k.nodes.length - shown} more` : "") + ".");
}

function kernelBody(k) {
    const code = make("div"), sides = [["best", k.best]];
    if (data.baseline && k.baseline.record !== null) sides.push(["baseline", k.baseline]);
    const put = name => code.replaceChildren(codePanes(sides.find(s => s[0] === name)[1]));
    put("best");
    return [
        make("h3", {}, k.name), nodesOf(k), k.has ? null : absent("No record is used: " + k.best.why + "."),
        known(k.flops) ? kernelFacts(k) : absent("Its workload cannot be read, so operations and bytes are not known."),
        make(
            "figure", {id: "modes"}, modeTable(k),
            make(
                "figcaption", {},
                "The best record of each mode, and the middle half of its timings. " +
                    "Times of different modes are not compared with each other. ",
                asCommand(k.commands.bench))),
        make("h3", {}, "Decisions"), ...explanationsOf(k), decisionTable(k), make("h3", {}, "Schedule, nest and assembly"),
        sides.length > 1 ? make("div", {class: "controls"}, choice("of", "side", sides.map(s => [s[0], s[0]]), "best", put)) : null,
        make(
            "figure", {id: "code"}, code,
            make(
                "figcaption", {},
                "Click a loop of the nest to see its instructions, " +
                    "or the first instruction of a loop to see its place in the nest. " +
                    "The bar marks the hot loop. ",
                asCommand(k.commands.show))),
        behind("Workload", () => plainLines(k.workload))
    ];
}

function kernelSection() {
    const host = body("kernel");
    if (!kernels.length) {
        host.append(absent("There are no kernels to show."));
        return;
    }
    const content = make("div");
    let shown = null;
    host.append(make("div", {class: "controls"}, kernelSelect()), content);
    onChange(() => {
        if (state.kernel === shown) return;
        shown = state.kernel;
        content.replaceChildren(...kernelBody(shown).filter(x => x));
    });
}
