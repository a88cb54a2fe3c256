#!/usr/bin/python3
"""Networks in which something elementwise makes the operand of a contraction, built with the two as one kernel and apart, in turns:

    dequantise  bytes of an activation, before a matmul in f32
    scale       a squeeze-and-excitation block and the 1 x 1 convolution behind it
    norm        layer normalisation before a matmul, as transformers have it before their feed-forward layers
    cast        f16 to f32 before a matmul

Both are built from the records of one search. The build with kernels apart does not get the records of the joint kernels. For the
build with joint kernels, records of the parts count as ten times slower, so that it has joint kernels also where a build would not
choose them. TCTUNE names the command; else that of build/release is used."""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper

ROOT = pathlib.Path(__file__).resolve().parent.parent
TCTUNE = os.environ.get("TCTUNE", str(ROOT / "build/release/bin/tctune"))
RNG = np.random.default_rng(1)

# ---- the models ----


def weights(name, *shape):
    return numpy_helper.from_array((RNG.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32), name)


def number(name, value, dtype):
    return numpy_helper.from_array(np.array(value, dtype), name)


def model(name, dtype, shape, nodes, constants, result):
    graph = h.make_graph(nodes, name, [h.make_tensor_value_info("x", dtype, shape)],
                         [h.make_tensor_value_info("y", T.FLOAT, result)], constants)
    made = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(made)
    return made


def dense(name, dtype, rows, k, n, producer, constants):
    nodes = [producer, h.make_node("MatMul", ["p", "w"], ["m"], "dense"), h.make_node("Add", ["m", "b"], ["y"], "bias")]
    return model(name, dtype, [rows, k], nodes, constants + [weights("w", k, n), weights("b", n)], [rows, n])


def dequantise(rows=128, k=768, n=768):
    producer = h.make_node("DequantizeLinear", ["x", "s", "z"], ["p"], "dequantise")
    return dense("dequantise", T.UINT8, rows, k, n, producer, [number("s", 0.02, np.float32), number("z", 121, np.uint8)])


def norm(rows=128, k=768, n=768):
    producer = h.make_node("LayerNormalization", ["x", "g", "o"], ["p"], "norm")
    return dense("norm", T.FLOAT, rows, k, n, producer, [weights("g", k), weights("o", k)])


def cast(rows=256, k=512, n=512):
    return dense("cast", T.FLOAT16, rows, k, n, h.make_node("Cast", ["x"], ["p"], "cast", to=T.FLOAT), [])


def scale(side=56, channels=96, squeezed=24, n=48):
    nodes = [
        h.make_node("GlobalAveragePool", ["x"], ["a"], "pool"),
        h.make_node("Conv", ["a", "w1", "b1"], ["s"], "squeeze"),
        h.make_node("Relu", ["s"], ["r"], "relu"),
        h.make_node("Conv", ["r", "w2", "b2"], ["e"], "excite"),
        h.make_node("HardSigmoid", ["e"], ["g"], "gate", alpha=1 / 6),
        h.make_node("Mul", ["x", "g"], ["p"], "scale"),
        h.make_node("Conv", ["p", "w3", "b3"], ["y"], "project"),
    ]
    constants = [weights("w1", squeezed, channels, 1, 1), weights("b1", squeezed), weights("w2", channels, squeezed, 1, 1),
                 weights("b2", channels), weights("w3", n, channels, 1, 1), weights("b3", n)]
    return model("scale", T.FLOAT, [1, channels, side, side], nodes, constants, [1, n, side, side])


# ---- building ----


def tctune(*args):
    done = subprocess.run([TCTUNE, *map(str, args)], check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout


def spare_kernels(model_file, threads):
    """Hashes of the kernels that could run in place of others."""
    kernels = json.loads(tctune("show", "--model", model_file, "--threads", threads, "--untuned", "--json"))["kernels"]
    return {k["hash"] for k in kernels if k["instead_of_others"]}


def database(records, out):
    lines = out.with_suffix(".jsonl")
    lines.write_text("".join(json.dumps(r) + "\n" for r in records))
    out.unlink(missing_ok=True)
    tctune("db", "import", "--db", out, lines)
    return out


def slower(record):
    return {**record, "median": 10 * record["median"], "times": [10 * t for t in record["times"]]}


def databases(model_file, db, folder, threads):
    """One from which the parts are built as one kernel, and one from which they are built apart."""
    spare, lines = spare_kernels(model_file, threads), folder / "all.jsonl"
    tctune("db", "export", "--db", db, "--out", lines)
    records = [r for r in map(json.loads, lines.open()) if "workload_hash" in r and r["error"] == "ok"]
    one = [r if r["workload_hash"] in spare else slower(r) for r in records]
    apart = [r for r in records if r["workload_hash"] not in spare]
    return database(one, folder / "one.db"), database(apart, folder / "apart.db")


def build(model_file, db, library, threads):
    tctune("build", "--model", model_file, "--db", db, "--threads", threads, "--accuracy", "strict", "--out", library)


# ---- timing ----


def time(library, threads, repeats):
    r = json.loads(tctune("bench", "--model", library, "--threads", threads, "--repeats", repeats, "--json"))
    return r["min_ms"], r["median_ms"]


def compare(name, a, o):
    folder = pathlib.Path(o.folder) / name
    folder.mkdir(parents=True, exist_ok=True)
    model_file, db = folder / f"{name}.onnx", o.db or folder / "all.db"
    onnx.save(a(), model_file)
    if o.trials:
        tctune("tune", "--model", model_file, "--db", db, "--threads", o.threads, "--trials", o.trials, "--accuracy", "strict")
    one, apart = databases(model_file, db, folder, o.threads)
    build(model_file, one, folder / "one.so", o.threads)
    build(model_file, apart, folder / "apart.so", o.threads)
    turns = []
    for i in range(o.turns):
        order = ("one", "apart") if i % 2 else ("apart", "one")
        turns.append({which: time(folder / f"{which}.so", o.threads, o.repeats) for which in order})
    best = {which: min(t[which][0] for t in turns) for which in ("one", "apart")}
    ratios = sorted(t["apart"][1] / t["one"][1] for t in turns)
    print(f"{name:12} best of all runs: apart {best['apart']:.3f} ms, one {best['one']:.3f} ms, "
          f"{best['apart'] / best['one']:.2f} x; "
          f"turns' medians: {statistics.median(ratios):.2f} x ({ratios[0]:.2f} to {ratios[-1]:.2f})", flush=True)
    return {"name": name, "apart_ms": best["apart"], "one_ms": best["one"], "best": round(best["apart"] / best["one"], 3),
            "turns": round(statistics.median(ratios), 3)}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--folder", default="/tmp/producers", help="for models, databases and libraries")
    p.add_argument("--db", help="a database to use and go on with; default one for each model, in its folder")
    p.add_argument("--trials", type=int, default=300, help="of each model; 0: only what the database holds")
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--turns", type=int, default=7)
    p.add_argument("--repeats", type=int, default=100, help="runs in a turn")
    p.add_argument("--record", action="store_true", help="put the figures into benchmarks/results and RESULTS.md")
    o = p.parse_args()
    rows = [compare(a.__name__, a, o) for a in (dequantise, scale, norm, cast)]
    if o.record:
        command = {"TCTUNE_RESULTS_COMMAND": " ".join(["benchmarks/producers.py", *sys.argv[1:]])}
        subprocess.run([ROOT / "benchmarks/results.py", "record", "producers"], input=json.dumps({"rows": rows}), text=True,
                       check=True, env={**os.environ, **command})


if __name__ == "__main__":
    main()
