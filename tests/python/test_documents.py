"""What is told at length: each document of the library's, from the object that it is of; and Ctrl-C in what takes long."""
import json
import os
import signal
import threading

import numpy as np
import pytest

import tctune
from tctune import BadInput, Closed, Stopped, TctuneError


def keys_of(document, *names):
    assert set(names) <= set(document), sorted(document)
    return document


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    """A database, and the kernel that it is of."""
    from conftest import GEMM
    path = tmp_path_factory.mktemp("tuned") / "tuned.db"
    kernel = tctune.te.parse(GEMM, "gemm")
    tctune.tune(kernel, trials=4, batch=4, threads=1, db=path, start_from="none")
    return kernel, path


@pytest.fixture
def varying_model(varying):
    with tctune.build(varying, threads=1) as model:
        yield model


# ---- models ----


def test_how_a_model_was_built(tuned):
    kernel, path = tuned
    with tctune.build(kernel, threads=1, db=path) as model:
        report = keys_of(model.report(), "kernels", "arena_bytes", "flops")
        assert [k["name"].split()[0] for k in report["kernels"]] == ["gemm"] and report["threads"] == 1
        assert isinstance(model.plan(), str)
        saved = model.save("gemm.so")
        told = keys_of(tctune.describe_library(saved), "kernels", "inputs", "provenance")
        assert [x["name"] for x in told["inputs"]] == ["X", "W"]
        assert tctune.is_library(saved) and not tctune.is_library("gemm.h") and not tctune.is_library("none")
        with tctune.load(saved) as loaded, pytest.raises(BadInput, match="has no memory plan"):
            loaded.plan()
    for use in (model.report, model.plan, model.bench, lambda: model.bench_against("base.json"), model.trace, model.trial,
                model.sizes_at, lambda: model.sizes):
        with pytest.raises(Closed, match="this model was closed"):
            use()


def test_sizes_of_a_model(varying_model, gemm_model):
    assert gemm_model.sizes == {} and gemm_model.sizes_at() == {}
    assert varying_model.sizes == {"N": tctune.Size("N", 0, 16, 1)}
    assert varying_model.sizes_at() == {"N": 16} and varying_model.sizes_at({"N": 5}) == varying_model.sizes_at("N=5") == {"N": 5}
    for at, why in (({"N": 17}, "17"), ({"M": 3}, "M")):
        with pytest.raises(BadInput, match=why):
            varying_model.sizes_at(at)


def test_latency(gemm_model, varying_model):
    told = keys_of(gemm_model.bench(repeats=3, name="mine"), "median_ms", "kernels", "peak_gflops")
    assert told["repeats"] == 3 and told["name"].startswith("mine") and told["min_ms"] <= told["median_ms"] <= told["max_ms"]
    np.savez("in.npz", X=np.ones((16, 32), "float32"), W=np.ones((32, 48), "float32"))
    assert gemm_model.bench(repeats=2, inputs="in.npz")["repeats"] == 2
    assert varying_model.bench(repeats=2, at={"N": 5})["sizes"] == {"N": 5}
    curves = varying_model.bench_range(repeats=2)["curves"]
    assert len(curves) == 1 and [p["sizes"]["N"] for p in curves[0]["points"]][-1] == 16
    with pytest.raises(BadInput):
        gemm_model.bench_range()
    with pytest.raises(BadInput, match="none.npz"):
        gemm_model.bench(inputs="none.npz")


def test_timeline(gemm_model):
    told = keys_of(gemm_model.trace(name="mine"), "traceEvents")
    assert any("gemm" in str(e.get("name")) for e in told["traceEvents"]) and json.dumps(told)


def test_tried_on_files(gemm_model):
    told = gemm_model.trial(seed=3, outputs="three.npz")
    assert [o["name"] for o in told["outputs"]] == ["Y"] and "ok" not in told
    assert np.load("three.npz")["Y"].shape == (16, 48)
    assert gemm_model.trial(seed=3, expected="three.npz", rtol=-1, atol=-1)["ok"] is True
    assert gemm_model.trial(seed=4, expected="three.npz")["ok"] is False
    with pytest.raises(BadInput, match="none.npz"):
        gemm_model.trial(expected="none.npz")


