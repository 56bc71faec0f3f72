"""Interface for listeners to the events of a run, and one that ignores them (`Quiet`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from fabricbench.backend.protocol import Progress
from fabricbench.plan.expand import PlannedTrial
from fabricbench.plan.loaded_plan import LoadedPlan
from fabricbench.store import Trial, TrialFacts


class Quiet:
    """A listener that does nothing."""

    def trials_chosen(self, facts: Sequence[TrialFacts], count: int) -> None:
        """Do nothing."""

    def trial_started(self, facts: TrialFacts, number: int, count: int) -> None:
        """Do nothing."""

    def trial_progressed(self, progress: Progress, number: int) -> None:
        """Do nothing."""

    def trial_finished(self, trial: Trial, number: int, *, resumed: bool) -> None:
        """Do nothing."""

    def trial_failed(self, facts: TrialFacts, number: int, count: int) -> None:
        """Do nothing."""


class Listener(Protocol):
    """Interface for the events of a runner, implemented by displays."""

    def trials_chosen(self, facts: Sequence[TrialFacts], count: int) -> None:
        """Trials of a search were chosen, none at its end; `count` is the upper bound of all its trials."""

    def trial_started(self, facts: TrialFacts, number: int, count: int) -> None:
        """Trial `number` (from 1) of `count` started; others may be running."""

    def trial_progressed(self, progress: Progress, number: int) -> None:
        """A running trial reported its progress."""

    def trial_finished(self, trial: Trial, number: int, *, resumed: bool) -> None:
        """A trial has its record; `resumed` if it had it before. Called in the order of the plan."""

    def trial_failed(self, facts: TrialFacts, number: int, count: int) -> None:
        """A concurrent trial failed; the others continue, and then the run raises its error."""


RunOf = Callable[["LoadedPlan", Sequence[tuple["PlannedTrial", "TrialFacts"]], "Listener"], Sequence["Trial"]]
"""Runs the trials of a plan, each with its facts, notifies a listener, and returns them."""
