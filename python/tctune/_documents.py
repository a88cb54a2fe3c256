"""What is told at length, as the command tells it with --json: dicts, whose fields docs/json.md describes."""
from typing import Any, Dict, Iterable, Mapping, Optional, Union

from ._ffi import Path, Struct, encode, function, take_json, text
from ._work import Work
from .errors import BadInput

Document = Dict[str, Any]


def _options(kind: str, **values: Any) -> Struct:
    try:
        return Struct(kind, **values)
    except KeyError as e:
        raise BadInput(f"there is no option {e}") from None


def llvm_version() -> str:
    """Of LLVM, which makes the code."""
    return text(function("tctune_llvm_version")())


def machine(target: Optional[str] = None, threads: int = 0, measure: bool = False) -> Document:
    """What code for a target is made for (None: this machine): CPU, features, cores, caches; and with `measure` what this machine can do.

    >>> machine("znver4")["vector_bytes"]
    64
    """
    return take_json("tctune_machine", _options("tctune_machine_options", target=target, threads=threads, measure=measure))


def doctor(threads: int = 0, quick: bool = False) -> Document:
    """What of this machine hurts measurements, and what to do about it; quick: only what files and the process tell."""
    return take_json("tctune_doctor", _options("tctune_doctor_options", threads=threads, quick=quick))


def describe_library(library: Path) -> Document:
    """What a library was built for and from, without running it."""
    return take_json("tctune_library_describe", encode(library))


def show(work: Work, task: Union[int, str] = 0, *, db: Optional[Path] = None, threads: int = 0, target: Optional[str] = None,
         at: Optional[Mapping[str, int]] = None, stages: Union[None, str, Iterable[str]] = None) -> Document:
    """A kernel as it would be built: the schedule that the database has for it, where that is from, and its stages as text. `at`: of a kernel
    whose sizes vary those of a run."""
    options = _options("tctune_show_options", database=db, threads=threads, target=target, at=at and [f"{n}={v}" for n, v in at.items()],
                       stages=stages if stages is None or isinstance(stages, str) else ",".join(stages))
    i = work.find(task)
    with work._using() as pointer:
        return take_json("tctune_show_task", pointer, i, options)


def quantize(model: Path, out: Path, **options: Any) -> Document:
    """Writes an f32 network in quantised form, and says what each layer loses. Options are the fields of tctune_quantize_options (quantize.h)."""
    return take_json("tctune_quantize", encode(model), encode(out), _options("tctune_quantize_options", **options))
