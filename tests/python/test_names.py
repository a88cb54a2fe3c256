"""Names of a model may hold anything. Values keep them as they are; what a terminal or a page shows has escapes."""
import html

import numpy as np
import pytest

import tctune

HOSTILE = "x\x1b[2J\n</td><script>\u202e'\""


def _field(number, data):
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogateescape")
    size, n = b"", len(data)
    while n >= 128:
        size, n = size + bytes([n & 127 | 128]), n >> 7
    return bytes([number << 3 | 2]) + size + bytes([n]) + data


def _port(name):
    shape = _field(1, b"\x08\x04")  # one dimension, of 4
    return _field(1, name) + _field(2, _field(1, b"\x08\x01" + _field(2, shape)))


def _model(name, node="n", output="y"):
    """y = -x of ONNX, as protobuf."""
    graph = _field(1, _field(1, name) + _field(2, output) + _field(3, node) + _field(4, "Neg")) + _field(2, "g")
    graph += _field(11, _port(name)) + _field(12, _port(output))
    return b"\x08\x08" + _field(7, graph) + _field(8, b"\x10\x11")


def _plain(text):
    assert text.isprintable(), ascii(text)


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(_model(HOSTILE))
    with tctune.build(path, threads=1, untuned=True) as built:
        yield built


def test_values_keep_names(model):
    assert list(model.inputs) == [HOSTILE]
    x = np.arange(4, dtype=np.float32)
    for given in (model(x), model(**{HOSTILE: x})):
        np.testing.assert_array_equal(given["y"], -x)


def test_what_is_shown_is_plain(model):
    _plain(repr(model))
    _plain(repr(model.inputs[HOSTILE]))
    page = model._repr_html_()
    assert "<script>" not in page and html.escape(r"x\x1b[2J\n</td>") in page
    for wrong in ({"z\x1b": np.zeros(4, np.float32)}, {HOSTILE: np.zeros(3, np.float32)}, {HOSTILE: "\x1b"}):
        with pytest.raises(tctune.BadInput) as e:
            model(**wrong)
        _plain(str(e.value))


@pytest.mark.parametrize("bad", ["\udcff", "a\0b", "\udce2\udc80"])
def test_names_that_are_no_text_are_refused(tmp_path, bad):
    path = tmp_path / "bad.onnx"
    path.write_bytes(_model("x", node=bad))
    with pytest.raises(tctune.BadInput, match=r"graph\.node\.name .*byte \d+ of the file, is 0x"):
        tctune.build(path)
