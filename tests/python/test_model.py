"""Models: built, saved, loaded, run on NumPy's and other arrays, from threads, profiled, and used after they were closed."""
import concurrent.futures
import gc
import os
import threading
import warnings
import weakref

import numpy as np
import pytest

import tctune
from tctune import BadInput, Closed, _ffi

RANDOM = np.random.default_rng(0)


def operands():
    return RANDOM.standard_normal((16, 32), "float32"), RANDOM.standard_normal((32, 48), "float32")


class Exporter:
    """An array that shows __dlpack__ alone."""

    def __init__(self, array, device=(1, 0)):
        self.array, self.device, self.dtype = array, device, array.dtype

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.device


def test_runs(gemm_model):
    x, w = operands()
    for given in (gemm_model(x, w), gemm_model(X=x, W=w), gemm_model(x, W=w), gemm_model(W=w, X=x)):
        assert list(given) == ["Y"] and given["Y"].dtype == np.float32
        np.testing.assert_allclose(given["Y"], x @ w, rtol=1e-4, atol=1e-5)
    assert repr(gemm_model) == "<tctune.Model (X: f32[16, 32], W: f32[32, 48]) -> (Y: f32[16, 48])>"
    assert gemm_model.inputs["W"].shape == (32, 48) and gemm_model.outputs["Y"].type == "f32"
    assert "<td>X</td>" in gemm_model._repr_html_()


def test_results_are_new_arrays(gemm_model):
    x, w = operands()
    first = gemm_model(x, w)["Y"]
    before = first.copy()
    second = gemm_model(-x, w)["Y"]
    np.testing.assert_array_equal(first, before)
    np.testing.assert_array_equal(second, -before)
    assert first.flags.writeable and first.ctypes.data % 64 == 0


def test_inputs_are_not_copied(gemm_model):
    x, w = tctune.empty((16, 32)), tctune.empty((32, 48))
    x[:], w[:] = operands()
    x.flags.writeable = w.flags.writeable = False
    expected = x @ w
    for a, b in ((x, w), (x, Exporter(np.array(w)))):
        np.testing.assert_allclose(gemm_model(a, b)["Y"], expected, rtol=1e-4, atol=1e-5)


def test_writes_into_out(gemm_model):
    x, w = operands()
    y = np.empty((16, 48), "float32")
    for out in ([y], (y,), {"Y": y}):
        y[:] = 0
        assert gemm_model(x, w, out=out)["Y"] is y
        np.testing.assert_allclose(y, x @ w, rtol=1e-4, atol=1e-5)
    y[:] = 0
    gemm_model(x, w, out=[Exporter(y)])
    np.testing.assert_allclose(y, x @ w, rtol=1e-4, atol=1e-5)


def test_sizes_vary(varying):
    with tctune.build(varying, threads=1) as model:
        room = np.empty((16, 8), "float32")
        for n in (3, 16, 0, 1, 7):
            x = RANDOM.standard_normal((n, 8), "float32")
            np.testing.assert_array_equal(model(x)["Y"], x * 2)
            result = model(x, out=[room])["Y"]
            np.testing.assert_array_equal(result, x * 2)
            assert np.shares_memory(result, room) or n == 0
        with pytest.raises(BadInput, match=r"'X' is 17.*given: X: f32\[17, 8\]"):
            model(np.empty((17, 8), "float32"))
        np.testing.assert_array_equal(model(x)["Y"], x * 2)


def test_too_small_for_a_window(tmp_path):
    onnx = pytest.importorskip("onnx", reason="it needs python3-onnx")
    make, kind = onnx.helper, onnx.TensorProto.FLOAT
    pool = make.make_node("AveragePool", ["x"], ["y"], name="pool", kernel_shape=[5], pads=[1, 0])
    graph = make.make_graph([pool], "net", [make.make_tensor_value_info("x", kind, [1, 2, "n"])],
                            [make.make_tensor_value_info("y", kind, None)])
    path = tmp_path / "pool.onnx"
    onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 17)]), os.fspath(path))
    with tctune.build(path, shape={"n": "1..9"}, threads=1) as model:
        with pytest.raises(BadInput, match=r"node 'pool' \(AveragePool\).*n is 3.*at least 4; the next larger n that fits is 4 "
                                           r"\(dimension 2 of input 'x'\)"):
            model(np.ones((1, 2, 3), "float32"))
        assert model(np.ones((1, 2, 4), "float32"))["y"].shape == (1, 2, 1)


