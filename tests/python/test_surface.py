"""What editors and shells show of the package: signatures and short representations. Sources of every kind; errors that name
Python's arguments."""
import inspect
import os
import re
import warnings

import numpy as np
import pytest

import tctune
from tctune import BadInput, TctuneWarning, te

INPUTS = {"__call__", "profile", "forward"}  # their keywords are the names of a model's inputs

SCALE = """tensor X[4] f32
tensor W[4] f32 const
tensor B[4] f32 const
compute Y[i:4] = X[i] * W[i] + B[i]
output Y
"""


@pytest.fixture
def scale():
    return te.parse(SCALE, "scale")


# ---- signatures ----


def functions():
    """Every public function and method, by its name."""
    for module in (tctune, te):
        for name, thing in vars(module).items():
            if name.startswith("_") or not getattr(thing, "__module__", "").startswith("tctune"):
                continue
            if inspect.isfunction(thing):
                yield f"{module.__name__}.{name}", thing
            if inspect.isclass(thing) and not issubclass(thing, Exception):
                yield from ((f"{name}.{n}", f) for n,
                            f in vars(thing).items() if inspect.isfunction(f) and (n == "__init__" or n[0] != "_"))


@pytest.mark.parametrize("name, function", [pytest.param(n, f, id=n) for n, f in functions()])
def test_signatures_have_names_and_types(name, function):
    signature = inspect.signature(function)
    for p in signature.parameters.values():
        if p.kind is p.VAR_KEYWORD:
            assert name.split(".")[-1] in INPUTS, f"{name}: an editor cannot complete **{p.name}"
        assert p.name == "self" or p.annotation is not p.empty, f"{name}: {p.name} has no type"
    assert signature.return_annotation is not signature.empty
    assert function.__doc__ or name.endswith("__init__"), f"{name} has no docstring"


def keywords(of):
    return {n: p for n, p in inspect.signature(of).parameters.items() if p.kind is p.KEYWORD_ONLY}


def test_tune_has_the_options_of_a_session():
    assert {n: (p.annotation, p.default) for n, p in keywords(tctune.tune).items()} == {
        n: (p.annotation, p.default) for n, p in keywords(tctune.Session).items()}


def test_torch_has_the_options_of_tune_and_build():
    torch = pytest.importorskip("tctune.torch")
    every = set(keywords(tctune.tune)) | set(keywords(tctune.build))
    expected = every - {"constants", "fixed", "progress", "last", "data_folder"} | {"dynamic_axes", "onnx", "tune_progress",
                                                                                    "build_progress"}
    assert set(keywords(torch.compile)) == expected


# ---- representations ----


def test_representations_are_short(gemm, network):
    report = tctune.tune(network, trials=8, threads=1, db="r.db")
    tctune.tune(gemm, trials=2, threads=1, db="t.db")
    db = tctune.Database("t.db")
    work, session = tctune.Work(network), tctune.Session(gemm, trials=1, db="t.db", threads=1)
    schedule = tctune.Schedule(gemm, threads=1)
    model = tctune.build(gemm, threads=1, untuned=True)
    event = tctune.Event("round_done", 0, "gemm", 0, 0, 0, report, session)
    verdict = tctune.Verdict(30, 1e-3, 2e-3, 2.0, 1.9, 2.1, 1e-9, -1, 1e-4)
    decision = schedule.sample_categorical([1, 2], 2)
    x = np.ones((16, 32), "float32"), np.ones((32, 48), "float32")
    profile = model.profile(*x, runs=1)
    fleet = tctune.Fleet("nats://ann:secret@server:4222")
    stage = schedule.stages[0]
    made = [report, report.tasks, report.tasks[0], db, db.records(), db.records()[0], work, work.tasks, work.tasks[0], session,
            schedule, model,
            model.context(), event, verdict, decision, profile, profile[0], fleet, tctune.Worker(fleet), stage, stage.loops[0],
            stage.loops[0].loop, model.inputs["X"], db.stats(), tctune.Followed(1, 2, 3, 4, 5), tctune.Size("batch", 1, 16, 1),
            tctune.Rerun("timed", "0" * 32, "hot", 1, 7, 1e-3, 2e-3, ""), gemm]
    for thing in made:
        said = repr(thing)
        assert len(said) <= 160 and "\n" not in said and " object at " not in said, said
        assert "secret" not in said
    public = {thing for name, thing in vars(tctune).items() if name in tctune.__all__}
    classes = {c for c in public if inspect.isclass(c) and not issubclass(c, Exception)}
    assert not classes - {type(thing) for thing in made}
    assert re.fullmatch(r"<tctune.Database 't.db': \d+ records>", repr(db))
    assert repr(work) == f"<tctune.Work 'mlp.onnx': {len(work.tasks)} tasks>"
    assert repr(schedule) == "<tctune.Schedule of 'gemm': 1 step>"
    assert repr(gemm) == "<te.Kernel 'gemm': 1 stage>"
    for handle in (db, work, session, schedule, model):
        handle.close()
        assert repr(handle) == f"<tctune.{type(handle).__name__}, closed>"


