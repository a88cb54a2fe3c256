"""Kernels as tensor expressions, as TVM's and Halide's users write them.

    from tctune import te
    X = te.placeholder((128, 768), "f32", name="X")
    W = te.placeholder((768, 3072), "f32", name="W", const=True)
    k = te.reduce_axis(768, name="k")
    D = te.compute((128, 3072), lambda i, j: te.sum(X[i, k] * W[k, j], axis=k), name="D")
    Y = te.compute(D.shape, lambda i, j: te.gelu(D[i, j]), name="Y")
    kernel = te.kernel(Y)
    print(kernel.text)

A kernel is a text in .te form (docs/reference/te.md). tctune.tune, tctune.build and others take it; parse() makes a kernel from a
text. The parameters of the lambda name the axes. Sizes that vary are symbols, such as te.var("N", 1, 512), or are computed from
symbols by +, -, * and // by an integer. A literal gets the type of the operand beside it. An axis or a symbol in a body is an i64
value."""
import dataclasses
import inspect
import keyword
import math
import numbers
import re
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple, Union, overload

from .errors import BadInput

_TYPES = ("bool i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64 f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz i4 u4 f4e2m1 f8e8m0").split()
_NUMPY_TYPE = re.compile(r"(bool|int|uint|float)(\d*)_?$")
_NAME = re.compile(r"[A-Za-z_]\w*$")

Size = Union[int, "Symbol"]
ExprLike = Union["Expr", "Axis", int, float, bool]
SizeLike = Union[int, "Expr"]
Shape = Union[SizeLike, Sequence[SizeLike]]


def _dtype(kind: Any) -> str:
    """ "f32" of "f32", "float32", numpy.float32, numpy.dtype("float32")."""
    name = str(kind if isinstance(kind, str) else getattr(kind, "name", None) or getattr(kind, "__name__", kind))
    if name in _TYPES:
        return name
    m = _NUMPY_TYPE.match(name)
    short = {"bfloat16": "bf16"}.get(name) or (m and ("bool" if m.group(1) == "bool" else m.group(1)[0] + (m.group(2) or "?")))
    if short not in _TYPES:
        raise BadInput(f"{kind!r} is not a type: the types are {', '.join(_TYPES)}")
    return str(short)


def _is_float(kind: str) -> bool:
    return kind.startswith(("f", "bf"))


# ---- expressions ----

# How tightly operators bind in .te: an operand with a looser one gets parentheses.
_OR, _AND, _COMPARE, _SUM, _PRODUCT, _UNARY, _ATOM = range(7)


