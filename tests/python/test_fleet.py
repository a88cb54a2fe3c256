"""Fleets: workers in Python and of the command, tuners, what is said where there is nobody, and Ctrl-C."""
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import tctune
from tctune import BadInput, EnvironmentProblem, Fleet, TctuneError, Worker

QUICK = {"batch": 4, "threads": 1, "deterministic_measure": True, "start_from": "none", "seed": 3}


@pytest.fixture(scope="module")
def worker(nats):
    """A worker of this process, with its key."""
    keys, there = [], threading.Event()
    made = Worker(nats, name="board", threads=1, ready=lambda name, key: (keys.append((name, key)), there.set()) and False)
    thread = threading.Thread(target=made.run)
    thread.start()
    try:
        assert there.wait(60)
        yield keys[0]
    finally:
        made.stop()
        thread.join()


def records(db):
    with tctune.Database(db) as opened:
        return [(r.workload_hash, r.trace, r.times, r.outcome) for r in opened], {r.host for r in opened}


def test_the_same_search_by_a_fleet(gemm, nats, worker):
    name, key = worker
    assert (name, key) == ("board", tctune.fleet_key(threads=1))
    tctune.tune(gemm, trials=8, db="here.db", **QUICK)
    tctune.tune(gemm, trials=8, db="there.db", fleet=Fleet(nats, key="*-1t-*", workers=2), **QUICK)
    here, _ = records("here.db")
    there, hosts = records("there.db")
    assert sorted(here) == sorted(there) and len(here) >= 8 and all(h.startswith("board@") for h in hosts)
    with tctune.Session(gemm, trials=4, fleet=nats, db="twice.db", **QUICK) as session:  # by its address
        assert session.run().trials >= 4


def test_measured_by_a_fleet(gemm, nats, worker):
    with tctune.Schedule(gemm, threads=1, text="parallel Y.i") as s:
        for db in (None, "real.db"):
            record = s.measure(repeats=3, fleet=Fleet(nats), db=db)
            assert record.verified and record.host.startswith("board@") and len(record.times) == 3


def test_compared_by_a_fleet(gemm, nats, worker):
    told = tctune.compare_show("default", "default", tctune.Work(gemm), fleet=Fleet(nats, key="*-1t-*"), rounds=11)
    assert told["worker"].startswith("board@") and told["threads"] == 1 and told["verdict"]["same_program"]
    assert told["roofline"]["peak_gflops"] > 0 and told["roofline"]["bandwidth_gbs"] > 0 and told["caches"] is None
    with pytest.raises(BadInput, match="workers of a fleet cannot run another library"):
        tctune.compare_show("default", "openblas", tctune.Work(gemm), fleet=nats, threads=1)
    with pytest.raises(BadInput, match="served are: .*-1t-"):
        tctune.compare_show("default", "default", tctune.Work(gemm), fleet=nats, threads=3)


def test_kernels_timed_by_a_fleet(gemm, nats, worker):
    with tctune.Work(gemm) as work:
        one = work.bench(fleet=Fleet(nats), threads=1, repeats=3)
        assert one["worker"].startswith("board@") and one["repeats"] == 3 and one["peak_gflops"] > 0
        for fleet, by in ((nats, "board@"), (None, None)):
            told = work.bench_kernels(fleet=fleet, threads=1, repeats=3)
            kernel, = told["kernels"]
            assert told["failed"] == 0 and kernel["error"] is None and kernel["repeats"] == 3 and kernel["time_ms"] > 0
            assert kernel["worker"].startswith(by) if by else kernel["worker"] is None
        for bench in (work.bench, work.bench_kernels):
            with pytest.raises(BadInput, match="has no record"):
                bench(fleet=nats, threads=1, require_complete=True)


def test_status(nats, worker):
    name, key = worker
    told = Fleet(nats).status()
    assert [(w["name"], w["threads"]) for w in told["workers"] if w["key"] == key] == [(name, 1)]
    assert next(k["workers"] for k in told["keys"] if k["key"] == key) == 1


def test_orders(gemm, nats, worker):
    fleet, key = Fleet(nats), worker[1]
    thread = threading.Thread(target=Worker(nats, name="told", threads=1).run)
    thread.start()

    def await_state(wanted):
        for _ in range(1000):
            told = [(w["state"], w["why"]) for w in fleet.status()["workers"] if w["name"] == "told"]
            if told == wanted:
                return
            time.sleep(0.02)
        raise AssertionError(f"{told} does not come to be {wanted}")

    await_state([("serving", "")])
    told = fleet.quarantine("tol?", why="a hot fan")
    assert told["order"] == "quarantine" and [(w["name"], w["key"]) for w in told["workers"]] == [("told", key)]
    await_state([("quarantined", "a hot fan")])
    with pytest.raises(BadInput, match="no worker has the name or the key told-2.*there are .*told of " + key):
        fleet.kick("told", "told-2")
    fleet.release("told")
    await_state([("serving", "")])
    fleet.drain("told")
    thread.join()
    with pytest.raises(BadInput, match="no worker has the name or the key told"):
        fleet.kick("told")


