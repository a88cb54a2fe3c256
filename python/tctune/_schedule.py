"""Schedules, step by step."""
import contextlib
import dataclasses
import inspect
import os
import re
from typing import Any, Callable, Iterable, List, Literal, Optional, Sequence, Tuple, Union

from . import _html, te
from ._background import Stoppable
from ._database import Database, Record, take_records
from ._ffi import Handle, Struct, call, encode, ffi, lib, new_struct, take_json, take_text, text
from ._fleet import FleetLike, fleet_struct
from ._options import Constants, Mode, Path, Shape
from ._work import Source, opened, read
from .errors import BadInput

Factor = Union[None, int, str]
Name = Optional[str]
Shown = Literal["workload", "schedule", "stages", "nest", "tir", "ir", "raw-ir", "asm"]


class Loop(str):
    """A loop by the name that steps use: "Y.i_o" is loop `name` i_o of stage `stage` Y."""

    @property
    def stage(self) -> str:
        return self.rsplit(".", 1)[0]

    @property
    def name(self) -> str:
        return self.rsplit(".", 1)[-1]


@dataclasses.dataclass(frozen=True, repr=False)
class LoopState:
    """A loop after the steps so far.

    loop: its name. extent: its number of iterations, for the whole stage.
    reduce: it is a reduction.
    kind: "serial", or the primitive that changed it: "vectorize", "parallel" ...
    unit: the instruction that `tensorize` gave this loop and those inside it."""

    loop: Loop
    extent: int
    reduce: bool
    kind: str
    unit: Optional[str] = None

    def __str__(self) -> str:
        return self.loop

    def __repr__(self) -> str:
        return f"<tctune.LoopState {self.loop}:{self.extent} {self.kind}>"


@dataclasses.dataclass(frozen=True, repr=False)
class Stage:
    """A stage after the steps so far.

    place: where it is computed: "root", "inline", or a loop.
    scope: where its buffer lies: "global" or "local".
    output: it is a result of the kernel.
    loops: outermost first. stage["i"] is the name of its loop i, for steps."""

    name: str
    place: str
    scope: str
    output: bool
    loops: Tuple[LoopState, ...]

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<tctune.Stage {self.name}[{', '.join(f'{s.loop.name}:{s.extent}' for s in self.loops)}] at {self.place}>"

    def __getitem__(self, name: str) -> Loop:
        for state in self.loops:
            if state.loop.name == name:
                return state.loop
        raise BadInput(f"stage {self.name} has no loop {name}: it has {', '.join(s.loop.name for s in self.loops) or 'none'}")


class Decision(str):
    """The name of a decision that a sample_ step makes. Later steps take it."""

    def part(self, i: int) -> str:
        """Part i of a tile."""
        return f"{self}.{i}"


StageLike = Union[str, Stage]
LoopLike = Union[str, Loop, LoopState]


