"""Documents: dicts like those that the command prints with --json. docs/json.md describes their fields."""
import contextlib
import json
from typing import Any, Callable, Dict, Iterable, Iterator, List, Literal, Optional, Tuple, Union

from ._background import Stoppable, nobody
from ._ffi import Struct, call, encode, ffi, function, lib, take_json, take_text, text
from ._fleet import FleetLike, fleet_struct
from ._options import Accuracy, At, Constants, FixedInputs, Mode, Path, Paths, Precision, Shape
from ._work import Source, at_list, fixed_list, joined, level_of, listed, opened, shape_list

Document = Dict[str, Any]
Method = Literal["minmax", "percentile", "entropy"]


@contextlib.contextmanager
def _task_of(source: Optional[Source], task: Union[int, str], shape: Shape = None,
             constants: Constants = None) -> Iterator[Tuple[Any, int]]:
    """A work for one call, as the library has it, and the number of its task; NULL and 0 without a source."""
    if source is None:
        yield ffi.NULL, 0
        return
    with opened(source, shape=shape, constants=constants) as work:
        i = work.find(task)
        with work._using() as pointer:
            yield pointer, i


def llvm_version() -> str:
    """The version of LLVM, which generates the code."""
    return text(function("tctune_llvm_version")())


def machine(target: Optional[str] = None, threads: int = 0, measure: bool = False) -> Document:
    """The CPU, features, cores and caches of a target (None: this machine). measure: and what this machine can do.

    >>> machine("znver4")["vector_bytes"]
    64
    """
    return take_json("tctune_machine", Struct("tctune_machine_options", target=target, threads=threads, measure=measure))


def doctor(threads: int = 0, quick: bool = False) -> Document:
    """What on this machine disturbs measurements, and what to do about it. quick: only look at settings; measure nothing."""
    return take_json("tctune_doctor", Struct("tctune_doctor_options", threads=threads, quick=quick))


def use_cache(folder: Optional[Path]) -> None:
    """The folder where this process keeps compiled kernels and what it measured of the machine, for later processes. "off": it
    keeps nothing. None: the folder that TCTUNE_CACHE names, else tctune's own. It changes the environment of the process: call it
    before you start threads."""
    call("tctune_cache_use", ffi.NULL if folder is None else encode(folder))


def describe_library(library: Path) -> Document:
    """What a library was built from and for. The library is not run."""
    return take_json("tctune_library_describe", encode(library))


def is_library(file: Path) -> bool:
    """Whether a file looks like a library that Model.save wrote, and not like a network. Only its first bytes are read."""
    return bool(lib.tctune_is_library(encode(file)))


# ---- kernels ----


def lowering_passes() -> List[str]:
    """The names of the lowering passes, in their order: show(dump=...) takes them.

    >>> "vectorize" in lowering_passes()
    True
    """
    found: List[str] = []
    while (name := text(lib.tctune_lowering_pass(len(found)))):
        found.append(name)
    return found


def show(source: Source, task: Union[int, str] = 0, *, db: Optional[Path] = None, threads: int = 0, target: Optional[str] = None,
         accuracy: Optional[Accuracy] = None, precision: Optional[Precision] = None, schedule: Optional[Path] = None, at: At = None,
         stages: Union[None, str, Iterable[str]] = None, dump: Optional[str] = None, marked: bool = False, shape: Shape = None,
         constants: Constants = None) -> Document:
    """A kernel as it would be built: its schedule, where that is from, and its stages as text.

    source: a path to an ONNX file or a .te file, a tctune.te.Kernel, or a tctune.Work. task: which of its kernels, by number or
        name.
    db: whose best record is the schedule. schedule: a .sched file instead.
    at: the sizes of the run where sizes vary, {"N": 17}; None: the largest.
    stages: which texts, such as "nest" or ("nest", "asm"); Schedule.show lists them. None: all.
    dump: a lowering pass, or "all": print the program after it to standard error.
    marked: in the assembly, mark the hot loop with a bar, and list its instructions above.
    threads, target, accuracy, precision: as for tctune.build. shape, constants: as for tctune.Work.

    >>> import tctune
    >>> double = tctune.te.parse("tensor X[4] f32\\ncompute Y[i:4] = X[i] * 2.0\\noutput Y", name="double")
    >>> show(double, threads=1, stages="nest")["origin"]
    'default schedule (there is no database)'
    """
    options = Struct("tctune_show_options", database=db, threads=threads, target=target, accuracy=accuracy, precision=precision,
                     schedule=schedule, at=at_list(at), stages=joined("stages", stages),
                     dump=dump, marked=marked)
    with _task_of(source, task, shape, constants) as (work, i):
        return take_json("tctune_show_task", work, i, options)


