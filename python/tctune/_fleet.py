"""Machines that measure for others (docs/howto/fleet.md)."""
import dataclasses
import re
from typing import Any, Callable, Dict, List, Optional, Sequence, Union

from ._background import Stoppable, nobody
from ._ffi import Path, Struct, call, encode, ffi, take_json, take_text, text
from .errors import BadInput, TctuneError


@dataclasses.dataclass(frozen=True)
class Followed:
    """What became of records that were followed: stored; known, their jobs having one; changed, what is known of one now being worse or better timed;
    refused, since they do not fit together; of others than were asked for."""

    stored: int
    known: int
    changed: int
    refused: int
    others: int


def _followed(c: Any) -> Followed:
    return Followed(c.stored, c.known, c.changed, c.refused, c.others)


@dataclasses.dataclass(frozen=True)
class Fleet:
    """A fleet: its server, and which of its workers measure for a tuner. Made without a connection; whoever uses it makes one.

    url: "nats://HOST:PORT" or "tls://HOST:PORT", with a user's name and password before the host where the server asks for them. creds: file of
    a user's JWT and seed; nkey: file of a user's public key and seed. tls_ca: file of certificates by which the server's is checked; None: the
    system's. key: the workers' key, with * and ? for any characters; None: that of the tuner's own target and threads. workers: jobs that are
    asked for at once; 0: this tuner's share of two for each worker. patience: seconds without any worker, or without the server, after which measuring fails; 0: 60.
    fallback: where no server answers, or no worker of the key is there, when measuring begins, this machine measures, with a warning in the log
    (TCTUNE_LOG=warn); else that is an error. weight: 0.001 to 1000, by which the tuners that are there share workers; 0: 1.

    >>> Fleet("nats://ann:secret@server:4222", key="znver4-*")
    Fleet(url='nats://***@server:4222', key='znver4-*')
    """

    url: str
    creds: Optional[Path] = None
    nkey: Optional[Path] = None
    tls_ca: Optional[Path] = None
    key: Optional[str] = None
    workers: int = 0
    patience: float = 0
    fallback: bool = False
    weight: float = 0

    def status(self) -> Dict[str, Any]:
        """Workers, keys and the lengths of their queues (docs/json.md)."""
        struct = self._struct()
        return take_json("tctune_fleet_status", struct)

    def drain(self, *workers: str, why: str = "") -> Dict[str, Any]:
        """Has workers end the job that they have, take no more, and leave. They follow within about a second.

        workers: names or keys, with * and ? for any characters; where one is nobody, nobody is told, and BadInput says who is there. why: one
        line, which the worker shows and logs. Answers with who was told (docs/json.md)."""
        return self._tell("drain", workers, why)

    def kick(self, *workers: str, why: str = "") -> Dict[str, Any]:
        """Has workers leave at once: their jobs go to others. As drain() otherwise."""
        return self._tell("kick", workers, why)

    def quarantine(self, *workers: str, why: str = "") -> Dict[str, Any]:
        """Has workers stay and take no jobs, whoever has their names, until they are released. As drain() otherwise."""
        return self._tell("quarantine", workers, why)

    def release(self, *workers: str) -> Dict[str, Any]:
        """Has quarantined workers take jobs again, also those that are away. As drain() otherwise."""
        return self._tell("release", workers, "")

    def log(self, worker: Optional[str] = None, last: int = 20) -> List[Dict[str, Any]]:
        """What became of the last jobs, the latest first, as far as the server keeps results (a day; docs/json.md). worker: a name, for its own
        only. last: how many, from 1 to 1000."""
        if last == 0:
            raise BadInput("last is from 1 to 1000, not 0")
        struct = self._struct()
        jobs: List[Dict[str, Any]] = take_json("tctune_fleet_log", struct, encode(worker) if worker else ffi.NULL, last)["jobs"]
        return jobs

    def follow(self, db: Path, *, tuner: Optional[str] = None, once: bool = False,
               each: Optional[Callable[["Followed", Optional[str]], Any]] = None) -> "Followed":
        """Takes what tuners record into the database file `db`, made where there is none: of each job one record, checked as those of files are. It
        goes on until Ctrl-C, which is raised once it has ended; with `once` until there is nothing more for now. How far it came is kept in the file.

        Of a fleet with a key only records of such keys. tuner: a name, with * and ? for any characters, for its records only. each: a function that
        gets what became of all so far when there is nothing more for now, and None; and of each record that is refused why, as the second. When
        it answers with something true, or raises, that ends it."""
        options = Struct("tctune_follow_options", tuner=tuner, once=once)
        background = Stoppable(options, each or nobody)

        @ffi.callback("tctune_on_followed *")
        def on_followed(_user: Any, c: Any, refusal: Any) -> None:
            background.tell(_followed(c), text(refusal) if refusal else None)

        options.set("each", on_followed)
        out = Struct("tctune_followed")
        struct = self._struct()
        background.run(lambda: call("tctune_fleet_follow", struct, encode(db), options, out))
        return _followed(out.c)

    def _tell(self, order: str, workers: Sequence[str], why: str) -> Dict[str, Any]:
        struct = self._struct()
        names = [ffi.new("char[]", encode(w)) for w in workers]
        told: Dict[str, Any] = take_json("tctune_fleet_tell", struct, encode(order), ffi.new("char *[]", names + [ffi.NULL]), encode(why))
        return told

    def _struct(self) -> Struct:
        return Struct("tctune_fleet", **{f.name: getattr(self, f.name) for f in dataclasses.fields(self)})

    def __repr__(self) -> str:
        given = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if getattr(self, f.name)}
        given["url"] = re.sub(r"//[^/@]*@", "//***@", self.url)  # what is printed shows no password
        return f"Fleet({', '.join(f'{name}={value!r}' for name, value in given.items())})"