class Expr:
    """A value at one point of a tensor. dtype None: a literal, which gets the type of the operand beside it."""

    __slots__ = ("_text", "_binds", "dtype", "_uses")

    def __init__(self, text: str, binds: int, dtype: Optional[str], uses: Tuple["_Used", ...] = ()) -> None:
        self._text, self._binds, self.dtype, self._uses = text, binds, dtype, uses

    def _at(self, least: int) -> str:
        return self._text if self._binds >= least else f"({self._text})"

    def astype(self, dtype: Any) -> "Expr":
        """This value as another type; see cast()."""
        return cast(dtype, self)

    def __repr__(self) -> str:
        return f"<te.Expr {self._text}: {self.dtype or 'literal'}>"

    def __bool__(self) -> bool:
        raise BadInput(f"whether {self._text} is true is known when the kernel runs: te.select chooses between two values, & | ~ "
                       f"combine "
                       "conditions, and comparisons do not chain")

    __hash__ = None  # type: ignore[assignment]  # == makes an expression

    def __iter__(self) -> Any:
        raise BadInput(f"{self._text} is one value: there is nothing to iterate over")

    def __add__(self, o: ExprLike) -> "Expr":
        return _infix("+", _SUM, self, o)

    def __radd__(self, o: ExprLike) -> "Expr":
        return _infix("+", _SUM, o, self)

    def __sub__(self, o: ExprLike) -> "Expr":
        return _infix("-", _SUM, self, o)

    def __rsub__(self, o: ExprLike) -> "Expr":
        return _infix("-", _SUM, o, self)

    def __mul__(self, o: ExprLike) -> "Expr":
        return _infix("*", _PRODUCT, self, o)

    def __rmul__(self, o: ExprLike) -> "Expr":
        return _infix("*", _PRODUCT, o, self)

    def __truediv__(self, o: ExprLike) -> "Expr":
        return _divide(self, o, True)

    def __rtruediv__(self, o: ExprLike) -> "Expr":
        return _divide(o, self, True)

    def __floordiv__(self, o: ExprLike) -> "Expr":
        return _divide(self, o, False)

    def __rfloordiv__(self, o: ExprLike) -> "Expr":
        return _divide(o, self, False)

    def __mod__(self, o: ExprLike) -> "Expr":
        return _infix("%", _PRODUCT, self, o)

    def __rmod__(self, o: ExprLike) -> "Expr":
        return _infix("%", _PRODUCT, o, self)

    def __pow__(self, o: ExprLike) -> "Expr":
        return pow(self, o)

    def __rpow__(self, o: ExprLike) -> "Expr":
        return pow(o, self)

    def __neg__(self) -> "Expr":
        return Expr("-" + self._at(_UNARY), _UNARY, self.dtype, self._uses)

    def __abs__(self) -> "Expr":
        return abs(self)

    def __lt__(self, o: ExprLike) -> "Expr":
        return _infix("<", _COMPARE, self, o)

    def __le__(self, o: ExprLike) -> "Expr":
        return _infix("<=", _COMPARE, self, o)

    def __gt__(self, o: ExprLike) -> "Expr":
        return _infix(">", _COMPARE, self, o)

    def __ge__(self, o: ExprLike) -> "Expr":
        return _infix(">=", _COMPARE, self, o)

    def __eq__(self, o: object) -> "Expr":  # type: ignore[override]
        return _infix("==", _COMPARE, self, o)  # type: ignore[arg-type]

    def __ne__(self, o: object) -> "Expr":  # type: ignore[override]
        return _infix("!=", _COMPARE, self, o)  # type: ignore[arg-type]

    def __and__(self, o: ExprLike) -> "Expr":
        return _bits("&&", _AND, "bitand", self, o)

    def __rand__(self, o: ExprLike) -> "Expr":
        return _bits("&&", _AND, "bitand", o, self)

    def __or__(self, o: ExprLike) -> "Expr":
        return _bits("||", _OR, "bitor", self, o)

    def __ror__(self, o: ExprLike) -> "Expr":
        return _bits("||", _OR, "bitor", o, self)

    def __xor__(self, o: ExprLike) -> "Expr":
        return bitxor(self, o)

    def __rxor__(self, o: ExprLike) -> "Expr":
        return bitxor(o, self)

    def __lshift__(self, o: ExprLike) -> "Expr":
        return shl(self, o)

    def __rshift__(self, o: ExprLike) -> "Expr":
        return shr(self, o)

    def __invert__(self) -> "Expr":
        if self.dtype == "bool":
            return Expr("!" + self._at(_UNARY), _UNARY, "bool", self._uses)
        return bitxor(self, -1)


def _expr(x: Any) -> Expr:
    """A number as a literal."""
    if isinstance(x, Expr):
        return x
    if isinstance(x, Axis):
        return x.value
    if isinstance(x, (Tensor, Reduction)):
        raise BadInput(f"{x!r} stands where one value is needed" + (
            ": index it, as in X[i, j]" if isinstance(x, Tensor) else ": a reduction must be the whole body of a compute; "
                                                                      "give it a compute of its own"))
    if isinstance(x, bool) or type(x).__name__ == "bool_":
        return Expr("true" if x else "false", _ATOM, "bool")
    if isinstance(x, numbers.Integral):
        return Expr(str(int(x)), _ATOM if int(x) >= 0 else _UNARY, None)
    if isinstance(x, numbers.Real):
        f = float(x)
        text = "nan" if math.isnan(f) else "inf" if f > 0 and math.isinf(f) else "-inf" if math.isinf(f) else repr(f)
        return Expr(text, _ATOM if not text.startswith("-") else _UNARY, None)
    raise BadInput(f"a {type(x).__name__} cannot be a value of a tensor expression: {x!r}")


