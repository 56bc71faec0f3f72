"""Background thread that writes rows to Parquet: it runs calls in order, and at most two are unfinished."""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import Final

WAITING_MAX: Final = 2
"""Largest number of unfinished calls: one that is running and one that waits."""

Call = Callable[[], None]


class WriterThread:
    """Runs calls in order in a thread that starts with the first call.

    An exception in a call is raised by the next `submit` or by `finish`; later calls are skipped. Only the
    creating thread may use it; a signal may interrupt that thread anywhere.
    """

    def __init__(self) -> None:
        self._calls: SimpleQueue[Call | None] = SimpleQueue()
        self._errors: SimpleQueue[BaseException | None] = SimpleQueue()
        self._unfinished = 0
        self._thread: Thread | None = None
        self._is_stopped = False

    def submit(self, call: Call) -> None:
        """Queue a call; wait while too many are unfinished.

        Raises:
            BaseException: An earlier call raised it.
            MemoryError: The thread cannot be started.
        """
        if self._thread is None:
            self._thread = self._start()
        while self._unfinished >= WAITING_MAX:
            self._wait()
        self._unfinished += 1
        self._calls.put(call)

    def finish(self) -> None:
        """Wait until all calls have ended.

        Raises:
            BaseException: One of them raised it.
        """
        while self._unfinished:
            self._wait()
        self._end()

    def abandon(self) -> None:
        """Skip the calls that have not started, and wait for the running one."""
        self._is_stopped = True
        self._end()

    def _start(self) -> Thread:
        thread = Thread(target=self._run, name="rows to Parquet", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            raise MemoryError("no thread can be started to write rows") from error
        return thread

    def _wait(self) -> None:
        """Wait for the result of a call."""
        error = self._errors.get()
        self._unfinished -= 1
        if error is not None:
            raise error

    def _end(self) -> None:
        thread, self._thread = self._thread, None
        if thread is not None:
            self._calls.put(None)
            thread.join()

    def _run(self) -> None:
        while (call := self._calls.get()) is not None:
            error: BaseException | None = None
            if not self._is_stopped:
                try:
                    call()
                except BaseException as raised:  # noqa: BLE001 -- `finish` raises it
                    error, self._is_stopped = raised, True
            del call
            self._errors.put(error)
