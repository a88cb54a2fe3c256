#!/usr/bin/env python3
"""A public header as Doxygen wants it: its comments are plain ones, and which are documentation follows from where they stand.

A comment behind code on its line documents that code, any other comment what follows it; the first comment documents the file.
Indented lines in a comment are code, unless they are a list."""
import re
import sys


def text(body):
    """The inside of a comment, its lines without their stars."""
    out, code = [], False
    for line in body.split("\n"):
        line = re.sub(r"^\s*\* ?", "", line) if out or code else line.strip()
        is_code = bool(re.match(r"\s{3,}(?!- )\S", line)) or (code and not line.strip())
        if is_code != code:
            out.append("@code{.unparsed}" if is_code else "@endcode")
            code = is_code
        out.append(line if code else re.sub(r"([\\@<>#%&])", r"\\\1", line))
    return "\n".join(out + ["@endcode"] * code)


def document(source):
    out, at, first = "", 0, True
    for m in re.finditer(r"/\*(.*?)\*/", source, re.S):
        out += source[at:m.start()]
        at = m.end()
        behind = source[source.rfind("\n", 0, m.start()) + 1:m.start()].strip()
        if re.match(r"\s*----", m[1]):
            out += m[0]
        elif behind:
            out += f"/**< {text(m[1])} */"
        else:
            out += f"/** {'@file' if first else ''}\n{text(m[1])} */"
        first = False
    return out + source[at:]


if __name__ == "__main__":
    sys.stdout.write(document(open(sys.argv[1], encoding="utf-8").read()))
