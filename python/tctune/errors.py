"""The exceptions that calls raise, and the warning that they give."""
from typing import Any

from ._html import plain


class TctuneError(Exception):
    """tctune refuses a call, or cannot carry it out. Every exception of tctune's own is a TctuneError; the message is the
    library's. Characters that could confuse a terminal stand in it as escapes."""

    def __init__(self, message: object = "", *more: Any, **named: Any) -> None:
        super().__init__(plain(str(message)), *more, **named)


class BadInput(TctuneError, ValueError):
    """An argument or a file is wrong. The message names it, and says what was expected and what to do."""


class EnvironmentProblem(TctuneError):
    """The disk, the memory, the compiler, the linker or a worker process failed."""


class Stopped(TctuneError):
    """The call was stopped before its end. What it had measured is kept."""


class Closed(TctuneError, ValueError):
    """A model, database, session or other handle was used after close()."""


class LibraryError(TctuneError, ImportError):
    """libtctune was not found, or its version does not fit this package."""


class TctuneWarning(UserWarning):
    """A call did what it was asked to do, but perhaps not what was meant. The message says what to give instead."""

    def __init__(self, message: object = "") -> None:
        super().__init__(plain(str(message)))
