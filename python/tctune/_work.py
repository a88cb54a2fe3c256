"""What is worked on: a network or a kernel, and its tasks."""
import dataclasses
import os
from typing import Any, Iterable, List, Mapping, Optional, Sequence, TypeVar, Union

from . import _html
from ._ffi import Handle, Path, Struct, call, encode, ffi, function, lib, new_struct, text
from .errors import BadInput
from .te import Kernel

Source = Union[Path, Kernel, "Work"]
Sizes = Union[int, str, Sequence[int], range]
Shape = Union[None, Mapping[str, Sizes], Iterable[str]]
T = TypeVar("T")


def read(kind: type, c: Any) -> Any:
    """A dataclass of the fields of a struct that it names."""
    values = {}
    for f in dataclasses.fields(kind):
        value = getattr(c, f.name)
        if isinstance(value, ffi.CData):
            value = text(value)
        values[f.name] = bool(value) if f.type in (bool, "bool") else value
    return kind(**values)


@dataclasses.dataclass(frozen=True)
class Task:
    """A distinct kernel that can be tuned. `workload`: canonical .te text, whose `hash` records know it by; `weight`: launches in a run;
    `flops`: floating-point operations of a launch, of the largest where its sizes are `varying`; `instead`: it runs in place of
    others, where records say that this is faster; `sizes`: how many of its sizes vary."""

    name: str
    workload: str
    hash: str
    weight: float
    flops: float
    varying: bool
    instead: bool
    sizes: int


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


def _shapes(shape: Shape) -> Optional[List[str]]:
    if shape is None:
        return None
    if isinstance(shape, str):
        return [shape]
    if isinstance(shape, Mapping):
        return [f"{name}={_size(value)}" for name, value in shape.items()]
    return list(shape)


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
        options = Struct("tctune_work_options", shapes=_shapes(shape), shape_weights=shape_weights, in_place_cache=in_place_cache,
                         without=[disable_pass] if isinstance(disable_pass, str) else disable_pass, constants=constants, seed=seed,
                         fixed=fixed, dump_graph=dump_graph, pass_times=pass_times)
        if isinstance(source, Kernel):
            options.set("te_text", source.text)
            options.set("te", source.name)
        else:
            options.set("te" if os.fspath(source).endswith(".te") else "model", source)
        if opt_level is not None:
            if opt_level not in range(4):
                raise BadInput(f"opt_level is 0, 1, 2 or 3, not {opt_level!r}")
            options.set("level", opt_level + lib.TCTUNE_LEVEL_0)
        out = ffi.new("tctune_work **")
        try:
            call("tctune_work_open", options, out)
        except BadInput as e:
            raise (BadInput(source.explain(str(e))) if isinstance(source, Kernel) else e) from None
        super().__init__(out[0])

    @property
    def tasks(self) -> Tasks:
        """Its distinct kernels."""
        tasks = Tasks()
        c = new_struct("tctune_task")
        with self._using() as work:
            for i in range(lib.tctune_num_tasks(work)):
                call("tctune_get_task", work, i, c)
                tasks.append(read(Task, c))
        return tasks

    def find(self, task: Union[int, str]) -> int:
        """The number of a task by its name; a number stays what it is."""
        if not isinstance(task, str):
            return task
        with self._using() as work:
            i = int(lib.tctune_find_task(work, encode(task)))
        if i < 0:
            raise BadInput(f"there is no task '{task}': there are {', '.join(t.name for t in self.tasks)}")
        return i

    @property
    def assumed(self) -> str:
        """The sizes that nobody gave, as they are assumed: "batch=1..16, sequence=1..512"; "": there are none."""
        with self._using() as work:
            return text(function("tctune_work_assumed")(work))

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
