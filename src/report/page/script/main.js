// The page as a whole.

function about() {
    const r = data.records, d = data.database, row = (name, value) => ({name, value});
    const rows = [
        row("made by", data.command || "a program"), row("on", asDate(data.made_ms)),
        row("database",
            d.file + ": " + count(d.records, "record") + " of " + count(d.workloads, "workload") + " for " +
                count(d.targets, "target") + ", schema " + d.schema + ", " + asBytes(d.bytes))
    ];
    if (data.baseline)
        rows.push(row(
            "baseline", data.baseline.file + ": " + count(data.baseline.records, "record") + ", schema " + data.baseline.schema));
    rows.push(row("target", machine.target || "\u2013"), row("threads", String(machine.threads)));
    if (r.hosts.length)
        rows.push(row("measured on", r.hosts.join(", ")), row("by tctune", r.versions.join(", ")), row("from", asDate(r.first_ms)));
    if (r.of_other_kernels) rows.push(row("not shown", count(r.of_other_kernels, "record") + " of other kernels"));
    if (d.records > records.length + r.of_other_kernels)
        rows.push(
            row("not shown",
                count(d.records - records.length - r.of_other_kernels, "record") +
                    " for other targets or numbers of threads (--target, --threads)"));
    for (const x of data.documents) rows.push(row("document", x.file));
    const ready = make("td", {class: "wide", id: "ready"});
    body("about").append(make(
        "table", {"aria-label": "Where the figures are from"},
        make(
            "tbody", {}, ...rows.map(x => make("tr", {}, make("th", {scope: "row"}, x.name), make("td", {class: "wide"}, x.value))),
            make("tr", {}, make("th", {scope: "row"}, "usable after"), ready))));
}

function heading() {
    const of = data.model || data.database.file;
    document.title = of + " \u2013 tctune report";
    document.getElementById("title").textContent = of;
    document.getElementById("subtitle").textContent = [
        data.model ? data.database.file : null, data.baseline ? "baseline " + data.baseline.file : null,
        machine.about ? machine.about.cpu + ", " + count(machine.threads, "thread") : machine.target,
        records.length ? asDate(data.records.first_ms) : null
    ].filter(x => x).join(" \u00b7 ");
}

heading();
overview();
kernelList();
roofline();
search();
kernelSection();
ranges();
failures();
costModel();
about();
if (kernels.length) state.kernel = kernels.filter(k => k.has).sort((a, b) => b.total - a.total)[0] || kernels[0];
onChange(redraw);
changed();
// After the first picture is on the screen: what a reader waits for.
requestAnimationFrame(() => setTimeout(() => {
    const ms = performance.now();
    document.documentElement.dataset.ready = ms.toFixed(1);
    document.getElementById("ready").textContent =
        Math.round(ms) + " ms, of which the script took " + Math.round(ms - started) + " ms";
}));
