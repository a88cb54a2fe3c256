"""Databases of records."""
import dataclasses
import os
from typing import Any, Callable, Dict, Iterator, List, Literal, Optional, Tuple

import numpy as np

from . import _html
from ._background import Stoppable, nobody
from ._ffi import Handle, Struct, call, encode, ffi, lib, new_struct, take_json, text
from ._options import Path, Paths
from ._work import listed, read
from .errors import BadInput

_ACCESS = {"read": lib.TCTUNE_ACCESS_READ, "change": lib.TCTUNE_ACCESS_CHANGE, "create": lib.TCTUNE_ACCESS_CREATE}
_ORDER = {"id": lib.TCTUNE_ORDER_BY_ID, "median": lib.TCTUNE_ORDER_BY_MEDIAN, "rank": lib.TCTUNE_ORDER_BY_RANK}
_RERUN = {lib.TCTUNE_RERUN_END_TIMED: "timed", lib.TCTUNE_RERUN_END_FAILED: "failed", lib.TCTUNE_RERUN_END_SKIPPED: "skipped"}
_PAGE = 1000

Access = Literal["read", "change", "create"]
Order = Literal["id", "median", "rank"]


def one_of(what: str, table: Dict[str, Any], value: str) -> Any:
    if value not in table:
        raise BadInput(f"{what}: expected {' or '.join(map(repr, table))}, not {value!r}")
    return table[value]


@dataclasses.dataclass(frozen=True, repr=False)
class Record:
    """One measured candidate. It can be read without its model.

    id: its number in the database; 0: it is in none.
    workload, target, trace: texts: the kernel (.te), the target, the schedule (.sched). workload_hash: of the workload.
    sizes: "17,3": the sizes that a workload with symbols was timed at.
    times: seconds of each timed run, in order. median: of these; inf: none is valid.
    mode: "hot" or "cold". threads: of the kernel.
    outcome: "ok", or how it failed, and `message` says more.
    verified: the result agreed with the reference. max_error: its largest deviation, in units of the tolerance.
    rounds: how often it ran in turns with rivals; 0: it was timed by itself.
    program: a hash of the lowered program; 0: it was not lowered.
    build_seconds, run_seconds: what the trial took. when_ms: Unix time in milliseconds.
    host, version: the machine, and the tctune that measured."""

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

    def __repr__(self) -> str:
        what = _html.seconds(self.median) if self.outcome == "ok" else self.outcome
        return f"<tctune.Record {self.id}: {what}, {self.threads} threads, {self.mode}>"

    def _repr_html_(self) -> str:
        rows = [(f.name, getattr(self, f.name)) for f in dataclasses.fields(self) if f.name not in ("workload", "trace", "times")]
        return _html.table(("", str(self)), rows) + _html.pre(self.workload) + _html.pre(self.trace)


class Records(List[Record]):
    """A list of records. A notebook shows it as a table."""

    def __repr__(self) -> str:
        return f"<tctune.Records: {len(self)}>"

    def columns(self) -> Dict[str, Any]:
        """The records as columns by name, which pandas.DataFrame takes: NumPy arrays of numbers, lists of texts and of times."""
        out: Dict[str, Any] = {}
        for f in dataclasses.fields(Record):
            values = [getattr(r, f.name) for r in self]
            kind = {int: "uint64" if f.name == "program" else "int64", float: "float64",
                    bool: "bool"}.get(f.type)  # type: ignore[call-overload]
            out[f.name] = values if kind is None else np.array(values, kind)
        return out

    def _repr_html_(self) -> str:
        rows = ((r.id, r.workload_hash[:8], _html.seconds(r.median), r.mode, r.threads, r.outcome, r.verified,
                 r.host) for r in self)
        return _html.table(("id", "workload", "median", "mode", "threads", "outcome", "verified", "host"), rows)


def take_records(list_: Any) -> Records:
    """All records of a list of the library, which is freed."""
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
    """What a database holds: how many records, workloads and targets; the bytes of its file, and the version of its tables
    (`schema`)."""

    schema: int
    records: int
    workloads: int
    targets: int
    bytes: int


@dataclasses.dataclass(frozen=True, repr=False)
class Rerun:
    """The best record of one workload, target, number of threads and mode, measured again.

    record: its id; 0: there is none.
    end: "timed"; "failed": it gave a wrong result, crashed, hung or was not built; "skipped". message: why it failed or was
        skipped.
    recorded, now: seconds, the medians then and now; inf: there is none."""

    end: str
    workload_hash: str
    mode: str
    threads: int
    record: int
    recorded: float
    now: float
    message: str

    def __repr__(self) -> str:
        then, now = _html.seconds(self.recorded), _html.seconds(self.now)
        return f"<tctune.Rerun of record {self.record}: {self.end}, {then} then, {now} now>"


