"""What the tests of the report share: the command, databases that are the same everywhere, and ones that somebody spoilt."""
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile

import chromium

TCTUNE, FIXTURE = os.environ["TCTUNE"], os.environ["FIXTURE"]
HERE = os.path.dirname(os.path.abspath(__file__))
EVIL = "</script><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\"><!--"

BENCH = """{"name": "whole.onnx", "median_ms": 0.09, "min_ms": 0.08, "max_ms": 0.2, "repeats": 30, "peak_gflops": 40,
"triad_gbs": 8, "isa": "RVV", "threads": 1, "unit_peaks": {},
"kernels": [{"name": "one", "hash": "", "source": "default", "time_ms": 0.05}]}"""
CURVES = """{"name": "varying.onnx", "threads": 1, "repeats": 5, "curves": [{"over": "batch", "points": [
{"sizes": {"batch": 1}, "median_ms": 1, "min_ms": 0.9, "max_ms": 1.2, "repeats": 5},
{"sizes": {"batch": 8}, "median_ms": 4, "min_ms": 3.9, "max_ms": 4.4, "repeats": 5}]}]}"""


PEERS = """{"peers": [{"name": "ONNX Runtime", "median_ms": 0.12, "how": "1.26, 30 runs in turns"}]}"""
EXPLANATION = """{"answer": "Nothing within the space helps.", "hash": "%s", "spec": "1", "mode": "hot", "trials": [
{"kind": "change", "decision": "tile", "what": "4 in place of 8", "percent": 12.5, "low": 10, "high": 15, "rounds": 12,
 "failed": null},
{"kind": "change", "decision": "vector", "what": "none", "percent": null, "low": null, "high": null, "rounds": 0,
 "failed": "it does not build"}]}"""


def run(*arguments, code=0):
    """What the command printed."""
    p = subprocess.run([TCTUNE, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert p.returncode == code, f"{arguments}: exit status {p.returncode}, not {code}\n{p.stdout[-500:]}{p.stderr}"
    return p.stdout if code == 0 else p.stderr


def change(origin, name, *statements):
    """A copy of a database in which records were changed by hand."""
    for suffix in ("", "-wal", "-shm"):
        if os.path.exists(origin + suffix):
            shutil.copy(origin + suffix, name + suffix)
    db = sqlite3.connect(name)
    for s in statements:
        db.execute(*(s if isinstance(s, tuple) else (s,)))
    db.commit()
    db.close()


def scratch():
    """A new folder, which is the current one from now on, with the databases."""
    folder = tempfile.mkdtemp(prefix="report-")
    os.chdir(folder)
    subprocess.run([FIXTURE, "."], check=True)
    with open("bench.json", "w") as f:
        f.write(BENCH)
    with open("curves.json", "w") as f:
        f.write(CURVES)
    with open("peers.json", "w") as f:
        f.write(PEERS)
    with open("explained.json", "w") as f:
        f.write(EXPLANATION % sqlite3.connect("normal.db").execute("SELECT min(hash) FROM workloads").fetchone()[0])
    change("normal.db", "failures.db",
           "UPDATE records SET error = 'run_crash', median = NULL, times = x'', verified = 0, message = 'killed by signal 11'")
    change("normal.db", "hostile.db", ("UPDATE records SET message = ?, host = ?, tctune_version = ?", (EVIL,) * 3))
    change("normal.db", "broken.db",
           "UPDATE records SET trace = substr(trace, 1, 60) WHERE workload = (SELECT min(workload) FROM records)")
    return folder


def in_browser(names):
    """Runs each function named test_... of a module, with a browser, in a new folder. Exit status 77: there is no Chromium."""
    if not chromium.program():
        print("skipped: there is no Chromium (scripts/install-deps.sh --browser)")
        sys.exit(77)
    scratch()
    browser = chromium.Browser()
    try:
        for name, test in list(names.items()):
            if name.startswith("test_"):
                test(browser)
                print(name, flush=True)
    finally:
        browser.close()
