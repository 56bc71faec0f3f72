"""Ray actor that passes the progress of trials from the workers of a cluster to the campaign."""

from __future__ import annotations

import time
from collections import deque
from typing import Any, Final, cast

from fabricbench.backend.protocol import Progress

Report = tuple[str, "Progress | None"]
"""The id of a trial and its progress; None when the trial starts."""
_EVERY_S: Final = 0.25
_REPORTS_MAX: Final = 4_096
"""Largest number of queued reports; the oldest are dropped."""
_SAMPLES_MAX: Final = 512
"""Largest number of samples in one report."""


class Board:
    """Queue of the reports of all workers."""

    def __init__(self) -> None:
        """Create an empty queue."""
        self._reports: deque[Report] = deque(maxlen=_REPORTS_MAX)

    def append(self, trial: str, progress: Progress | None) -> None:
        """Append a report."""
        self._reports.append((trial, progress))

    def take(self) -> list[Report]:
        """Remove and return all queued reports, oldest first."""
        reports = list(self._reports)
        self._reports.clear()
        return reports


class Reporter:
    """Reports the progress of one trial to a board, a few times a second."""

    def __init__(self, board: Any, trial: str) -> None:
        """Report that the trial starts; without a board, reports are dropped."""
        self._board, self._trial = board, trial
        self._samples: list[Any] = []
        self._reported_at = time.monotonic()
        self._send(None)

    def __call__(self, progress: Progress) -> None:
        """Report progress, at most once per interval."""
        if self._board is None:
            return
        self._samples += progress["samples"]
        if time.monotonic() - self._reported_at >= _EVERY_S:
            self._reported_at = time.monotonic()
            latest = {**progress, "samples": self._samples[-_SAMPLES_MAX:]}
            self._samples = []
            self._send(cast("Progress", latest))

    def _send(self, progress: Progress | None) -> None:
        if self._board is not None:
            self._board.append.remote(self._trial, progress)
