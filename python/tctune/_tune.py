"""Searches for fast schedules."""
import dataclasses
import numbers
import threading
from typing import Any, Callable, Dict, Iterable, List, Literal, Optional, Union

from . import _html
from ._background import Background
from ._ffi import Handle, Struct, call, ffi, lib, new_struct, take_json, text
from ._fleet import FleetLike, fleet_struct
from ._options import Accuracy, Constants, FixedInputs, Mode, Path, Paths, Precision, Shape
from ._progress import tune_bar
from ._work import Source, joined, listed, opened, read
from .errors import BadInput, Closed, Stopped

_KINDS = {n: name[len("TCTUNE_EVENT_"):].lower() for n, name in ffi.typeof("tctune_event_kind").elements.items()}


@dataclasses.dataclass(frozen=True, repr=False)
class TaskState:
    """One task of a session.

    name, hash, weight, flops: as in tctune.Task.
    trials: candidates measured. valid: those that ran without an error.
    best: seconds of the fastest verified candidate; inf: none yet. trace: its schedule.
    form: the algorithm of the best: "direct", "winograd-f4" ... forms: how many algorithms are tried.
    mode: how candidates are timed: "hot" or "cold".
    at_roof, settled, exhausted: no more trials: the best is near the machine's peak; further trials would gain nothing; every
        candidate was tried.
    failure: the message of the first candidate that failed.
    since_gain: trials since the best became noticeably better.
    peak: operations a second of the machine's unit that fits the task; 0: not known."""

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
        """Of the best candidate, counting the operations of the direct form."""
        return self.flops / self.best

    def __repr__(self) -> str:
        return f"<tctune.TaskState {self.name!r}: {self.trials} trials, best {_html.seconds(self.best)}>"


class TaskStates(List[TaskState]):
    """The tasks of a session."""

    def _rows(self) -> Iterable[Any]:
        return ((t.name, f"{t.weight:g}", t.trials, t.valid, _html.seconds(t.best), f"{t.flops_per_second / 1e9:.1f}",
                 t.form) for t in self)

    def __repr__(self) -> str:
        return f"<tctune.TaskStates: {_html.few(t.name for t in self)}>"

    def __str__(self) -> str:
        return "\n".join("{:48}  {:>4}  {:>6}  {:>6}  {:>8}  {:>8}  {}".format(*(_html.plain(str(cell)) for cell in row)) for row in
                         [("task", "x", "trials", "valid", "best", "GFLOP/s", "form"), *self._rows()])

    def _repr_html_(self) -> str:
        return _html.table(("task", "launches", "trials", "valid", "best", "GFLOP/s", "form"), self._rows())


@dataclasses.dataclass(frozen=True, repr=False)
class Report:
    """The state of a session.

    tasks: a TaskState of each.
    trials: of all tasks, with those of earlier sessions. target_trials: of the budget; 0: no limit. measured: trials of this
        session.
    latency: seconds of all launches of a run with the best schedules; inf while a task has none.
    seconds: wall time so far. seconds_limit: of the budget; 0: no limit.
    end: why the session ended: "trials", "time", "at_roof", "stopped" ...; "" before.
    quiet: no other work disturbs the machine. slowdown, spread: of a fixed piece of work: its time over its best time, and how its
        times scatter.
    expected_gain: seconds that the next minute should take off the latency.
    pairwise: share of pairs of candidates that the cost model ordered rightly; nan: not known yet.
    seconds_left: until the session ends, with the contests at its end, which take at most a tenth of it; nan: not known yet.
    untuned, tuned: seconds of a run without and with the records, in turns, when the session has ended. speedup: untuned over
        tuned, with its 95 % interval speedup_low to speedup_high. All are nan if they were not compared.
    kernels: how many were compared with their default schedules. kept: of these, how many keep the default schedule, because no
        record was faster beyond doubt."""

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
    seconds_left: float
    untuned: float
    tuned: float
    speedup: float
    speedup_low: float
    speedup_high: float
    kernels: int
    kept: int

    def _summary(self) -> str:
        n = len(self.tasks)
        end = f", ended by {self.end}" if self.end else ""
        return f"{n} task{'s' * (n != 1)}, {self.trials} trials, {_html.seconds(self.latency)}{end}"

    def __repr__(self) -> str:
        return f"<tctune.Report: {self._summary()}>"

    def __str__(self) -> str:
        return f"{self.tasks}\n{self.trials} trials, {_html.seconds(self.latency)} {self.end}".rstrip()

    def _repr_html_(self) -> str:
        return self.tasks._repr_html_() + _html.table(("trials", "latency", "wall time", "end"),
                                                      [(self.trials, _html.seconds(self.latency), f"{self.seconds:.1f} s",
                                                        self.end)])