# ---- sources ----


TAKES_A_SOURCE = {
    "show": lambda source: tctune.show(source, threads=1, stages="nest")["nest"],
    "compare_show": lambda source: tctune.compare_show("default", "default", source, threads=1, rounds=11)["verdict"],
    "explain": lambda source: tctune.explain(source, schedule="default", threads=1, seconds=5)["answer"],
    "page": lambda source: tctune.page("p.db", source, quick=True, threads=1),
    "page_data": lambda source: tctune.page_data("p.db", source, quick=True, threads=1),
    "Schedule": lambda source: tctune.Schedule(source, threads=1).nest,
    "tune": lambda source: tctune.tune(source, trials=1, threads=1, db="q.db", deterministic_measure=True),
    "build": lambda source: tctune.build(source, threads=1),
}


def test_every_function_takes_every_source(gemm, network, tmp_path):
    file = tmp_path / "gemm.te"
    file.write_text(gemm.text)
    tctune.tune(gemm, trials=1, threads=1, db="p.db")
    with tctune.Work(gemm) as work:
        for name, use in TAKES_A_SOURCE.items():
            for source in (gemm, str(file), file, work) if name != "explain" else (file,):
                assert use(source), name
            with pytest.raises(BadInput, match="source: expected a path to an ONNX file or a .te file"):
                use(7)
        with pytest.raises(BadInput, match="shape: the work is already open"):
            tctune.show(work, shape={"N": 4})
        assert not work.closed
    assert tctune.show(network, 1, threads=1, stages="nest")["nest"] == tctune.show(network.read_bytes(), 1, threads=1,
                                                                                    stages="nest")["nest"]
    with tctune.Work(network.read_bytes()) as work:
        assert repr(work) == f"<tctune.Work 'model': {len(work.tasks)} tasks>"
    with pytest.raises(BadInput, match="model"):
        tctune.Work(b"no model")
    with pytest.raises(BadInput, match="gemm has no kernel 'gemmm'"):
        tctune.show(gemm, "gemmm")
    with pytest.raises(BadInput, match="task: expected the number or the name"):
        tctune.show(gemm, 1.5)
    sources = {n for n, f in functions() if "source" in inspect.signature(f).parameters}
    assert {n.replace("tctune.", "").replace(".__init__", "") for n in sources} - {"Work", "Session"} == set(TAKES_A_SOURCE)


# ---- errors ----


@pytest.mark.parametrize("use, says", [
    (lambda k: tctune.tune(k), r"give trials \(how many candidates to measure\), minutes, or both"),
    (lambda k: tctune.tune(k, minutes="2"), "minutes: expected a number, not a str: '2'"),
    (lambda k: tctune.tune(k, trials=float("nan")), "trials: expected a number from 0 up"),
    (lambda k: tctune.tune(k, trials=1, db=5), "db: expected a text or a path, not a int: 5"),
    (lambda k: tctune.tune(k, trials=1, batch=1.5), "batch: expected an integer, not 1.5"),
    (lambda k: tctune.tune(k, trials=1, start_from=5), "start_from: expected a text, a path, or a list"),
    (lambda k: tctune.tune(k, trials=1, phases=5), "phases: expected a text, a path, or a list"),
    (lambda k: tctune.tune(k, trials=1, mode="hot", deterministic_measure=True), "but deterministic_measure times none"),
    (lambda k: tctune.build(k, db=5), "db: expected a text or a path"),
    (lambda k: tctune.build(k, threads="2"), "threads: expected a number, not a str"),
    (lambda k: tctune.build(k, opt_level="2"), "opt_level: expected 0, 1, 2 or 3, not '2'"),
    (lambda k: tctune.build(k, opt_level=1, disable_pass="cse"), "opt_level, disable_pass: the source is a kernel"),
    (lambda k: tctune.build("mlp.onnx", disable_pass=5), "disable_pass: expected a text, a path, or a list"),
    (lambda k: tctune.build("mlp.onnx", shape=5), "shape: expected a dict such as"),
    (lambda k: tctune.build("mlp.onnx", constants={}), "constants: the source is a network"),
    (lambda k: tctune.show(k, at=5), "at: expected a dict such as"),
    (lambda k: tctune.show(k, stages=5), "stages: expected a text, a path, or a list"),
    (lambda k: tctune.Schedule(k, text="x", default=True), "text and default: a schedule begins with one of these"),
    (lambda k: tctune.Schedule(k, file=5), "file: expected a text or a path"),
    (lambda k: tctune.Database(5), "expected a text or a path, not a int: 5"),
    (lambda k: tctune.Database("t.db", "write"), "access: expected 'read' or 'change' or 'create', not 'write'"),
    (lambda k: tctune.verify_cases(5), "folders: expected a text, a path, or a list"),
    (lambda k: tctune.quantize("a.onnx", "b.onnx", shape=5), "shape: expected a dict such as"),
])
def test_errors_name_the_argument(gemm, use, says):
    with pytest.raises(BadInput) as e:
        use(gemm)
    assert re.search(says, str(e.value)), str(e.value)