def _uses(*operands: Expr) -> Tuple["_Used", ...]:
    return tuple(dict.fromkeys(u for x in operands for u in x._uses))


def _common(what: str, *operands: Expr) -> Optional[str]:
    """The type that all operands must have."""
    kinds = {x.dtype: x for x in operands if x.dtype is not None}
    if len(kinds) > 1:
        a, b = list(kinds.values())[:2]
        raise BadInput(f"'{what}' of {a._text} ({a.dtype}) and {b._text} ({b.dtype}): cast one of them, e.g. te.cast({a.dtype!r}, "
                       f"x)")
    return next(iter(kinds), None)


def _infix(op: str, binds: int, a: ExprLike, b: ExprLike) -> Expr:
    x, y = _expr(a), _expr(b)
    kind = _common(op, x, y)
    # Comparisons do not chain. Operators group from the left, so a right operand must bind tighter.
    text = f"{x._at(binds + (binds == _COMPARE))} {op} {y._at(binds + 1)}"
    return Expr(text, binds, "bool" if binds == _COMPARE else kind, _uses(x, y))


def _divide(a: ExprLike, b: ExprLike, true: bool) -> Expr:
    x, y = _expr(a), _expr(b)
    kind = _common("/", x, y)
    if true and kind is not None and not _is_float(kind):
        raise BadInput(f"'/' of {x._text} and {y._text}, which are {kind}: write // for the quotient that is rounded down, "
                       f"te.tdiv for the one that is cut "
                       "off, or cast them to a float")
    quotient = _infix("/", _PRODUCT, x, y)
    return floor(quotient) if not true and kind is not None and _is_float(kind) else quotient


def _bits(logic: str, binds: int, name: str, a: ExprLike, b: ExprLike) -> Expr:
    x, y = _expr(a), _expr(b)
    return _infix(logic, binds, x, y) if "bool" in (x.dtype, y.dtype) else _call(name, x, y)


def _call(name: str, *operands: ExprLike, dtype: Optional[str] = None) -> Expr:
    args = [_expr(x) for x in operands]
    kind = _common(name, *args)
    return Expr(f"{name}({', '.join(x._text for x in args)})", _ATOM, dtype or kind, _uses(*args))


def cast(dtype: Any, x: ExprLike) -> Expr:
    """x as another type. A float becomes an integer by cutting off its fraction, and saturates; integers wrap; a bool is x != 0.

    >>> cast("float16", 0.5)
    <te.Expr f16(0.5): f16>
    """
    kind, value = _dtype(dtype), _expr(x)
    return Expr(f"{kind}({value._text})", _ATOM, kind, value._uses)


def const(value: Union[int, float, bool], dtype: Any) -> Expr:
    """A number with a type."""
    return cast(dtype, value)


def select(condition: ExprLike, a: ExprLike, b: ExprLike) -> Expr:
    """a where the condition holds, else b. The other one is not evaluated, so its reads may be out of bounds."""
    c, x, y = _expr(condition), _expr(a), _expr(b)
    if c.dtype != "bool":
        raise BadInput(f"the condition of select must be bool, not {c.dtype or 'a number'}: {c._text}")
    return Expr(f"select({c._text}, {x._text}, {y._text})", _ATOM, _common("select", x, y), _uses(c, x, y))


if_then_else = select


def all(*conditions: ExprLike) -> Expr:  # pylint: disable=redefined-builtin
    """Whether all conditions hold."""
    return _chain("&&", _AND, conditions)


def any(*conditions: ExprLike) -> Expr:  # pylint: disable=redefined-builtin
    """Whether at least one condition holds."""
    return _chain("||", _OR, conditions)


