"""Makes tensor programs fast on the CPU that they run on. It does from Python what the command `tctune` does.

    tctune.tune("bert.onnx", trials=2000, progress=True)      searches for fast schedules; records go to tctune.db
    model = tctune.build("bert.onnx")                         compiles the network with the best schedules
    outputs = model(input_ids=ids)                            takes NumPy arrays or torch tensors, without copies
    print(model.profile(input_ids=ids))                       shows the time of each kernel

A function that works on a network or a kernel takes a path to an ONNX file or a .te file, the bytes of an ONNX file, a
tctune.te.Kernel, or a tctune.Work. An error is a TctuneError; its message names the argument or the file that is wrong.

The package needs NumPy, cffi and libtctune. It takes the library that the environment variable TCTUNE_LIBRARY names, else the one
that came with the package, else the system's."""
import importlib
from typing import Any

from . import te
from ._build import build
from ._documents import (compare_show, describe_library, doctor, explain, is_library, llvm_version, lowering_passes, machine, page,
                         page_data,
                         quantize, show, use_cache, verify_cases, zoo, zoo_names)
from ._database import Database, Record, Records, Rerun, Stats, add_files
from ._fleet import Fleet, Followed, Worker, fleet_key
from ._ffi import lib as _lib
from ._ffi import text as _text
from ._model import Context, KernelTime, Model, Profile, Size, load
from ._schedule import Decision, Loop, LoopState, Schedule, Stage, Verdict, compare
from ._tensors import Port, empty
from ._tune import Event, Report, Session, TaskState, TaskStates, tune
from ._version import __version__
from ._work import Task, Tasks, Work
from .errors import BadInput, Closed, EnvironmentProblem, LibraryError, Stopped, TctuneError, TctuneWarning


def __getattr__(name: str) -> Any:
    """Imports tctune.torch on first use."""
    if name == "torch":
        return importlib.import_module("tctune.torch")
    raise AttributeError(f"module 'tctune' has no attribute '{name}'")


def library_version() -> str:
    """The version of libtctune."""
    return _text(_lib.tctune_version())


__all__ = ["BadInput", "Closed", "Context", "Database", "Decision", "EnvironmentProblem", "Event", "Fleet", "Followed",
           "KernelTime", "LibraryError", "Loop", "LoopState", "Model", "Port", "Profile", "Record", "Records", "Report", "Rerun",
           "Schedule", "Session", "Size", "Stage", "Stats", "Stopped", "Task", "TaskState", "TaskStates", "Tasks", "TctuneError",
           "TctuneWarning", "Verdict", "Work", "Worker", "__version__", "add_files", "build", "compare", "compare_show",
           "describe_library", "doctor", "empty", "explain", "fleet_key", "is_library", "library_version", "llvm_version", "load",
           "lowering_passes", "machine", "page", "page_data", "quantize", "show", "te", "tune", "use_cache", "verify_cases",
           "zoo", "zoo_names"]
