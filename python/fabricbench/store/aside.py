"""Work that a thread does beside the one that hands it over, in its order and within bounded memory."""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import Final

WAITING_MAX: Final = 2
"""How many calls may be handed over and not done: one that is carried out, one that waits for it."""

Call = Callable[[], None]


class Aside:
    """Carries calls out one after the other in a thread, which starts with the first of them.

    What a call raises comes out of the next `call` or of `finish`; the calls after it are left out. For the
    thread that hands calls over only; it may be interrupted by a signal anywhere.
    """

    def __init__(self) -> None:
        self._calls: SimpleQueue[Call | None] = SimpleQueue()
        self._outcomes: SimpleQueue[BaseException | None] = SimpleQueue()
        self._unseen = 0
        self._thread: Thread | None = None
        self._is_over = False

    def call(self, call: Call) -> None:
        """Have a call carried out after those before; wait while too many are not done.

        Raises:
            BaseException: What an earlier call raised.
            MemoryError: There is no room for a thread.
        """
        if self._thread is None:
            self._thread = self._started()
        while self._unseen >= WAITING_MAX:
            self._see()
        self._unseen += 1
        self._calls.put(call)

    def finish(self) -> None:
        """Wait until every call is done.

        Raises:
            BaseException: What one of them raised.
        """
        while self._unseen:
            self._see()
        self._end()

    def abandon(self) -> None:
        """Leave out what has not begun, and wait for what has."""
        self._is_over = True
        self._end()

    def _started(self) -> Thread:
        thread = Thread(target=self._work, name="rows to Parquet", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            raise MemoryError("no thread can be started to write rows") from error
        return thread

    def _see(self) -> None:
        """Wait for the outcome of a call."""
        error = self._outcomes.get()
        self._unseen -= 1
        if error is not None:
            raise error

    def _end(self) -> None:
        thread, self._thread = self._thread, None
        if thread is not None:
            self._calls.put(None)
            thread.join()

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            error: BaseException | None = None
            if not self._is_over:
                try:
                    call()
                except BaseException as raised:  # noqa: BLE001 -- the thread that handed it over decides
                    error, self._is_over = raised, True
            del call
            self._outcomes.put(error)
