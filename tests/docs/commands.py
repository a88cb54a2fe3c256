#!/usr/bin/env python3
"""Holds every `tctune ...` that the project prints or documents against the options that the commands take.

  commands.py check       messages and help texts of the source, --help, pages, manual pages, scripts, the Python package
  commands.py refuses     texts that are wrong, each in one way

A text in backquotes that begins with `tctune ` names a command: there must be one, and it must take each option. So must a
command outside of backquotes, where an option, a word in capitals or the name of a file follows the command's name. In the strings
of a file that describes commands (src/cli), an option belongs to one of these; in other files of the source, to any command.

TCTUNE: the command."""
import functools
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OPTION = re.compile(r"(?<![\w-])--([a-z][a-z-]*[a-z])(?![\w-]*/)")
# What messages and the source name of other programs: the linker, nats-server, docker, numactl, scripts/install-deps.sh.
OTHERS = {"version-script", "no-undefined", "keep-global-symbol", "jetstream", "cpus", "cpunodebind", "membind", "benchmarks"}


@functools.lru_cache(maxsize=None)
def options(command):
    """Those that a command takes; None: there is no such command."""
    done = subprocess.run([os.environ["TCTUNE"], *command.split(), "--help"], capture_output=True, text=True, check=False)
    if done.returncode or not done.stdout.startswith(f"usage: tctune {command} "):
        return None
    return {"help", *re.findall(r"^ +(?:-\w,? +)?--([a-z][a-z-]*)", done.stdout, re.M)}


