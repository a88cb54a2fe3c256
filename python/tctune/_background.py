"""Long calls. Each runs in a thread of its own and reports to the caller's thread, so that Ctrl-C reaches that."""
import queue
import threading
from typing import Any, Callable, Optional

from ._ffi import Struct, ffi


LONGEST_WAIT = 0.2  # seconds, after which Python looks whether a signal came


def nobody(*_: Any) -> bool:
    """A handler that ignores all events."""
    return False


class Background:
    """A long call. The call's thread uses `tell` to pass an event to the handler, which runs in the caller's thread and answers
    whether to stop. `stop` ends the call from outside, if there is a way."""

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
        """Answers what work() answers. An exception of the handler, or Ctrl-C, ends the call; it is raised after the end."""
        result: Any = None
        failure: Optional[BaseException] = None
        begun = threading.Lock()

        def body() -> None:
            nonlocal result, failure
            if not begun.acquire(blocking=False):
                return  # Ctrl-C came while the thread was started, and it was started again
            try:
                result = work()
            except BaseException as e:  # pylint: disable=broad-except
                failure = e
            self._ended = True
            self._asked.put(None)

        while True:  # Ctrl-C comes anywhere
            try:
                if not begun.locked():
                    threading.Thread(target=body, name="tctune", daemon=True).start()
                while not self._ended:
                    self._pump()
                break
            except BaseException as e:  # pylint: disable=broad-except
                self._give_up(e)
        if self._error is not None:
            raise self._error
        if failure is not None:
            raise failure
        return result

    def _pump(self) -> None:
        """Waits a while for one event, and answers it. A Ctrl-C that comes just before the wait would not end it."""
        try:
            event = self._asked.get(timeout=LONGEST_WAIT)
        except queue.Empty:
            return
        if event is not None:
            self._answers.put(bool(self._error is None and self._handler(*event)))

    def _give_up(self, e: BaseException) -> None:
        """Stops the call. An event may be lost between the queue and the handler, so the call's thread gets an answer in any
        case."""
        self._error = self._error or e
        if self._stop:
            self._stop()
        self._answers.put(True)


class Stoppable(Background):
    """A long call that ends when the `stop` of its options is set: by Ctrl-C, by an exception of the handler, or by the handler's
    answer."""

    def __init__(self, options: Struct, handler: Callable[..., Any] = nobody) -> None:
        super().__init__(handler, self.stop)
        self._flag = ffi.new("int *")
        options.set("stop", self._flag)

    def stop(self) -> None:
        """Ends the call. Any thread may call it."""
        self._flag[0] = 1

    def tell(self, *event: Any) -> int:
        enough = super().tell(*event)
        if enough:
            self.stop()
        return enough
