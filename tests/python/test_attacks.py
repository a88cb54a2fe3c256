"""Callers that do what no caller should: callbacks that raise in every event, handles that are closed in their own callbacks, and
forks while the library works."""
import gc
import os
import threading
import warnings

import pytest

import tctune
from tctune import TctuneError

QUICK = {"trials": 8, "batch": 4, "threads": 1, "db": "t.db", "deterministic_measure": True}


class Mine(Exception):
    pass


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
        assert len(db) == report.trials and not db.verify()


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
