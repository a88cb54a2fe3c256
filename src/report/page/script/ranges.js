// Kernels and networks whose sizes vary: times over the range.

function rangeFigure(id, title, points, lines, command) {
    const draw = at => {
        const all = lines.flatMap(l => points.map(l.of)).filter(known);
        const a = axes(
            at, title, {domain: around(points.map(p => p.x), true, 2), log: true, label: "size"},
            {domain: around(all, true, 1.3), log: true, label: "time", text: asTime});
        for (const l of lines) {
            const there = points.filter(p => known(l.of(p)));
            a.svg.append("path").attr("class", l.style).attr("d", d3.line().x(p => a.x(p.x)).y(p => a.y(l.of(p)))(there));
            if (l.dots)
                a.svg.append("g")
                    .selectAll("circle")
                    .data(there)
                    .join("circle")
                    .attr("r", 3)
                    .attr("cx", p => a.x(p.x))
                    .attr("cy", p => a.y(l.of(p)))
                    .attr("fill", "var(--c0)")
                    .on("mousemove", p => showTip(d3.event, p.text + "\n" + asTime(l.of(p))))
                    .on("mouseleave", hideTip);
        }
    };
    return figure({
        id,
        height: 280,
        draw,
        caption: title + ".",
        command,
        table: () => table(
            [
                {name: "sizes", of: p => p.x, show: p => p.text},
                ...lines.map(l => ({name: l.name, of: l.of, show: p => asTime(l.of(p)), n: true}))
            ],
            points, {label: title, sort: 0})
    });
}

const sizesText = sizes => Object.entries(sizes).map(([n, v]) => n + " = " + v).join(", ");
const product = sizes => Object.values(sizes).reduce((a, b) => a * b, 1);

function variantFigure(k) {
    if (k.range.why) return absent(k.name + ": " + k.range.why);
    const list = k.range.points.map(p => ({x: product(p.sizes), text: sizesText(p.sizes), ms: p.median_ms, best: p.best_ms}))
                     .sort((a, b) => a.x - b.x);
    return rangeFigure(
        "range-" + k.index, k.name + ": the variant that serves each size, and the fastest program at that size", list,
        [
            {name: "variant that serves it", of: p => p.ms, style: "line", dots: true},
            {name: "fastest program", of: p => p.best, style: "base"}
        ],
        k.commands.show);
}

function ranges() {
    const host = body("ranges"), varying = kernels.filter(k => k.range), all = make("div", {class: "pair"});
    for (const k of varying) all.append(variantFigure(k));
    const curves = [
        {name: "median", of: p => p.ms, style: "line", dots: true},
        {name: "shortest", of: p => p.low, style: "roof thin"},
        {name: "longest", of: p => p.high, style: "roof thin"}
    ];
    const point = (p, over) =>
        ({x: p.sizes[over], text: sizesText(p.sizes), ms: p.median_ms, low: p.min_ms, high: p.max_ms});
    data.documents.forEach((d, n) => (d.document.curves || []).forEach(c => {
        const title = d.document.name + " over " + c.over + " (" + d.file + ")";
        const points = c.points.map(p => point(p, c.over)).filter(p => p.x > 0);
        all.append(rangeFigure("curve-" + n + "-" + c.over, title, points, curves, null));
    }));
    if (all.childElementCount) host.append(all);
    else
        host.append(absent(
            "No size of these kernels varies, and no document has a curve over sizes " +
            "(`tctune bench --json` of a model whose sizes vary, given with --with)."));
}
