// The roofline (Williams et al. 2009): each record by what it computes a byte and how fast, under the bandwidth of each level of
// the memory and the rate of each unit.

const intensity = r => r.kernel.flops / traffic(r.kernel, r.mode);
const rate = r => r.kernel.flops / r.ms / 1e6;

function roofline() {
    const host = body("roofline");
    const all =
        records.filter(r => !r.failed && known(r.ms) && r.sizes === "" && r.kernel.flops > 0 && traffic(r.kernel, r.mode) > 0);
    if (!all.length) {
        host.append(absent(records.length ? "No record has both a time and a number of operations." : "There are no records."));
        return;
    }
    const modes = [...new Set(all.map(r => r.mode))], shown = new Set(modes);
    const controls = make(
        "div", {class: "controls"},
        make(
            "fieldset", {}, make("legend", {}, "mode"),
            ...modes.map(
                m => make(
                    "label", {}, make("input", {
                        type: "checkbox",
                        checked: true,
                        on: {
                            change: e => {
                                e.target.checked ? shown.add(m) : shown.delete(m);
                                redraw();
                            }
                        }
                    }),
                    " " + m))),
        picker());
    host.append(figure({
        id: "roofline-picture",
        height: 420,
        controls,
        draw: at => drawRoofline(at, all.filter(r => shown.has(r.mode))),
        caption: "Every record that has a time" +
            (roofs.from ?
                 ", under the roofs (" + (roofs.from === "measured" ? "measured when the page was made" : roofs.from) + ")" :
                 "; roofs are not known: " + roofs.why) +
            ". Bytes count what every kernel for this workload must move. " +
            "Click a point to show its kernel alone; Escape shows all kernels.",
        command: kernels.map(k => k.commands.compare).find(c => c),
        table: () => recordTable(
            all,
            [
                {name: "flop/byte", of: intensity, show: r => asNumber(intensity(r)), n: true},
                {name: "GFLOP/s", of: rate, show: r => asNumber(rate(r)), n: true}
            ])
    }));
}

// For those who use no pointer: the same as a click on a point.
function picker() {
    const select = make(
        "select", {
            "aria-label": "Show one kernel alone",
            on: {
                change: () => {
                    const k = kernels[select.value] || null;
                    if (k !== state.alone) isolate(k || state.alone);
                }
            }
        },
        make("option", {value: ""}, "all kernels"), ...kernels.map(k => make("option", {value: k.index}, k.name)));
    onChange(() => { select.value = state.alone ? state.alone.index : ""; });
    return make("label", {}, "show ", select);
}

function drawRoofline(at, list) {
    const units = roofs.from ? [["f32", roofs.f32_gflops], ...Object.entries(roofs.unit_peaks)] : [];
    const levels = roofs.from ? roofs.levels : [];
    const x = {domain: around(list.map(intensity), true, 20), log: true, label: "flop per byte"};
    const y = {domain: around([...list.map(rate), ...units.map(u => u[1])], true, 10), log: true, label: "GFLOP/s"};
    const a = axes(at, "Roofline of " + count(list.length, "record"), x, y), top = d3.max(units, u => u[1]);
    const clamp = v => Math.max(y.domain[0], Math.min(v, top));
    for (const l of levels) {
        const from = Math.max(x.domain[0], y.domain[0] / l.gbs), to = Math.min(x.domain[1], top / l.gbs);
        if (from >= to) continue;
        a.svg.append("line")
            .attr("class", "roof")
            .attr("x1", a.x(from))
            .attr("y1", a.y(clamp(from * l.gbs)))
            .attr("x2", a.x(to))
            .attr("y2", a.y(clamp(to * l.gbs)));
        a.svg.append("text")
            .attr("x", a.x(from) + 6)
            .attr("y", a.y(clamp(from * l.gbs)) - 6)
            .attr("transform", `rotate(${slope(a, l, from, to)},${a.x(from) + 6},${a.y(clamp(from * l.gbs)) - 6})`)
            .text(l.name + " " + asNumber(l.gbs, 3) + " GB/s");
    }
    const fastest = d3.max(levels, l => l.gbs);
    for (const [name, gflops] of units.filter(u => u[1] / fastest < x.domain[1])) {
        a.svg.append("line")
            .attr("class", "roof" + (name === "f32" ? "" : " thin"))
            .attr("x1", a.x(Math.max(x.domain[0], gflops / fastest)))
            .attr("x2", a.right)
            .attr("y1", a.y(gflops))
            .attr("y2", a.y(gflops));
        a.svg.append("text")
            .attr("x", a.right)
            .attr("y", a.y(gflops) - 4)
            .attr("text-anchor", "end")
            .text(name + " " + asNumber(gflops, 4) + " GFLOP/s");
    }
    points(
        a.svg, list, r => [a.x(intensity(r)), a.y(rate(r))], r => kernelColour(r.kernel),
        {more: r => asNumber(rate(r)) + " GFLOP/s, " + asNumber(intensity(r)) + " flop/byte"});
}

function slope(a, l, from, to) {
    return Math.atan2(a.y(to * l.gbs) - a.y(from * l.gbs), a.x(to) - a.x(from)) * 180 / Math.PI;
}
