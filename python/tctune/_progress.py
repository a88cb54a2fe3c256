"""Progress bars, by tqdm where it is there."""
import contextlib
import sys
from typing import Any, Callable, Iterator

from . import _html


def _quiet(*_: Any) -> bool:
    return False


def new_bar(total: Any, what: str) -> Any:
    """A bar for the terminal or the notebook that this is."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        raise ImportError("progress=True draws a bar with tqdm, which is not installed (Debian: python3-tqdm); progress may also "
                          "be a "
                          "function") from None
    return tqdm(total=total, desc=what, file=sys.stderr, dynamic_ncols=True)


@contextlib.contextmanager
def build_bar(progress: Any) -> Iterator[Callable[..., Any]]:
    """What is told of kernels that were compiled: the function that was given, a bar, or nobody."""
    if callable(progress):
        yield progress
    elif not progress:
        yield _quiet
    else:
        bar = new_bar(None, "kernels")

        def told(done: int, total: int, kernel: str) -> bool:
            bar.total = total
            bar.set_postfix_str(_html.plain(kernel)[:40], refresh=False)
            bar.update(done - bar.n)
            return False

        try:
            yield told
        finally:
            bar.close()


@contextlib.contextmanager
def tune_bar(progress: Any) -> Iterator[Callable[..., Any]]:
    """The same of the events of a session."""
    if callable(progress):
        yield progress
    elif not progress:
        yield _quiet
    else:
        bar = new_bar(None, "trials")

        def told(event: Any) -> bool:
            report = event.report
            bar.total = report.target_trials or None
            bar.set_postfix_str(f"{_html.seconds(report.latency)} {_html.plain(event.name)[:40]}".strip(), refresh=False)
            bar.update(report.trials - bar.n)
            return False

        try:
            yield told
        finally:
            bar.close()
