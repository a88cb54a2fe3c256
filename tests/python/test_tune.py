"""Sessions: watched, stopped in every phase and from everywhere, gone on with; what callbacks raise; what is refused."""
import dataclasses
import inspect
import math
import os
import signal
import sys
import threading
import time

import pytest

import tctune
from tctune import BadInput, Closed, EnvironmentProblem, _ffi

QUICK = {"trials": 8, "batch": 4, "threads": 1, "db": "t.db", "deterministic_measure": True}


def test_measures(gemm):
    events = []
    report = tctune.tune(gemm, trials=6, minutes=10, batch=3, threads=1, db="t.db", progress=events.append)
    kinds = [e.kind for e in events]
    assert kinds[0] == "started" and kinds[-2:] == ["closing", "gained"] and "measured" in kinds and "round_done" in kinds
    assert [e.report.trials for e in events] == sorted(e.report.trials for e in events)
    task = report.tasks[0]
    assert report.trials == report.measured > 0 and report.end and report.latency == task.best > 0
    assert task.name == "gemm" and task.valid > 0 and task.trace and task.form and task.flops == 2 * 16 * 32 * 48
    assert "gemm" in str(report) and "<td>gemm</td>" in report._repr_html_()
    with tctune.Database("t.db") as db:
        tried = [r for r in db if r.mode != "in-graph"]  # the others are the verdict on the best and the default schedule
        assert len(tried) == report.trials and min(r.median for r in tried) == task.best
    assert report.kernels == 1 and report.kept in (0, 1)
    assert math.isnan(report.speedup) if report.kept else report.speedup_low <= report.speedup <= report.speedup_high
    with tctune.build(gemm, threads=1, db="t.db", require_complete=True) as model:
        assert model.inputs


def test_every_option_is_taken(gemm, tmp_path):
    with tctune.tune(gemm, trials=4, threads=1, db="first.db") and tctune.Database("first.db") as db:
        db.export("first.jsonl")
    report = tctune.tune(gemm, trials=4, minutes=5, threads=1, db=tmp_path / "t.db", target="native", stop_at_roof=0.5, batch=2,
                         rounds_at_once=2, seed=7,
                         accuracy="strict", precision="f32", mode="hot", search="phases", phases=["construct", "descent"],
                         start_from=["first.jsonl"])
    assert report.trials >= 1
    assert tctune.tune(gemm, trials=2, threads=1, db="u.db", start_from="none", phases="construct", search="random").trials >= 1


OPTIONS = {tctune.show: "tctune_show_options", tctune.compare_show: "tctune_compare_options",
           tctune.verify_cases: "tctune_cases_options",
           tctune.quantize: "tctune_quantize_options", tctune.machine: "tctune_machine_options",
           tctune.doctor: "tctune_doctor_options",
           tctune.Work.bench: "tctune_bench_kernel_options", tctune.Schedule: "tctune_schedule_options",
           tctune.Schedule.measure: "tctune_measure_options", tctune.Model.bench: "tctune_bench_options",
           tctune.Model.trace: "tctune_trace_options", tctune.Model.trial: "tctune_trial_options",
           tctune.Database.rerun: "tctune_rerun_options",
           tctune.Worker: "tctune_worker_options", tctune.Fleet.follow: "tctune_follow_options",
           tctune.explain: "tctune_explain_options", tctune.page: "tctune_page_options",
           tctune.page_data: "tctune_page_options"}


def left_out(function, struct, **named):
    """Fields of options that no keyword of the function sets."""
    fields = {named.get(name, name) for name, _ in _ffi.ffi.typeof(struct).fields}
    return fields - set(inspect.signature(function).parameters) - {"struct_size", "progress", "user", "stop", "model", "te",
                                                                   "te_text", "each"}


