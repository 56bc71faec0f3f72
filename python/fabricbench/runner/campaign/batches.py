"""Queue of waiting trials, longest first; several short ones form one batch.

Each task takes Ray, this process and the catalog some milliseconds, however short it is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final

from fabricbench.runner.campaign.trial_units import Unit

_BATCH_MS: Final = 2_000
"""Target duration of a batch [ms]: it bounds the work lost with a worker and the interval between answers."""
_ESTIMATED_MS_MAX: Final = 60_000
"""Largest estimated duration of a batch [ms], a bound if earlier trials took far less than estimated."""
_TRIALS_MAX: Final = 64
_WEIGHT: Final = 0.2
"""Weight of the latest trial in the moving average of actual over estimated time."""


class Batches:
    """Queue that groups waiting trials into batches.

    It learns the ratio of actual to estimated time from finished trials, because estimates are upper bounds.
    """

    def __init__(self, units: Iterable[Unit]) -> None:
        """Queue trials in the order in which they are to run."""
        self._units = deque(units)
        self._left_ms = sum(unit.cost_ms for unit in self._units)
        self._real = 1.0

    @property
    def is_left(self) -> bool:
        """Whether any trial is waiting."""
        return bool(self._units)

    def took(self, unit: Unit, busy_s: float) -> None:
        """Record how long a trial took [s]."""
        time_ratio = 1_000 * busy_s / max(unit.cost_ms, 1)
        self._real += _WEIGHT * (time_ratio - self._real)

    def next(self, count: int, cores: int) -> list[list[Unit]]:
        """Remove and return up to `count` batches, sized for `cores`; each has trials of one backend."""
        return [self._batch(cores) for _ in range(count) if self._units]

    def _batch(self, cores: int) -> list[Unit]:
        # Towards the end batches become small, so that all cores finish at about the same time.
        fair_share_ms = self._left_ms / (2 * cores)
        batch_ms_max = min(_BATCH_MS / max(self._real, 1e-6), _ESTIMATED_MS_MAX, fair_share_ms)
        batch = [self._units.popleft()]
        cost_ms = batch[0].cost_ms
        while self._units and len(batch) < _TRIALS_MAX and cost_ms + self._units[0].cost_ms <= batch_ms_max:
            if self._units[0].facts.backend != batch[0].facts.backend:
                break
            batch.append(self._units.popleft())
            cost_ms += batch[-1].cost_ms
        self._left_ms -= cost_ms
        return batch
