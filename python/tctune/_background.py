"""Calls that take long: they run in a thread of their own, and what they tell is told in the caller's, which Ctrl-C reaches."""
import queue
import threading
from typing import Any, Callable, Optional

from ._ffi import Struct, ffi


def nobody(*_: Any) -> bool:
    """A handler that has no interest in what it is told."""
    return False


class Background:
    """One such call. `tell` (of the call's thread) asks the caller's thread whether this is enough; `stop` is what ends the call from
    outside, where there is a way."""

    def __init__(self, handler: Callable[..., Any], stop: Optional[Callable[[], None]] = None) -> None:
        self._handler, self._stop = handler, stop
        self._asked: "queue.SimpleQueue[Any]" = queue.SimpleQueue()
        self._answers: "queue.SimpleQueue[bool]" = queue.SimpleQueue()
        self._error: Optional[BaseException] = None
        self._ended = False

    def tell(self, *event: Any) -> int:
        if self._error is not None:
            return 1
        self._asked.put(event)
        return self._answers.get()

    def run(self, work: Callable[[], Any]) -> Any:
        """What work() answers. An exception of the handler, or Ctrl-C, ends it and is raised once it has ended."""
        result: Any = None
        failure: Optional[BaseException] = None

        def body() -> None:
            nonlocal result, failure
            try:
                result = work()
            except BaseException as e:  # pylint: disable=broad-except
                failure = e
            self._ended = True
            self._asked.put(None)

        thread = threading.Thread(target=body, name="tctune", daemon=True)
        thread.start()
        while True:  # Ctrl-C comes anywhere
            try:
                while not self._ended:
                    self._pump()
                thread.join()
                break
            except BaseException as e:  # pylint: disable=broad-except
                self._give_up(e)
        if self._error is not None:
            raise self._error
        if failure is not None:
            raise failure
        return result

    def _pump(self) -> None:
        """Waits for one event and answers."""
        event = self._asked.get()
        if event is not None:
            self._answers.put(bool(self._error is None and self._handler(*event)))

    def _give_up(self, e: BaseException) -> None:
        """An event may have been lost between the queue and its handler: whoever waits for its answer, or will, gets one."""
        self._error = self._error or e
        if self._stop:
            self._stop()
        self._answers.put(True)


class Stoppable(Background):
    """One whose call looks at the `stop` of its options, which is set when Ctrl-C, an exception of the handler, or its answer ends it."""

    def __init__(self, options: Struct, handler: Callable[..., Any] = nobody) -> None:
        super().__init__(handler, self.stop)
        self._flag = ffi.new("int *")
        options.set("stop", self._flag)

    def stop(self) -> None:
        """From any thread."""
        self._flag[0] = 1

    def tell(self, *event: Any) -> int:
        enough = super().tell(*event)
        if enough:
            self.stop()
        return enough
