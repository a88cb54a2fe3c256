"""Databases of records."""
import dataclasses
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Tuple

import numpy as np

from . import _html
from ._background import Stoppable, nobody
from ._ffi import Handle, Path, Struct, call, encode, ffi, lib, new_struct, take_json, text
from ._work import listed, read
from .errors import BadInput

_ACCESS = {"read": lib.TCTUNE_ACCESS_READ, "change": lib.TCTUNE_ACCESS_CHANGE, "create": lib.TCTUNE_ACCESS_CREATE}
_ORDER = {"id": lib.TCTUNE_ORDER_BY_ID, "median": lib.TCTUNE_ORDER_BY_MEDIAN, "rank": lib.TCTUNE_ORDER_BY_RANK}
_RERUN = {lib.TCTUNE_RERUN_END_TIMED: "timed", lib.TCTUNE_RERUN_END_FAILED: "failed", lib.TCTUNE_RERUN_END_SKIPPED: "skipped"}
_PAGE = 1000


def one_of(what: str, table: Dict[str, Any], value: str) -> Any:
    if value not in table:
        raise BadInput(f"{what} is {', '.join(map(repr, table))}, not {value!r}")
    return table[value]


@dataclasses.dataclass(frozen=True)
class Record:
    """One measured candidate, with all that is needed to read it without its model.

    workload, target, trace: canonical texts (.te, target, .sched). times: seconds of a call, in the order taken; median: inf where no
    time is valid. outcome: "ok", or how it failed, with message. verified: its result agreed with the reference; max_error: its largest
    deviation, in units of the tolerance. rounds: in turns with its rivals; 0: timed by itself. sizes: "17,3": of a workload with symbols
    those that it was timed at. id 0: it is in no database. program: hash of the lowered program; 0: it was not lowered. when_ms: Unix
    time in milliseconds."""

    id: int
    workload: str
    target: str
    trace: str
    workload_hash: str
    program: int
    times: Tuple[float, ...]
    median: float
    mode: str
    outcome: str
    message: str
    verified: bool
    max_error: float
    threads: int
    rounds: int
    build_seconds: float
    run_seconds: float
    when_ms: int
    host: str
    version: str
    sizes: str

    def __str__(self) -> str:
        what = _html.seconds(self.median) if self.outcome == "ok" else f"{self.outcome}: {self.message}"
        return f"record {self.id}: {what}, {self.threads} threads, {self.mode}, on {self.host}"

    def _repr_html_(self) -> str:
        rows = [(f.name, getattr(self, f.name)) for f in dataclasses.fields(self) if f.name not in ("workload", "trace", "times")]
        return _html.table(("", str(self)), rows) + _html.pre(self.workload) + _html.pre(self.trace)


class Records(List[Record]):
    """Records, as a list, as columns, and in a notebook as a table."""

    def columns(self) -> Dict[str, Any]:
        """Name to the values of all records: NumPy arrays of numbers, lists of texts and of times. pandas.DataFrame takes it."""
        out: Dict[str, Any] = {}
        for f in dataclasses.fields(Record):
            values = [getattr(r, f.name) for r in self]
            kind = {int: "uint64" if f.name == "program" else "int64", float: "float64", bool: "bool"}.get(f.type)  # type: ignore[call-overload]
            out[f.name] = values if kind is None else np.array(values, kind)
        return out

    def _repr_html_(self) -> str:
        rows = ((r.id, r.workload_hash[:8], _html.seconds(r.median), r.mode, r.threads, r.outcome, r.verified, r.host) for r in self)
        return _html.table(("id", "workload", "median", "mode", "threads", "outcome", "verified", "host"), rows)


def take_records(list_: Any) -> Records:
    """All of a list of the library's, which is given back."""
    records = Records()
    c = new_struct("tctune_record")
    try:
        for i in range(lib.tctune_records_count(list_)):
            call("tctune_records_get", list_, i, c)
            values = {f.name: getattr(c, f.name) for f in dataclasses.fields(Record) if f.name != "times"}
            values = {k: text(v) if isinstance(v, ffi.CData) else v for k, v in values.items()}
            values["verified"] = bool(c.verified)
            records.append(Record(times=tuple(c.times[0:c.ntimes]) if c.ntimes else (), **values))
    finally:
        lib.tctune_records_free(list_)
    return records


@dataclasses.dataclass(frozen=True)
class Stats:
    """What there is in a database: numbers of records, workloads and targets, bytes of its file, the version of its tables."""

    schema: int
    records: int
    workloads: int
    targets: int
    bytes: int


@dataclasses.dataclass(frozen=True)
class Rerun:
    """What became of one workload, target, number of threads and mode when its best `record` (0: none) was measured again. end: "timed", "failed" (it gave
    a wrong result, crashed, hung or was not built) or "skipped"; `recorded`, `now`: seconds, medians (inf: there is none); message: why it
    failed, or was skipped."""

    end: str
    workload_hash: str
    mode: str
    threads: int
    record: int
    recorded: float
    now: float
    message: str