def aligned(shape):
    """NaN everywhere, at a multiple of 64 bytes."""
    n = int(np.prod(shape))
    raw = np.full(n + 16, np.nan, "float32")
    start = -raw.ctypes.data % 64 // 4
    return raw[start:start + n].reshape(shape)


def decoder(onnx, path):
    """GroupQueryAttention of two heads that share a cache of eight rows."""
    make, floats, ints = onnx.helper, onnx.TensorProto.FLOAT, onnx.TensorProto.INT32
    sizes = {"q": ["rows", 8], "k": ["rows", 4], "v": ["rows", 4], "past_k": [1, 8, 4], "past_v": [1, 8, 4]}
    node = make.make_node("GroupQueryAttention", [*sizes, "lengths", "total"], ["y", "key", "value"], name="attend",
                          domain="com.microsoft", num_heads=2, kv_num_heads=1)
    graph = make.make_graph([node], "net",
                            [make.make_tensor_value_info(name, floats, [1, *dims]) for name, dims in sizes.items()]
                            + [make.make_tensor_value_info("lengths", ints, [1]), make.make_tensor_value_info("total", ints, [])],
                            [make.make_tensor_value_info(name, floats, None) for name in ("y", "key", "value")])
    opsets = [make.make_opsetid("", 17), make.make_opsetid("com.microsoft", 1)]
    onnx.save(make.make_model(graph, opset_imports=opsets), os.fspath(path))


def test_attends_in_a_buffer(tmp_path):
    onnx = pytest.importorskip("onnx", reason="it needs python3-onnx")
    path = tmp_path / "decoder.onnx"
    decoder(onnx, path)
    key, value, y = aligned((1, 1, 8, 4)), aligned((1, 1, 8, 4)), np.empty((1, 3, 8), "float32")
    past = [np.zeros((1, 1, 8, 4), "float32")] * 2
    filled = 0
    with tctune.build(path, shape={"rows": "1..3"}, threads=1) as copies, \
            tctune.build(path, shape={"rows": "1..3"}, in_place_cache=True, threads=1) as grows:
        for rows in (3, 1, 2):
            new = [RANDOM.standard_normal((1, rows, n), "float32") for n in (8, 4, 4)]
            filled += rows
            numbers = np.array([filled - 1], "int32"), np.array(filled, "int32")
            expected = copies(*new, *past, *numbers)
            result = grows(*new, key, value, *numbers, out=[y, key, value])
            past = [expected["key"], expected["value"]]
            np.testing.assert_allclose(result["y"], expected["y"], rtol=1e-4, atol=1e-5)
            for buffer, copy in zip((key, value), past):
                np.testing.assert_array_equal(buffer[:, :, :filled], copy[:, :, :filled])
                assert np.isnan(buffer[:, :, filled:]).all()


@pytest.mark.parametrize("kind", ["bool", "int8", "uint8", "int16", "int32", "int64", "uint64", "float16", "float64"])
def test_types(kind):
    short = {"bool": "bool", "float16": "f16", "float64": "f64"}.get(kind, kind.replace("uint", "u").replace("int", "i"))
    text = f"tensor X[5] {short}\ncompute Y[i:5] = X[4 - i]\noutput Y"
    x = np.array([0, 1, 1, 0, 1]).astype(kind)
    with tctune.build(tctune.te.parse(text), threads=1) as model:
        np.testing.assert_array_equal(model(x)["Y"], x[::-1])
        assert model(x)["Y"].dtype == x.dtype


def test_bf16_is_its_bits():
    with tctune.build(tctune.te.parse("tensor X[2] bf16\ncompute Y[i:2] = f32(X[i])\noutput Y"), threads=1) as model:
        bits = (np.array([1.0, -2.5], "float32").view("uint32") >> 16).astype("uint16")
        np.testing.assert_array_equal(model(bits)["Y"], [1.0, -2.5])


def test_scalars():
    with tctune.build(tctune.te.parse("tensor X[4] f32\ncompute Y[] = sum(k:4) X[k]\noutput Y"), threads=1) as model:
        y = model(np.ones(4, "float32"))["Y"]
        assert y.shape == () and y == 4


