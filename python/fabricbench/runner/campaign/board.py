"""Progress of trials on its way from the workers of a cluster to whoever shows it: an actor in between."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from fabricbench.backend.protocol import Progress

Report = tuple[str, "Progress | None"]
"""The id of a trial and how far it is; nothing where it begins."""
_EVERY_S: Final = 0.25
_REPORTS_MAX: Final = 4_096
"""Reports that wait for somebody to take them; of more, the oldest are lost."""
_SAMPLES_MAX: Final = 512
"""Samples of one report."""


class Board:
    """Has the reports of all workers until they are taken."""

    def __init__(self) -> None:
        """Begin without any."""
        self._reports: deque[Report] = deque(maxlen=_REPORTS_MAX)

    def tell(self, trial: str, progress: Progress | None) -> None:
        """Leave a report."""
        self._reports.append((trial, progress))

    def take(self) -> list[Report]:
        """Return what has come since the last time, in the order in which it came."""
        taken = list(self._reports)
        self._reports.clear()
        return taken


class Reporter:
    """Reports a trial to a board, a few times a second."""

    def __init__(self, board: Any, trial: str) -> None:
        """Say that the trial begins; without a board nobody is told."""
        self._board, self._trial = board, trial
        self._samples: list[Any] = []
        self._told_at = time.monotonic()
        self._tell(None)

    def __call__(self, progress: Progress) -> None:
        """Say how far it is, unless that was said just now."""
        if self._board is None:
            return
        self._samples += progress["samples"]
        if time.monotonic() - self._told_at >= _EVERY_S:
            self._told_at = time.monotonic()
            latest = {**progress, "samples": self._samples[-_SAMPLES_MAX:]}
            self._samples = []
            self._tell(cast("Progress", latest))

    def _tell(self, progress: Progress | None) -> None:
        if self._board is not None:
            self._board.tell.remote(self._trial, progress)
