"""Computes the progress of a campaign and its time left; sends the events of its trials to a listener."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from fabricbench.backend.protocol import Progress as TrialProgress
from fabricbench.runner.campaign.trial_units import Unit
from fabricbench.runner.campaign.worker import Answer
from fabricbench.runner.listener import Listener
from fabricbench.store import TrialFacts, Workspace


@dataclass
class Progress:
    """Progress of a campaign.

    Attributes:
        trials: Number of trials.
        kept: Number of trials that already had a record.
        finished: Number of trials that have finished with a record since the start.
        failed: Trials that failed, each with its error.
        cost_ms: Estimated single-core time of all trials that had to run [ms].
        done_ms: The part of `cost_ms` that belongs to trials that have ended [ms].
        busy_s: Core time spent on trials [s].
        cores: Cores available now.
        there_s: Core time available from the start to `seen_at` [s].
        seen_at: Time of the last count of cores, by the clock of this process.
        nodes: Number of finished trials on each node, by its address.
        waits: Description of the service that does not respond; empty if none.
        started_at: Time of the start, by the clock of this process.
    """

    trials: int
    kept: int = 0
    finished: int = 0
    failed: list[tuple[TrialFacts, BaseException]] = field(default_factory=list)
    cost_ms: int = 0
    done_ms: int = 0
    busy_s: float = 0.0
    cores: int = 0
    there_s: float = 0.0
    seen_at: float = field(default_factory=time.monotonic)
    nodes: Counter[str] = field(default_factory=Counter)
    waits: str = ""
    started_at: float = field(default_factory=time.monotonic)

    @property
    def share(self) -> float:
        """Fraction of the estimated work that is done, from 0 to 1."""
        return self.done_ms / self.cost_ms if self.cost_ms else 1.0

    @property
    def elapsed_s(self) -> float:
        """Time since the start [s]."""
        return time.monotonic() - self.started_at

    @property
    def left_s(self) -> float | None:
        """Estimated remaining time [s], extrapolated from the work done; None before any trial has ended."""
        return self.elapsed_s * (1 - self.share) / self.share if self.done_ms else None

    def finish(self, unit: Unit, answer: Answer) -> None:
        """Count a trial that has finished with a record."""
        self.finished += 1
        self.done_ms += unit.cost_ms
        self.busy_s += answer.busy_s
        self.nodes[answer.node] += 1

    def have(self, cores: int) -> None:
        """Update the number of available cores; the first count applies from the start."""
        now = time.monotonic()
        self.there_s += (self.cores or cores) * (now - self.seen_at)
        self.cores, self.seen_at = cores, now

    @property
    def busy_percent(self) -> float:
        """Percentage of the available core time spent on trials [%]."""
        there_s = self.there_s + self.cores * (time.monotonic() - self.seen_at)
        return 100 * self.busy_s / there_s if there_s else 0.0


class TrialEvents:
    """Sends the events of single trials to a listener; a trial starts with the first report of its worker."""

    def __init__(self, workspace: Workspace, units: Sequence[Unit], listener: Listener | None) -> None:
        self._workspace = workspace
        self._count = units[-1].number if units else 0
        self._listener = listener
        self._started: set[str] = set()

    def reported(self, unit: Unit, progress: TrialProgress | None) -> None:
        """Process a report of a worker; a start report of a restarted trial starts it again."""
        if self._listener is None:
            return
        if progress is None or unit.facts.id not in self._started:
            self._started.add(unit.facts.id)
            self._listener.trial_started(unit.facts, unit.number, self._count)
        if progress is not None:
            self._listener.trial_progressed(progress, unit.number)

    def finished(self, unit: Unit) -> None:
        """Notify the listener that a trial has its record."""
        if self._listener is not None:
            if unit.facts.id not in self._started:
                self.reported(unit, None)
            self._listener.trial_finished(self._workspace.find(unit.facts.id), unit.number, resumed=False)

    def failed(self, unit: Unit) -> None:
        """Notify the listener that a trial has failed."""
        if self._listener is not None:
            self._listener.trial_failed(unit.facts, unit.number, self._count)
