"""Carries out the search of a plan: halves the range of each case until it is known which value still holds.

Every value that is tried is a trial like any other, with the value as that of a swept field, and all of a
search are one run. What is tried follows from what the trials before came to, which depends on the seed
alone: the same search tries the same values, so that one that was stopped goes on where it was.
"""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fabricbench.plan.load import document_of
from fabricbench.plan.search import Range, range_of
from fabricbench.plan.sweep.labels import shared_variant
from fabricbench.plan.sweep.sizes import sweep_path
from fabricbench.runner import loading
from fabricbench.searched import Searched

if TYPE_CHECKING:
    from fabricbench.backend.protocol import Backend, Progress
    from fabricbench.plan.expand import PlannedTrial
    from fabricbench.plan.loaded import LoadedPlan
    from fabricbench.runner.trials import Listener, RunOf
    from fabricbench.store import Trial, TrialFacts

Judge = Callable[["Trial"], bool]
"""Tells whether a finished trial meets the criteria of its plan."""

_Key = tuple[str, tuple[tuple[str, str], ...], int | None]
"""A case: variant, other swept values, and the size where sizes are swept."""


@dataclass(frozen=True)
class Found(Searched):
    """What a search found in one case, with the trials that show it.

    Attributes:
        trials: Those at the value that holds, one for each iteration, and those of jobs alone.
    """

    trials: Sequence[Trial] = dataclasses.field(repr=False)


@dataclass
class _Bracket:
    """A case while it is searched: the best value that holds, and the nearest to it that does not."""

    range: Range
    holds: float | None = None
    fails: float | None = None
    steps: int = 0
    tried: dict[float, list[Trial]] = dataclasses.field(default_factory=dict)

    @property
    def left(self) -> int:
        """How many values are tried at most from now on."""
        if self.next() is None:
            return 0
        if self.holds is None:
            return self.range.steps + 2 - len(self.tried)
        return self.range.steps - self.steps

    @property
    def ends(self) -> tuple[float, float]:
        """The end that is looked for, and the other one."""
        low, high = self.range.low, self.range.high
        return (high, low) if self.range.is_highest else (low, high)

    def next(self) -> float | None:
        """Return the value to try now; none when it is known."""
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

    def told(self, value: float, trials: list[Trial], *, holds: bool) -> None:
        """Learn what came of a value."""
        self.steps += value not in self.ends
        self.tried[value] = trials
        if holds:
            self.holds = value
        else:
            self.fails = value

    def found(self, key: _Key) -> Found:
        """Return what is known."""
        variant, axes, size = key
        return Found(
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


class Searching:
    """The search of a plan, round by round: in each the next value of every case that is not known yet.

    Attributes:
        count: How many trials there are at most, all rounds together, as far as is known.
    """

    def __init__(self, loaded: LoadedPlan, backend: Backend, judge: Judge) -> None:
        """Take a plan with a search.

        Raises:
            PlanError: There is no such field.
        """
        from fabricbench.runner.trials import suite_id, trial_id

        self._loaded, self._backend, self._judge = loaded, backend, judge
        self._range = range_of(loaded.plan, document_of(loaded))
        self._has_sizes = sweep_path(loaded.plan) is not None
        self._brackets = {self._key(trial): _Bracket(self._range) for trial in loaded.trials}
        self._trials = Counter(map(self._key, loaded.trials))
        ids = [trial_id(each, backend) for each in loaded.suite]
        self._suite = suite_id(f"{loaded.plan.name}/{loaded.plan.search!r}", ids, loaded.plan.tag)
        self._position = 0
        self.count = self.trials_left

    @property
    def found(self) -> list[Found]:
        """What is known of each case, in the order of the plan."""
        return [bracket.found(key) for key, bracket in self._brackets.items() if bracket.tried]

    @property
    def trials_left(self) -> int:
        """How many trials are run at most from now on."""
        return sum(self._trials[key] * bracket.left for key, bracket in self._brackets.items())

    def run(self, run: RunOf, listener: Listener) -> None:
        """Try values until every case is known.

        Args:
            run: Runs the trials of a plan.
            listener: Told which trials a round has; those of all rounds are numbered together.

        Raises:
            PlanError: The plan cannot be carried out with a value.
        """
        while wanted := self._wanted():
            loaded = self._with(sorted(set(wanted.values())))
            chosen = [trial for trial in loaded.trials if wanted.get(self._key(trial)) == self._value(trial)]
            loaded = replace(loaded, trials=chosen)
            before, self.count = self._position, self._position + self.trials_left
            facts = self._facts(loaded)
            listener.trials_chosen([each for _, each in facts], self.count)
            trials = run(loaded, facts, Numbered(listener, before, self.count))
            for key, value in wanted.items():
                own = [each for each in zip(chosen, trials, strict=True) if self._key(each[0]) == key]
                holds = all(self._judge(trial) for planned, trial in own if not planned.is_solo)
                self._brackets[key].told(value, [trial for _, trial in own], holds=holds)
        self.count = self._position
        listener.trials_chosen([], self.count)

    def _wanted(self) -> dict[_Key, float]:
        """Return the next value of each case that is not known yet."""
        following = ((key, bracket.next()) for key, bracket in self._brackets.items())
        return {key: value for key, value in following if value is not None}

    def _with(self, values: Sequence[float]) -> LoadedPlan:
        """Return the plan with the field swept over some values, and no search."""
        texts = ", ".join(map(self._range.text, values))
        own = [*self._range.opening, "search=null", f"sweep.{self._range.field}=[{texts}]"]
        chosen = dict.fromkeys(shared_variant(trial.variant) for trial in self._loaded.trials)
        names = list(chosen) if self._loaded.plan.variants else []
        return loading.reload(self._loaded, own, chosen=names)

    def _facts(self, loaded: LoadedPlan) -> list[tuple[PlannedTrial, TrialFacts]]:
        """Return the trials with their facts, as trials of the one run of the search."""
        from fabricbench.runner.trials import facts_of

        known = [
            (planned, replace(facts, suite=self._suite, position=self._position + number))
            for number, (planned, facts) in enumerate(facts_of(loaded, self._backend))
        ]
        self._position += len(known)
        return known

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
    """Tells a listener of the trials of one round of a search, numbered after those before.

    Attributes:
        listener: Who is told.
        before: How many trials there were.
        count: How many there are at most, all rounds together.
    """

    listener: Listener
    before: int
    count: int

    def trials_chosen(self, facts: Sequence[TrialFacts], count: int) -> None:
        """Do nothing: a round chooses no trials itself."""

    def trial_started(self, facts: TrialFacts, number: int, count: int) -> None:  # noqa: ARG002 -- of the round
        """Hand it on."""
        self.listener.trial_started(facts, self.before + number, self.count)

    def trial_progressed(self, progress: Progress, number: int) -> None:
        """Hand it on."""
        self.listener.trial_progressed(progress, self.before + number)

    def trial_finished(self, trial: Trial, number: int, *, resumed: bool) -> None:
        """Hand it on."""
        self.listener.trial_finished(trial, self.before + number, resumed=resumed)

    def trial_failed(self, facts: TrialFacts, number: int, count: int) -> None:  # noqa: ARG002 -- of the round
        """Hand it on."""
        self.listener.trial_failed(facts, self.before + number, self.count)