class Database(Handle):
    """A file of records. Several processes may use one file.

    access: "read": the file must exist, and is not changed; "change": it must exist; "create": it is made if there is none.

    >>> with Database("mine.db", "create") as db:
    ...     len(db), list(db), db.verify()
    (0, [], [])
    """

    _kind = "database"
    _free = "tctune_database_close"

    def __init__(self, file: Path = "tctune.db", access: Access = "read") -> None:
        out = ffi.new("tctune_database **")
        call("tctune_database_open", encode(file), one_of("access", _ACCESS, access), out)
        super().__init__(out[0])
        self._file = os.fspath(file)

    def _describe(self) -> str:
        n = len(self)
        return f"{self._file!r}: {n} record{'s' * (n != 1)}"

    @staticmethod
    def _query(workload: Optional[str], target: Optional[str], mode: Optional[str], threads: int, valid: bool, verified: bool,
               after: int, limit: int, order: str) -> Struct:
        return Struct("tctune_query", workload_hash=workload, target_hash=target, mode=mode, threads=threads, valid=valid,
                      verified=verified, after_id=after, limit=limit, order=one_of("order", _ORDER, order))

    def records(self, *, workload: Optional[str] = None, target: Optional[str] = None, mode: Optional[str] = None, threads: int = 0,
                valid: bool = False, verified: bool = False, after: int = 0, limit: int = 0, order: Order = "id") -> Records:
        """The records as they are now.

        workload, target: only those with this hash. mode: only "hot" or only "cold" ones. threads: only those with this number.
        valid: only those measured without an error. verified: only those whose result was right, of programs that never failed.
        after: only those with an id above this. limit: at most this many; 0: all.
        order: "id", "median" (fastest first), or "rank" (as a build prefers them)."""
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

    def columns(self, *, workload: Optional[str] = None, target: Optional[str] = None, mode: Optional[str] = None, threads: int = 0,
                valid: bool = False, verified: bool = False, after: int = 0, limit: int = 0, order: Order = "id") -> Dict[str, Any]:
        """The same records as columns by name: pandas.DataFrame(db.columns())."""
        return self.records(workload=workload, target=target, mode=mode, threads=threads, valid=valid, verified=verified,
                            after=after,
                            limit=limit, order=order).columns()

    def stats(self) -> Stats:
        """How much the database holds."""
        c = new_struct("tctune_database_stats")
        with self._using() as db:
            call("tctune_database_stat", db, c)
        return read(Stats, c)

    def add(self, file: Path) -> Tuple[int, int]:
        """Adds the records of a file of JSON lines or of another database: all, or none if one is refused. Answers with how many
        were new, and how many the database had. Records whose workload or trace is larger than tctune reads are left out: all
        others are added, and then the call raises."""
        added, known = ffi.new("size_t *"), ffi.new("size_t *")
        with self._using() as db:
            call("tctune_database_add", db, encode(file), added, known)
        return added[0], known[0]

    def export(self, file: Path, *, workload: Optional[str] = None, target: Optional[str] = None, mode: Optional[str] = None,
               threads: int = 0, valid: bool = False, verified: bool = False, after: int = 0, limit: int = 0,
               order: Order = "id") -> int:
        """Writes records as JSON lines, and answers with how many. On an error the file stays as it was. The options are those of
        records()."""
        query = self._query(workload, target, mode, threads, valid, verified, after, limit, order)
        written = ffi.new("size_t *")
        with self._using() as db:
            call("tctune_database_export", db, query, encode(file), written)
        return int(written[0])

    def prune(self, keep: int = 0, drop_failures: bool = False) -> int:
        """Deletes records, frees their space, and answers with how many.

        keep: keep this many of the best valid records of each workload, target and mode; 0: all. drop_failures: delete those that
            failed, and those whose texts do not have the hashes that they are stored under."""
        pruned = new_struct("tctune_pruned")
        with self._using() as db:
            call("tctune_database_prune", db, keep, int(drop_failures), pruned)
        return int(pruned.records)

    def describe(self) -> Dict[str, Any]:
        """For each workload, target, number of threads and mode: how many records, the best, and what failed (docs/json.md)."""
        with self._using() as db:
            return take_json("tctune_database_describe", db)

    def rerun(self, each: Optional[Callable[["Rerun"], Any]] = None) -> int:
        """Measures the best record of each workload, target, number of threads and mode again, if the target runs here. A record
        that gives a wrong result, crashes or cannot be built is no longer used. Answers with how many these are. The database must
        be open for changes.

        each: a function that gets a Rerun of each. If it answers with a true value, the call ends with Stopped. Ctrl-C ends it
            too."""
        unmarked = ffi.new("int64_t *")
        options = Struct("tctune_rerun_options")
        background = Stoppable(options, each or nobody)

        @ffi.callback("tctune_on_rerun *")
        def on_rerun(_user: Any, c: Any) -> None:
            background.tell(Rerun(_RERUN[c.end], text(c.workload_hash), text(c.mode), c.threads, c.record, c.recorded, c.now,
                                  text(c.message)))

        options.set("each", on_rerun)
        with self._using() as db:
            background.run(lambda: call("tctune_database_rerun", db, options, unmarked))
        return int(unmarked[0])

    def verify(self) -> List[str]:
        """Checks the structure, all hashes, and that each schedule fits its workload. Answers with the problems; an empty list:
        there are none."""
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


def add_files(database: Path, files: Paths) -> List[Tuple[str, int, int]]:
    """Adds the records of files to the file `database`, which is made if there is none. It stops at the first file that is refused.
    Answers for each file with its name, how many records were new, and how many the database had.

    >>> add_files("all.db", [])
    []
    """
    told: List[Tuple[str, int, int]] = []

    @ffi.callback("tctune_on_taken *")
    def taken(_user: Any, file: Any, added: int, known: int) -> None:
        told.append((text(file), added, known))

    given = [ffi.new("char[]", encode(file)) for file in listed("files", files) or []]
    array = ffi.new("char *[]", given + [ffi.NULL])
    call("tctune_database_add_files", encode(database), array, taken, ffi.NULL)
    return told
