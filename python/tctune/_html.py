"""Tables for notebooks, and short texts for representations."""
import html
from typing import Any, Iterable, Sequence

_FEW = 3


def plain(text: str) -> str:
    """The text with escapes for characters that move a terminal's cursor, are invisible, or change the direction of text.

    >>> plain("Übergang"), plain("a\\x1b[2Jb\\u202e\\n")
    ('Übergang', 'a\\\\x1b[2Jb\\\\u202e\\\\n')
    """
    return text if text.isprintable() else "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def cell(value: Any, tag: str = "td") -> str:
    return f"<{tag}>{html.escape(plain(str(value)))}</{tag}>"


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    head = "".join(cell(c, "th") for c in columns)
    body = "".join("<tr>" + "".join(cell(v) for v in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def pre(text: str) -> str:
    return f"<pre>{html.escape(text)}</pre>"


def seconds(s: float) -> str:
    """Three digits with a unit.

    >>> seconds(0.00123), seconds(float("inf"))
    ('1.23 ms', '-')
    """
    if not s < float("inf"):
        return "-"
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if s >= scale:
            return f"{s / scale:.3g} {unit}"
    return f"{s / 1e-6:.3g} us"


def few(names: Iterable[str]) -> str:
    """The first names, and how many more there are.

    >>> few("abcde"), few([])
    ('a, b, c and 2 more', 'none')
    """
    found = [plain(name) for name in names]
    rest = len(found) - _FEW
    return (", ".join(found[:_FEW]) + (f" and {rest} more" if rest > 0 else "")) or "none"