def test_log(gemm, nats, worker):
    tctune.tune(gemm, trials=4, db="log.db", fleet=nats, **QUICK)
    jobs = Fleet(nats).log(last=3)
    assert len(jobs) == 3 and jobs[0]["when_ms"] >= jobs[-1]["when_ms"]
    assert {(j["worker"], j["key"], j["outcome"]) for j in jobs} == {(*worker, "ok")}
    assert Fleet(nats).log("nobody") == []


def test_follow(gemm, nats, worker):
    tctune.tune(gemm, trials=6, db="desk.db", fleet=nats, **{**QUICK, "seed": 11})
    told = []
    followed = Fleet(nats).follow("team.db", once=True, each=lambda so_far, refusal: told.append((so_far, refusal)))
    assert followed.stored >= 6 and followed.refused == followed.others == 0 and told == [(followed, None)]
    assert Fleet(nats).follow("team.db", once=True).stored == 0
    assert Fleet(nats, key="none-*").follow("none.db", once=True).others == followed.stored
    assert Fleet(nats).follow("ended.db", each=lambda *_: True) == followed  # it would wait for more
    mine, theirs = records("desk.db")[0], records("team.db")[0]
    assert all(r in theirs for r in mine)
    with pytest.raises(ValueError, match="enough"):
        def raise_it(*_):
            raise ValueError("enough")
        Fleet(nats).follow("raised.db", each=raise_it)
    with pytest.raises(EnvironmentProblem, match="no NATS server answers there"):
        Fleet("nats://127.0.0.1:1").follow("gone.db")


def test_nobody_there(gemm, nats):
    gone = "nats://127.0.0.1:1"
    for use in (Fleet(gone).status, lambda: tctune.tune(gemm, trials=4, fleet=gone, **QUICK),
                lambda: tctune.Schedule(gemm, threads=1).measure(fleet=gone)):
        with pytest.raises(EnvironmentProblem, match="no NATS server answers there"):
            use()


def test_a_worker_waits_for_its_server():
    worker = Worker("nats://127.0.0.1:1", threads=1)
    thread = threading.Thread(target=worker.run)
    thread.start()
    thread.join(1)
    assert thread.is_alive()
    worker.stop()
    thread.join()


def test_measured_here_where_nobody_is(gemm, nats, worker):
    for fleet in (Fleet("nats://127.0.0.1:1", fallback=True), Fleet(nats, key="none-*", fallback=True)):
        tctune.tune(gemm, trials=4, db="fallback.db", fleet=fleet, **QUICK)
        _, hosts = records("fallback.db")
        assert hosts and not any(h.startswith("board@") for h in hosts)
        os.remove("fallback.db")


def test_no_worker_of_that_key(gemm, nats, worker):
    with pytest.raises(BadInput, match="no worker serves the key none-.*served are: .*" + worker[1]):
        tctune.tune(gemm, trials=4, fleet=Fleet(nats, key="none-*"), **QUICK)


@pytest.mark.parametrize("make, why", [
    (lambda: Fleet("").status(), "the server is missing"),
    (lambda: Fleet("nats://127.0.0.1:1", workers=-1).status(), "not be negative"),
    (lambda: Fleet("nats://127.0.0.1:1", weight=-1).status(), "not be negative"),
    (lambda: Fleet("nats://127.0.0.1:1", patience="long").status(), "patience: "),
    (lambda: Fleet("a\0b").status(), "zero character"),
    (lambda: Worker("nats://127.0.0.1:1", lease=-1).run(), "lease must not be negative"),
    (lambda: Worker("nats://127.0.0.1:1", name="a b", threads=1).run(), "'a b' cannot name a worker"),
    (lambda: tctune.fleet_key("abacus"), "abacus"),
    (lambda: Fleet("nats://127.0.0.1:1").drain(), "workers are missing"),
    (lambda: Fleet("nats://127.0.0.1:1").log("a b"), "'a b' cannot name a worker"),
    (lambda: Fleet("nats://127.0.0.1:1").log(last=0), "from 1 to 1000"),
    (lambda: Fleet("nats://127.0.0.1:1").log(last=1001), "from 1 to 1000"),
])
def test_refuses(make, why):
    with pytest.raises(BadInput, match=why):
        make()


def test_no_password_is_printed():
    assert "secret" not in repr(Fleet("nats://ann:secret@server:4222")) + str(Fleet("nats://ann:secret@server:4222", creds="x"))


def test_runs_once(nats):
    once = Worker(nats, name="once", threads=1, ready=lambda name, key: True)
    once.run()
    with pytest.raises(TctuneError, match="make another"):
        once.run()
    with pytest.raises(ZeroDivisionError):
        Worker(nats, name="fails", threads=1, ready=lambda name, key: 1 // 0).run()


def test_interrupted(nats):
    """Ctrl-C, as a shell sends it."""
    code = f"import tctune\ntctune.Worker({nats!r}, name='ctrl-c', threads=1, ready=lambda *who: print(who, flush=True)).run()"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=dict(os.environ)) as process:
        assert "ctrl-c" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    assert "KeyboardInterrupt" in said
    assert "ctrl-c" not in str(Fleet(nats).status())
