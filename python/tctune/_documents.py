"""What is told at length, as the command tells it with --json: dicts, whose fields docs/json.md describes."""
import json
from typing import Any, Callable, Dict, Iterable, List, Optional, Union

from ._background import Stoppable, nobody
from ._ffi import Path, Struct, call, encode, ffi, function, lib, take_json, take_text, text
from ._fleet import FleetLike, fleet_struct
from ._work import At, Shape, Work, at_list, level_of, listed, shape_list

Document = Dict[str, Any]
Paths = Union[None, Path, Iterable[Path]]


def llvm_version() -> str:
    """Of LLVM, which makes the code."""
    return text(function("tctune_llvm_version")())


def machine(target: Optional[str] = None, threads: int = 0, measure: bool = False) -> Document:
    """What code for a target is made for (None: this machine): CPU, features, cores, caches; and with `measure` what this machine can do.

    >>> machine("znver4")["vector_bytes"]
    64
    """
    return take_json("tctune_machine", Struct("tctune_machine_options", target=target, threads=threads, measure=measure))


def doctor(threads: int = 0, quick: bool = False) -> Document:
    """What of this machine hurts measurements, and what to do about it; quick: only what files and the process tell."""
    return take_json("tctune_doctor", Struct("tctune_doctor_options", threads=threads, quick=quick))


def use_cache(folder: Optional[Path]) -> None:
    """Where this process keeps compiled kernels, and what was measured of the machine, for later ones: a folder; "off": nothing
    is kept; None: as TCTUNE_CACHE says, else tctune's own folder. It changes the environment of the process: call it before there are threads."""
    call("tctune_cache_use", ffi.NULL if folder is None else encode(folder))


def describe_library(library: Path) -> Document:
    """What a library was built for and from, without running it."""
    return take_json("tctune_library_describe", encode(library))


def is_library(file: Path) -> bool:
    """Whether a file could be a library that Model.save wrote, rather than a network, by its first bytes."""
    return bool(lib.tctune_is_library(encode(file)))


# ---- kernels ----


def lowering_passes() -> List[str]:
    """The lowering passes in their order, as show(dump=...) takes them.

    >>> "vectorize" in lowering_passes()
    True
    """
    found: List[str] = []
    while (name := text(lib.tctune_lowering_pass(len(found)))):
        found.append(name)
    return found


def show(work: Work, task: Union[int, str] = 0, *, db: Optional[Path] = None, threads: int = 0, target: Optional[str] = None,
         accuracy: Optional[str] = None, precision: Optional[str] = None, schedule: Optional[Path] = None, at: At = None,
         stages: Union[None, str, Iterable[str]] = None, dump: Optional[str] = None, marked: bool = False) -> Document:
    """A kernel as it would be built: the schedule that the database has for it, or that of a .sched file (schedule), where that is from, and its
    stages as text (Schedule.show names them). at: of a kernel whose sizes vary those of a run, {"N": 17}. dump: a lowering pass, or "all": the
    program after it is printed to standard error. marked: in the assembly the hot loop has a bar in the margin, and what it consists of
    stands above. accuracy, precision: as for tctune.build."""
    options = Struct("tctune_show_options", database=db, threads=threads, target=target, accuracy=accuracy, precision=precision,
                     schedule=schedule, at=at_list(at), stages=stages if stages is None or isinstance(stages, str) else ",".join(stages),
                     dump=dump, marked=marked)
    i = work.find(task)
    with work._using() as pointer:
        return take_json("tctune_show_task", pointer, i, options)


