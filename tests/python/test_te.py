"""Kernels written as tensor expressions: their text, which computes what Python does, and what is refused, by stage."""
import math
import re
from pathlib import Path

import numpy as np
import pytest

import tctune
from tctune import BadInput, te

ROOT = Path(__file__).resolve().parents[2]


def run(*outputs, **inputs):
    with tctune.build(te.kernel(*outputs), threads=1) as model:
        return model(**inputs)


def column(table):
    """The names in a .def of the source."""
    text = re.sub(r"/\*.*?\*/", "", (ROOT / "src/te" / table).read_text(), flags=re.S)
    return re.findall(r"^\w+\((\w+), \"([^\"]*)\"", text, flags=re.M)


def test_has_every_operation():
    operators = {"+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||", "!", "cast", ""}
    vectors = {"ramp", "bcast", "dot"}  # of lowered programs alone
    for _, text in column("ops.def"):
        assert text in operators | vectors or callable(getattr(te, text)), text
    for _, text in column("reducers.def"):
        assert callable(getattr(te, text)), text
    names = re.findall(r"DTYPE\(\w+, \"(\w+)\"", (ROOT / "src/te/dtype.h").read_text())
    assert len(names) > 20 and [te._dtype(n) for n in names] == names


def test_matmul():
    X, W = te.placeholder((6, 20), "f32", name="X"), te.placeholder((20, 8), "float32", name="W")
    k = te.reduce_axis((0, 20), name="k")
    D = te.compute((6, 8), lambda i, j: te.sum(X[i, k] * W[k, j], axis=k), name="D")
    Y = te.compute(D.shape, lambda *i: te.max(D(*i), 0), name="Y")
    kernel = te.kernel(Y, name="mm")
    assert kernel.text == ("tensor X[6, 20] f32\ntensor W[20, 8] f32\ncompute D[i:6, j:8] = sum(k:20) X[i, k] * W[k, j]\n"
                           "compute Y[i0:6, i1:8] = max(D[i0, i1], 0)\noutput Y\n")
    assert "mm" in repr(kernel) and str(kernel) in kernel.text and "<pre>tensor" in kernel._repr_html_()
    x, w = np.random.rand(6, 20).astype("f") - 0.5, np.random.rand(20, 8).astype("f")
    np.testing.assert_allclose(run(Y, X=x, W=w)["Y"], np.maximum(x @ w, 0), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("expression", [
    lambda x, y: (x + y) * (x - y) - (x - (y - 1.5)),
    lambda x, y: x / (y / 2) / 3 + 2 / (x + 10),
    lambda x, y: -(x + y) * -x - -y,
    lambda x, y: x - (y + x) - (y - (x - y)),
    lambda x, y: (x * y) % 0.7 + 7 % (y + 3),
    lambda x, y: 2 ** (x / 4) + y,
    lambda x, y: abs(x - 1) + 1e-3 * y,
])
def test_arithmetic_binds_as_in_python(expression):
    x, y = np.random.rand(2, 32) + 0.5
    X, Y = te.placeholder((32,), "f64", name="X"), te.placeholder((32,), "f64", name="Y")
    Z = te.compute((32,), lambda i: expression(X[i], Y[i]), name="Z")
    result = run(Z, X=x, Y=y)["Z"]
    np.testing.assert_allclose(result, expression(x, y), rtol=1e-12)


@pytest.mark.parametrize("expression", [
    lambda a, b: (a + 3 * b) // 4 - (a - 2 * b) // 3,
    lambda a, b: (a - b) % 5 + a % 3 * 2,
    lambda a, b: (a << 2) + (b >> 1) - 7,
    lambda a, b: (a & b) + (a | 12) - (a ^ b),
    lambda a, b: ~a + (100 - b),
    lambda a, b: -a - -b,
])
def test_integers_compute_as_in_python(expression):
    a, b = np.random.default_rng(3).integers(-50, 50, (2, 64))
    A, B = te.placeholder((64,), "i64", name="A"), te.placeholder((64,), "i64", name="B")
    Z = te.compute((64,), lambda i: expression(A[i], B[i]), name="Z")
    np.testing.assert_array_equal(run(Z, A=a, B=b)["Z"], [expression(int(x), int(y)) for x, y in zip(a, b)])


def test_conditions():
    X = te.placeholder((10,), name="X")
    P = te.compute((10,), lambda i: te.select(te.all(i > 0, i < 9) & ~(i == 4) | (i == 0), X[te.max(i - 1, 0)], -1.0), name="P")
    Q = te.compute((10,), lambda i: te.if_then_else(te.any(X[i] < 2, X[i] >= 8, i == 5), te.const(1, "f32"),
                                                    te.cast("f32", i) * 0), name="Q")
    x = np.arange(10, dtype="f")
    result = run(P, Q, X=x)
    np.testing.assert_array_equal(result["P"], [0, 0, 1, 2, -1, 4, 5, 6, 7, -1])
    np.testing.assert_array_equal(result["Q"], [1, 1, 0, 0, 0, 1, 0, 0, 1, 1])


def test_functions():
    x = np.random.rand(16) * 0.9
    X = te.placeholder((16,), "f64", name="X")
    twins = {"sqrt": np.sqrt, "exp": np.exp, "log": np.log, "tanh": np.tanh, "sin": np.sin, "cos": np.cos, "tan": np.tan,
             "asin": np.arcsin,
             "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "floor": np.floor, "ceil": np.ceil,
             "asinh": np.arcsinh, "atanh": np.arctanh, "expm1": np.expm1,
             "log1p": np.log1p, "ncdf": np.vectorize(lambda v: math.erfc(-v / math.sqrt(2)) / 2), "round": np.round,
             "trunc": np.trunc, "abs": np.abs, "rsqrt": lambda v: 1 / np.sqrt(v), "sigmoid": lambda v: 1 / (1 + np.exp(-v)),
             "relu": lambda v: np.maximum(v, 0), "silu": lambda v: v / (1 + np.exp(-v)),
             "erf": np.vectorize(math.erf), "gelu": np.vectorize(lambda v: 0.5 * v * (1 + math.erf(v / math.sqrt(2))))}
    outputs = [te.compute((16,), (lambda f: lambda i: f(X[i]))(getattr(te, name)), name="Y_" + name) for name in twins]
    result = run(*outputs, X=x)
    for name, twin in twins.items():
        np.testing.assert_allclose(result["Y_" + name], twin(x), rtol=1e-6, err_msg=name)
    Z = te.compute((16,), lambda i: te.acosh(1 + X[i]), name="Z")
    np.testing.assert_allclose(run(Z, X=x)["Z"], np.arccosh(1 + x), rtol=1e-6)


def test_reductions():
    x = np.random.rand(5, 7).astype("f")
    X = te.placeholder((5, 7), name="X")
    k, l = te.reduce_axis(7, "k"), te.reduce_axis(5, "l")
    V, I = te.compute((5,), lambda i: te.argmax(X[i, k], k, axis=k), name=("V", "I"))
    M = te.compute((5,), lambda i: te.min(X[i, k], axis=k), name="M")
    P = te.compute((5,), lambda i: te.prod(X[i, k], axis=[k]), name="P")
    S = te.compute((), lambda: te.sum(X[l, k], axis=(l, k)), name="S")
    R = te.compute((1,), lambda i: S[()] * 2, name="R")
    result = run(V, I, M, P, R, X=x)
    np.testing.assert_array_equal(result["V"], x.max(1))
    np.testing.assert_array_equal(result["I"], x.argmax(1))
    assert I.dtype == "i64" and result["I"].dtype == np.int64
    np.testing.assert_array_equal(result["M"], x.min(1))
    np.testing.assert_allclose(result["P"], x.prod(1), rtol=1e-5)
    np.testing.assert_allclose(result["R"], [2 * x.sum()], rtol=1e-5)


def test_casts():
    X = te.placeholder((4,), np.float32, name="X")
    Y = te.compute((4,), lambda i: X[i].astype("int32") + 1, name="Y")
    Z = te.compute((4,), lambda i: te.cast(np.float16, X[i]), name="Z")
    assert (Y.dtype, Z.dtype, te._dtype("bfloat16"), te._dtype(np.dtype("uint8"))) == ("i32", "f16", "bf16", "u8")
    result = run(Y, Z, X=np.array([0.5, -1.5, 3, 7.9], "f"))
    np.testing.assert_array_equal(result["Y"], [1, 0, 4, 8])
    assert result["Z"].dtype == np.float16


def test_sizes_that_vary():
    P, S = te.var("P", 0, 7), te.var("S", 1, 4)
    T = te.define("T", P + S)
    A, B = te.placeholder((P, 3), name="A"), te.placeholder((S, 3), name="B")
    Y = te.compute((T, 3), lambda i, j: te.select(i < P, A[i, j], B[i - P, j]), name="Y")
    text = te.kernel(Y).text
    assert text.startswith("symbol P 0..7\nsymbol S 1..4\nsymbol T = P + S\ntensor A[P, 3] f32\n")
    Z = te.compute((P + S, 3), lambda i, j: te.select(i < P, A[i, j], B[i - P, j]), name="Z")
    assert "symbol P_S_size = P + S\n" in te.kernel(Z).text
    for p, s in ((5, 2), (7, 4)):
        a, b = np.random.rand(p, 3).astype("f"), np.random.rand(s, 3).astype("f")
        with tctune.build(te.kernel(Y), threads=1, shape={"P": p, "S": s}) as model:
            np.testing.assert_array_equal(model(a, b)["Y"], np.concatenate([a, b]))
    with pytest.raises(BadInput, match="Y has the size T, which is computed from other sizes"):
        tctune.build(te.kernel(Y), threads=1)
    k = te.reduce_axis(S, "k")
    M = te.compute((3,), lambda j: te.sum(B[k, j] / te.cast("f32", S), axis=k), name="M")
    np.testing.assert_allclose(run(M, B=b)["M"], b.mean(0), rtol=1e-6)


X = te.placeholder((4, 8), name="X")
N8 = te.placeholder((8,), "i32", name="N")
K = te.reduce_axis(8, "k")


@pytest.mark.parametrize("body, why", [
    (lambda i, j: X[i], "stage Y: X has 2 dimensions, but is given 1 index"),
    (lambda i: X[i, 0], r"stage Y: it has 2 dimensions, but its function takes 1 argument$"),
    (lambda i, j: X[i, j] + N8[j], r"stage Y: '\+' of X\[i, j\] \(f32\) and N\[j\] \(i32\): cast one"),
    (lambda i, j: X[i, X[i, j]], "stage Y: an index of X is .*f32"),
    (lambda i, j: N8[j] / N8[0], "stage Y: '/' of .*write //"),
    (lambda i, j: te.sum(X[i, K], axis=K) + 1, "stage Y: .*a reduction must be the whole body"),
    (lambda i, j: 1 - te.sum(X[i, K], axis=K), "stage Y: .*a reduction must be the whole body"),
    (lambda i, j: X + 1, "stage Y: .*index it"),
    (lambda i, j: te.sum(X[i, j], axis=j), "stage Y: j is one value"),
    (lambda i, j: te.sum(X[i, j], axis=()), "stage Y: sum needs an axis"),
    (lambda i, j: te.argmax(X[i, K], K, axis=K), "stage Y: argmax has 2 results, but 1 names"),
    (lambda i, j: X[i, j] if i < 2 else 0.0, "stage Y: whether i < 2 is true"),
    (lambda i, j: 0 < i < 2, "stage Y: whether 0 < i is true|stage Y: whether i > 0 is true"),
    (lambda i, j: X, "stage Y: .*index it"),
    (lambda i, j: "x", "stage Y: a str cannot be a value"),
    (lambda i, j: None, "stage Y: a NoneType cannot be a value"),
    (lambda i, j: te.cast("f31", X[i, j]), "stage Y: 'f31' is not a type"),
    (lambda i, j: te.select(i, 1, 2), "stage Y: the condition of select must be bool"),
    (lambda i, j: te.max(X[i, j]), "stage Y: max takes two values, or one and an axis"),
    (lambda i, j: [v for v in X], "stage Y: X is known when the kernel runs"),
    (lambda i, j: te.all(), "stage Y: there are no conditions"),
])
def test_refuses(body, why):
    with pytest.raises(BadInput, match=why):
        te.compute((4, 8), body, name="Y")


def test_refuses_more():
    for make, why in [(lambda: te.placeholder((4,), name="a b"), "'a b' cannot name a tensor"),
                      (lambda: te.placeholder((4.5,)), "an extent must be an integer"),
                      (lambda: te.reduce_axis((1, 4)), "begins at 0"),
                      (lambda: te.kernel(), "at least one output"),
                      (lambda: te.kernel(3), "made, not 3"),
                      (lambda: te.compute((4,), lambda i: 0.0, name=("A", "B")), "only argmax and argmin"),
                      (lambda: te.kernel(te.compute((4,), lambda i: te.placeholder((4,), name="A")[i]
                                                    + te.placeholder((5,), name="A")[i])),
                       "named A")]:
        with pytest.raises(BadInput, match=why):
            make()


def test_the_librarys_errors_name_the_stage():
    B = te.placeholder((4,), "bool", name="B")
    bad = te.compute((4,), lambda i: te.exp(te.cast("i32", i)), name="Bad")
    for source, why in [(te.kernel(bad), r"kernel:1:.*exp.*\(in stage Bad: compute Bad\[i:4\] = exp\(i32\(i\)\)\)"),
                        (te.kernel(te.compute((4,), lambda i: B[i] + B[i], name="Z")), "in stage Z"),
                        (te.kernel(te.placeholder((4,), name="X")), "output X is an input")]:
        with pytest.raises(BadInput, match=why):
            tctune.Work(source)


def test_the_same_size_twice():
    make = lambda: te.var("N", 1, 4)
    A, B = te.placeholder((make(),), name="A"), te.placeholder((make(),), name="B")
    assert te.kernel(te.compute((make(),), lambda i: A[i] + B[i])).text.count("symbol") == 1
