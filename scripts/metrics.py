#!/usr/bin/env python3
"""The shape of the source in figures: scripts/metrics.py [ROOT]

Each folder of src/ with its floor (cmake/floors.txt), its files and lines, and what it owns; the longest files; lengths of
functions; `default:` labels in switches; statements' and operators' mentions; lines in blocks of six or more that stand more than
once (blank lines, comments and lone brackets do not count, white space is folded). --short leaves out what the folders own."""
import collections
import os
import re
import sys
import textwrap

arguments = [a for a in sys.argv[1:] if a != "--short"]
root = arguments[0] if arguments else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
BLOCK = 6


def sources(folder):
    for at, folders, names in os.walk(os.path.join(root, folder)):
        folders.sort()
        for name in sorted(names):
            if name.endswith((".c", ".h", ".def")):
                path = os.path.join(at, name)
                with open(path) as f:
                    yield os.path.relpath(path, root), f.read()


def functions(text):
    """Lengths of functions: from the line that opens one in column 0 to its closing bracket."""
    lines, start = text.split("\n"), None
    for i, line in enumerate(lines):
        if start is None and re.match(r"^[a-zA-Z_].*\)\s*\{$", line) and not re.match(r"^(struct|enum|union|typedef)\b", line):
            start = i
            while start and re.match(r"^[a-zA-Z_ ].*[,(]$", lines[start - 1]):
                start -= 1
        elif start is None and re.match(r"^\s+.*\)\s*\{$", line) and i and re.match(r"^[a-zA-Z_].*\(.*,$", lines[i - 1]):
            start = i - 1
        elif start is not None and line == "}":
            yield i - start + 1
            start = None


def repeated(files):
    """Lines that belong to a block of BLOCK or more significant lines which stands in more than one place."""
    places, significant = collections.defaultdict(list), {}
    for path, text in files.items():
        text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m[0].count("\n"), text, flags=re.S)
        kept = [(n, " ".join(line.split())) for n, line in enumerate(text.split("\n"))]
        kept = [(n, line) for n, line in kept
                if line not in ("", "{", "}", "};", "});", ");") and not line.startswith(("#include", "//"))]
        significant[path] = kept
        for i in range(len(kept) - BLOCK + 1):
            places["\n".join(line for _, line in kept[i:i + BLOCK])].append((path, i))
    lines = set()
    for where in places.values():
        if len(where) > 1:
            lines.update((path, significant[path][i + k][0]) for path, i in where for k in range(BLOCK))
    return len(lines)


def floors():
    """(folder, floor, file that says what it owns), lowest floor first; none where a checkout has no such list."""
    path = os.path.join(root, "cmake/floors.txt")
    with open(path if os.path.exists(path) else os.devnull) as f:
        return [("src/" + row[2], int(row[1]), "src/" + row[3]) for row in map(str.split, f) if row[:1] == ["floor"]]


def owned(folder, head):
    text = re.sub(r"\s+", " ", re.sub(r"\n \*", "\n", head[:head.find("*/")]))
    found = re.search(re.escape(folder) + r" owns (.*?)\. Not here: ", text)
    return found[1] if found else ""


def room(path, known):
    """The folder of the list that a file belongs to, else its own folder."""
    folder = os.path.dirname(path)
    while folder not in known and "/" in folder:
        folder = os.path.dirname(folder)
    return folder if folder in known else os.path.dirname(path)


files = dict(sources("src"))
order = floors()
folders = {folder: [0, 0] for folder, _, _ in order}
for path, text in files.items():
    folder = folders.setdefault(room(path, folders), [0, 0])
    folder[0] += 1
    folder[1] += text.count("\n")
floor_of, file_of = {f: n for f, n, _ in order}, {f: name for f, _, name in order}
print("floor folder                         files   lines")
for name, (count, lines) in folders.items():
    print(f"{floor_of.get(name, ''):>5} {name:30} {count:5} {lines:7}")
    if name in file_of and "--short" not in sys.argv:
        print(textwrap.indent(textwrap.fill(owned(name, files.get(file_of[name], "")), 116), "        "))
print(f"{'sum':36} {len(files):5} {sum(f[1] for f in folders.values()):7}")
print("longest files: "
      + ", ".join(f"{p} {n}" for n, p in sorted(((t.count(chr(10)), p) for p, t in files.items()), reverse=True)[:6]))
lengths = sorted(n for p, t in files.items() if p.endswith(".c") for n in functions(t))
print(f"functions: {len(lengths)}; lines of them: median {lengths[len(lengths) // 2]}, "
      f"p90 {lengths[len(lengths) * 9 // 10]}, maximum {lengths[-1]}")
print("`default:` in switches:", sum(len(re.findall(r"^\s*default:", t, flags=re.M)) for t in files.values()),
      "; casts in `switch ((int)`:", sum(len(re.findall(r"switch \(\(int\)", t)) for t in files.values()))
print("files that name a statement's kind (TC_STMT_PREFETCH):", sum("TC_STMT_PREFETCH" in t for t in files.values()),
      "; operators named outside of their table and families:",
      sum(len(re.findall(r"TC_GRAPH_OP_[A-Z]", t)) for p, t in files.items()
          if not re.search(r"graph/(ops|onnx/import|shape_|eval_|lower_|import)", p)))
print(f"lines in repeated blocks of {BLOCK} or more:", repeated(files))
