"""The page in Chromium: it says nothing on the console, its links lead somewhere, its figures are the database's, and names and
messages never become markup. Exit status 77: there is no Chromium (scripts/install-deps.sh --browser)."""
import sqlite3

import common
from common import run

FIGURES = """[...document.querySelectorAll('#kernel-table tr[data-kernel]')].map(tr => Object.fromEntries(
    [...tr.querySelectorAll('td[data-figure]')].map(td => [td.dataset.figure,
        td.dataset.value === undefined ? null : Number(td.dataset.value)])))"""
POINTS = "[...document.querySelectorAll('#%s circle[data-record]')].map(c => [Number(c.dataset.record), Number(c.dataset.ms)])"


def quiet(b, what):
    assert not b.complaints(), (what, b.complaints()[:3])


def near(a, b):
    return abs(a - b) <= 1e-5 * abs(b)


def links(b):
    dead = b.run("[...document.querySelectorAll('a[href]')].filter(a => !document.getElementById(a.getAttribute('href')"
                 ".slice(1))).map(a => a.getAttribute('href'))")
    assert dead == [], dead
    assert b.run("document.querySelectorAll('a[href]').length") >= 9
    assert b.run("performance.getEntriesByType('resource').length") == 0, "the page loads something"


def test_figures(b):
    run("report", "--db", "normal.db", "--baseline", "base.db", "--with", "bench.json", "--with", "curves.json",
        "-o", "normal.html")
    b.open("normal.html")
    quiet(b, "normal.html")
    links(b)
    medians = {r: m for r, m in sqlite3.connect("normal.db").execute("SELECT id, median * 1e3 FROM records WHERE error = 'ok'")}
    theirs = {r: m for r, m in sqlite3.connect("base.db").execute("SELECT id, median * 1e3 FROM records WHERE error = 'ok'")}
    rows = b.run(FIGURES)
    assert sorted(r["record"] for r in rows) == [1, 16]
    for r in rows:
        assert near(r["median_ms"], medians[r["record"]]) and near(r["baseline_ms"], theirs[r["record"]]), r
    total = b.run("Number(document.querySelector('dd[data-figure=latency]').dataset.value)")
    assert near(total, sum(medians[r["record"]] for r in rows)), total
    points = b.run(POINTS % "roofline-picture")
    assert sorted(p[0] for p in points) == sorted(medians), points
    for picture in ("roofline-picture", "kernel-course"):
        assert all(near(ms, medians[r]) for r, ms in b.run(POINTS % picture))
    failures = dict(sqlite3.connect("normal.db").execute("SELECT error, count(*) FROM records WHERE error != 'ok' GROUP BY 1"))
    shown = b.run("[...document.querySelectorAll('#failure-table tr[data-outcome]')].map(tr => [tr.dataset.outcome, "
                  "Number(tr.querySelector('[data-figure=failures]').dataset.value)])")
    assert dict(shown) == failures, shown


def test_commands(b):
    """Each command that the page shows is one of its data: data.py runs those."""
    b.open("normal.html")
    known = b.run("[data.commands, ...kernels.map(k => k.commands)].flatMap(c => Object.values(c)).filter(c => c)")
    shown = "[...document.querySelectorAll('main code')].map(c => c.textContent).filter(t => t.startsWith('tctune '))"
    for i in range(b.run("document.querySelectorAll('#kernel-table .link').length")):
        b.run(f"document.querySelectorAll('#kernel-table .link')[{i}].click()")
        assert len(b.run(shown)) > 5 and set(b.run(shown)) <= set(known), set(b.run(shown)) - set(known)