def compare_show(a: Union[int, Path], b: Union[int, Path], source: Optional[Source] = None, task: Union[int, str] = 0, *,
                 db: Optional[Path] = None, at: At = None, target: Optional[str] = None, threads: int = 0,
                 mode: Optional[Mode] = None,
                 rounds: int = 0, seed: int = 0, fleet: FleetLike = None, shape: Shape = None,
                 constants: Constants = None) -> Document:
    """Runs two schedules of a kernel in turns, as `tctune compare` does: their loop nests, what differs, the times, and which is
    faster. A record whose result is wrong is marked in its database, and no longer used. (tctune.compare takes two Schedules.)

    a, b: each a record of db (12, or "12@FILE.db"), a .sched file, "best" (of db) or "default". For a plain matmul, one of them may
        be a library: "onednn" or "openblas".
    source, task: the kernel: a path to an ONNX file or a .te file, a tctune.te.Kernel or a tctune.Work, and which of its kernels.
        None: the kernel of the first record.
    at: the sizes of the run where sizes vary, {"N": 17}; None: those of a record.
    threads: 0: those of the first record, else one for each core.
    mode: inputs "hot" in the cache, "cold", or "auto" (None).
    rounds: 0: 30. With fewer than 11, nothing can be told apart.
    fleet: one worker of this fleet runs both; ["worker"] names it. Libraries cannot be compared there.
    shape, constants: as for tctune.Work."""
    options = Struct("tctune_compare_options", a=str(a) if isinstance(a, int) else a, b=str(b) if isinstance(b, int) else b,
                     database=db,
                     at=at_list(at), target=target, threads=threads, mode=mode, rounds=rounds, seed=seed, fleet=fleet_struct(fleet))
    with _task_of(source, task, shape, constants) as (work, i):
        return Stoppable(options).run(lambda: take_json("tctune_compare_show", work, i, options))


def explain(source: Optional[Source] = None, task: Union[int, str] = 0, *, schedule: Union[None, int, Path] = None,
            db: Optional[Path] = None,
            threads: int = 0, at: At = None, target: Optional[str] = None, mode: Optional[Mode] = None, seconds: float = 0,
            denormal: float = 0, seed: int = 0, shape: Shape = None, constants: Constants = None) -> Document:
    """Why a schedule of a kernel is as fast as it is, and not faster. ["answer"] says it in a sentence. Ctrl-C ends it.

    source, task: the kernel, as for compare_show.
    schedule: a record of db (12, or "12@FILE.db"), a .sched file, "best" or "default"; None: the best record of db if there is one.
    seconds: how long it may take; 0: 45.
    denormal: the share of denormal numbers in inputs and constants, from 0 to 1.
    db, threads, at, target, mode, shape, constants: as for compare_show."""
    options = Struct("tctune_explain_options", schedule=str(schedule) if isinstance(schedule, int) else schedule, database=db,
                     threads=threads,
                     at=at_list(at), target=target, mode=mode, seconds=seconds, denormal=denormal, seed=seed)
    with _task_of(source, task, shape, constants) as (work, i):
        return Stoppable(options).run(lambda: take_json("tctune_explain", work, i, options))


def _page(function_name: str, db: Path, source: Optional[Source], baseline: Optional[Path], documents: Paths,
          target: Optional[str], threads: int,
          accuracy: Optional[Accuracy], precision: Optional[Precision], quick: bool, shape: Shape) -> str:
    options = Struct("tctune_page_options", database=db, baseline=baseline, documents=listed("documents", documents),
                     target=target, threads=threads,
                     accuracy=accuracy, precision=precision, quick=quick)
    with _task_of(source, 0, shape) as (work, _):
        return take_text(function_name, work, options)


def page(db: Path, source: Optional[Source] = None, *, baseline: Optional[Path] = None, documents: Paths = None,
         target: Optional[str] = None,
         threads: int = 0, accuracy: Optional[Accuracy] = None, precision: Optional[Precision] = None, quick: bool = False,
         shape: Shape = None) -> str:
    """An HTML page about the records of a database, as `tctune report` writes it. The page needs no network.

    source: a path to an ONNX file or a .te file, a tctune.te.Kernel or a tctune.Work: only its kernels. None: all that the database
        has.
    baseline: another database, to compare times with.
    documents: files with what bench() or explain() answered, as JSON, or with the times of other libraries (docs/json.md).
    target: whose records; None: this machine's, or if it has none, the target with most records.
    threads: of the records; 0: the number that most records have.
    quick: measure nothing. Times then have no roof, unless a document says what the machine can do.
    accuracy, precision: as for tctune.build. shape: as for tctune.Work."""
    return _page("tctune_page", db, source, baseline, documents, target, threads, accuracy, precision, quick, shape)


