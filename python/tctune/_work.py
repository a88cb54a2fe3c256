"""What is worked on: a network or a kernel, and its tasks."""
import dataclasses
import os
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, TypeVar, Union

from . import _html
from ._background import Stoppable
from ._ffi import Handle, Path, Struct, call, encode, ffi, function, lib, new_struct, take_json, text
from ._fleet import FleetLike, fleet_struct
from .errors import BadInput
from .te import Kernel

Source = Union[Path, Kernel, "Work"]
Sizes = Union[int, str, Sequence[int], range]
Shape = Union[None, Mapping[str, Sizes], Iterable[str]]
At = Union[None, Mapping[str, int], Iterable[str]]
T = TypeVar("T")


def texts(c: Any) -> Tuple[str, ...]:
    """A NULL-terminated list of texts."""
    values = []
    while c[len(values)]:
        values.append(text(c[len(values)]))
    return tuple(values)


def read(kind: type, c: Any) -> Any:
    """A dataclass of the fields of a struct that it names."""
    values = {}
    for f in dataclasses.fields(kind):
        value = getattr(c, f.name)
        if isinstance(value, ffi.CData):
            value = texts(value) if ffi.typeof(value) is ffi.typeof("char const *const *") else text(value)
        values[f.name] = bool(value) if f.type in (bool, "bool") else value
    return kind(**values)


@dataclasses.dataclass(frozen=True)
class Task:
    """A distinct kernel that can be tuned. `workload`: canonical .te text, whose `hash` records know it by; `weight`: launches in a run;
    `flops`: floating-point operations of a launch, of the largest where its sizes are `varying`; `instead`: it runs in place of
    others, where records say that this is faster; `sizes`: how many of its sizes vary; `nodes`: names of the ONNX file's nodes that its
    launches are made from."""

    name: str
    workload: str
    hash: str
    weight: float
    flops: float
    varying: bool
    instead: bool
    sizes: int
    nodes: Tuple[str, ...]


class Tasks(List[Task]):
    """The tasks of a work."""

    def _repr_html_(self) -> str:
        return _html.table(("", "task", "launches", "MFLOP"), ((i, t.name, f"{t.weight:g}", f"{t.flops / 1e6:.3g}") for i, t in enumerate(self)))


def _size(value: Sizes) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, range):
        return f"{value.start}..{value.stop - 1}"
    return ",".join(map(str, value)) if isinstance(value, Sequence) else str(int(value))


def shape_list(shape: Shape) -> Optional[List[str]]:
    if shape is None:
        return None
    if isinstance(shape, str):
        return [shape]
    if isinstance(shape, Mapping):
        return [f"{name}={_size(value)}" for name, value in shape.items()]
    return list(shape)


def at_list(at: At) -> Optional[List[str]]:
    """The sizes of a run, {"N": 17}, as C has them."""
    if isinstance(at, str):
        return [at]
    if isinstance(at, Mapping):
        return [f"{name}={value}" for name, value in at.items()]
    return None if at is None else list(at)


def listed(of: Union[None, Path, Iterable[Path]]) -> Optional[List[Any]]:
    """A list of one, or as it is."""
    if isinstance(of, (str, os.PathLike)):
        return [of]
    return None if of is None else list(of)


def level_of(opt_level: int) -> Any:
    if opt_level not in range(4):
        raise BadInput(f"opt_level is 0, 1, 2 or 3, not {opt_level!r}")
    return opt_level + lib.TCTUNE_LEVEL_0


