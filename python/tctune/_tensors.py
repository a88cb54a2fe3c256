"""The caller's arrays as tensors of the library, without copies: NumPy arrays, and anything with __dlpack__."""
import ctypes
from typing import Any, Dict, Optional, Sequence, Tuple

import numpy as np

from ._ffi import ffi, lib
from ._html import plain
from .errors import BadInput

# DLPack's codes of types. NumPy has no bf16 and no floats of 8 bits: there, unsigned integers hold their bits.
_INT, _UINT, _FLOAT, _BFLOAT, _BOOL = 0, 1, 2, 4, 6
_FLOAT8 = {10: "f8e4m3fn", 11: "f8e4m3fnuz", 12: "f8e5m2", 13: "f8e5m2fnuz", 14: "f8e8m0"}
_NUMPY = {_INT: "int", _UINT: "uint", _FLOAT: "float"}
_LETTER = {_INT: "i", _UINT: "u", _FLOAT: "f", _BFLOAT: "bf"}


def type_name(code: int, bits: int) -> str:
    """The name of a type in .te: "f32"."""
    if code == _BOOL:
        return "bool"
    return _FLOAT8.get(code) or f"{_LETTER.get(code, f'type {code} of ')}{bits}"


def numpy_type(code: int, bits: int) -> Any:
    if code == _BOOL:
        return np.dtype(np.bool_)
    if code in _NUMPY:
        return np.dtype(f"{_NUMPY[code]}{bits}")
    return np.dtype(f"uint{bits}")


class Port:
    """An input or output of a model: `name`, `type` ("f32"), `dtype` (NumPy's) and `shape`; where sizes vary, the largest.

    NumPy has no bf16 and no floats of 8 bits: a uint16 or a uint8 holds their bits. DLPack has these types."""

    __slots__ = ("name", "type", "dtype", "shape", "role", "code", "bits", "grows")

    def __init__(self, name: str, code: int, bits: int, shape: Tuple[int, ...], role: str, grows: int) -> None:
        self.name, self.code, self.bits, self.shape, self.role, self.grows = name, code, bits, shape, role, grows
        self.type = type_name(code, bits)
        self.dtype = numpy_type(code, bits)

    def __repr__(self) -> str:
        return f"{plain(self.name)}: {describe(self.type, self.shape)}"

    def __str__(self) -> str:
        return describe(self.type, self.shape)


def describe(kind: str, shape: Sequence[int]) -> str:
    return f"{kind}[{', '.join(map(str, shape))}]"


def ports_of(model: Any, role: str) -> Tuple[Port, ...]:
    is_input = role == "input"
    get = lib.tctune_model_input if is_input else lib.tctune_model_output
    n = lib.tctune_model_num_inputs(model) if is_input else lib.tctune_model_num_outputs(model)
    kind, ndim, shape, rows = ffi.new("DLDataType *"), ffi.new("int *"), ffi.new("const int64_t **"), ffi.new("int *")
    ports = []
    for i in range(n):
        name = ffi.string(get(model, i, kind, ndim, shape)).decode("utf-8", "replace")
        grows = lib.tctune_model_grows(model, i, rows) if is_input else -1
        ports.append(Port(name, kind.code, kind.bits, tuple(shape[0][0:ndim[0]]), role, grows))
    return tuple(ports)


# ---- one array ----


class View:
    """The memory of an array: address and end, shape, strides in elements (None: dense), and the object that owns it."""

    __slots__ = ("address", "end", "shape", "strides", "owner")

    def __init__(self, address: int, shape: Tuple[int, ...], strides: Optional[Tuple[int, ...]], item: int, owner: Any) -> None:
        self.address, self.shape, self.strides, self.owner = address, shape, strides, owner
        span = 0 if 0 in shape else 1 + sum((n - 1) * max(s, 0) for n, s in zip(shape, strides or _dense(shape)))
        self.end = address + span * item


def _dense(shape: Tuple[int, ...]) -> Tuple[int, ...]:
    strides, n = [], 1
    for extent in reversed(shape):
        strides.append(n)
        n *= extent
    return tuple(reversed(strides))


def _is_dense(shape: Tuple[int, ...], strides: Tuple[int, ...]) -> bool:
    return 0 in shape or all(n == 1 or s == d for n, s, d in zip(shape, strides, _dense(shape)))


def _refuse(port: Port, given: str, remedy: str = "") -> BadInput:
    return BadInput(f"{port.role} '{port.name}' must be {port}, not {given}{remedy}")


def _check(port: Port, view: View, given: str) -> View:
    if len(view.shape) != len(port.shape):
        raise _refuse(port, describe(given, view.shape), f": it has {len(port.shape)} dimensions")
    if view.strides is not None and _is_dense(view.shape, view.strides):
        view.strides = None
    if view.strides is not None and port.grows < 0:
        raise BadInput(f"{port.role} '{port.name}' must be dense and in row-major order, not {describe(given, view.shape)} with "
                       f"strides "
                       f"{list(view.strides)} (in elements): numpy.ascontiguousarray makes a dense copy")
    return view


