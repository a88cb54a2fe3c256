"""Works: a network or a kernel, opened, and its tasks."""
import contextlib
import dataclasses
import operator
import os
import re
import tempfile
import zipfile
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from . import _html
from ._background import Stoppable
from ._ffi import Handle, Struct, call, encode, ffi, function, lib, new_struct, take_json, text
from ._fleet import FleetLike, fleet_struct
from ._options import Accuracy, At, Constants, FixedInputs, Mode, Path, Precision, Shape, Sizes
from .errors import BadInput
from .te import Kernel

Source = Union[Path, bytes, Kernel, "Work"]


def texts(c: Any) -> Tuple[str, ...]:
    """A NULL-terminated list of texts."""
    values: List[str] = []
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


@dataclasses.dataclass(frozen=True, repr=False)
class Task:
    """A kernel that can be tuned. Equal kernels of a network are one task.

    name: what messages call the task.
    workload: its canonical .te text. hash: of that text; records have it.
    weight: how often a run of the network launches the kernel.
    flops: floating-point operations of one launch; of the largest launch where sizes vary.
    varying: whether sizes vary. sizes: how many sizes vary.
    instead: the kernel replaces others where records say that it is faster.
    nodes: names of the ONNX file's nodes that its launches are made from."""

    name: str
    workload: str
    hash: str
    weight: float
    flops: float
    varying: bool
    instead: bool
    sizes: int
    nodes: Tuple[str, ...]

    def __repr__(self) -> str:
        return f"<tctune.Task {self.name!r}, {self.weight:g} launches, {self.flops / 1e6:.3g} MFLOP>"


class Tasks(List[Task]):
    """The tasks of a work."""

    def __repr__(self) -> str:
        return f"<tctune.Tasks: {_html.few(t.name for t in self)}>"

    def _repr_html_(self) -> str:
        return _html.table(("", "task", "launches", "MFLOP"), ((i, t.name, f"{t.weight:g}", f"{t.flops / 1e6:.3g}") for i,
                                                               t in enumerate(self)))


# ---- arguments ----


def _size(value: Sizes) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, range):
        return f"{value.start}..{value.stop - 1}"
    return ",".join(map(str, value)) if isinstance(value, Sequence) else str(operator.index(value))


def _settings(argument: str, given: Any, written: Callable[[Any], str], example: str) -> Optional[List[str]]:
    """{"N": 17} as C has it: "N=17". A text, or a list of texts, is in C's form already."""
    try:
        if given is None or isinstance(given, str):
            return None if given is None else [given]
        return [f"{name}={written(value)}" for name, value in given.items()] if isinstance(given, Mapping) else list(given)
    except TypeError:
        raise BadInput(f"{argument}: expected a dict such as {example}, not {given!r}") from None


def shape_list(shape: Shape) -> Optional[List[str]]:
    return _settings("shape", shape, _size, '{"batch": 4}, {"batch": range(1, 17)} or {"input": (1, 128)}')


def _values(value: Any) -> str:
    return value if isinstance(value, str) else ",".join(map(str, value)) if isinstance(value, Sequence) else str(value)


def fixed_list(fixed_inputs: FixedInputs) -> Optional[List[str]]:
    return _settings("fixed_inputs", fixed_inputs, _values, '{"sr": 16000} or {"axes": (0, 2)}')


def at_list(at: At) -> Optional[List[str]]:
    return _settings("at", at, str, '{"N": 17}')


def listed(argument: str, of: Union[None, Path, Iterable[Path]]) -> Optional[List[Any]]:
    """A list: of one text or path, or of all that are given."""
    if of is None or isinstance(of, (str, os.PathLike)):
        return None if of is None else [of]
    try:
        return list(of)
    except TypeError:
        raise BadInput(f"{argument}: expected a text, a path, or a list of these, not a {type(of).__name__}: {of!r}") from None


def joined(argument: str, of: Union[None, str, Iterable[str]]) -> Optional[str]:
    """A text with commas: of one text, or of all that are given."""
    texts = listed(argument, of)
    return None if texts is None else ",".join(map(str, texts))


def level_of(opt_level: int) -> Any:
    if opt_level not in range(4):
        raise BadInput(f"opt_level: expected 0, 1, 2 or 3, not {opt_level!r}")
    return opt_level + lib.TCTUNE_LEVEL_0


# ---- constants ----


