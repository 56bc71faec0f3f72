"""Retries operations on a catalog or record store that does not respond, e.g. while its server restarts."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

from fabricbench.runner.interrupts import Interrupts
from fabricbench.store.errors import UnreachableError

_PATIENCE_S: Final = 600
"""Timeout for a store that does not respond [s]."""
_PAUSE_S: Final = 0.5

T = TypeVar("T")


class Patience:
    """Retries an operation until the store responds or a timeout has passed."""

    def __init__(self, interrupts: Interrupts, told: Callable[[str], None]) -> None:
        """Create it; signals end the wait; `told` receives the error, or an empty string on recovery."""
        self._interrupts = interrupts
        self._told = told

    def __call__(self, do: Callable[[], T]) -> T:
        """Return the result of `do`, which must be safe to repeat after an UnreachableError.

        Raises:
            UnreachableError: The store has not responded for ten minutes.
            KeyboardInterrupt: The user stopped it.
        """
        deadline_s = time.monotonic() + _PATIENCE_S
        has_waited = False
        while True:
            try:
                result = do()
            except UnreachableError as error:
                if time.monotonic() > deadline_s:
                    raise
                has_waited = True
                self._told(str(error))
            else:
                if has_waited:
                    self._told("")
                return result
            self._interrupts.check()
            time.sleep(_PAUSE_S)
