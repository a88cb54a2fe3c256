#!/usr/bin/python3
"""A library that stays loaded between its turns.

    serve_library.py LIBRARY.so FOLDER THREADS      FOLDER: its inputs, as input_N.pb

Obeys lines on its standard input: "run K" says the median of K runs as {"median_ms": ..}, "quit" ends it. TCTUNE_LIBRARY names
libtctune, and PYTHONPATH the package."""
import json
import sys

import tctune


def say(what):
    print(json.dumps(what), flush=True)


def main():
    library, folder, threads = sys.argv[1:]
    with tctune.load(library, threads=int(threads)) as model:
        say({"ready": True})
        for line in sys.stdin:
            command = line.split()
            if command == ["quit"]:
                return
            say({"median_ms": model.bench(inputs=folder, repeats=int(command[1]))["median_ms"]})


main()
