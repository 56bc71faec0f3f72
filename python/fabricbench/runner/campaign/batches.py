"""Trials that wait for a core, the longest first; several short ones are handed out together.

A task costs Ray and this process some milliseconds, whatever it does, and a note in the catalog as well.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from fabricbench.runner.campaign.units import Unit

_BATCH_MS: Final = 2_000
"""Time that a batch is meant to take: what a lost worker costs, and how often something is heard."""
_ESTIMATED_MS_MAX: Final = 60_000
"""The most by estimate, which bounds the time where trials before took far less than theirs."""
_TRIALS_MAX: Final = 64
_WEIGHT: Final = 0.2
"""How much the latest trial counts in what estimates are worth."""


class Batches:
    """Hands out trials.

    It learns from what trials take how much of their estimate, which is an upper bound, is real.
    """

    def __init__(self, units: Iterable[Unit]) -> None:
        """Take the trials, in the order in which they are to be handed out."""
        self._units = deque(units)
        self._left_ms = sum(unit.cost_ms for unit in self._units)
        self._real = 1.0

    @property
    def is_left(self) -> bool:
        """Whether any trial waits."""
        return bool(self._units)

    def took(self, unit: Unit, busy_s: float) -> None:
        """Learn how long a trial took [s]."""
        real = 1_000 * busy_s / max(unit.cost_ms, 1)
        self._real += _WEIGHT * (real - self._real)

    def next(self, count: int, cores: int) -> list[list[Unit]]:
        """Take at most `count` batches for so many cores; the trials of each have the same backend."""
        return [self._batch(cores) for _ in range(count) if self._units]

    def _batch(self, cores: int) -> list[Unit]:
        # Towards the end batches become small, so that all cores end at about the same time.
        share_ms = self._left_ms / (2 * cores)
        most_ms = min(_BATCH_MS / max(self._real, 1e-6), _ESTIMATED_MS_MAX, share_ms)
        batch = [self._units.popleft()]
        cost_ms = batch[0].cost_ms
        while self._units and len(batch) < _TRIALS_MAX and cost_ms + self._units[0].cost_ms <= most_ms:
            if self._units[0].facts.backend != batch[0].facts.backend:
                break
            batch.append(self._units.popleft())
            cost_ms += batch[-1].cost_ms
        self._left_ms -= cost_ms
        return batch