class Schedule(Handle):
    """How one kernel is computed: a list of steps. Each step applies a primitive; the primitives are methods. A step that is not
    legal raises BadInput with the reason, and the schedule stays as it was.

    source: a path to an ONNX file or a .te file, a tctune.te.Kernel, or a tctune.Work. task: which of its kernels, by number or
        name.
    The schedule begins without steps, or with one of these:
        text: steps, one a line, as in a .sched file. file: a .sched file.
        default: the steps that a search tries first.
        best_of: the best verified record of this database.
    sizes: the sizes of the run where sizes vary, in the order of the kernel's symbols: (17, 3).
    threads: of the kernel; 0: one for each core. target: what the code is for; None: this machine.
    shape, opt_level, disable_pass, constants: as for tctune.Work.

    >>> from tctune import te
    >>> X, W = te.placeholder((64, 32), name="X"), te.placeholder((32, 64), name="W")
    >>> k = te.reduce_axis(32, "k")
    >>> gemm = te.kernel(te.compute((64, 64), lambda i, j: te.sum(X[i, k] * W[k, j], axis=k), name="Y"))
    >>> s = Schedule(gemm, threads=1)
    >>> j_o, j_i = s.split("Y.j", 16)
    >>> s.reorder(j_o, "Y.i", "Y.k", j_i)
    >>> s.vectorize(j_i)
    >>> print(s)
    j_o, j_i = split Y.j [_, 16]
    reorder Y.j_o Y.i Y.k Y.j_i
    vectorize Y.j_i
    >>> [str(loop) for loop in s["Y"].loops]
    ['Y.j_o', 'Y.i', 'Y.k', 'Y.j_i']
    >>> s.vectorize("Y.k")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    tctune.errors.BadInput: schedule: step 4 (line 4, column 1), `vectorize Y.k`: vectorize: Y.k is a reduction loop; ...
    """

    _kind = "schedule"
    _free = "tctune_schedule_free"

    def __init__(self, source: Source, task: Union[int, str] = 0, *, text: Optional[str] = None, file: Optional[Path] = None,
                 default: bool = False,
                 best_of: Optional[Path] = None, sizes: Union[None, int, str, Sequence[int]] = None, threads: int = 0,
                 target: Optional[str] = None, shape: Shape = None, opt_level: Optional[int] = None,
                 disable_pass: Union[None, str, Iterable[str]] = None, constants: Constants = None) -> None:
        begins = [name for name, value in (("text", text), ("file", file), ("default", default), ("best_of", best_of)) if value]
        if len(begins) > 1:
            raise BadInput(f"{' and '.join(begins)}: a schedule begins with one of these: leave the other out")
        if sizes is not None and not isinstance(sizes, str):
            sizes = str(sizes) if isinstance(sizes, int) else ",".join(map(str, sizes))
        options = Struct("tctune_schedule_options", target=target, threads=threads, text=text, file=file, default_steps=default,
                         best_of=best_of,
                         sizes=sizes)
        out = ffi.new("tctune_schedule **")
        with opened(source, shape=shape, opt_level=opt_level, disable_pass=disable_pass, constants=constants) as work:
            self._arrays = work._arrays
            i = work.find(task)
            with work._using() as pointer, work._naming():
                call("tctune_schedule_new", pointer, i, options, out)
            self._name = work.tasks[i].name
        super().__init__(out[0])

    def copy(self) -> "Schedule":
        """Another schedule of the same kernel with the same steps."""
        out = ffi.new("tctune_schedule **")
        with self._using() as s:
            call("tctune_schedule_copy", s, out)
        made = Schedule.__new__(Schedule)
        made._arrays, made._name = self._arrays, self._name
        Handle.__init__(made, out[0])
        return made

    # ---- what it is ----

    @property
    def text(self) -> str:
        """Its steps, one a line, as in a .sched file."""
        with self._using() as s:
            return text(lib.tctune_schedule_text(s))

    def show(self, stage: Shown) -> str:
        """The kernel as text: "workload", "schedule", "stages", "nest", "tir" (lowered), "raw-ir", "ir" (LLVM's, before and after
        its passes) or "asm"."""
        with self._using() as s:
            return take_text("tctune_schedule_print", s, encode(stage))

    @property
    def workload(self) -> str:
        """What the kernel computes, as .te text."""
        return self.show("workload")

    @property
    def nest(self) -> str:
        """Its loop nest, with each stage where it is computed."""
        return self.show("nest")

    @property
    def tir(self) -> str:
        """The lowered program."""
        return self.show("tir")

    @property
    def ir(self) -> str:
        """LLVM's IR after LLVM's passes."""
        return self.show("ir")

    @property
    def asm(self) -> str:
        """Its assembly."""
        return self.show("asm")

    @property
    def stages(self) -> Tuple[Stage, ...]:
        """Its stages, producers before consumers."""
        with self._using() as s:
            document = take_json("tctune_schedule_stages", s)
        return tuple(Stage(st["name"], st["place"], st["scope"], st["output"],
                           tuple(LoopState(Loop(f"{st['name']}.{l['name']}"), l["extent"], l["reduce"], l["kind"],
                                           l["unit"]) for l in st["loops"]))
                     for st in document["stages"])

    def __getitem__(self, name: str) -> Stage:
        stages = self.stages
        for stage in stages:
            if stage.name == name:
                return stage
        raise BadInput(f"there is no stage {name}: there are {', '.join(s.name for s in stages)}")

    def __str__(self) -> str:
        return self.text.rstrip("\n")

    def _describe(self) -> str:
        n = len(self.text.splitlines())
        return f"of {self._name!r}: {n} step{'s' * (n != 1)}"

    def _repr_html_(self) -> str:
        rows = ((s.name, s.place, s.scope,
                 ", ".join(f"{l.loop.name}:{l.extent}" + ("" if l.kind == "serial" else f" {l.kind}") for l in s.loops))
                for s in self.stages)
        return _html.pre(str(self)) + _html.table(("stage", "place", "scope", "loops"), rows)

    # ---- steps ----

    def apply(self, steps: str) -> None:
        """Appends steps as text, one a line: "i_o, i_i = split Y.i [_, 8]"."""
        with self._using() as s:
            call("tctune_schedule_apply", s, encode(steps))

    def _step(self, primitive: str, *operands: Any, new: Sequence[str] = (), decision: Optional[str] = None) -> None:
        words = ([", ".join(new), "="] if new else []) + [primitive] + [str(o) for o in operands]
        self.apply(" ".join(words + ([f"~{decision}"] if decision is not None else [])))

    def _fresh(self, *wanted: str) -> List[str]:
        """Names like these that are not in use."""
        used = set(re.findall(r"\w+", self.text))
        for stage in self.stages:
            used.update((stage.name, *(s.loop.name for s in stage.loops)))
        found = []
        for name in wanted:
            n, fresh = 1, name
            while fresh in used:
                n, fresh = n + 1, f"{name}{n + 1}"
            used.add(fresh)
            found.append(fresh)
        return found

    def sample_tile(self, loop: LoopLike, parts: int, max_inner: int, decision: Optional[Sequence[int]] = None,
                    name: Name = None) -> Decision:
        """Decides how to split a loop into `parts`. The innermost is at most max_inner. decision: the inner parts, outermost first;
        None: they are drawn at random."""
        new = name or self._fresh("t")[0]
        self._step("sample_tile", loop, f"parts={parts} max_inner={max_inner}", new=[new],
                   decision=None if decision is None else _list(decision))
        return Decision(new)

    def sample_categorical(self, values: Sequence[int], decision: Optional[int] = None, name: Name = None) -> Decision:
        """Decides for one of the values. decision: which; None: it is drawn at random."""
        new = name or self._fresh("u")[0]
        self._step("sample_categorical", _list(values), new=[new], decision=None if decision is None else str(decision))
        return Decision(new)

    def sample_compute_location(self, stage: StageLike, decision: Union[None, str, Loop] = None, name: Name = None) -> Decision:
        """Decides where a stage is computed; compute_at takes the decision. decision: a loop, "root" or "inline"; None: it is drawn
        at random."""
        new = name or self._fresh("l")[0]
        self._step("sample_compute_location", stage, new=[new], decision=decision)
        return Decision(new)

    def split(self, loop: LoopLike, factors: Union[int, str, Sequence[Factor]],
              names: Optional[Sequence[str]] = None) -> Tuple[Loop, ...]:
        """Splits a loop, and answers with the new loops, outermost first. split("Y.i", 8) makes two, split("Y.i", [None, 4, 8])
        three; the factor None follows from the extent. A part of a decision may be a factor: t.part(1)."""
        parts: List[Factor] = [None, factors] if isinstance(factors, (int, str)) else list(factors)
        of = Loop(str(loop))
        ends = ("o", "i") if len(parts) == 2 else [str(n) for n in range(len(parts))]
        new = list(names) if names else self._fresh(*(f"{of.name}_{end}" for end in ends))
        self._step("split", of, _list(parts), new=new)
        return tuple(Loop(f"{of.stage}.{n}") for n in new)

    def tile(self, x: LoopLike, y: LoopLike, x_factor: int, y_factor: int, names: Optional[Sequence[str]] = None) -> Tuple[Loop,
                                                                                                                           ...]:
        """Runs two loops in blocks: x, y become x_o, y_o, x_i, y_i."""
        a, b = Loop(str(x)), Loop(str(y))
        new = list(names) if names else self._fresh(f"{a.name}_o", f"{b.name}_o", f"{a.name}_i", f"{b.name}_i")
        self._step("tile", a, b, x_factor, y_factor, new=new)
        return tuple(Loop(f"{a.stage}.{n}") for n in new)

    def fuse(self, *loops: LoopLike, name: Name = None) -> Loop:
        """Makes adjacent loops, outer first, one loop."""
        of = [Loop(str(l)) for l in loops]
        new = name or self._fresh("_".join(l.name for l in of))[0]
        self._step("fuse", *of, new=[new])
        return Loop(f"{of[0].stage}.{new}")

    def reorder(self, *loops: LoopLike) -> None:
        """Puts loops into this order. They keep the places that they had together."""
        self._step("reorder", *loops)

    def vectorize(self, loop: LoopLike) -> None:
        """Runs the iterations of a loop at once, in vector registers."""
        self._step("vectorize", loop)

    def unroll(self, loop: LoopLike) -> None:
        """Writes the iterations of a loop out, one after the other."""
        self._step("unroll", loop)

    def parallel(self, loop: LoopLike) -> None:
        """Shares the iterations of a loop among threads."""
        self._step("parallel", loop)

    def compute_at(self, stage: StageLike, loop: Union[LoopLike, Decision]) -> None:
        """Computes a stage inside a loop of its consumer: in each iteration the part that is needed there."""
        self._step("compute_at", stage, loop)

    def compute_inline(self, stage: StageLike) -> None:
        """Computes a stage wherever it is read, without a buffer."""
        self._step("compute_inline", stage)

    def compute_root(self, stage: StageLike) -> None:
        """Computes a whole stage before its consumers."""
        self._step("compute_root", stage)

    def cache_read(self, tensor: str, *stages: StageLike, scope: str = "global", name: Name = None) -> str:
        """Copies a tensor, and makes these stages read the copy. Answers with the copy's name."""
        new = name or self._fresh(f"{tensor}_{scope}")[0]
        self._step("cache_read", tensor, *stages, scope, new=[new])
        return new

    def cache_part(self, tensor: str, stage: StageLike, part: int, scope: str = "global", name: Name = None) -> str:
        """Copies the part of a tensor that one read of the stage reaches. part: the number of that read."""
        new = name or self._fresh(f"{tensor}_part")[0]
        self._step("cache_part", tensor, stage, scope, part, new=[new])
        return new

    def cache_write(self, stage: StageLike, scope: str = "local", name: Name = None) -> str:
        """Adds a stage that computes what this stage did, with the same axes; this stage then copies it."""
        new = name or self._fresh(f"{stage}_{scope}")[0]
        self._step("cache_write", stage, scope, new=[new])
        return new

    def rfactor(self, loop: LoopLike, name: Name = None) -> str:
        """Adds a stage that keeps a reduction loop as an extra last axis; this stage then reduces over that axis."""
        new = name or self._fresh(f"{Loop(str(loop)).stage}_rf")[0]
        self._step("rfactor", loop, new=[new])
        return new

    def transform_layout(self, tensor: StageLike, layout: Union[str, Callable[..., Any]]) -> None:
        """Stores a constant or a stage's buffer in another order: "(k, j) -> (j / 64, k, j % 64)", or the same as a function,
        lambda k, j: (j // 64, k, j % 64). A constant is packed when the model is built."""
        self._step("transform_layout", tensor, layout if isinstance(layout, str) else _layout(layout))

    def storage_align(self, stage: StageLike, dimension: int, factor: int) -> None:
        """Makes the stride of a dimension of the stage's buffer a multiple of `factor` elements."""
        self._step("storage_align", stage, dimension, factor)

    def set_scope(self, stage: StageLike, scope: str) -> None:
        """Puts the stage's buffer into "global" memory, or "local": registers or the stack."""
        self._step("set_scope", stage, scope)

    def pragma(self, stage: StageLike, key: str, value: Union[int, str]) -> None:
        """pragma(stage, "auto_unroll_max", 64) unrolls loops from the innermost outwards, up to 64 iterations in all."""
        self._step("pragma", stage, key, value)

    def tensorize(self, loop: LoopLike, unit: str) -> None:
        """Computes this loop and those inside it by an instruction for products, such as "vpdpbusd"."""
        self._step("tensorize", loop, unit)

    def prefetch(self, tensor: str, bytes: Union[int, str]) -> None:  # pylint: disable=redefined-builtin
        """Fetches a packed constant `bytes` bytes before it is read; 0: not at all."""
        self._step("prefetch", tensor, bytes)

    # ---- times ----

    def measure(self, *, repeats: int = 0, mode: Optional[Mode] = None, seed: int = 0, db: Union[None, Path, Database] = None,
                fleet: FleetLike = None) -> Record:
        """Times the schedule in a process of its own, and compares its result with the reference. The Record says how it ended.

        repeats: timed runs; 0: 30. mode: "hot", "cold" or "auto" (None).
        db: the database that keeps the record if the result is right, as tuning does.
        fleet: whose worker measures, as for tctune.Session; None: this machine."""
        if db is not None and not isinstance(db, Database):
            with Database(os.fspath(db), "create") as opened:
                return self.measure(repeats=repeats, mode=mode, seed=seed, db=opened, fleet=fleet)
        options = Struct("tctune_measure_options", repeats=repeats, mode=mode, seed=seed, fleet=fleet_struct(fleet))
        out = ffi.new("tctune_records **")
        with self._using() as s, (db._using() if db is not None else contextlib.nullcontext(ffi.NULL)) as pointer:
            Stoppable(options).run(lambda: call("tctune_schedule_measure", s, options, pointer, out))
        return take_records(out[0])[0]


