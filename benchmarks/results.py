#!/usr/bin/env python3
"""RESULTS.md, made of the figures of the last runs: one file for each subject in benchmarks/results.

    benchmarks/results.py                  writes benchmarks/RESULTS.md
    benchmarks/results.py --check          fails where RESULTS.md is not what that would write
    benchmarks/results.py record SUBJECT   reads rows from standard input, puts them in the place of this machine's older rows with
                                           the same keys, and writes RESULTS.md

Benchmarks do the last with --record. Rows are JSON objects, one a line, or a list: {"rows": [..], "command": "..", "peers": {..}}.

A subject is a JSON object:

    title, about      the heading, and what is compared
    order             its place in RESULTS.md
    columns           key, title, and how a value is shown: text, count, time (three digits), ratio, percent (of a share), error;
                      "page": false leaves a column out of RESULTS.md
    key               the columns that name a row: a new row replaces the row with the same key
    shown             {column: [values]}: RESULTS.md shows these rows alone; sums and losses are of all
    split             a column: one table for each of its values
    group             {by: [columns], of: [{key, worst: highest|lowest}]}: a line for each value of `by`, with the geometric mean
                      and the worst of each `of`; it takes the place of the rows where the subject or a run is `brief`
    summary           [{of, by, worst: highest|lowest, name}]: the geometric mean and the worst row, called by its key column number
                      `name` (0)
    losses            {of, above|below, peer}: rows to name, because tctune lost there
    wanted            what the project wants of these figures
    runs              for each machine: machine, date, command, peers, note, rows; a row's own date counts before the run's

TCTUNE_RESULTS_MACHINE: this machine's name, where /proc/cpuinfo says too little. TCTUNE_RESULTS_COMMAND: the command of a run."""
import argparse
import datetime
import json
import math
import os
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDER = Path(os.environ.get("TCTUNE_RESULTS", HERE / "results"))
PAGE = Path(os.environ.get("TCTUNE_RESULTS_PAGE", HERE / "RESULTS.md"))
WIDTH = 132
FIELDS = {"title", "about", "order", "columns", "key", "shown", "split", "group", "brief", "summary", "losses", "wanted",
          "runs"}
RUN_FIELDS = {"machine", "date", "command", "peers", "note", "brief", "rows"}

HEAD = """# Results

<!-- benchmarks/results.py writes this page from benchmarks/results/*.json: change those. -->

The figures of the last runs, losses too. `benchmarks/results/*.json` has every row and column. [README.md](README.md) says how
programs take turns. Ratios are medians over the turns, means are geometric, and the worst value stands in brackets. "Of the peak"
counts the operations of direct forms against the f32 peak of the same run. 0 trials, "untuned" and "default" are the schedules of
the analytic model. Until 2026-11-26 the default accuracy allowed what `--accuracy fast` allows now. Figures of different machines
cannot be compared. [What was tried](../docs/explanation/experiments.md) is a page of its own.
"""


class Wrong(Exception):
    pass


def fail(message):
    raise Wrong(message)


# ---- numbers as text ----


def plain(text):
    """Without the zeros that end a fraction."""
    return text.rstrip("0").rstrip(".") if "." in text else text


def time(x):
    """Three digits, without an exponent."""
    return plain(f"{x:.{max(0, 2 - math.floor(math.log10(abs(x)) + 1e-12))}f}") if x else "0"


SHOW = {
    "text": str,
    "count": lambda x: f"{x:,.0f}",
    "time": time,
    "ratio": lambda x: f"{x:.2f}",
    "percent": lambda x: plain(f"{100 * x:.1f}"),
    "error": lambda x: f"{x:.1e}".replace("e-0", "e-").replace("e+00", ""),
}


def shown(column, row):
    value = row.get(column["key"])
    return "-" if value is None else SHOW[column["as"]](value)


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


# ---- one subject ----


