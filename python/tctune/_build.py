"""Building models."""
import os
import warnings
from typing import Any, Callable, Iterable, Optional, Union

from ._background import Stoppable
from ._ffi import Struct, call, ffi, text
from ._model import Model
from ._options import Accuracy, Constants, FixedInputs, Path, Precision, Shape, Team
from ._progress import build_bar
from ._work import Source, Work, opened
from .errors import TctuneWarning

BuildProgress = Union[None, bool, Callable[[int, int, str], Any]]
DEFAULT_DB = "tctune.db"


def build(source: Source, *, db: Optional[Path] = None, untuned: bool = False, threads: int = 0, target: Optional[str] = None,
          accuracy: Optional[Accuracy] = None, precision: Optional[Precision] = None, error_budget: Optional[float] = None,
          inputs: Optional[Path] = None, require_complete: bool = False, top_k_in_graph: int = 0, progress: BuildProgress = None,
          shape: Shape = None, shape_weights: Optional[Path] = None, in_place_cache: bool = False, opt_level: Optional[int] = None,
          disable_pass: Union[None, str, Iterable[str]] = None, constants: Constants = None, seed: Optional[int] = None,
          fixed: bool = False, dump_graph: Optional[str] = None, pass_times: bool = False, data_folder: Optional[Path] = None,
          fixed_inputs: FixedInputs = None,
          listing: Optional[Path] = None, team: Optional[Team] = None,
          only_to_save: bool = False, last: bool = False) -> Model:
    """Compiles a network or a kernel with the best records of a database, as `tctune build` does. A kernel without records gets its
    default schedule.

    source: a path to an ONNX file or a .te file, a tctune.te.Kernel, or a tctune.Work.
    db: the file of records; None: tctune.db in the current folder, if there is one. untuned: use no records.
    threads: of the model; 0: one for each core.
    target: what the code is for; None: this machine. A model for another machine can be saved, not run.
    accuracy: "strict": only algorithms that round as the network's own; "default" (None): also those that keep rows apart, such as
        Winograd's convolution; "fast": also those that mix rows, such as Strassen's product.
    precision: "f32" (None); "bf16": operands are rounded to bf16 where that was faster; "auto": where that keeps the error_budget.
    error_budget, inputs: for "auto": how far outputs may be off, and on which inputs (.npz).
    require_complete: raise if a kernel has no record.
    top_k_in_graph: compare this many records of each kernel inside the network, and take the fastest.
    progress: True: a bar (tqdm). Or a function of (done, total, kernel): if it answers with a true value, the build ends with
        Stopped; if it raises, the build ends and that is raised. Ctrl-C ends the build too.
    constants: of a kernel: arrays by name, {"W": weights}, or a file (.npz). The model gets random numbers for constants that are
        not given, and a tctune.TctuneWarning names these.
    listing: the file for the kernels' lowered programs, which debuggers show; Model.save writes it.
    team: of a library that Model.save writes: "own" (None): threads of its own; "openmp": those of OpenMP's runtime, for programs
        that have OpenMP loops themselves. C source always has OpenMP's loops.
    only_to_save: the model will be saved and not run, which takes less memory.
    last: nothing else is built from this Work, so that its constants can be freed.
    shape, shape_weights, in_place_cache, opt_level, disable_pass, seed, fixed, dump_graph, pass_times, data_folder,
        fixed_inputs: as for tctune.Work.

    >>> import tctune
    >>> build(tctune.te.parse("tensor X[4] f32\\ncompute Y[i:4] = X[i] * 2.0\\noutput Y"), threads=1).outputs
    {'Y': Y: f32[4]}
    """
    if untuned:
        db = None
    elif db is None and os.path.exists(DEFAULT_DB):
        db = DEFAULT_DB
    options = Struct("tctune_build_options", database=db, threads=threads, target=target, accuracy=accuracy, precision=precision,
                     error_budget=error_budget, inputs=inputs, require_complete=require_complete, top_k_in_graph=top_k_in_graph,
                     listing=listing, team=team, only_to_save=only_to_save, last=last)
    with opened(source, shape=shape, shape_weights=shape_weights, in_place_cache=in_place_cache, opt_level=opt_level,
                disable_pass=disable_pass, constants=constants, seed=seed, fixed=fixed, dump_graph=dump_graph,
                pass_times=pass_times,
                data_folder=data_folder, fixed_inputs=fixed_inputs) as work:
        model = _build(work, options, progress)
    _warn(model)
    return model


def _build(work: Work, options: Struct, progress: BuildProgress) -> Model:
    out = ffi.new("tctune_model **")
    with build_bar(progress) as told:
        background = Stoppable(options, told)

        @ffi.callback("tctune_on_kernel *")
        def on_kernel(_user: Any, done: int, total: int, kernel: Any) -> int:
            return background.tell(done, total, text(kernel))

        options.c.progress = on_kernel
        with work._using() as pointer, work._naming():
            background.run(lambda: call("tctune_build", pointer, options, out))
    return Model(out[0])


def _warn(model: Model) -> None:
    """Warns of records that the build does not use, and of constants whose values nobody gave."""
    report = model.report()
    if report["unused_records"]:
        warnings.warn(report["unused_records"]["message"], TctuneWarning, stacklevel=3)
    if report["drawn_constants"]:
        names = ", ".join(report["drawn_constants"])
        warnings.warn(f"random numbers stand for the constants {names}: give their values with constants=", TctuneWarning,
                      stacklevel=3)