class _ArraysFile:
    """NumPy arrays by name as a .npz file in a folder of its own. The library reads the file when it builds, so a Work keeps it."""

    def __init__(self, arrays: Mapping[str, Any]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="tctune-")
        self.path = os.path.join(self._folder.name, "constants.npz")
        with zipfile.ZipFile(self.path, "w") as out:
            for name, array in arrays.items():
                self._put(out, name, array)

    @staticmethod
    def _put(out: zipfile.ZipFile, name: str, array: Any) -> None:
        values = np.asarray(array)
        if values.dtype.hasobject:
            raise BadInput(f"constants: {name!r} is a {type(array).__name__}, not an array of numbers")
        with out.open(f"{name}.npy", "w") as entry:
            np.lib.format.write_array(entry, np.ascontiguousarray(values), allow_pickle=False)

    def say(self, message: str) -> str:
        """A message of the library, about the arrays that the caller gave."""
        return message.replace(self.path, "constants")


def _names_given(constants: Constants) -> List[str]:
    """The names of the arrays that are given. Of a file that NumPy cannot read there are none here; the library says what is wrong
    with it."""
    if constants is None or isinstance(constants, Mapping):
        return list(constants or [])
    try:
        if not os.path.isfile(constants):
            return []
        with np.load(constants) as arrays:
            return list(arrays)
    except (OSError, ValueError, TypeError, AttributeError, zipfile.BadZipFile):
        return []


def _check_names(source: Union[Path, bytes, Kernel], constants: Constants) -> None:
    """Refuses an array that the kernel does not have, such as one with a mistyped name."""
    if not isinstance(source, (bytes, Kernel)) and not os.path.isfile(source):
        return  # the library says what it is instead
    given = _names_given(constants)
    known = _constants_of(source) if given else ()
    for name in given:
        if name not in known:
            raise BadInput(f"constants: the kernel has no constant '{name}': it has {', '.join(known) or 'none'}")


def _constants_of(source: Union[Path, bytes, Kernel]) -> Tuple[str, ...]:
    """The names of a kernel's tensors that are constants."""
    most = 1 << 26  # characters: larger files are refused by the library
    if isinstance(source, Kernel):
        lines = source.text
    else:
        with open(source, encoding="utf-8", errors="replace") as f:
            lines = f.read(most)
    return tuple(re.findall(r"^\s*tensor\s+(\w+)\s*\[[^\]]*\]\s*\w+\s+const\b", lines, re.M))


# ---- works ----


