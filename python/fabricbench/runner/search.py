"""Runs the search of a plan: bisects a field's range for the last value that meets the criteria.

Each case (a variant at one size and one combination of other swept values) has its own bisection.

Every value that is tried is a normal trial, as if the field were swept, and all trials of a search form one
run. The values depend on the results of earlier trials, which depend only on the seed: the same search tries
the same values, so a stopped search resumes where it ended.
"""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from fabricbench.backend.protocol import Backend, Progress
from fabricbench.plan.expand import PlannedTrial
from fabricbench.plan.load import document_of
from fabricbench.plan.loaded_plan import LoadedPlan
from fabricbench.plan.sweep.labels import shared_variant
from fabricbench.plan.sweep.search_range import Range, range_of
from fabricbench.plan.sweep.sizes import sweep_path
from fabricbench.results.job_reports import meets_criteria
from fabricbench.runner import loading
from fabricbench.runner.listener import Listener, RunOf
from fabricbench.runner.trial_facts import facts_of, suite_id, trial_id
from fabricbench.searched import Searched
from fabricbench.store import Trial, TrialFacts

_Key = tuple[str, tuple[tuple[str, str], ...], int | None]
"""Key of a case: variant, other swept values, and the size if sizes are swept."""


@dataclass(frozen=True)
class SearchResult(Searched):
    """Result of a search in one case, with the trials that show it.

    Attributes:
        trials: Trials at the best value that meets the criteria, one per iteration, and those of single jobs.
    """

    trials: Sequence[Trial] = dataclasses.field(repr=False)


@dataclass
class _Bracket:
    """State of the search in a case: the best value that passes, and the nearest value that fails."""

    range: Range
    holds: float | None = None
    fails: float | None = None
    steps: int = 0
    tried: dict[float, list[Trial]] = dataclasses.field(default_factory=dict)

    @property
    def left(self) -> int:
        """Largest number of values still to try."""
        if self.next() is None:
            return 0
        if self.holds is None:
            return self.range.steps + 2 - len(self.tried)
        return self.range.steps - self.steps

    @property
    def ends(self) -> tuple[float, float]:
        """The preferred end of the range, then the other one."""
        low, high = self.range.low, self.range.high
        return (high, low) if self.range.is_highest else (low, high)

    def next(self) -> float | None:
        """Return the next value to try; None if the search is complete."""
        best, worst = self.ends
        if not self.tried:
            return best
        if self.fails is None or self.fails == worst:
            return None
        if self.holds is None:
            return worst
        is_near = abs(self.holds - self.fails) <= self.range.resolution
        return (
            None if is_near or self.steps >= self.range.steps else self.range.between(self.holds, self.fails)
        )

    def record(self, value: float, trials: list[Trial], *, holds: bool) -> None:
        """Record whether a value passes."""
        self.steps += value not in self.ends
        self.tried[value] = trials
        if holds:
            self.holds = value
        else:
            self.fails = value

    def result(self, key: _Key) -> SearchResult:
        """Return the result so far."""
        variant, axes, size = key
        return SearchResult(
            self.range.field,
            self.range.is_highest,
            variant,
            axes,
            size,
            None if self.holds is None else self.range.text(self.holds),
            None if self.fails is None else self.range.text(self.fails),
            len(self.tried),
            [] if self.holds is None else self.tried[self.holds],
        )


