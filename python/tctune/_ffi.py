"""The library and its declarations: `ffi` (cffi), `lib`, and `call`, which makes outcomes exceptions."""
import contextlib
import importlib
import json
import operator
import os
import threading
from typing import Any, Iterable, Iterator, List, Optional, TypeVar, Union

from ._place import ABI as _ABI, HERE as _HERE, LIBRARY as _OWN_LIBRARY, SONAME
from ._version import __version__
from .errors import BadInput, Closed, EnvironmentProblem, LibraryError, Stopped, TctuneError

Self = TypeVar("Self", bound="Handle")
Path = Union[str, "os.PathLike[str]"]

ERROR_SIZE = 4096


def _declared() -> Any:
    try:
        return importlib.import_module("tctune._declared").ffi  # made when the package was installed
    except ImportError:
        from . import _declare
        return _declare.from_headers(os.path.join(_HERE, "..", "..", "include"))


# ---- finding the library ----


def _candidates() -> List[str]:
    """Where the library may be, most wanted first."""
    named = os.environ.get("TCTUNE_LIBRARY")
    if named:
        return [named]
    own = [_OWN_LIBRARY, os.path.join(_HERE, SONAME)]
    return [path for path in own if os.path.exists(path)] + [SONAME]


def _check(lib: Any, path: str) -> None:
    try:
        version = ffi.string(lib.tctune_version()).decode()
    except AttributeError:
        raise LibraryError(f"{path} is not libtctune: it has no function tctune_version") from None
    if version.split(".")[:2] != _ABI:
        raise LibraryError(f"{path} is tctune {version}, this package is of tctune {__version__}: "
                           f"the first two numbers must agree. "
                           f"Install the package of that version, or name another library in TCTUNE_LIBRARY")


def _open() -> Any:
    problems = []
    for path in _candidates():
        try:
            found = ffi.dlopen(path, ffi.RTLD_NOW | ffi.RTLD_LOCAL)
        except OSError as e:
            problems.append(str(e).split("\n")[0])
            continue
        _check(found, path)
        return found
    raise LibraryError(f"libtctune cannot be loaded: {'; '.join(problems)}. Install it, or name its file in TCTUNE_LIBRARY")


ffi = _declared()
lib = _open()


# ---- calls ----

_KINDS = {lib.TCTUNE_BAD_INPUT: BadInput, lib.TCTUNE_ENVIRONMENT: EnvironmentProblem, lib.TCTUNE_STOPPED: Stopped}


def function(name: str) -> Any:
    try:
        return getattr(lib, name)
    except AttributeError:
        raise TctuneError(f"this library, tctune {text(lib.tctune_version())}, has no {name}: install a newer libtctune") from None


def problem(status: int, message: str) -> TctuneError:
    return _KINDS.get(status, TctuneError)(message)


def call(name: str, *args: Any) -> None:
    """Calls a function that answers with a status and takes a buffer for its message last."""
    error = ffi.new("char[]", ERROR_SIZE)
    status = function(name)(*(a.c if isinstance(a, Struct) else a for a in args), error, ERROR_SIZE)
    if status != lib.TCTUNE_OK:
        raise problem(status, text(error))


def take_text(name: str, *args: Any) -> str:
    """Calls one that makes a text, its last result."""
    out = ffi.new("char **")
    call(name, *args, out)
    try:
        return text(out[0])
    finally:
        lib.tctune_text_free(out[0])


def take_json(name: str, *args: Any) -> Any:
    return json.loads(take_text(name, *args))


# ---- values ----


def text(p: Any) -> str:
    return "" if p == ffi.NULL else ffi.string(p).decode("utf-8", "replace")


def encode(value: Union[str, bytes, "os.PathLike[str]"]) -> bytes:
    """A text for C."""
    try:
        raw = os.fsencode(value)
    except TypeError:
        raise BadInput(f"expected a text or a path, not a {type(value).__name__}: {value!r}") from None
    if b"\0" in raw:
        raise BadInput(f"{value!r} contains a zero character, which ends a text in C")
    return raw


