#!/usr/bin/python3
"""What a call from Python costs beside one from C, of the same library: medians over turns.

    python_calls.py BENCH_API_CALLS LIBRARY.so PREFIX      the first: the program that times C's calls; PREFIX: of the
                                                           library's symbols; LIBRARY.so is built for one thread

TCTUNE_LIBRARY names libtctune, and PYTHONPATH the package."""
import re
import statistics
import subprocess
import sys
import time

import tctune

TURNS, TURN_SECONDS = 201, 0.01


def median_us(call):
    call()
    began = time.perf_counter()
    call()
    calls = 1 + int(TURN_SECONDS / (time.perf_counter() - began))
    turns = []
    for _ in range(TURNS):
        began = time.perf_counter()
        for _ in range(calls):
            call()
        turns.append((time.perf_counter() - began) / calls)
    return statistics.median(turns) * 1e6


def main():
    bench, library, prefix = sys.argv[1:]
    said = subprocess.run([bench, library, prefix, "1"], check=True, capture_output=True, text=True).stdout
    in_c = float(re.search(r"through the API ([\d.]+) us", said).group(1))
    with tctune.load(library, threads=1) as model:
        def zeros(ports):
            arrays = {}
            for name, p in ports.items():
                arrays[name] = tctune.empty(p.shape, p.dtype)
                arrays[name].fill(0)
            return arrays

        named, outputs = zeros(model.inputs), zeros(model.outputs)
        inputs = list(named.values())
        context = model.context()
        print(f"a call from C {in_c:.2f} us")
        for what, call in (("model(x)", lambda: model(*inputs)), ("model(name=x)", lambda: model(**named)),
                           ("context(x)", lambda: context(*inputs)),
                           ("context(x, out=y)", lambda: context(*inputs, out=outputs))):
            t = median_us(call)
            print(f"{what}: {t:.2f} us, {t - in_c:.2f} us more than from C")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main()
