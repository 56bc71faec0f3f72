"""Finds for each job of a trial the same job of the reference variant, and compares the two."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fabricbench.analysis.compare import ratios
from fabricbench.analysis.isolation import is_solo
from fabricbench.analysis.results import summary_of
from fabricbench.analysis.summary import Summary
from fabricbench.store import Trial


@dataclass(frozen=True)
class Against:
    """A job compared with the same job of the reference variant.

    Attributes:
        trial: The trial of the reference; that of the job itself if it is one.
        summary: The job's metrics there.
        ratios: Each ratio of `fabricbench.metrics.RATIOS` by its name; none if unknown.
    """

    trial: Trial
    summary: Summary
    ratios: Mapping[str, float | None]


class References:
    """Index of the trials of reference variants, by suite and point of the plan."""

    def __init__(self, trials: Iterable[Trial]) -> None:
        """Index the trials; those of other variants are left out."""
        self._trials = {
            _key(trial): trial
            for trial in trials
            if trial.is_finished and trial.facts.reference == trial.facts.variant
        }

    def beside(self, trial: Trial, summaries: Iterable[Summary]) -> dict[tuple[str, int], Against]:
        """Return the job of the reference for each job and data size of a trial, if that was run."""
        found = self._trials.get(_key(trial)) if trial.facts.reference else None
        # A job alone is compared with its reference next to the others, not here.
        if found is None or is_solo(trial.facts.variant):
            return {}
        own, theirs = list(summaries), [summary_of(row, found.facts.run_spec) for row in found.results]
        # A variant may change the size of a job that has one.
        known = {each.key: each for each in theirs}
        only = {name: each for name, each in _by_job(theirs).items() if name in _by_job(own)}
        pairs = [(each, known.get(each.key) or only.get(each.job)) for each in own]
        return {
            each.key: Against(found, reference, ratios(each, reference))
            for each, reference in pairs
            if reference is not None
        }


def _by_job(summaries: Sequence[Summary]) -> dict[str, Summary]:
    """Return the jobs of a trial that have one data size, by name."""
    counts = Counter(each.job for each in summaries)
    return {each.job: each for each in summaries if counts[each.job] == 1}


def _key(trial: Trial) -> tuple[str, object]:
    return trial.facts.suite, trial.facts.point