def _chain(op: str, binds: int, conditions: Sequence[ExprLike]) -> Expr:
    if not conditions:
        raise BadInput("there are no conditions")
    result = _expr(conditions[0])
    for c in conditions[1:]:
        result = _infix(op, binds, result, c)
    return result


def _unary(name: str, what: str) -> Callable[[ExprLike], Expr]:
    def function(x: ExprLike) -> Expr:
        return _call(name, x, dtype="bool" if name.startswith("is") else None)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = what
    return function


def _binary(name: str, what: str) -> Callable[[ExprLike, ExprLike], Expr]:
    def function(a: ExprLike, b: ExprLike) -> Expr:
        return _call(name, a, b)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = what
    return function


abs = _unary("abs", "Absolute value.")  # pylint: disable=redefined-builtin
sqrt = _unary("sqrt", "Square root.")
rsqrt = _unary("rsqrt", "1 / sqrt(x).")
exp = _unary("exp", "e to the power of x.")
log = _unary("log", "Natural logarithm.")
tanh = _unary("tanh", "Hyperbolic tangent.")
erf = _unary("erf", "Error function.")
sigmoid = _unary("sigmoid", "1 / (1 + exp(-x)).")
sin = _unary("sin", "Sine.")
cos = _unary("cos", "Cosine.")
tan = _unary("tan", "Tangent.")
asin = _unary("asin", "Arc sine.")
acos = _unary("acos", "Arc cosine.")
atan = _unary("atan", "Arc tangent.")
sinh = _unary("sinh", "Hyperbolic sine.")
cosh = _unary("cosh", "Hyperbolic cosine.")
asinh = _unary("asinh", "Inverse hyperbolic sine.")
acosh = _unary("acosh", "Inverse hyperbolic cosine.")
atanh = _unary("atanh", "Inverse hyperbolic tangent.")
expm1 = _unary("expm1", "exp(x) - 1, exact next to 0.")
log1p = _unary("log1p", "log(1 + x), exact next to 0.")
ncdf = _unary("ncdf", "(1 + erf(x / sqrt(2))) / 2, exact where it is next to 0.")
floor = _unary("floor", "The largest integer that is not above x, in the type of x.")
ceil = _unary("ceil", "The smallest integer that is not below x.")
round = _unary("round", "The nearest integer; of two, the even one.")  # pylint: disable=redefined-builtin
trunc = _unary("trunc", "x without its fraction.")
isnan = _unary("isnan", "Whether x is not a number.")
isinf = _unary("isinf", "Whether x is infinite.")
relu = _unary("relu", "max(x, 0).")
gelu = _unary("gelu", "x * 0.5 * (1 + erf(x / sqrt(2))).")
silu = _unary("silu", "x * sigmoid(x).")
tdiv = _binary("tdiv", "The quotient of integers without its fraction.")
tmod = _binary("tmod", "The remainder of tdiv, which has the dividend's sign.")
pow = _binary("pow", "a to the power of b.")  # pylint: disable=redefined-builtin
bitand = _binary("bitand", "Bitwise and, of integers or bool.")
bitor = _binary("bitor", "Bitwise or.")
bitxor = _binary("bitxor", "Bitwise exclusive or.")
shl = _binary("shl", "a * 2**b of integers.")
shr = _binary("shr", "a / 2**b of integers, rounded down.")


def fma(a: ExprLike, b: ExprLike, c: ExprLike) -> Expr:
    """a * b + c, rounded once."""
    return _call("fma", a, b, c)


# ---- sizes ----


class Symbol(Expr):
    """A size that varies from run to run, from `least` to `most`, or follows from other sizes. In a body it is an i64 value."""

    __slots__ = ("name", "least", "most", "definition")

    def __init__(self, name: str, least: int, most: int, definition: Optional[Expr] = None) -> None:
        super().__init__(name, _ATOM, "i64", ())
        self._uses = (self,)
        self.name, self.least, self.most, self.definition = _checked(name, "symbol"), least, most, definition

    __hash__ = object.__hash__  # type: ignore[assignment]

    def _line(self) -> str:
        return f"symbol {self.name} " + (f"= {self.definition._text}" if self.definition is not None
                                         else f"{self.least}..{self.most}")


