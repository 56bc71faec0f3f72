"""How far a campaign is, and what a listener is told of its trials."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fabricbench.backend.protocol import Progress as TrialProgress
    from fabricbench.runner.campaign.units import Unit
    from fabricbench.runner.campaign.worker import Answer
    from fabricbench.runner.trials import Listener
    from fabricbench.store import TrialFacts, Workspace


@dataclass
class Progress:
    """How far a campaign is.

    Attributes:
        trials: How many it has.
        kept: How many had their record already.
        finished: How many have ended with a record since.
        failed: What did not: the trial, and why.
        cost_ms: Estimated time of one core of all that had to run, and of what has ended.
        done_ms: The same of what has ended.
        busy_s: Time that cores worked on trials [s].
        cores: Cores that there are just now.
        there_s: Time that cores have been there since it began, up to `seen_at` [s].
        seen_at: When they were counted last, by the clock of this process.
        nodes: How many trials have ended with a record on each node, by its address.
        waits: What does not answer just now and is waited for; nothing if empty.
        begun_at: When it began, by the clock of this process.
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
    begun_at: float = field(default_factory=time.monotonic)

    @property
    def share(self) -> float:
        """Share of the estimated work that is done, from 0 to 1."""
        return self.done_ms / self.cost_ms if self.cost_ms else 1.0

    @property
    def elapsed_s(self) -> float:
        """Time since it began [s]."""
        return time.monotonic() - self.begun_at

    @property
    def left_s(self) -> float | None:
        """Time that the rest will take [s], by what the work so far took; none before anything has ended."""
        return self.elapsed_s * (1 - self.share) / self.share if self.done_ms else None

    def finish(self, unit: Unit, answer: Answer) -> None:
        """Take note of a trial that has its record now."""
        self.finished += 1
        self.done_ms += unit.cost_ms
        self.busy_s += answer.busy_s
        self.nodes[answer.node] += 1

    def have(self, cores: int) -> None:
        """Take note of how many cores there are now; the first were there from the beginning."""
        now = time.monotonic()
        self.there_s += (self.cores or cores) * (now - self.seen_at)
        self.cores, self.seen_at = cores, now

    @property
    def busy_percent(self) -> float:
        """Share of the time of all cores in which they worked on trials [%]."""
        there_s = self.there_s + self.cores * (time.monotonic() - self.seen_at)
        return 100 * self.busy_s / there_s if there_s else 0.0


class Told:
    """What a listener is told of single trials: that one begins, as soon as its worker says so."""

    def __init__(self, workspace: Workspace, units: Sequence[Unit], listener: Listener | None) -> None:
        self._workspace = workspace
        self._count = units[-1].number if units else 0
        self._listener = listener
        self._begun: set[str] = set()

    def heard(self, unit: Unit, progress: TrialProgress | None) -> None:
        """Take a report of a worker; one that begins a trial again has it begin again."""
        if self._listener is None:
            return
        if progress is None or unit.facts.id not in self._begun:
            self._begun.add(unit.facts.id)
            self._listener.trial_started(unit.facts, unit.number, self._count)
        if progress is not None:
            self._listener.trial_progressed(progress, unit.number)

    def finished(self, unit: Unit) -> None:
        """Tell that a trial has its record."""
        if self._listener is not None:
            if unit.facts.id not in self._begun:
                self.heard(unit, None)
            self._listener.trial_finished(self._workspace.find(unit.facts.id), unit.number, resumed=False)

    def failed(self, unit: Unit) -> None:
        """Tell that a trial has come to nothing."""
        if self._listener is not None:
            self._listener.trial_failed(unit.facts, unit.number, self._count)
