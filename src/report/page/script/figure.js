// Pictures: a frame with axes that fits the width it has, a caption with the command that shows the same, and the data as a table
// behind it.

const pictures = [];

// draw(frame) is called whenever the width or what is shown changes.
function figure(options) {
    const host = make("div");
    const f = make("figure", {id: options.id, "data-figure": options.id}, options.controls || null, host, options.key || null,
        make("figcaption", {}, options.caption || "", options.command ? " " : null, asCommand(options.command)),
        options.table ? behind("The data of this picture as a table", options.table) : null);
    const picture = {host, draw: () => {
        const width = Math.max(280, host.clientWidth);
        options.draw({host, width, height: options.height || 300});
    }};
    pictures.push(picture);
    return f;
}

const redraw = () => pictures.forEach(p => { if (p.host.isConnected) p.draw(); });
let widthWas = innerWidth;
addEventListener("resize", () => {
    if (innerWidth === widthWas) return;
    widthWas = innerWidth;
    requestAnimationFrame(redraw);
});

// A frame with two axes. x, y: {domain, log, label, text}
function axes(at, label, x, y) {
    const margin = {left: 58, right: 16, top: 10, bottom: 38};
    const scale = (a, range) => (a.log ? d3.scaleLog() : d3.scaleLinear()).domain(a.domain).range(range);
    const sx = scale(x, [margin.left, at.width - margin.right]), sy = scale(y, [at.height - margin.bottom, margin.top]);
    const svg = d3.select(at.host).selectAll("svg").data([0]).join("svg").attr("role", "img").attr("aria-label", label)
        .attr("width", at.width).attr("height", at.height).attr("viewBox", `0 0 ${at.width} ${at.height}`);
    svg.selectAll("*").remove();
    const ticks = (axis, a, s, n) => {
        axis.ticks(n).tickSizeOuter(0);
        if (a.log) axis.tickValues(logTicks(a.domain, n));
        return axis.tickFormat(v => (a.text || asNumber)(v, 3));
    };
    const across = at.width / 90, up = at.height / 50;
    svg.append("g").attr("class", "grid").attr("transform", `translate(${margin.left},0)`)
        .call(ticks(d3.axisLeft(sy), y, sy, up).tickSize(-(at.width - margin.left - margin.right))).selectAll("text").remove();
    svg.append("g")
        .attr("class", "axis")
        .attr("transform", `translate(0,${at.height - margin.bottom})`)
        .call(ticks(d3.axisBottom(sx), x, sx, across));
    svg.append("g")
        .attr("class", "axis")
        .attr("transform", `translate(${margin.left},0)`)
        .call(ticks(d3.axisLeft(sy), y, sy, up))
        .select(".domain")
        .remove();
    svg.append("text").attr("x", at.width - margin.right).attr("y", at.height - 4).attr("text-anchor", "end").text(x.label);
    svg.append("text").attr("x", margin.left + 6).attr("y", margin.top + 9).text(y.label);
    return {
        svg,
        x: sx,
        y: sy,
        left: margin.left,
        right: at.width - margin.right,
        top: margin.top,
        bottom: at.height - margin.bottom
    };
}

// 1, 2 and 5 times powers of ten, of which as many as there is room for; evenly spaced where these leave one or none.
function logTicks([low, high], n) {
    const all = [];
    for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e++)
        for (const m of [1, 2, 5]) if (m * 10 ** e >= low * 0.999 && m * 10 ** e <= high * 1.001) all.push(m * 10 ** e);
    const tens = all.filter(v => Number.isInteger(Math.round(Math.log10(v) * 1e6) / 1e6));
    if (all.length < 2) return d3.ticks(low, high, n);
    if (all.length <= n + 1 || tens.length < 2) return all;
    return tens.filter((v, i) => i % Math.ceil(tens.length / n) === 0);
}

// Around values, a little wider; a log axis covers at least a factor.
function around(values, log, least) {
    const v = values.filter(x => known(x) && (!log || x > 0));
    if (!v.length) return log ? [0.1, 10] : [0, 1];
    const [a, b] = [d3.min(v), d3.max(v)];
    if (log) return [Math.min(a / 1.15, b / (least || 2)), b * 1.15];
    return a === b ? [a - 1, b + 1] : [a - 0.02 * (b - a), b + 0.02 * (b - a)];
}

// Records as points. at(r) = [x, y] in the picture's units.
function points(svg, list, at, colour, options = {}) {
    const lit = r => !state.alone || r.kernel === state.alone;
    return svg.append("g")
        .selectAll("circle")
        .data(list)
        .join("circle")
        .attr("r", r => r.kernel.best.record === r.id ? 4.5 : 2.6)
        .attr("class", r => "dot" + (r.kernel.best.record === r.id ? " best" : "") + (!options.own && !lit(r) ? " faded" : ""))
        .attr("cx", r => at(r)[0])
        .attr("cy", r => at(r)[1])
        .attr("fill", colour)
        .attr("data-record", r => r.id)
        .attr("data-ms", r => r.ms)
        .on("mousemove", r => showTip(d3.event, describe(r) + (options.more ? "\n" + options.more(r) : "")))
        .on("mouseleave", hideTip)
        .on("click", r => {
            hideTip();
            options.own ? choose(r.kernel) : isolate(r.kernel);
        });
}

const kernelColours = [0, 1, 2, 3, 5, 4];
const kernelColour = k => "var(--c" + kernelColours[k.index % kernelColours.length] + ")";

function recordTable(list, more = []) {
    return table([
        {name: "record", of: r => r.id, show: r => String(r.id), n: true, key: "record"},
        {name: "kernel", of: r => r.kernel.name, show: r => r.kernel.name, wide: true},
        {name: "time", of: r => r.ms, show: r => asTime(r.ms), n: true, key: "median_ms"},
        {name: "mode", of: r => r.mode, show: r => r.mode},
        {name: "form", of: r => r.form, show: r => r.form},
        ...more,
    ], list, {sort: 0, tall: true, label: "Records"});
}