class Database(Handle):
    """A file of records. access: "read" (it must exist, and stays as it is), "change" (it must exist), "create" (made where there is
    none). Several processes may use one file.

    >>> with Database("mine.db", "create") as db:
    ...     len(db), list(db), db.verify()
    (0, [], [])
    """

    _kind = "database"
    _free = "tctune_database_close"

    def __init__(self, file: Path = "tctune.db", access: str = "read") -> None:
        out = ffi.new("tctune_database **")
        call("tctune_database_open", encode(file), one_of("access", _ACCESS, access), out)
        super().__init__(out[0])

    @staticmethod
    def _query(workload: Optional[str], target: Optional[str], mode: Optional[str], threads: int, valid: bool, verified: bool,
               after: int, limit: int, order: str) -> Struct:
        return Struct("tctune_query", workload_hash=workload, target_hash=target, mode=mode, threads=threads, valid=valid,
                      verified=verified, after_id=after, limit=limit, order=one_of("order", _ORDER, order))

    def records(self, *, workload: Optional[str] = None, target: Optional[str] = None, mode: Optional[str] = None, threads: int = 0,
                valid: bool = False, verified: bool = False, after: int = 0, limit: int = 0, order: str = "id") -> Records:
        """The records as they are now: of a workload or target (their hashes), a mode ("hot", "cold"), a number of threads; only `valid`
        ones, measured without an error, or `verified` ones, found right, of programs that never failed; only those with an id above
        `after`; at most `limit`. order: "id", "median", or "rank", of use in a network."""
        query = self._query(workload, target, mode, threads, valid, verified, after, limit, order)
        out = ffi.new("tctune_records **")
        with self._using() as db:
            call("tctune_database_records", db, query, out)
        return take_records(out[0])

    def __iter__(self) -> Iterator[Record]:
        last = 0
        while True:
            page = self.records(after=last, limit=_PAGE)
            yield from page
            if len(page) < _PAGE:
                return
            last = page[-1].id

    def __len__(self) -> int:
        return self.stats().records

    def columns(self, **query: Any) -> Dict[str, Any]:
        """records(...) as columns: pandas.DataFrame(db.columns())."""
        return self.records(**query).columns()

    def stats(self) -> Stats:
        """What there is."""
        c = new_struct("tctune_database_stats")
        with self._using() as db:
            call("tctune_database_stat", db, c)
        return read(Stats, c)

    def add(self, file: Path) -> Tuple[int, int]:
        """Adds the records of a file of JSON lines or of another database, all or none. (how many were new, how many were there)"""
        added, known = ffi.new("size_t *"), ffi.new("size_t *")
        with self._using() as db:
            call("tctune_database_add", db, encode(file), added, known)
        return added[0], known[0]

    def export(self, file: Path, *, workload: Optional[str] = None, target: Optional[str] = None, mode: Optional[str] = None,
               threads: int = 0, valid: bool = False, verified: bool = False, after: int = 0, limit: int = 0, order: str = "id") -> int:
        """Writes records as JSON lines; the file is whole or unchanged. How many it wrote."""
        query = self._query(workload, target, mode, threads, valid, verified, after, limit, order)
        written = ffi.new("size_t *")
        with self._using() as db:
            call("tctune_database_export", db, query, encode(file), written)
        return int(written[0])

    def prune(self, keep: int = 0, drop_failures: bool = False) -> int:
        """Keeps the `keep` best valid records of each workload, target and mode (0: all), and with drop_failures none that failed; gives
        the space back. How many went."""
        pruned = new_struct("tctune_pruned")
        with self._using() as db:
            call("tctune_database_prune", db, keep, int(drop_failures), pruned)
        return int(pruned.records)

    def describe(self) -> Dict[str, Any]:
        """By workload, target, number of threads and mode: how many records, which is the best, what failed (docs/json.md)."""
        with self._using() as db:
            return take_json("tctune_database_describe", db)

    def rerun(self, each: Optional[Callable[["Rerun"], Any]] = None) -> int:
        """Measures the best record of every workload, target, number of threads and mode again, where that target runs here. One that now gives a
        wrong result, crashes or cannot be built is no longer applied: answers with how many these are. The database is open for changes.
        each: a function that gets a Rerun of each; when it answers with something true that ends it with Stopped, and so does Ctrl-C."""
        unmarked = ffi.new("int64_t *")
        options = Struct("tctune_rerun_options")
        background = Stoppable(options, each or nobody)

        @ffi.callback("tctune_on_rerun *")
        def on_rerun(_user: Any, c: Any) -> None:
            background.tell(Rerun(_RERUN[c.end], text(c.workload_hash), text(c.mode), c.threads, c.record, c.recorded, c.now, text(c.message)))

        options.set("each", on_rerun)
        with self._using() as db:
            background.run(lambda: call("tctune_database_rerun", db, options, unmarked))
        return int(unmarked[0])

    def verify(self) -> List[str]:
        """Complaints, a line each; none: what it says holds: structure, hashes, and that every trace replays."""
        complaints: List[str] = []

        @ffi.callback("tctune_on_complaint *")
        def complain(_user: Any, said: Any) -> None:
            complaints.append(text(said))

        with self._using() as db:
            try:
                call("tctune_database_verify", db, complain, ffi.NULL, ffi.NULL)
            except BadInput as e:
                return complaints or [str(e)]
        return complaints

    def _repr_html_(self) -> str:
        return _html.table([f.name for f in dataclasses.fields(Stats)], [dataclasses.astuple(self.stats())])


def add_files(database: Path, files: Iterable[Path]) -> List[Tuple[str, int, int]]:
    """Database.add of files, one after the other up to the first that is refused, into the file `database`: (file, how many records were new, how many
    were there) of each. It is made where there is none, but not where one of the files is missing or the first is refused.

    >>> add_files("all.db", [])
    []
    """
    told: List[Tuple[str, int, int]] = []

    @ffi.callback("tctune_on_taken *")
    def taken(_user: Any, file: Any, added: int, known: int) -> None:
        told.append((text(file), added, known))

    given = [ffi.new("char[]", encode(file)) for file in listed(files) or []]
    array = ffi.new("char *[]", given + [ffi.NULL])
    call("tctune_database_add_files", encode(database), array, taken, ffi.NULL)
    return told
