"""Records as JSON lines and as rows of a database: bombs in each of their fields. Workloads and traces are bombs of kernels.py and
schedules.py, under the hash of their text, so that they are read."""

import json
import os
import shutil
import sqlite3
import subprocess

import kernels
import schedules

NAME = "records"
SUFFIX = ".json"
COMMANDS = [
    "db import {bomb} --db {scratch}.db",
    "db stats --db {folder}/bomb.db",
    "db verify --db {folder}/bomb.db",
    "db merge {folder}/bomb.db --db {scratch}.merged.db",
    "report --db {folder}/bomb.db -o {scratch}.html",
    "show --te {folder}/kernel.te --db {folder}/bomb.db",
]

good = {}  # the record that bombs are made of


def prepare(folder):
    """A record and a database as tctune makes them. What reports say of the machine's caches is measured here: it takes seconds."""
    schedules.prepare(folder)
    run = [os.environ["TCTUNE"], "tune", "--te", f"{folder}/kernel.te", "--trials", "1", "--threads", "1",
           "--db", f"{folder}/good.db"]
    subprocess.run(run, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for walk in range(3):
        subprocess.run([run[0], "report", "--db", f"{folder}/good.db", "-o", f"{folder}/good.html"], check=True,
                       stdout=subprocess.DEVNULL)
    subprocess.run([run[0], "db", "export", "--db", f"{folder}/good.db", "-o", f"{folder}/good.json"], check=True,
                   stdout=subprocess.DEVNULL)
    with open(f"{folder}/good.json") as f:
        good.update(json.loads(f.readline()))


# ---- the hash of a text (src/support/hash.c) ----

M64 = 2**64 - 1


def mix(a, b):
    p = a * b
    return ((a + 0x9E3779B97F4A7C15) ^ (b << 32 | b >> 32) ^ p ^ (p >> 64)) & M64


def hash_with(a, b, data, seed):
    h = mix(seed ^ a, b)
    at, left = 0, len(data)
    while left > 16:
        h = mix(int.from_bytes(data[at : at + 8], "little") ^ a ^ h, int.from_bytes(data[at + 8 : at + 16], "little") ^ b)
        at += 16
        left -= 16
    low = min(left, 8)
    h = mix(int.from_bytes(data[at : at + low], "little") ^ a ^ h, int.from_bytes(data[at + low : at + left], "little") ^ b)
    return mix(h ^ len(data), b ^ 0x9E3779B97F4A7C15)


def digest(text):
    data = text.encode()
    return "%016x%016x" % (hash_with(0x243F6A8885A308D3, 0x13198A2E03707345, data, 1),
                           hash_with(0xA4093822299F31D1, 0x082EFA98EC4E6C89, data, 2))


# ---- files ----


def with_fields(**fields):
    for name in ("trace", "target"):
        if name in fields:
            fields[name + "_hash"] = digest(fields[name])
    return {"record": {**good, **fields}}


def with_json(text):
    return {"text": text}


def plain(size):
    return with_fields(message=("plain " * (size // 6))[:size])


def write(path, bomb):
    """The record as a line; and as a row, where its text is a record."""
    with open(path, "w") as f:
        f.write(bomb["text"] if "text" in bomb else json.dumps(bomb["record"]) + "\n")
    folder = os.path.dirname(path)
    shutil.copy(f"{folder}/good.db", f"{folder}/bomb.db")
    if "record" not in bomb:
        return
    r = bomb["record"]
    db = sqlite3.connect(f"{folder}/bomb.db")
    db.execute("UPDATE workloads SET text = ?", (r["workload"],))
    db.execute("UPDATE targets SET text = ?", (r["target"],))
    db.execute("UPDATE records SET trace = ?, trace_hash = ?, message = ?, host = ?, sizes = ?, phase = ?",
               (r["trace"], r["trace_hash"], r["message"], r["host"], r.get("sizes", ""), r.get("phase", "")))
    db.commit()
    db.close()


# ---- fields ----


def workload(rng, size):
    return with_fields(workload=rng.choice(kernels.BOMBS)(rng, size))


def trace(rng, size):
    return with_fields(trace=rng.choice(schedules.BOMBS)(rng, size))


def target(rng, size):
    return with_fields(target=rng.choice([good["target"] + "x" * size, "+a" * (size // 2), "{" * size, "\n" * size]))


def message(rng, size):
    return with_fields(message=rng.choice(["\n", "\t", "m", "\u00e9", "\\"]) * (size // 2), host="h" * (size // 3))


def sizes(rng, size):
    return with_fields(sizes=",".join(["1"] * (size // 2)))


def words(rng, size):
    return with_fields(job="j" * (size // 2), phase="p" * (size // 2))


def times(rng, size):
    n = size // 6
    return with_fields(times=[1e-6] * n, median=1e-6)


# ---- JSON ----


def nested_arrays(rng, size):
    n = min(size // 2, rng.choice([2000, 10**6]))
    return with_json('{"times":' + "[" * n + "]" * n + "}\n")


def nested_objects(rng, size):
    n = min(size // 6, rng.choice([2000, 10**6]))
    return with_json('{"a":' * n + "1" + "}" * n + "\n")


def open_brackets(rng, size):
    return with_json(rng.choice(["[", '{"a":', '{"a":[', '"', "\\"]) * (size // 3))


def many_keys(rng, size):
    return with_json(json.dumps({**good, **{f"key{k}": k for k in range(size // 14)}}) + "\n")


def same_keys(rng, size):
    return with_json("{" + ",".join(['"error":"ok"'] * (size // 13)) + "}\n")


def json_numbers(rng, size):
    number = rng.choice(["9" * size, "1e" + "9" * size, "-" + "0" * size, "0." + "9" * size])
    return with_json(json.dumps({**good, "median": 0}).replace('"median": 0', '"median": ' + number) + "\n")


def escapes(rng, size):
    return with_json(json.dumps(good).replace('"message": "', '"message": "' + rng.choice(["\\u0041", "\\n", "\\ud800\\udc00"]) *
                                              (size // 12)) + "\n")


def many_lines(rng, size):
    line = rng.choice(["{}\n", "\n", " \n", "0\n", '{"a":1}\n', json.dumps(good) + "\n"])
    return with_json(line * (size // len(line)))


BOMBS = [workload, trace, target, message, sizes, words, times, nested_arrays, nested_objects, open_brackets, many_keys, same_keys,
         json_numbers, escapes, many_lines]
REPEATED = {"workload": len(kernels.BOMBS), "trace": len(schedules.BOMBS)}
