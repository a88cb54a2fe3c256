"""What calls raise."""


class TctuneError(Exception):
    """What tctune refuses or cannot do, in the library's own words. All that it raises of its own is one of these."""


class BadInput(TctuneError, ValueError):
    """What was given is wrong: the message names it, says what was expected, and what to do."""


class EnvironmentProblem(TctuneError):
    """Disk, memory, compiler, linker or worker processes failed."""


class Stopped(TctuneError):
    """It ended early, as was asked for; what was measured until then is kept."""


class Closed(TctuneError, ValueError):
    """A model, database or session was used after it was closed."""


class LibraryError(TctuneError, ImportError):
    """libtctune is not there, or is of a version that this package does not go with."""


class TctuneWarning(UserWarning):
    """What was done may not be what was meant: the message says what to give instead."""