def _checked(name: str, what: str) -> str:
    if not isinstance(name, str) or not _NAME.match(name):
        raise BadInput(f"{name!r} cannot name a {what}: use letters, digits and _, and begin with a letter")
    return name


def var(name: str, least: int, most: int) -> Symbol:
    """A size that varies from run to run.

    >>> N = var("N", 1, 512)
    >>> X = placeholder((N, 64), name="X")
    >>> print(kernel(compute((N,), lambda i: X[i, 0] / cast("f32", N), name="Y")))
    symbol N 1..512
    tensor X[N, 64] f32
    compute Y[i:N] = X[i, 0] / f32(N)
    output Y
    """
    return Symbol(name, least, most)


def define(name: str, value: Expr) -> Symbol:
    """A size computed from other sizes by +, -, * and // by an integer: te.define("T", P + S)."""
    return Symbol(name, 0, 0, _expr(value))


def _size(x: Any, owner: str) -> Size:
    """An extent: an integer or a symbol. An expression of symbols becomes a symbol."""
    if isinstance(x, Symbol):
        return x
    if isinstance(x, Expr):
        return define("_".join(re.findall(r"\w+", x._text)) + "_size", x)
    if isinstance(x, bool) or not isinstance(x, numbers.Integral):
        raise BadInput(f"{owner}: an extent must be an integer or a size (te.var), not {x!r}")
    return int(x)


def _shape(shape: Any, owner: str) -> Tuple[Size, ...]:
    if isinstance(shape, (Expr, numbers.Integral)):
        shape = (shape,)
    return tuple(_size(x, owner) for x in shape)


def _extent(x: Size) -> str:
    return x.name if isinstance(x, Symbol) else str(x)


# ---- tensors ----


class Tensor:
    """A tensor: `name`, `shape`, `dtype`. In a body, X[i, k] is the value at an index; X[()] that of a tensor without
    dimensions."""

    def __init__(self, name: str, shape: Tuple[Size, ...], dtype: str, stage: "_Stage") -> None:
        self.name, self.shape, self.dtype, self._stage = name, shape, dtype, stage

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __getitem__(self, indices: Any) -> Expr:
        where = [_expr(i) for i in (indices if isinstance(indices, tuple) else (indices,))]
        if len(where) != self.ndim:
            raise BadInput(f"{self.name} has {self.ndim} dimension{'s' * (self.ndim != 1)}, but is given {len(where)} "
                           f"{'index' if len(where) == 1 else 'indices'}")
        for i in where:
            if i.dtype is not None and (_is_float(i.dtype) or i.dtype == "bool"):
                raise BadInput(f"an index of {self.name} is {i._text}, of type {i.dtype}: indices are integers")
        return Expr(f"{self.name}[{', '.join(i._text for i in where)}]", _ATOM, self.dtype, _uses(*where) + (self._stage,))

    def __call__(self, *indices: Any) -> Expr:
        """X(i, k) is X[i, k], as in TVM."""
        return self[indices]

    def __iter__(self) -> Any:
        raise BadInput(f"{self.name} is known when the kernel runs: index it, as in {self.name}[i]")

    def __repr__(self) -> str:
        return f"<te.Tensor {self.name}[{', '.join(map(_extent, self.shape))}] {self.dtype}>"


class _Stage:
    """A line of the kernel: an input tensor, or a compute with its outputs."""

    def __init__(self, line: str, names: Tuple[str, ...], shape: Tuple[Size, ...], uses: Tuple["_Used", ...]) -> None:
        symbols = tuple(x for x in shape if isinstance(x, Symbol))
        self.line, self.names, self.uses = line, names, tuple(dict.fromkeys(symbols + uses))


_Used = Union[Symbol, _Stage]