def page_data(db: Path, source: Optional[Source] = None, *, baseline: Optional[Path] = None, documents: Paths = None,
              target: Optional[str] = None, threads: int = 0, accuracy: Optional[Accuracy] = None,
              precision: Optional[Precision] = None,
              quick: bool = False, shape: Shape = None) -> Document:
    """The data of that page. The arguments are those of page()."""
    return json.loads(_page("tctune_page_data", db, source, baseline, documents, target, threads, accuracy, precision, quick,
                            shape))


# ---- networks ----


def zoo(name: str, file: Optional[Path] = None) -> Path:
    """Writes a ready-made network with random weights as an ONNX file, and answers with its path. file None: NAME.onnx."""
    file = f"{name}.onnx" if file is None else file
    call("tctune_zoo", encode(name), encode(file))
    return file


def zoo_names() -> List[str]:
    """The names of the networks that zoo() writes.

    >>> "mlp" in zoo_names()
    True
    """
    found: List[str] = []
    table = lib.tctune_zoo_names()
    while table[len(found)] != ffi.NULL:
        found.append(text(table[len(found)]))
    return found


def verify_cases(folders: Paths, *, shape: Shape = None, opt_level: Optional[int] = None,
                 disable_pass: Union[None, str, Iterable[str]] = None,
                 dump_graph: Optional[str] = None, pass_times: bool = False, target: Optional[str] = None, threads: int = 0,
                 accuracy: Optional[Accuracy] = None, precision: Optional[Precision] = None, db: Optional[Path] = None,
                 rtol: float = 0, atol: float = 0,
                 no_constants: bool = False, fixed_inputs: FixedInputs = None,
                 each: Optional[Callable[[Document], Any]] = None) -> Document:
    """Builds and runs test cases of the ONNX project's form, and says how each went. A case that fails raises nothing.

    folders: folders with a model.onnx and folders test_data_set_N, at any depth.
    rtol, atol: tolerances of floats; 0: those of their type; negative: no difference is tolerated.
    no_constants: do not take from the data what import needs as a constant.
    db: None: default schedules.
    each: a function that gets the document of each case. If it answers with a true value, the call ends with Stopped. Ctrl-C ends
        it too.
    The other options are those of tctune.build."""
    options = Struct("tctune_cases_options", shapes=shape_list(shape), level=None if opt_level is None else level_of(opt_level),
                     without=listed("disable_pass", disable_pass), dump_graph=dump_graph, pass_times=pass_times, target=target,
                     threads=threads, accuracy=accuracy,
                     precision=precision, database=db, rtol=rtol, atol=atol, no_constants=no_constants,
                     fixed_inputs=fixed_list(fixed_inputs))
    background = Stoppable(options, each or nobody)

    @ffi.callback("tctune_on_case *")
    def on_case(_user: Any, case: Any) -> None:
        background.tell(json.loads(text(case)))

    options.set("each", on_case)
    given = [ffi.new("char[]", encode(folder)) for folder in listed("folders", folders) or []]
    array = ffi.new("char *[]", given + [ffi.NULL])
    return background.run(lambda: take_json("tctune_verify_cases", array, options))


def quantize(model: Path, out: Path, *, dynamic: bool = False, weights: int = 0, data: Paths = None,
             method: Optional[Method] = None,
             percentile: float = 0, activations: Optional[Literal["u8", "s8"]] = None, block: int = 0, per_tensor: bool = False,
             error_budget: Optional[float] = None, keep: Union[None, str, Iterable[str]] = None, shape: Shape = None,
             threads: int = 0, fixed_inputs: FixedInputs = None) -> Document:
    """Writes a quantised form of an f32 network (an ONNX file), and says how much each layer loses. Without `dynamic` and `weights`
    the form is static, and ranges of activations come from calibration data. Ctrl-C ends the call, and nothing is written.

    dynamic: matmuls and convolutions find the ranges of their inputs in each run.
    weights: 8 or 4: only weights are quantised, to this many bits. block: rows that share a scale of 4-bit weights; 0: 32.
    data: for static ranges: files with inputs by name (.npz), or folders of input_N.pb.
    method: of finding ranges: "minmax" (None), "percentile" (`percentile` of the values; 0: 99.99) or "entropy".
    activations: "u8" (None) or "s8".
    per_tensor: one scale for all weights of a layer.
    error_budget: how far an output may be off: max |quantised - f32| / max |f32|. The layers that lose most stay in f32 until that
        holds.
    keep: names of nodes, or of their outputs, that stay in f32.
    shape, fixed_inputs: for the runs, as for tctune.Work."""
    options = Struct("tctune_quantize_options", dynamic=dynamic, weights=weights, data=listed("data", data), method=method,
                     percentile=percentile,
                     activations=activations, block=block, per_tensor=per_tensor, bounded=error_budget is not None,
                     error_budget=error_budget, keep=listed("keep", keep), shapes=shape_list(shape), threads=threads,
                     fixed_inputs=fixed_list(fixed_inputs))
    return Stoppable(options).run(lambda: take_json("tctune_quantize", encode(model), encode(out), options))