# ---- constants ----


def test_constants_are_arrays_or_a_file(scale, tmp_path):
    w, b, x = np.arange(4, dtype="float32"), np.full(4, 7, "float32"), np.full(4, 2, "float32")
    np.savez("c.npz", W=w, B=b)
    for constants in ({"W": w, "B": b}, {"W": w, "B": b[::-1]}, "c.npz", tmp_path / "c.npz"):
        with tctune.build(scale, threads=1, constants=constants) as model:
            assert (model(x)["Y"] == 2 * w + 7).all()
    report = tctune.tune(scale, trials=2, threads=1, db="t.db", constants={"W": w, "B": b})
    assert report.tasks[0].valid
    schedule = tctune.Schedule(scale, threads=1, constants={"W": w, "B": b})
    assert schedule.copy().measure(repeats=1).verified


@pytest.mark.parametrize("constants, says", [
    ({"V": 1}, "constants: the kernel has no constant 'V': it has W, B"),
    ({"W": np.zeros(5, "float32"), "B": np.zeros(4, "float32")}, r"constant 'W': given as f32\[5\]"),
    ({"W": object(), "B": np.zeros(4, "float32")}, "constants: 'W' is a object, not an array of numbers"),
    ("none.npz", "none.npz"),
])
def test_constants_that_do_not_fit(scale, constants, says):
    with pytest.raises(tctune.TctuneError) as e:
        tctune.build(scale, threads=1, constants=constants)
    assert re.search(says, str(e.value)) and "/tctune-" not in str(e.value), str(e.value)


def test_devices_and_pipes_are_not_read(scale, tmp_path):
    """A device has no end, and nobody may ever write to a pipe."""
    values = {"W": np.zeros(4, "float32"), "B": np.zeros(4, "float32")}
    (tmp_path / "endless.te").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe.npz")
    with pytest.raises(BadInput, match="endless.te': it is a device, a file was expected"):
        tctune.build(tmp_path / "endless.te", threads=1, constants=values)
    with pytest.raises(BadInput, match="pipe.npz': it is a pipe, a file was expected"):
        tctune.build(scale, threads=1, constants=tmp_path / "pipe.npz")


def test_says_which_constants_are_drawn(scale, tmp_path):
    w, b = np.zeros(4, "float32"), np.zeros(4, "float32")
    file = tmp_path / "scale.te"
    file.write_text(SCALE)
    with tctune.Work(scale) as work:
        for source in (scale, file, work):
            with pytest.warns(TctuneWarning, match="the constants W, B: give their values with constants=") as told:
                tctune.build(source, threads=1)
            assert told[0].filename == __file__
    with pytest.warns(TctuneWarning, match="the constants B:"):
        tctune.build(scale, threads=1, constants={"W": w})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tctune.build(scale, threads=1, constants={"W": w, "B": b})


def test_arrays_leave_no_files(scale, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = set(tmp_path.iterdir())
    with tctune.Work(scale, constants={"W": np.zeros(4, "float32"), "B": np.zeros(4, "float32")}) as work:
        assert set(tmp_path.iterdir()) - before
        tctune.build(work, threads=1).close()
    assert set(tmp_path.iterdir()) == before
