"""The jobs of a trial, each with the same job of the reference variant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fabricbench.analysis.compare import ratios
from fabricbench.analysis.isolation import is_solo
from fabricbench.analysis.results import summary_of

if TYPE_CHECKING:
    from fabricbench.analysis.summary import Summary
    from fabricbench.store import Trial


@dataclass(frozen=True)
class Against:
    """A job beside the same job of the reference variant.

    Attributes:
        trial: The trial of the reference; that of the job itself where it is one.
        summary: The job's metrics there.
        ratios: Each ratio of `fabricbench.metrics.RATIOS` by its name; none where there is none.
    """

    trial: Trial
    summary: Summary
    ratios: Mapping[str, float | None]


class References:
    """The trials of reference variants, to be found by the trials that are compared with them."""

    def __init__(self, trials: Iterable[Trial]) -> None:
        """Take trials; those of other variants are left out."""
        self._trials = {
            _key(trial): trial
            for trial in trials
            if trial.is_finished and trial.facts.reference == trial.facts.variant
        }

    def beside(self, trial: Trial, summaries: Iterable[Summary]) -> dict[str, Against]:
        """Return for each job of a trial the same job of the reference, as far as that was run."""
        found = self._trials.get(_key(trial)) if trial.facts.reference else None
        # A job alone has its reference beside the others.
        if found is None or is_solo(trial.facts.variant):
            return {}
        known = {row["job"]: summary_of(row, found.facts.run_spec) for row in found.results}
        return {
            own.job: Against(found, known[own.job], ratios(own, known[own.job]))
            for own in summaries
            if own.job in known
        }


def _key(trial: Trial) -> tuple[str, object]:
    return trial.facts.suite, trial.facts.point