# Arguments of Python's functions that have another name than the field of C's options that they set.
_ARGUMENTS = {"database": "db", "shapes": "shape", "level": "opt_level", "without": "disable_pass", "default_steps": "default",
              "deterministic": "deterministic_measure"}


def _expected(kind: Any, value: Any) -> str:
    """What an option takes, where `value` is of a type that it does not take."""
    is_text = isinstance(value, (str, bytes, os.PathLike))
    if kind.kind == "primitive" and not isinstance(value, (int, float)):
        return f"expected a number, not a {type(value).__name__}: {value!r}"
    if kind.kind == "primitive" and isinstance(value, float) and kind.cname != "double":
        return f"expected an integer, not {value!r}"
    if kind.cname == "char *" and not is_text:
        return f"expected a text or a path, not a {type(value).__name__}: {value!r}"
    return ""


class Struct:
    """A struct of options with its struct_size, and what its pointers point to. What is None stays zero: the default."""

    def __init__(self, kind: str, **values: Any) -> None:
        self.c = ffi.new(kind + " *")
        self.c.struct_size = ffi.sizeof(kind)
        self._kept: List[Any] = []
        self._fields = dict(ffi.typeof(kind).fields)
        for name, value in values.items():
            if value is not None:
                self.set(name, value)

    def set(self, name: str, value: Any) -> None:
        kind = self._fields[name].type
        try:
            setattr(self.c, name, self._convert(kind, value))
        except (BadInput, TypeError, OverflowError) as e:
            raise BadInput(f"{_ARGUMENTS.get(name, name)}: {_expected(kind, value) or e}") from None

    def _convert(self, kind: Any, value: Any) -> Any:
        if isinstance(value, Struct):
            return self._keep(value).c
        if kind.cname == "char *":
            return self._keep(ffi.new("char[]", encode(value)))
        if kind.cname == "char * *":
            return self._texts(value)
        return operator.index(value) if kind.kind == "primitive" and kind.cname != "double" and hasattr(value,
                                                                                                        "__index__") else value

    def _texts(self, values: Iterable[Any]) -> Any:
        texts = [self._keep(ffi.new("char[]", encode(v))) for v in values]
        return self._keep(ffi.new("char *[]", texts + [ffi.NULL]))

    def _keep(self, value: Any) -> Any:
        self._kept.append(value)
        return value


def new_struct(kind: str) -> Any:
    """A struct to be filled in."""
    c = ffi.new(kind + " *")
    c.struct_size = ffi.sizeof(kind)
    return c


class Handle:
    """What the library keeps for a Python object, given back when that is closed or collected. It serves one call at a time: others
    wait, and so does close()."""

    _kind = "handle"
    _free = ""

    def __init__(self, pointer: Any) -> None:
        self._pointer: Optional[Any] = ffi.gc(pointer, getattr(lib, self._free))
        self._lock = threading.Lock()
        self._user: Optional[int] = None

    @property
    def _handle(self) -> Any:
        pointer = self._pointer
        if pointer is None:
            raise Closed(f"this {self._kind} was closed")
        return pointer

    @contextlib.contextmanager
    def _using(self) -> Iterator[Any]:
        """The pointer, for a call."""
        me = threading.get_ident()
        if self._user == me:
            raise TctuneError(f"this {self._kind} is in use: this call was made during another call of it")
        with self._lock:
            self._user = me
            try:
                yield self._handle
            finally:
                self._user = None

    @property
    def closed(self) -> bool:
        """Whether close() was called."""
        return self._pointer is None

    def close(self) -> None:
        """Gives back what the library keeps for it. Closing again is no error; any other use is."""
        if self._pointer is not None:
            with self._using() as pointer:
                self._pointer = None
                ffi.release(pointer)

    def _describe(self) -> str:
        """What the representation says of an open one, behind its type."""
        return ""

    def __repr__(self) -> str:
        if self.closed:
            return f"<tctune.{type(self).__name__}, closed>"
        said = self._describe()
        return f"<tctune.{type(self).__name__}{' ' if said else ''}{said}>"

    def __enter__(self: Self) -> Self:
        self._handle  # pylint: disable=pointless-statement
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
