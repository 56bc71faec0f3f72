"""Index of trials in which one job ran alone: finds that of each job of a trial, and compares the two."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain

from fabricbench.analysis.comparison.isolation import (
    alone_ratios,
    is_solo,
    is_solo_of,
    kept_percent,
    solo_key,
    solo_keys,
    surroundings,
)
from fabricbench.analysis.summary.job_summary import Summary, summary_of
from fabricbench.store import Trial


@dataclass(frozen=True)
class Alone:
    """A job without other jobs, compared with the same job next to them.

    Attributes:
        trial: The trial in which it ran alone.
        summary: Its metrics there.
        kept_percent: Bus bandwidth next to the others, relative to alone [%]; none unless both completed.
        ratios: Each ratio of `fabricbench.metrics.ALONE_RATIOS` by its name; none if unknown.
    """

    trial: Trial
    summary: Summary
    kept_percent: float | None
    ratios: Mapping[str, float | None]


class Solos:
    """Index of the trials in which one job ran alone, by the job's iteration, seed and parameters."""

    def __init__(self, trials: Iterable[Trial]) -> None:
        """Index the trials; those in which all jobs ran are left out."""
        self._by_key: dict[str, list[Trial]] = defaultdict(list)
        for trial in trials:
            facts = trial.facts
            if is_solo(facts.variant) and trial.is_finished:
                key = solo_key(facts.iteration, facts.run_spec)
                self._by_key[key].append(trial)

    def alone_results(self, trial: Trial, summaries: Iterable[Summary]) -> dict[tuple[str, int], Alone]:
        """Return the result alone of each job and data size of a trial, if that was run."""
        facts = trial.facts
        if not self._by_key or trial.is_printed or is_solo(facts.variant):
            return {}
        keys = solo_keys(facts.iteration, facts.run_spec)
        pairs = ((summary, self._find(trial, summary.job, keys[summary.job])) for summary in summaries)
        compared = {summary.key: _alone(summary, solo) for summary, solo in pairs if solo is not None}
        return {key: alone for key, alone in compared.items() if alone is not None}

    def _find(self, trial: Trial, job: str, key: str) -> Trial | None:
        """Return the trial of the same run and variant, or else one with the same environment for the job."""
        candidates = self._by_key.get(key, [])
        own = [
            candidate for candidate in candidates if is_solo_of(candidate.facts.variant, trial.facts.variant)
        ]
        of_run = [candidate for candidate in own if candidate.facts.suite == trial.facts.suite]
        others = (candidate for candidate in candidates if _same_environment(candidate, trial, job))
        return next(chain(of_run, others), None)


def _alone(next_to_others: Summary, solo: Trial) -> Alone | None:
    rows = (row for row in solo.results if row["data_size_bytes"] == next_to_others.data_size_bytes)
    row = next(rows, None)
    if row is None:
        return None
    alone = summary_of(row, solo.facts.run_spec)
    return Alone(solo, alone, kept_percent(next_to_others, alone), alone_ratios(next_to_others, alone))


def _same_environment(first: Trial, second: Trial, job: str) -> bool:
    environments = [surroundings(trial.facts.run_spec, _queue_pairs(trial, job)) for trial in (first, second)]
    return environments[0] == environments[1] and first.facts.engine_version == second.facts.engine_version


def _queue_pairs(trial: Trial, job: str) -> set[int]:
    """Return the pinned queue pairs of a job; empty without pins, so that no table is read."""
    if "pins" not in trial.facts.run_spec["fabric"]["load_balancing"]:
        return set()
    pins: set[int] = set()
    for batch in trial.tables.batches("paths", ("job", "qp")):
        jobs, pairs = (column.to_pylist() for column in batch.columns)
        pins.update(pair for name, pair in zip(jobs, pairs, strict=True) if name == job)
    return pins
