#!/usr/bin/env python3
"""Holds the documentation against the project.

  pages.py check           every link and every path that a page names is there, every option that it names is one of a command's,
                           every block of code says what it is, and every page is reached from docs/README.md; where Doxygen is,
                           every function and type of the headers is documented
  pages.py run PAGE        runs the page: its commands in one shell in a scratch folder, and compares what they print
  pages.py refuses PAGE..  pages that are wrong, of which the first line says how: <!-- refused: TEXT -->

A page's blocks of code have one of these languages:

  console   a session: lines that begin with `$ ` are commands, the lines after them what they print; a command that ends in \\
            goes on in the next line
  te        a kernel, which is read
  sched     a schedule, which is applied (schedule directive below)
  c         a translation unit, which is compiled; with the directive `body`, statements of one
  cmake python json yaml text
            shown only, unless `file` writes them somewhere

In what a command prints, numbers with a point, a unit or an exponent, times of day, dates and hashes may be any of their kind;
white space may be any. `...` alone in a line stands for any lines, elsewhere for any text. A command without lines after it may
print anything. Each command must succeed.

A comment before a block says more of it:

  <!-- test: file NAME -->               it is written to NAME in the scratch folder
  <!-- test: schedule FILE.te OPTIONS --> the kernel (and options of `tctune show`) that a sched block is for
  <!-- test: body -->                    statements, not a translation unit
  <!-- test: not run: REASON -->         it cannot be run here
  <!-- test: long: REASON -->            it is run where TCTUNE_TEST_FULL is set, and not under sanitizers
  <!-- test: not compared: REASON -->    its commands must succeed, but what they print differs from run to run

and, between blocks,

  <!-- test: run COMMAND -->             what the reader has already: runs COMMAND, in which $SOURCE is the source

TCTUNE: the command. TCTUNE_CFLAGS: what `cc` is given besides, where the library is built with sanitizers."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import commands

ROOT = Path(__file__).resolve().parents[2]
FULL = "TCTUNE_TEST_FULL" in os.environ and "TCTUNE_CFLAGS" not in os.environ
TESTED = {"console", "te", "sched", "c"}
SHOWN = {"cmake", "python", "json", "yaml", "text"}
# What a busy machine adds to what is printed.
BUSY = re.compile(r"(tctune: warn: )?the machine was busy in")


class Wrong(Exception):
    pass


# ---- a page's parts ----


class Block:
    def __init__(self, line, language):
        self.line, self.language, self.lines, self.orders = line, language, [], []

    def text(self):
        return "\n".join(self.lines) + "\n"

    def order(self, name):
        for o in self.orders:
            if o == name or o.startswith(name + " ") or o.startswith(name + ":"):
                return o[len(name):].lstrip(": ")
        return None


def parts(page):
    """What a page has, in order: blocks, and commands that it hides as (line, command)."""
    found, orders, block, blank = [], [], None, True
    for n, line in enumerate(page.read_text().splitlines(), 1):
        where = f"{page.relative_to(ROOT)}:{n}"
        fence = re.match(r"```(\S*)\s*$", line)
        if block is not None:
            if fence:
                block = None
            else:
                block.lines.append(line)
            continue
        if fence:
            block = Block(n, fence[1])
            block.orders, orders = orders, []
            found.append(block)
            continue
        order = re.match(r"<!-- test: (.*?) -->$", line)
        if order and order[1].startswith("run "):
            found.append((n, order[1][4:]))
        elif order:
            orders.append(order[1])
        elif orders:
            raise Wrong(f"{where}: no block of code follows the comment")
        if blank and line.startswith("    ") and line.strip():
            raise Wrong(f"{where}: code stands between ``` with a language, not behind spaces")
        blank = not line.strip()
    if block is not None or orders:
        raise Wrong(f"{page.relative_to(ROOT)}: a block of code does not end")
    return found


def blocks(page):
    return [b for b in parts(page) if isinstance(b, Block)]


def prose(page):
    """Lines outside of blocks, with their numbers."""
    inside = False
    for n, line in enumerate(page.read_text().splitlines(), 1):
        if line.startswith("```"):
            inside = not inside
        elif not inside:
            yield n, line


# ---- what is printed, compared ----

TIME, SIZE = r"(?:ns|us|ms|s|min)", r"(?:B|KiB|MiB|GiB)"
KINDS = [  # what is shown, and what may stand there
    (r"\d{4}-\d\d-\d\d", r"\d{4}-\d\d-\d\d"),
    (r"\d+:\d\d(?!\d)", r"\d+:\d\d"),
    (rf"\d[\d.]* ?{TIME}(?![\w/])", rf"(?:\d[\d.]*(?:e[-+]?\d+)? ?{TIME}|-)"),
    (rf"\d[\d.]* ?{SIZE}(?!\w)", rf"\d[\d.]* ?{SIZE}"),
    (r"-?\d[\d.]*(?= (?:%|GFLOP/s|MFLOP|GB/s|dB|bytes|trials/s))", r"-?[\d.]+(?:e[-+]?\d+)?"),
    # A search ends early where all kernels are at their roof: how many trials that takes differs from machine to machine.
    (r"[1-9]\d*(?= of \d+ trials| valid,)", r"\d+"),
    (r"(?<=measured )[1-9]\d*(?= in this run)", r"\d+"),
    (r"\b(?=[0-9a-f]*[0-9])[0-9a-f]{32}\b", r"[0-9a-f]{32}"),
    (r"\b(?=[0-9a-f]*[0-9])[0-9a-f]{16}\b", r"[0-9a-f]{16}"),
    (r"\b(?=[0-9a-f]*[0-9])[0-9a-f]{8}\b", r"[0-9a-f]{8}"),
    (r"-?\d+\.\d+(?:e[-+]?\d+)?(?![\w.])", r"(?:-?\d+(?:\.\d+)?(?:e[-+]?\d+)?|-)"),
    (r"\.\.\.", r".*"),
    (r"\s+", r"\s+"),
]
KIND = re.compile("|".join(f"({shown})" for shown, _ in KINDS))


def pattern(line):
    line, out, at = line.strip(), "", 0
    for m in KIND.finditer(line):
        out += re.escape(line[at:m.start()]) + KINDS[m.lastindex - 1][1]
        at = m.end()
    return re.compile(out + re.escape(line[at:]))


def compare(shown, printed):
    """None, or the line of `shown` that nothing printed fits."""
    printed = [p.strip() for p in printed if p.strip() and not BUSY.match(p)]
    shown = [s for s in shown if s.strip()]
    # reached[i]: how many lines of `printed` may have been used up before shown[i].
    reached, furthest = {0}, 0
    for i, line in enumerate(shown):
        if line.strip() == "...":
            reached = set(range(min(reached), len(printed) + 1))
            continue
        fits = pattern(line)
        reached = {p + 1 for p in reached if p < len(printed) and fits.fullmatch(printed[p])}
        if not reached:
            return line
    return None if len(printed) in reached else "(the end)"


def session(block):
    """Commands of a console block with what they print: (line, command, lines)."""
    commands, goes_on = [], False
    for n, line in enumerate(block.lines, block.line + 1):
        if goes_on:
            commands[-1][1] += "\n" + line
        elif line.startswith("$ "):
            commands.append([n, line[2:], []])
        elif commands:
            commands[-1][2].append(line)
        elif line.strip():
            raise Wrong(f"line {n}: a session begins with a command")
        goes_on = commands and (goes_on or line.startswith("$ ")) and line.endswith("\\")
    return commands


# ---- a page, run ----


def compile_command(block, name):
    text = block.text()
    if block.order("body") is not None:
        heads = [l for l in block.lines if l.startswith("#include")]
        rest = [l for l in block.lines if not l.startswith("#include")]
        text = "\n".join(heads + ["void body(void);", "void body(void) {"] + rest + ["}", ""])
    flags = "-std=c17 -D_GNU_SOURCE -fsyntax-only -Wall -Wextra -Werror -Wno-unused-variable -Wno-unused-but-set-variable"
    return text, f'cc {flags} -I. -I"$SOURCE/include" -x c "{name}"'


def steps(page, scratch):
    """What a page asks for, in order: (line, command, lines that it prints or None), and what is left out as texts."""
    asked, left_out = [], []
    for part in parts(page):
        if not isinstance(part, Block):
            asked.append((part[0], part[1], None))
            continue
        reason = part.order("not run")
        if reason is None and part.order("long") is not None and not FULL:
            reason = part.order("long")
        if reason is not None:
            left_out.append(f"line {part.line}: {reason}")
            continue
        name = scratch / f"block{part.line}"
        text, check = part.text(), None
        if part.language == "te":
            check = f'tctune show --te "{name}" --untuned --print workload'
        elif part.language == "sched":
            check = f'tctune show --te {part.order("schedule")} --sched "{name}" --print nest'
        elif part.language == "c":
            text, check = compile_command(part, name)
        name.write_text(text)
        if part.order("file") is not None:
            asked.append((part.line, f'cp "{name}" {part.order("file")}', None))
        if check:
            asked.append((part.line, check, None))
        if part.language == "console":
            if (why := part.order("not compared")) is not None:
                left_out.append(f"line {part.line}, what it prints: {why}")
            asked += [(n, command, lines if lines and why is None else None) for n, command, lines in session(part)]
    return asked, left_out


def environment(scratch):
    tctune = Path(os.environ["TCTUNE"]).resolve()
    (scratch / "tctune.pc").write_text(
        f"Name: tctune\nDescription: as built\nVersion: 0\nCflags: -I{ROOT}/include\n"
        f"Libs: -L{tctune.parents[1]}/lib -Wl,-rpath,{tctune.parents[1]}/lib -ltctune\n")
    path = f"{tctune.parent}:{os.environ['PATH']}"
    if flags := os.environ.get("TCTUNE_CFLAGS"):
        (tools := scratch / "bin").mkdir()
        (tools / "cc").write_text(f'#!/bin/sh\nexec {shutil.which("cc")} {flags} "$@"\n')
        (tools / "cc").chmod(0o755)
        path = f"{tools}:{path}"
    return dict(os.environ, PATH=path, SOURCE=str(ROOT), PKG_CONFIG_PATH=str(scratch),
                LC_ALL="C.UTF-8")


def run(page):
    page = Path(page).resolve()
    scratch = Path(tempfile.mkdtemp(prefix="docs-"))
    try:
        work = scratch / "work"
        work.mkdir()
        asked, left_out = steps(page, scratch)
        script = ""
        for i, (_, command, _) in enumerate(asked):
            script += f'began=$EPOCHREALTIME\n{{ {command}\n}} </dev/null >"{scratch}/out{i}" 2>&1\n'
            script += f'status=$?; echo $status $began $EPOCHREALTIME >"{scratch}/status{i}"; [ $status = 0 ] || exit\n'
        (scratch / "script").write_text(script)
        subprocess.run(["bash", scratch / "script"], cwd=work, env=environment(scratch), timeout=600, check=False)
        wrong = [text for i, step in enumerate(asked) if (text := judge(scratch, i, step))]
        slow = [text for i, step in enumerate(asked) if (text := slowness(scratch, i, step))]
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    shown = sum(lines is not None for _, _, lines in asked)
    print(f"{page.relative_to(ROOT)}: {len(asked)} commands run, what {shown} of them print compared; "
          f"{len(left_out)} blocks left out")
    for text in left_out:
        print(f"  left out: {text}")
    for text in slow:
        print(f"  slow: {text}")
    if wrong:
        raise Wrong("\n".join(f"{page.relative_to(ROOT)}:{w}" for w in wrong))


def slowness(scratch, i, step):
    if not (scratch / f"status{i}").exists():
        return None
    _, began, ended = (float(x) for x in (scratch / f"status{i}").read_text().split())
    return f"line {step[0]}: {ended - began:.1f} s: {step[1]}" if ended - began > 1.5 else None


def judge(scratch, i, step):
    n, command, lines = step
    if not (scratch / f"status{i}").exists():
        return None if i and not (scratch / f"out{i}").exists() else f"{n}: it did not end: {command}"
    status = (scratch / f"status{i}").read_text().split()[0]
    printed = (scratch / f"out{i}").read_text(errors="replace").splitlines()
    told = "".join(f"\n    | {p}" for p in printed)
    if status != "0":
        return f"{n}: status {status}: {command}{told}"
    missing = compare(lines, printed) if lines is not None else None
    return f"{n}: `{command}` does not print what the page says, from here on: {missing}{told}" if missing else None


# ---- links, paths and options ----


def anchors(page):
    found = set()
    for _, line in prose(page):
        if m := re.match(r"#+ (.*)", line):
            found.add(re.sub(r"[^\w\- ]", "", m[1].lower()).strip().replace(" ", "-"))
    return found


def check_links(page):
    for n, line in prose(page):
        for target in re.findall(r"\]\(([^)\s]+)\)", line):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            to = (page.parent / path).resolve() if path else page
            if not to.exists():
                yield f"{n}: there is no {target}"
            elif anchor and to.suffix == ".md" and anchor not in anchors(to):
                yield f"{n}: {path or 'this page'} has no heading #{anchor}"


TOPS = sorted(p.name for p in ROOT.iterdir() if p.is_dir() and p.name not in ("build", ".git"))
PATH = re.compile(rf"`((?:{'|'.join(map(re.escape, TOPS))})/[\w./*-]*\w)`")


def check_paths(page):
    for n, line in prose(page):
        for path in PATH.findall(line):
            if not list(ROOT.glob(re.sub(r"\b[A-Z]+$", "*", path))):
                yield f"{n}: there is no {path}"


def script_options():
    """What scripts and test programs take."""
    scripts = [ROOT / "test.sh", *ROOT.glob("scripts/*"), *ROOT.glob("tests/*/run"), *ROOT.glob("tests/campaign/*/run"),
               *ROOT.glob("tests/campaign/*/*.c"), *ROOT.glob("benchmarks/*")]
    return {o for s in scripts if s.is_file() for o in re.findall(r"--([a-z][a-z-]+)", s.read_text(errors="replace"))}


def check_options(page, known):
    """Options without a command; commands.py looks at those with one."""
    for n, line in prose(page):
        for span in re.findall(r"`([^`]+)`", line):
            if span.startswith("--"):
                for option in re.findall(r"(?:^|[ |\[])--([a-z][a-z-]+)", span):
                    if option not in known:
                        yield f"{n}: no command has --{option}"
            elif span.startswith("tctune ") and (wrong := commands.complaint(span)):
                yield f"{n}: {wrong}"


def check_blocks(page):
    try:
        found = blocks(page)
    except Wrong as e:
        yield str(e)
        return
    for b in found:
        for name in ("not run", "long", "not compared"):
            if b.order(name) == "":
                yield f"{b.line}: {name}: why?"
        if b.language not in TESTED | SHOWN:
            yield f"{b.line}: a block of code has a language of {', '.join(sorted(TESTED | SHOWN))}, not '{b.language}'"
        if b.language in SHOWN and any(l.startswith("$ ") for l in b.lines):
            yield f"{b.line}: commands stand in a block `console`"
        if b.language == "sched" and b.order("schedule") is None and b.order("not run") is None:
            yield f"{b.line}: which kernel is it for? <!-- test: schedule FILE.te -->"
        try:
            session(b) if b.language == "console" else None
        except Wrong as e:
            yield str(e)


def check_words(page):
    for n, line in enumerate(page.read_text().splitlines(), 1):
        if m := re.search(r"(?<![\w.])/(?:root|home)/\w+", line):
            yield f"{n}: {m[0]} is a path of one machine"


def unreached(pages):
    """Pages that no chain of links from docs/README.md leads to."""
    seen, asked = set(), [ROOT / "docs/README.md"]
    while asked:
        page = asked.pop()
        if page in seen:
            continue
        seen.add(page)
        for _, line in prose(page):
            for target in re.findall(r"\]\(([^)#\s]+\.md)", line):
                if not re.match(r"[a-z]+:", target) and (to := (page.parent / target).resolve()).exists():
                    asked.append(to)
    return [p for p in pages if p not in seen]


def complaints(page, known):
    return [*check_links(page), *check_paths(page), *check_options(page, known), *check_blocks(page), *check_words(page)]


def refuses(pages):
    """Each page is wrong, and is refused for what it says."""
    known = commands.all_options() | script_options() | {"help"}
    for page in map(Path, pages):
        page = page.resolve()
        want = re.match(r"<!-- refused: (.*) -->", page.read_text())[1]
        told = "\n".join(complaints(page, known))
        if not told:
            try:
                run(page)
            except Wrong as e:
                told = str(e)
        if want not in told:
            raise Wrong(f"{page.relative_to(ROOT)}: it is not refused with '{want}', but with '{told}'")


def check_headers():
    if not shutil.which("doxygen"):
        print("left out: whether the headers document everything: there is no Doxygen (scripts/install-deps.sh --docs)")
        return []
    done = subprocess.run([ROOT / "scripts/docs", "--headers"], capture_output=True, text=True, check=False)
    return [done.stderr] if done.returncode else []


def check():
    pages = sorted((ROOT / "docs").rglob("*.md"))
    fenced = pages + [ROOT / "README.md"]
    wrong, known = [], commands.all_options() | script_options() | {"help"}
    for page in fenced:
        wrong += [f"{page.relative_to(ROOT)}:{w}" for w in complaints(page, known)]
    for page in (ROOT / "ARCHITECTURE.md", ROOT / "benchmarks/README.md", ROOT / "benchmarks/RESULTS.md"):
        wrong += [f"{page.relative_to(ROOT)}:{w}" for w in check_links(page)]
    wrong += [f"{p.relative_to(ROOT)}: no link leads here from docs/README.md" for p in unreached(pages)]
    wrong += check_headers()
    if wrong:
        raise Wrong("\n".join(wrong))
    print(f"{len(pages)} pages; {sum(len(blocks(p)) for p in fenced)} blocks of code")


def main():
    try:
        if sys.argv[1:] == ["check"]:
            check()
        elif sys.argv[1:2] == ["refuses"]:
            refuses(sys.argv[2:])
        elif sys.argv[1:2] == ["run"] and len(sys.argv) == 3:
            run(sys.argv[2])
        else:
            sys.exit(__doc__)
    except Wrong as e:
        sys.exit(str(e))


if __name__ == "__main__":
    main()
