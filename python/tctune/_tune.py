"""Searches for fast schedules."""
import dataclasses
import threading
from typing import Any, Callable, Dict, Iterable, List, Optional, Union

from . import _html
from ._background import Background
from ._fleet import FleetLike, fleet_struct
from ._ffi import Handle, Path, Struct, call, ffi, lib, new_struct, take_json, text
from ._progress import tune_bar
from ._work import Shape, Source, listed, read, work_of
from .errors import Closed, Stopped

_KINDS = {n: name[len("TCTUNE_"):].lower() for n, name in ffi.typeof("tctune_event_kind").elements.items()}


@dataclasses.dataclass(frozen=True)
class TaskState:
    """What is known of one task of a session: `trials` measured, `valid` ones; seconds of the `best` verified one (inf: none yet), its
    `form` ("direct", "winograd-f4" ...) and `trace`; how it is timed (`mode`); `at_roof`, `settled`: it gets no more trials; the first
    message of a candidate that failed (`failure`); `exhausted`: all candidates were tried; `since_gain`: trials since the best became
    noticeably better; `forms`: how many ways of computing it are tried; `peak`: operations a second of the unit that can take its sums (0: not known)."""

    name: str
    hash: str
    weight: float
    trials: int
    valid: int
    best: float
    form: str
    trace: str
    mode: str
    flops: float
    at_roof: bool
    settled: bool
    failure: str
    exhausted: bool
    since_gain: int
    forms: int
    peak: float

    @property
    def flops_per_second(self) -> float:
        """Of the best one, by the operations of the task's own form."""
        return self.flops / self.best


class TaskStates(List[TaskState]):
    """The tasks of a session."""

    def _rows(self) -> Iterable[Any]:
        return ((t.name, f"{t.weight:g}", t.trials, t.valid, _html.seconds(t.best), f"{t.flops_per_second / 1e9:.1f}", t.form) for t in self)

    def __str__(self) -> str:
        return "\n".join("{:48}  {:>4}  {:>6}  {:>6}  {:>8}  {:>8}  {}".format(*row) for row in
                         [("task", "x", "trials", "valid", "best", "GFLOP/s", "form"), *self._rows()])

    def _repr_html_(self) -> str:
        return _html.table(("task", "launches", "trials", "valid", "best", "GFLOP/s", "form"), self._rows())


@dataclasses.dataclass(frozen=True)
class Report:
    """What is known of a session: `trials` of all tasks, earlier sessions' too, of `target_trials` (0: no limit), `measured` by this one;
    `latency`: seconds, the weighted sum of the best times (inf while a task has none); `seconds` of wall time; `end`: once it has ended:
    "trials", "time", "at_roof", "stopped" ...; not `quiet`: the machine is busy with other work, and times scatter:
    a fixed piece of work has this `slowdown` over its best and this `spread`; `seconds_limit`: of the budget (0: none); `expected_gain`: seconds
    that the next minute should gain; `pairwise`: share of pairs that the cost model ordered rightly (nan: not known yet)."""

    tasks: TaskStates
    trials: int
    target_trials: int
    measured: int
    latency: float
    seconds: float
    end: str
    quiet: bool
    seconds_limit: float
    expected_gain: float
    pairwise: float
    slowdown: float
    spread: float

    def __str__(self) -> str:
        return f"{self.tasks}\n{self.trials} trials, {_html.seconds(self.latency)} {self.end}".rstrip()

    def _repr_html_(self) -> str:
        return self.tasks._repr_html_() + _html.table(("trials", "latency", "wall time", "end"),
                                                      [(self.trials, _html.seconds(self.latency), f"{self.seconds:.1f} s", self.end)])


@dataclasses.dataclass(frozen=True)
class Event:
    """What a session tells of: `kind`: "started", "round_started" (of `task`), "measured", "round_done", "searched" (what comes now are
    comparisons over sizes that vary), "contest" (one of these begins: `programs` at `places` sizes), "compared" (and ended, with
    `variants` programs for its sizes). task -1: it is of the session as a whole; name: of what it is."""

    kind: str
    task: int
    name: str
    programs: int
    places: int
    variants: int
    report: Report
    session: "Session"


TuneProgress = Union[None, bool, Callable[[Event], Any]]


