"""Callers that do what no caller should: callbacks that raise in every event, handles that are closed in their own callbacks,
forks and signals while the library works, and limits under which it works."""
import gc
import os
import resource
import signal
import threading
import time
import warnings

import numpy as np
import pytest

import tctune
from tctune import TctuneError

QUICK = {"trials": 8, "batch": 4, "threads": 1, "db": "t.db", "deterministic_measure": True}


class Mine(Exception):
    pass


def tried(db):
    """How many candidates it has; other records are the verdict on the best and the default schedule."""
    return len([r for r in db if r.mode != "in-graph"])


def in_child(work):
    """Forks, and answers whether the child came to its end without an error. The child ends as a forked worker of Python does: it
    frees what it has a copy of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # a fork of several threads
        pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            gc.collect()
            code = 0
        finally:
            os._exit(code)
    return os.waitpid(pid, 0)[1] == 0


def test_a_callback_that_raises_in_every_event(gemm):
    for _ in range(50):  # each time a little further
        raised = []

        def watch(event):
            raised.append(event.kind)
            raise Mine(event.kind)

        with tctune.Session(gemm, progress=watch, **QUICK) as session:
            with pytest.raises(Mine):
                session.run()
            assert len(raised) == 1  # nothing is told after that
    with pytest.raises(Mine):
        tctune.build(gemm, threads=1, progress=lambda *_: (_ for _ in ()).throw(Mine()))


def test_a_session_that_is_closed_in_its_callback(gemm):
    refused = []

    def watch(event):
        for use in (event.session.close, event.session.run, event.session.describe):
            with pytest.raises(TctuneError, match="in use"):
                use()
            refused.append(use)

    with tctune.Session(gemm, progress=watch, **QUICK) as session:
        assert session.run().trials >= 8
    assert refused


def test_a_database_that_is_closed_in_its_callback(gemm):
    tctune.tune(gemm, **{**QUICK, "deterministic_measure": False})
    with tctune.Database("t.db", "change") as db:
        def each(_):
            with pytest.raises(TctuneError, match="in use"):
                db.close()

        assert db.rerun(each) == 0
        assert len(db) > 0


def test_forks_while_a_session_runs(gemm):
    """The child ends with copies of everything that the session has: its workers, its database. The session goes on."""
    forks = []

    def watch(event):
        if event.kind in ("round_started", "measured"):
            forks.append(in_child(lambda: None))

    with tctune.Session(gemm, progress=watch, **{**QUICK, "deterministic_measure": False}) as session:
        report = session.run()
    assert forks and all(forks) and report.end != "stopped"
    with tctune.Database("t.db") as db:
        assert tried(db) == report.trials and not db.verify()


def test_forks_that_free_a_session(gemm):
    """A child that frees its copy of a session ends neither its parent's workers nor the run."""
    sessions = []
    forks = []

    def watch(event):
        if event.kind == "measured" and len(forks) < 3:
            forks.append(in_child(lambda: tctune._ffi.ffi.release(sessions[0]._pointer)))

    with tctune.Session(gemm, progress=watch, **{**QUICK, "deterministic_measure": False}) as session:
        sessions.append(session)
        report = session.run()
    assert forks and all(forks) and report.trials > 0 and report.end != "stopped"


def test_forks_while_a_model_is_built(gemm):
    forks = []
    tctune.build(gemm, threads=1, progress=lambda *_: forks.append(in_child(gc.collect)) and None).save("gemm.so")
    assert forks and all(forks) and os.path.getsize("gemm.so") > 0


def test_forks_from_another_thread(gemm):
    over = threading.Event()
    forks = []

    def fork_on():
        while not over.is_set():
            forks.append(in_child(lambda: None))

    forker = threading.Thread(target=fork_on)
    forker.start()
    try:
        report = tctune.tune(gemm, **{**QUICK, "deterministic_measure": False})
    finally:
        over.set()
        forker.join()
    assert report.trials >= 1 and forks and all(forks)


# ---- callbacks of builds ----


