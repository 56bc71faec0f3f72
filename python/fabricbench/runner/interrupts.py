"""Ctrl-C and SIGTERM while trials run."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, Self


class Terminated(KeyboardInterrupt):
    """The process was asked to end by SIGTERM; everything that Ctrl-C tidies up, this does too."""


class Interrupts:
    """Ctrl-C and SIGTERM as exceptions, but only where they do no harm.

    A signal raises at once inside `allowed`, and elsewhere waits for the next `check`: half-way through
    putting a record in place, an exception would leave it half there. `check` also catches up on an exception
    that a library has swallowed. Signals are handled in the main thread only; elsewhere this does nothing.
    """

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        self._may_raise = False
        self._previous: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        """Take the signals over."""
        with suppress(ValueError):  # not the main thread
            for number in (signal.SIGINT, signal.SIGTERM):
                self._previous[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_error: object) -> None:
        """Give the signals back."""
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        self.received = self.received or signal.Signals(number)
        if self._may_raise:
            self._may_raise = False  # a second one must not interrupt the tidying up
            self.check()

    def check(self) -> None:
        """Raise if a signal has come.

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