# ---- what is refused ----

X, W = operands()
READ_ONLY = np.empty((16, 48), "float32")
READ_ONLY.flags.writeable = False


@pytest.mark.parametrize("x, why", [
    (X.astype("float64"), r"'X' must be f32\[16, 32\], not float64\[16, 32\]"),
    (X.astype(">f4"), r"'X' must be f32.*not >f4"),
    (X[:8], r"'X'.*given: X: f32\[8, 32\]"),
    (X[0], r"'X' must be f32\[16, 32\], not float32\[32\]: it has 2 dim"),
    (np.asfortranarray(X), r"'X' must be dense.*strides \[1, 16\]"),
    (np.empty((16, 64), "float32")[:, ::2], r"'X' must be dense.*strides \[64, 2\]"),
    (X[::-1], r"'X' must be dense.*strides \[-32, 1\]"),
    (np.broadcast_to(X[0], (16, 32)), r"'X' must be dense.*strides \[0, 1\]"),
    (np.empty((16, 32), [("a", "f4"), ("b", "i1")])["a"], r"'X' has strides that are not multiples"),
    (X.tolist(), r"'X' must be f32\[16, 32\], not a list"),
    (None, r"'X' must be f32\[16, 32\], not a NoneType"),
    (3.0, r"'X' must be f32\[16, 32\], not a float"),
    (Exporter(X.astype("int32")), r"'X' must be f32\[16, 32\], not i32\[16, 32\]"),
    (Exporter(X.astype("uint32")), r"'X' must be f32\[16, 32\], not u32\[16, 32\]"),
    (Exporter(np.asfortranarray(X)), r"'X' must be dense.*strides \[1, 16\]"),
    (Exporter(X[0]), r"'X' must be f32\[16, 32\], not f32\[32\]"),
    (Exporter(X, (2, 0)), r"'X' lies on a device of type 2, not in CPU memory"),
    (Exporter(READ_ONLY), r"'X' does not share its memory.*readonly"),
])
def test_refuses_inputs(gemm_model, x, why):
    with pytest.raises(BadInput, match=why):
        gemm_model(x, W)
    np.testing.assert_allclose(gemm_model(X, W)["Y"], X @ W, rtol=1e-4, atol=1e-5)  # and goes on


@pytest.mark.parametrize("args, named, why", [
    ((X,), {}, "'W' is missing: the model takes X: f32"),
    ((), {}, "'X' is missing"),
    ((X, W, W), {}, "3 inputs are given: the model takes X"),
    ((X, W), {"W": W}, "'W' is given twice"),
    ((X, W), {"V": W}, "no input 'V': the model takes X"),
])
def test_refuses_calls(gemm_model, args, named, why):
    with pytest.raises(BadInput, match=why):
        gemm_model(*args, **named)


@pytest.mark.parametrize("out, why", [
    ([READ_ONLY], "'Y' is a read-only array"),
    ([Exporter(READ_ONLY)], "'Y' does not share its memory"),
    ([np.empty((16, 47), "float32")], r"'Y' must be Y?.*f32\[16, 48\], not of shape \[16, 47\]"),
    ([np.empty((48, 16), "float32").T], "'Y' must be dense"),
    ([np.empty((16, 48), "int32")], "'Y' must be f32"),
    ([], "an array for each output"),
    ([READ_ONLY, READ_ONLY], "an array for each output"),
    ({"Z": READ_ONLY}, "an array for each output.*Y"),
])
def test_refuses_outputs(gemm_model, out, why):
    with pytest.raises(BadInput, match=why):
        gemm_model(X, W, out=out)


def test_refuses_overlap(varying):
    with tctune.build(varying, threads=1) as model:
        room = np.zeros((20, 8), "float32")
        with pytest.raises(BadInput, match="output 'Y' and input 'X' lie in the same memory"):
            model(room[:16], out=[room[4:]])