# ---- kernels and searches ----


def test_tasks_shown(tuned, varying):
    kernel, path = tuned
    with tctune.Work(kernel) as work:
        assert [k["name"] for k in keys_of(work.show_tasks(db=path, threads=1), "kernels")["kernels"]] == ["gemm"]
        told = tctune.show(work, db=path, threads=1, stages=["schedule", "asm"], marked=True)
        assert told["kernel"] == "gemm" and told["schedule"] and "nest" not in told and told["asm_facts"]["text"]
        with open("mine.sched", "w", encoding="utf-8") as f:
            f.write("parallel Y.i\n")
        assert "parallel" in tctune.show(work, threads=1, schedule="mine.sched", stages="nest")["nest"]
        assert tctune.Schedule(work, threads=1, file="mine.sched").text == "parallel Y.i\n"
        with pytest.raises(BadInput, match="no-pass"):
            tctune.show(work, dump="no-pass")
        assert work.sizes(0) == []
        with pytest.raises(BadInput):
            work.check_inputs("none.npz")
    with tctune.Work(varying) as work:
        assert work.sizes("varying") == [16] and work.sizes(0, {"N": 7}) == [7]
        with pytest.raises(BadInput, match="17"):
            work.sizes(0, {"N": 17})


def test_against_what_was(gemm_model, gemm):
    def write(base):
        with open("base.json", "w", encoding="utf-8") as f:
            json.dump(base, f)

    base = gemm_model.bench(repeats=2, name="mine")
    write(base)
    told = keys_of(gemm_model.bench_against("base.json", name="now"), "network", "kernels")
    assert (told["name"], told["base_name"], told["slower"], told["network"]["verdict"]) == ("now", "mine", False, "unchanged")
    base["kernels"][0]["schedule"] = "a, b = split t0.i1 [_, 4]\n"
    write(base)
    np.savez("in.npz", X=np.ones((16, 32), "float32"), W=np.ones((32, 48), "float32"))
    for inputs in (None, "in.npz"):
        told = gemm_model.bench_against("base.json", repeats=15, inputs=inputs)
        assert told["kernels"][0]["rounds"] == 15 and not told["slower"]
        assert {"base": "a, b = split t0.i1 [_, 4]", "now": None} in told["kernels"][0]["changed"]
    for options, why in (({"repeats": 10}, "at least 11"), ({"inputs": "none.npz"}, "none.npz")):
        with pytest.raises(BadInput, match=why):
            gemm_model.bench_against("base.json", **options)
    with tctune.build(gemm, threads=1, last=True) as last, pytest.raises(BadInput, match="with last or only_to_save"):
        last.bench_against("base.json")
    base["kernels"][0]["count"] = 10**30
    write(base)
    with pytest.raises(BadInput, match="base.json:1: too big integer"):
        gemm_model.bench_against("base.json")


def test_a_kernel_timed(tuned):
    kernel, path = tuned
    with tctune.Work(kernel) as work:
        told = keys_of(work.bench("gemm", db=path, threads=1, repeats=3, mode="hot"), "median_ms", "schedule")
        assert told["mode"] == "hot" and told["threads"] == 1
        with pytest.raises(BadInput, match="none.sched"):
            work.bench(schedule="none.sched", threads=1)


def test_compared(tuned):
    kernel, path = tuned
    told = keys_of(tctune.compare_show("best", "default", tctune.Work(kernel), db=path, threads=1, rounds=11), "verdict", "a", "b",
                   "roofline")
    assert told["verdict"]["rounds"] == 11 and told["a"]["spec"] == "best"
    with tctune.Database(path) as db:
        record = db.records(verified=True, limit=1)[0].id
    assert tctune.compare_show(record, "default", db=path, rounds=11)["a"]["spec"] == str(record)
    for a, b, why in (("best", "nothing.sched", "nothing.sched"), ("onednn", "openblas", "compares two libraries"),
                      (4711, "default", "4711")):
        with pytest.raises(TctuneError, match=why):
            tctune.compare_show(a, b, tctune.Work(kernel), db=path, threads=1, rounds=11)


