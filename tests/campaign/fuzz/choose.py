#!/usr/bin/env python3
"""The smallest corpus that is worth keeping: the files that together reach most, of those that libFuzzer's control file of a
merge (-set_cover_merge=1) tells of.

    choose.py CONTROL FOLDER      replaces the files of FOLDER that an earlier choice wrote

Files of FOLDER that a person named stay, and the choice adds to what they reach."""
import hashlib
import os
import re
import sys

MOST_FILES, MOST_BYTES, MOST_OF_ONE = 30, 100_000, 20_000


def read(control):
    """[(path, size, features)]"""
    with open(control, encoding="utf-8") as f:
        n = int(f.readline())
        f.readline()
        paths = [f.readline().rstrip("\n") for _ in range(n)]
        sizes, features = {}, {}
        for line in f:
            what, *numbers = line.split()
            if what == "STARTED":
                sizes[int(numbers[0])] = int(numbers[1])
            elif what == "FT":
                features[int(numbers[0])] = set(map(int, numbers[1:]))
    return [(paths[i], sizes[i], features[i]) for i in features if sizes[i] <= MOST_OF_ONE]


def is_chosen(name):
    return re.fullmatch("[0-9a-f]{16}", name)


def choose(files, reached, room):
    chosen = []
    while len(chosen) < MOST_FILES:
        left = [f for f in files if f[1] <= room and f[2] - reached]
        if not left:
            break
        best = max(left, key=lambda f: (len(f[2] - reached), -f[1]))
        chosen.append(best)
        reached |= best[2]
        room -= best[1]
    return chosen, reached


def main():
    control, folder = sys.argv[1:]
    files = read(control)
    named = [f for f in files if os.path.dirname(f[0]) == folder and not is_chosen(os.path.basename(f[0]))]
    room = MOST_BYTES - sum(f[1] for f in named)
    chosen, reached = choose(files, set().union(*(f[2] for f in named)), room)
    contents = []
    for path, _, _ in chosen:
        with open(path, "rb") as f:
            contents.append(f.read())
    os.makedirs(folder, exist_ok=True)
    for name in filter(is_chosen, os.listdir(folder)):
        os.unlink(os.path.join(folder, name))
    for data in contents:
        with open(os.path.join(folder, hashlib.sha1(data).hexdigest()[:16]), "wb") as f:
            f.write(data)
    every = set().union(*(f[2] for f in files)) if files else set()
    size = sum(f[1] for f in named + chosen)
    print(f"{folder}: {len(named)} named files and {len(chosen)} of {len(files)} others, {size} bytes, "
          f"{len(reached)} of {len(every)} features")


main()