def placeholder(shape: Shape, dtype: Any = "f32", name: str = "X", const: bool = False) -> Tensor:
    """An input tensor. const: its values are known when the model is built, so that schedules may pack it.

    >>> placeholder((128, 768), "float32", name="X")
    <te.Tensor X[128, 768] f32>
    """
    kind, sizes = _dtype(dtype), _shape(shape, _checked(name, "tensor"))
    line = f"tensor {name}[{', '.join(map(_extent, sizes))}] {kind}{' const' if const else ''}"
    return Tensor(name, sizes, kind, _Stage(line, (name,), sizes, ()))


class Axis:
    """A reduction axis: `extent`, `name`. In a body it is the coordinate, an i64 value."""

    def __init__(self, extent: Size, name: str) -> None:
        self.extent, self.name = extent, _checked(name, "reduction axis")
        self.value = Expr(name, _ATOM, "i64", (extent,) if isinstance(extent, Symbol) else ())

    def __repr__(self) -> str:
        return f"<te.Axis {self.name}:{_extent(self.extent)}>"


_OPERATORS = ("add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow neg abs lt le gt ge lshift rshift "
              "and or xor").split()


def _axis_operator(name: str) -> Any:
    return lambda self, *others: getattr(self.value, name)(*others)


for _name in _OPERATORS + ["eq", "ne"]:
    setattr(Axis, f"__{_name}__", _axis_operator(f"__{_name}__"))
Axis.__hash__ = object.__hash__  # type: ignore[assignment]


def reduce_axis(extent: Union[SizeLike, Tuple[int, SizeLike]], name: str = "k") -> Axis:
    """An axis to reduce over. (0, n), as in TVM, means n."""
    if isinstance(extent, tuple):
        if len(extent) != 2 or not isinstance(extent[0], int) or extent[0] != 0:
            raise BadInput(f"reduction axis {name}: its range begins at 0, as in (0, 64), not {extent!r}")
        extent = extent[1]
    return Axis(_size(extent, f"reduction axis {name}"), name)


@dataclasses.dataclass(frozen=True, eq=False)
class Reduction:
    """A reduction over axes. It must be the whole body of a compute."""

    name: str
    values: Tuple[Expr, ...]
    axes: Tuple[Axis, ...]

    def __repr__(self) -> str:
        return f"<te.{self.name} of {', '.join(v._text for v in self.values)}>"


def _no_operator(self: Any, *_: Any) -> Expr:
    return _expr(self)  # which says why not


for _name in _OPERATORS:
    setattr(Tensor, f"__{_name}__", _no_operator)
    setattr(Reduction, f"__{_name}__", _no_operator)


def _reduce(name: str, values: Sequence[ExprLike], axis: Union[Axis, Iterable[Axis]]) -> Reduction:
    axes = (axis,) if isinstance(axis, Axis) else tuple(axis)
    for a in axes:
        if not isinstance(a, Axis):
            raise BadInput(f"{name} is over an axis that te.reduce_axis made, not over {a!r}")
    if not axes:
        raise BadInput(f"{name} needs an axis")
    return Reduction(name, tuple(_expr(v) for v in values), axes)


def sum(x: ExprLike, axis: Union[Axis, Iterable[Axis]]) -> Reduction:  # pylint: disable=redefined-builtin
    """The sum over reduction axes; 0 if they are empty."""
    return _reduce("sum", (x,), axis)


def prod(x: ExprLike, axis: Union[Axis, Iterable[Axis]]) -> Reduction:
    """The product over reduction axes; 1 if they are empty."""
    return _reduce("prod", (x,), axis)


@overload
def max(x: ExprLike, y: ExprLike) -> Expr: ...


@overload
def max(x: ExprLike, *, axis: Union[Axis, Iterable[Axis]]) -> Reduction: ...


def max(x: ExprLike, y: Optional[ExprLike] = None, axis: Union[None, Axis,
                                                               Iterable[Axis]] = None) -> Any:  # pylint: disable=redefined-builtin
    """max(x, axis=k): the largest along an axis; max(x, y): the larger of two values."""
    return _extreme("max", x, y, axis)


@overload
def min(x: ExprLike, y: ExprLike) -> Expr: ...


