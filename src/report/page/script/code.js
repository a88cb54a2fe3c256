// What the best schedule of a kernel becomes: its steps, its loop nest and its assembly side by side. A loop of the nest and its
// instructions find each other by the loop's name, which LLVM's labels keep.

function codePanes(side) {
    const code = side.code;
    if (!code) return absent("There is no schedule to show: " + side.why + ".");
    if (code.why)
        return make(
            "div", {}, absent("The schedule of record " + side.record + " does not build any more: " + code.why),
            pane("schedule", plainLines(code.schedule)));
    const nest = nestLines(code), assembly = assemblyLines(code);
    link(nest, assembly);
    requestAnimationFrame(() => reveal(assembly.host, assembly.host.querySelector(".hot")));
    const first = code.assembly.first_line, shown = assembly.lines.length, all = code.assembly.lines;
    const cutNote = all > shown ? ", lines " + first + " to " + (first + shown - 1) + " of " + all : "";
    return make(
        "div", {}, make("p", {class: "note"}, code.asm_facts.text.trim().split("\n").join(" \u00b7 ")),
        make(
            "div", {class: "panes"}, pane("schedule", plainLines(code.schedule)),
            pane("loop nest" + (code.nest_is_whole ? "" : ", its beginning"), nest.host),
            pane("assembly" + cutNote, assembly.host)));
}

const pane = (title, host) => make("div", {class: "pane"}, make("h4", {}, title), host);
const lineList = text => text.replace(/\n$/, "").split("\n");

function plainLines(text) {
    return make(
        "div", {class: "code", tabindex: 0, role: "region", "aria-label": "Schedule"},
        ...lineList(text).map(l => make("div", {}, l || " ")));
}

// The name of the loop that a line of the nest begins: "for k_o in 192 reduce {", "parallel task in 48 {".
function loopOf(line) {
    const m = /^\s*(?:\w+ )?(?:for )?([\w.]+) in /.exec(line);
    return m ? m[1] : null;
}

function nestLines(code) {
    const lines = lineList(code.nest).map(text => ({text, name: loopOf(text), div: null}));
    const host = make("div", {class: "code", role: "region", "aria-label": "Loop nest", tabindex: 0});
    lines.forEach(l => { l.div = make("div", {}, l.text || " "); host.append(l.div); });
    return {host, lines};
}

function assemblyLines(code) {
    const a = code.assembly, hot = code.asm_facts.hot_loop;
    const host = make("div", {class: "code", role: "region", "aria-label": "Assembly", tabindex: 0});
    const lines = lineList(a.text).map((text, i) => ({text, number: a.first_line + i, div: null}));
    lines.forEach(l => {
        l.div = make("div", {class: hot && l.number >= hot.first_line && l.number <= hot.last_line ? "hot" : null}, l.text || " ");
        host.append(l.div);
    });
    return {host, lines, loops: code.asm_facts.each_loop || []};
}

// LLVM names a loop after the block that it begins with, with what passes added: "k_o", "k_o.us", "k_o12". The longest name of a
// loop of the nest that it begins with is meant.
function nameOf(label, names) {
    const fits = names.filter(n => label.startsWith(n) && /^(\.\w+)*\d*$/.test(label.slice(n.length)));
    return fits.reduce((a, n) => a !== null && a.length >= n.length ? a : n, null);
}

function reveal(host, div) {
    if (div) host.scrollTop += div.getBoundingClientRect().top - host.getBoundingClientRect().top - host.clientHeight / 4;
}

function link(nest, assembly) {
    let lit = [];
    const show = divs => {
        lit.forEach(d => d.classList.remove("lit"));
        lit = divs;
        lit.forEach(d => d.classList.add("lit"));
    };
    const jump = (loops, lines, to) => {
        const of = assembly.lines.filter(l => loops.some(p => l.number >= p.first_line && l.number <= p.last_line));
        show([...lines.map(l => l.div), ...of.map(l => l.div)]);
        if (to === "assembly") reveal(assembly.host, of.length ? of[0].div : null);
        else reveal(nest.host, lines.length ? lines[0].div : null);
        say(lines.map(l => l.name).join(", ") + ": " +
            (of.length ? "instructions from line " + of[0].number + " to " + of[of.length - 1].number :
                         "its instructions are not in this part of the assembly"));
    };
    const clickable = (div, label, f) => {
        div.classList.add("loop");
        div.tabIndex = 0;
        div.setAttribute("role", "button");
        div.setAttribute("aria-label", label);
        div.addEventListener("click", f);
        div.addEventListener("keydown", e => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); f(); } });
    };
    const names = nest.lines.map(l => l.name).filter(n => n);
    for (const l of nest.lines.filter(x => x.name)) {
        const loops = assembly.loops.filter(p => nameOf(p.name, names) === l.name);
        if (loops.length) clickable(l.div, "Loop " + l.name + ": show its instructions", () => jump(loops, [l], "assembly"));
    }
    for (const p of assembly.loops) {
        const lines = nest.lines.filter(l => l.name && l.name === nameOf(p.name, names)),
              first = assembly.lines.find(l => l.number === p.first_line);
        if (lines.length && first)
            clickable(first.div, "Instructions of loop " + p.name + ": show it in the nest", () => jump([p], lines, "nest"));
    }
}