def _numpy_view(x: Any, port: Port) -> View:
    same = x.dtype == port.dtype or (x.dtype.name == "bfloat16" and port.type == "bf16")
    if not same:
        raise _refuse(port, describe(str(x.dtype), x.shape), ": give an array of that type, e.g. by astype")
    if port.role == "output" and not x.flags.writeable:
        raise BadInput(f"output '{port.name}' is a read-only array: results cannot be written to it")
    item = x.dtype.itemsize
    if any(s % item for s in x.strides):
        raise BadInput(f"{port.role} '{port.name}' has strides that are not multiples of its elements: numpy.ascontiguousarray "
                       f"makes a "
                       "dense copy")
    strides = tuple(s // item for s in x.strides)
    return _check(port, View(x.__array_interface__["data"][0], x.shape, strides, item, x), str(x.dtype))


_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype = ctypes.c_void_p
_pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]


def _capsule(x: Any, port: Port) -> Any:
    try:
        device = int(x.__dlpack_device__()[0]) if hasattr(x, "__dlpack_device__") else lib.kDLCPU
        if device == lib.kDLCPU:
            return x.__dlpack__()
    except (BufferError, TypeError, RuntimeError, ValueError) as e:
        raise BadInput(f"{port.role} '{port.name}' does not share its memory: {e}") from e
    raise BadInput(f"{port.role} '{port.name}' lies on a device of type {device}, not in CPU memory: move it there, e.g. by "
                   f"x.cpu()")


def _dlpack_view(x: Any, port: Port) -> View:
    capsule = _capsule(x, port)
    try:
        t = ffi.cast("DLManagedTensor *", _pointer_of(capsule, b"dltensor")).dl_tensor
    except ValueError as e:
        raise BadInput(f"{port.role} '{port.name}': its __dlpack__ gives no usable tensor: {e}") from e
    given = type_name(t.dtype.code, t.dtype.bits)
    shape = tuple(t.shape[0:t.ndim]) if t.ndim else ()
    if t.device.device_type != lib.kDLCPU:
        raise BadInput(f"{port.role} '{port.name}' lies on a device of type {t.device.device_type}, not in CPU memory")
    as_bits = (t.dtype.code, t.dtype.bits) == (_UINT, port.bits) and port.dtype.kind == "u"
    as_bool = port.code == _BOOL and (t.dtype.code, t.dtype.bits) == (_UINT, 8) and "bool" in str(getattr(x, "dtype", ""))
    if t.dtype.lanes != 1 or not (as_bits or as_bool or (t.dtype.code, t.dtype.bits) == (port.code, port.bits)):
        raise _refuse(port, describe(given, shape), ": give a tensor of that type")
    strides = None if t.strides == ffi.NULL or not t.ndim else tuple(t.strides[0:t.ndim])
    address = int(ffi.cast("uintptr_t", t.data)) + t.byte_offset
    return _check(port, View(address, shape, strides, port.bits // 8, (x, capsule)), given)


def view(x: Any, port: Port) -> View:
    if isinstance(x, np.ndarray):
        return _numpy_view(x, port)
    if hasattr(x, "__dlpack__"):
        return _dlpack_view(x, port)
    raise BadInput(f"{port.role} '{port.name}' must be {port}, not a {type(x).__name__}: give a NumPy array, or what has "
                   f"__dlpack__, such as "
                   "a torch tensor")


# ---- memory ----


def empty(shape: Sequence[int], dtype: Any = "float32") -> Any:
    """A NumPy array whose memory is aligned to 64 bytes, as kernels need it. Arrays that are not aligned are copied.

    >>> empty((2, 3), "int8").ctypes.data % 64
    0
    """
    kind = np.dtype(dtype)
    size = kind.itemsize * int(np.prod(shape, dtype=np.int64))
    raw = np.empty(size + 64, np.uint8)
    start = -int(ffi.cast("uintptr_t", ffi.from_buffer(raw))) % 64
    return np.ndarray(shape, kind, raw, start)


def by_name(ports: Sequence[Port], given: Dict[str, Any], args: Sequence[Any]) -> Tuple[Any, ...]:
    """The inputs of a call in the model's order."""
    values = dict(zip((p.name for p in ports), args))
    for name, x in given.items():
        if name in values:
            raise BadInput(f"input '{name}' is given twice")
        values[name] = x
    unknown = [n for n in values if all(n != p.name for p in ports)]
    missing = [p.name for p in ports if p.name not in values]
    if len(args) > len(ports) or unknown or missing:
        raise wrong_inputs(ports, len(args), unknown, missing)
    return tuple(values[p.name] for p in ports)


def wrong_inputs(ports: Sequence[Port], n: int, unknown: Sequence[str] = (), missing: Sequence[str] = ()) -> BadInput:
    takes = "the model takes " + (", ".join(map(repr, ports)) or "nothing")
    if unknown:
        return BadInput(f"there is no input '{unknown[0]}': {takes}")
    if missing:
        return BadInput(f"input '{missing[0]}' is missing: {takes}")
    return BadInput(f"{n} inputs are given: {takes}")