class PlanSearch:
    """The search of a plan in rounds: each round tries the next value of every incomplete case.

    Attributes:
        count: Upper bound on the number of trials of all rounds, updated in each round.
    """

    def __init__(self, loaded: LoadedPlan, backend: Backend) -> None:
        """Prepare the search of a plan.

        Raises:
            PlanError: There is no such field.
        """
        self._loaded, self._backend = loaded, backend
        self._range = range_of(loaded.plan, document_of(loaded))
        self._has_sizes = sweep_path(loaded.plan) is not None
        self._brackets = {self._key(trial): _Bracket(self._range) for trial in loaded.trials}
        self._trials = Counter(map(self._key, loaded.trials))
        ids = [trial_id(trial, backend) for trial in loaded.suite]
        self._suite = suite_id(f"{loaded.plan.name}/{loaded.plan.search!r}", ids, loaded.plan.tag)
        self._position = 0
        self.count = self.trials_left

    @property
    def results(self) -> list[SearchResult]:
        """Results of the cases so far, in the order of the plan."""
        return [bracket.result(key) for key, bracket in self._brackets.items() if bracket.tried]

    @property
    def trials_left(self) -> int:
        """Largest number of trials still to run."""
        return sum(self._trials[key] * bracket.left for key, bracket in self._brackets.items())

    def run(self, run: RunOf, listener: Listener) -> None:
        """Try values until every case is complete.

        Args:
            run: Runs the trials of a plan.
            listener: Receives the trials of each round; their numbers continue from round to round.

        Raises:
            PlanError: The plan cannot run with a value.
        """
        while next_values := self._next_values():
            loaded = self._with(sorted(set(next_values.values())))
            round_trials = [
                trial for trial in loaded.trials if next_values.get(self._key(trial)) == self._value(trial)
            ]
            loaded = replace(loaded, trials=round_trials)
            trials_before, self.count = self._position, self._position + self.trials_left
            facts = self._facts(loaded)
            listener.trials_chosen([trial_facts for _, trial_facts in facts], self.count)
            trials = run(loaded, facts, Numbered(listener, trials_before, self.count))
            for key, value in next_values.items():
                case_trials = [
                    pair for pair in zip(round_trials, trials, strict=True) if self._key(pair[0]) == key
                ]
                holds = all(meets_criteria(trial) for planned, trial in case_trials if not planned.is_solo)
                self._brackets[key].record(value, [trial for _, trial in case_trials], holds=holds)
        self.count = self._position
        listener.trials_chosen([], self.count)

    def _next_values(self) -> dict[_Key, float]:
        """Return the next value of each incomplete case."""
        following = ((key, bracket.next()) for key, bracket in self._brackets.items())
        return {key: value for key, value in following if value is not None}

    def _with(self, values: Sequence[float]) -> LoadedPlan:
        """Return the plan with the field swept over some values, without its search."""
        texts = ", ".join(map(self._range.text, values))
        overrides = [*self._range.opening, "search=null", f"sweep.{self._range.field}=[{texts}]"]
        chosen = dict.fromkeys(shared_variant(trial.variant) for trial in self._loaded.trials)
        names = list(chosen) if self._loaded.plan.variants else []
        return loading.reload(self._loaded, overrides, chosen=names)

    def _facts(self, loaded: LoadedPlan) -> list[tuple[PlannedTrial, TrialFacts]]:
        """Return the trials with their facts, as trials of the run of the search."""
        trials = [
            (planned, replace(facts, suite=self._suite, position=self._position + number))
            for number, (planned, facts) in enumerate(facts_of(loaded, self._backend))
        ]
        self._position += len(trials)
        return trials

    def _key(self, trial: PlannedTrial) -> _Key:
        axes = tuple(
            (name, value if isinstance(value, str) else json.dumps(value))
            for name, value in trial.case.axes
            if name != self._range.field
        )
        return shared_variant(trial.variant), axes, trial.data_size_bytes if self._has_sizes else None

    def _value(self, trial: PlannedTrial) -> float:
        return self._range.scale.read(str(dict(trial.case.axes)[self._range.field]))


@dataclass(frozen=True)
class Numbered:
    """Forwards the events of one round of a search, with trial numbers that continue from earlier rounds.

    Attributes:
        listener: The listener that receives the events.
        before: Number of trials in earlier rounds.
        count: Upper bound on the number of trials of all rounds.
    """

    listener: Listener
    before: int
    count: int

    def trials_chosen(self, facts: Sequence[TrialFacts], count: int) -> None:
        """Do nothing: a round does not choose trials."""

    def trial_started(self, facts: TrialFacts, number: int, count: int) -> None:  # noqa: ARG002 -- of the round
        """Forward the event."""
        self.listener.trial_started(facts, self.before + number, self.count)

    def trial_progressed(self, progress: Progress, number: int) -> None:
        """Forward the event."""
        self.listener.trial_progressed(progress, self.before + number)

    def trial_finished(self, trial: Trial, number: int, *, resumed: bool) -> None:
        """Forward the event."""
        self.listener.trial_finished(trial, self.before + number, resumed=resumed)

    def trial_failed(self, facts: TrialFacts, number: int, count: int) -> None:  # noqa: ARG002 -- of the round
        """Forward the event."""
        self.listener.trial_failed(facts, self.before + number, self.count)
