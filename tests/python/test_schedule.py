"""Schedules by hand: every primitive as a method, stages and loops as they stand, times, records, comparisons, refusals."""
import inspect
import re
from pathlib import Path

import pytest

import tctune
from tctune import BadInput, Closed, Schedule, te

ROOT = Path(__file__).resolve().parents[2]


def primitives():
    """Name and example of each, as the table of the source has them."""
    text = (ROOT / "src/schedule_primitives/primitives.def").read_text()
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return re.findall(r"^(?:SAMPLED|PRIM)\(\w+, \"(\w+)\".*?\"([^\"]*)\"\)", text, flags=re.M | re.S)


@pytest.fixture
def layer():
    """A matmul of a constant, and what is done with its result."""
    X, W = te.placeholder((64, 32), name="X"), te.placeholder((32, 64), name="W", const=True)
    k = te.reduce_axis(32, "k")
    D = te.compute((64, 64), lambda i, j: te.sum(X[i, k] * W[k, j], axis=k), name="D")
    B = te.compute((64, 64), lambda i, j: D[i, j] + D[i, 63 - j], name="B")
    return te.kernel(te.compute((64, 64), lambda i, j: te.relu(B[i, j]), name="Y"), name="layer")


@pytest.fixture
def s(layer):
    with Schedule(layer, threads=1) as made:
        yield made


def test_every_primitive_is_a_method():
    table = primitives()
    assert len(table) > 20
    for name, _ in table:
        assert inspect.isfunction(getattr(Schedule, name)) and getattr(Schedule, name).__doc__, name


