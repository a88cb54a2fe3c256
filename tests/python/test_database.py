"""Databases: queried, as columns, exported, joined, pruned, checked; locked, of another version, none at all, and closed ones."""
import os
import sqlite3
import threading

import numpy as np
import pytest

import tctune
from tctune import BadInput, Closed, EnvironmentProblem, TctuneError


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    from conftest import GEMM
    path = tmp_path_factory.mktemp("tuned") / "tuned.db"
    tctune.tune(tctune.te.parse(GEMM, "gemm"), trials=8, batch=4, threads=1, db=path)
    return path


@pytest.fixture
def copy(tuned, tmp_path):
    with tctune.Database(tmp_path / "copy.db", "create") as db:
        assert db.add(tuned)[1] == 0
        yield db


def test_records(tuned):
    with tctune.Database(tuned) as db:
        records = list(db)
        assert len(records) == len(db) == db.stats().records > 0
        r = records[0]
        assert r.workload.startswith("tensor") and r.times and r.median == np.median(r.times)
        assert r.version == tctune.library_version()
        best = db.records(verified=True, order="median", limit=1)
        assert len(best) == 1 and best[0].median == min(x.median for x in records if x.verified)
        assert db.records(after=records[-1].id) == [] and db.records(workload="none") == []
        tried = [x for x in records if x.mode == r.mode]  # the others are the verdict on the best and the default schedule
        assert len(db.records(workload=r.workload_hash, mode=r.mode, threads=1)) == len(tried) > 0
        assert len(db.records(threads=2)) == 0 and db.records(order="rank")
        assert str(r.id) in str(r) and r._repr_html_().count("<pre>") == 2 and db._repr_html_()
        for query, why in [({"order": "luck"}, "'id' or 'median' or 'rank', not 'luck'"), ({"mode": "warm"}, "warm"),
                           ({"limit": -1}, "limit: ")]:
            with pytest.raises(BadInput, match=why):
                db.records(**query)


def test_pages(tuned, monkeypatch):
    monkeypatch.setattr("tctune._database._PAGE", 3)
    with tctune.Database(tuned) as db:
        assert list(db) == db.records()


def test_columns(tuned):
    with tctune.Database(tuned) as db:
        columns, records = db.columns(verified=True), db.records(verified=True)
    assert columns["median"].dtype == np.float64 and columns["id"].tolist() == [r.id for r in records]
    assert columns["program"].dtype == np.uint64 and columns["verified"].all() and columns["mode"] == [r.mode for r in records]
    assert all(len(c) == len(records) for c in columns.values())
    assert all(len(c) == 0 for c in tctune.Records().columns().values())


def test_pandas(tuned):
    pandas = pytest.importorskip("pandas", reason="it needs python3-pandas")
    with tctune.Database(tuned) as db:
        frame = pandas.DataFrame(db.columns())
        assert len(frame) == len(db) and frame["median"].min() == min(r.median for r in db)


def test_markup_is_escaped():
    record = dict(id=1, workload="<b>&", target="", trace="", workload_hash="<i>", program=0, times=(), median=float("inf"),
                  mode="hot",
                  outcome="run_error", message="<script>", verified=False, max_error=0.0, threads=1, rounds=0, build_seconds=0.0,
                  run_seconds=0.0,
                  when_ms=0, host="<u>", version="", sizes="")
    r = tctune.Record(**record)
    for text in (r._repr_html_(), tctune.Records([r])._repr_html_()):
        assert not any(bad in text for bad in ("<b>", "<i>", "<u>", "<script>"))
    assert "&lt;script&gt;" in r._repr_html_() and "run_error: <script>" in str(r)


def test_exchange(copy, tuned, tmp_path):
    n = len(copy)
    assert copy.export("some.jsonl", limit=2) == 2 and copy.export("all.jsonl") == n
    with tctune.Database("other.db", "create") as other:
        assert other.add("all.jsonl")[0] == n and other.add(tuned) == (0, n) and len(other) == n
        with pytest.raises(TctuneError, match="none.jsonl"):
            other.add("none.jsonl")
        with open("bad.jsonl", "w", encoding="utf-8") as f:
            f.write("no record\n")
        with pytest.raises(BadInput, match="bad.jsonl"):
            other.add("bad.jsonl")
        assert len(other) == n


def test_exchange_of_files(tuned, copy):
    n = len(copy)
    copy.export("all.jsonl")
    assert tctune.add_files("joined.db", ["all.jsonl", tuned]) == [("all.jsonl", n, 0), (str(tuned), 0, n)]
    for files in (["all.jsonl", "none.jsonl"], "none.jsonl"):
        with pytest.raises(TctuneError, match="none.jsonl"):
            tctune.add_files("other.db", files)
    assert not os.path.exists("other.db")


def test_prune_and_verify(copy):
    assert copy.verify() == []
    n = len(copy)
    assert copy.prune(keep=1, drop_failures=True) == n - len(copy) and len([r for r in copy if r.mode != "in-graph"]) == 1
    with sqlite3.connect("copy.db") as c:
        c.execute("update records set trace = 'split nothing'")
    c.close()
    complaints = copy.verify()
    assert complaints and all(isinstance(x, str) for x in complaints)


def test_access(tuned):
    with tctune.Database(tuned, "read") as db:
        with pytest.raises(TctuneError, match="tuned.db"):
            db.prune(keep=1)
        assert len(db)
    for access in ("read", "change"):
        with pytest.raises(TctuneError, match="none.db"):
            tctune.Database("none.db", access)
    assert not os.path.exists("none.db")
    with pytest.raises(BadInput, match="access: expected .read. or .change. or .create., not 'w'"):
        tctune.Database(tuned, "w")
    with open("text.db", "w", encoding="utf-8") as f:
        f.write("this is no database, however long it gets" * 100)
    with pytest.raises(TctuneError, match="text.db"):
        tctune.Database("text.db")
    with pytest.raises(EnvironmentProblem, match="/no/such"):
        tctune.Database("/no/such/folder/x.db", "create")


def test_of_another_version(copy):
    copy.close()
    with sqlite3.connect("copy.db") as c:
        c.execute("pragma user_version = 4711")
    c.close()
    for access in ("read", "change", "create"):
        with pytest.raises(TctuneError, match="copy.db.*4711|4711.*copy.db"):
            tctune.Database("copy.db", access)


def test_locked(copy):
    """Others wait for the lock, and Python's threads do not wait for them; who keeps it for long is named."""
    c = sqlite3.connect("copy.db", isolation_level=None, check_same_thread=False)
    c.execute("begin immediate")
    done = []
    pruner = threading.Thread(target=lambda: done.append(copy.prune(keep=1)))
    pruner.start()
    assert not done
    c.execute("rollback")
    pruner.join()
    assert len(done) == 1
    if os.environ.get("TCTUNE_TEST_FULL"):
        c.execute("begin immediate")
        with pytest.raises(EnvironmentProblem, match="copy.db: another process has kept the database locked"):
            copy.prune(keep=1)
        c.execute("rollback")
    c.close()


def test_closed(copy):
    copy.close()
    for use in (copy.records, copy.stats, copy.verify, copy.columns, lambda: len(copy), lambda: list(copy), lambda: copy.add("x"),
                lambda: copy.export("x"), copy.prune, copy._repr_html_):
        with pytest.raises(Closed, match="this database was closed"):
            use()