def test_nothing_of_the_structs_is_left_out():
    work = {"shapes": "shape", "level": "opt_level", "without": "disable_pass"}
    for function in (tctune.Session, tctune.build, tctune.Work):
        assert not left_out(function, "tctune_work_options", **work)
    assert not left_out(tctune.Session, "tctune_tune_options", database="db", seconds="minutes",
                        deterministic="deterministic_measure")
    assert not left_out(tctune.build, "tctune_build_options", database="db")
    for function, struct in OPTIONS.items():
        assert not left_out(function, struct, database="db", shapes="shape", level="opt_level", without="disable_pass",
                            default_steps="default") - {"bounded", "command", "source"}
    for kind, struct in STRUCTS:
        told = {name for name, _ in _ffi.ffi.typeof(struct).fields} - {"struct_size", "ntimes"}
        assert told <= {f.name for f in dataclasses.fields(kind)}


STRUCTS = [(tctune.Task, "tctune_task"), (tctune.TaskState, "tctune_task_state"), (tctune.Report, "tctune_report"),
           (tctune.Event, "tctune_event"),
           (tctune.Record, "tctune_record"), (tctune.Stats, "tctune_database_stats"), (tctune.Fleet, "tctune_fleet"),
           (tctune.Rerun, "tctune_rerun"), (tctune.Followed, "tctune_followed")]


@pytest.mark.parametrize("kind, struct", STRUCTS)
def test_fields_are_those_of_structs(kind, struct):
    assert {f.name for f in dataclasses.fields(kind)} <= {name for name, _ in _ffi.ffi.typeof(struct).fields}


class Mine(Exception):
    pass


def stop_by_raising(event):
    raise Mine(event.kind)


@pytest.mark.parametrize("how", ["raises", "answers", "stops"])
def test_stopped_at_every_event(gemm, how):
    last = 0
    for at in range(100):
        seen = []

        def watch(event):
            seen.append(event.kind)
            if len(seen) - 1 == at:
                if how == "raises":
                    raise Mine(event.kind)
                if how == "stops":
                    event.session.stop()
                return how == "answers"
            return None

        if os.path.exists("t.db"):
            os.remove("t.db")
        with tctune.Session(gemm, progress=watch, **QUICK) as session:
            try:
                end = session.run().end
            except Mine as e:
                end = "stopped"
                assert how == "raises" and str(e) == seen[at]
            if len(seen) <= at:
                break
            assert end == "stopped" and (how != "raises" or len(seen) == at + 1)
            before = session.report.trials
            report = session.run()  # it goes on
            assert report.trials >= max(before, 8) and report.end != "stopped"
            last = at
    assert last >= 4


def test_stopped_from_a_thread(gemm):
    measured = threading.Event()
    session = tctune.Session(gemm, minutes=10, threads=1, db="t.db", stop_at_roof=99.0,
                             progress=lambda e: e.kind == "measured" and measured.set())
    stopper = threading.Thread(target=lambda: (measured.wait(), session.stop()))
    stopper.start()
    report = session.run()
    stopper.join()
    assert report.end == "stopped" and report.trials > 0 and session.report.trials == report.trials
    session.close()
    with tctune.Database("t.db") as db:
        assert len(db) >= report.trials and not db.verify()


def test_stopped_before_it_runs(gemm):
    with tctune.Session(gemm, **QUICK) as session:
        session.stop()
        assert session.run().end == "stopped"
        assert session.run().trials >= 8


def test_interrupted(gemm):
    """Ctrl-C while candidates are measured, of which nothing tells in the meantime."""
    main = threading.main_thread().ident
    timer = threading.Timer(0.5, lambda: signal.pthread_kill(main, signal.SIGINT))
    timer.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        tctune.tune(gemm, minutes=10, threads=1, db="t.db", stop_at_roof=99.0)
    assert time.monotonic() - began < 60  # of 600
    with tctune.Database("t.db") as db:
        assert not db.verify()


def test_a_session_in_use_is_kept(gemm):
    """What a callback may not do to its session."""
    refused = []

    def watch(event):
        for use in (event.session.close, event.session.run):
            with pytest.raises(tctune.TctuneError, match="is in use: this call was made during another call of it") as e:
                use()
            refused.append(e)

    with tctune.Session(gemm, progress=watch, **QUICK) as session:
        session.run()
        assert refused
        assert session._repr_html_()


def test_closed(gemm):
    session = tctune.Session(gemm, **QUICK)
    session.close()
    session.close()
    for use in (session.run, session.stop, session.__enter__):
        with pytest.raises(Closed, match="this session was closed"):
            use()
    assert session.report.trials == 0