def test_use(b):
    """Sorting, choosing, isolating and jumping, by what a keyboard reaches."""
    b.open("normal.html")
    b.run("[...document.querySelectorAll('#kernel-table th button')].find(x => x.textContent === 'time').click()")
    assert b.run("[...document.querySelectorAll('#kernel-table th')].find(x => x.textContent === 'time')"
                 ".getAttribute('aria-sort')") == "descending"
    assert b.run(FIGURES)[0]["record"] == 1
    b.run("document.querySelectorAll('#kernel-table .link')[1].click()")
    chosen = b.run("document.querySelector('#kernel-table tr.chosen .link').textContent")
    assert b.run("document.querySelector('#kernel h3').textContent") == chosen
    b.run("document.querySelector('#roofline-picture circle').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    assert b.run("document.querySelectorAll('#roofline-picture circle.faded').length") > 0
    b.run("dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape'}))")
    assert b.run("document.querySelectorAll('#roofline-picture circle.faded').length") == 0
    b.run("document.querySelectorAll('#kernel-table .link')[0].click()")
    assert b.run("document.querySelectorAll('#code .pane').length") == 3
    assert b.run("(l => l.length ? (l[0].dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter'})), "
                 "document.querySelectorAll('#code .lit').length) : 0)([...document.querySelectorAll('#code .loop')])") > 1
    for details in range(b.run("document.querySelectorAll('details').length")):
        b.run(f"document.querySelectorAll('details')[{details}].open = true")
    b.run("new Promise(f => setTimeout(f, 50))")
    assert b.run("[...document.querySelectorAll('svg[role=img]')].every(s => s.getAttribute('aria-label'))")
    quiet(b, "after use")


def test_given(b):
    """Peers and explanations that are given are shown where they belong."""
    run("report", "--db", "normal.db", "--with", "peers.json", "--with", "explained.json", "-o", "given.html")
    b.open("given.html")
    quiet(b, "given.html")
    links(b)
    bars = b.run("[...document.querySelectorAll('#latencies text[data-figure=latency]')].map(t => Number(t.dataset.value))")
    assert 0.12 in bars and "ONNX Runtime" in b.run("document.querySelector('#latencies').textContent")
    said = []
    for i in range(b.run("document.querySelectorAll('#kernel-table .link').length")):
        b.run(f"document.querySelectorAll('#kernel-table .link')[{i}].click()")
        said += [b.run("[...document.querySelectorAll('#kernel .explanation')].map(e => [e.querySelector('strong').textContent, "
                       "[...e.querySelectorAll('[data-figure=worth]')].map(t => Number(t.dataset.value))])")]
    assert sorted(said) == [[], [["Nothing within the space helps.", [12.5]]]], said
    quiet(b, "given.html, used")
    for text, why in (('{"peers": [{"name": "x"}]}', "lists of peers"),
                      ('{"answer": "a", "hash": "b", "trials": [3]}', "not a document"), ('{"peers": [', "wrong.json:1")):
        with open("wrong.json", "w") as f:
            f.write(text)
        assert why in run("report", "--db", "normal.db", "--with", "wrong.json", "-o", "wrong.html", code=1)


def test_little(b):
    for name, words in (("empty", "has no records"), ("failures", "all of them failed"), ("broken", "does not build any more")):
        run("report", "--db", name + ".db", "-o", name + ".html")
        b.open(name + ".html")
        quiet(b, name)
        links(b)
        told = b.run("document.querySelector('main').textContent")
        for i in range(b.run("document.querySelectorAll('#kernel-table .link').length")):
            b.run(f"document.querySelectorAll('#kernel-table .link')[{i}].click()")
            told += b.run("document.querySelector('#kernel').textContent")
        assert words in told, name
    assert "another machine" in b.run("document.querySelector('#overview').textContent")


def test_hostile(b):
    run("report", "--db", "hostile.db", "-o", "hostile.html")
    b.open("hostile.html")
    quiet(b, "hostile")
    b.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    b.run("new Promise(f => setTimeout(f, 50))")
    assert b.run("document.title") == "hostile.db \u2013 tctune report"
    assert b.run("document.querySelectorAll('img').length") == 0 and b.run("document.scripts.length") == 3
    assert common.EVIL in b.run("document.querySelector('#about').textContent")


def test_widths(b):
    """Nothing is wider than the window, in either colours."""
    for width, dark in ((1280, False), (1280, True), (400, False)):
        b.open("normal.html", width=width, dark=dark)
        assert b.run("document.documentElement.scrollWidth") <= width, width
        ink, paper = b.run("[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor].map(c => "
                           "c.match(/\\d+/g).slice(0, 3).reduce((s, x) => s + Number(x), 0))")
        assert (ink > paper) == dark
        quiet(b, (width, dark))


if __name__ == "__main__":
    common.in_browser(globals())