def _list(values: Iterable[Factor]) -> str:
    return f"[{', '.join('_' if v is None else str(v) for v in values)}]"


def _layout(function: Callable[..., Any]) -> str:
    names = list(inspect.signature(function).parameters)
    result = function(*(te._axis_value(n) for n in names))
    to = result if isinstance(result, tuple) else (result,)
    return f"({', '.join(names)}) -> ({', '.join(te._expr(x)._text for x in to)})"


@dataclasses.dataclass(frozen=True, repr=False)
class Verdict:
    """Two schedules of one kernel that ran in turns.

    a, b: seconds, the medians of `rounds` rounds.
    ratio: the time of b over the time of a, with its 95 % interval from `low` to `high`. Above 1, a is faster.
    faster: -1: a is faster; 1: b; 0: they cannot be told apart. sign_p: of the two-sided sign test.
    roof: seconds of a launch at the machine's limit."""

    rounds: int
    a: float
    b: float
    ratio: float
    low: float
    high: float
    sign_p: float
    faster: int
    roof: float

    def __str__(self) -> str:
        if not self.faster:
            return f"they cannot be told apart: b takes {self.ratio:.3f} of the time of a [{self.low:.3f}, {self.high:.3f}]"
        ratio, low, high = (self.ratio, self.low, self.high) if self.faster < 0 else (1 / self.ratio, 1 / self.high, 1 / self.low)
        return f"{'a' if self.faster < 0 else 'b'} is faster: {ratio:.3f} times [{low:.3f}, {high:.3f}]"

    def __repr__(self) -> str:
        return f"<tctune.Verdict: {self}>"

    def _repr_html_(self) -> str:
        return _html.table(("", str(self)), [("a", _html.seconds(self.a)), ("b", _html.seconds(self.b)), ("limit",
                                                                                                          _html.seconds(self.roof)),
                                             ("rounds", self.rounds), ("sign test", f"{self.sign_p:.2g}")])


def compare(a: Schedule, b: Schedule, *, rounds: int = 0, seed: int = 0) -> Verdict:
    """Runs two schedules of one kernel in turns. rounds: 0: 30. With fewer than 11, nothing can be told apart."""
    c = new_struct("tctune_verdict")
    if a is b:
        b = a.copy()
    first, second = sorted((a, b), key=id)  # so that two calls of the same two do not wait for each other
    with first._using(), second._using():
        call("tctune_schedule_compare", a._handle, b._handle, rounds, seed, c)
    return read(Verdict, c)