class Work(Handle):
    """A network or a kernel, opened: what tctune.tune, tctune.build, tctune.show and others work on. They also take what Work
    takes, and open it themselves; a Work of your own saves that the file is read each time.

    source: a path to an ONNX file or to a .te file, the bytes of an ONNX file, or a tctune.te.Kernel.
    shape: the sizes of inputs: {"input": (1, 128)}; or of a symbol of the network, a number {"batch": 4} or a range: {"batch":
        range(1, 17)}, {"batch": "1..16"}. Of a kernel's symbols give a number for each, or give nothing.
    shape_weights: a file that says how much each size of a range counts.
    in_place_cache: an output that is an input with new rows behind it shares that input's buffer.
    opt_level: 0 to 3: how many graph passes run. disable_pass: names of passes that do not run.
    constants: of a kernel: arrays by name, {"W": weights}, or a file with them (.npz).
    seed: of the numbers that stand for constants which nobody gave.
    fixed: refuse a kernel whose sizes vary, unless `shape` gives them.
    dump_graph: the name of a graph pass, or "all": print the network before and after it to standard error.
    pass_times: print how long each pass took to standard error.
    data_folder: where a network's external data lies; None: beside its file.
    fixed_inputs: of a network: values of inputs that are the same in each run, {"sr": 16000}. The model then has no such inputs.

    >>> import tctune
    >>> work = Work(tctune.te.parse("tensor X[4] f32\\ncompute Y[i:4] = X[i] + 1.0\\noutput Y", name="add"))
    >>> work
    <tctune.Work 'add': 1 task>
    >>> [task.name for task in work.tasks]
    ['add']
    """

    _kind = "work"
    _free = "tctune_work_free"

    def __init__(self, source: Union[Path, bytes, Kernel], *, shape: Shape = None, shape_weights: Optional[Path] = None,
                 in_place_cache: bool = False, opt_level: Optional[int] = None,
                 disable_pass: Union[None, str, Iterable[str]] = None,
                 constants: Constants = None, seed: Optional[int] = None, fixed: bool = False, dump_graph: Optional[str] = None,
                 pass_times: bool = False, data_folder: Optional[Path] = None, fixed_inputs: FixedInputs = None) -> None:
        is_kernel = _is_kernel(source)
        if is_kernel and constants is not None:
            _check_names(source, constants)
        level = None if opt_level is None else level_of(opt_level)
        _check_options(is_kernel, {"in_place_cache": in_place_cache, "opt_level": opt_level is not None,
                                   "disable_pass": disable_pass is not None,
                                   "dump_graph": dump_graph is not None, "pass_times": pass_times,
                                   "data_folder": data_folder is not None, "fixed_inputs": fixed_inputs is not None}, constants)
        self._arrays = _ArraysFile(constants) if isinstance(constants, Mapping) else None
        options = Struct("tctune_work_options", shapes=shape_list(shape), shape_weights=shape_weights,
                         in_place_cache=in_place_cache,
                         without=listed("disable_pass", disable_pass), constants=self._arrays.path if self._arrays else constants,
                         seed=seed or 0,
                         fixed=fixed, dump_graph=dump_graph, pass_times=pass_times, data_folder=data_folder,
                         fixed_inputs=fixed_list(fixed_inputs))
        if level is not None:
            options.set("level", level)
        super().__init__(_open(source, options))
        self._name = _name_of(source)

    @contextlib.contextmanager
    def _naming(self) -> Iterator[None]:
        """Messages about the constants name the argument, not the file that holds its arrays."""
        try:
            yield
        except BadInput as e:
            raise (BadInput(self._arrays.say(str(e))) if self._arrays else e) from None

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
        """The number of the task with this name, or of the task that is made from the ONNX node with this name. A number is
        answered with itself."""
        if not isinstance(task, str):
            try:
                return operator.index(task)
            except TypeError:
                raise BadInput(f"task: expected the number or the name of a task, not a {type(task).__name__}") from None
        with self._using() as work:
            found = ffi.new("int *")
            call("tctune_work_find_task", work, encode(task), found)
        return int(found[0])

    @property
    def assumed(self) -> str:
        """The ranges that tctune took for sizes that nobody gave: "batch=1..16, sequence=1..512". "": every size is given."""
        with self._using() as work:
            return text(function("tctune_work_assumed")(work))

    def sizes(self, task: Union[int, str], at: At = None) -> List[int]:
        """The sizes of a run of a task, in the order of its symbols. at: a number for each size that varies, {"N": 17}; None: the
        largest."""
        i = self.find(task)
        c = new_struct("tctune_task")
        options = Struct("tctune_show_options", at=at_list(at))
        with self._using() as work:
            call("tctune_work_task", work, i, c)
            sizes = ffi.new("int64_t[]", max(c.sizes, 1))
            call("tctune_work_sizes_at", work, i, options.c.at, sizes)
            return list(sizes[0:c.sizes])

    def close(self) -> None:
        """Frees what the library keeps for the work. Models and schedules of it stay."""
        super().close()
        self._arrays = None

    def check_inputs(self, file: Path) -> None:
        """Raises BadInput unless a file (.npz, or a folder of input_N.pb) has all inputs of the network."""
        with self._using() as work:
            call("tctune_work_check_inputs", work, encode(file))

    def show_tasks(self, *, db: Optional[Path] = None, threads: int = 0, target: Optional[str] = None,
                   accuracy: Optional[Accuracy] = None,
                   precision: Optional[Precision] = None) -> Dict[str, Any]:
        """The tasks, each with the schedule that the database has for it and where that schedule is from (docs/json.md). db None:
        no records. The options are those of tctune.build."""
        options = Struct("tctune_show_options", database=db, threads=threads, target=target, accuracy=accuracy, precision=precision)
        with self._using() as work:
            return take_json("tctune_show_tasks", work, options)

    def bench(self, task: Union[int, str] = 0, *, schedule: Optional[Path] = None, db: Optional[Path] = None, at: At = None,
              target: Optional[str] = None, threads: int = 0, accuracy: Optional[Accuracy] = None,
              precision: Optional[Precision] = None,
              mode: Optional[Mode] = None, repeats: int = 0, seed: int = 0, fleet: FleetLike = None,
              require_complete: bool = False) -> Dict[str, Any]:
        """Times one kernel in a process of its own, beside what the machine can do (docs/json.md), and checks its result. A record
        whose result is wrong is marked in the database, and no longer used.

        task: which kernel, by number or name.
        schedule: a .sched file; None: the best record of db, or the default schedule.
        at: the sizes of the run where sizes vary, {"N": 17}; None: the largest.
        mode: "hot": inputs in the cache; "cold": not in the cache; "auto" (None): as a run of the network has them.
        repeats: timed runs; 0: 30.
        fleet: a worker of this fleet runs the kernel; ["worker"] names it.
        require_complete: raise if db has no record of the kernel."""
        options = Struct("tctune_bench_kernel_options", schedule=schedule, database=db, at=at_list(at), target=target,
                         threads=threads,
                         accuracy=accuracy, precision=precision, mode=mode, repeats=repeats, seed=seed, fleet=fleet_struct(fleet),
                         require_complete=require_complete)
        i = self.find(task)
        with self._using() as work:
            return Stoppable(options).run(lambda: take_json("tctune_bench_kernel", work, i, options))

    def bench_kernels(self, *, db: Optional[Path] = None, target: Optional[str] = None, threads: int = 0,
                      accuracy: Optional[Accuracy] = None,
                      precision: Optional[Precision] = None, mode: Optional[Mode] = None, repeats: int = 0, seed: int = 0,
                      fleet: FleetLike = None, require_complete: bool = False) -> Dict[str, Any]:
        """Times all kernels that a run launches, each by itself, here or by the workers of a fleet (docs/json.md). Library kernels
        and copies are not timed; Model.bench times whole runs. A kernel that could not be measured has ["error"] and ["message"].
        Where sizes vary, the largest are timed. The options are those of bench(). The first db that is named decides for this work
        which kernels are fused."""
        options = Struct("tctune_bench_kernel_options", database=db, target=target, threads=threads, accuracy=accuracy,
                         precision=precision,
                         mode=mode, repeats=repeats, seed=seed, fleet=fleet_struct(fleet), require_complete=require_complete)
        with self._using() as work:
            return Stoppable(options).run(lambda: take_json("tctune_bench_kernels", work, options, ffi.NULL))

    def _describe(self) -> str:
        n = len(self.tasks)
        return f"{self._name!r}: {n} task{'s' * (n != 1)}"

    def _repr_html_(self) -> str:
        return self.tasks._repr_html_()


