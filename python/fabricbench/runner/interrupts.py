"""Turns Ctrl-C and SIGTERM into exceptions at safe points while trials run."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, Self


class Terminated(KeyboardInterrupt):
    """SIGTERM was received; handled with the same clean-up as Ctrl-C."""


class Interrupts:
    """Turns SIGINT and SIGTERM into exceptions at safe points.

    Inside `allowed` a signal raises at once; elsewhere it is deferred until the next `check`, because an
    exception in the middle of finishing a record would leave it incomplete. `check` also raises again if a
    library has swallowed the exception. Signals are handled in the main thread only; in other threads this
    does nothing.
    """

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        self._may_raise = False
        self._previous: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        """Install the signal handlers."""
        with suppress(ValueError):  # not the main thread
            for number in (signal.SIGINT, signal.SIGTERM):
                self._previous[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_error: object) -> None:
        """Restore the previous signal handlers."""
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        self.received = self.received or signal.Signals(number)
        if self._may_raise:
            self._may_raise = False  # a second signal must not interrupt the clean-up
            self.check()

    def check(self) -> None:
        """Raise if a signal was received.

        Raises:
            Terminated: It was SIGTERM.
            KeyboardInterrupt: It was SIGINT.
        """
        if self.received is not None:
            raise Terminated if self.received is signal.SIGTERM else KeyboardInterrupt

    @contextmanager
    def allowed(self) -> Iterator[None]:
        """Let signals raise at once within the block."""
        self.check()
        self._may_raise = True
        try:
            yield
        finally:
            self._may_raise = False
