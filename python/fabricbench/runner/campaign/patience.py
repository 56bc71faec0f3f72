"""Waiting for a catalog or a place of records that does not answer, such as while its server restarts."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

from fabricbench.runner.interrupts import Interrupts
from fabricbench.store.errors import UnreachableError

_PATIENCE_S: Final = 600
"""How long a store is waited for."""
_PAUSE_S: Final = 0.5

T = TypeVar("T")


class Patience:
    """Does again what a store did not answer, until it does."""

    def __init__(self, interrupts: Interrupts, told: Callable[[str], None]) -> None:
        """Have signals end the waiting; `told` gets what is waited for, and nothing once it answers."""
        self._interrupts = interrupts
        self._told = told

    def __call__(self, do: Callable[[], T]) -> T:
        """Return what `do` returns, which can be called again after an UnreachableError.

        Raises:
            UnreachableError: The store has not answered for ten minutes.
            KeyboardInterrupt: The user has stopped it.
        """
        until = time.monotonic() + _PATIENCE_S
        waited = False
        while True:
            try:
                done = do()
            except UnreachableError as error:
                if time.monotonic() > until:
                    raise
                waited = True
                self._told(str(error))
            else:
                if waited:
                    self._told("")
                return done
            self._interrupts.check()
            time.sleep(_PAUSE_S)