def check(name, subject):
    """Says what is wrong with the file of a subject."""
    for field in ("title", "order", "columns", "key", "runs"):
        if field not in subject:
            fail(f"{name}: '{field}' is missing")
    unknown = set(subject) - FIELDS | {f for run in subject["runs"] for f in set(run) - RUN_FIELDS}
    if unknown:
        fail(f"{name}: unknown fields {', '.join(sorted(unknown))}")
    keys = {c["key"] for c in subject["columns"]}
    for c in subject["columns"]:
        if c["as"] not in SHOW:
            fail(f"{name}: column '{c['key']}' is shown as '{c['as']}'; there are {', '.join(SHOW)}")
    group = subject.get("group", {"by": [], "of": []})
    named = {*subject["key"], *subject.get("shown", {}), *group["by"], *(s["key"] for s in group["of"]),
             *(s["of"] for s in subject.get("summary", []))}
    if not named <= keys:
        fail(f"{name}: {', '.join(sorted(named - keys))}: there are no such columns")
    if any(x.get("brief") for x in (subject, *subject["runs"])) and not group["by"]:
        fail(f"{name}: 'brief' wants a 'group'")
    for run in subject["runs"]:
        if not run.get("machine") or not re.fullmatch(r"\d{4}-\d\d-\d\d", run.get("date", "")):
            fail(f"{name}: a run wants 'machine' and a 'date' as in 2026-11-21")
        seen = set()
        for row in run["rows"]:
            check_row(name, subject, row)
            if key_of(subject, row) in seen:
                fail(f"{name}: two rows are called {' '.join(key_of(subject, row))}")
            seen.add(key_of(subject, row))


def check_row(name, subject, row):
    unknown = set(row) - {c["key"] for c in subject["columns"]} - {"date"}
    if unknown:
        fail(f"{name}: a row has '{sorted(unknown)[0]}', which is none of its columns")
    for key in subject["key"]:
        if row.get(key) is None:
            fail(f"{name}: a row has no '{key}', which names it: {row}")
    for c in subject["columns"]:
        value = row.get(c["key"])
        if value is not None and isinstance(value, str) != (c["as"] == "text"):
            fail(f"{name}: '{c['key']}' is {value!r}, which is {'not a text' if c['as'] == 'text' else 'not a number'}: {row}")


def key_of(subject, row):
    return tuple(str(row.get(k)) for k in subject["key"])


def table(columns, rows):
    lines = ["| " + " | ".join(c["title"] for c in columns) + " |", "|" + "---|" * len(columns)]
    return lines + ["| " + " | ".join(shown(c, r) for c in columns) + " |" for r in rows]


def column(subject, key):
    return next(c for c in subject["columns"] if c["key"] == key)


def used(subject, rows, without=None):
    """Columns of the page that any of the rows fills."""
    seen = [c for c in subject["columns"] if c["key"] != without and c.get("page", True)]
    return [c for c in seen if any(r.get(c["key"]) is not None for r in rows)]


def values(rows, by):
    return list(dict.fromkeys(r.get(by) for r in rows))


def worst_of(spec, rows):
    return (max if spec["worst"] == "highest" else min)(rows, key=lambda r: r[spec.get("key") or spec["of"]])


def grouped(subject, rows):
    """A line for each group: the mean and the worst of some columns."""
    by, of = subject["group"]["by"], [s for s in subject["group"]["of"] if any(r.get(s["key"]) is not None for r in rows)]
    title = [f"{column(subject, s['key'])['title']} ({s['worst']})" for s in of]
    lines = ["| " + " | ".join([column(subject, b)["title"] for b in by] + title) + " |", "|" + "---|" * (len(by) + len(of))]
    for group in dict.fromkeys(tuple(r.get(b) for b in by) for r in rows):
        own, cells = [r for r in rows if tuple(r.get(b) for b in by) == group], []
        for s in of:
            show, have = SHOW[column(subject, s["key"])["as"]], [r for r in own if r.get(s["key"]) is not None]
            middle = show(mean([r[s["key"]] for r in have])) if have else "-"
            cells.append(f"{middle} ({show(worst_of(s, have)[s['key']])})" if len(have) > 1 else middle)
        lines.append("| " + " | ".join([shown(column(subject, b), own[0]) for b in by] + cells) + " |")
    return lines


def brief(subject, run):
    return run.get("brief", subject.get("brief"))