@pytest.mark.parametrize("options, error, why", [
    ({"trials": 0}, BadInput, "budget is missing"),
    ({"trials": -1}, BadInput, "trials: expected a number from 0 up"),
    ({"minutes": -1}, BadInput, "minutes: expected a number from 0 up"),
    ({"trials": "many"}, BadInput, "trials: "),
    ({"trials": 2**40}, BadInput, "trials: "),
    ({"search": "luck"}, BadInput, "luck"),
    ({"phases": ["descent", "magic"]}, BadInput, "magic"),
    ({"accuracy": "soon"}, BadInput, "strict, default or fast"),
    ({"precision": "f16"}, BadInput, "f32, bf16 or auto"),
    ({"mode": "warm", "deterministic_measure": False}, BadInput, "hot or cold"),
    ({"target": "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-v1"}, BadInput, "does not run on this machine"),
    ({"start_from": "/no/such/file.jsonl"}, BadInput, "/no/such/file"),
    ({"db": "/no/such/folder/x.db"}, EnvironmentProblem, "/no/such"),
    ({"threads": -1}, BadInput, "-1 threads"),
    ({"shape": {"N": 4}}, BadInput, "N"),
])
def test_refuses(gemm, options, error, why):
    with pytest.raises(error, match=why):
        tctune.Session(gemm, **{**QUICK, **options})


def test_sizes_that_vary(varying):
    kinds = []
    report = tctune.tune(varying, trials=6, batch=2, threads=1, db="t.db", deterministic_measure=True,
                         progress=lambda e: kinds.append(e.kind))
    assert len(report.tasks) >= 1 and "searched" in kinds
    assert tctune.tune(varying, shape={"N": 7}, **QUICK).tasks[0].flops == 7 * 8


def test_bar(gemm, capsys):
    pytest.importorskip("tqdm", reason="progress bars need python3-tqdm")
    tctune.tune(gemm, progress=True, **QUICK)
    assert "trials" in capsys.readouterr().err
    tctune.build(gemm, threads=1, progress=True)
    assert "kernels" in capsys.readouterr().err


def test_no_bar_without_tqdm(gemm, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(ImportError, match="python3-tqdm"):
        tctune.tune(gemm, progress=True, **QUICK)
    assert tctune.tune(gemm, **QUICK).trials >= 8


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_interrupt_while_the_thread_is_started(gemm, monkeypatch, when):
    """The call has ended before the interrupt is raised, so that nothing is freed under it."""
    start, interrupts = threading.Thread.start, [KeyboardInterrupt]

    def interrupted(thread):
        if when == "after" or not interrupts:
            start(thread)
        if thread.name == "tctune" and interrupts:
            raise interrupts.pop()

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with tctune.Session(gemm, **QUICK) as session:
        with pytest.raises(KeyboardInterrupt):
            session.run()
        assert not session._lock.locked()
        for thread in [t for t in threading.enumerate() if t.name == "tctune"]:
            thread.join(10)
            assert not thread.is_alive()


def test_an_interrupt_between_the_queue_and_its_handler():
    """Ctrl-C may come after an event has left the queue and before anybody has it: the call that waits for an answer gets one."""
    from tctune._background import Background

    class Losing:
        """A queue whose first event is lost to an interrupt."""

        def __init__(self, queue):
            self.queue, self.put, self.lost, self.asked = queue, queue.put, False, threading.Event()

        def get(self, timeout):  # there is one: Python would not look for a Ctrl-C that came just before the wait
            assert timeout < 1
            self.asked.set()
            event = self.queue.get(timeout=timeout if self.lost else None)  # its first wait does not end before an event
            if not self.lost:
                self.lost = True
                raise KeyboardInterrupt
            return event

    for events in (0, 1, 3):  # 0: its end is lost
        stopped = []
        background = Background(lambda *_: False, lambda: stopped.append(1))
        background._asked = Losing(background._asked)
        with pytest.raises(KeyboardInterrupt):
            background.run(lambda: background._asked.asked.wait() and [background.tell(i) for i in range(events)])
        assert stopped
