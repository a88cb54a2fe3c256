#!/usr/bin/env python3
"""Do two builds of tctune make the same programs of the same records?

    scripts/same-programs.py OLD NEW [--every N] RECORDS.jsonl|RECORDS.db ...

OLD and NEW are two `tctune` commands. Each record's trace is replayed on its workload by both: `db verify` of NEW compares the
hash of the nest with the one that was recorded, and of every N-th record (default 1: all) both builds' lowered programs
(`show --print tir`) are compared to the letter. Exits 1 with a list where any differs."""
import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser(usage="%(prog)s OLD NEW [--every N] RECORDS.jsonl|RECORDS.db ...")
parser.add_argument("old")
parser.add_argument("new")
parser.add_argument("records", nargs="+")
parser.add_argument("--every", type=int, default=1)
args = parser.parse_args()


def run(*command):
    return subprocess.run(command, capture_output=True, text=True)


def records_of(path, scratch):
    """The file as a database and as the list of its records."""
    if path.endswith(".jsonl"):
        db, lines = os.path.join(scratch, os.path.basename(path) + ".db"), path
        done = run(args.new, "db", "import", path, "--db", db)
    else:
        db, lines = path, os.path.join(scratch, os.path.basename(path) + ".jsonl")
        done = run(args.new, "db", "export", "--db", path, "--out", lines)
    if done.returncode != 0:
        sys.exit(f"{path}: {done.stderr}")
    with open(lines) as f:
        return db, [json.loads(line) for line in f]


def lowered(tctune, folder, record):
    done = run(tctune, "show", "--te", f"{folder}/w.te", "--sched", f"{folder}/s.sched", "--threads", str(record["threads"]),
               "--target", record["target"], "--print", "tir")
    return done.stdout if done.returncode == 0 else f"exit {done.returncode}: {done.stderr}"


def compare(scratch, number, record):
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        for name, text in (("w.te", record["workload"]), ("s.sched", record["trace"])):
            with open(f"{folder}/{name}", "w") as f:
                f.write(text)
        old, new = (lowered(tctune, folder, record).replace(folder, "") for tctune in (args.old, args.new))
    return number, old, new


bad = 0
with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    for path in args.records:
        db, records = records_of(path, scratch)
        verified = run(args.new, "db", "verify", "--db", db)
        print(verified.stdout.strip() or verified.stderr.strip())
        bad += verified.returncode != 0 or " 0 of them to another program" not in verified.stdout
        chosen = [(i, r) for i, r in enumerate(records) if i % args.every == 0]
        failed = same = 0
        for number, old, new in pool.map(lambda item: compare(scratch, *item), chosen):
            failed += old.startswith("exit ")
            same += old == new
            if old != new:
                print(f"{path}: record {number} is lowered to another program:\n{old[:400]}\n---\n{new[:400]}")
        print(f"{path}: {same} of {len(chosen)} programs are the same when lowered, {failed} of which are refused by both")
        bad += len(chosen) - same
sys.exit(bad != 0)