def summed(subject, run):
    """The means and worst rows that no table of groups tells."""
    lines, rows = [], run["rows"]
    told = subject["group"]["by"] if brief(subject, run) else []
    for s in subject.get("summary", []):
        if s.get("by") in told:
            continue
        title, said = column(subject, s["of"])["title"], []
        for value in values(rows, s["by"]) if "by" in s else [None]:
            own = [r for r in rows if r.get(s["of"]) is not None and ("by" not in s or r.get(s["by"]) == value)]
            if not own:
                continue
            worst = worst_of(s, own)
            which = f"{column(subject, s['by'])['title']} {value}: " if "by" in s else ""
            name = worst[subject["key"][s.get("name", 0)]]
            said.append(f"{which}mean **{mean([r[s['of']] for r in own]):.2f}**, {s['worst']} {worst[s['of']]:.2f} ({name})")
        if said:
            lines.append(f"{title}: {'; '.join(said)}.")
    return lines


def lost(subject, rows):
    spec = subject.get("losses")
    if not spec:
        return []
    of = spec["of"]
    bad = [r for r in rows if r.get(of) is not None and (r[of] > spec["above"] if "above" in spec else r[of] < spec["below"])]
    names = ", ".join(f"{' '.join(key_of(subject, r))} ({r[of]:.2f})" for r in bad)
    return [f"Losses to {spec['peer']}: {names or 'none'}."]


def dates(run):
    own = sorted({r.get("date", run["date"]) for r in run["rows"]} or {run["date"]})
    return own[0] if len(own) == 1 else f"{own[0]} to {own[-1]}"


def wrapped(text):
    """Lines of at most WIDTH characters; code is not torn apart."""
    lines, line = [], ""
    for word in re.findall(r"`[^`]*`\S*|\S+", text):
        if line and len(line) + 1 + len(word) > WIDTH:
            lines.append(line)
            line = ""
        line += (" " if line else "") + word
    return lines + [line]


def of_run(subject, run):
    rows, lines = run["rows"], []
    peers = ", ".join(f"{k} {v}" for k, v in run.get("peers", {}).items())
    lines += wrapped(f"**{run['machine']}**, {dates(run)}{', beside ' + peers if peers else ''}. "
                     + (f"`{run['command']}`. " if run.get("command") else "") + run.get("note", "")) + [""]
    only = subject.get("shown", {})
    seen = [r for r in rows if all(r.get(k) in v for k, v in only.items())]
    if brief(subject, run):
        lines += grouped(subject, rows)
    elif "split" in subject:
        for value in values(seen, subject["split"]):
            own = [r for r in seen if r.get(subject["split"]) == value]
            lines += [f"*{value}*", "", *table(used(subject, own, subject["split"]), own), ""]
        lines.pop()
    else:
        lines += table(used(subject, seen), seen)
    for line in (*summed(subject, run), *lost(subject, rows)):
        lines += ["", *wrapped(line)]
    return lines + [""]


def of_subject(subject):
    lines = [f"## {subject['title']}", ""]
    for text in (subject.get("about"), subject.get("wanted") and f"Wanted: {subject['wanted']}"):
        if text:
            lines += [*wrapped(text), ""]
    for run in subject["runs"]:
        lines += of_run(subject, run)
    return lines


# ---- all of them ----


def read(path):
    try:
        subject = json.loads(path.read_text())
    except (OSError, ValueError) as e:
        fail(f"{path}: {e}")
    check(path.name, subject)
    return subject


def page():
    subjects = sorted((read(p) for p in FOLDER.glob("*.json")), key=lambda s: s["order"])
    if not subjects:
        fail(f"{FOLDER} has no results")
    return HEAD + "\n" + "\n".join(line for s in subjects for line in of_subject(s)).rstrip() + "\n"


def architecture(family, model):
    """Virtual machines tell no more of an AMD processor than its family and its model. "": not one of those that are known here."""
    if family == 25:
        return "Zen 4" if 0x10 <= model < 0x20 or model >= 0x60 else "Zen 3"
    return "Zen 5" if family == 26 else ""