@overload
def min(x: ExprLike, *, axis: Union[Axis, Iterable[Axis]]) -> Reduction: ...


def min(x: ExprLike, y: Optional[ExprLike] = None, axis: Union[None, Axis,
                                                               Iterable[Axis]] = None) -> Any:  # pylint: disable=redefined-builtin
    """min(x, axis=k): the smallest along an axis; min(x, y): the smaller of two values."""
    return _extreme("min", x, y, axis)


def _extreme(name: str, x: ExprLike, y: Optional[ExprLike], axis: Union[None, Axis, Iterable[Axis]]) -> Any:
    if (y is None) == (axis is None):
        raise BadInput(f"{name} takes two values, or one and an axis: {name}(x, axis=k)")
    return _call(name, x, y) if y is not None else _reduce(name, (x,), axis)  # type: ignore[arg-type]


def argmax(x: ExprLike, index: ExprLike, axis: Union[Axis, Iterable[Axis]]) -> Reduction:
    """The largest value and its index: V, I = te.compute((8,), lambda i: te.argmax(X[i, k], k, axis=k), name=("V", "I"))."""
    return _reduce("argmax", (x, index), axis)


def argmin(x: ExprLike, index: ExprLike, axis: Union[Axis, Iterable[Axis]]) -> Reduction:
    """The smallest value and its index; see argmax."""
    return _reduce("argmin", (x, index), axis)


# ---- computes ----


def _axis_value(name: str) -> Expr:
    return Expr(name, _ATOM, "i64")


def _axis_names(function: Callable[..., Any], n: int, stage: str) -> List[str]:
    """The names of the lambda's parameters."""
    parameters = list(inspect.signature(function).parameters.values())
    if parameters and parameters[-1].kind is inspect.Parameter.VAR_POSITIONAL:
        return [p.name for p in parameters[:-1]] + [f"i{d}" for d in range(len(parameters) - 1, n)]
    if len(parameters) != n:
        raise BadInput(f"{stage}: it has {n} dimension{'s' * (n != 1)}, but its function takes {len(parameters)} "
                       f"argument{'s' * (len(parameters) != 1)}")
    return [p.name + "_" if keyword.iskeyword(p.name) else p.name for p in parameters]


def _body(result: Any, names: Sequence[str]) -> Tuple[str, List[Expr], Tuple[Axis, ...]]:
    """The body as text, its values, and its reduction axes."""
    if isinstance(result, Reduction):
        if len(result.values) != len(names):
            raise BadInput(f"{result.name} has {len(result.values)} results, but {len(names)} names: give name=(\"V\", \"I\")")
        over = ", ".join(f"{a.name}:{_extent(a.extent)}" for a in result.axes)
        values = [v._text for v in result.values]
        text = values[0] if len(values) == 1 else f"({', '.join(values)})"
        return f"{result.name}({over}) {text}", list(result.values), result.axes
    if len(names) != 1:
        raise BadInput(f"there are {len(names)} names, but only argmax and argmin have two results")
    value = _expr(result)
    return value._text, [value], ()


@overload
def compute(shape: Shape, function: Callable[..., Any], name: str = "Y") -> Tensor: ...


@overload
def compute(shape: Shape, function: Callable[..., Any], name: Union[List[str], Tuple[str, ...]]) -> Tuple[Tensor, ...]: ...