@functools.lru_cache(maxsize=None)
def commands():
    listed = subprocess.run([os.environ["TCTUNE"], "--help"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^  ([a-z]+(?: [a-z]+)?)  +\S", listed, re.M)


def is_family(word):
    return any(c.startswith(word + " ") for c in commands())


@functools.lru_cache(maxsize=None)
def all_options():
    return set().union({"version"}, *map(options, commands()))


def command_of(words):
    """Of the words behind `tctune`, those that name a command; None: they name none."""
    if not words:
        return "tune"
    two = " ".join(words[:2])
    if len(words) > 1 and is_family(words[0]):
        return two if options(two) else None
    if is_family(words[0]):
        return words[0]
    return words[0] if options(words[0]) is not None else None


def complaint(text):
    """What is wrong with a command line; None: nothing."""
    words = re.match(r"tctune((?: [a-z]+(?=\s|$))*)", text)[1].split()
    given = OPTION.findall(re.split(r" (?:\|\||&&|[|;>]|2>)", text)[0])
    if text in ("tctune --version", "tctune --help", "tctune version", "tctune help") or "COMMAND" in text:
        return None
    command = command_of(words)
    if command is None:
        return f"there is no command '{' '.join(words)}': {text}"
    if is_family(command):
        return f"tctune {command} takes no --{given[0]}: {text}" if given and given != ["help"] else None
    missing = [o for o in given if o not in options(command)]
    return f"tctune {command} takes no --{missing[0]}: {text}" if missing else None


def lines_of(text):
    """Command lines in a text: those in backquotes, and those with an option, a word in capitals or the name of a file."""
    found = []
    for span in re.findall(r"`([^`]+)`", text):
        if span.startswith("tctune "):
            found.append(span)
    for line in re.sub(r"`[^`]*`", " ", text).split("\n"):
        for m in re.finditer(r"(?:^|(?<=[\s(\"'$/]))tctune (?=[a-z-])", line):
            rest = re.split(r"[;)\"]|[.,:](?= |$)|#", line[m.start():])[0].strip()
            words = rest.split()[1:]
            named = [w for w in words if re.fullmatch(r"[a-z]+", w)]
            told = re.search(r" --[a-z]| [A-Z][A-Z]| [\w-]+\.[a-z]", rest)
            if words[0].startswith("--") or (named[:1] == words[:1] and command_of(named[:1]) and told):
                found.append(rest)
    return found


# ---- texts ----


def strings(path):
    """The literals of a C or a JavaScript file, with the ones that follow each other joined."""
    text = path.read_text()
    literal = r'"(?:[^"\\\n]|\\.)*"'
    if path.suffix in (".c", ".h", ".def", ".js"):
        text = re.sub(r"/\*.*?\*/|^\s*//[^\n]*", lambda m: "\n" * m[0].count("\n"), text, flags=re.S | re.M)
    for m in re.finditer(rf"{literal}(?:[\s\\]*{literal})*", text):
        yield text[:m.start()].count("\n") + 1, re.sub(r'\\n', "\n", re.sub(r'"[\s\\]*"', "", m[0])[1:-1]).replace('\\"', '"')
    if path.suffix == ".js":
        for m in re.finditer(r"`[^`]*`", text):
            yield text[:m.start()].count("\n") + 1, m[0]


def comments(path):
    """Command lines in comments are in backquotes; they may go over the end of a line."""
    for m in re.finditer(r"/\*.*?\*/", path.read_text(), re.S):
        yield path.read_text()[:m.start()].count("\n") + 1, " ".join(
            s for s in re.findall(r"`tctune [^`]*`", re.sub(r"\n\s*\*?", " ", m[0])))


def sessions(text, prompt):
    """Commands of shell sessions and scripts, which may go on behind a backslash."""
    for line in re.sub(r"\\\n", " ", text).split("\n"):
        if line.strip().startswith(prompt + "tctune "):
            yield re.sub(r"\s+#.*", "", line.strip().removeprefix(prompt))


def source_files():
    return [p for p in sorted((ROOT / "src").rglob("*")) if p.suffix in (".c", ".h", ".def", ".js", ".html")]


def described(path):
    """The commands that a file of src/cli describes; a macro makes several of a family."""
    text = path.read_text()
    families = re.findall(r'\.name = "([a-z]+ )" #', text)
    return [*re.findall(r'\.name = "([a-z]+(?: [a-z]+)?)"', text), *(c for c in commands() for f in families if c.startswith(f))]


def of_source(path):
    own = described(path)
    allowed = set().union(*(options(c) or set() for c in own)) if own else all_options()
    for n, text in [*strings(path), *comments(path)]:
        if own and text.startswith("tctune "):  # an example
            yield n, complaint(text)
            continue
        for line in lines_of(text):
            yield n, complaint(line)
            text = text.replace(line, " ")
        if path.suffix != ".js": # there "--c0" is a colour
            for option in OPTION.findall(re.sub(r"`[^`]*`", " ", text)):
                if option not in allowed | OTHERS:
                    yield n, f"{'tctune ' + ', '.join(own) if own else 'no command'} takes no --{option}: {text[:80]}"


def of_text(path):
    text = path.read_text(errors="replace")
    for n, line in enumerate(text.split("\n"), 1):
        for c in lines_of(line):
            yield n, complaint(c)
    script = text.startswith("#!") and path.suffix != ".py"
    for line in sessions(text, "" if script else "$ "):
        yield 0, complaint(line)


def of_help():
    for c in ["", *commands()]:
        text = subprocess.run([os.environ["TCTUNE"], *c.split(), "--help"], capture_output=True, text=True, check=True).stdout
        prose, _, examples = text.partition("\nexamples:\n")
        for line in lines_of(re.sub(r"\s+", " ", prose) + "\n"):
            yield c, complaint(line)
        for line in re.findall(r"^      (tctune .*)", examples, re.M):
            yield c, complaint(line)


def texts():
    for folder, ends in (("docs", ("md", "man", "5")), ("benchmarks", ("md",)), ("python/tctune", ("py",)), ("examples", ("*",)),
                         ("deploy", ("*",)), ("scripts", ("*",)),
                         ("cmake", ("cmake", "in"))):
        for end in ends:
            yield from sorted(p for p in (ROOT / folder).rglob("*." + end if end != "*" else "*")
                              if p.is_file() and p.suffix != ".pyc")
    yield from (ROOT / name for name in ("README.md", "ARCHITECTURE.md", "quickstart.sh", "pyproject.toml"))


def check():
    wrong = []
    for path in source_files():
        wrong += [f"{path.relative_to(ROOT)}:{n}: {c}" for n, c in of_source(path) if c]
    for path in texts():
        wrong += [f"{path.relative_to(ROOT)}:{n}: {c}" for n, c in of_text(path) if c]
    wrong += [f"tctune {c} --help: {w}" for c, w in of_help() if w]
    if wrong:
        sys.exit("\n".join(dict.fromkeys(wrong)))
    print(f"{len(list(texts()))} texts, {len(source_files())} files of the source")


def refuses():
    """Wrong texts, and how each is refused; and right ones."""
    for text, why in (("`tctune bench --model m.onnx --trials 6`", "tctune bench takes no --trials"),
                      ("`tctune buld --model m.onnx`", "no command 'buld'"),
                      ("`tctune db stat --db t.db`", "no command 'db stat'"),
                      ("Tune first: tctune --model M --minuts 3", "tctune tune takes no --minuts"),
                      ("tctune show gemm.te --trials 2", "tctune show takes no --trials"),
                      ("type tctune show --te F --trials 2, then go on", "tctune show takes no --trials"),
                      ("`tctune --kernel 3`", "tctune tune takes no --kernel")):
        found = [complaint(line) for line in lines_of(text)]
        assert len(found) == 1 and found[0] and why in found[0], (text, found)
    for text in ("`tctune bench --model m.onnx --kernel 6`", "tctune is a library", "`tctune --version`",
                 "`tctune db stats` says it", "`tctune COMMAND --help`", "as tctune tune does it",
                 "`tctune --model m.onnx --trials 3 | grep --count x`", "`tctune export`", "`tctune model.onnx --trials 3`"):
        assert not [c for c in map(complaint, lines_of(text)) if c], text
    print("wrong texts are refused")


if __name__ == "__main__":
    {"check": check, "refuses": refuses}[sys.argv[1]]()