def this_machine():
    """What rows of one machine have in common. TCTUNE_RESULTS_MACHINE names it otherwise."""
    if "TCTUNE_RESULTS_MACHINE" in os.environ:
        return os.environ["TCTUNE_RESULTS_MACHINE"]
    lines = (line.partition(":") for line in Path("/proc/cpuinfo").read_text().splitlines())
    told = {key.strip(): value.strip() for key, _, value in lines}
    name = " ".join(re.sub(r"\((R|TM)\)", "", told.get("model name", "unknown processor")).split())
    amd = told.get("vendor_id") == "AuthenticAMD"
    kind = architecture(int(told.get("cpu family", 0)), int(told.get("model", 0))) if amd else ""
    return f"{name}{f' ({kind})' if kind else ''}, {os.cpu_count()} cores"


def named(command):
    """A command without the folders of this machine."""
    words = [w for w in command.split() if w != "--record"]
    return " ".join(re.sub(r"(^|=)(/|\.\./|~/)\S*/", r"\1", w) for w in words)


def told_rows(text):
    """What a benchmark says: an object with rows, or rows, one a line."""
    try:
        told = json.loads(text)
        return told if "rows" in told else {"rows": [told]}
    except ValueError:
        return {"rows": [json.loads(line) for line in text.splitlines() if line.strip()]}


def merge(name, subject, told):
    """The told rows in the place of this machine's older ones with the same keys."""
    machine, today = this_machine(), datetime.date.today().isoformat()
    run = next((r for r in subject["runs"] if r["machine"] == machine), None)
    if run is None:
        run = {"machine": machine, "date": today, "rows": []}
        subject["runs"].append(run)
    for field in ("command", "peers", "note"):
        if told.get(field):
            run[field] = told[field]
    if "TCTUNE_RESULTS_COMMAND" in os.environ:
        run["command"] = named(os.environ["TCTUNE_RESULTS_COMMAND"])
    for row in told["rows"]:
        row = {**row, "date": today}
        check_row(name, subject, row)
        at = next((i for i, old in enumerate(run["rows"]) if key_of(subject, old) == key_of(subject, row)), None)
        if at is None:
            run["rows"].append(row)
        else:
            run["rows"][at] = row
    check(name, subject)


def short(found):
    """A list or an object of plain values on one line, where that is short."""
    line = re.sub(r"\s*\n\s*", " ", found[0])
    line = re.sub(r"^([\[{]) | ([\]}])$", lambda m: m[1] or m[2], line)
    return line if len(line) <= WIDTH else found[0]


def write(path, subject):
    """JSON with a row on a line, so that a difference shows which rows changed."""
    frame = {**subject, "runs": [{**run, "rows": ["@"]} for run in subject["runs"]]}
    text = json.dumps(frame, indent=2, ensure_ascii=False)
    for _ in range(2):  # lists of objects, too
        text = re.sub(r"[\[{]\n[^\[\]{}]*[\]}]", short, text)
    for run in subject["runs"]:
        rows = ",\n".join("        " + json.dumps(r, ensure_ascii=False) for r in run["rows"])
        text = text.replace('["@"]', "[\n" + rows + "\n      ]", 1)
    path.write_text(text + "\n")


def record(name):
    path = FOLDER / f"{name}.json"
    if not path.exists():
        fail(f"there is no subject '{name}'; there are {', '.join(sorted(p.stem for p in FOLDER.glob('*.json')))}")
    subject = read(path)
    try:
        told = told_rows(sys.stdin.read())
        rows = told["rows"]
    except (ValueError, TypeError) as e:
        fail(f"record wants {{\"rows\": [..]}} as JSON on standard input, or a row on each line: {e}")
    if not rows:
        fail("there are no rows to record")
    merge(name, subject, told)
    write(path, subject)
    PAGE.write_text(page())
    print(f"{len(rows)} rows are recorded in {os.path.relpath(path)}; {os.path.relpath(PAGE)} is written")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--check", action="store_true", help="write nothing; fail where RESULTS.md is another")
    p.add_argument("what", nargs="*", metavar="record SUBJECT")
    o = p.parse_args()
    if o.what and (o.what[0] != "record" or len(o.what) != 2 or o.check):
        p.error("what follows is 'record SUBJECT', or nothing")
    try:
        if o.what:
            record(o.what[1])
        elif not o.check:
            PAGE.write_text(page())
        elif PAGE.read_text() != page():
            fail(f"{os.path.relpath(PAGE)} is not what its figures say: run benchmarks/results.py")
    except Wrong as e:
        sys.exit(f"results.py: {e}")


if __name__ == "__main__":
    main()