def compare_show(a: Union[int, Path], b: Union[int, Path], work: Optional[Work] = None, task: Union[int, str] = 0, *, db: Optional[Path] = None,
                 at: At = None, target: Optional[str] = None, threads: int = 0, mode: Optional[str] = None, rounds: int = 0,
                 seed: int = 0, fleet: FleetLike = None) -> Document:
    """Two things that do the work of one kernel, run in turns, as `tctune compare` does. Each is a record of db (12, or "12@FILE.db"), a .sched file,
    "default" (the default schedule), "best" (the best record of db), or, for a bare matmul, at most one of the libraries "onednn" and "openblas",
    which the program gemm_peers runs. work None: of the kernel that the first record is of. Schedules, loop nests, what differs, times, and
    the verdict. A record that fails is marked in its database, and no longer used. (compare() takes two Schedules.)

    at: of a kernel whose sizes vary those of a run, {"N": 17}; None: those of a record. threads 0: those of the first record, else every core.
    mode: "auto" (None), "hot" or "cold". rounds: 30; fewer than 11 cannot tell anything apart. fleet: a worker of it runs the two, all rounds on the
    same one, which ["worker"] names; neither is a library."""
    options = Struct("tctune_compare_options", a=str(a) if isinstance(a, int) else a, b=str(b) if isinstance(b, int) else b, database=db,
                     at=at_list(at), target=target, threads=threads, mode=mode, rounds=rounds, seed=seed, fleet=fleet_struct(fleet))
    if work is None:
        return Stoppable(options).run(lambda: take_json("tctune_compare_show", ffi.NULL, 0, options))
    i = work.find(task)
    with work._using() as pointer:
        return Stoppable(options).run(lambda: take_json("tctune_compare_show", pointer, i, options))


def explain(work: Optional[Work] = None, task: Union[int, str] = 0, *, schedule: Union[None, int, Path] = None, db: Optional[Path] = None, threads: int = 0,
            at: At = None, target: Optional[str] = None, mode: Optional[str] = None, seconds: float = 0, denormal: float = 0,
            seed: int = 0) -> Document:
    """Why a schedule of a kernel is as fast as it is, and not faster: ["answer"] says it in a sentence. schedule: a record (12, or "12@FILE.db"), a
    .sched file, "best" or "default"; None: the best record of the database, where there is one. work None: of the kernel that the record is of.
    seconds: what it may take; 0: 45. denormal: share of
    denormal numbers in inputs and constants, in [0, 1]. Other options as for compare_show. Ctrl-C ends it."""
    options = Struct("tctune_explain_options", schedule=str(schedule) if isinstance(schedule, int) else schedule, database=db, threads=threads,
                     at=at_list(at), target=target, mode=mode, seconds=seconds, denormal=denormal, seed=seed)
    if work is None:
        return Stoppable(options).run(lambda: take_json("tctune_explain", ffi.NULL, 0, options))
    i = work.find(task)
    with work._using() as pointer:
        return Stoppable(options).run(lambda: take_json("tctune_explain", pointer, i, options))


class _PageOptions:
    """What page() and page_data() have in common."""

    def __init__(self, db: Path, baseline: Optional[Path], documents: Paths, target: Optional[str], threads: int, accuracy: Optional[str],
                 precision: Optional[str], quick: bool) -> None:
        self.options = Struct("tctune_page_options", database=db, baseline=baseline, documents=listed(documents), target=target, threads=threads,
                              accuracy=accuracy, precision=precision, quick=quick)

    def take(self, name: str, work: Optional[Work]) -> str:
        if work is None:
            return take_text(name, ffi.NULL, self.options)
        with work._using() as pointer:
            return take_text(name, pointer, self.options)


def page(db: Path, work: Optional[Work] = None, *, baseline: Optional[Path] = None, documents: Paths = None, target: Optional[str] = None,
         threads: int = 0, accuracy: Optional[str] = None, precision: Optional[str] = None, quick: bool = False) -> str:
    """One HTML page, which needs no network, of what a database tells of the kernels of `work` (None: of all that it has), as `tctune report` writes it.

    baseline: another database, which times are compared with. documents: files with what bench() or explain() answered, as JSON, or with what
    peers take (docs/json.md). target: whose records; None: this machine's, or where there are none those that are most. threads: of the records; 0: as
    many as most have. accuracy, precision: as for build. quick: nothing is measured, so that times have no roof unless a document says what the machine can do."""
    return _PageOptions(db, baseline, documents, target, threads, accuracy, precision, quick).take("tctune_page", work)


def page_data(db: Path, work: Optional[Work] = None, *, baseline: Optional[Path] = None, documents: Paths = None, target: Optional[str] = None,
              threads: int = 0, accuracy: Optional[str] = None, precision: Optional[str] = None, quick: bool = False) -> Document:
    """What page() shows, with the same options."""
    return json.loads(_PageOptions(db, baseline, documents, target, threads, accuracy, precision, quick).take("tctune_page_data", work))