class Work(Handle):
    """A network of an ONNX file, or one kernel: of a .te file, or a tctune.te.Kernel.

    shape: {"input": (1, 128)}, or of a symbolic dimension {"symbol": 128} or a range of sizes {"symbol": range(1, 513)} or
    {"symbol": "1..512"}; a kernel's symbols get one number each, all or none. shape_weights: file that says how much each size of a
    range counts. in_place_cache: an output that is an input with new rows behind it is one buffer with that input. opt_level (0 to 3),
    disable_pass: which graph passes run. constants: of a kernel: file with its constants by name (.npz). fixed: a kernel whose sizes
    vary, and of which shape says nothing, is refused. dump_graph: a graph pass, or "all", around which the network is printed to standard
    error; pass_times: so are the times of all passes.

    >>> import tctune
    >>> work = Work(tctune.te.parse("tensor X[4] f32\\ncompute Y[i:4] = X[i] + 1.0\\noutput Y", name="add"))
    >>> [task.name for task in work.tasks]
    ['add']
    """

    _kind = "work"
    _free = "tctune_work_free"

    def __init__(self, source: Union[Path, Kernel], *, shape: Shape = None, shape_weights: Optional[Path] = None,
                 in_place_cache: bool = False, opt_level: Optional[int] = None, disable_pass: Optional[Iterable[str]] = None,
                 constants: Optional[Path] = None, seed: int = 0, fixed: bool = False, dump_graph: Optional[str] = None,
                 pass_times: bool = False) -> None:
        options = Struct("tctune_work_options", shapes=shape_list(shape), shape_weights=shape_weights, in_place_cache=in_place_cache,
                         without=listed(disable_pass), constants=constants, seed=seed,
                         fixed=fixed, dump_graph=dump_graph, pass_times=pass_times)
        if isinstance(source, Kernel):
            options.set("te_text", source.text)
            options.set("te", source.name)
        else:
            options.set("te" if os.fspath(source).endswith(".te") else "model", source)
        if opt_level is not None:
            options.set("level", level_of(opt_level))
        out = ffi.new("tctune_work **")
        try:
            call("tctune_open", options, out)
        except BadInput as e:
            raise (BadInput(source.explain(str(e))) if isinstance(source, Kernel) else e) from None
        super().__init__(out[0])

    @property
    def tasks(self) -> Tasks:
        """Its distinct kernels."""
        tasks = Tasks()
        c = new_struct("tctune_task")
        with self._using() as work:
            for i in range(lib.tctune_work_num_tasks(work)):
                call("tctune_work_task", work, i, c)
                tasks.append(read(Task, c))
        return tasks

    def find(self, task: Union[int, str]) -> int:
        """The number of a task by its name, or by that of an ONNX node which it is made from; a number stays what it is."""
        if not isinstance(task, str):
            return task
        with self._using() as work:
            found = ffi.new("int *")
            call("tctune_work_find_task", work, encode(task), found)
        return int(found[0])

    @property
    def assumed(self) -> str:
        """The sizes that nobody gave, as they are assumed: "batch=1..16, sequence=1..512"; "": there are none."""
        with self._using() as work:
            return text(function("tctune_work_assumed")(work))

    def sizes(self, task: Union[int, str], at: At = None) -> List[int]:
        """The sizes of a run of a task in the order of its symbols: those that `at` says, {"N": 17}, one for each that varies; the largest
        where it is None."""
        i = self.find(task)
        c = new_struct("tctune_task")
        options = Struct("tctune_show_options", at=at_list(at))
        with self._using() as work:
            call("tctune_work_task", work, i, c)
            sizes = ffi.new("int64_t[]", max(c.sizes, 1))
            call("tctune_work_sizes_at", work, i, options.c.at, sizes)
            return list(sizes[0:c.sizes])

    def check_inputs(self, file: Path) -> None:
        """Raises where a file (.npz, or a folder of input_N.pb) has no inputs of the network that can be read."""
        with self._using() as work:
            call("tctune_work_check_inputs", work, encode(file))

    def show_tasks(self, *, db: Optional[Path] = None, threads: int = 0, target: Optional[str] = None, accuracy: Optional[str] = None,
                   precision: Optional[str] = None) -> Dict[str, Any]:
        """The tasks, each with the schedule that the database has for it, and where that is from (docs/json.md). Options as for tctune.build;
        db None: no records."""
        options = Struct("tctune_show_options", database=db, threads=threads, target=target, accuracy=accuracy, precision=precision)
        with self._using() as work:
            return take_json("tctune_show_tasks", work, options)

    def bench(self, task: Union[int, str] = 0, *, schedule: Optional[Path] = None, db: Optional[Path] = None, at: At = None,
              target: Optional[str] = None, threads: int = 0, accuracy: Optional[str] = None, precision: Optional[str] = None,
              mode: Optional[str] = None, repeats: int = 0, seed: int = 0, fleet: FleetLike = None,
              require_complete: bool = False) -> Dict[str, Any]:
        """Times one of its kernels in a process of its own, beside what the machine can do (docs/json.md), and checks its result: a record that fails is
        marked in the database, and no longer used. schedule: a .sched file; None: that of the best record of db, or the default one. at: of one whose
        sizes vary those of a run, {"N": 17}; None: the largest. mode: "auto" (None), "hot", "cold". repeats: timed runs (30). fleet: a worker of it runs the kernel,
        which ["worker"] names, and what its machine can do stands beside the times. require_complete: that there is no record is an error."""
        options = Struct("tctune_bench_kernel_options", schedule=schedule, database=db, at=at_list(at), target=target, threads=threads,
                         accuracy=accuracy, precision=precision, mode=mode, repeats=repeats, seed=seed, fleet=fleet_struct(fleet),
                         require_complete=require_complete)
        i = self.find(task)
        with self._using() as work:
            return Stoppable(options).run(lambda: take_json("tctune_bench_kernel", work, i, options))

    def bench_kernels(self, *, db: Optional[Path] = None, target: Optional[str] = None, threads: int = 0, accuracy: Optional[str] = None,
                      precision: Optional[str] = None, mode: Optional[str] = None, repeats: int = 0, seed: int = 0,
                      fleet: FleetLike = None, require_complete: bool = False) -> Dict[str, Any]:
        """Times all kernels that a run launches, each by itself (docs/json.md), by the workers of a fleet or here; what a run takes as a whole, its
        library kernels and its copies are not timed (Model.bench does). One that could not be measured says so in ["error"] and ["message"]. Of
        those whose sizes vary these are the largest. Options as for bench(); the first db that is named decides for all times which kernels of the
        work are one."""
        options = Struct("tctune_bench_kernel_options", database=db, target=target, threads=threads, accuracy=accuracy, precision=precision,
                         mode=mode, repeats=repeats, seed=seed, fleet=fleet_struct(fleet), require_complete=require_complete)
        with self._using() as work:
            return Stoppable(options).run(lambda: take_json("tctune_bench_kernels", work, options, ffi.NULL))

    def _repr_html_(self) -> str:
        return self.tasks._repr_html_()


def work_of(source: Source, **options: Any) -> Work:
    """The work itself, or one that is opened; options that are None are not given."""
    given = {name: value for name, value in options.items() if value is not None and value is not False}
    if isinstance(source, Work):
        if given:
            raise BadInput(f"{', '.join(given)}: the work is open already, such options go with its making")
        return source
    return Work(source, **given)