def right(model):
    """Whether the network runs, and computes numbers."""
    [port] = model.inputs.values()
    return all(np.isfinite(y).all() for y in model(np.ones(port.shape, np.float32)).values())


def test_a_callback_that_raises_in_each_event_of_a_build(network):
    """Each time a little further. Nothing is told after an exception, and the next build is right."""
    events = []
    tctune.build(network, threads=1, untuned=True, progress=lambda *told: events.append(told) and None).close()
    assert events
    for last in range(len(events)):
        seen = []

        def watch(*told):
            seen.append(told)
            if len(seen) > last:
                raise Mine(last)

        with pytest.raises(Mine):
            tctune.build(network, threads=1, untuned=True, progress=watch)
        assert len(seen) == last + 1
    with tctune.build(network, threads=1, untuned=True) as model:
        assert right(model)


def test_handles_that_are_closed_in_a_callback_of_a_build(network):
    """The work that is built is in use; models and databases that nobody uses may be closed."""
    with tctune.build(network, threads=1, untuned=True) as other:
        other.save("other.so")
    refused = []

    def watch(*_):
        tctune.load("other.so").close()
        tctune.Database("o.db", "create").close()
        gc.collect()
        with pytest.raises(TctuneError, match="in use"):
            work.close()
        refused.append(True)

    with tctune.Work(network) as work:
        tctune.build(work, threads=1, untuned=True, progress=watch).close()
    assert refused


# ---- signals ----


def interrupt_at(seconds):
    """A thread that sends the main thread Ctrl-C, and others' signals before."""
    main = threading.main_thread().ident

    def send():
        for number in (signal.SIGUSR1, signal.SIGCHLD, signal.SIGINT):
            signal.pthread_kill(main, number)

    timer = threading.Timer(seconds, send)
    timer.start()
    return timer


@pytest.fixture
def heard():
    """Signals with a handler of Python's, which runs between two calls of the library."""
    numbers = []
    before = {n: signal.signal(n, lambda number, _: numbers.append(number)) for n in (signal.SIGUSR1, signal.SIGCHLD)}
    yield numbers
    for number, handler in before.items():
        signal.signal(number, handler)


def test_signals_while_a_model_is_built(network, heard, tmp_path):
    """Whenever Ctrl-C comes: the build ends, or it is over; no file is left half written, and the next build is right."""
    ended = 0
    for step in range(12):
        timer = None
        try:
            timer = interrupt_at(0.004 * step)
            with tctune.build(network, threads=1, untuned=True) as model:
                model.save("net.so")
            time.sleep(5)  # the signal comes
        except KeyboardInterrupt:
            ended += 1
        if timer:
            timer.join()
        assert not [f for f in os.listdir(tmp_path) if f not in ("net.so", "net.h")]
        if os.path.exists("net.so"):
            tctune.load("net.so").close()
    assert ended == 12
    assert signal.SIGUSR1 in heard
    with tctune.build(network, threads=1, untuned=True) as model:
        assert right(model)


def test_an_alarm_while_a_session_runs(gemm, heard):
    """Signals that come all the time, whose handlers raise nothing, neither end a search nor lose a record."""
    signal.signal(signal.SIGALRM, lambda *_: heard.append(signal.SIGALRM))
    signal.setitimer(signal.ITIMER_REAL, 0.005, 0.005)
    try:
        report = tctune.tune(gemm, **{**QUICK, "deterministic_measure": False})
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
    assert report.trials >= 8 and report.end != "stopped" and signal.SIGALRM in heard
    with tctune.Database("t.db") as db:
        assert tried(db) == report.trials and not db.verify()


# ---- limits ----


def test_a_limit_of_file_sizes(gemm):
    """Python ignores SIGXFSZ; a program that does not is not ended by it either."""
    before = signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        with pytest.raises(TctuneError, match="ulimit -f"):
            tctune.tune(gemm, **QUICK)
        with tctune.build(gemm, threads=1, untuned=True) as model, pytest.raises(TctuneError, match="ulimit -f"):
            model.save("gemm.so")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert not os.path.exists("gemm.so")
    assert tctune.tune(gemm, **QUICK).trials >= 8