# ---- networks ----


def zoo(name: str, file: Optional[Path] = None) -> Path:
    """Writes a ready-made network with seeded random weights as an ONNX file (None: NAME.onnx), whose path it answers with."""
    file = f"{name}.onnx" if file is None else file
    call("tctune_zoo", encode(name), encode(file))
    return file


def zoo_names() -> List[str]:
    """The networks that zoo() writes.

    >>> "mlp" in zoo_names()
    True
    """
    found: List[str] = []
    table = lib.tctune_zoo_names()
    while table[len(found)] != ffi.NULL:
        found.append(text(table[len(found)]))
    return found


def verify_cases(folders: Paths, *, shape: Shape = None, opt_level: Optional[int] = None, disable_pass: Union[None, str, Iterable[str]] = None,
                 dump_graph: Optional[str] = None, pass_times: bool = False, target: Optional[str] = None, threads: int = 0,
                 accuracy: Optional[str] = None, precision: Optional[str] = None, db: Optional[Path] = None, rtol: float = 0, atol: float = 0,
                 no_constants: bool = False, each: Optional[Callable[[Document], Any]] = None) -> Document:
    """Builds and runs test cases of the ONNX project's form: folders with a model.onnx and folders test_data_set_N, at any depth below `folders`, and
    says how each went; that some failed raises nothing. rtol, atol: what is tolerated of floats; 0: by their type; negative: nothing. no_constants:
    what import asks for as a constant is not taken from the data. db None: default schedules. Other options as for tctune.build.

    each: a function that gets what is told of each case when it is done; when it answers with something true that ends it with Stopped, and so does
    Ctrl-C."""
    options = Struct("tctune_cases_options", shapes=shape_list(shape), level=None if opt_level is None else level_of(opt_level),
                     without=listed(disable_pass), dump_graph=dump_graph, pass_times=pass_times, target=target, threads=threads, accuracy=accuracy,
                     precision=precision, database=db, rtol=rtol, atol=atol, no_constants=no_constants)
    background = Stoppable(options, each or nobody)

    @ffi.callback("tctune_on_case *")
    def on_case(_user: Any, case: Any) -> None:
        background.tell(json.loads(text(case)))

    options.set("each", on_case)
    given = [ffi.new("char[]", encode(folder)) for folder in listed(folders) or []]
    array = ffi.new("char *[]", given + [ffi.NULL])
    return background.run(lambda: take_json("tctune_verify_cases", array, options))


def quantize(model: Path, out: Path, *, dynamic: bool = False, weights: int = 0, data: Paths = None, method: Optional[str] = None,
             percentile: float = 0, activations: Optional[str] = None, block: int = 0, per_tensor: bool = False,
             error_budget: Optional[float] = None, keep: Union[None, str, Iterable[str]] = None, shape: Shape = None, threads: int = 0) -> Document:
    """Writes an f32 network (an ONNX file) in quantised form, and says what each layer loses. Without `dynamic` and `weights`: static, with ranges of
    activations as the calibration data have them.

    dynamic: matmuls and convolutions find the ranges of their inputs in each run. weights: 8 or 4: only the weights have so many bits. data: files
    with inputs by name (.npz, or folders of input_N.pb), which static ranges need. method: "minmax" (None), "percentile" (`percentile` of what was
    seen, 99.99) or "entropy". activations: "u8" (None) or "s8". block: rows that share a scale of 4-bit weights (32). per_tensor: one scale for a
    layer's weights. error_budget: layers that lose most stay in f32 until every output is at most so far off, by max |quantised - f32| / max |f32|.
    keep: names of nodes, or of their outputs, that stay in f32. shape: sizes for the runs, as in Work. Ctrl-C ends it, and nothing is written."""
    options = Struct("tctune_quantize_options", dynamic=dynamic, weights=weights, data=listed(data), method=method, percentile=percentile,
                     activations=activations, block=block, per_tensor=per_tensor, bounded=error_budget is not None,
                     error_budget=error_budget, keep=listed(keep), shapes=shape_list(shape), threads=threads)
    return Stoppable(options).run(lambda: take_json("tctune_quantize", encode(model), encode(out), options))