def test_refuses_to_build(gemm, tmp_path):
    missing = str(tmp_path / "none")
    for options, why in [({"threads": -1}, "-1 threads"), ({"threads": 10**6}, "1000000 threads cannot be started"),
                         ({"accuracy": "soon"}, "strict, default or fast"), ({"precision": "f16"}, "f32, bf16 or auto"),
                         ({"team": "none"}, "own or openmp"), ({"db": missing}, missing), ({"target": "abacus"}, "abacus"),
                         ({"threads": "two"}, "threads: "),
                         ({"opt_level": 7}, "opt_level: expected 0, 1, 2 or 3"),
                         ({"opt_level": 1}, "opt_level: the source is a kernel, which has no graph"),
                         ({"require_complete": True}, "gemm"), ({"shape": {"N": 3}}, "N"), ({"seed": -1}, "seed: "),
                         ({"db": "a\0b"}, "zero character")]:
        with pytest.raises(tctune.TctuneError, match=why):
            tctune.build(gemm, **options)
    with pytest.raises(tctune.TctuneError, match=missing):
        tctune.build(missing + ".onnx")
    with pytest.raises(tctune.TctuneError, match=missing):
        tctune.load(missing + ".so")
    with pytest.raises(TypeError):
        tctune.build(gemm, no_such_option=1)
    with tctune.Work(gemm) as work, pytest.raises(BadInput, match="shape: the work is already open"):
        tctune.build(work, shape={"N": 1})


# ---- saved and loaded ----


def test_saves_and_loads(gemm_model, tmp_path):
    x, w = operands()
    path = gemm_model.save(tmp_path / "gemm.so")
    assert os.path.exists(tmp_path / "gemm.h") and path == str(tmp_path / "gemm.so")
    gemm_model.save(tmp_path / "gemm.c", prefix="mine")
    assert "mine_run" in (tmp_path / "gemm.c").read_text()
    with tctune.load(path) as loaded:
        np.testing.assert_array_equal(loaded(x, w)["Y"], gemm_model(x, w)["Y"])
        assert loaded.inputs.keys() == gemm_model.inputs.keys()
        with pytest.raises(BadInput):
            loaded.save(tmp_path / "again.so")
    (tmp_path / "text.so").write_text("no library")
    with pytest.raises(tctune.TctuneError, match="text.so"):
        tctune.load(tmp_path / "text.so")


def test_warns(tmp_path):
    db = tmp_path / "t.db"
    kernel = tctune.te.parse("tensor X[8, 16] f32\ntensor W[16, 8] f32 const\n"
                             "compute Y[i:8, j:8] = sum(k:16) X[i, k] * W[k, j]\noutput Y")
    tctune.tune(kernel, trials=2, threads=1, db=db)
    with pytest.warns(tctune.TctuneWarning) as told:
        tctune.build(kernel, db=db, threads=2).close()
    messages = [str(w.message) for w in told]
    assert len(messages) == 2 and "add --threads 1," in messages[0] and "the constants W:" in messages[1]
    assert all(w.filename == __file__ for w in told)
    values = tmp_path / "w.npz"
    np.savez(values, W=np.ones((16, 8), np.float32))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tctune.build(kernel, db=db, threads=1, constants=values).close()


def test_builds_a_network(network):
    with tctune.Work(network) as work:
        assert len(work.tasks) > 1 and all(t.flops > 0 and t.hash for t in work.tasks)
        assert work.find(work.tasks[1].name) == 1
        assert work.find(work.tasks[1].nodes[0]) == 1
        with pytest.raises(BadInput, match="no kernel .nothing."):
            work.find("nothing")
        assert "<td>" in work._repr_html_()
        seen = []
        with tctune.build(work, threads=1, progress=lambda done, total, kernel: seen.append((done, total, kernel))) as model:
            given = {name: np.ones(p.shape, p.dtype) for name, p in model.inputs.items()}
            result = model(**given)
            assert result.keys() == model.outputs.keys()
            profile = model.profile(runs=3, **given)
            assert profile and profile.seconds > 0 and profile[0].seconds >= profile[-1].seconds
            assert profile[0].name in str(profile) and "<table>" in profile._repr_html_()
            with pytest.raises(BadInput, match="at least 1 run"):
                model.profile(runs=0, **given)
        assert [s[0] for s in seen] == list(range(1, len(seen) + 1)) and seen[-1][1] == len(seen)