class Session(Handle):
    """A search. Everything that can be wrong with its options is found when it is made; run() spends the budget.

    source: a network (a path to an ONNX file), a kernel (a path to a .te file, a tctune.te.Kernel), or a Work. trials: candidates to
    measure in all, what the database holds counts; minutes: of wall time: one of the two is given, the first reached ends it. db: file
    of records, made where there is none: a session that was stopped, or killed, goes on from it. threads: of the kernels; 0: every core.
    stop_at_roof: a kernel that reaches this share of the machine's peak gets no more trials (0.97). batch: candidates of a round. rounds_at_once:
    rounds under way: what is proposed does not know their results (None: 2 with a fleet, which measures one while the next is proposed, or more
    where other tuners share it, else 1). accuracy "strict" or "fast" (None); precision "f32" (None), "bf16", "auto". mode: how kernels are timed: "auto" (None), "hot", "cold".
    search: "phases" (None), "random", "ansor"; phases: only these. start_from: files with records of similar kernels, or "none".
    deterministic_measure: times are computed, not taken; measure_peak: the machine's peak is measured all the same. fleet: who measures, a
    tctune.Fleet or the address of its server; None: this machine. Without target and threads, its workers' are taken.

    progress: True for a bar (tqdm), or a function that gets each Event, in the thread that calls run(). When it answers with something
    true the search ends; what it raises ends it too, and is raised from run(). So does Ctrl-C.

    What follows is as in Work: shape, shape_weights, in_place_cache, opt_level, disable_pass, constants,
    fixed, dump_graph, pass_times.

    >>> import tctune
    >>> gemm = tctune.te.parse('''
    ... tensor X[16, 32] f32
    ... tensor W[32, 48] f32
    ... compute Y[i:16, j:48] = sum(k:32) X[i, k] * W[k, j]
    ... output Y''', name="gemm")
    >>> with Session(gemm, trials=4, threads=1, db="gemm.db", deterministic_measure=True) as session:
    ...     report = session.run()
    >>> report.trials >= 4, report.tasks[0].name
    (True, 'gemm')
    """

    _kind = "session"
    _free = "tctune_session_free"

    def __init__(self, source: Source, *, trials: int = 0, minutes: float = 0, db: Path = "tctune.db", threads: int = 0,
                 target: Optional[str] = None, stop_at_roof: Optional[float] = None, batch: int = 0, rounds_at_once: Optional[int] = None,
                 seed: int = 0, accuracy: Optional[str] = None, precision: Optional[str] = None, mode: Optional[str] = None,
                 search: Optional[str] = None, phases: Union[None, str, Iterable[str]] = None,
                 start_from: Union[None, Path, Iterable[Path]] = None, deterministic_measure: bool = False, progress: TuneProgress = None, shape: Shape = None,
                 shape_weights: Optional[Path] = None, in_place_cache: bool = False, opt_level: Optional[int] = None,
                 disable_pass: Optional[Iterable[str]] = None, constants: Optional[Path] = None, fixed: bool = False,
                 dump_graph: Optional[str] = None, pass_times: bool = False, measure_peak: bool = False, fleet: FleetLike = None) -> None:
        if phases is not None and not isinstance(phases, str):
            phases = ",".join(phases)
        options = Struct("tctune_tune_options", database=db, trials=trials, seconds=minutes * 60, target=target, threads=threads,
                         stop_at_roof=stop_at_roof, batch=batch, rounds_at_once=rounds_at_once, seed=seed, accuracy=accuracy,
                         precision=precision, mode=mode, search=search, phases=phases, start_from=listed(start_from),
                         deterministic=deterministic_measure, measure_peak=measure_peak,
                         fleet=fleet_struct(fleet))
        work = work_of(source, shape=shape, shape_weights=shape_weights, in_place_cache=in_place_cache, opt_level=opt_level,
                       disable_pass=disable_pass, constants=constants, seed=seed or None, fixed=fixed, dump_graph=dump_graph,
                       pass_times=pass_times)
        self._options = options
        self._progress = progress
        self._background: Optional[Background] = None
        self._end_of_life = threading.Lock()
        self._callback = ffi.callback("tctune_on_event *", self._on_event)
        options.c.progress = self._callback
        out = ffi.new("tctune_session **")
        try:
            with work._using() as pointer:
                call("tctune_session_new", pointer, options, out)
        finally:
            if work is not source:
                work.close()
        super().__init__(out[0])
        self._now = self._look(out[0])

    # ---- what is known ----

    def _look(self, pointer: Any) -> Report:
        c, t = new_struct("tctune_report"), new_struct("tctune_task_state")
        call("tctune_session_report", pointer, c)
        tasks = TaskStates()
        for i in range(c.tasks):
            call("tctune_session_task", pointer, i, t)
            tasks.append(read(TaskState, t))
        return Report(tasks, c.trials, c.target_trials, c.measured, c.latency, c.seconds, text(c.end), bool(c.quiet), c.seconds_limit,
                      c.expected_gain, c.pairwise, c.slowdown, c.spread)

    @property
    def report(self) -> Report:
        """What is known now, from any thread: while it runs, as of the last event."""
        return self._now

    def _on_event(self, _user: Any, e: Any) -> int:
        background = self._background
        assert background is not None
        self._now = self._look(e.session)
        return background.tell(Event(_KINDS[e.kind], e.task, text(e.name), e.programs, e.places, e.variants, self._now, self))

    # ---- running ----

    def run(self) -> Report:
        """Spends the budget. A session that was stopped goes on when it is run again."""
        with self._using() as pointer, tune_bar(self._progress) as told:
            self._background = Background(told, lambda: lib.tctune_session_stop(pointer))
            try:
                self._background.run(lambda: call("tctune_session_run", pointer))
            except Stopped:
                return dataclasses.replace(self._now, end="stopped")
            finally:
                self._now = self._look(pointer)
        return self._now

    def describe(self) -> Dict[str, Any]:
        """What became of each task, what was measured, how well the cost model knew it, why the search ended, what the machine can do
        (docs/json.md), of the last run. BadInput before the first."""
        with self._using() as pointer:
            return take_json("tctune_session_describe", pointer)

    def stop(self) -> None:
        """Ends a run within about a second, from any thread; one that has not begun ends at once."""
        with self._end_of_life:
            if self._pointer is None:
                raise Closed("this session was closed")
            lib.tctune_session_stop(self._pointer)

    def close(self) -> None:
        """Gives back what the library keeps for it; a run that is under way in another thread ends first (see stop())."""
        if self._pointer is not None:
            with self._using() as pointer, self._end_of_life:
                self._pointer = None
                ffi.release(pointer)

    def _repr_html_(self) -> str:
        return self._now._repr_html_()


def tune(source: Source, *, trials: int = 0, minutes: float = 0, db: Path = "tctune.db", progress: TuneProgress = None,
         **options: Any) -> Report:
    """A whole Session: searches for fast schedules of a network or a kernel, and answers with its Report. Options as for Session.

        tctune.tune("bert.onnx", trials=2000, progress=True)
    """
    with Session(source, trials=trials, minutes=minutes, db=db, progress=progress, **options) as session:
        return session.run()
