"""The jobs of a trial, each with the trial in which it ran alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fabricbench.analysis.isolation import (
    alone_ratios,
    is_solo,
    is_solo_of,
    kept_percent,
    solo_key,
    solo_keys,
)
from fabricbench.analysis.results import summary_of

if TYPE_CHECKING:
    from fabricbench.analysis.summary import Summary
    from fabricbench.store import Trial


@dataclass(frozen=True)
class Alone:
    """A job without its neighbours.

    Attributes:
        trial: The trial in which it ran alone.
        summary: Its metrics there.
        kept_percent: Share of that bus bandwidth that it keeps beside the others [%]; none unless both
            completed.
        ratios: Each ratio of `fabricbench.metrics.ALONE_RATIOS` by its name; none where there is none.
    """

    trial: Trial
    summary: Summary
    kept_percent: float | None
    ratios: Mapping[str, float | None]


class Solos:
    """The trials in which one job ran alone, to be found by the trial they are compared with."""

    def __init__(self, trials: Iterable[Trial]) -> None:
        """Take trials; those in which all jobs ran are left out."""
        self._by_key: dict[str, list[Trial]] = defaultdict(list)
        for trial in trials:
            facts = trial.facts
            if is_solo(facts.variant) and trial.is_finished:
                key = solo_key(facts.iteration, facts.run_spec)
                self._by_key[key].append(trial)

    def beside(self, trial: Trial, summaries: Iterable[Summary]) -> dict[str, Alone]:
        """Return for each job of a trial how it did alone, as far as that was run."""
        facts = trial.facts
        if not self._by_key or trial.is_printed or is_solo(facts.variant):
            return {}
        keys = solo_keys(facts.iteration, facts.run_spec)
        found = {summary.job: (summary, self._find(trial, keys[summary.job])) for summary in summaries}
        return {job: _alone(beside, solo) for job, (beside, solo) in found.items() if solo is not None}

    def _find(self, trial: Trial, key: str) -> Trial | None:
        """Return the trial of the same run and variant, or of another one on the same fabric that has it."""
        candidates = self._by_key.get(key, [])
        own = [each for each in candidates if is_solo_of(each.facts.variant, trial.facts.variant)]
        of_run = [each for each in own if each.facts.suite == trial.facts.suite]
        others = [each for each in candidates if _same_world(each, trial)]
        return next(iter([*of_run, *others]), None)


def _alone(beside: Summary, solo: Trial) -> Alone:
    alone = summary_of(solo.results[0], solo.facts.run_spec)
    return Alone(solo, alone, kept_percent(beside, alone), alone_ratios(beside, alone))


def _same_world(first: Trial, second: Trial) -> bool:
    specs = (first.facts.run_spec, second.facts.run_spec)
    worlds = [(spec["fabric"], spec["transport"], spec.get("observe")) for spec in specs]
    return worlds[0] == worlds[1] and first.facts.engine_version == second.facts.engine_version
