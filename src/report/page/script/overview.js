// What the network takes, beside what it could and did take.

function overviewBars() {
    const bars = [];
    const add = (name, ms, kind, note) => { if (known(ms) && ms > 0) bars.push({name, ms, kind, note}); };
    const all = f => counted.every(k => known(f(k)));
    if (counted.length) {
        if (all(k => k.best.roof_ms))
            add("at the roof", sum(counted, k => k.weight * k.best.roof_ms), "limit", "no kernel can be faster than its roof");
        add("best records", latency, "bar", "sum over kernels of launches times the best record");
        const both = counted.filter(k => k.baseline && known(k.baseline.median_ms));
        if (data.baseline && both.length === counted.length)
            add("baseline", sum(both, k => k.weight * k.baseline.median_ms), "other",
                "sum over kernels of launches times the best record of " + data.baseline.file);
        if (all(k => k.first))
            add("first schedules tried", sum(counted, k => k.weight * k.first), "other",
                "the first record of each kernel that has a time");
    }
    for (const d of data.documents) {
        const j = d.document;
        for (const p of j.peers || [])
            add(p.name, p.median_ms, "other", "as " + d.file + " says" + (typeof p.how === "string" ? ": " + p.how : ""));
        if (!known(j.median_ms) || (j.kernels || []).length === 0) continue;
        const untuned = j.kernels.every(k => k.source === "default");
        add((untuned ? "untuned run" : "run") + ": " + d.file, j.median_ms, untuned ? "other" : "bar",
            "median of " + j.repeats + " whole runs, " + asTime(j.min_ms) + " to " + asTime(j.max_ms));
    }
    return bars;
}

function drawBars(at, bars) {
    const row = 24, left = Math.min(260, at.width * 0.42), right = 80, height = bars.length * row + 4;
    const x = d3.scaleLinear().domain([0, d3.max(bars, b => b.ms)]).range([left, at.width - right]);
    const svg = d3.select(at.host)
                    .selectAll("svg")
                    .data([0])
                    .join("svg")
                    .attr("role", "img")
                    .attr("width", at.width)
                    .attr("height", height)
                    .attr("aria-label", "Latencies: " + bars.map(b => b.name + " " + asTime(b.ms)).join(", "));
    svg.selectAll("*").remove();
    const g = svg.selectAll("g")
                  .data(bars)
                  .join("g")
                  .attr("transform", (b, i) => `translate(0,${i * row})`)
                  .on("mousemove", b => showTip(d3.event, b.name + "\n" + b.note))
                  .on("mouseleave", hideTip);
    g.append("rect")
        .attr("class", b => "bar " + b.kind)
        .attr("x", left)
        .attr("y", 4)
        .attr("height", row - 8)
        .attr("width", b => Math.max(1, x(b.ms) - left));
    g.append("text")
        .attr("class", "label")
        .attr("x", left - 8)
        .attr("y", row / 2 + 4)
        .attr("text-anchor", "end")
        .text(b => b.name.length > left / 6.4 ? "\u2026" + b.name.slice(-Math.floor(left / 6.4)) : b.name);
    g.append("text")
        .attr("class", "label")
        .attr("x", b => x(b.ms) + 6)
        .attr("y", row / 2 + 4)
        .attr("data-figure", "latency")
        .attr("data-value", b => b.ms)
        .text(b => asTime(b.ms));
}

function overviewFacts() {
    const roof = counted.length && counted.every(k => known(k.best.roof_ms)) ? sum(counted, k => k.weight * k.best.roof_ms) : null;
    const both = counted.filter(k => k.baseline && known(k.baseline.median_ms));
    const mine = sum(both, k => k.total), theirs = sum(both, k => k.weight * k.baseline.median_ms);
    const failed = records.filter(r => r.failed).length;
    const fact = (name, value, small, key, raw) => make(
        "div", {}, make("dt", {}, name),
        make(
            "dd", {"data-figure": key, "data-value": known(raw) ? raw : null}, value, small ? " " : null,
            small ? make("small", {}, small) : null));
    return make(
        "dl", {class: "facts"},
        fact(
            data.model ? "latency of kernels" : "sum over kernels", counted.length ? asTime(latency) : "\u2013",
            data.model ? "launches \u00d7 best" : "one launch each", "latency", counted.length ? latency : null),
        fact("of the roof", asShare(roof && roof / latency), roof ? asTime(roof) : "not known"),
        data.baseline && both.length
            ? fact("against the baseline", asChange(mine / theirs - 1),
                asTime(mine) + " : " + asTime(theirs) + " (" + count(both.length, "kernel") + ")", "baseline", theirs)
            : data.baseline && fact("against the baseline", "\u2013", "no kernel in common", "baseline", null),
        fact("records", String(records.length), failed ? failed + " failed" : "none failed", "records", records.length),
        fact(
            "kernels", String(kernels.length),
            counted.length === kernels.length ? "all with a record" : kernels.filter(k => k.has).length + " with a record",
            "kernels", kernels.length),
        fact(
            "peak", roofs.from ? asNumber(roofs.f32_gflops) + " GFLOP/s" : "\u2013",
            roofs.from ? roofs.isa + ", " + count(roofs.threads, "thread") : "not known"));
}

function overview() {
    const host = body("overview"), bars = overviewBars();
    host.append(overviewFacts());
    if (!records.length)
        host.append(absent(
            data.database.records === 0 ?
                data.database.file + " has no records: there is nothing to show yet. `" + data.commands.tune + "` measures some." :
                data.database.file + " has " + count(data.database.records, "record") +
                    ", but none of these kernels with this target and number of threads."));
    else if (!counted.length)
        host.append(absent(
            "No record can be used: " +
            (records.every(r => r.failed) ? "all of them failed. Section Failures says how." : "none has a verified result.")));
    const missing = kernels.filter(k => k.runs && !k.has);
    if (counted.length && missing.length)
        host.append(absent(
            count(missing.length, "kernel has", "kernels have") + " no record that could be used, and " +
            (missing.length === 1 ? "is" : "are") + " not in the sums: " + missing.slice(0, 4).map(k => k.name).join("; ") +
            (missing.length > 4 ? " \u2026" : "")));
    if (!machine.here && machine.target)
        host.append(absent(
            "These records are of another machine (" + machine.target + "), so nothing was measured on this one."));
    if (!roofs.from) host.append(absent("Roofs are not known: " + roofs.why + "."));
    if (data.baseline && !kernels.some(k => k.baseline && k.baseline.record !== null))
        host.append(absent(
            data.baseline.file + " has no record of these kernels with this target and number of threads: nothing is compared."));
    if (bars.length)
        host.append(figure({
            id: "latencies",
            height: 10,
            draw: at => drawBars(at, bars),
            caption: "Latencies. The same from the command line:",
            command: data.commands.bench || data.commands.stats,
            table: () => table(
                [
                    {name: "what", of: b => b.name, show: b => b.name},
                    {name: "time", of: b => b.ms, show: b => asTime(b.ms), n: true},
                    {name: "meaning", show: b => b.note, wide: true}
                ],
                bars, {label: "Latencies"})
        }));
}
