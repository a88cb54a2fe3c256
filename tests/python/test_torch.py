"""PyTorch's modules, compiled: what they compute, their state, sizes that vary, and errors that name the module."""
import sys

import pytest
import torch

import tctune
from tctune import BadInput, TctuneError


class Layer(torch.nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.linear = torch.nn.Linear(width, width)
        self.norm = torch.nn.LayerNorm(width)
        self.register_buffer("scale", torch.tensor([2.0]))

    def forward(self, x, y):
        return {"sum": self.norm(torch.relu(self.linear(x))) + y * self.scale, "parts": (x - y, [y])}


class Bad(torch.nn.Module):
    def forward(self, x):
        raise ZeroDivisionError("on purpose")


class Spectrum(torch.nn.Module):
    def forward(self, x):
        return torch.fft.rfft(x).real


class Tail(torch.nn.Module):
    def forward(self, x):
        return x.sum().item()


def nested(inner):
    return torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Sequential(torch.nn.ReLU(), inner))


@pytest.fixture(scope="module")
def layer():
    torch.manual_seed(0)
    module = Layer()
    return module, tctune.torch.compile(module, (torch.ones(3, 8), torch.ones(3, 8)), threads=1)


def test_computes_the_same(layer):
    module, fast = layer
    x, y = torch.randn(3, 8), torch.randn(3, 8)
    for given, expected in ((fast(x, y), module(x, y)), (fast(y=y, x=x), module(x, y)), (fast(x, y=y), module(x, y)),
                            (fast(x.T.contiguous().T, y), module(x, y))):
        assert torch.allclose(given["sum"], expected["sum"], atol=1e-5)
        assert torch.equal(given["parts"][0], x - y) and torch.equal(given["parts"][1][0], y)
    assert list(given) == ["sum", "parts"] and isinstance(given["parts"], tuple)


def test_keeps_its_state(layer):
    module, fast = layer
    assert list(fast.state_dict()) == list(module.state_dict()) == ["scale", "linear.weight", "linear.bias", "norm.weight",
                                                                    "norm.bias"]
    assert all(torch.equal(a, b) for a, b in zip(fast.state_dict().values(), module.state_dict().values()))
    assert sum(p.numel() for p in fast.parameters()) == sum(p.numel() for p in module.parameters())
    assert not fast.training and fast.eval() is fast and module.training and module.linear.training
    for refused in (fast.train, lambda: fast.load_state_dict(module.state_dict())):
        with pytest.raises(TctuneError, match="compiled Layer"):
            refused()
    assert "tctune.Model" in repr(fast)


def test_refuses_what_does_not_fit(layer):
    _, fast = layer
    x = torch.ones(3, 8)
    for args, named, why in [((x.double(), x), {}, "'x' must be f32"), ((x[:2], x), {}, "'x'"), ((x,), {}, "'y' is missing"),
                             ((x, x, x), {}, "3 inputs"),
                             ((x, x), {"y": x}, "given twice"), ((x, x), {"z": x}, "none of the module"),
                             ((x, 1.0), {}, "'y' must be f32"),
                             ((x, torch.empty(3, 8, device="meta")), {}, "'y'")]:
        with pytest.raises(BadInput, match=why):
            fast(*args, **named)


def test_sizes_that_vary():
    module = torch.nn.Linear(8, 4)
    fast = tctune.torch.compile(module, torch.ones(2, 8), dynamic_axes={"input": {0: "batch"}}, shape={"batch": "1..16"}, threads=1)
    for n in (1, 16, 5):
        x = torch.randn(n, 8)
        assert torch.allclose(fast(x), module(x), atol=1e-5)
    with pytest.raises(BadInput, match="17"):
        fast(torch.ones(17, 8))


def test_tuned(tmp_path):
    module = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU())
    fast = tctune.torch.compile(module, torch.ones(4, 8), trials=4, threads=1, db="t.db", batch=2, onnx=tmp_path / "kept.onnx")
    x = torch.randn(4, 8)
    assert torch.allclose(fast(x), module(x), atol=1e-5) and (tmp_path / "kept.onnx").exists()
    with tctune.Database("t.db") as db:
        assert len(db) > 0


def test_the_librarys_errors_name_it_too():
    with pytest.raises(BadInput, match="module Linear: .*batch"):
        tctune.torch.compile(torch.nn.Linear(8, 4), torch.ones(2, 8), shape={"batch": "1..16"})
    with pytest.raises(TypeError, match="no_such_option"):
        tctune.torch.compile(torch.nn.Linear(8, 4), torch.ones(2, 8), no_such_option=1)


# Last of those that export: after one that failed PyTorch 1.13 may refuse one that is right.
@pytest.mark.parametrize("module, example, why", [
    (nested(Bad()), torch.ones(2, 8), r"module Sequential, in 1.1 \(Bad\) does not run on the example inputs: on purpose"),
    (nested(Spectrum()), torch.ones(2, 8), r"module Sequential, in 1.1 \(Spectrum\) cannot be exported to ONNX.*fft_rfft"),
    (torch.nn.Linear(8, 4), torch.ones(2, 7), "module Linear does not run on the example inputs"),
    (nested(Tail()), torch.ones(2, 8), "module Sequential answers with a float"),
    (torch.nn.Linear(8, 4), 3, "example input 0 of module Linear is a int"),
    (torch.nn.Linear(8, 4), torch.ones(2, 8, device="meta"), "example input 0 of module Linear lies on meta"),
    (len, torch.ones(2), "takes a torch.nn.Module"),
])
def test_errors_name_the_module(module, example, why):
    with pytest.raises(BadInput, match=why):
        tctune.torch.compile(module, example)


def test_tensors_without_copies():
    with tctune.build(tctune.te.parse("tensor X[4, 4] f32\ncompute Y[i:4, j:4] = X[j, i]\noutput Y"), threads=1) as model:
        x, y = torch.arange(16.0).reshape(4, 4), torch.empty(4, 4)
        assert model(x, out=[y])["Y"] is y and torch.equal(y, x.T)
        for bad, why in [(x.T, "'X' must be dense"), (x.double(), "not f64"), (x.bfloat16(), "not bf16"),
                         (x.clone().requires_grad_(), "'X' does not share its memory")]:
            with pytest.raises(BadInput, match=why):
                model(bad)
        with pytest.raises(BadInput, match="'Y' must be dense"):
            model(x, out=[torch.empty(4, 4).T])
    with tctune.build(tctune.te.parse("tensor X[4] bf16\ncompute Y[i:4] = bf16(f32(X[i]) * 2.0)\noutput Y"), threads=1) as model:
        y = torch.empty(4, dtype=torch.bfloat16)
        model(torch.ones(4).bfloat16(), out=[y])
        assert (y == 2).all()


def test_says_what_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "tctune.torch")
    with pytest.raises(ImportError, match="python3-torch"):
        import tctune.torch  # noqa: F401  pylint: disable=import-outside-toplevel,unused-import