# What each does: a function of a schedule of `layer`, and the last line that it makes.
STEPS = {
    "sample_tile": (lambda s: s.sample_tile("Y.i", 3, 16, [2, 8]), "t = sample_tile Y.i parts=3 max_inner=16 ~[2, 8]"),
    "sample_categorical": (lambda s: s.sample_categorical([0, 16, 64], 16), "u = sample_categorical [0, 16, 64] ~16"),
    "sample_compute_location": (lambda s: s.sample_compute_location("B", "inline"), "l = sample_compute_location B ~inline"),
    "split": (lambda s: s.split("Y.i", [None, 2, 8]), "i_0, i_1, i_2 = split Y.i [_, 2, 8]"),
    "tile": (lambda s: s.tile("Y.i", "Y.j", 8, 16), "i_o, j_o, i_i, j_i = tile Y.i Y.j 8 16"),
    "fuse": (lambda s: s.fuse("Y.i", "Y.j"), "i_j = fuse Y.i Y.j"),
    "reorder": (lambda s: s.reorder("D.k", "D.i", "D.j"), "reorder D.k D.i D.j"),
    "vectorize": (lambda s: s.vectorize(s.split("Y.j", 16)[1]), "vectorize Y.j_i"),
    "unroll": (lambda s: s.unroll(s.split("Y.j", 4)[1]), "unroll Y.j_i"),
    "parallel": (lambda s: s.parallel(s["Y"]["i"]), "parallel Y.i"),
    "compute_at": (lambda s: s.compute_at("B", "Y.i"), "compute_at B Y.i"),
    "compute_inline": (lambda s: s.compute_inline(s["B"]), "compute_inline B"),
    "compute_root": (lambda s: (s.compute_at("B", "Y.i"), s.compute_root("B")), "compute_root B"),
    "cache_read": (lambda s: s.cache_read("X", "D"), "X_global = cache_read X D global"),
    "cache_part": (lambda s: s.cache_part("D", "B", 1), "D_part = cache_part D B global 1"),
    "cache_write": (lambda s: s.cache_write("D"), "D_local = cache_write D local"),
    "rfactor": (lambda s: s.rfactor(s.split("D.k", 8)[1]), "D_rf = rfactor D.k_i"),
    "transform_layout": (lambda s: s.transform_layout("W", lambda k, j: (j // 16, k, j % 16)),
                         "transform_layout W (k, j) -> (j / 16, k, j % 16)"),
    "storage_align": (lambda s: s.storage_align("D", 0, 16), "storage_align D 0 16"),
    "set_scope": (lambda s: (s.compute_at("B", "Y.i"), s.set_scope("B", "local")), "set_scope B local"),
    "pragma": (lambda s: s.pragma("Y", "auto_unroll_max", 64), "pragma Y auto_unroll_max 64"),
    "tensorize": (None, None),
    "prefetch": (lambda s: (s.transform_layout("W", "(k, j) -> (j / 16, k, j % 16)"), s.prefetch("W", 1024)), "prefetch W 1024"),
}


def test_every_primitive_is_tried():
    assert sorted(STEPS) == sorted(name for name, _ in primitives())


@pytest.mark.parametrize("name", [n for n in STEPS if n != "tensorize"])
def test_primitive(s, name):
    """What a method says is what the library reads, and makes a program still."""
    do, line = STEPS[name]
    do(s)
    assert str(s).split("\n")[-1] == line
    assert s.nest.startswith("func")


def test_tensorize():
    X, W = te.placeholder((16, 64), "u8", name="X"), te.placeholder((64, 32), "i8", name="W", const=True)
    k = te.reduce_axis(64, "k")
    gemm = te.kernel(te.compute((16, 32), lambda i, j: te.sum(te.cast("i32", X[i, k]) * te.cast("i32", W[k, j]), axis=k), name="D"))
    with Schedule(gemm, threads=1, target="znver4") as s:
        _, j_i = s.split("D.j", 16)
        _, k_i = s.split("D.k", 4)
        s.reorder("D.j_o", "D.i", "D.k_o", j_i, k_i)
        s.tensorize(j_i, "vpdpbusd")
        assert str(s).endswith("tensorize D.j_i vpdpbusd") and s["D"].loops[-2].unit == "vpdpbusd"
        s.transform_layout("W", lambda k, j: (j // 16, k // 4, j % 16, k % 4))
        assert "vpdpbusd" in s.asm


def test_new_names(s):
    i_o, i_i = s.split("Y.i", 8)
    assert (i_o, i_i, i_o.stage, i_o.name) == ("Y.i_o", "Y.i_i", "Y", "i_o")
    assert s.split(i_i, 4, names=("a", "b")) == ("Y.a", "Y.b")
    assert s.split("D.i", 8) == ("D.i_o2", "D.i_i2")  # names that nothing has, also elsewhere
    copy = s.cache_read("X", "D")
    assert copy in [stage.name for stage in s.stages]
    t = s.sample_tile("Y.j", 3, 16)
    parts = s.split("Y.j", [None, t.part(1), t.part(2)])
    s.compute_at("B", s.sample_compute_location("B", parts[0]))
    assert s["B"].place == parts[0]


def test_stages_as_they_stand(s):
    i_o, i_i = s.split("Y.i", 16)
    s.compute_inline("B")
    s.compute_at("D", i_o)
    s.set_scope("D", "local")
    s.parallel(i_o)
    d, b, y = s.stages
    assert (d.name, d.place, d.scope, d.output) == ("D", "Y.i_o", "local", False)
    assert (b.place, b.loops) == ("inline", ())
    assert y.place == "root" and y.output
    assert [(str(l), l.extent, l.reduce, l.kind) for l in y.loops] == [("Y.i_o", 4, False, "parallel"),
                                                                       ("Y.i_i", 16, False, "serial"),
                                                                        ("Y.j", 64, False, "serial")]
    assert [l.reduce for l in d.loops] == [False, False, True]
    s.vectorize(y.loops[2])
    with pytest.raises(BadInput, match="no stage Z: there are D, B, Y"):
        s["Z"]
    with pytest.raises(BadInput, match="stage Y has no loop q: it has i_o, i_i, j"):
        s["Y"]["q"]
    assert "Y.i_o" in s._repr_html_() and "<pre>" in s._repr_html_()


def test_is_shown_at_every_stage(s):
    s.vectorize(s.split("Y.j", 16)[1])
    for name in ("workload", "schedule", "stages", "nest", "tir", "ir", "raw-ir", "asm"):
        assert len(s.show(name)) > 20
    assert s.workload.startswith("tensor X") and s.show("schedule") == s.text and s.ir != s.show("raw-ir")
    assert "vectorized" in s.nest and "ramp" in s.tir and "ret" in s.asm
    with pytest.raises(BadInput, match="no stage 'ptx'"):
        s.show("ptx")


@pytest.mark.parametrize("do, why", [
    (lambda s: s.vectorize("D.k"), "`vectorize D.k`.*reduction"),
    (lambda s: s.parallel("Z.i"), "Z"),
    (lambda s: s.split("Y.i", [None, 0]), "split: factor 0 is not positive"),
    (lambda s: s.split("Y.i", [None]), "split"),
    (lambda s: s.compute_inline("D"), "compute_inline"),
    (lambda s: s.compute_inline("Y"), "Y"),
    (lambda s: s.fuse("Y.i", "D.j"), "fuse"),
    (lambda s: s.tensorize("Y.j", "abacus"), "abacus"),
    (lambda s: s.transform_layout("W", lambda k, j: (j,)), "transform_layout"),
    (lambda s: s.pragma("Y", "haste", 1), "haste"),
    (lambda s: s.apply("frobnicate Y.i"), "frobnicate"),
    (lambda s: s.set_scope("Y", "moon"), "expected the scope"),
    (lambda s: s.split("Y.i", 8, names=("j", "k")), "j"),
])
def test_refuses_steps(s, do, why):
    s.parallel("Y.i")
    before = s.text
    with pytest.raises(BadInput, match=why):
        do(s)
    assert s.text == before
    assert s.nest


def test_measured_recorded_and_compared(layer):
    plain = Schedule(layer, threads=1)
    tiled = plain.copy()
    tiled.compute_inline("B")
    j_o, j_i = tiled.split("D.j", 32)
    tiled.reorder(j_o, "D.i", "D.k", j_i)
    tiled.vectorize(j_i)
    assert plain.text == "" != tiled.text
    record = tiled.measure(repeats=5, seed=1, mode="hot")
    assert record.outcome == "ok" and record.verified and len(record.times) == 5 and record.id == 0
    record = tiled.measure(repeats=5, db="mine.db")
    with tctune.Database("mine.db", "change") as db:
        assert record.id == 1 and tiled.measure(repeats=5, db=db).workload == record.workload and len(db) >= 1
    best = Schedule(layer, threads=1, best_of="mine.db")
    assert "vectorize" in best.text
    with pytest.raises(BadInput, match="no verified record"):
        Schedule(layer, threads=2, best_of="mine.db")
    verdict = tctune.compare(tiled, plain, rounds=41)
    assert verdict.faster == -1 and verdict.ratio > 1 and verdict.low <= verdict.ratio <= verdict.high and verdict.rounds == 41
    assert str(verdict).startswith("a is faster") and "<table>" in verdict._repr_html_()
    assert str(tctune.compare(plain, tiled, rounds=41)).startswith("b is faster")
    assert tctune.compare(plain, plain, rounds=11).rounds == 11
    with pytest.raises(BadInput, match="needs at least"):
        tctune.compare(plain, tiled, rounds=3)
    other = Schedule(te.parse("tensor X[4] f32\ncompute Y[i:4] = X[i]\noutput Y"), threads=1)
    with pytest.raises(BadInput, match="different kernels"):
        tctune.compare(plain, other)


def test_where_it_begins(layer, network, varying):
    assert Schedule(layer, threads=1, text="parallel Y.i").text == "parallel Y.i\n"
    assert len(Schedule(layer, threads=1, default=True).text) > 100
    with pytest.raises(BadInput, match="exclude"):
        Schedule(layer, text="", default=True)
    with tctune.Work(network) as work:
        assert Schedule(work, work.tasks[0].name, threads=1, default=True).nest == Schedule(work, 0, threads=1, default=True).nest
        with pytest.raises(BadInput, match="no task"):
            Schedule(work, 99)
        with pytest.raises(BadInput, match="no kernel 'x'"):
            Schedule(work, "x")
    with pytest.raises(BadInput, match="sizes vary"):
        Schedule(varying, threads=1)
    for sizes in (3, "3", (3,)):
        assert Schedule(varying, threads=1, sizes=sizes, text="vectorize Y.j").measure(repeats=3).sizes == "3"
    with pytest.raises(BadInput, match="17"):
        Schedule(varying, sizes=17)


def test_closed(layer):
    s = Schedule(layer, threads=1)
    s.close()
    for use in (lambda: s.text, lambda: s.nest, lambda: s.stages, s.copy, s.measure, lambda: s.parallel("Y.i"), s._repr_html_,
                lambda: tctune.compare(s, s), lambda: tctune.compare(Schedule(layer), s)):
        with pytest.raises(Closed, match="this schedule was closed"):
            use()