def test_fixed_inputs(tmp_path):
    path = os.fspath(tctune.zoo("bert-tiny", tmp_path / "bert.onnx"))
    ids = {"input_ids": np.arange(128).reshape(1, 128), "attention_mask": np.ones((1, 128), np.int64)}
    with tctune.build(path, untuned=True, threads=1, fixed_inputs={"token_type_ids": [0] * 128}) as fixed:
        assert list(fixed.inputs) == list(ids)
        short = fixed(**ids)
    with tctune.build(path, untuned=True, threads=1) as model:
        whole = model(**ids, token_type_ids=np.zeros((1, 128), np.int64))
    for name, y in whole.items():
        np.testing.assert_allclose(short[name], y, rtol=1e-4, atol=1e-5)
    with pytest.raises(BadInput, match="has no input"):
        tctune.Work(path, fixed_inputs={"sr": 16000})
    with pytest.raises(BadInput, match="fixed_inputs"):
        tctune.Work(path, fixed_inputs=16000)


def test_build_ends_by_its_callback(network):
    def refuse(*_):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        tctune.build(network, threads=1, progress=refuse)
    with pytest.raises(KeyboardInterrupt):
        tctune.build(network, threads=1, progress=lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
    with pytest.raises(tctune.Stopped):
        tctune.build(network, threads=1, progress=lambda *_: True)


# ---- threads, and the ends of lives ----


def test_threads(gemm_model):
    x, w = operands()
    expected = gemm_model(x, w)["Y"]

    def serve(n):
        with gemm_model.context() as context:
            return all(np.array_equal(context(x, w)["Y"], expected) for _ in range(n))

    def share(n):
        return all(np.array_equal(gemm_model(x, w)["Y"], expected) for _ in range(n))

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert all([f.result() for f in [pool.submit(f, 200) for f in (serve, share) * 4]])


def test_closed_models_are_refused(gemm):
    x, w = operands()
    model = tctune.build(gemm, threads=1)
    context = model.context()
    assert not model.closed
    model(x, w), context(x, w)
    model.close()
    model.close()
    for use in (lambda: model(x, w), lambda: context(x, w), model.context, lambda: model.profile(x, w),
                lambda: context.profile(x, w),
                lambda: model.save("x.so"), model.__enter__):
        with pytest.raises(Closed, match="closed"):
            use()
    assert model.closed and "closed" in repr(model) and model.inputs
    context.close()


def test_closed_contexts_are_refused(gemm_model):
    context = gemm_model.context()
    context.close()
    with pytest.raises(Closed, match="this context was closed"):
        context(X, W)
    gemm_model(X, W)


def test_contexts_keep_their_model(gemm):
    context = tctune.build(gemm, threads=1).context()
    gc.collect()
    np.testing.assert_allclose(context(X, W)["Y"], X @ W, rtol=1e-4, atol=1e-5)


def test_closed_while_it_runs(gemm):
    """Runs that are under way end; later ones are refused."""
    model = tctune.build(gemm, threads=1)
    started, refused = threading.Event(), []

    def run():
        try:
            while True:
                model(X, W)
                started.set()
        except Closed as e:
            refused.append(e)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for t in threads:
        t.start()
    started.wait()
    model.close()
    for t in threads:
        t.join()
    assert len(refused) == 4


def test_closed_work(gemm):
    work = tctune.Work(gemm)
    model = tctune.build(work, threads=1)
    work.close()
    np.testing.assert_allclose(model(X, W)["Y"], X @ W, rtol=1e-4, atol=1e-5)
    for use in (lambda: work.tasks, lambda: work.assumed, lambda: tctune.build(work)):
        with pytest.raises(Closed, match="this work was closed"):
            use()


def test_bad_kernels():
    with pytest.raises(BadInput, match="mine:2:.*unknown name 'Z'"):
        tctune.build(tctune.te.parse("tensor X[4] f32\ncompute Y[i:4] = Z[i]\noutput Y", "mine"))


def test_a_context_is_collected_while_a_name_is_looked_up(gemm_model):
    """cffi looks up a function for the first time under a lock that its thread cannot take again, and collections come anywhere."""
    context = gemm_model.context()
    context.itself = context
    gone = weakref.ref(context)
    vars(_ffi.lib).pop("tctune_context_free", None)  # as if nobody had asked for it yet
    del context

    def look_up():
        with _ffi.ffi._lock:
            gc.collect()

    thread = threading.Thread(target=look_up, daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive() and gone() is None