def test_explained(tuned):
    kernel, path = tuned
    with tctune.Work(kernel) as work:
        told = keys_of(tctune.explain(work, schedule="default", target="neoverse-n1", threads=2), "answer", "unmeasured")
        assert "does not run on this machine" in told["unmeasured"]
        assert keys_of(tctune.explain(work, db=path, threads=1, seconds=5), "answer", "trials")["spec"] == "best"
        with pytest.raises(BadInput, match="seconds must be at least 5"):
            tctune.explain(work, seconds=1)
    with pytest.raises(BadInput, match="the kernel is not known"):
        tctune.explain(schedule="default")


def test_a_page(tuned):
    kernel, path = tuned
    with tctune.Work(kernel) as work:
        data = tctune.page_data(path, work, quick=True)
        assert [k["name"] for k in data["kernels"]] == ["gemm"]
        page = tctune.page(path, work, baseline=path, quick=True)
        assert page.startswith("<!doctype html>") and page.rstrip().endswith("</html>")
    assert len(tctune.page_data(path, quick=True)["kernels"]) == 1
    with pytest.raises(TctuneError, match="none.db"):
        tctune.page("none.db")


def test_a_search_described(gemm):
    with tctune.Session(gemm, trials=4, threads=1, db="t.db", deterministic_measure=True) as session:
        with pytest.raises(BadInput):
            session.describe()
        report = session.run()
        told = keys_of(session.describe(), "tasks", "end", "db")
        assert told["trials"] == report.trials and told["tasks"][0]["name"] == "gemm"


# ---- databases ----


def test_a_database_described(tuned):
    with tctune.Database(tuned[1]) as db:
        told = db.describe()
        assert told["records"] == len(db) and sum(s["records"] for s in told["summaries"]) == len(db)