@dataclasses.dataclass(frozen=True, repr=False)
class Event:
    """Something that happened in a session.

    kind: "started", "round_started", "measured", "round_done", "closing" (contests begin, for report.seconds_left at most: the best
        candidates in turns, or, after "searched", the records and the default schedules; with a task: a contest of it ended),
        "searched" (the search is over), "contest" (a contest of `programs` begins, at `places` sizes), "compared" (the contest
        ended: `variants` programs serve the sizes), "gained" (the records and the default schedules were compared, or could not
        be).
    task: its number; -1: the whole session. name: of the task.
    report: the state now. session: the session."""

    kind: str
    task: int
    name: str
    programs: int
    places: int
    variants: int
    report: Report
    session: "Session"

    def __repr__(self) -> str:
        return f"<tctune.Event {self.kind}{f' of {self.name!r}' if self.name else ''}: {self.report.trials} trials>"


TuneProgress = Union[None, bool, Callable[[Event], Any]]
Search = Literal["phases", "random", "ansor"]


class Session(Handle):
    """A search for fast schedules, in steps. Making it checks all options; run() spends the budget. tctune.tune does both.

    source: a path to an ONNX file or a .te file, a tctune.te.Kernel, or a tctune.Work.
    trials, minutes: the budget: how many candidates to measure in all, and how long the search may take. Give one or both; the
        search ends at whichever comes first. Trials that the database holds already count.
    db: the file of records, made if there is none. A search that was stopped or killed goes on from it.
    threads: of the kernels; 0: one for each core. target: what the code is for; None: this machine.
    stop_at_roof: a kernel that reaches this share of the machine's peak gets no more trials; None: 0.97.
    batch: candidates of a round; 0: as tctune chooses.
    rounds_at_once: how many rounds are under way at a time. With more than 1, a round is proposed before the results of the last
        are known. None: 2 with a fleet, or more where tuners share it, else 1.
    seed: of random choices.
    accuracy: "strict", "default" (None) or "fast". precision: "f32" (None), "bf16" or "auto". As for tctune.build.
    mode: how kernels are timed: inputs "hot" in the cache, "cold", or "auto" (None): as in the network.
    search: "phases" (None), "random" or "ansor". phases: names of the phases to run; None: all.
    start_from: files with records of similar kernels, which the search starts from; None: those that tctune comes with; "none": no
        files.
    deterministic_measure: times are computed, not measured, so that a search can be repeated exactly.
    measure_peak: measure the machine's peak even so.
    fleet: a tctune.Fleet, or the address of its server: its workers measure, for their target and threads unless both are given.
        None: this machine measures.
    progress: True: a bar (tqdm). Or a function that gets each Event, in the thread that calls run(): if it answers with a true
        value, or raises, the search ends. Ctrl-C ends the search too. What was measured is kept.
    shape, shape_weights, in_place_cache, opt_level, disable_pass, constants, fixed, dump_graph, pass_times, data_folder,
        fixed_inputs: as for
        tctune.Work.

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
                 target: Optional[str] = None, stop_at_roof: Optional[float] = None, batch: int = 0,
                 rounds_at_once: Optional[int] = None,
                 seed: int = 0, accuracy: Optional[Accuracy] = None, precision: Optional[Precision] = None,
                 mode: Optional[Mode] = None,
                 search: Optional[Search] = None, phases: Union[None, str, Iterable[str]] = None, start_from: Paths = None,
                 deterministic_measure: bool = False, measure_peak: bool = False, fleet: FleetLike = None,
                 progress: TuneProgress = None,
                 shape: Shape = None, shape_weights: Optional[Path] = None, in_place_cache: bool = False,
                 opt_level: Optional[int] = None,
                 disable_pass: Union[None, str, Iterable[str]] = None, constants: Constants = None, fixed: bool = False,
                 dump_graph: Optional[str] = None, pass_times: bool = False, data_folder: Optional[Path] = None,
                 fixed_inputs: FixedInputs = None) -> None:
        _check_budget(trials, minutes)
        options = Struct("tctune_tune_options", database=db, trials=trials, seconds=minutes * 60, target=target, threads=threads,
                         stop_at_roof=stop_at_roof, batch=batch, rounds_at_once=rounds_at_once, seed=seed, accuracy=accuracy,
                         precision=precision, mode=mode, search=search, phases=joined("phases", phases),
                         start_from=listed("start_from", start_from),
                         deterministic=deterministic_measure, measure_peak=measure_peak,
                         fleet=fleet_struct(fleet))
        if deterministic_measure and mode is not None:
            raise BadInput("mode says how kernels are timed, but deterministic_measure times none: leave one of the two out")
        self._options = options
        self._progress = progress
        self._background: Optional[Background] = None
        self._end_of_life = threading.Lock()
        self._callback = ffi.callback("tctune_on_event *", self._on_event)
        options.c.progress = self._callback
        out = ffi.new("tctune_session **")
        with opened(source, shape=shape, shape_weights=shape_weights, in_place_cache=in_place_cache, opt_level=opt_level,
                    disable_pass=disable_pass, constants=constants, seed=seed or None, fixed=fixed, dump_graph=dump_graph,
                    pass_times=pass_times,
                    data_folder=data_folder, fixed_inputs=fixed_inputs) as work:
            self._arrays = work._arrays  # the library reads them again
            with work._using() as pointer, work._naming():
                call("tctune_session_new", pointer, options, out)
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
        return Report(tasks, c.trials, c.target_trials, c.measured, c.latency, c.seconds, text(c.end), bool(c.quiet),
                      c.seconds_limit, c.expected_gain, c.pairwise, c.slowdown, c.spread, c.seconds_left, c.untuned, c.tuned,
                      c.speedup, c.speedup_low, c.speedup_high, c.kernels, c.kept)

    @property
    def report(self) -> Report:
        """The state now; during a run, the state at the last event. Any thread may ask."""
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
        """The last run at length: each task, what was measured, how well the cost model predicted it, why the search ended, what
        the machine can do (docs/json.md). BadInput before the first run."""
        with self._using() as pointer:
            return take_json("tctune_session_describe", pointer)

    def stop(self) -> None:
        """Ends a run within about a second. Any thread may call it. A run that has not begun yet ends at once."""
        with self._end_of_life:
            if self._pointer is None:
                raise Closed("this session was closed")
            lib.tctune_session_stop(self._pointer)

    def close(self) -> None:
        """Frees what the library keeps for the session. It waits for a run in another thread; stop() ends that."""
        if self._pointer is not None:
            with self._using() as pointer, self._end_of_life:
                self._pointer = None
                ffi.release(pointer)

    def _describe(self) -> str:
        return self._now._summary()

    def _repr_html_(self) -> str:
        return self._now._repr_html_()


def tune(source: Source, *, trials: int = 0, minutes: float = 0, db: Path = "tctune.db", threads: int = 0,
         target: Optional[str] = None, stop_at_roof: Optional[float] = None, batch: int = 0, rounds_at_once: Optional[int] = None,
         seed: int = 0, accuracy: Optional[Accuracy] = None, precision: Optional[Precision] = None, mode: Optional[Mode] = None,
         search: Optional[Search] = None, phases: Union[None, str, Iterable[str]] = None, start_from: Paths = None,
         deterministic_measure: bool = False, measure_peak: bool = False, fleet: FleetLike = None, progress: TuneProgress = None,
         shape: Shape = None, shape_weights: Optional[Path] = None, in_place_cache: bool = False, opt_level: Optional[int] = None,
         disable_pass: Union[None, str, Iterable[str]] = None, constants: Constants = None, fixed: bool = False,
         dump_graph: Optional[str] = None, pass_times: bool = False, data_folder: Optional[Path] = None,
         fixed_inputs: FixedInputs = None) -> Report:
    """Searches for fast schedules of a network or a kernel, and answers with a Report. It is a whole Session, whose options it has.

        tctune.tune("bert.onnx", trials=2000, progress=True)
    """
    with Session(source, trials=trials, minutes=minutes, db=db, threads=threads, target=target, stop_at_roof=stop_at_roof,
                 batch=batch,
                 rounds_at_once=rounds_at_once, seed=seed, accuracy=accuracy, precision=precision, mode=mode, search=search,
                 phases=phases,
                 start_from=start_from, deterministic_measure=deterministic_measure, measure_peak=measure_peak, fleet=fleet,
                 progress=progress, shape=shape, shape_weights=shape_weights, in_place_cache=in_place_cache, opt_level=opt_level,
                 disable_pass=disable_pass, constants=constants, fixed=fixed, dump_graph=dump_graph, pass_times=pass_times,
                 data_folder=data_folder, fixed_inputs=fixed_inputs) as session:
        return session.run()


def _check_budget(trials: int, minutes: float) -> None:
    for name, value in (("trials", trials), ("minutes", minutes)):
        if isinstance(value, str) or not isinstance(value, numbers.Real):
            raise BadInput(f"{name}: expected a number, not a {type(value).__name__}: {value!r}")
        if not 0 <= value < float("inf"):
            raise BadInput(f"{name}: expected a number from 0 up, not {value!r}")
    if not trials and not minutes:
        raise BadInput("the budget is missing: give trials (how many candidates to measure), minutes, or both")
