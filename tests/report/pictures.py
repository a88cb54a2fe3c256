"""What `--plot` draws, in Chromium: no text is cut, none lies on a bar. Exit status 77: there is no Chromium
(scripts/install-deps.sh --browser)."""
import os
import re

import common
from common import run

TEXTS = """(() => {
    const box = e => { const r = e.getBoundingClientRect(); return [r.left, r.right, r.top, r.bottom]; };
    const svg = document.documentElement, bars = [...document.querySelectorAll('rect[fill]:not([width="100%"])')].map(box);
    const meet = (a, b) => a[0] < b[1] - 0.5 && a[1] > b[0] + 0.5 && a[2] < b[3] && a[3] > b[2];
    return [...document.querySelectorAll('text')].map(t => [t.textContent, box(t), bars.filter(b => meet(box(t), b)).length,
        svg.width.baseVal.value, svg.height.baseVal.value]);
})()"""


def look(b, file, words):
    b.page("Emulation.setDeviceMetricsOverride", width=1600, height=1200, deviceScaleFactor=1, mobile=False)
    b.page("Page.navigate", url="file://" + os.path.abspath(file))
    b.run("new Promise(f => setTimeout(f, 100))")
    texts = b.run(TEXTS)
    assert words in " ".join(t[0] for t in texts), (file, texts)
    for text, (left, right, top, bottom), on_bars, width, height in texts:
        assert left >= 0 and right <= width and top >= 0 and bottom <= height, \
            f"{file}: '{text}' reaches from {left} to {right} of {width}"
        assert not on_bars, f"{file}: '{text}' lies on a bar"


def test_pictures(b):
    run("zoo", "mlp", "bert-tiny")
    run("tune", "--model", "bert-tiny.onnx", "--trials", "12", "--threads", "1", "--db", "b.db", "--plot", "tune.svg")
    look(b, "tune.svg", "sum of the best times over time")
    run("bench", "--model", "bert-tiny.onnx", "--threads", "1", "--repeats", "2", "--db", "b.db", "--plot", "bench.svg")
    look(b, "bench.svg", "MatMul+Div+Add+Softmax+MatMul+Transpose")
    name = "a_database_with_a_name_" + 14 * "that_is_long_" + ".db"
    os.rename("b.db", name)
    run("db", "stats", "--db", name, "--plot", "stats.svg")
    look(b, "stats.svg", "records of")


def test_wide_characters(b):
    """Names of a document may have any characters."""
    name = "\u6a21\u578b" * 30 + ".onnx"
    os.rename("mlp.onnx", name)
    run("bench", "--model", name, "--threads", "1", "--repeats", "2", "--untuned", "--plot", "wide.svg")
    look(b, "wide.svg", "\u6a21")


def test_the_test(b):
    """A text that is cut, and one on a bar, are seen."""
    with open("bench.svg") as f:
        text = f.read()
    for old, new in ((r'<text x="[^"]*" (y="[^"]*" text-anchor="end")', r'<text x="4" \1'),
                     (r'text-anchor="start" fill', 'text-anchor="end" fill')):
        with open("spoilt.svg", "w") as f:
            f.write(re.sub(old, new, text))
        try:
            look(b, "spoilt.svg", "MatMul")
        except AssertionError as e:
            assert "reaches" in str(e) or "lies on a bar" in str(e)
        else:
            raise AssertionError("a spoilt picture is taken for a right one")


if __name__ == "__main__":
    common.in_browser(globals())