def _is_kernel(source: object) -> bool:
    if isinstance(source, (bytes, Kernel)):
        return isinstance(source, Kernel)
    if not isinstance(source, (str, os.PathLike)):
        raise BadInput("source: expected a path to an ONNX file or a .te file, the bytes of an ONNX file, a tctune.te.Kernel or a "
                       "tctune.Work, not a "
                       f"{type(source).__name__}")
    return os.fspath(source).endswith(".te")


def _name_of(source: Union[Path, bytes, Kernel]) -> str:
    if isinstance(source, bytes):
        return "model"
    return source.name if isinstance(source, Kernel) else os.path.basename(os.fspath(source))


def _open(source: Union[Path, bytes, Kernel], options: Struct) -> Any:
    out = ffi.new("tctune_work **")
    if isinstance(source, bytes):
        call("tctune_open_bytes", ffi.from_buffer(source), len(source), ffi.NULL, options, out)
    elif isinstance(source, Kernel):
        options.set("te_text", source.text)
        options.set("te", source.name)
        try:
            call("tctune_open", options, out)
        except BadInput as e:
            raise BadInput(source.explain(str(e))) from None
    else:
        options.set("te" if _is_kernel(source) else "model", source)
        call("tctune_open", options, out)
    return out[0]


def _check_options(is_kernel: bool, of_networks: Dict[str, bool], constants: Constants) -> None:
    """The library says the same of C's names."""
    given = [name for name, is_given in of_networks.items() if is_given]
    if is_kernel and given:
        raise BadInput(f"{', '.join(given)}: the source is a kernel, which has no graph: leave out these options for networks")
    if not is_kernel and constants is not None:
        raise BadInput("constants: the source is a network, whose file has its constants: leave this out")


@contextlib.contextmanager
def opened(source: Source, *, shape: Shape = None, shape_weights: Optional[Path] = None, in_place_cache: bool = False,
           opt_level: Optional[int] = None, disable_pass: Union[None, str, Iterable[str]] = None, constants: Constants = None,
           seed: Optional[int] = None, fixed: bool = False, dump_graph: Optional[str] = None, pass_times: bool = False,
           data_folder: Optional[Path] = None, fixed_inputs: FixedInputs = None) -> Iterator[Work]:
    """A Work for one call: the caller's own, or one that is opened with these options, and closed after the call."""
    given: Dict[str, Any] = {"shape": shape, "shape_weights": shape_weights, "in_place_cache": in_place_cache,
                             "opt_level": opt_level,
                             "disable_pass": disable_pass, "constants": constants, "seed": seed, "fixed": fixed,
                             "dump_graph": dump_graph,
                             "pass_times": pass_times, "data_folder": data_folder, "fixed_inputs": fixed_inputs}
    if isinstance(source, Work):
        names = [name for name, value in given.items() if value is not None and value is not False and name != "seed"]
        if names:
            raise BadInput(f"{', '.join(names)}: the work is already open: give these options to tctune.Work")
        yield source
        return
    with Work(source, **given) as work:
        yield work