FleetLike = Union[None, str, Fleet]


def fleet_struct(fleet: FleetLike) -> Optional[Struct]:
    """For an options struct; an address is a fleet too."""
    return None if fleet is None else (Fleet(fleet) if isinstance(fleet, str) else fleet)._struct()


def fleet_key(target: Optional[str] = None, threads: int = 0) -> str:
    """The key of workers for a target (None: this machine) with so many threads (0: every core), of this version.

    >>> fleet_key("znver4", threads=2).startswith("znver4-2t-")
    True
    """
    return take_text("tctune_fleet_key", encode(target) if target else ffi.NULL, threads)


class Worker:
    """Measures what a fleet's tuners ask for, while run() is under way. Jobs are built and run in processes of their own.

    fleet: a tctune.Fleet, or the address of its server. name: letters, digits, - and _, of no other worker; None: from the host's name and the
    process. target, threads: of the kernels; None, 0: this machine, every core. lease: seconds after which the job of a worker that says
    nothing goes to another; 0: 30. role: "both" builds candidates and measures them, "measure" measures what others have built, "build" builds for
    those; None: both. key: of one that builds, the key of those whom it does so for (fleet_key() there); None: that of target and threads. ready: a function that gets the worker's name and key once jobs can come, in the thread that calls run(); when
    it answers with something true, or raises, the worker leaves."""

    def __init__(self, fleet: Union[str, Fleet], *, name: Optional[str] = None, target: Optional[str] = None, threads: int = 0,
                 lease: float = 0, ready: Callable[[str, str], Any] = nobody, role: Optional[str] = None, key: Optional[str] = None) -> None:
        self._options = Struct("tctune_worker_options", fleet=fleet_struct(fleet), name=name, target=target, threads=threads, lease=lease, role=role,
                               key=key)
        self._background = Stoppable(self._options, ready)
        self._ready = ffi.callback("void(void *, char *, char *)", self._on_ready)
        self._options.set("ready", self._ready)
        self._started = False

    def _on_ready(self, _user: Any, name: Any, key: Any) -> None:
        self._background.tell(text(name), text(key))

    def run(self) -> None:
        """Until stop() is called, or Ctrl-C is pressed, which is raised once the worker has left. It runs once."""
        if self._started:
            raise TctuneError("this worker has run: make another")
        self._started = True
        self._background.run(lambda: call("tctune_fleet_serve", self._options))

    def stop(self) -> None:
        """Makes it leave within about a second, from any thread: what it measures goes back to the queue."""
        self._background.stop()