def test_measured_again(tuned):
    with tctune.Database("copy.db", "create") as db:
        db.add(tuned[1])
        seen = []
        assert db.rerun(seen.append) == 0
        again = [r for r in seen if r.end != "skipped"]  # runs in turns are not
        assert [(r.end, r.threads) for r in again] == [("timed", 1)]
        assert again[0].now > 0 and again[0].recorded > 0 and again[0].record
        assert db.rerun() == 0
        with pytest.raises(ZeroDivisionError):
            db.rerun(lambda r: 1 // 0)


# ---- networks ----


def test_zoo(tmp_path):
    assert tctune.zoo("mlp") == "mlp.onnx" and os.path.getsize("mlp.onnx") > 1000
    assert tctune.zoo("mlp", tmp_path / "other.onnx") == tmp_path / "other.onnx"
    assert (tmp_path / "other.onnx").read_bytes() == (tmp_path / "mlp.onnx").read_bytes()
    with pytest.raises(BadInput, match="giraffe"):
        tctune.zoo("giraffe")


@pytest.fixture
def cases(network, tmp_path):
    """Two test cases: of one the expected output is what it computes, of the other something else."""
    helper = pytest.importorskip("onnx.numpy_helper", reason="it needs python3-onnx")
    with tctune.build(network, threads=1) as model:
        x = {name: np.ones(p.shape, p.dtype) for name, p in model.inputs.items()}
        y = model(**x)
    for name, wrong in (("good", 0), ("bad", 1)):
        data = tmp_path / "cases" / name / "test_data_set_0"
        os.makedirs(data)
        os.symlink(network, data.parent / "model.onnx")
        for kind, arrays in (("input", x), ("output", {n: a + a.dtype.type(wrong) for n, a in y.items()})):
            for i, (n, a) in enumerate(arrays.items()):
                (data / f"{kind}_{i}.pb").write_bytes(helper.from_array(a, n).SerializeToString())
    return tmp_path / "cases"


def test_cases(cases):
    seen = []
    told = tctune.verify_cases(cases, threads=1, each=seen.append)
    assert (told["passed"], told["failed"], told["skipped"]) == (1, 1, 0) and len(seen) == 2
    assert seen == told["cases"] and seen[0]["case"].endswith("bad") and seen[0]["reason"]
    assert len(tctune.verify_cases([cases / "good"], opt_level=0, disable_pass=[])["cases"]) == 1
    with pytest.raises(Stopped):
        tctune.verify_cases(cases, each=lambda case: True)
    with pytest.raises(ZeroDivisionError):
        tctune.verify_cases(str(cases), each=lambda case: 1 // 0)
    with pytest.raises(BadInput, match="no-pass"):
        tctune.verify_cases(cases, disable_pass="no-pass")


def test_quantised(network):
    told = keys_of(tctune.quantize(network, "q.onnx", dynamic=True, threads=1), "layers", "outputs", "error")
    assert told["out"] == "q.onnx" and os.path.exists("q.onnx")
    with pytest.raises(BadInput, match="soon"):
        tctune.quantize(network, "r.onnx", method="soon", dynamic=True)
    with pytest.raises(TypeError):
        tctune.quantize(network, "r.onnx", no_such_option=1)
    assert not os.path.exists("r.onnx")


# ---- the machine ----


def test_the_machine():
    assert keys_of(tctune.machine(threads=1), "cores", "caches")["cores"] == 1
    assert keys_of(tctune.doctor(quick=True), "findings", "warnings")["findings"]
    assert tctune.llvm_version()[0].isdigit()
    assert "mlp" in tctune.zoo_names() and len(set(tctune.lowering_passes())) == len(tctune.lowering_passes()) > 5


# ---- Ctrl-C ----


def interrupted(use):
    """Ctrl-C while the library is at work, as the main thread gets it."""
    ended = threading.Event()

    def press():
        while not any(t.name == "tctune" for t in threading.enumerate()):
            if ended.wait(0.05):
                return
        ended.wait(0.3)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    timer = threading.Thread(target=press)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        use()
    ended.set()
    timer.join()


EVER = 10**6  # samples that nobody waits for


def test_interrupted(gemm, gemm_model):
    with tctune.Schedule(gemm, threads=1) as schedule, tctune.Work(gemm) as work:
        interrupted(lambda: schedule.measure(repeats=EVER))
        interrupted(lambda: gemm_model.bench(repeats=EVER))
        base = gemm_model.bench(repeats=2)
        base["kernels"][0]["schedule"] = "a, b = split t0.i1 [_, 4]\n"
        with open("base.json", "w", encoding="utf-8") as f:
            json.dump(base, f)
        interrupted(lambda: gemm_model.bench_against("base.json", repeats=EVER))
        interrupted(lambda: tctune.compare_show("default", "default", work, rounds=EVER, threads=1))
        interrupted(lambda: tctune.explain(work, threads=1, seconds=EVER))
        assert schedule.measure(repeats=3).verified  # and goes on


def test_interrupted_between_kernels_and_cases(network, cases):
    """By what is told on the way, which is where one always is."""
    def press(*_):
        raise KeyboardInterrupt

    for use in (lambda: tctune.build(network, threads=1, progress=press), lambda: tctune.verify_cases(cases, each=press)):
        with pytest.raises(KeyboardInterrupt):
            use()


def test_a_build_is_stopped_where_nothing_is_told(network):
    """A check of records or a contest tells of nothing: the build looks at a flag, which Ctrl-C sets."""
    from tctune._background import Stoppable
    from tctune._ffi import Struct, call, ffi
    options = Struct("tctune_build_options", threads=1)
    background = Stoppable(options)
    background.stop()
    assert options.c.stop[0] == 1
    out = ffi.new("tctune_model **")
    with tctune.Work(network) as work, work._using() as pointer, pytest.raises(Stopped):
        background.run(lambda: call("tctune_build", pointer, options, out))
    assert out[0] == ffi.NULL


def test_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TCTUNE_CACHE", "off")  # what the test does to the environment is undone
    tctune.use_cache(tmp_path / "kept")
    with pytest.raises(BadInput):
        tctune.use_cache("")
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(tctune.EnvironmentProblem):
        tctune.use_cache(tmp_path / "open")
    tctune.use_cache("off")
