"""Building models."""
from typing import Any, Callable, Iterable, Optional, Union
import os
import warnings

from ._background import Stoppable
from ._ffi import Path, Struct, call, ffi, text
from ._model import Model
from ._progress import build_bar
from ._work import Shape, Source, Work, work_of
from .errors import TctuneWarning

BuildProgress = Union[None, bool, Callable[[int, int, str], Any]]
DEFAULT_DB = "tctune.db"


def build(source: Source, *, db: Optional[Path] = None, untuned: bool = False, threads: int = 0, target: Optional[str] = None,
          accuracy: Optional[str] = None, precision: Optional[str] = None, error_budget: Optional[float] = None,
          inputs: Optional[Path] = None, require_complete: bool = False, top_k_in_graph: int = 0, progress: BuildProgress = None,
          shape: Shape = None, shape_weights: Optional[Path] = None, in_place_cache: bool = False, opt_level: Optional[int] = None,
          disable_pass: Optional[Iterable[str]] = None, constants: Optional[Path] = None, seed: Optional[int] = None,
          fixed: bool = False, dump_graph: Optional[str] = None, pass_times: bool = False, listing: Optional[Path] = None,
          only_to_save: bool = False, last: bool = False) -> Model:
    """Compiles a network (a path to an ONNX file), a kernel (a path to a .te file, a tctune.te.Kernel) or a Work with the best records
    of a database, as `tctune build` does. Without records a kernel gets a default schedule.

    db: file of records; None: tctune.db in the current folder where there is one; untuned: none. threads 0: every core. target None:
    this machine; what does not run here can be saved. accuracy "strict": only algorithms that round as the model's own do; "fast"
    (None). precision "bf16" or "auto": operands may be rounded to bf16 where that was faster; "f32" (None). error_budget, inputs: with
    "auto": how far outputs may be off, on which inputs (.npz). require_complete: fail when some kernel has no record. top_k_in_graph:
    compare so many records of each kernel in the network. listing: the file in which Model.save puts the programs that kernels were
    lowered to, for debuggers. only_to_save: the model is not run, which takes less memory; last: nothing else is built of the Work, whose
    constants are given back.

    progress: True for a bar (tqdm), or a function of (done, total, kernel); what it raises ends the build and is raised, and when it
    answers with something true the build ends with Stopped. Ctrl-C ends it too.

    What follows is as in Work: shape, shape_weights, in_place_cache, opt_level, disable_pass, constants, seed,
    fixed, dump_graph, pass_times.

    >>> import tctune
    >>> build(tctune.te.parse("tensor X[4] f32\\ncompute Y[i:4] = X[i] * 2.0\\noutput Y"), threads=1).outputs
    {'Y': Y: f32[4]}
    """
    work = work_of(source, shape=shape, shape_weights=shape_weights, in_place_cache=in_place_cache, opt_level=opt_level,
                   disable_pass=disable_pass, constants=constants, seed=seed, fixed=fixed, dump_graph=dump_graph, pass_times=pass_times)
    if untuned:
        db = None
    elif db is None and os.path.exists(DEFAULT_DB):
        db = DEFAULT_DB
    options = Struct("tctune_build_options", database=db, threads=threads, target=target, accuracy=accuracy, precision=precision,
                     error_budget=error_budget, inputs=inputs, require_complete=require_complete, top_k_in_graph=top_k_in_graph,
                     listing=listing, only_to_save=only_to_save, last=last)
    try:
        return _build(work, options, progress)
    finally:
        if work is not source:
            work.close()


def _build(work: Work, options: Struct, progress: BuildProgress) -> Model:
    out = ffi.new("tctune_model **")
    with build_bar(progress) as told:
        background = Stoppable(options, told)

        @ffi.callback("tctune_on_kernel *")
        def on_kernel(_user: Any, done: int, total: int, kernel: Any) -> int:
            return background.tell(done, total, text(kernel))

        options.c.progress = on_kernel
        with work._using() as pointer:
            background.run(lambda: call("tctune_build", pointer, options, out))
    model = Model(out[0])
    _warn(model)
    return model


def _warn(model: Model) -> None:
    """Of records that the build does not use, and of constants whose values nobody gave."""
    report = model.report()
    if report["unused_records"]:
        warnings.warn(report["unused_records"]["message"], TctuneWarning, stacklevel=4)
    if report["drawn_constants"]:
        names = ", ".join(report["drawn_constants"])
        warnings.warn(f"random numbers stand for the constants {names}: give their values with constants=", TctuneWarning, stacklevel=4)
