"""Index of reference trials: finds the same job of the plan's reference variant for each job, with ratios."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fabricbench.analysis.comparison.isolation import is_solo
from fabricbench.analysis.comparison.ratios import ratios
from fabricbench.analysis.summary.job_summary import Summary, summary_of
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

    def reference_results(self, trial: Trial, summaries: Iterable[Summary]) -> dict[tuple[str, int], Against]:
        """Return the job of the reference for each job and data size of a trial, if that was run."""
        reference_trial = self._trials.get(_key(trial)) if trial.facts.reference else None
        # A job alone is compared with its reference next to the others, not here.
        if reference_trial is None or is_solo(trial.facts.variant):
            return {}
        own, references = (
            list(summaries),
            [summary_of(row, reference_trial.facts.run_spec) for row in reference_trial.results],
        )
        # A variant may change the size of a job that has one.
        by_key = {summary.key: summary for summary in references}
        single_sized = {
            name: summary for name, summary in _by_job(references).items() if name in _by_job(own)
        }
        pairs = [(summary, by_key.get(summary.key) or single_sized.get(summary.job)) for summary in own]
        return {
            summary.key: Against(reference_trial, reference, ratios(summary, reference))
            for summary, reference in pairs
            if reference is not None
        }


def _by_job(summaries: Sequence[Summary]) -> dict[str, Summary]:
    """Return the jobs of a trial that have one data size, by name."""
    counts = Counter(summary.job for summary in summaries)
    return {summary.job: summary for summary in summaries if counts[summary.job] == 1}


def _key(trial: Trial) -> tuple[str, object]:
    return trial.facts.suite, trial.facts.point
