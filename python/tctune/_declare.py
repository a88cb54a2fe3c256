"""What the C API declares, read from its headers (include/tctune), for cffi.

    python3 _declare.py INCLUDE-FOLDER OUT.py      makes the module `_declared` of a package that is installed without the headers

Nothing of the API is written down a second time: the package in the source tree reads the headers when it is imported, and an
installed one has what they said when it was made."""
import os
import re
import sys
from typing import Any, List, Sequence

_INCLUDE = re.compile(r"^\s*#\s*include\s*[<\"](tctune/\w+\.h|dlpack/\w+\.h)[>\"]")
_SYSTEM = ("/usr/include", "/usr/local/include")


def _find(name: str, folders: Sequence[str]) -> str:
    for folder in folders:
        path = os.path.join(folder, name)
        if os.path.exists(path):
            return path
    raise FileNotFoundError(f"{name} is in none of {', '.join(folders)}; dlpack.h is of Debian's libdlpack-dev")


def _statements(text: str) -> List[str]:
    """The lines of a header without comments and without what is for C++; `#include`s stay."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)
    text = re.sub(r"#\s*ifdef\s+__cplusplus.*?#\s*endif", "", text, flags=re.S)
    text = text.replace("\\\n", " ")
    return [line for line in text.split("\n") if _INCLUDE.match(line) or not line.lstrip().startswith("#")]


def _collect(name: str, folders: Sequence[str], seen: List[str], out: List[str]) -> None:
    if name in seen:
        return
    seen.append(name)
    with open(_find(name, folders), encoding="utf-8") as f:
        for line in _statements(f.read()):
            inner = _INCLUDE.match(line)
            if inner:
                _collect(inner.group(1), folders, seen, out)
            elif line.strip():
                out.append(line.replace("TCTUNE_API ", "").rstrip())


def declarations(include: str) -> str:
    """The declarations of <tctune/tctune.h> and of what it includes, as C without a preprocessor."""
    out: List[str] = []
    _collect("tctune/tctune.h", (include,) + _SYSTEM, [], out)
    return "\n".join(out) + "\n"


def from_headers(include: str, module: str = "tctune._declared") -> Any:
    """A cffi.FFI that knows them."""
    import cffi

    ffi = cffi.FFI()
    ffi.cdef(declarations(include))
    ffi.set_source(module, None)  # type: ignore[arg-type]  # no C compiler is needed
    return ffi


def write(include: str, path: str) -> None:
    """Writes the module `_declared`, whose `ffi` needs no parser and no headers."""
    from_headers(include).emit_python_code(path)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: _declare.py INCLUDE-FOLDER OUT.py")
    write(sys.argv[1], sys.argv[2])