def compute(shape: Shape, function: Callable[..., Any], name: Union[str, List[str], Tuple[str, ...]] = "Y") -> Any:
    """A computed tensor. `function` gets the coordinates of a point and answers with the value there. Errors name the stage. With
    two names, which argmax and argmin need, it answers with two tensors.

    >>> X = placeholder((8, 100), name="X")
    >>> k = reduce_axis(100, "k")
    >>> compute((8,), lambda i: sum(X[i, k] * X[i, k], axis=k), name="S")
    <te.Tensor S[8] f32>
    """
    names = (name,) if isinstance(name, str) else tuple(name)
    stage = f"stage {', '.join(map(str, names))}"
    for n in names:
        _checked(n, "stage")
    try:
        sizes = _shape(shape, stage)
        axes = _axis_names(function, len(sizes), stage)
        coordinates = [_axis_value(a) for a in axes]
        text, values, reduced = _body(function(*coordinates), names)
    except BadInput as e:
        raise (e if str(e).startswith(stage) else BadInput(f"{stage}: {e}")) from None
    extents = [a.extent for a in reduced if isinstance(a.extent, Symbol)]
    head = ", ".join(f"{a}:{_extent(s)}" for a, s in zip(axes, sizes))
    line = f"compute {', '.join(names)}[{head}] = {text}"
    made = _Stage(line, names, sizes, tuple(extents) + _uses(*values))
    outputs = tuple(Tensor(n, sizes, v.dtype or ("i64" if re.fullmatch(r"-?\d+", v._text) else "f32"), made) for n,
                    v in zip(names, values))
    return outputs[0] if len(outputs) == 1 else outputs


# ---- kernels ----


@dataclasses.dataclass(frozen=True, repr=False)
class Kernel:
    """A kernel: its text in .te form, and the name that messages and records give it."""

    text: str
    name: str = "kernel"

    def __str__(self) -> str:
        return self.text.rstrip("\n")

    def __repr__(self) -> str:
        computed = [line.split("[")[0][len("compute "):] for line in self.text.splitlines() if line.startswith("compute ")]
        return f"<te.Kernel {self.name!r}: {len(computed)} stage{'s' * (len(computed) != 1)}>"

    def explain(self, message: str) -> str:
        """A message of the library about a line of the text, with the stage of that line."""
        m = re.match(rf"{re.escape(self.name)}:(\d+):\d+: ", message)
        lines = self.text.split("\n")
        line = lines[int(m.group(1)) - 1].strip() if m and int(m.group(1)) <= len(lines) else ""
        stage = re.match(r"compute ([^\[]+)\[", line)
        return f"{message} (in stage {stage.group(1)}: {line})" if stage else message

    def _repr_html_(self) -> str:
        from . import _html
        return _html.pre(self.text)


def parse(text: str, name: str = "kernel") -> Kernel:
    """A kernel from a text in .te form. The text is not checked here, but by the first call that takes the kernel."""
    return Kernel(text, name)


def _visit(used: _Used, seen: Dict[str, _Used], lines: List[str]) -> None:
    """Appends the lines that `used` needs, then its own."""
    names = (used.name,) if isinstance(used, Symbol) else used.names
    if seen.get(names[0]) is used:
        return
    below = (used.definition._uses if used.definition is not None else ()) if isinstance(used, Symbol) else used.uses
    for u in below:
        _visit(u, seen, lines)
    line = used._line() if isinstance(used, Symbol) else used.line
    for n in names:
        before = seen.get(n)
        if before is not None:
            if isinstance(before, Symbol) and isinstance(used, Symbol) and before._line() == line:
                return  # the same size, said twice
            raise BadInput(f"two tensors or sizes of the kernel are named {n}: give one of them another name")
        seen[n] = used
    lines.append(line)


def kernel(*outputs: Tensor, name: str = "kernel") -> Kernel:
    """The kernel that computes these tensors, and every tensor that they need.

    >>> X = placeholder((8,), name="X")
    >>> print(kernel(compute((8,), lambda i: X[7 - i] * 2 + 1, name="Y")))
    tensor X[8] f32
    compute Y[i:8] = X[7 - i] * 2 + 1
    output Y
    """
    lines: List[str] = []
    seen: Dict[str, _Used] = {}
    for o in outputs:
        if not isinstance(o, Tensor):
            raise BadInput(f"an output must be a tensor that te.compute made, not {o!r}")
        _visit(o._stage, seen, lines)
    if not outputs:
        raise BadInput("a kernel must have at least one output")
    lines.sort(key=lambda line: ["symbol", "tensor", "compute"].index(line.split(" ")[0]))
    return Kernel("\n".join(lines + [f"output {', '.join(o.name for o in outputs)}"]) + "\n", name)
