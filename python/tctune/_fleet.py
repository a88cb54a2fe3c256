"""Fleets: machines that measure for others (docs/howto/fleet.md)."""
import dataclasses
import re
from typing import Any, Callable, Dict, List, Literal, Optional, Sequence, Union

from ._background import Stoppable, nobody
from ._ffi import Struct, call, encode, ffi, take_json, take_text, text
from ._options import Path
from .errors import BadInput, TctuneError

Role = Literal["both", "build", "measure"]


@dataclasses.dataclass(frozen=True)
class Followed:
    """How many of the records that Fleet.follow read were

    stored: new. known: there already. changed: there, and now known to be wrong, or timed better.
    refused: not consistent. others: of tuners or keys that were not asked for."""

    stored: int
    known: int
    changed: int
    refused: int
    others: int


def _followed(c: Any) -> Followed:
    return Followed(c.stored, c.known, c.changed, c.refused, c.others)


@dataclasses.dataclass(frozen=True)
class Fleet:
    """A fleet: its server, and which of its workers measure for a tuner. Making it opens no connection.

    url: "nats://HOST:PORT" or "tls://HOST:PORT"; "nats://USER:PASSWORD@HOST:PORT" if the server asks for a password.
    creds: a file with a user's JWT and seed. nkey: a file with a user's public key and seed.
    tls_ca: a file of certificates to check the server's with; None: the system's.
    key: the workers' key, in which * and ? stand for any characters; None: that of the tuner's target and threads.
    workers: how many jobs to ask for at once; 0: this tuner's share of two for each worker.
    patience: seconds without a worker or without the server after which measuring fails; 0: 60.
    fallback: if no server or no worker answers at the start, this machine measures, and the log says so (TCTUNE_LOG=warn).
        Otherwise that is an error.
    weight: this tuner's share of the workers against other tuners', from 0.001 to 1000; 0: 1.

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
        """The workers, their keys, and the lengths of their queues (docs/json.md)."""
        struct = self._struct()
        return take_json("tctune_fleet_status", struct)

    def drain(self, *workers: str, why: str = "") -> Dict[str, Any]:
        """Tells workers to finish their job, take no more, and leave. They follow within about a second. Answers with who was told
        (docs/json.md).

        workers: names or keys, in which * and ? stand for any characters. If one of them fits no worker, no worker is told, and
            BadInput lists
        those that are there. why: a line that the worker shows and logs."""
        return self._tell("drain", workers, why)

    def kick(self, *workers: str, why: str = "") -> Dict[str, Any]:
        """Tells workers to leave at once; others get their jobs. The arguments are those of drain()."""
        return self._tell("kick", workers, why)

    def quarantine(self, *workers: str, why: str = "") -> Dict[str, Any]:
        """Tells workers to stay but take no jobs until release(). It holds for all workers with these names, later ones too. As
        drain() otherwise."""
        return self._tell("quarantine", workers, why)

    def release(self, *workers: str) -> Dict[str, Any]:
        """Lets quarantined workers take jobs again, also those that are away. As drain() otherwise."""
        return self._tell("release", workers, "")

    def log(self, worker: Optional[str] = None, last: int = 20) -> List[Dict[str, Any]]:
        """The last jobs and how they ended, the latest first (docs/json.md). The server keeps results for a day.

        worker: a name: only its jobs. last: how many jobs, from 1 to 1000."""
        if last == 0:
            raise BadInput("last must be from 1 to 1000, not 0")
        struct = self._struct()
        jobs: List[Dict[str, Any]] = take_json("tctune_fleet_log", struct, encode(worker) if worker else ffi.NULL, last)["jobs"]
        return jobs

    def follow(self, db: Path, *, tuner: Optional[str] = None, once: bool = False,
               each: Optional[Callable[["Followed", Optional[str]], Any]] = None) -> "Followed":
        """Copies the records of the fleet's tuners into the database file `db`, which is made if there is none. Records are checked
        as those of files are; each job gives one. The file keeps how far the copy came. Of a fleet with a key, only records of such
        keys are copied.

        It goes on until Ctrl-C, which is raised after the end. once: until there is nothing more for now.
        tuner: only records of this tuner; in its name * and ? stand for any characters.
        each: a function that gets the totals so far and None whenever there is nothing more for now; and the totals and a reason
            for each record that is refused. If it answers with a true value, or raises, the call ends."""
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
        told: Dict[str, Any] = take_json("tctune_fleet_tell", struct, encode(order), ffi.new("char *[]", names + [ffi.NULL]),
                                         encode(why))
        return told

    def _struct(self) -> Struct:
        return Struct("tctune_fleet", **{f.name: getattr(self, f.name) for f in dataclasses.fields(self)})

    def __repr__(self) -> str:
        given = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if getattr(self, f.name)}
        given["url"] = re.sub(r"//[^/@]*@", "//***@", self.url)  # what is printed shows no password
        return f"Fleet({', '.join(f'{name}={value!r}' for name, value in given.items())})"


FleetLike = Union[None, str, Fleet]


def fleet_struct(fleet: FleetLike) -> Optional[Struct]:
    """For a struct of options. An address stands for a fleet."""
    return None if fleet is None else (Fleet(fleet) if isinstance(fleet, str) else fleet)._struct()


def fleet_key(target: Optional[str] = None, threads: int = 0) -> str:
    """The key of workers for a target (None: this machine) and a number of threads (0: one for each core), of this version of
    tctune.

    >>> fleet_key("znver4", threads=2).startswith("znver4-2t-")
    True
    """
    return take_text("tctune_fleet_key", encode(target) if target else ffi.NULL, threads)


class Worker:
    """Measures for a fleet's tuners while run() is under way. Candidates are built and run in processes of their own.

    fleet: a tctune.Fleet, or the address of its server.
    name: of letters, digits, - and _, and unlike all other workers'; None: made from the host's name and the process.
    target, threads: of the kernels; None, 0: this machine, one thread for each core.
    lease: seconds after which a silent worker's job goes to another worker; 0: 30.
    role: "both" (None): builds candidates and measures them; "measure": measures what others have built; "build": builds for those.
    key: of a builder: the key of the workers that it builds for (fleet_key() there); None: that of target and threads.
    ready: a function that gets the worker's name and key once jobs can come, in the thread that calls run(). If it answers with a
        true value, or raises, the worker leaves."""

    def __init__(self, fleet: Union[str, Fleet], *, name: Optional[str] = None, target: Optional[str] = None, threads: int = 0,
                 lease: float = 0, ready: Callable[[str, str], Any] = nobody, role: Optional[Role] = None,
                 key: Optional[str] = None) -> None:
        self._options = Struct("tctune_worker_options", fleet=fleet_struct(fleet), name=name, target=target, threads=threads,
                               lease=lease, role=role,
                               key=key)
        self._background = Stoppable(self._options, ready)
        self._ready = ffi.callback("void(void *, char *, char *)", self._on_ready)
        self._options.set("ready", self._ready)
        self._started = False
        self._of = Fleet(fleet) if isinstance(fleet, str) else fleet

    def __repr__(self) -> str:
        return f"<tctune.Worker of {self._of!r}{', which has run' if self._started else ''}>"

    def _on_ready(self, _user: Any, name: Any, key: Any) -> None:
        self._background.tell(text(name), text(key))

    def run(self) -> None:
        """Measures until stop() or Ctrl-C; the latter is raised after the worker has left. A worker runs once."""
        if self._started:
            raise TctuneError("this worker has run: make another")
        self._started = True
        self._background.run(lambda: call("tctune_fleet_serve", self._options))

    def stop(self) -> None:
        """Makes the worker leave within about a second; its job goes back to the queue. Any thread may call it."""
        self._background.stop()
